/* Keys and signing: the only door to Debian's mbedTLS, as plan/signature.h is the only one to the checker's own. A
 * signature is ECDSA on P-256, raw r||s, deterministic (RFC 6979), so that a plan is the same byte for byte. */
#ifndef FIRNC_SIGN_H
#define FIRNC_SIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/files.h"
#include "plan/signature.h"

/* A private key with its public one. Wipe it after use. */
typedef struct firnc_key {
    uint8_t secret[32];
    uint8_t public_key[FIRN_PUBLIC_KEY_BYTES];
} firnc_key;

/* Every function returns false after one line on stderr. */
bool firnc_key_generate(firnc_key *key);

/* PEM, with a zero byte behind it that is not counted. Private: "EC PRIVATE KEY" (SEC 1). */
bool firnc_key_encode(const firnc_key *key, firnc_bytes *private_pem, firnc_bytes *public_pem);

/* A private key in PEM or DER, without a password. */
bool firnc_key_read(const char *file, firnc_key *key);

/* A public key in PEM ("PUBLIC KEY"), as keygen writes it and firn reads it. */
bool firnc_public_key_read(const char *file, uint8_t public_key[FIRN_PUBLIC_KEY_BYTES]);

void firnc_wipe(void *bytes, uint64_t count);

/* Signs and checks the signature with the checker that devices use. */
bool firnc_sign(const firnc_key *key, const uint8_t digest[32], uint8_t signature[64]);

/* A signature that was made elsewhere: 64 raw bytes, or DER, into raw. False without a word when it is neither. */
bool firnc_signature_decode(const firnc_bytes *bytes, uint8_t signature[64]);

#endif
