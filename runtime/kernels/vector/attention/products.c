/* The products of attention in float32 registers, for every kind of sum; see products.h. */
#include "runtime/kernels/vector/attention/products.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/attention/stores.h"
#include "runtime/kernels/vector/pack.h"

enum { QUERIES = FIRN_BLOCK_QUERIES, PANEL = FIRN_PANEL_QUERIES, RUN = FIRN_RUN_KEYS, ROWS = FIRN_ATTENTION_TILE_ROWS };

/* The reductions of both ops; only the backward op has the last one. */
enum {
    SCORES = FIRN_ATTENTION_REDUCTION_SCORES,
    VALUES = FIRN_ATTENTION_REDUCTION_VALUES,
    QUERIES_AND_KEYS = FIRN_ATTENTION_BACKWARD_REDUCTION_QUERIES_AND_KEYS
};

typedef firn_attention_head head;
typedef firn_attention_block block;

const firn_attention_packing firn_attention_packing_of_set = {.unit = FIRN_VECTOR, .chunked_multiplications = 2};

void firn_attention_products_begin(void) {}

void firn_attention_products_end(void) {}

/* --- packing ------------------------------------------------------------------------------------------------------ */

/* Rows up to a multiple of a tile, and columns up to a multiple of a register, are filled with zeros. They are computed
 * with, but not stored. */
static void pack_rows(const head *h, float *out, firn_matrix from, size_t first, size_t rows) {
    const size_t size = h->a->size, width = h->job->width, all = (rows + ROWS - 1) / ROWS * ROWS;
    if (size < width)
        firn_attention_clear(out, rows * width);
    firn_attention_clear(out + rows * width, (all - rows) * width);
    firn_vector_widen_rows(out, width, &from, first, rows, 0, size);
}

static void pack_columns(const head *h, float *out, firn_matrix from, const block *b) {
    const firn_matrix columns = firn_transposed(from);
    for (size_t query = 0; query < b->count; query += PANEL)
        firn_vector_pack(out + query * h->a->size, FIRN_ATTENTION_TILE_VECTORS, &columns, 0, h->a->size,
                         b->query + query, firn_smaller(PANEL, b->count - query));
}

/* Packs the rows from key `first` on, as many as the piece needs and the slot can hold, unless they are packed
 * already. */
static const float *pack_span(const head *h, float *out, firn_matrix from, size_t first, size_t *packed) {
    if (*packed != first)
        pack_rows(h, out, from, first, firn_smaller(h->job->span, h->reach - first));
    *packed = first;
    return out;
}

static const float *pack_keys(head *h, size_t first) {
    return pack_span(h, h->slot + h->job->at.keys, firn_attention_keys(h), first, &h->packed_keys);
}

static const float *pack_values(head *h, size_t first) {
    return pack_span(h, h->slot + h->job->at.values, firn_attention_values(h), first, &h->packed_values);
}

/* --- rows of scores: a key against the queries -------------------------------------------------------------------- */

/* out[key][query] = rows[key] . columns[][query] for the keys [begin, end). rows are packed from key `begin` on. */
static void multiply_rows(const head *h, const block *b, size_t reduction, float *out, const float *rows,
                          const float *columns, size_t begin, size_t end) {
    firn_attention_tile tile = {.reduction = &h->a->call->reductions[reduction],
                                .left_row_step = h->job->width,
                                .left_term_step = 1,
                                .right_step = PANEL,
                                .terms = h->a->size,
                                .present = FIRN_TERMS_ALL,
                                .begins = true,
                                .ends = true,
                                .chunk_sums = h->slot + h->job->at.chunk_sums,
                                .sums_step = QUERIES};
    const unsigned mode = firn_attention_tiles_begin(tile.reduction);
    for (size_t key = begin; key < end; key += ROWS) {
        /* Registers whose queries all come before these keys are skipped. */
        const size_t skip = h->a->causal && key > b->query ? (key - b->query) / FIRN_VECTOR * FIRN_VECTOR : 0;
        tile.left = rows + (key - begin) * h->job->width;
        for (size_t query = skip; query < b->count; query += tile.columns) {
            tile.right = columns + (query - query % PANEL) * h->a->size + query % PANEL;
            tile.sums = out + (key - h->origin) * QUERIES + query;
            tile.columns = PANEL - query % PANEL;
            firn_attention_tile_add(&tile);
        }
    }
    firn_attention_tiles_end(tile.reduction, mode);
}

void firn_attention_multiply_scores(head *h, const block *b) {
    const firn_attention_layout *at = &h->job->at;
    float *columns = h->slot + at->query_columns;
    pack_columns(h, columns, firn_attention_queries(h), b);
    for (size_t key = b->begin; key < b->end; key += h->job->span)
        multiply_rows(h, b, SCORES, h->slot + at->scores, pack_keys(h, key), columns, key,
                      firn_smaller(b->end, key + h->job->span));
}

void firn_attention_multiply_gradients(head *h, const block *b) {
    const firn_attention_layout *at = &h->job->at;
    float *columns = h->slot + at->gradient_columns;
    pack_columns(h, columns, firn_attention_output_gradients(h), b);
    for (size_t key = b->begin; key < b->end; key += h->job->span)
        multiply_rows(h, b, VALUES, h->slot + at->gradients, pack_values(h, key), columns, key,
                      firn_smaller(b->end, key + h->job->span));
}

/* --- sums over keys and over queries ------------------------------------------------------------------------------ */

