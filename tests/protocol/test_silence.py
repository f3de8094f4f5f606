# SPDX-License-Identifier: Apache-2.0
"""Silent jobs: which packets keep a job alive, and the end of a job without them."""
import time

from bridge import PATIENCE_S
from flows import CONTEXTS, LEAST, SLOTS, Flow, Job, check_raw, patience
from roce import DATA, JOIN, SEND_ONLY_IMMEDIATE, mac, payload_of, trailer_of

ELEMENTS = bytes(range(16))
TTL_S = 0.3
PAUSE_S = TTL_S / 4


def damaged(frame):
    return frame[:-1] + bytes([frame[-1] ^ 1])


def waiting(bridge, qpn=0x11):
    """A job of two ranks. The first one's message waits, so it comes raw when the job expires."""
    job = Job(bridge, 2, job=qpn, qpn=qpn).join()
    return job, job.flows[0].say(DATA, ELEMENTS)


def test_a_silent_job_is_forgotten(start):
    bridge = start(2, "--job-ttl", TTL_S)
    job, frame = waiting(bridge)
    check_raw([bridge.receive(1)], [frame])
    frame = job.flows[0].packet(job.flows[0].message(DATA, ELEMENTS))
    assert job.flows[0].put(frame) == [frame]  # of a flow that is unknown
    assert waiting(bridge)[0].flows[0].number == 2
    assert bridge.end()["aggregator"]["jobs_expired"] == 1


def test_a_job_is_not_forgotten_sooner_where_contexts_are_free(start):
    ttl_s = 1
    bridge = start(2, "--job-ttl", ttl_s, "--idle-ttl", ttl_s / 5)
    _, frame = waiting(bridge)
    began = time.monotonic()
    check_raw([bridge.receive(1)], [frame])
    assert time.monotonic() - began > ttl_s / 2
    assert bridge.end()["aggregator"]["jobs_expired"] == 1


def test_a_job_that_waits_for_ranks_is_forgotten(start):
    bridge = start(2, "--job-ttl", TTL_S)
    job = Job(bridge, 2)
    joins = [flow.packet(flow.message(JOIN)) for flow in job.flows]
    bridge.send(0, joins[0])
    end = time.monotonic() + 3 * TTL_S
    while time.monotonic() < end:
        assert bridge.settle() == [[], []], "its JOIN is sent on"
        time.sleep(PAUSE_S)
    bridge.send(1, joins[1])
    assert bridge.settle() == [[], []]
    bridge.send(0, joins[0])
    assert [len(got) for got in bridge.settle()] == [1, 1]
    counters = bridge.end()["aggregator"]
    assert (counters["jobs_opened"], counters["jobs_expired"]) == (2, 1)


def test_a_silent_job_is_forgotten_sooner_where_a_context_is_lacked(start):
    bridge = start(3, "--idle-ttl", TTL_S)
    jobs = [Job(bridge, 2, job=qpn, qpn=qpn).join(exponent=-LEAST) for qpn in range(1, CONTEXTS + 1)]
    raws = [job.flows[0].say(DATA, ELEMENTS) for job in jobs]
    end = time.monotonic() + 4 * TTL_S
    while time.monotonic() < end:
        assert not any(bridge.settle()), "nobody lacks a context"
        time.sleep(PAUSE_S)
    other = Flow(bridge, 2, 1, ranks=2, job=99, qpn=99)
    join = other.packet(other.message(JOIN, exponent=-LEAST))
    wait_for_raws(bridge, other.port, [join], raws)
    assert other.put(join) == []  # there is room now
    assert bridge.end()["aggregator"]["jobs_expired"] == len(jobs)


