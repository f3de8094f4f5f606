# SPDX-License-Identifier: Apache-2.0
"""The documents: links work, the README is one page, and the pictures agree with their data."""
import json
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


def test_the_readme_is_one_page():
    assert len((SOURCE / "README.md").read_text().splitlines()) <= 125


def test_the_readme_shows_the_demo():
    """README's part of the demo's output is what demo.py prints for the figures that system.figures expects."""
    figures = json.loads((SOURCE / "tests/system/figures.json").read_text())["rows"]
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
    for file in [*(SOURCE / "tests/bench").glob("*.py"), SOURCE / "docs/pictures/draw.py", SOURCE / "docs/pictures/papers.json"]:
        shutil.copy(file, tmp_path / file.relative_to(SOURCE))
    subprocess.run([tmp_path / "tests/bench/papers.py", "--lines", "none"], check=True)
    for name in "docs/papers.md", "docs/pictures/papers.svg":
        assert (tmp_path / name).read_text() == (SOURCE / name).read_text(), f"{name}: run tests/bench/papers.py --lines none"


def test_figures_are_those_of_the_charts():
    """The figures of four hosts that system.figures expects are those in the chart."""
    expected = json.loads((SOURCE / "tests/system/figures.json").read_text())["rows"]
    charts = json.loads((SOURCE / "docs/pictures/results.json").read_text())["charts"]
    shown = {str(row["size_bytes"]): (row["ina_us"], row["ring_us"]) for row in charts if row["hosts"] == 4}
    assert shown == {size: (row["ina_us"], row["ring_us"]) for size, row in expected.items()}, "make charts, and make renew"
