/* Chunked sums in float32 registers; see chunked.h. What the CPU must notice is asked for once for several chunks,
 * whose sums wait until then; if there was something, the first of them is added again by slower steps. One loop is
 * compiled for each half type, for heights from HEIGHT down to 1 and for one and two registers of columns, so that the
 * sums of a chunk stay in registers. A step takes three (bfloat16) to fourteen instructions (cbfloat16, AVX2), each of
 * which depends on the one before. To hide their latency many sums are computed at once. The source steps one after
 * another and leaves interleaving to the CPU, because stages of several sums at a time would need more registers than
 * there are. */
#include "runtime/kernels/vector/chunked/chunked.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/chunked/step.h"
#include "runtime/kernels/vector/vector.h"

/* The height of a subtile is half the number of registers. */
enum {
    HEIGHT = FIRN_VECTOR / 2,
    VECTORS = 2,
    WIDTH = VECTORS * FIRN_VECTOR,
    CHUNKS = 4 /* that are added together, at most */
};

/* Sums of two rows that are computed together. */
typedef firn_vector pair[2][VECTORS];

/* --- one step: sum = round16(left * right + sum) ------------------------------------------------------------------ */

static inline __attribute__((always_inline)) void step(const firn_step_kind kind, const size_t rows,
                                                       const size_t vectors, const firn_vector left[2],
                                                       const firn_vector right[VECTORS], pair sums) {
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++) {
            const firn_vector down = firn_step_down(left[row], right[v], sums[row][v]);
            const firn_vector up = firn_step_up(left[row], right[v], sums[row][v]);
            sums[row][v] = firn_step_round(kind, firn_step_odd(down, up));
        }
    }
}

/* --- the terms of a chunk ----------------------------------------------------------------------------------------- */

/* Some rows of a tile, and either VECTORS registers of its columns or one. */
typedef struct subtile {
    const firn_chunked_tile *tile;
    size_t row, rows, columns;
    const float *left, *right;
    float *sums, *totals;
    bool is_small;    /* the sums are far below the largest value of their type */
    float scale;      /* of scaled sums; 0 if these are not known to be possible */
    firn_lanes lanes; /* lanes of a subtile with one register; with more, all registers are full */
} subtile;

/* The terms of a chunk, begin to end, relative to the tile's first. Every row of the subtile has the terms from
 * all_begin to all_end. */
typedef struct extent {
    size_t begin, all_begin, all_end, end;
} extent;

static inline firn_vector load(const subtile *s, const float *from, size_t v, size_t vectors) {
    return vectors > 1 ? firn_vector_load(from + v * FIRN_VECTOR) : firn_vector_load_some(s->lanes, from);
}

static inline void store(const subtile *s, float *to, size_t v, size_t vectors, firn_vector x) {
    if (vectors > 1)
        firn_vector_store(to + v * FIRN_VECTOR, x);
    else
        firn_vector_store_some(to, s->lanes, x);
}

/* Adds the terms from begin to end; where some rows lack some terms, only to the rows that have them. */
static inline __attribute__((always_inline)) void add_terms(const subtile *s, const firn_step_kind kind,
                                                            const size_t rows, const size_t vectors, const bool some,
                                                            size_t begin, size_t end, pair sums[HEIGHT / 2]) {
    const firn_chunked_tile *t = s->tile;
    const size_t row_step = t->left_row_step, term_step = t->left_term_step, right_step = t->right_step;
    const float *left = s->left + begin * term_step, *right = s->right + begin * right_step;
    for (size_t term = begin; term < end; term++, left += term_step, right += right_step) {
        firn_vector line[VECTORS];
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            line[v] = firn_step_scale(kind, load(s, right, v, vectors));
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
            step(kind, here, vectors, factors, line, next);
            FIRN_UNROLL
            for (size_t i = 0; i < here; i++) {
                const size_t diagonal = t->diagonal + s->row + row + i, index = t->first_term + term;
                const bool present = t->present == FIRN_TERMS_UP_TO_DIAGONAL ? index <= diagonal : index >= diagonal;
                const firn_mask mask = firn_mask_from_bits(!some || present ? ~0u : 0u);
                FIRN_UNROLL
                for (size_t v = 0; v < vectors; v++)
                    sums[row / 2][i][v] = some ? firn_vector_select(mask, next[i][v], sums[row / 2][i][v]) : next[i][v];
            }
        }
    }
}

