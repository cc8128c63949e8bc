/* firnc inspect: has a plan checked as the runtime would, the signature apart, and works out what follows from it. */
#include "compiler/commands/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/files.h"
#include "compiler/commands/inspect_report.h"
#include "compiler/emit/plan_file.h"
#include "compiler/graph/ir.h"
#include "compiler/passes/memory.h"
#include "plan/errors.h"
#include "plan/identity.h"
#include "plan/op_words.h"
#include "plan/record.h"
#include "schedules/schedule.h"

/* Of the storage of our targets; flash with larger units rounds up. */
#define PROGRAM_UNIT 16u

/* --- texts -------------------------------------------------------------------------------------------------------- */

const char *firnc_reduction_text(firn_fb_reduction reduction) {
    if (reduction.kind == FIRN_FB_REDUCTION_KIND_F32)
        return firnc_format("f32 to %s", firn_type_name(reduction.output));
    return firnc_format("chunked %u in %s, to %s", (unsigned)reduction.chunk, firn_type_name(reduction.accumulator),
                        firn_type_name(reduction.output));
}

/* What a kind says beyond its name and its children, by its fields. */
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

/* --- what follows from a plan ------------------------------------------------------------------------------------- */

firn_shape firnc_tensor_shape(firn_fb_tensor tensor) {
    firn_shape shape = {.type = firn_fb_tensor_type(tensor), .rank = (uint8_t)firn_fb_tensor_dims_count(tensor)};
    for (uint8_t i = 0; i < shape.rank; i++)
        shape.dims[i] = firn_fb_tensor_dims_at(tensor, i);
    return shape;
}

uint64_t firnc_tensor_bytes(firn_fb_tensor tensor) {
    firn_shape shape = firnc_tensor_shape(tensor);
    uint64_t bytes = 0;
    return firn_shape_bytes(&shape, &bytes) ? bytes : 0;
}

static uint64_t elements_of(const firn_shape *shape) {
    uint64_t elements = 0;
    return firn_shape_elements(shape, &elements) ? elements : 0;
}

/* Products of attention: scores and values forward; scores again, dP, dQ, dK and dV backward. */
static uint64_t attention_cost(firn_fb_op op, const firn_shape *qkv, uint64_t products) {
    uint64_t heads = (uint64_t)firn_fb_op_integers_at(op, FIRN_ATTENTION_HEADS);
    uint64_t kv_heads = (uint64_t)firn_fb_op_integers_at(op, FIRN_ATTENTION_KV_HEADS);
    uint64_t steps = qkv->dims[1], size = qkv->dims[2] / (heads + 2 * kv_heads);
    uint64_t pairs = firn_fb_op_integers_at(op, FIRN_ATTENTION_CAUSAL) != 0 ? steps * (steps + 1) / 2 : steps * steps;
    return products * qkv->dims[0] * heads * pairs * size;
}

static firn_shape input_shape(firn_fb_plan plan, firn_fb_op op, uint32_t input) {
    return firnc_tensor_shape(firn_fb_plan_tensors_at(plan, firn_fb_op_inputs_at(op, input)));
}

/* A product of all elements of the first operand with each of so many columns. */
static uint64_t product_cost(firn_fb_plan plan, firn_fb_op op, const firn_shape *columns) {
    firn_shape first = input_shape(plan, op, 0);
    return elements_of(&first) * columns->dims[columns->rank - 1];
}

uint64_t firnc_op_cost(firn_fb_plan plan, firn_fb_op op) {
    firn_shape output = firnc_tensor_shape(firn_fb_plan_tensors_at(plan, firn_fb_op_outputs_at(op, 0))), operand;
    switch (firn_fb_op_code(op)) {
    case FIRN_OP_linear:
    case FIRN_OP_linear_backward_input:
        return product_cost(plan, op, &output);
    case FIRN_OP_linear_backward_weight:
        operand = input_shape(plan, op, 1);
        return product_cost(plan, op, &operand);
    case FIRN_OP_attention:
        operand = input_shape(plan, op, 0);
        return attention_cost(op, &operand, 2);
    case FIRN_OP_attention_backward:
        operand = input_shape(plan, op, 1);
        return attention_cost(op, &operand, 5);
    default:
        return 0;
    }
}

static void count_ops(firnc_report *report) {
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(report->plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(report->plan, p);
        bool repeated = firn_fb_phase_kind(phase) == FIRN_FB_PHASE_KIND_MICRO_BATCH;
        uint64_t times = repeated ? firn_fb_plan_micro_batches(report->plan) : 1;
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++)
            report->multiply_adds += times * firnc_op_cost(report->plan, firn_fb_phase_ops_at(phase, i));
        report->ops += firn_fb_phase_ops_count(phase);
    }
}

