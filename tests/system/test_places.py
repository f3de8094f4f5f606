# SPDX-License-Identifier: Apache-2.0
"""Ranks find out at which switches they are, and aggregate across several: in virtual time, mostly with the model as
aggregator."""
import json

import pytest
from lab import PERF, assert_all_right, perf, run
from test_virtual_time import VIRTUAL

MODEL = [*VIRTUAL, "--aggregator", "model"]
SIZE = 6 << 20  # large in comparison with the ranks' TCP messages
RUNS = 2  # including the run that warms up
MUCH = ["-b", SIZE, "-e", SIZE, "-n", RUNS - 1]
LITTLE = ["-b", "64K", "-e", "64K", "-n", 2]


def fabric(folder, switches):
    """The options for a fabric: for each switch its name, its hosts, its uplinks, and further properties."""
    path = folder / "fabric.json"
    path.write_text(json.dumps({"switches": [{"name": name, "hosts": hosts, "up": up, **more} for name, hosts, up, more in switches]}))
    return ["--topology", path]


def leaves(folder, *hosts, top=None, **more):
    """A spine, with or without hosts, over leaves a, b, ...; more: further properties of a switch."""
    switches = [("spine", top or [], [], more.get("spine", {}))]
    for name, list_of_hosts in zip("abcdefgh", hosts):
        switches.append((name, list_of_hosts, ["spine"], more.get(name, {})))
    return fabric(folder, switches)


def three_levels(folder, a, b, c, d):
    return fabric(folder, [("core", [], [], {}), ("left", [], ["core"], {}), ("right", [], ["core"], {}),
                           ("a", a, ["left"], {}), ("b", b, ["left"], {}), ("c", c, ["right"], {}), ("d", d, ["right"], {})])


FABRICS = {
    "2x2": (4, lambda folder: ["--topology", "leaf-spine:2x2"]),
    "2x4": (8, lambda folder: ["--topology", "leaf-spine:2x4"]),
    "1 host a leaf": (2, lambda folder: ["--topology", "leaf-spine:2x1"]),
    "2 spines": (8, lambda folder: ["--topology", "clos:2x4x2"]),
    "scattered": (8, lambda folder: leaves(folder, [7, 0, 3], [6, 1], [2, 4, 5])),
    "a host at the spine": (5, lambda folder: leaves(folder, [0, 3], [2, 4], top=[1])),
    "3 levels, scattered": (8, lambda folder: three_levels(folder, [0, 5], [3, 6], [7, 1], [4, 2])),
}


