# SPDX-License-Identifier: Apache-2.0
"""Compares the dependencies between files (arrows) with the table of layers in ARCHITECTURE.md.

The table is under the heading "## Layers". Its rows, from the first to the last, are the layers from the bottom up. The first
column names the folders and files of the layer in backticks; if several names fit a file, the longest counts. If there is a
column headed "includes only", it names in backticks all that the layer may include besides itself; if it names nothing,
everything below is allowed. Other columns are prose.

An arrow runs from a file to each file that it includes (in SystemVerilog to the file of a module that it instantiates, or of a
package that it names). An arrow also runs from a header that has its own source to every other source that defines its
declarations. Arrows may not run up, and may not form a circle. In circles a header and the source of its name count as one.

A header without a source of its name stands for the sources that define its functions: an arrow runs from each file that names
such a function to the source that defines it. Names count here, not includes: a public header is included everywhere for its
types, and only a file that calls its functions depends on the library's top."""
import re
from pathlib import Path

C_SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".inc"}
SUFFIXES = C_SUFFIXES | {".sv"}
SOURCES = {".c", ".cpp"}
HEADERS = {".h", ".hpp"}
SKIPPED = re.compile(r"(\.|build|__pycache__$|demo$|tests$)")
GENERATED = re.compile(r"V\w+\.h$|verilated\w*\.h$")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
MODULE = re.compile(r"^[ \t]*(?:module|package|interface)[ \t]+(?:automatic[ \t]+)?(\w+)", re.M)
INSTANCE = re.compile(r"^[ \t]*(\w+)[ \t]*(?:#[ \t]*\(|\w+[ \t]*\()", re.M)
PACKAGE = re.compile(r"\b(\w+)::")
# Functions, recognized by the project's style: the first line is not indented, and the brace of a definition is on a separate
# line.
FUNCTION = re.compile(r"^(?!static\b|typedef\b|#)[a-z_][\w \t*]*?\b(\w+)\((?:[^;{}()]|\([^;{}()]*\))*\)([^;{}]*)([;{])", re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
# A name that is called, or that is passed on as a function; members of a struct are no functions.
NAMED = re.compile(r"(?<!\.)(?<!->)\b([a-z_]\w*)\b(?=[ \t\n]*[(,;)}])")


def read_table(text):
    """[{"names": [...], "only": [...] or None}], bottom layer first."""
    section = re.search(r"^## Layers[ \t]*\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not section:
        raise ValueError('no heading "## Layers"')
    # The first table: lines that start with a bar, up to the first that does not.
    table = re.search(r"(?:^\|.*\n?)+", section[1], re.M)
    lines = table[0].splitlines() if table else []
    if len(lines) < 3 or not re.fullmatch(r"[|:\- ]+", lines[1]):
        raise ValueError('no table under "## Layers"')
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    heads = [head.lower() for head in cells[0]]
    only_at = heads.index("includes only") if "includes only" in heads else None
    layers = []
    for row in cells[2:]:
        names = names_in(row[0])
        if not names:
            raise ValueError(f"a row names no folder in backticks: {' | '.join(row)}")
        only = names_in(row[only_at]) if only_at is not None and only_at < len(row) else []
        layers.append({"names": names, "only": only or None})
    every = [name for layer in layers for name in layer["names"]]
    twice = {name for name in every if every.count(name) > 1}
    if twice:
        raise ValueError(f"named twice: {', '.join(sorted(twice))}")
    return layers


def names_in(cell):
    return [name.rstrip("/") for name in re.findall(r"`([^`]+)`", cell)]


def project_files(root):
    files = []
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.suffix in SUFFIXES and not any(SKIPPED.match(part) for part in parts[:-1]) and path.is_file():
            files.append("/".join(parts))
    return files


def covers(name, file):
    return file == name or file.startswith(name + "/")


def unit(file):
    """A header and the source of its name count as one."""
    path = Path(file)
    return str(path.with_suffix("")) if path.suffix in C_SUFFIXES else file


class Project:
    def __init__(self, root):
        self.files = project_files(root)
        self.texts = {file: COMMENT.sub("", (root / file).read_text(errors="replace")) for file in self.files}
        self.unresolved = []
        # Arrows: (file, file, why).
        self.arrows = [*self.includes(), *self.instances(), *self.definitions()]
        self.call_arrows = set(self.calls())

    def includes(self):
        known = set(self.files)
        for file, text in self.texts.items():
            for name in INCLUDE.findall(text) if Path(file).suffix in C_SUFFIXES else ():
                beside = str(Path(file).parent / name)
                target = next((path for path in (beside, name) if path in known), None)
                if target:
                    yield file, target, "includes"
                elif not GENERATED.match(name):
                    self.unresolved.append(f'{file} includes "{name}", which is neither in its folder nor a path from the root')

    def instances(self):
        home = {name: file for file, text in self.texts.items() if file.endswith(".sv") for name in MODULE.findall(text)}
        for file, text in self.texts.items():
            if file.endswith(".sv"):
                used = {*INSTANCE.findall(text), *PACKAGE.findall(text)}
                for target in sorted({home[name] for name in used if name in home} - {file}):
                    yield file, target, "uses"

    def functions(self):
        """(file, function, is it a definition?) of every declaration in a header and every definition in a source."""
        for file, text in self.texts.items():
            suffix = Path(file).suffix
            for name, _, end in FUNCTION.findall(text) if suffix in SOURCES | HEADERS else ():
                if (end == ";") == (suffix in HEADERS):
                    yield file, name, end == "{"

    def definitions(self):
        sources = {unit(file) for file in self.files if Path(file).suffix in SOURCES}
        declared = {name: file for file, name, defines in self.functions() if not defines and unit(file) in sources}
        for file, name, defines in self.functions():
            if defines and name in declared and unit(declared[name]) != unit(file):
                yield declared[name], file, f"declares {name}(), which stands in"

    def calls(self):
        sources = {unit(file) for file in self.files if Path(file).suffix in SOURCES}
        header, homes = {}, {}
        for file, name, defines in self.functions():
            if defines:
                homes.setdefault(name, set()).add(file)
            elif unit(file) not in sources:
                header[name] = file
        for file, text in self.texts.items():
            if Path(file).suffix not in C_SUFFIXES:
                continue
            for name in sorted(set(NAMED.findall(STRING.sub('""', text))) & header.keys()):
                for home in sorted(homes.get(name, ())) if file not in homes.get(name, ()) and file != header[name] else ():
                    yield file, home, f"names {name}() of {header[name]}, which stands in"

    def layer_of(self, layers, file):
        fits = [(len(name), row) for row, layer in enumerate(layers) for name in layer["names"] if covers(name, file)]
        return max(fits)[1] if fits else None

    def faults(self, layers):
        """Every fault in one line of text."""
        row_of = {file: self.layer_of(layers, file) for file in self.files}
        faults = [*self.unresolved, *self.circles()]
        faults += [f"{file} belongs to no row of the table" for file in self.files if row_of[file] is None]
        for layer in layers:
            for name in layer["names"]:
                if not any(covers(name, file) for file in self.files):
                    faults.append(f"the table names {name}, which has no source file")
        for file, target, why in [*self.arrows, *sorted(self.call_arrows)]:
            low, high = row_of[target], row_of[file]
            if low is None or high is None or low == high:
                continue
            if low > high:
                faults.append(f"{file} {why} {target}: upwards, from {title(layers[high])} to {title(layers[low])}")
            elif (file, target, why) in self.call_arrows:
                continue  # a call through a header that the row allows
            elif layers[high]["only"] is not None and not any(covers(name, target) for name in layers[high]["only"]):
                faults.append(f"{file} {why} {target}: {title(layers[high])} may not include {title(layers[low])}")
        return faults

    def circles(self):
        graph, reasons = {}, {}
        for file, target, why in [*self.arrows, *sorted(self.call_arrows)]:
            if unit(file) != unit(target):
                graph.setdefault(unit(file), set()).add(unit(target))
                reasons.setdefault((unit(file), unit(target)), f"{file} {why} {target}")
        for group in strongly_connected(graph):
            path = shortest_circle(graph, group)
            steps = "; ".join(reasons[edge] for edge in zip(path, path[1:]))
            yield f"a circle of {len(group)} ({', '.join(sorted(group))}), for one: {steps}"


def title(layer):
    return ", ".join(layer["names"])


def reachable(graph, start):
    seen, waiting = set(), [start]
    while waiting:
        for target in graph.get(waiting.pop(), ()):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def strongly_connected(graph):
    """The groups of nodes that reach each other, each once."""
    reach = {node: reachable(graph, node) for node in graph}
    done = set()
    for node in sorted(graph):
        if node in reach[node] and node not in done:
            group = {other for other in reach[node] if node in reach.get(other, ())}
            done |= group
            yield group


def shortest_circle(graph, group):
    start = min(group)
    paths, seen = [[start]], set()
    while True:
        path = paths.pop(0)
        for target in sorted(graph[path[-1]] & group):
            if target == start:
                return [*path, start]
            if target not in seen:
                seen.add(target)
                paths.append([*path, target])
