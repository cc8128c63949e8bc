"""Golden values for 20 training steps of a tiny GPT-J, GPT-NeoX, LLaMA and BERT, made with PyTorch; and of a GPT-NeoX with
use_parallel_residual=False and a BERT with a table of segments.

Writes, beside this script:
  transformers_NAME.safetensors   the initial weights, in the names and the layout of Hugging Face
  transformers.losses             one line a step: for each architecture the loss in float64 and in float32
  transformers_bert.tokens, .labels   records of text for BERT as IDX: one token in six is masked (1), and the others have no label (0)

Run: python3 transformers.py
The models are written as Hugging Face's classes are, with their parameter names: query, key and value apart (GPT-NeoX: one
layer, whose rows are those of query, key and value of the first head, then of the next). Text, windows and optimizer are
those of gpt2_training.py, which must have run before.
"""
import json, math, struct
from pathlib import Path
import torch
import torch.nn.functional as F

HERE = Path(__file__).parent
V, C, H, L, T, B, STEPS = 128, 32, 4, 2, 16, 4, 20
D, KV, FILTER, ROTARY, THETA, EPSILON = C // H, 2, 64, 4, 10000.0, 1e-5
LR, B1, B2, EPS, WD, CLIP = 3e-3, 0.9, 0.95, 1e-6, 0.01, 1.0


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, t in tensors.items():
        raw = t.contiguous().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Weights(dict):
    """Random weights: linear and norm add those of a layer."""

    def __init__(self, seed):
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    def draw(self, *shape, std=0.08):
        return torch.randn(*shape, generator=self.generator) * std

    def linear(self, name, out, size, bias=True):
        self[name + ".weight"] = self.draw(out, size)
        if bias:
            self[name + ".bias"] = self.draw(out, std=0.02)

    def norm(self, name, bias=True):
        self[name + ".weight"] = 1 + self.draw(C)
        if bias:
            self[name + ".bias"] = self.draw(C, std=0.02)


def heads(x, count):
    return x.view(B, T, count, D).transpose(1, 2)


def attend(q, k, v, causal=True):
    s = q @ k.transpose(-1, -2) / math.sqrt(D)
    if causal:
        s = s.masked_fill(torch.triu(torch.ones(T, T, dtype=torch.bool), 1), -math.inf)
    return (torch.softmax(s, -1) @ v).transpose(1, 2).reshape(B, T, C)


def angles(size, dtype):
    return torch.arange(T, dtype=dtype)[:, None] * THETA ** (-torch.arange(0, size, 2, dtype=dtype) / size)


def rotate_neighbours(x, size):
    cos, sin = (f(angles(size, x.dtype)).repeat_interleave(2, -1) for f in (torch.cos, torch.sin))
    turning, rest = x[..., :size], x[..., size:]
    turned = torch.stack([-turning[..., 1::2], turning[..., ::2]], -1).flatten(-2)
    return torch.cat([turning * cos + turned * sin, rest], -1)


def rotate_halves(x, size):
    cos, sin = (torch.cat([f(angles(size, x.dtype))] * 2, -1) for f in (torch.cos, torch.sin))
    turning, rest = x[..., :size], x[..., size:]
    turned = torch.cat([-turning[..., size // 2:], turning[..., :size // 2]], -1)
    return torch.cat([turning * cos + turned * sin, rest], -1)


def dense(w, x, name):
    return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))


def layer_norm(w, x, name):
    return F.layer_norm(x, (C,), w[name + ".weight"], w[name + ".bias"], EPSILON)


def rms_norm(w, x, name):
    return w[name + ".weight"] * (x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON))


class Decoder:
    """Samples are windows of text, whose labels are the next tokens."""

    def samples(self, text):
        return (len(text) - 1) // T

    def batch(self, text, picks):
        data = torch.tensor(list(text))
        batch = torch.stack([data[o * T:o * T + T + 1] for o in picks])
        return batch[:, :-1], batch[:, 1:]


class GPTJ(Decoder):
    file = "gptj"

    def weights(self):
        w = Weights(1)
        w["transformer.wte.weight"] = w.draw(V, C)
        for i in range(L):
            p = f"transformer.h.{i}."
            w.norm(p + "ln_1")
            for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
                w.linear(p + "attn." + name, C, C, bias=False)
            w.linear(p + "mlp.fc_in", FILTER, C)
            w.linear(p + "mlp.fc_out", C, FILTER)
        w.norm("transformer.ln_f")
        w.linear("lm_head", V, C)
        return w

    def logits(self, w, ids):
        x = F.embedding(ids, w["transformer.wte.weight"])
        for i in range(L):
            p = f"transformer.h.{i}."
            n = layer_norm(w, x, p + "ln_1")
            q, k, v = (heads(dense(w, n, p + f"attn.{a}_proj"), H) for a in "qkv")
            a = dense(w, attend(rotate_neighbours(q, ROTARY), rotate_neighbours(k, ROTARY), v), p + "attn.out_proj")
            x = a + dense(w, F.gelu(dense(w, n, p + "mlp.fc_in")), p + "mlp.fc_out") + x
        return dense(w, layer_norm(w, x, "transformer.ln_f"), "lm_head")


