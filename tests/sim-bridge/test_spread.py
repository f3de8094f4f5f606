# SPDX-License-Identifier: Apache-2.0
"""A fabric of several bridges, each a process with its own network namespace: one is the leaf, and its cable leads to another.

The test is the hosts, their NICs and the tree of switches (docs/protocol.md, Several switches), and adds up the elements itself.
"""
import collections
import json
import re
import socket
import struct
import subprocess
import time

import pytest
from scapy.utils import rdpcap

from bridge import BRIDGE, BROADCAST, Bridge, PATIENCE_S, marker, spared_marker
from flows import Flow
from namespaces import Network, need_vxlan
from roce import (DATA, INT32, JOIN, LEAVE, MARKED, TRACE, WRITE_ONLY, message, packet, payload_of, psn_of, segments, traffic_class_of,
                  trailer_of)
from test_control import ctl

SO_RCVBUFFORCE = 33  # of linux/socket.h

GRANT = 16  # packets that a rank may be ahead of the sums that it has; the switches grant more
PATH_MTU = 256
SIMPLE = "a leaf below a spine with hosts"

# For each bridge, the number of its hosts, the bridge above it, and its level.
SHAPES = {
    SIMPLE: [(2, 1, 1), (2, None, 2)],
    "two leaves": [(2, 2, 1), (2, 2, 1), (0, None, 2)],
    "three levels": [(2, 1, 1), (1, 2, 2), (1, None, 3)],
}


def is_inquiry(frame):
    """A question that a bridge asks at its uplink reaches all hosts."""
    return frame[12:24] == b"\x88\xb6ina-bridge"


