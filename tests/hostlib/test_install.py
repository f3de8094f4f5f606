# SPDX-License-Identifier: Apache-2.0
"""An installation under a DESTDIR: its files, and programs in C and C++ that are built with it, by pkg-config and by CMake.

The programs are the examples of the manual pages. As the only rank they need no network.
"""
import importlib.util
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["INA_PERF"]).parent
SOURCE = Path(__file__).resolve().parents[2]
PAGES = sorted((SOURCE / "docs/man").glob("man[37]/*"))
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
PREFIX = "opt/ina"


def run(*command, env=None, cwd=None):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100, cwd=cwd,
                            env={**os.environ, **(env or {})})
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that would be the prefix, inside a DESTDIR."""
    destdir = tmp_path_factory.mktemp("destdir")
    run("cmake", "--install", BUILD, "--prefix", f"/{PREFIX}", env={"DESTDIR": str(destdir)})
    return destdir / PREFIX


@pytest.fixture(scope="module")
def libdir(installed):
    (found,) = installed.rglob("libina.so")
    return found.parent


def example(page):
    """The program in a page's EXAMPLES, as a reader would see it."""
    (block,) = re.findall(r"^\.Bd -literal\n(.*?)^\.Ed$", page.read_text(), re.M | re.S)
    return re.sub(r"^\\&", "", block, flags=re.M).replace(r"\e", "\\")


def pkg_config(libdir, *arguments):
    return run("pkg-config", *arguments, "ina", env={"PKG_CONFIG_PATH": str(libdir / "pkgconfig")}).split()


def run_alone(program, libdir):
    """Runs the program as rank 0 of 1. The example must print something, and find the library where it was installed."""
    return run(program, env={"INA_RANK": "0", "INA_RANKS": "1", "LD_LIBRARY_PATH": str(libdir)})


def test_files(installed, libdir):
    files = {str(path.relative_to(installed)) for path in installed.rglob("*") if not path.is_dir()}
    lib = libdir.relative_to(installed)
    expected = {"include/ina.h", "bin/ina-perf", f"{lib}/libina.so", f"{lib}/libina.a", f"{lib}/pkgconfig/ina.pc",
                f"{lib}/cmake/ina/inaConfig.cmake", f"{lib}/cmake/ina/inaConfigVersion.cmake", "share/man/man7/ina.7",
                "share/man/man1/ina-perf.1", "share/man/man3/ina_open.3"}
    assert expected <= files, expected - files
    library = rf"include/ina\.h|bin/ina-perf|{lib}/(libina\.|pkgconfig/|cmake/ina/)|share/man/man[137]/ina"
    frameworks = rf"{lib}/libina-mpi-(openmpi|mpich)\.so$|lib/python3\.\d+/dist-packages/torch_ina(_hook\.py|/(__init__|in_python)\.py|/_core\..*so)$"
    assert {name for name in files if not re.match(f"{library}|{frameworks}", name)} == set()
    assert re.fullmatch(r"libina\.so\.\d+\.\d+\.\d+", (libdir / "libina.so").resolve().name)
    assert re.search(r"SONAME.*\[libina\.so\.\d+\]", run("readelf", "-d", libdir / "libina.so"))


def test_ina_perf_finds_its_library(installed):
    out = run(installed / "bin/ina-perf", "-e", "4", env={"INA_RANK": "0", "INA_RANKS": "1", "LD_LIBRARY_PATH": ""})
    assert "# ina-perf: 1 ranks" in out


def test_torch_finds_its_library(installed, libdir):
    """Only if torch is installed. Without its C++, the backend is the one in Python."""
    for package in installed.rglob("torch_ina") if importlib.util.find_spec("torch") else ():
        out = run("/usr/bin/python3", "-c", "import torch.distributed, torch_ina, torch_ina_hook; assert hasattr(torch.distributed.Backend, 'INA');"
                  "print(torch_ina_hook.load()._name)", env={"PYTHONPATH": str(package.parent), "LD_LIBRARY_PATH": ""})
        assert out == f"{libdir}/libina.so.0\n"


def test_mpi_finds_all_it_needs(installed):
    """Each is one file, which a host loads into any program of its MPI."""
    for library in installed.rglob("libina-mpi-*.so"):
        needed = run("ldd", library)
        assert "not found" not in needed and "libina." not in needed


@pytest.mark.parametrize("options, werror, asserts", [
    ([], False, True), (["-DINA_WERROR=ON"], True, True), (["-DCMAKE_BUILD_TYPE=Release"], False, False)])
