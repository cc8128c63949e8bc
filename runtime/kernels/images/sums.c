/* Sums of products with absent terms: plan/NUMERICS.md, "Reductions". Each output adds its terms in ascending order; a
 * chunk is closed when a term of a later one comes, by the number of the term. Freestanding. */
#include "runtime/kernels/images/sums.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/parts.h"
#include "runtime/kernels/quads.h"
#include "runtime/numerics/half_parts.h"

/* DEPTH: the terms that are widened at a time. */
enum { ROWS = FIRN_SUMS_ROWS, LANES = FIRN_SUMS_LANES, DEPTH = FIRN_VECTORS ? 32 : 16 };

_Static_assert((int)LANES == 2 * (int)FIRN_LANES, "a row of sums is two vectors");

/* --- factors as floats -------------------------------------------------------------------------------------------- */

/* Widens `count` elements that lie `step` apart; the results lie out_step apart. */
static void gather(float *out, size_t out_step, const firn_tensor *from, size_t first, size_t step, size_t count) {
    if (from->type == FIRN_FLOAT32) {
        const float *at = (const float *)from->data + first;
        for (size_t i = 0; i < count; i++)
            out[i * out_step] = at[i * step];
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i * out_step] = firn_load(from->data, from->type, first + i * step);
}

/* Terms of a row of the left factor, or of all lanes of the right one, `step` apart. */
typedef struct strip {
    const float *at;
    size_t step;
} strip;

/* Widens `terms` terms of the right factor from term `from` on to panel[term][lane]. Vectors take lanes beyond the last
 * one, too, so these are zeros. */
static void widen_right(float *panel, const firn_run *run, size_t lanes, size_t from, size_t terms) {
    const firn_tensor *right = run->right;
    const size_t first = run->right_first + from * run->right_step;
    if (FIRN_VECTORS != 0 && lanes < LANES)
        memset(panel, 0, terms * LANES * sizeof *panel);
    if (run->right_lane_step == 1 && lanes > 1) {
        for (size_t term = 0; term < terms; term++, panel += LANES) {
            const size_t at = first + term * run->right_step;
            if (right->type == FIRN_FLOAT32)
                gather(panel, 1, right, at, 1, lanes);
            else
                firn_widen(panel, right->data, right->type, at, lanes);
        }
        return;
    }
    if (run->right_step != 1 || right->type == FIRN_FLOAT32) {
        for (size_t lane = 0; lane < lanes; lane++)
            gather(panel + lane, LANES, right, first + lane * run->right_lane_step, run->right_step, terms);
        return;
    }
    for (size_t lane = 0; lane < lanes; lane++) {
        float line[DEPTH];
        firn_widen(line, right->data, right->type, first + lane * run->right_lane_step, terms);
        for (size_t term = 0; term < terms; term++)
            panel[term * LANES + lane] = line[term];
    }
}

/* Returns `terms` terms of the right factor from term `from` on, lanes side by side: where they lie, or widened to the
 * panel. */
static strip right_strip(float *panel, const firn_run *run, size_t lanes, size_t from, size_t terms) {
    if (run->right->type == FIRN_FLOAT32 && run->right_lane_step == 1 && lanes == LANES)
        return (strip){(const float *)run->right->data + run->right_first + from * run->right_step, run->right_step};
    widen_right(panel, run, lanes, from, terms);
    return (strip){panel, LANES};
}

/* Returns `terms` terms of a row of the left factor from term `from` on: where they lie, or widened to the buffer. */
static strip left_strip(float *buffer, const firn_run *run, size_t row, size_t from, size_t terms) {
    const firn_tensor *left = run->left;
    const size_t first = run->left_first[row] + from * run->left_step;
    if (left->type == FIRN_FLOAT32)
        return (strip){(const float *)left->data + first, run->left_step};
    if (run->left_step == 1)
        firn_widen(buffer, left->data, left->type, first, terms);
    else
        gather(buffer, 1, left, first, run->left_step, terms);
    return (strip){buffer, 1};
}

/* --- float32 ------------------------------------------------------------------------------------------------------ */

/* Adds terms to one row, in vectors. Lanes beyond the last one are computed, too. */
static void add_one(float *sums, strip left, strip right, size_t terms) {
    firn_lanes s[2];
    memcpy(s, sums, sizeof s);
    for (size_t term = 0; term < terms; term++) {
        firn_lanes low, high;
        firn_lanes_load(&low, right.at + term * right.step);
        firn_lanes_load(&high, right.at + term * right.step + FIRN_LANES);
        firn_lanes_multiply_add(&s[0], left.at[term * left.step], &low);
        firn_lanes_multiply_add(&s[1], left.at[term * left.step], &high);
    }
    memcpy(sums, s, sizeof s);
}

