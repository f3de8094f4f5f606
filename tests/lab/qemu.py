# SPDX-License-Identifier: Apache-2.0
"""Hosts that are QEMU machines with the distribution's own kernel, alone and with User Mode Linux hosts in one run."""
import os
import re
import signal
import stat
import subprocess

import pytest
from conftest import LAB, lines, processes_with, wait_until

PERF = os.path.join(os.path.dirname(LAB), "ina-perf")


def can_boot():
    """Whether ina-lab finds a kernel in /boot: without a QEMU it ends at the next step."""
    run = subprocess.run([LAB, "run", "-n", "1", "--hosts", "qemu", "--", "true"], capture_output=True, text=True,
                         env={**os.environ, "INA_QEMU": "/nowhere"})
    return os.path.exists("/usr/bin/qemu-system-x86_64") and "no kernel in /boot" not in run.stderr


# make test-qemu sets the variable, after it has installed both.
needs_qemu = pytest.mark.skipif("INA_QEMU_KERNELS" not in os.environ and not can_boot(),
                                reason="this machine has no QEMU or no kernel in /boot with rdma_rxe")


def kernel_in_boot():
    kernels = [name for name in os.listdir("/boot") if name.startswith("vmlinuz-") and "cloud" not in name]
    return "/boot/" + max(kernels, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])


def sums(lab, *options, aggregator="model", kind="ina"):
    run = lab.run(*options, command=f"uname -r; {PERF} -b 4 -e 64K -f 128 -n 1", aggregator=aggregator)
    assert run.returncode == 0, run.err
    rows = [line.split() for line in lines(run.out, 0) if re.match(r"\s+\d+\s", line)]
    assert [row[4] for row in rows] == [kind] * 3 and all(row[-1] == "0" for row in rows), run.out
    return [lines(run.out, rank)[0] for rank in range(2)]


@needs_qemu
def test_a_pair(lab):
    release = kernel_in_boot().removeprefix("/boot/vmlinuz-")
    assert sums(lab, "--hosts", "qemu") == [release, release]


@needs_qemu
def test_a_pair_of_both_kinds_over_the_ring(lab):
    kinds = sums(lab, "--kernel", f"1:{kernel_in_boot()}", aggregator="off", kind="ring")
    assert kinds[0] != kinds[1] == kernel_in_boot().removeprefix("/boot/vmlinuz-")


@needs_qemu
def test_output_and_exit_codes(lab):
    """A QEMU host prints as others do: whole lines on a terminal, all of them before its exit code."""
    run = lab.run("--hosts", "qemu", command="[ -t 1 ] && seq 20000; echo to stderr >&2; exit $((3 + INA_RANK * 4))")
    assert run.returncode in (3, 7), run.err
    for rank in range(2):
        assert lines(run.out, rank) == [str(number) for number in range(1, 20001)]
        assert lines(run.err, rank) == ["to stderr"]
        assert f"rank {rank} ended with exit code {3 + 4 * rank} " in run.err


@needs_qemu
def test_nothing_is_left_when_the_lab_is_killed(lab):
    process = lab.start("--hosts", "qemu", command="sleep 1000", start_new_session=True)
    wait_until(lambda: any("-name host1" in line for line in processes_with(str(lab.folder)).values()), 60, "host 1")
    process.send_signal(signal.SIGKILL)
    process.communicate()  # the fixture waits until nothing is left


@needs_qemu
@pytest.mark.skipif(not os.access("/dev/kvm", os.R_OK | os.W_OK), reason="this machine has no /dev/kvm")
def test_a_kvm_that_hangs(lab, tmp_path_factory):
    """QEMU stands still as soon as it has KVM, as it does on some machines."""
    qemu = tmp_path_factory.mktemp("qemu") / "qemu"
    qemu.write_text('#!/bin/sh\ncase "$*" in *"-accel kvm"*) exec sleep 1000 ;; esac\nexec qemu-system-x86_64 "$@"\n')
    qemu.chmod(qemu.stat().st_mode | stat.S_IXUSR)
    lab.environment["INA_QEMU"] = str(qemu)
    run = lab.run("--hosts", "qemu", command="true")
    assert run.returncode == 0, run.err
    assert [line for line in run.err.splitlines() if "kvm" in line] == [
        "ina-lab: /dev/kvm: a guest hangs on it; so QEMU emulates the hosts' processors"]


