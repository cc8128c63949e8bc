#!/usr/bin/env python3
"""Makes the corpus of tests/fuzz/serial.c: a good transfer of a small plan, as `firn flash` sends it, as the bytes on the
line; and one as a list of frames that goes on after a power cut and after flash that fails. The fuzz target says what both
look like, runtime/UPDATE.md the frames.

    serial_corpus.py write|check
"""
import hashlib
import pathlib
import struct
import sys
import zlib

FOLDER = pathlib.Path(__file__).parent / "corpus" / "serial"
PLAN = pathlib.Path(__file__).parent.parent / "golden" / "plans" / "frozen_eval.plan"
HEADER, SIGNED, PART = 512, 576, 616
HELLO, BEGIN, DATA, COMMIT = 1, 2, 3, 4
# Of the target: the setting of a list of frames, orders in such a list, and the erase unit.
FRAMES, FAULT, RESTART, ERASE_UNIT = 1, 0xFD, 0xFE, 1024


def plan():
    """The plan with the version, the counter and the key of the target, whose signature check accepts everything. It is
    cut off where its report begins."""
    file = bytearray(PLAN.read_bytes())
    struct.pack_into("<II", file, 36, 2, 1)
    file[112:144] = hashlib.sha256(b"\4" + bytes(64)).digest()
    constants, count = struct.unpack_from("<QQ", file, 224)
    return bytes(file[: constants + count])


def begin(file):
    return BEGIN, struct.pack("<Q", len(file)) + file[:SIGNED]


def data(file, start, parts):
    for offset in range(start, len(file), PART)[:parts]:
        yield DATA, struct.pack("<Q", offset) + file[offset : offset + PART]


def transfer(file):
    return [(HELLO, b""), begin(file), *data(file, 0, None), (COMMIT, b"")]


def interrupted(file):
    """After each of both, the device goes on from the beginning of the second erase unit."""
    yield from [begin(file), *data(file, 0, 2), (RESTART, b"")]
    yield from [begin(file), *data(file, ERASE_UNIT, 1), (FAULT, 1), *data(file, ERASE_UNIT + PART, 1)]
    yield from [begin(file), *data(file, ERASE_UNIT, None), (COMMIT, b"")]


def frame(kind, sequence, payload):
    head = struct.pack("<BBIHH", kind, 0, sequence, len(payload), len(payload) ^ 0xFFFF)
    return b"\xf1\x26" + head + payload + struct.pack("<I", zlib.crc32(head + payload))


def listed(kind, payload):
    if kind == FAULT:
        return struct.pack("<BH", kind, payload)
    return struct.pack("<BH", kind, len(payload)) + payload


def corpus():
    stream = b"".join(frame(kind, number, payload) for number, (kind, payload) in enumerate(transfer(plan())))
    frames = b"".join(listed(kind, payload) for kind, payload in interrupted(plan()))
    return {"stream": bytes([0, 0]) + stream, "frames": bytes([FRAMES, 0]) + frames}


def main(word):
    for name, data in corpus().items():
        if word == "write":
            (FOLDER / name).write_bytes(data)
        elif (FOLDER / name).read_bytes() != data:
            sys.exit(f"{FOLDER / name}: is not what serial_corpus.py makes; run serial_corpus.py write")


if len(sys.argv) != 2 or sys.argv[1] not in ("write", "check"):
    sys.exit(__doc__)
main(sys.argv[1])
