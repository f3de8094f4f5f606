# SPDX-License-Identifier: Apache-2.0
"""The demos, with small all-reduces: they finish, print their results, and write the promised files."""
import json
import os
import re
import subprocess
from pathlib import Path

DEMOS = Path(__file__).resolve().parents[2] / "allreduce"
BUILD = Path(os.environ["INA_PERF"]).parent


def run(script, folder, *arguments, **environment):
    return subprocess.run([DEMOS / script, BUILD, *arguments], cwd=folder, capture_output=True, text=True, timeout=280,
                          stdin=subprocess.DEVNULL, env={**os.environ, **environment})


def test_demo(tmp_path):
    result = run("demo.py", tmp_path, "64K")
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"All [0-9,]+ elements of the sums are right; every host compared every one\.", result.stdout), result.stdout
    measured, check = result.stdout.split("2. A check, in real time")
    sizes = re.findall(r"^ +(\d+ (?:B|KiB)) +[0-9.]+ +[0-9.]+ +[0-9.]+ +\d+ +\d+ +0$", measured, re.M)
    assert sizes == ["4 B", "16 B", "64 B", "256 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB"], result.stdout
    # Two algorithms, four hosts, and four rounds; the RTL has two rounds.
    rows = re.findall(r"^ +(\d+ KiB) +[0-9.]+ +([0-9,]+) +0( +through the simulated RTL)?$", check, re.M)
    assert [(size, elements) for size, elements, _ in rows] == \
        [("4 KiB", "32,768"), ("64 KiB", "524,288"), ("64 KiB", "262,144")], result.stdout
    assert [bool(rtl) for _, _, rtl in rows] == [False, False, True] and "speed-up" not in check, result.stdout
    for name in "virtual", "real", "rtl":
        assert {path.name for path in (tmp_path / "demo").glob(f"{name}.*")} == \
            {f"{name}.{kind}" for kind in ("json", "log", "pcap", "stats.json")}
    assert json.loads((tmp_path / "demo/virtual.stats.json").read_text())["aggregator"]["joins_refused"] == 0


def test_demo_that_fails(tmp_path):
    """The last lines of the hosts are shown."""
    result = run("demo.py", tmp_path, "2")
    assert result.returncode == 1, result.stdout + result.stderr
    assert "a host or the lab failed" in result.stderr and "no size to run" in result.stdout, result.stdout + result.stderr


def test_demo_multigpu(tmp_path):
    """With a gnuplot that only records its input, because make test does not install the real one."""
    gnuplot = tmp_path / "gnuplot"
    gnuplot.write_text(f"#!/bin/sh\ncat >{tmp_path}/drawing\n")
    gnuplot.chmod(0o755)
    result = run("demo-multigpu.sh", tmp_path, "4K", INA_AGGREGATOR="model", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert result.returncode == 0, result.stdout + result.stderr
    for shape in "2x4", "4x2":
        rows = json.loads((tmp_path / f"demo/multigpu-{shape}.json").read_text())["rows"]
        assert [row["size_bytes"] for row in rows] == [4096]
        assert all(row["schedules"][name]["wrong"] == 0 for row in rows for name in ("flat", "leader", "parallel"))
    drawing = (tmp_path / "drawing").read_text()
    assert str(tmp_path / "demo/multigpu.svg") in drawing and "plot" in drawing, drawing
