# SPDX-License-Identifier: Apache-2.0
"""Plans: the paper's example, cases worked out by hand, and random cases, whose results other algorithms bound."""

import json
import os
import random

import pytest
from plans import CONTEXTS, TINY, call, clos, fat_tree, plan, verify

SEED = int(os.environ.get("INA_SEED", "1"))


def jobs_file(tmp_path, jobs, **capacities):
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({**capacities, "jobs": jobs}))
    return path


def near(value):
    return pytest.approx(value, rel=1e-6)


def test_the_example_of_grid():
    """8 workers, cables of 3 Gb/s, switches that add 9, a server of 9.

    Without aggregation three workers share a cable: 3 / 3. With aggregation at the nearest switch, S1 has four workers: it
    adds 9/4 of each, and the rest of its cable, 3 - 9/4, is for data that four send unadded. With three, three and two workers
    at a switch: 9 / 3."""
    planned = plan("--example", "grid")
    assert planned["plain"]["smallest"] == near(1e9)
    assert planned["nearest"]["smallest"] == near((9 / 4 + (3 - 9 / 4) / 4) * 1e9)
    assert planned["plan"]["smallest"] == near(3e9)
    assert planned["single"]["smallest"] == near(3e9)
    # W4 is host 3.
    (tree,) = planned["jobs"][0]["trees"]
    (to,) = [flow["to"] for flow in tree["flows"] if flow["from"] == "host3"]
    assert to == "S2"
    assert plan("--example", "grid", "--exact")["plan"]["smallest"] == near(3e9)


@pytest.mark.parametrize("fabric, jobs, capacities, options, smallest, why", [
    ("tree:4", [4], {}, [], 100, "a host's cable"),
    ("tree:4", [4], {"link-rate": "25G"}, [], 25, "a host's cable"),
    ("leaf-spine:2x4", [[0, 1, 4, 5], [2, 3, 6, 7]], {}, [], 50, "two jobs on leaf0:up0"),
    ("clos:2x2x4", [[0, 1, 4, 5], [2, 3, 6, 7]], {}, [], 100, "a spine for each"),
    ("clos:2x2x6", [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]], {}, ["--trees", 1], 50, "two of three share a spine"),
    ("clos:2x2x6", [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]], {}, [], 200 / 3, "three share two spines"),
    ("tree:4", [4], {"contexts": 0}, [], 100 / 1.5, "a ring of 4: 2 * 3/4 on a cable"),
    ("tree:4", [4], {"processing": "100G"}, ["--trees", 1], 100 / 1.5, "25 by the switch is less than the ring"),
    ("tree:4", [4], {"processing": "100G"}, [], 25 + 75 / 1.5, "the ring has what the switch leaves"),
    ("tree:4", [4], {"processing": "300G"}, ["--trees", 1], 75, "300 for 4 inputs is more than the ring"),
    ("leaf-spine:2x4", [[0, 1, 4, 5], [2, 3, 6, 7]], {"contexts": 1}, [], 40, "1 and 1.5 on leaf0:up0"),
    ("tree:4", [[0, 1, 2, 3]] * CONTEXTS, {}, [], 100 / CONTEXTS, "a context for each job"),
    ("tree:4", [[0, 1, 2, 3]] * (CONTEXTS + 1), {}, [], 100 / (CONTEXTS + 1.5), "a ring for the last job"),
    ("leaf-spine:2x4", [[0, 1, 4, 5], [2, 3, 6, 7]], {"memory": 1000}, [], 40, "as many jobs as memory has room for"),
    ("tree:5", [([0, 1, 2, 3], 4)], {}, [], 100, "one flow to the server"),
    ("tree:5", [([0, 1, 2, 3], 4)], {"contexts": 0}, [], 25, "four flows to the server"),
    ("tree:5", [([0, 1, 2, 3], 4)], {"processing": "200G"}, [], 50 + 50 / 4, "50 added, four share what is left"),
])
def test_by_hand(tmp_path, fabric, jobs, capacities, options, smallest, why):
    listed = []
    for i, hosts in enumerate(jobs):
        hosts, server = hosts if isinstance(hosts, tuple) else (hosts, None)
        listed.append({"name": f"j{i}", "hosts": hosts, "memory": 600, **({} if server is None else {"server": server})})
    for exact in [], ["--exact"]:
        planned = plan(fabric, jobs_file(tmp_path, listed, **capacities), *options, *exact)
        assert planned["plan"]["smallest"] == near(smallest * 1e9), why


