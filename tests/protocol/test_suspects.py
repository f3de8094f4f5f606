# SPDX-License-Identifier: Apache-2.0
"""Suspects; a flow that is evicted; a flow that is known at another port."""
import time

import pytest

from flows import SLOTS, Flow, Job, check_raw, patience, wait_until_it_passes
from roce import (ACK, DATA, JOIN, LEAVE, MARKED, SEND_FIRST, SEND_LAST, SEND_LAST_IMMEDIATE, SEND_MIDDLE, SEND_ONLY,
                  SEND_ONLY_IMMEDIATE, WRITE_ONLY, checksum, layout, mac, packet, payload_of, trailer_of, with_icrc)

ELEMENTS = bytes(range(16))
OTHER = 0xABCDEF0123456789
PATIENCE_S = 0.01
FAR = [SLOTS, SLOTS + 1, 1 << 22, (1 << 23) - 1, -2 * SLOTS - 2, -(1 << 22), -(1 << 23)]


def suspects(flow):
    """Some suspects of each kind."""
    yield flow.packet(ELEMENTS, 0, SEND_ONLY_IMMEDIATE)
    yield flow.packet(ELEMENTS[:12])
    yield flow.packet(flow.message(JOIN, job=OTHER, number=0))
    for d in FAR:
        yield flow.packet(flow.message(DATA, ELEMENTS, number=1), d)


def test_a_foreign_packet_does_not_break_a_job(two):
    """A foreign queue pair sends to the same QPN. After three suspects in a row, the flow continues."""
    job = Job(two, 2).join()
    for d in FAR:
        for flow in job.flows:
            frame = flow.packet(bytes(range(48)), d)
            assert flow.put(frame) == []
        assert job.is_summed()
    assert two.end()["aggregator"]["suspects_dropped"] == 2 * len(FAR)


SHAPES = [(SEND_ONLY_IMMEDIATE, 52), (SEND_ONLY_IMMEDIATE, 64), (SEND_LAST_IMMEDIATE, 52), (SEND_ONLY, 44), (SEND_ONLY, 68),
          (SEND_LAST, 20), (SEND_MIDDLE, 4), (SEND_ONLY, 1), (SEND_ONLY, 0), (SEND_ONLY, 4112)]


@pytest.mark.parametrize("d", [0, -1, -2, 1, 3, SLOTS, -2 * SLOTS - 2])
def test_requests_of_another_kind_are_dropped(two, d):
    """At any distance: a packet that waits, one that was summed, one past a gap. None reaches the receiver."""
    job = Job(two, 2).join()
    flow, other = job.flows
    flow.say(DATA, ELEMENTS)
    two.settle()
    for opcode, size in SHAPES:
        assert flow.put(flow.packet(bytes([0xEE]) * size, d, opcode)) == [], f"opcode {opcode}, {size} bytes"
    assert flow.put(flow.packet(bytes([0xEE]) * 64, d, SEND_MIDDLE, pad=2)) == [], "padded"
    other.say(DATA, ELEMENTS)
    assert [trailer_of(payload_of(got[0]))[0] for got in two.settle()] == [2, 2]
    assert job.is_summed()
    assert two.end()["aggregator"]["suspects_dropped"] == len(SHAPES) + 1


def with_lengths(frame, ip=0, udp=0):
    """The frame with other lengths in its headers, by these differences."""
    at, bth, ipv6 = layout(frame)
    for where, difference in ((at + (4 if ipv6 else 2), ip), (bth - 4, udp)):
        length = int.from_bytes(frame[where:where + 2], "big") + difference
        frame = frame[:where] + length.to_bytes(2, "big") + frame[where + 2:]
    if not ipv6:
        frame = frame[:at + 10] + checksum(frame[at:at + 10] + bytes(2) + frame[at + 12:at + 20]).to_bytes(2, "big") + frame[at + 12:]
    return with_icrc(frame)


@pytest.mark.parametrize("form", [{}, {"vlan": 7}, {"ipv6": True}], ids=str)
@pytest.mark.parametrize("d", [0, -1, 1])
def test_lengths_that_contradict_each_other_make_a_suspect(two, d, form):
    """Each of the two alone would be that of a contribution."""
    job = Job(two, 2, forms=[form] * 2).join()
    flow = job.flows[0]
    whole = flow.packet(flow.message(DATA, ELEMENTS), d)
    for ip, udp in ((16, 0), (0, -16), (-16, 0)):
        assert flow.put(with_lengths(whole, ip, udp)) == []
    flow.number -= 1
    assert job.is_summed()
    counts = two.end()["aggregator"]
    assert (counts["suspects_dropped"], counts["icrc_dropped"], counts["jobs_broken"]) == (3, 0, 0)


