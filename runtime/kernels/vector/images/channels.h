/* A register tile of flushed sums (plan/NUMERICS.md, "Reductions") for convolutions with one channel in each group:
 * each column has a left factor of its own. Every sum is one lane. Nothing here may know of images or threads. */
#ifndef FIRN_KERNELS_VECTOR_IMAGES_CHANNELS_H
#define FIRN_KERNELS_VECTOR_IMAGES_CHANNELS_H

#include <stdbool.h>

#include "runtime/kernels/vector/tile.h"

/* The left factors of a term: those of a row lie row_step floats behind those of the row before. */
typedef struct firn_channel_term {
    const float *left;
    size_t row_step;
} firn_channel_term;

typedef struct firn_channels_tile {
    const firn_channel_term *left; /* one for each term */
    size_t left_first;             /* to be added to each */
    size_t count;                  /* of the terms, the first of which begins a block; at least one */
    const float *right;            /* FIRN_REGISTER_COLUMNS floats for each term */
    size_t rows, columns;          /* at least 1; at most FIRN_REGISTER_ROWS and FIRN_REGISTER_COLUMNS */
    bool begins;                   /* the sums begin at +0 instead of the stored values */
    float *sums;                   /* FIRN_REGISTER_COLUMNS floats for each row */
} firn_channels_tile;

/* kind: FIRN_REDUCTION_EVEN_ODD_BLOCKS or FIRN_REDUCTION_PAIRS. Factors, which are values of bfloat16, are read and
 * sums written in whole registers, whatever the columns beyond the last one contain. */
void firn_channels_add(uint8_t kind, const firn_channels_tile *tile);

/* Makes NaNs of sums canonical. bias: to be added before, FIRN_REGISTER_COLUMNS floats, or NULL. */
void firn_channels_end(const firn_channels_tile *tile, const float *bias);

#endif
