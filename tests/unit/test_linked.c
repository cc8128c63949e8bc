/* Tests what a build is found to lack: with each part taken out of the tables of a build that has everything, the plan
 * that needs the part is the only one that is not linked. */
#include <string.h>

#include "runtime/instance.h"
#include "runtime/parts.h"
#include "tests/unit/support_signed_plans.h"

/* --- linked.c with tables that can be changed, on a core without vectors --- */

static firn_initialise_rule rules[FIRN_INITIALISE_RULES];
static const firn_half_part *halves[FIRN_HALF_TYPES], *const *half_table;
static firn_metric_part metrics[FIRN_METRIC_KINDS], *metric_table;
static firn_task_body tiles;
static firn_product_part product_flushed;
static const firn_sums_part *sums_flushed;
static const firn_windows_part *windows;
static firn_data_part_rule data_part;
static firn_weights_rule initial_weights;

bool injected_is_linked(const firn_instance *instance);

#define firn_instance_is_linked injected_is_linked
#define firn_initialise_rules   rules
#define firn_half_parts         half_table
#define firn_metric_parts       metric_table
#define firn_linear_in_tiles    tiles
#define firn_product_flushed    product_flushed
#define firn_sums_flushed       sums_flushed
#define firn_windows            windows
#define firn_data_part          data_part
#define firn_initial_weights    initial_weights
#undef FIRN_VECTORS
#define FIRN_VECTORS 0
#include "runtime/linked.c"
#include "tests/unit/support_test.h"
#undef firn_instance_is_linked
#undef firn_initialise_rules
#undef firn_half_parts
#undef firn_metric_parts
#undef firn_linear_in_tiles
#undef firn_product_flushed
#undef firn_sums_flushed
#undef firn_windows
#undef firn_data_part
#undef firn_initial_weights

static void take_everything(void) {
    memcpy(rules, firn_initialise_rules, sizeof rules);
    memcpy(halves, firn_half_parts, sizeof halves);
    memcpy(metrics, firn_metric_parts, sizeof metrics);
    half_table = halves;
    metric_table = metrics;
    tiles = firn_linear_in_tiles;
    product_flushed = firn_product_flushed;
    sums_flushed = firn_sums_flushed;
    windows = firn_windows;
    data_part = firn_data_part;
    initial_weights = firn_initial_weights;
}

BEFORE_EACH {
    take_everything();
}

/* --- plans --- */

static signed_plan_settings settings_with(void (*change)(firn_native_plan *plan)) {
    signed_plan_settings settings = support_settings;
    settings.change = change;
    return settings;
}

static bool links(const signed_plan *plan) {
    const firn_instance instance = {.plan = firn_fb_plan_root(plan->file + FIRN_PAYLOAD_OFFSET)};
    return injected_is_linked(&instance);
}

static bool trains(const signed_plan_settings *settings) {
    signed_plan plan;
    support_bigram(&plan, settings);
    return links(&plan);
}

static void truncate_a_parameter(firn_native_plan *plan) {
    firn_native_initialiser *initialiser = (firn_native_initialiser *)(uintptr_t)plan->initialisers;
    while (initialiser->rule != FIRN_FB_INITIALISER_RULE_NORMAL)
        initialiser++;
    initialiser->rule = FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL;
    initialiser->high = 1;
}

TEST(a_missing_initialiser_is_found) {
    signed_plan_settings normal = support_settings, uniform = support_settings;
    normal.uniform = false;
    uniform.uniform = true;
    assert_true(trains(&normal) && trains(&uniform));
    rules[FIRN_FB_INITIALISER_RULE_NORMAL - 1] = NULL;
    assert_false(trains(&normal));
    assert_true(trains(&uniform));
    rules[FIRN_FB_INITIALISER_RULE_UNIFORM - 1] = NULL;
    assert_false(trains(&uniform));
    signed_plan_settings truncated = settings_with(truncate_a_parameter);
    truncated.uniform = false;
    rules[FIRN_FB_INITIALISER_RULE_NORMAL - 1] = firn_initialise_normal;
    assert_true(trains(&truncated));
    rules[FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL - 1] = NULL;
    assert_false(trains(&truncated));
    assert_true(trains(&normal));
}

static uint8_t half_type;

static void give_a_tensor_the_type(firn_native_plan *plan) {
    ((firn_native_tensor *)(uintptr_t)plan->tensors)[0].type = half_type;
}

static void give_weights_the_type(firn_native_plan *plan) {
    firn_native_initialiser *first = (firn_native_initialiser *)(uintptr_t)plan->initialisers;
    first->rule = FIRN_FB_INITIALISER_RULE_WEIGHTS;
    first->element = half_type;
}

