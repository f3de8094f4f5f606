#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of proofs.txt by yosys and ABC, and prints a line for each.

yosys makes an and-inverter graph of a module and its harness. ABC searches it for a way to break a property
(bmc3), proves that there is none (pdr), and looks for a way to each cover statement (bmc3). If a proof fails,
yosys-smtbmc and z3 replay what ABC found on the model of yosys, and write it as a VCD file.

Exit code 0: all proved (with --mutants: all mutants caught); 1: not; 2: could not run.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = "ina_pkg"
HELPERS = ["formal_reset", "formal_stream", "formal_feeder"]
# What may not happen, and what must be reachable: commands of yosys that leave only these.
GRAPHS = {"asserts": ["chformal -cover -remove"],
          "covers": ["chformal -assert -remove", f"techmap -map {HERE / 'covers.v'}"]}
YOSYS_LIMIT_S = 120
SOLVER_LIMIT_S = 1800


class Trouble(Exception):
    """A proof that cannot be run; the message gives the reason and the file."""


@dataclasses.dataclass
class Proof:
    name: str
    bmc: int  # depths in clocks
    cover: int
    always: bool  # pdr proves it for any number of clocks
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
        if len(fields) < 5 or not all(field.isdecimal() for field in fields[1:3]) or fields[3] not in ("yes", "-"):
            raise Trouble(f"{path}:{number}: want: proof bmc cover always sources")
        constants = dict(field.split("=") for field in fields[4:] if "=" in field)
        sources = [field for field in fields[4:] if "=" not in field]
        proofs[fields[0]] = Proof(fields[0], int(fields[1]), int(fields[2]), fields[3] == "yes", sources, constants)
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


def synthesize(proof, folder, rtl, graphs, faulty=None):
    """Writes the proof's model into folder: each of graphs (keys of GRAPHS) as an .aig file, with the properties' names in a .txt
    file, and model.smt2 for replay(). Only the proved module is read with FORMAL. faulty: texts that replace those of sources."""
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
        f"read_verilog -sv -formal -D SYNTHESIS -D LAST={proof.bmc - 1} " + " ".join(map(str, [module] + formal)),
        f"prep -top {harness} -flatten -nordff",
        # The module has no signal of a name that the harness reads.
        "select -assert-none w:* a:hierconn %i",
        # The solver chooses what has no driver and the registers' first values. For opt, x would be whatever is simplest.
        "memory_map", "async2sync", "formalff -clk2ff -ff2anyinit", "setundef -anyseq -undriven", "setundef -anyseq",
        "opt -full", "dffunmap", "opt_clean", "write_smt2 -wires model.smt2", "design -save whole",
    ]
    for name in graphs:
        script += ["design -load whole", *GRAPHS[name], *as_graph(name)]
    (folder / "model.ys").write_text("\n".join(script) + "\n")
    code, text = run(["yosys", "-q", "model.ys"], YOSYS_LIMIT_S, folder)
    if code != 0:
        last = text.strip().splitlines()[-1:] or ["no message"]
        raise Trouble(f"{proof.name}: yosys failed on {folder}/model.ys: {last[0]}")


def as_graph(name):
    """Commands of yosys that write name.aig. After opt_clean, select and write_aiger have the same order of cells."""
    return ["setattr -unset keep", "delete -output", "opt -full", "techmap", "opt -fast", "dffunmap",
            "abc -g AND -fast", "opt_clean", f"tee -q -o {name}.txt select -list t:$assert",
            f"write_aiger -zinit -no-startoffset -map {name}.aim {name}.aig"]


def abc(folder, name, command):
    """What ABC says of name.aig after the command."""
    script = f"read_aiger {name}.aig; fold; strash; {command}"
    code, text = run(["yosys-abc", "-c", script], SOLVER_LIMIT_S, folder)
    (folder / f"{name}.log").write_text(text)
    if code < 0:
        why = f"not finished in {SOLVER_LIMIT_S} s of a processor" if -code in (signal.SIGXCPU, signal.SIGKILL) else "crashed"
        raise Trouble(f"ABC was ended by {signal.Signals(-code).name}: {why}")
    return text


def properties(folder, name):
    names = [path.rpartition("/")[2] for path in (folder / f"{name}.txt").read_text().splitlines()]
    if not names:
        raise Trouble(f"its harness has no {name}")
    return names


