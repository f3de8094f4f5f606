#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""skips.py REPORT [tell|error]: lists the tests that a run of ctest skipped, from the file of --output-junit.

`error`: exit code 1 if a test was skipped that is not in ALLOWED. ctest knows only tests that are skipped as a whole. If a
part of a test is skipped, its output has a line that begins with SKIPPED, as pytest -rs and cmocka print it.
"""
import re
import sys
from xml.etree import ElementTree

# The skips that are allowed on a healthy machine: the reason that the test gives, and why nothing is lost.
ALLOWED = {
    "no digest is known for these versions": "system.figures compares what depends on no package's version",
    "INA_OTHER_KERNEL names no other kernel": "make test-on runs system.kernels with the kernels of two releases",
    "this project uses version 14": "clang-format 14 of Debian 12 checks the layout; other releases have another one",
    "this user may not make a network namespace": "tcpreplay sends a capture there, which some machines forbid",
    "this machine has no QEMU or no kernel in /boot with rdma_rxe": "make test-qemu installs both, and continuous integration runs it",
    "INA_QEMU_KERNELS names no kernels": "make test-qemu runs lab.qemu_checks and lab.qemu_real_network",
    "this machine has no /dev/kvm": "QEMU then emulates processors without a trial",
    "this user may not mount": "a small /dev/shm is mounted in a namespace, which some machines forbid",
    "this machine forbids network namespaces": "tests of network interfaces make them in namespaces, which some machines forbid",
    "this machine has no /dev/net/tun": "sim-bridge.interfaces tests network interfaces without it; TAP devices need it",
    "kernel has no VLAN interfaces": "sim-bridge.interfaces also sends frames with tags that the test makes itself",
    "kernel has no VXLAN interfaces": "sim-bridge.spread joins bridges by a veth pair too, which the bridges do not tell apart",
    "promtool is not installed": "sim-bridge.metrics reads the same text with the parser of the test",
    "who_answers_is_not_silent": "qemu-user tells next to nothing of a TCP connection; real kernels do",
    "others_bring_what_they_like": "qemu-user loses descriptors that do not fit; real kernels close them",
    "only root can become another user": "sim-bridge.config tests the rest of a service as an ordinary user",
    "systemd-analyze is not installed": "sim-bridge.config still installs the unit, which is the same on every machine",
    "this machine forbids personality(2)": "the same machine runs system.virtual_time without it",
}
LINE = re.compile(r"^(SKIPPED .*|\[  SKIPPED \] (?!\d+ test).*)$", re.M)


def skips(report):
    """The name and the output of each ctest test that was skipped."""
    found = []
    for test in ElementTree.parse(report).iter("testcase"):
        if test.get("status") in ("notrun", "disabled"):
            whole = test.find("skipped")
            found.append((test.get("name"), whole.get("message") if whole is not None else test.get("status")))
        found += [(test.get("name"), line) for line in dict.fromkeys(LINE.findall(test.findtext("system-out") or ""))]
    return found


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["tell"], ["error"]):
        sys.exit("usage: skips.py REPORT [tell|error]")
    try:
        found = skips(sys.argv[1])
    except (OSError, ElementTree.ParseError) as error:
        sys.exit(f"skips: {sys.argv[1]}: {error}: run ctest with --output-junit first")
    bad = 0
    for test, text in found:
        reason = next((why for words, why in ALLOWED.items() if words in text), None)
        bad += reason is None
        print(f"  {test}: {text}{f' (allowed: {reason})' if reason else ''}")
    print(f"{len(found)} skipped{f', {bad} of them without leave' if bad else ''}")
    return bad > 0 and sys.argv[2:] == ["error"]


if __name__ == "__main__":
    sys.exit(main())
