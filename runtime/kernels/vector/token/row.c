/* The product of one row; see row.h. A sum is a lane of a register, to which fma(row, weight, sum) is applied for each
 * term in ascending order. There are two loops, for the two layouts of a weight:
 *
 * - If the columns of a term are consecutive, the sums of the piece stay in the L1 cache, and the weight is read term
 * by term, in the order of memory.
 * - If the terms of a column are consecutive, the sums of BLOCK_COLUMNS columns stay in registers. Squares of the
 * weight are transposed in registers, so that a lane sees the terms of its column in ascending order.
 *
 * Both loops prefetch in the order of memory. Without that, the second would read as many streams as it has columns,
 * which is half as fast, because the hardware does not follow so many. Nothing is packed, and the weight is not widened
 * as a whole. */
#include "runtime/kernels/vector/token/row.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/pieces.h"

enum {
    LINE = 64,            /* bytes of a cache line */
    PIECE_COLUMNS = 4096, /* at most: their sums stay in L1 */
    BLOCK_COLUMNS = 16,   /* whole registers: enough independent sums to hide most of an fma */
    BLOCK_VECTORS = BLOCK_COLUMNS / FIRN_VECTOR,
    BLOCK_TERMS = 768, /* of a block that is prefetched: it stays in L2 beside the next one */
    NEAR_LINES = 7,    /* that the first loop prefetches ahead: the hardware goes on from there */
    FAR_LINES = 64,    /* the same where segments are so short that the hardware does not, as in a cache of values */
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

/* --- the factors -------------------------------------------------------------------------------------------------- */

static uint8_t type_of(const firn_matrix *weight) {
    return weight->type >= FIRN_ROUNDED_TO ? weight->type - FIRN_ROUNDED_TO : weight->type;
}

/* Loads elements of a weight; with `rounds` they are float32, and rounded to the type. Unselected lanes are +0. */
static inline __attribute__((always_inline)) firn_vector load(uint8_t type, bool rounds, const void *data, size_t index,
                                                              firn_lanes lanes) {
    return rounds ? firn_vector_round(type, firn_vector_widen(data, FIRN_FLOAT32, index, lanes))
                  : firn_vector_widen(data, type, index, lanes);
}

static inline __attribute__((always_inline)) size_t loaded_bytes(uint8_t type, bool rounds) {
    return rounds || type == FIRN_FLOAT32 ? sizeof(float) : sizeof(uint16_t);
}

/* --- prefetching -------------------------------------------------------------------------------------------------- */

/* Segments of memory whose lines are prefetched one after the other. */
typedef struct ahead {
    const uint8_t *segment;
    size_t at, bytes; /* in the segment, and of each segment */
    size_t step;      /* bytes from one segment to the next */
} ahead;

static inline void next_line(ahead *lines) {
    lines->at += LINE;
    if (lines->at < lines->bytes)
        return;
    lines->at = 0;
    lines->segment += lines->step;
}

static inline void prefetch(ahead *lines, bool far) {
    if (far)
        firn_prefetch_far(lines->segment + lines->at);
    else
        firn_prefetch_near(lines->segment + lines->at);
    next_line(lines);
}

/* --- consecutive columns ------------------------------------------------------------------------------------------ */

/* Registers of a line of the smallest type. */
#define LINE_VECTORS (LINE / sizeof(uint16_t) / FIRN_VECTOR)

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
        const firn_vector weight = load(type, rounds, data, index + v * FIRN_VECTOR, firn_first_lanes(FIRN_VECTOR));
        firn_vector_store(at, firn_vector_fma(factor, weight, firn_vector_load(at)));
    }
}

static inline __attribute__((always_inline)) void add_consecutive(uint8_t type, const columns *c, bool rounds,
                                                                  const bool is_short) {
    const size_t bytes = loaded_bytes(type, rounds), line = LINE / bytes, step = c->weight->row_step;
    const void *const data = c->weight->data;
    size_t index = c->weight->first + c->first;
    ahead lines = {(const uint8_t *)data + index * bytes, 0, c->count * bytes, step * bytes};
    for (size_t i = 0; i < (is_short ? FAR_LINES : NEAR_LINES); i++)
        next_line(&lines);
    for (size_t term = 0; term < c->terms; term++, index += step) {
        const firn_vector factor = firn_vector_fill(c->row[term]);
        size_t i = 0;
        for (; i + line <= c->count; i += line) {
            prefetch(&lines, is_short);
            add_registers(type, rounds, c->sums + i, factor, data, index + i, line / FIRN_VECTOR);
        }
        if (i < c->count)
            next_line(&lines);
        for (; i < c->count; i += FIRN_VECTOR) {
            const firn_lanes lanes = firn_first_lanes(c->count - i);
            const firn_vector weight = load(type, rounds, data, index + i, lanes);
            firn_vector_store_some(c->sums + i, lanes,
                                   firn_vector_fma(factor, weight, firn_vector_load_some(lanes, c->sums + i)));
        }
    }
}

/* --- consecutive terms -------------------------------------------------------------------------------------------- */

/* Loads a square of the weight, of which `count` columns exist, and turns it: register t then has term t of each
 * column. */
static inline __attribute__((always_inline)) void load_square(uint8_t type, bool rounds, const firn_matrix *weight,
                                                              size_t index, size_t count, firn_lanes terms,
                                                              firn_vector square[FIRN_VECTOR]) {
    FIRN_UNROLL
    for (size_t i = 0; i < FIRN_VECTOR; i++)
        square[i] =
            i < count ? load(type, rounds, weight->data, index + i * weight->column_step, terms) : firn_vector_zero();
    firn_vector_transpose(square);
}

