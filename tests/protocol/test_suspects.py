# SPDX-License-Identifier: Apache-2.0
"""Suspects; a flow that is put out; a flow that is known at another port."""
import time

import pytest

from flows import SLOTS, Flow, Job, check_raw, quiet, wait_until_it_passes
from roce import ACK, DATA, JOIN, LEAVE, SEND_LAST_IMMEDIATE, SEND_ONLY, SEND_ONLY_IMMEDIATE, mac, packet, payload_of, trailer_of

ELEMENTS = bytes(range(16))
OTHER = 0xABCDEF0123456789
FAR = [SLOTS, SLOTS + 1, 1 << 22, (1 << 23) - 1, -2 * SLOTS - 1, -(1 << 22), -(1 << 23)]


def suspects(flow):
    """Some of each kind."""
    yield flow.packet(ELEMENTS, 0, SEND_ONLY_IMMEDIATE)
    yield flow.packet(ELEMENTS[:12])
    yield flow.packet(flow.message(JOIN, job=OTHER, number=0))
    for d in FAR:
        yield flow.packet(flow.message(DATA, ELEMENTS, number=1), d)


@pytest.mark.parametrize("opcode,size", [(SEND_ONLY_IMMEDIATE, 52), (SEND_LAST_IMMEDIATE, 52), (SEND_ONLY, 44),
                                         (SEND_ONLY, 1), (SEND_ONLY, 0), (SEND_ONLY, 4112)])
def test_requests_of_another_kind_in_its_place_do_not_break_a_job(two, opcode, size):
    job = Job(two, 2).join()
    flow = job.flows[0]
    for _ in range(3):
        assert flow.put(flow.packet(bytes(size), 0, opcode)) == []
    assert job.is_summed()


def test_the_limits_of_a_window_are_no_suspects(two):
    job = Job(two, 2).join()
    for d in (SLOTS - 1, -2 * SLOTS):
        assert len(job.flows[0].put(job.flows[0].packet(ELEMENTS * 3, d))) == 1
    assert two.end()["aggregator"]["suspects_dropped"] == 0


def put_out(flow, frame):
    """Sends a suspect until it passes: its flow is not known any more. Returns how many were dropped."""
    return wait_until_it_passes(flow.bridge, flow.port, frame)


def test_what_waits_goes_on_raw_when_a_flow_is_put_out(two):
    job = Job(two, 2).join()
    flow, other = job.flows
    sent = [other.say(DATA, ELEMENTS) for _ in range(3)]
    two.settle()
    frame = flow.packet(ELEMENTS * 3, SLOTS)
    raw = []
    while True:
        two.send(flow.port, frame)
        got = two.settle()
        raw += got[other.to]
        if got[flow.to]:
            break
        time.sleep(0.002)
        assert len(raw) <= 3
    check_raw(raw, sent)
    frame = other.say(DATA, ELEMENTS)
    check_raw(two.settle()[other.to], [frame])


def at_another_port(frame, port):
    """As a router there would bring it: the Ethernet source is its own."""
    return frame[:6] + mac(port) + frame[12:]


def test_another_key_at_another_port_passes(start):
    bridge = start(3)
    flow = Job(bridge, 2).join().flows[0]
    for change in ({"qpn": 0x12}, {"vlan": 1}):
        frame = at_another_port(flow.packet(bytes(48), **change), 2)
        bridge.send(2, frame)
        assert bridge.settle()[1] == [frame]
    answer = at_another_port(flow.packet(bytes(4), 0, ACK), 2)
    bridge.send(2, answer)
    assert bridge.settle()[1] == [answer]


def test_a_host_that_has_moved_is_heard_with_its_next_connection(start):
    bridge = start(3)
    old = Job(bridge, 2).join()
    join = packet(0, 1, 7, old.flows[0].message(JOIN, job=OTHER, number=0), qpn=0x12, source_mac=mac(2))
    old.flows[0].number = 1
    bridge.send(2, join)
    bridge.settle()
    other = Flow(bridge, 1, 0, 1, 2, OTHER, 0x12)
    other.say(JOIN)
    assert [trailer_of(payload_of(frames[0]))[0] for frames in bridge.settle() if frames] == [2, 2]
    assert old.is_summed()
