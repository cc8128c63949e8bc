#!/usr/bin/env python3
"""Golden values of the schedules: the formulas of schedules/schedule.h in decimal arithmetic of 60 digits, from the
binary64 numbers that a plan holds, rounded to binary32 and to binary64 once.

Writes schedules.def beside this script; tests/unit/test_schedules.c includes it:
  SCHEDULE_NODE(kind, child_count, first_child, total, start, initial, final)   one list, in the order of a plan
  SCHEDULE_VALUE(root, step, bits of binary32, binary64)

Run: python3 tests/golden/schedules.py    Nothing here is needed to build or to test."""
import struct
from decimal import Decimal as D, getcontext
from fractions import Fraction
from pathlib import Path

getcontext().prec = 60

CONSTANT, LINEAR, COSINE, SEQUENTIAL = range(4)


def arctangent_of_inverse(n):
    total, power, k = D(0), D(1) / n, 0
    while abs(power) > D(10) ** -62:
        total += power / (2 * k + 1) * (-1 if k % 2 else 1)
        power /= n * n
        k += 1
    return total


PI = 4 * (4 * arctangent_of_inverse(5) - arctangent_of_inverse(239))


def sine(x):
    total, term, k = D(0), x, 1
    while abs(term) > D(10) ** -75:
        total += term
        term *= -x * x / ((k + 1) * (k + 2))
        k += 2
    return total


# A tree is (kind, total, initial, final) or (SEQUENTIAL, [(start, tree), ...]).
TREES = [
    (SEQUENTIAL, [(0, (LINEAR, 1600, 0.0, 6e-4)), (1600, (COSINE, 100000, 6e-4, 6e-5)), (101600, (CONSTANT, 0, 6e-5))]),
    (SEQUENTIAL, [(0, (LINEAR, 1600, 0.0, 6e-4)), (1600, (LINEAR, 150000, 6e-4, 0.0))]),
    (COSINE, 200000, 1e-3, 0.0),
    (COSINE, 200000, 0.0, 3e-4),
    (COSINE, 1, 0.1, 0.01),
    (COSINE, 7, 0.1, 1e-9),
    (LINEAR, 3, 0.1, 0.3),
    (LINEAR, 199999, 1.0, 1e-30),
    (CONSTANT, 0, 0.1),
    (COSINE, 2**40 + 1, 2.5, 0.0),
    (SEQUENTIAL, [
        (0, (CONSTANT, 10, 1e-4)),
        (10, (SEQUENTIAL, [(0, (LINEAR, 90, 1e-4, 1e-2)),
                           (90, (SEQUENTIAL, [(0, (COSINE, 900, 1e-2, 1e-3)), (900, (LINEAR, 50, 1e-3, 0.0))]))])),
        (5000, (COSINE, 50000, 5e-3, 5e-6)),
    ]),
]


def value(tree, t):
    if tree[0] == SEQUENTIAL:
        start, child = [pair for pair in tree[1] if pair[0] <= t][-1]
        return value(child, t - start)
    if tree[0] == CONSTANT:
        return D(tree[2])
    _, total, initial, final = tree
    if t == 0 or t >= total:
        return D(final if t else initial)
    left = D(total - t) / D(total)
    if tree[0] == COSINE:
        left = sine(PI * left / 2) ** 2
    return D(final) + (D(initial) - D(final)) * left


def rounded(x, digits, least):
    """The multiple of a power of two that is nearest, ties to even: digits of significand, exponents from least."""
    exact = Fraction(x)
    if exact == 0:
        return 0.0
    exponent = 0
    while abs(exact) / Fraction(2) ** exponent >= 2:
        exponent += 1
    while abs(exact) / Fraction(2) ** exponent < 1:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - digits + 1, least)
    return float(round(exact / unit) * unit)


def write_nodes(out, roots):
    """Breadth first, so that the children of a node stand together."""
    nodes = []
    for tree in TREES:
        roots.append(len(nodes))
        nodes.append([tree, 0, None])
        i = roots[-1]
        while i < len(nodes):
            current = nodes[i][0]
            if current[0] == SEQUENTIAL:
                nodes[i][2] = len(nodes)
                nodes.extend([child, start, None] for start, child in current[1])
            i += 1
    for tree, start, first in nodes:
        if tree[0] == SEQUENTIAL:
            out.write(f"SCHEDULE_NODE({SEQUENTIAL}, {len(tree[1])}, {first}, 0, {start}, 0.0, 0.0)\n")
        else:
            final = tree[3] if len(tree) > 3 else 0.0
            out.write(f"SCHEDULE_NODE({tree[0]}, 0, 0, {tree[1]}, {start}, {tree[2].hex()}, {final.hex()})\n")


def ends(tree, begin):
    """The steps where something begins or ends, through all levels."""
    if tree[0] == SEQUENTIAL:
        return [step for start, child in tree[1] for step in ends(child, begin + start)]
    return [begin, begin + tree[1]]


def steps_of(tree, seed):
    steps = {0, 1, 2, 199999, 200000}
    for end in ends(tree, 0):
        steps |= {max(end + d, 0) for d in (-2, -1, 0, 1, 2)}
        steps |= {end // 2, end // 2 + 1}
    state = seed
    while len(steps) < 90:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        steps.add((state >> 33) % 200001)
    return sorted(steps)


with open(Path(__file__).parent / "schedules.def", "w") as out:
    out.write("/* Written by schedules.py; do not edit. */\n/* clang-format off */\n")
    roots = []
    write_nodes(out, roots)
    for number, tree in enumerate(TREES):
        for step in steps_of(tree, number):
            exact = value(tree, step)
            single = struct.unpack("<I", struct.pack("<f", rounded(exact, 24, -149)))[0]
            out.write(f"SCHEDULE_VALUE({roots[number]}, {step}, 0x{single:08x}, {rounded(exact, 53, -1074).hex()})\n")
