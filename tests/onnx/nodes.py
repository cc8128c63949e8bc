"""Runs ONNX's own node tests (onnx.backend.test, inside the onnx package) through the importer and the runtime.

    nodes.py PROGRAM [--write] [--only WORD] [--verbose]

PROGRAM is build/tests/onnx_run (run.c). A case counts if every operator of its model is in LISTED. Its model is given to
PROGRAM as ONNX made it, but that inputs which shape things (SHAPING) become initializers. What PROGRAM returns is compared
with the tolerances that ONNX's own runner uses. Every case ends as passed, refused (the importer's message, exit status 1),
not carried (the case has data that no plan can be given, found here) or failed.

compiler/onnx/NODES.md lists every case that does not pass, with its reason; --write makes it, otherwise this script checks
that it is true: with the version of onnx that it names, line by line; with another, only that LEAST cases pass."""
import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
import numpy as np
import onnx
from onnx import helper, numpy_helper

LEAST = 600
NEWEST = 23  # the newest opset that the importer reads
DOCUMENT = Path("compiler/onnx/NODES.md")
LISTED = set("""
    MatMul Gemm Einsum Conv ConvTranspose MaxPool AveragePool GlobalAveragePool BatchNormalization LayerNormalization
    RMSNormalization GroupNormalization InstanceNormalization Softmax LogSoftmax Relu LeakyRelu PRelu Elu Gelu Erf Sigmoid
    HardSigmoid HardSwish Tanh Softplus Clip Exp Log Sqrt Reciprocal Pow Add Sub Mul Div Neg Abs Min Max Where Equal Less
    LessOrEqual Greater GreaterOrEqual ReduceSum ReduceMean ReduceMax ReduceMin ReduceL2 ArgMax Reshape Flatten Transpose
    Squeeze Unsqueeze Concat Split Slice Pad Expand Tile Gather GatherElements ScatterND Cast Identity Dropout Constant
    ConstantOfShape Shape Range Trilu OneHot CumSum Resize LSTM GRU RNN Attention Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh
    Celu Round Shrink IsInf IsNaN Mod LRN GlobalMaxPool Selu Sign Ceil Floor Not And Or Xor Sum Mean TopK QuantizeLinear
    DequantizeLinear GridSample MaxUnpool Col2Im DFT STFT ReduceProd""".split())

# Operators that are only computed from what is known when the plan is made: all of their inputs are given as initializers.
KNOWN = set("""
    BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Compress EyeLike HammingWindow HannWindow NonZero
    ReverseSequence Unique""".split())
LISTED |= KNOWN | {"GatherND", "ScatterElements", "SequenceConstruct", "ConcatFromSequence", "SequenceAt", "SplitToSequence", "And", "Or", "Xor",
                   "Not", "Floor", "Ceil", "Size"}

# The inputs that decide shapes, loops or the kind of computation, by operator. In exported models they are constants.
SHAPING = {
    "Reshape": [1], "Expand": [1], "Tile": [1], "Pad": [1, 2, 3], "Slice": [1, 2, 3, 4], "Unsqueeze": [1], "Squeeze": [1],
    "Split": [1], "ReduceSum": [1], "ReduceMean": [1], "ReduceMax": [1], "ReduceMin": [1], "ReduceL2": [1], "CumSum": [1],
    "OneHot": [1, 2], "ConstantOfShape": [0], "Range": [0, 1, 2], "Resize": [1, 2, 3], "Trilu": [1], "Clip": [1, 2],
    "Dropout": [1, 2], "BatchNormalization": [3, 4], "LSTM": [4], "GRU": [4], "RNN": [4], "Attention": [6],
    "ReduceProd": [1], "TopK": [1], "QuantizeLinear": [1, 2], "DequantizeLinear": [1, 2], "MaxUnpool": [2], "Col2Im": [1, 2], "DFT": [1, 2], "STFT": [1, 3]}

