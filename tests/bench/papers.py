#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The headline claims of five papers about aggregation in the network, and the corresponding measurements here. Writes
docs/papers.md and its picture from the measurements, which docs/pictures/papers.json keeps.

    tests/bench/papers.py [--build build] [--lines netreduce.speed,grid] [--aggregator rtl]
    tests/bench/papers.py --lines none    # the page anew, nothing measured

--lines takes lines and papers (the part before the dot); by default all are measured. All lines except netreduce.cpu run in
virtual time, with the same figures on every machine.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import congestion
import jobs
import paths
import plan
import torch_models
import virtual

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "pictures"))
import draw  # noqa: E402

KEPT = ROOT / "docs" / "pictures" / "papers.json"
PAGE = ROOT / "docs" / "papers.md"
CELL_WORDS = 30  # longer cells make a table hard to read
PAPERS = {
    "netreduce": "NetReduce: Liu and others, In-Network Aggregation with Transport Transparency for Distributed Training, ASPLOS 2023",
    "switchml": "SwitchML: Sapio and others, Scaling Distributed Machine Learning with In-Network Aggregation, NSDI 2021",
    "atp": "ATP: Lao and others, ATP: In-network Aggregation for Multi-tenant Learning, NSDI 2021",
    "panama": "PANAMA: Gebara, Ghobadi and Costa, In-network Aggregation for Shared Machine Learning Clusters, MLSys 2021",
    "grid": "GRID: Fang and others, GRID: Gradient Routing With In-Network Aggregation for Distributed Training, IEEE/ACM Transactions on Networking 2023",
}


@dataclass
class Line:
    name: str
    claim: str        # of the paper, with the hardware of its measurement
    ours: str         # the corresponding run here
    measure: Callable
    word: str         # how far the two can be compared
    theirs: float = None  # the claim as a number, if the first result of `measure` is comparable


def beside_ring(options, hosts, size, arguments=()):
    row, = virtual.perf(options, hosts, 100, [], ["-b", size, "-e", size, "-n", "2", *arguments])
    return row


def netreduce_speed(options):
    row = beside_ring(options, 6, "64M")
    return row["speed_up"], f"{row['speed_up']:.2f} times as fast as our ring; 2(n−1)/n is 1.67"


def iteration(model):
    def measure(options):
        times = torch_models.measure(argparse.Namespace(build=Path(options.build)), 6, 100)
        gain = torch_models.step_of(model, times, batch=64, tflops=50)["gain"]
        return gain, f"a step is {gain:.2f} times as fast"
    return measure


def netreduce_parallel(options):
    options.rates = [100]
    rows = [row for row in virtual.parallel(options) if row["size_bytes"] == 16 << 20]
    gains = [row["schedules"]["flat"]["time_us"] / row["schedules"]["parallel"]["time_us"] for row in rows]
    leader = [row["schedules"]["leader"]["time_us"] / row["schedules"]["parallel"]["time_us"] for row in rows]
    return None, "; ".join(f"{row['machines']} machines of {row['ranks_a_machine']}: {flat:.2f} times as fast as the flat ring, {one:.2f} times as fast as by one rank a machine"
                           for row, flat, one in zip(rows, gains, leader))


def netreduce_cpu(options):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run([ROOT / "tests/bench/wall.py", "--build", options.build, "--parts", "cost", "--sets", "3", "--json", report.name], check=True)
        result, = json.load(report)["cost"]
    return None, f"{result['ratio']:.2f} of the CPU time of our ring ({result['host_s_per_gib']['ina']:.1f} s to {result['host_s_per_gib']['ring']:.1f} s a GiB)"


def switchml_speed(options):
    row = beside_ring(options, 8, "16M", ["--fixed-point"])
    gloo = virtual.gloo(options, 8, 100, [row["size_bytes"]]).get(row["size_bytes"])
    beside = f"; Gloo's ring_chunked takes {gloo / row['result']['time_us']:.2f} times as long" if gloo else ""
    return None, f"{row['speed_up']:.2f} times as fast as our ring of float32{beside}"


