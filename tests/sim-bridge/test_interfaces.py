# SPDX-License-Identifier: Apache-2.0
"""Ports that are network interfaces and TAP devices: real hosts of this kernel, each in a network namespace."""
import hashlib
import os
import signal
import socket
import struct
import subprocess
import threading

import pytest
from scapy.layers.inet import ICMP, IP

from bridge import PATIENCE_S
from namespaces import ETHTOOL_SGRO, ETHTOOL_STSO, NO_VLANS, Network, cuts_udp, has_vlans, need_tun
from roce import DATA, FLOAT32, INT32, JOIN, mac, message, packet, payload_of, plain, segments, trailer_of
from test_control import ctl
from test_offload import TAGS, long_frame, segments_by_scapy, stack, tcp

CAPACITY = 1024  # of a port's queue


@pytest.fixture
def network(tmp_path):
    made = []

    def make(*arguments, **options):
        made.append(Network(tmp_path, *arguments, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def ports(*names):
    return [part for name in names for part in ("--port", name)]


def ping(namespace, address):
    """An echo through the kernel of the host with this address."""
    raw = namespace.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    echo = bytes(ICMP(id=77, seq=1) / (b"ping" * 100))
    raw.sendto(echo, (address, 0))
    while True:
        answer = IP(raw.recv(2000))
        if answer.src == address and answer[ICMP].type == 0:
            assert bytes(answer[ICMP].payload) == b"ping" * 100
            raw.close()
            return


def transfer(sender, receiver, family, address, data):
    """Sends the data over TCP, and compares its digest at the receiver."""
    server = receiver.socket(family, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((address, 5000))
    server.listen()
    digests = []

    def serve():
        connection, _ = server.accept()
        connection.settimeout(20)
        digest = hashlib.sha256()
        while part := connection.recv(1 << 16):
            digest.update(part)
        digests.append(digest.hexdigest())
        connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    client = sender.socket(family, socket.SOCK_STREAM)
    client.connect((address, 5000))
    client.sendall(data)
    client.close()
    thread.join(20)
    server.close()
    assert digests == [hashlib.sha256(data).hexdigest()]


@pytest.mark.parametrize("merged_by", ["sender", "switch"])
def test_ping_and_tcp(network, rng, merged_by):
    """With frames that the sender left to its device to cut (TSO), or that the switch's device has merged (GRO)."""
    net = network(2)
    if merged_by == "switch":
        for number, host in enumerate(net.hosts):
            host.ethtool("eth0", ETHTOOL_STSO, 0)
            net.switch.ethtool(f"eth{number}", ETHTOOL_SGRO, 1)
    net.start(*ports("eth0", "eth1"))
    ping(net.hosts[0], "10.0.0.2")
    data = rng.randbytes(8 << 20)
    for sender, receiver, family, address in ((0, 1, socket.AF_INET, "10.0.0.2"), (1, 0, socket.AF_INET6, "fd00::1")):
        seen = net.switch.packets(f"eth{sender}")
        transfer(net.hosts[sender], net.hosts[receiver], family, address, data)
        assert any(len(seen.receive()) > 1514 for _ in range(1000)), "no frame was merged"
        seen.close()
    assert "promiscuity 1 " in net.switch.run("ip", "-d", "link", "show", "eth0")
    stats = net.end()
    assert "promiscuity 0 " in net.switch.run("ip", "-d", "link", "show", "eth0")
    assert net.lines() == []
    for port in stats["ports"]:
        assert port["dropped_offload"] == port["dropped_giant"] == port["dropped_send_error"] == 0, port
        assert port["rx_frames"] > len(data) / 1448 and port["tx_frames"] > len(data) / 1448


def test_frames_that_the_switch_machine_sends(network):
    """The kernel shows packet sockets what others send on the interface; the switch has not received that."""
    net = network(2, quiet=True).start(*ports("eth0", "eth1"))
    first, second, other = net.hosts[0].packets("eth0"), net.hosts[1].packets("eth0"), net.switch.packets("eth1")
    other.send(plain(5, 6))
    assert second.receive() == plain(5, 6)
    second.send(plain(1, 0))
    assert first.receive() == plain(1, 0)
    first.close(), second.close(), other.close()
    assert [port["rx_frames"] for port in net.end()["ports"]] == [0, 1]


def test_frames_that_are_read_too_late(network):
    """While the bridge does not run, the kernel's buffer overflows."""
    net = network(2, quiet=True).start(*ports("eth0", "eth1"))
    sender = net.hosts[0].packets("eth0")
    net.bridge.send_signal(signal.SIGSTOP)
    for _ in range(12000):
        sender.send(plain(0, 1, bytes(1500)))
    net.bridge.send_signal(signal.SIGCONT)
    sender.close()
    # SIGTERM ends the loop immediately; frames that it has not read count neither way.
    port = net.end()["ports"][0]
    assert port["dropped_late"] > 0 and port["rx_frames"] + port["dropped_late"] <= 12000


def test_vlan_interfaces(network, rng):
    """Hosts in VLAN 7: the kernel strips the tag of a received frame, and leaves its checksum and segments to the device."""
    net = network(2)
    if not has_vlans(net.hosts[0]):
        pytest.skip(NO_VLANS)
    for number, host in enumerate(net.hosts):
        host.ip("link add link eth0 name vlan7 type vlan id 7", f"addr add 10.0.7.{number + 1}/24 dev vlan7", "link set vlan7 up")
    net.start(*ports("eth0", "eth1"))
    ping(net.hosts[0], "10.0.7.2")
    transfer(net.hosts[0], net.hosts[1], socket.AF_INET, "10.0.7.2", rng.randbytes(4 << 20))
    assert all(port["dropped_offload"] == 0 for port in net.end()["ports"])


@pytest.mark.parametrize("tags", TAGS)
def test_tags_and_long_frames(network, rng, tags):
    """Tags arrive as they were sent, also those of frames that this kernel's veth passes on uncut."""
    net = network(2, quiet=True).start(*ports("eth0", "eth1"))
    sender, receiver = net.hosts[0].packets("eth0", work=True), net.hosts[1].packets("eth0")
    whole = stack(tags, 4, tcp(), b"hello")
    sender.send(bytes(10) + whole)
    assert receiver.receive() == whole
    for version in (4, 6):
        for is_udp in (False, True)[:1 + cuts_udp()]:
            payload = rng.randbytes(30000)
            sender.send(b"".join(long_frame(tags, version, is_udp, payload, 1400)))
            wanted = segments_by_scapy(tags, version, is_udp, payload, 1400)
            assert [receiver.receive() for _ in wanted] == wanted
    sender.close(), receiver.close()
    assert [port["dropped_offload"] for port in net.end()["ports"]] == [0, 0]


def test_an_offload_that_cannot_be_undone(network):
    """It is counted, and the next frame arrives."""
    net = network(2, quiet=True).start(*ports("eth0", "eth1"))
    sender, receiver = net.hosts[0].packets("eth0", work=True), net.hosts[1].packets("eth0")
    sctp = stack("untagged", 4, bytes(12), b"hello")
    sender.send(struct.pack("=BBHHHH", 1, 0, 0, 0, 34, 8) + sctp)
    sender.send(bytes(10) + plain(0, 1))
    assert receiver.receive() == plain(0, 1)
    sender.close(), receiver.close()
    assert [port["dropped_offload"] for port in net.end()["ports"]] == [1, 0]


@pytest.mark.parametrize("path_mtu,number_type,code", [(256, INT32, "i"), (1024, FLOAT32, "f"), (4096, INT32, "i")])
def test_sums(network, rng, path_mtu, number_type, code):
    """The aggregator adds up the RoCE packets of hosts at interfaces."""
    ranks = 3
    net = network(ranks, mtu=4200, quiet=True).start(*ports(*(f"eth{rank}" for rank in range(ranks))))
    hosts = [net.hosts[rank].packets("eth0") for rank in range(ranks)]
    for rank, host in enumerate(hosts):
        host.send(plain(rank, 99))
        for other in range(ranks):
            if other != rank:
                assert hosts[other].receive() == plain(rank, 99)
    for rank, host in enumerate(hosts):
        host.send(packet(rank, (rank + 1) % ranks, 0, message(rank, ranks, JOIN, 0)))
    for host in hosts:
        assert trailer_of(payload_of(host.receive())) == (ranks, 0, 0, ranks - 1)
    count = 3000
    numbers = [[rng.randrange(-9999, 9999) for _ in range(count)] for _ in range(ranks)]
    elements = [struct.pack(f"<{count}{code}", *row) for row in numbers]
    total = struct.pack(f"<{count}{code}", *(sum(column) for column in zip(*numbers)))
    sent = [segments(message(rank, ranks, DATA, 1, elements[rank], number_type), path_mtu) for rank in range(ranks)]
    wanted = segments(message(ranks - 1, ranks, DATA, 1, total, number_type, contributors=ranks), path_mtu)
    for number, (opcode, payload) in enumerate(wanted):
        for rank, host in enumerate(hosts):
            host.send(packet(rank, (rank + 1) % ranks, number + 1, sent[rank][number][1], opcode))
        for rank, host in enumerate(hosts):
            assert host.receive() == packet((rank - 1) % ranks, rank, number + 1, payload, opcode)
    for host in hosts:
        host.close()
    assert net.end()["aggregator"]["packets_joined"] == ranks * (1 + len(wanted))
    assert net.lines() == []


def test_a_socket_and_an_interface(network):
    ours, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(PATIENCE_S)
    net = network(1, quiet=True).start(*ports(f"fd={end.fileno()}", "eth0"), fds=[end.fileno()])
    end.close()
    host = net.hosts[0].packets("eth0")
    for size in (60, 1514):
        frame = plain(0, 1, bytes(size - 14))
        ours.send(frame)
        assert host.receive() == frame
        host.send(plain(1, 0, bytes(size - 14)))
        assert ours.recv(10000) == plain(1, 0, bytes(size - 14))
    files = open_files(net)
    ours.close()
    net.wait(lambda: open_files(net) == files - 1)
    with pytest.raises(subprocess.TimeoutExpired):  # the interface remains
        net.bridge.wait(timeout=0.1)
    host.close()
    net.end()


def open_files(net):
    return len(os.listdir(f"/proc/{net.bridge.pid}/fd"))


def test_link_down_and_up(network):
    """At the bridge's end and at the host's."""
    net = network(2).start(*ports("eth0", "eth1"))
    lines = []
    for namespace, name in ((net.switch, "eth1"), (net.hosts[1], "eth0"), (net.switch, "eth0")):
        ping(net.hosts[0], "10.0.0.2")
        port = int(namespace is not net.switch or name == "eth1")
        namespace.ip(f"link set {name} down")
        lines.append(f"port {port} (eth{port}): link down")
        net.wait_for(*lines)
        namespace.ip(f"link set {name} up")
        lines.append(f"port {port} (eth{port}): link up")
        net.wait_for(*lines)
    ping(net.hosts[1], "10.0.0.1")
    stats = net.end()
    assert [(port["link_downs"], port["removals"]) for port in stats["ports"]] == [(1, 0), (2, 0)]


def test_frames_to_a_link_that_is_down(network):
    """They are counted. The switch forgets the hosts there, so it also looks for them at other ports."""
    net = network(3, quiet=True).start(*ports("eth0", "eth1", "eth2"))
    first, second, third = (host.packets("eth0") for host in net.hosts)
    second.send(plain(1, 9))
    assert first.receive() == third.receive() == plain(1, 9)
    first.send(plain(0, 1, b"known"))
    assert second.receive() == plain(0, 1, b"known")
    net.switch.ip("link set eth1 down")
    net.wait_for("port 1 (eth1): link down")
    for number in range(10):
        first.send(plain(0, 1, bytes([number])))
        assert third.receive() == plain(0, 1, bytes([number]))
    net.switch.ip("link set eth1 up")
    net.wait_for("port 1 (eth1): link down", "port 1 (eth1): link up")
    first.send(plain(0, 1, b"later"))
    assert third.receive() == plain(0, 1, b"later")
    second.close()  # it has an error to report, that the link went down
    second = net.hosts[1].packets("eth0")
    first.send(plain(0, 1, b"again"))
    assert second.receive() == plain(0, 1, b"again")
    first.close(), second.close(), third.close()
    assert net.end()["ports"][1]["dropped_closed"] == 10


def test_removed_and_created_again(network, rng):
    net = network(2).start(*ports("eth0", "eth1"))
    ping(net.hosts[0], "10.0.0.2")
    for turn in range(2):
        net.switch.ip("link del eth1")
        net.wait(lambda: net.lines()[-1:] == ["port 1 (eth1): interface removed"])
        net.plug(1)
        net.wait(lambda: net.lines()[-1] in ("port 1 (eth1): link up", "port 1 (eth1): interface is back"))
        transfer(net.hosts[0], net.hosts[1], socket.AF_INET, "10.0.0.2", rng.randbytes(1 << 20))
    stats = net.end()
    assert [port["removals"] for port in stats["ports"]] == [0, 2]


def test_changes_that_the_kernel_did_not_tell(network):
    """More changes than the socket for them holds, while the bridge does not run: the last ones are lost."""
    net = network(2).start(*ports("eth0", "eth1"))
    net.bridge.send_signal(signal.SIGSTOP)
    net.switch.ip("link add other type veth peer name another")
    net.switch.ip(*["link set other up", "link set other down"] * 300)
    net.switch.ip("link set eth0 down", "link del eth1")
    net.bridge.send_signal(signal.SIGCONT)
    net.wait_for("port 0 (eth0): link down", "port 1 (eth1): interface removed")
    net.plug(1)
    net.switch.ip("link set eth0 up")
    net.wait(lambda: "port 0 (eth0): link up" in net.lines())
    ping(net.hosts[0], "10.0.0.2")
    net.end()


@pytest.mark.parametrize("is_moved", [False, True])
def test_tap(network, rng, is_moved):
    """Its kernel is a host: the one of the bridge itself, or of the namespace that the device is moved to."""
    need_tun()
    net = network(2).start(*ports("eth0", "tap:tap7", "eth1"))
    lines = ["port 1 (tap7): link down; if nobody has set it up: ip link set dev tap7 up"]
    namespace = net.switch
    if is_moved:
        namespace = net.add_host()
        net.switch.ip(f"link set tap7 netns {namespace.process.pid}")
        lines.append("port 1 (tap7): moved to another network namespace: its link counts as up")
    else:
        lines.append("port 1 (tap7): link up")
    namespace.ip("link set tap7 up", "addr add 10.0.0.9/24 dev tap7")
    net.wait_for(*lines)
    ping(net.hosts[0], "10.0.0.9")
    data = rng.randbytes(4 << 20)
    transfer(net.hosts[0], namespace, socket.AF_INET, "10.0.0.9", data)
    transfer(namespace, net.hosts[0], socket.AF_INET, "10.0.0.1", data)
    namespace.ip("link set tap7 down")
    if not is_moved:
        net.wait_for(*lines, "port 1 (tap7): link down")
    sender, other = net.hosts[0].packets("eth0"), net.hosts[1].packets("eth0")
    sender.send(plain(8, 9))  # to both other ports, in their order
    while other.receive() != plain(8, 9):
        pass
    sender.close(), other.close()
    namespace.ip("link set tap7 up")
    ping(net.hosts[0], "10.0.0.9")
    port = net.end()["ports"][1]
    assert port["dropped_send_error" if is_moved else "dropped_closed"] > 0
    assert "tap7" not in namespace.run("ip", "link")


def test_a_tap_that_is_deleted(network):
    need_tun()
    net = network(2).start(*ports("eth0", "tap:tap7", "eth1"))
    net.switch.ip("link del tap7")
    net.wait_for("port 1 (tap7): link down; if nobody has set it up: ip link set dev tap7 up", "port 1 (tap7): interface removed")
    ping(net.hosts[0], "10.0.0.2")
    assert net.end()["ports"][1]["removals"] == 1


def test_long_frames_for_a_small_mtu(network):
    """More of them than the queue holds are counted, and do not delay others."""
    need_tun()
    net = network(3, mtu=4200, quiet=True)
    net.switch.ip("link set eth1 mtu 1500")
    net.start(*ports("eth0", "eth1", "tap:tap7"))
    net.switch.set("net/ipv6/conf/tap7/disable_ipv6", 1)
    net.switch.ip("link set tap7 up")
    net.wait(lambda: net.lines()[-1] == "port 2 (tap7): link up")
    sender, receiver = net.hosts[0].packets("eth0"), net.hosts[1].packets("eth0")
    tap = net.switch.packets("tap7")
    for size in (1515, 4214):
        for _ in range(CAPACITY):
            sender.send(plain(0, 1, bytes(size - 14)))
    tagged = mac(1) + mac(0) + bytes([0x81, 0, 0, 7, 0x88, 0xB5]) + bytes(1500)
    for frame in (plain(0, 1, bytes(1500)), tagged):
        sender.send(frame)
        assert receiver.receive() == frame
        assert tap.receive() == frame
    sender.close(), receiver.close(), tap.close()
    for port in net.end()["ports"][1:]:
        assert port["dropped_send_error"] + port["dropped_queue_full"] == 2 * CAPACITY and port["dropped_send_error"] > 0
        assert port["tx_frames"] == 2


def test_a_small_mtu_is_named_until_it_is_raised(network, tmp_path):
    net = network(2, mtu=4200, quiet=True)
    net.switch.ip("link set eth1 mtu 1500")
    net.start(*ports("eth0", "eth1"), "--control", tmp_path / "control")
    sender, receiver = net.hosts[0].packets("eth0"), net.hosts[1].packets("eth0")

    def refusals():
        sender.send(plain(0, 1, bytes(100)))
        assert receiver.receive() == plain(0, 1, bytes(100))
        return [line for line in ctl(tmp_path / "control", "why").splitlines() if "the kernel has refused" in line]
    assert refusals() == []
    sender.send(plain(0, 1, bytes(4000)))
    assert refusals() == ["port 1 (eth1): the kernel has refused 1 frames, mostly because they are longer than the MTU, 1500: raise it, or lower "
                          "that of the hosts"]
    net.switch.ip("link set eth1 mtu 4200")
    net.wait(lambda: not refusals())
    sender.close(), receiver.close()


def test_an_mtu_that_grows(network):
    """Frames that are longer than the MTU was at the start arrive too, up to the longest that a switch takes."""
    net = network(2, quiet=True).start(*ports("eth0", "eth1"))
    for number, host in enumerate(net.hosts):
        host.ip("link set eth0 mtu 9400")
        net.switch.ip(f"link set eth{number} mtu 9400")
    sender, receiver = net.hosts[0].packets("eth0"), net.hosts[1].packets("eth0")
    tag = bytes([0x81, 0, 0, 7])
    for size, tagged in ((60, False), (1600, False), (1600, True), (9216, False), (9217, False), (9212, True), (9213, True), (60, False)):
        frame = plain(0, 1, bytes(size - 14))
        sender.send(frame[:12] + tag + frame[12:] if tagged else frame)
        if size not in (9217, 9213):
            assert receiver.receive() == (frame[:12] + tag + frame[12:] if tagged else frame)
    sender.close(), receiver.close()
    assert net.end()["ports"][0]["dropped_giant"] == 2


PATH_MTUS = [
    ((1500, 1500), []),
    ((4200, 9000), []),
    ((1068, 1500), []),
    ((1067, 1067), ["port 0 (eth0): MTU 1067: the largest RoCE path MTU that fits is 512; for 1024: ip link set dev eth0 mtu 1500",
                    "port 1 (eth1): MTU 1067: the largest RoCE path MTU that fits is 512; for 1024: ip link set dev eth1 mtu 1500"]),
    ((4096, 4140), ["port 0 (eth0): MTU 4096: the largest RoCE path MTU that fits is 2048; for 4096: ip link set dev eth0 mtu 4200",
                    "port 0 (eth0) carries RoCE path MTUs up to 2048, and port 1 (eth1) up to 4096: between them only the smaller "
                    "one works, until: ip link set dev eth0 mtu 4140"]),
    ((4200, 1500), ["port 1 (eth1) carries RoCE path MTUs up to 1024, and port 0 (eth0) up to 4096: between them only the smaller "
                    "one works, until: ip link set dev eth1 mtu 4200"]),
    ((200, 299), ["port 0 (eth0): MTU 200: no RoCE path MTU fits; for 1024: ip link set dev eth0 mtu 1500",
                  "port 1 (eth1): MTU 299: no RoCE path MTU fits; for 1024: ip link set dev eth1 mtu 1500"]),
]


def test_path_mtus(network):
    net = network(2)
    for mtus, lines in PATH_MTUS:
        net.switch.ip(*(f"link set eth{number} mtu {mtu}" for number, mtu in enumerate(mtus)))
        net.start(*ports("eth0", "eth1"))
        net.wait_for(*lines)
        net.end()


def test_errors(network):
    need_tun()
    net = network(2)
    net.switch.ip("link add v1 type veth peer name v2", "link property add dev eth0 altname front",
                  "link property add dev eth0 altname a-name-of-more-than-15-characters", "tuntap add dev tun0 mode tun")
    for names, line in {
            ("eth0", "nowhere"): "--port nowhere: no such network interface",
            ("eth0", "no-name-of-more-than-15-characters"): "no such network interface",
            ("eth0", "x" * 200): "no such network interface",
            ("eth0", "lo"): "--port lo: it is the loopback interface",
            ("eth0", "tun0"): "--port tun0: it is not an Ethernet interface",
            ("eth0", "eth0"): "--port eth0: given twice",
            ("eth0", "front"): "--port front: the same interface as --port eth0",
            ("a-name-of-more-than-15-characters", "front"): "--port front: the same interface as",
            ("eth0", "v1", "v2"): "--port v2: it is linked to --port v1, as the other end of one veth pair",
            ("eth0", "tap:v1"): "--port tap:v1: an interface of this name exists",
            ("eth0", "tap:1234567890123456"): "a name has 1 to 15 characters",
            ("eth0", "tap:"): "a name has 1 to 15 characters",
            ("eth0", "tap:%d"): "a name has 1 to 15 characters, and no %",
            ("eth0", "tap:a/b"): "--port tap:a/b: cannot create a TAP device of this name: Invalid argument",
            ("tap:new", "tap:new"): "--port tap:new: given twice",
            ("tap:new", "nowhere"): "--port nowhere: no such network interface",
            ("eth0", ""): "must be fd=N",
            ("eth0", "3"): "or tap:NAME",
    }.items():
        assert line in net.refused(*ports(*names)), names
    assert "--port eth0: network interfaces have no virtual time" in net.refused("--virtual-time", "fd=0", *ports("eth0", "eth1"))
    for capability, port in (("net_raw", "eth1"), ("net_admin", "tap:new")):
        line = net.refused(*ports("eth0", port), enter=["setpriv", f"--bounding-set=-{capability}"])
        assert f"CAP_{capability.upper()}" in line and "no permission" in line
    assert "new" not in net.switch.run("ip", "link")
