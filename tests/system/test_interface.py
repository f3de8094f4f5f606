# SPDX-License-Identifier: Apache-2.0
"""A host's interface goes down for a second, or its MTU falls for one, in the middle of a job. The job ends well, and the next is aggregated."""
import pytest
from lab import PERF, run

CHANGES = {"down": "ip link set vec0 down; sleep 1; ip link set vec0 up",
           "mtu": "ip link set vec0 mtu 1500; sleep 1; ip link set vec0 mtu 4200"}
REAL = ([], 4000)
VIRTUAL = (["--virtual-time", "--link-rate", "20M", "--link-delay", "100us"], 200)


def job(change, hosts, calls):
    """What all hosts run: those that the pattern names change their interface after a second, while they all-reduce for more than three."""
    return ["bash", "-c", f"""
case $INA_RANK in {hosts}) (sleep 1; {change}; sleep 0.5; : >$FOLDER/changed) & ;; esac
{PERF} -b 64K -e 64K -n {calls} -c 1 --timeout 30 || exit 1
[ -e $FOLDER/changed ] || {{ echo "the job was over before the change"; exit 1; }}
wait
INA_COOKIE=second exec {PERF} -b 64K -e 64K -n 3 --algorithm ina"""]


# While packets are too long for the interface, rxe's requester tries without a pause: virtual time would stand still.
@pytest.mark.parametrize("time, change", [(REAL, "down"), (REAL, "mtu"), (VIRTUAL, "down")], ids=["real-down", "real-mtu", "virtual-down"])
@pytest.mark.parametrize("hosts", ["1", "*"], ids=["one", "all"])
def test_an_interface_changes_for_a_second(tmp_path, monkeypatch, change, hosts, time):
    options, calls = time
    monkeypatch.setenv("FOLDER", str(tmp_path))
    result = run(tmp_path, 3, ["--aggregator", "model", *options], job(CHANGES[change], hosts, calls), timeout_s=200)
    assert result.code == 0, result
    assert [line.split()[5] for line in result.out.splitlines() if line.split()[1:2] == ["65536"]][-1] == "ina", result
