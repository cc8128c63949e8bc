/* Hashing and signature verification, the only interface of plan and runtime to mbedTLS. signature.c alone may include
 * mbedTLS, except for the function in runtime/targets/x86/sha256.c that mbedTLS calls for each block. Signing is part
 * of the compiler. Nothing is allocated, and there is no state but the caller's. */
#ifndef FIRN_PLAN_SIGNATURE_H
#define FIRN_PLAN_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "plan/checks/trail.h"

#define FIRN_PUBLIC_KEY_BYTES 64u /* X then Y, big-endian */

/* The state of a SHA-256, owned by the caller; it contains no pointers. */
typedef struct firn_sha256 {
    uint64_t opaque[13];
} firn_sha256;

/* Each returns FIRN_OK or FIRN_ERROR_HASH. */
int firn_sha256_begin(firn_sha256 *hash) __attribute__((warn_unused_result));
int firn_sha256_update(firn_sha256 *hash, const void *bytes, size_t count) __attribute__((warn_unused_result));
int firn_sha256_end(firn_sha256 *hash, uint8_t digest[32]) __attribute__((warn_unused_result));
int firn_sha256_of(const void *bytes, size_t count, uint8_t digest[32]) __attribute__((warn_unused_result));

/* Called repeatedly during long work: hashing takes millions of instructions on a microcontroller. */
typedef struct firn_alive {
    void *context;
    void (*alive)(void *context); /* NULL: no call is made */
} firn_alive;

/* Every long loop calls `alive` at least once for this many bytes. */
#define FIRN_ALIVE_BYTES 65536u

/* SHA-256 of many bytes, with a call of `alive` for every FIRN_ALIVE_BYTES. Returns FIRN_OK or FIRN_ERROR_HASH. */
int firn_sha256_of_many(const uint8_t *bytes, uint64_t count, const firn_alive *alive, uint8_t digest[32])
    __attribute__((warn_unused_result));

/* SHA-256(0x04 X Y). Returns FIRN_OK or FIRN_ERROR_HASH. */
int firn_key_hash(const uint8_t public_key[FIRN_PUBLIC_KEY_BYTES], uint8_t hash[32])
    __attribute__((warn_unused_result));

/* Verifies a raw r||s ECDSA P-256 signature over a SHA-256 digest, and adds the comparison of r to the trail. Takes 19
 * million instructions on a Cortex-M7 and 29 million on RV32IMAFC; `alive` is called before, in the middle and after.
 * Returns FIRN_OK, KEY or SIGNATURE. */
int firn_signature_check(const uint8_t public_key[FIRN_PUBLIC_KEY_BYTES], const uint8_t digest[32],
                         const uint8_t signature[64], const firn_alive *alive, firn_trail *trail)
    __attribute__((warn_unused_result));

#endif
