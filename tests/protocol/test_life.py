# SPDX-License-Identifier: Apache-2.0
"""A connection's life: JOIN, DATA, LEAVE; refusals; broken jobs."""
import struct

import pytest

from flows import CONTEXTS, FIRST_PSN, LEAST, MEMORY, SLOTS, Flow, Job, check_made, check_raw
from roce import (DATA, JOB, JOIN, LEAVE, SEND_FIRST, SEND_LAST, SEND_MIDDLE, SEND_ONLY, asks_for_ack, payload_of, segments,
                  trailer_of)

ELEMENTS = bytes(range(32))


@pytest.mark.parametrize("ranks,ports", [(2, 2), (3, 4), (4, 4), (8, 8)])
def test_joins_data_and_leaves_are_joined(start, ranks, ports):
    job = Job(start(ports), ranks)
    for kind in (JOIN, LEAVE):
        payload = job.say(kind)
        assert trailer_of(payload) == (ranks, 0, job.flows[0].number - 1, ranks - 1)
        if kind == JOIN:
            assert job.is_summed()


@pytest.mark.parametrize("mtu", [256, 1024, 4096])
def test_messages_of_several_packets(two, mtu):
    job = Job(two, 2).join()
    elements = bytes([1, 0, 0, 0] * 3000)
    cut = [segments(flow.message(DATA, elements), mtu) for flow in job.flows]
    whole = b""
    for pieces in zip(*cut):
        sent, got = job.put([payload for _, payload in pieces], pieces[0][0])
        for frame, made_of in zip(got, sent):
            check_made(frame, made_of)
        whole += payload_of(got[0])
    assert whole[32:-16] == bytes([2, 0, 0, 0] * 3000)
    assert trailer_of(whole)[0] == 2


def test_a_late_rank_is_waited_for(two):
    job = Job(two, 2)
    early, late = job.flows
    early.say(JOIN)
    for _ in range(5):
        early.say(DATA, ELEMENTS)
    assert two.settle() == [[], []]
    late.say(JOIN)
    for _ in range(5):
        late.say(DATA, ELEMENTS)
    for got in two.settle():
        assert [trailer_of(payload_of(frame))[0] for frame in got] == [2] * 6


def test_several_jobs_at_once(two):
    """Several jobs of the same hosts: the destination QPN distinguishes their connections."""
    jobs = [Job(two, 2, job=JOB + i, qpn=0x20 + i).join(exponent=-LEAST) for i in range(CONTEXTS)]
    for _ in range(3):
        assert all(job.is_summed() for job in jobs)


def test_all_leaves_end_a_job(two):
    for turn in range(2 * CONTEXTS):
        job = Job(two, 2, qpn=0x100 + turn).join()
        assert job.is_summed()
        job.leave()


def test_a_leave_that_is_resent_after_the_end_passes(two):
    job = Job(two, 2).join()
    sent, _ = job.put([flow.message(LEAVE) for flow in job.flows])
    for flow, frame in zip(job.flows, sent):
        assert flow.put(frame) == [frame]


def refused(flow, **fields):
    """The flow's JOIN passes, and so does the next packet: the aggregator learned nothing."""
    for kind in (JOIN, DATA):
        payload = flow.message(kind, b"" if kind == JOIN else ELEMENTS, **(fields if kind == JOIN else {}))
        frame = flow.packet(payload)
        assert flow.put(frame) == [frame]
        flow.next_psn += 1


def test_refused_without_a_free_context(two):
    jobs = [Job(two, 2, job=JOB + i, qpn=0x20 + i).join(exponent=-LEAST) for i in range(CONTEXTS)]
    refused(Flow(two, 0, 1, ranks=2, job=JOB + 99, qpn=0x99))
    assert all(job.is_summed() for job in jobs)


WANTED = 1 << 3


def flags_of(job):
    """The flags in the sum of another message."""
    return trailer_of(job.say(DATA, [ELEMENTS] * len(job.flows)))[1]


