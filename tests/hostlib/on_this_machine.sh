#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# on_this_machine.sh RANKS COMMAND...: runs the command as RANKS ranks on this machine, at a port that no
# other job uses. Fails if any of them fails.
ranks=$1
shift
export INA_RANKS="$ranks" INA_COOKIE="on_this_machine $$"
INA_ROOT=127.0.0.1
export INA_ROOT
processes=
rank=0
while [ "$rank" -lt "$ranks" ]; do
	INA_RANK=$rank "$@" &
	processes="$processes $!"
	rank=$((rank + 1))
done
code=0
for process in $processes; do
	wait "$process" || code=$?
done
exit $code
