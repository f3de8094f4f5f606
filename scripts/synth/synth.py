#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the aggregator costs on an UltraScale+ FPGA: a table by module, how deep its logic is, JSON.

yosys keeps the hierarchy, so it synthesises a module once for each set of its parameters, and the
result counts once for each instance. This gives an upper bound: no logic is shared or removed across
the borders of modules, and no two LUTs are packed into one (LUT6_2), as Vivado would do. See
rtl/README.md, Cost.
"""

import argparse
import json
import pathlib
import re
import resource
import subprocess
import sys
import time

import netlist
import timing

RTL = pathlib.Path(__file__).resolve().parents[2] / "rtl"
TOP = "ina_top"
PACKAGES = ("ina_pkg.sv", "crc/ina_crc_pkg.sv")
MEMORY_LIMIT_BYTES = 8 << 30

# A smaller memory may become flip-flops.
MEMORY_BITS_MAX = 1024

# NetReduce (ASPLOS 2023), six ports, float32, one job.
NETREDUCE = {"lut": 109025, "ff": 167554, "bram": 993}

# name: (description, parameters of ina_top, whether large memories are UltraRAM, figures to stay below)
CONFIGURATIONS = {
    "netreduce": ("NetReduce's own: six ports, float32, one job, memory for 2 messages x 170 packets x 1 KiB",
                  {"PORT_COUNT": 6, "JOB_COUNT": 1, "SLOT_COUNT": 256, "MEMORY": 340, "GRAIN": 4, "MTU": 1024,
                   "HALF_FORMATS": 0, "MAX_MIN": 0, "INT32": 0, "UPLINKS": 0}, False, NETREDUCE),
    "full": ("8 ports, 16 jobs, all formats, 512 packets of 4 KiB a port",
             {"PORT_COUNT": 8, "JOB_COUNT": 16, "SLOT_COUNT": 128, "MEMORY": 512, "GRAIN": 8, "MTU": 4096}, True, None),
    "leaf": ("full with one more port, an uplink",
             {"PORT_COUNT": 9, "JOB_COUNT": 16, "SLOT_COUNT": 128, "MEMORY": 512, "GRAIN": 8, "MTU": 4096}, True, None),
    "most": ("full with 16 ports",
             {"PORT_COUNT": 16, "JOB_COUNT": 16, "SLOT_COUNT": 128, "MEMORY": 512, "GRAIN": 8, "MTU": 4096}, True, None),
    "tiny": ("the smallest, to check that everything is mapped",
             {"PORT_COUNT": 2, "JOB_COUNT": 2, "SLOT_COUNT": 8, "MEMORY": 16, "GRAIN": 4}, False, None),
}


def fail(message):
    print(f"synth: {message}", file=sys.stderr)
    sys.exit(1)


def script(rtl, parameters, uram, out, check_only):
    """Returns yosys commands. They stop once after memories have been mapped, to list the unmapped ones.

    check_only works on words, not on gates. It finds latches and loops before anything is optimised,
    and runs only those passes before the memories that decide whether a memory can be a RAM. That
    takes a sixth of the time, and the list of memories is the same.
    """
    sources = [rtl / name for name in PACKAGES]
    sources += sorted(set(rtl.rglob("*.sv")) - set(sources))
    top = (rtl / f"{TOP}.sv").read_text(encoding="utf-8")
    for name in parameters:
        if not re.search(rf"parameter\s+\w+\s+{name}\b", top):
            fail(f"{rtl}/{TOP}.sv has no parameter {name}; see CONFIGURATIONS in {__file__}")
    settings = " ".join(f"-set {name} {value}" for name, value in parameters.items())
    synth = f"synth_xilinx -family xcup -abc9 -noiopad -noclkbuf {'-uram ' if uram else ''}-top {TOP}"
    list_memories = f"tee -q -o {out}.memories dump t:$mem_v2"
    if check_only:
        run = [f"{synth} -run begin:prepare",
               "proc", "check -assert", "select -assert-none t:$*latch*",
               "opt_expr", "opt_clean", "opt_dff", "memory -nomap", "opt_clean",
               f"{synth} -run map_memory:map_ffram", list_memories]
    else:
        run = [f"{synth} -run begin:map_ffram", list_memories, f"{synth} -run map_ffram:",
               f"write_json {out}.netlist.json", "check -assert"]
    return "\n".join([
        "read_verilog -sv -defer -D SYNTHESIS " + " ".join(map(str, sources)),
        f"chparam {settings} {TOP}",
        f"hierarchy -check -top {TOP}",
        *run, ""])


def run_yosys(commands, out, timeout_s):
    out.with_suffix(".ys").write_text(commands, encoding="utf-8")
    log = out.with_suffix(".log")
    try:
        done = subprocess.run(
            # If the port of one of our modules is connected with another width, that is a mistake, but
            # yosys only warns. The ports of block RAMs, whose names are in upper case, are exempt.
            ["yosys", "-q", "-e", "Resizing cell port .*[.][a-z_0-9]+ from", "-l", str(log),
             str(out.with_suffix(".ys"))], timeout=timeout_s,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES,) * 2),
            check=False)
    except FileNotFoundError:
        fail("yosys is not installed: scripts/install-packages.sh synth")
    except subprocess.TimeoutExpired:
        fail(f"{out.name}: yosys has not finished in {timeout_s} s; give more with --timeout ({log})")
    if done.returncode != 0:
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        reason = next((line for line in reversed(lines) if "ERROR" in line), "see the log")
        fail(f"{out.name}: yosys failed: {reason} ({log})")


def memories_left(dump):
    """Lists memories that become flip-flops: [(name, bits, read in parallel)].

    If every read has a constant address, all words are read in the same clock, as in a table that is
    compared with a key. A RAM cannot do that, so these memories are meant to be registers.
    """
    found = []
    for cell in re.findall(r"^\s*cell \$mem_v2 .*?^\s*end$", dump, re.M | re.S):
        value = dict(re.findall(r"^\s*parameter (?:signed )?\\(\w+) (.+)$", cell, re.M))
        address = re.search(r"^\s*connect \\RD_ADDR (.+)$", cell, re.M).group(1)
        bits = _number(value["WIDTH"]) * _number(value["SIZE"])
        found.append((value["MEMID"].strip('"').lstrip("\\"), bits,
                      re.fullmatch(r"[\s{}]*(\d+'[01x]+[\s{}]*)+", address) is not None))
    return found


def _number(text):
    return int(text.split("'")[1], 2) if "'" in text else int(text)


def judge_memories(out):
    """Reads the files that the run wrote. Returns the memories, and a line for each one that is wrong."""
    left = memories_left(out.with_suffix(".memories").read_text(encoding="utf-8"))
    for memory, bits, parallel in left:
        print(f"registers: {memory}, {bits} bits" + (", all read in parallel" if parallel else ""))
    return left, [f"memory {memory} of {bits} bits was mapped to flip-flops"
                  for memory, bits, parallel in left if bits > MEMORY_BITS_MAX and not parallel]


def check(name, folder, options):
    """Checks that there is no latch and no loop, that every memory is mapped, and that yosys' check finds nothing else."""
    _, parameters, uram, _ = CONFIGURATIONS[name]
    out = folder / name
    run_yosys(script(options.rtl, parameters, uram, out, True), out, options.timeout)
    return [f"{name}: {line}" for line in judge_memories(out)[1]]


