/* Benchmarks of single kernels: products, attention, recurrence, the update of AdamW. Kernels must be looked up and
 * called as the executor does it, so that the environment's choice of a kernel set takes effect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/numerics/numerics.h"
#include "tests/bench/bench.h"
#include "tests/unit/support_call.h"

/* Groups of cases. */
enum { SQUARES = 1, LAYERS = 2, BATCHES = 4, ATTENTION = 8, RECURRENCE = 16, EVERY_GROUP = 31 };

/* The element type of the operands and the way a sum of products is computed. */
typedef struct storage {
    const char *name;
    uint8_t type;
    uint8_t kind;
    uint32_t chunk;
    unsigned groups; /* those in which it is measured */
} storage;

static const storage storages[] = {
    {"float32", FIRN_FLOAT32, FIRN_REDUCTION_F32, 0, EVERY_GROUP},
    {"bfloat16", FIRN_BFLOAT16, FIRN_REDUCTION_F32, 0, EVERY_GROUP},
    {"float16", FIRN_FLOAT16, FIRN_REDUCTION_F32, 0, EVERY_GROUP},
    {"cbfloat16", FIRN_CBFLOAT16, FIRN_REDUCTION_F32, 0, EVERY_GROUP},
    {"float16 chunk 64", FIRN_FLOAT16, FIRN_REDUCTION_CHUNKED, 64, EVERY_GROUP},
    {"float16 chunk 128", FIRN_FLOAT16, FIRN_REDUCTION_CHUNKED, 128, EVERY_GROUP},
    {"bfloat16 chunk 64", FIRN_BFLOAT16, FIRN_REDUCTION_CHUNKED, 64, SQUARES},
    {"cbfloat16 chunk 64", FIRN_CBFLOAT16, FIRN_REDUCTION_CHUNKED, 64, SQUARES},
    {"even_odd_blocks", FIRN_BFLOAT16, FIRN_REDUCTION_EVEN_ODD_BLOCKS, 32, SQUARES | LAYERS | BATCHES | ATTENTION},
    {"pairs", FIRN_BFLOAT16, FIRN_REDUCTION_PAIRS, 2, SQUARES | LAYERS | BATCHES | ATTENTION},
};
enum { STORAGES = sizeof storages / sizeof storages[0] };

/* A kernel call with its operands. */
typedef struct job {
    firn_kernel kernel;
    test_call call;
} job;

static void run_job(void *context) {
    const job *it = context;
    test_call_run(it->kernel, &it->call);
}

static firn_tensor tensor(uint8_t type, uint8_t rank, const uint32_t dims[]) {
    firn_tensor it = {.type = type, .rank = rank, .elements = 1};
    uint32_t *extents = bench_allocate(rank * sizeof *extents);
    for (uint8_t i = 0; i < rank; i++) {
        extents[i] = dims[i];
        it.elements *= dims[i];
    }
    it.dims = extents;
    it.data = bench_allocate(it.elements * firn_type_bytes(type));
    return it;
}

/* Fills with numbers in (-spread, spread) that do not repeat within a row. */
static firn_tensor filled(uint8_t type, uint8_t rank, const uint32_t dims[], float spread) {
    firn_tensor it = tensor(type, rank, dims);
    uint32_t state = 88172645u;
    for (size_t i = 0; i < it.elements; i++) {
        state = state * 1664525u + 1013904223u;
        firn_store(it.data, type, i, spread * ((float)(state >> 8) * 0x1p-23f - 1.0f));
    }
    return it;
}

static void free_tensor(const firn_tensor *it) {
    free(it->data);
    free((void *)(uintptr_t)it->dims);
}

static void free_job(job *it) {
    for (unsigned i = 0; i < it->call.input_count; i++)
        free_tensor(&it->call.inputs[i]);
    for (unsigned i = 0; i < it->call.output_count; i++) {
        bool shared = false;
        for (unsigned j = 0; j < it->call.input_count; j++)
            shared = shared || it->call.inputs[j].data == it->call.outputs[i].data;
        if (!shared)
            free_tensor(&it->call.outputs[i]);
    }
    free(it->call.workspace);
}

/* Looks up the kernel of this machine's set for a call that is filled in, and gives the call all threads and the
 * workspace that the kernel asks for. */
