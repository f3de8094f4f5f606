# SPDX-License-Identifier: Apache-2.0
"""On each host: a rank dies in the middle of training, by a signal or by an exception. The others get an exception that names it:
from DDP, or from an all-reduce of the script."""
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ddp import backward, batch, new_net, start

RANK, RANKS = start()
VICTIM = RANKS - 1
net = DistributedDataParallel(new_net(), broadcast_buffers=False)
for step in range(3):
    if RANK == VICTIM and step == 2:
        if sys.argv[1] == "signal":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ValueError("the victim's own")
    began = time.monotonic()
    try:
        if sys.argv[1] == "signal" or step < 2:
            backward(net, batch(RANK, step))
        else:
            dist.all_reduce(torch.ones(1))
    except RuntimeError as error:
        assert f"rank {VICTIM}" in str(error) and "INA_ERR_PEER" in str(error), error
        print(f"told after {time.monotonic() - began:.1f} s: {error}")
        print("all right", flush=True)
        break
else:
    raise AssertionError("no rank received the error")
