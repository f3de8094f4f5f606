# SPDX-License-Identifier: Apache-2.0
"""The processors of the bridge, and those of the hosts."""

import os
import signal

import pytest
from conftest import processes_with

ALL = os.sched_getaffinity(0)


def bridges(lab):
    return [pid for pid, line in processes_with("ina-bridge").items() if str(lab.folder) in line]


def processors(lab, *options, aggregator):
    """The processors of the bridge, and those of two hosts."""
    process = lab.start(*options, aggregator=aggregator, command="echo up; sleep infinity")
    # All have been assigned when the commands run, if not before.
    assert process.stdout.readline().endswith("up\n")
    bridge, = bridges(lab)
    found = [os.sched_getaffinity(pid) for pid in (bridge, lab.kernel(0), lab.kernel(1))]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)
    return found


@pytest.mark.skipif(len(ALL) < 2, reason="one processor is all there is")
def test_the_simulated_rtl_has_one_to_itself(lab):
    bridge, *hosts = processors(lab, aggregator="rtl")
    assert len(bridge) == 1
    assert hosts == [ALL - bridge] * 2


@pytest.mark.parametrize("aggregator", ["model", "off"])
def test_other_switches_share_all(lab, aggregator):
    assert processors(lab, aggregator=aggregator) == [ALL] * 3


@pytest.mark.parametrize("aggregator", ["rtl", "off"])
def test_in_virtual_time_all_are_on_one(lab, aggregator):
    bridge, *hosts = processors(lab, "--virtual-time", aggregator=aggregator)
    assert len(bridge) == 1
    assert hosts == [bridge] * 2
