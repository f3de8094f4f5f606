# SPDX-License-Identifier: Apache-2.0
"""On each host: DDP over gloo with libina's communication hook, compared with DDP over gloo alone, from the same seeds. With two
ranks the bits are the same. At the end the last rank dies, and the others are informed."""
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

import torch_ina_hook
from ddp import FLOAT32_UNIT, backward, batch, be_silent, gradients, local_gradients, new_net, start, train

RANK, RANKS = start(backend="gloo")
STATE = torch_ina_hook.State(timeout_s=120)
VICTIM = RANKS - 1


def hook(_, bucket):
    return torch_ina_hook.all_reduce(STATE, bucket)


def check_training():
    for options in ({}, {"bucket_cap_mb": 0.0001}, {"gradient_as_bucket_view": True}, {"static_graph": True}):
        for ours, theirs in zip(train(hook=hook, **options), train(**options)):
            if RANKS == 2:
                assert torch.equal(ours, theirs), f"{options}: {(ours - theirs).abs().max()} apart"
            else:
                assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5), f"{options}: {(ours - theirs).abs().max()} apart"


def check_one_sum():
    """The bound of docs/protocol.md, compared with each rank's own gradients in float64."""
    net = DistributedDataParallel(new_net())
    net.register_comm_hook(STATE, torch_ina_hook.all_reduce)
    backward(net, batch(RANK, 0))
    parts = torch.stack([local_gradients(new_net(), rank, 0) / RANKS for rank in range(RANKS)]).double()
    bound = 1.01 * (RANKS - 1) * FLOAT32_UNIT * parts.abs().sum(0)
    assert ((gradients(net).double() - parts.sum(0)).abs() <= bound).all()


class Weight(nn.Module):
    """Its gradient equals its input; torch 1.13 has no other layer for float16 on the CPU."""

    def __init__(self, dtype):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1000, dtype=dtype))

    def forward(self, x):
        return self.weight * x


def check_types():
    """Whole numbers, so that the average is exact in every type."""
    own, everybody = (torch.arange(1000) % 13 * RANKS + more for more in (RANK * RANKS, RANKS * (RANKS - 1) / 2))
    for dtype in (torch.float32, torch.float16, torch.float64):
        net = DistributedDataParallel(Weight(dtype))
        net.register_comm_hook(STATE, torch_ina_hook.all_reduce)
        net(own.to(dtype)).sum().backward()
        assert torch.equal(net.module.weight.grad, everybody.to(dtype)), dtype
    # gloo cannot send the weights of a model in bfloat16 to the other ranks.
    assert torch.equal(STATE.start(own.bfloat16()).wait(), everybody.bfloat16())


def check_wrapped():
    """torch's own wrapper halves the number of bytes."""
    ours = train(hook=default_hooks.fp16_compress_wrapper(hook), steps=1)[0]
    theirs = train(hook=default_hooks.fp16_compress_hook, steps=1)[0]
    assert torch.equal(ours, theirs) if RANKS == 2 else torch.allclose(ours, theirs, rtol=RANKS * 2.0 ** -11, atol=2e-4)


def refused(call, words):
    try:
        call()
    except (RuntimeError, TypeError) as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


def check_refused():
    refused(lambda: STATE.start(torch.ones(4, dtype=torch.int32)), "torch.int32")
    refused(lambda: STATE.start(torch.ones(4, 4).t()), "contiguous")
    refused(lambda: STATE.start(torch._neg_view(torch.ones(4))), "contiguous")
    net = DistributedDataParallel(new_net())
    net.register_comm_hook(STATE, lambda state, bucket: state.start(bucket.buffer().to(torch.complex64)))
    refused(lambda: backward(net, batch(RANK, 0)), "complex64")


def check_closed():
    other = torch_ina_hook.State(timeout_s=120)
    assert torch.equal(other.start(torch.full((5,), float(RANKS))).wait(), torch.full((5,), float(RANKS)))
    assert other.stats()["calls"] == 1 and "rank" in other.explain()
    other.close()
    refused(lambda: other.start(torch.ones(1)), "closed")


def check_silence():
    be_silent(10)
    assert STATE.start(torch.full((1,), float(RANKS))).wait().item() == RANKS


def check_killed():
    net = DistributedDataParallel(new_net(), broadcast_buffers=False)
    net.register_comm_hook(STATE, torch_ina_hook.all_reduce)
    for step in range(2):  # in the second one DDP makes its buckets again, over gloo
        backward(net, batch(RANK, step))
    dist.barrier()  # another rank may still lack a sum, and get an exception instead
    if RANK == VICTIM:
        os.kill(os.getpid(), signal.SIGKILL)
    refused(lambda: backward(net, batch(RANK, 2)), f"rank {VICTIM}")


for check in (check_training, check_one_sum, check_types, check_wrapped, check_refused, check_closed, check_silence):
    check()
    print(check.__name__, flush=True)
stats = STATE.stats()
assert stats["algorithm"] == "ina" and 0 < stats["bytes_aggregated"] and stats["fallbacks"] == 0, stats
check_killed()
assert "torch_ina" not in sys.modules
print("all right")
