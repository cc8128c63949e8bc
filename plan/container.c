/* The header: decoding from untrusted bytes, and encoding. This file makes all checks of a header that need neither the
 * payload nor the key nor the device; they may not be made anywhere else. */
#include "plan/container.h"

#include <stddef.h>
#include <string.h>

#include "plan/bytes.h"
#include "plan/errors.h"
#include "plan/generated/reader.h"

#define FLATBUFFERS_BYTES_MAX 0x7fffffffu
#define SIZE_LIMIT            (UINT64_C(1) << 62) /* of a part of the file; the sum of two cannot overflow 64 bits */
#define FLATBUFFERS_BYTES_MIN 8u
#define OP_BYTES_MIN          8u /* least bytes of an op in the FlatBuffers part: the offsets of its table and vtable */
#define KINDS                 (FIRN_FB_REGION_KIND_SLOW_CONSTANT + 1u)

/* Offset of each field. */
enum {
    AT_MAGIC = 0,
    AT_FORMAT_MAJOR = 8,
    AT_NEEDS_MINOR = 12,
    AT_HEADER_BYTES = 16,
    AT_ALGORITHM = 20,
    AT_SIGNATURE_BYTES = 24,
    AT_MODE = 28,
    AT_IMAGE_ID = FIRN_HEADER_AT_IMAGE_ID,
    AT_PLAN_VERSION = 36,
    AT_SECURITY_COUNTER = FIRN_HEADER_AT_SECURITY_COUNTER,
    AT_RESERVED = 44,
    AT_VENDOR = FIRN_HEADER_AT_VENDOR,
    AT_CLASS = FIRN_HEADER_AT_CLASS,
    AT_SCHEMA_HASH = 80,
    AT_KEY_HASH = FIRN_HEADER_AT_KEY_HASH,
    AT_RUN_HASH = FIRN_HEADER_AT_RUN_HASH,
    AT_REPORT_HASH = 176,
    AT_TOTAL_BYTES = FIRN_HEADER_TOTAL_BYTES_AT,
    AT_FLATBUFFERS_BYTES = 216,
    AT_CONSTANTS_OFFSET = 224,
    AT_CONSTANTS_BYTES = 232,
    AT_REPORT_BYTES = 240,
    AT_COUNTS = 248, /* eight numbers of 4 bytes, in the order of firn_counts */
    AT_REGION_COUNT = 280,
    AT_REGION_KINDS = 284,
    AT_RESERVED_LOW = 300,
    AT_REGION_BYTES = 304,
    AT_RESERVED_HIGH = 432
};

static const uint8_t magic[8] = {'F', 'I', 'R', 'N', 'P', 'L', 'A', 'N'};

/* --- regions ------------------------------------------------------------------------------------------------------ */

uint8_t firn_region_fast_kind(uint8_t kind) {
    return kind < FIRN_FB_REGION_KIND_SLOW_PARAMETERS ? kind : (uint8_t)(kind - FIRN_FB_REGION_KIND_SLOW_PARAMETERS);
}

bool firn_region_is_state(uint8_t kind) {
    return firn_region_fast_kind(kind) <= FIRN_FB_REGION_KIND_SESSION;
}

bool firn_region_is_arena(uint8_t kind) {
    return firn_region_fast_kind(kind) == FIRN_FB_REGION_KIND_ARENA;
}

bool firn_region_is_constant(uint8_t kind) {
    return firn_region_fast_kind(kind) == FIRN_FB_REGION_KIND_CONSTANT;
}

uint32_t firn_region_find(const firn_header *header, uint32_t region, const uint8_t *kinds, const uint64_t *bytes,
                          uint32_t count) {
    const uint8_t kind = header->region_kinds[region];
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < region; i++)
        wanted += header->region_kinds[i] == kind;
    for (uint32_t i = 0; i < count; i++)
        if (kinds[i] == kind && wanted-- == 0)
            return bytes[i] == header->region_bytes[region] ? i : FIRN_REGIONS_MAX;
    return FIRN_REGIONS_MAX;
}

uint64_t firn_header_state_bytes(const firn_header *header) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < header->region_count; i++)
        bytes += firn_region_is_state(header->region_kinds[i]) ? header->region_bytes[i] : 0;
    return bytes;
}

