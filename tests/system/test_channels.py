# SPDX-License-Identifier: Apache-2.0
"""Several channels, each with its own job and tree, in virtual time with the model as aggregator: two spines carry half each, and
if one fails, the other takes over its part."""
import re

import pytest

from lab import PERF, assert_all_right, perf, run
from test_virtual_time import VIRTUAL

MODEL = [*VIRTUAL, "--aggregator", "model"]
TWO_SPINES = [*MODEL, "--topology", "clos:2x2x2"]
RANKS = 4
SIZE = 2 << 20


def channels(count, algorithm="auto"):
    return ["env", f"INA_CHANNELS={count}", "INA_LOG=info", PERF, "--algorithm", algorithm]


def aggregated_bytes(result, spine):
    """Bytes up and down the cables of one spine, cable by cable."""
    return [way["bytes"] for name, cable in result.stats["cables"].items() if name.endswith(f":up{spine}") for way in (cable["up"], cable["down"])]


def rows(result):
    """[(algorithm, wrong elements)] of ina-perf's table."""
    return [(line.split()[5], int(line.split()[-1])) for line in result.out.splitlines() if re.match(rf"\[0\] +{SIZE} ", line)]


def test_each_spine_carries_half(tmp_path):
    """Every element goes up to one of the two spines, once; each host's link is as busy as with one channel."""
    times = 3
    result = run(tmp_path, RANKS, TWO_SPINES, [*channels(2, "ina"), "-c", 1, "-b", SIZE, "-e", SIZE, "-n", times, "-w", 0])
    assert result.code == 0 and rows(result) == [("ina", 0)], result
    for spine in (0, 1):
        half = aggregated_bytes(result, spine)
        assert len(half) == 4 and all(0.97 * times * SIZE / 2 <= count <= 1.06 * times * SIZE / 2 for count in half), (half, result)
    tops = {name: switch["aggregator"]["packets_joined"] for name, switch in result.stats["switches"].items() if name.startswith("spine")}
    assert len(tops) == 2 and max(tops.values()) < 1.05 * min(tops.values()), tops


def test_uneven_spines(tmp_path):
    """Spines of 60 and 30 Gb/s: the channels get parts in this proportion, and are faster than the better spine alone. ACKs stay
    on their spine, because those of a fast channel would wait at the slow one."""
    size, times = 16 << 20, 4
    slow = [word for leaf in (0, 1) for spine, rate in enumerate((60, 30)) for word in ("--at", f"leaf{leaf}:up{spine},link-rate={rate}G")]
    result = run(tmp_path, RANKS, [*TWO_SPINES, "--link-rate", "100G", *slow], [*channels(2), "-c", 1, "-b", size, "-e", size, "-n", times, "-w", 1])
    assert result.code == 0, result
    row = next(line for line in result.out.splitlines() if re.match(rf"\[0\] +{size} ", line)).split()
    assert row[5] == "ina" and row[-1] == "0" and float(row[7]) * 8 > 70, result
    first, second = (max(aggregated_bytes(result, spine)) for spine in (0, 1))
    assert 0.6 < first / (first + second) < 0.72, result


def test_one_channel_takes_one_spine(tmp_path):
    result = run(tmp_path, RANKS, TWO_SPINES, [*channels(1, "ina"), "-b", SIZE, "-e", SIZE, "-n", 2, "-w", 0])
    assert result.code == 0 and rows(result) == [("ina", 0)], result
    assert min(aggregated_bytes(result, 0)) > 2 * SIZE > 20 * max(aggregated_bytes(result, 1)), result


def test_more_channels_than_spines(tmp_path):
    """Three channels on two spines: the first spine has two of the jobs."""
    result = run(tmp_path, RANKS, TWO_SPINES, [*channels(3, "ina"), "-c", 1, "-b", SIZE, "-e", SIZE, "-n", 2, "-w", 0])
    assert result.code == 0 and rows(result) == [("ina", 0)], result
    for count in aggregated_bytes(result, 0):
        assert count == pytest.approx(2 * SIZE * 2 / 3, rel=0.05), result


def test_at_one_switch(tmp_path):
    """If there is only one way, channels are several jobs at the same switch."""
    result = perf(tmp_path, 3, MODEL, ["-b", 8, "-e", "2M", "-f", 16, "-t", "all", "-n", 2])
    assert_all_right(result, "ina")
    several = run(tmp_path, 3, MODEL, [*channels(3, "ina"), "-c", 1, "-b", 8, "-e", "2M", "-f", 16, "-t", "all", "-n", 2])
    assert several.code == 0 and " over the ring" not in several.err, several
    assert several.stats["aggregator"]["packets_joined"] >= result.stats["aggregator"]["packets_joined"], several


