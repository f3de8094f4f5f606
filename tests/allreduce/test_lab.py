# SPDX-License-Identifier: Apache-2.0
"""ina-perf on real hosts: the table and its JSON say what happened."""
import json
import os
import subprocess

PERF = os.environ["INA_PERF"]
LAB = os.environ["INA_LAB"]


def run(hosts, aggregator, *arguments):
    return subprocess.run(
        [LAB, "run", "-q", "-n", str(hosts), "--aggregator", aggregator, "--grace", "5", "--timeout", "100", "--", PERF,
         *arguments],
        capture_output=True, text=True, timeout=120)


def test_compare(tmp_path):
    path = tmp_path / "table.json"
    result = run(4, "model", "-b", "64K", "-e", "1M", "-f", "16", "-n", "2", "-t", "all", "--compare", "--json", str(path))
    assert result.returncode == 0, result.stdout + result.stderr
    table = json.loads(path.read_text())
    assert table["ranks"] == 4 and len(table["rows"]) == 4
    for row in table["rows"]:
        size = row["size_bytes"]
        assert row["result"]["algorithm"] == "ina" and row["ring"]["algorithm"] == "ring"
        assert row["result"]["wrong"] == 0 and row["ring"]["wrong"] == 0
        # What theory says goes on the wire, and at most a tenth for headers and acknowledgements.
        # A host's device is also busy with the last ACKs of the all-reduce before.
        assert size < row["result"]["wire_bytes"] < 1.1 * size + 1000
        assert 1.5 * size < row["ring"]["wire_bytes"] < 1.65 * size + 2000
        assert abs(row["speed_up"] - row["ring"]["time_us"] / row["result"]["time_us"]) < 1e-6


def test_in_place_and_other_windows():
    result = run(3, "model", "-b", "100K", "-e", "100K", "-n", "2", "-t", "all", "--in-place", "--window", "3",
                 "--message", "12304")
    assert result.returncode == 0, result.stdout + result.stderr


def test_ina_without_an_aggregator():
    result = run(2, "off", "-e", "4", "--algorithm", "ina")
    assert result.returncode == 1
    assert "INA_ERR_AGGREGATOR" in result.stdout + result.stderr


def test_auto_without_an_aggregator():
    result = run(2, "off", "-b", "1K", "-e", "1K")
    assert result.returncode == 0, result.stdout + result.stderr
    rows = [line for line in result.stdout.splitlines() if line.startswith("[0]") and "#" not in line]
    assert len(rows) == 1 and " ring " in rows[0]
