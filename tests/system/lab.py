# SPDX-License-Identifier: Apache-2.0
"""Runs commands on a lab of real hosts, for the system tests."""
import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

LAB = os.environ.get("INA_LAB", "build/ina-lab")
PERF = os.environ.get("INA_PERF", "build/ina-perf")
CHECK_TURNS = Path(LAB).parent / "check_turns"
CHURN = Path(LAB).parent / "churn"


@dataclass
class Run:
    """The results of a run; repr() is shown when an assertion fails."""
    code: int
    out: str
    err: str
    stats: dict = field(default_factory=dict)   # ina-lab's --stats
    report: dict = field(default_factory=dict)  # ina-perf's --json

    @property
    def aggregator(self):
        return self.stats["aggregator"]

    def results(self):
        """Every result of the report: those of the rows, and those of the ring next to them."""
        return [row[kind] for row in self.report["rows"] for kind in ("result", "ring") if kind in row]

    def wrong(self):
        return sum(result["wrong"] for result in self.results())

    def count(self, name):
        """The total over all results, for fallbacks or rejoins."""
        return sum(result[name] for result in self.results())

    def algorithms(self):
        return {result["algorithm"] for result in self.results()}

    def __repr__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}\n--- stats\n{json.dumps(self.stats)}"


def run(folder, n, options, command, timeout_s=480):
    """Runs a command with ina-lab run on n hosts. The folder belongs to the test."""
    stats = Path(folder) / "stats.json"
    arguments = [LAB, "run", "-n", n, "--timeout", timeout_s, "--grace", 20, "--stats", stats, *options, "--", *command]
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True,
                          timeout=timeout_s + 60, stdin=subprocess.DEVNULL)
    text = stats.read_text() if stats.exists() else ""
    return Run(done.returncode, done.stdout, done.stderr, json.loads(text or "{}"))


def at_once(count, command):
    """A command that runs a shell command `count` times at the same time, each as a separate job; $job is its number, from 1. It
    fails if one of them fails."""
    return ["bash", "-c", f"""set -o pipefail; pids=
for job in $(seq {count}); do export INA_COOKIE=job$job; {command} & pids="$pids $!"; done
for pid in $pids; do wait $pid || exit 1; done"""]


def turns(result):
    """The output of check_turns in simultaneous jobs, whose lines begin with "job" and its number: the counters of each rank, by
    job."""
    counters = {}
    for job, text in re.findall(r"job (\d+) (calls .*)", result.out):
        words = text.split()
        counters.setdefault(int(job), []).append(dict(zip(words[::2], map(int, words[1::2]))))
    return counters


def perf(folder, n, options, arguments, timeout_s=480):
    """Runs ina-perf on n hosts, with every element checked."""
    report = Path(folder) / "perf.json"
    result = run(folder, n, options, [PERF, "-c", "1", "--json", report, *arguments], timeout_s)
    if report.exists():
        result.report = json.loads(report.read_text())
    return result


def may_fix_addresses():
    """Some containers do not let a program fix the addresses of its memory (personality(2))."""
    return subprocess.run(["setarch", "--addr-no-randomize", "true"], capture_output=True).returncode == 0


def by_rank(out):
    """The lines of each rank in their order, rank by rank: in real time, the order in which ina-lab gets lines of different ranks
    is random."""
    return "\n".join(sorted(out.splitlines(), key=lambda line: line.split("]")[0]))


def assert_all_right(result, algorithm):
    """Exit code 0, every element of every result is right, and the expected algorithm computed all of them."""
    assert result.code == 0, result
    assert result.report["rows"], result
    assert result.wrong() == 0, result
    assert result.algorithms() == {algorithm}, result
    assert result.count("fallbacks") == result.count("rejoins") == 0, result
    if algorithm == "ina":
        assert result.aggregator["packets_joined"] > 0, result
        # If there are several switches, one takes no part in the job if only one of its ports leads to ranks.
        assert result.aggregator["joins_refused"] == 0 or len(result.stats.get("switches", [])) > 1, result
