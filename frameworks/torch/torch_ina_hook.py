# SPDX-License-Identifier: Apache-2.0
"""All-reduce in the network for DistributedDataParallel, as a communication hook, for any PyTorch and any backend of the group.

    state = torch_ina_hook.State()
    model.register_comm_hook(state, torch_ina_hook.all_reduce)

It is written in Python alone and calls libina by ctypes. The process group is used only to open: all ranks gather their addresses
and what libina must know of each. After that libina all-reduces the gradients, and the group's own backend does the rest. Gradients must be on the CPU.

The backend in Python (torch_ina/in_python.py) uses the same Communicator.
"""
import atexit
import ctypes
import errno
import os
import queue
import socket
import sys
import threading
import traceback
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

import torch
import torch.distributed as dist

__all__ = ["State", "all_reduce"]

# Values of enum ina_type, ina_op and ina_algorithm.
TYPES = {torch.float32: 2, torch.bfloat16: 3, torch.float16: 4, torch.float64: 5}
SUM = 1
ALGORITHMS = {1: "ina", 2: "ring"}
ERROR_BYTES = 512
CLOSE_PATIENCE_S = 10
_patience_s = CLOSE_PATIENCE_S  # the rest of it, for all states of the process together
PEER_TIMEOUT_MS = 30000  # a host short of processors or memory may not answer for seconds; the end of a process is reported immediately
_DISCARD_PORT = 9  # nothing is sent to it: any port serves to find the route to a host


EXCHANGE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_size_t)


class Options(ctypes.Structure):
    """struct ina_options of ina.h, as far as this file knows it; struct_size tells the library how far that is."""
    _fields_ = [("struct_size", c_size_t), ("rank", c_int), ("ranks", c_int), ("root", c_char_p), ("bind", c_char_p), ("device", c_char_p),
                ("algorithm", c_int), ("schedule", c_int), ("window", c_uint), ("message_bytes", c_uint), ("poll_count", c_uint),
                ("ack_timeout", c_uint), ("fixed_point", c_int), ("open_timeout_ms", c_int),
                ("join_timeout_ms", c_int), ("timeout_ms", c_int), ("peer_timeout_ms", c_int), ("log", c_void_p), ("log_context", c_void_p),
                ("cookie", c_char_p), ("progress_thread", c_int), ("congestion_control", c_int), ("channels", c_int), ("exchange", EXCHANGE),
                ("exchange_context", c_void_p)]


class Stats(ctypes.Structure):
    """struct ina_stats."""
    _fields_ = [("algorithm", c_int), ("path_mtu", c_uint), ("message_bytes", c_uint), ("window", c_uint), ("device", c_char * 64),
                *((name, c_uint64) for name in ("calls", "messages_aggregated", "messages_ring", "bytes_aggregated", "bytes_ring", "overflows",
                                                "registrations", "messages_retried", "fallbacks", "rejoins")),
                ("machines", c_uint), ("local_ranks", c_uint), ("rails", c_uint),
                *((name, c_uint64) for name in ("unknown_peers", "blocks_fixed", "blocks_float", "calls_aggregated", "calls_ring", "calls_doubling",
                                                "bytes_doubling", "calls_unasked", "calls_unfit", "calls_halved", "calls_without",
                                                "messages_congested")),
                ("channels", c_uint), ("channel_weights", c_uint * 8), ("channel_tops", c_uint64 * 8), ("channel_bytes", c_uint64 * 8),
                ("yields", c_uint64)]