def test_what_is_refused_for_want_of_a_context_is_said_once(two):
    """In the next trailer of DATA of any job, once for all JOINs of the refused job."""
    jobs = [Job(two, 2, job=JOB + i, qpn=0x20 + i).join(exponent=-LEAST) for i in range(CONTEXTS)]
    assert [flags_of(job) for job in jobs[:2]] == [0, 0]
    other = Job(two, 2, job=JOB + 98, qpn=0x98)
    for flow in other.flows:
        frame = flow.packet(flow.message(JOIN))
        assert flow.put(frame) == [frame]
    assert [flags_of(job) for job in (jobs[3], jobs[3], jobs[1])] == [WANTED, 0, 0]
    refused(Flow(two, 1, 0, 1, 2, job=JOB + 98, qpn=0x99))
    assert [flags_of(job) for job in jobs[:3]] == [0, 0, 0]
    refused(Flow(two, 1, 0, 1, 2, job=JOB + 97, qpn=0x97), exponent=0)  # refused for another reason
    refused(Flow(two, 1, 0, 1, 2, job=JOB + 97, qpn=0x96), ranks=3)
    assert flags_of(jobs[0]) == 0
    refused(Flow(two, 1, 0, 1, 2, job=JOB + 97, qpn=0x95))
    assert trailer_of(jobs[0].say(LEAVE))[1] == 0
    last = Job(two, 2, job=JOB + 96, qpn=0x94)
    assert trailer_of(last.say(JOIN, exponent=-LEAST))[1] == CONTEXTS - 1 << 16  # only the number of jobs before it
    assert [flags_of(job) for job in jobs[1:4]] == [WANTED, 0, 0]


TRUSTING = ("--trust-tags", "yes")


def tagged(bridge, number, vlan, priority=0):
    """A job whose frames have this tag."""
    return Job(bridge, 2, job=JOB + number, qpn=0x20 + number, forms=[{"vlan": priority << 13 | vlan}] * 2)


def refused_all(job):
    """The JOINs of all ranks of the job are refused."""
    for flow in job.flows:
        refused(flow, exponent=-LEAST)


def test_a_vlan_has_a_quota_of_contexts(start):
    """A JOIN beyond it is refused; JOINs of other VLANs are not. Frames without a tag, and frames with a priority tag, are one
    VLAN."""
    two = start(2, "--vlan-quota", "2", *TRUSTING)
    jobs = [tagged(two, i, vlan, priority) for i, (vlan, priority) in enumerate([(7, 0), (7, 5), (8, 0), (0, 5)])]
    jobs.append(Job(two, 2, job=JOB + 10, qpn=0x30))
    for job in jobs:
        job.join(exponent=-LEAST)
    refused_all(tagged(two, 11, 7, 7))
    refused_all(tagged(two, 12, 0, 7))
    refused_all(Job(two, 2, job=JOB + 13, qpn=0x33))
    assert tagged(two, 14, 8).join(exponent=-LEAST).is_summed()
    refused_all(tagged(two, 15, 8))
    assert all(job.is_summed() for job in jobs)
    jobs[1].leave()
    assert tagged(two, 16, 7).join(exponent=-LEAST).is_summed()
    refused_all(tagged(two, 17, 7))


def test_what_a_vlan_lacks_is_said_to_its_own_jobs(start):
    two = start(2, "--vlan-quota", "2", *TRUSTING)
    jobs = [tagged(two, i, vlan).join(exponent=-LEAST) for i, vlan in enumerate([8, 7, 8, 7, 9])]
    assert [flags_of(job) for job in jobs] == [0] * 5
    refused_all(tagged(two, 10, 7))
    assert [flags_of(job) for job in (jobs[0], jobs[2], jobs[4], jobs[3], jobs[1])] == [0, 0, 0, WANTED, 0]
    refused_all(tagged(two, 11, 8))
    jobs[0].leave()
    jobs[2].leave()
    assert tagged(two, 12, 10).join(exponent=-LEAST).is_summed()  # in the context that was requested
    assert [flags_of(job) for job in (jobs[4], jobs[3], jobs[1])] == [0, 0, 0]


