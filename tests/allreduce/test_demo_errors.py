# SPDX-License-Identifier: Apache-2.0
"""The demo scripts when something is wrong: one clear line and an exit code, also if a host fails or an element is wrong. They
run in a copy of their folder with a stand-in for ina-lab, whose output each test sets.
"""
import json
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "allreduce"
RESULT = {"time_us": 10.0, "wire_bytes": 5e6, "wrong": 0}
ROW = {"size_bytes": 1 << 20, "count": 1 << 18, "result": RESULT, "ring": {**RESULT, "time_us": 20.0}, "speed_up": 2.0}
STATS = {"aggregator": {"frames_in": 1, "packets_joined": 1, "icrc_dropped": 0, "duplicates_answered": 0}}


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "allreduce").mkdir(parents=True)
    (folder / ".kernel").mkdir()
    (folder / "build").mkdir()
    for name in ("demo.py", "demo-multigpu.sh", "plot-multigpu.py"):
        shutil.copy(SCRIPTS / name, folder / "allreduce" / name)
    write_program(folder / ".kernel/linux", "echo 6.1.0")
    write_program(folder / "build/ina-perf", "exit 0")
    return folder


def write_program(path, body):
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def stand_in(project, rows=(ROW,), code=0, text="a host said something"):
    """A replacement for ina-lab that writes the table and the counters to the given files."""
    (project / "table").write_text(json.dumps({"rows": rows, "iterations": 1}))
    (project / "stats").write_text(json.dumps(STATS))
    write_program(project / "build/ina-lab", f"""
while [ $# -gt 0 ]; do
    case $1 in --json) cp "{project}/table" "$2" ;; --stats) cp "{project}/stats" "$2" ;; esac
    shift
done
echo "{text}" >&2
exit {code}""")


def call(project, script, *arguments, aggregator="model"):
    return subprocess.run([project / "allreduce" / script, *arguments], capture_output=True, text=True, timeout=60, cwd=project,
                          env={"PATH": "/usr/bin:/bin", "INA_AGGREGATOR": aggregator})


def refused(run, words):
    assert run.returncode != 0 and len(run.stderr.splitlines()) == 1 and words in run.stderr, (run.returncode, run.stderr)


@pytest.mark.parametrize("script", ["demo.py", "demo-multigpu.sh"])
@pytest.mark.parametrize("arguments, words", [
    (["/nowhere"], "/nowhere has no ina-lab"), (["build", "4K", "more"], "at most two arguments")])
def test_arguments(project, script, arguments, words):
    stand_in(project)
    refused(call(project, script, *arguments), words)


@pytest.mark.parametrize("script", ["demo.py", "demo-multigpu.sh"])
def test_an_aggregator_that_there_is_not(project, script):
    stand_in(project)
    refused(call(project, script, str(project / "build"), aggregator="asic"), "INA_AGGREGATOR is 'asic'")


@pytest.mark.parametrize("script", ["demo.py", "demo-multigpu.sh"])
def test_a_folder_that_cannot_be_written(project, script):
    stand_in(project)
    (project / "demo").write_text("a file of that name")
    refused(call(project, script, str(project / "build")), "demo")


@pytest.mark.parametrize("script", ["demo.py", "demo-multigpu.sh"])
def test_a_host_fails(project, script):
    stand_in(project, code=3, text="ina-lab: rank 2 ended with exit code 3")
    run = call(project, script, str(project / "build"))
    assert run.returncode not in (0, 127), run.stderr
    assert "rank 2 ended with exit code 3" in run.stdout + run.stderr and "Traceback" not in run.stderr


def test_all_is_right(project):
    stand_in(project)
    run = call(project, "demo.py", str(project / "build"))
    assert run.returncode == 0, run.stderr
    assert "elements of the sums are right" in run.stdout


def test_elements_are_wrong(project):
    stand_in(project, rows=[{**ROW, "ring": {**RESULT, "wrong": 7}}])
    run = call(project, "demo.py", str(project / "build"))
    assert run.returncode == 1 and "elements are WRONG" in run.stdout
