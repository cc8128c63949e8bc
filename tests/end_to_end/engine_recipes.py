#!/usr/bin/env python3
"""Writes random small recipes with their data, for engine_bits.sh:

    engine_recipes.py SEED COUNT FOLDER

For each number N below COUNT, FOLDER gets N.data, N.labels unless the model has none, and N.yaml, or for networks that
no recipe has N.words, the arguments SIZE... TYPE LEVEL of a program that builds it. One line for each is printed:

    N FAMILY TARGET board|-

Every half type is bfloat16. Sizes are mostly no multiples of 32, because the last block of a sum, the border of an
image and the diagonal of causal attention are where an order of sums goes wrong. A recipe marked `board` is small enough
for an emulated microcontroller. The same seed gives the same files."""

import json
import random
import sys

FAMILIES = ["mlp", "gpt2", "llama", "lenet", "recurrent", "sums", "bert", "cct", "mlp", "gpt2", "gptj", "resnet8",
            "recurrent", "llama", "ds_cnn", "mlp", "gpt2", "gpt-neox", "sums", "mobilenet", "mlp", "gpt3", "cct",
            "autoencoder", "bert", "llama", "lenet", "mlp", "gpt2", "recurrent"]
TARGETS = ["amx-bf16", "avx512-bf16"]
BOARDS = {"mlp": 0, "gpt2": 1, "llama": 2, "lenet": 3, "recurrent": 4, "sums": 5, "cct": 7}  # which one of a family
RECORDS = 120


