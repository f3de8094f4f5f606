# SPDX-License-Identifier: Apache-2.0
"""On each host: every collective of torch.distributed, by whatever way it goes, and what is refused."""
import os
import tempfile
import warnings

import numpy as np
import torch
import torch.distributed as dist

import torch_ina
from ddp import be_silent, start

RANK, RANKS = start()
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.float64, torch.int64, torch.uint8)


def own(rank, dtype=torch.float32, count=1000):
    """Whole numbers that every type can add, another order at each rank."""
    return (torch.arange(count) * (2 * rank + 1) % 13 + rank).to(dtype)


def everybody(dtype=torch.float32, count=1000):
    return torch.stack([own(rank, torch.int64, count) for rank in range(RANKS)])


def check_all_reduce():
    results = {dist.ReduceOp.SUM: lambda x: x.sum(0), dist.ReduceOp.MAX: lambda x: x.amax(0), dist.ReduceOp.MIN: lambda x: x.amin(0),
               dist.ReduceOp.PRODUCT: lambda x: x.prod(0)}
    for dtype in DTYPES:
        for op, expected in results.items():
            if op == dist.ReduceOp.PRODUCT and dtype in (torch.bfloat16, torch.float16, torch.uint8):
                continue  # gloo knows no bfloat16, and the product is too large for the others
            for count in (0, 1, 1000, 70000):
                tensor = own(RANK, dtype, count)
                dist.all_reduce(tensor, op)
                assert torch.equal(tensor, expected(everybody(dtype, count)).to(dtype)), (dtype, op, count)
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32):
        tensor = own(RANK, dtype)
        dist.all_reduce(tensor, dist.ReduceOp.AVG)
        total = everybody().sum(0).to(dtype)
        assert torch.equal(tensor, torch.div(total, RANKS, rounding_mode=None if dtype.is_floating_point else "trunc")), dtype


def check_many_at_once():
    tensors = [own(RANK, count=count) for count in (5, 100000, 17, 300000, 1, 0, 4096)]
    for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
        work.wait()
    dist.all_reduce_coalesced(more := [own(RANK, count=count) for count in (3, 5000)])
    for tensor in (*tensors, *more):
        assert torch.equal(tensor, everybody(count=len(tensor)).sum(0).float()), len(tensor)
    # One after the other on the same memory, nobody waiting between them.
    tensor = own(RANK)
    for work in [dist.all_reduce(tensor, async_op=True) for _ in range(3)]:
        work.wait()
    assert torch.equal(tensor, everybody().sum(0).float() * RANKS ** 2)


def check_futures():
    """A callback may start an all-reduce, and wait for it."""
    def again(future):
        return dist.all_reduce(future.value()[0], async_op=True).get_future().wait()[0]

    for _ in range(3):
        future = dist.all_reduce(own(RANK), async_op=True).get_future().then(again).then(lambda done: done.value() + 1)
        assert torch.equal(future.wait(), everybody().sum(0).float() * RANKS + 1)


def check_others():
    for dtype in (torch.float32, torch.int64):
        for root in range(RANKS):
            dist.broadcast(tensor := own(RANK, dtype), root)
            assert torch.equal(tensor, own(root, dtype))
            dist.reduce(tensor := own(RANK, dtype), root)
            assert RANK != root or torch.equal(tensor, everybody().sum(0).to(dtype))
        dist.all_gather(parts := [torch.empty(1000, dtype=dtype) for _ in range(RANKS)], own(RANK, dtype))
        assert torch.equal(torch.stack(parts), everybody().to(dtype))
        dist.all_gather_into_tensor(whole := torch.empty(RANKS * 1000, dtype=dtype), own(RANK, dtype))
        assert torch.equal(whole, everybody().to(dtype).flatten())
        blocks = [own(RANK, dtype) + block for block in range(RANKS)]
        expected = (everybody() + RANK).sum(0).to(dtype)
        dist.reduce_scatter(block := torch.empty(1000, dtype=dtype), blocks)
        assert torch.equal(block, expected)
        dist.reduce_scatter_tensor(block := torch.empty(1000, dtype=dtype), torch.cat(blocks))
        assert torch.equal(block, expected)
        dist.gather(own(RANK, dtype), parts if RANK == 0 else None)
        dist.scatter(block, parts if RANK == 0 else None)
        assert torch.equal(block, own(RANK, dtype))
        dist.all_to_all_single(whole, torch.cat(blocks))
        assert torch.equal(whole.view(RANKS, -1), (everybody() + RANK).to(dtype))
    if RANK == 0:
        dist.send(own(5), 1)
    elif RANK == 1:
        dist.recv(tensor := torch.empty(1000), 0)
        assert torch.equal(tensor, own(5))
    dist.barrier()
    dist.all_gather_object(said := [None] * RANKS, {"rank": RANK})
    assert said == [{"rank": rank} for rank in range(RANKS)]


