# SPDX-License-Identifier: Apache-2.0
"""A rank that comes late breaks nothing."""
from lab import assert_all_right, perf


def test_a_rank_20_s_late(tmp_path):
    """Its peers' packets wait in the aggregator, their retransmissions are dropped, and all go on when it comes."""
    result = perf(tmp_path, 4, ["--aggregator", "rtl"], ["-b", "256K", "-e", "256K", "-n", "1", "-w", "0", "--late", "2:20"])
    assert_all_right(result, "ina")
    assert result.aggregator["duplicates_waiting"] > 0, result


def test_a_rank_that_starts_late(tmp_path):
    result = perf(tmp_path, 3, ["--aggregator", "model", "--delay-rank", "1:5"], ["-b", "64K", "-e", "64K", "-n", "1"])
    assert_all_right(result, "ina")
