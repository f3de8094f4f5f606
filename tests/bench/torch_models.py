#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The gain for the training of known models, in virtual time: all-reduces of their gradients, in DDP's buckets, through the RTL
at 250 MHz compared with libina's ring.

    tests/bench/torch_models.py [--build build] [--hosts 2,4,8] [--rates 10,100] [--batch 64] [--tflops 50] [--json FILE]

Two sizes of bucket are measured; others follow from the line through them, and a step takes the sum of its buckets. The
computation of a step is calculated and not measured: the operations of three forward passes (the backward pass takes two), at
a given rate. All-reduces run during the backward pass; only the time beyond it adds to the step.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from math import prod
from pathlib import Path

TIMEOUT_S = 3600
SIZES = (1 << 20, 4 << 20)
FIRST_BUCKET, BUCKET = 1 << 20, 25 << 20  # torch's DDP: bucket_cap_mb, and the first one


def conv(to, of, kernel):
    return [(to, of, kernel, kernel), (to,)]


def linear(to, of):
    return [(to, of), (to,)]


def alexnet():
    """Krizhevsky, One weird trick (2014): one tower; 1,000 classes."""
    return [*conv(64, 3, 11), *conv(192, 64, 5), *conv(384, 192, 3), *conv(256, 384, 3), *conv(256, 256, 3),
            *linear(4096, 256 * 6 * 6), *linear(4096, 4096), *linear(1000, 4096)]


def vgg16():
    """Simonyan and Zisserman (2015), table 1, column D."""
    channels = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    return [shape for of, to in zip(channels, channels[1:]) for shape in conv(to, of, 3)] + \
        [*linear(4096, 512 * 7 * 7), *linear(4096, 4096), *linear(1000, 4096)]


def resnet50():
    """He and others (2016), table 1; no biases, batch norm after each convolution, projections in each stage's first block."""
    def normed(to, of, kernel):
        return [(to, of, kernel, kernel), (to,), (to,)]

    shapes, of = normed(64, 3, 7), 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            shapes += [*normed(width, of, 1), *normed(width, width, 3), *normed(4 * width, width, 1)]
            shapes += normed(4 * width, of, 1) if block == 0 else []
            of = 4 * width
    return shapes + linear(1000, of)


def bert_base():
    """Devlin and others (2019): 12 layers, 768 wide, 30,522 words; with the pooler, without heads."""
    width, norm = 768, [(768,), (768,)]
    layer = [*(linear(width, width) * 4), *norm, *linear(4 * width, width), *linear(width, 4 * width), *norm]
    return [(30522, width), (512, width), (2, width), *norm, *(layer * 12), *linear(width, width)]


# name: shapes, total parameters, billions of multiplications and additions of a forward pass of one sample (BERT: 128 words)
MODELS = {
    "AlexNet": (alexnet(), 61_100_840, 1.43),
    "VGG-16": (vgg16(), 138_357_544, 30.9),
    "ResNet-50": (resnet50(), 25_557_032, 8.2),
    "BERT-base": (bert_base(), 109_482_240, 22.4),
}


def buckets(shapes):
    """The bytes of each: DDP takes tensors from the last one on, and closes a bucket that has reached its size."""
    found, size = [], 0
    for shape in reversed(shapes):
        size += 4 * prod(shape)
        if size >= (BUCKET if found else FIRST_BUCKET):
            found, size = [*found, size], 0
    return found + [size] if size else found


def measure(options, hosts, rate):
    """The time of an all-reduce in microseconds, for each way, as a function of its bytes."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        line = [str(options.build / "ina-lab"), "run", "-q", "-n", str(hosts), "--virtual-time", "--memory", "512", "--link-rate", f"{rate}G",
                "--aggregator", "rtl", "--timeout", str(TIMEOUT_S), "--", str(options.build / "ina-perf"), "-b", str(SIZES[0]),
                "-e", str(SIZES[1]), "-f", str(SIZES[1] // SIZES[0]), "-n", "2", "-w", "1", "--compare", "--json", report.name]
        done = subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT_S + 60, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"torch_models: {' '.join(line)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        rows = json.load(report)["rows"]

    def line_through(kind):
        small, large = (row[kind]["time_us"] for row in rows)
        slope = (large - small) / (SIZES[1] - SIZES[0])
        return lambda size: small + slope * (size - SIZES[0])

    return {"ina": line_through("result"), "ring": line_through("ring")}


def compute_ms(gflop, batch, tflops):
    """The forward and backward pass of a step: the operations of three forward passes."""
    return 3 * gflop * batch / tflops


def step_of(model, times, batch, tflops):
    """A step with `batch` samples a host, at `tflops` * 10^12 operations a second; `times` is from measure()."""
    shapes, parameters, gflop = MODELS[model]
    assert sum(map(prod, shapes)) == parameters, model
    sizes = buckets(shapes)
    compute = compute_ms(gflop, batch, tflops)
    reduce = {way: sum(map(time_us, sizes)) / 1e3 for way, time_us in times.items()}
    step = {way: compute / 3 + max(compute * 2 / 3, time) for way, time in reduce.items()}
    return {"model": model, "bytes": sum(sizes), "buckets": sizes, "compute_ms": compute, "reduce_ms": reduce, "step_ms": step,
            "gain": step["ring"] / step["ina"]}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build", type=Path)
    parser.add_argument("--hosts", default="2,4,8")
    parser.add_argument("--rates", default="10,100", help="Gb/s of the links")
    parser.add_argument("--batch", default=64, type=int, help="samples per host and step (64)")
    parser.add_argument("--tflops", default=50.0, type=float, help="operations per second of a host, in units of 10^12 (50)")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    options = parser.parse_args()
    options.hosts, options.rates = ([int(number) for number in text.split(",")] for text in (options.hosts, options.rates))
    return options


def main():
    options = parse()
    results = []
    print(f"# virtual time; a step of {options.batch} samples a host at {options.tflops:g} * 10^12 operations a second; times in ms\n"
          f"# {'model':10} {'MB':>5} {'buckets':>7} {'hosts':>5} {'Gb/s':>5} {'compute':>8} {'ina':>8} {'ring':>8} {'step, ina':>10} "
          f"{'step, ring':>10} {'gain':>5}", flush=True)
    for hosts in options.hosts:
        for rate in options.rates:
            times = measure(options, hosts, rate)
            for name in MODELS:
                result = {"hosts": hosts, "rate_gbps": rate, **step_of(name, times, options.batch, options.tflops)}
                results.append(result)
                compute, reduce, step = (result[key] for key in ("compute_ms", "reduce_ms", "step_ms"))
                print(f"  {name:10} {result['bytes'] / 1e6:5.0f} {len(result['buckets']):7} {hosts:5} {rate:5} {compute:8.1f} {reduce['ina']:8.1f} "
                      f"{reduce['ring']:8.1f} {step['ina']:10.1f} {step['ring']:10.1f} {result['gain']:5.2f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"sizes": SIZES, "tflops": options.tflops, "batch": options.batch, "results": results}, indent=1))


if __name__ == "__main__":
    main()
