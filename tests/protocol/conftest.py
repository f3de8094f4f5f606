# SPDX-License-Identifier: Apache-2.0
"""Every test runs with each aggregator of ina-bridge, or with those in INA_AGGREGATORS, separated by commas."""
import os
import socket

import pytest

from bridge import Bridge
from flows import wake

KINDS = os.environ.get("INA_AGGREGATORS", "model,rtl").split(",")


@pytest.fixture(params=KINDS)
def start(request, tmp_path):
    """start(ports, option...): a bridge that knows where all hosts are, after its quiet time."""
    bridges = []

    def start_one(ports, *options):
        folder = tmp_path / str(len(bridges))
        folder.mkdir()
        bridge = Bridge(folder, ports, ["--aggregator", request.param, *options], socket.SOCK_SEQPACKET)
        bridges.append(bridge)
        wake(bridge)
        return bridge

    yield start_one
    for bridge in bridges:
        bridge.close()


@pytest.fixture
def two(start):
    """A bridge of two ports."""
    return start(2)
