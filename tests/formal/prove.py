#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of proofs.txt by yosys, yosys-smtbmc and z3, and prints a line for each.

Exit code 0: all proved (with --mutants: all mutants caught); 1: not; 2: could not run.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = "ina_pkg"
HELPERS = ["formal_reset", "formal_stream", "formal_feeder"]
MODES = {"bmc": [], "induction": ["-i"], "cover": ["-c"]}
YOSYS_LIMIT_S = 120
SOLVER_LIMIT_S = 1800


class Trouble(Exception):
    """A proof that cannot be run; the message gives the reason and the file."""


@dataclasses.dataclass
class Proof:
    name: str
    depths: dict  # for each mode and for "quick", in clocks; None if it is not run
    sources: list  # names in rtl/, the proved module first
    constants: dict  # localparams of the sources or the harness that get another value

    def harness(self):
        """The name of the harness: that of the proof, without what follows a dash."""
        return self.name.partition("-")[0]


@dataclasses.dataclass
class Mutant:
    broken: str  # the fault in words
    line: int
    old: str
    new: str


def read_proofs():
    proofs = {}
    path = HERE / "proofs.txt"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        if len(fields) < 6 or not all(re.fullmatch(r"\d+|-", field) for field in fields[1:5]):
            raise Trouble(f"{path}:{number}: want: proof bmc induction cover quick sources")
        depths = [None if field == "-" else int(field) for field in fields[1:5]]
        names = ("bmc", "induction", "cover", "quick")
        constants = dict(field.split("=") for field in fields[5:] if "=" in field)
        sources = [field for field in fields[5:] if "=" not in field]
        proofs[fields[0]] = Proof(fields[0], dict(zip(names, depths)), sources, constants)
    return proofs


def read_mutants(proof):
    """mutants/<proof>.txt: `# description`, then `- ` lines of the module and the `+ ` lines that replace them."""
    path = HERE / "mutants" / f"{proof.name}.txt"
    mutants = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark, text = line[:2], line[2:]
        if mark == "# ":
            mutants.append(Mutant(text, number, "", ""))
        elif mark == "- " and mutants and not mutants[-1].new:
            mutants[-1].old += text + "\n"
        elif mark == "+ " and mutants and mutants[-1].old:
            mutants[-1].new += text + "\n"
        elif line.strip():
            raise Trouble(f"{path}:{number}: want '# what', then '- old', then '+ new' lines")
    for mutant in mutants:
        if not mutant.old or not mutant.new:
            raise Trouble(f"{path}:{mutant.line}: a mutant needs '- ' lines and '+ ' lines")
    return mutants


def source(rtl, name):
    """The file of a module or package; those of the CRC are in a separate folder."""
    return next((path for path in rtl.rglob(f"{name}.sv")), rtl / f"{name}.sv")


def mutated(proof, mutant, rtl):
    """{source: its text with the fault}. White space does not count. The old text must occur exactly once in the sources."""
    pattern = r"\s+".join(re.escape(word) for word in mutant.old.split())
    texts, found = {}, 0
    for name in proof.sources:
        text, count = re.subn(pattern, lambda _: mutant.new.strip(),
                              source(rtl, name).read_text())
        found += count
        if count:
            texts[name] = text
    if found != 1:
        raise Trouble(f"mutants/{proof.name}.txt:{mutant.line}: its '-' text is {found} times in "
                      f"{' '.join(proof.sources)}, not once: adapt the mutant to them")
    return texts


