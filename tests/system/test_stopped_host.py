# SPDX-License-Identifier: Apache-2.0
"""A host whose kernel is stopped in real time: the others learn of it, by name, and continue without it. test_dead_hosts.py tests
how soon."""
import os
import signal
import subprocess
from pathlib import Path

from lab import LAB

CHECK = Path(LAB).parent / "check_survivors"
N = 4


def kernel_of(folder, rank):
    """The process id of a host's kernel: the leader of its process group, among the processes with the run's folder."""
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


def test_a_kernel_is_stopped(tmp_path):
    """In real time, where the time depends on the machine; only ina-lab's --timeout ends it."""
    lab = subprocess.Popen([LAB, "run", "-q", "-n", str(N), "--aggregator", "model", "--timeout", "100", "--", str(CHECK), "2"],
                           text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           stdin=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=str(tmp_path)))
    lines = []

    def read_until(word, count):
        while sum(word in line for line in lines) < count:
            lines.append(lab.stdout.readline())
            assert lines[-1] and "WRONG" not in lines[-1], "".join(lines)

    try:
        read_until("ready", N)
        os.kill(kernel_of(tmp_path, 2), signal.SIGSTOP)
        read_until("fine", N - 1)
    finally:
        lab.terminate()
        lab.communicate(timeout=30)
