/* Benchmarks of the ops of a step that are no product, at the shapes of GPT-2 124M with 4 x 256 tokens. Each is
 * compared with the bandwidth of the machine: the work is the bytes of its operands, each moved once. Most of these
 * operands fit into the last cache when a kernel runs alone, so the share may exceed 100 %. */
#include "plan/ops.h"
#include "tests/bench/bench.h"
#include "tests/bench/job.h"

enum { TOKENS = 1024, CHANNELS = 768, WIDE = 4 * CHANNELS, CLASSES = 50257, IDS_STEP = 7919 };

/* Operands, a letter each: x and r are [rows, columns], x in the type of the case and r in float32; h, c, n and l are
 * [columns] in the type of the case, [columns] and [rows] in float32, and one number; i is [rows] of ids; t is a table
 * of [classes, columns], of which `rows` rows count as moved. */
typedef struct element_op {
    const char *name;
    uint16_t op;
    uint32_t rows, columns;
    const char *inputs, *outputs;
    int64_t integer;
    float real;
} element_op;

static const element_op ops[] = {
    {"gelu", FIRN_OP_gelu, TOKENS, WIDE, "x", "x", 1, 0.0f},
    {"gelu_backward", FIRN_OP_gelu_backward, TOKENS, WIDE, "xx", "x", 1, 0.0f},
    {"layer_norm", FIRN_OP_layer_norm, TOKENS, CHANNELS, "xcc", "xnn", FIRN_FLOAT32, 1e-5f},
    {"layer_norm_backward", FIRN_OP_layer_norm_backward, TOKENS, CHANNELS, "xxcnn", "x", FIRN_FLOAT32, 0.0f},
    {"layer_norm_affine", FIRN_OP_layer_norm_backward_affine, TOKENS, CHANNELS, "xxnn", "cc", FIRN_FLOAT32, 0.0f},
    {"sum_leading", FIRN_OP_sum_leading, TOKENS, WIDE, "x", "h", 1, 0.0f},
    {"add", FIRN_OP_add, TOKENS, CHANNELS, "xx", "x", 0, 0.0f},
    {"cast of a weight", FIRN_OP_cast, WIDE, CHANNELS, "r", "x", 0, 0.0f},
    {"cast to float32", FIRN_OP_cast, WIDE, CHANNELS, "x", "r", 0, 0.0f},
    {"cross_entropy", FIRN_OP_cross_entropy, TOKENS, CLASSES, "xi", "lnn", 0, 0.0f},
    {"cross_entropy_backward", FIRN_OP_cross_entropy_backward, TOKENS, CLASSES, "lxinn", "x", 0, 0.0f},
    {"embedding", FIRN_OP_embedding, TOKENS, CHANNELS, "it", "x", 0, 0.0f},
    {"embedding_backward", FIRN_OP_embedding_backward, TOKENS, CHANNELS, "ixt", "t", CLASSES, 0.0f},
};

static const struct {
    const char *name;
    uint8_t type;
} types[] = {{"float32", FIRN_FLOAT32}, {"bfloat16", FIRN_BFLOAT16}, {"float16", FIRN_FLOAT16}};
enum { TYPES = sizeof types / sizeof types[0] };

static firn_tensor ids_below(uint32_t rows, uint32_t limit) {
    const firn_tensor it = tensor(FIRN_INT32, 1, &rows);
    int32_t *ids = it.data;
    for (uint32_t i = 0; i < rows; i++)
        ids[i] = (int32_t)((uint64_t)i * IDS_STEP % limit);
    return it;
}

static firn_tensor operand(const element_op *op, char letter, uint8_t type) {
    const uint32_t dims[] = {op->rows, op->columns}, table[] = {CLASSES, op->columns}, one = 1;
    switch (letter) {
    case 'x':
        return filled(type, 2, dims, 1.0f);
    case 'r':
        return filled(FIRN_FLOAT32, 2, dims, 1.0f);
    case 'h':
        return filled(type, 1, dims + 1, 1.0f);
    case 'c':
        return filled(FIRN_FLOAT32, 1, dims + 1, 1.0f);
    case 'n':
        return filled(FIRN_FLOAT32, 1, dims, 1.0f);
    case 'i':
        return ids_below(op->rows, op->op == FIRN_OP_cross_entropy || op->op == FIRN_OP_cross_entropy_backward
                                       ? op->columns
                                       : (uint32_t)CLASSES);
    case 't':
        return filled(FIRN_FLOAT32, 2, table, 1.0f);
    default:
        return filled(FIRN_FLOAT32, 1, &one, 1.0f);
    }
}

static double bytes_moved(const element_op *op, char letter, const firn_tensor *it) {
    const size_t elements = letter == 't' ? (size_t)op->rows * op->columns : it->elements;
    return (double)elements * (double)firn_type_bytes(it->type);
}

/* Makes the job of an op, and adds the bytes that it moves. A gradient of a table is added in place. */
static job job_of(const element_op *op, uint8_t type, double *bytes) {
    job made = {.call = {.integers = {op->integer}, .reals = {op->real}}};
    test_call *call = &made.call;
    for (const char *letter = op->inputs; *letter != 0; letter++) {
        firn_tensor *it = &call->inputs[call->input_count++];
        *it = operand(op, *letter, type);
        *bytes += bytes_moved(op, *letter, it);
    }
    for (const char *letter = op->outputs; *letter != 0; letter++) {
        firn_tensor *it = &call->outputs[call->output_count++];
        *it = *letter == 't' ? call->inputs[call->input_count - 1] : operand(op, *letter, type);
        *bytes += bytes_moved(op, *letter, it);
    }
    find_kernel(&made, op->op);
    return made;
}

static bool any_is_wanted(const element_op *op) {
    bool wanted = false;
    for (unsigned t = 0; t < TYPES; t++)
        wanted = wanted || bench_is_wanted("element", op->name, types[t].name);
    return wanted;
}

static void measure_op(const element_op *op) {
    job jobs[TYPES];
    bench_case cases[TYPES];
    unsigned count = 0;
    if (!any_is_wanted(op) || !bench_turn("element", op->name, 2.0))
        return;
    for (unsigned t = 0; t < TYPES; t++) {
        bench_case *it = &cases[count];
        if (!bench_is_wanted("element", op->name, types[t].name))
            continue;
        *it = (bench_case){.group = "element", .reference = BENCH_TRIAD, .run = run_job, .context = &jobs[count]};
        bench_format(it->shape, sizeof it->shape, "%s", op->name);
        bench_format(it->storage, sizeof it->storage, "%s", types[t].name);
        jobs[count++] = job_of(op, types[t].type, &it->work);
    }
    bench_compete(&(bench_contest){.cases = cases, .count = count});
    for (unsigned i = 0; i < count; i++)
        free_job(&jobs[i]);
}

void bench_elements(void) {
    element_op op;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        op = ops[i];
        if (bench_settings.smoke)
            op.rows = 4;
        measure_op(&op);
    }
}
