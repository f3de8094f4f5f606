# SPDX-License-Identifier: Apache-2.0
"""On each host: training while the network loses packets, or the aggregator its jobs. The expected gradients do not depend on any
communication: each rank computes the gradients of all ranks' batches."""
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import torch_ina
from ddp import FLOAT32_UNIT, backward, batch, gradients, local_gradients, new_net, start

RANK, RANKS = start()
STEPS = int(sys.argv[1])
net = DistributedDataParallel(new_net(), bucket_cap_mb=0.02, broadcast_buffers=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(STEPS):
    parts = torch.stack([local_gradients(net.module, rank, step) / RANKS for rank in range(RANKS)]).double()
    optimizer.zero_grad()
    backward(net, batch(RANK, step))
    apart = (gradients(net).double() - parts.sum(0)).abs()
    assert (apart <= 1.01 * (RANKS - 1) * FLOAT32_UNIT * parts.abs().sum(0)).all(), f"step {step}: {apart.max()}"
    optimizer.step()
    large = torch.full((200000,), float(RANK + step))
    dist.all_reduce(large)
    assert (large == RANKS * step + RANKS * (RANKS - 1) / 2).all(), f"step {step}"
stats = torch_ina.stats()
print(f"fallbacks {stats['fallbacks']}, rejoins {stats['rejoins']}, bytes {stats['bytes_aggregated']}")
print(f"torch_ina from {torch_ina.__file__}")
print("all right")
