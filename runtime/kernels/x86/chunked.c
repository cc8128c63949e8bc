/* Chunked sums in float32 registers; see chunked.h. One loop is compiled for each half type, for heights of
 * 8, 4, 2 and 1 and for one and two registers of columns, so that the sums of a chunk stay in their registers. A step
 * is about eight instructions on a chain of some twenty cycles: it takes many sums at once, and four are done stage by
 * stage. */
#include "runtime/kernels/x86/chunked.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/x86/vector.h"
#include "runtime/numerics/half.h"

enum { HEIGHT = 8, VECTORS = FIRN_CHUNKED_COLUMNS / FIRN_VECTOR };

/* Sums of two rows, which are worked on together. */
typedef firn_vector pair[2][VECTORS];

static inline __m512i bits_of(firn_vector x) {
    return _mm512_castps_si512(x);
}

static inline firn_vector from_bits(__m512i x) {
    return _mm512_castsi512_ps(x);
}

static inline __m512i every(uint32_t x) {
    return _mm512_set1_epi32((int)x);
}

/* --- one step: sum = round16(left * right + sum) ------------------------------------------------------------------ */

static inline firn_vector fma_down(firn_vector a, firn_vector b, firn_vector c) {
    return _mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

static inline firn_vector fma_up(firn_vector a, firn_vector b, firn_vector c) {
    return _mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}

/* The conversion of the CPU is that of NUMERICS.md. */
static inline firn_vector round_float16(firn_vector x) {
    return firn_vector_from_float16(firn_vector_to_float16(x));
}

/* The upper half of a float: half a unit is added to the bits, just less than that where the last bit kept is 0, and
 * what is below is dropped. The carry goes on into the exponent and to infinity. The lower half of a NaN is 0 here,
 * since all NaNs come from widened ones or from an invalid operation, so that none is carried away. */
static inline firn_vector round_bfloat16(firn_vector x) {
    const __m512i bits = bits_of(x);
    const __mmask16 is_odd = _mm512_test_epi32_mask(bits, every(0x10000));
    __m512i sum = _mm512_add_epi32(bits, every(0x7fff));
    sum = _mm512_mask_add_epi32(sum, is_odd, bits, every(0x8000));
    return from_bits(_mm512_and_si512(sum, every(0xffff0000)));
}

/* A number is added whose last bit is the last one to keep, 1.5 times 2^23 of those, and taken away again. It grows
 * with the exponent of x, from the smallest normal value on. Where x is infinite it overflows to a small one, which
 * does no harm. Values beyond the largest are then driven to infinity and back. */
static inline firn_vector round_cbfloat16(firn_vector x) {
    const uint32_t smallest_normal = (uint32_t)(127 - FIRN_CBFLOAT16_BIAS + 1) << 23;
    const uint32_t magic = (uint32_t)(23 - FIRN_CBFLOAT16_MANTISSA) << 23 | 1u << 22;
    const int to_infinity = 127 - FIRN_CBFLOAT16_BIAS;
    __m512i unit = _mm512_and_si512(bits_of(x), every(FIRN_INFINITY_BITS));
    unit = _mm512_add_epi32(_mm512_max_epu32(unit, every(smallest_normal)), every(magic));
    const firn_vector rounded = _mm512_sub_ps(_mm512_add_ps(x, from_bits(unit)), from_bits(unit));
    const firn_vector raised = _mm512_mul_ps(rounded, firn_vector_fill(firn_power_of_two(to_infinity)));
    return _mm512_mul_ps(raised, firn_vector_fill(firn_power_of_two(-to_infinity)));
}

static inline firn_vector round_to(uint8_t type, firn_vector x) {
    if (type == FIRN_FLOAT16)
        return round_float16(x);
    return type == FIRN_BFLOAT16 ? round_bfloat16(x) : round_cbfloat16(x);
}

/* Stage by stage, so that the instructions of four chains stand side by side. */
static inline __attribute__((always_inline)) void step(const uint8_t type, const size_t rows, const size_t vectors,
                                                       const firn_vector left[2], const firn_vector right[VECTORS],
                                                       pair sums) {
    pair down;
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            down[row][v] = fma_down(left[row], right[v], sums[row][v]);
    }
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = fma_up(left[row], right[v], sums[row][v]);
    }
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++) {
            const __mmask16 is_odd = _mm512_test_epi32_mask(bits_of(down[row][v]), every(1));
            sums[row][v] = _mm512_mask_mov_ps(sums[row][v], is_odd, down[row][v]);
        }
    }
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = round_to(type, sums[row][v]);
    }
}

