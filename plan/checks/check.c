/* The chain of checks. This file only defines their order; each check is implemented in the file for its part of the
 * plan. No rule that reads the payload may be added here. A status starts as a failure, and only a check may turn it
 * into success. */
#include "plan/checks/check.h"

#include <string.h>

#include "plan/bytes.h"
#include "plan/checks/semantics.h"
#include "plan/checks/verifier.h"
#include "plan/errors.h"

static int hash_span(const firn_check_request *request, const uint8_t *bytes, uint64_t count,
                     uint8_t digest[FIRN_HASH_BYTES]) {
    return firn_sha256_of_many(bytes, count, &request->life, digest);
}

/* What follows compares each thing twice and adds both results to the trail: one disturbance spoils at most one of
 * them. The bytes of the header are compared, not what was decoded of them, because they are what is signed. */

static int add_comparison(firn_trail *trail, uint32_t step, uint32_t first, uint32_t second, int error) {
    firn_trail_add(trail, step, first, second);
    return (first | second) == 0 ? FIRN_OK : error;
}

static int compare_hash(const firn_check_request *request, const uint8_t hash[FIRN_HASH_BYTES], size_t offset,
                        uint32_t step, firn_trail *trail, int error) {
    const uint32_t first = firn_difference(hash, request->file + offset, FIRN_HASH_BYTES);
    const uint32_t second = firn_difference(request->file + offset, hash, FIRN_HASH_BYTES);
    return add_comparison(trail, step, first, second, error);
}

/* Returns 0 for a request. Added where what is absent from one allows a plan. */
static uint32_t spoiled(const firn_check_request *request) {
    return *(const volatile uint32_t *)&request->mark ^ (uint32_t)FIRN_CHECK_REQUEST;
}

/* Returns 0 if neither the firmware nor the device has revoked a key. A mask that the port does not write revokes every
 * key. */
static __attribute__((noinline)) uint32_t revocation(const firn_check_request *request, uint32_t key, int *status) {
    uint32_t mask = 0;
    *status = FIRN_OK;
    if (request->revoked_keys != NULL) {
        *(volatile uint32_t *)&mask = UINT32_MAX;
        *status = request->revoked_keys(request->life.context, &mask);
    }
    return *status != FIRN_OK ? UINT32_MAX : ((request->keys.revoked | mask) >> key & 1) | spoiled(request);
}

/* Checks that key number i has not been revoked. */
static int check_revocation(const firn_check_request *request, uint32_t i, firn_trail *trail) {
    int status, again;
    const uint32_t first = revocation(request, i, &status), second = revocation(request, i, &again);
    const int compared = add_comparison(trail, FIRN_TRAIL_KEY, first, second, FIRN_ERROR_KEY_REVOKED);
    if (status != FIRN_OK)
        return status;
    return again != FIRN_OK ? again : compared;
}

/* Finds the key that the header names. */
static int check_key(const firn_check_request *request, firn_trail *trail, const uint8_t **found) {
    for (uint32_t i = 0; i < request->keys.count; i++) {
        const uint8_t *key = request->keys.list + (size_t)i * FIRN_PUBLIC_KEY_BYTES;
        uint8_t hash[FIRN_HASH_BYTES];
        int status = firn_key_hash(key, hash);
        if (status != FIRN_OK)
            return status;
        if (memcmp(hash, request->file + FIRN_HEADER_AT_KEY_HASH, sizeof hash) != 0)
            continue;
        *found = key;
        return check_revocation(request, i, trail);
    }
    return FIRN_ERROR_WRONG_KEY;
}

/* Returns 0 if a plan is for this device, or if the device does not say what it is. */
static __attribute__((noinline)) uint32_t device_difference(const firn_check_request *request) {
    const firn_identity *identity = request->identity;
    if (identity == NULL)
        return spoiled(request);
    return firn_difference(identity->vendor, request->file + FIRN_HEADER_AT_VENDOR, sizeof identity->vendor) |
           firn_difference(identity->class_id, request->file + FIRN_HEADER_AT_CLASS, sizeof identity->class_id);
}

static __attribute__((noinline)) uint32_t image_difference(const firn_check_request *request) {
    const firn_identity *identity = request->identity;
    return identity == NULL ? spoiled(request)
                            : identity->image_id ^ firn_load32(request->file + FIRN_HEADER_AT_IMAGE_ID);
}

static int check_identity(const firn_check_request *request, firn_trail *trail) {
    const int status = add_comparison(trail, FIRN_TRAIL_DEVICE, device_difference(request), device_difference(request),
                                      FIRN_ERROR_OTHER_DEVICE);
    if (status != FIRN_OK)
        return status;
    return add_comparison(trail, FIRN_TRAIL_IMAGE, image_difference(request), image_difference(request),
                          FIRN_ERROR_OTHER_IMAGE);
}

/* The header is what is signed; its SHA-256 is the plan hash. */
static int hash_header(const firn_check_request *request, uint8_t plan_hash[FIRN_HASH_BYTES]) {
    return hash_span(request, request->file, FIRN_HEADER_BYTES, plan_hash);
}

uint64_t firn_check_pool_bytes(const firn_counts *counts) {
    return firn_round_up(firn_semantics_scratch_bytes(counts), 16);
}

/* The part of the pool that is used, and so zeroed. */
static size_t pool_bytes(const firn_check_request *request, const firn_header *header) {
    uint64_t used = firn_check_pool_bytes(&header->counts);
    return (size_t)(used < request->pool_bytes ? used : request->pool_bytes);
}

