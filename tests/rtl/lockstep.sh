#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The long run of the RTL side by side with the C model. It sends the given number of random packets, divided
# among the sizes that are built, and the same number through the switches of random fabrics. As many runs as
# there are cores run at the same time. A run that fails prints its seed, which is also in the log.
#
# usage: tests/rtl/lockstep.sh <build folder> [packets [first seed of the fabrics]]

set -euo pipefail

build=${1:?the build folder}
packets=${2:-2000000}
first=${3:-$((RANDOM << 15 | RANDOM))}
cores=$(nproc)

shopt -s nullglob
benches=("$build"/test_ina_top.*)
if [ ${#benches[@]} -eq 0 ]; then
	echo "lockstep: no test_ina_top.* in $build: build the project first (make)" >&2
	exit 2
fi

logs=$build/lockstep
mkdir -p "$logs"
export INA_PACKETS=$(((packets + ${#benches[@]} - 1) / ${#benches[@]}))
echo "lockstep: ${#benches[@]} sizes, $INA_PACKETS packets each; $packets packets in fabrics from seed $first on; logs in $logs"

# Arguments: the name of the log, and the command.
run_one() {
	local name=$1 log=$logs/$1.log
	shift
	if timeout 14400 "$@" >"$log" 2>&1; then
		echo "lockstep: $name: $(grep -E 'packets, all alike|seeds, 0 of them wrong' "$log")"
	else
		echo "lockstep: $name FAILED: $(grep -hE 'INA_SEED|seed ' "$log" | tail -1)" >&2
		tail -3 "$log" >&2
		return 1
	fi
}
export -f run_one
export logs

# Prints one command a line.
runs() {
	local bench core

	for ((core = 0; core < cores; core++)); do
		printf '%q ' "ina_fabric.$core" "$build/test_ina_fabric" \
			--first $((first + core * 10000000)) --frames $((packets / cores))
		echo
	done
	for bench in "${benches[@]}"; do
		printf '%q ' "${bench##*/test_}" "$bench"
		echo
	done
}

runs | xargs -d '\n' -P "$cores" -I{} bash -c 'run_one {}'
