/* Encodes and decodes checkpoint records (record.h) byte by byte, so that neither alignment nor byte order matters. The
 * caller has read the bytes; no function may read beyond the length that it was given. */
#include "plan/checkpoint/record.h"

#include <string.h>

#include "plan/bytes.h"
#include "plan/checkpoint/hmac.h"
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
    AT_PREPROCESSING_HASH = 136,
    AT_SPLIT_HASH = 168,
    AT_DATA_HASH = 200,
    AT_ORIGIN_HASH = 232,
    AT_CODE = 264,
    AT_REGION_COUNT = 296,
    AT_REGION_KINDS = 300,
    AT_REGION_BYTES = 320,
    AT_COUNTER = 448,
    AT_COUNTED = 452,
    AT_ERASES = 456,
    AT_RESERVED = 464
};

static const uint8_t magic[8] = {'F', 'I', 'R', 'N', 'C', 'K', 'P', 'T'};
static const uint8_t commit[FIRN_RECORD_COMMIT_BYTES] = {'F', 'I', 'R', 'N', '-', 'C', 'O', 'M',
                                                         'M', 'I', 'T', 'T', 'E', 'D', 0,   0};

uint64_t firn_record_directory_bytes(firn_fb_plan plan) {
    uint64_t bytes = 4;
    for (uint32_t i = 0; i < firn_fb_plan_state_tensors(plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        bytes += FIRN_RECORD_ENTRY_BYTES(firn_fb_tensor_name_length(tensor), firn_fb_tensor_dims_count(tensor));
    }
    return firn_round_up(bytes, 16);
}

void firn_record_set_regions(firn_record *record, const firn_header *header) {
    record->region_count = 0;
    for (uint32_t i = 0; i < header->region_count; i++) {
        if (!firn_region_is_state(header->region_kinds[i]))
            continue;
        record->region_kinds[record->region_count] = header->region_kinds[i];
        record->region_bytes[record->region_count++] = header->region_bytes[i];
    }
    record->state_bytes = firn_record_region_offset(record, record->region_count);
}

uint64_t firn_record_region_offset(const firn_record *record, uint32_t region) {
    uint64_t offset = 0;
    for (uint32_t i = 0; i < region; i++)
        offset += firn_round_up(record->region_bytes[i], 16);
    return offset;
}

uint32_t firn_record_find_region(const firn_record *record, const firn_header *header, uint32_t region) {
    return firn_region_find(header, region, record->region_kinds, record->region_bytes, record->region_count);
}

uint64_t firn_record_commit_offset(uint64_t directory_bytes, uint64_t state_bytes, uint32_t program_unit) {
    return firn_round_up(FIRN_RECORD_HEADER_BYTES + directory_bytes + state_bytes, program_unit);
}

uint32_t firn_record_commit_bytes(uint32_t program_unit) {
    return program_unit > FIRN_RECORD_COMMIT_BYTES ? program_unit : FIRN_RECORD_COMMIT_BYTES;
}

void firn_record_encode(const firn_record *record, uint8_t bytes[FIRN_RECORD_HEADER_BYTES]) {
    memset(bytes, 0, FIRN_RECORD_HEADER_BYTES);
    memcpy(bytes + AT_MAGIC, magic, sizeof magic);
    firn_store32(bytes + AT_VERSION, record->version);
    firn_store32(bytes + AT_SEQUENCE, record->sequence);
    firn_store64(bytes + AT_DIRECTORY_BYTES, record->directory_bytes);
    firn_store64(bytes + AT_STATE_BYTES, record->state_bytes);
    firn_store64(bytes + AT_GLOBAL_STEP, record->global_step);
    memcpy(bytes + AT_RUN_HASH, record->run_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_MODEL_HASH, record->model_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_DIGEST, record->digest, FIRN_HASH_BYTES);
    memcpy(bytes + AT_PREPROCESSING_HASH, record->preprocessing_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_SPLIT_HASH, record->split_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_DATA_HASH, record->data_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_ORIGIN_HASH, record->origin_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_CODE, record->code, FIRN_HASH_BYTES);
    firn_store32(bytes + AT_COUNTER, record->counter);
    firn_store32(bytes + AT_COUNTED, record->counted);
    for (uint32_t i = 0; i < FIRN_RECORD_SLOTS_MAX; i++)
        firn_store32(bytes + AT_ERASES + (size_t)4 * i, record->erases[i]);
    firn_store32(bytes + AT_REGION_COUNT, record->region_count);
    for (uint32_t i = 0; i < record->region_count; i++) {
        bytes[AT_REGION_KINDS + i] = record->region_kinds[i];
        firn_store64(bytes + AT_REGION_BYTES + (size_t)8 * i, record->region_bytes[i]);
    }
}

void firn_record_encode_hashed(const firn_record *record, uint8_t bytes[FIRN_RECORD_HEADER_BYTES]) {
    firn_record_encode(record, bytes);
    memset(bytes + AT_DIGEST, 0, FIRN_HASH_BYTES);
    memset(bytes + AT_CODE, 0, FIRN_HASH_BYTES);
}

int firn_record_code(const firn_record *record, const uint8_t device_key[FIRN_HASH_BYTES],
                     uint8_t code[FIRN_HASH_BYTES]) {
    static const char purpose[] = "firn checkpoint";
    uint8_t key[FIRN_HMAC_BYTES], bytes[FIRN_RECORD_HEADER_BYTES];
    firn_record_encode(record, bytes);
    memset(bytes + AT_CODE, 0, FIRN_HASH_BYTES);
    int status = firn_hmac(device_key, purpose, sizeof purpose - 1, key);
    if (status == FIRN_OK)
        status = firn_hmac(key, bytes, sizeof bytes, code);
    firn_hmac_forget(key, sizeof key);
    return status;
}

int firn_record_authenticate(const firn_record *record, const uint8_t *device_key) {
    uint8_t code[FIRN_HASH_BYTES] = {0};
    int status = device_key != NULL ? firn_record_code(record, device_key, code) : FIRN_OK;
    if (status == FIRN_OK && !firn_hmac_equal(code, record->code))
        status = FIRN_ERROR_CHECKPOINT_AUTHENTICATION;
    firn_hmac_forget(code, sizeof code); /* of a forged record it would be what the forger looks for */
    return status;
}

bool firn_record_is_newer(uint32_t a, uint32_t b) {
    const uint32_t ahead = a - b;
    return ahead != 0 && ahead < UINT32_C(1) << 31;
}

/* Reads the regions: known kinds of state, by ascending kind. */
static bool read_regions(firn_record *record, const uint8_t *bytes) {
    uint32_t count = firn_load32(bytes + AT_REGION_COUNT);
    if (count == 0 || count > FIRN_REGIONS_MAX || !firn_is_zero(bytes, AT_REGION_KINDS + count, AT_REGION_BYTES) ||
        !firn_is_zero(bytes, AT_REGION_BYTES + 8 * count, AT_COUNTER) ||
        !firn_is_zero(bytes, AT_RESERVED, FIRN_RECORD_HEADER_BYTES))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t kind = record->region_kinds[i] = bytes[AT_REGION_KINDS + i];
        uint64_t size = record->region_bytes[i] = firn_load64(bytes + AT_REGION_BYTES + (size_t)8 * i);
        if (!firn_region_is_state(kind) || size == 0 || size > FIRN_REGION_BYTES_MAX ||
            (i > 0 && kind < record->region_kinds[i - 1]))
            return false;
    }
    record->region_count = count;
    return true;
}

