# SPDX-License-Identifier: Apache-2.0
"""Virtual time: the hosts always measure the times that the model of the network predicts."""
import json
import os
import re
import subprocess

import pytest
from lab import PERF, assert_all_right, by_rank, may_fix_addresses, perf, run

BRIDGE = os.environ.get("INA_BRIDGE", "ina-bridge")
VIRTUAL = ["--virtual-time"]
# Around a payload in a frame: Ethernet, IPv4, UDP, BTH, iCRC; around a frame on the wire: preamble, FCS, gap.
PACKET_BYTES = 14 + 20 + 8 + 12 + 4
WIRE_BYTES = 24
ACK_BYTES = PACKET_BYTES + 4


def pingpong(tmp_path, options, arguments):
    """The unchanged ibv_rc_pingpong; microseconds of an iteration on both hosts."""
    command = f"ibv_rc_pingpong -e -g 1 -m 4096 {arguments}"
    result = run(tmp_path, 2, [*VIRTUAL, "--aggregator", "off", *options],
                 ["sh", "-c", f"[ $INA_RANK = 0 ] && exec {command}; sleep 1; exec {command} $INA_ROOT"])
    assert result.code == 0, result
    times = [float(text) for text in re.findall(r"= ([0-9.]+) usec/iter", result.out)]
    assert len(times) == 2, result
    return times


@pytest.mark.parametrize("rate", ["10G", "100G"])
def test_round_trip(tmp_path, rate):
    """Two frames of 64 bytes, each over two links and through the switch, and after its ACK."""
    times = pingpong(tmp_path, ["--link-rate", rate, "--link-delay", "20us", "--switch-delay", "7us"], "-s 64 -n 5000")
    bit_us = 1e-3 / float(rate[:-1])
    frame_us = (64 + PACKET_BYTES + WIRE_BYTES) * 8 * bit_us
    ack_us = (ACK_BYTES + WIRE_BYTES) * 8 * bit_us
    expected = 2 * (2 * frame_us + 2 * 20 + 7 + ack_us)
    for time in times:
        # The start and end of the two hosts count too: some microseconds in 5000 iterations.
        assert expected - 0.01 <= time <= expected + 0.1, (expected, times)


@pytest.mark.parametrize("rate", [10, 100])
def test_bandwidth(tmp_path, rate):
    """Messages of 1 MiB there and back: the wire is full, except for the turns between messages."""
    for time in pingpong(tmp_path, ["--link-rate", f"{rate}G"], "-s 1048576 -n 20"):
        measured = 2 * (1 << 20) * 8 / time / 1000  # there and back
        limit = rate * 4096 / (4096 + PACKET_BYTES + WIRE_BYTES)
        assert 0.96 * limit < measured < limit, (measured, limit)


def test_in_network_against_ring(tmp_path):
    """Four hosts at 100 Gb/s through the RTL at 250 MHz: M bytes each way instead of 2 (n - 1) / n M."""
    result = perf(tmp_path, 4, VIRTUAL, ["-b", "4M", "-e", "4M", "-t", "float", "-n", "1", "--compare"])
    assert_all_right_of_both(result)
    ina, ring = result.results()
    assert 0.97 * 1.5 < ring["time_us"] / ina["time_us"] <= 1.6, result
    # A host's link is never idle, except for the round trip of the last message.
    frames = ina["wire_bytes"] / (4096 + PACKET_BYTES)
    busy_us = (ina["wire_bytes"] + WIRE_BYTES * frames) * 8 / 100e3
    assert busy_us < ina["time_us"] < 1.005 * busy_us + 5, (busy_us, result)
    assert result.stats["virtual_time"]["rtl_clock_hz"] == 250_000_000
    assert result.aggregator["duplicates_answered"] == 0, result


