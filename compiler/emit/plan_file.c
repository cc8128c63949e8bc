/* The container of a plan, and the messages about a refused plan. write.c writes the payload, plan/checks/check.c makes
 * the checks, sign.c handles keys; none of that belongs here. */
#include "compiler/emit/plan_file.h"

#include <stdio.h>
#include <string.h>

#include "compiler/base/words.h"
#include "plan/checks/semantics.h"
#include "plan/errors.h"
#include "plan/signature.h"

#define POOL_ALIGNMENT 16u
#define POOL_BYTES     (UINT64_C(4) << 16) /* enough for the largest plan that the schema allows */

/* --- making ------------------------------------------------------------------------------------------------------- */

static bool hash_failed(int status) {
    if (status != FIRN_OK)
        firnc_say("firnc: %s; this is a bug of firnc", firn_error_text(status));
    return status != FIRN_OK;
}

bool firnc_plan_seal(const firnc_compilation *compilation, const firnc_payload *payload, const uint8_t *public_key,
                     firnc_bytes *file) {
    const firnc_graph *graph = compilation->graph;
    uint32_t mode = graph->eval ? FIRN_MODE_EVAL : FIRN_MODE_TRAIN;
    firn_header header = {.container_version = FIRN_CONTAINER_VERSION,
                          .total_bytes = FIRN_HEADER_BYTES + payload->total_bytes,
                          .algorithm = FIRN_ALGORITHM_NONE,
                          .mode = mode,
                          .image_id = mode,
                          .plan_version = compilation->job->plan_version,
                          .security_counter = compilation->job->security_counter,
                          .state_bytes = graph->state_bytes,
                          .arena_bytes = graph->arena_bytes,
                          .pool_bytes = FIRN_POOL_BYTES_MAX,
                          .flatbuffers_bytes = payload->flatbuffers_bytes,
                          .constants_offset = FIRN_HEADER_BYTES + payload->constants_offset,
                          .constants_bytes = payload->constants_bytes,
                          .ops = payload->ops};
    uint64_t scratch_bytes = firn_semantics_scratch_bytes(payload->tensors, payload->state_tensors);
    if (header.pool_bytes < scratch_bytes)
        header.pool_bytes = (scratch_bytes + POOL_ALIGNMENT - 1) / POOL_ALIGNMENT * POOL_ALIGNMENT;
    if (header.arena_bytes < header.pool_bytes)
        header.arena_bytes = header.pool_bytes; /* the pool is lent from the arena */
    memcpy(header.vendor, compilation->job->vendor, sizeof header.vendor);
    memcpy(header.class_id, compilation->job->class_id, sizeof header.class_id);
    memcpy(header.schema_hash, firn_schema_hash, sizeof header.schema_hash);
    if (hash_failed(firn_key_hash(public_key, header.key_hash)) ||
        hash_failed(firn_sha256_of(payload->bytes, payload->total_bytes, header.run_hash)))
        return false;
    *file = (firnc_bytes){.data = firnc_allocate_aligned(header.total_bytes), .count = header.total_bytes};
    firn_header_encode(&header, file->data);
    memcpy(file->data + FIRN_HEADER_BYTES, payload->bytes, payload->total_bytes);
    return true;
}

bool firnc_plan_prepare(const char *name, firnc_bytes *file, uint8_t digest[32]) {
    firn_header header;
    int status = firn_header_decode_unsigned(&header, file->data, file->count);
    if (status != FIRN_OK) {
        firnc_plan_refuse(name, status);
        return false;
    }
    header.algorithm = FIRN_ALGORITHM_ECDSA_P256;
    header.signature_bytes = FIRN_SIGNATURE_BYTES;
    header.total_bytes += FIRN_SIGNATURE_BYTES;
    firnc_bytes prepared = {.data = firnc_allocate_aligned(header.total_bytes), .count = header.total_bytes};
    memcpy(prepared.data, file->data, file->count);
    firn_header_encode(&header, prepared.data);
    *file = prepared;
    return !hash_failed(firn_sha256_of(file->data, file->count - FIRN_SIGNATURE_BYTES, digest));
}

void firnc_plan_attach(firnc_bytes *file, const uint8_t signature[64]) {
    memcpy(file->data + (file->count - FIRN_SIGNATURE_BYTES), signature, FIRN_SIGNATURE_BYTES);
}

/* --- checking ----------------------------------------------------------------------------------------------------- */

static int counter_given(void *context, uint32_t *value) {
    *value = *(const uint32_t *)context;
    return FIRN_OK;
}

int firnc_plan_check(const firnc_bytes *file, const uint8_t *public_key, uint32_t counter, firnc_plan_file *checked) {
    const firn_check_request request = {.file = file->data,
                                        .file_bytes = file->count,
                                        .public_key = public_key,
                                        .state_bytes = UINT64_MAX,
                                        .arena_bytes = UINT64_MAX,
                                        .pool = firnc_allocate(POOL_BYTES),
                                        .pool_bytes = POOL_BYTES,
                                        .context = &counter,
                                        .counter = counter_given};
    return public_key != NULL ? firn_check(&request, checked) : firn_check_untrusted(&request, checked);
}

void firnc_plan_refuse(const char *name, int error) {
    const char *mend = "get the plan again from where it was compiled";
    if (error == FIRN_ERROR_WRONG_KEY || error == FIRN_ERROR_KEY)
        mend = "give the public key that belongs to the key it was signed with";
    else if (error == FIRN_ERROR_UNSIGNED)
        mend = "sign it with firnc sign and firnc attach";
    else if (error == FIRN_ERROR_ALGORITHM)
        mend = "give a plan that firnc compile --unsigned wrote, or one of this version of Firn";
    else if (error == FIRN_ERROR_SECURITY_COUNTER)
        mend = "compile it again with a higher --security-counter";
    else if (error == FIRN_ERROR_SCHEMA_HASH || error == FIRN_ERROR_CONTAINER_VERSION ||
             error == FIRN_ERROR_NUMERICS_VERSION)
        mend = "compile it again with this version of firnc";
    firnc_say("firnc: %s: refused: %s (%s); %s", name, firn_error_text(error), firn_error_name(error), mend);
}

void firnc_print_hash(const char *label, const uint8_t hash[FIRN_HASH_BYTES]) {
    printf("%s %s\n", label, firnc_hex(hash, FIRN_HASH_BYTES));
}