def test_a_job_of_a_higher_priority_is_not_asked(start):
    """The request for a context goes to a job whose JOIN had no higher priority; if there is no such job, to none."""
    two = start(2, *TRUSTING)
    jobs = [tagged(two, i, 7 + i % 3, priority=5 if i < CONTEXTS - 2 else 3).join(exponent=-LEAST) for i in range(CONTEXTS)]
    refused_all(tagged(two, 40, 7, priority=2))
    assert [flags_of(job) for job in jobs] == [0] * CONTEXTS
    refused_all(tagged(two, 41, 7, priority=4))
    assert [flags_of(job) for job in jobs] == [0] * (CONTEXTS - 2) + [WANTED, 0]
    refused_all(tagged(two, 42, 7, priority=5))
    assert [flags_of(job) for job in jobs] == [WANTED] + [0] * (CONTEXTS - 1)
    refused_all(Job(two, 2, job=JOB + 43, qpn=0x70))  # without a tag the priority is the lowest
    assert [flags_of(job) for job in jobs] == [0] * CONTEXTS


def test_a_port_has_a_priority(start):
    """It is the priority of jobs whose JOINs come in there without a tag; a tag has its own priority."""
    four = start(4, "--port-priority", "2", *TRUSTING, *[word for port in (0, 1) for word in ("--at", f"{port},port-priority=5")])

    def untagged(ports, number):
        return Job(four, 2, ports, job=JOB + number, qpn=0x20 + number)

    jobs = [untagged([0, 1], i).join(exponent=-LEAST) for i in range(CONTEXTS - 1)]
    jobs.append(tagged(four, 20, 0, priority=2).join(exponent=-LEAST))
    refused_all(tagged(four, 40, 7, priority=1))
    assert [flags_of(job) for job in jobs] == [0] * CONTEXTS
    for other in (untagged([2, 3], 41), tagged(four, 43, 7, priority=4)):
        refused_all(other)
        assert [flags_of(job) for job in jobs] == [0] * (CONTEXTS - 1) + [WANTED]
    refused_all(untagged([0, 1], 42))
    assert [flags_of(job) for job in jobs] == [WANTED] + [0] * (CONTEXTS - 1)


def test_who_has_its_quota_makes_nobody_give_way(start):
    """However many jobs a host invents, the others are asked for at most as many contexts as its port may hold alone."""
    three = start(3, "--quota", "2")
    jobs = [Job(three, 2, [1, 2], job=JOB + i, qpn=0x20 + i).join(exponent=-LEAST) for i in range(CONTEXTS - 2)]
    for i in range(2):
        stranger = Flow(three, 0, 1, 0, 2, JOB + 50 + i, 0x50 + i)
        assert stranger.put(stranger.packet(stranger.message(JOIN, exponent=-LEAST))) == []
    for i in range(3):
        refused(Flow(three, 0, 1, 0, 2, JOB + 60 + i, 0x60 + i), exponent=-LEAST)
        assert [flags_of(job) for job in jobs] == [0] * len(jobs)
    refused_all(Job(three, 2, [1, 2], job=JOB + 70, qpn=0x70))
    assert [flags_of(job) for job in jobs] == [WANTED] + [0] * (len(jobs) - 1)


@pytest.mark.parametrize("which", ["lacks a rank", "is broken"])
def test_any_job_with_a_context_may_be_asked(start, which):
    """Also one that cannot answer now. The others have a higher priority than the JOINs."""
    two = start(2, *TRUSTING)
    jobs = [tagged(two, i, 7, priority=5).join(exponent=-LEAST) for i in range(CONTEXTS - 1)]
    asked = tagged(two, 20, 7)
    if which == "lacks a rank":
        join = asked.flows[0].say(JOIN, exponent=-LEAST)
        assert two.settle() == [[], []]
    else:
        asked.join(exponent=-LEAST)
        asked.put([flow.message(DATA, length=flow.rank) for flow in asked.flows])
    refused_all(tagged(two, 30, 7))
    assert [flags_of(job) for job in jobs] == [0] * len(jobs)
    if which == "lacks a rank":
        asked.flows[1].say(JOIN, exponent=-LEAST)
        got = two.settle()
        assert payload_of(got[1][0]) != payload_of(join) and [len(frames) for frames in got] == [1, 1]
        assert [flags_of(asked), flags_of(asked)] == [WANTED, 0]
    else:
        for flow in asked.flows:
            flow.say(LEAVE)
        two.settle()
        last = tagged(two, 40, 7).join(exponent=-LEAST)
        refused(Flow(two, 0, 1, job=JOB + 30, qpn=0x77, vlan=7), exponent=-LEAST)  # this job has asked already
        assert flags_of(last) == 0
        refused(Flow(two, 0, 1, job=JOB + 31, qpn=0x78, vlan=7), exponent=-LEAST)
        assert flags_of(last) == WANTED


