#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An MPI job on the hosts of a lab, which have no ssh:
#
#     ina-lab run -n 4 -- tests/frameworks/mpi/mpi_host.sh openmpi|mpich FOLDER PROGRAM ARGUMENT...
#
# Rank 0's host runs mpiexec, and the others wait for the command by which it starts its daemon there. They
# use FOLDER, which is empty before, on the file system that the hosts share. The file named after a host's
# address contains the command for that host, and `done` exists when mpiexec has ended. INA_MPI_PER_HOST=2
# starts two ranks on each. PROGRAM may be several jobs, one after the other, separated by the argument `+++`;
# after a job that fails, no further one starts. The aggregator keeps the context of a killed job for the
# switch's --job-ttl, so it would refuse the next job.

set -euo pipefail
shopt -s extglob nullglob

address() {
	echo "192.0.2.$(($1 + 1))"
}

# The remote shell of mpirun and mpiexec, which call it with a host and a command (MPICH puts -x first). It
# hands the command over, and stays until it is ended, as if the command ran there.
if [ "${INA_MPI_FOLDER:-}" ]; then
	[ "$1" != -x ] || shift
	host=$1
	shift
	if [ "$host" = "$(address 0)" ]; then exec sh -c "$*"; fi
	order=$INA_MPI_FOLDER/$host.$PPID
	echo "$*" >"$order.new"
	mv "$order.new" "$order"
	until [ -e "$order.over" ]; do sleep 0.1; done
	exit
fi

mpi=$1 folder=$2
shift 2
if [ "$INA_RANK" != 0 ]; then
	# One daemon after the other, each in the background: mpiexec ends a daemon itself.
	until [ -e "$folder/done" ]; do
		for order in "$folder/$(address "$INA_RANK")".+([0-9]); do
			if [ ! -e "$order" ] || [ -e "$order.taken" ]; then
				continue
			fi
			touch "$order.taken"
			{
				sh "$order" || true
				touch "$order.over"
			} &
		done
		sleep 0.1
	done
	wait
	exit
fi
if [ -e "$folder/done" ]; then
	echo "mpi_host.sh: $folder was the meeting place of another run: it must be empty" >&2
	exit 2
fi
trap 'touch "$folder/done"' EXIT

per_host=${INA_MPI_PER_HOST:-1}
hosts=
for ((host = 0; host < INA_RANKS; host++)); do hosts+=,$(address "$host"):$per_host; done
hosts=${hosts#,}
ranks=$((INA_RANKS * per_host))
export INA_MPI_FOLDER=$folder
# MPICH's mpiexec gives its own environment to all ranks.
unset INA_RANK INA_RANKS INA_ROOT INA_BIND
if [ "$mpi" = openmpi ]; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	run=(mpirun.openmpi -n "$ranks" --host "$hosts" --mca plm rsh --mca plm_rsh_agent "$0"
		--mca plm_rsh_no_tree_spawn 1 --mca orte_tmpdir_base /dev/shm --mca pml ob1 --mca btl "tcp,self" --mca mpi_yield_when_idle 1 --mca osc '^ucx'
		--mca btl_tcp_if_include 192.0.2.0/24 --mca oob_tcp_if_include 192.0.2.0/24)
else
	# UCX would take the RDMA device, which it cannot work with. If hosts have several ranks, MPICH 4.0's
	# own MPI_Reduce() in place ends by SIGSEGV, except with the algorithm without shared memory.
	run=(mpiexec.mpich -n "$ranks" -hosts "$hosts" -launcher ssh -launcher-exec "$0" -iface vec0
		-genv UCX_TLS "tcp,self" -genv UCX_NET_DEVICES vec0 -genv MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE 0)
fi
while [ $# -gt 0 ]; do
	job=()
	while [ $# -gt 0 ] && [ "$1" != +++ ]; do
		job+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	"${run[@]}" "${job[@]}" || {
		code=$?
		echo "mpi_host.sh: exit code $code: ${job[*]}" >&2
		exit "$code"
	}
done
