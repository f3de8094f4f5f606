#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Four hosts of the lab train on Fashion-MNIST by torch's DDP, once by gloo and once through the aggregator.

    frameworks/torch/demo/demo.py [--build build] [--aggregator rtl|model] [--steps 900] [--out build/demo-training]

Draws loss and accuracy of both, and prints how long a step takes. Also measures the gradients' all-reduce alone, in virtual
time, where only the network takes time.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOSTS = 4
TIMEOUT_S = 3000
WANTED_ACCURACY = 0.85
RATES_GBPS = (10, 100)

PLOT = """set terminal svg size 760,360 dynamic background "white" font "sans-serif,13"
set output "{out}/curves.svg"
set multiplot layout 1,2
set grid; set xlabel "step"; set key bottom right
set title "accuracy on the test pictures"; set yrange [0.5:1]
plot for [way in "gloo ina"] sprintf("{out}/%s.dat", way) using 1:3 with linespoints title way
set key top right
set title "loss"; set yrange [0:*]
plot for [way in "gloo ina"] sprintf("{out}/%s.dat", way) using 1:2 with linespoints title way
"""


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build", type=Path)
    parser.add_argument("--aggregator", default="rtl", choices=("rtl", "model"))
    parser.add_argument("--steps", default=900, type=int, help="of 128 pictures (900)")
    parser.add_argument("--out", type=Path, help="folder for the picture and its data (BUILD/demo-training)")
    options = parser.parse_args()
    options.out = options.out or options.build / "demo-training"
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def lab(options, switches, command):
    line = [str(options.build / "ina-lab"), "run", "-q", "-n", str(HOSTS), "--timeout", str(TIMEOUT_S), *switches, "--", *command]
    environment = dict(os.environ, PYTHONPATH=str((options.build / "frameworks/torch").resolve()))
    done = subprocess.run(line, env=environment, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S + 60, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"demo-training: {' '.join(line)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def train(options, way):
    """Returns rank 0's output: the curve, and the times of a step. Compute and all-reduce were timed between two barriers, minus
    the time of a barrier."""
    started = time.monotonic()
    script = ('export USE_LIBUV=0 RANK=$INA_RANK WORLD_SIZE=$INA_RANKS MASTER_ADDR=$INA_ROOT MASTER_PORT=29500 GLOO_SOCKET_IFNAME=vec0\n'
              f'exec /usr/bin/python3 -B {HERE / "train.py"} {way} {options.steps}')
    out = lab(options, ["--aggregator", options.aggregator if way == "ina" else "off", "--memory", "1024"], ["sh", "-c", script])
    lines = [json.loads(found[1]) for found in re.finditer(r"^\[0\] (\{.*\})$", out, re.M)]
    curve, result = lines[:-1], lines[-1]
    (options.out / f"{way}.dat").write_text("".join(f"{at['step']} {at['loss']} {at['accuracy']}\n" for at in curve))
    step_ms, *parts_ms = (result[part] * 1e3 for part in ("step_s", "compute_s", "all_reduce_s"))
    compute_ms, all_reduce_ms = (part_ms - result["barrier_s"] * 1e3 for part_ms in parts_ms)
    print(f"  {way:5} {curve[-1]['loss']:7.3f} {curve[-1]['accuracy']:9.1%} {step_ms:10.1f} {compute_ms:12.1f} "
          f"{all_reduce_ms:14.1f} {time.monotonic() - started:9.0f}", flush=True)
    return curve, result


def virtual(options, tensor_bytes):
    """Measures one bucket with all gradients, as DDP makes it for a net of less than 25 MiB."""
    size = sum(tensor_bytes)
    print(f"\n# the all-reduce of a step alone, {size} bytes in {len(tensor_bytes)} tensors, in virtual time: the RTL at 250 MHz")
    for rate in RATES_GBPS:
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            lab(options, ["--virtual-time", "--link-rate", f"{rate}G", "--aggregator", "rtl"],
                [str(options.build / "ina-perf"), "-b", str(size), "-e", str(size), "--compare", "--json", report.name])
            row = json.load(report)["rows"][0]
        ina_us, ring_us = row["result"]["time_us"], row["ring"]["time_us"]
        print(f"  {rate:4} Gb/s: {ina_us:8.1f} us in the network, {ring_us:8.1f} us over the ring: {ring_us / ina_us:.2f} times as fast", flush=True)


def main():
    options = parse()
    print(f"# {HOSTS} hosts, {options.steps} steps of 128 pictures; real time, on {os.cpu_count()} processors for all; "
          f"the aggregator is the {options.aggregator}\n"
          "#         loss  accuracy  step (ms)  compute (ms)  all-reduce (ms)  all (s)", flush=True)
    results = {way: train(options, way) for way in ("gloo", "ina")}
    plot = PLOT.format(out=options.out)
    if not shutil.which("gnuplot"):
        print("  no picture: gnuplot is not installed; scripts/install-packages.sh docs installs it")
    elif subprocess.run(["gnuplot"], input=plot, text=True).returncode == 0:
        print(f"  {options.out}/curves.svg shows loss and accuracy of both")
    stats = results["ina"][1]["stats"]
    print(f"  by ina: {stats['bytes_aggregated'] >> 20} MiB through the aggregator, {stats['bytes_ring'] >> 20} MiB over the ring")
    virtual(options, results["ina"][1]["tensor_bytes"])
    reached = min(curve[-1]["accuracy"] for curve, _ in results.values())
    if reached < WANTED_ACCURACY:
        sys.exit(f"demo-training: {reached:.1%} of the test pictures are recognised, less than {WANTED_ACCURACY:.0%}")


if __name__ == "__main__":
    main()
