/* Gives every rank all of a row of tensors, of which each has its range. Nothing is copied: elements are sent from
 * where they lie to where they belong, and tensors that follow each other in memory are one message. */
#include <stdlib.h>

#include "runtime/ranks/internal.h"

static int compare(const void *left, const void *right) {
    const firn_ranks_run *a = left, *b = right;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* Joins runs of which one begins where the other ends. Returns how many are left. */
static uint32_t join(firn_ranks_run *runs, uint32_t count) {
    uint32_t left = 0;
    qsort(runs, count, sizeof *runs, compare);
    for (uint32_t i = 0; i < count; i++)
        if (left > 0 && runs[left - 1].bytes + runs[left - 1].count == runs[i].bytes)
            runs[left - 1].count += runs[i].count;
        else
            runs[left++] = runs[i];
    return left;
}

/* Lists where the range of a rank lies. Returns the number of runs. */
static uint32_t list_range(const firn_ranks *ranks, const firn_ranks_row *row, uint32_t rank, firn_ranks_run *runs) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < row->count; t++) {
        const firn_ranks_share part = firn_ranks_part_of(ranks, t, rank);
        if (part.first != part.end)
            runs[count++] = (firn_ranks_run){(uint8_t *)(row->tensors[t].data + part.first),
                                             (part.end - part.first) * sizeof(float)};
    }
    return join(runs, count);
}

bool firn_ranks_list_runs(firn_ranks *ranks) {
    const firn_ranks_row *row = ranks->has_units ? &ranks->parameters : &ranks->gradients;
    const uint64_t size = ranks->transport->size;
    uint32_t count = 0;
    /* a bound adds a run at most, where it parts a tensor */
    ranks->runs = calloc(row->count + size, sizeof *ranks->runs);
    ranks->first_run = calloc(size + 1, sizeof *ranks->first_run);
    if (ranks->runs == NULL || ranks->first_run == NULL)
        return false;
    for (uint32_t rank = 0; rank < size; rank++) {
        count += list_range(ranks, row, rank, ranks->runs + count);
        ranks->first_run[rank + 1] = count;
    }
    return true;
}

void firn_ranks_gather(firn_ranks *ranks) {
    const uint32_t own = ranks->transport->rank;
    for (uint32_t i = 0; i < ranks->transport->size; i++) {
        for (uint32_t r = ranks->first_run[own]; r < ranks->first_run[own + 1] && i != own; r++)
            firn_ranks_send(ranks, i, ranks->runs[r].bytes, ranks->runs[r].count, FIRN_RANKS_GRADIENTS);
        for (uint32_t r = ranks->first_run[i]; r < ranks->first_run[i + 1] && i != own; r++)
            firn_ranks_receive(ranks, i, ranks->runs[r].bytes, ranks->runs[r].count);
    }
    firn_ranks_exchange(ranks);
}
