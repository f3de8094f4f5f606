#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce on kernels with stock rdma_rxe, in wall-clock time: in the network (the aggregator's C model), over libina's ring,
over Gloo's with ibverbs, and with Open MPI over TCP; small ones compared with ibv_rc_pingpong; their cost for the hosts; and,
in virtual time, together with a computation.

Hosts and switch share this machine's cores. So the ways take turns, and the result is the median of the sets, each of them the
mean of its rounds on the slowest host. Every sum is checked.

    tests/bench/wall.py [--build build] [--parts large,small,cost,overlap] [--hosts 4,8] [--sets 5] [--json FILE] [--check]
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

MTU = 4096
LARGE_BYTES = 16 << 20
SMALL_HOSTS, COST_HOSTS, OVERLAP_HOSTS = 4, 4, 4
TIMEOUT_S = 280

WANTED_OF_THEORY = 0.9       # speed-up in the network, as a share of 2 (n - 1) / n
WANTED_SMALL = 1.5           # 8 bytes, in round trips of ibv_rc_pingpong; at most
WANTED_COST = 2 / 3          # CPU time in the network, as a share of the ring's; at most
WANTED_TOGETHER = 1.2        # all-reduce and computation together, as a multiple of the longer; at most

PINGPONG_S = re.compile(r"iters in ([0-9.]+) seconds = ([0-9.]+) usec/iter")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build", help="the folder with ina-lab and the benches' programs (build)")
    parser.add_argument("--parts", default="large,small,cost,overlap", help="of large, small, cost, overlap")
    parser.add_argument("--hosts", default="4,8", help="numbers of hosts of the large all-reduces (4,8)")
    parser.add_argument("--sets", type=int, default=5, help="number of sets, each with one run per way (5)")
    parser.add_argument("--rounds", type=int, default=6, help="large all-reduces in a set, after one warm-up (6)")
    parser.add_argument("--json", help="also write the result to this file")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a result is below its target")
    options = parser.parse_args()
    options.hosts = [int(hosts) for hosts in options.hosts.split(",")]
    return options


def program(options, name):
    return os.path.abspath(os.path.join(options.build, name))


def lab_line(options, hosts, switches, command):
    return [program(options, "ina-lab"), "run", "-q", "-n", str(hosts), "--mtu", str(MTU), "--timeout", str(TIMEOUT_S),
            *switches, "--", *command]


def fail(line, code, out):
    sys.exit(f"wall: {' '.join(line)}: exit code {code}\n{out}")


def lab(options, hosts, switches, command):
    """Runs a command on hosts, and returns what it printed."""
    line = lab_line(options, hosts, switches, command)
    done = subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT_S + 30, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        fail(line, done.returncode, done.stdout + done.stderr)
    return done.stdout


def reports(out):
    """The lines of JSON that the ranks printed, without the marks; none has found a wrong element."""
    lines = [json.loads(line.split("] ", 1)[1]) for line in out.splitlines() if re.match(r"\[\d+\] \{", line)]
    lines = [line for line in lines if "mark" not in line]
    assert lines and all(line.get("wrong", 0) == 0 for line in lines), out
    return lines


def slowest(lines):
    """The mean of the rounds, on the slowest host."""
    return max(statistics.fmean(line["times_s"]) for line in lines)


def cpu_seconds(root):
    """CPU time of a process and its descendants until now, by the name of the program."""
    children, names = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(") ", 1)
        except OSError:
            continue
        names[int(pid)] = name
        children.setdefault(int(rest.split()[1]), []).append(int(pid))
    found, family = {}, [root]
    while family:
        pid = family.pop()
        family += children.get(pid, [])
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as file:
                    spent_s = int(file.read().split()[0]) / 1e9
                found[names[pid]] = found.get(names[pid], 0) + spent_s
        except (OSError, KeyError):
            continue
    return found


def times_and_cost(options, hosts, way, size, calls, rounds):
    """allreduce_times on all hosts: its output, and the CPU seconds of hosts and switch between its marks."""
    line = lab_line(options, hosts, ["--aggregator", "off" if way == "ring" else "model"],
                    [program(options, "allreduce_times"), way, str(size), str(calls), str(rounds)])
    out, marks, cpu = "", [], []
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True) as lab_run:
        for text in lab_run.stdout:
            out += text
            marks += ['"mark"' in text] if '"mark"' in text else []
            if '"mark"' in text and len(marks) in (hosts, 2 * hosts):
                cpu.append(cpu_seconds(lab_run.pid))
    if lab_run.returncode != 0:
        fail(line, lab_run.returncode, out)
    assert len(cpu) == 2, out
    spent = {name: cpu[1].get(name, 0) - cpu[0].get(name, 0) for name in cpu[1]}
    return reports(out), {"hosts_s": spent.get("linux", 0), "switch_s": spent.get("ina-bridge", 0)}


