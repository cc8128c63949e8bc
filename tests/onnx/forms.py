"""Small PyTorch modules, one for each form in which an exporter writes a parameter, and their round trips.

    forms.py export FOLDER [NAME]   exports each form in each way, and writes the files of tests/onnx/forms (needs torch)
    forms.py check FOLDER BUILD     compares what firnc and firn make of these files with the module's state_dict
    forms.py torch BUILD [WORD]     exports every form and every model of models.py anew, and loads what firnc weights
                                    writes with load_state_dict(strict=True) (needs torch)

FOLDER/forms.json has for each file NAME.WAY.onnx the shape of its data, the losses of five steps of SGD that PyTorch
has, and the words of a warning or a refusal if firnc must print one; FOLDER/STATE.start.safetensors is the module's state_dict, and
FOLDER/STATE.end.safetensors that after the five steps. The data follows from a formula (data). Only what a loader reads
is kept of the notes of the exporters."""
import contextlib
import copy
import io
import json
import logging
import os
import struct
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

BATCH, STEPS, RATE = 4, 5, 0.125
MODEL_RATE = 0.125 / 32 # of the models of models.py

# How a file is exported. The last two are what the exporters do if nobody says otherwise.
WAYS = {
    "script": {"dynamo": False, "do_constant_folding": False},
    "dynamo": {"dynamo": True, "optimize": False},
    "folded": {"dynamo": False, "do_constant_folding": True},
    "optimized": {"dynamo": True, "optimize": True},
}


# --- what both sides know ---
def data(shape, tokens):
    """Data and targets: numbers that float32 has exactly."""
    count = int(np.prod(shape))
    if tokens:
        return (np.arange(count) * 7 % 11 % tokens).astype("<i4").reshape(shape)
    return ((np.arange(count) * 37 % 23 - 11) / 8).astype("<f4").reshape(shape)


def targets(shape):
    return ((np.arange(int(np.prod(shape))) * 29 % 17 - 8) / 8).astype("<f4").reshape(shape)


def read_tensors(path):
    raw = Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__", None)
    types = {"F32": "<f4", "I64": "<i8"}
    return {name: np.frombuffer(raw[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]], types[t["dtype"]])
            .reshape(t["shape"]) for name, t in header.items()}


def write_tensors(path, tensors):
    header, content = {}, b""
    for name, values in sorted(tensors.items()):
        whole = values.dtype.kind in "iub"
        raw = values.astype("<i8" if whole else "<f4").tobytes()
        header[name] = {"dtype": "I64" if whole else "F32", "shape": list(values.shape),
                        "data_offsets": [len(content), len(content) + len(raw)]}
        content += raw
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + content)


def recipe(model, tokens, keys, callbacks, rate=RATE):
    return {"trainer": {
        "init": {"seed": 1, "model": {"onnx": str(model), "loss": "mean_squared_error", "batch_statistics": True, **keys},
                 "optimizer": {"SGD": {"lr": rate, "momentum": 0}}, "precision": {"enabled": False},
                 "loop": {"num_steps": STEPS}, "callbacks": callbacks},
        "fit": {"train_dataloader": {"batch_size": BATCH, "shuffle": False, "held_out_per_mille": 0, "label_type": "float32",
                                     "feature_type": "int32" if tokens else "float32"}}}}


