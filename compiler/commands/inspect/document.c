/* The document of firnc inspect: all facts that it reports about a plan, collected and worded once. --json prints the
 * document itself; text.c formats it as a page. Every value of the payload is in it. What the report of the
 * plan only says is in "said", and as "name" of tensors without a name in the plan, "layer" and "pol" of ops. Tensors
 * are given as indices into "tensors". 64-bit numbers that a double cannot hold exactly, and seeds, are strings. */
#include <inttypes.h>
#include <string.h>

#include "compiler/base/words.h"
#include "compiler/commands/inspect/report.h"
#include "compiler/commands/report_read.h"
#include "compiler/graph/ir.h"
#include "plan/checks/check.h"
#include "plan/costs/costs.h"
#include "plan/generated/words.h"
#include "plan/op_words.h"
#include "plan/shapes/windows.h"
#include "schedules/schedule.h"

/* --- texts -------------------------------------------------------------------------------------------------------- */

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

const char *firnc_schedule_text(firn_fb_schedule_node node) {
    return firnc_format("%s %s", firn_schedule_name(node.kind), schedule_details(&node));
}

/* --- the parts of the document ------------------------------------------------------------------------------------ */

static void add_number(cJSON *object, const char *name, uint64_t value) {
    cJSON_AddNumberToObject(object, name, (double)value);
}

/* A number that a double may not hold exactly is a string. */
static void add_exact(cJSON *object, const char *name, uint64_t value) {
    if (value <= UINT64_C(1) << 53)
        add_number(object, name, value);
    else
        cJSON_AddStringToObject(object, name, firnc_format("%" PRIu64, value));
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
    cJSON_AddStringToObject(root, "format",
                            firnc_format("%u.%u", (unsigned)header->format_major, (unsigned)header->needs_minor));
    add_number(root, "image_id", header->image_id);
    add_number(root, "plan_version", header->plan_version);
    add_number(root, "security_counter", header->security_counter);
}

/* What the report says, without the lists of names that belong to tensors and ops. It is marked: nothing compares it
 * with what runs. */
static void add_said(cJSON *root, const firnc_report *report) {
    static const char *const items[] = {"compiler",
                                        "model",
                                        "target",
                                        "pol_lowering",
                                        "schedules",
                                        "groups",
                                        "early_update",
                                        "checkpoint_steps",
                                        "save_initial_checkpoint",
                                        "eval_frequency",
                                        "frozen",
                                        "fine_tuning",
                                        "origin",
                                        "statistics"};
    if (report->cut_off)
        cJSON_AddBoolToObject(root, "report_cut_off", true);
    cJSON *said = cJSON_AddObjectToObject(root, "said");
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(report->said, items[i]);
        if (item != NULL)
            cJSON_AddItemToObject(said, items[i], cJSON_Duplicate(item, true));
    }
}

/* The first op with this code; false if there is none. */
static bool find_op(firn_fb_plan plan, uint16_t code, firn_fb_op *found) {
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            *found = firn_fb_phase_ops_at(phase, i);
            if (firn_fb_op_code(*found) == code)
                return true;
        }
    }
    return false;
}

/* Loss scaling and clipping, as the ops do them. */
static void add_scaling(cJSON *root, firn_fb_plan plan) {
    uint32_t scale = firn_fb_plan_loss_scale(plan);
    firn_fb_op op;
    bool dynamic = find_op(plan, FIRN_OP_loss_scale_update, &op);
    cJSON_AddStringToObject(root, "loss_scaling", dynamic ? "dynamic" : scale != FIRN_ABSENT ? "static" : "none");
    if (scale != FIRN_ABSENT)
        cJSON_AddNumberToObject(root, "initial_loss_scale",
                                (double)firn_fb_initialiser_a(firn_fb_plan_initialisers_at(plan, scale)));
    uint8_t clipping = FIRN_FB_CLIPPING_NONE;
    float threshold = 0;
    if (find_op(plan, FIRN_OP_gradient_factors, &op) &&
        firn_fb_op_integers_count(op) > FIRN_GRADIENT_FACTORS_CLIPPING) {
        clipping = (uint8_t)firn_fb_op_integers_at(op, FIRN_GRADIENT_FACTORS_CLIPPING);
        threshold = firn_fb_op_reals_at(op, FIRN_GRADIENT_FACTORS_LIMIT);
    }
    cJSON_AddStringToObject(root, "clipping", firn_fb_clipping_word(clipping));
    cJSON_AddNumberToObject(root, "clip_threshold", (double)threshold);
}