/* --- the terms of a chunk ----------------------------------------------------------------------------------------- */

/* Some rows of a tile. */
typedef struct strip {
    const firn_chunked_tile *tile;
    size_t row;
    const float *left;
    float *sums, *totals;
    firn_lanes lanes[VECTORS];
} strip;

/* Terms begin to end of the tile, for those rows only that have them where some do not. */
static inline __attribute__((always_inline)) void add_terms(const strip *s, const uint8_t type, const size_t rows,
                                                            const size_t vectors, const bool some, size_t begin,
                                                            size_t end, pair sums[HEIGHT / 2]) {
    const firn_chunked_tile *t = s->tile;
    const size_t row_step = t->left_row_step, term_step = t->left_term_step, right_step = t->right_step;
    const float *left = s->left + begin * term_step, *right = t->right + begin * right_step;
    for (size_t term = begin; term < end; term++, left += term_step, right += right_step) {
        firn_vector line[VECTORS];
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            line[v] = firn_vector_load_some(s->lanes[v], right + v * FIRN_VECTOR);
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row += 2) {
            const size_t here = rows - row < 2 ? 1 : 2;
            firn_vector factors[2];
            pair next;
            FIRN_UNROLL
            for (size_t i = 0; i < here; i++) {
                factors[i] = firn_vector_fill(left[(row + i) * row_step]);
                FIRN_UNROLL
                for (size_t v = 0; v < vectors; v++)
                    next[i][v] = sums[row / 2][i][v];
            }
            step(type, here, vectors, factors, line, next);
            FIRN_UNROLL
            for (size_t i = 0; i < here; i++) {
                const size_t diagonal = t->diagonal + s->row + row + i, index = t->first_term + term;
                const bool present = t->present == FIRN_TERMS_UP_TO_DIAGONAL ? index <= diagonal : index >= diagonal;
                const firn_lanes lanes = !some || present ? (firn_lanes)0xffff : (firn_lanes)0;
                FIRN_UNROLL
                for (size_t v = 0; v < vectors; v++)
                    sums[row / 2][i][v] =
                        some ? _mm512_mask_mov_ps(sums[row / 2][i][v], lanes, next[i][v]) : next[i][v];
            }
        }
    }
}

/* Where the terms of a strip lie: of all rows together, and those that every row has. Counted from the tile's first,
 * and not beyond its last. */
typedef struct extent {
    size_t begin, all_begin, all_end, end;
} extent;

static extent present_terms(const firn_chunked_tile *t, size_t row, size_t rows) {
    extent e = {0, 0, t->terms, t->terms};
    const size_t first = t->diagonal + row, last = first + rows - 1;
    if (t->present == FIRN_TERMS_UP_TO_DIAGONAL) {
        e.all_end = first < t->first_term ? 0 : firn_smaller(first + 1 - t->first_term, t->terms);
        e.end = last < t->first_term ? 0 : firn_smaller(last + 1 - t->first_term, t->terms);
    } else if (t->present == FIRN_TERMS_FROM_DIAGONAL) {
        e.begin = first < t->first_term ? 0 : firn_smaller(first - t->first_term, t->terms);
        e.all_begin = last < t->first_term ? 0 : firn_smaller(last - t->first_term, t->terms);
    }
    return e;
}

