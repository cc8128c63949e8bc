/* Tests that a plan cannot lie about memory: views, constants, frozen weights and buffers, as firnc and the network of
 * tests/unit/support_network.h have them in the small plans, are said to be where and what they are not, or are written
 * by an op that may not. Each plan is refused with the error of the rule. tests/unit/test_semantics.c has such cases
 * for one plan that is made for them. */
#include <string.h>

#include "plan/checks/semantics_lookup.h"
#include "plan/ops.h"
#include "tests/unit/support_native_plan.h"
#include "tests/unit/support_sealed_runs.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_small_plans.h"
#include "tests/unit/support_test.h"

static compiled_plan plans[SMALL_PLANS_MAX];
static uint32_t plan_count;

/* What a tensor is that is lied about. STORED: a buffer that an op of bookkeep fills. */
enum { VIEW = 1, CONSTANT = 2, STORED = 4 };

static firn_native_tensor *tensor_of(native_plan *native, uint32_t index) {
    return &((firn_native_tensor *)(uintptr_t)native->plan->tensors)[index];
}

/* A tensor of the plan that is a view, but for one; `index` itself if there is none. */
static uint32_t other_view(native_plan *native, uint32_t index) {
    for (uint32_t i = 0; i < native->plan->tensors_count; i++)
        if (i != index && tensor_of(native, i)->base != FIRN_ABSENT)
            return i;
    return index;
}

static uint64_t bytes_of(const firn_native_tensor *tensor) {
    firn_shape shape = {.type = tensor->type, .rank = (uint8_t)tensor->dims_count};
    uint64_t bytes = 0;
    memcpy(shape.dims, tensor->dims, tensor->dims_count * sizeof *tensor->dims);
    assert_true(firn_shape_bytes(&shape, &bytes));
    return (bytes + FIRN_TENSOR_ALIGNMENT - 1) / FIRN_TENSOR_ALIGNMENT * FIRN_TENSOR_ALIGNMENT;
}

static void view_nothing(native_plan *native, uint32_t index) {
    tensor_of(native, index)->base = native->plan->tensors_count;
}

static void view_itself(native_plan *native, uint32_t index) {
    tensor_of(native, index)->base = index;
}

static void view_a_view(native_plan *native, uint32_t index) {
    tensor_of(native, index)->base = other_view(native, index);
}

static void leave_the_base(native_plan *native, uint32_t index) {
    firn_native_tensor *view = tensor_of(native, index);
    view->offset = bytes_of(tensor_of(native, view->base));
}

static void leave_the_address_space(native_plan *native, uint32_t index) {
    tensor_of(native, index)->offset = UINT64_MAX - (FIRN_TENSOR_ALIGNMENT - 1);
}

static void leave_the_alignment(native_plan *native, uint32_t index) {
    tensor_of(native, index)->offset += FIRN_TENSOR_ALIGNMENT / 2;
}

static void have_no_element(native_plan *native, uint32_t index) {
    ((uint32_t *)(uintptr_t)tensor_of(native, index)->dims)[0] = 0;
}

static void have_2_to_the_32_rows(native_plan *native, uint32_t index) {
    ((uint32_t *)(uintptr_t)tensor_of(native, index)->dims)[0] = UINT32_MAX;
}

static void have_another_type(native_plan *native, uint32_t index) {
    firn_native_tensor *tensor = tensor_of(native, index);
    tensor->type = tensor->type == FIRN_FLOAT32 ? FIRN_INT32 : FIRN_FLOAT32;
}

static void have_another_role(native_plan *native, uint32_t index) {
    firn_native_tensor *tensor = tensor_of(native, index);
    tensor->role = tensor->role == FIRN_FB_ROLE_ACTIVATION ? FIRN_FB_ROLE_GRADIENT : FIRN_FB_ROLE_ACTIVATION;
}

static void be_a_parameter(native_plan *native, uint32_t index) {
    tensor_of(native, index)->role = FIRN_FB_ROLE_PARAMETER;
}

static void be_born_later(native_plan *native, uint32_t index) {
    tensor_of(native, index)->first++;
}

static void end_early(native_plan *native, uint32_t index) {
    tensor_of(native, index)->last--;
}

static void be_in_another_region(native_plan *native, uint32_t index) {
    tensor_of(native, index)->region ^= 1;
}

