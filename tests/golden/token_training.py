"""Golden values for 50 training steps of a tiny GPT-2 on tokens, made with transformers and PyTorch in float32.

Writes, beside this script:
  token_training.safetensors   the initial weights, as save_pretrained names them
  token_training.losses        the loss of each step

Run: python3 token_training.py, with the packages transformers and tokenizers
The text is that of tokens.py with that of gpt2_training.py behind it, and the tokens are those of tokens/vocab.json and
tokens/merges.txt. The recipe is that of tests/end_to_end/token_training.sh; the optimizer is written out as in gpt2_training.py.
"""
import json
import math
import os
import struct
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.pop(0)  # beside this script there is another transformers.py
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

HERE = Path(__file__).parent
C, H, L, T, B, STEPS = 16, 2, 2, 16, 4, 50
LR, B1, B2, EPS, WD = 3e-3, 0.9, 0.95, 1e-6, 0.01


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, t in tensors.items():
        raw = t.contiguous().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def tokens():
    tokenizer = Tokenizer(models.BPE.from_file(str(HERE / "tokens/vocab.json"), str(HERE / "tokens/merges.txt")))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    texts = [(HERE / name).read_bytes().decode() for name in ("tokens/text.txt", "gpt2_training.txt")]
    return [id for text in texts for id in tokenizer.encode(text).ids], tokenizer.get_vocab_size()


def make_model(size):
    torch.manual_seed(5)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=size, n_positions=T, n_embd=C, n_layer=L, n_head=H, activation_function="gelu", resid_pdrop=0, embd_pdrop=0,
        attn_pdrop=0, initializer_range=0.1, bos_token_id=None, eos_token_id=None))
    write_safetensors(HERE / "token_training.safetensors",
                      {name: value.detach() for name, value in sorted(model.state_dict().items()) if name != "lm_head.weight"})
    return model


def main():
    torch.set_num_threads(1)
    text, size = tokens()
    model, lines = make_model(size), []
    parameters = list(model.parameters())
    m, s = [[torch.zeros_like(p) for p in parameters] for _ in range(2)]
    windows = (len(text) - (T + 1)) // T + 1
    for step in range(STEPS):
        starts = [(step * B + i) % windows * T for i in range(B)]
        batch = torch.tensor([text[at:at + T + 1] for at in starts])
        logits = model(batch[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        factor = math.sqrt(1 - B2 ** (step + 1)) / (1 - B1 ** (step + 1))
        with torch.no_grad():
            for p, first, second in zip(parameters, m, s):
                first.mul_(B1).add_((1 - B1) * p.grad)
                second.mul_(B2).add_((1 - B2) * p.grad ** 2)
                decay = WD if p.dim() > 1 else 0
                p -= LR * (factor * first / (second.sqrt() + EPS) + decay * p)
                p.grad = None
        lines.append(f"{loss.item():.9g}\n")
    (HERE / "token_training.losses").write_text("".join(lines))
    print(f"{len(text)} tokens of {size}, {windows} windows")


main()