def test_a_link_inside_a_machine(tmp_path):
    """Two machines of four ranks at 10 Gb/s. The leader reads the others' elements, and they read its sums; in parallel, each
    reads three quarters of both. There is one step, so nothing overlaps, not even with the 100 Gb/s between the machines."""
    size = 1 << 20
    result = run(tmp_path, 2, [*VIRTUAL, "--ranks-per-host", "4", "--aggregator", "model"],
                 ["env", "INA_INTRA_GBPS=10", PERF, "-b", size, "-e", size, "-n", "2", "--schedules",
                  "--json", tmp_path / "perf.json"])
    assert result.code == 0, result
    row, = json.loads((tmp_path / "perf.json").read_text())["rows"]
    for schedule, read in (("leader", 3 + 1), ("parallel", 2 * 3 / 4)):
        measured = row["schedules"][schedule]
        assert measured["wrong"] == 0, result
        expected_us = read * size * 8 / 10e3 + size * 8 / 100e3
        assert expected_us < measured["time_us"] < 1.005 * expected_us + 10, (schedule, expected_us, measured)


def test_a_small_one(tmp_path):
    """8 bytes: two links, the switch, the RTL's clocks, and at most 1 us for hosts and library."""
    result = perf(tmp_path, 4, [*VIRTUAL, "--link-delay", "2us"], ["-b", "8", "-e", "8", "-t", "float", "-n", "20"])
    assert_all_right(result, "ina")
    frame_us = (32 + 16 + 16 + PACKET_BYTES + WIRE_BYTES) * 8e-5
    network_us = 2 * (frame_us + 2) + 0.3 + 44 / 250
    assert network_us - 0.1 < result.results()[0]["time_us"] < network_us + 1, (network_us, result)


def test_progress(tmp_path):
    """The percentage of the work appears next to the time, and reaches 100 at the end."""
    result = run(tmp_path, 4, VIRTUAL, ["sh", "-c", f"{PERF} -b 16M -e 16M -t float -n 2 && [ $INA_RANK != 0 ] || cat $INA_PROGRESS"])
    assert result.code == 0, result
    assert "[0] 100%" in result.out.splitlines(), result
    assert re.search(r"virtual time [0-9.]+ s, [0-9]+ frames, *[0-9]+% of the work done", result.err), result


def test_rping(tmp_path):
    """librdmacm's connections, messages, reads and writes, with the unchanged program."""
    result = run(tmp_path, 2, [*VIRTUAL, "--aggregator", "off"],
                 ["sh", "-c", "[ $INA_RANK = 0 ] && exec rping -s -a $INA_BIND -C 5 -v; sleep 1; exec rping -c -a $INA_ROOT -C 5 -v"])
    assert result.code == 0, result
    assert result.out.count("ping data: ") == 10, result


def assert_all_right_of_both(result):
    assert result.code == 0, result
    assert result.wrong() == 0, result
    assert result.algorithms() == {"ina", "ring"}, result


@pytest.mark.skipif(not may_fix_addresses(), reason="this machine forbids personality(2): runs may differ (lab/README.md)")
def test_the_same_again(tmp_path):
    """The same seed gives the same output, counters and capture to the last byte; another seed gives others."""
    options = [*VIRTUAL, "--loss-up", "0.002", "--loss-down", "0.002", "--duplicate", "0.002", "--reorder", "0.002"]
    seen = {}
    for name, seed in {"first": 5, "again": 5, "other": 6}.items():
        folder = tmp_path / name
        folder.mkdir()
        capture = folder / "capture.pcap"
        result = run(folder, 3, [*options, "--seed", seed, "--pcap", capture],
                     [PERF, "-b", "8", "-e", "512K", "-f", "64", "-t", "float", "-n", "2", "-c", "1", "--compare"])
        assert result.code == 0, result
        del result.stats["capture"]["file"]
        seen[name] = (by_rank(result.out), json.dumps(result.stats), capture.read_bytes())
    assert seen["first"][0] == seen["again"][0]
    assert seen["first"][1] == seen["again"][1]
    assert seen["first"][2] == seen["again"][2]
    assert seen["first"][2] != seen["other"][2]


def test_replay(tmp_path):
    """The capture has all that the switch received. ina-bridge makes the same of it again, to the last byte, by the RTL's clock."""
    capture, again = tmp_path / "capture.pcap", tmp_path / "again.pcap"
    result = perf(tmp_path, 3, [*VIRTUAL, "--pcap", capture], ["-b", "8", "-e", "1M", "-f", "32", "-t", "float", "-n", "2", "--compare"])
    assert_all_right_of_both(result)
    subprocess.run([BRIDGE, "replay", capture, again, "--switch-delay", "300ns", "--link-rate", "100G"], timeout=60, check=True)
    assert again.read_bytes() == capture.read_bytes()


