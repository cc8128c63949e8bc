/* The chain of checks. This file only defines their order; each check is implemented in the file for its part of the
 * plan. No rule that reads the payload may be added here. A status starts as a failure, and only a check may turn it
 * into success. */
#include "plan/checks/check.h"

#include <string.h>

#include "plan/checks/semantics.h"
#include "plan/checks/verifier.h"
#include "plan/errors.h"

static firn_alive alive_of(const firn_check_request *request) {
    return (firn_alive){.context = request->context, .alive = request->alive};
}

static int hash_span(const firn_check_request *request, const uint8_t *bytes, uint64_t count,
                     uint8_t digest[FIRN_HASH_BYTES]) {
    const firn_alive alive = alive_of(request);
    return firn_sha256_of_many(bytes, count, &alive, digest);
}

/* Finds the key that the header names. */
static int check_key(const firn_keys *keys, firn_checked *checked) {
    for (uint32_t i = 0; i < keys->count; i++) {
        const uint8_t *key = keys->list + (size_t)i * FIRN_PUBLIC_KEY_BYTES;
        uint8_t hash[FIRN_HASH_BYTES];
        int status = firn_key_hash(key, hash);
        if (status != FIRN_OK)
            return status;
        if (memcmp(hash, checked->header.key_hash, sizeof hash) != 0)
            continue;
        if ((keys->revoked >> i & 1) != 0)
            return FIRN_ERROR_KEY_REVOKED;
        checked->key = key;
        return FIRN_OK;
    }
    return FIRN_ERROR_WRONG_KEY;
}

static int check_identity(const firn_identity *identity, const firn_header *header) {
    if (identity == NULL)
        return FIRN_OK;
    if (memcmp(identity->vendor, header->vendor, sizeof identity->vendor) != 0 ||
        memcmp(identity->class_id, header->class_id, sizeof identity->class_id) != 0)
        return FIRN_ERROR_OTHER_DEVICE;
    return identity->image_id == header->image_id ? FIRN_OK : FIRN_ERROR_OTHER_IMAGE;
}

/* The header is what is signed; its SHA-256 is the plan hash. */
static int hash_header(const firn_check_request *request, firn_checked *checked) {
    return hash_span(request, request->file, FIRN_HEADER_BYTES, checked->plan_hash);
}

uint64_t firn_check_pool_bytes(const firn_counts *counts) {
    const uint64_t scratch = (firn_semantics_scratch_bytes(counts) + 15) / 16 * 16;
    return scratch > FIRN_POOL_BYTES_MAX ? scratch : FIRN_POOL_BYTES_MAX;
}

/* The part of the pool that is used, and so zeroed. */
static size_t pool_bytes(const firn_check_request *request, const firn_checked *checked) {
    uint64_t used = firn_check_pool_bytes(&checked->header.counts);
    return (size_t)(used < request->pool_bytes ? used : request->pool_bytes);
}

static int check_signature(const firn_check_request *request, const firn_checked *checked) {
    const uint8_t *signature = request->file + FIRN_HEADER_BYTES;
    const firn_alive alive = alive_of(request);
    if (request->lock != NULL)
        request->lock(request->context);
    int status = firn_signature_check(checked->key, checked->plan_hash, signature, request->pool,
                                      pool_bytes(request, checked), &alive);
    if (request->unlock != NULL)
        request->unlock(request->context);
    return status;
}

/* Hashes a part of the file, and compares the result with a hash in the header, which is signed. */
static int check_hash(const firn_check_request *request, uint64_t begin, uint64_t end, const uint8_t *expected,
                      int mismatch) {
    uint8_t hash[FIRN_HASH_BYTES];
    int status = hash_span(request, request->file + begin, end - begin, hash);
    if (status != FIRN_OK)
        return status;
    return memcmp(hash, expected, sizeof hash) == 0 ? FIRN_OK : mismatch;
}

static int check_run_hash(const firn_check_request *request, const firn_header *header) {
    return check_hash(request, FIRN_PAYLOAD_OFFSET, firn_header_payload_end(header), header->run_hash,
                      FIRN_ERROR_RUN_HASH);
}

int firn_check_report(const firn_check_request *request, const firn_header *header) {
    if (header->report_bytes == 0 || request->file_bytes != header->total_bytes)
        return FIRN_ERROR_REPORT;
    return check_hash(request, firn_header_payload_end(header), header->total_bytes, header->report_hash,
                      FIRN_ERROR_REPORT);
}

int firn_check_counter(const firn_check_request *request, firn_checked *checked) {
    if (request->counter == NULL)
        return FIRN_OK;
    int status = request->counter(request->context, &checked->device_counter);
    if (status != FIRN_OK)
        return status;
    return checked->header.security_counter >= checked->device_counter ? FIRN_OK : FIRN_ERROR_SECURITY_COUNTER;
}

static int check_payload(const firn_check_request *request, firn_checked *checked) {
    const uint8_t *payload = request->file + FIRN_PAYLOAD_OFFSET;
    int status = firn_fb_verify(payload, checked->header.flatbuffers_bytes);
    if (status != FIRN_OK)
        return status;
    if (request->alive != NULL)
        request->alive(request->context);
    checked->plan = firn_fb_plan_root(payload);
    status = firn_semantics_check(checked->plan, &checked->header, request->pool, pool_bytes(request, checked));
    memset(request->pool, 0, pool_bytes(request, checked));
    return status;
}

int firn_check_header(const firn_check_request *request, firn_checked *checked) {
    int status = FIRN_ERROR_ARGUMENT;
    memset(checked, 0, sizeof *checked);
    if (request->keys.list != NULL && request->keys.count != 0 && request->keys.count <= FIRN_KEYS_MAX)
        status = firn_header_decode(&checked->header, request->file, request->file_bytes);
    if (status == FIRN_OK)
        status = check_key(&request->keys, checked);
    if (status == FIRN_OK)
        status = hash_header(request, checked);
    if (status == FIRN_OK)
        status = check_signature(request, checked);
    if (status == FIRN_OK)
        status = check_identity(request->identity, &checked->header);
    return status;
}

int firn_check(const firn_check_request *request, firn_checked *checked) {
    int status = firn_check_header(request, checked);
    if (status == FIRN_OK)
        status = check_run_hash(request, &checked->header);
    if (status == FIRN_OK)
        status = firn_check_counter(request, checked);
    if (status == FIRN_OK)
        status = check_payload(request, checked);
    return status;
}

int firn_check_untrusted(const firn_check_request *request, firn_checked *checked) {
    memset(checked, 0, sizeof *checked);
    int status = firn_header_decode(&checked->header, request->file, request->file_bytes);
    if (status == FIRN_ERROR_UNSIGNED)
        status = firn_header_decode_unsigned(&checked->header, request->file, request->file_bytes);
    if (status == FIRN_OK)
        status = hash_header(request, checked);
    if (status == FIRN_OK)
        status = check_run_hash(request, &checked->header);
    if (status == FIRN_OK)
        status = check_payload(request, checked);
    return status;
}
