# SPDX-License-Identifier: Apache-2.0
"""The control socket of ina-bridge, and ina-ctl: what an operator sees of a running bridge, and what clients cannot do to it."""
import json
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import time

import pytest

from bridge import BRIDGE, PATIENCE_S, spared_marker
from flows import Flow, Job, quiet, wait_until_it_passes
from namespaces import Network
from roce import DATA, JOB, JOIN, WRITE_ONLY, checksum, mac, packet, payload_of, plain, trailer_of

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/man/man1/ina-ctl.1"
CTL = pathlib.Path(BRIDGE).with_name("ina-ctl")
CONTEXTS = 16
OTHER = 0xABCD


def ctl(path, *words, code=0):
    """stdout of ina-ctl, or its line on stderr if it fails."""
    done = subprocess.run([CTL, "--control", path, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


def name(job):
    return f"0x{job:016x}"


@pytest.fixture
def open_bridge(start, tmp_path):
    """A bridge with a control socket; ask() is its answer as JSON."""
    def open_one(ports, *options):
        path = tmp_path / "control"
        bridge = start(ports, "--control", path, *options)
        bridge.path = path
        bridge.ask = lambda *words: json.loads(ctl(path, "--json", *words))
        bridge.why = lambda: ctl(path, "why").splitlines()
        for port in range(ports):
            bridge.send(port, plain(port, 99))
        bridge.settle(spared_marker)  # no RoCE yet
        return bridge
    return open_one


def in_turn(job):
    """The JOIN of each rank, after that of the rank before."""
    for flow in job.flows:
        flow.say(JOIN)
        job.bridge.settle()
    return job


def only(bridge):
    (job,) = bridge.ask("jobs")
    return job


def test_jobs(open_bridge):
    """From the first JOIN to the end of a job; the addresses are those of tests/protocol."""
    bridge = open_bridge(3)
    assert bridge.ask("jobs") == []
    job = Job(bridge, 3)
    job.flows[0].say(JOIN, exponent=-32)
    bridge.settle()
    seen = only(bridge)
    assert (seen["job"], seen["state"], seen["ranks"], seen["joined"], seen["window"]) == (name(JOB), "joining", 3, 1, 32)
    assert seen["waits_for"] == [1, 2]
    assert seen["members"] == [{"rank": 0, "address": "192.0.2.1", "port": 0, "name": "", "waiting_packets": 1, "from_above": False,
                                "left": False}]
    for flow in job.flows[1:]:
        flow.say(JOIN, exponent=-32)
    bridge.settle()
    assert (only(bridge)["state"], only(bridge)["packets"], only(bridge)["waits_for"]) == ("idle", 1, [])
    assert job.is_summed()
    for rank in 0, 2:
        job.flows[rank].say(DATA, bytes(16))
    bridge.settle()
    seen = only(bridge)
    assert (seen["state"], seen["packets"], seen["waits_for"]) == ("waiting", 2, [1])
    assert [(member["rank"], member["port"], member["waiting_packets"]) for member in seen["members"]] == [(0, 0, 1), (1, 1, 0), (2, 2, 1)]
    assert 0 < seen["age_s"] < PATIENCE_S
    table = ctl(bridge.path, "jobs")
    assert name(JOB) in table and "192.0.2.3" in table
    job.flows[1].say(DATA, bytes(16))
    bridge.settle()
    job.leave()
    assert bridge.ask("jobs") == []


def test_form_of_addresses(open_bridge):
    bridge = open_bridge(2, "--trust-tags", "yes")
    Job(bridge, 2, forms=[{"ipv6": True, "vlan": 5 << 13 | 7}] * 2).join()
    seen = only(bridge)
    assert (seen["vlan"], seen["priority"]) == (7, 5)
    assert seen["members"][0]["address"] == "fe80:" + ":".join(["101"] * 7)


def test_ports_contexts_and_counters(open_bridge):
    bridge = open_bridge(2, "--quota", "5", "--jobs", CONTEXTS)
    Job(bridge, 2).join()
    port = bridge.ask("ports")[1]
    assert port["macs"][0] in (mac(1).hex(":"), "0a:00:00:00:00:01")
    assert (port["port"], port["link"], port["address"], port["marked_sends"]) == (1, "up", "192.0.2.2", 1)
    (contexts,) = bridge.ask("contexts")
    assert (contexts["contexts"], contexts["used"], contexts["free"]) == (CONTEXTS, 1, CONTEXTS - 1)
    assert (contexts["port_quota"], contexts["vlan_quota"], contexts["draining"]) == (5, CONTEXTS, False)
    now = bridge.ask("counters")
    assert now["aggregator"]["joins_granted"] == 2
    assert "MARKED" in ctl(bridge.path, "ports") and "QUOTA" in ctl(bridge.path, "contexts")
    assert "aggregator.joins_granted" in ctl(bridge.path, "counters")
    assert bridge.end() == now  # no frame has come since
    assert not bridge.path.exists()


def test_drain(open_bridge):
    """The job that runs continues, also with a JOIN that is retransmitted and one that is late; a new one is refused."""
    bridge = open_bridge(3)
    running, late = Job(bridge, 2).join(), Job(bridge, 3, job=OTHER, qpn=0x40)
    late.flows[0].say(JOIN)
    bridge.settle()
    assert ctl(bridge.path, "drain") == "draining: no new job is admitted\n"
    assert running.is_summed()
    again = Flow(bridge, 0, 1).packet(Flow(bridge, 0, 1).message(JOIN))
    bridge.send(0, again)
    (answer,) = bridge.settle()[1]
    assert trailer_of(payload_of(answer))[0] == 2
    for flow in late.flows[1:]:
        flow.say(JOIN)
    bridge.settle()
    assert late.is_summed()
    new = Job(bridge, 2, job=77, qpn=0x70)
    sent, got = new.put([flow.message(JOIN) for flow in new.flows])
    assert got == sent  # they pass
    assert "the switch is draining and admits no new job: ina-ctl drain --off" in bridge.why()
    assert bridge.ask("contexts")[0]["draining"] is True
    assert ctl(bridge.path, "drain", "--off") == "no longer draining\n"
    Job(bridge, 2, job=78, qpn=0x80).join()
    assert bridge.end()["drained_joins"] == 2


@pytest.mark.parametrize("quiet_s", [0, 0.2])
def test_forget(open_bridge, quiet_s):
    """The context is free, and packets pass raw; with a quiet time, all packets of the job are dropped first, as after a reset."""
    bridge = open_bridge(2, *quiet(quiet_s))
    wait_until_it_passes(bridge, 0, packet(0, 1, 0, bytes(16), qpn=0xABCDE))
    job, other = Job(bridge, 2).join(), Job(bridge, 2, job=OTHER, qpn=0x40).join()
    waiting = job.flows[0].packet(job.flows[0].message(DATA, bytes(16)))
    assert job.flows[0].put(waiting) == []
    with Client(bridge) as client:  # faster than ina-ctl: the quiet time begins
        assert client.ask({"version": 1, "ask": "forget", "job": name(JOB)}) == {"version": 1, "answer": 1}
        states = [seen["state"] for seen in client.ask({"version": 1, "ask": "jobs"})["answer"] if seen["job"] == name(JOB)]
    assert states == (["ending"] if quiet_s else [])
    if quiet_s:
        assert bridge.settle() == [[], []]
        assert wait_until_it_passes(bridge, 0, waiting) > 0
    else:
        assert job.flows[0].put(waiting) == [waiting]
    assert [seen["job"] for seen in bridge.ask("jobs")] == [name(OTHER)]
    assert other.is_summed()
    assert "no such job" in ctl(bridge.path, "forget", name(JOB), code=1)
    Job(bridge, 2, job=JOB, qpn=0x90).join()
    counters = bridge.end()["aggregator"]
    assert (counters["jobs_opened"], counters["jobs_closed"], counters["jobs_broken"], counters["packets_raw"]) == (3, 1, 1, 0)


def test_forget_frees_without_traffic(open_bridge):
    """An idle switch gets no ticks, but an operator sees the end of the quiet time."""
    bridge = open_bridge(2, *quiet(0.02))
    wait_until_it_passes(bridge, 0, packet(0, 1, 0, bytes(16), qpn=0xABCDE))
    Job(bridge, 2).join()
    assert ctl(bridge.path, "forget", name(JOB)) == "forgotten at 1 switch\n"
    end = time.monotonic() + PATIENCE_S
    while bridge.ask("jobs"):
        assert time.monotonic() < end


def test_fabric(open_bridge):
    """Ranks 0 and 1 are below leaf0, ranks 2 and 3 below leaf1. Each switch has the job; at the spine a leaf has one of its ranks."""
    bridge = open_bridge(4, "--topology", "leaf-spine:2x2", "--log")
    job = Job(bridge, 4)
    for flow in job.flows:  # docs/protocol.md, JOIN and LEAVE: the border's turn is level 2
        flow.say(JOIN, remaining=(2 if flow.rank % 2 else 1) << 24 | 2 << 8 | 2)
        bridge.settle()
    assert {seen["switch"]: (seen["state"], seen["children"], seen["packets"]) for seen in bridge.ask("jobs")} == {
        "leaf0": ("idle", 2, 1), "leaf1": ("idle", 2, 1), "spine0": ("idle", 2, 1)}
    assert bridge.why() == ["nothing wrong was seen: 3 contexts are in use, and no rank is late"]
    for flow in job.flows[:3]:
        flow.say(DATA, bytes(16))
    bridge.settle()
    states = {seen["switch"]: (seen["state"], seen["waits_for"]) for seen in bridge.ask("jobs")}
    assert states == {"leaf0": ("above", []), "leaf1": ("waiting", [3]), "spine0": ("waiting", [3])}
    assert len(bridge.why()) == 2 and all("waits for rank 3" in line for line in bridge.why())
    assert [row["used"] for row in bridge.ask("contexts")] == [1, 1, 1]
    assert ctl(bridge.path, "forget", name(JOB)) == "forgotten at 3 switches\n"
    assert bridge.ask("jobs") == []
    bridge.end()
    assert f"ina-bridge: switch 'spine0': job {name(JOB)}: complete: all have joined; window 64" in bridge.errors


def test_without_the_model(open_bridge):
    """The RTL has only counters, and without an aggregator there is nothing."""
    bridge = open_bridge(2, "--aggregator", "rtl")
    Job(bridge, 2).join()
    assert bridge.ask("contexts")[0]["used"] == 1
    assert bridge.ask("counters")["aggregator"]["joins_granted"] == 2
    for words in ["jobs"], ["drain"], ["forget", "1"]:
        assert ctl(bridge.path, *words, code=1).endswith(
            "the RTL does not tell of its jobs: use --aggregator model, or ask for contexts or counters\n")
    bridge.end()
    bridge = open_bridge(2, "--aggregator", "off")
    assert "no aggregator" in ctl(bridge.path, "jobs", code=1)
    assert bridge.why()[0] == "switch leaf0 has no aggregator: start ina-bridge with --aggregator model or rtl"


def test_bad_input(open_bridge, tmp_path):
    bridge = open_bridge(2)
    for words in [], ["port"], ["forget"], ["forget", "x"], ["jobs", "1"], ["jobs", "--off"], ["forget", "1", "2"]:
        line, hint = ctl(bridge.path, *words, code=2).splitlines()
        assert line.startswith("ina-ctl: ") and hint.startswith("Try")
    assert ctl("x" * 200, "jobs", code=2)
    nobody = tmp_path / "nobody"
    assert ctl(nobody, "jobs", code=1) == f"ina-ctl: {nobody}: no ina-bridge listens there: start it with --control\n"
    done = subprocess.run([BRIDGE, "--port", "a0", "--port", "a1", "--control-mode", "888"], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, "octal" in done.stderr) == (2, True)


def listen(path, answer):
    """A program at the socket that is no ina-bridge of this version."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    process = subprocess.Popen([CTL, "--control", path, "jobs"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    client, _ = server.accept()
    assert json.loads(client.recv(1000)) == {"version": 1, "ask": "jobs"}
    client.sendall(answer)
    client.close()
    _, errors = process.communicate(timeout=PATIENCE_S)
    server.close()
    assert process.returncode == 1 and errors.count("\n") == 1
    return errors


def test_the_page():
    """The man page names all requests and options that --help lists, and no other; its form is right."""
    shown = subprocess.run([CTL, "--help"], capture_output=True, text=True, timeout=PATIENCE_S).stdout
    requests = re.search(r"ina-ctl \[OPTION\.\.\.\] (\S+) JOB\|(\S+)", shown)
    text = PAGE.read_text()
    assert set(re.findall(r"^\.It Cm (\w+)", text, re.M)) == {*requests[1].split("|"), requests[2]}
    assert set(re.findall(r"^\.It Fl -(\w+)", text, re.M)) == set(re.findall(r"--(\w+)", shown)) - {"help", "usage"}
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", PAGE], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (lint.stdout, lint.returncode) == ("", 0)


@pytest.mark.parametrize("answer", [b'{"version": 2, "answer": []}\n', b"[]\n", b"hello\n"])
def test_another_version(tmp_path, answer):
    assert listen(tmp_path / "x", answer).endswith("it is an ina-bridge of another version, or another program\n")


def test_another_version_of_ctl(open_bridge):
    with Client(open_bridge(2)) as client:
        assert "version 1" in client.ask({"version": 2, "ask": "jobs"})["error"]


class Client(socket.socket):
    def __init__(self, bridge):
        super().__init__(socket.AF_UNIX)
        self.settimeout(PATIENCE_S)
        self.connect(str(bridge.path))

    def line(self):
        line = b""
        while not line.endswith(b"\n") and (got := self.recv(1 << 20)):
            line += got
        return line

    def ask(self, request):
        self.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(self.line())


@pytest.mark.parametrize("sent", [b"\0\n", b"{}\n", b"[" * 5000, b"x" * 5000, b'{"version": 1}\n', b"\n", b"\xff\xfe\n", b'{"version":1,"ask":7}\n',
                                  b'{"version":1,"ask":"drain","on":7}\n', b'{"version":1,"ask":"forget","job":7}\n'], ids=range(10))
def test_garbage(open_bridge, sent):
    """One error, and the connection ends. Others are served."""
    bridge = open_bridge(2)
    with Client(bridge) as client:
        client.sendall(sent)
        assert set(json.loads(client.line())) == {"version", "error"}
        try:
            assert client.recv(1) == b""
        except ConnectionResetError:
            pass  # what it sent beyond that was not read
    assert bridge.ask("jobs") == []
    assert Job(bridge, 2).join().is_summed()


def test_random_garbage(open_bridge, rng):
    bridge = open_bridge(2)
    good = b'{"version": 1, "ask": "jobs", "job": "0x1"}'
    for _ in range(200):
        with Client(bridge) as client:
            text = bytearray(good)
            for _ in range(rng.randrange(1, 6)):
                text[rng.randrange(len(text))] = rng.randrange(256)
            client.sendall(text + b"\n")
            assert set(json.loads(client.line())) <= {"version", "error", "answer"}
    assert bridge.ask("jobs") == []


def test_several_requests(open_bridge):
    """On one connection, together and in pieces."""
    with Client(open_bridge(2)) as client:
        request = b'{"version": 1, "ask": "contexts"}\n'
        client.sendall(request * 3 + request[:9])
        answers = b""
        while answers.count(b"\n") < 3:
            answers += client.recv(1 << 20)
        client.sendall(request[9:])
        assert json.loads(client.line()) == json.loads(answers.splitlines()[2])


def test_requests_before_the_end(open_bridge):
    """A client that sends nothing more, as in `printf ... | nc -U`, still gets all answers."""
    with Client(open_bridge(2)) as client:
        client.sendall(b'{"version": 1, "ask": "contexts"}\n' * 3)
        client.shutdown(socket.SHUT_WR)
        answers = b""
        while got := client.recv(1 << 20):
            answers += got
    assert [json.loads(line)["version"] for line in answers.splitlines()] == [1] * 3


def test_clients_that_do_nothing(open_bridge):
    """At most eight clients; the switch works, and they are gone after their time."""
    bridge = open_bridge(2)
    clients = [Client(bridge) for _ in range(8)]
    job = Job(bridge, 2).join()
    with Client(bridge) as one_more:
        assert "too many clients" in json.loads(one_more.line())["error"]
    assert job.is_summed()
    clients.pop().close()
    assert ctl(bridge.path, "jobs")
    begin = time.monotonic()
    for client in clients:
        assert client.recv(1) == b""
    assert time.monotonic() - begin < PATIENCE_S
    for client in clients:
        client.close()


def test_a_client_that_does_not_read(open_bridge):
    bridge = open_bridge(2)
    client = Client(bridge)
    client.setblocking(False)
    request = b'{"version": 1, "ask": "counters"}\n'
    with pytest.raises(BlockingIOError):
        while True:
            client.send(request * 100)
    assert Job(bridge, 2).join().is_summed()
    assert bridge.ask("contexts")[0]["used"] == 1
    client.close()
    assert bridge.ask("contexts")[0]["used"] == 1


def test_the_file(open_bridge, tmp_path):
    """Its mode, a file that a dead process left, that of a live one, and one that is no socket."""
    bridge = open_bridge(2, "--control-mode", "640")
    assert stat.S_IMODE(os.stat(bridge.path).st_mode) == 0o640

    def refused(path):
        ends = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
        ports = [f"--port=fd={end.fileno()}" for _, end in ends]
        done = subprocess.run([BRIDGE, "--aggregator", "off", *ports, "--control", path], capture_output=True, text=True, timeout=PATIENCE_S,
                              pass_fds=[end.fileno() for _, end in ends])
        for pair in ends:
            for end in pair:
                end.close()
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        return done.stderr

    assert refused(bridge.path).endswith("another process is listening there: give another path\n")
    assert bridge.ask("jobs") == []
    bridge.process.send_signal(signal.SIGKILL)
    bridge.process.wait(timeout=PATIENCE_S)
    assert bridge.path.exists()
    next_one = open_bridge(2)
    assert stat.S_IMODE(os.stat(next_one.path).st_mode) == 0o600
    next_one.end()
    assert not next_one.path.exists()
    next_one.path.write_text("mine")
    assert "no socket" in refused(next_one.path)
    assert next_one.path.read_text() == "mine"
    assert "No such file" in refused(tmp_path / "no" / "x")
    assert "characters" in refused("x" * 200)


def test_why_nothing_and_no_roce(open_bridge):
    bridge = open_bridge(2)
    frames = sum(port["rx_frames"] for port in bridge.ask("ports"))
    assert bridge.why() == [f"{frames} frames came, but no RoCEv2 (UDP port 4791): start the job, and let its RDMA devices be those at this "
                            "switch's ports"]
    Job(bridge, 2).join()
    assert bridge.why() == ["nothing wrong was seen: 1 contexts are in use, and no rank is late"]


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_why_unmarked(open_bridge, kind):
    """With a SEND, and with a JOIN, whose mark is lost at port 1."""
    bridge = open_bridge(2, "--aggregator", kind)
    bridge.send(1, packet(1, 0, 5, bytes(64), tos=26 << 2))
    bridge.settle()
    (line,) = bridge.why()
    assert "port 1: 1 SENDs, none marked with DSCP 43 (the last has DSCP 26" in line
    Flow(bridge, 1, 0, rank=1, tos=10 << 2).say(JOIN)
    bridge.settle()
    assert any(f"job {name(JOB)}: the JOIN of rank 1 (192.0.2.2, port 1) has DSCP 10, not 43" in line for line in bridge.why())


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_why_a_rank_is_missing(open_bridge, kind):
    """Rank 2 of 3 is at 192.0.2.3: it has not sent anything, or no JOIN."""
    bridge = open_bridge(3, "--aggregator", kind)
    job = Job(bridge, 3)
    for flow in job.flows[:2]:
        flow.say(JOIN)
    bridge.settle()
    (line,) = bridge.why()
    assert f"job {name(JOB)}: JOINs of 2 of 3 ranks have come" in line
    assert "rank 2, at 192.0.2.3 is missing: no frame has come from there: is the host at a port of this switch?" in line
    bridge.send(2, packet(2, 0, 5, bytes(64), WRITE_ONLY))
    bridge.settle()
    (line,) = bridge.why()
    assert line.endswith("rank 2, at 192.0.2.3 is missing: look whether its process runs")


def test_why_a_rank_is_late(open_bridge):
    bridge = open_bridge(2)
    Job(bridge, 2).join().flows[0].say(DATA, bytes(16))
    bridge.settle()
    (line,) = bridge.why()
    assert f"job {name(JOB)}: waits for rank 1 at port 1, which has sent no marked packet for " in line


def test_why_contexts(open_bridge):
    """All contexts in use, and a port that has opened its quota."""
    bridge = open_bridge(2, "--jobs", "1")
    Job(bridge, 2).join()
    in_turn(Job(bridge, 2, job=OTHER, qpn=0x40))
    (line,) = bridge.why()
    assert line == f"job {name(OTHER)}: a JOIN at port 0 was refused: no context is free: raise --jobs, or end a job (ina-ctl jobs)"
    bridge.end()
    bridge = open_bridge(2, "--quota", "1")
    Flow(bridge, 0, 1).say(JOIN)
    bridge.settle()
    Flow(bridge, 0, 1, job=OTHER, qpn=0x40).say(JOIN)
    bridge.settle()
    assert any(f"job {name(OTHER)}: a JOIN at port 0 was put off: its port has opened its quota" in line for line in bridge.why())


def test_why_vlans_differ(open_bridge):
    bridge = open_bridge(2)
    in_turn(Job(bridge, 2, forms=[{"vlan": 7}, {}]))
    assert any("rank 0 is in VLAN 7, and rank 1 in VLAN 0 (0: none): use one VLAN" in line for line in bridge.why())


def test_why_broken(open_bridge):
    """Packets that belong together have different lengths: 1024 bytes at one MTU, all 2048 at another."""
    bridge = open_bridge(2)
    job = Job(bridge, 2).join()
    whole = [flow.message(DATA, bytes(2000)) for flow in job.flows]
    job.flows[0].go_on(whole[0][:1024], opcode=0)
    job.flows[1].go_on(whole[1])
    bridge.settle()
    assert only(bridge)["state"] == "broken"
    assert any(f"packets that belong together have 1024 and {len(whole[1])} bytes (port 1): give all hosts the same MTU" in line
               for line in bridge.why())


def routed(frame, gateway, ttl):
    """The frame as a router sends it on: another TTL and source address, and the IPv4 checksum for them."""
    header = frame[14:22] + bytes([ttl]) + frame[23:24] + bytes(2) + frame[26:34]
    header = header[:10] + checksum(header).to_bytes(2, "big") + header[12:]
    return frame[:6] + gateway + frame[12:14] + header + frame[34:]


def test_why_a_router(open_bridge):
    bridge = open_bridge(2)
    job = Job(bridge, 2)
    job.flows[0].say(JOIN)
    flow = job.flows[1]
    bridge.send(1, routed(flow.packet(flow.message(JOIN)), mac(77), 63))
    bridge.settle()
    lines = bridge.why()
    assert sum("a router is between rank" in line for line in lines) == 2, lines  # the way there, and the TTL on the way back


def test_why_another_port(open_bridge):
    bridge = open_bridge(3)
    bridge.send(0, packet(0, 1, 5, bytes(64)))
    bridge.settle()
    flow = Flow(bridge, 0, 1)
    bridge.send(2, flow.packet(flow.message(JOIN)))
    bridge.settle()
    assert any("the JOIN of rank 0 came from port 2, but 192.0.2.1 was last seen at another port" in line for line in bridge.why())


def test_why_two_hosts_have_one_mac(open_bridge):
    """As QEMU machines have without mac=. A host that moves to another port once is no fault."""
    bridge = open_bridge(3)
    bridge.send(2, plain(0, 99))
    bridge.settle(spared_marker)
    assert not any("MAC" in line for line in bridge.why())
    bridge.send(0, plain(0, 99))
    bridge.settle(spared_marker)
    assert bridge.why()[0] == (f"MAC address {':'.join(f'{byte:02x}' for byte in mac(0))} was seen at port 2 and at port 0 in turn: two hosts "
                               "have it, or frames go round: give each host its own, and connect no switches in a ring")


def test_log(open_bridge):
    """A line for each event of a job, once, also if hosts repeat a JOIN."""
    bridge = open_bridge(2, "--log", "--jobs", "1")
    job, other = in_turn(Job(bridge, 2)), Job(bridge, 2, job=OTHER, qpn=0x40)
    for _ in range(3):
        in_turn(other)
    job.leave()
    broken = Job(bridge, 2, job=5, qpn=0x50).join()
    broken.put([broken.flows[0].message(DATA, bytes(16)), broken.flows[1].message(DATA, bytes(32))])
    bridge.ask("forget", "5")
    bridge.end()
    lines = [line.removeprefix("ina-bridge: ") for line in bridge.errors.splitlines()]
    prefix = f"job {name(JOB)}: "
    assert lines[:3] == [prefix + "admitted, with a JOIN of rank 0 at port 0; it has 2 ranks", prefix + "complete: all have joined; window 128",
                         f"job {name(OTHER)}: JOIN at port 0 refused: no context is free"]
    assert lines[3].startswith(prefix + "ended after ") and lines[3].endswith(" s and 2 summed packets")
    assert lines[6:7] == [f"job {name(5)}: broken, its hosts continue without the switch: packets of two ranks that belong together have "
                          "different lengths: 64 and 80 bytes (port 1)"]
    assert lines[7].startswith(f"job {name(5)}: ended after ") and len(lines) == 8


def test_log_is_limited(open_bridge):
    """A host that makes jobs break all the time cannot fill the disk."""
    bridge = open_bridge(2, "--log")
    begin = time.monotonic()
    for turn in range(100):
        Job(bridge, 2, job=1000 + turn, qpn=0x100 + turn).join().leave()
    bridge.end()
    lines = bridge.errors.splitlines()
    seconds = time.monotonic() - begin + 2  # the first and the last one are parts of seconds
    assert 20 <= len(lines) <= 21 * seconds, f"of 300, in {seconds} s"


def test_no_log(open_bridge):
    bridge = open_bridge(2)
    Job(bridge, 2).join()
    bridge.end()
    assert bridge.errors == ""


def test_interfaces(tmp_path):
    """Real interfaces: names, links and MTUs; the log is on without --log."""
    network = Network(tmp_path, 2, quiet=True)
    try:
        path = tmp_path / "control"
        network.start("--port", "eth0", "--port", "eth1", "--control", path)
        hosts = [host.packets("eth0") for host in network.hosts]
        job = [Flow(None, port, 1 - port, rank=port) for port in range(2)]
        for flow, host in zip(job, hosts):
            host.send(flow.packet(flow.message(JOIN)))
        for host in hosts:
            assert trailer_of(payload_of(host.receive()))[0] == 2
        ports = json.loads(ctl(path, "--json", "ports"))
        assert [(port["name"], port["link"], port["mtu"], port["address"]) for port in ports] == [
            ("eth0", "up", 1500, "192.0.2.1"), ("eth1", "up", 1500, "192.0.2.2")]
        (seen,) = json.loads(ctl(path, "--json", "jobs"))
        assert [member["name"] for member in seen["members"]] == ["eth0", "eth1"]
        assert any("complete: all have joined" in line for line in network.lines(of_jobs=True))
        network.switch.ip("link set eth1 down")
        network.wait(lambda: "port 1 (eth1): the link is down" in ctl(path, "why"))
        assert json.loads(ctl(path, "--json", "ports"))[1]["link"] == "down"
        network.end()
        assert not path.exists()
    finally:
        network.close()