class Spread(Bridge):
    """The bridges; a host is a packet socket at the interface of its namespace. The ports of a bridge are those of its hosts, of
    the bridges below, and at last the uplink."""

    def __init__(self, folder, shape, options=None, kinds=None, cable="veth", captures=None, marker=marker):
        """`options`: of each bridge, by its number. `captures`: a folder for those of the uplinks."""
        self.shape, self.cable, self.captures, self.marker = shape, cable, captures, marker
        self.turn, self.hosts, self.bridges, self.sockets = 0, [], [], {}
        try:
            for number, (count, _, _) in enumerate(shape):
                (folder / str(number)).mkdir()
                first = sum(hosts for hosts, _, _ in shape[:number])
                self.bridges.append(Network(folder / str(number), count, 4200, True, first, self.bridges[0] if number else None))
            for number, (_, above, _) in enumerate(shape):
                if above is not None:
                    self.lay(number, above)
            for number in range(len(shape)):
                self.start(number, "--aggregator", kinds[number] if kinds else "model", *(options or {}).get(number, ()))
            self.hosts = [host.packets("eth0") for bridge in self.bridges for host in bridge.hosts]
            self.wake()
        except BaseException:
            self.close()
            raise

    def lay(self, number, above):
        """The cable from a bridge to the one above."""
        lower, upper = self.bridges[number].switch, self.bridges[above].switch
        for namespace in (lower, upper):
            namespace.set("net/ipv6/conf/default/disable_ipv6", 1)
        name = f"below{number}"
        if self.cable == "socket":
            self.sockets[number, "above"], self.sockets[above, name] = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            return
        if self.cable == "veth":
            lower.ip(f"link add above mtu 4200 type veth peer name {name} mtu 4200 netns {upper.process.pid}")
        else:
            need_vxlan(lower)
            lower.ip(f"link add lan mtu 4300 type veth peer name lan mtu 4300 netns {upper.process.pid}")
            for namespace, own, end, other in ((lower, "above", 1, 2), (upper, name, 2, 1)):
                namespace.ip(f"addr add 10.9.0.{end}/24 dev lan", "link set lan up",
                             f"link add {own} mtu 4200 type vxlan id 7 dev lan dstport 4789 local 10.9.0.{end} remote 10.9.0.{other}")
        lower.ip("link set above up")
        upper.ip(f"link set {name} up")

    def ports(self, number):
        hosts, above, _ = self.shape[number]
        below = [f"below{lower}" for lower, (_, upper, _) in enumerate(self.shape) if upper == number]
        return [f"eth{host}" for host in range(hosts)] + below + ["above"] * (above is not None)

    def start(self, number, *options):
        names = self.ports(number)
        uplink = ["--uplink", len(names) - 1] if names[-1] == "above" else []
        if uplink and self.captures:
            uplink += ["--pcap-cable", f"{len(names) - 1}={self.captures}/{number}.pcap"]
        sockets = [self.sockets.get((number, name)) for name in names]
        words = [f"fd={end.fileno()}" if end else name for name, end in zip(names, sockets)]
        self.bridges[number].start(*(part for word in words for part in ("--port", word)), *uplink, "--level", self.shape[number][2],
                                   "--switch-number", 10 * number, *options, fds=[end.fileno() for end in sockets if end])
        for end in filter(None, sockets):
            end.close()

    def restart(self, number, *options):
        self.bridges[number].end()
        self.start(number, "--quiet", 20, *options)

    def wake(self):
        """All switches learn where the hosts are."""
        for host in range(len(self.hosts)):
            self.send(host, BROADCAST + packet(host, 99, 0, bytes(16), WRITE_ONLY, tos=0)[6:])
        self.settle()

    def settle(self):
        return super().settle(self.marker)

    def receive(self, port):
        while is_inquiry(frame := self.hosts[port].receive()):
            pass
        return frame

    def path(self, host):
        """The bridge of each level above a host, and the port by which a frame of the host comes in there."""
        number = next(n for n, bridge in enumerate(self.bridges) if bridge.first <= host < bridge.first + len(bridge.hosts))
        port, path = host - self.bridges[number].first, {}
        while number is not None:
            _, above, level = self.shape[number]
            path[level] = (number, port)
            number, port = above, above is not None and self.ports(above).index(f"below{number}")
        return path

    def turn_of(self, rank):
        """The level at which the connection to the next rank turns round."""
        own, other = self.path(rank), self.path((rank + 1) % len(self.hosts))
        return next(level for level in sorted(own) if level in other and own[level][0] == other[level][0])

    def place(self, rank):
        children = {number: len(self.ports(number)) - (above is not None) for number, (_, above, _) in enumerate(self.shape)}
        return self.turn_of(rank) << 24 | sum(children[number] << 8 * (level - 1) for level, (number, _) in self.path(rank).items())

    def end(self):
        return [bridge.end() for bridge in self.bridges]

    def close(self):
        for end in [*self.hosts, *self.sockets.values()]:
            end.close()
        for bridge in reversed(self.bridges):
            bridge.close()


@pytest.fixture
def spread(tmp_path):
    made = []

    def make(shape=SIMPLE, **more):
        made.append(Spread(tmp_path, SHAPES[shape], **more))
        return made[-1]

    yield make
    for one in made:
        one.close()