def switchml_sums(options):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        virtual.lab(options, 8, 100, ["--aggregator", options.aggregator],
                    [str(Path(options.build).resolve() / "ina-perf"), "-t", "float", "-b", "1M", "-e", "1M", "-n", "1", "-c", "1",
                     "--fixed-point", "--json", report.name])
        said = json.load(report)
    fixed, row = said["fixed_point"], said["rows"][0]
    assert row["result"]["wrong"] == 0 and row["result"]["algorithm"] == "ina", row
    return None, f"the farthest of 262,144 sums is {fixed['farthest']:.2g} off, where docs/protocol.md allows {fixed['bound']:.2g}; elements are below 2¹⁷"


def switchml_loss(options):
    options.rates = [100]
    rows = virtual.loss(options)
    best = rows[0]
    return None, "takes, of its time without loss, " + "; ".join(
        f"at {row['loss']:.2%} {best['ina_gbps'] / row['ina_gbps']:.3g} times, over the ring {best['ring_gbps'] / row['ring_gbps']:.3g}"
        for row in rows if row["loss"] in (1e-4, 1e-3, 1e-2))


def panama_short(options):
    by = {(row["algorithm"], row["controlled"]): row for row in congestion.short(options)}
    ring, ours = by["ring", False], by["ina", True]
    gain = ring["p99_us"] / ours["p99_us"]
    return gain, (f"p99 {ours['p99_us']:.0f} µs next to jobs in the network, {ring['p99_us']:.0f} next to the same jobs over the ring: {gain:.2f} times; "
                  f"without congestion control {by['ina', False]['p99_us']:.0f} µs")


def panama_jobs(options):
    rows = paths.beside_short_flows(options)
    return None, "; ".join(f"{row['way']}: {statistics.mean(row['gbps']):.1f} Gb/s a job, short flows' p99 {row['short_p99_us']:.1f} µs" for row in rows)


def panama_trees(options):
    options.spines = [2, 4]
    rows = paths.trees(options)
    return None, "; ".join(f"{row['spines']} spines, {row['way']}: {row['gbps']:.1f} Gb/s" for row in rows)


def atp_share(options):
    options.rates, options.hosts = [100], [8]
    result, = virtual.jobs(options)
    return None, f"they have {result['shares'][0]:.3f} and {result['shares'][1]:.3f} of the rate that one of them has alone"


def atp_memory(options):
    rows = jobs.three(options)
    pairs, ring = zip(rows[::2], rows[1::2]), rows[-1]
    said = [f"memory for {windows}: {asked['step_ms']:.2f} ms a step as asked for, {slices['step_ms']:.2f} in slices"
            for windows, (asked, slices) in enumerate(pairs, 1)]
    return None, "; ".join([*said, f"{ring['step_ms']:.2f} over the ring"])


def atp_turns(options):
    options.jobs = [4, 8]
    rows = jobs.turns(options)
    return None, "; ".join(f"{turns['jobs']} jobs: {turns['allreduce_ms']:.2f} ms of all-reduce a step, over the ring {ring['allreduce_ms']:.2f}; {turns['aggregated']:.0%} "
                           f"aggregated, of the job with the least {turns['least']:.0%}, Jain's index {turns['jain']:.3f}"
                           for turns, ring in zip(rows[::2], rows[1::2]))


def grid_example(options):
    said = json.loads(subprocess.run([Path(options.build) / "ina-plan", "--example", "grid", "--json"], capture_output=True, text=True, check=True).stdout)
    rates = {name: said[name]["smallest"] / 1e9 for name in ("plain", "nearest", "plan")}
    return None, f"{rates['plain']:.2f} without aggregation, {rates['nearest']:.2f} by the nearest switch, {rates['plan']:.2f} planned"


def grid_time(options):
    saved = [100 * row["saved"]["single"] for row in plan.planned(options) if row["kind"] == "server"]
    return None, f"{min(saved):.0f} to {max(saved):.0f}% less with one tree a job"


