/* HMAC-SHA-256 (hmac.h). No key, and nothing from which a key follows, stays on the stack. */
#include "plan/checkpoint/hmac.h"

#include <string.h>

#include "plan/errors.h"
#include "plan/signature.h"

#define BLOCK_BYTES 64u /* of SHA-256 */

void firn_hmac_forget(void *secret, size_t bytes) {
    volatile uint8_t *at = secret;
    for (size_t i = 0; i < bytes; i++)
        at[i] = 0;
}

/* Computes SHA-256 of the key, filled up with zeros to a block and with each byte changed by `pad`, and then the
 * bytes. */
static int padded_hash(const uint8_t key[FIRN_HMAC_BYTES], uint8_t pad, const void *bytes, size_t count,
                       uint8_t digest[FIRN_HMAC_BYTES]) {
    uint8_t block[BLOCK_BYTES];
    firn_sha256 hash;
    memset(block, pad, sizeof block);
    for (size_t i = 0; i < FIRN_HMAC_BYTES; i++)
        block[i] ^= key[i];
    int status = firn_sha256_begin(&hash);
    if (status == FIRN_OK)
        status = firn_sha256_update(&hash, block, sizeof block);
    if (status == FIRN_OK)
        status = firn_sha256_update(&hash, bytes, count);
    if (status == FIRN_OK)
        status = firn_sha256_end(&hash, digest);
    firn_hmac_forget(block, sizeof block);
    firn_hmac_forget(&hash, sizeof hash);
    return status;
}

int firn_hmac(const uint8_t key[FIRN_HMAC_BYTES], const void *bytes, size_t count, uint8_t code[FIRN_HMAC_BYTES]) {
    uint8_t inner[FIRN_HMAC_BYTES];
    int status = padded_hash(key, 0x36, bytes, count, inner);
    if (status == FIRN_OK)
        status = padded_hash(key, 0x5c, inner, sizeof inner, code);
    firn_hmac_forget(inner, sizeof inner);
    return status;
}

bool firn_hmac_equal(const uint8_t a[FIRN_HMAC_BYTES], const uint8_t b[FIRN_HMAC_BYTES]) {
    uint8_t differs = 0;
    for (size_t i = 0; i < FIRN_HMAC_BYTES; i++)
        differs |= (uint8_t)(a[i] ^ b[i]);
    return differs == 0;
}