static void find_kernel(job *it, uint16_t op) {
    const firn_kernel_choice choice = firn_kernel_set_choose(NULL)->find(op, it->call.reductions);
    it->kernel = choice.run;
    it->call.parallel = bench_parallel();
    const firn_kernel_call view = test_call_view(&it->call);
    const uint64_t bytes = choice.scratch != NULL ? choice.scratch(op, &view) : 0;
    it->call.slot_bytes = (size_t)(bytes + 63) / 64 * 64;
    it->call.workspace = bytes != 0 ? bench_allocate(it->call.slot_bytes * it->call.parallel.threads) : NULL;
}

static firn_reduction reduction_of(const storage *stored) {
    const uint8_t accumulator = stored->kind == FIRN_REDUCTION_CHUNKED ? stored->type : FIRN_FLOAT32;
    return (firn_reduction){stored->kind, accumulator, stored->type, stored->chunk};
}

/* --- products --------------------------------------------------------------------------------------------------- */

enum { FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, DIRECTIONS };
static const char *const directions[] = {"forward", "dx", "dw"};

typedef struct product {
    const char *group, *name;
    uint32_t n, k, o;
    int64_t layout; /* layout of the weight: 0 [O,K], 1 [K,O] */
} product;

static job product_job(const product *it, int direction, const storage *stored) {
    const uint32_t x[] = {it->n, it->k}, y[] = {it->n, it->o};
    const uint32_t w[] = {it->layout == 0 ? it->o : it->k, it->layout == 0 ? it->k : it->o};
    static const uint16_t codes[] = {FIRN_OP_linear, FIRN_OP_linear_backward_input, FIRN_OP_linear_backward_weight};
    job made = {
        .call = {.input_count = 2, .output_count = 1, .integers = {it->layout}, .reductions = {reduction_of(stored)}}};
    made.call.inputs[0] = filled(stored->type, 2, direction == FORWARD ? x : y, 1.0f);
    made.call.inputs[1] = filled(stored->type, 2, direction == WEIGHT_GRADIENT ? x : w, 0.1f);
    made.call.outputs[0] = tensor(stored->type, 2, direction == FORWARD ? y : (direction == INPUT_GRADIENT ? x : w));
    find_kernel(&made, codes[direction]);
    return made;
}

static void measure_product(const product *it, int direction, const storage *stored) {
    bench_case made = {
        .reference = BENCH_PEAK, .work = 2.0 * it->n * it->k * it->o, .run = run_job, .torches = BENCH_EAGER_BOTH};
    bench_format(made.group, sizeof made.group, "%s", it->group);
    bench_format(made.shape, sizeof made.shape, "%s %s", it->name, directions[direction]);
    bench_format(made.storage, sizeof made.storage, "%s", stored->name);
    bench_format(made.torch, sizeof made.torch, "linear %u %u %u %s", it->n, it->k, it->o, directions[direction]);
    if (!bench_is_wanted(made.group, made.shape, made.storage))
        return;
    job work = product_job(it, direction, stored);
    made.context = &work;
    bench_measure(&made);
    free_job(&work);
}

static void squares(void) {
    const uint32_t largest = bench_settings.smoke ? 64 : 2048;
    for (unsigned s = 0; s < STORAGES; s++)
        for (uint32_t size = 64; (storages[s].groups & SQUARES) != 0 && size <= largest; size *= 2) {
            char name[16];
            bench_format(name, sizeof name, "%u", size);
            const product it = {"square", name, size, size, size, 0};
            measure_product(&it, FORWARD, &storages[s]);
        }
}

static void block_of_gpt2(uint32_t tokens) {
    const struct {
        const char *name;
        uint32_t k, o;
    } layers[] = {{"c_attn", 768, 2304}, {"attn.c_proj", 768, 768}, {"c_fc", 768, 3072}, {"mlp.c_proj", 3072, 768}};
    char group[24];
    bench_format(group, sizeof group, "block %u", tokens);
    for (unsigned s = 0; s < STORAGES; s++)
        for (unsigned l = 0; (storages[s].groups & LAYERS) != 0 && l < sizeof layers / sizeof layers[0]; l++)
            for (int direction = FORWARD; direction < DIRECTIONS; direction++) {
                const product it = {group, layers[l].name, tokens, layers[l].k, layers[l].o, 1};
                measure_product(&it, direction, &storages[s]);
            }
}

