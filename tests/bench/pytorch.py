"""The PyTorch side of `make bench`: a child process that answers questions, so that both sides are timed in one round.

A question is a line "VERB SECONDS WAY KIND ARGUMENTS". WAY is eager, compiled, bf16 (under autocast), bf16_compiled, or,
for images, channels_last, channels_last_compiled, bf16_channels_last or bf16_channels_last_compiled. The verb "prepare"
warms up, torch.compile included, and is answered with the seconds of one measurement; "measure" with those of one call.
Any other answer is "none" and a reason: above all, that preparing would take longer than SECONDS. The first line of
output is a JSON object that describes PyTorch, or says why there is none.
"""
import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # whatever libraries print is no answer
try:
    import torch
    import torch.nn.functional as F
    from torch import nn

    import norm_networks
except Exception as error:  # whatever is wrong with PyTorch, the benchmark runs without it
    print(type(error).__name__, str(error).split("\n")[0][:200], file=answers)
    sys.exit(0)

SHORTEST = 0.02  # seconds of one measurement
LEAST_CALLS = 4  # of those that are measured at all: one more to warm up, and three rounds


def linear(way, n, k, o, direction):
    kind = torch.bfloat16 if way == "bf16" else torch.float32
    n, k, o = int(n), int(k), int(o)
    x, w, dy = torch.randn(n, k).to(kind), torch.randn(o, k).to(kind), torch.randn(n, o).to(kind)
    return {"forward": lambda: x @ w.T, "dx": lambda: dy @ w, "dw": lambda: dy.T @ x}[direction]


def matmul(way, batches, length, size, which):
    kind = torch.bfloat16 if way == "bf16" else torch.float32
    batches, length, size = int(batches), int(length), int(size)
    a = torch.randn(batches, length, size if which == "scores" else length).to(kind)
    b = torch.randn(batches, length, size).to(kind)
    return (lambda: a @ b.transpose(-1, -2)) if which == "scores" else (lambda: a @ b)


def attention(way, batch, length, heads, size, direction):
    kind = torch.bfloat16 if way == "bf16" else torch.float32
    batch, length, heads, size = int(batch), int(length), int(heads), int(size)
    qkv = torch.randn(batch, length, 3 * heads * size).to(kind).requires_grad_(direction == "backward")

    def forward():
        q, k, v = (t.view(batch, length, heads, size).transpose(1, 2) for t in qkv.split(heads * size, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(batch, length, heads * size)

    if direction == "forward":
        return forward
    y = forward()
    dy = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, qkv, dy, retain_graph=True)


def lstm(way, steps, samples, units, direction):
    kind = torch.bfloat16 if way == "bf16" else torch.float32
    module, x = nn.LSTM(1, int(units)).to(kind), torch.randn(int(steps), int(samples), 1).to(kind)
    if direction == "forward":
        return lambda: module(x)
    y, _ = module(x)
    dy = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, list(module.parameters()), dy, retain_graph=True)


def adamw(_way, elements):
    parameter = nn.Parameter(torch.zeros(int(elements)))
    parameter.grad = torch.full_like(parameter, 1e-3)
    return torch.optim.AdamW([parameter], lr=1e-6, fused=True).step


