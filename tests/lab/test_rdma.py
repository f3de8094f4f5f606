# SPDX-License-Identifier: Apache-2.0
"""Debian's own RDMA programs run on the hosts unchanged."""

import json

import pytest
from conftest import lines

# Rank 1 calls when rank 0 listens: at a TCP port, or for RDMA connections. Hosts share the folder.
LISTENS = "grep -q ' 0A ' /proc/net/tcp /proc/net/tcp6 || rdma resource show cm_id | grep -q LISTEN"
AFTER_ROOT = f"""
    if [ $INA_RANK = 0 ]; then
        (until {LISTENS}; do sleep 0.1; done; : >listens) &
        exec %s
    fi
    until [ -e listens ]; do sleep 0.1; done
    exec %s"""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(monkeypatch, tmp_path_factory):
    monkeypatch.chdir(tmp_path_factory.mktemp("shared"))


def test_rc_pingpong_and_the_counters(lab, tmp_path_factory):
    stats = tmp_path_factory.mktemp("stats") / "s.json"
    run = lab.run("--stats", str(stats), command=AFTER_ROOT % (
        "ibv_rc_pingpong -g 1 -n 100 -s 65536", "ibv_rc_pingpong -g 1 -n 100 -s 65536 $INA_ROOT"))
    assert run.returncode == 0, run.err
    for r in range(2):
        assert any("100 iters" in line for line in lines(run.out, r))
    ports = json.loads(stats.read_text())["ports"]
    for port in ports:
        # 100 messages of 64 KiB each way need at least this many bytes
        assert port["rx_bytes"] > 100 * 65536 and port["tx_bytes"] > 100 * 65536


def test_rping(lab):
    run = lab.run(command=AFTER_ROOT % ("rping -s -a $INA_BIND -C 5 -v",
                                        "rping -c -a $INA_ROOT -C 5 -v"))
    assert run.returncode == 0, run.err
    assert sum("ping data: rdma-ping-" in line for line in lines(run.out, 1)) == 5


def test_send_bw(lab):
    run = lab.run(command=AFTER_ROOT % ("ib_send_bw -F -n 100", "ib_send_bw -F -n 100 $INA_ROOT"))
    assert run.returncode == 0, run.err
    # The last row of the output; its speed depends on the machine's processor clock, and may be 0.
    assert any(line.split()[:2] == ["65536", "100"] for line in lines(run.out, 1))


def test_loss_is_repaired(lab):
    run = lab.run("--loss-up", "0.01", "--loss-down", "0.01", "--seed", "7", command=AFTER_ROOT % (
        "ibv_rc_pingpong -c -g 1 -n 100", "ibv_rc_pingpong -c -g 1 -n 100 $INA_ROOT"))
    assert run.returncode == 0, run.err
    assert "ina-lab: injected faults:" in run.err


def test_an_interface_comes_back(lab):
    """In real time too: the interface is down for a second, and has a smaller MTU for a while."""
    flap = "ip link set vec0 down; sleep 1; ip link set vec0 up; ip link set vec0 mtu 1500; sleep 0.2; ip link set vec0 mtu 4200; sleep 1"
    run = lab.run(command=AFTER_ROOT % (
        "ibv_rc_pingpong -g 1 -m 4096 -n 100 -s 65536", f"sh -ec '{flap}; exec ibv_rc_pingpong -g 1 -m 4096 -n 100 -s 65536 $INA_ROOT'"))
    assert run.returncode == 0, run.err
    assert any("100 iters" in line for line in lines(run.out, 1))