EXPLAINED = """\
channel 0:
switch 3, level 2, the top: sums 2 ports for all 4 ranks
channel 1:
switch 4, level 2, the top: sums 2 ports for all 4 ranks
"""


def test_explain(tmp_path):
    """Each channel's tree, with its spine at the top. The switches are numbered from 1 on: two leaves, two spines."""
    result = run(tmp_path, RANKS, TWO_SPINES, [*channels(2), "--explain", "-b", 64, "-e", 64, "-n", 1])
    assert result.code == 0, result
    said = [line[len("[0] # "):] for line in result.out.splitlines() if line.startswith("[0] # channel ") or ", the top: " in line]
    assert "\n".join(said[:4]) + "\n" == EXPLAINED, result


CALLS = 16
UNDER_WAY = 8 * 4 * 65536  # bytes of a channel: steps, messages of each step, length of a message
# Messages that are swallowed are sent again, until the aggregator counts as lost.
FAILS = {"taken out": ("off-after=1000", 2.5), "swallows everything": ("stuck-after=1000", 6)}


@pytest.mark.parametrize("name", FAILS)
def test_a_spine_fails(tmp_path, name):
    """In the middle of the run, the lost channel's part goes to the other one. Only the messages that were under way use the
    ring, and nothing is wrong."""
    fault, times = FAILS[name]
    result = run(tmp_path, RANKS, [*TWO_SPINES, "--at", f"spine1,{fault}"],
                 [*channels(2), "-c", 1, "-b", SIZE, "-e", SIZE, "-n", CALLS, "-w", 0])
    assert result.code == 0 and rows(result) == [("ina", 0)], result
    assert result.err.count("channel 1 lost its aggregator") + result.out.count("channel 1 lost its aggregator") == RANKS, result
    assert "channel 0 is" not in result.err + result.out, result
    # All bytes up from a leaf: aggregated data once; data that were under way, a few times more.
    up = sum(result.stats["cables"][f"leaf0:up{spine}"]["up"]["bytes"] for spine in (0, 1))
    assert CALLS * SIZE <= up <= 1.03 * CALLS * SIZE + times * UNDER_WAY, (up, result)
    # The second spine sends down the sums of the first calls, and later little more than its part of the ring's messages.
    down = [result.stats["cables"][f"leaf{leaf}:up1"]["down"]["bytes"] for leaf in (0, 1)]
    assert max(down) < 0.3 * CALLS * SIZE, (down, result)
    assert min(aggregated_bytes(result, 0)) > 0.7 * CALLS * SIZE, result


def test_a_spine_comes_back(tmp_path):
    """After a reset the channel's part goes to the other one, until a fresh JOIN is granted; then it has its half again."""
    result = run(tmp_path, RANKS, [*TWO_SPINES, "--link-rate", "250M", "--at", "spine1,reset-at=150ms"],
                 [*channels(2), "-c", 1, "-b", "256K", "-e", "256K", "-n", 100, "-w", 0])
    assert result.code == 0, result
    said = [line.split(": ", 2)[2] for line in (result.err + result.out).splitlines() if line.startswith("[0] libina: ") and ": channel" in line]
    assert [re.sub(r"\d+$", "", line) for line in said] == ["channel 1 lost its aggregator, as of step ", "channel 1 uses its aggregator, as of step "], result
    joined = result.stats["switches"]["spine1"]["aggregator"]["packets_joined"]
    assert joined > 0 and result.stats["switches"]["spine1"]["engine_resets"] == 1, result


def test_a_cable_is_cut(tmp_path):
    """The cable from a leaf to the second spine is cut. When the switches route around it, ranks receive messages of that tree
    that are no sums. Nothing is wrong."""
    result = run(tmp_path, RANKS, [*TWO_SPINES, "--link-rate", "250M", "--at", "leaf0:up1,cut-at=50ms"],
                 [*channels(2), "-c", 1, "-b", "256K", "-e", "256K", "-n", 60, "-w", 0])
    assert result.code == 0, result
    assert f"[0] libina: rank 0 of {RANKS}: channel 1 lost its aggregator" in result.err + result.out, result
    assert result.stats["cables"]["leaf0:up1"]["up"]["dropped_cut"] > 0, result
    assert "channel 0 is" not in result.err + result.out, result
    # Its part goes to the other channel: each of three switches adds the data from two below it. Only the messages that were
    # under way use the ring.
    assert result.aggregator["bytes_joined"] > 0.9 * 3 * 2 * 60 * (256 << 10), result
