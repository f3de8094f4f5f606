# SPDX-License-Identifier: Apache-2.0
"""Hostile frames at full rate, in periods of half of INA_FLOOD_S seconds: the bridge's memory stays the same, and it still works afterwards."""
import os
import pathlib
import subprocess
import time

import pytest

from bridge import BRIDGE, PATIENCE_S
from namespaces import Network
from roce import DATA, INT32, JOIN, LEAVE, TRACE, message, packet, plain, with_icrc

CTL = pathlib.Path(BRIDGE).with_name("ina-ctl")
SECONDS = float(os.environ.get("INA_FLOOD_S", "4"))
FRAMES = 8000
AT_ONCE = 64
PERIODS = 8
ROOM_KIB = 512  # what the allocator may take for itself
PORTS = 3


def hostile(rng):
    """A frame that is right up to some place: of a job that nobody completes, with a sender, a VLAN and addresses of its choice."""
    source, job = rng.randrange(250), rng.choice([7, rng.getrandbits(64)])
    kind = rng.choice([JOIN, JOIN, DATA, LEAVE, TRACE, rng.randrange(256)])
    payload = message(rng.randrange(4), rng.randrange(256), kind, rng.getrandbits(16), rng.randbytes(16 * rng.randrange(64)), INT32, job=job)
    frame = packet(source, rng.randrange(250), rng.getrandbits(24), payload, opcode=rng.randrange(6), qpn=rng.getrandbits(24),
                   ipv6=rng.random() < 0.1, vlan=rng.choice([None, rng.getrandbits(16)]), source_port=rng.getrandbits(16),
                   source_mac=b"\x02" + rng.randbytes(5))
    match rng.randrange(4):
        case 0:
            place = rng.randrange(len(frame))
            return frame[:place] + rng.randbytes(1) + frame[place + 1:]
        case 1:
            place = rng.randrange(14, len(frame) - 4)
            return with_icrc(frame[:place] + rng.randbytes(1) + frame[place + 1:])
        case 2:
            return frame[:rng.randrange(14, len(frame))]  # a packet socket sends no less
    return frame if rng.random() < 0.8 else rng.randbytes(rng.randrange(14, 1500))


def use(pid):
    """KiB of memory, and the number of descriptors."""
    folder = pathlib.Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]), len(os.listdir(folder / "fd"))


def drain(end):
    try:
        while end.recv(1):
            pass
    except BlockingIOError:
        pass


def flood(control, ends, reads, rng, frames):
    """Sends for one period; only `reads` are read. Returns the number of frames that were sent."""
    sent = turns = 0
    end_at = time.monotonic() + SECONDS / 2
    while time.monotonic() < end_at:
        sender = rng.choice(ends)
        first = rng.randrange(FRAMES - AT_ONCE)
        try:
            for frame in frames[first:first + AT_ONCE]:
                sender.send(frame)
                sent += 1
        except BlockingIOError:
            pass
        for end in reads:
            drain(end)
        turns += 1
        if turns % 5000 == 1:
            for question in "why", "ports", "contexts", "counters":
                subprocess.run([CTL, "--control", control, question], stdout=subprocess.DEVNULL, timeout=PATIENCE_S, check=True)
    return sent


def pour(pid, control, ends, reads, rng):
    """Tables and pools fill at first, on a busy machine for more than one period. A leak grows in every period."""
    frames = [hostile(rng) for _ in range(FRAMES)]
    for end in ends:
        end.setblocking(False)
    before = None
    for _ in range(PERIODS):
        sent = flood(control, ends, reads, rng, frames)
        limit = time.monotonic() + PATIENCE_S
        while before and use(pid)[1] > before[1] and time.monotonic() < limit:
            time.sleep(0.01)  # the last answer's connection may still be open
        after = use(pid)
        print(f"{sent} frames in {SECONDS / 2:.0f} s; KiB and descriptors before: {before}, after: {after}")
        if before and after[0] <= before[0] + ROOM_KIB and after[1] <= before[1]:
            return
        before = after
    pytest.fail(f"memory or descriptors grew in each of {PERIODS} periods")


def comes(send, end, frame):
    """Does a frame that is sent again and again come out at this end?"""
    limit = time.monotonic() + PATIENCE_S
    while time.monotonic() < limit:
        time.sleep(0.001)
        try:
            send(frame)
            while got := end.recv(65536):
                if got == frame:
                    return True
        except BlockingIOError:
            pass
    return False


@pytest.fixture(autouse=True)
def no_quarantine(monkeypatch):
    """The address sanitizer keeps freed memory for a while."""
    monkeypatch.setenv("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1")


@pytest.mark.parametrize("aggregator", ["model", "rtl"])
def test_sockets(start, rng, tmp_path, aggregator):
    """The host of the last port reads nothing."""
    control = tmp_path / "control"
    bridge = start(PORTS, "--aggregator", aggregator, "--control", control, "--log")
    pour(bridge.process.pid, control, bridge.hosts, bridge.hosts[:-1], rng)
    assert comes(bridge.hosts[0].send, bridge.hosts[1], plain(0, 1))
    bridge.end()


def test_interfaces(rng, tmp_path):
    """Frames that no kernel has made, at real interfaces."""
    control = tmp_path / "control"
    network = Network(tmp_path, PORTS, quiet=True)
    try:
        network.start("--control", control, *(part for port in range(PORTS) for part in ("--port", f"eth{port}")))
        ends = [host.packets("eth0") for host in network.hosts]
        pour(network.bridge.pid, control, ends, ends[:-1], rng)
        assert comes(ends[0].send, ends[1], plain(0, 1))
        network.end()
    finally:
        network.close()
