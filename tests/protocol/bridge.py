# SPDX-License-Identifier: Apache-2.0
"""ina-bridge with a socket pair for each port: starts it, exchanges frames with it, ends it and checks how it ended."""
import json
import os
import signal
import socket
import subprocess

from roce import WRITE_ONLY, packet, plain

BRIDGE = os.environ.get("INA_BRIDGE", "ina-bridge")
PATIENCE_S = 20
BROADCAST = b"\xff" * 6


def marker_mac(port):
    return b"\x0a\x00\x00\x00\x00" + bytes([port])


def marker(port, turn):
    """A frame to all other ports: a request that no aggregator takes, and that overtakes no frame."""
    frame = packet(200, 201, turn, bytes(16), WRITE_ONLY, tos=0, source_mac=marker_mac(port))
    return BROADCAST + frame[6:]


def spared_marker(port, turn):
    """A frame that no fault hits, because it is not RoCE. It overtakes frames that an aggregator or a fault holds back."""
    frame = plain(0, 0, turn.to_bytes(4, "big"))
    return BROADCAST + marker_mac(port) + frame[12:]


class Bridge:
    def __init__(self, folder, ports, arguments, kind):
        pairs = [socket.socketpair(socket.AF_UNIX, kind) for _ in range(ports)]
        self.turn = 0  # of markers
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

    def settle(self, make_marker=marker):
        """Waits until all frames that were sent have had their effect. Returns the frames that came, as one list for each port.

        Markers of all ports follow the frames that were sent. When all of these have come, the switch has received everything.
        The markers of a second turn come after all its consequences.
        """
        frames = [[] for _ in self.hosts]
        for _ in range(2):
            self.turn += 1
            for port in range(len(self.hosts)):
                self.send(port, make_marker(port, self.turn))
            for port, got in enumerate(frames):
                missing = {make_marker(other, self.turn) for other in range(len(self.hosts)) if other != port}
                while missing:
                    frame = self.receive(port)
                    if frame in missing:
                        missing.remove(frame)
                    else:
                        got.append(frame)
        return frames

    def end(self, how=signal.SIGTERM):
        """Ends the bridge by a signal or, with None, by closing all sockets. Returns its stats and stderr."""
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
