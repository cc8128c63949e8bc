/* Tests that the rules of a plan leave no room for harm. Plans of every kind are changed in their meaning and signed
 * again (support_mutants.h): each mutant is refused, or it runs with the same results in every kernel set of this
 * machine, with one to four threads, whatever arena and workspace hold when a step begins. Under the sanitizers, no run
 * touches memory that is not its own.
 *
 *     test_hostile_plans [COUNT [SEED]]      COUNT mutants
 *     test_hostile_plans -1 NUMBER [SEED]    that mutant alone, in every way, with everything it reports
 *     test_hostile_plans FILE                the plan in a file, likewise
 *
 * Every 1,000th mutant is opened with its signature checked; the others skip that check, which takes longer than all
 * the others. `make fuzz` runs 200,000 mutants. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/op_words.h"
#include "plan/ops.h"
#include "runtime/kernels/kernels.h"
#include "tests/unit/support_mutants.h"
#include "tests/unit/support_sealed_runs.h"
#include "tests/unit/support_sets.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_small_plans.h"
#include "tests/unit/support_test.h"

#define COUNT        5000u
#define SEED         20261122u
#define SIGNED_EVERY 1000u
#define WHOLE_EVERY  50u /* accepted mutants that run in every way */
#define SECONDS      30u /* more than any mutant needs */
#define THREADS_MAX  4u
#define DIVERGENCES  100u /* that are reported */

/* The first and the second are those of the first two runs: a NaN, a byte that is true; and what firn_open leaves. */
static const uint8_t poisons[] = {0xfc, 0, 0x3b};
enum { POISONS = sizeof poisons };

static compiled_plan plans[SMALL_PLANS_MAX];
static uint32_t plan_count, accepted, refused, unwritten, diverged;
static uint64_t seed = SEED;

/* --- what is being done, for a run that does not return ----------------------------------------------------------- */

static char doing[4000];

static void say_what(void) {
    ssize_t written = write(STDERR_FILENO, doing, strlen(doing));
    (void)written;
}

/* Part of the sanitizers: the callback runs before they end the program. */
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* --- ways to run -------------------------------------------------------------------------------------------------- */

static const sealed_way first_way = {.kernels = "plain", .threads = 1, .poison = 0xfc, .prepared = true};

/* Runs a plan in one way and compares. Prints the first line that differs if `aloud`. */
static bool agrees(const compiled_plan *plan, const sealed_outcome *expected, const sealed_way *way, bool aloud) {
    static sealed_outcome outcome;
    int status = sealed_plan_run(plan, way, &outcome);
    if (status == FIRN_ERROR_PREPARED_TOO_SMALL && !way->prepared) /* an op that is too wide to be decoded each time */
        return true;
    if (status == FIRN_OK && strcmp(outcome.text, expected->text) == 0)
        return true;
    if (!aloud)
        return false;
    printf("  %s, %u threads, poison %02x, prepared %d: %s\n", way->kernels, (unsigned)way->threads, way->poison,
           way->prepared, firn_error_name(status));
    size_t same = 0, line = 0;
    for (; outcome.text[same] != '\0' && outcome.text[same] == expected->text[same]; same++)
        if (expected->text[same] == '\n')
            line = same + 1;
    printf("    before: %.*s\n    now:    %.*s\n", (int)strcspn(expected->text + line, "\n"), expected->text + line,
           (int)strcspn(outcome.text + line, "\n"), outcome.text + line);
    return false;
}

/* Runs a plan that was accepted: in the first way with two poisons, then with each set; all ways if `whole`. */
static bool agrees_with_itself(const compiled_plan *plan, uint64_t number, bool whole, bool aloud) {
    static sealed_outcome expected;
    sealed_way way = first_way;
    int status = sealed_plan_run(plan, &way, &expected);
    if (status == FIRN_ERROR_KERNEL_MISSING) /* a plan of this format that no kernel of this build can run */
        return true;
    if (aloud)
        printf("%s\n%s", firn_error_name(status), expected.text);
    if (status != FIRN_OK)
        return false;
    way.poison = poisons[1];
    way.prepared = false;
    if (!agrees(plan, &expected, &way, aloud))
        return false;
    for (uint32_t s = 0; s < (uint32_t)support_compared.count; s++)
        for (uint32_t threads = 1; threads <= THREADS_MAX; threads++)
            for (uint32_t p = 0; p < POISONS; p++) {
                way = (sealed_way){.kernels = support_compared.found[s].name,
                                   .threads = threads,
                                   .poison = poisons[p],
                                   .prepared = p == 0};
                bool chosen = threads == 1 + (number + s) % THREADS_MAX && p == (number / THREADS_MAX + s) % POISONS;
                if ((chosen || whole) && !agrees(plan, &expected, &way, aloud))
                    return false;
            }
    return true;
}

