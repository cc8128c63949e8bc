/* firnc inspect, the form for people: a page of what the plan is, its memory map and its ops, and at the end the totals
 * that decide whether it fits a device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/commands/inspect_report.h"
#include "compiler/graph/ir.h"
#include "plan/op_words.h"

/* 1,234,567 */
static const char *grouped(uint64_t value) {
    const char *digits = firnc_format("%" PRIu64, value);
    size_t length = strlen(digits);
    char *text = firnc_allocate(2 * length + 1), *out = text;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    return text;
}

static void line(const char *label, const char *text) {
    printf("%-20s %s\n", label, text);
}

/* The shortest decimal that reads back as the same float. */
static const char *real_text(float value) {
    const char *text = "";
    for (int digits = 6; digits <= 9; digits++) {
        text = firnc_format("%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    return text;
}

static void heading(const char *text) {
    printf("\n%s\n", text);
}

static const char *shape_text(firn_fb_tensor tensor) {
    firn_shape shape = firnc_tensor_shape(tensor);
    return firnc_shape_text(&shape);
}

static void print_identities(const firnc_report *report) {
    const firn_header *header = &report->header;
    line("plan", firnc_format("%s, %s bytes", firnc_printable(report->file), grouped(header->total_bytes)));
    line("signature", header->algorithm == FIRN_ALGORITHM_NONE ? "unsigned: nothing runs this plan"
                                                               : "ECDSA P-256, not checked here (firnc verify)");
    line("plan hash", firnc_hex(report->plan_hash, FIRN_HASH_BYTES));
    line("run hash", firnc_hex(header->run_hash, FIRN_HASH_BYTES));
    line("model hash", firnc_hex(report->model_hash, FIRN_HASH_BYTES));
    line("key hash", firnc_hex(header->key_hash, FIRN_HASH_BYTES));
    line("schema hash", firnc_hex(header->schema_hash, FIRN_HASH_BYTES));
    line("plan version",
         firnc_format("%u, security counter %u", (unsigned)header->plan_version, (unsigned)header->security_counter));
    line("vendor, class", firnc_format("%s, %s", firnc_hex(header->vendor, sizeof header->vendor),
                                       firnc_hex(header->class_id, sizeof header->class_id)));
}

static void print_run(const firnc_report *report) {
    firn_fb_plan plan = report->plan;
    bool eval = firn_fb_plan_mode(plan) == FIRN_FB_MODE_EVAL;
    uint64_t steps = firn_fb_plan_steps(plan);
    line("mode", eval ? "eval" : "train");
    line("model", firnc_format("%s, %s parameters", firn_fb_plan_model(plan), grouped(report->parameters)));
    line("frozen by",
         firnc_format("%s for target %s, POL lowering %s, numerics %u", firn_fb_plan_compiler(plan),
                      firn_fb_plan_target(plan),
                      firn_fb_plan_pol_lowering(plan) == FIRN_FB_POL_LOWERING_EMULATE ? "emulate" : "native",
                      (unsigned)firn_fb_plan_numerics_version(plan)));
    line("steps", eval && steps == 0 ? "every whole batch of the data" : grouped(steps));
    line("micro-batches", firnc_format("%u of %u samples", (unsigned)firn_fb_plan_micro_batches(plan),
                                       (unsigned)firn_fb_sampler_samples(firn_fb_plan_sampler(plan))));
    line("seed", firnc_format("%" PRIu64, firn_fb_plan_seed(plan)));
    line("loss check", firn_fb_plan_check_loss(plan) ? "stops when the loss is not finite" : "off");
}

static void print_data(firn_fb_plan plan) {
    firn_fb_sampler sampler = firn_fb_plan_sampler(plan);
    const char *unit = "records";
    if (firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_WINDOW)
        unit = firnc_format("windows of %u, stride %u", (unsigned)firn_fb_sampler_window(sampler),
                            (unsigned)firn_fb_sampler_stride(sampler));
    const char *order = "in sequence";
    if (firn_fb_sampler_kind(sampler) == FIRN_FB_SAMPLER_KIND_PERMUTATION)
        order = firnc_format("permuted with seed %" PRIu64, firn_fb_sampler_seed(sampler));
    line("data", firnc_format("%s, %s, part %s (%u per mille held out), at the end %s", unit, order,
                              firn_fb_data_part_word(firn_fb_sampler_part(sampler)),
                              (unsigned)firn_fb_sampler_held_out_per_mille(sampler),
                              firn_fb_sampler_epoch_end(sampler) == FIRN_FB_EPOCH_END_WRAP ? "wrap" : "stop"));
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(plan); i++) {
        firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
        line("  input",
             firnc_format("%s %s from %s of stream %u", firn_fb_input_name(input),
                          shape_text(firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(input))),
                          firn_type_name(firn_fb_input_element(input)), (unsigned)firn_fb_input_stream(input)));
    }
}

