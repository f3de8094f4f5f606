# SPDX-License-Identifier: Apache-2.0
"""Garbage, hosts that do not read, and wrong command lines."""
import socket
import subprocess
import time

import pytest

from bridge import BRIDGE, PATIENCE_S, spared_marker
from roce import DATA, INT32, JOIN, message, packet, plain


@pytest.mark.parametrize("kind,rounds", [("model", 6000), ("rtl", 800)])
def test_garbage(start, rng, kind, rounds):
    bridge = start(3, "--aggregator", kind, "--steer", "all", "--duplicate", 0.05, "--reorder", 0.05,
                   "--corrupt", 0.2)
    for rank in range(3):
        bridge.send(rank, packet(rank, (rank + 1) % 3, 0, message(rank, 3, JOIN, 0)))
    runts = giants = 0
    for turn in range(rounds):
        rank = rng.randrange(3)
        fate = rng.random()
        if fate < 0.3:
            frame = rng.randbytes(rng.choice([1, 13, 14, 15, 60, 1500, 9216, 9217, 9300]))
        else:
            frame = bytearray(packet(rank, (rank + 1) % 3, turn // 40,
                                     message(rank, 3, DATA, turn // 40, rng.randbytes(100), INT32),
                                     opcode=rng.choice([0, 1, 2, 3, 4, 4, 4, 5, 10, 17])))
            for _ in range(rng.randrange(3)):
                frame[rng.randrange(12, len(frame))] = rng.randrange(256)
            frame = bytes(frame[:rng.randrange(1, len(frame) + 1)] if fate > 0.9 else frame)
        runts += len(frame) < 14
        giants += len(frame) > 9216
        bridge.send(rank, frame)
        if turn % 50 == 0:
            bridge.settle(spared_marker)
    bridge.settle(spared_marker)
    frame = b"\xff" * 6 + plain(0, 1)[6:]
    bridge.send(0, frame)
    assert frame in bridge.settle(spared_marker)[2]
    stats = bridge.end()
    assert sum(port["dropped_runt"] for port in stats["ports"]) == runts
    assert sum(port["dropped_giant"] for port in stats["ports"]) == giants
    assert stats["aggregator"]["frames_in"] == stats["steered_frames"]


def test_empty_datagrams(start):
    bridge = start(2)
    for _ in range(100):
        bridge.send(0, b"")
    bridge.send(0, plain(0, 1))
    assert bridge.receive(1) == plain(0, 1)
    assert bridge.end()["ports"][0]["dropped_runt"] == 100


def test_a_host_that_does_not_read(start):
    """Only its own frames are lost, and it costs no processor time: the switch sleeps."""
    bridge = start(3, "--aggregator", "off")
    for port in range(3):
        bridge.send(port, plain(port, 9))
    for port in (0, 2):
        bridge.receive(port), bridge.receive(port)
    for i in range(6000):
        bridge.send(0, plain(0, 1, bytes(9000)))
        if i % 100 == 0:
            bridge.send(0, plain(0, 2, i.to_bytes(2, "big")))
            assert bridge.receive(2)[14:] == i.to_bytes(2, "big")
    end = time.monotonic() + PATIENCE_S
    while not all(sleeps(bridge.process.pid) for _ in range(50)):
        assert time.monotonic() < end, "it is always busy"
    # It reads again: the frames in its socket, and those that the switch's queue still has.
    received = [bridge.receive(1) for _ in range(1024)]
    received += bridge.settle()[1]
    to_it = bridge.end()["ports"][1]
    markers = 2 * bridge.turn
    assert to_it["dropped_queue_full"] > 1000
    assert to_it["tx_frames"] == len(received) + markers
    assert to_it["tx_frames"] + to_it["dropped_queue_full"] == 6002 + markers


def sleeps(pid):
    """Does the process wait, rather than run?"""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "S"


def run_with(arguments, sockets=2):
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(sockets)]
    ends = [end.fileno() for _, end in pairs]
    command = [BRIDGE] + [a.format(*ends) for a in arguments]
    done = subprocess.run(command, pass_fds=ends, capture_output=True, text=True, timeout=20)
    for pair in pairs:
        pair[0].close(), pair[1].close()
    return done


GOOD_PORTS = ["--port", "fd={0}", "--port", "fd={1}"]


