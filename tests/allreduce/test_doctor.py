# SPDX-License-Identifier: Apache-2.0
"""ina-perf --doctor on hosts that lack something: the right line reports it, with the remedy, and no other line does.

In virtual time, where it costs nothing to wait for a rank that does not come.
"""
import os
import re
import subprocess

import pytest

PERF = os.environ["INA_PERF"]
LAB = os.environ["INA_LAB"]
LOCAL = ["device", "GID", "MTU", "memlock"]
ALL = LOCAL + ["neighbours", "aggregator"]


def doctor(hosts, aggregator, *arguments, before="", options=()):
    """The exit code, and the lines of each rank: {subject: (finding, text)}. `before`: a shell command that runs on every host
    first."""
    result = subprocess.run(
        [LAB, "run", "-q", "-n", str(hosts), "--aggregator", aggregator, "--virtual-time", "--grace", "30", "--timeout", "60",
         *options, "--", "sh", "-c", f'{before} exec $prefix "$0" --doctor "$@"', PERF, *arguments],
        capture_output=True, text=True, timeout=90)
    ranks = [{} for _ in range(hosts)]
    for line in result.stdout.splitlines():
        rank, finding, what, text = re.fullmatch(r"\[(\d+)\] (ok|skip|warn|FAIL) +(\S+) +(.*)", line).groups()
        assert what not in ranks[int(rank)], f"two lines about {what}"
        ranks[int(rank)][what] = (finding, text)
    return result.returncode, ranks


def findings(lines):
    return {what: finding for what, (finding, _) in lines.items()}


def on_rank_1(command):
    return f"if [ $INA_RANK = 1 ]; then {command}; fi;"


def test_all_is_well():
    code, ranks = doctor(3, "model")
    assert code == 0
    for rank, lines in enumerate(ranks):
        assert list(lines) == ALL and set(findings(lines).values()) == {"ok"}, lines
        assert f"192.0.2.{rank + 1} on vec0" in lines["GID"][1]
        assert f"rank {rank} of 3: to rank {(rank + 1) % 3} and from rank {(rank + 2) % 3}" in lines["neighbours"][1]


def test_no_aggregator():
    code, ranks = doctor(2, "off")
    assert code == 1
    for lines in ranks:
        assert findings(lines) == {**dict.fromkeys(ALL, "ok"), "aggregator": "FAIL"}
        assert "INA_ERR_AGGREGATOR" in lines["aggregator"][1] and "remedy: turn aggregation on" in lines["aggregator"][1]


def test_no_aggregator_wanted():
    code, ranks = doctor(2, "off", "--algorithm", "ring")
    assert code == 0
    assert all(findings(lines) == {**dict.fromkeys(ALL, "ok"), "aggregator": "skip"} for lines in ranks)


def test_no_device():
    code, ranks = doctor(2, "model", before=on_rank_1("rdma link delete rxe0"))
    assert code == 1
    assert findings(ranks[1]) == {"device": "FAIL", "neighbours": "FAIL", "aggregator": "skip"}
    assert "remedy: load the card's driver" in ranks[1]["device"][1] and "rdma link add rxe0" in ranks[1]["device"][1]
    assert findings(ranks[0]) == {**dict.fromkeys(LOCAL, "ok"), "neighbours": "FAIL", "aggregator": "skip"}
    assert "rank 1: this host has no RDMA device" in ranks[0]["neighbours"][1]


def test_link_is_down():
    code, ranks = doctor(2, "model", before=on_rank_1("ip link set vec0 down"))
    assert code == 1
    assert ranks[1]["device"][0] == "FAIL" and "ip link set vec0 up" in ranks[1]["device"][1], ranks[1]


def test_no_address():
    code, ranks = doctor(2, "model", before=on_rank_1("ip address flush dev vec0; unset INA_BIND"))
    assert code == 1
    assert ranks[1]["GID"][0] == "FAIL" and "remedy: ip address add" in ranks[1]["GID"][1]
    assert "MTU" not in ranks[1] and findings(ranks[0])["GID"] == "ok"


def test_another_address():
    code, ranks = doctor(2, "model", before=on_rank_1("export INA_BIND=192.0.2.99"))
    assert code == 1
    assert ranks[1]["GID"][0] == "FAIL" and "192.0.2.99 -- remedy: set INA_BIND" in ranks[1]["GID"][1]


