# SPDX-License-Identifier: Apache-2.0
"""lab/build-kernel.sh with sources of several kinds, and when it is interrupted, killed, or called twice at the same time. Stand-ins
replace the programs that take minutes, and a tree of one file the sources of Linux."""
import re
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import processes_with, wait_until

SCRIPT = Path(__file__).resolve().parents[2] / "lab/build-kernel.sh"
TOOLS = {
    "patch": "exit 0", "python3": "echo compared",
    "df": "printf 'Filesystem\\nfake 0 0 9999 0 /\\n'",
    "strip": 'cp "$3" "$2"',
    # The compiler that make starts runs until the gate is open; its output is empty except for the first line.
    "make": """
case "$*" in
*allnoconfig*) cp "${3#KCONFIG_ALLCONFIG=}" .config; exit ;;
esac
echo "  CC fake.o"; echo $$ >>"$FAKES/compiled"
sh -c 'until [ -e "$0/gate" ]; do sleep 0.05; done' "$FAKES" compiler
printf '#!/bin/sh\\n' >linux; chmod +x linux""",
}

# The files that remain in the end.
FILES = {"linux", "stamp", "sources.diff", "lock"}


def write_sources(folder, release="6.12"):
    version, level = release.split(".")
    folder.mkdir(exist_ok=True)
    (folder / "Makefile").write_text(f"# SPDX\nVERSION = {version}\nPATCHLEVEL = {level}\nSUBLEVEL = 3\n")


class Kernel:
    def __init__(self, folder):
        self.output, self.fakes = folder / "kernel", folder / "fakes"
        self.fakes.mkdir()
        for name, body in TOOLS.items():
            (self.fakes / name).write_text(f"#!/bin/sh\n{body}\n")
            (self.fakes / name).chmod(0o755)
        self.sources = folder / "linux"
        write_sources(self.sources)
        self.environment = {"PATH": f"{self.fakes}:/usr/bin:/bin", "FAKES": str(self.fakes), "INA_LINUX": str(self.sources)}

    def start(self):
        return subprocess.Popen([SCRIPT, self.output], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=self.environment)

    def is_compiling(self):
        return processes_with(f"{self.fakes} compiler")

    def open_gate(self):
        (self.fakes / "gate").touch()

    def times_compiled(self):
        return len((self.fakes / "compiled").read_text().split())

    def files(self):
        return {path.name for path in self.output.iterdir()}


@pytest.fixture
def kernel(tmp_path):
    instance = Kernel(tmp_path)
    yield instance
    instance.open_gate()  # no process waits for it any more
    wait_until(lambda: not instance.is_compiling(), 60, "the compiler to end")


def finish(process):
    out, _ = process.communicate(timeout=300)
    return process.returncode, out


def test_once_is_enough(kernel):
    kernel.open_gate()
    assert finish(kernel.start())[0] == 0
    code, out = finish(kernel.start())
    assert code == 0 and out == f"build-kernel: {kernel.output}/linux is up to date\n"
    assert kernel.times_compiled() == 1 and kernel.files() == FILES


@pytest.mark.parametrize("ending", ["xz", "bz2", "gz"])
def test_an_archive(kernel, ending):
    archive = kernel.sources.parent / f"sources.tar.{ending}"
    subprocess.run(["tar", "-caf", archive, "-C", kernel.sources.parent, "linux"], check=True)
    kernel.environment["INA_LINUX"] = str(archive)
    kernel.open_gate()
    code, out = finish(kernel.start())
    assert code == 0 and f"unpacking {archive}\n" in out, out
    assert kernel.files() == FILES


def test_a_change_of_the_tree(kernel):
    """The kernel is built again."""
    kernel.open_gate()
    assert finish(kernel.start())[0] == 0
    (kernel.sources / "new.c").write_text("")
    assert finish(kernel.start())[0] == 0
    assert kernel.times_compiled() == 2


@pytest.mark.parametrize("release", ["5.19", "6.0", "6.13", "7.0"])
def test_a_release_that_was_not_tried(kernel, release):
    write_sources(kernel.sources, release)
    code, out = finish(kernel.start())
    assert code == 1 and f"{kernel.sources} is Linux {release}; the hosts need 6.1 to 6.12: set INA_LINUX" in out, out


@pytest.mark.parametrize("release", ["6.1", "6.6", "6.12"])
def test_a_release_that_serves(kernel, release):
    write_sources(kernel.sources, release)
    kernel.open_gate()
    assert finish(kernel.start())[0] == 0


def test_no_sources(kernel):
    kernel.environment["INA_LINUX"] = "/nowhere"
    code, out = finish(kernel.start())
    assert (code, out) == (1, "build-kernel: cannot read INA_LINUX=/nowhere\n")


@pytest.mark.parametrize("record", [None, "stamp of another kernel"])
def test_sources_that_were_not_compared(kernel, record):
    """The script compares them now, and compiles nothing for that."""
    kernel.open_gate()
    assert finish(kernel.start())[0] == 0
    path = kernel.output / "sources.diff"
    good = path.read_text()
    path.unlink() if record is None else path.write_text(record)
    code, out = finish(kernel.start())
    assert code == 0 and "comparing" in out
    assert path.read_text() == good == f"stamp {(kernel.output / 'stamp').read_text()}compared\n"
    assert kernel.times_compiled() == 1 and kernel.files() == FILES


def test_three_at_once(kernel):
    """One of them builds, and the others wait for it."""
    builds = [kernel.start()]
    wait_until(kernel.is_compiling, 60, "the first to compile")
    builds += [kernel.start(), kernel.start()]
    for build in builds[1:]:
        assert build.stdout.readline() == "build-kernel: waiting for another build to finish\n"
    kernel.open_gate()
    for build in builds:
        code, out = finish(build)
        assert code == 0, out
    assert kernel.times_compiled() == 1 and kernel.files() == FILES


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(kernel, number, code):
    """Nothing of it stays, not even a compiler; one that waited builds in its place."""
    build = kernel.start()
    wait_until(kernel.is_compiling, 60, "it to compile")
    waiting = kernel.start()
    assert "waiting for another build" in waiting.stdout.readline()
    compilers = set(kernel.is_compiling())  # briefly two, just after a fork
    build.send_signal(number)
    assert finish(build)[0] == code
    wait_until(lambda: not compilers.intersection(kernel.is_compiling()), 60, "its compiler to be gone")
    kernel.open_gate()
    assert finish(waiting)[0] == 0
    assert kernel.files() == FILES


def test_killed(kernel):
    """It could not tidy up; the next one does, and builds."""
    build = kernel.start()
    wait_until(kernel.is_compiling, 60, "it to compile")
    build.kill()
    finish(build)
    assert any(re.match("source", name) for name in kernel.files())
    kernel.open_gate()
    code, out = finish(kernel.start())
    assert code == 0, out
    assert kernel.files() == FILES