static void add_metric(cJSON *metrics, firn_fb_metric metric) {
    cJSON *object = add_element(metrics);
    cJSON_AddStringToObject(object, "kind", firn_fb_metric_kind_word(firn_fb_metric_kind(metric)));
    add_number(object, "sum", firn_fb_metric_sum(metric));
    add_number(object, "count", firn_fb_metric_count(metric));
    cJSON_AddNumberToObject(object, "beta", (double)firn_fb_metric_beta(metric));
    cJSON *ignored = cJSON_AddArrayToObject(object, "ignore_classes");
    for (uint32_t i = 0; i < firn_fb_metric_ignore_classes_count(metric); i++)
        cJSON_AddItemToArray(ignored, cJSON_CreateNumber(firn_fb_metric_ignore_classes_at(metric, i)));
}

static void add_run(cJSON *root, const firnc_report *report) {
    firn_fb_plan plan = report->plan;
    const bool train = report->header.mode == FIRN_MODE_TRAIN;
    cJSON_AddStringToObject(root, "mode", train ? "train" : "eval");
    add_number(root, "numerics_version", firn_fb_plan_numerics_version(plan));
    add_exact(root, "steps", firn_fb_plan_steps(plan));
    add_number(root, "micro_batches", firn_fb_plan_micro_batches(plan));
    cJSON_AddStringToObject(root, "micro_batch_order",
                            firn_fb_micro_batch_order_word(firn_fb_plan_micro_batch_order(plan)));
    cJSON_AddBoolToObject(root, "losses_added", firn_fb_plan_losses_added(plan));
    cJSON_AddStringToObject(root, "seed", firnc_format("%" PRIu64, firn_fb_plan_seed(plan)));
    cJSON_AddBoolToObject(root, "check_loss", firn_fb_plan_check_loss(plan));
    if (train)
        add_scaling(root, plan);
    cJSON *metrics = cJSON_AddArrayToObject(root, "metrics");
    for (uint32_t i = 0; i < firn_fb_plan_metrics_count(plan); i++)
        add_metric(metrics, firn_fb_plan_metrics_at(plan, i));
    add_tensor(root, "loss", firn_fb_plan_loss(plan));
    add_tensor(root, "learning_rate", firn_fb_plan_learning_rate(plan));
    add_tensor(root, "loss_scale", firn_fb_plan_loss_scale(plan));
    add_tensor(root, "global_step", firn_fb_plan_global_step(plan));
    add_tensor(root, "optimizer_step", firn_fb_plan_optimizer_step(plan));
    add_tensor(root, "finite", firn_fb_plan_finite(plan));
    add_tensor(root, "at_floor", firn_fb_plan_at_floor(plan));
    add_tensor(root, "gradient_norm", firn_fb_plan_gradient_norm(plan));
    if (firn_fb_plan_origin_count(plan) == FIRN_HASH_BYTES) {
        uint8_t origin[FIRN_HASH_BYTES];
        for (uint32_t i = 0; i < FIRN_HASH_BYTES; i++)
            origin[i] = firn_fb_plan_origin_at(plan, i);
        add_hash(root, "origin", origin, sizeof origin);
    }
    if (firn_fb_plan_tokenizer_count(plan) == FIRN_HASH_BYTES)
        add_hash(root, "tokenizer", firn_fb_plan_tokenizer_data(plan), FIRN_HASH_BYTES);
}

static void add_regions(cJSON *root, const firn_header *header) {
    cJSON *regions = cJSON_AddArrayToObject(root, "regions");
    for (uint32_t i = 0; i < header->region_count; i++) {
        cJSON *object = add_element(regions);
        cJSON_AddStringToObject(object, "kind", firn_fb_region_kind_word(header->region_kinds[i]));
        add_exact(object, "bytes", header->region_bytes[i]);
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
    add_tensor(object, "pushed", firn_fb_sampler_pushed(sampler));
    add_tensor(object, "counted", firn_fb_sampler_counted(sampler));
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
        cJSON_AddBoolToObject(object, "label", firn_fb_input_label(input));
        add_tensor(object, "ring", firn_fb_input_ring(input));
    }
    for (uint32_t i = 0; i < firn_fb_plan_outputs_count(plan); i++) {
        firn_fb_output output = firn_fb_plan_outputs_at(plan, i);
        cJSON *object = add_element(outputs);
        cJSON_AddStringToObject(object, "name", firn_fb_output_name(output));
        add_number(object, "tensor", firn_fb_output_tensor(output));
    }
}