static void be_in_no_region(native_plan *native, uint32_t index) {
    tensor_of(native, index)->region = FIRN_REGIONS_MAX;
}

static void change_the_name(native_plan *native, uint32_t index) {
    firn_native_tensor *tensor = tensor_of(native, index);
    tensor->name = tensor->name == NULL || tensor->name[0] == '\0' ? "name" : NULL;
}

static void begin_one_place_later(native_plan *native, uint32_t index) {
    tensor_of(native, index)->offset += FIRN_TENSOR_ALIGNMENT;
}

static const struct lie {
    const char *what;
    uint32_t about;
    void (*tell)(native_plan *native, uint32_t index);
    int error, or_error; /* the second: or this one, by the tensor's place in its region */
} lies[] = {
    {"base beyond the list", VIEW, view_nothing, FIRN_ERROR_TENSOR, 0},
    {"base itself", VIEW, view_itself, FIRN_ERROR_TENSOR, 0},
    {"base a view", VIEW, view_a_view, FIRN_ERROR_TENSOR, 0},
    {"behind its base", VIEW, leave_the_base, FIRN_ERROR_TENSOR, 0},
    {"end that wraps", VIEW | CONSTANT | STORED, leave_the_address_space, FIRN_ERROR_TENSOR, 0},
    {"off its alignment", VIEW | CONSTANT | STORED, leave_the_alignment, FIRN_ERROR_TENSOR, FIRN_ERROR_STATE_ORDER},
    {"no element", VIEW | CONSTANT | STORED, have_no_element, FIRN_ERROR_TENSOR, 0},
    {"more rows than bytes", VIEW | CONSTANT | STORED, have_2_to_the_32_rows, FIRN_ERROR_TENSOR, 0},
    {"another type than its base", VIEW, have_another_type, FIRN_ERROR_TENSOR, 0},
    {"another role", VIEW | CONSTANT | STORED, have_another_role, FIRN_ERROR_TENSOR, 0},
    {"born later", VIEW | CONSTANT | STORED, be_born_later, FIRN_ERROR_TENSOR, 0},
    {"ending early", VIEW | CONSTANT | STORED, end_early, FIRN_ERROR_TENSOR, 0},
    {"another region", VIEW | CONSTANT | STORED, be_in_another_region, FIRN_ERROR_TENSOR, 0},
    {"no region", VIEW | CONSTANT | STORED, be_in_no_region, FIRN_ERROR_TENSOR, 0},
    {"another name", VIEW | CONSTANT | STORED, change_the_name, FIRN_ERROR_TENSOR, 0},
    {"later by one place", STORED, begin_one_place_later, FIRN_ERROR_STATE_ORDER, FIRN_ERROR_TENSOR},
    {"statistics in a parameter", STORED, be_a_parameter, FIRN_ERROR_OP_ORDER, 0},
};

/* Whether an op that stores statistics writes a tensor. */
static bool is_stored(const native_plan *native, uint32_t index) {
    for (uint32_t p = 0; p < native->plan->phases_count; p++)
        for (uint32_t i = 0; i < native->plan->phases[p].ops_count; i++) {
            const firn_native_op *op = &native->plan->phases[p].ops[i];
            for (uint32_t j = 0; j < op->outputs_count; j++)
                if (op->outputs[j] == index && firn_op_find(op->code)->buffers)
                    return true;
        }
    return false;
}

static uint32_t kind_of(native_plan *native, uint32_t index) {
    const firn_native_tensor *tensor = tensor_of(native, index);
    if (tensor->base != FIRN_ABSENT)
        return VIEW;
    if (tensor->role == FIRN_FB_ROLE_CONSTANT || tensor->role == FIRN_FB_ROLE_FROZEN)
        return CONSTANT;
    return tensor->role == FIRN_FB_ROLE_BUFFER && is_stored(native, index) ? STORED : 0;
}

/* Tells one lie about a tensor, if it is of a kind of which it can be told. Returns the check's error; FIRN_OK: there
 * is nothing to tell. */
