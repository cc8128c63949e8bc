"""Which tests there are, what they need to be built, and in which order they are asked about a mutant."""
import re
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

from copies import BUILD

# `seconds` is the CPU time that the test may take; it takes one case of `every`, beginning with number `part`. `loop` is the
# loop of tests/run.sh that lists it.
Test = namedtuple("Test", "command name seconds every part loop")

LOOPS = {1: "test", 2: "all"}
# The goals of make for the words of tests/check, which tests/end_to_end/packages.sh compares with these; boards, oracle,
# python and tools are built by the scripts or not at all. None: the sanitized build has them.
NEEDS = {"onnx_run": ["tests/onnx_run"], "runner": ["runner"], "signing": ["libsigning.a"], "bench": ["firn-bench"],
         "boards": [], "oracle": [], "python": [], "tools": [], "mpi": ["firn-mpi"] if shutil.which("mpicc") else [],
         "shared": ["libfirn.so.0", "libfirnc.so.0"], "wheel": ["python/firn/_firn.abi3.so"], "fuzz": None}
# The same for words whose goals depend on the loop.
OTHER_COMPILERS = {"test": {"cover": ["cover"], "variants": ["cover"], "aarch64": []},
                   "all": {"cover": ["cover"], "variants": ["variants"], "aarch64": ["aarch64"]}}
CALLS_PROGRAMS = re.compile(r"\b(system|popen|execvp?|execve|posix_spawnp?)\(")


def tests_of(copy, stage):
    """The tests of a stage: 1 is what `make test` runs, 2 what `make test-all` runs."""
    loop = LOOPS[stage]
    listed = subprocess.run(["tests/run.sh", "--list", "--loop", loop], cwd=copy.folder, env=copy.environment(),
                            capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [Test(row[0], row[1], float(row[2]), int(row[3]), int(row[4]), loop) for row in rows if row]


def key(test):
    """What tells the test from others, parts of the same one included."""
    return test.name if test.every == 1 else f"{test.name}, {test.part + 1} of {test.every}"


def environment(test):
    """The variables that tests/run.sh and tests/check set for a test."""
    found = {"FIRN_TEST_LOOP": "test"} if test.loop == "test" else {}
    if test.every != 1:
        found.update(FIRN_TEST_EVERY=str(test.every), FIRN_TEST_FROM=str(test.part))
    return found


def is_script(test):
    return test.name.startswith("end_to_end/")


def source_of(test):
    """The file that a test is written in."""
    return test.command if is_script(test) else f"tests/unit/{test.name.split('/')[1]}.c"


def needs_of(text):
    """The words after `# Needs:` in a script."""
    return {word for line in re.findall(r"^# Needs: (.*)$", text, re.MULTILINE) for word in line.split()}


def goals_of(copy, test):
    """The goals of make that a test needs, or None if a build of its own has them."""
    if test.name.startswith("sanitized/"):
        return None
    if not is_script(test):
        return [test.command]
    goals = ["all"]
    for word in sorted(needs_of((copy.folder / test.command).read_text())):
        if word.startswith("test_"):
            goals.append(f"{BUILD}/tests/{word}")
        elif word in OTHER_COMPILERS[test.loop]:
            goals += OTHER_COMPILERS[test.loop][word]
        elif NEEDS[word] is None:
            return None
        else:
            goals += [f"{BUILD}/{goal}" for goal in NEEDS[word]]
    return goals


def needs_sets(tests):
    """Whether the sanitized build needs the kernel sets. All of its objects depend on it, so that a run decides it once."""
    return any(test.name.startswith("sanitized/") and "kernel" in test.name for test in tests)


def build(copy, tests, with_sets, options=("-j1",)):
    """Builds what the tests need. Returns make's status and output."""
    goals, sanitized = set(), set()
    for test in tests:
        own = goals_of(copy, test)
        goals.update(own or [])
        if own is None:
            program = f"{BUILD}/sanitized/tests/{test.name.split('/')[1]}"
            sanitized.add("fuzz-programs" if is_script(test) else program)
    status, output = copy.make(sorted(goals), options) if goals else (0, "")
    if status == 0 and sanitized:
        sets = ["SANITIZED_SETS=1"] if with_sets else []
        status, output = copy.make(["sanitized-goals", *sets, "GOALS=" + " ".join(sorted(sanitized))], options)
    return status, output


def same_program(copy, clean, test):
    """Whether a unit test is, byte for byte, the program that passes on the clean tree, and calls no other one."""
    if not test.name.startswith("unit/"):
        return False
    return (not CALLS_PROGRAMS.search((copy.folder / source_of(test)).read_text()) and
            (copy.folder / test.command).read_bytes() == (clean.folder / test.command).read_bytes())


# --- the order ---

def is_named_after(copy, test, path):
    """Whether a unit test is named as the file is, or includes it or its header."""
    if not test.name.startswith("unit/"):
        return False
    text, name = (copy.folder / source_of(test)).read_text(), test.name.split("/")[1]
    return name == "test_" + Path(path).stem or f'"{path}"' in text or f'"{Path(path).with_suffix(".h")}"' in text


def order(copy, tests, path, line, reach, seconds):
    """The tests that a mutant in this line is shown to, in order: tests that are known to run the line, or its file where the
    line belongs to no function, those that are named after the file first; tests of which it is not known; and last those
    under the sanitizers, which take long to link."""
    def group(test):
        if test.name.startswith("sanitized/"):
            return 3
        if is_named_after(copy, test, path):
            return 0
        return 1 if reach.runs(test, path, line) or reach.runs_file(test, path) else 2

    shown = [test for test in tests if reach.runs(test, path, line) is not False]
    return sorted(shown, key=lambda test: (group(test), seconds[key(test)], key(test)))
