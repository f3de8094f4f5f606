# SPDX-License-Identifier: Apache-2.0
"""Many hosts around a plain switch. ctest runs slightly more than 32, in virtual time. `make scale` runs the number in INA_HOSTS,
also in real time, and reports how long they took to boot."""

import ipaddress
import os
import re

import pytest
from conftest import lines

HOSTS = int(os.environ.get("INA_HOSTS", "34"))
RING_MOST = 64  # hosts; the ring of more would take too long to simulate
MODES = ["virtual", "real"] if "INA_HOSTS" in os.environ else ["virtual"]
SIZES = [8, 65536] if HOSTS <= RING_MOST else [8]

TRIES = 20  # a second apart, because the server may not listen yet

COMMAND = f"""
    echo host $(hostname) $INA_BIND $(cat /sys/class/infiniband/rxe0/ports/1/gids/1)
    if [ $INA_RANK = 0 ]; then rping -s -a $INA_BIND -C 3 >/dev/null || exit
    elif [ $INA_RANK = {HOSTS - 1} ]; then
        try=0; until rping -c -a $INA_ROOT -C 3 >/dev/null; do sleep 1; try=$((try + 1)); [ $try -lt {TRIES} ] || exit; done
    fi
    for size in {" ".join(map(str, SIZES))}; do $INA_PERF -n 1 -w 0 -b $size -e $size || exit; done"""


@pytest.mark.parametrize("mode", MODES)
def test_hosts(lab, capsys, mode):
    """Each host has its own name, address and GID, and the last one reaches the first by RDMA. In all-reduces among all of them,
    every element of every sum is right on every host."""
    process = lab.start("--timeout", "1000", *(["--virtual-time"] if mode == "virtual" else []), n=HOSTS, command=COMMAND)
    process.out, process.err = process.communicate(timeout=1100)
    assert process.returncode == 0, process.err[-3000:]
    up = re.search(rf"^ina-lab: ({HOSTS} hosts, up after .*)$", process.err, re.M)
    with capsys.disabled():
        print(f"in {mode} time {up[1]}")
    found = [[line.split()[1:] for line in lines(process.out, host) if line.startswith("host ")] for host in range(HOSTS)]
    assert all(len(of_host) == 1 for of_host in found), found
    names, addresses, gids = zip(*(of_host[0] for of_host in found), strict=True)
    assert list(names) == [f"host{host}" for host in range(HOSTS)]
    assert len(set(addresses)) == HOSTS
    assert [ipaddress.ip_address(gid).ipv4_mapped for gid in gids] == [ipaddress.ip_address(a) for a in addresses]
    assert process.out.count(f"ina-perf: {HOSTS} ranks on rxe0") == len(SIZES)
    rows = [line.split() for line in lines(process.out, 0) if re.match(r" +\d", line)]
    assert [(int(row[0]), row[-1]) for row in rows] == [(size, "0") for size in SIZES], rows
