/* Placement of buffers (compiler/base/placement.h). Two heuristics run with several kinds of weights. The first
 * places buffers into gaps, heaviest first. The second places upwards: always the buffer with the lowest possible
 * offset, the heavier first among equals. A search then improves the second by increasing the weight of the topmost
 * buffer, or of a random one, until it reaches the lower bound or has used its budget. With thousands of buffers the
 * budget allows no attempt, and only the first heuristic runs. The result is deterministic: the same buffers get the
 * same offsets. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/placement.h"
#include "compiler/base/text.h"

/* Pairs of buffers that the search may compare; takes well under a second. */
#define BUDGET       200000000u
#define ATTEMPTS_MAX 2000u

/* --- the lower bound ---------------------------------------------------------------------------------------------- */

typedef struct event {
    uint64_t time; /* 2 * first for the start of a lifetime, 2 * last + 1 for its end */
    uint64_t bytes;
} event;

static int by_time(const void *a, const void *b) {
    const event *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

uint64_t firnc_lower_bound(const firnc_block *buffers, uint32_t count) {
    event *events = firnc_allocate(2 * (uint64_t)count * sizeof *events);
    for (uint32_t i = 0; i < count; i++) {
        events[i] = (event){.time = 2 * (uint64_t)buffers[i].first, .bytes = buffers[i].bytes};
        events[(size_t)count + i] = (event){.time = 2 * (uint64_t)buffers[i].last + 1, .bytes = buffers[i].bytes};
    }
    qsort(events, 2 * (size_t)count, sizeof *events, by_time);
    uint64_t live = 0, most = 0;
    for (uint32_t i = 0; i < 2 * count; i++) {
        live = events[i].time % 2 == 0 ? live + events[i].bytes : live - events[i].bytes;
        most = live > most ? live : most;
    }
    return most;
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

typedef enum weighing { BY_SIZE, BY_LIFETIME, BY_AREA, BY_LONG_AREA, BY_START, WEIGHINGS } weighing;

static double weigh(const firnc_block *buffer, weighing kind) {
    double lifetime = (double)buffer->last - (double)buffer->first + 1;
    double bytes = (double)buffer->bytes;
    switch (kind) {
    case BY_SIZE:
        return bytes;
    case BY_LIFETIME:
        return lifetime;
    case BY_AREA:
        return lifetime * bytes;
    case BY_LONG_AREA:
        return lifetime * lifetime * bytes;
    case BY_START:
    case WEIGHINGS:
        break;
    }
    return 1 / ((double)buffer->first + 1);
}

/* --- the two heuristics ------------------------------------------------------------------------------------------- */

typedef struct placement {
    firnc_block *buffers;
    uint32_t count;
    double *weights;
    uint64_t *floors; /* scratch: lowest possible offset of each buffer; PLACED once it is placed */
} placement;

#define PLACED UINT64_MAX

static bool meet(const firnc_block *a, const firnc_block *b) {
    return a->first <= b->last && b->first <= a->last;
}

static uint64_t end_of(const firnc_block *buffer) {
    return buffer->offset + buffer->bytes;
}

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

/* A buffer that has its place. */
typedef struct piece {
    uint64_t offset, end;
    uint32_t first, last;
} piece;

#define CHUNK 64

/* Placed buffers that follow each other in the order of their offsets, and the time in which any of them is live. */
typedef struct chunk {
    uint32_t count, first, last;
    piece pieces[CHUNK];
} chunk;

typedef struct skyline {
    chunk **chunks; /* in the order of offsets; none is empty */
    uint32_t count;
} skyline;

/* The smallest gap so far that holds a buffer, and the end of what lies below. */
typedef struct gap {
    uint64_t end, best, bytes;
} gap;

/* Continues a search over the buffers of a chunk. Returns true once a gap fits exactly: no other one is better. */
static bool search_chunk(const chunk *c, const firnc_block *buffer, gap *g) {
    for (uint32_t i = 0; i < c->count; i++) {
        const piece *other = &c->pieces[i];
        if (other->first > buffer->last || buffer->first > other->last)
            continue;
        if (other->offset > g->end && other->offset - g->end >= buffer->bytes && other->offset - g->end < g->bytes) {
            g->best = g->end;
            g->bytes = other->offset - g->end;
            if (g->bytes == buffer->bytes)
                return true;
        }
        if (other->end > g->end)
            g->end = other->end;
    }
    return false;
}

/* The offset of the smallest gap that holds the buffer; without such a gap, the end of the placed buffers whose
 * lifetimes intersect its own. */
static uint64_t find_gap(const skyline *placed, const firnc_block *buffer) {
    gap g = {.bytes = UINT64_MAX};
    for (uint32_t i = 0; i < placed->count; i++) {
        const chunk *c = placed->chunks[i];
        if (c->first <= buffer->last && buffer->first <= c->last && search_chunk(c, buffer, &g))
            break;
    }
    return g.bytes != UINT64_MAX ? g.best : g.end;
}

static void put_piece(chunk *c, uint32_t at, const piece *added) {
    memmove(&c->pieces[at + 1], &c->pieces[at], (c->count - at) * sizeof *c->pieces);
    c->pieces[at] = *added;
    c->first = c->count == 0 || added->first < c->first ? added->first : c->first;
    c->last = c->count == 0 || added->last > c->last ? added->last : c->last;
    c->count++;
}

/* Adds an empty chunk at an index. */
static chunk *add_chunk(skyline *placed, uint32_t at) {
    memmove(&placed->chunks[at + 1], &placed->chunks[at], (placed->count - at) * sizeof(chunk *));
    placed->count++;
    return placed->chunks[at] = firnc_allocate(sizeof(chunk));
}

/* Moves the second half of a full chunk into one behind it. */
static void halve_chunk(skyline *placed, uint32_t at) {
    chunk *low = placed->chunks[at], *high = add_chunk(placed, at + 1);
    const uint32_t count = low->count;
    low->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const piece moved = low->pieces[i];
        chunk *to = i < CHUNK / 2 ? low : high;
        put_piece(to, to->count, &moved);
    }
}

/* Inserts a buffer behind all whose offsets are not above its own. */
static void insert_piece(skyline *placed, const firnc_block *buffer) {
    const piece added = {buffer->offset, end_of(buffer), buffer->first, buffer->last};
    uint32_t low = 0, high = placed->count; /* the last chunk that begins at or below the offset, or the first one */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (placed->chunks[middle]->pieces[0].offset <= added.offset)
            low = middle;
        else
            high = middle;
    }
    if (placed->count == 0)
        add_chunk(placed, 0);
    else if (placed->chunks[low]->count == CHUNK) {
        halve_chunk(placed, low);
        low += placed->chunks[low + 1]->pieces[0].offset <= added.offset;
    }
    chunk *c = placed->chunks[low];
    uint32_t at = c->count;
    while (at > 0 && c->pieces[at - 1].offset > added.offset)
        at--;
    put_piece(c, at, &added);
}

