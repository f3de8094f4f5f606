# SPDX-License-Identifier: Apache-2.0
"""The unchanged ina-perf, started by the launchers of clusters: only the launcher gives each rank its number."""
from pathlib import Path

from lab import PERF, run

HERE = Path(__file__).parent
OPTIONS = ["--aggregator", "model", "--memory", "600"]
MEASURE = ["-b", "4", "-e", "256K", "-f", "64"]


def assert_all_right(result, ranks):
    """Rank 0's table says so: every size went through the aggregator, and nothing is wrong."""
    assert result.code == 0, result
    assert f"# ina-perf: {ranks} ranks on rxe0" in result.out, result
    rows = [line.split() for line in result.out.splitlines() if " float " in line]
    assert len(rows) == 3, result
    assert all(row[5] == "ina" and row[-1] == "0" for row in rows), result


def test_mpirun(tmp_path):
    """With Open MPI, the root is the host of mpirun. Open MPI 4 gives its address, and Open MPI 5 its name, which must resolve."""
    folder = tmp_path / "meeting"
    folder.mkdir()
    names = tmp_path / "hosts"
    names.write_text("".join(f"192.0.2.{rank + 1} host{rank}\n" for rank in range(3)))
    result = run(tmp_path, 3, OPTIONS,
                 ["sh", "-c", f'mount --bind {names} /etc/hosts && exec "$@"', "sh", HERE.parent / "frameworks/mpi/mpi_host.sh",
                  "openmpi", folder, PERF, *MEASURE])
    assert_all_right(result, 3)


def test_srun(tmp_path):
    """With Slurm, the root is the first host of the step. If its name does not resolve, as here, the root is the host of srun."""
    folder = tmp_path / "meeting"
    folder.mkdir()
    result = run(tmp_path, 2, OPTIONS, [HERE / "slurm_host.sh", folder, PERF, *MEASURE])
    assert_all_right(result, 2)


def test_two_jobs_on_the_same_hosts(tmp_path):
    """No port is given: each job's port follows from its id. Both ranks 0 listen before any other rank comes."""
    slurm = "env -u INA_RANK -u INA_RANKS -u INA_COOKIE SLURM_PROCID=$INA_RANK SLURM_NTASKS=$INA_RANKS SLURM_STEP_ID=0"
    job = f'job() {{ {slurm} SLURM_JOB_ID=$1 "$0" {" ".join(MEASURE)}; }}'
    both = f'{job}; [ $INA_RANK = 0 ] || sleep 3; job $((7 + INA_RANK)) & job $((8 - INA_RANK)) && wait $!'
    result = run(tmp_path, 2, [*OPTIONS, "--quiet"], ["sh", "-c", both, PERF], timeout_s=90)
    assert result.code == 0, result
    rows = [line.split() for line in result.out.splitlines() if " float " in line]
    assert len(rows) == 6, result
    assert all(row[5] == "ina" and row[-1] == "0" for row in rows), result
