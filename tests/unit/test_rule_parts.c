/* Tests that a build which lacks a part of the semantic rules refuses the plans that need the part, and those alone. A
 * part that a plan needs decides about the plan. */
#include <stdlib.h>
#include <string.h>

#include "plan/checks/semantics.h"
#include "plan/checks/semantics_lookup.h"
#include "plan/checks/semantics_parts.h"
#include "plan/errors.h"
#include "plan/parts.h"
#include "schedules/schedule.h"

/* --- the rules, with parts that can be taken out --- */

static firn_rule_parts parts;

#define firn_semantics_parts         parts
#define firn_semantics_check         check_semantics
#define firn_semantics_scratch_bytes scratch_of
#define firn_semantics_fields        check_fields
#define firn_semantics_flow          check_flow
#define firn_schedule_is_linked      is_linked

static uint16_t unlinked; /* a kind of schedule that the build lacks */

static bool is_linked(uint16_t kind) {
    return kind != unlinked;
}

int check_fields(const firn_fb_plan_record *plan, const firn_header *header);
int check_flow(const firn_fb_plan_record *plan, const firn_header *header, uint32_t *scratch);
int check_semantics(firn_fb_plan plan, const firn_header *header, void *scratch, uint64_t scratch_bytes);
uint64_t scratch_of(const firn_counts *counts);

#include "plan/checks/semantics.c"
#include "plan/checks/semantics_fields.c"
#include "plan/checks/semantics_flow.c"
#include "tests/unit/support_edits.h"
#include "tests/unit/support_test.h"
#undef firn_semantics_parts

static void pass_by(const char *head, const char *edits) {
    (void)head;
    (void)edits;
}

BEFORE_ALL {
    support_edits_read("tests/unit/semantics.edits", pass_by); /* the named edits */
}

static int check(bool train, const char *edits) {
    support_plan *support = support_edits_plan(train);
    (void)support_edits_apply(support, edits, 0);
    support->header.counts = support_plan_counts(support);
    size_t bytes;
    uint8_t *payload = support_plan_write(support, &bytes);
    assert_non_null(payload);
    const uint64_t scratch_bytes = scratch_of(&support->header.counts);
    void *scratch = malloc((size_t)scratch_bytes);
    assert_non_null(scratch);
    const int error = check_semantics(firn_fb_plan_root(payload), &support->header, scratch, scratch_bytes);
    free(scratch);
    free(payload);
    free(support);
    return error;
}

/* --- parts that say yes or no --- */

static bool says;
static bool says_output(const firn_fb_plan_record *plan, uint32_t i) {
    return plan != NULL && i < plan->outputs_count && says;
}
static int says_metric(const firn_fb_plan_record *plan, uint32_t i) {
    return i < plan->metrics_count && says ? FIRN_OK : FIRN_ERROR_ROLE;
}
static bool says_rings(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler) {
    return plan != NULL && sampler->pushed != FIRN_ABSENT && says;
}
static bool says_gathered(const firn_fb_plan_record *plan, uint32_t partial, uint32_t elements, uint32_t first) {
    return partial < plan->tensors_count && elements != 0 && first < UINT32_MAX && says;
}
static bool says_batch(const firn_fb_plan_record *plan) {
    return plan->losses_added && says;
}
static bool says_tree(const firn_fb_plan_record *plan, const uint32_t *first_touches) {
    return plan != NULL && first_touches != NULL && says;
}

enum { METRIC, OUTPUT, RINGS, GATHERED, BATCH, TREE, PARTS };

static void replace(int part, bool by_nothing) {
    parts = firn_semantics_parts;
    unlinked = UINT16_MAX;
    switch (part) {
    case METRIC:
        parts.metric = by_nothing ? NULL : says_metric;
        break;
    case OUTPUT:
        parts.output = by_nothing ? NULL : says_output;
        break;
    case RINGS:
        parts.rings = by_nothing ? NULL : says_rings;
        break;
    case GATHERED:
        parts.gathered = by_nothing ? NULL : says_gathered;
        break;
    case BATCH:
        parts.batch = by_nothing ? NULL : says_batch;
        break;
    case TREE:
        parts.tree = by_nothing ? NULL : says_tree;
        break;
    default:
        break;
    }
}

/* --- the tests --- */

/* A plan with a phase count, where the divisors of its losses would be found. */
static const char counts[] =
    "losses_added = true; phase count; tensor made like features {role = activation; first = 0; last = ever; "
    "offset = regions[arena].bytes}; regions[arena].bytes += 512; "
    "op make relu in count {inputs = [features]; outputs = [made]}";

/* Plans, the parts that they need, as bits, and the errors: of each part where it is absent, and where it says no. */
static const struct {
    bool train;
    const char *edits;
    int needs, absent, refused;
} rows[] = {
    {true, "outputs.count = 0", GATHERED, FIRN_ERROR_OP_ORDER, FIRN_ERROR_OP_ORDER},
    {true, "", OUTPUT, FIRN_ERROR_KERNEL_MISSING, FIRN_ERROR_ROLE},
    {true, "push_records", RINGS, FIRN_ERROR_KERNEL_MISSING, FIRN_ERROR_SAMPLER},
    {true, "tree", TREE, FIRN_ERROR_OP_ORDER, FIRN_ERROR_OP_ORDER},
    {true, counts, BATCH, FIRN_ERROR_FIELD, FIRN_ERROR_FIELD},
    {false, "", METRIC, FIRN_ERROR_KERNEL_MISSING, FIRN_ERROR_ROLE},
    {false, "", OUTPUT, FIRN_ERROR_KERNEL_MISSING, FIRN_ERROR_ROLE},
};

TEST(plans_need_their_parts) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        replace(rows[i].needs, true);
        const int absent = check(rows[i].train, rows[i].edits);
        if (absent != rows[i].absent)
            fail_msg("row %zu: %s", i, firn_error_name(absent));
        replace(rows[i].needs, false);
        says = false;
        assert_int_equal(check(rows[i].train, rows[i].edits), rows[i].refused);
        says = true;
        assert_int_equal(check(rows[i].train, rows[i].edits), FIRN_OK);
    }
}

TEST(a_plan_needs_the_kinds_of_its_schedules) {
    replace(PARTS, false);
    assert_int_equal(check(true, ""), FIRN_OK);
    unlinked = FIRN_SCHEDULE_COSINE;
    assert_int_equal(check(true, ""), FIRN_OK);
    unlinked = FIRN_SCHEDULE_LINEAR;
    assert_int_equal(check(true, ""), FIRN_ERROR_KERNEL_MISSING);
}

TEST(plans_need_no_other_part) {
    static const struct {
        bool train;
        const char *edits;
        unsigned needs;
    } plans[] = {
        {true, "", 1u << OUTPUT | 1u << GATHERED},
        {true, "outputs.count = 0", 1u << GATHERED},
        {true, "push_records", 1u << OUTPUT | 1u << GATHERED | 1u << RINGS},
        {true, "tree", 1u << OUTPUT | 1u << GATHERED | 1u << TREE},
        {false, "", 1u << OUTPUT | 1u << METRIC},
    };
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++)
        for (int part = 0; part < PARTS; part++) {
            replace(part, true);
            assert_int_equal(check(plans[i].train, plans[i].edits) == FIRN_OK, (plans[i].needs >> part & 1) == 0);
        }
}
