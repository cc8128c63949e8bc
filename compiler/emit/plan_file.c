/* The container of a plan, and the messages about a refused plan. write.c writes the payload, plan/checks/check.c makes
 * the checks, sign.c handles keys; none of that belongs here. */
#include "compiler/emit/plan_file.h"

#include <stdio.h>
#include <string.h>

#include "compiler/base/words.h"
#include "plan/bytes.h"
#include "plan/checks/semantics.h"
#include "plan/errors.h"
#include "plan/keys/file_kind.h"
#include "plan/needs.h"
#include "plan/signature.h"

#define POOL_BYTES (UINT64_C(4) << 16) /* enough for the largest plan that the schema allows */

/* --- making ------------------------------------------------------------------------------------------------------- */

static bool hash_failed(int status) {
    if (status != FIRN_OK)
        firnc_say("firnc: %s; this is a bug of firnc", firn_error_text(status));
    return status != FIRN_OK;
}

/* Adds the regions that the plan has, by ascending kind. */
static void fill_regions(firn_header *header, const firnc_graph *graph) {
    for (unsigned kind = 0; kind < FIRNC_REGIONS; kind++) {
        if (graph->region_bytes[kind] == 0)
            continue;
        header->region_kinds[header->region_count] = (uint8_t)kind;
        header->region_bytes[header->region_count++] = graph->region_bytes[kind];
    }
}

/* The FlatBuffers part as it was written; our own writer needs no verifier. */
static firn_counts counts_of(const firnc_payload *payload) {
    return firn_semantics_count(firn_fb_plan_root(payload->bytes));
}

bool firnc_plan_seal(const firnc_compilation *compilation, const firnc_payload *payload, const firnc_bytes *report,
                     const uint8_t *public_key, firnc_bytes *file) {
    const firnc_job *job = compilation->job;
    const uint32_t mode = compilation->graph->eval ? FIRN_MODE_EVAL : FIRN_MODE_TRAIN;
    firn_header header = {.format_major = FIRN_FORMAT_MAJOR,
                          .needs_minor = firn_needs_minor(payload->bytes),
                          .total_bytes = FIRN_PAYLOAD_OFFSET + payload->total_bytes + report->count,
                          .algorithm = FIRN_ALGORITHM_NONE,
                          .mode = mode,
                          .image_id = job->image_id,
                          .plan_version = job->plan_version,
                          .security_counter = job->security_counter,
                          .flatbuffers_bytes = payload->flatbuffers_bytes,
                          .constants_offset = FIRN_PAYLOAD_OFFSET + payload->constants_offset,
                          .constants_bytes = payload->constants_bytes,
                          .report_bytes = report->count,
                          .counts = counts_of(payload)};
    fill_regions(&header, compilation->graph);
    memcpy(header.vendor, job->vendor, sizeof header.vendor);
    memcpy(header.class_id, job->class_id, sizeof header.class_id);
    memcpy(header.schema_hash, firn_schema_hash, sizeof header.schema_hash);
    if (hash_failed(firn_key_hash(public_key, header.key_hash)) ||
        hash_failed(firn_sha256_of(payload->bytes, payload->total_bytes, header.run_hash)) ||
        hash_failed(firn_sha256_of(report->data, report->count, header.report_hash)))
        return false;
    *file = (firnc_bytes){.data = firnc_allocate_aligned(header.total_bytes), .count = header.total_bytes};
    firn_header_encode(&header, file->data);
    memcpy(file->data + FIRN_PAYLOAD_OFFSET, payload->bytes, payload->total_bytes);
    memcpy(file->data + firn_header_payload_end(&header), report->data, report->count);
    return true;
}

bool firnc_plan_prepare(const char *name, firnc_bytes *file, uint8_t digest[32]) {
    firn_header header;
    int status = firn_header_decode_unsigned(&header, file->data, file->count);
    if (status != FIRN_OK) {
        firnc_plan_refuse(name, file, status);
        return false;
    }
    header.algorithm = FIRN_ALGORITHM_ECDSA_P256;
    firnc_bytes prepared = {.data = firnc_allocate_aligned(file->count), .count = file->count};
    memcpy(prepared.data, file->data, file->count);
    firn_header_encode(&header, prepared.data);
    *file = prepared;
    return !hash_failed(firn_sha256_of(file->data, FIRN_HEADER_BYTES, digest));
}