class GPTNeoX(Decoder):
    file = "gpt_neox"

    def weights(self):
        w = Weights(2)
        w["gpt_neox.embed_in.weight"] = w.draw(V, C)
        for i in range(L):
            p = f"gpt_neox.layers.{i}."
            w.norm(p + "input_layernorm")
            w.norm(p + "post_attention_layernorm")
            w.linear(p + "attention.query_key_value", 3 * C, C)
            w.linear(p + "attention.dense", C, C)
            w.linear(p + "mlp.dense_h_to_4h", FILTER, C)
            w.linear(p + "mlp.dense_4h_to_h", C, FILTER)
        w.norm("gpt_neox.final_layer_norm")
        w.linear("embed_out", V, C, bias=False)
        return w

    def logits(self, w, ids):
        x = F.embedding(ids, w["gpt_neox.embed_in.weight"])
        for i in range(L):
            p = f"gpt_neox.layers.{i}."
            qkv = dense(w, layer_norm(w, x, p + "input_layernorm"), p + "attention.query_key_value")
            q, k, v = qkv.view(B, T, H, 3 * D).transpose(1, 2).chunk(3, -1)
            a = dense(w, attend(rotate_halves(q, ROTARY), rotate_halves(k, ROTARY), v), p + "attention.dense")
            n = layer_norm(w, x, p + "post_attention_layernorm")
            x = dense(w, F.gelu(dense(w, n, p + "mlp.dense_h_to_4h")), p + "mlp.dense_4h_to_h") + a + x
        return dense(w, layer_norm(w, x, "gpt_neox.final_layer_norm"), "embed_out")


class SequentialGPTNeoX(GPTNeoX):
    """The feed-forward part reads what attention has added. Weights are those of GPTNeoX."""

    def logits(self, w, ids):
        x = F.embedding(ids, w["gpt_neox.embed_in.weight"])
        for i in range(L):
            p = f"gpt_neox.layers.{i}."
            qkv = dense(w, layer_norm(w, x, p + "input_layernorm"), p + "attention.query_key_value")
            q, k, v = qkv.view(B, T, H, 3 * D).transpose(1, 2).chunk(3, -1)
            x = x + dense(w, attend(rotate_halves(q, ROTARY), rotate_halves(k, ROTARY), v), p + "attention.dense")
            n = layer_norm(w, x, p + "post_attention_layernorm")
            x = x + dense(w, F.gelu(dense(w, n, p + "mlp.dense_h_to_4h")), p + "mlp.dense_4h_to_h")
        return dense(w, layer_norm(w, x, "gpt_neox.final_layer_norm"), "embed_out")


