# SPDX-License-Identifier: Apache-2.0
"""The largest number of hosts: their orders, and the machine's resources that they use. A script stands in for their kernel."""

import ipaddress
import os
import re
import signal
import subprocess

import pytest
from conftest import LAB, wait_until

MOST = 256

# The arguments that a script in the kernel's place finds.
KERNEL = """#!/bin/sh
for argument; do case $argument in ina_dir=*) ina_dir=${argument#*=};; ina_rank=*) ina_rank=${argument#*=};; esac; done
"""


@pytest.fixture
def kernel(lab, tmp_path_factory):
    """kernel(script): the commands that each host runs in place of booting."""
    path = tmp_path_factory.mktemp("kernel") / "linux"

    def install(script):
        path.write_text(KERNEL + script + "\n")
        path.chmod(0o755)
        lab.environment["INA_KERNEL"] = str(path)
        return path.parent
    return install


def environment_of(text):
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


@pytest.mark.parametrize("switches, bridges_own", [([], 0), (["--virtual-time"], 1)])
def test_orders_of_all_hosts(lab, kernel, switches, bridges_own):
    """Each has its own address and MAC, and knows those of all others."""
    folder = kernel('cd "$ina_dir" && cp network.$ina_rank environment.$ina_rank.0 "$(dirname "$0")" && exec sleep 60')
    process = lab.start("--quiet", *switches, n=MOST, command="true")
    # A host's environment is copied last.
    wait_until(lambda: len(list(folder.glob("environment.*.0"))) == MOST, 50, "all hosts' orders")
    process.terminate()
    process.communicate(timeout=60)
    addresses, macs, known = [], [], []
    for host in range(MOST):
        text = (folder / f"network.{host}").read_text()
        (own,) = re.findall(r"^address add (\S+) dev vec0$", text, re.M)
        macs += re.findall(r"^link set vec0 address (\S+) ", text, re.M)
        addresses.append(ipaddress.ip_interface(own))
        known.append(dict(re.findall(r"^neighbour replace (\S+) lladdr (\S+) dev vec0 nud permanent$", text, re.M)))
        environment = environment_of((folder / f"environment.{host}.0").read_text())
        assert environment["INA_BIND"] == str(addresses[host].ip)
        assert environment["INA_ROOT"] == str(addresses[0].ip)
        assert (environment["INA_RANK"], environment["INA_RANKS"]) == (str(host), str(MOST))
    assert len({address.network for address in addresses}) == 1
    hosts = {str(address.ip): mac for address, mac in zip(addresses, macs, strict=True)}
    assert len(hosts) == len(set(hosts.values())) == MOST
    assert not {addresses[0].network.network_address, addresses[0].network.broadcast_address} & {a.ip for a in addresses}
    assert all(int(mac[:2], 16) & 1 == 0 for mac in macs)
    for host, others in enumerate(known):
        own = str(addresses[host].ip)
        assert {own: hosts[own], **{peer: mac for peer, mac in others.items() if peer in hosts}} == hosts
        bridges = {peer: mac for peer, mac in others.items() if peer not in hosts}
        assert len(bridges) == bridges_own and not set(bridges.values()) & set(hosts.values())


def with_limit(limit, *arguments, **environment):
    return subprocess.run(["bash", "-c", f'ulimit {limit}; exec "$0" "$@"', LAB, "run", *arguments], capture_output=True,
                          text=True, timeout=60, env=dict(os.environ, **environment))


def test_a_soft_limit_of_open_files_is_raised(lab, kernel):
    """All hosts start; then each "kernel" ends."""
    kernel("exit 7")
    run = with_limit("-Sn 100", "-q", "-n", "100", "--aggregator", "off", "--", "true", **lab.environment)
    assert run.returncode == 125 and "did not come up (exit code 7)" in run.stderr, run.stderr
    assert "open files" not in run.stderr


def test_a_hard_limit_of_open_files_is_said(lab):
    run = with_limit("-n 100", "-q", "-n", "100", "--aggregator", "off", "--", "true", **lab.environment)
    assert run.returncode == 125 and len(run.stderr.splitlines()) == 1
    assert re.fullmatch(r"ina-lab: 100 hosts need \d+ open files, but the hard limit is 100: .*\n", run.stderr)


def test_memory_is_said_before(lab, kernel):
    kernel("exit 7")
    run = lab.run("--memory", "100", n=3, command="true")
    assert re.match(r"ina-lab: hosts of 100 MiB: up to 0\.\d GiB of \d+\.\d GiB in /\S+\n", run.err), run.err


def test_too_little_memory_is_said(lab):
    run = lab.run("--memory", "65536", n=MOST, command="true")
    assert run.returncode == 125 and len(run.err.splitlines()) == 1
    assert re.match(r"ina-lab: 256 hosts of 65536 MiB need \d+ MiB, but only \d+ MiB are free: ", run.err)


@pytest.mark.parametrize("aggregator", ["rtl", "model"])
def test_an_aggregator_has_fewer_ports(lab, kernel, aggregator):
    kernel("exec sleep 60")
    run = lab.run(n=MOST, aggregator=aggregator, command="true")
    assert run.returncode == 2
    assert re.fullmatch(r"ina-lab run: the (RTL|model) .* ports at most, not 256: use --aggregator \w+\n", run.err), run.err


def test_nothing_of_many_hosts_stays_behind(lab, kernel):
    """The guard ends them if ina-lab no longer can."""
    # The kernel itself dies with ina-lab, like each of its children. The arguments say to which run a process belongs.
    kernel('sh -c "sleep 300; exit" "$ina_dir" & wait; exit')
    process = lab.start("-q", n=150, command="true")
    wait_until(lambda: len([p for p, line in lab.leftovers()[0].items() if "ina_rank=149" in line]), 50, "the last host")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
