"""Golden values for labels of -100, made with PyTorch in float64: 12 steps of an MLP whose loss ignores rows with such a label.

Writes, beside this script:
  ignored_labels.npy       the labels of the 12 records of masked_batches.npy: every class, and seven of -100
  ignored_labels.losses    the loss of each step, a batch of six records

Run: python3 ignored_labels.py
masked_batches.py must have run before; the records and the initial weights are its own. The recipe is that of
tests/end_to_end/ignored_labels.sh.
"""
import json
import struct
from pathlib import Path
import numpy as np
import torch
import torch.nn.functional as F

HERE = Path(__file__).parent
STEPS, BATCH, RATE, IGNORED = 12, 6, 0.5, -100


def read_safetensors(path):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    data = raw[8 + size:]
    return {name: torch.from_numpy(np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"]).copy())
            for name, entry in json.loads(raw[8:8 + size]).items()}


def main():
    torch.set_num_threads(1)
    records = torch.from_numpy(np.load(HERE / "masked_batches.npy")).double()
    labels = torch.tensor([IGNORED, 4, IGNORED, 0, IGNORED, 1, 2, IGNORED, IGNORED, 3, IGNORED, IGNORED])
    np.save(HERE / "ignored_labels.npy", labels.numpy())
    w = {name: value.double().requires_grad_(True) for name, value in read_safetensors(HERE / "masked_batches.safetensors").items()}
    lines = []
    for step in range(STEPS):
        rows = [(step * BATCH + i) % len(labels) for i in range(BATCH)]
        hidden = torch.tanh(F.linear(records[rows], w["layers.0.weight"], w["layers.0.bias"]))
        loss = F.cross_entropy(F.linear(hidden, w["layers.1.weight"], w["layers.1.bias"]), labels[rows])  # -100 is the default
        loss.backward()
        with torch.no_grad():
            for value in w.values():
                value -= RATE * value.grad
                value.grad = None
        lines.append(f"{loss.item():.9g}\n")
    (HERE / "ignored_labels.losses").write_text("".join(lines))


main()
