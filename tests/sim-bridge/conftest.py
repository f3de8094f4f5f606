# SPDX-License-Identifier: Apache-2.0
"""Starts ina-bridge with a socket pair a port; ends it, and looks at how it ended."""
import json
import os
import random
import signal
import socket
import subprocess

import pytest

BRIDGE = os.environ.get("INA_BRIDGE", "ina-bridge")
PATIENCE_S = 20


class Bridge:
    def __init__(self, folder, ports, arguments, kind):
        pairs = [socket.socketpair(socket.AF_UNIX, kind) for _ in range(ports)]
        self.stats_path = folder / "stats.json"
        self.hosts = [host for host, _ in pairs]
        command = [BRIDGE, "--stats", str(self.stats_path)]
        for _, end in pairs:
            command += ["--port", f"fd={end.fileno()}"]
        self.process = subprocess.Popen(command + [str(a) for a in arguments], stderr=subprocess.PIPE,
                                        pass_fds=[end.fileno() for _, end in pairs])
        for host, end in pairs:
            end.close()
            host.settimeout(PATIENCE_S)
            host.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)

    def send(self, port, frame):
        self.hosts[port].send(frame)

    def receive(self, port):
        return self.hosts[port].recv(65536)

    def receive_all(self, port, quiet_s=0.3):
        """Everything that comes until nothing has come for a while."""
        frames = []
        self.hosts[port].settimeout(quiet_s)
        try:
            while True:
                frames.append(self.receive(port))
        except socket.timeout:
            return frames
        finally:
            self.hosts[port].settimeout(PATIENCE_S)

    def is_silent(self, port):
        return self.receive_all(port, 0.1) == []

    def end(self, how=signal.SIGTERM):
        """Ends it by a signal, or (None) by closing all sockets. Returns its stats and stderr."""
        if how is None:
            for host in self.hosts:
                host.close()
        else:
            self.process.send_signal(how)
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        self.errors = errors.decode()
        assert self.process.returncode == 0, self.errors
        return json.loads(self.stats_path.read_text())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=PATIENCE_S)
        for host in self.hosts:
            host.close()


@pytest.fixture
def start(tmp_path):
    bridges = []

    def start_one(ports, *arguments, kind=socket.SOCK_SEQPACKET):
        if "--aggregator" not in arguments:
            arguments += ("--aggregator", "model")
        folder = tmp_path / str(len(bridges))
        folder.mkdir()
        bridges.append(Bridge(folder, ports, arguments, kind))
        return bridges[-1]

    yield start_one
    for bridge in bridges:
        bridge.close()


@pytest.fixture
def rng():
    seed = int(os.environ.get("INA_SEED", "1"), 0)
    print(f"INA_SEED={seed}")
    return random.Random(seed)