/* Adds terms to four rows, so that each vector of the panel is loaded once for all of them. */
static void add_four(float *const sums[4], const strip left[4], strip right, size_t terms) {
    const float *l0 = left[0].at, *l1 = left[1].at, *l2 = left[2].at, *l3 = left[3].at;
    const size_t step = left[0].step;
    firn_lanes s[4][2];
    for (int row = 0; row < 4; row++)
        memcpy(s[row], sums[row], sizeof s[row]);
    for (size_t term = 0; term < terms; term++) {
        firn_lanes low, high;
        firn_lanes_load(&low, right.at + term * right.step);
        firn_lanes_load(&high, right.at + term * right.step + FIRN_LANES);
        firn_lanes_multiply_add(&s[0][0], *l0, &low);
        firn_lanes_multiply_add(&s[0][1], *l0, &high);
        firn_lanes_multiply_add(&s[1][0], *l1, &low);
        firn_lanes_multiply_add(&s[1][1], *l1, &high);
        firn_lanes_multiply_add(&s[2][0], *l2, &low);
        firn_lanes_multiply_add(&s[2][1], *l2, &high);
        firn_lanes_multiply_add(&s[3][0], *l3, &low);
        firn_lanes_multiply_add(&s[3][1], *l3, &high);
        l0 += step, l1 += step, l2 += step, l3 += step;
    }
    for (int row = 0; row < 4; row++)
        memcpy(sums[row], s[row], sizeof s[row]);
}

/* Adds terms to `count` rows that have them; present: their numbers. */
static void add_rows(firn_sums *sums, const strip *left, const size_t *present, size_t count, strip right,
                     size_t terms) {
    size_t i = 0;
    for (; FIRN_VECTORS != 0 && i + 4 <= count; i += 4) {
        float *const rows[4] = {sums->values[present[i]], sums->values[present[i + 1]], sums->values[present[i + 2]],
                                sums->values[present[i + 3]]};
        add_four(rows, &left[i], right, terms);
    }
    for (; i < count; i++) {
        const firn_quads quads = {{left[i].at, 0, left[i].step}, {right.at, 1, right.step}, terms};
        if (FIRN_VECTORS != 0)
            add_one(sums->values[present[i]], left[i], right, terms);
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
            sums->values[row][lane] += sums->part[0][row][lane];
    memset(sums->part[0], 0, sizeof sums->part[0]);
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

static void add_half(firn_sums *sums, size_t row, strip left, strip right, size_t terms) {
    const firn_half_part *half = firn_half_parts[sums->reduction.accumulator - FIRN_FLOAT16];
    for (size_t term = 0; term < terms; term++)
        half->multiply_add(sums->part[0][row], left.at[term * left.step], right.at + term * right.step, sums->lanes);
}

/* Adds a run block by block. Not inlined, so that one that needs no buffers takes less stack. */
static __attribute__((noinline)) void add_blocks(firn_sums *sums, const firn_run *run) {
    float buffer[ROWS * DEPTH], panel[DEPTH * LANES];
    strip left[ROWS];
    size_t present[ROWS], count = 0;
    for (size_t row = 0; row < sums->rows; row++)
        if (run->left_first[row] != FIRN_NO_TERMS)
            present[count++] = row;
    for (size_t from = 0, terms; from < run->count; from += terms) {
        terms = next_terms(sums, run, from, DEPTH);
        const strip right = right_strip(panel, run, sums->lanes, from, terms);
        for (size_t i = 0; i < count; i++)
            left[i] = left_strip(buffer + i * DEPTH, run, present[i], from, terms);
        for (size_t i = 0; is_chunked(sums) && i < count; i++)
            add_half(sums, present[i], left[i], right, terms);
        if (!is_chunked(sums))
            add_rows(sums, left, present, count, right, terms);
    }
}

/* --- lanes with left factors of their own ------------------------------------------------------------------------- */

static void add_lane_by_lane(firn_sums *sums, size_t row, const float *left, const float *panel, size_t terms) {
    const uint8_t type = sums->reduction.accumulator;
    for (size_t term = 0; term < terms; term++, left += LANES, panel += LANES) {
        for (size_t lane = 0; is_chunked(sums) && lane < sums->lanes; lane++)
            sums->part[0][row][lane] = firn_half_fma(type, left[lane], panel[lane], sums->part[0][row][lane]);
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
    if (reduction->kind == FIRN_REDUCTION_F32)
        return;
    memset(sums->part, 0, sizeof sums->part);
    memset(sums->present, 0, sizeof sums->present);
}

void firn_sums_add(firn_sums *sums, const firn_run *run) {
    const bool direct =
        FIRN_VECTORS == 0 && !is_chunked(sums) && run->left->type == FIRN_FLOAT32 && run->right->type == FIRN_FLOAT32;
    if (firn_sums_take_all(sums))
        firn_sums_flushed->add(sums, run);
    else if (run->own_lanes)
        add_own_lanes(sums, run);
    else if (direct)
        add_direct(sums, run);
    else
        add_blocks(sums, run);
}

void firn_sums_end(firn_sums *sums) {
    if (firn_sums_take_all(sums))
        firn_sums_flushed->end(sums);
    else if (is_chunked(sums))
        close_chunk(sums);
}
