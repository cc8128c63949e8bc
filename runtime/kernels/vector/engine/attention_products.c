/* The products of attention by the matrix engine of the set, which sums them all; see attention/products.h. Scores lie
 * as [key][query], so a block of them is a right factor as it is, two rows to a row of words, and a left factor as it
 * is, too: no matrix of scores is transposed. That makes the sums over keys [element][query], which are turned when
 * they are stored.
 *
 *     scores[key][query]     K [key][element]   q  [element][query]
 *     gradients[key][query]  V [key][element]   dy [element][query]
 *     y[element][query]      V [element][key]   P  [key][query]
 *     dq[element][query]     K [element][key]   dS [key][query]
 *     dk[key][element]       dS [key][query]    q  [query][element]
 *     dv[key][element]       P [key][query]     dy [query][element]
 *
 * Blocks of 32 terms begin where blocks of queries and keys do. Those behind the diagonal of a causal mask are in no
 * product; in one at the diagonal the unseen scores are +0, and an engine that adds fewer terms at a time leaves out
 * what NUMERICS.md says. The sizes are estimates. x86 only. */
#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/attention/products.h"
#include "runtime/kernels/vector/attention/stores.h"
#include "runtime/kernels/vector/engine/engine.h"
#include "runtime/kernels/vector/vector.h"

enum {
    QUERIES = FIRN_BLOCK_QUERIES,
    RUN = 512, /* keys whose scores are packed at a time: 32 KiB */
    UNIT = 32  /* elements of a packed row, and keys of a packed column, are a multiple of it */
};

_Static_assert((int)QUERIES == (int)FIRN_WORD_COLUMNS && (int)QUERIES == (int)FIRN_ENGINE_TERMS &&
                   (int)QUERIES == (int)FIRN_ENGINE_ROWS_MAX && (int)UNIT == (int)FIRN_ENGINE_TERMS,
               "a block of queries is a tile's columns, and a block of terms; a block of keys is its rows");
_Static_assert((int)RUN % (int)QUERIES == 0, "a run of keys is whole blocks");

/* Keys take half of their matrix as rows, and as columns the other half and the spare rows. */
const firn_attention_packing firn_attention_packing_of_set = {
    .unit = UNIT, .spare_rows = FIRN_ENGINE_GAP / 2, .own = (size_t)RUN / 2 * QUERIES};

typedef firn_attention_head head;
typedef firn_attention_block block;
typedef void (*multiply_tile)(const firn_engine_tile *tile);

void firn_attention_products_begin(void) {
    firn_engine_of_set.begin();
}

void firn_attention_products_end(void) {
    firn_engine_of_set.end();
}

/* --- packing ------------------------------------------------------------------------------------------------------ */

/* Returns the words of so many terms, as many as whole instructions add; 0 of none. */
static size_t words_of(size_t terms) {
    const size_t words = (terms + 1) / 2, unit = firn_engine_of_set.words;
    return (words + unit - 1) / unit * unit;
}

static uint32_t *words_at(const head *h, size_t at) {
    return (uint32_t *)(void *)(h->slot + at);
}

static const uint16_t *halves_of(const uint32_t *words) {
    return (const uint16_t *)(const void *)words;
}

static const uint16_t *element(const firn_matrix *m, size_t row, size_t column) {
    return (const uint16_t *)m->data + m->first + row * m->row_step + column * m->column_step;
}

/* Steps of a block, as the columns of a right factor: the terms are the elements of the head. */
static void pack_columns(const head *h, uint32_t *out, firn_matrix from, const block *b) {
    const firn_words_of part = {.first = element(&from, b->query, 0),
                                .term_step = from.column_step,
                                .lane_step = from.row_step,
                                .terms = h->a->size,
                                .lanes = b->count};
    firn_words_pack_panel(out, &part, words_of(h->a->size));
}

/* Steps of a block, as the terms of a right factor: panels of elements, out[panel][word][element]. */
static void pack_terms(const head *h, uint32_t *out, firn_matrix from, const block *b) {
    for (size_t column = 0; column < h->a->size;
         column += FIRN_WORD_COLUMNS, out += (size_t)QUERIES / 2 * FIRN_WORD_COLUMNS) {
        const firn_words_of part = {.first = element(&from, b->query, column),
                                    .term_step = from.row_step,
                                    .lane_step = from.column_step,
                                    .terms = b->count,
                                    .lanes = firn_smaller(FIRN_WORD_COLUMNS, h->a->size - column)};
        firn_words_pack_panel(out, &part, words_of(b->count));
    }
}

static size_t packed_span(const head *h, size_t first) {
    return firn_smaller(h->job->span, h->reach - first);
}