class Block(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.out = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        b, t, c = x.shape
        parts = self.c_attn(self.ln_1(x)).split(c, dim=2)
        q, k, v = (p.view(b, t, self.heads, c // self.heads).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.out(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, vocabulary, width, layers, heads, positions):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, heads, 4 * width) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, ids, labels):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), labels.view(-1))


class MLP(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.first, self.second = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)

    def forward(self, x, labels):
        return F.cross_entropy(self.second(F.relu(self.first(x))), labels)


shared = {}  # the models of a question, one with channels last and one without


def train(way, key, make):
    """One step of training: the model of `key` and its data, from make()."""
    if shared.get("key") != key:
        shared.clear()
        torch._dynamo.reset()
        shared["key"] = key
    last = "channels_last" in way
    if last not in shared:
        model, data = make()
        if last:
            model = model.to(memory_format=torch.channels_last)
            data = (data[0].contiguous(), *data[1:])  # images are [N,H,W,C] here
        # fused is the fastest of PyTorch's three implementations of the update.
        shared[last] = model, data, torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)
    model, data, optimizer = shared[last]
    run = torch.compile(model, dynamic=False) if way.endswith("compiled") else model
    half = way.startswith("bf16")

    def step():
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss = run(*data)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def gpt2(way, *numbers):
    vocabulary, width, layers, heads, positions, batch, length = map(int, numbers)

    def make():
        ids = torch.randint(0, min(vocabulary, 256), (2, batch, length))
        return GPT2(vocabulary, width, layers, heads, positions), (ids[0], ids[1])

    return train(way, ("gpt2", *numbers), make)


def mlp(way, *numbers):
    inputs, hidden, outputs, batch = map(int, numbers)

    def make():
        return MLP(inputs, hidden, outputs), (torch.randn(batch, inputs), torch.randint(0, outputs, (batch,)))

    return train(way, ("mlp", *numbers), make)


class Encoder(norm_networks.Encoder):
    """The same with PyTorch's own attention."""

    def forward(self, x):
        n, t, size = x.shape
        q, k, v = self.self_attn["qkv"](self.pre_norm(x)).reshape(n, t, 3, self.heads, size // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, t, size)
        x = self.norm1(x + self.self_attn["proj"](y))
        return x + self.linear2(F.gelu(self.linear1(x)))


def cct():
    model = norm_networks.CCT(channels=3, size=256, tokens=256, layers=0, classes=10)
    model.tokenizer["conv_layers"] = nn.Sequential(nn.Conv2d(3, 256, 3, 1, 1, bias=False), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    model.classifier.blocks = nn.ModuleList([Encoder(256, 4, 512) for _ in range(7)])
    return model


def mobilenet():
    model = norm_networks.mobilenet(8)
    model.conv1, model.fc = norm_networks.conv(3, 8, 3, 2), nn.Linear(256, 10)
    return model


# Networks over images, and the extent of their images.
IMAGES = {"resnet8": (lambda: norm_networks.ResNet8(3, 16, 10), 32), "mobilenet": (mobilenet, 96), "cct": (cct, 32)}


def image_network(kind):
    network, extent = IMAGES[kind]

    def question(way, batch):
        batch = int(batch)

        def make():
            return network(), (torch.randn(batch, 3, extent, extent).permute(0, 2, 3, 1), torch.randint(0, 10, (batch,)))

        return train(way, (kind, batch), make)

    return question


KINDS = {kind: image_network(kind) for kind in IMAGES}
KINDS |= {"linear": linear, "matmul": matmul, "attention": attention, "lstm": lstm, "adamw": adamw, "gpt2": gpt2, "mlp": mlp}


def measure(call, calls):
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begin) / calls


def prepare(way, limit, kind, *arguments):
    """Warms up the call; returns it, the number of calls that make one measurement, and the seconds of a call."""
    signal.alarm(limit)
    try:
        call = KINDS[kind](way, *arguments)
        seconds = measure(call, 1)
        if not way.endswith("compiled") and LEAST_CALLS * seconds > limit:
            raise TimeoutError(f"a call takes about {seconds:.1f} s")
        seconds = measure(call, 1)
    finally:
        signal.alarm(0)
    calls = 1
    while seconds * calls < SHORTEST:
        calls *= 2
        seconds = measure(call, calls)
    return call, calls, seconds


def refuse(_signal, _frame):
    raise TimeoutError("warming up took longer than there is time")


def describe():
    return {
        "version": torch.__version__,
        "capability": torch.backends.cpu.get_cpu_capability(),
        "mkldnn": torch.backends.mkldnn.is_available(),
        "mkl": torch.backends.mkl.is_available(),
        "threads": torch.get_num_threads(),
        "compiler": os.environ.get("CXX", "g++"),
    }


def main():
    torch.set_num_threads(int(sys.argv[1]))
    torch.manual_seed(0)
    signal.signal(signal.SIGALRM, refuse)
    print(json.dumps(describe()), file=answers)
    ready = {}  # prepared calls by way, or why there is none, for the current question only
    last = None
    for line in sys.stdin:
        verb, limit, way, *question = line.split()
        if question != last:
            ready.clear()
            last = question
        try:
            if verb == "prepare" and not isinstance(ready.get(way), tuple):
                ready[way] = prepare(way, int(limit), *question)
            call, calls, seconds = ready[way]
            print(seconds * calls if verb == "prepare" else measure(call, calls), file=answers)
        except Exception as error:  # after any error, the benchmark continues without this way
            ready[way] = None
            print("none", f"{type(error).__name__}: {error}".split("\n")[0][:90], file=answers)


main()
