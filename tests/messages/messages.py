"""The table of messages: which test raises each message of firn and firnc.

    messages.py check MOST          the rows of table, never and open are the places of the sources (places.py), each once, and
                                    open has at most MOST rows
    messages.py run                 runs tests that the table names, and fails if one does not raise a message that it should.
                                    FIRN_TEST_EVERY and FIRN_TEST_FROM take one test of several
    messages.py write [TEST]...     runs these tests, or all that the table names, and writes the rows of messages that they raise; removes rows of places that
                                    are gone. What has no row then becomes one of open
    messages.py texts SEED COUNT    prints so many messages that tests of the table raise, drawn by the seed

BUILD is the folder of the programs; CC compiles note.c, which notes what they format.

Lines of table are `TEST | FUNCTION | TEXT` below the file's name in brackets. TEST is a script of tests/end_to_end or a program
of tests/unit. TEXT is the beginning of the text in the source, as far as it differs from others of that function. Two kinds of
tests are not run again here: `code TEST` expects an error of the library by its code, which nothing prints; `apart TEST` takes
too long, and has three words of the message in a row. never has the same lines without a test, below the reason (`= ...`)."""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from places import CONVERSION, places

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "tests" / "messages"
LEAST = 50 # characters of a text in a row
NOTES_BYTES = 1 << 26


# --- rows ---

def labels(found):
    """The label of each place: file, function and beginning of the text."""
    texts = defaultdict(list)
    for place in found:
        texts[place.file, place.function].append(place.text)
    result = {}
    for place in found:
        others = [text for text in texts[place.file, place.function] if text != place.text]
        length = LEAST
        while length < len(place.text) and any(text.startswith(place.text[:length]) for text in others):
            length += 1
        label = place.text[:length].replace("\\", "\\\\").replace("\n", "\\n").rstrip()
        result[place.file, place.function, label] = place
    return result


def read(name):
    """The rows of a file: (file, function, label) and what stands before them; a reason that stands above; number of the line."""
    file = reason = None
    for number, line in enumerate(Path(HERE, name).read_text().splitlines(), 1):
        if line.startswith("["):
            file = line[1:-1]
        elif line.startswith("= "):
            reason = line[2:]
        elif line and not line.startswith("#"):
            *first, function, label = line.split(" | ", 2 if name == "table" else 1)
            yield (file, function, label), (first[0] if first else None), reason, f"tests/messages/{name}:{number}"


def write(name, rows):
    """Writes rows (key, test) in the order that they have, behind the head of the file."""
    path = HERE / name
    head = re.match(r"(#[^\n]*\n)*", path.read_text()).group() if path.exists() else ""
    lines, file = [], None
    for (in_file, function, label), test in rows:
        if in_file != file:
            file = in_file
            lines.append(f"\n[{file}]")
        lines.append(" | ".join(word for word in (test, function, label) if word is not None))
    path.write_text(head + "\n".join(lines) + "\n")


# --- running ---

def command_of(test):
    if test.startswith("test_"):
        return [str(Path(os.environ.get("BUILD", "build"), "tests", test))]
    return [f"tests/end_to_end/{test}.sh"]


def library(folder):
    """Builds note.c there. Returns the name of the library."""
    name = f"{folder}/note.so"
    compiler = os.environ.get("CC", "cc").split()
    subprocess.run([*compiler, "-std=c11", "-O1", "-shared", "-fPIC", str(HERE / "note.c"), "-o", name, "-ldl"], check=True)
    return name