/* "0.01", or the name of its schedule */
static const char *decay_text(firn_fb_plan plan, firn_fb_parameter_group group) {
    uint32_t schedule = firn_fb_parameter_group_decay_schedule(group);
    if (schedule == UINT32_MAX)
        return real_text(firn_fb_parameter_group_weight_decay(group));
    return firnc_format("by schedule %s", firn_fb_schedule_name(firn_fb_plan_schedules_at(plan, schedule)));
}

static bool find_op(firn_fb_plan plan, uint16_t code, firn_fb_op *op) {
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            *op = firn_fb_phase_ops_at(phase, i);
            if (firn_fb_op_code(*op) == code)
                return true;
        }
    }
    return false;
}

/* "dynamic, from 6.10352e-05 to 32768, doubled after more than 2000 steps, overflow tolerance 0" */
static const char *scaling_text(firn_fb_plan plan) {
    firn_fb_op update;
    if (!firn_fb_plan_loss_scaler_present(plan))
        return firn_fb_loss_scaling_word(FIRN_FB_LOSS_SCALING_NONE);
    const char *word = firn_fb_loss_scaling_word(firn_fb_loss_scaler_kind(firn_fb_plan_loss_scaler(plan)));
    if (!find_op(plan, FIRN_OP_loss_scale_update, &update))
        return word;
    return firnc_format("%s, from %s to %s, doubled after more than %" PRId64 " steps, overflow tolerance %s", word,
                        real_text(firn_fb_op_reals_at(update, FIRN_LOSS_SCALE_UPDATE_MINIMUM)),
                        real_text(firn_fb_op_reals_at(update, FIRN_LOSS_SCALE_UPDATE_MAXIMUM)),
                        firn_fb_op_integers_at(update, FIRN_LOSS_SCALE_UPDATE_STEPS_PER_INCREASE),
                        real_text(firn_fb_op_reals_at(update, FIRN_LOSS_SCALE_UPDATE_OVERFLOW_TOLERANCE)));
}

static void print_optimizer(firn_fb_plan plan) {
    for (uint32_t i = 0; i < firn_fb_plan_groups_count(plan); i++) {
        firn_fb_parameter_group group = firn_fb_plan_groups_at(plan, i);
        line("group", firnc_format("%s: %s, %u tensors, weight decay %s", firn_fb_parameter_group_name(group),
                                   firn_fb_parameter_group_optimizer(group),
                                   (unsigned)firn_fb_parameter_group_parameters_count(group), decay_text(plan, group)));
    }
    line("loss scaling", scaling_text(plan));
    const char *threshold = "";
    if (firn_fb_plan_clipping(plan) != FIRN_FB_CLIPPING_NONE)
        threshold = firnc_format(" at %s", real_text(firn_fb_plan_clip_threshold(plan)));
    line("clipping", firnc_format("%s%s", firn_fb_clipping_word(firn_fb_plan_clipping(plan)), threshold));
}

static void print_schedules(firn_fb_plan plan) {
    if (firn_fb_plan_schedules_count(plan) == 0)
        return;
    heading("schedule nodes (children after their parent)");
    for (uint32_t i = 0; i < firn_fb_plan_schedules_count(plan); i++) {
        firn_fb_schedule schedule = firn_fb_plan_schedules_at(plan, i);
        printf("  %s is node %u\n", firn_fb_schedule_name(schedule), (unsigned)firn_fb_schedule_root(schedule));
    }
    for (uint32_t i = 0; i < firn_fb_plan_schedule_nodes_count(plan); i++) {
        firn_fb_schedule_node node = firn_fb_plan_schedule_nodes_at(plan, i);
        printf("  %3u  from step %-8" PRIu64 " %s", (unsigned)i, node.start, firnc_schedule_text(node));
        if (node.child_count > 0)
            printf(", nodes %u to %u", (unsigned)node.first_child, (unsigned)(node.first_child + node.child_count - 1));
        putchar('\n');
    }
}

static const char *lifetime_text(firn_fb_tensor tensor) {
    if (firn_fb_tensor_last(tensor) == UINT32_MAX)
        return "always";
    return firnc_format("%u..%u", (unsigned)firn_fb_tensor_first(tensor), (unsigned)firn_fb_tensor_last(tensor));
}

static void print_memory(firn_fb_plan plan) {
    heading("memory map");
    printf("  %-8s %12s %12s  %-12s %-15s %s\n", "region", "offset", "bytes", "live in ops", "role", "tensor");
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        firn_fb_region region = firn_fb_plan_regions_at(plan, firn_fb_tensor_region(tensor));
        printf("  %-8s %12s %12s  %-12s %-15s %s %s\n", firn_fb_region_kind_word(firn_fb_region_kind(region)),
               grouped(firn_fb_tensor_offset(tensor)), grouped(firnc_tensor_bytes(tensor)), lifetime_text(tensor),
               firn_fb_role_word(firn_fb_tensor_role(tensor)), firn_fb_tensor_name(tensor), shape_text(tensor));
    }
}

