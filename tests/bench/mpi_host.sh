#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Open MPI on the hosts of a lab, which have no ssh:
#
#     ina-lab run -n 4 --aggregator off -- tests/bench/mpi_host.sh FOLDER PROGRAM ARGUMENT...
#
# Rank 0's host runs mpirun, and the others wait for the command by which it starts its daemon there. They use
# FOLDER, which is empty before, on the file system that the hosts share: the file named after a host's
# address contains the command for that host. MPI uses TCP between the addresses of the lab.

set -euo pipefail

# mpirun's remote shell, which it calls with a host and a command. It hands the command over, and stays until
# mpirun ends it, as if the command ran there.
if [ "${INA_MPI_FOLDER:-}" ]; then
	order=$INA_MPI_FOLDER/$1
	shift
	echo "$*" >"$order.new"
	mv "$order.new" "$order"
	exec sleep 3600
fi

address() {
	echo "192.0.2.$(($1 + 1))"
}

folder=$1
shift
if [ "$INA_RANK" != 0 ]; then
	order=$folder/$(address "$INA_RANK")
	until [ -e "$order" ]; do sleep 0.2; done
	exec sh "$order"
fi
hosts=$(address 0):1
for ((rank = 1; rank < INA_RANKS; rank++)); do hosts+=,$(address "$rank"):1; done
export INA_MPI_FOLDER=$folder OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec mpirun -n "$INA_RANKS" --host "$hosts" --mca plm rsh --mca plm_rsh_agent "$0" --mca plm_rsh_no_tree_spawn 1 \
	--mca orte_tmpdir_base /dev/shm --mca pml ob1 --mca btl tcp,self \
	--mca btl_tcp_if_include 192.0.2.0/24 --mca oob_tcp_if_include 192.0.2.0/24 "$@"
