#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures ina-bridge on network interfaces: a job of four hosts, whose devices are veth pairs in network namespaces.

A host sends a packet when its window of 64 packets allows, and acknowledges each message of 16 packets, so nothing is lost.
The hosts are one process (tests/bench/switch_load.c), the switch is another one, and they take turns on one core. So the switch
always finds whole windows of frames, as it does under full load:

    forwarding   ina-bridge --aggregator off
    aggregating  ina-bridge --aggregator model: every packet that arrives carries the sum
    ceiling      only receives and sends on packet sockets (tests/bench/packet_ceiling.c)
    linux        a Linux bridge, which does its work in the hosts' system calls

A figure per core is per second of the switch's processor time, so other load of the machine matters little. The Linux bridge has
no process: compare the processor time of hosts and switch together. The model alone has no sockets (tests/bench/model_alone.c).

    tests/bench/switch.py [--build build] [--seconds 2] [--sets 3] [--json FILE]
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HOSTS = 4
PAYLOADS = 1024, 4096
MTU = 4200
PATIENCE_S = 30
MESSAGES = 20000  # of the model alone
WAYS = "ceiling", "forwarding", "aggregating", "linux"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="the folder with the programs (build)")
    parser.add_argument("--seconds", type=float, default=2, help="of one measurement (2)")
    parser.add_argument("--sets", type=int, default=3, help="each set has one measurement of each row; the median counts (3)")
    parser.add_argument("--messages", type=int, default=MESSAGES, help=f"of 16 packets, of the model alone ({MESSAGES})")
    parser.add_argument("--json", help="also write the result to this file")
    options = parser.parse_args()
    if options.seconds <= 0 or options.sets < 1 or options.messages < 1:
        parser.error("--seconds, --sets and --messages must be positive")
    return options