void bench_products(void) {
    squares();
    if (bench_settings.smoke)
        return;
    block_of_gpt2(256);
    block_of_gpt2(1024);
}

/* --- attention -------------------------------------------------------------------------------------------------- */

enum { BATCH = 4, HEADS = 12, HEAD_SIZE = 64, CHANNELS = HEADS * HEAD_SIZE, ROWS = 16 };

static const firn_moment moment = {0, 0};

static void set_attention(test_call *call, const storage *stored) {
    call->integers[0] = HEADS;
    call->integers[1] = HEADS;
    call->integers[2] = 1; /* causal */
    call->integers[3] = 0; /* softmax in float32 */
    call->integers[4] = 0;
    call->integers[5] = ROWS;
    call->reals[0] = 0.125f;
    call->reals[1] = 0.0f; /* no dropout */
    for (int i = 0; i < 3; i++) {
        call->reductions[i] = reduction_of(stored);
    }
    call->moment = &moment;
}

static job forward_job(uint32_t length, const storage *stored) {
    const uint32_t rows[] = {BATCH, HEADS, length}, scratch[] = {BATCH, HEADS, ROWS, length};
    job made = {.call = {.input_count = 1, .output_count = 4}};
    set_attention(&made.call, stored);
    made.call.inputs[0] = filled(stored->type, 3, (const uint32_t[]){BATCH, length, 3 * CHANNELS}, 1.0f);
    made.call.outputs[0] = tensor(stored->type, 3, (const uint32_t[]){BATCH, length, CHANNELS});
    made.call.outputs[1] = tensor(FIRN_FLOAT32, 3, rows);
    made.call.outputs[2] = tensor(FIRN_FLOAT32, 3, rows);
    made.call.outputs[3] = tensor(FIRN_FLOAT32, 4, scratch);
    find_kernel(&made, FIRN_OP_attention);
    return made;
}

/* Reads the outputs of the forward kernel, which must have run before. */
static job backward_job(const job *forward, uint32_t length, const storage *stored) {
    const uint32_t scratch[] = {BATCH, HEADS, 2 * ROWS + 1, length};
    job made = {.call = {.input_count = 4, .output_count = 2}};
    set_attention(&made.call, stored);
    made.call.inputs[0] = filled(stored->type, 3, (const uint32_t[]){BATCH, length, CHANNELS}, 1.0f);
    made.call.inputs[1] = forward->call.inputs[0];
    made.call.inputs[2] = forward->call.outputs[1];
    made.call.inputs[3] = forward->call.outputs[2];
    made.call.outputs[0] = tensor(stored->type, 3, (const uint32_t[]){BATCH, length, 3 * CHANNELS});
    made.call.outputs[1] = tensor(FIRN_FLOAT32, 4, scratch);
    find_kernel(&made, FIRN_OP_attention_backward);
    return made;
}

/* Counts the operations in the causal half of the products: two products forward; backward computes the scores again
 * and has four more. */
static void measure_attention(uint32_t length, const storage *stored) {
    const double one_product = (double)BATCH * CHANNELS * length * (length + 1.0);
    job forward = forward_job(length, stored);
    bench_case made = {.reference = BENCH_PEAK, .run = run_job, .torches = BENCH_EAGER_BOTH};
    bench_format(made.shape, sizeof made.shape, "T %u", length);
    bench_format(made.storage, sizeof made.storage, "%s", stored->name);
    bench_format(made.group, sizeof made.group, "attention forward");
    bench_format(made.torch, sizeof made.torch, "attention %d %u %d %d forward", BATCH, length, HEADS, HEAD_SIZE);
    made.work = 2.0 * one_product;
    made.context = &forward;
    bench_measure(&made);
    run_job(&forward);
    job backward = backward_job(&forward, length, stored);
    bench_format(made.group, sizeof made.group, "attention backward");
    bench_format(made.torch, sizeof made.torch, "attention %d %u %d %d backward", BATCH, length, HEADS, HEAD_SIZE);
    made.work = 5.0 * one_product;
    made.context = &backward;
    bench_measure(&made);
    backward.call.input_count = 1; /* the other inputs are used by forward only */
    free_job(&backward);
    free_job(&forward);
}

