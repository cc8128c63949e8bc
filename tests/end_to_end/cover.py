"""Chooses few runs that together have every two of: op family, type, level, kernel set, threads, compiler, optimisation, machine.

    cover.py SEED SETS <CASES >ROWS     SETS: the kernel sets of this machine, as in plain,fma,avx2

Reads the cases of `bits.sh --list`: number, family, type[/level], size. Writes rows for `bits.sh --rows`: number, build, set,
threads; and, in lines that begin with #, every pair of values that no row has, with the reason. A covering array in place of
the full product: a fault that needs three values to meet can be missed. Rows are chosen one by one, the one with
the most pairs that no row has yet; the seed decides between equals. cover.sh counts the pairs again.
"""

import heapq
import platform
import random
import sys

LARGE_THREADS = ("1", "2", "3", "8")
FACTORS = ("family", "type", "level", "set", "threads", "compiler", "optimisation", "machine")

# What COVERING in runtime/targets/firmware.mk builds, and this build: compiler, level of optimisation of the kernels, machine,
# which kernel sets it has beside the portable one, and whether it has firn.
ALL = None
HOST = {"host": ("gcc", "O3", "64 bits", ALL, True), "gcc-O2": ("gcc", "O2", "64 bits", (), True), "clang-O0": ("clang", "O0", "64 bits", ALL, True)}
if platform.machine() == "x86_64":
    HOST |= {"gcc-m32-O0": ("gcc", "O0", "32 bits", (), False), "clang-m32-O2": ("clang", "O2", "32 bits", ("fma",), False),
             "aarch64": ("clang", "O3", "aarch64", (), False)}  # fmt: skip
else:
    HOST |= {"gcc-O0": ("gcc", "O0", "64 bits", (), True), "clang-O2": ("clang", "O2", "64 bits", (), True)}  # fmt: skip
BOARDS = {"cortex-m7": ("gcc", "O2", "cortex-m7", (), False), "rv32": ("gcc", "O2", "rv32", (), False)}


def read_cases(lines):
    """Returns the cases as tuples: number, family, type, level, size."""
    cases = []
    for line in lines:
        number, family, kind, size = line.split()
        kind, _, level = kind.partition("/")
        cases.append((number, family, kind, "level " + (level or "of the recipe"), size))
    return cases


def candidates(cases, sets, seed):
    """Yields each row that can be run: the row as written, and its value of each factor. Emulators are slow, so the seed
    chooses one of them for each family."""
    order = random.Random(seed)
    emulated = {family: order.choice([*BOARDS, "aarch64"]) for family in sorted({case[1] for case in cases})}
    for number, family, kind, level, size in cases:
        for name, (compiler, optimisation, machine, own_sets, has_firn) in (HOST | BOARDS).items():
            if size == "large" and not has_firn or name in ("aarch64", *BOARDS) and name != emulated[family]:
                continue
            for kernels in (s for s in sets if s == "plain" or own_sets is ALL or s in own_sets):
                for threads in LARGE_THREADS if size == "large" else ("1",):
                    values = (family, kind, level, kernels, threads, compiler, optimisation, machine)
                    yield (number, name, kernels, threads), values


def pairs_of(values):
    """Returns the pairs of values of a row, each as (factor, value, factor, value)."""
    return [(i, values[i], j, values[j]) for i in range(len(values)) for j in range(i + 1, len(values))]


def choose(rows, seed):
    """Returns rows that have each pair which any of `rows` has."""
    order = random.Random(seed)
    heap = [(-len(FACTORS) ** 2, order.random(), row, pairs_of(values)) for row, values in rows]
    missing = {pair for *_, pairs in heap for pair in pairs}
    heapq.heapify(heap)
    chosen = []
    while missing:
        # A row gains at most what it gained before, so the first whose gain is up to date has the most.
        gain, tie, row, pairs = heapq.heappop(heap)
        now = -sum(pair in missing for pair in pairs)
        if now != gain:
            heapq.heappush(heap, (now, tie, row, pairs))
            continue
        chosen.append(row)
        missing.difference_update(pairs)
    return chosen


def reason(pair):
    """Says why no row has a pair."""
    first, a, second, b = pair
    names = {FACTORS[first]: a, FACTORS[second]: b}
    machine, threads, kernels = names.get("machine"), names.get("threads"), names.get("set")
    if "family" in names and machine in ("aarch64", *BOARDS):
        return "with this seed the family runs on another emulated machine; bits.sh and aarch64.sh have all"
    if machine in ("aarch64", *BOARDS) and ("type" in names or "level" in names):
        return "no family that this seed runs there has it"
    if machine == "aarch64" and kernels:
        return "kernel sets of x86; those of AArch64 are compiled and emulated by aarch64.sh in test-all"
    if machine == "aarch64":
        return "its one build is by clang, with -O3 and one thread"
    if machine in BOARDS:
        if "optimisation" in names:
            return "the kernels of firmware are compiled with -O2"
        if names.get("compiler") == "clang":
            return "firmware is compiled by gcc"
        if kernels:
            return "kernel sets are for 64 and 32 bits; firmware has the portable kernels"
        if threads:
            return "firmware has one thread"
        return "no small case has both"
    if names.get("optimisation") == "O3" and machine == "32 bits":
        return "one build more, of twenty seconds; test-all has it"
    if threads and threads != "1":
        if machine == "32 bits":
            return "firn needs libraries that are installed for 64 bits; the runner has one thread"
        if "family" in names or "type" in names or "level" in names:
            return "no large case has it, and the ops of a small one are not split among threads"
        return "the builds for 32 bits have one thread"
    if kernels:
        return "compiling the set for it takes half a minute; bits.sh has it in test-all"
    if {"family", "type"} <= names.keys() or {"family", "level"} <= names.keys() or {"type", "level"} <= names.keys():
        return "no case of bits.sh has both; test_kernels_sets compares every op in every type and level"
    return "no row can have both"


def main():
    seed, sets = int(sys.argv[1]), sys.argv[2].split(",")
    rows = list(candidates(read_cases(sys.stdin), sets, seed))
    chosen = choose(rows, seed)
    values = dict(rows)
    covered = {pair for row in chosen for pair in pairs_of(values[row])}
    levels = [sorted({v[i] for _, v in rows}) for i in range(len(FACTORS))]
    every = [(i, a, j, b) for i in range(len(FACTORS)) for j in range(i + 1, len(FACTORS)) for a in levels[i] for b in levels[j]]
    for row in sorted(chosen, key=lambda row: (int(row[0]), row)):
        print(*row)
    for pair in every:
        if pair not in covered:
            first, a, second, b = pair
            print(f"# {FACTORS[first]} {a}, {FACTORS[second]} {b}: {reason(pair)}")
    print(f"# seed {seed}: {len(chosen)} rows have {len(covered)} of {len(every)} pairs")


main()
