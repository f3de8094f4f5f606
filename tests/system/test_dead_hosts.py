# SPDX-License-Identifier: Apache-2.0
"""A host that is killed, frozen or cut off: the others learn of it in time, by name, and continue without it."""
import re
from pathlib import Path

import pytest
from lab import LAB, run

CHECK = Path(LAB).parent / "check_survivors"
N = 4
AGGREGATORS = {"model": ["--aggregator", "model"], "off": ["--aggregator", "off"],
               "reset": ["--aggregator", "model", "--reset-every", "150"]}  # there are always messages on the way out or back
# When all are connected and have made dozens of all-reduces.
MIDST_S = {"model": 0.001, "off": 0.001, "reset": 0.01}


# A frozen host and one whose cable is cut are the same to the others: nothing answers.
@pytest.mark.parametrize("aggregator, how, arguments", [
    ("model", "kill", [2]), ("model", "kill", [0]), ("model", "kill", [1, "late"]), ("off", "kill", [3, "late"]),
    ("reset", "kill", [1]), ("model", "kill", [2, "busy", 0]), ("model", "kill", [0, "busy", 1]), ("off", "kill", [2, "busy", 0]),
    ("model", "cut", [2]), ("model", "cut", [0]), ("off", "cut", [2]), ("reset", "cut", [3]), ("model", "cut", [1, "timeout", 1000]),
    ("model", "cut", [1, "timeout", 20000]), ("off", "cut", [0, "timeout", 1000]), ("off", "kill", [2, "timeout", 20000]),
    ("model", "cut", [2, "busy", 0]), ("model", "cut", [0, "busy", 1]), ("model", "cut", [3, "busy", 2])],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, list) else value)
def test_a_host_is_gone(tmp_path, aggregator, how, arguments):
    """In virtual time, where seconds do not depend on the machine: after peer_timeout_ms, by default 5 s, and at most 2 s later.
    That holds also while another rank, even rank 0, makes no call.
    """
    victim, *others = arguments
    busy = others[1] if "busy" in others else None
    timeout_s = others[1] / 1000 if "timeout" in others else 5
    result = run(tmp_path, N, ["--virtual-time", *AGGREGATORS[aggregator], f"--{how}", f"{victim}:{MIDST_S[aggregator]}s"],
                 [CHECK, *arguments])
    heard_s = {int(rank): float(seconds) for rank, seconds in re.findall(r"heard: rank (\d) after ([0-9.]+) s", result.out)}
    survivors = set(range(N)) - {victim}
    assert {int(rank) for rank in re.findall(r"fine: rank (\d)", result.out)} == survivors, result
    assert all(timeout_s - 0.2 <= heard_s[rank] <= timeout_s + 2 for rank in survivors - {busy}), result
