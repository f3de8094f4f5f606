# SPDX-License-Identifier: Apache-2.0
"""The configuration file of ina-bridge: --config and --check; SIGHUP, --user and the messages to systemd; the installed files."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from bridge import BRIDGE, PATIENCE_S
from flows import Job

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PAGE = SOURCE / "docs/man/man1/ina-bridge.1"
NO_ROOT = "only root can become another user"
CAP_NET_RAW = 13
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
    resets = check(mine, "--reset-at", "1ms", "--reset-at", "2ms", "--reset-at=3ms")
    assert resets == {**settings, "reset-at": ["1ms", "2ms", "3ms"]}


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


@pytest.fixture
def systemd(monkeypatch):
    """The socket on which systemd would receive messages. Other users may write to it too."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as messages, tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "notify"
        path.parent.chmod(0o755)
        messages.bind(str(path))
        path.chmod(0o777)
        messages.settimeout(PATIENCE_S)
        monkeypatch.setenv("NOTIFY_SOCKET", str(path))
        yield messages


def test_reload(start, systemd, tmp_path):
    """Times and the log change immediately; others need a restart; an invalid file changes nothing."""
    path = tmp_path / "bridge.json"

    def reload(content):
        path.write_text(json.dumps(content))
        bridge.process.send_signal(signal.SIGHUP)
        assert re.fullmatch(rb"RELOADING=1\nMONOTONIC_USEC=[0-9]+", systemd.recv(100))
        assert systemd.recv(100) == b"READY=1"

    path.write_text(json.dumps({"job-ttl": 30}))
    bridge = start(2, "--config", path)
    assert systemd.recv(100) == b"READY=1"
    Job(bridge, 2).join()
    reload({"job-ttl": 40, "jobs": 4, "quiet": 33})  # --quiet of the command line wins
    reload({"job-ttl": 40, "jobs": 4, "quies": 1})
    reload({"job-ttl": 0, "quiet": -1})
    reload({"job-ttl": 0})
    reload({"job-ttl": 40, "log": True})
    job = Job(bridge, 2, job=0xABCD, qpn=0x40).join()
    assert job.is_summed()
    bridge.end()
    assert systemd.recv(100) == b"STOPPING=1"
    lines = [line.removeprefix("ina-bridge: ").replace(str(path), "FILE") for line in bridge.errors.splitlines()]
    assert sorted(lines[:2]) == ["FILE: job-ttl: applied", "FILE: jobs: needs a restart"]
    assert lines[2:7] == ["FILE: 'quies': no such option; the most similar one is 'quiet'", "FILE: invalid, so nothing is changed",
                          *2 * ["FILE: job-ttl: needs a restart"], "FILE: log: applied"]
    assert lines[7:] and all("0x000000000000abcd" in line for line in lines[7:]), "the first job is not in the log"


def status_of(process):
    """The user, the effective capabilities, and whether new privileges are forbidden."""
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    of = dict(re.findall(r"^(Uid|CapPrm|CapEff|NoNewPrivs):\t(\w+)", text, re.M))
    assert of["CapPrm"] == of["CapEff"]
    return int(of["Uid"]), int(of["CapEff"], 16), of["NoNewPrivs"]


def need_root():
    if os.geteuid() != 0:
        pytest.skip(NO_ROOT)


def test_user(start, systemd):
    """With sockets as ports, no capability remains."""
    need_root()
    bridge = start(2, "--user", "nobody")
    assert systemd.recv(100) == b"READY=1"
    uid = int(subprocess.check_output(["id", "-u", "nobody"]))
    assert status_of(bridge.process) == (uid, 0, "1")
    assert Job(bridge, 2).join().is_summed()


