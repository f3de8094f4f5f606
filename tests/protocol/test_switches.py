# SPDX-License-Identifier: Apache-2.0
"""Several switches: a switch of level 1 with an uplink. Above it there are only plain switches, so the hosts of the other leaf
make what comes from above."""
import pytest

from flows import Job, check_made, check_raw, patience, quiet, wait_until_it_passes
from roce import DATA, JOIN, LEAVE, asks_for_ack, mac, payload_of, trailer_of

ELEMENTS = bytes(range(16))
OTHERS_OFF = [word for name in ("leaf1", "spine0") for word in ("--at", f"{name},aggregator=off")]
LOCAL, BORDER, DOWN = 0, 1, 3  # ranks: 0 and 1 are below the switch, 2 and 3 are elsewhere


def place(rank):
    """Connections 1 -> 2 and 3 -> 0 turn round at level 2. The job has two children at each level."""
    return (2 if rank % 2 else 1) << 24 | 2 << 8 | 2


@pytest.fixture
def leaf(start):
    return start(4, "--topology", "leaf-spine:2x2", *OTHERS_OFF)


def put_up(job):
    """The JOINs from below. Returns the part, which leaves in the border's packet."""
    sent = [job.flows[rank].say(JOIN, remaining=place(rank)) for rank in (LOCAL, BORDER)]
    got = job.bridge.settle()
    assert [len(frames) for frames in got] == [0, 0, 1, 0]
    check_made(got[2][0], sent[BORDER])
    assert trailer_of(payload_of(got[2][0]))[0] == 2
    return got[2][0]


def joined(bridge):
    """A job that has its down flow."""
    job = Job(bridge, 4)
    put_up(job)
    job.flows[DOWN].say(JOIN, remaining=place(DOWN), contributors=4)
    got = bridge.settle()
    assert [[trailer_of(payload_of(frame))[0] for frame in frames] for frames in got] == [[4], [4], [], []]
    return job


def broken(bridge):
    """A job in which ranks below the switch differ. Returns it, and the packets that broke it, which came raw."""
    job = joined(bridge)
    sent = [job.flows[rank].say(DATA, ELEMENTS, remaining=rank) for rank in (LOCAL, BORDER)]
    got = bridge.settle()
    check_raw(got[1] + got[2], sent)
    return job, sent


@pytest.mark.parametrize("rank", [LOCAL, BORDER])
def test_past_a_gap_before_the_sum_of_all_joins_breaks_the_job(leaf, rank):
    """The border's JOIN has left with the part. But the sum of all ranks' JOINs has not come."""
    job = Job(leaf, 4)
    put_up(job)
    flow = job.flows[rank]
    frame = flow.packet(flow.message(DATA, ELEMENTS), 1)
    assert frame in flow.put(frame)
    above = job.flows[DOWN]
    frame = above.packet(above.message(JOIN, remaining=place(DOWN)))
    assert above.put(frame) == [frame]  # the job is broken


def test_the_down_flow_is_taken_when_its_part_has_left(leaf):
    """A packet from above that comes sooner is dropped."""
    job = joined(leaf)
    above = job.flows[DOWN]
    frame = above.packet(above.message(DATA, ELEMENTS, contributors=4))
    assert above.put(frame) == []
    sent = [job.flows[rank].say(DATA, ELEMENTS) for rank in (LOCAL, BORDER)]
    assert [len(frames) for frames in leaf.settle()] == [0, 0, 1, 0]
    assert job.flows[LOCAL].put(sent[LOCAL]) == []  # waits for DOWN
    leaf.send(DOWN, frame)
    got = leaf.settle()
    assert [[trailer_of(payload_of(each))[0] for each in frames] for frames in got] == [[4], [4], [], []]


def test_the_down_flow_of_a_broken_job_is_taken_without_a_part(leaf):
    job, _ = broken(leaf)
    above = job.flows[DOWN]
    for _ in range(2):  # the second one has no packet from below
        frame = above.go_on(above.message(DATA, ELEMENTS), udp_checksum=0x1234)
        raw, = leaf.settle()[above.to]
        check_raw([raw], [frame])


def test_raw_packets_of_a_broken_job_pass_when_they_come_again(leaf):
    job, sent = broken(leaf)
    above = job.flows[DOWN]
    sent.append(above.say(DATA, ELEMENTS))
    leaf.settle()
    for rank, frame in zip((LOCAL, BORDER, DOWN), sent):
        assert job.flows[rank].put(frame) == [frame]


@pytest.mark.parametrize("rank", [LOCAL, BORDER, DOWN])
def test_past_a_gap_of_a_broken_job_each_flow_passes(leaf, rank):
    job, _ = broken(leaf)
    flow = job.flows[rank]
    frame = flow.packet(flow.message(DATA, ELEMENTS), 1)
    assert flow.put(frame) == [frame]


def test_sums_of_a_broken_job_are_sent_again(leaf):
    job, _ = broken(leaf)
    for rank, contributors in ((LOCAL, 4), (BORDER, 2), (DOWN, 4)):
        flow = job.flows[rank]
        join = flow.packet(flow.message(JOIN, number=0, remaining=place(rank)), -1 if rank == DOWN else -2)
        again, = flow.put(join)
        assert trailer_of(payload_of(again))[0] == contributors and asks_for_ack(again)


def test_in_a_jobs_quiet_time_its_packets_at_other_ports_evict_no_flow(start):
    """They are dropped, but they are no suspects: otherwise the next ones would pass."""
    bridge = start(6, "--topology", "leaf-spine:2x3", *OTHERS_OFF, *quiet(1), *patience(0))
    job = Job(bridge, 2).join()
    job.put([flow.message(DATA, ELEMENTS, length=flow.rank) for flow in job.flows])
    sent = [flow.say(LEAVE) for flow in job.flows]
    got = bridge.settle()
    check_raw([got[1][0], got[0][0]], sent)
    flow = job.flows[0]
    frame = flow.packet(flow.message(DATA, ELEMENTS))
    moved = frame[:6] + mac(2) + frame[12:]
    for _ in range(12):
        bridge.send(2, moved)
    bridge.send(0, frame)
    assert not any(bridge.settle())
    wait_until_it_passes(bridge, 2, moved)
    counts = bridge.end()["aggregator"]
    assert counts["elsewhere_dropped"] >= 12 and counts["suspects_dropped"] == 0
    assert counts["jobs_broken"] == 1
