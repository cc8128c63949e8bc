"""Golden values for 20 training steps of a tiny LeNet, made with PyTorch.

Writes, beside this script:
  lenet_training_images.npy, lenet_training_labels.npy   24 images of 16 x 14 x 2 bytes and their classes, made here
  lenet_training.safetensors   the initial weights, in the names and the layout that the model uses: [O,rows,columns,C]
  lenet_training.losses        one line a step: float64 model, float32 model, bfloat16 autocast model; then the first two with the
                               mean as pool and tanh

Run: python3 lenet_training.py
PyTorch's images are [N,C,H,W], so weights and activations are turned here. The optimizer is that of gpt2_training.py.
"""
import json, math, struct
from pathlib import Path
import numpy as np
import torch
import torch.nn.functional as F

HERE = Path(__file__).parent
H, W, C, O, B, IMAGES, STEPS = 16, 14, 2, 5, 8, 24, 20
FILTERS, HIDDEN = (4, 6), (10, 8)
LEFT = ((H // 2 - 4) // 2, (W // 2 - 4) // 2)  # rows and columns behind the second pool
LR, B1, B2, EPS, WD, CLIP = 3e-3, 0.9, 0.95, 1e-6, 0.01, 1.0


def make_images():
    """A gradient whose direction is the class, with noise."""
    g = torch.Generator().manual_seed(11)
    labels = torch.randint(0, O, (IMAGES,), generator=g)
    rows, columns = torch.meshgrid(torch.linspace(-1, 1, H), torch.linspace(-1, 1, W), indexing="ij")
    angle = labels * (2 * math.pi / O)
    plane = angle.cos()[:, None, None] * rows + angle.sin()[:, None, None] * columns
    images = torch.stack([plane, plane ** 2 - 0.5], -1) * 70 + 128 + torch.randn(IMAGES, H, W, C, generator=g) * 20
    return images.clamp(0, 255).to(torch.uint8), labels.to(torch.uint8)


def make_weights():
    g = torch.Generator().manual_seed(7)
    shapes = {"conv1": (FILTERS[0], 5, 5, C), "conv2": (FILTERS[1], 5, 5, FILTERS[0]), "fc1": (HIDDEN[0], *LEFT, FILTERS[1]),
              "fc2": (HIDDEN[1], HIDDEN[0]), "fc3": (O, HIDDEN[1])}
    w = {}
    for layer, shape in shapes.items():
        w[layer + ".weight"] = torch.randn(*shape, generator=g) / math.sqrt(math.prod(shape[1:]))
        w[layer + ".bias"] = torch.randn(shape[0], generator=g) * 0.1
    return w


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, t in sorted(tensors.items()):
        raw = t.numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def forward(w, x, labels, activate, pool):
    turned = lambda name: w[name].permute(0, 3, 1, 2)
    x = pool(activate(F.conv2d(x, turned("conv1.weight"), w["conv1.bias"], padding=2)))
    x = pool(activate(F.conv2d(x, turned("conv2.weight"), w["conv2.bias"])))
    x = activate(F.linear(x.flatten(1), turned("fc1.weight").flatten(1), w["fc1.bias"]))
    x = activate(F.linear(x, w["fc2.weight"], w["fc2.bias"]))
    logits = F.linear(x, w["fc3.weight"], w["fc3.bias"])
    return F.cross_entropy(logits.float() if logits.dtype == torch.bfloat16 else logits, labels.long())


def train(weights, images, labels, dtype, half=False, mean=False):
    w = {k: v.to(dtype).clone().requires_grad_(True) for k, v in weights.items()}
    m = {k: torch.zeros_like(v) for k, v in w.items()}
    s = {k: torch.zeros_like(v) for k, v in w.items()}
    data = (images.to(dtype) * 0.0078125 - 1).permute(0, 3, 1, 2)
    activate, pool = (torch.tanh, lambda x: F.avg_pool2d(x, 2)) if mean else (F.relu, lambda x: F.max_pool2d(x, 2))
    losses = []
    for step in range(STEPS):
        picks = [(step * B + i) % IMAGES for i in range(B)]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            loss = forward(w, data[picks], labels[picks], activate, pool)
        losses.append(loss.item())
        loss.backward()
        with torch.no_grad():
            total = torch.sqrt(sum((v.grad ** 2).sum() for v in w.values()))
            factor = min(1.0, CLIP / (total.item() + 1e-6))
            t = step + 1
            correction = math.sqrt(1 - B2 ** t) / (1 - B1 ** t)
            for k, v in w.items():
                g = v.grad * factor
                m[k].mul_(B1).add_(g, alpha=1 - B1)
                s[k].mul_(B2).addcmul_(g, g, value=1 - B2)
                v -= LR * (m[k] / (s[k].sqrt() + EPS) * correction + (0.0 if k.endswith("bias") else WD) * v)
                v.grad = None
    return losses


def main():
    torch.set_num_threads(1)
    (images, labels), weights = make_images(), make_weights()
    np.save(HERE / "lenet_training_images.npy", images.numpy())
    np.save(HERE / "lenet_training_labels.npy", labels.numpy())
    write_safetensors(HERE / "lenet_training.safetensors", weights)
    wide = train(weights, images, labels, torch.float64)
    single = train(weights, images, labels, torch.float32)
    half = train(weights, images, labels, torch.float32, half=True)
    mean_wide = train(weights, images, labels, torch.float64, mean=True)
    mean_single = train(weights, images, labels, torch.float32, mean=True)
    rows = [f"{a:.12f} {b:.9f} {c:.9f} {d:.12f} {e:.9f}\n" for a, b, c, d, e in zip(wide, single, half, mean_wide, mean_single)]
    (HERE / "lenet_training.losses").write_text("".join(rows))
    apart = lambda x, y: max(abs(b - a) / a for a, b in zip(x, y))
    print(f"float32 against float64: {apart(wide, single):.2e}, of means {apart(mean_wide, mean_single):.2e}; "
          f"bfloat16 against float64: {apart(wide, half):.2e}")


main()
