"""Runs the rows that gradients.py has kept: models of one ONNX operator, with the gradients and outputs that PyTorch computed
in float64. It needs neither PyTorch nor onnx.

    kept_rows.py PROGRAM [--only WORD]

PROGRAM is build/tests/onnx_run (run.c). kept_rows.npz has three arrays for each row: the model's file, the numbers of all
its parameters before the step, and their gradients, each with the extents of the parameters in front."""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

RATE = 1024.0  # as in run.c
BOUND = 2e-5  # of the largest gradient of a parameter, or of 1 if that is larger
FILE = Path(__file__).with_suffix(".npz")
TABLE = Path("tests/golden/onnx_ops.def")

# Operators that need no row: control flow and sequences leave only the operators of their parts, which tests/unit/test_onnx.c
# compares.
WITHOUT_ROW = set("""If Loop SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength
    ConcatFromSequence SplitToSequence""".split())


def run(program, model, parameters, before, wanted):
    """Trains the model for one step. Returns None, or what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "model.onnx").write_bytes(model)
        (path / "inputs.raw").write_bytes(np.ones(1, np.float32).tobytes())
        done = subprocess.run([program, folder, *parameters], capture_output=True, text=True, timeout=120)
        message = (done.stderr.strip().splitlines() or ["no message"])[-1]
        if done.returncode != 0:
            return f"{'refused' if done.returncode == 1 else 'failed'}: {message}"
        after = np.fromfile(path / "outputs.raw", np.float32)
    at = 0
    for name, value, want in zip(parameters, before, wanted):
        got = (value.astype(np.float64) - after[at:at + value.size]) / RATE
        at += value.size
        apart = np.abs(got - want).max() / max(1.0, np.abs(want).max())
        if not apart <= BOUND:
            return f"the gradient of {name} is apart by {apart:.2e}"
    return None


def write(rows):
    arrays = {}
    for name, (model, parameters, before, wanted) in rows.items():
        sizes = [v.size for v in before]
        arrays[f"{name}|model"] = np.frombuffer(model, np.uint8)
        arrays[f"{name}|parameters"] = np.array(parameters)
        arrays[f"{name}|sizes"] = np.array(sizes, np.int32)
        arrays[f"{name}|before"] = np.concatenate(before)
        arrays[f"{name}|wanted"] = np.concatenate(wanted).astype(np.float32)
    np.savez_compressed(FILE, **arrays)


def operators_without_row(models):
    """Returns the operators that the importer reads, that no model uses and that WITHOUT_ROW does not name."""
    read = re.findall(r'^ONNX_OP\("(\w+)"', TABLE.read_text(), re.MULTILINE)
    field = lambda name: b"\x22" + bytes([len(name)]) + name.encode()  # op_type of a NodeProto
    return [name for name in read if name not in WITHOUT_ROW and not any(field(name) in model for model in models)]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("--only", default="")
    options = options.parse_args()
    arrays = np.load(FILE)
    names = [key[:-len("|model")] for key in arrays if key.endswith("|model") and options.only in key]
    wrong = 0
    for name in names:
        model, parameters, sizes, before, wanted = (arrays[f"{name}|{part}"]
                                                    for part in ("model", "parameters", "sizes", "before", "wanted"))
        ends = np.cumsum(sizes)[:-1]
        message = run(options.program, model.tobytes(), list(parameters), np.split(before, ends), np.split(wanted, ends))
        if message:
            wrong += 1
            print(f"failed: {name}: {message}")
    print(f"kept_rows: {len(names) - wrong} of {len(names)} operators have the gradients that are kept, within {BOUND}")
    if options.only == "":
        for operator in operators_without_row([arrays[f"{name}|model"].tobytes() for name in names]):
            wrong += 1
            print(f"failed: no row has the operator {operator}: write one in tests/onnx/gradients.py")
    return wrong > 0 or len(names) == 0


if __name__ == "__main__":
    sys.exit(main())
