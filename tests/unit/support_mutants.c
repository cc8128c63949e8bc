/* See support_mutants.h. */
#include "tests/unit/support_mutants.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/op_words.h"
#include "plan/ops.h"
#include "plan/shapes/infer.h"

#define ARENA_MOST (1u << 18) /* no larger arena is laid out, so that a step stays short */
#define FOR_EVER   UINT32_MAX
#define ALIGNMENT  16u
#define MICRO_MOST 8u /* micro-batches, for the same reason */

/* --- random numbers ----------------------------------------------------------------------------------------------- */

/* splitmix64 */
static uint64_t draw64(uint64_t *random) {
    *random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *random;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint32_t draw(uint64_t *random, uint32_t below) {
    return (uint32_t)(draw64(random) >> 16) % below;
}

static bool one_in(uint64_t *random, uint32_t n) {
    return draw(random, n) == 0;
}

/* --- telling ------------------------------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void tell(mutant *m, const char *format, ...) {
    va_list arguments;
    size_t length = strlen(m->changes);
    va_start(arguments, format);
    vsnprintf(m->changes + length, sizeof m->changes - length, format, arguments);
    va_end(arguments);
}

/* "7" or "7 (wte.weight)"; stays valid for two further calls. */
static const char *tensor_text(const mutant *m, uint32_t index) {
    static char texts[3][240];
    static uint32_t next;
    char *text = texts[next++ % 3];
    const char *name = index < m->native.plan->tensors_count ? m->native.plan->tensors[index].name : NULL;
    if (index == FIRN_ABSENT)
        snprintf(text, sizeof texts[0], "absent");
    else
        snprintf(text, sizeof texts[0], name != NULL ? "%u (%s)" : "%u", (unsigned)index, name);
    return text;
}

static const char *op_text(uint16_t code) {
    const firn_op_info *info = firn_op_find(code);
    return info != NULL ? firn_op_name(info) : "no op";
}

/* --- ops and tensors of a plan ------------------------------------------------------------------------------------ */

/* The structs are in memory of the mutant, which may be changed; the writer's const is for the compiler. */
static firn_native_tensor *tensor_at(const mutant *m, uint32_t index) {
    return (firn_native_tensor *)(uintptr_t)&m->native.plan->tensors[index];
}

static uint32_t op_count(const mutant *m) {
    uint32_t count = 0;
    for (uint32_t p = 0; p < m->native.plan->phases_count; p++)
        count += m->native.plan->phases[p].ops_count;
    return count;
}

static firn_native_op *op_at(const mutant *m, uint32_t n) {
    uint32_t p = 0;
    for (; n >= m->native.plan->phases[p].ops_count; p++)
        n -= m->native.plan->phases[p].ops_count;
    return (firn_native_op *)(uintptr_t)&m->native.plan->phases[p].ops[n];
}

static uint32_t *index_at(const uint32_t *list, uint32_t i) {
    return (uint32_t *)(uintptr_t)&list[i];
}

/* A kind of region, of a tensor that may name a region that is not there. */
static uint8_t region_of(const mutant *m, const firn_native_tensor *tensor) {
    return tensor->region < m->header.region_count ? m->header.region_kinds[tensor->region]
                                                   : (uint8_t)FIRN_FB_REGION_KIND_CONSTANT;
}

static bool in_arena(const mutant *m, const firn_native_tensor *tensor) {
    return firn_region_is_arena(region_of(m, tensor));
}

static bool is_view(const mutant *m, const firn_native_tensor *tensor) {
    return tensor->base < m->native.plan->tensors_count;
}

/* The index of the tensor whose bytes a tensor has. */
static uint32_t base_of(const mutant *m, uint32_t index) {
    return index < m->native.plan->tensors_count && is_view(m, tensor_at(m, index)) ? tensor_at(m, index)->base : index;
}

static bool is_persistent(const firn_native_tensor *tensor) {
    return tensor->first == 0 && tensor->last == FOR_EVER;
}

static firn_shape shape_of(const firn_native_tensor *tensor) {
    firn_shape shape = {.type = tensor->type,
                        .rank = (uint8_t)(tensor->dims_count <= FIRN_RANK_MAX ? tensor->dims_count : 0)};
    memcpy(shape.dims, tensor->dims, shape.rank * sizeof *shape.dims);
    return shape;
}

static bool same_shape(const firn_native_tensor *a, const firn_native_tensor *b) {
    return a->type == b->type && a->dims_count == b->dims_count &&
           memcmp(a->dims, b->dims, a->dims_count * sizeof *a->dims) == 0;
}

static bool is_filled(const mutant *m, uint32_t tensor) {
    for (uint32_t i = 0; i < m->native.plan->inputs_count; i++)
        if (m->native.plan->inputs[i].tensor == tensor)
            return true;
    return false;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Finds a random spot of a class, by reservoir sampling; NULL: there is none. */
static native_spot *any_spot(const mutant *m, uint64_t *random, uint32_t class) {
    native_spot *found = NULL;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < m->native.spot_count; i++)
        if (m->native.spots[i].class == class && draw(random, ++seen) == 0)
            found = &m->native.spots[i];
    return found;
}

static uint64_t other_float(uint64_t *random, uint64_t bits) {
    static const float values[] = {0,         1,       -1,       0.5f,  2,   0x1p-149f, 0x1p-126f, 0x1.fffffep127f,
                                   -0x1p127f, 0x1p62f, -0x1p63f, 1e-8f, 1024};
    float value;
    uint32_t now = (uint32_t)bits;
    memcpy(&value, &now, sizeof value);
    switch (draw(random, 5)) {
    case 0:
        value = -value;
        break;
    case 1:
        value *= 2;
        break;
    case 2:
        value *= 0.5f;
        break;
    default:
        value = values[draw(random, sizeof values / sizeof values[0])];
    }
    memcpy(&now, &value, sizeof now);
    return now;
}

static uint64_t other_double(uint64_t *random, uint64_t bits) {
    static const double values[] = {0, 1, -1, 0.5, 2, 1e-30, 1e30, 10, 100};
    double value;
    memcpy(&value, &bits, sizeof value);
    value = one_in(random, 3) ? value * 2 : values[draw(random, sizeof values / sizeof values[0])];
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t other_whole(const mutant *m, uint64_t *random, const native_spot *spot, uint64_t value) {
    const native_class *class = &m->native.classes[spot->class];
    switch (draw(random, 8)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return class->most >> draw(random, 2);
    case 3:
        return value + 1;
    case 4:
        return value - 1;
    case 5:
        return draw(random, m->native.plan->tensors_count);
    case 6:
        return draw(random, 16);
    default:
        return value ^ UINT64_C(1) << draw(random, 8 * class->bytes);
    }
}

static void change_text(const native_spot *spot, uint64_t *random) {
    spot->at[draw(random, spot->bytes)] = (uint8_t)('a' + draw(random, 26));
}

/* Gives a random value of a random class another value: often that of another place of the same class. */
static void change_value(mutant *m, uint64_t *random) {
    uint32_t class = draw(random, m->native.class_count);
    native_spot *spot = any_spot(m, random, class);
    if (spot == NULL || spot->bytes == 0)
        return;
    native_spot *other = any_spot(m, random, class);
    uint64_t before = native_spot_value(spot), value;
    const native_class *kind = &m->native.classes[class];
    if (kind->kind == NATIVE_TEXT) {
        change_text(spot, random);
        tell(m, "%s: another character\n", native_name(&m->native, spot->class, &spot->place));
        return;
    }
    if (one_in(random, 3)) {
        value = native_spot_value(other);
        if (one_in(random, 2))
            native_spot_set(other, before);
    } else if (kind->kind == NATIVE_FLOAT) {
        value = other_float(random, before);
    } else if (kind->kind == NATIVE_DOUBLE) {
        value = other_double(random, before);
    } else if (kind->kind == NATIVE_CHOICE) {
        value = draw64(random) % (kind->most + 1);
    } else {
        value = other_whole(m, random, spot, before);
    }
    native_spot_set(spot, value);
    if (native_spot_value(spot) != before)
        tell(m, "%s: 0x%llx becomes 0x%llx\n", native_name(&m->native, spot->class, &spot->place),
             (unsigned long long)before, (unsigned long long)native_spot_value(spot));
}

/* Duplicates, removes or exchanges elements of a random vector. */
static void change_list(mutant *m, uint64_t *random) {
    native_list *list = &m->native.lists[draw(random, m->native.list_count)];
    if (*list->count == 0)
        return;
    uint32_t from = draw(random, *list->count), to = draw(random, *list->count);
    uint8_t element[512];
    if (list->element_bytes > sizeof element)
        return;
    const char *name = native_name(&m->native, list->class, &list->place);
    memcpy(element, native_list_at(list, from), list->element_bytes);
    switch (draw(random, 3)) {
    case 0:
        if (native_list_insert(list, element, to))
            tell(m, "%s: element %u again at %u\n", name, (unsigned)from, (unsigned)to);
        break;
    case 1:
        native_list_remove(list, from);
        tell(m, "%s: without element %u\n", name, (unsigned)from);
        break;
    default:
        memcpy(native_list_at(list, from), native_list_at(list, to), list->element_bytes);
        memcpy(native_list_at(list, to), element, list->element_bytes);
        if (from != to)
            tell(m, "%s: elements %u and %u exchanged\n", name, (unsigned)from, (unsigned)to);
    }
}

static void drop_option(mutant *m, uint64_t *random) {
    if (m->native.option_count == 0)
        return;
    const native_option *option = &m->native.options[draw(random, m->native.option_count)];
    if (option->pointer != NULL)
        memset(option->pointer, 0, sizeof(void *));
    else
        *option->present = !*option->present;
    tell(m, "%s: %s\n", native_name(&m->native, option->class, &option->place),
         option->present != NULL && *option->present ? "given" : "left out");
}

/* --- operands ----------------------------------------------------------------------------------------------------- */

/* Finds a random tensor of the same type and, unless `any`, of the same extents; `tensor` itself if there is no other.
 */
static uint32_t like(const mutant *m, uint64_t *random, uint32_t tensor, bool any) {
    uint32_t found = tensor, seen = 0;
    for (uint32_t i = 0; i < m->native.plan->tensors_count; i++) {
        bool fits = any ? tensor_at(m, i)->type == tensor_at(m, tensor)->type
                        : same_shape(tensor_at(m, i), tensor_at(m, tensor));
        if (i != tensor && fits && draw(random, ++seen) == 0)
            found = i;
    }
    return found;
}

/* Draws an op; half of the time one of a random phase, because most of them have few ops. */
static uint32_t any_op(const mutant *m, uint64_t *random) {
    uint32_t phase = draw(random, m->native.plan->phases_count), before = 0;
    if (one_in(random, 2) || m->native.plan->phases[phase].ops_count == 0)
        return draw(random, op_count(m));
    for (uint32_t p = 0; p < phase; p++)
        before += m->native.plan->phases[p].ops_count;
    return before + draw(random, m->native.plan->phases[phase].ops_count);
}

/* Finds a random output of a random op, one behind its first output if there is any: contents that few ops read. */
static uint32_t side_output(const mutant *m, uint64_t *random) {
    uint32_t found = op_at(m, draw(random, op_count(m)))->outputs[0], seen = 0;
    for (uint32_t n = 0; n < op_count(m); n++)
        for (uint32_t i = 1; i < op_at(m, n)->outputs_count; i++)
            if (draw(random, ++seen) == 0)
                found = op_at(m, n)->outputs[i];
    return found;
}

/* Makes an op read a tensor of any shape, and replaces the operands that must have the same shape, too. */
static void read_any(mutant *m, uint64_t *random) {
    uint32_t ops = op_count(m), begin = draw(random, ops);
    uint32_t to = one_in(random, 2) ? side_output(m, random) : draw(random, m->native.plan->tensors_count);
    for (uint32_t k = 0; k < ops && to < m->native.plan->tensors_count; k++) {
        uint32_t n = (begin + k) % ops;
        firn_native_op *op = op_at(m, n);
        const firn_op_info *info = firn_op_find(op->code);
        for (uint8_t i = 0; info != NULL && i < op->inputs_count && i < info->inputs_max; i++) {
            if (firn_op_input(info, i)->form != FIRN_FORM_ANY)
                continue;
            for (uint8_t j = 0; j < op->inputs_count && j < info->inputs_max; j++)
                if (j == i || (firn_op_input(info, j)->form == FIRN_FORM_LIKE && firn_op_input(info, j)->a == i))
                    *index_at(op->inputs, j) = to;
            tell(m, "op %u (%s) reads %s of another shape\n", (unsigned)n, op_text(op->code), tensor_text(m, to));
            return;
        }
    }
}

/* Makes an op read or write another tensor, usually one of the same shape; or none. */
static void change_operand(mutant *m, uint64_t *random) {
    uint32_t n = any_op(m, random);
    firn_native_op *op = op_at(m, n);
    bool output = op->inputs_count == 0 || one_in(random, 4);
    uint32_t count = output ? op->outputs_count : op->inputs_count;
    if (count == 0)
        return;
    uint32_t i = draw(random, count);
    uint32_t *operand = index_at(output ? op->outputs : op->inputs, i), before = *operand;
    if (one_in(random, 12))
        *operand = FIRN_ABSENT;
    else if (before >= m->native.plan->tensors_count || one_in(random, 5))
        *operand = side_output(m, random);
    else
        *operand = like(m, random, before, one_in(random, 3));
    if (*operand >= m->native.plan->tensors_count && *operand != FIRN_ABSENT)
        *operand = before;
    if (*operand != before)
        tell(m, "op %u (%s) %s tensor %s instead of %s\n", (unsigned)n, op_text(op->code), output ? "writes" : "reads",
             tensor_text(m, *operand), tensor_text(m, before));
}

/* Makes all reads of a tensor behind some op read another of the same shape. */
static void rename_reads(mutant *m, uint64_t *random) {
    uint32_t from = draw(random, m->native.plan->tensors_count), to = like(m, random, from, false);
    uint32_t begin = draw(random, op_count(m));
    for (uint32_t n = begin; n < op_count(m) && to != from; n++)
        for (uint32_t i = 0; i < op_at(m, n)->inputs_count; i++)
            if (op_at(m, n)->inputs[i] == from)
                *index_at(op_at(m, n)->inputs, i) = to;
    if (to != from)
        tell(m, "from op %u on, tensor %s is read instead of %s\n", (unsigned)begin, tensor_text(m, to),
             tensor_text(m, from));
}

/* --- ops ---------------------------------------------------------------------------------------------------------- */

static bool same_counts(const firn_op_info *a, const firn_op_info *b) {
    return a->inputs_max == b->inputs_max && a->outputs == b->outputs && a->integers == b->integers &&
           a->reals == b->reals && a->reductions == b->reductions;
}

/* Replaces the code of an op, usually by one with as many operands and attributes. */
static void change_code(mutant *m, uint64_t *random) {
    uint32_t n = any_op(m, random), seen = 0;
    firn_native_op *op = op_at(m, n);
    const firn_op_info *before = firn_op_find(op->code), *found = before;
    bool any = one_in(random, 4);
    for (uint32_t i = 0; before != NULL && i < FIRN_OPS; i++)
        if (firn_op_at(i) != before && (any || same_counts(before, firn_op_at(i))) && draw(random, ++seen) == 0)
            found = firn_op_at(i);
    if (found == before)
        return;
    tell(m, "op %u (%s) becomes %s\n", (unsigned)n, op_text(op->code), op_text(found->code));
    op->code = found->code;
}

static native_list *list_of_ops(const mutant *m, uint32_t phase) {
    for (uint32_t i = 0; i < m->native.list_count; i++)
        if (m->native.lists[i].count == &m->native.plan->phases[phase].ops_count)
            return &m->native.lists[i];
    return NULL;
}

static native_list *list_of_tensors(const mutant *m) {
    for (uint32_t i = 0; i < m->native.list_count; i++)
        if (m->native.lists[i].count == &m->native.plan->tensors_count)
            return &m->native.lists[i];
    return NULL;
}

/* Moves or copies an op to another place, in any phase. */
static void move_op(mutant *m, uint64_t *random) {
    uint32_t p = draw(random, m->native.plan->phases_count),
             q = one_in(random, 2) ? p : draw(random, m->native.plan->phases_count);
    native_list *from = list_of_ops(m, p), *to = list_of_ops(m, q);
    if (from == NULL || to == NULL || *from->count == 0)
        return;
    uint32_t i = draw(random, *from->count);
    firn_native_op op = *(firn_native_op *)native_list_at(from, i);
    bool copy = one_in(random, 3);
    if (!copy)
        native_list_remove(from, i);
    uint32_t j = draw(random, *to->count + 1);
    if (native_list_insert(to, &op, j))
        tell(m, "op %u of phase %u (%s) %s to %u of phase %u\n", (unsigned)i, (unsigned)p, op_text(op.code),
             copy ? "copied" : "moved", (unsigned)j, (unsigned)q);
}

/* Adds a tensor like another, without a name. Returns its index, or the other's if there is no room. */
static uint32_t add_tensor_like(mutant *m, uint32_t model) {
    firn_native_tensor tensor = *tensor_at(m, model);
    uint32_t *dims = native_plan_memory(&m->native, FIRN_RANK_MAX * sizeof *dims);
    memcpy(dims, tensor.dims, tensor.dims_count * sizeof *dims);
    tensor.name = NULL;
    tensor.dims = dims;
    uint32_t index = m->native.plan->tensors_count;
    native_list *tensors = list_of_tensors(m);
    return tensors != NULL && native_list_insert(tensors, &tensor, index) ? index : model;
}

static uint32_t *copy_operands(mutant *m, const uint32_t *list, uint32_t count) {
    uint32_t *copy = native_plan_memory(&m->native, (count + 1) * sizeof *copy);
    for (uint32_t i = 0; i < count; i++)
        copy[i] = list[i];
    return copy;
}

/* Inserts a copy of an op that works on other inputs and mostly writes new tensors, one of which a later op reads
 * instead of a tensor of the same shape. */
static void add_op(mutant *m, uint64_t *random) {
    uint32_t p = draw(random, m->native.plan->phases_count), n = any_op(m, random);
    native_list *list = list_of_ops(m, p);
    firn_native_op op = *op_at(m, n);
    if (list == NULL || list_of_tensors(m) == NULL || op.outputs_count == 0)
        return;
    op.inputs = copy_operands(m, op.inputs, op.inputs_count);
    op.outputs = copy_operands(m, op.outputs, op.outputs_count);
    const firn_op_info *info = firn_op_find(op.code);
    for (uint32_t i = 0; i < op.outputs_count; i++)
        if (op.outputs[i] < m->native.plan->tensors_count && in_arena(m, tensor_at(m, op.outputs[i]))) {
            uint32_t added =
                one_in(random, 6) ? like(m, random, op.outputs[i], false) : add_tensor_like(m, op.outputs[i]);
            uint32_t changed = FIRN_FRESH;
            if (info != NULL && i < info->outputs)
                changed = firn_op_changed(info, i);
            *index_at(op.outputs, i) = added;
            if (changed < op.inputs_count)
                *index_at(op.inputs, changed) = added;
        }
    if (op.inputs_count > 0 && one_in(random, 2)) {
        uint32_t i = draw(random, op.inputs_count);
        if (op.inputs[i] < m->native.plan->tensors_count)
            *index_at(op.inputs, i) = like(m, random, op.inputs[i], one_in(random, 2));
    }
    uint32_t at = draw(random, *list->count + 1);
    if (!native_list_insert(list, &op, at))
        return;
    tell(m, "a copy of op %u (%s) with outputs of its own at %u of phase %u\n", (unsigned)n, op_text(op.code),
         (unsigned)at, (unsigned)p);
    uint32_t fresh = op.outputs[draw(random, op.outputs_count)];
    uint32_t begin = draw(random, op_count(m));
    for (uint32_t later = begin; later < op_count(m); later++) {
        firn_native_op *reader = op_at(m, later);
        for (uint32_t i = 0; i < reader->inputs_count; i++) {
            uint32_t read = reader->inputs[i];
            if (read >= m->native.plan->tensors_count || fresh >= m->native.plan->tensors_count ||
                !same_shape(tensor_at(m, read), tensor_at(m, fresh)) || !one_in(random, 3))
                continue;
            *index_at(reader->inputs, i) = fresh;
            tell(m, "op %u (%s) reads tensor %s instead of %s\n", (unsigned)later, op_text(reader->code),
                 tensor_text(m, fresh), tensor_text(m, read));
            return;
        }
    }
}

/* Inserts an op that writes a tensor once more, with the sum of two others like it. */
static void write_again(mutant *m, uint64_t *random) {
    uint32_t p = draw(random, m->native.plan->phases_count), n = any_op(m, random);
    native_list *list = list_of_ops(m, p);
    if (list == NULL || op_at(m, n)->outputs_count == 0)
        return;
    uint32_t to = op_at(m, n)->outputs[draw(random, op_at(m, n)->outputs_count)];
    if (to >= m->native.plan->tensors_count)
        return;
    const uint32_t from[] = {like(m, random, to, false), like(m, random, to, false)};
    float *factors = native_plan_memory(&m->native, 2 * sizeof *factors);
    factors[0] = factors[1] = 0.5f;
    const firn_native_op op = {.code = FIRN_OP_weighted_sum,
                               .inputs = copy_operands(m, from, 2),
                               .inputs_count = 2,
                               .outputs = copy_operands(m, &to, 1),
                               .outputs_count = 1,
                               .reals = factors,
                               .reals_count = 2};
    uint32_t at = draw(random, *list->count + 1);
    if (native_list_insert(list, &op, at))
        tell(m, "tensor %s is written again, from %s and %s, at %u of phase %u\n", tensor_text(m, to),
             tensor_text(m, from[0]), tensor_text(m, from[1]), (unsigned)at, (unsigned)p);
}

/* Moves an op, or copies one, into a phase of its own for what is derived, which precedes all others. */
static void add_derive(mutant *m, uint64_t *random) {
    uint32_t p = draw(random, m->native.plan->phases_count);
    native_list *from = list_of_ops(m, p), *phases = NULL;
    for (uint32_t i = 0; i < m->native.list_count; i++)
        if (m->native.lists[i].count == &m->native.plan->phases_count)
            phases = &m->native.lists[i];
    if (from == NULL || phases == NULL || *from->count == 0 ||
        m->native.plan->phases[0].kind == FIRN_FB_PHASE_KIND_DERIVE)
        return;
    uint32_t i = draw(random, *from->count);
    firn_native_op *ops = native_list_memory(&m->native, NATIVE_SPARE, sizeof *ops);
    ops[0] = *(firn_native_op *)native_list_at(from, i);
    if (!one_in(random, 3))
        native_list_remove(from, i);
    const firn_native_phase derive = {.kind = FIRN_FB_PHASE_KIND_DERIVE, .ops = ops, .ops_count = 1};
    if (native_list_insert(phases, &derive, 0))
        tell(m, "op %u of phase %u (%s) is derived\n", (unsigned)i, (unsigned)p, op_text(ops[0].code));
}

/* --- tensors ------------------------------------------------------------------------------------------------------ */

/* Makes a tensor persistent, or gives it the bytes, the role or the region of another. */
static void change_tensor(mutant *m, uint64_t *random) {
    uint32_t i = draw(random, m->native.plan->tensors_count), j = draw(random, m->native.plan->tensors_count);
    firn_native_tensor *tensor = tensor_at(m, i);
    switch (draw(random, 6)) {
    case 0:
        tensor->first = 0;
        tensor->last = FOR_EVER;
        tell(m, "tensor %s is persistent\n", tensor_text(m, i));
        break;
    case 1:
        tensor->offset = tensor_at(m, j)->offset;
        tell(m, "tensor %s lies where %s lies\n", tensor_text(m, i), tensor_text(m, j));
        break;
    case 2:
        tensor->role = (uint8_t)draw(random, FIRN_FB_ROLE_CACHE + 1);
        tell(m, "tensor %s has role %u\n", tensor_text(m, i), (unsigned)tensor->role);
        break;
    case 3:
        tensor->region = (uint8_t)draw(random, m->header.region_count);
        tell(m, "tensor %s is in region %u\n", tensor_text(m, i), (unsigned)tensor->region);
        break;
    case 4:
        tensor->region = tensor_at(m, j)->region;
        tensor->role = tensor_at(m, j)->role;
        tell(m, "tensor %s has role and region of %s\n", tensor_text(m, i), tensor_text(m, j));
        break;
    default:
        tensor->first = tensor_at(m, j)->first;
        tensor->last = tensor_at(m, j)->last;
        tell(m, "tensor %s lives as long as %s\n", tensor_text(m, i), tensor_text(m, j));
    }
}

/* Makes a tensor a view of another. */
static void make_view(mutant *m, uint64_t *random) {
    uint32_t i = draw(random, m->native.plan->tensors_count), j = like(m, random, i, one_in(random, 2));
    firn_native_tensor *tensor = tensor_at(m, i);
    if (one_in(random, 4))
        j = draw(random, m->native.plan->tensors_count);
    tensor->base = j;
    tensor->offset = one_in(random, 3) ? ALIGNMENT * draw(random, 4) : 0;
    if (one_in(random, 2))
        tensor->name = NULL;
    tell(m, "tensor %s is a view of %s, offset %u\n", tensor_text(m, i), tensor_text(m, j), (unsigned)tensor->offset);
}

/* Gives a view of a tensor other dimensions or another place in its base. */
static void shape_view(uint64_t *random, firn_native_tensor *view) {
    uint32_t *dims = (uint32_t *)(uintptr_t)view->dims;
    switch (draw(random, 4)) {
    case 0:
        dims[0] = dims[0] > 1 ? dims[0] / 2 : 1;
        view->offset = ALIGNMENT * draw(random, 8);
        break;
    case 1: /* the first two dimensions become one */
        if (view->dims_count > 1) {
            dims[1] *= dims[0];
            memmove(dims, dims + 1, --view->dims_count * sizeof *dims);
        }
        break;
    case 2: /* one more dimension */
        if (view->dims_count < FIRN_RANK_MAX) {
            memmove(dims + 1, dims, view->dims_count++ * sizeof *dims);
            dims[0] = 1;
        }
        break;
    default:
        break;
    }
}

/* Makes an op use a new view of a tensor instead of the tensor, or of another one of the same shape. */
static void add_view(mutant *m, uint64_t *random) {
    uint32_t n = any_op(m, random);
    firn_native_op *op = op_at(m, n);
    bool output = op->inputs_count == 0 || one_in(random, 8);
    uint32_t count = output ? op->outputs_count : op->inputs_count;
    if (count == 0)
        return;
    uint32_t i = draw(random, count);
    uint32_t *operand = index_at(output ? op->outputs : op->inputs, i), before = *operand;
    if (before >= m->native.plan->tensors_count)
        return;
    uint32_t base = base_of(m, one_in(random, 4) ? like(m, random, before, one_in(random, 2)) : before);
    uint32_t index = add_tensor_like(m, before);
    if (index == before || base >= m->native.plan->tensors_count)
        return;
    firn_native_tensor *view = tensor_at(m, index);
    view->base = base;
    view->offset = 0;
    shape_view(random, view);
    *operand = index;
    tell(m, "op %u (%s) %s tensor %u instead of %s, a view of %s\n", (unsigned)n, op_text(op->code),
         output ? "writes" : "reads", (unsigned)index, tensor_text(m, before), tensor_text(m, base));
}

/* Changes the mode or a region in the header. */
static void change_header(mutant *m, uint64_t *random) {
    firn_header *h = &m->header;
    uint32_t i = draw(random, h->region_count);
    switch (draw(random, 4)) {
    case 0:
        h->mode ^= 1;
        tell(m, "mode %u\n", (unsigned)h->mode);
        break;
    case 1:
        h->region_kinds[i] = (uint8_t)((h->region_kinds[i] + FIRN_FB_REGION_KIND_SLOW_PARAMETERS) %
                                       (2 * FIRN_FB_REGION_KIND_SLOW_PARAMETERS));
        tell(m, "region %u of kind %u\n", (unsigned)i, (unsigned)h->region_kinds[i]);
        break;
    case 2:
        h->region_bytes[i] += UINT64_C(16) * draw(random, 5) - 32;
        tell(m, "region %u of %llu bytes\n", (unsigned)i, (unsigned long long)h->region_bytes[i]);
        break;
    default: /* one more region of the last kind */
        if (h->region_count == FIRN_REGIONS_MAX)
            return;
        h->region_kinds[h->region_count] = h->region_kinds[h->region_count - 1];
        h->region_bytes[h->region_count] = h->region_bytes[h->region_count - 1];
        h->region_count++;
        tell(m, "another region of kind %u\n", (unsigned)h->region_kinds[h->region_count - 1]);
    }
}

/* Makes two state tensors exchange everything but their names, which keeps the order of the state. */
static void exchange_state(mutant *m, uint64_t *random) {
    uint32_t count = m->native.plan->state_tensors;
    if (count == 0 || count > m->native.plan->tensors_count)
        return;
    uint32_t i = draw(random, count), j = draw(random, count);
    firn_native_tensor *a = tensor_at(m, i), *b = tensor_at(m, j), before = *a;
    *a = *b;
    a->name = before.name;
    before.name = b->name;
    *b = before;
    tell(m, "tensors %s and %s exchanged\n", tensor_text(m, i), tensor_text(m, j));
}

static void change(mutant *m, uint64_t *random) {
    native_plan_find(&m->native);
    uint32_t kind = draw(random, 100);
    if (op_count(m) == 0 || m->native.plan->tensors_count == 0)
        return;
    static const struct {
        void (*change)(mutant *m, uint64_t *random);
        uint32_t below;
    } kinds[] = {{change_value, 26},  {change_list, 33},   {change_operand, 50}, {read_any, 57},
                 {rename_reads, 61},  {change_code, 65},   {move_op, 73},        {add_op, 82},
                 {add_view, 87},      {make_view, 89},     {add_derive, 91},     {write_again, 93},
                 {change_tensor, 95}, {change_header, 97}, {exchange_state, 98}, {drop_option, 100}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kind < kinds[i].below) {
            kinds[i].change(m, random);
            return;
        }
}

/* --- repairs ------------------------------------------------------------------------------------------------------ */

enum { OPERANDS_MOST = FIRN_INPUTS_MAX + FIRN_OUTPUTS_MAX };

/* Fills in the signature of an op; false if it has an operand that is no tensor or more than its row says. */
static bool describe(const mutant *m, const firn_native_op *op, const firn_op_info *info, firn_op_signature *s,
                     firn_shape *shapes) {
    if (info == NULL || op->inputs_count > info->inputs_max || op->outputs_count > info->outputs ||
        op->integers_count > info->integers || op->reals_count > info->reals)
        return false;
    *s = (firn_op_signature){.code = op->code,
                             .input_count = (uint8_t)op->inputs_count,
                             .output_count = (uint8_t)op->outputs_count,
                             .integer_count = (uint8_t)op->integers_count,
                             .real_count = (uint8_t)op->reals_count,
                             .inputs = shapes,
                             .outputs = shapes + op->inputs_count};
    for (uint32_t i = 0; i < op->integers_count; i++)
        s->integers[i] = op->integers[i];
    for (uint32_t i = 0; i < op->reals_count; i++)
        s->reals[i] = op->reals[i];
    for (uint32_t i = 0; i < op->inputs_count; i++) {
        if (op->inputs[i] >= m->native.plan->tensors_count && op->inputs[i] != FIRN_ABSENT)
            return false;
        shapes[i] = op->inputs[i] == FIRN_ABSENT ? (firn_shape){0} : shape_of(tensor_at(m, op->inputs[i]));
    }
    for (uint32_t i = 0; i < op->outputs_count; i++) {
        if (op->outputs[i] >= m->native.plan->tensors_count)
            return false;
        s->outputs[i] = (firn_shape){.type = tensor_at(m, op->outputs[i])->type};
    }
    return true;
}

/* Infers the extents of new outputs again, op by op, up to the first op that its rule refuses. */
static void repair_shapes(mutant *m) {
    static firn_shape shapes[OPERANDS_MOST];
    for (uint32_t n = 0; n < op_count(m); n++) {
        firn_native_op *op = op_at(m, n);
        const firn_op_info *info = firn_op_find(op->code);
        firn_op_signature s;
        if (!describe(m, op, info, &s, shapes) || firn_op_infer(&s) != 0)
            return;
        for (uint32_t i = 0; i < op->outputs_count; i++) {
            firn_native_tensor *tensor = tensor_at(m, op->outputs[i]);
            if (firn_op_changed(info, i) != FIRN_FRESH || !in_arena(m, tensor))
                continue;
            uint32_t *dims = native_plan_memory(&m->native, FIRN_RANK_MAX * sizeof *dims);
            memcpy(dims, s.outputs[i].dims, FIRN_RANK_MAX * sizeof *dims);
            tensor->dims = dims;
            tensor->dims_count = s.outputs[i].rank;
        }
    }
}

/* Every tensor of the arena lives throughout. */
static void make_all_persistent(mutant *m) {
    for (uint32_t i = 0; i < m->native.plan->tensors_count; i++)
        if (in_arena(m, tensor_at(m, i))) {
            tensor_at(m, i)->first = 0;
            tensor_at(m, i)->last = FOR_EVER;
        }
}

static void touch(mutant *m, uint32_t operand, uint32_t n, bool *touched) {
    uint32_t index = base_of(m, operand);
    if (index >= m->native.plan->tensors_count || !in_arena(m, tensor_at(m, index)) ||
        is_persistent(tensor_at(m, index)))
        return;
    firn_native_tensor *tensor = tensor_at(m, index);
    if (!touched[index])
        tensor->first = is_filled(m, index) ? 0 : n;
    tensor->last = n;
    touched[index] = true;
}

/* Lets every tensor of the arena that is not persistent live from its first use to its last. */
static void repair_lifetimes(mutant *m) {
    bool *touched = native_plan_memory(&m->native, m->native.plan->tensors_count);
    for (uint32_t n = 0; n < op_count(m); n++) {
        for (uint32_t i = 0; i < op_at(m, n)->inputs_count; i++)
            touch(m, op_at(m, n)->inputs[i], n, touched);
        for (uint32_t i = 0; i < op_at(m, n)->outputs_count; i++)
            touch(m, op_at(m, n)->outputs[i], n, touched);
    }
}

/* Gives every view what it must have from its base. */
static void repair_views(mutant *m) {
    for (uint32_t i = 0; i < m->native.plan->tensors_count; i++) {
        firn_native_tensor *view = tensor_at(m, i);
        if (!is_view(m, view))
            continue;
        const firn_native_tensor *base = tensor_at(m, view->base);
        view->type = base->type;
        view->role = base->role;
        view->region = base->region;
        view->first = base->first;
        view->last = base->last;
    }
}

/* Gives the tensors of a region bytes one behind the other. Returns the end; 0 if it is too large. */
static uint64_t lay_out(mutant *m, uint32_t region) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < m->native.plan->tensors_count; i++) {
        firn_native_tensor *tensor = tensor_at(m, i);
        firn_shape shape = shape_of(tensor);
        uint64_t bytes;
        if (tensor->region != region || is_view(m, tensor))
            continue;
        if (!firn_shape_bytes(&shape, &bytes) || bytes > ARENA_MOST)
            return 0;
        tensor->offset = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        end = tensor->offset + bytes;
        if (end > ARENA_MOST)
            return 0;
    }
    return end;
}

