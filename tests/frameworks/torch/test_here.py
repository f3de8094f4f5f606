# SPDX-License-Identifier: Apache-2.0
"""PyTorch on this machine alone: two ranks that share memory need no RDMA device, no switch and no hosts of a lab."""
import os
import socket
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BUILD = Path(os.environ["INA_PERF"]).resolve().parent


def first_free_port():
    """Of three in a row: torch's store takes the first and libina the next one; a second group, the last two."""
    for port in range(29500, 29600, 3):
        try:
            for used in range(port, port + 3):
                socket.create_server(("127.0.0.1", used)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no free ports")


@pytest.mark.parametrize("script", ["check_collectives.py", "check_semantics.py"])
@pytest.mark.parametrize("way", ["", "python"])
def test_two_ranks(way, script, tmp_path):
    if not way and not list((BUILD / "frameworks/torch/torch_ina").glob("_core*.so")):
        pytest.skip("torch_ina was built in Python alone")
    environment = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(first_free_port()), "INA_TORCH": way,
                   "PYTHONPATH": str(BUILD / "frameworks/torch"), "GLOO_SOCKET_IFNAME": "lo", "PYTHONDONTWRITEBYTECODE": "1"}
    ranks = [subprocess.Popen(["/usr/bin/python3", HERE / script, tmp_path], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**environment, "RANK": str(rank)}) for rank in range(2)]
    try:
        for rank in ranks:
            out = rank.communicate(timeout=900)[0]
            assert rank.returncode == 0 and "all right" in out, out
    finally:
        for rank in ranks:
            rank.kill()
