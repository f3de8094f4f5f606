#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The effect of libina's congestion control, in virtual time, with it and without: two jobs on one cable between two leaves, with
short flows and with a plain RC connection.

    tests/bench/congestion.py [--build build] [--parts free,shares,short,plain] [--aggregator rtl] [--out FOLDER] [--json FILE]

On leaf-spine:2x5 the hosts 0, 1, 5, 6 are job a, and 2, 3, 7, 8 are job b; 4 and 9 are for short flows and the plain
connection. Each job alone could fill the uplink of its leaf. --out keeps the picture of --parts shares: the length of the
queue in front of that cable.
"""
import argparse
import json
import os
import shutil
import statistics
import struct
import subprocess
import tempfile
from pathlib import Path

import virtual

FABRIC, RATE_GBPS = "leaf-spine:2x5", 100
JOBS = {"a": (0, 1, 5, 6), "b": (2, 3, 7, 8), "short": (4, 9)}
THRESHOLD_BYTES = 40_000  # RFC 8257, section 4.1: more than a seventh of the data under way; here 100 Gb/s times 8 us, 100,000
SIZE_BYTES, ROUNDS = 4 << 20, 8
SHORT_BYTES, SHORT_ROUNDS = 4096, 600
BURST_ROUNDS = 2
PLAIN_ROUNDS = 16
WANTED_FREE = 0.98
PICTURE_MS = 0.02
SLL2_BYTES, OUTGOING, FRAME_EXTRA_BYTES = 20, 4, 14 + 24  # Ethernet's header, which the capture lacks; preamble, FCS, gap

PLOT = """set terminal svg size 760,330 dynamic background "white" font "sans-serif,13"
set output "{out}/congestion.svg"
set grid; set xlabel "ms"; set ylabel "KB in front of leaf 0's cable up"; set key above; set yrange [0:*]
set title "two jobs on one cable of 100 Gb/s, each of which could fill it"
plot "{out}/off.dat" using 1:2 with lines title "without congestion control", "{out}/on.dat" using 1:2 with lines title "with it"
"""


def queue_of(path):
    """[(ms, bytes)] of the queue that --pcap-cable leaf0:up0 captured, frame by frame: the bytes that were put in, minus those
    that the cable took."""
    data = Path(path).read_bytes()
    assert struct.unpack_from("<I", data)[0] == 0xA1B23C4D, "no capture of nanosecond precision"
    at, frames, first_s = 24, [], struct.unpack_from("<I", data, 24)[0]  # a float cannot hold the nanoseconds since 1970
    while at + 16 <= len(data):
        seconds, nanoseconds, kept, length = struct.unpack_from("<4I", data, at)
        port, = struct.unpack_from(">I", data, at + 16 + 4)
        frames.append(((seconds - first_s) * 10**9 + nanoseconds, length - SLL2_BYTES + FRAME_EXTRA_BYTES, port, data[at + 16 + 10]))
        at += 16 + kept
    lower = min(port for _, _, port, _ in frames)  # the cable's lower end
    series, free_ns = [], 0.0
    for time_ns, size, port, direction in frames:
        if port == lower and direction == OUTGOING:
            free_ns = max(free_ns, time_ns) + size * 8 / RATE_GBPS
            series.append((time_ns / 1e6, (free_ns - time_ns) * RATE_GBPS / 8))
    begins_ms = next(ms for ms, size in series if size > THRESHOLD_BYTES)  # before that, hosts exchange addresses
    return [(ms - begins_ms, size) for ms, size in series if ms >= begins_ms]


def longest_of(series):
    """The longest queue in each PICTURE_MS: a picture cannot show more."""
    steps = {}
    for ms, size in series:
        step = ms // PICTURE_MS
        steps[step] = max(size, steps.get(step, 0))
    return [(step * PICTURE_MS, size) for step, size in sorted(steps.items())]


def run(options, controlled, work, capture=None, algorithm="ina", fabric=FABRIC, hosts_of=JOBS, channels=1, more=()):
    """Runs {job: (rounds, bytes, milliseconds after the start)} at the same time. Returns {job: times of all-reduces in us, on
    the slowest rank}, and the counters. `plain` is ibv_rc_pingpong between the hosts of the short flows. more: options of
    ina-lab."""
    program = os.path.abspath(os.path.join(options.build, "allreduce_times"))
    lines = [f"export INA_CONGESTION_CONTROL={int(controlled)}"]
    for job, (rounds, size, after_ms) in work.items():
        if job == "plain":
            first, second = hosts_of["short"]
            pingpong = f"ibv_rc_pingpong -e -g 1 -m {virtual.MTU} -s 1048576 -n {rounds}"
            lines += [f"[ $INA_RANK != {first} ] || exec {pingpong}",
                      f"if [ $INA_RANK = {second} ]; then sleep {0.01 + after_ms / 1000}; exec {pingpong} 192.0.2.{first + 1}; fi"]
            continue
        hosts = hosts_of[job]
        way = "ring" if job == "short" else algorithm
        for rank, host in enumerate(hosts):
            lines.append(f"if [ $INA_RANK = {host} ]; then export INA_RANK={rank} INA_RANKS={len(hosts)} INA_ROOT=192.0.2.{hosts[0] + 1} INA_COOKIE={job} "
                         f"INA_CHANNELS={1 if job == 'short' else channels}; "
                         f"sleep {0.01 + after_ms / 1000}; exec {program} {way} {size} 1 {rounds} 0; fi")
    switches = ["--topology", fabric, "--aggregator", options.aggregator, "--ecn-threshold", str(THRESHOLD_BYTES), *more]
    if capture:
        switches += ["--pcap", capture, "--pcap-cable", "leaf0:up0", "--pcap-limit", "4096"]
    with tempfile.NamedTemporaryFile(suffix=".json") as stats:
        out = virtual.lab(options, sum(map(len, hosts_of.values())), RATE_GBPS, [*switches, "--stats", stats.name], ["sh", "-c", "\n".join(lines)])
        counters = json.load(open(stats.name))
    said = {}
    for line in out.splitlines():
        host, _, text = line.partition("] ")
        if text.startswith('{"rank"'):
            said[int(host[1:])] = json.loads(text)
        elif "Mbit/sec" in text:
            said[int(host[1:])] = float(text.split(" = ")[1].split()[0])
    times = {}
    for job in work:
        if job == "plain":
            times[job] = said[hosts_of["short"][0]]
            continue
        assert all(said[host]["wrong"] == 0 for host in hosts_of[job]), said
        times[job] = [1e6 * max(rank) for rank in zip(*(said[host]["times_s"] for host in hosts_of[job]))]
    return times, counters


def gbps(times_us, size=SIZE_BYTES):
    return size * 8 * len(times_us) / sum(times_us) / 1000


def queues(counters):
    cables = counters["cables"]["leaf0:up0"]["up"]
    return {"longest_bytes": cables["longest_queue_bytes"], "dropped": cables["dropped_queue_full"], "marked": cables["marked"]}


def free(options):
    """One job alone: there is no congestion, and the control must not reduce its rate."""
    results = {}
    for controlled in (False, True):
        times, counters = run(options, controlled, {"a": (ROUNDS, 4 * SIZE_BYTES, 0)})
        results[controlled] = gbps(times["a"], 4 * SIZE_BYTES)
    ratio = results[True] / results[False]
    print(f"a job alone, 16 MiB: {results[False]:.2f} Gb/s without, {results[True]:.2f} with: {ratio:.3f} of it (wanted {WANTED_FREE})", flush=True)
    return [{"off_gbps": results[False], "on_gbps": results[True], "ratio": ratio, "good": ratio >= WANTED_FREE}]


def shares(options):
    """Two jobs; the second one runs as long as the first, or for a while. Reports the queue, drops, and each job's share."""
    results = []
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    for controlled in (False, True):
        name = "on" if controlled else "off"
        capture = out / f"{name}.pcap"
        times, counters = run(options, controlled, {"a": (ROUNDS, SIZE_BYTES, 0), "b": (ROUNDS, SIZE_BYTES, 0)}, capture)
        rates = [gbps(times[job]) for job in "ab"]
        fairness = sum(rates) ** 2 / (2 * sum(rate * rate for rate in rates))  # Jain's index
        burst, _ = run(options, controlled, {"a": (ROUNDS, SIZE_BYTES, 0), "b": (BURST_ROUNDS, SIZE_BYTES, 1)})
        series = queue_of(capture)
        mean = statistics.mean(size for _, size in series)
        capture.unlink()
        longest = queues(counters)["longest_bytes"]
        assert abs(max(size for _, size in series) - longest) < virtual.MTU, f"the capture shows another queue than the switch's own, {longest} bytes"
        (out / f"{name}.dat").write_text("".join(f"{ms:.3f} {size / 1000:.1f}\n" for ms, size in longest_of(series)))
        alone, last = min(burst["a"]), burst["a"][-1]
        results.append({"controlled": controlled, "gbps": rates, "jain": fairness, "mean_queue_bytes": mean, **queues(counters), "burst_us": burst, "good": None})
        print(f"control {name:3}: a {rates[0]:6.2f}, b {rates[1]:6.2f} Gb/s, Jain's index {fairness:.4f}; queue {mean:.0f} bytes as frames find it, "
              f"{queues(counters)['longest_bytes']} at most, "
              f"{queues(counters)['dropped']} dropped, {queues(counters)['marked']} marked; after a burst of b, a takes {last:.0f} us again, at best {alone:.0f}",
              flush=True)
    if shutil.which("gnuplot") and subprocess.run(["gnuplot"], input=PLOT.format(out=out), text=True).returncode == 0:
        print(f"{out}/congestion.svg shows the queue", flush=True)
    return results


