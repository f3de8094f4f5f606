# SPDX-License-Identifier: Apache-2.0
"""Reads a mapped netlist with its hierarchy (yosys write_json), and counts its primitives, module by module."""

import collections
import json
import re

# The 6-input LUTs of a distributed RAM or a shift register (UG574, tables 5-1 and 5-2).
LUTS_OF_MEMORY = {
    "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8, "RAM32X16DR8": 8, "RAM64X8SW": 8,
    "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8,
    "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "RAM512X1S": 8,
    "SRL16E": 1, "SRLC32E": 1,
}
FLIP_FLOPS = {"FDRE", "FDSE", "FDCE", "FDPE"}
LATCHES = {"LDCE", "LDPE"}
# Sizes in block RAMs of 36 Kbit. An UltraRAM has 288 Kbit.
BLOCK_RAMS = {"RAMB36E2": 1.0, "RAMB18E2": 0.5, "URAM288": 8.0}

COLUMNS = ("lut", "lutram", "carry8", "ff", "bram36", "bram18", "uram", "dsp", "latch")


def base_name(module):
    """Returns the name in the source of a module that yosys has specialised."""
    match = re.search(r"(?:^|\\)(ina_\w+)", module)
    return match.group(1) if match else module


class Netlist:
    """The modules of a design, and the number of instances of each."""

    def __init__(self, path, top):
        with open(path, encoding="utf-8") as file:
            modules = json.load(file)["modules"]
        self.top = top
        self.modules = {name: module for name, module in modules.items()
                        if not int(module["attributes"].get("blackbox", "0"), 2)}
        if top not in self.modules:
            raise ValueError(f"{path}: no module {top}")
        self.counts = collections.Counter()
        self._count(top)

    def _count(self, name):
        self.counts[name] += 1
        for cell in self.modules[name]["cells"].values():
            if cell["type"] in self.modules:
                self._count(cell["type"])

    def primitives(self, name):
        """Counts each primitive that a module has directly, without its submodules."""
        cells = self.modules[name]["cells"].values()
        return collections.Counter(c["type"] for c in cells if c["type"] not in self.modules)


def resources(primitives):
    """Converts counts of primitives to a dict with COLUMNS. LUTs of memories are also counted in lut."""
    row = dict.fromkeys(COLUMNS, 0)
    for kind, count in primitives.items():
        if re.fullmatch(r"LUT[1-6]", kind) or kind == "INV":
            row["lut"] += count
        elif kind in LUTS_OF_MEMORY:
            row["lut"] += count * LUTS_OF_MEMORY[kind]
            row["lutram"] += count * LUTS_OF_MEMORY[kind]
        elif kind in FLIP_FLOPS:
            row["ff"] += count
        elif kind in LATCHES:
            row["latch"] += count
        elif kind == "CARRY4":
            row["carry8"] += count / 2
        elif kind == "RAMB36E2":
            row["bram36"] += count
        elif kind == "RAMB18E2":
            row["bram18"] += count
        elif kind == "URAM288":
            row["uram"] += count
        elif kind == "DSP48E2":
            row["dsp"] += count
        elif not kind.startswith("MUXF"):
            raise ValueError(f"an unknown primitive, whose cost is missing here: {kind}")
    return row


def block_rams(row):
    """Memory, in equivalents of a block RAM of 36 Kbit."""
    return (row["bram36"] * BLOCK_RAMS["RAMB36E2"] + row["bram18"] * BLOCK_RAMS["RAMB18E2"]
            + row["uram"] * BLOCK_RAMS["URAM288"])


def by_module(netlist):
    """Returns {name in the source: (instances, resources of all of them)}, and the same for the whole design."""
    table = {}
    total = dict.fromkeys(COLUMNS, 0)
    for name, count in netlist.counts.items():
        row = resources(netlist.primitives(name))
        instances, sums = table.get(base_name(name), (0, dict.fromkeys(COLUMNS, 0)))
        for column in COLUMNS:
            sums[column] += row[column] * count
            total[column] += row[column] * count
        table[base_name(name)] = (instances + count, sums)
    return table, total
