# SPDX-License-Identifier: Apache-2.0
"""libina's correctness checks on QEMU hosts, with each kernel of INA_QEMU_KERNELS (FILE:FILE) and with all of them in one run."""
import os
import subprocess

import pytest
from conftest import LAB

FOLDER = os.path.dirname(LAB)
KERNELS = [name for name in os.environ.get("INA_QEMU_KERNELS", "").split(":") if name]
pytestmark = pytest.mark.skipif(not KERNELS, reason="INA_QEMU_KERNELS names no kernels")

# Each host's kernel: an index into KERNELS, the last of which another machine's distribution has; None: User Mode Linux.
MIXTURES = {"first": [0, 0, 0], "last": [-1, -1, -1], "both": [0, -1, 0], "with_uml": [0, -1, None]}
# As hostlib.lab runs them, but in real time; the first word is the aggregator.
CHECKS = ["model check_api ina", "off check_calls chained", "model check_calls threads", "model check_collectives ina 100",
          "off check_collectives ring 100", "model check_numbers ina", "model check_fixed", "model check_fork 1 busy",
          "model check_mismatch count longer zero type op calls exit", "model check_abort wait float64 outside close alone opening",
          "model check_steady ina"]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("mixture", MIXTURES)
def test_check(mixture, check):
    aggregator, program, *arguments = check.split()
    kernels = [word for host, index in enumerate(MIXTURES[mixture]) if index is not None
               for word in ("--kernel", f"{host}:{KERNELS[index]}")]
    line = [LAB, "run", "-q", "-n", "3", "--aggregator", aggregator, *kernels, "--timeout", "300", "--",
            os.path.join(FOLDER, program), *arguments]
    run = subprocess.run(line, capture_output=True, text=True, timeout=360)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
