#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh seeds BUILD              writes the inputs from which fuzzing starts into BUILD/fuzz/seeds.
# run.sh test NAME RUNS BUILD     runs that fuzzer on RUNS inputs from a fixed seed, the same each time.
#                                 The inputs that it keeps are in BUILD/fuzz/test/NAME.
# run.sh explore SECONDS BUILD    runs each fuzzer for SECONDS, from the end of the last exploration.
#                                 The inputs that it keeps are in BUILD/fuzz/explored. Then runs all
#                                 of them through the RTL, and floods ina-bridge for as long.
# An input that fails is left in BUILD/fuzz, and `BUILD/fuzz_NAME FILE` runs it alone.
set -euo pipefail

# Inputs of traffic.h's TRAFFIC_INPUT_MAX; an input of more than 10 s is a fault, as is 1 GiB.
common=(-max_len=2048 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1)

fail() {
	echo "fuzz: $*" >&2
	exit 1
}

# fuzz NAME BUILD CORPUS OPTION...: runs it, and reports the result in one line.
fuzz() {
	local name=$1 build=$2 corpus=$3 log runs coverage
	shift 3
	log=$build/fuzz/$name.log
	mkdir -p "$corpus"
	if ! "$build/fuzz_$name" "${common[@]}" -artifact_prefix="$build/fuzz/$name-" "$@" \
		"$corpus" "$build/fuzz/seeds/$name" >"$log" 2>&1; then
		grep -v '^#' "$log" | tail -60 >&2
		fail "$name failed; the whole log is $log"
	fi
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	coverage=$(grep -o 'cov: [0-9]* ft: [0-9]*' "$log" | tail -1)
	printf '%-12s %10s executions   %s (edges, features)   %6d inputs kept\n' "$name" "$runs" \
		"$coverage" "$(find "$corpus" -type f | wc -l)"
}

seeds() {
	rm -rf "$1/fuzz/seeds"
	mkdir -p "$1/fuzz"
	"$1/ina-fuzz-seeds" "$1/fuzz/seeds"
}

case ${1:-} in
seeds)
	[ $# -eq 2 ] || fail "usage: run.sh seeds BUILD"
	seeds "$2"
	;;
test)
	[ $# -eq 4 ] || fail "usage: run.sh test NAME RUNS BUILD"
	rm -rf "$4/fuzz/test/$2"
	mkdir -p "$4/fuzz/test"
	# The new inputs that comparisons suggest depend on addresses, and so differ from run to run.
	fuzz "$2" "$4" "$4/fuzz/test/$2" -seed=1 -runs="$3" -use_cmp=0
	;;
explore)
	[ $# -eq 3 ] || fail "usage: run.sh explore SECONDS BUILD"
	seeds "$3"
	mkdir -p "$3/fuzz/explored"
	for name in model bridge replay options topology virtqueue vhost_user control local_socket; do
		fuzz "$name" "$3" "$3/fuzz/explored/$name" -max_total_time="$2"
	done
	"$3/replay_ina_top" "$3/fuzz/seeds/model" "$3/fuzz/explored/model"
	INA_FLOOD_S=$2 INA_BRIDGE=$(realpath "$3")/ina-bridge /usr/bin/python3 -B -m pytest -q -rP -p no:cacheprovider \
		"$(dirname "$0")/../sim-bridge/test_flood.py"
	;;
*)
	fail "usage: run.sh seeds BUILD, run.sh test NAME RUNS BUILD, or run.sh explore SECONDS BUILD"
	;;
esac
