# SPDX-License-Identifier: Apache-2.0
"""Every way for a run to end, except success. The fixture checks each for leftovers. How long it takes depends on the machine: a
run that does not end has another exit code, 124, from its own --timeout.
"""

import os
import re
import signal
import tempfile

import pytest
from conftest import processes_with, wait_until

HOLD = "echo started; sleep 1000"
# A process of the guest that never makes a system call.
SPIN = "echo started; while :; do :; done"


def start_and_hold(lab, *options, n=2, command=HOLD):
    process = lab.start(*options, n=n, command=command)
    for _ in range(n):
        assert "started" in process.stdout.readline()
    return process


def test_a_killed_kernel(lab):
    process = start_and_hold(lab, "--grace", "1", n=3)
    os.kill(lab.kernel(1), signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 125
    assert "ina-lab: host 1 died (signal 9)" in err
    assert "1 s after the first failure (--grace), ended ranks: 0 2" in err


def test_nothing_of_a_killed_kernel_runs_on(lab):
    """The guest's processes are processes of the machine, and must end with it, including the busy ones."""
    process = start_and_hold(lab, command=SPIN)
    os.kill(lab.kernel(1), signal.SIGKILL)
    wait_until(lambda: not lab.processes_of_host(1), 60, "the guest's processes to be gone")
    assert lab.processes_of_host(0)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)


def test_a_kernel_that_does_not_come_up(lab):
    lab.environment["INA_KERNEL"] = "/bin/false"
    run = lab.run(command="exit 0")
    assert run.returncode == 125
    assert "did not come up (exit code 1)" in run.err


def test_a_host_that_cannot_be_set_up(lab):
    # The hosts have a separate /dev/shm, which does not contain this folder.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        run = lab.run(n=1, cwd=folder, command="exit 0")
    assert run.returncode == 125
    assert "host 0 did not come up (its set-up failed)" in run.err
    assert f"guest-init: cannot change to the folder {folder}" in run.err


@pytest.mark.parametrize("number, code", [
    (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_interrupted(lab, number, code):
    process = start_and_hold(lab)
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert process.returncode == code
    assert f"ina-lab: interrupted by signal {int(number)}" in err


def test_interrupted_in_virtual_time(lab):
    """Virtual time stands still when no host waits for it any more: the bridge receives the signal to end."""
    process = lab.start("--virtual-time", n=3, command="$INA_PERF -b 8 -e 64M -f 4 -n 1000")
    wait_until(lambda: " 32 " in process.stdout.readline(), 60, "all-reduces of 32 bytes")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 143
    assert "the bridge failed" not in err


@pytest.mark.parametrize("stage", ["folder", "first kernel", "last kernel"])
def test_interrupted_while_booting(lab, stage):
    begun = {"folder": lambda: list(lab.folder.iterdir()), "first kernel": lambda: lab.processes_of_host(0),
             "last kernel": lambda: lab.processes_of_host(3)}
    process = lab.start(n=4, command=HOLD)
    wait_until(begun[stage], 60, stage)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 130


def test_ina_lab_itself_is_killed(lab):
    process = start_and_hold(lab, command=SPIN)
    process.kill()
    process.communicate(timeout=300)


def test_the_bridge_dies(lab):
    process = start_and_hold(lab)
    bridge, = processes_with(f"{lab.folder}/ina-lab").keys() & processes_with("--port fd=").keys()
    os.kill(bridge, signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 125
    assert "ina-lab: the bridge exited (signal 9) before the hosts did" in err


def test_the_run_takes_too_long(lab):
    run = lab.run("--timeout", "3", command="[ $INA_RANK = 0 ] || sleep 1000")
    assert run.returncode == 124
    assert re.search(r"timed out after 3 s \(--timeout\), still running:( 0)? 1$", run.err, re.M)


def test_a_failed_rank_gives_the_others_grace(lab):
    run = lab.run("--grace", "1", command="[ $INA_RANK = 0 ] && exit 9; sleep 1000")
    assert run.returncode == 9
    assert "ina-lab: rank 0 ended with exit code 9" in run.err
    assert "1 s after the first failure (--grace), ended ranks: 1" in run.err


def test_those_who_finish_within_the_grace_may(lab):
    run = lab.run("--grace", "60", command="[ $INA_RANK = 0 ] && exit 9; sleep 1; echo done")
    assert run.returncode == 9
    assert "[1] done" in run.out