def test_what_binds(tmp_path):
    both = jobs_file(tmp_path, [{"name": "a", "hosts": [0, 1, 4, 5]}, {"name": "b", "hosts": [2, 3, 6, 7]}])
    assert [job["bound_by"] for job in plan("leaf-spine:2x4", both)["jobs"]] == ["cable leaf0:up0 up"] * 2
    one = jobs_file(tmp_path, [{"name": "a", "hosts": 4}], processing="300G")
    assert plan("tree:4", one, "--trees", 1)["jobs"][0]["bound_by"] == "processing of leaf0"
    none = jobs_file(tmp_path, [{"name": "a", "hosts": 4}], contexts=0)
    (job,) = plan("tree:4", none)["jobs"]
    assert (job["no_room_at"], job["unadded_rate"]) == ("leaf0", job["rate"])
    assert "leaf0 has no room for the job" in call("tree:4", none).stdout


def test_what_is_left_over_is_used(tmp_path):
    """Job a's slow host limits job a alone: b gets the rest of the cable between the switches."""
    fabric = clos(1, 2, 4)
    fabric.rates["host0"] = 10e9
    jobs = jobs_file(tmp_path, [{"name": "a", "hosts": [0, 4]}, {"name": "b", "hosts": [1, 5]}])
    planned = plan(fabric.save(tmp_path / "fabric.json"), jobs)
    assert [job["rate"] for job in planned["jobs"]] == [near(10e9), near(90e9)]


def test_cables_and_aggregators_of_a_file(tmp_path):
    """The fabric's own options count: a slow cable, and a switch without an aggregator."""
    fabric = clos(1, 2, 2)
    fabric.rates["leaf1:up0"] = 30e9
    jobs = jobs_file(tmp_path, [{"name": "a", "hosts": 4}])
    assert plan(fabric.save(tmp_path / "fabric.json"), jobs)["plan"]["smallest"] == near(30e9)
    fabric.switches[0]["aggregator"] = "off"
    (job,) = plan(fabric.save(tmp_path / "fabric.json"), jobs)["jobs"]
    assert job["rate"] == near(20e9) and job["trees"][0]["kind"] == "ring"


def test_ranks_below_a_switch_follow_each_other(tmp_path):
    hosts = [7, 0, 5, 2, 1, 6, 3, 4]
    (job,) = plan("tree:2x2x2", jobs_file(tmp_path, [{"name": "a", "hosts": hosts}]))["jobs"]
    assert job["ranks"] == list(range(8))
    assert job["lab_topology"] == "tree:2x2x2"


def test_what_the_lab_takes(tmp_path):
    """The printed fabric has the job's ranks as its hosts, and reaches the printed rate."""
    jobs = jobs_file(tmp_path, [{"name": "a", "hosts": [0, 1, 4, 5]}, {"name": "b", "hosts": [7, 2, 6, 3]}])
    run = call("clos:2x2x4", jobs, "--lab", "b")
    assert run.returncode == 0
    fabric = json.loads(run.stdout)
    assert sorted(host for switch in fabric["switches"] for host in switch.get("hosts", [])) == [0, 1, 2, 3]
    assert {switch["name"] for switch in fabric["switches"]} - {"spine0", "spine1"} == {"leaf0", "leaf1"}
    (tmp_path / "b.json").write_text(run.stdout)
    alone = jobs_file(tmp_path, [{"name": "b", "hosts": 4}])
    (job,) = plan(tmp_path / "b.json", alone)["jobs"]
    assert (job["rate"], job["ranks"]) == (near(100e9), [0, 1, 2, 3])
    assert call("clos:2x2x4", alone, "--lab", "c").returncode == 2


def test_the_same_every_time(tmp_path):
    jobs = jobs_file(tmp_path, [{"name": f"j{i}", "hosts": list(range(i, 16, 4))} for i in range(4)], processing="300G")
    first = call("fat-tree:4", jobs, "--json").stdout
    assert first and first == call("fat-tree:4", jobs, "--json").stdout == call("fat-tree:4", jobs, "--json", "--seed", 1).stdout


