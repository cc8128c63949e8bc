"""The places of the sources that end in a message: each call of a function that says an error, a warning or a note.

A place is known by its file, its function and its text, so an edit of other lines leaves it what it is. A text is a format of
printf, or stands in a longer message as it is. Run by itself, this file prints all places."""
import re
import sys
from collections import namedtuple
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mutants"))
from c_source import Source # noqa: E402

FOLDERS = ("plan", "schedules", "compiler", "runtime")
# What no user of firn and firnc meets: the generator of plan/generated, the build that checks each op, a plugin of QEMU, examples.
NOT_SHIPPED = ("plan/generate/", "runtime/check/", "runtime/targets/count/", "compiler/examples/", "runtime/examples/")
# Functions that say a message: which of their arguments is its text. A static function stands behind its file.
SAYS = {
    "firnc_say": 0, "firnc_say_at": 1, "firnc_fail": 1, "firnc_job_fail": 2, "firnc_job_warn": 2, "firnc_tree_fail": 1,
    "firnc_tree_warn": 1, "firnc_idle_note": 1, "firnc_idle_say": 2, "firnc_idle_note_keys": 4, "firnc_onnx_fail": 1,
    "firnc_weights_refuse": 1, "firnc_usage": 1, "firnc_graph_misuse": 1, "firnc_document_refuse": 3,
    "firn_host_fail": 1, "firn_host_note": 0,
    "compiler/bindings/compile.c fail": 1, "compiler/emit/continue.c refuse": 1,
    "compiler/job/schedule_values.c tell": 3, "compiler/keys/fields.c fail_number": 2, "compiler/keys/tree.c fail_at": 2,
    "compiler/onnx/parameters.c note": 1, "compiler/passes/evaluation/metric.c refuse": 1,
    "compiler/tokens/ids_file.c refuse": 1, "compiler/weights/weights.c refuse": 1,
    "runtime/report/library.c refuse": 1, "runtime/report/profile.c refuse": 1,
}
FORMATS = "firnc_format" # gives a text that it is given the format of
MACROS = {"PRIu64": "lu", "PRId64": "ld", "PRIx64": "lx", "PRIu32": "u", "PRId32": "d", "PRIx32": "x"}
ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'", "r": "\r"}
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
CONVERSION = re.compile(r"%[-+ #0-9.*]*(?:hh|h|ll|l|z|j|t)*[a-zA-Z]")

# `line` is for people, and no part of what a place is.
Place = namedtuple("Place", "file function text line")


def unescaped(literal):
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match.group(1), match.group(0)), literal[1:-1])


def strings_of(text):
    """The macros and constants that are one text: name and text."""
    whole = re.compile(rf"(?:\s|\\\n|{LITERAL})+")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = re.findall(r'^#define (\w+)[ \t]+((?:\\\n|[^\n])*)', text, re.MULTILINE)
    found += re.findall(rf'\b(\w+)(?:\[\])? = ((?:\s*{LITERAL})+);', text)
    return {name: "".join(unescaped(part) for part in re.findall(LITERAL, value)) for name, value in found if whole.fullmatch(value)}


def has_words(text):
    """Whether a text says something beside what is filled in and the name of the program."""
    return re.search(r"[A-Za-z]{2}", re.sub(r"^firnc?\b|\bwarning\b", " ", CONVERSION.sub(" ", text))) is not None


class File:
    """A source and its functions: name, and first and last token of the body."""

    def __init__(self, path, text, strings):
        self.path, self.source, self.strings = path, Source(text), {**strings, **strings_of(text)}
        self.functions = list(self.find_functions())

    def find_functions(self):
        source, i = self.source, 0
        while i < len(source.words):
            if source.word(i) == "{":
                end, close = source.partner.get(i, i), i - 1
                if source.word(close) == ")" and close in source.partner:
                    yield source.word(source.partner[close] - 1), i, end
                i = end
            i += 1

    def arguments(self, opening):
        """The arguments in these brackets: first token of each, and the one behind its last."""
        source, found, begin, i, end = self.source, [], opening + 1, opening + 1, self.source.partner[opening]
        while i < end:
            if source.word(i) in ("(", "[", "{"):
                i = source.partner[i]
            elif source.word(i) == ",":
                found.append((begin, i))
                begin = i + 1
            i += 1
        return found + [(begin, end)]

    def texts(self, begin, end):
        """The texts that an argument may be. Literals side by side are one, and a choice has several."""
        source, found, current, i = self.source, [], None, begin
        while i <= end:
            word = source.word(i) if i < end else ""
            literal = None
            if word.startswith('"'):
                literal = unescaped(word)
            elif word in self.strings:
                literal = self.strings[word]
            elif current is not None and word in MACROS:
                literal = MACROS[word]
            if literal is not None:
                current = (current or "") + literal
            elif current is not None:
                found.append(current)
                current = None
            if word == "(" and source.word(i - 1) == FORMATS:
                found += self.texts(*self.arguments(i)[0])
            if word == "(" and i != begin:
                i = source.partner[i]
            i += 1
        return found

    def places(self):
        for function, first, last in self.functions:
            for i in range(first, last):
                word = self.source.word(i)
                index = SAYS.get(f"{self.path} {word}", SAYS.get(word))
                if index is None or self.source.word(i + 1) != "(" or self.source.word(i - 1) in (".", "->"):
                    continue
                arguments = self.arguments(i + 1)
                for text in self.texts(*arguments[index]) if index < len(arguments) else ():
                    if has_words(text):
                        yield Place(self.path, function, text, self.source.tokens[i].line)


def errors(root):
    """The errors of the library; the function of each is its name."""
    path = "plan/errors.def"
    for number, line in enumerate(Path(root, path).read_text().splitlines(), 1):
        match = re.match(rf"FIRN_ERROR\((\w+), -\d+, ({LITERAL})\)", line)
        if match:
            yield Place(path, match.group(1), unescaped(match.group(2)), number)


def places(root):
    """All places, in the order of files and lines. Equal ones are one."""
    names = sorted(str(path.relative_to(root)) for folder in FOLDERS for path in Path(root, folder).rglob("*.[ch]"))
    texts = {name: Path(root, name).read_text() for name in names if not name.startswith(NOT_SHIPPED)}
    shared = {}
    for name, text in texts.items():
        if name.endswith(".h"):
            shared.update(strings_of(text))
    found = {}
    for name, text in texts.items():
        for place in File(name, text, shared).places():
            found.setdefault(place[:3], place)
    for place in errors(root):
        found.setdefault(place[:3], place)
    return list(found.values())


if __name__ == "__main__":
    for place in places(Path(__file__).resolve().parent.parent.parent):
        print(f"{place.file}:{place.line}: {place.function}: {place.text}")
