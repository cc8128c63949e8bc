/* Benchmarks of single kernels: products, attention, recurrence, convolutions, the update of AdamW (elements.c: those
 * of the other ops of a step). Kernels must be looked up and called through job.h. */
#include "plan/shapes/windows.h"
#include "tests/bench/bench.h"
#include "tests/bench/job.h"

/* Groups of cases. GRADIENTS: of square products. */
enum {
    SQUARES = 1,
    GRADIENTS = 2,
    LAYERS = 4,
    BATCHES = 8,
    ATTENTION = 16,
    RECURRENCE = 32,
    CONVOLUTIONS = 64,
    EVERY_GROUP = 127
};

/* The element type of the operands and the way a sum of products is computed. The order of a contest is that of this
 * table; a new kind of sum is one line here. */
typedef struct storage {
    const char *name;
    uint8_t type, kind;
    uint32_t chunk;
    unsigned groups; /* those in which it is measured */
} storage;

static const storage storages[] = {
    {"float32", FIRN_FLOAT32, FIRN_REDUCTION_F32, 0, EVERY_GROUP},
    {"bfloat16", FIRN_BFLOAT16, FIRN_REDUCTION_F32, 0, EVERY_GROUP},
    {"float16", FIRN_FLOAT16, FIRN_REDUCTION_F32, 0, EVERY_GROUP & ~(GRADIENTS | CONVOLUTIONS)},
    {"cbfloat16", FIRN_CBFLOAT16, FIRN_REDUCTION_F32, 0, EVERY_GROUP & ~(GRADIENTS | CONVOLUTIONS)},
    {"even_odd_blocks", FIRN_BFLOAT16, FIRN_REDUCTION_EVEN_ODD_BLOCKS, 32, EVERY_GROUP},
    {"pairs", FIRN_BFLOAT16, FIRN_REDUCTION_PAIRS, 2, EVERY_GROUP},
    {"float16 chunk 64", FIRN_FLOAT16, FIRN_REDUCTION_CHUNKED, 64, EVERY_GROUP},
    {"float16 chunk 128", FIRN_FLOAT16, FIRN_REDUCTION_CHUNKED, 128, EVERY_GROUP & ~(GRADIENTS | CONVOLUTIONS)},
    {"bfloat16 chunk 64", FIRN_BFLOAT16, FIRN_REDUCTION_CHUNKED, 64, SQUARES | RECURRENCE | CONVOLUTIONS},
    {"cbfloat16 chunk 64", FIRN_CBFLOAT16, FIRN_REDUCTION_CHUNKED, 64, SQUARES},
};
enum { STORAGES = sizeof storages / sizeof storages[0] };

/* Returns whether a storage is measured in the group of cases and --only selects it. */
static bool takes_part(unsigned s, unsigned cases, const char *group, const char *shape) {
    return (storages[s].groups & cases) != 0 && bench_is_wanted(group, shape, storages[s].name);
}

static bool any_takes_part(unsigned cases, const char *group, const char *shape) {
    for (unsigned s = 0; s < STORAGES; s++)
        if (takes_part(s, cases, group, shape))
            return true;
    return false;
}

static firn_reduction reduction_of(const storage *stored) {
    const uint8_t sum = stored->kind == FIRN_REDUCTION_CHUNKED ? stored->type : (uint8_t)FIRN_FLOAT32;
    return (firn_reduction){stored->kind, sum, stored->type, stored->chunk};
}

/* The cases of a contest: a job for each storage that takes part. */
typedef struct jobs {
    const char *group, *shape;
    double work;
    bench_case cases[STORAGES];
    job of[STORAGES];
    unsigned storage[STORAGES]; /* index of the storage of each case */
    unsigned count;
} jobs;

/* Adds a case. The caller sets its job. */
static job *add_case(jobs *list, unsigned s, void (*run)(void *context), void *context) {
    job *made = &list->of[list->count];
    bench_case *it = &list->cases[list->count];
    *it = (bench_case){.reference = BENCH_PEAK, .work = list->work, .run = run};
    it->context = context != NULL ? context : made;
    bench_format(it->group, sizeof it->group, "%s", list->group);
    bench_format(it->shape, sizeof it->shape, "%s", list->shape);
    bench_format(it->storage, sizeof it->storage, "%s", storages[s].name);
    list->storage[list->count++] = s;
    return made;
}

