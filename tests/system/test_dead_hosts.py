# SPDX-License-Identifier: Apache-2.0
"""A host that is killed or frozen, or that is cut off: the others hear of it in time, by name, and go on without it."""
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from lab import LAB, run

CHECK = Path(LAB).parent / "check_survivors"
N = 4
AGGREGATORS = {"model": ["--aggregator", "model"], "off": ["--aggregator", "off"],
               "reset": ["--aggregator", "model", "--reset-every", "150"]}  # all the time on the way out or back
# When all are connected, and have made dozens of all-reduces. Without an aggregator they first wait for its answer.
MIDST_S = {"model": 0.001, "off": 0.022, "reset": 0.01}


# A frozen host and one that is cut off are the same to the others: nothing answers.
@pytest.mark.parametrize("aggregator, how, arguments", [
    ("model", "kill", [2]), ("model", "kill", [0]), ("model", "kill", [1, "late"]), ("off", "kill", [3, "late"]),
    ("reset", "kill", [1]), ("model", "kill", [2, "busy", 0]), ("model", "kill", [0, "busy", 1]), ("off", "kill", [2, "busy", 0]),
    ("model", "cut", [2]), ("model", "cut", [0]), ("off", "cut", [2]), ("reset", "cut", [3]), ("model", "cut", [1, "timeout", 9000]),
    ("model", "cut", [2, "busy", 0]), ("model", "cut", [0, "busy", 1]), ("model", "cut", [3, "busy", 2])],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, list) else value)
def test_a_host_is_gone(tmp_path, aggregator, how, arguments):
    """
    In virtual time, where a second is a second: within peer_timeout_ms, by default 5 s, and not by a hasty guess; also
    while another rank, be it rank 0, makes no call.
    """
    victim, *others = arguments
    busy = others[1] if "busy" in others else None
    timeout_s = others[1] / 1000 if "timeout" in others else 5
    result = run(tmp_path, N, ["--virtual-time", *AGGREGATORS[aggregator], f"--{how}", f"{victim}:{MIDST_S[aggregator]}s"],
                 [CHECK, *arguments])
    heard_s = {int(rank): float(seconds) for rank, seconds in re.findall(r"heard: rank (\d) after ([0-9.]+) s", result.out)}
    survivors = set(range(N)) - {victim}
    assert {int(rank) for rank in re.findall(r"fine: rank (\d)", result.out)} == survivors, result
    assert all(timeout_s - 3 < heard_s[rank] <= timeout_s for rank in survivors - {busy}), result


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


def test_a_kernel_is_stopped(tmp_path):
    """In real time, where how long it takes is the machine's matter; ina-lab's --timeout is all that ends it."""
    lab = subprocess.Popen([LAB, "run", "-q", "-n", str(N), *AGGREGATORS["model"], "--timeout", "100", "--", str(CHECK), "2"],
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
