/* The report of a plan (compiler/emit/report.h): compiler, model and target, the names of tensors and layers, the POL
 * that was asked for, the schedules and groups of parameters by name. Nothing that runs may depend on it: what a plan
 * does is in its payload. */
#include "compiler/emit/report.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

#include "compiler/base/landing.h"
#include "compiler/base/words.h"
#include "compiler/emit/continue.h"
#include "compiler/firnc.h"

/* Ends the call if there was no memory for the list or the item, which is part of no list then. */
static void add_item(cJSON *list, cJSON *item) {
    if (cJSON_AddItemToArray(list, item))
        return;
    cJSON_Delete(item);
    firnc_out_of_memory(0);
}

static void add_name(cJSON *list, const char *name) {
    add_item(list, cJSON_CreateString(name));
}

/* The names of the tensors that have none in the plan, in its order. */
static void add_tensors(cJSON *root, const firnc_compilation *compilation, const firnc_payload *payload) {
    cJSON *names = cJSON_AddArrayToObject(root, "tensors");
    for (uint32_t i = 0; i < payload->tensor_count; i++) {
        const firnc_value_info *value = &compilation->graph->values[payload->tensors[i]];
        if (!firnc_is_state_value(value) && !firnc_is_kept(value->role))
            add_name(names, value->name);
    }
}

/* For each op its layer and, where POL has a say, the level that was asked for and who asked. Since an op
 * linear_cross_entropy is a forward product, too, those of the forward direction follow. */
static void add_ops(cJSON *root, const firnc_graph *graph) {
    cJSON *ops = cJSON_AddArrayToObject(root, "ops");
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        cJSON *op = cJSON_CreateArray();
        add_item(ops, op);
        add_name(op, node->name);
        if (firn_op_find(node->code)->pol == FIRN_POL_none)
            continue;
        add_item(op, cJSON_CreateNumber(node->level));
        add_name(op, firnc_pol_origin_word(node->origin));
        if (node->code != FIRN_OP_linear_cross_entropy)
            continue;
        add_item(op, cJSON_CreateNumber(node->forward_level));
        add_name(op, firnc_pol_origin_word(node->forward_origin));
    }
}

/* The place of a schedule root of the job in the plan's list. Roots that no group uses are not in the plan. */
static uint32_t schedule_of(const firnc_compilation *compilation, uint32_t root) {
    uint32_t place = 0;
    for (uint32_t i = 0; i < root; i++)
        place += compilation->graph->schedules[i] != FIRNC_NONE;
    return place;
}

static void add_schedules(cJSON *root, const firnc_compilation *compilation) {
    const firnc_schedules *schedule = &compilation->job->schedule;
    cJSON *names = cJSON_AddArrayToObject(root, "schedules");
    for (uint32_t i = 0; i < schedule->root_count; i++)
        if (compilation->graph->schedules[i] != FIRNC_NONE)
            add_name(names, schedule->roots[i].name);
}

static void add_groups(cJSON *root, const firnc_compilation *compilation) {
    cJSON *groups = cJSON_AddArrayToObject(root, "groups");
    for (uint32_t i = 0; i < compilation->graph->group_count; i++) {
        const firnc_group *group = &compilation->graph->groups[i];
        cJSON *object = cJSON_CreateObject();
        add_item(groups, object);
        cJSON_AddStringToObject(object, "name", group->name);
        cJSON_AddStringToObject(object, "optimizer", firnc_optimizer_word(group->settings.kind));
        cJSON_AddNumberToObject(object, "schedule", schedule_of(compilation, group->rate_schedule));
        if (group->decay_schedule != FIRNC_NONE)
            cJSON_AddNumberToObject(object, "decay_schedule", schedule_of(compilation, group->decay_schedule));
        else
            cJSON_AddNumberToObject(object, "weight_decay", (double)group->settings.weight_decay);
        cJSON_AddNumberToObject(object, "parameters", group->parameter_count);
    }
}

static void add_text(cJSON *root, const char *text) {
    cJSON *forms = cJSON_GetObjectItemCaseSensitive(root, "fine_tuning");
    add_name(forms != NULL ? forms : cJSON_AddArrayToObject(root, "fine_tuning"), text);
}

/* The forms of fine-tuning, in the words of a recipe. */
static void add_fine_tuning(cJSON *root, const firnc_fine_tuning *form) {
    if (form->bias_only)
        add_text(root, "bias_only");
    if (form->last_layers > 0)
        add_text(root, firnc_format("last_layers %u", (unsigned)form->last_layers));
    for (uint32_t i = 0; i < form->layer_count; i++)
        add_text(root, firnc_format("lora rank %u, alpha %.9g, dropout %.9g: %s", (unsigned)form->rank,
                                    (double)form->alpha, (double)form->dropout, form->layers[i].pattern));
    for (uint32_t i = 0; i < form->trained_count; i++)
        add_text(root, firnc_format("train %s", form->trained[i].pattern));
    if (form->frozen_type != FIRN_FLOAT32)
        add_text(root, firnc_format("frozen_type %s", firn_type_name((uint8_t)form->frozen_type)));
}

