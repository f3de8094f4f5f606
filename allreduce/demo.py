#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""demo.py [BUILD [LARGEST]]: four hosts all-reduce up to LARGEST (16M) through the switch and, for comparison, over a ring, and
check every element: first in virtual time, on links of 100 Gb/s, then in real time, on this machine. Captures, counters, tables
and logs are written to demo/. INA_AGGREGATOR=model runs without the RTL."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = Path("demo").resolve()
HOSTS = 4
GIGABITS = 100
LARGEST = "16M"
VIRTUAL = ["-b", 4, "-f", 4, "-n", 1]  # ina-perf's options in virtual time
ALWAYS = ["-t", "float", "-w", 1, "--compare"]
TERMINAL = sys.stdout.isatty()
HEADER = ("       size     time, us             speed-up   bytes that a host sends        wrong\n"
          "           in-network      ring             in-network         ring     elements")


def progress(text):
    """Prints a line that the next line of output overwrites."""
    if TERMINAL:
        print("\r\033[K" + text[:shutil.get_terminal_size().columns - 1], end="", flush=True)


def say(text=""):
    progress("")
    print(text, flush=True)


def size_text(size):
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >> shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
    return f"{size} B"


class Run:
    """Runs ina-perf on four hosts, and prints the rows of its table as they come."""

    def __init__(self, build, name, aggregator, perf, lab=(), rows=True):
        self.table, self.log = DEMO / f"{name}.json", DEMO / f"{name}.log"
        stats = DEMO / f"{name}.stats.json"
        command = [build / "ina-lab", "run", "-n", HOSTS, "--aggregator", aggregator, "--timeout", 1200,
                   "--stats", stats, "--pcap", DEMO / f"{name}.pcap", *lab, "--",
                   build / "ina-perf", *perf, *ALWAYS, "--json", self.table]
        with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace") as lab_run, self.log.open("w") as log:
            if rows:
                say(HEADER)
            progress("  four hosts boot ...")
            for line in lab_run.stdout:
                log.write(line)
                share = re.search(r"virtual time ([0-9.]+) s.*?(\d+)% of the work", line)
                if share:
                    progress(f"  {share[2]}% done, {float(share[1]) * 1000:.1f} ms of virtual time")
                elif rows and re.match(r"\[0\] +\d", line):
                    say(self.brief(line))
                    progress("  ...")
        progress("")
        if lab_run.returncode != 0:
            say("".join(self.log.read_text().splitlines(keepends=True)[-20:]))
            sys.exit(f"demo: a host or the lab failed; the last lines of {self.log} are above")
        self.rows, self.stats = json.loads(self.table.read_text())["rows"], json.loads(stats.read_text())
        iterations = json.loads(self.table.read_text())["iterations"]
        # Each host checks each element of each result, for both algorithms, including the first round.
        self.elements = sum(row["count"] for row in self.rows) * 2 * HOSTS * (iterations + 1)
        self.wrong = sum(row["result"]["wrong"] + row["ring"]["wrong"] for row in self.rows)

    @staticmethod
    def brief(line):
        """Shortens a row of ina-perf's table to fewer columns."""
        word = line.replace("|", " ").split()[1:]
        return (f"{size_text(int(word[0])):>11} {word[5]:>10} {word[10]:>9} {word[14]:>8} {word[8]:>13} {word[12]:>12} "
                f"{int(word[9]) + int(word[13]):12}")


def read_arguments():
    """Returns the folder of the programs, the largest size, and the aggregator."""
    if len(sys.argv) > 3:
        sys.exit("demo: takes at most two arguments, the build folder and the largest size")
    build = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
    if not os.access(build / "ina-lab", os.X_OK):
        sys.exit(f"demo: {build} has no ina-lab: run `make demo`, or give the folder of a build")
    aggregator = os.environ.get("INA_AGGREGATOR", "rtl")
    if aggregator not in ("rtl", "model"):
        sys.exit(f"demo: INA_AGGREGATOR is '{aggregator}': it must be rtl or model")
    return build, sys.argv[2] if len(sys.argv) > 2 else LARGEST, aggregator


def main():
    build, largest, aggregator = read_arguments()
    kernel = subprocess.run([ROOT / ".kernel/linux", "--version"], capture_output=True, text=True).stdout.strip()
    DEMO.mkdir(exist_ok=True)

    what = "the SystemVerilog aggregator, simulated clock by clock" if aggregator == "rtl" else "the aggregator as a C model"
    say(f"""\
All-reduce: each of {HOSTS} hosts has a vector, and all need the sum. Usually they pass parts of it around a ring;
here the switch between them adds. Running: {HOSTS} hosts, each a separate Linux {kernel} with its stock RDMA driver
(rdma_rxe), around an Ethernet switch with {what}.

1. In virtual time: links of {GIGABITS} Gb/s, the aggregator at 250 MHz, host software that takes no time.
   The figures are the same on every machine with this kernel.
""")
    virtual = Run(build, "virtual", aggregator, [*VIRTUAL, "-e", largest], ["--virtual-time"])
    say("\n2. In real time, on this machine: the hosts' own software, and a C model instead of the RTL.\n")
    real = Run(build, "real", "model", ["-b", "4K", "-e", largest, "-f", 16, "-n", 3])
    runs = [virtual, real]
    if aggregator == "rtl":
        progress("  again through the simulated RTL ...")
        fast = next(row for row in reversed(virtual.rows) if row["size_bytes"] <= 1 << 20)
        size, fast_us = fast["size_bytes"], fast["result"]["time_us"]
        runs.append(Run(build, "rtl", "rtl", ["-b", size, "-e", size, "-n", 1], rows=False))
        slow_us = runs[-1].rows[0]["result"]["time_us"]
        say(f"{size_text(size):>11} {slow_us:10.1f}  through the simulated RTL: {slow_us / fast_us:.0f} times the {fast_us:.1f} us above, "
            "because\n                        this machine computes all signals of the RTL, clock by clock")

    last = virtual.rows[-1]
    ours, ring = last["result"], last["ring"]
    counters = virtual.stats["aggregator"]
    elements, wrong = sum(run.elements for run in runs), sum(run.wrong for run in runs)
    right = f"All {elements:,} elements of the sums are right" if wrong == 0 else f"{wrong:,} of {elements:,} elements are WRONG"
    say(f"""
{right}; every host compared every one.
In-network is {last['speed_up']:.2f} times as fast as the ring at {size_text(last['size_bytes'])} and {GIGABITS} Gb/s; \
theory: 2(n-1)/n = {2 * (HOSTS - 1) / HOSTS:.2f}, and the ring's links are sometimes idle.
On the wire, for {last['size_bytes'] / 1e6:.2f} MB of data: a host sends {ours['wire_bytes'] / 1e6:.2f} MB, over the ring {ring['wire_bytes'] / 1e6:.2f} MB.
The {'RTL' if aggregator == 'rtl' else 'model'} received {counters['frames_in']:,} frames; {counters['packets_joined']:,} were added, \
{counters['icrc_dropped']} damaged, {counters['duplicates_answered']} answered again.
In demo/: captures for Wireshark (*.pcap), counters, tables, logs. Next: make test-quick; then docs/README.md.""")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        sys.exit(f"demo: {error}")