static void compete(const jobs *list, const char *torch, double share) {
    bench_compete(&(bench_contest){list->cases, list->count, torch, BENCH_EAGER_BOTH, share});
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

static void measure_product(const product *it, int direction, unsigned cases, double weight) {
    static jobs list;
    char shape[48], torch[96];
    bench_format(shape, sizeof shape, "%s %s", it->name, directions[direction]);
    bench_format(torch, sizeof torch, "linear %u %u %u %s", it->n, it->k, it->o, directions[direction]);
    if (!any_takes_part(cases, it->group, shape) || !bench_turn(it->group, shape, weight))
        return;
    list = (jobs){.group = it->group, .shape = shape, .work = 2.0 * it->n * it->k * it->o};
    for (unsigned s = 0; s < STORAGES; s++)
        if (takes_part(s, cases, it->group, shape))
            *add_case(&list, s, run_job, NULL) = product_job(it, direction, &storages[s]);
    compete(&list, torch, 0.0);
    for (unsigned i = 0; i < list.count; i++)
        free_job(&list.of[i]);
}

void bench_squares(void) {
    const uint32_t largest = bench_settings.smoke ? 64 : 2048;
    for (uint32_t size = 64; size <= largest; size *= 2) {
        char name[16];
        bench_format(name, sizeof name, "%u", size);
        const product it = {"square", name, size, size, size, 0};
        const double gigas = 2e-9 * size * size * size;
        measure_product(&it, FORWARD, SQUARES, 3.0 + 1.2 * gigas);
        if (size < 512 && !bench_settings.smoke)
            continue;
        measure_product(&it, INPUT_GRADIENT, GRADIENTS, 3.0 + 0.5 * gigas);
        measure_product(&it, WEIGHT_GRADIENT, GRADIENTS, 3.0 + 0.5 * gigas);
    }
}

static void block_of_gpt2(uint32_t tokens) {
    static const struct {
        const char *name;
        uint32_t k, o;
    } layers[] = {{"c_attn", 768, 2304}, {"attn.c_proj", 768, 768}, {"c_fc", 768, 3072}, {"mlp.c_proj", 3072, 768}};
    char group[24];
    bench_format(group, sizeof group, "block %u", tokens);
    for (unsigned l = 0; l < sizeof layers / sizeof layers[0]; l++)
        for (int direction = FORWARD; direction < DIRECTIONS; direction++) {
            const product it = {group, layers[l].name, tokens, layers[l].k, layers[l].o, 1};
            measure_product(&it, direction, LAYERS, 2.0 + 0.6e-9 * 2.0 * tokens * layers[l].k * layers[l].o);
        }
}

void bench_blocks(void) {
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
static void measure_attention(uint32_t length) {
    static jobs forward, backward;
    const double one_product = (double)BATCH * CHANNELS * length * (length + 1.0);
    char shape[16], torch[96];
    bench_format(shape, sizeof shape, "T %u", length);
    if ((!any_takes_part(ATTENTION, "attention forward", shape) &&
         !any_takes_part(ATTENTION, "attention backward", shape)) ||
        !bench_turn("attention", shape, 3.0 + 2e-9 * one_product))
        return;
    forward = (jobs){.group = "attention forward", .shape = shape, .work = 2.0 * one_product};
    backward = (jobs){.group = "attention backward", .shape = shape, .work = 5.0 * one_product};
    for (unsigned s = 0; s < STORAGES; s++)
        if (takes_part(s, ATTENTION, forward.group, shape) || takes_part(s, ATTENTION, backward.group, shape))
            *add_case(&forward, s, run_job, NULL) = forward_job(length, &storages[s]);
    bench_format(torch, sizeof torch, "attention %d %u %d %d forward", BATCH, length, HEADS, HEAD_SIZE);
    compete(&forward, torch, 0.4);
    for (unsigned i = 0; i < forward.count; i++) {
        const unsigned s = forward.storage[i];
        run_job(&forward.of[i]);
        *add_case(&backward, s, run_job, NULL) = backward_job(&forward.of[i], length, &storages[s]);
    }
    bench_format(torch, sizeof torch, "attention %d %u %d %d backward", BATCH, length, HEADS, HEAD_SIZE);
    compete(&backward, torch, 0.0);
    for (unsigned i = 0; i < forward.count; i++) {
        backward.of[i].call.input_count = 1; /* the other inputs are used by forward only */
        free_job(&backward.of[i]);
        free_job(&forward.of[i]);
    }
}

void bench_attention(void) {
    const uint32_t longest = bench_settings.smoke ? 64 : 1024;
    for (uint32_t length = 64; length <= longest; length *= 2)
        measure_attention(length);
}

/* --- products of batches: the scores and the values of attention that is written out ------------------------------ */

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

static void measure_batches(uint32_t length, bool scores) {
    static jobs list;
    char shape[32], torch[96];
    bench_format(shape, sizeof shape, "%s %u", scores ? "q k^T" : "p v", length);
    bench_format(torch, sizeof torch, "matmul %d %u %d %s", BATCH * HEADS, length, HEAD_SIZE,
                 scores ? "scores" : "values");
    if (!any_takes_part(BATCHES, "matmul", shape) || !bench_turn("matmul", shape, 2.0 + 3e-6 * length * length))
        return;
    list = (jobs){.group = "matmul", .shape = shape, .work = 2.0 * BATCH * CHANNELS * length * length};
    for (unsigned s = 0; s < STORAGES; s++)
        if (takes_part(s, BATCHES, list.group, shape))
            *add_case(&list, s, run_job, NULL) = batches_job(length, scores, &storages[s]);
    compete(&list, torch, 0.0);
    for (unsigned i = 0; i < list.count; i++)
        free_job(&list.of[i]);
}

void bench_batches(void) {
    const uint32_t longest = bench_settings.smoke ? 64 : 512;
    for (uint32_t length = 64; length <= longest; length *= 2) {
        measure_batches(length, true);
        measure_batches(length, false);
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
static void measure_lstm(uint32_t steps, uint32_t units) {
    static jobs forward, backward;
    static gradient_jobs gradients[STORAGES];
    const double one_product = 2.0 * steps * SAMPLES * GATES * units * units;
    char shape[32], torch[96];
    bench_format(shape, sizeof shape, "T %u H %u", steps, units);
    if ((!any_takes_part(RECURRENCE, "lstm forward", shape) && !any_takes_part(RECURRENCE, "lstm backward", shape)) ||
        !bench_turn("lstm", shape, 4.0 + 3e-9 * one_product))
        return;
    forward = (jobs){.group = "lstm forward", .shape = shape, .work = one_product};
    backward = (jobs){.group = "lstm backward", .shape = shape, .work = 2.0 * one_product};
    for (unsigned s = 0; s < STORAGES; s++)
        if (takes_part(s, RECURRENCE, forward.group, shape) || takes_part(s, RECURRENCE, backward.group, shape))
            *add_case(&forward, s, run_job, NULL) = lstm_job(steps, units, &storages[s]);
    bench_format(torch, sizeof torch, "lstm %u %d %u forward", steps, SAMPLES, units);
    compete(&forward, torch, 0.4);
    for (unsigned i = 0; i < forward.count; i++) {
        const storage *stored = &storages[forward.storage[i]];
        run_job(&forward.of[i]);
        gradients[i].of_gates = lstm_backward_job(&forward.of[i], steps, units, stored);
        gradients[i].of_weight = lstm_weight_job(&forward.of[i], &gradients[i].of_gates, units, stored);
        (void)add_case(&backward, forward.storage[i], run_gradients, &gradients[i]);
    }
    bench_format(torch, sizeof torch, "lstm %u %d %u backward", steps, SAMPLES, units);
    compete(&backward, torch, 0.0);
    for (unsigned i = 0; i < forward.count; i++) {
        job *of_gates = &gradients[i].of_gates, *of_weight = &gradients[i].of_weight;
        of_weight->call.input_count = 0; /* its inputs, and all but dy, belong to the other jobs */
        free_job(of_weight);
        of_gates->call.inputs[0] = of_gates->call.inputs[FIRN_LSTM_BACKWARD_IN_DY];
        of_gates->call.input_count = 1;
        free_job(of_gates);
        free_job(&forward.of[i]);
    }
}

void bench_recurrence(void) {
    if (bench_settings.smoke) {
        measure_lstm(4, 16);
        return;
    }
    measure_lstm(64, 128);
    measure_lstm(64, 512);
}

/* --- convolutions ----------------------------------------------------------------------------------------------- */

/* Of square images, with square windows that overhang each border by half of their extent. */
typedef struct convolution {
    const char *name;
    uint32_t samples, extent, inputs, outputs, groups, kernel, stride;
} convolution;

static uint32_t windows_of(const convolution *it) {
    return (it->extent + it->kernel / 2 * 2 - it->kernel) / it->stride + 1;
}

static job convolution_job(const convolution *it, int direction, const storage *stored) {
    static const uint16_t codes[] = {FIRN_OP_conv, FIRN_OP_conv_backward_input, FIRN_OP_conv_backward_weight};
    const uint32_t x[] = {it->samples, it->extent, it->extent, it->inputs};
    const uint32_t y[] = {it->samples, windows_of(it), windows_of(it), it->outputs};
    const uint32_t w[] = {it->outputs, it->kernel, it->kernel, it->inputs / it->groups};
    const int64_t before = firn_pair(it->kernel / 2, it->kernel / 2);
    job made = {.call = {.input_count = 2,
                         .output_count = 1,
                         .integers = {it->groups, firn_pair(it->stride, it->stride), firn_pair(1, 1), before, before},
                         .reductions = {reduction_of(stored)}}};
    if (direction == INPUT_GRADIENT)
        made.call.integers[FIRN_CONV_BACKWARD_INPUT_HEIGHT] = made.call.integers[FIRN_CONV_BACKWARD_INPUT_WIDTH] =
            it->extent;
    if (direction == WEIGHT_GRADIENT)
        made.call.integers[FIRN_CONV_BACKWARD_WEIGHT_KERNEL] = firn_pair(it->kernel, it->kernel);
    made.call.inputs[0] = filled(stored->type, 4, direction == FORWARD ? x : y, 1.0f);
    made.call.inputs[1] = filled(stored->type, 4, direction == WEIGHT_GRADIENT ? x : w, 0.1f);
    made.call.outputs[0] = tensor(stored->type, 4, direction == FORWARD ? y : (direction == INPUT_GRADIENT ? x : w));
    find_kernel(&made, codes[direction]);
    return made;
}

/* Counts the terms outside the images, too. */
static void measure_convolution(const convolution *it, int direction) {
    static jobs list;
    char shape[48];
    const double outputs = (double)it->samples * windows_of(it) * windows_of(it) * it->outputs;
    bench_format(shape, sizeof shape, "%s %s", it->name, directions[direction]);
    list = (jobs){
        .group = "conv", .shape = shape, .work = 2.0 * outputs * it->kernel * it->kernel * it->inputs / it->groups};
    if (!any_takes_part(CONVOLUTIONS, list.group, shape) || !bench_turn(list.group, shape, 3.0 + 2e-9 * list.work))
        return;
    for (unsigned s = 0; s < STORAGES; s++)
        if (takes_part(s, CONVOLUTIONS, list.group, shape))
            *add_case(&list, s, run_job, NULL) = convolution_job(it, direction, &storages[s]);
    compete(&list, NULL, 0.0);
    for (unsigned i = 0; i < list.count; i++)
        free_job(&list.of[i]);
}

void bench_convolutions(void) {
    static const convolution some[] = {{"8 to 8", 1, 8, 8, 8, 1, 3, 1},        {"16 to 16", 32, 32, 16, 16, 1, 3, 1},
                                       {"64 to 64", 32, 8, 64, 64, 1, 3, 1},   {"128 to 128", 8, 16, 128, 128, 1, 3, 1},
                                       {"64 to 128", 8, 28, 64, 128, 1, 3, 2}, {"3 to 64", 4, 112, 3, 64, 1, 7, 2},
                                       {"depthwise", 8, 48, 64, 64, 64, 3, 1}};
    const unsigned count = bench_settings.smoke ? 1 : sizeof some / sizeof some[0];
    for (unsigned i = bench_settings.smoke ? 0 : 1; i < count; i++)
        for (int direction = FORWARD; direction < DIRECTIONS; direction++)
            measure_convolution(&some[i], direction);
}

/* --- AdamW ------------------------------------------------------------------------------------------------------ */

/* The number of elements: GPT-2's parameters, or fewer so that half of the available memory stays free, since PyTorch
 * holds a copy of its own. */
static uint32_t adamw_elements(void) {
    const uint32_t all = 124439808;
    const double most = bench_available_bytes() / 2 / (4 * sizeof(float)) / 2;
    if (bench_settings.smoke)
        return 1 << 16;
    return most < all ? (uint32_t)most / 1024 * 1024 : all;
}

void bench_adamw(void) {
    const uint32_t elements = adamw_elements();
    bench_case made = {.group = "adamw", .storage = "float32", .reference = BENCH_STREAMS, .run = run_job};
    bench_format(made.shape, sizeof made.shape, "%u parameters", elements);
    char torch[32];
    bench_format(torch, sizeof torch, "adamw %u", elements);
    if (!bench_is_wanted(made.group, made.shape, made.storage) || !bench_turn(made.group, made.shape, 6.0))
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
    bench_compete(&(bench_contest){&made, 1, torch, BENCH_EAGER_ONLY, 0.0});
    free_job(&work);
}
