# SPDX-License-Identifier: Apache-2.0
"""All-reduce in the network for torch.distributed:

    import torch_ina
    torch.distributed.init_process_group("ina")

All other calls are torch's own. stats() and explain() report how all-reduces were carried out, and why.

The process group is _core, which is C++, if that was built for this Python and its torch. Otherwise, or if INA_TORCH=python is set,
it is in_python.
"""
import atexit
import importlib.util
import inspect
import os
import sys

import torch
import torch.distributed as dist

from torch_ina_hook import own_address, seen_by_others

if importlib.util.find_spec("torch_ina._core") and os.environ.get("INA_TORCH") != "python":
    from . import _core
else:
    from . import in_python as _core

__all__ = ["explain", "stats"]


def _gloo(store, rank, size, timeout, address):
    """The inner group, for calls that libina does not have. It uses the same network, unless GLOO_SOCKET_IFNAME names another."""
    gloo = dist.ProcessGroupGloo
    if os.environ.get("GLOO_SOCKET_IFNAME"):
        return gloo(store, rank, size, timeout=timeout)
    options = gloo._Options()
    options._devices = [gloo.create_device(hostname=address)]
    options._timeout = timeout
    return gloo(store, rank, size, options)


def _create(store, rank, size, timeout):
    """Creates the group. Ranks find each other by torch's store, which has an address and libina's bytes of each rank."""
    def exchange(own):
        store.set(f"ina/exchange/{rank}", own)
        return b"".join(store.get(f"ina/exchange/{other}") for other in range(size))
    address = own_address(store)
    store.set(f"ina/address/{rank}", address)
    address = seen_by_others(address, (store.get(f"ina/address/{other}").decode() for other in range(size) if other != rank))
    if rank == 0:
        store.set("ina/root", address)
    root = store.get("ina/root").decode()
    gloo = _gloo(dist.PrefixStore("ina/gloo", store), rank, size, timeout, address)
    return _core.create(rank, size, int(timeout.total_seconds() * 1000), root, exchange, gloo)


def _group(group):
    """The group that _create() made. Where torch has a backend for each kind of device, it is the one for the CPU."""
    group = dist.distributed_c10d._get_default_group() if group is None else group
    return group._get_backend(torch.device("cpu")) if hasattr(group, "_get_backend") else group


def stats(group=None):
    """Returns a dict of the group's counters since it was opened; bytes_aggregated and bytes_ring tell which algorithm was used."""
    return _core.stats(_group(group))


def explain(group=None):
    """Returns a text for people: which switches sum, or why none does."""
    return _core.explain(_group(group))


@atexit.register
def _end():
    """Closes all groups while Python still runs, and together with the other ranks, which may need data of this rank. If the
    script ends by an exception, leaves them open, so that the other ranks are notified immediately."""
    _core.end_all(not hasattr(sys, "last_type"))


# torch 1.13 does not ask for the kinds of devices.
_DEVICES = {"devices": ["cpu"]} if "devices" in inspect.signature(dist.Backend.register_backend).parameters else {}
dist.Backend.register_backend("ina", _create, **_DEVICES)
