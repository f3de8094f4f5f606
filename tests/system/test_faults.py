# SPDX-License-Identifier: Apache-2.0
"""Sums stay exact whatever faults the network has."""
import pytest
from lab import assert_all_right, perf

SIZES = ["-b", "64", "-e", "1M", "-f", "128", "-t", "all", "-n", "2"]


def faults(result, kind):
    return sum(result.stats["ports"][port]["faults"][side][kind]
               for port in range(len(result.stats["ports"])) for side in ("up", "down"))


@pytest.mark.parametrize("aggregator", ["rtl", "model"])
def test_loss_on_both_sides(tmp_path, aggregator):
    result = perf(tmp_path, 4, ["--aggregator", aggregator, "--loss-up", "0.01", "--loss-down", "0.01", "--seed", "11"], SIZES)
    assert_all_right(result, "ina")
    assert faults(result, "lost") > 0, result
    assert result.aggregator["gaps"] > 0, result
    assert result.aggregator["duplicates_answered"] > 0, result


@pytest.mark.parametrize("aggregator", ["rtl", "model"])
def test_duplicates(tmp_path, aggregator):
    result = perf(tmp_path, 4, ["--aggregator", aggregator, "--duplicate", "0.05", "--seed", "12"], SIZES)
    assert_all_right(result, "ina")
    assert faults(result, "duplicated") > 0, result


@pytest.mark.parametrize("aggregator", ["rtl", "model"])
def test_reordering(tmp_path, aggregator):
    result = perf(tmp_path, 4, ["--aggregator", aggregator, "--reorder", "0.02", "--seed", "13"], SIZES)
    assert_all_right(result, "ina")
    assert faults(result, "reordered") > 0, result
    assert result.aggregator["gaps"] > 0, result


@pytest.mark.parametrize("aggregator", ["rtl", "model"])
def test_corruption_is_dropped_never_added(tmp_path, aggregator):
    result = perf(tmp_path, 4, ["--aggregator", aggregator, "--corrupt", "0.01", "--seed", "14"], SIZES)
    assert_all_right(result, "ina")
    assert faults(result, "corrupted") > 0, result
    assert result.aggregator["icrc_dropped"] > 0, result


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
