"""Weights files for weights.sh and fine_tuning.sh, and the loss of the GPT-2 of gpt2_training.yaml from one, without Firn.

    weights.py variants FILE FOLDER    what other programs might write of the model in FILE
    weights.py join FILE FILE FILE     writes the tensors of the first two to the third
    weights.py same FILE FILE          whether two files have the same tensors; the second may have others that are zeros
    weights.py loss FILE TEXT STEP     the loss of the batch that step number STEP reads: by NumPy in float64 and, if it is
                                       there, by PyTorch
"""
import json, math, re, struct, sys
from pathlib import Path

import numpy as np

HEADS, LENGTH, BATCH = 2, 16, 4  # as in gpt2_training.yaml
TYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2"), "U8": np.dtype("u1")}


def read(path):
    raw = Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header, data, tensors = json.loads(raw[8:8 + size]), raw[8 + size:], {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        assert entry["dtype"] == "F32"
        tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
    return tensors


def write(path, tensors, dtype="F32"):
    """Tensors of bytes stay bytes; the others become of the type."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        kind = "U8" if tensor.dtype == np.uint8 else dtype
        if kind == "BF16":
            tensor = (np.ascontiguousarray(tensor, "<f4").view("<u4") >> 16)
        raw = np.ascontiguousarray(tensor).astype(TYPES[kind]).tobytes()
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def variants(source, folder):
    weights, folder = read(source), Path(folder)
    table = weights["transformer.wte.weight"]
    bare = {name.removeprefix("transformer."): tensor for name, tensor in weights.items()}
    mask = np.tril(np.ones((1, 1, LENGTH, LENGTH), np.uint8))
    write(folder / "bare.safetensors", bare | {f"h.{i}.attn.bias": mask for i in range(2)})
    write(folder / "tied.safetensors", weights | {"lm_head.weight": table})
    write(folder / "untied.safetensors", weights | {"lm_head.weight": table + np.float32(1)})
    # Half types, and float32 with the same values.
    write(folder / "f16.safetensors", weights, "F16")
    write(folder / "f16_wide.safetensors", {k: v.astype(np.float16).astype(np.float32) for k, v in weights.items()})
    write(folder / "bf16.safetensors", weights, "BF16")
    write(folder / "bf16_wide.safetensors",
          {k: (v.view("<u4") >> 16 << 16).view("<f4") for k, v in weights.items()})
    # Linear layers as torch.nn.Linear has them; query, key and value apart, or interleaved head by head.
    apart, heads = {}, {}
    for name, tensor in weights.items():
        turned = tensor.T if re.search(r"\.c_(attn|proj|fc)\.weight$", name) else tensor
        name = "net." + name.removeprefix("transformer.")
        if ".c_attn." in name:
            for part, piece in zip("qkv", np.split(turned, 3)):
                apart[name.replace("c_attn", part)] = piece
            parts = turned.reshape(3, HEADS, -1, *turned.shape[1:])
            heads[name] = np.swapaxes(parts, 0, 1).reshape(turned.shape)
        else:
            apart[name] = heads[name] = turned
    write(folder / "apart.safetensors", apart)
    write(folder / "heads.safetensors", heads)


def loss_numpy(w, inputs, labels):
    w = {name: tensor.astype(np.float64) for name, tensor in w.items()}

    def norm(x, p):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * w[p + ".weight"] + w[p + ".bias"]

    def dense(x, p):
        return x @ w[p + ".weight"] + w[p + ".bias"]

    gelu = np.vectorize(lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))))
    x = w["transformer.wte.weight"][inputs] + w["transformer.wpe.weight"]
    size = x.shape[-1] // HEADS
    for i in range(2):
        p = f"transformer.h.{i}."
        q, k, v = (y.reshape(BATCH, LENGTH, HEADS, size).swapaxes(1, 2)
                   for y in np.split(dense(norm(x, p + "ln_1"), p + "attn.c_attn"), 3, -1))
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(size) + np.triu(np.full((LENGTH, LENGTH), -np.inf), 1)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(x.shape)
        x = x + dense(mixed, p + "attn.c_proj")
        x = x + dense(gelu(dense(norm(x, p + "ln_2"), p + "mlp.c_fc")), p + "mlp.c_proj")
    logits = norm(x, "transformer.ln_f") @ w["transformer.wte.weight"].T
    highest = logits.max(-1, keepdims=True)
    logs = logits - highest - np.log(np.exp(logits - highest).sum(-1, keepdims=True))
    return -np.take_along_axis(logs, labels[..., None], -1).mean()


def loss_torch(w, inputs, labels):
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    class Block(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(size), nn.LayerNorm(size)
            self.attn = nn.ModuleDict({"c_attn": nn.Linear(size, 3 * size), "c_proj": nn.Linear(size, size)})
            self.mlp = nn.ModuleDict({"c_fc": nn.Linear(size, 4 * size), "c_proj": nn.Linear(4 * size, size)})

        def forward(self, x):
            q, k, v = (y.view(*y.shape[:2], HEADS, -1).transpose(1, 2)
                       for y in self.attn["c_attn"](self.ln_1(x)).chunk(3, -1))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
            x = x + self.attn["c_proj"](mixed)
            return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x))))

    class Model(nn.Module):
        def __init__(self, vocabulary, size):
            super().__init__()
            self.transformer = nn.ModuleDict({
                "wte": nn.Embedding(vocabulary, size), "wpe": nn.Embedding(LENGTH, size),
                "h": nn.ModuleList(Block(size) for _ in range(2)), "ln_f": nn.LayerNorm(size)})

        def forward(self, ids):
            t = self.transformer
            x = t["wte"](ids) + t["wpe"].weight
            for block in t["h"]:
                x = block(x)
            return F.linear(t["ln_f"](x), t["wte"].weight)

    model = Model(*w["transformer.wte.weight"].shape).double()
    turned = {name: tensor.T if re.search(r"\.c_(attn|proj|fc)\.weight$", name) else tensor for name, tensor in w.items()}
    model.load_state_dict({name: torch.tensor(tensor.astype(np.float64)) for name, tensor in turned.items()})
    logits = model(torch.tensor(inputs))
    return F.cross_entropy(logits.flatten(0, 1), torch.tensor(labels).flatten()).item()


def loss(path, text, step):
    """step counts from 1; windows are one behind the other, and begin again at the end."""
    data, w = np.frombuffer(Path(text).read_bytes(), np.uint8).astype(np.int64), read(path)
    windows = (len(data) - (LENGTH + 1)) // LENGTH + 1
    picks = [((int(step) - 1) * BATCH + i) % windows * LENGTH for i in range(BATCH)]
    batch = np.stack([data[at:at + LENGTH + 1] for at in picks])
    print(f"NumPy {loss_numpy(w, batch[:, :-1], batch[:, 1:]):.12f}")
    try:
        import torch
    except ImportError:
        print("skipped: PyTorch is not installed", file=sys.stderr)
        return
    print(f"PyTorch {loss_torch(w, batch[:, :-1], batch[:, 1:]):.12f}")


def same(one, other):
    one, other = read(one), read(other)
    assert one.keys() <= other.keys(), sorted(one.keys() - other.keys())
    more = [name for name in other.keys() - one.keys() if other[name].any()]
    assert not more, more
    for name in one:
        assert one[name].shape == other[name].shape and one[name].tobytes() == other[name].tobytes(), name


def join(one, other, to):
    write(to, read(one) | read(other))


{"variants": variants, "join": join, "same": same, "loss": loss}[sys.argv[1]](*sys.argv[2:])
