# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of torch_ina, which contains libina. CMake builds and selects the files; this script has the metadata.

    /usr/bin/python3 -m pip install --no-build-isolation --no-deps frameworks/torch

INA_BUILD names a folder that CMake has already configured; without it the folder is build/wheel.
"""
import os
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("INA_BUILD") or ROOT / "build/wheel").resolve()
PROJECT = (ROOT / "CMakeLists.txt").read_text()
TORCH = ".".join(version("torch").split(".")[:2])


class ByCMake(build_py):
    def run(self):
        if not (BUILD / "build.ninja").exists():
            subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DINA_PARTS=hostlib;frameworks/torch", "-DINA_TESTS=OFF"],
                           check=True)
        subprocess.run(["cmake", "--build", BUILD, "--target", "torch_ina"], check=True)
        subprocess.run(["cmake", "--install", BUILD, "--component", "wheel", "--strip", "--prefix", Path(self.build_lib).resolve()], check=True)


class Binary(Distribution):
    """Marks the wheel as specific to one version of Python and one kind of machine."""

    def has_ext_modules(self):
        return True


# The files that setuptools leaves go next to those of CMake.
(BUILD / "python").mkdir(parents=True, exist_ok=True)
setup(
    name="torch_ina",
    version=re.search(r"^project\(ina VERSION (\S+)", PROJECT, re.M)[1],
    description="All-reduce in the network for torch.distributed",
    long_description=(ROOT / "frameworks/torch/README.md").read_text(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=["torch_ina"],
    py_modules=["torch_ina_hook"],
    install_requires=[f"torch=={TORCH}.*"],  # the extension works with no other version
    cmdclass={"build_py": ByCMake},
    distclass=Binary,
    options={"build": {"build_base": str(BUILD / "python")}, "egg_info": {"egg_base": str(BUILD / "python")}},
)
