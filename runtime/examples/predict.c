/* An example of libfirn on a workstation, of a device that learns while it works: it pushes each sample that it
 * measures, trains on the newest ones after every eighth, and asks the network before it learns the answer. Both plans
 * use the same parameters in memory. The plans are of compiler/recipes/device_mlp.yaml. Usage: predict TRAIN-PLAN
 * EVAL-PLAN PUBLIC-KEY SAMPLES */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/firn.h"
#include "runtime/targets/host/host.h"

enum { FEATURES = 64, CLASSES = 10, BATCH = 8 };

/* --- what the device measures --- */

static uint8_t features[FEATURES], label;

/* A bump at a place that says the class, and noise. */
static void measure(void) {
    static uint32_t noise = 1;
    noise = noise * 1664525u + 1013904223u;
    label = (uint8_t)((noise >> 16) % CLASSES);
    for (uint32_t i = 0; i < FEATURES; i++) {
        noise = noise * 1664525u + 1013904223u;
        const bool near = i / 6 == label;
        features[i] = (uint8_t)((noise >> 24) / 2 + (near ? 100 : 0));
    }
}

/* The source of the eval plan: the one sample that was measured last. */
static int read_features(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    (void)context;
    (void)stream;
    memcpy(elements, features + first, count);
    return FIRN_OK;
}

static const firn_segment segment = {FEATURES};
static const firn_stream stream = {FIRN_UINT8, FEATURES, &segment, 1};
static const firn_source source = {NULL, &stream, 1, read_features};

/* --- the two instances --- */

static firn training, predicting;

/* Opens a plan. The caller provides all memory; the parameters of an owner are used where they are. */
static int open_plan(firn *instance, const char *path, const uint8_t key[64], const firn *owner) {
    firn_host_plan plan; /* stays mapped until the program ends */
    firn_host_blocks blocks;
    firn_sizes sizes;
    if (!firn_host_plan_load(&plan, path))
        return FIRN_ERROR_TRUNCATED;
    firn_config config = {.plan = plan.bytes, .plan_bytes = plan.count, .public_key = key, .owner = owner};
    int error = firn_plan_sizes(config.plan, config.plan_bytes, &sizes);
    for (uint32_t i = 0; owner != NULL && i < sizes.block_count; i++)
        if (sizes.blocks[i].kind == FIRN_REGION_PARAMETERS)
            sizes.blocks[i].bytes = 0;
    if (error == FIRN_OK && firn_host_blocks_begin(&blocks, &sizes)) {
        config.blocks = blocks.list;
        config.block_count = blocks.count;
    }
    if (error == FIRN_OK)
        error = firn_workspace_bytes(&config, &config.workspace_bytes);
    config.workspace = firn_host_block(config.workspace_bytes);
    return error == FIRN_OK ? firn_open(instance, &config) : error;
}

/* Asks the network what the last sample is. */
static int predict(uint32_t *class) {
    firn_tensor_info output;
    int error = firn_initialise(&predicting); /* begins at the first sample of the source; the parameters stay */
    if (error == FIRN_OK)
        error = firn_eval_step(&predicting, &source);
    if (error == FIRN_OK)
        error = firn_output(&predicting, "logits", &output);
    if (error != FIRN_OK)
        return error;
    const float *logits = output.data; /* until the next prediction; training leaves it alone */
    *class = 0;
    for (uint32_t i = 1; i < CLASSES; i++)
        if (logits[i] > logits[*class])
            *class = i;
    return FIRN_OK;
}

static int learn(uint64_t samples) {
    const void *const pushed[] = {features, &label};
    firn_step_report report;
    uint32_t class, right = 0;
    int error = firn_initialise(&training);
    for (uint64_t n = 1; error == FIRN_OK && n <= samples; n++) {
        measure();
        error = predict(&class);
        right += error == FIRN_OK && class == label;
        if (error == FIRN_OK)
            error = firn_push(&training, pushed, 2, 1);
        if (error == FIRN_OK && n % BATCH == 0)
            error = firn_train_step(&training, NULL, &report);
        if (n % 400 == 0) {
            printf("samples %llu: %lu of the last 400 were right\n", (unsigned long long)n, (unsigned long)right);
            right = 0;
        }
    }
    return error;
}

int main(int count, char **words) {
    uint8_t key[64];
    if (count != 5) {
        fprintf(stderr, "usage: predict TRAIN-PLAN EVAL-PLAN PUBLIC-KEY SAMPLES\n");
        return 2;
    }
    firn_host_messages_to(firn_host_print_message, NULL);
    if (!firn_host_key_load(key, words[3]))
        return 1;
    int error = open_plan(&training, words[1], key, NULL);
    if (error == FIRN_OK)
        error = open_plan(&predicting, words[2], key, &training);
    if (error == FIRN_OK)
        error = learn(strtoull(words[4], NULL, 10));
    if (error != FIRN_OK)
        fprintf(stderr, "predict: %s\n", firn_error_text(error));
    return error != FIRN_OK;
}
