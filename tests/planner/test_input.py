# SPDX-License-Identifier: Apache-2.0
"""Bad input: exit code 2, and one line that names the file, the field and the value."""

import re
import subprocess
from pathlib import Path

import pytest
from plans import PLAN, call

PAGE = Path(__file__).resolve().parents[2] / "docs/man/man1/ina-plan.1"
GOOD = '{"name": "a", "hosts": 2}'


def check(run, *parts):
    assert (run.returncode, run.stdout) == (2, ""), run
    assert len(run.stderr.splitlines()) == 1 and run.stderr.startswith("ina-plan: "), run.stderr
    for part in parts:
        assert part in run.stderr


@pytest.mark.parametrize("text, parts", [
    ('{', ["line 1"]),
    ('{"jobs": [' + GOOD + ']} x', ["line 1", "end of file"]),
    ('{"jobs": [], "jobs": []}', ["duplicate object key"]),
    ('[]', ["[]", "not an object"]),
    ('{}', ['"jobs"', "must be a list"]),
    ('{"jobs": []}', ['"jobs" []']),
    ('{"jobs": [3]}', ["job 0", "3", "not an object"]),
    ('{"speed": 1, "jobs": [' + GOOD + ']}', ['"speed" 1', "no such field"]),
    ('{"jobs": [{"name": "a", "hosts": 2, "speed": 7}]}', ["job 'a'", '"speed" 7', "no such field"]),
    ('{"jobs": [{"hosts": 2}]}', ["job 0", '"name"']),
    ('{"jobs": [{"name": "", "hosts": 2}]}', ["job 0", '"name" ""']),
    ('{"jobs": [{"name": "a b", "hosts": 2}]}', ["job 0", '"name" "a b"']),
    ('{"jobs": [' + GOOD + ', ' + GOOD + ']}', ["job 1", '"name" "a"', "job 0 has the same name"]),
    ('{"jobs": [{"name": "a"}]}', ["job 'a'", '"hosts"']),
    ('{"jobs": [{"name": "a", "hosts": 5}]}', ["job 'a'", '"hosts" 5', "4 hosts left of its 4"]),
    ('{"jobs": [{"name": "a", "hosts": 3}, {"name": "b", "hosts": 2}]}', ["job 'b'", '"hosts" 2', "1 hosts left"]),
    ('{"jobs": [{"name": "a", "hosts": -1}]}', ["job 'a'", '"hosts" -1']),
    ('{"jobs": [{"name": "a", "hosts": [0, 4]}]}', ["job 'a'", '"hosts" 4', "not a host", "0 to 3"]),
    ('{"jobs": [{"name": "a", "hosts": [0, "x"]}]}', ["job 'a'", '"hosts" "x"']),
    ('{"jobs": [{"name": "a", "hosts": [1, 1]}]}', ["job 'a'", '"hosts" 1', "twice"]),
    ('{"jobs": [{"name": "a", "hosts": [1]}]}', ["job 'a'", '"hosts" [1]', "at least two hosts"]),
    ('{"jobs": [{"name": "a", "hosts": 2, "server": 4}]}', ["job 'a'", '"server" 4', "not a host"]),
    ('{"jobs": [{"name": "a", "hosts": 2, "server": 1}]}', ["job 'a'", '"server" 1', "one of the job's hosts"]),
    ('{"jobs": [{"name": "a", "hosts": 2, "memory": -1}]}', ["job 'a'", '"memory" -1']),
    ('{"link-rate": 0, "jobs": [' + GOOD + ']}', ['"link-rate" 0']),
    ('{"link-rate": "-3G", "jobs": [' + GOOD + ']}', ['"link-rate" "-3G"']),
    ('{"link-rate": "3Q", "jobs": [' + GOOD + ']}', ['"link-rate" "3Q"']),
    ('{"link-rate": [], "jobs": [' + GOOD + ']}', ['"link-rate" []']),
    ('{"processing": -9e9, "jobs": [' + GOOD + ']}', ['"processing" -9']),
    ('{"contexts": -1, "jobs": [' + GOOD + ']}', ['"contexts" -1']),
    ('{"contexts": 1.5, "jobs": [' + GOOD + ']}', ['"contexts" 1.5']),
    ('{"switches": [], "jobs": [' + GOOD + ']}', ['"switches" []']),
    ('{"switches": {"S9": {}}, "jobs": [' + GOOD + ']}', ['"switches"', "no switch 'S9'"]),
    ('{"switches": {"leaf0": {"processing": 0}}, "jobs": [' + GOOD + ']}', ["switch 'leaf0'", '"processing" 0']),
    ('{"switches": {"leaf0": {"ports": 4}}, "jobs": [' + GOOD + ']}', ["switch 'leaf0'", '"ports" 4', "no such field"]),
])
def test_jobs(tmp_path, text, parts):
    path = tmp_path / "jobs.json"
    path.write_text(text)
    check(call("tree:4", path), str(path)[-100:], *parts)


