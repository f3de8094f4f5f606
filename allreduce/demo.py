#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""demo.py [BUILD [LARGEST]]: four hosts all-reduce up to LARGEST (16M) through the switch and over a ring, and check every element.
Virtual time, on links of 100 Gb/s, gives the result. Real time, on this machine, is a check only: the hosts share its processors,
so its times depend on the load. Captures, counters, tables and logs are written to demo/. INA_AGGREGATOR=model runs without the
RTL."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = Path("demo").resolve()
KERNEL = Path(os.environ.get("INA_KERNEL", ROOT / ".kernel/linux"))
HOSTS = 4
GIGABITS = 100
LARGEST = "16M"
VIRTUAL = ["-b", 4, "-f", 4, "-n", 1]  # ina-perf's options in virtual time
CHECK_ITERATIONS = 3  # in real time
ALWAYS = ["-t", "float", "-w", 1, "--compare"]
TERMINAL = sys.stdout.isatty()
HEADER = ("       size     time, us             speed-up   bytes that a host sends        wrong\n"
          "           in-network hosts only             in-network   hosts only     elements")
CHECK_HEADER = ("       size   time, us    elements        wrong\n"
                "            in-network    compared     elements")


def kernel_release(kernel=KERNEL):
    """The release of the hosts' kernel, on which figures of virtual time depend."""
    return subprocess.run([kernel, "--version"], capture_output=True, text=True).stdout.strip()


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
    """Runs ina-perf on four hosts, and prints the rows of its table as they come: `shorten` makes a line of this program's table
    of a line of that one."""

    def __init__(self, build, name, aggregator, perf, lab=(), header=None, shorten=None):
        self.table, self.log = DEMO / f"{name}.json", DEMO / f"{name}.log"
        stats = DEMO / f"{name}.stats.json"
        command = [build / "ina-lab", "run", "-n", HOSTS, "--aggregator", aggregator, "--timeout", 1200,
                   "--stats", stats, "--pcap", DEMO / f"{name}.pcap", *lab, "--",
                   build / "ina-perf", *perf, *ALWAYS, "--json", self.table]
        with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace") as lab_run, self.log.open("w") as log:
            if header:
                say(header)
            progress("  four hosts boot ...")
            for line in lab_run.stdout:
                log.write(line)
                share = re.search(r"virtual time ([0-9.]+) s.*?(\d+)% of the work", line)
                if share:
                    progress(f"  {share[2]}% done, {float(share[1]) * 1000:.1f} ms of virtual time")
                elif shorten and re.match(r"\[0\] +\d", line):
                    say(shorten(line.replace("|", " ").split()[1:]))
                    progress("  ...")
        progress("")
        if lab_run.returncode != 0:
            say("".join(self.log.read_text().splitlines(keepends=True)[-20:]))
            sys.exit(f"demo: a host or the lab failed; the last lines of {self.log} are above")
        self.rows, self.stats = json.loads(self.table.read_text())["rows"], json.loads(stats.read_text())
        iterations = json.loads(self.table.read_text())["iterations"]
        self.elements = sum(compared(row["count"], iterations) for row in self.rows)
        self.wrong = sum(row["result"]["wrong"] + row["ring"]["wrong"] for row in self.rows)


def compared(count, iterations):
    """Each host checks each element of each result, for both algorithms, including the first round."""
    return count * 2 * HOSTS * (iterations + 1)


def result_row(word):
    return (f"{size_text(int(word[0])):>11} {word[5]:>10} {word[10]:>9} {word[14]:>8} {word[8]:>13} {word[12]:>12} "
            f"{int(word[9]) + int(word[13]):12}")


def check_row(word):
    return (f"{size_text(int(word[0])):>11} {word[5]:>10} {compared(int(word[1]), CHECK_ITERATIONS):>11,} "
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
    DEMO.mkdir(exist_ok=True)

    what = "the SystemVerilog aggregator, simulated clock by clock" if aggregator == "rtl" else "the aggregator as a C model"
    say(f"""\
All-reduce: each of {HOSTS} hosts has a vector, and all need the sum. Without help the hosts add themselves: small
vectors by recursive doubling, large ones around a ring. Here the switch between them adds.
{HOSTS} hosts run, each a separate Linux {kernel_release()} with its stock RDMA driver (rdma_rxe), around an Ethernet
switch with {what}.

1. The result, in virtual time: links of {GIGABITS} Gb/s, the aggregator at 250 MHz, host software that takes no time.
   The figures are the same on every machine with this kernel.
""")
    virtual = Run(build, "virtual", aggregator, [*VIRTUAL, "-e", largest], ["--virtual-time"], HEADER, result_row)
    last, counters = virtual.rows[-1], virtual.stats["aggregator"]
    ours, ring = last["result"], last["ring"]
    say(f"""
   In-network is {last['speed_up']:.2f} times as fast as the ring at {size_text(last['size_bytes'])}; \
in theory 2(n-1)/n = {2 * (HOSTS - 1) / HOSTS:.2f}, if no link idles.
   For {last['size_bytes'] / 1e6:.2f} MB of data a host sends {ours['wire_bytes'] / 1e6:.2f} MB, \
with the ring {ring['wire_bytes'] / 1e6:.2f} MB.
   The {'RTL' if aggregator == 'rtl' else 'model'} took {counters['frames_in']:,} frames and added {counters['packets_joined']:,}; \
{counters['icrc_dropped']} were damaged, {counters['duplicates_answered']} were answered again.

2. A check, in real time: the same software at this machine's speed, with a C model instead of the RTL.
   The hosts share this machine's processors, so these times say nothing about a network. `make bench` compares
   the algorithms in real time, in turns and several times.
""")
    real = Run(build, "real", "model", ["-b", "4K", "-e", largest, "-f", 16, "-n", CHECK_ITERATIONS], (), CHECK_HEADER, check_row)
    runs = [virtual, real]
    if aggregator == "rtl":
        progress("  again through the simulated RTL ...")
        size = next(row for row in reversed(virtual.rows) if row["size_bytes"] <= 1 << 20)["size_bytes"]
        runs.append(Run(build, "rtl", "rtl", ["-b", size, "-e", size, "-n", 1]))
        say(f"{size_text(size):>11} {runs[-1].rows[0]['result']['time_us']:10.1f} {runs[-1].elements:>11,} {runs[-1].wrong:12}  "
            "through the simulated RTL")

    elements, wrong = sum(run.elements for run in runs), sum(run.wrong for run in runs)
    right = f"All {elements:,} elements of the sums are right" if wrong == 0 else f"{wrong:,} of {elements:,} elements are WRONG"
    say(f"""
{right}; every host compared every one.
In demo/: captures for Wireshark (*.pcap), counters, tables, logs. Next: make test-quick; then docs/README.md.""")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        sys.exit(f"demo: {error}")
