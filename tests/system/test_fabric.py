# SPDX-License-Identifier: Apache-2.0
"""Hosts at several switches, in virtual time: the delays and rates of cables and switches are right, and ranks find each
other."""
import json
import os
import subprocess

import pytest
from lab import assert_all_right, perf
from test_virtual_time import ACK_BYTES, PACKET_BYTES, VIRTUAL, WIRE_BYTES, pingpong

TWO_LEAVES = ["--topology", "leaf-spine:2x1"]


def round_trip_us(slower_us):
    """Two frames of 64 bytes at 10 Gb/s, each over four links of 20 us and through three switches of 7 us, and after its ACK."""
    frame_us = (64 + PACKET_BYTES + WIRE_BYTES) * 8 / 10e3
    ack_us = (ACK_BYTES + WIRE_BYTES) * 8 / 10e3
    return 2 * (4 * frame_us + 4 * 20 + 3 * 7 + ack_us + slower_us)


@pytest.mark.parametrize("at, slower_us", [
    ([], 0),
    (["leaf0:up0,link-delay=50us"], 30),
    (["1,link-delay=30us", "spine0,switch-delay=12us"], 10 + 5),
])
def test_round_trip(tmp_path, at, slower_us):
    options = [*TWO_LEAVES, "--link-rate", "10G", "--link-delay", "20us", "--switch-delay", "7us"]
    for setting in at:
        options += ["--at", setting]
    expected = round_trip_us(slower_us)
    for time in pingpong(tmp_path, options, "-s 64 -n 5000"):
        assert expected - 0.01 <= time <= expected + 0.2, (expected, time)


def test_slowest_cable(tmp_path):
    """The slowest cable of a way determines its rate."""
    for time in pingpong(tmp_path, [*TWO_LEAVES, "--link-rate", "100G", "--at", "leaf1:up0,link-rate=25G"], "-s 1048576 -n 20"):
        measured = 2 * (1 << 20) * 8 / time / 1000  # there and back
        limit = 25 * 4096 / (4096 + PACKET_BYTES + WIRE_BYTES)
        assert 0.95 * limit < measured < limit, (measured, limit)


def test_ring_over_several_spines(tmp_path):
    """Eight hosts at four leaves; cables between switches lose some packets in both directions."""
    at = [word for leaf in range(4) for up in range(2) for word in ("--at", f"leaf{leaf}:up{up},loss-up=0.003,loss-down=0.003")]
    result = perf(tmp_path, 8, [*VIRTUAL, "--topology", "clos:2x4x2", "--aggregator", "off", *at],
                  ["-b", "64K", "-e", "64K", "-n", "3", "--algorithm", "ring"])
    assert result.code == 0 and result.wrong() == 0, result
    cables = result.stats["cables"]
    assert sum(cable[way]["faults"]["lost"] for cable in cables.values() for way in ("up", "down")) > 5, result
    assert all(cable[way]["frames"] > 0 for cable in cables.values() for way in ("up", "down")), result
    assert not any(port["faults"][way]["lost"] for port in result.stats["ports"] for way in ("up", "down")), result
    assert set(result.stats["switches"]) == {f"leaf{n}" for n in range(4)} | {"spine0", "spine1"}


def test_the_same_again(tmp_path):
    """With the RTL in every switch: the same seed gives the same counters."""
    runs = []
    for turn in ("first", "second"):
        folder = tmp_path / turn
        folder.mkdir()
        runs.append(perf(folder, 4, [*VIRTUAL, "--topology", "leaf-spine:2x2", "--seed", "9", "--loss-up", "0.01"],
                         ["-b", "16K", "-e", "16K", "-n", "2", "--algorithm", "ring"]))
        assert runs[-1].code == 0 and runs[-1].wrong() == 0, runs[-1]
        del runs[-1].stats["virtual_time"]["host_runs"]  # it depends on the depth of the folder
    assert runs[0].stats == runs[1].stats


def test_a_planned_fabric(tmp_path):
    """The tree that ina-plan prints for the second of two jobs is a fabric for the lab: the job reaches the planned rate there,
    apart from headers and latency."""
    jobs = [{"name": "a", "hosts": [0, 1, 4, 5]}, {"name": "b", "hosts": [2, 3, 6, 7]}]
    (tmp_path / "jobs.json").write_text(json.dumps({"jobs": jobs}))

    def plan(*how):
        command = [os.environ["INA_PLAN"], "clos:2x2x4", tmp_path / "jobs.json", "--trees", "1", *how]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    job = json.loads(plan("--json"))["jobs"][1]
    (tmp_path / "b.json").write_text(plan("--lab", "b"))
    result = perf(tmp_path, 4, [*VIRTUAL, "--topology", tmp_path / "b.json", "--aggregator", "model", "--link-rate", "100G"],
                  ["-b", "4M", "-e", "4M", "-n", "2"])
    assert_all_right(result, "ina")
    (row,) = result.results()
    assert all(switch["aggregator"]["packets_joined"] > 0 for switch in result.stats["switches"].values()), result
    assert 0.94 * job["rate"] < (4 << 20) * 8e6 / row["time_us"] < job["rate"], (job, row)