@pytest.mark.parametrize("arguments,complaint", [
    ([], "two ports"),
    (["--port", "fd={0}"], "two ports"),
    (["--port", "fd={0}", "--port", "fd={0}"], "given twice"),
    (["--port", "fd=0", "--port", "fd={0}"], "descriptor 0"),
    (["--port", "fd=900"], "900 is not an open socket"),
    (["--port", "3"], "must be fd=N"),
    (["--port", "fd=-1"], "must be fd=N"),
    (GOOD_PORTS + ["--aggregator", "asic"], "takes one of rtl, model, off"),
    (GOOD_PORTS + ["--steer", "some"], "takes one of marked, all"),
    (GOOD_PORTS + ["--loss-up", "1.5"], "takes a number from 0 to 1"),
    (GOOD_PORTS + ["--loss-down", "-0.1"], "takes a number from 0 to 1"),
    (GOOD_PORTS + ["--corrupt", "nan"], "takes a number from 0 to 1"),
    (GOOD_PORTS + ["--delay", "1h"], "whole number"),
    (GOOD_PORTS + ["--reset-every", "0"], "whole number"),
    (GOOD_PORTS + ["--off-after", "soon"], "whole number"),
    (GOOD_PORTS + ["--stuck-after", "-1"], "whole number"),
    (GOOD_PORTS + ["--job-ttl", "soon"], "number of seconds"),
    (GOOD_PORTS + ["--job-ttl", "0.0001"], "number of seconds"),
    (GOOD_PORTS + ["--seed", "one"], "whole number"),
    (GOOD_PORTS + ["--pcap-limit", "0"], "whole number"),
    (GOOD_PORTS + ["--link-rate", "10"], "takes a number from 1e+06"),
    (GOOD_PORTS + ["--link-delay", "10"], "takes TIME: up to 1e+06 s"),
    (GOOD_PORTS + ["--kill", "256:1s"], "takes HOST:TIME: up to"),
    (GOOD_PORTS + ["--kill", "1:1s:2s"], "takes HOST:TIME: up to"),
    (GOOD_PORTS + ["--cut", "1:1s:2"], "takes HOST:TIME[:TIME]: up to"),
    (GOOD_PORTS + ["--start-delay", "1"], "--start-delay takes HOST:TIME"),
    (GOOD_PORTS + ["--frobnicate"], "unrecognized option"),
    (GOOD_PORTS + ["more"], "not an option"),
])
def test_wrong_command_lines(arguments, complaint):
    done = run_with(arguments)
    assert done.returncode == 2
    assert complaint in done.stderr.split("\n")[0]


def test_files_that_cannot_be_written():
    done = run_with(GOOD_PORTS + ["--aggregator", "off", "--pcap", "/nowhere/x.pcap"])
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "/nowhere/x.pcap" in done.stderr


def test_stats_that_cannot_be_written():
    done = run_with(GOOD_PORTS + ["--aggregator", "off", "--stats", "/nowhere/x.json"])
    assert done.returncode == 1
    assert "/nowhere/x.json" in done.stderr


def test_too_many_ports_for_the_rtl():
    ports = [part for i in range(17) for part in ("--port", "fd={%d}" % i)]
    done = run_with(ports + ["--aggregator", "rtl"], sockets=17)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "16 ports at most, not 17" in done.stderr


@pytest.mark.parametrize("arguments,complaint", [
    (["--check-hosts", "4"], ""),
    (["--check-hosts", "4", "--aggregator", "model", "--jobs", "5", "--packet-memory", "64", "--window", "64"], ""),
    (["--check-hosts", "17"], "16 ports at most, not 17"),
    (["--check-hosts", "1"], "--check-hosts takes a whole number from 2 to 256, not '1'"),
    (["--check-hosts", "2"] + GOOD_PORTS, "--check-hosts does not take --port"),
    (["--check-hosts", "4", "--start-delay", "4:1s"], "--start-delay names host 4, but the last of 4 hosts is 3"),
])
def test_checks_alone(arguments, complaint):
    done = run_with(arguments)
    assert done.returncode == (2 if complaint else 0)
    assert complaint in done.stderr.split("\n")[0] and bool(complaint) == bool(done.stderr)