def test_a_late_rank_costs_no_time_of_ours(tmp_path):
    """Rank 1 is an hour late: ping reports it after seconds of real time."""
    result = run(tmp_path, 2, [*VIRTUAL, "--aggregator", "off", "--delay-rank", "1:3600"],
                 ["sh", "-c", "cut -d. -f1 /proc/uptime"])
    assert result.code == 0, result
    up = [int(line.split()[1]) for line in sorted(result.out.splitlines())]
    assert 3600 <= up[1] - up[0] <= 3601, result


def test_host_costs(tmp_path):
    """A host takes 2 us for each packet: data out and in, ACK in and out, on both hosts in turn."""
    plain = pingpong(tmp_path, [], "-s 64 -n 1000")[0]
    dear = pingpong(tmp_path, ["--host-packet-cost", "2000"], "-s 64 -n 1000")[0]
    # On the way: sent and received, twice; the ACK leaves before the answer, once on each host.
    assert 8 <= dear - plain <= 17, (plain, dear)


def test_a_killed_host(tmp_path):
    result = perf(tmp_path, 3, [*VIRTUAL, "--kill", "2:5ms"], ["-b", "4M", "-e", "4M", "-t", "float", "-n", "20"])
    assert result.code not in (0, 124), result
    assert "INA_ERR_" in result.err, result
    assert result.stats["ports"][2]["dropped_closed"] > 0, result


def test_a_cable_that_is_mended(tmp_path):
    """The cable is cut for 30 ms during the run: retransmissions deliver everything."""
    result = perf(tmp_path, 3, [*VIRTUAL, "--cut", "1:2ms:32ms"], ["-b", "4M", "-e", "4M", "-t", "float", "-n", "5"])
    assert_all_right(result, "ina")
    assert result.stats["ports"][1]["dropped_closed"] > 0, result


def test_an_aggregator_that_is_reset(tmp_path):
    """Reset twice during the run: the packets in the aggregator are lost, the ring takes over, and every sum is right."""
    result = perf(tmp_path, 3, [*VIRTUAL, "--aggregator", "model", "--reset-at", "4ms", "--reset-at", "12ms"],
                  ["-b", "4M", "-e", "4M", "-t", "float", "-n", "20"])
    assert result.code == 0, result
    assert result.wrong() == 0, result
    assert result.stats["engine_resets"] == 2, result
    assert result.count("fallbacks") == 1, result  # at the second reset the job has not returned yet


def test_an_aggregator_that_is_idle(tmp_path):
    """Each end of the time-to-live keeps the RTL busy for a few clocks. 250,000 of them make more than the million clocks after
    which an RTL that is busy without an end counts as stuck."""
    result = run(tmp_path, 2, [*VIRTUAL, "--aggregator", "rtl", "--job-ttl", "0.001"], ["sleep", "250"])
    assert result.code == 0, result


def test_a_host_that_spins_is_named(tmp_path):
    command = "ibv_rc_pingpong -g 1 -n 5"  # without -e
    result = run(tmp_path, 2, [*VIRTUAL, "--aggregator", "off"],
                 ["sh", "-c", f"[ $INA_RANK = 0 ] && exec {command}; sleep 1; exec {command} $INA_ROOT"])
    assert result.code == 125, result
    assert re.search(r"host \d has computed for \d+ s of real time .* completion channels", result.err), result
    assert re.search(r"host \d is busy with \S*ibv_rc_pingpong", result.err), result


@pytest.mark.parametrize("options, complaint", [
    (["--virtual-time", "--link-rate", "fast"], "--link-rate takes a number"),
    (["--virtual-time", "--link-delay", "5"], "--link-delay takes TIME"),
    (["--virtual-time", "--kill", "1"], "--kill takes HOST:TIME"),
    (["--virtual-time", "--reset-at", "1:2ms"], "--reset-at takes TIME"),
    (["--reset-at", "1ms"], "--reset-at requires --virtual-time"),
    (["--link-rate", "10G"], "--link-rate requires --virtual-time"),
])
def test_wrong_options(tmp_path, options, complaint):
    result = run(tmp_path, 2, options, ["true"])
    assert result.code == 2, result
    assert complaint in result.err, result
