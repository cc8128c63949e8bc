/* The document of firnc inspect: all facts that it reports about a plan, collected and worded once. --json prints the
 * document itself; inspect_text.c formats it as a page. Tensors are given as indices into "tensors". 64-bit numbers
 * that a double cannot hold exactly (seeds) are strings. */
#include <inttypes.h>
#include <string.h>

#include "compiler/base/words.h"
#include "compiler/commands/inspect_report.h"
#include "compiler/commands/plan_costs.h"
#include "compiler/graph/ir.h"
#include "plan/generated/words.h"
#include "plan/op_words.h"
#include "schedules/schedule.h"

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* "chunked 64 in bfloat16, to bfloat16" */
static const char *reduction_text(firn_fb_reduction reduction) {
    if (reduction.kind == FIRN_FB_REDUCTION_KIND_F32)
        return firnc_format("f32 to %s", firn_type_name(reduction.output));
    return firnc_format("chunked %u in %s, to %s", (unsigned)reduction.chunk, firn_type_name(reduction.accumulator),
                        firn_type_name(reduction.output));
}

/* The settings of a schedule node, from its fields, without its name and children. */
static const char *schedule_details(const firn_fb_schedule_node *n) {
    unsigned long long total = (unsigned long long)n->total, auxiliary = (unsigned long long)n->auxiliary;
    const char *floored = n->mode == FIRN_SCHEDULE_STAIRCASE ? ", in whole periods" : "";
    switch (n->kind) {
    case FIRN_SCHEDULE_CONSTANT:
        return firnc_format("%.9g", n->initial);
    case FIRN_SCHEDULE_SEQUENTIAL:
        return firnc_format("of %u", (unsigned)n->child_count);
    case FIRN_SCHEDULE_PRODUCT:
        return firnc_format("of %u, times %.9g, over %.9g", (unsigned)n->child_count, n->initial, n->final);
    case FIRN_SCHEDULE_POLYNOMIAL:
        return firnc_format("from %.9g to %.9g in %llu steps, power %.9g", n->initial, n->final, total, n->power);
    case FIRN_SCHEDULE_EXPONENTIAL:
        return firnc_format("from %.9g, times %.9g in %llu steps%s", n->initial, n->rate, total, floored);
    case FIRN_SCHEDULE_INVERSE_TIME:
        return firnc_format("from %.9g, rate %.9g, power %.9g, over %llu steps%s", n->initial, n->rate, n->power, total,
                            floored);
    case FIRN_SCHEDULE_INVERSE_SQUARE_ROOT:
        return firnc_format("%.9g times %.9g, from step %llu on", n->initial, n->rate, total);
    case FIRN_SCHEDULE_COSINE_PERIODIC:
        return firnc_format("from %.9g to %.9g in %llu steps, then %s", n->initial, n->final, total,
                            n->mode == FIRN_SCHEDULE_RESTART ? "again" : "back");
    case FIRN_SCHEDULE_MULTI_STEP:
        return firnc_format("from %.9g, times %.9g at each of %llu milestones", n->initial, n->rate, total);
    case FIRN_SCHEDULE_PIECEWISE:
        return firnc_format("constant, %llu milestones", total);
    case FIRN_SCHEDULE_TABLE:
        return firnc_format("of %llu values", total);
    case FIRN_SCHEDULE_EXPRESSION:
        return firnc_format("of %llu operations", total);
    case FIRN_SCHEDULE_CYCLIC:
        return firnc_format("from %.9g to %.9g in %llu steps, back in %llu%s", n->initial, n->final, total, auxiliary,
                            n->mode == 0                       ? ""
                            : n->mode == FIRN_SCHEDULE_HALVING ? ", half as far each time"
                                                               : firnc_format(", times %.9g each step", n->rate));
    case FIRN_SCHEDULE_ONE_CYCLE:
        return firnc_format("from %.9g to %.9g to %.9g in %llu steps, peak at %.9g%s%s", n->initial, n->final, n->rate,
                            total, n->power, (n->mode & FIRN_SCHEDULE_STRAIGHT) != 0 ? ", straight" : "",
                            (n->mode & FIRN_SCHEDULE_THREE_PHASE) != 0 ? ", three phases" : "");
    default:
        return firnc_format("from %.9g to %.9g in %llu steps", n->initial, n->final, total);
    }
}