static inline size_t limited(size_t x, size_t low, size_t high) {
    return x < low ? low : firn_smaller(x, high);
}

/* All terms of some rows, chunk after chunk. A chunk without a present term adds +0, which changes nothing. */
static inline __attribute__((always_inline)) void add_strip(const strip *s, const uint8_t type, const size_t rows,
                                                            const size_t vectors) {
    const firn_chunked_tile *t = s->tile;
    const extent e = present_terms(t, s->row, rows);
    for (size_t begin = 0, end; begin < t->terms; begin = end) {
        const size_t chunk_left = t->chunk - (t->first_term + begin) % t->chunk;
        const bool ends = chunk_left <= t->terms - begin || t->ends;
        end = begin + firn_smaller(chunk_left, t->terms - begin);
        pair sums[HEIGHT / 2];
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++)
                sums[row / 2][row % 2][v] =
                    firn_vector_load_some(s->lanes[v], s->sums + row * t->step + v * FIRN_VECTOR);
        }
        const size_t all_begin = limited(e.all_begin, begin, end), all_end = limited(e.all_end, all_begin, end);
        const size_t bounds[] = {limited(e.begin, begin, end), all_begin, all_end, limited(e.end, all_end, end)};
        for (int part = 0; part < 3; part++)
            if (part == 1)
                add_terms(s, type, rows, vectors, false, bounds[part], bounds[part + 1], sums);
            else
                add_terms(s, type, rows, vectors, true, bounds[part], bounds[part + 1], sums);
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++) {
                const firn_vector sum = sums[row / 2][row % 2][v];
                const size_t at = row * t->step + v * FIRN_VECTOR;
                if (ends)
                    firn_vector_store_some(s->totals + at, s->lanes[v],
                                           firn_vector_add(firn_vector_load_some(s->lanes[v], s->totals + at), sum));
                firn_vector_store_some(s->sums + at, s->lanes[v], ends ? firn_vector_zero() : sum);
            }
        }
    }
}

/* --- the choice of a loop ----------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void add_height(const strip *s, const uint8_t type, size_t rows,
                                                             const size_t vectors) {
    switch (rows) {
    case 1:
        add_strip(s, type, 1, vectors);
        break;
    case 2:
        add_strip(s, type, 2, vectors);
        break;
    case 4:
        add_strip(s, type, 4, vectors);
        break;
    default:
        add_strip(s, type, HEIGHT, vectors);
        break;
    }
}

static inline __attribute__((always_inline)) void add_type(const strip *s, const uint8_t type, size_t rows) {
    if (s->tile->columns > FIRN_VECTOR)
        add_height(s, type, rows, VECTORS);
    else
        add_height(s, type, rows, 1);
}

static void add_float16(const strip *s, size_t rows) {
    add_type(s, FIRN_FLOAT16, rows);
}

static void add_bfloat16(const strip *s, size_t rows) {
    add_type(s, FIRN_BFLOAT16, rows);
}

static void add_cbfloat16(const strip *s, size_t rows) {
    add_type(s, FIRN_CBFLOAT16, rows);
}

void firn_chunked_tile_add(const firn_chunked_tile *tile) {
    strip s = {.tile = tile};
    s.lanes[0] = firn_first_lanes(tile->columns);
    s.lanes[1] = firn_first_lanes(tile->columns > FIRN_VECTOR ? tile->columns - FIRN_VECTOR : 0);
    for (size_t rows = HEIGHT; s.row < tile->rows; s.row += rows) {
        while (rows > tile->rows - s.row)
            rows /= 2;
        s.left = tile->left + s.row * tile->left_row_step;
        s.sums = tile->sums + s.row * tile->step;
        s.totals = tile->totals + s.row * tile->step;
        if (tile->accumulator == FIRN_FLOAT16)
            add_float16(&s, rows);
        else if (tile->accumulator == FIRN_BFLOAT16)
            add_bfloat16(&s, rows);
        else
            add_cbfloat16(&s, rows);
    }
}
