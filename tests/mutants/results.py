"""The file of results: a line of JSON for each candidate, and the table that is made of them."""
import json
import re
import threading
from pathlib import Path

from draw import FOLDERS

REJECTED = ("absent", "uncompiled", "unchanged", "drawn before")
KILLED = ("killed", "timeout")


class Results:
    """Only ever appended to. A line that a killed run left incomplete is not counted."""

    def __init__(self, path, tree):
        self.path, self.lock, self.found = Path(path), threading.Lock(), {}
        known = self.read()
        if known not in (None, tree):
            raise SystemExit(f"{path} has the results of other sources: remove it, or give another SEED")
        if known is None:
            self.append({"tree": tree})

    def read(self):
        """Reads what is there. Returns the hash of its sources, or None."""
        tree = None
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            tree = entry.get("tree", tree)
            if "id" in entry:
                self.found.setdefault(entry["id"], {})[entry["stage"]] = entry
        return tree

    def append(self, entry):
        with self.lock:
            broken = self.path.exists() and self.path.stat().st_size and not self.path.read_bytes().endswith(b"\n")
            with self.path.open("a") as file:
                file.write(("\n" if broken else "") + json.dumps(entry, ensure_ascii=False) + "\n")
            if "id" in entry:
                self.found.setdefault(entry["id"], {})[entry["stage"]] = entry

    def of(self, id, stage):
        with self.lock:
            return self.found.get(id, {}).get(stage)


# --- mutants that no input can tell from the original ---

def read_equivalents(path):
    """The blocks of tests/mutants/equivalent: (file, line before, line after) and why."""
    found = {}
    for block in re.split(r"\n\s*\n", path.read_text()):
        lines = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if len(lines) >= 4 and lines[1].startswith("- ") and lines[2].startswith("+ "):
            found[lines[0], lines[1][2:].strip(), lines[2][2:].strip()] = " ".join(lines[3:])
        elif lines:
            raise SystemExit(f"{path}: a block is a file, `- before`, `+ after` and a reason, not: {lines[0]}")
    return found


# --- the report ---

def verdict(stages, equivalents):
    """What became of a mutant: equivalent, stage 1, stage 2, or survived."""
    first, second = stages.get(1), stages.get(2)
    if first["result"] in KILLED:
        return "stage 1"
    if second and second["result"] in KILLED:
        return "stage 2"
    return "equivalent" if (first["file"], first["before"], first["after"]) in equivalents else "survived"


def share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "-"


def report(results, wanted, equivalents):
    """The lines of the table, then one entry for each survivor."""
    head = "folder", "drawn", "stage 1", "stage 2 only", "equivalent", "survived", "killed of those that can be"
    rows, survivors, total = [head], [], [0] * 5
    for folder in FOLDERS:
        mutants = mutants_of(results, folder)[:wanted[folder]]
        verdicts = [verdict(stages, equivalents) for stages in mutants]
        counts = [len(mutants)] + [verdicts.count(word) for word in ("stage 1", "stage 2", "equivalent", "survived")]
        survivors += [stages for stages, word in zip(mutants, verdicts) if word == "survived"]
        total = [a + b for a, b in zip(total, counts)]
        rows.append((folder, *counts, share(counts[1] + counts[2], counts[0] - counts[3])))
    rows.append(("all", *total, share(total[1] + total[2], total[0] - total[3])))
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(head))]
    yield from ("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
    for stages in survivors:
        first, second = stages[1], stages.get(2)
        asked = "stage 2 not asked" if second is None else "stage 2 cut off" if second.get("cut") else "both stages"
        yield f"\n{first['file']}:{first['line']}: {first['kind']} ({first['id']}, {asked})"
        yield f"    - {first['before']}\n    + {first['after']}"


def mutants_of(results, folder):
    """The mutants of a folder, in the order in which they were drawn."""
    numbered = [(int(id.split("-")[1]), stages) for id, stages in results.found.items()
                if id.startswith(folder + "-") and stages[1]["result"] not in REJECTED]
    return [stages for _, stages in sorted(numbered, key=lambda pair: pair[0])]
