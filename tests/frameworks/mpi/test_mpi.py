# SPDX-License-Identifier: Apache-2.0
"""The interposers for MPI: this project's programs and others' on four hosts, with each MPI that is installed."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "system"))
from lab import LAB, run  # noqa: E402

BUILD = Path(LAB).resolve().parent
# Smaller than the messages of every check, larger than those of barriers and counters.
THRESHOLD = 250


def library(mpi):
    path = BUILD / f"libina-mpi-{mpi}.so"
    if not path.exists():
        pytest.skip(f"{path.name} is not built: scripts/install-packages.sh mpi installs what it needs")
    return path


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"{program} is not there: scripts/install-packages.sh mpi installs it")


def needs_mpich_end(mpi):
    """mpich_end.c is for MPICH 4.0 alone. With it, a rank may end before its last message has left."""
    if mpi != "mpich" or not shutil.which("mpiexec.mpich"):
        return False
    version = subprocess.run(["mpiexec.mpich", "--version"], capture_output=True, text=True, timeout=60).stdout
    return re.search(r"Version: +4\.0\b", version) is not None


def plain(mpi, program, interposer=()):
    """The program without an interposer."""
    preloaded = [*interposer, BUILD / "patience.so"] + [BUILD / "mpich_end.so"] * needs_mpich_end(mpi)
    return ["env", f"LD_PRELOAD={':'.join(map(str, preloaded))}", *program]


def interposed(folder, mpi, program, threshold=THRESHOLD):
    """The program with the interposer. The ranks' tables go to the folder, because launchers mix the lines of several ranks."""
    return [*plain(mpi, [], [library(mpi)]), f"INA_MPI_THRESHOLD={threshold}", f"INA_MPI_VERBOSE={folder / 'table'}", *program]


def run_jobs(folder, mpi, jobs, hosts=4, options=(), timeout_s=900):
    """Runs the jobs in one lab, one after the other, up to the first that fails. MPI polls: if other programs keep the processors
    busy, a call takes hundreds of milliseconds, with an interposer or without. So the limit for all jobs is generous."""
    library(mpi)
    meeting = folder / "meeting"
    meeting.mkdir()
    command = [HERE / "mpi_host.sh", mpi, meeting]
    for job in jobs:
        command += [*job, "+++"]
    return run(folder, hosts, ["--aggregator", "model", "--memory", "700", *options], command[:-1], timeout_s)


def table(folder, rank=0):
    """{(call, reason): [count, by the aggregator, by hosts, by MPI]} from a rank's tables, one table for each program that it
    ran."""
    return rows_of((folder / f"table.{rank}").read_text())


def rows_of(tables):
    rows = {}
    for line in tables.splitlines():
        if line.startswith(("# ina-mpi: rank ", "# call ")):
            continue
        found = re.fullmatch(r"# (MPI_\w+) +\d+ +(\d+) +(\d+) +(\d+) +(\d+)  (.*)", line)
        assert found, line
        row = rows.setdefault((found[1], found[6]), [0, 0, 0, 0])
        for i in range(4):
            row[i] += int(found[i + 2])
    return rows


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_checks(tmp_path, mpi):
    """All calls, types, operations and forms; when calls return; and calls that do not match."""
    checks = [BUILD / f"check_collectives-{mpi}", BUILD / f"check_started-{mpi}"]
    result = run_jobs(tmp_path, mpi, [interposed(tmp_path, mpi, [checks[0]]), interposed(tmp_path, mpi, [checks[1], "errors"])])
    assert result.code == 0, result
    assert len(re.findall("check_collectives: [0-9]+ checks right", result.out)) == 1, result
    assert result.out.count("check_started: all right") == 1, result
    assert "libina: rank 2 called all-reduce 1 with 5000 float32, rank 0 with 4999 float32" in result.out, result
    rows = table(tmp_path)
    calls = ["allreduce", "reduce", "bcast", "reduce_scatter", "reduce_scatter_block", "allgather"]
    for call in [f"MPI_{call.capitalize()}" for call in calls] + [f"MPI_I{call}" for call in calls]:
        by_libina = [row for (name, why), row in rows.items() if name == call]
        assert sum(row[1] + row[2] for row in by_libina) > 0, (call, result)
    assert sum(row[1] for (name, why), row in rows.items() if name == "MPI_Allreduce") > 20, result
    reasons = {why for name, why in rows}
    assert {"libina has no such type", "libina has no such operation", "blocks of different sizes", "an intercommunicator",
            "one rank", "no aggregator adds such elements"} <= reasons, reasons


