/* Runs one ONNX model through the importer, the compiler and the runtime, for tests/onnx/nodes.py and gradients.py.
 *
 *     onnx_run FOLDER           writes the outputs of FOLDER/model.onnx
 *     onnx_run FOLDER PARAMETER...   trains for one step and writes these parameters
 *
 * The model is imported bare (compiler/onnx/onnx.h): every input is one record of float32 numbers, every output a row.
 * FOLDER/inputs.raw has the numbers of all inputs in their order, FOLDER/outputs.txt gets a line for each output, TYPE
 * RANK EXTENT..., TYPE being ONNX's number, and FOLDER/outputs.raw all their elements in float32.
 *
 * With parameters, the model has one output of one number, which is the loss. FOLDER/outputs.raw gets each parameter's
 * elements after one step of SGD with a learning rate of RATE, a power of two so large that the difference from the
 * elements before has the digits of the gradient.
 *
 * Exit status: 0, 1 if the compiler refuses the model (its message is on stderr), 2 if this program or the runtime
 * fails. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/firnc.h"
#include "compiler/onnx/onnx.h"
#include "runtime/firn.h"

enum { RATE = 1024 };

typedef struct run {
    const char *folder;
    char **parameters; /* NULL ends the list, which is empty without training */
    firnc_onnx_model model;
    float *data;
    size_t data_count;
    firn_segment segments[FIRNC_ONNX_IO_MAX];
    firn_stream streams[FIRNC_ONNX_IO_MAX];
    size_t first[FIRNC_ONNX_IO_MAX]; /* of each stream in the data */
    firn_source source;
    firn instance;
} run;

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

static FILE *open_file(const run *r, const char *name, const char *mode) {
    FILE *file = fopen(firnc_format("%s/%s", r->folder, name), mode);
    if (file == NULL)
        fail("%s/%s cannot be opened", r->folder, name);
    return file;
}

static size_t elements_of(const firnc_onnx_port *port) {
    size_t count = 1;
    for (uint8_t i = 0; i < port->rank; i++)
        count *= port->dims[i];
    return count;
}

/* --- data --------------------------------------------------------------------------------------------------------- */

static int read_record(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const run *r = context;
    memcpy(elements, r->data + r->first[stream] + first, count * sizeof *r->data);
    return 0;
}

static void read_data(run *r) {
    FILE *file = open_file(r, "inputs.raw", "rb");
    fseek(file, 0, SEEK_END);
    r->data_count = (size_t)ftell(file) / sizeof *r->data;
    rewind(file);
    r->data = firnc_allocate((r->data_count + 1) * sizeof *r->data);
    if (fread(r->data, sizeof *r->data, r->data_count, file) != r->data_count)
        fail("inputs.raw cannot be read");
    fclose(file);
}

/* One record for each input that the graph reads. */
static void make_source(run *r) {
    size_t first = 0;
    uint32_t streams = 0;
    for (uint32_t i = 0; i < r->model.input_count; i++) {
        const size_t count = elements_of(&r->model.inputs[i]);
        if (r->model.inputs[i].value != FIRNC_NONE) {
            r->segments[streams] = (firn_segment){count};
            r->streams[streams] = (firn_stream){FIRN_FLOAT32, (uint32_t)count, &r->segments[streams], 1};
            r->first[streams++] = first;
        }
        first += count;
    }
    if (first != r->data_count)
        fail("inputs.raw has %zu numbers, and the model's inputs %zu", r->data_count, first);
    r->source = (firn_source){.context = r, .streams = r->streams, .stream_count = streams, .read = read_record};
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

static firnc_job *make_job(const run *r) {
    firnc_job *job = firnc_allocate(sizeof *job);
    const bool trains = r->parameters[0] != NULL;
    firnc_job_defaults(job, trains ? FIRNC_TRAIN : FIRNC_EVAL);
    job->name = "onnx_run";
    job->data.batch_size = job->data.micro_batch_size = 1;
    job->steps = 1;
    if (trains) {
        job->optimizer = firnc_optimizer_defaults(FIRNC_SGD);
        firnc_job_learning_rate(job, RATE);
        return job;
    }
    job->metric = FIRNC_METRIC_NONE;
    for (uint32_t i = 0; i < r->model.output_count; i++)
        if (r->model.outputs[i].known == NULL)
            job->outputs[job->output_count++].name = r->model.outputs[i].name;
    return job;
}

static void *block(uint64_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, FIRN_BLOCK_ALIGNMENT, bytes == 0 ? 1 : (size_t)bytes) != 0)
        fail("out of memory");
    return memory;
}

static void check(int status, const char *call) {
    if (status != FIRN_OK)
        fail("%s: %s", call, firn_error_text(status));
}

