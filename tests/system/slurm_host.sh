#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Slurm on the hosts of a lab, without munge and accounts:
#
#     ina-lab run -n 2 -- tests/system/slurm_host.sh FOLDER PROGRAM ARGUMENT...
#
# Each host runs slurmd. Rank 0's host also runs the controller and, when all nodes are idle, srun. FOLDER,
# which is empty before, is on the file system that the hosts share. It has the configuration, and `done` when
# srun has ended: then the others end.

set -euo pipefail

folder=$1 rank=$INA_RANK count=$INA_RANKS
shift
# The programs that srun starts must get their rank from srun.
unset INA_RANK INA_RANKS INA_ROOT INA_BIND
export SLURM_CONF=$folder/slurm.conf
mkdir -p /run/slurm

configure() {
	echo "CgroupPlugin=cgroup/v1" >"$folder/cgroup.conf"
	{
		cat <<-END
			ClusterName=lab
			SlurmctldHost=host0(192.0.2.1)
			SlurmUser=root
			SlurmdUser=root
			AuthType=auth/none
			CredType=cred/none
			ProctrackType=proctrack/pgid
			TaskPlugin=task/none
			SelectType=select/linear
			JobAcctGatherType=jobacct_gather/none
			AccountingStorageType=accounting_storage/none
			ReturnToService=2
			StateSaveLocation=/run/slurm
			SlurmdSpoolDir=/run/slurm/%n
			SlurmctldPidFile=/run/slurm/slurmctld.pid
			SlurmdPidFile=/run/slurm/slurmd.pid
			SlurmctldLogFile=$folder/slurmctld.log
			SlurmdLogFile=$folder/slurmd.%n.log
			PartitionName=all Nodes=ALL Default=YES State=UP
		END
		for ((node = 0; node < count; node++)); do
			echo "NodeName=host$node NodeAddr=192.0.2.$((node + 1)) CPUs=1"
		done
	} >"$folder/slurm.conf.new"
	mv "$folder/slurm.conf.new" "$folder/slurm.conf"
}

if [ "$rank" != 0 ]; then
	until [ -e "$folder/slurm.conf" ]; do sleep 0.2; done
	slurmd -N "host$rank"
	until [ -e "$folder/done" ]; do sleep 0.2; done
	kill "$(cat /run/slurm/slurmd.pid)"
	exit
fi
trap 'touch "$folder/done"' EXIT
configure
slurmctld -c
slurmd -N host0
for ((second = 0; second < 60; second++)); do
	[ "$(sinfo -h -t idle -o %D 2>/dev/null)" = "$count" ] && break
	sleep 1
done
code=0
timeout 60 srun -N "$count" -n "$count" "$@" || code=$?
kill "$(cat /run/slurm/slurmd.pid)" "$(cat /run/slurm/slurmctld.pid)"
exit "$code"
