"""Golden values for one step on a batch whose rows may be absent or weighted, made with PyTorch in float64 over the whole batch.

Writes, beside this script:
  masked_batches.npy, _labels.npy, _weights.npy   12 records of an MLP, made here: the first four have no row that counts
  masked_batches.safetensors                      its initial weights
  masked_batches.golden                           for each case the loss and the norm of the gradient
  masked_batches_CASE.safetensors                 the gradient of each parameter

Run: python3 masked_batches.py
The cases are those of tests/end_to_end/masked_batches.sh. BERT, its tokens and its weights are those of transformers.py, which must have
run before; its batch is the first four records.
"""
import importlib.util
from pathlib import Path
import numpy as np
import torch
import torch.nn.functional as F

HERE = Path(__file__).parent
RECORDS, INPUTS, HIDDEN, CLASSES = 12, 6, 7, 5

# transformers.py is a script whose last line runs it.
spec = importlib.util.spec_from_loader("transformers_of_golden", loader=None)
transformers = importlib.util.module_from_spec(spec)
transformers.__file__ = str(HERE / "transformers.py")
exec((HERE / "transformers.py").read_text().rsplit("\nmain()", 1)[0], transformers.__dict__)


def read_safetensors(path):
    import json, struct
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    data = raw[8 + size:]
    return {name: torch.from_numpy(np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"]).copy())
            for name, entry in json.loads(raw[8:8 + size]).items()}


def make_records():
    generator = torch.Generator().manual_seed(11)
    records = torch.randn(RECORDS, INPUTS, generator=generator)
    labels = torch.randint(1, CLASSES, (RECORDS,), generator=generator)
    weights = torch.rand(RECORDS, generator=generator) * 2
    labels[[0, 1, 2, 3, 5, 8]] = 0  # one micro-batch without a row, one with three, one with one
    labels[10] = 0
    weights[[6, 11]] = 0
    np.save(HERE / "masked_batches.npy", records.numpy())
    np.save(HERE / "masked_batches_labels.npy", labels.numpy().astype(np.int32))
    np.save(HERE / "masked_batches_weights.npy", weights.numpy())
    return records.double(), labels, weights.double()


def make_weights():
    generator = torch.Generator().manual_seed(12)
    draw = lambda *shape: torch.randn(*shape, generator=generator) * 0.5
    weights = {"layers.0.bias": draw(HIDDEN), "layers.0.weight": draw(HIDDEN, INPUTS),
               "layers.1.bias": draw(CLASSES), "layers.1.weight": draw(CLASSES, HIDDEN)}
    transformers.write_safetensors(HERE / "masked_batches.safetensors", weights)
    return weights


def mlp(w, x):
    hidden = torch.tanh(F.linear(x, w["layers.0.weight"], w["layers.0.bias"]))
    return F.linear(hidden, w["layers.1.weight"], w["layers.1.bias"])


def write_case(name, weights, loss_of, lines):
    w = {key: value.double().requires_grad_(True) for key, value in weights.items()}
    loss = loss_of(w)
    loss.backward()
    norm = torch.sqrt(sum((value.grad ** 2).sum() for value in w.values())).item()
    transformers.write_safetensors(HERE / f"masked_batches_{name}.safetensors", {key: w[key].grad.float() for key in sorted(w)})
    lines.append(f"{name} {loss.item():.17g} {norm:.17g}\n")


def main():
    torch.set_num_threads(1)
    x, labels, row_weights = make_records()
    weights, lines = make_weights(), []

    def weighted(w):
        rows = F.cross_entropy(mlp(w, x), labels, reduction="none", label_smoothing=0.1)
        present = row_weights * (labels != 0)
        return (present * rows).sum() / present.sum()

    write_case("ignored", weights, lambda w: F.cross_entropy(mlp(w, x), labels, ignore_index=0), lines)
    write_case("weighted", weights, weighted, lines)

    bert = transformers.Bert()
    tokens, targets = bert.batch((HERE / "gpt2_training.txt").read_bytes(), [0, 1, 2, 3])
    logits = lambda w: bert.logits(w, tokens).reshape(-1, transformers.V)
    write_case("bert", read_safetensors(HERE / "transformers_bert.safetensors"),
               lambda w: F.cross_entropy(logits(w), targets.reshape(-1), ignore_index=0), lines)
    (HERE / "masked_batches.golden").write_text("".join(lines))
    counts = (targets != 0).sum(1).tolist()
    print(f"rows of BERT's records that count: {counts}")


main()