@pytest.mark.parametrize("name", FABRICS)
def test_bytes_between_switches(tmp_path, name):
    """However many ranks are below, a cable between switches carries the data once in each direction, and nothing twice."""
    ranks, options = FABRICS[name]
    result = perf(tmp_path, ranks, [*MODEL, *options(tmp_path)], MUCH)
    assert_all_right(result, "ina")
    taken = [way["bytes"] for cable in result.stats["cables"].values() for way in (cable["up"], cable["down"])]
    # Only the first of several spines has the job; the ring's connections carry only TCP's own messages.
    busy = [count for count in taken if count > SIZE // 4]
    assert len(busy) == (len(taken) if name != "2 spines" else len(taken) // 2), result
    assert all(RUNS * SIZE <= count <= 1.03 * RUNS * SIZE for count in busy), (busy, result)


def test_leaf_of_nine_ports(tmp_path):
    """With the RTL in every switch: eight hosts and an uplink at one leaf, one host and an uplink at another."""
    result = perf(tmp_path, 9, [*VIRTUAL, "--aggregator", "rtl", *leaves(tmp_path, [0, 1, 2, 3, 4, 5, 6, 7], [8])],
                  ["-b", 8, "-e", "32K", "-f", 64, "-t", "all", "-n", 1])
    assert_all_right(result, "ina")
    switches = {name: switch["aggregator"] for name, switch in result.stats["switches"].items()}
    assert {name: (switch["kind"], switch["ports"]) for name, switch in switches.items()} == {"spine": ("rtl", 2), "a": ("rtl", 16), "b": ("rtl", 2)}, result
    # Leaf b has a single rank, so it takes no part in the job.
    assert {name for name, switch in switches.items() if switch["packets_joined"] > 0} == {"spine", "a"}, result


@pytest.mark.parametrize("types", ["int32", "half"])
def test_same_on_all_ranks(tmp_path, types):
    """Elements of all types are right on all ranks, in calls of one window and of a few bytes."""
    result = perf(tmp_path, 8, [*MODEL, *three_levels(tmp_path, [0, 5], [3, 6], [7, 1], [4, 2])], ["-b", 8, "-e", "512K", "-f", 64, "-t", types, "-n", 2])
    assert_all_right(result, "ina")


def test_lossy_cables(tmp_path):
    """Packets that are lost between switches, or before them, are sent again. Nothing is wrong, and no rank uses the ring."""
    faults = ["--loss-up", "0.002", "--loss-down", "0.002", "--at", "a:up0,loss-up=0.005,loss-down=0.005", "--at", "b:up0,loss-up=0.005"]
    result = perf(tmp_path, 4, [*MODEL, *leaves(tmp_path, [0, 2], [1, 3]), *faults], ["-b", "1M", "-e", "1M", "-n", 4], timeout_s=400)
    assert_all_right(result, "ina")
    assert sum(cable[way]["faults"]["lost"] for cable in result.stats["cables"].values() for way in ("up", "down")) > 5, result


PARTED = {
    "a leaf without": (["--at", "b,aggregator=off"], "no aggregator before it sums them"),
    "a spine without": (["--at", "spine,aggregator=off"], "no aggregator is above both"),
    "none": (["--aggregator", "off"], "no aggregator, or it refused"),
}


@pytest.mark.parametrize("name", PARTED)
def test_where_not_all_can_sum(tmp_path, name):
    """The job uses the ring, and the log says why. With --algorithm ina, an error says so."""
    options, why = PARTED[name]
    lab = [*MODEL, *leaves(tmp_path, [0, 2], [1, 3]), *options]
    result = run(tmp_path, 4, lab, ["env", "INA_LOG=info", PERF, *[str(word) for word in LITTLE]])
    assert result.code == 0, result
    assert result.err.count(why) == 4 and result.out.count(why) == 1, result  # the logs, and ina-perf's header
    assert result.aggregator.get("packets_joined", 0) == 0, result
    if name == "none":
        return
    result = run(tmp_path, 4, lab, [PERF, "--algorithm", "ina", *[str(word) for word in LITTLE]])
    assert result.code != 0 and why in result.err + result.out, result


# A few all-reduces over the ring take seconds, because ranks try the aggregator again a second after it has refused.
SLOW = ["--link-rate", "20M"]
SOME = ["-b", "256K", "-e", "256K", "-n", 20, "-w", 0]


@pytest.mark.parametrize("name", ["spine", "a"])
def test_a_switch_that_comes_later(tmp_path, name):
    """At first the switch passes no TRACE, and the job uses the ring. Then the ranks look again where they are, and use the
    aggregator."""
    result = perf(tmp_path, 4, [*MODEL, *SLOW, *leaves(tmp_path, [0, 2], [1, 3], **{name: {"quiet": 3000}})], SOME)
    assert result.code == 0 and result.report["rows"] and result.wrong() == 0, result
    assert result.stats["switches"][name]["aggregator"]["quiet_dropped"] > 0, result
    assert (result.count("fallbacks"), result.count("rejoins")) == (0, 1), result
    assert result.algorithms() == {"ina"}, result


def test_a_switch_that_does_not_come(tmp_path):
    """The ranks ask again, get the same answer, and continue over the ring."""
    lab = [*MODEL, *SLOW, *leaves(tmp_path, [0, 2], [1, 3], spine={"aggregator": "off"})]
    result = run(tmp_path, 4, lab, ["env", "INA_LOG=info", PERF, "-c", 1, *[str(word) for word in SOME]])
    assert result.code == 0, result
    still = [line for line in result.err.splitlines() if "still over the ring: no aggregator is above both" in line]
    assert len(still) >= 4 and len(still) % 4 == 0, result
    assert result.aggregator["packets_joined"] == 0, result


DRAWN = """\
switch 1, level 2, the top: sums 2 ports for all 4 ranks
    port 0: switch 2, level 1: sums 2 ports, and sends the sum up as rank 2
        port 0: rank 0
        port 1: rank 2
    port 1: switch 3, level 1: sums 2 ports, and sends the sum up as rank 3
        port 0: rank 1
        port 1: rank 3
when opened: aggregated by switches of 2 levels, 64 of 128 packets granted
"""

UNDRAWN = """\
switch 2, level 1: sums nothing
    port 0: rank 0
    port 1: rank 2
switch 3, level 1: sums nothing
    port 0: rank 1
    port 1: rank 3
when opened: over the ring: no aggregator is above both switch 2 with rank 0 and switch 3 with rank 1
"""


@pytest.mark.parametrize("options, drawn", [([], DRAWN), (["--at", "spine,aggregator=off"], UNDRAWN)])
def test_explain(tmp_path, options, drawn):
    """Prints the tree, with the switches that sum and the reasons why others do not. The switches are numbered from 1 on, in the
    order of the fabric."""
    result = perf(tmp_path, 4, [*MODEL, *leaves(tmp_path, [0, 2], [1, 3]), *options], ["--explain", *LITTLE])
    assert result.code == 0 and result.wrong() == 0, result
    assert "".join(f"[0] # {line}\n" for line in drawn.splitlines()) in result.out, result


RESETS = {"the spine": "spine", "a leaf": "a"}


@pytest.mark.parametrize("name", RESETS)
def test_reset(tmp_path, name):
    """In the middle of a job: the ring finishes the calls under way, and a fresh JOIN brings aggregation across switches back."""
    lab = [*MODEL, "--link-rate", "250M", *leaves(tmp_path, [0, 2], [1, 3]), "--at", f"{RESETS[name]},reset-at=150ms"]
    result = perf(tmp_path, 4, lab, ["-b", "256K", "-e", "256K", "-n", 40, "-w", 0])
    assert result.code == 0 and result.report["rows"] and result.wrong() == 0, result
    assert result.stats["switches"][RESETS[name]]["engine_resets"] == result.count("fallbacks") == result.count("rejoins") == 1, result
    assert result.algorithms() == {"ina"}, result


@pytest.mark.parametrize("spines, jobs, apart_s", [(2, 2, 0.001), (2, 2, 0), (2, 4, 0), (4, 4, 0), (4, 4, 0.001)])
def test_jobs_spread_over_the_spines(tmp_path, spines, jobs, apart_s):
    """Jobs of a host at each of two leaves, which come one after the other or at the same time: every spine sums for the same
    number of them."""
    lines = []
    for job in range(jobs):
        command = f"{PERF} -c 1 -b {SIZE} -e {SIZE} -n 1 --json {tmp_path}/job{job}.json"
        for rank, host in enumerate((job, jobs + job)):
            words = f"INA_RANK={rank} INA_RANKS=2 INA_ROOT=192.0.2.{job + 1} INA_COOKIE=job{job}"
            lines.append(f"if [ $INA_RANK = {host} ]; then sleep {0.01 + apart_s * job}; export {words}; exec {command}; fi")
    result = run(tmp_path, 2 * jobs, [*MODEL, "--link-rate", "10G", "--topology", f"clos:{spines}x2x{jobs}"], ["sh", "-c", "\n".join(lines)])
    assert result.code == 0, result
    for job in range(jobs):
        report = json.loads((tmp_path / f"job{job}.json").read_text())
        assert [(row["result"]["algorithm"], row["result"]["wrong"]) for row in report["rows"]] == [("ina", 0)], (report, result)
    taken = [result.stats["cables"][f"leaf{leaf}:up{spine}"]["up"]["bytes"] for leaf in (0, 1) for spine in range(spines)]
    each = RUNS * SIZE * jobs // spines
    assert all(each <= count <= 1.1 * each for count in taken), (taken, each, result)