def window_of(join):
    return -struct.unpack_from("<i", join, 28)[0]


def test_every_context_has_memory(two):
    """Jobs that ask for all of the memory leave the smallest block to each free context. A block that one of them gives back is
    granted again."""
    jobs = [Job(two, 2, job=JOB + i, qpn=0x20 + i) for i in range(CONTEXTS)]
    granted = [window_of(job.say(JOIN)) for job in jobs]
    assert granted == [SLOTS, SLOTS, SLOTS, 32] + [LEAST] * (CONTEXTS - 4) and sum(granted) == MEMORY
    assert all(job.is_summed() for job in jobs)
    jobs[1].leave()
    again = Job(two, 2, job=JOB + 98, qpn=0x98)
    assert window_of(again.say(JOIN)) == SLOTS
    assert again.is_summed()


@pytest.mark.parametrize("fields", [{"ranks": 0}, {"ranks": 1}, {"ranks": 9}, {"exponent": 0}, {"exponent": SLOTS},
                                    {"exponent": 2**31 - 1}],
                         ids=["no ranks", "one rank", "more ranks than ports", "no window", "a window that is not negated",
                              "the largest lane"])
def test_refused_what_cannot_be(start, fields):
    refused(Flow(start(8), 0, 1), **fields)


@pytest.mark.parametrize("asked,granted", [((SLOTS, SLOTS), SLOTS), ((SLOTS + 1, 2 * SLOTS), SLOTS), ((2**31, 2**31), SLOTS),
                                           ((100, 100), 64), ((100, 50), 50), ((33, 2**31), 32), ((8, 9), 8), ((2**31, 20), 20)])
def test_the_window_is_the_smallest_of_all_asked_and_the_grant(two, asked, granted):
    job = Job(two, 2)
    got = []
    for flow, own in zip(job.flows, asked):  # the first JOIN's window limits the grant, so the ports' order must be certain
        flow.say(JOIN, exponent=-own)
        got += [frame for frames in two.settle() for frame in frames]
    assert [window_of(payload_of(frame)) for frame in got] == [granted, granted]


def test_refused_a_second_flow_of_a_job_on_a_port(start):
    bridge = start(4)
    first = Flow(bridge, 0, 1, ranks=3)
    first.say(JOIN)
    refused(Flow(bridge, 0, 1, rank=1, ranks=3, qpn=0x12))
    for rank in (1, 2):
        Flow(bridge, rank, 3, rank, 3).say(JOIN)
    assert [trailer_of(payload_of(frame))[0] for frame in bridge.settle()[3]] == [3, 3]


def test_refused_where_the_job_has_all_its_flows(start):
    bridge = start(4)
    job = Job(bridge, 2).join()
    refused(Flow(bridge, 2, 3, rank=1, ranks=2))
    assert job.is_summed()


def test_refused_where_the_rank_count_differs(start):
    bridge = start(4)
    Flow(bridge, 0, 1, ranks=3).say(JOIN)
    assert bridge.settle() == [[], [], [], []]
    refused(Flow(bridge, 1, 2, rank=1, ranks=2))


def test_refused_where_the_job_is_broken(start):
    bridge = start(4)
    flow = Flow(bridge, 0, 1, ranks=3)
    flow.say(JOIN)
    Flow(bridge, 3, 1, rank=2, ranks=3).say(JOIN)
    bridge.settle()
    flow.say(LEAVE)  # before all ranks have come
    bridge.settle()
    refused(Flow(bridge, 1, 2, rank=1, ranks=3))


def test_a_join_with_a_wrong_icrc_passes(two):
    flow = Flow(two, 0, 1, ranks=2)
    frame = flow.packet(flow.message(JOIN))
    frame = frame[:-1] + bytes([frame[-1] ^ 1])
    assert flow.put(frame) == [frame]
    assert flow.put(flow.packet(flow.message(JOIN))) == []  # now it is learned


