/* The matrix product: plan/NUMERICS.md, "Reductions". Each output adds its terms in ascending order, one fused
 * multiply-add each; a sum is never split, so the order in which outputs are computed is free. With vector registers,
 * blocks of both factors are widened on the stack and sixteen outputs of a row are computed side by side. Without them,
 * four by four outputs are computed in registers, straight from memory; only factors of a half type are widened.
 * Freestanding. */
#include "runtime/kernels/product.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/parts.h"
#include "runtime/kernels/quads.h"
#include "runtime/numerics/half_parts.h"

/* DEPTH: the terms of a block that is widened. */
enum { ROWS = FIRN_TILE_ROWS, COLUMNS = FIRN_TILE_COLUMNS, DEPTH = FIRN_VECTORS ? 32 : 16 };

/* A block of terms of a tile. */
typedef struct block {
    size_t begin, end; /* terms */
    firn_strip left, right;
} block;

/* Returns true if a factor need not be widened. */
static bool is_direct(const firn_matrix *factor) {
    return FIRN_VECTORS == 0 && factor->type == FIRN_FLOAT32;
}

/* --- widening ----------------------------------------------------------------------------------------------------- */

/* Reads elements of a float32 factor as values of a half type, each rounded as a cast rounds it. */
static __attribute__((noinline)) void round_rows(float *out, size_t out_step, const float *from, size_t step,
                                                 uint8_t type, size_t rows, size_t count) {
    uint16_t halves[DEPTH];
    for (; rows > 0; rows--, out += out_step, from += step) {
        firn_narrow(halves, type, 0, from, count);
        firn_widen(out, halves, type, 0, count);
    }
}

_Static_assert((int)DEPTH >= (int)ROWS, "a run is the terms of a block or the lanes of a tile");

/* Reads rows of elements, as firn_widen_rows does. */
static void read_rows(float *out, size_t out_step, const firn_matrix *factor, size_t first, size_t step, size_t rows,
                      size_t count) {
    if (factor->type >= FIRN_ROUNDED_TO)
        round_rows(out, out_step, (const float *)factor->data + first, step, factor->type - FIRN_ROUNDED_TO, rows,
                   count);
    else
        firn_widen_rows(out, out_step, factor->data, factor->type, first, step, rows, count);
}

/* Widens `terms` terms of `lanes` lanes into a buffer for ROWS lanes, in the order that they have in memory. The steps
 * are those of the factor's elements. */
static firn_strip widen_in_order(float *buffer, const firn_matrix *factor, size_t first, size_t lane_step,
                                 size_t term_step, size_t lanes, size_t terms) {
    if (lane_step != 1) {
        read_rows(buffer, DEPTH, factor, first, lane_step, lanes, terms);
        return (firn_strip){buffer, DEPTH, 1};
    }
    read_rows(buffer, ROWS, factor, first, term_step, terms, lanes);
    return (firn_strip){buffer, 1, ROWS};
}

static firn_strip left_strip(const firn_matrix *left, const firn_tile *tile, const block *block, float *buffer) {
    const size_t first = left->first + tile->row * left->row_step + block->begin * left->column_step;
    if (is_direct(left))
        return (firn_strip){(const float *)left->data + first, left->row_step, left->column_step};
    return widen_in_order(buffer, left, first, left->row_step, left->column_step, tile->rows,
                          block->end - block->begin);
}

_Static_assert((int)ROWS == (int)COLUMNS, "both factors have as many lanes");

/* side_by_side: with the lanes of a term next to each other. */
static firn_strip right_strip(const firn_matrix *right, const firn_tile *tile, const block *block, float *buffer,
                              bool side_by_side) {
    const size_t terms = block->end - block->begin;
    const size_t first = right->first + block->begin * right->row_step + tile->column * right->column_step;
    if (is_direct(right) && !side_by_side)
        return (firn_strip){(const float *)right->data + first, right->column_step, right->row_step};
    if (!side_by_side || right->column_step == 1)
        return widen_in_order(buffer, right, first, right->column_step, right->row_step, tile->columns, terms);
    for (size_t column = 0; column < tile->columns; column++) {
        float line[DEPTH];
        read_rows(line, DEPTH, right, first + column * right->column_step, 0, 1, terms);
        for (size_t term = 0; term < terms; term++)
            buffer[term * COLUMNS + column] = line[term];
    }
    return (firn_strip){buffer, 1, COLUMNS};
}

