# SPDX-License-Identifier: Apache-2.0
"""Connections and jobs as their hosts would run them, and checks of each packet against docs/protocol.md."""
import time

from bridge import PATIENCE_S
from roce import (DATA, INT32, JOB, JOIN, LEAVE, PROBE_PSN_OFFSET, SEND_ONLY, asks_for_ack, headers_of, icrc,
                  layout, message, packet, payload_of, plain, psn_of, traffic_class_of, trailer_of)

# The aggregator's room: contexts; the packets of a queue and of a history, which all jobs share; and the largest and smallest
# number of them that a job gets.
CONTEXTS = 16
MEMORY = 512
SLOTS = 128
LEAST = 8
FIRST_PSN = 0xFFFFF0  # so that PSNs wrap


def wake(bridge):
    """Lets the switch learn where the hosts are, and waits for the end of a quiet time."""
    for port in range(len(bridge.hosts)):
        bridge.send(port, plain(port, 99))
    bridge.settle()
    bridge.awake_frames = 1 + wait_until_it_passes(bridge, 0, packet(0, 1, 0, bytes(16), qpn=0xABCDE))


def wait_until_it_passes(bridge, port, frame, pause_s=0.002):
    """Sends the frame again and again until it comes out unchanged. Returns how often it did not."""
    end = time.monotonic() + PATIENCE_S
    tries = 0
    while True:
        bridge.send(port, frame)
        if any(frame in got for got in bridge.settle()):
            return tries
        tries += 1
        assert time.monotonic() < end, "it never passes"
        time.sleep(pause_s)


def quiet(seconds):
    """The option of ina-bridge for a quiet time."""
    return ["--quiet", str(round(1000 * seconds))]


def patience(seconds):
    """The option of ina-bridge for the silence after which a flow can be evicted."""
    return ["--patience", str(round(1000 * seconds))]


class Flow:
    """An aggregated connection from the host at `port` to the host at port `to`."""

    def __init__(self, bridge, port, to, rank=0, ranks=2, job=JOB, qpn=0x11, psn=FIRST_PSN, **form):
        self.bridge, self.port, self.to = bridge, port, to
        self.rank, self.ranks, self.job = rank, ranks, job
        self.qpn, self.next_psn, self.form = qpn, psn, form
        self.number = 0

    def message(self, kind, elements=b"", **fields):
        """The next message; `fields` are those of roce.message()."""
        fields = {"job": self.job, "number_type": INT32 if kind == DATA else 0, **fields}
        ranks, number = fields.pop("ranks", self.ranks), fields.pop("number", self.number)
        self.number += 1
        return message(self.rank, ranks, kind, number, elements, **fields)

    def packet(self, payload, d=0, opcode=SEND_ONLY, **more):
        """A packet with a PSN at distance `d` from the next one."""
        return packet(self.port, self.to, self.next_psn + d, payload, opcode,
                      **{"qpn": self.qpn, **self.form, **more})

    def put(self, frame, port=None):
        """Sends the frame and waits. Returns the frames that came to the connection's destination."""
        self.bridge.send(self.port if port is None else port, frame)
        return self.bridge.settle()[self.to]

    def go_on(self, payload, opcode=SEND_ONLY, **more):
        """Sends the next packet and does not wait. Returns the packet."""
        frame = self.packet(payload, 0, opcode, **more)
        self.bridge.send(self.port, frame)
        self.next_psn += 1
        return frame

    def say(self, kind, elements=b"", **fields):
        """Sends the next message, of one packet, and does not wait."""
        return self.go_on(self.message(kind, elements, **fields))


class Job:
    """All ranks: rank i is at port i and sends to the port of rank i + 1; the last rank sends to the first."""

    def __init__(self, bridge, ranks, ports=None, job=JOB, qpn=0x11, forms=None):
        ports = ports or list(range(ranks))
        following = ports[1:] + ports[:1] if ranks > 1 else [(ports[0] + 1) % len(bridge.hosts)]
        self.bridge = bridge
        self.flows = [Flow(bridge, port, to, rank, ranks, job, qpn, FIRST_PSN + 1000 * rank,
                           **(forms[rank] if forms else {}))
                      for rank, (port, to) in enumerate(zip(ports, following))]

    def put(self, payloads, opcode=SEND_ONLY, **more):
        """Sends a packet of each rank. Returns the frames that were sent and those that came, one for each rank, by sender."""
        sent = [flow.go_on(payload, opcode, **more) for flow, payload in zip(self.flows, payloads)]
        got = self.bridge.settle()
        for flow in self.flows:
            assert len(got[flow.to]) == 1, f"rank {flow.rank}: {len(got[flow.to])} frames"
        return sent, [got[flow.to][0] for flow in self.flows]

    def say(self, kind, elements=None, **fields):
        """Sends a message of each rank, in one packet, which is summed. Returns the sum."""
        elements = elements or [b""] * len(self.flows)
        sent, got = self.put([flow.message(kind, own, **fields) for flow, own in zip(self.flows, elements)])
        for frame, made_of in zip(got, sent):
            check_made(frame, made_of)
            assert trailer_of(payload_of(frame))[0] == len(self.flows), "no sum"
        assert len({payload_of(frame) for frame in got}) == 1
        return payload_of(got[0])

    def join(self, **fields):
        self.say(JOIN, **fields)
        return self

    def is_summed(self):
        """Returns whether another message becomes a sum or stays raw packets. For two ranks or more."""
        sent, got = self.put([flow.message(DATA, bytes([flow.rank + 1] * 16)) for flow in self.flows])
        if [payload_of(frame) for frame in got] == [payload_of(frame) for frame in sent]:
            return False
        want = bytes([sum(range(1, len(self.flows) + 1))] * 16)
        for frame, made_of in zip(got, sent):
            check_made(frame, made_of)
            payload = payload_of(frame)
            assert payload[32:-16] == want and trailer_of(payload)[0] == len(self.flows)
        return True

    def leave(self):
        self.say(LEAVE)


def check_made(frame, sent, psn_offset=0):
    """Checks that it has the headers of the sent frame, except the marks that an aggregator sets, and a right iCRC."""
    assert psn_of(frame) == psn_of(sent) + psn_offset & 0xFFFFFF
    assert frame[-4:] == icrc(frame)
    assert len(frame) == len(sent)
    ip, bth, ipv6 = layout(frame)
    assert frame[bth - 2:bth] == b"\0\0"  # UDP checksum
    may_differ = {bth - 2, bth - 1, bth + 8, bth + 9, bth + 10, bth + 11}
    may_differ |= {ip + 1} if ipv6 else {ip + 1, ip + 10, ip + 11}
    for at in set(range(bth + 12)) - may_differ:
        assert frame[at] == sent[at], f"header byte {at}"
    assert traffic_class_of(frame) >> 2 == traffic_class_of(sent) >> 2


def check_raw(got, sent):
    """Checks that it was passed with its own payload."""
    assert [payload_of(frame) for frame in got] == [payload_of(frame) for frame in sent]
    for frame, made_of in zip(got, sent):
        check_made(frame, made_of)


def check_probe(got, sent):
    """Checks that a probe came in its place: the same headers, a PSN that cannot be accepted, and zeros."""
    assert len(got) == 1, f"{len(got)} frames in place of a probe"
    assert got[0] != sent, "passed, where a probe goes in its place"
    check_made(got[0], sent, PROBE_PSN_OFFSET)
    assert payload_of(got[0]) == bytes(len(payload_of(sent)))
    assert asks_for_ack(got[0]) == asks_for_ack(sent)
    assert headers_of(got[0])[:14] == headers_of(sent)[:14]
