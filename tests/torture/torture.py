#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs schedules of faults (schedule.py) in virtual time and judges them (verdict.py).

For a failing seed it prints the error and the command that repeats it, and keeps its folder: command, out, err, stats.json,
capture.pcap, and with --waves, for two hosts, waves.fst.
"""
import argparse
import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import schedule as schedules
import verdict
from chances import Chances

WALL_S = 600  # after this time a run counts as hanging; it takes seconds, or minutes on a busy machine
SHARED_MEMORY = Path("/dev/shm")
KERNEL = Path(__file__).resolve().parents[2] / ".kernel/linux"


@dataclass
class Run:
    code: int
    out: str  # in the order of ranks
    err: str
    stats: dict
    capture: bytes
    wall_s: float
    leaks: list = field(default_factory=list)


def command_of(schedule, build, folder):
    churn = schedules.command(schedule.jobs, schedule.arguments[0], [build / "churn", *schedule.arguments[1:]])
    return [str(word) for word in (
        build / "ina-lab", "run", "-n", schedule.hosts, "--virtual-time", "--aggregator", schedule.aggregator,
        "--seed", schedule.seed, *schedule.options, "--timeout", WALL_S, "--grace", WALL_S,
        "--pcap", folder / "capture.pcap", "--stats", folder / "stats.json",
        "--", *(["env", f"INA_CHANNELS={schedule.channels}"] if schedule.channels > 1 else []), *churn)]


def environment_of(build, folder, waves):
    """Without the caller's variables, because a host's environment is part of the repeated run."""
    own = {name: os.environ[name] for name in ("PATH", "INA_KERNEL", "INA_BRIDGE") if name in os.environ}
    own.setdefault("INA_KERNEL", str(KERNEL))
    if waves:
        own.update(INA_BRIDGE=str(build / "ina-bridge-waves"), INA_WAVES=str(folder / "waves.fst"))
    return dict(own, TMPDIR=str(folder / "tmp"))


def processes_of(folder):
    """Those that have the run's folder in their command line or environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(folder / "tmp") in (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return found


def find_leaks(folder, shared_before):
    """Processes and files that should have ended with the run; a process that is just ending gets a second."""
    for patience in range(10):
        left = [("process", name) for name in processes_of(folder)]
        left += [("workspace", path.name) for path in (folder / "tmp").iterdir()]
        left += [("/dev/shm", name) for name in {path.name for path in SHARED_MEMORY.iterdir()} - shared_before]
        if not left:
            break
        time.sleep(0.1)
    return [f"left behind: {kind} {name}" for kind, name in left]


