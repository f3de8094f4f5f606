# SPDX-License-Identifier: Apache-2.0
"""On each host: every collective of torch.distributed, whatever path it takes, and the calls that are refused."""
import os
import tempfile
import time
import warnings

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.nn

import torch_ina
from ddp import be_silent, start


def held():
    """The threads and sockets that this process holds."""
    files = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")]
    return len(os.listdir("/proc/self/task")), sum(file.startswith("socket:") for file in files)


HELD_BEFORE = held()
RANK, RANKS = start()
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.float64, torch.int64, torch.uint8, torch.int8)


def check_the_same_port():
    """A destroyed group holds nothing, not even rank 0's store: another job may begin at the same port. (This check is the first,
    because others make torch's own threads.)"""
    dist.all_reduce(torch.ones(3))
    dist.send(torch.ones(1), 1) if RANK == 0 else dist.recv(torch.ones(1), 0) if RANK == 1 else None
    dist.barrier()
    dist.destroy_process_group()
    deadline = time.monotonic() + 5
    while held() != HELD_BEFORE and time.monotonic() < deadline:
        time.sleep(0.1)
    assert held() == HELD_BEFORE, f"{held()} threads and sockets, {HELD_BEFORE} at first"
    time.sleep(2 if RANK else 0)  # an early rank would meet the store that rank 0 is about to end
    start()
    dist.all_reduce(tensor := torch.ones(1))
    assert tensor.item() == RANKS


def own(rank, dtype=torch.float32, count=1000):
    """Whole numbers that every type can add exactly, in a different order at each rank."""
    return (torch.arange(count) * (2 * rank + 1) % 13 + rank).to(dtype)


def everybody(dtype=torch.float32, count=1000):
    return torch.stack([own(rank, torch.int64, count) for rank in range(RANKS)])


def check_all_reduce():
    results = {dist.ReduceOp.SUM: lambda x: x.sum(0), dist.ReduceOp.MAX: lambda x: x.amax(0), dist.ReduceOp.MIN: lambda x: x.amin(0),
               dist.ReduceOp.PRODUCT: lambda x: x.prod(0)}
    for dtype in DTYPES:
        for op, expected in results.items():
            if op == dist.ReduceOp.PRODUCT and dtype in (torch.bfloat16, torch.float16, torch.uint8, torch.int8):
                continue  # gloo has no bfloat16, and the product is too large for the other types
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
    # One call after the other on the same memory, without waiting in between.
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
    dist.broadcast_object_list(said := [{"rank": RANK}], src=1)
    assert said == [{"rank": 1}]


SHAPE = (2, 3, 4, 6)
PADDING = -1


def channels_last(tensor):
    return tensor.contiguous(memory_format=torch.channels_last)


def transposed(tensor):
    return tensor.transpose(1, 3).contiguous().transpose(1, 3)


def column(tensor):
    """Every third element of another tensor; only these elements may change."""
    whole = torch.full((*tensor.shape, 3), PADDING, dtype=tensor.dtype)
    whole[..., 1] = tensor
    return whole[..., 1]


def mixed(tensor):
    """A different layout at each rank."""
    return (torch.clone, channels_last, column)[RANK % 3](tensor)


def block(rank, of=0, dtype=torch.float32):
    count = torch.Size(SHAPE).numel()
    return (torch.arange(count) * (2 * rank + 1) % 13 + rank + of).to(dtype).view(SHAPE)


