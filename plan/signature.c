/* SHA-256 and signature verification. Except for one x86 function, this is the only file of plan and runtime that may
 * include mbedTLS, whose part p256-m verifies signatures. Every status starts as a failure and becomes a success in one
 * place only; every return code of mbedTLS is checked. */
#include "plan/signature.h"

#include <string.h>

#include "mbedtls/platform_util.h"
#include "mbedtls/sha256.h"
#include "p256-m/p256-m.h"
#include "psa/crypto.h"

#include "plan/errors.h"

#define POINT_BYTES 65u /* 0x04 X Y */

/* Replaces the function of mbedTLS. The empty assembly keeps the compiler from omitting a write that nothing reads. */
void mbedtls_platform_zeroize(void *buf, size_t len) {
    memset(buf, 0, len);
    __asm__ volatile("" : : "r"(buf) : "memory");
}

/* --- SHA-256 ---------------------------------------------------------------------------------------------------------
 */

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

int firn_sha256_of_many(const uint8_t *bytes, uint64_t count, const firn_alive *alive, uint8_t digest[32]) {
    firn_sha256 hash;
    int status = firn_sha256_begin(&hash);
    for (uint64_t at = 0; status == FIRN_OK && at < count;) {
        uint64_t left = count - at;
        size_t piece = left < FIRN_ALIVE_BYTES ? (size_t)left : FIRN_ALIVE_BYTES;
        status = firn_sha256_update(&hash, bytes + at, piece);
        at += piece;
        if (alive->alive != NULL)
            alive->alive(alive->context);
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

/* --- ECDSA P-256 -----------------------------------------------------------------------------------------------------
 */

/* The source of random numbers that p256-m names for making keys and signatures. Nothing here calls those functions; if
 * one were called, it would fail. */
psa_status_t psa_generate_random(uint8_t *output, size_t output_size) {
    memset(output, 0, output_size);
    return PSA_ERROR_NOT_SUPPORTED;
}

/* p256-m refuses a public key that is not a point of the curve, and r and s outside of [1, n - 1]. */
int firn_signature_check(const uint8_t public_key[FIRN_PUBLIC_KEY_BYTES], const uint8_t digest[32],
                         const uint8_t signature[64]) {
    int status = FIRN_ERROR_SIGNATURE;
    const int verdict = p256_ecdsa_verify(signature, public_key, digest, 32);
    if (verdict == P256_INVALID_PUBKEY)
        status = FIRN_ERROR_KEY;
    if (verdict == P256_SUCCESS)
        status = FIRN_OK;
    return status;
}