EXACT = 2 ** 24  # the whole numbers up to here are exact in float32, which carries the data of a case
UNCARRIED = "(not carried) "  # begins the reasons that are found here and not by the importer


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from nodes_of(attribute.g)


def operators(model):
    return {("" if n.domain in ("", "ai.onnx") else n.domain + ".") + n.op_type for n in nodes_of(model.graph)}


def shaping_inputs(graph):
    """The graph's inputs from which a shaping input of any node is computed; the shape of a tensor is known without it."""
    producers = {name: node for node in graph.node for name in node.output}
    wanted = [name for node in graph.node for i in SHAPING.get(node.op_type, []) if i < len(node.input)
              for name in [node.input[i]]]
    seen = set()
    while wanted:
        name = wanted.pop()
        if name == "" or name in seen:
            continue
        seen.add(name)
        node = producers.get(name)
        if node is not None and node.op_type not in ("Shape", "Size"):
            wanted += node.input
    return seen & {i.name for i in graph.input}


class NotCarried(Exception):
    pass


def plain(array):
    """The array as float32 numbers that are exactly those of the case, but for double, whose cases run in float32."""
    array = np.asarray(array)
    if array.dtype == object or array.dtype.kind in "USO":
        raise NotCarried("strings")
    if array.dtype.kind == "c":
        raise NotCarried("complex numbers")
    if array.dtype.kind in "iu" and array.size and max(abs(int(array.max())), abs(int(array.min()))) > EXACT:
        raise NotCarried("whole numbers above 2^24")
    with np.errstate(all="ignore"):
        return array.astype(np.float32)


def is_random(model, arrays):
    """Whether a dropout drops elements: ONNX does not say which."""
    given = dict(zip((i.name for i in model.graph.input), arrays))
    for node in model.graph.node:
        if node.op_type == "Dropout" and len(node.input) > 2 and given.get(node.input[2]) and given.get(node.input[1], 0.5) != 0:
            return True
    return False


def freeze_inputs(model, arrays):
    """Makes initializers of the inputs that shape things and of those without elements, and of all inputs if the model has an
    operator of KNOWN; these get a slash in front, so that none is taken for a parameter. Returns the others."""
    frozen = shaping_inputs(model.graph)
    if operators(model) & KNOWN:
        frozen = {i.name for i in model.graph.input}
        for node in model.graph.node:
            node.input[:] = ["/" + name if name in frozen else name for name in node.input]
        for value in model.graph.input:
            value.name = "/" + value.name
        frozen = {"/" + name for name in frozen}
    carried = []
    for value, array in zip(list(model.graph.input), arrays):
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            raise NotCarried("a sequence or an optional as input")
        if array is None:
            raise NotCarried("an input that is absent")
        if value.name in frozen or np.asarray(array).size == 0:
            model.graph.input.remove(value)
            tensor = numpy_helper.from_array(np.asarray(array), value.name)
            tensor.data_type = value.type.tensor_type.elem_type
            model.graph.initializer.append(tensor)
        else:
            carried.append((value, np.asarray(array)))
    return carried


def lowered(model):
    """Gives a model of an opset above NEWEST that opset, if it says the same there: every operator has the inputs and
    attributes that the node uses in the older version, too. Between these versions operators got new types and options."""
    for opset in model.opset_import:
        if opset.domain not in ("", "ai.onnx") or opset.version <= NEWEST:
            continue
        for node in nodes_of(model.graph):
            try:
                schema = onnx.defs.get_schema(node.op_type, NEWEST, "")
            except onnx.defs.SchemaError:
                return
            if len(node.input) > schema.max_input or len(node.output) > schema.max_output:
                return
            if not {a.name for a in node.attribute} <= set(schema.attributes):
                return
        opset.version = NEWEST