void firnc_plan_attach(firnc_bytes *file, const uint8_t signature[64]) {
    memcpy(file->data + FIRN_HEADER_BYTES, signature, FIRN_SIGNATURE_BYTES);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* How many bytes to read: those that the header of the plan announces, and one more, by which a longer file is noticed.
 * Of a file that is no plan the head is enough. */
static uint64_t bytes_of_plan(const uint8_t *head, uint64_t count) {
    if (count < FIRN_PAYLOAD_OFFSET || !firn_is_plan(head, count))
        return count;
    const uint64_t total = firn_load64(head + FIRN_HEADER_TOTAL_BYTES_AT);
    return total >= count && total < UINT64_MAX ? total + 1 : count;
}

_Static_assert((unsigned)FIRNC_HEAD_BYTES >= FIRN_PAYLOAD_OFFSET, "the head has header and signature");

bool firnc_plan_read(const char *name, firnc_bytes *file) {
    return firnc_file_read_part(name, FIRNC_PLAN_BYTES_MAX, bytes_of_plan, file);
}

/* --- checking ----------------------------------------------------------------------------------------------------- */

static int counter_given(void *context, uint32_t *value) {
    *value = *(const uint32_t *)context;
    return FIRN_OK;
}

int firnc_plan_check(const firnc_bytes *file, const uint8_t *public_key, uint32_t counter, firnc_plan_file *checked) {
    const firn_check_request request = {.mark = FIRN_CHECK_REQUEST,
                                        .file = file->data,
                                        .file_bytes = file->count,
                                        .keys = {.list = public_key, .count = 1},
                                        .pool = firnc_allocate(POOL_BYTES),
                                        .pool_bytes = POOL_BYTES,
                                        .life = {.context = &counter},
                                        .counter = counter_given};
    int status = public_key != NULL ? firn_check(&request, checked) : firn_check_untrusted(&request, checked);
    if (status == FIRN_OK && file->count != firn_header_payload_end(&checked->header))
        status = firn_check_report(&request, &checked->header);
    return status;
}

/* Names the version that a plan needs, which the text of the error cannot. Only plans of this major version have their
 * minor version where this build reads it. */
static void refuse_version(const char *name, const firnc_bytes *file) {
    uint32_t major, minor;
    int status = firn_plan_version(file->data, file->count, &major, &minor);
    const char *minor_part = major == FIRN_FORMAT_MAJOR ? firnc_format(".%u", (unsigned)minor) : "";
    firnc_say(
        "firnc: %s: refused: it needs format %u%s, and this version of firnc has %u.%u (%s); %s", name, (unsigned)major,
        minor_part, FIRN_FORMAT_MAJOR, FIRN_FORMAT_MINOR, firn_error_name(FIRN_ERROR_FORMAT_VERSION),
        status == FIRN_OK && major >= FIRN_FORMAT_MAJOR ? "use a newer firnc, or compile the plan again with this one"
                                                        : "compile it again with this version of firnc");
}

/* Names what was given in place of a plan. A short file of another kind is no plan that was cut. */
static void refuse_other(const char *name, const firnc_bytes *file) {
    const firn_file_kind *kind = firn_file_kind_of(file->data, file->count);
    firnc_say("firnc: %s: refused: %s%s%s (%s); give the plan that firnc compile wrote", name,
              file->count == 0 ? "it is empty" : "it begins like ",
              file->count == 0 ? ""
              : kind != NULL   ? kind->name
                               : "no plan",
              kind != NULL ? ", and not like a plan" : "", firn_error_name(FIRN_ERROR_MAGIC));
}

void firnc_plan_refuse(const char *name, const firnc_bytes *file, int error) {
    if (!firn_is_plan(file->data, file->count)) {
        refuse_other(name, file);
        return;
    }
    if (error == FIRN_ERROR_FORMAT_VERSION) {
        refuse_version(name, file);
        return;
    }
    const char *mend = "get the plan again from where it was compiled";
    if (error == FIRN_ERROR_WRONG_KEY || error == FIRN_ERROR_KEY)
        mend = "give the public key that belongs to the key it was signed with";
    else if (error == FIRN_ERROR_UNSIGNED)
        mend = "sign it with firnc sign and firnc attach";
    else if (error == FIRN_ERROR_ALGORITHM)
        mend = "give a plan that firnc compile --unsigned wrote, or one of this version of Firn";
    else if (error == FIRN_ERROR_SECURITY_COUNTER)
        mend = "compile it again with a higher --security-counter";
    else if (error == FIRN_ERROR_NUMERICS_VERSION)
        mend = "compile it again with this version of firnc";
    firnc_say("firnc: %s: refused: %s (%s); %s", name, firn_error_text(error), firn_error_name(error), mend);
}

void firnc_print_hash(const char *label, const uint8_t hash[FIRN_HASH_BYTES]) {
    printf("%s %s\n", label, firnc_hex(hash, FIRN_HASH_BYTES));
}
