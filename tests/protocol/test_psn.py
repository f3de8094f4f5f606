# SPDX-License-Identifier: Apache-2.0
"""PSNs: the table row by row, and the rules after it."""
import pytest

from flows import SLOTS, Flow, Job, check_made, check_probe, check_raw
from roce import (DATA, JOB, JOIN, LEAVE, SEND_FIRST, SEND_LAST, SEND_MIDDLE, asks_for_ack, payload_of,
                  psn_of, trailer_of)

ELEMENTS = bytes(range(16))
PSNS = 1 << 24


def damaged(frame, at=-5):
    """The frame with one wrong bit in its payload, so that its iCRC is wrong."""
    return frame[:at] + bytes([frame[at] ^ 4]) + frame[at + 1:]


def waiting(two, count):
    """A job whose first rank has sent `count` messages, which wait for the second rank's."""
    job = Job(two, 2).join()
    sent = [job.flows[0].say(DATA, ELEMENTS) for _ in range(count)]
    assert two.settle() == [[], []]
    return job, sent


def test_the_next_psn_is_taken(two):
    job, sent = waiting(two, 3)
    for _ in range(3):
        job.flows[1].say(DATA, ELEMENTS)
    for frame, made_of in zip(two.settle()[1], sent):
        check_made(frame, made_of)
        assert trailer_of(payload_of(frame))[0] == 2


def test_a_packet_without_room_is_dropped_until_it_comes_again(two):
    job, _ = waiting(two, SLOTS)
    early, late = job.flows
    payload = early.message(DATA, ELEMENTS)
    assert early.put(early.packet(payload)) == []
    for _ in range(SLOTS):
        late.say(DATA, ELEMENTS)
    assert [len(got) for got in two.settle()] == [SLOTS, SLOTS]
    early.go_on(payload)
    late.say(DATA, ELEMENTS)
    assert [trailer_of(payload_of(got[0]))[0] for got in two.settle()] == [2, 2]
    assert two.end()["aggregator"]["no_room_dropped"] == 1


@pytest.mark.parametrize("d", [1, 2, 50, SLOTS - 1])
def test_past_a_gap_a_probe_goes_in_its_place(two, d):
    job = Job(two, 2).join()
    flow = job.flows[0]
    frame = flow.packet(flow.message(DATA, ELEMENTS), d)
    check_probe(flow.put(frame), frame)
    flow.number -= 1
    assert job.is_summed()


@pytest.mark.parametrize("d", [1, SLOTS - 1])
def test_past_a_gap_of_a_broken_job_it_passes(two, d):
    job = Job(two, 2).join()
    job.put([flow.message(DATA, ELEMENTS, length=flow.rank) for flow in job.flows])
    flow = job.flows[0]
    frame = flow.packet(flow.message(DATA, ELEMENTS), d)
    assert flow.put(frame) == [frame]


def test_past_a_gap_before_the_sum_of_the_joins_breaks_the_job(two):
    """Such a flow was learned from a copy of a JOIN. The packet passes, and so does the JOIN, raw."""
    flow = Flow(two, 0, 1)
    join = flow.say(JOIN)
    assert two.settle() == [[], []]
    frame = flow.packet(flow.message(DATA, ELEMENTS), 1)
    got = flow.put(frame)
    assert frame in got
    check_raw([other for other in got if other != frame], [join])
    late = Flow(two, 1, 0, rank=1)
    frame = late.packet(late.message(JOIN))
    assert late.put(frame) == [frame]  # refused, because the job is broken


@pytest.mark.parametrize("d", [-1, -2, -40])
def test_what_waits_in_the_queue_is_not_taken_twice(two, d):
    job, sent = waiting(two, 40)
    assert job.flows[0].put(sent[d]) == []
    for _ in range(40):
        job.flows[1].say(DATA, ELEMENTS)
    assert [psn_of(frame) for frame in two.settle()[1]] == [psn_of(frame) for frame in sent]


def summed(two, count, ranks=2):
    """A job, and rank 0's last `count` packets with their sums."""
    job = Job(two, ranks).join()
    pairs = []
    for turn in range(count):
        sent, got = job.put([flow.message(DATA, bytes([turn, flow.rank] * 8)) for flow in job.flows])
        pairs.append((sent[0], got[0]))
    return job, pairs


