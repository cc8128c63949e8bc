# Reads the event files in a folder, with every CRC checked, and prints a line for each scalar in order:
#
#     STEP TAG VALUE      VALUE in 9 digits; the rates, which are times, are left out
#
# and behind them `files N`, `starts STEP...` (purge steps) and `rates N`. A damaged file, or a scalar that a step has twice, ends
# it with one line. With --tensorboard the lines are those of TensorBoard's own reader, without the last three.
import os
import struct
import sys

TABLE = []
for number in range(256):
    for _ in range(8):
        number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def masked(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    data = open(path, "rb").read()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        assert masked(data[at : at + 8]) == struct.unpack_from("<I", data, at + 8)[0], f"{path}: CRC of the length at {at}"
        body = data[at + 12 : at + 12 + length]
        assert len(body) == length, f"{path}: a record at {at} is cut off"
        assert masked(body) == struct.unpack_from("<I", data, at + 12 + length)[0], f"{path}: CRC of the record at {at}"
        yield body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


# fields DATA: number and value of each field: bytes, or a number
def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            assert kind == 2, f"field {key >> 3} has the wire type {kind}"
            length, at = varint(data, at)
            assert at + length <= len(data), f"field {key >> 3} is cut off"
            value, at = data[at : at + length], at + length
        yield key >> 3, value


def ours(folder):
    scalars, starts = [], []
    files = sorted(name for name in os.listdir(folder) if "tfevents" in name)
    for name in files:
        last_time, number = 0, 0
        for number, record in enumerate(records(os.path.join(folder, name))):
            event = dict(fields(record))
            assert event[1] >= last_time > -1 and event[1] > 1.5e9, f"{name}: the time of record {number}"
            last_time = event[1]
            if number == 0:
                assert event[3] == b"brain.Event:2", f"{name}: begins without a version"
            if 7 in event:
                assert dict(fields(event[7]))[1] == 1, f"{name}: a session that does not start"
                starts.append(event[2])
            for field, value in fields(event.get(5, b"")):
                assert field == 1, f"{name}: field {field} of a summary"
                value = dict(fields(value))
                scalars.append((event[2], value[1].decode(), value[2]))
    return scalars, starts, len(files)


def theirs(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(folder, size_guidance={"scalars": 0})
    accumulator.Reload()
    return [(e.step, tag, e.value) for tag in accumulator.Tags()["scalars"] for e in accumulator.Scalars(tag)]


if sys.argv[1] == "--tensorboard":
    scalars, rest = theirs(sys.argv[2]), []
else:
    scalars, starts, files = ours(sys.argv[1])
    rates = [value for _, tag, value in scalars if tag.endswith("_per_second")]
    assert all(value > 0 for value in rates), "a rate that is not positive"
    rest = [f"files {files}", " ".join(["starts", *map(str, starts)]), f"rates {len(rates)}"]
lines = [(step, tag, "%.9g" % value) for step, tag, value in scalars if not tag.endswith("_per_second")]
seen = [(step, tag) for step, tag, _ in lines]
assert len(set(seen)) == len(seen), "a step is there twice: %s" % [s for s in seen if seen.count(s) > 1][:3]
for line in sorted(lines):
    print(*line)
for line in rest:
    print(line)
