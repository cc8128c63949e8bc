/* The matrix product: plan/NUMERICS.md, "Reductions". Each output adds its terms in ascending order, one fused
 * multiply-add each; a sum is never split, so the order in which outputs are computed is free. With vector registers,
 * blocks of both factors are widened on the stack and sixteen outputs of a row are computed side by side. Without them,
 * four by four outputs are computed in registers, straight from memory; only factors of a half type are widened.
 * Freestanding. */
#include "runtime/kernels/product.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/numerics/half.h"

/* DEPTH: the terms of a block that is widened. */
enum { ROWS = FIRN_TILE_ROWS, COLUMNS = FIRN_TILE_COLUMNS, DEPTH = FIRN_VECTORS ? 32 : 16 };

/* The part of a factor that a block uses, as floats. A lane is a row of the left factor or a column of the right
 * one. */
typedef struct strip {
    const float *at; /* lane 0, first term of the block */
    size_t lane_step, term_step;
} strip;

/* A block of terms of a tile. */
typedef struct block {
    size_t begin, end; /* terms */
    strip left, right;
} block;

/* Returns true if a factor need not be widened. */
static bool is_direct(const firn_matrix *factor) {
    return FIRN_VECTORS == 0 && factor->type == FIRN_FLOAT32;
}

/* --- widening ----------------------------------------------------------------------------------------------------- */

/* Widens `terms` terms of `lanes` lanes into a buffer for ROWS lanes, in the order that they have in memory. The steps
 * are those of the factor's elements. */
static strip widen_in_order(float *buffer, const firn_matrix *factor, size_t first, size_t lane_step, size_t term_step,
                            size_t lanes, size_t terms) {
    if (term_step == 1) {
        for (size_t lane = 0; lane < lanes; lane++)
            firn_widen(&buffer[lane * DEPTH], factor->data, factor->type, first + lane * lane_step, terms);
        return (strip){buffer, DEPTH, 1};
    }
    for (size_t term = 0; term < terms; term++)
        firn_widen(&buffer[term * ROWS], factor->data, factor->type, first + term * term_step, lanes);
    return (strip){buffer, 1, ROWS};
}

static strip left_strip(const firn_matrix *left, const firn_tile *tile, const block *block, float *buffer) {
    const size_t first = left->first + tile->row * left->row_step + block->begin * left->column_step;
    if (is_direct(left))
        return (strip){(const float *)left->data + first, left->row_step, left->column_step};
    return widen_in_order(buffer, left, first, left->row_step, left->column_step, tile->rows,
                          block->end - block->begin);
}

_Static_assert((int)ROWS == (int)COLUMNS, "both factors have as many lanes");

/* side_by_side: with the lanes of a term next to each other. */
static strip right_strip(const firn_matrix *right, const firn_tile *tile, const block *block, float *buffer,
                         bool side_by_side) {
    const size_t terms = block->end - block->begin;
    const size_t first = right->first + block->begin * right->row_step + tile->column * right->column_step;
    if (is_direct(right) && !side_by_side)
        return (strip){(const float *)right->data + first, right->column_step, right->row_step};
    if (!side_by_side || right->column_step == 1)
        return widen_in_order(buffer, right, first, right->column_step, right->row_step, tile->columns, terms);
    for (size_t column = 0; column < tile->columns; column++) {
        float line[DEPTH];
        firn_widen(line, right->data, right->type, first + column * right->column_step, terms);
        for (size_t term = 0; term < terms; term++)
            buffer[term * COLUMNS + column] = line[term];
    }
    return (strip){buffer, 1, COLUMNS};
}

/* --- sums in float32, with vectors -------------------------------------------------------------------------------- */