LINES = [
    Line("netreduce.speed", "up to 1.7 times; six hosts, an FPGA board at an Ethernet switch",
         "all-reduce of 64 MiB of float32, six hosts at 100 Gb/s, the RTL at 250 MHz", netreduce_speed,
         "theirs is the time of training, ours of the all-reduce alone; both are near what theory allows at n = 6, 1.67", 1.7),
    Line("netreduce.alexnet", "AlexNet trains 70% faster; the same testbed",
         "DDP's buckets of AlexNet, six hosts at 100 Gb/s, 64 samples a host; computing is worked out at 50 · 10¹² operations a second", iteration("AlexNet"),
         "our hosts compute nothing: the ratio depends on the rate that was assumed", 1.7),
    Line("netreduce.bert", "up to 1.5 times for transformers", "the same for BERT-base", iteration("BERT-base"), "as above: with a faster GPU more, with a slower one less", 1.5),
    Line("netreduce.parallel", "parallel all-reduce uses links inside and between machines of several GPUs",
         "16 MiB, 8 ranks, 100 Gb/s between machines, 252 Gb/s inside", netreduce_parallel, "a rank is a process, and the link inside a machine is a model's"),
    Line("netreduce.cpu", "one core is enough for transmission", "CPU time of a host's kernel and program, 16 MiB on four hosts, by the wall clock", netreduce_cpu,
         "not comparable: soft-RoCE makes every packet on the CPU, a card none"),
    Line("switchml.speed", "up to 5.5 times faster training; 8 and 16 hosts, 10 and 100 Gb/s, a Tofino switch, compared with NCCL and Gloo over TCP and RDMA",
         "float32 as integers with a block exponent, 16 MiB, 8 hosts at 100 Gb/s, the RTL", switchml_speed,
         "their largest gain is against TCP on hosts whose CPU is the limit; a ring over RDMA leaves 2(n−1)/n = 1.75"),
    Line("switchml.sums", "integers with scaling reach the same accuracy as floats", "the same, every sum compared with the exact one", switchml_sums,
         "ours takes the exponent of each message from all ranks, theirs one message ahead"),
    Line("switchml.loss", "shadow copies of slots: lost packets are answered by the switch; 0.01% to 1% loss",
         "16 MiB on four hosts at 100 Gb/s, frames lost on each side of the switch", switchml_loss,
         "the history of sums is our shadow copy; beyond 0.1% `rdma_rxe`'s timer of 67 ms counts, where SwitchML's is 1 ms"),
    Line("atp.share", "jobs share the switch fairly; training up to 38 to 66% faster in a cluster of many jobs", "two concurrent jobs of 8 ranks on the same hosts, 16 MiB",
         atp_share, "the fair share alone"),
    Line("atp.memory", "granting memory as jobs ask for it equals static slices if the memory suffices, and is better if it does not; three jobs of VGG-16",
         "three jobs on four hosts, VGG-16's tensors and its computing shrunk to a 128th, memory for one, two or three windows of 32 packets, the C model", atp_memory,
         "theirs gives memory to whichever packet comes; ours grants a window for as long as a job stays"),
    Line("atp.turns", "many jobs use the switch by turns, best effort; the same testbed",
         "jobs of VGG-16's tensors, shrunk to a 512th, that compute for 50 ms a step, and a switch with contexts for four, the C model", atp_turns,
         "theirs shares slots packet by packet; ours gives a context for a second at least, so a share is one of time"),
    Line("panama.trees", "several aggregation trees a job, in place of ECMP; the same simulation as below",
         "8 MiB, two leaves under 2 and 4 spines whose cables have 100 Gb/s together", panama_trees, "the idea is the same; the fabric is as small as can be"),
    Line("panama.short", "99th percentile of short flows up to 4.5 times better; simulation of a large cluster",
         "two jobs of four hosts on one cable of 100 Gb/s, short flows of 4 KiB through the same queue", panama_short,
         "ten hosts and one cable, where theirs is a Clos with ECMP", 4.5),
    Line("panama.jobs", "large jobs up to 1.34 times as fast; the same simulation", "two jobs under two spines, 4 MiB, 100 Gb/s everywhere, over the ring, with one tree a job and with two, the RTL at 250 MHz",
         panama_jobs, "theirs is training time in a large cluster; here it is the all-reduce alone, on a fabric as small as can be ([results.md](results.md#several-trees-a-job))"),
    Line("grid.example", "8 workers: 1 without aggregation, 2.43 by the nearest switch, 3 by GRID", "`ina-plan --example grid`", grid_example, "the same example"),
    Line("grid.time", "38.4 to 60.1% less communication time than others; a testbed and simulations",
         "a fat tree of 80 switches, 8 jobs of 16 hosts with a server each, against the better of no and of nearest aggregation", grid_time,
         "predicted rates, which virtual time confirms on fabrics that fit the lab ([results.md](results.md#plans-for-many-jobs))"),
]


