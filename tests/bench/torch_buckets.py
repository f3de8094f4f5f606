#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""DDP's all-reduces with the backend ina compared with gloo: in wall-clock time, on four hosts, through the aggregator's C model.

    tests/bench/torch_buckets.py [--build build] [--hosts 4] [--sets 5] [--sizes 1K,16K,64K,256K,1M,4M,16M] [--json FILE] [--check]

Both backends are open in the same processes and take turns, size by size. The result is the median of the sets, each the mean
of its rounds on the slowest host. Every sum is checked.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

TIMEOUT_S = 900
SMALL_BYTES = 64 << 10
WANTED_LARGE, WANTED_SMALL = 1.0, 1.1  # at most this share of gloo's time
UNITS = {"": 0, "K": 10, "M": 20}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build", help="the folder with ina-lab and frameworks/torch (build)")
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--sets", type=int, default=5, help="number of sets, each with one run per size and backend (5)")
    parser.add_argument("--sizes", default="1K,16K,64K,256K,1M,4M,16M", help="bytes of a bucket")
    parser.add_argument("--json", help="also write the result to this file")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a result is below its target")
    parser.add_argument("--on-host", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.bytes = [int(size.rstrip("KM")) << UNITS[size.lstrip("0123456789")] for size in options.sizes.split(",")]
    return options


def on_host(options):
    """The program on every host: it prints a line of JSON for each set, size and backend."""
    import torch
    import torch.distributed as dist
    import torch_ina  # noqa: F401

    rank, ranks = int(os.environ["INA_RANK"]), int(os.environ["INA_RANKS"])
    os.environ.update(MASTER_ADDR=os.environ["INA_ROOT"], MASTER_PORT="29500", GLOO_SOCKET_IFNAME="vec0", USE_LIBUV="0")
    dist.init_process_group("ina", rank=rank, world_size=ranks)
    groups = {"ina": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    for number in range(-1, options.sets):
        for size in options.bytes:
            rounds = 10 if size <= SMALL_BYTES else 3
            for way, group in groups.items():
                tensor = torch.empty(size // 4)
                taken_s = 0
                for _ in range(1 if number < 0 else rounds):
                    tensor.fill_(rank)
                    dist.barrier(groups["gloo"])
                    began = time.monotonic()
                    dist.all_reduce(tensor, group=group)
                    taken_s += time.monotonic() - began
                    assert (tensor == ranks * (ranks - 1) // 2).all(), (way, size)
                if number >= 0:
                    print(json.dumps({"set": number, "bytes": size, "way": way, "time_s": taken_s / rounds}), flush=True)


def measure(options):
    environment = dict(os.environ, PYTHONPATH=str(Path(options.build).resolve() / "frameworks/torch"))
    line = [str(Path(options.build) / "ina-lab"), "run", "-q", "-n", str(options.hosts), "--aggregator", "model", "--memory", "640",
            "--timeout", str(TIMEOUT_S), "--", "/usr/bin/python3", "-B", str(Path(__file__).resolve()), "--on-host",
            "--sets", str(options.sets), "--sizes", options.sizes]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S + 30, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"torch_buckets: {' '.join(line)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return [json.loads(found[1]) for found in re.finditer(r"^\[\d+\] (\{.*\})$", done.stdout, re.M)]


def main():
    options = parse()
    if options.on_host:
        return on_host(options)
    lines, results, missed = measure(options), [], []
    print(f"# {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {options.hosts} hosts; medians of {options.sets} sets\n"
          f"# {'bytes':>10} {'ina (ms)':>9} {'gloo (ms)':>9} {'of gloo':>8} {'wanted':>7}")
    for size in options.bytes:
        median_s = {}
        for way in ("ina", "gloo"):
            sets = [max(line["time_s"] for line in lines if (line["set"], line["bytes"], line["way"]) == (number, size, way))
                    for number in range(options.sets)]
            median_s[way] = statistics.median(sets)
        ratio, wanted = median_s["ina"] / median_s["gloo"], WANTED_LARGE if size > SMALL_BYTES else WANTED_SMALL
        missed += [] if ratio <= wanted else [size]
        results.append({"bytes": size, "median_s": median_s, "ratio": ratio, "wanted": wanted})
        print(f"  {size:10} {median_s['ina'] * 1e3:9.2f} {median_s['gloo'] * 1e3:9.2f} {ratio:8.2f} {wanted:7.1f}", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps({"hosts": options.hosts, "sets": options.sets, "results": results}, indent=1))
    if missed:
        print(f"## missed: {missed}")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