@pytest.mark.parametrize("d", [-1, -2, -20])
def test_what_was_summed_is_answered_with_the_sum(two, d):
    job, pairs = summed(two, 20)
    frame, total = pairs[d]
    again = job.flows[0].put(frame)
    assert len(again) == 1
    check_made(again[0], frame)
    assert payload_of(again[0]) == payload_of(total) != payload_of(frame)
    assert asks_for_ack(again[0])
    assert job.is_summed()


def test_a_join_is_answered_with_the_sum(two):
    job = Job(two, 2)
    sent, got = job.put([flow.message(JOIN) for flow in job.flows])
    assert payload_of(job.flows[0].put(sent[0])[0]) == payload_of(got[0])


def test_the_whole_history_is_answered(two):
    job, pairs = summed(two, SLOTS)
    for frame, total in pairs[::17] + pairs[:1]:
        again = job.flows[0].put(frame)
        assert [payload_of(each) for each in again] == [payload_of(total)]


@pytest.mark.parametrize("size", [16, 32, 64, 112, 4096])
def test_an_answer_never_has_another_length_than_its_sum(two, size):
    """If the lengths differ, nothing passes: the following bytes would be another job's."""
    secret = Job(two, 2, job=JOB + 1, qpn=0x66).join()
    for _ in range(3):
        secret.say(DATA, [bytes([0x55] * 4000)] * 2)
    secret.leave()
    job = Job(two, 2).join()  # in the same context
    flow = job.flows[0]
    total = job.say(DATA, [ELEMENTS] * 2)
    assert len(total) == 64
    for d in (-1, -2):
        frame = flow.packet(flow.message(DATA, ELEMENTS)[:16] + bytes(size - 16), d)
        got = flow.put(frame)
        if size == (64 if d == -1 else 48):
            assert len(got) == 1
        else:
            assert got == [], f"{len(payload_of(got[0]))} bytes for a sum of {64 if d == -1 else 48}"
    assert job.flows[0].put(flow.packet(flow.message(DATA, ELEMENTS), -1))[0][-20:-4] == total[-16:]
    assert two.end()["aggregator"]["answers_differ"] == (1 if size == 64 else 2)