def ours(way):
    return lambda options, hosts: slowest(times_and_cost(options, hosts, way, LARGE_BYTES, 1, options.rounds)[0])


def gloo(options, hosts):
    with tempfile.TemporaryDirectory() as meeting:
        out = lab(options, hosts, ["--aggregator", "off"],
                  [program(options, "gloo_ring"), meeting, str(options.rounds), str(LARGE_BYTES)])
    return max(line["time_us"] for line in reports(out)) * 1e-6


def open_mpi(options, hosts):
    starter = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "frameworks/mpi/mpi_host.sh")
    with tempfile.TemporaryDirectory() as meeting:
        out = lab(options, hosts, ["--aggregator", "off"],
                  [starter, "openmpi", meeting, "env", "OMPI_MCA_mpi_yield_when_idle=0", program(options, "mpi_allreduce"),
                   str(options.rounds), str(LARGE_BYTES)])
    return slowest(reports(out))


def large(options):
    """16 MiB in every way; those of Gloo and Open MPI if their programs are built."""
    ways = {"ina": ours("ina"), "ring": ours("ring")}
    for name, program_name, way in (("gloo", "gloo_ring", gloo), ("mpi", "mpi_allreduce", open_mpi)):
        if os.path.exists(program(options, program_name)):
            ways[name] = way
        else:
            print(f"# no {program_name}: its package is not installed", flush=True)
    results = []
    for hosts in options.hosts:
        times = {way: [] for way in ways}
        for _ in range(options.sets):
            for way, measure in ways.items():
                times[way].append(measure(options, hosts))
        medians = {way: statistics.median(sets) for way, sets in times.items()}
        wanted = WANTED_OF_THEORY * 2 * (hosts - 1) / hosts
        speed_up = medians["ring"] / medians["ina"]
        print(f"# {LARGE_BYTES >> 20} MiB of float32 on {hosts} hosts\n# {'':8} {'time (ms)':>9} {'to ring':>8}  sets (ms)")
        for way, sets in times.items():
            print(f"  {way:8} {medians[way] * 1e3:9.1f} {medians[way] / medians['ring']:8.2f}  "
                  + " ".join(f"{time_s * 1e3:.0f}" for time_s in sets))
        others = {way: medians[way] for way in ("gloo", "mpi") if way in medians}
        good = {"speed_up": speed_up >= wanted, **{f"ring_to_{way}": medians["ring"] <= time_s for way, time_s in others.items()}}
        print(f"  in the network {speed_up:.2f} times as fast as our ring (wanted: {wanted:.3f}); "
              + "; ".join(f"our ring takes {medians['ring'] / time_s:.2f} of {way}'s time (wanted: 1)"
                          for way, time_s in others.items()), flush=True)
        results.append({"hosts": hosts, "bytes": LARGE_BYTES, "times_s": times, "median_s": medians, "speed_up": speed_up,
                        "wanted_speed_up": wanted, "good": good})
    return results


def pingpong(options, events):
    """Seconds of a round trip of 8 bytes between two of the hosts, through the switch."""
    line = f"ibv_rc_pingpong {'-e ' if events else ''}-g 1 -m {MTU} -s 8 -n 2000"
    out = lab(options, SMALL_HOSTS, ["--aggregator", "model"],
              ["sh", "-c", f"case $INA_RANK in 0) exec {line};; 1) sleep 1; exec {line} $INA_ROOT;; esac"])
    return max(float(found.group(2)) for found in PINGPONG_S.finditer(out)) * 1e-6