#if FIRN_VECTORS

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
    const float *left = &block->left.at[row * block->left.lane_step], *right = block->right.at;
    const size_t row_step = block->left.lane_step, terms = block->end - block->begin;
    lanes s[4][2];
    memcpy(s, sums, sizeof s);
    for (size_t term = 0; term < terms; term++, left += block->left.term_step, right += COLUMNS) {
        lanes low, high;
        load(&low, right);
        load(&high, right + LANES);
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
static void add_row(float sums[COLUMNS], const block *block, size_t row, size_t begin, size_t end, size_t columns) {
    (void)columns; /* lanes beyond the last column are computed too */
    lanes s[2];
    memcpy(s, sums, sizeof s);
    for (size_t term = begin; term < end; term++) {
        const float left = block->left.at[row * block->left.lane_step + term * block->left.term_step];
        lanes low, high;
        load(&low, block->right.at + term * COLUMNS);
        load(&high, block->right.at + term * COLUMNS + LANES);
        multiply_add(&s[0], left, &low);
        multiply_add(&s[1], left, &high);
    }
    memcpy(sums, s, sizeof s);
}

static void add_rows(float (*sums)[COLUMNS], const block *block, size_t row, size_t rows, size_t columns) {
    (void)rows;
    (void)columns;
    add_four_rows(&sums[row], block, row);
}

enum { LEAST_ROWS = 4 }; /* that are computed together */

#else

/* --- sums in float32, in scalar registers ------------------------------------------------------------------------- */

/* Four lanes of a strip, from one term on. Lanes beyond the last one that exists repeat it: their sums are computed and
 * never used. */
typedef struct four {
    const float *lane[4];
    size_t step; /* to the next term */
} four;

static inline four four_lanes(const strip *strip, size_t lane, size_t lanes, size_t term) {
    const float *first = strip->at + lane * strip->lane_step + term * strip->term_step;
    const size_t last = lanes - lane - 1, step = strip->lane_step;
    return (four){{first, first + firn_smaller(1, last) * step, first + firn_smaller(2, last) * step,
                   first + firn_smaller(3, last) * step},
                  strip->term_step};
}

/* 1: the loop that serves every walk is the only one, which takes less code. */
#    ifdef __OPTIMIZE_SIZE__
enum { ONE_LOOP = 1 };
#    else
enum { ONE_LOOP = 0 };
#    endif

/* How a loop walks through four lanes. */
typedef enum walk {
    WALK_ANY,   /* any steps */
    WALK_TERMS, /* the terms of a lane are adjacent */
    WALK_LANES  /* the lanes of a term are adjacent, and all four exist */
} walk;

static walk walk_of(const strip *strip, size_t lane, size_t lanes) {
    if (strip->term_step == 1)
        return WALK_TERMS;
    return strip->lane_step == 1 && lanes - lane >= 4 ? WALK_LANES : WALK_ANY;
}

/* Returns the element of lane 1, 2 or 3 at the current term. */
static inline float lane_element(const float *first, const float *lane, int number, walk walk) {
    return walk == WALK_LANES ? first[number] : *lane;
}

/* Adds `terms` terms to four by four sums. Both walks are constants after inlining. Written without arrays, which the
 * compiler would keep in memory. */
static inline __attribute__((always_inline)) void add_four_by_four(float (*sums)[COLUMNS], const four *left,
                                                                   walk left_walk, const four *right, walk right_walk,
                                                                   size_t terms) {
    const size_t left_step = left_walk == WALK_TERMS ? 1 : left->step;
    const size_t right_step = right_walk == WALK_TERMS ? 1 : right->step;
    const float *l0 = left->lane[0], *l1 = left->lane[1], *l2 = left->lane[2], *l3 = left->lane[3];
    const float *r0 = right->lane[0], *r1 = right->lane[1], *r2 = right->lane[2], *r3 = right->lane[3];
    float s00 = sums[0][0], s01 = sums[0][1], s02 = sums[0][2], s03 = sums[0][3];
    float s10 = sums[1][0], s11 = sums[1][1], s12 = sums[1][2], s13 = sums[1][3];
    float s20 = sums[2][0], s21 = sums[2][1], s22 = sums[2][2], s23 = sums[2][3];
    float s30 = sums[3][0], s31 = sums[3][1], s32 = sums[3][2], s33 = sums[3][3];
    for (; terms > 0; terms--) {
        const float x0 = *l0, x1 = lane_element(l0, l1, 1, left_walk), x2 = lane_element(l0, l2, 2, left_walk),
                    x3 = lane_element(l0, l3, 3, left_walk);
        const float y0 = *r0, y1 = lane_element(r0, r1, 1, right_walk), y2 = lane_element(r0, r2, 2, right_walk),
                    y3 = lane_element(r0, r3, 3, right_walk);
        s00 = firn_fma(x0, y0, s00), s01 = firn_fma(x0, y1, s01);
        s02 = firn_fma(x0, y2, s02), s03 = firn_fma(x0, y3, s03);
        s10 = firn_fma(x1, y0, s10), s11 = firn_fma(x1, y1, s11);
        s12 = firn_fma(x1, y2, s12), s13 = firn_fma(x1, y3, s13);
        s20 = firn_fma(x2, y0, s20), s21 = firn_fma(x2, y1, s21);
        s22 = firn_fma(x2, y2, s22), s23 = firn_fma(x2, y3, s23);
        s30 = firn_fma(x3, y0, s30), s31 = firn_fma(x3, y1, s31);
        s32 = firn_fma(x3, y2, s32), s33 = firn_fma(x3, y3, s33);
        l0 += left_step, l1 += left_step, l2 += left_step, l3 += left_step;
        r0 += right_step, r1 += right_step, r2 += right_step, r3 += right_step;
    }
    sums[0][0] = s00, sums[0][1] = s01, sums[0][2] = s02, sums[0][3] = s03;
    sums[1][0] = s10, sums[1][1] = s11, sums[1][2] = s12, sums[1][3] = s13;
    sums[2][0] = s20, sums[2][1] = s21, sums[2][2] = s22, sums[2][3] = s23;
    sums[3][0] = s30, sums[3][1] = s31, sums[3][2] = s32, sums[3][3] = s33;
}

/* Adds `terms` terms to the sums of one lane of one factor and four of the other, sum_step apart. */
static void add_one_by_four(float *sums, size_t sum_step, const float *one, size_t one_step, const four *right,
                            size_t terms) {
    const float *r0 = right->lane[0], *r1 = right->lane[1], *r2 = right->lane[2], *r3 = right->lane[3];
    const size_t step = right->step;
    float s0 = sums[0], s1 = sums[sum_step], s2 = sums[2 * sum_step], s3 = sums[3 * sum_step];
    for (; terms > 0; terms--, one += one_step) {
        const float x = *one;
        s0 = firn_fma(x, *r0, s0), s1 = firn_fma(x, *r1, s1);
        s2 = firn_fma(x, *r2, s2), s3 = firn_fma(x, *r3, s3);
        r0 += step, r1 += step, r2 += step, r3 += step;
    }
    sums[0] = s0, sums[sum_step] = s1, sums[2 * sum_step] = s2, sums[3 * sum_step] = s3;
}

/* Computes one row over the terms [begin, end) of the block. */
static void add_row(float sums[COLUMNS], const block *block, size_t row, size_t begin, size_t end, size_t columns) {
    const strip *left = &block->left;
    if (begin >= end)
        return;
    for (size_t column = 0; column < columns; column += 4) {
        const four right = four_lanes(&block->right, column, columns, begin);
        add_one_by_four(&sums[column], 1, left->at + row * left->lane_step + begin * left->term_step, left->term_step,
                        &right, end - begin);
    }
}

/* The same for a single column and at most four rows, all terms of the block. */
static void add_column(float (*sums)[COLUMNS], const block *block, size_t row, size_t rows) {
    const four left = four_lanes(&block->left, row, row + rows, 0);
    add_one_by_four(&sums[row][0], COLUMNS, block->right.at, block->right.term_step, &left, block->end - block->begin);
}

/* Computes at most four rows, all terms of the block. */
static void add_rows(float (*sums)[COLUMNS], const block *block, size_t row, size_t rows, size_t columns) {
    const size_t terms = block->end - block->begin;
    if (columns == 1) {
        add_column(sums, block, row, rows);
        return;
    }
    const four left = four_lanes(&block->left, row, row + rows, 0);
    const walk left_walk = walk_of(&block->left, row, row + rows);
    for (size_t column = 0; column < columns; column += 4) {
        const four right = four_lanes(&block->right, column, columns, 0);
        float(*here)[COLUMNS] = (float(*)[COLUMNS]) & sums[row][column];
        const walk right_walk = walk_of(&block->right, column, columns);
        if (ONE_LOOP)
            add_four_by_four(here, &left, WALK_ANY, &right, WALK_ANY, terms);
        else if (left_walk == WALK_TERMS && right_walk == WALK_TERMS)
            add_four_by_four(here, &left, WALK_TERMS, &right, WALK_TERMS, terms);
        else if (left_walk == WALK_TERMS && right_walk == WALK_LANES)
            add_four_by_four(here, &left, WALK_TERMS, &right, WALK_LANES, terms);
        else if (left_walk == WALK_LANES && right_walk == WALK_LANES)
            add_four_by_four(here, &left, WALK_LANES, &right, WALK_LANES, terms);
        else
            add_four_by_four(here, &left, WALK_ANY, &right, WALK_ANY, terms);
    }
}

enum { LEAST_ROWS = 2 }; /* that are computed together */

#endif

/* --- sums inside a chunk, in a half type -------------------------------------------------------------------------- */

/* The lanes of the right factor lie side by side. */
#if FIRN_VECTORS
static void add_row_half(uint8_t type, float sums[COLUMNS], const block *block, size_t row, size_t begin, size_t end,
                         size_t columns) {
    (void)columns; /* lanes beyond the last column are computed too */
    for (size_t term = begin; term < end; term++) {
        const float left = block->left.at[row * block->left.lane_step + term * block->left.term_step];
        const float *right = block->right.at + term * COLUMNS;
        switch (type) {
        case FIRN_FLOAT16:
            for (size_t column = 0; column < COLUMNS; column++)
                sums[column] = firn_float16_fma_inline(left, right[column], sums[column]);
            break;
        case FIRN_CBFLOAT16:
            for (size_t column = 0; column < COLUMNS; column++)
                sums[column] = firn_cbfloat16_fma_inline(left, right[column], sums[column]);
            break;
        case FIRN_BFLOAT16:
            for (size_t column = 0; column < COLUMNS; column++)
                sums[column] = firn_bfloat16_fma_inline(left, right[column], sums[column]);
            break;
        default:
            __builtin_trap();
        }
    }
}
#else
static void add_row_half(uint8_t type, float sums[COLUMNS], const block *block, size_t row, size_t begin, size_t end,
                         size_t columns) {
    for (size_t term = begin; term < end; term++) {
        const float left = block->left.at[row * block->left.lane_step + term * block->left.term_step];
        const float *right = block->right.at + term * COLUMNS;
        for (size_t column = 0; column < columns; column++)
            sums[column] = firn_half_fma(type, left, right[column], sums[column]);
    }
}
#endif

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

/* Returns true if the rows from `row` on, four or those that are left of the tile, are computed together: each has all
 * terms of the block, and sums of rows beyond the last one lie inside the tile. */
static bool are_together(const firn_product *product, const block *block, const firn_tile *tile, size_t row,
                         size_t rows) {
    return product->reduction.kind == FIRN_REDUCTION_F32 && rows >= LEAST_ROWS && (rows == 4 || row % 4 == 0) &&
           has_all_terms(product, block, tile->row + row) && has_all_terms(product, block, tile->row + row + rows - 1);
}

static void add_block(const firn_product *product, const block *block, const firn_tile *tile, float (*sums)[COLUMNS]) {
    const firn_reduction *reduction = &product->reduction;
    size_t row = 0;
    while (row < tile->rows) {
        const size_t rows = firn_smaller(4, tile->rows - row);
        if (are_together(product, block, tile, row, rows)) {
            add_rows(sums, block, row, rows, tile->columns);
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

static size_t tiles_across(const firn_product *product) {
    return firn_ceiling(product->columns, COLUMNS);
}

size_t firn_product_tiles(const firn_product *product) {
    return firn_ceiling(product->rows, ROWS) * tiles_across(product);
}

void firn_product_tile(const firn_product *product, size_t number, firn_tile *tile) {
    tile->row = number / tiles_across(product) * ROWS;
    tile->column = number % tiles_across(product) * COLUMNS;
    tile->rows = firn_smaller(ROWS, product->rows - tile->row);
    tile->columns = firn_smaller(COLUMNS, product->columns - tile->column);
    memset(tile->values, 0, (tile->rows + 3) / 4 * 4 * sizeof tile->values[0]); /* rows are computed in fours */
    switch (product->reduction.kind) {
    case FIRN_REDUCTION_F32:
        sum_in_float32(product, tile);
        break;
    case FIRN_REDUCTION_CHUNKED:
        sum_in_chunks(product, tile);
        break;
    default:
        __builtin_trap();
    }
}
