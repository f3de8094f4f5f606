# SPDX-License-Identifier: Apache-2.0
"""scripts/lint.sh: the project's files have no findings, and each tool finds a fault that is put before it."""
import os
import re
import subprocess
from pathlib import Path

import pytest

LINT = Path(__file__).resolve().parents[2] / "scripts/lint.sh"
FAULTS = {
    "clang-format": ("fault.c", "int main(void) { return 0; }\n", "clang-format-violations"),
    "flake8": ("fault.py", "import os\n", "F401"),
    "shellcheck": ("fault.sh", "#!/bin/sh\necho $1\n", "SC2086"),
}


def lint(*arguments, **environment):
    done = subprocess.run([LINT, *arguments], capture_output=True, text=True, timeout=150, env={**os.environ, **environment})
    return done.returncode, done.stdout + done.stderr


def lint_with_installed(tool, *files):
    code, output = lint(tool, *files)
    if re.match(r"lint: clang-format has version \d+; this project uses version", output):
        pytest.skip(output.strip())
    return code, output


@pytest.mark.parametrize("tool", FAULTS)
def test_the_project(tool):
    assert lint_with_installed(tool) == (0, "")


@pytest.mark.parametrize("tool", FAULTS)
def test_a_fault(tool, tmp_path):
    name, text, finding = FAULTS[tool]
    (tmp_path / name).write_text(text)
    code, output = lint_with_installed(tool, tmp_path / name)
    assert code != 0 and finding in output, output


def test_an_unknown_tool():
    code, output = lint("indent")
    assert code == 1 and output == "lint: unknown tool indent; use clang-format, flake8 or shellcheck\n"


def test_another_release_of_clang_format(tmp_path):
    (tmp_path / "clang-format").write_text("#!/bin/sh\necho clang-format version 99.0.1\n")
    (tmp_path / "clang-format").chmod(0o755)
    code, output = lint("clang-format", __file__, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert code == 1 and "version 99; this project uses version 14" in output
