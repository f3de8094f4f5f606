# SPDX-License-Identifier: Apache-2.0
"""Without an aggregator the ring is used, and the caller can see it."""
import pytest
from lab import PERF, assert_all_right, perf, run


def test_ring_over_a_plain_switch(tmp_path):
    result = perf(tmp_path, 4, ["--aggregator", "off"], ["-b", "4", "-e", "1M", "-f", "64", "-t", "all", "-n", "1"])
    assert_all_right(result, "ring")
    assert "ring" in result.out


def test_insisting_on_the_aggregator_fails_where_there_is_none(tmp_path):
    result = perf(tmp_path, 2, ["--aggregator", "off"], ["--algorithm", "ina", "-b", "4", "-e", "4"])
    assert result.code != 0, result
    assert "INA_ERR_AGGREGATOR" in result.err, result
    assert not result.report, result


def test_both_algorithms_side_by_side(tmp_path):
    """--compare: the aggregator and the ring in one run; the ring has 2(n-1)/n times as many bytes on the wire."""
    result = perf(tmp_path, 4, ["--aggregator", "model"], ["--compare", "-b", "4M", "-e", "4M", "-n", "2"])
    assert result.code == 0 and result.wrong() == 0, result
    row = result.report["rows"][0]
    assert (row["result"]["algorithm"], row["ring"]["algorithm"]) == ("ina", "ring")
    assert 1.4 < row["ring"]["wire_bytes"] / row["result"]["wire_bytes"] < 1.6, result


@pytest.mark.parametrize("kind", ["int32", "float"])
@pytest.mark.parametrize("place", [[], ["--in-place"]])
def test_the_aggregator_is_reset(tmp_path, kind, place):
    """During a message of the third all-reduce. The ring continues, and a fresh JOIN brings the aggregator back."""
    result = perf(tmp_path, 4, ["--virtual-time", "--link-rate", "250M", "--aggregator", "model", "--reset-at", "30ms"],
                  ["-b", "256K", "-e", "256K", "-n", "40", "-w", "0", "-t", kind, *place])
    assert result.code == 0 and result.report["rows"] and result.wrong() == 0, result
    assert result.stats["engine_resets"] == result.count("fallbacks") == result.count("rejoins") == 1, result
    assert result.algorithms() == {"ina"}, result


def test_the_aggregator_is_demanded_and_reset(tmp_path):
    result = perf(tmp_path, 4, ["--aggregator", "model", "--reset-every", "1500"],
                  ["--algorithm", "ina", "-b", "1M", "-e", "1M", "-n", "20"])
    assert result.code != 0, result
    assert result.err.count("INA_ERR_AGGREGATOR") == 4, result


@pytest.mark.parametrize("aggregator, options, words", [
    ("model", [], ["rxe0 192.0.2.1, GID 1 ::ffff:192.0.2.1, path MTU 4096", "from rank 1 at 192.0.2.2", ": aggregated"]),
    ("model", ["--reset-every", "300"], ["continues over the ring: the aggregator dropped out in message", "aggregated again"]),
    ("off", [], ["over the ring: no aggregator, or it refused (1 of 2 joined)"])])
def test_the_log_says_so(tmp_path, aggregator, options, words):
    result = run(tmp_path, 2, ["--aggregator", aggregator, *options],
                 ["env", "INA_LOG=info", PERF, "-b", "4M", "-e", "4M", "-n", "20"])
    assert result.code == 0, result
    lines = [line for line in result.err.splitlines() if "libina: rank 0 of 2: " in line]
    for word in words:
        assert any(word in line for line in lines), (word, result)


@pytest.mark.parametrize("frames", range(13, 19))
def test_stuck_when_one_rank_is_a_call_ahead(tmp_path, frames):
    """Sums are lost on the way down, and the aggregator falls silent: one rank is already in the next all-reduce and waits for
    the others."""
    result = perf(tmp_path, 2, ["--virtual-time", "--aggregator", "model", "--loss-down", "0.3", "--stuck-after", frames],
                  ["-b", "4", "-e", "4", "-n", "20", "--timeout", "60"])
    assert result.code == 0 and result.report["rows"] and result.wrong() == 0, result
    assert result.report["rows"][0]["result"]["algorithm"] == "ring", result
    assert result.count("fallbacks") == 1 and result.count("rejoins") == 0, result
