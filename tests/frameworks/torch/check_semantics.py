# SPDX-License-Identifier: Apache-2.0
"""On each host: DDP over ina compared with DDP over gloo, from the same seeds. With two ranks the bits are the same."""
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import torch_ina
from ddp import FLOAT32_UNIT, backward, batch, gradients, local_gradients, new_net, start, train, weights

RANK, RANKS = start()
GLOO = dist.new_group(backend="gloo")


def assert_near(ours, theirs, what, relative=1e-4):
    """Further steps train from results that differ in their last bits, so the bound of one sum holds only for the first step."""
    for one, other in zip(ours, theirs):
        if RANKS == 2:
            assert torch.equal(one, other), f"{what}: {(one - other).abs().max()} apart"
        else:
            assert torch.allclose(one, other, rtol=relative, atol=relative / 10), f"{what}: {(one - other).abs().max()} apart"


def assert_same_everywhere(vector, what):
    all_of_them = [torch.empty_like(vector) for _ in range(RANKS)]
    dist.all_gather(all_of_them, vector, group=GLOO)
    assert all(torch.equal(one, vector) for one in all_of_them), f"{what}: the ranks differ"


def compare(what, relative=1e-4, **options):
    ours = train(**options)
    assert_near(ours, train(GLOO, **options), what, relative)
    assert_same_everywhere(ours[-2], what)


def check_one_sum():
    """The bound of docs/protocol.md for a sum of float32: each of the n - 1 additions rounds once. gloo's sum rounds as often."""
    net = DistributedDataParallel(new_net())
    backward(net, batch(RANK, 0))
    parts = [local_gradients(new_net(), rank, 0) / RANKS for rank in range(RANKS)]
    exact = torch.stack(parts).double().sum(0)
    bound = 1.01 * (RANKS - 1) * FLOAT32_UNIT * torch.stack(parts).double().abs().sum(0)
    assert ((gradients(net).double() - exact).abs() <= bound).all()


def check_buckets():
    for megabytes in (0.0001, 0.01, 100):
        compare(f"buckets of {megabytes} MB", bucket_cap_mb=megabytes, steps=3)
    compare("views into buckets", gradient_as_bucket_view=True)


def accumulate(group):
    net = DistributedDataParallel(new_net(), process_group=group)
    with net.no_sync():
        backward(net, batch(RANK, 0))
        alone = gradients(net)
    backward(net, batch(RANK, 1))
    return alone, gradients(net)


def check_accumulation():
    (alone, ours), (_, theirs) = accumulate(None), accumulate(GLOO)
    assert torch.equal(alone, local_gradients(new_net(), RANK, 0)), "no_sync() has synchronised"
    assert_near([ours], [theirs], "accumulation")


def unused(group):
    """A branch that only one rank uses, and then none."""
    net = DistributedDataParallel(new_net(), process_group=group, find_unused_parameters=True)
    seen = []
    for step in range(3):
        net.zero_grad()
        backward(net, batch(RANK, step), branch=step < 2 and RANK == 0)
        seen.append(gradients(net))
    return seen


def check_unused():
    assert_near(unused(None), unused(GLOO), "unused parameters")


def bfloat16(state, bucket):
    """Under another name: torch 1.13 accepts the hook of default_hooks for NCCL only."""
    return default_hooks.bf16_compress_hook(state, bucket)


def check_hooks():
    compare("float16", relative=RANKS * 2.0 ** -11, hook=default_hooks.fp16_compress_hook)
    # gloo has no bfloat16. Each rank's elements are rounded before they are sent, and so is the sum. DDP divides first.
    ours = train(hook=bfloat16, steps=1)[0]
    parts = torch.stack([local_gradients(new_net(), rank, 0).bfloat16() / RANKS for rank in range(RANKS)])
    assert torch.equal(ours, parts.float().sum(0).bfloat16().float()) or RANKS > 2, "bfloat16"
    assert torch.allclose(ours, parts.float().sum(0), rtol=RANKS * 2.0 ** -8, atol=1e-6), "bfloat16"
    # Its callbacks wait for other all-reduces. It accepts no parameter without elements.
    net = DistributedDataParallel(new_net(with_empty=False))
    net.register_comm_hook(powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook)
    for step in range(4):
        net.zero_grad()
        backward(net, batch(RANK, step))
    assert_same_everywhere(gradients(net), "PowerSGD")


def check_sync_batch_norm():
    net = torch.nn.SyncBatchNorm.convert_sync_batchnorm(new_net())
    try:
        DistributedDataParallel(net)(batch(RANK, 0)[0])
    except ValueError as error:
        assert "GPU" in str(error), error
    else:
        raise AssertionError("SyncBatchNorm of this torch takes tensors on the CPU: compare it with gloo's here")


def check_resume():
    """A model that is saved after two steps and loaded again continues as if it had not been interrupted."""
    file = Path(sys.argv[1]) / f"checkpoint.{RANKS}"

    def steps(net, optimizer, numbers):
        for step in numbers:
            optimizer.zero_grad()
            backward(net, batch(RANK, step))
            optimizer.step()

    def fresh():
        net = DistributedDataParallel(new_net())
        return net, torch.optim.Adam(net.parameters())

    net, optimizer = fresh()
    steps(net, optimizer, range(2))
    if RANK == 0:
        torch.save((net.state_dict(), optimizer.state_dict()), file)
    dist.barrier()
    steps(net, optimizer, range(2, 4))
    resumed, other = fresh()
    for part, saved in zip((resumed, other), torch.load(file)):
        part.load_state_dict(saved)
    steps(resumed, other, range(2, 4))
    assert torch.equal(weights(net), weights(resumed))


def check_workers():
    """DataLoader forks while the communicator is open and its thread is running."""
    def epoch(group):
        data = TensorDataset(*(torch.cat(parts) for parts in zip(*(batch(9, step) for step in range(8)))))
        loader = DataLoader(data, batch_size=BATCH_OF_LOADER, num_workers=2,
                            sampler=DistributedSampler(data, RANKS, RANK, seed=3))
        net = DistributedDataParallel(new_net(), process_group=group)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for data in loader:
            optimizer.zero_grad()
            backward(net, data)
            optimizer.step()
        return [weights(net.module)]

    assert_near(epoch(None), epoch(GLOO), "DataLoader's workers")


def check_left_alone():
    """Ranks wait once for a rank that destroys no group, and not once for each group. (The last of the checks.)"""
    groups = [dist.new_group() for _ in range(3)]
    for group in groups:
        dist.all_reduce(torch.ones(1), group=group)
    dist.barrier()
    if RANK == RANKS - 1:
        time.sleep(2 * CLOSE_PATIENCE_S)
        return
    began = time.monotonic()
    for group in groups[1:]:
        dist.destroy_process_group(group)
    dist.destroy_process_group()
    assert time.monotonic() - began < 1.5 * CLOSE_PATIENCE_S, f"{time.monotonic() - began:.1f} s"


BATCH_OF_LOADER = 4
CLOSE_PATIENCE_S = 10  # as in communicator.hpp

for check in (check_one_sum, check_buckets, check_accumulation, check_unused, check_hooks, check_sync_batch_norm, check_resume,
              check_workers):
    check()
    print(check.__name__, flush=True)
stats = torch_ina.stats()
assert not stats["device"] or stats["algorithm"] == "ina" and stats["bytes_ring"] == 0 < stats["bytes_aggregated"], stats
if RANKS == 2:
    check_left_alone()
print("all right")
