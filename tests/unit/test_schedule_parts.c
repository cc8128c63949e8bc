/* Tests schedules in builds that lack parts: with constants alone, and with some kinds and no others. Constants need no
 * part, and do without the arithmetic in binary64 of the others. */
#include "schedules/parts.h"
#include "schedules/schedule.h"

/* --- schedule.c and schedule_single.c with parts that can be taken out --- */

static const firn_schedule_part *const *parts;
static firn_schedule_tree_part trees;

#define firn_schedule_parts     parts
#define firn_schedule_trees     trees
#define firn_schedule_check     check
#define firn_schedule_is_linked is_linked
#define firn_schedule_value     value_of

bool is_linked(uint16_t kind);
uint32_t check(const firn_schedule_list *list);
float value_of(const firn_schedule_list *list, uint32_t root, uint64_t step);

#include "schedules/schedule.c"
#include "schedules/schedule_single.c"
#include "tests/unit/support_test.h"
#undef firn_schedule_parts
#undef firn_schedule_trees

static uint32_t asked;

static float asked_value(const firn_schedule_list *list, uint32_t root, uint64_t step) {
    asked++;
    return firn_schedule_rounded(list, root, step);
}

BEFORE_EACH {
    parts = firn_schedule_parts;
    trees = (firn_schedule_tree_part){asked_value, firn_schedule_trees.check};
    asked = 0;
}

static firn_schedule_node node = {.kind = FIRN_SCHEDULE_CONSTANT, .initial = 0.1};
static const firn_schedule_list list = {.nodes = &node, .node_count = 1};

static void becomes(firn_schedule_node other) {
    node = other;
}

static void without_parts(void) {
    parts = NULL;
    trees = (firn_schedule_tree_part){NULL, NULL};
}

TEST(a_constant_needs_no_part) {
    for (int i = 0; i < 2; i++) {
        becomes((firn_schedule_node){.kind = FIRN_SCHEDULE_CONSTANT, .initial = -0.1});
        assert_true(is_linked(FIRN_SCHEDULE_CONSTANT));
        assert_int_equal(check(&list), 0);
        assert_true(value_of(&list, 0, 7) == -0.1F);
        without_parts();
    }
    assert_int_equal(asked, 0);
}

TEST(other_kinds_are_computed_by_their_part) {
    becomes((firn_schedule_node){.kind = FIRN_SCHEDULE_LINEAR, .total = 4, .initial = 1});
    assert_int_equal(check(&list), 0);
    assert_true(value_of(&list, 0, 1) == 0.75F);
    assert_int_equal(asked, 1);
}

TEST(what_is_not_linked_is_refused) {
    const firn_schedule_part *some[FIRN_SCHEDULE_KINDS] = {NULL};
    some[FIRN_SCHEDULE_LINEAR] = parts[FIRN_SCHEDULE_LINEAR];
    for (int i = 0; i < 2; i++) {
        parts = some;
        for (uint16_t kind = 0; kind <= FIRN_SCHEDULE_KINDS; kind++)
            assert_int_equal(is_linked(kind),
                             kind == FIRN_SCHEDULE_CONSTANT || (i == 0 && kind == FIRN_SCHEDULE_LINEAR));
        assert_false(is_linked(UINT16_MAX));
        becomes((firn_schedule_node){.kind = FIRN_SCHEDULE_LINEAR, .total = 4, .initial = 1});
        assert_int_equal(check(&list), i == 0 ? 0 : 1);
        becomes((firn_schedule_node){.kind = FIRN_SCHEDULE_EXPONENTIAL, .total = 4, .initial = 1, .rate = 0.5});
        assert_int_equal(check(&list), 1);
        some[FIRN_SCHEDULE_LINEAR] = NULL;
    }
    without_parts();
    for (uint16_t kind = 0; kind <= FIRN_SCHEDULE_KINDS; kind++)
        assert_int_equal(is_linked(kind), kind == FIRN_SCHEDULE_CONSTANT);
    becomes((firn_schedule_node){.kind = FIRN_SCHEDULE_LINEAR, .total = 4, .initial = 1});
    assert_int_equal(check(&list), 1);
}

/* Without trees every node is a root, so none begins behind another. */
TEST(a_constant_that_is_no_root_needs_trees) {
    firn_schedule_node nodes[] = {{.kind = FIRN_SCHEDULE_SEQUENTIAL, .child_count = 2, .first_child = 1},
                                  {.kind = FIRN_SCHEDULE_CONSTANT, .initial = 1},
                                  {.kind = FIRN_SCHEDULE_CONSTANT, .initial = 2, .start = 5}};
    const firn_schedule_list tree = {.nodes = nodes, .node_count = 3};
    assert_int_equal(check(&tree), 0);
    assert_true(value_of(&tree, 0, 4) == 1 && value_of(&tree, 0, 5) == 2);
    becomes((firn_schedule_node){.kind = FIRN_SCHEDULE_CONSTANT, .initial = 2, .start = 5});
    assert_int_equal(check(&list), 1);
    without_parts();
    assert_int_equal(check(&list), 1);
    assert_int_equal(check(&tree), 1);
    becomes((firn_schedule_node){.kind = FIRN_SCHEDULE_CONSTANT, .initial = 2, .total = 3});
    assert_int_equal(check(&list), 0);
}