def draw_case(draw):
    """A small fabric with cables of different rates, two to four jobs, and sometimes few contexts at switches."""
    fabric = draw.choice([lambda: clos(draw.randint(1, 3), draw.randint(2, 3), draw.randint(2, 4)), lambda: fat_tree(4)])()
    for cable in fabric.rates:
        fabric.rates[cable] = draw.choice([50e9, 100e9, 100e9, 200e9])
    jobs = {"jobs": []}
    if draw.random() < 0.5:
        jobs["processing"] = draw.choice([100e9, 200e9, 300e9])
    if draw.random() < 0.5:
        jobs["contexts"] = draw.choice([1, 2])
    for i in range(draw.randint(2, 4)):
        hosts = draw.sample(range(fabric.hosts), draw.randint(2, min(6, fabric.hosts - 1)))
        job = {"name": f"j{i}", "hosts": hosts}
        if draw.random() < 0.4:
            job["server"] = draw.choice(sorted(set(range(fabric.hosts)) - set(hosts)))
        jobs["jobs"].append(job)
    return fabric, jobs


@pytest.mark.parametrize("case", range(24))
def test_rounded_against_exact(tmp_path, case):
    """The result of rounding is never above that of branch and bound over the same trees, and that is never above the relaxation.
    Nor is it below the rate without a plan, nor (if no context binds) below the bound over the most trees of a job."""
    print(f"INA_SEED={SEED}")
    fabric, jobs = draw_case(random.Random(SEED * 1000 + case))
    path = fabric.save(tmp_path / "fabric.json")
    listed = jobs_file(tmp_path, **jobs)
    trees = 1 + case % 2
    rounded = plan(path, listed, "--trees", trees)
    verify(fabric, jobs, rounded)
    smallest = rounded["plan"]["smallest"]
    assert smallest >= (1 - TINY) * max(rounded["plain"]["smallest"], rounded["nearest"]["smallest"])
    assert smallest <= (1 + TINY) * rounded["bound"]
    if jobs.get("contexts", CONTEXTS) >= len(jobs["jobs"]):
        assert smallest >= (1 - TINY) * rounded["bound"] / rounded["bound_trees"]
    exact = plan(path, listed, "--trees", trees, "--exact")
    verify(fabric, jobs, exact)
    assert smallest <= (1 + 10 * TINY) * exact["plan"]["smallest"]
    assert exact["plan"]["smallest"] <= (1 + TINY) * rounded["bound"]


@pytest.mark.parametrize("kind", ["all-reduce", "server"])
def test_fat_tree_of_80_switches(tmp_path, kind):
    """8 jobs of 16 hosts each, chosen at random from all 128."""
    print(f"INA_SEED={SEED}")
    fabric = fat_tree(8)
    assert (len(fabric.switches), fabric.hosts) == (80, 128)
    hosts = random.Random(SEED).sample(range(128), 128)
    jobs = {"jobs": []}
    for i in range(8):
        mine = hosts[16 * i:16 * i + 16]
        jobs["jobs"].append({"name": f"j{i}", "hosts": mine} if kind == "all-reduce" else {"name": f"j{i}", "hosts": mine[1:], "server": mine[0]})
    planned = plan(fabric.save(tmp_path / "fabric.json"), jobs_file(tmp_path, **jobs))
    verify(fabric, jobs, planned)
    assert planned["plan"]["smallest"] >= max(planned["plain"]["smallest"], planned["nearest"]["smallest"])
    assert planned["plan"]["smallest"] <= (1 + TINY) * planned["bound"]
    # Without choices that spread the load, the rate is lower.
    if kind == "server":
        scarce = jobs_file(tmp_path, jobs["jobs"], processing=200e9)
        assert plan("fat-tree:8", scarce, "--trees", 1)["plan"]["smallest"] >= 25e9
    # The name describes the same fabric.
    assert plan("fat-tree:8", jobs_file(tmp_path, **jobs))["plain"]["smallest"] == near(planned["plain"]["smallest"])


def test_all_have_the_whole_cable_where_contexts_allow(tmp_path):
    """8 jobs in 8 pods do not meet. If they are mixed, the 4 uplinks of each leaf carry 4 jobs: a quarter of each, and all
    uplinks are full."""
    print(f"INA_SEED={SEED}")
    by_pod = [{"name": f"j{i}", "hosts": list(range(16 * i, 16 * i + 16))} for i in range(8)]
    assert plan("fat-tree:8", jobs_file(tmp_path, by_pod), "--trees", 1)["plan"]["smallest"] == near(100e9)
    hosts = random.Random(SEED).sample(range(128), 128)
    mixed = [{"name": f"j{i}", "hosts": hosts[16 * i:16 * i + 16]} for i in range(8)]
    assert plan("fat-tree:8", jobs_file(tmp_path, mixed, contexts=8))["plan"]["smallest"] == near(100e9)
