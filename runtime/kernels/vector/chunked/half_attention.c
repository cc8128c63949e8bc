/* The products of attention with float16 sums inside chunks, for CPUs with a fused multiply-add of float16; see
 * attention/products.h. Only for calls all of whose sums are so. Scores lie as [key][query], which is a right factor as
 * it is; keys and values are packed once for each head, as left factors [key][element], whose rows are either keys or
 * elements. That makes the sums over keys [element][query], which are turned when they are stored.
 *
 *     scores[key][query]     K [key][element]   q  [element][query]
 *     gradients[key][query]  V [key][element]   dy [element][query]
 *     y[element][query]      V [element][key]   P  [key][query]
 *     dq[element][query]     K [element][key]   dS [key][query]
 *     dk[key][element]       dS [key][query]    q  [query][element]
 *     dv[key][element]       P [key][query]     dy [query][element]
 */
#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/attention/products.h"
#include "runtime/kernels/vector/attention/stores.h"
#include "runtime/kernels/vector/chunked/half_pack.h"
#include "runtime/kernels/vector/chunked/half_tile.h"
#include "runtime/kernels/vector/pieces.h"

enum {
    QUERIES = FIRN_BLOCK_QUERIES,
    RUN = 128, /* keys whose scores are halves at a time: 8 KiB, which stay in the L1 cache */
    ROWS = FIRN_HALF_TILE_ROWS,
    LOW = FIRN_HALF_TILE_LOW,
    UNIT = 32 /* elements of a packed row are a multiple of it */
};

_Static_assert(UNIT % FIRN_HALVES == 0 && UNIT % ROWS == 0, "a packed row is whole registers, and whole tiles");
_Static_assert(QUERIES % ROWS == 0 && QUERIES % FIRN_HALVES == 0, "a block of keys is whole tiles, and of queries too");
_Static_assert(sizeof(firn_half_factor) <= sizeof(float), "packed keys fit where others have floats");
_Static_assert(sizeof(firn_half_factor) * LOW * QUERIES <= sizeof(uint16_t) * RUN * QUERIES, "both fit into `own`");

/* The reductions of both ops; only the backward op has the last one. */
enum {
    SCORES = FIRN_ATTENTION_REDUCTION_SCORES,
    VALUES = FIRN_ATTENTION_REDUCTION_VALUES,
    QUERIES_AND_KEYS = FIRN_ATTENTION_BACKWARD_REDUCTION_QUERIES_AND_KEYS
};

typedef firn_attention_head head;
typedef firn_attention_block block;

const firn_attention_packing firn_attention_packing_of_set = {
    .unit = UNIT, .own = (size_t)RUN * QUERIES / 2, .chunked_multiplications = 2 * FIRN_MULTIPLICATIONS};

void firn_attention_products_begin(void) {}

void firn_attention_products_end(void) {}

/* --- packing ------------------------------------------------------------------------------------------------------ */

static uint16_t *halves_at(const head *h, size_t at) {
    return (uint16_t *)(void *)(h->slot + at);
}

static firn_half_factor *factors_at(const head *h, size_t at) {
    return (firn_half_factor *)(void *)(h->slot + at);
}

static const uint16_t *row_of(const firn_matrix *m, size_t row) {
    return (const uint16_t *)m->data + m->first + row * m->row_step;
}

static void pack_factors(firn_half_factor *out, const uint16_t *row, size_t size, size_t width) {
    size_t i = 0;
    for (; i < size; i += FIRN_VECTOR)
        firn_half_factors_store(out + i,
                                firn_words_from_halves(firn_halves_load_some(firn_first_lanes(size - i), row + i)));
    memset(out + i, 0, (width - i) * sizeof *out);
}

/* Packs rows from key `first` on, as many as the piece needs and the slot can hold, as left factors, unless they are
 * packed already. Rows up to a multiple of a tile are zeros; they are computed with, but not stored. */
static const firn_half_factor *pack_span(const head *h, size_t at, firn_matrix from, size_t first, size_t *packed) {
    const size_t width = h->job->width, rows = firn_smaller(h->job->span, h->reach - first);
    firn_half_factor *out = factors_at(h, at);
    if (*packed != first) {
        for (size_t row = 0; row < rows; row++)
            pack_factors(out + row * width, row_of(&from, first + row), h->a->size, width);
        memset(out + rows * width, 0, (firn_round_up(rows, ROWS) - rows) * width * sizeof *out);
    }
    *packed = first;
    return out;
}

static const firn_half_factor *pack_keys(head *h, size_t first) {
    return pack_span(h, h->job->at.keys, firn_attention_keys(h), first, &h->packed_keys);
}