def run(schedule, build, folder, waves=False):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tmp").mkdir(parents=True)
    command = command_of(schedule, build, folder)
    (folder / "command").write_text(shlex.join(command) + "\n")
    shared_before = {path.name for path in SHARED_MEMORY.iterdir()}
    began_s = time.monotonic()
    with subprocess.Popen(command, env=environment_of(build, folder, waves), text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        # The run ends with a message; this is for the case that it does not.
        watchdog = threading.Timer(WALL_S + 60, process.kill)
        watchdog.start()
        out, err = process.communicate()
        watchdog.cancel()
    wall_s = time.monotonic() - began_s
    # Each host's lines are in their order; how those of several hosts mix depends on the machine.
    out = "".join(sorted(out.splitlines(True), key=lambda line: line[:3]))
    (folder / "out").write_text(out)
    (folder / "err").write_text(err)
    text = (folder / "stats.json").read_text() if (folder / "stats.json").exists() else ""
    capture = (folder / "capture.pcap").read_bytes() if (folder / "capture.pcap").exists() else b""
    stats = json.loads(text or "{}")
    stats.get("capture", {}).pop("file", None)
    return Run(process.returncode, out, err, stats, capture, wall_s, find_leaks(folder, shared_before))


def may_fix_addresses():
    """Some containers do not let a program fix the addresses of its memory: runs may differ there (lab/README.md)."""
    return subprocess.run(["setarch", "--addr-no-randomize", "true"], capture_output=True).returncode == 0


def differences(one, other):
    """The same seed must give the same run to the last byte."""
    return [f"a second run has other {name}" for name in ("code", "out", "stats", "capture")
            if getattr(one, name) != getattr(other, name)]


def try_seed(seed, options):
    """Runs and judges one seed. Returns its schedule, its run, and the errors."""
    schedule = schedules.draw(seed)
    folder = options.build / "torture" / str(seed)
    waves = options.waves and schedule.hosts == 2 and schedule.aggregator == "rtl"
    result = run(schedule, options.build, folder, waves)
    wrong = verdict.judge(schedule, result)
    if options.again and seed == options.first and not may_fix_addresses():
        print("SKIPPED torture --again: this machine forbids personality(2): no second run is compared", flush=True)
    elif options.again and seed == options.first:
        again = options.build / "torture" / f"{seed}.again"
        wrong += differences(result, run(schedule, options.build, again, waves))
        if not wrong:
            shutil.rmtree(again)
    if not wrong and not options.keep:
        shutil.rmtree(folder)
    return schedule, result, wrong


class Tally:
    """The totals of all runs: also whether the faults happened at all."""

    def __init__(self):
        self.failed = []
        self.counts = dict.fromkeys(("communicators", "errors", "deaths", "resets", "lost", "duplicated", "reordered",
                                     "corrupted", "calls", "aggregated", "ring", "fallbacks", "rejoins"), 0)
        self.virtual_s = self.wall_s = 0
        self.chances = Chances()

    def add(self, schedule, result):
        counts = self.counts
        self.chances.add(schedule, result.stats, result.capture)
        self.wall_s += result.wall_s
        self.virtual_s += result.stats.get("virtual_time", {}).get("run_ns", 0) / 1e9
        counts["deaths"] += schedule.victim >= 0
        counts["resets"] += result.stats.get("engine_resets", 0)
        for port in result.stats.get("ports", []):
            for side in port["faults"].values():
                for name in ("lost", "duplicated", "reordered", "corrupted"):
                    counts[name] += side[name]
        for line in verdict.read(result.out, 0):
            counts["communicators"] += line.phase == "done"
            counts["errors"] += line.phase in ("open", "call", "close")
            for name in ("calls", "aggregated", "ring", "fallbacks", "rejoins") if line.phase == "done" else ():
                counts[name] += line.count(name)

    def __str__(self):
        return ", ".join(f"{value} {name}" for name, value in self.counts.items())


def replay(seed, options):
    return f"{sys.argv[0]} --build {options.build} --first {seed} --keep"


def show(seed, schedule, result, wrong, options):
    print(f"seed {seed}: {'FAILED' if wrong else 'fine'}: {schedule.hosts} hosts, {schedule.aggregator}, "
          f"{schedule.algorithm}, {' '.join(schedule.options)}: "
          f"{result.stats.get('virtual_time', {}).get('run_ns', 0) / 1e9:.3f} s in {result.wall_s:.1f} s", flush=True)
    for sentence in wrong:
        print(f"  {sentence}")
    if wrong:
        waves = " --waves" if schedule.hosts == 2 and schedule.aggregator == "rtl" else ""
        print(f"  replay: {replay(seed, options)}{waves}\n  kept: {options.build}/torture/{seed}", flush=True)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=lambda text: Path(text).resolve(), default=Path("build").resolve())
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--channels", action="store_true", help="only seeds with several channels, resets and losses")
    parser.add_argument("--parallel", type=int, default=1, help="runs at a time")
    parser.add_argument("--again", action="store_true", help="run the first seed twice, and compare the bytes")
    parser.add_argument("--keep", action="store_true", help="keep the folders of good seeds too")
    parser.add_argument("--waves", action="store_true",
                        help="two hosts and the RTL: write its signals too (needs make waves, once)")
    options = parser.parse_args()
    if options.seeds < 1 or options.first < 0 or options.parallel < 1:
        parser.error("--seeds and --parallel are 1 at least, --first 0")
    for program in ("ina-lab", "churn", *(["ina-bridge-waves"] if options.waves else [])):
        if not (options.build / program).exists():
            parser.error(f"there is no {program} in {options.build}: build it first")
    return options


def main():
    options = parse_options()
    tally = Tally()
    seeds = [*itertools.islice((seed for seed in itertools.count(options.first)
                                if not options.channels or schedules.draw(seed).has_lossy_channels), options.seeds)]
    with ThreadPoolExecutor(options.parallel) as pool:
        for seed, (schedule, result, wrong) in zip(seeds, pool.map(lambda seed: try_seed(seed, options), seeds)):
            tally.add(schedule, result)
            tally.failed += [seed] * bool(wrong)
            show(seed, schedule, result, wrong, options)
    print(f"{options.seeds} seeds, {len(tally.failed)} failed{''.join(f' {seed}' for seed in tally.failed)}: "
          f"{tally.virtual_s:.1f} s of virtual time in {tally.wall_s:.0f} s: {tally}")
    missing = tally.chances.wrong()
    for sentence in missing:
        print(f"torture: {sentence}")
    return bool(tally.failed or missing)


if __name__ == "__main__":
    sys.exit(main())
