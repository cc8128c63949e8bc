"""A second Firn, written from the documents alone: runs train steps of a plan and prints their losses and the digest.

    second_runtime.py PLAN --data FILE [--data FILE]... [--labels FILE] [--sample-weights FILE] --steps N [--per-tensor]
                      [--evaluate PLAN] [--decode PLAN --prompt TEXT --tokens N [--sampling T K P SEED] [--scores NPY]]

It knows plan/NUMERICS.md, plan/FORMAT.md and the tables that they name (plan/plan.fbs, plan/ops.def), which it reads, and no
source of libfirn or firnc. What it computes is therefore evidence that the documents say everything. It checks no signature and
trusts the plan. Tensors do not share memory here, so wrong offsets in a plan or a kernel that reads what is no longer there
show as another digest.

The order of this file: the container and the schema; the table of ops; arithmetic; elementary functions; sums; random
numbers; schedules; data; ops; optimizers; metrics; the step.

Arithmetic. binary32 sums, products, quotients and roots are numpy's, which are IEEE 754's. A fused multiply-add is the product
in binary64, which is exact, plus the addend, rounded to odd in binary64 and then once to the type wanted.
"""
import argparse, hashlib, math, re, struct, sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

ROOT = Path(__file__).resolve().parents[2]

np.seterr(all="ignore")


# --- the container and the schema -------------------------------------------------------------------------------------


class Schema:
    """plan.fbs: enumerations, structs and tables. The id of a field is its place in the table."""

    SCALARS = {"bool": "?", "byte": "b", "ubyte": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q",
               "ulong": "Q", "float": "f", "double": "d"}

    def __init__(self, text):
        text = re.sub(r"//[^\n]*", "", text)
        self.root = re.search(r"root_type\s+(\w+)", text)[1]
        self.identifier = re.search(r'file_identifier\s+"(\w+)"', text)[1].encode()
        self.enums = {}
        for name, base, body in re.findall(r"enum\s+(\w+)\s*:\s*(\w+)\s*(?:\([^)]*\)\s*)?\{([^}]*)\}", text):
            self.enums[name] = (base, [word.strip() for word in body.split(",") if word.strip()])
        self.structs = self.blocks("struct", text)
        self.tables = self.blocks("table", text)

    @staticmethod
    def blocks(kind, text):
        found = {}
        for name, body in re.findall(rf"{kind}\s+(\w+)\s*(?:\([^)]*\)\s*)?\{{([^}}]*)\}}", text):
            fields = re.findall(r"(\w+)\s*:\s*([\[\]\w]+)\s*(?:=\s*([\w.+-]+))?[^;]*;", body)
            found[name] = [SimpleNamespace(name=n, type=t, default=d) for n, t, d in fields]
        return found

    def layout(self, name):
        """Size, alignment and the offsets of the members of a struct; for a scalar, its size twice."""
        if name in self.structs:
            at, alignment, offsets = 0, 1, []
            for member in self.structs[name]:
                size, align, _ = self.layout(member.type)
                at += -at % align
                offsets.append(at)
                at, alignment = at + size, max(alignment, align)
            return at + -at % alignment, alignment, offsets
        size = struct.calcsize("<" + self.SCALARS[self.enums[name][0] if name in self.enums else name])
        return size, size, []


class Reader:
    """Reads the tables of a FlatBuffers buffer, with the names of a schema. Enumerations become their words."""

    def __init__(self, schema, data):
        self.schema, self.data = schema, data
        if data[4:8] != schema.identifier:
            raise SystemExit("the payload is not a plan")

    def root(self):
        return self.table(self.schema.root, self.offset(0))

    def number(self, code, at):
        return struct.unpack_from("<" + code, self.data, at)[0]

    def offset(self, at):
        return at + self.number("I", at)

    def is_inline(self, name):
        return name in self.schema.SCALARS or name in self.schema.enums or name in self.schema.structs

    def inline(self, name, at):
        schema = self.schema
        if name in schema.structs:
            offsets = schema.layout(name)[2]
            return SimpleNamespace(**{m.name: self.inline(m.type, at + o) for m, o in zip(schema.structs[name], offsets)})
        if name in schema.enums:
            base, words = schema.enums[name]
            return words[self.number(schema.SCALARS[base], at)]
        number = self.number(schema.SCALARS[name], at)
        return np.float64(number) if name == "double" else number

    def reference(self, name, at):
        if name == "string":
            return bytes(self.data[at + 4 : at + 4 + self.number("I", at)]).decode("ascii")
        return self.table(name, at)

    def vector(self, name, at):
        count, at = self.number("I", at), at + 4
        if self.is_inline(name):
            size = self.schema.layout(name)[0]
            return [self.inline(name, at + size * i) for i in range(count)]
        return [self.reference(name, self.offset(at + 4 * i)) for i in range(count)]

    def default(self, field):
        if field.type in self.schema.enums:
            words = self.schema.enums[field.type][1]
            return field.default or words[0]
        if field.type in self.schema.SCALARS:
            if field.default in ("true", "false"):
                return field.default == "true"
            return (float if field.type in ("float", "double") else int)(field.default or 0)
        return [] if field.type.startswith("[") else None

    def table(self, name, at):
        vtable = at - self.number("i", at)
        size = self.number("H", vtable)
        values = {}
        for slot, field in enumerate(self.schema.tables[name]):
            entry = 4 + 2 * slot
            place = self.number("H", vtable + entry) if entry < size else 0
            if place == 0:
                values[field.name] = self.default(field)
            elif field.type.startswith("["):
                values[field.name] = self.vector(field.type[1:-1], self.offset(at + place))
            elif self.is_inline(field.type):
                values[field.name] = self.inline(field.type, at + place)
            else:
                values[field.name] = self.reference(field.type, self.offset(at + place))
        return SimpleNamespace(**values)


def picked(table, names):
    return SimpleNamespace(**{name: getattr(table, name) for name in names.split()})


