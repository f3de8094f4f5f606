# SPDX-License-Identifier: Apache-2.0
"""The documents: links lead somewhere, the README is one page, the pictures are what their data say."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
PAGES = sorted(path for path in SOURCE.rglob("*.md") if not re.match(r"build|\.", str(path.relative_to(SOURCE))))


def anchors(page):
    """What GitHub makes of the headings."""
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


def test_pictures(tmp_path):
    pictures = SOURCE / "docs/pictures"
    for name in "draw.py", "results.json":
        shutil.copy(pictures / name, tmp_path)
    subprocess.run([tmp_path / "draw.py"], check=True)
    for picture in pictures.glob("*.svg"):
        assert (tmp_path / picture.name).read_text() == picture.read_text(), picture.name
