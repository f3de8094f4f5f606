# SPDX-License-Identifier: Apache-2.0
"""Each field of struct ina_options is set by some test: a field that no test names could stop working unnoticed."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "hostlib/include/ina.h"


def fields(struct):
    body = re.search(rf"^struct {struct} \{{\n(.*?)^\}};", HEADER.read_text(), re.M | re.S)[1]
    code = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    functions = re.findall(r"\(\*(\w+)\)", code)
    return functions + re.findall(r"(\w+);", re.sub(r"\(\*\w+\)\([^)]*\);", "", code))


def sources():
    """The sources of the tests, without benches."""
    paths = [path for path in (ROOT / "tests").rglob("*.c") if "bench" not in path.parts]
    return "\n".join(path.read_text() for path in paths)


def test_each_field_is_set_by_a_test():
    names = fields("ina_options")
    assert len(names) >= 20 and "rank" in names and "log" in names and "log_context" in names, names
    text = sources()
    missing = [name for name in names if not re.search(rf"(?:\.|->){name}(?: = |\+\+| \+= )", text)]
    assert not missing, f"no test sets {', '.join(missing)}"
