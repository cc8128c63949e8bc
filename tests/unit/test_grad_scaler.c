/* Tests the gradient scaler against the model of its rules in tests/golden/grad_scaler.py: for scripted sequences of
 * finite and overflowing gradients, every counter after every step, the tensors that a skipped step must not change,
 * and the same after a restore in the middle. */
#include <stdlib.h>
#include <string.h>

#include "compiler/base/text.h"
#include "plan/errors.h"
#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

typedef struct expected_step {
    bool overflow;
    float used, after; /* the loss scale used in the step, and the one after it */
    int64_t steps, overflows, skipped, optimizer_steps;
    float learning_rate;
    bool fatal;
} expected_step;

typedef struct sequence {
    const char *name, *settings;
    uint32_t first; /* index of its first step */
} sequence;

enum { STEPS_MAX = 1024, SEQUENCES_MAX = 64 };
static expected_step steps[STEPS_MAX];
static sequence sequences[SEQUENCES_MAX + 1];
static uint32_t step_count, sequence_count;

static void begin_sequence(const char *name, const char *settings) {
    assert_true(sequence_count < SEQUENCES_MAX);
    sequences[sequence_count++] = (sequence){name, settings, step_count};
}

static void expect_step(expected_step step) {
    assert_true(step_count < STEPS_MAX);
    steps[step_count++] = step;
}

BEFORE_ALL {
#define SCALER_SEQUENCE(name, settings) begin_sequence(name, settings);
#define SCALER_STEP(...)                expect_step((expected_step){__VA_ARGS__});
#include "tests/golden/grad_scaler.def"
#undef SCALER_SEQUENCE
#undef SCALER_STEP
    sequences[sequence_count].first = step_count;
}

/* --- the data: one record a step ---------------------------------------------------------------------------------- */

/* A feature of 60,000 overflows float16 at any scale; squared and scaled it also overflows float32. The other feature
 * gives a gradient that stays in range at all scales used here. */
static int read_records(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const expected_step *script = context;
    for (uint32_t i = 0; i < count; i++) {
        const bool overflow = script[first + i].overflow;
        const float value = stream == 0 ? (overflow ? 3e38f : 0x1p-20f) : (overflow ? -3e38f : 0.25f);
        memcpy((uint8_t *)elements + i * sizeof value, &value, sizeof value);
    }
    return 0;
}

static firn_source source_of(expected_step *script, uint32_t count, firn_segment *segment, firn_stream streams[2]) {
    enum { FLOAT32 = 0 };
    *segment = (firn_segment){count};
    for (uint32_t i = 0; i < 2; i++)
        streams[i] = (firn_stream){FLOAT32, 1, segment, 1};
    return (firn_source){.context = script, .streams = streams, .stream_count = 2, .read = read_records};
}

/* --- the plans ---------------------------------------------------------------------------------------------------- */

static void make_plan(compiled_plan *plan, const char *settings) {
    const char *list[16];
    uint32_t count = 0;
    const char *text = settings;
    while (*text != '\0') {
        const size_t length = strcspn(text, " ");
        list[count++] = firnc_format("trainer.init.precision.%.*s", (int)length, text);
        text += length + (text[length] == ' ');
    }
    compiled_plan_make(plan, "tests/golden/grad_scaler.yaml", FIRNC_TRAIN, list, count);
}

static bool has_tensor(const firn *firn, const char *name) {
    firn_tensor_info info;
    for (uint32_t i = 0; firn_tensor_at(firn, i, &info) == FIRN_OK; i++)
        if (strcmp(info.name, name) == 0)
            return true;
    return false;
}

static int64_t counter_of(const firn *firn, const char *name) {
    int64_t value;
    memcpy(&value, support_tensor(firn, name).data, sizeof value);
    return value;
}

static float scale_of(const firn *firn) {
    float value;
    memcpy(&value, support_tensor(firn, "scaler.loss_scale").data, sizeof value);
    return value;
}

/* The tensors that a skipped step must not change: both parameters and their optimizer states. */
enum { KEPT = 4 };
static void copy_kept(const firn *firn, uint32_t kept[KEPT]) {
    static const char *const names[KEPT] = {"layers.0.weight", "layers.0.bias",
                                            "optimizer.momentum_buffer.layers.0.weight",
                                            "optimizer.momentum_buffer.layers.0.bias"};
    for (uint32_t i = 0; i < KEPT; i++)
        memcpy(&kept[i], support_tensor(firn, names[i]).data, sizeof kept[i]);
}