typedef struct placed_tensor {
    firnc_buffer buffer;
    uint32_t index;
} placed_tensor;

static int by_place_and_time(const void *a, const void *b) {
    const firnc_buffer *x = &((const placed_tensor *)a)->buffer, *y = &((const placed_tensor *)b)->buffer;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Tensors that follow each other in place are one buffer: the same bytes, the next born in the op where one dies. */
static void find_live_bytes(firnc_report *report) {
    uint32_t tensors = firn_fb_plan_tensors_count(report->plan), count = 0;
    placed_tensor *placed = firnc_allocate(tensors * sizeof *placed);
    for (uint32_t i = firn_fb_plan_state_tensors(report->plan); i < tensors; i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(report->plan, i);
        firn_fb_region region = firn_fb_plan_regions_at(report->plan, firn_fb_tensor_region(tensor));
        if (firn_fb_region_kind(region) == FIRN_FB_REGION_KIND_ARENA)
            placed[count++].buffer = (firnc_buffer){.bytes = (firnc_tensor_bytes(tensor) + 15) / 16 * 16,
                                                    .first = firn_fb_tensor_first(tensor),
                                                    .last = firn_fb_tensor_last(tensor),
                                                    .offset = firn_fb_tensor_offset(tensor)};
    }
    qsort(placed, count, sizeof *placed, by_place_and_time);
    firnc_buffer *buffers = firnc_allocate(count * sizeof *buffers);
    uint32_t made = 0;
    for (uint32_t i = 0; i < count; i++) {
        const firnc_buffer *next = &placed[i].buffer;
        firnc_buffer *last = made > 0 ? &buffers[made - 1] : NULL;
        if (last != NULL && last->offset == next->offset && last->bytes == next->bytes && next->first <= last->last)
            last->last = next->last > last->last ? next->last : last->last;
        else
            buffers[made++] = *next;
    }
    report->live_bytes = firnc_lower_bound(buffers, made);
}

static void measure_state(firnc_report *report) {
    for (uint32_t i = 0; i < firn_fb_plan_state_tensors(report->plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(report->plan, i);
        firn_shape shape = firnc_tensor_shape(tensor);
        if (firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_PARAMETER)
            report->parameters += elements_of(&shape);
    }
    report->checkpoint_bytes =
        firn_record_commit_offset(firn_record_directory_bytes(report->plan), report->header.state_bytes, PROGRAM_UNIT) +
        firn_record_commit_bytes(PROGRAM_UNIT);
}

static void find_arena(firnc_report *report) {
    for (uint32_t i = 0; i < firn_fb_plan_regions_count(report->plan); i++) {
        firn_fb_region region = firn_fb_plan_regions_at(report->plan, i);
        if (firn_fb_region_kind(region) == FIRN_FB_REGION_KIND_ARENA)
            report->plan_arena_bytes = firn_fb_region_bytes(region);
    }
    find_live_bytes(report);
}

/* The words that make a firmware link take the kernels of this plan and no others. */
static void print_kernels(const firnc_report *report) {
    for (uint32_t k = 0; k < FIRN_OPS; k++) {
        const firn_op_info *info = &firn_op_table[k];
        bool used = false;
        for (uint32_t p = 0; p < firn_fb_plan_phases_count(report->plan); p++) {
            firn_fb_phase phase = firn_fb_plan_phases_at(report->plan, p);
            for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase) && !used; i++)
                used = firn_fb_op_code(firn_fb_phase_ops_at(phase, i)) == info->code;
        }
        if (used)
            printf("-Wl,-u,firn_kernel_%s\n", firn_op_name(info));
    }
}

int firnc_inspect(const char *file, firnc_inspect_form form) {
    firnc_report report = {.file = file};
    firnc_bytes bytes;
    firnc_plan_file checked;
    if (!firnc_file_read(file, FIRNC_PLAN_BYTES_MAX, &bytes))
        return 1;
    int status = firnc_plan_check(&bytes, NULL, 0, &checked);
    report.header = checked.header;
    report.plan = checked.plan;
    memcpy(report.plan_hash, checked.plan_hash, sizeof report.plan_hash);
    if (status == FIRN_OK)
        status = firn_model_hash(report.plan, report.model_hash);
    if (status != FIRN_OK) {
        firnc_plan_refuse(file, status);
        return 3;
    }
    count_ops(&report);
    measure_state(&report);
    find_arena(&report);
    switch (form) {
    case FIRNC_INSPECT_TABLE:
        firnc_print_text(&report);
        break;
    case FIRNC_INSPECT_JSON:
        firnc_print_json(&report);
        break;
    case FIRNC_INSPECT_KERNELS:
        print_kernels(&report);
        break;
    }
    return 0;
}
