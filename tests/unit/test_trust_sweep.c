/* Tests what is refused, on plans that the compiler makes from the small recipes. firn_open refuses damage of every
 * kind with the error of that kind. Then the same damage is signed again, and every field of the schema is set to
 * unlikely values: each such plan is either refused by the rules of the payload or runs. A run initialises, takes two
 * steps, computes the digest, saves and restores, in blocks of exactly the sizes in the header, under the sanitizers.
 * FIRN_TEST_EVERY takes part of the damage (support_share.h).
 *
 * `test_trust_sweep forge FOLDER` writes signed plans that no compiler would make, for
 * tests/end_to_end/refused_plans.sh. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/checks/check.h"
#include "plan/checks/semantics.h"
#include "plan/checks/verifier.h"
#include "plan/generated/tables.h"
#include "plan/signature.h"
#include "tests/unit/plan_walk.h"
#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_spots.h"
#include "tests/unit/support_test.h"

#define RANDOM_FLIPS 10000u
#define SEED         20240607u
#define RUN_SECONDS  30 /* more than any valid plan of these sizes needs for two steps */

/* --- the plans ---------------------------------------------------------------------------------------------------- */

enum { GPT2_TRAIN, GPT2_SCALED, GPT2_EVAL, MLP_TRAIN, MLP_EVAL, PLANS };
static compiled_plan plans[PLANS];

static void make_plans(void) {
    static const char gpt2[] = "compiler/recipes/small_gpt2.yaml", mlp[] = "compiler/recipes/small_mlp.yaml";
    static const char *const scaled[] = {
        "trainer.init.precision.fp16_type=float16", "trainer.init.precision.loss_scaling_factor=dynamic",
        "trainer.init.precision.precision_opt_level=2", "trainer.init.precision.pol_lowering=emulate"};
    compiled_plan_make(&plans[GPT2_TRAIN], gpt2, FIRNC_TRAIN, NULL, 0);
    compiled_plan_make(&plans[GPT2_SCALED], gpt2, FIRNC_TRAIN, scaled, 4);
    compiled_plan_make(&plans[GPT2_EVAL], gpt2, FIRNC_EVAL, NULL, 0);
    compiled_plan_make(&plans[MLP_TRAIN], mlp, FIRNC_TRAIN, NULL, 0);
    compiled_plan_make(&plans[MLP_EVAL], mlp, FIRNC_EVAL, NULL, 0);
    static const char *const names[PLANS] = {"gpt2 train", "gpt2 train, scaled", "gpt2 eval", "mlp train", "mlp eval"};
    for (int i = 0; i < PLANS; i++)
        plans[i].name = names[i];
}

BEFORE_ALL {
    make_plans();
}

static void free_plans(void) {
    for (int i = 0; i < PLANS; i++)
        compiled_plan_free(&plans[i]);
}

AFTER_ALL {
    free_plans();
}

/* --- counts and messages ------------------------------------------------------------------------------------------ */

#define ERRORS 1000
static uint32_t counts[ERRORS];

static void count(int status) {
    assert_true(status <= 0 && status > -ERRORS);
    counts[-status]++;
}

static uint32_t total_of(int from, int to) {
    uint32_t total = 0;
    for (int error = from; error >= to; error--)
        total += counts[-error];
    return total;
}

/* Prints the table of a sweep and resets the counts. */
static void print_counts(const char *title) {
    printf("%s\n", title);
    for (int error = 0; error < ERRORS; error++)
        if (counts[error] != 0)
            printf("    %7u  %s\n", (unsigned)counts[error], error == 0 ? "accepted" : firn_error_name(-error));
    memset(counts, 0, sizeof counts);
}

static char doing[200];

static void say_what(void) {
    ssize_t written = write(STDERR_FILENO, doing, strlen(doing));
    (void)written;
}

