# SPDX-License-Identifier: Apache-2.0
"""The quiet time after a reset. The bridge resets its aggregator each time after a given number of frames."""
import time

import pytest

from flows import Job, quiet, wait_until_it_passes
from roce import (DATA, JOIN, SEND_LAST_INVALIDATE, SEND_ONLY_IMMEDIATE, SEND_ONLY_INVALIDATE, WRITE_ONLY, packet, payload_of,
                  trailer_of)

ELEMENTS = bytes(range(16))


def fresh(start, frames, *options):
    """A bridge that has a job, and whose aggregator is reset after the next `frames` frames."""
    bridge = start(2, "--reset-every", 1000, *options)
    job = Job(bridge, 2).join()
    filler = packet(0, 1, 0, bytes(16), qpn=0xABCDE)
    had = bridge.awake_frames + 2
    for _ in range(1000 - had - frames):
        bridge.send(0, filler)
    bridge.settle()
    return bridge, job


def test_after_a_reset_marked_sends_are_dropped(start):
    """DATA of the lost job, both resent and new; JOINs; and packets of unknown flows."""
    bridge, job = fresh(start, 0, *quiet(0.5))
    flow = job.flows[0]
    frames = [flow.packet(flow.message(DATA, ELEMENTS), d) for d in (-1, 0, 1)]
    frames += [flow.packet(flow.message(JOIN), -1), packet(0, 1, 5, bytes(16), qpn=0x99),
               flow.packet(bytes(48), 5, ipv6=True, vlan=5)]
    frames += [flow.packet(bytes(52), 0, opcode) for opcode in range(SEND_ONLY_IMMEDIATE + 1)]
    for frame in frames:
        bridge.send(0, frame)
    assert bridge.settle() == [[], []]
    stats = bridge.end()
    assert stats["engine_resets"] == 1
    assert stats["aggregator"]["quiet_dropped"] == len(frames)


@pytest.mark.parametrize("form", [{}, {"ipv6": True}, {"vlan": 3}], ids=str)
def test_after_a_reset_all_else_passes(start, form):
    bridge, job = fresh(start, 1, *quiet(0.5))
    flow = job.flows[0]
    bridge.settle()
    bridge.send(0, packet(0, 1, 0, bytes(16), qpn=0xABCDE))
    bridge.settle()
    for frame in (flow.packet(ELEMENTS, 0, tos=0, **form), flow.packet(ELEMENTS, 0, WRITE_ONLY, **form),
                  flow.packet(bytes(20), 0, SEND_LAST_INVALIDATE, **form), flow.packet(bytes(20), 0, SEND_ONLY_INVALIDATE, **form),
                  flow.packet(bytes(48), 0, tos=0x02, **form)):
        assert flow.put(frame) == [frame]


def test_the_quiet_time_lasts_for_its_value_to_twice_that(start):
    """The upper limit leaves time for a busy machine."""
    quiet_s = 0.5
    bridge, _ = fresh(start, 0, *quiet(quiet_s))
    began = time.monotonic()
    wait_until_it_passes(bridge, 0, packet(0, 1, 0, bytes(16), qpn=0xABCDE))
    assert quiet_s < time.monotonic() - began < 2 * quiet_s + 3
    assert bridge.end()["engine_resets"] == 1


def test_after_the_quiet_time_jobs_are_aggregated_again(start):
    bridge, _ = fresh(start, 0)
    assert wait_until_it_passes(bridge, 0, packet(0, 1, 0, bytes(16), qpn=0xABCDE)) >= 1
    assert Job(bridge, 2, job=77).join().is_summed()


def test_after_the_quiet_time_nothing_is_known_of_before(start):
    bridge, job = fresh(start, 0)
    wait_until_it_passes(bridge, 0, packet(0, 1, 0, bytes(16), qpn=0xABCDE))
    for flow in job.flows:
        for d in (-1, 0):
            frame = flow.packet(flow.message(DATA, ELEMENTS), d)
            assert flow.put(frame) == [frame]


def test_a_reset_ends_sums_that_were_under_way(start):
    """A packet that waited is lost; no part of it comes later."""
    bridge, job = fresh(start, 2)
    early, late = job.flows
    early.say(DATA, ELEMENTS)
    bridge.settle()
    bridge.send(0, packet(0, 1, 0, bytes(16), qpn=0xABCDE))
    bridge.settle()
    wait_until_it_passes(bridge, 0, packet(0, 1, 1, bytes(16), qpn=0xABCDE))
    frame = late.packet(late.message(DATA, ELEMENTS))
    assert late.put(frame) == [frame]
    again = Job(bridge, 2, job=5, qpn=0x77)
    for flow in again.flows:
        flow.say(JOIN)
    assert [trailer_of(payload_of(got[0]))[0] for got in bridge.settle()] == [2, 2]
