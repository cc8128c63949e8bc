"""The PyTorch models that tests/onnx/exported.py exports, imports and trains: each as a person would write it who has
never heard of this project. No model has a workaround for the importer; what it cannot read, the test must show.

MODELS: name -> a Case. Sizes are small, so that twenty steps in float64 take a second."""
import math
from dataclasses import dataclass
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Case:
    build: Callable[[], nn.Module]
    inputs: tuple  # shape of one sample
    loss: str  # cross_entropy: the last axis has the classes; mean_squared_error
    outputs: tuple  # shape of the output of one sample
    tokens: int = 0  # the inputs are tokens below this number; 0: numbers
    epsilon: float = 1e-6  # of AdamW
    constants: tuple = ()  # buffers, which a file of dynamo=False does not tell from parameters


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(30, 24), nn.ReLU(), nn.Linear(24, 17), nn.Tanh(), nn.Linear(17, 5))

    def forward(self, x):
        return self.layers(x)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 40)
        self.fc2 = nn.Linear(40, 24)
        self.fc3 = nn.Linear(24, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet8(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.stack = nn.Sequential(Residual(8, 8, 1), Residual(8, 12, 2), Residual(12, 16, 2))
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = self.stack(F.relu(self.bn(self.conv(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def separable(inputs, outputs, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False), nn.BatchNorm2d(inputs), nn.ReLU(),
                         nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class DepthwiseSpeech(nn.Module):
    """DS-CNN, for spectrograms of spoken words."""
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 12, (10, 4), (2, 2), (5, 1)), nn.BatchNorm2d(12), nn.ReLU(), nn.Dropout(0.0))
        self.blocks = nn.Sequential(*[separable(12, 12) for _ in range(3)])
        self.pool = nn.AvgPool2d((13, 5))
        self.fc = nn.Linear(12, 12)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class MobileNet(nn.Module):
    """MobileNetV1 with a quarter of the channels and 8 of its 13 blocks. With a small epsilon AdamW takes the sign of
    gradients that are almost 0, and PyTorch's own float32 parts from its float64 by 1e-2 in some runs."""
    def __init__(self):
        super().__init__()
        plan = [(8, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 1)]
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.blocks = nn.Sequential(*[separable(*p) for p in plan])
        self.fc = nn.Linear(256, 6)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        return self.fc(x.mean([2, 3]))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        def double(inputs, outputs):
            return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(2, outputs), nn.ReLU(),
                                 nn.Conv2d(outputs, outputs, 3, padding=1), nn.ReLU())
        self.down1, self.down2, self.bottom = double(3, 6), double(6, 10), double(10, 14)
        self.up2, self.up1 = nn.ConvTranspose2d(14, 10, 2, 2), nn.ConvTranspose2d(10, 6, 2, 2)
        self.right2, self.right1 = double(20, 10), double(12, 6)
        self.head = nn.Conv2d(6, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        x = self.bottom(F.max_pool2d(b, 2))
        x = self.right2(torch.cat([self.up2(x), b], 1))
        x = self.right1(torch.cat([self.up1(x), a], 1))
        return self.head(x)


class LSTMClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(31, 12)
        self.lstm = nn.LSTM(12, 10, num_layers=2, batch_first=True)
        self.fc = nn.Linear(10, 4)

    def forward(self, tokens):
        y, _ = self.lstm(self.embedding(tokens))
        return self.fc(y[:, -1])


class GRUClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(9, 8, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        y, _ = self.gru(x)
        return self.fc(y.mean(1))


class SelfAttention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(size, 3 * size)
        self.proj = nn.Linear(size, size)

    def forward(self, x):
        batch, length, size = x.shape
        q, k, v = self.qkv(x).reshape(batch, length, 3, self.heads, size // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(batch, length, size))


class EncoderBlock(nn.Module):
    def __init__(self, size, heads, hidden):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attn = SelfAttention(size, heads)
        self.mlp = nn.Sequential(nn.Linear(size, hidden), nn.GELU(), nn.Dropout(0.0), nn.Linear(hidden, size))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 24, 4, 4)
        self.cls_token = nn.Parameter(torch.randn(1, 1, 24) * 0.02)
        self.pos_embed = nn.Parameter(torch.randn(1, 17, 24) * 0.02)
        self.blocks = nn.Sequential(EncoderBlock(24, 3, 48), EncoderBlock(24, 3, 48))
        self.norm = nn.LayerNorm(24)
        self.head = nn.Linear(24, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


class CCT(nn.Module):
    """Compact convolutional transformer: tokens from convolutions, and a learned pool over the sequence."""
    def __init__(self):
        super().__init__()
        self.tokenizer = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                                       nn.Conv2d(16, 24, 3, 1, 1, bias=False), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.pos_embed = nn.Parameter(torch.randn(1, 16, 24) * 0.02)
        self.blocks = nn.ModuleList([EncoderBlock(24, 2, 48) for _ in range(2)])
        self.norm = nn.LayerNorm(24)
        self.pool = nn.Linear(24, 1)
        self.fc = nn.Linear(24, 10)

    def forward(self, x):
        x = self.tokenizer(x).flatten(2).transpose(-2, -1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        weights = F.softmax(self.pool(x), dim=1).transpose(-1, -2)
        return self.fc((weights @ x).squeeze(-2))


class GPT2Block(nn.Module):
    """Attention written out, as GPT-2 does it: scores, mask, softmax, product."""
    def __init__(self, size, heads, length):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.c_attn, self.c_proj = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.c_fc, self.c_out = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.heads = heads
        self.register_buffer("bias", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def attend(self, x):
        batch, length, size = x.size()
        q, k, v = self.c_attn(x).split(size, dim=2)
        q, k, v = (t.view(batch, length, self.heads, size // self.heads).transpose(1, 2) for t in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, size))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.c_out(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(41, 24), nn.Embedding(12, 24)
        self.h = nn.ModuleList([GPT2Block(24, 3, 12) for _ in range(2)])
        self.ln_f = nn.LayerNorm(24)
        self.lm_head = nn.Linear(24, 41, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


def rotate_half(x):
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return torch.cat((-b, a), dim=-1)


class LlamaBlock(nn.Module):
    def __init__(self, size, heads, kv_heads, hidden):
        super().__init__()
        self.heads, self.kv_heads, self.head = heads, kv_heads, size // heads
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(size), RMSNorm(size)
        self.q_proj = nn.Linear(size, size, bias=False)
        self.k_proj = nn.Linear(size, kv_heads * self.head, bias=False)
        self.v_proj = nn.Linear(size, kv_heads * self.head, bias=False)
        self.o_proj = nn.Linear(size, size, bias=False)
        self.gate_proj, self.up_proj = nn.Linear(size, hidden, bias=False), nn.Linear(size, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, size, bias=False)

    def attend(self, x, cos, sin):
        batch, length, size = x.shape
        q = self.q_proj(x).view(batch, length, self.heads, self.head).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.kv_heads, self.head).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.kv_heads, self.head).transpose(1, 2)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        groups = self.heads // self.kv_heads
        k = k[:, :, None].expand(batch, self.kv_heads, groups, length, self.head).reshape(batch, self.heads, length, self.head)
        v = v[:, :, None].expand(batch, self.kv_heads, groups, length, self.head).reshape(batch, self.heads, length, self.head)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, size))

    def forward(self, x, cos, sin):
        x = x + self.attend(self.input_layernorm(x), cos, sin)
        y = self.post_attention_layernorm(x)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(37, 24)
        self.layers = nn.ModuleList([LlamaBlock(24, 4, 2, 40) for _ in range(2)])
        self.norm = RMSNorm(24)
        self.lm_head = nn.Linear(24, 37, bias=False)
        frequencies = 1.0 / 10000 ** (torch.arange(0, 6, 2) / 6)
        angles = torch.outer(torch.arange(12).float(), frequencies)
        self.register_buffer("cos", torch.cat((angles, angles), -1).cos(), persistent=False)
        self.register_buffer("sin", torch.cat((angles, angles), -1).sin(), persistent=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, self.cos[:length], self.sin[:length])
        return self.lm_head(self.norm(x))


class BertLayer(nn.Module):
    def __init__(self, size, heads, hidden):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(size, size) for _ in range(3))
        self.dense = nn.Linear(size, size)
        self.norm1, self.norm2 = nn.LayerNorm(size, eps=1e-12), nn.LayerNorm(size, eps=1e-12)
        self.up, self.down = nn.Linear(size, hidden), nn.Linear(hidden, size)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x, mask):
        batch, length, size = x.shape
        q, k, v = (f(x).view(batch, length, self.heads, -1).permute(0, 2, 1, 3) for f in (self.query, self.key, self.value))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(size // self.heads) + mask
        y = torch.matmul(self.dropout(scores.softmax(dim=-1)), v).permute(0, 2, 1, 3).reshape(batch, length, size)
        x = self.norm1(x + self.dense(y))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    """Token 0 is padding: its key is masked by -10000, as the first BERT did."""
    def __init__(self):
        super().__init__()
        self.word, self.position = nn.Embedding(29, 16), nn.Embedding(10, 16)
        self.norm = nn.LayerNorm(16, eps=1e-12)
        self.layers = nn.ModuleList([BertLayer(16, 2, 32) for _ in range(2)])
        self.head = nn.Linear(16, 29)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1]).unsqueeze(0)
        mask = (1.0 - (tokens > 0).to(self.word.weight.dtype))[:, None, None, :] * -10000.0
        x = self.norm(self.word(tokens) + self.position(positions))
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)


class TorchEncoder(nn.Module):
    """PyTorch's own layers: nn.MultiheadAttention inside nn.TransformerEncoderLayer."""
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 2, 24, dropout=0.0, activation="gelu", batch_first=True)
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        return self.fc(self.layer(x).amax(1))


class Autoencoder(nn.Module):
    """The MLPerf Tiny anomaly detector, thinner."""
    def __init__(self):
        super().__init__()
        sizes = [40, 16, 16, 4, 16, 16, 40]
        layers = []
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            layers += [nn.Linear(a, b)] + ([nn.BatchNorm1d(b), nn.ReLU()] if i < 5 else [])
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


class Upsampler(nn.Module):
    """Names what the others lack: resizing, instance norm, activations, strided and dilated 1-D convolution."""
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(4, 6, 5, stride=2, padding=4, dilation=2)
        self.norm = nn.InstanceNorm1d(6, affine=True)
        self.act = nn.PReLU(6)
        self.second = nn.ConvTranspose1d(6, 4, 4, stride=2, padding=1)
        self.last = nn.Conv1d(4, 2, 1)

    def forward(self, x):
        y = self.second(F.elu(self.act(self.norm(self.first(x)))))
        y = F.hardswish(y) + F.leaky_relu(y, 0.1) * F.softplus(y)
        y = F.interpolate(y, scale_factor=2.0, mode="nearest")
        return self.last(y)


MODELS = {
    "mlp": Case(Perceptron, (5, 6), "cross_entropy", (5,)),
    "lenet": Case(LeNet, (1, 28, 28), "cross_entropy", (10,)),
    "resnet8": Case(ResNet8, (3, 16, 16), "cross_entropy", (10,)),
    "ds_cnn": Case(DepthwiseSpeech, (1, 25, 10), "cross_entropy", (12,)),
    "mobilenet": Case(MobileNet, (3, 48, 48), "cross_entropy", (6,), epsilon=1e-2),
    "autoencoder": Case(Autoencoder, (40,), "mean_squared_error", (40,)),
    "unet": Case(UNet, (3, 16, 12), "mean_squared_error", (1, 16, 12)),
    "lstm": Case(LSTMClassifier, (9,), "cross_entropy", (4,), tokens=31),
    "gru": Case(GRUClassifier, (7, 9), "cross_entropy", (4,)),
    "vit": Case(ViT, (3, 16, 16), "cross_entropy", (10,)),
    "cct": Case(CCT, (3, 16, 16), "cross_entropy", (10,)),
    "gpt2": Case(GPT2, (12,), "cross_entropy", (12, 41), tokens=41, constants=("h.0.bias", "h.1.bias")),
    "llama": Case(Llama, (12,), "cross_entropy", (12, 37), tokens=37, constants=("cos", "sin")),
    "bert": Case(Bert, (10,), "cross_entropy", (10, 29), tokens=29),
    "encoder": Case(TorchEncoder, (6, 16), "cross_entropy", (4,)),
    "upsampler": Case(Upsampler, (4, 15), "mean_squared_error", (2, 32)),
}
