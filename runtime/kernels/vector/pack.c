/* Packs factors for the register tile; see pack.h. */
#include "runtime/kernels/vector/pack.h"

#include "runtime/kernels/vector/convert.h"

enum { TWO_VECTORS = 2 * FIRN_VECTOR, FOUR_VECTORS = 4 * FIRN_VECTOR };

/* --- factors ------------------------------------------------------------------------------------------------------ */

/* Loads elements of a factor, starting with `index`, as firn_vector_widen does, and rounds those that the matrix has to
 * be rounded. */
static inline __attribute__((always_inline)) firn_vector read_factor(const void *data, uint8_t type, size_t index,
                                                                     firn_lanes lanes) {
    if (type >= FIRN_ROUNDED_TO)
        return firn_vector_round(type - FIRN_ROUNDED_TO, firn_vector_load_some(lanes, (const float *)data + index));
    return firn_vector_widen(data, type, index, lanes);
}

/* firn_for_type for the types of a matrix. */
static inline __attribute__((always_inline)) void for_factor_type(uint8_t type, firn_type_body body,
                                                                  const void *arguments) {
    switch (type) {
    case FIRN_ROUNDED_TO + FIRN_FLOAT16:
        body(FIRN_ROUNDED_TO + FIRN_FLOAT16, arguments);
        break;
    case FIRN_ROUNDED_TO + FIRN_BFLOAT16:
        body(FIRN_ROUNDED_TO + FIRN_BFLOAT16, arguments);
        break;
    case FIRN_ROUNDED_TO + FIRN_CBFLOAT16:
        body(FIRN_ROUNDED_TO + FIRN_CBFLOAT16, arguments);
        break;
    default:
        firn_for_type(type, body, arguments);
    }
}

/* --- panels ------------------------------------------------------------------------------------------------------- */

/* Packs lanes that are consecutive in memory: those of `low`, then those of `high`. */
static inline __attribute__((always_inline)) void pack_straight(float *out, const void *data, uint8_t type,
                                                                size_t first, size_t step, size_t terms, firn_lanes low,
                                                                firn_lanes high) {
    for (size_t term = 0; term < terms; term++, first += step, out += TWO_VECTORS) {
        firn_vector_store(out, read_factor(data, type, first, low));
        firn_vector_store(out + FIRN_VECTOR, read_factor(data, type, first + FIRN_VECTOR, high));
    }
}

static inline __attribute__((always_inline)) void pack_straight_narrow(float *out, const void *data, uint8_t type,
                                                                       size_t first, size_t step, size_t terms,
                                                                       firn_lanes lanes) {
    for (size_t term = 0; term < terms; term++, first += step, out += FIRN_VECTOR)
        firn_vector_store(out, read_factor(data, type, first, lanes));
}

/* Packs terms that are consecutive in memory. */
static inline __attribute__((always_inline)) void pack_transposed(float *out, size_t vectors, const void *data,
                                                                  uint8_t type, size_t first, size_t step, size_t terms,
                                                                  size_t lanes) {
    const size_t width = vectors * FIRN_VECTOR;
    for (size_t lane = 0; lane < width; lane += FIRN_VECTOR) {
        const size_t here = lanes > lane ? lanes - lane : 0;
        for (size_t term = 0; term < terms; term += FIRN_VECTOR) {
            const firn_lanes mask = firn_first_lanes(terms - term);
            firn_vector v[FIRN_VECTOR];
            FIRN_UNROLL
            for (size_t i = 0; i < FIRN_VECTOR; i++)
                v[i] = i < here ? read_factor(data, type, first + (lane + i) * step + term, mask) : firn_vector_zero();
            firn_vector_transpose(v);
            float *square = out + term * width + lane;
            FIRN_UNROLL
            for (size_t i = 0; i < FIRN_VECTOR; i++)
                if (i < terms - term)
                    firn_vector_store(square + i * width, v[i]);
        }
    }
}

/* The source and the destination of packing: the given numbers of terms and lanes (or rows) of a matrix, starting with
 * element `first`. */
typedef struct packing {
    float *out;
    size_t width; /* of the output: vectors of a panel, height of a strip, floats of a row */
    const firn_matrix *from;
    size_t first, terms, lanes;
} packing;

