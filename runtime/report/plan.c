/* Says what a plan is: hashes, who signed it, sizes, precision, schedules (runtime/report/report.h). The plan is
 * verified as before a run, and not opened, because that takes the memory of the run. What only its report says is in
 * "said". */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/costs/costs.h"
#include "plan/generated/words.h"
#include "plan/identity.h"
#include "plan/schedule_list.h"
#include "runtime/report/report.h"

enum { SCHEDULE_POINTS = 1024 };

/* --- reading --- */

/* Verifies the plan as the runtime does before it opens one. The header has been decoded, and is not trusted yet. */
static int verify(report_plan *plan, firn_checked *checked) {
    const cli_session *session = &plan->session;
    plan->pool_bytes = firn_check_pool_bytes(&plan->header.counts);
    plan->pool = firn_host_block(plan->pool_bytes);
    const firn_check_request request = {
        .mark = FIRN_CHECK_REQUEST,
        .file = session->plan.bytes,
        .file_bytes = session->plan.count,
        .keys = {.list = session->keys[0], .count = session->options->key_count},
        .pool = plan->pool,
        .pool_bytes = plan->pool != NULL ? plan->pool_bytes : 0,
    };
    int error = firn_check(&request, checked);
    if (error == FIRN_OK && session->plan.count != firn_header_payload_end(&checked->header))
        error = firn_check_report(&request, &checked->header);
    return error;
}

/* What firn_describe says of an open plan. */
static int describe(report_plan *plan, const firn_checked *checked) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(checked->plan);
    const firn_alive silent = {NULL, NULL};
    plan->info = (firn_info){.eval = checked->header.mode == FIRN_MODE_EVAL,
                             .steps = firn_fb_plan_steps(checked->plan),
                             .micro_batches = firn_fb_plan_micro_batches(checked->plan),
                             .samples = firn_fb_sampler_samples(sampler),
                             .window = firn_fb_sampler_window(sampler)};
    memcpy(plan->info.plan_hash, checked->plan_hash, sizeof plan->info.plan_hash);
    memcpy(plan->info.run_hash, checked->header.run_hash, sizeof plan->info.run_hash);
    for (uint32_t i = 0; i < firn_fb_plan_state_tensors(checked->plan); i++) {
        const firn_fb_tensor tensor = firn_fb_plan_tensors_at(checked->plan, i);
        if (firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_PARAMETER)
            plan->info.parameters += firn_tensor_elements(tensor);
    }
    return firn_model_hash(checked->plan, &checked->header, plan->session.plan.bytes, &silent, plan->info.model_hash);
}

int report_plan_read(report_plan *plan, const cli_options *options) {
    cli_session *session = &plan->session;
    firn_checked checked;
    session->options = options;
    for (uint32_t i = 0; i < options->key_count; i++)
        if (!firn_host_key_load(session->keys[i], options->keys[i]))
            return CLI_FILE;
    if (!firn_host_plan_load(&session->plan, options->file))
        return CLI_FILE;
    if (!firn_is_plan(session->plan.bytes, session->plan.count))
        return cli_refuse_no_plan(options->file, &session->plan);
    int error = firn_header_decode(&plan->header, session->plan.bytes, session->plan.count);
    if (error == FIRN_OK)
        error = verify(plan, &checked);
    if (error == FIRN_OK)
        error = describe(plan, &checked);
    if (error != FIRN_OK)
        return cli_error(session, error);
    plan->plan = checked.plan;
    const uint64_t begin = firn_header_payload_end(&plan->header);
    if (session->plan.count > begin)
        plan->said =
            cJSON_ParseWithLength((const char *)session->plan.bytes + begin, (size_t)(session->plan.count - begin));
    return CLI_OK;
}

void report_plan_free(report_plan *plan) {
    cJSON_Delete(plan->said);
    firn_host_block_free(plan->pool, plan->pool_bytes);
    firn_host_plan_unload(&plan->session.plan);
}

/* --- what it is --- */

static void put_texts(FILE *to, const char *name, const cJSON *list) {
    const cJSON *item;
    const char *separator = "";
    fprintf(to, ",\"%s\":[", name);
    cJSON_ArrayForEach(item, list) {
        fputs(separator, to);
        separator = ",";
        report_put_text(to, cJSON_IsString(item) ? item->valuestring : "");
    }
    fputc(']', to);
}

static const char *said_text(const report_plan *plan, const char *name) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(plan->said, name));
}

/* Returns the file of the key that the header names; the plan was verified with it. */
static const char *signer_of(const report_plan *plan) {
    const cli_options *options = plan->session.options;
    for (uint32_t i = 0; i < options->key_count; i++) {
        uint8_t hash[FIRN_HASH_BYTES];
        if (firn_key_hash(plan->session.keys[i], hash) == FIRN_OK &&
            memcmp(hash, plan->header.key_hash, sizeof hash) == 0)
            return options->keys[i];
    }
    return NULL;
}

