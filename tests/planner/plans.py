# SPDX-License-Identifier: Apache-2.0
"""Calls ina-plan, and checks its output against the fabric by independent arithmetic."""

import json
import os
import subprocess

PLAN = os.environ.get("INA_PLAN", "build/ina-plan")
TINY = 1e-6
CONTEXTS = 16  # of a switch for which the file gives no number


def call(*arguments):
    return subprocess.run([PLAN, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def plan(*arguments):
    run = call(*arguments, "--json")
    assert (run.returncode, run.stderr) == (0, ""), run
    return json.loads(run.stdout)


class Fabric:
    """Switches as in a file of ina-lab: [{"name", "hosts": [numbers], "up": [names]}]."""

    def __init__(self, switches, rate=100e9):
        self.switches = switches
        self.ends = {}  # cable: (lower, upper)
        for switch in switches:
            for host in switch.get("hosts", ()):
                self.ends[f"host{host}"] = (f"host{host}", switch["name"])
            for i, upper in enumerate(switch.get("up", ())):
                self.ends[f"{switch['name']}:up{i}"] = (switch["name"], upper)
        self.hosts = sum(len(switch.get("hosts", ())) for switch in switches)
        self.rates = dict.fromkeys(self.ends, rate)

    def save(self, path):
        cables = {name: {"link-rate": rate} for name, rate in self.rates.items()}
        path.write_text(json.dumps({"switches": self.switches, "cables": cables}))
        return path


def clos(spines, leaves, hosts):
    names = [f"spine{i}" for i in range(spines)]
    return Fabric([{"name": name} for name in names] +
                  [{"name": f"leaf{i}", "hosts": list(range(i * hosts, (i + 1) * hosts)), "up": names} for i in range(leaves)])


def fat_tree(k):
    half = k // 2
    switches = [{"name": f"core{i}"} for i in range(half * half)]
    for pod in range(k):
        switches += [{"name": f"spine{pod * half + i}", "up": [f"core{i * half + j}" for j in range(half)]} for i in range(half)]
        switches += [{"name": f"leaf{leaf}", "hosts": list(range(leaf * half, (leaf + 1) * half)),
                      "up": [f"spine{pod * half + i}" for i in range(half)]} for leaf in range(pod * half, (pod + 1) * half)]
    return Fabric(switches)


def path_of(fabric, flow):
    """[(cable, goes up)]; the flow goes from its start to its end, first up and then down."""
    at, path = flow["from"], []
    for cable in flow["cables"]:
        lower, upper = fabric.ends[cable]
        assert at in (lower, upper), flow
        path.append((cable, at == lower))
        at = upper if at == lower else lower
    assert at == flow["to"], flow
    ups = [up for _, up in path]
    assert ups == sorted(ups, reverse=True), flow
    return path


def verify(fabric, jobs, planned):
    """No cable and no switch has more than it can carry, and each tree's root has the sum of all hosts."""
    loads, adds, contexts = {}, {}, {}
    given = {job["name"]: job for job in jobs["jobs"]}
    for job in planned["jobs"]:
        ranks = len(given[job["name"]]["hosts"])
        assert sorted(job["ranks"]) == sorted(given[job["name"]]["hosts"])
        assert abs(sum(tree["rate"] for tree in job["trees"]) - job["rate"]) <= TINY * job["rate"]
        assert abs(sum(tree["share"] for tree in job["trees"]) - 1) <= TINY
        assert job["rate"] >= planned["plan"]["smallest"] * (1 - TINY)
        for tree in job["trees"]:
            is_ring = tree["kind"] == "ring"
            load = 2 * (ranks - 1) / ranks if is_ring else 1
            for flow in tree["flows"]:
                for cable, up in path_of(fabric, flow):
                    for way in (up,) if is_ring else (up, not up):
                        loads[cable, way] = loads.get((cable, way), 0) + load * tree["rate"]
                if not flow["to"].startswith("host"):
                    adds[flow["to"]] = adds.get(flow["to"], 0) + tree["rate"]
                    contexts.setdefault(flow["to"], set()).add(job["name"])
            if is_ring:
                continue
            ways_out = {flow["from"]: flow["to"] for flow in tree["flows"]}
            assert len(ways_out) == len(tree["flows"])
            roots = set()
            for host in given[job["name"]]["hosts"]:
                at, steps = f"host{host}", 0
                while at in ways_out:
                    at, steps = ways_out[at], steps + 1
                    assert steps <= len(ways_out)
                roots.add(at)
            assert len(roots) == 1
            if "server" in given[job["name"]]:
                assert roots == {f"host{given[job['name']]['server']}"}
    for (cable, _), load in loads.items():
        assert load <= fabric.rates[cable] * (1 + TINY), cable
    for name, rate in adds.items():
        assert rate <= jobs.get("processing", float("inf")) * (1 + TINY), name
        assert len(contexts[name]) <= jobs.get("contexts", CONTEXTS), name
