#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training jobs that share a switch and its packet memory (ATP), in virtual time, with the C model: how long they take, how fair
it is, and which share of their bytes the switch adds.

    tests/bench/jobs.py [--build build] [--parts three,many,turns] [--jobs 1,2,4,8,16] [--json FILE]

Each job has a rank on every one of four hosts. Its steps all-reduce VGG-16's tensors, each shrunk to a 128th, after a phase
that stands for computing them: 64 samples a host at 50 * 10^12 operations a second, a 128th of that time. Links have 100 Gb/s.
A window of 32 packets of 4 KiB covers 10 us of a link.

three: three jobs, and memory for one, two or three such windows; as jobs ask for it, in a slice for each, and over the ring.
many: 1 to 16 jobs with the memory of the default switch, 512 packets, which ask for windows of 128 or of 32; and over the
ring. turns: 4 to 16 jobs, and contexts for 4 of them, for 8 s: a step computes for 50 ms and has a 512th of the bytes; and
over the ring.
"""
import argparse
import json
import os
import statistics
from math import prod

import torch_models
import virtual

HOSTS, RATE_GBPS = 4, 100
SHRINK = 128
REST_US = 3000000  # in this time all jobs open, so that they begin together
SHAPES, _, GIGA_OPERATIONS = torch_models.MODELS["VGG-16"]


class Work:
    """The steps of a job: the bytes of its tensors, and the time for computing them."""

    def __init__(self, steps, shrink, compute_us):
        self.steps, self.compute_us = steps, compute_us
        self.sizes = [max(4, prod(shape) * 4 // shrink // 4 * 4) for shape in reversed(SHAPES)]  # in the order of the gradients


SHORT = Work(4, SHRINK, round(torch_models.compute_ms(GIGA_OPERATIONS, batch=64, tflops=50) * 1000 / SHRINK))
LONG = Work(160, 512, 50000)
CONTEXTS = 4  # for --parts turns
WINDOW, DEFAULT_WINDOW = 32, 128
MESSAGES = 8  # in a window


def run(options, work, count, algorithm, asked, switch):
    """Runs `count` jobs at the same time, and returns the output of each job's ranks. asked: packets of a window."""
    program = os.path.abspath(os.path.join(options.build, "allreduce_times"))
    sizes = ",".join(map(str, work.sizes))
    # Hosts share /tmp.
    line = (f"said=$(mktemp -d); pids=; for job in $(seq {count}); do INA_COOKIE=job$job {program} {algorithm} {sizes} 1 {work.steps} {REST_US} {work.compute_us} "
            f"{asked // MESSAGES * virtual.MTU} {MESSAGES} >$said/$job & pids=\"$pids $!\"; done\n"
            f"for pid in $pids; do wait $pid || exit 1; done\nfor job in $(seq {count}); do grep rank $said/$job | sed \"s/^/$job /\"; done; rm -r $said")
    out = virtual.lab(options, HOSTS, RATE_GBPS, ["--aggregator", "model", *switch], ["sh", "-c", line])
    ranks = {}
    for text in out.splitlines():
        host, _, said = text.partition("] ")
        job, _, result = said.partition(" ")
        if host.startswith("[") and result.startswith('{"rank"'):
            ranks.setdefault(int(job), []).append(json.loads(result))
    assert len(ranks) == count and all({rank["rank"] for rank in of_job} == set(range(HOSTS)) for of_job in ranks.values()), out
    assert all(rank["wrong"] == 0 for of_job in ranks.values() for rank in of_job), out
    return list(ranks.values())


def seconds(ranks):
    """From the first rank's start to the last rank's end."""
    return max(rank["ended_s"] for rank in ranks) - min(rank["began_s"] for rank in ranks)


def jain(rates):
    """Jain, Chiu and Hawe (1984): 1 if all are equal."""
    return sum(rates)**2 / (len(rates) * sum(rate * rate for rate in rates))


