/* Tensors as one row of elements, which is cut without regard to where a tensor ends. */
#include <string.h>

#include "runtime/ranks/internal.h"

/* Returns the number of the tensor that has an element. */
static uint32_t tensor_of(const firn_ranks_row *row, uint64_t element) {
    uint32_t low = 0, high = row->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (row->tensors[middle].first <= element)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static float *elements_of(const firn_ranks_tensor *tensor, uint32_t level) {
    return level == UINT32_MAX ? tensor->data : tensor->lower + level * tensor->elements;
}

float *firn_ranks_row_view(const firn_ranks_row *row, const firn_ranks_node *node, uint64_t first, size_t count,
                           size_t alignment, float *room) {
    if (node->kept != NULL && (uintptr_t)(node->kept + first) % alignment == 0)
        return node->kept + first;
    if (node->kept != NULL)
        return memcpy(room, node->kept + first, count * sizeof *room);
    uint32_t t = tensor_of(row, first);
    float *there = elements_of(&row->tensors[t], node->level) + (first - row->tensors[t].first);
    if (first + count <= row->tensors[t].first + row->tensors[t].elements && (uintptr_t)there % alignment == 0)
        return there;
    for (size_t done = 0; done < count; t++) {
        const firn_ranks_tensor *tensor = &row->tensors[t];
        const uint64_t skip = first + done - tensor->first, left = tensor->elements - skip;
        const size_t run = left < count - done ? (size_t)left : count - done;
        memcpy(room + done, elements_of(tensor, node->level) + skip, run * sizeof *room);
        done += run;
    }
    return room;
}

void firn_ranks_row_store(const firn_ranks_row *row, uint64_t first, size_t count, const float *from) {
    uint32_t t = tensor_of(row, first);
    for (size_t done = 0; done < count; t++) {
        const firn_ranks_tensor *tensor = &row->tensors[t];
        const uint64_t skip = first + done - tensor->first, left = tensor->elements - skip;
        const size_t run = left < count - done ? (size_t)left : count - done;
        if (tensor->data + skip != from + done)
            memcpy(tensor->data + skip, from + done, run * sizeof *from);
        done += run;
    }
}