/* "float16: 6 elements of each of 4 heads (of 6), interleaved, base 10000" */
static const char *rotation_text(firn_fb_op op) {
    return firnc_format("%s: %" PRId64 " elements of each of %" PRId64 " heads (of %" PRId64 ")%s, base %s",
                        firn_type_name((uint8_t)firn_fb_op_integers_at(op, FIRN_ROTARY_EMBEDDING_ROTATION)),
                        firn_fb_op_integers_at(op, FIRN_ROTARY_EMBEDDING_ROTARY_DIM),
                        firn_fb_op_integers_at(op, FIRN_ROTARY_EMBEDDING_ROTATED),
                        firn_fb_op_integers_at(op, FIRN_ROTARY_EMBEDDING_HEADS),
                        firn_fb_op_integers_at(op, FIRN_ROTARY_EMBEDDING_INTERLEAVED) != 0 ? ", interleaved" : "",
                        real_text(firn_fb_op_reals_at(op, FIRN_ROTARY_EMBEDDING_BASE)));
}

static void print_op(firn_fb_plan plan, firn_fb_op op, uint32_t number) {
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    uint64_t cost = firnc_op_cost(plan, op);
    printf("  %5u  %-26s %s", (unsigned)number, firn_op_name(info), firn_fb_op_name(op));
    if (firn_fb_op_pol_present(op)) {
        firn_fb_pol pol = firn_fb_op_pol(op);
        printf("  POL %u (%s)", (unsigned)pol.level, firn_fb_pol_origin_word(pol.origin));
    }
    for (uint32_t i = 0; i < firn_fb_op_reductions_count(op); i++)
        printf("%s %s", i == 0 ? " ->" : ";", firnc_reduction_text(firn_fb_op_reductions_at(op, i)));
    if (info->pol == FIRN_POL_attention)
        printf("; softmax in %s",
               firn_fb_op_integers_at(op, FIRN_ATTENTION_HALF_SOFTMAX) != 0 ? "the half type" : "float32");
    if (info->pol == FIRN_POL_norm)
        printf(" -> affine in %s", firn_type_name((uint8_t)firn_fb_op_integers_at(op, FIRN_LAYER_NORM_AFFINE)));
    if (info->pol == FIRN_POL_rotation)
        printf(" -> rotation in %s", rotation_text(op));
    if (cost > 0)
        printf(", %s multiply-adds", grouped(cost));
    putchar('\n');
}

static void print_ops(const firnc_report *report) {
    heading("ops (POL asked, and who asked -> the reductions that it became)");
    uint32_t number = 0;
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(report->plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(report->plan, p);
        printf("  phase %s\n", firn_fb_phase_kind_word(firn_fb_phase_kind(phase)));
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++)
            print_op(report->plan, firn_fb_phase_ops_at(phase, i), number++);
    }
}

/* The last lines: what a firmware engineer asks first. */
static void print_totals(const firnc_report *report) {
    const firn_header *header = &report->header;
    heading("totals");
    line("  ops", grouped(report->ops));
    line("  cost of a step", firnc_format("%s multiply-adds in products", grouped(report->multiply_adds)));
    line("  flash", firnc_format("%s bytes of plan, and %s for one checkpoint; code comes on top",
                                 grouped(header->total_bytes), grouped(report->checkpoint_bytes)));
    line("  state", firnc_format("%s bytes", grouped(header->state_bytes)));
    line("  arena", firnc_format("%s bytes; the plan uses %s, and %s live at once", grouped(header->arena_bytes),
                                 grouped(report->plan_arena_bytes), grouped(report->live_bytes)));
    line("  workspace", "0 bytes with the portable kernels");
    line("  verification pool", firnc_format("%s bytes, lent from the arena", grouped(header->pool_bytes)));
}

static void print_metric(firn_fb_metric metric) {
    const char *text = firn_fb_metric_kind_word(firn_fb_metric_kind(metric));
    if (firn_fb_metric_beta(metric) != 0)
        text = firnc_format("%s, beta %.9g", text, (double)firn_fb_metric_beta(metric));
    for (uint32_t i = 0; i < firn_fb_metric_ignore_classes_count(metric); i++)
        text = firnc_format("%s%s %u", text, i == 0 ? ", without class" : ",",
                            (unsigned)firn_fb_metric_ignore_classes_at(metric, i));
    line("metric", text);
}

void firnc_print_text(const firnc_report *report) {
    print_identities(report);
    print_run(report);
    print_data(report->plan);
    if (firn_fb_plan_metric_present(report->plan))
        print_metric(firn_fb_plan_metric(report->plan));
    else
        print_optimizer(report->plan);
    print_schedules(report->plan);
    print_memory(report->plan);
    print_ops(report);
    print_totals(report);
}