/* --- the tests ---------------------------------------------------------------------------------------------------- */

static void check_step(compiled_run *run, const sequence *s, uint32_t number, const firn_source *source) {
    const expected_step *expected = &steps[s->first + number];
    const bool dynamic = has_tensor(&run->firn, "scaler.num_skipped_steps");
    uint32_t before[KEPT], after[KEPT];
    firn_step_report report;
    copy_kept(&run->firn, before);
    const int status = firn_train_step(&run->firn, source, &report);
    copy_kept(&run->firn, after);
    const bool skipped = dynamic && expected->overflow;
    if (status != (expected->fatal ? FIRN_ERROR_LOSS_SCALE_FLOOR : FIRN_OK) || report.skipped != skipped ||
        report.loss_scale != expected->used || report.learning_rate != expected->learning_rate ||
        report.optimizer_step != (uint64_t)expected->optimizer_steps || report.global_step != number + 1)
        fail_msg("%s, step %u: status %d, skipped %d, scale %g, rate %g, optimizer step %llu", s->name,
                 (unsigned)number, status, report.skipped, (double)report.loss_scale, (double)report.learning_rate,
                 (unsigned long long)report.optimizer_step);
    const bool lost = (before[0] & 0x7fffffffu) > 0x7f800000u; /* NaN: an overflow reached the parameters in an earlier
                                                                * step */
    if (!lost && (memcmp(before, after, sizeof before) == 0) != skipped)
        fail_msg("%s, step %u: parameters and momentum %s", s->name, (unsigned)number,
                 skipped ? "changed" : "did not change");
    if (!dynamic)
        return;
    if (scale_of(&run->firn) != expected->after ||
        counter_of(&run->firn, "scaler.steps_since_rescale") != expected->steps ||
        counter_of(&run->firn, "scaler.overflows_since_rescale") != expected->overflows ||
        counter_of(&run->firn, "scaler.num_skipped_steps") != expected->skipped)
        fail_msg("%s, step %u: after it scale %g, steps %lld, overflows %lld, skipped %lld", s->name, (unsigned)number,
                 (double)scale_of(&run->firn), (long long)counter_of(&run->firn, "scaler.steps_since_rescale"),
                 (long long)counter_of(&run->firn, "scaler.overflows_since_rescale"),
                 (long long)counter_of(&run->firn, "scaler.num_skipped_steps"));
}

/* Continues in another instance, which has not executed the earlier steps. */
static void change_instance(compiled_run *from, compiled_run *to, const compiled_plan *plan) {
    assert_int_equal(firn_save(&from->firn), FIRN_OK);
    assert_int_equal(compiled_run_open(to, plan, 0), FIRN_OK);
    to->port.record = from->port.record;
    to->port.stored = to->port.capacity = from->port.stored;
    from->port.record = NULL;
    assert_int_equal(firn_restore(&to->firn, NULL), FIRN_OK);
    compiled_run_close(from);
}

static void run_sequence(const sequence *s, bool change) {
    const uint32_t count = s[1].first - s->first;
    firn_segment segment;
    firn_stream streams[2];
    const firn_source source = source_of(&steps[s->first], count, &segment, streams);
    compiled_plan plan;
    compiled_run runs[2], *run = &runs[0];
    make_plan(&plan, s->settings);
    assert_int_equal(compiled_run_open(run, &plan, 0), FIRN_OK);
    assert_int_equal(firn_initialise(&run->firn), FIRN_OK);
    for (uint32_t i = 0; i < count; i++) {
        if (change && i == count / 2) {
            change_instance(run, &runs[1], &plan);
            run = &runs[1];
        }
        check_step(run, s, i, &source);
    }
    compiled_run_close(run);
    compiled_plan_free(&plan);
}

TEST(follows_the_rules) {
    assert_true(sequence_count >= 30);
    for (uint32_t i = 0; i < sequence_count; i++)
        run_sequence(&sequences[i], false);
}

TEST(follows_them_after_a_restore) {
    for (uint32_t i = 0; i < sequence_count; i++)
        run_sequence(&sequences[i], true);
}
