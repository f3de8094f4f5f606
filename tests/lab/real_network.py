# SPDX-License-Identifier: Apache-2.0
"""docs/real-network.md: its blocks of commands, as they stand, on QEMU machines with a whole Debian.

All processes are in namespaces whose first process ends with this one, so nothing is left of them.
"""
import os
import pty
import re
import select
import subprocess
import time
import tty
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BLOCKS = dict(re.findall(r"^```sh (\S+)\n(.*?)^```$", (SOURCE / "docs/real-network.md").read_text(), re.M | re.S))
HOSTS = range(2)
pytestmark = [pytest.mark.skipif(not os.environ.get("INA_QEMU_KERNELS"), reason="INA_QEMU_KERNELS names no kernels"),
              pytest.mark.skipif(os.getuid() != 0, reason="only root can make the machines of docs/real-network.md")]


def block(name, host=0, **values):
    """A block, with the values that the page says for the second host and for tunnels."""
    text = BLOCKS[name]
    for variable, value in {"host": host, **values}.items():
        text = re.sub(rf"^((?:.* )?{variable})=(?:\w+|\"[^\"]*\")", rf"\1={value}", text, count=1, flags=re.M)
    return text


class Terminal:
    """A terminal with a command in the namespaces of a place."""

    def __init__(self, place, name, command):
        self.name, self.unread, self.inputs = name, "", 0
        self.fd, end = pty.openpty()
        tty.setraw(end)
        subprocess.Popen([*place.enter, "setsid", "--ctty", "bash", "-c", command], stdin=end, stdout=end, stderr=end,
                         env={**os.environ, "PATH": f"{SOURCE}/build/stage/usr/bin:{os.environ['PATH']}"})
        os.close(end)

    def read_until(self, pattern, patience_s):
        end = time.monotonic() + patience_s
        while not (found := re.search(pattern, self.unread)):
            if not select.select([self.fd], [], [], max(end - time.monotonic(), 0))[0]:
                raise TimeoutError(f"{self.name}: no {pattern} in {patience_s} s after {self.unread[-3000:]}")
            self.unread += os.read(self.fd, 65536).decode(errors="replace").replace("\r", "")
        text, self.unread = self.unread[:found.start()], self.unread[found.end():]
        return text

    def type(self, text):
        self.inputs += 1
        for line in [*text.splitlines(), f"echo done-{self.inputs}"]:
            os.write(self.fd, f"{line}\n".encode())

    def answer(self, patience_s=60):
        return self.read_until(f"(?<!echo )done-{self.inputs}\n", patience_s)

    def run(self, text):
        self.type(text)
        return self.answer()

    def shell(self):
        """From here on neither the input nor a prompt is in the output."""
        os.write(self.fd, b"stty -echo; export PS1=; exec bash --norc --noediting\n")
        self.run("true")

    def log_in(self):
        self.read_until("login: ", 240)
        os.write(self.fd, b"root\n")
        self.read_until("# $", 60)
        self.shell()