int firn_record_decode(firn_record *record, const uint8_t bytes[FIRN_RECORD_HEADER_BYTES]) {
    memset(record, 0, sizeof *record);
    if (memcmp(bytes + AT_MAGIC, magic, sizeof magic) != 0)
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    if (firn_load32(bytes + AT_VERSION) != FIRN_RECORD_VERSION)
        return FIRN_ERROR_CHECKPOINT_VERSION;
    if (!read_regions(record, bytes))
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    record->version = firn_load32(bytes + AT_VERSION);
    record->sequence = firn_load32(bytes + AT_SEQUENCE);
    record->directory_bytes = firn_load64(bytes + AT_DIRECTORY_BYTES);
    record->state_bytes = firn_load64(bytes + AT_STATE_BYTES);
    record->global_step = firn_load64(bytes + AT_GLOBAL_STEP);
    memcpy(record->run_hash, bytes + AT_RUN_HASH, FIRN_HASH_BYTES);
    memcpy(record->model_hash, bytes + AT_MODEL_HASH, FIRN_HASH_BYTES);
    memcpy(record->digest, bytes + AT_DIGEST, FIRN_HASH_BYTES);
    memcpy(record->preprocessing_hash, bytes + AT_PREPROCESSING_HASH, FIRN_HASH_BYTES);
    memcpy(record->split_hash, bytes + AT_SPLIT_HASH, FIRN_HASH_BYTES);
    memcpy(record->data_hash, bytes + AT_DATA_HASH, FIRN_HASH_BYTES);
    memcpy(record->origin_hash, bytes + AT_ORIGIN_HASH, FIRN_HASH_BYTES);
    memcpy(record->code, bytes + AT_CODE, FIRN_HASH_BYTES);
    record->counter = firn_load32(bytes + AT_COUNTER);
    record->counted = firn_load32(bytes + AT_COUNTED);
    for (uint32_t i = 0; i < FIRN_RECORD_SLOTS_MAX; i++)
        record->erases[i] = firn_load32(bytes + AT_ERASES + (size_t)4 * i);
    return record->state_bytes == firn_record_region_offset(record, record->region_count)
               ? FIRN_OK
               : FIRN_ERROR_CHECKPOINT_DAMAGED;
}

