/* The product of one row; see row.h. A sum is a lane of a register, to which fma(row, weight, sum) is applied for each
 * term in ascending order. There are two loops, for the two layouts of a weight:
 *
 * - If the columns of a term are consecutive, the sums of the piece stay in the L1 cache, and the weight is read term
 * by term, in the order of memory.
 * - If the terms of a column are consecutive, the sums of FIRN_TURNED columns stay in registers. Squares of the
 * weight are transposed in registers, so that a lane sees the terms of its column in ascending order.
 *
 * Both loops prefetch in the order of memory. Without that, the second would read as many streams as it has columns,
 * which is half as fast, because the hardware does not follow so many. Nothing is packed, and the weight is not widened
 * as a whole. */
#include "runtime/kernels/vector/token/row.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/pieces.h"
#include "runtime/kernels/vector/token/walk.h"

enum {
    PIECE_COLUMNS = 4096, /* at most: their sums stay in L1 */
    BLOCK_TERMS = 768,    /* of a block that is prefetched: it stays in L2 beside the next one */
    NEAR_LINES = 7,       /* that the first loop prefetches ahead: the hardware goes on from there */
    FAR_LINES = 64,       /* the same where segments are so short that the hardware does not */
    SHORT_BYTES = 1024,
    BIASES = 64 /* values of the bias that are widened at a time */
};

/* A call, divided into pieces of columns. */
typedef struct row_product {
    const firn_linear *linear;
    size_t piece_columns;
} row_product;

/* The columns of a piece, or of a block of it. */
typedef struct columns {
    const firn_matrix *weight;
    const float *row; /* `terms` values */
    size_t terms;
    size_t first, count; /* of the weight's columns */
    float *sums;         /* `count` values */
} columns;

/* --- consecutive columns ------------------------------------------------------------------------------------------ */

/* Registers of a line of the smallest type. */
#define LINE_VECTORS (FIRN_LINE / sizeof(uint16_t) / FIRN_VECTOR)

/* Adds a term to the sums of `vectors` registers, at most LINE_VECTORS: a constant bound, because clang also compiles
 * these loops for a type that it does not know. */
static inline __attribute__((always_inline)) void add_registers(uint8_t type, bool rounds, float *sums,
                                                                firn_vector factor, const void *data, size_t index,
                                                                const size_t vectors) {
    FIRN_UNROLL
    for (size_t v = 0; v < LINE_VECTORS; v++) {
        if (v >= vectors)
            continue;
        float *at = sums + v * FIRN_VECTOR;
        const firn_vector weight =
            firn_factor_load(type, rounds, data, index + v * FIRN_VECTOR, firn_first_lanes(FIRN_VECTOR));
        firn_vector_store(at, firn_vector_fma(factor, weight, firn_vector_load(at)));
    }
}

static inline __attribute__((always_inline)) void add_consecutive(uint8_t type, const columns *c, bool rounds,
                                                                  const bool is_short) {
    const size_t bytes = firn_factor_bytes(type, rounds), line = FIRN_LINE / bytes, step = c->weight->row_step;
    const void *const data = c->weight->data;
    size_t index = c->weight->first + c->first;
    firn_lines lines = {(const uint8_t *)data + index * bytes, 0, c->count * bytes, step * bytes};
    for (size_t i = 0; i < (is_short ? FAR_LINES : NEAR_LINES); i++)
        firn_lines_next(&lines);
    for (size_t term = 0; term < c->terms; term++, index += step) {
        const firn_vector factor = firn_vector_fill(c->row[term]);
        size_t i = 0;
        for (; i + line <= c->count; i += line) {
            firn_lines_prefetch(&lines, is_short);
            add_registers(type, rounds, c->sums + i, factor, data, index + i, line / FIRN_VECTOR);
        }
        if (i < c->count)
            firn_lines_next(&lines);
        for (; i < c->count; i += FIRN_VECTOR) {
            const firn_lanes lanes = firn_first_lanes(c->count - i);
            const firn_vector weight = firn_factor_load(type, rounds, data, index + i, lanes);
            firn_vector_store_some(c->sums + i, lanes,
                                   firn_vector_fma(factor, weight, firn_vector_load_some(lanes, c->sums + i)));
        }
    }
}

/* --- consecutive terms -------------------------------------------------------------------------------------------- */

/* The lines of the block of terms behind [term, term + terms), which are those of the next columns at the end. */
static inline firn_lines block_behind(const columns *c, size_t index, size_t bytes, size_t term, size_t terms) {
    const size_t column_step = c->weight->column_step;
    const bool is_last = term + terms >= c->terms;
    const size_t next = is_last ? index + FIRN_TURNED * column_step : index + term + terms;
    return (firn_lines){(const uint8_t *)c->weight->data + next * bytes, 0, terms * bytes, column_step * bytes};
}

