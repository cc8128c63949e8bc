/* Tests the semantic rules: two valid plans are accepted, and each of many ways to break one gives the error of the
 * broken rule (tests/unit/semantics.edits). Every broken plan still passes the FlatBuffers rules, so that only
 * plan/checks/semantics*.c can refuse it. Runs from the root of the repository. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/checks/semantics.h"
#include "plan/checks/verifier.h"
#include "plan/errors.h"
#include "plan/needs.h"
#include "tests/unit/support_edits.h"
#include "tests/unit/support_test.h"

/* --- checking a plan ---------------------------------------------------------------------------------------------- */

/* Adds what the plan has to the counts of the header, so that an edit of them is a difference. */
static void add_counts(support_plan *support) {
    const firn_counts has = support_plan_counts(support);
    firn_counts *counts = &support->header.counts;
    counts->tensors += has.tensors;
    counts->state_tensors += has.state_tensors;
    counts->ops += has.ops;
    counts->operands += has.operands;
    counts->integers += has.integers;
    counts->reals += has.reals;
    counts->reductions += has.reductions;
    counts->widest += has.widest;
}

/* Returns the result of the semantic check. scratch_bytes: size of the scratch; -1: as much as the check requires. */
static int check_in(support_plan *support, int64_t scratch_bytes) {
    add_counts(support);
    size_t bytes;
    uint8_t *payload = support_plan_write(support, &bytes);
    assert_non_null(payload);
    assert_int_equal(firn_fb_verify(payload, bytes), FIRN_OK);
    if (scratch_bytes < 0)
        scratch_bytes = (int64_t)firn_semantics_scratch_bytes(&support->header.counts);
    void *scratch = malloc((size_t)scratch_bytes + 1);
    assert_non_null(scratch);
    int error = firn_semantics_check(firn_fb_plan_root(payload), &support->header, scratch, (uint64_t)scratch_bytes);
    free(scratch);
    free(payload);
    return error;
}

/* --- the cases ---------------------------------------------------------------------------------------------------- */

/* The error of the cases that are read, and how many there were. */
static struct {
    int error;
    unsigned cases, wrong;
} heading;

/* Runs a case once for each of its alternatives. */
static void run_case(bool train, const char *name, const char *edits) {
    uint32_t alternatives = 1;
    for (uint32_t i = 0; i < alternatives; i++) {
        support_plan *s = support_edits_plan(train);
        alternatives = support_edits_apply(s, edits, i);
        const int error = check_in(s, -1);
        free(s);
        heading.cases++;
        if (error == heading.error)
            continue;
        print_message("%s (%u): %s, not %s\n", name, (unsigned)i + 1, firn_error_name(error),
                      firn_error_name(heading.error));
        heading.wrong++;
    }
}

enum { ERROR_END = -1000 }; /* below the value of every error */

static int error_of_name(const char *name) {
    int error = FIRN_OK;
    while (strcmp(firn_error_name(error), name) != 0)
        if (--error == ERROR_END)
            fail_msg("neither an error nor a case: %s", name);
    return error;
}

static void run_line(const char *head, const char *edits) {
    if (strncmp(head, "train ", 6) == 0)
        run_case(true, head + 6, edits);
    else if (strncmp(head, "eval ", 5) == 0)
        run_case(false, head + 5, edits);
    else
        heading.error = error_of_name(head);
}

enum { CASES_LEAST = 567 }; /* as many as the file has */

TEST(cases_give_their_errors) {
    support_edits_read("tests/unit/semantics.edits", run_line);
    print_message("%u cases\n", heading.cases);
    assert_true(heading.cases >= CASES_LEAST);
    assert_int_equal(heading.wrong, 0);
}

/* --- overlaps, compared with the rule in FORMAT.md ---------------------------------------------------------------- */

static bool works_in_place(const support_plan *s, uint32_t a, uint32_t b) {
    const firn_native_tensor *dies = &s->tensors[a], *born = &s->tensors[b];
    if (dies->last != born->first || dies->last == UINT32_MAX || dies->type != born->type)
        return false;
    const firn_native_op *op = &s->ops[dies->last];
    if (dies->offset != born->offset || op->outputs[0] != b)
        return false;
    bool reads = false;
    for (uint32_t i = 0; i < op->inputs_count; i++)
        if (op->inputs[i] == a) {
            reads = true;
            if ((firn_op_find(op->code)->in_place >> i & 1) == 0)
                return false;
        }
    return reads;
}

static uint64_t bytes_of(const firn_native_tensor *tensor) {
    uint64_t bytes = firn_type_bytes(tensor->type);
    for (uint32_t i = 0; i < tensor->dims_count; i++)
        bytes *= tensor->dims[i];
    return bytes;
}