static inline __attribute__((always_inline)) void pack(uint8_t type, const void *arguments) {
    const packing *p = arguments;
    const firn_matrix *from = p->from;
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    if (from->column_step == 1 && p->lanes == TWO_VECTORS)
        pack_straight(p->out, from->data, type, p->first, from->row_step, p->terms, all, all);
    else if (from->column_step == 1 && p->width == 2)
        pack_straight(p->out, from->data, type, p->first, from->row_step, p->terms, firn_first_lanes(p->lanes),
                      firn_first_lanes(p->lanes > FIRN_VECTOR ? p->lanes - FIRN_VECTOR : 0));
    else if (from->column_step == 1)
        pack_straight_narrow(p->out, from->data, type, p->first, from->row_step, p->terms, firn_first_lanes(p->lanes));
    else
        pack_transposed(p->out, p->width, from->data, type, p->first, from->column_step, p->terms, p->lanes);
}

void firn_vector_pack(float *out, size_t vectors, const firn_matrix *from, size_t first_term, size_t terms,
                      size_t first_lane, size_t lanes) {
    const size_t first = from->first + first_term * from->row_step + first_lane * from->column_step;
    packing p = {.width = vectors, .from = from, .first = first, .terms = terms, .lanes = lanes};
    p.out = out; /* assigned here because clang-tidy would ask for const in an initialiser */
    for_factor_type(from->type, pack, &p);
}

/* Packs two panels of consecutive lanes in one pass, so that each term is read from two adjacent cache lines. */
static inline __attribute__((always_inline)) void pack_two_panels(float *out, const void *data, uint8_t type,
                                                                  size_t first, size_t step, size_t terms) {
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    float *other = out + terms * TWO_VECTORS;
    for (size_t term = 0; term < terms; term++, first += step, out += TWO_VECTORS, other += TWO_VECTORS) {
        firn_vector_store(out, read_factor(data, type, first, all));
        firn_vector_store(out + FIRN_VECTOR, read_factor(data, type, first + FIRN_VECTOR, all));
        firn_vector_store(other, read_factor(data, type, first + TWO_VECTORS, all));
        firn_vector_store(other + FIRN_VECTOR, read_factor(data, type, first + TWO_VECTORS + FIRN_VECTOR, all));
    }
}

static inline __attribute__((always_inline)) void pack_panels(uint8_t type, const void *arguments) {
    const packing *p = arguments;
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    float *out = p->out;
    size_t lane = 0;
    for (; lane + FOUR_VECTORS <= p->lanes; lane += FOUR_VECTORS, out += FOUR_VECTORS * p->terms)
        pack_two_panels(out, p->from->data, type, p->first + lane, p->from->row_step, p->terms);
    if (lane < p->lanes)
        pack_straight(out, p->from->data, type, p->first + lane, p->from->row_step, p->terms, all, all);
}

void firn_vector_pack_panels(float *out, const firn_matrix *from, size_t first_term, size_t terms, size_t first_lane,
                             size_t panels) {
    if (from->column_step != 1) {
        for (size_t i = 0; i < panels; i++)
            firn_vector_pack(out + i * terms * TWO_VECTORS, 2, from, first_term, terms, first_lane + i * TWO_VECTORS,
                             TWO_VECTORS);
        return;
    }
    const size_t first = from->first + first_term * from->row_step + first_lane;
    packing p = {.from = from, .first = first, .terms = terms, .lanes = panels * TWO_VECTORS};
    p.out = out;
    for_factor_type(from->type, pack_panels, &p);
}

/* --- strips ------------------------------------------------------------------------------------------------------- */

/* Packs one term of all strips. Each strip has the lanes of `full`, the last one those of `last`. */
static inline __attribute__((always_inline)) void pack_term(float *out, size_t strip_step, const void *data,
                                                            uint8_t type, size_t first, size_t height, size_t lanes,
                                                            firn_lanes full, firn_lanes last) {
    size_t lane = 0;
    for (; lane + height < lanes; lane += height, out += strip_step)
        firn_vector_store(out, read_factor(data, type, first + lane, full));
    firn_vector_store(out, read_factor(data, type, first + lane, last));
}

/* Whole registers can be read for every term but the last. The lanes of a term lie within row_step elements and are
 * followed by those of the next term, so a register that begins at one of them ends before the last lane of the next
 * term, provided that it is not longer than row_step. */
static inline __attribute__((always_inline)) void pack_strips(uint8_t type, const void *arguments) {
    const packing *p = arguments;
    const size_t row_step = p->from->row_step, height = p->width, lanes = p->lanes, terms = p->terms;
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    const size_t strip_step = terms * FIRN_VECTOR, followed = row_step >= FIRN_VECTOR ? terms - 1 : 0;
    float *out = p->out;
    size_t term = 0, first = p->first;
    for (; term < followed; term++, first += row_step, out += FIRN_VECTOR)
        pack_term(out, strip_step, p->from->data, type, first, height, lanes, all, all);
    for (; term < terms; term++, first += row_step, out += FIRN_VECTOR)
        pack_term(out, strip_step, p->from->data, type, first, height, lanes, firn_first_lanes(height),
                  firn_first_lanes((lanes - 1) % height + 1));
}

