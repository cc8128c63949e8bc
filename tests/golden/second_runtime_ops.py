#!/usr/bin/env python3
"""Compares ops of second_runtime.py with the golden values of ops_model.py, bit by bit: those that move elements, which the
plans of recipes do not have, and flushed sums and weights that are rounded, of whose rare values plans have few. Prints how many cases there were; exits with 1 if one differs.

Run: python3 second_runtime_ops.py"""
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import second_runtime as second

GOLDEN = Path(__file__).with_name("ops_half.golden")
CHECKED = set("reshape transpose slice slice_backward pad expand gather gather_backward gather_elements "
              "gather_elements_backward scatter_nd scatter_nd_backward scatter_nd_backward_updates cumulative_sum concat "
              "concat_int32 sin cos atan log_one_plus round fake_quantize "
              "fake_quantize_backward random_uniform random_normal top_k".split())
FLUSHED = ("reduction even_odd_blocks ", "reduction pairs ")
ROUNDED = "_rounded_weight_"
SUMMED = set("linear linear_backward_input linear_backward_weight matmul conv conv_backward_input conv_backward_weight lstm "
             "lstm_backward gru gru_backward rnn rnn_backward recurrent_backward_weight attention attention_backward "
             "cross_attention cross_attention_backward".split())


def widened(bits, kind):
    """The binary32 value of a number of a half type, by its significand and exponent."""
    significant, exponent = second.HALF_TYPES[kind]
    fraction = bits & ((1 << (significant - 1)) - 1)
    field = bits >> (significant - 1) & ((1 << (16 - significant)) - 1)
    sign = -1.0 if bits >> 15 else 1.0
    if field == (1 << (16 - significant)) - 1:
        return np.float32(np.nan if fraction else sign * np.inf)
    whole = fraction | ((1 << (significant - 1)) if field else 0)
    return np.float32(sign * whole * 2.0 ** (max(field, 1) - 1 + exponent - (significant - 1)))


def tensor(line):
    """The type and the values of "input TYPE DIMS : HEX ..."."""
    if line == "input absent":
        return None, None
    _, kind, dims, read, *words = line.split()
    if read == "?":
        return kind, None
    bits = [int(word, 16) for word in words]
    if kind in second.HALF_TYPES:
        values = np.array([widened(b, kind) for b in bits], np.float32)
    else:
        values = np.array(bits, np.uint32).view(np.int32 if kind == "int32" else np.float32)
    return kind, values.reshape([int(d) for d in dims.split("x")])


class Case:
    """A case of the golden file in the form in which second_runtime.py calls an op."""

    def __init__(self, row, lines):
        def of(word):
            return [line for line in lines if line.startswith(word + " ")]

        numbers = [[np.float32(w) if word == "reals" else int(w) for line in of(word) for w in line.split()[1:]]
                   for word in ("integers", "reals")]
        self.row, self.name = row, row.name
        self.reductions = {name: second.Plan.reduction(None, SimpleNamespace(kind=kind, accumulator=accumulator, chunk=int(chunk)))
                           for name, (_, kind, accumulator, chunk) in zip(row.reductions, map(str.split, of("reduction")))}
        self.random = second.Random(*([int(w) for w in of("random")[0].split()[1:]] if of("random") else (0, 0, 0)))
        self.inputs, self.outputs = ([tensor(line) for line in of(word)] for word in ("input", "output"))
        self.attributes = dict(zip(row.integers, numbers[0])) | dict(zip(row.reals, numbers[1]))
        self.op = SimpleNamespace(operands=range(len(self.inputs)), attributes=self.attributes)
        self.run = SimpleNamespace(value=lambda index: self.inputs[index][1])

    def __getitem__(self, name):
        place = self.row.inputs.index(name) if name in self.row.inputs else len(self.inputs)
        return self.inputs[place][1] if place < len(self.inputs) else None

    def attribute(self, name):
        return self.attributes[name]

    def tensor(self, name):
        there, names = (self.outputs, self.row.outputs) if name in self.row.outputs else (self.inputs, self.row.inputs)
        kind, values = there[names.index(name)]
        return SimpleNamespace(dims=values.shape, type=kind)

    def agrees(self):
        with np.errstate(all="ignore"):
            results = second.OPS[self.row.name](self)
        return all(same(results[name], kind, values) for name, (kind, values) in zip(self.row.outputs, self.outputs)
                   if values is not None)


def same(result, kind, expected):
    result = np.asarray(result)
    if kind == "int32":
        return np.array_equal(result, expected)
    with np.errstate(all="ignore"):
        result = second.round_to(kind, result.astype(np.float32))
    equal = (result.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(result) & np.isnan(expected))
    return result.shape == expected.shape and bool(equal.all())


def main():
    rows = {row.name: row for row in second.op_rows().values()}
    cases = ["case " + text for text in GOLDEN.read_text().split("case ")[1:]]
    chosen = [lines for lines in (case.rstrip("\n").split("\n") for case in cases)
              if lines[0].split()[2] in CHECKED or ROUNDED in lines[0] or any(line.startswith(FLUSHED) for line in lines)]
    wrong = [lines[0] for lines in chosen if not Case(rows[lines[0].split()[2]], lines).agrees()]
    for name in wrong:
        print(name, "differs")
    print(len(chosen), "cases")
    return 1 if wrong or {lines[0].split()[2] for lines in chosen} != CHECKED | SUMMED else 0


if __name__ == "__main__":
    sys.exit(main())
