# SPDX-License-Identifier: Apache-2.0
"""The interposers on this machine alone: they leave all calls to MPI, and say why."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["INA_PERF"]).resolve().parent
# MPICH 4.0's own MPI_Reduce() in place ends by SIGSEGV, except with this algorithm.
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "-n", "2", "--oversubscribe", "--bind-to", "none"],
             "mpich": ["mpiexec.mpich", "-n", "2", "-genv", "MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE", "0"]}


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_two_ranks(mpi, tmp_path):
    library, launcher = BUILD / f"libina-mpi-{mpi}.so", LAUNCHERS[mpi]
    if not library.exists() or not shutil.which(launcher[0]):
        pytest.skip(f"{mpi} is not there: scripts/install-packages.sh mpi installs it")
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TMPDIR": str(tmp_path)}
    done = subprocess.run([*launcher, "env", f"LD_PRELOAD={library}", "INA_MPI_THRESHOLD=250", f"INA_MPI_VERBOSE={tmp_path}/table",
                           BUILD / f"check_collectives-{mpi}"], capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0 and "checks right" in done.stdout, done.stdout + done.stderr
    for rank in range(2):
        rows = [line.split() for line in (tmp_path / f"table.{rank}").read_text().splitlines() if line.startswith("# MPI_")]
        assert rows and all(row[4:6] == ["0", "0"] and row[3] == row[6] for row in rows), rows