@pytest.mark.parametrize("length,count", [(54, "suspects_dropped"), (64, "suspects_dropped"), (65, "icrc_dropped")])
def test_a_frame_of_64_bytes_is_a_suspect(two, length, count):
    """A longer frame that was cut is damaged."""
    job = Job(two, 2).join()
    flow = job.flows[0]
    assert flow.put(flow.packet(flow.message(DATA, ELEMENTS))[:length]) == []
    flow.number -= 1
    assert job.is_summed()
    counts = two.end()["aggregator"]
    assert [counts[name] for name in ("suspects_dropped", "icrc_dropped")] == [int(name == count) for name in ("suspects_dropped", "icrc_dropped")]


def test_a_join_with_lengths_that_contradict_each_other_is_not_learned(two):
    flow = Flow(two, 0, 1, ranks=2)
    frame = with_lengths(flow.packet(flow.message(JOIN)), ip=16)
    assert flow.put(frame) == [frame]
    assert two.end()["aggregator"]["joins_granted"] == 0


def test_a_join_with_pads_is_not_learned(two):
    flow = Flow(two, 0, 1, ranks=2)
    frame = flow.packet(flow.message(JOIN), pad=1)
    assert flow.put(frame) == [frame]
    assert two.end()["aggregator"]["joins_granted"] == 0


@pytest.mark.parametrize("opcode", [SEND_FIRST, SEND_ONLY])
@pytest.mark.parametrize("d", [0, 1, SLOTS - 1, -1, -2])
def test_a_message_of_another_job_is_a_suspect(two, d, opcode):
    """A stranger on the same host guesses addresses, QPN and PSN; but it does not know the job id."""
    job = Job(two, 2).join()
    job.is_summed()
    flow = job.flows[0]
    frame = flow.packet(flow.message(DATA, bytes(32), job=OTHER), d, opcode)
    flow.number -= 1
    assert flow.put(frame) == []
    assert job.is_summed()
    counts = two.end()["aggregator"]
    assert counts["suspects_dropped"] == 1 and counts["jobs_broken"] == 0


@pytest.mark.parametrize("d", [0, 1, SLOTS, -1, -2, -2 * SLOTS - 2])
def test_a_join_with_another_job_id_does_not_break_a_job(two, d):
    job = Job(two, 2).join()
    job.is_summed()
    flow = job.flows[0]
    frame = flow.packet(flow.message(JOIN, job=OTHER, number=0), d)
    assert flow.put(frame) == []
    assert flow.put(frame) == []
    flow.number -= 1
    assert job.is_summed()
    assert two.end()["aggregator"]["suspects_dropped"] == 2


def test_suspects_of_a_broken_job_are_dropped_too(two):
    job = Job(two, 2).join()
    job.put([flow.message(DATA, ELEMENTS, length=flow.rank) for flow in job.flows])
    flow = job.flows[0]
    for d in (SLOTS, -2 * SLOTS - 2):
        assert flow.put(flow.packet(flow.message(DATA, ELEMENTS), d)) == []


def test_the_limits_of_a_window_are_no_suspects(two):
    job = Job(two, 2).join()
    for d in (SLOTS - 1, -2 * SLOTS - 1):
        assert len(job.flows[0].put(job.flows[0].packet(job.flows[0].message(DATA, ELEMENTS), d))) == 1
    assert two.end()["aggregator"]["suspects_dropped"] == 0


def test_many_suspects_in_a_short_time_do_not_evict_a_flow(start):
    """The flow must also have been silent for long."""
    two = start(2, *patience(1))
    job = Job(two, 2).join()
    for frame in list(suspects(job.flows[0])):
        two.send(0, frame)
    assert two.settle() == [[], []]
    job.flows[0].number = 1
    assert job.is_summed()


def test_three_suspects_at_any_time_do_not_evict_a_flow(start):
    two = start(2, *patience(0.05))
    job = Job(two, 2).join()
    flow = job.flows[0]
    for turn in range(3):
        time.sleep(0.06)
        for _ in range(3):
            assert flow.put(flow.packet(ELEMENTS * 3, SLOTS)) == []
        assert job.is_summed()