class Firn:
    """Compiles and trains one file, and takes the weights back."""
    def __init__(self, build, folder):
        self.build, self.folder = Path(build), Path(folder)
        self.call("firnc", "keygen", self.folder / "key")

    def call(self, program, *words):
        done = subprocess.run([str(self.build / program), *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{program} {words[0]}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        return done.stderr + done.stdout

    def prepare(self, model, x, tokens, outputs, keys, callbacks, rate=RATE):
        (self.folder / "recipe.yaml").write_text(json.dumps(recipe(Path(model).resolve(), tokens, keys, callbacks, rate)))
        np.save(self.folder / "x.npy", x)
        np.save(self.folder / "y.npy", targets((BATCH, *outputs)))

    def compile(self, *options):
        return self.call("firnc", "compile", self.folder / "recipe.yaml", "--mode", "train", "--key", self.folder / "key.key.pem",
                         "-o", self.folder / "plan", *options)

    def train(self, steps):
        """Returns the losses of so many steps and the tensors that firnc weights writes after them."""
        for name in ("log", "checkpoint"):
            (self.folder / name).unlink(missing_ok=True)
        self.call("firn", "train", self.folder / "plan", "--pub", self.folder / "key.pub.pem", "--data", self.folder / "x.npy",
                  "--labels", self.folder / "y.npy", "--quiet", "--steps", steps, "--log", self.folder / "log", "--checkpoint",
                  self.folder / "checkpoint", "--threads", 1)
        self.call("firn", "export", self.folder / "checkpoint", "-o", self.folder / "own.safetensors")
        self.call("firnc", "weights", self.folder / "recipe.yaml", "--trained", self.folder / "own.safetensors", "--plan",
                  self.folder / "plan", "-o", self.folder / "back.safetensors")
        losses = [e["loss"] for e in map(json.loads, (self.folder / "log").read_text().splitlines()) if "step" in e and "loss" in e]
        return losses, read_tensors(self.folder / "back.safetensors")


def without_counters(tensors):
    """Batch norms count their steps; firnc does not, and load_state_dict does without."""
    return {k: v for k, v in tensors.items() if not k.endswith("num_batches_tracked")}


def differences(got, wanted, exact):
    wanted = without_counters(wanted)
    if set(got) != set(wanted):
        return [f"lacks {sorted(set(wanted) - set(got))}, has also {sorted(set(got) - set(wanted))}"]
    found = []
    for name in sorted(wanted):
        if got[name].shape != wanted[name].shape:
            found.append(f"{name} is {list(got[name].shape)} and not {list(wanted[name].shape)}")
        elif exact and got[name].tobytes() != wanted[name].astype(got[name].dtype).tobytes():
            found.append(f"{name} has other bits")
        elif not np.allclose(got[name], wanted[name], rtol=1e-5, atol=2e-6):
            found.append(f"{name} is apart by {np.abs(got[name] - wanted[name]).max():.2g}")
    return found


def losses_apart(ours, theirs):
    return max(abs(a - b) / max(abs(b), 1e-12) for a, b in zip(ours, theirs)) if len(ours) == len(theirs) else float("inf")


# --- check ---
def check_file(firn, folder, label, form):
    start, end = (folder / f"{form['state']}.{when}.safetensors" for when in ("start", "end"))
    x = data((BATCH, *form["inputs"]), form["tokens"])
    firn.prepare(folder / f"{label}.onnx", x, form["tokens"], form["outputs"], form["keys"], form["callbacks"])
    if "refused" in form:
        try:
            firn.compile()
        except RuntimeError as error:
            return [] if form["refused"] in str(error) else [f"wanted the message {form['refused']!r}, found {error}"]
        return ["is not refused"]
    said = [line for line in firn.compile().splitlines() if "warning" in line]
    warned = form.get("warning")
    if (warned is None) != (not said) or (warned is not None and warned not in " ".join(said)):
        return [f"wanted the warning {warned!r}, found {said}"]
    losses, ended = firn.train(STEPS)
    found = []
    if form.get("trains", True) and losses_apart(losses, form["losses"]) > 1e-5:
        found.append(f"losses {losses} and not {form['losses']}")
    if not form.get("returns", True):
        return found
    found += [f"after {STEPS} steps {text}" for text in differences(ended, read_tensors(end), False)]
    _, begun = firn.train(0)
    found += [f"after no step {text}" for text in differences(begun, read_tensors(start), True)]
    plan = (firn.folder / "plan").read_bytes()
    firn.compile("--weights", start)
    if not form["callbacks"] and (firn.folder / "plan").read_bytes() != plan:
        found.append("--weights with the state_dict gives another plan")
    return found


def check(folder, build):
    """Takes one of FIRN_TEST_EVERY forms, as takes_next of the scripts."""
    every, first = int(os.environ.get("FIRN_TEST_EVERY", 1)), int(os.environ.get("FIRN_TEST_FROM", 0))
    forms = dict(list(json.loads((folder / "forms.json").read_text()).items())[first::every])
    wrong = 0
    with tempfile.TemporaryDirectory() as work:
        firn = Firn(build, work)
        for label, form in forms.items():
            try:
                found = check_file(firn, folder, label, form)
            except RuntimeError as error:
                found = [str(error)]
            wrong += bool(found)
            for text in found:
                print(f"failed: {label}: {text}", flush=True)
    print(f"forms: {len(forms) - wrong} of {len(forms)}")
    return wrong > 0


# --- what needs torch ---
def torch_forms():
    """Name -> (module, shape of a sample, tokens or 0, keys of the recipe's model, callbacks)."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Net(nn.Module):
        def __init__(self, run, **parts):
            super().__init__()
            for name, part in parts.items():
                if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                    self.register_buffer(name, part)
                else:
                    setattr(self, name, part)
            self.run = run

        def forward(self, x):
            return self.run(self, x)

    def parameter(*shape):
        return nn.Parameter(torch.randn(*shape) * 0.5)

    def pair(bias=True):
        return nn.Sequential(nn.Linear(3, 3, bias=bias), nn.Tanh(), nn.Linear(3, 2, bias=bias))

    def tied(*shape):
        net = Net(lambda s, x: s.out(torch.tanh(s.emb(x))), emb=nn.Embedding(5, 3), out=nn.Linear(3, 5, bias=False))
        net.out.weight = net.emb.weight
        return net

    def tied_layers():
        net = Net(lambda s, x: s.b(torch.tanh(s.a(x))), a=nn.Linear(3, 3), b=nn.Linear(3, 3))
        net.b.weight = net.a.weight
        return net

    def zeros(net):
        for name, value in net.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(value)
        return net

    def frozen():
        net = pair()
        net[0].requires_grad_(False)
        return net

    def mask():
        return torch.where(torch.ones(3, 3, dtype=torch.bool).tril(), 0.0, -4.0)

    def recurrent(kind, *sizes, **options):
        return Net(lambda s, x: s.r(x)[0], r=kind(*sizes, batch_first=True, **options))

    def tied_bias():
        inner = nn.Linear(3, 3)
        net = Net(lambda s, x: torch.tanh(s.head(x)), head=Net(lambda s, x: s.decoder(x), decoder=inner, bias=inner.bias))
        return net

    def heads():
        return Net(lambda s, x: torch.cat([h(torch.tanh(s.b(x))) for h in s.heads.values()], -1), b=nn.Linear(3, 3),
                   heads=nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 2)}))

    def block():
        return Net(lambda s, x: x + s.m.b(torch.tanh(s.m.a(s.n(x)))), n=nn.LayerNorm(3), m=nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)}))

    def blocks(net, x):
        x = net.t.e(x)
        for part in net.t.h:
            x = part(x)
        return net.o(net.t.n(x))

    def in_two():
        part = nn.Linear(3, 3)
        return nn.Sequential(nn.Sequential(part, nn.Tanh()), nn.Sequential(nn.Tanh(), part))

    def equal():
        net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
        net[2].load_state_dict(net[0].state_dict())
        return net

    def equal_table():
        net = Net(lambda s, x: s.o(torch.tanh(s.e(x))), e=nn.Embedding(5, 3), o=nn.Linear(3, 5))
        net.o.weight.data.copy_(net.e.weight.data)
        return net

    turned = Net(lambda s, x: F.linear(torch.tanh(s.a(x)), s.a.weight.t(), s.c), a=nn.Linear(3, 2), c=parameter(3))
    padded = {"padding_rows": {"0.weight": 0}}
    freeze = [{"FreezeParameters": {"params": ["0.*"]}}]
    return {
        "linear1": (Net(lambda s, x: x + s.b(torch.tanh(s.a(s.v))), a=nn.Linear(2, 2), b=nn.Linear(2, 3), v=parameter(2)), (3,), 0, {}, []),
        "linear2": (pair(), (3,), 0, {}, []),
        "linear3": (pair(), (2, 3), 0, {}, []),
        "linear4": (pair(), (2, 2, 3), 0, {}, []),
        "no_bias2": (pair(False), (3,), 0, {}, []),
        "no_bias3": (pair(False), (2, 3), 0, {}, []),
        "zero_bias2": (zeros(pair()), (3,), 0, {}, []),
        "zero_bias3": (zeros(pair()), (2, 3), 0, {}, []),
        "tied": (tied(), (4,), 5, {}, []),
        "tied_layers2": (tied_layers(), (3,), 0, {}, []),
        "tied_layers3": (tied_layers(), (2, 3), 0, {}, []),
        "tied_turned2": (turned, (3,), 0, {}, []),
        "tied_turned3": (turned, (2, 3), 0, {}, []),
        "shared2": (Net(lambda s, x: s.a(torch.tanh(s.a(x))), a=nn.Linear(3, 3)), (3,), 0, {}, []),
        "shared3": (Net(lambda s, x: s.a(torch.tanh(s.a(x))), a=zeros(nn.Linear(3, 3))), (2, 3), 0, {}, []),
        "turned_twice": (Net(lambda s, x: F.linear(torch.tanh(x @ s.w.t().contiguous().t()), s.w.t()), w=parameter(3, 3)), (2, 3), 0, {}, []),
        "products": (Net(lambda s, x: torch.tanh(x @ s.w) @ s.u.t(), w=parameter(3, 3), u=parameter(2, 3)), (2, 3), 0, {}, []),
        "gemm": (Net(lambda s, x: torch.addmm(s.c, torch.tanh(torch.addmm(s.b, x, s.w)), s.u.t()), w=parameter(3, 3), b=parameter(3),
                     u=parameter(2, 3), c=parameter(2)), (3,), 0, {}, []),
        "einsum": (Net(lambda s, x: torch.einsum("bti,oi->bto", torch.tanh(torch.einsum("bti,io->bto", x, s.w)), s.u), w=parameter(3, 3),
                       u=parameter(2, 3)), (2, 3), 0, {}, []),
        "left": (Net(lambda s, x: s.w @ x, w=parameter(2, 2)), (2, 3), 0, {}, []),
        "conv": (nn.Sequential(nn.Conv2d(2, 2, 3), nn.Tanh(), nn.Conv2d(2, 4, 1, groups=2, bias=False)), (2, 4, 4), 0, {}, []),
        "conv1": (nn.Sequential(nn.Conv1d(2, 3, 3), nn.Tanh(), nn.ConvTranspose1d(3, 2, 2, 2)), (2, 5), 0, {}, []),
        "conv3": (nn.Sequential(nn.Conv3d(1, 2, 2, bias=False), nn.Tanh(), nn.Conv3d(2, 3, (1, 2, 1), groups=1)), (1, 2, 3, 2), 0, {}, []),
        "conv_transposed": (nn.Sequential(nn.ConvTranspose2d(2, 3, 2, 2), nn.Tanh(), nn.ConvTranspose2d(3, 2, 2)), (2, 2, 2), 0, {}, []),
        "norms": (nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Unflatten(1, (2, 2)), nn.GroupNorm(1, 2), nn.PReLU(2), nn.PReLU()), (3,), 0, {}, []),
        "batch_norms": (nn.Sequential(nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2), nn.ReLU(), nn.BatchNorm2d(2, affine=False)), (1, 3, 3), 0, {}, []),
        "lstm": (recurrent(nn.LSTM, 2, 2, num_layers=2), (3, 2), 0, {}, []),
        "gru": (recurrent(nn.GRU, 2, 2, bidirectional=True), (3, 2), 0, {}, []),
        "rnn": (recurrent(nn.RNN, 2, 3), (3, 2), 0, {}, []),
        "attention": (Net(lambda s, x: s.a(x, x, x, need_weights=False)[0], a=nn.MultiheadAttention(4, 2, batch_first=True)), (3, 4), 0, {}, []),
        "attention_apart": (Net(lambda s, x: s.a(x, x[..., :3], x[..., :2], need_weights=False)[0],
                                a=nn.MultiheadAttention(4, 2, kdim=3, vdim=2, batch_first=True)), (3, 4), 0, {}, []),
        "numbers": (Net(lambda s, x: s.a(x) * s.g + s.h, a=nn.Linear(3, 2), g=nn.Parameter(torch.tensor(0.7)), h=parameter(1)), (3,), 0, {}, []),
        "laid_anew": (Net(lambda s, x: s.a(x) * s.g.view(1, -1, 1) * s.h.unsqueeze(-1), a=nn.Conv1d(2, 2, 1), g=parameter(2), h=parameter(2)), (2, 3), 0, {}, []),
        "parts": (Net(lambda s, x: F.linear(x, s.w.chunk(2, 0)[1]) + F.linear(x, s.w.chunk(2, 0)[0]), w=parameter(4, 3)), (2, 3), 0, {}, []),
        "table": (Net(lambda s, x: s.a(x + s.pe[:2]), a=nn.Linear(3, 3), pe=torch.randn(4, 3)), (2, 3), 0, {"constants": ["pe"]}, []),
        "indexed": (Net(lambda s, x: s.o(torch.tanh(s.t[x] + s.e.weight[x])), t=parameter(5, 5), e=nn.Embedding(5, 5), o=nn.Linear(5, 2)), (3,), 5, {}, []),
        "indexed3": (Net(lambda s, x: s.o(torch.tanh(s.t[x]).flatten(2)), t=parameter(5, 2, 2), o=nn.Linear(4, 2)), (3,), 5, {}, []),
        "indexed_columns": (Net(lambda s, x: s.o(torch.tanh(s.t[:, x]).permute(1, 2, 0)), t=parameter(5, 5), o=nn.Linear(5, 2)), (3,), 5, {}, []),
        "heads2": (heads(), (3,), 0, {}, []),
        "heads3": (heads(), (2, 3), 0, {}, []),
        "dictionaries": (Net(lambda s, x: s.b["fc"](torch.tanh(s.a["fc"](x))), a=nn.ModuleDict({"fc": nn.Linear(3, 3)}), b=nn.ModuleDict({"fc": nn.Linear(3, 3)})),
                         (2, 3), 0, {}, []),
        "boxed": (Net(lambda s, x: s.box.fc(s.box.ln(x)), box=Net(None, fc=nn.Linear(3, 3), ln=zeros(nn.LayerNorm(3)))), (2, 3), 0, {}, []),
        "blocks": (Net(blocks, t=nn.ModuleDict({"e": nn.Embedding(5, 3), "h": nn.ModuleList([block(), block()]), "n": nn.LayerNorm(3)}), o=nn.Linear(3, 5)),
                   (3,), 5, {}, []),
        "in_two2": (in_two(), (3,), 0, {}, []),
        "in_two3": (in_two(), (2, 3), 0, {}, []),
        "equal2": (equal(), (3,), 0, {}, []),
        "equal3": (equal(), (2, 3), 0, {}, []),
        "equal_table": (equal_table(), (4,), 5, {}, []),
        "infinite": (Net(lambda s, x: torch.softmax(s.a(x) @ x.transpose(1, 2) + s.m, -1) @ x, a=nn.Linear(3, 3),
                         m=nn.Parameter(torch.tensor([[0., float("-inf")], [0., 0.]]))), (2, 3), 0, {}, []),
        "heads_no_bias": (Net(lambda s, x: s.heads["a"](torch.tanh(s.heads["b"](x))), heads=nn.ModuleDict({"a": nn.Linear(3, 2, bias=False), "b": nn.Linear(3, 3)})),
                          (2, 3), 0, {}, []),
        "attention_no_bias": (Net(lambda s, x: s.a(x, x, x, need_weights=False)[0], a=nn.MultiheadAttention(4, 2, bias=False, batch_first=True)),
                              (3, 4), 0, {}, []),
        "masked": (Net(lambda s, x: F.linear(x, s.w * s.m, s.b), w=parameter(2, 3), b=parameter(2), m=torch.tensor([[1., 0, 1], [0, 1, 1]])), (2, 3), 0,
                   {"constants": ["m"]}, []),
        "folded_mask": (Net(lambda s, x: torch.softmax(s.q(x) @ x.transpose(1, 2) + mask(), -1) @ s.o(x), q=nn.Linear(3, 3), o=nn.Linear(3, 3)), (3, 3), 0, {}, []),
        "literals": (Net(lambda s, x: s.a(x) * torch.tensor([1.0, 2.0, 3.0]) + torch.linspace(0, 1, 6).view(2, 3), a=nn.Linear(3, 3)), (2, 3), 0, {}, []),
        "frozen": (frozen(), (2, 3), 0, {}, freeze),
        "constant": (frozen(), (3,), 0, {"constants": ["0.*"]}, []),
        "nested": (nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Tanh(), nn.Sequential(nn.Linear(3, 3), nn.PReLU()))), (2, 3), 0, {}, []),
        "shared_nested": (Net(lambda s, x: s.a(s.a(x)), a=nn.Sequential(zeros(nn.Linear(3, 3)), nn.Tanh())), (2, 3), 0, {}, []),
        "tied_bias": (tied_bias(), (2, 3), 0, {}, []),
        "padding": (nn.Sequential(nn.Embedding(5, 3, padding_idx=0), nn.Tanh(), nn.Linear(3, 2)), (4,), 5, padded, []),
    }


# What PyTorch's optimizers make of these forms can't be undone: firnc must say so. A second entry: the losses differ, too.
SAID = {
    "linear1.optimized": ("in the place of", True),
    "products.folded": ("does not say of what parameter", False),
    "batch_norms.optimized": ("no tensor for", True),
    "attention_apart.folded": ("does not say of what parameter", False),
    "laid_anew.folded": ("does not say of what parameter", False),
    "parts.folded": ("does not say of what parameter", False),
    "tied_bias.dynamo": ("taken for another name of head.decoder.bias", False),
    "tied_bias.optimized": ("taken for another name of head.decoder.bias", False),
    **{f"in_two{rank}.{way}": ("taken for another name of 0.0.weight", False) for rank in (2, 3) for way in ("script", "folded")},
    **{f"equal{rank}.optimized": ("trained as one parameter", True) for rank in (2, 3)},
    "equal_table.folded": ("trained as one parameter", True),
    "tied.folded": ("trained as one parameter", False), # the same file as equal_table.folded
    **{f"infinite.{way}": ("m has -inf as element 1 and is not trained", True) for way in ("script", "folded")},
    "heads_no_bias.folded": ("does not say of what parameter", False),
    "attention_no_bias.folded": ("a.weight, onnx::MatMul", False),
    "table.folded": ("does not say of what parameter", True),
    "table.optimized": ("no tensor for pe", False),
    "masked.folded": ("does not say of what parameter", True),
    "masked.optimized": ("in the place of w", True),
}

# What Firn does not train.
REFUSED = {f"infinite.{way}": "parameter m has -inf as element 1" for way in ("dynamo", "optimized")}

NOTES = ("pkg.torch.onnx.name_scopes", "pkg.onnxscript.rewriter.rule_name", "pkg.onnxscript.optimizer.folded_from",
         "pkg.torch.export.ExportedProgram.graph_signature", "pkg.torch.export.graph_signature.InputSpec.kind",
         "pkg.torch.export.graph_signature.InputSpec.persistent")


def keep_notes(entries):
    for i in reversed(range(len(entries))):
        if entries[i].key == "pkg.torch.onnx.fx_node" and "aten.embedding.default" in entries[i].value:
            continue
        if entries[i].key not in NOTES:
            del entries[i]


def make_form(name):
    import torch
    torch.manual_seed(1)
    module, inputs, tokens, keys, callbacks = torch_forms()[name]
    with torch.no_grad():
        for parameter in () if name.startswith("equal") else module.parameters():
            if parameter.count_nonzero() > 0:
                parameter += torch.randn_like(parameter) * 0.1
    return module, inputs, tokens, keys, callbacks


def export_file(module, x, path, options):
    import torch
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    options = dict(options)
    if options["dynamo"]:
        options |= {"external_data": False, "dynamic_shapes": ({0: torch.export.Dim("batch")},)}
    else:
        options |= {"training": torch.onnx.TrainingMode.TRAINING, "input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}}}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            torch.onnx.export(module, (x,), str(path), **options)
        except Exception:
            if "dynamic_shapes" not in options:
                raise
            torch.onnx.export(module, (x,), str(path), **{k: v for k, v in options.items() if k != "dynamic_shapes"})


def arrays(state):
    return {k: v.detach().numpy().copy() for k, v in state.items()}


def torch_steps(module, x, rate=RATE):
    """The losses of the steps, and the state_dict before and after them."""
    import torch
    start = arrays(module.state_dict())
    trained = [p for p in module.parameters() if p.requires_grad]
    losses, y = [], None
    for _ in range(STEPS):
        out = module(x)
        y = torch.from_numpy(targets(out.shape)) if y is None else y
        loss = torch.nn.functional.mse_loss(out, y)
        losses.append(loss.item())
        for parameter, gradient in zip(trained, torch.autograd.grad(loss, trained)):
            with torch.no_grad():
                parameter -= rate * gradient
    return losses, start, arrays(module.state_dict()), list(out.shape[1:])


def to_tensor(x):
    import torch
    return torch.from_numpy(x.astype("<i8") if x.dtype.kind == "i" else x)


def export_forms(folder, only):
    import onnx
    folder.mkdir(exist_ok=True)
    list_path = folder / "forms.json"
    index = json.loads(list_path.read_text()) if only else {}
    for name in only or torch_forms():
        for way, options in WAYS.items():
            module, inputs, tokens, keys, callbacks = make_form(name)
            module.train()
            x = to_tensor(data((BATCH, *inputs), tokens))
            label = f"{name}.{way}"
            path = folder / f"{label}.onnx"
            export_file(module, x, path, options)
            losses, begin, end, outputs = torch_steps(module, x)
            file = onnx.load(path)
            for part in [file, file.graph, *file.graph.node, *file.graph.value_info, *file.graph.initializer, *file.graph.input, *file.graph.output]:
                keep_notes(part.metadata_props)
            infos = [v for v in file.graph.value_info if v.metadata_props]
            del file.graph.value_info[:]
            file.graph.value_info.extend(infos)
            onnx.save(file, path)
            # an export in train mode moves the statistics of batch norms
            state = label if "batch_norms" in name else name
            write_tensors(folder / f"{state}.start.safetensors", without_counters(begin))
            write_tensors(folder / f"{state}.end.safetensors", without_counters(end))
            index[label] = {"state": state, "inputs": inputs, "tokens": tokens, "outputs": outputs, "keys": keys, "callbacks": callbacks, "losses": losses}
            if label in REFUSED:
                index[label] |= {"refused": REFUSED[label], "losses": []} # PyTorch's need not be numbers
            if label in SAID:
                warning, moved = SAID[label]
                index[label] |= {"warning": warning, "trains": not moved, "returns": warning.startswith("taken") or (warning.startswith("trained") and not moved)}
    lines = ",\n".join(f"{json.dumps(label)}: {json.dumps(form)}" for label, form in index.items())
    list_path.write_text("{\n" + lines + "\n}\n")


def round_trip(firn, path, module, x, tokens, keys, callbacks, options, rate):
    """Exports a module, trains it on both sides, and loads what comes back. Returns what is wrong, and firnc's warnings."""
    import torch
    numbers, x = x, to_tensor(x)
    module.train()
    export_file(module, x, path, options)
    begun = copy.deepcopy(module)
    losses, _, _, outputs = torch_steps(module, x, rate)
    firn.prepare(path, numbers, tokens, outputs, keys, callbacks, rate)
    said = [line for line in firn.compile().splitlines() if "warning" in line]
    found = []
    for steps, wanted, within in ((0, begun, 1e-6), (STEPS, module, 2e-5)):
        ours, state = firn.train(steps)
        loaded = copy.deepcopy(begun)
        try:
            loaded.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in state.items()}, strict=True)
        except RuntimeError as error:
            found.append(f"after {steps} steps {' '.join(str(error).split())[:300]}")
            continue
        with torch.no_grad():
            a, b = loaded.eval()(x), wanted.eval()(x)
        apart = float((a - b).abs().max() / b.abs().max())
        if not apart <= within:
            found.append(f"after {steps} steps outputs are apart by {apart:.1e}")
        if steps > 0 and losses_apart(ours, losses) > 1e-4:
            found.append(f"losses are apart by {losses_apart(ours, losses):.1e}")
    return found, said