/* --- one mutant --------------------------------------------------------------------------------------------------- */

typedef enum verdict { REFUSED, ACCEPTED, UNWRITTEN, DIVERGED } verdict;

/* Makes a mutant, runs it if it is accepted, and stores what was done to it. */
static verdict try(uint64_t number, uint32_t left_out, bool aloud, char *changes, size_t changes_bytes,
                   uint32_t *parts) {
    const compiled_plan *original = &plans[number % plan_count];
    mutant m;
    compiled_plan plan;
    verdict result = UNWRITTEN;
    firn_header header = compiled_plan_header(original);
    mutant_make(&m, sealed_payload(original), &header, seed, number, left_out);
    *parts = m.parts;
    snprintf(changes, changes_bytes, "%s", m.changes);
    snprintf(doing, sizeof doing, "seed %llu, mutant %llu of \"%s\":\n%s", (unsigned long long)seed,
             (unsigned long long)number, original->name, m.changes);
    if (sealed_plan_make(&plan, original, &m.native, &m.header)) {
        alarm(SECONDS);
        int status = sealed_plan_check(&plan);
        sealed_outcome outcome;
        sealed_signatures_are_checked = number % SIGNED_EVERY == 0;
        if (sealed_signatures_are_checked && status != FIRN_OK)
            assert_int_not_equal(sealed_plan_run(&plan, &first_way, &outcome), FIRN_OK);
        if (aloud)
            printf("%s\n", status == FIRN_OK ? "accepted" : firn_error_name(status));
        result = status != FIRN_OK                                                                ? REFUSED
                 : agrees_with_itself(&plan, number, aloud || accepted % WHOLE_EVERY == 0, aloud) ? ACCEPTED
                                                                                                  : DIVERGED;
        alarm(0);
        compiled_plan_free(&plan);
    }
    mutant_free(&m);
    return result;
}

/* Leaves out what a divergence does not need, and reports the rest. */
static void report(uint64_t number, uint32_t parts) {
    static char changes[3000];
    uint32_t left_out = 0, some;
    for (uint32_t part = 0; part < MUTANT_PARTS; part++)
        if ((parts >> part & 1) != 0 &&
            try(number, left_out | 1u << part, false, changes, sizeof changes, &some) == DIVERGED)
            left_out |= 1u << part;
    printf("\nseed %llu, mutant %llu of \"%s\" diverges", (unsigned long long)seed, (unsigned long long)number,
           plans[number % plan_count].name);
    printf(" (parts left out: %x)\n", (unsigned)left_out);
    (void)try(number, left_out, true, changes, sizeof changes, &some);
    printf("%s", changes);
    fflush(stdout);
}

static void run_mutants(uint64_t count) {
    static char changes[3000];
    uint32_t parts;
    for (uint64_t number = 0; number < count && diverged < DIVERGENCES; number++)
        switch (try(number, 0, false, changes, sizeof changes, &parts)) {
        case REFUSED:
            refused++;
            break;
        case ACCEPTED:
            accepted++;
            break;
        case UNWRITTEN:
            unwritten++;
            break;
        default:
            diverged++;
            report(number, parts);
        }
    printf("seed %llu, %llu mutants of %u plans: %u refused, %u ran, %u not FlatBuffers of the schema, %u diverged\n",
           (unsigned long long)seed, (unsigned long long)count, (unsigned)plan_count, (unsigned)refused,
           (unsigned)accepted, (unsigned)unwritten, (unsigned)diverged);
}

