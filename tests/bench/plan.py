#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The promises of ina-plan: how much it gains on a fat tree of 80 switches (planned), and whether jobs in a lab reach the rates
that it predicts (measured, in virtual time with the C model: the switch adds in no time, so only cables limit the rate).

    tests/bench/plan.py [--build build] [--parts planned,measured] [--json FILE] [--check]
"""
import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

import virtual

# A full message is 16 packets of 4096 bytes, including a header and trailer of 48 bytes together. On the wire each packet has
# headers and iCRC (14 + 20 + 8 + 12 + 4) and preamble, FCS and gap. The rest of a cable's rate is payload.
PAYLOAD = (16 * virtual.MTU - 48) / (16 * (virtual.MTU + 58 + virtual.WIRE_BYTES))
WANTED_OF_PREDICTED = 0.05   # in either direction
PLACEMENTS = 10


def plan(options, fabric, jobs, *arguments):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(jobs, file)
        file.flush()
        line = [os.path.join(options.build, "ina-plan"), fabric, file.name, "--json", *arguments]
        done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"plan: {' '.join(line)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def place(kind, where, seed):
    """8 jobs of 16 hosts each, on all 128 hosts: one pod each, or at random."""
    hosts = list(range(128))
    if where == "drawn":
        random.Random(seed).shuffle(hosts)
    jobs = []
    for i in range(8):
        mine = hosts[16 * i:16 * i + 16]
        jobs.append({"name": f"j{i}", "hosts": mine[1:], "server": mine[0]} if kind == "server" else {"name": f"j{i}", "hosts": mine})
    return jobs


def planned(options):
    """The smallest rate of 8 jobs on fat-tree:8, as means over --placements, and the time that it saves. With 4 contexts at each
    switch, unless a row says otherwise, contexts can bind."""
    results = []
    for kind, where, capacities in (("server", "drawn", {"processing": "300G"}), ("server", "pods", {"processing": "300G"}),
                                    ("server", "drawn", {}), ("all-reduce", "drawn", {}), ("all-reduce", "drawn", {"contexts": 8}),
                                    ("all-reduce", "pods", {})):
        rows, before = [], resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        for seed in range(1 if where == "pods" else PLACEMENTS):
            made = plan(options, "fat-tree:8", {"contexts": 4, **capacities, "jobs": place(kind, where, seed)})
            rows.append({name: made[name]["smallest"] / 1e9 for name in ("plain", "nearest", "single", "plan")} | {"bound": made["bound"] / 1e9})
        seconds = (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) / len(rows)
        mean = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
        best = [max(row["plain"], row["nearest"]) for row in rows]
        saved = {name: 1 - sum(base / row[name] for base, row in zip(best, rows)) / len(rows) for name in ("single", "plan")}
        results.append({"kind": kind, "where": where, "capacities": capacities, "gbps": mean, "saved": saved, "seconds": seconds,
                        "good": all(row["plan"] >= base and row["single"] >= base for row, base in zip(rows, best))})
        print(f"{kind:10} {where:5} {json.dumps(capacities):22} none {mean['plain']:6.2f}, nearest {mean['nearest']:6.2f}, one tree {mean['single']:6.2f}, "
              f"four {mean['plan']:6.2f}, bound {mean['bound']:6.2f} Gb/s; time against the better of the first two -{100 * saved['single']:.0f}%, "
              f"-{100 * saved['plan']:.0f}%; {seconds:.1f} s", flush=True)
    return results


def fabric_file(switches, cables):
    file = tempfile.NamedTemporaryFile("w", suffix=".json")
    json.dump({"switches": switches, "cables": {name: {"link-rate": rate} for name, rate in cables.items()}}, file)
    file.flush()
    return file


def leaves(count, hosts):
    return [{"name": "spine0"}] + [{"name": f"leaf{i}", "hosts": hosts, "up": ["spine0"]} for i in range(count)]


def run_jobs(options, fabric, orders, algorithms, size):
    """Runs each job as an ina-perf among its hosts, in this order of ranks, all at the same time. Returns Gb/s of each."""
    program = os.path.abspath(os.path.join(options.build, "ina-perf"))
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        for job, (order, algorithm) in enumerate(zip(orders, algorithms)):
            for rank, host in enumerate(order):
                cases.append(f"{host}) export INA_RANK={rank} INA_RANKS={len(order)} INA_ROOT=192.0.2.{order[0] + 1}; exec {program} -t float -c 1 -b {size} "
                             f"-e {size} -n 2 -w 1 --algorithm {algorithm} --json {folder}/{job}.json;;")
        # The lab's own rank is the host's number.
        virtual.lab(options, sum(map(len, orders)), virtual.CHART_GBPS, ["--topology", fabric, "--aggregator", "model"],
                    ["sh", "-c", f"case $INA_RANK in {' '.join(cases)} esac"])
        rows = [json.load(open(f"{folder}/{job}.json"))["rows"][0] for job in range(len(orders))]
    assert all(row["result"]["wrong"] == 0 for row in rows), rows
    return [row["size_bytes"] * 8 / row["result"]["time_us"] / 1000 for row in rows]


def measured(options):
    """Predicted and measured payload of each job, with all jobs of a case at the same time."""
    halves = [{"name": "a", "hosts": [0, 1, 4, 5]}, {"name": "b", "hosts": [2, 3, 6, 7]}]
    slow = fabric_file(leaves(4, 4), {"leaf2:up0": "25G"})
    slow_host = fabric_file(leaves(2, 4), {"host3": "10G"})
    both = plan(options, "clos:2x2x4", {"jobs": halves})
    alone = tempfile.NamedTemporaryFile("w", suffix=".json")
    json.dump(both["jobs"][1]["lab_fabric"], alone)
    alone.flush()
    cases = (("16 hosts, tree:2x2x4", "tree:2x2x4", {"jobs": [{"name": "a", "hosts": 16}]}, "4M"),
             ("32 hosts, tree:2x4x4", "tree:2x4x4", {"jobs": [{"name": "a", "hosts": 32}]}, "4M"),
             ("16 hosts, one uplink of 25 Gb/s", slow.name, {"jobs": [{"name": "a", "hosts": 16}]}, "4M"),
             ("two jobs on the same uplinks", "leaf-spine:2x4", {"jobs": halves}, "4M"),
             ("a job with a host of 10 Gb/s next to another job", slow_host.name, {"jobs": halves}, "4M"),
             ("the second job of clos:2x2x4 on its own tree", alone.name, {"jobs": [{"name": "b", "hosts": 4}]}, "4M"),
             ("8 hosts, no context: over the ring", "leaf-spine:2x4", {"contexts": 0, "jobs": [{"name": "a", "hosts": 8}]}, "16M"))
    results = []
    for what, fabric, jobs, size in cases:
        made = plan(options, fabric, jobs, "--trees", "1")
        algorithms = ["ring" if job["single"]["trees"][0]["kind"] == "ring" else "ina" for job in made["jobs"]]
        got = run_jobs(options, fabric, [job["ranks"] for job in made["jobs"]], algorithms, size)
        for job, algorithm, ours in zip(made["jobs"], algorithms, got):
            said = PAYLOAD * job["rate"] / 1e9
            results.append({"case": what, "job": job["name"], "algorithm": algorithm, "size": size, "predicted_gbps": said, "measured_gbps": ours,
                            "bound_by": job["bound_by"], "good": abs(ours / said - 1) <= WANTED_OF_PREDICTED})
            print(f"{what}: {job['name']} by {algorithm}, {size}: predicted {said:.2f} Gb/s ({job['bound_by']}), measured {ours:.2f}, "
                  f"{100 * (ours / said - 1):+.1f}% (wanted within {100 * WANTED_OF_PREDICTED:.0f}%)", flush=True)
    return results


def main():
    parts = {part.__name__: part for part in (planned, measured)}
    virtual.measure(argparse.ArgumentParser(description=__doc__.split("\n\n")[0]), parts, parts)


if __name__ == "__main__":
    main()
