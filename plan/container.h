/* The container: a header of 256 bytes, the payload (FlatBuffers, then constants), the signature. FORMAT.md defines
 * every byte. Keys and the meaning of the payload are not handled here. Freestanding. */
#ifndef FIRN_PLAN_CONTAINER_H
#define FIRN_PLAN_CONTAINER_H

#include <stdbool.h>
#include <stdint.h>

#define FIRN_HEADER_BYTES      256u
#define FIRN_SIGNATURE_BYTES   64u
#define FIRN_CONTAINER_VERSION 1u
#define FIRN_PAYLOAD_ALIGNMENT 64u
#define FIRN_HASH_BYTES        32u

/* A change that gives an existing op another meaning raises it; a new code does not. */
#define FIRN_NUMERICS_VERSION 1u

enum { FIRN_ALGORITHM_NONE = 0, FIRN_ALGORITHM_ECDSA_P256 = 1 };
enum { FIRN_MODE_TRAIN = 0, FIRN_MODE_EVAL = 1 };

/* A decoded header. All sizes are in bytes. */
typedef struct firn_header {
    uint32_t container_version;
    uint64_t total_bytes;      /* of the file, including the signature */
    uint32_t algorithm;        /* FIRN_ALGORITHM_*; none: written by `compile --unsigned`, and never run */
    uint32_t signature_bytes;  /* 64 for ECDSA P-256, 0 for none */
    uint32_t mode;             /* FIRN_MODE_* */
    uint32_t image_id;         /* train 0, eval 1 */
    uint32_t plan_version;     /* set by the user, for reports */
    uint32_t security_counter; /* refused if lower than the device's counter */
    uint8_t vendor[16], class_id[16];
    uint8_t schema_hash[FIRN_HASH_BYTES]; /* SHA-256 of the canonical listing of the schema */
    uint8_t key_hash[FIRN_HASH_BYTES];    /* SHA-256(0x04 X Y) of the public key */
    uint8_t run_hash[FIRN_HASH_BYTES];    /* SHA-256 of the payload */
    uint64_t state_bytes;                 /* size of the state block */
    uint64_t arena_bytes;                 /* of the arena block; at least pool_bytes */
    uint64_t pool_bytes;                  /* of the verification pool, lent from the arena */
    uint64_t flatbuffers_bytes;           /* length of the FlatBuffers part; it starts at FIRN_HEADER_BYTES */
    uint64_t constants_offset;            /* from the start of the file; a multiple of 64 */
    uint64_t constants_bytes;             /* may be 0 */
    uint32_t ops;                         /* in all phases; determines how much memory preparing them takes */
} firn_header;

/* Whether a file begins with the magic bytes of a plan. Says nothing about the rest of the file. */
bool firn_is_plan(const uint8_t *file, uint64_t file_bytes);

/* Writes the 256 bytes of a header; reserved bytes are zero. */
void firn_header_encode(const firn_header *header, uint8_t bytes[FIRN_HEADER_BYTES]);

/* Decodes a header and checks its magic, versions, lengths, spans and reserved bytes against file_bytes, the length of
 * the whole file. The header is still untrusted, because the signature has not been checked. Returns FIRN_OK or
 * TRUNCATED, MAGIC, CONTAINER_VERSION, HEADER, TRAILING_BYTES, UNSIGNED, ALGORITHM, PLAN_TOO_LARGE; on an error *header
 * is all zero. Only firn_header_decode_unsigned (for firnc sign) accepts an unsigned plan, and it accepts no other. */
int firn_header_decode(firn_header *header, const uint8_t *file, uint64_t file_bytes)
    __attribute__((warn_unused_result));
int firn_header_decode_unsigned(firn_header *header, const uint8_t *file, uint64_t file_bytes)
    __attribute__((warn_unused_result));

#endif
