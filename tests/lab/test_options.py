# SPDX-License-Identifier: Apache-2.0
"""Bad input: one clear line, and no host is booted."""

import os
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import LAB


def call(*arguments, **environment):
    return subprocess.run([LAB, *arguments], capture_output=True, text=True, timeout=20,
                          env=dict(os.environ, **environment))


PAGE = Path(__file__).resolve().parents[2] / "docs/man/man1/ina-lab.1"


@pytest.mark.parametrize("arguments, what", [
    ("", "a command is missing"),
    ("walk", "unknown command 'walk'"),
    ("run -- true", "the number of hosts is missing"),
    ("run -n 2 --cables veth -- true", "--cables takes socket or tap, not 'veth'"),
    ("run -n 2 --cables tap --virtual-time -- true", "TAP devices have no virtual time"),
    ("run -n 0 -- true", "-n takes a whole number from 1 to 256, not '0'"),
    ("run -n 257 -- true", "-n takes a whole number from 1 to 256, not '257'"),
    ("run -n 2x -- true", "-n takes a whole number from 1 to 256, not '2x'"),
    ("run -n 2", "the command is missing"),
    ("run -n 2 --", "the command is missing"),
    ("run -n 2 -- A=b", "'A=b' contains '='"),
    ("run -n 2 --mtu 1500 -- true", "--mtu takes one of 256, 512, 1024, 2048, 4096, not '1500'"),
    ("run -n 2 --aggregator asic -- true", "--aggregator takes one of rtl, model, off, not 'asic'"),
    ("run -n 2 --steer some -- true", "--steer takes one of marked, all, not 'some'"),
    ("run -n 2 --loss-up 1.5 -- true", "--loss-up takes a number from 0 to 1, not '1.5'"),
    ("run -n 2 --loss-down nan -- true", "--loss-down takes a number from 0 to 1, not 'nan'"),
    ("run -n 2 --reorder -1 -- true", "--reorder takes a number from 0 to 1, not '-1'"),
    ("run -n 2 --delay ten -- true", "--delay takes a whole number"),
    ("run -n 2 --delay-rank 2:1 -- true", "--delay-rank names rank 2"),
    ("run -n 2 --delay-rank 1 -- true", "--delay-rank takes R:SECONDS"),
    ("run -n 2 --kernel 2:/bin/true -- true", "--kernel names host 2, but the last of 2 hosts is 1"),
    ("run -n 2 --kernel /bin/true -- true", "--kernel takes HOST:FILE"),
    ("run -n 2 --kernel 1:/nowhere -- true", "--kernel: /nowhere is no program: No such file or directory"),
    ("run -n 2 --kernel 1:/etc/passwd -- true", "--kernel: /etc/passwd is no program: Permission denied"),
    ("run -n 2 --kill 1:1s -- true", "--kill requires --virtual-time"),
    ("run -n 2 --virtual-time --cut 1:1 -- true", "--cut takes HOST:TIME[:TIME]: up to"),
    ("run -n 2 --virtual-time --queue 2X -- true", "--queue takes a number from 0 to 1e+12, such as"),
    ("run -n 2 --job-ttl 0.0001 -- true", "--job-ttl takes 0 or a number of seconds from 0.001"),
    ("run -n 2 --memory 1 -- true", "--memory takes a whole number from 64"),
    ("run -n 2 --timeout 0 -- true", "--timeout takes a number"),
    ("run -n 2 --seed 1e3 -- true", "--seed takes a whole number"),
    ("run -n 2 --virtual-time --kill 9:100ms -- true", "--kill names host 9, but the last of 2 hosts is 1"),
    ("run -n 2 --virtual-time --cut 9:1s -- true", "--cut names host 9, but the last of 2 hosts is 1"),
    ("run -n 2 --virtual-time --cut 1:2s:1s -- true", "cable 'host1' would be mended before it is cut"),
    ("run -n 2 --virtual-time --cut-at 2s --mend-at 2s -- true", "cable 'host0' would be mended before it is cut"),
    ("run -n 2 --virtual-time --mend-at 1s -- true", "--mend-at: cable 'host0' is never cut: give --cut-at too"),
    ("run -n 2 --virtual-time --at 1,mend-at=1s -- true", "--mend-at: cable 'host1' is never cut: give --cut-at too"),
    ("run -n 2 --pcap-cable 0 -- true", "--pcap-cable 0: requires --pcap"),
    ("run -n 2 --pcap-limit 1 -- true", "--pcap-limit: requires --pcap"),
    ("run -n 2 --pcap same --stats same -- true", "--pcap and --stats name the same file, same"),
    ("run -n 17 -- true", "16 ports at most, not 17"),
    ("run -n 2 --jobs 5 -- true", "--jobs"),
    ("run -n 2 --aggregator model --window 1024 -- true", "--window"),
    ("run --topology leaf-spine:2x2 --at spine0,jobs=5 -- true", "switch 'spine0'"),
    ("run -n 2 --ranks-per-host 2000 -- true", "--ranks-per-host"),
    ("run --topology leaf-spine:2x17 -- true", "leaf-spine:2x17: switch 'leaf0': it has 18 ports, and the most is 16"),
    ("run -n 3 --topology leaf-spine:2x2 -- true", "-n 3: --topology leaf-spine:2x2 has 4 hosts"),
    ("run --topology leaf-spine:2x2 --at leaf2:up0,delay=1 -- true", "no cable or switch 'leaf2:up0'"),
    ("run --topology leaf-spine:2x2 --pcap a --pcap-cable leaf2:up0 -- true", "--pcap-cable leaf2:up0: no such cable"),
    ("run -n 2 --at 2,delay=1 -- true", "no cable or switch '2'"),
    ("topology", "takes FABRIC"),
    ("topology tree:2 --svg", "takes FABRIC"),
    ("topology clos:1x2", "clos:SPINESxLEAVESxHOSTS"),
    ("topology /nowhere/at-all", "/nowhere/at-all: not a readable file"),
])
def test_bad_options(arguments, what):
    run = call(*arguments.split())
    assert run.returncode == 2
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1 and what in run.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors(closed):
    """Files that a program opens do not take the numbers of its standard streams."""
    run = subprocess.run(["sh", "-c", f'exec "$0" topology leaf-spine:2x1 {closed}', LAB], timeout=20, capture_output=True)
    assert run.returncode == 0


