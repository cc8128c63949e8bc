/* SHA-256 and signature verification. Except for one x86 function, this is the only file of plan and runtime that may
 * include mbedTLS, whose part p256-m verifies signatures. Every status starts as a failure and becomes a success in one
 * place only; every return code of mbedTLS is checked. */
#include "plan/signature.h"

#include <string.h>

#include "mbedtls/platform_util.h"
#include "mbedtls/sha256.h"
#include "psa/crypto.h"

/* The source of p256-m, not its header: the check below is made of its arithmetic, because p256_ecdsa_verify compares
 * in one place, which one skipped instruction would turn into an acceptance. */
#include "p256-m/p256-m.c" /* NOLINT(bugprone-suspicious-include) */

#include "plan/errors.h"

#define POINT_BYTES 65u /* 0x04 X Y */

/* Replaces the function of mbedTLS. The empty assembly keeps the compiler from omitting a write that nothing reads. */
void mbedtls_platform_zeroize(void *buf, size_t len) {
    memset(buf, 0, len);
    __asm__ volatile("" : : "r"(buf) : "memory");
}

/* --- SHA-256 ------------------------------------------------------------------------------------------------------ */

_Static_assert(sizeof(mbedtls_sha256_context) <= sizeof(firn_sha256), "the context must fit");
_Static_assert(_Alignof(mbedtls_sha256_context) <= _Alignof(firn_sha256), "the context must be aligned");

static mbedtls_sha256_context *context_of(firn_sha256 *hash) {
    return (mbedtls_sha256_context *)(void *)hash->opaque;
}

int firn_sha256_begin(firn_sha256 *hash) {
    mbedtls_sha256_init(context_of(hash));
    return mbedtls_sha256_starts(context_of(hash), 0) == 0 ? FIRN_OK : FIRN_ERROR_HASH;
}

int firn_sha256_update(firn_sha256 *hash, const void *bytes, size_t count) {
    return mbedtls_sha256_update(context_of(hash), bytes, count) == 0 ? FIRN_OK : FIRN_ERROR_HASH;
}

int firn_sha256_end(firn_sha256 *hash, uint8_t digest[32]) {
    int status = mbedtls_sha256_finish(context_of(hash), digest) == 0 ? FIRN_OK : FIRN_ERROR_HASH;
    mbedtls_sha256_free(context_of(hash));
    return status;
}

int firn_sha256_of(const void *bytes, size_t count, uint8_t digest[32]) {
    firn_sha256 hash = {{0}};
    int status = firn_sha256_begin(&hash);
    if (status == FIRN_OK)
        status = firn_sha256_update(&hash, bytes, count);
    if (status == FIRN_OK)
        status = firn_sha256_end(&hash, digest);
    return status;
}

static void show_life(const firn_alive *alive) {
    if (alive->alive != NULL)
        alive->alive(alive->context);
}

int firn_sha256_of_many(const uint8_t *bytes, uint64_t count, const firn_alive *alive, uint8_t digest[32]) {
    firn_sha256 hash;
    int status = firn_sha256_begin(&hash);
    for (uint64_t at = 0; status == FIRN_OK && at < count;) {
        uint64_t left = count - at;
        size_t piece = left < FIRN_ALIVE_BYTES ? (size_t)left : FIRN_ALIVE_BYTES;
        status = firn_sha256_update(&hash, bytes + at, piece);
        at += piece;
        show_life(alive);
    }
    return status == FIRN_OK ? firn_sha256_end(&hash, digest) : status;
}

static void make_point(const uint8_t public_key[FIRN_PUBLIC_KEY_BYTES], uint8_t point[POINT_BYTES]) {
    point[0] = 0x04;
    memcpy(point + 1, public_key, FIRN_PUBLIC_KEY_BYTES);
}

int firn_key_hash(const uint8_t public_key[FIRN_PUBLIC_KEY_BYTES], uint8_t hash[32]) {
    uint8_t point[POINT_BYTES];
    make_point(public_key, point);
    return firn_sha256_of(point, sizeof point, hash);
}

/* --- ECDSA P-256 -------------------------------------------------------------------------------------------------- */

/* The source of random numbers that p256-m names for making keys and signatures. Nothing here calls those functions; if
 * one were called, it would fail. */
psa_status_t psa_generate_random(uint8_t *output, size_t output_size) {
    memset(output, 0, output_size);
    return PSA_ERROR_NOT_SUPPORTED;
}

/* Computes the number that r must be, by SEC 1, 4.1.4, with u1 = digest / s and u2 = r / s: the x coordinate of
 * u1 G + u2 key, modulo n. A sum that is the point at infinity gives 0, which r is not. Returns FIRN_OK, KEY if the key
 * is not a point of the curve, or SIGNATURE if r or s is outside of [1, n - 1]. */
static int compute_r(const uint8_t public_key[FIRN_PUBLIC_KEY_BYTES], const uint8_t digest[32],
                     const uint8_t signature[64], const firn_alive *alive, uint32_t r[8], uint32_t computed[8]) {
    uint32_t s[8], u1[8], u2[8], x[8], y[8];
    if (scalar_from_bytes(r, signature) != 0 || scalar_from_bytes(s, signature + 32) != 0)
        return FIRN_ERROR_SIGNATURE;
    if (point_from_bytes(x, y, public_key) != 0)
        return FIRN_ERROR_KEY;
    m256_prep(s, &p256_n);
    m256_inv(s, s, &p256_n);
    ecdsa_m256_from_hash(u1, digest, 32);
    m256_mul(u1, u1, s, &p256_n);
    m256_done(u1, &p256_n);
    memcpy(u2, r, sizeof u2);
    m256_prep(u2, &p256_n);
    m256_mul(u2, u2, s, &p256_n);
    m256_done(u2, &p256_n);
    scalar_mult(computed, s, x, y, u2); /* s is not needed any more, and takes a coordinate */
    show_life(alive);
    if (u256_diff0(u1) != 0) { /* 0 is for a digest of zeros, which scalar_mult does not take */
        scalar_mult(x, y, p256_gx, p256_gy, u1);
        point_add_or_double_leaky(u1, u2, x, y, computed, s);
        memcpy(computed, u1, sizeof u1);
    }
    m256_done(computed, &p256_p);
    ecdsa_m256_mod_n(computed);
    return FIRN_OK;
}

int firn_signature_check(const uint8_t public_key[FIRN_PUBLIC_KEY_BYTES], const uint8_t digest[32],
                         const uint8_t signature[64], const firn_alive *alive, firn_trail *trail) {
    uint32_t r[8], computed[8] = {0};
    show_life(alive);
    const int status = compute_r(public_key, digest, signature, alive, r, computed);
    show_life(alive);
    if (status != FIRN_OK)
        return status;
    const uint32_t first = firn_difference(r, computed, sizeof r);
    const uint32_t second = firn_difference(computed, r, sizeof r);
    firn_trail_add(trail, FIRN_TRAIL_SIGNATURE, first, second);
    return (first | second) == 0 ? FIRN_OK : FIRN_ERROR_SIGNATURE;
}