def test_retransmissions_are_life(start):
    """One that waits in the queue, one that is answered, one past a gap: each belongs to a separate job."""
    ttl_s = 1  # long enough that only a standstill of the machine would count as silence
    bridge = start(2, "--job-ttl", ttl_s)
    jobs = [waiting(bridge, qpn) for qpn in (1, 2, 3)]
    own = [job.flows[0] for job, _ in jobs]
    frames = [jobs[0][1], own[1].packet(own[1].message(JOIN, number=0), -2),
              own[2].packet(own[2].message(DATA, ELEMENTS, number=3), 2)]
    end = time.monotonic() + 2.5 * ttl_s
    while time.monotonic() < end:
        for frame in frames:
            bridge.send(0, frame)
        bridge.settle()
        time.sleep(ttl_s / 20)
    for job, _ in jobs:
        job.flows[1].say(DATA, ELEMENTS)
    assert [trailer_of(payload_of(frame))[0] for frame in bridge.settle()[0]] == [2, 2, 2]


def test_unmarked_packets_are_no_life(start):
    bridge = start(2, "--steer", "all", "--job-ttl", TTL_S)
    job, raw = waiting(bridge)
    flow = job.flows[0]
    expire_in_spite_of(bridge, 0, [flow.packet(flow.message(DATA, ELEMENTS), d, tos=0) for d in (-1, 0, 2)], [raw])


def wait_for_raws(bridge, port, frames, raws):
    """Waits until the packets in the queue have come raw, while these frames keep coming."""
    end = time.monotonic() + 8 * TTL_S
    got = []
    while len(got) < len(raws):
        assert time.monotonic() < end, "they live on"
        for frame in frames:
            bridge.send(port, frame)
        got += [frame for frame in bridge.settle()[1] if frame not in frames]
        time.sleep(PAUSE_S)
    assert sorted(map(payload_of, got)) == sorted(map(payload_of, raws))


def expire_in_spite_of(bridge, port, frames, raws):
    """All jobs expire, although these frames keep coming."""
    wait_for_raws(bridge, port, frames, raws)
    assert bridge.end()["aggregator"]["jobs_expired"] == len(raws)


def test_damaged_packets_are_no_life(start):
    """A wrong iCRC on the next packet, one on a packet that is far, and a wrong length field."""
    bridge = start(2, "--job-ttl", TTL_S)
    jobs = [waiting(bridge, qpn) for qpn in (1, 2, 3)]
    flows = [job.flows[0] for job, _ in jobs]
    frames = [damaged(flows[0].packet(bytes(48))), damaged(flows[1].packet(bytes(48), 2 * SLOTS)),
              flows[2].packet(bytes(64))[:-16]]
    expire_in_spite_of(bridge, 0, frames, [raw for _, raw in jobs])


def test_suspects_are_no_life(start):
    """Patience is long, so that they evict no flow."""
    bridge = start(2, "--job-ttl", TTL_S, *patience(8 * TTL_S))
    jobs = [waiting(bridge, qpn) for qpn in (1, 2, 3)]
    flows = [job.flows[0] for job, _ in jobs]
    frames = [flows[0].packet(bytes(52), 0, SEND_ONLY_IMMEDIATE), flows[1].packet(bytes(48), SLOTS),
              flows[2].packet(flows[2].message(JOIN, job=99))]
    expire_in_spite_of(bridge, 0, frames, [raw for _, raw in jobs])


def elsewhere(flow):
    frame = flow.packet(bytes(48))
    return frame[:6] + mac(2) + frame[12:]


def test_what_comes_by_another_port_is_no_life(start):
    """Patience is long, so that these packets break no job."""
    bridge = start(3, "--job-ttl", TTL_S, *patience(8 * TTL_S))
    job, raw = waiting(bridge)
    expire_in_spite_of(bridge, 2, [elsewhere(job.flows[0])], [raw])


def test_a_host_that_has_moved_is_heard_when_its_job_has_expired(start):
    bridge = start(3, "--job-ttl", TTL_S)
    job, raw = waiting(bridge)
    frame = elsewhere(job.flows[0])
    end = time.monotonic() + PATIENCE_S
    got = []
    while frame not in got:
        assert time.monotonic() < end, "it never passes"
        bridge.send(2, frame)
        got += bridge.settle()[1]
        time.sleep(PAUSE_S)
    check_raw(got[:1], [raw])
