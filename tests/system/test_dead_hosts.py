# SPDX-License-Identifier: Apache-2.0
"""A host whose kernel is killed or frozen: the others hear of it in time, by name, and go on without it."""
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from lab import LAB

CHECK = Path(LAB).parent / "check_survivors"

# peer_timeout_ms is 5 s; the rest is for a busy machine. It was a minute without the timeout.
SOON_S = 10


def kernel_of(folder, rank):
    """The process id of a host's kernel: the leader of its process group, among those with the run's folder."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes().split(b"\0")
            if f"umid=host{rank}".encode() in line and any(str(folder).encode() in word for word in line) \
                    and os.getpgid(int(entry.name)) == int(entry.name):
                return int(entry.name)
        except OSError:
            continue
    raise AssertionError(f"no kernel of host {rank}")


AGGREGATORS = {"model": ["--aggregator", "model"], "off": ["--aggregator", "off"],
               "reset": ["--aggregator", "model", "--reset-every", "150"]}  # all the time on the way out or back


def start(folder, aggregator, *arguments, n=4):
    environment = dict(os.environ, TMPDIR=str(folder))
    return subprocess.Popen([LAB, "run", "-q", "-n", str(n), *AGGREGATORS[aggregator], "--timeout", "60", "--",
                             str(CHECK), *map(str, arguments)], text=True, errors="replace",
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
@pytest.mark.parametrize("aggregator, arguments", [
    ("model", [2]), ("model", [0]), ("model", [1, "late"]), ("off", [2]), ("off", [3, "late"]),
    ("reset", [1]), ("reset", [3])],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, list) else value)
def test_a_host_is_gone(tmp_path, how, aggregator, arguments):
    n = 4
    process = start(tmp_path, aggregator, *arguments, n=n)
    watchdog = threading.Timer(80, process.kill)
    watchdog.start()
    try:
        lines = []
        while sum("ready" in line for line in lines) < n:
            lines.append(process.stdout.readline())
            assert lines[-1], "".join(lines)
        time.sleep(2)
        os.kill(kernel_of(tmp_path, arguments[0]), how)
        gone_s = time.monotonic()
        while sum("fine" in line for line in lines) < n - 1:
            lines.append(process.stdout.readline())
            assert lines[-1] and "WRONG" not in lines[-1], "".join(lines)
        assert time.monotonic() - gone_s < SOON_S, "".join(lines)
    finally:
        watchdog.cancel()
        process.terminate()
        process.communicate(timeout=30)
