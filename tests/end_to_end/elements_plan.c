/* Freezes a plan that trains a network of elementwise ops, which no recipe describes: all of them, with operands that
 * are repeated along several dimensions, and their gradients. Compiled and run by elements.sh.
 *
 *     elements_plan SECRET-KEY PLAN float32|float16|bfloat16|cbfloat16 */
#include <stdio.h>
#include <string.h>

#include "compiler/firnc.h"

enum { SAMPLES = 8, HEIGHT = 7, WIDTH = 7 };

static firnc_value parameter(firnc_graph *graph, const char *name, uint8_t rank, const uint32_t *dims) {
    const firnc_init init = {.rule = FIRNC_INIT_UNIFORM, .a = -0.7f, .b = 0.7f};
    return firnc_parameter(graph, name, rank, dims, init, true);
}

/* Ops of two operands: h [SAMPLES,HEIGHT,WIDTH] with parameters that are repeated along it, and these with each other.
 */
static firnc_value crossed(firnc_graph *graph, firnc_value h) {
    firnc_value column = parameter(graph, "column", 2, (uint32_t[]){HEIGHT, 1});
    firnc_value row = parameter(graph, "row", 1, (uint32_t[]){WIDTH});
    firnc_value depth = parameter(graph, "depth", 3, (uint32_t[]){SAMPLES, 1, 1});
    firnc_value scalar = parameter(graph, "scalar", 1, (uint32_t[]){1});
    firnc_value plane = parameter(graph, "plane", 3, (uint32_t[]){SAMPLES, 1, WIDTH});
    firnc_value ratio = firnc_divide(graph, firnc_subtract(graph, plane, column), firnc_exp(graph, row));
    firnc_value high = firnc_maximum(graph, firnc_multiply(graph, ratio, depth), h);
    firnc_value near = firnc_minimum(graph, firnc_add(graph, high, scalar), firnc_affine(graph, plane, -0.5f, 1));
    firnc_value other = firnc_leaky_relu(graph, firnc_add(graph, column, firnc_multiply(graph, row, depth)), 0.125f);
    firnc_value chosen = firnc_select(graph, firnc_less(graph, near, column), firnc_elu(graph, near, 1.25f), other);
    firnc_value masked = firnc_select(graph, firnc_less_or_equal(graph, row, near), chosen, FIRNC_NONE);
    firnc_value rest = firnc_select(graph, firnc_less_or_equal(graph, row, near), FIRNC_NONE, h);
    firnc_value base = firnc_affine(graph, firnc_abs(graph, firnc_subtract(graph, masked, rest)), 1, 0.125f);
    return firnc_power(graph, base, firnc_affine(graph, depth, 1, 1.5f));
}

/* Ops of one operand, and integers. */
static firnc_value bent(firnc_graph *graph, firnc_value x) {
    firnc_value root = firnc_sqrt(graph, firnc_affine(graph, firnc_erf(graph, x), 1, 2));
    firnc_value inverse = firnc_reciprocal(graph, firnc_affine(graph, firnc_clip(graph, x, -1, 2), 1, 3));
    firnc_value whole = firnc_to_float32(graph, firnc_to_int32(graph, firnc_affine(graph, x, 4, 0)));
    firnc_value steps = firnc_multiply(graph, firnc_add(graph, whole, firnc_floor(graph, x)), firnc_signum(graph, x));
    firnc_value same = firnc_multiply(graph, steps, firnc_equal(graph, whole, firnc_affine(graph, steps, 1, 1)));
    return firnc_add(graph, firnc_log(graph, root), firnc_multiply(graph, inverse, firnc_clip(graph, same, 1, 2)));
}

static firnc_graph *network(void) {
    const firnc_input_options bytes = {.element = FIRN_UINT8, .scaled = true, .scale = 1.0f / 128, .shift = -0.5f};
    firnc_graph *graph = firnc_graph_create("elements");
    firnc_value x = firnc_input(graph, "features", FIRN_FLOAT32, 3, (uint32_t[]){SAMPLES, HEIGHT, WIDTH}, bytes);
    firnc_value weight = parameter(graph, "weight", 2, (uint32_t[]){WIDTH, WIDTH});
    firnc_value h = firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_loss(graph, firnc_mean_squared_error(graph, bent(graph, crossed(graph, h)), x));
    return graph;
}

/* False if there is no such type. */
static bool set_type(firnc_job *job, const char *type) {
    firnc_mixed_precision keys = firnc_mixed_precision_defaults();
    firnc_precision_fault fault;
    uint8_t half = FIRN_FLOAT16;
    while (half <= FIRN_CBFLOAT16 && strcmp(type, firn_type_name(half)) != 0)
        half++;
    if (half > FIRN_CBFLOAT16)
        return strcmp(type, "float32") == 0;
    keys.fp16_type = (firn_type)half;
    return firnc_mixed_precision_complete(&keys, &job->precision, &fault);
}

static bool write_plan(const char *path, const firnc_frozen *plan) {
    FILE *file = fopen(path, "wb");
    return file != NULL && fwrite(plan->file.data, 1, (size_t)plan->file.count, file) == plan->file.count &&
           fclose(file) == 0;
}

int main(int count, char **words) {
    static firnc_job job;
    firnc_key key;
    firnc_frozen plan;
    firnc_job_defaults(&job, FIRNC_TRAIN);
    job.steps = 20;
    job.data.batch_size = job.data.micro_batch_size = SAMPLES;
    firnc_job_learning_rate(&job, 0.01);
    if (count != 4 || !set_type(&job, words[3])) {
        fprintf(stderr, "usage: elements_plan SECRET-KEY PLAN TYPE\n");
        return 2;
    }
    bool good = firnc_key_read(words[1], &key) && firnc_freeze_plan(network(), &job, &key, NULL, &plan) &&
                write_plan(words[2], &plan);
    firnc_wipe(&key, sizeof key);
    return good ? 0 : 1;
}
