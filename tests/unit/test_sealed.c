/* Tests the check of a sealed build (plan/checks/sealed), which is linked here in the place of the semantic rules: it
 * accepts good plans, and refuses what would lead outside the memory of the device. Every broken plan still passes the
 * FlatBuffers rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/checks/semantics.h"
#include "plan/checks/verifier.h"
#include "plan/errors.h"
#include "tests/unit/support_plan.h"

static int check_after(bool train, void (*change)(support_plan *support)) {
    support_plan *support = calloc(1, sizeof *support);
    assert_non_null(support);
    (train ? support_plan_train : support_plan_eval)(support);
    if (change != NULL)
        change(support);
    support->header.counts = support_plan_counts(support);
    size_t bytes;
    uint8_t *payload = support_plan_write(support, &bytes);
    assert_non_null(payload);
    assert_int_equal(firn_fb_verify(payload, bytes), FIRN_OK);
    const int error = firn_semantics_check(firn_fb_plan_root(payload), &support->header, NULL, 0);
    free(payload);
    free(support);
    return error;
}

static void good_plans_pass(void **state) {
    (void)state;
    assert_int_equal(check_after(true, NULL), FIRN_OK);
    assert_int_equal(check_after(false, NULL), FIRN_OK);
}

static void beyond_region(support_plan *s) {
    s->tensors[TRAIN_WEIGHT].offset = s->header.region_bytes[TRAIN_PARAMETERS];
}

static void unaligned(support_plan *s) {
    s->tensors[TRAIN_WEIGHT].offset += 4;
}

static void no_region(support_plan *s) {
    s->tensors[TRAIN_LOGITS].region = TRAIN_REGIONS;
}

static void smaller_region(support_plan *s) {
    s->header.region_bytes[TRAIN_ARENA] = 16;
}

static void too_many_elements(support_plan *s) {
    s->dims[TRAIN_LOGITS][0] = UINT32_MAX;
}

static void base_beyond(support_plan *s) {
    s->tensors[TRAIN_LOGITS].base = TRAIN_TENSORS;
}

static void base_is_view(support_plan *s) {
    s->tensors[TRAIN_LOGITS].base = TRAIN_LOGITS;
}

static void tensors_lie_in_their_regions(void **state) {
    (void)state;
    assert_int_equal(check_after(true, beyond_region), FIRN_ERROR_TENSOR);
    assert_int_equal(check_after(true, unaligned), FIRN_ERROR_TENSOR);
    assert_int_equal(check_after(true, no_region), FIRN_ERROR_TENSOR);
    assert_int_equal(check_after(true, smaller_region), FIRN_ERROR_TENSOR);
    assert_int_equal(check_after(true, too_many_elements), FIRN_ERROR_TENSOR);
    assert_int_equal(check_after(true, base_beyond), FIRN_ERROR_TENSOR);
    assert_int_equal(check_after(true, base_is_view), FIRN_ERROR_TENSOR);
}

static void input_beyond(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].inputs[0] = TRAIN_TENSORS;
}

static void output_absent(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].outputs[0] = FIRN_ABSENT;
}

static void fill_beyond(support_plan *s) {
    s->inputs[0].tensor = TRAIN_TENSORS;
}

static void cursor_beyond(support_plan *s) {
    s->sampler.cursor = FIRN_ABSENT;
}

static void schedule_beyond(support_plan *s) {
    s->schedules[0].root = 2;
}

static void sum_beyond(support_plan *s) {
    s->metrics[0].sum = EVAL_TENSORS;
}

static void indices_lie_in_their_lists(void **state) {
    (void)state;
    assert_int_equal(check_after(true, input_beyond), FIRN_ERROR_OP_OPERANDS);
    assert_int_equal(check_after(true, output_absent), FIRN_ERROR_OP_OPERANDS);
    assert_int_equal(check_after(true, fill_beyond), FIRN_ERROR_FIELD);
    assert_int_equal(check_after(true, cursor_beyond), FIRN_ERROR_FIELD);
    assert_int_equal(check_after(true, schedule_beyond), FIRN_ERROR_FIELD);
    assert_int_equal(check_after(false, sum_beyond), FIRN_ERROR_FIELD);
}

static void weights_beyond(support_plan *s) {
    s->initialisers[TRAIN_WEIGHT] = (firn_native_initialiser){.rule = FIRN_FB_INITIALISER_RULE_WEIGHTS, .weights = 64};
}

static void other_numerics(support_plan *s) {
    s->plan.numerics_version++;
}

static void constants_and_numerics(void **state) {
    (void)state;
    assert_int_equal(check_after(true, weights_beyond), FIRN_ERROR_INITIALISER);
    assert_int_equal(check_after(true, other_numerics), FIRN_ERROR_NUMERICS_VERSION);
}

/* What the signature vouches for: here an op that the op table would refuse. */
static void an_attribute(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].integers[0] = 7;
}

static void the_signature_vouches_for_the_rest(void **state) {
    (void)state;
    assert_int_equal(check_after(true, an_attribute), FIRN_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_plans_pass),
        cmocka_unit_test(tensors_lie_in_their_regions),
        cmocka_unit_test(indices_lie_in_their_lists),
        cmocka_unit_test(constants_and_numerics),
        cmocka_unit_test(the_signature_vouches_for_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