static uint64_t aligned(uint64_t bytes) {
    return firn_round_up(bytes, FIRN_PAYLOAD_ALIGNMENT);
}

uint64_t firn_header_constant_offset(const firn_header *header, uint32_t i) {
    uint64_t offset = 0;
    for (uint32_t j = 0; j < i; j++)
        offset += firn_region_is_constant(header->region_kinds[j]) ? aligned(header->region_bytes[j]) : 0;
    return offset;
}

uint64_t firn_header_payload_end(const firn_header *header) {
    return header->constants_offset + header->constants_bytes;
}

/* --- encoding ----------------------------------------------------------------------------------------------------- */

bool firn_is_plan(const uint8_t *file, uint64_t file_bytes) {
    return file_bytes >= sizeof magic && memcmp(file + AT_MAGIC, magic, sizeof magic) == 0;
}

void firn_header_encode(const firn_header *header, uint8_t bytes[FIRN_HEADER_BYTES]) {
    const firn_counts *counts = &header->counts;
    const uint32_t numbers[] = {counts->tensors,  counts->state_tensors, counts->ops,        counts->operands,
                                counts->integers, counts->reals,         counts->reductions, counts->widest};
    memset(bytes, 0, FIRN_HEADER_BYTES);
    memcpy(bytes + AT_MAGIC, magic, sizeof magic);
    firn_store32(bytes + AT_FORMAT_MAJOR, header->format_major);
    firn_store32(bytes + AT_NEEDS_MINOR, header->needs_minor);
    firn_store32(bytes + AT_HEADER_BYTES, FIRN_HEADER_BYTES);
    firn_store32(bytes + AT_ALGORITHM, header->algorithm);
    firn_store32(bytes + AT_SIGNATURE_BYTES, FIRN_SIGNATURE_BYTES);
    firn_store32(bytes + AT_MODE, header->mode);
    firn_store32(bytes + AT_IMAGE_ID, header->image_id);
    firn_store32(bytes + AT_PLAN_VERSION, header->plan_version);
    firn_store32(bytes + AT_SECURITY_COUNTER, header->security_counter);
    memcpy(bytes + AT_VENDOR, header->vendor, sizeof header->vendor);
    memcpy(bytes + AT_CLASS, header->class_id, sizeof header->class_id);
    memcpy(bytes + AT_SCHEMA_HASH, header->schema_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_KEY_HASH, header->key_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_RUN_HASH, header->run_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_REPORT_HASH, header->report_hash, FIRN_HASH_BYTES);
    firn_store64(bytes + AT_TOTAL_BYTES, header->total_bytes);
    firn_store64(bytes + AT_FLATBUFFERS_BYTES, header->flatbuffers_bytes);
    firn_store64(bytes + AT_CONSTANTS_OFFSET, header->constants_offset);
    firn_store64(bytes + AT_CONSTANTS_BYTES, header->constants_bytes);
    firn_store64(bytes + AT_REPORT_BYTES, header->report_bytes);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        firn_store32(bytes + AT_COUNTS + 4 * i, numbers[i]);
    firn_store32(bytes + AT_REGION_COUNT, header->region_count);
    for (size_t i = 0; i < header->region_count; i++) {
        bytes[AT_REGION_KINDS + i] = header->region_kinds[i];
        firn_store64(bytes + AT_REGION_BYTES + 8 * i, header->region_bytes[i]);
    }
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

/* The header is copied as it stands in the file. */
#define SAME_PLACE(field, at)                                                                                          \
    _Static_assert(offsetof(firn_header, field) == (at)-AT_FORMAT_MAJOR, "in the place that it has in the file")
SAME_PLACE(format_major, AT_FORMAT_MAJOR);
SAME_PLACE(needs_minor, AT_NEEDS_MINOR);
SAME_PLACE(header_bytes, AT_HEADER_BYTES);
SAME_PLACE(algorithm, AT_ALGORITHM);
SAME_PLACE(signature_bytes, AT_SIGNATURE_BYTES);
SAME_PLACE(mode, AT_MODE);
SAME_PLACE(image_id, AT_IMAGE_ID);
SAME_PLACE(plan_version, AT_PLAN_VERSION);
SAME_PLACE(security_counter, AT_SECURITY_COUNTER);
SAME_PLACE(reserved, AT_RESERVED);
SAME_PLACE(vendor, AT_VENDOR);
SAME_PLACE(class_id, AT_CLASS);
SAME_PLACE(schema_hash, AT_SCHEMA_HASH);
SAME_PLACE(key_hash, AT_KEY_HASH);
SAME_PLACE(run_hash, AT_RUN_HASH);
SAME_PLACE(report_hash, AT_REPORT_HASH);
SAME_PLACE(total_bytes, AT_TOTAL_BYTES);
SAME_PLACE(flatbuffers_bytes, AT_FLATBUFFERS_BYTES);
SAME_PLACE(constants_offset, AT_CONSTANTS_OFFSET);
SAME_PLACE(constants_bytes, AT_CONSTANTS_BYTES);
SAME_PLACE(report_bytes, AT_REPORT_BYTES);
SAME_PLACE(counts, AT_COUNTS);
SAME_PLACE(region_count, AT_REGION_COUNT);
SAME_PLACE(region_kinds, AT_REGION_KINDS);
SAME_PLACE(reserved_low, AT_RESERVED_LOW);
SAME_PLACE(region_bytes, AT_REGION_BYTES);
#undef SAME_PLACE
_Static_assert(sizeof(firn_counts) == 8 * sizeof(uint32_t), "eight numbers");
_Static_assert(sizeof(firn_header) == AT_RESERVED_HIGH - AT_FORMAT_MAJOR, "and no more");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read as they lie in the file");

static int check_versions(const firn_header *header) {
    return header->format_major == FIRN_FORMAT_MAJOR && header->needs_minor <= FIRN_FORMAT_MINOR
               ? FIRN_OK
               : FIRN_ERROR_FORMAT_VERSION;
}

static int check_reserved(const firn_header *header, const uint8_t *bytes) {
    const bool good = header->header_bytes == FIRN_HEADER_BYTES && header->signature_bytes == FIRN_SIGNATURE_BYTES &&
                      (header->reserved | header->reserved_low) == 0 &&
                      firn_is_zero(bytes, AT_RESERVED_HIGH, FIRN_HEADER_BYTES);
    return good ? FIRN_OK : FIRN_ERROR_HEADER;
}

static int check_algorithm(const firn_header *header, uint32_t wanted) {
    if (header->algorithm == wanted)
        return FIRN_OK;
    return header->algorithm == FIRN_ALGORITHM_NONE ? FIRN_ERROR_UNSIGNED : FIRN_ERROR_ALGORITHM;
}

/* Checks that header, signature, FlatBuffers, padding to 64, constants and report follow each other without gaps. Every
 * length is limited to 2^62 before it is added to another. */
static int check_spans(const firn_header *header) {
    if (header->flatbuffers_bytes > FLATBUFFERS_BYTES_MAX)
        return FIRN_ERROR_PLAN_TOO_LARGE;
    if (header->flatbuffers_bytes < FLATBUFFERS_BYTES_MIN || header->total_bytes > SIZE_LIMIT ||
        header->constants_bytes > SIZE_LIMIT || header->report_bytes > SIZE_LIMIT ||
        header->constants_offset != aligned(FIRN_PAYLOAD_OFFSET + header->flatbuffers_bytes) ||
        header->total_bytes != firn_header_payload_end(header) + header->report_bytes)
        return FIRN_ERROR_HEADER;
    return header->total_bytes > SIZE_MAX ? FIRN_ERROR_PLAN_TOO_LARGE : FIRN_OK;
}

/* Limits each count by the room that its elements take in the FlatBuffers part, so that sums of a few sizes that follow
 * from them cannot overflow. */
static int check_counts(const firn_header *header, const uint8_t *bytes) {
    const firn_counts *counts = &header->counts;
    const uint32_t room = (uint32_t)header->flatbuffers_bytes;
    bool good = counts->ops != 0 && counts->ops <= room / OP_BYTES_MIN && counts->state_tensors <= counts->tensors &&
                counts->widest <= counts->operands;
    for (uint32_t at = AT_COUNTS; at < AT_REGION_COUNT; at += 4)
        good &= firn_load32(bytes + at) <= room / 4;
    return good ? FIRN_OK : FIRN_ERROR_HEADER;
}

/* Checks the regions: known kinds in ascending order, none of them empty, the constant ones within the
 * constants segment, one of state and one of arena. */
static int check_regions(const firn_header *header, const uint8_t *bytes) {
    const uint32_t count = header->region_count;
    bool state = false, arena = false;
    uint64_t constants = 0; /* where the next constant region begins */
    uint8_t before = 0;
    if (count > FIRN_REGIONS_MAX || !firn_is_zero(bytes, AT_REGION_KINDS + count, AT_RESERVED_LOW) ||
        !firn_is_zero(bytes, AT_REGION_BYTES + 8 * count, AT_RESERVED_HIGH))
        return FIRN_ERROR_HEADER;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t kind = header->region_kinds[i], fast = firn_region_fast_kind(kind);
        const uint64_t size = header->region_bytes[i];
        if (kind >= KINDS || kind < before || size == 0 || size > FIRN_REGION_BYTES_MAX)
            return FIRN_ERROR_HEADER;
        if (fast == FIRN_FB_REGION_KIND_CONSTANT) {
            if (constants + size > header->constants_bytes)
                return FIRN_ERROR_HEADER;
            constants += aligned(size);
        }
        state |= fast <= FIRN_FB_REGION_KIND_SESSION;
        arena |= fast == FIRN_FB_REGION_KIND_ARENA;
        before = kind;
    }
    return state && arena ? FIRN_OK : FIRN_ERROR_HEADER;
}

