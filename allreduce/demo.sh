#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh [BUILD]: four hosts all-reduce through the aggregator, then by ring, and every element is checked.
# INA_AGGREGATOR: rtl (the default), or model. Leaves demo/table.json, demo/stats.json and demo/demo.pcap.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
demo=$PWD/demo
mkdir -p "$demo"

echo "Four hosts, stock Linux with stock rdma_rxe; aggregator: ${INA_AGGREGATOR:-rtl}."
"$build/ina-lab" run -n 4 --aggregator "${INA_AGGREGATOR:-rtl}" --timeout 1200 \
	--stats "$demo/stats.json" --pcap "$demo/demo.pcap" -- \
	"$build/ina-perf" -b 4 -e 16M -f 4 -t all -n 2 -w 1 --compare --model resnet50 --json "$demo/table.json" |
	sed -u 's/^\[0\] //'
echo "Capture, for Wireshark: $demo/demo.pcap; all counters: $demo/stats.json; the table: $demo/table.json"
