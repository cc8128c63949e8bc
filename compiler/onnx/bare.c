/* Freezes a model of ONNX by itself, without a recipe: an evaluation whose inputs and outputs are those of the model,
 * for tests of the importer and for tools. */
#include <string.h>

#include "compiler/onnx/onnx.h"

bool firnc_onnx_freeze(const char *path, const firnc_onnx_options *options, const firnc_key *key,
                       firnc_onnx_model *model, firnc_frozen *plan) {
    firnc_onnx_options bare = *options;
    firnc_job *job = firnc_allocate(sizeof *job);
    firnc_graph *graph = firnc_graph_create("onnx");
    bare.bare = true;
    bare.samples = 0;
    firnc_graph_evaluate(graph);
    if (!firnc_onnx_import(graph, path, &bare, model))
        return false;
    firnc_job_defaults(job, FIRNC_EVAL);
    job->name = path;
    job->metric = FIRNC_METRIC_NONE;
    job->data.batch_size = job->data.micro_batch_size = 1;
    for (uint32_t i = 0; i < model->output_count; i++)
        if (model->outputs[i].value != FIRNC_NONE)
            job->outputs[job->output_count++].name = model->outputs[i].name;
    memset(plan, 0, sizeof *plan);
    if (job->output_count == 0)
        return true;
    return firnc_freeze_plan(graph, job, key, NULL, plan);
}
