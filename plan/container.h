/* The container of a plan: a header of 512 bytes, the signature of the header, the payload (FlatBuffers, then
 * constants), the report. The header holds the hashes of payload and report. FORMAT.md defines every byte. Keys and the
 * meaning of the payload are not handled here. Freestanding. */
#ifndef FIRN_PLAN_CONTAINER_H
#define FIRN_PLAN_CONTAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/generated/version.h"

#define FIRN_HEADER_BYTES          512u
#define FIRN_HEADER_TOTAL_BYTES_AT 208u /* where the header has total_bytes */
#define FIRN_SIGNATURE_BYTES       64u
#define FIRN_PAYLOAD_OFFSET        (FIRN_HEADER_BYTES + FIRN_SIGNATURE_BYTES)
#define FIRN_PAYLOAD_ALIGNMENT     64u
#define FIRN_HASH_BYTES            32u
#define FIRN_REGIONS_MAX           16u
#define FIRN_REGION_BYTES_MAX      (UINT64_C(1) << 58) /* the sum of all cannot overflow 64 bits */

/* The version of the format. A runtime runs the plans of its own major version that need at most its own minor version
 * (FORMAT.md, "What may change, and how"). */
#define FIRN_FORMAT_MAJOR 2u /* the minor version follows from the marks in plan.fbs and ops.def */

/* A change that gives an existing op another meaning raises it; a new code does not. */
#define FIRN_NUMERICS_VERSION 1u

enum { FIRN_ALGORITHM_NONE = 0, FIRN_ALGORITHM_ECDSA_P256 = 1 };
enum { FIRN_MODE_TRAIN = 0, FIRN_MODE_EVAL = 1 };

/* Offsets of fields in the header, for who reads its bytes a second time. */
enum {
    FIRN_HEADER_AT_IMAGE_ID = 32,
    FIRN_HEADER_AT_SECURITY_COUNTER = 40,
    FIRN_HEADER_AT_VENDOR = 48,
    FIRN_HEADER_AT_CLASS = 64,
    FIRN_HEADER_AT_KEY_HASH = 112,
    FIRN_HEADER_AT_RUN_HASH = 144
};

/* What a plan has of each thing, over all phases. The memory that an instance needs besides its regions follows from
 * these numbers. */
typedef struct firn_counts {
    uint32_t tensors, state_tensors;
    uint32_t ops;
    uint32_t operands; /* inputs, absent ones included, and outputs */
    uint32_t integers, reals, reductions;
    uint32_t widest; /* operands of the op that has the most of them */
} firn_counts;

/* A decoded header, in the layout of the file from the version on. All sizes are in bytes. What says that only the file
 * has it need not be set to encode a header. */
typedef struct firn_header {
    uint32_t format_major, needs_minor;
    uint32_t header_bytes;     /* only the file */
    uint32_t algorithm;        /* FIRN_ALGORITHM_*; none: written by `compile --unsigned`, and never run */
    uint32_t signature_bytes;  /* only the file */
    uint32_t mode;             /* FIRN_MODE_* */
    uint32_t image_id;         /* set by the user: tells the plans of one device apart */
    uint32_t plan_version;     /* set by the user, for reports */
    uint32_t security_counter; /* refused if lower than the device's counter */
    uint32_t reserved;         /* only the file; zero */
    uint8_t vendor[16], class_id[16];
    uint8_t schema_hash[FIRN_HASH_BYTES]; /* SHA-256 of the canonical listing of the schema it was written with */
    uint8_t key_hash[FIRN_HASH_BYTES];    /* SHA-256(0x04 X Y) of the public key */
    uint8_t run_hash[FIRN_HASH_BYTES];    /* SHA-256 of the payload */
    uint8_t report_hash[FIRN_HASH_BYTES]; /* SHA-256 of the report */
    uint64_t total_bytes;                 /* of the file with its report */
    uint64_t flatbuffers_bytes;           /* length of the FlatBuffers part, which starts at FIRN_PAYLOAD_OFFSET */
    uint64_t constants_offset;            /* from the start of the file; a multiple of 64 */
    uint64_t constants_bytes;             /* may be 0 */
    uint64_t report_bytes;                /* may be 0; the report starts where the constants end */
    firn_counts counts;
    /* The regions, by ascending kind. Each is one block of memory or, of a constant kind, a part of the constants. */
    uint32_t region_count;
    uint8_t region_kinds[FIRN_REGIONS_MAX]; /* RegionKind */
    uint32_t reserved_low;                  /* only the file; zero */
    uint64_t region_bytes[FIRN_REGIONS_MAX];
} firn_header;

/* Whether a file begins with the magic bytes of a plan. Says nothing about the rest of the file. */
bool firn_is_plan(const uint8_t *file, uint64_t file_bytes);

/* The version that a plan of any format version since 2.0 needs. Returns FIRN_OK, TRUNCATED or MAGIC; the version is
 * 0.0 on an error. Nothing is verified. */
int firn_plan_version(const uint8_t *file, uint64_t file_bytes, uint32_t *major, uint32_t *minor)
    __attribute__((warn_unused_result));

/* Whether a region of this kind is state, which a checkpoint holds; whether it is arena; whether it is a part of the
 * constants, for which the caller of the runtime gives no block. */
bool firn_region_is_state(uint8_t kind);
bool firn_region_is_arena(uint8_t kind);
bool firn_region_is_constant(uint8_t kind);

/* The kind without the property of being slow. */
uint8_t firn_region_fast_kind(uint8_t kind);

/* The region of a list, of `count` regions by ascending kind, that corresponds to a region of a plan: the one with the
 * same number among those of its kind. FIRN_REGIONS_MAX if there is none of the same size. */
uint32_t firn_region_find(const firn_header *header, uint32_t region, const uint8_t *kinds, const uint64_t *bytes,
                          uint32_t count);

/* Bytes of all regions of the state. */
uint64_t firn_header_state_bytes(const firn_header *header);

/* Where region i begins in the constants segment, in bytes; i is a region of a constant kind. */
uint64_t firn_header_constant_offset(const firn_header *header, uint32_t i);

/* Where the report begins, in bytes from the start of the file: the end of the payload. */
uint64_t firn_header_payload_end(const firn_header *header);

/* Writes the 512 bytes of a header; reserved bytes are zero. */
void firn_header_encode(const firn_header *header, uint8_t bytes[FIRN_HEADER_BYTES]);

/* Decodes a header and checks its magic, versions, lengths, spans, regions and reserved bytes against file_bytes, the
 * length of the file, which may have been cut off where the report begins. The header is still untrusted, because the
 * signature has not been checked. Returns FIRN_OK or TRUNCATED, MAGIC, FORMAT_VERSION, HEADER, TRAILING_BYTES,
 * UNSIGNED, ALGORITHM, PLAN_TOO_LARGE; on an error *header is all zero. Only firn_header_decode_unsigned (for firnc
 * sign) accepts an unsigned plan, and it accepts no other. */
int firn_header_decode(firn_header *header, const uint8_t *file, uint64_t file_bytes)
    __attribute__((warn_unused_result));
int firn_header_decode_unsigned(firn_header *header, const uint8_t *file, uint64_t file_bytes)
    __attribute__((warn_unused_result));

#endif
