/* Tests that a plan cannot lie. One value of a plan is changed, and the plan is signed again: it is refused, or
 * `firnc inspect` shows the change. What is shown also acts on the run, apart from the fields in a table below. Prints,
 * for each field, how many changes were refused, shown, and acted.
 *
 *     test_plan_lies [COUNT [SEED]]     prints the table for COUNT changes, and tests nothing */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/commands/inspect/inspect.h"
#include "tests/unit/support_capture.h"
#include "tests/unit/support_native_plan.h"
#include "tests/unit/support_sealed_runs.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_small_plans.h"
#include "tests/unit/support_test.h"

#define COUNT       2000u
#define SEED        13u
#define OUTPUT_MOST (1u << 21)
#define CLASSES_MAX 512
#define MICRO_MOST  50u

/* Fields that inspect shows and that do not act in these runs. Names of inputs are for people, and roles tell what
 * memory is for. The others act, but not here: a label is no part of what a model judges, how long memory is kept
 * changes no result, no loss is infinite, and no run reaches the end of its data. */
static const char *const idle[] = {"Input.name",        "Input.label", "Plan.check_loss",
                                   "Sampler.epoch_end", "Tensor.role", "Tensor.last"};
enum { SURE = 8 }; /* so many changes that are shown must also act, or the field is idle */

static compiled_plan plans[SMALL_PLANS_MAX];
static char *pages[SMALL_PLANS_MAX];             /* what inspect prints about each */
static sealed_outcome outcomes[SMALL_PLANS_MAX]; /* what each does */
static bool has[SMALL_PLANS_MAX][CLASSES_MAX];   /* a plan has a value of a class */
static uint32_t plan_count;
static uint64_t random_state = SEED;

static const native_class *classes;
static uint32_t class_count;

/* What became of the changes of a class of values. */
typedef struct tally {
    uint32_t refused, shown, hidden, acted;
    char example[160];
} tally;

static tally tallies[CLASSES_MAX];

/* splitmix64 */
static uint64_t draw64(void) {
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random_state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint32_t draw(uint32_t below) {
    return (uint32_t)(draw64() >> 16) % below;
}

/* --- what inspect prints ------------------------------------------------------------------------------------------ */

/* Removes the lines that differ in any case: hashes, the file, and its size, as values that are defaults are not
 * stored. */
static void remove_identities(char *text) {
    char *to = text;
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n") + 1;
        bool identity = false;
        static const char *const words[] = {
            "\"file\":", "\"plan_hash\":", "\"run_hash\":", "\"model_hash\":", "\"plan_bytes\":"};
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            const char *found = strstr(line, words[i]);
            identity = identity || (found != NULL && found < line + length);
        }
        if (!identity) {
            memmove(to, line, length);
            to += length;
        }
        line += length;
    }
    *to = '\0';
}

static int inspect(const char *file) {
    const firnc_mark mark = firnc_memory_mark();
    const int result = firnc_inspect(file, FIRNC_INSPECT_JSON);
    firnc_memory_release(mark);
    return result;
}

/* Returns what `firnc inspect --json` prints about a plan, without identities; to be freed. */
static char *inspected(const compiled_plan *plan) {
    char *text = malloc(OUTPUT_MOST);
    assert_non_null(text);
    assert_int_equal(support_capture_command(inspect, plan->file, plan->bytes, STDOUT_FILENO, text, OUTPUT_MOST), 0);
    const size_t bytes = strlen(text);
    assert_true(bytes > 0 && bytes < OUTPUT_MOST - 1 && text[bytes - 1] == '\n');
    remove_identities(text);
    return text;
}

/* --- one change --------------------------------------------------------------------------------------------------- */

static uint64_t other_value(const native_class *class, uint64_t value) {
    static const uint64_t singles[] = {0, 0x3f800000, 0x3f000000, 0x40000000, 0x358637bd, 0x3dcccccd};
    static const uint64_t doubles[] = {0, 0x3ff0000000000000, 0x3fe0000000000000, 0x4000000000000000,
                                       0x3f847ae147ae147b};
    switch (class->kind) {
    case NATIVE_FLOAT:
        return draw(3) == 0 ? value ^ 1 : singles[draw(6)];
    case NATIVE_DOUBLE:
        return draw(3) == 0 ? value ^ 1 : doubles[draw(5)];
    case NATIVE_CHOICE:
        return draw64() % (class->most + 1);
    default:
        switch (draw(7)) {
        case 0:
            return value + 1;
        case 6:
            return UINT64_C(1) << draw(8);
        case 1:
            return value - 1;
        case 2:
            return draw(4);
        case 3:
            return draw(64);
        case 4:
            return value + (UINT64_C(1) << 53 | 1); /* more than a double can tell */
        default:
            return class->most;
        }
    }
}

/* Changes a random value of a class in a plan. False if the plan has none. */
static bool change(native_plan *native, uint32_t class, native_spot *changed) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < native->spot_count; i++)
        if (native->spots[i].class == class && draw(++seen) == 0)
            *changed = native->spots[i];
    if (seen == 0 || changed->bytes == 0)
        return false;
    const native_class *kind = &native->classes[class];
    if (kind->kind == NATIVE_TEXT) {
        uint8_t *at = changed->at + draw(changed->bytes);
        *at = *at == 'x' ? 'y' : 'x';
        return true;
    }
    uint64_t before = native_spot_value(changed);
    for (int i = 0; i < 20 && native_spot_value(changed) == before; i++)
        native_spot_set(changed, other_value(kind, before));
    return native_spot_value(changed) != before;
}

