#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An MPI job on the hosts of a lab, which have no ssh:
#
#     ina-lab run -n 4 -- tests/frameworks/mpi/mpi_host.sh openmpi|mpich FOLDER PROGRAM ARGUMENT...
#
# Rank 0's host runs mpiexec, and the others wait for the command by which it starts its daemon there. They
# use FOLDER, which is empty before, on the file system that the hosts share. The file named after a host
# contains the command for that host, and `done` exists when mpiexec has ended. INA_MPI_PER_HOST=2 starts two
# ranks on each. PROGRAM may be several jobs, one after the other, separated by the argument `+++`; after a
# job that fails, no further one starts. The aggregator keeps the context of a killed job for the switch's
# --job-ttl, so it would refuse the next job.

set -euo pipefail
shopt -s extglob nullglob

# The remote shell of mpirun and mpiexec, which call it with a host and a command (MPICH puts -x first). It
# hands the command over, and stays until it is ended, as if the command ran there.
if [ "${INA_MPI_FOLDER:-}" ]; then
	[ "$1" != -x ] || shift
	host=$1
	shift
	if [ "$host" = host0 ]; then exec sh -c "$*"; fi
	order=$INA_MPI_FOLDER/$host.$PPID
	echo "$*" >"$order.new"
	mv "$order.new" "$order"
	until [ -e "$order.over" ]; do sleep 0.3; done
	exit
fi

mpi=$1 folder=$2 host=host$INA_RANK hosts=$INA_RANKS
shift 2
# A rank must get its number from its MPI. MPICH's mpiexec gives its own environment to all ranks, and a
# daemon of Open MPI gives its own to the ranks on its host.
unset INA_RANK INA_RANKS INA_ROOT INA_BIND
# The hosts share /tmp, but not /dev/shm.
export TMPDIR=/dev/shm
if [ "$host" != host0 ]; then
	# One daemon after the other, each in the background: mpiexec ends a daemon itself.
	until [ -e "$folder/done" ]; do
		for order in "$folder/$host".+([0-9]); do
			if [ ! -e "$order" ] || [ -e "$order.taken" ]; then
				continue
			fi
			touch "$order.taken"
			{
				sh "$order" || true
				touch "$order.over"
			} &
		done
		sleep 0.3
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
# Names, because Open MPI 5's mpirun does not know its own host by an address.
list=host0:$per_host
for ((i = 1; i < hosts; i++)); do list+=,host$i:$per_host; done
ranks=$((hosts * per_host))
export INA_MPI_FOLDER=$folder
if [ "$mpi" = openmpi ]; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	# For the launcher: Open MPI 4 reads the variables with OMPI, Open MPI 5's PRRTE those with PRTE.
	export OMPI_MCA_plm_rsh_agent=$0 OMPI_MCA_plm_rsh_no_tree_spawn=1 OMPI_MCA_oob_tcp_if_include=192.0.2.0/24
	export PRTE_MCA_plm_ssh_agent=$0 PRTE_MCA_plm_ssh_no_tree_spawn=1 PRTE_MCA_prte_if_include=192.0.2.0/24
	# A host has one processor, for all its ranks.
	run=(mpirun.openmpi -n "$ranks" --host "$list" --bind-to none --mca pml ob1 --mca btl "tcp,self"
		--mca btl_tcp_if_include 192.0.2.0/24 --mca osc '^ucx' --mca mpi_yield_when_idle 1)
else
	# UCX would take the RDMA device, which it cannot work with. If hosts have several ranks, MPICH 4.0's
	# own MPI_Reduce() in place ends by SIGSEGV, except with the algorithm without shared memory.
	run=(mpiexec.mpich -n "$ranks" -hosts "$list" -launcher ssh -launcher-exec "$0" -iface vec0
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
