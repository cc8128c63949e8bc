"""Which lines each test runs, by a build with gcov: a mutant is asked about only by tests that run its line.

The map is kept in FOLDER/reach.json. An entry is measured anew when a source that faults are planted in, or the test's own file,
has changed. A test that brings a build of its own, or fails in this one, is not in the map: it is asked about every mutant."""
import hashlib
import json
import os
import queue
import re
import shutil
import subprocess
from pathlib import Path

import selection
from copies import BUILD, Copy, files_of

# Without inlining, so that a line that was run is counted where it stands.
FLAGS = ["CFLAGS_EXTRA=--coverage -O1 -fno-inline", "LDFLAGS_EXTRA=--coverage"]
OWN_FLAGS = re.compile(r"(C|LD)FLAGS_EXTRA=")
LONGEST = 600 # seconds of CPU that a test may take in this build
# Scripts that need one of these, or call make or a compiler, run programs of another build, too.
OTHER_BUILDS = {"aarch64", "boards", "cover", "fuzz", "oracle", "tools", "variants"}
COMPILES = re.compile(r"^[^#\n]*(\bmake -|\$\{?(MAKE|CC)\b|\b(gcc|clang)\b)", re.MULTILINE)


class Reach:
    """For each measured test, the lines that it runs; and of each file the lines that have code, and its functions."""

    def __init__(self, root, folder, tree, variables, cases):
        """`tree` is a hash of the sources below `root`, `cases` the FIRN_TEST_SEED."""
        self.root, self.folder, self.tree, self.cases = Path(root), Path(folder), tree, cases
        self.variables = [word for word in variables if not OWN_FLAGS.match(word)] + FLAGS
        self.path = self.folder / "reach.json"
        self.known = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.lines, self.code, self.functions = {}, {}, {}

    # --- measuring ---

    def stamp(self, test):
        """What the entry of a test depends on. Which cases it takes matters only where it takes a part."""
        text, cases = Path(self.root, selection.source_of(test)).read_text(), self.cases if test.every != 1 else None
        return hashlib.sha256(f"{self.tree}\0{self.variables}\0{cases}\0{text}".encode()).hexdigest()

    def measure(self, tests, jobs, in_parallel, say):
        """Fills the map. `in_parallel(work)` calls work() in as many threads as there are jobs."""
        measured = [test for test in tests if self.is_measured(test)]
        missing = [test for test in measured if self.known.get(selection.key(test), {}).get("stamp") != self.stamp(test)]
        if missing:
            say(f"{len(missing)} tests are run once more to see which lines they run")
            copy = self.build(missing, jobs)
            waiting = queue.SimpleQueue()
            for test in missing:
                waiting.put(test)
            in_parallel(lambda: self.run_all(copy, waiting))
            self.path.write_text(json.dumps(self.known))
        for test in measured:
            self.read(selection.key(test), self.known.get(selection.key(test), {}))

    def is_measured(self, test):
        """Unit tests, and scripts that build nothing. Unit tests under sanitizers run what the plain ones do."""
        if not selection.is_script(test):
            return test.name.startswith("unit/")
        text = Path(self.root, test.command).read_text()
        return not COMPILES.search(text) and not OTHER_BUILDS & selection.needs_of(text)

    def build(self, tests, jobs):
        copy = Copy(self.folder / "reach", self.variables, self.cases)
        for name in files_of(self.root):
            target = copy.folder / name
            if not target.exists() or target.read_bytes() != Path(self.root, name).read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(self.root, name), target) # with a new time, for make
        if not (copy.folder / ".cache").exists() and Path(self.root, ".cache").exists():
            (copy.folder / ".cache").symlink_to(Path(self.root, ".cache").resolve())
        selection.build(copy, tests, False, (f"-j{jobs}", "-k"))
        return copy

    def run_all(self, copy, waiting):
        while True:
            try:
                test = waiting.get_nowait()
            except queue.Empty:
                return
            counts = self.folder / "counts" / hashlib.sha256(selection.key(test).encode()).hexdigest()[:16]
            shutil.rmtree(counts, ignore_errors=True)
            own = Copy(copy.folder, copy.variables, self.cases)
            own.scratch = counts.with_suffix(".tmp")
            variables = {**selection.environment(test), "GCOV_PREFIX": str(counts)}
            status, _ = own.run(test, selection.source_of(test), variables, LONGEST)
            if status == 0:
                files = self.gcov(copy, counts)
                self.known[selection.key(test)] = {"stamp": self.stamp(test), "files": files}
            shutil.rmtree(counts, ignore_errors=True)

    @staticmethod
    def gcov(copy, counts):
        """For each file: the lines that were run, those that have code and were not, and the functions."""
        data = sorted(counts.rglob("*.gcda")) if counts.exists() else []
        for file in data:
            file.with_suffix(".gcno").symlink_to(Path("/", file.relative_to(counts)).with_suffix(".gcno"))
        found = {}
        for start in range(0, len(data), 100):
            text = subprocess.run(["gcov", "--json-format", "--stdout", *map(str, data[start:start + 100])], cwd=copy.folder,
                                  capture_output=True, check=True).stdout.decode()
            for file in (file for document in text.splitlines() for file in json.loads(document)["files"]):
                name = os.path.relpath(os.path.join(copy.folder, file["file"]), copy.folder)
                if name.startswith(("plan/", "schedules/", "compiler/", "runtime/")):
                    ran, code, functions = found.setdefault(name, (set(), set(), set()))
                    ran.update(line["line_number"] for line in file["lines"] if line["count"])
                    code.update(line["line_number"] for line in file["lines"])
                    functions.update((f["start_line"], f["end_line"]) for f in file["functions"])
        return {name: [sorted(ran), sorted(code - ran), sorted(functions)] for name, (ran, code, functions) in found.items()}

    def read(self, key, entry):
        if "files" not in entry:
            return
        self.lines[key] = {name: set(ran) for name, (ran, _, _) in entry["files"].items()}
        for name, (ran, others, functions) in entry["files"].items():
            self.code.setdefault(name, set()).update(ran, others)
            self.functions.setdefault(name, set()).update(map(tuple, functions))

    # --- asking ---

    def runs(self, test, name, line):
        """Whether the test runs the line of the file; None if that is not known."""
        lines = self.lines_of(test)
        if lines is None:
            return None
        place = self.place(name, line)
        return None if place is None else place in lines.get(name, ())

    def lines_of(self, test):
        """The lines that the test runs, by file; None if that is not known. A part of a test under sanitizers runs lines of the
        same part of the plain test; where the plain test has other parts, no more than the whole of it."""
        plain = test._replace(name=test.name.replace("sanitized/", "unit/"))
        return self.lines.get(selection.key(plain), self.lines.get(plain.name))

    def runs_file(self, test, name):
        """Whether the test is known to run a line of the file."""
        return bool(self.lines.get(selection.key(test), {}).get(name))

    def place(self, name, line):
        """The line that is counted for a line: the nearest before it in its function. None outside of functions."""
        bounds = [(first, last) for first, last in self.functions.get(name, ()) if first <= line <= last]
        if not bounds:
            return None
        first, _ = max(bounds)
        return max((code for code in self.code[name] if first <= code <= line), default=first)
