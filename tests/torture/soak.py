#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Communicators come and go (churn.c) for minutes on four hosts, in real time, with losses, duplicates, reordered frames, and
ranks that are late at random. Every number must be right, no call may fail, and memory must not grow: neither that of the
programs on the hosts, nor the switch's. If there are several jobs, none may starve, and all use the aggregator; if the C model
has fewer contexts than jobs, each uses it now and then.

    tests/torture/soak.py [--build build] [--seconds 600] [--seed N] [--aggregator rtl] [--jobs 1] [--contexts 16]
"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import schedule
import verdict

HOSTS, CALLS, ELEMENTS = 4, 60, 100000
JOBS_MAX = 16  # contexts of the RTL
# Jobs have different random work, so they do not progress equally fast.
LEAST_OF_MEAN = 0.25
FAULTS = {"--loss-up": 0.005, "--loss-down": 0.005, "--duplicate": 0.005, "--reorder": 0.005}
# Time of a run in addition to churn's: its last communicator, and a busy machine.
GRACE_S = 180
# Memory is warm after the first fifth: later samples may exceed the largest one up to then only by this slack.
WARM_UP = 0.2
# (The switch keeps as many frames as it ever had to queue at the same time: windows of all hosts, retransmitted.)
HOST_SLACK_KIB, SWITCH_SLACK_KIB = 256, 8192
# The allocated bytes after a communicator is closed must not grow at all. Freed memory must be free immediately: glibc's caches,
# which are full only after some hundred communicators, would look like growth.
TUNABLES = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.mmap_threshold=65536"
SAMPLE_S = 0.2