@pytest.mark.parametrize("elements,opcode", [(bytes(16), SEND_ONLY), (b"", SEND_FIRST)], ids=["64 bytes", "First"])
def test_a_join_is_one_packet_of_48_bytes(two, elements, opcode):
    flow = Flow(two, 0, 1, ranks=2)
    frame = flow.packet(flow.message(JOIN, elements), opcode=opcode)
    assert flow.put(frame) == [frame]


@pytest.mark.parametrize("options,quota", [((), CONTEXTS - 1), (("--quota", "3"), 3), (("--quota", "64"), CONTEXTS - 1)])
def test_a_port_has_a_quota_of_contexts_by_itself(start, options, quota):
    """Another JOIN of the same port is held, not passed. The other port still gets a context; afterwards the first port does,
    too."""
    two = start(2, *options)
    flows = [Flow(two, 0, 1, 0, 2, JOB + i, 0x20 + i) for i in range(quota + 1)]
    joins = [flow.packet(flow.message(JOIN, exponent=-LEAST)) for flow in flows]
    for flow, frame in zip(flows, joins):
        assert flow.put(frame) == []
    other = Flow(two, 1, 0, 0, 2, JOB + 99, 0x99)
    other.say(JOIN, exponent=-LEAST)
    assert two.settle() == [[], []]
    first = Flow(two, 1, 0, 1, 2, JOB, 0x20)
    first.say(JOIN)
    assert [len(got) for got in two.settle()] == [1, 1]  # the first job has both ranks
    second = Flow(two, 0, 1, 1, 2, JOB + 99, 0x99)
    second.say(JOIN)
    assert [len(got) for got in two.settle()] == [1, 1]  # and so has the other port's job
    assert two.end()["aggregator"]["joins_held"] == 1


@pytest.mark.parametrize("vlan_quota,is_held", [(1, False), (2, True)])
def test_a_port_at_its_quota_is_refused_if_its_vlan_is_full(start, vlan_quota, is_held):
    """A JOIN is dropped only if nothing but its port's quota keeps it from a context."""
    two = start(2, "--quota", 1, "--vlan-quota", vlan_quota)
    Flow(two, 0, 1).say(JOIN, exponent=-LEAST)
    assert two.settle() == [[], []]
    other = Flow(two, 0, 1, job=JOB + 1, qpn=0x12)
    frame = other.packet(other.message(JOIN, exponent=-LEAST))
    assert other.put(frame) == ([] if is_held else [frame])


def test_a_join_that_was_held_is_granted_when_it_asks_again(two):
    flows = [Flow(two, 0, 1, 0, 2, JOB + i, 0x20 + i) for i in range(CONTEXTS)]
    joins = [flow.packet(flow.message(JOIN, exponent=-LEAST)) for flow in flows]
    for flow, frame in zip(flows, joins):
        flow.put(frame)
    assert flows[-1].put(joins[-1]) == []
    for i in (0, CONTEXTS - 1):
        Flow(two, 1, 0, 1, 2, JOB + i, 0x20 + i).say(JOIN)
        sums = two.settle()
        if i == 0:
            assert [trailer_of(payload_of(got[0]))[0] for got in sums] == [2, 2]
            assert flows[-1].put(joins[-1]) == []
        else:
            assert [trailer_of(payload_of(got[0]))[0] for got in sums] == [2, 2]


def broken(bridge):
    """A job that a message has broken, in which the ranks differ."""
    job = Job(bridge, 2).join()
    sent, got = job.put([flow.message(DATA, ELEMENTS, length=length) for flow, length in zip(job.flows, (32, 28))])
    check_raw(got, sent)
    return job


def test_lengths_that_differ_break_the_job(two):
    job = Job(two, 2).join()
    sent, got = job.put([flow.message(DATA, ELEMENTS[:length]) for flow, length in zip(job.flows, (16, 32))])
    check_raw(got, sent)
    assert not job.is_summed()


def test_opcodes_that_differ_break_the_job(two):
    job = Job(two, 2).join()
    sent = [flow.go_on(flow.message(DATA, ELEMENTS), opcode)
            for flow, opcode in zip(job.flows, (SEND_ONLY, SEND_FIRST))]
    got = two.settle()
    check_raw([got[1][0], got[0][0]], sent)
    assert not job.is_summed()


