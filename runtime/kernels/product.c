/* The matrix product: plan/NUMERICS.md, "Reductions". Blocks of both factors are widened to float32 on the stack.
 * Sixteen outputs of a row are computed side by side in vectors, and each output adds its terms in ascending order; a
 * sum is never split. Freestanding. */
#include "runtime/kernels/product.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/numerics/half_parts.h"

enum { ROWS = FIRN_TILE_ROWS, COLUMNS = FIRN_TILE_COLUMNS, DEPTH = 32 };

/* A block of at most DEPTH terms. left keeps the layout that it has in memory. */
typedef struct block {
    size_t begin, end; /* terms */
    size_t left_row_step, left_term_step;
    float left[ROWS * DEPTH];
    float right[DEPTH][COLUMNS];
} block;

/* --- widening ----------------------------------------------------------------------------------------------------- */

static void widen_left(block *block, const firn_matrix *left, const firn_tile *tile) {
    const size_t terms = block->end - block->begin;
    const size_t first = left->first + tile->row * left->row_step + block->begin * left->column_step;
    if (left->column_step == 1) {
        block->left_row_step = DEPTH;
        block->left_term_step = 1;
        for (size_t row = 0; row < tile->rows; row++)
            firn_widen(&block->left[row * DEPTH], left->data, left->type, first + row * left->row_step, terms);
    } else {
        block->left_row_step = 1;
        block->left_term_step = ROWS;
        for (size_t term = 0; term < terms; term++)
            firn_widen(&block->left[term * ROWS], left->data, left->type, first + term * left->column_step, tile->rows);
    }
}

static void widen_right(block *block, const firn_matrix *right, const firn_tile *tile) {
    const size_t terms = block->end - block->begin;
    const size_t first = right->first + block->begin * right->row_step + tile->column * right->column_step;
    if (right->column_step == 1) {
        for (size_t term = 0; term < terms; term++)
            firn_widen(block->right[term], right->data, right->type, first + term * right->row_step, tile->columns);
        return;
    }
    for (size_t column = 0; column < tile->columns; column++) {
        float line[DEPTH];
        firn_widen(line, right->data, right->type, first + column * right->column_step, terms);
        for (size_t term = 0; term < terms; term++)
            block->right[term][column] = line[term];
    }
}

/* --- sums in float32 ---------------------------------------------------------------------------------------------- */

/* Eight floats, in one register on targets that have such registers. Always passed by address, because the convention
 * for passing vectors by value depends on the target's options. */
typedef float lanes __attribute__((vector_size(32)));
enum { LANES = 8 };

/* sum = a * b + sum in every lane, fused. */
static inline void multiply_add(lanes *sum, float a, const lanes *b) {
    for (int i = 0; i < LANES; i++)
        (*sum)[i] = firn_fma(a, (*b)[i], (*sum)[i]);
}

static inline void load(lanes *out, const float *x) {
    memcpy(out, x, sizeof *out);
}

/* Computes four rows at once, so that each vector of the right factor is loaded once for all of them. */
static void add_four_rows(float (*sums)[COLUMNS], const block *block, size_t row) {
    const float *left = &block->left[row * block->left_row_step];
    const size_t row_step = block->left_row_step, terms = block->end - block->begin;
    lanes s[4][2];
    memcpy(s, sums, sizeof s);
    for (size_t term = 0; term < terms; term++, left += block->left_term_step) {
        lanes low, high;
        load(&low, block->right[term]);
        load(&high, block->right[term] + LANES);
        multiply_add(&s[0][0], left[0], &low);
        multiply_add(&s[0][1], left[0], &high);
        multiply_add(&s[1][0], left[row_step], &low);
        multiply_add(&s[1][1], left[row_step], &high);
        multiply_add(&s[2][0], left[2 * row_step], &low);
        multiply_add(&s[2][1], left[2 * row_step], &high);
        multiply_add(&s[3][0], left[3 * row_step], &low);
        multiply_add(&s[3][1], left[3 * row_step], &high);
    }
    memcpy(sums, s, sizeof s);
}

/* Computes one row over the terms [begin, end) of the block. */
static void add_row(float sums[COLUMNS], const block *block, size_t row, size_t begin, size_t end) {
    lanes s[2];
    memcpy(s, sums, sizeof s);
    for (size_t term = begin; term < end; term++) {
        const float left = block->left[row * block->left_row_step + term * block->left_term_step];
        lanes low, high;
        load(&low, block->right[term]);
        load(&high, block->right[term] + LANES);
        multiply_add(&s[0], left, &low);
        multiply_add(&s[1], left, &high);
    }
    memcpy(sums, s, sizeof s);
}

/* --- sums inside a chunk, in a half type -------------------------------------------------------------------------- */

static void add_row_half(uint8_t type, float sums[COLUMNS], const block *block, size_t row, size_t begin, size_t end) {
    for (size_t term = begin; term < end; term++) {
        const float left = block->left[row * block->left_row_step + term * block->left_term_step];
        firn_half_parts[type - FIRN_FLOAT16]->multiply_add(sums, left, block->right[term], COLUMNS);
    }
}