def random_data(shape, tokens):
    """Batch norms of models need data without a pattern: of channels without variance float32 has few digits."""
    generator = np.random.default_rng(3)
    shape = (BATCH, *shape)
    return generator.integers(0, tokens, shape, "<i4") if tokens else generator.standard_normal(shape, "<f4")


def check_with_torch(build, only):
    """What an optimizing exporter has folded need not come back, if firnc warns of it."""
    import torch
    from exported import make
    from models import MODELS
    torch.set_num_threads(1)
    cases = {name: (lambda name=name: make_form(name)) for name in torch_forms()}
    cases |= {f"model {name}": lambda name=name: (make(name), MODELS[name].inputs, MODELS[name].tokens, {"constants": list(MODELS[name].constants)}, [])
              for name in MODELS}
    wrong = total = 0
    with tempfile.TemporaryDirectory() as work:
        firn = Firn(build, work)
        for name, case in cases.items():
            for way, options in WAYS.items():
                label = f"{name}, {way}"
                if only not in label:
                    continue
                of_models = name.startswith("model ")
                try:
                    module, inputs, tokens, keys, callbacks = case()
                    x = random_data(inputs, tokens) if of_models else data((BATCH, *inputs), tokens)
                    found, said = round_trip(firn, Path(work) / "model.onnx", module, x, tokens, keys, callbacks, options,
                                             MODEL_RATE if of_models else RATE)
                except Exception as error:
                    found, said = [f"{type(error).__name__}: {str(error).splitlines()[0]}"], []
                excused = bool(said) and way in ("folded", "optimized")
                total += 1
                wrong += bool(found) and not excused
                print(f"{'ok' if not found else 'said' if excused else 'failed'}: round trip: {label}: {'; '.join(found)}", flush=True)
    print(f"round trips: {total - wrong} of {total}")
    return wrong > 0


if __name__ == "__main__":
    action = sys.argv[1]
    if action == "export":
        export_forms(Path(sys.argv[2]), sys.argv[3:])
    elif action == "check":
        sys.exit(check(Path(sys.argv[2]), sys.argv[3]))
    elif action == "torch":
        sys.exit(check_with_torch(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ""))
    else:
        sys.exit(__doc__)
