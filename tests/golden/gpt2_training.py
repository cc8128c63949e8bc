"""Golden values for 20 training steps of a tiny GPT-2, made with PyTorch.

Writes, beside this script:
  gpt2_training.txt           the text (bytes are tokens), made here
  gpt2_training.safetensors   the initial weights, in the names that the recipe's architecture uses
  gpt2_training.losses        one line a step: float64 model, float32 model, bfloat16 autocast model; the first and the last again,
                              with rotary positions in place of learned ones, and then with ALiBi
  gpt2_lora.safetensors       the initial values of LoRA's matrices beside every product of the blocks
  gpt2_lora.losses            the first and the last model with them, where only they and the last norm are trained

Run: python3 gpt2_training.py
The optimizer is written out, because torch.optim.AdamW adds epsilon elsewhere: u = m/(sqrt(v) + eps) * sqrt(1 - b2^t)/(1 - b1^t).
bfloat16: PyTorch autocast for the matrix products and attention; embedding, layer norm and the residual stream give bfloat16, as
in the lists of the reference stack.
"""
import json, math, re, struct
from pathlib import Path
import torch
import torch.nn.functional as F

HERE = Path(__file__).parent
V, C, H, L, T, B, P, STEPS = 256, 32, 2, 2, 16, 4, 16, 20
R, THETA = 8, 10000.0  # for the model with rotary positions
RANK, ALPHA = 4, 6.0  # for the model with LoRA
LR, B1, B2, EPS, WD, CLIP = 3e-3, 0.9, 0.95, 1e-6, 0.01, 1.0


def make_text():
    words = "snow falls and settles the wind packs it the frost holds it and firn is what the winter leaves".split()
    state, out = 12345, []
    while sum(len(w) + 1 for w in out) < 1600:
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        out.append(words[(state >> 16) % len(words)])
    return (" ".join(out) + "\n").encode()


def make_weights():
    g = torch.Generator().manual_seed(7)
    n = lambda *shape, std=0.08: torch.randn(*shape, generator=g) * std
    w = {"transformer.wte.weight": n(V, C), "transformer.wpe.weight": n(P, C)}
    for i in range(L):
        p = f"transformer.h.{i}."
        for name, k, o in (("attn.c_attn", C, 3 * C), ("attn.c_proj", C, C), ("mlp.c_fc", C, 4 * C), ("mlp.c_proj", 4 * C, C)):
            w[p + name + ".weight"], w[p + name + ".bias"] = n(k, o), n(o, std=0.02)
        for name in ("ln_1", "ln_2"):
            w[p + name + ".weight"], w[p + name + ".bias"] = 1 + n(C), n(C, std=0.02)
    w["transformer.ln_f.weight"], w["transformer.ln_f.bias"] = 1 + n(C), n(C, std=0.02)
    return {k: v.float() for k, v in sorted(w.items())}