static const sealed_way plain = {.kernels = "plain", .prepared = true};

/* What a plan that was accepted does; or that this build lacks a kernel for it. */
static void run(const compiled_plan *plan, sealed_outcome *outcome) {
    int status = sealed_plan_run(plan, &plain, outcome);
    if (status == FIRN_ERROR_KERNEL_MISSING)
        snprintf(outcome->text, sizeof outcome->text, "no kernel");
    else
        assert_int_equal(status, FIRN_OK);
}

/* Changes one value of a plan of one class, and notes what becomes of it. */
static void try(uint32_t which, uint32_t class) {
    static sealed_outcome outcome;
    compiled_plan plan;
    native_spot spot = {0};
    native_plan native = native_plan_read(sealed_payload(&plans[which]));
    tally *t = &tallies[class];
    native_plan_find(&native);
    firn_header header = compiled_plan_header(&plans[which]);
    const bool changed = change(&native, class, &spot);
    if (native.plan->micro_batches > MICRO_MOST) /* a plan that adds losses may have any number, and a step of them */
        native.plan->micro_batches = MICRO_MOST;
    if (changed && sealed_plan_make(&plan, &plans[which], &native, &header)) {
        if (sealed_plan_check(&plan) != FIRN_OK) {
            t->refused++;
        } else {
            char *page = inspected(&plan);
            bool shown = strcmp(pages[which], page) != 0;
            run(&plan, &outcome);
            bool acted = strcmp(outcomes[which].text, outcome.text) != 0;
            t->shown += shown;
            t->hidden += !shown;
            t->acted += acted;
            if (!shown)
                snprintf(t->example, sizeof t->example, "%s of \"%s\" is now 0x%llx%s",
                         native_name(&native, (uint16_t) class, &spot.place), plans[which].name,
                         (unsigned long long)native_spot_value(&spot), acted ? ", which acts" : "");
            free(page);
        }
        compiled_plan_free(&plan);
    }
    native_plan_free(&native);
}

/* Changes values of one class after the other, each time in a random plan that has one. */
static void try_all(uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t class = i % class_count, which = plan_count, seen = 0;
        for (uint32_t j = 0; j < plan_count; j++)
            if (has[j][class] && draw(++seen) == 0)
                which = j;
        if (which < plan_count)
            try(which, class);
    }
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static void make_changes(uint32_t count) {
    try_all(count);
    const native_place nowhere = {0};
    const native_plan names = {.classes = classes, .class_count = class_count};
    printf("refused   shown  hidden   acted  field\n");
    for (uint32_t class = 0; class < class_count; class ++) {
        const tally *t = &tallies[class];
        if (t->refused + t->shown + t->hidden > 0)
            printf("%7u %7u %7u %7u  %s%s%s\n", (unsigned)t->refused, (unsigned)t->shown, (unsigned)t->hidden,
                   (unsigned)t->acted, native_name(&names, (uint16_t) class, &nowhere), t->example[0] != 0 ? ": " : "",
                   t->example);
    }
}

static void set_up(void) {
    plan_count = small_plans_make(plans);
    for (uint32_t i = 0; i < plan_count; i++) {
        native_plan native = native_plan_read(sealed_payload(&plans[i]));
        native_plan_find(&native);
        assert_true(native.class_count <= CLASSES_MAX);
        for (uint32_t j = 0; j < native.spot_count; j++)
            has[i][native.spots[j].class] = true;
        classes = native.classes;
        class_count = native.class_count;
        native_plan_free(&native);
        pages[i] = inspected(&plans[i]);
        run(&plans[i], &outcomes[i]);
    }
}

BEFORE_ALL {
    set_up();
}

AFTER_ALL {
    for (uint32_t i = 0; i < plan_count; i++) {
        compiled_plan_free(&plans[i]);
        free(pages[i]);
    }
}

static bool is_listed(const char *const *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

/* Returns what is wrong with the changes of a field; NULL: nothing. */
static const char *fault_of(const tally *t, const char *name) {
    const bool may_idle = is_listed(idle, sizeof idle / sizeof idle[0], name);
    if (t->hidden > 0)
        return "inspect does not show a change that is accepted";
    if (t->acted == 0 && t->shown >= SURE && !may_idle)
        return "inspect shows what does not act on the run";
    if (t->acted > 0 && may_idle)
        return "acts: take it out of the table of idle fields";
    return NULL;
}

TEST(a_change_is_refused_or_shown) {
    uint32_t faults = 0;
    const native_place nowhere = {0};
    const native_plan names = {.classes = classes, .class_count = class_count};
    random_state += support_from();
    make_changes(COUNT / support_every());
    for (uint32_t class = 0; class < class_count; class ++) {
        const char *name = native_name(&names, (uint16_t) class, &nowhere), *fault = fault_of(&tallies[class], name);
        if (fault != NULL)
            printf("%s: %s\n", name, fault);
        faults += fault != NULL;
    }
    assert_int_equal(faults, 0);
}

int main(int argument_count, char **arguments) {
    if (argument_count < 2)
        return support_test_run();
    set_up();
    random_state = argument_count > 2 ? strtoull(arguments[2], NULL, 10) : SEED;
    make_changes((uint32_t)strtoul(arguments[1], NULL, 10));
    return 0;
}