static void add_schedule_node(cJSON *nodes, firn_fb_schedule_node node) {
    cJSON *object = add_element(nodes);
    cJSON_AddStringToObject(object, "text", firnc_schedule_text(node));
    cJSON_AddStringToObject(object, "kind", firn_fb_schedule_kind_word(node.kind));
    add_number(object, "mode", node.mode);
    add_number(object, "first_child", node.first_child);
    add_number(object, "child_count", node.child_count);
    add_exact(object, "total", node.total);
    add_exact(object, "start", node.start);
    add_exact(object, "auxiliary", node.auxiliary);
    cJSON_AddNumberToObject(object, "initial", node.initial);
    cJSON_AddNumberToObject(object, "final", node.final);
    cJSON_AddNumberToObject(object, "rate", node.rate);
    cJSON_AddNumberToObject(object, "power", node.power);
}

static void add_schedules(cJSON *root, firn_fb_plan plan) {
    cJSON *schedules = cJSON_AddArrayToObject(root, "schedules");
    for (uint32_t i = 0; i < firn_fb_plan_schedules_count(plan); i++) {
        firn_fb_schedule schedule = firn_fb_plan_schedules_at(plan, i);
        cJSON *object = add_element(schedules);
        add_number(object, "root", firn_fb_schedule_root(schedule));
        add_number(object, "tensor", firn_fb_schedule_tensor(schedule));
    }
    cJSON *nodes = cJSON_AddArrayToObject(root, "schedule_nodes");
    for (uint32_t i = 0; i < firn_fb_plan_schedule_nodes_count(plan); i++)
        add_schedule_node(nodes, firn_fb_plan_schedule_nodes_at(plan, i));
    cJSON *numbers = cJSON_AddArrayToObject(root, "schedule_numbers");
    for (uint32_t i = 0; i < firn_fb_plan_schedule_numbers_count(plan); i++)
        cJSON_AddItemToArray(numbers, cJSON_CreateNumber(firn_fb_plan_schedule_numbers_at(plan, i).value));
    cJSON *instructions = cJSON_AddArrayToObject(root, "schedule_instructions");
    for (uint32_t i = 0; i < firn_fb_plan_schedule_instructions_count(plan); i++) {
        firn_fb_schedule_instruction instruction = firn_fb_plan_schedule_instructions_at(plan, i);
        cJSON *object = add_element(instructions);
        cJSON_AddStringToObject(object, "operation", firn_fb_schedule_operation_word(instruction.operation));
        cJSON_AddNumberToObject(object, "value", instruction.value);
    }
}

/* How a tensor of the state begins. */
static void add_initial(cJSON *object, firn_fb_initialiser initialiser) {
    const uint8_t rule = firn_fb_initialiser_rule(initialiser);
    cJSON *initial = cJSON_AddObjectToObject(object, "initial");
    cJSON_AddStringToObject(initial, "rule", firn_fb_initialiser_rule_word(rule));
    if (rule == FIRN_FB_INITIALISER_RULE_WEIGHTS) {
        cJSON_AddStringToObject(initial, "element", firn_type_name(firn_fb_initialiser_element(initialiser)));
        add_exact(initial, "weights", firn_fb_initialiser_weights(initialiser));
        return;
    }
    if (rule != FIRN_FB_INITIALISER_RULE_CONSTANT)
        add_number(initial, "rng_id", firn_fb_initialiser_rng_id(initialiser));
    cJSON_AddNumberToObject(initial, "a", (double)firn_fb_initialiser_a(initialiser));
    cJSON_AddNumberToObject(initial, "b", (double)firn_fb_initialiser_b(initialiser));
    if (rule == FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL) {
        cJSON_AddNumberToObject(initial, "low", (double)firn_fb_initialiser_low(initialiser));
        cJSON_AddNumberToObject(initial, "high", (double)firn_fb_initialiser_high(initialiser));
    }
    add_exact(initial, "integer", (uint64_t)firn_fb_initialiser_integer(initialiser));
}

