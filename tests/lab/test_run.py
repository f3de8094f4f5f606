# SPDX-License-Identifier: Apache-2.0
"""The environment of a command on a host, and its results: output and exit codes."""

import os
import pathlib
import subprocess
import time

import pytest
from conftest import LAB, lines


def test_each_rank_knows_who_it_is_and_where(lab):
    lab.environment["QUOTED"] = 'a "b"\nc'
    run = lab.run(n=3, cwd="/usr/share", command="""
        echo $INA_RANK/$INA_RANKS root $INA_ROOT bind $INA_BIND in $PWD; echo "$QUOTED"
        cat /sys/class/net/vec0/address; ulimit -l; echo to stderr >&2""")
    assert run.returncode == 0, run.err
    for r in range(3):
        assert lines(run.out, r) == [
            f"{r}/3 root 192.0.2.1 bind 192.0.2.{r + 1} in /usr/share", 'a "b"', "c",
            f"02:00:00:00:00:0{r + 1}", "unlimited"]
        assert lines(run.err, r) == ["to stderr"]
    assert len(lines(run.out)) == len(run.out.splitlines())


@pytest.mark.parametrize("switches,hosts,given,found", [
    ([], 2, None, "16"),
    ([], 4, None, "16"),
    ([], 8, None, "17"),
    ([], 8, "14", "14"),
    (["--virtual-time"], 2, None, ""),
])
def test_hosts_that_share_processors_wait_longer(lab, switches, hosts, given, found):
    """In virtual time they do not share processors. A value that the caller sets is kept."""
    lab.environment.pop("INA_ACK_TIMEOUT", None)
    if given:
        lab.environment["INA_ACK_TIMEOUT"] = given
    run = lab.run("--quiet", *switches, n=hosts, command='echo "ACK $INA_ACK_TIMEOUT"')
    assert lines(run.out, 0) == [f"ACK {found}"], run.err


@pytest.mark.parametrize("switches,hosts,given,arguments", [
    (["--virtual-time"], 2, None, []),
    ([], 2, None, ["--patience", "591"]),  # two timeouts are 537 ms
    (["--patience", "700"], 2, None, ["--patience", "591", "--patience", "700"]),
    (["--virtual-time"], 2, "20", ["--patience", "9449", "--idle-ttl", "9.4"]),  # 8590 ms
])
def test_aggregators_are_more_patient_than_two_ack_timeouts(lab, tmp_path_factory, switches, hosts, given, arguments):
    """docs/protocol.md, Suspects. The last value counts, so the caller's does."""
    folder = tmp_path_factory.mktemp("seen")
    bridge = folder / "bridge"
    bridge.write_text(f"""#!/bin/sh
        printf '%s\\n' "$@" >{folder}/arguments
        exec {os.environ.get("INA_BRIDGE", pathlib.Path(LAB).with_name("ina-bridge"))} "$@"
        """)
    bridge.chmod(0o755)
    lab.environment.pop("INA_ACK_TIMEOUT", None)
    if given:
        lab.environment["INA_ACK_TIMEOUT"] = given
    lab.environment["INA_BRIDGE"] = str(bridge)
    run = lab.run("--quiet", *switches, n=hosts, command="true")
    assert run.returncode == 0, run.err
    words = (folder / "arguments").read_text().splitlines()
    assert [word for i, word in enumerate(words)
            if {"--patience", "--idle-ttl"} & set(words[max(i - 1, 0):i + 1])] == arguments


@pytest.mark.parametrize("mtu", [256, 1024, 4096])
def test_path_mtu(lab, mtu):
    run = lab.run("--mtu", str(mtu), n=1,
                  command="ibv_devinfo -v | grep -e active_mtu -e 'GID.  1.'")
    assert f"active_mtu:\t\t{mtu} " in run.out
    assert "::ffff:192.0.2.1, RoCE v2" in run.out


def test_lines_come_as_they_are_written(lab, tmp_path_factory):
    folder = tmp_path_factory.mktemp("seen")
    process = lab.start(n=1, cwd=folder, command="echo first; until [ -e seen ]; do sleep 0.1; done; echo second")
    assert process.stdout.readline() == "[0] first\n"
    (folder / "seen").touch()
    assert process.stdout.readline() == "[0] second\n"
    process.communicate(timeout=300)


def test_all_output_arrives_whole_and_in_order(lab):
    run = lab.run("--quiet", command="seq 1 20000; seq 1 3000 >&2; printf 'no newline'")
    expected = [str(i) for i in range(1, 20001)]
    for r in range(2):
        assert lines(run.out, r) == expected + ["no newline"]
        assert lines(run.err, r) == expected[:3000]


