/* Writes a train plan with attention as it is written out: products of batches with factors that are turned in every
 * way, softmax, attention with a mask, sums and maxima along dimensions, forward and backward. No recipe has these ops.
 * Features are the bytes of a record, STEPS rows of WIDTH; targets ten float32 numbers. For bits.sh, engine_bits.sh
 * and second_runtime.sh.
 *
 *     sums_plan KEY PLAN STEPS WIDTH UNITS TYPE LEVEL [TARGET]
 *
 * TYPE: float32 or a half type. LEVEL: the POL, emulated, or as TARGET lowers it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/firnc.h"
#include "plan/op_words.h"

enum { TARGETS = 10, BATCH = 8, MICRO_BATCH = 4 };

static bool set_precision(firnc_job *job, const char *type, int level, const char *target) {
    firnc_mixed_precision keys = firnc_mixed_precision_defaults();
    firnc_precision_fault fault;
    keys.enabled = strcmp(type, "float32") != 0;
    keys.precision_opt_level = level;
    keys.emulate = target == NULL;
    if (target != NULL) { /* the last bits of sums are seen in the state: in gradients that are kept in float32 */
        job->target = target;
        job->optimizer.momentum = 0.5f;
        keys.float32_gradients = true;
    }
    for (int half = FIRN_FLOAT16; half <= FIRN_CBFLOAT16; half++)
        if (strcmp(firn_type_name((uint8_t)half), type) == 0)
            keys.fp16_type = (firn_type)half;
    if (keys.fp16_type != FIRN_BFLOAT16)
        keys.loss_scaling_factor = FIRNC_DYNAMIC;
    return firnc_mixed_precision_complete(&keys, &job->precision, &fault);
}

/* y = x W^T; initial weights are such that products stay moderate */
static firnc_value dense(firnc_graph *graph, const char *name, firnc_value x, uint32_t in, uint32_t out) {
    const float bound = 2.0f / (float)(in + 4);
    const firnc_init init = {.rule = FIRNC_INIT_UNIFORM, .a = -bound, .b = bound};
    firnc_value weight = firnc_parameter(graph, name, 2, (uint32_t[]){out, in}, init, true);
    firnc_layer_begin(graph, name);
    firnc_value y = firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    return y;
}

/* Attention of the rows of q to those of another matrix, [units, units], some of which a mask hides. */
static firnc_value crossed(firnc_graph *graph, firnc_value q, firnc_value other, uint32_t steps, uint32_t units) {
    const uint32_t dims[] = {1, 1, steps, units};
    float *hidden = calloc((size_t)steps * units, sizeof *hidden);
    for (uint32_t i = 0; i < steps * units; i++)
        hidden[i] = i % 5 == 1 ? -1e9f : i % 7 == 0 ? 0.25f : 0.0f;
    const firnc_value mask = firnc_constant(graph, "mask", FIRN_FLOAT32, 4, dims, hidden);
    const firnc_attention_options options = {.heads = 1, .kv_heads = 1, .scale = 0.5f, .dropout_rate = 0.125f};
    free(hidden);
    return firnc_cross_attention(graph, q, other, other, mask, options);
}

static firnc_graph *network(uint32_t steps, uint32_t width, uint32_t units) {
    enum { FIRST = 1, MIDDLE = 2, LAST = 4 }; /* bits of axes */
    firnc_graph *graph = firnc_graph_create("written_out");
    const firnc_input_options bytes = {.element = FIRN_UINT8, .scaled = true, .scale = 1.0f / 128, .shift = -0.5f};
    const firnc_input_options numbers = {.stream = 1, .element = FIRN_FLOAT32};
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 3, (uint32_t[]){MICRO_BATCH, steps, width}, bytes);
    firnc_value target = firnc_input(graph, "target", FIRN_FLOAT32, 2, (uint32_t[]){MICRO_BATCH, TARGETS}, numbers);
    firnc_value q = dense(graph, "q", x, width, units), k = dense(graph, "k", x, width, units);
    firnc_value v = dense(graph, "v", x, width, units), w = dense(graph, "w", x, width, units);
    firnc_value p = firnc_softmax(graph, firnc_matmul(graph, q, k, false, true));
    firnc_value y = firnc_matmul(graph, p, v, false, false);
    firnc_value turned = firnc_matmul(graph, y, p, true, true);                /* [units, steps] */
    turned = firnc_matmul(graph, w, firnc_softmax(graph, turned), true, true); /* [units, units] */
    y = firnc_add(graph, y, crossed(graph, q, turned, steps, units));
    firnc_value rows = firnc_matmul(graph, v, turned, false, false); /* [steps, units] */
    firnc_value all = firnc_reduce_sum(graph, firnc_reduce_max(graph, rows, FIRST | LAST, true), LAST, false);
    firnc_value sum = firnc_reduce_sum(graph, y, MIDDLE, false);
    sum = firnc_add(graph, sum, firnc_reduce_max(graph, rows, MIDDLE, false));
    sum = firnc_add(graph, sum, firnc_reduce_sum(graph, turned, LAST, false));
    sum = firnc_add(graph, dense(graph, "of_sum", firnc_tanh(graph, sum), units, TARGETS),
                    firnc_reduce_sum(graph, dense(graph, "of_all", all, steps, TARGETS), FIRST, false));
    firnc_loss(graph, firnc_mean_squared_error(graph, sum, target));
    return graph;
}

int main(int argc, char **argv) {
    static firnc_job job;
    firnc_key key;
    firnc_frozen plan;
    uint32_t given[3]; /* steps, width, units */
    if ((argc != 8 && argc != 9) || !firnc_key_read(argv[1], &key))
        return 2;
    for (int i = 0; i < 3; i++)
        given[i] = (uint32_t)atoi(argv[3 + i]);
    firnc_job_defaults(&job, FIRNC_TRAIN);
    job.steps = 100;
    job.data.batch_size = BATCH;
    job.data.micro_batch_size = MICRO_BATCH;
    firnc_job_learning_rate(&job, 0.01);
    if (!set_precision(&job, argv[6], atoi(argv[7]), argv[8]))
        return 2;
    if (!firnc_freeze_plan(network(given[0], given[1], given[2]), &job, &key, NULL, &plan))
        return 1;
    firnc_wipe(&key, sizeof key);
    FILE *file = fopen(argv[2], "wb");
    if (file == NULL || fwrite(plan.file.data, 1, (size_t)plan.file.count, file) != plan.file.count)
        return 1;
    return fclose(file) == 0 ? 0 : 1;
}
