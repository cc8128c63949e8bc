#!/usr/bin/env python3
"""An independent model of the section Ops of plan/NUMERICS.md, op by op, built on the exact scalar functions of
numerics_model.py. It shares nothing with our C code and was written from the document only, so that it reveals a kernel
that computes something else, or a document that is incomplete.

Writes ops_half.golden beside this script; tests/unit/test_golden_ops.c reads it. Run: python3 ops_model.py
ops_torch.py describes the format of the file. Every tolerance here is 0 (equal bits). There is one more kind of line:
  random SEED GLOBAL_STEP MICRO_STEP   for ops that draw random numbers; 0 0 0 without it
Internally a value is stored as the 32 bits of a binary32 number, even if it belongs to a tensor of a half type."""
from fractions import Fraction
from functools import lru_cache
import os
import random
from itertools import product

import numerics_model as scalar
from numerics_model import ONE, NAN, INFINITY, add, fma, less, multiply, negate, number, subtract
from numerics_model import blocked_sum, exact_fma, exp, is_nan, log, uniform

FORMATS = {form.name: form for form in [scalar.FLOAT32] + scalar.HALVES}
HALF_NAMES = ['bfloat16', 'float16', 'cbfloat16']
ZERO, MINUS_ZERO = 0, 0x80000000
F32 = ('f32', 'float32', 0)

# --- scalars that the model of the functions does not have ------------------------------------------------------------


def real(x):
    """The float nearest to a decimal number."""
    return number(Fraction(x))


@lru_cache(None)
def narrow(form_name, x):
    """The bits of the value of that type that is nearest to x."""
    return FORMATS[form_name].encode(scalar.FLOAT32.decode(x))


@lru_cache(None)
def widen(form_name, bits):
    return scalar.FLOAT32.encode(FORMATS[form_name].decode(bits))


def round_to(form_name, x):
    return widen(form_name, narrow(form_name, x))


@lru_cache(None)
def decoded(form_name, bits):
    return FORMATS[form_name].decode(bits)


def round16(form_name, a, b, c):
    return FORMATS[form_name].encode(exact_fma(*(decoded(form_name, v) for v in (a, b, c))))


def divide(a, b):
    x, y = scalar.FLOAT32.decode(a), scalar.FLOAT32.decode(b)
    if x is None or y is None or (x[1] == 'inf' and y[1] == 'inf') or (x[1] == 0 and y[1] == 0):
        return NAN
    sign = x[0] ^ y[0]
    if x[1] == 'inf' or y[1] == 0:
        return scalar.FLOAT32.encode((sign, 'inf'))
    if y[1] == 'inf':
        return scalar.FLOAT32.encode((sign, Fraction(0)))
    return scalar.FLOAT32.encode((sign, x[1] / y[1]))


def square_root(x):
    if is_nan(x) or less(x, ZERO):
        return NAN
    return x if x == INFINITY else scalar.square_root(x)


cached_exp = lru_cache(None)(exp)


def largest(values):
    """maximum over all values, plus +0."""
    total = values[0]
    for b in values[1:]:
        if not less(b, total):
            total = NAN if is_nan(total) or is_nan(b) else b
    return add(total, ZERO)


def canonical_sum(values):
    total = blocked_sum(values)
    return NAN if is_nan(total) else total


def ascending(values):
    total = ZERO
    for x in values:
        total = add(total, x)
    return total


def reduce(descriptor, terms):
    """terms: (k, a, b), all of them in ascending order of k from 0; where one is absent, the factor that is not there is None."""
    kind, form_name, chunk = descriptor
    if kind in scalar.FLUSHED:
        assert [k for k, _, _ in terms] == list(range(len(terms)))
        return scalar.flushed_sum(kind, [[x if x is None else round_to('bfloat16', x) for x in (a, b)] for _, a, b in terms])
    terms = [(k, a, b) for k, a, b in terms if a is not None and b is not None]
    if kind == 'f32':
        total = ZERO
        for _, a, b in terms:
            total = fma(a, b, total)
        return total
    total, part, current = ZERO, ZERO, None
    for k, a, b in terms:
        if k // chunk != current:
            total = add(total, widen(form_name, part))
            part, current = ZERO, k // chunk
        part = round16(form_name, narrow(form_name, a), narrow(form_name, b), part)
    return add(total, widen(form_name, part))


# --- tensors ----------------------------------------------------------------------------------------------------------


def count(dims):
    product = 1
    for d in dims:
        product *= d
    return product


class Tensor:
    """Values row by row; words are their representation in memory."""

    def __init__(self, kind, dims, values):
        self.kind, self.dims, self.elements = kind, tuple(dims), count(dims)
        if kind in FORMATS:
            self.words = [narrow(kind, v) for v in values]
            self.values = [widen(kind, w) for w in self.words]
        else:
            self.words = [v % 2 ** {'int32': 32, 'int64': 64}[kind] for v in values]
            self.values = list(values)
        assert len(self.values) == self.elements

    def rows(self):
        """The values as a list of rows of the last dimension."""
        width = self.dims[-1]
        return [self.values[i:i + width] for i in range(0, self.elements, width)]

    def text(self):
        width = {'float32': 8, 'int32': 8, 'int64': 16}.get(self.kind, 4)
        return f'{self.kind} {"x".join(map(str, self.dims))} : ' + ' '.join(f'{w:0{width}x}' for w in self.words)


class Unread:
    """An output whose values are not compared."""

    def __init__(self, kind, dims):
        self.kind, self.dims = kind, dims

    def text(self):
        return f'{self.kind} {"x".join(map(str, self.dims))} ?'


def flat(rows):
    return [x for row in rows for x in row]


# --- the ops ----------------------------------------------------------------------------------------------------------
# Each takes the type of its first output, the tensors, then the attributes by name, and gives the list of its outputs.


def cast(kind, x):
    return [Tensor(kind, x.dims, x.values)]


def weight_rows(w, layout):
    """[o][k] in either layout."""
    return w.rows() if layout == 0 else [list(column) for column in zip(*w.rows())]


def rounded(w, x):
    """A float32 weight as the product reads it whose other factor is x."""
    return w if w.kind == x.kind else Tensor(x.kind, w.dims, w.values)


def linear(kind, x, w, bias=None, *, layout, reductions):
    w_rows, y = weight_rows(rounded(w, x), layout), []
    for row in x.rows():
        for o, weights in enumerate(w_rows):
            total = reduce(reductions[0], [(k, a, b) for k, (a, b) in enumerate(zip(row, weights))])
            y.append(total if bias is None else add(total, bias.values[o]))
    return [Tensor(kind, x.dims[:-1] + (len(w_rows),), y)]


def linear_backward_input(kind, dy, w, *, layout, reductions):
    columns = list(zip(*weight_rows(rounded(w, dy), layout)))
    dx = [reduce(reductions[0], [(o, a, b) for o, (a, b) in enumerate(zip(row, column))])
          for row in dy.rows() for column in columns]
    return [Tensor(kind, dy.dims[:-1] + (len(columns),), dx)]


def linear_backward_weight(kind, dy, x, *, layout, reductions):
    dy_columns, x_columns = list(zip(*dy.rows())), list(zip(*x.rows()))
    dw = [[reduce(reductions[0], [(n, a, b) for n, (a, b) in enumerate(zip(g, v))]) for v in x_columns]
          for g in dy_columns]
    if layout == 1:
        dw = list(zip(*dw))
    return [Tensor(kind, (len(dw), len(dw[0])), flat(dw))]


def sum_leading(kind, x, *, rank):
    dims = x.dims[len(x.dims) - rank:]
    width = count(dims)
    return [Tensor(kind, dims, [ascending(x.values[c::width]) for c in range(width)])]


def embedding(kind, ids, table):
    rows = table.rows()
    return [Tensor(kind, ids.dims + table.dims[1:], flat(rows[i] for i in ids.values))]


def embedding_backward(kind, ids, dy, start=None, *, rows):
    width = dy.dims[-1]
    table = [list(r) for r in start.rows()] if start else [[ZERO] * width for _ in range(rows)]
    for i, gradient in zip(ids.values, dy.rows()):
        table[i] = [add(a, b) for a, b in zip(table[i], gradient)]
    return [Tensor(kind, (rows, width), flat(table))]


