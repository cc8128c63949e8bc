#!/usr/bin/env python3
"""Derives the coefficients in runtime/numerics/elementary.h: minimax polynomials by Lawson's iteration on a dense grid, in
decimal arithmetic of 60 digits. Coefficients are rounded to binary32 one after the other, lowest power first, and the
others are fitted again each time, so that later coefficients compensate for the rounding of earlier ones.

Run: python3 tests/golden/fit_elementary.py    prints C constants and, for each polynomial, its largest weighted error.
Neither the build nor the tests need this script."""
from decimal import Decimal as D, getcontext
import struct

getcontext().prec = 60


def atan_inverse(n):
    total, term, k = D(0), D(1) / n, 0
    while abs(term) > D(10) ** -60:
        total += term / (2 * k + 1) * (-1 if k % 2 else 1)
        term /= n * n
        k += 1
    return total


PI = 4 * (4 * atan_inverse(5) - atan_inverse(239))
LN2 = D(2).ln()


def series(x, first, ratio):
    """Sum of first, first*ratio(0), ... until the terms vanish."""
    total, term, k = D(0), first, 0
    while abs(term) > D(10) ** -58:
        total += term
        term *= ratio(k)
        k += 1
    return total


def sin(x):
    return series(x, x, lambda k: -x * x / ((2 * k + 2) * (2 * k + 3)))


def cos(x):
    return series(x, D(1), lambda k: -x * x / ((2 * k + 1) * (2 * k + 2)))


def tanh(x):
    return 1 - 2 / ((2 * x).exp() + 1)


def erf(x):
    """exp(-x^2) times a series of positive terms, so that nothing cancels."""
    return 2 * x * (-x * x).exp() / PI.sqrt() * series(x, D(1), lambda k: 2 * x * x / (2 * k + 3))


def atan(x):
    """Halves the angle three times, so that the series converges quickly."""
    for _ in range(3):
        x = x / (1 + (1 + x * x).sqrt())
    return 8 * sum((-1 if k % 2 else 1) * x ** (2 * k + 1) / (2 * k + 1) for k in range(40))


def to_float(x):
    """The binary32 nearest to x. float() of a Decimal is correctly rounded; the second rounding matters only for ties
    to 29 bits, which does not affect the fit."""
    return struct.unpack('f', struct.pack('f', float(x)))[0]


