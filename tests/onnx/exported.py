"""Exports the PyTorch models of models.py with both exporters of torch.onnx, and compares the imported ones with PyTorch.

    exported.py BUILD [--only WORD] [--keep FOLDER]

For each model and exporter:

  forward   the model in eval mode, exported as the exporter does by default; the outputs of a plan, run by
            BUILD/tests/onnx_run, against PyTorch in float64: within FORWARD of the largest output, or at most twice as far
            as PyTorch in float32
  training  the model in train mode, exported so that the file has PyTorch's parameters (EXPORTERS); 20 steps of AdamW with
            BUILD/firnc and BUILD/firn through a recipe; every loss within TRAINING of PyTorch's in float64, relative, or at
            most twice as far as PyTorch in float32

The optimizer is that of tests/golden/lenet_training.py: the reference's place of epsilon, weight decay for parameters with
two extents above 1 or more, gradients clipped to a norm of 1."""
import argparse
import contextlib
import functools
import io
import json
import logging
import math
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
import numpy as np
import onnx
import torch
import torch.nn.functional as F

from models import MODELS
from nodes import run_program

FORWARD, TRAINING = 1e-5, 1e-4
BATCH, RECORDS, STEPS = 8, 16, 20
LR, B1, B2, WD, CLIP = 1e-3, 0.9, 0.95, 0.01, 1.0
OPSET = 18

# How each exporter is called for a file that is evaluated, and for one that is trained. The optimizer of dynamo=True folds
# batch norms into convolutions, merges parameters that are equal at the start and separates tied ones, and constant
# folding of dynamo=False transposes weights into unnamed tensors.
EXPORTERS = {
    "script": ({"dynamo": False, "opset_version": OPSET},
               {"dynamo": False, "opset_version": OPSET, "training": torch.onnx.TrainingMode.TRAINING, "do_constant_folding": False}),
    "dynamo": ({"dynamo": True}, {"dynamo": True, "optimize": False}),
}


def make(name, seed=3):
    """A model whose parameters and statistics all differ, so that a wrong one is noticed."""
    torch.manual_seed(seed)
    model = MODELS[name].build()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += torch.randn_like(parameter) * 0.02
        for key, buffer in model.named_buffers():
            if key.endswith("running_mean"):
                buffer += torch.randn_like(buffer) * 0.1
            elif key.endswith("running_var"):
                buffer += torch.rand_like(buffer) * 0.2
    return model


def make_data(name):
    case = MODELS[name]
    generator = torch.Generator().manual_seed(3)
    shape = (RECORDS, *case.inputs)
    features = torch.randint(0, case.tokens, shape, generator=generator) if case.tokens else torch.randn(shape, generator=generator)
    if case.loss == "mean_squared_error":
        return features, torch.randn((RECORDS, *case.outputs), generator=generator)
    return features, torch.randint(0, case.outputs[-1], (RECORDS, *case.outputs[:-1]), generator=generator)


def export(model, example, path, options):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        extra = {"external_data": False} if options["dynamo"] else {}
        torch.onnx.export(model, (example,), str(path), **options, **extra)


def as_type(features, dtype):
    return features if features.dtype == torch.int64 else features.to(dtype)


# --- forward ---
def forward(build, name, exporter, folder):
    features, _ = make_data(name)
    example = features[:BATCH]
    model = make(name).eval()
    path = folder / "forward.onnx"
    export(model, example, path, EXPORTERS[exporter][0])
    read = onnx.load(path)
    status, message, outputs = run_program(str(build / "tests/onnx_run"), read, [(read.graph.input[0], example.numpy())], folder)
    if status != "ran":
        return f"{status}: {message}"
    with torch.no_grad():
        single = model(example).numpy()
        wide = model.double()(as_type(example, torch.float64)).numpy()
    scale = np.abs(wide).max()
    ours, theirs = (float(np.abs(y.astype(np.float64) - wide).max() / scale) for y in (outputs[0][1], single))
    ok = ours <= max(FORWARD, 2 * theirs)
    return None if ok else f"apart by {ours:.2e}; PyTorch in float32 by {theirs:.2e}", f"{ours:.1e} (PyTorch {theirs:.1e})"