/* --- products of batches: the scores and the values of attention that is written out -------------------------------
 */

static job batches_job(uint32_t length, bool scores, const storage *stored) {
    const uint32_t rows[] = {BATCH * HEADS, length, HEAD_SIZE}, square[] = {BATCH * HEADS, length, length};
    job made = {
        .call = {.input_count = 2, .output_count = 1, .integers = {0, scores}, .reductions = {reduction_of(stored)}}};
    made.call.inputs[0] = filled(stored->type, 3, scores ? rows : square, 1.0f);
    made.call.inputs[1] = filled(stored->type, 3, rows, 1.0f);
    made.call.outputs[0] = tensor(stored->type, 3, scores ? square : rows);
    find_kernel(&made, FIRN_OP_matmul);
    return made;
}

static void measure_batches(uint32_t length, bool scores, const storage *stored) {
    bench_case made = {.reference = BENCH_PEAK,
                       .work = 2.0 * BATCH * CHANNELS * length * length,
                       .run = run_job,
                       .torches = BENCH_EAGER_BOTH};
    bench_format(made.group, sizeof made.group, "matmul");
    bench_format(made.shape, sizeof made.shape, "%s %u", scores ? "q k^T" : "p v", length);
    bench_format(made.storage, sizeof made.storage, "%s", stored->name);
    bench_format(made.torch, sizeof made.torch, "matmul %d %u %d %s", BATCH * HEADS, length, HEAD_SIZE,
                 scores ? "scores" : "values");
    if (!bench_is_wanted(made.group, made.shape, made.storage))
        return;
    job work = batches_job(length, scores, stored);
    made.context = &work;
    bench_measure(&made);
    free_job(&work);
}

void bench_batches(void) {
    const uint32_t longest = bench_settings.smoke ? 64 : 512;
    for (unsigned s = 0; s < STORAGES; s++)
        for (uint32_t length = 64; (storages[s].groups & BATCHES) != 0 && length <= longest; length *= 2) {
            measure_batches(length, true, &storages[s]);
            measure_batches(length, false, &storages[s]);
        }
}

void bench_attention(void) {
    const uint32_t longest = bench_settings.smoke ? 64 : 1024;
    for (unsigned s = 0; s < STORAGES; s++)
        for (uint32_t length = 64; (storages[s].groups & ATTENTION) != 0 && length <= longest; length *= 2) {
            char shape[16];
            bench_format(shape, sizeof shape, "T %u", length);
            if (bench_is_wanted("attention forward", shape, storages[s].name) ||
                bench_is_wanted("attention backward", shape, storages[s].name))
                measure_attention(length, &storages[s]);
        }
}

/* --- recurrence ------------------------------------------------------------------------------------------------- */

enum { SAMPLES = 32, GATES = 4 };

static job lstm_job(uint32_t steps, uint32_t units, const storage *stored) {
    const uint32_t gates[] = {steps, SAMPLES, GATES * units}, y[] = {steps, SAMPLES, units};
    job made = {
        .call = {.input_count = 2, .output_count = 5, .integers = {0, 1}, .reductions = {reduction_of(stored)}}};
    made.call.inputs[FIRN_LSTM_IN_GATES] = filled(stored->type, 3, gates, 1.0f);
    made.call.inputs[FIRN_LSTM_IN_WEIGHT] = filled(stored->type, 2, (const uint32_t[]){GATES * units, units}, 0.1f);
    made.call.outputs[FIRN_LSTM_OUT_Y] = tensor(stored->type, 3, y);
    made.call.outputs[FIRN_LSTM_OUT_LAST_H] = tensor(stored->type, 2, y + 1);
    made.call.outputs[FIRN_LSTM_OUT_LAST_C] = tensor(FIRN_FLOAT32, 2, y + 1);
    made.call.outputs[FIRN_LSTM_OUT_ACTIVATIONS] = tensor(FIRN_FLOAT32, 3, gates);
    made.call.outputs[FIRN_LSTM_OUT_CELLS] = tensor(FIRN_FLOAT32, 3, y);
    find_kernel(&made, FIRN_OP_lstm);
    return made;
}