def table_lines(table, total, reference):
    head = ("module", "n", "LUT", "of them RAM", "CARRY8", "FF", "BRAM36", "BRAM18", "URAM", "DSP",
            "block RAM eq.")
    keys = ("lut", "lutram", "carry8", "ff", "bram36", "bram18", "uram", "dsp")
    rows = [(name, f"{count}", *(f"{row[key]:.0f}" for key in keys), f"{netlist.block_rams(row):g}")
            for name, (count, row) in sorted(table.items(), key=lambda item: -item[1][1]["lut"])]
    rows.append(("total", "", *(f"{total[key]:.0f}" for key in keys),
                 f"{netlist.block_rams(total):g}"))
    if reference:
        rows.append(("NetReduce", "", f"{reference['lut']}", "", "", f"{reference['ff']}", "", "", "",
                     "", f"{reference['bram']}"))
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))) for row in [head, *rows]]


def timing_lines(paths):
    lines = []
    for name, path in sorted(paths.items(), key=lambda item: -item[1]["ps"]):
        lines.append(f"{name:18} {path['ps'] / 1000:6.2f} ns  {path['lut_levels']:2} LUTs "
                     f"{path['carry4']:2} CARRY4  {path['from']} -> {path['to']}")
    return lines


def synthesise(name, folder, options):
    """Runs one configuration and prints its result. Returns a line for each fault."""
    title, parameters, uram, reference = CONFIGURATIONS[name]
    out = folder / name
    started_s = time.monotonic()
    if not options.reuse:
        run_yosys(script(options.rtl, parameters, uram, out, False), out, options.timeout)
    design = netlist.Netlist(out.with_suffix(".netlist.json"), TOP)
    table, total = netlist.by_module(design)

    print(f"\n{name}: {title}")
    print("  " + ", ".join(f"{key}={value}" for key, value in parameters.items()))
    print("\n".join(table_lines(table, total, reference)))
    left, wrong = judge_memories(out)
    if total["latch"]:
        wrong.append(f"{total['latch']} latches")
    if reference:
        for key, value in (("lut", total["lut"]), ("ff", total["ff"]),
                           ("bram", netlist.block_rams(total))):
            if value >= reference[key]:
                wrong.append(f"{key}: {value:g}, and NetReduce has {reference[key]}")

    paths = {}
    try:
        paths = timing.Timing(design).by_module(netlist.base_name)
    except ValueError as error:
        wrong.append(str(error))
    if paths:
        print(f"longest paths, by the module in which they end (estimate; {timing.PERIOD_PS / 1000} "
              "ns are 250 MHz):")
        print("\n".join(timing_lines(paths)))
        late = [key for key, path in paths.items() if path["ps"] > timing.PERIOD_PS]
        if late:
            wrong.append("too deep for 250 MHz: " + ", ".join(late))
    print(f"{name}: {time.monotonic() - started_s:.0f} s; "
          + ("; ".join(wrong) if wrong else "no error"))
    out.with_suffix(".json").write_text(json.dumps({
        "configuration": name, "title": title, "parameters": parameters,
        "modules": {key: {"instances": count, **row, "block_ram_equivalents": netlist.block_rams(row)}
                    for key, (count, row) in table.items()},
        "total": {**total, "block_ram_equivalents": netlist.block_rams(total)},
        "reference": reference, "paths": paths, "period_ps": timing.PERIOD_PS,
        "registers": [{"memory": memory, "bits": bits, "parallel": parallel}
                      for memory, bits, parallel in left],
        "wrong": wrong}, indent=1) + "\n", encoding="utf-8")
    return [f"{name}: {line}" for line in wrong]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("configuration", nargs="*", default=["netreduce", "full"],
                        help="of " + ", ".join(CONFIGURATIONS) + "; default: netreduce full")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/synth"),
                        help="folder for JSON, netlists and logs (default: build/synth)")
    parser.add_argument("--rtl", type=pathlib.Path, default=RTL,
                        help="folder of the sources (default: the project's)")
    parser.add_argument("--timeout", type=int, default=3600, metavar="S",
                        help="seconds for each run of yosys (default: 3600)")
    parser.add_argument("--check", action="store_true",
                        help="check only for latches and loops, and that all memories are mapped")
    parser.add_argument("--reuse", action="store_true",
                        help="print the existing netlists of the folder, without yosys")
    options = parser.parse_args()
    for name in options.configuration:
        if name not in CONFIGURATIONS:
            fail(f"no configuration {name}; the configurations are {', '.join(CONFIGURATIONS)}")
    options.out.mkdir(parents=True, exist_ok=True)
    folder = options.out.resolve()
    wrong = []
    for name in options.configuration:
        wrong += check(name, folder, options) if options.check \
            else synthesise(name, folder, options)
    if wrong:
        fail("; ".join(wrong))


if __name__ == "__main__":
    main()
