# SPDX-License-Identifier: Apache-2.0
"""The counters of ina-bridge by HTTP, in the text format of Prometheus (0.0.4), read with Python's HTTP client."""
import http.client
import re
import shutil
import socket
import subprocess
import time

import pytest

from bridge import BRIDGE, PATIENCE_S
from flows import Job
from roce import plain

# The lines of the format: https://prometheus.io/docs/instrumenting/exposition_formats/
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"({NAME})(\{{{LABEL}(?:,{LABEL})*\}})? (\d+)")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def served(start):
    """A bridge of two ports, whose job has made a sum."""
    bridge = start(2, "--metrics", port := free_port())
    bridge.port = port
    for host in range(2):
        bridge.send(host, plain(host, 99))
    bridge.settle()
    Job(bridge, 2).join()
    return bridge


def ask(bridge, path="/metrics", method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", bridge.port, timeout=PATIENCE_S)
    connection.request(method, path)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response, body


def read(text):
    """The samples. Checks that each metric has one HELP and one TYPE, in this order, before its samples, which are together."""
    samples, seen, name, kind = {}, set(), None, None
    lines = iter(text.splitlines())
    assert text.endswith("\n")
    for line in lines:
        if help_line := re.fullmatch(rf"# HELP ({NAME}) (\S.*)", line):
            name = help_line[1]
            assert name not in seen and "\\" not in line
            seen.add(name)
            kind = re.fullmatch(rf"# TYPE {name} (counter|gauge)", next(lines))[1]
            assert (kind == "counter") == name.endswith("_total")
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample and sample[1] == name, line
        assert (name, sample[2]) not in samples
        samples[name, sample[2]] = int(sample[3])
    return samples


def test_counters(served):
    response, text = ask(served)
    assert (response.status, response.getheader("Content-Type")) == (200, "text/plain; version=0.0.4; charset=utf-8")
    samples = read(text)
    stats = served.end()
    of_aggregator = {name: count for name, count in stats["aggregator"].items() if f"# TYPE ina_aggregator_{name}_total " in text}
    assert of_aggregator["joins_granted"] == 2 and len(of_aggregator) == len(stats["aggregator"]) - 5  # kind, ports and three sizes
    for name, count in of_aggregator.items():
        assert samples[f"ina_aggregator_{name}_total", '{switch="leaf0"}'] == count
    for port, counts in enumerate(stats["ports"]):
        for name in set(counts) - {"faults"}:
            assert samples[f"ina_port_{name}_total", f'{{port="{port}",interface=""}}'] == counts[name]
        assert samples["ina_port_up", f'{{port="{port}",interface=""}}'] == 1
    for name in "steered_frames", "drained_joins", "foreign_joins", "flooded_frames":
        assert samples[f"ina_switch_{name}_total", '{switch="leaf0"}'] == stats[name]
    assert samples["ina_contexts", '{switch="leaf0"}'] == stats["aggregator"]["jobs"]


def test_promtool(served):
    """Prometheus' own check of the format and the names."""
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed: the format was checked without it")
    done = subprocess.run(["promtool", "check", "metrics"], input=ask(served)[1], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")


def test_other_requests(served):
    assert [ask(served, path)[0].status for path in ("/", "/metrics/", "/x")] == [404] * 3
    response, _ = ask(served, method="POST")
    assert (response.status, response.getheader("Allow")) == (405, "GET, HEAD")
    response, body = ask(served, method="HEAD")
    assert (response.status, body) == (200, "")


def test_clients_that_misbehave(served):
    """Silence, garbage and a slow reader hold nothing up, and a client that does nothing is closed."""
    connect = [socket.create_connection(("127.0.0.1", served.port), PATIENCE_S) for _ in range(3)]
    connect[0].sendall(b"\0" * 100 + b"\r\n\r\n")
    connect[1].sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)
    job = Job(served, 2, job=7, qpn=0x70).join()
    assert job.is_summed()
    assert ask(served)[0].status == 200
    begin = time.monotonic()
    assert connect[2].recv(1) == b""
    assert time.monotonic() - begin < PATIENCE_S
    assert job.is_summed()
    for client in connect:
        client.close()


def test_bad_options(served):
    """One line for a wrong address, and for a port in use."""
    for where, text in (("x", "must be [ADDRESS:]PORT"), ("0", "must be"), ("70000", "must be"), ("localhost:80", "must be"), (":80", "must be"),
                        (str(served.port), "Address already in use")):
        ends = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
        ports = [f"--port=fd={end.fileno()}" for _, end in ends]
        done = subprocess.run([BRIDGE, "--aggregator", "off", *ports, "--metrics", where], capture_output=True, text=True, timeout=PATIENCE_S,
                              pass_fds=[end.fileno() for _, end in ends])
        for pair in ends:
            for end in pair:
                end.close()
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        assert done.stderr.startswith(f"ina-bridge: --metrics {where}: ") and text in done.stderr
