/* Sums of products with absent terms: plan/NUMERICS.md, "Reductions". Each output adds its terms in ascending order; a
 * chunk is closed when a term of a later one comes, by the number of the term. Freestanding. */
#include "runtime/kernels/images/sums.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/quads.h"
#include "runtime/numerics/half_parts.h"

/* DEPTH: the terms that are widened at a time. */
enum { ROWS = FIRN_SUMS_ROWS, LANES = FIRN_SUMS_LANES, DEPTH = FIRN_VECTORS ? 32 : 16 };

_Static_assert((int)LANES == 2 * (int)FIRN_LANES, "a row of sums is two vectors");

/* --- widening ----------------------------------------------------------------------------------------------------- */

/* Widens `terms` terms of the right factor from term `from` on to panel[term][lane]. Vectors take lanes beyond the last
 * one, too, so these are zeros. */
static void widen_right(float *panel, const firn_run *run, size_t lanes, size_t from, size_t terms) {
    const firn_tensor *right = run->right;
    const size_t first = run->right_first + from * run->right_step;
    if (FIRN_VECTORS != 0 && lanes < LANES)
        memset(panel, 0, terms * LANES * sizeof *panel);
    if (run->right_lane_step == 1) {
        firn_widen_rows(panel, LANES, right->data, right->type, first, run->right_step, terms, lanes);
        return;
    }
    if (terms == 1) {
        firn_widen_rows(panel, 1, right->data, right->type, first, run->right_lane_step, lanes, 1);
        return;
    }
    for (size_t lane = 0; lane < lanes; lane++) {
        float line[DEPTH];
        firn_widen_rows(line, 1, right->data, right->type, first + lane * run->right_lane_step, run->right_step, terms,
                        1);
        for (size_t term = 0; term < terms; term++)
            panel[term * LANES + lane] = line[term];
    }
}

/* Widens `terms` terms of a row of the left factor, adjacent. */
static void widen_left(float *strip, const firn_run *run, size_t row, size_t from, size_t terms) {
    const firn_tensor *left = run->left;
    const size_t first = run->left_first[row] + from * run->left_step;
    if (run->left_step == 1)
        firn_widen_rows(strip, 0, left->data, left->type, first, 0, 1, terms);
    else
        firn_widen_rows(strip, 1, left->data, left->type, first, run->left_step, terms, 1);
}

/* --- float32 ------------------------------------------------------------------------------------------------------ */

/* Adds terms to one row, in vectors. Lanes beyond the last one are computed, too. */
static void add_one(float *sums, const float *left, const float *panel, size_t terms) {
    firn_lanes s[2];
    memcpy(s, sums, sizeof s);
    for (size_t term = 0; term < terms; term++, panel += LANES) {
        firn_lanes low, high;
        firn_lanes_load(&low, panel);
        firn_lanes_load(&high, panel + FIRN_LANES);
        firn_lanes_multiply_add(&s[0], left[term], &low);
        firn_lanes_multiply_add(&s[1], left[term], &high);
    }
    memcpy(sums, s, sizeof s);
}

/* Adds terms to four rows, so that each vector of the panel is loaded once for all of them. */
static void add_four(float *const sums[4], const float *const left[4], const float *panel, size_t terms) {
    firn_lanes s[4][2];
    for (int row = 0; row < 4; row++)
        memcpy(s[row], sums[row], sizeof s[row]);
    for (size_t term = 0; term < terms; term++, panel += LANES) {
        firn_lanes low, high;
        firn_lanes_load(&low, panel);
        firn_lanes_load(&high, panel + FIRN_LANES);
        for (int row = 0; row < 4; row++) {
            firn_lanes_multiply_add(&s[row][0], left[row][term], &low);
            firn_lanes_multiply_add(&s[row][1], left[row][term], &high);
        }
    }
    for (int row = 0; row < 4; row++)
        memcpy(sums[row], s[row], sizeof s[row]);
}

/* Adds terms to the rows that have them. left: DEPTH floats for each of these rows; present: their numbers. */
static void add_rows(firn_sums *sums, const float *left, const size_t *present, size_t count, const float *panel,
                     size_t terms) {
    size_t i = 0;
    for (; FIRN_VECTORS != 0 && i + 4 <= count; i += 4, left += (size_t)4 * DEPTH) {
        float *const rows[4] = {sums->values[present[i]], sums->values[present[i + 1]], sums->values[present[i + 2]],
                                sums->values[present[i + 3]]};
        const float *const strips[4] = {left, left + DEPTH, left + (size_t)2 * DEPTH, left + (size_t)3 * DEPTH};
        add_four(rows, strips, panel, terms);
    }
    for (; i < count; i++, left += DEPTH) {
        const firn_quads quads = {{left, DEPTH, 1}, {panel, 1, LANES}, terms};
        if (FIRN_VECTORS != 0)
            add_one(sums->values[present[i]], left, panel, terms);
        else
            (void)firn_quads_add(&quads, 1, sums->lanes, sums->values[present[i]], LANES, false);
    }
}

/* Adds a run where the factors lie: a core without vectors, float32. Rows that lie equally far apart are computed
 * together. */
