# SPDX-License-Identifier: Apache-2.0
"""Each fault's rate, kind and side; the same seed gives the same faults, whatever else happens. test_cable_direction.c tests the times."""
import time

import pytest

from bridge import spared_marker
from roce import ACK, SEND_MIDDLE, packet, plain, psn_of

COUNT = 3000


def introduce(bridge):
    """Both ports learn where the other one's host is."""
    bridge.send(0, plain(0, 1))
    bridge.receive(1)
    bridge.send(1, plain(1, 0))
    bridge.receive(0)


def let_go(bridge):
    """Waits for all frames that are still under way: each side holds a frame back for at most 1 ms, by the clock that the test
    uses too."""
    frames = bridge.settle(spared_marker)
    for _ in ("up", "down"):
        time.sleep(0.001)
        frames = [had + got for had, got in zip(frames, bridge.settle(spared_marker))]
    return frames


def traffic(bridge, count=COUNT, between=None):
    """Sends `count` numbered packets from port 0 to port 1; returns those that come, in order."""
    got = []
    for psn in range(count):
        bridge.send(0, packet(0, 1, psn, psn.to_bytes(4, "big") * 8, SEND_MIDDLE))
        if between:
            between(psn)
        if psn % 200 == 199:
            got += bridge.settle(spared_marker)[1]
    return got + let_go(bridge)[1]


def spread(probability):
    """Five standard deviations of a count of COUNT."""
    return 5 * (COUNT * probability * (1 - probability)) ** 0.5


@pytest.mark.parametrize("option,side,port", [("--loss-up", "up", 0), ("--loss-down", "down", 1)])
def test_loss(start, option, side, port):
    bridge = start(2, option, 0.1, "--seed", 7)
    introduce(bridge)
    got = traffic(bridge)
    stats = bridge.end()
    lost = stats["ports"][port]["faults"][side]["lost"]
    assert len(got) == COUNT - lost
    assert abs(lost - 0.1 * COUNT) < spread(0.1)
    others = [stats["ports"][p]["faults"][s]["lost"] for p in (0, 1) for s in ("up", "down")]
    assert sum(others) == lost
    assert [psn_of(frame) for frame in got] == sorted(psn_of(frame) for frame in got)


def test_duplicates(start):
    bridge = start(2, "--duplicate", 0.1)
    introduce(bridge)
    got = traffic(bridge)
    stats = bridge.end()
    up = stats["ports"][0]["faults"]["up"]["duplicated"]
    down = stats["ports"][1]["faults"]["down"]["duplicated"]
    assert len(got) == COUNT + up + down
    assert abs(up - 0.1 * COUNT) < spread(0.1)
    assert abs(down - 0.1 * COUNT) < spread(0.1) * 1.1
    assert {psn_of(frame) for frame in got} == set(range(COUNT))


def test_reordering(start):
    bridge = start(2, "--reorder", 0.05)
    introduce(bridge)
    got = [psn_of(frame) for frame in traffic(bridge)]
    stats = bridge.end()
    reordered = stats["ports"][0]["faults"]["up"]["reordered"]
    assert abs(reordered - 0.05 * COUNT) < spread(0.05)
    assert sorted(got) == list(range(COUNT))
    assert got != sorted(got)
    # Two sides, with two frames that overtake on each, and some that were reordered themselves.
    assert max(place - psn for place, psn in enumerate(got)) <= 16


def test_a_reordered_frame_goes_on_alone(start):
    """No frame overtakes it: it leaves after 1 ms on each side, and does not wait forever."""
    bridge = start(2, "--reorder", 1)
    introduce(bridge)
    begin = time.monotonic()
    bridge.send(0, packet(0, 1, 5, bytes(16)))
    assert psn_of(bridge.receive(1)) == 5
    assert time.monotonic() - begin >= 0.002
    bridge.end()


def test_corruption(start):
    bridge = start(2, "--corrupt", 0.1)
    introduce(bridge)
    got = traffic(bridge)
    stats = bridge.end()
    assert len(got) == COUNT
    flips = [0, 0, 0]
    for psn, frame in enumerate(got):
        sent = packet(0, 1, psn, psn.to_bytes(4, "big") * 8, SEND_MIDDLE)
        changed = int.from_bytes(sent, "big") ^ int.from_bytes(frame, "big")
        assert frame[:14] == sent[:14]
        flips[min(bin(changed).count("1"), 2)] += 1
    up = stats["ports"][0]["faults"]["up"]["corrupted"]
    down = stats["ports"][1]["faults"]["down"]["corrupted"]
    assert abs(up - 0.1 * COUNT) < spread(0.1)
    # A flipped bit on the up side may turn it into a packet that is no RC packet, which is not counted on the down side.
    assert flips[1] + 2 * flips[2] == pytest.approx(up + down, abs=2)


def test_what_is_not_rc_is_spared(start):
    bridge = start(2, "--loss-up", 1, "--loss-down", 1, "--corrupt", 1)
    introduce(bridge)
    datagram = packet(0, 1, 1, bytes(32), opcode=0x64)  # UD SEND Only
    bridge.send(0, datagram)
    assert bridge.receive(1) == datagram
    bridge.send(0, packet(0, 1, 1, bytes(32)))
    bridge.send(0, packet(0, 1, 1, bytes(4), ACK))
    assert bridge.settle(spared_marker) == [[], []]
    assert bridge.end()["ports"][0]["faults"]["up"]["lost"] == 2


def test_seeds(start):
    options = ["--loss-up", 0.05, "--loss-down", 0.05, "--duplicate", 0.05, "--corrupt", 0.05]

    def run(seed, between=None):
        bridge = start(3, *options, "--seed", seed)
        introduce(bridge)
        got = traffic(bridge, 800, between and (lambda psn: between(bridge, psn)))
        bridge.end()
        return got

    def other_traffic(bridge, psn):
        if psn % 3 == 0:
            bridge.send(2, packet(2, 0, psn, bytes(64)))
            bridge.send(1, packet(1, 0, psn, bytes(4), ACK))

    first = run(3)
    assert run(3) == first
    assert run(3, other_traffic) == first
    assert run(4) != first


def lost_packets(start, port, side, *options):
    """Returns which of 400 packets the link of this port loses, to port 2 (up) or from it (down)."""
    bridge = start(3, "--loss-" + side, 0.1, *options)
    for host in range(3):
        bridge.send(host, plain(host, 9))
    for host in range(3):
        bridge.receive(host), bridge.receive(host)
    source, destination = (port, 2) if side == "up" else (2, port)
    for psn in range(400):
        bridge.send(source, packet(source, destination, psn, bytes(32), tos=0))
    got = {psn_of(frame) for frame in let_go(bridge)[destination]}
    bridge.end()
    return set(range(400)) - got


def test_each_link_has_a_stream_of_its_own(start):
    links = [lost_packets(start, port, side) for port in (0, 1) for side in ("up", "down")]
    assert all(links[i] != links[j] for i in range(4) for j in range(i))


def test_one_fault_does_not_shift_another(start):
    """The same packets are lost, whether others are doubled and held back or not."""
    shifted = lost_packets(start, 0, "up", "--duplicate", 0.3, "--reorder", 0.3)
    assert shifted == lost_packets(start, 0, "up")


def test_delay(start):
    bridge = start(2, "--delay", 50000)
    begin = time.monotonic()
    for i in range(20):
        bridge.send(0, plain(0, 1, bytes([i])))
    for i in range(20):
        assert bridge.receive(1)[14] == i
    assert time.monotonic() - begin >= 0.1
    bridge.end()