def run(test, noting):
    """Runs a test. Returns its exit code, the formats it used and all texts that were formatted, each in one line."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FIRN_TEST_E")}
    environment.pop("FIRN_TEST_FROM", None)
    with tempfile.NamedTemporaryFile() as notes:
        notes.truncate(NOTES_BYTES)
        ran = subprocess.run(command_of(test), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, check=False,
                             env={**environment, "FIRN_NOTES": notes.name, "LD_PRELOAD": noting})
        length = struct.unpack("<Q", notes.read(8))[0]
        lines = notes.read(min(length, NOTES_BYTES - 8)).decode(errors="replace").splitlines()
    said = defaultdict(set)
    for line in lines:
        form, _, text = line.partition("\t")
        said[form].add(text)
    return ran, said


def escaped(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def raised(place, said, whole):
    """The texts by which a place has been raised."""
    text = escaped(place.text)
    if text in said:
        return said[text]
    if "%" in text:
        return ()
    return [line for line in whole if text in line][:1]


# --- commands ---

def check(most):
    wanted, seen, faults = labels(places(ROOT)), {}, []
    for name in ("table", "never", "open"):
        for key, _, _, where in read(name):
            if key in seen:
                faults.append(f"{where}: {' | '.join(key)} has a row in {seen[key]} too; leave one out")
            elif key not in wanted:
                faults.append(f"{where}: no place of the sources is {' | '.join(key)}; remove the row, or make it that of the new text")
            seen[key] = where
    for key, place in wanted.items():
        if key not in seen:
            faults.append(f"{place.file}:{place.line}: the message of {place.function} has no row: {key[2]}; add it to a test and to "
                          "tests/messages/table (tests/README.md, Messages)")
    still = sum(1 for _ in read("open"))
    if still > most:
        faults.append(f"tests/messages/open has {still} rows, and {most} are allowed; let a test raise the message")
    elif still < most:
        faults.append(f"tests/messages/open has {still} rows: lower the {most} in tests/end_to_end/messages.sh")
    for key, test, _, where in read("table"):
        kind, _, name = test.rpartition(" ")
        if kind and key in wanted and not expects(kind, name, wanted[key]):
            faults.append(f"{where}: {name} does not expect the message of {key[1]}: {key[2]}")
    return faults


def expects(kind, test, place):
    """Whether a test that is not run here has the code or words of the message."""
    if kind == "code":
        source = Path(ROOT, "tests", "unit", test if "." in test else test + ".c").read_text()
        return re.search(rf"\b{'' if '.' in test else 'FIRN_ERROR_'}{place.function}\b", source)
    source = Path(ROOT, "tests", "end_to_end", test + ".sh").read_text()
    words = [piece.split() for piece in CONVERSION.split(place.text)]
    return any(" ".join(piece[i:i + 3]) in source for piece in words for i in range(len(piece) - 2))


def rows_by_test():
    """The rows of tests that are run here."""
    tests = defaultdict(list)
    for key, test, _, where in read("table"):
        if " " not in test:
            tests[test].append((key, where))
    return tests


def run_tests(noting):
    every, first = int(os.environ.get("FIRN_TEST_EVERY", 1)), int(os.environ.get("FIRN_TEST_FROM", 0))
    wanted, faults, count = labels(places(ROOT)), [], 0
    for number, (test, rows) in enumerate(sorted(rows_by_test().items())):
        if number % every != first % every:
            continue
        ran, said = run(test, noting)
        whole = [text for texts in said.values() for text in texts]
        skipped = b"skipped for want of" in ran.stdout
        after = f" (it ended with {ran.returncode})" if ran.returncode != 0 else "" # which its own run judges
        for key, where in rows:
            count += 1
            if key in wanted and not raised(wanted[key], said, whole) and not skipped:
                faults.append(f"{where}: {test} does not raise the message of {key[1]}{after}: {key[2]}")
    print(f"{count} messages were raised")
    return faults


def write_rows(noting, tests):
    wanted = labels(places(ROOT))
    rows = {key: test for key, test, _, _ in read("table") if key in wanted}
    reasons = {key for key, _, _, _ in read("never")}
    for test in tests:
        _, said = run(test, noting)
        whole = [text for texts in said.values() for text in texts]
        for key, place in wanted.items():
            if key not in rows and key not in reasons and raised(place, said, whole):
                rows[key] = test
    write("table", [(key, rows[key]) for key in wanted if key in rows])
    write("open", [(key, None) for key in wanted if key not in rows and key not in reasons])
    return []


def print_texts(noting, seed, count):
    wanted, drawn = labels(places(ROOT)), random.Random(seed)
    tests = sorted(rows_by_test().items())
    chosen = defaultdict(list)
    for test, key in drawn.sample([(test, key) for test, rows in tests for key, _ in rows], count):
        chosen[test].append(key)
    for test, keys in chosen.items():
        _, said = run(test, noting)
        whole = sorted(text for texts in said.values() for text in texts)
        for key in keys:
            for text in sorted(raised(wanted[key], said, whole))[:1]:
                # The whole line: the message with the place that it begins with.
                print(test, next((line for line in whole if line.startswith("firn") and text in line), text), sep="\t")
    return []


def main(command, *words):
    if command == "check":
        wrong = check(int(words[0]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            noting = library(folder)
            if command == "run":
                wrong = run_tests(noting)
            elif command == "write":
                wrong = write_rows(noting, words or sorted(rows_by_test()))
            else:
                wrong = print_texts(noting, int(words[0]), int(words[1]))
    for fault in wrong:
        print(f"FAILED: {fault}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
