#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the randomised tests, each with a new seed: benches of the RTL, and units of model and library.
# Names each failed test with the command that repeats it.
#
# usage: scripts/new-seeds.sh <build folder> [rounds]

set -euo pipefail

build=${1:?the build folder}
rounds=${2:-1}

shopt -s nullglob
programs=("$build"/test_ina_* "$build"/test_model_{random,tree}* "$build"/test_hostlib_{reduce,block_float}*)
if [ ${#programs[@]} -lt 6 ]; then
	echo "new-seeds: no test_ina_* in $build: build the project first (make)" >&2
	exit 2
fi

run_one() {
	local log seed
	log=$(mktemp)
	seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
	if ! INA_SEED=$seed timeout 1200 "$1" >"$log" 2>&1; then
		tail -3 "$log" >&2
		echo "new-seeds: FAILED: INA_SEED=$seed $1" >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}
export -f run_one

for ((round = 0; round < rounds; round++)); do
	printf '%s\0' "${programs[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c 'run_one {}'
done
echo "new-seeds: ${#programs[@]} programs, $rounds times: all passed"