def load():
    """Loads libina from the wheel, from the build folder or prefix that contains this file, or from the system."""
    here = Path(__file__).resolve().parent
    names = [str(folder / "libina.so.0") for folder in (here / "torch_ina", here.parents[1])]
    try:
        library = ctypes.CDLL(next(filter(os.path.exists, names), "libina.so.0"))
    except OSError as error:
        raise RuntimeError(f"torch_ina_hook: {error}; {' and '.join(names)} do not exist either: run make install, then ldconfig") from error
    library.ina_options_init_size.argtypes = [POINTER(Options), c_size_t]
    library.ina_open.argtypes = [POINTER(Options), POINTER(c_void_p), c_char_p, c_size_t]
    for call, more in (("allreduce", 2), ("reduce_scatter", 2), ("all_gather", 1), ("broadcast", 2), ("reduce", 3)):  # type, op, root
        getattr(library, f"ina_{call}_start").argtypes = [c_void_p, c_void_p, c_void_p, c_size_t, *[c_int] * more, POINTER(c_void_p)]
    library.ina_barrier_start.argtypes = [c_void_p, POINTER(c_void_p)]
    library.ina_comm_stats.argtypes = [c_void_p, POINTER(Stats), c_size_t]
    library.ina_comm_explain.argtypes = [c_void_p, c_char_p, c_size_t]
    for call in (library.ina_wait, library.ina_close, library.ina_error):
        call.argtypes = [c_void_p]
    library.ina_error.restype = library.ina_status_name.restype = library.ina_type_name.restype = c_char_p
    return library


def _way_to(host):
    """Returns this host's address on the route to another host."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect((host, _DISCARD_PORT))
        except OSError as error:
            raise RuntimeError(f"ina: no route to {host}: {error}; set INA_BIND to this host's address") from error
        return way.getsockname()[0]


def own_address(store):
    """Returns the address by which other ranks may reach this host: INA_BIND, or the address on the route to torch's store."""
    while isinstance(store, dist.PrefixStore):
        store = store.underlying_store
    return os.environ.get("INA_BIND") or _way_to(getattr(store, "host", None) or os.environ.get("MASTER_ADDR") or socket.gethostname())


def seen_by_others(address, others):
    """Replaces a loopback address. Debian's hosts have a name that is 127.0.1.1, so this uses the route to a rank with another address."""
    if address.startswith("127."):
        return next((_way_to(other) for other in others if not other.startswith("127.")), address)
    return address


def _set_patience(seconds):
    global _patience_s
    _patience_s = seconds