def broken(job, what, rank=1):
    """The job, with a command that a rank first applies to its host or to its environment."""
    return ["sh", "-c", f'[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" != {rank} ] || {{ {what}; }}; exec "$@"', "sh", *job]


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_what_cannot_be_opened_is_left_to_mpi(tmp_path, mpi):
    """All ranks fall back within seconds, with one line that gives the reason: a wrong INA_BIND at rank 1 and at rank 0,
    another option, no device. If nothing is wrong, there is no such line."""
    left = interposed(tmp_path, mpi, [BUILD / f"check_opening-{mpi}", "left"])
    result = run_jobs(tmp_path, mpi, [
        left, broken(left, "export INA_BIND=127.0.0.1"), broken(left, "export INA_BIND=127.0.0.1", 0),
        broken(left, "export INA_CONGESTION_CONTROL=1"), interposed(tmp_path, mpi, [BUILD / f"check_collectives-{mpi}"]),
        broken(left, "rdma link del rxe0")], hosts=3)
    assert result.code == 0, result
    text = result.out + result.err
    assert text.count("check_opening: left: all right") == 5 and text.count("checks right") == 1, result
    reasons = re.findall("ina-mpi: large collectives are left to MPI: (.*)", text)
    wrong_bind = ": no RDMA device of its host has the address 127.0.0.1 of INA_BIND"
    assert reasons[:2] == ["rank 1" + wrong_bind, "rank 0" + wrong_bind], result
    # A communicator of the second program has another rank 0, which may give the reason too.
    assert len(reasons) >= 4 and all(re.search("rank [12] has congestion control o", reason) for reason in reasons[2:-1]), result
    assert reasons[-1].startswith("rank 1: ") and "no RDMA device" in reasons[-1], result
    assert max(map(float, re.findall(r"the first took ([0-9.]+) s", text))) < 15, result
    rows = table(tmp_path)
    for call in ("MPI_Allreduce", "MPI_Iallreduce"):
        assert rows[call, "libina could not be opened; see stderr"][3] >= 12, rows
        assert rows[call, "a rank cannot take part; see its stderr"][3] == 3 * 12, rows


@pytest.mark.parametrize("when", ["first", "open"])
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_calls_that_differ_across_the_threshold(tmp_path, mpi, when):
    """An error within seconds, never a success with wrong data; and the end of a rank that is inside MPI. The roots of the first
    broadcasts must not wait for other ranks. With Open MPI 5's component `han` they do, since it splits a communicator in its first
    collective."""
    command = ["env", "OMPI_MCA_coll=^han", BUILD / f"check_opening-{mpi}", "differ", *["open"] * (when == "open")]
    result = run_jobs(tmp_path, mpi, [interposed(tmp_path, mpi, command, 16384)], hosts=3, timeout_s=300)
    assert result.code not in (0, 124), result
    text = result.out + result.err
    assert not re.search(r"check_opening: rank \d: (a|the) ", text), result
    assert "ina-mpi: rank 1 waits in MPI forever: rank 0 waits in collective" in text, result
    assert len(re.findall(r"check_opening: rank \d: .*used MPI for it or for an earlier one: do their sizes differ across INA_MPI_THRESHOLD", text)) >= 6, result


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_broadcasts_of_memory_that_is_read_only(tmp_path, mpi):
    result = run_jobs(tmp_path, mpi, [interposed(tmp_path, mpi, [BUILD / f"check_opening-{mpi}", "read"])], hosts=3)
    assert result.code == 0 and "check_opening: read: all right" in result.out, result
    rows = [row for (name, why), row in table(tmp_path).items() if name in ("MPI_Bcast", "MPI_Ibcast")]
    assert sum(row[1] for row in rows) == 18, result


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_several_ranks_on_a_host_and_loss(tmp_path, mpi, monkeypatch):
    """Two ranks on each of two hosts. Each cable loses one packet in 200 each way, including MPI's own messages."""
    monkeypatch.setenv("INA_MPI_PER_HOST", "2")
    result = run_jobs(tmp_path, mpi, [interposed(tmp_path, mpi, [BUILD / f"check_collectives-{mpi}"])], hosts=2,
                      options=["--loss-up", "0.005", "--loss-down", "0.005"])
    assert result.code == 0 and "checks right" in result.out, result
    assert sum(row[1] for row in table(tmp_path).values()) > 0, result


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_rank_is_killed(tmp_path, mpi):
    """MPI ends the job and names the cause; or another rank's call fails first and ends it. If a rank of Open MPI 5 loses a
    connection, it ends the job too, and other ranks then miss both."""
    job = interposed(tmp_path, mpi, [BUILD / f"check_started-{mpi}", "killed"])
    result = run_jobs(tmp_path, mpi, [job, ["echo", "the next job"]])
    assert result.code not in (0, 124), result
    assert "the next job" not in result.out, result
    by_mpi = {"openmpi": r"exited on signal 9 \(Killed\)|An error occurred in Socket closed", "mpich": "EXIT CODE: 9"}[mpi]
    assert re.search(rf"{by_mpi}|rank 1 disconnected|ranks .*\b1\b.* disconnected", result.out + result.err), result


