#!/usr/bin/env python3
"""An independent model of plan/NUMERICS.md: exact rational arithmetic, rounded where the document says so. It shares
nothing with our C code; it reads the coefficients from the document, so that the document is tested too.

Run: python3 tests/golden/numerics_model.py             writes tests/golden/numerics.def, which test_numerics.c includes
     python3 tests/golden/numerics_model.py examples    prints the worked examples of NUMERICS.md
Neither the build nor the tests need this script."""
from fractions import Fraction
from functools import lru_cache
from math import isqrt
import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENT = os.path.join(HERE, '..', '..', 'plan', 'NUMERICS.md')

# --- formats: bits of a value and back ---------------------------------------------------------------------------------


class Format:
    def __init__(self, name, exponent_bits, mantissa_bits, bias):
        self.name, self.exponent_bits, self.mantissa_bits, self.bias = name, exponent_bits, mantissa_bits, bias
        self.sign_bit = 1 << (exponent_bits + mantissa_bits)
        self.infinity = ((1 << exponent_bits) - 1) << mantissa_bits
        self.nan = self.infinity | 1 << (mantissa_bits - 1)

    def decode(self, bits):
        """None for NaN, else (sign, magnitude) with magnitude a Fraction or 'inf'."""
        sign, magnitude = int(bits & self.sign_bit != 0), bits & (self.sign_bit - 1)
        if magnitude > self.infinity:
            return None
        if magnitude == self.infinity:
            return sign, 'inf'
        exponent, mantissa = magnitude >> self.mantissa_bits, magnitude & ((1 << self.mantissa_bits) - 1)
        if exponent > 0:
            mantissa += 1 << self.mantissa_bits
        return sign, Fraction(mantissa) * Fraction(2) ** (max(exponent, 1) - self.bias - self.mantissa_bits)

    def encode(self, value):
        """The nearest value, ties to even."""
        if value is None:
            return self.nan
        sign, magnitude = value
        sign *= self.sign_bit
        if magnitude == 'inf':
            return sign | self.infinity
        if magnitude == 0:
            return sign
        # 2^exponent <= magnitude < 2^(exponent + 1), not below the smallest normal exponent
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if Fraction(2) ** exponent > magnitude:
            exponent -= 1
        exponent = max(exponent, 1 - self.bias)
        units = magnitude / Fraction(2) ** (exponent - self.mantissa_bits)
        whole, rest = divmod(units.numerator, units.denominator)
        twice = 2 * rest
        if twice > units.denominator or (twice == units.denominator and whole & 1):
            whole += 1
        # A carry propagates into the exponent; an exponent that is too large gives infinity.
        bits = ((exponent + self.bias - 1) << self.mantissa_bits) + whole
        return sign | min(bits, self.infinity)


FLOAT32 = Format('float32', 8, 23, 127)
FLOAT16 = Format('float16', 5, 10, 15)
BFLOAT16 = Format('bfloat16', 8, 7, 127)
CBFLOAT16 = Format('cbfloat16', 6, 9, 31)
HALVES = [FLOAT16, BFLOAT16, CBFLOAT16]


def exact_fma(a, b, c):
    """a*b + c of decoded values, exact, with IEEE 754's rules for infinities and for the sign of a zero sum."""
    if a is None or b is None or c is None:
        return None
    sign = a[0] ^ b[0]
    if a[1] == 'inf' or b[1] == 'inf':
        if a[1] == 0 or b[1] == 0 or (c[1] == 'inf' and c[0] != sign):
            return None
        return sign, 'inf'
    if c[1] == 'inf':
        return c
    product = a[1] * b[1]
    total = (-product if sign else product) + (-c[1] if c[0] else c[1])
    if total == 0:
        return (sign & c[0] if product == 0 else 0), Fraction(0)
    return int(total < 0), abs(total)


# --- binary32 arithmetic on bits ------------------------------------------------------------------------------------------

ONE, MINUS_ZERO = 0x3f800000, 0x80000000


def fma(a, b, c):
    return FLOAT32.encode(exact_fma(FLOAT32.decode(a), FLOAT32.decode(b), FLOAT32.decode(c)))


def add(a, b):
    return fma(a, ONE, b)


def flushed_factor(x):
    """A subnormal factor of a flushed sum is a zero of its sign."""
    return x & MINUS_ZERO if x & 0x7f800000 == 0 else x