class Llama(Decoder):
    file = "llama"

    def weights(self):
        w = Weights(3)
        w["model.embed_tokens.weight"] = w.draw(V, C)
        for i in range(L):
            p = f"model.layers.{i}."
            w.norm(p + "input_layernorm", bias=False)
            w.norm(p + "post_attention_layernorm", bias=False)
            for name, out in (("q_proj", C), ("k_proj", KV * D), ("v_proj", KV * D), ("o_proj", C)):
                w.linear(p + "self_attn." + name, out, C, bias=False)
            for name, out, size in (("gate_proj", FILTER, C), ("up_proj", FILTER, C), ("down_proj", C, FILTER)):
                w.linear(p + "mlp." + name, out, size, bias=False)
        w.norm("model.norm", bias=False)
        w.linear("lm_head", V, C, bias=False)
        return w

    def logits(self, w, ids):
        x = F.embedding(ids, w["model.embed_tokens.weight"])
        for i in range(L):
            p = f"model.layers.{i}."
            n = rms_norm(w, x, p + "input_layernorm")
            q, k, v = (heads(dense(w, n, p + f"self_attn.{a}_proj"), c) for a, c in (("q", H), ("k", KV), ("v", KV)))
            q, k = rotate_halves(q, D), rotate_halves(k, D)
            k, v = (y.repeat_interleave(H // KV, 1) for y in (k, v))
            x = x + dense(w, attend(q, k, v), p + "self_attn.o_proj")
            n = rms_norm(w, x, p + "post_attention_layernorm")
            x = x + dense(w, F.silu(dense(w, n, p + "mlp.gate_proj")) * dense(w, n, p + "mlp.up_proj"), p + "mlp.down_proj")
        return dense(w, rms_norm(w, x, "model.norm"), "lm_head")


class Bert:
    """Attention in both directions, norms last, and a head; the segment of every token is 0."""

    file = "bert"
    segments = "bert.embeddings.token_type_embeddings.weight"

    def weights(self):
        w = Weights(4)
        w["bert.embeddings.word_embeddings.weight"] = w.draw(V, C)
        w["bert.embeddings.position_embeddings.weight"] = w.draw(T, C)
        w.norm("bert.embeddings.LayerNorm")
        for i in range(L):
            p = f"bert.encoder.layer.{i}."
            for name in ("query", "key", "value"):
                w.linear(p + "attention.self." + name, C, C)
            w.linear(p + "attention.output.dense", C, C)
            w.norm(p + "attention.output.LayerNorm")
            w.linear(p + "intermediate.dense", FILTER, C)
            w.linear(p + "output.dense", C, FILTER)
            w.norm(p + "output.LayerNorm")
        w.linear("cls.predictions.transform.dense", C, C)
        w.norm("cls.predictions.transform.LayerNorm")
        w["cls.predictions.bias"] = w.draw(V, std=0.02)
        return w

    def logits(self, w, ids):
        x = F.embedding(ids, w["bert.embeddings.word_embeddings.weight"])
        if self.segments in w:
            x = x + w[self.segments][0]
        x = x + w["bert.embeddings.position_embeddings.weight"]
        x = layer_norm(w, x, "bert.embeddings.LayerNorm")
        for i in range(L):
            p = f"bert.encoder.layer.{i}."
            q, k, v = (heads(dense(w, x, p + "attention.self." + a), H) for a in ("query", "key", "value"))
            a = dense(w, attend(q, k, v, causal=False), p + "attention.output.dense")
            x = layer_norm(w, a + x, p + "attention.output.LayerNorm")
            y = dense(w, F.gelu(dense(w, x, p + "intermediate.dense")), p + "output.dense")
            x = layer_norm(w, y + x, p + "output.LayerNorm")
        x = F.gelu(dense(w, x, "cls.predictions.transform.dense"))
        x = layer_norm(w, x, "cls.predictions.transform.LayerNorm")
        return F.linear(x, w["bert.embeddings.word_embeddings.weight"], w["cls.predictions.bias"])

    def samples(self, text):
        return len(text) // T

    def batch(self, text, picks):
        tokens, labels = masked_records(text)
        return tokens[picks], labels[picks]


class SegmentedBert(Bert):
    """With a table of two segments."""

    file = "bert_segments"

    def weights(self):
        w = super().weights()
        w[self.segments] = w.draw(2, C)
        return w


def masked_records(text):
    """Tokens and labels; a masked token is 1, and a token that is not masked has the label 0."""
    state, tokens, labels = 12345, [], []
    for token in text[:len(text) // T * T]:
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        masked = (state >> 16) % 6 == 0
        tokens.append(1 if masked else token)
        labels.append(token if masked else 0)
    return torch.tensor(tokens).view(-1, T), torch.tensor(labels).view(-1, T)


def write_records(text):
    for records, name in zip(masked_records(text), ("tokens", "labels")):
        head = struct.pack(">BBBBII", 0, 0, 8, 2, *records.shape)
        (HERE / f"transformers_bert.{name}").write_bytes(head + bytes(records.flatten().tolist()))


def train(model, weights, text, dtype):
    w = {k: v.to(dtype).clone().requires_grad_(True) for k, v in weights.items()}
    m = {k: torch.zeros_like(v) for k, v in w.items()}
    s = {k: torch.zeros_like(v) for k, v in w.items()}
    samples, losses = model.samples(text), []
    for step in range(STEPS):
        ids, labels = model.batch(text, [(step * B + i) % samples for i in range(B)])
        loss = F.cross_entropy(model.logits(w, ids).reshape(-1, V), labels.reshape(-1), ignore_index=0)
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
                decay = WD if v.dim() == 2 else 0.0
                v -= LR * (m[k] / (s[k].sqrt() + EPS) * correction + decay * v)
                v.grad = None
    return losses


def main():
    torch.set_num_threads(1)
    text = (HERE / "gpt2_training.txt").read_bytes()
    write_records(text)
    columns = []
    for model in (GPTJ(), GPTNeoX(), Llama(), Bert(), SequentialGPTNeoX(), SegmentedBert()):
        weights = model.weights()
        write_safetensors(HERE / f"transformers_{model.file}.safetensors", dict(sorted(weights.items())))
        columns += [train(model, weights, text, torch.float64), train(model, weights, text, torch.float32)]
        wide, single = columns[-2:]
        print(f"{model.file}: float32 against float64: {max(abs(b - a) / a for a, b in zip(wide, single)):.2e}")
    lines = (" ".join(f"{x:.12f}" for x in step) for step in zip(*columns))
    (HERE / "transformers.losses").write_text("\n".join(lines) + "\n")


main()