/* --- tiles -------------------------------------------------------------------------------------------------------- */

/* Computes the terms of a row that lie in the block, relative to the block's first term. There are none if end <=
 * begin. */
static void present_terms(const firn_product *product, const block *block, size_t row, size_t *begin, size_t *end) {
    const size_t terms = block->end - block->begin, diagonal = product->diagonal + row;
    *begin = 0;
    *end = terms;
    if (product->present == FIRN_TERMS_UP_TO_DIAGONAL && diagonal < block->end)
        *end = diagonal < block->begin ? 0 : diagonal - block->begin + 1;
    if (product->present == FIRN_TERMS_FROM_DIAGONAL && diagonal > block->begin)
        *begin = diagonal - block->begin;
}

static bool has_all_terms(const firn_product *product, const block *block, size_t row) {
    size_t begin, end;
    present_terms(product, block, row, &begin, &end);
    return begin == 0 && end == block->end - block->begin;
}

static void add_block(const firn_product *product, const block *block, const firn_tile *tile, float (*sums)[COLUMNS]) {
    const firn_reduction *reduction = &product->reduction;
    size_t row = 0;
    while (row < tile->rows) {
        if (reduction->kind == FIRN_REDUCTION_F32 && tile->rows - row >= 4 &&
            has_all_terms(product, block, tile->row + row) && has_all_terms(product, block, tile->row + row + 3)) {
            add_four_rows(&sums[row], block, row);
            row += 4;
            continue;
        }
        size_t begin, end;
        present_terms(product, block, tile->row + row, &begin, &end);
        if (reduction->kind == FIRN_REDUCTION_F32)
            add_row(sums[row], block, row, begin, end);
        else
            add_row_half(reduction->accumulator, sums[row], block, row, begin, end);
        row++;
    }
}

/* Computes the range of terms that at least one row of the tile has. */
static void tile_terms(const firn_product *product, const firn_tile *tile, size_t *begin, size_t *end) {
    *begin = product->present == FIRN_TERMS_FROM_DIAGONAL ? product->diagonal + tile->row : 0;
    *end = product->terms;
    if (product->present == FIRN_TERMS_UP_TO_DIAGONAL)
        *end = firn_smaller(*end, product->diagonal + tile->row + tile->rows);
}

static void sum_in_float32(const firn_product *product, firn_tile *tile, block *block) {
    size_t begin, end;
    tile_terms(product, tile, &begin, &end);
    for (block->begin = begin; block->begin < end; block->begin = block->end) {
        block->end = block->begin + firn_smaller(DEPTH, end - block->begin);
        widen_left(block, &product->left, tile);
        widen_right(block, &product->right, tile);
        add_block(product, block, tile, tile->values);
    }
}

/* A block never crosses a chunk boundary. A chunk in which a row has no term adds +0 to its total; this does not change
 * the total, which is never -0. */
static void sum_in_chunks(const firn_product *product, firn_tile *tile, block *block) {
    float chunk_sums[ROWS][COLUMNS];
    const size_t chunk = product->reduction.chunk;
    size_t begin, end;
    tile_terms(product, tile, &begin, &end);
    for (block->begin = begin; block->begin < end; block->begin = block->end) {
        size_t chunk_left = chunk - block->begin % chunk;
        if (block->begin == begin || chunk_left == chunk)
            memset(chunk_sums, 0, sizeof chunk_sums);
        block->end = block->begin + firn_smaller(firn_smaller(DEPTH, chunk_left), end - block->begin);
        widen_left(block, &product->left, tile);
        widen_right(block, &product->right, tile);
        add_block(product, block, tile, chunk_sums);
        if (block->end % chunk != 0 && block->end != end)
            continue;
        for (size_t row = 0; row < tile->rows; row++)
            for (size_t column = 0; column < COLUMNS; column++)
                tile->values[row][column] += chunk_sums[row][column];
    }
}

static size_t tiles_across(const firn_product *product) {
    return firn_ceiling(product->columns, COLUMNS);
}

size_t firn_product_tiles(const firn_product *product) {
    return firn_ceiling(product->rows, ROWS) * tiles_across(product);
}

void firn_product_tile(const firn_product *product, size_t number, firn_tile *tile) {
    block block;
    memset(block.right, 0, sizeof block.right); /* lanes beyond the last column are computed too */
    tile->row = number / tiles_across(product) * ROWS;
    tile->column = number % tiles_across(product) * COLUMNS;
    tile->rows = firn_smaller(ROWS, product->rows - tile->row);
    tile->columns = firn_smaller(COLUMNS, product->columns - tile->column);
    memset(tile->values, 0, sizeof tile->values);
    switch (product->reduction.kind) {
    case FIRN_REDUCTION_F32:
        sum_in_float32(product, tile, &block);
        break;
    case FIRN_REDUCTION_CHUNKED:
        sum_in_chunks(product, tile, &block);
        break;
    default:
        __builtin_trap();
    }
}
