# SPDX-License-Identifier: Apache-2.0
"""The expected outcome of a run under its faults. The rules are in the order of the functions."""
import itertools
import re
from dataclasses import dataclass

EPOCH_S = 1767225600  # of the hosts' clocks (sim-bridge/virtual/state.h)
# peer_timeout_ms is 5 s, and the end is noticed within 2 s of that; the consequences take TCP's retransmissions.
DEATH_KNOWN_S = 10
# ina_open() waits 60 s, and a root that waits for a rank informs the others.
OPEN_GIVEN_UP_S = 75
# The longest time of a schedule: the survivors' patience, and as much again.
END_S = 400

LINE = re.compile(r"\[(\d+)\] (\d+\.\d+) job (\d+) communicator (\d+) (\w+) (\S+) ?(.*)")


@dataclass
class Line:
    """The line that churn printed on a rank about a communicator of a job."""
    rank: int
    time_s: float  # after the start
    job: int
    index: int
    phase: str
    status: str
    text: str

    def count(self, name):
        """A counter of a communicator that went well: 'calls 4 fallbacks 0'."""
        words = self.text.split()
        return int(words[words.index(name) + 1])


def read(output, start_s):
    found = [LINE.fullmatch(line) for line in output.splitlines()]
    return [Line(int(m[1]), float(m[2]) - EPOCH_S - start_s, int(m[3]), int(m[4]), m[5], m[6], m[7]) for m in found if m]


def judge(schedule, run):
    """The errors, one sentence each; an empty list if all is well. run: code, out, err, stats, leaks."""
    if "virtual_time" not in run.stats:
        return [f"ina-lab ended with {run.code} and left no counters: {(run.err.splitlines() or [''])[-1]}"]
    lines = read(run.out, run.stats["virtual_time"]["boot_ns"] / 1e9)
    wrong = [complaint(line) for line in lines if line.status == "WRONG" and line.phase != "end"]
    wrong += judge_end(schedule, run, lines) + judge_together(lines)
    for job, rank in itertools.product(range(schedule.jobs), range(schedule.hosts)):
        own = [line for line in lines if (line.job, line.rank) == (job, rank) and line.phase != "end"]
        if schedule.stall_s:
            wrong += judge_stalled(schedule, rank, own)
        elif schedule.victim < 0:
            wrong += judge_unharmed(schedule, rank, own)
        elif rank != schedule.victim:
            wrong += judge_survivor(schedule, rank, own)
        else:
            wrong += judge_victim(rank, own)
    return wrong + judge_aggregator(schedule, run.stats, lines) + judge_faults(schedule, run.stats) + run.leaks


def judge_end(schedule, run, lines):
    """Every command ends in time, except a killed one, and ina-lab says so."""
    wrong = []
    everyone = set(itertools.product(range(schedule.jobs), range(schedule.hosts)))
    ended = {(line.job, line.rank) for line in lines if line.phase == "end"}
    killed = {(job, rank) for job, rank in everyone if rank == schedule.victim and schedule.death == "kill"}
    missing = everyone - ended - killed
    if missing:
        wrong.append(f"of (job, rank) {sorted(missing)} did not come to their end")
    # A rank that dies after its own end may do so before or after the end of all.
    if run.code not in ({0} if not killed else {0, 125} if killed <= ended else {125}):
        said = [line for line in run.err.splitlines() if "bridge" in line or "(--timeout)" in line]
        wrong.append(f"ina-lab ended with {run.code}: {'; '.join(said)}")
    if run.stats["virtual_time"]["run_ns"] > END_S * 1e9:
        wrong.append(f"it took {run.stats['virtual_time']['run_ns'] / 1e9:.1f} s of virtual time")
    return wrong


def judge_together(lines):
    """A call that fails on one rank fails on all: no rank closes the communicator well."""
    failed = {(line.job, line.index) for line in lines if line.phase == "call" and line.status != "WRONG"}
    return [f"{complaint(line)}: closed well, but another rank failed in it"
            for line in lines if line.phase == "done" and (line.job, line.index) in failed]


def judge_unharmed(schedule, rank, lines):
    """Faults that retransmissions repair, and an aggregator that comes and goes, cause no error on any rank."""
    wrong = [complaint(line) for line in lines if line.phase != "done"]
    if not wrong and [line.index for line in lines] != list(range(schedule.communicators)):
        wrong.append(f"rank {rank} opened communicators {[line.index for line in lines]}")
    return wrong


def judge_stalled(schedule, rank, lines):
    """A rank that is unreachable for a while may count as dead or not; but when it is back, all continue."""
    allowed = ["INA_ERR_PEER", "INA_ERR_TIMEOUT", "INA_ERR_DEVICE"]
    if schedule.algorithm == "ina":
        allowed.append("INA_ERR_AGGREGATOR")  # the aggregator that it asks cannot be reached either
    wrong = [complaint(line) for line in lines if line.phase != "done" and line.status not in allowed]
    if [line.index for line in lines] != list(range(schedule.communicators)):
        wrong.append(f"rank {rank} opened communicators {[line.index for line in lines]}")
    return wrong


