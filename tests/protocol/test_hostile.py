# SPDX-License-Identifier: Apache-2.0
"""The powers and limits of a hostile tenant: the rows of docs/protocol.md that have no test elsewhere."""
import struct
import time

import pytest

from flows import CONTEXTS, LEAST, MEMORY, SLOTS, Flow, Job, check_made
from roce import DATA, JOB, JOIN, LEAVE, payload_of, trailer_of

ELEMENTS = bytes(range(16))
TTL_S = 0.3
PAUSE_S = TTL_S / 4


def window_of(join):
    return -struct.unpack_from("<i", join, 28)[0]


def test_a_job_that_lacks_a_rank_expires_whatever_is_resent(start):
    """The rank's JOIN is lost, and asks again when it is sent again. So a late rank still finds it."""
    two = start(2, "--job-ttl", TTL_S)
    job = Job(two, 2)
    join = job.flows[0].say(JOIN)
    end = time.monotonic() + 4 * TTL_S
    while time.monotonic() < end:
        assert two.settle() == [[], []]
        time.sleep(PAUSE_S)
        two.send(0, join)
    job.flows[1].say(JOIN)
    assert [trailer_of(payload_of(got[0]))[0] for got in two.settle()] == [2, 2]
    assert job.is_summed()
    counters = two.end()["aggregator"]
    assert counters["jobs_expired"] > 0 and counters["jobs_broken"] == 0
    assert counters["jobs_opened"] == counters["jobs_expired"] + 1


def test_a_job_of_one_rank_takes_nothing(start):
    two = start(2)
    for turn in range(2 * CONTEXTS):
        flow = Flow(two, 0, 1, ranks=1, job=JOB + turn, qpn=turn)
        for kind in (JOIN, DATA, LEAVE):
            frame = flow.packet(flow.message(kind))
            flow.next_psn += 1
            assert flow.put(frame) == [frame]
    counters = two.end()["aggregator"]
    assert (counters["jobs_opened"], counters["joins_refused"]) == (0, 2 * CONTEXTS)


def test_ports_that_collude_open_no_more_than_their_quotas(start):
    """Two ports of a tenant join each other's jobs, which lack a third rank. The other contexts are left to others."""
    quota = 2
    four = start(4, "--quota", quota)

    def open_jobs(opener, joiner, first):
        for number in range(first, first + CONTEXTS):
            for rank, port in enumerate((opener, joiner)):
                flow = Flow(four, port, opener + joiner - port, rank, 3, JOB + number, 0x100 + number)
                flow.say(JOIN, exponent=-LEAST)
                assert four.settle() == [[], [], [], []]

    open_jobs(2, 3, 100)
    open_jobs(3, 2, 200)
    others = [Job(four, 2, job=JOB + i, qpn=0x20 + i).join(exponent=-LEAST) for i in range(CONTEXTS - 2 * quota)]
    assert all(job.is_summed() for job in others)
    counters = four.end()["aggregator"]
    assert counters["jobs_opened"] == CONTEXTS and counters["joins_held"] > 0


def test_jobs_of_ports_that_collude_are_bounded_by_their_vlan(start):
    """These jobs have all their ranks, so they count for no port."""
    quota = 5
    four = start(4, "--quota", 2, "--vlan-quota", quota, *[word for port in (2, 3) for word in ("--at", f"{port},trust-tags=yes")])

    def theirs(number):
        return Job(four, 2, [2, 3], job=JOB + number, qpn=0x100 + number, forms=[{"vlan": 7}] * 2)

    for number in range(quota):
        assert theirs(number).join(exponent=-LEAST).is_summed()
    for flow in theirs(quota).flows:
        frame = flow.packet(flow.message(JOIN, exponent=-LEAST))
        assert flow.put(frame) == [frame]
    for number in range(50, 50 + quota):
        assert Job(four, 2, job=JOB + number, qpn=0x20 + number).join(exponent=-LEAST).is_summed()


@pytest.mark.parametrize("options,granted", [((), SLOTS), (("--quota", 15), SLOTS), (("--vlan-quota", 16), SLOTS),
                                             (("--quota", 3), MEMORY // CONTEXTS), (("--vlan-quota", 1), MEMORY // CONTEXTS)])
def test_with_a_quota_a_context_has_its_share_of_the_memory(start, options, granted):
    two = start(2, *options)
    assert window_of(Job(two, 2).say(JOIN)) == granted


def test_a_tag_that_is_not_trusted_counts_as_none(start):
    """A sender gets neither more contexts through other VLAN ids nor a priority. The operator may still trust the tags of other
    ports."""
    four = start(4, "--vlan-quota", 2, *[word for port in (2, 3) for word in ("--at", f"{port},trust-tags=yes")])

    def job(ports, number, vlan, priority):
        return Job(four, 2, ports, job=JOB + number, qpn=0x20 + number, forms=[{"vlan": priority << 13 | vlan}] * 2)

    for number in range(2):
        assert job([0, 1], number, 7 + number, 7).join(exponent=-LEAST).is_summed()
    for flow in job([0, 1], 2, 9, 7).flows:
        frame = flow.packet(flow.message(JOIN, exponent=-LEAST))
        assert flow.put(frame) == [frame]
    for number in range(3, 6):
        assert job([2, 3], number, number, 7).join(exponent=-LEAST).is_summed()


def test_a_tag_that_is_not_trusted_outranks_nobody(start):
    two = start(2, "--port-priority", 1)
    jobs = [Job(two, 2, job=JOB + i, qpn=0x20 + i).join(exponent=-LEAST) for i in range(CONTEXTS)]
    other = Flow(two, 0, 1, job=JOB + 99, qpn=0x99, vlan=0)  # a tag with a priority below that of the port
    frame = other.packet(other.message(JOIN, exponent=-LEAST))
    assert other.put(frame) == [frame]
    assert trailer_of(jobs[0].say(DATA, [ELEMENTS] * 2))[1] == 1 << 3  # asked, because it has the priority of the port


@pytest.mark.parametrize("form", [{}, {"vlan": 7}, {"ipv6": True}, {"ipv6": True, "vlan": 7}], ids=str)
def test_bytes_behind_the_icrc_are_not_the_packets(two, form):
    """A switch or NIC on the way appends bytes to some frames. The aggregator's own frames lack these bytes."""
    job = Job(two, 2, forms=[form, form])
    messages = [(DATA, bytes(size), count) for size in (16, 32, 48, 64, 4000) for count in (1, 4, 60, 64, 200)]
    for kind, elements, count in [(JOIN, b"", 4), *messages, (LEAVE, b"", 4)]:
        sent = [flow.packet(flow.message(kind, elements)) for flow in job.flows]
        for flow, frame in zip(job.flows, sent):
            flow.next_psn += 1
            two.send(flow.port, frame + bytes([0xEE] * (count if flow.port == 0 else 0)))
        got = two.settle()
        for frame, made_of in zip([got[1][0], got[0][0]], sent):
            check_made(frame, made_of)
            assert trailer_of(payload_of(frame))[0] == 2
    assert two.end()["aggregator"]["icrc_dropped"] == 0


def test_bytes_behind_the_icrc_pass_with_what_passes(two):
    flow = Flow(two, 0, 1)
    frame = flow.packet(flow.message(DATA, ELEMENTS)) + b"trailer"
    assert flow.put(frame) == [frame]
