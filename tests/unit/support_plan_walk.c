/* See plan_walk.h. test_plan_flatc.c compares the visited fields with flatc's output, so that a field missing here is
 * found. */
#include "tests/unit/plan_walk.h"

#include <stdlib.h>
#include <string.h>

#include "plan/generated/words.h"

/* These must be macros: they build the accessor's name from the names of the table and the field. */
#define SCALAR(owner, field, kind) sink->kind(sink->context, #field, firn_fb_##owner##_##field(table))
#define CHOICE(owner, field, enumeration)                                                                              \
    sink->choice(sink->context, #field, firn_fb_##enumeration##_word(firn_fb_##owner##_##field(table)),                \
                 firn_fb_##owner##_##field(table))
#define TEXT(owner, field)                                                                                             \
    sink->text(sink->context, #field, firn_fb_##owner##_##field(table), firn_fb_##owner##_##field##_length(table))
#define BRACED(name, type, value)                                                                                      \
    do {                                                                                                               \
        sink->open(sink->context, name, '{');                                                                          \
        walk_##type(value, sink);                                                                                      \
        sink->close(sink->context, '}');                                                                               \
    } while (0)
#define OBJECT(owner, field, type)                                                                                     \
    do {                                                                                                               \
        if (firn_fb_##owner##_##field##_present(table))                                                                \
            BRACED(#field, type, firn_fb_##owner##_##field(table));                                                    \
    } while (0)
#define ELEMENTS(owner, field, visit)                                                                                  \
    do {                                                                                                               \
        uint32_t count = firn_fb_##owner##_##field##_count(table);                                                     \
        if (count != 0)                                                                                                \
            sink->open(sink->context, #field, '[');                                                                    \
        for (uint32_t i = 0; i < count; i++)                                                                           \
            visit;                                                                                                     \
        if (count != 0)                                                                                                \
            sink->close(sink->context, ']');                                                                           \
    } while (0)
#define VECTOR(owner, field, kind)                                                                                     \
    ELEMENTS(owner, field, sink->kind(sink->context, NULL, firn_fb_##owner##_##field##_at(table, i)))
#define OBJECTS(owner, field, type) ELEMENTS(owner, field, BRACED(NULL, type, firn_fb_##owner##_##field##_at(table, i)))
#define STRUCTS(owner, field, type)                                                                                    \
    do {                                                                                                               \
        OBJECTS(owner, field, type);                                                                                   \
        for (uint32_t i = 0; i < firn_fb_##owner##_##field##_count(table); i++) {                                      \
            firn_fb_##type value = firn_fb_##owner##_##field##_at(table, i);                                           \
            if (memcmp(firn_fb_##owner##_##field##_data(table) + i * sizeof value, &value, sizeof value) != 0)         \
                abort();                                                                                               \
        }                                                                                                              \
    } while (0)

static void walk_reduction(firn_fb_reduction value, const walk_sink *sink) {
    sink->choice(sink->context, "kind", firn_fb_reduction_kind_word(value.kind), value.kind);
    sink->choice(sink->context, "accumulator", firn_fb_element_type_word(value.accumulator), value.accumulator);
    sink->choice(sink->context, "output", firn_fb_element_type_word(value.output), value.output);
    sink->natural(sink->context, "reserved_byte", value.reserved_byte);
    sink->natural(sink->context, "chunk", value.chunk);
    sink->natural(sink->context, "reserved_low", value.reserved_low);
    sink->natural(sink->context, "reserved_high", value.reserved_high);
}

static void walk_schedule_node(firn_fb_schedule_node value, const walk_sink *sink) {
    sink->choice(sink->context, "kind", firn_fb_schedule_kind_word(value.kind), value.kind);
    sink->natural(sink->context, "mode", value.mode);
    sink->natural(sink->context, "first_child", value.first_child);
    sink->natural(sink->context, "child_count", value.child_count);
    sink->natural(sink->context, "total", value.total);
    sink->natural(sink->context, "start", value.start);
    sink->natural(sink->context, "auxiliary", value.auxiliary);
    sink->real(sink->context, "initial", value.initial);
    sink->real(sink->context, "final", value.final);
    sink->real(sink->context, "rate", value.rate);
    sink->real(sink->context, "power", value.power);
    sink->natural(sink->context, "reserved", value.reserved);
}

static void walk_schedule_number(firn_fb_schedule_number value, const walk_sink *sink) {
    sink->real(sink->context, "value", value.value);
}

static void walk_schedule_instruction(firn_fb_schedule_instruction value, const walk_sink *sink) {
    sink->choice(sink->context, "operation", firn_fb_schedule_operation_word(value.operation), value.operation);
    sink->natural(sink->context, "reserved_low", value.reserved_low);
    sink->natural(sink->context, "reserved_high", value.reserved_high);
    sink->real(sink->context, "value", value.value);
}

static void walk_tensor(firn_fb_tensor table, const walk_sink *sink) {
    CHOICE(tensor, type, element_type);
    CHOICE(tensor, role, role);
    SCALAR(tensor, region, natural);
    SCALAR(tensor, offset, natural);
    VECTOR(tensor, dims, natural);
    SCALAR(tensor, first, natural);
    SCALAR(tensor, last, natural);
    TEXT(tensor, name);
    SCALAR(tensor, base, natural);
}

static void walk_op(firn_fb_op table, const walk_sink *sink) {
    SCALAR(op, code, natural);
    VECTOR(op, inputs, natural);
    VECTOR(op, outputs, natural);
    VECTOR(op, integers, integer);
    VECTOR(op, reals, single);
    STRUCTS(op, reductions, reduction);
}

static void walk_phase(firn_fb_phase table, const walk_sink *sink) {
    CHOICE(phase, kind, phase_kind);
    OBJECTS(phase, ops, op);
}

static void walk_input(firn_fb_input table, const walk_sink *sink) {
    TEXT(input, name);
    SCALAR(input, tensor, natural);
    SCALAR(input, stream, natural);
    CHOICE(input, element, element_type);
    SCALAR(input, advance, natural);
    SCALAR(input, limit, natural);
    SCALAR(input, scale, single);
    SCALAR(input, shift, single);
    SCALAR(input, label, truth);
    SCALAR(input, ring, natural);
}

static void walk_output(firn_fb_output table, const walk_sink *sink) {
    TEXT(output, name);
    SCALAR(output, tensor, natural);
}

static void walk_sampler(firn_fb_sampler table, const walk_sink *sink) {
    CHOICE(sampler, kind, sampler_kind);
    CHOICE(sampler, unit, sample_unit);
    CHOICE(sampler, part, data_part);
    CHOICE(sampler, epoch_end, epoch_end);
    SCALAR(sampler, window, natural);
    SCALAR(sampler, stride, natural);
    SCALAR(sampler, samples, natural);
    SCALAR(sampler, held_out_per_mille, natural);
    SCALAR(sampler, seed, natural);
    SCALAR(sampler, cursor, natural);
    SCALAR(sampler, pushed, natural);
    SCALAR(sampler, counted, natural);
}

static void walk_schedule(firn_fb_schedule table, const walk_sink *sink) {
    SCALAR(schedule, root, natural);
    SCALAR(schedule, tensor, natural);
}

static void walk_initialiser(firn_fb_initialiser table, const walk_sink *sink) {
    CHOICE(initialiser, rule, initialiser_rule);
    CHOICE(initialiser, element, element_type);
    SCALAR(initialiser, rng_id, natural);
    SCALAR(initialiser, a, single);
    SCALAR(initialiser, b, single);
    SCALAR(initialiser, integer, integer);
    SCALAR(initialiser, weights, natural);
    SCALAR(initialiser, low, single);
    SCALAR(initialiser, high, single);
}

static void walk_metric(firn_fb_metric table, const walk_sink *sink) {
    CHOICE(metric, kind, metric_kind);
    SCALAR(metric, sum, natural);
    SCALAR(metric, count, natural);
    SCALAR(metric, beta, single);
    VECTOR(metric, ignore_classes, natural);
}

static void walk_plan(firn_fb_plan table, const walk_sink *sink) {
    SCALAR(plan, numerics_version, natural);
    CHOICE(plan, micro_batch_order, micro_batch_order);
    SCALAR(plan, check_loss, truth);
    SCALAR(plan, micro_batches, natural);
    SCALAR(plan, seed, natural);
    SCALAR(plan, steps, natural);
    OBJECTS(plan, tensors, tensor);
    SCALAR(plan, state_tensors, natural);
    OBJECTS(plan, phases, phase);
    OBJECTS(plan, inputs, input);
    OBJECTS(plan, outputs, output);
    OBJECT(plan, sampler, sampler);
    STRUCTS(plan, schedule_nodes, schedule_node);
    OBJECTS(plan, schedules, schedule);
    OBJECTS(plan, initialisers, initialiser);
    OBJECTS(plan, metrics, metric);
    SCALAR(plan, loss, natural);
    SCALAR(plan, learning_rate, natural);
    SCALAR(plan, loss_scale, natural);
    SCALAR(plan, global_step, natural);
    SCALAR(plan, optimizer_step, natural);
    SCALAR(plan, finite, natural);
    SCALAR(plan, at_floor, natural);
    SCALAR(plan, gradient_norm, natural);
    STRUCTS(plan, schedule_numbers, schedule_number);
    STRUCTS(plan, schedule_instructions, schedule_instruction);
    VECTOR(plan, origin, natural);
    SCALAR(plan, losses_added, truth);
    VECTOR(plan, tokenizer, natural);
}

void plan_walk(firn_fb_plan plan, const walk_sink *sink) {
    BRACED(NULL, plan, plan);
}
