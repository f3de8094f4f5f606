# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional net on Fashion-MNIST by torch's DDP, on each host of a job:

    train.py BACKEND STEPS

Apart from the import, the script is the same as for gloo. Rank 0 prints lines of JSON: loss, accuracy on the test pictures,
and the times of a step: the whole step, its compute alone, and its all-reduce alone.
"""
import gzip
import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

if sys.argv[1] == "ina":
    import torch_ina

DATA = Path(os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))  # Debian's dataset-fashion-mnist
BATCH = 128  # of all ranks together
EVERY = 50   # steps between two evaluations on the test pictures
PARTS = 4    # at each evaluation, how often a step's compute and its all-reduce are timed separately


def read(name, header_bytes):
    """Reads an IDX file: a header, then a byte for each pixel or label."""
    data = gzip.decompress((DATA / f"{name}.gz").read_bytes())
    return torch.frombuffer(bytearray(data), dtype=torch.uint8, offset=header_bytes)


def load(name):
    labels = read(f"{name}-labels-idx1-ubyte", 8).long()
    return read(f"{name}-images-idx3-ubyte", 16).view(len(labels), 1, 28, 28), labels


def pixels(pictures):
    return pictures.float() / 128 - 1


def make_net():
    return nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 10))


def accuracy(net, test, rank, ranks):
    pictures, labels = (part[rank::ranks] for part in test)
    with torch.no_grad():
        right = sum((net(pixels(some)).argmax(1) == wanted).sum() for some, wanted in zip(pictures.split(500), labels.split(500)))
    counts = torch.tensor([right, len(labels)], dtype=torch.int32)
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def main():
    steps = int(sys.argv[2])
    dist.init_process_group(sys.argv[1])
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    net = DistributedDataParallel(make_net())
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    (pictures, labels), test = load("train"), load("t10k")
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(2))

    def loss_of(step):
        mine = order[step * BATCH % len(labels):][:BATCH][rank::ranks]
        return nn.functional.cross_entropy(net(pixels(pictures[mine])), labels[mine])

    def backward(step):
        optimizer.zero_grad()
        loss = loss_of(step)
        loss.backward()
        return loss.detach()

    def compute(step):
        """Runs a step without its all-reduce. The net does not change, since the gradients are dropped."""
        with net.no_sync():
            backward(step)

    gradients = torch.zeros(sum(parameter.numel() for parameter in net.parameters()))

    def together_s(work):
        """Returns how long all ranks take for work that they begin at the same time, until the last one has finished."""
        dist.barrier()
        began = time.monotonic()
        work()
        dist.barrier()
        return time.monotonic() - began

    def say(**what):
        if rank == 0:
            print(json.dumps(what), flush=True)

    spent = {"step_s": 0.0, "compute_s": 0.0, "all_reduce_s": 0.0, "barrier_s": 0.0}
    for step in range(steps):
        began = time.monotonic()
        loss = backward(step)
        optimizer.step()
        spent["step_s"] += (time.monotonic() - began) / steps
        if step % EVERY == EVERY - 1:
            dist.all_reduce(loss)
            say(step=step + 1, loss=(loss / ranks).item(), accuracy=accuracy(net, test, rank, ranks))
            for _ in range(PARTS):
                for name, work in (("compute_s", lambda: compute(step)), ("all_reduce_s", lambda: dist.all_reduce(gradients)),
                                   ("barrier_s", lambda: None)):
                    spent[name] += together_s(work) / (PARTS * (steps // EVERY))
    sizes = [parameter.numel() * 4 for parameter in net.parameters()]
    say(**spent, tensor_bytes=sizes, stats=torch_ina.stats() if sys.argv[1] == "ina" else None)
    dist.destroy_process_group()


main()