def call_each(layout):
    """Runs each collective with all its tensors in this layout; gives its name, its result, and the expected contents."""
    blocks, total = [block(rank) for rank in range(RANKS)], sum(block(rank) for rank in range(RANKS))
    mine, root, after = blocks[RANK], RANK == 0, (RANK + 1) % RANKS

    def x(values=mine):
        return layout(values.clone())

    def room(shape=SHAPE, dtype=torch.float32):
        return layout(torch.zeros(shape, dtype=dtype))

    dist.all_reduce(tensor := x())
    yield "all_reduce", tensor, total
    dist.all_reduce(tensor := x(mine.int()), dist.ReduceOp.BOR)
    bits = blocks[0].int()
    for other in blocks[1:]:
        bits = bits | other.int()
    yield "all_reduce by gloo", tensor, bits
    dist.all_reduce_coalesced(tensors := [x(), x(mine + 1)])
    yield "all_reduce_coalesced", tensors[1], total + RANKS
    dist.all_reduce_coalesced(tensors := [x(mine.int()), x(mine.int())], dist.ReduceOp.BOR)
    yield "all_reduce_coalesced by gloo", tensors[1], bits
    dist.reduce(tensor := x(), 0)
    yield "reduce", tensor, total if root else mine
    dist.reduce(tensor := x(mine.int()), 0, dist.ReduceOp.BOR)
    yield "reduce by gloo", tensor if root else torch.ones(0), bits if root else torch.ones(0)
    dist.broadcast(tensor := x(), RANKS - 1)
    yield "broadcast", tensor, blocks[-1]
    dist.all_gather(parts := [room() for _ in blocks], x())
    yield "all_gather", torch.stack(parts), torch.stack(blocks)
    dist.all_gather_into_tensor(whole := room((RANKS * SHAPE[0], *SHAPE[1:])), x())
    yield "all_gather_into_tensor", whole, torch.cat(blocks)
    dist.all_gather_coalesced(lists := [[room(), room()] for _ in blocks], [x(), x(mine + 1)])
    yield "all_gather_coalesced", torch.stack([two[1] for two in lists]), torch.stack(blocks) + 1
    dist.reduce_scatter(tensor := room(), [x(mine + rank) for rank in range(RANKS)])
    yield "reduce_scatter", tensor, total + RANKS * RANK
    dist.reduce_scatter_tensor(tensor := room(), x(torch.cat([mine + rank for rank in range(RANKS)])))
    yield "reduce_scatter_tensor", tensor, total + RANKS * RANK
    dist.gather(x(), parts := [room() for _ in blocks] if root else None)
    yield "gather", torch.stack(parts) if root else mine, torch.stack(blocks) if root else mine
    dist.scatter(tensor := room(), [x(one) for one in blocks] if root else None)
    yield "scatter", tensor, mine
    whole = room((RANKS * SHAPE[0], *SHAPE[1:]))
    dist.all_to_all_single(whole, x(torch.cat([mine + rank for rank in range(RANKS)])))
    yield "all_to_all_single", whole, torch.cat(blocks) + RANK
    dist.all_to_all(parts := [room() for _ in blocks], [x(mine + rank) for rank in range(RANKS)])
    yield "all_to_all", torch.stack(parts), torch.stack(blocks) + RANK
    for anybody in (False, True):
        sent = dist.isend(x(), after)
        assert dist.recv(tensor := room(), None if anybody else (RANK - 1) % RANKS) == (RANK - 1) % RANKS
        sent.wait()
        yield "recv", tensor, blocks[RANK - 1]
        dist.barrier()


def check_layouts():
    for layout in (channels_last, transposed, column, mixed):
        for name, tensor, right in call_each(layout):
            assert torch.equal(tensor, right), f"{name}, {layout.__name__}: {tensor.flatten()[:8]}, not {right.flatten()[:8]}"
            if tensor._base is not None and tensor._base.dim() == len(SHAPE) + 1:
                assert (tensor._base[..., ::2] == PADDING).all(), f"{name} wrote next to its tensor"


