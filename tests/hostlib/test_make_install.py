# SPDX-License-Identifier: Apache-2.0
"""`make install` itself: into a DESTDIR, from a clean tree; README's program is built with the result."""
import os
import re
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PREFIX = "/opt/ina-of-a-test"


def run(*command, timeout=280, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "INA_"))}
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout,
                            env={**clean, **environment})
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


PROGRAM = """
#include <ina.h>
#include <stdio.h>
int main(void)
{
    float gradient[3] = {0.5f, 1, 2}, sum[3];
    char why[INA_ERROR_SIZE];
    ina_comm *comm;
    %s
    printf("%%g %%g %%g\\n", sum[0], sum[1], sum[2]);
    return ina_close(comm) != INA_OK;
}
"""


def test_make_install(tmp_path):
    destdir, program = tmp_path / "destdir", tmp_path / "sum"
    # Not optimized, to save time: the test checks only where the files are.
    for _ in range(2):  # the second time over the first installation
        run("make", "-C", SOURCE, "install", f"BUILD={tmp_path / 'build'}", f"DESTDIR={destdir}", f"PREFIX={PREFIX}",
            CMAKE_BUILD_TYPE="Debug")
    assert not Path(PREFIX).exists()
    assert sorted(path.name for path in destdir.iterdir()) == ["etc", "opt"]
    installed = destdir / PREFIX.lstrip("/")
    # The Filesystem Hierarchy Standard has the configuration of /opt/NAME in /etc/opt/NAME.
    run(installed / "bin/ina-bridge", "--check", destdir / "etc" / PREFIX.lstrip("/") / "ina/bridge.json")
    library, = installed.rglob("libina.so")
    paths = {"PKG_CONFIG_PATH": str(library.parent / "pkgconfig")}
    assert run("pkg-config", "--modversion", "ina", **paths).strip() in library.resolve().name

    lines, = re.findall(r"^```c\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.M | re.S)
    program.with_suffix(".c").write_text(PROGRAM % lines)
    run("cc", "-o", program, program.with_suffix(".c"), *run("pkg-config", "--cflags", "--libs", "ina", **paths).split())
    alone = {"INA_RANK": "0", "INA_RANKS": "1", "LD_LIBRARY_PATH": str(library.parent)}
    assert run(program, **alone) == "0.5 1 2\n"
    # Programs installed next to the library find it without any setting.
    assert "# ina-perf: 1 ranks" in run(installed / "bin/ina-perf", "-e", "4", INA_RANK="0", INA_RANKS="1")
