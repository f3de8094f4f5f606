#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""draw.py [DATA.json]: draws system.svg, results.svg from results.json and fabric.svg from fabric.json in its own folder, and
writes the figures of results.json into the tables of ../results.md.

`tests/bench/virtual.py --parts charts --json docs/pictures/results.json` measures the data; `make charts` runs both.
`tests/bench/fabric.py --parts speed --fabrics leaf-spine:2x2,leaf-spine:4x4,leaf-spine:8x8 --largest 16M --json
docs/pictures/fabric.json` measures the data for several switches.
The pictures have their own background, which is light or dark like the reader's screen.
"""
import json
import math
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
STYLE = """<style>
text { font: 13px sans-serif; fill: #1f2328; } .small { font-size: 11px; fill: #59636e; } .title { font-weight: bold; }
.back { fill: #ffffff; } .box { fill: #f0f3f6; stroke: #59636e; } .inner { fill: #ddf4ff; stroke: #0969da; }
.grid { stroke: #d1d9e0; } .axis { stroke: #59636e; } .line { fill: none; stroke-width: 2; }
.ina { stroke: #0969da; } .ina-dot { fill: #0969da; } .ina-text { fill: #0969da; }
.ring { stroke: #bc4c00; } .ring-dot { fill: #bc4c00; } .ring-text { fill: #bc4c00; }
.theory { stroke: #59636e; stroke-dasharray: 5 4; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .small { fill: #9198a1; } .back { fill: #0d1117; } .box { fill: #161b22; stroke: #9198a1; }
.inner { fill: #0c2240; stroke: #58a6ff; } .grid { stroke: #30363d; } .axis { stroke: #9198a1; }
.ina { stroke: #58a6ff; } .ina-dot { fill: #58a6ff; } .ina-text { fill: #58a6ff; }
.ring { stroke: #f0883e; } .ring-dot { fill: #f0883e; } .ring-text { fill: #f0883e; } .theory { stroke: #9198a1; }
}
</style>
<defs>""" + "".join(
    f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="{name}-dot" '
    'd="M0 0 8 4 0 8z"/></marker>' for name in ("ina", "ring")) + "</defs>"


def text(x, y, words, css="", anchor="middle"):
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{css}" text-anchor="{anchor}">{words}</text>'


def box(x, y, width, height, css="box"):
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" class="{css}"/>'


def line(x1, y1, x2, y2, css, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}" {more}/>'


def write(name, width, height, title, parts):
    (FOLDER / name).write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">\n'
                               + STYLE + f'\n<rect width="{width}" height="{height}" rx="8" class="back"/>\n' + "\n".join(parts) + "\n</svg>\n")


def system():
    """Hosts in a row, the switch below them, and the aggregator in the switch."""
    parts = []
    for rank in range(4):
        x = 25 + 190 * rank
        parts += [box(x, 20, 150, 74), text(x + 75, 39, f"host {rank}", "title"), text(x + 75, 56, "program, libina", "small"),
                  text(x + 75, 71, "libibverbs, librdmacm", "small"), text(x + 75, 86, "Linux, rdma_rxe (stock)", "small"),
                  line(x + 55, 94, x + 55, 146, "line ring", 'marker-end="url(#ring)"'),
                  line(x + 95, 146, x + 95, 98, "line ina", 'marker-end="url(#ina)"'),
                  text(x + 49, 122, f"x{'₀₁₂₃'[rank]}", "ring-text", "end"), text(x + 101, 126, "Σ x", "ina-text", "start")]
        if rank < 3:
            parts.append(line(x + 152, 57, x + 188, 57, "line theory", 'stroke-width="1.5"'))
    parts += [text(200, 114, "RC connections", "small"), text(200, 129, "in a ring", "small"),
              box(25, 148, 720, 172), text(40, 170, "ina-bridge: an Ethernet switch", "title", "start"),
              text(730, 170, "acknowledgements, NAKs and all other traffic: by MAC table, as usual", "small", "end"),
              box(45, 184, 680, 120, "inner"), text(60, 206, "aggregator: SystemVerilog, run by Verilator", "title", "start"),
              text(60, 224, "RoCE data packets: packet k of every connection waits until all n have come", "small", "start")]
    steps = ("parse", "check", "judge", "queue", "join", "add", "rebuild")
    for i, step in enumerate(steps):
        x = 60 + 95 * i
        parts += [box(x, 240, 74, 28), text(x + 37, 259, step)]
        if i:
            parts.append(line(x - 21, 254, x - 3, 254, "line ina", 'marker-end="url(#ina)"'))
    parts.append(text(385, 290, "all n packets are forwarded, each with its own headers and PSN, the sum as payload, and a fresh iCRC", "small"))
    write("system.svg", 770, 336, "Four hosts round a switch whose aggregator adds up their packets", parts)


def scale(low, high, start, end, log):
    change = math.log if log else float
    return lambda value: start + (change(value) - change(low)) / (change(high) - change(low)) * (end - start)


def axes(x, y, width, height, x_ticks, y_ticks, title, x_title):
    parts = [text(x, y - 26, title, "title", "start")]
    parts += [line(x, at, x + width, at, "grid") + text(x - 6, at + 4, label, "small", "end") for at, label in y_ticks]
    parts += [text(at, y + height + 17, label, "small") for at, label in x_ticks]
    return parts + [line(x, y + height, x + width, y + height, "axis"), text(x + width / 2, y + height + 35, x_title, "small")]


def curve(points, css, dots=True):
    parts = ['<polyline class="line {}" points="{}"/>'.format(css, " ".join(f"{x:.1f},{y:.1f}" for x, y in points))]
    return parts + [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="{css}-dot"/>' for x, y in points if dots]


def results(rows, kernel):
    gbps, largest = rows[0]["rate_gbps"], max(row["size_bytes"] for row in rows)
    sizes = [row for row in rows if row["hosts"] == 4]
    x_at, y_at = scale(4, largest, 70, 370, True), scale(1, 4000, 280, 60, True)
    units = [(4, "4 B"), (1 << 10, "1 KiB"), (1 << 20, "1 MiB"), (1 << 24, "16 MiB")]
    parts = axes(70, 60, 300, 220, [(x_at(size), label) for size, label in units],
                 [(y_at(1), "1 µs"), (y_at(10), "10 µs"), (y_at(100), "100 µs"), (y_at(1000), "1 ms")],
                 f"Time of an all-reduce: 4 hosts, {gbps} Gb/s, Linux {kernel}", "size, float32")
    for name in "ring", "ina":
        parts += curve([(x_at(row["size_bytes"]), y_at(row[f"{name}_us"])) for row in sizes], name)
    parts += [text(100, y_at(15), "ring of the hosts", "ring-text", "start"), text(190, y_at(1.25), "in the network", "ina-text", "start")]

    hosts = sorted((row for row in rows if row["size_bytes"] == largest), key=lambda row: row["hosts"])
    x_at, y_at = scale(2, 8, 460, 730, False), scale(0, 2, 280, 60, False)
    parts += axes(440, 60, 310, 220, [(x_at(row["hosts"]), str(row["hosts"])) for row in hosts],
                  [(y_at(value), f"{value:g}") for value in (0, 0.5, 1, 1.5, 2)],
                  f"Times as fast as ring: {largest >> 20} MiB, {gbps} Gb/s", "n, number of hosts")
    parts += curve([(x_at(n), y_at(2 * (n - 1) / n)) for n in range(2, 9)], "theory", False)
    parts += curve([(x_at(row["hosts"]), y_at(row["ring_us"] / row["ina_us"])) for row in hosts], "ina")
    parts += [text(x_at(row["hosts"]) - 4, y_at(row["ring_us"] / row["ina_us"]) - 10, f"{row['ring_us'] / row['ina_us']:.2f}", "ina-text") for row in hosts]
    parts += [line(560, 234, 590, 234, "line theory"), text(596, 238, "theory: 2(n−1)/n", "small", "start"),
              line(560, 256, 590, 256, "line ina"), text(596, 260, "in virtual time", "small", "start")]
    write("results.svg", 770, 330, "Time against size, compared with the ring, and speed-up against the number of hosts, compared with theory", parts)


def fabric(rows):
    """Leaves under one spine: the speed-up against the number of hosts."""
    rows = sorted(rows, key=lambda row: row["hosts"])
    most = rows[-1]["hosts"]
    x_at, y_at = scale(2, most, 70, 350, True), scale(0, 2, 280, 60, False)
    parts = axes(50, 60, 320, 220, [(x_at(row["hosts"]), f"{row['hosts']} ({row['fabric'].split(':')[1].replace('x', ' × ')})") for row in rows],
                 [(y_at(value), f"{value:g}") for value in (0, 0.5, 1, 1.5, 2)],
                 f"Times as fast as ring: {rows[0]['size_bytes'] >> 20} MiB, 100 Gb/s", "n, number of hosts (leaves × hosts of each)")
    parts += curve([(x_at(n), y_at(2 * (n - 1) / n)) for n in range(2, most + 1)], "theory", False)
    parts += curve([(x_at(row["hosts"]), y_at(row["speed_up"])) for row in rows], "ina")
    parts += [text(x_at(row["hosts"]) - 4, y_at(row["speed_up"]) - 10, f"{row['speed_up']:.2f}", "ina-text") for row in rows]
    parts += [line(150, 234, 180, 234, "line theory"), text(186, 238, "theory: 2(n−1)/n", "small", "start"),
              line(150, 256, 180, 256, "line ina"), text(186, 260, "in virtual time, the RTL in every switch", "small", "start")]
    write("fabric.svg", 400, 330, "Speed-up of leaves under a spine against the number of hosts, compared with theory", parts)


def size_text(size):
    shift = max(shift for shift in (0, 10, 20) if size >> shift)
    return f"{size >> shift} {('B', 'KiB', 'MiB')[shift // 10]}"


def tables(rows):
    """Updates the rows of results.md's section for each measured size or number of hosts."""
    page = FOLDER.parent / "results.md"
    before, title, rest = page.read_text().partition("### Time against size")
    section, end, after = rest.partition("\n### ")
    largest = max(row["size_bytes"] for row in rows)
    for row in rows:
        times = f"{row['ina_us']:.2f} µs | {row['ring_us']:.2f} µs | {row['ring_us'] / row['ina_us']:.2f} |"
        n, size = row["hosts"], size_text(row["size_bytes"])
        if n == 4:
            section = re.sub(rf"^\| {size} \|.*", f"| {size} | {times}", section, flags=re.M)
        if row["size_bytes"] == largest:
            section = re.sub(rf"^\| {n} \|.*", f"| {n} | {times} {2 * (n - 1) / n:.2f} |", section, flags=re.M)
    page.write_text(before + title + section + end + after)


if __name__ == "__main__":
    system()
    measured = json.loads(Path(sys.argv[1] if len(sys.argv) > 1 else FOLDER / "results.json").read_text())
    results(measured["charts"], measured["kernel"])
    tables(measured["charts"])
    fabric(json.loads((FOLDER / "fabric.json").read_text())["speed"])
