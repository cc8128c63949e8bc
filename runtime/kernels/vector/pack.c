/* Packing for the register tile; see pack.h. */
#include "runtime/kernels/vector/pack.h"

#include "runtime/kernels/vector/convert.h"

enum { TWO_VECTORS = 2 * FIRN_VECTOR };

/* --- panels ------------------------------------------------------------------------------------------------------- */

/* Lanes are neighbours in memory: those of `low`, then those of `high`. */
static inline __attribute__((always_inline)) void pack_straight(float *out, const void *data, uint8_t type,
                                                                size_t first, size_t step, size_t terms, firn_lanes low,
                                                                firn_lanes high) {
    for (size_t term = 0; term < terms; term++, first += step, out += TWO_VECTORS) {
        firn_vector_store(out, firn_vector_widen(data, type, first, low));
        firn_vector_store(out + FIRN_VECTOR, firn_vector_widen(data, type, first + FIRN_VECTOR, high));
    }
}

static inline __attribute__((always_inline)) void pack_straight_narrow(float *out, const void *data, uint8_t type,
                                                                       size_t first, size_t step, size_t terms,
                                                                       firn_lanes lanes) {
    for (size_t term = 0; term < terms; term++, first += step, out += FIRN_VECTOR)
        firn_vector_store(out, firn_vector_widen(data, type, first, lanes));
}

/* Terms are neighbours in memory. */
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
                v[i] = i < here ? firn_vector_widen(data, type, first + (lane + i) * step + term, mask)
                                : firn_vector_zero();
            firn_vector_transpose(v);
            float *block = out + term * width + lane;
            FIRN_UNROLL
            for (size_t i = 0; i < FIRN_VECTOR; i++)
                if (i < terms - term)
                    firn_vector_store(block + i * width, v[i]);
        }
    }
}

static inline __attribute__((always_inline)) void pack(float *out, size_t vectors, const firn_matrix *from,
                                                       uint8_t type, size_t first, size_t terms, size_t lanes) {
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    if (from->column_step == 1 && lanes == TWO_VECTORS)
        pack_straight(out, from->data, type, first, from->row_step, terms, all, all);
    else if (from->column_step == 1 && vectors == 2)
        pack_straight(out, from->data, type, first, from->row_step, terms, firn_first_lanes(lanes),
                      firn_first_lanes(lanes > FIRN_VECTOR ? lanes - FIRN_VECTOR : 0));
    else if (from->column_step == 1)
        pack_straight_narrow(out, from->data, type, first, from->row_step, terms, firn_first_lanes(lanes));
    else
        pack_transposed(out, vectors, from->data, type, first, from->column_step, terms, lanes);
}

void firn_vector_pack(float *out, size_t vectors, const firn_matrix *from, size_t first_term, size_t terms,
                      size_t first_lane, size_t lanes) {
    const size_t first = from->first + first_term * from->row_step + first_lane * from->column_step;
    switch (from->type) {
    case FIRN_FLOAT16:
        pack(out, vectors, from, FIRN_FLOAT16, first, terms, lanes);
        break;
    case FIRN_BFLOAT16:
        pack(out, vectors, from, FIRN_BFLOAT16, first, terms, lanes);
        break;
    case FIRN_CBFLOAT16:
        pack(out, vectors, from, FIRN_CBFLOAT16, first, terms, lanes);
        break;
    default:
        pack(out, vectors, from, FIRN_FLOAT32, first, terms, lanes);
        break;
    }
}

/* --- strips ------------------------------------------------------------------------------------------------------- */

/* One term of all strips, each but the last with the lanes of `full`. */
static inline __attribute__((always_inline)) void pack_term(float *out, size_t strip_step, const void *data,
                                                            uint8_t type, size_t first, size_t height, size_t lanes,
                                                            firn_lanes full, firn_lanes last) {
    size_t lane = 0;
    for (; lane + height < lanes; lane += height, out += strip_step)
        firn_vector_store(out, firn_vector_widen(data, type, first + lane, full));
    firn_vector_store(out, firn_vector_widen(data, type, first + lane, last));
}

/* Where another term follows, whole registers can be read. The lanes of a term lie within row_step elements, and those
 * of the term behind it after these: a register that begins at one of them ends before the last lane of that term, if
 * it is not longer than row_step. */
static inline __attribute__((always_inline)) void pack_strips(float *out, const firn_matrix *from, uint8_t type,
                                                              size_t first, size_t terms, size_t height, size_t lanes) {
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    const size_t strip_step = terms * FIRN_VECTOR, followed = from->row_step >= FIRN_VECTOR ? terms - 1 : 0;
    size_t term = 0;
    for (; term < followed; term++, first += from->row_step, out += FIRN_VECTOR)
        pack_term(out, strip_step, from->data, type, first, height, lanes, all, all);
    for (; term < terms; term++, first += from->row_step, out += FIRN_VECTOR)
        pack_term(out, strip_step, from->data, type, first, height, lanes, firn_first_lanes(height),
                  firn_first_lanes((lanes - 1) % height + 1));
}