def make_adapters(weights):
    """LoRA beside every product of the blocks: A as kaiming_uniform_ makes it, B zeros."""
    torch.manual_seed(3)
    found = {}
    for name, weight in weights.items():
        if re.search(r"\.c_(attn|proj|fc)\.weight$", name):
            first = torch.nn.init.kaiming_uniform_(torch.empty(RANK, weight.shape[0]), a=math.sqrt(5))
            found[name.replace(".weight", ".lora_A.weight")] = first
            found[name.replace(".weight", ".lora_B.weight")] = torch.zeros(weight.shape[1], RANK)
    return dict(sorted(found.items()))


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, t in tensors.items():
        raw = t.numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def attend(q, k, v, low, slopes):
    """Scores, softmax and sums wide; probabilities in the half type before the product with v, as in the reference stack."""
    with torch.autocast("cpu", enabled=False):
        wide = torch.float64 if q.dtype == torch.float64 else torch.float32
        s = q.to(wide) @ k.to(wide).transpose(-1, -2) / math.sqrt(C // H)
        at = torch.arange(T, dtype=wide)
        s = s + slopes.to(wide)[:, None, None] * (at[None, :] - at[:, None])
        s = s.masked_fill(torch.triu(torch.ones(T, T, dtype=torch.bool), 1), -math.inf)
        return low(low(torch.softmax(s, -1)).to(wide) @ v.to(wide))


def rotate(x):
    """Rotary positions in the first R elements of a head, pairs of neighbours; in the half type each operation rounds."""
    angles = torch.arange(T, dtype=torch.float64)[:, None] * THETA ** (-torch.arange(0, R, 2, dtype=torch.float64) / R)
    cos, sin = (f(angles).repeat_interleave(2, -1).to(x.dtype) for f in (torch.cos, torch.sin))
    turning, rest = x[..., :R], x[..., R:]
    turned = torch.stack([-turning[..., 1::2], turning[..., ::2]], -1).flatten(-2)
    return torch.cat([turning * cos + turned * sin, rest], -1)


def alibi_slopes(heads):
    """Of the paper, for a power of two."""
    return torch.tensor([2 ** (-8 * (i + 1) / heads) for i in range(heads)], dtype=torch.float64)


def forward(w, ids, labels, half, positions):
    low = (lambda x: x.to(torch.bfloat16)) if half else (lambda x: x)

    def norm(x, p):
        wide = x.float() if half else x
        mean = wide.mean(-1, keepdim=True)
        rec = 1 / torch.sqrt(((wide - mean) ** 2).mean(-1, keepdim=True) + 1e-5)
        x_hat = low((wide - mean) * rec)
        if not half:
            return x_hat * w[p + ".weight"] + w[p + ".bias"]
        return low(x_hat.float() * low(w[p + ".weight"]).float() + low(w[p + ".bias"]).float())

    def dense(x, p):
        y = F.linear(x, w[p + ".weight"].t(), w[p + ".bias"])
        if p + ".lora_A.weight" not in w:
            return y
        return y + F.linear(F.linear(x, w[p + ".lora_A.weight"]), w[p + ".lora_B.weight"]) * (ALPHA / RANK)

    slopes = alibi_slopes(H) * (positions == "alibi")
    x = low(F.embedding(ids, w["transformer.wte.weight"]))
    if positions == "learned":
        x = x + low(w["transformer.wpe.weight"][:T])
    for i in range(L):
        p = f"transformer.h.{i}."
        q, k, v = dense(norm(x, p + "ln_1"), p + "attn.c_attn").split(C, -1)
        q, k, v = (y.view(B, T, H, C // H).transpose(1, 2) for y in (q, k, v))
        if positions == "rotary":
            q, k = rotate(q), rotate(k)
        a = attend(q, k, v, low, slopes).transpose(1, 2).reshape(B, T, C)
        x = x + dense(a, p + "attn.c_proj")
        x = x + dense(F.gelu(dense(norm(x, p + "ln_2"), p + "mlp.c_fc")), p + "mlp.c_proj")
    logits = F.linear(norm(x, "transformer.ln_f"), w["transformer.wte.weight"])
    logits = logits.float() if half else logits
    return F.cross_entropy(logits.reshape(-1, V), labels.reshape(-1))


def train(weights, text, dtype, half, positions="learned", adapters={}):
    """With adapters, only they and the last norm are trained."""
    w = {k: v.to(dtype).clone() for k, v in (weights | adapters).items() if positions == "learned" or ".wpe." not in k}
    trained = {k: v.requires_grad_(True) for k, v in w.items() if not adapters or k in adapters or ".ln_f." in k}
    m = {k: torch.zeros_like(v) for k, v in trained.items()}
    s = {k: torch.zeros_like(v) for k, v in trained.items()}
    data = torch.tensor(list(text))
    windows = (len(data) - (T + 1)) // T + 1
    losses = []
    for step in range(STEPS):
        picks = [(step * B + i) % windows * T for i in range(B)]
        batch = torch.stack([data[o:o + T + 1] for o in picks])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            loss = forward(w, batch[:, :-1], batch[:, 1:], half, positions)
        losses.append(loss.item())
        loss.backward()
        with torch.no_grad():
            total = torch.sqrt(sum((v.grad ** 2).sum() for v in trained.values()))
            factor = min(1.0, CLIP / (total.item() + 1e-6))
            t = step + 1
            correction = math.sqrt(1 - B2 ** t) / (1 - B1 ** t)
            for k, v in trained.items():
                g = v.grad * factor
                m[k].mul_(B1).add_(g, alpha=1 - B1)
                s[k].mul_(B2).addcmul_(g, g, value=1 - B2)
                decay = 0.0 if k.endswith("bias") or ".ln_" in k else WD
                v -= LR * (m[k] / (s[k].sqrt() + EPS) * correction + decay * v)
                v.grad = None
    return losses


def main():
    torch.set_num_threads(1)
    text, weights = make_text(), make_weights()
    (HERE / "gpt2_training.txt").write_bytes(text)
    write_safetensors(HERE / "gpt2_training.safetensors", weights)
    wide = train(weights, text, torch.float64, False)
    single = train(weights, text, torch.float32, False)
    half = train(weights, text, torch.float32, True)
    rotary_wide = train(weights, text, torch.float64, False, "rotary")
    rotary_half = train(weights, text, torch.float32, True, "rotary")
    alibi_wide = train(weights, text, torch.float64, False, "alibi")
    alibi_half = train(weights, text, torch.float32, True, "alibi")
    adapters = make_adapters(weights)
    write_safetensors(HERE / "gpt2_lora.safetensors", adapters)
    lora_wide = train(weights, text, torch.float64, False, adapters=adapters)
    lora_half = train(weights, text, torch.float32, True, adapters=adapters)
    (HERE / "gpt2_lora.losses").write_text("".join(f"{a:.12f} {b:.9f}\n" for a, b in zip(lora_wide, lora_half)))
    rows = [f"{a:.12f} {b:.9f} {c:.9f} {d:.12f} {e:.9f} {f:.12f} {g:.9f}\n"
            for a, b, c, d, e, f, g in zip(wide, single, half, rotary_wide, rotary_half, alibi_wide, alibi_half)]
    (HERE / "gpt2_training.losses").write_text("".join(rows))
    apart = max(abs(b - a) / a for a, b in zip(wide, single))
    told = max(abs(c - a) / a for a, c in zip(wide, half))
    print(f"float32 against float64: {apart:.2e}; bfloat16 against float64: {told:.2e}")


main()