def refused(call, words):
    try:
        call()
    except RuntimeError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


def check_refused():
    refused(lambda: dist.all_reduce(torch.ones(4, 4).t()), "not contiguous")
    refused(lambda: dist.all_reduce(torch.ones(4).to_sparse()), "Sparse")
    refused(lambda: dist.all_gather_into_tensor(torch.ones(3), torch.ones(5)), "is not")
    child = os.fork()
    if child == 0:
        try:
            refused(lambda: dist.all_reduce(torch.ones(4)), "forked")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    # None of it has hurt.
    dist.all_reduce(tensor := torch.ones(1))
    assert tensor.item() == RANKS


def check_memory_that_comes_and_goes():
    """An allocation at the address of one that was freed is other memory. 36 MB: malloc maps and unmaps as much each time."""
    for more in range(4):
        tensor = own(RANK, count=9_000_000) + more
        dist.all_reduce(tensor)
        assert torch.equal(tensor, everybody(count=9_000_000).sum(0).float() + RANKS * more)
        del tensor


def check_read_only_memory():
    """What is only read may lie in a file that is mapped read-only, however small it is."""
    with tempfile.NamedTemporaryFile() as file:
        for count in (3, 100_000):
            file.seek(0)
            file.write(own(RANK, count=count).numpy().tobytes())
            file.flush()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that the tensor cannot be written to
                mapped = torch.from_numpy(np.memmap(file.name, np.float32, "r", shape=count))
            for root in range(RANKS):
                dist.broadcast(tensor := mapped if RANK == root else torch.zeros(count), root)
                assert torch.equal(tensor, own(root, count=count)), (root, count)
            dist.all_gather(all_of_them := [torch.zeros(count) for _ in range(RANKS)], mapped)
            assert all(torch.equal(one, own(rank, count=count)) for rank, one in enumerate(all_of_them)), count


def check_groups():
    """A group of some is a job of its own, and is closed while the other goes on."""
    some = dist.new_group([RANKS - 1, 0])
    if RANK in (0, RANKS - 1):
        dist.all_reduce(tensor := own(RANK), group=some)
        assert torch.equal(tensor, own(0) + own(RANKS - 1))
        assert torch_ina.stats(some)["calls"] == 1
        dist.destroy_process_group(some)
    del some
    dist.all_reduce(tensor := own(RANK))
    assert torch.equal(tensor, everybody().sum(0).float())
    assert "rank" in torch_ina.explain() or RANKS == 1


def check_silence():
    be_silent(10)
    dist.all_reduce(tensor := own(RANK))
    assert torch.equal(tensor, everybody().sum(0).float())


def check_again():
    """Another job of the same processes; nothing but the URL says where rank 0 is."""
    dist.destroy_process_group()
    os.environ.pop("INA_BIND", None)
    dist.init_process_group("ina", f"tcp://{os.environ.pop('MASTER_ADDR')}:{int(os.environ.pop('MASTER_PORT')) + 1}", rank=RANK, world_size=RANKS)
    dist.all_reduce(tensor := own(RANK))
    assert torch.equal(tensor, everybody().sum(0).float())


for check in (check_all_reduce, check_many_at_once, check_futures, check_others, check_refused, check_memory_that_comes_and_goes,
              check_read_only_memory, check_groups, check_silence, check_again):
    check()
    print(check.__name__, flush=True)
print("all right")