def row(options, name, count, algorithm, asked, switch):
    of_jobs = run(options, SHORT, count, algorithm, asked, switch)
    steps_ms = [1000 * seconds(ranks) / SHORT.steps for ranks in of_jobs]
    gbps = count * sum(SHORT.sizes) * SHORT.steps * 8 / seconds(sum(of_jobs, [])) / 1e9
    result = {"way": name, "jobs": count, "step_ms": statistics.mean(steps_ms), "slowest_step_ms": max(steps_ms), "gbps": gbps,
              "jain": jain([1 / step for step in steps_ms]), "aggregated": statistics.mean(ranks[0]["aggregated"] for ranks in of_jobs), "good": None}
    print(f"{name:>24} {count:4} {result['step_ms']:9.2f} {result['slowest_step_ms']:9.2f} {gbps:8.1f} {result['jain']:6.3f} {result['aggregated']:10.1%}",
          flush=True)
    return result


def head():
    print(f"# a step computes {SHORT.compute_us / 1000:.2f} ms and all-reduces {sum(SHORT.sizes) / 1e6:.2f} MB in {len(SHORT.sizes)} tensors\n"
          f"#{'':>23} jobs   step ms   slowest  Gb/s in all   Jain  aggregated", flush=True)


def three(options):
    head()
    results = []
    for windows in (1, 2, 3):
        memory = windows * WINDOW
        slice_of = 1 << (memory // 3).bit_length() - 1
        switch = ["--jobs", "3", "--packet-memory", str(memory), "--window"]
        results += [row(options, f"{memory} packets, as asked", 3, "auto", WINDOW, [*switch, str(WINDOW)]),
                    row(options, f"{memory}, slices of {slice_of}", 3, "auto", WINDOW, [*switch, str(slice_of)])]
    return results + [row(options, "ring", 3, "ring", WINDOW, [])]


def many(options):
    head()
    results = []
    for count in options.jobs:
        results += [row(options, f"windows of {DEFAULT_WINDOW}", count, "auto", DEFAULT_WINDOW, []), row(options, f"windows of {WINDOW}", count, "auto", WINDOW, []),
                    row(options, "ring", count, "ring", WINDOW, [])]
    return results


def turns(options):
    print(f"# a step computes {LONG.compute_us / 1000:.0f} ms and all-reduces {sum(LONG.sizes) / 1e6:.2f} MB in {len(LONG.sizes)} tensors; {CONTEXTS} contexts\n"
          f"#{'':>23} jobs  all-reduce ms a step  slowest job  aggregated  least  Jain of the shares", flush=True)
    results = []
    for count in (count for count in options.jobs if count >= CONTEXTS):
        for name, algorithm in (("in turns", "auto"), ("ring", "ring")):
            of_jobs = run(options, LONG, count, algorithm, WINDOW, ["--jobs", str(CONTEXTS)])
            steps_ms = [1000 * max(statistics.mean(rank["times_s"]) for rank in ranks) for ranks in of_jobs]
            shares = [ranks[0]["aggregated"] for ranks in of_jobs]
            result = {"way": name, "jobs": count, "allreduce_ms": statistics.mean(steps_ms), "slowest_ms": max(steps_ms), "aggregated": statistics.mean(shares),
                      "least": min(shares), "jain": jain(shares) if any(shares) else 1, "good": None}
            print(f"{name:>24} {count:4} {result['allreduce_ms']:21.3f} {result['slowest_ms']:12.3f} {result['aggregated']:11.1%} {result['least']:6.1%} "
                  f"{result['jain']:19.3f}", flush=True)
            results.append(result)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jobs", type=virtual.listed(int), default="1,2,4,8,16", help="numbers of jobs of --parts many and turns (1,2,4,8,16)")
    parts = {part.__name__: part for part in (three, many, turns)}
    virtual.measure(parser, parts, parts)


if __name__ == "__main__":
    main()