@pytest.mark.parametrize("options, variables, message, code", [
    (["--virtual-time"], {}, "--virtual-time: host 0 is a QEMU machine, which has real time only", 2),
    (["--cables", "tap"], {}, "--cables tap: host 0 is a QEMU machine, whose cable is a socket", 2),
    (["--memory", "64"], {}, "host 0 is a QEMU machine, which needs at least --memory 192", 2),
    ([], {"INA_QEMU": "/nowhere"}, "no QEMU found at /nowhere: run scripts/install-packages.sh qemu, or set INA_QEMU", 125),
    ([], {}, "its modules are not at", 125),
])
def test_one_line(tmp_path, options, variables, message, code):
    """The kernel here is only the header of one: nothing is started."""
    header = bytearray(0x8300)
    header[0x202:0x206] = b"HdrS"
    header[0x20e:0x210] = (0x1000).to_bytes(2, "little")
    header[0x1200:0x1206] = b"6.1.0\0"
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot/vmlinuz").write_bytes(header)
    qemu = {"INA_QEMU": "/bin/true", "INA_KERNEL": str(tmp_path / "boot/vmlinuz")}
    run = subprocess.run([LAB, "run", "-n", "2", *options, "--", "true"], capture_output=True, text=True, timeout=60,
                         env={**os.environ, **qemu, **variables})
    assert run.returncode == code and message in run.stderr and run.stderr.count("\n") <= 2, run.stderr


TWO_DEVICES = f"""
unset INA_BIND
if [ $INA_RANK = 0 ]; then
    modprobe dummy numdummies=0 && ip link add dummy0 type dummy && ip address add 198.51.100.1/24 dev dummy0 && ip link set dummy0 up &&
        rdma link add rxe1 type rxe netdev dummy0 || exit
fi
until grep -qs 198.51.100.1 /proc/net/fib_trie && [ -e /sys/class/infiniband/rxe1 ]; do sleep 0.1; done
use() {{ echo "== $*"; env INA_LOG=info "$@" {PERF} --schedule flat -c 1 -b 64K -e 64K -n 1 -w 0 2>&1; }}
use INA_HCA=rxe1,rxe0 INA_CHANNELS=3 && use INA_CHANNELS=2 && use INA_ROOT=198.51.100.1 && ! use INA_BIND=198.51.100.1 INA_HCA=^rxe1"""


@needs_qemu
def test_two_devices_on_one_host(lab):
    """Channels take turns on the devices of a list; without a list, the device that leads to rank 0 is used. Two ranks on one host
    reach each other over each of its devices, as ranks of two machines would."""
    run = lab.run("--hosts", "qemu", "--ranks-per-host", "2", command=TWO_DEVICES, n=1)
    assert run.returncode == 0, (run.out, run.err)
    parts = run.out.split("== INA_")[1:]
    devices = {}
    for part in parts:
        setting = part.partition("\n")[0]
        devices.setdefault(setting, []).extend(re.findall(r"rank 0 of 2: (rxe\d) ([\d.]+), GID", part))
    first, second = ("rxe0", "192.0.2.1"), ("rxe1", "198.51.100.1")
    assert devices == {"HCA=rxe1,rxe0 INA_CHANNELS=3": [second, first, second], "CHANNELS=2": [first, first],
                       "ROOT=198.51.100.1": [second], "BIND=198.51.100.1 INA_HCA=^rxe1": []}, run.out
    assert 'the address 198.51.100.1 belongs to port 1 of rxe1, which is not in the list "^rxe1"' in parts[-1], run.out