def short(options):
    """Short flows next to two jobs: all-reduces of 4 KiB between two hosts, which no aggregator knows, through the same queue.
    The jobs also run over the ring, which libina does not control."""
    results = []
    for algorithm, controlled in (("ina", False), ("ina", True), ("ring", False)):
        work = {"a": (ROUNDS, SIZE_BYTES, 0), "b": (ROUNDS, SIZE_BYTES, 0), "short": (SHORT_ROUNDS, SHORT_BYTES, 1)}
        times, counters = run(options, controlled, work, algorithm=algorithm)
        busy = times["short"]
        median, p99 = statistics.median(busy), statistics.quantiles(busy, n=100)[98]
        results.append({"algorithm": algorithm, "controlled": controlled, "median_us": median, "p99_us": p99,
                        "gbps": [gbps(times[job]) for job in "ab"], **queues(counters), "good": None})
        print(f"jobs by {algorithm:4}, control {'on' if controlled else 'off':3}: short flows take {median:.1f} us (median), {p99:.1f} us (p99); jobs "
              f"{gbps(times['a']):.2f} and {gbps(times['b']):.2f} Gb/s", flush=True)
    off, on, ring = (row["p99_us"] for row in results)
    print(f"p99 {off / on:.2f} times as short with control, {ring / on:.2f} times as short as next to rings (PANAMA: up to 4.5)", flush=True)
    return results


def plain(options):
    """A job next to a plain RC connection that nothing slows down, and that begins and ends during the job: the rounds that it
    slows."""
    results = []
    for controlled in (False, True):
        times, counters = run(options, controlled, {"a": (PLAIN_ROUNDS, SIZE_BYTES, 0), "plain": (12, 0, 2)})
        usual = statistics.median(times["a"])
        slowed = [us for us in times["a"] if us > 1.1 * usual]
        assert slowed and len(slowed) < PLAIN_ROUNDS / 2 and max(times["a"][0], times["a"][-1]) < 1.1 * usual, times
        results.append({"controlled": controlled, "usual_gbps": gbps([usual]), "beside_gbps": gbps(slowed), "plain_gbps": times["plain"] / 1000,
                        **queues(counters), "good": None})
        print(f"control {'on' if controlled else 'off':3}: job {gbps([usual]):.2f} Gb/s, {gbps(slowed):.2f} next to the plain connection, which has "
              f"{times['plain'] / 1000:.2f} Gb/s, both ways in turn", flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", default="build/congestion", help="the folder for the picture of the queue (build/congestion)")
    parts = {part.__name__: part for part in (free, shares, short, plain)}
    virtual.measure(parser, parts, parts)


if __name__ == "__main__":
    main()