uint32_t firn_record_entry_encode(const firn_record_entry *entry, uint8_t bytes[FIRN_RECORD_ENTRY_MAX]) {
    uint32_t at = 0;
    firn_store32(bytes, entry->name_length);
    at += 4;
    memcpy(bytes + at, entry->name, entry->name_length);
    at += entry->name_length;
    bytes[at++] = entry->type;
    bytes[at++] = entry->role;
    bytes[at++] = entry->rank;
    for (uint32_t i = 0; i < entry->rank; i++, at += 4)
        firn_store32(bytes + at, entry->dims[i]);
    firn_store64(bytes + at, entry->offset);
    return at + 8;
}

uint32_t firn_record_entry_decode(firn_record_entry *entry, const uint8_t *bytes, uint64_t available) {
    memset(entry, 0, sizeof *entry);
    if (available < 4)
        return 0;
    uint32_t length = firn_load32(bytes);
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
        entry->dims[i] = firn_load32(bytes + at);
        if (entry->dims[i] == 0)
            return 0;
    }
    entry->offset = firn_load64(bytes + at);
    return at + 8;
}

void firn_record_commit(uint8_t bytes[FIRN_RECORD_COMMIT_BYTES]) {
    memcpy(bytes, commit, sizeof commit);
}

/* Returns true if all bytes are those of erased flash, and also if there are none. */
static bool is_erased(const uint8_t *bytes, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        if (bytes[i] != 0xff)
            return false;
    return true;
}

int firn_record_find_commit(const uint8_t *bytes, uint64_t count, uint64_t end, uint64_t *behind) {
    *behind = 0;
    for (uint32_t unit = 1; unit <= FIRN_RECORD_UNIT_MAX; unit *= 2) {
        const uint64_t at = firn_round_up(end, unit), after = at + sizeof commit;
        if (after > count || memcmp(bytes + at, commit, sizeof commit) != 0)
            continue;
        if (count - at == firn_record_commit_bytes(unit) || is_erased(bytes + after, count - after))
            return FIRN_OK;
        *behind = after;
    }
    return FIRN_ERROR_CHECKPOINT_DAMAGED;
}
