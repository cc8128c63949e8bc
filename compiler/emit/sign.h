/* Keys and signing. Only sign.c calls the mbedTLS that signs; plans are checked with other code of it, behind
 * plan/signature.h. A signature is ECDSA on P-256, raw r||s, deterministic (RFC 6979), so that plans are reproducible
 * byte for byte. */
#ifndef FIRNC_SIGN_H
#define FIRNC_SIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/files.h"
#include "plan/signature.h"

/* A private key with its public key. The caller wipes it after use with firnc_wipe. */
typedef struct firnc_key {
    uint8_t secret[32];
    uint8_t public_key[FIRN_PUBLIC_KEY_BYTES];
} firnc_key;

/* Creates a random key. This and the functions below return false after one message, unless stated otherwise. */
bool firnc_key_generate(firnc_key *key);

/* Encodes both keys as PEM, the private one as "EC PRIVATE KEY" (SEC 1). A zero byte that count excludes ends each
 * text. */
bool firnc_key_encode(const firnc_key *key, firnc_bytes *private_pem, firnc_bytes *public_pem);

/* Reads a private key in PEM or DER, without a password. */
bool firnc_key_read(const char *file, firnc_key *key);

/* Reads a public key in PEM ("PUBLIC KEY"), the form that keygen writes and firn reads. */
bool firnc_public_key_read(const char *file, uint8_t public_key[FIRN_PUBLIC_KEY_BYTES]);

typedef enum firnc_key_kind {
    FIRNC_KEY_SECRET, /* signs plans */
    FIRNC_KEY_PUBLIC, /* verifies plans */
    FIRNC_KEY_DEVICE  /* 32 bytes that authenticate the checkpoints of a device (firn --device-key); also a secret */
} firnc_key_kind;

/* What a file holds that Firn takes as a key, without its secret. */
typedef struct firnc_key_identity {
    firnc_key_kind kind;
    bool is_der;                               /* in place of PEM; of the first two kinds */
    uint8_t public_key[FIRN_PUBLIC_KEY_BYTES]; /* of these; zeros for a device key */
} firnc_key_identity;

/* Finds out which key a file holds. A message about a file without one says what it holds, and never a byte of it. */
bool firnc_key_identify(const char *file, firnc_key_identity *identity);

void firnc_wipe(void *bytes, uint64_t count);

/* Signs a digest, then checks the signature with the code that devices use. */
bool firnc_sign(const firnc_key *key, const uint8_t digest[32], uint8_t signature[64]);

/* Converts a signature made elsewhere, 64 raw bytes or DER, to raw bytes. False without a message if it is neither. */
bool firnc_signature_decode(const firnc_bytes *bytes, uint8_t signature[64]);

#endif
