#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# waves.sh [BUILD]: runs one all-reduce of 4 KiB on two hosts through a bridge that records every
# signal of the RTL, and says how to view them. Run it from the root of the repository.
set -euo pipefail
build=${1:-build}
file=$build/waves/allreduce.fst

mkdir -p "$build/waves"
rm -f "$file"
INA_WAVES=$(realpath -m "$file") INA_BRIDGE=$(realpath "$build/ina-bridge-waves") \
	"$build/ina-lab" run -n 2 --mtu 1024 --aggregator rtl --timeout 120 -- \
	"$(realpath "$build/ina-perf")" -b 4K -e 4K -t float -n 1 -w 0 --algorithm ina
if [ ! -s "$file" ]; then
	echo "waves: the run wrote no $file; was $build/ina-bridge-waves built?" >&2
	exit 1
fi
echo "Every signal of the RTL, clock by clock: $file ($(du -k "$file" | cut -f1) KiB). To look at it:"
echo "gtkwave $file rtl/sim/waves.gtkw"