def check_expanded():
    """Elements that share memory can be read like any; they cannot be written one by one."""
    one, many = torch.full((1,), 5. + RANK), 30000 * RANKS
    expected = torch.arange(RANKS).repeat_interleave(many // RANKS) + 5.
    dist.all_gather(parts := [torch.zeros(many) for _ in range(RANKS)], one.expand(many))
    assert all((part == 5 + rank).all() for rank, part in enumerate(parts))
    dist.gather(one.expand(many), parts if RANK == 0 else None)
    assert all((part == 5 + rank).all() for rank, part in enumerate(parts))
    dist.scatter(tensor := torch.zeros(many), [one.expand(many)] * RANKS if RANK == 0 else None)
    assert (tensor == 5).all()
    dist.all_to_all_single(tensor := torch.zeros(many), one.expand(many))
    assert torch.equal(tensor, expected)
    dist.reduce_scatter_tensor(tensor := torch.zeros(many // RANKS), one.expand(many))
    assert (tensor == sum(range(5, 5 + RANKS))).all()
    whole = torch.zeros(many)
    for windows in (one.expand(many), torch.zeros(many + 1).unfold(0, 2, 1)[:, 0:2].t()[:, :many // 2]):
        parts = [windows] + [torch.zeros(windows.shape)] * (RANKS - 1)
        for call in (lambda: dist.all_reduce(windows), lambda: dist.all_reduce(windows, dist.ReduceOp.BOR),
                     lambda: dist.all_reduce_coalesced([windows]), lambda: dist.reduce(windows, RANK), lambda: dist.broadcast(windows, (RANK + 1) % RANKS),
                     lambda: dist.all_gather(parts, windows), lambda: dist.all_gather_into_tensor(windows, whole[:many // RANKS]),
                     lambda: dist.all_gather_coalesced([[part] for part in parts], [windows]),
                     lambda: dist.reduce_scatter(windows, [windows] * RANKS), lambda: dist.reduce_scatter_tensor(windows, whole),
                     lambda: dist.scatter(windows, [windows] * RANKS if RANK == 0 else None), lambda: dist.all_to_all_single(windows, whole),
                     lambda: dist.all_to_all(parts, parts), lambda: dist.recv(windows, (RANK + 1) % RANKS), lambda: dist.recv(windows),
                     *([lambda: dist.gather(windows, parts)] if RANK == 0 else [])):
            refused(call, "share memory")
    assert (whole == 0).all()


def check_unusual():
    """Conjugates, whose memory has other values; and tensors that autograd protects against writes."""
    values = torch.complex(own(0), own(1))
    dist.broadcast(tensor := values.clone() if RANK else values.conj(), 0)
    assert torch.equal(tensor, values.conj())
    dist.gather(torch._neg_view(own(RANK)), parts := [torch.zeros(1000) for _ in range(RANKS)] if RANK == 0 else None)
    assert RANK or torch.equal(torch.stack(parts), -everybody().float())
    leaf = column(block(RANK)).requires_grad_()
    dist.all_reduce(leaf)
    assert torch.equal(leaf, sum(block(rank) for rank in range(RANKS)))
    dist.all_gather(parts := [torch.zeros(SHAPE, requires_grad=True) for _ in range(RANKS)], column(block(RANK)).requires_grad_())
    assert torch.equal(torch.stack(parts), torch.stack([block(rank) for rank in range(RANKS)]))
    with torch.inference_mode():
        tensor = column(block(RANK))
    dist.all_reduce(tensor)
    assert torch.equal(tensor, sum(block(rank) for rank in range(RANKS)))
    work = dist.all_reduce(tensor := column(block(RANK)), dist.ReduceOp.MAX, async_op=True)
    expected = torch.stack([block(rank) for rank in range(RANKS)]).amax(0)
    assert torch.equal(work.get_future().then(lambda done: done.value()[0] + 1).wait(), expected + 1) and torch.equal(tensor, expected)
    work = dist.gather(column(block(RANK)), parts := [column(torch.zeros(SHAPE)) for _ in range(RANKS)] if RANK == 0 else None, async_op=True)
    gathered = work.get_future().wait()
    assert RANK or torch.equal(torch.stack(gathered), torch.stack([block(rank) for rank in range(RANKS)]))


def check_lists_of_other_sizes():
    """all_to_all() of lists: rank s sends s + 2 r elements to rank r."""
    inputs = [torch.full((RANK + 2 * rank,), 10. * RANK + rank) for rank in range(RANKS)]
    outputs = [torch.zeros(rank + 2 * RANK) for rank in range(RANKS)]
    dist.all_to_all(outputs, inputs)
    assert all(torch.equal(part, torch.full((rank + 2 * RANK,), 10. * rank + RANK)) for rank, part in enumerate(outputs))
    refused(lambda: dist.all_to_all(outputs[1:], inputs), "lists")
    group = dist.distributed_c10d._get_default_group()  # dist.all_to_all() checks the types itself
    refused(lambda: group.alltoall(outputs, [inputs[0].int(), *inputs[1:]]), "int")


def weight(rank, other=0):
    """The weight, in a rank's loss, of the elements that came from another rank."""
    return 1. + 3 * rank + 7 * other


def check_gradients():
    """The gradients of torch.distributed.nn. The loss of rank s is the weighted sum of the elements that it received. So the
    gradient at rank r is the sum of the weights of the elements that it sent, and each gradient on the way is an expanded
    number."""
    everything = sum(weight(rank) for rank in range(RANKS))

    def gradients(function, count=1):
        inputs = [torch.ones(4, requires_grad=True) for _ in range(count)]
        got = function(*inputs)
        got = got if isinstance(got, (tuple, list)) else [got]
        sum(part.sum() * weight(RANK, rank) for rank, part in enumerate(got)).backward()
        return [one.grad[0].item() for one in inputs]

    nn = torch.distributed.nn
    assert gradients(nn.all_gather) == [sum(weight(rank, RANK) for rank in range(RANKS))]
    assert gradients(nn.all_reduce) == [everything]
    assert gradients(lambda x: nn.broadcast(x, 0)) == [0 if RANK else everything]
    assert gradients(lambda x: nn.reduce(x, 0)) == [weight(0)]
    assert gradients(lambda x: nn.gather(x, 0)) == [weight(0, RANK)]
    assert RANK or gradients(lambda *x: nn.scatter(x, 0), RANKS) == [weight(rank) for rank in range(RANKS)]
    assert RANK == 0 or gradients(lambda *x: nn.scatter(x, 0), RANKS)
    assert gradients(lambda *x: nn.all_to_all([torch.zeros(4) for _ in x], x), RANKS) == [weight(rank, RANK) for rank in range(RANKS)]
    assert gradients(lambda *x: nn.all_to_all_single(torch.zeros(4 * RANKS), torch.cat(x)), RANKS) == [weight(rank) for rank in range(RANKS)]
    assert gradients(lambda *x: nn.reduce_scatter(torch.zeros(4), x), RANKS) == [weight(rank) for rank in range(RANKS)]


def refused(call, words):
    try:
        call()
    except RuntimeError as error:
        assert words in str(error).lower(), error
    else:
        raise AssertionError(f"not refused: {words}")


def check_refused():
    sparse, dense = torch.ones(4).to_sparse(), [torch.ones(4)] * RANKS
    for call in (lambda: dist.all_reduce(sparse), lambda: dist.broadcast(sparse, 0), lambda: dist.all_gather(dense, sparse),
                 lambda: dist.reduce_scatter(torch.ones(4), [sparse] * RANKS), lambda: dist.gather(sparse, dense if RANK == 0 else None),
                 lambda: dist.scatter(sparse, dense if RANK == 0 else None), lambda: dist.all_to_all_single(torch.ones(4), sparse),
                 lambda: dist.all_to_all(dense, [sparse] * RANKS), lambda: dist.send(sparse, (RANK + 1) % RANKS),
                 lambda: dist.recv(sparse, (RANK + 1) % RANKS)):
        refused(call, "sparse")
    refused(lambda: dist.all_gather_into_tensor(torch.ones(3), torch.ones(5)), "is not")
    child = os.fork()
    if child == 0:
        try:
            refused(lambda: dist.all_reduce(torch.ones(4)), "fork")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    # None of this did any harm.
    dist.all_reduce(tensor := torch.ones(1))
    assert tensor.item() == RANKS


def check_memory_that_comes_and_goes():
    """An allocation at the address of freed memory is other memory. 36 MB: malloc maps and unmaps this size each time."""
    for more in range(4):
        tensor = torch.full((9_000_000,), float(RANK + more))
        dist.all_reduce(tensor)
        assert (tensor == RANKS * more + RANKS * (RANKS - 1) / 2).all()
        del tensor


def check_read_only_memory():
    """Memory that is only read may be a file that is mapped read-only, however small it is."""
    with tempfile.NamedTemporaryFile() as file:
        for count in (3, 100_000):
            file.seek(0)
            file.write(own(RANK, count=count).numpy().tobytes())
            file.flush()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the warning that the tensor cannot be written
                mapped = torch.from_numpy(np.memmap(file.name, np.float32, "r", shape=count))
            for root in range(RANKS):
                dist.broadcast(tensor := mapped if RANK == root else torch.zeros(count), root)
                assert torch.equal(tensor, own(root, count=count)), (root, count)
            dist.all_gather(all_of_them := [torch.zeros(count) for _ in range(RANKS)], mapped)
            assert all(torch.equal(one, own(rank, count=count)) for rank, one in enumerate(all_of_them)), count


def check_groups():
    """A group of some ranks is a separate job, and can be closed while the other one continues."""
    some = dist.new_group([RANKS - 1, 0])
    if RANK in (0, RANKS - 1):
        dist.all_reduce(tensor := own(RANK), group=some)
        assert torch.equal(tensor, own(0) + own(RANKS - 1))
        assert torch_ina.stats(some)["calls"] == 1
        dist.destroy_process_group(some)
    del some
    dist.all_reduce(tensor := own(RANK))
    assert torch.equal(tensor, everybody().sum(0).float())
    assert "rank" in torch_ina.explain() or not torch_ina.stats()["device"]


def check_silence():
    if not torch_ina.stats()["device"]:
        return  # the ranks are on one machine, and have one kernel
    be_silent(10)
    dist.all_reduce(tensor := own(RANK))
    assert torch.equal(tensor, everybody().sum(0).float())


def check_again():
    """Another job of the same processes; only the URL says where rank 0 is."""
    dist.destroy_process_group()
    os.environ.pop("INA_BIND", None)
    dist.init_process_group("ina", f"tcp://{os.environ.pop('MASTER_ADDR')}:{int(os.environ.pop('MASTER_PORT')) + 1}", rank=RANK, world_size=RANKS)
    dist.all_reduce(tensor := own(RANK))
    assert torch.equal(tensor, everybody().sum(0).float())


for check in (check_the_same_port, check_all_reduce, check_many_at_once, check_futures, check_others, check_layouts, check_expanded,
              check_unusual, check_lists_of_other_sizes, check_gradients, check_refused, check_memory_that_comes_and_goes,
              check_read_only_memory, check_groups, check_silence, check_again):
    check()
    print(check.__name__, flush=True)
print("all right")
