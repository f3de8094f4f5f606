# SPDX-License-Identifier: Apache-2.0
"""The tests that ctest skips are listed, and are an error if requested (tests/skips.py)."""
import subprocess
import sys
from pathlib import Path

import pytest

SKIPS = Path(__file__).resolve().parents[1] / "skips.py"
PYTEST = f'"{sys.executable}" -B -m pytest -q -rs -p no:cacheprovider'


def run_ctest(folder, tests):
    """A project with these commands as tests, run by ctest."""
    lines = ["cmake_minimum_required(VERSION 3.25)", "project(skipping NONE)", "enable_testing()"]
    for name, (command, properties) in tests.items():
        lines.append(f"add_test(NAME {name} COMMAND sh -c [=[{command}]=])")
        lines.append(f"set_tests_properties({name} PROPERTIES TIMEOUT 50 {properties})")
    (folder / "CMakeLists.txt").write_text("\n".join(lines))
    subprocess.run(["cmake", "-S", folder, "-B", folder / "build"], check=True, capture_output=True, timeout=60)
    report = folder / "report.xml"
    subprocess.run(["ctest", "--test-dir", folder / "build", "--output-junit", report], capture_output=True, timeout=100)
    return report


def look(report, how):
    return subprocess.run([SKIPS, report, how], capture_output=True, text=True, timeout=20)


@pytest.mark.parametrize("reason, code", [("there is no pump", 1), ("no digest is known for these versions; here it is", 0)])
def test_a_skip_inside_of_pytest(tmp_path, reason, code):
    """All but one of the file's tests have run, and ctest reports success."""
    (tmp_path / "test_it.py").write_text(
        f"import pytest\ndef test_one():\n    pass\ndef test_two():\n    pytest.skip('{reason}')\n")
    report = run_ctest(tmp_path, {"outer": (f"{PYTEST} {tmp_path}/test_it.py", ""), "fine": ("echo fine", "")})
    told, asked = look(report, "tell"), look(report, "error")
    assert (told.returncode, asked.returncode) == (0, code), asked
    assert told.stdout == asked.stdout
    assert "outer: SKIPPED" in told.stdout and reason in told.stdout and "1 skipped" in told.stdout, told


@pytest.mark.parametrize("command, properties", [
    ("exit 77", "SKIP_RETURN_CODE 77"), ("echo no device", 'SKIP_REGULAR_EXPRESSION "no device"'),
    ("echo '[  SKIPPED ] test_unit'", ""), ("echo SKIPPED torture: not here", ""), ("true", "DISABLED ON")])
def test_other_skips(tmp_path, command, properties):
    report = run_ctest(tmp_path, {"it": (command, properties)})
    assert look(report, "error").returncode == 1, look(report, "error")
    assert "it: " in look(report, "tell").stdout


def test_none(tmp_path):
    report = run_ctest(tmp_path, {"it": ("echo nothing was SKIPPED here", "")})
    assert look(report, "error").returncode == 0
    assert look(report, "error").stdout == "0 skipped\n"
