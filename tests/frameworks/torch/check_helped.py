# SPDX-License-Identifier: Apache-2.0
"""On each of two hosts: a rank that has its sums waits in one of gloo's calls for a rank that lacks them and has lost the
aggregator."""
import torch
import torch.distributed as dist

import torch_ina
from ddp import start

RANK, RANKS = start(timeout_s=40)
STEPS_MAX = 100

for step in range(STEPS_MAX):
    tensor = torch.full((1000,), float(RANK + step))
    dist.all_reduce(tensor)
    assert (tensor == RANKS * step + RANKS * (RANKS - 1) / 2).all(), f"step {step}"
    # Rank 1 reports when it has seen the fallback; until then rank 0 is in gloo's recv().
    seen = torch.tensor([torch_ina.stats()["fallbacks"] > 0])
    if RANK == 1:
        dist.send(seen, 0)
    else:
        dist.recv(seen, 1)
    if seen.item():
        break
assert seen.item(), "the aggregator was never lost"
print("all right")
