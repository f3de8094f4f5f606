# SPDX-License-Identifier: Apache-2.0
"""The process group in Python alone, for a PyTorch that _core was not built for. It has the functions of module.cpp.

It extends torch.distributed.ProcessGroup. Python calls its methods by their names. C++, as in DDP, calls those that torch's
PyProcessGroup.hpp passes on. libina carries out the same calls as in collectives.cpp, and an inner gloo group others.
"""
import math
import threading
import weakref

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Work, _create_work_from_future

from torch_ina_hook import Communicator, load, value_of

OPS = {"SUM": 1, "MAX": 2, "MIN": 3, "PRODUCT": 4, "AVG": 5}  # enum ina_op, by the names of ReduceOp
BYTE = 7  # INA_UINT8: calls that only move elements treat them as bytes
_TYPES_END = 16  # a collective's mark has four bits for its type
_STATS = ("algorithm", "device", "path_mtu", "calls", "bytes_aggregated", "bytes_ring", "overflows", "fallbacks", "rejoins", "yields")

_ends = weakref.WeakKeyDictionary()  # how to wait for the works of this module
_torch_wait = Work.wait


def _wait(work, *arguments, **options):
    """Replaces Work.wait(), which returns without an error if torch has made the work of a future that has one. A work that Python
    extends would not do: C++ lets its Python half end before the work. C++ code that waits itself, as for DDP's buffers, gets the
    error in its next call, since a communicator that has failed stays so."""
    if work not in _ends:
        return _torch_wait(work, *arguments, **options)
    _ends[work](work)
    return True


Work.wait = _wait


def types():
    """The types that both libina and torch have: libina's numbers by torch's types."""
    library = load()
    names = {number: library.ina_type_name(number) for number in range(1, _TYPES_END)}
    return {getattr(torch, name.decode()): number for number, name in names.items() if name and hasattr(torch, name.decode())}


def _work_of(future):
    work = _create_work_from_future(future)
    _ends[work] = lambda work: work.get_future().wait()
    return work


def _may_share_memory(tensor):
    """As in contiguous.cpp."""
    last = 0
    for stride, size in sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.size()) if size > 1):
        if stride <= last:
            return tensor.numel() > 0
        last += stride * (size - 1)
    return False


class _Call:
    """The tensors of one call. A tensor that is not contiguous is replaced by a copy, which is copied back at the end."""

    def __init__(self, title):
        self.title, self.held, self.copies, self.what = title, [], [], title

    def refuse(self, why, kind=RuntimeError):
        raise kind(f"torch_ina: {self.title}: {why}")

    def read(self, tensor):
        if tensor.layout != torch.strided:
            self.refuse(f"the tensor is {tensor.layout}: the backend takes dense tensors; call to_dense() on it")
        if tensor.device.type != "cpu":
            self.refuse(f"the tensor is on {tensor.device}: the backend takes tensors on the CPU; call cpu() on it")
        self.what = f"{self.title} of {tensor.numel()} {tensor.dtype}"
        self.held.append(tensor.detach().contiguous().resolve_conj().resolve_neg())
        return self.held[-1]

    def write(self, tensor):
        copy = self.read(tensor)
        if _may_share_memory(tensor):
            self.refuse("elements of the tensor share memory, as after expand(), so they cannot be written separately: pass tensor.clone()")
        if copy.data_ptr() != tensor.data_ptr():
            self.copies.append((tensor, copy))
        return copy

    def check_blocks(self, whole, block, ranks):
        if whole.dtype != block.dtype or whole.numel() != block.numel() * ranks:
            self.refuse(f"a tensor of {whole.numel()} {whole.dtype} is not {ranks} times one of {block.numel()} {block.dtype}")

    def copy_back(self):
        with torch.inference_mode():  # invisible to autograd, like a collective that writes to the tensor's memory
            while self.copies:
                to, copy = self.copies.pop()
                to.copy_(copy)