/* Lays out the regions that are arenas, or those that are neither arena nor constant. */
static void repair_regions(mutant *m, bool arenas) {
    for (uint32_t r = 0; r < m->header.region_count; r++) {
        const uint8_t kind = m->header.region_kinds[r];
        if (firn_region_is_constant(kind) || firn_region_is_arena(kind) != arenas)
            continue;
        const uint64_t bytes = lay_out(m, r);
        if (bytes != 0)
            m->header.region_bytes[r] = bytes;
    }
}

static void repair_arenas(mutant *m) {
    repair_regions(m, true);
}

static void repair_state(mutant *m) {
    repair_regions(m, false);
}

/* Makes every loss seed the share of a micro-batch. */
static void repair_shares(mutant *m) {
    for (uint32_t n = 0; n < op_count(m); n++)
        if (op_at(m, n)->code == FIRN_OP_loss_seed && op_at(m, n)->reals_count == 1) {
            float *factor = native_plan_memory(&m->native, sizeof *factor);
            *factor = 1.0f / (float)m->native.plan->micro_batches;
            op_at(m, n)->reals = factor;
        }
}

/* Limits what only makes a run long. */
static void limit_work(mutant *m) {
    if (m->native.plan->micro_batches > MICRO_MOST)
        m->native.plan->micro_batches = MICRO_MOST;
}

