# SPDX-License-Identifier: Apache-2.0
"""Options for networks with firewalls and classes of traffic, in virtual time: the ports at which ranks listen, and the marks of
their packets."""
import re

import pytest
from lab import PERF, run
from roce_capture import IN, SEND_OPCODES, read
from test_virtual_time import VIRTUAL

LITTLE = ["-b", "4K", "-e", "4K", "-n", "1", "-w", "0"]


@pytest.mark.parametrize("variables, aggregated, others", [
    ([], (43, 2), (0, 0)),
    (["INA_DSCP=10", "INA_TRAFFIC_CLASS=0x61"], (10, 2), (24, 1)),
])
def test_traffic_classes(variables, aggregated, others, tmp_path):
    """DSCP and ECN of the connections to the aggregator, and of the ring's: without an aggregator, both are used."""
    path = tmp_path / "run.pcap"
    result = run(tmp_path, 2, [*VIRTUAL, "--aggregator", "off", "--pcap", path], ["env", *variables, PERF, *LITTLE])
    assert result.code == 0, result
    marks = {(frame.dscp, frame.ecn) for frame in read(path) if frame.direction == IN and frame.opcode in SEND_OPCODES}
    assert marks == {aggregated, others}


# While rank 0 waits, it listens for ranks that open the communicator, and for its neighbours.
LISTENS = """
if [ $INA_RANK = 1 ]; then sleep 4; exec "$0" "$@"; fi
"$0" "$@" & sleep 2
while read -r _ local _ state _; do [ $state != 0A ] || echo "port $((16#${local#*:}))"; done </proc/net/tcp
wait $!"""


@pytest.mark.parametrize("variables, first, last", [("INA_PORTS=20000-20019", 20000, 20019), ("INA_PORTS=30000-30001", 30000, 30001)])
def test_ports(variables, first, last, tmp_path):
    result = run(tmp_path, 2, [*VIRTUAL, "--aggregator", "off"], ["env", variables, "bash", "-c", LISTENS, PERF, *LITTLE])
    assert result.code == 0, result
    ports = sorted(int(port) for port in re.findall(r"port (\d+)", result.out))
    middle = (first + last + 1) // 2
    assert len(ports) == 2 and first <= ports[0] < middle <= ports[1] <= last, ports
