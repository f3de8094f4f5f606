# SPDX-License-Identifier: Apache-2.0
"""Network namespaces for tests, without root: veth pairs, sockets in a namespace, and ina-bridge with real interfaces as ports.

All namespaces belong to one user namespace. A namespace exists as long as its keeper, a process that makes sockets in it. A keeper
ends when the test's end of its socket closes, so nothing remains if the test is killed.
"""
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

from bridge import BRIDGE, PATIENCE_S
from roce import mac

ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 8, 15, 23
VLAN_VALID, VLAN_TPID_VALID = 0x10, 0x40
SIOCETHTOOL, ETHTOOL_STSO, ETHTOOL_SGRO = 0x8946, 0x1F, 0x2C
NO_NAMESPACES = "this machine forbids network namespaces"
NO_TUN = "this machine has no /dev/net/tun for this user"
NO_VLANS = "this machine's kernel has no VLAN interfaces (8021q)"
NO_VXLAN = "this machine's kernel has no VXLAN interfaces"

# A request is the arguments of socket.socket(), or the name of a TAP device, which then has no offloads.
KEEPER = """
import fcntl, json, socket, struct, sys
test = socket.socket(fileno=int(sys.argv[1]))
test.send(b"ready")
while request := test.recv(100):
    match json.loads(request):
        case str(name):
            made = open("/dev/net/tun", "r+b", buffering=0)
            fcntl.ioctl(made, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1002))  # TUNSETIFF, IFF_TAP | IFF_NO_PI
        case arguments:
            made = socket.socket(*arguments)
    with made:
        socket.send_fds(test, [b"x"], [made.fileno()])
"""


class Namespace:
    """A network namespace; the first one also makes the user namespace of all."""

    def __init__(self, first=None):
        self.keeper, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.keeper.settimeout(PATIENCE_S)
        enter = [*first.enter(), "unshare", "-n"] if first else ["unshare", "-Urn"]
        self.process = subprocess.Popen([*enter, sys.executable, "-c", KEEPER, str(end.fileno())], pass_fds=[end.fileno()],
                                        stderr=subprocess.PIPE)
        end.close()
        if self.keeper.recv(100) != b"ready":
            reason = self.process.communicate(timeout=PATIENCE_S)[1].decode().strip()
            if not first and "unshare" in reason:
                pytest.skip(f"{NO_NAMESPACES}: {reason}")
            raise OSError(reason)
        self.ip("link set lo up")

    def enter(self):
        return ["nsenter", f"--target={self.process.pid}", "--user", "--net", "--preserve-credentials"]

    def run(self, *command, input=None):
        done = subprocess.run([*self.enter(), *command], input=input, capture_output=True, text=True, timeout=PATIENCE_S)
        if done.returncode:
            raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def ip(self, *lines):
        self.run("ip", "-batch", "-", input="\n".join(lines) + "\n")

    def set(self, name, value):
        """Sets a variable of sysctl."""
        self.run("sh", "-c", f"echo {value} > /proc/sys/{name}")

    def ask(self, request):
        """A descriptor from the keeper."""
        self.keeper.send(json.dumps(request).encode())
        return socket.recv_fds(self.keeper, 10, 1)[1][0]

    def tap(self, name):
        """The descriptor of a new TAP device."""
        need_tun()
        fd = self.ask(name)
        self.ip(f"link set {name} up")
        return fd

    def socket(self, family, kind, protocol=0):
        """A socket of this namespace."""
        made = socket.socket(fileno=self.ask([int(family), int(kind), protocol]))
        made.settimeout(PATIENCE_S)
        return made

    def packets(self, interface, work=False):
        """A packet socket at an interface. With `work`, a struct virtio_net_hdr precedes each frame that is sent."""
        made = Packets(fileno=self.socket(socket.AF_PACKET, socket.SOCK_RAW).detach())
        made.settimeout(PATIENCE_S)
        made.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        made.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        made.setsockopt(SOL_PACKET, PACKET_VNET_HDR, int(work))
        made.bind((interface, ETH_P_ALL))
        return made

    def ethtool(self, interface, command, value):
        """Sets a value by ioctl(SIOCETHTOOL); Debian's ethtool need not be installed."""
        request = ctypes.create_string_buffer(struct.pack("=II", command, value))
        with self.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, SIOCETHTOOL, struct.pack("16sP16x", interface.encode(), ctypes.addressof(request)))

    def close(self):
        self.keeper.close()
        self.process.wait(timeout=PATIENCE_S)
        self.process.stderr.close()


class Packets(socket.socket):
    def receive(self):
        """The next frame, with its VLAN tag in place."""
        frame, parts, _, _ = self.recvmsg(70000, 100)
        for level, kind, data in parts:
            if (level, kind) != (SOL_PACKET, PACKET_AUXDATA):
                continue
            status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", data)
            if status & VLAN_VALID:
                tpid = tpid if status & VLAN_TPID_VALID else 0x8100
                frame = frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
        return frame