@lru_cache(None)
def flushed_fma(a, b, c):
    """a*b + c in a flushed sum: what is tiny after it was rounded to 24 bits is a zero of its sign. With integers, because
    there are many of them."""
    if any(x & INFINITY == INFINITY for x in (a, b, c)):
        return fma(a, b, c)
    (x, x_unit), (y, y_unit), (z, z_unit) = ((x & 0x7fffff | (x & INFINITY != 0) << 23, max(x >> 23 & 0xff, 1) - 150)
                                             for x in (a, b, c))
    unit = min(x_unit + y_unit, z_unit)
    product, addend = x * y << (x_unit + y_unit - unit), z << (z_unit - unit)
    total = (-product if (a ^ b) & MINUS_ZERO else product) + (-addend if c & MINUS_ZERO else addend)
    if total == 0:
        return (a ^ b) & c & MINUS_ZERO if product == 0 else 0
    sign, magnitude = MINUS_ZERO if total < 0 else 0, abs(total)
    dropped = max(magnitude.bit_length() - 24, 0)
    kept, rest = magnitude >> dropped, (magnitude & ((1 << dropped) - 1)) * 2
    kept += rest > 1 << dropped or (rest == 1 << dropped and dropped > 0 and kept & 1 == 1)
    exponent = kept.bit_length() - 1 + unit + dropped
    if exponent < -126:
        return sign
    if exponent > 127:
        return sign | INFINITY
    return sign | (exponent + 127) << 23 | (kept << 23 >> (kept.bit_length() - 1)) & 0x7fffff


def flushed_add(a, b):
    return flushed_fma(a, ONE, b)


FLUSHED = {'even_odd_blocks': 32, 'pairs': 2}


def flushed_sum(kind, terms):
    """terms: pairs of factors, all of them from term 0 on; where a term is absent, None in place of the factor that is not
    there."""
    total, block = 0, FLUSHED[kind]
    for begin in range(0, len(terms), block):
        inside = terms[begin:begin + block]
        if all(None in term for term in inside):
            continue
        inside = [[0 if x is None else flushed_factor(x) for x in term] for term in inside]
        inside += [[0, 0]] * (block - len(inside))
        if kind == 'pairs':
            for a, b in reversed(inside):
                total = flushed_fma(a, b, total)
            continue
        sums = [0, 0]
        for i, (a, b) in enumerate(inside):
            sums[i % 2] = flushed_fma(a, b, sums[i % 2])
        total = flushed_add(total, flushed_add(*sums))
    return total


def negate(a):
    return a ^ 0x80000000


def subtract(a, b):
    return add(a, negate(b))


def multiply(a, b):
    return fma(a, b, MINUS_ZERO)


def divide(a, b):
    """b is positive, infinity or NaN; a and b are not both infinite."""
    x, y = FLOAT32.decode(a), FLOAT32.decode(b)
    if x is None or y is None:
        return FLOAT32.nan
    if x[1] == 'inf':
        return a
    if y[1] == 'inf':
        return FLOAT32.encode((x[0] ^ y[0], Fraction(0)))
    return FLOAT32.encode((x[0] ^ y[0], x[1] / y[1]))


