"""firnc weights --onnx puts what a run has learned back into the file that came in. For each form of tests/onnx/forms:

- the new file, compiled without weights, begins with the parameters that the run ended with, bit by bit;
- its outputs, by ONNX's reference evaluator where that is installed, are those of `firn predict` within 1e-5;
- the tensors and nodes that were not trained stay as they were;
- a file in which the exporter's optimizer has merged or left out parameters is refused by their names, and nothing is written.

    write_back.py FORMS BUILD [WORD]     takes one of FIRN_TEST_EVERY forms, or those with WORD in their names
"""
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from forms import BATCH, STEPS, Firn, data, read_tensors

try:
    import onnx
    from onnx.reference import ReferenceEvaluator
except ImportError:
    onnx = None

MAY_BE_REFUSED = "has no tensor of its own for"


def has_all(label):
    """Whether the file has a tensor for each parameter. TorchScript's exporter merges new running statistics."""
    return label.endswith(".dynamo") or (label.endswith(".script") and "batch_norms" not in label)


def begun_with(firn, out, form):
    """The parameters that a run of the new file begins with."""
    x = data((BATCH, *form["inputs"]), form["tokens"])
    firn.prepare(out, x, form["tokens"], form["outputs"], form["keys"], form["callbacks"])
    firn.compile()
    firn.train(0)
    return read_tensors(firn.folder / "own.safetensors")


def predicted(firn, checkpoint):
    plan, rows = firn.folder / "predict.plan", firn.folder / "rows.npy"
    firn.call("firnc", "compile", firn.folder / "recipe.yaml", "--mode", "eval", "--key", firn.folder / "key.key.pem", "-o", plan,
              "--set", "trainer.validate.metric=none", "--set", "trainer.validate.outputs=[prediction]")
    firn.call("firn", "predict", plan, "--pub", firn.folder / "key.pub.pem", "--data", firn.folder / "x.npy", "--checkpoint",
              checkpoint, "--threads", 1, "-o", rows)
    return np.load(rows)


def compare_outputs(firn, path, out, form, checkpoint):
    """How far the reference evaluator's outputs of the new file are from the plan's, and what else has changed."""
    before, after = onnx.load(path), onnx.load(out)
    onnx.checker.check_model(after)
    apart = [type(part).__name__ for part, other in
             ((before.graph.node, after.graph.node), (before.graph.input, after.graph.input), (before.graph.output, after.graph.output),
              (before.opset_import, after.opset_import), (before.metadata_props, after.metadata_props), (before.functions, after.functions))
             if list(part) != list(other)]
    found = [f"other parts: {apart}"] if apart else []
    names = [[(t.name, t.data_type, list(t.dims)) for t in model.graph.initializer] for model in (before, after)]
    if names[0] != names[1]:
        found.append("other tensors")
    x = data((BATCH, *form["inputs"]), form["tokens"])
    feed = x.astype(np.int64) if form["tokens"] else x
    try:
        wanted = ReferenceEvaluator(after).run(None, {after.graph.input[0].name: feed})[0]
    except Exception as error:
        return found, f"the evaluator can't: {type(error).__name__}"
    got = predicted(firn, checkpoint).reshape(wanted.shape)
    distance = float(np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1e-3))
    if not distance <= 1e-5:
        found.append(f"outputs are apart by {distance:.1e}")
    return found, None


def check_form(firn, folder, label, form):
    path, out = folder / f"{label}.onnx", firn.folder / "out.onnx"
    x = data((BATCH, *form["inputs"]), form["tokens"])
    out.unlink(missing_ok=True)
    firn.prepare(path, x, form["tokens"], form["outputs"], form["keys"], form["callbacks"])
    firn.compile()
    firn.train(STEPS)
    ended = read_tensors(firn.folder / "own.safetensors")
    checkpoint = firn.folder / "trained"
    (firn.folder / "checkpoint").replace(checkpoint)
    try:
        firn.call("firnc", "weights", firn.folder / "recipe.yaml", "--trained", firn.folder / "own.safetensors", "--plan",
                  firn.folder / "plan", "--onnx", path, "-o", out)
    except RuntimeError as error:
        if MAY_BE_REFUSED not in str(error) or out.exists():
            return [str(error)], None
        return ([f"refused: {error}"] if has_all(label) else []), "refused"
    found, said = [], None
    if onnx is not None and "batch_norms" not in label: # these have other outputs in training
        found, said = compare_outputs(firn, path, out, form, checkpoint)
    begun = begun_with(firn, out, form)
    if sorted(begun) != sorted(ended):
        # a file that had one uniform tensor for several parameters no longer has it uniform, or the other way round
        found.append(f"other parameters: {sorted(set(begun) ^ set(ended))}")
    found += [f"{name} is other" for name in begun if name in ended and
              (begun[name].shape != ended[name].shape or begun[name].tobytes() != ended[name].tobytes())]
    return found, said


def main(folder, build, word=""):
    every, first = int(os.environ.get("FIRN_TEST_EVERY", 1)), int(os.environ.get("FIRN_TEST_FROM", 0))
    forms = list(json.loads((folder / "forms.json").read_text()).items())
    forms = [(label, form) for label, form in forms if "refused" not in form]
    forms = [entry for entry in forms if word in entry[0]] if word else forms[first % every::every]
    wrong = refused = evaluated = 0
    with tempfile.TemporaryDirectory() as work:
        firn = Firn(build, work)
        for label, form in forms:
            try:
                found, said = check_form(firn, folder, label, form)
            except RuntimeError as error:
                found, said = [str(error)], None
            wrong += bool(found)
            refused += said == "refused"
            evaluated += onnx is not None and said is None
            for text in found:
                print(f"failed: {label}: {text}", flush=True)
    print(f"written back: {len(forms) - wrong - refused} of {len(forms)}, {refused} refused, {evaluated} evaluated")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
