"""Compiles all mutants of some files at once, and runs the tests with each of them.

    cargo mutants --list --json … | python3 mutants_at_once.py TREE OUT SRC CARGO… -- TEST…

A function that has mutants gets a `match` as its body, over the number in an environment variable: an
arm for each mutant, and one for the body as it was. An arm that cannot be compiled is unviable: it is
taken out, and the rest compiled again. So a list costs one build, and then nothing but its tests.

TREE is a copy of the workspace, SRC the folder of its package's lib.rs, CARGO what `cargo test` is told
of profile and targets, TEST what the tests are told. OUT gets a file for each kind of result, with the
lines that cargo-mutants writes; what its previously_caught.txt has is left out. SHARD=1/4 runs every
fourth. What can't be chosen when the program runs, constants and what gives an opaque type, is left out:
cargo-mutants itself can try it.
"""

import collections
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

VARIABLE = "SESSIONLOG_MUTANT"
# A function that has all of its mutants in it takes the stack of all of them.
STACK = {"RUST_MIN_STACK": str(64 << 20)}
# No more than a machine has. What is only reserved, as crashfs does, does not count.
MEMORY = 6 << 30
CHOICE = f"""
#[doc(hidden)]
#[allow(missing_docs, unreachable_pub)]
pub mod mutant {{
    static NUMBER: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    pub fn number() -> u32 {{
        let read = || std::env::var("{VARIABLE}").ok()?.parse().ok();
        *NUMBER.get_or_init(|| read().unwrap_or(0))
    }}
}}
"""
# What may hold a brace that is none: comments, strings, characters.
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|b?r(?P<hashes>#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"'
    r"|b?'(?:\\[^\n]+?|[^\\\n])'|'[a-z_]\w*|.",
    re.DOTALL,
)


def braces(text, begin, end):
    """Where the body of the function begins and ends that lies from `begin` to `end`."""
    depth = 0
    for token in TOKEN.finditer(text, begin, end):
        kind = token.group()
        if kind in ("(", "["):
            depth += 1
        elif kind in (")", "]"):
            depth -= 1
        elif kind == "{" and depth == 0:
            return token.start(), end - 1
    raise ValueError(f"a function without a body: {text[begin:end]}")


def results(mutant):
    """What gives a `Result` by the suite's own name for it gets what `Result` would get: cargo-mutants
    does not know the name."""
    gives = (mutant["function"] or {}).get("return_type", "")
    if mutant["package"] != "sessionlog-conformance" or not gives.startswith("-> Held"):
        return
    for word, ok in ("with Default::default()", "with Ok(())"), ("with Held::from(", "with Ok("):
        if word in mutant["name"]:
            mutant["name"] = mutant["name"].replace(word, ok)
            mutant["replacement"] = mutant["name"].partition(" with ")[2]


class File:
    """A file with its mutants."""

    def __init__(self, path, mutants):
        self.path, self.text = path, path.read_text()
        starts = [0]
        for line in self.text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)

        def span(of):
            places = of["start"], of["end"]
            return tuple(starts[p["line"] - 1] + p["column"] - 1 for p in places)

        functions = {span(m["function"]["span"]) for m in mutants if m["function"]}
        holds = lambda outer, inner: outer[0] <= inner[0] and inner[1] <= outer[1]
        self.functions = []
        for whole in sorted(functions):
            if any(other != whole and holds(other, whole) for other in functions):
                continue
            begin, end = braces(self.text, *whole)
            head = self.text[whole[0] : begin]
            inside = [m for m in mutants if holds(whole, span(m["span"]))]
            for m in inside:
                at, to = span(m["span"])
                m["body"] = self.text[begin + 1 : at] + m["replacement"] + self.text[to:end]
                m["viable"] = not re.search(r"\bconst (unsafe )?fn\b|-> impl\b", head)
            self.functions.append((begin, end, inside))

    def write(self):
        """Writes the file, and remembers which lines are whose."""
        out, last, self.lines = [], 0, []
        line = lambda: "".join(out).count("\n") + 1
        for begin, end, mutants in self.functions:
            mutants = [m for m in mutants if m["viable"]]
            if not mutants:
                continue
            out.append(self.text[last:begin])
            first, arms = line(), []
            out.append("{ match crate::mutant::number() {\n")
            for m in mutants:
                at = line()
                out.append(f"{m['number']} => {{\n{m['body']}\n}}\n")
                arms.append((at, line() - 1, [m]))
            out.append(f"_ => {{{self.text[begin + 1 : end]}}}\n}} }}")
            self.lines += [*arms, (first, line(), mutants)]
            last = end + 1
        out.append(self.text[last:])
        self.path.write_text("".join(out))

    def blamed(self, span):
        """The mutants of an error: of the arm that it lies in, or else of the function."""
        if not str(self.path).endswith(span["file_name"]):
            return []
        at = span["line_start"]
        return next((all_ for a, b, all_ in self.lines if a <= at <= b), [])


