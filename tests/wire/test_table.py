# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/protocol.md are the norm: wire/ina_wire.h and rtl/ina_pkg.sv must agree with them.

The header is compiled, so offsets and values are the compiler's; the package is read as text. Constants of RoCEv2 are compared
with common/headers.h.
"""
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
FILES = {name: (SOURCE / name).read_text() for name in ("docs/protocol.md", "wire/ina_wire.h", "rtl/ina_pkg.sv")}
C_NAMES = {"length": "length_bytes", "remaining": "remaining_bytes", "exponent / window": "exponent"}
ENUMS = {"type": "ina_wire_type", "number type": "ina_wire_number_type", "operation": "ina_wire_operation"}
ROCE = {"INA_WIRE_BTH_ACK_AT": "PACKET_BTH_ACK_AT"}
LANE_BYTES = 4


def table(protocol, title):
    """The rows of the first table after a heading, by the names of its columns."""
    lines = iter(protocol[re.search(rf"^#+ {title}$", protocol, re.M).end():].splitlines())
    rows = []
    for line in lines:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
    return [dict(zip(rows[0], row)) for row in rows[2:]]


def number(text):
    base, _, power = text.partition("^")
    return int(base) ** int(power) if power else int(text, 0)


def values(meaning):
    """The names in the meaning of a field, "1 JOIN, 2 DATA", with their numbers."""
    return {name.upper(): int(value) for value, name in re.findall(r"\b(\d+) ([A-Za-z]\w*)(?=[,;]|$)", meaning)}


def norm(protocol):
    """Everything in the tables, as names in C."""
    said = {f"INA_WIRE_{row['name']}": number(row["value"]) for row in table(protocol, "Numbers")}
    for title, struct in ("Header", "header"), ("Trailer", "trailer"):
        rows = table(protocol, title)
        end = 0
        for row in rows:
            name = C_NAMES.get(row["field"], row["field"].replace(" ", "_"))
            assert int(row["offset"]) == end, f"{title}: a gap before {row['field']}"
            end += int(row["size"])
            lanes = ", ".join(str(lane) for lane in range(int(row["offset"]) // LANE_BYTES, (end - 1) // LANE_BYTES + 1))
            assert row["lane"] == lanes, f"{title}: {row['field']} is in lane {lanes}"
            said[f"{struct}.{name}"] = (int(row["offset"]), int(row["size"]))
            if row["field"] in ENUMS:
                said |= {f"INA_WIRE_{key}": value for key, value in values(row["meaning"]).items()}
        said[f"sizeof {struct}"] = end
    header = {row["field"]: row["meaning"] for row in table(protocol, "Header")}
    said["INA_WIRE_MAGIC"] = number(header["magic"].split(":")[0])
    said["INA_WIRE_VERSION"] = number(header["version"])
    return said


def compiled(header, folder, said):
    """The values that a C compiler finds for the names of the norm, and further enumerators and members."""
    lines = []
    for name in said:
        if name.startswith("sizeof "):
            lines.append(f'printf("{name}=%zu\\n", sizeof(struct ina_wire_{name.split()[1]}));')
        elif "." in name:
            struct, member = name.split(".")
            lines.append(f'printf("{name}=%zu,%zu\\n", offsetof(struct ina_wire_{struct}, {member}), '
                         f"sizeof(((struct ina_wire_{struct} *)0)->{member}));")
        else:
            lines.append(f'printf("{name}=%ld\\n", (long){ROCE.get(name, name)});')
    (folder / "ina_wire.h").write_text(header)
    (folder / "values.c").write_text('#include <stdio.h>\n#include "common/headers.h"\n#include "ina_wire.h"\nint main(void)\n{\n' + "\n".join(lines) + "\n}\n")
    done = subprocess.run(["cc", "-std=c11", f"-I{SOURCE}", "-o", folder / "values", folder / "values.c"], capture_output=True, text=True)
    if done.returncode != 0:
        return {"it compiles": done.stderr}
    out = subprocess.run([folder / "values"], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in out.splitlines():
        name, value = line.split("=")
        found[name] = tuple(map(int, value.split(","))) if "," in value else int(value)
    for enum in ENUMS.values():
        body = re.search(rf"enum {enum} \{{(.*?)\}}", header, re.S).group(1)
        found |= {name: int(value) for name, value in re.findall(r"(INA_WIRE_\w+) = (\d+)", body)
                  if not name.startswith("INA_WIRE_NO_")}
    for struct in "header", "trailer":
        body = re.search(rf"struct ina_wire_{struct} \{{(.*?)\}}", header, re.S).group(1)
        for member in re.findall(r"^\s*\w+_t (\w+);", body, re.M):
            found.setdefault(f"{struct}.{member}", "not in the table")
    return found


def package(text):
    """The parameters of the package that are plain numbers."""
    found = {}
    for name, value in re.findall(r"^\s*localparam .*?(\w+)\s*=\s*([^;]+);", text, re.M):
        literal = re.fullmatch(r"(?:\d*'([dhb]))?([0-9A-Fa-f_]+)", value.strip())
        if literal:
            found[name] = int(literal.group(2).replace("_", ""), {"h": 16, "b": 2}.get(literal.group(1), 10))
    return found


def wanted_of_package(protocol, said):
    """The expected contents of the package, by its own names."""
    rules = [(row["lane"], row["rule"]) for row in table(protocol, "Header")]
    equal = {int(lane) for lanes, rule in rules if rule == "EQUAL" for lane in lanes.split(",")}
    assert equal == set(range(len(equal))), "the EQUAL lanes come first"
    fields = {row["field"]: row["meaning"] for row in table(protocol, "Header")}
    wanted = {f"{prefix}_{name}": value for field, prefix in (("type", "TYPE"), ("number type", "NUMBER"), ("operation", "OPERATION"))
              for name, value in values(fields[field]).items()}
    quad = said["INA_WIRE_ALIGNMENT"]
    return wanted | {
        "MESSAGE_MAGIC_VERSION": said["INA_WIRE_VERSION"] << 16 | said["INA_WIRE_MAGIC"],
        "EQUAL_LANES": len(equal),
        "LANE_W": 8 * LANE_BYTES,
        "JOIN_QUADS": (said["sizeof header"] + said["sizeof trailer"]) // quad,
        "TRACE_QUADS": (said["sizeof header"] + said["sizeof trailer"]) // quad + said["INA_WIRE_LEVELS"],
        "ROCE_UDP_PORT": said["INA_WIRE_UDP_PORT"],
        "PROBE_PSN_OFFSET": said["INA_WIRE_PROBE_PSN_OFFSET"],
        "BTH_ACK_AT": package(FILES["rtl/ina_pkg.sv"])["BTH_OPCODE_AT"] + said["INA_WIRE_BTH_ACK_AT"],
    }


def differences(files, folder):
    """The differences of wire/ina_wire.h and rtl/ina_pkg.sv from docs/protocol.md."""
    said = norm(files["docs/protocol.md"])
    c = compiled(files["wire/ina_wire.h"], folder, said)
    sv = package(files["rtl/ina_pkg.sv"])
    wanted = wanted_of_package(files["docs/protocol.md"], said)
    sv_seen = {name: value for name, value in sv.items() if name in wanted or re.match(r"(TYPE|NUMBER|OPERATION)_", name)}
    return [f"{where}: {name} is {found.get(name)}, docs/protocol.md says {norm_.get(name)}"
            for where, found, norm_ in (("wire/ina_wire.h", c, said), ("rtl/ina_pkg.sv", sv_seen, wanted))
            for name in sorted(found.keys() | norm_.keys()) if found.get(name) != norm_.get(name)]


def test_the_three_agree(tmp_path):
    assert differences(FILES, tmp_path) == []


# The test must notice each change of one number, name or place in one of the three.
CHANGES = [
    ("docs/protocol.md", "0x4E49:", "0x4E48:"),
    ("docs/protocol.md", r"\| EQUAL \| 1 \|", "| EQUAL | 2 |"),
    ("docs/protocol.md", "2 DATA", "4 DATA"),
    ("docs/protocol.md", "3 bfloat16", "5 bfloat16"),
    ("docs/protocol.md", "2 max", "4 max"),
    ("docs/protocol.md", "3 min", "3 minimum"),
    ("docs/protocol.md", r"\| 6 \| 24 \| 4 \| remaining \| EQUAL \|", "| 6 | 24 | 4 | remaining | MAX |"),
    ("docs/protocol.md", r"\| 4791 \|", "| 4792 |"),
    ("docs/protocol.md", r"\| 2\^22 \|", "| 2^21 |"),
    ("wire/ina_wire.h", "INA_WIRE_DATA = 2", "INA_WIRE_DATA = 4"),
    ("wire/ina_wire.h", "INA_WIRE_MIN = 3,", "INA_WIRE_MIN = 3, INA_WIRE_PRODUCT = 4,"),
    ("wire/ina_wire.h", "uint8_t number_type;", "uint8_t numbers;"),
    ("wire/ina_wire.h", "\tuint32_t contributors;\n\tuint32_t flags;", "\tuint32_t flags;\n\tuint32_t contributors;"),
    ("wire/ina_wire.h", "0xAEu", "0xAFu"),
    ("rtl/ina_pkg.sv", r"24'h01_4E49", "24'h02_4E49"),
    ("rtl/ina_pkg.sv", r"TYPE_LEAVE *= 8'd3", "TYPE_LEAVE = 8'd4"),
    ("rtl/ina_pkg.sv", r"NUMBER_FLOAT16 *= 8'd4", "NUMBER_FLOAT8 = 8'd4"),
    ("rtl/ina_pkg.sv", r"(?=localparam logic \[7:0\] *OPERATION_MIN)", "localparam logic [7:0] OPERATION_X = 8'd4;\n"),
    ("rtl/ina_pkg.sv", r"EQUAL_LANES *= 7", "EQUAL_LANES = 6"),
    ("rtl/ina_pkg.sv", r"JOIN_QUADS *= 3", "JOIN_QUADS = 2"),
    ("rtl/ina_pkg.sv", r"TRACE_QUADS *= 6", "TRACE_QUADS = 5"),
    ("rtl/ina_pkg.sv", r"24'h400000", "24'h200000"),
    ("rtl/ina_pkg.sv", r"16'd4791", "16'd4792"),
    ("rtl/ina_pkg.sv", r"BTH_ACK_AT *= 74", "BTH_ACK_AT = 73"),
]


@pytest.mark.parametrize("name, pattern, new", CHANGES, ids=[f"{Path(name).name}: {new}".split("\n")[0] for name, _, new in CHANGES])
def test_a_change_is_seen(name, pattern, new, tmp_path):
    changed, count = re.subn(pattern, new.replace("\\", r"\\"), FILES[name], count=1)
    assert count == 1
    assert differences({**FILES, name: changed}, tmp_path) != []
