# SPDX-License-Identifier: Apache-2.0
"""The command line of ina-perf: bad input gets one clear line and exit code 2; one rank needs no network."""
import json
import os
import subprocess

import pytest

PERF = os.environ["INA_PERF"]


def run(*arguments, **environment):
    env = {k: v for k, v in os.environ.items() if not k.startswith("INA_")}
    env.update(environment)
    return subprocess.run([PERF, *arguments], env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["-b", "x"], "-b x"),
        (["-b", "1"], "-b 1"),
        (["-b", "3", "-t", "half"], "element size, 2"),
        (["-b", "6"], "multiple of the element size"),
        (["-b", "-4"], "-b -4"),
        (["-e", "4Q"], "-e 4Q"),
        (["-b", "8", "-e", "4"], "no size to run"),
        (["-f", "1"], "-f 1"),
        (["-t", "int16"], "must be int32, float, bfloat16, half, all (of these), double, int64, uint8, uint32, uint64, int8 or uint16"),
        (["-o", "xor"], "must be sum, max, min, prod or avg"),
        (["-n", "0"], "-n 0"),
        (["-c", "2"], "-c 2"),
        (["--algorithm", "tree"], "auto, ina or ring"),
        (["--model", "vgg"], "resnet50"),
        (["--late", "1"], "RANK:SECONDS"),
        (["--late", "1:x"], "RANK:SECONDS"),
        (["--compare", "--algorithm", "ring"], "--compare"),
        (["--collective", "scan"], "all_reduce, reduce_scatter, all_gather, broadcast, reduce or barrier"),
        (["--collective", "reduce", "--schedules"], "all_reduce only"),
        (["-r", "-1"], "-r -1"),
        (["what"], "what"),
    ],
)
def test_bad_options(arguments, words):
    result = run(*arguments)
    assert result.returncode == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""


def test_no_such_root():
    result = run("-r", "1", INA_RANKS="1", INA_RANK="0")
    assert result.returncode == 2 and result.stderr == "ina-perf: -r 1: must be a rank from 0 to 0\n"


def test_no_such_late_rank():
    result = run("--late", "1:0", INA_RANKS="1", INA_RANK="0")
    assert result.returncode == 2 and result.stderr == "ina-perf: --late 1: must be a rank from 0 to 0\n"


@pytest.mark.parametrize("arguments", [[], ["--collective", "all_gather"], ["-o", "prod"]])
def test_no_aggregator_summed(arguments):
    """With --algorithm ina the exit code says whether an aggregator summed, also if there is one rank, which needs no sums."""
    result = run("-e", "4", "--algorithm", "ina", *arguments, INA_RANKS="1", INA_RANK="0")
    assert result.returncode == 1
    assert result.stderr == "ina-perf: --algorithm ina: the aggregator did not sum 1 of 1 rows; the first has 4 bytes of float\n"


def test_unknown_option():
    result = run("--bandwidth")
    assert result.returncode == 2
    assert "--bandwidth" in result.stderr


@pytest.mark.parametrize(
    "environment, words",
    [
        ({}, "INA_RANKS"),
        ({"INA_RANKS": "none"}, 'INA_RANKS is "none"'),
        ({"INA_RANKS": "2"}, "INA_RANK"),
        ({"INA_RANKS": "2", "INA_RANK": "0"}, "INA_ROOT"),
        ({"INA_RANKS": "1", "INA_RANK": "1"}, "the only rank is 0"),
        ({"INA_RANKS": "1", "INA_RANK": "0", "INA_WINDOWS": "4"}, "INA_WINDOWS: did you mean INA_WINDOW?"),
    ],
)
def test_bad_environment(environment, words):
    result = run(**environment)
    assert result.returncode == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_options(tmp_path):
    """--options prints each option with its value and source, from the file, the environment and the command line."""
    (tmp_path / "conf").write_text("# a comment\nINA_WINDOW = 3\nINA_POLL_COUNT=4\nINA_CHANNELS=2\n")
    environment = {"INA_CONF_FILE": str(tmp_path / "conf"), "INA_CHANNELS": "3", "HOME": str(tmp_path)}
    result = run("--options", "--window", "5", **environment)
    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()}
    assert (result.returncode, result.stderr) == (0, "")
    assert rows["INA_WINDOW"] == ["5", "program"]
    assert rows["INA_CHANNELS"] == ["3", "environment"]
    assert rows["INA_POLL_COUNT"] == ["4", f"{tmp_path}/conf:3"]
    assert rows["INA_TIMEOUT_MS"] == ["300000", "default"]
    (tmp_path / "conf").write_text("INA_WINDOW=none\n")
    result = run("--options", **environment)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (f'ina-perf: INA_ERR_ARGUMENT: {tmp_path}/conf:1: INA_WINDOW is "none": '
                             "it must be a number from 1 to 128\n")


def test_one_rank(tmp_path):
    path = tmp_path / "table.json"
    result = run("-b", "4", "-e", "1K", "-f", "4", "-t", "all", "--json", str(path), INA_RANK="0", INA_RANKS="1")
    assert result.returncode == 0, result.stderr
    table = json.loads(path.read_text())
    assert [row["size_bytes"] for row in table["rows"]] == 4 * [4, 16, 64, 256, 1024]
    assert all(row["result"]["wrong"] == 0 for row in table["rows"])
    rows = [line for line in result.stdout.splitlines() if not line.startswith("#")]
    assert len(rows) == 20
    assert [row["type"] for row in table["rows"][::5]] == ["int32", "float", "bfloat16", "half"]
    assert {row["op"] for row in table["rows"]} == {"sum"}


def test_odd_counts_of_halves():
    result = run("-b", "2", "-e", "18", "-f", "3", "-t", "half", "-o", "min", INA_RANK="0", INA_RANKS="1")
    assert result.returncode == 0, result.stderr
    rows = [line.split()[:5] for line in result.stdout.splitlines() if not line.startswith("#")]
    assert rows == [["2", "1", "half", "min", "ring"], ["6", "3", "half", "min", "ring"], ["18", "9", "half", "min", "ring"]]


def test_json_that_cannot_be_written():
    result = run("-e", "4", "--json", "/nowhere/table.json", INA_RANK="0", INA_RANKS="1")
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr == "ina-perf: cannot write /nowhere/table.json: No such file or directory\n"
