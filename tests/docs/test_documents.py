# SPDX-License-Identifier: Apache-2.0
"""The documents: links work, names in backticks exist, tables are readable, the README is one page, and the pictures agree with
their data."""
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "allreduce"))
import demo  # noqa: E402

PAGES = sorted(path for path in SOURCE.rglob("*.md") if not re.match(r"build|\.", str(path.relative_to(SOURCE))))
CELL_WORDS = 30

# Names in backticks that are neither files nor identifiers of this project, each with the reason.
FOREIGN = {
    "_DEFAULT_FIRST_BUCKET_BYTES": "torch",
    "gather_object": "torch",
    "monitored_barrier": "torch",
    "scatter_object_list": "torch",
    "use_libuv": "torch",
    "max_restarts": "an option of torchrun",
    "mpi.h": "the header of an MPI",
    "mpif.h": "Fortran's header of an MPI",
    "mpi_f08": "Fortran's module of an MPI",
    "PMPI_Allreduce": "MPI; the sources make it from MPI_Allreduce",
    "brk": "the C library",
    "retry_cnt": "verbs; librdmacm calls it retry_count",
    "drivers/char/random.c": "Linux",
    "arch/um/include/linux/time-internal.h": "Linux",
    "arch/um/drivers/vector_user.c": "Linux",
    "arch/um/drivers/vector_kern.c": "Linux",
    "arch/x86/um/user-offsets.c": "Linux",
    "PREFIX/lib/python3.11/dist-packages": "made by make install",
    "FOLDER/NAME": "stands for a file of the user",
    "FOLDER/NAME.RANK": "stands for a file of the user",
    "test_subject": "stands for a test",
}
MADE = re.compile(r"/|build/|\.kernel/|V\w+\.h$")  # files of the machine and of the build


@functools.cache
def sources():
    """The files of the tree: paths relative to it, and the words in all files but documents and this one."""
    paths, text = set(), []
    for folder, folders, files in os.walk(SOURCE):
        ignored = r"(?!\.ci$)\.|build|demo$" if Path(folder) == SOURCE else r"__pycache__$"
        folders[:] = [name for name in folders if not re.match(ignored, name)]
        for path in (Path(folder, name) for name in files):
            paths.add(path.relative_to(SOURCE))
            is_document = path.suffix in (".md", ".svg", ".json") or SOURCE / "docs/man" in path.parents
            if not is_document and path != Path(__file__).resolve():
                text.append(path.read_text(errors="replace"))
    folders = {folder for path in paths for folder in path.parents}
    return paths | folders, set(re.findall(r"\w+", "\n".join(text)))


def exists(page, line, name):
    """True if the tree, the page's folder, or a folder that the line names or links to has a file or folder of this name."""
    paths, _ = sources()
    here = page.parent.relative_to(SOURCE)
    named = re.findall(r"(?:`|\]\()([\w./-]+/)", line)
    folders = [Path(), here, *map(Path, named), *(here / folder for folder in named)]
    return any(Path(os.path.normpath(folder / name)) in paths for folder in folders)


def is_known(name):
    """Does the identifier occur in the sources? A leading or trailing _ stands for the end or the beginning of names."""
    _, words = sources()
    return (name in words or name.startswith("_") and any(word.endswith(name) for word in words)
            or name.endswith("_") and any(word.startswith(name) for word in words))


def unknown_names(page):
    suffixes = "|".join(sorted({re.escape(path.suffix) for path in sources()[0] if re.match(r"\.[a-z]", path.suffix)}))
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    for line, span in ((line, span) for line in text.splitlines() for span in re.findall(r"`([^`]+)`", line)):
        for word in span.split():
            is_path = re.fullmatch(r"[\w./-]+", word) and (re.search(rf"({suffixes})$", word) or "/" in word and word == span)
            if is_path and (MADE.match(word) or exists(page, line, word)):
                continue
            names = [word] if is_path else re.findall(r"\w*_\w*|\w+(?=\()", word)
            yield from (name for name in names if name not in FOREIGN and (is_path or not is_known(name)))


def anchors(page):
    """The anchors that GitHub makes of the headings."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", page.read_text(), re.M)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SOURCE)))
def test_links(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SOURCE)))
def test_names(page):
    """Files and identifiers in backticks exist."""
    assert sorted(set(unknown_names(page))) == []


def contributing_lists():
    """CONTRIBUTING's lists: title, neighbour, and the files that have the neighbour. A sentence with "If" is for some neighbours only."""
    for title, neighbour, text in re.findall(r"^### ([^\n]*) \[`([^\n]*)`\]\n(.*?)(?=^#)", (SOURCE / "CONTRIBUTING.md").read_text(), re.M | re.S):
        always = [part for part in re.split(r"(?<=[.:])\s", text) if not re.search(r"\bIf\b", part)]
        conditional = {name for part in re.findall(r"\bIf\b[^\n]*", text) for name in re.findall(r"`([^`]+)`", part)}
        names = {name for part in always for name in re.findall(r"`([^`]+\.\w+)`", part)} - conditional
        yield pytest.param(neighbour, sorted(names), id=title)


@pytest.mark.parametrize("neighbour, names", contributing_lists())
def test_contributing(neighbour, names):
    """Each file of a list in CONTRIBUTING has the neighbour that the list names."""
    spelled = re.compile(re.escape(neighbour).replace("_", "[_-]"), re.I)
    assert names and [name for name in names if not spelled.search((SOURCE / name).read_text())] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SOURCE)))
