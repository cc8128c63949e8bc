/* Divides products with chunked sums into rectangles; see cut.h. */
#include "runtime/kernels/vector/chunked/cut.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/reduce/matmul.h"

static size_t count(const firn_product *product, size_t rows, size_t columns) {
    return firn_ceiling(product->rows, rows) * firn_ceiling(product->columns, columns);
}

/* Uses smaller rectangles if those of the largest size are fewer than `wanted`. */
static firn_chunked_cut cut_of(const firn_linear *linear, const firn_chunked_way *way, size_t wanted) {
    const firn_product *product = &linear->product;
    firn_chunked_cut cut = {.linear = linear, .rows = way->rows, .columns = way->columns};
    const bool several = wanted > 1; /* one there is always */
    while (several && cut.columns > way->least_columns && count(product, cut.rows, cut.columns) < wanted)
        cut.columns /= 2;
    while (several && cut.rows > way->least_rows && count(product, cut.rows, cut.columns) < wanted)
        cut.rows /= 2;
    /* Rectangles of about the same height, each of whole register tiles. */
    const size_t height = firn_ceiling(product->rows, firn_ceiling(product->rows, cut.rows));
    cut.rows = firn_round_up(height, way->least_rows);
    cut.across = firn_ceiling(product->columns, cut.columns);
    cut.pieces = count(product, cut.rows, cut.columns);
    return cut;
}

void firn_chunked_run(uint16_t op, const firn_kernel_call *call, const firn_chunked_way *way, firn_piece_body body) {
    firn_linear linear;
    firn_linear_of(&linear, op, call);
    const firn_product *product = &linear.product;
    const uint64_t cost = (uint64_t)product->rows * product->columns * product->terms / way->cost;
    const size_t threads = firn_parallel_threads(&call->parallel, cost);
    firn_chunked_cut cut = cut_of(&linear, way, threads > 1 ? threads * way->pieces : 1);
    cut.continues = op == FIRN_KERNEL_ADD_WEIGHT;
    firn_pieces_run(call, way->slot_bytes, cut.pieces, cost, body, &cut);
}

/* All batches have the division of the first one. */
typedef struct batches {
    const firn_matmul *matmul;
    firn_chunked_cut cut;
    firn_piece_body body;
} batches;

static void run_batch_piece(void *argument, size_t piece, void *slot) {
    const batches *all = argument;
    firn_linear linear;
    firn_tensor out;
    firn_matmul_batch(all->matmul, piece / all->cut.pieces, &linear, &out);
    firn_chunked_cut cut = all->cut;
    cut.linear = &linear;
    all->body(&cut, piece % cut.pieces, slot);
}

void firn_chunked_run_matmul(const firn_kernel_call *call, const firn_chunked_way *way, firn_piece_body body) {
    firn_matmul matmul;
    firn_linear linear;
    firn_tensor out;
    firn_matmul_of(&matmul, call);
    firn_matmul_batch(&matmul, 0, &linear, &out);
    const firn_product *product = &matmul.product;
    const uint64_t cost = (uint64_t)matmul.out->elements * product->terms / way->cost;
    const size_t threads = firn_parallel_threads(&call->parallel, cost);
    const size_t wanted = threads > 1 ? firn_ceiling(threads * way->pieces, matmul.batches) : 1;
    batches all = {.matmul = &matmul, .cut = cut_of(&linear, way, wanted), .body = body};
    firn_pieces_run(call, way->slot_bytes, matmul.batches * all.cut.pieces, cost, run_batch_piece, &all);
}

firn_rectangle firn_chunked_cut_piece(const firn_chunked_cut *cut, size_t piece) {
    const firn_product *product = &cut->linear->product;
    firn_rectangle r = {.row = piece / cut->across * cut->rows, .column = piece % cut->across * cut->columns};
    r.rows = firn_smaller(cut->rows, product->rows - r.row);
    r.columns = firn_smaller(cut->columns, product->columns - r.column);
    return r;
}

void firn_chunked_begin(const firn_chunked_cut *cut, const firn_rectangle *r, float *totals, size_t step,
                        size_t cleared) {
    const size_t columns = cut->linear->product.columns;
    for (size_t row = 0; row < r->rows; row++) {
        float *to = totals + row * step;
        memset(to, 0, cleared * sizeof *to);
        if (cut->continues)
            memcpy(to, (const float *)cut->linear->out->data + (r->row + row) * columns + r->column,
                   r->columns * sizeof *to);
    }
}

/* Processes a block of columns at a time, because of the bias. */
void firn_chunked_store(const firn_linear *linear, const firn_rectangle *r, float *totals, size_t step) {
    const firn_tensor *out = linear->out, *bias = linear->bias;
    float bias_values[FIRN_BLOCK];
    for (size_t done = 0; done < r->columns; done += FIRN_BLOCK) {
        const size_t columns = firn_smaller(FIRN_BLOCK, r->columns - done), column = r->column + done;
        if (bias != NULL)
            firn_widen(bias_values, bias->data, bias->type, column, columns);
        for (size_t row = 0; row < r->rows; row++) {
            float *values = totals + row * step + done;
            for (size_t i = 0; bias != NULL && i < columns; i++)
                values[i] += bias_values[i];
            firn_narrow(out->data, out->type, (r->row + row) * linear->product.columns + column, values, columns);
        }
    }
}