/* Reads the outputs of the forward kernel, which must have run before. */
static job lstm_backward_job(const job *forward, uint32_t steps, uint32_t units, const storage *stored) {
    const uint32_t gates[] = {steps, SAMPLES, GATES * units}, y[] = {steps, SAMPLES, units};
    job made = {.call = {.input_count = 4, .output_count = 4, .reductions = {reduction_of(stored)}}};
    made.call.inputs[FIRN_LSTM_BACKWARD_IN_DY] = filled(stored->type, 3, y, 1.0f);
    made.call.inputs[FIRN_LSTM_BACKWARD_IN_WEIGHT] = forward->call.inputs[FIRN_LSTM_IN_WEIGHT];
    made.call.inputs[FIRN_LSTM_BACKWARD_IN_ACTIVATIONS] = forward->call.outputs[FIRN_LSTM_OUT_ACTIVATIONS];
    made.call.inputs[FIRN_LSTM_BACKWARD_IN_CELLS] = forward->call.outputs[FIRN_LSTM_OUT_CELLS];
    made.call.outputs[FIRN_LSTM_BACKWARD_OUT_DGATES] = tensor(stored->type, 3, gates);
    made.call.outputs[FIRN_LSTM_BACKWARD_OUT_DH0] = tensor(stored->type, 2, y + 1);
    made.call.outputs[FIRN_LSTM_BACKWARD_OUT_DC0] = tensor(stored->type, 2, y + 1);
    made.call.outputs[FIRN_LSTM_BACKWARD_OUT_CARRIED] = tensor(FIRN_FLOAT32, 3, (const uint32_t[]){2, SAMPLES, units});
    find_kernel(&made, FIRN_OP_lstm_backward);
    return made;
}

/* Reads what the backward kernel wrote. */
static job lstm_weight_job(const job *forward, const job *backward, uint32_t units, const storage *stored) {
    job made = {.call = {.input_count = 2, .output_count = 1, .reductions = {reduction_of(stored)}}};
    made.call.inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_DPRODUCTS] =
        backward->call.outputs[FIRN_LSTM_BACKWARD_OUT_DGATES];
    made.call.inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_Y] = forward->call.outputs[FIRN_LSTM_OUT_Y];
    made.call.outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT] =
        tensor(stored->type, 2, (const uint32_t[]){GATES * units, units});
    find_kernel(&made, FIRN_OP_recurrent_backward_weight);
    return made;
}

/* The two kernels of the gradient. */
typedef struct gradient_jobs {
    job of_gates, of_weight;
} gradient_jobs;

static void run_gradients(void *context) {
    gradient_jobs *jobs = context;
    run_job(&jobs->of_gates);
    run_job(&jobs->of_weight);
}

/* The recurrent products alone count: one forward, two backward. PyTorch's has a product of the input, too, with one
 * feature. */
static void measure_lstm(uint32_t steps, uint32_t units, const storage *stored) {
    const double one_product = 2.0 * steps * SAMPLES * GATES * units * units;
    job forward = lstm_job(steps, units, stored);
    bench_case made = {.reference = BENCH_PEAK, .run = run_job, .torches = BENCH_EAGER_BOTH};
    bench_format(made.shape, sizeof made.shape, "T %u H %u", steps, units);
    bench_format(made.storage, sizeof made.storage, "%s", stored->name);
    bench_format(made.group, sizeof made.group, "lstm forward");
    bench_format(made.torch, sizeof made.torch, "lstm %u %d %u forward", steps, SAMPLES, units);
    made.work = one_product;
    made.context = &forward;
    bench_measure(&made);
    run_job(&forward);
    gradient_jobs gradients = {.of_gates = lstm_backward_job(&forward, steps, units, stored)};
    gradients.of_weight = lstm_weight_job(&forward, &gradients.of_gates, units, stored);
    bench_format(made.group, sizeof made.group, "lstm backward");
    bench_format(made.torch, sizeof made.torch, "lstm %u %d %u backward", steps, SAMPLES, units);
    made.work = 2.0 * one_product;
    made.run = run_gradients;
    made.context = &gradients;
    bench_measure(&made);
    gradients.of_weight.call.input_count = 0; /* its inputs, and all but dy, belong to the other jobs */
    free_job(&gradients.of_weight);
    gradients.of_gates.call.inputs[0] = gradients.of_gates.call.inputs[FIRN_LSTM_BACKWARD_IN_DY];
    gradients.of_gates.call.input_count = 1;
    free_job(&gradients.of_gates);
    free_job(&forward);
}

