# SPDX-License-Identifier: Apache-2.0
"""Bridges for tests; like the frames, they come from tests/protocol."""
import os
import pathlib
import random
import socket
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "protocol"))
from bridge import Bridge  # noqa: E402


@pytest.fixture
def start(tmp_path):
    bridges = []

    def start_one(ports, *arguments, kind=socket.SOCK_SEQPACKET):
        if "--aggregator" not in arguments:
            arguments += ("--aggregator", "model")
        if "--quiet" not in arguments:  # so that hosts may JOIN immediately
            arguments += ("--quiet", "0")
        folder = tmp_path / str(len(bridges))
        folder.mkdir()
        bridges.append(Bridge(folder, ports, arguments, kind))
        return bridges[-1]

    yield start_one
    for bridge in bridges:
        bridge.close()


@pytest.fixture
def rng():
    seed = int(os.environ.get("INA_SEED", "1"), 0)
    print(f"INA_SEED={seed}")
    return random.Random(seed)
