/* The header: decoding from untrusted bytes, and encoding. This file makes all checks of a header that need neither the
 * payload nor the key nor the device; they may not be made anywhere else. */
#include "plan/container.h"

#include <stdbool.h>
#include <string.h>

#include "plan/bytes.h"
#include "plan/errors.h"

#define FLATBUFFERS_BYTES_MAX 0x7fffffffu
#define SIZE_LIMIT            (UINT64_C(1) << 62) /* of a block or a file; the sum of two cannot overflow 64 bits */
#define FLATBUFFERS_BYTES_MIN 8u
#define POOL_ALIGNMENT        16u
#define OP_BYTES_MIN          8u /* least bytes of an op in the FlatBuffers part: the offsets of its table and vtable */

/* Offset of each field. */
enum {
    AT_MAGIC = 0,
    AT_CONTAINER_VERSION = 8,
    AT_HEADER_BYTES = 12,
    AT_TOTAL_BYTES = 16,
    AT_ALGORITHM = 24,
    AT_SIGNATURE_BYTES = 28,
    AT_MODE = 32,
    AT_IMAGE_ID = 36,
    AT_PLAN_VERSION = 40,
    AT_SECURITY_COUNTER = 44,
    AT_VENDOR = 48,
    AT_CLASS = 64,
    AT_SCHEMA_HASH = 80,
    AT_KEY_HASH = 112,
    AT_RUN_HASH = 144,
    AT_STATE_BYTES = 176,
    AT_ARENA_BYTES = 184,
    AT_POOL_BYTES = 192,
    AT_FLATBUFFERS_BYTES = 200,
    AT_CONSTANTS_OFFSET = 208,
    AT_CONSTANTS_BYTES = 216,
    AT_OPS = 224,
    AT_RESERVED = 228
};

static const uint8_t magic[8] = {'F', 'I', 'R', 'N', 'P', 'L', 'A', 'N'};

bool firn_is_plan(const uint8_t *file, uint64_t file_bytes) {
    return file_bytes >= sizeof magic && memcmp(file + AT_MAGIC, magic, sizeof magic) == 0;
}

void firn_header_encode(const firn_header *header, uint8_t bytes[FIRN_HEADER_BYTES]) {
    memset(bytes, 0, FIRN_HEADER_BYTES);
    memcpy(bytes + AT_MAGIC, magic, sizeof magic);
    firn_store32(bytes + AT_CONTAINER_VERSION, header->container_version);
    firn_store32(bytes + AT_HEADER_BYTES, FIRN_HEADER_BYTES);
    firn_store64(bytes + AT_TOTAL_BYTES, header->total_bytes);
    firn_store32(bytes + AT_ALGORITHM, header->algorithm);
    firn_store32(bytes + AT_SIGNATURE_BYTES, header->signature_bytes);
    firn_store32(bytes + AT_MODE, header->mode);
    firn_store32(bytes + AT_IMAGE_ID, header->image_id);
    firn_store32(bytes + AT_PLAN_VERSION, header->plan_version);
    firn_store32(bytes + AT_SECURITY_COUNTER, header->security_counter);
    memcpy(bytes + AT_VENDOR, header->vendor, sizeof header->vendor);
    memcpy(bytes + AT_CLASS, header->class_id, sizeof header->class_id);
    memcpy(bytes + AT_SCHEMA_HASH, header->schema_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_KEY_HASH, header->key_hash, FIRN_HASH_BYTES);
    memcpy(bytes + AT_RUN_HASH, header->run_hash, FIRN_HASH_BYTES);
    firn_store64(bytes + AT_STATE_BYTES, header->state_bytes);
    firn_store64(bytes + AT_ARENA_BYTES, header->arena_bytes);
    firn_store64(bytes + AT_POOL_BYTES, header->pool_bytes);
    firn_store64(bytes + AT_FLATBUFFERS_BYTES, header->flatbuffers_bytes);
    firn_store64(bytes + AT_CONSTANTS_OFFSET, header->constants_offset);
    firn_store64(bytes + AT_CONSTANTS_BYTES, header->constants_bytes);
    firn_store32(bytes + AT_OPS, header->ops);
}

static void read_fields(firn_header *header, const uint8_t *bytes) {
    header->container_version = firn_load32(bytes + AT_CONTAINER_VERSION);
    header->total_bytes = firn_load64(bytes + AT_TOTAL_BYTES);
    header->algorithm = firn_load32(bytes + AT_ALGORITHM);
    header->signature_bytes = firn_load32(bytes + AT_SIGNATURE_BYTES);
    header->mode = firn_load32(bytes + AT_MODE);
    header->image_id = firn_load32(bytes + AT_IMAGE_ID);
    header->plan_version = firn_load32(bytes + AT_PLAN_VERSION);
    header->security_counter = firn_load32(bytes + AT_SECURITY_COUNTER);
    memcpy(header->vendor, bytes + AT_VENDOR, sizeof header->vendor);
    memcpy(header->class_id, bytes + AT_CLASS, sizeof header->class_id);
    memcpy(header->schema_hash, bytes + AT_SCHEMA_HASH, FIRN_HASH_BYTES);
    memcpy(header->key_hash, bytes + AT_KEY_HASH, FIRN_HASH_BYTES);
    memcpy(header->run_hash, bytes + AT_RUN_HASH, FIRN_HASH_BYTES);
    header->state_bytes = firn_load64(bytes + AT_STATE_BYTES);
    header->arena_bytes = firn_load64(bytes + AT_ARENA_BYTES);
    header->pool_bytes = firn_load64(bytes + AT_POOL_BYTES);
    header->flatbuffers_bytes = firn_load64(bytes + AT_FLATBUFFERS_BYTES);
    header->constants_offset = firn_load64(bytes + AT_CONSTANTS_OFFSET);
    header->constants_bytes = firn_load64(bytes + AT_CONSTANTS_BYTES);
    header->ops = firn_load32(bytes + AT_OPS);
}