def concat(kind, *given, axis):
    before = count(given[0].dims[:axis])
    y = [x for i in range(before) for t in given
         for x in t.values[i * (t.elements // before):(i + 1) * (t.elements // before)]]
    dims = given[0].dims
    return [Tensor(kind, dims[:axis] + (sum(t.dims[axis] for t in given),) + dims[axis + 1:], y)]


class Along:
    """The elements of a tensor by the result of a reduction to which they belong, in ascending order."""

    def __init__(self, dims, axes, keep=0):
        steps = [count(dims[d + 1:]) for d in range(len(dims))]
        self.dims = tuple(1 if axes >> d & 1 else n for d, n in enumerate(dims) if keep or not axes >> d & 1) or (1,)
        self.elements = {}  # of each result
        self.result = []  # of each element
        for element in range(count(dims)):
            place = tuple(0 if axes >> d & 1 else element // steps[d] % n for d, n in enumerate(dims))
            self.elements.setdefault(place, []).append(element)
        numbers = {place: i for i, place in enumerate(self.elements)}
        for element in range(count(dims)):
            self.result.append(numbers[tuple(0 if axes >> d & 1 else element // steps[d] % n for d, n in enumerate(dims))])
        # Elements of a line: those of the last dimensions that are all reduced, without the ones of extent 1.
        self.line = 1
        for d in reversed([d for d, n in enumerate(dims) if n > 1]):
            if not axes >> d & 1:
                break
            self.line *= dims[d]

    def of_results(self, function, values):
        return [function([values[e] for e in elements]) for elements in self.elements.values()]


def reduce_sum(kind, x, *, axes, keep):
    along = Along(x.dims, axes, keep)

    def total(values):
        if along.line == 1:
            return ascending(values)
        return ascending([canonical_sum(values[i:i + along.line]) for i in range(0, len(values), along.line)])

    return [Tensor(kind, along.dims, along.of_results(total, x.values))]


def reduce_sum_backward(kind, dy, **extents):
    extents = [extents[f'd{i}'] for i in range(8) if extents[f'd{i}']]
    dims = tuple(abs(n) for n in extents)
    along = Along(dims, sum(1 << d for d, n in enumerate(extents) if n < 0))
    return [Tensor(kind, dims, [dy.values[i] for i in along.result])]


def reduce_max(kind, x, *, axes, keep):
    along = Along(x.dims, axes, keep)
    return [Tensor(kind, along.dims, along.of_results(largest, x.values))]


def is_one_of_largest(x, top):
    return is_nan(x) if is_nan(top) else not is_nan(x) and not less(x, top) and not less(top, x)


def reduce_max_backward(kind, dy, x, y, *, axes, keep):
    along = Along(x.dims, axes, keep)
    chosen = [is_one_of_largest(v, y.values[i]) for v, i in zip(x.values, along.result)]
    counts = along.of_results(sum, chosen)
    shares = [divide(d, number(Fraction(n))) for d, n in zip(dy.values, counts)]
    return [Tensor(kind, x.dims, [shares[i] if c else ZERO for c, i in zip(chosen, along.result)])]


def arg_max(kind, x, *, axis, last):
    along = Along(x.dims, 1 << axis)

    def place(values):
        top = largest(values)
        found = [i for i, v in enumerate(values) if is_one_of_largest(v, top)]
        return found[-1 if last else 0]

    return [Tensor('int32', along.dims, along.of_results(place, x.values))]


def top_k(kind, x, *, count, smallest):
    places = []
    for row in x.rows():
        key = lambda i, row=row: (is_nan(row[i]) != bool(smallest), 0 if is_nan(row[i]) else as_number(row[i]) * (-1 if smallest else 1))
        places += sorted(range(len(row)), key=lambda i: (*(-part for part in key(i)), i))[:count]
    return [Tensor('int32', x.dims[:-1] + (count,), places)]


def as_number(x):
    value = scalar.FLOAT32.decode(x)
    size = Fraction(2) ** 200 if value[1] == 'inf' else value[1]
    return -size if value[0] else size


def repeated_to(dims, x):
    """The elements of x repeated to these extents."""
    own = (1,) * (len(dims) - len(x.dims)) + tuple(x.dims)
    found = []
    for place in product(*map(range, dims)):
        at = 0
        for extent, i in zip(own, place):
            at = at * extent + (0 if extent == 1 else i)
        found.append(x.values[at])
    return found


def fake_quantize(kind, x, scale, zero_point, *, low, high):
    y = []
    for v, s, z in zip(x.values, repeated_to(x.dims, scale), repeated_to(x.dims, zero_point)):
        q = add(nearest_whole(divide(v, s)), z)
        y.append(multiply(subtract(clipped(q, low, high), z), s))
    return [Tensor(kind, x.dims, y)]


def fake_quantize_backward(kind, dy, x, scale, zero_point, *, low, high):
    dx = []
    for d, v, s, z in zip(dy.values, x.values, repeated_to(x.dims, scale), repeated_to(x.dims, zero_point)):
        q = add(nearest_whole(divide(v, s)), z)
        dx.append(ZERO if is_nan(q) or less(q, low) or less(high, q) else d)
    return [Tensor(kind, x.dims, dx)]


def random_uniform(kind, x, *, rng_id, place=(0, 0, 0)):
    seed, step, micro = place
    return [Tensor('float32', x.dims, [uniform((seed, rng_id, step, micro), i) for i in range(x.elements)])]


def random_normal(kind, x, *, rng_id, place=(0, 0, 0)):
    seed, step, micro = place
    return [Tensor('float32', x.dims, [scalar.normal((seed, rng_id, step, micro), i) for i in range(x.elements)])]


def matmul(kind, a, b, *, transpose_a, transpose_b, reductions):
    m, k = a.dims[-2:][::-1] if transpose_a else a.dims[-2:]
    n = b.dims[-2 if transpose_b else -1]
    y = []
    for batch in range(count(a.dims[:-2])):
        of_a = lambda i, t: a.values[batch * m * k + (t * m + i if transpose_a else i * k + t)]
        of_b = lambda t, j: b.values[batch * k * n + (j * k + t if transpose_b else t * n + j)]
        y += [reduce(reductions[0], [(t, of_a(i, t), of_b(t, j)) for t in range(k)]) for i in range(m) for j in range(n)]
    return [Tensor(kind, a.dims[:-2] + (m, n), y)]


def leading_rows(kind, table, *, rows):
    return [Tensor(kind, (rows, table.dims[1]), flat(table.rows()[:rows]))]


def leading_rows_backward(kind, dy, *, rows):
    return [Tensor(kind, (rows, dy.dims[1]), dy.values + [ZERO] * (rows * dy.dims[1] - dy.elements))]


def add_op(kind, a, b):
    return [Tensor(kind, a.dims, [add(x, b.values[i % b.elements]) for i, x in enumerate(a.values)])]


def multiply_op(kind, a, b):
    return [Tensor(kind, a.dims, [multiply(x, b.values[i % b.elements]) for i, x in enumerate(a.values)])]


class Windows:
    """Images [N,H,W,C] and the windows on them; a pair is rows * 65,536 + columns."""

    def __init__(self, height, width, rows, columns, stride, dilation, before, after):
        self.extents, self.kernel = (height, width), (rows, columns)
        self.stride, self.dilation, self.before, self.after = (divmod(p, 65536) for p in (stride, dilation, before, after))
        self.counts = tuple((self.extents[a] + self.before[a] + self.after[a] - (self.kernel[a] - 1) * self.dilation[a] - 1)
                            // self.stride[a] + 1 for a in (0, 1))

    def positions(self):
        return [(i, j) for i in range(self.counts[0]) for j in range(self.counts[1])]

    def places(self):
        return [(h, w) for h in range(self.extents[0]) for w in range(self.extents[1])]

    def elements(self):
        return [(r, s) for r in range(self.kernel[0]) for s in range(self.kernel[1])]

    def place(self, position, element):
        """Where the element of a window lies in the image; None: outside."""
        at = tuple(p * t + e * d - b for p, t, e, d, b in zip(position, self.stride, element, self.dilation, self.before))
        return at if all(0 <= x < extent for x, extent in zip(at, self.extents)) else None

    def inside(self, position):
        """The elements of a window that lie in the image, with their places."""
        return [(e, self.place(position, e)) for e in self.elements() if self.place(position, e) is not None]

    def over(self, place):
        """The windows that have an element at a place of the image, in order, with that element."""
        return [(p, e) for p in self.positions() for e in self.elements() if self.place(p, e) == place]


class Image:
    """The values of a tensor of four dimensions by their indices."""

    def __init__(self, t):
        self.dims, self.values = t.dims, t.values

    def __getitem__(self, at):
        (n, (i, j), c), (_, height, width, channels) = at, self.dims
        return self.values[((n * height + i) * width + j) * channels + c]


def conv(kind, x, weight, bias=None, *, groups, stride, dilation, before, after, reductions):
    (n, height, width, channels), (outputs, rows, columns, depth) = x.dims, weight.dims
    windows, image, w = Windows(height, width, rows, columns, stride, dilation, before, after), Image(x), Image(weight)
    y = []
    for sample in range(n):
        for position in windows.positions():
            for o in range(outputs):
                group = o // (outputs // groups)
                terms = [((r * columns + s) * depth + c, at and image[sample, at, group * depth + c], w[o, (r, s), c])
                         for r, s in windows.elements() for at in [windows.place(position, (r, s))] for c in range(depth)]
                total = reduce(reductions[0], terms)
                y.append(total if bias is None else add(total, bias.values[o]))
    return [Tensor(kind, (n,) + windows.counts + (outputs,), y)]


def conv_backward_input(kind, dy, weight, *, groups, stride, dilation, before, after, height, width, reductions):
    (n, _, _, outputs), (_, rows, columns, depth) = dy.dims, weight.dims
    windows, image, w = Windows(height, width, rows, columns, stride, dilation, before, after), Image(dy), Image(weight)
    part, dx = outputs // groups, []
    for sample in range(n):
        for place in windows.places():
            over = {element: position for position, element in windows.over(place)}
            for c in range(groups * depth):
                first = c // depth * part
                terms = [((r * columns + s) * part + o, position and image[sample, position, first + o],
                          w[first + o, (r, s), c % depth])
                         for r, s in windows.elements() for position in [over.get((r, s))] for o in range(part)]
                dx.append(reduce(reductions[0], terms))
    return [Tensor(kind, (n, height, width, groups * depth), dx)]


def conv_backward_weight(kind, dy, x, *, groups, stride, dilation, before, after, kernel, reductions):
    (n, height, width, channels), outputs = x.dims, dy.dims[3]
    windows, image, result = Windows(height, width, *divmod(kernel, 65536), stride, dilation, before, after), Image(x), Image(dy)
    part, depth, dw = outputs // groups, channels // groups, []
    for o in range(outputs):
        for element in windows.elements():
            for c in range(depth):
                terms = [(sample * len(windows.positions()) + number, result[sample, position, o],
                          at and image[sample, at, o // part * depth + c])
                         for sample in range(n) for number, position in enumerate(windows.positions())
                         for at in [windows.place(position, element)]]
                dw.append(reduce(reductions[0], terms))
    return [Tensor(kind, (outputs,) + windows.kernel + (depth,), dw)]


def first_largest(values):
    """The index of the first NaN, else of the first of the largest values."""
    best = 0
    for i, x in enumerate(values):
        if less(values[best], x) or (is_nan(x) and not is_nan(values[best])):
            best = i
    return best


def max_pool(kind, x, *, kernel, stride, dilation, before, after):
    n, height, width, channels = x.dims
    windows, image = Windows(height, width, *divmod(kernel, 65536), stride, dilation, before, after), Image(x)
    y = []
    for sample in range(n):
        for position in windows.positions():
            for c in range(channels):
                inside = [image[sample, at, c] for _, at in windows.inside(position)]
                y.append(inside[first_largest(inside)] if inside else negate(INFINITY))
    return [Tensor(kind, (n,) + windows.counts + (channels,), y)]


def max_pool_backward(kind, dy, x, *, kernel, stride, dilation, before, after):
    n, height, width, channels = x.dims
    windows, image, gradient = Windows(height, width, *divmod(kernel, 65536), stride, dilation, before, after), Image(x), Image(dy)
    dx = []
    for sample in range(n):
        for place in windows.places():
            for c in range(channels):
                taken = []
                for position, _ in windows.over(place):
                    inside = [at for _, at in windows.inside(position)]
                    if inside[first_largest([image[sample, at, c] for at in inside])] == place:
                        taken.append(gradient[sample, position, c])
                dx.append(ascending(taken))
    return [Tensor(kind, x.dims, dx)]


def window_divisor(windows, position, padded):
    counted = len(windows.elements()) if padded else len(windows.inside(position))
    return number(max(counted, 1))


def average_pool(kind, x, *, kernel, stride, dilation, before, after, padded):
    n, height, width, channels = x.dims
    windows, image = Windows(height, width, *divmod(kernel, 65536), stride, dilation, before, after), Image(x)
    y = [divide(ascending([image[sample, at, c] for _, at in windows.inside(position)]),
                window_divisor(windows, position, padded))
         for sample in range(n) for position in windows.positions() for c in range(channels)]
    return [Tensor(kind, (n,) + windows.counts + (channels,), y)]


def average_pool_backward(kind, dy, *, kernel, stride, dilation, before, after, padded, height, width):
    n, channels = dy.dims[0], dy.dims[3]
    windows, gradient = Windows(height, width, *divmod(kernel, 65536), stride, dilation, before, after), Image(dy)
    dx = [ascending([divide(gradient[sample, position, c], window_divisor(windows, position, padded))
                     for position, _ in windows.over(place)])
          for sample in range(n) for place in windows.places() for c in range(channels)]
    return [Tensor(kind, (n, height, width, channels), dx)]


def layer_norm(kind, x, gain, bias, *, affine, epsilon):
    y, means, reciprocals = [], [], []
    for row in x.rows():
        c = number(len(row))
        mean = divide(canonical_sum(row), c)
        centred = [subtract(v, mean) for v in row]
        variance = divide(canonical_sum([multiply(d, d) for d in centred]), c)
        reciprocal = divide(ONE, square_root(add(variance, epsilon)))
        for d, g, b in zip(centred, gain.values, bias.values):
            y.append(fma(round_to(affine, multiply(d, reciprocal)), round_to(affine, g), round_to(affine, b)))
        means.append(mean)
        reciprocals.append(reciprocal)
    return [Tensor(kind, x.dims, y), Tensor('float32', x.dims[:-1], means),
            Tensor('float32', x.dims[:-1], reciprocals)]


def normalised(row, mean, reciprocal):
    return [multiply(subtract(v, mean), reciprocal) for v in row]


def layer_norm_backward(kind, dy, x, gain, mean, reciprocal, *, affine):
    dx = []
    for gradient, row, m, r in zip(dy.rows(), x.rows(), mean.values, reciprocal.values):
        c, normal = number(len(row)), normalised(row, m, r)
        g = [multiply(d, round_to(affine, w)) for d, w in zip(gradient, gain.values)]
        a = divide(canonical_sum(g), c)
        b = divide(canonical_sum([multiply(u, v) for u, v in zip(g, normal)]), c)
        dx += [multiply(r, fma(negate(v), b, subtract(u, a))) for u, v in zip(g, normal)]
    return [Tensor(kind, x.dims, dx)]


def layer_norm_backward_affine(kind, dy, x, mean, reciprocal, *, affine):
    width = x.dims[-1]
    dgain, dbias = [ZERO] * width, [ZERO] * width
    for gradient, row, m, r in zip(dy.rows(), x.rows(), mean.values, reciprocal.values):
        normal = normalised(row, m, r)
        dgain = [fma(d, round_to(affine, v), t) for d, v, t in zip(gradient, normal, dgain)]
        dbias = [add(t, d) for d, t in zip(gradient, dbias)]
    return [Tensor(kind, (width,), dgain), Tensor(kind, (width,), dbias)]


def rms_norm(kind, x, gain, *, affine, epsilon):
    y, reciprocals = [], []
    for row in x.rows():
        mean_square = divide(canonical_sum([multiply(v, v) for v in row]), number(len(row)))
        reciprocal = divide(ONE, square_root(add(mean_square, epsilon)))
        y += [multiply(round_to(affine, multiply(v, reciprocal)), round_to(affine, g)) for v, g in zip(row, gain.values)]
        reciprocals.append(reciprocal)
    return [Tensor(kind, x.dims, y), Tensor('float32', x.dims[:-1], reciprocals)]


def rms_norm_backward(kind, dy, x, gain, reciprocal, *, affine):
    dx = []
    for gradient, row, r in zip(dy.rows(), x.rows(), reciprocal.values):
        normal = [multiply(v, r) for v in row]
        g = [multiply(d, round_to(affine, w)) for d, w in zip(gradient, gain.values)]
        b = divide(canonical_sum([multiply(u, v) for u, v in zip(g, normal)]), number(len(row)))
        dx += [multiply(r, fma(negate(v), b, u)) for u, v in zip(g, normal)]
    return [Tensor(kind, x.dims, dx)]


def rms_norm_backward_gain(kind, dy, x, reciprocal, *, affine):
    dgain = [ZERO] * x.dims[-1]
    for gradient, row, r in zip(dy.rows(), x.rows(), reciprocal.values):
        dgain = [fma(d, round_to(affine, multiply(v, r)), t) for d, v, t in zip(gradient, row, dgain)]
    return [Tensor(kind, (x.dims[-1],), dgain)]


def columns(rows):
    """The sum of each column: runs of 128 rows, then their totals."""
    totals = [ZERO] * len(rows[0])
    for run in range(0, len(rows), 128):
        totals = [add(t, ascending(column)) for t, column in zip(totals, zip(*rows[run:run + 128]))]
    return totals


def reciprocals_of(variance, epsilon):
    return [divide(ONE, square_root(add(v, epsilon))) for v in variance]


def normal_rows(x, mean, reciprocal):
    return [[multiply(subtract(v, m), r) for v, m, r in zip(row, mean, reciprocal)] for row in x.rows()]


def runs_of(x):
    return (len(x.rows()) - 1) // 128 + 1


def batch_norm_fixed(kind, x, gain, bias, mean, variance, *, epsilon):
    normal = normal_rows(x, mean.values, reciprocals_of(variance.values, epsilon))
    return [Tensor(kind, x.dims, [fma(v, g, b) for row in normal for v, g, b in zip(row, gain.values, bias.values)])]


def batch_norm(kind, x, gain, bias, *, epsilon):
    width, n = x.dims[-1:], number(len(x.rows()))
    mean = [divide(total, n) for total in columns(x.rows())]
    centred = [[subtract(v, m) for v, m in zip(row, mean)] for row in x.rows()]
    variance = [divide(total, n) for total in columns([[multiply(d, d) for d in row] for row in centred])]
    statistics = [Tensor('float32', width, values) for values in (mean, variance)]
    return batch_norm_fixed(kind, x, gain, bias, *statistics, epsilon=epsilon) + [
        statistics[0], Tensor('float32', width, reciprocals_of(variance, epsilon)), statistics[1],
        Unread('float32', (runs_of(x),) + width)]


def gradients_of_affine(dy, x, mean, reciprocal):
    normal = normal_rows(x, mean, reciprocal)
    projections = [[multiply(d, v) for d, v in zip(*rows)] for rows in zip(dy.rows(), normal)]
    return [Tensor('float32', x.dims[-1:], columns(rows)) for rows in (projections, dy.rows())] + [
        Unread('float32', (runs_of(x), 2, x.dims[-1]))]


def batch_norm_backward(kind, dy, x, gain, mean, reciprocal):
    n = number(len(x.rows()))
    dgain, dbias, partial = gradients_of_affine(dy, x, mean.values, reciprocal.values)
    p, q = [[divide(v, n) for v in t.values] for t in (dgain, dbias)]
    scales = [multiply(g, r) for g, r in zip(gain.values, reciprocal.values)]
    dx = [multiply(s, fma(negate(v), a, subtract(d, b)))
          for gradient, normal in zip(dy.rows(), normal_rows(x, mean.values, reciprocal.values))
          for d, v, s, a, b in zip(gradient, normal, scales, p, q)]
    return [Tensor(kind, x.dims, dx), dgain, dbias, partial]


def batch_norm_fixed_backward(kind, dy, x, gain, mean, variance, *, epsilon):
    reciprocal = reciprocals_of(variance.values, epsilon)
    scales = [multiply(g, r) for g, r in zip(gain.values, reciprocal)]
    dx = [multiply(s, d) for gradient in dy.rows() for d, s in zip(gradient, scales)]
    return [Tensor(kind, x.dims, dx)] + gradients_of_affine(dy, x, mean.values, reciprocal)


def running_statistics(kind, following, mean, variance, running_mean, running_var, *, rows, momentum, place=(0, 0, 0)):
    width, rest = len(mean.values), subtract(ONE, momentum)
    before = running_mean.values + running_var.values if place[2] == 0 else following.values
    factor = divide(number(rows), number(rows - 1))
    now = mean.values + [multiply(v, factor) for v in variance.values]
    return [Tensor(kind, (2, width), [fma(rest, b, multiply(momentum, v)) for b, v in zip(before, now)])]


def store_statistics(kind, running_mean, running_var, following):
    width = len(running_mean.values)
    return [Tensor(kind, (width,), following.values[:width]), Tensor(kind, (width,), following.values[width:])]


def gelu(kind, x, *, form):
    return [Tensor(kind, x.dims, [(scalar.gelu_tanh if form else scalar.gelu)(v) for v in x.values])]


def gelu_backward(kind, dy, x, *, form):
    slope = scalar.gelu_tanh_slope if form else scalar.gelu_slope
    return [Tensor(kind, x.dims, [multiply(d, slope(v)) for d, v in zip(dy.values, x.values)])]


def at_most_zero(x):
    return not is_nan(x) and not less(ZERO, x)


def relu(kind, x):
    return [Tensor(kind, x.dims, [ZERO if at_most_zero(v) else v for v in x.values])]


def relu_backward(kind, dy, y):
    return [Tensor(kind, y.dims, [ZERO if at_most_zero(v) else d for d, v in zip(dy.values, y.values)])]


def tanh(kind, x):
    return [Tensor(kind, x.dims, [scalar.tanh(v) for v in x.values])]


def tanh_backward(kind, dy, y):
    return [Tensor(kind, y.dims, [multiply(d, fma(negate(v), v, ONE)) for d, v in zip(dy.values, y.values)])]


def sigmoid(kind, x):
    return [Tensor(kind, x.dims, [scalar.sigmoid(v) for v in x.values])]


def sigmoid_backward(kind, dy, y):
    return [Tensor(kind, y.dims, [multiply(d, fma(negate(v), v, v)) for d, v in zip(dy.values, y.values)])]


def silu(kind, x):
    return [Tensor(kind, x.dims, [scalar.silu(v) for v in x.values])]


def silu_backward(kind, dy, x):
    return [Tensor(kind, x.dims, [multiply(d, scalar.silu_slope(v)) for d, v in zip(dy.values, x.values)])]


def softplus(kind, x):
    return [Tensor(kind, x.dims, [scalar.softplus(v) for v in x.values])]


def softplus_backward(kind, dy, x):
    return [Tensor(kind, x.dims, [multiply(d, scalar.sigmoid(v)) for d, v in zip(dy.values, x.values)])]


def rotate(kind, x, direction, *, rotation, heads, rotated, rotary_dim, interleaved, base):
    def product(u, v):
        return round_to(rotation, multiply(u, v))

    size, half, y = x.dims[-1] // heads, rotary_dim // 2, list(x.values)
    step = divide(multiply(negate(log(base)), number(2)), number(rotary_dim))
    for n in range(x.elements // x.dims[-1]):
        for i in range(half):
            angle = multiply(number(n % x.dims[-2]), exp(multiply(number(i), step)))
            c, s = round_to(rotation, scalar.cos(angle)), round_to(rotation, scalar.sin(angle))
            s = s if direction > 0 else negate(s)
            for head in range(rotated):
                start = n * x.dims[-1] + head * size
                at = (start + 2 * i, start + 2 * i + 1) if interleaved else (start + i, start + i + half)
                a, b = (round_to(rotation, x.values[k]) for k in at)
                y[at[0]] = round_to(rotation, subtract(product(a, c), product(b, s)))
                y[at[1]] = round_to(rotation, add(product(b, c), product(a, s)))
    return [Tensor(kind, x.dims, y)]


def rotary_embedding(kind, x, **attributes):
    return rotate(kind, x, 1, **attributes)


def rotary_embedding_backward(kind, dy, **attributes):
    return rotate(kind, dy, -1, **attributes)


def keep_factor(rate):
    return divide(ONE, subtract(ONE, rate))


def is_kept(place, rng_id, element, rate):
    seed, step, micro = place
    return not less(uniform((seed, rng_id, step, micro), element), rate)


def dropout(kind, x, *, rng_id, rate, place=(0, 0, 0)):
    factor = keep_factor(rate)
    return [Tensor(kind, x.dims, [multiply(v, factor) if is_kept(place, rng_id, i, rate) else ZERO
                                  for i, v in enumerate(x.values)])]


def at_or_none(those, j):
    """Element j, or None for a key behind those that a query sees, which are the first ones."""
    return those[j] if j < len(those) else None


class Heads:
    """Shared by both directions of attention: the operands of one batch, and p and r of a query."""

    def __init__(self, qkv, b, settings, slopes=None):
        self.__dict__.update(settings)
        self.slopes = slopes
        self.b, self.time = b, qkv.dims[1]
        self.depth = qkv.dims[2] // (self.heads + 2 * self.kv_heads)
        self.rows = qkv.rows()[b * self.time:(b + 1) * self.time]
        self.operand = qkv.kind
        self.softmax = qkv.kind if self.half_softmax else 'float32'

    def part(self, t, head):
        """The D elements of a head in the order of qkv: queries, then keys, then values."""
        return self.rows[t][head * self.depth:(head + 1) * self.depth]

    def key_head(self, h):
        return h // (self.heads // self.kv_heads)

    def query(self, h, i):
        return self.part(i, h)

    def key(self, h, j):
        return self.part(j, self.heads + self.key_head(h))

    def value(self, h, j):
        return self.part(j, self.heads + self.kv_heads + self.key_head(h))

    def seen(self, i):
        return range(i + 1 if self.causal else self.time)

    def scores(self, h, i):
        q = self.query(h, i)
        products = [multiply(self.scale, reduce(self.reductions[0], [
            (d, a, b) for d, (a, b) in enumerate(zip(q, self.key(h, j)))])) for j in self.seen(i)]
        if self.slopes:
            products = [fma(self.slopes.values[h], subtract(number(j), number(i)), t) for j, t in enumerate(products)]
        return [round_to(self.softmax, t) for t in products]

    def exponentials(self, scores, row_max):
        return [round_to(self.softmax, cached_exp(subtract(s, row_max))) for s in scores]

    def probabilities(self, exponentials, row_sum):
        return [round_to(self.operand, divide(e, row_sum)) for e in exponentials]

    def kept(self, h, i, j):
        element = ((self.b * self.heads + h) * self.time + i) * self.time + j
        return self.dropout_rate == ZERO or is_kept(self.place, self.rng_id, element, self.dropout_rate)

    def after_dropout(self, h, i, p):
        factor = keep_factor(self.dropout_rate)
        return [round_to(self.operand, multiply(x, factor)) if self.kept(h, i, j) else ZERO for j, x in enumerate(p)]


def attention(kind, qkv, slopes=None, **settings):
    settings.setdefault('place', (0, 0, 0))
    batch, time, _ = qkv.dims
    heads = settings['heads']
    y, row_max, row_sum = [], [], []
    for b in range(batch):
        of = Heads(qkv, b, settings, slopes)
        out = [[] for _ in range(time)]
        for h in range(heads):
            for i in range(time):
                s = of.scores(h, i)
                top = largest(s)
                e = of.exponentials(s, top)
                total = canonical_sum(e)
                r = of.after_dropout(h, i, of.probabilities(e, total))
                row_max.append(top)
                row_sum.append(total)
                out[i] += [reduce(of.reductions[1], [(j, at_or_none(r, j), of.value(h, j)[d]) for j in range(of.time)])
                           for d in range(of.depth)]
        y += flat(out)
    rows = (batch, heads, time)
    return [Tensor(kind, (batch, time, heads * of.depth), y), Tensor('float32', rows, row_max),
            Tensor('float32', rows, row_sum), Unread('float32', (batch, heads, settings['rows'], time))]


def attention_backward(kind, dy, qkv, row_max, row_sum, slopes=None, **settings):
    settings.setdefault('place', (0, 0, 0))
    batch, time, _ = qkv.dims
    heads, kv_heads = settings['heads'], settings['kv_heads']
    dqkv = []
    for b in range(batch):
        of = Heads(qkv, b, settings, slopes)
        scores_of, values_of, gradients_of = of.reductions
        factor, depth = keep_factor(of.dropout_rate), range(of.depth)
        dq = [[None] * heads for _ in range(time)]
        dk, dv = ([[None] * kv_heads for _ in range(time)] for _ in range(2))
        for h in range(heads):
            gradient = [row[h * of.depth:(h + 1) * of.depth] for row in dy.rows()[b * time:(b + 1) * time]]
            r, ds = [], []
            for i in range(time):
                at = (b * heads + h) * time + i
                p = of.probabilities(of.exponentials(of.scores(h, i), row_max.values[at]), row_sum.values[at])
                r.append(of.after_dropout(h, i, p))
                dp = []
                for j in of.seen(i):
                    u = reduce(values_of, [(d, gradient[i][d], of.value(h, j)[d]) for d in depth])
                    dp.append(multiply(u, factor) if of.kept(h, i, j) else ZERO)
                total = canonical_sum([multiply(a, c) for a, c in zip(p, dp)])
                ds.append([round_to(of.operand, multiply(a, subtract(c, total))) for a, c in zip(p, dp)])
                dq[i][h] = [multiply(of.scale, reduce(gradients_of, [
                    (j, at_or_none(ds[i], j), of.key(h, j)[d]) for j in range(of.time)])) for d in depth]
            g = of.key_head(h)
            for j in range(time):
                to_key = [reduce(gradients_of, [(i, at_or_none(ds[i], j), of.query(h, i)[d]) for i in range(time)])
                          for d in depth]
                to_value = [reduce(values_of, [(i, at_or_none(r[i], j), gradient[i][d]) for i in range(time)])
                            for d in depth]
                for total, part in ((dk, to_key), (dv, to_value)):
                    total[j][g] = part if total[j][g] is None else [add(x, z) for x, z in zip(total[j][g], part)]
        for t in range(time):
            dqkv += flat(dq[t]) + [multiply(of.scale, x) for x in flat(dk[t])] + flat(dv[t])
    return [Tensor(kind, qkv.dims, dqkv), Unread('float32', (batch, heads, 2 * settings['rows'] + 1, time))]


class SeparateHeads(Heads):
    """The same for separate queries, keys and values, with a mask."""

    def __init__(self, query, key, value, mask, b, settings, slopes):
        self.__dict__.update(settings)
        self.slopes, self.mask, self.b = slopes, mask, b
        self.queries, self.time = query.dims[1], key.dims[1]
        self.depth = query.dims[2] // self.heads
        self.parts = [t.rows()[b * t.dims[1]:(b + 1) * t.dims[1]] for t in (query, key, value)]
        self.operand = query.kind
        self.softmax = query.kind if self.half_softmax else 'float32'

    def of(self, part, t, head):
        return self.parts[part][t][head * self.depth:(head + 1) * self.depth]

    def query(self, h, i):
        return self.of(0, i, h)

    def key(self, h, j):
        return self.of(1, j, self.key_head(h))

    def value(self, h, j):
        return self.of(2, j, self.key_head(h))

    def seen(self, i):
        return range(min(i + 1, self.time) if self.causal else self.time)

    def added(self, h, i, j):
        batches, heads = self.mask.dims[:2]
        at = (self.b if batches > 1 else 0) * heads + (h if heads > 1 else 0)
        return self.mask.values[(at * self.queries + i) * self.time + j]

    def scores(self, h, i):
        q = self.query(h, i)
        scores = []
        for j in self.seen(i):
            t = multiply(self.scale, reduce(self.reductions[0], [
                (d, a, b) for d, (a, b) in enumerate(zip(q, self.key(h, j)))]))
            t = fma(self.slopes.values[h], subtract(number(j), number(i)), t) if self.slopes else t
            t = add(t, self.added(h, i, j)) if self.mask else t
            scores.append(round_to(self.softmax, t))
        return scores

    def kept(self, h, i, j):
        element = ((self.b * self.heads + h) * self.queries + i) * self.time + j
        return self.dropout_rate == ZERO or is_kept(self.place, self.rng_id, element, self.dropout_rate)


def cross_attention(kind, query, key, value, mask=None, slopes=None, **settings):
    settings.setdefault('place', (0, 0, 0))
    y, row_max, row_sum = [], [], []
    batch, time, heads = query.dims[0], query.dims[1], settings['heads']
    for b in range(batch):
        of = SeparateHeads(query, key, value, mask, b, settings, slopes)
        out = [[] for _ in range(time)]
        for h in range(heads):
            for i in range(time):
                s = of.scores(h, i)
                top = largest(s)
                e = of.exponentials(s, top)
                total = canonical_sum(e)
                r = of.after_dropout(h, i, of.probabilities(e, total))
                row_max.append(top)
                row_sum.append(total)
                out[i] += [reduce(of.reductions[1], [(j, at_or_none(r, j), of.value(h, j)[d]) for j in range(of.time)])
                           for d in range(of.depth)]
        y += flat(out)
    rows = (batch, heads, time)
    return [Tensor(kind, query.dims, y), Tensor('float32', rows, row_max), Tensor('float32', rows, row_sum),
            Unread('float32', (batch, heads, settings['rows'], key.dims[1]))]


def cross_attention_backward(kind, dy, query, key, value, row_max, row_sum, mask=None, slopes=None, **settings):
    settings.setdefault('place', (0, 0, 0))
    batch, queries, keys = query.dims[0], query.dims[1], key.dims[1]
    heads, kv_heads = settings['heads'], settings['kv_heads']
    gradients = [[], [], []]
    for b in range(batch):
        of = SeparateHeads(query, key, value, mask, b, settings, slopes)
        scores_of, values_of, gradients_of = of.reductions
        factor, depth = keep_factor(of.dropout_rate), range(of.depth)
        dq = [[None] * heads for _ in range(queries)]
        dk, dv = ([[None] * kv_heads for _ in range(keys)] for _ in range(2))
        for h in range(heads):
            gradient = [row[h * of.depth:(h + 1) * of.depth] for row in dy.rows()[b * queries:(b + 1) * queries]]
            r, ds = [], []
            for i in range(queries):
                at = (b * heads + h) * queries + i
                p = of.probabilities(of.exponentials(of.scores(h, i), row_max.values[at]), row_sum.values[at])
                r.append(of.after_dropout(h, i, p))
                dp = []
                for j in of.seen(i):
                    u = reduce(values_of, [(d, gradient[i][d], of.value(h, j)[d]) for d in depth])
                    dp.append(multiply(u, factor) if of.kept(h, i, j) else ZERO)
                total = canonical_sum([multiply(a, c) for a, c in zip(p, dp)])
                ds.append([round_to(of.operand, multiply(a, subtract(c, total))) for a, c in zip(p, dp)])
                dq[i][h] = [multiply(of.scale, reduce(gradients_of, [
                    (j, at_or_none(ds[i], j), of.key(h, j)[d]) for j in range(of.time)])) for d in depth]
            g = of.key_head(h)
            for j in range(keys):
                to_key = [reduce(gradients_of, [(i, at_or_none(ds[i], j), of.query(h, i)[d]) for i in range(queries)])
                          for d in depth]
                to_value = [reduce(values_of, [(i, at_or_none(r[i], j), gradient[i][d]) for i in range(queries)])
                            for d in depth]
                for total, part in ((dk, to_key), (dv, to_value)):
                    total[j][g] = part if total[j][g] is None else [add(x, z) for x, z in zip(total[j][g], part)]
        for to, rows in zip(gradients, (dq, [[[multiply(of.scale, x) for x in head] for head in row] for row in dk], dv)):
            to += [x for row in rows for head in row for x in head]
    return [Tensor(kind, t.dims, g) for t, g in zip((query, key, value), gradients)] + [
        Unread('float32', (batch, heads, 2 * settings['rows'] + 1, max(queries, keys)))]


def cross_entropy(kind, logits, labels):
    tops, sums, losses = [], [], []
    for row, label in zip(logits.rows(), labels.values):
        top = largest(row)
        total = canonical_sum([cached_exp(subtract(v, top)) for v in row])
        losses.append(subtract(log(total), subtract(row[label], top)))
        tops.append(top)
        sums.append(total)
    loss = divide(canonical_sum(losses), number(len(losses)))
    rows = logits.dims[:-1]
    return [Tensor(kind, (1,), [loss]), Tensor('float32', rows, tops), Tensor('float32', rows, sums)]


def cross_entropy_backward(kind, dloss, logits, labels, row_max, row_sum):
    f, d = divide(dloss.values[0], number(len(labels.values))), []
    for row, label, top, total in zip(logits.rows(), labels.values, row_max.values, row_sum.values):
        for v, x in enumerate(row):
            p = divide(cached_exp(subtract(x, top)), total)
            d.append(multiply(subtract(p, ONE) if v == label else p, f))
    return [Tensor(kind, logits.dims, d)]


def mean_squared_error(kind, prediction, target):
    d = [subtract(p, t) for p, t in zip(prediction.values, target.values)]
    return [Tensor(kind, (1,), [divide(canonical_sum([multiply(x, x) for x in d]), number(len(d)))])]


def mean_squared_error_backward(kind, dloss, prediction, target):
    f = divide(multiply(number(2), dloss.values[0]), number(prediction.elements))
    return [Tensor(kind, prediction.dims, [multiply(subtract(p, t), f)
                                           for p, t in zip(prediction.values, target.values)])]


HALF_ONE, MINUS_ONE = real('0.5'), real('-1')


def mean_of(kind, terms, n):
    return [Tensor(kind, (1,), [divide(canonical_sum(terms), number(n))])]


def slopes_times(kind, dloss, prediction, slopes, n):
    g = divide(dloss.values[0], number(n))
    return [Tensor(kind, prediction.dims, [multiply(s, g) for s in slopes])]


def differences(prediction, target):
    return [subtract(x, t) for x, t in zip(prediction.values, target.values)]


def magnitude(x):
    return x & 0x7fffffff


def l1_loss(kind, prediction, target):
    d = differences(prediction, target)
    return mean_of(kind, [magnitude(x) for x in d], len(d))


def l1_loss_backward(kind, dloss, prediction, target):
    signs = [NAN if is_nan(d) else ONE if less(ZERO, d) else MINUS_ONE if less(d, ZERO) else ZERO
             for d in differences(prediction, target)]
    return slopes_times(kind, dloss, prediction, signs, len(signs))


def huber_loss(kind, prediction, target, *, form, threshold):
    scale, steep = (threshold, ONE) if form else (ONE, threshold)
    terms = []
    for d in differences(prediction, target):
        a = magnitude(d)
        near = divide(multiply(multiply(HALF_ONE, a), a), scale)
        far = multiply(steep, subtract(a, multiply(HALF_ONE, threshold)))
        terms.append(near if less(a, threshold) else far)
    return mean_of(kind, terms, len(terms))


def huber_loss_backward(kind, dloss, prediction, target, *, form, threshold):
    scale, slopes = threshold if form else ONE, []
    for d in differences(prediction, target):
        inside = negate(threshold) if less(d, negate(threshold)) else threshold if less(threshold, d) else d
        slopes.append(divide(inside, scale))
    return slopes_times(kind, dloss, prediction, slopes, len(slopes))


def binary_cross_entropy(kind, prediction, target):
    terms = [add(fma(negate(x), t, x if less(ZERO, x) else ZERO), scalar.log_one_exp(x))
             for x, t in zip(prediction.values, target.values)]
    return mean_of(kind, terms, len(terms))


def binary_cross_entropy_backward(kind, dloss, prediction, target):
    slopes = [subtract(scalar.sigmoid(x), t) for x, t in zip(prediction.values, target.values)]
    return slopes_times(kind, dloss, prediction, slopes, len(slopes))


def kl_divergence(kind, prediction, target, *, log_target, batch_mean):
    terms = []
    for x, t in zip(prediction.values, target.values):
        p, q = (cached_exp(t), t) if log_target else (t, log(t))
        terms.append(ZERO if magnitude(p) == 0 else multiply(p, subtract(q, x)))
    return mean_of(kind, terms, prediction.dims[0] if batch_mean else len(terms))


def kl_divergence_backward(kind, dloss, prediction, target, *, log_target, batch_mean):
    slopes = [negate(cached_exp(t) if log_target else t) for t in target.values]
    return slopes_times(kind, dloss, prediction, slopes, prediction.dims[0] if batch_mean else len(slopes))


def row_statistics(row):
    top = largest(row)
    return top, canonical_sum([cached_exp(subtract(v, top)) for v in row])


def softmax(kind, x):
    y = []
    for row in x.rows():
        top, total = row_statistics(row)
        y += [divide(cached_exp(subtract(v, top)), total) for v in row]
    return [Tensor(kind, x.dims, y)]


def log_softmax(kind, x):
    y = []
    for row in x.rows():
        top, total = row_statistics(row)
        y += [subtract(subtract(v, top), log(total)) for v in row]
    return [Tensor(kind, x.dims, y)]


def softmax_backward(kind, dy, y):
    dx = []
    for gradient, row in zip(dy.rows(), y.rows()):
        total = canonical_sum([multiply(d, v) for d, v in zip(gradient, row)])
        dx += [multiply(v, subtract(d, total)) for d, v in zip(gradient, row)]
    return [Tensor(kind, y.dims, dx)]


def log_softmax_backward(kind, dy, y):
    dx = []
    for gradient, row in zip(dy.rows(), y.rows()):
        total = canonical_sum(gradient)
        dx += [fma(negate(cached_exp(v)), total, d) for d, v in zip(gradient, row)]
    return [Tensor(kind, y.dims, dx)]


def nll_loss(kind, logarithms, labels):
    return mean_of(kind, [negate(row[label]) for row, label in zip(logarithms.rows(), labels.values)],
                   len(labels.values))


def nll_loss_backward(kind, dloss, logarithms, labels):
    slope = negate(divide(dloss.values[0], number(len(labels.values))))
    return [Tensor(kind, logarithms.dims, flat([slope if v == label else ZERO for v in range(logarithms.dims[-1])]
                                               for label in labels.values))]


def row_weights(labels, weights, ignore_index):
    return [ZERO if label == ignore_index else weights.values[n] if weights else ONE
            for n, label in enumerate(labels.values)]


def share_of(factor, divisor):
    return ZERO if magnitude(divisor) == 0 else divide(factor, divisor)


def cross_entropy_weighted(kind, logits, labels, weights=None, *, ignore_index, scaling, label_smoothing, factor):
    tops, sums, row_losses = [], [], []
    for row, label in zip(logits.rows(), labels.values):
        top, total = row_statistics(row)
        score = subtract(row[label], top)
        if label_smoothing != ZERO:
            mean = divide(canonical_sum([subtract(v, top) for v in row]), number(len(row)))
            score = fma(label_smoothing, mean, multiply(subtract(ONE, label_smoothing), score))
        tops.append(top)
        sums.append(total)
        row_losses.append(subtract(log(total), score))
    w = row_weights(labels, weights, ignore_index)
    divisor = number(logits.dims[0]) if scaling else canonical_sum(w)
    terms = [ZERO if magnitude(a) == 0 else multiply(a, b) for a, b in zip(w, row_losses)]
    loss = multiply(canonical_sum(terms), share_of(factor, divisor))
    rows = logits.dims[:-1]
    return [Tensor(kind, (1,), [loss]), Tensor('float32', rows, tops), Tensor('float32', rows, sums),
            Tensor('float32', rows, row_losses), Tensor('float32', (1,), [divisor])]


def cross_entropy_weighted_backward(kind, dloss, logits, labels, row_max, row_sum, divisor, weights=None, *,
                                    ignore_index, scaling, label_smoothing, factor):
    g, d = multiply(dloss.values[0], share_of(factor, divisor.values[0])), []
    for row, label, top, total, w in zip(logits.rows(), labels.values, row_max.values, row_sum.values,
                                         row_weights(labels, weights, ignore_index)):
        for v, x in enumerate(row):
            p = subtract(divide(cached_exp(subtract(x, top)), total), divide(label_smoothing, number(len(row))))
            if v == label:
                p = subtract(p, subtract(ONE, label_smoothing))
            d.append(ZERO if magnitude(w) == 0 else multiply(p, multiply(w, g)))
    return [Tensor(kind, logits.dims, d)]


def loss_seed(kind, scale=None, *, factor):
    return [Tensor(kind, (1,), [multiply(factor, scale.values[0] if scale else ONE)])]


def accumulate(kind, total, g, *, place=(0, 0, 0)):
    later = [add(a, b) for a, b in zip(total.values, g.values)]
    return [Tensor(kind, total.dims, g.values if place[2] == 0 else later)]


def accumulate_tree(kind, total, g, lower=None, *, micro_batches, place=(0, 0, 0)):
    """Level l holds the node that waits there for its right neighbour; the highest level is the total."""
    size, last, node = total.elements, micro_batches - 1, list(g.values)
    below = list(lower.values) if lower else []
    levels = [below[at:at + size] for at in range(0, len(below), size)] + [list(total.values)]
    at = 0
    while at < len(levels) and (place[2] == last or place[2] >> at & 1):
        if place[2] >> at & 1:
            node = [add(a, b) for a, b in zip(levels[at], node)]
        at += 1
    levels[min(at, len(levels) - 1)] = node
    outputs = [Tensor('float32', total.dims, levels[-1])]
    return outputs + ([Tensor('float32', lower.dims, sum(levels[:-1], []))] if lower else [])


def sum_of_squares(kind, g, partial, scale=None, *, index):
    u = divide(ONE, scale.values[0]) if scale else ONE
    values = list(partial.values)
    values[index] = canonical_sum([multiply(x, x) for x in (multiply(x, u) for x in g.values)])
    return [Tensor(kind, partial.dims, values), Unread('float32', (1, (g.elements - 1) // 4096 + 1))]


def largest_size(values):
    return NAN if any(map(is_nan, values)) else max(map(magnitude, values))


def largest_magnitude(kind, g, partial, *, index):
    values = list(partial.values)
    values[index] = largest_size(g.values)
    return [Tensor(kind, partial.dims, values), Unread('float32', (1, (g.elements - 1) // 4096 + 1))]


def gradient_magnitude(kind, partial):
    return [Tensor(kind, (1,), [largest_size(partial.values)])]


def scaled(x, n):
    """x * 2^n, rounded once."""
    value = scalar.FLOAT32.decode(x)
    if value is None or value[1] in ('inf', 0):
        return x
    return scalar.FLOAT32.encode((value[0], value[1] * Fraction(2) ** n))


def split(x):
    """w and e with x = w * 2^e and 1 <= |w| < 2."""
    value = scalar.FLOAT32.decode(x)
    if value is None or value[1] in ('inf', 0):
        return x, 0
    e = next(e for e in range(-149, 128) if value[1] < Fraction(2) ** (e + 1))
    return scaled(x, -e), e


def unit_of(magnitude, scale):
    """k, w and n of the unit of the squares, and u."""
    u = divide(ONE, scale.values[0]) if scale else ONE
    w, e = split(u)
    value = scalar.FLOAT32.decode(magnitude.values[0])
    if value is None or value[1] == 'inf':
        k = 128
    else:
        k = next(k for k in range(-126, 129) if value[1] <= Fraction(2) ** k)
    return k, w, k + e, u


def sum_of_scaled_squares(kind, g, partial, magnitude, scale=None, *, index):
    k, w, _, _ = unit_of(magnitude, scale)
    shrink = number(Fraction(2) ** -k)
    values = list(partial.values)
    values[index] = canonical_sum([multiply(t, t) for t in (multiply(multiply(x, shrink), w) for x in g.values)])
    return [Tensor(kind, partial.dims, values), Unread('float32', (1, (g.elements - 1) // 4096 + 1))]


def gradient_norm(kind, partial, magnitude=None, scale=None):
    root = square_root(canonical_sum(partial.values))
    if magnitude is None:
        return [Tensor(kind, (1,), [root]), Tensor('int32', (1,), [int(less(root, INFINITY))])]
    _, _, n, u = unit_of(magnitude, scale)
    finite = less(multiply(magnitude.values[0], u), INFINITY)
    return [Tensor(kind, (1,), [scaled(root, n)]), Tensor('int32', (1,), [int(finite)]), Tensor(kind, (1,), [root])]


def gradient_factors(kind, scale=None, norm=None, root=None, magnitude=None, *, clipping, limit):
    u = divide(ONE, scale.values[0]) if scale else ONE
    c = ONE
    if root and less(root.values[0], INFINITY):
        _, _, n, _ = unit_of(magnitude, scale)
        plain = less(norm.values[0], number(2 ** 64))
        d, b = split(add(norm.values[0], number('0x1.0c6f7ap-20')) if plain else root.values[0])
        l, a = split(limit)
        q, x = divide(l, d), a - b - (0 if plain else n)
        if x < 0 or (x == 0 and not less(ONE, q)):
            j = max(0, -125 - x, n - 126)
            c, u = scaled(q, x + j), scaled(u, -j)
    elif norm:
        c = divide(limit, add(norm.values[0], number('0x1.0c6f7ap-20')))
        c = ONE if less(ONE, c) else c
    return [Tensor(kind, (3,), [u, c, limit if clipping == 2 else INFINITY])]


def as_seen(gradient, factors):
    """The gradient that optimizers use, after the factors."""
    u, c, l = factors.values if factors else (ONE, ONE, INFINITY)
    seen = [multiply(multiply(x, u), c) for x in gradient.values]
    return [l if less(l, x) else negate(l) if less(x, negate(l)) else x for x in seen]


def adamw(kind, parameter, gradient, rate, exp_avg, exp_avg_sq, power1, power2, factors=None, *, correct_bias, beta1,
          beta2, epsilon, weight_decay):
    correction = ONE
    if correct_bias:
        correction = divide(square_root(subtract(ONE, power2.values[0])), subtract(ONE, power1.values[0]))
    new = []
    for p, g, m, v in zip(parameter.values, as_seen(gradient, factors), exp_avg.values, exp_avg_sq.values):
        m = fma(subtract(ONE, beta1), g, multiply(beta1, m))
        v = fma(subtract(ONE, beta2), multiply(g, g), multiply(beta2, v))
        u = multiply(divide(m, add(square_root(v), epsilon)), correction)
        new.append((fma(negate(rate.values[0]), fma(weight_decay, p, u), p), m, v))
    return [Tensor(kind, parameter.dims, list(column)) for column in zip(*new)]


def decayed(p, g, weight_decay, maximize):
    return fma(weight_decay, p, negate(g) if maximize else g)


def sgd(kind, parameter, gradient, rate, factors=None, *, maximize, weight_decay):
    return [Tensor(kind, parameter.dims, [fma(negate(rate.values[0]), decayed(p, g, weight_decay, maximize), p)
                                          for p, g in zip(parameter.values, as_seen(gradient, factors))])]


def sgd_momentum(kind, parameter, gradient, rate, buffer, factors=None, *, nesterov, maximize, momentum, dampening,
                 weight_decay):
    new = []
    for p, g, b in zip(parameter.values, as_seen(gradient, factors), buffer.values):
        g = decayed(p, g, weight_decay, maximize)
        b = fma(momentum, b, multiply(subtract(ONE, dampening), g))
        new.append((fma(negate(rate.values[0]), fma(momentum, b, g) if nesterov else b, p), b))
    return [Tensor(kind, parameter.dims, list(column)) for column in zip(*new)]


def advance_power(kind, x, *, factor):
    return [Tensor(kind, x.dims, [multiply(x.values[0], factor)])]


def count_op(kind, counter, *, step):
    return [Tensor(kind, counter.dims, [(counter.values[0] + step) % 2 ** 64])]


def loss_scale_update(kind, finite, scale, steps, overflows, skipped, *, steps_per_increase, minimum, maximum,
                      overflow_tolerance):
    scale, steps, overflows, skipped = (t.values[0] for t in (scale, steps, overflows, skipped))
    o = int(finite.values[0] == 0)
    skipped, steps, overflows = skipped + o, steps + 1, overflows + o
    if less(overflow_tolerance, divide(number(overflows), number(steps))):
        scale, steps, overflows = multiply(scale, real('0.5')), 0, 0
    if steps_per_increase < steps:
        scale, steps, overflows = multiply(scale, number(2)), 0, 0
    scale = maximum if less(maximum, scale) else scale
    at_floor = int(less(scale, minimum))
    scale = minimum if less(scale, minimum) else scale
    return [Tensor(kind, (1,), [scale])] + [Tensor('int64', (1,), [n]) for n in (steps, overflows, skipped)] + \
        [Tensor('int32', (1,), [at_floor])]


def metric_mean(kind, value, total, counter):
    x, (total, carry) = value.values[0], total.values
    t = add(total, x)
    seen = subtract(t, total)
    rest = subtract(t, seen)
    lost = add(carry, add(subtract(total, rest), subtract(x, seen)))
    finite = not is_nan(t) and t & 0x7fffffff != INFINITY
    return [Tensor(kind, (2,), [t, lost if finite else ZERO]), Tensor('int64', (1,), [counter.values[0] + 1])]


def add_to(total, x):
    return metric_mean('float32', Tensor('float32', (1,), [x]), total, Tensor('int64', (1,), [0]))[0]


def rows_that_count(samples, n):
    """Of n rows: whether the sample of each counts."""
    return [samples is None or samples.values[row * samples.elements // n] != 0 for row in range(n)]


def counted(counter, w):
    return Tensor('int64', (1,), [counter.values[0] + sum(magnitude(x) != 0 for x in w)])


def metric_weighted_mean(kind, loss, labels, divisor, total, counter, weights=None, *, ignore_index, factor):
    w = row_weights(labels, weights, ignore_index)
    value = multiply(loss.values[0], divide(divisor.values[0], factor))
    return [add_to(total, value), counted(counter, w)]


def first_maximum(row):
    if any(is_nan(v) for v in row):
        return len(row)
    return next(v for v, x in enumerate(row) if not any(less(x, other) for other in row))


def metric_row_mean(kind, row_loss, total, counter, samples, labels=None, weights=None, *, ignore_index):
    n = row_loss.elements
    w = row_weights(labels, weights, ignore_index) if labels else weights.values if weights else [ONE] * n
    w = [x if counts else ZERO for x, counts in zip(w, rows_that_count(samples, n))]
    for x, loss in zip(w, row_loss.values):
        if magnitude(x) != 0:
            total = add_to(total, multiply(x, loss))
    return [total, counted(counter, w)]


LOSSES = {25: 'mean_squared_error', 128: 'l1_loss', 130: 'huber_loss', 132: 'binary_cross_entropy', 134: 'kl_divergence'}


def sample_loss(kind, prediction, target, *, loss, samples, form, log_target, batch_mean, threshold):
    settings = dict(form=form, threshold=threshold) if loss == 130 else {}
    settings = dict(log_target=log_target, batch_mean=batch_mean) if loss == 134 else settings
    n, dims, losses = prediction.elements // samples, (prediction.dims[0] // samples,) + prediction.dims[1:], []
    for first in range(0, prediction.elements, n):
        parts = [Tensor(t.kind, dims, t.values[first:first + n]) for t in (prediction, target)]
        losses += OPS[LOSSES[loss]](kind, *parts, **settings)[0].values
    return [Tensor(kind, (samples,), losses)]


def metric_weighted_accuracy(kind, logits, labels, total, counter, weights=None, samples=None, *, ignore_index):
    w = row_weights(labels, weights, ignore_index)
    w = [x if counts else ZERO for x, counts in zip(w, rows_that_count(samples, len(w)))]
    right = [x if magnitude(x) != 0 and first_maximum(row) == label else ZERO
             for row, label, x in zip(logits.rows(), labels.values, w)]
    if samples is None:
        return [add_to(total, canonical_sum(right)), counted(counter, w)]
    for x, counts in zip(right, rows_that_count(samples, len(w))):
        total = add_to(total, x) if counts else total
    return [total, counted(counter, w)]


def metric_confusion(kind, logits, labels, confusion, counter, weights=None, samples=None, *, ignore_index):
    w, table, columns = row_weights(labels, weights, ignore_index), list(confusion.values), confusion.dims[1]
    w = [x if counts else ZERO for x, counts in zip(w, rows_that_count(samples, len(w)))]
    for row, label, x in zip(logits.rows(), labels.values, w):
        if magnitude(x) != 0:
            table[label * columns + first_maximum(row)] += 1
    return [Tensor('int64', confusion.dims, table), counted(counter, w)]


def metric_auc(kind, logits, target, histogram, counter, counting=None):
    table = list(histogram.values)
    if target.kind == 'int32':
        samples = [(subtract(row[1], row[0]), t != 0) for row, t in zip(logits.rows(), target.values)]
    else:
        samples = [(x, less(HALF_ONE, t)) for x, t in zip(logits.values, target.values)]
    samples = [sample for sample, counts in zip(samples, rows_that_count(counting, len(samples))) if counts]
    for x, positive in samples:
        y = multiply(scalar.sigmoid(x), number(199))
        table[199 * positive + sum(less(number(i), y) for i in range(1, 199))] += 1
    return [Tensor('int64', histogram.dims, table), Tensor('int64', (1,), [counter.values[0] + len(samples)])]


def metric_accuracy(kind, logits, labels, correct, counter, samples=None):
    right, counts = 0, rows_that_count(samples, len(labels.values))
    for row, label, here in zip(logits.rows(), labels.values, counts):
        x = row[label]
        right += here and not any(is_nan(v) for v in row) and not any(
            less(x, other) or (v < label and not less(other, x)) for v, other in enumerate(row))
    return [Tensor(kind, (1,), [correct.values[0] + right]),
            Tensor('int64', (1,), [counter.values[0] + sum(counts)])]


# --- elementwise ops with repeated operands -------------------------------------------------------------------------------


def repeated_extents(*given):
    rank = max(len(t.dims) for t in given)
    every = [(1,) * (rank - len(t.dims)) + t.dims for t in given]
    return tuple(max(extents) for extents in zip(*every))


def repeated(t, dims):
    """The values of t along tensors of the extents dims."""
    found, own = [], (1,) * (len(dims) - len(t.dims)) + t.dims
    for number_of in range(count(dims)):
        place, step, rest = 0, 1, number_of
        for extent, mine in reversed(list(zip(dims, own))):
            place += (rest % extent if mine > 1 else 0) * step
            rest, step = rest // extent, step * mine
        found.append(t.values[place])
    return found


def of_operands(kind, function, *given):
    dims = repeated_extents(*given)
    return [Tensor(kind, dims, [function(*x) for x in zip(*(repeated(t, dims) for t in given))])]


def same(a, b):
    return not is_nan(a) and not is_nan(b) and not less(a, b) and not less(b, a)


def truth(x):
    return ONE if x else ZERO


def broadcast_add(kind, a, b):
    return of_operands(kind, add, a, b)


def broadcast_multiply(kind, a, b):
    return of_operands(kind, multiply, a, b)


def subtract_op(kind, a, b):
    return of_operands(kind, lambda x, y: NAN if is_nan(y) else subtract(x, y), a, b)


def divide_op(kind, a, b):
    return of_operands(kind, divide, a, b)


def smaller(a, b):
    if is_nan(a) or is_nan(b):
        return NAN
    return a if less(a, b) else b


def larger(a, b):
    if is_nan(a) or is_nan(b):
        return NAN
    return a if less(b, a) else b


def minimum_op(kind, a, b):
    return of_operands(kind, smaller, a, b)


def maximum_op(kind, a, b):
    return of_operands(kind, larger, a, b)


def less_op(kind, a, b):
    return of_operands(kind, lambda x, y: truth(less(x, y)), a, b)


def less_or_equal(kind, a, b):
    return of_operands(kind, lambda x, y: truth(less(x, y) or same(x, y)), a, b)


def equal(kind, a, b):
    return of_operands(kind, lambda x, y: truth(same(x, y)), a, b)


def select(kind, condition, a=None, b=None):
    none = Tensor('float32', (1,), [ZERO])
    return of_operands(kind, lambda c, x, y: y if c & 0x7fffffff == 0 else x, condition, a or none, b or none)


def larger_share(kind, dy, a, b):
    def share(g, x, y):
        return ZERO if less(x, y) else multiply(HALF_ONE, g) if same(x, y) else g
    return of_operands(kind, share, dy, a, b)


def sum_to(kind, x, **extents):
    dims = tuple(d for d in extents.values() if d)
    sums = [[] for _ in range(count(dims))]
    places = Tensor('int64', dims, list(range(count(dims))))
    for place, value in zip(repeated(places, x.dims), x.values):
        sums[place].append(value)
    return [Tensor(kind, dims, [ascending(terms) for terms in sums])]


def of_one(function):
    return lambda kind, x, **reals: [Tensor(kind, x.dims, [NAN if is_nan(v) else function(v, **reals) for v in x.values])]


def of_gradient(function):
    """function takes x and gives the slope."""
    return lambda kind, dy, x, **reals: [Tensor(kind, x.dims, [function(d, v, **reals) for d, v in zip(dy.values, x.values)])]


def erf_slope(x):
    return multiply(exp(negate(multiply(x, x))), number('0x1.20dd76p+0'))


def clipped(x, low, high):
    x = low if less(x, low) else x
    return high if less(high, x) else x


def within(dy, x, low, high):
    return dy if less(low, x) and less(x, high) else ZERO


def above_zero(x):
    return less(ZERO, x)


def exp_less_one(x):
    t = scalar.tanh(multiply(HALF_ONE, x))
    return divide(add(t, t), subtract(ONE, t))


def sign_of(x):
    return ZERO if x & 0x7fffffff == 0 else x & 0x80000000 | ONE


def nearest_whole(x):
    """round() of Python gives of two equally near ones the even one."""
    if x & 0x7fffffff >= INFINITY:
        return x
    value = scalar.FLOAT32.decode(x)
    return number(round(value[1])) | x & 0x80000000


def whole_at_most(x):
    if x & 0x7fffffff >= INFINITY:
        return x
    value = scalar.FLOAT32.decode(x)
    exact = -value[1] if value[0] else value[1]
    floor_of = exact.numerator // exact.denominator
    return x & 0x80000000 if floor_of == 0 else number(floor_of)


exp_op, log_op, sqrt, erf_op = of_one(exp), of_one(log), of_one(square_root), of_one(scalar.erf)
reciprocal, abs_op = of_one(lambda x: divide(ONE, x)), of_one(lambda x: x & 0x7fffffff)
sign_op, floor_op = of_one(sign_of), of_one(whole_at_most)
sin_op, cos_op, atan_op, log_one_plus = of_one(scalar.sin), of_one(scalar.cos), of_one(scalar.atan), of_one(scalar.log_one_plus)
round_op = of_one(nearest_whole)
clip, affine_op = of_one(clipped), of_one(lambda x, scale, shift: fma(x, scale, shift))
leaky_relu = of_one(lambda x, slope: x if above_zero(x) else multiply(x, slope))
elu = of_one(lambda x, alpha: x if above_zero(x) else multiply(alpha, exp_less_one(x)))
erf_backward = of_gradient(lambda dy, x: multiply(dy, erf_slope(x)))
clip_backward = of_gradient(within)
leaky_relu_backward = of_gradient(lambda dy, x, slope: dy if above_zero(x) else multiply(dy, slope))
elu_backward = of_gradient(lambda dy, x, alpha: dy if above_zero(x) else multiply(dy, multiply(alpha, exp(x))))


def split_log(x):
    """The logarithm of a finite x above 0 as two floats, as P of NUMERICS.md has it."""
    k = 0
    if x < 0x00800000:
        x, k = multiply(x, number(2 ** 23)), -23
    mantissa, exponent = x & 0x7fffff | ONE, (x >> 23) - 127
    if not less(mantissa, number('0x1.6a09e6p+0')):
        mantissa, exponent = multiply(mantissa, HALF_ONE), exponent + 1
    k_float = number(k + exponent)
    f, coefficients = subtract(mantissa, ONE), scalar.K['log']
    q = coefficients[-1]
    for c in coefficients[-2:0:-1]:
        q = fma(q, f, c)
    square = multiply(f, f)
    rest = fma(f, f, negate(square))
    half = multiply(HALF_ONE, square)
    large = multiply(k_float, scalar.constant('ln2 16 bits'))
    first = add(large, f)
    second = subtract(first, half)
    error = add(add(subtract(large, first), f), subtract(subtract(first, second), half))
    last = fma(k_float, scalar.constant('ln2 16 bits rest'), subtract(error, multiply(HALF_ONE, rest)))
    small = fma(multiply(square, f), q, last)
    high = add(second, small)
    return high, add(subtract(second, high), small)


def exponential_power(a, b):
    high, low = split_log(a)
    exponent = multiply(b, high)
    rest = fma(b, low, fma(b, high, negate(exponent)))
    y = exp(exponent)
    return y if y == ZERO or y == INFINITY else fma(y, rest, y)


def is_whole(x):
    return whole_at_most(x) == x


@lru_cache(None)
def power_of(a, b):
    size, whole, magnitude = b & 0x7fffffff, not is_nan(b) and is_whole(b), a & 0x7fffffff
    if whole and not less(number(4), size):
        n, square = int(scalar.FLOAT32.decode(size)[1]), multiply(a, a)
        y = (ONE, a, square, multiply(square, a), multiply(square, square))[n]
        return divide(ONE, y) if less(b, ZERO) else y
    if a == ONE:
        return ONE
    if is_nan(a) or is_nan(b) or (not whole and less(a, ZERO) and less(negate(INFINITY), a)):
        return NAN
    if size == HALF_ONE and less(ZERO, a) and less(a, INFINITY):
        return square_root(a) if less(ZERO, b) else scalar.rsqrt(a)
    if less(ZERO, magnitude) and less(magnitude, INFINITY) and less(size, INFINITY):
        y = exponential_power(magnitude, b)
    elif magnitude == ONE:
        y = ONE
    else:
        y = INFINITY if less(ONE, magnitude) == less(ZERO, b) else ZERO
    odd = whole and size != INFINITY and int(scalar.FLOAT32.decode(size)[1]) % 2 == 1
    return y | 0x80000000 if a >> 31 and odd else y


def power(kind, a, b):
    return of_operands(kind, power_of, a, b)


def power_backward(kind, dy, a, b):
    def gradient(g, x, n):
        slope = ZERO if n & 0x7fffffff == 0 else multiply(n, power_of(x, subtract(n, ONE)))
        return multiply(g, slope)
    return of_operands(kind, gradient, dy, a, b)


def to_int32(kind, x):
    def truncated(v):
        if is_nan(v):
            return 0
        sign, size = scalar.FLOAT32.decode(v)
        whole = 2 ** 32 if size == 'inf' else size.numerator // size.denominator
        return max(-whole, -2 ** 31) if sign else min(whole, 2 ** 31 - 1)
    return [Tensor('int32', x.dims, [truncated(v) for v in x.values])]


def to_float32(kind, x):
    return [Tensor('float32', x.dims, [number(v) for v in x.values])]
# --- ops that move elements: a tensor as a dictionary from indices to values ---------------------------------------------


def places(dims):
    """All indices of a tensor, in row-major order."""
    return list(product(*(range(d) for d in dims)))


def by_place(t):
    return dict(zip(places(t.dims), t.values))


def from_places(kind, dims, value_of):
    return [Tensor(kind, dims, [value_of(at) for at in places(dims)])]


def given_dims(settings):
    return tuple(settings[f'd{i}'] for i in range(8) if settings[f'd{i}'])


def as_dims(dims, name='d'):
    return {f'{name}{i}': dims[i] if i < len(dims) else 0 for i in range(8)}


def replaced(at, axis, *instead):
    return at[:axis] + instead + at[axis + 1:]


def reshape(kind, x, **settings):
    return [Tensor(kind, given_dims(settings), x.values)]


def transpose(kind, x, *, order):
    order = [order >> 4 * d & 15 for d in range(len(x.dims))]
    values = by_place(x)
    return from_places(kind, [x.dims[o] for o in order],
                       lambda at: values[tuple(at[order.index(d)] for d in range(len(order)))])


def slice_op(kind, x, *, axis, first, step, count):
    values = by_place(x)
    return from_places(kind, replaced(x.dims, axis, count),
                       lambda at: values[replaced(at, axis, first + at[axis] * step)])


def slice_backward(kind, dy, *, axis, first, step, extent):
    taken = {replaced(at, axis, first + at[axis] * step): v for at, v in by_place(dy).items()}
    return from_places(kind, replaced(dy.dims, axis, extent), lambda at: taken.get(at, ZERO))


def pad(kind, x, *, axis, before, after, value):
    moved = {replaced(at, axis, at[axis] + before): v for at, v in by_place(x).items()}
    return from_places(kind, replaced(x.dims, axis, before + x.dims[axis] + after), lambda at: moved.get(at, value))


def source(at, dims):
    """Where an element comes from that a tensor of these extents repeats."""
    return tuple(0 if d == 1 else i for i, d in zip(at[len(at) - len(dims):], dims))


def expand(kind, x, **settings):
    values = by_place(x)
    return from_places(kind, given_dims(settings), lambda at: values[source(at, x.dims)])


def named(i, extent):
    return min(max(i + extent if i < 0 else i, 0), extent - 1)


def gather(kind, x, ids, *, axis):
    values, name, rank = by_place(x), by_place(ids), len(ids.dims)
    return from_places(kind, replaced(x.dims, axis, *ids.dims), lambda at: values[
        at[:axis] + (named(name[at[axis:axis + rank]], x.dims[axis]),) + at[axis + rank:]])


def gather_backward(kind, dy, ids, *, axis, extent):
    name, rank = by_place(ids), len(ids.dims)
    dims = dy.dims[:axis] + (extent,) + dy.dims[axis + rank:]
    dx = {at: ZERO for at in places(dims)}
    for at, v in by_place(dy).items():
        to = at[:axis] + (named(name[at[axis:axis + rank]], extent),) + at[axis + rank:]
        dx[to] = add(dx[to], v)
    return from_places(kind, dims, dx.get)


def gather_elements(kind, x, ids, *, axis):
    values, name = by_place(x), by_place(ids)
    return from_places(kind, ids.dims, lambda at: values[replaced(at, axis, named(name[at], x.dims[axis]))])


def gather_elements_backward(kind, dy, ids, *, axis, extent):
    name, dims = by_place(ids), replaced(dy.dims, axis, extent)
    dx = {at: ZERO for at in places(dims)}
    for at, v in by_place(dy).items():
        to = replaced(at, axis, named(name[at], extent))
        dx[to] = add(dx[to], v)
    return from_places(kind, dims, dx.get)


def slices_named(dims, ids):
    """For each row of ids the indices that it names, in order."""
    rows = [tuple(named(i, d) for i, d in zip(row, dims)) for row in ids.rows()]
    return [[row + rest for rest in places(dims[len(row):])] for row in rows]


def scatter_nd(kind, data, ids, updates, *, add):
    y, values = by_place(data), iter(updates.values)
    for at in flat(slices_named(data.dims, ids)):
        v = next(values)
        y[at] = round_to(kind, scalar.add(y[at], v)) if add else v
    return from_places(kind, data.dims, y.get)


def scatter_nd_backward(kind, dy, ids):
    ddata, taken = by_place(dy), []
    for row in reversed(slices_named(dy.dims, ids)):
        taken.insert(0, [ddata[at] for at in row])
        ddata.update({at: ZERO for at in row})
    dims = ids.dims[:-1] + dy.dims[ids.dims[-1]:]
    return from_places(kind, dy.dims, ddata.get) + [Tensor(kind, dims or (1,), flat(taken))]


def scatter_nd_backward_updates(kind, dy, ids):
    values = by_place(dy)
    dims = ids.dims[:-1] + dy.dims[ids.dims[-1]:]
    return [Tensor(kind, dims or (1,), [values[at] for at in flat(slices_named(dy.dims, ids))])]


def cumulative_sum(kind, x, *, axis, exclusive, reverse):
    values = by_place(x)

    def total(at):
        """The sum up to an element, or from the end down to it."""
        n = x.dims[axis]
        line = list(reversed(range(at[axis], n))) if reverse else list(range(at[axis] + 1))
        return ascending([values[replaced(at, axis, i)] for i in (line[:-1] if exclusive else line)])

    return from_places(kind, x.dims, total)


# --- recurrent ops -----------------------------------------------------------------------------------------------------


class Steps:
    """The rows of a recurrent op by step and sample, and the steps in their order."""

    def __init__(self, t, b, h, reverse):
        self.t, self.b, self.h = t, b, h
        self.order = list(range(t))[::-1] if reverse else list(range(t))

    @staticmethod
    def table(tensor):
        """[t][b] of a tensor [T,B,width]."""
        t, b, width = tensor.dims
        return [[tensor.values[(s * b + n) * width:][:width] for n in range(b)] for s in range(t)]

    def state(self, number, b, y, initial):
        """The row that step `number` reads, of y or of the initial state; None: there is none."""
        if number > 0:
            return y[self.order[number - 1]][b]
        return initial.rows()[b] if initial else None

    def rows(self, tensor, missing=True):
        """[b] of a state, zeros for one that is absent."""
        return tensor.rows() if tensor else [[ZERO] * self.h for _ in range(self.b)]


def canonical(x):
    return NAN if is_nan(x) else x


def matrix_rows(weight):
    width = weight.dims[1]
    return [weight.values[j * width:][:width] for j in range(weight.dims[0])]


def forward_sums(descriptor, state, rows):
    if state is None:
        return [ZERO] * len(rows)
    return [reduce(descriptor, list(zip(range(len(state)), state, row))) for row in rows]


def backward_sums(descriptor, gradients, rows):
    return [reduce(descriptor, [(j, a, row[k]) for j, (a, row) in enumerate(zip(gradients, rows))])
            for k in range(len(rows[0]))]


def stored(kind, values):
    return [round_to(kind, canonical(v)) if kind != 'float32' else canonical(v) for v in values]


def sequence(kind, table):
    return Tensor(kind, (len(table), len(table[0]), len(table[0][0])), flat(flat(table)))


def state_of(kind, rows):
    return Tensor(kind, (len(rows), len(rows[0])), flat(rows))


def gate_slope(x):
    return fma(negate(x), x, x)


def tanh_slope(x):
    return fma(negate(x), x, ONE)


def lstm(kind, gates, weight, h0=None, c0=None, *, reverse, keep, reductions):
    (t, b, _), h = gates.dims, weight.dims[1]
    steps, u, rows = Steps(t, b, h, reverse), Steps.table(gates), matrix_rows(weight)
    y, activations, cells = ([[None] * b for _ in range(t)] for _ in range(3))
    before = [list(row) for row in steps.rows(c0)]
    for number, at in enumerate(steps.order):
        for n in range(b):
            a = [add(s, x) for s, x in zip(forward_sums(reductions[0], steps.state(number, n, y, h0), rows), u[at][n])]
            a = [(scalar.tanh if 2 * h <= j < 3 * h else scalar.sigmoid)(v) for j, v in enumerate(a)]
            i, f, g, o = (a[part * h:][:h] for part in range(4))
            before[n] = [canonical(fma(x, c, multiply(v, w))) for x, c, v, w in zip(f, before[n], i, g)]
            y[at][n] = stored(kind, [multiply(x, scalar.tanh(c)) for x, c in zip(o, before[n])])
            activations[at][n], cells[at][n] = a, before[n]
    last = steps.order[-1]
    kept = steps.t if keep else 1
    return [sequence(kind, y), state_of(kind, y[last]), state_of('float32', cells[last]),
            sequence('float32', activations if kept == t else [activations[last]]),
            sequence('float32', cells if kept == t else [cells[last]])]


def lstm_backward(kind, weight, activations, cells, dy=None, dlast_h=None, dlast_c=None, c0=None, *, reverse, reductions,
                  of_state=None):
    (t, b, _), h = activations.dims, weight.dims[1]
    steps, rows, saved, c = Steps(t, b, h, reverse), matrix_rows(weight), Steps.table(activations), Steps.table(cells)
    given = Steps.table(dy) if dy else None
    carried, of_cells = steps.rows(dlast_h), steps.rows(dlast_c)
    carried, of_cells = list(carried), list(of_cells)
    dgates = [[None] * b for _ in range(t)]
    for number in reversed(range(t)):
        at = steps.order[number]
        for n in range(b):
            d = [add(x, v) for x, v in zip(carried[n], given[at][n])] if given else carried[n]
            i, f, g, o = (saved[at][n][part * h:][:h] for part in range(4))
            previous = steps.state(number, n, c, c0) or [ZERO] * h
            gradients, e = [[], [], [], []], []
            for k in range(h):
                top = scalar.tanh(c[at][n][k])
                gradients[3].append(multiply(multiply(d[k], top), gate_slope(o[k])))
                e.append(fma(multiply(d[k], o[k]), tanh_slope(top), of_cells[n][k]))
                gradients[0].append(multiply(multiply(e[k], g[k]), gate_slope(i[k])))
                gradients[1].append(multiply(multiply(e[k], previous[k]), gate_slope(f[k])))
                gradients[2].append(multiply(multiply(e[k], i[k]), tanh_slope(g[k])))
            dgates[at][n] = stored(kind, flat(gradients))
            carried[n] = backward_sums(reductions[0], dgates[at][n], rows)
            of_cells[n] = [multiply(v, x) for v, x in zip(e, f)]
    other = of_state or kind
    return [sequence(kind, dgates), state_of(other, [list(map(canonical, r)) for r in carried]),
            state_of(other, [list(map(canonical, r)) for r in of_cells]), Unread('float32', (2, b, h))]


def gru(kind, gates, weight, bias=None, h0=None, *, reset_after, reverse, keep, reductions):
    (t, b, _), h = gates.dims, weight.dims[1]
    steps, u, rows = Steps(t, b, h, reverse), Steps.table(gates), matrix_rows(weight)
    y, activations = ([[None] * b for _ in range(t)] for _ in range(2))

    def biased(sums, first):
        return [add(s, bias.values[first + j]) for j, s in enumerate(sums)] if bias else sums

    for number, at in enumerate(steps.order):
        for n in range(b):
            state = steps.state(number, n, y, h0)
            before = state or [ZERO] * h
            p = biased(forward_sums(reductions[0], state, rows[:2 * h]), 0)
            rates = [scalar.sigmoid(add(s, x)) for s, x in zip(p, u[at][n])]
            r, z = rates[:h], rates[h:]
            if reset_after:
                q = [canonical(v) for v in biased(forward_sums(reductions[0], state, rows[2 * h:]), 2 * h)]
                new = [scalar.tanh(fma(a, v, x)) for a, v, x in zip(r, q, u[at][n][2 * h:])]
            else:
                q = stored(kind, [multiply(v, a) for v, a in zip(before, r)]) if state else before
                p = biased(forward_sums(reductions[0], q if state else None, rows[2 * h:]), 2 * h)
                new = [scalar.tanh(add(v, x)) for v, x in zip(p, u[at][n][2 * h:])]
            y[at][n] = stored(kind, [fma(a, subtract(v, x), x) for a, v, x in zip(z, before, new)])
            activations[at][n] = rates + new + q
    last = steps.order[-1]
    return [sequence(kind, y), state_of(kind, y[last]),
            sequence('float32', activations if keep else [activations[last]])]


def gru_backward(kind, weight, activations, y, dy=None, dlast_h=None, h0=None, *, reset_after, reverse, reductions,
                 of_state=None):
    (t, b, _), h = activations.dims, weight.dims[1]
    steps, rows, saved, outputs = Steps(t, b, h, reverse), matrix_rows(weight), Steps.table(activations), Steps.table(y)
    given = Steps.table(dy) if dy else None
    carried = list(steps.rows(dlast_h))
    dgates, dproducts = ([[None] * b for _ in range(t)] for _ in range(2))
    for number in reversed(range(t)):
        at = steps.order[number]
        for m in range(b):
            d = [add(x, v) for x, v in zip(carried[m], given[at][m])] if given else carried[m]
            r, z, n, q = (saved[at][m][part * h:][:h] for part in range(4))
            before = steps.state(number, m, outputs, h0) or [ZERO] * h
            dn = [multiply(multiply(x, subtract(ONE, v)), tanh_slope(w)) for x, v, w in zip(d, z, n)]
            dz = [multiply(multiply(x, subtract(s, w)), gate_slope(v)) for x, s, w, v in zip(d, before, n, z)]
            if reset_after:
                dr = [multiply(multiply(x, v), gate_slope(a)) for x, v, a in zip(dn, q, r)]
                of_products = stored(kind, dr + dz + [multiply(x, a) for x, a in zip(dn, r)])
                total = backward_sums(reductions[0], of_products, rows)
                carried[m] = [fma(x, v, s) for x, v, s in zip(d, z, total)]
            else:
                v = backward_sums(reductions[0], stored(kind, dn), rows[2 * h:])
                dr = [multiply(multiply(x, s), gate_slope(a)) for x, s, a in zip(v, before, r)]
                of_products = stored(kind, dr + dz + dn)
                total = backward_sums(reductions[0], of_products[:2 * h], rows[:2 * h])
                carried[m] = [add(fma(x, a, multiply(g, w)), s) for x, a, g, w, s in zip(v, r, d, z, total)]
            dgates[at][m], dproducts[at][m] = stored(kind, dr + dz + dn), of_products
    return [sequence(kind, dgates), sequence(kind, dproducts),
            state_of(of_state or kind, [list(map(canonical, r)) for r in carried]), Unread('float32', (2, b, h))]


def rnn(kind, gates, weight, h0=None, *, relu, reverse, reductions):
    (t, b, _), h = gates.dims, weight.dims[1]
    steps, u, rows, y = Steps(t, b, h, reverse), Steps.table(gates), matrix_rows(weight), [[None] * b for _ in range(t)]
    for number, at in enumerate(steps.order):
        for n in range(b):
            a = [add(s, x) for s, x in zip(forward_sums(reductions[0], steps.state(number, n, y, h0), rows), u[at][n])]
            y[at][n] = stored(kind, [ZERO if at_most_zero(v) else v for v in a] if relu else map(scalar.tanh, a))
    return [sequence(kind, y), state_of(kind, y[steps.order[-1]]), Unread('float32', (b, h))]


def rnn_backward(kind, weight, y, dy=None, dlast_h=None, *, relu, reverse, reductions, of_state=None):
    t, b, h = y.dims
    steps, rows, outputs = Steps(t, b, h, reverse), matrix_rows(weight), Steps.table(y)
    given = Steps.table(dy) if dy else None
    carried, dgates = list(steps.rows(dlast_h)), [[None] * b for _ in range(t)]
    for at in reversed(steps.order):
        for n in range(b):
            d = [add(x, v) for x, v in zip(carried[n], given[at][n])] if given else carried[n]
            d = [(ZERO if at_most_zero(v) else x) if relu else multiply(x, tanh_slope(v)) for x, v in zip(d, outputs[at][n])]
            dgates[at][n] = stored(kind, d)
            carried[n] = backward_sums(reductions[0], dgates[at][n], rows)
    return [sequence(kind, dgates), state_of(of_state or kind, [list(map(canonical, r)) for r in carried]),
            Unread('float32', (1, b, h))]


def recurrent_backward_weight(kind, dproducts, y, h0=None, activations=None, *, reverse, reductions):
    (t, b, width), h = dproducts.dims, y.dims[2]
    steps, gradients, outputs = Steps(t, b, h, reverse), Steps.table(dproducts), Steps.table(y)
    parts = Steps.table(activations) if activations else None
    read = [[None] * b for _ in range(t)]
    for number, at in enumerate(steps.order):
        for n in range(b):
            state = steps.state(number, n, outputs, h0)
            read[at][n] = state and (state, parts[at][n][3 * h:] if parts else state)
    first, dweight = steps.order[0], []
    later = [(at, n) for at in range(t) if at != first for n in range(b)]
    for j in range(width):
        for k in range(h):
            part = int(j >= 2 * h)
            sums = []
            for places in (later, [(first, n) for n in range(b)] if h0 else []):
                if places:
                    sums.append(reduce(reductions[0], [(number, gradients[at][n][j], read[at][n][part][k])
                                                       for number, (at, n) in enumerate(places)]))
            dweight.append(add(*sums) if len(sums) == 2 else sums[0] if sums else ZERO)
    return [Tensor(kind, (width, h), dweight)]


# --- cases ------------------------------------------------------------------------------------------------------------

TYPE_NUMBERS = {'float32': 0, 'float16': 1, 'bfloat16': 2, 'cbfloat16': 3}
# Attributes in the order of plan/ops.def.
INTEGERS = ('layout rank rows affine form rng_id heads kv_heads causal half_softmax index correct_bias nesterov '
            'maximize step steps_per_increase axis clipping ignore_index scaling log_target batch_mean rotation '
            'rotated rotary_dim interleaved groups stride dilation before after kernel height width padded '
            'dim0 dim1 dim2 dim3 dim4 dim5 dim6 dim7 '
            'axes keep last transpose_a transpose_b d0 d1 d2 d3 d4 d5 d6 d7 '
            'order first count smallest extent add exclusive reverse relu reset_after loss samples micro_batches').split()
ATTRIBUTES = {
    'attention': 'heads kv_heads causal half_softmax rng_id rows scale dropout_rate',
    'attention_backward': 'heads kv_heads causal half_softmax rng_id rows scale dropout_rate',
    'cross_attention': 'heads kv_heads causal half_softmax rng_id rows scale dropout_rate',
    'cross_attention_backward': 'heads kv_heads causal half_softmax rng_id rows scale dropout_rate',
    'cross_entropy_weighted': 'ignore_index scaling label_smoothing factor',
    'cross_entropy_weighted_backward': 'ignore_index scaling label_smoothing factor',
    'rotary_embedding': 'rotation heads rotated rotary_dim interleaved base',
    'rotary_embedding_backward': 'rotation heads rotated rotary_dim interleaved base',
    'conv': 'groups stride dilation before after',
    'conv_backward_input': 'groups stride dilation before after height width',
    'conv_backward_weight': 'groups stride dilation before after kernel',
    'slice': 'axis first step count', 'slice_backward': 'axis first step extent',
    'average_pool': 'kernel stride dilation before after padded',
    'average_pool_backward': 'kernel stride dilation before after padded height width',
    'lstm': 'reverse keep', 'gru': 'reset_after reverse keep', 'gru_backward': 'reset_after reverse', 'rnn': 'relu reverse',
    'rnn_backward': 'relu reverse',
    'layer_norm': 'affine epsilon', 'rms_norm': 'affine epsilon', 'dropout': 'rng_id rate', 'sgd': 'maximize weight_decay',
    'gradient_factors': 'clipping limit', 'adamw': 'correct_bias beta1 beta2 epsilon weight_decay',
    'sgd_momentum': 'nesterov maximize momentum dampening weight_decay',
    'loss_scale_update': 'steps_per_increase minimum maximum overflow_tolerance',
    'sample_loss': 'loss samples form log_target batch_mean threshold'}
# What a case has beside attributes; of_state: the type of a gradient that is not the first output.
OTHERS = {'reductions', 'place', 'of_state'}
OPS = dict(globals(), add=add_op, multiply=multiply_op, count=count_op, subtract=subtract_op, divide=divide_op,
           minimum=minimum_op, maximum=maximum_op, less=less_op, exp=exp_op, log=log_op, erf=erf_op, abs=abs_op, sign=sign_op,
           floor=floor_op, affine=affine_op, slice=slice_op, concat_int32=concat, sin=sin_op, cos=cos_op, atan=atan_op, round=round_op)

lines = []
names = set()


def decimal(bits):
    """Nine digits identify the float."""
    sign, magnitude = scalar.FLOAT32.decode(bits)
    return f'{-float(magnitude) if sign else float(magnitude):.9g}'


def case(name, op, kind, inputs, **attributes):
    """Runs the model, writes the case, and returns the outputs."""
    assert name not in names
    names.add(name)
    outputs = OPS[op](kind, *inputs, **attributes)
    lines.append(f'case {name} {op} 0')
    order = ATTRIBUTES.get(op, ' '.join(a for a in attributes if a not in OTHERS)).split()
    assert set(order) == set(attributes) - OTHERS
    integers = [TYPE_NUMBERS[attributes[a]] if a in ('affine', 'rotation') else attributes[a]
                for a in order if a in INTEGERS]
    reals = [decimal(attributes[a]) for a in order if a not in INTEGERS]
    if integers:
        lines.append('integers ' + ' '.join(map(str, integers)))
    if reals:
        lines.append('reals ' + ' '.join(reals))
    if any(attributes.get('place', ())):
        lines.append('random ' + ' '.join(map(str, attributes['place'])))
    for reduction, accumulator, chunk in attributes.get('reductions', []):
        lines.append(f'reduction {reduction} {accumulator} {chunk}')
    lines.extend('input ' + (t.text() if t else 'absent') for t in inputs)
    lines.extend('output ' + t.text() for t in outputs)
    return outputs


chance = random.Random(7)


def values(n, low=-4, high=1):
    """n floats of either sign, 2^low to 2^(high + 1), made from integers alone."""
    return [chance.getrandbits(1) << 31 | (127 + chance.randint(low, high)) << 23 | chance.getrandbits(23)
            for _ in range(n)]


def tensor(kind, *dims, low=-4, high=1):
    return Tensor(kind, dims, values(count(dims), low, high))


def integers(kind, dims, below):
    return Tensor(kind, dims, [chance.randrange(below) for _ in range(count(dims))])


def one(x):
    return Tensor('float32', (1,), [x])


def edges(kind):
    """Values of that type that are likely to reveal errors, with both signs."""
    form = FORMATS[kind]
    least = 1 << form.mantissa_bits
    bits = [0, 1, 2, least - 1, least, least + 1, form.infinity - 1, form.infinity, form.bias << form.mantissa_bits]
    return [widen(kind, b | s) for b in bits for s in (0, form.sign_bit)] + [NAN]


def float_edges(kind):
    """Floats close to where rounding to that type changes direction."""
    form, found = FORMATS[kind], []
    for bits in (0, 1, (1 << form.mantissa_bits) - 1, form.bias << form.mantissa_bits, form.infinity - 2,
                 form.infinity - 1):
        unit = Fraction(2) ** (max(bits >> form.mantissa_bits, 1) - form.bias - form.mantissa_bits)
        middle = number(form.decode(bits)[1] + unit / 2)
        found += [x | s for x in (max(middle, 1) - 1, middle, middle + 1) for s in (0, MINUS_ZERO)]
    return [x if not is_nan(x) else NAN for x in found]


def chunked(kind, chunk):
    return ('chunked', kind, chunk)


def ends(inputs):
    """The inputs without those at the end that are absent."""
    while inputs[-1] is None:
        inputs = inputs[:-1]
    return inputs


def with_values(t, changes):
    words = list(t.values)
    for at, x in changes.items():
        words[at] = x
    return Tensor(t.kind, t.dims, words)


def casts(kind):
    name = kind + '_cast'
    plain = edges('float32') + values(20) + values(10, -120, 120)
    case(name + '_from_float32', 'cast', kind, [Tensor('float32', (len(plain),), plain)])
    ties = float_edges(kind)
    case(name + '_from_float32_ties', 'cast', kind, [Tensor('float32', (len(ties),), ties)])
    own = edges(kind) + values(20)
    case(name + '_to_float32', 'cast', 'float32', [Tensor(kind, (len(own),), own)])
    for other in HALF_NAMES:
        if other != kind:
            case(f'{name}_to_{other}', 'cast', other, [Tensor(kind, (len(own),), own)])


def half_way_products(kind):
    """Pairs in [1, 2) whose product needs exactly one bit more than the type has; half of them even apart from it."""
    form, found = FORMATS[kind], {1: [], 3: []}
    least, ones = 1 << form.mantissa_bits, form.bias << form.mantissa_bits
    while min(map(len, found.values())) < 2:
        a, b = chance.randrange(least), chance.randrange(least)
        odd = (least + a) * (least + b)
        odd //= odd & -odd
        if odd.bit_length() == form.mantissa_bits + 2:
            found[odd % 4].append((widen(kind, ones + a), widen(kind, ones + b)))
    return found[1][:2] + found[3][:2]


def products(kind):
    if kind == 'float32':
        reductions = [('f32', F32)]
    else:
        reductions = [('f32', F32)] + [(f'chunk{c}', chunked(kind, c)) for c in (64, 128)]
    for tag, r in reductions:
        # Sums of 131 terms. The layout of the weight does not affect them, so each reduction uses only one of the two
        # layouts.
        k, o, layout = 131, 2, int(tag == 'chunk128')
        end = f'_{tag}_layout{layout}'
        w = tensor(kind, *((o, k) if layout == 0 else (k, o)))
        bias = [tensor('float32' if tag == 'f32' else kind, o)] if layout == 0 else []
        case(kind + '_linear' + end, 'linear', kind, [tensor(kind, 1, k), w] + bias, layout=layout, reductions=[r])
        w = tensor(kind, *((k, o) if layout == 0 else (o, k)))
        sums = kind if tag == 'f32' else 'float32'
        case(kind + '_linear_dx' + end, 'linear_backward_input', sums, [tensor(kind, 1, k), w], layout=layout,
             reductions=[r])
        case(kind + '_linear_dw' + end, 'linear_backward_weight', sums, [tensor(kind, k, 1), tensor(kind, k, o)],
             layout=layout, reductions=[r])
        # Short sums in a larger tile; with a bias where the cases above have none, and the other way round; the other
        # output type.
        n, k, o = 5, 3, 17
        for layout in (0, 1) if tag == 'f32' else (1,) if tag == 'chunk64' else (0,):
            end = f'_{tag}_tile{layout}'
            x, dy = tensor(kind, n, k), tensor(kind, n, o)
            w = tensor(kind, *((o, k) if layout == 0 else (k, o)))
            bias = [tensor(kind, o)] if layout == 1 else []
            case(kind + '_linear' + end, 'linear', 'float32', [x, w] + bias, layout=layout, reductions=[r])
            case(kind + '_linear_dx' + end, 'linear_backward_input', 'float32' if layout else kind, [dy, w],
                 layout=layout, reductions=[r])
            case(kind + '_linear_dw' + end, 'linear_backward_weight', kind, [dy, x], layout=layout, reductions=[r])
        if tag == 'chunk128':
            continue
        # Every pair of edge values occurs; so do sums that overflow and products that are subnormal.
        special = edges(kind)
        positive = special[::2]
        x = Tensor(kind, (len(positive), 2), flat(zip(positive, values(len(positive)))))
        w = Tensor(kind, (len(special), 2), flat(zip(special, reversed(special))))
        case(f'{kind}_linear_{tag}_edges', 'linear', kind, [x, w], layout=0, reductions=[r])
        # The partial sum is tiny but decides how a product halfway between two values is rounded.
        form, ties = FORMATS[kind], half_way_products(kind)
        tiny = widen(kind, max(1, form.bias - 30 << form.mantissa_bits))
        x = Tensor(kind, (len(ties), 2), flat((tiny, a) for a, _ in ties))
        w = Tensor(kind, (2 * len(ties), 2), flat((one, b) for _, b in ties for one in (ONE, negate(ONE))))
        case(f'{kind}_linear_{tag}_near_ties', 'linear', kind, [x, w], layout=0, reductions=[r])
        top, tiny = widen(kind, form.infinity - 1), widen(kind, 1)
        x = Tensor(kind, (3, 4), [top, top, negate(top), negate(top), tiny, negate(tiny), tiny, negate(tiny),
                                  ONE, real('0.5'), negate(ONE), tiny])
        w = Tensor(kind, (5, 4), [ONE] * 4 + [real('0.5')] * 4 + [negate(real('0.5'))] * 4 +
                   [real('2'), real('-2'), real('2'), real('-2')] + [tiny, ONE, tiny, ONE])
        case(f'{kind}_linear_{tag}_overflow', 'linear', kind, [x, w], layout=0, reductions=[r])
        case(f'{kind}_linear_{tag}_overflow_float32', 'linear', 'float32', [x, w], layout=0, reductions=[r])


def tables_and_sums(kind):
    x = tensor(kind, 5, 3, 4)
    case(kind + '_sum_leading_1', 'sum_leading', kind, [x], rank=1)
    case(kind + '_sum_leading_2', 'sum_leading', 'float32', [x], rank=2)
    special = edges(kind)
    x = Tensor(kind, (2, len(special)), special + special[1:] + special[:1])
    case(kind + '_sum_leading_edges', 'sum_leading', kind, [x], rank=1)
    x = Tensor(kind, (1, len(special)), special)
    case(kind + '_sum_leading_single', 'sum_leading', kind, [x], rank=1)
    ids, table = Tensor('int32', (2, 6), [0, 3, 1, 2, 6, 3, 3, 0, 5, 1, 4, 2]), tensor('float32', 7, 5)
    case(kind + '_embedding', 'embedding', kind, [ids, table])
    case(kind + '_embedding_edges', 'embedding', kind,
         [ids, with_values(table, {3: NAN, 9: MINUS_ZERO, 11: 1, 17: INFINITY})])
    dy = with_values(tensor(kind, 2, 6, 5), {0: MINUS_ZERO, 12: INFINITY, 31: NAN, 47: widen(kind, 1)})
    case(kind + '_embedding_dtable', 'embedding_backward', 'float32', [ids, dy], rows=7)
    case(kind + '_embedding_dtable_start', 'embedding_backward', 'float32', [ids, dy, table], rows=7)
    case(kind + '_leading_rows', 'leading_rows', kind, [table], rows=4)
    dy = with_values(tensor(kind, 4, 5), {2: MINUS_ZERO, 7: NAN})
    case(kind + '_leading_rows_dtable', 'leading_rows_backward', 'float32', [dy], rows=6)
    a, b = tensor(kind, 2, 3, 5), tensor(kind, 3, 5)
    case(kind + '_add_broadcast', 'add', kind, [a, b])
    rows = special[::2] + [MINUS_ZERO, negate(INFINITY)]
    a = Tensor(kind, (len(rows), len(special)), [x for x in rows for _ in special])
    case(kind + '_add_edges', 'add', kind, [a, Tensor(kind, (len(special),), special)])
    if kind != 'float32':
        a, b = tensor(kind, 2, 11), tensor('float32', 11)
        case(kind + '_add_float32', 'add', 'float32', [a, b])
        case(kind + '_add_float32_to_half', 'add', kind, [a, b])
        a = tensor('float32', 2, 11)
        case(kind + '_add_to_float32', 'add', kind, [a, tensor(kind, 11)])
        case(kind + '_add_two_halves', 'add', 'float32',
             [tensor(kind, 2, 11), tensor(HALF_NAMES[HALF_NAMES.index(kind) - 1], 11)])


def layer_norms(kind):
    for affine in sorted({'float32', kind}):
        for n, c in ((2, 7), (2, 65)) if affine == kind else ((2, 7),):
            tag = f'_affine_{affine}_{n}x{c}'
            out = 'float32' if c == 7 else kind
            x, gain, bias = tensor(kind, n, c), tensor('float32', c, low=-1), tensor('float32', c)
            epsilon = real('1e-5')
            _, mean, reciprocal = case(kind + '_layer_norm' + tag, 'layer_norm', out, [x, gain, bias], affine=affine,
                                       epsilon=epsilon)
            dy = tensor(out, n, c)
            case(kind + '_layer_norm_dx' + tag, 'layer_norm_backward', kind, [dy, x, gain, mean, reciprocal],
                 affine=affine)
            case(kind + '_layer_norm_affine' + tag, 'layer_norm_backward_affine', 'float32' if c == 65 else kind,
                 [dy, x, mean, reciprocal], affine=affine)
        # A constant row, overflow of the squares, infinity, NaN, subnormals, a zero row of -0.
        top, tiny = widen(kind, FORMATS[kind].infinity - 1), widen(kind, 1)
        rows = [[real(3)] * 4, [top, negate(top), top, ONE], [INFINITY, ONE, ONE, ONE], [ONE, NAN, ONE, ONE],
                [tiny, negate(tiny), ZERO, tiny], [MINUS_ZERO] * 4, [ONE, ONE, ONE, top]]
        x = Tensor(kind, (len(rows), 4), flat(rows))
        gain, bias = Tensor('float32', (4,), [ONE, real('1e30'), negate(ONE), number(1)]), tensor('float32', 4)
        tag = f'_affine_{affine}_edges'
        _, mean, reciprocal = case(kind + '_layer_norm' + tag, 'layer_norm', kind, [x, gain, bias], affine=affine,
                                   epsilon=real('1e-5'))
        dy = tensor(kind, len(rows), 4)
        case(kind + '_layer_norm_dx' + tag, 'layer_norm_backward', kind, [dy, x, gain, mean, reciprocal], affine=affine)
        case(kind + '_layer_norm_affine' + tag, 'layer_norm_backward_affine', kind, [dy, x, mean, reciprocal],
             affine=affine)


def activations(kind):
    special = edges(kind) + values(8, -5, 4)
    x = Tensor(kind, (len(special),), special)
    dy = with_values(tensor(kind, len(special)), {1: NAN, 3: INFINITY, 6: MINUS_ZERO, 25: negate(INFINITY)})
    other = 'float32' if kind != 'float32' else 'float16'
    for form in (0, 1):
        case(f'{kind}_gelu_{form}', 'gelu', kind, [x], form=form)
        case(f'{kind}_gelu_dx_{form}', 'gelu_backward', kind, [dy, x], form=form)
    case(kind + '_gelu_other', 'gelu', other, [x], form=1)
    case(kind + '_relu', 'relu', kind, [x])
    case(kind + '_relu_dx', 'relu_backward', kind, [dy, x])
    y, = case(kind + '_tanh', 'tanh', kind, [x])
    case(kind + '_tanh_dx', 'tanh_backward', kind, [dy, y])
    if kind != 'float32':
        case(kind + '_tanh_dx_float32', 'tanh_backward', 'float32', [dy, y])
    x = Tensor(kind, (2, 13), special[:26])
    rate = real('0.1')
    for place, rng_id in (((0, 0, 0), 3), ((0x123456789abcdef0, 2 ** 33 + 5, 2), 0xfffffeff)):
        case(f'{kind}_dropout_{rng_id}', 'dropout', kind, [x], rng_id=rng_id, rate=rate, place=place)
    case(kind + '_dropout_none', 'dropout', other, [x], rng_id=1, rate=ZERO)
    threshold = uniform((0, 1, 0, 0), 5)
    case(kind + '_dropout_equal', 'dropout', kind, [x], rng_id=1, rate=threshold)
    case(kind + '_dropout_most', 'dropout', kind, [x], rng_id=1, rate=real('0.875'), place=(77, 0, 0))


def attention_pair(name, kind, dims, heads, kv_heads, causal, half_softmax, r, rate=ZERO, place=(0, 0, 0), rng_id=9,
                   changes=None, scale=None, dy_changes=None, slopes=()):
    """Both directions of one attention; backward uses the outputs of forward."""
    batch, time, depth = dims
    settings = dict(heads=heads, kv_heads=kv_heads, causal=causal, half_softmax=half_softmax, rng_id=rng_id, rows=16,
                    scale=scale or divide(ONE, square_root(number(depth))), dropout_rate=rate, place=place)
    qkv = with_values(tensor(kind, batch, time, (heads + 2 * kv_heads) * depth), changes or {})
    dy = with_values(tensor(kind, batch, time, heads * depth), dy_changes or {})
    _, row_max, row_sum, _ = case(name, 'attention', kind, [qkv, *slopes], reductions=[r, r], **settings)
    case(name.replace('attention', 'attention_dqkv'), 'attention_backward', kind, [dy, qkv, row_max, row_sum, *slopes],
         reductions=[r, r, r], **settings)


def attentions(kind):
    half = kind != 'float32'
    turn = 0
    for causal in (0, 1):
        for half_softmax in (0, 1) if half else (0,):
            for r in (F32, chunked(kind, 64)) if half else (F32,):
                turn += 1
                # The parity of the three settings determines which cases have dropout.
                rate = real('0.3') if (turn + causal + half_softmax) % 2 else ZERO
                tag = f'{"causal" if causal else "full"}_softmax{half_softmax}_{r[0]}_{turn}'
                attention_pair(f'{kind}_attention_{tag}', kind, (2, 3, 3), 4 if turn % 3 == 0 else 2, 1 + turn % 2,
                               causal, half_softmax, r, rate, (1234567, 40 + turn, turn % 4))
    top, tiny = widen(kind, FORMATS[kind].infinity - 1), widen(kind, 1)
    # Two query heads of depth 2, one key head and one value head: an infinite query, a NaN key, scores that overflow,
    # zeros of both signs, an infinite value, and one that two queries see; with dropout, an infinite value and an
    # infinite output gradient.
    width = 8
    changes = ({0: INFINITY, width + 1: tiny, 2 * width + 2: MINUS_ZERO}, {2 * width + 4: NAN},
               {0: top, 4: top, 5: top, width + 4: top, width: top, 2 * width + 6: top},
               {i: MINUS_ZERO for i in range(3 * width)} | {6: tiny, 7: INFINITY},
               {width + 6: INFINITY}, {6: INFINITY}, {})
    for half_softmax, r in ((0, F32), (1, chunked(kind, 128))) if half else ((0, F32),):
        for i, change in enumerate(changes):
            attention_pair(f'{kind}_attention_edges_{r[0]}_{i}', kind, (1, 3, 2), 2, 1, 1, half_softmax, r,
                           real('0.5') if i > 4 else ZERO, changes=change, scale=ONE,
                           dy_changes={3: {3: top, 9: NAN}, 6: {4: INFINITY, 11: INFINITY}}.get(i))
    if kind in ('float32', 'bfloat16'):
        # Products that underflow in binary32: the gradient of the values is -0 if one query head reads a value.
        attention_pair(f'{kind}_attention_vanishing', kind, (1, 2, 1), 1, 1, 0, 0, F32, scale=ONE,
                       changes={0: ONE, 3: ONE, 1: real(-40), 4: real(40)},
                       dy_changes={0: negate(tiny), 1: negate(tiny)})
    if half:
        attention_pair(kind + '_attention_long_64', kind, (1, 65, 1), 2, 1, 1, 1, chunked(kind, 64),
                       real('0.125'), (3, 9, 1))
        attention_pair(kind + '_attention_deep_64', kind, (1, 2, 66), 1, 1, 0, 0, chunked(kind, 64))
    else:
        attention_pair(kind + '_attention_long', kind, (1, 20, 1), 2, 1, 1, 0, F32, real('0.125'), (3, 9, 1))


def losses(kind):
    dloss = one(real('3/7'))
    labels = integers('int32', (3,), 65)
    logits = tensor(kind, 3, 65, high=3)
    _, top, total = case(kind + '_cross_entropy', 'cross_entropy', 'float32', [logits, labels])
    case(kind + '_cross_entropy_dlogits', 'cross_entropy_backward', kind, [dloss, logits, labels, top, total])
    tiny = widen(kind, 1)
    large = widen(kind, FORMATS[kind].infinity - 1)
    # One row per case, so that the mean does not hide the other rows behind one bad row.
    rows = [[INFINITY, ONE, ONE], [negate(INFINITY), ONE, real(2)], [ONE, NAN, ONE], [large, negate(large), ZERO],
            [MINUS_ZERO, MINUS_ZERO, MINUS_ZERO], [negate(INFINITY)] * 3, [tiny, negate(tiny), ZERO],
            [ZERO, MINUS_ZERO, ZERO]]
    for i, row in enumerate(rows):
        logits, labels = Tensor(kind, (1, 3), row), Tensor('int32', (1,), [i % 3])
        _, top, total = case(f'{kind}_cross_entropy_edges_{i}', 'cross_entropy', 'float32', [logits, labels])
        case(f'{kind}_cross_entropy_dlogits_edges_{i}', 'cross_entropy_backward', kind,
             [dloss, logits, labels, top, total])
    logits = Tensor(kind, (len(rows), 3), flat(rows))
    for label in range(3):
        case(f'{kind}_metric_accuracy_{label}', 'metric_accuracy', 'int64',
             [logits, Tensor('int32', (len(rows),), [label] * len(rows)), Tensor('int64', (1,), [2 ** 40]),
              Tensor('int64', (1,), [2 ** 40 + 3])])
    for i, (n, changes) in enumerate(((13, {}), (1, {2: INFINITY}), (1, {3: large, 4: NAN}))):
        prediction, target = with_values(tensor(kind, n, 5), changes), tensor('float32', n, 5)
        case(f'{kind}_mean_squared_error_{i}', 'mean_squared_error', 'float32', [prediction, target])
        case(f'{kind}_mean_squared_error_dprediction_{i}', 'mean_squared_error_backward', kind,
             [dloss, prediction, target])
    total, g = tensor('float32', 17), tensor(kind, 17)
    g = with_values(g, {2: NAN, 3: MINUS_ZERO, 4: INFINITY})
    case(kind + '_accumulate_first', 'accumulate', 'float32', [total, g])
    case(kind + '_accumulate_later', 'accumulate', 'float32', [total, g], place=(5, 6, 1))


def long_sums():
    """Sums longer than one round of the lanes. Sums longer than a block of 4,096 would make the file large; numerics.def
    covers them."""
    x = tensor('float32', 1, 130)
    _, mean, reciprocal = case('float32_layer_norm_130', 'layer_norm', 'float32',
                               [x, tensor('float32', 130), tensor('float32', 130)], affine='float32',
                               epsilon=real('1e-5'))
    case('float32_layer_norm_130_dx', 'layer_norm_backward', 'float32',
         [tensor('float32', 1, 130), x, tensor('float32', 130), mean, reciprocal], affine='float32')


def training():
    special = edges('float32')
    g = Tensor('float32', (len(special) + 20,), special + values(20))
    plain = tensor('float32', 137)
    partial = tensor('float32', 5)
    case('float32_sum_of_squares', 'sum_of_squares', 'float32', [plain, partial], index=3)
    for i, scale in enumerate((real('1e38'), number(3), number(Fraction(1, 2 ** 140)))):
        case(f'float32_sum_of_squares_scaled_{i}', 'sum_of_squares', 'float32', [plain, partial, one(scale)], index=2)
    for half in HALF_NAMES:
        case(f'{half}_sum_of_squares', 'sum_of_squares', 'float32', [tensor(half, 70), partial, one(number(3))], index=1)
    case('float32_sum_of_squares_nan', 'sum_of_squares', 'float32', [g, partial], index=0)
    g = tensor('float32', 70, high=70)
    case('float32_sum_of_squares_overflow', 'sum_of_squares', 'float32', [g, partial], index=4)
    positive = [x & 0x7fffffff for x in values(70)]
    for i, changes in enumerate(({}, {3: INFINITY}, {69: NAN}, {5: 0x7f000000, 6: 0x7f7fffff})):
        parts = with_values(Tensor('float32', (70,), positive), changes)
        norm, _ = case(f'float32_gradient_norm_{i}', 'gradient_norm', 'float32', [parts])
        case(f'float32_gradient_factors_{i}', 'gradient_factors', 'float32', [None, norm], clipping=1,
             limit=real('1.4'))
    for i, norm in enumerate((ZERO, real('0.5'), real('1.4'), real('1.3999'), 1, 0x7f7fffff)):
        case(f'float32_gradient_factors_of_{i}', 'gradient_factors', 'float32', [one(number(3)), one(norm)], clipping=1, limit=real('1.4'))
    for i, scale in enumerate((real('1e38'), number(1024), number(Fraction(1, 2 ** 140)))):
        case(f'float32_gradient_factors_scale_{i}', 'gradient_factors', 'float32', [one(scale)], clipping=0,
             limit=ZERO)
        case(f'float32_gradient_factors_scale_value_{i}', 'gradient_factors', 'float32', [one(scale)], clipping=2, limit=real('0.75'))
    value, = case('float32_gradient_factors_value', 'gradient_factors', 'float32', [], clipping=2,
                  limit=real('0.75'))
    case('float32_gradient_norm_zero', 'gradient_norm', 'float32', [Tensor('float32', (2,), [ZERO, MINUS_ZERO])])
    for i, x in enumerate((real(1024), INFINITY, 1)):
        case(f'float32_loss_seed_{i}', 'loss_seed', 'float32', [one(x)], factor=real('1/3'))
    case('float32_loss_seed', 'loss_seed', 'float32', [], factor=real('1/3'))

    names_of = dict(beta1=real('0.9'), beta2=real('0.95'), epsilon=real('1e-6'), weight_decay=real('0.01'))
    for correct_bias in (0, 1):
        p, m, v = tensor('float32', 13), Tensor('float32', (13,), [ZERO] * 13), Tensor('float32', (13,), [ZERO] * 13)
        power1 = power2 = one(ONE)
        for step in range(3):
            name = f'float32_adamw_{correct_bias}_{step}'
            power1, = case(name + '_power1', 'advance_power', 'float32', [power1], factor=names_of['beta1'])
            power2, = case(name + '_power2', 'advance_power', 'float32', [power2], factor=names_of['beta2'])
            g = with_values(tensor('float32', 13, low=-12), {0: ZERO, 1: MINUS_ZERO, 2: 1, 3: 0x5f800000})
            p, m, v = case(name, 'adamw', 'float32', [p, g, one(real('0.003')), m, v, power1, power2],
                           correct_bias=correct_bias, **names_of)
        for half in HALF_NAMES + ['float32']:
            for i, factors in enumerate((value, Tensor('float32', (3,), [real('1/3'), real('0.7'), INFINITY]),
                                         Tensor('float32', (3,), [number(Fraction(1, 2 ** 20)), ONE, real('1e-7')]))):
                case(f'{half}_adamw_{correct_bias}_factors_{i}', 'adamw', 'float32',
                     [p, tensor(half, 13), one(real('0.003')), m, v, power1, power2, factors],
                     correct_bias=correct_bias, **names_of)
        g = with_values(g, {5: INFINITY, 6: NAN})
        case(f'float32_adamw_{correct_bias}_nan', 'adamw', 'float32',
             [p, g, one(real('0.003')), m, v, power1, power2], correct_bias=correct_bias, **names_of)
    for nesterov in (0, 1):
        for maximize in (0, 1):
            p, b = tensor('float32', 11), Tensor('float32', (11,), [ZERO] * 11)
            for step in range(2):
                g = with_values(tensor('float32', 11), {0: ZERO, 1: MINUS_ZERO, 2: 1, 3: INFINITY, 4: NAN})
                p, b = case(f'float32_sgd_momentum_{nesterov}{maximize}_{step}', 'sgd_momentum', 'float32',
                            [p, g, one(real('0.1')), b], nesterov=nesterov, maximize=maximize, momentum=real('0.9'),
                            dampening=real('0.3'), weight_decay=real('0.01'))
    g = special + values(20)
    seen = [Tensor('float32', (len(g),), g), Tensor('float32', (3,), [number(3), real('0.3'), real('0.75')])]
    p = tensor('float32', len(g))
    case('float32_sgd_factors', 'sgd', 'float32', [p, seen[0], one(real('0.1')), seen[1]], maximize=0,
         weight_decay=real('0.01'))
    case('float32_sgd_momentum_factors', 'sgd_momentum', 'float32',
         [p, seen[0], one(real('0.1')), tensor('float32', len(g)), seen[1]], nesterov=0, maximize=1,
         momentum=real('0.9'), dampening=real('0.3'), weight_decay=real('0.01'))
    for maximize in (0, 1):
        case(f'float32_sgd_{maximize}', 'sgd', 'float32',
             [tensor('float32', 11), with_values(tensor('float32', 11), {1: NAN, 2: MINUS_ZERO}), one(real('0.1'))],
             maximize=maximize, weight_decay=real('0.01'))
    for i, n in enumerate((0, 2 ** 32 - 1, -1)):
        case(f'count_{i}', 'count', 'int64', [Tensor('int64', (1,), [n])], step=3)

    total, counter = Tensor('float32', (2,), [ZERO, ZERO]), Tensor('int64', (1,), [0])
    for i, x in enumerate(values(4, -20, 20) + [0x7f7fffff, 0x7f7fffff, ONE, NAN]):
        total, counter = case(f'float32_metric_mean_{i}', 'metric_mean', 'float32', [one(x), total, counter])


def loss_scales():
    """Runs of finite (1) and other (0) steps: growth, halving, a tolerance, the floor and the ceiling."""
    runs = {'growth': ([1] * 4 + [0, 1], 65536, 3, '1', '16777216', '0'),
            'floor': ([0, 0, 0, 1, 0], 4, 3, '1', '16777216', '0'),
            'ceiling': ([1] * 5, 512, 1, '1', '1000', '0'),
            'tolerance': ([1, 0, 0, 1, 1, 0, 1, 1, 1], 1024, 4, '1/16', '16777216', '0.34'),
            'uneven': ([0, 0, 1, 1], 3, 1, '0.7', '2.9', '0')}
    for name, (finite, scale, every, low, high, tolerance) in runs.items():
        state = [one(real(scale))] + [Tensor('int64', (1,), [n]) for n in (0, 0, 7)]
        for i, f in enumerate(finite):
            state = case(f'loss_scale_{name}_{i}', 'loss_scale_update', 'float32', [Tensor('int32', (1,), [f])] + state,
                         steps_per_increase=every, minimum=real(low), maximum=real(high),
                         overflow_tolerance=real(tolerance))[:4]
    state = [one(real(1024))] + [Tensor('int64', (1,), [n]) for n in (2 ** 24, 2 ** 23, 2 ** 40)]
    case('loss_scale_large_counters', 'loss_scale_update', 'float32', [Tensor('int32', (1,), [0])] + state,
         steps_per_increase=2 ** 40, minimum=ONE, maximum=real('16777216'), overflow_tolerance=real('0.5'))


def more_activations(kind):
    plain = edges(kind) + values(24) + values(6, 2, 6)
    x = Tensor(kind, (len(plain),), plain)
    for op, saved_output in (('sigmoid', True), ('silu', False), ('softplus', False)):
        out = 'float32' if op == 'softplus' else kind
        y = case(f'{kind}_{op}', op, out, [x])[0]
        dy = tensor(out, len(plain))
        case(f'{kind}_{op}_dx', op + '_backward', kind, [dy, y if saved_output else x])
    rows = with_values(tensor(kind, 3, 70, low=-2, high=2), {70: NAN, 141: MINUS_ZERO})
    case(f'{kind}_softmax', 'softmax', 'float32', [rows])
    y = case(f'{kind}_log_softmax', 'log_softmax', 'float32', [rows])[0]
    case(f'{kind}_log_softmax_dx', 'log_softmax_backward', kind, [tensor('float32', 3, 70), y])
    labels = integers('int32', (3,), 70)
    case(f'{kind}_nll_loss', 'nll_loss', 'float32', [y, labels])
    case(f'{kind}_nll_loss_dx', 'nll_loss_backward', kind, [one(real('1.5')), y, labels])


def pointwise_losses(kind):
    n, dloss = 67, one(real('1.5'))
    special = [NAN, INFINITY, ZERO, MINUS_ZERO]
    x = tensor(kind, 1, n, low=-3, high=2)
    t = with_values(tensor('float32', 1, n, low=-3, high=2), {i: x.values[i] for i in range(0, n, 9)})
    of_x = with_values(x, dict(zip((3, 5, 8, 20), special)))
    unit = Tensor('float32', (1, n), [number(Fraction(chance.randrange(9), 8)) for _ in range(n)])
    logs = Tensor('float32', (1, n), [v | MINUS_ZERO for v in values(n)])
    for op, target, settings in (
            ('l1_loss', t, {}), ('huber_loss', t, dict(form=0, threshold=real('0.75'))),
            ('huber_loss', t, dict(form=1, threshold=real('0.75'))), ('binary_cross_entropy', unit, {}),
            ('kl_divergence', unit, dict(log_target=0, batch_mean=0)),
            ('kl_divergence', logs, dict(log_target=1, batch_mean=1))):
        for tag, prediction in (('', x), ('_special', of_x)):
            name = f'{kind}_{op}{tag}_{settings.get("form", settings.get("log_target", ""))}'
            case(name, op, 'float32', [prediction, target], **settings)
            case(name + '_dx', op + '_backward', kind, [dloss, prediction, target], **settings)


def weighted_losses(kind):
    rows, classes = 7, 40
    logits = with_values(tensor(kind, rows, classes, low=-2, high=2), {3 * classes + 1: NAN})
    labels = Tensor('int32', (rows,), [4, 39, 0, 4, 11, 30, 2])
    weights = Tensor('float32', (rows,), [real(w) for w in ('1', '0.5', '0', '0', '3', '0.1', '1')])
    state = [Tensor('float32', (2,), [real('3.25'), real('1e-7')]), Tensor('int64', (1,), [2 ** 40 + 1])]
    for tag, with_weights, ignored, scaling, smoothing, factor in (
            ('smooth', False, 4, 0, '0.1', '1'), ('ignore', False, 4, 0, '0', '1'), ('batch', False, -1, 1, '0', '0.3'),
            ('weights', True, -1, 0, '0', '1'), ('all', True, 4, 1, '0.25', '2.5')):
        settings = dict(ignore_index=ignored, scaling=scaling, label_smoothing=real(smoothing), factor=real(factor))
        extra = [weights] if with_weights else []
        out = case(f'{kind}_weighted_{tag}', 'cross_entropy_weighted', 'float32', [logits, labels] + extra, **settings)
        case(f'{kind}_weighted_{tag}_dx', 'cross_entropy_weighted_backward', kind,
             [one(real('1.5')), logits, labels, out[1], out[2], out[4]] + extra, **settings)
        case(f'{kind}_weighted_{tag}_mean', 'metric_weighted_mean', 'float32', [out[0], labels, out[4]] + state + extra,
             ignore_index=ignored, factor=real(factor))
        case(f'{kind}_weighted_{tag}_accuracy', 'metric_weighted_accuracy', 'float32',
             [logits, labels] + state + extra, ignore_index=ignored)
    few = with_values(tensor(kind, 30, 3), {4: NAN, 12: ZERO, 13: MINUS_ZERO, 14: ZERO})
    table = Tensor('int64', (3, 4), [2 ** 53 + i for i in range(12)])
    case(f'{kind}_confusion', 'metric_confusion', 'int64', [few, integers('int32', (30,), 3), table, state[1]],
         ignore_index=-1)
    some = Tensor('float32', (30,), [chance.choice([ZERO, ONE, NAN]) for _ in range(30)])
    case(f'{kind}_confusion_weighted', 'metric_confusion', 'int64',
         [few, integers('int32', (30,), 3), table, state[1], some], ignore_index=2)
    nothing = Tensor('int32', (2,), [1, 1])
    out = case(f'{kind}_weighted_none', 'cross_entropy_weighted', 'float32', [tensor(kind, 2, 3), nothing],
               ignore_index=1, scaling=0, label_smoothing=ZERO, factor=ONE)
    case(f'{kind}_weighted_none_dx', 'cross_entropy_weighted_backward', kind,
         [one(ONE), tensor(kind, 2, 3), nothing, out[1], out[2], out[4]], ignore_index=1, scaling=0,
         label_smoothing=ZERO, factor=ONE)


def areas(kind):
    histogram = [Tensor('int64', (2, 199), [2 ** 24] * 398), Tensor('int64', (1,), [5])]
    logits = with_values(tensor(kind, 4, 10, low=-3, high=3), {0: NAN, 1: INFINITY, 2: INFINITY | MINUS_ZERO, 3: ZERO})
    target = Tensor('float32', (4, 10), [chance.choice([ZERO, ONE, real('0.5'), real('0.75')]) for _ in range(40)])
    target = with_values(target, {5: NAN})
    case(f'{kind}_auc_targets', 'metric_auc', 'int64', [logits, target] + histogram)
    case(f'{kind}_auc_classes', 'metric_auc', 'int64',
         [tensor(kind, 20, 2, low=-3, high=3), integers('int32', (20,), 2)] + histogram)


def rotations(kind):
    """Both layouts of pairs, heads rotated partly, wholly and not at all, three rotation types, special values."""
    base = real(10000)
    for rotation in sorted({'float32', kind}):
        for interleaved in (0, 1):
            tag = f'_{rotation}_{interleaved}'
            settings = dict(rotation=rotation, heads=3, rotated=2, rotary_dim=6, interleaved=interleaved,
                            base=base)
            x = tensor(kind, 2, 5, 3 * 8)
            case(f'{kind}_rotary{tag}', 'rotary_embedding', kind, [x], **settings)
            case(f'{kind}_rotary_dx{tag}', 'rotary_embedding_backward', kind, [x], **settings)
            other = 'float32' if rotation != 'float32' else 'bfloat16'
            if other != kind:
                case(f'{kind}_rotary_to_{other}{tag}', 'rotary_embedding', other, [x], **settings)
            special = edges(kind)
            x = Tensor(kind, (len(special), 3, 2), flat((a, special[(i + t) % len(special)])
                                                        for i, a in enumerate(special) for t in range(3)))
            for op, end in (('rotary_embedding', ''), ('rotary_embedding_backward', '_dx')):
                case(f'{kind}_rotary_edges{end}{tag}', op, kind, [x], rotation=rotation, heads=1, rotated=1,
                     rotary_dim=2, interleaved=interleaved, base=ONE)
    # More pairs than a kernel processes at once, and angles of many turns.
    interleaved = int(kind in ('bfloat16', 'float32'))
    case(f'{kind}_rotary_wide', 'rotary_embedding', kind, [tensor(kind, 2, 276)], rotation=kind, heads=1,
         rotated=1, rotary_dim=270, interleaved=interleaved, base=base)
    case(f'{kind}_rotary_far', 'rotary_embedding', kind, [tensor(kind, 130, 2)], rotation=kind, heads=1,
         rotated=1, rotary_dim=2, interleaved=0, base=base)


def broadcast_products(kind):
    a, b = tensor(kind, 2, 3, 5), tensor(kind, 3, 5)
    case(kind + '_multiply_broadcast', 'multiply', kind, [a, b])
    special = edges(kind)
    a = Tensor(kind, (len(special), len(special)), [x for x in special for _ in special])
    case(kind + '_multiply_edges', 'multiply', kind, [a, Tensor(kind, (len(special),), special)])
    if kind != 'float32':
        a, b = tensor(kind, 2, 11), tensor('float32', 11)
        case(kind + '_multiply_float32', 'multiply', 'float32', [a, b])
        case(kind + '_multiply_float32_to_half', 'multiply', kind, [a, b])


def joins(kind):
    special = edges(kind)
    case(kind + '_concat_edges', 'concat', kind, [Tensor(kind, (len(special),), special), tensor(kind, 3)], axis=0)
    case(kind + '_concat_middle', 'concat', kind, [tensor(kind, 2, d, 3) for d in (1, 4, 2)], axis=1)
    case(kind + '_concat_many', 'concat', kind, [tensor(kind, 3, d % 3 + 1) for d in range(64)], axis=1)


def rms_norms(kind):
    """As layer_norms."""
    epsilon = real('1e-6')
    top, tiny = widen(kind, FORMATS[kind].infinity - 1), widen(kind, 1)
    rows = [[real(3)] * 4, [top, negate(top), top, ONE], [INFINITY, ONE, ONE, ONE], [ONE, NAN, ONE, ONE],
            [tiny, negate(tiny), ZERO, tiny], [MINUS_ZERO] * 4, [ONE, ONE, ONE, top]]
    edge = Tensor(kind, (len(rows), 4), flat(rows))
    edge_gain = Tensor('float32', (4,), [ONE, real('1e30'), negate(ONE), number(1)])

    def cases(tag, affine, out, of_gain, x, gain):
        tag = f'_affine_{affine}_{tag}'
        _, reciprocal = case(kind + '_rms_norm' + tag, 'rms_norm', out, [x, gain], affine=affine, epsilon=epsilon)
        dy = tensor(out, *x.dims)
        case(kind + '_rms_norm_dx' + tag, 'rms_norm_backward', kind, [dy, x, gain, reciprocal], affine=affine)
        case(kind + '_rms_norm_gain' + tag, 'rms_norm_backward_gain', of_gain, [dy, x, reciprocal], affine=affine)

    for affine in sorted({'float32', kind}):
        cases('2x7', affine, 'float32', kind, tensor(kind, 2, 7), tensor('float32', 7, low=-1))
        if affine == kind:
            cases('2x65', affine, kind, 'float32', tensor(kind, 2, 65), tensor('float32', 65, low=-1))
        cases('edges', affine, kind, kind, edge, edge_gain)


def batch_norms(kind):
    """Runs that are not full, more columns than a block, and columns as the rows of layer_norms."""
    epsilon = real('1e-5')
    top, tiny = widen(kind, FORMATS[kind].infinity - 1), widen(kind, 1)
    edge = [[real(3)] * 4, [top, negate(top), top, ONE], [INFINITY, ONE, ONE, ONE], [ONE, NAN, ONE, ONE],
            [tiny, negate(tiny), ZERO, tiny], [MINUS_ZERO] * 4, [ONE, ONE, ONE, top]]
    other = 'float32' if kind != 'float32' else 'bfloat16'

    def cases(tag, x):
        gain, bias = (tensor('float32', x.dims[-1], low=-1) for _ in range(2))
        _, mean, reciprocal, variance, _ = case(kind + '_batch_norm' + tag, 'batch_norm', kind, [x, gain, bias],
                                                epsilon=epsilon)
        dy = tensor(kind, *x.dims)
        case(kind + '_batch_norm_backward' + tag, 'batch_norm_backward', kind, [dy, x, gain, mean, reciprocal])
        case(kind + '_batch_norm_fixed' + tag, 'batch_norm_fixed', kind, [x, gain, bias, mean, variance], epsilon=epsilon)
        case(kind + '_batch_norm_fixed_backward' + tag, 'batch_norm_fixed_backward', kind,
             [dy, x, gain, mean, variance], epsilon=epsilon)

    cases('_2x7', tensor(kind, 2, 7))
    cases('_1x3', tensor(kind, 1, 3))
    cases('_131x2', tensor(kind, 131, 2))
    cases('_2x2x1x2x1x17', tensor(kind, 2, 2, 1, 2, 1, 17))
    if kind in ('float32', 'bfloat16'):
        cases('_257x1', tensor(kind, 257, 1))
        cases('_3x261', tensor(kind, 3, 261))
    cases('_edges', Tensor(kind, (4, len(edge)), flat(zip(*edge))))


def running():
    for tag, rows, momentum in (('half', 2, real('0.5')), ('tenth', 77, real('0.1')), ('none', 3, ZERO), ('all', 5, ONE)):
        given = [tensor('float32', 2, 9)] + [tensor('float32', 9) for _ in range(4)]
        given[1] = with_values(given[1], {0: INFINITY, 1: NAN, 2: MINUS_ZERO, 3: ZERO})
        given[3] = with_values(given[3], {2: MINUS_ZERO, 4: INFINITY})
        for micro_step in (0, 1):
            case(f'running_statistics_{tag}_{micro_step}', 'running_statistics', 'float32', given, rows=rows,
                 momentum=momentum, place=(3, 4, micro_step))
        case(f'store_statistics_{tag}', 'store_statistics', 'float32', [given[3], given[4], given[0]])


def pair(rows, columns):
    return rows * 65536 + columns


def convolutions(kind, reductions=None):
    """Tiles that are not full, chunks that begin within the elements of a window, groups, and absent terms of every kind."""
    reductions = reductions or [('f32', F32)] + ([] if kind == 'float32' else [(f'chunk{c}', chunked(kind, c)) for c in (4, 64)])
    shapes = {'plain': ((1, 4, 5, 3), (5, 3, 3), 1, (1, 1), (1, 1), (1, 1, 1, 1)),
              'groups': ((2, 3, 3, 4), (6, 2, 2), 2, (1, 1), (1, 1), (0, 1, 1, 0)),
              'channels': ((1, 3, 6, 18), (18, 3, 3), 18, (2, 1), (1, 1), (1, 1, 1, 1)),
              'dilated': ((1, 7, 6, 2), (3, 2, 3), 1, (3, 2), (4, 2), (2, 1, 1, 3)),
              'outside': ((1, 2, 2, 1), (17, 2, 2), 1, (2, 2), (1, 1), (3, 2, 2, 3)),
              'deep': ((1, 2, 3, 35), (2, 1, 2), 1, (1, 1), (1, 1), (0, 1, 0, 0)),
              'row': ((1, 1, 41, 2), (2, 1, 3), 1, (1, 1), (1, 1), (0, 1, 0, 1))}
    for tag, r in reductions:
        for turn, (name, (dims, (outputs, rows, columns), groups, stride, dilation, padding)) in enumerate(shapes.items()):
            end = f'_{name}_{tag}'
            settings = dict(groups=groups, stride=pair(*stride), dilation=pair(*dilation), before=pair(*padding[:2]),
                            after=pair(*padding[2:]))
            x, w = tensor(kind, *dims), tensor(kind, outputs, rows, columns, dims[3] // groups)
            if turn % 3 == 2:
                special = edges(kind)
                x = with_values(x, {(5 * i) % x.elements: v for i, v in enumerate(special)})
            bias = [tensor('float32' if turn % 2 else kind, outputs)] if turn % 3 else []
            # Sums are stored in either type.
            out, gradient = ('float32', kind) if turn % 2 else (kind, 'float32')
            y, = case(kind + '_conv' + end, 'conv', out, [x, w] + bias, reductions=[r], **settings)
            dy = tensor(kind, *y.dims)
            case(kind + '_conv_dx' + end, 'conv_backward_input', gradient, [dy, w], reductions=[r], height=dims[1],
                 width=dims[2], **settings)
            case(kind + '_conv_dw' + end, 'conv_backward_weight', gradient, [dy, x], reductions=[r],
                 kernel=pair(rows, columns), **settings)


def pools(kind):
    other = 'float32' if kind != 'float32' else 'bfloat16'
    shapes = {'plain': ((2, 4, 5, 3), (2, 2), (2, 2), (1, 1), (0, 0, 0, 0)),
              'overlapping': ((1, 5, 5, 2), (3, 3), (2, 1), (1, 1), (1, 1, 1, 1)),
              'dilated': ((1, 6, 7, 1), (2, 3), (1, 2), (3, 2), (2, 1, 1, 3)),
              'outside': ((1, 2, 3, 2), (2, 2), (2, 2), (1, 1), (3, 2, 2, 3)),
              'all': ((1, 3, 4, 67), (3, 4), (1, 1), (1, 1), (0, 0, 0, 0))}
    for name, (dims, kernel, stride, dilation, padding) in shapes.items():
        settings = dict(kernel=pair(*kernel), stride=pair(*stride), dilation=pair(*dilation), before=pair(*padding[:2]),
                        after=pair(*padding[2:]))
        x, special = tensor(kind, *dims), edges(kind)
        for i in range(x.elements // 3):  # with many equal ones
            x.values[chance.randrange(x.elements)] = special[chance.randrange(len(special))]
        x = Tensor(kind, x.dims, x.values)
        y, = case(f'{kind}_max_pool_{name}', 'max_pool', kind, [x], **settings)
        case(f'{kind}_max_pool_dx_{name}', 'max_pool_backward', kind, [tensor(other, *y.dims), x], **settings)
        for padded in (0, 1):
            tag = f'{name}_{padded}'
            case(f'{kind}_average_pool_{tag}', 'average_pool', kind, [x], padded=padded, **settings)
            case(f'{kind}_average_pool_dx_{tag}', 'average_pool_backward', other, [tensor(kind, *y.dims)], padded=padded,
                 height=dims[1], width=dims[2], **settings)


def repeated_operands(kind):
    """Extents of 1 in both operands, odd extents, ranks 1 to 6, and every pair of the values likely to reveal errors."""
    special = edges(kind)
    column, row = Tensor(kind, (len(special), 1), special), Tensor(kind, (len(special),), special)
    for op in ('broadcast_add', 'broadcast_multiply', 'subtract', 'divide', 'minimum', 'maximum', 'less', 'less_or_equal', 'equal'):
        out = 'float32' if op in ('less', 'less_or_equal', 'equal') else kind
        case(f'{kind}_{op}_edges', op, out, [column, row])
        for a, b in (((7,), (1,)), ((1,), (1, 1)), ((3, 1, 5), (3, 1)), ((2, 1, 3, 1, 2, 1), (3, 1, 2, 1, 3)), ((2, 67), (67,))):
            tag = 'x'.join(map(str, a)) + '_' + 'x'.join(map(str, b))
            case(f'{kind}_{op}_{tag}', op, out, [tensor(kind, *a), tensor('float32', *b)])
    case(kind + '_select_edges', 'select', kind, [row, column, tensor(kind, 1)])
    case(kind + '_select', 'select', kind, [with_values(tensor('float32', 3, 1), {1: ZERO}), tensor(kind, 1, 5), tensor(kind, 2, 1, 1)])
    case(kind + '_select_else_zero', 'select', kind, [with_values(tensor(kind, 4), {0: ZERO, 2: MINUS_ZERO}), tensor(kind, 3, 4)])
    case(kind + '_select_zero_or', 'select', kind, [with_values(tensor(kind, 4), {0: ZERO, 2: MINUS_ZERO}), None, tensor(kind, 3, 4)])
    full = Tensor(kind, (len(special), len(special)), [x for x in special for _ in special])
    case(kind + '_larger_share_edges', 'larger_share', kind, [full, row, Tensor(kind, (1, len(special)), special[3:] + special[:3])])
    case(kind + '_larger_share', 'larger_share', kind, [tensor(kind, 2, 3, 5), tensor('float32', 3, 1), tensor(kind, 5)])
    for x, y in (((2, 3, 5), (5,)), ((2, 3, 5), (3, 1)), ((2, 3, 5), (1,)), ((3, 2, 3, 1, 2, 5), (2, 1, 1, 2, 1)),
                 ((2, 70, 3), (2, 1, 3)), ((2, 3, 70), (2, 1, 70)), ((1, 1), (1,)), ((70,), (1,)), ((2, 3), (2, 3))):
        extents = {f'dim{i}': (y + (0,) * 8)[i] for i in range(8)}
        case(f'{kind}_sum_to_{"x".join(map(str, x))}_{"x".join(map(str, y))}', 'sum_to', kind, [tensor(kind, *x)], **extents)
    case(kind + '_sum_to_edges', 'sum_to', 'float32', [full], dim0=len(special), dim1=1, dim2=0, dim3=0, dim4=0, dim5=0, dim6=0, dim7=0)
    case(kind + '_to_int32', 'to_int32', 'int32', [Tensor(kind, (len(special) + 8,), special + [number(x) for x in (
        Fraction(3, 2), Fraction(-3, 2), 2 ** 31 - 128, 2 ** 31, -2 ** 31, -2 ** 31 - 256, 100, -100)])])
    case(kind + '_to_int32_small', 'to_int32', 'int32', [tensor(kind, 3, 23, low=-2, high=20)])
    if kind == 'float32':
        case('to_float32', 'to_float32', 'float32', [Tensor('int32', (12,), [0, 1, -1, 2 ** 31 - 1, -2 ** 31, 2 ** 24 + 1, 2 ** 24 + 3,
                                                                       -2 ** 24 - 1, 2 ** 30 + 65, 7, -12345, 123456789])])


def one_operand(kind):
    special = edges(kind) + float_edges(kind)[:12]
    x = Tensor(kind, (len(special) + 60,), special + values(40, -6, 3) + values(20, 4, 30))
    dy = tensor(kind, x.elements)
    for op in ('exp', 'log', 'sqrt', 'reciprocal', 'erf', 'abs', 'sign', 'floor'):
        case(f'{kind}_{op}', op, 'float32' if op in ('exp', 'log', 'reciprocal') else kind, [x])
    case(kind + '_exp_narrow', 'exp', kind, [tensor(kind, 2, 5)])
    case(kind + '_floor_half_way', 'floor', kind, [Tensor(kind, (9,), [number(Fraction(n, 2)) for n in range(-4, 5)])])
    case(kind + '_erf_dx', 'erf_backward', kind, [dy, x])
    for tag, low, high in (('', '-0.625', '1.5'), ('_point', '0.25', '0.25'), ('_crossed', '2', '-1')):
        case(f'{kind}_clip{tag}', 'clip', kind, [x], low=real(low), high=real(high))
        case(f'{kind}_clip{tag}_dx', 'clip_backward', kind, [dy, x], low=real(low), high=real(high))
    bounds = Tensor(kind, (6,), [real(v) for v in ('-0.625', '1.5', '-0.75', '1.625', '0', '-0.5')])
    case(kind + '_clip_bounds_dx', 'clip_backward', kind, [tensor(kind, 6), bounds], low=real('-0.625'), high=real('1.5'))
    case(kind + '_affine', 'affine', kind, [x], scale=real('1.7'), shift=real('-0.3'))
    case(kind + '_affine_minus', 'affine', kind, [x], scale=negate(ONE), shift=MINUS_ZERO)
    case(kind + '_affine_plus_zero', 'affine', kind, [x], scale=negate(ONE), shift=ZERO)
    for slope in ('0.01', '-2'):
        case(f'{kind}_leaky_relu_{slope}', 'leaky_relu', kind, [x], slope=real(slope))
        case(f'{kind}_leaky_relu_{slope}_dx', 'leaky_relu_backward', kind, [dy, x], slope=real(slope))
    for alpha in ('1', '-0.7'):
        case(f'{kind}_elu_{alpha}', 'elu', kind, [x], alpha=real(alpha))
        case(f'{kind}_elu_{alpha}_dx', 'elu_backward', kind, [dy, x], alpha=real(alpha))


def later_operand(kind):
    special = edges(kind) + float_edges(kind)[:12]
    x = Tensor(kind, (len(special) + 60,), special + values(40, -6, 3) + values(20, 4, 30))
    for op in ('sin', 'cos', 'atan', 'log_one_plus', 'round'):
        case(f'{kind}_{op}', op, kind if op == 'round' else 'float32', [x])
    case(kind + '_sin_narrow', 'sin', kind, [tensor(kind, 2, 5)])
    case(kind + '_round_half_way', 'round', kind, [Tensor(kind, (9,), [number(Fraction(n, 2)) for n in range(-4, 5)])])


def quantized_numbers(kind):
    special = edges(kind) + float_edges(kind)[:12]
    half_way = [number(Fraction(n, 8)) for n in (1, -1, 3, -3, 5, 255, 256, -257, 1021, 1023, 1024)]
    x = Tensor(kind, (len(special) + 40 + len(half_way),), special + values(40, -6, 9) + half_way)
    dy = tensor(kind, x.elements)
    for tag, low, high, zero in (('', '-128', '127', '3'), ('_unsigned', '0', '255', '128'), ('_narrow', '-7', '7', '0')):
        scale, point = Tensor('float32', (1,), [number(Fraction(1, 4))]), Tensor('float32', (1,), [real(zero)])
        case(f'{kind}_fake_quantize{tag}', 'fake_quantize', kind, [x, scale, point], low=real(low), high=real(high))
        case(f'{kind}_fake_quantize{tag}_dx', 'fake_quantize_backward', kind, [dy, x, scale, point], low=real(low), high=real(high))
    x, scale = tensor(kind, 3, 5, 4), Tensor('float32', (5, 1), [real(v) for v in ('0.01', '0.5', '0.0078125', '3', '0.125')])
    point = Tensor('float32', (5, 1), [number(n) for n in (0, 3, -5, 17, 1)])
    case(f'{kind}_fake_quantize_channels', 'fake_quantize', kind, [x, scale, point], low=real('-128'), high=real('127'))
    case(f'{kind}_fake_quantize_channels_dx', 'fake_quantize_backward', 'float32', [tensor(kind, 3, 5, 4), x, scale, point],
         low=real('-128'), high=real('127'))


def chosen_places(kind):
    special = edges(kind)
    for n, c, counts in ((3, 1, (1,)), (2, 7, (1, 3, 7)), (3, 70, (5, 69)), (1, len(special), (4, len(special)))):
        x = Tensor(kind, (n, c), [special[i % len(special)] if c == len(special) or chance.randrange(4) == 0 else v
                                  for i, v in enumerate(values(n * c, -1, 1))])
        for k in counts:
            for smallest in (0, 1):
                case(f'{kind}_top_k_{n}x{c}_{k}_{smallest}', 'top_k', 'int32', [x], count=k, smallest=smallest)
    for place in ((0, 0, 0), (1234567890123, 2 ** 33 + 5, 3)):
        for op in ('random_uniform', 'random_normal'):
            case(f'{kind}_{op}_{place[2]}', op, 'float32', [tensor(kind, 3, 23)], rng_id=7 + place[2], place=place)


def short_batches(kind):
    """Metrics of which not every sample counts, and the losses of samples and rows that they add."""
    prediction = with_values(tensor(kind, 6, 5, 3), {7: NAN, 40: INFINITY, 41: ZERO})
    target = Tensor('float32', (6, 5, 3), [real(x) for x in ('0', '0.25', '0.5', '0.75', '1')] * 18)
    for samples in (1, 2, 6):
        for loss, settings in ((25, {}), (128, {}), (130, dict(threshold=real('0.75'))),
                               (130, dict(form=1, threshold=real('1.5'))), (132, {}), (134, {}),
                               (134, dict(log_target=1, batch_mean=1))):
            settings = dict(dict(form=0, log_target=0, batch_mean=0, threshold=ZERO), **settings)
            case(f'{kind}_sample_loss_{loss}_{settings["form"]}{settings["log_target"]}_{samples}', 'sample_loss', 'float32',
                 [prediction, target], loss=loss, samples=samples, **settings)
    sums = [Tensor('float32', (2,), [real('3.25'), real('1e-7')]), Tensor('int64', (1,), [2 ** 40 + 1])]
    rows, classes = 12, 5
    logits = with_values(tensor(kind, rows, classes, low=-2, high=2), {3 * classes + 1: NAN})
    labels = integers('int32', (rows,), classes)
    weights = Tensor('float32', (rows,), [chance.choice([ZERO, ONE, real('0.1'), real('3')]) for _ in range(rows)])
    table = Tensor('int64', (classes, classes + 1), [2 ** 53 + i for i in range(classes * (classes + 1))])
    histogram = [Tensor('int64', (2, 199), [2 ** 24] * 398), sums[1]]
    for counts in ((1, 1, 1, 1), (1, 1, 0, 0), (0, 1, 0, 1, 1, 1), (1,) + (0,) * 11, (0,)):
        samples, tag = Tensor('int32', (len(counts),), list(counts)), ''.join(map(str, counts))
        case(f'{kind}_accuracy_{tag}', 'metric_accuracy', 'int64', [logits, labels, Tensor('int64', (1,), [7]), sums[1], samples])
        for some in (None, weights):
            name = f'{kind}_{"weighted" if some else "plain"}_{tag}'
            case(f'{name}_accuracy', 'metric_weighted_accuracy', 'float32', [logits, labels] + sums + [some, samples],
                 ignore_index=2)
            case(f'{name}_confusion', 'metric_confusion', 'int64', [logits, labels, table, sums[1], some, samples],
                 ignore_index=-1)
            if kind == 'float32':
                losses = with_values(tensor(kind, rows), {5: real('1e8')})
                case(f'{name}_row_mean', 'metric_row_mean', 'float32', [losses] + sums + [samples] + ([None, some] if some else []),
                     ignore_index=-1)
                case(f'{name}_row_mean_ignoring', 'metric_row_mean', 'float32',
                     [losses] + sums + [samples, labels] + ([some] if some else []), ignore_index=2)
        case(f'{kind}_auc_classes_{tag}', 'metric_auc', 'int64',
             [tensor(kind, rows, 2, low=-3, high=3), integers('int32', (rows,), 2)] + histogram + [samples])
        targets = Tensor('float32', (rows, 3), [chance.choice([ZERO, ONE]) for _ in range(3 * rows)])
        case(f'{kind}_auc_targets_{tag}', 'metric_auc', 'int64',
             [tensor(kind, rows, 3, low=-3, high=3), targets] + histogram + [samples])


def powers(kind):
    special = edges(kind)
    exponents = [number(Fraction(n, 4)) for n in (*range(-20, 21, 2), 1, -1, 3, 100, -100, 101 * 4, 102 * 4, -101 * 4)]
    exponents += [NAN, INFINITY, negate(INFINITY), MINUS_ZERO, number(2 ** 24), number(2 ** 24 + 2), number(2 ** 23 + 1)]
    b = Tensor('float32', (len(exponents),), exponents)
    bases = Tensor(kind, (len(special) + 6, 1), special + [number(Fraction(n, 64)) for n in (-65, -63, 63, 65, 129, -640)])
    case(kind + '_power_edges', 'power', 'float32', [bases, b])
    case(kind + '_power_dx_edges', 'power_backward', 'float32', [Tensor(kind, (bases.elements, len(exponents)),
                                                                        [ONE] * (bases.elements * len(exponents))), bases, b])
    a = Tensor(kind, (70,), [v & 0x7fffffff for v in values(70, -20, 20)])
    for n in ('3', '-2', '0.5', '-0.5', '2.5', '1', '0', '17'):
        case(f'{kind}_power_{n}', 'power', kind, [a, one(real(n))])
    case(kind + '_power', 'power', kind, [Tensor(kind, (3, 30), [v & 0x7fffffff for v in values(90, -3, 3)]), tensor(kind, 3, 30)])
    case(kind + '_power_dx', 'power_backward', kind, [tensor(kind, 2, 30), Tensor(kind, (30,), a.values[:30]), tensor('float32', 2, 1)])
def reductions_along(kind):
    special = edges(kind)
    shapes = (((7,), (1,)), ((3, 1), (1, 3)), ((4, 5), (1, 2)), ((2, 3, 5), (2, 5, 6)), ((2, 70), (1, 2)), ((3, 2, 67), (5, 1)),
              ((2, 1, 3, 2, 1, 2), (21, 12, 40, 63)))
    for dims, masks in shapes:
        for axes in masks:
            keep, tag = axes % 2, f'{"x".join(map(str, dims))}_{axes}'
            plain = tensor(kind, *dims)
            x = with_values(plain, {chance.randrange(plain.elements): special[chance.randrange(len(special))]
                                    for _ in range(plain.elements // 4)})
            y, = case(f'{kind}_reduce_sum_{tag}', 'reduce_sum', kind if keep else 'float32', [plain], axes=axes, keep=keep)
            case(f'{kind}_reduce_sum_edges_{tag}', 'reduce_sum', 'float32', [x], axes=axes, keep=keep)
            extents = [-n if axes >> d & 1 else n for d, n in enumerate(dims)] + [0] * (8 - len(dims))
            dy = with_values(tensor(kind, *y.dims), {0: NAN if axes == 1 else MINUS_ZERO})
            case(f'{kind}_reduce_sum_dx_{tag}', 'reduce_sum_backward', kind if keep else 'float32', [dy],
                 **{f'd{i}': n for i, n in enumerate(extents)})
            x = with_values(x, {e: x.values[0] for e in range(0, x.elements, 3)})
            y, = case(f'{kind}_reduce_max_{tag}', 'reduce_max', kind, [x], axes=axes, keep=keep)
            case(f'{kind}_reduce_max_dx_{tag}', 'reduce_max_backward', kind, [dy, x, y], axes=axes, keep=keep)
            if axes & (axes - 1) == 0:
                for last in (0, 1):
                    case(f'{kind}_arg_max_{tag}_{last}', 'arg_max', 'int32', [x], axis=axes.bit_length() - 1, last=last)
    signs = Tensor(kind, (4, 2), [ZERO, MINUS_ZERO, MINUS_ZERO, ZERO, MINUS_ZERO, MINUS_ZERO, NAN, ONE])
    case(f'{kind}_reduce_sum_zeros', 'reduce_sum', 'float32', [signs], axes=2, keep=0)
    case(f'{kind}_reduce_max_zeros', 'reduce_max', kind, [signs], axes=2, keep=0)
    for last in (0, 1):
        case(f'{kind}_arg_max_zeros_{last}', 'arg_max', 'int32', [signs], axis=1, last=last)
    rows = with_values(tensor(kind, 3, 70, low=-2, high=2), {70: NAN, 141: MINUS_ZERO, 150: INFINITY})
    y = softmax(kind, tensor(kind, 3, 70, low=-2, high=2))[0]
    case(f'{kind}_softmax_dx', 'softmax_backward', kind, [rows, y])
    case(f'{kind}_softmax_dx_float32', 'softmax_backward', 'float32', [tensor('float32', 2, 3), tensor(kind, 2, 3)])


def batched_products(kind, reductions=None):
    reductions = reductions or [('f32', F32)] + ([] if kind == 'float32' else [(f'chunk{c}', chunked(kind, c)) for c in (4, 64)])
    for tag, r in reductions:
        for turned, (batch, m, k, n) in enumerate((((2, 2), 3, 5, 18), ((2,), 17, 9, 2), ((), 2, 67, 3), ((3, 1), 1, 2, 4))):
            ta, tb = turned & 1, turned >> 1
            a = tensor(kind, *batch, *((k, m) if ta else (m, k)))
            b = tensor(kind, *batch, *((n, k) if tb else (k, n)))
            if turned == 0:
                special = edges(kind)
                b = with_values(b, {(7 * i) % b.elements: v for i, v in enumerate(special)})
            case(f'{kind}_matmul_{tag}_{turned}', 'matmul', 'float32' if turned == 1 else kind, [a, b], transpose_a=ta,
                 transpose_b=tb, reductions=[r])


def layouts(kind):
    """Ops that move elements: ranks 1 to 6, extents of 1, special values in each type, ids beyond both ends."""
    real_types, special = kind != 'int32', edges(kind) if kind != 'int32' else [0, -1, 2 ** 31 - 1, -2 ** 31]

    def some(*dims):
        x = tensor(kind, *dims) if real_types else Tensor(kind, dims, [chance.randrange(-2 ** 31, 2 ** 31) for _ in range(count(dims))])
        return Tensor(kind, dims, [chance.choice(special) if chance.randrange(5) == 0 else v for v in x.values])

    def ids(extent, *dims):
        beyond = [extent, extent + 1, 2 ** 31 - 1, -extent - 1, -2 ** 31]
        return Tensor('int32', dims, [chance.choice(beyond) if chance.randrange(6) == 0 else chance.randrange(-extent, extent)
                                      for _ in range(count(dims))])

    for old, new in (((2, 3, 4), (6, 4)), ((5,), (1, 5, 1)), ((2, 1, 3, 2, 1, 5), (3, 20)), ((1,), (1,) * 8), ((3, 100), (300,))):
        case(f'{kind}_reshape_{"x".join(map(str, new))}', 'reshape', kind, [some(*old)], **as_dims(new))
    for dims, order in (((4,), (0,)), ((3, 5), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (0, 2, 1)), ((2, 1, 3, 2), (3, 1, 2, 0)),
                        ((2, 3, 1, 2, 3, 2), (4, 0, 5, 2, 1, 3)), ((33, 20), (1, 0)), ((2, 3, 4, 5), (2, 3, 0, 1))):
        packed = sum(o << 4 * d for d, o in enumerate(order))
        case(f'{kind}_transpose_{"".join(map(str, order))}_{dims[0]}', 'transpose', kind, [some(*dims)], order=packed)
    for dims, axis, first, step, taken in (((7,), 0, 2, 1, 4), ((7,), 0, 6, -3, 3), ((5, 3), 0, 1, 2, 2), ((5, 3), 1, 2, -1, 3), ((2, 5, 3), 1, 0, 4, 2),
                                           ((2, 1, 4, 3), 1, 0, -9, 1), ((2, 3, 2, 2, 1, 5), 5, 4, -2, 3), ((2, 3, 2, 2, 1, 5), 2, 1, 1, 1), ((3, 300), 1, 5, 1, 290)):
        settings = dict(axis=axis, first=first, step=step)
        tag = f'{"x".join(map(str, dims))}_{axis}_{step}'
        y, = case(f'{kind}_slice_{tag}', 'slice', kind, [some(*dims)], count=taken, **settings)
        if real_types:
            case(f'{kind}_slice_dx_{tag}', 'slice_backward', kind, [some(*y.dims)], extent=dims[axis], **settings)
    for old, new in (((3,), (2, 3)), ((1,), (5,)), ((2, 1, 3), (2, 4, 3)), ((1, 3, 1), (2, 2, 3, 5)), ((2, 1), (2, 70)), ((1,), (2, 1, 3, 1, 2, 3)),
                     ((2, 1, 2, 1), (2, 3, 2, 4)), ((2, 3), (2, 3)), ((270,), (3, 270))):
        tag = f'{"x".join(map(str, old))}_{"x".join(map(str, new))}'
        case(f'{kind}_expand_{tag}', 'expand', kind, [some(*old)], **as_dims(new))
        if real_types:
            case(f'{kind}_expand_dx_{tag}', 'sum_to', kind, [tensor(kind, *new)], **as_dims(old, 'dim'))
            case(f'{kind}_expand_edges_dx_{tag}', 'sum_to', kind, [some(*new)], **as_dims(old, 'dim'))
    for dims, names, axis in (((5,), (3,), 0), ((5, 3), (2, 2), 0), ((2, 4, 3), (5,), 1), ((2, 4), (1,), 1), ((2, 1, 3, 2), (2, 1, 2), 2), ((3, 300), (4,), 0)):
        n, tag = ids(dims[axis], *names), f'{"x".join(map(str, dims))}_{axis}'
        y, = case(f'{kind}_gather_{tag}', 'gather', kind, [some(*dims), n], axis=axis)
        if real_types:
            case(f'{kind}_gather_dx_{tag}', 'gather_backward', 'float32', [tensor(kind, *y.dims), n], axis=axis, extent=dims[axis])
    for dims, taken, axis in (((5,), 7, 0), ((5, 3), 2, 0), ((2, 4, 3), 6, 1), ((2, 3, 1, 4), 3, 3), ((2, 3, 1, 4), 2, 2)):
        n, tag = ids(dims[axis], *replaced(dims, axis, taken)), f'{"x".join(map(str, dims))}_{axis}'
        case(f'{kind}_gather_elements_{tag}', 'gather_elements', kind, [some(*dims), n], axis=axis)
        if real_types:
            case(f'{kind}_gather_elements_dx_{tag}', 'gather_elements_backward', 'float32', [tensor(kind, *n.dims), n], axis=axis,
                 extent=dims[axis])
    for dims, names in (((6,), (4, 1)), ((4, 3), (5, 1)), ((4, 3), (2, 3, 2)), ((2, 3, 4), (3, 2)), ((3, 2), (2,)), ((3, 300), (4, 1))):
        n, tag = Tensor('int32', names, flat(zip(*(ids(d, count(names[:-1])).values for d in dims[:names[-1]])))), f'{"x".join(map(str, dims))}_{names[-1]}'
        data = some(*dims)
        updates = some(*(names[:-1] + dims[names[-1]:] or (1,)))
        case(f'{kind}_scatter_nd_{tag}', 'scatter_nd', kind, [data, n, updates], add=0)
        if real_types:
            case(f'{kind}_scatter_nd_add_{tag}', 'scatter_nd', kind, [tensor(kind, *dims), n, tensor(kind, *updates.dims)], add=1)
            case(f'{kind}_scatter_nd_dx_{tag}', 'scatter_nd_backward', kind, [data, n])
            case(f'{kind}_scatter_nd_dupdates_{tag}', 'scatter_nd_backward_updates', kind, [data, n])
    for dims, axis in (((7,), 0), ((5, 3), 0), ((2, 4, 3), 1), ((2, 1, 3, 2, 1, 2), 2), ((2, 270), 1), ((3, 270), 0)) if real_types else ():
        for exclusive, reverse in ((0, 0), (0, 1), (1, 0), (1, 1)):
            case(f'{kind}_cumulative_sum_{"x".join(map(str, dims))}_{axis}_{exclusive}{reverse}', 'cumulative_sum', kind, [tensor(kind, *dims)], axis=axis,
                 exclusive=exclusive, reverse=reverse)
    for dims, axis, before, after in (((3,), 0, 2, 1), ((2, 3), 0, 0, 1), ((2, 3, 2), 1, 3, 0), ((2, 1, 3, 1, 2, 2), 4, 1, 1), ((2, 260), 1, 1, 4)) if real_types else ():
        for value in (ZERO, real('-1.1')):
            case(f'{kind}_pad_{"x".join(map(str, dims))}_{axis}_{int(value == ZERO)}', 'pad', kind, [some(*dims)], axis=axis, before=before,
                 after=after, value=value)
    if not real_types:
        case('int32_concat_edges', 'concat_int32', kind, [Tensor(kind, (4,), special), some(3)], axis=0)
        case('int32_concat_middle', 'concat_int32', kind, [some(2, d, 3) for d in (1, 4, 2)], axis=1)


def recurrences(kind, reductions=None):
    """Chunks of one and of several terms, tiles that are not full, absent states, both directions, and special values."""
    reductions = reductions or [F32] + ([] if kind == 'float32' else [chunked(kind, 4)])
    turn = 0

    def weight_case(tag, r, dproducts, y, h0, parts, reverse):
        of_weight = 'float32' if turn % 2 else kind
        case(f'{kind}_{tag}_dw', 'recurrent_backward_weight', of_weight, ends([dproducts, y, h0, parts]), reverse=reverse,
             reductions=[r])

    for r in reductions:
        # Tiles that are not full in either way, only once for each type.
        large = () if (r == F32 and kind != 'float32') or r[0] in scalar.FLUSHED else ((2, 17, 2), (2, 1, 17))
        for t, b, h in ((1, 1, 1), (3, 2, 5)) + large:
            for reverse in (0, 1) if h == 5 else (turn % 2,):
                turn += 1
                tag = f'{r[0]}_{t}x{b}x{h}_{reverse}'
                settings = dict(reverse=reverse, reductions=[r])
                other = 'float32' if turn % 2 else kind
                special = edges(kind)

                def given(*dims, unless=None, kind=kind):
                    return None if unless == turn % 3 else tensor(kind, *dims, low=-3, high=0)

                def strange(x):
                    """Some of the values are infinite, NaN, -0 or subnormal."""
                    if turn % 2:
                        return x
                    return with_values(x, {(7 * i + 3) % x.elements: v for i, v in enumerate(special[turn % 4::4])})

                h0, c0 = given(b, h, unless=0), given(b, h, unless=1)
                dy, dlast_h, dlast_c = given(t, b, h, unless=2), given(b, h, unless=1), given(b, h, unless=0, kind='float32')
                keep = int(turn % 3 != 2 or t == 1)
                gates, weight = strange(given(t, b, 4 * h)), given(4 * h, h)
                y, _, _, saved, cells = case(f'{kind}_lstm_{tag}', 'lstm', kind, ends([gates, weight, h0, c0]), keep=1, **settings)
                if keep == 0:
                    case(f'{kind}_lstm_last_{tag}', 'lstm', kind, ends([gates, weight, h0, c0]), keep=0, **settings)
                dgates = case(f'{kind}_lstm_dx_{tag}', 'lstm_backward', kind,
                              ends([weight, saved, cells, dy, dlast_h, dlast_c, c0]), of_state=other, **settings)[0]
                weight_case('lstm_' + tag, r, dgates, y, h0, None, reverse)

                for after in (0, 1) if h < 17 else ():
                    end = f'{after}_{tag}'
                    gates, weight, bias = strange(given(t, b, 3 * h)), given(3 * h, h), given(3 * h, unless=2, kind=other)
                    inputs = ends([gates, weight, bias, h0])
                    y, _, saved = case(f'{kind}_gru{end}', 'gru', kind, inputs, reset_after=after, keep=1, **settings)
                    if keep == 0:
                        case(f'{kind}_gru_last{end}', 'gru', kind, inputs, reset_after=after, keep=0, **settings)
                    dproducts = case(f'{kind}_gru_dx{end}', 'gru_backward', kind, ends([weight, saved, y, dy, dlast_h, h0]),
                                     reset_after=after, of_state=other, **settings)[1]
                    weight_case('gru' + end, r, dproducts, y, h0, None if after else saved, reverse)

                for relu in (0, 1):
                    end = f'{relu}_{tag}'
                    gates, weight = strange(given(t, b, h)), given(h, h)
                    y = case(f'{kind}_rnn{end}', 'rnn', kind, ends([gates, weight, h0]), relu=relu, **settings)[0]
                    dgates = case(f'{kind}_rnn_dx{end}', 'rnn_backward', kind, ends([weight, y, dy, dlast_h]), relu=relu,
                                  of_state=other, **settings)[0]
                    weight_case('rnn' + end, r, dgates, y, h0, None, reverse)


def distances(kind):
    """Attention with a slope for each head: both masks, heads that share keys, dropout, chunks, and slopes of any kind."""
    half = kind != 'float32'
    slopes = Tensor('float32', (4,), [real('0.25'), real('0.0625'), real('-1.7'), ZERO])
    special = Tensor('float32', (2,), [INFINITY, MINUS_ZERO])
    attention_pair(f'{kind}_attention_slopes_causal', kind, (2, 5, 3), 4, 2, 1, 0, F32, real('0.3'), (5, 6, 1), slopes=[slopes])
    attention_pair(f'{kind}_attention_slopes_full', kind, (1, 4, 2), 4, 1, 0, 0, F32, slopes=[slopes])
    attention_pair(f'{kind}_attention_slopes_long', kind, (1, 37, 1), 2, 2, 1, 0, F32,
                   slopes=[Tensor('float32', (2,), [real('0.5'), real('0.00390625')])])
    attention_pair(f'{kind}_attention_slopes_special', kind, (1, 3, 2), 2, 1, 0, 0, F32, slopes=[special])
    if half:
        attention_pair(f'{kind}_attention_slopes_half', kind, (1, 5, 3), 4, 4, 1, 1, chunked(kind, 2), slopes=[slopes])


def crossings(kind, r=None):
    """Attention with separate operands: more keys than queries and fewer, masks of every form, all that attention has."""
    given = r
    half = kind != 'float32'
    shapes = ((2, 3, 5, 2, 1, 3, 0, (2, 2)), (1, 5, 2, 4, 2, 2, 1, (1, 4)), (2, 2, 4, 2, 2, 2, 1, None), (1, 4, 35, 1, 1, 1, 0, (1, 1)),
              (1, 35, 4, 2, 1, 1, 1, None), (1, 2, 3, 2, 2, 3, 0, (1, 1)))
    for turn, (batch, queries, keys, heads, kv_heads, depth, causal, masked) in enumerate(shapes):
        r = given or (chunked(kind, (4, 2)[turn % 2]) if half and turn % 2 else F32)
        settings = dict(heads=heads, kv_heads=kv_heads, causal=causal, half_softmax=int(half and turn % 3 == 0), rng_id=7, rows=16,
                        scale=real('0.6'), dropout_rate=real('0.25') if turn % 3 == 1 else ZERO, place=(9, turn, 1))
        operands = [tensor(kind, batch, n, h * depth) for n, h in ((queries, heads), (keys, kv_heads), (keys, kv_heads))]
        mask = tensor('float32', *masked, queries, keys) if masked else None
        if mask:
            hidden = {e: negate(INFINITY) for e in range(0, mask.elements, 3)}
            hidden[1] = NAN if turn == 5 else MINUS_ZERO
            mask = with_values(mask, hidden)
        slopes = tensor('float32', heads) if turn % 2 else None
        extra = [mask, slopes] if slopes else [mask] if mask else []
        tag = f'{kind}_cross_attention_{turn}' + (f'_{r[0]}' if given else '')
        _, row_max, row_sum, _ = case(tag, 'cross_attention', kind, operands + extra, reductions=[r, r], **settings)
        case(tag + '_dx', 'cross_attention_backward', kind, [tensor(kind, batch, queries, heads * depth)] + operands + [
            row_max, row_sum] + extra, reductions=[r, r, r], **settings)


def near_smallest_normal(n):
    """n bfloat16 values of about 2^-63, whose products lie on both sides of 2^-126, some subnormal or zero."""
    found = []
    for _ in range(n):
        exponent = chance.choice((62, 63, 63, 64, 64, 65)) if chance.randrange(6) else chance.choice((0, 0, 1, 120))
        found.append(chance.getrandbits(1) << 31 | exponent << 23 | chance.choice((0, 0, 1, 127, chance.getrandbits(7))) << 16)
    return found


def flushed_products(kind, r):
    """Blocks that are not full, sums near 2^-126, and special values."""
    tag = f'{kind}_linear_{r[0]}'
    for k, o, layout in ((131, 2, 0), (64, 3, 1), (1, 2, 0)):
        w = tensor(kind, *((o, k) if layout == 0 else (k, o)))
        x, dy = tensor(kind, 2, k), tensor(kind, k, o)
        case(f'{tag}_{k}', 'linear', kind, [x, w, tensor(kind, o)], layout=layout, reductions=[r])
        case(f'{tag}_dx_{k}', 'linear_backward_input', 'float32', [tensor(kind, 2, o), w], layout=layout, reductions=[r])
        case(f'{tag}_dw_{k}', 'linear_backward_weight', kind, [dy, tensor(kind, k, 2)], layout=layout, reductions=[r])
    for turn, out in enumerate(('float32', kind)):
        small = [Tensor(kind, (6, 75), near_smallest_normal(450)) for _ in range(2)]
        case(f'{tag}_smallest_{turn}', 'linear', out, small, layout=0, reductions=[r])
    special = edges(kind)
    for turn in range(3):
        x, w = (tensor(kind, 4, 37, low=-4, high=1 + 60 * turn) for _ in range(2))
        w = with_values(w, {(11 * i + turn) % w.elements: v for i, v in enumerate(special[turn::3])})
        case(f'{tag}_edges_{turn}', 'linear', 'float32', [x, w], layout=0, reductions=[r])


def flushed_attentions(kind, r):
    """Blocks of keys and of queries that are masked wholly, in part and not; infinite values where a mask is; shared heads."""
    infinite = {40 * 4 - 1: INFINITY, 20 * 4 - 1: INFINITY, 39 * 4 - 2: NAN}
    settings = dict(causal=(0, 1, 1, 1, 0), dropout=(0, 0, 1, 1, 1))
    shapes = (((1, 35, 2), 1, 1, None), ((1, 67, 2), 1, 1, None), ((1, 34, 1), 2, 2, None), ((1, 40, 1), 2, 1, infinite),
              ((2, 3, 35), 4, 2, None))
    for turn, (dims, heads, kv_heads, changes) in enumerate(shapes):
        attention_pair(f'{kind}_attention_{r[0]}_{turn}', kind, dims, heads, kv_heads, settings['causal'][turn], turn % 2, r,
                       real('0.25') if settings['dropout'][turn] else ZERO, (8, turn, 2), changes=changes)
    # Probabilities and gradients so small that products vanish.
    attention_pair(f'{kind}_attention_{r[0]}_vanishing', kind, (1, 9, 2), 1, 1, 1, 0, r, scale=real('30'),
                   dy_changes={i: x for i, x in enumerate(near_smallest_normal(18))})
    attention_pair(f'{kind}_attention_{r[0]}_slopes', kind, (1, 37, 1), 2, 2, 1, 0, r,
                   slopes=[Tensor('float32', (2,), [real('0.5'), real('0.00390625')])])


def flushed_convolutions(kind, r):
    """A line of windows longer than a block, of which some blocks lie outside of the image; infinite elements of the filter."""
    for turn, (dims, (outputs, rows, columns), groups, stride, padding) in enumerate((
            ((1, 2, 3, 2), (2, 2, 3), 1, (1, 1), (1, 34, 1, 33)), ((1, 3, 40, 1), (17, 2, 2), 1, (1, 1), (1, 0, 0, 1)),
            ((1, 2, 2, 9), (2, 3, 3), 1, (2, 2), (1, 1, 1, 1)), ((2, 3, 3, 2), (2, 3, 3), 2, (2, 2), (2, 1, 1, 2)))):
        attributes = dict(groups=groups, stride=pair(*stride), dilation=pair(1, 1), before=pair(*padding[:2]),
                          after=pair(*padding[2:]), reductions=[r])
        x, w = tensor(kind, *dims), tensor(kind, outputs, rows, columns, dims[3] // groups)
        w = with_values(w, {3: INFINITY, w.elements - 2: NAN} if turn == 2 else {0: MINUS_ZERO})
        y, = case(f'{kind}_conv_{r[0]}_{turn}', 'conv', kind, [x, w], **attributes)
        dy = tensor(kind, *y.dims)
        dy = with_values(dy, {0: INFINITY, 7: NAN} if turn == 0 else {})
        case(f'{kind}_conv_dx_{r[0]}_{turn}', 'conv_backward_input', kind, [dy, w], height=dims[1], width=dims[2], **attributes)
        case(f'{kind}_conv_dw_{r[0]}_{turn}', 'conv_backward_weight', 'float32', [dy, x], kernel=pair(rows, columns), **attributes)


def flushed_sums(kind):
    for name, block in scalar.FLUSHED.items():
        r = (name, 'float32', block)
        flushed_products(kind, r)
        batched_products(kind, [(name, r)])
        convolutions(kind, [(name, r)])
        flushed_convolutions(kind, r)
        recurrences(kind, [r])
        flushed_attentions(kind, r)
        crossings(kind, r)


def rounded_weights(kind):
    """Float32 weights: close to where rounding to the type changes direction, beyond its range, subnormal in float32, NaN."""
    flushed = [(name, 'float32', block) for name, block in scalar.FLUSHED.items()] if kind == 'bfloat16' else []
    for turn, r in enumerate([F32, chunked(kind, 3)] + flushed):
        awkward = float_edges(kind) + edges('float32') + values(5, -140 if kind == 'bfloat16' else -20, 4)
        for k, o, layout in ((len(awkward), 2, 0), (3, 18, 1)):
            w = Tensor('float32', (o, k) if layout == 0 else (k, o), values(k * o))
            if layout == 0:  # one awkward weight in each product, and all of them in one
                w = with_values(w, dict(enumerate(awkward)))
                x = Tensor(kind, (k, k), [ONE if i == j else ZERO for i in range(k) for j in range(k)])
                x = with_values(x, {i: widen(kind, 1) for i in range(k)})
                dy = tensor(kind, 3, o)
            else:
                w = with_values(w, {2 * i + turn: v for i, v in enumerate(float_edges(kind)[:20])})
                x, dy = tensor(kind, 2, k), tensor(kind, 2, o)
            tag = f'{kind}_rounded_weight_{turn}_layout{layout}'
            case(tag, 'linear', 'float32', [x, w], layout=layout, reductions=[r])
            case(tag + '_dx', 'linear_backward_input', kind, [dy, w], layout=layout, reductions=[r])


def scaled_norms():
    """Norms and clipping of gradients of any size: what the squares' unit is for."""
    partial = tensor('float32', 5)
    for i, size in enumerate((-149, -140, -126, -60, 0, 63, 64, 100, 127)):
        g = Tensor('float32', (70,), [scaled(x, size) for x in tensor('float32', 70).values])
        for j, scale in enumerate((None, number(1024), number(3), real('1e-3'), real('3e38'))):
            given = one(scale) if scale else None
            tag = f'float32_scaled_norm_{i}_{j}'
            parts, _ = case(tag + '_largest', 'largest_magnitude', 'float32', [g, partial], index=j)
            most, = case(tag + '_magnitude', 'gradient_magnitude', 'float32', [Tensor('float32', (1,), [parts.values[j]])])
            squares, _ = case(tag + '_squares', 'sum_of_scaled_squares', 'float32',
                              [g, partial, most] + [given] * bool(scale), index=2)
            squares = Tensor('float32', (2,), [squares.values[2], real('0.25')])
            norm, _, root = case(tag, 'gradient_norm', 'float32', [squares, most] + [given] * bool(scale))
            for l, limit in enumerate(('1', '1e-30', '3e38')):
                case(f'{tag}_factors_{l}', 'gradient_factors', 'float32', [given, norm, root, most], clipping=1,
                     limit=real(limit))
    g = tensor('float32', 70)
    for i, changes in enumerate(({3: NAN}, {3: INFINITY}, {3: INFINITY | MINUS_ZERO}, {3: NAN, 4: INFINITY}, dict.fromkeys(range(70), MINUS_ZERO))):
        other = with_values(g, changes)
        tag = f'float32_scaled_norm_special_{i}'
        parts, _ = case(tag + '_largest', 'largest_magnitude', 'float32', [other, partial], index=0)
        most, = case(tag + '_magnitude', 'gradient_magnitude', 'float32', [parts])
        most = most if is_nan(parts.values[0]) else Tensor('float32', (1,), [parts.values[0]])
        squares, _ = case(tag + '_squares', 'sum_of_scaled_squares', 'float32', [other, partial, most], index=0)
        squares = Tensor('float32', (1,), [squares.values[0]])
        norm, _, root = case(tag, 'gradient_norm', 'float32', [squares, most])
        case(tag + '_factors', 'gradient_factors', 'float32', [None, norm, root, most], clipping=1, limit=real('0.5'))
    for half in HALF_NAMES:
        g = tensor(half, 70)
        parts, _ = case(half + '_scaled_norm_largest', 'largest_magnitude', 'float32', [g, partial], index=4)
        case(half + '_scaled_norm_squares', 'sum_of_scaled_squares', 'float32',
             [g, partial, Tensor('float32', (1,), [parts.values[4]]), one(number(3))], index=4)


def trees(kind):
    """Each micro-step of five, and of the fewest that are a tree. What an earlier step has left is in the first one."""
    total, lower = tensor('float32', 3, 5), tensor('float32', 6, 5)
    for step in range(5):
        g = tensor(kind, 3, 5)
        if step == 2:
            g = with_values(g, {2: NAN, 3: MINUS_ZERO, 4: INFINITY})
        total, lower = case(f'{kind}_tree_{step}', 'accumulate_tree', 'float32', [total, g, lower], micro_batches=5,
                            place=(9, 0, step))
    total = tensor('float32', 17)
    for step in range(2):
        total, = case(f'{kind}_pair_{step}', 'accumulate_tree', 'float32', [total, tensor(kind, 17)], micro_batches=2,
                      place=(9, 0, step))


def main():
    for kind in HALF_NAMES + ['float32']:
        if kind != 'float32':
            casts(kind)
        products(kind)
        tables_and_sums(kind)
        layer_norms(kind)
        activations(kind)
        attentions(kind)
        losses(kind)
    long_sums()
    training()
    loss_scales()
    for kind in HALF_NAMES + ['float32']:
        more_activations(kind)
        pointwise_losses(kind)
        weighted_losses(kind)
        areas(kind)
    for kind in HALF_NAMES + ['float32']:
        rotations(kind)
    for kind in HALF_NAMES + ['float32']:
        broadcast_products(kind)
    for kind in HALF_NAMES + ['float32']:
        joins(kind)
    for kind in HALF_NAMES + ['float32']:
        rms_norms(kind)
    for kind in HALF_NAMES + ['float32']:
        convolutions(kind)
        pools(kind)
    chance.seed(170)  # so that these cases depend on no other
    for kind in HALF_NAMES + ['float32']:
        repeated_operands(kind)
        one_operand(kind)
        powers(kind)
    chance.seed(200)
    for kind in HALF_NAMES + ['float32', 'int32']:
        layouts(kind)
    chance.seed(220)
    for kind in HALF_NAMES + ['float32']:
        reductions_along(kind)
        batched_products(kind)
    chance.seed(236)
    for kind in HALF_NAMES + ['float32']:
        recurrences(kind)
    chance.seed(246)
    for kind in HALF_NAMES + ['float32']:
        batch_norms(kind)
    running()
    chance.seed(221)
    for kind in HALF_NAMES + ['float32']:
        distances(kind)
    chance.seed(227)
    for kind in HALF_NAMES + ['float32']:
        crossings(kind)
    chance.seed(300)
    flushed_sums('bfloat16')
    chance.seed(252)
    for kind in HALF_NAMES:
        rounded_weights(kind)
    chance.seed(263)
    for kind in HALF_NAMES + ['float32']:
        later_operand(kind)
    chance.seed(268)
    for kind in HALF_NAMES + ['float32']:
        quantized_numbers(kind)
        chosen_places(kind)
    chance.seed(260)
    scaled_norms()
    chance.seed(274)
    for kind in HALF_NAMES + ['float32']:
        short_batches(kind)
    chance.seed(278)
    for kind in HALF_NAMES + ['float32']:
        trees(kind)
    path = os.path.join(scalar.HERE, 'ops_half.golden')
    with open(path, 'w', encoding='ascii') as out:
        out.write('\n'.join(lines) + '\n')
    print(len(names), 'cases,', os.path.getsize(path), 'bytes')


if __name__ == '__main__':
    main()
