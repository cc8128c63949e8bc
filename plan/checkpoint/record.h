/* The bytes of a checkpoint record: header, directory entry, commit unit (plan/FORMAT.md, "Checkpoint"), and their
 * lengths. Functions read and write single pieces in memory; storage is not handled here. Tools without a plan use this
 * file too. Freestanding. */
#ifndef FIRN_PLAN_RECORD_H
#define FIRN_PLAN_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/container.h"
#include "plan/generated/reader.h"
#include "plan/ops.h"

/* A record consists of the header, the directory, the state, zeros up to the next program unit, and the commit unit.
 * The directory is a u32 count, one entry for each state tensor in the order of their names, and zeros to a multiple of
 * 16. The state is the regions that the header lists, one after the other, each with zeros to a multiple of 16. */
#define FIRN_RECORD_MAGIC        "FIRNCKPT" /* the first bytes of a record */
#define FIRN_RECORD_MAGIC_BYTES  8u
#define FIRN_RECORD_HEADER_BYTES 512u
#define FIRN_RECORD_COMMIT_BYTES 16u
#define FIRN_RECORD_UNIT_MAX     256u
#define FIRN_RECORD_VERSION      2u
#define FIRN_RECORD_NAME_MAX     200u
#define FIRN_RECORD_SLOTS_MAX    2u
/* Bytes of one entry. */
#define FIRN_RECORD_ENTRY_BYTES(name_length, rank) (4u + (name_length) + 3u + 4u * (rank) + 8u)
#define FIRN_RECORD_ENTRY_MAX                      FIRN_RECORD_ENTRY_BYTES(FIRN_RECORD_NAME_MAX, FIRN_RANK_MAX)

typedef struct firn_record {
    uint32_t version;
    uint32_t sequence; /* one more than that of the newest record in the storage; see firn_record_is_newer */
    uint64_t directory_bytes, state_bytes;
    uint64_t global_step;
    uint8_t run_hash[FIRN_HASH_BYTES];
    uint8_t model_hash[FIRN_HASH_BYTES];
    uint8_t digest[FIRN_HASH_BYTES]; /* SHA-256 of the header with zeros here and in `code`, directory and state */
    uint8_t preprocessing_hash[FIRN_HASH_BYTES];
    uint8_t split_hash[FIRN_HASH_BYTES];
    uint8_t data_hash[FIRN_HASH_BYTES];     /* zeros: not known */
    uint8_t origin_hash[FIRN_HASH_BYTES];   /* run hash of the run that this run continued; zeros: none */
    uint8_t code[FIRN_HASH_BYTES];          /* firn_record_code; zeros: written without a device key */
    uint32_t counter;                       /* value of the checkpoint counter that it was written for; 0: none */
    uint32_t counted;                       /* records written for that value, this one included; 0: no counter */
    uint32_t erases[FIRN_RECORD_SLOTS_MAX]; /* of each slot, this record's included; 0: not counted */
    uint32_t region_count;
    uint8_t region_kinds[FIRN_REGIONS_MAX]; /* RegionKind */
    uint64_t region_bytes[FIRN_REGIONS_MAX];
} firn_record;

/* The directory entry of one state tensor. name points into the bytes from which the entry was read; it is not
 * terminated. */
typedef struct firn_record_entry {
    const char *name;
    uint32_t name_length;
    uint8_t type, role, rank;
    uint32_t dims[FIRN_RANK_MAX];
    uint64_t offset; /* from the start of the state part, in bytes */
} firn_record_entry;

/* Size of a plan's directory in bytes. */
uint64_t firn_record_directory_bytes(firn_fb_plan plan);

/* Fills in the regions of the state from the header of a plan, and state_bytes. */
void firn_record_set_regions(firn_record *record, const firn_header *header);

/* Where a region begins in the state part of a record, in bytes. */
uint64_t firn_record_region_offset(const firn_record *record, uint32_t region);

/* The region of a record that corresponds to a region of a plan: the one with the same number among those of its kind.
 * FIRN_REGIONS_MAX if there is none of the same size. */
uint32_t firn_record_find_region(const firn_record *record, const firn_header *header, uint32_t region);

/* Offset of a record's commit unit, and its size: 16 bytes or one program unit, whichever is larger. The sizes must be
 * those of a real directory and state, so that no sum overflows. */
uint64_t firn_record_commit_offset(uint64_t directory_bytes, uint64_t state_bytes, uint32_t program_unit);
uint32_t firn_record_commit_bytes(uint32_t program_unit);

void firn_record_encode(const firn_record *record, uint8_t bytes[FIRN_RECORD_HEADER_BYTES]);

/* Encodes the header as it is hashed: with zeros for the digest and the code. */
void firn_record_encode_hashed(const firn_record *record, uint8_t bytes[FIRN_RECORD_HEADER_BYTES]);

/* Computes the code that authenticates a record whose digest is filled in: an HMAC-SHA-256 over the header, under a key
 * that is derived from the device key and serves nothing else. Returns FIRN_OK or FIRN_ERROR_HASH. */
int firn_record_code(const firn_record *record, const uint8_t device_key[FIRN_HASH_BYTES],
                     uint8_t code[FIRN_HASH_BYTES]) __attribute__((warn_unused_result));

/* Compares a record with a device key, NULL: none. Returns FIRN_OK; CHECKPOINT_AUTHENTICATION if there is a key and the
 * code is not its code, or no key and a code; or FIRN_ERROR_HASH. */
int firn_record_authenticate(const firn_record *record, const uint8_t *device_key) __attribute__((warn_unused_result));

/* Returns true if a record with sequence `a` was written after one with sequence `b`, by serial arithmetic: sequences
 * wrap around at 2^32, and two that are compared lie less than 2^31 apart. */
bool firn_record_is_newer(uint32_t a, uint32_t b);

/* Returns FIRN_OK, CHECKPOINT_DAMAGED (magic, regions, reserved bytes) or CHECKPOINT_VERSION. Checks that the regions
 * make up state_bytes, but no other size. */
int firn_record_decode(firn_record *record, const uint8_t bytes[FIRN_RECORD_HEADER_BYTES])
    __attribute__((warn_unused_result));

/* Writes an entry and returns its size. */
uint32_t firn_record_entry_encode(const firn_record_entry *entry, uint8_t bytes[FIRN_RECORD_ENTRY_MAX]);

/* Reads the entry at the start of `available` bytes and returns its size. Returns 0 if the entry is malformed: it
 * exceeds the bytes, its name is empty, its type is unknown, or its rank or an extent is out of range. */
uint32_t firn_record_entry_decode(firn_record_entry *entry, const uint8_t *bytes, uint64_t available);

/* Writes the 16 bytes that make a record valid. */
void firn_record_commit(uint8_t bytes[FIRN_RECORD_COMMIT_BYTES]);

/* Looks for the commit unit of a record in a file of `count` bytes, for programs that do not know the program unit of
 * the storage. `end` is where the state ends. The commit unit must end the file, or have only erased flash (0xff)
 * behind it. Returns FIRN_OK or CHECKPOINT_DAMAGED; then *behind is the end of a commit unit that has other bytes
 * behind it, or 0.
 */
int firn_record_find_commit(const uint8_t *bytes, uint64_t count, uint64_t end, uint64_t *behind)
    __attribute__((warn_unused_result));

#endif