@pytest.mark.parametrize("text, parts", [
    ('{"switches": [{"name": "a", "hosts": 2}, {"name": "b", "hosts": 2}]}', ["no path up and down from host 0 (at 'a') to host 2"]),
    ('{"switches": [{"name": "a", "hosts": 2}], "cables": {"host0": {"link-rate": 0}}}', ["'host0'", "link-rate", "'0'"]),
    ('{"switches": [{"name": "a", "hosts": 2}], "cables": {"host7": {"link-rate": "1G"}}}', ["'host7'"]),
    ('{"switches": [{"name": "a", "hosts": [0, 0]}]}', ["'a'", "host 0"]),
    ('{"switches": ', ["line 1"]),
])
def test_fabrics(tmp_path, text, parts):
    (tmp_path / "fabric.json").write_text(text)
    (tmp_path / "jobs.json").write_text('{"jobs": [' + GOOD + ']}')
    check(call(tmp_path / "fabric.json", tmp_path / "jobs.json"), "fabric.json", *parts)


@pytest.mark.parametrize("arguments, part", [
    ("", "takes a fabric and a file of jobs"),
    ("tree:4", "takes a fabric and a file of jobs"),
    ("tree:4 a b", "too many arguments: 'b'"),
    ("tree:4 /nowhere/jobs.json", "jobs /nowhere/jobs.json: not a readable file"),
    ("tree:0 a", "tree:0"),
    ("/nowhere/fabric.json a", "/nowhere/fabric.json"),
    ("--example torus", "not 'torus'"),
    ("--example grid tree:4", "takes a fabric and a file of jobs"),
    ("--example grid --lab b", "no job 'b'"),
    ("--example grid --lab grid", "no tree that ina-lab can run"),
    ("--trees 0 --example grid", "--trees takes a whole number from 1 to 64, not '0'"),
    ("--trees 65 --example grid", "not '65'"),
    ("--draws 0 --example grid", "--draws takes a whole number from 1 to 10000, not '0'"),
    ("--seed -1 --example grid", "--seed takes a whole number"),
])
def test_arguments(arguments, part):
    check(call(*arguments.split()), part)


def test_output_that_cannot_be_written():
    with open("/dev/full", "w") as full:
        run = subprocess.run([PLAN, "--example", "grid"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1 and run.stderr == "ina-plan: could not write all of stdout: check the free space\n"


def test_man_page():
    """The page is well formed, and has exactly the options of --help."""
    offered = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", call("--help").stdout, re.M)) - {"help", "usage"}
    described = set(re.findall(r"Fl -([a-z-]+)", "\n".join(re.findall(r"^\.It (.*)$", PAGE.read_text(), re.M))))
    assert described == offered
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", PAGE], capture_output=True, text=True)
    assert (lint.returncode, lint.stdout) == (0, ""), lint
