# SPDX-License-Identifier: Apache-2.0
"""A full disk, for every file that is written: a line that names the file and the reason, and an exit code."""
import os
import subprocess

import pytest
from conftest import LAB

FULL = "/dev/full"  # it opens, and takes not a single byte
NO_ROOM = "No space left on device"
PERF = os.environ.get("INA_PERF", "build/ina-perf")
ALONE = dict(os.environ, INA_RANK="0", INA_RANKS="1")


def test_what_the_bridge_writes(lab):
    """The commands' output arrives, followed by the name of the file that could not be written."""
    run = lab.run("--quiet", "--pcap", FULL, n=1, command="echo done")
    assert run.returncode == 125, run.err
    assert run.out == "[0] done\n"
    line, end = run.err.splitlines()
    assert line.startswith("ina-bridge: ") and FULL in line and NO_ROOM in line
    assert end == "ina-lab: the bridge failed"


def test_what_the_commands_print(lab):
    with open(FULL, "w") as full:
        run = subprocess.run([LAB, "run", "-q", "-n", "1", "--aggregator", "off", "--", "sh", "-c", "echo hello; sleep 50",
                              str(lab.folder)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=40, env=lab.environment)
    assert run.returncode == 125
    assert run.stderr == f"ina-lab: cannot write the commands' output: {NO_ROOM}\n"


def test_doctor():
    with open(FULL, "w") as full:
        run = subprocess.run([LAB, "doctor"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=20)
    assert run.returncode == 125
    assert run.stderr == "ina-lab: could not write all of stdout: check the free space\n"


def test_json_of_ina_perf():
    run = subprocess.run([PERF, "-e", "4", "--json", FULL], capture_output=True, text=True, timeout=20, env=ALONE)
    assert run.returncode == 1
    assert run.stderr == f"ina-perf: cannot write {FULL}: {NO_ROOM}\n"


@pytest.mark.parametrize("arguments", [["-e", "4"], ["--doctor"]])
def test_table_of_ina_perf(arguments):
    with open(FULL, "w") as full:
        run = subprocess.run([PERF, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=20, env=ALONE)
    assert run.returncode == 1
    assert run.stderr == "ina-perf: could not write all of stdout: check the free space\n"
