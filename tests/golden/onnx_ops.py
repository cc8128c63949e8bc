#!/usr/bin/env python3
"""The ops of ONNX as the package onnx defines them: how many inputs and outputs each may have, the opset that brought it,
and its attributes, over all versions that a file of the opsets 13 to 23 may mean. The table of compiler/onnx/ops/ops.c must
say the same, but for what DIFFERENCES says with its reason.

Run: python3 tests/golden/onnx_ops.py, with the package onnx
         writes onnx_ops.def beside this script, which tests/unit/test_onnx_ops.c includes:
         ONNX_OP(name, fewest inputs, most inputs, most outputs, opset, attributes), any number of operands as MANY
         ONNX_NOT_READ(name)

Firn can be built and run without this script."""
import os
import re

import onnx.defs

OLDEST, NEWEST = 13, 23  # the opsets that firnc reads
ANY_NUMBER = 1000  # of operands, and more: onnx gives the largest number there is

# What Firn reads otherwise than ONNX defines it.
DIFFERENCES = {
    "BatchNormalization": {"outputs": 3},  # of opset 13 the last two, which a model has no use for, are refused
    "Bernoulli": {"without": ["seed"]},  # the seed is the plan's; that of the file is refused
    "Cast": {"with": ["round_mode"]},  # of opset 24
    "CastLike": {"with": ["round_mode"]},
    "Constant": {"without": ["value_string", "value_strings"]},  # texts
    "Einsum": {"inputs_max": 8},
    "GRU": {"without": ["clip"]},
    "LSTM": {"inputs_max": 7, "without": ["clip"]},  # the input that is left out has peepholes
    "Loop": {"inputs_min": 0},  # the two that ONNX counts may be empty
    "RNN": {"without": ["clip"]},
    "RandomNormal": {"without": ["seed"]},
    "RandomNormalLike": {"without": ["seed"]},
    "RandomUniform": {"without": ["seed"]},
    "RandomUniformLike": {"without": ["seed"]},
    "ReduceSum": {"with": ["axes"]},  # of opset 11, as the other reductions have it up to 17
}


def versions(name):
    """The schemas of an op that files of the opsets that firnc reads use."""
    all_of = [s for s in onnx.defs.get_all_schemas_with_history() if s.name == name and s.domain == ""]
    first = min(s.since_version for s in all_of)
    at_oldest = max((s.since_version for s in all_of if s.since_version <= OLDEST), default=0)
    return first, [s for s in all_of if at_oldest <= s.since_version <= NEWEST]


def number(count):
    return "MANY" if count >= ANY_NUMBER else str(count)


def row(name):
    first, used = versions(name)
    said = DIFFERENCES.get(name, {})
    least = said.get("inputs_min", min(s.min_input for s in used))
    most = said.get("inputs_max", max(s.max_input for s in used))
    outputs = said.get("outputs", max(s.max_output for s in used))
    attributes = {a for s in used for a in s.attributes} | set(said.get("with", []))
    attributes = sorted(attributes - set(said.get("without", [])))
    return 'ONNX_OP("%s", %d, %s, %s, %d, "%s")' % (
        name, least, number(most), number(outputs), first if first > OLDEST else 0, " ".join(attributes))


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../../compiler/onnx/ops/ops.c"), encoding="ascii") as source:
        read = set(re.findall(r'^    \{"(\w+)"', source.read(), re.M))
    names = sorted({s.name for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""})
    with open(os.path.join(here, "onnx_ops.def"), "w", encoding="ascii") as out:
        out.write("/* Written by tests/golden/onnx_ops.py from the schemas of the package onnx. */\n")
        for name in names:
            out.write((row(name) if name in read else 'ONNX_NOT_READ("%s")' % name) + "\n")


if __name__ == "__main__":
    main()
