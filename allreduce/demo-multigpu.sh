#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo-multigpu.sh [BUILD [LARGEST]]: machines with several ranks, each of which is a process that stands for a GPU: 2 machines
# of 4, then 4 of 2. It compares the flat ring, leader-only and parallel schedules and checks every element. It runs in virtual
# time, with links of 100 Gb/s and the RTL at 250 MHz. A GPU reads the memory of others on its machine over a link of
# INA_INTRA_GBPS (252: PCIe 4.0 x16, 16 GT/s on 16 lanes, 128b/130b); other work of hosts takes no time. INA_AGGREGATOR is rtl
# (the default) or model. The results are demo/multigpu-*.json and demo/multigpu.svg.
set -euo pipefail

fail() {
	echo "demo-multigpu: $*" >&2
	exit 1
}

[ $# -le 2 ] || fail "takes at most two arguments, the build folder and the largest size"
here=$(dirname "$(realpath "$0")")
build=$(realpath -m "${1:-build}")
largest=${2:-16M}
aggregator=${INA_AGGREGATOR:-rtl}
demo=$PWD/demo
[ -x "$build/ina-lab" ] || fail "$build has no ina-lab: run \`make demo-multigpu\`, or give the folder of a build"
[[ $aggregator =~ ^(rtl|model)$ ]] || fail "INA_AGGREGATOR is '$aggregator': it must be rtl or model"
mkdir -p "$demo"
export INA_INTRA_GBPS=${INA_INTRA_GBPS:-252}

for shape in 2x4 4x2; do
	echo "${shape%x*} machines x ${shape#*x} GPUs, Linux with stock rdma_rxe, in virtual time;"
	echo "links of 100 Gb/s between machines, of $INA_INTRA_GBPS Gb/s inside them; aggregator: $aggregator."
	"$build/ina-lab" run -q -n "${shape%x*}" --ranks-per-host "${shape#*x}" --virtual-time \
		--aggregator "$aggregator" --timeout 1200 -- \
		"$build/ina-perf" -b 4K -e "$largest" -f 8 -n 1 -w 1 --schedules --json "$demo/multigpu-$shape.json" 2>"$demo/multigpu-$shape.log" |
		sed -u 's/^\[0\] //' || { cat "$demo/multigpu-$shape.log" >&2; exit 1; }
done
"$here"/plot-multigpu.py "$demo/multigpu-2x4.json" "$demo/multigpu-4x2.json" "$demo/multigpu.svg"
echo "Time against size, measured and modelled: $demo/multigpu.svg; the tables: $demo/multigpu-2x4.json, $demo/multigpu-4x2.json"