def ack_timeout(options):
    """INA_ACK_TIMEOUT: through the simulated RTL a window of one of 16 jobs takes longer than the 268 ms (16) that ina-lab gives
    four hosts. They would retransmit again and again packets that only wait in the switch, and the control connections would
    starve."""
    return 16 + ((options.jobs - 1) // 4).bit_length() if options.aggregator == "rtl" else 16


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build", type=Path, help="the folder with ina-lab and churn (build)")
    parser.add_argument("--seconds", type=int, default=600, help="seconds of real time (600)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of faults and work (the time)")
    parser.add_argument("--aggregator", default="rtl", help="rtl or model (rtl)")
    parser.add_argument("--jobs", type=int, default=1, choices=range(1, JOBS_MAX + 1), metavar="N", help="concurrent jobs on these hosts, 1 to 16 (1)")
    parser.add_argument("--contexts", type=int, default=JOBS_MAX, choices=range(1, JOBS_MAX + 1), metavar="N",
                        help="contexts of the aggregator; other values than 16 need the model (16)")
    options = parser.parse_args()
    if options.contexts != JOBS_MAX:
        options.aggregator = "model"
    return options


def resident_kib(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def bridge_of(lab_pid):
    """The process id of the run's own bridge, or None."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(") ", 1)
        except OSError:
            continue
        if name == "ina-bridge" and int(rest.split()[1]) == lab_pid:
            return int(entry.name)
    return None


def watch(lab, samples):
    """The switch's memory, as long as it runs."""
    while lab.poll() is None:
        try:
            bridge = bridge_of(lab.pid)
            if bridge:
                samples.append(resident_kib(bridge))
        except (OSError, IndexError):
            pass
        time.sleep(SAMPLE_S)


def growth(samples):
    """The growth of the later samples over the largest one of the warm-up."""
    warm = max(1, int(len(samples) * WARM_UP))
    return max(samples[warm:], default=0) - max(samples[:warm])


def judge_switch(stats, lacks_contexts):
    """The aggregator had no fault, so it refused no job for which it had room; the requested faults did happen."""
    counters = stats["aggregator"]
    # A job that gives way may break.
    wrong = [f"{counters[name]} {name}" for name in ("joins_refused", "jobs_broken") if counters[name] and not lacks_contexts]
    if lacks_contexts and not counters["joins_refused"]:
        wrong.append("no JOIN was refused")
    if not counters["packets_joined"]:
        wrong.append("the aggregator joined no packet")
    for name in ("lost", "duplicated", "reordered"):
        for side in ("up", "down"):
            if not any(port["faults"][side][name] for port in stats["ports"]):
                wrong.append(f"no frame was {name} on the {side} side")
    return wrong


def judge(lines, switch_kib, jobs, lacks_contexts):
    """The errors, and further information."""
    wrong = [verdict.complaint(line) for line in lines if line.phase not in ("done", "memory", "end")]
    wrong += [verdict.complaint(line) for line in lines if line.status == "WRONG"]
    wrong += [f"{verdict.complaint(line)}: not all by the aggregator" for line in lines
              if line.phase == "done" and (line.count("fallbacks") or line.count("ring") and not lacks_contexts)]
    everyone = list(itertools.product(range(jobs), range(HOSTS)))
    ended = sorted((line.job, line.rank) for line in lines if line.phase == "end")
    if ended != everyone:
        wrong.append(f"of (job, rank) only {ended} came to the end")
    facts = []
    calls_of = [0] * jobs
    for job, rank in everyone:
        own = [line for line in lines if (line.job, line.rank) == (job, rank)]
        done = [line for line in own if line.phase == "done"]
        if not done:
            wrong.append(f"job {job} rank {rank} has done nothing")
            continue
        calls = calls_of[job] = sum(line.count("calls") for line in done)
        memory = [line for line in own if line.phase == "memory"]
        resident = [line.count("resident") for line in memory]
        heap = [line.count("heap") for line in memory]
        sums = sum(line.count("aggregated") for line in done)
        if not sums:
            wrong.append(f"a job starves: nothing of job {job} was aggregated")
        facts.append(f"job {job} rank {rank}: {len(done)} communicators, {calls} all-reduces, {sums} messages aggregated; {resident[-1]} KiB in memory, "
                     f"growth {growth(resident)} KiB; {heap[-1]} bytes allocated, growth {growth(heap)}")
        if growth(resident) > HOST_SLACK_KIB or growth(heap) > 0:
            wrong.append(f"memory grows: {facts[-1]}")
    if min(calls_of) < LEAST_OF_MEAN * sum(calls_of) / jobs:
        wrong.append(f"a job starves: the jobs made {calls_of} all-reduces")
    if jobs > 1:
        facts.append(f"all-reduces of a job: {min(calls_of)} to {max(calls_of)}")
    facts.append(f"switch: {switch_kib[-1]} KiB in memory, growth {growth(switch_kib)} KiB")
    if growth(switch_kib) > SWITCH_SLACK_KIB:
        wrong.append(f"memory of the {facts[-1]}")
    return wrong, facts


def main():
    options = parse()
    faults = [str(word) for fault in FAULTS.items() for word in fault]
    folder = tempfile.TemporaryDirectory(prefix="ina-soak-")
    stats = Path(folder.name) / "stats.json"
    command = [str(options.build / "ina-lab"), "run", "-n", str(HOSTS), "--aggregator", options.aggregator,
               *(["--jobs", str(options.contexts)] if options.contexts != JOBS_MAX else []), "--seed", str(options.seed), *faults,
               "--stats", str(stats), "--timeout", str(options.seconds + GRACE_S), "--",
               "env", TUNABLES, f"INA_ACK_TIMEOUT={ack_timeout(options)}",
               *schedule.command(options.jobs, options.seed, [(options.build / "churn").resolve(), f"{options.seconds}s", CALLS, ELEMENTS, "auto"])]
    print(f"soak: seed {options.seed}, {options.seconds} s, aggregator {options.aggregator}, jobs {options.jobs}, contexts {options.contexts}", flush=True)
    switch_kib = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as lab:
        watcher = threading.Thread(target=watch, args=(lab, switch_kib))
        watcher.start()
        out = lab.stdout.read()
    watcher.join()
    lacks_contexts = options.contexts < options.jobs
    wrong, facts = judge(verdict.read(out, 0), switch_kib, options.jobs, lacks_contexts)
    print("\n".join(f"soak: {fact}" for fact in facts))
    if lab.returncode == 0:
        wrong += judge_switch(json.loads(stats.read_text()), lacks_contexts)
    else:
        wrong.append(f"exit code {lab.returncode}")
    if wrong:
        sys.exit("\n".join(f"soak: {line}" for line in wrong[:20]) + f"\nsoak: seed {options.seed}: {' '.join(command)}")
    print("soak: every sum right, memory flat")


if __name__ == "__main__":
    main()
