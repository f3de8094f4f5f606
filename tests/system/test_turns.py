# SPDX-License-Identifier: Apache-2.0
"""More jobs than an aggregator has contexts: they take turns, and each is aggregated now and then."""
import re

import pytest
from lab import CHECK_TURNS, CHURN, at_once, run, turns


def jobs(folder, count, contexts, hosts, options, arguments):
    """Runs `count` jobs at the same time, each of which runs check_turns on all hosts. Returns the counters of each."""
    result = run(folder, hosts, ["--virtual-time", "--jobs", contexts, *options],
                 at_once(count, f'INA_LOG=info {CHECK_TURNS} {arguments} | sed "s/^/job $job /"'))
    assert result.code == 0, result
    counters = turns(result)
    assert len(counters) == count and all(len(ranks) == hosts for ranks in counters.values()), result
    # A job learns immediately whether a context is free, and a job that gives one away does not wait either: no JOIN timeout, of
    # 2 s.
    for rank in [rank for ranks in counters.values() for rank in ranks]:
        assert rank.pop("slowest_ms") < 20 and rank.pop("open_ms") < 1500, result
    for ranks in counters.values():
        # All ranks of a job make the same choices, and no aggregator was lost.
        assert all(rank == ranks[0] for rank in ranks) and ranks[0]["fallbacks"] == 0, result
    return result, [ranks[0] for ranks in counters.values()]


# Different seeds: the first rank to vote when a rejoin begins, and the frames that rank 0 has received by then, differ.
@pytest.mark.parametrize("hosts,started,seed", [(2, 1, 1), (2, 1, 2), (2, 1, 3), (2, 1, 4), (2, 8, 1), (4, 1, 1), (4, 8, 1)])
def test_three_jobs_take_turns(tmp_path, hosts, started, seed):
    """Two contexts, 12 s of calls 50 ms apart: most of the time two of the three jobs are aggregated."""
    calls = 240 * started
    result, counted = jobs(tmp_path, 3, 2, hosts, ["--aggregator", "model", "--seed", seed], f"{calls} 50 {started}")
    shares = [job["aggregated"] / job["calls"] for job in counted]
    assert all(share > 0.3 for share in shares) and sum(shares) > 1.5, result
    # A job that gives way frees its context immediately.
    assert result.aggregator["jobs_opened"] == result.aggregator["jobs_closed"] > 6 and result.aggregator["jobs_broken"] == 0, result
    # The job whose trailer comes next yields, so a job may be lucky and keep its context. A job that yields joins again.
    assert all(abs(job["yields"] - job["rejoins"]) <= 1 for job in counted) and sum(job["yields"] for job in counted) > 3, result
    assert "continues over the ring: the job yields its aggregator context to another job" in result.err, result


def test_nobody_starves(tmp_path):
    """Eight jobs that call at the same times, on five contexts."""
    result, counted = jobs(tmp_path, 8, 5, 4, ["--aggregator", "model"], "240 50 1")
    assert all(job["aggregated"] > 20 for job in counted), result


def test_who_is_not_asked_keeps_its_place(tmp_path):
    """As many jobs as contexts."""
    result, counted = jobs(tmp_path, 2, 2, 2, ["--aggregator", "model"], "60 50 1")
    assert [(job["aggregated"], job["yields"]) for job in counted] == [(60, 0), (60, 0)], result


# Frames are lost. So one rank's JOIN comes when the switch has no free context, and another one's a moment later, when a context
# has become free.
LOSSY = ["--virtual-time", "--aggregator", "model", "--jobs", 1, "--loss-up", 0.01, "--seed"]


@pytest.mark.parametrize("seed", [1, 3])
def test_a_join_granted_in_part_ends_at_once(tmp_path, seed):
    """Four jobs that open and close one communicator after the other, and whose ranks are late at random: none waits for a JOIN
    timeout, of 2 s."""
    result = run(tmp_path, 4, [*LOSSY, seed], at_once(4, f"""(RANDOM=$((INA_RANK * 16 + job + {seed} * 256)); for i in $(seq 20); do
sleep 0.$(printf %03d $((RANDOM % 80))); {CHECK_TURNS} 2 20 1 | sed "s/^/job $job /" || exit 1; done)"""))
    assert result.code == 0, result
    times = [rank["open_ms"] for ranks in turns(result).values() for rank in ranks]
    assert len(times) == 4 * 4 * 20 and max(times) < 1500, result
    assert result.aggregator["joins_refused"] > 0 and result.aggregator["jobs_opened"] > 20, result


def test_who_is_refused_early_disturbs_nobody(tmp_path):
    """The same with small all-reduces: a rank that is refused must not end the others' exchange of slots, which a later call
    would meet."""
    result = run(tmp_path, 4, [*LOSSY, 2], at_once(4, f"CHURN_JOB=$job {CHURN} 200$job 20 2 2000 auto"))
    assert result.code == 0 and len(re.findall(r" done INA_OK ", result.out)) == 4 * 4 * 20, result
    assert result.aggregator["joins_refused"] > 0, result


def test_switches_of_a_fabric(tmp_path):
    """Two leaves with one context each and a spine with two: a leaf that refuses asks its own job."""
    result, counted = jobs(tmp_path, 2, 1, 4, ["--aggregator", "model", "--topology", "leaf-spine:2x2"], "240 50 1")
    assert all(job["yields"] > 0 for job in counted), result
    assert sum(job["aggregated"] / job["calls"] for job in counted) > 0.5, result


@pytest.mark.parametrize("options,contexts_kept", [([], False), (["--idle-ttl", 0], True)])
def test_who_computes_for_long_keeps_no_context(tmp_path, options, contexts_kept):
    """One context. A job that calls every 20 s has it. Another one that calls every 50 ms wants it, from 22 s to about 52 s."""
    result = run(tmp_path, 2, ["--virtual-time", "--aggregator", "model", "--jobs", 1, *options],
                 at_once(2, f'case $job in 1) calls="4 20000 1";; *) sleep 22; calls="600 50 1";; esac; {CHECK_TURNS} $calls | sed "s/^/job $job /"'))
    assert result.code == 0, result
    (slow, _), (fast, _) = (ranks for _, ranks in sorted(turns(result).items()))
    if contexts_kept:
        assert fast["aggregated"] == 0 == result.aggregator["jobs_expired"], result
        return
    # The job is forgotten at most 8 s after its call at 20 s. Its call at 40 s uses the ring. At 60 or 80 s, when the other job
    # has ended, it is aggregated again.
    assert fast["aggregated"] > 600 - (6 + 0.5) / 0.05 and fast["fallbacks"] == 0, result
    assert 1 < slow["aggregated"] < 4 and slow["fallbacks"] == 1 and slow["slowest_ms"] < 100, result
    assert result.aggregator["jobs_expired"] == 1 == result.aggregator["jobs_broken"], result