static void put_identity(FILE *to, const report_plan *plan) {
    const firn_header *header = &plan->header;
    const firn_info *info = &plan->info;
    report_put_hash(to, "planHash", info->plan_hash);
    report_put_hash(to, "runHash", info->run_hash);
    report_put_hash(to, "modelHash", info->model_hash);
    report_put_hash(to, "keyHash", header->key_hash);
    report_put_member(to, "key", signer_of(plan));
    fprintf(to, ",\"format\":\"%lu.%lu\",\"image\":%lu,\"version\":%lu,\"counter\":%lu,\"bytes\":%llu",
            (unsigned long)header->format_major, (unsigned long)header->needs_minor, (unsigned long)header->image_id,
            (unsigned long)header->plan_version, (unsigned long)header->security_counter,
            (unsigned long long)header->total_bytes);
    report_put_member(to, "compiler", said_text(plan, "compiler"));
    report_put_member(to, "model", said_text(plan, "model"));
    report_put_member(to, "target", said_text(plan, "target"));
    report_put_member(to, "lowering", said_text(plan, "pol_lowering"));
}

/* --- what it computes --- */

static uint64_t frozen_of(firn_fb_plan plan) {
    uint64_t elements = 0;
    for (uint32_t i = firn_fb_plan_state_tensors(plan); i < firn_fb_plan_tensors_count(plan); i++) {
        const firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        if (firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_FROZEN && firn_fb_tensor_base(tensor) == FIRN_ABSENT)
            elements += firn_tensor_elements(tensor);
    }
    return elements;
}

/* The half type in which the plan computes; NULL: none. */
static const char *half_of(firn_fb_plan plan) {
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++) {
        const uint8_t type = firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, i));
        if (type == FIRN_FLOAT16 || type == FIRN_BFLOAT16 || type == FIRN_CBFLOAT16)
            return firn_type_name(type);
    }
    return NULL;
}

static void put_run(FILE *to, const report_plan *plan) {
    const firn_info *info = &plan->info;
    const firn_fb_sampler sampler = firn_fb_plan_sampler(plan->plan);
    const report_unit unit = report_unit_of(plan->plan);
    fprintf(to, ",\"mode\":\"%s\",\"steps\":%llu,\"microBatches\":%lu,\"samples\":%lu,\"window\":%lu",
            info->eval ? "eval" : "train", (unsigned long long)info->steps, (unsigned long)info->micro_batches,
            (unsigned long)info->samples, (unsigned long)info->window);
    fprintf(to, ",\"parameters\":%llu,\"frozen\":%llu,\"seed\":\"%llu\",\"heldOut\":%lu",
            (unsigned long long)info->parameters, (unsigned long long)frozen_of(plan->plan),
            (unsigned long long)firn_fb_plan_seed(plan->plan),
            (unsigned long)firn_fb_sampler_held_out_per_mille(sampler));
    report_put_member(to, "order", firn_fb_sampler_kind_word(firn_fb_sampler_kind(sampler)));
    report_put_member(to, "half", half_of(plan->plan));
    report_put_member(to, "lossName", unit.loss);
    report_put_member(to, "unit", unit.unit);
    fputs(",\"guess\":", to);
    report_put_number(to, report_guess_of(plan->plan), 7);
    fprintf(to, ",\"scaled\":%s,\"skips\":%s", firn_fb_plan_loss_scale(plan->plan) != FIRN_ABSENT ? "true" : "false",
            firn_fb_plan_finite(plan->plan) != FIRN_ABSENT ? "true" : "false");
}

/* --- schedules over the whole run --- */

static int by_step(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

size_t report_steps_around(uint64_t steps[3], uint64_t edge, uint64_t run) {
    size_t count = 0;
    if (edge >= run)
        return 0;
    if (edge > 0)
        steps[count++] = edge - 1;
    steps[count++] = edge;
    if (run - edge > 1)
        steps[count++] = edge + 1;
    return count;
}

/* The optimizer steps at which schedules are drawn: evenly spaced ones, and those around the boundaries of their nodes.
 * Returns their number; the caller frees them. */
static size_t steps_of(const report_plan *plan, uint64_t run, uint64_t **steps) {
    const uint32_t nodes = firn_fb_plan_schedule_nodes_count(plan->plan);
    const uint64_t even = run < SCHEDULE_POINTS ? run : SCHEDULE_POINTS;
    uint64_t *list = firn_host_allocate((size_t)(even + 6 * (uint64_t)nodes) * sizeof *list);
    size_t count = 0, kept = 0;
    for (uint64_t i = 0; i < even; i++)
        list[count++] = even == 1 ? 0 : (run - 1) / (even - 1) * i + (run - 1) % (even - 1) * i / (even - 1);
    for (uint32_t n = 0; n < nodes; n++) {
        const firn_fb_schedule_node node = firn_fb_plan_schedule_nodes_at(plan->plan, n);
        const bool ends = node.start < run && node.total < run - node.start;
        count += report_steps_around(list + count, node.start, run);
        count += ends ? report_steps_around(list + count, node.start + node.total, run) : 0;
    }
    qsort(list, count, sizeof *list, by_step);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || list[i] != list[kept - 1])
            list[kept++] = list[i];
    *steps = list;
    return kept;
}

