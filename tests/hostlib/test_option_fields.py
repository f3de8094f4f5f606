# SPDX-License-Identifier: Apache-2.0
"""Each field of struct ina_options is set by some test, and has a variable: one that no test names could stop working unnoticed.

Each variable that the project reads is known to libina, which refuses others."""
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


def keys():
    """The variables of the table of options."""
    table = (ROOT / "hostlib/options/keys.c").read_text()
    return {f"INA_{name}" for name in re.findall(r"^\s*(?:OPTION|VARIABLE|TEXT)\((\w+)", table, re.M)}


def test_each_field_has_a_variable():
    """INA_LOG is that of the log without a function, and INA_HCA that of the device."""
    functions = {"struct_size", "log_context", "exchange", "exchange_context"}
    wanted = {f"INA_{name.upper() if name != 'device' else 'HCA'}" for name in fields("ina_options") if name not in functions}
    assert len(keys()) >= 20 and wanted <= keys(), wanted - keys()


READS = {".c": r"getenv\(\"(INA_\w+)\"", ".py": r"environ(?:\.get\(|\[)\"(INA_\w+)\"", ".sh": r"\$\{?(INA_\w+)"}
READS |= {".cpp": READS[".c"], ".hpp": READS[".c"], ".h": READS[".c"]}


def test_each_variable_is_known():
    """A variable of another part may be set where a rank starts. CMake's definitions are no variables."""
    read = set()
    for path in ROOT.rglob("*"):
        if path.suffix in READS and not any(part.startswith((".", "build")) for part in path.relative_to(ROOT).parts):
            read |= set(re.findall(READS[path.suffix], path.read_text(errors="replace")))
    foreign = re.search(r"FOREIGN\[\] = \{(.*?)\};", (ROOT / "hostlib/options/keys.c").read_text(), re.S)[1]
    known = set(re.findall(r'"(INA_\w+)"', foreign))
    assert len(read) >= 20 and read <= known | keys(), read - known - keys()
    assert known <= read | {"INA_KERNEL", "INA_GUEST_INIT", "INA_QEMU"}, known - read