/* What the recipe asks of whoever runs the plan, and which parameters it does not train. */
static void add_run(cJSON *root, const firnc_job *job) {
    if (job->checkpoint_steps > 0)
        cJSON_AddNumberToObject(root, "checkpoint_steps", (double)job->checkpoint_steps);
    if (job->save_initial_checkpoint)
        cJSON_AddBoolToObject(root, "save_initial_checkpoint", true);
    if (job->eval_frequency > 0)
        cJSON_AddNumberToObject(root, "eval_frequency", (double)job->eval_frequency);
    cJSON *frozen = job->frozen_count > 0 ? cJSON_AddArrayToObject(root, "frozen") : NULL;
    for (uint32_t i = 0; i < job->frozen_count; i++)
        add_name(frozen, job->frozen[i].pattern);
    add_fine_tuning(root, &job->fine_tuning);
}

/* Names that all columns have, or none has. */
static void add_columns(cJSON *to, const char *list, const firnc_column *columns, uint32_t count) {
    cJSON *names = count > 0 && columns[0].name != NULL ? cJSON_AddArrayToObject(to, list) : NULL;
    for (uint32_t i = 0; names != NULL && i < count; i++)
        add_name(names, columns[i].name);
}

/* The data that the run is for: what standardises them, if anything does, is in the plan. */
static void add_statistics(cJSON *root, const firnc_data_statistics *statistics) {
    cJSON *said = cJSON_AddObjectToObject(root, "statistics");
    cJSON_AddStringToObject(said, "data", statistics->data);
    if (statistics->targets_data != NULL)
        cJSON_AddStringToObject(said, "targets_data", statistics->targets_data);
    cJSON_AddNumberToObject(said, "records", (double)statistics->records);
    cJSON_AddNumberToObject(said, "held_out_per_mille", statistics->held_out_per_mille);
    add_columns(said, "columns", statistics->columns, statistics->column_count);
    add_columns(said, "targets", statistics->targets, statistics->target_count);
}

/* The run whose state this one begins with, and where it was. */
static void add_origin(cJSON *root, const firnc_continued *continued) {
    static const uint8_t unknown[FIRN_HASH_BYTES] = {0};
    const firn_record *record = &continued->run.header;
    cJSON *origin = cJSON_AddObjectToObject(root, "origin");
    cJSON_AddStringToObject(origin, "run", firnc_hex(record->run_hash, FIRN_HASH_BYTES));
    cJSON_AddNumberToObject(origin, "step", (double)record->global_step);
    if (memcmp(record->data_hash, unknown, sizeof unknown) != 0)
        cJSON_AddStringToObject(origin, "data", firnc_hex(record->data_hash, FIRN_HASH_BYTES));
    cJSON_AddNumberToObject(origin, "cursor", (double)continued->cursor);
}

static void delete (void *root) {
    cJSON_Delete(root);
}

firnc_bytes firnc_write_report(const firnc_compilation *compilation, const firnc_payload *payload) {
    const firnc_job *job = compilation->job;
    errno = 0;
    cJSON *root = cJSON_CreateObject();
    firnc_hold(delete, root);
    cJSON_AddNumberToObject(root, "report", 1);
    cJSON_AddStringToObject(root, "compiler", "firnc " FIRNC_VERSION);
    cJSON_AddStringToObject(root, "model", compilation->graph->model);
    cJSON_AddStringToObject(root, "target", job->target);
    cJSON_AddStringToObject(root, "pol_lowering", job->precision.emulate ? "emulate" : "native");
    if (!compilation->graph->eval) {
        add_schedules(root, compilation);
        add_groups(root, compilation);
        cJSON_AddStringToObject(root, "early_update", compilation->graph->early_update);
        add_run(root, job);
    }
    if (compilation->continued != NULL)
        add_origin(root, compilation->continued);
    if (job->statistics != NULL)
        add_statistics(root, job->statistics);
    add_tensors(root, compilation, payload);
    add_ops(root, compilation->graph);
    char *text = cJSON_PrintUnformatted(root);
    firnc_hold(cJSON_free, text);
    if (text == NULL || errno == ENOMEM) /* cJSON leaves out what it has no memory for, and does not say so */
        firnc_out_of_memory(0);
    firnc_bytes bytes = {.data = firnc_allocate(strlen(text) + 1), .count = strlen(text)};
    memcpy(bytes.data, text, strlen(text));
    firnc_let_go(cJSON_free, text);
    cJSON_free(text);
    firnc_let_go(delete, root);
    cJSON_Delete(root);
    return bytes;
}
