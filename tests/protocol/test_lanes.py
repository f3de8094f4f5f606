# SPDX-License-Identifier: Apache-2.0
"""Header, Trailer, Elements: how each lane of a sum is computed."""
import itertools
import struct

import pytest

from flows import Job, check_raw
from roce import (BFLOAT16, DATA, FLOAT16, FLOAT32, INT32, JOIN, LEAVE, MAX, MIN, SEND_FIRST, SEND_LAST,
                  SEND_MIDDLE, SUM, TRACE, message, payload_of, segments, trailer_of)

ELEMENTS = bytes(range(16))


def breaks(job, fields_0, fields_1, kind=DATA):
    """The messages of the two ranks, with these fields, come raw."""
    payloads = [flow.message(kind, ELEMENTS if kind == DATA else b"", **fields)
                for flow, fields in zip(job.flows, (fields_0, fields_1))]
    sent, got = job.put(payloads)
    check_raw(got, sent)
    assert [trailer_of(payload_of(frame))[0] for frame in got] == [1, 1]
    assert not job.is_summed()


@pytest.mark.parametrize("fields", [
    {"magic": 0x4E48}, {"version": 2}, {"number_type": FLOAT32}, {"operation": MAX}, {"ranks": 3},
    {"number": 7}, {"length": 12}, {"remaining": 1 << 31}], ids=lambda fields: "-".join(f"{n}={v:#x}" for n, v in fields.items()))
def test_equal_lanes_that_differ_break_the_job(two, fields):
    breaks(Job(two, 2).join(), {}, fields)


def test_types_that_differ_break_the_job(two):
    job = Job(two, 2).join()
    sent, got = job.put([job.flows[0].message(LEAVE), job.flows[1].message(DATA, number_type=0, operation=0)])
    check_raw(got, sent)


@pytest.mark.parametrize("fields", [
    {"magic": 0x4E48}, {"magic": 0x0149}, {"version": 0}, {"version": 2}, {"number_type": 0},
    {"number_type": 5}, {"operation": 0}, {"operation": 4}],
    ids=lambda fields: "-".join(f"{n}={v:#x}" for n, v in fields.items()))
def test_what_no_aggregator_knows_breaks_the_job(two, fields):
    breaks(Job(two, 2).join(), fields, fields)


@pytest.mark.parametrize("kind", [0, 4, 255])
def test_unknown_types_break_the_job(two, kind):
    job = Job(two, 2).join()
    sent, got = job.put([flow.message(kind) for flow in job.flows])
    check_raw(got, sent)


def test_a_trace_on_a_flow_breaks_the_job(two):
    """Its slot stays empty."""
    job = Job(two, 2).join()
    sent, got = job.put([flow.message(TRACE, bytes(48), length=0) for flow in job.flows])
    check_raw(got, sent)
    assert not job.is_summed()


@pytest.mark.parametrize("kind,exponents,want", [
    (DATA, (3, -5), 3), (DATA, (-7, -9), -7), (DATA, (-1, 0), 0), (DATA, (2**31 - 1, 5), 2**31 - 1),
    (DATA, (-2**31, -2**31), -2**31), (JOIN, (-8, -100), -8)])
def test_exponent_and_window_are_the_largest(two, kind, exponents, want):
    job = Job(two, 2)
    if kind == DATA:
        job.join()
    for ordered in (exponents, exponents[::-1]):
        _, got = job.put([flow.message(kind, exponent=own) for flow, own in zip(job.flows, ordered)])
        assert [struct.unpack_from("<i", payload_of(frame), 28)[0] for frame in got] == [want, want]
        if kind == JOIN:
            break


def test_contributors_are_added(two):
    job = Job(two, 2).join()
    sums = job.put([flow.message(DATA, ELEMENTS, contributors=count)
                    for flow, count in zip(job.flows, (1000, 0xFFFFFFFF))])[1]
    assert [trailer_of(payload_of(frame))[0] for frame in sums] == [999, 999]


def test_flags_are_ored(two):
    job = Job(two, 2).join()
    sums = job.put([flow.message(DATA, ELEMENTS, flags=flags) for flow, flags in zip(job.flows, (0x84, 0x06))])[1]
    assert [trailer_of(payload_of(frame))[1] for frame in sums] == [0x86, 0x86]


def test_message_number_and_rank_of_the_trailer_are_the_largest(start):
    job = Job(start(3), 3).join()
    payloads = [flow.message(DATA, ELEMENTS, trailer_number=number)
                for flow, number in zip(job.flows, (5, 0xFFFFFFFF, 9))]
    for frame in job.put(payloads)[1]:
        assert trailer_of(payload_of(frame)) == (3, 0, 9, 2)  # -1 is smaller


def test_what_is_equal_stays(two):
    total = Job(two, 2).join().say(DATA, [ELEMENTS] * 2, number_type=INT32, remaining=123456)
    assert total[:32] == message(0, 2, DATA, 1, ELEMENTS, INT32, 123456)[:32]


def packed(code, *values):
    raw = struct.pack(f"<{len(values)}{code}", *values)
    return raw + bytes(-len(raw) % 16)