def test_mpi4py(tmp_path):
    """A script in mpi4py, with numpy's arrays and pickled objects, prints the same lines with and without the interposer."""
    need("mpirun.openmpi")
    pytest.importorskip("mpi4py")
    script = ["/usr/bin/python3", "-B", HERE / "script.py"]
    result = run_jobs(tmp_path, "openmpi", [plain("openmpi", script), interposed(tmp_path, "openmpi", script, 8192)])
    assert result.code == 0, result
    lines = [line for line in result.out.splitlines() if "script.py:" in line]
    assert lines[:len(lines) // 2] == lines[len(lines) // 2:] and len(lines) >= 8, result
    rows = table(tmp_path)
    assert sum(row[1] for row in rows.values()) > 0, result


def test_a_meeting_place_is_used_once(tmp_path):
    """A second run in the same folder would wait for ranks that believe that the run has ended."""
    result = run_jobs(tmp_path, "openmpi", [["true"]], hosts=2)
    assert result.code == 0, result
    result = run(tmp_path, 2, ["--aggregator", "model"], [HERE / "mpi_host.sh", "openmpi", tmp_path / "meeting", "true"], 60)
    assert result.code == 2 and f"mpi_host.sh: {tmp_path / 'meeting'} was the meeting place of another run" in result.err, result


@pytest.mark.parametrize("where", ["1", "table", "nowhere/table"])
def test_where_the_table_goes(tmp_path, where):
    """The table goes to stderr or to a file of the rank. If the file cannot be written, the table goes to stderr after a line
    that says so."""
    pytest.importorskip("mpi4py")
    value = where if where == "1" else tmp_path / where
    environment = {**os.environ, "LD_PRELOAD": library("openmpi"), "INA_MPI_VERBOSE": value, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "HWLOC_HIDE_ERRORS": "2"}  # a root folder may lack /sys
    program = "from mpi4py import MPI; import numpy; MPI.COMM_WORLD.Allreduce(numpy.ones(8192, 'f'), numpy.ones(8192, 'f'))"
    result = subprocess.run(["/usr/bin/python3", "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result
    expected = {("MPI_Allreduce", "one rank"): [1, 0, 0, 1]}
    if where == "table":
        assert table(tmp_path) == expected and result.stderr == "", result
        return
    said, begin, rows = result.stderr.partition("# ina-mpi: rank 0\n")
    assert rows_of(begin + rows) == expected, result
    assert said == "" if where == "1" else f"cannot write to {value}.0: No such file" in said, result


SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack")


LU_INPUT = """'ScaLAPACK, LU factorization input file'
'hosts of a lab'
'LU.out'                file name
6                       device out
1                       number of problems sizes
48                      values of M
48                      values of N
1                       number of NB's
16                      values of NB
1                       number of NRHS's
9                       values of NRHS
1                       number of NBRHS's
8                       values of NBRHS
1                       number of process grids
2                       values of P
2                       values of Q
3.0                     threshold
F                       no condition estimation and refinement
"""


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_scalapack(tmp_path, mpi):
    """ScaLAPACK's own test of LU, in Fortran, which checks residuals. Its BLACS all-reduces doubles on rows and columns of
    hosts."""
    tests = SCALAPACK / f"{mpi}-tests"
    if not tests.exists():
        pytest.skip("scalapack-mpi-test is not there: scripts/install-packages.sh mpi installs it")
    (tmp_path / "LU.dat").write_text(LU_INPUT)
    job = ["sh", "-c", f"cd {tmp_path} && exec {tests / 'xdlu'}"]
    result = run_jobs(tmp_path, mpi, [interposed(tmp_path, mpi, job, 64)])
    assert result.code == 0, result
    assert re.search(r"[1-9]\d* tests completed and passed residual checks", result.out), result
    assert re.findall(r"(\d+) tests completed and failed", result.out) == ["0"], result
    rows = table(tmp_path)
    assert sum(row[1] + row[2] for row in rows.values()) > 0, result


@pytest.mark.parametrize("mpi, program", [("openmpi", "NPopenmpi"), ("mpich", "NPmpich2")])
def test_netpipe(tmp_path, mpi, program):
    """NetPIPE checks every message of its ping-pong between two ranks: they arrive as before, although MPI has threads now."""
    need(program)
    job = ["sh", "-c", f"cd {tmp_path} && exec {program} -i -u 50000"]
    result = run_jobs(tmp_path, mpi, [plain(mpi, job), interposed(tmp_path, mpi, job)], hosts=2)
    assert result.code == 0, result
    # How often it repeats a size depends on the time that it takes.
    lines = re.findall(r"(\d+: +\d+ bytes) +\d+ times --> +(.*)", result.err + result.out)
    assert lines[:len(lines) // 2] == lines[len(lines) // 2:] and len(lines) >= 40, result
    assert {what for size, what in lines} == {"Integrity check passed"}, result
    assert ("MPI_Barrier", "no larger call before it on this communicator") in table(tmp_path), result


# HPL's 31 lines, then PTRANS's; the other benchmarks derive their sizes from N.
HPCC_INPUT = """HPLinpack benchmark input file
hosts of a lab
HPL.out  output file name
8        device out (a file)
1        number of N
200      N
1        number of NBs
32       NB
0        PMAP, by rows
1        number of process grids
2        P
2        Q
16.0     threshold
1        number of panel factorisations
2        PFACT, right
1        number of recursive stopping criteria
4        NBMIN
1        number of panels in recursion
2        NDIV
1        number of recursive panel factorisations
1        RFACT, Crout
1        number of broadcasts
1        BCAST, modified ring
1        number of lookahead depths
1        DEPTH
2        SWAP, mix
64       swapping threshold
0        L1 transposed
0        U transposed
1        equilibration
8        memory alignment in doubles
---
0        number of additional N for PTRANS
0
0        number of additional NB for PTRANS
0
"""


def test_hpcc(tmp_path):
    """The seven benchmarks of HPC Challenge check their own results. Its counts and times use libina from 4 bytes on."""
    need("mpirun.openmpi", "hpcc")
    (tmp_path / "hpccinf.txt").write_text(HPCC_INPUT)
    job = ["sh", "-c", f"cd {tmp_path} && exec hpcc"]
    result = run_jobs(tmp_path, "openmpi", [interposed(tmp_path, "openmpi", job, 4)])
    assert result.code == 0, result
    said = (tmp_path / "hpccoutf.txt").read_text()
    assert "End of HPC Challenge tests." in said and "Success=1" in said, said
    assert "Solution Validates: avg error less than 1.000000e-13 on all three arrays" in said, said  # STREAM
    assert len(re.findall(r"\.\.\.\.\.\. PASSED", said)) == 1 and "FAILED" not in said, said  # HPL
    assert re.search(r" 5 tests completed and passed residual checks.\s+0 tests completed and failed", said), said  # PTRANS
    assert set(re.findall(r"MPIRandomAccess\w*_Errors=(.*)", said)) == {"0"}, said
    assert set(re.findall(r"Node\(s\) with error (\d+)", said)) == {"0"}, said
    assert float(re.search(r"MPIFFT_maxErr=(.*)", said)[1]) < 16 * 2.0**-52, said
    rows = table(tmp_path)
    assert sum(row[1] for (name, why), row in rows.items() if name == "MPI_Allreduce") > 500, result