def build(tree, cargo, files):
    """Compiles the tests without what cannot be compiled, and gives the programs."""
    while True:
        for file in files:
            file.write()
        command = ["cargo", "test", "--no-run", "--message-format=json", *cargo]
        ran = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        messages = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
        if ran.returncode == 0:
            return [m["executable"] for m in messages if m.get("executable") and m["profile"]["test"]]
        blamed, rest = [], [ran.stderr]
        for m in messages:
            if m["reason"] != "compiler-message" or m["message"]["level"] != "error":
                continue
            spans = [s for s in m["message"]["spans"] if s["is_primary"]]
            found = [b for s in spans for file in files for b in file.blamed(s)]
            blamed += found
            rest.append(m["message"]["rendered"])
        if not blamed:
            sys.exit("\n".join(rest))
        for m in blamed:
            m["viable"] = False


def memory(group):
    """How many bytes the processes of a group have, on Linux."""
    pages = 0
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            pages += int(fields[21])
    return pages * resource.getpagesize()


def watch(group, seconds, over, late):
    """Ends a group that takes too long, or too much."""
    begin = time.monotonic()
    while not over.wait(0.5):
        if time.monotonic() - begin > seconds or memory(group) > MEMORY:
            late.set()
            end(group)


def end(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(programs, arguments, number, folder, timeout, scratch):
    """Runs the tests with one mutant until one of them is red."""
    for program in programs:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        child = subprocess.Popen(
            [program, *arguments],
            cwd=folder,
            env={**os.environ, VARIABLE: str(number), "TMPDIR": str(scratch), **STACK},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        over, late = threading.Event(), threading.Event()
        watcher = threading.Thread(target=watch, args=(child.pid, timeout, over, late))
        watcher.start()
        red = any(line.startswith("test ") and line.endswith("FAILED\n") for line in child.stdout)
        if red:
            end(child.pid)
        code = child.wait()
        over.set()
        watcher.join()
        end(child.pid)
        if late.is_set():
            return "timeout"
        if red or code != 0:
            return "caught"
    return "missed"


def main():
    split = sys.argv.index("--")
    tree, out, src, *cargo = sys.argv[1:split]
    arguments = sys.argv[split + 1 :]
    tree, out = pathlib.Path(tree), pathlib.Path(out)
    mutants = json.load(sys.stdin)
    of = collections.defaultdict(list)
    for number, m in enumerate(mutants, 1):
        m["number"] = number
        results(m)
        of[m["file"]].append(m)
    files = [File(tree / name, all_) for name, all_ in of.items()]
    before = out / "previously_caught.txt"
    known = set(before.read_text().splitlines()) if before.exists() else set()
    chosen = [m for m in mutants if m.get("viable") and m["name"] not in known]
    root = tree / src / "lib.rs"
    text = root.read_text()
    root.write_text(text + CHOICE)
    begin = time.monotonic()
    try:
        programs = build(tree, cargo, files)
    finally:
        root.write_text(text)
        for file in files:
            file.path.write_text(file.text)
    out.mkdir(parents=True, exist_ok=True)
    print(f"{len(chosen)} of {len(mutants)} mutants; built in {time.monotonic() - begin:.0f} s", flush=True)
    folder, scratch = (tree / src).parent, out / "scratch"
    begin = time.monotonic()
    if run(programs, arguments, 0, folder, 1200, scratch) != "missed":
        sys.exit("red without a mutant")
    timeout = max(60, 8 * (time.monotonic() - begin))
    nth, step = (int(n) for n in os.environ.get("SHARD", "0/1").split("/"))
    for m in chosen[nth::step]:
        args = programs, arguments, m["number"], folder, timeout, scratch
        kind = run(*args) if m["viable"] else "unviable"
        with open(out / f"{kind}.txt", "a", encoding="utf-8") as file:
            print(m["name"], file=file)
        if kind in ("missed", "timeout"):
            print(f"{kind}: {m['name']}", flush=True)
    shutil.rmtree(scratch, ignore_errors=True)


main()