/* Keys or values from `first` on, as many as the piece needs and the slot can hold, as the rows of a left factor. */
static const uint16_t *pack_rows(const head *h, size_t at, firn_matrix from, size_t first, size_t *packed) {
    const firn_words_of part = {.first = element(&from, first, 0),
                                .term_step = from.column_step,
                                .lane_step = from.row_step,
                                .terms = h->a->size,
                                .lanes = packed_span(h, first)};
    if (*packed != first)
        firn_words_pack_rows(words_at(h, at), h->job->width / 2, &part, h->job->width / 2);
    *packed = first;
    return halves_of(words_at(h, at));
}

/* The same as terms of a left factor, whose rows are the elements, column_step(h) terms apart. */
static size_t column_step(const head *h) {
    return h->job->span + FIRN_ENGINE_GAP;
}

static const uint16_t *pack_turned(const head *h, size_t at, firn_matrix from, size_t first, size_t *packed) {
    const size_t steps = packed_span(h, first);
    const firn_words_of part = {.first = element(&from, first, 0),
                                .term_step = from.row_step,
                                .lane_step = from.column_step,
                                .terms = steps,
                                .lanes = h->a->size};
    if (*packed != first)
        firn_words_pack_rows(words_at(h, at), column_step(h) / 2, &part, firn_ceiling(steps, UNIT) * UNIT / 2);
    *packed = first;
    return halves_of(words_at(h, at));
}

static void store(void *to, firn_words words) {
    memcpy(to, &words, sizeof words);
}

/* The upper halves of the bits, which are all of a value of bfloat16. */
static inline firn_words upper(const float *from) {
    return firn_words_right(firn_vector_bits(firn_vector_load(from)), 16);
}

/* Scores of so many keys as the terms of a right factor: out[word][query]. */
static void pack_right_scores(uint32_t *out, const float *scores, size_t keys) {
    const firn_words high = firn_words_fill(0xffff0000u), none = firn_words_fill(0);
    const size_t words = words_of(keys);
    for (size_t word = 0; word < words; word++)
        for (size_t query = 0; query < QUERIES; query += FIRN_VECTOR) {
            const float *first = scores + 2 * word * QUERIES + query, *second = first + QUERIES;
            const firn_words low = 2 * word < keys ? upper(first) : none;
            const firn_words rest =
                2 * word + 1 < keys ? firn_words_and(firn_vector_bits(firn_vector_load(second)), high) : none;
            store(out + word * QUERIES + query, firn_words_or(low, rest));
        }
}

/* Scores of a block of keys as the rows of a left factor, whose terms are the queries: out[key][query]. */
static const uint16_t *pack_left_scores(uint16_t *out, const float *scores, size_t keys, size_t queries) {
    for (size_t key = 0; key < keys; key++) {
        uint16_t *row = out + key * QUERIES;
        for (size_t query = 0; query < QUERIES; query += FIRN_VECTOR) {
            const firn_vector_halves halves = firn_halves_from_words(upper(scores + key * QUERIES + query));
            firn_halves_store_some(row + query, firn_first_lanes(FIRN_VECTOR), halves);
        }
        memset(row + queries, 0, (QUERIES - queries) * sizeof *row);
    }
    return out;
}

/* --- products ----------------------------------------------------------------------------------------------------- */

/* Multiplies a tile of any number of rows, so many at a time. */
static void multiply_rows(const firn_engine_tile *all, multiply_tile multiply, size_t height) {
    for (size_t row = 0; row < all->rows; row += height) {
        firn_engine_tile tile = *all;
        tile.left += row * all->left_step;
        tile.sums += row * all->sums_step;
        tile.rows = firn_smaller(height, all->rows - row);
        multiply(&tile);
    }
}

static void multiply_all(const firn_engine_tile *all) {
    if (all->words > 0)
        multiply_rows(all, firn_engine_of_set.multiply, firn_engine_of_set.rows);
}

/* out[key][query] = rows[key] . columns[][query] for the keys [begin, end), the first of which is packed first. */
static void multiply_keys(const head *h, float *out, const uint16_t *rows, const uint32_t *columns, size_t begin,
                          size_t end) {
    float *sums = out + (begin - h->origin) * QUERIES;
    const firn_engine_tile tile = {.left = rows,
                                   .left_step = h->job->width,
                                   .right = columns,
                                   .rows = end - begin,
                                   .words = words_of(h->a->size),
                                   .begins = true,
                                   .sums = sums,
                                   .sums_step = QUERIES};
    multiply_all(&tile);
}

void firn_attention_multiply_scores(head *h, const block *b) {
    const firn_attention_layout *at = &h->job->at;
    uint32_t *columns = words_at(h, at->query_columns);
    pack_columns(h, columns, firn_attention_queries(h), b);
    for (size_t key = b->begin; key < b->end; key += h->job->span)
        multiply_keys(h, h->slot + at->scores, pack_rows(h, at->keys, firn_attention_keys(h), key, &h->packed_keys),
                      columns, key, firn_smaller(b->end, key + h->job->span));
}

