/* Writes a train plan of the network of tests/unit/support_recurrent.h, because no recipe has recurrent ops. A record
 * is a step: SAMPLES rows of WIDTH bytes, and ten float32 numbers as targets. For bits.sh, engine_bits.sh
 * and second_runtime.sh.
 *
 *     recurrent_plan KEY PLAN SAMPLES WIDTH UNITS TYPE LEVEL [TARGET]
 *
 * TYPE: float32 or a half type. LEVEL: the POL, emulated, or as TARGET lowers it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/firnc.h"
#include "plan/op_words.h"
#include "tests/unit/support_recurrent.h"

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

int main(int argc, char **argv) {
    static firnc_job job;
    firnc_key key;
    firnc_frozen plan;
    uint32_t given[3]; /* samples, width, units */
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
    const recurrent_sizes sizes = {
        .steps = MICRO_BATCH, .samples = given[0], .width = given[1], .units = given[2], .outputs = TARGETS / given[0]};
    firnc_graph *graph = firnc_graph_create("recurrent");
    recurrent_build(graph, &sizes,
                    (firnc_input_options){.element = FIRN_UINT8, .scaled = true, .scale = 1.0f / 128, .shift = -0.5f},
                    (firnc_input_options){.stream = 1, .element = FIRN_FLOAT32});
    if (!firnc_freeze_plan(graph, &job, &key, NULL, &plan))
        return 1;
    firnc_wipe(&key, sizeof key);
    FILE *file = fopen(argv[2], "wb");
    if (file == NULL || fwrite(plan.file.data, 1, (size_t)plan.file.count, file) != plan.file.count)
        return 1;
    return fclose(file) == 0 ? 0 : 1;
}