static void show_life(const firn_check_request *request) {
    if (request->life.alive != NULL)
        request->life.alive(request->life.context);
}

/* Not inlined, like check_payload: what it has on the stack would lie below the check of the signature. */
static __attribute__((noinline)) int check_run_hash(const firn_check_request *request, const firn_header *header,
                                                    firn_trail *trail) {
    uint8_t hash[FIRN_HASH_BYTES];
    const uint64_t bytes = firn_header_payload_end(header) - FIRN_PAYLOAD_OFFSET;
    int status = hash_span(request, request->file + FIRN_PAYLOAD_OFFSET, bytes, hash);
    if (status != FIRN_OK)
        return status;
    return compare_hash(request, hash, FIRN_HEADER_AT_RUN_HASH, FIRN_TRAIL_RUN_HASH, trail, FIRN_ERROR_RUN_HASH);
}

int firn_check_report(const firn_check_request *request, const firn_header *header) {
    uint8_t hash[FIRN_HASH_BYTES];
    if (header->report_bytes == 0 || request->file_bytes != header->total_bytes)
        return FIRN_ERROR_REPORT;
    int status = hash_span(request, request->file + firn_header_payload_end(header), header->report_bytes, hash);
    if (status != FIRN_OK)
        return status;
    return memcmp(hash, header->report_hash, sizeof hash) == 0 ? FIRN_OK : FIRN_ERROR_REPORT;
}

/* Reads the device's counter, and returns 0 if the plan is no older. A value that the port does not write refuses every
 * plan. */
static __attribute__((noinline)) uint32_t age(const firn_check_request *request, uint32_t *device_counter,
                                              int *status) {
    *status = FIRN_OK;
    if (request->counter == NULL)
        return spoiled(request);
    *(volatile uint32_t *)device_counter = UINT32_MAX;
    *status = request->counter(request->life.context, device_counter);
    const uint32_t of_plan = firn_load32(request->file + FIRN_HEADER_AT_SECURITY_COUNTER);
    return *status != FIRN_OK ? UINT32_MAX : (uint32_t)(((uint64_t)of_plan - *device_counter) >> 32);
}

int firn_check_counter(const firn_check_request *request, uint32_t *device_counter, firn_trail *trail) {
    int status, again;
    const uint32_t first = age(request, device_counter, &status), second = age(request, device_counter, &again);
    const int compared = add_comparison(trail, FIRN_TRAIL_COUNTER, first, second, FIRN_ERROR_SECURITY_COUNTER);
    if (status != FIRN_OK)
        return status;
    return again != FIRN_OK ? again : compared;
}

static __attribute__((noinline)) int check_payload(const firn_check_request *request, const firn_header *header,
                                                   firn_fb_plan *plan) {
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

int firn_check_header(const firn_check_request *request, firn_header *header, uint8_t plan_hash[FIRN_HASH_BYTES],
                      firn_trail *trail) {
    int status = FIRN_ERROR_ARGUMENT;
    const uint8_t *key = NULL;
    memset(header, 0, sizeof *header);
    memset(plan_hash, 0, FIRN_HASH_BYTES);
    trail->first = trail->second = 0;
    if (request->keys.list != NULL && request->keys.count != 0 && request->keys.count <= FIRN_KEYS_MAX)
        status = firn_header_decode(header, request->file, request->file_bytes);
    if (status == FIRN_OK)
        status = check_key(request, trail, &key);
    if (status == FIRN_OK)
        status = hash_header(request, plan_hash);
    if (status == FIRN_OK)
        status = firn_signature_check(key, plan_hash, request->file + FIRN_HEADER_BYTES, &request->life, trail);
    if (status == FIRN_OK)
        status = check_identity(request, trail);
    return status;
}

int firn_check_into(const firn_check_request *request, firn_header *header, firn_fb_plan *plan,
                    uint8_t plan_hash[FIRN_HASH_BYTES], uint32_t *device_counter, firn_trail *trail) {
    memset(plan, 0, sizeof *plan);
    *device_counter = 0;
    int status = firn_check_header(request, header, plan_hash, trail);
    if (status == FIRN_OK)
        status = check_run_hash(request, header, trail);
    if (status == FIRN_OK)
        status = firn_check_counter(request, device_counter, trail);
    if (status == FIRN_OK)
        status = check_payload(request, header, plan);
    if (status != FIRN_OK)
        return status;
    firn_trail_add(trail, FIRN_TRAIL_PAYLOAD, 0, 0);
    return firn_trail_is_complete(trail) ? FIRN_OK : FIRN_ERROR_DISTURBED;
}

int firn_check(const firn_check_request *request, firn_checked *checked) {
    firn_trail trail;
    return firn_check_into(request, &checked->header, &checked->plan, checked->plan_hash, &checked->device_counter,
                           &trail);
}

int firn_check_untrusted(const firn_check_request *request, firn_checked *checked) {
    firn_trail trail = {0};
    memset(checked, 0, sizeof *checked);
    int status = firn_header_decode(&checked->header, request->file, request->file_bytes);
    if (status == FIRN_ERROR_UNSIGNED)
        status = firn_header_decode_unsigned(&checked->header, request->file, request->file_bytes);
    if (status == FIRN_OK)
        status = hash_header(request, checked->plan_hash);
    if (status == FIRN_OK)
        status = check_run_hash(request, &checked->header, &trail);
    if (status == FIRN_OK)
        status = check_payload(request, &checked->header, &checked->plan);
    return status;
}