/* "cosine from 0.001 to 0.0001 in 900 steps" */
static const char *schedule_text(firn_fb_schedule_node node) {
    return firnc_format("%s %s", firn_schedule_name(node.kind), schedule_details(&node));
}

/* --- the parts of the document ------------------------------------------------------------------------------------ */

static void add_number(cJSON *object, const char *name, uint64_t value) {
    cJSON_AddNumberToObject(object, name, (double)value);
}

static void add_hash(cJSON *object, const char *name, const uint8_t *bytes, uint32_t count) {
    cJSON_AddStringToObject(object, name, firnc_hex(bytes, count));
}

static cJSON *add_element(cJSON *array) {
    cJSON *element = cJSON_CreateObject();
    cJSON_AddItemToArray(array, element);
    return element;
}

/* Adds a reference to a tensor; an absent tensor adds nothing. */
static void add_tensor(cJSON *object, const char *name, uint32_t tensor) {
    if (tensor != FIRNC_NONE)
        add_number(object, name, tensor);
}

static void add_identities(cJSON *root, const firnc_report *report) {
    const firn_header *header = &report->header;
    cJSON_AddStringToObject(root, "file", report->file);
    cJSON_AddStringToObject(root, "signature", header->algorithm == FIRN_ALGORITHM_NONE ? "unsigned" : "not checked");
    add_hash(root, "plan_hash", report->plan_hash, FIRN_HASH_BYTES);
    add_hash(root, "run_hash", header->run_hash, FIRN_HASH_BYTES);
    add_hash(root, "model_hash", report->model_hash, FIRN_HASH_BYTES);
    add_hash(root, "key_hash", header->key_hash, FIRN_HASH_BYTES);
    add_hash(root, "schema_hash", header->schema_hash, FIRN_HASH_BYTES);
    add_hash(root, "vendor", header->vendor, sizeof header->vendor);
    add_hash(root, "class", header->class_id, sizeof header->class_id);
    add_number(root, "plan_version", header->plan_version);
    add_number(root, "security_counter", header->security_counter);
}

static void add_run(cJSON *root, firn_fb_plan plan) {
    cJSON_AddStringToObject(root, "mode", firn_fb_mode_word(firn_fb_plan_mode(plan)));
    cJSON_AddStringToObject(root, "model", firn_fb_plan_model(plan));
    cJSON_AddStringToObject(root, "compiler", firn_fb_plan_compiler(plan));
    cJSON_AddStringToObject(root, "target", firn_fb_plan_target(plan));
    cJSON_AddStringToObject(root, "pol_lowering", firn_fb_pol_lowering_word(firn_fb_plan_pol_lowering(plan)));
    add_number(root, "numerics_version", firn_fb_plan_numerics_version(plan));
    add_number(root, "steps", firn_fb_plan_steps(plan));
    add_number(root, "micro_batches", firn_fb_plan_micro_batches(plan));
    cJSON_AddStringToObject(root, "seed", firnc_format("%" PRIu64, firn_fb_plan_seed(plan)));
    cJSON_AddBoolToObject(root, "check_loss", firn_fb_plan_check_loss(plan));
    uint8_t scaling = firn_fb_plan_loss_scaler_present(plan) ? firn_fb_loss_scaler_kind(firn_fb_plan_loss_scaler(plan))
                                                             : (uint8_t)FIRN_FB_LOSS_SCALING_NONE;
    cJSON_AddStringToObject(root, "loss_scaling", firn_fb_loss_scaling_word(scaling));
    if (firn_fb_plan_loss_scaler_present(plan)) {
        firn_fb_loss_scaler scaler = firn_fb_plan_loss_scaler(plan);
        cJSON *object = cJSON_AddObjectToObject(root, "loss_scaler");
        add_tensor(object, "scale", firn_fb_loss_scaler_scale(scaler));
        add_tensor(object, "steps_since_rescale", firn_fb_loss_scaler_steps_since_rescale(scaler));
        add_tensor(object, "overflows_since_rescale", firn_fb_loss_scaler_overflows_since_rescale(scaler));
        add_tensor(object, "skipped_steps", firn_fb_loss_scaler_skipped_steps(scaler));
        add_tensor(object, "at_floor", firn_fb_loss_scaler_at_floor(scaler));
    }
    cJSON_AddStringToObject(root, "clipping", firn_fb_clipping_word(firn_fb_plan_clipping(plan)));
    cJSON_AddNumberToObject(root, "clip_threshold", (double)firn_fb_plan_clip_threshold(plan));
    if (firn_fb_plan_metric_present(plan)) {
        firn_fb_metric metric = firn_fb_plan_metric(plan);
        cJSON_AddStringToObject(root, "metric", firn_fb_metric_kind_word(firn_fb_metric_kind(metric)));
        add_number(root, "metric_sum", firn_fb_metric_sum(metric));
        add_number(root, "metric_count", firn_fb_metric_count(metric));
        cJSON_AddNumberToObject(root, "metric_beta", (double)firn_fb_metric_beta(metric));
        cJSON *ignored = cJSON_AddArrayToObject(root, "metric_ignore_classes");
        for (uint32_t i = 0; i < firn_fb_metric_ignore_classes_count(metric); i++)
            cJSON_AddItemToArray(ignored, cJSON_CreateNumber(firn_fb_metric_ignore_classes_at(metric, i)));
    } else {
        add_tensor(root, "global_step", firn_fb_plan_global_step(plan));
        add_tensor(root, "optimizer_step", firn_fb_plan_optimizer_step(plan));
        add_tensor(root, "finite", firn_fb_plan_finite(plan));
        add_tensor(root, "gradient_norm", firn_fb_plan_gradient_norm(plan));
    }
}