def test_a_flow_that_waits_for_a_late_rank_is_not_evicted(two):
    """Its packets are retransmitted by the ACK timer, every 67 ms with rdma_rxe. Any number of foreign packets come in
    between."""
    job = Job(two, 2).join()
    flow, late = job.flows
    waits = flow.say(DATA, ELEMENTS)
    for _ in range(5):
        time.sleep(0.067)
        for d in FAR:
            two.send(flow.port, flow.packet(ELEMENTS * 3, d))
        two.send(flow.port, waits)
        assert two.settle() == [[], []]
    late.say(DATA, ELEMENTS)
    assert [trailer_of(payload_of(got[0]))[0] for got in two.settle()] == [2, 2]
    assert two.end()["aggregator"]["jobs_broken"] == 0


@pytest.fixture
def impatient(start):
    return start(2, *patience(PATIENCE_S))


def evict(flow, frame):
    """Sends a suspect until it passes, because its flow is unknown. Returns how many were dropped."""
    return wait_until_it_passes(flow.bridge, flow.port, frame)


@pytest.mark.parametrize("d", [0] + FAR)
def test_the_fourth_suspect_after_silence_evicts_a_flow(impatient, d):
    job = Job(impatient, 2).join()
    flow = job.flows[0]
    assert evict(flow, flow.packet(ELEMENTS * 3, d, SEND_ONLY if d else SEND_ONLY_IMMEDIATE)) >= 4
    counts = impatient.end()["aggregator"]
    assert counts["jobs_broken"] == 1 and counts["suspects_dropped"] >= 4


def test_what_waits_goes_on_raw_when_a_flow_is_evicted(impatient):
    job = Job(impatient, 2).join()
    flow, other = job.flows
    sent = [other.say(DATA, ELEMENTS) for _ in range(3)]
    impatient.settle()
    frame = flow.packet(ELEMENTS * 3, SLOTS)
    raw = []
    while True:
        impatient.send(flow.port, frame)
        got = impatient.settle()
        raw += got[other.to]
        if got[flow.to]:
            break
        time.sleep(0.002)
        assert len(raw) <= 3
    check_raw(raw, sent)
    frame = other.say(DATA, ELEMENTS)
    check_raw(impatient.settle()[other.to], [frame])


def test_a_flow_that_is_evicted_has_left(impatient):
    """The others' LEAVEs end the job; the connection with the same key can join another job."""
    job = Job(impatient, 2).join()
    evict(job.flows[0], job.flows[0].packet(ELEMENTS * 3, SLOTS))
    job.flows[1].say(LEAVE)
    impatient.settle()
    assert Job(impatient, 2).join().is_summed()
    assert impatient.end()["aggregator"]["jobs_closed"] == 1


def test_a_join_with_another_job_id_evicts_the_old_flow(impatient):
    """The host has started again without a LEAVE, and uses its QPN again. Its new connection joins in the end."""
    Job(impatient, 2).join()
    again = Job(impatient, 2, job=OTHER)
    joins = []
    for flow in again.flows:
        flow.next_psn -= 30  # somewhere near
        joins.append(flow.go_on(flow.message(JOIN)))
    dropped = [0, 0]
    for _ in range(2000):
        got = impatient.settle()
        if any(got):
            break
        for rank, flow in enumerate(again.flows):
            impatient.send(flow.port, joins[rank])
            dropped[rank] += 1
        time.sleep(0.002)
    assert [trailer_of(payload_of(frames[0]))[0] for frames in got] == [2, 2]
    assert min(dropped) >= 4
    assert again.is_summed()
    assert impatient.end()["aggregator"]["jobs_closed"] == 1  # the old job


def at_another_port(frame, port):
    """As a router there would send it: the Ethernet source is the router's own."""
    return frame[:6] + mac(port) + frame[12:]


@pytest.mark.parametrize("d", [0, 1, -1, -2, SLOTS, -2 * SLOTS - 2])
def test_a_packet_of_a_flow_at_another_port_is_dropped(start, d):
    """A packet that waits, the next packet, one that was summed: if it passed, raw packets and sums would mix."""
    bridge = start(3)
    job = Job(bridge, 2).join()
    job.is_summed()
    flow = job.flows[0]
    waits = flow.say(DATA, ELEMENTS)
    bridge.settle()
    frame = waits if d == -1 else flow.packet(flow.message(DATA, ELEMENTS), d)
    bridge.send(2, at_another_port(frame, 2))
    assert bridge.settle() == [[], [], []]
    job.flows[1].say(DATA, ELEMENTS)
    for got in bridge.settle()[:2]:
        assert [trailer_of(payload_of(total))[0] for total in got] == [2]
    assert bridge.end()["aggregator"]["elsewhere_dropped"] == 1


