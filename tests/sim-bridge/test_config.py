# SPDX-License-Identifier: Apache-2.0
"""The configuration file of ina-bridge: --config and --check; SIGHUP, --user and the messages to systemd; the installed files."""
import json
import pathlib
import re
import subprocess

import pytest

from bridge import BRIDGE, PATIENCE_S

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/man/man1/ina-bridge.1"
PORTS = {"port": ["eth1", "eth2"]}


@pytest.fixture
def check(tmp_path):
    """`ina-bridge --check` of a file with this content: its settings, or its only line on stderr."""
    def run(content, *options):
        path = tmp_path / "bridge.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        done = subprocess.run([BRIDGE, "--check", path, *options], capture_output=True, text=True, timeout=PATIENCE_S)
        if done.returncode == 0:
            assert done.stderr == ""
            return json.loads(done.stdout)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
        return done.stderr.removeprefix("ina-bridge: ").replace(str(path), "FILE").rstrip("\n")
    return run


def test_settings_in_effect(check):
    """Those of the file, the defaults, and those of the command line, which win. The interfaces need not exist."""
    mine = {**PORTS, "aggregator": "model", "quiet": 20, "log": True, "at": {"0": {"loss-up": 0.25, "delay": 3}}, "seed": 2**63 - 1}
    settings = check(mine)
    assert mine.items() <= settings.items()
    assert (settings["job-ttl"], settings["steer"]) == (60, "marked")
    assert check(mine, "--quiet", "5", "--port", "a", "--port=b") == {**settings, "quiet": "5", "port": ["a", "b"]}


@pytest.mark.parametrize("content, line", [
    ({**PORTS, "quieter": 1}, "FILE: 'quieter': no such option; the most similar one is 'quiet'"),
    ({"ports": []}, "FILE: 'ports': no such option; the most similar one is 'port'"),
    ({**PORTS, "check": "x"}, "FILE: 'check': no such option; "),
    ({**PORTS, "log": 1}, "FILE: 'log': must be true or false"),
    ({**PORTS, "quiet": None}, "FILE: 'quiet': must be a string or a number"),
    ({**PORTS, "quiet": True}, "FILE: 'quiet': must be a string or a number"),
    ({**PORTS, "at": {"0": 1}}, "FILE: 'at': must be an object"),
    ({**PORTS, "quiet": {"a": {"b": 1}}}, "FILE: 'quiet': must be a string or a number"),
    ({**PORTS, "quiet": -1}, "FILE: --quiet takes a whole number from 0 to 1000000, not '-1'"),
    ({**PORTS, "control-mode": 9}, "FILE: --control-mode takes an octal number"),
    ({"port": ["eth1", "eth1"]}, "FILE: --port eth1: given twice"),
    ({"port": ["eth1"]}, "a switch needs at least two ports"),
    ({**PORTS, "aggregator": "model", "window": 1000}, "--packet-memory 512, --window 1000 and --jobs 16: "),
    ({**PORTS, "at": {"7": {"loss-up": 1}}}, "--at: no cable or switch '7'"),
    ('{"port": [\n"eth1" "eth2"]}', "FILE: line 2, column 13: "),
    ('{"quiet": 1, "quiet": 2}', "FILE: line 1, column 20: duplicate object key"),
    ("[]", "FILE: it must be a JSON object"),
    ("", "FILE: line 1, column 0: "),
])
def test_invalid_files(check, content, line):
    assert check(content).startswith(line)


def test_no_file(tmp_path):
    done = subprocess.run([BRIDGE, "--config", tmp_path / "x"], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (2, f"ina-bridge: {tmp_path}/x: No such file or directory\n")


def test_a_bridge_with_a_file(start, tmp_path):
    """Its socket is that of the file; --stats and the ports are those of the command line, for which the file has others."""
    path = tmp_path / "bridge.json"
    path.write_text(json.dumps({**PORTS, "stats": "/nowhere/x", "control": str(tmp_path / "control")}))
    bridge = start(2, "--config", path)
    bridge.settle()
    assert (tmp_path / "control").is_socket()
    assert len(bridge.end()["ports"]) == 2


def test_man_page():
    """The page is well formed, and has exactly the options of --help."""
    shown = subprocess.run([BRIDGE, "--help"], capture_output=True, text=True, timeout=PATIENCE_S).stdout
    offered = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", shown, re.M)) - {"help", "usage"}
    described = set(re.findall(r"Fl -([a-z-]+)", "\n".join(re.findall(r"^\.It (.*)$", PAGE.read_text(), re.M))))
    assert described == offered
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", PAGE], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (lint.stdout, lint.returncode) == ("", 0)
