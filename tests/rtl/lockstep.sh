#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The long run of the RTL beside the C model: so many random packets, shared out among the sizes
# that are built, as many at a time as there are cores. A run that fails names its seed, and the
# log has it.
#
# usage: tests/rtl/lockstep.sh <build folder> [packets]

set -euo pipefail

build=${1:?the build folder}
packets=${2:-2000000}

shopt -s nullglob
benches=("$build"/test_ina_top.*)
if [ ${#benches[@]} -eq 0 ]; then
	echo "lockstep: no test_ina_top.* in $build: build the project first (make)" >&2
	exit 2
fi

logs=$build/lockstep
mkdir -p "$logs"
export INA_PACKETS=$(((packets + ${#benches[@]} - 1) / ${#benches[@]}))
echo "lockstep: ${#benches[@]} sizes, $INA_PACKETS packets each, logs in $logs"

run_one() {
	local name=${1##*/test_} log
	log=$2/$name.log
	if timeout 7200 "$1" >"$log" 2>&1; then
		echo "lockstep: $name: $(grep 'packets, all alike' "$log")"
	else
		echo "lockstep: $name FAILED: $(grep -h INA_SEED "$log" | tail -1)" >&2
		tail -3 "$log" >&2
		return 1
	fi
}
export -f run_one

printf '%s\0' "${benches[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c 'run_one "$@"' run {} "$logs"
