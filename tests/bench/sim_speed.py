#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the speed of the simulation: the goodput of real hosts through the RTL and through the C model. For comparison, the
same hosts each send their successor the same bytes, in the same messages, over the plain switch; a ring all-reduce is measured
too.

This is wall-clock time, on this machine's cores, which hosts, switch and RTL share. The ways take turns, so that other load of
the machine affects all of them. The report has the median of the sets, and the slowest of the hosts.

    tests/bench/sim_speed.py [--build build] [--sets 3] [--json FILE] [--check]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

# Each run: the switch's --aggregator, and ina-goodput's way.
WAYS = {"plain": ("off", "plain"), "model": ("model", "sum"), "rtl": ("rtl", "sum"), "ring": ("off", "ring")}
# The smallest acceptable goodput, as a share of plain.
WANTED = {"model": 0.85, "rtl": 0.5}
TIMEOUT_S = 300


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="the folder with ina-lab and ina-goodput (build)")
    parser.add_argument("--hosts", type=int, default=4, help="2 to 8 (4)")
    parser.add_argument("--mtu", type=int, default=4096, help="RoCE path MTU (4096)")
    parser.add_argument("--mebibytes", type=int, default=16, help="MiB per host and round (16)")
    parser.add_argument("--rounds", type=int, default=4, help="rounds in a set, after one warm-up round (4)")
    parser.add_argument("--sets", type=int, default=3, help="number of sets, each with one run per way (3)")
    parser.add_argument("--json", help="also write the result to this file")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a result is below its target")
    return parser.parse_args()


def run(options, way):
    """One set of one way: the mean time of a round on each host, by rank."""
    aggregator, how = WAYS[way]
    command = [os.path.join(options.build, "ina-lab"), "run", "-q", "-n", str(options.hosts), "--mtu", str(options.mtu),
               "--aggregator", aggregator, "--timeout", str(TIMEOUT_S), "--",
               os.path.abspath(os.path.join(options.build, "ina-goodput")), how, str(options.mebibytes), str(options.rounds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S + 30, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"sim_speed: {' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    lines = [json.loads(line.split("] ", 1)[1]) for line in done.stdout.splitlines() if line.startswith("[")]
    assert sorted(line["rank"] for line in lines) == list(range(options.hosts)), done.stdout
    assert all(line["wrong"] == 0 for line in lines), done.stdout
    return [statistics.fmean(line["times_s"]) for line in sorted(lines, key=lambda line: line["rank"])]


def summary(options, results):
    """For each way: the goodput of the slowest host in MB/s, and the smallest ratio of a host's goodput to its own when it sends
    plainly."""
    size = options.mebibytes << 20
    table = {}
    for way, sets in results.items():
        ratios = [min(plain / own for plain, own in zip(plains, times))
                  for plains, times in zip(results["plain"], sets)]
        table[way] = {
            "goodput_MBps": statistics.median(size / max(times) / 1e6 for times in sets),
            "to_plain": statistics.median(ratios),
            "to_plain_sets": ratios,
            "times_s": sets,
        }
        if way in WANTED:
            table[way]["wanted"] = WANTED[way]
    return table


def main():
    options = parse()
    results = {way: [] for way in WAYS}
    for _ in range(options.sets):
        for way in WAYS:
            results[way].append(run(options, way))
    table = summary(options, results)
    print(f"# {options.hosts} hosts, path MTU {options.mtu}, {options.mebibytes} MiB a host, float32; {options.sets} sets of "
          f"{options.rounds} rounds; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"# {'':6} {'goodput/host':>12} {'to plain':>8}  sets")
    print(f"# {'':6} {'(MB/s)':>12} {'(x)':>8}")
    for way, row in table.items():
        sets = " ".join(f"{ratio:.2f}" for ratio in row["to_plain_sets"])
        wanted = f"  (wanted: {row['wanted']})" if "wanted" in row else ""
        print(f"  {way:6} {row['goodput_MBps']:12.1f} {row['to_plain']:8.2f}  {sets}{wanted}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"hosts": options.hosts, "path_mtu": options.mtu, "bytes": options.mebibytes << 20,
                       "cores": os.cpu_count(), "ways": table}, file, indent=1)
    short = [way for way, least in WANTED.items() if table[way]["to_plain"] < least]
    if options.check and short:
        sys.exit(f"sim_speed: below the target:  {', '.join(short)}")


if __name__ == "__main__":
    main()