@pytest.mark.parametrize("what", ["JOIN", "with immediate", "damaged", "short"])
def test_any_request_of_a_flow_at_another_port_is_dropped(start, what):
    bridge = start(3)
    job = Job(bridge, 2).join()
    flow = job.flows[0]
    frame = {"JOIN": flow.packet(flow.message(JOIN, number=0)),
             "with immediate": flow.packet(bytes(52), 0, SEND_ONLY_IMMEDIATE),
             "damaged": flow.packet(bytes(48))[:-1] + b"?",
             "short": flow.packet(bytes(16))}[what]
    bridge.send(2, at_another_port(frame, 2))
    assert bridge.settle() == [[], [], []]
    flow.number = 1
    assert job.is_summed()


def test_a_flow_at_another_port_of_a_broken_job_is_dropped(start):
    bridge = start(3)
    job = Job(bridge, 2).join()
    job.put([flow.message(DATA, ELEMENTS, length=flow.rank) for flow in job.flows])
    flow = job.flows[0]
    bridge.send(2, at_another_port(flow.packet(flow.message(DATA, ELEMENTS), -1), 2))
    assert bridge.settle() == [[], [], []]


def test_what_comes_by_another_port_evicts_a_silent_flow(start):
    """The host is dead or has moved. Its job breaks, and after another silence its connection may JOIN at its new port."""
    silence_s = 0.1
    bridge = start(3, *patience(silence_s))
    job = Job(bridge, 2).join()
    flow, other = job.flows
    began = time.monotonic()
    waits = other.say(DATA, ELEMENTS)
    frame = at_another_port(flow.packet(flow.message(DATA, ELEMENTS)), 2)
    raw, got = [], []
    while frame not in got:
        bridge.send(2, frame)
        got = bridge.settle()
        raw, got = raw + got[other.to], got[flow.to]
        time.sleep(silence_s / 10)
        assert time.monotonic() < began + 4 * silence_s + 3
    assert time.monotonic() > began + 2 * silence_s
    check_raw(raw, [waits])

    again = Flow(bridge, 0, 1, 0, 2, OTHER)
    bridge.send(2, at_another_port(again.packet(again.message(JOIN)), 2))
    Flow(bridge, 1, 0, 1, 2, OTHER, 0x12).say(JOIN)
    assert [trailer_of(payload_of(frames[0]))[0] for frames in bridge.settle() if frames] == [2, 2]
    counts = bridge.end()["aggregator"]
    assert (counts["jobs_broken"], counts["jobs_opened"], counts["suspects_dropped"]) == (1, 2, 0)


def test_what_comes_by_another_port_does_not_end_a_flow_that_is_heard(start):
    """A rank is late, and the other one retransmits by its ACK timer. Any number of foreign packets come in between."""
    bridge = start(3)
    job = Job(bridge, 2).join()
    flow, late = job.flows
    waits = flow.say(DATA, ELEMENTS)
    strangers = [at_another_port(flow.packet(ELEMENTS * 3, d), 2) for d in FAR + [0, -1]]
    strangers.append(at_another_port(flow.packet(flow.message(JOIN, job=OTHER, number=0)), 2))
    flow.number -= 1
    for _ in range(20):
        time.sleep(0.067)
        for stranger in strangers:
            bridge.send(2, stranger)
        bridge.send(flow.port, waits)
        assert bridge.settle() == [[], [], []]
    late.say(DATA, ELEMENTS)
    assert [trailer_of(payload_of(got[0]))[0] for got in bridge.settle() if got] == [2, 2]
    assert job.is_summed()
    counts = bridge.end()["aggregator"]
    assert (counts["jobs_broken"], counts["elsewhere_dropped"]) == (0, 20 * len(strangers))


def test_a_flow_that_has_moved_is_evicted_when_no_sum_is_under_way(start):
    """Otherwise a raw packet and a sum that the network has held back could form a message."""
    silence_s = 0.2
    bridge = start(3, *patience(silence_s))
    job = Job(bridge, 2).join()
    flow, late = job.flows
    moved = at_another_port(flow.say(DATA, ELEMENTS), 2)
    bridge.settle()
    time.sleep(2.5 * silence_s)
    for _ in range(3):
        bridge.send(2, moved)
    late.say(DATA, ELEMENTS)
    assert [trailer_of(payload_of(got[0]))[0] for got in bridge.settle() if got] == [2, 2]
    began = time.monotonic()
    wait_until_it_passes(bridge, 2, moved)
    assert time.monotonic() > began + silence_s


