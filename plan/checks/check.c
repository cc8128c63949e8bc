/* The chain of checks. This file only defines their order; each check is implemented in the file for its part of the
 * plan. No rule that reads the payload may be added here. A status starts as a failure, and only a check may turn it
 * into success. */
#include "plan/checks/check.h"

#include <string.h>

#include "plan/bytes.h"
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

/* Adds a comparison of a hash with one in the header to the trail: once with the header as decoded, once with its
 * bytes, which are what is signed. */
static int compare_hash(const firn_check_request *request, const uint8_t hash[FIRN_HASH_BYTES], const uint8_t *decoded,
                        size_t offset, uint32_t step, firn_trail *trail) {
    const uint32_t first = firn_difference(hash, decoded, FIRN_HASH_BYTES);
    const uint32_t second = firn_difference(request->file + offset, hash, FIRN_HASH_BYTES);
    firn_trail_add(trail, step, first, second);
    return (first | second) == 0 ? FIRN_OK : step == FIRN_TRAIL_KEY ? FIRN_ERROR_WRONG_KEY : FIRN_ERROR_RUN_HASH;
}

static int check_key(const firn_check_request *request, const firn_header *header, firn_trail *trail) {
    uint8_t hash[FIRN_HASH_BYTES];
    int status = firn_key_hash(request->public_key, hash);
    if (status != FIRN_OK)
        return status;
    return compare_hash(request, hash, header->key_hash, FIRN_HEADER_AT_KEY_HASH, FIRN_TRAIL_KEY, trail);
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

static int check_signature(const firn_check_request *request, const uint8_t plan_hash[FIRN_HASH_BYTES],
                           firn_trail *trail) {
    const firn_alive alive = alive_of(request);
    return firn_signature_check(request->public_key, plan_hash, request->file + FIRN_HEADER_BYTES, &alive, trail);
}

static int check_run_hash(const firn_check_request *request, const firn_header *header, firn_trail *trail) {
    uint8_t hash[FIRN_HASH_BYTES];
    const uint64_t bytes = firn_header_payload_end(header) - FIRN_PAYLOAD_OFFSET;
    int status = hash_span(request, request->file + FIRN_PAYLOAD_OFFSET, bytes, hash);
    if (status != FIRN_OK)
        return status;
    return compare_hash(request, hash, header->run_hash, FIRN_HEADER_AT_RUN_HASH, FIRN_TRAIL_RUN_HASH, trail);
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

/* Reads the device's counter. A value that the function does not write refuses every plan. */
static int read_counter(const firn_check_request *request, uint32_t *value) {
    *(volatile uint32_t *)value = UINT32_MAX;
    return request->counter(request->context, value);
}

/* Returns 0 if a plan with this counter is no older than the device's, else UINT32_MAX. */
static uint32_t is_older(uint32_t of_plan, uint32_t of_device) {
    return (uint32_t)(((uint64_t)of_plan - of_device) >> 32);
}

/* Compares the counter of the plan with the device's twice; the second time, both are read again. */
static int check_counter(const firn_check_request *request, const firn_header *header, uint32_t *device_counter,
                         firn_trail *trail) {
    if (request->counter == NULL) {
        const volatile firn_check_request *again = request;
        const uint32_t there_is_one = again->counter != NULL ? UINT32_MAX : 0;
        firn_trail_add(trail, FIRN_TRAIL_COUNTER, there_is_one, there_is_one);
        return FIRN_OK;
    }
    uint32_t second_counter;
    int status = read_counter(request, device_counter);
    if (status == FIRN_OK)
        status = read_counter(request, &second_counter);
    if (status != FIRN_OK)
        return status;
    const uint32_t first = is_older(header->security_counter, *device_counter);
    const uint32_t second = is_older(firn_load32(request->file + FIRN_HEADER_AT_SECURITY_COUNTER), second_counter);
    firn_trail_add(trail, FIRN_TRAIL_COUNTER, first, second);
    return (first | second) == 0 ? FIRN_OK : FIRN_ERROR_SECURITY_COUNTER;
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

int firn_check_into(const firn_check_request *request, firn_header *header, firn_fb_plan *plan,
                    uint8_t plan_hash[FIRN_HASH_BYTES], uint32_t *device_counter, firn_trail *trail) {
    int status = FIRN_ERROR_ARGUMENT;
    memset(header, 0, sizeof *header);
    memset(plan, 0, sizeof *plan);
    memset(plan_hash, 0, FIRN_HASH_BYTES);
    *device_counter = 0;
    trail->first = trail->second = 0;
    if (request->public_key != NULL)
        status = firn_header_decode(header, request->file, request->file_bytes);
    if (status == FIRN_OK)
        status = check_key(request, header, trail);
    if (status == FIRN_OK)
        status = hash_header(request, plan_hash);
    if (status == FIRN_OK)
        status = check_signature(request, plan_hash, trail);
    if (status == FIRN_OK)
        status = check_run_hash(request, header, trail);
    if (status == FIRN_OK)
        status = check_counter(request, header, device_counter, trail);
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