/* --- sums in float32, with vectors -------------------------------------------------------------------------------- */

/* Computes four rows at once, so that each vector of the right factor is loaded once for all of them. */
static void add_four_rows(float (*sums)[COLUMNS], const block *block, size_t row) {
    const float *left = block->left.at + row * block->left.lane_step, *right = block->right.at;
    const size_t row_step = block->left.lane_step, terms = block->end - block->begin;
    firn_lanes s[4][2];
    memcpy(s, sums, sizeof s);
    for (size_t term = 0; term < terms; term++, left += block->left.term_step, right += COLUMNS) {
        firn_lanes low, high;
        firn_lanes_load(&low, right);
        firn_lanes_load(&high, right + FIRN_LANES);
        firn_lanes_multiply_add(&s[0][0], left[0], &low);
        firn_lanes_multiply_add(&s[0][1], left[0], &high);
        firn_lanes_multiply_add(&s[1][0], left[row_step], &low);
        firn_lanes_multiply_add(&s[1][1], left[row_step], &high);
        firn_lanes_multiply_add(&s[2][0], left[2 * row_step], &low);
        firn_lanes_multiply_add(&s[2][1], left[2 * row_step], &high);
        firn_lanes_multiply_add(&s[3][0], left[3 * row_step], &low);
        firn_lanes_multiply_add(&s[3][1], left[3 * row_step], &high);
    }
    memcpy(sums, s, sizeof s);
}

/* Computes one row over the terms [begin, end) of the block. Lanes beyond the last column are computed too. */
static void add_row_of_lanes(float sums[COLUMNS], const block *block, size_t row, size_t begin, size_t end) {
    firn_lanes s[2];
    memcpy(s, sums, sizeof s);
    for (size_t term = begin; term < end; term++) {
        const float left = block->left.at[row * block->left.lane_step + term * block->left.term_step];
        firn_lanes low, high;
        firn_lanes_load(&low, block->right.at + term * COLUMNS);
        firn_lanes_load(&high, block->right.at + term * COLUMNS + FIRN_LANES);
        firn_lanes_multiply_add(&s[0], left, &low);
        firn_lanes_multiply_add(&s[1], left, &high);
    }
    memcpy(sums, s, sizeof s);
}

/* --- sums in float32, of either form ------------------------------------------------------------------------------ */

enum { LEAST_ROWS = FIRN_VECTORS ? 4 : 1 }; /* that are computed together */

/* Returns the part of the block from a row and a term on. */
static firn_quads quads_of(const block *block, size_t row, size_t begin, size_t end) {
    firn_quads quads = {block->left, block->right, end - begin};
    quads.left.at += row * quads.left.lane_step + begin * quads.left.term_step;
    quads.right.at += begin * quads.right.term_step;
    return quads;
}

/* Computes at most four rows, all terms of the block. */
static void add_rows(float (*sums)[COLUMNS], const block *block, size_t row, size_t rows, size_t columns, bool begins) {
    const firn_quads quads = quads_of(block, row, 0, block->end - block->begin);
    if (FIRN_VECTORS != 0)
        add_four_rows(&sums[row], block, row);
    else
        (void)firn_quads_add(&quads, rows, columns, sums[row], COLUMNS, begins);
}

/* Computes one row over the terms [begin, end) of the block. */
static void add_row(float *sums, const block *block, size_t row, size_t begin, size_t end, size_t columns) {
    if (begin >= end)
        return;
    const firn_quads quads = quads_of(block, row, begin, end);
    if (FIRN_VECTORS != 0)
        add_row_of_lanes(sums, block, row, begin, end);
    else
        (void)firn_quads_add(&quads, 1, columns, sums, COLUMNS, false);
}

/* --- sums inside a chunk, in a half type -------------------------------------------------------------------------- */