class Communicator:
    """A communicator of libina. RuntimeError describes a failure and names the rank at fault. Opening is collective, like close()."""
    NAME = "torch_ina"  # in errors

    def __init__(self, rank, ranks, root, exchange, timeout_ms):
        """root: the address of rank 0; the way to it selects the device. exchange: an all-gather, from this rank's bytes to those of all."""
        self.ranks = ranks
        self.library, self._communicator, options, why = load(), c_void_p(), Options(), ctypes.create_string_buffer(ERROR_BYTES)
        self.library.ina_options_init_size(byref(options), ctypes.sizeof(options))
        options.rank, options.ranks, options.root = rank, ranks, root.encode()

        def all_gather(context, send, recv, size):
            try:
                ctypes.memmove(recv, exchange(ctypes.string_at(send, size)), size * ranks)
                return 0
            except Exception:  # libina is between this frame and the caller
                traceback.print_exc()
                return errno.ECANCELED
        options.exchange = EXCHANGE(all_gather)
        options.timeout_ms = options.open_timeout_ms = timeout_ms
        options.peer_timeout_ms = PEER_TIMEOUT_MS
        options.progress_thread = 1
        status = self.library.ina_open(byref(options), byref(self._communicator), why, ERROR_BYTES)
        if status:
            raise self._error("open", status, why.value)
        _set_patience(CLOSE_PATIENCE_S)  # all ranks were alive at this moment
        # Held during all calls except ina_wait() and ina_close(), so that calls are queued in the order of their start and the text
        # of an error stays valid until it is read.
        self._lock, self._started, self._closed = threading.Lock(), queue.SimpleQueue(), False
        self._thread = threading.Thread(target=self._wait, name=self.NAME, daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def _error(self, what, status, why):
        return RuntimeError(f"{self.NAME}: {what}: {why.decode()} ({self.library.ina_status_name(status).decode()})")

    def _check_open(self):
        if self._closed:
            raise RuntimeError(f"{self.NAME}: it has been closed")

    def submit(self, what, call, arguments, done):
        """Calls ina_<call>_start(). A thread calls done() with None or an error when the call has finished, in the order of the calls."""
        request = c_void_p()
        with self._lock:
            self._check_open()
            status = getattr(self.library, f"ina_{call}_start")(self._communicator, *arguments, byref(request))
            if status:
                raise self._error(what, status, self.library.ina_error(self._communicator))
            self._started.put((request, what, done))

    def _wait(self):
        """Runs in a thread: finishes the started calls in order."""
        while (started := self._started.get()) is not None:
            request, what, done = started
            status = self.library.ina_wait(request)
            with self._lock:
                error = self._error(what, status, self.library.ina_error(self._communicator)) if status else None
            done(error)
            del started, done  # and the tensors that they hold
        self.library.ina_close(self._communicator)

    def stats(self):
        """Returns counters since the communicator was opened: docs/pytorch.md."""
        stats = Stats()
        with self._lock:
            self._check_open()
            self.library.ina_comm_stats(self._communicator, byref(stats), ctypes.sizeof(stats))
        values = {name: getattr(stats, name) for name, _ in Stats._fields_}
        channels = {name: list(value) for name, value in values.items() if isinstance(value, ctypes.Array)}
        return {**values, **channels, "algorithm": ALGORITHMS[stats.algorithm], "device": stats.device.decode()}

    def explain(self):
        """Returns a text for people: which switches sum, or why none does."""
        with self._lock:
            self._check_open()
            size = self.library.ina_comm_explain(self._communicator, None, 0) + 1
            text = ctypes.create_string_buffer(size)
            self.library.ina_comm_explain(self._communicator, text, size)
        return text.value.decode()

    def close(self):
        """Finishes all started calls, then closes the communicator. Waits at most 10 s for ranks that do not close theirs; all
        communicators of the process share this time, which starts anew whenever one is opened."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        atexit.unregister(self._end)
        self._started.put(None)
        patience_s = _patience_s
        self._thread.join(patience_s)
        if self._thread.is_alive():
            _set_patience(max(_patience_s - patience_s, 0))

    def _end(self):
        """If a script ends by an exception, leaves the communicator open, so that the other ranks are notified immediately."""
        if not hasattr(sys, "last_type"):
            self.close()


class State(Communicator):
    """A communicator of the group's ranks (by default those of the default group), for the hook.

    timeout_s applies to each all-reduce, and to the wait for all ranks.
    """
    NAME = "torch_ina_hook"

    def __init__(self, group=None, timeout_s=1800):
        rank, ranks = dist.get_rank(group), dist.get_world_size(group)

        def gather(own):
            everybody = [None] * ranks
            dist.all_gather_object(everybody, own, group=group)
            return everybody
        addresses = gather(own_address(dist.distributed_c10d._get_default_store()))
        root = gather(seen_by_others(addresses[rank], addresses))[0]
        super().__init__(rank, ranks, root, lambda own: b"".join(gather(own)), int(timeout_s * 1000))

    def start(self, tensor):
        """Starts averaging the tensors of all ranks, in place. Returns a future. All ranks start the same ones in the same order."""
        what = f"all_reduce of {tensor.numel()} {tensor.dtype}"
        if tensor.dtype not in TYPES or tensor.device.type != "cpu" or tensor.layout != torch.strided or not tensor.is_contiguous() or tensor.is_neg():
            raise TypeError(f"{self.NAME}: {what}, {tensor.layout} on {tensor.device}: "
                            f"it takes dense, contiguous tensors on the CPU, of {', '.join(map(str, TYPES))}")
        future = torch.futures.Future()
        # As in DDP's own hook, the division comes first, so that float16 does not overflow.
        memory = tensor.div_(self.ranks).data_ptr()
        self.submit(what, "allreduce", (memory, memory, tensor.numel(), TYPES[tensor.dtype], SUM), lambda error: future.set_result(error or tensor))
        return future.then(value_of)


def value_of(future):
    """Raises an error in the future on which DDP waits: DDP would not see a Python exception that is a future's value."""
    value = future.value()
    if isinstance(value, Exception):
        raise value
    return value


def all_reduce(state: State, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """The hook: averages the bucket's gradients over all ranks."""
    return state.start(bucket.buffer())
