/* Example for libfirnc: builds a network of two layers in C and freezes it into a signed plan that trains it in
 * bfloat16. The dot products of the second layer stay in float32. Usage: network SECRET-KEY PLAN, which prints
 * messages only. */
#include <stdio.h>

#include "compiler/firnc.h"

enum { SAMPLES = 32, PIXELS = 784, HIDDEN = 64, CLASSES = 10 };

static firnc_value layer(firnc_graph *graph, const char *name, firnc_value x, uint32_t in, uint32_t out) {
    const firnc_init small = {.rule = FIRNC_INIT_UNIFORM, .a = -0.04f, .b = 0.04f};
    char weight[32];
    snprintf(weight, sizeof weight, "%s.weight", name);
    firnc_layer_begin(graph, name);
    firnc_value w = firnc_parameter(graph, weight, 2, (uint32_t[]){out, in}, small, true);
    firnc_value y = firnc_linear(graph, x, w, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    return y;
}

static firnc_graph *network(void) {
    const firnc_pol float32_sums = {.level = 0, .bwd_level = FIRNC_UNSET, .enable_fwd = true, .enable_bwd = true};
    const firnc_input_options pixels = {.element = FIRN_UINT8, .scaled = true, .scale = 1.0f / 255};
    const firnc_input_options classes = {.stream = 1, .element = FIRN_UINT8, .limit = CLASSES};
    firnc_graph *graph = firnc_graph_create("two_layers");
    firnc_value x = firnc_input(graph, "features", FIRN_FLOAT32, 2, (uint32_t[]){SAMPLES, PIXELS}, pixels);
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, (uint32_t[]){SAMPLES}, classes);
    firnc_value hidden = firnc_relu(graph, layer(graph, "fc1", x, PIXELS, HIDDEN));
    firnc_pol_begin(graph, float32_sums);
    firnc_value logits = layer(graph, "fc2", hidden, HIDDEN, CLASSES);
    firnc_pol_end(graph);
    firnc_loss(graph, firnc_cross_entropy(graph, logits, labels));
    firnc_classification(graph, logits, labels);
    return graph;
}

static bool write_plan(const char *path, const firnc_frozen *plan) {
    FILE *file = fopen(path, "wb");
    return file != NULL && fwrite(plan->file.data, 1, (size_t)plan->file.count, file) == plan->file.count &&
           fclose(file) == 0;
}

/* The words of the command line. */
typedef struct request {
    const char *key, *plan;
} request;

/* What firnc_perform calls. */
static bool freeze(void *argument) {
    const request *r = argument;
    static firnc_job job;
    firnc_key key;
    firnc_frozen plan;
    firnc_precision_fault fault;
    firnc_mixed_precision bfloat16 = firnc_mixed_precision_defaults();
    bfloat16.emulate = true; /* sums in bfloat16 where POL permits, whatever multiplies them */
    firnc_job_defaults(&job, FIRNC_TRAIN);
    job.steps = 100;
    job.data.batch_size = job.data.micro_batch_size = SAMPLES;
    firnc_job_learning_rate(&job, 0.1);
    bool good = firnc_mixed_precision_complete(&bfloat16, &job.precision, &fault) && firnc_key_read(r->key, &key) &&
                firnc_freeze_plan(network(), &job, &key, NULL, &plan) && write_plan(r->plan, &plan);
    firnc_wipe(&key, sizeof key);
    return good;
}

static void print_message(void *context, const char *line) {
    (void)context;
    fprintf(stderr, "%s\n", line);
}

int main(int count, char **words) {
    if (count != 3) {
        fprintf(stderr, "usage: network SECRET-KEY PLAN\n");
        return 2;
    }
    request r = {.key = words[1], .plan = words[2]};
    return firnc_perform(freeze, &r, print_message, NULL) == FIRNC_DONE ? 0 : 1;
}