class Plan:
    """What the rest of this file knows of a plan. All knowledge of the file's layout and of the schema's fields is here."""

    PAYLOAD = 576
    FLATBUFFERS_BYTES, CONSTANTS_OFFSET, CONSTANTS_BYTES, REGIONS, REGION_KINDS, REGION_BYTES = 216, 224, 232, 280, 284, 304
    ABSENT = 4294967295

    def __init__(self, path, rows):
        data = Path(path).read_bytes()
        if data[:8] != b"FIRNPLAN" or struct.unpack_from("<I", data, 8)[0] != 2:
            raise SystemExit(f"{path}: not a plan of format 2")
        size, offset, constants = (struct.unpack_from("<Q", data, at)[0]
                                   for at in (self.FLATBUFFERS_BYTES, self.CONSTANTS_OFFSET, self.CONSTANTS_BYTES))
        schema = Schema((ROOT / "plan/plan.fbs").read_text())
        root = Reader(schema, data[self.PAYLOAD : self.PAYLOAD + size]).root()
        if root.numerics_version != 1:
            raise SystemExit(f"{path}: not a plan of numerics 1")
        self.element_types, self.clippings = schema.enums["ElementType"][1], schema.enums["Clipping"][1]
        self.constants = data[offset : offset + constants]
        self.tensors = [SimpleNamespace(index=i, name=t.name, type=t.type, dims=tuple(t.dims), offset=t.offset,
                                        base=None if t.base == self.ABSENT else t.base)
                        for i, t in enumerate(root.tensors)]
        self.state = self.tensors[: root.state_tensors]
        self.parameters = {t.name: t.index for t, listed in zip(self.state, root.tensors) if listed.role in ("parameter", "buffer")}
        self.region_kinds = schema.enums["RegionKind"][1]
        self.in_place = self.constant_tensors(root, data)
        self.seed, self.steps, self.micro_batches, self.check_loss = root.seed, root.steps, root.micro_batches, root.check_loss
        self.phases = {p.kind: [self.op(op, rows) for op in p.ops] for p in root.phases}
        self.inputs = [picked(data, "tensor stream element advance scale shift") for data in root.inputs]
        self.loss, self.losses_added, self.micro_batch_order = root.loss, root.losses_added, root.micro_batch_order
        self.logits = root.outputs[0].tensor if root.outputs else None
        pushed = root.sampler.pushed != self.ABSENT
        self.ring = self.tensors[root.inputs[0].ring].dims[0] if pushed else None
        self.sampler = picked(root.sampler, "kind unit part epoch_end window stride samples held_out_per_mille seed cursor counted")
        self.schedules = [picked(schedule, "root tensor") for schedule in root.schedules]
        self.schedule_nodes = [picked(node, "kind mode first_child child_count total start auxiliary initial final rate power")
                               for node in root.schedule_nodes]
        self.schedule_numbers = [number.value for number in root.schedule_numbers]
        self.schedule_instructions = [picked(instruction, "operation value") for instruction in root.schedule_instructions]
        self.initialisers = [picked(initialiser, "rule element rng_id a b integer weights low high") for initialiser in root.initialisers]
        self.metric = picked(root.metrics[0], "kind sum count beta ignore_classes") if root.metrics else None
        self.global_step, self.optimizer_step, self.finite = root.global_step, root.optimizer_step, root.finite
        self.skips = root.finite != self.ABSENT
        self.at_floor = None if root.at_floor == self.ABSENT else root.at_floor

    def elements(self, kind, offset, count):
        """Of the constants, half types widened."""
        if kind in HALF_TYPES:
            return widened(kind, np.frombuffer(self.constants, "<u2", count, offset))
        return np.frombuffer(self.constants, {"int32": "<i4", "float32": "<f4"}[kind], count, offset)

    def constant_tensors(self, root, data):
        """The tensors that lie in the constants, by index. Each region of them begins at the next multiple of 64."""
        begins, end = {}, 0
        for region in range(struct.unpack_from("<I", data, self.REGIONS)[0]):
            if self.region_kinds[data[self.REGION_KINDS + region]] in ("constant", "slow_constant"):
                begins[region] = end
                end += -(-struct.unpack_from("<Q", data, self.REGION_BYTES + 8 * region)[0] // 64) * 64
        return {i: self.elements(t.type, begins[t.region] + t.offset, int(np.prod(t.dims))).reshape(tuple(t.dims))
                for i, t in enumerate(root.tensors) if t.region in begins and t.base == self.ABSENT}

    def op(self, op, rows):
        row = rows[op.code]
        types = self.element_types
        attributes = dict(zip(row.integers, op.integers))
        attributes.update({name: types[value] for name, value in attributes.items() if row.integers[name] == "type"})
        attributes.update({name: np.float32(value) for name, value in zip(row.reals, op.reals)})
        inputs = {name: tensor for name, tensor in zip(row.inputs, op.inputs) if tensor != self.ABSENT}
        return SimpleNamespace(name=row.name, inputs=inputs, operands=list(op.inputs),
                               outputs=dict(zip(row.outputs, op.outputs)), attributes=attributes,
                               reductions={name: self.reduction(each) for name, each in zip(row.reductions, op.reductions)})

    def reduction(self, reduction):
        """The terms of a chunk, 0 for one chunk of all, and the type that each sum of a chunk rounds to."""
        if reduction.kind not in ("f32", "chunked", "even_odd_blocks", "pairs"):
            raise SystemExit(f"a reduction of kind {reduction.kind}")
        return SimpleNamespace(kind=reduction.kind, chunk=reduction.chunk if reduction.kind == "chunked" else 0,
                               accumulator=reduction.accumulator if reduction.kind == "chunked" else "float32")


# --- the table of ops -------------------------------------------------------------------------------------------------


def op_rows():
    """The rows of ops.def by code: the names of operands, attributes and reductions, in order."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "plan/ops.def").read_text(), flags=re.S)
    rows = {}
    for name, code, rest in re.findall(r"^FIRN_OP\((\w+), (\d+),(.*?)\)(?=\s*(?:^FIRN_OP|\Z))", text, flags=re.S | re.M):
        columns = {key: "".join(re.findall(r'"([^"]*)"', value))
                   for key, value in re.findall(r'\.(\w+) = ((?:"[^"]*"\s*)+)', rest)}
        words = {key: re.sub(r"\[[^]]*\]", "[]", value).split() for key, value in columns.items()}
        pairs = lambda key: dict((word + ":").split(":")[:2] for word in words.get(key, []))
        rows[int(code)] = SimpleNamespace(name=name, inputs=list(pairs("inputs")), outputs=list(pairs("outputs")),
                                          integers=pairs("integers"), reals=list(pairs("reals")),
                                          reductions=list(pairs("reductions")))
    return rows


# --- arithmetic -------------------------------------------------------------------------------------------------------

F32 = np.float32
F64 = np.float64
# Significant bits and the exponent of the smallest normal number, by NUMERICS.md, "Half types".
HALF_TYPES = {"float16": (11, -14), "bfloat16": (8, -126), "cbfloat16": (10, -30)}
LARGEST = {"float16": 65504.0, "bfloat16": (2 - 2.0**-7) * 2.0**127, "cbfloat16": 4290772992.0}


def odd_sum(product, addend):
    """product + addend of binary64 numbers, rounded to odd: towards 0, and then the last bit is 1 where bits are lost."""
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    lost = np.abs(error) > 0
    beyond = lost & ((error > 0) != (total > 0))
    return ((total.view(np.int64) - beyond) | lost).view(F64)


def round64(x, kind):
    """binary64 numbers rounded once to a type, as binary64."""
    if kind == "float32":
        return x.astype(F32).astype(F64)
    significant, exponent = HALF_TYPES[kind]
    power = (x.view(np.int64) & 0x7FF0000000000000).view(F64)
    unit = np.maximum(power, 2.0**exponent) * 2.0 ** (1 - significant)
    magic = unit * (1.5 * 2.0**52)
    near = np.copysign((x + magic) - magic, x)
    near = np.where(np.abs(near) > LARGEST[kind], np.copysign(np.inf, x), near)
    return np.where(np.isfinite(x), near, x)


def round_to(kind, x):
    """binary32 numbers rounded to a type, as binary32."""
    return x if kind == "float32" else round64(x.astype(F64), kind).astype(F32)


def widened(kind, bits):
    """The numbers of a half type that these 16 bits are, as binary32."""
    significant, least = HALF_TYPES[kind]
    bits = bits.astype(np.int64)
    fraction, field = bits & (1 << significant - 1) - 1, bits >> significant - 1 & (1 << 16 - significant) - 1
    number = np.where(field == 0, fraction, fraction + (1 << significant - 1)).astype(F64)
    value = np.ldexp(number, least - significant + np.maximum(field, 1))
    special = field == (1 << 16 - significant) - 1
    value = np.where(special, np.where(fraction == 0, np.inf, np.nan), value)
    return np.where(bits >> 15 == 1, -value, value).astype(F32)


def fma(a, b, c):
    return odd_sum(np.multiply(a, b, dtype=F64), np.asarray(c, F64)).astype(F32)


def limit(x, low=None, high=None):
    if low is not None:
        x = np.where(x < F32(low), F32(low), x)
    return x if high is None else np.where(x > F32(high), F32(high), x)


def maximum(a, b):
    return np.where(a > b, a, np.where(b >= a, b, F32(np.nan)))


def bits_of(x):
    """The bits of a binary32 array, NaN canonical."""
    x = np.ascontiguousarray(x, F32)
    return np.where(np.isnan(x), np.uint32(0x7FC00000), x.view(np.uint32))


# --- elementary functions ---------------------------------------------------------------------------------------------


def read_constants():
    block = re.search(r"```constants\n(.*?)```", (ROOT / "plan/NUMERICS.md").read_text(), flags=re.S)[1]
    lines = (line.split(":") for line in block.strip().splitlines())
    return {name: [F32(float.fromhex(word)) for word in values.split()] for name, values in lines}


TABLE = read_constants()
K = {name: values[0] for name, values in TABLE.items()}
ONE, HALF, ROUNDER = F32(1), F32(0.5), F32(float.fromhex("0x1.8p+23"))


def poly(name, x):
    q = np.broadcast_to(TABLE[name][-1], x.shape)
    for c in TABLE[name][-2::-1]:
        q = fma(q, x, c)
    return q


def nearest_integer(a, b):
    """fma(a, b, M) - M, and that integer."""
    n = fma(a, b, ROUNDER) - ROUNDER
    return n, np.where(np.isfinite(n), n, 0).astype(np.int64)


def power_of_two(n):
    return np.ldexp(ONE, n.astype(np.int32))


def exp(x):
    x = limit(x, -105, 89)
    big_n, n = nearest_integer(x, K["1/ln2"])
    high = fma(big_n, -K["ln2"], x)
    low = big_n * -K["ln2 rest"]
    r = high + low
    q = poly("exp", r)
    total = ONE + high
    error = (ONE - total) + high
    y = total + fma(r * r, q, low + error)
    m = (n + 254) // 2
    return (y * power_of_two(m - 127)) * power_of_two(n + 127 - m)


def log(x):
    m, k = np.frexp(np.where((x > 0) & np.isfinite(x), x, ONE))
    small = m < K["sqrt(1/2)"]
    m, k = np.where(small, m * F32(2), m), np.where(small, k - 1, k).astype(F32)
    f = m - ONE
    q = poly("log", f)
    large = k * K["ln2 16 bits"]
    total = large + f
    error = (large - total) + f
    y = total + fma(f * f, q, fma(k, K["ln2 16 bits rest"], error))
    y = np.where(np.isposinf(x), x, np.where(x == 0, F32(-np.inf), y))
    return np.where((x < 0) | np.isnan(x), F32(np.nan), y)


def tanh(x):
    a = np.abs(x)
    near = np.where(a < 1, a, 0).astype(F32)
    z = near * near
    y = np.where(a < 1, fma(near * z, poly("tanh", z), near), ONE - F32(2) / (exp(F32(2) * a) + ONE))
    return np.copysign(y, x)


def erf(x):
    a = np.abs(x)
    near = np.where(a < 1, a, 0).astype(F32)
    far = limit(np.where(a < 1, ONE, a), high=4)
    y = np.where(a < 1, fma(near, poly("erf near", near * near), near), fma(exp(-poly("erf far", far)), F32(-0.125), ONE))
    return np.copysign(y, x)


def quadrant(n, sine, cosine):
    """S, C, -S, -C for n mod 4."""
    return np.select([n % 4 == 0, n % 4 == 1, n % 4 == 2], [sine, cosine, -sine], -cosine)


def turns(t, j):
    big_n, n = nearest_integer(t, F32(4))
    r = fma(big_n, F32(-0.25), t)
    z = r * r
    sine = fma(r, K["2pi"], r * fma(poly("sin", z), z, K["2pi rest"]))
    cosine = fma(poly("cos", z), z, ONE)
    y = quadrant(n + j, sine, cosine) + F32(0)
    return np.where((t >= 0) & (t <= 1), y, F32(np.nan))


def sin_turns(t):
    return turns(t, 0)


def cos_turns(t):
    return turns(t, 1)


def inverse_of_two_pi(bits):
    """floor(2^bits / (2 pi)), by Machin's formula."""
    guard = bits + 32

    def arctan_of_inverse(x):
        term = total = (1 << guard) // x
        n, sign = 3, -1
        while term:
            term //= x * x
            total += sign * (term // n)
            n, sign = n + 2, -sign
        return total

    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    return (1 << (bits + guard)) // (2 * pi)


INVERSE_BITS = 320
INVERSE_OF_TWO_PI = inverse_of_two_pi(INVERSE_BITS)


def reduced_angle(a):
    """a = m 2^e of at least 2^-10 in quarter turns: n, and the rest as r and low in turns."""
    mantissa, e = np.frexp(a)
    m, e = int(mantissa * 2**24), int(e) - 24
    w = (INVERSE_OF_TWO_PI >> (INVERSE_BITS - e - 96)) % 2**96
    f = (m * w >> 32) % 2**64
    n = (f + 2**61) >> 62
    g = abs(f - (n << 62))
    first, second, third = (g >> 38) * 2.0**-26, ((g >> 14) % 2**24) * 2.0**-50, (g % 2**14) * 2.0**-64
    r = F32(first) + F32(second)
    low = ((F32(first) - r) + F32(second)) + F32(third)
    sign = F32(-1 if f < n << 62 else 1)
    return n, r * sign, low * sign


def radians(x, j):
    a = np.abs(x)
    near = np.where(a < 2.0**-10, a, 0).astype(F32)
    small = fma(near * near, F32(-0.5), ONE) if j else fma(near * (near * near), -K["1/6"], near)
    parts = [reduced_angle(v) if 2.0**-10 <= v < np.inf else (0, F32(0), F32(0)) for v in a.ravel()]
    n, r, low = (np.array(column, kind).reshape(a.shape) for column, kind in zip(zip(*parts), (np.int64, F32, F32)))
    z = fma(r, low + low, r * r)
    sine = fma(r, K["2pi"], fma(r, fma(poly("sin", z), z, K["2pi rest"]), low * K["2pi"]))
    cosine = fma(poly("cos", z), z, ONE)
    y = np.where(a < 2.0**-10, small, quadrant(n + j, sine, cosine))
    y = y if j else np.where(np.signbit(x), -y, y)
    return np.where(np.isfinite(x), y, F32(np.nan))


def sin(x):
    return radians(x, 0)


def cos(x):
    return radians(x, 1)


def atan(x):
    a = np.abs(x)
    t = np.where(a > 1, ONE / a, a)
    z = t * t
    angle = fma(t * z, poly("atan", z), t)
    return np.copysign(np.where(a > 1, K["pi/2"] - (angle - K["pi/2 rest"]), angle), x)


def log_one_plus(x):
    total = ONE + x
    part = total - ONE
    error = (ONE - (total - part)) + (x - part)
    y = log(total)
    return np.where((total > 0) & (total < np.inf), y + error / total, y)


def logistic(x):
    """1 / (1 + exp(-|x|)), and exp(-|x|) times that."""
    e = exp(-np.abs(x))
    larger = ONE / (ONE + e)
    return larger, e * larger


def sigmoid(x):
    larger, smaller = logistic(x)
    return np.where(x < 0, smaller, larger)


def silu(x):
    x = limit(x, -105)
    return x * sigmoid(x)


def silu_slope(x):
    x = limit(x, -105, 105)
    larger, smaller = logistic(x)
    return fma(x, larger * smaller, np.where(x < 0, smaller, larger))


def log_of_one_plus(x):
    """L(x) of NUMERICS.md."""
    e = exp(-np.abs(x))
    total = ONE + e
    error = e - (total - ONE)
    return log(total) + error / total


def softplus(x):
    return np.where(x > 0, x, F32(0)) + log_of_one_plus(x)


def gelu(x):
    x = limit(x, -16)
    h = x * HALF
    return fma(h, erf(x * K["sqrt(1/2)"]), h)


def gelu_slope(x):
    x = limit(x, -16, 16)
    d = exp((-HALF * x) * x) * K["1/sqrt(2pi)"]
    return fma(x, d, fma(HALF, erf(x * K["sqrt(1/2)"]), HALF))


def gelu_exponent(x):
    return x * fma(x * x, -K["gelu cubic 2"], -K["sqrt(2/pi) 2"])


def gelu_tanh(x):
    x = limit(x, -16)
    return x / (ONE + exp(gelu_exponent(x)))


def gelu_tanh_slope(x):
    x = limit(x, -16, 16)
    v = gelu_exponent(x)
    larger, smaller = logistic(v)
    inner = fma(x * x, K["gelu cubic 6"], K["sqrt(2/pi) 2"])
    return fma(x * (larger * smaller), inner, np.where(x < 0, smaller, larger))


# --- sums -------------------------------------------------------------------------------------------------------------


def lane_sum(x):
    """`sum` of NUMERICS.md over the last dimension: blocks of 4,096, 64 lanes, folded."""
    rows, count = x.shape[:-1], x.shape[-1]
    blocks = -(-count // 4096)
    padded = np.zeros(rows + (blocks * 4096,), F32)
    padded[..., :count] = x
    padded = padded.reshape(rows + (blocks, 64, 64))
    lanes = np.zeros(rows + (blocks, 64), F32)
    for i in range(min(64, -(-count // 64))):
        lanes = lanes + padded[..., i, :]
    half = 32
    while half:
        lanes = lanes[..., :half] + lanes[..., half : 2 * half]
        half //= 2
    result = np.zeros(rows, F32)
    for block in range(blocks):
        result = result + lanes[..., block, 0]
    return result


def lane_sum_of_all(x):
    return lane_sum(x.reshape(1, -1))


def ascending(x):
    """The sum over the first dimension in order."""
    acc = np.zeros(x.shape[1:], F32)
    for part in x:
        acc = acc + part
    return acc


def flushed(x):
    """A binary64 number that is tiny as a binary32 one becomes a zero of its sign."""
    return np.where(np.abs(x) < 2.0**-126 - 2.0**-151, np.copysign(0.0, x), x)


def flushed_fma(a, b, c):
    """Not less than binary64 is needed to tell what is tiny: rounded to odd, the sum lies on its side of the limit."""
    return flushed(odd_sum(np.broadcast_to(a * b, c.shape), c)).astype(F32).astype(F64)


def flushed_sum(reduction, count, factors, shape, present, start=None):
    """The flushed sums. An output has a block where it has a term of it; factors(k) are then those of all outputs."""
    block = 32 if reduction.kind == "even_odd_blocks" else 2
    whole = np.zeros(shape, F64) if start is None else start.astype(F64)
    for begin in range(0, count, block):
        here, terms = np.zeros(shape, bool), [(np.zeros(()), np.zeros(()))] * block
        for k in range(begin, min(count, begin + block)):
            here[present(k)] = True
            a, b = (np.asarray(x, F64) for x in factors(k))
            a, b = round64(a, "bfloat16"), round64(b, "bfloat16")
            terms[k - begin] = [np.where(np.abs(x) < 2.0**-126, np.copysign(0.0, x), x) for x in (a, b)]
        if reduction.kind == "pairs":
            added = flushed_fma(*terms[0], flushed_fma(*terms[1], whole))
        else:
            sums = [np.zeros(shape, F64), np.zeros(shape, F64)]
            for i, (a, b) in enumerate(terms):
                sums[i % 2] = flushed_fma(a, b, sums[i % 2])
            one = np.ones(())
            added = flushed_fma(one, flushed_fma(one, sums[0], sums[1]), whole)
        whole = np.where(here, added, whole)
    return whole.astype(F32)


def reduce(reduction, count, factors, shape, present=lambda k: ..., every=None, start=None):
    """The dot products of an op: factors(k) are the two factors of term k, present(k) the outputs that have it. every(k) are
    those of all outputs, where not all have it: what is absent is 0. The sums continue from start, +0 without it."""
    if reduction.kind in ("even_odd_blocks", "pairs"):
        return flushed_sum(reduction, count, every or factors, shape, present, start)
    chunk = reduction.chunk or max(count, 1)
    whole = np.zeros(shape, F32) if start is None else start
    for begin in range(0, count, chunk):
        acc = np.zeros(shape, F64) if reduction.chunk else whole.astype(F64)
        for k in range(begin, min(count, begin + chunk)):
            where = present(k)
            a, b = factors(k)
            acc[where] = round64(odd_sum(a * b, acc[where]), reduction.accumulator)
        whole = whole + acc.astype(F32) if reduction.chunk else acc.astype(F32)
    return whole


# --- random numbers ---------------------------------------------------------------------------------------------------


def philox(counter, key):
    """Philox 4x32-10 of arrays of words."""
    mask = np.uint64(0xFFFFFFFF)
    shape = np.broadcast_shapes(*(np.shape(word) for word in counter))
    c = [np.broadcast_to(np.asarray(word, np.uint64), shape) for word in counter]
    k0, k1 = key
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & mask, (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def key_of(seed):
    return seed & 0xFFFFFFFF, seed >> 32


class Random:
    """Draws for one tensor at one step."""

    def __init__(self, seed, step=0, micro_step=0):
        self.key = key_of(seed)
        self.low, self.high = step & 0xFFFFFFFF, (micro_step & 0xFFFF) + ((step >> 32) & 0xFFFF) * 65536

    def words(self, rng_id, element):
        element = np.asarray(element, np.uint64)
        return philox([(element // np.uint64(4)) & np.uint64(0xFFFFFFFF), rng_id, self.low, self.high], self.key)

    def uniform(self, rng_id, element):
        words = self.words(rng_id, element)
        bits = np.choose((np.asarray(element) % 4).astype(np.int64), words)
        return (bits >> np.uint64(8)).astype(F32) * F32(2.0**-24)

    def normal(self, rng_id, element):
        words = self.words(rng_id, element)
        second_pair = np.asarray(element) % 4 >= 2
        first, second = (np.where(second_pair, words[p + 2], words[p]) >> np.uint64(8) for p in (0, 1))
        u1 = (first + np.uint64(1)).astype(F32) * F32(2.0**-24)
        u2 = second.astype(F32) * F32(2.0**-24)
        radius = np.sqrt(F32(-2) * log(u1))
        return radius * np.where(np.asarray(element) % 2 == 0, cos_turns(u2), sin_turns(u2))


def permuted(index, count, seed, epoch):
    """Where the permutation of [0, count) takes index."""
    b = (count - 1).bit_length()
    left_bits = b // 2
    right_bits = b - left_bits
    while True:
        left, right = index >> right_bits, index & ((1 << right_bits) - 1)
        for j in range(8):
            x = left if j % 2 == 0 else right
            word = int(philox([x, 0xFFFFFF00 + j, epoch & 0xFFFFFFFF, epoch >> 32], key_of(seed))[0])
            if j % 2 == 0:
                right ^= word & ((1 << right_bits) - 1)
            else:
                left ^= word & ((1 << left_bits) - 1)
        index = (left << right_bits) | right
        if index < count:
            return index


# --- schedules: binary64 ----------------------------------------------------------------------------------------------


def power_series(x, coefficients):
    """Horner's rule with a product and a sum for each step."""
    s = coefficients[0]
    for c in coefficients[1:]:
        s = s * x + c
    return s


SINE_SERIES = [sign * (F64(1) / F64(math.factorial(n))) for n, sign in zip(range(17, 1, -2), [1, -1] * 4)]
EXP_SERIES = [F64(1) / F64(math.factorial(n)) for n in range(14, -1, -1)]
LOG_SERIES = [F64(1) / F64(n) for n in range(23, 1, -2)]
LN2_HIGH, LN2_LOW = F64(float.fromhex("0x1.62e42feep-1")), F64(float.fromhex("0x1.a39ef35793c76p-33"))


def quarter_sine(y):
    """S(y): sin(pi y / 2) for 0 <= y <= 1/2."""
    a = y * F64(float.fromhex("0x1.921fb54442d18p+0"))
    w = a * a
    return a + (a * w) * power_series(w, SINE_SERIES)


def floor64(x):
    return np.floor(x) + F64(0)


def exp64(x):
    if np.isnan(x):
        return x
    if x < -708 or x > 709:
        return F64(0) if x < 0 else F64(np.inf)
    n = floor64(x * F64(float.fromhex("0x1.71547652b82fep+0")) + F64(0.5))
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    return power_series(r, EXP_SERIES) * F64(2.0 ** int(n))


def log64(x):
    if np.isnan(x) or x < 0:
        return F64(np.nan)
    if x == 0 or np.isinf(x):
        return F64(np.inf) if x > 0 else F64(-np.inf)
    m, k = np.frexp(x)
    m, k = m * 2, F64(int(k) - 1)
    if m > float.fromhex("0x1.6a09e667f3bcdp+0"):
        m, k = m * F64(0.5), k + 1
    s = (m - 1) / (m + 1)
    w = s * s
    d = s + s
    return k * LN2_HIGH + (d + ((d * w) * power_series(w, LOG_SERIES) + k * LN2_LOW))


def square_root64(x):
    if np.isnan(x) or x < 0:
        return F64(np.nan)
    if x < 2.0**-1022 or np.isinf(x):
        return x if x > 1 else F64(0)
    r = np.int64((int(F64(x).view(np.int64)) >> 1) + 0x1FF7A3BEA91D9B1B).view(F64)
    for _ in range(5):
        r = F64(0.5) * (r + x / r)
    return r


def power64(x, y):
    if 0 <= y <= 64 and y == np.floor(y):
        p, bits = F64(1), int(y)
        while bits:
            p, x, bits = (p * x if bits & 1 else p), x * x, bits >> 1
        return p
    whole = y == np.floor(y)
    if np.isnan(x) or np.isnan(y) or (x < 0 and not whole):
        return F64(np.nan)
    if x == 0:
        return F64(np.inf if y < 0 else 0)
    result = exp64(y * log64(np.abs(x)))
    return -result if x < 0 and whole and y % 2 == 1 else result


def circular64(x, cosine):
    q = np.abs(x) * F64(float.fromhex("0x1.45f306dc9c883p-1"))
    if not q < 2.0**52:
        return F64(np.nan)
    whole = np.floor(q)
    quarter = (int(whole) + cosine) % 4
    f = q - whole
    f = 1 - f if quarter % 2 else f
    if f <= 0.5:
        s = quarter_sine(f)
    else:
        h = quarter_sine((1 - f) * F64(0.5))
        s = 1 - 2 * (h * h)
    s = -s if quarter >= 2 else s
    return -s if x < 0 and not cosine else s


def cosine_shares(t, whole):
    """C(t, T)."""
    left = whole - t
    if left <= t:
        s = quarter_sine(F64(left) / F64(whole))
        return s * s, 1 - s * s
    s = quarter_sine(F64(t) / F64(whole))
    return 1 - s * s, s * s


def mixed(node, shares):
    return node.initial * shares[0] + node.final * shares[1]


class Schedules:
    """The nodes of a plan. mode, total, auxiliary and the other fields of a node are those of NUMERICS.md."""

    def __init__(self, nodes, numbers, instructions):
        self.nodes, self.numbers, self.instructions = nodes, numbers, instructions

    def value(self, index, t, v=F64(1)):
        node = self.nodes[index]
        children = range(node.first_child, node.first_child + node.child_count)
        if node.kind == "product":
            v = (v * node.initial) / node.final
            for child in children:
                v = self.value(child, t, v)
            return v
        if node.kind == "sequential":
            starts = [0] + [self.nodes[child].start for child in children[1:]]
            last = max(i for i, start in enumerate(starts) if start <= t)
            return self.value(children[last], t - starts[last], v)
        return v * getattr(self, node.kind)(node, t)

    def begun(self, node, t):
        """How many of the node's milestones are at most t."""
        return sum(milestone <= t for milestone in self.numbers[node.auxiliary : node.auxiliary + node.total])

    def constant(self, node, t):
        return node.initial

    def linear(self, node, t):
        if t >= node.total:
            return mixed(node, (0, 1))
        return mixed(node, (F64(node.total - t) / F64(node.total), F64(t) / F64(node.total)))

    def cosine(self, node, t):
        return mixed(node, (0, 1) if t >= node.total else cosine_shares(t, node.total))

    def cosine_periodic(self, node, t):
        if node.mode == 1:
            p = t % node.total
        else:
            p = t % (2 * node.total)
            p = 2 * node.total - p if p > node.total else p
        return mixed(node, cosine_shares(p, node.total))

    def polynomial(self, node, t):
        if t >= node.total:
            return node.final
        share = power64(F64(node.total - t) / F64(node.total), node.power)
        return (node.initial - node.final) * share + node.final

    def exponential(self, node, t):
        return node.initial * power64(node.rate, F64(t // node.total) if node.mode == 1 else F64(t) / F64(node.total))

    def inverse_time(self, node, t):
        q = power64(F64(t), node.power) / F64(node.total)
        if node.mode == 1:
            q = floor64(q if node.power == np.floor(node.power) else q + q * F64(2.0**-44))
        return node.initial / (1 + node.rate * q)

    def inverse_square_root(self, node, t):
        return (node.initial * node.rate) / square_root64(F64(max(t, node.total)))

    def multi_step(self, node, t):
        return node.initial * power64(node.rate, F64(self.begun(node, t)))

    def piecewise(self, node, t):
        return self.numbers[node.auxiliary + node.total + self.begun(node, t)]

    def table(self, node, t):
        return self.numbers[node.auxiliary + min(t, node.total - 1)]

    def expression(self, node, t):
        one = {"step": lambda: F64(t)}
        unary = {"negate": lambda a: -a, "exp": exp64, "log": log64, "square_root": square_root64, "floor": floor64,
                 "sine": lambda a: circular64(a, 0), "cosine": lambda a: circular64(a, 1)}
        binary = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
                  "divide": lambda a, b: a / b, "power": power64, "minimum": lambda a, b: a if a < b else b,
                  "maximum": lambda a, b: a if a > b else b, "less": lambda a, b: F64(a < b),
                  "less_or_equal": lambda a, b: F64(a <= b), "greater": lambda a, b: F64(a > b),
                  "greater_or_equal": lambda a, b: F64(a >= b)}
        ternary = {"where": lambda c, a, b: a if c != 0 else b}
        stack = []
        for instruction in self.instructions[node.auxiliary : node.auxiliary + node.total]:
            if instruction.operation == "number":
                stack.append(instruction.value)
                continue
            for count, functions in enumerate((one, unary, binary, ternary)):
                if instruction.operation in functions:
                    operands = stack[len(stack) - count :]
                    del stack[len(stack) - count :]
                    stack.append(functions[instruction.operation](*operands))
        (result,) = stack
        return result

    def cyclic(self, node, t):
        up, down = node.total, node.auxiliary
        p = t % (up + down)
        h = F64(p) / F64(up) if p <= up else F64(up + down - p) / F64(down)
        g = {0: lambda: F64(1), 1: lambda: power64(F64(0.5), F64(t // (up + down))), 2: lambda: power64(node.rate, F64(t))}
        return node.initial + ((node.final - node.initial) * h) * g[node.mode]()

    def one_cycle(self, node, t):
        end = F64(node.total - 1)
        ends, values = ([node.power, end], [node.initial, node.final, node.rate])
        if node.mode & 2:
            ends, values = [node.power, 2 * node.power, end], [node.initial, node.final, node.initial, node.rate]
        t = F64(t)
        piece = next((i for i, knot in enumerate(ends) if knot >= t), len(ends) - 1)
        begin, end = ([F64(0)] + ends)[piece], ends[piece]
        done = (t - begin) / (end - begin)
        if node.mode & 1:
            a, b = (end - t) / (end - begin), done
        else:
            y = done - 2 * floor64(done * F64(0.5))
            y = 2 - y if y > 1 else y
            s = quarter_sine(y if y <= 0.5 else 1 - y)
            a, b = (1 - s * s, s * s) if y <= 0.5 else (s * s, 1 - s * s)
        return values[piece] * a + values[piece + 1] * b


# --- data -------------------------------------------------------------------------------------------------------------


def read_segment(path):
    """A file as an array: .npy, IDX, or bytes. Its first dimension counts records."""
    data = Path(path).read_bytes()
    if data[:6] == b"\x93NUMPY":
        return np.load(path)
    types = {8: ">u1", 12: ">i4", 13: ">f4"}
    if data[:2] == b"\0\0" and len(data) > 4 and data[2] in types and data[3] > 0:
        dims = struct.unpack_from(f">{data[3]}I", data, 4)
        return np.frombuffer(data, types[data[2]], offset=4 + 4 * data[3]).reshape(dims)
    return np.frombuffer(data, np.uint8)


class Samples:
    """The sampler: which elements a draw takes."""

    def __init__(self, sampler, streams):
        self.sampler = sampler
        self.streams = [np.concatenate([segment.ravel() for segment in stream]) for stream in streams]
        self.places = self.windows(streams[0]) if sampler.unit == "window" else self.records(streams[0])
        if len(self.places) < (1 if sampler.epoch_end == "short" else sampler.samples):
            raise SystemExit("the data is too short")
        self.whole = [np.concatenate(stream).reshape(sum(len(segment) for segment in stream), -1) for stream in streams]

    def hold(self, pushed, ring):
        """What the ring holds after so many records (of windows: elements) of the data, which repeats, were pushed."""
        held = min(pushed, ring)
        numbers = np.arange(pushed - held, pushed)
        self.streams = [stream[numbers % len(stream)].ravel() for stream in self.whole]
        windows = self.sampler.unit == "window"
        self.places = range(0, held - self.sampler.window + 1, self.sampler.stride) if windows else range(held)
        if len(self.places) < self.sampler.samples:
            raise SystemExit("not enough was pushed")

    def part(self, elements):
        tail = elements * self.sampler.held_out_per_mille // 1000
        return {"all": (0, elements), "train": (0, elements - tail), "held_out": (elements - tail, elements)}[self.sampler.part]

    def windows(self, segments):
        places, before = [], 0
        for segment in segments:
            first, end = self.part(segment.size)
            places += range(before + first, before + end - self.sampler.window + 1, self.sampler.stride)
            before += segment.size
        return places

    def records(self, segments):
        return range(*self.part(sum(len(segment) for segment in segments)))

    def place(self, draw):
        if self.sampler.epoch_end == "short":
            draw = min(draw, len(self.places) - 1)
        epoch, index = divmod(draw, len(self.places))
        if self.sampler.kind == "permutation":
            index = permuted(index, len(self.places), self.sampler.seed, epoch)
        return self.places[index]

    def fill(self, data, kind, dims, cursor):
        """The tensor of one input, for the draws from cursor on."""
        if self.sampler.epoch_end == "stop" and len(self.places) - cursor < self.sampler.samples:
            raise SystemExit("the data has ended")
        count = int(np.prod(dims[1:]))
        rows = []
        for sample in range(self.sampler.samples):
            place = self.place(cursor + sample)
            first = place + data.advance if self.sampler.unit == "window" else place * count
            rows.append(self.streams[data.stream][first : first + count])
        elements = np.stack(rows).reshape(dims)
        if kind == "int32":
            return elements.astype(np.int32)
        if data.element == "float32":
            return elements.astype(F32)
        return fma(elements.astype(F32), F32(data.scale), F32(data.shift))


# --- ops --------------------------------------------------------------------------------------------------------------

OPS = {}


def computes(*names):
    """Registers the function of an op. It takes the op as it is called and returns the outputs by name, before rounding."""

    def register(function):
        OPS.update({name: function for name in names})
        return function

    return register


class Call:
    """An op of a plan with the values of its inputs. call[name] is an input, None where it is absent."""

    def __init__(self, run, op, random, micro_step):
        self.run, self.op, self.name, self.random, self.micro_step = run, op, op.name, random, micro_step
        self.reductions = op.reductions

    def __getitem__(self, name):
        index = self.op.inputs.get(name)
        return None if index is None else self.run.value(index)

    def before(self, name):
        """An input that the op changes and that need not hold anything before: NaN where nothing was written."""
        value = self.run.values.get(self.op.inputs[name])
        return np.full(self.tensor(name).dims, np.nan, F32) if value is None else value.copy()

    def attribute(self, name):
        return self.op.attributes[name]

    def tensor(self, name):
        return self.run.plan.tensors[self.op.outputs[name] if name in self.op.outputs else self.op.inputs[name]]


def rows_of(x):
    return x.reshape(-1, x.shape[-1])


class Part:
    """A part of an op, as a call of its own: what the op does not have is in values."""

    def __init__(self, call, values):
        self.call, self.values = call, values

    def __getitem__(self, name):
        return self.values[name] if name in self.values else self.call[name]

    def attribute(self, name):
        return self.call.attribute(name)


@computes("cast")
def cast(call):
    return {"y": call["x"]}


@computes("add")
def add(call):
    return {"y": call["a"] + call["b"]}


@computes("multiply")
def multiply(call):
    return {"y": call["a"] * call["b"]}


@computes("sum_leading")
def sum_leading(call):
    dims = call.tensor("y").dims
    return {"y": ascending(call["x"].reshape((-1,) + dims))}


@computes("embedding")
def embedding(call):
    return {"y": call["table"][call["ids"]]}


@computes("embedding_backward")
def embedding_backward(call):
    start = call["start"]
    table = np.zeros(call.tensor("dtable").dims, F32) if start is None else start.copy()
    for row, dy in zip(call["ids"].ravel(), rows_of(call["dy"])):
        table[row] = table[row] + dy
    return {"dtable": table}


def position(call):
    """How many tokens came before those of the call; 0 where the op has no length."""
    length = call["length"]
    return 0 if length is None else min(max(int(length.ravel()[0].astype(np.int64)), 0), 2**31 - 1)


@computes("leading_rows")
def leading_rows(call):
    table = call["table"]
    return {"y": table[np.minimum(position(call) + np.arange(call.attribute("rows")), len(table) - 1)]}


@computes("leading_rows_backward")
def leading_rows_backward(call):
    table = np.zeros(call.tensor("dtable").dims, F32)
    table[: len(call["dy"])] = call["dy"]
    return {"dtable": table}


@computes("concat", "concat_int32")
def concat(call):
    parts = [call.run.value(index) for index in call.op.operands]
    return {"y": np.concatenate(parts, axis=call.attribute("axis"))}


def given_dims(call):
    return tuple(d for d in (call.attribute(f"d{i}") for i in range(8)) if d)


@computes("reshape")
def reshape(call):
    return {"y": call["x"].reshape(given_dims(call))}


@computes("transpose")
def transpose(call):
    return {"y": call["x"].transpose([call.attribute("order") >> 4 * d & 15 for d in range(call["x"].ndim)])}


def along(axis, index):
    """What indexes a tensor by `index` along an axis."""
    return (slice(None),) * axis + (index,)


def sliced(call, count):
    return along(call.attribute("axis"), call.attribute("first") + np.arange(count) * call.attribute("step"))


@computes("slice")
def slice_of(call):
    return {"y": call["x"][sliced(call, call.attribute("count"))]}


@computes("slice_backward")
def slice_backward(call):
    dx = np.zeros(call.tensor("dx").dims, F32)
    dx[sliced(call, call["dy"].shape[call.attribute("axis")])] = call["dy"]
    return {"dx": dx}


@computes("pad")
def pad(call):
    axis, before = call.attribute("axis"), call.attribute("before")
    y = np.full(call.tensor("y").dims, call.attribute("value"), F32)
    y[along(axis, slice(before, before + call["x"].shape[axis]))] = call["x"]
    return {"y": y}


@computes("expand")
def expand(call):
    return {"y": np.broadcast_to(call["x"], given_dims(call))}


def named(ids, extent):
    return np.clip(np.where(ids < 0, ids.astype(np.int64) + extent, ids), 0, extent - 1)


@computes("gather")
def gather(call):
    axis = call.attribute("axis")
    return {"y": call["x"][along(axis, named(call["ids"], call["x"].shape[axis]))]}


@computes("gather_backward")
def gather_backward(call):
    axis, dx = call.attribute("axis"), np.zeros(call.tensor("dx").dims, F32)
    ids = named(call["ids"], dx.shape[axis]).ravel()
    dy = call["dy"].reshape(dx.shape[:axis] + (-1,) + dx.shape[axis + 1 :])
    for i, name in enumerate(ids):
        dx[along(axis, name)] += dy[along(axis, i)]
    return {"dx": dx}


@computes("gather_elements")
def gather_elements(call):
    axis = call.attribute("axis")
    return {"y": np.take_along_axis(call["x"], named(call["ids"], call["x"].shape[axis]), axis)}


@computes("gather_elements_backward")
def gather_elements_backward(call):
    axis, dy, dx = call.attribute("axis"), call["dy"], np.zeros(call.tensor("dx").dims, F32)
    ids = named(call["ids"], dx.shape[axis])
    for i in range(ids.shape[axis]):
        line = np.expand_dims(ids[along(axis, i)], axis)
        value = np.take_along_axis(dx, line, axis) + np.expand_dims(dy[along(axis, i)], axis)
        np.put_along_axis(dx, line, value, axis)
    return {"dx": dx}


def rows_named(ids, dims):
    return [tuple(named(row, np.array(dims[: len(row)]))) for row in rows_of(ids)]


@computes("scatter_nd")
def scatter_nd(call):
    y = call["data"].copy()
    names = rows_named(call["ids"], y.shape)
    updates = call["updates"].reshape((len(names),) + y.shape[len(names[0]) :])
    for name, update in zip(names, updates):
        y[name] = round_to(call.tensor("y").type, np.asarray(y[name] + update)) if call.attribute("add") else update
    return {"y": y}


@computes("scatter_nd_backward")
def scatter_nd_backward(call):
    ddata, taken = call["dy"].copy(), []
    for name in reversed(rows_named(call["ids"], ddata.shape)):
        taken.insert(0, ddata[name].copy())
        ddata[name] = 0
    return {"ddata": ddata, "dupdates": np.array(taken).reshape(call.tensor("dupdates").dims)}


@computes("scatter_nd_backward_updates")
def scatter_nd_backward_updates(call):
    taken = [call["dy"][name] for name in rows_named(call["ids"], call["dy"].shape)]
    return {"dupdates": np.array(taken).reshape(call.tensor("dupdates").dims)}


@computes("cumulative_sum")
def cumulative_sum(call):
    axis = call.attribute("axis")
    x = np.moveaxis(call["x"], axis, 0)
    x = x[::-1] if call.attribute("reverse") else x
    y, total = np.zeros(x.shape, F32), np.zeros(x.shape[1:], F32)
    for i, row in enumerate(x):
        before, total = total, total + row
        y[i] = before if call.attribute("exclusive") else total
    y = y[::-1] if call.attribute("reverse") else y
    return {"y": np.moveaxis(y, 0, axis)}


def weight_by_output(call, other):
    """The weight as [output, input], in binary64: a float32 one is rounded to the type of the other factor."""
    weight = round_to(call.tensor(other).type, call["weight"]).astype(F64)
    return weight if call.attribute("layout") == 0 else weight.T


@computes("linear")
def linear(call):
    x, weight, bias = rows_of(call["x"]).astype(F64), weight_by_output(call, "x"), call["bias"]
    y = reduce(call.reductions["products"], x.shape[1], lambda k: (x[:, k, None], weight[None, :, k]), (len(x), len(weight)))
    y = y if bias is None else y + bias
    return {"y": y.reshape(call.tensor("y").dims)}


@computes("linear_backward_input")
def linear_backward_input(call):
    dy, weight = rows_of(call["dy"]).astype(F64), weight_by_output(call, "dy")
    shape = len(dy), weight.shape[1]
    dx = reduce(call.reductions["products"], dy.shape[1], lambda o: (dy[:, o, None], weight[None, o, :]), shape)
    return {"dx": dx.reshape(call.tensor("dx").dims)}


@computes("linear_backward_weight")
def linear_backward_weight(call):
    dy, x = rows_of(call["dy"]).astype(F64), rows_of(call["x"]).astype(F64)
    dweight = reduce(call.reductions["products"], len(dy), lambda n: (dy[n, :, None], x[n, None, :]), (dy.shape[1], x.shape[1]))
    return {"dweight": dweight if call.attribute("layout") == 0 else dweight.T}


@computes("linear_backward_weight_rows")
def linear_backward_weight_rows(call):
    first = call.attribute("first")
    return {"dweight": linear_backward_weight(call)["dweight"][first : first + call.attribute("rows")]}


def axes_of(mask, dims):
    """The dimensions whose bits are set."""
    return tuple(d for d in range(len(dims)) if mask >> d & 1)


def lines_of(x, mask):
    """x as [results, lines, elements of a line], and the dimensions of the results."""
    reduced = axes_of(mask, x.shape)
    kept = [d for d in range(x.ndim) if d not in reduced]
    line = 1
    for d in reversed([d for d in range(x.ndim) if x.shape[d] > 1]):
        if d not in reduced:
            break
        line *= x.shape[d]
    count = int(np.prod([x.shape[d] for d in reduced]))
    return x.transpose(kept + list(reduced)).reshape(-1, count // line, line)


@computes("reduce_sum")
def reduce_sum(call):
    lines = lines_of(call["x"], call.attribute("axes"))
    sums = lane_sum(lines) if lines.shape[-1] > 1 else lines[..., 0]
    return {"y": ascending(sums.T).reshape(call.tensor("y").dims)}


@computes("reduce_sum_backward")
def reduce_sum_backward(call):
    extents = [n for n in (call.attribute(f"d{i}") for i in range(8)) if n]
    dy = call["dy"].reshape([1 if n < 0 else n for n in extents])
    return {"dx": np.broadcast_to(dy, [abs(n) for n in extents])}


@computes("reduce_max")
def reduce_max(call):
    x = call["x"]
    return {"y": (x.max(axis=axes_of(call.attribute("axes"), x.shape)) + F32(0)).reshape(call.tensor("y").dims)}


@computes("reduce_max_backward")
def reduce_max_backward(call):
    x = call["x"]
    axes = axes_of(call.attribute("axes"), x.shape)
    dims = [1 if d in axes else n for d, n in enumerate(x.shape)]
    y, dy = call["y"].reshape(dims), call["dy"].reshape(dims)
    chosen = (x == y) | (np.isnan(x) & np.isnan(y))
    return {"dx": np.where(chosen, dy / chosen.sum(axis=axes, keepdims=True).astype(F32), F32(0))}


@computes("arg_max")
def arg_max(call):
    x, axis = call["x"], call.attribute("axis")
    found = x.shape[axis] - 1 - np.flip(x, axis).argmax(axis) if call.attribute("last") else x.argmax(axis)
    return {"y": found.reshape(call.tensor("y").dims)}


@computes("matmul")
def matmul(call):
    a, b = call["a"].astype(F64), call["b"].astype(F64)
    a = a.swapaxes(-1, -2) if call.attribute("transpose_a") else a
    b = b.swapaxes(-1, -2) if call.attribute("transpose_b") else b
    y = reduce(call.reductions["products"], a.shape[-1], lambda k: (a[..., :, k, None], b[..., None, k, :]), call.tensor("y").dims)
    return {"y": y}


class Windows:
    """The windows of a convolution or a pool on images [N,H,W,C]; a pair is rows * 65,536 + columns."""

    def __init__(self, call, kernel, extents, counts):
        self.kernel, self.extents, self.counts = kernel, extents, counts
        self.stride, self.dilation, self.before = (divmod(call.attribute(name), 65536) for name in ("stride", "dilation", "before"))

    def elements(self):
        return [(r, s) for r in range(self.kernel[0]) for s in range(self.kernel[1])]

    def positions(self):
        return [(i, j) for i in range(self.counts[0]) for j in range(self.counts[1])]

    def lines(self, axis, element):
        """The windows along an axis whose element lies in the image, and where it lies there."""
        at = np.arange(self.counts[axis]) * self.stride[axis] + element * self.dilation[axis] - self.before[axis]
        inside = (at >= 0) & (at < self.extents[axis])
        return np.flatnonzero(inside), at[inside]

    def place(self, position, element):
        """Where an element of a window lies; None: outside the image."""
        at = tuple(p * t + e * d - b for p, t, e, d, b in zip(position, self.stride, element, self.dilation, self.before))
        return at if all(0 <= x < extent for x, extent in zip(at, self.extents)) else None

    def inside(self, position):
        places = [self.place(position, element) for element in self.elements()]
        return [place for place in places if place is not None]


def conv_windows(call, image, weight, result):
    return Windows(call, weight[1:3], image[1:3], result[1:3])


def in_groups(call, image):
    """[...,C] as [...,groups,C/groups], in binary64."""
    groups = call.attribute("groups")
    return image.astype(F64).reshape(image.shape[:-1] + (groups, image.shape[-1] // groups))


def weight_in_groups(call, weight):
    """[O,R,S,C/groups] as [groups,O/groups,R,S,C/groups], in binary64."""
    groups = call.attribute("groups")
    return weight.astype(F64).reshape((groups, len(weight) // groups) + weight.shape[1:])


def placed(x, shape, where):
    """Zeros but for x at these places."""
    result = np.zeros(shape, F64)
    result[where] = x
    return result


@computes("conv")
def conv(call):
    x, weight, dims = in_groups(call, call["x"]), weight_in_groups(call, call["weight"]), call.tensor("y").dims
    windows = conv_windows(call, call["x"].shape, call["weight"].shape, dims)
    groups, outputs, rows, columns, depth = weight.shape

    def lines(k):
        element, (r, s) = k % depth, divmod(k // depth, columns)
        return element, r, s, windows.lines(0, r), windows.lines(1, s)

    def present(k):
        _, _, _, (i, _), (j, _) = lines(k)
        return (slice(None), *np.ix_(i, j))

    def factors(k):
        c, r, s, (_, h), (_, w) = lines(k)
        return x[(slice(None), *np.ix_(h, w))][..., c][..., None], weight[:, :, r, s, c]

    def every(k):
        a, b = factors(k)
        return placed(a, dims[:3] + (groups, 1), present(k)), b

    shape = dims[:3] + (groups, outputs)
    y = reduce(call.reductions["products"], rows * columns * depth, factors, shape, present, every).reshape(dims)
    return {"y": y if call["bias"] is None else y + call["bias"]}


@computes("conv_backward_input")
def conv_backward_input(call):
    dy, weight, dims = in_groups(call, call["dy"]), weight_in_groups(call, call["weight"]), call.tensor("dx").dims
    windows = conv_windows(call, dims, call["weight"].shape, call["dy"].shape)
    groups, outputs, rows, columns, depth = weight.shape

    def lines(k):
        o, (r, s) = k % outputs, divmod(k // outputs, columns)
        return o, r, s, windows.lines(0, r), windows.lines(1, s)

    def present(k):
        _, _, _, (_, h), (_, w) = lines(k)
        return (slice(None), *np.ix_(h, w))

    def factors(k):
        o, r, s, (i, _), (j, _) = lines(k)
        return dy[(slice(None), *np.ix_(i, j))][..., o][..., None], weight[:, o, r, s, :]

    def every(k):
        a, b = factors(k)
        return placed(a, dims[:3] + (groups, 1), present(k)), b

    shape = dims[:3] + (groups, depth)
    return {"dx": reduce(call.reductions["products"], rows * columns * outputs, factors, shape, present, every).reshape(dims)}


@computes("conv_backward_weight")
def conv_backward_weight(call):
    dy, x, dims = in_groups(call, call["dy"]), in_groups(call, call["x"]), call.tensor("dweight").dims
    windows = conv_windows(call, call["x"].shape, dims, call["dy"].shape)
    groups, outputs = dy.shape[3:]
    height, width = windows.counts

    def elements(axis, position):
        """The elements along an axis of the window at a position that lie in the image, and where."""
        at = position * windows.stride[axis] + np.arange(windows.kernel[axis]) * windows.dilation[axis] - windows.before[axis]
        inside = (at >= 0) & (at < windows.extents[axis])
        return np.flatnonzero(inside), at[inside]

    def window(k):
        i, j = k // width % height, k % width
        return k // (height * width), i, j, elements(0, i), elements(1, j)

    def present(k):
        _, _, _, (r, _), (s, _) = window(k)
        return (slice(None), slice(None), *np.ix_(r, s))

    def factors(k):
        n, i, j, (_, h), (_, w) = window(k)
        return dy[n, i, j][:, :, None, None, None], np.moveaxis(x[n][np.ix_(h, w)], 2, 0)[:, None]

    def every(k):
        a, b = factors(k)
        return a, placed(b, (groups, 1) + dims[1:], present(k))

    shape = (groups, outputs) + dims[1:]
    terms = len(dy) * height * width
    return {"dweight": reduce(call.reductions["products"], terms, factors, shape, present, every).reshape(dims)}


def pool_windows(call, image, result):
    return Windows(call, divmod(call.attribute("kernel"), 65536), image[1:3], result[1:3])


def taken(windows, x, position):
    """The values that max_pool takes, and which of the places of the window they have."""
    places = windows.inside(position)
    best, index = np.full((len(x), x.shape[3]), -np.inf, F32), np.zeros((len(x), x.shape[3]), int)
    for number, (h, w) in enumerate(places):
        value = x[:, h, w]
        better = (value > best) | (np.isnan(value) & ~np.isnan(best))
        best, index = np.where(better, value, best), np.where(better, number, index)
    return best, index, places


@computes("max_pool")
def max_pool(call):
    x, y = call["x"], np.zeros(call.tensor("y").dims, F32)
    windows = pool_windows(call, x.shape, y.shape)
    for i, j in windows.positions():
        y[:, i, j] = taken(windows, x, (i, j))[0]
    return {"y": y}


@computes("max_pool_backward")
def max_pool_backward(call):
    dy, x, dx = call["dy"], call["x"], np.zeros(call["x"].shape, F32)
    windows = pool_windows(call, x.shape, dy.shape)
    for i, j in windows.positions():
        _, index, places = taken(windows, x, (i, j))
        for number, (h, w) in enumerate(places):
            dx[:, h, w] = np.where(index == number, dx[:, h, w] + dy[:, i, j], dx[:, h, w])
    return {"dx": dx}


def divisor_of(call, windows, position):
    counted = len(windows.elements()) if call.attribute("padded") else len(windows.inside(position))
    return F32(max(counted, 1))


@computes("average_pool")
def average_pool(call):
    x, y = call["x"], np.zeros(call.tensor("y").dims, F32)
    windows = pool_windows(call, x.shape, y.shape)
    for i, j in windows.positions():
        for h, w in windows.inside((i, j)):
            y[:, i, j] = y[:, i, j] + x[:, h, w]
        y[:, i, j] = y[:, i, j] / divisor_of(call, windows, (i, j))
    return {"y": y}


@computes("average_pool_backward")
def average_pool_backward(call):
    dy, dx = call["dy"], np.zeros(call.tensor("dx").dims, F32)
    windows = pool_windows(call, dx.shape, dy.shape)
    for i, j in windows.positions():
        share = dy[:, i, j] / divisor_of(call, windows, (i, j))
        for h, w in windows.inside((i, j)):
            dx[:, h, w] = dx[:, h, w] + share
    return {"dx": dx}


class Recurrence:
    """The steps of a recurrent op over [T,B,...] in their order, and what each reads."""

    def __init__(self, call, steps, weight=None):
        self.call, self.weight, self.reduction = call, weight, call.reductions["products"]
        self.order = range(steps)[::-1] if call.attribute("reverse") else range(steps)

    def before(self, number, y, initial):
        """The state that the step with this number reads; None: there is none."""
        return y[self.order[number - 1]] if number else initial

    def sums(self, state, rows=slice(None)):
        """s of some rows of the weight."""
        w = self.weight[rows].astype(F64)
        if state is None:
            return F32(0)
        state = state.astype(F64)
        return reduce(self.reduction, w.shape[1], lambda k: (state[:, k, None], w[None, :, k]), (len(state), len(w)))

    def sums_of_gradient(self, gradient, rows=slice(None)):
        """S over some rows of the weight."""
        w, gradient = self.weight[rows].astype(F64), gradient.astype(F64)
        return reduce(self.reduction, len(w), lambda j: (gradient[:, j, None], w[None, j]), (len(gradient), w.shape[1]))

    def backwards(self):
        return list(enumerate(self.order))[::-1]


def given_or_zeros(x, shape):
    return np.zeros(shape, F32) if x is None else x


def slope_of_gate(x):
    return fma(-x, x, x)


def slope_of_tanh(x):
    return fma(-x, x, ONE)


def kept_steps(call, table, last):
    return table if call.attribute("keep") else table[last][None]


@computes("lstm")
def lstm(call):
    u, weight, kind = call["gates"], call["weight"], call.tensor("y").type
    run, (steps, samples, _), units = Recurrence(call, len(u), weight), u.shape, weight.shape[1]
    y, cells, activations = (np.zeros((steps, samples, n * units), F32) for n in (1, 1, 4))
    c = given_or_zeros(call["c0"], (samples, units))
    for number, t in enumerate(run.order):
        i, f, g, o = np.split(u[t] + run.sums(run.before(number, y, call["h0"])), 4, axis=-1)
        i, f, g, o = sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)
        c = fma(f, c, i * g)
        y[t], cells[t], activations[t] = round_to(kind, o * tanh(c)), c, np.concatenate([i, f, g, o], -1)
    return {"y": y, "last_h": y[t], "last_c": c, "activations": kept_steps(call, activations, t), "cells": kept_steps(call, cells, t)}


@computes("lstm_backward")
def lstm_backward(call):
    weight, activations, cells, dy = call["weight"], call["activations"], call["cells"], call["dy"]
    run, kind, state = Recurrence(call, len(cells), weight), call.tensor("dgates").type, cells.shape[1:]
    carried, of_cells = given_or_zeros(call["dlast_h"], state), given_or_zeros(call["dlast_c"], state)
    dgates = np.zeros(activations.shape, F32)
    for number, t in run.backwards():
        (i, f, g, o), previous = np.split(activations[t], 4, axis=-1), given_or_zeros(run.before(number, cells, call["c0"]), state)
        d = carried if dy is None else carried + dy[t]
        top = tanh(cells[t])
        of_o, e = (d * top) * slope_of_gate(o), fma(d * o, slope_of_tanh(top), of_cells)
        parts = [(e * g) * slope_of_gate(i), (e * previous) * slope_of_gate(f), (e * i) * slope_of_tanh(g), of_o]
        dgates[t] = round_to(kind, np.concatenate(parts, -1))
        carried, of_cells = run.sums_of_gradient(dgates[t]), e * f
    return {"dgates": dgates, "dh0": carried, "dc0": of_cells}


@computes("gru")
def gru(call):
    u, weight, bias, kind = call["gates"], call["weight"], call["bias"], call.tensor("y").type
    run, (steps, samples, _), units = Recurrence(call, len(u), weight), u.shape, weight.shape[1]
    both, last, shape = slice(0, 2 * units), slice(2 * units, None), (samples, units)
    y, activations = (np.zeros((steps, samples, n * units), F32) for n in (1, 4))

    def product(state, rows):
        s = run.sums(state, rows)
        return s if bias is None else s + bias[rows]

    for number, t in enumerate(run.order):
        state = run.before(number, y, call["h0"])
        before = given_or_zeros(state, shape)
        r, z = np.split(sigmoid(u[t][:, both] + product(state, both)), 2, axis=-1)
        if call.attribute("reset_after"):
            q = np.broadcast_to(product(state, last), shape).astype(F32)
            n = tanh(fma(r, q, u[t][:, last]))
        else:
            q = before if state is None else round_to(kind, before * r)
            n = tanh(u[t][:, last] + product(None if state is None else q, last))
        y[t], activations[t] = round_to(kind, fma(z, before - n, n)), np.concatenate([r, z, n, q], -1)
    return {"y": y, "last_h": y[t], "activations": kept_steps(call, activations, t)}


@computes("gru_backward")
def gru_backward(call):
    weight, activations, y, dy = call["weight"], call["activations"], call["y"], call["dy"]
    run, kind, units = Recurrence(call, len(y), weight), call.tensor("dgates").type, weight.shape[1]
    both, last, state = slice(0, 2 * units), slice(2 * units, None), y.shape[1:]
    carried = given_or_zeros(call["dlast_h"], state)
    dgates, dproducts = (np.zeros(y.shape[:2] + (3 * units,), F32) for _ in range(2))
    for number, t in run.backwards():
        (r, z, n, q), before = np.split(activations[t], 4, axis=-1), given_or_zeros(run.before(number, y, call["h0"]), state)
        d = carried if dy is None else carried + dy[t]
        dn, dz = (d * (ONE - z)) * slope_of_tanh(n), (d * (before - n)) * slope_of_gate(z)
        if call.attribute("reset_after"):
            dr = (dn * q) * slope_of_gate(r)
            dgates[t], dproducts[t] = (round_to(kind, np.concatenate([dr, dz, x], -1)) for x in (dn, dn * r))
            carried = fma(d, z, run.sums_of_gradient(dproducts[t]))
        else:
            v = run.sums_of_gradient(round_to(kind, dn), last)
            dr = (v * before) * slope_of_gate(r)
            dgates[t] = dproducts[t] = round_to(kind, np.concatenate([dr, dz, dn], -1))
            carried = fma(v, r, d * z) + run.sums_of_gradient(dproducts[t][:, both], both)
    return {"dgates": dgates, "dproducts": dproducts, "dh0": carried}


@computes("rnn")
def rnn(call):
    u, kind = call["gates"], call.tensor("y").type
    run, y = Recurrence(call, len(u), call["weight"]), np.zeros(u.shape, F32)
    for number, t in enumerate(run.order):
        v = u[t] + run.sums(run.before(number, y, call["h0"]))
        y[t] = round_to(kind, np.where(v <= 0, F32(0), v) if call.attribute("relu") else tanh(v))
    return {"y": y, "last_h": y[t]}


@computes("rnn_backward")
def rnn_backward(call):
    y, dy, kind = call["y"], call["dy"], call.tensor("dgates").type
    run, dgates = Recurrence(call, len(y), call["weight"]), np.zeros(y.shape, F32)
    carried = given_or_zeros(call["dlast_h"], y.shape[1:])
    for _, t in run.backwards():
        d = carried if dy is None else carried + dy[t]
        d = np.where(y[t] <= 0, F32(0), d) if call.attribute("relu") else d * slope_of_tanh(y[t])
        dgates[t] = round_to(kind, d)
        carried = run.sums_of_gradient(dgates[t])
    return {"dgates": dgates, "dh0": carried}


@computes("recurrent_backward_weight")
def recurrent_backward_weight(call):
    dproducts, y, h0, activations = call["dproducts"], call["y"], call["h0"], call["activations"]
    run, units = Recurrence(call, len(y)), y.shape[2]
    first, dweight = run.order[0], np.zeros((dproducts.shape[2], units), F32)
    later = [t for t in range(len(y)) if t != first]
    read = y[[t + 1 if call.attribute("reverse") else t - 1 for t in later]]
    for rows in (slice(0, 2 * units), slice(2 * units, None)) if activations is not None else (slice(0, None),):
        sums = []
        for steps, state in ((later, read), ([first] if h0 is not None else [], None if h0 is None else h0[None])):
            if activations is not None and rows.start:
                state = activations[steps][..., 3 * units :]
            if steps:
                dp, h = rows_of(dproducts[steps][..., rows]).astype(F64), rows_of(state).astype(F64)
                shape = (dp.shape[1], units)
                sums.append(reduce(run.reduction, len(dp), lambda n: (dp[n, :, None], h[n, None]), shape))
        if sums:
            dweight[rows] = sum(sums[1:], sums[0])
    return {"dweight": dweight}


@computes("gelu", "relu", "tanh", "sigmoid", "silu", "softplus")
def activation(call):
    function = {"gelu": (gelu, gelu_tanh)[call.op.attributes.get("form", 0)], "tanh": tanh, "sigmoid": sigmoid, "silu": silu,
                "softplus": softplus, "relu": lambda x: np.where(x <= 0, F32(0), x)}[call.name]
    return {"y": function(call["x"])}


@computes("gelu_backward", "silu_backward", "softplus_backward")
def slope_of_input(call):
    slope = {"gelu_backward": (gelu_slope, gelu_tanh_slope)[call.op.attributes.get("form", 0)], "silu_backward": silu_slope,
             "softplus_backward": sigmoid}[call.name]
    return {"dx": call["dy"] * slope(call["x"])}


@computes("relu_backward")
def relu_backward(call):
    return {"dx": np.where(call["y"] <= 0, F32(0), call["dy"])}


@computes("tanh_backward", "sigmoid_backward")
def slope_of_output(call):
    y = call["y"]
    return {"dx": call["dy"] * fma(-y, y, ONE if call.name == "tanh_backward" else y)}


@computes("dropout")
def dropout(call):
    x, rate = call["x"], call.attribute("rate")
    kept = call.random.uniform(call.attribute("rng_id"), np.arange(x.size)).reshape(x.shape) >= rate
    return {"y": np.where(kept, x * (ONE / (ONE - rate)), F32(0))}


def normalised(call, mean, reciprocal):
    return (rows_of(call["x"]) - mean.reshape(-1, 1)) * reciprocal.reshape(-1, 1)


# --- elementwise ops; numpy repeats the operands ----------------------------------------------------------------------


def floor(x):
    x = np.asarray(x, F32)
    return np.copysign(np.floor(x), x)


def log_in_two(x):
    """The logarithm of finite numbers above 0 as P of NUMERICS.md has it, high and low."""
    m, k = np.frexp(x)
    small = m < K["sqrt(1/2)"]
    m, k = np.where(small, m * F32(2), m), np.where(small, k - 1, k).astype(F32)
    f = m - ONE
    q = np.broadcast_to(TABLE["log"][-1], f.shape)
    for c in TABLE["log"][-2:0:-1]:
        q = fma(q, f, c)
    square = f * f
    rest = fma(f, f, -square)
    large = k * K["ln2 16 bits"]
    first = large + f
    second = first - HALF * square
    error = ((large - first) + f) + ((first - second) - HALF * square)
    small = fma(square * f, q, fma(k, K["ln2 16 bits rest"], error - HALF * rest))
    high = second + small
    return high, (second - high) + small


def power_of_positive(a, b):
    """a above 0, both finite."""
    high, low = log_in_two(a)
    e = b * high
    y = exp(e)
    return np.where((y > 0) & np.isfinite(y), fma(y, fma(b, low, fma(b, high, -e)), y), y)


def rsqrt_of_positive(x):
    y = ONE / np.sqrt(x)
    t = x * y
    error = fma(x, y, -t)
    return fma(HALF * y, fma(-error, y, fma(-t, y, ONE)), y)


def power(a, b):
    a, b = (x.astype(F32) for x in np.broadcast_arrays(a, b))
    whole, size, magnitude = floor(b) == b, np.abs(b), np.abs(a)
    inside = (magnitude > 0) & np.isfinite(magnitude) & np.isfinite(b)
    y = np.where((magnitude > 1) == (b > 0), F32(np.inf), F32(0))
    y = np.where(magnitude == 1, ONE, y)
    y = np.where(inside, power_of_positive(np.where(inside, magnitude, ONE), np.where(inside, b, ONE)), y)
    odd = whole & np.isfinite(b) & (np.abs(np.fmod(b, F32(2))) == 1)
    y = np.where(np.signbit(a) & odd, -y, y)
    root = (size == HALF) & (a > 0) & np.isfinite(a)
    base = np.where(root, a, ONE)
    y = np.where(root, np.where(b > 0, np.sqrt(base), rsqrt_of_positive(base)), y)
    y = np.where(np.isnan(a) | np.isnan(b) | (~whole & (a < 0) & np.isfinite(a)), F32(np.nan), y)
    y = np.where(a == 1, ONE, y)
    product = np.ones_like(a)
    for n, value in ((1, a), (2, a * a), (3, (a * a) * a), (4, (a * a) * (a * a))):
        product = np.where(size == n, value, product)
    return np.where(whole & (size <= 4), np.where(b < 0, ONE / product, product), y).astype(F32)


@computes("broadcast_add", "broadcast_multiply", "subtract", "divide", "minimum", "maximum", "less", "less_or_equal", "equal", "power")
def of_two_operands(call):
    function = {"broadcast_add": lambda a, b: a + b, "broadcast_multiply": lambda a, b: a * b, "subtract": lambda a, b: a - b, "divide": lambda a, b: a / b, "maximum": maximum,
                "minimum": lambda a, b: np.where(a < b, a, np.where(b <= a, b, F32(np.nan))), "power": power,
                "less": lambda a, b: (a < b).astype(F32), "less_or_equal": lambda a, b: (a <= b).astype(F32),
                "equal": lambda a, b: (a == b).astype(F32)}[call.name]
    return {"y": function(call["a"], call["b"])}


@computes("select")
def select(call):
    a, b = (np.zeros(1, F32) if call[name] is None else call[name] for name in ("a", "b"))
    return {"y": np.where(call["condition"] != 0, a, b)}


@computes("larger_share")
def larger_share(call):
    dy, a, b = call["dy"], call["a"], call["b"]
    return {"da": np.where(a < b, F32(0), np.where(a == b, dy * HALF, dy))}


@computes("sum_to")
def sum_to(call):
    x, dims = call["x"], call.tensor("y").dims
    own = (1,) * (x.ndim - len(dims)) + tuple(dims)
    kept = [d for d in range(x.ndim) if own[d] == x.shape[d]]
    summed = [d for d in range(x.ndim) if own[d] != x.shape[d]]
    terms = x.transpose(summed + kept).reshape((-1,) + tuple(x.shape[d] for d in kept))
    return {"y": ascending(terms).reshape(dims)}


def exp_less_one(x):
    t = tanh(x * HALF)
    return (t + t) / (ONE - t)


@computes("exp", "log", "sqrt", "reciprocal", "erf", "abs", "sign", "floor", "sin", "cos", "atan", "log_one_plus", "round", "clip",
          "affine", "leaky_relu", "elu")
def of_one_operand(call):
    real = call.op.attributes
    function = {"exp": exp, "log": log, "sqrt": np.sqrt, "reciprocal": lambda x: ONE / x, "erf": erf, "abs": np.abs,
                "sign": lambda x: np.where(x > 0, ONE, np.where(x < 0, -ONE, x + F32(0))), "floor": floor,
                "sin": sin, "cos": cos, "atan": atan, "log_one_plus": log_one_plus, "round": np.rint,
                "clip": lambda x: limit(x, real["low"], real["high"]), "affine": lambda x: fma(x, real["scale"], real["shift"]),
                "leaky_relu": lambda x: np.where(x > 0, x, x * real["slope"]),
                "elu": lambda x: np.where(x > 0, x, real["alpha"] * exp_less_one(x))}[call.name]
    return {"y": function(call["x"])}


@computes("erf_backward", "clip_backward", "leaky_relu_backward", "elu_backward")
def slope_of_one_operand(call):
    real, dy, x = call.op.attributes, call["dy"], call["x"]
    function = {"erf_backward": lambda: dy * (exp(-(x * x)) * F32(float.fromhex("0x1.20dd76p+0"))),
                "clip_backward": lambda: np.where((real["low"] < x) & (x < real["high"]), dy, F32(0)),
                "leaky_relu_backward": lambda: np.where(x > 0, dy, dy * real["slope"]),
                "elu_backward": lambda: np.where(x > 0, dy, dy * (real["alpha"] * exp(x)))}[call.name]
    return {"dx": function()}


def quantized(call):
    return np.rint(call["x"] / call["scale"]) + call["zero_point"]


@computes("fake_quantize")
def fake_quantize(call):
    real = call.op.attributes
    return {"y": (limit(quantized(call), real["low"], real["high"]) - call["zero_point"]) * call["scale"]}


@computes("fake_quantize_backward")
def fake_quantize_backward(call):
    real, q = call.op.attributes, quantized(call)
    return {"dx": np.where((q >= real["low"]) & (q <= real["high"]), call["dy"], F32(0))}


@computes("random_uniform", "random_normal")
def random_numbers(call):
    draw = call.random.uniform if call.name == "random_uniform" else call.random.normal
    return {"y": draw(call.attribute("rng_id"), np.arange(call["x"].size)).reshape(call["x"].shape)}


@computes("top_k")
def top_k(call):
    """A stable sort leaves equal elements in order; NaN stands beyond infinity."""
    x = call["x"].astype(F64)
    key = np.where(np.isnan(x), 1e300, np.clip(x, -1e200, 1e200)) * (1 if call.attribute("smallest") else -1)
    return {"y": np.argsort(key, axis=-1, kind="stable")[..., :call.attribute("count")].astype(np.int32)}


@computes("power_backward")
def power_backward(call):
    a, b = call["a"], call["b"]
    return {"da": call["dy"] * np.where(b == 0, F32(0), b * power(a, b - ONE))}


@computes("to_int32")
def to_int32(call):
    x = call["x"].astype(F64)
    return {"y": np.where(np.isnan(x), 0, np.clip(np.trunc(x), -(2.0**31), 2.0**31 - 1)).astype(np.int64).astype(np.int32)}


@computes("to_float32")
def to_float32(call):
    return {"y": call["x"].astype(F32)}


@computes("layer_norm")
def layer_norm(call):
    x, affine = rows_of(call["x"]), call.attribute("affine")
    count = F32(x.shape[1])
    mean = lane_sum(x) / count
    off = x - mean[:, None]
    reciprocal = ONE / np.sqrt(lane_sum(off * off) / count + call.attribute("epsilon"))
    y = fma(round_to(affine, normalised(call, mean, reciprocal)), round_to(affine, call["gain"]), round_to(affine, call["bias"]))
    return {"y": y.reshape(call["x"].shape), "mean": mean, "reciprocal": reciprocal}


@computes("layer_norm_backward")
def layer_norm_backward(call):
    x, normal = rows_of(call["x"]), normalised(call, call["mean"], call["reciprocal"])
    g = rows_of(call["dy"]) * round_to(call.attribute("affine"), call["gain"])
    count = F32(x.shape[1])
    a, b = lane_sum(g) / count, lane_sum(g * normal) / count
    dx = call["reciprocal"].reshape(-1, 1) * fma(-normal, b[:, None], g - a[:, None])
    return {"dx": dx.reshape(call["x"].shape)}


@computes("layer_norm_backward_affine")
def layer_norm_backward_affine(call):
    dy = rows_of(call["dy"])
    normal = round_to(call.attribute("affine"), normalised(call, call["mean"], call["reciprocal"]))
    dgain = np.zeros(dy.shape[1], F32)
    for dy_row, normal_row in zip(dy, normal):
        dgain = fma(dy_row, normal_row, dgain)
    return {"dgain": dgain, "dbias": ascending(dy)}


@computes("rms_norm")
def rms_norm(call):
    x, affine = rows_of(call["x"]), call.attribute("affine")
    mean_square = lane_sum(x * x) / F32(x.shape[1])
    reciprocal = ONE / np.sqrt(mean_square + call.attribute("epsilon"))
    y = round_to(affine, x * reciprocal[:, None]) * round_to(affine, call["gain"])
    return {"y": y.reshape(call["x"].shape), "reciprocal": reciprocal}


@computes("rms_norm_backward")
def rms_norm_backward(call):
    reciprocal = call["reciprocal"].reshape(-1, 1)
    normal = rows_of(call["x"]) * reciprocal
    g = rows_of(call["dy"]) * round_to(call.attribute("affine"), call["gain"])
    b = lane_sum(g * normal) / F32(normal.shape[1])
    return {"dx": (reciprocal * fma(-normal, b[:, None], g)).reshape(call["x"].shape)}


@computes("rms_norm_backward_gain")
def rms_norm_backward_gain(call):
    normal = round_to(call.attribute("affine"), rows_of(call["x"]) * call["reciprocal"].reshape(-1, 1))
    dgain = np.zeros(normal.shape[1], F32)
    for dy_row, normal_row in zip(rows_of(call["dy"]), normal):
        dgain = fma(dy_row, normal_row, dgain)
    return {"dgain": dgain}


def column_sum(x):
    """The sum over rows: runs of 128, then their totals."""
    total = np.zeros(x.shape[1], F32)
    for run in range(0, len(x), 128):
        total = total + ascending(x[run:run + 128])
    return total


def batch_normal(call, mean, reciprocal):
    return (rows_of(call["x"]) - mean) * reciprocal


def batch_scaled(call, mean, reciprocal):
    return fma(batch_normal(call, mean, reciprocal), call["gain"], call["bias"]).reshape(call["x"].shape)


def reciprocal_deviation(call, variance):
    return ONE / np.sqrt(variance + call.attribute("epsilon"))


@computes("batch_norm")
def batch_norm(call):
    x = rows_of(call["x"])
    mean = column_sum(x) / F32(len(x))
    variance = column_sum((x - mean) * (x - mean)) / F32(len(x))
    reciprocal = reciprocal_deviation(call, variance)
    return {"y": batch_scaled(call, mean, reciprocal), "mean": mean, "reciprocal": reciprocal, "variance": variance}


@computes("batch_norm_fixed")
def batch_norm_fixed(call):
    return {"y": batch_scaled(call, call["mean"], reciprocal_deviation(call, call["variance"]))}


def batch_affine_gradients(call, reciprocal):
    dy, normal = rows_of(call["dy"]), batch_normal(call, call["mean"], reciprocal)
    return dy, normal, {"dgain": column_sum(dy * normal), "dbias": column_sum(dy)}


@computes("batch_norm_backward")
def batch_norm_backward(call):
    reciprocal = call["reciprocal"]
    dy, normal, given = batch_affine_gradients(call, reciprocal)
    p, q = given["dgain"] / F32(len(dy)), given["dbias"] / F32(len(dy))
    dx = (call["gain"] * reciprocal) * fma(-normal, p, dy - q)
    return {"dx": dx.reshape(call["x"].shape), **given}


@computes("batch_norm_fixed_backward")
def batch_norm_fixed_backward(call):
    reciprocal = reciprocal_deviation(call, call["variance"])
    dy, _, given = batch_affine_gradients(call, reciprocal)
    return {"dx": ((call["gain"] * reciprocal) * dy).reshape(call["x"].shape), **given}


@computes("running_statistics")
def running_statistics(call):
    before, m = (call["running_mean"], call["running_var"]) if call.micro_step == 0 else call["next"], call.attribute("momentum")
    rows = call.attribute("rows")
    now = call["mean"], call["variance"] * (F32(rows) / F32(rows - 1))
    return {"next": np.stack([fma(ONE - m, b, m * v) for b, v in zip(before, now)])}


@computes("store_statistics")
def store_statistics(call):
    return {"running_mean": call["next"][0], "running_var": call["next"][1]}


class Heads:
    """What attention and its backward pass share: the heads, the probabilities and what dropout keeps of them. Arrays are
    [batch, head, position, element] and [batch, head, query, key]; keys and values are repeated for the heads that read them."""

    first = 0  # the number of the first query among the keys

    def __init__(self, call, row_max=None, row_sum=None):
        if call["qkv"] is None:
            self.separate(call)
        else:
            self.joint(call)
        where = np.ones((self.length, self.keys), bool)
        self.seen = np.tril(where) if self.causal else where
        self.shape = (self.batch, self.heads, self.length, self.keys)
        self.probabilities(call, row_max, row_sum)
        self.drop(call)

    def settings(self, call):
        self.heads, self.kv_heads = call.attribute("heads"), call.attribute("kv_heads")
        self.group = self.heads // self.kv_heads
        self.causal, self.scale = call.attribute("causal"), call.attribute("scale")

    def of_heads(self, x):
        """[batch, head, position, element], in binary64."""
        return x.reshape(self.batch, x.shape[1], -1, self.size).transpose(0, 2, 1, 3).astype(F64)

    def repeated(self, x):
        return np.repeat(x, self.group, axis=1)

    def separate(self, call):
        self.settings(call)
        self.batch, self.length, width = call["query"].shape
        self.keys, self.size, self.type = call["key"].shape[1], width // self.heads, call.tensor("query").type
        self.q, self.k, self.v = self.of_heads(call["query"]), *(self.repeated(self.of_heads(call[n])) for n in ("key", "value"))

    def joint(self, call):
        self.settings(call)
        qkv = call["qkv"]
        self.batch, self.length, width = qkv.shape
        self.keys, self.type = self.length, call.tensor("qkv").type
        self.size = width // (self.heads + 2 * self.kv_heads)
        ends = [self.heads, self.heads + self.kv_heads]
        q, k, v = np.split(self.of_heads(qkv), ends, axis=1)
        self.q, self.k, self.v = q, self.repeated(k), self.repeated(v)

    def probabilities(self, call, row_max, row_sum):
        soft = self.type if call.attribute("half_softmax") else "float32"
        factors = lambda d: (self.q[..., :, None, d], self.k[..., None, :, d])
        sums = reduce(call.reductions["scores"], self.size, factors, self.shape)
        scores = self.scale * sums
        if call["slopes"] is not None:
            i, j = (self.first + np.arange(self.length)).astype(F32), np.arange(self.keys).astype(F32)
            scores = fma(call["slopes"][:, None, None], j[None, :] - i[:, None], scores)
        if call["mask"] is not None:
            scores = scores + call["mask"]
        scores = np.where(self.seen, round_to(soft, scores), F32(-np.inf))
        self.row_max = scores.max(axis=-1) + F32(0) if row_max is None else row_max
        e = np.where(self.seen, round_to(soft, exp(scores - self.row_max[..., None])), F32(0))
        self.row_sum = lane_sum(e) if row_sum is None else row_sum
        self.p = np.where(self.seen, round_to(self.type, e / self.row_sum[..., None]), F32(0))

    def drop(self, call):
        rate = call.attribute("dropout_rate")
        self.kept, self.factor = np.ones(self.shape, bool), ONE
        if rate > 0:
            elements = np.arange(self.p.size).reshape(self.shape)
            self.kept, self.factor = call.random.uniform(call.attribute("rng_id"), elements) >= rate, ONE / (ONE - rate)
        self.r = np.where(self.kept, round_to(self.type, self.p * self.factor), F32(0))

    def over_keys(self, reduction, by_pair, by_key):
        """For each query: the sum over the keys that it sees."""
        a = by_pair.astype(F64)
        first = (lambda j: j) if self.causal else (lambda j: 0)
        return reduce(reduction, self.keys, lambda j: (a[..., first(j) :, j, None], by_key[..., j, None, :]),
                      self.shape[:3] + (self.size,), lambda j: (Ellipsis, slice(first(j), None), slice(None)),
                      lambda j: (np.where(self.seen[..., :, j], a[..., :, j], 0.0)[..., None], by_key[..., j, None, :]))

    def over_queries(self, reduction, by_pair, by_query):
        """For each key: the sum over the queries that see it, then over the heads that read it."""
        a = by_pair.astype(F64)
        end = (lambda i: i + 1) if self.causal else (lambda i: self.keys)
        sums = reduce(reduction, self.length, lambda i: (a[..., i, : end(i), None], by_query[..., i, None, :]),
                      (self.batch, self.heads, self.keys, self.size), lambda i: (Ellipsis, slice(0, end(i)), slice(None)),
                      lambda i: (np.where(self.seen[..., i, :], a[..., i, :], 0.0)[..., None], by_query[..., i, None, :]))
        sums = sums.reshape(self.batch, self.kv_heads, self.group, self.keys, self.size)
        result = sums[:, :, 0]
        for member in range(1, self.group):
            result = result + sums[:, :, member]
        return result

    def joined(self, x):
        return x.transpose(0, 2, 1, 3).reshape(self.batch, x.shape[2], -1)


@computes("attention", "cross_attention")
def attention(call):
    heads = Heads(call)
    y = heads.over_keys(call.reductions["values"], heads.r, heads.v)
    return {"y": heads.joined(y), "row_max": heads.row_max, "row_sum": heads.row_sum}


@computes("attention_backward", "cross_attention_backward")
def attention_backward(call):
    heads = Heads(call, call["row_max"], call["row_sum"])
    values, queries_and_keys = call.reductions["values"], call.reductions["queries_and_keys"]
    dy = call["dy"].reshape(heads.batch, heads.length, heads.heads, heads.size).transpose(0, 2, 1, 3).astype(F64)
    u = reduce(values, heads.size, lambda d: (dy[..., :, None, d], heads.v[..., None, :, d]), heads.shape)
    dp = np.where(heads.kept & heads.seen, u * heads.factor, F32(0))
    weighted = np.where(heads.seen, heads.p * dp, F32(0))
    ds = round_to(heads.type, heads.p * (dp - lane_sum(weighted)[..., None]))
    dq = heads.scale * heads.over_keys(queries_and_keys, ds, heads.k)
    dk = heads.scale * heads.over_queries(queries_and_keys, ds, heads.q)
    dv = heads.over_queries(values, heads.r, dy)
    if call["qkv"] is None:
        return {"dquery": heads.joined(dq), "dkey": heads.joined(dk), "dvalue": heads.joined(dv)}
    return {"dqkv": heads.joined(np.concatenate([dq, dk, dv], axis=1))}


class Query(Heads):
    """One query of cached_attention: the last of so many tokens as the cache has rows for it."""

    def __init__(self, call, queries, rows, number):
        self.heads, self.kv_heads = call.attribute("heads"), call.attribute("kv_heads")
        self.group, self.scale, self.causal = self.heads // self.kv_heads, call.attribute("scale"), False
        self.batch, self.length, self.keys, self.first = 1, 1, len(rows), number
        self.size, self.type = rows.shape[1] // (2 * self.kv_heads), call.tensor("qkv").type
        self.seen, self.shape = np.ones((1, self.keys), bool), (1, self.heads, 1, self.keys)
        self.q = self.of_heads(queries[None, None])
        self.k, self.v = (self.repeated(x) for x in np.split(self.of_heads(rows[None]), 2, axis=1))
        self.probabilities(call, None, None)


@computes("cached_attention")
def cached_attention(call):
    qkv, cache = call["qkv"], call["cache"].copy()
    tokens, rows, width = qkv.shape[1], *cache.shape[1:]
    first = min(position(call), rows)
    queries = qkv[0, :, : qkv.shape[2] - width]
    cache[0, first : first + tokens] = qkv[0, : rows - first, qkv.shape[2] - width :]
    of_query = [Query(call, queries[i], cache[0, : first + i + 1], first + i) for i in range(tokens)]
    y = [query.joined(query.over_keys(call.reductions["values"], query.p, query.v)) for query in of_query]
    return {"cache": cache, "y": np.concatenate(y, axis=1)}


@computes("advance")
def advance(call):
    after = position(call) + int(call["count"].ravel()[0])
    return {"length": np.full(1, min(max(after, 0), call.attribute("limit")))}


@computes("rotary_embedding", "rotary_embedding_backward")
def rotary_embedding(call):
    backward = call.name == "rotary_embedding_backward"
    x = call["dy" if backward else "x"]
    kind, rotary_dim, rotated = (call.attribute(name) for name in ("rotation", "rotary_dim", "rotated"))
    pairs, length = rotary_dim // 2, x.shape[-2]
    step = (-log(np.array([call.attribute("base")])) * F32(2)) / F32(rotary_dim)
    frequency = exp(np.arange(pairs).astype(F32) * step)
    angle = (position(call) + np.arange(length)).astype(F32)[:, None] * frequency
    c, s = (round_to(kind, function(angle))[:, None, :] for function in (cos, sin))
    s = -s if backward else s
    y = x.reshape(x.shape[:-1] + (call.attribute("heads"), -1)).copy()
    first, second = ((slice(0, rotary_dim, 2), slice(1, rotary_dim, 2)) if call.attribute("interleaved")
                     else (slice(0, pairs), slice(pairs, rotary_dim)))
    a, b = (round_to(kind, y[..., :rotated, half]) for half in (first, second))
    product = lambda p, q: round_to(kind, p * q)
    turned = round_to(kind, product(a, c) - product(b, s)), round_to(kind, product(b, c) + product(a, s))
    y[..., :rotated, first], y[..., :rotated, second] = turned
    return {"dx" if backward else "y": y.reshape(x.shape)}


def softmax_sums(logits):
    row_max = logits.max(axis=-1) + F32(0)
    return row_max, lane_sum(exp(logits - row_max[:, None]))


def at_labels(x, labels):
    return x[np.arange(len(x)), labels]


@computes("cross_entropy")
def cross_entropy(call):
    logits, labels = rows_of(call["logits"]), call["labels"].ravel()
    row_max, row_sum = softmax_sums(logits)
    losses = log(row_sum) - (at_labels(logits, labels) - row_max)
    return {"loss": lane_sum_of_all(losses) / F32(len(logits)), "row_max": row_max, "row_sum": row_sum}


@computes("cross_entropy_backward")
def cross_entropy_backward(call):
    logits, labels = rows_of(call["logits"]), call["labels"].ravel()
    f = call["dloss"] / F32(len(logits))
    p = exp(logits - call["row_max"].reshape(-1, 1)) / call["row_sum"].reshape(-1, 1)
    is_label = np.arange(logits.shape[1]) == labels[:, None]
    return {"dlogits": (np.where(is_label, p - ONE, p) * f).reshape(call["logits"].shape)}


@computes("linear_cross_entropy")
def linear_cross_entropy(call):
    x, weight = rows_of(call["x"]).astype(F64), weight_by_output(call, "x")
    kind = call.tensor("logits").type
    sums = reduce(call.reductions["logits"], x.shape[1], lambda k: (x[:, k, None], weight[None, :, k]), (len(x), len(weight)))
    part = Part(call, {"logits": round_to(kind, sums).reshape(call["x"].shape[:-1] + (-1,))})
    loss = cross_entropy_weighted(part) if call.attribute("weighted") else cross_entropy(part)
    part.values |= loss
    gradient = cross_entropy_weighted_backward(part) if call.attribute("weighted") else cross_entropy_backward(part)
    dy = round_to(kind, rows_of(gradient["dlogits"])).astype(F64)
    shape = len(dy), weight.shape[1]
    dx = reduce(call.reductions["input"], dy.shape[1], lambda o: (dy[:, o, None], weight[None, o, :]), shape)
    dweight = None
    for first in range(0, len(dy), call.attribute("rows")):
        some = min(call.attribute("rows"), len(dy) - first)
        factors = lambda n, first=first: (dy[first + n, :, None], x[first + n, None, :])
        dweight = reduce(call.reductions["weight"], some, factors, weight.shape, start=dweight)
    return {
        "dweight": dweight if call.attribute("layout") == 0 else dweight.T,
        "loss": loss["loss"],
        "dx": dx.reshape(call["x"].shape),
    }


def weights_of_rows(call):
    """The labels, the weights w_n and which rows are present."""
    labels, weights = call["labels"].ravel(), call["weights"]
    weights = np.ones(len(labels), F32) if weights is None else weights.ravel()
    weights = np.where(labels == call.attribute("ignore_index"), F32(0), weights)
    return labels, weights, weights != 0


class Rows:
    """The rows of cross_entropy_weighted: weights, which are present, and the share of each."""

    def __init__(self, call, divisor=None):
        self.logits = rows_of(call["logits"])
        self.labels, self.weights, self.present = weights_of_rows(call)
        if divisor is None:
            divisor = call["batch_divisor"]
        if divisor is None:
            first = F32(call["logits"].shape[0])
            divisor = np.full(1, first) if call.attribute("scaling") else lane_sum_of_all(self.weights)
        self.divisor = divisor
        self.share = np.where(divisor == 0, F32(0), call.attribute("factor") / divisor)
        self.smoothing = call.attribute("label_smoothing")
        self.classes = F32(self.logits.shape[1])


@computes("cross_entropy_weighted")
def cross_entropy_weighted(call):
    rows = Rows(call)
    e = rows.smoothing
    row_max, row_sum = softmax_sums(rows.logits)
    off = rows.logits - row_max[:, None]
    is_class = rows.labels < rows.logits.shape[1]  # an ignored label may be the number behind the last class
    score = np.where(is_class, at_labels(off, np.where(is_class, rows.labels, 0)), F32(0))
    if e != 0:
        score = fma(e, lane_sum(off) / rows.classes, (ONE - e) * score)
    row_loss = log(row_sum) - score
    loss = lane_sum_of_all(np.where(rows.present, rows.weights * row_loss, F32(0))) * rows.share
    return {"loss": loss, "row_max": row_max, "row_sum": row_sum, "row_loss": row_loss, "divisor": rows.divisor}


@computes("cross_entropy_weighted_backward")
def cross_entropy_weighted_backward(call):
    rows = Rows(call, call["divisor"])
    e = rows.smoothing
    g = call["dloss"] * rows.share
    p = exp(rows.logits - call["row_max"].reshape(-1, 1)) / call["row_sum"].reshape(-1, 1)
    off = p - e / rows.classes
    is_label = np.arange(rows.logits.shape[1]) == rows.labels[:, None]
    dlogits = np.where(is_label, off - (ONE - e), off) * (rows.weights * g)[:, None]
    return {"dlogits": np.where(rows.present[:, None], dlogits, F32(0)).reshape(call["logits"].shape)}


@computes("batch_rows")
def batch_rows(call):
    present = weights_of_rows(call)[2].sum()
    rows = np.uint64(present) + (np.uint64(0) if call.micro_step == 0 else call["rows"])
    return {"rows": rows, "divisor": np.asarray(rows).astype(F32)}


@computes("batch_weights")
def batch_weights(call):
    before = np.zeros(2, F32) if call.micro_step == 0 else call["sum"]
    sums = added(before, lane_sum_of_all(weights_of_rows(call)[1])[0])
    divisor = sums[:1] + sums[1:]
    return {"sum": sums, "divisor": divisor if np.isfinite(divisor[0]) else np.full(1, np.nan, F32)}


@computes("softmax")
def softmax(call):
    x = rows_of(call["x"])
    row_max, row_sum = softmax_sums(x)
    return {"y": (exp(x - row_max[:, None]) / row_sum[:, None]).reshape(call["x"].shape)}


@computes("log_softmax")
def log_softmax(call):
    x = rows_of(call["x"])
    row_max, row_sum = softmax_sums(x)
    return {"y": ((x - row_max[:, None]) - log(row_sum)[:, None]).reshape(call["x"].shape)}


@computes("softmax_backward")
def softmax_backward(call):
    dy, y = rows_of(call["dy"]), rows_of(call["y"])
    return {"dx": (y * (dy - lane_sum(dy * y)[:, None])).reshape(call["y"].shape)}


@computes("log_softmax_backward")
def log_softmax_backward(call):
    dy, y = rows_of(call["dy"]), rows_of(call["y"])
    return {"dx": fma(-exp(y), lane_sum(dy)[:, None], dy).reshape(call["y"].shape)}


@computes("nll_loss")
def nll_loss(call):
    logs = rows_of(call["log_probabilities"])
    return {"loss": lane_sum_of_all(-at_labels(logs, call["labels"].ravel())) / F32(len(logs))}


@computes("nll_loss_backward")
def nll_loss_backward(call):
    logs = rows_of(call["log_probabilities"])
    is_label = np.arange(logs.shape[1]) == call["labels"].reshape(-1, 1)
    gradient = np.where(is_label, -(call["dloss"] / F32(len(logs))), F32(0))
    return {"dlog_probabilities": gradient.reshape(call["log_probabilities"].shape)}


def elementwise_terms(call):
    """The terms of a loss over all elements, their slopes, and the number that divides."""
    x, t = call["prediction"], call["target"]
    d = x - t
    a, count = np.abs(d), F32(d.size)
    if call.name.startswith("l1_loss"):
        return a, np.where(d > 0, ONE, np.where(d < 0, -ONE, np.where(d == 0, F32(0), F32(np.nan)))), count
    if call.name.startswith("huber_loss"):
        h, form = call.attribute("threshold"), call.attribute("form")
        near, far = (h, ONE) if form else (ONE, h)
        return np.where(a < h, HALF * a * a / near, far * (a - HALF * h)), limit(d, -h, h) / near, count
    if call.name.startswith("binary_cross_entropy"):
        return fma(-x, t, np.where(x > 0, x, F32(0))) + log_of_one_plus(x), sigmoid(x) - t, count
    p, q = (exp(t), t) if call.attribute("log_target") else (t, log(t))
    count = F32(x.shape[0]) if call.attribute("batch_mean") else count
    return np.where(p == 0, F32(0), p * (q - x)), -p, count


@computes("l1_loss", "huber_loss", "binary_cross_entropy", "kl_divergence")
def elementwise_loss(call):
    terms, _, count = elementwise_terms(call)
    return {"loss": lane_sum_of_all(terms) / count}


@computes("l1_loss_backward", "huber_loss_backward", "binary_cross_entropy_backward", "kl_divergence_backward")
def elementwise_loss_backward(call):
    _, slopes, count = elementwise_terms(call)
    return {"dprediction": slopes * (call["dloss"] / count)}


@computes("mean_squared_error")
def mean_squared_error(call):
    d = call["prediction"] - call["target"]
    return {"loss": lane_sum_of_all(d * d) / F32(d.size)}


LOSSES = {25: "mean_squared_error", 128: "l1_loss", 130: "huber_loss", 132: "binary_cross_entropy", 134: "kl_divergence"}


@computes("sample_loss")
def sample_loss(call):
    losses, samples = [], int(call.attribute("samples"))
    for prediction, target in zip(np.split(call["prediction"], samples), np.split(call["target"], samples)):
        part = Part(call, {"prediction": prediction, "target": target})
        part.name = LOSSES[int(call.attribute("loss"))]
        losses.append(OPS[part.name](part)["loss"])
    return {"losses": np.concatenate(losses).astype(F32)}


@computes("mean_squared_error_backward")
def mean_squared_error_backward(call):
    d = call["prediction"] - call["target"]
    return {"dprediction": d * ((F32(2) * call["dloss"]) / F32(d.size))}


@computes("loss_seed")
def loss_seed(call):
    scale = call["scale"]
    return {"dloss": call.attribute("factor") * (np.ones(1, F32) if scale is None else scale)}


@computes("accumulate")
def accumulate(call):
    return {"total": call["g"] if call.micro_step == 0 else call["total"] + call["g"]}


@computes("accumulate_tree")
def accumulate_tree(call):
    """The nodes of the tree as they are defined, and none of them before all leaves are there."""
    leaves = call.run.leaves.setdefault(id(call.op), [])
    leaves.append(call["g"].astype(F32))
    if len(leaves) < call.attribute("micro_batches"):
        return {}
    level = leaves
    while len(level) > 1:
        pairs = [level[i:i + 2] for i in range(0, len(level), 2)]
        level = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    return {"total": level[0]}


def inverse_scale(call):
    scale = call["scale"]
    return np.ones(1, F32) if scale is None else ONE / scale


@computes("sum_of_squares")
def sum_of_squares(call):
    scaled = call["gradient"] * inverse_scale(call)
    partial = call.before("partial")
    partial[call.attribute("index")] = lane_sum_of_all(scaled * scaled)[0]
    return {"partial": partial}


@computes("largest_magnitude")
def largest_magnitude(call):
    partial = call.before("partial")
    partial[call.attribute("index")] = np.max(np.abs(call["gradient"].astype(F32)))
    return {"partial": partial}


@computes("gradient_magnitude")
def gradient_magnitude(call):
    return {"magnitude": np.max(np.abs(call["partial"]), keepdims=True)}


def split(x):
    """w and e with x = w * 2^e and 1 <= |w| < 2; what has no such w is left as it is."""
    if x == 0 or not np.isfinite(x):
        return F32(x), 0
    w, e = np.frexp(F32(x))
    return w * F32(2), int(e) - 1


def unit_exponent(magnitude):
    """k of the least power of two that is at least the magnitude."""
    w, k = split(magnitude)
    k = max(k + bool(w > 1), -126) if magnitude > 0 else -126
    return k if np.isfinite(magnitude) else 128


def unit_of(call):
    """The exponent k of the magnitude, and w and e of 1 / scale."""
    return unit_exponent(call["magnitude"][0]), *split(inverse_scale(call)[0])


@computes("sum_of_scaled_squares")
def sum_of_scaled_squares(call):
    k, w, _ = unit_of(call)
    t = np.ldexp(call["gradient"].astype(F32), -k) * w
    partial = call.before("partial")
    partial[call.attribute("index")] = lane_sum_of_all(t * t)[0]
    return {"partial": partial}


@computes("gradient_norm")
def gradient_norm(call):
    root = np.sqrt(lane_sum_of_all(call["partial"]))
    if call["magnitude"] is None:
        return {"norm": root, "finite": (root < np.inf).astype(np.int32)}
    k, _, e = unit_of(call)
    finite = (call["magnitude"] * inverse_scale(call) < np.inf).astype(np.int32)
    return {"norm": np.ldexp(root, k + e), "finite": finite, "root": root}


def clip_by_root(call):
    """The factors u and c, between which a power of two may move."""
    u, (k, _, e) = inverse_scale(call), unit_of(call)
    plain = call["norm"][0] < F32(2.0 ** 64)
    d, b = split(call["norm"][0] + F32(1e-6) if plain else call["root"][0])
    limit, a = split(call.attribute("limit"))
    q, x = limit / d, a - b - (0 if plain else k + e)
    if x > 0 or (x == 0 and q > 1):
        return u, ONE
    moved = max(0, -125 - x, k + e - 126)
    return np.ldexp(u, -moved), np.ldexp(q, x + moved)


@computes("gradient_factors")
def gradient_factors(call):
    clipping = call.run.plan.clippings[call.attribute("clipping")]
    u, c, most = inverse_scale(call), np.ones(1, F32), np.full(1, np.inf, F32)
    if clipping == "norm":
        if call["root"] is not None and call["root"][0] < np.inf:
            u, c = clip_by_root(call)
        else:
            c = call.attribute("limit") / (call["norm"] + F32(1e-6))
            c = np.where(c > 1, ONE, c)
    elif clipping == "value":
        most = np.full(1, call.attribute("limit"), F32)
    return {"factors": np.concatenate([u, np.reshape(c, 1), most])}


@computes("decay_factors")
def decay_factors(call):
    factors = call["factors"]
    return {"all_factors": np.concatenate([np.array([1, 1, np.inf], F32) if factors is None else factors, call["weight_decay"]])}


# --- optimizers -------------------------------------------------------------------------------------------------------


def gradient_and_decay(call):
    """The gradient, unscaled and clipped, and the weight decay of this step."""
    gradient, factors = call["gradient"], call["factors"]
    decay = call.op.attributes.get("weight_decay")
    if factors is None:
        factors = np.array([1, 1, np.inf], F32)
    if len(factors) == 4:
        decay = factors[3]
    u, c, most = factors[:3]
    x = (gradient * u) * c
    return np.where(x > most, most, np.where(x < -most, -most, x)), decay


@computes("adamw")
def adamw(call):
    g, decay = gradient_and_decay(call)
    beta1, beta2 = call.attribute("beta1"), call.attribute("beta2")
    p, rate = call["parameter"], call["learning_rate"]
    correction = ONE
    if call.attribute("correct_bias"):
        correction = np.sqrt(ONE - call["beta2_power"]) / (ONE - call["beta1_power"])
    m = fma(ONE - beta1, g, beta1 * call["exp_avg"])
    v = fma(ONE - beta2, g * g, beta2 * call["exp_avg_sq"])
    u = (m / (np.sqrt(v) + call.attribute("epsilon"))) * correction
    return {"parameter": fma(-rate, fma(decay, p, u), p), "exp_avg": m, "exp_avg_sq": v}


@computes("sgd", "sgd_momentum")
def sgd(call):
    g, decay = gradient_and_decay(call)
    p, rate = call["parameter"], call["learning_rate"]
    d = fma(decay, p, -g if call.attribute("maximize") else g)
    if call.name == "sgd":
        return {"parameter": fma(-rate, d, p)}
    momentum = call.attribute("momentum")
    b = fma(momentum, call["momentum_buffer"], (ONE - call.attribute("dampening")) * d)
    step = fma(momentum, b, d) if call.attribute("nesterov") else b
    return {"parameter": fma(-rate, step, p), "momentum_buffer": b}


class Update:
    """What the formulas of the optimizers share, by their letters. Coefficients are binary64 until `once` rounds them."""

    def __init__(self, call):
        self.g, self.weight_decay = gradient_and_decay(call)
        self.p, self.rate = call["parameter"], call["learning_rate"]
        self.t = F64(0) if call["steps"] is None else F64(int(call["steps"][0]) + 1)
        g = -self.g if call.op.attributes.get("maximize") else self.g
        self.d = g if self.weight_decay is None else fma(self.weight_decay, self.p, g)

    def step(self, rate, direction):
        return fma(-rate, direction, self.p)


def once(value):
    return F32(value)


def wide(value):
    return F64(np.asarray(value).ravel()[0])


def mean(b, old, x):
    return fma(ONE - b, x, b * old)


def root_of_sum(x):
    return np.sqrt(lane_sum_of_all(x * x))


def moments(call, x):
    """The running means of x and of its squares."""
    beta1, beta2 = call.attribute("beta1"), call.attribute("beta2")
    return mean(beta1, call["exp_avg"], x), mean(beta2, call["exp_avg_sq"], x * x)


@computes("adam", "adam_amsgrad")
def adam(call):
    update = Update(call)
    decoupled = call.op.attributes.get("decoupled", 0)
    m, v = moments(call, fma(F32(0), update.p, update.g) if decoupled else update.d)
    correction = ONE
    if call.op.attributes.get("correct_bias", 1):
        one, two = (power64(wide(call.attribute(name)), update.t) for name in ("beta1", "beta2"))
        correction = once(square_root64(1 - two) / (1 - one))
    most = maximum(call["max_exp_avg_sq"], v) if call.name == "adam_amsgrad" else v
    u = (m / (np.sqrt(most) + call.attribute("epsilon"))) * correction
    if call.name == "adam":
        return {"parameter": update.step(update.rate, u), "exp_avg": m, "exp_avg_sq": v}
    u = fma(update.weight_decay if decoupled else F32(0), update.p, u)
    return {"parameter": update.step(update.rate, u), "exp_avg": m, "exp_avg_sq": v, "max_exp_avg_sq": most}


@computes("radam")
def radam(call):
    update = Update(call)
    m, v = moments(call, update.d)
    beta1, beta2, t = wide(call.attribute("beta1")), wide(call.attribute("beta2")), update.t
    power = power64(beta2, t)
    longest = 2 / (1 - beta2) - 1
    r = longest - 2 * t * power / (1 - power)
    a = m * once(1 / (1 - power64(beta1, t)))
    if r > 5:
        k = once(square_root64((r - 4) * (r - 2) * longest / ((longest - 4) * (longest - 2) * r) * (1 - power)))
        a = a * (k / (np.sqrt(v) + call.attribute("epsilon"))) if k > 0 else a
    return {"parameter": update.step(update.rate, a), "exp_avg": m, "exp_avg_sq": v}


@computes("nadam")
def nadam(call):
    update = Update(call)
    m, v = moments(call, update.d)
    beta1, beta2, decay = (wide(call.attribute(name)) for name in ("beta1", "beta2", "momentum_decay"))
    n = lambda t: beta1 * (1 - F64(0.5) * power64(F64(0.96), t * decay))
    now, later = n(update.t), n(update.t + 1)
    product = once(wide(call["mu_product"]) * now)
    a = once((1 - now) / (1 - wide(product)))
    b = once(later / (1 - wide(product) * later))
    s = once(square_root64(1 - power64(beta2, update.t)))
    direction = fma(b, m, a * update.d) / (np.sqrt(v) / s + call.attribute("epsilon"))
    return {"parameter": update.step(update.rate, direction), "exp_avg": m, "exp_avg_sq": v, "mu_product": np.full(1, product)}


@computes("adamax")
def adamax(call):
    update = Update(call)
    m = mean(call.attribute("beta1"), call["exp_avg"], update.d)
    n = maximum(call.attribute("beta2") * call["exp_inf"], np.abs(update.d) + call.attribute("epsilon"))
    c = once(1 / (1 - power64(wide(call.attribute("beta1")), update.t)))
    return {"parameter": update.step(update.rate * c, m / n), "exp_avg": m, "exp_inf": n}


@computes("lamb")
def lamb(call):
    update = Update(call)
    m, v = moments(call, update.g)
    u = fma(update.weight_decay, update.p, m / (np.sqrt(v) + call.attribute("epsilon")))
    x, y = limit(root_of_sum(update.p), high=10), root_of_sum(u)
    r = update.rate
    if not call.attribute("adam") and x[0] != 0 and y[0] != 0:
        r = r * (x / y)
    return {"parameter": update.step(r, u), "exp_avg": m, "exp_avg_sq": v}


@computes("lion")
def lion(call):
    update = Update(call)
    x = mean(call.attribute("beta1"), call["exp_avg"], update.g)
    sign = np.where(x > 0, ONE, np.where(x < 0, -ONE, x))
    return {"parameter": update.step(update.rate, fma(update.weight_decay, update.p, sign)),
            "exp_avg": mean(call.attribute("beta2"), call["exp_avg"], update.g)}


@computes("rmsprop", "rmsprop_momentum", "rmsprop_centered", "rmsprop_centered_momentum")
def rmsprop(call):
    update = Update(call)
    alpha = call.attribute("alpha")
    y = v = mean(alpha, call["square_avg"], update.d * update.d)
    state = {"square_avg": v}
    if "centered" in call.name:
        a = state["grad_avg"] = mean(alpha, call["grad_avg"], update.d)
        y = limit(fma(-a, a, v), low=0)
    u = update.d / (np.sqrt(y) + call.attribute("epsilon"))
    if "momentum" in call.name:
        u = state["momentum_buffer"] = fma(call.attribute("momentum"), call["momentum_buffer"], u)
    return {"parameter": update.step(update.rate, u), **state}


@computes("rprop")
def rprop(call):
    update = Update(call)
    z = np.where(update.t == 1, update.rate, call["step_size"])
    x = update.g * call["prev"]
    factor = np.where(x < 0, call.attribute("eta_minus"), np.where(x > 0, call.attribute("eta_plus"), ONE))
    z = limit(z * factor, call.attribute("smallest"), call.attribute("largest"))
    q = np.where(x < 0, F32(0), update.g)
    return {"parameter": update.p - np.where(q > 0, z, np.where(q < 0, -z, q)), "prev": q, "step_size": z}


@computes("adagrad")
def adagrad(call):
    update = Update(call)
    s = fma(update.d, update.d, call["sum"])
    r = once(wide(update.rate) / (1 + (update.t - 1) * wide(call.attribute("lr_decay"))))
    return {"parameter": update.step(r, update.d / (np.sqrt(s) + call.attribute("epsilon"))), "sum": s}


@computes("adadelta")
def adadelta(call):
    update = Update(call)
    rho, epsilon, a = call.attribute("rho"), call.attribute("epsilon"), call["acc_delta"]
    v = mean(rho, call["square_avg"], update.d * update.d)
    u = (np.sqrt(a + epsilon) / np.sqrt(v + epsilon)) * update.d
    return {"parameter": update.step(update.rate, u), "square_avg": v, "acc_delta": mean(rho, a, u * u)}


@computes("asgd")
def asgd(call):
    update = Update(call)
    lambd, alpha, t0 = (wide(call.attribute(name)) for name in ("lambd", "alpha", "t0"))
    rate = wide(update.rate)
    r = once(rate / power64(1 + lambd * rate * (update.t - 1), alpha))
    after = update.t - 1 - t0
    k = once(1 / (after if after > 1 else F64(1)))
    p = update.step(r, fma(call.attribute("lambd"), update.p, update.d))
    return {"parameter": p, "ax": p if k == 1 else fma(k, p - call["ax"], call["ax"])}


@computes("adafactor", "adafactor_factored")
def adafactor(call):
    update = Update(call)
    g, p, count = update.g, update.p, F32(update.p.size)
    f, k = (once(x) for x in (power64(update.t, wide(call.attribute("decay_rate"))),
                              1 - power64(update.t, wide(call.attribute("decay_rate")))))
    squares = fma(g, g, call.attribute("epsilon1"))
    if call.name == "adafactor":
        v = fma(f, squares, k * call["exp_avg_sq"])
        u, state = (ONE / np.sqrt(v)) * g, {"exp_avg_sq": v}
    else:
        columns_first = np.moveaxis(squares, -2, 0)
        row = fma(f, lane_sum(squares) / F32(p.shape[-1]), k * call["exp_avg_sq_row"])
        col = fma(f, ascending(columns_first) / F32(p.shape[-2]), k * call["exp_avg_sq_col"])
        h = lane_sum(row) / F32(p.shape[-2])
        u = ((ONE / np.sqrt(row / h[..., None]))[..., :, None] * (ONE / np.sqrt(col))[..., None, :]) * g
        state = {"exp_avg_sq_row": row, "exp_avg_sq_col": col}
    r = update.rate
    if call.attribute("scale_parameter"):
        r = r * maximum(call.attribute("epsilon2"), np.sqrt(lane_sum_of_all(p * p) / count))
    z = ONE / maximum(ONE, np.sqrt(lane_sum_of_all(u * u) / count) / call.attribute("clip"))
    return {"parameter": update.step(r, fma(update.weight_decay, p, u * z)), **state}


@computes("muon_direction")
def muon_direction(call):
    g, momentum = gradient_and_decay(call)[0], call.attribute("momentum")
    b = fma(momentum, call["momentum_buffer"], (ONE - momentum) * g)
    return {"momentum_buffer": b, "direction": fma(momentum, b, (ONE - momentum) * g) if call.attribute("nesterov") else b}


@computes("unit_norm")
@computes("scaled_unit_norm")
def unit_norm(call):
    k = unit_exponent(np.max(np.abs(call["x"]))) if call.name == "scaled_unit_norm" else 0
    t = np.ldexp(call["x"], -k)
    return {"y": t / (root_of_sum(t) + np.ldexp(call.attribute("epsilon"), -k))}


@computes("weighted_sum")
def weighted_sum(call):
    return {"z": fma(call.attribute("a"), call["x"], call.attribute("b") * call["y"])}


@computes("muon_step")
def muon_step(call):
    p, factors = call["parameter"], call["factors"]
    decay = call.attribute("weight_decay") if factors is None else factors[3]
    return {"parameter": fma(-call["learning_rate"], fma(decay, p, call.attribute("scale") * call["direction"]), p)}


@computes("advance_power")
def advance_power(call):
    return {"power": call["power"] * call.attribute("factor")}


@computes("count")
def count(call):
    return {"counter": call["counter"] + np.uint64(call.attribute("step"))}


@computes("loss_scale_update")
def loss_scale_update(call):
    overflowed = call["finite"][0] == 0
    one, zero = np.uint64(overflowed), np.zeros(1, np.uint64)
    skipped, steps, overflows = call["skipped"] + one, call["steps"] + np.uint64(1), call["overflows"] + one
    scale = call["scale"]
    if call.attribute("overflow_tolerance") < overflows.astype(F32)[0] / steps.astype(F32)[0]:
        scale, steps, overflows = scale * HALF, zero, zero
    if call.attribute("steps_per_increase") < int(steps[0]):
        scale, steps, overflows = scale * F32(2), zero, zero
    scale = limit(scale, high=call.attribute("maximum"))
    at_floor = (scale < call.attribute("minimum")).astype(np.int32)
    return {"scale": limit(scale, low=call.attribute("minimum")), "steps": steps, "overflows": overflows, "skipped": skipped,
            "at_floor": at_floor}


# --- metrics ----------------------------------------------------------------------------------------------------------


def added(sums, x):
    """The sum and its carry after x has been added."""
    t = sums[0] + x
    x_part = t - sums[0]
    old_part = t - x_part
    lost = sums[1] + ((sums[0] - old_part) + (x - x_part))
    return np.array([t, lost if np.isfinite(t) else 0], F32)


def counted(call, rows):
    return call["count"] + np.uint64(rows)


def rows_that_count(call, rows):
    """Of so many rows: whether the sample of each counts."""
    samples = call["counted"]
    return np.ones(rows, bool) if samples is None else np.repeat(samples != 0, rows // samples.size)


def added_in_order(sums, terms):
    for x in terms:
        sums = added(sums, x)
    return sums


def predictions(logits):
    """Where the first maximum of each row stands; the number of columns for a row with a NaN."""
    return np.where(np.isnan(logits).any(axis=1), logits.shape[1], logits.argmax(axis=1))


@computes("metric_mean")
def metric_mean(call):
    return {"sum": added(call["sum"], call["value"][0]), "count": counted(call, 1)}


@computes("metric_accuracy")
def metric_accuracy(call):
    correct = predictions(rows_of(call["logits"])) == call["labels"].ravel()
    counts = rows_that_count(call, correct.size)
    return {"correct": call["correct"] + np.uint64((correct & counts).sum()), "count": counted(call, counts.sum())}


@computes("metric_row_mean")
def metric_row_mean(call):
    losses = call["row_loss"].ravel()
    weights = np.ones(losses.size, F32) if call["weights"] is None else call["weights"].ravel()
    if call["labels"] is not None:
        weights = np.where(call["labels"].ravel() == call.attribute("ignore_index"), F32(0), weights)
    present = (weights != 0) & rows_that_count(call, losses.size)
    return {"sum": added_in_order(call["sum"], weights[present] * losses[present]), "count": counted(call, present.sum())}


@computes("metric_weighted_mean")
def metric_weighted_mean(call):
    present = weights_of_rows(call)[2]
    x = call["loss"] * (call["divisor"] / call.attribute("factor"))
    return {"sum": added(call["sum"], x[0]), "count": counted(call, present.sum())}


@computes("metric_weighted_accuracy")
def metric_weighted_accuracy(call):
    labels, weights, present = weights_of_rows(call)
    correct = predictions(rows_of(call["logits"])) == labels
    counts = rows_that_count(call, labels.size)
    terms = np.where(present & correct, weights, F32(0))
    if call["counted"] is None:
        sums = added(call["sum"], lane_sum_of_all(terms)[0])
    else:
        sums = added_in_order(call["sum"], terms[counts])
    return {"sum": sums, "count": counted(call, (present & counts).sum())}


@computes("metric_confusion")
def metric_confusion(call):
    labels, _, present = weights_of_rows(call)
    present = present & rows_that_count(call, labels.size)
    confusion = call["confusion"].copy()
    np.add.at(confusion, (labels[present], predictions(rows_of(call["logits"]))[present]), np.uint64(1))
    return {"confusion": confusion, "count": counted(call, present.sum())}


@computes("metric_auc")
def metric_auc(call):
    logits, target = call["logits"], call["target"]
    if target.dtype == F32:
        positive, s = target.ravel() > 0.5, sigmoid(logits.ravel())
    else:
        pairs = rows_of(logits)
        positive, s = target.ravel() == 1, sigmoid(pairs[:, 1] - pairs[:, 0])
    below = np.arange(1, 199) < (s * F32(199))[:, None]
    histogram, counts = call["histogram"].copy(), rows_that_count(call, positive.size)
    np.add.at(histogram, (positive.astype(np.int64)[counts], below.sum(axis=1)[counts]), np.uint64(1))
    return {"histogram": histogram, "count": counted(call, counts.sum())}


def ratio(a, b):
    return a / b if b > 0 else F32(0)


def f_beta(tp, row, column, beta):
    q = beta * beta
    precision, recall = ratio(F32(tp), F32(column)), ratio(F32(tp), F32(row))
    return ratio(((ONE + q) * precision) * recall, q * precision + recall)


def value_of_classes(kind, confusion, ignored, beta):
    classes = [i for i in range(len(confusion)) if i not in ignored]
    counts = [(int(confusion[i, i]), int(confusion[i].sum()), int(confusion[classes, i].sum())) for i in classes]
    if kind == "f_beta_micro":
        return f_beta(*(sum(column) for column in zip(*counts)), beta)
    values, number = F32(0), 0
    for tp, row, column in counts:
        if kind == "mean_per_class_accuracy":
            takes_part, value = row > 0, ratio(F32(tp), F32(row))
        elif kind == "mean_iou":
            takes_part, value = row + column > 0, ratio(F32(tp), F32(row + column - tp))
        elif kind == "dice":
            takes_part, value = row + column > 0, ratio(F32(2) * F32(tp), F32(row + column))
        else:
            takes_part, value = True, f_beta(tp, row, column, beta)
        if takes_part:
            values, number = values + value, number + 1
    return ratio(values, F32(number))


def area_under_curve(histogram):
    negatives, positives = (F32(int(row.sum())) for row in histogram)
    area, above = F32(0), 0
    for b in range(198, -1, -1):
        height = ratio(F32(above) + HALF * F32(int(histogram[1, b])), positives)
        area = area + ratio(F32(int(histogram[0, b])), negatives) * height
        above += int(histogram[1, b])
    return area


# --- the step ---------------------------------------------------------------------------------------------------------

STORED = {"int32": np.int32, "int64": np.uint64}


class Run:
    """A run of a plan. values holds every tensor that has been written, half types widened."""

    def __init__(self, plan, streams):
        self.plan = plan
        self.samples = Samples(plan.sampler, streams) if streams else None
        self.schedules = Schedules(plan.schedule_nodes, plan.schedule_numbers, plan.schedule_instructions)
        self.values = dict(plan.in_place)
        self.leaves = {}  # of each op that adds up a tree
        for initialiser, tensor in zip(plan.initialisers, plan.state):
            self.store(tensor.index, self.initial(initialiser, tensor))

    def initial(self, initialiser, tensor):
        count = int(np.prod(tensor.dims))
        a, b = F32(initialiser.a), F32(initialiser.b)
        if initialiser.rule == "constant":
            return np.full(count, initialiser.integer if tensor.type in STORED else a, STORED.get(tensor.type, F32))
        if initialiser.rule == "weights":
            return self.plan.elements(initialiser.element, initialiser.weights, count)
        random = Random(self.plan.seed)
        if initialiser.rule == "truncated_normal":
            low, high, x = F32(initialiser.low), F32(initialiser.high), np.zeros(count, F32)
            left = np.arange(count)
            for draw in range(64):
                x[left] = fma(b, Random(self.plan.seed, 0, draw).normal(initialiser.rng_id, left), a)
                left = left[(x[left] < low) | (x[left] > high)]
            return np.clip(x, low, high)
        if initialiser.rule == "normal":
            return fma(b, random.normal(initialiser.rng_id, np.arange(count)), a)
        return fma(b - a, random.uniform(initialiser.rng_id, np.arange(count)), a)

    def take_parameters(self, other):
        """Those of another run, by their names."""
        for name, index in self.plan.parameters.items():
            self.values[index] = other.values[other.plan.parameters[name]]

    def store(self, index, value):
        tensor = self.plan.tensors[index]
        if tensor.type in STORED:
            value = np.asarray(value).astype(STORED[tensor.type])
        else:
            value = round_to(tensor.type, np.asarray(value, F32))
        if tensor.base is None:
            self.values[index] = value.reshape(tensor.dims)
        else:
            whole = self.values[tensor.base].copy()
            whole.reshape(-1)[self.place(tensor)] = value.ravel()
            self.values[tensor.base] = whole

    def place(self, view):
        """The elements of its base that a view is."""
        first = view.offset // (2 if view.type in HALF_TYPES else np.dtype(STORED.get(view.type, F32)).itemsize)
        return slice(first, first + int(np.prod(view.dims)))

    def value(self, index):
        tensor = self.plan.tensors[index]
        if tensor.base is None:
            return self.values[index]
        return self.values[tensor.base].reshape(-1)[self.place(tensor)].reshape(tensor.dims)

    def integer(self, index):
        return int(self.values[index].ravel()[0])

    def phase(self, kind, step, micro_step):
        random = Random(self.plan.seed, step, micro_step)
        for op in self.plan.phases.get(kind, []):
            if op.name not in OPS:
                raise SystemExit(f"no op '{op.name}' here")
            results = OPS[op.name](Call(self, op, random, micro_step))
            for name, value in results.items():
                self.store(op.outputs[name], value)

    def forget(self):
        """Nothing but the state and what is constant outlives a step."""
        state = {tensor.index: self.values[tensor.index] for tensor in self.plan.state}
        self.values, self.leaves = {**self.plan.in_place, **state}, {}

    def fill(self, first, only=None):
        for data in self.plan.inputs:
            if only is not None and data.tensor not in only:
                continue
            tensor = self.plan.tensors[data.tensor]
            self.store(data.tensor, self.samples.fill(data, tensor.type, tensor.dims, first))

    def push_batches(self, steps):
        """As `firn train` pushes: before each step, one more batch of the data."""
        sampler = self.plan.sampler
        samples = steps * self.plan.micro_batches * sampler.samples
        windows = sampler.unit == "window"
        self.samples.hold(sampler.window + (samples - 1) * sampler.stride if windows else samples, self.plan.ring)

    def step(self):
        """One train step: the loss, and whether the update was skipped."""
        plan = self.plan
        self.forget()
        t, o, cursor = (self.integer(index) for index in (plan.global_step, plan.optimizer_step, plan.sampler.cursor))
        if plan.steps and t >= plan.steps:
            raise SystemExit("the run is complete")
        if plan.ring:
            self.push_batches(t + 1)
        for schedule in plan.schedules:
            self.store(schedule.tensor, np.full(1, self.schedules.value(schedule.root, o)).astype(F32))
        loss = None
        for m in range(plan.micro_batches if "count" in plan.phases else 0):
            self.fill(cursor + m * plan.sampler.samples, self.read_by("count"))
            self.phase("count", t, m)
        for m in range(plan.micro_batches):
            self.fill(cursor + m * plan.sampler.samples)
            self.phase("micro_batch", t, m)
            if plan.micro_batch_order == "sequential":
                part = self.checked_loss()
                loss = part if loss is None else loss + part
        if plan.micro_batch_order == "tree":
            loss = self.checked_loss()
        if plan.micro_batches > 1 and not plan.losses_added:
            loss = loss / F32(plan.micro_batches)
        self.phase("finalise", t, 0)
        skipped = plan.skips and self.integer(plan.finite) == 0
        if not skipped:
            self.phase("update", t, 0)
        self.phase("bookkeep", t, 0)
        self.store(plan.sampler.cursor, np.full(1, cursor + plan.micro_batches * plan.sampler.samples, np.uint64))
        if plan.at_floor is not None and self.integer(plan.at_floor):
            raise SystemExit("the loss scale is at its floor")
        return loss, skipped

    def read_by(self, kind):
        """The tensors that ops of a phase read, those of views their bases."""
        operands = (tensor for op in self.plan.phases[kind] for tensor in op.inputs.values())
        tensors = (self.plan.tensors[tensor] for tensor in operands)
        return {tensor.index if tensor.base is None else tensor.base for tensor in tensors}

    def checked_loss(self):
        loss = self.values[self.plan.loss].ravel()[0]
        if self.plan.check_loss and not np.isfinite(loss):
            raise SystemExit("the loss is not finite")
        return loss

    def is_over(self, number):
        """Whether an evaluation is over after so many steps."""
        sampler, all_samples = self.plan.sampler, len(self.samples.places)
        if sampler.epoch_end == "short" and number * sampler.samples >= all_samples:
            return True
        if self.plan.steps:
            return number >= self.plan.steps
        return sampler.epoch_end != "short" and all_samples < (number + 1) * sampler.samples

    def evaluate(self):
        """All steps of an evaluation, and the value of the metric."""
        sampler, number = self.plan.sampler, 0
        while not self.is_over(number):
            self.forget()
            self.fill(number * sampler.samples)
            if sampler.epoch_end == "short":
                draws = np.arange(sampler.samples) + number * sampler.samples
                self.store(sampler.counted, (draws < len(self.samples.places)).astype(np.int32))
            self.phase("evaluate", number, 0)
            self.checked_loss()
            number += 1
        return self.metric()

    def metric(self):
        metric = self.plan.metric
        state, count = self.values[metric.sum], F32(self.integer(metric.count))
        if metric.kind == "accuracy":
            return F32(int(state[0])) / count
        if metric.kind == "auc":
            return area_under_curve(state)
        if state.ndim == 2:
            return value_of_classes(metric.kind, state, metric.ignore_classes, F32(metric.beta))
        value = (state[:1] + state[1:]) / count
        return (exp(value) if metric.kind == "perplexity" else value)[0]

    def decode(self, tokens):
        """The scores behind each token of a text, in steps of as many as the plan takes."""
        ids, count = (data.tensor for data in sorted(self.plan.inputs, key=lambda data: data.stream))
        chunk, rows = self.plan.tensors[ids].dims[1], []
        for first in range(0, len(tokens), chunk):
            part = tokens[first : first + chunk]
            self.forget()
            self.store(ids, np.pad(np.asarray(part), (0, chunk - len(part)), constant_values=tokens[0])[None])
            self.store(count, np.full(1, len(part)))
            self.phase("evaluate", first, 0)
            rows.append(self.values[self.plan.logits][0, : len(part)])
        return np.concatenate(rows)

    def hashed(self, tensor):
        """What the digest hashes of one tensor of the state."""
        name, value = tensor.name.encode(), self.values[tensor.index]
        if tensor.type in HALF_TYPES:
            raise SystemExit(f"{tensor.name}: no state of type {tensor.type} here")
        elements = value if tensor.type in STORED else bits_of(value)
        return b"".join([struct.pack("<I", len(name)), name,
                         struct.pack("<BB", self.plan.element_types.index(tensor.type), len(tensor.dims)),
                         struct.pack(f"<{len(tensor.dims)}I", *tensor.dims),
                         elements.astype(elements.dtype.newbyteorder("<")).tobytes()])

    def digest(self):
        """The SHA-256 of each tensor of the state, with its name, and that of all."""
        state = sorted(self.plan.state, key=lambda tensor: tensor.name.encode())
        parts = [self.hashed(tensor) for tensor in state]
        each = [(hashlib.sha256(part).hexdigest(), tensor.name) for part, tensor in zip(parts, state)]
        return each, hashlib.sha256(b"".join(parts)).hexdigest()


def chosen(scores, number, temperature, top_k, top_p, seed):
    """The class that firn_sample chooses for a token of a text."""
    rank = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    if temperature == 0:
        return rank[0]
    largest = scores[rank[0]]
    weights = [int(w) for w in np.floor(exp((scores - largest) / F32(temperature)).astype(F64) * 2**31)]
    weights = [2**31 if score == largest else weight for score, weight in zip(scores, weights)]
    left = rank[: top_k or len(rank)]
    if top_p < 1:
        least = sum(weights[i] for i in left) * int(F64(F32(top_p)) * 2**31) >> 31
        added = np.cumsum([weights[i] for i in left])
        left = left[: int(np.argmax(added >= least)) + 1]
    words = philox([np.array([word], np.uint32) for word in (0, 0xFFFFFF80, number & 0xFFFFFFFF, number >> 32)], key_of(seed))
    drawn = (int(words[0][0]) << 32 | int(words[1][0])) * sum(weights[i] for i in left) >> 64
    for i in sorted(left):
        drawn -= weights[i]
        if drawn < 0:
            return i


def generate(run, prompt, tokens, options):
    """A prompt and the tokens behind it, and the scores behind each of them but the last."""
    text = list(prompt)
    scores = run.decode(text)
    while len(text) < len(prompt) + tokens:
        text.append(chosen(scores[-1], len(text), *options))
        if len(text) < len(prompt) + tokens:
            scores = np.concatenate([scores, run.decode(text[-1:])])
    return text, scores


def main():
    parser = argparse.ArgumentParser(description="Runs train steps of a plan, by the documents alone.")
    parser.add_argument("plan")
    for stream in ("data", "labels", "sample-weights"):
        parser.add_argument("--" + stream, action="append", required=stream == "data")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--per-tensor", action="store_true", help="also print the SHA-256 of each tensor of the state")
    parser.add_argument("--evaluate", metavar="PLAN", help="then evaluate this plan with the parameters, on the same data")
    parser.add_argument("--decode", metavar="PLAN", help="then print a prompt and what this decode plan says behind it")
    parser.add_argument("--prompt", default="")
    parser.add_argument("--tokens", type=int, default=0)
    parser.add_argument("--sampling", nargs=4, type=float, default=[1, 0, 1, 0], metavar=("T", "K", "P", "SEED"))
    parser.add_argument("--scores", metavar="NPY", help="of the tokens of the text, to write")
    arguments = parser.parse_args()
    paths = [arguments.data, arguments.labels, arguments.sample_weights]
    streams = [[read_segment(path) for path in stream] for stream in paths if stream]
    rows = op_rows()
    run = Run(Plan(arguments.plan, rows), streams)
    for number in range(1, arguments.steps + 1):
        loss, skipped = run.step()
        print(f"step {number} loss {float(loss).hex()} bits {bits_of(loss)[0]:08x} skipped {'true' if skipped else 'false'}")
    tensors, digest = run.digest()
    for line in tensors if arguments.per_tensor else []:
        print(*line)
    print("digest", digest)
    if arguments.evaluate:
        evaluation = Run(Plan(arguments.evaluate, rows), streams)
        evaluation.take_parameters(run)
        print(f"metric {evaluation.evaluate():.9g}")
    if arguments.decode:
        decoding = Run(Plan(arguments.decode, rows), None)
        decoding.take_parameters(run)
        temperature, top_k, top_p, seed = arguments.sampling
        text, scores = generate(decoding, arguments.prompt.encode(), arguments.tokens, (temperature, int(top_k), top_p, int(seed)))
        print("text", bytes(text).hex())
        if arguments.scores:
            np.save(arguments.scores, scores)
    return 0


if __name__ == "__main__":
    sys.exit(main())