@pytest.mark.parametrize("setting, device, gid", [
    ("INA_BIND=192.0.2.2", ("ok", "rxe0:1, whose port is active; not rxe1:1, which has no IPv4 address"), ("ok", "192.0.2.2 on vec0")),
    ("INA_HCA=^rxe1", ("ok", "rxe0:1, whose port is active; not rxe1:1, which INA_HCA excludes"), ("ok", "192.0.2.2 on vec0")),
    ("INA_HCA=rxe1", ("ok", "rxe1:1, whose port is active; not rxe0:1, which INA_HCA excludes"), ("FAIL", "remedy: ip address add")),
    ("INA_HCA==rxe", ("FAIL", 'INA_HCA is "=rxe", and allows no device of this host; these are rxe0:1 can be used, rxe1:1 has no IPv4 '
                      "address -- remedy: set INA_HCA"), None)])
def test_two_devices(setting, device, gid):
    """Other hosts cannot be reached from a loopback address, so rxe1 has no address that fits."""
    code, ranks = doctor(2, "model", before=on_rank_1(f"rdma link add rxe1 type rxe netdev lo; unset INA_BIND; export {setting}"))
    fine = gid and gid[0] == "ok"
    assert code == (0 if fine else 1)
    lines = ranks[1]
    assert lines["device"][0] == device[0] and lines["device"][1].startswith(device[1]), lines
    assert lines["GID"][0] == gid[0] and gid[1] in lines["GID"][1] if gid else "GID" not in lines, lines
    assert lines["neighbours"][0] == ("ok" if fine else "FAIL"), lines


def test_mtus_that_differ():
    code, ranks = doctor(2, "model", before=on_rank_1("ip link set vec0 mtu 1500"))
    assert code == 0
    assert ranks[1]["MTU"] == ("ok", "packets of 1024 bytes, because vec0 has MTU 1500; for 4096: ip link set vec0 mtu 4200, on "
                                     "all hosts and switches")
    for lines in ranks:
        assert lines["neighbours"][0] == "ok" and lines["neighbours"][1].endswith("path MTU 1024")


def test_small_packets():
    code, ranks = doctor(2, "model", options=["--mtu", "256"])
    assert code == 0
    assert all(findings(lines) == {**dict.fromkeys(ALL, "ok"), "MTU": "warn"} for lines in ranks)


def test_locked_memory():
    """Root has no limit on locked memory, unless it lacks CAP_IPC_LOCK."""
    code, ranks = doctor(2, "model", before="ulimit -l 64; prefix='setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock';")
    assert code == 1
    for lines in ranks:
        assert lines["memlock"][0] == "FAIL" and "limit on locked memory is 64 KiB -- remedy: ulimit -l" in lines["memlock"][1]
        assert "INA_ERR_MEMORY" in lines["neighbours"][1]


def test_ranks_that_are_not_known():
    code, ranks = doctor(2, "model", before="unset INA_RANKS;")
    assert code == 1
    for lines in ranks:
        assert findings(lines) == {**dict.fromkeys(LOCAL, "ok"), "neighbours": "FAIL", "aggregator": "skip"}
        assert "INA_RANKS" in lines["neighbours"][1]


def test_too_little_locked_memory_alone_is_enough_to_fail():
    """Enough for the library's own messages and for the doctor's all-reduce, but not for users' buffers."""
    code, ranks = doctor(2, "model", before="ulimit -l 8192; prefix='setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock';")
    assert code == 1
    assert all(findings(lines) == {**dict.fromkeys(ALL, "ok"), "memlock": "FAIL"} for lines in ranks), ranks


def test_a_neighbour_that_is_not_reached():
    """Both reach rank 0, but not each other: as with a firewall, or with a switch that isolates ports."""
    code, ranks = doctor(3, "model", before=on_rank_1("ip neigh replace 192.0.2.3 lladdr 02:00:00:00:00:99 dev vec0 nud permanent"))
    assert code == 1
    for lines in ranks:
        assert findings(lines) == {**dict.fromkeys(LOCAL, "ok"), "neighbours": "FAIL", "aggregator": "skip"}
        assert "rank 1 could not be reached at TCP port" in lines["neighbours"][1], lines
        assert "let firewalls pass" in lines["neighbours"][1]


def test_no_room_at_the_aggregator():
    """A job that waits for a late rank has the bridge's only context."""
    held = 'INA_ROOT=192.0.2.1:19001 "$0" -b 4 -e 4 -n 1 --late 1:50 >/dev/null 2>&1 & sleep 5;'
    code, ranks = doctor(2, "model", before=held, options=("--jobs", "1"))
    assert code == 1
    for lines in ranks:
        assert findings(lines) == {**dict.fromkeys(ALL, "ok"), "aggregator": "FAIL"}, lines
        assert "wait until it has room for another job" in lines["aggregator"][1]
