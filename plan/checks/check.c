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
static int check_key(const firn_keys *keys, const firn_header *header, const uint8_t **found) {
    for (uint32_t i = 0; i < keys->count; i++) {
        const uint8_t *key = keys->list + (size_t)i * FIRN_PUBLIC_KEY_BYTES;
        uint8_t hash[FIRN_HASH_BYTES];
        int status = firn_key_hash(key, hash);
        if (status != FIRN_OK)
            return status;
        if (memcmp(hash, header->key_hash, sizeof hash) != 0)
            continue;
        if ((keys->revoked >> i & 1) != 0)
            return FIRN_ERROR_KEY_REVOKED;
        *found = key;
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
static int hash_header(const firn_check_request *request, uint8_t plan_hash[FIRN_HASH_BYTES]) {
    return hash_span(request, request->file, FIRN_HEADER_BYTES, plan_hash);
}

uint64_t firn_check_pool_bytes(const firn_counts *counts) {
    return (firn_semantics_scratch_bytes(counts) + 15) / 16 * 16;
}

/* The part of the pool that is used, and so zeroed. */
static size_t pool_bytes(const firn_check_request *request, const firn_header *header) {
    uint64_t used = firn_check_pool_bytes(&header->counts);
    return (size_t)(used < request->pool_bytes ? used : request->pool_bytes);
}

static void show_life(const firn_check_request *request) {
    if (request->alive != NULL)
        request->alive(request->context);
}

/* Shows life before and after, because the check itself cannot. */
static int check_signature(const firn_check_request *request, const uint8_t *key,
                           const uint8_t plan_hash[FIRN_HASH_BYTES]) {
    show_life(request);
    const int status = firn_signature_check(key, plan_hash, request->file + FIRN_HEADER_BYTES);
    show_life(request);
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

int firn_check_counter(const firn_check_request *request, const firn_header *header, uint32_t *device_counter) {
    if (request->counter == NULL)
        return FIRN_OK;
    int status = request->counter(request->context, device_counter);
    if (status != FIRN_OK)
        return status;
    return header->security_counter >= *device_counter ? FIRN_OK : FIRN_ERROR_SECURITY_COUNTER;
}

static int check_payload(const firn_check_request *request, const firn_header *header, firn_fb_plan *plan) {
    const uint8_t *payload = request->file + FIRN_PAYLOAD_OFFSET;
    int status = firn_fb_verify(payload, header->flatbuffers_bytes);
    if (status != FIRN_OK)
        return status;
    show_life(request);
    *plan = firn_fb_plan_root(payload);
    status = firn_semantics_check(*plan, header, request->pool, pool_bytes(request, header));
    memset(request->pool, 0, pool_bytes(request, header));
    return status;
}

int firn_check_header(const firn_check_request *request, firn_header *header, uint8_t plan_hash[FIRN_HASH_BYTES]) {
    int status = FIRN_ERROR_ARGUMENT;
    const uint8_t *key = NULL;
    memset(header, 0, sizeof *header);
    memset(plan_hash, 0, FIRN_HASH_BYTES);
    if (request->keys.list != NULL && request->keys.count != 0 && request->keys.count <= FIRN_KEYS_MAX)
        status = firn_header_decode(header, request->file, request->file_bytes);
    if (status == FIRN_OK)
        status = check_key(&request->keys, header, &key);
    if (status == FIRN_OK)
        status = hash_header(request, plan_hash);
    if (status == FIRN_OK)
        status = check_signature(request, key, plan_hash);
    if (status == FIRN_OK)
        status = check_identity(request->identity, header);
    return status;
}

int firn_check_into(const firn_check_request *request, firn_header *header, firn_fb_plan *plan,
                    uint8_t plan_hash[FIRN_HASH_BYTES], uint32_t *device_counter) {
    memset(plan, 0, sizeof *plan);
    *device_counter = 0;
    int status = firn_check_header(request, header, plan_hash);
    if (status == FIRN_OK)
        status = check_run_hash(request, header);
    if (status == FIRN_OK)
        status = firn_check_counter(request, header, device_counter);
    if (status == FIRN_OK)
        status = check_payload(request, header, plan);
    return status;
}

int firn_check(const firn_check_request *request, firn_checked *checked) {
    return firn_check_into(request, &checked->header, &checked->plan, checked->plan_hash, &checked->device_counter);
}

int firn_check_untrusted(const firn_check_request *request, firn_checked *checked) {
    memset(checked, 0, sizeof *checked);
    int status = firn_header_decode(&checked->header, request->file, request->file_bytes);
    if (status == FIRN_ERROR_UNSIGNED)
        status = firn_header_decode_unsigned(&checked->header, request->file, request->file_bytes);
    if (status == FIRN_OK)
        status = hash_header(request, checked->plan_hash);
    if (status == FIRN_OK)
        status = check_run_hash(request, &checked->header);
    if (status == FIRN_OK)
        status = check_payload(request, &checked->header, &checked->plan);
    return status;
}