def run_program(program, model, carried, folder, parameters=()):
    """Returns (status, message, outputs). carried: pairs of a graph input and its array. outputs: pairs of ONNX's type and
    an array; with parameters their new values, all in one array."""
    path = Path(folder)
    for value, array in carried:
        shape = value.type.tensor_type.shape
        del shape.dim[:]
        for extent in array.shape:
            shape.dim.add().dim_value = extent
    (path / "model.onnx").write_bytes(model.SerializeToString())
    (path / "inputs.raw").write_bytes(b"".join(plain(array).tobytes() for _, array in carried))
    try:
        done = subprocess.run([program, str(path), *parameters], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "failed", "stopped after 120 s", []
    message = (done.stderr.strip().splitlines() or [""])[-1]
    if done.returncode == 1:
        return "refused", message or "no message", []
    if done.returncode != 0:
        return "failed", f"exit {done.returncode}: {message}", []
    raw = np.frombuffer((path / "outputs.raw").read_bytes(), np.float32)
    if parameters:
        return "ran", "", raw
    outputs, at = [], 0
    for line in (path / "outputs.txt").read_text().splitlines():
        element, rank, *dims = (int(word) for word in line.split())
        count = int(np.prod(dims)) if dims else 1
        outputs.append((element, raw[at:at + count].reshape(dims)))
        at += count
    return "ran", "", outputs


def difference(case, expected, outputs):
    """None if the outputs are those that the case expects, else what is wrong."""
    if len(outputs) != len(expected):
        return f"{len(outputs)} outputs, not {len(expected)}"
    for i, ((element, got), want) in enumerate(zip(outputs, expected)):
        want = np.asarray(want)
        if got.shape != want.shape:
            return f"output {i} is {list(got.shape)}, not {list(want.shape)}"
        if element != helper.np_dtype_to_tensor_dtype(want.dtype):
            return f"output {i} is of type {element}, not {want.dtype}"
        rtol, atol, want_type = case.rtol, case.atol, want.dtype.name
        if want.dtype.kind in "iub":
            rtol = atol = 0
        elif want_type == "bfloat16":
            rtol = max(rtol, 2 ** -6)
        if operators(case.model) & {"DFT", "STFT"}:  # sums of many terms, of which some are to be 0
            atol = max(atol, 1e-6 * np.abs(want).max())
        want = plain(want) if want.dtype.kind in "iub" else want.astype(np.float64)
        if want_type == "float16" and "Cast" not in operators(case.model):
            with np.errstate(all="ignore"):
                got = got.astype(np.float16)  # a plan's outputs are float32
        if not np.allclose(got.astype(np.float64), want, rtol=rtol, atol=atol, equal_nan=True):
            with np.errstate(all="ignore"):
                apart = np.nanmax(np.abs(got.astype(np.float64) - want))
            return f"output {i} is apart by {apart:.3g}"
    return None


def unpacked(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def run_case(program, case):
    for inputs, expected in case.data_sets:
        inputs, expected = [unpacked(v) for v in inputs], [unpacked(v) for v in expected]
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        try:
            if any(isinstance(e, (list, tuple)) or e is None for e in expected):
                raise NotCarried("a sequence or an optional as output")
            if any(np.asarray(e).size == 0 for e in expected):
                raise NotCarried("an output without elements")
            for e in expected:
                plain(e)
            if is_random(model, inputs):
                raise NotCarried("random numbers of ONNX's own, in a test of training")
            with tempfile.TemporaryDirectory() as folder:
                carried = freeze_inputs(model, inputs)
                lowered(model)
                status, message, outputs = run_program(program, model, carried, folder)
        except NotCarried as error:
            return "refused", UNCARRIED + str(error)
        if status != "ran":
            return status, message
        wrong = difference(case, expected, outputs)
        if wrong:
            return "failed", wrong
    return "passed", ""


def reason_of(message):
    """The importer's line without what differs from case to case: the file, the node and its name."""
    message = re.sub(r"^firnc: ", "", message)
    message = re.sub(r"\S*model\.onnx:? ?", "", message)
    return message.strip()


def family(case):
    found = sorted(operators(case.model))
    return found[0] if len(found) == 1 else "function of several operators"


def document(results, cases):
    """The text of NODES.md."""
    counts = collections.Counter(status for status, _ in results.values())
    lines = [
        "# ONNX's node tests", "",
        "<!-- Written by tests/onnx/nodes.py --write; tests/end_to_end/onnx_nodes.sh checks that it is true. -->", "",
        f"The package onnx {onnx.__version__} brings {len(cases[0])} tests of single operators. {len(results)} of them use only operators "
        f"that Firn reads. Of these {counts['passed']} pass, {counts['refused']} are refused when the plan is made, and "
        f"{counts['failed']} fail.", "",
        "A test gives every input of an operator as data. Those that decide a shape (axes, shapes, pads, repeats, sizes, the "
        "limits of Clip, the statistics of a batch norm, lengths of sequences) are given as initializers here, as exporters write them. "
        "So are all inputs of operators that Firn computes from constants only: "
        f"{', '.join(sorted(KNOWN))}. "
        f"A model of an opset above {NEWEST} that says the same in opset {NEWEST} is given as one of that. "
        "Integers and truth values are carried as float32, so that they are exact up to 2^24; doubles are computed in float32. "
        "The tolerances are ONNX's own.", "",
        "| Operator | Tests | Passed |", "| --- | ---: | ---: |"]
    by_family = collections.defaultdict(list)
    for case in cases[1]:
        by_family[family(case)].append(case.name)
    for name in sorted(by_family):
        lines.append(f"| {name} | {len(by_family[name])} | {sum(results[n][0] == 'passed' for n in by_family[name])} |")
    for status, title in (("refused", "Refused"), ("failed", "Failed")):
        reasons = collections.defaultdict(list)
        for name, (found, message) in results.items():
            if found == status:
                reasons[reason_of(message)].append(name)
        if reasons:
            lines += ["", f"## {title}", "", "| Reason | Tests |", "| --- | --- |"]
        for reason in sorted(reasons):
            names = ", ".join(sorted(n.removeprefix("test_") for n in reasons[reason]))
            lines.append(f"| {reason.replace('|', chr(92) + '|')} | {names} |")
    return "\n".join(lines) + "\n"


def load():
    from onnx.backend.test.loader import load_model_tests
    with np.errstate(all="ignore"):
        every = load_model_tests(kind="node")
    return every, sorted((c for c in every if operators(c.model) <= LISTED), key=lambda c: c.name)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("--write", action="store_true")
    options.add_argument("--only", default="")
    options.add_argument("--verbose", action="store_true")
    options = options.parse_args()
    cases = load()
    chosen = [c for c in cases[1] if options.only in c.name]
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        results = dict(zip((c.name for c in chosen), pool.map(lambda c: run_case(options.program, c), chosen)))
    counts = collections.Counter(status for status, _ in results.values())
    if options.verbose or options.only:
        for name, (status, message) in results.items():
            if status != "passed" or options.only:
                print(f"{status}: {name}: {message}")
    print(f"onnx_nodes: {counts['passed']} of {len(results)} passed, {counts['refused']} refused, {counts['failed']} failed")
    if options.only:
        return counts["failed"] > 0
    if options.write:
        DOCUMENT.write_text(document(results, cases))
        return False
    status = 0
    if counts["passed"] < LEAST:
        print(f"failed: fewer than {LEAST} cases pass")
        status = 1
    text = DOCUMENT.read_text() if DOCUMENT.exists() else ""
    if f"The package onnx {onnx.__version__} brings" not in text:
        print(f"{DOCUMENT} is not about onnx {onnx.__version__}: only the number of cases is checked")
    elif text != document(results, cases):
        print(f"failed: {DOCUMENT} is not true; tests/onnx/nodes.py {options.program} --write makes it anew")
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
