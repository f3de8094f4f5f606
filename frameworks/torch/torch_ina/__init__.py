# SPDX-License-Identifier: Apache-2.0
"""All-reduce in the network for torch.distributed:

    import torch_ina
    torch.distributed.init_process_group("ina")

The rest is torch's own. stats() and explain() say how the all-reduces went, and why so.
"""
import atexit
import os
import socket
import sys
import uuid

import torch.distributed as dist

from . import _core

__all__ = ["explain", "stats"]

# Where torch says who is the master: any address of that network finds the way to it.
_DISCARD_PORT = 9


def _own_address():
    """The address by which other hosts reach this one: that of the way to the master, if nobody says."""
    if os.environ.get("INA_BIND"):
        return os.environ["INA_BIND"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect((os.environ.get("MASTER_ADDR") or socket.gethostname(), _DISCARD_PORT))
        except OSError as error:
            raise RuntimeError(f"torch_ina: no way to MASTER_ADDR={os.environ.get('MASTER_ADDR')}: {error}; "
                               "set INA_BIND to this host's address") from error
        return way.getsockname()[0]


def _gloo(store, rank, size, timeout, address):
    """The inner group, for what libina does not do; on the same network, unless GLOO_SOCKET_IFNAME names another."""
    gloo = dist.ProcessGroupGloo
    if os.environ.get("GLOO_SOCKET_IFNAME"):
        return gloo(store, rank, size, timeout=timeout)
    options = gloo._Options()
    options._devices = [gloo.create_device(hostname=address)]
    options._timeout = timeout
    return gloo(store, rank, size, options)


def _create(store, rank, size, timeout):
    """Ranks find each other by torch's store: rank 0 puts its address there, and what tells this group from others."""
    address = _own_address()
    if rank == 0:
        store.set("ina/root", address)
        store.set("ina/cookie", uuid.uuid4().hex)
    root, cookie = store.get("ina/root").decode(), store.get("ina/cookie").decode()
    gloo = _gloo(dist.PrefixStore("ina/gloo", store), rank, size, timeout, address)
    return _core.create(rank, size, int(timeout.total_seconds() * 1000), root, cookie, gloo)


def _group(group):
    return dist.distributed_c10d._get_default_group() if group is None else group


def stats(group=None):
    """What has happened on the group so far: a dict; bytes_aggregated and bytes_ring say which way they went."""
    return _core.stats(_group(group))


def explain(group=None):
    """For people: which switches sum what, or why none does."""
    return _core.explain(_group(group))


@atexit.register
def _end():
    """Groups are closed while Python is there, and in step with the other ranks, which may need what this rank has. One that ends
    by an exception is gone at once: the others are to hear of it."""
    _core.end_all(not hasattr(sys, "last_type"))


dist.Backend.register_backend("ina", _create)