static const firn_half_factor *pack_values(head *h, size_t first) {
    return pack_span(h, h->job->at.values, firn_attention_values(h), first, &h->packed_values);
}

/* Steps of a block, as columns of a right factor: out[element][query]. */
static const uint16_t *pack_columns(const head *h, size_t at, firn_matrix from, const block *b) {
    const firn_matrix columns = firn_transposed(from);
    uint16_t *out = halves_at(h, at);
    if (b->count < QUERIES)
        memset(out, 0, h->a->size * QUERIES * sizeof *out);
    firn_half_pack_columns(out, QUERIES, 0, &columns, 0, h->a->size, b->query, b->count);
    return out;
}

/* The same as rows: out[query][element]. */
static const uint16_t *pack_rows(const head *h, size_t at, firn_matrix from, const block *b) {
    const size_t size = h->a->size, width = h->job->width;
    uint16_t *out = halves_at(h, at);
    for (size_t i = 0; i < b->count; i++) {
        memcpy(out + i * width, row_of(&from, b->query + i), size * sizeof *out);
        memset(out + i * width + size, 0, (width - size) * sizeof *out);
    }
    return out;
}

/* Scores, which are values of float16, as halves and as left factors. */
static void pack_right_scores(uint16_t *out, const float *scores, size_t count) {
    for (size_t i = 0; i < count; i += FIRN_VECTOR)
        firn_halves_store_some(out + i, firn_first_lanes(FIRN_VECTOR),
                               firn_vector_to_float16(firn_vector_load(scores + i)));
}

static void pack_left_scores(firn_half_factor *out, const float *scores, size_t count) {
    for (size_t i = 0; i < count; i += FIRN_VECTOR)
        firn_half_factors_store(out + i, firn_words_from_halves(firn_vector_to_float16(firn_vector_load(scores + i))));
}

/* --- rows of scores: a key against the queries -------------------------------------------------------------------- */

/* out[key][query] = rows[key] . columns[][query] for the keys [begin, end), the first of which is packed first. */
static void multiply_rows(const head *h, size_t reduction, float *out, const firn_half_factor *rows,
                          const uint16_t *columns, size_t begin, size_t end) {
    firn_half_tile tile = {.left_row_step = h->job->width,
                           .left_term_step = 1,
                           .right_step = QUERIES,
                           .chunk = h->a->call->reductions[reduction].chunk,
                           .terms = h->a->size,
                           .begins = true,
                           .ends = true,
                           .sums = halves_at(h, h->job->at.chunk_sums),
                           .step = QUERIES};
    for (size_t key = begin; key < end; key += ROWS)
        for (size_t query = 0; query < QUERIES; query += FIRN_HALVES) {
            tile.left = rows + (key - begin) * h->job->width;
            tile.right = columns + query;
            tile.totals = out + (key - h->origin) * QUERIES + query;
            firn_half_tile_add(&tile);
        }
}

void firn_attention_multiply_scores(head *h, const block *b) {
    const firn_attention_layout *at = &h->job->at;
    const uint16_t *columns = pack_columns(h, at->query_columns, firn_attention_queries(h), b);
    for (size_t key = b->begin; key < b->end; key += h->job->span)
        multiply_rows(h, SCORES, h->slot + at->scores, pack_keys(h, key), columns, key,
                      firn_smaller(b->end, key + h->job->span));
}

void firn_attention_multiply_gradients(head *h, const block *b) {
    const firn_attention_layout *at = &h->job->at;
    const uint16_t *columns = pack_columns(h, at->gradient_columns, firn_attention_output_gradients(h), b);
    for (size_t key = b->begin; key < b->end; key += h->job->span)
        multiply_rows(h, VALUES, h->slot + at->gradients, pack_values(h, key), columns, key,
                      firn_smaller(b->end, key + h->job->span));
}

/* --- sums over keys ----------------------------------------------------------------------------------------------- */

/* sums[element][query] = rows[][element] . weights[][query] over the keys [begin, end) that the query sees, added to
 * the previous sums. The first key is packed first. */
static void add_run(const head *h, const block *b, size_t reduction, const float *weights, const firn_half_factor *rows,
                    size_t begin, size_t end) {
    uint16_t *right = halves_at(h, h->job->at.own), *sums = halves_at(h, h->job->at.chunk_sums);
    pack_right_scores(right, weights + (begin - h->origin) * QUERIES, (end - begin) * QUERIES);
    firn_half_tile tile = {.left_row_step = 1,
                           .left_term_step = h->job->width,
                           .right_step = QUERIES,
                           .chunk = h->a->call->reductions[reduction].chunk,
                           .first_term = begin,
                           .terms = end - begin,
                           .begins = begin == 0,
                           .ends = end == b->end,
                           .present = h->a->causal ? FIRN_HALF_TERMS_UP_TO_COLUMN : FIRN_HALF_TERMS_ALL,
                           .step = QUERIES};
    for (size_t element = 0; element < h->a->size; element += ROWS)
        for (size_t query = 0; query < QUERIES; query += FIRN_HALVES) {
            const size_t at = element * QUERIES + query;
            tile.left = rows + element;
            tile.right = right + query;
            tile.diagonal = (ptrdiff_t)(b->query + query) - (ptrdiff_t)begin;
            tile.sums = sums + at;
            tile.totals = h->slot + h->job->at.sums + at;
            firn_half_tile_add(&tile);
        }
}