@pytest.mark.parametrize("age", [SLOTS + 1, SLOTS + 2, 2 * SLOTS])
def test_what_is_older_than_the_history_is_answered_with_a_probe(two, age):
    job = Job(two, 2).join()
    sent = []
    for _ in range(4):  # within the window
        sent += [[flow.say(DATA, ELEMENTS) for flow in job.flows][0] for _ in range(SLOTS // 2)]
        assert len(two.settle()[1]) == SLOTS // 2
    check_probe(job.flows[0].put(sent[-age]), sent[-age])
    assert two.end()["aggregator"]["duplicates_old"] == 1


def test_before_the_join_a_probe_goes_in_its_place(two):
    """PSNs that the flow never had: the connection used them before its JOIN."""
    flow = Job(two, 2).join().flows[0]
    frame = flow.packet(flow.message(DATA, ELEMENTS), -2)
    check_probe(flow.put(frame), frame)


def test_what_was_sent_raw_passes_when_it_comes_again(two):
    job = Job(two, 2).join()
    sent, got = job.put([flow.message(DATA, ELEMENTS, length=flow.rank) for flow in job.flows])
    check_raw(got, sent)
    for flow, frame in zip(job.flows, sent):
        assert flow.put(frame) == [frame]


@pytest.mark.parametrize("d", [0, -1, 1, SLOTS, -2 * SLOTS - 1])
def test_a_packet_of_a_flow_with_a_wrong_icrc_is_dropped(two, d):
    job = Job(two, 2).join()
    flow = job.flows[0]
    frame = damaged(flow.packet(flow.message(DATA, ELEMENTS), d))
    assert flow.put(frame) == []
    flow.number -= 1
    assert job.is_summed()
    assert two.end()["aggregator"]["icrc_dropped"] == 1


def test_a_length_that_lies_is_a_wrong_icrc(two):
    job = Job(two, 2).join()
    flow = job.flows[0]
    frame = flow.packet(flow.message(DATA, ELEMENTS))
    assert flow.put(frame[:-1]) == []
    assert flow.put(frame[:-16]) == []
    flow.number -= 1
    assert job.is_summed()


def test_behind_a_gap_each_packet_asks_for_an_ack(two):
    """Up to the next packet that already asks for one."""
    job = Job(two, 2).join()
    flow, other = job.flows
    flow.put(flow.packet(flow.message(DATA, ELEMENTS), 1))
    flow.number = 1
    wanted = []
    for asks in (False, False, True, False):
        flow.go_on(flow.message(DATA, ELEMENTS), ack=asks)
        other.say(DATA, ELEMENTS)
        got = two.settle()
        wanted.append(asks_for_ack(got[1][0]))
        assert not asks_for_ack(got[0][0])
    assert wanted == [True, True, True, False]


def test_past_a_gap_raw_packets_ask_for_an_ack_too(two):
    job = Job(two, 2).join()
    flow, other = job.flows
    flow.put(flow.packet(flow.message(DATA, ELEMENTS), 1))
    sent = [each.go_on(each.message(DATA, ELEMENTS, length=each.rank)) for each in job.flows]
    got = two.settle()
    check_raw([got[1][0], got[0][0]], sent)
    assert asks_for_ack(got[1][0]) and not asks_for_ack(got[0][0])
    wanted = []
    for asks in (False, True, False):
        frame = flow.go_on(flow.message(DATA, ELEMENTS), ack=asks)
        raw, = two.settle()[1]
        check_raw([raw], [frame])
        wanted.append(asks_for_ack(raw))
    assert wanted == [True, True, False]


def test_past_a_gap_of_a_broken_job_no_packet_is_made_to_ask(two):
    """The packet past the gap has passed, and its receiver can ask for what it lacks."""
    job = Job(two, 2).join()
    job.put([flow.message(DATA, ELEMENTS, length=flow.rank) for flow in job.flows])
    flow = job.flows[0]
    ahead = flow.packet(flow.message(DATA, ELEMENTS), 1)
    assert flow.put(ahead) == [ahead]
    frame = flow.say(DATA, ELEMENTS)
    raw, = two.settle()[1]
    check_raw([raw], [frame])
    assert not asks_for_ack(raw)


def test_psns_wrap(two):
    job = Job(two, 2)
    for flow, psn in zip(job.flows, (PSNS - 2, PSNS - 1)):
        flow.next_psn = psn
    job.join()
    sent, got = job.put([flow.message(DATA, ELEMENTS) for flow in job.flows])
    for _ in range(3):
        assert job.is_summed()
    for flow, frame, total in zip(job.flows, sent, got):
        assert payload_of(flow.put(frame)[0]) == payload_of(total)
        late = flow.packet(flow.message(DATA, ELEMENTS), 2)
        check_probe(flow.put(late), late)


def test_a_probe_never_comes_near_a_psn_that_is_due(two):
    """Even if its PSN wraps."""
    job = Job(two, 2)
    flow = job.flows[0]
    flow.next_psn = PSNS - (1 << 22)
    job.join()
    frame = flow.packet(flow.message(DATA, ELEMENTS), 5)
    got = flow.put(frame)
    check_probe(got, frame)
    assert psn_of(got[0]) == 6


def test_lengths_between_48_and_4096_are_summed(two):
    job = Job(two, 2).join()
    for size in (0, 16, 192, 4000, 4048):
        assert job.say(DATA, [bytes([1]) * size] * 2)[32:-16] == bytes([2]) * size


def test_a_middle_packet_may_be_16_bytes(two):
    job = Job(two, 2).join()
    whole = [flow.message(DATA, ELEMENTS) for flow in job.flows]
    for opcode, part in ((SEND_FIRST, slice(0, 32)), (SEND_MIDDLE, slice(32, 48)), (SEND_LAST, slice(48, 64))):
        _, got = job.put([message[part] for message in whole], opcode)
    assert trailer_of(payload_of(got[0]))[0] == 2
    assert job.is_summed()
    job.say(LEAVE)
    unknown = job.flows[0].packet(ELEMENTS)
    assert job.flows[0].put(unknown) == [unknown]
