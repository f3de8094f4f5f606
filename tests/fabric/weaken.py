# SPDX-License-Identifier: Apache-2.0
"""weaken.py WEAKER.TXT FOLDER [NAME OUTPUT]: lists the rules that can be weakened, and writes a source with one of them weakened.

WEAKER.TXT: `# name: the weakness`, then `- ` lines of a source in FOLDER and the `+ ` lines that replace them. White space
does not count. The `- ` lines must occur exactly once in the sources of OUTPUT's kind. Without NAME, it prints the names; with
NAME, it writes the changed source. Exit code 0, or 1 with a line that names the mismatch."""
import re
import sys
from pathlib import Path


def read(path):
    """{name: (old, new)}"""
    weaker, name = {}, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark, text = line[:2], line[2:]
        if mark == "# ":
            name = text.split(":")[0]
            weaker[name] = ("", "")
        elif mark == "- " and name:
            weaker[name] = (weaker[name][0] + text + "\n", weaker[name][1])
        elif mark == "+ " and name:
            weaker[name] = (weaker[name][0], weaker[name][1] + text + "\n")
        elif line.strip():
            sys.exit(f"{path}:{number}: want '# name: what', then '- old', then '+ new' lines")
    return weaker


def weaken(name, old, new, sources):
    """The source that contains the old lines, with the new lines in their place."""
    pattern = r"\s+".join(re.escape(word) for word in old.split())
    found = []
    for source in sorted(sources):
        text, count = re.subn(pattern, lambda _: new.strip(), source.read_text())
        found += [text] * count
    if len(found) != 1:
        sys.exit(f"{name}: its '-' lines are {len(found)} times in the sources, not once: adapt them")
    return found[0]


def main():
    weaker, folder = read(Path(sys.argv[1])), Path(sys.argv[2])
    if len(sys.argv) == 3:
        print(";".join(weaker))
        return
    name, output = sys.argv[3], Path(sys.argv[4])
    text = weaken(name, *weaker[name], folder.glob(f"*{output.suffix}"))
    # The source's own headers, which it names without a folder.
    text = re.sub(r'#include "(\w+\.h)"', r'#include "model/\1"', text)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text)


main()
