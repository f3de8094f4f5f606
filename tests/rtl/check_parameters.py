#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_parameters.py VERILATOR SOURCE...: parameters of ina_top that are out of range stop Verilator with a line that gives the
valid range."""

import subprocess
import sys

TIMEOUT_S = 60
# JOB_COUNT=0 and SLOT_COUNT=1 make vectors of zero bits, at which Verilator stops before it reaches the checks.
WRONG = [("PORT_COUNT", 1, "2 to 16"), ("PORT_COUNT", 17, "2 to 16"), ("JOB_COUNT", 0, None), ("JOB_COUNT", 65, "1 to 64"),
         ("SLOT_COUNT", 1, None), ("SLOT_COUNT", 65536, "a power of two, 2 to 32768"),
         ("SLOT_COUNT", 96, "a power of two, 2 to 32768"), ("GRAIN", 256, "a power of two, 2 to SLOT_COUNT"),
         ("GRAIN", 6, "a power of two, 2 to SLOT_COUNT"), ("MEMORY", 64, "a multiple of GRAIN, no less than SLOT_COUNT and JOB_COUNT * GRAIN, 65536 at most"),
         ("MEMORY", 516, "a multiple of GRAIN, no less than SLOT_COUNT and JOB_COUNT * GRAIN, 65536 at most"), ("MTU", 1500, "256, 512, 1024, 2048 or 4096")]


def main():
    verilator, *sources = sys.argv[1:]
    bad = 0
    for name, value, limits in WRONG:
        run = subprocess.run([verilator, "--lint-only", f"-G{name}={value}", "--top-module", "ina_top", *sources],
                             capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        says = limits is None or f"ina_top: {name} must be {limits}\n" in run.stderr
        if run.returncode == 0 or not says:
            print(f"{name}={value}: exit code {run.returncode}, and no line that says {limits}:\n{run.stderr[:600]}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
