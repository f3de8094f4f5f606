# SPDX-License-Identifier: Apache-2.0
"""A full disk: one line that names the file and the reason, and an exit code. The switch still forwards frames."""
import json
import socket
import subprocess

import pytest

from bridge import BRIDGE
from roce import plain

FULL = "/dev/full"  # it opens, and takes not a single byte


def run(*arguments, frames):
    """Sends frames from port 0 to 1. Returns the exit code, the lines on stderr, and the number of frames that arrived."""
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
    ports = [word for _, end in pairs for word in ("--port", f"fd={end.fileno()}")]
    with subprocess.Popen([BRIDGE, "--aggregator", "off", *ports, *map(str, arguments)], stderr=subprocess.PIPE, text=True,
                          pass_fds=[end.fileno() for _, end in pairs]) as bridge:
        for host, end in pairs:
            end.close()
            host.settimeout(20)
        arrived = 0
        for number in range(frames):
            pairs[0][0].send(plain(0, 1, number.to_bytes(2, "big") * 700))
            arrived += pairs[1][0].recv(65536)[14:16] == number.to_bytes(2, "big")
        for host, _ in pairs:
            host.close()
        _, errors = bridge.communicate(timeout=20)
    return bridge.returncode, errors.splitlines(), arrived


@pytest.mark.parametrize("frames", [1, 500])
def test_capture(frames, tmp_path):
    """One frame waits in the buffer until the end; 500 fill it many times, and it is empty again when the end comes."""
    stats = tmp_path / "stats.json"
    code, lines, arrived = run("--pcap", FULL, "--stats", stats, frames=frames)
    assert arrived == frames
    assert code == 1 and len(lines) == 1, (code, lines)
    assert FULL in lines[0] and "No space left on device" in lines[0]
    assert not json.loads(stats.read_text())["capture"]["complete"]


def test_stats():
    code, lines, arrived = run("--stats", FULL, frames=1)
    assert arrived == 1
    assert code == 1 and len(lines) == 1, (code, lines)
    assert FULL in lines[0] and "No space left on device" in lines[0]
