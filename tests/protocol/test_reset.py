# SPDX-License-Identifier: Apache-2.0
"""Reset: the quiet time after it. The bridge resets its aggregator each time it has had so many frames."""
import pytest

from flows import Job, quiet, wait_until_it_passes
from roce import DATA, JOIN, WRITE_ONLY, packet, payload_of, trailer_of

ELEMENTS = bytes(range(16))


def fresh(start, frames, *options):
    """A bridge whose aggregator is reset before the next frame but `frames`, and that has a job."""
    bridge = start(2, "--reset-every", 1000, *options)
    job = Job(bridge, 2).join()
    filler = packet(0, 1, 0, bytes(16), qpn=0xABCDE)
    had = bridge.awake_frames + 2
    for _ in range(1000 - had - frames):
        bridge.send(0, filler)
    bridge.settle()
    return bridge, job


def test_after_the_quiet_time_nothing_is_known_of_before(start):
    bridge, job = fresh(start, 0)
    wait_until_it_passes(bridge, 0, packet(0, 1, 0, bytes(16), qpn=0xABCDE))
    for flow in job.flows:
        for d in (-1, 0):
            frame = flow.packet(flow.message(DATA, ELEMENTS), d)
            assert flow.put(frame) == [frame]


def test_a_reset_ends_sums_that_were_under_way(start):
    """A packet that waited is gone; none of it comes later."""
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
