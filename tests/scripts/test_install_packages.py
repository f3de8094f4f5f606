# SPDX-License-Identifier: Apache-2.0
"""scripts/install-packages.sh: the names of packages on several distributions, and the search on one that it does not know.
Stand-ins replace the package managers and `id`; nothing is installed."""
import os
import re
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/install-packages.sh"
ROWS = [line.split() for line in (SCRIPT.parent / "packages.txt").read_text().splitlines() if not line.startswith("#")]
NONE_INSTALLED = {"dpkg-query": "exit 1", "rpm": "exit 1"}


@pytest.fixture
def call(tmp_path):
    """Calls the script as an ordinary user without sudo, on a machine that has the programs of /usr/bin and these stand-ins."""
    def run(*arguments, system=("debian", "12"), programs=None, **environment):
        release = tmp_path / "os-release"
        release.write_text(f'PRETTY_NAME="A system"\nID={system[0]}\nVERSION_ID="{system[1]}"\n')
        folder = tmp_path / "programs"
        folder.mkdir(exist_ok=True)
        for name, body in {"id": "echo 1000", **(NONE_INSTALLED if programs is None else programs)}.items():
            (folder / name).write_text(f"#!/bin/sh\n{body}\n")
            (folder / name).chmod(0o755)
        basic = tmp_path / "basic"
        basic.mkdir(exist_ok=True)
        for name in ("bash", "dirname", "sed", "sort", "tr", "grep", "head", "tail", "timeout", "env", "fold", "sh", "cat"):
            if not (basic / name).exists():
                (basic / name).symlink_to(f"/usr/bin/{name}")
        done = subprocess.run(["bash", SCRIPT, *arguments], capture_output=True, text=True, timeout=120,
                              env={"PATH": f"{folder}:{basic}", "INA_OS_RELEASE": str(release), **environment})
        return done.returncode, done.stdout, done.stderr
    return run


def groups():
    text = subprocess.run([SCRIPT], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "200"}).stdout
    return [name for line in text.splitlines() if line.startswith(" ") for name in line.split()]


def test_every_package_has_a_row_and_every_row_a_group():
    assert {row[0] for row in ROWS} == set(groups())
    assert len({row[0] for row in ROWS}) == len(ROWS) and all(len(row) == 6 for row in ROWS)


@pytest.mark.parametrize("system, command, some", [
    (("debian", "12"), "apt-get install --no-install-recommends", "clang lld libpcap-dev"),
    (("debian", "13"), "apt-get install --no-install-recommends", "linux-source flex"),
    (("ubuntu", "24.04"), "apt-get install --no-install-recommends", "linux-source flex"),
    (("fedora", "43"), "dnf install", "gcc gcc-c++ make cmake")])
def test_missing_packages(call, system, command, some):
    code, out, err = call("demo", system=system, INA_LINUX="/some/linux")
    assert code == 1 and f"ask an administrator to run: {command} " in err and some in err, (out, err)


def test_all_are_installed(call):
    assert call("demo", "test", programs={"dpkg-query": "printf installed"}) == (0, "", "")


def test_no_package_has_the_sources_of_linux(call):
    """INA_LINUX serves in their place."""
    assert call("demo", system=("fedora", "43"), programs={"rpm": "exit 0"}, INA_LINUX="/some/linux") == (0, "", "")


@pytest.mark.parametrize("system", [("arch", "1"), ("ubuntu", "22.04")])
def test_an_unknown_distribution(call, system):
    code, out, err = call("formal", system=system)
    assert (code, out) == (1, "")
    assert f"not found on {system[0]} {system[1]}" in err
    assert re.search(r"^  yosys +yosys +0\.23, 0\.52$", err, re.M) and re.search(r"^  z3 +z3 ", err, re.M)
    assert err.splitlines()[-1] == "install-packages: packages.txt names no packages for them; install them by hand"


def test_an_unknown_distribution_that_has_all(call):
    tools = {name: "echo version 9.9" for name in ("yosys", "z3")}
    assert call("formal", system=("arch", "1"), programs=tools) == (0, "", "")


def test_versions(call):
    code, out, err = call("--versions", programs={"yosys": "echo Yosys 0.52 yes", "z3": "exit 1"})
    assert (code, err) == (0, "")
    assert re.search(r"^yosys +yosys +0\.52 +0\.23, 0\.52 +test formal synth$", out, re.M), out
    assert re.search(r"^z3 +z3 +found ", out, re.M) and re.search(r"^shellcheck +shellcheck +MISSING ", out, re.M), out


@pytest.mark.parametrize("arguments, message", [(["demos"], "demos: no such group; without an argument, this script lists them"),
                                                (["--versions", "demo"], "--versions takes no argument")])
def test_bad_arguments(call, arguments, message):
    assert call(*arguments) == (1, "", f"install-packages: {message}\n")
