#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The gain from aggregation across several switches, in virtual time: compared with libina's ring on the same fabric, on modelled
links of 100 Gb/s between kernels with stock rdma_rxe. The figures are the same on every machine.

    tests/bench/fabric.py [--build build] [--parts speed,small,cables,narrow,loss] [--fabrics leaf-spine:4x4,...]
                          [--largest 64M] [--aggregator rtl] [--json FILE] [--check]
"""
import argparse
import json
import math
import os
import tempfile

import virtual

RATE_GBPS = 100
FABRICS = ("leaf-spine:4x4", "leaf-spine:8x8", "tree:2x2x4")
SMALL_FABRICS = ("leaf-spine:8x8",)
CABLES_FABRIC = "leaf-spine:4x4"

WANTED_OF_THEORY = 0.95    # speed-up, as a share of 2 (n - 1) / n
WANTED_OF_PLAIN = 0.95     # payload, as a share of that of ibv_rc_pingpong between hosts of two leaves
WANTED_OVER_BUDGET_US = 1.0
WANTED_A_CABLE = 1.03      # bytes between two switches, each way, as a share of the all-reduce's
WANTED_OF_SLOWEST = 0.95   # as a share of the slowest cable's rate
LOSSES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


def numbers(fabric):
    return [int(number) for number in fabric.split(":")[1].split("x")]


def hosts_of(fabric):
    return math.prod(numbers(fabric))


def levels_of(fabric):
    return len(numbers(fabric))


def perf(options, fabric, switches, arguments):
    return virtual.perf(options, hosts_of(fabric), RATE_GBPS, ["--topology", fabric, *switches], arguments)


def one_size(options, fabric, switches, size, times=1):
    row, = perf(options, fabric, switches, ["-b", size, "-e", size, "-n", str(times), "-w", "0"])
    return row


def gbps(row, kind):
    return row["size_bytes"] * 8 / row[kind]["time_us"] / 1000


def pingpong_gbps(options, fabric, switches):
    """Between two hosts of different leaves."""
    return virtual.pingpong_gbps(options, hosts_of(fabric), RATE_GBPS, ["--topology", fabric, *switches])


def speed(options):
    """The speed-up of a large all-reduce, and its goodput compared with that between two hosts of different leaves."""
    results = []
    for fabric in options.fabrics:
        hosts = hosts_of(fabric)
        theory = 2 * (hosts - 1) / hosts
        row = one_size(options, fabric, [], options.largest)
        plain = pingpong_gbps(options, fabric, [])
        ours = gbps(row, "result")
        results.append({"fabric": fabric, "hosts": hosts, "size_bytes": row["size_bytes"], "time_us": row["result"]["time_us"],
                        "ring_us": row["ring"]["time_us"], "speed_up": row["speed_up"], "theory": theory,
                        "allreduce_gbps": ours, "pingpong_gbps": plain,
                        "good": row["speed_up"] >= WANTED_OF_THEORY * theory and ours >= WANTED_OF_PLAIN * plain})
        print(f"{fabric:15} {options.largest}: in the network {row['result']['time_us']:9.1f} us, over the ring {row['ring']['time_us']:9.1f} us, "
              f"{row['speed_up']:.3f} times as fast, {row['speed_up'] / theory:.3f} of 2(n-1)/n (wanted {WANTED_OF_THEORY}); {ours:.3f} Gb/s, "
              f"{ours / plain:.3f} of ibv_rc_pingpong's {plain:.3f} (wanted {WANTED_OF_PLAIN})", flush=True)
    return results


def small(options):
    """8 bytes: the time of links, switches and RTL on the way up and down, and the time that hosts and library add."""
    results = []
    for fabric in SMALL_FABRICS:
        budget_us = virtual.network_us(RATE_GBPS, levels_of(fabric))
        row, = perf(options, fabric, [], ["-b", "8", "-e", "8", "-n", "20"])
        time_us = row["result"]["time_us"]
        results.append({"fabric": fabric, "time_us": time_us, "network_us": budget_us, "ring_us": row["ring"]["time_us"],
                        "good": time_us <= budget_us + WANTED_OVER_BUDGET_US})
        print(f"{fabric:15} 8 bytes in {time_us:.2f} us; links, switches and RTL take {budget_us:.2f} us (wanted: {WANTED_OVER_BUDGET_US} us more "
              f"at most); among hosts {row['ring']['time_us']:.2f} us", flush=True)
    return results


def bytes_of_cables(options, algorithm, size, times):
    """The bytes of each cable between switches, each way, in one run."""
    with tempfile.NamedTemporaryFile(suffix=".json") as stats:
        virtual.lab(options, hosts_of(CABLES_FABRIC), RATE_GBPS,
                    ["--topology", CABLES_FABRIC, "--aggregator", options.aggregator, "--stats", stats.name],
                    [os.path.abspath(os.path.join(options.build, "ina-perf")), "-t", "float", "--algorithm", algorithm, "-b", size, "-e", size,
                     "-n", str(times), "-w", "0"])
        cables = json.load(open(stats.name))["cables"]
    return {f"{name} {way}": cable[way]["bytes"] for name, cable in cables.items() for way in ("up", "down")}


def cables(options):
    """The bytes of one all-reduce on each cable between switches: the difference of two runs, so without the bytes that open a
    job."""
    results, size, size_bytes = [], "4M", 4 << 20
    for algorithm in ("ina", "ring"):
        once, thrice = (bytes_of_cables(options, algorithm, size, times) for times in (1, 3))
        shares = {name: (thrice[name] - once[name]) / 2 / size_bytes for name in once}
        most = max(shares.values())
        results.append({"fabric": CABLES_FABRIC, "algorithm": algorithm, "size_bytes": size_bytes, "shares": shares,
                        "good": most <= WANTED_A_CABLE if algorithm == "ina" else None})
        print(f"{CABLES_FABRIC:15} {size} {algorithm:4}: {min(shares.values()):.3f} to {most:.3f} of the data on each cable between switches, "
              f"each way" + (f" (wanted {WANTED_A_CABLE} at most)" if algorithm == "ina" else ""), flush=True)
    return results


def narrow(options):
    """Cables between switches that are slower than those of the hosts."""
    results, fabric = [], "leaf-spine:4x4"
    cases = [(f"{over}:1 oversubscribed", RATE_GBPS * 4 / over, [f"leaf{leaf}:up0,link-rate={RATE_GBPS * 4 / over:g}G" for leaf in range(4)])
             for over in (2, 4)]
    cases.append(("25 Gb/s on one uplink", 25, ["leaf2:up0,link-rate=25G"]))
    for what, rate, settings in cases:
        at = [word for setting in settings for word in ("--at", setting)]
        row = one_size(options, fabric, at, "16M")
        slowest = min(rate, RATE_GBPS)
        plain = pingpong_gbps(options, fabric, ["--link-rate", f"{slowest:g}G"])
        ours = gbps(row, "result")
        results.append({"fabric": fabric, "case": what, "slowest_gbps": slowest, "allreduce_gbps": ours, "pingpong_gbps": plain,
                        "ring_gbps": gbps(row, "ring"), "good": ours >= WANTED_OF_SLOWEST * plain})
        print(f"{fabric:15} {what}: {ours:.3f} Gb/s, {ours / plain:.3f} of what {slowest:g} Gb/s carry, {plain:.3f} (wanted {WANTED_OF_SLOWEST}); "
              f"over the ring {gbps(row, 'ring'):.3f}", flush=True)
    return results


def loss(options):
    """Goodput with frames lost on every cable, each way."""
    results, fabric = [], "leaf-spine:4x4"
    for probability in LOSSES:
        row = one_size(options, fabric, ["--loss-up", str(probability), "--loss-down", str(probability)], "16M", times=2)
        ours, ring = gbps(row, "result"), gbps(row, "ring")
        results.append({"fabric": fabric, "loss": probability, "ina_gbps": ours, "ring_gbps": ring, "good": ours >= ring})
        print(f"{fabric:15} loss {probability:g} a hop: in the network {ours:.3f} Gb/s, over the ring {ring:.3f} Gb/s", flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--fabrics", type=virtual.listed(str), default=",".join(FABRICS), help=f"for speed ({','.join(FABRICS)})")
    parts = {part.__name__: part for part in (speed, small, cables, narrow, loss)}
    virtual.measure(parser, parts, parts)


if __name__ == "__main__":
    main()