class ProcessGroupIna(dist.ProcessGroup):
    # torch 2 asks for these. No backend is registered with a group that Python extends, so C++ would not know them.
    _device_types = [torch.device("cpu")]
    group_name = group_desc = ""

    def __init__(self, rank, size, communicator, gloo):
        super().__init__(rank, size)
        self._communicator, self._gloo = communicator, gloo
        self._types = types()

    def __del__(self):
        self._communicator.close()

    def getBackendName(self):
        return "ina"

    def _get_backend(self, device):
        return self

    def _set_group_name(self, name):
        self.group_name = name

    def _set_group_desc(self, text):
        self.group_desc = text

    def _submit(self, call, name, outputs, *arguments):
        """Starts a call of libina. Callbacks of the future may start further works and wait for them, so they run in a
        separate thread."""
        future = torch.futures.Future()

        def done(error):
            try:
                if not error:
                    call.copy_back()
            except RuntimeError as failure:
                error = failure
            threading.Thread(target=future.set_result, args=(error or outputs,), daemon=True).start()

        self._communicator.submit(call.what, name, arguments, done)
        return _work_of(future.then(value_of))

    def _operation(self, tensor, op):
        """Returns the numbers of type and operation, or None if libina has not both."""
        number = next((number for name, number in OPS.items() if op == getattr(dist.ReduceOp, name)), None)
        return (self._types[tensor.dtype], number) if number and tensor.dtype in self._types else None

    def _collect(self, works):
        done = torch.futures.collect_all([work.get_future() for work in works])
        return _work_of(done.then(lambda all_done: [tensor for one in all_done.value() for tensor in one.value()]))

    def allreduce(self, tensors, opts):
        operation = self._operation(tensors[0], opts.reduceOp)
        if not operation:
            return self._by_gloo("allreduce", tensors, opts)
        call = _Call("all_reduce")
        memory = call.write(tensors[0])
        return self._submit(call, "allreduce", tensors, memory.data_ptr(), memory.data_ptr(), memory.numel(), *operation)

    def allreduce_coalesced(self, tensors, opts):
        if not all(self._operation(tensor, opts.reduceOp) for tensor in tensors):
            return self._by_gloo("allreduce_coalesced", tensors, opts)
        return self._collect([self.allreduce([tensor], opts) for tensor in tensors])

    def reduce(self, tensors, opts):
        operation, call, is_root = self._operation(tensors[0], opts.reduceOp), _Call("reduce"), opts.rootRank == self.rank()
        if not operation:
            return self._by_gloo("reduce", tensors, opts)
        memory = (call.write if is_root else call.read)(tensors[0])
        return self._submit(call, "reduce", tensors, memory.data_ptr(), memory.data_ptr() if is_root else None, memory.numel(), *operation,
                            opts.rootRank)

    def broadcast(self, tensors, opts):
        call = _Call("broadcast")
        memory = (call.read if opts.rootRank == self.rank() else call.write)(tensors[0])
        return self._submit(call, "broadcast", tensors, memory.data_ptr(), memory.data_ptr(), memory.numel() * memory.element_size(), BYTE,
                            opts.rootRank)

    def _gather(self, call, whole, block, outputs):
        call.check_blocks(whole, block, self.size())
        return self._submit(call, "all_gather", outputs, block.data_ptr(), whole.data_ptr(), block.numel() * block.element_size(), BYTE)

    def allgather(self, outputs, inputs, opts=None):
        call, parts = _Call("all_gather"), outputs[0]
        block = call.read(inputs[0])
        for part in parts:
            call.write(part)
            call.check_blocks(part, block, 1)
        whole = call.read(block.new_empty(self.size(), math.prod(block.shape)))
        call.copies = [(part, copy.view(part.shape)) for part, copy in zip(parts, whole)]
        return self._gather(call, whole, block, parts)

    def _allgather_base(self, output, block, opts=None):
        call = _Call("all_gather_into_tensor")
        return self._gather(call, call.write(output), call.read(block), [output])

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        return self._collect([self._allgather_base(*pair) for pair in zip(outputs, inputs)])

    def _reduce_scatter(self, call, output, whole, opts):
        block, operation = call.write(output), self._operation(output, opts.reduceOp)
        call.check_blocks(whole, block, self.size())
        if not operation:
            call.refuse(f"neither libina nor gloo supports {output.dtype} with this operation", NotImplementedError)
        return self._submit(call, "reduce_scatter", [output], whole.data_ptr(), block.data_ptr(), block.numel(), *operation)

    def reduce_scatter(self, outputs, inputs, opts):
        call = _Call("reduce_scatter")
        blocks = [call.read(block) for block in inputs[0]]
        for block in blocks:
            call.check_blocks(block, outputs[0], 1)
        return self._reduce_scatter(call, outputs[0], call.read(torch.cat([block.view(-1) for block in blocks])), opts)

    def _reduce_scatter_base(self, output, whole, opts):
        call = _Call("reduce_scatter_tensor")
        return self._reduce_scatter(call, output, call.read(whole), opts)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts):
        return self._collect([self._reduce_scatter_base(*pair, opts) for pair in zip(outputs, inputs)])

    def barrier(self, opts=None):
        return self._submit(_Call("barrier"), "barrier", [])

    def _after(self, call, work, outputs):
        """Returns gloo's work or, if outputs must be copied back, a work that completes after that."""
        def finish(done):
            done.value()
            call.copy_back()
            return outputs

        return _work_of(work.get_future().then(finish)) if call.copies else work

    def _by_gloo(self, name, first, *others, **options):
        """The first argument has the outputs, and all others have inputs."""
        call = _Call(name)

        def prepare(argument, prepared):
            if isinstance(argument, (list, tuple)):
                return [prepare(one, prepared) for one in argument]
            return prepared(argument) if isinstance(argument, torch.Tensor) else argument

        contiguous = prepare(first, call.read if name == "send" else call.write)
        work = getattr(self._gloo, name)(contiguous, *(prepare(other, call.read) for other in others), **options)
        if not name.startswith("recv"):
            outputs = [first] if isinstance(first, torch.Tensor) else first
            return self._after(call, work, outputs[0] if outputs and isinstance(outputs[0], list) else outputs)

        def finish(work):
            _torch_wait(work)  # gloo completes it only then, and it has no future
            call.copy_back()

        _ends[work] = finish
        return work

    def alltoall(self, outputs, inputs, opts=None):
        """gloo has this only for a single tensor that it splits, so the tensors are joined."""
        call, ranks = _Call("all_to_all"), self.size()
        if len(outputs) != ranks or len(inputs) != ranks:
            call.refuse(f"it takes two lists of {ranks} tensors, one per rank")
        for tensor in (*outputs, *inputs):
            if tensor.dtype != inputs[0].dtype:
                call.refuse(f"a tensor of {tensor.dtype} and one of {inputs[0].dtype}")
        for tensor in outputs:
            call.write(tensor)
        counts, joined = [tensor.numel() for tensor in outputs], torch.cat([call.read(tensor).view(-1) for tensor in inputs])
        received = joined.new_empty(sum(counts))
        call.copies = [(tensor, part.view(tensor.shape)) for tensor, part in zip(outputs, received.split(counts))]
        work = self._gloo.alltoall_base(received, joined, counts, [tensor.numel() for tensor in inputs], opts or dist.AllToAllOptions())
        return self._after(call, work, outputs)


def _delegate(name):
    def method(self, *arguments, **options):
        return self._by_gloo(name, *arguments, **options)
    return method


for _name in ("allgather_coalesced", "gather", "scatter", "alltoall_base", "send", "recv", "recv_anysource"):
    setattr(ProcessGroupIna, _name, _delegate(_name))


def create(rank, size, timeout_ms, root, exchange, gloo):
    return ProcessGroupIna(rank, size, Communicator(rank, size, root, exchange, timeout_ms), gloo)


def stats(group):
    values = group._communicator.stats()
    return {name: values[name] for name in _STATS}


def explain(group):
    return group._communicator.explain()


def end_all(well):
    """Each communicator closes itself when Python ends."""
