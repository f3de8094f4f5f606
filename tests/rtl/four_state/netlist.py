#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ina_top for a simulator with four states: the RTL as yosys reads it, compiled by iverilog.

    netlist.py --rtl rtl --out build/ina_top.vvp PORT_COUNT=2 JOB_COUNT=2 SLOT_COUNT=8 MTU=256

The `if` of Verilog treats an X as 0, and so hides it. Therefore yosys replaces every `if` by a multiplexer, which gives an X
if its two inputs differ. Most optimisations could lose an X, so only two are allowed:
- removing wires that nothing reads (opt_clean), and
- merging multiplexers and write enables whose bits are all the same (opt_reduce).

Shifts become multiplexers too, as in hardware: 0 << X is 0. A memory would ignore a write whose enable or address is an X.
Such a write prints a line, and the bench fails.
"""

import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ("ina_pkg.sv", "crc/ina_crc_pkg.sv")
TOP = "ina_top"


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        sys.exit(f"netlist: {' '.join(command[:2])} failed: {done.stdout[-2000:]}")


def yosys_script(rtl, parameters, netlist):
    sources = [rtl / name for name in PACKAGES]
    sources += sorted(set(rtl.rglob("*.sv")) - set(sources) - {rtl / "crc/ina_crc.sv"})
    settings = " ".join(f"-set {name} {value}" for name, value in parameters)
    return "\n".join([
        "read_verilog -sv -defer -D SYNTHESIS " + " ".join(map(str, sources)),
        f"read_verilog -sv {HERE}/ina_crc_port.sv",
        f"chparam {settings} {TOP}",
        f"hierarchy -check -top {TOP}",
        "proc -noopt",
        "pmuxtree",
        "opt_reduce",
        "memory_collect",
        "techmap t:$shl t:$shr t:$sshl t:$sshr t:$shift t:$shiftx",
        "flatten",
        "opt_clean",
        # iverilog is slow if the parts of a wire have separate drivers.
        "splitnets t:$mem_v2 %ci1:+[WR_EN]",
        "splitnets -driver",
        "opt_clean -purge",
        f"rename -top {TOP}",
        f"write_verilog -noattr {netlist}",
        ""])


REGISTER = re.compile(r" {4}((\\\S+ |\w+)(\[[\d:]+\])?) <= (.+);\n")
WRITE = re.compile(r" {4}if \((.+)\)\n {6}(\\\S+ |\w+)\[(.+?)\](\[\d+:\d+\])? <= (.+);\n")
PROCESS = re.compile(r"^  always @\(posedge clk\)(?: begin\n((?: {4,}.+\n)+)  end|\n( {4}.+))\n", re.M)
TOGETHER = 16  # about the square root of their number


def register(match):
    target, _, _, value = match.groups()
    return f"{target} !== {value}", f"{target} <= {value};"


def write(match):
    """Makes a memory report an X that decides whether or where it is written."""
    enable, memory, address, bits, value = match.groups()
    name = memory.strip().lstrip("\\")
    return (f"({enable}) !== 1'b0",
            f"begin if (!rst && (^{{{enable}, {address}}}) === 1'bx)"
            f' $fdisplay(four_state.out, "an X decides what is written to {name}");'
            f" if ({enable}) {memory}[{address}]{bits or ''} <= {value}; end")


def clocked(text):
    """One process for all registers and memories. At each clock it looks at one bit for several of them, and then at those that
    change. Otherwise iverilog would read each word of each register and memory at every clock."""
    changes = []

    def take(process):
        body = process[1] or process[2] + "\n"
        for form, known in ((WRITE, write), (REGISTER, register)):
            changes.extend(map(known, form.finditer(body)))
            body = form.sub("", body)
        if body:
            sys.exit(f"netlist: neither a register nor a write into a memory: {body}")
        return ""

    text = PROCESS.sub(take, text)
    if "always" in text:
        sys.exit(f"netlist: another kind of process: {text[text.index('always'):][:200]}")
    wires, process = "", "  always @(posedge clk) begin\n"
    for first in range(0, len(changes), TOGETHER):
        some = range(first, min(first + TOGETHER, len(changes)))
        for i in some:
            wires += f"  wire changes_{i} = {changes[i][0]};\n"
        wires += f"  wire wakes_{first} = |{{{', '.join(f'changes_{i}' for i in some)}}};\n"
        process += f"    if (wakes_{first}) begin\n"
        for i in some:
            process += f"      if (changes_{i}) {changes[i][1]}\n"
        process += "    end\n"
    return text.replace("endmodule", f"{wires}{process}  end\nendmodule")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rtl", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE")
    args = parser.parse_args()

    netlist = args.out.with_suffix(".v")
    script = args.out.with_suffix(".ys")
    parameters = [parameter.split("=") for parameter in args.parameters]
    script.write_text(yosys_script(args.rtl, parameters, netlist), encoding="utf-8")
    run("yosys", "-q", "-l", str(args.out.with_suffix(".log")), str(script))
    netlist.write_text(clocked(netlist.read_text(encoding="utf-8")), encoding="utf-8")
    run("iverilog", "-g2012", f"-DINA_PORT_COUNT={dict(parameters)['PORT_COUNT']}", "-s", "four_state",
        "-o", str(args.out), str(netlist), f"{HERE}/four_state.v", f"{HERE}/ina_crc.v")


if __name__ == "__main__":
    main()
