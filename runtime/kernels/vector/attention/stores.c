/* Stores finished sums of attention; see stores.h. */
#include "runtime/kernels/vector/attention/stores.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/pack.h"

void firn_attention_store_rows(const firn_attention_head *h, firn_attention_heads out, size_t number, size_t first,
                               size_t rows, float *sums, float factor) {
    const firn_matrix part = firn_attention_part(h->a, out, h->batch, number);
    const size_t width = h->job->width;
    for (size_t i = 0; i < rows * width; i += FIRN_VECTOR) {
        const firn_vector x = firn_vector_multiply(firn_vector_load(sums + i), firn_vector_fill(factor));
        firn_vector_store(sums + i, firn_vector_canonical(x));
    }
    firn_vector_narrow_rows(out.tensor->data, part.type, part.first + first * part.row_step, part.row_step, sums, width,
                            rows, h->a->size);
}

void firn_attention_store_turned(const firn_attention_head *h, const firn_attention_block *b, firn_attention_heads out,
                                 float factor) {
    const firn_matrix part = firn_attention_part(h->a, out, h->batch, h->query);
    float *sums = h->slot + h->job->at.sums;
    for (size_t i = 0; i < h->a->size * FIRN_BLOCK_QUERIES; i += FIRN_VECTOR) {
        const firn_vector x = firn_vector_multiply(firn_vector_load(sums + i), firn_vector_fill(factor));
        firn_vector_store(sums + i, firn_vector_canonical(x));
    }
    for (size_t first = 0; first < h->a->size; first += FIRN_VECTOR) {
        const size_t rows = firn_smaller(FIRN_VECTOR, h->a->size - first);
        const float *lines[FIRN_VECTOR];
        for (size_t i = 0; i < rows; i++)
            lines[i] = sums + (first + i) * FIRN_BLOCK_QUERIES;
        firn_vector_narrow_columns(out.tensor->data, part.type, part.first + b->query * part.row_step + first,
                                   part.row_step, lines, rows, b->count, NULL);
    }
}

void firn_attention_store_key_gradients(const firn_attention_head *h, size_t begin, size_t end) {
    const firn_attention_layout *at = &h->job->at;
    firn_attention_store_rows(h, h->a->dkey, h->key, begin, end - begin, h->slot + at->key_sums, h->a->scale);
    firn_attention_store_rows(h, h->a->dvalue, h->key, begin, end - begin, h->slot + at->value_sums, 1.0f);
}