/* --- scaled sums ------------------------------------------------------------------------------------------------- */

/* Marks a function that runs with another rounding mode than its caller. Compilers assume that arithmetic does not
 * depend on the control word, so they may move operations across its change, unless these are in a function that is
 * neither inlined nor analysed. gcc's noipa ensures both; clang only has noinline, but draws no conclusions beyond
 * those that a call permits. */
#if __has_attribute(noipa)
#    define FIRN_STEP_APART __attribute__((noipa))
#else
#    define FIRN_STEP_APART __attribute__((noinline))
#endif

/* Some chunks, which are added before anything is stored: terms bounds[i] to bounds[i + 1] are a chunk, or what the
 * tile has of it. Every row of the subtile has all of them. */
typedef struct chunks {
    size_t count, bounds[CHUNKS + 1];
    bool ends; /* the last one, too, ends here */
} chunks;

/* Adds terms to a subtile of full height, each rounded with firn_step_watched. Right factors and sums are scaled so
 * that sums which must be noticed are tiny: of bfloat16 those of 2^-24 of a product, and subnormal ones. Gives the sums
 * of each chunk, scaled; registers of columns that the subtile does not have are left as they are. */
static inline __attribute__((always_inline)) void add_scaled(const subtile *s, const chunks *c,
                                                             const firn_step_kind kind, const size_t vectors,
                                                             float finished[CHUNKS][HEIGHT][WIDTH]) {
    const firn_chunked_tile *t = s->tile;
    const size_t row_step = t->left_row_step, term_step = t->left_term_step, right_step = t->right_step;
    const float *left = s->left + c->bounds[0] * term_step, *right = s->right + c->bounds[0] * right_step;
    const firn_vector scale = firn_vector_fill(s->scale);
    firn_vector sums[HEIGHT][VECTORS];
    FIRN_UNROLL
    for (size_t row = 0; row < HEIGHT; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_vector_multiply(load(s, s->sums + row * t->step, v, vectors), scale);
    }
    for (size_t chunk = 0; chunk < c->count; chunk++) {
        for (size_t term = c->bounds[chunk]; term < c->bounds[chunk + 1];
             term++, left += term_step, right += right_step) {
            firn_vector line[VECTORS];
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++)
                line[v] = firn_vector_multiply(load(s, right, v, vectors), scale);
            FIRN_UNROLL
            for (size_t row = 0; row < HEIGHT; row++) {
                const firn_vector factor = firn_vector_fill(left[row * row_step]);
                FIRN_UNROLL
                for (size_t v = 0; v < vectors; v++)
                    sums[row][v] = firn_step_watched(kind, factor, line[v], sums[row][v]);
            }
        }
        FIRN_UNROLL
        for (size_t row = 0; row < HEIGHT; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++) {
                firn_vector_store(finished[chunk][row] + v * FIRN_VECTOR, sums[row][v]);
                sums[row][v] = firn_vector_zero();
            }
        }
    }
}

static inline __attribute__((always_inline)) void
add_scaled_kind(const subtile *s, const chunks *c, const firn_step_kind kind, float finished[CHUNKS][HEIGHT][WIDTH]) {
    if (s->columns == WIDTH)
        add_scaled(s, c, kind, VECTORS, finished);
    else
        add_scaled(s, c, kind, 1, finished);
}

static FIRN_STEP_APART void add_scaled_bfloat16(const subtile *s, const chunks *c,
                                                float finished[CHUNKS][HEIGHT][WIDTH]) {
    add_scaled_kind(s, c, FIRN_STEP_BFLOAT16, finished);
}

static FIRN_STEP_APART void add_scaled_cbfloat16(const subtile *s, const chunks *c,
                                                 float finished[CHUNKS][HEIGHT][WIDTH]) {
    add_scaled_kind(s, c, FIRN_STEP_SMALL_CBFLOAT16, finished);
}

