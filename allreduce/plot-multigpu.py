#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""plot-multigpu.py TABLE.json... PICTURE.svg: plots time against size from ina-perf --schedules, with gnuplot."""
import json
import subprocess
import sys
from pathlib import Path

SCHEDULES = [("flat", "flat ring", 1), ("leader", "leader-only", 2), ("parallel", "parallel", 3)]


def plot(path):
    """Plots one table: points and lines for measurements, dashes for the model."""
    rows = json.loads(Path(path).read_text())["rows"]
    data, curves = [], []
    for name, title, colour in SCHEDULES:
        for kind, style in ("time_us", f"linespoints lc {colour} pt {colour + 4}"), ("model_us", f"lines lc {colour} dt 2"):
            label = title if kind == "time_us" else f"{title}, model"
            curves.append(f"'-' using 1:2 with {style} title '{label}'")
            data += [f"{row['size_bytes']} {row['schedules'][name][kind]}" for row in rows] + ["e"]
    shape = Path(path).stem.split("-")[-1].replace("x", " machines x ") + " GPUs"
    return f"set title '{shape}'\nplot {', '.join(curves)}\n" + "\n".join(data) + "\n"


def main():
    *tables, picture = sys.argv[1:]
    head = (f"set terminal svg size {620 * len(tables)},460 background 'white'\nset output '{picture}'\nset multiplot layout 1,{len(tables)}\n"
            "set logscale xy\nset grid\nset key left top\nset xlabel 'bytes of an all-reduce'\nset ylabel 'microseconds of virtual time'\n")
    subprocess.run(["gnuplot"], input=head + "".join(map(plot, tables)) + "unset multiplot\n", text=True, check=True)


if __name__ == "__main__":
    main()