class Ranks:
    """A job of all hosts: rank h is host h."""

    def __init__(self, bridges, job=1):
        self.bridges, self.number = bridges, 0
        count = len(bridges.hosts)
        self.flows = [Flow(bridges, rank, (rank + 1) % count, rank, count, job, 0x10 + job, 1000 * job + 100 * rank)
                      for rank in range(count)]

    def carry(self, packets, after_first=lambda: None):
        """Sends the packets of each rank, as their NICs would: again, until they have arrived in their order. Returns what has
        arrived at the next rank, for each rank. `after_first`: called when the first packets have arrived."""
        first = [flow.next_psn for flow in self.flows]
        got = [[] for _ in self.flows]
        limit = time.monotonic() + PATIENCE_S
        while any(len(own) < len(packets[0]) for own in got):
            assert time.monotonic() < limit, "the packets never arrive"
            for flow in self.flows:
                end = min(len(packets[0]), len(got[flow.rank - 1]) + GRANT)
                for at in range(len(got[flow.rank]), end):
                    opcode, payload = packets[flow.rank][at]
                    flow.next_psn = first[flow.rank] + at
                    self.bridges.send(flow.port, flow.packet(payload, 0, opcode))
            come = self.bridges.settle()
            for flow in self.flows:
                for frame in come[flow.to]:
                    if psn_of(frame) == first[flow.rank] + len(got[flow.rank]):
                        got[flow.rank].append(payload_of(frame))
            after_first()
            after_first = lambda: None  # noqa: E731
        for flow, start in zip(self.flows, first):
            flow.next_psn = start + len(packets[0])
        return got

    def say(self, kind, **fields):
        """A message without elements. Returns the contributors to what each rank receives."""
        sent = [segments(flow.message(kind, remaining=self.bridges.place(flow.rank) if kind == JOIN else None, number=self.number, **fields),
                         PATH_MTU) for flow in self.flows]
        self.number += 1
        return [trailer_of(payloads[0])[0] for payloads in self.carry(sent)]

    def join(self):
        assert self.say(JOIN) == [len(self.flows)] * len(self.flows)
        return self

    def leave(self):
        assert self.say(LEAVE) == [len(self.flows)] * len(self.flows)

    def data(self, rng, count):
        """The packets of each rank's message, and those of the sum."""
        ranks = len(self.flows)
        numbers = [[rng.randrange(-9999, 9999) for _ in range(count)] for _ in range(ranks)]
        elements = [struct.pack(f"<{count}i", *row) for row in numbers]
        total = struct.pack(f"<{count}i", *(sum(column) for column in zip(*numbers)))
        sent = [segments(flow.message(DATA, elements[flow.rank], number=self.number), PATH_MTU) for flow in self.flows]
        wanted = message(ranks - 1, ranks, DATA, self.number, total, INT32, job=self.flows[0].job, contributors=ranks)
        self.number += 1
        return sent, [payload for _, payload in segments(wanted, PATH_MTU)]

    def add(self, rng, count=1000, **more):
        """A message that must be summed. Returns the number of its packets."""
        sent, wanted = self.data(rng, count)
        for got in self.carry(sent, **more):
            assert got == wanted
        return len(wanted)


def is_marked(frame):
    return frame[12:14] == b"\x08\x00" and traffic_class_of(frame) == MARKED


@pytest.mark.parametrize("shape,more", [(shape, {}) for shape in SHAPES] + [
    (SIMPLE, {"kinds": ["rtl", "model"]}), (SIMPLE, {"kinds": ["model", "rtl"]}), (SIMPLE, {"cable": "vxlan"})], ids=str)
def test_sums(spread, rng, tmp_path, shape, more):
    """Every bridge sums what comes from below, and a cable carries one packet for each packet of a message, in each direction."""
    bridges = spread(shape, captures=tmp_path, **more)
    lowest = bridges.bridges[bridges.shape[0][1]].switch.packets("below0")
    job = Ranks(bridges).join()
    count = 1 + job.add(rng)
    count += job.add(rng, 5)
    job.leave()
    parts = []
    while len(parts) < count + 1:
        frame = lowest.receive()
        if is_marked(frame):
            parts.append(frame)
    lowest.close()
    assert [trailer_of(payload_of(parts[at]))[0] for at in (0, -1)] == [2, 2]
    for number, stats in enumerate(bridges.end()):
        has_uplink = bridges.shape[number][1] is not None
        assert stats["aggregator"]["packets_joined"] == (count + 1) * (len(bridges.ports(number)) - has_uplink)
        assert stats["aggregator"]["jobs_broken"] == stats["aggregator"]["joins_refused"] == 0
        assert bridges.bridges[number].lines() == []
        if has_uplink:
            below = [host for host in range(4) if number in [bridge for bridge, _ in bridges.path(host).values()]]
            senders = collections.Counter(bytes(frame)[11] - 1 for frame in rdpcap(str(tmp_path / f"{number}.pcap")) if is_marked(bytes(frame)))
            assert senders == {below[-1]: count + 1, (below[0] - 1) % 4: count + 1}