/* Compares every pair. */
static bool has_overlap(const support_plan *s) {
    for (uint32_t a = s->plan.state_tensors; a < s->plan.tensors_count; a++)
        for (uint32_t b = s->plan.state_tensors; b < s->plan.tensors_count; b++) {
            const firn_native_tensor *left = &s->tensors[a], *right = &s->tensors[b];
            if (a == b || left->first > right->last || right->first > left->last || left->offset > right->offset ||
                right->offset - left->offset >= bytes_of(left))
                continue;
            bool same = left->offset == right->offset && bytes_of(left) == bytes_of(right);
            if (!same || (!works_in_place(s, a, b) && !works_in_place(s, b, a)))
                return true;
        }
    return false;
}

/* Moves some tensors of the arena of a plan to the place of another one or to an arbitrary place. */
static void move_tensors(support_plan *s, uint32_t seed) {
    const uint32_t state = s->plan.state_tensors, count = s->plan.tensors_count - state;
    uint32_t random = seed;
    s->header.region_bytes[s->header.region_count - 1] = 65536; /* of the arena */
    for (uint32_t moved = 0; moved <= seed % 4; moved++) {
        random = random * 1664525u + 1013904223u;
        firn_native_tensor *tensor = &s->tensors[state + (random >> 8) % count];
        random = random * 1664525u + 1013904223u;
        tensor->offset = random >> 31 != 0 ? s->tensors[state + (random >> 8) % count].offset : (random >> 8) % 80 * 16;
    }
}

/* Moves the tensors back, so that the plan can be used again. */
static int check_moved(support_plan *s, uint32_t seed, bool *overlap) {
    firn_native_tensor before[SUPPORT_TENSORS];
    memcpy(before, s->tensors, sizeof before);
    memset(&s->header.counts, 0, sizeof s->header.counts);
    move_tensors(s, seed);
    *overlap = has_overlap(s);
    const int error = check_in(s, -1);
    memcpy(s->tensors, before, sizeof before);
    return error;
}

TEST(overlaps_are_what_the_rule_says) {
    unsigned found = 0, tried = 20000;
    support_plan *train = support_edits_plan(true), *eval = support_edits_plan(false);
    for (uint32_t seed = 1; seed <= tried; seed++) {
        bool overlap;
        const int error = check_moved(seed % 3 == 0 ? eval : train, seed, &overlap);
        if (error != (overlap ? FIRN_ERROR_OVERLAP : FIRN_OK))
            fail_msg("seed %u: %s, but overlap is %d", (unsigned)seed, firn_error_name(error), overlap);
        found += overlap;
    }
    free(train);
    free(eval);
    print_message("%u of %u plans overlap\n", found, tried);
    assert_true(found > tried / 100 && found < tried - tried / 100);
}

/* Four bytes for each tensor that is not state, or a shape for each operand of the widest op. */
TEST(scratch_is_held_to_its_size) {
    const firn_counts many = {.tensors = 100, .state_tensors = 10, .widest = 3}, wide = {.tensors = 9, .widest = 60};
    assert_int_equal(firn_semantics_scratch_bytes(&many), 4 * 90);
    assert_int_equal(firn_semantics_scratch_bytes(&wide), 60 * sizeof(firn_shape));
    support_plan *s = support_edits_plan(true);
    const firn_counts counts = support_plan_counts(s);
    const int64_t needed = (int64_t)firn_semantics_scratch_bytes(&counts);
    for (int64_t bytes = 0; bytes <= needed; bytes++) {
        memset(&s->header.counts, 0, sizeof s->header.counts);
        assert_int_equal(check_in(s, bytes), bytes < needed ? FIRN_ERROR_POOL_TOO_SMALL : FIRN_OK);
    }
    free(s);
}

/* --- what a plan needs -------------------------------------------------------------------------------------------- */

/* What came with minor version 1: an op that changes a view, numbers of a truncated normal distribution, the meaning of
 * flushed sums, and a weight that a product rounds as it reads it. */
TEST(plans_need_their_minor_versions) {
    static const struct {
        bool train;
        uint32_t minor;
        const char *edits;
    } plans[] = {
        {true, 0, ""},
        {true, 1, "bias_through_a_view"},
        {true, 1, "truncated"},
        {false, 0, "sums(f32); chunk(0)"},
        {false, 1, "sums(even_odd_blocks); chunk(32)"},
        {false, 1, "sums(pairs); chunk(2)"},
        {true, 1, "tensors[features].type = bfloat16"},
    };
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        size_t bytes;
        support_plan *s = support_edits_plan(plans[i].train);
        (void)support_edits_apply(s, plans[i].edits, 0);
        uint8_t *payload = support_plan_write(s, &bytes);
        assert_non_null(payload);
        if (firn_needs_minor(payload) != plans[i].minor)
            fail_msg("needs %u: %s", (unsigned)firn_needs_minor(payload), plans[i].edits);
        free(payload);
        free(s);
    }
}