@pytest.mark.parametrize("line_count", [144, 300])
def test_a_slow_reader_loses_nothing(lab, line_count):
    """About 145 KiB fit into all buffers on the way; then the command ends before they are empty."""
    process = lab.start("--quiet", n=1, command=f"yes $(printf %01000d 7) | head -{line_count}")
    time.sleep(2)
    out, _ = process.communicate(timeout=60)
    assert lines(out, 0) == ["7".zfill(1000)] * line_count
    assert process.returncode == 0


def test_a_reader_that_goes_away_ends_the_run(lab):
    process = lab.start(n=1, command="seq 1 1000000; sleep 40")
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=20) == 141
    process.stderr.close()


@pytest.mark.parametrize("command, code", [
    ("exit 0", 0),
    ("[ $INA_RANK = 0 ] || exit 77", 77),
    ("[ $INA_RANK = 0 ] || exit 255", 255),
    # exit code 5 comes first, although from the higher rank
    ("if [ $INA_RANK = 0 ]; then sleep 1; exit 3; else exit 5; fi", 5),
    ("kill -SEGV $$", 139),
    ("kill -TERM $$", 143),
])
def test_exit_code(lab, command, code):
    run = lab.run(command=command)
    assert run.returncode == code, run.err


def test_a_command_that_is_not_there(lab):
    run = subprocess.run([LAB, "run", "-n", "1", "--aggregator", "off", "--", "/no/such/program"],
                         capture_output=True, text=True, timeout=30)
    assert run.returncode == 127
    assert "[0] guest-init: '/no/such/program': No such file" in run.stderr


def test_files_are_on_the_machine_when_the_run_ends(lab, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    lab.run(cwd=folder, command="echo $INA_RANK >rank.$INA_RANK")
    assert [(folder / f"rank.{r}").read_text() for r in range(2)] == ["0\n", "1\n"]


@pytest.mark.parametrize("options", [[], ["--virtual-time"]])
def test_a_late_rank(lab, options):
    """In virtual time by exactly this time, to the moment that a shell takes; in real time it is not the first."""
    run = lab.run(*options, "--delay-rank", "0:2.5", command="date +%s.%N")
    late_s, early_s = (float(lines(run.out, rank)[0]) for rank in range(2))
    if options:
        assert 2.5 <= late_s - early_s < 2.6
    else:
        assert late_s > early_s and run.out.startswith("[1]")


def test_summary_and_quiet(lab):
    loud, quiet = (lab.run(*options, n=1, command="exit 0") for options in ([], ["--quiet"]))
    assert "ina-lab: 1 host, up after" in loud.err
    assert "ina-lab: aggregator off" in loud.err
    assert quiet.err == ""


def test_eight_hosts(lab):
    """Four pairs, each of which sends by RDMA. The second rank of a pair asks until the first one listens."""
    run = lab.run(n=8, command="p='ibv_rc_pingpong -g 1 -n 10'; [ $((INA_RANK % 2)) = 0 ] && exec $p;"
                  " for i in $(seq 100); do $p 192.0.2.$INA_RANK 2>/dev/null && exit; sleep 0.1; done; exit 1")
    assert run.returncode == 0, run.err
    assert all("10 iters in" in "".join(lines(run.out, rank)) for rank in range(8)), run.out


def test_parts_that_are_named_by_relative_paths(lab):
    source = pathlib.Path(__file__).resolve().parents[2]
    kernel = pathlib.Path(os.environ.get("INA_KERNEL") or source / ".kernel/linux").resolve()
    lab.environment.update(INA_KERNEL=kernel.name, INA_GUEST_INIT=os.path.relpath(pathlib.Path(LAB).resolve().parent / "guest-init", kernel.parent))
    run = lab.run("--quiet", n=1, cwd=kernel.parent, command="echo there")
    assert run.returncode == 0 and run.out == "[0] there\n", run.err


def test_a_host_with_another_kernel(lab, tmp_path):
    """The file that is named boots that host, and INA_KERNEL's the other one."""
    kernel = os.environ.get("INA_KERNEL") or pathlib.Path(__file__).resolve().parents[2] / ".kernel/linux"
    other, log = tmp_path / "other", tmp_path / "other.log"
    other.write_text(f"#!/bin/sh\necho booted >>{log}\nexec {kernel} \"$@\"\n")
    other.chmod(0o755)
    run = lab.run("--quiet", "--kernel", f"1:{os.path.relpath(other)}", n=2, command="echo there")
    assert run.returncode == 0 and sorted(lines(run.out)) == ["[0] there", "[1] there"], run.err
    assert log.read_text() == "booted\n"
    log.unlink()
    other.unlink()
