# SPDX-License-Identifier: Apache-2.0
"""A rank that comes late breaks nothing."""
import pytest
from lab import assert_all_right, perf


def test_a_rank_20_s_late(tmp_path):
    """Its peers' packets wait in the aggregator, their retransmissions are dropped, and all continue when it comes."""
    result = perf(tmp_path, 4, ["--aggregator", "rtl"], ["-b", "256K", "-e", "256K", "-n", "1", "-w", "0", "--late", "2:20"])
    assert_all_right(result, "ina")
    assert result.aggregator["duplicates_waiting"] > 0, result


def test_a_rank_that_starts_late(tmp_path):
    result = perf(tmp_path, 3, ["--aggregator", "model", "--delay-rank", "1:5"], ["-b", "64K", "-e", "64K", "-n", "1"])
    assert_all_right(result, "ina")


@pytest.mark.parametrize("late", [0, 2])
def test_a_rank_a_minute_late(tmp_path, late):
    """In virtual time: a minute is far longer than peer_timeout_ms, but no rank takes the late one for dead."""
    result = perf(tmp_path, 3, ["--virtual-time", "--aggregator", "model"],
                  ["-b", "64K", "-e", "64K", "-n", "1", "-w", "0", "--late", f"{late}:60"])
    assert_all_right(result, "ina")