def test_another_key_at_another_port_passes(start):
    bridge = start(3)
    flow = Job(bridge, 2).join().flows[0]
    for change in ({"qpn": 0x12}, {"vlan": 1}, {"source_port": 0xC123}):
        frame = at_another_port(flow.packet(bytes(48), **change), 2)
        bridge.send(2, frame)
        assert bridge.settle()[1] == [frame]
    answer = at_another_port(flow.packet(bytes(4), 0, ACK), 2)
    bridge.send(2, answer)
    assert bridge.settle()[1] == [answer]


def test_a_host_that_has_moved_is_heard_with_its_next_connection(start):
    """A frame that is no JOIN tells the switch where the host is now."""
    bridge = start(3)
    old = Job(bridge, 2).join()
    join = packet(0, 1, 7, old.flows[0].message(JOIN, job=OTHER, number=0), qpn=0x12, source_mac=mac(2))
    old.flows[0].number = 1
    bridge.send(2, packet(0, 1, 1, bytes(16), WRITE_ONLY, tos=0, qpn=0x13, source_mac=mac(2)))
    bridge.send(2, join)
    bridge.settle()
    other = Flow(bridge, 1, 0, 1, 2, OTHER, 0x12)
    other.say(JOIN)
    assert [trailer_of(payload_of(frames[0]))[0] for frames in bridge.settle() if frames] == [2, 2]
    assert old.is_summed()


@pytest.mark.parametrize("form", [{}, {"vlan": 7}, {"ipv6": True}], ids=str)
@pytest.mark.parametrize("tos", [0, MARKED], ids=["unmarked", "marked"])
def test_a_join_in_another_hosts_name_takes_nothing_off_the_network(start, tos, form):
    """The host at port 2 knows a connection of the host at port 0, and JOINs with its addresses."""
    bridge = start(3, "--steer", "all")
    victim = Flow(bridge, 0, 1, qpn=0x77, tos=tos, **form)
    before = victim.packet(bytes(64), -1)
    assert victim.put(before) == [before]
    thief = Flow(bridge, 0, 1, ranks=2, job=OTHER, qpn=0x77, psn=5000, tos=MARKED, **form)
    bridge.send(2, at_another_port(thief.packet(thief.message(JOIN)), 2))
    bridge.settle()
    sent = [victim.go_on(bytes(64)) for _ in range(20)]
    assert bridge.settle()[1] == sent
    stats = bridge.end()
    assert stats["aggregator"]["joins_granted"] == 0


def test_a_join_in_another_hosts_name_does_not_keep_it_from_joining(start):
    bridge = start(3)
    job = Job(bridge, 2)
    for flow in job.flows:
        bridge.send(flow.port, packet(flow.port, flow.to, 1, bytes(16), WRITE_ONLY, tos=0))
    thief = Flow(bridge, 0, 1, ranks=2, job=OTHER)
    bridge.send(2, at_another_port(thief.packet(thief.message(JOIN)), 2))
    bridge.settle()
    assert job.join().is_summed()


@pytest.mark.parametrize("d", [0, 1, -1, -2, SLOTS])
def test_what_is_not_marked_is_of_no_flow(start, d):
    """Even with a flow's addresses, and steered: it passes, and the flow is not affected."""
    bridge = start(2, "--steer", "all")
    job = Job(bridge, 2).join()
    flow = job.flows[0]
    for tos in (0, 0xAA, 0xB2, 0x2E):
        for frame in (flow.packet(flow.message(DATA, ELEMENTS, number=1), d, tos=tos),
                      flow.packet(bytes(20), d, SEND_LAST, tos=tos),
                      flow.packet(flow.message(JOIN, job=OTHER, number=0), d, tos=tos)):
            assert flow.put(frame) == [frame]
    flow.number = 1
    assert job.is_summed()
    assert bridge.end()["aggregator"]["suspects_dropped"] == 0


def test_what_is_not_marked_may_go_by_any_port(start):
    bridge = start(3, "--steer", "all")
    job = Job(bridge, 2).join()
    frame = at_another_port(job.flows[0].packet(bytes(48), tos=0), 2)
    bridge.send(2, frame)
    assert bridge.settle()[1] == [frame]
    assert job.is_summed()