static void add_sampler(cJSON *root, firn_fb_plan plan) {
    firn_fb_sampler sampler = firn_fb_plan_sampler(plan);
    cJSON *object = cJSON_AddObjectToObject(root, "sampler");
    cJSON_AddStringToObject(object, "kind", firn_fb_sampler_kind_word(firn_fb_sampler_kind(sampler)));
    cJSON_AddStringToObject(object, "unit", firn_fb_sample_unit_word(firn_fb_sampler_unit(sampler)));
    cJSON_AddStringToObject(object, "part", firn_fb_data_part_word(firn_fb_sampler_part(sampler)));
    cJSON_AddStringToObject(object, "epoch_end", firn_fb_epoch_end_word(firn_fb_sampler_epoch_end(sampler)));
    add_number(object, "window", firn_fb_sampler_window(sampler));
    add_number(object, "stride", firn_fb_sampler_stride(sampler));
    add_number(object, "samples", firn_fb_sampler_samples(sampler));
    add_number(object, "held_out_per_mille", firn_fb_sampler_held_out_per_mille(sampler));
    cJSON_AddStringToObject(object, "seed", firnc_format("%" PRIu64, firn_fb_sampler_seed(sampler)));
    add_number(object, "cursor", firn_fb_sampler_cursor(sampler));
}

static void add_inputs_and_outputs(cJSON *root, firn_fb_plan plan) {
    cJSON *inputs = cJSON_AddArrayToObject(root, "inputs"), *outputs = cJSON_AddArrayToObject(root, "outputs");
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(plan); i++) {
        firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
        cJSON *object = add_element(inputs);
        cJSON_AddStringToObject(object, "name", firn_fb_input_name(input));
        add_number(object, "tensor", firn_fb_input_tensor(input));
        add_number(object, "stream", firn_fb_input_stream(input));
        cJSON_AddStringToObject(object, "element", firn_type_name(firn_fb_input_element(input)));
        add_number(object, "advance", firn_fb_input_advance(input));
        add_number(object, "limit", firn_fb_input_limit(input));
        cJSON_AddNumberToObject(object, "scale", (double)firn_fb_input_scale(input));
        cJSON_AddNumberToObject(object, "shift", (double)firn_fb_input_shift(input));
    }
    for (uint32_t i = 0; i < firn_fb_plan_outputs_count(plan); i++) {
        firn_fb_output output = firn_fb_plan_outputs_at(plan, i);
        cJSON *object = add_element(outputs);
        cJSON_AddStringToObject(object, "name", firn_fb_output_name(output));
        add_number(object, "tensor", firn_fb_output_tensor(output));
    }
}

