#!/usr/bin/env python3
"""Derives the coefficients in runtime/numerics/elementary.h: minimax polynomials by Remez exchange on a dense grid, in
decimal arithmetic of 60 digits. Coefficients are rounded to binary32 one after the other, lowest power first, and the
rest is fitted again each time, so that a later coefficient makes up for the rounding of an earlier one.

Run: python3 tests/golden/fit_elementary.py    prints C constants and, for each polynomial, its largest weighted error.
Nothing here is needed to build or to test."""
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


def to_float(x):
    """The binary32 nearest to x. float() of a Decimal is correctly rounded; the second rounding matters only for ties
    to 29 bits, which the fit does not mind."""
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


def remez(grid, target, weight, powers):
    """Coefficients of x^powers that minimise the largest |weight * (target - sum)| on the grid."""
    n = len(powers)
    last = len(grid) - 1
    basis = [[x ** p if p else D(1) for p in powers] for x in grid]
    picks = [round((1 - float(cos(PI * k / n))) / 2 * last) for k in range(n + 1)]
    for _ in range(12):
        rows = [basis[i] + [D(-1 if k % 2 else 1) / weight[i]] for k, i in enumerate(picks)]
        solution = solve(rows, [target[i] for i in picks])
        error = [weight[i] * (target[i] - sum(c * b for c, b in zip(solution, basis[i]))) for i in range(last + 1)]
        runs, start = [], 0
        for i in range(1, last + 2):
            if i > last or (error[i] > 0) != (error[start] > 0):
                runs.append(max(range(start, i), key=lambda j: abs(error[j])))
                start = i
        while len(runs) > n + 1:
            runs.pop(0 if abs(error[runs[0]]) < abs(error[runs[-1]]) else -1)
        if len(runs) < n + 1 or runs == picks:
            break
        picks = runs
    return solution[:n], max(abs(e) for e in error)


def fit(name, function, weight, low, high, powers, points=400):
    grid = [(D(low) + D(high)) / 2 - (D(high) - D(low)) / 2 * cos(PI * k / points) for k in range(points + 1)]
    target = [function(x) for x in grid]
    weights = [weight(x) for x in grid]
    rest, fixed, left = target[:], [], list(powers)
    while left:
        solution, worst = remez(grid, rest, weights, left)
        c = to_float(solution[0])
        fixed.append(c)
        rest = [t - D(c) * (x ** left[0] if left[0] else 1) for t, x in zip(rest, grid)]
        left.pop(0)
    worst = max(abs(w * r) for w, r in zip(weights, rest))
    print(f'/* {name}: powers {powers[0]} to {powers[-1]} on [{float(low):.6g}, {float(high):.6g}], '
          f'error {float(worst):.2e} = 2^{float(worst.ln() / LN2):.1f} */')
    print('    ' + ', '.join(c.hex() + 'f' for c in fixed))


def split(name, x):
    high = to_float(x)
    print(f'/* {name} */ {high.hex()}f, {to_float(x - D(high)).hex()}f')


def main():
    split('1/ln 2', 1 / LN2)
    split('ln 2', LN2)
    ln2_16 = D(int(LN2 * 2 ** 16)) / 2 ** 16
    print(f'/* ln 2 to 16 bits, and the rest */ {float(ln2_16).hex()}f, {to_float(LN2 - ln2_16).hex()}f')
    split('2 pi', 2 * PI)
    split('sqrt(1/2)', D('0.5').sqrt())
    split('sqrt(2/pi)', (2 / PI).sqrt())
    split('sqrt(2/pi) 0.044715', (2 / PI).sqrt() * D('0.044715'))
    split('1/sqrt(2 pi)', 1 / (2 * PI).sqrt())
    one = D(1)
    half = LN2 / 2 * D('1.001')
    # e^r = 1 + r + r^2 q(r); r itself is not fitted. The grid never hits 0 (an even number of points would).
    fit('exp: q', lambda r: (r.exp() - 1 - r) / (r * r), lambda r: r * r / r.exp(), -half, half, range(5), 401)
    # log(1 + f) = f + f^2 q(f)
    low, high = D('0.5').sqrt() - 1, D(2).sqrt() - 1
    fit('log: q', lambda f: ((1 + f).ln() - f) / (f * f), lambda f: abs(f * f / (1 + f).ln()), low * D('1.0001'),
        high * D('1.0001'), range(9), 401)
    # tanh(x) = x + x z q(z), z = x^2
    fit('tanh: q', lambda z: (tanh(z.sqrt()) / z.sqrt() - 1) / z, lambda z: z * z.sqrt() / tanh(z.sqrt()), D('1e-9'),
        D('1.0'), range(7))
    # erf(x) = x + x q(z)
    fit('erf, small: q', lambda z: erf(z.sqrt()) / z.sqrt() - 1, lambda z: z.sqrt() / erf(z.sqrt()), D('1e-9'),
        D('1.0'), range(7))
    # -log(1 - erf(x))
    fit('erf, large: g', lambda x: -(1 - erf(x)).ln(), lambda x: 1 - erf(x), D('1.0'), D('4.0'), range(9))
    # sin(2 pi r) = r (2 pi) + r z q(z), cos(2 pi r) = 1 + z q(z), |r| <= 1/8
    eighth = one / 64 * D('1.001')
    fit('sin: q', lambda z: (sin(2 * PI * z.sqrt()) / z.sqrt() - 2 * PI) / z,
        lambda z: z * z.sqrt() / sin(2 * PI * z.sqrt()), D('1e-9'), eighth, range(4))
    fit('cos: q', lambda z: (cos(2 * PI * z.sqrt()) - 1) / z, lambda z: z / cos(2 * PI * z.sqrt()), D('1e-9'), eighth,
        range(4))


main()