def search(folder, command, good):
    """(True, "proved") if ABC's command says what is expected of a good module, else (False, which property fails, and when)."""
    text = abc(folder, "asserts", command + "; write_cex -a cex.aiw")
    if good in text:
        return True, "proved"
    failed = re.search(r"Output +(\d+) of miter .* was asserted in frame (\d+)\.", text)
    if not failed:
        raise Trouble(f"no verdict: see {folder}/asserts.log")
    return False, f"{properties(folder, 'asserts')[int(failed[1])]} fails in clock {failed[2]}"


def bounded(folder, depth):
    return search(folder, f"bmc3 -F {depth}", f"No output asserted in {depth} frames")


def always(folder, _):
    return search(folder, "pdr", "Property proved.")


def reach(folder, depth):
    text = abc(folder, "covers", f"bmc3 -a -x -F {depth}")
    reached = {int(number) for number in re.findall(r"Output +(\d+) was asserted in frame", text)}
    missing = [name for number, name in enumerate(properties(folder, "covers")) if number not in reached]
    return not missing, f"not reached: {', '.join(missing)}" if missing else "all reached"


def replay(folder):
    """The file of the trace that ABC found, in which z3 sees the same property fail."""
    command = ["yosys-smtbmc", "--noprogress", "--unroll", "-s", "z3", "-t", "10000", "--aig", "asserts.aim:cex.aiw",
               "--aig-noheader", "--dump-vcd", "trace.vcd", "model.smt2"]
    _, text = run(command, SOLVER_LIMIT_S, folder)
    (folder / "replay.log").write_text(text)
    if "Assert failed" not in text:
        raise Trouble(f"z3 does not confirm it: see {folder}/replay.log")
    return folder / "trace.vcd"


def line(what, mode, depth, verdict, began):
    print(f"{what:<14} {mode:<10} {depth or '':>4}  {time.monotonic() - began:6.1f} s  {verdict}",
          flush=True)


def prove(proof, modes, arguments):
    """Runs the proof's modes, a list of (name, function, depth), one after the other. True if all of them hold."""
    folder = arguments.build / proof.name
    began = time.monotonic()
    mode, depth, good = "model", None, True
    try:
        # A mutant whose text is no longer in the sources would not be noticed otherwise.
        for mutant in read_mutants(proof):
            mutated(proof, mutant, arguments.rtl)
        synthesize(proof, folder, arguments.rtl, GRAPHS if any(mode == "cover" for mode, _, _ in modes) else ["asserts"])
        for mode, function, depth in modes:
            began = time.monotonic()
            holds, words = function(folder, depth)
            if not holds:
                words = f"FAILED: {words}" + (f": {replay(folder)}" if mode != "cover" else "")
            line(proof.name, mode, depth, words, began)
            good = good and holds
    except (Trouble, OSError) as trouble:
        line(proof.name, mode, depth, f"FAILED: {trouble}", began)
        return False
    return good


def catch(proof, number, mutant, arguments):
    """True if the proof finds the mutant's fault. A mutant that cannot be tried counts as not caught."""
    what = f"{proof.name}.{number}"
    folder = arguments.build / "mutants" / what
    began = time.monotonic()
    try:
        synthesize(proof, folder, arguments.rtl, ["asserts"], mutated(proof, mutant, arguments.rtl))
        survived, words = bounded(folder, proof.bmc)
    except (Trouble, OSError) as trouble:
        line(what, "mutant", None, f"ERROR: {trouble}", began)
        return False
    line(what, "mutant", proof.bmc, f"{'SURVIVED' if survived else words}  <- {mutant.broken}", began)
    return not survived


def tasks(proofs, arguments):
    """The tasks, as functions that return whether they succeeded."""
    for proof, number in proofs:
        if number:
            yield lambda p=proof, n=number, m=read_mutants(proof)[number - 1]: catch(p, n, m, arguments)
            continue
        modes = [("bmc", bounded, proof.bmc)]
        # The unchanged module runs next to its mutants: a harness that always fails would catch all of them.
        if not arguments.quick and not arguments.mutants:
            modes += [("always", always, None)] if proof.always else []
            modes += [("cover", reach, max(proof.cover, proof.bmc))]
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
    parser.add_argument("--quick", action="store_true", help="bmc only")
    parser.add_argument("--mutants", action="store_true", help="the proofs must catch the mutants")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/formal"),
                        help="folder for models, logs and traces (build/formal)")
    parser.add_argument("--rtl", type=pathlib.Path, default=HERE.parent.parent / "rtl",
                        help="folder of the modules (rtl)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="solvers at a time")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    for program in ("yosys", "yosys-abc", "yosys-smtbmc", "z3"):
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
