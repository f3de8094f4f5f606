# SPDX-License-Identifier: Apache-2.0
"""Runs ina-lab for the tests, and checks that each run leaves nothing behind."""

import os
import pathlib
import subprocess
import time

import pytest

LAB = os.environ.get("INA_LAB", "build/ina-lab")


def processes_with(text):
    """Live processes whose command line contains `text`, as {pid: command line}."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if text in line and state != "Z":
            found[int(entry.name)] = line
    return found


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, f"timed out after {seconds} s waiting for {what}"
        time.sleep(0.02)
    return result


class Lab:
    """ina-lab with its own TMPDIR, whose name marks every process of the runs."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = dict(os.environ, TMPDIR=str(folder))

    def start(self, *options, command, n=2, aggregator="off", **popen):
        # The mark is the name of the shell in the hosts, so ina-lab's own command line has it too.
        line = [LAB, "run", "-n", str(n), "--aggregator", aggregator, "--timeout", "240", *options,
                "--", "sh", "-c", command, str(self.folder)]
        return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment, **popen)

    def run(self, *options, command, **more):
        process = self.start(*options, command=command, **more)
        process.out, process.err = process.communicate(timeout=300)
        return process

    def processes_of_host(self, rank):
        """A host's kernel and, if guest processes are processes of the machine, those too."""
        return [pid for pid, line in processes_with(f"umid=host{rank} ").items()
                if str(self.folder) in line]

    def kernel(self, rank):
        """The process id of a host's kernel: the leader of its process group."""
        return next(pid for pid in self.processes_of_host(rank) if os.getpgid(pid) == pid)

    def leftovers(self):
        return processes_with(str(self.folder)), [p.name for p in self.folder.iterdir()]


@pytest.fixture
def lab(tmp_path):
    instance = Lab(tmp_path)
    yield instance
    wait_until(lambda: instance.leftovers() == ({}, []), 60,
               f"everything of the run to be gone; there is {instance.leftovers()}")


def lines(text, rank=None):
    """The ranks' lines in `text` in their order, or one rank's without its prefix."""
    if rank is None:
        return [line for line in text.splitlines() if line.startswith("[")]
    prefix = f"[{rank}] "
    return [line[len(prefix):] for line in text.splitlines() if line.startswith(prefix)]
