/* Placement of buffers (compiler/memory.h). Several orders and two rules for choosing a gap are tried; the best is then
 * bettered by moving what lies on top to the front of its order, until the lower bound is reached or nothing helps.
 * Deterministic: ties fall to the lower index. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir.h"
#include "compiler/memory.h"

/* A search of this many placements is a second for a thousand buffers. */
#define ATTEMPTS 400

/* --- the lower bound
 * -------------------------------------------------------------------------------------------------- */

typedef struct event {
    uint64_t time; /* 2 * first when a buffer begins, 2 * last + 1 when it ends */
    uint64_t bytes;
} event;

static int by_time(const void *a, const void *b) {
    const event *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

uint64_t firnc_lower_bound(const firnc_buffer *buffers, uint32_t count) {
    event *events = firnc_allocate(2 * (uint64_t)count * sizeof *events);
    for (uint32_t i = 0; i < count; i++) {
        events[2 * i] = (event){.time = 2 * (uint64_t)buffers[i].first, .bytes = buffers[i].bytes};
        events[2 * i + 1] = (event){.time = 2 * (uint64_t)buffers[i].last + 1, .bytes = buffers[i].bytes};
    }
    qsort(events, 2 * (size_t)count, sizeof *events, by_time);
    uint64_t live = 0, most = 0;
    for (uint32_t i = 0; i < 2 * count; i++) {
        live = events[i].time % 2 == 0 ? live + events[i].bytes : live - events[i].bytes;
        most = live > most ? live : most;
    }
    return most;
}

/* --- orders
 * ----------------------------------------------------------------------------------------------------------- */

typedef struct ranked {
    double weight;
    uint32_t buffer;
} ranked;

static int heaviest_first(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

typedef enum order_kind { BY_SIZE, BY_LIFETIME, BY_AREA, BY_START, ORDER_KINDS } order_kind;

static double weight(const firnc_buffer *buffer, order_kind kind) {
    double lifetime = (double)buffer->last - (double)buffer->first + 1;
    switch (kind) {
    case BY_SIZE:
        return (double)buffer->bytes;
    case BY_LIFETIME:
        return lifetime;
    case BY_AREA:
        return lifetime * (double)buffer->bytes;
    case BY_START:
    case ORDER_KINDS:
        break;
    }
    return -(double)buffer->first;
}

static void make_order(const firnc_buffer *buffers, uint32_t count, order_kind kind, uint32_t *order) {
    ranked *list = firnc_allocate((uint64_t)count * sizeof *list);
    for (uint32_t i = 0; i < count; i++)
        list[i] = (ranked){.weight = weight(&buffers[i], kind), .buffer = i};
    qsort(list, count, sizeof *list, heaviest_first);
    for (uint32_t i = 0; i < count; i++)
        order[i] = list[i].buffer;
}

/* --- placing one after the other
 * ---------------------------------------------------------------------------------------- */

static bool meet(const firnc_buffer *a, const firnc_buffer *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* The offset of the lowest gap that holds the buffer, or of the tightest, or the top. placed is sorted by offset. */
static uint64_t find_gap(const firnc_buffer *buffers, const uint32_t *placed, uint32_t placed_count,
                         const firnc_buffer *buffer, bool tightest) {
    uint64_t end = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
    for (uint32_t i = 0; i < placed_count; i++) {
        const firnc_buffer *other = &buffers[placed[i]];
        if (!meet(other, buffer))
            continue;
        if (other->offset > end && other->offset - end >= buffer->bytes && other->offset - end < best_gap) {
            best = end;
            best_gap = other->offset - end;
            if (!tightest)
                return best;
        }
        if (other->offset + other->bytes > end)
            end = other->offset + other->bytes;
    }
    return best != UINT64_MAX ? best : end;
}

static uint64_t place_in_order(firnc_buffer *buffers, uint32_t count, const uint32_t *order, bool tightest,
                               uint32_t *placed) {
    uint64_t top = 0;
    for (uint32_t i = 0; i < count; i++) {
        firnc_buffer *buffer = &buffers[order[i]];
        buffer->offset = find_gap(buffers, placed, i, buffer, tightest);
        uint32_t at = i;
        for (; at > 0 && buffers[placed[at - 1]].offset > buffer->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = order[i];
        if (buffer->offset + buffer->bytes > top)
            top = buffer->offset + buffer->bytes;
    }
    return top;
}

/* --- the search
 * --------------------------------------------------------------------------------------------------------- */

typedef struct search {
    firnc_buffer *buffers;
    uint32_t count;
    uint32_t *placed; /* scratch */
    uint64_t bound, best;
    uint64_t *best_offsets;
} search;

/* Places in that order by both rules and keeps the best so far. Returns the lower top of the two. */
static uint64_t attempt(search *s, const uint32_t *order) {
    uint64_t lower = UINT64_MAX;
    for (int tightest = 1; tightest >= 0; tightest--) {
        uint64_t top = place_in_order(s->buffers, s->count, order, tightest != 0, s->placed);
        lower = top < lower ? top : lower;
        if (top >= s->best)
            continue;
        s->best = top;
        for (uint32_t i = 0; i < s->count; i++)
            s->best_offsets[i] = s->buffers[i].offset;
    }
    return lower;
}

/* Moves the buffer that ends highest in the last placement to the front; the first in the order among several. */
static void promote_top(const search *s, uint32_t *order) {
    uint32_t at = 0;
    uint64_t top = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t end = s->buffers[order[i]].offset + s->buffers[order[i]].bytes;
        if (end > top) {
            top = end;
            at = i;
        }
    }
    uint32_t promoted = order[at];
    memmove(order + 1, order, at * sizeof *order);
    order[0] = promoted;
}

uint64_t firnc_place_buffers(firnc_buffer *buffers, uint32_t count) {
    if (count == 0)
        return 0;
    search s = {.buffers = buffers, .count = count, .best = UINT64_MAX, .bound = firnc_lower_bound(buffers, count)};
    s.placed = firnc_allocate((uint64_t)count * sizeof *s.placed);
    s.best_offsets = firnc_allocate((uint64_t)count * sizeof *s.best_offsets);
    uint32_t *order = firnc_allocate((uint64_t)count * sizeof *order);
    for (int kind = BY_SIZE; kind < ORDER_KINDS && s.best > s.bound; kind++) {
        make_order(buffers, count, (order_kind)kind, order);
        attempt(&s, order);
        for (uint32_t i = 0; i < ATTEMPTS / ORDER_KINDS && s.best > s.bound; i++) {
            promote_top(&s, order);
            attempt(&s, order);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        buffers[i].offset = s.best_offsets[i];
    return s.best;
}
