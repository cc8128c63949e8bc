/* The products of queries with keys and of probabilities with values, for one token; see heads.h. Each sum is a lane of
 * a register, to which fma(query, key, sum) or fma(probability, value, sum) is applied for each term in ascending
 * order.
 *
 * - Keys: the terms of a sum, the elements of a head, are consecutive. FIRN_TURNED rows of the cache are processed
 * together, head by head; squares are transposed in registers, so that a lane sees the terms of its key.
 * - Values: the sums, the elements of a head, are consecutive and stay in the L1 cache. ROWS rows are added between a
 * load of a sum and its store.
 *
 * Both prefetch the rows that follow, in the order of memory: a row's part for all heads of the piece is one segment.
 * Head by head without that, each segment would be as short as a head, which is half as fast. */
#include "runtime/kernels/vector/token/heads.h"

#include "runtime/kernels/vector/token/walk.h"

enum { ROWS = 8 /* of values at a time */ };

/* The keys, or the values, of the key heads that a piece reads. */
typedef struct part {
    const firn_heads *heads;
    firn_matrix first; /* those of the first key head */
    size_t first_head; /* its number */
    size_t width;      /* elements of a segment: of all these key heads */
} part;

static part part_of(const firn_heads *heads, firn_attention_heads of) {
    const firn_attention *a = heads->a;
    const size_t first = heads->first / a->group, last = (heads->first + heads->count - 1) / a->group;
    return (part){heads, firn_attention_part(a, of, 0, first), first, (last + 1 - first) * a->size};
}

/* Returns the index of the first element of a head in a row. head: a query head, counted from the piece's first. */
static inline size_t element_of(const part *p, size_t row, size_t head) {
    const size_t key_head = (p->heads->first + head) / p->heads->a->group - p->first_head;
    return p->first.first + row * p->first.row_step + key_head * p->heads->a->size;
}

/* Returns true for the first query head of the piece that reads its key head. The others find it in the caches. */
static inline bool is_first_reader(const part *p, size_t head) {
    return head == 0 || (p->heads->first + head) % p->heads->a->group == 0;
}

/* Returns the lines of the segments from a row on. */
static inline firn_lines lines_from(const part *p, size_t row, size_t bytes) {
    return (firn_lines){(const uint8_t *)p->first.data + (p->first.first + row * p->first.row_step) * bytes, 0,
                        p->width * bytes, p->first.row_step * bytes};
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

/* Computes the scores of a head for a block of at most FIRN_TURNED keys. With `fetches`, as many lines are prefetched
 * as the block has. */
static inline __attribute__((always_inline)) void multiply_block(uint8_t type, const firn_turned *block, size_t size,
                                                                 const float *query, float *scores, firn_lines *lines,
                                                                 bool fetches) {
    const size_t lines_of_step = firn_factor_bytes(type, false) * FIRN_TURNED * FIRN_VECTOR / FIRN_LINE;
    const size_t whole = block->columns == FIRN_TURNED ? size / FIRN_VECTOR * FIRN_VECTOR : 0;
    firn_vector sums[FIRN_TURNED_VECTORS];
    FIRN_UNROLL
    for (size_t v = 0; v < FIRN_TURNED_VECTORS; v++)
        sums[v] = firn_vector_zero();
    for (size_t term = 0; term < whole; term += FIRN_VECTOR) {
        for (size_t i = 0; fetches && i < lines_of_step; i++)
            firn_lines_prefetch(lines, true);
        firn_turned_add_whole(type, false, block, term, query + term, sums);
    }
    for (size_t term = whole; term < size; term += FIRN_VECTOR)
        firn_turned_add_some(type, false, block, term, firn_smaller(FIRN_VECTOR, size - term), query + term, sums);
    firn_turned_store(block, scores, sums);
}

static inline __attribute__((always_inline)) void multiply_keys(uint8_t type, const void *argument) {
    const part *p = argument;
    const firn_attention *a = p->heads->a;
    for (size_t key = 0; key < a->keys; key += FIRN_TURNED) {
        firn_lines lines = lines_from(p, key + FIRN_TURNED, firn_factor_bytes(type, false));
        for (size_t head = 0; head < p->heads->count; head++) {
            const firn_turned block = {p->first.data, element_of(p, key, head), p->first.row_step,
                                       firn_smaller(FIRN_TURNED, a->keys - key)};
            multiply_block(type, &block, a->size, p->heads->queries + head * a->size,
                           p->heads->scores + head * a->stride + key, &lines, is_first_reader(p, head));
        }
    }
}

void firn_heads_multiply_keys(const firn_heads *heads) {
    const part keys = part_of(heads, heads->a->key);
    firn_for_type(keys.first.type, multiply_keys, &keys);
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Adds `rows` terms, at most ROWS, to the sums of a register. */
static inline __attribute__((always_inline)) void add_rows(uint8_t type, const part *p, size_t index, float *sums,
                                                           const firn_lanes lanes, const firn_vector factors[ROWS],
                                                           const size_t rows) {
    firn_vector sum = firn_vector_load_some(lanes, sums);
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++)
        sum = firn_vector_fma(
            factors[row], firn_factor_load(type, false, p->first.data, index + row * p->first.row_step, lanes), sum);
    firn_vector_store_some(sums, lanes, sum);
}

/* Adds `rows` terms to the sums of all heads. */
static inline __attribute__((always_inline)) void add_block(uint8_t type, const part *p, size_t row, const size_t rows,
                                                            firn_lines *lines) {
    const firn_attention *a = p->heads->a;
    const size_t line = FIRN_LINE / firn_factor_bytes(type, false);
    for (size_t head = 0; head < p->heads->count; head++) {
        const size_t index = element_of(p, row, head);
        const float *scores = p->heads->scores + head * a->stride + row;
        float *sums = p->heads->sums + head * a->size;
        firn_vector factors[ROWS];
        FIRN_UNROLL
        for (size_t i = 0; i < rows; i++)
            factors[i] = firn_vector_fill(scores[i]);
        for (size_t at = 0; is_first_reader(p, head) && at < rows * a->size; at += line)
            firn_lines_prefetch(lines, true);
        size_t i = 0;
        for (; i + FIRN_VECTOR <= a->size; i += FIRN_VECTOR)
            add_rows(type, p, index + i, sums + i, firn_first_lanes(FIRN_VECTOR), factors, rows);
        if (i < a->size)
            add_rows(type, p, index + i, sums + i, firn_first_lanes(a->size - i), factors, rows);
    }
}

static inline __attribute__((always_inline)) void multiply_values(uint8_t type, const void *argument) {
    const part *p = argument;
    const size_t keys = p->heads->a->keys, bytes = firn_factor_bytes(type, false);
    size_t row = 0;
    for (; row + ROWS <= keys; row += ROWS) {
        firn_lines lines = lines_from(p, row + ROWS, bytes);
        add_block(type, p, row, ROWS, &lines);
    }
    for (; row < keys; row++) {
        firn_lines lines = lines_from(p, row + 1, bytes);
        add_block(type, p, row, 1, &lines);
    }
}

void firn_heads_multiply_values(const firn_heads *heads) {
    const part values = part_of(heads, heads->a->value);
    for (size_t i = 0; i < heads->count * heads->a->size; i++)
        heads->sums[i] = 0.0f;
    firn_for_type(values.first.type, multiply_values, &values);
}