@pytest.mark.parametrize("shape", SHAPES)
def test_traces(spread, shape):
    """The numbers, levels and ports of all bridges, as hosts learn them."""
    bridges = spread(shape)
    for rank in range(len(bridges.hosts)):
        frame = packet(rank, (rank + 1) % 4, 7, message(0, 2, TRACE, 0, bytes(48), job=0x7ACE), qpn=0x7ACE)
        bridges.send(rank, frame)
        got, = bridges.settle()[(rank + 1) % 4]
        slots = [struct.unpack_from("<QII", payload_of(got), 32 + 16 * level) for level in range(3)]
        path = {level: at for level, at in bridges.path(rank).items() if level <= bridges.turn_of(rank)}
        assert slots == [(10 * path[level][0] + 1, path[level][1], 0) if level in path else (0, 0, 0) for level in (1, 2, 3)]


def test_a_cable_that_is_a_socket(spread, rng):
    bridges = spread(cable="socket")
    job = Ranks(bridges).join()
    count = 2 + job.add(rng)
    job.leave()
    assert [stats["aggregator"]["packets_joined"] for stats in bridges.end()] == [2 * count, 3 * count]


def test_replay_of_a_leaf(spread, rng, tmp_path):
    """The capture of the bridge below, with the options of its place."""
    paths = [str(tmp_path / name) for name in ("in.pcap", "out.pcap")]
    bridges = spread(options={0: ["--pcap", paths[0]]})
    job = Ranks(bridges).join()
    job.add(rng, 100)
    job.leave()
    bridges.end()
    subprocess.run([BRIDGE, "replay", *paths, "--aggregator", "model", "--uplink", "2"], check=True, timeout=PATIENCE_S)
    captures = [(tmp_path / name).read_bytes() for name in ("in.pcap", "out.pcap")]
    assert captures[0] == captures[1] and len(captures[0]) > 5000


def test_lost_frames(spread, rng):
    """On the cable between both bridges, in both directions."""
    bridges = spread(options={0: ["--at", "2,loss-up=0.1,loss-down=0.1", "--seed", rng.randrange(1 << 32)]}, marker=spared_marker)
    job = Ranks(bridges).join()
    for _ in range(5):
        job.add(rng, 3000)
    stats = bridges.end()
    assert all(side["lost"] > 10 for side in stats[0]["ports"][2]["faults"].values())
    assert [own["aggregator"]["jobs_broken"] for own in stats] == [0, 0]


def test_the_cable_down_and_up(spread, rng):
    """What was on its way is lost, and sent again."""
    bridges = spread()
    lower, upper = bridges.bridges
    job = Ranks(bridges).join()
    job.add(rng)

    def cut():
        lower.switch.ip("link set above down")
        lower.wait_for("port 2 (above): link down")
        upper.wait_for("port 2 (below0): link down")
        for flow, payloads in zip(job.flows, sent):
            for opcode, payload in payloads[:GRANT]:
                bridges.send(flow.port, flow.packet(payload, 0, opcode))
        lower.switch.ip("link set above up")
        lower.wait_for("port 2 (above): link down", "port 2 (above): link up")
        upper.wait_for("port 2 (below0): link down", "port 2 (below0): link up")

    sent, wanted = job.data(rng, 3000)
    assert job.carry(sent, cut) == [wanted] * 4
    job.add(rng)
    job.leave()
    assert [own["aggregator"]["jobs_broken"] for own in bridges.end()] == [0, 0]


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("at", ["between messages", "in a message"])
def test_a_bridge_that_restarts(spread, rng, number, at):
    """No rank takes a wrong sum: the trailer says that ranks are missing. The next job is summed again."""
    bridges = spread()
    job = Ranks(bridges).join()
    job.add(rng)
    if at == "between messages":
        bridges.restart(number)
    sent, wanted = job.data(rng, 3000)
    for got in job.carry(sent, (lambda: bridges.restart(number)) if at == "in a message" else lambda: None):
        assert trailer_of(got[-1])[0] < 4
        assert len(got) == len(wanted)
    assert max(job.say(LEAVE)) < 4
    job = Ranks(bridges, 2).join()
    job.add(rng)
    job.leave()
    bridges.end()