/* Adds the finished sums to the totals, but keeps those of a chunk that does not end. */
static inline __attribute__((always_inline)) void put_finished(const subtile *s, const chunks *c, const size_t vectors,
                                                               float finished[CHUNKS][HEIGHT][WIDTH]) {
    const firn_vector unscale = firn_vector_fill(1.0f / s->scale);
    const size_t ended = c->ends ? c->count : c->count - 1, step = s->tile->step;
    for (size_t chunk = 0; chunk < ended; chunk++)
        for (size_t row = 0; row < HEIGHT; row++)
            FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++) {
        const firn_vector sum = firn_vector_multiply(firn_vector_load(finished[chunk][row] + v * FIRN_VECTOR), unscale);
        const firn_vector total = load(s, s->totals + row * step, v, vectors);
        store(s, s->totals + row * step, v, vectors, firn_vector_add(total, sum));
    }
    for (size_t row = 0; row < HEIGHT; row++)
        FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++) {
        const firn_vector sum = firn_vector_load(finished[c->count - 1][row] + v * FIRN_VECTOR);
        store(s, s->sums + row * step, v, vectors, c->ends ? firn_vector_zero() : firn_vector_multiply(sum, unscale));
    }
}

/* Returns false, and changes nothing, if there was a sum that must be noticed. */
static bool try_scaled(const subtile *s, const chunks *c) {
    float finished[CHUNKS][HEIGHT][WIDTH];
    const bool is_bfloat16 = s->tile->accumulator == FIRN_BFLOAT16;
    const firn_step_watch before = firn_step_watch_begin(is_bfloat16);
    if (FIRN_STEP_IS_DIRECTED && !is_bfloat16)
        add_scaled_cbfloat16(s, c, finished);
    else
        add_scaled_bfloat16(s, c, finished);
    if (!firn_step_watch_end(before, is_bfloat16))
        return false;
    if (s->columns == WIDTH)
        put_finished(s, c, VECTORS, finished);
    else
        put_finished(s, c, 1, finished);
    return true;
}

/* The same, if it is possible. After chunks that forbade it the rest of the tile is not tried. */
static bool has_added_scaled(subtile *s, const extent *present, const chunks *c) {
    const bool have_all = present->all_begin <= c->bounds[0] && c->bounds[c->count] <= present->all_end;
    if (s->scale == 0.0f || s->rows != HEIGHT || !have_all)
        return false;
    if (!try_scaled(s, c))
        s->scale = 0.0f;
    return s->scale != 0.0f;
}

/* --- the choice of a loop: what runs between firn_step_begin and firn_step_end ------------------------------------ */

static inline __attribute__((always_inline)) void
add_extent(const subtile *s, const extent *e, const firn_step_kind kind, const size_t rows, const size_t vectors) {
    pair sums[HEIGHT / 2];
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row / 2][row % 2][v] = firn_step_scale(kind, load(s, s->sums + row * s->tile->step, v, vectors));
    }
    const size_t bounds[] = {e->begin, e->all_begin, e->all_end, e->end};
    for (int part = 0; part < 3; part++)
        if (part == 1)
            add_terms(s, kind, rows, vectors, false, bounds[part], bounds[part + 1], sums);
        else
            add_terms(s, kind, rows, vectors, true, bounds[part], bounds[part + 1], sums);
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            store(s, s->sums + row * s->tile->step, v, vectors, firn_step_unscale(kind, sums[row / 2][row % 2][v]));
    }
}

static inline __attribute__((always_inline)) void add_height(const subtile *s, const extent *e,
                                                             const firn_step_kind kind, const size_t vectors) {
    if (s->rows == 1)
        add_extent(s, e, kind, 1, vectors);
    else if (s->rows == 2)
        add_extent(s, e, kind, 2, vectors);
    else if (HEIGHT > 4 && s->rows == 4)
        add_extent(s, e, kind, 4, vectors);
    else
        add_extent(s, e, kind, HEIGHT, vectors);
}

static inline __attribute__((always_inline)) void add_kind(const subtile *s, const extent *e,
                                                           const firn_step_kind kind) {
    if (s->columns == WIDTH)
        add_height(s, e, kind, VECTORS);
    else
        add_height(s, e, kind, 1);
}

static FIRN_STEP_APART void add_float16(const subtile *s, const extent *e) {
    add_kind(s, e, FIRN_STEP_FLOAT16);
}

static FIRN_STEP_APART void add_bfloat16(const subtile *s, const extent *e) {
    add_kind(s, e, FIRN_STEP_BFLOAT16);
}

