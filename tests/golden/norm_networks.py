"""Golden values for 20 training steps of small networks over images and records, made with PyTorch: those of MLPerf Tiny,
which have batch norms, and a compact convolutional transformer.

Writes, beside this script, for each network N of the recipes compiler/recipes/small_N.yaml:
  norm_networks_N.npy          24 records of bytes, made here
  norm_networks_N.safetensors  PyTorch's initial state_dict
  norm_networks_N.losses       one line a step: float64 model, float32 model; the last line is the mean loss of an evaluation
and norm_networks_labels.npy, their classes.

Run: python3 norm_networks.py
The optimizer is that of gpt2_training.py, without clipping.
"""
import json, math, struct
from pathlib import Path
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

HERE = Path(__file__).parent
RECORDS, BATCH, STEPS = 24, 8, 20
LR, B1, B2, EPS, WD = 1e-3, 0.9, 0.95, 1e-6, 0.01


class Same(nn.Conv2d):
    """Pads so that a stride of s leaves every s-th position, as TensorFlow does."""

    def forward(self, x):
        padding = []
        for extent, kernel, stride in zip(reversed(x.shape[2:]), reversed(self.kernel_size), reversed(self.stride)):
            total = max((-(-extent // stride) - 1) * stride + kernel - extent, 0)
            padding += [total // 2, total - total // 2]
        return super().forward(F.pad(x, padding))


def conv(inputs, outputs, kernel, stride=1, groups=1, bias=False):
    return Same(inputs, outputs, kernel, stride, groups=groups, bias=bias)


class Stage(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv(outputs, outputs, 3), nn.BatchNorm2d(outputs)
        self.shortcut = conv(inputs, outputs, 1, stride, bias=True) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.depthwise, self.bn1 = conv(inputs, inputs, 3, stride, inputs), nn.BatchNorm2d(inputs)
        self.pointwise, self.bn2 = conv(inputs, outputs, 1), nn.BatchNorm2d(outputs)

    def forward(self, x):
        return F.relu(self.bn2(self.pointwise(F.relu(self.bn1(self.depthwise(x))))))


class Classifier(nn.Module):
    def __init__(self, first, width, classes):
        super().__init__()
        self.conv1, self.bn1, self.fc = first, nn.BatchNorm2d(first.out_channels), nn.Linear(width, classes)

    def forward(self, x, labels):
        x = F.relu(self.bn1(self.conv1(x.permute(0, 3, 1, 2))))
        return F.cross_entropy(self.fc(self.body(x).mean((2, 3))), labels)


class ResNet8(Classifier):
    def __init__(self, channels=2, filters=3, classes=10):
        super().__init__(conv(channels, filters, 3), 4 * filters, classes)
        self.stage1, self.stage2 = Stage(filters, filters, 1), Stage(filters, 2 * filters, 2)
        self.stage3 = Stage(2 * filters, 4 * filters, 2)

    def body(self, x):
        return self.stage3(self.stage2(self.stage1(x)))


class Separable(Classifier):
    def __init__(self, first, blocks, classes):
        super().__init__(first, blocks[-1].pointwise.out_channels, classes)
        self.blocks = nn.ModuleList(blocks)

    def body(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def ds_cnn(filters=5):
    return Separable(conv(1, filters, (10, 4), 2), [Block(filters, filters) for _ in range(4)], 4)


def mobilenet(filters=1):
    widths = [1, 2, 4, 4, 8, 8, 16, 16, 16, 16, 16, 16, 32, 32]
    strides = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1]
    return Separable(conv(1, filters, 3, 2), [Block(a * filters, b * filters, s) for a, b, s in zip(widths, widths[1:], strides)], 2)


class Autoencoder(nn.Module):
    def __init__(self, size=24, hidden=9, depth=2, code=3):
        super().__init__()
        sizes = [size] + [hidden] * depth + [code] + [hidden] * depth + [size]
        last = len(sizes) - 2
        self.layers = nn.ModuleList([nn.Linear(a, b, i == last) for i, (a, b) in enumerate(zip(sizes, sizes[1:]))])
        self.norms = nn.ModuleList([nn.BatchNorm1d(b) for b in sizes[1:-1]])

    def forward(self, x, labels):
        y = x
        for layer, norm in zip(self.layers, self.norms):
            y = F.relu(norm(layer(y)))
        return F.mse_loss(self.layers[-1](y), x)


class Encoder(nn.Module):
    def __init__(self, size, heads, hidden):
        super().__init__()
        self.heads, self.pre_norm, self.norm1 = heads, nn.LayerNorm(size), nn.LayerNorm(size)
        self.self_attn = nn.ModuleDict({"qkv": nn.Linear(size, 3 * size, bias=False), "proj": nn.Linear(size, size)})
        self.linear1, self.linear2 = nn.Linear(size, hidden), nn.Linear(hidden, size)

    def forward(self, x):
        n, t, size = x.shape
        q, k, v = self.self_attn["qkv"](self.pre_norm(x)).reshape(n, t, 3, self.heads, size // self.heads).permute(2, 0, 3, 1, 4)
        shares = (q @ k.transpose(2, 3) / math.sqrt(size // self.heads)).softmax(-1)
        x = self.norm1(x + self.self_attn["proj"]((shares @ v).transpose(1, 2).reshape(n, t, size)))
        return x + self.linear2(F.gelu(self.linear1(x)))


class CCT(nn.Module):
    def __init__(self, channels=1, filters=5, size=12, tokens=9, layers=2, heads=3, hidden=18, classes=3):
        super().__init__()
        cut = lambda a, b: nn.Sequential(nn.Conv2d(a, b, 3, 1, 1, bias=False), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.tokenizer = nn.ModuleDict({"conv_layers": nn.Sequential(cut(channels, filters), cut(filters, size))})
        classifier = self.classifier = nn.Module()
        classifier.attention_pool, classifier.norm = nn.Linear(size, 1), nn.LayerNorm(size)
        classifier.positional_emb = nn.Parameter(torch.randn(1, tokens, size) * 0.2)
        classifier.blocks = nn.ModuleList([Encoder(size, heads, hidden) for _ in range(layers)])
        classifier.fc = nn.Linear(size, classes)

    def forward(self, x, labels):
        c = self.classifier
        x = self.tokenizer["conv_layers"](x.permute(0, 3, 1, 2)).flatten(2).transpose(1, 2) + c.positional_emb
        for block in c.blocks:
            x = block(x)
        x = c.norm(x)
        x = (c.attention_pool(x).softmax(1).transpose(1, 2) @ x).squeeze(1)
        return F.cross_entropy(c.fc(x), labels)


NETWORKS = {"resnet8": ((14, 14, 2), ResNet8), "ds_cnn": ((15, 10, 1), ds_cnn), "mobilenet": ((20, 18, 1), mobilenet),
            "autoencoder": ((24,), Autoencoder), "cct": ((12, 10, 1), CCT)}


MICRO_BATCHES = {"resnet8": 2, "ds_cnn": 2, "cct": 2}  # the others have one
# The epsilon of norms that are not PyTorch's. Of 27 norms in a row each magnifies the roundings of the one before, and float32
# has left float64 after a few steps; this epsilon is large enough for the small variances of untrained layers.
EPSILONS = {"mobilenet": 0.1}


def make_records(dims, labels, g):
    """Noise around one of two patterns."""
    patterns = torch.randint(60, 196, (2, *dims), generator=g)
    return (patterns[labels.long()] + torch.randn(RECORDS, *dims, generator=g) * 40).clamp(0, 255).to(torch.uint8)


def norms(network):
    return [m for m in network.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))]


def write_safetensors(path, tensors):
    kinds, header, data = {torch.float32: "F32", torch.int64: "I64"}, {}, b""
    for name, t in tensors.items():
        raw = t.contiguous().numpy().tobytes()
        header[name] = {"dtype": kinds[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def train(network, epsilon, records, labels, dtype, micro_batches):
    network = network.to(dtype).train()
    for norm in norms(network):
        norm.eps = epsilon
    m = {k: torch.zeros_like(v) for k, v in network.named_parameters()}
    s = {k: torch.zeros_like(v) for k, v in network.named_parameters()}
    data, labels, losses = records.to(dtype) * (2 / 255) - 1, labels.long(), []
    each = BATCH // micro_batches
    for step in range(STEPS):
        total = 0
        for micro in range(micro_batches):
            picks = [(step * BATCH + micro * each + i) % RECORDS for i in range(each)]
            loss = network(data[picks], labels[picks])
            (loss / micro_batches).backward()
            total += loss.item()
        losses.append(total / micro_batches)
        with torch.no_grad():
            correction = math.sqrt(1 - B2 ** (step + 1)) / (1 - B1 ** (step + 1))
            for k, v in network.named_parameters():
                m[k].mul_(B1).add_(v.grad, alpha=1 - B1)
                s[k].mul_(B2).addcmul_(v.grad, v.grad, value=1 - B2)
                v -= LR * (m[k] / (s[k].sqrt() + EPS) * correction + (WD if v.dim() > 1 else 0.0) * v)
                v.grad = None
    network.eval()
    with torch.no_grad():
        batches = [network(data[i:i + 8], labels[i:i + 8]).item() for i in range(0, RECORDS, 8)]
    return losses + [sum(batches) / len(batches)]


def main():
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = False  # the plain convolutions: those of the library crash with some of the shapes
    g = torch.Generator().manual_seed(3)
    labels = torch.randint(0, 2, (RECORDS,), generator=g).to(torch.uint8)
    np.save(HERE / "norm_networks_labels.npy", labels.numpy())
    for name, (dims, make) in NETWORKS.items():
        records = make_records(dims, labels, g)
        np.save(HERE / f"norm_networks_{name}.npy", records.numpy())
        torch.manual_seed(5)
        network = make()
        with torch.no_grad():  # gains, biases and statistics that are not 1 and 0
            for norm in norms(network):
                for t in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
                    t += torch.rand(t.shape, generator=g) * 0.4 - 0.2
        state = {k: v.clone() for k, v in network.state_dict().items()}
        write_safetensors(HERE / f"norm_networks_{name}.safetensors", state)
        runs = []
        for dtype in (torch.float64, torch.float32):
            network = make()
            network.load_state_dict(state)
            runs.append(train(network, EPSILONS.get(name, 1e-5), records, labels, dtype, MICRO_BATCHES.get(name, 1)))
        (HERE / f"norm_networks_{name}.losses").write_text("".join(f"{a:.12f} {b:.9f}\n" for a, b in zip(*runs)))
        print(f"{name}: float32 against float64: {max(abs(b - a) / a for a, b in zip(*runs)):.2e}")


if __name__ == "__main__":
    main()
