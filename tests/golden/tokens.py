"""Makes tests/golden/tokens: small tokenizers, a text, and the ids that the package `tokenizers` gives. Firn must give the same
(tests/end_to_end/tokens.sh). Run from the root of the repository with the package, of which ids.txt names the version:

    python3 tests/golden/tokens.py

The vocabularies are trained, so that another version may make other files; all of them are then made again. overlap.json was
written by hand, and its ids are in tests/unit/test_tokens.c."""

import hashlib
import json
import struct

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

FOLDER = "tests/golden/tokens"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

TEXT = """The plan is frozen; it doesn't thaw. We'll see what they've frozen, and they'RE sure: it's 1234567 bytes, '67 or so.
  Two spaces, then	a tab, and\u00a0a no-break space\u3000and a wide one.  \r
\r
Schnee liegt auf dem Gletscher, der Firn hei\u00dft.  N\u00e9v\u00e9, ne\u0301ve\u0301, A\u030angstro\u0308m, \u212bngstr\u00f6m, \u1100\u1161\u11a8 \uac01.
\u0421\u043d\u0435\u0433 \u043b\u0435\u0436\u0438\u0442. \u96ea\u304c\u7a4d\u3082\u308b\u3002\u0628\u0631\u0641 \u0663\u0664\u0665 \u092c\u0930\u094d\u092b \u0915\u093c \u2163 \u00bd \U0001f3d4\ufe0f\u200d\u2744
it\u017f 'S 'T ''s!!! ...--- <|end|>  [M]  done<|end|><tag> x<tag>y <|start|>
    indented();\n\n\n      return 0;   \n"""


def long_text():
    """What tests/end_to_end/tokens.sh makes, too: more than the encoder takes at once."""
    return "".join(f"{number}\n{TEXT}" for number in range(400))


def byte_level(pattern, **bpe):
    made = Tokenizer(models.BPE(**bpe))
    if pattern is None:
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    else:
        split = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
        made.pre_tokenizer = pre_tokenizers.Sequence(
            [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return made


def train(made, size, special):
    alphabet = [] if isinstance(made.pre_tokenizer, (type(None), pre_tokenizers.Metaspace)) else \
        pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(TEXT.split("\n") * 3, trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False))
    return made


def make():
    """Yields a name, a tokenizer and whether it adds tokens around a text."""
    made = train(byte_level(None), 330, ["<|end|>"])
    made.add_tokens([AddedToken("[M]", lstrip=True, rstrip=True, normalized=True)])
    yield "bytes", made, False

    made = train(byte_level(LLAMA3, ignore_merges=True), 340, ["<|start|>", "<|end|>"])
    made.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|start|> $A <|end|>", special_tokens=[("<|start|>", 0), ("<|end|>", 1)])])
    yield "llama3", made, True

    made = byte_level(QWEN2)
    made.normalizer = normalizers.NFC()
    train(made, 330, ["<|end|>"])
    made.add_tokens([AddedToken("<tag>", single_word=True), AddedToken("[M]", rstrip=True, normalized=False)])
    yield "qwen2", made, False

    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    train(made, 460, ["<unk>", "<s>"] + [f"<0x{byte:02X}>" for byte in range(256)])
    made.add_special_tokens(["<|end|>"])
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    yield "llama2", made, True

    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    made.train_from_iterator(["The plan is frozen; it does not thaw. Two spaces, then more. done x y <|end|>"] * 3,
                             trainers.BpeTrainer(vocab_size=90, special_tokens=["<unk>"], show_progress=False))
    yield "metaspace", made, False


def digest(ids):
    return hashlib.sha256(struct.pack(f"<{len(ids)}i", *ids)).hexdigest()


def main():
    with open(f"{FOLDER}/text.txt", "w", newline="", encoding="utf-8") as file:
        file.write(TEXT)
    rows = [f"# The ids of text.txt by tokenizers {tokenizers.__version__}: the tokenizer, what was asked for, the number of ids"
            " and the SHA-256\n# of the ids as int32, or the ids themselves. long: what tokens.sh makes of the text.\n"]
    for name, made, special in make():
        path = f"{FOLDER}/{name}.json"
        made.save(path, pretty=False)
        if name == "bytes":  # the form of merges that older versions write
            document = json.load(open(path, encoding="utf-8"))
            document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"]]
            json.dump(document, open(path, "w", encoding="utf-8"), ensure_ascii=False)
        made = Tokenizer.from_file(path)

        def row(what, ids, short=False):
            rows.append(f"{name} {what} {len(ids)} {' '.join(map(str, ids)) if short else digest(ids)}\n")

        row("text", made.encode(TEXT, add_special_tokens=False).ids, True)
        row("long", made.encode(long_text(), add_special_tokens=False).ids)
        if special:
            row("special", made.encode(TEXT).ids)
        made.encode_special_tokens = True
        row("plain", made.encode(TEXT, add_special_tokens=False).ids)

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    train(made, 320, ["<|endoftext|>"])
    made.model.save(FOLDER)
    for what, text in (("text", TEXT), ("long", long_text())):
        rows.append(f"pair {what} {len(made.encode(text).ids)} {digest(made.encode(text).ids)}\n")
    with open(f"{FOLDER}/ids.txt", "w", encoding="utf-8") as file:
        file.writelines(rows)


main()
