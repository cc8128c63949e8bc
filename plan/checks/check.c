/* The chain of checks. This file only defines their order; each check is implemented in the file for its part of the
 * plan. No rule that reads the payload may be added here. A status starts as a failure, and only a check may turn it
 * into success. */
#include "plan/checks/check.h"

#include <string.h>

#include "plan/checks/semantics.h"
#include "plan/checks/verifier.h"
#include "plan/errors.h"

static void show_life(const firn_check_request *request) {
    if (request->alive != NULL)
        request->alive(request->context);
}

/* SHA-256 of `count` bytes. Calls `alive` for every FIRN_ALIVE_BYTES. */
static int hash_span(const firn_check_request *request, const uint8_t *bytes, uint64_t count,
                     uint8_t digest[FIRN_HASH_BYTES]) {
    firn_sha256 hash;
    int status = firn_sha256_begin(&hash);
    for (uint64_t at = 0; status == FIRN_OK && at < count;) {
        uint64_t left = count - at;
        size_t piece = left < FIRN_ALIVE_BYTES ? (size_t)left : FIRN_ALIVE_BYTES;
        status = firn_sha256_update(&hash, bytes + at, piece);
        at += piece;
        show_life(request);
    }
    return status == FIRN_OK ? firn_sha256_end(&hash, digest) : status;
}

static int check_blocks(const firn_check_request *request, const firn_header *header) {
    if (request->state_bytes < header->state_bytes)
        return FIRN_ERROR_STATE_TOO_SMALL;
    if (request->arena_bytes < header->arena_bytes)
        return FIRN_ERROR_ARENA_TOO_SMALL;
    return FIRN_OK;
}

static int check_key(const firn_check_request *request, const firn_header *header) {
    uint8_t hash[FIRN_HASH_BYTES];
    int status = firn_key_hash(request->public_key, hash);
    if (status != FIRN_OK)
        return status;
    return memcmp(hash, header->key_hash, sizeof hash) == 0 ? FIRN_OK : FIRN_ERROR_WRONG_KEY;
}

static int hash_signed_bytes(const firn_check_request *request, firn_checked *checked) {
    const firn_header *header = &checked->header;
    return hash_span(request, request->file, header->total_bytes - header->signature_bytes, checked->plan_hash);
}

/* The pool size in the header, limited to the size of the pool that was given. */
static size_t pool_bytes(const firn_check_request *request, const firn_checked *checked) {
    uint64_t asked = checked->header.pool_bytes;
    return (size_t)(asked < request->pool_bytes ? asked : request->pool_bytes);
}

static int check_signature(const firn_check_request *request, const firn_checked *checked) {
    const uint8_t *signature = request->file + (checked->header.total_bytes - FIRN_SIGNATURE_BYTES);
    firn_alive alive = {.context = request->context, .alive = request->alive};
    if (request->lock != NULL)
        request->lock(request->context);
    int status = firn_signature_check(request->public_key, checked->plan_hash, signature, request->pool,
                                      pool_bytes(request, checked), &alive);
    if (request->unlock != NULL)
        request->unlock(request->context);
    return status;
}

/* Resuming a run relies on the run hash, so it is checked as well. */
static int check_run_hash(const firn_check_request *request, const firn_header *header) {
    uint8_t hash[FIRN_HASH_BYTES];
    uint64_t payload_bytes = header->total_bytes - FIRN_HEADER_BYTES - header->signature_bytes;
    int status = hash_span(request, request->file + FIRN_HEADER_BYTES, payload_bytes, hash);
    if (status != FIRN_OK)
        return status;
    return memcmp(hash, header->run_hash, sizeof hash) == 0 ? FIRN_OK : FIRN_ERROR_HEADER_MISMATCH;
}

static int check_counter(const firn_check_request *request, firn_checked *checked) {
    if (request->counter == NULL)
        return FIRN_OK;
    int status = request->counter(request->context, &checked->device_counter);
    if (status != FIRN_OK)
        return status;
    return checked->header.security_counter >= checked->device_counter ? FIRN_OK : FIRN_ERROR_SECURITY_COUNTER;
}

static int check_payload(const firn_check_request *request, firn_checked *checked) {
    if (memcmp(checked->header.schema_hash, firn_schema_hash, FIRN_HASH_BYTES) != 0)
        return FIRN_ERROR_SCHEMA_HASH;
    const uint8_t *payload = request->file + FIRN_HEADER_BYTES;
    int status = firn_fb_verify(payload, checked->header.flatbuffers_bytes);
    if (status != FIRN_OK)
        return status;
    show_life(request);
    checked->plan = firn_fb_plan_root(payload);
    status = firn_semantics_check(checked->plan, &checked->header, request->pool, pool_bytes(request, checked));
    memset(request->pool, 0, pool_bytes(request, checked));
    return status;
}

int firn_check(const firn_check_request *request, firn_checked *checked) {
    int status = FIRN_ERROR_ARGUMENT;
    memset(checked, 0, sizeof *checked);
    if (request->public_key != NULL)
        status = firn_header_decode(&checked->header, request->file, request->file_bytes);
    if (status == FIRN_OK)
        status = check_blocks(request, &checked->header);
    if (status == FIRN_OK)
        status = check_key(request, &checked->header);
    if (status == FIRN_OK)
        status = hash_signed_bytes(request, checked);
    if (status == FIRN_OK)
        status = check_signature(request, checked);
    if (status == FIRN_OK)
        status = check_run_hash(request, &checked->header);
    if (status == FIRN_OK)
        status = check_counter(request, checked);
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
        status = hash_signed_bytes(request, checked);
    if (status == FIRN_OK)
        status = check_run_hash(request, &checked->header);
    if (status == FIRN_OK)
        status = check_payload(request, checked);
    return status;
}
