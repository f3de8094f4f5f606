# SPDX-License-Identifier: Apache-2.0
"""Connections whose retries end, as on cards: rdma_rxe retries without limit only if the retry count is 7. With 6, and an ACK timeout
of 67 ms, a queue pair fails after half a second without an acknowledgement, and libina revives it. So no call fails, and none uses the
ring instead of the aggregator. All labs run in virtual time.
"""
import json
import re
from pathlib import Path

import pytest
from lab import LAB, PERF, assert_all_right, at_once, run

CHECK_LATENESS = Path(LAB).parent / "check_lateness"
FAILED = "/sys/class/infiniband/rxe0/ports/1/hw_counters/retry_exceeded_err"

# Stops the process of rank 1 for 5 s, in the midst of its first all-reduce, which takes longer than this.
FREEZE = """if [ $INA_RANK = 1 ]; then sleep 0.3; kill -STOP $!; sleep 5; kill -CONT $!; fi; """


def run_with(folder, retries, hosts, options, script, then=""):
    """Runs a script with this retry count. Returns the result, and how many queue pairs have failed on each host."""
    result = run(folder, hosts, ["--virtual-time", *options],
                 ["bash", "-c", f"export INA_RETRY_COUNT={retries}; ({script}) & {then} wait $! && echo failed $(cat {FAILED})"])
    return result, [int(number) for number in re.findall(r"failed (\d+)", result.out)]


def perf_with(folder, retries, hosts, options, arguments, then=""):
    report = Path(folder) / "perf.json"
    result, failed = run_with(folder, retries, hosts, options, f"exec {PERF} -c 1 --json {report} {arguments}", then)
    if report.exists():
        result.report = json.loads(report.read_text())
    return result, failed


@pytest.mark.parametrize("seconds", [1, 5, 60])
def test_ranks_are_late_between_calls(tmp_path, seconds):
    """One after the other. check_lateness fails if a sum is wrong, or if the aggregator has not made all sums."""
    result, failed = run_with(tmp_path, 6, 3, ["--aggregator", "model"], f"exec {CHECK_LATENESS} {seconds}")
    assert result.code == 0, result
    assert len(failed) == 3 and min(failed) >= seconds, result


@pytest.mark.parametrize("size", ["1K", "256K"])
def test_a_rank_is_late_without_an_aggregator(tmp_path, size):
    """The device of a rank acknowledges messages also while the rank is outside the library."""
    result, failed = perf_with(tmp_path, 6, 3, ["--aggregator", "off"], f"-b {size} -e {size} -n 2 --late 1:5")
    assert_all_right(result, "ring")
    assert failed == [0, 0, 0], result


@pytest.mark.parametrize("aggregator, algorithm", [("model", "ina"), ("off", "ring")])
def test_a_process_is_frozen_in_a_call(tmp_path, aggregator, algorithm):
    result, failed = perf_with(tmp_path, 6, 3, ["--aggregator", aggregator, "--link-rate", "100M"],
                               "-b 8M -e 8M -n 1 -w 0", FREEZE)
    assert_all_right(result, algorithm)
    assert result.report["rows"][0]["result"]["time_us"] > 5e6, result
    assert len(failed) == 3 and (max(failed) > 0) == (aggregator == "model"), result


@pytest.mark.parametrize("size", ["1K", "64K"])
@pytest.mark.parametrize("aggregator, algorithm", [("model", "ina"), ("off", "ring")])
def test_a_host_is_cut_off_for_3_s(tmp_path, aggregator, algorithm, size):
    """All of its connections fail, at both ends."""
    result, failed = perf_with(tmp_path, 6, 4, ["--aggregator", aggregator, "--cut", "2:1ms:3s"],
                               f"-b {size} -e {size} -n 500")
    assert_all_right(result, algorithm)
    assert len(failed) == 4 and max(failed) > 0, result


def test_a_quota_holds_joins_back(tmp_path):
    """Two jobs. The JOINs of rank 1 come 0.2 s after those of rank 0, of which the quota lets only one wait in the switch."""
    result, failed = run_with(tmp_path, 1, 2, ["--aggregator", "model", "--quota", 1, "--at", "1,link-delay=100ms"],
                              at_once(2, f"{PERF} -b 4K -e 4K -n 2")[-1])
    assert result.code == 0 and result.aggregator["joins_held"] > 0, result
    assert len(re.findall(r"^\[0\] +4096 .* ina .* 0$", result.out, re.M)) == 2, result
    assert len(failed) == 2 and min(failed) > 0, result


def test_a_reset_switch_drops_the_first_messages(tmp_path):
    """For 0.8 s."""
    result, failed = perf_with(tmp_path, 6, 4, ["--aggregator", "model", "--topology", "leaf-spine:2x2",
                                                "--at", "leaf0,quiet=800", "--at", "leaf1,quiet=800"],
                               "-b 64K -e 64K")
    assert_all_right(result, "ina")
    assert len(failed) == 4 and min(failed) > 0, result


@pytest.mark.parametrize("seed", [5, 6])
@pytest.mark.parametrize("aggregator, algorithm", [("model", "ina"), ("off", "ring")])
def test_one_retry_in_a_network_that_loses_much(tmp_path, aggregator, algorithm, seed):
    """Queue pairs fail at all times, with messages under way in both directions."""
    result, failed = perf_with(tmp_path, 1, 4, ["--aggregator", aggregator, "--loss-up", 0.03, "--loss-down", 0.03, "--seed", seed],
                               "-b 64 -e 1M -f 128 -n 2")
    assert result.code == 0 and result.report["rows"] and result.wrong() == 0, result
    assert result.algorithms() == {algorithm} and result.count("fallbacks") == 0, result
    assert len(failed) == 4 and sum(failed) > 4, result