class Chance:
    """Random choices that depend on the seed alone, not on the version of Python."""

    def __init__(self, seed):
        self.source = random.Random(seed)

    def number(self, low, high):
        return low + int(self.source.random() * (high - low + 1))

    def one(self, values):
        return values[self.number(0, len(values) - 1)]

    def odd_size(self, low, high):
        """A size that is mostly no multiple of 2, 16 or 32, and sometimes is."""
        return self.number(low, high) if self.number(0, 4) else max(low, self.number(low, high) // 32 * 32)

    def bytes(self, count, below=256):
        return bytes(self.number(0, below - 1) for _ in range(count))


def idx(extents, elements, code=8):
    """An IDX file: unsigned bytes, or with code 13 float32."""
    head = bytes([0, 0, code, len(extents)])
    return head + b"".join(e.to_bytes(4, "big") for e in extents) + elements


def numbers(chance, count):
    """float32 numbers from 0.5 to 2, big-endian."""
    return b"".join(bytes([0x3f, chance.number(0, 255), 0, 0]) for _ in range(count))


def precision(chance, layers):
    """Gradients of weights are float32 in most recipes: rounded to bfloat16 they would hide most differences."""
    keys = {"fp16_type": "bfloat16", "precision_opt_level": chance.number(0, 2),
            "gradient_type": chance.one(["half"] + 5 * ["float32"])}
    if chance.number(0, 2) == 0:
        keys["pol"] = [{"pattern": "*", "level": chance.number(0, 2), "bwd_level": chance.number(0, 2)}]
    if chance.number(0, 2) == 0:
        keys["max_gradient_norm"] = 1.0
    if layers and chance.number(0, 3) == 0:
        keys["float32_layers"] = [layers]
    return keys


def recipe(chance, model, layers=None, loader=None, scale=None):
    micro = chance.number(5, 37) if model["name"] in ("mlp", "autoencoder") else chance.number(2, 4)
    count = chance.one([1, 1, 2, 3])
    train = {"batch_size": micro * count, "micro_batch_size": micro, "shuffle": True}
    train.update(loader or {})
    if scale is not None:
        train["feature_scale"] = scale
    # Both keep the gradients in their state, where the last bit of a sum is seen.
    optimizer = chance.one([{"SGD": {"momentum": 0.9}}, {"AdamW": {"weight_decay": 0.01}}])
    return {"trainer": {
        "init": {"seed": chance.number(1, 1000), "model": model, "optimizer": optimizer,
                 "schedulers": [{"ConstantLR": {"learning_rate": 0.01}}], "precision": precision(chance, layers),
                 "loop": {"num_steps": 20, "check_loss": False}},
        "fit": {"train_dataloader": train}}}


def mlp(chance, board):
    width = chance.odd_size(3, 40 if board else 210)
    hidden = [chance.odd_size(1, 40 if board else 150) for _ in range(chance.number(1, 3))]
    model = {"name": "mlp", "input_size": width, "hidden_sizes": hidden, "output_size": chance.number(2, 10),
             "nonlinearity": chance.one(["relu", "gelu", "silu", "tanh"])}
    data = idx([RECORDS, width], chance.bytes(RECORDS * width))
    # By the last two, products are too small for a normal number, and sums come to overflow.
    scale = 0.0039 if board else chance.one([0.0039, 0.0039, 3e-38, 1e17])
    single = None if board or scale < 1e-30 else "layers.0"
    return recipe(chance, model, single, scale=scale), data, idx([RECORDS], chance.bytes(RECORDS, 2))


def transformer(chance, name, board):
    heads = chance.one([1, 2, 3, 4])
    size = 2 * chance.number(1, 4 if board else 10)  # of a head
    length = chance.number(5, 20) if board else chance.one([31, 33, 37, 50, 66])
    words = chance.number(20, 120)
    model = {"name": name, "vocab_size": words, "hidden_size": heads * size,
             "num_hidden_layers": 1 if board else chance.one([1, 1, 2]), "num_heads": heads,
             "filter_size": chance.odd_size(5, 40 if board else 100), "max_position_embeddings": length}
    if name != "llama":
        model.update({"dropout_rate": chance.one([0.0, 0.1]), "attention_dropout_rate": chance.one([0.0, 0.1])})
    if name == "gpt2":
        model["attention_softmax_fp32"] = chance.one([True, True, False])
        model["position_embedding_type"] = chance.one(["learned", "learned", "alibi"])
    if name in ("gptj", "gpt-neox"):
        model["rotary_dim"] = 2
    if name == "llama" and heads % 2 == 0:
        model.update({"attention_module": "multiquery_attention",
                      "extra_attention_params": {"num_kv_groups": chance.one([1, 2])}})
    if name == "bert":
        model.update({"disable_nsp": True, "ignore_index": 0, "mlm_nonlinearity": "gelu"})
        tokens = idx([RECORDS, length], chance.bytes(RECORDS * length, words))
        return (recipe(chance, model, loader={"feature_type": "uint8"}), tokens,
                idx([RECORDS, length], chance.bytes(RECORDS * length, words)))
    return recipe(chance, model, "*.0.*", {"max_sequence_length": length}), chance.bytes(20000, words), None


def images(chance, name, board):
    least = {"lenet": 28, "resnet8": 9, "mobilenet": 17, "ds_cnn": 12, "cct": 8}[name]
    height, width = [least + chance.number(0, 2 if board else 9) for _ in range(2)]
    channels = chance.number(1, 3)
    model = {"name": name, "image_height": height, "image_width": width, "image_channels": channels,
             "output_size": chance.number(2, 10)}
    if name == "lenet":
        model.update({"filters": [chance.number(1, 5), chance.number(1, 7)], "hidden_sizes": [chance.number(1, 40), chance.number(1, 40)],
                      "pooling": chance.one(["max", "average"])})
    elif name == "cct":
        heads = chance.number(1, 3)
        model.update({"num_conv_layers": 1 if board else 2, "kernel_size": 3, "hidden_size": heads * chance.number(2, 9),
                      "num_hidden_layers": 1, "num_heads": heads, "filter_size": chance.number(3, 50)})
        if not board:
            model["filters"] = chance.number(1, 9)
    else:
        model["filters"] = 1 if name == "mobilenet" else chance.number(1, 7)
    shape = [RECORDS, height, width] + ([channels] if channels > 1 else [])
    data = idx(shape, chance.bytes(RECORDS * height * width * channels))
    return recipe(chance, model, scale=0.0078), data, idx([RECORDS], chance.bytes(RECORDS, 2))


def autoencoder(chance):
    width = chance.odd_size(20, 100)
    model = {"name": "autoencoder", "input_size": width, "hidden_size": chance.odd_size(5, 70),
             "num_hidden_layers": chance.number(1, 2), "code_size": chance.number(2, 9)}
    return recipe(chance, model, scale=0.0078), idx([RECORDS, width], chance.bytes(RECORDS * width)), None


def built(chance, name, board):
    """The arguments of recurrent_plan, or of sums_plan, and their data: ten numbers are the targets of a record."""
    rows = chance.one([1, 2, 5, 10]) if name == "recurrent" else chance.number(3, 12 if board else 70)
    width, units = chance.odd_size(1, 40 if board else 100), chance.odd_size(2, 12 if board else 70)
    words = [rows, width, units, "bfloat16", chance.number(0, 2)]
    return (words, idx([RECORDS, rows, width], chance.bytes(RECORDS * rows * width)),
            idx([RECORDS, 10], numbers(chance, RECORDS * 10), 13))


def case(chance, family, board):
    if family in ("recurrent", "sums"):
        return built(chance, family, board)
    if family == "mlp":
        return mlp(chance, board)
    if family == "autoencoder":
        return autoencoder(chance)
    if family in ("lenet", "resnet8", "mobilenet", "ds_cnn", "cct"):
        return images(chance, family, board)
    return transformer(chance, family, board)


def write(folder, number, ending, data):
    with open(f"{folder}/{number}.{ending}", "wb") as file:
        file.write(data)


def main():
    seed, count, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    for number in range(count):
        chance = Chance(seed * 1000003 + number)
        family = FAMILIES[number % len(FAMILIES)]
        target = TARGETS[(number + number // len(FAMILIES)) % 2]
        board = BOARDS.get(family) == number
        said, data, labels = case(chance, family, board)
        if isinstance(said, list):
            write(folder, number, "words", " ".join(map(str, said)).encode() + b"\n")
        else:
            write(folder, number, "yaml", json.dumps(said, indent=1).encode() + b"\n")
        write(folder, number, "data", data)
        if labels is not None:
            write(folder, number, "labels", labels)
        print(number, family, target, "board" if board else "-")


main()