/* Places each buffer into its smallest gap, heaviest first. Returns the bytes used. It stops once they are `limit` or
 * more: a placement that is no better than one before is not kept, so the buffers that are left need no offset. */
static uint64_t place_into_gaps(placement *p, uint64_t limit) {
    ranked *order = firnc_allocate((uint64_t)p->count * sizeof *order);
    skyline placed = {.chunks = firnc_allocate((2 * (uint64_t)p->count / CHUNK + 2) * sizeof(chunk *))};
    for (uint32_t i = 0; i < p->count; i++)
        order[i] = (ranked){.weight = p->weights[i], .buffer = i};
    qsort(order, p->count, sizeof *order, heaviest_first);
    uint64_t top = 0;
    for (uint32_t i = 0; i < p->count && top < limit; i++) {
        firnc_block *buffer = &p->buffers[order[i].buffer];
        buffer->offset = find_gap(&placed, buffer);
        insert_piece(&placed, buffer);
        top = end_of(buffer) > top ? end_of(buffer) : top;
    }
    return top;
}

static uint32_t lowest(const placement *p) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < p->count; i++)
        if (p->floors[i] < p->floors[best] || (p->floors[i] == p->floors[best] && p->weights[i] > p->weights[best]))
            best = i;
    return best;
}

/* Places, one by one, the buffer with the lowest possible offset. Returns the bytes used. */
static uint64_t place_upwards(placement *p) {
    uint64_t top = 0;
    memset(p->floors, 0, p->count * sizeof *p->floors);
    for (uint32_t left = p->count; left > 0; left--) {
        uint32_t next = lowest(p);
        firnc_block *buffer = &p->buffers[next];
        buffer->offset = p->floors[next];
        p->floors[next] = PLACED;
        top = end_of(buffer) > top ? end_of(buffer) : top;
        for (uint32_t i = 0; i < p->count; i++)
            if (p->floors[i] < end_of(buffer) && meet(&p->buffers[i], buffer))
                p->floors[i] = end_of(buffer);
    }
    return top;
}