def test_flags(options, werror, asserts, tmp_path):
    """A user whose compiler has other warnings can still build it. Asserts are compiled in, except in a release."""
    run("cmake", "-S", SOURCE, "-B", tmp_path, "-G", "Ninja", "-DINA_PARTS=hostlib", "-DINA_TESTS=OFF",
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options)
    commands = [entry["command"].split() for entry in json.loads((tmp_path / "compile_commands.json").read_text())]
    assert commands
    for flags in commands:
        assert ("-Werror" in flags) == werror
        assert ("-UNDEBUG" in flags and flags.index("-UNDEBUG") > flags.index("-DNDEBUG")) == asserts


def test_every_call_has_a_page():
    header = (SOURCE / "hostlib/include/ina.h").read_text()
    calls = set(re.findall(r"^(?:INA_API|static inline)\s[^;(]*?(ina_\w+)\(", header, re.M))
    assert len(calls) >= 14
    assert calls == {page.stem for page in PAGES if page.suffix == ".3"}
    for page in PAGES:
        text = page.read_text()
        assert f".Dt {page.stem.upper()} {page.suffix[1:]}\n" in text
        for call in re.findall(r"^\.Xr (ina_\w+) 3", text, re.M):
            assert call in calls, f"{page.name} refers to {call}"
    for call in calls:
        assert f".Xr {call} 3" in (SOURCE / "docs/man/man7/ina.7").read_text()


def test_synopses_are_the_header():
    """Each prototype on a page equals the declaration in ina.h."""
    header = re.sub(r"\s+", " ", (SOURCE / "hostlib/include/ina.h").read_text())
    for page in PAGES:
        if page.suffix != ".3":
            continue
        text = page.read_text()
        kind = re.search(r'^\.Ft (.*)$', text, re.M).group(1)
        arguments = re.findall(r'^\.Fa "(.*)"$', text[:text.index(".Fc")], re.M)
        wanted = f" {kind} {page.stem}({', '.join(arguments)})".replace("* ", "*")
        assert any(how + wanted in header.replace("* ", "*") for how in ("INA_API", "static inline")), wanted


def test_header_says_the_version(libdir):
    header = (SOURCE / "hostlib/include/ina.h").read_text()
    numbers = [re.search(rf"^#define INA_VERSION_{part} (\d+)$", header, re.M).group(1) for part in ("MAJOR", "MINOR", "PATCH")]
    assert pkg_config(libdir, "--modversion") == [".".join(numbers)]


def test_pages_are_well_formed():
    assert run("mandoc", "-Tlint", "-Wwarning", *sorted((SOURCE / "docs/man").glob("man?/*"))) == ""


def build_and_run(compiler, source, libdir):
    """With pkg-config, without a warning."""
    program = source.with_suffix("")
    run(*compiler, *STRICT, "-o", program, source, *pkg_config(libdir, "--cflags", "--libs"))
    assert run_alone(program, libdir).strip() != ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(page, libdir, tmp_path):
    source = tmp_path / "example.c"
    source.write_text(example(page))
    build_and_run(["gcc", "-std=c11"], source, libdir)


@pytest.mark.parametrize("page", [page for page in PAGES if "calloc" not in page.read_text()], ids=lambda page: page.name)
def test_examples_are_cxx(page, libdir, tmp_path):
    """All examples but those in which C++ requires a cast for calloc()."""
    source = tmp_path / "example.cpp"
    source.write_text(example(page))
    build_and_run(["g++", "-std=c++17"], source, libdir)


def test_static_library_by_pkg_config(installed, libdir, tmp_path):
    source = tmp_path / "example.c"
    source.write_text(example(SOURCE / "docs/man/man7/ina.7"))
    others = [flag for flag in pkg_config(libdir, "--static", "--libs") if flag != "-lina"]
    run("gcc", *STRICT, "-o", tmp_path / "example", source, *pkg_config(libdir, "--cflags"), libdir / "libina.a", *others)
    assert "libina" not in run("ldd", tmp_path / "example")
    assert run_alone(tmp_path / "example", libdir) == "over the ring\n"


def test_cmake_package(installed, libdir, tmp_path):
    (tmp_path / "program.c").write_text(example(SOURCE / "docs/man/man7/ina.7"))
    (tmp_path / "program.cpp").write_text(example(SOURCE / "docs/man/man3/ina_allreduce.3"))
    (tmp_path / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(ina 0.1 REQUIRED)
add_executable(shared program.c)
target_link_libraries(shared PRIVATE ina::ina)
add_executable(static program.c)
target_link_libraries(static PRIVATE ina::ina_static)
add_executable(cxx program.cpp)
target_link_libraries(cxx PRIVATE ina::ina)
""")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path / "build", "-j1")
    for program in ("shared", "static"):
        assert run_alone(tmp_path / "build" / program, libdir) == "over the ring\n"
    assert run_alone(tmp_path / "build/cxx", libdir) == "0.5 1 2\n"
    assert "libina.so" not in run("ldd", tmp_path / "build/static")
