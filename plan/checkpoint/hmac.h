/* HMAC-SHA-256 (RFC 2104) over signature.h's SHA-256, for keys of 32 bytes. Freestanding. */
#ifndef FIRN_PLAN_HMAC_H
#define FIRN_PLAN_HMAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIRN_HMAC_BYTES 32u

/* Computes the code of `count` bytes. Returns FIRN_OK or FIRN_ERROR_HASH. */
int firn_hmac(const uint8_t key[FIRN_HMAC_BYTES], const void *bytes, size_t count, uint8_t code[FIRN_HMAC_BYTES])
    __attribute__((warn_unused_result));

/* Compares two codes in a time that does not depend on where they differ. */
bool firn_hmac_equal(const uint8_t a[FIRN_HMAC_BYTES], const uint8_t b[FIRN_HMAC_BYTES]);

/* Overwrites a secret. Unlike memset, it is not left out where the bytes are not read again. */
void firn_hmac_forget(void *secret, size_t bytes);

#endif