static FIRN_STEP_APART void add_cbfloat16(const subtile *s, const extent *e) {
    add_kind(s, e, FIRN_STEP_CBFLOAT16);
}

static FIRN_STEP_APART void add_small_cbfloat16(const subtile *s, const extent *e) {
    add_kind(s, e, FIRN_STEP_SMALL_CBFLOAT16);
}

static void add_to_sums(const subtile *s, const extent *e) {
    const unsigned mode = firn_step_begin();
    switch (s->tile->accumulator) {
    case FIRN_FLOAT16:
        add_float16(s, e);
        break;
    case FIRN_BFLOAT16:
        add_bfloat16(s, e);
        break;
    case FIRN_CBFLOAT16:
        if (s->is_small)
            add_small_cbfloat16(s, e);
        else
            add_cbfloat16(s, e);
        break;
    default:
        __builtin_trap();
    }
    firn_step_end(mode);
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

/* Computes the range of terms of a subtile that lie in the tile. */
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

/* Restricts an extent to the terms from begin to end. */
static extent between(const extent *e, size_t begin, size_t end) {
    extent part = {.all_begin = limited(e->all_begin, begin, end)};
    part.all_end = limited(e->all_end, part.all_begin, end);
    part.begin = limited(e->begin, begin, end);
    part.end = limited(e->end, part.all_end, end);
    return part;
}

/* Adds the sums of a finished chunk to the totals, and sets them to +0 for the next chunk. */
static void end_chunk(const subtile *s) {
    for (size_t row = 0; row < s->rows; row++) {
        float *sums = s->sums + row * s->tile->step, *totals = s->totals + row * s->tile->step;
        for (size_t column = 0; column < s->columns; column++) {
            totals[column] += sums[column];
            sums[column] = 0.0f;
        }
    }
}

/* Returns the first term behind the chunk that term `begin` belongs to, or behind the tile. cut: of those in front of
 * which chunks end, the first one behind `begin`. */
static size_t behind_chunk(const firn_chunked_tile *t, size_t begin, size_t cut, bool *ends) {
    if (t->cuts != NULL) {
        *ends = cut < t->cut_count;
        return *ends ? t->cuts[cut] : t->terms;
    }
    const size_t chunk_left = t->chunk - (t->first_term + begin) % t->chunk;
    const size_t end = begin + firn_smaller(chunk_left, t->terms - begin);
    *ends = chunk_left == end - begin || (t->ends && end == t->terms);
    return end;
}

/* The chunks from a term on: one, or several if every row has all of their terms. */
static chunks chunks_from(const firn_chunked_tile *t, const extent *present, size_t begin, size_t cut) {
    chunks c = {.bounds = {begin}};
    while (c.count < CHUNKS && c.bounds[c.count] < t->terms) {
        bool ends;
        const size_t end = behind_chunk(t, c.bounds[c.count], cut + c.count, &ends);
        if (c.count > 0 && end > present->all_end)
            break;
        c.bounds[++c.count] = end;
        c.ends = ends;
    }
    return c;
}

/* Adds all terms of a subtile, chunk by chunk. A chunk without present terms adds +0, which does not change a total. */
static void add_subtile(subtile *s) {
    const firn_chunked_tile *t = s->tile;
    const extent present = present_terms(t, s->row, s->rows);
    for (size_t begin = 0, cut = 0, done; begin < t->terms; cut += done) {
        const chunks c = chunks_from(t, &present, begin, cut);
        done = c.count;
        if (!has_added_scaled(s, &present, &c)) {
            const extent e = between(&present, begin, c.bounds[1]);
            done = 1;
            add_to_sums(s, &e);
            if (c.count > 1 || c.ends)
                end_chunk(s);
        }
        begin = c.bounds[done];
    }
}

/* --- tiles -------------------------------------------------------------------------------------------------------- */

/* Returns the larger magnitudes, as words. */
static inline firn_words larger(firn_words most, firn_vector x) {
    return firn_words_larger(most, firn_vector_bits(firn_vector_absolute(x)));
}

float firn_chunked_largest(uint8_t accumulator, const float *x, size_t lines, size_t step, size_t count) {
    firn_words most = firn_words_fill(0);
    if (!firn_step_asks_for_size(accumulator))
        return 0.0f;
    if (step == count) {
        count *= lines;
        lines = 1;
    }
    size_t i = 0;
    for (; count - i >= FIRN_VECTOR; i += FIRN_VECTOR)
        for (size_t line = 0; line < lines; line++)
            most = larger(most, firn_vector_load(x + line * step + i));
    if (i < count)
        for (size_t line = 0; line < lines; line++)
            most = larger(most, firn_vector_load_some(firn_first_lanes(count - i), x + line * step + i));
    float each[FIRN_VECTOR];
    uint32_t largest = 0;
    firn_vector_store(each, firn_vector_from_bits(most));
    for (size_t lane = 0; lane < FIRN_VECTOR; lane++)
        largest = firn_bits(each[lane]) > largest ? firn_bits(each[lane]) : largest;
    return firn_from_bits(largest);
}

static float left_largest(const firn_chunked_tile *t) {
    if (t->left_largest > 0.0f)
        return t->left_largest;
    return t->left_row_step == 1 ? firn_chunked_largest(t->accumulator, t->left, t->terms, t->left_term_step, t->rows)
                                 : firn_chunked_largest(t->accumulator, t->left, t->rows, t->left_row_step, t->terms);
}

static float right_largest(const firn_chunked_tile *t) {
    return t->right_largest > 0.0f
               ? t->right_largest
               : firn_chunked_largest(t->accumulator, t->right, t->terms, t->right_step, t->columns);
}

/* A sum is at most the sum of the largest possible terms. In fewer than 512 steps rounding, whose relative error is at
 * most a thousandth, cannot double that. */
static bool is_small_cbfloat16(const firn_chunked_tile *t, float product) {
    const size_t terms = firn_smaller(t->terms, t->chunk);
    const float before = firn_chunked_largest(t->accumulator, t->sums, t->rows, t->step, t->columns);
    return terms < 512 && before + product * (float)terms < firn_power_of_two(FIRN_CBFLOAT16_BIAS - 1);
}

/* Returns a power of two, at most 1, that makes products less than 2^-102; 0 if there is none. No sum of products that
 * are below 2^24 can become infinite, since a bfloat16 to which 2^-9 of it is added stays the same. */
static float scale_of_bfloat16(float product) {
    const uint32_t exponent = firn_bits(product) >> 23, sum_of_exponents = 127 - 103 + 127;
    if (exponent >= sum_of_exponents)
        return 0.0f;
    return exponent < sum_of_exponents - 127 ? 1.0f : firn_from_bits((sum_of_exponents - exponent) << 23);
}

/* Returns the power of two that makes subnormals of cbfloat16 those of float32; 0 where sums may be too large, or where
 * the products are so small that sums may well be subnormal. */
static float scale_of_cbfloat16(float product, bool is_small) {
    return FIRN_STEP_IS_DIRECTED && is_small && product >= 0x1p-8f ? firn_power_of_two(FIRN_CBFLOAT16_BIAS - 127)
                                                                   : 0.0f;
}

/* Decides how the tile can be computed. */
static void look_at_sizes(subtile *s) {
    const firn_chunked_tile *t = s->tile;
    if (!firn_step_asks_for_size(t->accumulator))
        return;
    const float product = left_largest(t) * right_largest(t);
    if (t->accumulator == FIRN_BFLOAT16) {
        s->scale = scale_of_bfloat16(product);
        return;
    }
    s->is_small = is_small_cbfloat16(t, product);
    s->scale = scale_of_cbfloat16(product, s->is_small);
}

void firn_chunked_tile_add(const firn_chunked_tile *tile) {
    subtile s = {.tile = tile, .rows = HEIGHT};
    look_at_sizes(&s);
    for (; s.row < tile->rows; s.row += s.rows) {
        while (s.rows > tile->rows - s.row)
            s.rows /= 2;
        s.left = tile->left + s.row * tile->left_row_step;
        for (size_t column = 0; column < tile->columns; column += s.columns) {
            s.columns = tile->columns - column;
            s.columns = firn_smaller(s.columns, s.columns < WIDTH ? FIRN_VECTOR : WIDTH);
            s.lanes = firn_first_lanes(s.columns);
            s.right = tile->right + column;
            s.sums = tile->sums + s.row * tile->step + column;
            s.totals = tile->totals + s.row * tile->step + column;
            add_subtile(&s);
        }
    }
}
