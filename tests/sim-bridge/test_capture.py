# SPDX-License-Identifier: Apache-2.0
"""The capture, read by independent programs: scapy, tshark and tcpreplay."""
import os
import re
import shutil
import subprocess

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import CookedLinuxV2, Ether
from scapy.utils import rdpcap

from bridge import BRIDGE, spared_marker
from roce import DATA, INT32, JOIN, mac, message, packet, plain

IN, OUT = 0, 4


def run(start, path, *options):
    bridge = start(3, "--pcap", path, *options)
    sent = [packet(rank, (rank + 1) % 3, psn, message(rank, 3, kind, psn, elements, number))
            for psn, kind, elements, number in ((0, JOIN, b"", 0), (1, DATA, bytes([1] * 1000), INT32))
            for rank in range(3)]
    for rank in range(3):
        bridge.send(rank, plain(rank, 9))
    for rank in range(3):
        bridge.receive(rank), bridge.receive(rank)
    for at, frame in enumerate(sent):
        bridge.send(at % 3, frame)
    for rank in range(3):
        bridge.receive(rank), bridge.receive(rank)
    return sent, bridge.end(), bridge


def test_scapy(start, tmp_path):
    path = tmp_path / "bridge.pcap"
    sent, stats, _ = run(start, path)
    frames = rdpcap(str(path))
    assert stats["capture"] == {"file": str(path), "frames": len(frames), "complete": True,
                                "bytes": path.stat().st_size}
    assert len(frames) == 3 + 6 + 6 + 6
    assert all(isinstance(frame, CookedLinuxV2) for frame in frames)
    stamps = [frame.time for frame in frames]
    assert stamps == sorted(stamps)
    assert any(int(stamp * 10**9) % 1000 for stamp in stamps)  # nanoseconds

    roce = [frame for frame in frames if BTH in frame]
    assert len(roce) == 12
    entered = [frame for frame in roce if frame.pkttype == IN]
    assert sorted(bytes(frame)[20:] for frame in entered) == sorted(frame[14:] for frame in sent)
    for frame in roce:
        source = int(frame[IP].src.split(".")[3]) - 1
        port = source if frame.pkttype == IN else (source + 1) % 3
        assert frame.pkttype in (IN, OUT)
        assert frame.ifindex == port + 1
        assert frame.proto == 0x0800 and frame.lladdrlen == 6
        assert bytes(frame)[12:18] == bytes([2, 0, 0, 0, 0, source + 1])
        assert frame[UDP].dport == 4791
        # If the layer is built without an iCRC, it computes it again.
        found = frame[BTH].icrc
        rebuilt = IP(bytes(frame[IP]))
        rebuilt[BTH].icrc = None
        assert IP(bytes(rebuilt))[BTH].icrc == found
    sums = [frame for frame in roce if frame.pkttype == OUT and frame[BTH].psn == 1]
    assert [bytes(frame[BTH].payload)[32:1032] for frame in sums] == [bytes([3] * 1000)] * 3


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_tshark(start, tmp_path):
    path = tmp_path / "bridge.pcap"
    run(start, path)
    fields = ["sll.ifindex", "sll.pkttype", "ip.src", "infiniband.bth.opcode", "infiniband.bth.psn"]
    command = ["tshark", "-r", str(path), "-Y", "infiniband", "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    lines = done.stdout.split("\n")[:-1]
    assert len(lines) == 12
    assert lines[0].split("\t") == ["1", "0", "192.0.2.1", "4", "0"]


def test_limit(start, tmp_path):
    path = tmp_path / "bridge.pcap"
    bridge = start(2, "--pcap", path, "--pcap-limit", 1)
    for _ in range(100):
        bridge.send(0, plain(0, 1, bytes(9000)))
        bridge.receive(1)
    stats = bridge.end()
    assert bridge.errors.count("\n") == 1 and "full" in bridge.errors
    assert path.stat().st_size == stats["capture"]["bytes"] <= 1 << 20
    assert not stats["capture"]["complete"]
    assert len(rdpcap(str(path))) == stats["capture"]["frames"]


def test_faults_and_capture(start, tmp_path):
    """A frame that is lost before the switch is not in the capture at all; one that is lost after it appears only as it came
    in."""
    path = tmp_path / "bridge.pcap"
    bridge = start(2, "--pcap", path, "--loss-up", 0.3, "--loss-down", 0.3)
    bridge.send(1, plain(1, 0))
    bridge.receive(0)
    for psn in range(200):
        bridge.send(0, packet(0, 1, psn, bytes(64), tos=0))
    got = bridge.settle(spared_marker)[1]
    stats = bridge.end()
    frames = [frame for frame in rdpcap(str(path)) if BTH in frame]
    entered = sum(frame.pkttype == IN for frame in frames)
    left = sum(frame.pkttype == OUT for frame in frames)
    assert entered == 200 - stats["ports"][0]["faults"]["up"]["lost"]
    assert left == len(got) == entered - stats["ports"][1]["faults"]["down"]["lost"]


def test_cables_as_ethernet(start, tmp_path):
    """Each file has all frames of one cable, whole, in both directions; --pcap has its own form and cables, as without them."""
    paths = [tmp_path / f"{rank}.pcap" for rank in range(3)]
    options = [part for rank, path in enumerate(paths) for part in ("--pcap-cable", f"{rank}={path}")]
    sent, stats, _ = run(start, tmp_path / "all.pcap", *options, "--pcap-cable", 2)
    assert {frame.ifindex for frame in rdpcap(str(tmp_path / "all.pcap"))} == {3}
    for rank, path in enumerate(paths):
        frames = rdpcap(str(path))
        assert all(isinstance(frame, Ether) for frame in frames)
        stamps = [frame.time for frame in frames]
        assert stamps == sorted(stamps) and any(int(stamp * 10**9) % 1000 for stamp in stamps)
        assert stats["cable_captures"][f"host{rank}"] == {"file": str(path), "frames": len(frames), "complete": True,
                                                          "bytes": path.stat().st_size}
        whole = [bytes(frame) for frame in frames]
        assert [frame for frame in whole if frame[6:12] == mac(rank)] == [plain(rank, 9), sent[rank], sent[3 + rank]]
        # Its predecessor's frames come with the sum as payload: their headers are those that the predecessor sent.
        sums = [frame for frame in frames if BTH in frame and frame.src != mac(rank).hex(":")]
        assert [bytes(frame)[:54] for frame in sums] == [sent[(rank - 1) % 3][:54], sent[3 + (rank - 1) % 3][:54]]
        assert bytes(sums[1][BTH].payload)[32:1032] == bytes([3] * 1000)


@pytest.mark.parametrize("options,what", [
    (["--pcap-cable", "0"], "--pcap-cable 0: requires --pcap, or a file for this cable: 0=FILE"),
    (["--pcap-cable", "0="], "--pcap-cable 0=: no file after the ="),
    (["--pcap-cable", "2=x"], "--pcap-cable 2=x: no such cable"),
    (["--pcap-cable", "=x"], "--pcap-cable =x: no such cable"),
    (["--pcap-cable", "0=x", "--pcap-cable", "host0=y"], "--pcap-cable host0=y: this cable already has the file x"),
    (["--pcap-cable", "0=x", "--pcap-cable", "1=x"], "--pcap-cable and --pcap-cable name the same file, x"),
    (["--pcap-cable", "0=x", "--pcap", "x"], "--pcap and --pcap-cable name the same file, x"),
    (["--pcap-cable", "0=x", "--stats", "x"], "--stats and --pcap-cable name the same file, x"),
    (["--pcap-limit", "1"], "--pcap-limit: requires --pcap"),
])
def test_cables_that_are_refused(options, what):
    done = subprocess.run([BRIDGE, "--check-hosts", "2", *options], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and what in done.stderr


def test_cables_that_are_accepted(tmp_path):
    """A limit for these files alone; the capture of a cable needs no --pcap. --check-hosts creates no file."""
    path = tmp_path / "x"
    done = subprocess.run([BRIDGE, "--check-hosts", "2", "--pcap-cable", f"1={path}", "--pcap-limit", "1"], timeout=20)
    assert done.returncode == 0 and not path.exists()


def test_cable_file_that_cannot_be_written(start, tmp_path):
    bridge = start(2, "--pcap", tmp_path / "all.pcap", "--pcap-cable", "1=/nowhere/x")
    _, errors = bridge.process.communicate(timeout=20)
    assert bridge.process.returncode == 1
    assert errors.decode().count("\n") == 1 and "/nowhere/x: No such file" in errors.decode()


@pytest.mark.skipif(not shutil.which("tcpreplay"), reason="tcpreplay is not installed")
def test_tcpreplay(start, tmp_path):
    """tcpreplay sends the capture of a cable to an interface, in a new network namespace."""
    run(start, tmp_path / "all.pcap", "--pcap-cable", f"1={tmp_path / 'ethernet.pcap'}")
    script = "ip link set lo up && tcpreplay -q -t -i lo ethernet.pcap"
    namespace = ["unshare", "-n" if os.geteuid() == 0 else "-Urn"]
    if subprocess.run([*namespace, "true"], timeout=20).returncode:
        pytest.skip("this user may not make a network namespace")
    done = subprocess.run([*namespace, "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and re.search(r"Successful packets: +7$", done.stdout, re.M), done
    assert "snaplen" not in done.stderr, done