/* unnamed: what the report says of the next tensor without a name in the plan. */
static void add_tensor_info(cJSON *tensors, const firnc_report *report, uint32_t index, const cJSON **unnamed) {
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(report->plan, index);
    firn_shape shape = firn_tensor_shape(tensor);
    cJSON *object = add_element(tensors);
    const char *name = firn_fb_tensor_name(tensor);
    if (*name == '\0') {
        const char *said = cJSON_GetStringValue(*unnamed);
        name = said != NULL ? said : "";
        *unnamed = *unnamed != NULL ? (*unnamed)->next : NULL;
    }
    cJSON_AddStringToObject(object, "name", name);
    cJSON_AddStringToObject(object, "type", firn_type_name(shape.type));
    cJSON *dims = cJSON_AddArrayToObject(object, "dims");
    for (uint8_t j = 0; j < shape.rank; j++)
        cJSON_AddItemToArray(dims, cJSON_CreateNumber(shape.dims[j]));
    const uint8_t region = firn_fb_tensor_region(tensor);
    cJSON_AddStringToObject(object, "role", firn_fb_role_word(firn_fb_tensor_role(tensor)));
    cJSON_AddStringToObject(object, "region", firn_fb_region_kind_word(report->header.region_kinds[region]));
    add_number(object, "region_index", region);
    add_tensor(object, "base", firn_fb_tensor_base(tensor));
    add_exact(object, "offset", firn_fb_tensor_offset(tensor));
    add_exact(object, "bytes", firn_tensor_bytes(tensor));
    add_number(object, "first", firn_fb_tensor_first(tensor));
    add_number(object, "last", firn_fb_tensor_last(tensor));
    if (index < firn_fb_plan_state_tensors(report->plan))
        add_initial(object, firn_fb_plan_initialisers_at(report->plan, index));
}

static void add_tensors(cJSON *root, const firnc_report *report) {
    cJSON *tensors = cJSON_AddArrayToObject(root, "tensors");
    const cJSON *unnamed = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(report->said, "tensors"), 0);
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(report->plan); i++)
        add_tensor_info(tensors, report, i, &unnamed);
}

static void add_integer(cJSON *object, const char *name, int64_t value) {
    if (value < 0)
        cJSON_AddNumberToObject(object, name, (double)value); /* -1 is the only one that an op may have */
    else
        add_exact(object, name, (uint64_t)value);
}

/* A pair is written as [rows, columns]. */
static void add_pair(cJSON *object, const char *name, int64_t value) {
    cJSON *parts = cJSON_AddArrayToObject(object, name);
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++)
        cJSON_AddItemToArray(parts, cJSON_CreateNumber(firn_pair_part(value, axis)));
}

static void add_attributes(cJSON *object, firn_fb_op op) {
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    cJSON *attributes = cJSON_AddObjectToObject(object, "attributes");
    const char *names = firn_op_words_of(info)->integers;
    for (uint32_t i = 0; i < firn_fb_op_integers_count(op); i++) {
        const char *name = firnc_next_word(&names);
        if (info->ranges[i] == FIRN_RANGE_PAIR)
            add_pair(attributes, name, firn_fb_op_integers_at(op, i));
        else
            add_integer(attributes, name, firn_fb_op_integers_at(op, i));
    }
    names = firn_op_words_of(info)->reals;
    for (uint32_t i = 0; i < firn_fb_op_reals_count(op); i++)
        cJSON_AddNumberToObject(attributes, firnc_next_word(&names), (double)firn_fb_op_reals_at(op, i));
}

/* The type that POL selects besides reductions: attention computes its softmax in it, norms their affine part, and the
 * rotary embedding its rotation. */
