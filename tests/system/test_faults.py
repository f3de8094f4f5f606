# SPDX-License-Identifier: Apache-2.0
"""Sums stay exact whatever faults the network has."""
import pytest
from lab import assert_all_right, perf

SIZES = ["-b", "64", "-e", "1M", "-f", "128", "-t", "all", "-n", "2"]


def faults(result, kind):
    return sum(result.stats["ports"][port]["faults"][side][kind]
               for port in range(len(result.stats["ports"])) for side in ("up", "down"))


@pytest.mark.parametrize("aggregator", ["rtl", "model"])
@pytest.mark.parametrize("options,fault,counters", [
    ("--loss-up 0.01 --loss-down 0.01 --seed 11", "lost", ["gaps", "duplicates_answered"]),
    ("--duplicate 0.05 --seed 12", "duplicated", []),
    ("--reorder 0.02 --seed 13", "reordered", ["gaps"]),
    ("--corrupt 0.01 --seed 14", "corrupted", ["icrc_dropped"])])
def test_a_fault(tmp_path, aggregator, options, fault, counters):
    """It happens, the aggregator notices it, and no sum is wrong."""
    result = perf(tmp_path, 4, ["--aggregator", aggregator, *options.split()], SIZES)
    assert_all_right(result, "ina")
    assert faults(result, fault) > 0, result
    assert all(result.aggregator[counter] > 0 for counter in counters), result


def test_everything_at_once_on_eight_hosts(tmp_path):
    options = ["--aggregator", "rtl", "--loss-up", "0.003", "--loss-down", "0.003", "--duplicate", "0.01", "--reorder", "0.005",
               "--corrupt", "0.003", "--seed", "15"]
    result = perf(tmp_path, 8, options, ["-b", "64", "-e", "512K", "-f", "1024", "-t", "all", "-n", "1"])
    assert_all_right(result, "ina")


def test_ring_stands_the_same_faults(tmp_path):
    options = ["--aggregator", "off", "--loss-up", "0.005", "--loss-down", "0.005", "--duplicate", "0.01", "--reorder", "0.005",
               "--corrupt", "0.005", "--seed", "16"]
    result = perf(tmp_path, 4, options, SIZES)
    assert_all_right(result, "ring")
