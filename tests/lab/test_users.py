# SPDX-License-Identifier: Apache-2.0
"""An ordinary user with a copy of the programs, a separate home and a umask that gives others no rights: everything runs as for
root. If the tests do not run as root, that user is the one who runs them.
"""
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import LAB, Lab, wait_until

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(LAB).resolve().parent
NOBODY = 65534
AS_USER = dict(umask=0o077, **(dict(user=NOBODY, group=NOBODY, extra_groups=[]) if os.getuid() == 0 else {}))


def copied_programs(folder):
    """The files that a run needs, and the environment that names them."""
    kernel = Path(os.environ.get("INA_KERNEL") or SOURCE / ".kernel/linux")
    bridge = Path(os.environ.get("INA_BRIDGE") or BUILD / "ina-bridge")
    for path in (BUILD / "ina-lab", BUILD / "ina-perf", *BUILD.glob("libina.so*"), bridge, kernel, BUILD / "guest-init"):
        shutil.copy(path, folder / path.name)
    return {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(folder), "INA_KERNEL": str(folder / kernel.name),
            "INA_BRIDGE": str(folder / bridge.name), "INA_GUEST_INIT": str(folder / "guest-init")}


@pytest.fixture(scope="module")
def home():
    """Below /tmp: no user needs access to the source tree or the build."""
    with tempfile.TemporaryDirectory(prefix="ina-user.", dir="/tmp") as path:
        home = Path(path)
        (home / "runs").mkdir()
        environment = dict(copied_programs(home), HOME=path, TMPDIR=str(home / "runs"))
        if os.getuid() == 0:
            for entry in (home, *home.iterdir()):
                os.chown(entry, NOBODY, NOBODY)
        yield home, environment


def run(home, *arguments):
    folder, environment = home
    done = subprocess.run([str(folder / "ina-lab"), "run", "--timeout", "240", *map(str, arguments)], capture_output=True,
                          text=True, timeout=90, cwd=folder, env=environment, **AS_USER)
    left = Lab(folder / "runs")
    wait_until(lambda: left.leftovers() == ({}, []), 60, f"everything of the run to be gone; there is {left.leftovers()}")
    return done


def test_the_demos_table(home):
    folder, _ = home
    done = run(home, "-n", 4, "--aggregator", "model", "--virtual-time", "--pcap", "run.pcap", "--stats", "stats.json", "--",
               folder / "ina-perf", "-b", 4, "-e", "256K", "-f", 16, "-n", 1, "-w", 1, "-t", "float", "--compare",
               "--json", "table.json")
    assert done.returncode == 0, done.stderr
    rows = json.loads((folder / "table.json").read_text())["rows"]
    assert len(rows) == 5
    for row in rows:
        assert row["result"]["algorithm"] == "ina" and row["result"]["wrong"] == row["ring"]["wrong"] == 0
    for name in ("table.json", "run.pcap", "stats.json"):
        assert (folder / name).stat().st_size > 0 and (folder / name).stat().st_uid == (os.getuid() or NOBODY)


def test_in_real_time_with_several_ranks_on_a_host(home):
    folder, _ = home
    done = run(home, "-q", "-n", 2, "--ranks-per-host", 2, "--aggregator", "model", "--", folder / "ina-perf", "-b", "1M",
               "-e", "1M", "-n", 1, "--algorithm", "ina")
    assert done.returncode == 0, done.stderr


def test_the_doctors(home):
    folder, environment = home
    assert subprocess.run([folder / "ina-lab", "doctor"], env=environment, timeout=20, **AS_USER).returncode == 0
    done = run(home, "-q", "-n", 2, "--aggregator", "model", "--", folder / "ina-perf", "--doctor")
    assert done.returncode == 0, done.stdout + done.stderr