def test_output_that_cannot_be_written():
    with open("/dev/full", "w") as full:
        run = subprocess.run([LAB, "topology", "leaf-spine:2x1"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=20)
    assert (run.returncode, run.stderr) == (125, "ina-lab: could not write all of stdout: check the free space\n")


def test_unknown_option():
    run = call("run", "-n", "2", "--frobnicate", "--", "true")
    assert run.returncode == 2
    assert "unrecognized option '--frobnicate'" in run.stderr


def test_options_after_the_command_are_the_commands():
    # --memory after the command would be refused if it were ina-lab's option. So the missing kernel is reported first.
    run = call("run", "-n", "2", "true", "--memory", "1", INA_KERNEL="/nowhere/linux")
    assert run.returncode == 125
    assert run.stderr == ("ina-lab: no kernel found at /nowhere/linux: run `make kernel`, or "
                          "set INA_KERNEL\n")


def test_missing_bridge():
    run = call("run", "-n", "2", "--", "true", INA_BRIDGE="/nowhere/bridge")
    assert run.returncode == 125
    assert run.stderr == "ina-lab: no bridge found at /nowhere/bridge: build it, or set INA_BRIDGE\n"


def test_results_that_cannot_be_written():
    run = call("run", "-n", "2", "--stats", "/nowhere/s.json", "--", "true")
    assert run.returncode == 125
    assert run.stderr == "ina-lab: cannot write /nowhere/s.json: No such file or directory\n"


def test_more_memory_than_there_is():
    run = call("run", "-n", "8", "--memory", "65536", "--", "true")
    assert run.returncode == 125
    assert "8 hosts of 65536 MiB need" in run.stderr


def test_man_page():
    """The page is well formed, and has exactly the options of --help."""
    offered = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", call("run", "--help").stdout, re.M)) - {"help", "usage"}
    described = set(re.findall(r"Fl -([a-z-]+)", "\n".join(re.findall(r"^\.It (.*)$", PAGE.read_text(), re.M))))
    assert described == offered
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", PAGE], capture_output=True, text=True)
    assert (lint.returncode, lint.stdout) == (0, ""), lint


def test_help_and_doctor():
    assert "--delay-rank" in call("run", "--help").stdout
    doctor = call("doctor")
    assert doctor.returncode == 0, doctor.stdout
    assert [line.split()[1] for line in doctor.stdout.splitlines()][:3] == [
        "kernel", "guest-init", "bridge"]
    assert call("doctor", INA_KERNEL="/nowhere/linux").returncode == 125


def test_topology_is_shown():
    run = call("topology", "leaf-spine:2x1")
    assert run.returncode == 0 and run.stderr == ""
    assert run.stdout == """2 hosts, 3 switches, 2 levels, 4 cables
spine0: level 2, 2 ports
  port 0: leaf0:up0 down to leaf0
  port 1: leaf1:up0 down to leaf1
leaf0: level 1, 2 ports
  port 0: host0
  port 1: leaf0:up0 up to spine0
leaf1: level 1, 2 ports
  port 0: host1
  port 1: leaf1:up0 up to spine0
"""


def test_topology_of_a_file(tmp_path):
    path = tmp_path / "fabric.json"
    path.write_text('{"switches": [{"name": "a", "hosts": 1, "up": ["b"], "aggregator": "off"}, {"name": "b", "hosts": 1}],'
                    ' "cables": {"a:up0": {"link-rate": "25G", "loss-up": 0.01}}}')
    run = call("topology", str(path))
    assert run.returncode == 0
    assert "a: level 1, 2 ports, aggregator off\n" in run.stdout
    assert "  port 1: a:up0 up to b, link-rate 25G, loss-up 0.01" in run.stdout


@pytest.mark.parametrize("fabric, hosts, switches, cables", [("tree:2x3x4", 24, 9, 32), ("clos:4x8x8", 64, 12, 96)])
def test_topology_as_a_picture(tmp_path, fabric, hosts, switches, cables):
    path = tmp_path / "fabric.svg"
    assert call("topology", fabric, "--svg", str(path)).returncode == 0
    space = "{http://www.w3.org/2000/svg}"
    root = ElementTree.parse(path).getroot()
    boxes = {kind: [box for box in root.iter(space + "rect") if box.get("class") == kind] for kind in ("host", "switch")}
    assert (len(boxes["host"]), len(boxes["switch"])) == (hosts, switches)
    assert len(list(root.iter(space + "line"))) == cables
    assert len({text.text for text in root.iter(space + "text")}) == hosts + switches
    # No element covers another one, or is outside.
    for kind in boxes:
        places = sorted((float(box.get("y")), float(box.get("x")), float(box.get("width"))) for box in boxes[kind])
        for (y, x, width), (next_y, next_x, _) in zip(places, places[1:]):
            assert y < next_y or x + width < next_x
        assert all(x >= 0 and x + width <= float(root.get("width")) for _, x, width in places)
