/* firn train --profile: measures how long each op of a run takes. The library calls `alive` of the port behind each op
 * of a step and nowhere else in it, so the times between these calls are those of the ops, and the run itself is not
 * changed: same bits, same digest. The order of the ops follows from the phases of the plan. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

/* The step that is measured; NULL: none. The functions of a port and of a source have contexts of their own. */
static cli_profile *measured;

/* --- while a step runs --- */

static void note_op(void *context) {
    (void)context;
    if (measured == NULL)
        return;
    const double now = cli_seconds();
    if (measured->calls < measured->room)
        measured->times[measured->calls] = now - measured->mark;
    measured->calls++;
    measured->mark = now;
}

/* Reads samples. All that is between the op before and the end of a read is the time of the data. */
static int read_samples(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    cli_profile *profile = context;
    const int error = profile->source.read(profile->source.context, stream, first, count, elements);
    if (measured == NULL)
        return error;
    const double now = cli_seconds();
    profile->data_seconds_of_step += now - profile->mark;
    profile->mark = now;
    return error;
}

/* --- the order of the ops --- */

static uint32_t ops_of(firn_fb_plan plan, uint8_t kind, uint32_t *first) {
    *first = 0;
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        const firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        if (firn_fb_phase_kind(phase) == kind)
            return firn_fb_phase_ops_count(phase);
        *first += firn_fb_phase_ops_count(phase);
    }
    return 0;
}

/* Adds the times of one run of a phase to its ops. *next is its first call. */
static void add_phase(cli_profile *profile, uint8_t kind, uint64_t times, uint64_t *next) {
    uint32_t first;
    const uint32_t ops = ops_of(cli_plan(profile->session), kind, &first);
    for (uint64_t t = 0; t < times; t++)
        for (uint32_t i = 0; i < ops; i++)
            profile->seconds[first + i] += profile->times[(*next)++];
}

/* How many calls a step makes that runs all of its phases. */
static uint64_t calls_of(const cli_profile *profile, bool derives, bool updates) {
    const firn_fb_plan plan = cli_plan(profile->session);
    const uint64_t micro = firn_fb_plan_micro_batches(plan);
    uint32_t first;
    return (derives ? ops_of(plan, FIRN_FB_PHASE_KIND_DERIVE, &first) : 0) +
           micro * ops_of(plan, FIRN_FB_PHASE_KIND_COUNT, &first) +
           micro * ops_of(plan, FIRN_FB_PHASE_KIND_MICRO_BATCH, &first) +
           ops_of(plan, FIRN_FB_PHASE_KIND_FINALISE, &first) +
           (updates ? ops_of(plan, FIRN_FB_PHASE_KIND_UPDATE, &first) : 0) +
           ops_of(plan, FIRN_FB_PHASE_KIND_BOOKKEEP, &first);
}

/* --- beginning and ending --- */

int cli_profile_begin(cli_profile *profile, cli_session *session) {
    const cli_options *options = session->options;
    *profile = (cli_profile){.session = session, .path = options->profile};
    if (profile->path == NULL)
        return CLI_OK;
    if (options->ranks != NULL) {
        firn_host_fail(options->command,
                       "--profile measures one process, and firn-mpi shares a step among several; leave "
                       "it out, or run firn");
        return CLI_USAGE;
    }
    if (!firn_host_replaceable(profile->path))
        return CLI_FILE;
    uint32_t ops = 0;
    (void)ops_of(cli_plan(session), UINT8_MAX, &ops);
    profile->ops = ops;
    profile->room = calls_of(profile, true, true);
    profile->times = firn_host_allocate((size_t)profile->room * sizeof *profile->times);
    profile->seconds = firn_host_allocate(ops * sizeof *profile->seconds);
    profile->source = session->source;
    session->source.context = profile;
    session->source.read = read_samples;
    session->port.port.alive = note_op;
    return CLI_OK;
}

void cli_profile_begin_step(cli_profile *profile) {
    if (profile->path == NULL)
        return;
    profile->calls = 0;
    profile->data_seconds_of_step = 0;
    profile->begun = profile->mark = cli_seconds();
    measured = profile;
}

void cli_profile_end_step(cli_profile *profile, bool done, bool skipped) {
    measured = NULL;
    if (profile->path == NULL || !done)
        return;
    const bool derives = profile->calls == calls_of(profile, true, !skipped);
    if (!derives && profile->calls != calls_of(profile, false, !skipped)) {
        profile->unmeasured++;
        return;
    }
    const uint64_t micro = firn_fb_plan_micro_batches(cli_plan(profile->session));
    uint64_t next = 0;
    add_phase(profile, FIRN_FB_PHASE_KIND_DERIVE, derives ? 1 : 0, &next);
    add_phase(profile, FIRN_FB_PHASE_KIND_COUNT, micro, &next);
    add_phase(profile, FIRN_FB_PHASE_KIND_MICRO_BATCH, micro, &next);
    add_phase(profile, FIRN_FB_PHASE_KIND_FINALISE, 1, &next);
    add_phase(profile, FIRN_FB_PHASE_KIND_UPDATE, skipped ? 0 : 1, &next);
    add_phase(profile, FIRN_FB_PHASE_KIND_BOOKKEEP, 1, &next);
    profile->step_seconds += cli_seconds() - profile->begun;
    profile->data_seconds += profile->data_seconds_of_step;
    profile->steps++;
}

static void add_hash(cJSON *root, const char *name, const uint8_t hash[32]) {
    char text[65];
    cli_hex(text, hash);
    cJSON_AddStringToObject(root, name, text);
}

static cJSON *document_of(const cli_profile *profile) {
    const cli_session *session = profile->session;
    cJSON *root = cJSON_CreateObject(), *ops = cJSON_CreateArray();
    cJSON_AddStringToObject(root, "firn", FIRN_VERSION);
    add_hash(root, "plan_hash", session->info.plan_hash);
    add_hash(root, "run_hash", session->info.run_hash);
    cJSON_AddStringToObject(root, "kernels", session->info.kernels);
    cJSON_AddNumberToObject(root, "threads",
                            session->port.threads != NULL ? firn_host_threads_count(session->port.threads) : 1);
    cJSON_AddNumberToObject(root, "steps", (double)profile->steps);
    cJSON_AddNumberToObject(root, "unmeasured", (double)profile->unmeasured);
    cJSON_AddNumberToObject(root, "seconds", profile->step_seconds);
    cJSON_AddNumberToObject(root, "data_seconds", profile->data_seconds);
    for (uint32_t i = 0; i < profile->ops; i++)
        cJSON_AddItemToArray(ops, cJSON_CreateNumber(profile->seconds[i]));
    cJSON_AddItemToObject(root, "op_seconds", ops);
    return root;
}

int cli_profile_write(const cli_profile *profile) {
    if (profile->path != NULL && profile->steps == 0 && profile->unmeasured != 0)
        firn_host_note("%s was not written: none of the %llu steps ran the ops of the plan one by one, so there are no "
                       "times of them; one that is there is of an older run",
                       profile->path, (unsigned long long)profile->unmeasured);
    if (profile->path == NULL || profile->steps == 0)
        return CLI_OK;
    cJSON *root = document_of(profile);
    const int status = cli_json_write(profile->path, root);
    cJSON_Delete(root);
    return status;
}

void cli_profile_end(cli_profile *profile) {
    free(profile->times);
    free(profile->seconds);
    *profile = (cli_profile){0};
}