/* Compares the length of the file with the length in the header, with the report or without it. */
static int check_length(const firn_header *header, uint64_t file_bytes) {
    if (file_bytes == header->total_bytes || file_bytes == firn_header_payload_end(header))
        return FIRN_OK;
    return file_bytes < header->total_bytes ? FIRN_ERROR_TRUNCATED : FIRN_ERROR_TRAILING_BYTES;
}

int firn_plan_version(const uint8_t *file, uint64_t file_bytes, uint32_t *major, uint32_t *minor) {
    *major = *minor = 0;
    if (file_bytes < FIRN_HEADER_BYTES)
        return FIRN_ERROR_TRUNCATED;
    if (!firn_is_plan(file, file_bytes))
        return FIRN_ERROR_MAGIC;
    *major = firn_load32(file + AT_FORMAT_MAJOR);
    *minor = firn_load32(file + AT_NEEDS_MINOR);
    return FIRN_OK;
}

static int decode(firn_header *header, const uint8_t *file, uint64_t file_bytes, uint32_t algorithm) {
    if (file_bytes < FIRN_HEADER_BYTES)
        return FIRN_ERROR_TRUNCATED;
    if (!firn_is_plan(file, file_bytes))
        return FIRN_ERROR_MAGIC;
    memcpy(header, file + AT_FORMAT_MAJOR, sizeof *header);
    int status = check_versions(header);
    if (status == FIRN_OK)
        status = check_reserved(header, file);
    if (status == FIRN_OK)
        status = check_algorithm(header, algorithm);
    if (status == FIRN_OK)
        status = check_spans(header);
    if (status == FIRN_OK && header->mode > FIRN_MODE_EVAL)
        status = FIRN_ERROR_HEADER;
    if (status == FIRN_OK)
        status = check_counts(header, file);
    if (status == FIRN_OK)
        status = check_regions(header, file);
    return status == FIRN_OK ? check_length(header, file_bytes) : status;
}

static int cleared(firn_header *header, int status) {
    if (status != FIRN_OK)
        memset(header, 0, sizeof *header);
    return status;
}

int firn_header_decode(firn_header *header, const uint8_t *file, uint64_t file_bytes) {
    return cleared(header, decode(header, file, file_bytes, FIRN_ALGORITHM_ECDSA_P256));
}

int firn_header_decode_unsigned(firn_header *header, const uint8_t *file, uint64_t file_bytes) {
    int status = decode(header, file, file_bytes, FIRN_ALGORITHM_NONE);
    if (status == FIRN_OK && !firn_is_zero(file, FIRN_HEADER_BYTES, FIRN_PAYLOAD_OFFSET))
        status = FIRN_ERROR_HEADER; /* where the signature will be */
    return cleared(header, status);
}
