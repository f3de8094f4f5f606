# SPDX-License-Identifier: Apache-2.0
"""A UDP source port that changes within a flow. A NIC may choose a new one for each packet, to spread a connection over several
paths (RoCEv2, Annex A17: entropy). No flow's key contains it (docs/protocol.md, A connection's life), so sums continue.
"""
import struct

import pytest

from roce import DATA, INT32, JOIN, LEAVE, icrc, layout, message, packet, payload_of, plain, trailer_of

RANKS = 3


def from_port(frame, port):
    """The same frame with another UDP source port, and the matching iCRC."""
    at = layout(frame)[1] - 8
    frame = frame[:at] + struct.pack("!H", port) + frame[at + 2:]
    return frame[:-4] + icrc(frame)


def source_port(frame):
    return int.from_bytes(frame[layout(frame)[1] - 8:][:2], "big")


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_sums_go_on(start, rng, kind, ipv6):
    bridge = start(RANKS, "--aggregator", kind)
    for rank in range(RANKS):
        bridge.send(rank, plain(rank, 99))
    for rank in range(RANKS):
        for _ in range(RANKS - 1):
            bridge.receive(rank)

    ports = [0, 65535, *(rng.randrange(65536) for _ in range(2, RANKS))]

    def exchange(psn, kind, elements):
        """The payload that each rank receives. Each connection has a different source port, which is in its flow's key."""
        for rank, port in enumerate(ports):
            whole = message(rank, RANKS, kind, psn, elements[rank], INT32 if kind == DATA else 0)
            bridge.send(rank, from_port(packet(rank, (rank + 1) % RANKS, psn, whole, ipv6=ipv6), port))
        received = []
        for rank in range(RANKS):
            frame = bridge.receive(rank)
            # It leaves with the header that it came with.
            assert source_port(frame) == ports[(rank - 1) % RANKS] and frame[-4:] == icrc(frame)
            received.append(payload_of(frame))
        return received

    none = [b""] * RANKS
    for payload in exchange(0, JOIN, none):
        assert trailer_of(payload)[0] == RANKS
    for psn in range(1, 20):
        numbers = [[rng.randrange(-2**28, 2**28) for _ in range(12)] for _ in range(RANKS)]
        for payload in exchange(psn, DATA, [struct.pack("<12i", *row) for row in numbers]):
            assert payload[32:80] == struct.pack("<12i", *(sum(column) for column in zip(*numbers)))
            assert trailer_of(payload)[0] == RANKS
    exchange(20, LEAVE, none)
    counts = bridge.end()["aggregator"]
    assert counts["packets_joined"] == 21 * RANKS
    assert counts["jobs_opened"] == counts["jobs_closed"] == 1 and counts["jobs_broken"] == 0
