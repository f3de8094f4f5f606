# SPDX-License-Identifier: Apache-2.0
"""Steering, and jobs through the aggregator, which is the model or the Verilated RTL; tests/protocol has its rules."""
import random
import struct

import pytest

from roce import (ACK, DATA, FLOAT32, INT32, JOIN, LEAVE, SEND_ONLY, WRITE_ONLY, icrc, message, packet,
                  payload_of, plain, psn_of, segments, trailer_of)

KINDS = ["model", "rtl"]
FIRST_PSN = 0xFFFFF0


def introduce(bridge, ranks):
    for rank in range(ranks):
        bridge.send(rank, plain(rank, 99))
    for rank in range(ranks):
        for _ in range(ranks - 1):
            bridge.receive(rank)


class Job:
    """Sends messages of all ranks, and takes the sums, packet by packet."""

    def __init__(self, bridge, ranks):
        self.bridge, self.ranks = bridge, ranks
        self.number = 0
        self.psn = FIRST_PSN
        introduce(bridge, ranks)

    def exchange(self, kind, elements=None, number_type=0, mtu=1024):
        """Sends `elements[rank]`; returns the elements and the trailer that each rank received."""
        elements = elements or [b""] * self.ranks
        cut = [segments(message(rank, self.ranks, kind, self.number, elements[rank], number_type), mtu)
               for rank in range(self.ranks)]
        received = [b""] * self.ranks
        for pieces in zip(*cut):
            for rank, (opcode, payload) in enumerate(pieces):
                self.bridge.send(rank, packet(rank, (rank + 1) % self.ranks, self.psn, payload, opcode))
            for rank in range(self.ranks):
                frame = self.bridge.receive(rank)
                assert psn_of(frame) == self.psn & 0xFFFFFF
                assert frame[-4:] == icrc(frame)
                assert frame[6:12] == bytes([2, 0, 0, 0, 0, (rank - 1) % self.ranks + 1])
                received[rank] += payload_of(frame)
            self.psn += 1
        self.number += 1
        return [(whole[32:32 + len(elements[0])], trailer_of(whole)) for whole in received]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_sums(start, rng, kind, ranks):
    bridge = start(ranks, "--aggregator", kind)
    job = Job(bridge, ranks)
    packets = 2
    for _, trailer in job.exchange(JOIN):
        assert trailer == (ranks, 0, 0, ranks - 1)
    for mtu, count in ((1024, 1), (1024, 700), (4096, 3000), (256, 45)):
        numbers = [[rng.randrange(-2**28, 2**28) for _ in range(count)] for _ in range(ranks)]
        elements = [struct.pack(f"<{count}i", *row) for row in numbers]
        packets += -(-(48 + -(-count * 4 // 16) * 16) // mtu)
        want = struct.pack(f"<{count}i", *(sum(column) for column in zip(*numbers)))
        for got, trailer in job.exchange(DATA, elements, INT32, mtu):
            assert got == want
            assert trailer == (ranks, 0, job.number - 1, ranks - 1)
    # Small integers, whose sums are exact in any order.
    numbers = [[float(rng.randrange(-9999, 9999)) for _ in range(100)] for _ in range(ranks)]
    want = struct.pack("<100f", *(sum(column) for column in zip(*numbers)))
    packets += 1
    for got, _ in job.exchange(DATA, [struct.pack("<100f", *row) for row in numbers], FLOAT32):
        assert got == want
    job.exchange(LEAVE)
    stats = bridge.end()
    counts = stats["aggregator"]
    assert counts["kind"] == kind and counts["ports"] >= ranks
    assert counts["packets_joined"] == counts["packets_taken"] == packets * ranks
    assert counts["frames_in"] == stats["steered_frames"] == packets * ranks
    assert counts["jobs_opened"] == counts["jobs_closed"] == 1
    assert ("rtl_clocks" in stats) == (kind == "rtl")


def test_same_frames_from_both(start, rng):
    """Lost, doubled and damaged packets, one at a time: model and RTL send and count the same."""
    seed = rng.randrange(2**32)

    def run(kind):
        faults = random.Random(seed)
        bridge = start(3, "--aggregator", kind)
        introduce(bridge, 3)
        out = [[], [], []]
        for turn in range(75):
            psn, rank = divmod(turn, 3)
            elements = bytes([rank, psn] * 40) if psn else b""
            frame = packet(rank, (rank + 1) % 3, psn, message(rank, 3, DATA if psn else JOIN, psn,
                                                              elements, INT32 if psn else 0))
            fate = faults.random()
            if psn and fate < 0.1:
                continue
            if psn and fate < 0.2:
                at = faults.randrange(54, len(frame))
                frame = frame[:at] + bytes([frame[at] ^ 8]) + frame[at + 1:]
            for _ in range(2 if fate > 0.9 else 1):
                bridge.send(rank, frame)
            for port, frames in enumerate(bridge.settle()):
                out[port] += frames
        counts = bridge.end()["aggregator"]
        return out, {name: count for name, count in counts.items() if name not in ("kind", "ports")}

    assert run("rtl") == run("model")


@pytest.mark.parametrize("form", [{}, {"vlan": 7}, {"ipv6": True}, {"ipv6": True, "vlan": 7}])
def test_steering(start, form):
    bridge = start(2)
    introduce(bridge, 2)
    bridge.send(0, packet(0, 1, 1, bytes(64), **form))
    bridge.send(0, packet(0, 1, 1, bytes(64), tos=0xAF, **form))  # ECN does not matter
    bridge.send(0, packet(0, 1, 1, bytes(64), tos=0, **form))
    bridge.send(0, packet(0, 1, 1, bytes(4), ACK, **form))
    bridge.send(0, packet(0, 1, 1, bytes(64), WRITE_ONLY, **form))
    for _ in range(5):
        bridge.receive(1)
    stats = bridge.end()
    assert stats["steered_frames"] == stats["aggregator"]["frames_passed"] == 2


def test_steering_all(start):
    bridge = start(2, "--steer", "all")
    introduce(bridge, 2)
    bridge.send(0, packet(0, 1, 1, bytes(64), tos=0))
    bridge.send(0, packet(0, 1, 1, bytes(4), ACK))
    bridge.send(0, packet(0, 1, 1, bytes(64), WRITE_ONLY))
    for _ in range(3):
        bridge.receive(1)
    assert bridge.end()["steered_frames"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_one_connection(start, kind):
    """SENDs that are steered, and WRITEs that are not, stay in order."""
    bridge = start(2, "--aggregator", kind, "--steer", "all")
    introduce(bridge, 2)
    for psn in range(200):
        opcode = WRITE_ONLY if psn % 3 == 2 else SEND_ONLY
        bridge.send(0, packet(0, 1, psn, bytes(1024), opcode))
    assert [psn_of(bridge.receive(1)) for _ in range(200)] == list(range(200))
    bridge.end()


@pytest.mark.parametrize("kind", KINDS)
def test_no_time_to_live(start, kind):
    bridge = start(2, "--aggregator", kind, "--job-ttl", "0")
    job = Job(bridge, 2)
    job.exchange(JOIN)
    bridge.settle()  # the switch has read its clock several times
    assert [trailer[0] for _, trailer in job.exchange(DATA, [bytes(16)] * 2, INT32)] == [2, 2]
    assert bridge.end()["aggregator"]["jobs_expired"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_quiet_time(start, kind):
    """At the start, as after a reset: marked SENDs are dropped, and all other frames pass."""
    bridge = start(2, "--aggregator", kind, "--quiet", "1000000")
    introduce(bridge, 2)
    join = packet(0, 1, 0, message(0, 2, JOIN, 0))
    other = packet(0, 1, 1, bytes(64), tos=0)
    for frame in (join, other, join, other):
        bridge.send(0, frame)
    assert [bridge.receive(1) for _ in range(2)] == [other, other]
    counts = bridge.end()["aggregator"]
    assert counts["quiet_dropped"] == counts["frames_in"] == 2


def test_off(start):
    bridge = start(2, "--aggregator", "off")
    introduce(bridge, 2)
    join = packet(0, 1, 0, message(0, 2, JOIN, 0))
    bridge.send(0, join)
    assert bridge.receive(1) == join
    assert bridge.end()["steered_frames"] == 0