def test_why(spread, tmp_path):
    """No bridge takes a rank of another one for missing."""
    paths = [tmp_path / name for name in ("lower", "upper")]
    bridges = spread(options={number: ["--control", path] for number, path in enumerate(paths)})
    job = Ranks(bridges)
    for flow in job.flows[:2]:
        flow.say(JOIN, remaining=bridges.place(flow.rank))
    bridges.settle()
    fine = ["nothing wrong was seen: 1 contexts are in use, and no rank is late"]
    lower, upper = (ctl(path, "why").splitlines() for path in paths)
    assert lower == fine
    assert len(upper) == 1 and re.fullmatch(r"job 0x0{15}1: JOINs of 1 of 4 ranks have come here, for \d+ s: ask the other bridges of the fabric too",
                                            upper[0])
    for flow in job.flows[2:]:
        flow.say(JOIN, remaining=bridges.place(flow.rank))
    bridges.settle()
    assert [ctl(path, "why").splitlines() for path in paths] == [fine, fine]
    bridges.end()


@pytest.mark.parametrize("options,line", [
    (["--uplink", 3], "--uplink 3: no such port: the last of 3 ports is 2"),
    (["--uplink", 1, "--uplink", 2], "--uplink 2: given twice: a bridge has one uplink at most"),
    (["--uplink", 1, "--uplink", 1], "--uplink 1: given twice: a bridge has one uplink at most"),
    (["--uplink", "above"], "--uplink takes a whole number from 0 to 255, not 'above'"),
    (["--uplink", 2, "--level", 3], "--uplink 2: its switch 'leaf0' is on level 3, the highest: nothing can be above it"),
    (["--level", 0], "--level takes a whole number from 1 to 3, not '0'"),
    (["--level", 3, "--topology", "leaf-spine:3x1"], "--level 3: switch 'spine0' would be on level 4, and the highest level is 3"),
    (["--uplink", 2, "--topology", "leaf-spine:3x1"],
     "--uplink 2: its switch 'leaf2' has another uplink, to 'spine0': give a port of the highest switch"),
    (["--switch-number", -1], "--switch-number takes a whole number from 0 to 999999, not '-1'"),
])
def test_wrong_places(tmp_path, options, line):
    """Also in a file, if it can say so."""
    command = [BRIDGE, "--aggregator", "model", "--check-hosts", "3"]
    done = subprocess.run([*command, *map(str, options)], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr.removeprefix("ina-bridge: ")) == (2, line + "\n")
    settings = {name.removeprefix("--"): value for name, value in zip(options[::2], options[1::2])}
    if len(settings) * 2 < len(options):
        return
    path = tmp_path / "bridge.json"
    path.write_text(json.dumps(settings))
    done = subprocess.run([*command, "--config", str(path)], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 2 and line in done.stderr


def ports(*names):
    return [part for name in names for part in ("--port", name)]


@pytest.fixture
def pair(tmp_path):
    """Two networks with one host each, and two cables between them: one0 to one1, and two0 to two1."""
    made = []
    try:
        for number in range(2):
            (tmp_path / str(number)).mkdir()
            made.append(Network(tmp_path / str(number), 1, 4200, True, number, made[0] if made else None))
            made[number].switch.set("net/ipv6/conf/default/disable_ipv6", 1)
        for name in ("one", "two"):
            made[0].switch.ip(f"link add {name}0 mtu 4200 type veth peer name {name}1 mtu 4200 netns {made[1].switch.process.pid}",
                              f"link set {name}0 up")
            made[1].switch.ip(f"link set {name}1 up")
        yield made
    finally:
        for one in reversed(made):
            one.close()


LEVELS = "--uplink 1: the switch above has level {}, and this one level {}: start the ina-bridge above with a higher --level"
LOOP = "--uplink {}: a loop: frames that leave by it come back at port {}: port {} is closed"
NUMBERS = "--switch-number {}: the ina-bridge above has the numbers {} to {}: all switches need different ones"


@pytest.mark.parametrize("lower,upper,line", [
    ([], ["--switch-number", 1], LEVELS.format(1, 1)),
    (["--level", 2], ["--switch-number", 1], LEVELS.format(1, 2)),
    (["--switch-number", 7], ["--level", 2, "--switch-number", 7], NUMBERS.format(7, 7, 7)),
    (["--switch-number", 9], ["--level", 2, "--switch-number", 7, "--topology", "leaf-spine:2x1"], NUMBERS.format(9, 7, 9)),
])
@pytest.mark.parametrize("first", [0, 1])
def test_bridges_that_do_not_fit(pair, lower, upper, line, first):
    """The lower one ends, whichever starts first."""
    for number in (first, 1 - first):
        pair[number].start(*ports("eth0", f"one{number}"), *(upper if number else ["--uplink", 1, *lower]))
    assert pair[0].bridge.wait(timeout=PATIENCE_S) == 2
    assert pair[0].lines() == [line]


def test_two_leaves_of_the_same_number(spread):
    """Only the spine is above either of them, and passes on what they say. The one that starts last says it."""
    bridges = spread("two leaves")
    bridges.restart(1, "--switch-number", 0)
    bridges.bridges[1].wait_for("--switch-number 0: another ina-bridge of the fabric has the numbers 0 to 0: all switches need different ones")
    bridges.end()


@pytest.mark.parametrize("first", [0, 1])
def test_two_cables_between_two_bridges(pair, first):
    """The lower one does without the second cable, and no frame goes round."""
    for number in (first, 1 - first):
        pair[number].start(*ports("eth0", f"one{number}", f"two{number}"), *([] if number else ["--uplink", 1]), "--level", 1 + number,
                           "--switch-number", number)
    pair[0].wait_for(LOOP.format(1, 2, 2))
    hosts = [one.hosts[0].packets("eth0") for one in pair]
    frame = BROADCAST + packet(0, 99, 0, bytes(16), WRITE_ONLY, tos=0)[6:]
    hosts[0].send(frame)
    while is_inquiry(seen := hosts[1].receive()):
        pass
    assert seen == frame
    time.sleep(0.5)
    for host in hosts:
        host.close()
    below, above = (one.end()["ports"] for one in pair)
    assert below[1]["tx_frames"] < 10 and above[0]["tx_frames"] < 10, "frames went round"


def ended(pair):
    """Waits until a bridge has ended with exit code 2. Returns the lines of those that have."""
    end = time.monotonic() + PATIENCE_S
    while not (over := [one for one in pair if one.bridge.poll() == 2]):
        assert time.monotonic() < end
        time.sleep(0.01)
    return [line for one in over for line in one.lines()]


@pytest.mark.parametrize("first", [0, 1])
def test_an_uplink_at_both_ends(pair, first):
    for number in (first, 1 - first):
        pair[number].start(*ports("eth0", f"one{number}"), "--uplink", 1, "--level", 1 + number, "--switch-number", number)
    assert set(ended(pair)) == {"--uplink 1: it is the uplink of the ina-bridge at its other end too: only the lower one of both gives --uplink"}


def test_each_above_the_other(pair):
    """By two cables."""
    for number in range(2):
        pair[number].start(*ports("eth0", f"one{number}", f"two{number}"), "--uplink", 1 + number, "--level", 1 + number, "--switch-number", number)
    possible = {LOOP.format(1, 2, 2), LOOP.format(2, 1, 1), LEVELS.format(1, 2).replace("1:", "2:")}
    pair[0].wait(lambda: pair[0].lines() + pair[1].lines())
    assert set(pair[0].lines() + pair[1].lines()) <= possible
    for one in pair:
        assert one.bridge.poll() == 2 or one.end()


def test_an_uplink_that_is_its_own_cable(pair):
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    fds = [end.fileno() for end in ends]
    pair[0].start(*ports("eth0", *(f"fd={fd}" for fd in fds)), "--uplink", 2, fds=fds)
    for end in ends:
        end.close()
    pair[0].wait_for(LOOP.format(2, 1, 1))
    pair[0].end()


def test_nobody_above(pair):
    """It is said once, and the bridge waits on."""
    pair[0].start(*ports("eth0", "one0"), "--uplink", 1)
    pair[0].wait_for("--uplink 1: no ina-bridge has answered at port 1: does it run?")
    time.sleep(2)
    pair[1].start(*ports("eth0", "one1"), "--level", 2, "--switch-number", 1)
    time.sleep(2)
    assert len(pair[0].lines()) == 1
    pair[0].end(), pair[1].end()


def test_a_host_pretends_a_loop(pair):
    """It closes only its own port."""
    above = pair[1].switch.packets("one1")
    host, other = pair[0].hosts[0].packets("eth0"), pair[1].switch.packets("two1")
    pair[0].start(*ports("eth0", "one0", "two0"), "--uplink", 1)
    question = above.receive()
    assert is_inquiry(question) and question[27:29] == bytes([1, 0])
    host.send(question)
    pair[0].wait_for(LOOP.format(1, 0, 0))
    host.send(question)
    frame = BROADCAST + packet(0, 99, 0, bytes(16), WRITE_ONLY, tos=0)[6:]
    other.send(frame)
    while is_inquiry(seen := above.receive()):
        pass
    assert seen == frame
    for end in (above, host, other):
        end.close()
    assert pair[0].end()["ports"][0]["tx_frames"] == 0
    assert pair[0].lines() == [LOOP.format(1, 0, 0)]


def test_questions_without_end(pair):
    """Each one goes to all other ports, so a port passes on a limited number in a second."""
    host, other = pair[0].hosts[0].packets("eth0"), pair[1].switch.packets("one1")
    other.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
    pair[0].start(*ports("eth0", "one0"))
    head = BROADCAST + bytes([2]) + bytes(5) + b"\x88\xb6ina-bridge\0\0" + bytes([1, 1, 0, 0, 0, 0]) + bytes([0, 0, 0, 9, 0, 0, 0, 1])
    begin = time.monotonic()
    for number in range(3000):
        host.send(head + number.to_bytes(8, "big") + bytes(16))
        time.sleep(0.0002)
    frame = BROADCAST + packet(0, 99, 0, bytes(16), WRITE_ONLY, tos=0)[6:]
    host.send(frame)
    count = 0
    while is_inquiry(seen := other.receive()):
        count += 1
    assert seen == frame and 256 <= count <= 256 * (2 + int(time.monotonic() - begin)) < 3000
    host.close(), other.close()
    pair[0].end()


def test_hosts_end_no_bridge(pair):
    """A host above sees the question, and tells it to one below: what they send later counts for nothing."""
    pair[1].start(*ports("eth0", "one1"), "--level", 2, "--switch-number", 1)
    above = pair[1].hosts[0].packets("eth0")
    pair[0].start(*ports("eth0", "one0"), "--uplink", 1)
    question = above.receive()
    assert is_inquiry(question) and question[27:29] == bytes([1, 1])  # a question that one bridge has passed on
    time.sleep(2)
    below = pair[0].hosts[0].packets("eth0")
    other = question[:-24] + bytes(24)
    for frame in (question, other[:28] + bytes(1) + other[29:], question[:27] + b"\x02" + question[28:]):
        for host in (below, above):
            host.send(frame)
    assert below.receive()[27] == 2  # the other question has its answer
    assert pair[0].bridge.poll() is None
    above.close(), below.close()
    pair[0].end(), pair[1].end()
