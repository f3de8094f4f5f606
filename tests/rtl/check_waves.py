#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_waves.py VERILATOR VIEW RTL TOP: checks that every signal that the GTKWave view names exists in the RTL (a folder, and
the source of the top level), with the width that the view gives. GTKWave silently leaves out signals that it does not find.

The signals are those that Verilator would trace at two ports, as `make waves` does. With --update as the first argument, the
script corrects the view's widths; it does not remove names of signals that no longer exist."""

import pathlib
import re
import subprocess
import sys
import tempfile

TIMEOUT_S = 120

FUNCTION = re.compile(r"^VL_ATTR_COLD void (\w+__trace_init_\w+)\(.*\{$")
CALL = re.compile(r"^\s+(\w+__trace_init_\w+)\(.*\);$")
# Verilator 5.006 writes pushNamePrefix("name ") and popNamePrefix(1), 5.032 pushPrefix("name", kind) and popPrefix().
PUSH = re.compile(r'push(?:Name)?Prefix\("([^" ]+) ?"')
POP = re.compile(r"pop(?:Name)?Prefix\((\d*)\)")
DECLARATION = re.compile(r'decl(?:Bit|Bus|Quad|Array)\(c\+\d+,(?:\d+,)?"(\w+)",.*?(?:, (\d+),(\d+))?\);')

# A signal of the view, whole or one bit of it: (position)name[left:right].
NAMED = re.compile(r"(?:\((\d+)\))?(TOP\.[\w.\[\]]+?)(?:\[(\d+):(\d+)\])?(?=\s|$)")


def functions_of(directory):
    """The declarations, pushes, pops and calls of each function of the generated sources, in order."""
    functions = {}
    for path in sorted(directory.glob("*__Trace*__Slow.cpp")):
        body = None
        for line in path.read_text().splitlines():
            if match := FUNCTION.match(line):
                body = functions.setdefault(match[1], [])
            elif line == "}":
                body = None
            elif body is not None:
                body.append(line)
    return functions


def declared(functions, name, scopes, signals):
    """Adds the declarations of function `name` to `signals`: {full name: (left, right), or None for one bit}."""
    scopes = list(scopes)
    for line in functions[name]:
        if match := PUSH.search(line):
            scopes.append(re.sub(r"\\\d+$", "", match[1]))
        elif match := POP.search(line):
            del scopes[len(scopes) - int(match[1] or 1) :]
        elif match := DECLARATION.search(line):
            bits = (int(match[2]), int(match[3])) if match[2] else None
            signals[".".join(scopes + [match[1]])] = bits
        elif match := CALL.match(line):
            declared(functions, match[1], scopes, signals)


def signals_of(verilator, rtl, top):
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(
            [verilator, "--cc", "--trace-fst", "--trace-structs", "--top-module", top.stem]
            + ["-GPORT_COUNT=2", "-GJOB_COUNT=4", "-GSLOT_COUNT=128", "--prefix", "Vwaves"]
            + ["--Mdir", directory, "-y", rtl, "-y", f"{rtl}/crc"]
            + [f"{rtl}/ina_pkg.sv", f"{rtl}/crc/ina_crc_pkg.sv", top],
            check=True,
            timeout=TIMEOUT_S,
        )
        functions = functions_of(pathlib.Path(directory))
    tops = [name for name in functions if name.endswith("__trace_init_top")]
    signals = {}
    for name in tops:
        declared(functions, name, ["TOP"], signals)
    return signals


def width_of(bits):
    return f"[{bits[0]}:{bits[1]}]" if bits else ""


def main():
    update = sys.argv[1:2] == ["--update"]
    verilator, view, rtl, top = sys.argv[2 if update else 1 :]
    view = pathlib.Path(view)
    signals = signals_of(verilator, rtl, pathlib.Path(top))
    if len(signals) < 100:
        sys.exit(f"check_waves: only {len(signals)} signals read from what {verilator} generates")
    wrong = set()
    named = 0

    def corrected(match):
        nonlocal named
        position, name, left, right = match.groups()
        named += 1
        if name not in signals:
            wrong.add(f"{name}: there is no such signal")
            return match[0]
        bits = signals[name]
        if width_of(bits) == (f"[{left}:{right}]" if left else ""):
            return match[0]
        if not update:
            wrong.add(f"{name}[{left}:{right}]: it is {name}{width_of(bits)} now")
        # The view counts bits from the left.
        at = f"({int(position) + bits[0] - int(left)})" if position else ""
        return at + name + width_of(bits)

    lines = [
        line if line[:1] in "[-@*^" else NAMED.sub(corrected, line)
        for line in view.read_text().splitlines()
    ]
    if update:
        view.write_text("\n".join(lines) + "\n")
    if wrong:
        sys.exit(f"check_waves: {view} does not fit the RTL:\n  " + "\n  ".join(sorted(wrong)))
    print(f"check_waves: {view}: {named} signals, all of them there")
    if not named:
        sys.exit(1)


if __name__ == "__main__":
    main()