def run(command, limit_s, cwd):
    """The command's exit code and all its output. The limit applies to each of its processes, in seconds of processor time: with
    a limit by the clock, a busy machine would prove less."""
    done = subprocess.run(["prlimit", f"--cpu={limit_s}", *command], cwd=cwd, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def synthesize(proof, folder, rtl, faulty=None):
    """Writes the proof's model into folder/model.smt2. Only the proved module is read with FORMAL. faulty: texts that replace
    those of sources."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    texts = {name: source(rtl, name).read_text() for name in [PACKAGE] + proof.sources}
    texts.update(faulty or {})
    harness = f"formal_{proof.harness()}"
    texts[harness] = (HERE / f"{proof.harness()}.sv").read_text()
    for constant, value in proof.constants.items():
        # If a source and the harness have it, the harness has its own, with the value that it needs.
        pattern = re.compile(rf"(localparam int {constant}\s*= )(?!ina_pkg::)[^;]+;")
        names = [name for name in texts if name != harness and pattern.search(texts[name])] or [harness]
        found = 0
        for name in names:
            texts[name], count = pattern.subn(rf"\g<1>{value};", texts[name])
            found += count
        if found != 1:
            raise Trouble(f"{proof.name}: localparam int {constant} is {found} times in its sources or its harness")
    for name, text in texts.items():
        (folder / f"{name}.sv").write_text(text)
    module = folder / f"{proof.sources[0]}.sv"
    plain = [folder / f"{name}.sv" for name in [PACKAGE] + proof.sources[1:]]
    formal = [HERE / f"{name}.sv" for name in HELPERS] + [folder / f"{harness}.sv"]
    script = [
        "read_verilog -sv -D SYNTHESIS " + " ".join(map(str, plain)),
        "read_verilog -sv -formal -D SYNTHESIS " + " ".join(map(str, [module] + formal)),
        f"prep -top {harness} -flatten -nordff",
        # The module has no signal of a name that the harness reads.
        "select -assert-none w:* a:hierconn %i",
        "memory_map", "opt -full", "async2sync", "dffunmap", "opt_clean", "write_smt2 -wires model.smt2",
    ]
    (folder / "model.ys").write_text("\n".join(script) + "\n")
    code, text = run(["yosys", "-q", "model.ys"], YOSYS_LIMIT_S, folder)
    if code != 0:
        last = text.strip().splitlines()[-1:] or ["no message"]
        raise Trouble(f"{proof.name}: yosys failed on {folder}/model.ys: {last[0]}")
    return folder / "model.smt2"


def solve(model, mode, depth):
    """(good, the solver's result in a few words); good is None if the solver did not finish."""
    trace = f"{mode}.vcd"
    command = ["yosys-smtbmc", "--noprogress", "--unroll", "-s", "z3", *MODES[mode], "-t", str(depth), "--dump-vcd", trace,
               model.name]
    _, text = run(command, SOLVER_LIMIT_S, model.parent)
    (model.parent / f"{mode}.log").write_text(text)
    if "Unexpected EOF response from solver" in text:
        return None, f"z3 was ended, not finished in {SOLVER_LIMIT_S} s of a processor"
    if "Status: PASSED" in text:
        return True, "proved" if mode != "cover" else "all reached"
    if mode == "cover":
        unreached = re.findall(r"Unreached cover statement at (\S+?)\.?$", text, re.MULTILINE)
        return False, f"not reached: {', '.join(unreached) or 'see cover.log'}"
    failed = re.findall(r"Assert failed in \S+: (.*)", text)
    if not failed:
        return None, f"no verdict: see {model.parent}/{mode}.log"
    step = re.findall(r"(?:step|in step) (\d+)\.\.", text)
    at = f" in clock {step[-1]}" if mode == "bmc" and step else ""
    return False, f"{failed[0].split(' (')[0]} fails{at}: {model.parent}/{trace}"


def line(what, mode, depth, verdict, began):
    print(f"{what:<14} {mode:<10} {depth or '':>4}  {time.monotonic() - began:6.1f} s  {verdict}",
          flush=True)


def prove(proof, modes, arguments):
    """Runs the proof's modes, a list of (mode, depth), one after the other. True if all of them hold."""
    folder = arguments.build / proof.name
    began = time.monotonic()
    try:
        # A mutant whose text is no longer in the sources would not be noticed otherwise.
        for mutant in read_mutants(proof):
            mutated(proof, mutant, arguments.rtl)
        model = synthesize(proof, folder, arguments.rtl)
    except (Trouble, OSError) as trouble:
        line(proof.name, "model", None, f"FAILED: {trouble}", began)
        return False
    good = True
    for mode, depth in modes:
        began = time.monotonic()
        verdict, words = solve(model, mode, depth)
        line(proof.name, mode, depth, words if verdict else f"FAILED: {words}", began)
        good = good and verdict is True
    return good


def catch(proof, number, mutant, arguments):
    """True if the proof finds the mutant's fault. A mutant that cannot be tried counts as not caught."""
    what = f"{proof.name}.{number}"
    depth = proof.depths["bmc"]
    began = time.monotonic()
    try:
        model = synthesize(proof, arguments.build / "mutants" / what, arguments.rtl,
                           mutated(proof, mutant, arguments.rtl))
        verdict, words = solve(model, "bmc", depth)
    except (Trouble, OSError) as trouble:
        line(what, "mutant", None, f"ERROR: {trouble}", began)
        return False
    said = {True: "SURVIVED", False: words.split(":")[0], None: f"ERROR: {words}"}[verdict]
    line(what, "mutant", depth, f"{said}  <- {mutant.broken}", began)
    return verdict is False


def tasks(proofs, arguments):
    """The tasks, as functions that return whether they succeeded."""
    for proof, number in proofs:
        if number:
            yield lambda p=proof, n=number, m=read_mutants(proof)[number - 1]: catch(p, n, m, arguments)
            continue
        if arguments.quick:
            if proof.depths["quick"]:
                yield lambda p=proof: prove(p, [("bmc", p.depths["quick"])], arguments)
            continue
        # The unchanged module runs next to its mutants: a harness that always fails would catch all of them.
        modes = ["bmc"] if arguments.mutants else MODES
        modes = [(mode, proof.depths[mode]) for mode in modes if proof.depths[mode]]
        yield lambda p=proof, m=modes: prove(p, m, arguments)
        if arguments.mutants:
            for number, mutant in enumerate(read_mutants(proof), 1):
                yield lambda p=proof, n=number, m=mutant: catch(p, n, m, arguments)


def choice(proofs, name):
    """(proof, number of its mutant, or None for the unchanged module in all modes)."""
    name, dot, number = name.partition(".")
    if name not in proofs:
        raise Trouble(f"{name}: no such proof in proofs.txt; there are {', '.join(proofs)}")
    if not dot:
        return proofs[name], None
    count = len(read_mutants(proofs[name]))
    if not number.isdecimal() or not 1 <= int(number) <= count:
        raise Trouble(f"{name}.{number}: no such mutant; mutants/{name}.txt has 1 to {count}")
    return proofs[name], int(number)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("proof", nargs="*",
                        help="of proofs.txt, or NAME.N for one mutant of it; all if no name is given")
    parser.add_argument("--quick", action="store_true", help="bmc only, to the quick depth")
    parser.add_argument("--mutants", action="store_true", help="the proofs must catch the mutants")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/formal"),
                        help="folder for models, logs and traces (build/formal)")
    parser.add_argument("--rtl", type=pathlib.Path, default=HERE.parent.parent / "rtl",
                        help="folder of the modules (rtl)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="solvers at a time")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    for program in ("yosys", "yosys-smtbmc", "z3"):
        if not shutil.which(program):
            raise Trouble(f"{program} is missing: scripts/install-packages.sh formal")
    proofs = read_proofs()
    chosen = [choice(proofs, name) for name in arguments.proof or proofs]
    todo = list(tasks(chosen, arguments))
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        results = list(pool.map(lambda task: task(), todo))
    print(f"{results.count(True)} of {len(results)} "
          + ("as they should be" if arguments.mutants or any(number for _, number in chosen)
             else "modules proved"))
    return 0 if all(results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Trouble as trouble:
        print(f"prove: {trouble}", file=sys.stderr)
        sys.exit(2)