TEST(a_missing_half_type_is_found) {
    static void (*const changes[])(firn_native_plan *) = {give_a_tensor_the_type, give_weights_the_type};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        for (half_type = FIRN_FLOAT16; half_type <= FIRN_CBFLOAT16; half_type++) {
            const signed_plan_settings changed = settings_with(changes[i]);
            take_everything();
            assert_true(trains(&changed));
            halves[half_type - FIRN_FLOAT16] = NULL;
            assert_false(trains(&changed));
            assert_true(trains(&support_settings));
            take_everything();
            half_table = NULL;
            assert_false(trains(&changed));
            assert_true(trains(&support_settings));
        }
}

TEST(a_missing_metric_is_found) {
    signed_plan_settings settings = support_settings;
    signed_plan plan;
    settings.metric = FIRN_FB_METRIC_KIND_PERPLEXITY;
    support_bigram_eval(&plan, &settings);
    assert_true(links(&plan));
    metrics[FIRN_FB_METRIC_KIND_PERPLEXITY] = NULL;
    assert_false(links(&plan));
    assert_true(trains(&support_settings));
    take_everything();
    metric_table = NULL;
    assert_false(links(&plan));
    assert_true(trains(&support_settings));
}

TEST(missing_tiles_are_found) {
    signed_plan plan;
    support_classifier(&plan, &support_settings);
    tiles = NULL;
    assert_true(links(&plan));
    half_type = FIRN_BFLOAT16;
    const signed_plan_settings changed = settings_with(give_a_tensor_the_type);
    assert_false(trains(&changed));
}

static uint8_t reduction_kind;
static bool are_convolutions;

static void sum_by_the_kind(firn_native_plan *plan) {
    for (uint32_t p = 0; p < plan->phases_count; p++)
        for (uint32_t i = 0; i < plan->phases[p].ops_count; i++)
            if (plan->phases[p].ops[i].reductions_count != 0) {
                firn_native_op *op = (firn_native_op *)(uintptr_t)&plan->phases[p].ops[i];
                ((firn_fb_reduction *)(uintptr_t)op->reductions)[0].kind = reduction_kind;
                op->code = are_convolutions ? FIRN_OP_conv_backward_weight : op->code;
            }
}

TEST(missing_tiles_of_chunks_are_found) {
    signed_plan plan;
    const signed_plan_settings changed = settings_with(sum_by_the_kind);
    reduction_kind = FIRN_FB_REDUCTION_KIND_CHUNKED;
    support_classifier(&plan, &changed);
    assert_true(links(&plan));
    product_flushed = NULL;
    assert_true(links(&plan));
    tiles = NULL;
    assert_false(links(&plan));
}

TEST(missing_flushed_sums_are_found) {
    signed_plan plan;
    const signed_plan_settings changed = settings_with(sum_by_the_kind);
    for (int i = 0; i < 4; i++) {
        reduction_kind = i % 2 != 0 ? FIRN_FB_REDUCTION_KIND_EVEN_ODD_BLOCKS : FIRN_FB_REDUCTION_KIND_PAIRS;
        are_convolutions = i / 2 != 0;
        support_classifier(&plan, &changed);
        for (int without = 0; without < 2; without++) {
            take_everything();
            assert_true(links(&plan));
            if (without == 0)
                product_flushed = NULL;
            else
                sums_flushed = NULL;
            assert_int_equal(links(&plan), without == 0 ? are_convolutions : !are_convolutions);
        }
    }
    are_convolutions = false;
}

TEST(missing_weights_are_found) {
    half_type = FIRN_FLOAT32;
    const signed_plan_settings changed = settings_with(give_weights_the_type);
    assert_true(trains(&changed));
    initial_weights = NULL;
    assert_false(trains(&changed));
    assert_true(trains(&support_settings));
}

/* The bigram samples windows, the classifier records. */
TEST(missing_windows_are_found) {
    signed_plan plan;
    support_classifier(&plan, &support_settings);
    windows = NULL;
    assert_true(links(&plan));
    assert_false(trains(&support_settings));
}

TEST(a_missing_part_of_the_data_is_found) {
    signed_plan_settings settings = support_settings;
    settings.held_out_per_mille = 100;
    for (uint8_t part = FIRN_FB_DATA_PART_ALL; part <= FIRN_FB_DATA_PART_HELD_OUT; part++) {
        take_everything();
        settings.part = part;
        assert_true(trains(&settings));
        data_part = firn_all_data;
        assert_int_equal(trains(&settings), part == FIRN_FB_DATA_PART_ALL);
    }
}