static int check_reserved(const uint8_t *bytes) {
    uint8_t any = 0;
    for (uint32_t i = AT_RESERVED; i < FIRN_HEADER_BYTES; i++)
        any |= bytes[i];
    return any == 0 && firn_load32(bytes + AT_HEADER_BYTES) == FIRN_HEADER_BYTES ? FIRN_OK : FIRN_ERROR_HEADER;
}

/* Checks that header, FlatBuffers, padding to 64, constants and signature follow each other without gaps and end with
 * the file. Every length is limited to 2^62 before it is added to another. */
static int check_spans(const firn_header *header) {
    if (header->flatbuffers_bytes > FLATBUFFERS_BYTES_MAX)
        return FIRN_ERROR_PLAN_TOO_LARGE;
    if (header->flatbuffers_bytes < FLATBUFFERS_BYTES_MIN || header->total_bytes > SIZE_LIMIT ||
        header->constants_bytes > SIZE_LIMIT || header->ops == 0 ||
        header->ops > header->flatbuffers_bytes / OP_BYTES_MIN)
        return FIRN_ERROR_HEADER;
    uint64_t end = FIRN_HEADER_BYTES + header->flatbuffers_bytes;
    uint64_t constants = (end + FIRN_PAYLOAD_ALIGNMENT - 1) / FIRN_PAYLOAD_ALIGNMENT * FIRN_PAYLOAD_ALIGNMENT;
    if (header->constants_offset != constants ||
        header->total_bytes != constants + header->constants_bytes + header->signature_bytes)
        return FIRN_ERROR_HEADER;
    return header->total_bytes > SIZE_MAX ? FIRN_ERROR_PLAN_TOO_LARGE : FIRN_OK;
}

static int check_blocks(const firn_header *header) {
    bool good = header->mode <= FIRN_MODE_EVAL && header->image_id == header->mode;
    good = good && header->state_bytes != 0 && header->state_bytes <= SIZE_LIMIT;
    good = good && header->arena_bytes <= SIZE_LIMIT && header->pool_bytes <= header->arena_bytes;
    good = good && header->pool_bytes != 0 && header->pool_bytes % POOL_ALIGNMENT == 0;
    return good ? FIRN_OK : FIRN_ERROR_HEADER;
}

/* Checks the algorithm and the signature's length that it requires. */
static int check_algorithm(const firn_header *header, bool unsigned_wanted) {
    if (header->algorithm > FIRN_ALGORITHM_ECDSA_P256)
        return FIRN_ERROR_ALGORITHM;
    if (header->signature_bytes != (header->algorithm == FIRN_ALGORITHM_NONE ? 0 : FIRN_SIGNATURE_BYTES))
        return FIRN_ERROR_HEADER;
    if (unsigned_wanted)
        return header->algorithm == FIRN_ALGORITHM_NONE ? FIRN_OK : FIRN_ERROR_ALGORITHM;
    return header->algorithm == FIRN_ALGORITHM_NONE ? FIRN_ERROR_UNSIGNED : FIRN_OK;
}

/* Compares the length of the file with the length in the header. */
static int check_length(const firn_header *header, uint64_t file_bytes) {
    if (file_bytes < header->total_bytes)
        return FIRN_ERROR_TRUNCATED;
    return file_bytes > header->total_bytes ? FIRN_ERROR_TRAILING_BYTES : FIRN_OK;
}

static int decode(firn_header *header, const uint8_t *file, uint64_t file_bytes, bool unsigned_wanted) {
    if (file_bytes < FIRN_HEADER_BYTES)
        return FIRN_ERROR_TRUNCATED;
    if (memcmp(file + AT_MAGIC, magic, sizeof magic) != 0)
        return FIRN_ERROR_MAGIC;
    read_fields(header, file);
    if (header->container_version != FIRN_CONTAINER_VERSION)
        return FIRN_ERROR_CONTAINER_VERSION;
    int status = check_reserved(file);
    if (status == FIRN_OK)
        status = check_algorithm(header, unsigned_wanted);
    if (status == FIRN_OK)
        status = check_blocks(header);
    if (status == FIRN_OK)
        status = check_spans(header);
    if (status == FIRN_OK)
        status = check_length(header, file_bytes);
    return status;
}

static int decode_or_clear(firn_header *header, const uint8_t *file, uint64_t file_bytes, bool unsigned_wanted) {
    memset(header, 0, sizeof *header);
    int status = decode(header, file, file_bytes, unsigned_wanted);
    if (status != FIRN_OK)
        memset(header, 0, sizeof *header);
    return status;
}

int firn_header_decode(firn_header *header, const uint8_t *file, uint64_t file_bytes) {
    return decode_or_clear(header, file, file_bytes, false);
}

int firn_header_decode_unsigned(firn_header *header, const uint8_t *file, uint64_t file_bytes) {
    return decode_or_clear(header, file, file_bytes, true);
}