/* The lanes of the right factor lie side by side. With vectors, lanes beyond the last column are computed too. */
static void add_row_half(uint8_t type, float sums[COLUMNS], const block *block, size_t row, size_t begin, size_t end,
                         size_t columns) {
    for (size_t term = begin; term < end; term++) {
        const float left = block->left.at[row * block->left.lane_step + term * block->left.term_step];
        const float *right = block->right.at + term * COLUMNS;
        firn_half_parts[type - FIRN_FLOAT16]->multiply_add(sums, left, right, FIRN_VECTORS ? COLUMNS : columns);
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
    if (product->present == FIRN_TERMS_ALL)
        return true;
    present_terms(product, block, row, &begin, &end);
    return begin == 0 && end == block->end - block->begin;
}

/* Returns true if the sums of a tile begin with zeros in memory, because not all of them begin in the first block. */
static bool is_cleared(const firn_product *product) {
    return FIRN_VECTORS != 0 || product->reduction.kind != FIRN_REDUCTION_F32 || product->present != FIRN_TERMS_ALL;
}

/* Returns true if the rows from `row` on, four or those that are left of the tile, are computed together: each has all
 * terms of the block. */
static bool are_together(const firn_product *product, const block *block, const firn_tile *tile, size_t row,
                         size_t rows) {
    return product->reduction.kind == FIRN_REDUCTION_F32 && rows >= LEAST_ROWS &&
           has_all_terms(product, block, tile->row + row) && has_all_terms(product, block, tile->row + row + rows - 1);
}

/* Returns true if a block has the first terms of a tile whose sums were not cleared. */
static bool begins_at(const firn_product *product, const block *block) {
    return !is_cleared(product) && block->begin == 0;
}

static void add_block(const firn_product *product, const block *block, const firn_tile *tile, float (*sums)[COLUMNS]) {
    const firn_reduction *reduction = &product->reduction;
    size_t row = 0;
    while (row < tile->rows) {
        const size_t rows = firn_smaller(4, tile->rows - row);
        if (are_together(product, block, tile, row, rows)) {
            add_rows(sums, block, row, rows, tile->columns, begins_at(product, block));
            row += rows;
            continue;
        }
        size_t begin, end;
        present_terms(product, block, tile->row + row, &begin, &end);
        if (reduction->kind == FIRN_REDUCTION_F32)
            add_row(sums[row], block, row, begin, end, tile->columns);
        else
            add_row_half(reduction->accumulator, sums[row], block, row, begin, end, tile->columns);
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

/* Room for a block of both factors. */
typedef struct buffers {
    float left[ROWS * DEPTH], right[DEPTH * COLUMNS];
} buffers;

/* Adds all terms, in blocks of at most `depth`. The buffers may be NULL if both factors are direct. */
static void add_terms(const firn_product *product, firn_tile *tile, size_t depth, buffers *buffers) {
    block block;
    size_t begin, end;
    tile_terms(product, tile, &begin, &end);
    for (block.begin = begin; block.begin < end; block.begin = block.end) {
        block.end = block.begin + firn_smaller(depth, end - block.begin);
        block.left = left_strip(&product->left, tile, &block, buffers != NULL ? buffers->left : NULL);
        block.right =
            right_strip(&product->right, tile, &block, buffers != NULL ? buffers->right : NULL, FIRN_VECTORS != 0);
        add_block(product, &block, tile, tile->values);
    }
}

/* The functions with buffers are not inlined, so that a product without them takes less stack. */
static __attribute__((noinline)) void sum_widened(const firn_product *product, firn_tile *tile) {
    buffers buffers;
    if (FIRN_VECTORS != 0)
        memset(buffers.right, 0, sizeof buffers.right); /* lanes beyond the last column are computed too */
    add_terms(product, tile, DEPTH, &buffers);
}

/* Rows that have different terms are computed together only in blocks that all of them have. */
static void sum_in_float32(const firn_product *product, firn_tile *tile) {
    if (!is_direct(&product->left) || !is_direct(&product->right))
        sum_widened(product, tile);
    else
        add_terms(product, tile, product->present == FIRN_TERMS_ALL ? SIZE_MAX : (size_t)DEPTH, NULL);
}

/* A block never crosses a chunk boundary. A chunk in which a row has no term adds +0 to its total; this does not change
 * the total, which is never -0. */
static __attribute__((noinline)) void sum_in_chunks(const firn_product *product, firn_tile *tile) {
    float chunk_sums[ROWS][COLUMNS];
    buffers buffers;
    block block;
    const size_t chunk = product->reduction.chunk;
    size_t begin, end;
    memset(buffers.right, 0, sizeof buffers.right);
    tile_terms(product, tile, &begin, &end);
    for (block.begin = begin; block.begin < end; block.begin = block.end) {
        size_t chunk_left = chunk - block.begin % chunk;
        if (block.begin == begin || chunk_left == chunk)
            memset(chunk_sums, 0, sizeof chunk_sums);
        block.end = block.begin + firn_smaller(firn_smaller(DEPTH, chunk_left), end - block.begin);
        block.left = left_strip(&product->left, tile, &block, buffers.left);
        block.right = right_strip(&product->right, tile, &block, buffers.right, true);
        add_block(product, &block, tile, chunk_sums);
        if (block.end % chunk != 0 && block.end != end)
            continue;
        for (size_t row = 0; row < tile->rows; row++)
            for (size_t column = 0; column < COLUMNS; column++)
                tile->values[row][column] += chunk_sums[row][column];
    }
}

/* --- without tiles ------------------------------------------------------------------------------------------------ */

bool firn_product_is_direct(const firn_product *product) {
    return product->reduction.kind == FIRN_REDUCTION_F32 && product->present == FIRN_TERMS_ALL &&
           is_direct(&product->left) && is_direct(&product->right);
}

firn_nan_watch firn_product_rows(const firn_product *product, size_t four, float *out) {
    const size_t row = 4 * four;
    const firn_matrix *left = &product->left, *right = &product->right;
    const firn_quads quads = {
        {(const float *)left->data + left->first + row * left->row_step, left->row_step, left->column_step},
        {(const float *)right->data + right->first, right->column_step, right->row_step},
        product->terms};
    return firn_quads_add(&quads, firn_smaller(4, product->rows - row), product->columns, out + row * product->columns,
                          product->columns, true);
}

/* --- numbers of tiles --------------------------------------------------------------------------------------------- */

static size_t tiles_across(const firn_product *product) {
    return firn_ceiling(product->columns, COLUMNS);
}

size_t firn_product_tiles(const firn_product *product) {
    return firn_ceiling(product->rows, ROWS) * tiles_across(product);
}

static void place_tile(const firn_product *product, size_t number, firn_tile *tile) {
    tile->row = number / tiles_across(product) * ROWS;
    tile->column = number % tiles_across(product) * COLUMNS;
    tile->rows = firn_smaller(ROWS, product->rows - tile->row);
    tile->columns = firn_smaller(COLUMNS, product->columns - tile->column);
}

static void add_to_tile(const firn_product *product, firn_tile *tile) {
    switch (product->reduction.kind) {
    case FIRN_REDUCTION_F32:
        sum_in_float32(product, tile);
        break;
    case FIRN_REDUCTION_CHUNKED:
        sum_in_chunks(product, tile);
        break;
    default:
        firn_product_flushed(product, tile);
    }
}

void firn_product_tile(const firn_product *product, size_t number, firn_tile *tile) {
    place_tile(product, number, tile);
    if (is_cleared(product))
        memset(tile->values, 0, sizeof tile->values);
    add_to_tile(product, tile);
}

void firn_product_tile_from(const firn_product *product, size_t number, const float *sums, firn_tile *tile) {
    /* Up to a diagonal behind the last term: each row has all terms, and no sum begins (begins_at). */
    firn_product all = *product;
    all.present = FIRN_TERMS_UP_TO_DIAGONAL;
    all.diagonal = product->terms - 1;
    place_tile(product, number, tile);
    memset(tile->values, 0, sizeof tile->values);
    for (size_t row = 0; row < tile->rows; row++)
        memcpy(tile->values[row], sums + (tile->row + row) * product->columns + tile->column,
               tile->columns * sizeof(float));
    add_to_tile(&all, tile);
}
