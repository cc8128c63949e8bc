/* Flushed sums of products with absent terms: plan/NUMERICS.md, "Reductions". Terms come one after the other, absent
 * ones too, because those that share a block with a present one take part. A part that a firmware may leave out.
 * Freestanding. */
#include <string.h>

#include "runtime/kernels/images/sums.h"
#include "runtime/kernels/parts.h"
#include "runtime/numerics/flushed.h"

enum { ROWS = FIRN_SUMS_ROWS, LANES = FIRN_SUMS_LANES };

_Static_assert((int)LANES == (int)FIRN_FLUSHED_LANES, "the lanes of a row are computed together");

/* The factors of a term; those that are not there are +0. left: of each lane, or the first one for all. */
typedef struct term {
    float left[ROWS][LANES], right[LANES];
    bool present[ROWS];
} term;

static void multiply_add(const firn_sums *sums, float *to, const float *left, const float *right) {
    const size_t count = FIRN_VECTORS ? (size_t)LANES : sums->lanes;
    if (sums->own_lanes)
        firn_flushed_multiply_add_lanes(to, left, right, count);
    else
        firn_flushed_multiply_add(to, left[0], right, count);
}

/* The first term of a pair is added after the second: its factors are kept in the parts until then. */
static void add_to_pair(firn_sums *sums, const term *t, size_t row, bool second) {
    if (!second) {
        memcpy(sums->part[0][row], t->left[row], sizeof t->left[row]);
        memcpy(sums->part[1][row], t->right, sizeof t->right);
    } else if (sums->present[row]) {
        multiply_add(sums, sums->values[row], t->left[row], t->right);
        multiply_add(sums, sums->values[row], sums->part[0][row], sums->part[1][row]);
    }
}

/* Ends a block. A row that has no term of it leaves it out. */
static void close_block(firn_sums *sums) {
    for (size_t row = 0; row < sums->rows && sums->reduction.kind == FIRN_REDUCTION_EVEN_ODD_BLOCKS; row++)
        if (sums->present[row])
            firn_flushed_close(sums->values[row], sums->part[0][row], sums->part[1][row], LANES);
    memset(sums->part, 0, sizeof sums->part);
    memset(sums->present, 0, sizeof sums->present);
    sums->chunk = 0;
}

static void add_term(firn_sums *sums, const term *t) {
    const size_t place = sums->chunk++;
    for (size_t row = 0; row < sums->rows; row++) {
        sums->present[row] = sums->present[row] || t->present[row];
        if (sums->reduction.kind == FIRN_REDUCTION_PAIRS)
            add_to_pair(sums, t, row, place == 1);
        else
            multiply_add(sums, sums->part[place % 2][row], t->left[row], t->right);
    }
    if (sums->chunk == sums->reduction.chunk)
        close_block(sums);
}

static void add_run(firn_sums *sums, const firn_run *run) {
    const firn_tensor *left = run->left, *right = run->right;
    const bool none = run->right_first == FIRN_NO_TERMS;
    term t;
    memset(&t, 0, sizeof t);
    sums->own_lanes = run->own_lanes;
    for (size_t i = 0; i < run->count; i++) {
        if (!none)
            firn_flushed_factors(t.right, 1, right->data, right->type, run->right_first + i * run->right_step,
                                 run->right_lane_step, sums->lanes);
        for (size_t row = 0; row < sums->rows; row++) {
            if (run->left_first[row] == FIRN_NO_TERMS)
                continue;
            firn_flushed_factors(t.left[row], 1, left->data, left->type, run->left_first[row] + i * run->left_step, 1,
                                 sums->own_lanes ? sums->lanes : 1);
            t.present[row] = !none;
        }
        add_term(sums, &t);
    }
}

/* Both factors are +0 behind the last term. The first such term of a sum may change it, no other does. */
static void end_run(firn_sums *sums) {
    term t;
    memset(&t, 0, sizeof t);
    for (int i = 0; i < 2 && sums->chunk != 0; i++)
        add_term(sums, &t);
    if (sums->chunk != 0)
        close_block(sums);
}

const firn_sums_part firn_sums_part_flushed = {add_run, end_run};