def solve(rows, right):
    n = len(rows)
    m = [row[:] + [b] for row, b in zip(rows, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(m[r][i]))
        m[i], m[pivot] = m[pivot], m[i]
        for r in range(i + 1, n):
            f = m[r][i] / m[i][i]
            for c in range(i, n + 1):
                m[r][c] -= f * m[i][c]
    x = [D(0)] * n
    for i in reversed(range(n)):
        x[i] = (m[i][n] - sum(m[i][c] * x[c] for c in range(i + 1, n))) / m[i][i]
    return x


def minimax(grid, target, weight, powers, rounds=60):
    """Coefficients of x^powers that make the largest |weight * (target - sum)| on the grid about as small as it can be:
    Lawson's iteration, least squares whose weights grow where the error is large. It also takes powers that begin
    above 0 on an interval around 0, where an exchange algorithm does not work."""
    basis = [[w * x ** p if p else w for p in powers] for x, w in zip(grid, weight)]
    right = [w * t for t, w in zip(target, weight)]
    share = [D(1)] * len(grid)
    best, least = None, None
    for _ in range(rounds):
        scaled = [[s * b for b in row] for row, s in zip(basis, share)]
        matrix = [[sum(row[i] * other[j] for row, other in zip(scaled, basis)) for j in range(len(powers))]
                  for i in range(len(powers))]
        vector = [sum(row[i] * r for row, r in zip(scaled, right)) for i in range(len(powers))]
        solution = solve(matrix, vector)
        error = [abs(r - sum(c * b for c, b in zip(solution, row))) for r, row in zip(right, basis)]
        if least is None or max(error) < least:
            best, least = solution, max(error)
        share = [s * e for s, e in zip(share, error)]
        total = sum(share)
        share = [s / total for s in share]
    return best, least


def fit(name, function, weight, low, high, count, points=161):
    grid = [(D(low) + D(high)) / 2 - (D(high) - D(low)) / 2 * cos(PI * k / points) for k in range(points + 1)]
    rest = [function(x) for x in grid]
    weights = [weight(x) for x in grid]
    rounded, ideal = [], None
    for k in range(count):
        solution, worst = minimax(grid, rest, weights, range(k, count))
        ideal = ideal or worst
        c = to_float(solution[0])
        rounded.append(c)
        rest = [t - D(c) * (x ** k if k else 1) for t, x in zip(rest, grid)]
    worst = max(abs(w * r) for w, r in zip(weights, rest))
    print(f'/* {name}: {count} coefficients on [{float(low):.6g}, {float(high):.6g}], relative error '
          f'2^{float(worst.ln() / LN2):.1f}, before rounding them 2^{float(ideal.ln() / LN2):.1f} */')
    print('    ' + ', '.join(short(c) for c in rounded))


def short(c):
    """A C constant without the zeros that float.hex adds."""
    mantissa, exponent = float(c).hex().split('p')
    return mantissa.rstrip('0').rstrip('.') + 'p' + exponent + 'f'


def split(name, x):
    high = to_float(x)
    print(f'/* {name} */ {short(high)}, {short(to_float(x - D(high)))}')


def main():
    split('1/ln 2', 1 / LN2)
    split('ln 2', LN2)
    ln2_16 = D(int(LN2 * 2 ** 16)) / 2 ** 16
    print(f'/* ln 2 to 16 bits, and the rest */ {short(ln2_16)}, {short(to_float(LN2 - ln2_16))}')
    split('2 pi', 2 * PI)
    split('pi/2', PI / 2)
    split('sqrt(1/2)', D('0.5').sqrt())
    split('2 sqrt(2/pi)', 2 * (2 / PI).sqrt())
    split('2 sqrt(2/pi) 0.044715', (2 / PI).sqrt() * D('0.08943'))
    split('1/sqrt(2 pi)', 1 / (2 * PI).sqrt())
    split('6 sqrt(2/pi) 0.044715', (2 / PI).sqrt() * D('0.26829'))
    # e^r = 1 + r + r^2 q(r)
    half = LN2 / 2 * D('1.001')
    fit('exp: q', lambda r: (r.exp() - 1 - r) / (r * r), lambda r: r * r / r.exp(), -half, half, 5)
    # log(1 + f) = f + f^2 q(f)
    low, high = (D('0.5').sqrt() - 1) * D('1.0001'), (D(2).sqrt() - 1) * D('1.0001')
    fit('log: q', lambda f: ((1 + f).ln() - f) / (f * f), lambda f: abs(f * f / (1 + f).ln()), low, high, 10)
    # tanh x = x + x z q(z), z = x^2
    least, most = D('1e-9'), D(1)
    fit('tanh: q', lambda z: (tanh(z.sqrt()) / z.sqrt() - 1) / z, lambda z: z * z.sqrt() / tanh(z.sqrt()), least, most,
        8)
    # erf x = x + x q(z), z = x^2
    fit('erf, small: q', lambda z: erf(z.sqrt()) / z.sqrt() - 1, lambda z: z.sqrt() / erf(z.sqrt()), least, most, 7)
    # -log(8 (1 - erf x)); the weight of its error is 1 - erf x
    fit('erf, large: g', lambda x: -(8 * (1 - erf(x))).ln(), lambda x: 1 - erf(x), D(1), D(4), 7)
    # sin(2 pi r) = 2 pi r + r z q(z), cos(2 pi r) = 1 + z q(z), z = r^2, |r| <= 1/8
    most = D('1.001') / 64
    fit('sin: q', lambda z: (sin(2 * PI * z.sqrt()) / z.sqrt() - 2 * PI) / z,
        lambda z: z * z.sqrt() / sin(2 * PI * z.sqrt()), least, most, 4)
    fit('cos: q', lambda z: (cos(2 * PI * z.sqrt()) - 1) / z, lambda z: z / cos(2 * PI * z.sqrt()), least, most, 4)
    # atan x = x + x z q(z), z = x^2, 0 <= x <= 1
    fit('atan: q', lambda z: (atan(z.sqrt()) / z.sqrt() - 1) / z, lambda z: z * z.sqrt() / atan(z.sqrt()), least, D(1),
        9)


main()
