# SPDX-License-Identifier: Apache-2.0
"""Machines with several ranks: right sums whatever their shape, one error for all, and fewer bytes.

In virtual time, except the tests on one machine, which use no network.
"""
import pytest
from lab import PERF, assert_all_right, perf, run

MODEL = ["--aggregator", "model", "--virtual-time"]
ONE_MACHINE = ["--aggregator", "model"]
SIZE = 4 << 20


def ranks(counts):
    """ina-lab's options for machines with these numbers of ranks."""
    return ["--ranks-per-host", ",".join(map(str, counts))]


@pytest.mark.parametrize("counts", [(2, 2), (4, 4), (2, 2, 2, 2), (3, 5), (1, 4), (3, 1, 2)])
def test_shapes(tmp_path, counts):
    """Sizes below a cache line, odd sizes, and many steps; between machines the aggregator sums."""
    result = perf(tmp_path, len(counts), [*MODEL, *ranks(counts)],
                  ["-b", "4", "-e", "3M", "-f", "91", "-t", "all", "-n", "1", "-w", "0"])
    assert_all_right(result, "ina")
    assert result.report["ranks"] == sum(counts)
    assert result.aggregator["joins_refused"] == 0, result


@pytest.mark.parametrize("schedule", ["auto", "flat", "leader", "parallel"])
def test_schedules(tmp_path, schedule):
    """Flat uses the ring, because two ranks of a job on one port are refused."""
    result = perf(tmp_path, 2, [*MODEL, *ranks((2, 2))],
                  ["-b", "1000", "-e", "1M", "-f", "31", "-o", "max", "-n", "1", "--in-place", "--schedule", schedule])
    assert_all_right(result, "ring" if schedule == "flat" else "ina")


def test_one_machine(tmp_path):
    """Nothing is sent on the wire."""
    result = perf(tmp_path, 1, [*ONE_MACHINE, *ranks((3,))], ["-b", "4", "-e", "9M", "-f", "99", "-t", "all", "-n", "1"])
    assert result.code == 0, result
    assert result.wrong() == 0, result
    assert max(r["wire_bytes"] for r in result.results()) < 1000, result


def test_more_rails_than_the_aggregator_has_room_for(tmp_path):
    """Five jobs with room for four: the refused one uses the ring, and all sums are right."""
    result = perf(tmp_path, 2, [*MODEL, "--jobs", "4", *ranks((5, 5))], ["-b", "4", "-e", "3M", "-f", "91", "-t", "all", "-n", "1"])
    assert result.code == 0, result
    assert result.wrong() == 0, result
    assert result.aggregator["joins_refused"] > 0, result
    assert result.aggregator["packets_joined"] > 0, result


def test_the_aggregator_drops_out(tmp_path):
    """During an all-reduce of all rails: they continue over the ring, even if some have finished their part."""
    result = perf(tmp_path, 2, [*MODEL, *ranks((2, 3)), "--reset-every", "700"],
                  ["-b", "300K", "-e", "12M", "-f", "3", "-t", "int32", "-n", "3"])
    assert result.code == 0, result
    assert result.wrong() == 0, result
    assert result.stats["engine_resets"] > 0 and result.count("fallbacks") > 0, result
    assert "ring" in result.algorithms(), result


@pytest.mark.parametrize("faults", [[], ["--reset-every", "2500"]])
def test_many_steps(tmp_path, faults):
    """Six steps through the four places of shared memory."""
    result = perf(tmp_path, 2, [*MODEL, *ranks((2, 3)), *faults], ["-b", "24M", "-e", "24M", "-t", "int32", "-n", "1"])
    assert result.code == 0, result
    assert result.wrong() == 0, result
    assert (result.stats["engine_resets"] > 0) == (result.count("fallbacks") > 0) == bool(faults), result


@pytest.mark.parametrize("victim", [0, 1, 4])
def test_a_rank_that_dies(tmp_path, victim):
    """Killed during an all-reduce: all others, on both machines, get the same sentence, even with slow hosts."""
    command = (f"{PERF} -b 8M -e 8M -n 1000 -c 0 & pid=$!; "
               f"[ $INA_RANK != {victim} ] || {{ sleep 1; kill -9 $pid; }}; wait $pid")
    result = run(tmp_path, 2, [*MODEL, "--host-byte-cost", 20, *ranks((2, 3))], ["sh", "-c", command])
    assert result.code not in (0, 124, 125), result
    assert result.err.count(f"INA_ERR_PEER: rank {victim} disconnected") == 4, result


def test_ranks_that_disagree(tmp_path):
    """They disagree on the schedule, when they open."""
    result = run(tmp_path, 2, [*MODEL, *ranks((2, 2))],
                 ["sh", "-c", f"s=leader; [ $INA_RANK != 3 ] || s=flat; exec {PERF} --schedule $s -e 4"])
    assert result.code == 1, result
    assert result.err.count("rank 3 asks for schedule flat, rank 0 for leader") == 4, result


@pytest.mark.parametrize("hosts, locals_", [(2, 4), (4, 2)])
def test_against_flat_ring(tmp_path, hosts, locals_):
    """In virtual time, in which only the network takes time: M bytes for each machine, where the ring sends 2 (P - 1) / P M."""
    result = perf(tmp_path, hosts, [*MODEL, "--ranks-per-host", locals_],
                  ["-b", SIZE, "-e", SIZE, "-n", "1", "-w", "0", "--schedules"])
    assert result.code == 0, result
    by = result.report["rows"][0]["schedules"]
    assert [by[name]["wrong"] for name in ("flat", "leader", "parallel")] == [0, 0, 0], result
    assert by["flat"]["time_us"] / by["parallel"]["time_us"] >= 1.3, result
    # A header of 58 bytes for each packet of up to 4096, and ACKs.
    assert by["parallel"]["wire_bytes"] <= 1.02 * SIZE, result
    # The bytes that the rank next to the cable has not sent yet when rank 0 reads the counter are missing.
    assert by["flat"]["wire_bytes"] >= 1.7 * SIZE, result


@pytest.mark.parametrize("hosts, sentence", [
    (1, "will not help: all ranks are on one machine"),
    (2, "will not save bytes: a ring of 2 machines sends M as well"),
    (3, "sends M between machines, where a ring sends 1.33 M"),
])
def test_explain(tmp_path, hosts, sentence):
    result = perf(tmp_path, hosts, [*(MODEL if hosts > 1 else ONE_MACHINE), "--ranks-per-host", 2],
                  ["-b", "64K", "-e", "64K", "-n", "1", "--explain"])
    assert result.code == 0, result
    assert sentence in result.out, result
    assert result.report["rows"][0]["schedules"]["picked"] in ("flat", "leader", "parallel"), result


@pytest.mark.parametrize("text, complaint", [
    ("0", "--ranks-per-host takes a whole number from 1 to 1024"),
    ("1,2,3", "--ranks-per-host has 3 numbers for 2 hosts"),
    ("1000", "2000 ranks exceed the limit of 1024"),
])
def test_wrong_options(tmp_path, text, complaint):
    result = run(tmp_path, 2, ["--ranks-per-host", text], ["true"])
    assert result.code == 2, result
    assert complaint in result.err, result