static const struct {
    const char *name;
    void (*repair)(mutant *m);
    uint32_t percent; /* of the mutants that are repaired */
} repairs[MUTANT_REPAIRS] = {{"work limited", limit_work, 100},
                             {"loss seeds repaired", repair_shares, 50},
                             {"shapes repaired", repair_shapes, 50},
                             {"all tensors of the arena persistent", make_all_persistent, 20},
                             {"lifetimes repaired", repair_lifetimes, 75},
                             {"views repaired", repair_views, 90},
                             {"arenas laid out", repair_arenas, 75},
                             {"state laid out", repair_state, 50}};

void mutant_make(mutant *m, firn_fb_plan original, const firn_header *header, uint64_t seed, uint64_t number,
                 uint32_t left_out) {
    uint64_t beginning = seed * UINT64_C(0x2545f4914f6cdd1d) + number * 64;
    *m = (mutant){.native = native_plan_read(original), .header = *header};
    static const uint8_t shares[] = {1, 1, 1, 1, 2, 2, 2, 3, 3, 4};
    uint32_t changes = shares[draw(&beginning, sizeof shares)];
    for (uint32_t part = 0; part < MUTANT_PARTS; part++) {
        uint64_t random = draw64(&beginning);
        size_t told = strlen(m->changes);
        if ((left_out >> part & 1) != 0 || (part < MUTANT_CHANGES && part >= changes))
            continue;
        if (part < MUTANT_CHANGES) {
            change(m, &random);
        } else if (draw(&random, 100) < repairs[part - MUTANT_CHANGES].percent) {
            repairs[part - MUTANT_CHANGES].repair(m);
            if (repairs[part - MUTANT_CHANGES].percent != 100)
                tell(m, "%s\n", repairs[part - MUTANT_CHANGES].name);
        }
        if (strlen(m->changes) != told)
            m->parts |= 1u << part;
    }
}

void mutant_free(mutant *m) {
    native_plan_free(&m->native);
}