void bench_recurrence(void) {
    static const uint32_t units[] = {16, 128, 512};
    const uint32_t steps = bench_settings.smoke ? 4 : 64;
    for (unsigned s = 0; s < STORAGES; s++)
        for (unsigned u = bench_settings.smoke ? 0 : 1;
             (storages[s].groups & RECURRENCE) != 0 && u < (bench_settings.smoke ? 1 : 3); u++) {
            char shape[32];
            bench_format(shape, sizeof shape, "T %u H %u", steps, units[u]);
            if (bench_is_wanted("lstm forward", shape, storages[s].name) ||
                bench_is_wanted("lstm backward", shape, storages[s].name))
                measure_lstm(steps, units[u], &storages[s]);
        }
}

/* --- AdamW ------------------------------------------------------------------------------------------------------ */

/* Bytes of memory that the system has available; a guess if the system does not report it. */
static double available_bytes(void) {
    char line[128];
    unsigned long long kilobytes = 2 << 20;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %llu", &kilobytes) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return 1024.0 * (double)kilobytes;
}

/* The number of elements: GPT-2's parameters, or fewer so that half of the available memory stays free, since PyTorch
 * holds a copy of its own. */
static uint32_t adamw_elements(void) {
    const uint32_t all = 124439808;
    const double most = available_bytes() / 2 / (4 * sizeof(float)) / 2;
    if (bench_settings.smoke)
        return 1 << 16;
    return most < all ? (uint32_t)most / 1024 * 1024 : all;
}

void bench_adamw(void) {
    const uint32_t elements = adamw_elements();
    bench_case made = {.group = "adamw", .storage = "float32", .reference = BENCH_STREAMS, .run = run_job};
    bench_format(made.shape, sizeof made.shape, "%u parameters", elements);
    if (!bench_is_wanted(made.group, made.shape, made.storage))
        return;
    job work = {.call = {.input_count = 7, .output_count = 3, .integers = {1}, .reals = {0.9f, 0.95f, 1e-8f, 0.1f}}};
    find_kernel(&work, FIRN_OP_adamw);
    test_call *call = &work.call;
    static const uint8_t streams[] = {FIRN_ADAMW_IN_PARAMETER, FIRN_ADAMW_IN_GRADIENT, FIRN_ADAMW_IN_EXP_AVG,
                                      FIRN_ADAMW_IN_EXP_AVG_SQ};
    static const uint8_t scalars[] = {FIRN_ADAMW_IN_LEARNING_RATE, FIRN_ADAMW_IN_BETA1_POWER,
                                      FIRN_ADAMW_IN_BETA2_POWER};
    for (int i = 0; i < 4; i++) { /* the moment estimates begin as zeros */
        call->inputs[streams[i]] =
            i < 2 ? filled(FIRN_FLOAT32, 1, &elements, 0.02f) : tensor(FIRN_FLOAT32, 1, &elements);
        made.streams[i] = call->inputs[streams[i]].data;
    }
    for (int i = 0; i < 3; i++) {
        call->inputs[scalars[i]] = tensor(FIRN_FLOAT32, 1, (const uint32_t[]){1});
        firn_store(call->inputs[scalars[i]].data, FIRN_FLOAT32, 0, i == 0 ? 1e-6f : 0.5f);
    }
    call->outputs[FIRN_ADAMW_OUT_PARAMETER] = call->inputs[FIRN_ADAMW_IN_PARAMETER];
    call->outputs[FIRN_ADAMW_OUT_EXP_AVG] = call->inputs[FIRN_ADAMW_IN_EXP_AVG];
    call->outputs[FIRN_ADAMW_OUT_EXP_AVG_SQ] = call->inputs[FIRN_ADAMW_IN_EXP_AVG_SQ];
    made.stream_elements = elements;
    made.work = 7.0 * elements * sizeof(float);
    made.context = &work;
    made.torches = BENCH_EAGER_ONLY;
    bench_format(made.torch, sizeof made.torch, "adamw %u", elements);
    bench_measure(&made);
    free_job(&work);
}
