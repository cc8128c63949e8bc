/* What products of words (product.c, attention_products.c, conv.c, conv_weight.c, recurrent.c) need of a matrix engine:
 * one of amx.c and pairs.c. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_ENGINE_H
#define FIRN_KERNELS_VECTOR_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/kernels/vector/engine/beside.h"
#include "runtime/kernels/vector/engine/words.h"

enum {
    FIRN_ENGINE_ROWS_MAX = 32, /* of a tile, of every engine */
    FIRN_ENGINE_TERMS = 32,    /* a multiple of the terms that one instruction adds */
    FIRN_ENGINE_GAP = 32,      /* terms between packed rows, so that these do not share cache sets */
    FIRN_ENGINE_SHARING = 2048 /* rows a multiple of so many terms apart, 4 KiB, share a few sets of the L1 cache */
};

/* A tile of a product: rows by FIRN_WORD_COLUMNS columns of sums, to which words of terms are added. */
typedef struct firn_engine_tile {
    const uint16_t *left; /* term t of row r at r * left_step + t */
    size_t left_step;
    const uint32_t *right; /* word w of column c at w * FIRN_WORD_COLUMNS + c */
    size_t rows, words;
    bool begins; /* the sums begin at +0 instead of the stored values */
    float *sums; /* of (row, column) at row * sums_step + column */
    size_t sums_step;
    firn_engine_beside *beside; /* done before the call returns; NULL: nothing. For `multiply` only. */
} firn_engine_tile;

typedef struct firn_engine {
    size_t rows; /* of a tile, at most */
    /* Rows are read and stored up to a multiple of it. What the rows behind the last one hold does not matter, and may
     * never have been written. */
    size_t height;
    size_t words; /* that one instruction adds: a tile has a multiple of them */
    /* Multiplications that take as long as packing one term. copying: of a row of the left factor whose terms lie side
     * by side; packing: of any other row or column. Estimates. */
    size_t copying, packing;
    uint64_t cost;       /* multiplications that take as long as one operation on an element (FIRN_GRAIN) */
    void (*begin)(void); /* before the first tile of a piece, in its thread */
    void (*multiply)(const firn_engine_tile *tile);
    /* The same at the diagonal of a causal mask, for at most FIRN_ENGINE_ROWS_MAX rows and half as many words: only the
     * columns from 2w on have word w, or only the rows up to 2w + 1. NULL if one instruction adds so many words that
     * all rows and columns have some of them. */
    void (*multiply_from_column)(const firn_engine_tile *tile);
    void (*multiply_up_to_row)(const firn_engine_tile *tile);
    void (*end)(void); /* after the last one */
} firn_engine;

extern const firn_engine firn_engine_of_set;

/* The words of so many terms, at least one, up to whole instructions. */
static inline size_t firn_engine_words(size_t terms) {
    return firn_round_up(firn_ceiling(terms, 2), firn_engine_of_set.words);
}

#endif