def judge_survivor(schedule, rank, lines):
    """INA_ERR_PEER that names the dead rank, soon; or it does not come to an open; then the others continue without it."""
    wrong = []
    failed = [line for line in lines if line.phase != "done"]
    for line in failed:
        opening = line.phase == "open"
        allowed = ("INA_ERR_PEER", "INA_ERR_TIMEOUT") if opening else ("INA_ERR_PEER",)
        named = line.phase == "close" or names(schedule.victim, line.text)  # ina_close() has no text
        # The wait for a JOIN is shorter than the time after which a host counts as dead.
        unjoined = opening and schedule.algorithm == "ina" and line.status == "INA_ERR_AGGREGATOR"
        if line.index == schedule.communicators or not unjoined and (line.status not in allowed or not named):
            wrong.append(complaint(line))
        if line.time_s > schedule.death_s + (OPEN_GIVEN_UP_S if opening else DEATH_KNOWN_S):
            wrong.append(f"{complaint(line)}: {line.time_s - schedule.death_s:.1f} s after the death")
    if len(failed) > 1:
        wrong.append(f"rank {rank} failed {len(failed)} times")
    if schedule.hosts > 2 and not any(line.index == schedule.communicators for line in lines):
        wrong.append(f"rank {rank} had no communicator with the survivors")
    return wrong


def judge_victim(rank, lines):
    """If its cable is cut, the others are dead in its view."""
    return [complaint(line) for line in lines
            if line.phase != "done" and line.status not in ("INA_ERR_PEER", "INA_ERR_TIMEOUT")]


def judge_aggregator(schedule, stats, lines):
    """Without a fault it sums everything, and frees all its memory; but a rank that dies keeps its context."""
    if schedule.stall_s or schedule.aggregator_fails or schedule.aggregator == "off":
        return []
    counters = stats["aggregator"]
    left = counters["jobs_opened"] - counters["jobs_closed"]
    wrong = [f"the aggregator keeps {left} jobs that have ended"] if left and schedule.victim < 0 else []
    if schedule.algorithm == "ring" or schedule.lacks_contexts:
        return wrong
    # In a fabric JOINs pass a switch that takes no part in the job, because only one of its ports leads to ranks.
    if counters["joins_refused"] and not schedule.fabric:
        wrong.append(f"the aggregator refused {counters['joins_refused']} JOINs")
    if schedule.victim < 0 and not counters["packets_joined"]:
        wrong.append("the aggregator joined no packet")
    return wrong + [f"{complaint(line)}: the aggregator had no fault" for line in lines
                    if line.phase == "done" and line.count("ring") + line.count("fallbacks")]


def judge_faults(schedule, stats):
    """The faults with a time or a number of frames did happen. Random faults are added up over all runs (chances.py)."""
    wrong = []
    options = list(zip(schedule.options[::2], schedule.options[1::2]))
    run_ms = stats["virtual_time"]["run_ns"] / 1e6
    switches = stats.get("switches", {"": stats})
    for name, switch in switches.items():
        given = switch["steered_frames"]
        wanted = [value.removesuffix("ms") for option, value in options if option == "--reset-at"]
        wanted += [value.split("=")[1].removesuffix("ms") for option, value in options
                   if option == "--at" and value.startswith(f"{name},reset-at=")]
        resets = sum(float(value) < run_ms for value in wanted)
        resets += sum((given - 1) // int(value) for option, value in options if option == "--reset-every" and given)
        if switch["engine_resets"] < resets:
            wrong.append(f"{switch['engine_resets']} resets of the aggregator {name}, not {resets}")
        ends = {option: value for option, value in options if option in ("--off-after", "--stuck-after")}
        for option in ("--off-after", "--stuck-after"):  # its own fault comes before that of all
            own = f"{name},{option[2:]}="
            ends.update({option: value.removeprefix(own) for at, value in options if at == "--at" and value.startswith(own)})
        for option, value in ends.items():
            if switch["aggregator"]["frames_in"] > int(value):
                wrong.append(f"the aggregator {name} got {switch['aggregator']['frames_in']} frames, with {option} {value}")
    return wrong


def names(rank, text):
    """'rank 2 disconnected', 'ranks 1, 2 did not connect'."""
    found = re.search(r"\branks? (\d+(?:(?:, | and )\d+)*)", text)
    return bool(found) and str(rank) in re.findall(r"\d+", found[1])


def complaint(line):
    where = f"job {line.job} rank {line.rank} communicator {line.index} {line.phase}"
    return f"{where} after {line.time_s:.3f} s: {line.status} {line.text}"
