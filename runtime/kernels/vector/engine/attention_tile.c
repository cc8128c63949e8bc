/* The register tile of attention with the sums of a matrix engine; see attention_tile.h. Blocks of 32 terms are those
 * of queries and keys that attention works in, so all rows of a tile have the same of them. Pairs at the diagonal are
 * added one by one, to the rows that have one of their terms. */
#include "runtime/kernels/vector/engine/attention_tile.h"

#include "plan/ops.h"
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/engine/tile.h"

enum { ROWS = FIRN_ATTENTION_TILE_ROWS };

_Static_assert((int)FIRN_ATTENTION_TILE_COLUMNS == (int)FIRN_REGISTER_COLUMNS && (int)ROWS <= (int)FIRN_REGISTER_ROWS &&
                   ROWS % 2 == 0,
               "a tile of attention is one of a product, of whole pairs of rows");

/* Adds some terms to some rows; both are counted from the first of the tile. */
static void add(const firn_attention_tile *t, size_t row, size_t rows, size_t term, size_t terms, bool begins) {
    const firn_register_tile tile = {.left = t->left + row * t->left_row_step + term * t->left_term_step,
                                     .left_row_step = t->left_row_step,
                                     .left_term_step = (ptrdiff_t)t->left_term_step,
                                     .right = t->right + term * t->right_step,
                                     .right_step = t->right_step,
                                     .rows = rows,
                                     .columns = firn_ceiling(t->columns, FIRN_VECTOR) * FIRN_VECTOR,
                                     .runs = 1,
                                     .terms = terms,
                                     .begins = begins,
                                     .sums = t->sums + row * t->sums_step,
                                     .sums_step = t->sums_step};
    if (rows > 0 && (terms > 0 || begins))
        firn_engine_tile_add(t->reduction->kind, &tile);
}

/* The pairs at the diagonals of the rows; fewer at the end of the terms. Rows 2p and 2p + 1 share their pair p. */
static void add_pairs(const firn_attention_tile *t) {
    const size_t before = firn_smaller(t->diagonal - t->first_term, t->terms),
                 edge = firn_smaller(ROWS, t->terms - before);
    const bool up_to = t->present == FIRN_TERMS_UP_TO_DIAGONAL;
    add(t, 0, ROWS, 0, up_to ? before : 0, t->begins);
    for (size_t pair = 0; pair < edge; pair += 2)
        add(t, up_to ? pair : 0, up_to ? ROWS - pair : pair + 2, before + pair, firn_smaller(2, edge - pair), false);
    if (!up_to)
        add(t, 0, ROWS, before + edge, t->terms - before - edge, false);
}

void firn_engine_attention_tile_add(const firn_attention_tile *tile) {
    if (tile->present == FIRN_TERMS_ALL || tile->reduction->kind == FIRN_REDUCTION_EVEN_ODD_BLOCKS)
        add(tile, 0, ROWS, 0, tile->terms, tile->begins);
    else
        add_pairs(tile);
}
