# SPDX-License-Identifier: Apache-2.0
"""The project follows its table of layers; and invented trees, each with one fault, fail the test."""
from pathlib import Path

import pytest
from layers import Project, read_table

ROOT = Path(__file__).resolve().parents[2]

TABLE = """# Made up

## Layers

Prose with `backticks` that is no row.

| layer | includes only | what it is |
|---|---|---|
| `base/`, `shared` | | what all have, `top` not |
| `lib/include` | | the interface |
| `lib/` | | |
| `tool` | `lib/include`, `base` | |
| `top/` | | |

## Another heading

| `nothing` | |
"""
GOOD = {
    "base/clock.h": "long now(void);\n",
    "base/clock.c": '#include "clock.h"\nlong now(void)\n{\n\treturn 1;\n}\n',
    "shared/list.h": '#include "base/clock.h"\n',
    "lib/include/lib.h": "int lib_start(int (*call)(void *), void *of);\nint lib_end(void);\n",
    # An interface has no source: any source that implements it may include it.
    "lib/api.c": '#include "lib/include/lib.h"\n#include "core.h"\n'
                 "int lib_start(int (*call)(void *), void *of)\n{\n}\nint lib_end(void)\n{\n}\n",
    "lib/core.h": "void core(void);\n",
    "lib/core.c": '#include "core.h"\n#include "base/clock.h"\n#include <stdio.h>\nvoid core(void)\n{\n}\n',
    # A tool may call what its row lets it include, wherever that is defined.
    # Neither a member nor a text is a call.
    "shared/hooks.c": 'int run(struct hooks *of)\n{\n\treturn of->lib_end() + log("lib_start(a)");\n}\n',
    "tool/main.c": '#include "lib/include/lib.h"\nint main(void)\n{\n\treturn lib_end();\n}\n',
    "top/main.cpp": '#include "lib/core.h"\n#include "Vtop_2.h"\n// #include "gone.h"\n',
    "top/frame.sv": "module frame import base_pkg::*; #(int W = 1) ();\n  step #(.W(W)) one (.a);\nendmodule\n",
    "lib/step.sv": "module step;\n  wire x = base_pkg::X;\nendmodule\n",
    "base/base_pkg.sv": "package base_pkg;\nendpackage\n",
    # Not part of the project: built files, and tests.
    "build/made.c": '#include "top/none.h"\n',
    "tests/test.c": '#include "top/none.h"\n',
}


def faults(tmp_path, changes=None, table=TABLE):
    for name, text in {**GOOD, **(changes or {})}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Project(tmp_path).faults(read_table(table))


def test_good(tmp_path):
    assert faults(tmp_path) == []


RED = {
    "include upwards": ({"base/clock.h": '#include "lib/core.h"\n'},
                        "base/clock.h includes lib/core.h: upwards, from base, shared to lib"),
    "into the library": ({"tool/main.c": '#include "lib/core.h"\n'},
                         "tool/main.c includes lib/core.h: tool may not include lib"),
    "not even lower": ({"tool/main.c": '#include "shared/list.h"\n#include "base/clock.h"\n'},
                       "tool/main.c includes shared/list.h: tool may not include base, shared"),
    "no row": ({"other/a.c": ""}, "other/a.c belongs to no row"),
    "nowhere": ({"top/main.cpp": '#include "core.h"\n'}, 'top/main.cpp includes "core.h", which is neither'),
    "two headers": ({"lib/a.h": '#include "b.h"\n', "lib/b.h": '#include "a.h"\n'},
                    "a circle of 2 (lib/a, lib/b), for one: lib/a.h includes lib/b.h; lib/b.h includes lib/a.h"),
    "sources and headers": ({"lib/a.c": '#include "b.h"\n', "lib/a.h": "", "lib/b.h": "",
                             "lib/b.c": '#include "c.h"\n', "lib/c.h": "", "lib/c.c": '#include "a.h"\n'},
                            "a circle of 3 (lib/a, lib/b, lib/c)"),
    "folders of one row": ({"base/a.h": '#include "shared/b.h"\n', "shared/b.h": '#include "base/a.h"\n'},
                           "a circle of 2 (base/a, shared/b)"),
    "declared here, defined there": ({"lib/core.h": "void core(void);\nvoid more(int x,\n          int y);\n",
                                      "lib/more.c": '#include "core.h"\nvoid more(int x,\n          int y)\n{\n}\n'},
                                     "lib/core.h declares more(), which stands in lib/more.c"),
    "a call upwards": ({"lib/low.h": "int low(void);\nint high(void);\n", "top/high.c": "int high(void)\n{\n}\n",
                        "lib/a.c": '#include "low.h"\nint low(void)\n{\n\treturn high();\n}\n'},
                       "lib/a.c names high() of lib/low.h, which stands in top/high.c: upwards, from lib to top"),
    "a function passed upwards": ({"lib/low.h": "int high(void);\n", "top/high.c": "int high(void)\n{\n}\n",
                                   "lib/a.c": '#include "low.h"\nint (*f)(void) = high;\n'},
                                  "lib/a.c names high() of lib/low.h, which stands in top/high.c: upwards"),
    "calls in a circle": ({"lib/both.h": "int one(void);\nint two(void);\n",
                           "lib/one.c": '#include "both.h"\nint one(void)\n{\n\treturn two();\n}\n',
                           "lib/two.c": '#include "both.h"\nint two(void)\n{\n\treturn one();\n}\n'},
                          "a circle of 2 (lib/one, lib/two), for one: lib/one.c names two() of lib/both.h, which stands in lib/two.c"),
    "module upwards": ({"lib/step.sv": "module step;\n  frame it ();\nendmodule\n"},
                       "lib/step.sv uses top/frame.sv: upwards"),
    "package upwards": ({"base/base_pkg.sv": "package base_pkg;\nint a = top_pkg::A;\nendpackage\n",
                         "top/top_pkg.sv": "package top_pkg;\nendpackage\n"},
                        "base/base_pkg.sv uses top/top_pkg.sv: upwards"),
}


@pytest.mark.parametrize("name", RED)
def test_red(tmp_path, name):
    changes, expected = RED[name]
    found = faults(tmp_path, changes)
    assert any(expected in fault for fault in found), found


def test_row_without_files(tmp_path):
    assert faults(tmp_path, table=TABLE.replace("`top/`", "`top/`, `gone/`")) == [
        "the table names gone, which has no source file"]


@pytest.mark.parametrize("table", ["# None\n", "## Layers\n\nProse.\n", "## Layers\n\n| a |\n|---|\n| no name |\n",
                                   "## Layers\n\n| a |\n|---|\n| `base` |\n| `base/` |\n"])
def test_bad_table(table):
    with pytest.raises(ValueError):
        read_table(table)


def test_project():
    found = Project(ROOT).faults(read_table((ROOT / "ARCHITECTURE.md").read_text()))
    assert not found, "\n" + "\n".join(found)