static void add_inner_type(cJSON *object, firn_fb_plan plan, firn_fb_op op) {
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    uint8_t type = FIRN_FLOAT32;
    if (info->pol == FIRN_POL_attention) {
        uint32_t qkv = firn_fb_op_inputs_at(op, info->reduced);
        if (firn_fb_op_integers_at(op, FIRN_ATTENTION_HALF_SOFTMAX) != 0)
            type = firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, qkv));
        cJSON_AddStringToObject(object, "softmax", firn_type_name(type));
    } else if (info->pol == FIRN_POL_norm) {
        type = (uint8_t)firn_fb_op_integers_at(op, info->typed);
        cJSON_AddStringToObject(object, "affine", firn_type_name(type));
    } else if (info->pol == FIRN_POL_rotation) {
        type = (uint8_t)firn_fb_op_integers_at(op, FIRN_ROTARY_EMBEDDING_ROTATION);
        cJSON_AddStringToObject(object, "rotation", firn_type_name(type));
    }
}

/* The level and the origin that begin at a place of what the report says of an op, if they are there. */
static void add_pol(cJSON *object, const char *name, const cJSON *said, int place) {
    const double level = cJSON_GetNumberValue(cJSON_GetArrayItem(said, place)); /* NaN if it is none */
    const char *origin = cJSON_GetStringValue(cJSON_GetArrayItem(said, place + 1));
    if (!(level >= 0 && level <= 255) || origin == NULL)
        return;
    cJSON *pol = cJSON_AddObjectToObject(object, name);
    cJSON_AddNumberToObject(pol, "level", level);
    cJSON_AddStringToObject(pol, "origin", origin);
}

/* The layer of an op and, where the report has it, the POL that was asked for; of an op that is both directions "pol"
 * is that of the backward one. */
static void add_op_said(cJSON *object, const cJSON *said) {
    const char *layer = cJSON_GetStringValue(cJSON_GetArrayItem(said, 0));
    cJSON_AddStringToObject(object, "layer", layer != NULL ? layer : "");
    add_pol(object, "pol", said, 1);
    add_pol(object, "forward_pol", said, 3);
}

static void add_op(cJSON *ops, firn_fb_plan plan, firn_fb_op op, const cJSON *said) {
    cJSON *object = add_element(ops);
    cJSON_AddStringToObject(object, "op", firn_op_name(firn_op_find(firn_fb_op_code(op))));
    add_op_said(object, said);
    cJSON *inputs = cJSON_AddArrayToObject(object, "inputs"), *outputs = cJSON_AddArrayToObject(object, "outputs");
    for (uint32_t i = 0; i < firn_fb_op_inputs_count(op); i++) {
        uint32_t input = firn_fb_op_inputs_at(op, i);
        cJSON_AddItemToArray(inputs, input == FIRN_ABSENT ? cJSON_CreateNull() : cJSON_CreateNumber(input));
    }
    for (uint32_t i = 0; i < firn_fb_op_outputs_count(op); i++)
        cJSON_AddItemToArray(outputs, cJSON_CreateNumber(firn_fb_op_outputs_at(op, i)));
    add_attributes(object, op);
    add_inner_type(object, plan, op);
    cJSON *reductions = cJSON_AddArrayToObject(object, "reductions");
    for (uint32_t i = 0; i < firn_fb_op_reductions_count(op); i++)
        cJSON_AddItemToArray(reductions, cJSON_CreateString(firnc_reduction_text(firn_fb_op_reductions_at(op, i))));
    add_number(object, "multiply_adds", firn_op_cost(plan, op));
}

static void add_phases(cJSON *root, const firnc_report *report) {
    firn_fb_plan plan = report->plan;
    const cJSON *said = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(report->said, "ops"), 0);
    cJSON *phases = cJSON_AddArrayToObject(root, "phases");
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        cJSON *object = add_element(phases);
        cJSON_AddStringToObject(object, "kind", firn_fb_phase_kind_word(firn_fb_phase_kind(phase)));
        cJSON *ops = cJSON_AddArrayToObject(object, "ops");
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            add_op(ops, plan, firn_fb_phase_ops_at(phase, i), said);
            said = said != NULL ? said->next : NULL;
        }
    }
}

/* The reductions of all ops, counted by kind; kinds that the plan does not have are left out. */
static void add_reduction_counts(cJSON *totals, firn_fb_plan plan) {
    uint32_t counts[FIRN_FB_REDUCTION_KIND_PAIRS + 1] = {0};
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            firn_fb_op op = firn_fb_phase_ops_at(phase, i);
            for (uint32_t j = 0; j < firn_fb_op_reductions_count(op); j++)
                counts[firn_fb_op_reductions_at(op, j).kind]++;
        }
    }
    cJSON *reductions = cJSON_AddObjectToObject(totals, "reductions");
    for (uint32_t kind = 0; kind < sizeof counts / sizeof counts[0]; kind++)
        if (counts[kind] > 0)
            add_number(reductions, firn_fb_reduction_kind_word((uint8_t)kind), counts[kind]);
}

