/* Encoding and decoding of checkpoint records (record.h). Byte-wise, so that neither alignment nor byte order matters.
 * Whoever calls has read the bytes; nothing here may look beyond the length that it was given. */
#include "runtime/record.h"

#include <string.h>

#include "plan/errors.h"

enum {
    AT_MAGIC = 0,
    AT_VERSION = 8,
    AT_SEQUENCE = 12,
    AT_DIRECTORY_BYTES = 16,
    AT_STATE_BYTES = 24,
    AT_GLOBAL_STEP = 32,
    AT_RUN_HASH = 40,
    AT_MODEL_HASH = 72,
    AT_DIGEST = 104,
    AT_RESERVED = 136
};

static const uint8_t magic[8] = {'F', 'I', 'R', 'N', 'C', 'K', 'P', 'T'};
static const uint8_t commit[FIRN_RECORD_COMMIT_BYTES] = {'F', 'I', 'R', 'N', '-', 'C', 'O', 'M',
                                                         'M', 'I', 'T', 'T', 'E', 'D', 0,   0};

static void put32(uint8_t *bytes, uint32_t value) {
    for (uint32_t i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

static void put64(uint8_t *bytes, uint64_t value) {
    put32(bytes, (uint32_t)value);
    put32(bytes + 4, (uint32_t)(value >> 32));
}

static uint32_t get32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint64_t get64(const uint8_t *bytes) {
    return get32(bytes) | (uint64_t)get32(bytes + 4) << 32;
}

void firn_record_encode(const firn_record *record, uint8_t bytes[FIRN_RECORD_HEADER_BYTES]) {
    memset(bytes, 0, FIRN_RECORD_HEADER_BYTES);
    memcpy(bytes + AT_MAGIC, magic, sizeof magic);
    put32(bytes + AT_VERSION, record->version);
    put32(bytes + AT_SEQUENCE, record->sequence);
    put64(bytes + AT_DIRECTORY_BYTES, record->directory_bytes);
    put64(bytes + AT_STATE_BYTES, record->state_bytes);
    put64(bytes + AT_GLOBAL_STEP, record->global_step);
    memcpy(bytes + AT_RUN_HASH, record->run_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_MODEL_HASH, record->model_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_DIGEST, record->digest, FIRN_HASH_BYTES);
}

int firn_record_decode(firn_record *record, const uint8_t bytes[FIRN_RECORD_HEADER_BYTES]) {
    memset(record, 0, sizeof *record);
    if (memcmp(bytes + AT_MAGIC, magic, sizeof magic) != 0)
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    if (get32(bytes + AT_VERSION) != FIRN_RECORD_VERSION)
        return FIRN_ERROR_CHECKPOINT_VERSION;
    for (uint32_t i = AT_RESERVED; i < FIRN_RECORD_HEADER_BYTES; i++)
        if (bytes[i] != 0)
            return FIRN_ERROR_CHECKPOINT_DAMAGED;
    record->version = get32(bytes + AT_VERSION);
    record->sequence = get32(bytes + AT_SEQUENCE);
    record->directory_bytes = get64(bytes + AT_DIRECTORY_BYTES);
    record->state_bytes = get64(bytes + AT_STATE_BYTES);
    record->global_step = get64(bytes + AT_GLOBAL_STEP);
    memcpy(record->run_hash, bytes + AT_RUN_HASH, FIRN_HASH_BYTES);
    memcpy(record->model_hash, bytes + AT_MODEL_HASH, FIRN_HASH_BYTES);
    memcpy(record->digest, bytes + AT_DIGEST, FIRN_HASH_BYTES);
    return FIRN_OK;
}

uint32_t firn_record_entry_encode(const firn_record_entry *entry, uint8_t bytes[FIRN_RECORD_ENTRY_MAX]) {
    uint32_t at = 0;
    put32(bytes, entry->name_length);
    at += 4;
    memcpy(bytes + at, entry->name, entry->name_length);
    at += entry->name_length;
    bytes[at++] = entry->type;
    bytes[at++] = entry->role;
    bytes[at++] = entry->rank;
    for (uint32_t i = 0; i < entry->rank; i++, at += 4)
        put32(bytes + at, entry->dims[i]);
    put64(bytes + at, entry->offset);
    return at + 8;
}

uint32_t firn_record_entry_decode(firn_record_entry *entry, const uint8_t *bytes, uint64_t available) {
    memset(entry, 0, sizeof *entry);
    if (available < 4)
        return 0;
    uint32_t length = get32(bytes);
    if (length == 0 || length > FIRN_RECORD_NAME_MAX || available - 4 < length || available - 4 - length < 3)
        return 0;
    uint32_t at = 4 + length;
    entry->name = (const char *)bytes + 4;
    entry->name_length = length;
    entry->type = bytes[at];
    entry->role = bytes[at + 1];
    entry->rank = bytes[at + 2];
    at += 3;
    if (firn_type_bytes(entry->type) == 0 || entry->rank == 0 || entry->rank > FIRN_RANK_MAX ||
        available - at < 4u * entry->rank + 8u)
        return 0;
    for (uint32_t i = 0; i < entry->rank; i++, at += 4) {
        entry->dims[i] = get32(bytes + at);
        if (entry->dims[i] == 0)
            return 0;
    }
    entry->offset = get64(bytes + at);
    return at + 8;
}

void firn_record_commit(uint8_t bytes[FIRN_RECORD_COMMIT_BYTES]) {
    memcpy(bytes, commit, sizeof commit);
}