static void add_schedules(cJSON *root, firn_fb_plan plan) {
    cJSON *schedules = cJSON_AddArrayToObject(root, "schedules");
    for (uint32_t i = 0; i < firn_fb_plan_schedules_count(plan); i++) {
        firn_fb_schedule schedule = firn_fb_plan_schedules_at(plan, i);
        cJSON *object = add_element(schedules);
        cJSON_AddStringToObject(object, "name", firn_fb_schedule_name(schedule));
        add_number(object, "root", firn_fb_schedule_root(schedule));
        add_number(object, "tensor", firn_fb_schedule_tensor(schedule));
    }
    cJSON *nodes = cJSON_AddArrayToObject(root, "schedule_nodes");
    for (uint32_t i = 0; i < firn_fb_plan_schedule_nodes_count(plan); i++) {
        firn_fb_schedule_node node = firn_fb_plan_schedule_nodes_at(plan, i);
        cJSON *object = add_element(nodes);
        add_number(object, "start", node.start);
        cJSON_AddStringToObject(object, "text", schedule_text(node));
        add_number(object, "first_child", node.first_child);
        add_number(object, "child_count", node.child_count);
    }
    cJSON *groups = cJSON_AddArrayToObject(root, "groups");
    for (uint32_t i = 0; i < firn_fb_plan_groups_count(plan); i++) {
        firn_fb_parameter_group group = firn_fb_plan_groups_at(plan, i);
        cJSON *object = add_element(groups);
        cJSON_AddStringToObject(object, "name", firn_fb_parameter_group_name(group));
        cJSON_AddStringToObject(object, "optimizer", firn_fb_parameter_group_optimizer(group));
        cJSON_AddNumberToObject(object, "weight_decay", (double)firn_fb_parameter_group_weight_decay(group));
        add_number(object, "schedule", firn_fb_parameter_group_schedule(group));
        if (firn_fb_parameter_group_decay_schedule(group) != UINT32_MAX)
            add_number(object, "decay_schedule", firn_fb_parameter_group_decay_schedule(group));
        add_number(object, "parameters", firn_fb_parameter_group_parameters_count(group));
    }
}

static void add_tensors(cJSON *root, firn_fb_plan plan) {
    cJSON *tensors = cJSON_AddArrayToObject(root, "tensors");
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        firn_shape shape = firnc_tensor_shape(tensor);
        cJSON *object = add_element(tensors);
        cJSON_AddStringToObject(object, "name", firn_fb_tensor_name(tensor));
        cJSON_AddStringToObject(object, "type", firn_type_name(shape.type));
        cJSON *dims = cJSON_AddArrayToObject(object, "dims");
        for (uint8_t j = 0; j < shape.rank; j++)
            cJSON_AddItemToArray(dims, cJSON_CreateNumber(shape.dims[j]));
        cJSON_AddStringToObject(object, "role", firn_fb_role_word(firn_fb_tensor_role(tensor)));
        firn_fb_region region = firn_fb_plan_regions_at(plan, firn_fb_tensor_region(tensor));
        cJSON_AddStringToObject(object, "region", firn_fb_region_kind_word(firn_fb_region_kind(region)));
        add_number(object, "offset", firn_fb_tensor_offset(tensor));
        add_number(object, "bytes", firnc_tensor_bytes(tensor));
        add_number(object, "first", firn_fb_tensor_first(tensor));
        add_number(object, "last", firn_fb_tensor_last(tensor));
    }
}

static void add_attributes(cJSON *object, firn_fb_op op) {
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    cJSON *attributes = cJSON_AddObjectToObject(object, "attributes");
    const char *names = firn_op_words_of(info)->integers;
    for (uint32_t i = 0; i < firn_fb_op_integers_count(op); i++)
        cJSON_AddNumberToObject(attributes, firnc_next_word(&names), (double)firn_fb_op_integers_at(op, i));
    names = firn_op_words_of(info)->reals;
    for (uint32_t i = 0; i < firn_fb_op_reals_count(op); i++)
        cJSON_AddNumberToObject(attributes, firnc_next_word(&names), (double)firn_fb_op_reals_at(op, i));
}

/* The type that POL selects besides reductions: attention computes its softmax in it, layer norm its affine part, and
 * the rotary embedding its rotation. */