@pytest.mark.parametrize("kind", [JOIN, LEAVE])
def test_a_control_message_of_another_length_breaks_the_job(two, kind):
    job = Job(two, 2).join()
    sent, got = job.put([flow.message(kind, bytes(16), length=0) for flow in job.flows])
    check_raw(got, sent)
    assert not job.is_summed()


@pytest.mark.parametrize("opcode", [SEND_FIRST, SEND_ONLY])
def test_a_message_that_does_not_end_breaks_the_job(two, opcode):
    job = Job(two, 2).join()
    job.put([flow.message(DATA, ELEMENTS) for flow in job.flows], SEND_FIRST)
    sent, got = job.put([flow.message(DATA, ELEMENTS) for flow in job.flows], opcode)
    check_raw(got, sent)
    assert not job.is_summed()


@pytest.mark.parametrize("opcode", [SEND_MIDDLE, SEND_LAST])
def test_a_message_that_has_not_begun_breaks_the_job(two, opcode):
    job = Job(two, 2).join()
    sent, got = job.put([ELEMENTS] * 2, opcode)
    check_raw(got, sent)
    assert not job.is_summed()


@pytest.mark.parametrize("opcode,size", [(SEND_ONLY, 16), (SEND_ONLY, 32), (SEND_FIRST, 16)])
def test_packets_that_are_too_short_break_the_job(two, opcode, size):
    job = Job(two, 2).join()
    flow = job.flows[0]
    frame = flow.packet(flow.message(DATA, ELEMENTS)[:size], opcode=opcode)
    assert flow.put(frame) == [frame]
    after = flow.packet(flow.message(DATA, ELEMENTS), 1, udp_checksum=0x1234)
    assert flow.put(after) == [after]  # unchanged: the next PSN is still that of the short packet
    flow.next_psn += 1
    job.flows[1].say(DATA, ELEMENTS)
    two.settle()
    assert not job.is_summed()


def test_a_leave_before_all_ranks_have_come_breaks_the_job(two):
    flow = Flow(two, 0, 1, ranks=2)
    sent = [flow.say(JOIN), flow.say(DATA, ELEMENTS), flow.say(LEAVE)]
    check_raw(two.settle()[1], sent)


def test_what_waits_in_a_broken_job_goes_on_raw_and_in_order(two):
    job = Job(two, 2).join()
    early, late = job.flows
    sent = [early.say(DATA, bytes([turn] * 16)) for turn in range(40)]
    assert two.settle() == [[], []]
    other = late.say(DATA, ELEMENTS, length=5)
    got = two.settle()
    check_raw(got[early.to], sent)
    check_raw(got[late.to], [other])


def test_a_broken_job_is_forgotten_when_all_have_left(two):
    job = broken(two)
    for flow in job.flows:
        frame = flow.say(LEAVE)
        check_raw(two.settle()[flow.to], [frame])
    assert Job(two, 2).join().is_summed()


def test_a_broken_job_is_not_forgotten_before_all_have_left(two):
    job = broken(two)
    job.flows[0].say(LEAVE)
    two.settle()
    refused(Flow(two, 0, 1, ranks=2, qpn=0x55))


def test_a_leave_past_a_gap_of_a_broken_job_counts(two):
    job = broken(two)
    for flow in job.flows:
        frame = flow.packet(flow.message(LEAVE), 3)
        assert flow.put(frame) == [frame]
    assert Job(two, 2).join().is_summed()


def test_the_summed_keep_their_sums_and_the_raw_stay_raw(two):
    """Each PSN has one payload, even if the job has broken."""
    job = Job(two, 2).join()
    early, late = job.flows
    payloads = [flow.message(DATA, bytes([flow.rank + 1] * 16)) for flow in job.flows]
    sent, sums = job.put(payloads)
    other, raws = job.put([flow.message(DATA, ELEMENTS, length=flow.rank) for flow in job.flows])
    for flow, frame, total, raw in zip(job.flows, sent, sums, other):
        again = flow.put(frame)
        assert len(again) == 1 and asks_for_ack(again[0])
        assert payload_of(again[0]) == payload_of(total) != payload_of(frame)
        assert flow.put(raw) == [raw]
    check_raw(raws, other)
    assert early.next_psn == FIRST_PSN + 3 and late.number == 3