# --- training ---
@functools.lru_cache
def torch_losses(name, dtype):
    features, labels = make_data(name)
    model = make(name).to(dtype).train()
    parameters = list(model.parameters())
    m, s = [torch.zeros_like(p) for p in parameters], [torch.zeros_like(p) for p in parameters]
    losses = []
    for step in range(STEPS):
        picks = [(step * BATCH + i) % RECORDS for i in range(BATCH)]
        y = model(as_type(features[picks], dtype))
        if MODELS[name].loss == "mean_squared_error":
            loss = F.mse_loss(y, labels[picks].to(dtype))
        else:
            loss = F.cross_entropy(y.reshape(-1, y.shape[-1]), labels[picks].reshape(-1))
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            total = torch.sqrt(sum((g ** 2).sum() for g in gradients)).item()
            factor = min(1.0, CLIP / (total + 1e-6))
            correction = math.sqrt(1 - B2 ** (step + 1)) / (1 - B1 ** (step + 1))
            for i, p in enumerate(parameters):
                g = gradients[i] * factor
                m[i].mul_(B1).add_(g, alpha=1 - B1)
                s[i].mul_(B2).addcmul_(g, g, value=1 - B2)
                p -= LR * (m[i] / (s[i].sqrt() + MODELS[name].epsilon) * correction + (WD if sum(d > 1 for d in p.shape) > 1 else 0.0) * p)
    return losses


def recipe(name, path):
    case = MODELS[name]
    model = {"onnx": str(path), "loss": case.loss, "batch_statistics": True, "constants": case.constants}
    return {"trainer": {
        "init": {"seed": 1, "model": model,
                 "optimizer": {"AdamW": {"betas": [B1, B2], "eps": case.epsilon, "weight_decay": WD, "lr": LR}},
                 "precision": {"enabled": False, "max_gradient_norm": CLIP},
                 "loop": {"num_steps": STEPS}},
        "fit": {"train_dataloader": {
            "batch_size": BATCH, "shuffle": False, "held_out_per_mille": 0, "feature_type": "int32" if case.tokens else "float32",
            "label_type": "float32" if case.loss == "mean_squared_error" else "int32"}}}}


def firn_losses(build, name, exporter, folder):
    """Returns the losses and a message, one of which is None."""
    features, labels = make_data(name)
    path = folder / "model.onnx"
    export(make(name).train(), features[:BATCH], path, EXPORTERS[exporter][1])
    (folder / "recipe.yaml").write_text(json.dumps(recipe(name, path)))
    np.save(folder / "features.npy", features.numpy().astype("<i4" if MODELS[name].tokens else "<f4"))
    np.save(folder / "labels.npy", labels.numpy().astype("<f4" if MODELS[name].loss == "mean_squared_error" else "<i4"))
    firnc, firn = str(build / "firnc"), str(build / "firn")
    log = folder / "log.jsonl"
    log.unlink(missing_ok=True)
    for command in ([firnc, "compile", str(folder / "recipe.yaml"), "--mode", "train", "--key", str(folder / "key.key.pem"), "-o", str(folder / "plan")],
                    [firn, "train", str(folder / "plan"), "--pub", str(folder / "key.pub.pem"), "--data", str(folder / "features.npy"),
                     "--labels", str(folder / "labels.npy"), "--quiet", "--log", str(log)]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return None, f"{Path(command[0]).name} {command[1]}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
    losses = [entry["loss"] for entry in map(json.loads, log.read_text().splitlines()) if "step" in entry and "loss" in entry]
    return (losses, None) if len(losses) == STEPS else (None, f"the log has {len(losses)} losses")


def training(build, name, exporter, folder):
    losses, message = firn_losses(build, name, exporter, folder)
    if losses is None:
        return message
    wide, single = torch_losses(name, torch.float64), torch_losses(name, torch.float32)
    apart = lambda x: max(abs(a - b) / abs(b) for a, b in zip(x, wide))
    ours, theirs = apart(losses), apart(single)
    ok = ours <= max(TRAINING, 2 * theirs)
    return None if ok else f"losses apart by {ours:.2e}, first by {abs(losses[0] - wide[0]) / wide[0]:.2e}; PyTorch in float32 by {theirs:.2e}", \
        f"{ours:.1e} (PyTorch {theirs:.1e})"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build", type=Path)
    options.add_argument("--only", default="")
    options.add_argument("--keep", type=Path)
    options = options.parse_args()
    torch.set_num_threads(1)
    wrong = total = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = options.keep or Path(folder)
        folder.mkdir(exist_ok=True)
        subprocess.run([str(options.build / "firnc"), "keygen", str(folder / "key")], check=True, capture_output=True)
        for name in MODELS:
            for exporter in EXPORTERS:
                for kind, run in (("forward", forward), ("training", training)):
                    label = f"{name}, {exporter}, {kind}"
                    if options.only not in label:
                        continue
                    result = run(options.build, name, exporter, folder)
                    message, figure = (result, "") if isinstance(result, str) else result
                    total += 1
                    wrong += message is not None
                    print(f"failed: {label}: {message}" if message else f"ok: {label}: {figure}", flush=True)
    print(f"onnx_models: {total - wrong} of {total}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
