#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""In place of ina-bridge (INA_BRIDGE): two of them, joined by a veth pair. The second half of the ports is below, the rest above.

Takes the command line of ina-bridge; INA_REAL_BRIDGE names the program. Runs in the network namespace of the bridge, and ends as the
first of both does.
"""
import os
import signal
import subprocess
import sys

words = sys.argv[1:]
count = words.count("--port")
if not count:  # ina-lab only has its options checked
    os.execv(os.environ["INA_REAL_BRIDGE"], sys.argv)
ports, others = words[:2 * count], words[2 * count:]
above, below = ports[:count], ports[count:]
subprocess.run("ip link add uplink mtu 4200 type veth peer name downlink mtu 4200 && ip link set uplink up && ip link set downlink up",
               shell=True, check=True)
bridges = []
for command in ([*above, "--port", "downlink", "--level", "2", "--switch-number", "1"], [*below, "--port", "uplink", "--uplink", str(count // 2)]):
    bridges.append(subprocess.Popen([os.environ["INA_REAL_BRIDGE"], *command, *others]))
    if "--stats" in others:  # the other one has a file too
        others[others.index("--stats") + 1] += ".below"
signal.signal(signal.SIGTERM, lambda number, frame: [bridge.send_signal(number) for bridge in bridges])
code = bridges[0].wait()
bridges[1].terminate()
sys.exit(max(code, bridges[1].wait()))