static void add_direct(firn_sums *sums, const firn_run *run) {
    const float *left = run->left->data, *right = run->right->data;
    for (size_t row = 0, count; row < sums->rows; row += count) {
        const size_t *first = &run->left_first[row];
        count = 1;
        if (first[0] == FIRN_NO_TERMS)
            continue;
        while (count < 4 && row + count < sums->rows && first[count] != FIRN_NO_TERMS &&
               first[count] - first[count - 1] == first[1] - first[0])
            count++;
        const firn_quads quads = {{left + first[0], count > 1 ? first[1] - first[0] : 0, run->left_step},
                                  {right + run->right_first, run->right_lane_step, run->right_step},
                                  run->count};
        (void)firn_quads_add(&quads, count, sums->lanes, sums->values[row], LANES, false);
    }
}

/* --- blocks of terms ---------------------------------------------------------------------------------------------- */

static bool is_chunked(const firn_sums *sums) {
    return sums->reduction.kind == FIRN_REDUCTION_CHUNKED;
}

/* Adds the part to the sums: +0 where no term of the chunk was present, which changes nothing. */
static void close_chunk(firn_sums *sums) {
    for (size_t row = 0; row < sums->rows; row++)
        for (size_t lane = 0; lane < sums->lanes; lane++)
            sums->values[row][lane] += sums->part[row][lane];
    memset(sums->part, 0, sizeof sums->part);
}

/* The terms from `from` on that are added together: at most `most`, and of one chunk, which begins if it is another
 * one. */
static size_t next_terms(firn_sums *sums, const firn_run *run, size_t from, size_t most) {
    const size_t terms = firn_smaller(most, run->count - from);
    if (!is_chunked(sums))
        return terms;
    const size_t k = run->k + from, chunk = k / sums->reduction.chunk;
    if (chunk != sums->chunk)
        close_chunk(sums);
    sums->chunk = chunk;
    return firn_smaller(terms, (chunk + 1) * sums->reduction.chunk - k);
}

static void add_half(firn_sums *sums, size_t row, const float *left, const float *panel, size_t terms) {
    const firn_half_part *half = firn_half_parts[sums->reduction.accumulator - FIRN_FLOAT16];
    for (size_t term = 0; term < terms; term++)
        half->multiply_add(sums->part[row], left[term], panel + term * LANES, sums->lanes);
}

/* Adds a run that is widened. Not inlined, so that one that is not takes less stack. */
static __attribute__((noinline)) void add_widened(firn_sums *sums, const firn_run *run) {
    float left[ROWS * DEPTH], panel[DEPTH * LANES];
    size_t present[ROWS], count = 0;
    for (size_t row = 0; row < sums->rows; row++)
        if (run->left_first[row] != FIRN_NO_TERMS)
            present[count++] = row;
    for (size_t from = 0, terms; from < run->count; from += terms) {
        terms = next_terms(sums, run, from, DEPTH);
        widen_right(panel, run, sums->lanes, from, terms);
        for (size_t i = 0; i < count; i++)
            widen_left(left + i * DEPTH, run, present[i], from, terms);
        for (size_t i = 0; is_chunked(sums) && i < count; i++)
            add_half(sums, present[i], left + i * DEPTH, panel, terms);
        if (!is_chunked(sums))
            add_rows(sums, left, present, count, panel, terms);
    }
}

/* --- lanes with left factors of their own ------------------------------------------------------------------------- */

static void add_lane_by_lane(firn_sums *sums, size_t row, const float *left, const float *panel, size_t terms) {
    const uint8_t type = sums->reduction.accumulator;
    for (size_t term = 0; term < terms; term++, left += LANES, panel += LANES) {
        for (size_t lane = 0; is_chunked(sums) && lane < sums->lanes; lane++)
            sums->part[row][lane] = firn_half_fma(type, left[lane], panel[lane], sums->part[row][lane]);
        for (size_t lane = 0; !is_chunked(sums) && lane < sums->lanes; lane++)
            sums->values[row][lane] = firn_fma(left[lane], panel[lane], sums->values[row][lane]);
    }
}

static __attribute__((noinline)) void add_own_lanes(firn_sums *sums, const firn_run *run) {
    float left[DEPTH * LANES], panel[DEPTH * LANES];
    const firn_tensor *from_left = run->left;
    for (size_t from = 0, terms; from < run->count; from += terms) {
        terms = next_terms(sums, run, from, DEPTH);
        widen_right(panel, run, sums->lanes, from, terms);
        for (size_t row = 0; row < sums->rows; row++) {
            if (run->left_first[row] == FIRN_NO_TERMS)
                continue;
            firn_widen_rows(left, LANES, from_left->data, from_left->type, run->left_first[row] + from * run->left_step,
                            run->left_step, terms, sums->lanes);
            add_lane_by_lane(sums, row, left, panel, terms);
        }
    }
}

/* --- tiles -------------------------------------------------------------------------------------------------------- */

void firn_sums_begin(firn_sums *sums, const firn_reduction *reduction, size_t rows, size_t lanes) {
    sums->reduction = *reduction;
    sums->rows = rows;
    sums->lanes = lanes;
    sums->chunk = 0;
    memset(sums->values, 0, sizeof sums->values);
    memset(sums->part, 0, sizeof sums->part);
}

void firn_sums_add(firn_sums *sums, const firn_run *run) {
    const bool direct =
        FIRN_VECTORS == 0 && !is_chunked(sums) && run->left->type == FIRN_FLOAT32 && run->right->type == FIRN_FLOAT32;
    if (run->own_lanes)
        add_own_lanes(sums, run);
    else if (direct)
        add_direct(sums, run);
    else
        add_widened(sums, run);
}

void firn_sums_end(firn_sums *sums) {
    if (is_chunked(sums))
        close_chunk(sums);
}
