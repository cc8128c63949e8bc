"""Golden values for tests/unit/test_front_end.c: 20 training steps of a network that recipes cannot describe,
made with PyTorch.

Writes, beside this script:
  front_end.safetensors   the initial weights
  front_end.losses        one line a step: float64 model; bfloat16 model with the POL of the test's scopes and
                          every sum as with pol_lowering: emulate

Run: python3 front_end.py
Two branches over sequences of T records: tokens through embedding, norm and attention with a residual; features through
norm and two linear layers with silu. Their sum goes through a norm to logits of the labels.
A product at level 0 sums in float32. At 1 (2) each chunk of 64 (128) terms is summed in bfloat16, rounding after every
multiply-add, and the totals of the chunks in float32. Tensors are bfloat16 where autocast makes them so; inside norm and
softmax the backward pass rounds where plan/NUMERICS.md does, so that the two runs do not diverge.
"""
import json, math, struct
from pathlib import Path
import torch
import torch.nn.functional as F

HERE = Path(__file__).parent
V, C, H, T, U, I, O, B, N, STEPS = 16, 16, 2, 6, 96, 4, 5, 4, 40, 20
RATES, MOMENTUM, WD, CLIP = (0.05, 0.25), 0.5, 0.01, 1.0
# Forward and backward level of each linear layer, as in the test's annotations; the global level is 1.
LEVELS = {"mixer.qkv": (2, 0), "mixer.out": (1, 2), "features.up": (1, 1), "features.down": (0, 2), "head.linear": (1, 1)}


def make_data():
    """The same numbers as in the test."""
    state = 1

    def draw(n):
        nonlocal state
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        return (state >> 16) % n

    features, tokens, labels = [], [], []
    for _ in range(N * T):
        row = [(draw(256) - 128) / 64 for _ in range(I)]
        token = draw(V)
        features.append(row)
        tokens.append(token)
        labels.append((token + (row[0] > 0)) % O)
    return torch.tensor(features).view(N, T, I), torch.tensor(tokens).view(N, T), torch.tensor(labels).view(N, T)


def make_weights():
    g = torch.Generator().manual_seed(11)
    n = lambda *shape, std=0.3: torch.randn(*shape, generator=g) * std
    w = {"tokens.weight": n(V, C)}
    for name, size in (("mixer.norm", C), ("features.norm", I), ("head.norm", C)):
        w[name + ".weight"], w[name + ".bias"] = 1 + n(size, std=0.1), n(size, std=0.1)
    for name, out, size in (("mixer.qkv", 3 * C, C), ("mixer.out", C, C), ("features.up", U, I), ("features.down", C, U),
                            ("head.linear", O, C)):
        w[name + ".weight"], w[name + ".bias"] = n(out, size, std=0.8 / math.sqrt(size)), n(out, std=0.1)
    return dict(sorted(w.items()))


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, t in tensors.items():
        raw = t.numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def round16(x):
    """float64 to the nearest bfloat16, ties to even, in one rounding (none of these numbers is subnormal)."""
    fraction, exponent = torch.frexp(x)
    return torch.ldexp(torch.round(fraction * 256), exponent - 8)


def product(a, b, level):
    """a:[N,K] times b:[K,O], both bfloat16, as float32 before the last rounding."""
    if level == 0:
        return a.float() @ b.float()
    chunk, total = 64 * level, torch.zeros(a.shape[0], b.shape[1])
    a, b = a.double(), b.double()
    for start in range(0, a.shape[1], chunk):
        sum16 = torch.zeros_like(total, dtype=torch.float64)
        for k in range(start, min(start + chunk, a.shape[1])):
            sum16 = round16(sum16 + a[:, k, None] * b[None, k])
        total = total + sum16.float()
    return total


class HalfLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, levels):
        ctx.save_for_backward(x, weight)
        ctx.level = levels[1]
        return (product(x, weight.t(), levels[0]) + bias.float()).to(torch.bfloat16)

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        dx = product(dy, weight, ctx.level).to(torch.bfloat16)
        dw = product(dy.t(), x, ctx.level).to(torch.bfloat16)
        return dx, dw, dy.float().sum(0).to(torch.bfloat16), None