/* Adds a register of terms to the sums of a block, all of whose columns exist. */
static inline __attribute__((always_inline)) void add_whole(uint8_t type, bool rounds, const firn_matrix *weight,
                                                            size_t index, const float *row,
                                                            firn_vector sums[BLOCK_VECTORS]) {
    firn_vector squares[BLOCK_VECTORS][FIRN_VECTOR];
    FIRN_UNROLL
    for (size_t v = 0; v < BLOCK_VECTORS; v++)
        load_square(type, rounds, weight, index + v * FIRN_VECTOR * weight->column_step, FIRN_VECTOR,
                    firn_first_lanes(FIRN_VECTOR), squares[v]);
    FIRN_UNROLL
    for (size_t i = 0; i < FIRN_VECTOR; i++) {
        const firn_vector factor = firn_vector_fill(row[i]);
        FIRN_UNROLL
        for (size_t v = 0; v < BLOCK_VECTORS; v++)
            sums[v] = firn_vector_fma(factor, squares[v][i], sums[v]);
    }
}

/* Adds at most a register of terms to the sums of at most a block of columns. */
static inline __attribute__((always_inline)) void add_some(uint8_t type, bool rounds, const columns *c, size_t index,
                                                           size_t term, firn_vector sums[BLOCK_VECTORS]) {
    const size_t terms = firn_smaller(FIRN_VECTOR, c->terms - term);
    firn_vector square[FIRN_VECTOR];
    for (size_t v = 0; v < BLOCK_VECTORS; v++) {
        const size_t before = v * FIRN_VECTOR;
        if (before >= c->count)
            break;
        load_square(type, rounds, c->weight, index + before * c->weight->column_step + term, c->count - before,
                    firn_first_lanes(terms), square);
        for (size_t i = 0; i < terms; i++)
            sums[v] = firn_vector_fma(firn_vector_fill(c->row[term + i]), square[i], sums[v]);
    }
}

/* The lines of the block of terms behind [term, term + terms), which are those of the next columns at the end. */
static inline ahead block_behind(const columns *c, size_t index, size_t bytes, size_t term, size_t terms) {
    const size_t column_step = c->weight->column_step;
    const bool is_last = term + terms >= c->terms;
    const size_t next = is_last ? index + BLOCK_COLUMNS * column_step : index + term + terms;
    return (ahead){(const uint8_t *)c->weight->data + next * bytes, 0, terms * bytes, column_step * bytes};
}

/* Computes the sums of a block of columns. */
static inline __attribute__((always_inline)) void add_block(uint8_t type, bool rounds, const columns *c) {
    const size_t bytes = loaded_bytes(type, rounds), lines_of_step = BLOCK_COLUMNS * FIRN_VECTOR * bytes / LINE;
    const size_t index = c->weight->first + c->first * c->weight->column_step;
    const size_t whole = c->count == BLOCK_COLUMNS ? c->terms / FIRN_VECTOR * FIRN_VECTOR : 0;
    firn_vector sums[BLOCK_VECTORS];
    FIRN_UNROLL
    for (size_t v = 0; v < BLOCK_VECTORS; v++)
        sums[v] = firn_vector_zero();
    for (size_t first = 0; first < whole; first += BLOCK_TERMS) {
        const size_t end = firn_smaller(first + BLOCK_TERMS, whole);
        ahead lines = block_behind(c, index, bytes, first, end - first);
        for (size_t term = first; term < end; term += FIRN_VECTOR) {
            for (size_t i = 0; i < lines_of_step; i++)
                prefetch(&lines, true);
            add_whole(type, rounds, c->weight, index + term, c->row + term, sums);
        }
    }
    for (size_t term = whole; term < c->terms; term += FIRN_VECTOR)
        add_some(type, rounds, c, index, term, sums);
    FIRN_UNROLL
    for (size_t v = 0; v < BLOCK_VECTORS; v++) {
        const size_t before = v * FIRN_VECTOR;
        firn_vector_store_some(c->sums + (before < c->count ? before : 0),
                               firn_first_lanes(before < c->count ? c->count - before : 0), sums[v]);
    }
}

static inline __attribute__((always_inline)) void add_turned(uint8_t type, const columns *c, bool rounds) {
    for (size_t i = 0; i < c->count; i += BLOCK_COLUMNS) {
        columns block = *c;
        block.first += i;
        block.count = firn_smaller(BLOCK_COLUMNS, c->count - i);
        block.sums += i;
        add_block(type, rounds, &block);
    }
}

/* --- a loop for each type ----------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void add(uint8_t type, const columns *c, bool rounds) {
    if (c->weight->column_step != 1)
        add_turned(type, c, rounds);
    else if (c->count * loaded_bytes(type, rounds) < SHORT_BYTES)
        add_consecutive(type, c, rounds, true);
    else
        add_consecutive(type, c, rounds, false);
}

static inline __attribute__((always_inline)) void add_as_stored(uint8_t type, const void *arguments) {
    add(type, arguments, false);
}

static inline __attribute__((always_inline)) void add_rounded(uint8_t type, const void *arguments) {
    if (type != FIRN_FLOAT32)
        add(type, arguments, true);
}

void firn_row_sums(const float *row, const firn_matrix *weight, size_t terms, size_t first, size_t count, float *sums) {
    columns c = {.weight = weight, .row = row, .terms = terms, .first = first, .count = count};
    c.sums = sums; /* assigned here because clang-tidy would ask for const in an initialiser */
    for (size_t i = 0; i < count; i++)
        sums[i] = 0.0f;
    firn_for_type(type_of(weight), weight->type >= FIRN_ROUNDED_TO ? add_rounded : add_as_stored, &c);
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
    firn_row_sums(widen_row(product, slot), &product->right, product->terms, first, count, sums);
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
    const size_t share = firn_round_up(firn_ceiling(product->columns, threads), BLOCK_COLUMNS);
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
