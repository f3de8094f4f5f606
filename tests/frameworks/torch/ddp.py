# SPDX-License-Identifier: Apache-2.0
"""The parts that the checks on hosts share: a job, a small model, its data, and its training."""
import os
import subprocess
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BATCH = 6
FLOAT32_UNIT = 2.0 ** -24  # the relative error of one rounding to nearest


def start(timeout_s=120, backend="ina"):
    """Under torchrun the environment says everything; under ina-lab alone this function translates it."""
    if "WORLD_SIZE" not in os.environ:
        os.environ.update(RANK=os.environ["INA_RANK"], WORLD_SIZE=os.environ["INA_RANKS"],
                          MASTER_ADDR=os.environ["INA_ROOT"], MASTER_PORT="29500")
    os.environ.setdefault("USE_LIBUV", "0")  # Debian 13's torch has no libuv
    if backend == "ina":
        import torch_ina  # registers it
        assert (torch_ina._core.__name__ == "torch_ina.in_python") == (os.environ.get("INA_TORCH") == "python")
    dist.init_process_group(backend, timeout=timedelta(seconds=timeout_s))
    return dist.get_rank(), dist.get_world_size()


def be_silent(seconds):
    """Rank 1's kernel does not answer rank 0 for some time, like a host that is short of memory or processors."""
    if dist.get_rank() == 1:
        way = ["blackhole", os.environ["INA_ROOT"]]
        subprocess.run(["ip", "route", "add", *way], check=True)
        time.sleep(seconds)
        subprocess.run(["ip", "route", "del", *way], check=True)
    else:
        time.sleep(seconds)


class Net(nn.Module):
    """A convolution, batch norm, a branch that may stay unused, and a parameter without elements."""

    def __init__(self, with_empty):
        super().__init__()
        self.convolution = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.branch = nn.Linear(144, 144)
        self.last = nn.Linear(144, 10)
        self.empty = nn.Parameter(torch.empty(0)) if with_empty else torch.empty(0)

    def forward(self, x, branch=True):
        x = self.norm(self.convolution(x)).relu().flatten(1)
        if branch:
            x = self.branch(x).relu()
        return self.last(x) + self.empty.sum()


def new_net(with_empty=True):
    torch.manual_seed(1)
    return Net(with_empty)


def batch(rank, step):
    generator = torch.Generator().manual_seed(1000 * rank + step)
    return (torch.randn(BATCH, 1, 8, 8, generator=generator),
            torch.randint(0, 10, (BATCH,), generator=generator))


def backward(net, data, **arguments):
    pictures, labels = data
    nn.functional.cross_entropy(net(pictures, **arguments), labels).backward()


def gradients(net):
    """As one vector, with 0 for a parameter without a gradient."""
    return torch.cat([(p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in net.parameters()])


def weights(net):
    return torch.cat([tensor.flatten().float() for tensor in net.state_dict().values()])


def local_gradients(net, rank, step, **arguments):
    """The gradients of one rank's batch on a copy of the model, without an all-reduce."""
    copy = new_net()
    copy.load_state_dict(net.state_dict())
    backward(copy, batch(rank, step), **arguments)
    return gradients(copy)


def train(group=None, steps=2, hook=None, **options):
    """Some steps of SGD with momentum: the gradients of each step, and the weights at the end."""
    net = DistributedDataParallel(new_net(), process_group=group, **options)
    if hook:
        net.register_comm_hook(group, hook)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    seen = []
    for step in range(steps):
        optimizer.zero_grad()
        backward(net, batch(dist.get_rank(), step))
        seen.append(gradients(net))
        optimizer.step()
    return [*seen, weights(net.module)]
