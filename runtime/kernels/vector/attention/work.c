/* Jobs, slots, heads and blocks of attention; see work.h. */
#include "runtime/kernels/vector/attention/work.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/pieces.h"

enum {
    QUERIES = FIRN_BLOCK_QUERIES,
    RUN = FIRN_RUN_KEYS,
    SLOT = 1024 * 1024 /* floats of the largest slot */
};

/* Pieces for each thread, if there are too few heads to keep all threads busy. */
enum { PIECES = 4 };

_Static_assert(QUERIES <= 32, "a word has a bit for each query of a block");
_Static_assert(QUERIES % FIRN_PANEL_QUERIES == 0 && QUERIES % FIRN_ATTENTION_TILE_ROWS == 0,
               "whole panels, whole tiles");
_Static_assert(
    (int)FIRN_ATTENTION_TILE_ROWS <= (int)FIRN_VECTOR,
    "a width is at least FIRN_VECTOR, so chunk_sums also holds a tile of scores, [tile rows][block queries]");
_Static_assert(RUN % QUERIES == 0, "a run of keys begins where a block of queries does");

/* --- the slot ----------------------------------------------------------------------------------------------------- */

static size_t claim(size_t *end, size_t floats) {
    const size_t at = *end;
    *end += firn_round_up(floats, FIRN_VECTOR);
    return at;
}

/* The matrices that are as large as the packed keys. */
typedef struct key_matrices {
    size_t *place[8];
    size_t count;
} key_matrices;

static void add_pair(key_matrices *matrices, size_t *of_keys, size_t *of_values) {
    matrices->place[matrices->count++] = of_keys;
    matrices->place[matrices->count++] = of_values;
}

/* Places everything whose size does not depend on the steps, and returns the end. */
static size_t lay_out_block(firn_attention_layout *at, size_t width) {
    size_t end = 0;
    at->query_columns = claim(&end, width * QUERIES);
    at->gradient_columns = claim(&end, width * QUERIES);
    at->query_rows = claim(&end, QUERIES * width);
    at->gradient_rows = claim(&end, QUERIES * width);
    at->sums = claim(&end, QUERIES * width);
    at->chunk_sums = claim(&end, QUERIES * width);
    at->lanes = claim(&end, (size_t)RUN * QUERIES);
    at->drawn = claim(&end, (size_t)QUERIES * RUN);
    at->transposed = claim(&end, (size_t)RUN * QUERIES);
    at->own = claim(&end, firn_attention_packing_of_set.own);
    return end;
}

bool firn_attention_lay_out(firn_attention_job *job, bool of_keys) {
    const size_t width = firn_round_up(job->a.size, firn_attention_packing_of_set.unit);
    const size_t keys = firn_round_up(job->a.keys, QUERIES), spare = firn_attention_packing_of_set.spare_rows;
    const size_t score_rows = job->backward ? 2 : 1, score_row = score_rows * QUERIES + 1;
    firn_attention_layout *at = &job->at;
    key_matrices matrices = {.count = 0};
    add_pair(&matrices, &at->keys, &at->values);
    if (of_keys)
        add_pair(&matrices, &at->key_sums, &at->value_sums);
    if (of_keys && job->chunked)
        add_pair(&matrices, &at->key_chunks, &at->value_chunks);
    if (of_keys && job->a.group > 1)
        add_pair(&matrices, &at->head_key_sums, &at->head_value_sums);
    job->width = width;
    size_t end = lay_out_block(at, width);
    const size_t per_key = matrices.count * width, fixed = end + spare * per_key + (of_keys ? 0 : keys * score_row);
    if (fixed >= SLOT)
        return false;
    job->span = firn_smaller((SLOT - fixed) / (per_key + (of_keys ? score_row : 0)) / QUERIES * QUERIES, keys);
    const size_t rows = of_keys ? job->span : keys;
    at->kept = claim(&end, rows);
    at->scores = claim(&end, rows * QUERIES);
    at->gradients = claim(&end, (score_rows - 1) * rows * QUERIES);
    for (size_t i = 0; i < matrices.count; i++)
        *matrices.place[i] = claim(&end, (job->span + spare) * width);
    at->end = end;
    return job->span > 0;
}

/* --- the job ------------------------------------------------------------------------------------------------------ */

bool firn_attention_is_chunked(const firn_kernel_call *call, size_t reductions) {
    for (size_t i = 0; i < reductions; i++)
        if (call->reductions[i].kind == FIRN_REDUCTION_CHUNKED)
            return true;
    return false;
}

uint64_t firn_attention_cost(const firn_attention_job *job, uint64_t products) {
    const firn_attention *a = &job->a;
    const uint64_t pairs = (uint64_t)a->batch * a->heads * a->queries * a->keys / (a->causal ? 2 : 1);
    return products * pairs * a->size /
           (job->chunked ? firn_attention_packing_of_set.chunked_multiplications : FIRN_MULTIPLICATIONS);
}

size_t firn_attention_divide(firn_attention_job *job, size_t heads, size_t steps, size_t threads, size_t most) {
    const size_t blocks = firn_ceiling(steps, QUERIES);
    size_t parts = 1;
    while (threads > 1 && parts < blocks && heads * parts < PIECES * threads)
        parts++;
    job->part = firn_smaller(firn_ceiling(blocks, parts) * QUERIES, most);
    job->parts = firn_ceiling(steps, job->part);
    return heads * job->parts;
}

/* --- heads and blocks --------------------------------------------------------------------------------------------- */

firn_attention_head firn_attention_head_of(const firn_attention_job *job, void *slot, size_t batch, size_t query_head) {
    firn_attention_head h = {.job = job, .a = &job->a, .slot = slot, .batch = batch, .query = query_head};
    h.key = query_head / job->a.group;
    h.row = firn_attention_row(&job->a, batch, query_head);
    h.reach = job->a.keys;
    h.packed_keys = h.packed_values = h.packed_key_columns = SIZE_MAX; /* nothing is packed */
    if (job->chunked)
        firn_attention_clear(h.slot + job->at.chunk_sums, QUERIES * job->width);
    return h;
}

firn_attention_head firn_attention_query_piece(const firn_attention_job *job, size_t piece, void *slot, size_t *begin,
                                               size_t *end) {
    const size_t head = piece / job->parts, part = piece % job->parts;
    firn_attention_head h = firn_attention_head_of(job, slot, head / job->a.heads, head % job->a.heads);
    *begin = job->a.position + part * job->part;
    *end = firn_smaller(*begin + job->part, job->a.position + job->a.queries);
    if (job->a.causal)
        h.reach = *end;
    return h;
}

firn_attention_block firn_attention_block_of(const firn_attention_head *h, size_t query, size_t begin, size_t end) {
    firn_attention_block b = {.query = query, .begin = begin, .end = end};
    b.count = firn_smaller(QUERIES - query % QUERIES, h->a->position + h->a->queries - query);
    if (h->a->causal)
        b.end = firn_smaller(end, query + b.count);
    return b;
}
