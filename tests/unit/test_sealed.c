/* Tests the check of a sealed build (plan/checks/sealed), which is compiled here and so takes the place of the semantic
 * rules in the libraries: it accepts good plans, and refuses what would lead outside the memory of the device. Every
 * broken plan still passes the FlatBuffers rules. */
#include <stdlib.h>

#include "plan/checks/sealed/semantics.c"
#include "plan/checks/semantics.h"
#include "plan/checks/verifier.h"
#include "plan/errors.h"
#include "tests/unit/support_edits.h"
#include "tests/unit/support_test.h"

static int check_after(bool train, const char *edits) {
    support_plan *support = support_edits_plan(train);
    (void)support_edits_apply(support, edits, 0);
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

TEST(good_plans_pass) {
    assert_int_equal(check_after(true, ""), FIRN_OK);
    assert_int_equal(check_after(false, ""), FIRN_OK);
}

TEST(tensors_lie_in_their_regions) {
    assert_int_equal(check_after(true, "tensors[weight].offset = regions[parameters].bytes"), FIRN_ERROR_TENSOR);
    assert_int_equal(check_after(true, "tensors[weight].offset += 4"), FIRN_ERROR_TENSOR);
    assert_int_equal(check_after(true, "tensors[logits].region = regions.count"), FIRN_ERROR_TENSOR);
    assert_int_equal(check_after(true, "regions[arena].bytes = 16"), FIRN_ERROR_TENSOR);
    assert_int_equal(check_after(true, "tensors[logits].dims[0] = 2^32 - 1"), FIRN_ERROR_TENSOR);
    assert_int_equal(check_after(true, "tensors[logits].base = tensors.count"), FIRN_ERROR_TENSOR);
    assert_int_equal(check_after(true, "tensors[logits].base = logits"), FIRN_ERROR_TENSOR);
}

TEST(indices_lie_in_their_lists) {
    assert_int_equal(check_after(true, "ops[linear].inputs[0] = tensors.count"), FIRN_ERROR_OP_OPERANDS);
    assert_int_equal(check_after(true, "ops[linear].outputs[0] = absent"), FIRN_ERROR_OP_OPERANDS);
    assert_int_equal(check_after(true, "inputs[0].tensor = tensors.count"), FIRN_ERROR_FIELD);
    assert_int_equal(check_after(true, "sampler.cursor = absent"), FIRN_ERROR_FIELD);
    assert_int_equal(check_after(true, "schedules[0].root = 2"), FIRN_ERROR_FIELD);
    assert_int_equal(check_after(false, "metrics[0].sum = tensors.count"), FIRN_ERROR_FIELD);
}

TEST(constants_and_numerics) {
    assert_int_equal(check_after(true, "initialisers[weight] = {rule = weights; weights = 64}"),
                     FIRN_ERROR_INITIALISER);
    assert_int_equal(check_after(true, "numerics_version += 1"), FIRN_ERROR_NUMERICS_VERSION);
}

/* What the signature vouches for: here an op that the op table would refuse. */
TEST(the_signature_vouches_for_the_rest) {
    assert_int_equal(check_after(true, "ops[linear].integers[layout] = 7"), FIRN_OK);
}
