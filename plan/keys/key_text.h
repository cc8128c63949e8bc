/* Reads the text of public keys, and describes files that hold no key of the wanted kind, for messages of firnc and
 * firn. Firn knows one kind of key, ECDSA on P-256, and one form of a public key, PEM as firnc keygen writes it. Host
 * only. */
#ifndef FIRN_PLAN_KEYS_KEY_TEXT_H
#define FIRN_PLAN_KEYS_KEY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/signature.h"

#define FIRN_KEY_FILE_MAX 16384 /* bytes of a file that may hold a key */

/* Reads a text that holds one public key and nothing else. */
bool firn_key_text_parse(uint8_t key[FIRN_PUBLIC_KEY_BYTES], const char *text, size_t length);

/* What a file holds: `form` followed by `of`, such as "a public key" and " of the curve P-384". The remedy is a
 * sentence for the user, in which FILE stands for the file that was given. */
typedef struct firn_key_text {
    const char *form, *of, *remedy;
} firn_key_text;

/* Describes the bytes of a file where a private or a public key was wanted and could not be read. */
firn_key_text firn_key_text_of(const void *file, size_t count, bool is_private);

#define FIRN_KEY_WANTED_PUBLIC  "the public key of a P-256 pair in PEM is wanted"
#define FIRN_KEY_WANTED_PRIVATE "the secret key of a P-256 pair in PEM, without a password, is wanted"

#endif