void firn_attention_multiply_gradients(head *h, const block *b) {
    const firn_attention_layout *at = &h->job->at;
    uint32_t *columns = words_at(h, at->gradient_columns);
    pack_columns(h, columns, firn_attention_output_gradients(h), b);
    for (size_t key = b->begin; key < b->end; key += h->job->span)
        multiply_keys(h, h->slot + at->gradients,
                      pack_rows(h, at->values, firn_attention_values(h), key, &h->packed_values), columns, key,
                      firn_smaller(b->end, key + h->job->span));
}

/* sums[element][query] = turned[element][] . weights[][query] over the keys [begin, end) that the query sees, added to
 * the previous sums. The first key is packed first. */
static void add_keys(const head *h, const block *b, const float *weights, const uint16_t *turned, size_t begin,
                     size_t end) {
    const bool is_cut = h->a->causal && firn_engine_of_set.multiply_from_column != NULL;
    uint32_t *right = words_at(h, h->job->at.own);
    for (size_t key = begin; key < end; key += RUN) {
        const size_t keys = firn_smaller(RUN, end - key);
        const size_t whole = is_cut && b->query < key + keys ? b->query - key : keys;
        firn_engine_tile tile = {.left = turned + (key - begin),
                                 .left_step = column_step(h),
                                 .right = right,
                                 .rows = h->a->size,
                                 .words = words_of(whole),
                                 .begins = key == 0,
                                 .sums = h->slot + h->job->at.sums,
                                 .sums_step = QUERIES};
        pack_right_scores(right, weights + (key - h->origin) * QUERIES, keys);
        multiply_all(&tile);
        if (whole == keys)
            continue;
        tile.left += whole;
        tile.right += tile.words * QUERIES;
        tile.begins = b->query == 0;
        tile.words = words_of(keys - whole);
        multiply_rows(&tile, firn_engine_of_set.multiply_from_column, FIRN_ENGINE_ROWS_MAX);
    }
}

void firn_attention_store_outputs(head *h, const block *b) {
    const firn_attention_layout *at = &h->job->at;
    for (size_t key = 0; key < b->end; key += h->job->span)
        add_keys(h, b, h->slot + at->scores,
                 pack_turned(h, at->values, firn_attention_values(h), key, &h->packed_values), key,
                 firn_smaller(b->end, key + h->job->span));
    firn_attention_store_turned(h, b, (firn_attention_heads){h->a->y, 0}, 1.0f);
}

void firn_attention_store_query_gradients(head *h, const block *b) {
    const firn_attention_layout *at = &h->job->at;
    const size_t behind_rows = at->keys + h->job->span * h->job->width / 2;
    for (size_t key = 0; key < b->end; key += h->job->span)
        add_keys(h, b, h->slot + at->gradients,
                 pack_turned(h, behind_rows, firn_attention_keys(h), key, &h->packed_key_columns), key,
                 firn_smaller(b->end, key + h->job->span));
    firn_attention_store_turned(h, b, h->a->dquery, h->a->scale);
}

/* sums[key] = weights[key][] . rows[] over the queries of the block that see the key, added to the previous sums. */
static void add_queries(const head *h, const block *b, const float *weights, const uint32_t *rows, float *sums) {
    const size_t width = h->job->width;
    uint16_t *left = (uint16_t *)(void *)words_at(h, h->job->at.own);
    for (size_t key = b->begin; key < b->end; key += QUERIES) {
        const bool on_diagonal = h->a->causal && key >= b->query;
        const bool is_cut = on_diagonal && firn_engine_of_set.multiply_up_to_row != NULL;
        const size_t keys = firn_smaller(QUERIES, b->end - key);
        firn_engine_tile tile = {.left = pack_left_scores(left, weights + (key - h->origin) * QUERIES, keys, b->count),
                                 .left_step = QUERIES,
                                 .rows = keys,
                                 .words = words_of(b->count),
                                 .begins = h->a->causal ? on_diagonal : b->query == 0,
                                 .sums_step = width};
        for (size_t column = 0; column < h->a->size; column += FIRN_WORD_COLUMNS) {
            tile.right = rows + column * (QUERIES / 2);
            tile.sums = sums + (key - h->origin) * width + column;
            if (is_cut)
                multiply_rows(&tile, firn_engine_of_set.multiply_up_to_row, FIRN_ENGINE_ROWS_MAX);
            else
                multiply_all(&tile);
        }
    }
}

void firn_attention_add_key_gradients(const head *h, const block *b, float *key_sums, float *value_sums) {
    const firn_attention_layout *at = &h->job->at;
    uint32_t *queries = words_at(h, at->query_rows), *gradients = words_at(h, at->gradient_rows);
    pack_terms(h, queries, firn_attention_queries(h), b);
    pack_terms(h, gradients, firn_attention_output_gradients(h), b);
    add_queries(h, b, h->slot + at->gradients, queries, key_sums);
    add_queries(h, b, h->slot + at->scores, gradients, value_sums);
}