/* Computes the sums of a block of columns. */
static inline __attribute__((always_inline)) void add_block(uint8_t type, bool rounds, const columns *c) {
    const size_t bytes = firn_factor_bytes(type, rounds), lines_of_step = bytes * FIRN_TURNED * FIRN_VECTOR / FIRN_LINE;
    const size_t column_step = c->weight->column_step;
    const firn_turned block = {c->weight->data, c->weight->first + c->first * column_step, column_step, c->count};
    const size_t whole = c->count == FIRN_TURNED ? c->terms / FIRN_VECTOR * FIRN_VECTOR : 0;
    firn_vector sums[FIRN_TURNED_VECTORS];
    FIRN_UNROLL
    for (size_t v = 0; v < FIRN_TURNED_VECTORS; v++)
        sums[v] = firn_vector_zero();
    for (size_t first = 0; first < whole; first += BLOCK_TERMS) {
        const size_t end = firn_smaller(first + BLOCK_TERMS, whole);
        firn_lines lines = block_behind(c, block.index, bytes, first, end - first);
        for (size_t term = first; term < end; term += FIRN_VECTOR) {
            for (size_t i = 0; i < lines_of_step; i++)
                firn_lines_prefetch(&lines, true);
            firn_turned_add_whole(type, rounds, &block, term, c->row + term, sums);
        }
    }
    for (size_t term = whole; term < c->terms; term += FIRN_VECTOR)
        firn_turned_add_some(type, rounds, &block, term, firn_smaller(FIRN_VECTOR, c->terms - term), c->row + term,
                             sums);
    firn_turned_store(&block, c->sums, sums);
}

static inline __attribute__((always_inline)) void add_turned(uint8_t type, const columns *c, bool rounds) {
    for (size_t i = 0; i < c->count; i += FIRN_TURNED) {
        columns block = *c;
        block.first += i;
        block.count = firn_smaller(FIRN_TURNED, c->count - i);
        block.sums += i;
        add_block(type, rounds, &block);
    }
}

/* --- a loop for each type ----------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void add(uint8_t type, const columns *c, bool rounds) {
    if (c->weight->column_step != 1)
        add_turned(type, c, rounds);
    else if (c->count * firn_factor_bytes(type, rounds) < SHORT_BYTES)
        add_consecutive(type, c, rounds, true);
    else
        add_consecutive(type, c, rounds, false);
}

/* A loop is compiled for each type, and none for a type that is not known before. */
static inline __attribute__((always_inline)) void add_as_stored(uint8_t type, const void *arguments) {
    add(type, arguments, false);
}

static inline __attribute__((always_inline)) void add_rounded(uint8_t type, const void *arguments) {
    if (type != FIRN_FLOAT32)
        add(type, arguments, true);
}

/* Computes sums[i] = sum over terms of row[term] * weight[term][first + i] for `count` columns. A sum that is NaN may
 * have any payload. */
static void row_sums(const float *row, const firn_matrix *weight, size_t terms, size_t first, size_t count,
                     float *sums) {
    columns c = {.weight = weight, .row = row, .terms = terms, .first = first, .count = count};
    c.sums = sums; /* assigned here because clang-tidy would ask for const in an initialiser */
    for (size_t i = 0; i < count; i++)
        sums[i] = 0.0f;
    if (weight->type >= FIRN_ROUNDED_TO)
        firn_for_type(weight->type - FIRN_ROUNDED_TO, add_rounded, &c);
    else
        firn_for_type(weight->type, add_as_stored, &c);
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* Returns the row in float32: it is widened into the slot if need be. */
static const float *widen_row(const firn_product *product, float *slot) {
    const firn_matrix *row = &product->left;
    if (row->type == FIRN_FLOAT32)
        return (const float *)row->data + row->first;
    firn_widen(slot, row->data, row->type, row->first, product->terms);
    return slot;
}

static void add_bias(const firn_tensor *bias, size_t first, size_t columns, float *sums) {
    float values[BIASES];
    for (size_t i = 0; bias != NULL && i < columns; i += BIASES) {
        const size_t count = firn_smaller(BIASES, columns - i);
        firn_widen(values, bias->data, bias->type, first + i, count);
        for (size_t k = 0; k < count; k++)
            sums[i + k] += values[k];
    }
}

static void multiply_piece(void *argument, size_t number, void *slot) {
    const row_product *it = argument;
    const firn_product *product = &it->linear->product;
    const firn_tensor *out = it->linear->out;
    const size_t first = number * it->piece_columns, count = firn_smaller(it->piece_columns, product->columns - first);
    float *sums = out->type == FIRN_FLOAT32 ? (float *)out->data + first : (float *)slot + product->terms;
    row_sums(widen_row(product, slot), &product->right, product->terms, first, count, sums);
    add_bias(it->linear->bias, first, count, sums);
    firn_narrow(out->data, out->type, first, sums, count);
}

bool firn_row_is_alone(uint16_t op, const firn_linear *linear) {
    const firn_product *product = &linear->product;
    return op == FIRN_OP_linear && product->rows == 1 && product->reduction.kind == FIRN_REDUCTION_F32 &&
           product->left.column_step == 1;
}

/* Without threads a piece has as many columns as are allowed, because its lines then are consecutive for longest. */
static size_t columns_of_piece(const firn_product *product, size_t threads) {
    const size_t share = firn_round_up(firn_ceiling(product->columns, threads), FIRN_TURNED);
    return firn_smaller(share, PIECE_COLUMNS);
}

void firn_row_multiply(const firn_kernel_call *call, const firn_linear *linear) {
    const firn_product *product = &linear->product;
    const uint64_t cost = (uint64_t)product->columns * product->terms / FIRN_MULTIPLICATIONS;
    row_product it = {linear, columns_of_piece(product, firn_parallel_threads(&call->parallel, cost))};
    firn_pieces_run(call, (size_t)firn_row_scratch(linear), firn_ceiling(product->columns, it.piece_columns), cost,
                    multiply_piece, &it);
}

uint64_t firn_row_scratch(const firn_linear *linear) {
    const firn_product *product = &linear->product;
    const bool widens = product->left.type != FIRN_FLOAT32, narrows = linear->out->type != FIRN_FLOAT32;
    const size_t sums = narrows ? columns_of_piece(product, 1) : 0;
    return widens || narrows ? (product->terms + sums) * sizeof(float) : 0;
}