def test_user_and_interfaces(systemd, tmp_path):
    """CAP_NET_RAW remains, for an interface that is created again."""
    need_root()
    pairs = "ip link add port0 type veth peer far0 && ip link add port1 type veth peer far1"
    with open(tmp_path / "errors", "w", encoding="utf-8") as errors:
        process = subprocess.Popen(["unshare", "-n", "sh", "-c", f'{pairs} && exec "$@"', "sh", BRIDGE, "--aggregator", "off", "--port", "port0",
                                    "--port", "port1", "--user", "nobody"], stderr=errors)
    try:
        if process.poll() is None:
            assert systemd.recv(100) == b"READY=1"
        assert status_of(process)[1:] == (1 << CAP_NET_RAW, "1")
        again = "ip link del port0 && ip link add port0 type veth peer far0"
        subprocess.run(["nsenter", f"--target={process.pid}", "--net", "sh", "-c", again], check=True, timeout=PATIENCE_S)
        end = time.monotonic() + PATIENCE_S
        while "port 0 (port0): interface is back" not in (tmp_path / "errors").read_text():
            assert time.monotonic() < end and process.poll() is None, (tmp_path / "errors").read_text()
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait(timeout=PATIENCE_S)


def test_no_such_user(check):
    assert check({**PORTS, "user": "nobody-here"}) == "FILE: --user nobody-here: no such user"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """DESTDIR of an installation with the prefix /usr, built as `make install` builds it."""
    folder = tmp_path_factory.mktemp("install")
    for command in (["cmake", "-S", SOURCE, "-B", folder / "build", "-G", "Ninja", "-DINA_PARTS=model;sim-bridge", "-DINA_BRIDGE_RTL=OFF",
                     "-DINA_TESTS=OFF", "-DCMAKE_INSTALL_PREFIX=/usr", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"],
                    ["cmake", "--build", folder / "build"], ["cmake", "--install", folder / "build"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "DESTDIR": str(folder / "root")})
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "root"


def test_installed_files(installed):
    files = {str(path.relative_to(installed)) for path in installed.rglob("*") if not path.is_dir()}
    assert files == {"usr/bin/ina-bridge", "usr/bin/ina-ctl", "usr/share/man/man1/ina-bridge.1", "usr/share/man/man1/ina-ctl.1",
                     "usr/lib/systemd/system/ina-bridge.service", "etc/ina/bridge.json"}
    assert "-march" not in (installed.parent / "build/compile_commands.json").read_text()
    done = subprocess.run([installed / "usr/bin/ina-bridge", "--check", installed / "etc/ina/bridge.json"], capture_output=True, text=True,
                          timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_edited_configuration_stays(installed):
    mine = installed / "etc/ina/bridge.json"
    before = mine.read_text()
    mine.write_text("mine")
    subprocess.run(["cmake", "--install", installed.parent / "build"], check=True, capture_output=True, timeout=PATIENCE_S,
                   env={**os.environ, "DESTDIR": str(installed)})
    assert mine.read_text() == "mine"
    mine.write_text(before)


def test_unit(installed, tmp_path):
    """systemd accepts the unit, and finds it well protected. Its program is at another path here."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "ina-bridge.service"
    unit.write_text((installed / "usr/lib/systemd/system/ina-bridge.service").read_text()
                    .replace("ExecStart=/usr", f"ExecStart={installed}/usr"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=PATIENCE_S)
    assert not [line for line in done.stderr.splitlines() if "ina-bridge.service" in line], done.stderr
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", unit], capture_output=True, text=True,
                          timeout=PATIENCE_S, env={**os.environ, "LANG": "C"})
    level = float(re.search(r"exposure level for ina-bridge\.service: ([0-9.]+)", done.stdout).group(1))
    assert level < 2.5, done.stdout


def test_man_page():
    """The page is well formed, and has exactly the options of --help."""
    shown = subprocess.run([BRIDGE, "--help"], capture_output=True, text=True, timeout=PATIENCE_S).stdout
    offered = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", shown, re.M)) - {"help", "usage"}
    described = set(re.findall(r"Fl -([a-z-]+)", "\n".join(re.findall(r"^\.It (.*)$", PAGE.read_text(), re.M))))
    assert described == offered
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", PAGE], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (lint.stdout, lint.returncode) == ("", 0)
