/* Tests which names firnc inspect folds into one, and what it calls them. */

#include <stdio.h>
#include <string.h>

#include "compiler/commands/inspect/fold.h"
#include "tests/unit/support_test.h"

/* The groups of names as "2 a.[0-1] 1 b". Names that end with '!' differ in something else, too. */
static const char *folded(const char *const *names, uint32_t count) {
    static char text[1000];
    firnc_fold_item items[32];
    const firnc_folded *groups;
    for (uint32_t i = 0; i < count; i++)
        items[i] = (firnc_fold_item){.name = names[i], .same = strchr(names[i], '!') != NULL ? "other" : ""};
    const uint32_t made = firnc_fold(items, count, &groups);
    uint32_t members = 0, next[32] = {0};
    text[0] = '\0';
    for (uint32_t i = 0; i < made; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u %s", i > 0 ? " " : "",
                 (unsigned)groups[i].count, groups[i].name);
        for (uint32_t j = 0; j < groups[i].count; j++) {
            assert_true(j == 0 || groups[i].members[j] > groups[i].members[j - 1]);
            assert_int_equal(next[groups[i].members[j]]++, 0); /* each item is in one group */
        }
        assert_true(i == 0 || groups[i].members[0] > groups[i - 1].members[0]);
        members += groups[i].count;
    }
    assert_int_equal(members, count);
    return text;
}

#define FOLDED(...)                                                                                                    \
    folded((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

TEST(numbers_of_layers_are_folded) {
    assert_string_equal(FOLDED("h.0.norm", "h.1.norm", "h.2.norm"), "3 h.[0-2].norm");
    assert_string_equal(FOLDED("h.0.a", "h.0.b", "h.1.a", "h.1.b"), "2 h.[0-1].a 2 h.[0-1].b");
    assert_string_equal(FOLDED("wte", "h.3.a", "h.1.a", "h.2.a", "ln"), "1 wte 3 h.[1-3].a 1 ln");
    assert_string_equal(FOLDED("0.a", "1.a", "b.0", "b.1"), "2 [0-1].a 2 b.[0-1]");
    assert_string_equal(FOLDED("a/add", "a/add.1", "a/add.2"), "1 a/add 2 a/add.[1-2]");
}

TEST(ranges_are_short) {
    assert_string_equal(FOLDED("h.0", "h.2", "h.3", "h.5"), "4 h.[0,2-3,5]");
    assert_string_equal(FOLDED("h.0", "h.2", "h.4", "h.6", "h.8", "h.10"), "6 h.[0,2,4,6,...,10]");
    assert_string_equal(FOLDED("h.7", "h.7"), "2 h.7");
}

TEST(several_numbers_vary) {
    assert_string_equal(FOLDED("h.0.e.0", "h.0.e.1", "h.1.e.0", "h.1.e.1"), "4 h.[0-1].e.[0-1]");
    assert_string_equal(FOLDED("h.0.e.4", "h.1.e.4"), "2 h.[0-1].e.4");
}

TEST(what_differs_otherwise_is_kept_apart) {
    assert_string_equal(FOLDED("h.0.a", "h.1.a!", "h.2.a"), "2 h.[0,2].a 1 h.1.a!");
    assert_string_equal(FOLDED("layer1", "layer2"), "1 layer1 1 layer2"); /* part of a word */
    assert_string_equal(FOLDED("h.0x", "h.1x"), "1 h.0x 1 h.1x");
    assert_string_equal(FOLDED("h.0000000001", "h.0000000002"), "1 h.0000000001 1 h.0000000002"); /* too long */
    assert_string_equal(FOLDED("", ""), "2 ");
    assert_string_equal(FOLDED("#.a", "0.a", "1.a"), "1 #.a 2 [0-1].a");
}

TEST(no_item_makes_no_group) {
    const firnc_folded *groups;
    assert_int_equal(firnc_fold(NULL, 0, &groups), 0);
}

TEST(a_stack_ends_before_its_number) {
    uint64_t number = 7;
    assert_int_equal(firnc_fold_stack("transformer.h.12.ln", &number), strlen("transformer.h"));
    assert_int_equal(number, 12);
    assert_int_equal(firnc_fold_stack("3.weight", &number), 0);
    assert_int_equal(number, 3);
    assert_int_equal(firnc_fold_stack("wte.weight", &number), strlen("wte.weight"));
    assert_int_equal(number, 0);
}
