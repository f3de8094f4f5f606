#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The gain from several trees for a job (PANAMA), in virtual time: a Clos network of 2 to 4 spines, over the ring, with one tree
and with as many trees as spines; two jobs at the same time; short flows next to them.

    tests/bench/paths.py [--build build] [--parts trees,uneven,jobs] [--spines 2,3,4] [--aggregator rtl] [--json FILE]

trees: two hosts at each of two leaves, links of 100 Gb/s; the cables from a leaf to the spines have 100 Gb/s in total. uneven:
the same with two spines, whose cables have the rates of --uneven. jobs: two jobs of a host at each of two leaves, and two
hosts for short flows, all links of 100 Gb/s, those of the spines too; then two and four jobs that begin at the same time, on
two and on four spines, over the ring and with one tree each, with several seeds, on which the job ids depend.
"""
import argparse
import statistics

import congestion
import virtual

RATE_GBPS = 100
SIZE_BYTES, ROUNDS = 8 << 20, 2
UNEVEN_BYTES, UNEVEN_ROUNDS = 32 << 20, 6
WANTED_OF_LINKS = 0.9  # as a share of the capacity of all uplinks of a leaf
JOBS_FABRIC = "clos:2x2x4"
JOBS = {"a": (0, 4), "b": (1, 5), "short": (3, 7), "idle": (2, 6)}
JOB_BYTES, JOB_ROUNDS = 4 << 20, 6
SHORT_BYTES, SHORT_ROUNDS = 4096, 200
SPREAD = [(spines, count) for spines in (2, 4) for count in (2, 4)]
WANTED_OF_RING = 0.95


def shares(counters, spines):
    """Each cable's share of the data that go up from leaf 0."""
    taken = [counters["cables"][f"leaf0:up{spine}"]["up"]["bytes"] for spine in range(spines)]
    return [count / sum(taken) for count in taken]


def trees(options):
    results = []
    print(f"# {'spines':>6} {'way':>8} {'Gb/s':>7}  part of each cable up from a leaf", flush=True)
    for spines in options.spines:
        slow = [word for leaf in (0, 1) for spine in range(spines) for word in ("--at", f"leaf{leaf}:up{spine},link-rate={RATE_GBPS / spines:.3f}G")]
        for way, channels in (("ring", 1), ("1 tree", 1), (f"{spines} trees", spines)):
            times, counters = congestion.run(options, False, {"a": (ROUNDS, SIZE_BYTES, 0)}, algorithm="ring" if way == "ring" else "ina",
                                             fabric=f"clos:{spines}x2x2", hosts_of={"a": (0, 1, 2, 3)}, channels=channels, more=slow)
            rate, parts = congestion.gbps(times["a"], SIZE_BYTES), shares(counters, spines)
            good = rate >= WANTED_OF_LINKS * RATE_GBPS if channels == spines else None
            results.append({"spines": spines, "way": way, "gbps": rate, "shares": parts, "good": good})
            print(f"{spines:8} {way:>8} {rate:7.2f}  " + " ".join(f"{part:.3f}" for part in parts), flush=True)
    return results


def uneven(options):
    results = []
    print(f"# {'spines, Gb/s':>14} {'way':>8} {'Gb/s':>7}  part of each cable up from a leaf", flush=True)
    for rates in options.uneven:
        slow = [word for leaf in (0, 1) for spine, rate in enumerate(rates) for word in ("--at", f"leaf{leaf}:up{spine},link-rate={rate}G")]
        for way, channels in (("1 tree", 1), ("2 trees", 2)):
            times, counters = congestion.run(options, False, {"a": (UNEVEN_ROUNDS, UNEVEN_BYTES, 0)}, algorithm="auto", fabric="clos:2x2x2",
                                             hosts_of={"a": (0, 1, 2, 3)}, channels=channels, more=slow)
            rate, parts = congestion.gbps(times["a"], UNEVEN_BYTES), shares(counters, 2)
            results.append({"rates": rates, "way": way, "gbps": rate, "shares": parts, "good": None})
            print(f"{'%d and %d' % rates:>16} {way:>8} {rate:7.2f}  " + " ".join(f"{part:.3f}" for part in parts), flush=True)
    return results