static void add_keys(const head *h, const block *b, size_t reduction, const float *weights,
                     const firn_half_factor *rows, size_t begin, size_t end) {
    for (size_t key = begin; key < end; key += RUN)
        add_run(h, b, reduction, weights, rows + (key - begin) * h->job->width, key, firn_smaller(end, key + RUN));
}

void firn_attention_store_outputs(head *h, const block *b) {
    const firn_attention_layout *at = &h->job->at;
    for (size_t key = 0; key < b->end; key += h->job->span)
        add_keys(h, b, VALUES, h->slot + at->scores, pack_values(h, key), key,
                 firn_smaller(b->end, key + h->job->span));
    firn_attention_store_turned(h, b, (firn_attention_heads){h->a->y, 0}, 1.0f);
}

void firn_attention_store_query_gradients(head *h, const block *b) {
    const firn_attention_layout *at = &h->job->at;
    for (size_t key = 0; key < b->end; key += h->job->span)
        add_keys(h, b, QUERIES_AND_KEYS, h->slot + at->gradients, pack_keys(h, key), key,
                 firn_smaller(b->end, key + h->job->span));
    firn_attention_store_turned(h, b, h->a->dquery, h->a->scale);
}

/* --- sums over queries -------------------------------------------------------------------------------------------- */

/* Computes the panels of a product whose columns are the elements of a head. */
static void multiply_across(const head *h, const firn_half_tile *all) {
    firn_half_tile tile = *all;
    for (size_t column = 0, columns; column < h->job->width; column += columns) {
        const bool is_wide = h->job->width - column >= FIRN_HALF_TILE_COLUMNS;
        columns = is_wide ? FIRN_HALF_TILE_COLUMNS : FIRN_HALVES;
        tile.right = all->right + column;
        tile.sums = all->sums + column;
        tile.totals = all->totals + column;
        if (is_wide)
            firn_half_tile_add_wide(&tile);
        else
            firn_half_tile_add_low(&tile);
    }
}

/* sums[key] = weights[key][] . rows[] over the queries of the block that see the key, added to the previous sums. */
static void add_queries(const head *h, const block *b, size_t reduction, const float *weights, const uint16_t *rows,
                        float *sums, size_t chunk_sums) {
    const size_t width = h->job->width;
    firn_half_factor *left = factors_at(h, h->job->at.own);
    for (size_t key = b->begin; key < b->end; key += LOW) {
        const bool on_diagonal = h->a->causal && key >= b->query;
        float *totals = sums + (key - h->origin) * width;
        const firn_half_tile tile = {.left = left,
                                     .left_row_step = QUERIES,
                                     .left_term_step = 1,
                                     .right = rows,
                                     .right_step = width,
                                     .chunk = h->a->call->reductions[reduction].chunk,
                                     .first_term = b->query,
                                     .terms = b->count,
                                     .begins = h->a->causal ? on_diagonal : b->query == 0,
                                     .ends = b->query + b->count == h->a->queries,
                                     .present = on_diagonal ? FIRN_HALF_TERMS_FROM_ROW : FIRN_HALF_TERMS_ALL,
                                     .diagonal = (ptrdiff_t)key - (ptrdiff_t)b->query,
                                     .sums = halves_at(h, chunk_sums) + (key - h->origin) * width,
                                     .totals = totals,
                                     .step = width};
        pack_left_scores(left, weights + (key - h->origin) * QUERIES, (size_t)LOW * QUERIES);
        multiply_across(h, &tile);
    }
}

void firn_attention_add_key_gradients(const head *h, const block *b, float *key_sums, float *value_sums) {
    const firn_attention_layout *at = &h->job->at;
    const uint16_t *queries = pack_rows(h, at->query_rows, firn_attention_queries(h), b);
    const uint16_t *gradients = pack_rows(h, at->gradient_rows, firn_attention_output_gradients(h), b);
    add_queries(h, b, QUERIES_AND_KEYS, h->slot + at->gradients, queries, key_sums, at->key_chunks);
    add_queries(h, b, VALUES, h->slot + at->scores, gradients, value_sums, at->value_chunks);
}