static void add_inner_type(cJSON *object, firn_fb_plan plan, firn_fb_op op) {
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    uint8_t type = FIRN_FLOAT32;
    if (info->pol == FIRN_POL_attention) {
        uint32_t qkv = firn_fb_op_inputs_at(op, info->reduced);
        if (firn_fb_op_integers_at(op, FIRN_ATTENTION_HALF_SOFTMAX) != 0)
            type = firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, qkv));
        cJSON_AddStringToObject(object, "softmax", firn_type_name(type));
    } else if (info->pol == FIRN_POL_norm) {
        type = (uint8_t)firn_fb_op_integers_at(op, FIRN_LAYER_NORM_AFFINE);
        cJSON_AddStringToObject(object, "affine", firn_type_name(type));
    } else if (info->pol == FIRN_POL_rotation) {
        type = (uint8_t)firn_fb_op_integers_at(op, FIRN_ROTARY_EMBEDDING_ROTATION);
        cJSON_AddStringToObject(object, "rotation", firn_type_name(type));
    }
}

static void add_op(cJSON *ops, firn_fb_plan plan, firn_fb_op op) {
    cJSON *object = add_element(ops);
    cJSON_AddStringToObject(object, "op", firn_op_name(firn_op_find(firn_fb_op_code(op))));
    cJSON_AddStringToObject(object, "layer", firn_fb_op_name(op));
    cJSON *inputs = cJSON_AddArrayToObject(object, "inputs"), *outputs = cJSON_AddArrayToObject(object, "outputs");
    for (uint32_t i = 0; i < firn_fb_op_inputs_count(op); i++) {
        uint32_t input = firn_fb_op_inputs_at(op, i);
        cJSON_AddItemToArray(inputs, input == FIRN_ABSENT ? cJSON_CreateNull() : cJSON_CreateNumber(input));
    }
    for (uint32_t i = 0; i < firn_fb_op_outputs_count(op); i++)
        cJSON_AddItemToArray(outputs, cJSON_CreateNumber(firn_fb_op_outputs_at(op, i)));
    add_attributes(object, op);
    add_inner_type(object, plan, op);
    if (firn_fb_op_pol_present(op)) {
        cJSON *pol = cJSON_AddObjectToObject(object, "pol");
        add_number(pol, "level", firn_fb_op_pol(op).level);
        cJSON_AddStringToObject(pol, "origin", firn_fb_pol_origin_word(firn_fb_op_pol(op).origin));
    }
    cJSON *reductions = cJSON_AddArrayToObject(object, "reductions");
    for (uint32_t i = 0; i < firn_fb_op_reductions_count(op); i++)
        cJSON_AddItemToArray(reductions, cJSON_CreateString(reduction_text(firn_fb_op_reductions_at(op, i))));
    add_number(object, "multiply_adds", firnc_op_cost(plan, op));
}

static void add_phases(cJSON *root, firn_fb_plan plan) {
    cJSON *phases = cJSON_AddArrayToObject(root, "phases");
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        cJSON *object = add_element(phases);
        cJSON_AddStringToObject(object, "kind", firn_fb_phase_kind_word(firn_fb_phase_kind(phase)));
        cJSON *ops = cJSON_AddArrayToObject(object, "ops");
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++)
            add_op(ops, plan, firn_fb_phase_ops_at(phase, i));
    }
}

static void add_totals(cJSON *root, const firnc_report *report) {
    const firn_header *header = &report->header;
    cJSON *totals = cJSON_AddObjectToObject(root, "totals");
    add_number(totals, "ops", report->ops);
    add_number(totals, "parameters", report->parameters);
    add_number(totals, "multiply_adds", report->multiply_adds);
    add_number(totals, "plan_bytes", header->total_bytes);
    add_number(totals, "checkpoint_bytes", report->checkpoint_bytes);
    add_number(totals, "state_bytes", header->state_bytes);
    add_number(totals, "arena_bytes", header->arena_bytes);
    add_number(totals, "plan_arena_bytes", report->plan_arena_bytes);
    add_number(totals, "live_bytes", report->live_bytes);
    add_number(totals, "workspace_bytes", 0);
    add_number(totals, "pool_bytes", header->pool_bytes);
}

cJSON *firnc_inspect_document(const firnc_report *report) {
    cJSON *root = cJSON_CreateObject();
    add_identities(root, report);
    add_run(root, report->plan);
    add_sampler(root, report->plan);
    add_inputs_and_outputs(root, report->plan);
    add_schedules(root, report->plan);
    add_tensors(root, report->plan);
    add_phases(root, report->plan);
    add_totals(root, report);
    return root;
}