def test_tables(page):
    """The explanation of a table stands below it, not in its cells."""
    rows = re.findall(r"^ *\|(.*)\|$", page.read_text(), re.M)
    assert not [cell for row in rows for cell in re.split(r"(?<!\\)\|", row) if len(cell.split()) > CELL_WORDS]


def test_the_readme_is_one_page():
    assert len((SOURCE / "README.md").read_text().splitlines()) <= 110


def expected_figures():
    """What system.figures expects for the kernel with which the charts were measured."""
    kernel = json.loads((SOURCE / "docs/pictures/results.json").read_text())["kernel"]
    return json.loads((SOURCE / f"tests/system/figures/{kernel}.json").read_text())["rows"]


def test_the_readme_shows_the_demo():
    """README's part of the demo's output is what demo.py prints for the figures that system.figures expects."""
    figures = expected_figures()
    shown = re.search(rf"^ {{4}}{re.escape(demo.HEADER.splitlines()[0])}\n {{4}}{re.escape(demo.HEADER.splitlines()[1])}\n((?: {{4}}.*\n)+)",
                      (SOURCE / "README.md").read_text(), re.M)
    rows = [line[4:] for line in shown[1].splitlines()]
    printed = {demo.size_text(int(size)): demo.result_row([
        size, "", "", "", "", f"{row['ina_us']:.1f}", "", "", f"{row['ina_bytes']:.0f}", "0",
        f"{row['ring_us']:.1f}", "", f"{row['ring_bytes']:.0f}", "0", f"{row['ring_us'] / row['ina_us']:.2f}"])
        for size, row in figures.items()}
    assert len(rows) >= 4 and rows == [printed[re.match(r" *(\d+ \w+)", row)[1]] for row in rows]


def test_the_version_is_the_same_everywhere():
    version = re.search(r"project\(ina VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]
    assert re.search(r"^## (\S+) ", (SOURCE / "CHANGELOG.md").read_text(), re.M)[1] == version
    assert re.match(r"ina \((\S+)-\d+\) ", (SOURCE / "debian/changelog").read_text())[1] == version
    assert re.search(r"^version: (\S+)$", (SOURCE / "CITATION.cff").read_text(), re.M)[1] == version
    assert f"torch_ina-{version}-" in (SOURCE / "docs/pytorch.md").read_text()


def test_pictures(tmp_path):
    """The pictures and the tables of results.md equal the output of draw.py for the data."""
    files = [SOURCE / "docs/results.md", *(SOURCE / "docs/pictures" / f"{name}.svg" for name in ("system", "results", "fabric"))]
    copies = [tmp_path / file.relative_to(SOURCE / "docs") for file in files]
    (tmp_path / "pictures").mkdir()
    for name in "results.md", "pictures/draw.py", "pictures/results.json", "pictures/fabric.json":
        shutil.copy(SOURCE / "docs" / name, tmp_path / name)
    subprocess.run([tmp_path / "pictures/draw.py"], check=True)
    for file, copy in zip(files, copies):
        assert copy.read_text() == file.read_text(), f"{file.name}: run docs/pictures/draw.py"


def test_papers(tmp_path):
    """The page about papers and its picture equal the output of papers.py for the measurements."""
    (tmp_path / "docs/pictures").mkdir(parents=True)
    (tmp_path / "tests/bench").mkdir(parents=True)
    (tmp_path / "allreduce").mkdir()
    for file in [*(SOURCE / "tests/bench").glob("*.py"), SOURCE / "allreduce/demo.py", SOURCE / "docs/pictures/draw.py",
                 SOURCE / "docs/pictures/papers.json"]:
        shutil.copy(file, tmp_path / file.relative_to(SOURCE))
    subprocess.run([tmp_path / "tests/bench/papers.py", "--lines", "none"], check=True)
    for name in "docs/papers.md", "docs/pictures/papers.svg":
        assert (tmp_path / name).read_text() == (SOURCE / name).read_text(), f"{name}: run tests/bench/papers.py --lines none"


def test_figures_are_those_of_the_charts():
    """The figures of four hosts that system.figures expects are those in the chart."""
    expected = expected_figures()
    charts = json.loads((SOURCE / "docs/pictures/results.json").read_text())["charts"]
    shown = {str(row["size_bytes"]): (row["ina_us"], row["ring_us"]) for row in charts if row["hosts"] == 4}
    assert shown == {size: (row["ina_us"], row["ring_us"]) for size, row in expected.items()}, "make charts, and make renew"


def test_every_test_of_pytest_is_run():
    """Each test_*.py has its name in its folder's CMakeLists.txt, unless that runs the whole folder."""
    unnamed = []
    for path in sorted((SOURCE / "tests").rglob("test_*.py")):
        cmake = next(folder / "CMakeLists.txt" for folder in path.parents if (folder / "CMakeLists.txt").exists()).read_text()
        words = set(re.findall(r"\w+", cmake))
        if 'ina_pytest(' + path.parent.name + ' ""' not in cmake and not {path.stem, path.stem.removeprefix("test_")} & words:
            unnamed.append(str(path.relative_to(SOURCE)))
    assert unnamed == []