void firn_vector_pack_strips(float *out, const firn_matrix *from, size_t first_term, size_t terms, size_t first_lane,
                             size_t height, size_t lanes) {
    const size_t first = from->first + first_term * from->row_step + first_lane;
    packing p = {.width = height, .from = from, .first = first, .terms = terms, .lanes = lanes};
    p.out = out;
    for_factor_type(from->type, pack_strips, &p);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void widen_rows(uint8_t type, const void *arguments) {
    const packing *p = arguments;
    const size_t whole = p->terms / FIRN_VECTOR * FIRN_VECTOR;
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR), rest = firn_first_lanes(p->terms - whole);
    float *out = p->out;
    size_t first = p->first;
    for (size_t row = 0; row < p->lanes; row++, out += p->width, first += p->from->row_step) {
        for (size_t term = 0; term < whole; term += FIRN_VECTOR)
            firn_vector_store(out + term, read_factor(p->from->data, type, first + term, all));
        if (whole < p->terms)
            firn_vector_store_some(out + whole, rest, read_factor(p->from->data, type, first + whole, rest));
    }
}

void firn_vector_widen_rows(float *out, size_t out_step, const firn_matrix *from, size_t first_row, size_t rows,
                            size_t first_term, size_t terms) {
    const size_t first = from->first + first_row * from->row_step + first_term;
    packing p = {.width = out_step, .from = from, .first = first, .terms = terms, .lanes = rows};
    p.out = out;
    for_factor_type(from->type, widen_rows, &p);
}

/* Rows of sums, and the elements in which they are stored. */
typedef struct narrowing {
    void *data;
    size_t index, step;
    const float *sums; /* row r at r * sums_step, or ... */
    size_t sums_step;
    const float *const *lines; /* ... at lines[r] */
    size_t rows, columns;
    const float *bias;
} narrowing;

static inline __attribute__((always_inline)) void narrow_rows(uint8_t type, const void *arguments) {
    const narrowing *n = arguments;
    const size_t whole = n->columns / FIRN_VECTOR * FIRN_VECTOR;
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR), rest = firn_first_lanes(n->columns - whole);
    const float *sums = n->sums;
    size_t index = n->index;
    for (size_t row = 0; row < n->rows; row++, index += n->step, sums += n->sums_step) {
        for (size_t column = 0; column < whole; column += FIRN_VECTOR)
            firn_vector_narrow(n->data, type, index + column, all, firn_vector_load(sums + column));
        if (whole < n->columns)
            firn_vector_narrow(n->data, type, index + whole, rest, firn_vector_load_some(rest, sums + whole));
    }
}

void firn_vector_narrow_rows(void *data, uint8_t type, size_t index, size_t step, const float *sums, size_t sums_step,
                             size_t rows, size_t columns) {
    const narrowing n = {.data = data,
                         .index = index,
                         .step = step,
                         .sums = sums,
                         .sums_step = sums_step,
                         .rows = rows,
                         .columns = columns};
    firn_for_type(type, narrow_rows, &n);
}

static inline __attribute__((always_inline)) void narrow_columns(uint8_t type, const void *arguments) {
    const narrowing *n = arguments;
    const size_t rows = n->rows, columns = n->columns;
    const float *bias = n->bias;
    const firn_lanes some = firn_first_lanes(rows);
    const firn_vector line = bias != NULL ? firn_vector_load_some(some, bias) : firn_vector_zero();
    for (size_t column = 0; column < columns; column += FIRN_VECTOR) {
        const firn_lanes here = firn_first_lanes(columns - column);
        firn_vector v[FIRN_VECTOR];
        FIRN_UNROLL
        for (size_t i = 0; i < FIRN_VECTOR; i++)
            v[i] = i < rows ? firn_vector_load_some(here, n->lines[i] + column) : firn_vector_zero();
        firn_vector_transpose(v);
        FIRN_UNROLL
        for (size_t i = 0; i < FIRN_VECTOR; i++) {
            if (bias != NULL)
                v[i] = firn_vector_canonical(firn_vector_add(v[i], line));
            if (i < columns - column)
                firn_vector_narrow(n->data, type, n->index + (column + i) * n->step, some, v[i]);
        }
    }
}

void firn_vector_narrow_columns(void *data, uint8_t type, size_t index, size_t step, const float *const sums[],
                                size_t rows, size_t columns, const float *bias) {
    const narrowing n = {
        .data = data, .index = index, .step = step, .lines = sums, .rows = rows, .columns = columns, .bias = bias};
    firn_for_type(type, narrow_columns, &n);
}
