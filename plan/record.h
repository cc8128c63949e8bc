/* The bytes of a checkpoint record: header, directory entry, commit unit (plan/FORMAT.md, "Checkpoint"), and how many
 * there are. It reads and writes single pieces of memory and knows nothing of storage; tools without a plan use it too.
 * Freestanding. */
#ifndef FIRN_PLAN_RECORD_H
#define FIRN_PLAN_RECORD_H

#include <stdint.h>

#include "plan/container.h"
#include "plan/generated/reader.h"
#include "plan/ops.h"

/* A record is header, directory, state, zeros to the next program unit, commit unit. The directory is u32 count, one
 * entry for each state tensor in the order of their names, zeros to a multiple of 16. */
#define FIRN_RECORD_HEADER_BYTES 256u
#define FIRN_RECORD_COMMIT_BYTES 16u
#define FIRN_RECORD_UNIT_MAX     256u
#define FIRN_RECORD_VERSION      1u
#define FIRN_RECORD_NAME_MAX     200u
/* Bytes of one entry. */
#define FIRN_RECORD_ENTRY_BYTES(name_length, rank) (4u + (name_length) + 3u + 4u * (rank) + 8u)
#define FIRN_RECORD_ENTRY_MAX                      FIRN_RECORD_ENTRY_BYTES(FIRN_RECORD_NAME_MAX, FIRN_RANK_MAX)

typedef struct firn_record {
    uint32_t version;
    uint32_t sequence; /* one more with every record of a run: which of two is younger. Nothing depends on it yet */
    uint64_t directory_bytes, state_bytes;
    uint64_t global_step;
    uint8_t run_hash[FIRN_HASH_BYTES];
    uint8_t model_hash[FIRN_HASH_BYTES];
    uint8_t digest[FIRN_HASH_BYTES]; /* SHA-256 of the header with zeros in this place, the directory and the state */
} firn_record;

/* One state tensor. name points into the bytes that the entry was read from; it is not terminated. */
typedef struct firn_record_entry {
    const char *name;
    uint32_t name_length;
    uint8_t type, role, rank;
    uint32_t dims[FIRN_RANK_MAX];
    uint64_t offset; /* from the start of the state */
} firn_record_entry;

/* The length of a plan's directory. */
uint64_t firn_record_directory_bytes(firn_fb_plan plan);

/* Where the commit unit of a record begins, and its length: 16 bytes, or one program unit where that is more. The
 * lengths are those of a real state and directory, so that no sum overflows. */
uint64_t firn_record_commit_offset(uint64_t directory_bytes, uint64_t state_bytes, uint32_t program_unit);
uint32_t firn_record_commit_bytes(uint32_t program_unit);

void firn_record_encode(const firn_record *record, uint8_t bytes[FIRN_RECORD_HEADER_BYTES]);

/* Returns FIRN_OK, CHECKPOINT_DAMAGED (magic, reserved bytes) or CHECKPOINT_VERSION. Lengths are not judged. */
int firn_record_decode(firn_record *record, const uint8_t bytes[FIRN_RECORD_HEADER_BYTES])
    __attribute__((warn_unused_result));

/* Writes an entry and returns its length. */
uint32_t firn_record_entry_encode(const firn_record_entry *entry, uint8_t bytes[FIRN_RECORD_ENTRY_MAX]);

/* Reads the entry at the start of `available` bytes and returns its length, or 0 when it is malformed: a length that
 * leaves the bytes, an empty name, an unknown type, a rank or an extent out of range. */
uint32_t firn_record_entry_decode(firn_record_entry *entry, const uint8_t *bytes, uint64_t available);

/* The 16 bytes that make a record valid. */
void firn_record_commit(uint8_t bytes[FIRN_RECORD_COMMIT_BYTES]);

#endif