static void open_plan(run *r, const firnc_frozen *plan, const firnc_key *key) {
    firn_sizes sizes;
    firn_block blocks[FIRN_BLOCKS_MAX];
    check(firn_plan_sizes(plan->file.data, plan->file.count, &sizes), "firn_plan_sizes");
    for (uint32_t i = 0; i < sizes.block_count; i++)
        blocks[i] = (firn_block){.memory = sizes.blocks[i].bytes > 0 ? block(sizes.blocks[i].bytes) : NULL,
                                 .bytes = sizes.blocks[i].bytes};
    firn_config config = {.plan = plan->file.data,
                          .plan_bytes = plan->file.count,
                          .public_key = key->public_key,
                          .blocks = blocks,
                          .block_count = sizes.block_count};
    check(firn_workspace_bytes(&config, &config.workspace_bytes), "firn_workspace_bytes");
    config.workspace = config.workspace_bytes > 0 ? block(config.workspace_bytes) : NULL;
    check(firn_open(&r->instance, &config), "firn_open");
    check(firn_initialise(&r->instance), "firn_initialise");
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static void write_floats(FILE *file, const void *elements, size_t count) {
    if (fwrite(elements, sizeof(float), count, file) != count)
        fail("outputs.raw cannot be written");
}

static void write_outputs(const run *r, FILE *raw) {
    FILE *text = open_file(r, "outputs.txt", "w");
    for (uint32_t i = 0; i < r->model.output_count; i++) {
        const firnc_onnx_port *port = &r->model.outputs[i];
        const size_t count = elements_of(port);
        fprintf(text, "%u %u", (unsigned)port->type, (unsigned)port->rank);
        for (uint8_t j = 0; j < port->rank; j++)
            fprintf(text, " %u", (unsigned)port->dims[j]);
        fputc('\n', text);
        firn_tensor_info info;
        if (port->known != NULL) {
            for (size_t j = 0; j < count; j++)
                write_floats(raw, &(float){(float)port->known[j]}, 1);
            continue;
        }
        check(firn_output(&r->instance, port->name, &info), "firn_output");
        if (info.type != FIRN_FLOAT32 || info.bytes != count * sizeof(float))
            fail("output %s has %llu bytes of type %u", port->name, (unsigned long long)info.bytes,
                 (unsigned)info.type);
        write_floats(raw, info.data, count);
    }
    fclose(text);
}

static void write_parameters(const run *r, FILE *raw) {
    for (char **name = r->parameters; *name != NULL; name++) {
        firn_tensor_info info;
        uint32_t i = 0;
        while (firn_tensor_at(&r->instance, i, &info) == FIRN_OK && strcmp(info.name, *name) != 0)
            i++;
        if (firn_tensor_at(&r->instance, i, &info) != FIRN_OK)
            fail("the plan has no parameter %s", *name);
        write_floats(raw, info.data, (size_t)info.bytes / sizeof(float));
    }
}

/* A plan has a parameter, and most models here have none. The rows minus a parameter that is +0 are the same rows. */
static void add_parameter(run *r, firnc_graph *graph) {
    static const uint32_t one = 1;
    const firnc_value zero =
        firnc_parameter(graph, "onnx_run.zero", 1, &one, (firnc_init){.rule = FIRNC_INIT_CONSTANT}, false);
    for (uint32_t i = 0; i < r->model.output_count; i++) {
        firnc_onnx_port *port = &r->model.outputs[i];
        if (port->known != NULL)
            continue;
        port->name = firnc_format("onnx_run.%u", (unsigned)i);
        firnc_name_value(graph, port->name, firnc_subtract(graph, port->value, zero));
    }
}

static bool compile(run *r, const firnc_key *key, firnc_frozen *plan) {
    const bool trains = r->parameters[0] != NULL;
    firnc_onnx_options options = {.bare = true, .batch_statistics = false};
    firnc_graph *graph = firnc_graph_create("model");
    if (!trains)
        firnc_graph_evaluate(graph);
    if (!firnc_onnx_import(graph, firnc_format("%s/model.onnx", r->folder), &options, &r->model))
        return false;
    if (trains)
        firnc_loss(graph, firnc_reshape(graph, r->model.outputs[0].value, 1, (uint32_t[]){1}));
    else
        add_parameter(r, graph);
    const firnc_job *job = make_job(r);
    /* Nothing to run if every output is known already. */
    return (!trains && job->output_count == 0) || firnc_freeze_plan(graph, job, key, NULL, plan);
}

static void print_line(void *context, const char *line) {
    (void)context;
    fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv) {
    static run r;
    firnc_key key;
    firnc_frozen plan = {0};
    if (argc < 2)
        fail("onnx_run FOLDER [PARAMETER...]");
    firnc_messages_by_default(print_line);
    r.folder = argv[1];
    r.parameters = argv + 2;
    if (!firnc_key_generate(&key))
        return 2;
    if (!compile(&r, &key, &plan))
        return 1;
    if (plan.file.count > 0) {
        read_data(&r);
        make_source(&r);
        open_plan(&r, &plan, &key);
        firn_step_report report;
        if (r.parameters[0] != NULL)
            check(firn_train_step(&r.instance, &r.source, &report), "firn_train_step");
        else
            check(firn_eval_step(&r.instance, &r.source), "firn_eval_step");
    }
    FILE *raw = open_file(&r, "outputs.raw", "wb");
    if (r.parameters[0] != NULL)
        write_parameters(&r, raw);
    else
        write_outputs(&r, raw);
    return fclose(raw) == 0 ? 0 : 2;
}
