/* Checkpoints of a state that is shared. Rank 0 writes and reads the record by the library, which asks for the bytes of
 * the state one after the other. Those of the optimizer that another rank has never come into the block of rank 0: that
 * rank answers requests, each for a piece that fits into the room of an exchange. */
#define FIRN_FB_INLINE /* plan/access.h */
#include "runtime/ranks/internal.h"

typedef enum order { DONE, GIVE, TAKE } order;

/* What rank 0 tells another rank. */
typedef struct request {
    uint32_t order, state; /* the index of a tensor of a unit */
    uint64_t at, count;    /* bytes of it */
} request;

/* Whose some bytes of the state are, and where they are in a tensor of a unit. */
typedef struct piece {
    uint32_t rank; /* 0: the bytes are in the blocks of rank 0 */
    uint32_t state;
    uint64_t at, count;
} piece;

/* The last piece that was placed. */
typedef struct pieces {
    firn_ranks *ranks;
    piece last;
} pieces;

/* Finds the rank that has byte number `at` of a tensor, and how many bytes it has from there on. */
static piece find_rank(const firn_ranks *ranks, uint32_t state, uint64_t at) {
    for (uint32_t rank = 0; rank < ranks->transport->size; rank++) {
        const firn_ranks_state *of = &ranks->states[state];
        uint64_t count;
        const uint8_t *bytes = firn_ranks_state_bytes(of, firn_ranks_state_part(ranks, of, rank), &count);
        const uint64_t first = (uint64_t)(bytes - (const uint8_t *)of->tensor.data);
        if (at >= first && at - first < count)
            return (piece){rank, state, at, count - (at - first)};
    }
    return (piece){.state = state, .at = at, .count = 1};
}

/* Finds the first piece of so many bytes at an address in a block. Between tensors there is padding. */
static piece find(const firn_ranks *ranks, const uint8_t *address, uint64_t count) {
    const uintptr_t wanted = (uintptr_t)address;
    piece found = {.count = count};
    for (uint32_t i = 0; i < ranks->state_count; i++) {
        const firn_tensor *tensor = &ranks->states[i].tensor;
        const uintptr_t first = (uintptr_t)tensor->data;
        const uint64_t bytes = tensor->elements * firn_type_bytes(tensor->type);
        if (wanted < first) {
            found.count = first - wanted < found.count ? first - wanted : found.count;
        } else if (wanted - first < bytes) {
            found = find_rank(ranks, i, wanted - first);
            break;
        }
    }
    const uint64_t most = found.rank != 0 ? ranks->chunk * sizeof(float) : count;
    found.count = found.count < count ? found.count : count;
    found.count = found.count < most ? found.count : most;
    return found;
}

/* Tells a rank something, and exchanges bytes with it. */
static void ask(firn_ranks *ranks, const piece *of, order order) {
    const request r = {order, of->state, of->at, of->count};
    firn_ranks_send(ranks, of->rank, &r, sizeof r, FIRN_RANKS_STATE);
    if (order == GIVE)
        firn_ranks_receive(ranks, of->rank, ranks->received, of->count);
    else if (order == TAKE)
        firn_ranks_send(ranks, of->rank, ranks->received, of->count, FIRN_RANKS_STATE);
    firn_ranks_exchange(ranks);
}

static const uint8_t *read_piece(void *context, const uint8_t *at, uint64_t *count) {
    pieces *p = context;
    const piece found = find(p->ranks, at, *count);
    *count = found.count;
    if (found.rank == 0)
        return at;
    ask(p->ranks, &found, GIVE);
    return (const uint8_t *)p->ranks->received;
}

static uint8_t *place_piece(void *context, uint8_t *at, uint64_t *count) {
    pieces *p = context;
    p->last = find(p->ranks, at, *count);
    *count = p->last.count;
    return p->last.rank == 0 ? at : (uint8_t *)p->ranks->received;
}

static void pass_on(void *context) {
    pieces *p = context;
    if (p->last.rank != 0)
        ask(p->ranks, &p->last, TAKE);
}

/* Ends the requests to all ranks. */
static void finish(firn_ranks *ranks) {
    for (uint32_t rank = 1; rank < ranks->transport->size; rank++)
        ask(ranks, &(piece){.rank = rank}, DONE);
}

/* Does what rank 0 asks for, on another rank. */
static void serve(firn_ranks *ranks) {
    request r = {0};
    do {
        firn_ranks_receive(ranks, 0, &r, sizeof r);
        firn_ranks_exchange(ranks);
        if (r.order == DONE || r.state >= ranks->state_count)
            return;
        uint8_t *bytes = (uint8_t *)ranks->states[r.state].tensor.data + r.at;
        if (r.order == GIVE)
            firn_ranks_send(ranks, 0, bytes, r.count, FIRN_RANKS_STATE);
        else
            firn_ranks_receive(ranks, 0, bytes, r.count);
        firn_ranks_exchange(ranks);
    } while (true);
}

int firn_ranks_save(firn_ranks *ranks) {
    if (!ranks->has_units)
        return ranks->transport->rank == 0 ? firn_save(ranks->firn) : FIRN_OK;
    if (ranks->transport->rank != 0) {
        serve(ranks);
        return FIRN_OK;
    }
    pieces p = {.ranks = ranks};
    const int status = firn_save_pieces(ranks->firn, &(firn_pieces){&p, read_piece, place_piece, pass_on});
    finish(ranks);
    return status;
}

int firn_ranks_restore(firn_ranks *ranks, firn_restore_report *report) {
    if (!ranks->has_units)
        return ranks->transport->rank == 0 ? firn_restore(ranks->firn, report) : FIRN_OK;
    if (ranks->transport->rank != 0) {
        serve(ranks);
        return FIRN_OK;
    }
    pieces p = {.ranks = ranks};
    const int status = firn_restore_pieces(ranks->firn, report, &(firn_pieces){&p, read_piece, place_piece, pass_on});
    finish(ranks);
    return status;
}