/* --- the search --------------------------------------------------------------------------------------------------- */

typedef struct search {
    placement p;
    uint64_t bound, best;
    uint64_t *best_offsets;
    uint64_t random;
} search;

static uint64_t keep_best(search *s, uint64_t top) {
    if (top < s->best) {
        s->best = top;
        for (uint32_t i = 0; i < s->p.count; i++)
            s->best_offsets[i] = s->p.buffers[i].offset;
    }
    return top;
}

/* A linear congruential generator. The search needs variety, not quality. */
static uint32_t draw(search *s, uint32_t below) {
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(s->random >> 33) % below;
}

static uint32_t top_buffer(const placement *p) {
    uint32_t top = 0;
    for (uint32_t i = 1; i < p->count; i++)
        if (end_of(&p->buffers[i]) > end_of(&p->buffers[top]))
            top = i;
    return top;
}

/* In each attempt, doubles the weight of the topmost buffer or, one time in three, of a random one; restores it if the
 * result is worse. */
static void better(search *s, uint32_t attempts) {
    placement *p = &s->p;
    uint64_t current = keep_best(s, place_upwards(p));
    uint32_t top = top_buffer(p);
    for (uint32_t i = 0; i < attempts && s->best > s->bound; i++) {
        uint32_t changed = draw(s, 3) == 0 ? draw(s, p->count) : top;
        double before = p->weights[changed];
        p->weights[changed] = 2 * before;
        uint64_t height = keep_best(s, place_upwards(p));
        if (height <= current) {
            current = height;
            top = top_buffer(p);
        } else {
            p->weights[changed] = before;
        }
    }
}

uint64_t firnc_place_buffers(firnc_block *buffers, uint32_t count) {
    if (count == 0)
        return 0;
    search s = {.p = {.buffers = buffers, .count = count},
                .bound = firnc_lower_bound(buffers, count),
                .best = UINT64_MAX,
                .random = 1};
    s.p.weights = firnc_allocate((uint64_t)count * sizeof *s.p.weights);
    s.p.floors = firnc_allocate((uint64_t)count * sizeof *s.p.floors);
    s.best_offsets = firnc_allocate((uint64_t)count * sizeof *s.best_offsets);
    uint64_t attempts = BUDGET / WEIGHINGS / ((uint64_t)count * count);
    for (int kind = 0; kind < WEIGHINGS && s.best > s.bound; kind++) {
        for (uint32_t i = 0; i < count; i++)
            s.p.weights[i] = weigh(&buffers[i], (weighing)kind);
        keep_best(&s, place_into_gaps(&s.p, s.best));
        if (s.best > s.bound && attempts > 0)
            better(&s, attempts < ATTEMPTS_MAX ? (uint32_t)attempts : ATTEMPTS_MAX);
    }
    for (uint32_t i = 0; i < count; i++)
        buffers[i].offset = s.best_offsets[i];
    return s.best;
}
