"""What the tests run: `make coverage`.

    coverage.py --build FOLDER [--jobs JOBS] [--limit SECONDS] [--report]

Builds everything with gcov and without optimisation, runs the unit tests, and the scripts that take at most SECONDS, and
prints for each folder how many of its lines and branches were run. For checks and parsers, which a test must show to
refuse what they refuse, it then prints every condition of which a side was never taken. With --report nothing is built
or run anew. Counts add up over runs; `rm -r FOLDER` begins anew."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from copies import PROCESSES, Copy
from selection import environment, goals_of, is_script, tests_of

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("plan/", "schedules/", "compiler/", "runtime/")
# Where every side of every condition is listed.
CHECKS = re.compile(r"plan/(checks|shapes|checkpoint|slots)/|plan/(container|device|needs|signature)\.c|schedules/"
                    r"|compiler/(recipe|onnx|weights|keys|tokens)/|runtime/(open|restore|update|plan_slots|request|checkpoint)\.c"
                    r"|runtime/targets/dataset\.c|runtime/targets/host/(images/|([a-z]+/)?(archive|arrays|axes|cells|data"
                    r"|data_file|elements|folder|forms|input|key|line|numbers|plan|table|tokens|unpack)\.c)")
FLAGS = ["PORTABLE=1", "WERROR=", "CFLAGS_EXTRA=--coverage -O0", "LDFLAGS_EXTRA=--coverage"]
LONGEST = 900 # seconds that a test may take


# --- building and running ---

def make(build, goals, jobs):
    variables = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    command = ["make", "--no-print-directory", "-s", f"-j{jobs}", f"BUILD={build}", *FLAGS, *goals]
    subprocess.run(command, cwd=ROOT, env=variables, check=True)


def chosen(build, limit):
    """The unit tests, and the scripts that are known to be quick and need no other target."""
    tree = Copy(ROOT, [])
    with tempfile.TemporaryDirectory(dir=Path(ROOT, build)) as scratch:
        tree.scratch = Path(scratch)
        tests = tests_of(tree, 1)
    for test in tests:
        if test.name.startswith("unit/"):
            program = f"{build}/tests/{test.name[5:]}"
            if Path(ROOT, program).exists(): # not those of kernels that only sets with vectors have
                yield test._replace(command=program)
        elif is_script(test) and test.seconds <= limit and goals_of(tree, test) == ["all"]:
            yield test


def passes(test, build):
    variables = {**os.environ, **environment(test), "BUILD": build, "SANITIZED": build + "/sanitized"}
    status, _, _ = PROCESSES.run([test.command], ROOT, variables, LONGEST)
    print(f"{'passed' if status == 0 else 'FAILED'}  {test.name}", flush=True)
    return status == 0


# --- what gcov says ---

def measured(build):
    """For each file of the four folders: the count of each line, and the counts of the branches on it."""
    lines, branches = {}, {}
    for data in sorted(Path(ROOT, build).rglob("*.gcno")):
        if re.search(r"/(tests|mbedtls|signing)/", str(data)):
            continue
        text = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", str(data)], cwd=ROOT,
                              capture_output=True, check=True).stdout
        for document in text.decode().splitlines():
            for file in json.loads(document)["files"]:
                name = os.path.relpath(os.path.join(ROOT, file["file"]), ROOT)
                if name.startswith(FOLDERS) and "/generated/" not in name:
                    add(lines.setdefault(name, {}), branches.setdefault(name, {}), file["lines"])
    return lines, branches


def add(lines, branches, found):
    """Adds the counts of one object. A header has those of every object that includes it."""
    for line in found:
        number = line["line_number"]
        lines[number] = lines.get(number, 0) + line["count"]
        counts = [branch["count"] for branch in line["branches"]]
        known = branches.get(number, [])
        if counts:
            length = max(len(known), len(counts))
            branches[number] = [sum(of[i] for of in (known, counts) if i < len(of)) for i in range(length)]


# --- the report ---

def share(taken, all_of_them):
    return f"{taken} of {all_of_them} ({100 * taken / all_of_them:.1f} %)" if all_of_them else "none"


def table(lines, branches):
    """A line for each folder: how many of its lines and branches were run."""
    totals = {}
    for name in lines:
        total = totals.setdefault(str(Path(name).parent), [0, 0, 0, 0])
        sides = [count for counts in branches[name].values() for count in counts]
        counts = list(lines[name].values())
        for i, n in enumerate((sum(c > 0 for c in counts), len(counts), sum(c > 0 for c in sides), len(sides))):
            total[i] += n
    whole = [sum(column) for column in zip(*totals.values())]
    for folder, (run_lines, all_lines, taken, sides) in [*sorted(totals.items()), ("all", whole)]:
        yield f"{folder:32}  lines {share(run_lines, all_lines):28}  branches {share(taken, sides)}"


def never_taken(lines, branches):
    """file:line: condition, for each condition of a check or parser with a side that no test takes."""
    for name in sorted(filter(CHECKS.match, lines)):
        text = Path(ROOT, name).read_text().splitlines()
        for number, counts in sorted(branches[name].items()):
            if 0 in counts:
                missing = f"{counts.count(0)} of {len(counts)} sides" if lines[name].get(number) else "never run"
                yield f"{name}:{number}: {text[number - 1].strip()}  ({missing})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/coverage")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=10)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    passed = []
    if not options.report:
        make(options.build, ["all", "unit-tests"], options.jobs)
        with ThreadPoolExecutor(options.jobs) as pool:
            passed = list(pool.map(lambda test: passes(test, options.build), chosen(options.build, options.limit)))
    lines, branches = measured(options.build)
    if not lines:
        sys.exit("make coverage: no test has left counts")
    print("\n".join(table(lines, branches)))
    print("\nConditions of checks and parsers with a side that no test takes:")
    print("\n".join(never_taken(lines, branches)))
    if not all(passed):
        sys.exit(f"make coverage: {passed.count(False)} of {len(passed)} tests failed")


if __name__ == "__main__":
    main()