def passed_over(x):
    """Rounds to bfloat16 but keeps float32; the gradient passes unchanged."""
    return x + (x.to(torch.bfloat16).float() - x).detach()


class HalfSoftmax(torch.autograd.Function):
    """Probabilities are rounded to bfloat16, and the backward pass uses the rounded ones; so is the gradient of the scores."""

    @staticmethod
    def forward(ctx, s):
        p = torch.softmax(s, -1).to(torch.bfloat16).float()
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, dp):
        (p,) = ctx.saved_tensors
        return (p * (dp - (p * dp).sum(-1, keepdim=True))).to(torch.bfloat16).float()


def forward(w, features, tokens, labels, half):
    low = (lambda x: x.to(torch.bfloat16)) if half else (lambda x: x)

    def norm(x, name, level):
        wide = x.float() if half else x
        mean = wide.mean(-1, keepdim=True)
        x_hat = (wide - mean) / torch.sqrt(((wide - mean) ** 2).mean(-1, keepdim=True) + 1e-5)
        gain, bias = w[name + ".weight"], w[name + ".bias"]
        if not half or level == 0:
            return x_hat * gain + bias
        return low(passed_over(x_hat) * low(gain).float() + low(bias).float())

    def linear(x, name):
        weight, bias = low(w[name + ".weight"]), low(w[name + ".bias"])
        if not half:
            return F.linear(x, weight, bias)
        y = HalfLinear.apply(low(x).reshape(-1, x.shape[-1]), weight, bias, LEVELS[name])
        return y.view(*x.shape[:-1], -1)

    def attend(x):
        q, k, v = (y.view(B, T, H, C // H).transpose(1, 2) for y in x.split(C, -1))
        wide = torch.float32 if half else torch.float64
        s = q.to(wide) @ k.to(wide).transpose(-1, -2) / math.sqrt(C // H)
        p = HalfSoftmax.apply(s) if half else torch.softmax(s, -1)
        y = low(p @ v.to(wide))
        return y.transpose(1, 2).reshape(B, T, C)

    x = low(F.embedding(tokens, w["tokens.weight"]))
    x = x + linear(attend(linear(norm(x, "mixer.norm", 2), "mixer.qkv")), "mixer.out")
    f = norm(features, "features.norm", 0)  # at level 0: float32, like its input
    x = x + linear(F.silu(linear(f, "features.up")), "features.down")
    logits = linear(norm(x, "head.norm", 1), "head.linear")
    logits = logits.float() if half else logits
    return F.cross_entropy(logits.reshape(-1, O), labels.reshape(-1))


def train(weights, data, dtype, half):
    w = {k: v.to(dtype).clone().requires_grad_(True) for k, v in weights.items()}
    m = {k: torch.zeros_like(v) for k, v in w.items()}
    features, tokens, labels = data
    losses = []
    for step in range(STEPS):
        picks = [(step * B + i) % N for i in range(B)]
        loss = forward(w, features[picks].to(dtype), tokens[picks], labels[picks], half)
        losses.append(loss.item())
        loss.backward()
        with torch.no_grad():
            factor = min(1.0, CLIP / (torch.sqrt(sum((v.grad ** 2).sum() for v in w.values())).item() + 1e-6))
            rate = RATES[0] + (RATES[1] - RATES[0]) * step / STEPS
            for k, v in w.items():
                decay = 0.1 if k == "tokens.weight" else WD if v.dim() == 2 else 0.0
                m[k].mul_(MOMENTUM).add_(v.grad * factor + decay * v)
                v -= rate * m[k]
                v.grad = None
    return losses


def main():
    torch.set_num_threads(1)
    data, weights = make_data(), make_weights()
    write_safetensors(HERE / "front_end.safetensors", weights)
    wide, half = train(weights, data, torch.float64, False), train(weights, data, torch.float32, True)
    (HERE / "front_end.losses").write_text("".join(f"{a:.12f} {b:.9f}\n" for a, b in zip(wide, half)))
    print(f"bfloat16 against float64: {max(abs(b - a) / a for a, b in zip(wide, half)):.2e}")


main()
