#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh [BUILD]: four hosts all-reduce through the aggregator, then by ring, and every element is checked: in virtual
# time, on links of 100 Gb/s, and in real time, on this machine's processors.
# INA_AGGREGATOR: rtl (the default), or model. Leaves tables, counters and captures in demo/.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
demo=$PWD/demo
aggregator=${INA_AGGREGATOR:-rtl}
mkdir -p "$demo"

# run NAME PERF-OPTIONS -- LAB-OPTIONS
run() {
	local name=$1 perf=()
	shift
	while [ "$1" != -- ]; do
		perf+=("$1")
		shift
	done
	shift
	"$build/ina-lab" run -n 4 --aggregator "$aggregator" --timeout 1200 --stats "$demo/$name.stats.json" \
		--pcap "$demo/$name.pcap" "$@" -- \
		"$build/ina-perf" "${perf[@]}" --compare --json "$demo/$name.json" | sed -u 's/^\[0\] //'
}

echo "Four hosts, stock Linux with stock rdma_rxe; aggregator: $aggregator."
echo
echo "1. In virtual time: links of 100 Gb/s, the RTL at 250 MHz, hosts whose own work takes no time."
echo "   The same figures on every machine."
run virtual -b 4 -e 16M -f 4 -t float -n 1 -w 1 -- --virtual-time
echo
echo "2. In real time: this machine's processors are hosts, switch and simulated RTL, and it is them that is measured."
run demo -b 4 -e 16M -f 4 -t float -n 2 -w 1 --model resnet50 --
echo
echo "In $demo: captures for Wireshark (*.pcap), counters (*.stats.json), tables (virtual.json, demo.json)."