class Network:
    """A namespace for the bridge, and others for hosts. Host h has an interface eth0, whose other end is `eth`h at the bridge."""

    def __init__(self, folder, hosts, mtu=1500, quiet=False, first=0, beside=None):
        """The kernel of a quiet host has no address, and sends no frames. The addresses of the hosts count from `first`. `beside`:
        another network, whose namespaces can share cables with these."""
        self.folder, self.mtu, self.quiet, self.first = folder, mtu, quiet, first
        self.bridge = None
        self.namespaces = [Namespace(beside and beside.switch)]
        try:
            self.switch = self.namespaces[0]
            self.hosts = []
            for host in range(hosts):
                self.hosts.append(self.add_host())
                self.plug(host)
        except BaseException:
            self.close()
            raise

    def add_host(self):
        self.namespaces.append(Namespace(self.switch))
        return self.namespaces[-1]

    def plug(self, host):
        """Makes the host's veth pair."""
        there, here, number = self.hosts[host], self.switch, self.first + host
        here.set("net/ipv6/conf/default/disable_ipv6", 1)
        there.set("net/ipv6/conf/default/disable_ipv6", int(self.quiet))
        here.ip(f"link add eth{host} mtu {self.mtu} type veth peer name eth0 mtu {self.mtu} address {mac(number).hex(':')} "
                f"netns {there.process.pid}", f"link set eth{host} up")
        # Without duplicate address detection a host can use its IPv6 address immediately.
        addresses = (f"addr add 10.0.0.{number + 1}/24 dev eth0", f"addr add fd00::{number + 1}/64 dev eth0 nodad")
        there.ip("link set eth0 up", *(() if self.quiet else addresses))

    def start(self, *arguments, fds=()):
        """Starts the bridge; the arguments have its ports."""
        self.stats_path = self.folder / "stats.json"
        self.stats_path.unlink(missing_ok=True)
        # The namespace would stay as long as a bridge that outlives the test.
        command = [*self.switch.enter(), "setpriv", "--pdeathsig", "KILL", BRIDGE, "--stats", str(self.stats_path), "--aggregator", "model", "--quiet", "0"]
        with open(self.folder / "errors", "w", encoding="utf-8") as errors:
            self.bridge = subprocess.Popen([*command, *map(str, arguments)], stderr=errors, pass_fds=fds)
        self.wait(self.stats_path.exists)
        return self

    def wait(self, is_true):
        end = time.monotonic() + PATIENCE_S
        while not is_true():
            assert self.bridge.poll() is None, self.lines()
            assert time.monotonic() < end, self.lines()
            time.sleep(0.01)

    def lines(self, of_jobs=False):
        """The lines on stderr, without the name of the program: those about jobs, or all others."""
        lines = (self.folder / "errors").read_text(encoding="utf-8").splitlines()
        lines = [line.removeprefix("ina-bridge: ") for line in lines]
        return [line for line in lines if line.startswith("job 0x") == of_jobs]

    def wait_for(self, *lines):
        """Waits until stderr has exactly these lines."""
        self.wait(lambda: len(self.lines()) >= len(lines))
        assert self.lines() == list(lines)

    def end(self):
        """Ends the bridge. Returns its counters."""
        self.bridge.send_signal(signal.SIGTERM)
        assert self.bridge.wait(timeout=PATIENCE_S) == 0, self.lines()
        return json.loads(self.stats_path.read_text())

    def refused(self, *arguments, enter=()):
        """The only line of a bridge that ends with exit code 2."""
        done = subprocess.run([*self.switch.enter(), *enter, BRIDGE, "--aggregator", "off", *map(str, arguments)], text=True,
                              capture_output=True, timeout=PATIENCE_S)
        assert done.returncode == 2, done
        line, *hint = done.stderr.splitlines()
        assert hint == [] or hint[0].startswith("Try `ina-bridge --help'"), done.stderr
        return line.removeprefix("ina-bridge: ")

    def close(self):
        if self.bridge and self.bridge.poll() is None:
            self.bridge.kill()
            self.bridge.wait(timeout=PATIENCE_S)
        for namespace in reversed(self.namespaces):
            namespace.close()


def need_tun():
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip(NO_TUN)


def cuts_udp():
    """Does this kernel cut long UDP frames from a packet socket? Linux 6.1 refuses them."""
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int(minor)) >= (6, 2)


def can_make(namespace, name, kind):
    try:
        namespace.ip(f"link add {name} {kind}", f"link del {name}")
    except OSError:
        return False
    return True


def has_vlans(namespace):
    """Can the kernel make a VLAN interface?"""
    return can_make(namespace, "vlan9", "link eth0 type vlan id 9")


def need_vxlan(namespace):
    if not can_make(namespace, "vxlan9", "type vxlan id 9 dstport 4789"):
        pytest.skip(NO_VXLAN)
