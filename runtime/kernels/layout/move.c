/* Walks over the elements of two tensors, and the copying of what they meet. Freestanding. */
#include "runtime/kernels/layout/layout.h"

/* Elements of four and of two bytes; may_alias, because they may be numbers of any type. */
typedef uint32_t __attribute__((may_alias)) word;
typedef uint16_t __attribute__((may_alias)) half;

firn_walk firn_walk_over(const firn_tensor *tensor) {
    firn_walk walk = {.rank = tensor->rank};
    ptrdiff_t step = 1;
    for (uint32_t d = tensor->rank; d-- > 0;) {
        walk.extent[d] = tensor->dims[d];
        walk.from_step[d] = walk.to_step[d] = step;
        step *= (ptrdiff_t)tensor->dims[d];
    }
    return walk;
}

/* Makes one dimension of two where that needs no other step, and drops those of extent 1. At least one is left. */
static void merge(firn_walk *walk) {
    uint32_t rank = 0;
    for (uint32_t d = 0; d < walk->rank; d++) {
        const ptrdiff_t extent = (ptrdiff_t)walk->extent[d];
        if (extent == 1)
            continue;
        if (rank > 0 && walk->from_step[rank - 1] == extent * walk->from_step[d] &&
            walk->to_step[rank - 1] == extent * walk->to_step[d])
            walk->extent[rank - 1] *= walk->extent[d];
        else
            walk->extent[rank++] = walk->extent[d];
        walk->from_step[rank - 1] = walk->from_step[d];
        walk->to_step[rank - 1] = walk->to_step[d];
    }
    if (rank == 0) {
        walk->extent[0] = 1;
        walk->from_step[0] = walk->to_step[0] = 1;
        rank = 1;
    }
    walk->rank = rank;
}

/* The walk with its innermost dimension as one run: how many runs there are, and where run number `run` begins. */
static size_t runs_of(const firn_walk *walk) {
    size_t runs = 1;
    for (uint32_t d = 0; d + 1 < walk->rank; d++)
        runs *= walk->extent[d];
    return runs;
}

static void begin_run(const firn_walk *walk, size_t run, size_t *from, size_t *to) {
    ptrdiff_t from_at = (ptrdiff_t)walk->from_first, to_at = (ptrdiff_t)walk->to_first;
    for (uint32_t d = walk->rank - 1; d-- > 0;) {
        const ptrdiff_t index = (ptrdiff_t)(run % walk->extent[d]);
        run /= walk->extent[d];
        from_at += index * walk->from_step[d];
        to_at += index * walk->to_step[d];
    }
    *from = (size_t)from_at;
    *to = (size_t)to_at;
}

/* Elements of a run that one task moves. */
enum { PIECE = 4096 };

typedef struct moving {
    const firn_tensor *from, *to;
    firn_walk walk;
    size_t pieces; /* of each run */
} moving;

static void move_words(word *to, ptrdiff_t to_step, const word *from, ptrdiff_t from_step, size_t count) {
    for (ptrdiff_t i = 0; i < (ptrdiff_t)count; i++)
        to[i * to_step] = from[i * from_step];
}

static void move_halves(half *to, ptrdiff_t to_step, const half *from, ptrdiff_t from_step, size_t count) {
    for (ptrdiff_t i = 0; i < (ptrdiff_t)count; i++)
        to[i * to_step] = from[i * from_step];
}

static void move_piece(const moving *m, size_t run, size_t piece) {
    const uint32_t last = m->walk.rank - 1;
    const ptrdiff_t to_step = m->walk.to_step[last], from_step = m->walk.from_step[last];
    const size_t done = piece * PIECE, count = firn_smaller(PIECE, m->walk.extent[last] - done);
    size_t from, to;
    begin_run(&m->walk, run, &from, &to);
    from += done * (size_t)from_step;
    to += done * (size_t)to_step;
    if (to_step == 1 && from_step == 1)
        firn_copy_bits(m->to, to, m->from, from, count);
    else if (firn_type_bytes(m->from->type) == sizeof(word))
        move_words((word *)m->to->data + to, to_step, (const word *)m->from->data + from, from_step, count);
    else
        move_halves((half *)m->to->data + to, to_step, (const half *)m->from->data + from, from_step, count);
}

static void move_pieces(void *argument, size_t begin, size_t end) {
    const moving *m = argument;
    for (size_t task = begin; task < end; task++)
        move_piece(m, task / m->pieces, task % m->pieces);
}

void firn_move(const firn_kernel_call *call, const firn_tensor *from, firn_walk walk) {
    merge(&walk);
    const size_t count = walk.extent[walk.rank - 1];
    moving m = {.from = from, .to = &call->outputs[0], .walk = walk, .pieces = firn_ceiling(count, PIECE)};
    firn_parallel_run(&call->parallel, runs_of(&walk) * m.pieces, 2 * firn_smaller(PIECE, count), move_pieces, &m);
}
