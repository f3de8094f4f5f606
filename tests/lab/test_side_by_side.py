# SPDX-License-Identifier: Apache-2.0
"""Two runs on one machine at the same time: neither sees the other, and both share the machine's memory."""
import subprocess

import pytest
from conftest import LAB, lines

# Prints the number of the run, and runs an rping between its two hosts.
MEET = "echo run $RUN; if [ $INA_RANK = 0 ]; then rping -s -a $INA_BIND -C 1; else until rping -c -a $INA_ROOT -C 1; do :; done; fi"


def test_two_at_once(lab):
    """One in real, one in virtual time, each with the same addresses and names on its hosts."""
    runs = []
    for options in ([], ["--virtual-time"]):
        lab.environment["RUN"] = str(len(runs))
        runs.append(lab.start("--aggregator", "model", *options, command=MEET))
    for number, process in enumerate(runs):
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert [lines(out, rank)[0] for rank in range(2)] == [f"run {number}"] * 2


def with_little_shm(lab, mebibytes, command):
    """With its own /dev/shm of this small size."""
    try:
        subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this user may not mount: {error.stderr.decode()}")
    script = f"mount -t tmpfs -o size={mebibytes}m tmpfs /dev/shm && {command}"
    return subprocess.run(["unshare", "-rm", "bash", "-c", script, LAB, str(lab.folder)], capture_output=True, text=True,
                          timeout=90, env=lab.environment)


def test_where_shm_is_too_small_the_hosts_memory_is_elsewhere(lab):
    run = with_little_shm(lab, 64, '"$0" run -q -n 1 --memory 128 --aggregator off -- sh -c "echo there" "$1"')
    assert run.returncode == 0 and run.stdout == "[0] there\n", run.stderr


def test_when_shm_is_full_it_is_said(lab):
    """There is room for each of two runs, but not for both once they use it."""
    fill = "mount -o remount,size=100% /dev/shm; head -c 100M /dev/zero >/dev/shm/filled; sleep 50"
    one = f'"$0" run -q -n 1 --memory 160 --aggregator off --grace 0 -- sh -c "{fill}" "$1"'
    run = with_little_shm(lab, 190, f"{one} & first=$!; {one} & wait -n; code=$?; kill $first $!; wait; exit $code")
    assert run.returncode == 125
    assert "ina-lab: host 0 died" in run.stderr and "/dev/shm or /tmp mount likely just ran out of space" in run.stderr