def square_root(a):
    """Square root of -0 or of a value that is not negative, with 40 bits more than a float has, and a sticky bit."""
    sign, magnitude = FLOAT32.decode(a)
    if magnitude == 0:
        return a
    scaled = magnitude * Fraction(4) ** 200
    root = isqrt(scaled.numerator // scaled.denominator)
    sticky = int(root * root != scaled)
    return FLOAT32.encode((0, (Fraction(root) + Fraction(sticky, 2)) / Fraction(2) ** 200))


def number(x):
    """The float nearest to a Fraction, an int or a hexadecimal constant of the document."""
    if isinstance(x, str):
        negative, text = x.startswith('-'), x.lstrip('-')
        match = re.fullmatch(r'0x([01])(?:\.([0-9a-f]+))?p([+-]?\d+)', text)
        digits = match.group(2) or ''
        x = Fraction(int(match.group(1) + digits, 16), 16 ** len(digits)) * Fraction(2) ** int(match.group(3))
        assert FLOAT32.decode(FLOAT32.encode((0, x)))[1] == x, 'a constant is not a float'
        x = -x if negative else x
    x = Fraction(x)
    return FLOAT32.encode((int(x < 0), abs(x)))


def less(a, b):
    """a < b; false when either is NaN."""
    x, y = FLOAT32.decode(a), FLOAT32.decode(b)
    if x is None or y is None:
        return False

    def order(v):
        size = Fraction(2) ** 200 if v[1] == 'inf' else v[1]
        return -size if v[0] else size
    return order(x) < order(y)


# --- elementary functions -----------------------------------------------------------------------------------------------


def read_constants():
    with open(DOCUMENT, encoding='utf-8') as document:
        block = re.search(r'```constants\n(.*?)```', document.read(), re.S).group(1)
    constants = {}
    for line in block.strip().split('\n'):
        name, values = line.split(':')
        constants[name.strip()] = [number(v) for v in values.split()]
    return constants


K = read_constants()
NAN, INFINITY = FLOAT32.nan, FLOAT32.infinity
MAGIC = number(Fraction(3 * 2 ** 22))
HALF, MINUS_HALF = number(Fraction(1, 2)), number(Fraction(-1, 2))


def constant(name):
    return K[name][0]


def polynomial(name, x):
    total = K[name][-1]
    for c in reversed(K[name][:-1]):
        total = fma(total, x, c)
    return total


def is_nan(x):
    return x & 0x7fffffff > INFINITY


def limit(x, low, high):
    if low is not None and less(x, number(low)):
        return number(low)
    if high is not None and less(number(high), x):
        return number(high)
    return x


def exp(x):
    if is_nan(x):
        return NAN
    x = limit(x, -105, 89)
    shifted = fma(x, constant('1/ln2'), MAGIC)
    n_float = subtract(shifted, MAGIC)
    n = shifted - MAGIC
    high = fma(n_float, negate(constant('ln2')), x)
    low = multiply(n_float, negate(constant('ln2 rest')))
    r = add(high, low)
    q = polynomial('exp', r)
    total = add(ONE, high)
    error = add(subtract(ONE, total), high)
    y = add(total, fma(multiply(r, r), q, add(low, error)))
    first = (n + 254) >> 1
    scale = [number(Fraction(2) ** (first - 127)), number(Fraction(2) ** (n + 127 - first))]
    return multiply(multiply(y, scale[0]), scale[1])


def log(x):
    if is_nan(x) or less(x, 0):
        return NAN
    if x & 0x7fffffff == 0:
        return negate(INFINITY)
    if x == INFINITY:
        return INFINITY
    k = 0
    if x < 0x00800000:
        x, k = multiply(x, number(2 ** 23)), -23
    mantissa, exponent = x & 0x7fffff | ONE, (x >> 23) - 127
    if not less(mantissa, number('0x1.6a09e6p+0')):
        mantissa, exponent = multiply(mantissa, HALF), exponent + 1
    k_float = number(k + exponent)
    f = subtract(mantissa, ONE)
    q = polynomial('log', f)
    large = multiply(k_float, constant('ln2 16 bits'))
    total = add(large, f)
    error = add(subtract(large, total), f)
    return add(total, fma(multiply(f, f), q, fma(k_float, constant('ln2 16 bits rest'), error)))


def with_sign(magnitude, x):
    return magnitude & 0x7fffffff | x & 0x80000000


def tanh(x):
    if is_nan(x):
        return NAN
    a = x & 0x7fffffff
    if less(a, ONE):
        z = multiply(a, a)
        y = fma(multiply(a, z), polynomial('tanh', z), a)
    else:
        y = subtract(ONE, divide(number(2), add(exp(multiply(number(2), a)), ONE)))
    return with_sign(y, x)


def erf(x):
    if is_nan(x):
        return NAN
    a = x & 0x7fffffff
    if less(a, ONE):
        y = fma(a, polynomial('erf near', multiply(a, a)), a)
    else:
        g = polynomial('erf far', limit(a, None, 4))
        y = fma(exp(negate(g)), number(Fraction(-1, 8)), ONE)
    return with_sign(y, x)


def quarter_sine(t, quarter):
    if is_nan(t) or less(t, 0) or less(ONE, t):
        return NAN
    shifted = fma(t, number(4), MAGIC)
    r = fma(subtract(shifted, MAGIC), number(Fraction(-1, 4)), t)
    z = multiply(r, r)
    sine = fma(r, constant('2pi'), multiply(r, fma(polynomial('sin', z), z, constant('2pi rest'))))
    cosine = fma(polynomial('cos', z), z, ONE)
    quadrant = shifted + quarter & 3
    value = [sine, cosine, negate(sine), negate(cosine)][quadrant]
    return add(value, 0)


def sin_turns(t):
    return quarter_sine(t, 0)


def cos_turns(t):
    return quarter_sine(t, 1)


def gelu(x):
    x = limit(x, -16, None)
    h = multiply(HALF, x)
    return fma(h, erf(multiply(x, constant('sqrt(1/2)'))), h)


def gelu_slope(x):
    x = limit(x, -16, 16)
    density = multiply(exp(multiply(multiply(MINUS_HALF, x), x)), constant('1/sqrt(2pi)'))
    return fma(x, density, fma(HALF, erf(multiply(x, constant('sqrt(1/2)'))), HALF))


def gelu_tanh_exponent(x):
    return multiply(x, fma(multiply(x, x), negate(constant('gelu cubic 2')), negate(constant('sqrt(2/pi) 2'))))


def gelu_tanh(x):
    x = limit(x, -16, None)
    return divide(x, add(ONE, exp(gelu_tanh_exponent(x))))


def gelu_tanh_slope(x):
    x = limit(x, -16, 16)
    e = exp(gelu_tanh_exponent(x) | 0x80000000)
    larger = divide(ONE, add(ONE, e))
    smaller = multiply(e, larger)
    inner = fma(multiply(x, x), constant('gelu cubic 6'), constant('sqrt(2/pi) 2'))
    return fma(multiply(x, multiply(larger, smaller)), inner, smaller if less(x, 0) else larger)


def turns_digits(count):
    """The first `count` binary digits of 1/(2 pi) behind the point, as an integer; pi is computed by Machin's formula."""
    unit = 10 ** 120

    def arctan_of_inverse(x):
        term = total = unit // x
        n, sign = 3, -1
        while term:
            term //= x * x
            total += sign * (term // n)
            n, sign = n + 2, -sign
        return total
    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    return (unit << count) // (2 * pi)


DIGITS = turns_digits(300)


def sin_reduced(a, quarter):
    """For a finite a of at least 2^-10."""
    m, e = a & 0x7fffff | 0x800000, (a >> 23) - 150
    window = DIGITS >> 300 - (e + 96) & 2 ** 96 - 1
    fraction = (m * window >> 32) % 2 ** 64
    nearest = fraction + 2 ** 61 >> 62
    rest = fraction - (nearest << 62)
    size = abs(rest)
    first, second, third = (number(Fraction(units, 2 ** place)) for units, place in
                            ((size >> 38, 26), ((size >> 14) % 2 ** 24, 50), (size % 2 ** 14, 64)))
    r = add(first, second)
    low = add(add(subtract(first, r), second), third)
    if rest < 0:
        r, low = negate(r), negate(low)
    z = fma(r, add(low, low), multiply(r, r))
    sine = fma(r, constant('2pi'), fma(r, fma(polynomial('sin', z), z, constant('2pi rest')),
                                       multiply(low, constant('2pi'))))
    cosine = fma(polynomial('cos', z), z, ONE)
    return [sine, cosine, negate(sine), negate(cosine)][nearest + quarter & 3]


TENTH_POWER = number(Fraction(1, 1024))


def sin(x):
    a = x & 0x7fffffff
    if a >= INFINITY:
        return NAN
    y = fma(multiply(a, multiply(a, a)), negate(constant('1/6')), a) if less(a, TENTH_POWER) else sin_reduced(a, 0)
    return negate(y) if x >> 31 else y


def cos(x):
    a = x & 0x7fffffff
    if a >= INFINITY:
        return NAN
    return fma(multiply(a, a), MINUS_HALF, ONE) if less(a, TENTH_POWER) else sin_reduced(a, 1)


def atan(x):
    if is_nan(x):
        return NAN
    a = x & 0x7fffffff
    large = less(ONE, a)
    t = divide(ONE, a) if large else a
    z = multiply(t, t)
    y = fma(multiply(t, z), polynomial('atan', z), t)
    if large:
        y = subtract(constant('pi/2'), subtract(y, constant('pi/2 rest')))
    return with_sign(y, x)


def log_one_plus(x):
    if is_nan(x):
        return NAN
    total = add(ONE, x)
    y = log(total)
    if is_nan(total) or not less(0, total) or total == INFINITY:
        return y
    part = subtract(total, ONE)
    error = add(subtract(ONE, subtract(total, part)), subtract(x, part))
    return add(y, divide(error, total))


def rsqrt(x):
    if is_nan(x) or less(x, 0):
        return NAN
    if x & 0x7fffffff == 0:
        return INFINITY | x
    if x == INFINITY:
        return 0
    y = divide(ONE, square_root(x))
    t = multiply(x, y)
    error = fma(x, y, negate(t))
    rest = fma(negate(error), y, fma(negate(t), y, ONE))
    return fma(multiply(HALF, y), rest, y)


def sigmoid_parts(x):
    e = exp(x | 0x80000000)
    larger = divide(ONE, add(ONE, e))
    return larger, multiply(e, larger)


def sigmoid(x):
    if is_nan(x):
        return NAN
    return sigmoid_parts(x)[less(x, 0)]


def silu(x):
    if is_nan(x):
        return NAN
    x = limit(x, -105, None)
    return multiply(x, sigmoid(x))


def silu_slope(x):
    if is_nan(x):
        return NAN
    x = limit(x, -105, 105)
    larger, smaller = sigmoid_parts(x)
    return fma(x, multiply(larger, smaller), smaller if less(x, 0) else larger)


def log_one_exp(x):
    e = exp(x | 0x80000000)
    total = add(ONE, e)
    error = subtract(e, subtract(total, ONE))
    return add(log(total), divide(error, total))


def softplus(x):
    if is_nan(x):
        return NAN
    return add(x if less(0, x) else 0, log_one_exp(x))


FUNCTIONS = [exp, log, tanh, erf, sin_turns, cos_turns, gelu, gelu_slope, gelu_tanh, gelu_tanh_slope, sin, cos, rsqrt,
             sigmoid, silu, silu_slope, softplus, atan, log_one_plus]

# --- sums -------------------------------------------------------------------------------------------------------------------


def blocked_sum(values):
    total = 0
    for begin in range(0, len(values), 4096):
        lanes = [0] * 64
        for i, x in enumerate(values[begin:begin + 4096]):
            lanes[i % 64] = add(lanes[i % 64], x)
        half = 32
        while half:
            lanes = [add(lanes[i], lanes[i + half]) for i in range(half)]
            half //= 2
        total = add(total, lanes[0])
    return total


def sample(i):
    """Element i of the test's list: mixed signs and magnitudes, computed from integers only."""
    word = i * 2654435761 % 2 ** 32
    return word & 0x807fffff | (112 + (word >> 24) % 20) << 23


# --- random numbers -----------------------------------------------------------------------------------------------------------

WORD = 2 ** 32


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        product0, product1 = 0xd2511f53 * c[0], 0xcd9e8d57 * c[2]
        c = [product1 // WORD ^ c[1] ^ k[0], product1 % WORD, product0 // WORD ^ c[3] ^ k[1], product0 % WORD]
        k = [(k[0] + 0x9e3779b9) % WORD, (k[1] + 0xbb67ae85) % WORD]
    return c


def block(seed, rng_id, step, micro, element):
    counter = [element // 4 % WORD, rng_id, step % WORD, micro % 65536 | (step >> 32) % 65536 << 16]
    return philox(counter, [seed % WORD, seed >> 32])


def uniform(place, element):
    return number(Fraction(block(*place, element)[element % 4] >> 8, 2 ** 24))


def normal(place, element):
    words = block(*place, element)
    pair = element % 4 // 2 * 2
    u1 = number(Fraction((words[pair] >> 8) + 1, 2 ** 24))
    u2 = number(Fraction(words[pair + 1] >> 8, 2 ** 24))
    radius = square_root(multiply(number(-2), log(u1)))
    return multiply(radius, sin_turns(u2) if element % 2 else cos_turns(u2))


def value_of(bits):
    negative, magnitude = FLOAT32.decode(bits)
    return -magnitude if negative else magnitude


def truncated_normal(seed, rng_id, element, mean, deviation, low, high):
    for draw in range(64):
        x = fma(deviation, normal((seed, rng_id, 0, draw), element), mean)
        if value_of(low) <= value_of(x) <= value_of(high):
            return x
    return low if value_of(x) < value_of(low) else high


def permute(seed, epoch, count, index):
    bits = (count - 1).bit_length()
    left_bits, right_bits = bits // 2, bits - bits // 2
    while True:
        left, right = index >> right_bits, index % 2 ** right_bits
        for turn in range(8):
            counter = [right if turn % 2 else left, 0xffffff00 + turn, epoch % WORD, epoch >> 32]
            word = philox(counter, [seed % WORD, seed >> 32])[0]
            if turn % 2:
                left ^= word % 2 ** left_bits
            else:
                right ^= word % 2 ** right_bits
        index = left << right_bits | right
        if index < count:
            return index


# --- the golden file ------------------------------------------------------------------------------------------------------------


def half_fma(form, a, b, c):
    return form.encode(exact_fma(form.decode(a), form.decode(b), form.decode(c)))


def fma_cases(form, chance):
    """Triples that are likely to reveal errors: ties and near-ties of the sum, cancellation, subnormals, the overflow
    boundary, products that binary32 cannot hold, and every pair of special values."""
    top, least = form.infinity - 1, 1 << form.mantissa_bits
    negative = form.sign_bit
    for a in (0, top, top | negative, form.infinity, form.infinity | negative, form.nan):
        for b in (0, top, form.infinity):
            for c in (0, negative, top, top | negative, form.infinity, form.infinity | negative, form.nan):
                yield a, b, c
    small = [0, 1, least - 1, least, form.bias << form.mantissa_bits]
    small += [s | negative for s in small]
    for a in small:
        for b in small:
            yield a, b, chance.choice(small)
            yield a, b, chance.choice(small)

    def any_half():
        return chance.randrange(form.infinity) | chance.choice([0, form.sign_bit])

    def encode(x):
        return form.encode((int(x < 0), abs(x)))

    def value(bits):
        sign, magnitude = form.decode(bits)
        return -magnitude if sign else magnitude

    largest = value(top)
    for _ in range(50):
        a, b = any_half(), any_half()
        yield a, b, any_half()
        product = value(a) * value(b)
        # c near -a*b: cancellation, so that the rest of the product determines the result.
        if abs(product) < largest:
            c = encode(-product)
            yield a, b, c
            yield a, b, max(c - 1, 0)
    for _ in range(70):
        # The product is about half a unit of c: a power of two times 1, or times slightly more than 1.
        c = chance.randrange(least, top) | chance.choice([0, form.sign_bit])
        unit = Fraction(2) ** (((c & (form.sign_bit - 1)) >> form.mantissa_bits) - form.bias - form.mantissa_bits)
        low, high = 2 - form.bias - form.mantissa_bits, form.bias
        exponent = chance.randrange(low, high + 1)
        a = Fraction(2) ** exponent
        b = unit / 2 / a
        if form.decode(encode(b))[1] in ('inf', 0):
            continue
        a_bits, b_bits = encode(a), encode(b) | chance.choice([0, form.sign_bit])
        yield a_bits, b_bits, c
        yield a_bits, b_bits + 1, c
        yield a_bits, b_bits ^ form.sign_bit, c
        if b_bits & (form.sign_bit - 1):
            yield a_bits, b_bits - 1, c
    for _ in range(60):
        # Almost a tie: the deviation lies beyond 24 bits, where a binary32 fma would lose it. First the product is half
        # a unit of c minus 2^-2m of itself; then the product is the tie and c the small deviation.
        m = form.mantissa_bits
        field = chance.randrange(form.bias, form.bias + 3)
        c = field << m | chance.randrange(least)
        a = (form.bias << m) + 1
        b = (field - m - 2 << m) + (least - 2)
        sign = chance.choice([0, negative])
        yield a, b | sign, c
        yield a, b | sign, c | negative
        while True:
            x, y = least + chance.randrange(least), least + chance.randrange(least)
            odd = x * y
            while odd % 2 == 0:
                odd //= 2
            if odd.bit_length() == m + 2:
                break
        tiny = chance.randrange(1, max(2, form.bias - 25 << m))
        for c in (tiny, tiny | negative, 0):
            yield (form.bias << m) + x - least | sign, (form.bias << m) + y - least, c
    for _ in range(50):
        # Values around the largest one, and sums of subnormals.
        yield any_half(), encode(Fraction(chance.randrange(1, 64), 8)), top - chance.randrange(3)
        yield chance.randrange(least * 20), chance.randrange(least * 20) | form.sign_bit, chance.randrange(least * 2)
        yield any_half(), chance.randrange(1, least * 2), chance.randrange(least)
        yield top - chance.randrange(least), any_half(), chance.choice([0, form.sign_bit]) | top - chance.randrange(64)
    for _ in range(70):
        # Sums that are subnormal or nearly so: a*b is about the smallest normal value, with the exponents split
        # arbitrarily.
        split = chance.randrange(1 - form.bias, form.bias)
        target = chance.randrange(1 - form.bias - 2 * form.mantissa_bits, 4 - form.bias)
        a = (Fraction(1) + Fraction(chance.randrange(least), least)) * Fraction(2) ** split
        b = (Fraction(1) + Fraction(chance.randrange(least), least)) * Fraction(2) ** (target - split)
        a_bits, b_bits = encode(a), encode(b) | chance.choice([0, form.sign_bit])
        if form.infinity in (a_bits, b_bits & ~form.sign_bit):
            continue
        yield a_bits, b_bits, 0
        yield a_bits, b_bits, chance.randrange(least * 3)
        yield a_bits, b_bits, form.encode(FLOAT32.decode(FLOAT32.encode((0, a * b))))


def function_arguments(chance):
    edges = [0, 1, 0x007fffff, 0x00800000, ONE, 0x7f7fffff, INFINITY, NAN, 0x7f800001, number(16), number(4),
             number(89), number(105), number(Fraction(1, 2)), number(Fraction(1, 8)), ONE - 1, ONE + 1, 0x42b17218,
             0x42b17217, 0x3f3504f3, 0x3f3504f2]
    for bits in edges:
        yield bits
        yield bits | 0x80000000
    for _ in range(30):
        yield chance.randrange(2 ** 32)
    for _ in range(70):
        yield chance.randrange(number(Fraction(1, 4096)), number(20)) | chance.choice([0, 0x80000000])


def write_golden(out):
    chance = random.Random(20)
    out.write('/* Written by tests/golden/numerics_model.py; not to be edited. Floats and halves as bits. */\n')
    for form in HALVES:
        seen = set()
        for bits in [0, 1, 0x33000000, 0x33000001, 0x477fefff, 0x477ff000, 0x4f7fdfff, 0x4f7fe000, 0x7f7f7fff,
                     0x7f7f8000, INFINITY, NAN, 0x7f800001, 0xffffffff] + [chance.randrange(2 ** 32) for _ in range(40)]:
            out.write(f'ROUND({form.name}, 0x{bits:08x}, 0x{form.encode(FLOAT32.decode(bits)):04x})\n')
        for a, b, c in fma_cases(form, chance):
            if (a, b, c) not in seen:
                seen.add((a, b, c))
                out.write(f'FMA({form.name}, 0x{a:04x}, 0x{b:04x}, 0x{c:04x}, 0x{half_fma(form, a, b, c):04x})\n')
    for function in FUNCTIONS:
        for x in function_arguments(chance):
            out.write(f'FUNCTION({function.__name__}, 0x{x:08x}, 0x{function(x):08x})\n')
    for function in (sin_turns, cos_turns):
        for i in range(33):
            t = number(Fraction(i, 32))
            out.write(f'FUNCTION({function.__name__}, 0x{t:08x}, 0x{function(t):08x})\n')
    # Arguments about 2^-10, close to a quarter turn and its multiples, and large ones: these reveal an argument
    # reduction with too few digits.
    for function in (sin, cos):
        for x in (number(Fraction(1, 1024)) - 1, number(Fraction(1, 1024)), 0x3fc90fdb, 0x40490fdb, 0x4096cbe4,
                  0x6f5f2db2, 0x7b0cc0a8, 0x4b3b9b8c, 0x7f7fffff):
            out.write(f'FUNCTION({function.__name__}, 0x{x:08x}, 0x{function(x):08x})\n')
    for count in (0, 1, 2, 63, 64, 65, 100, 4095, 4096, 4097, 10000):
        out.write(f'SUM({count}, 0x{blocked_sum([sample(i) for i in range(count)]):08x})\n')
    places = [(0, 0, 0, 0), (1234567890123456789, 7, 41, 3), (2 ** 64 - 1, 0xfffffeff, 2 ** 40 + 5, 65535)]
    for place in places:
        for element in [0, 1, 2, 3, 4, 5, 6, 7, 1000, 1001, 2 ** 33 + 2, 2 ** 33 + 3]:
            bits = block(*place, element)[element % 4]
            out.write(f'RANDOM({place[0]}u, 0x{place[1]:x}, {place[2]}u, {place[3]}, {element}u, 0x{bits:08x}, '
                      f'0x{uniform(place, element):08x}, 0x{normal(place, element):08x})\n')
    # Few draws lie within the second bounds, and none within the third, above or below.
    for mean, deviation, low, high in (('0', '1', '-2', '2'), ('0.5', '0.25', '0.875', '4'), ('0', '1', '8', '9'),
                                       ('0', '1', '-9', '-8'), ('1', '0', '-1', '1'), ('-0.125', '0.5', '-0.15625', '0')):
        numbers = [number(Fraction(x)) for x in (mean, deviation, low, high)]
        for element in [0, 1, 2, 3, 4, 5, 6, 7, 1000, 2 ** 33 + 3]:
            out.write(f'TRUNCATED({2 ** 63 + 5}u, 9, {element}u, ' + ', '.join(f'0x{x:08x}' for x in numbers)
                      + f', 0x{truncated_normal(2 ** 63 + 5, 9, element, *numbers):08x})\n')
    for seed, epoch, count in ((0, 0, 1), (0, 0, 2), (5, 1, 7), (99, 3, 100), (2 ** 63 + 1, 2 ** 35, 10 ** 12),
                               (1, 2, 2 ** 64 - 1)):
        for index in {0, count // 3, count - 1}:
            out.write(f'PERMUTE({seed}u, {epoch}u, {count}u, {index}u, {permute(seed, epoch, count, index)}u)\n')


# --- the worked examples ----------------------------------------------------------------------------------------------------------


def show(form, bits):
    value = form.decode(bits)
    return f'0x{bits:0{8 if form is FLOAT32 else 4}x} ({"-" if value[0] else ""}{float(value[1])!r})'


def examples():
    a = [BFLOAT16.encode((0, Fraction(x))) for x in ('1', '0.7421875', '3', '0.10009765625')]
    b = [BFLOAT16.encode((int(x.startswith('-')), abs(Fraction(x)))) for x in ('1.0078125', '-0.33203125', '0.21484375',
                                                                               '4.75')]
    print('a', [show(BFLOAT16, x) for x in a])
    print('b', [show(BFLOAT16, x) for x in b])
    total = 0
    for x, y in zip(a, b):
        total = fma(x << 16, y << 16, total)
        print('f32: acc', show(FLOAT32, total))
    print('f32: rounded', show(BFLOAT16, BFLOAT16.encode(FLOAT32.decode(total))))
    total = 0
    for begin in (0, 2):
        part = 0
        for x, y in list(zip(a, b))[begin:begin + 2]:
            part = half_fma(BFLOAT16, x, y, part)
            print('chunked: acc16', show(BFLOAT16, part))
        total = add(total, part << 16)
        print('chunked: total', show(FLOAT32, total))
    print('chunked: rounded', show(BFLOAT16, BFLOAT16.encode(FLOAT32.decode(total))))
    flushed_examples([(x << 16, y << 16) for x, y in zip(a, b)])
    flushed_examples([(0x20000000, 0xa0010000), (0x1f810000, 0x1f7f0000), (None, 0x7f000000), (0x80010000, 0x7f000000),
                      (0x20000000, 0x20000000)])
    for a in (0x8d800000, 0x8d810000):
        print('near 2^-126:', show(FLOAT32, fma(a, 0x26000000, 0x00800000)),
              show(FLOAT32, flushed_fma(a, 0x26000000, 0x00800000)))


def flushed_examples(terms):
    """Both sums, step by step, of terms that lie in one block."""
    factors = [[0 if x is None else flushed_factor(x) for x in term] for term in terms]
    sums = [0, 0]
    for i, (a, b) in enumerate(factors):
        sums[i % 2] = flushed_fma(a, b, sums[i % 2])
        print('even_odd_blocks:', 'eo'[i % 2], show(FLOAT32, sums[i % 2]))
    print('even_odd_blocks: sum', show(FLOAT32, flushed_sum('even_odd_blocks', terms)))
    total = 0
    for begin in range(0, len(factors), 2):
        for a, b in reversed((factors + [[0, 0]])[begin:begin + 2]):
            total = flushed_fma(a, b, total)
            print('pairs: sum', show(FLOAT32, total))


def main():
    if sys.argv[1:] == ['examples']:
        examples()
    else:
        with open(os.path.join(HERE, 'numerics.def'), 'w', encoding='ascii') as out:
            write_golden(out)


if __name__ == '__main__':
    main()
