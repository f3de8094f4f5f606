# SPDX-License-Identifier: Apache-2.0
"""Cables that are TAP devices of the machine, in a network namespace of the bridge."""

import json
import os
import signal
import subprocess

import pytest
from conftest import LAB, lines, wait_until

NEEDED = "unshare -n true || unshare -Urn true"
# An echo of 4,100 bytes with its headers, within the MTU of 4200; the other host's kernel answers it.
PING = """exec /usr/bin/python3 -c '
import os, socket, struct
other = "192.0.2.%d" % (2 - int(os.environ["INA_RANK"]))
echo = struct.pack("!BBHHH", 8, 0, 0, 77, 1) + bytes(4072)
total = sum(struct.unpack("!2040H", echo))
echo = echo[:2] + struct.pack("!H", 0xFFFF - (total % 0xFFFF)) + echo[4:]
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
raw.settimeout(20)
raw.sendto(echo, (other, 0))
while (answer := raw.recvfrom(9000))[1][0] != other or answer[0][20] != 0:
    pass
print("answered", len(answer[0]))
'"""


@pytest.fixture(autouse=True)
def needs_namespaces():
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("this machine has no /dev/net/tun for this user")
    done = subprocess.run(["sh", "-c", NEEDED], capture_output=True, text=True, timeout=20)
    if done.returncode:
        pytest.skip(f"this machine forbids network namespaces: {done.stderr.strip()}")


def test_ping(lab, tmp_path_factory):
    stats = tmp_path_factory.mktemp("stats") / "s.json"
    run = lab.run("--cables", "tap", "--stats", str(stats), command=PING)
    assert run.returncode == 0, run.err
    for rank in range(2):
        assert lines(run.out, rank) == ["answered 4100"]
    for port in json.loads(stats.read_text())["ports"]:
        assert port["rx_bytes"] > 2 * 4100 and port["dropped_offload"] == port["dropped_late"] == 0
    assert "link down" not in run.err and "removed" not in run.err, run.err


def test_frames_pass_interfaces_of_the_bridge_alone(lab):
    process = lab.start("--cables", "tap", command="echo started; sleep 1000")
    for _ in range(2):
        assert "started" in process.stdout.readline()
    bridge, = (int(pid) for pid in os.listdir("/proc") if pid.isdigit() and of_this_run(pid, lab))
    assert {"cable0", "cable1"} <= {line.split(":")[0].strip() for line in open(f"/proc/{bridge}/net/dev", encoding="utf-8")}
    assert "cable0" not in open("/proc/self/net/dev", encoding="utf-8").read()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=300)
    wait_until(lambda: not os.path.exists(f"/proc/{bridge}"), 60, "the bridge to be gone")


def of_this_run(pid, lab):
    try:
        line = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
    except OSError:
        return False
    return b"cable1" in line and any(word.startswith(str(lab.folder).encode()) for word in line)


@pytest.mark.parametrize("aggregator", ["model", "rtl"])
def test_sums(lab, aggregator):
    """ina-perf compares each element with its own sum, and ends with an exit code if one is wrong."""
    run = lab.run("--cables", "tap", n=4, aggregator=aggregator, command="$INA_PERF -b 64K -e 256K -f 4 -n 2")
    assert run.returncode == 0, run.err
    rows = [line.split() for line in lines(run.out, 0) if line[:1] != "#"]
    assert [(row[4], row[-1]) for row in rows if row[0].isdigit()] == [("ina", "0")] * 2, run.out


@pytest.mark.parametrize("aggregator", ["model", "rtl"])
def test_two_bridges(lab, aggregator, tmp_path_factory):
    """A leaf with two hosts and a spine with two, which a veth pair joins, sum as one fabric."""
    stats = tmp_path_factory.mktemp("stats") / "s.json"
    real = os.environ.get("INA_BRIDGE") or os.path.join(os.path.dirname(LAB), "ina-bridge")
    lab.environment.update(INA_REAL_BRIDGE=real, INA_BRIDGE=os.path.join(os.path.dirname(os.path.abspath(__file__)), "two_bridges.py"))
    run = lab.run("--cables", "tap", "--stats", str(stats), n=4, aggregator=aggregator, command="$INA_PERF -b 256K -e 256K -n 4 --explain")
    assert run.returncode == 0, run.err
    tree = [line.removeprefix("# ") for line in lines(run.out, 0) if line.startswith("# ")]
    assert tree[1:8] == ["switch 2, level 2, the top: sums 3 ports for all 4 ranks", "    port 0: rank 0", "    port 1: rank 1",
                         "    port 2: switch 1, level 1: sums 2 ports, and sends the sum up as rank 3", "        port 0: rank 2",
                         "        port 1: rank 3", "when opened: aggregated by switches of 2 levels, 64 of 128 packets granted"], run.out
    below = json.loads(stats.with_name("s.json.below").read_text())["ports"]
    assert "link down" not in run.err, run.err
    # The cable between them carries one sum of two hosts up.
    assert 256 << 10 < below[2]["tx_bytes"] < 0.75 * (below[0]["rx_bytes"] + below[1]["rx_bytes"])
