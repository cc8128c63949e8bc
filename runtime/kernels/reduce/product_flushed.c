/* The flushed sums of the matrix product: plan/NUMERICS.md, "Reductions". Where a row has a term of a block, all of the
 * block's terms take part: those that are absent with a left factor of +0, those behind the last one with two. A part
 * that a firmware may leave out. Freestanding. */
#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/parts.h"
#include "runtime/kernels/product.h"
#include "runtime/numerics/flushed.h"

/* TERMS: what is read at a time; a block, or some. */
enum { COLUMNS = FIRN_TILE_COLUMNS, TERMS = FIRN_EVEN_ODD_TERMS };

_Static_assert((int)COLUMNS == (int)FIRN_FLUSHED_LANES && TERMS % FIRN_PAIR_TERMS == 0, "one row, whole pairs");

/* Terms of both factors that begin at a multiple of TERMS: one row of the left one, and as many columns of the right
 * one as the tile has. */
typedef struct terms {
    size_t begin, count; /* of a block, those that matter */
    float left[TERMS], right[TERMS][COLUMNS];
} terms;

/* The terms that a row has. */
typedef struct range {
    size_t begin, end;
} range;

static range present_in(const firn_product *product, size_t row) {
    range own = {0, product->terms};
    if (product->present == FIRN_TERMS_UP_TO_DIAGONAL)
        own.end = firn_smaller(own.end, product->diagonal + row + 1);
    if (product->present == FIRN_TERMS_FROM_DIAGONAL)
        own.begin = product->diagonal + row;
    return own;
}

static void read_right(const firn_product *product, const firn_tile *tile, terms *t) {
    const firn_matrix *right = &product->right;
    const size_t count = firn_smaller(TERMS, product->terms - t->begin);
    t->count = firn_smaller(TERMS, count + 2); /* the first +0 * +0 of each sum may change it, no other does */
    memset(t->right, 0, sizeof t->right);
    for (size_t term = 0; term < count; term++)
        firn_flushed_factors(t->right[term], 1, right->data, right->type,
                             right->first + (t->begin + term) * right->row_step + tile->column * right->column_step,
                             right->column_step, tile->columns);
}

/* present: counted from the first of the terms. */
static void read_left(const firn_matrix *left, size_t row, range present, terms *t) {
    memset(t->left, 0, sizeof t->left);
    firn_flushed_factors(t->left + present.begin, 1, left->data, left->type,
                         left->first + row * left->row_step + (t->begin + present.begin) * left->column_step,
                         left->column_step, present.end - present.begin);
}

static void add_block(float *sums, const terms *t, size_t columns) {
    float parts[2][COLUMNS] = {{0}};
    for (size_t term = 0; term < t->count; term++)
        firn_flushed_multiply_add(parts[term % 2], t->left[term], t->right[term], columns);
    firn_flushed_close(sums, parts[0], parts[1], columns);
}

/* Adds the pairs that have a term of the range. */
static void add_pairs(float *sums, const terms *t, range present, size_t columns) {
    for (size_t term = present.begin / 2 * 2; term < present.end; term += 2) {
        firn_flushed_multiply_add(sums, t->left[term + 1], t->right[term + 1], columns);
        firn_flushed_multiply_add(sums, t->left[term], t->right[term], columns);
    }
}

void firn_product_tile_flushed(const firn_product *product, firn_tile *tile) {
    const size_t columns = FIRN_VECTORS ? (size_t)COLUMNS : tile->columns;
    terms t;
    for (t.begin = 0; t.begin < product->terms; t.begin += TERMS) {
        read_right(product, tile, &t);
        for (size_t row = 0; row < tile->rows; row++) {
            const range all = present_in(product, tile->row + row);
            const range present = {all.begin > t.begin ? all.begin - t.begin : 0,
                                   firn_smaller(TERMS, all.end > t.begin ? all.end - t.begin : 0)};
            if (present.begin >= present.end)
                continue;
            read_left(&product->left, tile->row + row, present, &t);
            if (product->reduction.kind == FIRN_REDUCTION_PAIRS)
                add_pairs(tile->values[row], &t, present, columns);
            else
                add_block(tile->values[row], &t, columns);
        }
    }
}