/* Part of the sanitizers: the callback runs before they end the program. */
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* A small random generator, so that a seed gives the same sequence everywhere. */
static uint32_t draw(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void flip(compiled_plan *plan, uint64_t bit) {
    plan->file[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

static int open_error(const compiled_plan *plan) {
    compiled_run run;
    int status = compiled_run_open(&run, plan, 0);
    compiled_run_close(&run);
    return status;
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

TEST(every_plan_opens_and_runs) {
    for (int i = 0; i < PLANS; i++) {
        compiled_run run;
        assert_int_equal(compiled_run_open(&run, &plans[i], 5), FIRN_OK);
        assert_int_equal(compiled_run_steps(&run), FIRN_OK);
        compiled_run_close(&run);
    }
}

/* The memory has exactly the truncated length. */
TEST(truncated_at_every_length) {
    for (int i = 0; i < PLANS; i++)
        for (uint64_t length = 1; length < plans[i].bytes; length++) {
            if (!support_takes_next())
                continue;
            compiled_plan shorter = {.file = plans[i].file, .bytes = length}, copy;
            compiled_plan_copy(&copy, &shorter);
            count(open_error(&copy));
            compiled_plan_free(&copy);
        }
    /* Accepted at the beginning of the report. */
    assert_true(support_takes_all() ? counts[0] == PLANS : counts[0] <= PLANS);
    assert_true(counts[-FIRN_ERROR_TRUNCATED] > 0);
    assert_int_equal(counts[-FIRN_ERROR_TRUNCATED], total_of(-1, 1 - ERRORS));
    print_counts("truncated at every length, 5 plans");
}

TEST(trailing_bytes) {
    for (int i = 0; i < PLANS; i++) {
        compiled_plan longer;
        compiled_plan_copy(&longer, &plans[i]);
        longer.file = realloc(longer.file, (size_t)longer.bytes + 256);
        assert_non_null(longer.file);
        compiled_plan moved = {.file = longer.file, .bytes = plans[i].bytes + 256}, again;
        memset(moved.file + plans[i].bytes, 0, 256);
        compiled_plan_copy(&again, &moved);
        for (again.bytes = plans[i].bytes + 1; again.bytes <= moved.bytes; again.bytes++)
            assert_int_equal(open_error(&again), FIRN_ERROR_TRAILING_BYTES);
        compiled_plan_free(&again);
        compiled_plan_free(&moved);
    }
}

TEST(not_signed_or_by_another_key) {
    for (int i = 0; i < PLANS; i++) {
        compiled_plan plan;
        compiled_plan_copy(&plan, &plans[i]);
        firn_header header = compiled_plan_header(&plan);
        compiled_plan_sign_bytes(&plan, true); /* with a signature that claims to be by our key */
        assert_int_equal(open_error(&plan), FIRN_ERROR_SIGNATURE);
        header.key_hash[0] ^= 1;
        compiled_plan_set_header(&plan, &header);
        compiled_plan_sign_bytes(&plan, true);
        assert_int_equal(open_error(&plan), FIRN_ERROR_WRONG_KEY);
        header.algorithm = FIRN_ALGORITHM_NONE;
        compiled_plan_set_header(&plan, &header);
        assert_int_equal(open_error(&plan), FIRN_ERROR_UNSIGNED);
        compiled_plan_free(&plan);
    }
}

/* Some flips are refused by the rules of the header, some by the key hash, and all others by the signature. */
TEST(a_flip_of_every_bit_of_header_and_signature) {
    static const int which[] = {GPT2_EVAL, MLP_TRAIN};
    uint32_t tried = 0;
    for (int i = 0; i < 2; i++) {
        compiled_plan plan;
        compiled_plan_copy(&plan, &plans[which[i]]);
        for (uint64_t bit = 0; bit < 8 * FIRN_PAYLOAD_OFFSET; bit++) {
            if (!support_takes_next())
                continue;
            tried++;
            flip(&plan, bit);
            int status = open_error(&plan);
            count(status);
            assert_true(bit < 8 * FIRN_HEADER_BYTES || status == FIRN_ERROR_SIGNATURE);
            flip(&plan, bit);
        }
        compiled_plan_free(&plan);
    }
    /* Larger regions are refused before anything is hashed, because their blocks would be larger than the test's. */
    uint32_t refused = counts[-FIRN_ERROR_BLOCK_TOO_SMALL] + total_of(FIRN_ERROR_TRUNCATED, FIRN_ERROR_PLAN_TOO_LARGE) +
                       total_of(FIRN_ERROR_SIGNATURE, FIRN_ERROR_RUN_HASH);
    assert_int_equal(refused, tried);
    assert_true(tried > 0 && (!support_takes_all() || tried == 2 * 8 * FIRN_PAYLOAD_OFFSET));
    assert_true(!support_takes_all() || counts[-FIRN_ERROR_WRONG_KEY] == 2 * 256);
    print_counts("every bit of header and signature, 2 plans");
}

/* Returns a random bit of the payload, in the FlatBuffers part or in the padding. */
static uint64_t random_bit(const compiled_plan *plan, uint64_t *seed) {
    const firn_header header = compiled_plan_header(plan);
    uint64_t bits = 8 * (firn_header_payload_end(&header) - FIRN_PAYLOAD_OFFSET);
    return 8 * FIRN_PAYLOAD_OFFSET + draw(seed) % bits;
}

/* The header says what the SHA-256 of the payload is. */
TEST(flips_of_the_payload) {
    uint64_t seed = SEED;
    uint32_t tried = 0;
    for (uint32_t n = 0; n < RANDOM_FLIPS; n++) {
        compiled_plan *plan = &plans[n % PLANS];
        uint64_t bit = random_bit(plan, &seed);
        if (!support_takes_next())
            continue;
        tried++;
        flip(plan, bit);
        count(open_error(plan));
        flip(plan, bit);
    }
    assert_int_equal(counts[-FIRN_ERROR_RUN_HASH], tried);
    assert_true(tried > 0);
    printf("seed %u: ", SEED);
    print_counts("random bits of the payload");
}

/* A device does not read the report. */
TEST(flips_of_the_report) {
    for (int i = 0; i < PLANS; i++) {
        const firn_header header = compiled_plan_header(&plans[i]);
        assert_true(header.report_bytes > 100);
        for (uint64_t bit = 8 * firn_header_payload_end(&header); bit < 8 * plans[i].bytes; bit += 997) {
            flip(&plans[i], bit);
            count(open_error(&plans[i]));
            flip(&plans[i], bit);
        }
    }
    assert_int_equal(counts[0], total_of(0, 1 - ERRORS));
    print_counts("bits of the report, 5 plans");
}

/* --- damage that is signed again ---------------------------------------------------------------------------------- */

static bool is_payload_error(int status) {
    return (status <= FIRN_ERROR_SCHEMA_BOUNDS && status > FIRN_ERROR_CHECKPOINT_MISSING);
}

/* Returns whether the run of an accepted plan may end with this status: success, missing or unsuitable data, or an
 * error caused by values. */
static bool is_clean_end(int status) {
    bool data = status <= FIRN_ERROR_SOURCE && status >= FIRN_ERROR_DATA_END;
    bool numbers = status == FIRN_ERROR_LOSS_NOT_FINITE || status == FIRN_ERROR_LOSS_SCALE_FLOOR;
    return status == FIRN_OK || status == FIRN_ERROR_RUN_COMPLETE || data || numbers;
}

static uint32_t ran, ended_early;

/* Opens the plan and runs it if it is accepted. Returns the result of firn_open. */
static int open_and_run(const compiled_plan *plan) {
    compiled_run run;
    alarm(RUN_SECONDS);
    int status = compiled_run_open(&run, plan, 0);
    if (status == FIRN_OK) {
        int end = compiled_run_steps(&run);
        if (!is_clean_end(end))
            fail_msg("%s: %s", doing, firn_error_name(end));
        ran++;
        ended_early += end != FIRN_OK;
    }
    alarm(0);
    compiled_run_close(&run);
    return status;
}

static void print_runs(const char *title) {
    print_counts(title);
    printf("    %7u  ran, %u of them to an error of data or numbers\n", (unsigned)ran, (unsigned)ended_early);
    ran = ended_early = 0;
}

/* Bytes of the header that may change for the same payload: image id, versions, counter, vendor and class, schema hash,
 * the hash of the report, a FlatBuffers length that ends inside the padding, larger regions. */
static bool is_free(unsigned byte) {
    return (byte >= 32 && byte < 44) || (byte >= 48 && byte < 112) || (byte >= 176 && byte < 208) ||
           (byte >= 216 && byte < 224) || (byte >= 304 && byte < 432);
}

/* A plan may say that it needs a minor version that the runtime has, although it needs an older one. */
static bool says_known_minor(uint64_t bit, const firn_header *header) {
    return bit / 32 == 3 && header->needs_minor <= FIRN_FORMAT_MINOR;
}

/* The run hash is not updated, so that its check is tested, too; the key hash is that of the key. */
TEST(header_flips_signed_again) {
    static const int which[] = {GPT2_EVAL, MLP_TRAIN};
    uint32_t tried = 0;
    for (int i = 0; i < 2; i++) {
        compiled_plan plan;
        compiled_plan_copy(&plan, &plans[which[i]]);
        for (uint64_t bit = 0; bit < 8 * FIRN_HEADER_BYTES; bit++) {
            firn_header header;
            if (!support_takes_next())
                continue;
            flip(&plan, bit);
            snprintf(doing, sizeof doing, "%s: bit %llu of the header, signed again\n", plan.name,
                     (unsigned long long)bit);
            if (firn_header_decode(&header, plan.file, plan.bytes) == FIRN_OK) {
                compiled_plan_sign_bytes(&plan, false);
                int status = open_and_run(&plan);
                if (status == FIRN_OK && !is_free((unsigned)bit / 8) && !says_known_minor(bit, &header))
                    fail_msg("%s: accepted", doing);
                count(status);
                tried++;
            }
            flip(&plan, bit);
        }
        compiled_plan_free(&plan);
    }
    if (support_takes_all()) {
        assert_true(tried > 2 * 8 * (12 + 32 + 4 * 32));
        assert_true(counts[0] >= 2 * 8 * (12 + 32 + 2 * 32));
        assert_int_equal(counts[-FIRN_ERROR_WRONG_KEY], 2 * 256);
        assert_true(counts[-FIRN_ERROR_RUN_HASH] >= 2 * 256);
        assert_true(counts[-FIRN_ERROR_HEADER_MISMATCH] >= 2 * 8);
    }
    assert_true(tried > 0);
    print_runs("bits of the header that it survives, signed again, 2 plans");
}

/* Applies only the rules of the payload, to a copy of exactly its length. */
static int payload_status(const compiled_plan *plan) {
    firn_header header = compiled_plan_header(plan);
    compiled_plan part = {.file = plan->file + FIRN_PAYLOAD_OFFSET, .bytes = header.flatbuffers_bytes}, copy;
    compiled_plan_copy(&copy, &part);
    const uint64_t scratch_bytes = firn_check_pool_bytes(&header.counts);
    void *scratch = malloc((size_t)scratch_bytes);
    assert_non_null(scratch);
    int status = firn_fb_verify(copy.file, copy.bytes);
    if (status == FIRN_OK)
        status = firn_semantics_check(firn_fb_plan_root(copy.file), &header, scratch, scratch_bytes);
    free(scratch);
    compiled_plan_free(&copy);
    return status;
}

/* Signs a changed plan again and opens it. The rules of the payload, which do not need a signature, refuse most plans.
 * Of those, only plans with `whole` set are signed and passed to firn_open; accepted plans always are. firn_open must
 * return the same result. */
static int sign_and_run(compiled_plan *plan, bool whole) {
    int status = payload_status(plan);
    if (status != FIRN_OK && !is_payload_error(status))
        fail_msg("%s: %s", doing, firn_error_name(status));
    if (status == FIRN_OK || whole) {
        compiled_plan_sign(plan);
        int opened = open_and_run(plan);
        if (opened != status)
            fail_msg("%s: %s, but firn_open: %s", doing, firn_error_name(status), firn_error_name(opened));
    }
    return status;
}

TEST(payload_flips_signed_again) {
    uint64_t seed = SEED + 1;
    uint32_t tried = 0;
    for (uint32_t n = 0; n < RANDOM_FLIPS; n++) {
        const uint64_t bit = random_bit(&plans[n % PLANS], &seed);
        if (!support_takes_next())
            continue;
        tried++;
        compiled_plan plan;
        compiled_plan_copy(&plan, &plans[n % PLANS]);
        snprintf(doing, sizeof doing, "%s: bit %llu, signed again\n", plan.name, (unsigned long long)bit);
        flip(&plan, bit);
        count(sign_and_run(&plan, n % 4 == 0));
        compiled_plan_free(&plan);
    }
    assert_true(total_of(FIRN_ERROR_SCHEMA_BOUNDS, FIRN_ERROR_SCHEMA_BUDGET) > tried / 10);
    assert_true(total_of(FIRN_ERROR_NUMERICS_VERSION, FIRN_ERROR_FIELD) > tried / 10);
    assert_true(ran > tried / 50);
    printf("seed %u: ", SEED + 1);
    print_runs("random bits of the payload, signed again");
}

/* --- every field -------------------------------------------------------------------------------------------------- */

/* Adds a value seen by plan_walk to a hash. */
static void fold(void *context, const void *bytes, size_t number) {
    uint64_t *sum = context;
    for (size_t i = 0; i < number; i++)
        *sum = (*sum ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
}

static void fold_bracket(void *context, const char *name, char bracket) {
    (void)name;
    fold(context, &bracket, 1);
}

static void fold_close(void *context, char bracket) {
    fold(context, &bracket, 1);
}

static void fold_integer(void *context, const char *name, int64_t value) {
    (void)name;
    fold(context, &value, sizeof value);
}

static void fold_natural(void *context, const char *name, uint64_t value) {
    (void)name;
    fold(context, &value, sizeof value);
}

static void fold_choice(void *context, const char *name, const char *word, uint64_t value) {
    (void)word;
    fold_natural(context, name, value);
}

static void fold_truth(void *context, const char *name, bool value) {
    fold_natural(context, name, value);
}

static void fold_single(void *context, const char *name, float value) {
    (void)name;
    fold(context, &value, sizeof value);
}

static void fold_real(void *context, const char *name, double value) {
    (void)name;
    fold(context, &value, sizeof value);
}

static void fold_text(void *context, const char *name, const char *value, uint32_t length) {
    (void)name;
    fold(context, value, length);
}

static uint64_t content_of(const compiled_plan *plan) {
    uint64_t sum = 14695981039346656037u;
    const walk_sink sink = {.context = &sum,
                            .open = fold_bracket,
                            .close = fold_close,
                            .integer = fold_integer,
                            .natural = fold_natural,
                            .choice = fold_choice,
                            .truth = fold_truth,
                            .single = fold_single,
                            .real = fold_real,
                            .text = fold_text};
    plan_walk(firn_fb_plan_root(plan->file + FIRN_PAYLOAD_OFFSET), &sink);
    return sum;
}

/* Makes the same plan with every field stored and signs it; it opens and runs. */
static void expand(compiled_plan *plan, const compiled_plan *from) {
    compiled_plan_copy(plan, from);
    uint32_t bytes = 0;
    uint8_t *expanded =
        spots_expand(from->file + FIRN_PAYLOAD_OFFSET, (uint32_t)compiled_plan_header(from).flatbuffers_bytes, &bytes);
    compiled_plan_replace(plan, expanded, bytes);
    free(expanded);
    compiled_plan_sign(plan);
    assert_int_equal(open_and_run(plan), FIRN_OK);
    assert_true(content_of(plan) == content_of(from));
}

static void try_change(compiled_plan *plan, const spot *spot, uint64_t value, uint32_t number) {
    uint8_t header[FIRN_HEADER_BYTES];
    uint8_t *flatbuffers = plan->file + FIRN_PAYLOAD_OFFSET;
    uint64_t before = spots_load(flatbuffers, spot);
    snprintf(doing, sizeof doing, "%s: field %u of table %u, at %u: %llu became %llu\n", plan->name,
             (unsigned)spot->field, (unsigned)spot->table, (unsigned)spot->at, (unsigned long long)before,
             (unsigned long long)value);
    memcpy(header, plan->file, sizeof header);
    spots_store(flatbuffers, spot, value);
    if (firn_fb_verify(flatbuffers, compiled_plan_header(plan).flatbuffers_bytes) == FIRN_OK)
        compiled_plan_fit_header(plan);
    count(sign_and_run(plan, number % 16 == 0));
    spots_store(flatbuffers, spot, before);
    memcpy(plan->file, header, sizeof header);
}

/* Tries every `stride`th variant at each spot, starting with a different variant at each one. */
static void change_every_field(int which, uint32_t stride) {
    compiled_plan plan;
    expand(&plan, &plans[which]);
    const uint8_t *flatbuffers = plan.file + FIRN_PAYLOAD_OFFSET;
    uint32_t spots_count = spots_find(flatbuffers, NULL, 0), number = 0;
    spot *spots = calloc(spots_count, sizeof *spots);
    assert_non_null(spots);
    spots_find(flatbuffers, spots, spots_count);
    for (uint32_t i = 0; i < spots_count; i++) {
        uint64_t value = spots_load(flatbuffers, &spots[i]), changed = value;
        uint32_t variants = spots_variant(&spots[i], value, UINT32_MAX, &changed);
        for (uint32_t v = variants == 1 ? 0 : i % stride; v < variants; v += stride) {
            spots_variant(&spots[i], value, v, &changed);
            if (changed != value && support_takes_next())
                try_change(&plan, &spots[i], changed, number++);
        }
    }
    printf("%s: %u values of %u bytes; ", plan.name, (unsigned)spots_count,
           (unsigned)compiled_plan_header(&plan).flatbuffers_bytes);
    free(spots);
    compiled_plan_free(&plan);
    print_runs("fields set to what nobody would write");
}

TEST(every_field) {
    change_every_field(MLP_EVAL, 1);
    change_every_field(MLP_TRAIN, 2);
    change_every_field(GPT2_EVAL, 2);
    change_every_field(GPT2_TRAIN, 19);
    change_every_field(GPT2_SCALED, 19);
}

/* --- one error per fault ------------------------------------------------------------------------------------------ */

/* The version decides, not the schema that the writer had. */
static void another_schema(compiled_plan *plan) {
    firn_header header = compiled_plan_header(plan);
    header.schema_hash[31] ^= 0x80;
    compiled_plan_set_header(plan, &header);
    compiled_plan_sign(plan);
}

/* A header with a version that this build refuses cannot be decoded any more, so the signature comes last. */
static void set_version(compiled_plan *plan, uint32_t major, uint32_t minor) {
    firn_header header = compiled_plan_header(plan);
    header.format_major = major;
    header.needs_minor = minor;
    compiled_plan_set_header(plan, &header);
    compiled_plan_sign_bytes(plan, false);
}

static void wrong_major(compiled_plan *plan) {
    set_version(plan, FIRN_FORMAT_MAJOR + 1, 0);
}

static void wrong_minor(compiled_plan *plan) {
    set_version(plan, FIRN_FORMAT_MAJOR, FIRN_FORMAT_MINOR + 1);
}

/* numerics_version is field 0 of the root table. */
static void wrong_numerics(compiled_plan *plan) {
    uint32_t bytes = 0;
    uint8_t *expanded =
        spots_expand(plan->file + FIRN_PAYLOAD_OFFSET, (uint32_t)compiled_plan_header(plan).flatbuffers_bytes, &bytes);
    spot first;
    spots_find(expanded, &first, 1);
    assert_int_equal(spots_load(expanded, &first), FIRN_NUMERICS_VERSION);
    spots_store(expanded, &first, FIRN_NUMERICS_VERSION + 1);
    compiled_plan_replace(plan, expanded, bytes);
    free(expanded);
    compiled_plan_sign(plan);
}

static int status_after(const compiled_plan *plan, void (*change)(compiled_plan *plan)) {
    compiled_plan copy;
    compiled_plan_copy(&copy, plan);
    change(&copy);
    int status = open_error(&copy);
    compiled_plan_free(&copy);
    return status;
}

TEST(below_the_stored_counter) {
    for (int i = 0; i < PLANS; i++) {
        compiled_run run;
        assert_int_equal(compiled_run_open(&run, &plans[i], 6), FIRN_ERROR_SECURITY_COUNTER);
        compiled_run_close(&run);
        assert_int_equal(compiled_run_open(&run, &plans[i], 4), FIRN_OK);
        assert_int_equal(run.port.counter, 4); /* it advances when the plan is confirmed */
        compiled_run_close(&run);
    }
}

TEST(another_version_or_numerics) {
    for (int i = 0; i < PLANS; i++) {
        assert_int_equal(status_after(&plans[i], another_schema), FIRN_OK);
        assert_int_equal(status_after(&plans[i], wrong_major), FIRN_ERROR_FORMAT_VERSION);
        assert_int_equal(status_after(&plans[i], wrong_minor), FIRN_ERROR_FORMAT_VERSION);
        assert_int_equal(status_after(&plans[i], wrong_numerics), FIRN_ERROR_NUMERICS_VERSION);
    }
}

/* Restores a checkpoint of each train plan in every plan: the same run resumes, an eval plan of the same model is
 * evaluated, every other one is refused. */
TEST(checkpoints_of_other_plans) {
    static const int expected[2][PLANS] = {{FIRN_OK, FIRN_ERROR_CHECKPOINT_OTHER_RUN, FIRN_OK,
                                            FIRN_ERROR_CHECKPOINT_OTHER_RUN, FIRN_ERROR_CHECKPOINT_OTHER_MODEL},
                                           {FIRN_ERROR_CHECKPOINT_OTHER_RUN, FIRN_ERROR_CHECKPOINT_OTHER_RUN,
                                            FIRN_ERROR_CHECKPOINT_OTHER_MODEL, FIRN_OK, FIRN_OK}};
    static const int writers[2] = {GPT2_TRAIN, MLP_TRAIN};
    for (int i = 0; i < 2; i++) {
        compiled_run writer, reader;
        assert_int_equal(compiled_run_open(&writer, &plans[writers[i]], 0), FIRN_OK);
        assert_int_equal(compiled_run_steps(&writer), FIRN_OK);
        for (int j = 0; j < PLANS; j++) {
            uint64_t steps;
            assert_int_equal(compiled_run_open(&reader, &plans[j], 0), FIRN_OK);
            compiled_port own = reader.port;
            reader.port.record = writer.port.record;
            reader.port.stored = writer.port.stored;
            assert_int_equal(firn_restore(&reader.firn, NULL), expected[i][j]);
            assert_int_equal(firn_progress(&reader.firn, &steps),
                             expected[i][j] == FIRN_OK ? FIRN_OK : FIRN_ERROR_NO_STATE);
            reader.port.record = own.record;
            compiled_run_close(&reader);
        }
        compiled_run_close(&writer);
    }
}

TEST(the_other_mode_and_a_second_plan) {
    for (int i = 0; i < PLANS; i++) {
        compiled_run run;
        firn_step_report report;
        firn_info info;
        assert_int_equal(compiled_run_open(&run, &plans[i], 0), FIRN_OK);
        assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
        assert_int_equal(firn_describe(&run.firn, &info), FIRN_OK);
        assert_int_equal(info.eval ? firn_train_step(&run.firn, compiled_source(&run), &report)
                                   : firn_eval_step(&run.firn, compiled_source(&run)),
                         FIRN_ERROR_WRONG_MODE);
        for (int j = 0; j < PLANS; j++) {
            const firn_config other = {.plan = plans[j].file, .plan_bytes = plans[j].bytes, .public_key = compiled_key};
            assert_int_equal(firn_open(&run.firn, &other), FIRN_ERROR_ALREADY_PROGRAMMED);
        }
        compiled_run_close(&run);
    }
}

/* --- plans for the command line ----------------------------------------------------------------------------------- */

static bool write_file(const char *folder, const char *name, const void *bytes, size_t count_of_bytes) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    bool good = file != NULL && fwrite(bytes, 1, count_of_bytes, file) == count_of_bytes;
    return file != NULL && fclose(file) == 0 && good;
}

static bool write_changed(const char *folder, const char *name, void (*change)(compiled_plan *plan)) {
    compiled_plan copy;
    compiled_plan_copy(&copy, &plans[GPT2_TRAIN]);
    if (change != NULL)
        change(&copy);
    bool good = write_file(folder, name, copy.file, (size_t)copy.bytes);
    compiled_plan_free(&copy);
    return good;
}

static int forge(const char *folder) {
    make_plans();
    firnc_bytes key = compiled_key_pem();
    bool good = write_file(folder, "forged.pub.pem", key.data, (size_t)key.count) &&
                write_changed(folder, "forged.plan", NULL) && write_changed(folder, "numerics.plan", wrong_numerics);
    free_plans();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "forge") == 0)
        return forge(argv[2]);
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(say_what);
    return support_test_run();
}
