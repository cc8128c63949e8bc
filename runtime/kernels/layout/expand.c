/* Repetition of a tensor along dimensions of extent 1 and over new leading ones, and its gradient. Freestanding. */
#include "runtime/kernels/layout/layout.h"

/* A walk over the elements of `large`; in the other tensor, which is repeated to its extents, the steps are 0 where it
 * repeats. */
static firn_walk walk_of(const firn_tensor *large, const firn_tensor *small) {
    const uint32_t lead = (uint32_t)(large->rank - small->rank);
    const firn_walk inner = firn_walk_over(small);
    firn_walk walk = firn_walk_over(large);
    for (uint32_t d = 0; d < walk.rank; d++)
        walk.from_step[d] = d < lead || small->dims[d - lead] == 1 ? 0 : inner.from_step[d - lead];
    return walk;
}

void firn_kernel_expand(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_EXPAND_IN_X];
    firn_move(call, x, walk_of(&call->outputs[FIRN_EXPAND_OUT_Y], x));
}

/* The walk of a sum, cut in two: over the elements of dx, and over the elements of dy that each of them adds up. In
 * both `to` is dy. */
typedef struct sum_walk {
    const firn_tensor *dy, *dx;
    firn_walk kept, repeated;
} sum_walk;

static void add_dimension(firn_walk *walk, const firn_walk *from, uint32_t d) {
    walk->extent[walk->rank] = from->extent[d];
    walk->from_step[walk->rank] = from->from_step[d];
    walk->to_step[walk->rank++] = from->to_step[d];
}

/* One element after the other, along the innermost of the dimensions that are added up. */
static float sum_of(const sum_walk *s, size_t first) {
    float x[FIRN_BLOCK], sum = 0.0f;
    const uint32_t last = s->repeated.rank - 1;
    const size_t count = s->repeated.extent[last];
    for (size_t run = 0; run < firn_walk_runs(&s->repeated); run++) {
        size_t unused, at;
        firn_walk_begin(&s->repeated, run, &unused, &at);
        at += first;
        if (s->repeated.to_step[last] != 1) {
            for (size_t i = 0; i < count; i++)
                sum += firn_load(s->dy->data, s->dy->type, at + i * (size_t)s->repeated.to_step[last]);
            continue;
        }
        for (size_t done = 0; done < count; done += FIRN_BLOCK) {
            const size_t block = firn_smaller(FIRN_BLOCK, count - done);
            firn_widen(x, s->dy->data, s->dy->type, at + done, block);
            for (size_t i = 0; i < block; i++)
                sum += x[i];
        }
    }
    return sum;
}

/* Sums of neighbours, side by side: `count` of them, whose elements lie behind each other in dy. */
static void sum_many(const sum_walk *s, size_t to, size_t first, size_t count) {
    float x[FIRN_BLOCK], sum[FIRN_BLOCK];
    const uint32_t last = s->repeated.rank - 1;
    for (size_t i = 0; i < count; i++)
        sum[i] = 0.0f;
    for (size_t run = 0; run < firn_walk_runs(&s->repeated); run++) {
        size_t unused, at;
        firn_walk_begin(&s->repeated, run, &unused, &at);
        for (size_t k = 0; k < s->repeated.extent[last]; k++) {
            firn_widen(x, s->dy->data, s->dy->type, first + at + k * (size_t)s->repeated.to_step[last], count);
            for (size_t i = 0; i < count; i++)
                sum[i] += x[i];
        }
    }
    firn_narrow(s->dx->data, s->dx->type, to, sum, count);
}

static void sum_runs(void *argument, size_t begin, size_t end) {
    const sum_walk *s = argument;
    const uint32_t last = s->kept.rank - 1;
    const size_t count = s->kept.extent[last], blocks = firn_blocks(count);
    for (size_t task = begin; task < end; task++) {
        const size_t done = task % blocks * FIRN_BLOCK, block = firn_smaller(FIRN_BLOCK, count - done);
        size_t to, at;
        firn_walk_begin(&s->kept, task / blocks, &to, &at);
        to += done;
        at += done * (size_t)s->kept.to_step[last];
        if (s->kept.to_step[last] == 1 && block > 1) {
            sum_many(s, to, at, block);
            continue;
        }
        for (size_t i = 0; i < block; i++)
            firn_store(s->dx->data, s->dx->type, to + i, sum_of(s, at + i * (size_t)s->kept.to_step[last]));
    }
}

void firn_kernel_expand_backward(const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[FIRN_EXPAND_BACKWARD_IN_DY];
    const firn_tensor *dx = &call->outputs[FIRN_EXPAND_BACKWARD_OUT_DX];
    firn_walk whole = walk_of(dy, dx);
    sum_walk s = {.dy = dy, .dx = dx};
    firn_walk_merge(&whole);
    for (uint32_t d = 0; d < whole.rank; d++)
        add_dimension(whole.from_step[d] == 0 ? &s.repeated : &s.kept, &whole, d);
    firn_walk_merge(&s.kept);
    firn_walk_merge(&s.repeated);
    const size_t count = s.kept.extent[s.kept.rank - 1];
    firn_parallel_run(&call->parallel, firn_walk_runs(&s.kept) * firn_blocks(count),
                      2 * (dy->elements / dx->elements) * firn_smaller(FIRN_BLOCK, count), sum_runs, &s);
}