static void put_schedule(FILE *to, const report_plan *plan, uint32_t index, const uint64_t *steps, size_t count) {
    const firn_schedule_list list = firn_plan_schedule_list(plan->plan);
    const firn_fb_schedule schedule = firn_fb_plan_schedules_at(plan->plan, index);
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(plan->said, "schedules");
    const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(names, (int)index));
    fprintf(to, "%s{\"name\":", index == 0 ? "" : ",");
    report_put_text(to, name != NULL                                                                  ? name
                        : firn_fb_schedule_tensor(schedule) == firn_fb_plan_learning_rate(plan->plan) ? "learning_rate"
                                                                                                      : "schedule");
    fputs(",\"values\":[[", to);
    for (size_t i = 0; i < count; i++)
        fprintf(to, "%s%llu", i == 0 ? "" : ",", (unsigned long long)steps[i]);
    fputs("],[", to);
    for (size_t i = 0; i < count; i++) {
        fputs(i == 0 ? "" : ",", to);
        report_put_number(to, (double)firn_schedule_value(&list, firn_fb_schedule_root(schedule), steps[i]), 7);
    }
    fputs("]]}", to);
}

/* What the report says of a group: its optimizer, how many tensors it has, and its decay or the schedule of it. */
static void put_groups(FILE *to, const report_plan *plan) {
    const cJSON *group;
    const char *separator = "";
    fputs(",\"groups\":[", to);
    cJSON_ArrayForEach(group, cJSON_GetObjectItemCaseSensitive(plan->said, "groups")) {
        static const char *const numbers[] = {"parameters", "schedule", "weight_decay", "decay_schedule"};
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(group, "name"));
        fprintf(to, "%s{\"name\":", separator);
        separator = ",";
        report_put_text(to, name != NULL ? name : "");
        report_put_member(to, "optimizer", cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(group, "optimizer")));
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            const cJSON *number = cJSON_GetObjectItemCaseSensitive(group, numbers[i]);
            if (!cJSON_IsNumber(number))
                continue;
            fprintf(to, ",\"%s\":", numbers[i]);
            report_put_number(to, (double)(float)number->valuedouble, 7);
        }
        fputc('}', to);
    }
    fputc(']', to);
}

static void put_schedules(FILE *to, const report_plan *plan) {
    uint64_t *steps = NULL;
    const uint64_t run = plan->info.steps;
    const size_t count = steps_of(plan, run, &steps);
    fputs(",\"schedules\":[", to);
    for (uint32_t i = 0; run != 0 && i < firn_fb_plan_schedules_count(plan->plan); i++)
        put_schedule(to, plan, i, steps, count);
    fputc(']', to);
    free(steps);
}

/* The run that this plan's run continues, if it does. */
static void put_origin(FILE *to, const report_plan *plan) {
    const cJSON *origin = cJSON_GetObjectItemCaseSensitive(plan->said, "origin");
    const cJSON *step = cJSON_GetObjectItemCaseSensitive(origin, "step");
    const char *run = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(origin, "run"));
    if (run == NULL || !cJSON_IsNumber(step))
        return;
    fputs(",\"origin\":{\"run\":", to);
    report_put_text(to, run);
    fputs(",\"step\":", to);
    report_put_number(to, step->valuedouble, 17);
    fputc('}', to);
}

void report_plan_put(FILE *to, const report_plan *plan) {
    fputs("{\"path\":", to);
    report_put_text(to, plan->session.options->file);
    put_identity(to, plan);
    put_run(to, plan);
    put_origin(to, plan);
    put_schedules(to, plan);
    put_groups(to, plan);
    put_texts(to, "frozenPatterns", cJSON_GetObjectItemCaseSensitive(plan->said, "frozen"));
    fputs(",\"memory\":", to);
    report_memory_put(to, plan);
    fputs(",\"ops\":", to);
    report_ops_put(to, plan);
    fputc('}', to);
}