def picture(kept):
    """Published and measured figures next to each other, for claims that are ratios."""
    rows = [line for line in LINES if line.theirs and kept.get(line.name, {}).get("value")]
    width, height, left, step = 640, 70 + 46 * len(rows), 150, 84
    parts = [draw.text(20, 28, "Published, and what runs here in its place: how many times better", "title", "start")]
    for i, line in enumerate(rows):
        y = 50 + 46 * i
        parts.append(draw.text(left - 10, y + 20, line.name, "", "end"))
        for value, at, css in ((line.theirs, y, "ring"), (kept[line.name]["value"], y + 16, "ina")):
            parts += [f'<rect x="{left}" y="{at}" width="{value * step:.0f}" height="13" class="{css}-dot"/>',
                      draw.text(left + value * step + 6, at + 11, f"{value:.2f}", f"{css}-text small", "start")]
    parts += [draw.text(left, height - 8, "published", "ring-text", "start"), draw.text(left + 90, height - 8, "here", "ina-text", "start")]
    draw.write("papers.svg", width, height, "Published ratios compared with those measured here", parts)


def page(kept):
    parts = ["# Five papers, and what runs here in their place\n",
             "    make papers                                           # measures all lines, and writes this page",
             "    tests/bench/papers.py --lines netreduce.speed,grid    # some lines, or all of a paper\n",
             "Times are virtual unless a line says otherwise: [results.md](results.md) says what that means.",
             "None of these papers' testbeds is here, so each line ends with how far the two figures can be compared.\n",
             "![Published ratios compared with those measured here](pictures/papers.svg)\n"]
    for paper, title in PAPERS.items():
        lines = [line for line in LINES if line.name.split(".")[0] == paper]
        parts += [f"## {title.split(':')[0]}\n", title.split(": ", 1)[1] + ".\n",
                  "| line | the paper's claim | what runs here | measured | comparable? |", "|---|---|---|---|---|"]
        below = []
        for line in lines:
            measured = kept.get(line.name, {}).get("text", "not measured")
            if len(measured.split()) > CELL_WORDS:
                below.append(f"- **{line.name}**: {measured}.")
                measured = "see below"
            parts.append(f"| {line.name} | {line.claim} | {line.ours} | {measured} | {line.word} |")
        parts += ["", *below, ""] if below else [""]
    PAGE.write_text("\n".join(parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build", help="the folder with ina-lab, ina-perf and the benches' programs (build)")
    parser.add_argument("--lines", default="", help="names of lines or papers to measure (all)")
    parser.add_argument("--aggregator", default="rtl", help="rtl or model (rtl)")
    parser.add_argument("--progress", action="store_true", help="print the progress of each run")
    options = parser.parse_args()
    wanted = [word for word in options.lines.split(",") if word]
    names = {line.name for line in LINES} | set(PAPERS) | {"none"}
    for word in wanted:
        if word not in names:
            parser.error(f"--lines {word}: there is {', '.join(sorted(names))}")
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for line in LINES:
        if wanted and line.name not in wanted and line.name.split(".")[0] not in wanted:
            continue
        print(f"## {line.name}: {line.ours}", flush=True)
        value, text = line.measure(options)
        kept[line.name] = {"value": value, "text": text}
        print(f"## {line.name}: {text}", flush=True)
        KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    picture(kept)
    page(kept)
    print(f"{PAGE.relative_to(ROOT)} and {KEPT.relative_to(ROOT).with_suffix('.svg')} are written")


if __name__ == "__main__":
    main()
