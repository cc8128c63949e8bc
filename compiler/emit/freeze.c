/* Freezes a graph and a job to a plan in memory (compiler/firnc.h). The steps are: check the job, run the passes, take
 * the state of an older run, write the payload and the report, add the container, sign, check the plan. This file only
 * calls them in order; each step has its own file. */
#include <string.h>

#include "compiler/emit/continue.h"
#include "compiler/emit/plan_file.h"
#include "compiler/emit/report.h"
#include "compiler/emit/write.h"
#include "compiler/firnc.h"
#include "compiler/passes/driver.h"
#include "plan/errors.h"

/* Signs a sealed plan in memory; *file is replaced. */
static bool sign(const char *name, const firnc_key *key, firnc_bytes *file, uint8_t digest[FIRN_HASH_BYTES]) {
    uint8_t signature[FIRN_SIGNATURE_BYTES];
    if (!firnc_plan_prepare(name, file, digest) || !firnc_sign(key, digest, signature))
        return false;
    firnc_plan_attach(file, signature);
    return true;
}

/* Checks the plan as a device does. A plan that the runtime refuses is a bug of the compiler, and has to fail here and
 * not on the device. */
static bool check(const firnc_compilation *compilation, const firnc_bytes *file, const uint8_t *public_key,
                  firnc_plan_file *checked) {
    int status = firnc_plan_check(file, public_key, 0, checked);
    return status == FIRN_OK ||
           firnc_fail(compilation,
                      "the plan that was made does not pass its checks: %s (%s); unless graph or job break a rule of "
                      "compiler/firnc.h, this is a bug of firnc",
                      firn_error_text(status), firn_error_name(status));
}

static bool check_arguments(const firnc_job *job, const firnc_key *key, const char *dump_after) {
    if (key == NULL)
        return firnc_job_fail(job, NULL, "the key is NULL; read it with firnc_key_read");
    return dump_after == NULL || firnc_pass_exists(dump_after) ||
           firnc_job_fail(job, NULL, "dump_after: %s is not a pass; write one of %s", dump_after, firnc_pass_names());
}

/* Writes the payload. If an older run's place in the data means nothing to this one, its initial integers are written
 * again. */
static bool write_payload(firnc_compilation *compilation, firnc_payload *payload) {
    bool changed = false;
    return firnc_continue(compilation) && firnc_write_payload(compilation, payload) &&
           firnc_continue_data(compilation, payload, &changed) &&
           (!changed || firnc_write_payload_again(compilation, payload));
}

bool firnc_freeze_plan(firnc_graph *graph, const firnc_job *job, const firnc_key *key,
                       const firnc_freeze_options *options, firnc_frozen *plan) {
    const firnc_freeze_options usual = {0}, *chosen = options != NULL ? options : &usual;
    firnc_compilation compilation = {.job = job, .graph = graph};
    firnc_frozen made = {0};
    firnc_payload payload;
    firnc_bytes report;
    firnc_plan_file checked;
    if (!firnc_job_check(job) || !check_arguments(job, key, chosen->dump_after) ||
        !firnc_run_passes(&compilation, chosen->dump_after) || !write_payload(&compilation, &payload))
        return false;
    report = firnc_write_report(&compilation, &payload);
    if (!firnc_plan_seal(&compilation, &payload, &report, key->public_key, &made.file))
        return false;
    if (!chosen->without_signature && !sign(job->name, key, &made.file, made.plan_hash))
        return false;
    if (!check(&compilation, &made.file, chosen->without_signature ? NULL : key->public_key, &checked) ||
        !firnc_continue_check(&compilation, &made.file, &checked))
        return false;
    memcpy(made.run_hash, checked.header.run_hash, sizeof made.run_hash);
    *plan = made;
    return true;
}
