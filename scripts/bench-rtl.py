#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench-rtl.py BUILD: runs the programs that measure the RTL in clocks, prints a table, and writes
BUILD/bench-rtl.json. All figures count clocks of a simulation, so they are the same on every machine.
The exit code is 1 if a target is missed."""

import json
import pathlib
import subprocess
import sys

PORTS = (2, 3, 4, 6, 8, 16)
TIMEOUT_S = 1800  # for all measurements with one number of ports

# The targets for one job on eight ports; test_ina_load asserts them for every number of ports.
TARGET_PORTS = 8
TARGET_FORMAT = "float32"
TARGET_MTUS = (1024, 4096)
BEATS_PER_CLOCK_LEAST = 0.98
LATENCY_CLOCKS_MOST = 40
TARGET_LEAVES = (8, 16)  # ports, one of which leads up; with the same MTUs, beats and clocks
PASSING_BEATS_PER_CLOCK = 1.0  # for frames that pass, of every length, with every number of ports

HEADING = (
    f"{'ports':>5}  {'format':<9} {'MTU':>5} {'jobs':>5}  {'in':>7}  {'out':>7}  {'latency':>7}"
    "  share of each job"
)


def measure(build, ports):
    """Returns the objects that one program prints, one on each line."""
    program = build / f"bench_ina_top.ports{ports}"
    try:
        lines = subprocess.run(
            [program], stdout=subprocess.PIPE, text=True, check=True, timeout=TIMEOUT_S
        ).stdout.splitlines()
    except FileNotFoundError:
        sys.exit(f"bench-rtl: {program} does not exist; `make bench-rtl` builds it")
    except subprocess.CalledProcessError as error:
        sys.exit(f"bench-rtl: {program} failed with exit code {error.returncode}")
    except subprocess.TimeoutExpired:
        sys.exit(f"bench-rtl: {program} took more than {TIMEOUT_S} s")
    return [json.loads(line) for line in lines]


def verdict(result):
    """Returns pass, FAIL, or None if there is no target."""
    if (result["ports"], result["format"], result["jobs"]) != (TARGET_PORTS, TARGET_FORMAT, 1):
        return None
    if result["mtu"] not in TARGET_MTUS:
        return None
    beats = min(result["beats_per_clock_in"] + result["beats_per_clock_out"])
    good = beats >= BEATS_PER_CLOCK_LEAST and result["latency_clocks"] <= LATENCY_CLOCKS_MOST
    return "pass" if good else "FAIL"


def row(result):
    shares = " ".join(f"{share:.1%}" for share in result["job_shares"])
    return (
        f"{result['ports']:>5}  {result['format']:<9} {result['mtu']:>5} {result['jobs']:>5}"
        f"  {min(result['beats_per_clock_in']):>7.4f}  {min(result['beats_per_clock_out']):>7.4f}"
        f"  {result.get('latency_clocks', ''):>7}  {shares:<23}  {result['target'] or ''}".rstrip()
    )


def slowest(result):
    """Beats per clock on the slowest port, in or out."""
    return min(result["beats_per_clock_in"] + result["beats_per_clock_out"])


def leaf_row(result):
    """Returns a row for traffic that goes up and down at the same time, and whether it meets the target (None: no target)."""
    good = slowest(result) >= BEATS_PER_CLOCK_LEAST and max(
        result["up_clocks"], result["down_clocks"]) <= LATENCY_CLOCKS_MOST
    judged = result["ports"] in TARGET_LEAVES and result["mtu"] in TARGET_MTUS
    name = ("pass" if good else "FAIL") if judged else ""
    line = (f"{result['ports']:>5}  {result['mtu']:>5}  {slowest(result):>7.4f}  {result['up_clocks']:>4}"
            f"  {result['down_clocks']:>4}  {name}")
    return line.rstrip(), good if judged else None


def passing_row(ports, name, results):
    least = min(map(slowest, results))
    good = least >= PASSING_BEATS_PER_CLOCK
    return f"{ports:>5}  {name:<18} {least:>7.4f}  {'pass' if good else 'FAIL'}", good


def measure_all(build):
    """Runs all measurements, and prints a row for each of the steady state. Returns the results of the steady state, those of
    leaves, and those of frames that pass for each number of ports."""
    results, leaves, passing = [], [], {}
    print(
        "Steady state of the RTL, all ports at once: beats of 64 bytes a clock on the slowest port,"
        "\ncounted over whole frames, and clocks from the last rank's last beat to the sum's first."
    )
    print(HEADING)
    for ports in PORTS:
        measured = measure(build, ports)
        leaves += [result for result in measured if "leaf" in result]
        passing[ports] = [result for result in measured if "frame_beats" in result]
        for result in measured:
            if result in passing[ports] or result in leaves:
                continue
            result["target"] = verdict(result)
            results.append(result)
            print(row(result), flush=True)
    return results, leaves, passing


def print_leaves(leaves):
    """Returns whether all results meet their target."""
    print(
        "A leaf, with a port that leads up: parts go up and sums come down at the same time. Beats a clock on"
        "\nthe slowest port; clocks from the last child's last beat to the part, from the last beat from above to"
        "\nthe sum."
    )
    print(f"{'ports':>5}  {'MTU':>5}  {'beats':>7}  {'up':>4}  {'down':>4}")
    leaves_pass = True
    for result in leaves:
        line, good = leaf_row(result)
        leaves_pass = leaves_pass and good is not False
        print(line)
    return leaves_pass


def print_passing(passing):
    """Returns whether all results meet their target."""
    print(
        "Frames that pass, RoCE of no known flow, back to back on all ports: beats a clock on the"
        "\nslowest port. A 60-byte frame is one beat: at 250 MHz, 250 million frames a second a port."
    )
    all_pass = True
    for ports, lengths in passing.items():
        for name, some in (("60 bytes", lengths[:1]), ("2 to 70 beats", lengths[1:])):
            line, good = passing_row(ports, name, some)
            all_pass = all_pass and good
            print(line)
    return all_pass


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: bench-rtl.py BUILD")
    build = pathlib.Path(sys.argv[1])
    results, leaves, passing = measure_all(build)

    leaves_pass = print_leaves(leaves)
    all_pass = print_passing(passing)

    judged = [result["target"] for result in results if result["target"]]
    good = bool(judged) and set(judged) == {"pass"}
    print(
        f"Target at {TARGET_PORTS} ports, {TARGET_FORMAT}, MTU "
        f"{' and '.join(map(str, TARGET_MTUS))}: {BEATS_PER_CLOCK_LEAST} beats a clock or more on "
        f"every port, latency {LATENCY_CLOCKS_MOST} or less: {'pass' if good else 'FAIL'}."
    )
    print(
        f"Target of frames that pass: {PASSING_BEATS_PER_CLOCK:g} beat a clock at every length: "
        f"{'pass' if all_pass else 'FAIL'}."
    )
    print(
        f"Target of a leaf of {' and '.join(map(str, TARGET_LEAVES))} ports: the same: "
        f"{'pass' if leaves_pass else 'FAIL'}."
    )
    good = good and all_pass and leaves_pass
    path = build / "bench-rtl.json"
    passing = [result for lengths in passing.values() for result in lengths]
    path.write_text(
        json.dumps({"pass": good, "results": results, "leaves": leaves, "passing": passing}, indent=1) + "\n"
    )
    print(f"JSON: {path}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