/* Computes the panels of a product whose columns are the elements of a head. */
static void multiply_across(const head *h, firn_attention_tile *tile) {
    const float *right = tile->right;
    float *sums = tile->sums, *chunk_sums = tile->chunk_sums;
    for (size_t column = 0; column < h->job->width; column += FIRN_ATTENTION_TILE_COLUMNS) {
        tile->right = right + column;
        tile->sums = sums + column;
        tile->chunk_sums = chunk_sums + column;
        tile->columns = firn_smaller(FIRN_ATTENTION_TILE_COLUMNS, h->job->width - column);
        firn_attention_tile_add(tile);
    }
}

/* sums[query] = weights[][query] . rows[] over the keys [begin, end) that the query sees, added to the previous sums.
 * rows are packed from key `begin` on. */
static void add_run(const head *h, const block *b, size_t reduction, const float *weights, const float *rows,
                    size_t begin, size_t end) {
    const size_t width = h->job->width;
    const firn_reduction *own = &h->a->call->reductions[reduction];
    const unsigned mode = firn_attention_tiles_begin(own);
    for (size_t row = 0; row < b->count; row += ROWS) {
        firn_attention_tile tile = {.reduction = own,
                                    .left = weights + (begin - h->origin) * QUERIES + row,
                                    .left_row_step = 1,
                                    .left_term_step = QUERIES,
                                    .right = rows,
                                    .right_step = width,
                                    .first_term = begin,
                                    .terms = end - begin,
                                    .present = h->a->causal ? FIRN_TERMS_UP_TO_DIAGONAL : FIRN_TERMS_ALL,
                                    .diagonal = b->query + row,
                                    .begins = begin == 0,
                                    .ends = end == b->end,
                                    .sums = h->slot + h->job->at.sums + row * width,
                                    .chunk_sums = h->slot + h->job->at.chunk_sums + row * width,
                                    .sums_step = width};
        multiply_across(h, &tile);
    }
    firn_attention_tiles_end(own, mode);
}

/* The same for all keys, a run at a time: a run stays in the L1 cache while all rows and columns of the sums use it. */
static void add_keys(const head *h, const block *b, size_t reduction, const float *weights, const float *rows,
                     size_t begin, size_t end) {
    for (size_t key = begin; key < end; key += RUN)
        add_run(h, b, reduction, weights, rows + (key - begin) * h->job->width, key, firn_smaller(end, key + RUN));
}

/* sums[key] = weights[key][] . rows[] over the queries of the block that see the key, added to the previous sums. */
static void add_queries(const head *h, const block *b, size_t reduction, const float *weights, const float *rows,
                        float *sums, float *chunk_sums) {
    const size_t width = h->job->width;
    const firn_reduction *own = &h->a->call->reductions[reduction];
    const unsigned mode = firn_attention_tiles_begin(own);
    for (size_t key = b->begin; key < b->end; key += ROWS) {
        const bool on_diagonal = h->a->causal && key >= b->query;
        firn_attention_tile tile = {.reduction = own,
                                    .left = weights + (key - h->origin) * QUERIES,
                                    .left_row_step = QUERIES,
                                    .left_term_step = 1,
                                    .right = rows,
                                    .right_step = width,
                                    .first_term = b->query,
                                    .terms = b->count,
                                    .present = on_diagonal ? FIRN_TERMS_FROM_DIAGONAL : FIRN_TERMS_ALL,
                                    .diagonal = key,
                                    .begins = h->a->causal ? on_diagonal : b->query == 0,
                                    .ends = b->query + b->count == h->a->queries,
                                    .sums_step = width};
        tile.sums = sums + (key - h->origin) * width;
        tile.chunk_sums = chunk_sums + (key - h->origin) * width;
        multiply_across(h, &tile);
    }
    firn_attention_tiles_end(own, mode);
}

void firn_attention_store_outputs(head *h, const block *b) {
    const firn_attention_layout *at = &h->job->at;
    for (size_t key = 0; key < b->end; key += h->job->span)
        add_keys(h, b, VALUES, h->slot + at->scores, pack_values(h, key), key,
                 firn_smaller(b->end, key + h->job->span));
    firn_attention_store_rows(h, firn_attention_outputs(h->a), h->query, b->query, b->count, h->slot + at->sums, 1.0f);
}

void firn_attention_store_query_gradients(head *h, const block *b) {
    const firn_attention_layout *at = &h->job->at;
    for (size_t key = 0; key < b->end; key += h->job->span)
        add_keys(h, b, QUERIES_AND_KEYS, h->slot + at->gradients, pack_keys(h, key), key,
                 firn_smaller(b->end, key + h->job->span));
    firn_attention_store_rows(h, h->a->dquery, h->query, b->query, b->count, h->slot + at->sums, h->a->scale);
}

void firn_attention_add_key_gradients(const head *h, const block *b, float *key_sums, float *value_sums) {
    const firn_attention_layout *at = &h->job->at;
    float *slot = h->slot;
    pack_rows(h, slot + at->query_rows, firn_attention_queries(h), b->query, b->count);
    pack_rows(h, slot + at->gradient_rows, firn_attention_output_gradients(h), b->query, b->count);
    add_queries(h, b, QUERIES_AND_KEYS, slot + at->gradients, slot + at->query_rows, key_sums, slot + at->key_chunks);
    add_queries(h, b, VALUES, slot + at->scores, slot + at->gradient_rows, value_sums, slot + at->value_chunks);
}
