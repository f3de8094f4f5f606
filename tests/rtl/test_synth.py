# SPDX-License-Identifier: Apache-2.0
"""The report on synthesis, for netlists that are small enough to be worked out by hand."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "synth"))

import netlist  # noqa: E402
import synth    # noqa: E402
import timing   # noqa: E402


def cell(kind, **pins):
    return {"type": kind, "connections": pins, "parameters": {},
            "port_directions": {pin: "output" if pin in ("O", "CO", "Q") else "input"
                                for pin in pins}}


def module(ports, cells, names=()):
    return {"attributes": {}, "cells": cells,
            "ports": {name: {"direction": direction, "bits": bits}
                      for name, (direction, bits) in ports.items()},
            "netnames": {name: {"hide_name": 0, "bits": bits} for name, bits in names}}


def load(tmp_path, modules):
    path = tmp_path / "netlist.json"
    path.write_text(json.dumps({"modules": modules}), encoding="utf-8")
    return netlist.Netlist(path, "top")


# A register, a LUT in a child module, a LUT next to it, and a register: the child occurs twice.
CHILD = module({"a": ("input", [2]), "y": ("output", [3])},
               {"lut": cell("LUT1", I0=[2], O=[3])}, [("a", [2]), ("y", [3])])
TOP = module({"clk": ("input", [2])},
             {"from": cell("FDRE", C=[2], CE=["1"], R=["0"], D=["0"], Q=[3]),
              "one": cell("ina_child", a=[3], y=[4]),
              "two": cell("ina_child", a=[4], y=[5]),
              "lut": cell("LUT2", I0=[5], I1=[3], O=[6]),
              "to": cell("FDRE", C=[2], CE=["1"], R=["0"], D=[6], Q=[7])},
             [("clk", [2]), ("q", [3]), ("d", [6]), ("result", [7])])


def test_modules_count_as_often_as_they_are_instantiated(tmp_path):
    table, total = netlist.by_module(load(tmp_path, {"top": TOP, "ina_child": CHILD}))
    assert table["ina_child"][0] == 2
    assert table["ina_child"][1]["lut"] == 2
    assert (total["lut"], total["ff"]) == (3, 2)


def test_memory_is_counted_in_block_rams():
    row = netlist.resources({"RAMB36E2": 3, "RAMB18E2": 5, "URAM288": 2, "RAM32M16": 1, "SRL16E": 4})
    assert netlist.block_rams(row) == 3 + 2.5 + 16
    assert (row["lut"], row["lutram"]) == (12, 12)


def test_an_unknown_primitive_is_not_overlooked():
    with pytest.raises(ValueError, match="FANCY7"):
        netlist.resources({"FANCY7": 1})


def test_the_longest_path_crosses_modules(tmp_path):
    design = load(tmp_path, {"top": TOP, "ina_child": CHILD})
    path = timing.Timing(design).by_module(netlist.base_name)["top"]
    # q drives two pins: one doubling of a net. The last LUT sits before its register.
    expected = (timing.FF_OUT_PS + timing.NET_PS + timing.NET_DOUBLING_PS
                + 3 * timing.LUT_PS + 2 * timing.NET_PS
                + timing.NET_TO_OWN_FF_PS + timing.FF_SETUP_PS + timing.CLOCK_UNCERTAINTY_PS)
    assert path["ps"] == expected
    assert (path["lut_levels"], path["carry4"]) == (3, 0)
    assert (path["from"], path["to"], path["nets"][-1]) == ("q", "result", "d")


def test_a_carry_chain_costs_little_a_step(tmp_path):
    """Two CARRY4: from S[0] of the first through its CO[3] and CI to O[3] of the second."""
    bits = list(range(10, 26))
    top = module({"clk": ("input", [2])}, {
        "from": cell("FDRE", C=[2], CE=["1"], R=["0"], D=["0"], Q=[3]),
        "lut": cell("LUT1", I0=[3], O=[4]),
        "low": cell("CARRY4", CI=["0"], CYINIT=["0"], DI=["0"] * 4, S=[4, "1", "1", "1"],
                    O=bits[0:4], CO=bits[4:8]),
        "high": cell("CARRY4", CI=[bits[7]], CYINIT=["0"], DI=["0"] * 4, S=["1"] * 4,
                     O=bits[8:12], CO=bits[12:16]),
        "to": cell("FDRE", C=[2], CE=["1"], R=["0"], D=[bits[11]], Q=[7])}, [("q", [3])])
    path = timing.Timing(load(tmp_path, {"top": top})).by_module(netlist.base_name)["top"]
    assert (path["lut_levels"], path["carry4"]) == (1, 2)
    assert path["ps"] == (timing.FF_OUT_PS + timing.NET_PS + timing.LUT_PS + timing.NET_TO_CARRY_PS
                          + timing.CARRY_S_PS + timing.CARRY_CI_O_PS + timing.NET_TO_OWN_FF_PS
                          + timing.FF_SETUP_PS + timing.CLOCK_UNCERTAINTY_PS)


def test_a_wire_through_a_module_keeps_its_delay(tmp_path):
    """A child that only connects its input to two outputs adds nothing and hides nothing."""
    wire = module({"a": ("input", [2]), "x": ("output", [2]), "y": ("output", [2])}, {})
    top = module({"clk": ("input", [2])},
                 {"from": cell("FDRE", C=[2], CE=["1"], R=["0"], D=["0"], Q=[3]),
                  "wire": cell("ina_wire", a=[3], x=[4], y=[5]),
                  "lut": cell("LUT1", I0=[5], O=[6]),
                  "to": cell("FDRE", C=[2], CE=["1"], R=["0"], D=[6], Q=[7])}, [("q", [3])])
    path = timing.Timing(load(tmp_path, {"top": top, "ina_wire": wire})).by_module(
        netlist.base_name)["top"]
    assert path["lut_levels"] == 1
    assert path["nets"][0] == "q"


def test_a_loop_is_an_error(tmp_path):
    top = module({"clk": ("input", [2])},
                 {"from": cell("FDRE", C=[2], CE=["1"], R=["0"], D=["0"], Q=[3]),
                  "a": cell("LUT2", I0=[3], I1=[5], O=[4]),
                  "b": cell("LUT1", I0=[4], O=[5])}, [("round", [4]), ("back", [5])])
    with pytest.raises(ValueError, match="loop.*(round|back)"):
        timing.Timing(load(tmp_path, {"top": top}))


DUMP = """
  cell $mem_v2 \\table
    parameter signed \\WIDTH 88
    parameter signed \\SIZE 16
    parameter \\MEMID "\\\\flow_key"
    connect \\RD_ADDR 8'00011011
  end
  cell $mem_v2 \\ram
    parameter signed \\WIDTH 32
    parameter signed \\SIZE 64
    parameter \\MEMID "\\\\lost"
    connect \\RD_ADDR { \\address 6'000001 }
  end
"""


def test_memories_that_fell_apart_are_told_from_tables():
    assert synth.memories_left(DUMP) == [("flow_key", 1408, True), ("lost", 2048, False)]