class Place:
    """Network, mount and process namespaces; the page's files are those of the project's folder."""

    def __init__(self):
        self.keeper = subprocess.Popen(
            ["unshare", "-nmpf", "--mount-proc", "sh", "-c", "mount -t tmpfs none /run && ip link set lo up && echo ready && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.keeper.stdout.readline() == b"ready\n"
        self.enter = ["nsenter", f"--target={self.keeper.pid}", "--net", "--mount",
                      f"--pid=/proc/{self.keeper.pid}/ns/pid_for_children", f"--wd={SOURCE}"]

    def ip(self, line):
        subprocess.run([*self.enter, "ip", *line.split()], check=True)

    def close(self):
        self.keeper.communicate(timeout=60)


@pytest.fixture(scope="module", autouse=True)
def image():
    # The page is for a shell that no make has started.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    subprocess.run(["bash", "-ec", block("build") + block("image")], cwd=SOURCE, env=environment, check=True, timeout=1500)


@pytest.fixture
def place():
    a_place = Place()
    yield a_place
    a_place.close()


def on_all(hosts, text, patience_s=120):
    for host in hosts:
        host.type(text)
    return [host.answer(patience_s) for host in hosts]


def findings(text):
    return {what: (finding, line) for finding, what, line in re.findall(r"^(ok|skip|warn|FAIL) +(\S+) +(.*)$", text, re.M)}


def expect_sums(hosts, check, algorithm, while_it_runs=lambda: None):
    """The doctor finds nothing, and all sums are right."""
    for text in on_all(hosts, block(check)):
        seen = {what: finding for what, (finding, _) in findings(text).items()}
        assert seen == {**dict.fromkeys(["device", "GID", "MTU", "memlock", "neighbours"], "ok"),
                        "aggregator": "ok" if algorithm == "ina" else "skip"}, text
    for host in hosts:
        host.type(block("sum"))
    while_it_runs()
    table, nothing = [host.answer(300) for host in hosts]
    rows = [line.split() for line in table.splitlines() if re.match(r" *\d+ ", line)]
    assert [(row[0], row[4], row[-1]) for row in rows] == [(size, algorithm, "0") for size in ("4", "4096", "4194304")], table
    assert nothing == "", nothing


def set_up(hosts, **values):
    for number, host in enumerate(hosts):
        assert host.run(block("host", number, **values)) == ""


def expect_a_job(switch):
    end = time.monotonic() + 60
    while "0x" not in (jobs := switch.run(block("jobs"))):
        assert time.monotonic() < end, jobs


def test_virtual_machines(place):
    switch = Terminal(place, "switch", block("machine-switch"))
    switch.log_in()
    hosts = [Terminal(place, f"host{host}", block("machine-host", host)) for host in HOSTS]
    for host in hosts:
        host.log_in()
    set_up(hosts)
    switch.run(block("switch"))
    expect_sums(hosts, "check", "ina", lambda: expect_a_job(switch))
    assert "nothing wrong was seen" in switch.run(block("why"))


@pytest.fixture
def pc(place):
    """The ports of this machine, in its namespace, are TAP devices: a host's QEMU has the other end of each."""
    for host in HOSTS:
        place.ip(f"tuntap add eth{host} mode tap")
    terminal = Terminal(place, "pc", "exec bash --norc")
    terminal.shell()
    terminal.hosts = [Terminal(place, f"host{host}", block("machine-host", host).replace(
        "socket,id=cable,connect=127.0.0.1:700$host", "tap,id=cable,ifname=eth$host,script=no,downscript=no")) for host in HOSTS]
    for host in terminal.hosts:
        host.log_in()
    return terminal


def test_a_pc_as_the_switch_and_without_an_aggregator(pc):
    set_up(pc.hosts)
    pc.run(block("switch"))
    expect_sums(pc.hosts, "check", "ina", lambda: expect_a_job(pc))
    assert "nothing wrong was seen" in pc.run(block("why"))
    pc.run("kill %1; wait")
    pc.run(block("plain"))
    expect_sums(pc.hosts, "check-ring", "ring")
    pc.run("ip link set eth0 mtu 1500")
    for text in on_all(pc.hosts, block("check-ring")):
        finding, line = findings(text)["neighbours"]
        assert finding == "FAIL" and "remedy: a small message arrived, but not 1 MiB: give all switches" in line, text


def test_tunnels(pc):
    """The network with the MTU 1500 that the tunnels cross is a Linux bridge of the PC."""
    pc.run("ip link add net type bridge; ip address add 198.51.100.1/24 dev net; ip link set net up")
    for number, host in enumerate(pc.hosts):
        pc.run(f"ip link set eth{number} master net up")
        host.run(f"ip address add 198.51.100.1{number}/24 dev eth0; ip link set eth0 up")
        assert host.run(block("tunnel-host", number)) == ""
    pc.run(block("tunnel-switch"))
    set_up(pc.hosts, netdev="cable", mtu=1450)
    pc.run(block("switch", ports='"cable0 cable1"', mtu=1450))
    expect_sums(pc.hosts, "check", "ina", lambda: expect_a_job(pc))
    assert "nothing wrong was seen" in pc.run(block("why"))
