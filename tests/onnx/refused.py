"""ONNX files whose nodes are wrong, and what firnc says of each.

    refused.py FIRNC FOLDER GOLDEN    prints the lines of GOLDEN, each with the answer of this firnc, behind a bar

A line is `NODE ; NODE ... | answer`. A node is its op, its operands and its attributes; its result is the operand r of the node
behind it, and the output of the last one is the model's. An operand is

    x               the data, float [4,8]; `x:2,3` in front of the first node gives it other extents, `x:i:2` another type
    -               none
    f:2,3=1,2       an initializer, of the type f (float), d (double), h (float16), i (int64), j (int32), u (uint8), c (int8),
                    b (bool) or s (text), with these extents; one number stands for all elements, and without any they are 1
    kf:2,3=1,2      the same as the value of a Constant
    r               what the node before it has made; r1 its second output, q what the node before that has made

An attribute is name=value: a whole number, a number with a point, [a list] of either, a word, or a tensor as above. `outputs=N`
is no attribute, but says how many the node has, and `opset=N` in front of the first node the opset of the file."""
import re
import struct
import subprocess
import sys
from pathlib import Path

TYPES = {"f": (1, "f"), "u": (2, "B"), "c": (3, "b"), "j": (6, "i"), "i": (7, "q"), "s": (8, ""), "b": (9, "?"), "h": (10, "e"),
         "d": (11, "d")}
TENSOR = re.compile(r"([fdhijucbs]):([0-9,]*)(?:=(.*))?$")
RECIPE = """trainer:
  init: {model: {onnx: net.onnx}, optimizer: {SGD: {learning_rate: 0.1}}, precision: {enabled: false}, loop: {num_steps: 4}}
  fit: {train_dataloader: {batch_size: 4}}
"""


# --- the format: fields of numbers, of bytes, and of numbers of four bytes ---

def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def whole(field, number):
    return varint(field << 3) + varint(number)


def data(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def real(field, number):
    return varint(field << 3 | 5) + struct.pack("<f", number)


def tensor(match, name=""):
    code, letter = TYPES[match.group(1)]
    dims = [int(dim) for dim in match.group(2).split(",") if dim]
    count = 1
    for dim in dims:
        count *= dim
    numbers = [float(word) for word in (match.group(3) or "1").split(",")]
    if len(numbers) == 1:
        numbers *= count
    raw = b"".join(struct.pack("<" + letter, number if letter in "fed" else int(number)) for number in numbers if letter)
    return b"".join(whole(1, dim) for dim in dims) + whole(2, code) + (data(8, name) if name else b"") + data(9, raw)


def attribute(name, word):
    made = TENSOR.match(word)
    body = data(1, name)
    if made:
        return body + data(5, tensor(made)) + whole(20, 4)
    if word.startswith("["):
        parts = [part for part in word[1:-1].split(",") if part]
        if parts and re.match(r"-?\d+$", parts[0]):
            return body + b"".join(whole(8, int(part)) for part in parts) + whole(20, 7)
        if parts and re.match(r"-?\d", parts[0]):
            return body + b"".join(real(7, float(part)) for part in parts) + whole(20, 6)
        return body + b"".join(data(9, part) for part in parts) + whole(20, 8)
    if re.match(r"-?\d+$", word):
        return body + whole(3, int(word)) + whole(20, 2)
    if re.match(r"-?\d+\.\d*(e-?\d+)?$", word):
        return body + real(2, float(word)) + whole(20, 1)
    return body + data(4, word) + whole(20, 3)


def info(name, kind, dims):
    shape = b"".join(data(1, whole(1, dim)) for dim in dims)
    return data(1, name) + data(2, data(1, whole(1, TYPES[kind][0]) + data(2, shape)))


def model(line):
    """The file of a line."""
    nodes, initializers, opset, kind, dims, made = [], [], 20, "f", [4, 8], []
    for part in line.split(" ; "):
        words, operands, attributes, outputs, op = part.split(), [], [], 1, None
        for word in words:
            if op is None and word.startswith("x:"):
                *kinds, extents = word[2:].split(":")
                kind, dims = kinds[0] if kinds else kind, [int(dim) for dim in extents.split(",") if dim]
            elif op is None and word.startswith("opset="):
                opset = int(word[6:])
            elif op is None:
                op = word
            elif word == "-":
                operands.append("")
            elif TENSOR.match(word.removeprefix("k")):
                name = f"t{len(initializers) + len(nodes)}_{len(operands)}"
                if word.startswith("k"):
                    nodes.append(data(2, name) + data(4, "Constant") + data(5, attribute("value", word[1:])))
                else:
                    initializers.append(tensor(TENSOR.match(word), name))
                operands.append(name)
            elif word.startswith("outputs="):
                outputs = int(word[8:])
            elif "=" in word:
                attributes.append(attribute(*word.split("=", 1)))
            elif word[0] in "rq" and word[1:].isdigit() or word in ("r", "q"):
                operands.append(made[-1 if word[0] == "r" else -2] + word[1:])
            else:
                operands.append(word)
        name = f"y{len(made)}_"
        made.append(name)
        nodes.append(b"".join(data(1, operand) for operand in operands) +
                     b"".join(data(2, name + ("" if i == 0 else str(i))) for i in range(outputs)) + data(3, "n") + data(4, op) +
                     b"".join(data(5, each) for each in attributes))
    graph = (b"".join(data(1, node) for node in nodes) + data(2, "g") + b"".join(data(5, each) for each in initializers) +
             data(11, info("x", kind, dims)) + data(12, info(made[-1], "f", dims)))
    return whole(1, 9) + data(8, whole(2, opset)) + data(7, graph)


def answer(firnc, folder, line):
    Path(folder, "net.onnx").write_bytes(model(line))
    ran = subprocess.run([firnc, "compile", f"{folder}/recipe.yaml", "--mode", "train", "--dump-after", "build"], text=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if ran.returncode != 1:
        return f"exit {ran.returncode}"
    return " / ".join(ran.stderr.splitlines()).replace(f"firnc: {folder}/net.onnx: ", "").replace(f"{folder}/", "").replace("node n ", "")


def main(firnc, folder, golden):
    Path(folder, "recipe.yaml").write_text(RECIPE)
    for line in Path(golden).read_text().splitlines():
        case = line.split(" | ")[0].rstrip(" |")
        print(line if not line or line.startswith("#") else f"{case} | {answer(firnc, folder, case)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
