# SPDX-License-Identifier: Apache-2.0
"""ina-perf on real hosts: the table and its JSON report the truth."""
import json
import os
import subprocess
import sys

import pytest

PERF = os.environ["INA_PERF"]
LAB = os.environ["INA_LAB"]
GOODPUT = os.path.join(os.path.dirname(PERF), "ina-goodput")
SIM_SPEED = os.path.join(os.path.dirname(__file__), "../bench/sim_speed.py")


def run(hosts, aggregator, *arguments, **environment):
    return subprocess.run(
        [LAB, "run", "-q", "-n", str(hosts), "--aggregator", aggregator, "--grace", "5", "--timeout", "100", "--", PERF,
         *arguments],
        capture_output=True, text=True, timeout=120, env={**os.environ, **environment})


def test_compare(tmp_path):
    """Nothing is lost here, so a packet that is sent twice is sent too early. An ACK timeout of 1 s prevents that on a busy
    machine."""
    path = tmp_path / "table.json"
    result = run(4, "model", "-b", "64K", "-e", "1M", "-f", "16", "-n", "2", "-t", "all", "--compare", "--json", str(path),
                 INA_ACK_TIMEOUT="18")
    assert result.returncode == 0, result.stdout + result.stderr
    table = json.loads(path.read_text())
    assert table["ranks"] == 4 and len(table["rows"]) == 8
    for row in table["rows"]:
        size = row["size_bytes"]
        assert row["result"]["algorithm"] == "ina" and row["ring"]["algorithm"] == "ring"
        assert row["result"]["wrong"] == 0 and row["ring"]["wrong"] == 0
        # The theoretical number of bytes is sent, plus at most a tenth for headers and acknowledgements. A host's counters also
        # include the last ACKs of the all-reduce before.
        assert size < row["result"]["wire_bytes"] < 1.1 * size + 1000
        # Partial sums of 16-bit numbers travel as float32.
        parts = 2 if row["type"] in ("half", "bfloat16") else 1.5
        assert parts * size < row["ring"]["wire_bytes"] < 1.1 * parts * size + 2000
        assert abs(row["speed_up"] - row["ring"]["time_us"] / row["result"]["time_us"]) < 1e-6


def test_in_place_and_other_windows():
    result = run(3, "model", "-b", "100K", "-e", "100K", "-n", "2", "-t", "all", "--in-place", "--window", "3",
                 "--message", "12304")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("op", ["max", "min"])
def test_other_operations(op, tmp_path):
    """Through the aggregator and over the ring, with an odd count of 16-bit elements."""
    path = tmp_path / "table.json"
    result = run(3, "model", "-b", "250002", "-e", "250002", "-n", "1", "-t", "bfloat16", "-o", op, "--compare",
                 "--json", str(path))
    assert result.returncode == 0, result.stdout + result.stderr
    (row,) = json.loads(path.read_text())["rows"]
    assert row["op"] == op and row["count"] == 125001
    assert row["result"]["algorithm"] == "ina" and row["ring"]["algorithm"] == "ring"


# nccl-tests, doc/PERFORMANCE.md: busbw divided by algbw for n ranks, and whether a size is that of n blocks.
COLLECTIVES = {"all_reduce": (lambda n: 2 * (n - 1) / n, False), "reduce_scatter": (lambda n: (n - 1) / n, True),
               "all_gather": (lambda n: (n - 1) / n, True), "broadcast": (lambda n: 1, False),
               "reduce": (lambda n: 1, False)}


@pytest.mark.parametrize("place", [[], ["--in-place"]], ids=["apart", "in_place"])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives(name, place, tmp_path):
    factor, blocks = COLLECTIVES[name]
    path = tmp_path / "table.json"
    result = run(3, "model", "-b", "6K", "-e", "384K", "-f", "64", "-n", "2", "-t", "all", "-r", "1", "--collective", name,
                 "--json", str(path), *place)
    assert result.returncode == 0, result.stdout + result.stderr
    table = json.loads(path.read_text())
    assert table["collective"] == name and len(table["rows"]) == 8
    for row in table["rows"]:
        bytes = {"int32": 4, "float": 4, "bfloat16": 2, "half": 2}[row["type"]]
        assert row["result"]["wrong"] == 0
        assert row["size_bytes"] == row["count"] * bytes * (3 if blocks else 1)
        assert row["result"]["busbw_GBps"] == pytest.approx(row["result"]["algbw_GBps"] * factor(3))
    if name != "all_reduce":
        lines = [line.removeprefix("[0] ") for line in result.stdout.splitlines()]
        header = next(line for line in lines if "redop" in line).strip("# ").split()
        cells = lines[-1].split()
        assert header[:5] == ["size", "count", "type", "redop", "root"], header
        assert cells[header.index("root")] == ("1" if name in ("broadcast", "reduce") else "-1")
        assert cells[header.index("redop")] == ("sum" if "reduce" in name else "none")


@pytest.mark.parametrize("type, op, algorithm", [
    ("double", "sum", "ring"), ("double", "prod", "ring"), ("int64", "avg", "ring"), ("uint8", "max", "ring"), ("uint64", "min", "ring"),
    ("int8", "min", "ring"), ("uint16", "sum", "ring"), ("uint16", "avg", "ina"), ("uint32", "sum", "ina"), ("half", "avg", "ina"), ("float", "prod", "ring")])