def beside_short_flows(options):
    results = []
    for way, channels in (("ring", 1), ("1 tree", 1), ("2 trees", 2)):
        work = {"a": (JOB_ROUNDS, JOB_BYTES, 0), "b": (JOB_ROUNDS, JOB_BYTES, 0), "short": (SHORT_ROUNDS, SHORT_BYTES, 1)}
        times, counters = congestion.run(options, False, work, algorithm="ring" if way == "ring" else "ina", fabric=JOBS_FABRIC, hosts_of=JOBS,
                                         channels=channels)
        rates = [congestion.gbps(times[job], JOB_BYTES) for job in "ab"]
        median, p99 = statistics.median(times["short"]), statistics.quantiles(times["short"], n=100)[98]
        queue = max(counters["cables"][f"leaf0:up{spine}"]["up"]["longest_queue_bytes"] for spine in (0, 1))
        results.append({"way": way, "gbps": rates, "short_median_us": median, "short_p99_us": p99, "longest_queue_bytes": queue,
                        "shares": shares(counters, 2), "good": None})
        print(f"{way:>8}: jobs {rates[0]:.2f} and {rates[1]:.2f} Gb/s; short flows {median:.1f} us (median), {p99:.1f} us (p99); longest queue up from "
              f"leaf 0 {queue} bytes, cables' parts " + " ".join(f"{part:.3f}" for part in shares(counters, 2)), flush=True)
    one, several = results[1:]
    print(f"2 trees: jobs {sum(several['gbps']) / sum(one['gbps']):.2f} times as fast as by one (PANAMA: up to 1.34), p99 of short flows "
          f"{one['short_p99_us'] / several['short_p99_us']:.2f} times as short (PANAMA: up to 4.5)", flush=True)
    return results


def spread(options):
    results = []
    for spines, count in SPREAD:
        names = "abcd"[:count]
        work = {name: (JOB_ROUNDS, JOB_BYTES, 0) for name in names}
        hosts_of = {name: (job, count + job) for job, name in enumerate(names)}
        for seed in options.seeds:
            rates = {}
            for way in ("ring", "ina"):
                times, counters = congestion.run(options, False, work, algorithm=way, fabric=f"clos:{spines}x2x{count}", hosts_of=hosts_of,
                                                 more=["--seed", str(seed)])
                rates[way] = [congestion.gbps(times[name], JOB_BYTES) for name in names]
            ratio = sum(rates["ina"]) / sum(rates["ring"])
            results.append({"spines": spines, "jobs": count, "seed": seed, "ring_gbps": rates["ring"], "gbps": rates["ina"], "shares": shares(counters, spines),
                            "good": ratio >= WANTED_OF_RING})
            print(f"{count} jobs, {spines} spines, seed {seed}: ring " + " ".join(f"{rate:.2f}" for rate in rates["ring"]) + "; a tree each "
                  + " ".join(f"{rate:.2f}" for rate in rates["ina"]) + f" Gb/s, {ratio:.2f} of it (wanted {WANTED_OF_RING}); cables' parts "
                  + " ".join(f"{part:.3f}" for part in shares(counters, spines)), flush=True)
    return results


def jobs(options):
    return beside_short_flows(options) + spread(options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--spines", type=virtual.listed(int), default="2,3,4", help="numbers of spines of --parts trees (2,3,4)")
    parser.add_argument("--uneven", type=lambda text: [tuple(map(int, pair.split(":"))) for pair in text.split(",")], default="60:30,100:25,50:50,80:8",
                        help="rates of two spines of --parts uneven (60:30,100:25,50:50,80:8)")
    parser.add_argument("--seeds", type=virtual.listed(int), default="1,2,3", help="seeds of --parts jobs (1,2,3)")
    parts = {part.__name__: part for part in (trees, uneven, jobs)}
    virtual.measure(parser, parts, parts)


if __name__ == "__main__":
    main()
