/* Packs factors of bfloat16 for a matrix engine, or floats that are rounded to it. A word is two consecutive terms, the
 * first in its lower half; terms that a word lacks are +0. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_WORDS_H
#define FIRN_KERNELS_VECTOR_ENGINE_WORDS_H

#include "runtime/kernels/product.h"

enum { FIRN_WORD_COLUMNS = 32 }; /* of a panel */

/* A part of a matrix. A lane is a column of a right factor, whose terms are the matrix's rows, or a row of a left
 * factor, whose terms are its columns. One of the two steps is 1. */
typedef struct firn_words_of {
    const uint16_t *first; /* of the first term and lane */
    size_t term_step, lane_step;
    size_t terms, lanes;
    const float *floats; /* to be rounded, in place of `first`, for panels only; NULL: there are none */
} firn_words_of;

/* out[panel][word][FIRN_WORD_COLUMNS]: `words` words, which may be more than the terms fill. The last panel's lanes
 * that are missing become zeros. */
void firn_words_pack_panel(uint32_t *out, const firn_words_of *from, size_t words);

/* One word of each lane of a panel, whose terms lie side by side from `first` and `second` on; NULL: a term of zeros.
 * At most FIRN_WORD_COLUMNS lanes; others become zeros. */
void firn_words_pack_line(uint32_t *out, const uint16_t *first, const uint16_t *second, size_t lanes);

/* out[lane][word], lanes out_step words apart; out_step is at least `words` rounded up to a multiple of FIRN_VECTOR,
 * which are all written. */
void firn_words_pack_rows(uint32_t *out, size_t out_step, const firn_words_of *from, size_t words);

#endif