void firn_vector_pack_strips(float *out, const firn_matrix *from, size_t first_term, size_t terms, size_t first_lane,
                             size_t height, size_t lanes) {
    const size_t first = from->first + first_term * from->row_step + first_lane;
    switch (from->type) {
    case FIRN_FLOAT16:
        pack_strips(out, from, FIRN_FLOAT16, first, terms, height, lanes);
        break;
    case FIRN_BFLOAT16:
        pack_strips(out, from, FIRN_BFLOAT16, first, terms, height, lanes);
        break;
    case FIRN_CBFLOAT16:
        pack_strips(out, from, FIRN_CBFLOAT16, first, terms, height, lanes);
        break;
    default:
        pack_strips(out, from, FIRN_FLOAT32, first, terms, height, lanes);
        break;
    }
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void widen_rows(float *out, size_t out_step, const firn_matrix *from,
                                                             uint8_t type, size_t first, size_t rows, size_t terms) {
    const size_t whole = terms / FIRN_VECTOR * FIRN_VECTOR;
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR), rest = firn_first_lanes(terms - whole);
    for (size_t row = 0; row < rows; row++, out += out_step, first += from->row_step) {
        for (size_t term = 0; term < whole; term += FIRN_VECTOR)
            firn_vector_store(out + term, firn_vector_widen(from->data, type, first + term, all));
        if (whole < terms)
            firn_vector_store_some(out + whole, rest, firn_vector_widen(from->data, type, first + whole, rest));
    }
}

void firn_vector_widen_rows(float *out, size_t out_step, const firn_matrix *from, size_t first_row, size_t rows,
                            size_t first_term, size_t terms) {
    const size_t first = from->first + first_row * from->row_step + first_term;
    switch (from->type) {
    case FIRN_FLOAT16:
        widen_rows(out, out_step, from, FIRN_FLOAT16, first, rows, terms);
        break;
    case FIRN_BFLOAT16:
        widen_rows(out, out_step, from, FIRN_BFLOAT16, first, rows, terms);
        break;
    case FIRN_CBFLOAT16:
        widen_rows(out, out_step, from, FIRN_CBFLOAT16, first, rows, terms);
        break;
    default:
        widen_rows(out, out_step, from, FIRN_FLOAT32, first, rows, terms);
        break;
    }
}

static inline __attribute__((always_inline)) void narrow_rows(void *data, uint8_t type, size_t index, size_t step,
                                                              const float *sums, size_t sums_step, size_t rows,
                                                              size_t columns) {
    const size_t whole = columns / FIRN_VECTOR * FIRN_VECTOR;
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR), rest = firn_first_lanes(columns - whole);
    for (size_t row = 0; row < rows; row++, index += step, sums += sums_step) {
        for (size_t column = 0; column < whole; column += FIRN_VECTOR)
            firn_vector_narrow(data, type, index + column, all, firn_vector_load(sums + column));
        if (whole < columns)
            firn_vector_narrow(data, type, index + whole, rest, firn_vector_load_some(rest, sums + whole));
    }
}

void firn_vector_narrow_rows(void *data, uint8_t type, size_t index, size_t step, const float *sums, size_t sums_step,
                             size_t rows, size_t columns) {
    switch (type) {
    case FIRN_FLOAT16:
        narrow_rows(data, FIRN_FLOAT16, index, step, sums, sums_step, rows, columns);
        break;
    case FIRN_BFLOAT16:
        narrow_rows(data, FIRN_BFLOAT16, index, step, sums, sums_step, rows, columns);
        break;
    case FIRN_CBFLOAT16:
        narrow_rows(data, FIRN_CBFLOAT16, index, step, sums, sums_step, rows, columns);
        break;
    default:
        narrow_rows(data, FIRN_FLOAT32, index, step, sums, sums_step, rows, columns);
        break;
    }
}

static inline __attribute__((always_inline)) void narrow_columns(void *data, uint8_t type, size_t index, size_t step,
                                                                 const float *const sums[], size_t rows, size_t columns,
                                                                 const float *bias) {
    const firn_lanes some = firn_first_lanes(rows);
    const firn_vector line = bias != NULL ? firn_vector_load_some(some, bias) : firn_vector_zero();
    for (size_t column = 0; column < columns; column += FIRN_VECTOR) {
        const firn_lanes here = firn_first_lanes(columns - column);
        firn_vector v[FIRN_VECTOR];
        FIRN_UNROLL
        for (size_t i = 0; i < FIRN_VECTOR; i++)
            v[i] = i < rows ? firn_vector_load_some(here, sums[i] + column) : firn_vector_zero();
        firn_vector_transpose(v);
        FIRN_UNROLL
        for (size_t i = 0; i < FIRN_VECTOR; i++) {
            if (bias != NULL)
                v[i] = firn_vector_canonical(firn_vector_add(v[i], line));
            if (i < columns - column)
                firn_vector_narrow(data, type, index + (column + i) * step, some, v[i]);
        }
    }
}

void firn_vector_narrow_columns(void *data, uint8_t type, size_t index, size_t step, const float *const sums[],
                                size_t rows, size_t columns, const float *bias) {
    switch (type) {
    case FIRN_FLOAT16:
        narrow_columns(data, FIRN_FLOAT16, index, step, sums, rows, columns, bias);
        break;
    case FIRN_BFLOAT16:
        narrow_columns(data, FIRN_BFLOAT16, index, step, sums, rows, columns, bias);
        break;
    case FIRN_CBFLOAT16:
        narrow_columns(data, FIRN_CBFLOAT16, index, step, sums, rows, columns, bias);
        break;
    default:
        narrow_columns(data, FIRN_FLOAT32, index, step, sums, rows, columns, bias);
        break;
    }
}
