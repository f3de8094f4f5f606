#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""waveforms.py: traces the RTL (tests/rtl/trace_ina_top.cpp) and draws rtl/sim/wave_*.svg, and writes the WaveDrom source of
each picture next to it. No build needs it. Run it after a change of the pipeline, from any folder, and commit its output."""

import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
RTL = ROOT / "rtl"
SIZE = {"PORT_COUNT": 2, "JOB_COUNT": 1, "SLOT_COUNT": 8, "MEMORY": 8, "GRAIN": 8}
COLUMN, ROW, LABEL = 15, 24, 178  # pixels
TEXT, SIGNAL, GRID = "#7d8590", "#2f81f7", "#7d859040"  # on a light and on a dark background

IN, OUT = [("s_axis, port 0", "in0"), ("s_axis, port 1", "in1")], [("m_axis, port 0", "out0"), ("m_axis, port 1", "out1")]
SUM = [("join_pick_valid", "join_pick"), ("join_valid", "join"), ("sum_valid", "sum")]
RELAY = [("relay_pick_valid", "relay_pick"), ("relay_pick_kind", "kind"), ("history_read", "history"), ("relay_valid", "relay")]
JUDGE = [("checked_valid, port 0", "checked0"), ("distance, port 0", "distance0"), ("decide, port 0", "decide0")]
VALID_WITH = {"distance0": "checked0", "kind": "relay_pick"}  # the signals mean nothing while these are 0
FIGURES = {
    "admission": ("join", IN + [
        ("ask_valid, port 0", "ask0"), ("en, port 0", "en0"), ("answer_valid, port 0", "answer0"), ("job_valid", "job_valid"),
        ("commit_valid, port 0", "commit0"), ("ask_valid, port 1", "ask1"), ("answer_valid, port 1", "answer1"),
        ("job_complete", "job_complete"), ("commit_valid, port 1", "commit1")] + SUM + OUT),
    "sum": ("data", IN + JUDGE + [("write_valid, port 0", "write0"), ("commit_valid, port 0", "commit0"),
                                  ("commit_valid, port 1", "commit1")] + SUM + OUT),
    "resend": ("resend", IN[:1] + JUDGE + [("commit_valid, port 0", "commit0"), ("resend_valid, port 0", "resend0")]
               + RELAY + OUT),
}


def trace():
    """Runs the RTL. Returns, for each heading, a list of clocks, each of which is {signal: value}."""
    macros = " ".join(f"-DINA_{name}={value}" for name, value in SIZE.items())
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["verilator", "--cc", "--exe", "--build", "-Wno-fatal", "-Wno-DECLFILENAME", "--top-module", "ina_top",
             "--Mdir", folder, *[f"-G{name}={value}" for name, value in SIZE.items()], "-y", RTL, "-y", RTL / "crc",
             RTL / "ina_pkg.sv", RTL / "crc/ina_crc_pkg.sv", RTL / "ina_top.sv", ROOT / "tests/rtl/ina_probe.sv",
             ROOT / "tests/rtl/trace_ina_top.cpp", "-LDFLAGS", "-lz",
             "-CFLAGS", f"-std=c++17 -I{ROOT} -I{ROOT}/model {macros}"], check=True, stdout=subprocess.DEVNULL)
        text = subprocess.run([f"{folder}/Vina_top"], check=True, capture_output=True, text=True).stdout
    clocks, parts = [], {}
    for line in text.splitlines():
        if line.startswith("# "):
            clocks = parts.setdefault(line[2:], [])
        elif line.startswith("@"):
            clocks.append(dict(re.findall(r"(\w+)=\s*(-?\d+)", line), clk="1"))
    return parts


def shown(clocks, signals):
    """Returns the signals from the clock before the first beat arrives to the clock after the last one has left."""
    busy = [i for i, clock in enumerate(clocks) if any(clock[name] == "1" for name in ("in0", "in1", "out0", "out1"))]
    clocks = clocks[max(busy[0] - 1, 0):busy[-1] + 2]
    return [(label, [clock[name] if clock[VALID_WITH.get(name, "clk")] == "1" else "x" for clock in clocks])
            for label, name in signals]


def wavedrom(name, rows):
    signal = [{"name": "clk", "wave": "p" + "." * (len(rows[0][1]) - 1)}]
    for label, values in rows:
        bits = set(values) <= {"0", "1"}
        new = [i == 0 or value != values[i - 1] for i, value in enumerate(values)]
        signal.append({"name": label, "wave": "".join((v if bits or v == "x" else "=") if n else "." for v, n in zip(values, new))})
        if not bits:
            signal[-1]["data"] = [value for value, changed in zip(values, new) if changed and value != "x"]
    lanes = ",\n  ".join(json.dumps(lane) for lane in signal)
    return f'{{"head": {{"text": "{name}", "tick": 0}}, "signal": [\n  {lanes}\n]}}\n'


def svg(rows):
    count = len(rows[0][1])
    width, height = LABEL + COLUMN * count + 8, ROW * (len(rows) + 1) + 8
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
             f'font-family="sans-serif" font-size="12" fill="{TEXT}">']
    for i in range(count + 1):
        parts.append(f'<path d="M{LABEL + COLUMN * i} 18V{height}" stroke="{GRID}"/>')
        if i % 5 == 0 and i < count:
            parts.append(f'<text x="{LABEL + COLUMN * (i + .5)}" y="13" font-size="10" text-anchor="middle">{i}</text>')
    for row, (label, values) in enumerate(rows, 1):
        low, high = ROW * (row + 1) - 4, ROW * row + 4
        parts.append(f'<text x="{LABEL - 8}" y="{low - 3}" text-anchor="end">{label}</text>')
        path, bits, since = "", set(values) <= {"0", "1"}, 0
        for i, value in enumerate(values):
            x = LABEL + COLUMN * i
            if bits:
                y = high if value == "1" else low
                path += (f"V{y}" if path else f"M{x} {y}") + f"H{x + COLUMN}"
            elif i + 1 == count or values[i + 1] != value:
                left, right, since = LABEL + COLUMN * since, x + COLUMN, i + 1
                if value == "x":
                    continue
                path += f"M{left} {low}V{high}H{right}V{low}Z"
                parts.append(f'<text x="{(left + right) / 2}" y="{low - 4}" font-size="11" text-anchor="middle">{value}</text>')
        parts.append(f'<path d="{path}" fill="none" stroke="{SIGNAL}" stroke-width="1.5"/>')
    return "\n".join(parts + ["</svg>"]) + "\n"


def main():
    parts = trace()
    for name, (part, signals) in FIGURES.items():
        rows = shown(parts[part], signals)
        (RTL / f"sim/wave_{name}.json").write_text(wavedrom(name, rows))
        (RTL / f"sim/wave_{name}.svg").write_text(svg(rows))


if __name__ == "__main__":
    main()