def test_what_the_aggregator_cannot_add(type, op, algorithm, tmp_path):
    """The hosts add it, and the table says so."""
    path = tmp_path / "table.json"
    result = subprocess.run([LAB, "run", "-q", "-n", "3", "--virtual-time", "--aggregator", "model", "--", PERF, "-b", "64", "-e", "64K",
                             "-f", "32", "-n", "1", "-t", type, "-o", op, "--json", path], capture_output=True, text=True, timeout=90)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = json.loads(path.read_text())["rows"]
    assert [(row["type"], row["op"]) for row in rows] == [(type, op)] * 3
    assert [row["result"]["wrong"] for row in rows] == [0, 0, 0]
    assert [row["result"]["algorithm"] for row in rows] == [algorithm] * 3


def test_barriers():
    result = run(3, "model", "-b", "4", "-e", "4", "--collective", "barrier")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("faults", [[], ["--reset-every", "1500"]])
def test_fixed_point(faults, tmp_path):
    """Within the bound, also if the ring takes over and returns to the aggregator. It is not float32, because there are small
    errors."""
    path = tmp_path / "table.json"
    result = subprocess.run(
        [LAB, "run", "-q", "-n", "4", "--aggregator", "model", *faults, "--timeout", "60", "--", PERF, "--fixed-point",
         "-b", "100012", "-e", "2M", "-f", "4", "-n", "4", "--json", str(path)], capture_output=True, text=True, timeout=90)
    assert result.returncode == 0, result.stdout + result.stderr
    table = json.loads(path.read_text())
    assert (sum(row["result"]["fallbacks"] for row in table["rows"]) > 0) == bool(faults)
    fixed = table["fixed_point"]
    # 17-bit integers of 4 ranks: 4 * 2^(17 + 2 - 31), and 4 * 2^16 rounded to 24 bits.
    assert fixed["bound"] == 2 ** -10 + 2 ** -6
    assert 0 < fixed["farthest"] <= fixed["bound"]
    assert f"# Fixed point: a sum may be {fixed['bound']:.3g} off" in result.stdout


LAUNCHERS = {
    "torchrun": "RANK=$r WORLD_SIZE=$n MASTER_ADDR=192.0.2.1 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=x",
    "openmpi": "OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=$n OMPI_MCA_orte_hnp_uri=1.0';tcp://192.0.2.1:5000'",
    "mpich": "PMI_RANK=$r PMI_SIZE=$n INA_ROOT=192.0.2.1",
    "srun": "SLURM_PROCID=$r SLURM_NTASKS=$n SLURM_STEP_NODELIST='192.0.2.[1-3]'",
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_as_other_launchers_start_it(launcher):
    """With the variables of these launchers in place of INA_RANK, INA_RANKS and INA_ROOT, on three hosts."""
    result = subprocess.run(
        [LAB, "run", "-q", "-n", "3", "--aggregator", "model", "--timeout", "60", "--", "sh", "-c",
         "r=$INA_RANK n=$INA_RANKS; unset INA_RANK INA_RANKS INA_ROOT INA_BIND; "
         f"{LAUNCHERS[launcher]} exec \"$0\" -b 1K -e 1K -n 1 --algorithm ina", PERF],
        capture_output=True, text=True, timeout=90)
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


def test_plain_sending_needs_no_aggregator_and_meets_none():
    """Packets of a flow without a JOIN pass through an aggregator unchanged."""
    for aggregator in ("off", "model"):
        result = subprocess.run([LAB, "run", "-q", "-n", "3", "--aggregator", aggregator, "--timeout", "60", "--", GOODPUT,
                                 "plain", "1", "3"], capture_output=True, text=True, timeout=90)
        assert result.returncode == 0, result.stdout + result.stderr
        lines = [json.loads(line.split("] ", 1)[1]) for line in result.stdout.splitlines()]
        assert sorted(line["rank"] for line in lines) == [0, 1, 2]
        assert all(line["wrong"] == 0 and len(line["times_s"]) == 3 for line in lines)


@pytest.mark.parametrize("arguments", [[], ["plain", "1"], ["tree", "1", "1"], ["plain", "x", "1"], ["plain", "1", "0"]])
def test_goodput_says_how_to_use_it(arguments):
    result = subprocess.run([GOODPUT, *arguments], capture_output=True, text=True, timeout=10)
    assert result.returncode == 1 and result.stderr.startswith("usage: ina-goodput"), result.stderr


def test_speed_of_the_simulation_is_measured(tmp_path):
    """The ratios themselves depend on the machine's load: make bench-rtl prints them."""
    path = tmp_path / "speed.json"
    result = subprocess.run([sys.executable, SIM_SPEED, "--build", os.path.dirname(PERF), "--hosts", "2", "--mebibytes", "1",
                             "--rounds", "1", "--sets", "1", "--json", str(path)],
                            capture_output=True, text=True, timeout=150)
    assert result.returncode == 0, result.stdout + result.stderr
    ways = json.loads(path.read_text())["ways"]
    assert set(ways) == {"plain", "model", "rtl", "ring"}
    assert ways["plain"]["to_plain"] == 1 and all(way["goodput_MBps"] > 0 for way in ways.values())