static int tell(const compiled_plan *original, uint32_t index, const struct lie *lie) {
    if (!support_takes_next())
        return FIRN_OK;
    const firn_header header = compiled_plan_header(original);
    native_plan native = native_plan_read(sealed_payload(original));
    compiled_plan plan;
    int error = FIRN_OK;
    const bool chains = lie->tell != view_a_view || other_view(&native, index) != index;
    if ((kind_of(&native, index) & lie->about) != 0 && chains) {
        lie->tell(&native, index);
        assert_true(sealed_plan_make(&plan, original, &native, &header));
        error = sealed_plan_check(&plan);
        if (error == FIRN_OK || (error != lie->error && error != lie->or_error))
            fail_msg("%s, tensor %u, %s: %s", original->name, (unsigned)index, lie->what, firn_error_name(error));
        compiled_plan_free(&plan);
    }
    native_plan_free(&native);
    return error;
}

TEST(lies_about_memory_are_refused) {
    uint32_t told[sizeof lies / sizeof lies[0]] = {0};
    for (uint32_t i = 0; i < plan_count; i++) {
        const uint32_t count = compiled_plan_header(&plans[i]).counts.tensors;
        for (size_t l = 0; l < sizeof lies / sizeof lies[0]; l++)
            for (uint32_t t = 0; t < count; t++)
                told[l] += tell(&plans[i], t, &lies[l]) != FIRN_OK;
    }
    for (size_t l = 0; l < sizeof lies / sizeof lies[0]; l++)
        if (told[l] == 0 && support_takes_all())
            fail_msg("no plan has a tensor for the lie: %s", lies[l].what);
}

/* Makes op `number` write a tensor in place of its output `j`, and in place of the input that this output changes. */
static bool write_instead(native_plan *native, uint32_t number, uint32_t j, uint32_t index) {
    for (uint32_t p = 0; p < native->plan->phases_count; p++) {
        const firn_native_phase *phase = &native->plan->phases[p];
        if (number >= phase->ops_count) {
            number -= phase->ops_count;
            continue;
        }
        const firn_native_op *op = &phase->ops[number];
        const firn_native_tensor *to = tensor_of(native, index);
        if (j >= op->outputs_count || op->outputs[j] == index)
            return false;
        const firn_native_tensor *before = tensor_of(native, op->outputs[j]);
        const uint8_t changed = firn_op_changed(firn_op_find(op->code), j);
        if (before->role == FIRN_FB_ROLE_SCRATCH || to->type != before->type || to->dims_count != before->dims_count ||
            memcmp(to->dims, before->dims, to->dims_count * sizeof *to->dims) != 0)
            return false;
        if (changed != FIRN_FRESH)
            ((uint32_t *)(uintptr_t)op->inputs)[changed] = index;
        ((uint32_t *)(uintptr_t)op->outputs)[j] = index;
        return true;
    }
    return false;
}

/* No op writes a constant, a frozen weight or a part of another tensor that is no state; and no second op writes what
 * one has stored in bookkeep. */
TEST(what_may_not_be_written_is_not) {
    uint32_t tried = 0;
    for (uint32_t i = 0; i < plan_count; i++) {
        const firn_header header = compiled_plan_header(&plans[i]);
        for (uint32_t t = 0; t < header.counts.tensors; t++) {
            native_plan look = native_plan_read(sealed_payload(&plans[i]));
            const bool state_view = kind_of(&look, t) == VIEW && tensor_of(&look, t)->role <= FIRN_FB_ROLE_COUNTER;
            const bool candidate = kind_of(&look, t) != 0 && !state_view;
            native_plan_free(&look);
            for (uint32_t n = 0; candidate && n < header.counts.ops; n++)
                for (uint32_t j = 0; j < 2; j++) {
                    if (!support_takes_next())
                        continue;
                    compiled_plan plan;
                    native_plan native = native_plan_read(sealed_payload(&plans[i]));
                    if (write_instead(&native, n, j, t)) {
                        assert_true(sealed_plan_make(&plan, &plans[i], &native, &header));
                        const int error = sealed_plan_check(&plan);
                        if (error != FIRN_ERROR_OP_ORDER && error != FIRN_ERROR_ROLE)
                            fail_msg("%s, tensor %u, op %u: %s", plans[i].name, (unsigned)t, (unsigned)n,
                                     firn_error_name(error));
                        compiled_plan_free(&plan);
                        tried++;
                    }
                    native_plan_free(&native);
                }
        }
    }
    assert_true(tried > 100 / support_every());
}

BEFORE_ALL {
    plan_count = small_plans_make(plans);
}

AFTER_ALL {
    for (uint32_t i = 0; i < plan_count; i++)
        compiled_plan_free(&plans[i]);
}