def small(options):
    """8 bytes, one call after the other."""
    ways = {
        "ina": lambda: slowest(times_and_cost(options, SMALL_HOSTS, "ina", 8, 500, 3)[0]),
        "ring": lambda: slowest(times_and_cost(options, SMALL_HOSTS, "ring", 8, 500, 1)[0]),
        "pingpong -e": lambda: pingpong(options, True),
        "pingpong": lambda: pingpong(options, False),
    }
    times = {way: [] for way in ways}
    for _ in range(options.sets):
        for way, measure in ways.items():
            times[way].append(measure())
    medians = {way: statistics.median(sets) for way, sets in times.items()}
    print(f"# 8 bytes on {SMALL_HOSTS} hosts, compared with the round trip of ibv_rc_pingpong between two of them\n"
          f"# {'':12} {'time (us)':>9} {'to ina':>8}  sets (us)")
    for way, sets in times.items():
        print(f"  {way:12} {medians[way] * 1e6:9.1f} {medians[way] / medians['ina']:8.2f}  "
              + " ".join(f"{time_s * 1e6:.0f}" for time_s in sets))
    ratios = {way: medians["ina"] / medians[way] for way in ("pingpong -e", "pingpong")}
    print("  " + "; ".join(f"{ratio:.2f} of {way}" for way, ratio in ratios.items()) + f" (wanted: {WANTED_SMALL} at most)",
          flush=True)
    return [{"hosts": SMALL_HOSTS, "bytes": 8, "times_s": times, "median_s": medians, "ratios": ratios,
             "good": {way: ratio <= WANTED_SMALL for way, ratio in ratios.items()}}]


def cost(options):
    """CPU time of the hosts, including their kernels, for each byte that they have reduced."""
    spent = {"ina": [], "ring": []}
    gibibytes = LARGE_BYTES * options.rounds / (1 << 30)
    for _ in range(options.sets):
        for way, sets in spent.items():
            sets.append(times_and_cost(options, COST_HOSTS, way, LARGE_BYTES, 1, options.rounds)[1])
    per_gib = {way: statistics.median(one["hosts_s"] for one in sets) / COST_HOSTS / gibibytes for way, sets in spent.items()}
    switch = {way: statistics.median(one["switch_s"] for one in sets) / gibibytes for way, sets in spent.items()}
    ratio = per_gib["ina"] / per_gib["ring"]
    print(f"# CPU time for each GiB, {LARGE_BYTES >> 20} MiB at a time on {COST_HOSTS} hosts\n"
          f"# {'':8} {'a host (s)':>10} {'switch (s)':>10}")
    for way in spent:
        print(f"  {way:8} {per_gib[way]:10.2f} {switch[way]:10.2f}")
    print(f"  in the network {ratio:.2f} of the ring's (wanted: {WANTED_COST:.2f} at most)", flush=True)
    return [{"hosts": COST_HOSTS, "spent": spent, "host_s_per_gib": per_gib, "switch_s_per_gib": switch, "ratio": ratio,
             "good": {"ratio": ratio <= WANTED_COST}}]


def overlap(options):
    """With start/test, and with another thread in ina_wait(). In virtual time, a computation does not delay a host's packets."""
    results = []
    for rate_gbps, slice_us in ((10, 100), (100, 10)):
        for how in ("test", "thread"):
            out = lab(options, OVERLAP_HOSTS, ["--virtual-time", "--link-rate", f"{rate_gbps}G", "--aggregator", "model"],
                      [program(options, "overlap"), how, str(LARGE_BYTES), str(slice_us), "3"])
            ratios = [max(together / alone for together, alone in zip(line["together_s"], line["alone_s"]))
                      for line in reports(out)]
            alone_s = max(statistics.fmean(line["alone_s"]) for line in reports(out))
            results.append({"hosts": OVERLAP_HOSTS, "rate_gbps": rate_gbps, "how": how, "slice_us": slice_us,
                            "alone_s": alone_s, "ratio": max(ratios), "good": {"ratio": max(ratios) <= WANTED_TOGETHER}})
            what = f"ina_test() every {slice_us} us" if how == "test" else "ina_wait() in a thread"
            print(f"  {rate_gbps:3} Gb/s, {what}: all-reduce {alone_s * 1e3:.3f} ms; with as long a computation "
                  f"{max(ratios):.3f} times that (wanted: {WANTED_TOGETHER} at most)", flush=True)
    return results


def main():
    options = parse()
    parts = {"large": large, "small": small, "cost": cost, "overlap": overlap}
    results, missed = {}, []
    print(f"# {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; path MTU {MTU}; medians of {options.sets} sets", flush=True)
    for name in options.parts.split(","):
        if name not in parts:
            sys.exit(f"wall: --parts {name}: there is {', '.join(parts)}")
        started = time.monotonic()
        print(f"## {name}", flush=True)
        results[name] = parts[name](options)
        missed += [f"{name} ({what})" for result in results[name] for what, good in result["good"].items() if not good]
        print(f"## {name}: {time.monotonic() - started:.0f} s", flush=True)
    print(f"## missed: {', '.join(missed) or 'nothing'}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"cores": os.cpu_count(), "path_mtu": MTU, "sets": options.sets, **results}, file, indent=1)
    if options.check and missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
