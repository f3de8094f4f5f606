#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The speed of the network and the protocol, in virtual time: all-reduce through the RTL at 250 MHz compared with libina's ring,
on modelled links of 10, 25 and 100 Gb/s between kernels with stock rdma_rxe. The figures are the same on every machine
with the same release of the hosts' kernel.

    tests/bench/virtual.py [--build build] [--parts payload,small,sweep,jobs,parallel,loss] [--rates 10,25,100] [--hosts 2,4,6,8]
                           [--largest 64M] [--json FILE] [--check]
    tests/bench/virtual.py --parts charts --json docs/pictures/results.json    # for docs/pictures/draw.py
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "allreduce"))
import demo  # noqa: E402

TIMEOUT_S = 3600
MTU = 4096
# The model's own defaults (ina-bridge --help): they are part of the small messages' budget.
LINK_DELAY_US, SWITCH_DELAY_US, RTL_CLOCK_MHZ = 0.5, 0.3, 250
# An all-reduce of 8 bytes on the wire: header 32, elements filled up to 16, trailer 16; Ethernet, IPv4, UDP, BTH, iCRC;
# preamble, FCS, gap.
SMALL_FRAME_BYTES = 32 + 16 + 16 + 14 + 20 + 8 + 12 + 4
WIRE_BYTES = 24
# From the last rank's last beat to the first beat of the sum (`make bench-rtl`: at most 40 at 8 ports), and the beats in and out
# of a frame, which is stored before and after.
RTL_CLOCKS = 40 + 2 * -(-SMALL_FRAME_BYTES // 64)
RTL_DOWN_CLOCKS = 22 + 2 * -(-SMALL_FRAME_BYTES // 64)  # for a sum from a higher switch
# Published figures for float32: NetReduce (ASPLOS 2023), up to; the FPGA switch of CityU, bandwidth at n = 8.
PUBLISHED = "published: NetReduce up to 1.7 x, CityU's FPGA switch 1.75 x at n = 8"

WANTED_OF_THEORY = 0.97    # speed-up, as a share of 2 (n - 1) / n
WANTED_OF_PLAIN = 0.97     # payload, as a share of ibv_rc_pingpong's
WANTED_OVER_BUDGET_US = 1.0
# Parallel all-reduce: compared with the flat ring over all ranks, and with one rank that communicates for its machine.
WANTED_OF_FLAT, WANTED_OF_LEADER = 1.3, 1.0
SHAPES = ((2, 4), (4, 2))
# For each rank inside its machine: PCIe 4.0 x16, 16 GT/s on 16 lanes, 128b/130b.
INTRA_GBPS = 252
PARTS = ("payload", "small", "sweep", "jobs", "parallel", "loss")  # by default: the measurements of charts are a part of sweep
CHART_GBPS, CHART_HOSTS, CHART_LARGEST = 100, 4, "16M"
LOSSES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


def lab(options, hosts, rate, switches, command):
    """Runs a command on hosts in virtual time, and returns what it printed."""
    line = [os.path.join(options.build, "ina-lab"), "run", *([] if options.progress else ["-q"]), "-n", str(hosts), "--virtual-time", "--memory", "1024",
            "--link-rate", f"{rate}G", "--mtu", str(MTU), "--timeout", str(TIMEOUT_S), *switches, "--", *command]
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=None if options.progress else subprocess.PIPE, text=True,
                          timeout=TIMEOUT_S + 60, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"virtual: {' '.join(line)}: exit code {done.returncode}\n{done.stdout}{done.stderr or ''}")
    return done.stdout


def perf(options, hosts, rate, switches, arguments):
    """ina-perf through the aggregator and over the ring: its rows. Every element is checked."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        lab(options, hosts, rate, ["--aggregator", options.aggregator, *switches],
            [os.path.abspath(os.path.join(options.build, "ina-perf")), "-t", "float", "-c", "1", "--compare",
             "--json", report.name, *arguments])
        rows = json.load(open(report.name))["rows"]
    for row in rows:
        assert row["result"]["wrong"] == row["ring"]["wrong"] == 0, row
        assert row["result"]["algorithm"] == "ina", row
    return rows


def pingpong_gbps(options, hosts, rate, switches):
    """Gb/s of payload between the first and the last host, with one message each way in turn."""
    command = f"ibv_rc_pingpong -e -g 1 -m {MTU} -s 1048576 -n 50"
    out = lab(options, hosts, rate, ["--aggregator", "off", *switches],
              ["sh", "-c", f"[ $INA_RANK = 0 ] && exec {command}; [ $INA_RANK = {hosts - 1} ] || exit 0; sleep 1; exec {command} $INA_ROOT"])
    return max(float(text) for text in re.findall(r"= ([0-9.]+) Mbit/sec", out)) / 1000


def payload(options):
    """Gb/s of payload: one message each way in turn between two hosts, and all-reduce of four."""
    results = []
    for rate in options.rates:
        plain = pingpong_gbps(options, 2, rate, [])
        row, = perf(options, 4, rate, [], ["-b", options.largest, "-e", options.largest, "-n", "1"])
        ours = row["size_bytes"] * 8 / row["result"]["time_us"] / 1000
        results.append({"rate_gbps": rate, "pingpong_gbps": plain, "allreduce_gbps": ours, "ratio": ours / plain,
                        "good": ours / plain >= WANTED_OF_PLAIN})
        print(f"{rate:4} Gb/s: ibv_rc_pingpong -e {plain:8.3f} Gb/s, all-reduce of {options.largest} on 4 hosts {ours:8.3f} Gb/s, "
              f"{ours / plain:.3f} of it (wanted {WANTED_OF_PLAIN})", flush=True)
    return results


def network_us(rate, levels=1):
    """The time of a message of 8 bytes over links and through switches with the RTL: up to the top, and down."""
    link_us = (SMALL_FRAME_BYTES + WIRE_BYTES) * 8e-3 / rate + LINK_DELAY_US
    clocks = levels * RTL_CLOCKS + (levels - 1) * RTL_DOWN_CLOCKS
    return 2 * levels * link_us + (2 * levels - 1) * SWITCH_DELAY_US + clocks / RTL_CLOCK_MHZ


def small(options):
    """8 bytes on the largest number of hosts: the time of the network, and the time that hosts and library add."""
    results = []
    for rate in options.rates:
        budget_us = network_us(rate)
        row, = perf(options, max(options.hosts), rate, [], ["-b", "8", "-e", "8", "-n", "20"])
        time_us = row["result"]["time_us"]
        results.append({"rate_gbps": rate, "hosts": max(options.hosts), "time_us": time_us, "network_us": budget_us,
                        "ring_us": row["ring"]["time_us"], "good": time_us <= budget_us + WANTED_OVER_BUDGET_US})
        print(f"{rate:4} Gb/s, n = {max(options.hosts)}: 8 bytes in {time_us:.2f} us; links, switch and RTL take {budget_us:.2f} us "
              f"(wanted: {WANTED_OVER_BUDGET_US} us more at most); ring {row['ring']['time_us']:.2f} us", flush=True)
    return results


def gloo(options, hosts, rate, sizes):
    """Gloo's ring_chunked over ibverbs on the same hosts and links: time in us by size; {} if it is not built."""
    program = os.path.abspath(os.path.join(options.build, "gloo_ring"))
    if not os.path.exists(program):
        return {}
    with tempfile.TemporaryDirectory() as meeting:
        out = lab(options, hosts, rate, ["--aggregator", "off"], [program, meeting, "2", *map(str, sizes)])
    rows = [json.loads(line.split("] ", 1)[1]) for line in out.splitlines() if line.startswith("[0] {")]
    assert all(row["wrong"] == 0 for row in rows), rows
    return {row["size_bytes"]: row["time_us"] for row in rows}


def sweep(options):
    results = []
    print(f"# {PUBLISHED}\n# {'Gb/s':>4} {'n':>2} {'size (B)':>10} {'time (us)':>11} {'algbw (GB/s)':>12} {'busbw (GB/s)':>12} "
          f"{'ring (us)':>11} {'speed-up':>8} {'2(n-1)/n':>8} {'Gloo (us)':>11}", flush=True)
    for rate in options.rates:
        for hosts in options.hosts:
            rows = perf(options, hosts, rate, [], ["-b", "8", "-e", options.largest, "-f", "16", "-n", "2"]) + \
                perf(options, hosts, rate, [], ["-b", options.largest, "-e", options.largest, "-n", "1"])
            others = gloo(options, hosts, rate, [row["size_bytes"] for row in rows])
            for row in rows:
                theory = 2 * (hosts - 1) / hosts
                result = {"rate_gbps": rate, "hosts": hosts, "theory": theory, **row}
                result["gloo_us"] = others.get(row["size_bytes"])
                is_largest = row["size_bytes"] >= 64 << 20 and rate == 100
                result["good"] = row["speed_up"] >= WANTED_OF_THEORY * theory if is_largest else None
                results.append(result)
                print(f"{rate:6} {hosts:2} {row['size_bytes']:10} {row['result']['time_us']:11.2f} "
                      f"{row['result']['algbw_GBps']:12.4f} {row['result']['busbw_GBps']:12.4f} {row['ring']['time_us']:11.2f} "
                      f"{row['speed_up']:8.2f} {theory:8.2f} {result['gloo_us'] or float('nan'):11.2f}", flush=True)
    return results


def jobs(options):
    """Two jobs on the largest number of hosts, so with twice as many ranks: each host's link and the aggregator carry both at the
    same time."""
    hosts, rate, size = max(options.hosts), max(options.rates), ["-t", "float", "-c", "1", "-b", "16M", "-e", "16M", "-n", "4", "-w", "0"]
    program = os.path.abspath(os.path.join(options.build, "ina-perf"))
    alone = perf(options, hosts, rate, [], size)[0]["result"]["time_us"]
    with tempfile.TemporaryDirectory() as folder:
        reports = [os.path.join(folder, name) for name in ("first.json", "second.json")]
        # The second job uses another port of rank 0. Both must start together; a rank that comes before rank 0 tries again 50 ms
        # later.
        line = (f'set -e; [ $INA_RANK = 0 ] || sleep 0.01; {program} {" ".join(size)} --json {reports[0]} & first=$!; '
                f'INA_ROOT=$INA_ROOT:18600 {program} {" ".join(size)} --json {reports[1]}; wait $first')
        lab(options, hosts, rate, ["--aggregator", options.aggregator], ["sh", "-c", line])
        rows = [json.load(open(report))["rows"][0] for report in reports]
    for row in rows:
        assert row["result"]["wrong"] == 0 and row["result"]["algorithm"] == "ina", row
    times = [row["result"]["time_us"] for row in rows]
    share = [alone / time for time in times]
    print(f"{rate:4} Gb/s: 16 MiB on {hosts} hosts in {alone:.1f} us; two concurrent jobs, {2 * hosts} ranks, in {times[0]:.1f} and "
          f"{times[1]:.1f} us: {share[0]:.3f} and {share[1]:.3f} of the goodput", flush=True)
    return [{"rate_gbps": rate, "hosts": hosts, "jobs": 2, "alone_us": alone, "times_us": times, "shares": share, "good": None}]


def parallel(options):
    """Machines of several ranks: flat ring over all of them, leader-only and parallel, compared with the cost model."""
    results, ways = [], ("flat", "leader", "parallel")
    print(f"# each rank reads the others of its machine at {INTRA_GBPS} Gb/s; times of the slowest rank\n"
          f"# {'machines':>8} {'ranks':>5} {'size (B)':>10}" + "".join(f"{way + ' (us)':>14} {'model':>8}" for way in ways) +
          f" {'flat/par.':>9} {'leader/par.':>11}", flush=True)
    for machines, locals_ in SHAPES:
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            lab(options, machines, max(options.rates), ["--ranks-per-host", str(locals_), "--aggregator", options.aggregator],
                ["env", f"INA_INTRA_GBPS={INTRA_GBPS}", os.path.abspath(os.path.join(options.build, "ina-perf")), "-t", "float", "-c", "1",
                 "-n", "1", "-w", "1", "-b", "4K", "-e", "16M", "-f", "16", "--schedules", "--json", report.name])
            rows = json.load(open(report.name))["rows"]
        for row in rows:
            measured = row["schedules"]
            assert all(measured[way]["wrong"] == 0 for way in ways), row
            gains = {way: measured[way]["time_us"] / measured["parallel"]["time_us"] for way in ("flat", "leader")}
            is_largest = row["size_bytes"] >= 16 << 20
            good = gains["flat"] >= WANTED_OF_FLAT and gains["leader"] > WANTED_OF_LEADER if is_largest else None
            results.append({"machines": machines, "ranks_a_machine": locals_, "size_bytes": row["size_bytes"], "intra_gbps": INTRA_GBPS,
                            "schedules": measured, "good": good})
            print(f"{machines:10} {locals_:5} {row['size_bytes']:10}" + "".join(
                  f"{measured[way]['time_us']:14.1f} {measured[way]['model_us']:8.1f}" for way in ways) +
                  f" {gains['flat']:9.2f} {gains['leader']:11.3f}", flush=True)
    return results


def loss(options):
    """Goodput of four hosts at 16 MiB and the highest rate, with frames lost before and after the switch."""
    results = []
    for probability in LOSSES:
        switches = ["--loss-up", str(probability), "--loss-down", str(probability)]
        row, = perf(options, 4, max(options.rates), switches, ["-b", "16M", "-e", "16M", "-n", "4", "-w", "0"])
        ours, ring = (row["size_bytes"] * 8 / row[kind]["time_us"] / 1000 for kind in ("result", "ring"))
        results.append({"loss": probability, "rate_gbps": max(options.rates), "ina_gbps": ours, "ring_gbps": ring,
                        "good": ours >= ring})
        print(f"loss {probability:g} on each side: in the network {ours:.3f} Gb/s, over the ring {ring:.3f} Gb/s", flush=True)
    return results


def charts(options):
    """For the chart of docs/results.md: time against size on four hosts, and the time of a large all-reduce against the number of hosts."""
    results = []
    for hosts in range(2, 9):
        smallest = "4" if hosts == CHART_HOSTS else CHART_LARGEST
        for row in perf(options, hosts, CHART_GBPS, [], ["-b", smallest, "-e", CHART_LARGEST, "-f", "4", "-n", "1"]):
            ours, ring = (round(row[kind]["time_us"], 2) for kind in ("result", "ring"))
            results.append({"rate_gbps": CHART_GBPS, "hosts": hosts, "size_bytes": row["size_bytes"], "ina_us": ours, "ring_us": ring,
                            "good": None})
            print(f"n = {hosts}, {row['size_bytes']:9} bytes: in the network {ours:9.2f} us, over the ring {ring:9.2f} us, {ring / ours:.2f} times "
                  f"as fast; 2(n-1)/n is {2 * (hosts - 1) / hosts:.2f}", flush=True)
    return results


def measure(parser, parts, default):
    """Adds the common options, and runs the requested parts."""
    parser.add_argument("--build", default="build", help="the folder with ina-lab and ina-perf (build)")
    parser.add_argument("--parts", default=",".join(default), help="parts to measure, of " + ", ".join(parts))
    parser.add_argument("--largest", default="64M", help="largest all-reduce (64M)")
    parser.add_argument("--aggregator", default="rtl", help="rtl or model (rtl)")
    parser.add_argument("--progress", action="store_true", help="print the progress of each run")
    parser.add_argument("--json", help="also write the result to this file")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a result is below its target")
    options = parser.parse_args()
    results, good = {}, True
    for name in options.parts.split(","):
        if name not in parts:
            parser.error(f"--parts {name}: there is {', '.join(parts)}")
        started = time.monotonic()
        print(f"## {name}", flush=True)
        results[name] = parts[name](options)
        missed = [result for result in results[name] if result["good"] is False]
        print(f"## {name}: {time.monotonic() - started:.0f} s; targets missed: {len(missed)}", flush=True)
        good &= not missed
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"aggregator": options.aggregator, "mtu": MTU, "kernel": demo.kernel_release(), **results}, file, indent=1)
    if options.check and not good:
        sys.exit(1)


def listed(kind):
    return lambda text: [kind(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rates", type=listed(int), default="10,25,100", help="Gb/s (10,25,100)")
    parser.add_argument("--hosts", type=listed(int), default="2,4,6,8", help="numbers of hosts (2,4,6,8)")
    parts = (payload, small, sweep, jobs, parallel, loss, charts)
    measure(parser, {part.__name__: part for part in parts}, PARTS)


if __name__ == "__main__":
    main()
