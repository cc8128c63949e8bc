"""Which faults are planted: drawn from a seed, over the lines of each folder that a fault can change.

Candidate number i of a folder depends on nothing but the seed, the folder, i and the sources. A candidate that this build
does not compile, that is no C, or whose objects are those of the clean tree is drawn again as the next one."""
import hashlib
import random
import re
from pathlib import Path

from c_source import types_declared
from copies import files_of
from faults import faults_of_c, faults_of_ops

FOLDERS = ("plan", "schedules", "compiler", "runtime")
OPS = "plan/ops.def"
# What a build for this machine never compiles, and what is generated. Other files that it does not compile are rejected
# when they are drawn.
NOT_DRAWN = re.compile(r"plan/generated/|runtime/targets/(aarch64|cortex-m|rv32|emulated|count|memory)/"
                       r"|runtime/targets/firmware_main\.c|runtime/package/|(compiler|runtime)/examples/")


class Draw:
    def __init__(self, root, seed):
        self.seed = seed
        names = [name for name in files_of(root) if name.startswith(tuple(f + "/" for f in FOLDERS))]
        names = [name for name in names if name.endswith((".c", ".h")) or name == OPS]
        self.not_drawn = [name for name in names if NOT_DRAWN.match(name)]
        self.texts = {name: Path(root, name).read_text() for name in names if not NOT_DRAWN.match(name)}
        types = types_declared(Path(root, name).read_text() for name in names)
        self.lines = {folder: [] for folder in FOLDERS}
        for name, text in self.texts.items():
            by_line = {}
            for fault in faults_of_ops(text) if name == OPS else faults_of_c(text, types):
                by_line.setdefault(fault.line, {}).setdefault(fault.kind, []).append(fault)
            self.lines[name.split("/")[0]] += [(name, by_line[line]) for line in sorted(by_line)]

    def tree(self):
        """A hash of what the draw depends on: the sources that faults are planted in, and the rules of this folder."""
        rules = {name: Path(__file__).with_name(name).read_text() for name in ("c_source.py", "draw.py", "faults.py")}
        parts = [f"{name}\0{text}" for name, text in {**rules, **self.texts}.items()]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def candidate(self, folder, index):
        """A file and a fault: the line is drawn first, then the kind of fault, then one of this kind."""
        numbers = random.Random(f"{self.seed} {folder} {index}")
        name, kinds = numbers.choice(self.lines[folder])
        return name, numbers.choice(kinds[numbers.choice(sorted(kinds))])