static void add_totals(cJSON *root, const firnc_report *report) {
    const firn_header *header = &report->header;
    cJSON *totals = cJSON_AddObjectToObject(root, "totals");
    add_number(totals, "ops", header->counts.ops);
    add_reduction_counts(totals, report->plan);
    add_number(totals, "operands", header->counts.operands);
    add_number(totals, "parameters", report->parameters);
    add_number(totals, "frozen_weights", report->frozen);
    add_number(totals, "initial_model_bytes", report->initial[0]);
    add_number(totals, "initial_optimizer_bytes", report->initial[1]);
    add_number(totals, "rounded_weights", report->rounded);
    add_number(totals, "multiply_adds", report->multiply_adds);
    add_number(totals, "plan_bytes", header->total_bytes);
    add_number(totals, "checkpoint_bytes", report->checkpoint_bytes);
    add_number(totals, "report_bytes", header->report_bytes);
    add_number(totals, "state_bytes", firn_header_state_bytes(header));
    add_number(totals, "arena_bytes", report->arena_block_bytes);
    add_number(totals, "plan_arena_bytes", report->arena_bytes);
    add_number(totals, "live_bytes", report->live_bytes);
    add_number(totals, "workspace_bytes", 0);
    add_number(totals, "pool_bytes", firn_check_pool_bytes(&header->counts));
}

/* Adds the summary, whose texts come from the payload alone. */
static void add_summary(cJSON *root, const firnc_report *report) {
    const firnc_summary *s = &report->summary;
    cJSON *summary = cJSON_AddObjectToObject(root, "summary");
    cJSON *layers = cJSON_AddArrayToObject(summary, "layers");
    for (uint32_t i = 0; i < s->layer_count; i++) {
        cJSON *object = add_element(layers);
        cJSON_AddStringToObject(object, "name", s->layers[i].name);
        add_number(object, "layers", s->layers[i].count);
        add_exact(object, "parameters", s->layers[i].elements);
    }
    add_number(summary, "peak_op", report->peak_op);
    add_exact(summary, "sample_bytes", s->sample_bytes);
    add_exact(summary, "batch_samples", s->batch_samples);
    add_exact(summary, "run_samples", s->run_samples);
    add_exact(summary, "run_bytes", s->run_bytes);
    add_exact(summary, "data_bytes", s->data_bytes);
    add_exact(summary, "least_bytes", s->least_bytes);
    if (s->has_rate)
        cJSON_AddNumberToObject(summary, "first_rate", s->first_rate);
    if (s->has_last_rate)
        cJSON_AddNumberToObject(summary, "last_rate", s->last_rate);
    cJSON *decayed = cJSON_AddArrayToObject(summary, "decayed");
    cJSON *not_decayed = cJSON_AddArrayToObject(summary, "not_decayed");
    for (uint32_t i = 0; i < s->update_count; i++)
        cJSON_AddItemToArray(firnc_summary_decays(&s->updates[i]) ? decayed : not_decayed,
                             cJSON_CreateNumber(s->updates[i].tensor));
    cJSON *forms = cJSON_AddObjectToObject(summary, "reductions");
    for (uint32_t i = 0; i < s->form_count; i++)
        add_number(forms, s->forms[i].text, s->forms[i].reductions);
    cJSON *unusual = cJSON_AddArrayToObject(summary, "unusual");
    for (uint32_t i = 0; i < s->unusual_count; i++)
        cJSON_AddItemToArray(unusual, cJSON_CreateString(s->unusual[i]));
}

cJSON *firnc_inspect_document(const firnc_report *report) {
    cJSON *root = cJSON_CreateObject();
    add_identities(root, report);
    add_said(root, report);
    add_run(root, report);
    add_regions(root, &report->header);
    add_sampler(root, report->plan);
    add_inputs_and_outputs(root, report->plan);
    add_schedules(root, report->plan);
    add_tensors(root, report);
    add_phases(root, report);
    add_totals(root, report);
    add_summary(root, report);
    return root;
}