class Namespace:
    """A network namespace. It exists as long as a process in it, which ends when this process does."""

    def __init__(self, stack, first=None):
        command = [*first.enter(), "unshare", "-n"] if first else ["unshare", "-Urn"]
        self.process = subprocess.Popen([*command, "sh", "-c", "echo ready; exec cat"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        stack.callback(self.close)
        if self.process.stdout.readline() != "ready\n":
            sys.exit("switch: this machine forbids network namespaces: run it as root, or allow user namespaces")

    def enter(self):
        return ["nsenter", f"--target={self.process.pid}", "--user", "--net", "--preserve-credentials"]

    def run(self, script):
        subprocess.run([*self.enter(), "sh", "-ec", script], check=True, timeout=PATIENCE_S)

    def packet_sockets(self):
        """The number of packet sockets that are bound to an interface."""
        with open(f"/proc/{self.process.pid}/net/packet", encoding="ascii") as file:
            return sum(line.split()[4] != "0" for line in list(file)[1:])

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)


def make_cables(switch, hosts):
    """Pairs s0-h0 to s3-h3. Without IPv6, they carry the job's frames only."""
    for i in range(HOSTS):
        switch.run(f"ip link add s{i} mtu {MTU} type veth peer name h{i} mtu {MTU} netns {hosts.process.pid}")
    for side, name in (switch, "s"), (hosts, "h"):
        side.run("".join(f"echo 1 > /proc/sys/net/ipv6/conf/{name}{i}/disable_ipv6; ip link set {name}{i} up\n"
                         for i in range(HOSTS)))


def core():
    """The last core. The scheduler does not let a process interrupt another one of this policy."""
    return ["chrt", "--batch", "0", "taskset", "-c", str(max(os.sched_getaffinity(0)))]


def cpu_s(process):
    """The processor time of a process, in user and kernel mode. Its first number is in nanoseconds."""
    with open(f"/proc/{process.pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


@contextlib.contextmanager
def linux_bridge(switch):
    switch.run("ip link add name bridge0 type bridge mcast_snooping 0; echo 1 > /proc/sys/net/ipv6/conf/bridge0/disable_ipv6; ip link set bridge0 up;"
               + "".join(f"ip link set s{i} master bridge0;" for i in range(HOSTS)))
    try:
        yield None
    finally:
        switch.run("ip link del bridge0")


@contextlib.contextmanager
def program(switch, command, folder):
    with open(os.path.join(folder, "stderr"), "w+", encoding="utf-8") as log:
        process = subprocess.Popen([*switch.enter(), *core(), *command], stderr=log, stdin=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + PATIENCE_S
            while switch.packet_sockets() < HOSTS:  # a frame that comes before they are open is lost, and switch_load fails
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    sys.exit(f"switch: {command[0]} did not start: {log.read().strip()}")
                time.sleep(0.01)
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def open_switch(options, way, switch, folder):
    ports = [f"s{i}" for i in range(HOSTS)]
    bridge = [os.path.join(options.build, "ina-bridge"), *(f"--port={port}" for port in ports)]
    if way == "linux":
        return linux_bridge(switch)
    if way == "ceiling":
        return program(switch, [os.path.join(options.build, "packet_ceiling"), *ports], folder)
    return program(switch, [*bridge, "--aggregator", "model" if way == "aggregating" else "off"], folder)


def load(options, hosts, way, payload):
    command = [*hosts.enter(), *core(), os.path.join(options.build, "switch_load"),
               "summed" if way == "aggregating" else "forwarded", str(payload), str(options.seconds),
               *(f"h{i}" for i in range(HOSTS))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds + PATIENCE_S, check=False)
    if done.returncode:
        sys.exit(f"switch: {way}, {payload} bytes: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measure(options, way, payload):
    """One measurement, in new namespaces."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        switch = Namespace(stack)
        hosts = Namespace(stack, switch)
        make_cables(switch, hosts)
        with open_switch(options, way, switch, folder) as process:
            before_s = cpu_s(process) if process else 0
            result = load(options, hosts, way, payload)
            result["switch_cpu_s"] = cpu_s(process) - before_s if process else 0
    return result


def measure_model(options, payload):
    done = subprocess.run([*core(), os.path.join(options.build, "model_alone"), str(payload), str(options.messages)],
                          capture_output=True, text=True, timeout=10 * PATIENCE_S, check=False)
    if done.returncode:
        sys.exit(f"switch: model alone, {payload} bytes: {done.stderr.strip()}{done.stdout.strip()}")
    result = json.loads(done.stdout)
    return {**result, "switch_cpu_s": result["cpu_s"], "cpu_s": 0, "wall_s": result["cpu_s"]}


def row(results):
    """Medians over the sets."""
    def median(value):
        return statistics.median(value(result) for result in results)

    has_process = results[0]["switch_cpu_s"] > 0
    return {
        "frames_per_core_s": median(lambda r: r["frames"] / r["switch_cpu_s"]) if has_process else None,
        "gbps_per_core": median(lambda r: 8e-9 * r["bytes"] / r["switch_cpu_s"]) if has_process else None,
        "cpu_us_per_frame": median(lambda r: 1e6 * (r["switch_cpu_s"] + r["cpu_s"]) / r["frames"]),
        "wall_gbps": median(lambda r: 8e-9 * r["bytes"] / r["wall_s"]),
        "shortest_s": min(result["wall_s"] for result in results),
    }


def text(value, form):
    return "-" if value is None else format(value, form)


def main():
    options = parse()
    results = {}
    for _ in range(options.sets):
        for payload in PAYLOADS:
            for way in WAYS:
                results.setdefault((payload, way), []).append(measure(options, way, payload))
            results.setdefault((payload, "model alone"), []).append(measure_model(options, payload))
    print(f"# {HOSTS} ports, int32 sums, medians of {options.sets} measurements of {options.seconds:g} s; {os.cpu_count()} cores, "
          f"load {os.getloadavg()[0]:.1f}")
    print("# frames and bytes are those that come in; us a frame: hosts and switch together")
    print(f"# {'payload':>7} {'switch':12} {'frames/core s':>13} {'Gb/s/core':>9} {'us a frame':>10} {'Gb/s by wall':>12}")
    table = []
    for (payload, way), of_way in results.items():
        table.append({"payload": payload, "switch": way, **row(of_way)})
        last = table[-1]
        print(f"  {payload:7} {way:12} {text(last['frames_per_core_s'], '13.0f'):>13} {text(last['gbps_per_core'], '9.2f'):>9} "
              f"{last['cpu_us_per_frame']:10.2f} {last['wall_gbps']:12.2f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"cores": os.cpu_count(), "rows": table}, file, indent=1)


if __name__ == "__main__":
    main()