/* Runs the plan in a file in every way. Its key may be any. */
static void run_file(const char *name) {
    firnc_bytes file;
    assert_true(firnc_file_read(name, COMPILED_BLOCK_MAX, &file));
    compiled_plan read = {.file = file.data, .bytes = file.count}, plan;
    compiled_plan_copy(&plan, &read);
    firn_header header = compiled_plan_header(&plan), ours = compiled_plan_header(&plans[0]);
    memcpy(header.key_hash, ours.key_hash, sizeof header.key_hash);
    compiled_plan_set_header(&plan, &header);
    compiled_plan_sign(&plan);
    int status = sealed_plan_check(&plan);
    printf("%s\n", status == FIRN_OK ? "accepted" : firn_error_name(status));
    diverged = status == FIRN_OK && !agrees_with_itself(&plan, 0, true, true);
    compiled_plan_free(&plan);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static void set_up(void) {
    plan_count = small_plans_make(plans);
    support_find_sets("plain " SUPPORT_ALL_SETS);
}

BEFORE_ALL {
    set_up();
}

AFTER_ALL {
    for (uint32_t i = 0; i < plan_count; i++)
        compiled_plan_free(&plans[i]);
}

/* A plan that is read and written without a change has the same bytes; it runs alike in every way. */
TEST(the_plans_themselves) {
    for (uint32_t i = 0; i < plan_count; i++) {
        compiled_plan again;
        native_plan native = native_plan_read(sealed_payload(&plans[i]));
        firn_header header = compiled_plan_header(&plans[i]);
        assert_true(sealed_plan_make(&again, &plans[i], &native, &header));
        assert_int_equal(again.bytes, plans[i].bytes);
        assert_memory_equal(again.file, plans[i].file, (size_t)again.bytes);
        native_plan_free(&native);
        if (support_takes_next() && !agrees_with_itself(&again, i, true, false)) {
            printf("%s\n", plans[i].name);
            assert_true(agrees_with_itself(&again, i, true, true));
        }
        compiled_plan_free(&again);
    }
}

/* The plans have every op, so that its rule is attacked. */
TEST(every_op_is_in_a_plan) {
    static bool has[1 << 16];
    uint32_t missing = 0;
    for (uint32_t i = 0; i < plan_count; i++) {
        firn_fb_plan plan = sealed_payload(&plans[i]);
        for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
            firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
            for (uint32_t n = 0; n < firn_fb_phase_ops_count(phase); n++)
                has[firn_fb_op_code(firn_fb_phase_ops_at(phase, n))] = true;
        }
    }
    for (uint32_t code = 0; code < 1 << 16; code++) {
        const firn_op_info *info = firn_op_find((uint16_t)code);
        if (info == NULL || has[code])
            continue;
        printf("no plan has the op %s\n", firn_op_name(info));
        missing++;
    }
    assert_int_equal(missing, 0);
}

/* Makes the first op that can read a tensor of any shape read tensor `index`. */
static void read_instead(native_plan *native, uint32_t index) {
    for (uint32_t p = 0; p < native->plan->phases_count; p++)
        for (uint32_t i = 0; i < native->plan->phases[p].ops_count; i++) {
            const firn_native_op *op = &native->plan->phases[p].ops[i];
            if (op->code != FIRN_OP_sum_of_squares && op->code != FIRN_OP_largest_magnitude)
                continue;
            *(uint32_t *)(uintptr_t)&op->inputs[0] = index;
            return;
        }
}

/* What a kernel leaves in scratch differs from set to set. Gradient norms that were computed from the scratch of a
 * backward attention were once accepted. */
TEST(no_op_reads_scratch) {
    uint32_t tried = 0;
    for (uint32_t i = 0; i < plan_count; i++) {
        const firn_header header = compiled_plan_header(&plans[i]);
        for (uint32_t t = 0; t < header.counts.tensors; t++) {
            firn_fb_tensor tensor = firn_fb_plan_tensors_at(sealed_payload(&plans[i]), t);
            if (firn_fb_tensor_role(tensor) != FIRN_FB_ROLE_SCRATCH ||
                firn_fb_plan_gradient_norm(sealed_payload(&plans[i])) == FIRN_ABSENT)
                continue;
            for (uint8_t role = FIRN_FB_ROLE_ACTIVATION; role <= FIRN_FB_ROLE_SCRATCH; role++) {
                compiled_plan plan;
                native_plan native = native_plan_read(sealed_payload(&plans[i]));
                ((firn_native_tensor *)(uintptr_t)native.plan->tensors)[t].role = role;
                read_instead(&native, t);
                assert_true(sealed_plan_make(&plan, &plans[i], &native, &header));
                assert_int_equal(sealed_plan_check(&plan), FIRN_ERROR_OP_OPERANDS);
                compiled_plan_free(&plan);
                native_plan_free(&native);
                tried++;
            }
        }
    }
    assert_true(tried > 100);
}

TEST(mutants_are_refused_or_run_alike) {
    const uint64_t count = COUNT / support_every();
    seed += support_from();
    run_mutants(count);
    assert_int_equal(diverged, 0);
    assert_true(refused > count / 10 && accepted > count / 10);
}

int main(int argument_count, char **arguments) {
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(say_what);
    if (argument_count < 2)
        return support_test_run();
    set_up();
    if (strchr(arguments[1], '.') != NULL) {
        run_file(arguments[1]);
        return diverged == 0 ? 0 : 1;
    }
    long long count = strtoll(arguments[1], NULL, 10);
    int seed_at = count < 0 ? 3 : 2;
    if (argument_count > seed_at)
        seed = strtoull(arguments[seed_at], NULL, 10);
    if (count >= 0) {
        run_mutants((uint64_t)count);
    } else {
        static char changes[3000];
        uint32_t parts;
        verdict result =
            try(argument_count > 2 ? strtoull(arguments[2], NULL, 10) : 0, 0, true, changes, sizeof changes, &parts);
        printf("%s", changes);
        diverged = result == DIVERGED;
    }
    return diverged == 0 ? 0 : 1;
}
