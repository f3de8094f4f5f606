# SPDX-License-Identifier: Apache-2.0
"""TRACE, Trees: the slot that a switch fills, and the number of jobs that it serves."""
import struct

import pytest

from flows import Flow, Job, check_made
from roce import DATA, JOIN, LEAVE, SEND_ONLY, TRACE, message, packet, payload_of, trailer_of


def trace(bridge, port=2, to=3, content=bytes(48), **form):
    """Sends a TRACE from host to host, and returns its slots as they arrive."""
    frame = packet(port, to, 7, message(0, 2, TRACE, 0, content, job=0x7ACE), SEND_ONLY, qpn=0x7ACE, **form)
    bridge.send(port, frame)
    got, = bridge.settle()[to]
    check_made(got, frame)
    assert payload_of(got)[:32] + payload_of(got)[80:] == payload_of(frame)[:32] + payload_of(frame)[80:]
    return [struct.unpack_from("<QII", payload_of(got), 32 + 16 * level) for level in range(3)]


def jobs_before(job):
    """The number of other jobs in the sum of a job's JOINs."""
    return trailer_of(job.say(JOIN))[1] >> 16


@pytest.mark.parametrize("form", [{}, {"ipv6": True}, {"vlan": 5}, {"ipv6": True, "vlan": 5}], ids=str)
def test_a_trace_says_how_many_jobs_there_are(start, form):
    bridge = start(4)
    number, port, jobs = trace(bridge, **form)[0]
    assert number != 0 and (port, jobs) == (2, 0)
    open_jobs = []
    for count in range(1, 4):
        open_jobs.append(Job(bridge, 2, job=count, qpn=0x20 + count).join())
        others = bytes(range(16, 48))
        assert trace(bridge, content=bytes(16) + others, **form) == [(number, 2, count), *struct.iter_unpack("<QII", others)]
    for count in 2, 1, 0:
        open_jobs.pop().leave()
        assert trace(bridge, **form)[0] == (number, 2, count)


@pytest.mark.parametrize("at", [0, 7, 8, 12, 15])
def test_a_slot_that_is_not_empty_stays(start, at):
    content = bytes(at) + b"\x01" + bytes(47 - at)
    assert trace(start(4), content=content) == list(struct.iter_unpack("<QII", content))


def test_a_job_that_lacks_a_rank_counts_in_a_trace(start):
    bridge = start(4)
    Flow(bridge, 0, 1).say(JOIN)
    bridge.settle()  # the TRACE comes from another port and could overtake the JOIN
    assert trace(bridge)[0][2] == 1


def test_a_broken_job_counts(start):
    """In a TRACE, and for the sum of another job's JOINs."""
    bridge = start(4)
    job = Job(bridge, 2).join()
    job.put([flow.message(DATA, length=flow.rank) for flow in job.flows])
    assert trace(bridge)[0][2] == 1
    assert jobs_before(Job(bridge, 2, job=2, qpn=0x22)) == 1


def test_a_join_says_how_many_jobs_were_there_first(two):
    open_jobs = [Job(two, 2, job=number, qpn=0x20 + number) for number in range(1, 4)]
    assert [jobs_before(job) for job in open_jobs] == [0, 1, 2]
    open_jobs.pop(0).leave()
    assert jobs_before(Job(two, 2, job=9, qpn=0x40)) == 2
    assert trailer_of(open_jobs[0].say(DATA))[1] >> 16 == trailer_of(open_jobs[0].say(LEAVE))[1] >> 16 == 0


def test_a_join_tells_apart_jobs_that_come_together(two):
    """Each job's first JOIN counts, whichever of them is the first to be complete."""
    first, second = (Job(two, 2, job=number, qpn=0x20 + number) for number in (1, 2))
    for job in first, second:
        job.flows[0].say(JOIN)
        two.settle()
    said = []
    for job in second, first:
        job.flows[1].say(JOIN)
        got = two.settle()
        assert [len(frames) for frames in got] == [1, 1]
        said.append([trailer_of(payload_of(frames[0]))[1] >> 16 for frames in got])
    assert said == [[1, 1], [0, 0]]