@pytest.mark.parametrize("number_type,operation,code,operands,want", [
    (INT32, SUM, "I", [(1, 0xFFFFFFFF, 0x7FFFFFFF), (2, 3, 0x80000000)], (3, 2, 0xFFFFFFFF)),
    (INT32, MAX, "i", [(1, -2**31, -5), (2, 2**31 - 1, -6)], (2, 2**31 - 1, -5)),
    (INT32, MIN, "i", [(1, -2**31, -5), (2, 2**31 - 1, -6)], (1, -2**31, -6)),
    # 1.5 + 2.25; two subnormals; the largest number twice; -0 and -0; 1 - 1.
    (FLOAT32, SUM, "I", [(0x3FC00000, 1, 0x7F7FFFFF, 0x80000000, 0x3F800000),
                         (0x40100000, 2, 0x7F7FFFFF, 0x80000000, 0xBF800000)],
     (0x40700000, 3, 0x7F800000, 0x80000000, 0)),
    # A NaN and 1; two infinities: a canonical NaN.
    (FLOAT32, SUM, "I", [(0x7F800001, 0x7F800000), (0x3F800000, 0xFF800000)], (0x7FC00000, 0x7FC00000)),
    (FLOAT32, MAX, "I", [(0x80000000, 0xFFC12345, 0xBF800000), (0, 0x3F800000, 0xC0000000)],
     (0, 0x7FC00000, 0xBF800000)),
    (FLOAT32, MIN, "I", [(0x80000000, 0xFFC12345, 0xBF800000), (0, 0x3F800000, 0xC0000000)],
     (0x80000000, 0x7FC00000, 0xC0000000)),
    # 1 + 2^-8 is a tie, to even; so is 1 + 3 * 2^-8; NaN; the largest number twice.
    (BFLOAT16, SUM, "H", [(0x3F80, 0x3F80, 0x7F81, 0x7F7F), (0x3B80, 0x3C40, 0, 0x7F7F)],
     (0x3F80, 0x3F82, 0x7FC0, 0x7F80)),
    (BFLOAT16, MAX, "H", [(0x8000, 0xBF80, 0xFFFF), (0, 0xC000, 0)], (0, 0xBF80, 0x7FC0)),
    # 1 + 2^-11 is a tie; 65504 + 16 rounds to infinity; two subnormals; NaN.
    (FLOAT16, SUM, "H", [(0x3C00, 0x7BFF, 1, 0x7C01), (0x1000, 0x4C00, 2, 0)], (0x3C00, 0x7C00, 3, 0x7E00)),
    (FLOAT16, MIN, "H", [(0x8000, 0xBC00, 0xFFFF), (0, 0xC000, 0)], (0x8000, 0xC000, 0x7E00))])
def test_elements(two, number_type, operation, code, operands, want):
    elements = [packed(code, *values) for values in operands]
    job = Job(two, 2).join()
    for ordered in (elements, elements[::-1]):
        payload = job.say(DATA, ordered, number_type=number_type, operation=operation)
        assert payload[32:-16] == packed(code, *want)


def test_the_tree_has_one_shape_for_every_order_of_arrival(start):
    """(2^24 + 0) + (1 + 1) is 2^24 + 2; added one after the other, the ones would be lost."""
    bridge = start(4)
    job = Job(bridge, 4).join()
    elements = [packed("f", value) for value in (2.0**24, 0, 1, 1)]
    for order in itertools.islice(itertools.permutations(range(4)), 0, 24, 5):
        for rank in order:
            job.flows[rank].say(DATA, elements[rank], number_type=FLOAT32)
            got = bridge.settle()
        assert [payload_of(frames[-1])[32:-16] for frames in got] == [packed("f", 2.0**24 + 2)] * 4


@pytest.mark.parametrize("number_type,code,one,least,want", [
    (BFLOAT16, "H", 0x3F80, 0x3B80, 0x3F81), (FLOAT16, "H", 0x3C00, 0x1000, 0x3C01)])
def test_halves_are_rounded_once_behind_the_root(start, number_type, code, one, least, want):
    """Half a unit in the last place, twice, makes one unit."""
    job = Job(start(4), 4).join()
    elements = [packed(code, own, 0, 0, own) for own in (one, least, least, 0)]
    assert job.say(DATA, elements, number_type=number_type)[32:-16] == packed(code, want, 0, 0, want)


@pytest.mark.parametrize("ports", [[1, 2], [0, 3], [0, 1, 2], [1, 2, 3]], ids=str)
def test_a_port_without_a_rank_is_a_bypass(start, ports):
    minus_zero = packed("I", *[0x80000000] * 4)
    job = Job(start(4), len(ports), ports).join()
    assert job.say(DATA, [minus_zero] * len(ports), number_type=FLOAT32)[32:-16] == minus_zero


@pytest.mark.parametrize("operation,operands,flags", [
    (SUM, (2**31 - 1, 1), 1), (SUM, (-2**31, -1), 1), (SUM, (2**31 - 1, -1), 0), (MAX, (2**31 - 1, 1), 0)])
def test_overflow_sets_a_flag(two, operation, operands, flags):
    job = Job(two, 2).join()
    payload = job.say(DATA, [packed("i", own) for own in operands], operation=operation)
    assert trailer_of(payload)[1] == flags
    assert trailer_of(job.say(DATA, [packed("i", 1)] * 2))[1] == 0  # only in that message


def test_overflow_in_any_packet_of_a_message(two):
    """The trailer, in the last packet, reports an overflow of the first packet."""
    job = Job(two, 2).join()
    elements = packed("i", 2**31 - 1, *[1] * 200)
    cut = [segments(flow.message(DATA, elements), 256) for flow in job.flows]
    assert [opcode for opcode, _ in cut[0]] == [SEND_FIRST, SEND_MIDDLE, SEND_MIDDLE, SEND_LAST]
    for pieces in zip(*cut):
        _, got = job.put([payload for _, payload in pieces], pieces[0][0])
    assert [trailer_of(payload_of(frame))[:2] for frame in got] == [(2, 1), (2, 1)]
