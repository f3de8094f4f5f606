# SPDX-License-Identifier: Apache-2.0
"""The names in shared_code.vlt are names of the RTL. Verilator ignores a rule whose module or variable does not exist; the instances
then no longer share their code, and the only sign of it is a slower simulation."""
import re
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULE = re.compile(r'^\w+ -module "(\w+)"(?: -var "([\w*]+)")?$', re.MULTILINE)
PORT = re.compile(r"^\s*(?:input|output)\b[^,/]*?(\w+)\s*(?:\[[^]]*\])?\s*,?\s*(?://.*)?$", re.MULTILINE)


def test_every_rule_names_a_module_and_its_port():
    rules = RULE.findall((ROOT / "sim-bridge/aggregator/shared_code.vlt").read_text())
    assert len(rules) > 20
    for module, name in rules:
        ports = PORT.findall((ROOT / f"rtl/{module}.sv").read_text())
        assert ports, module
        assert not name or any(fnmatch(port, name) for port in ports), f"{module} has no port {name}"
