/* Rotary position embedding: in each rotated head, pairs of elements are rotated by an angle proportional to the
 * position, with a frequency that decreases from pair to pair. Forward and backward are the same rotation in opposite
 * directions. No other op may be fused here. Freestanding. */
#include "runtime/kernels/blocks.h"

enum { PAIRS = FIRN_BLOCK / 2 }; /* pairs rotated at a time */

#define AS_BACKWARD(NAME) (FIRN_ROTARY_EMBEDDING_BACKWARD_##NAME == FIRN_ROTARY_EMBEDDING_##NAME)
_Static_assert(FIRN_ROTARY_EMBEDDING_BACKWARD_IN_DY == FIRN_ROTARY_EMBEDDING_IN_X &&
                   FIRN_ROTARY_EMBEDDING_BACKWARD_OUT_DX == FIRN_ROTARY_EMBEDDING_OUT_Y && AS_BACKWARD(ROTATION) &&
                   AS_BACKWARD(HEADS) && AS_BACKWARD(ROTATED) && AS_BACKWARD(ROTARY_DIM) && AS_BACKWARD(INTERLEAVED) &&
                   AS_BACKWARD(BASE),
               "both ops run the same code: the gradient dy turns as x does");

/* A block of the pairs of a head, starting with pair `first`. */
typedef struct pair_block {
    size_t first, count;
    float frequencies[PAIRS];
    float cosines[PAIRS], sines[PAIRS]; /* of the angles at one position */
} pair_block;

static size_t pairs_of(const firn_kernel_call *call) {
    return (size_t)call->integers[FIRN_ROTARY_EMBEDDING_ROTARY_DIM] / 2;
}

static size_t head_size(const firn_kernel_call *call) {
    return firn_last_extent(&call->inputs[FIRN_ROTARY_EMBEDDING_IN_X]) /
           (size_t)call->integers[FIRN_ROTARY_EMBEDDING_HEADS];
}

/* --- angles ------------------------------------------------------------------------------------------------------- */

/* base^(-2i / rotary_dim) for each pair i of the block */
static void find_frequencies(pair_block *block, const firn_kernel_call *call) {
    const float rotary_dim = (float)(uint32_t)call->integers[FIRN_ROTARY_EMBEDDING_ROTARY_DIM];
    const float step = -firn_log(call->reals[FIRN_ROTARY_EMBEDDING_BASE]) * 2.0f / rotary_dim;
    for (size_t i = 0; i < block->count; i++)
        block->frequencies[i] = firn_exp((float)(block->first + i) * step);
}

/* Computes cosine and sine of position * frequency; direction is 1, or -1 to rotate back. */
static void find_angles(pair_block *block, const firn_kernel_call *call, size_t position, float direction) {
    const uint8_t type = (uint8_t)call->integers[FIRN_ROTARY_EMBEDDING_ROTATION];
    for (size_t i = 0; i < block->count; i++) {
        const float angle = (float)position * block->frequencies[i];
        block->cosines[i] = firn_cos(angle);
        block->sines[i] = direction * firn_sin(angle);
    }
    firn_block_round(type, block->cosines, block->count);
    firn_block_round(type, block->sines, block->count);
}

/* --- pairs -------------------------------------------------------------------------------------------------------- */

/* Widens the pairs of a block into two arrays, from a head whose first element is `head`. */
static void widen_pairs(float *a, float *b, const firn_kernel_call *call, size_t head, const pair_block *block) {
    const firn_tensor *x = &call->inputs[FIRN_ROTARY_EMBEDDING_IN_X];
    if (call->integers[FIRN_ROTARY_EMBEDDING_INTERLEAVED] == 0) {
        firn_widen(a, x->data, x->type, head + block->first, block->count);
        firn_widen(b, x->data, x->type, head + pairs_of(call) + block->first, block->count);
        return;
    }
    float both[2 * PAIRS];
    firn_widen(both, x->data, x->type, head + 2 * block->first, 2 * block->count);
    for (size_t i = 0; i < block->count; i++) {
        a[i] = both[2 * i];
        b[i] = both[2 * i + 1];
    }
}

static void narrow_pairs(const float *a, const float *b, const firn_kernel_call *call, size_t head,
                         const pair_block *block) {
    const firn_tensor *y = &call->outputs[FIRN_ROTARY_EMBEDDING_OUT_Y];
    if (call->integers[FIRN_ROTARY_EMBEDDING_INTERLEAVED] == 0) {
        firn_narrow(y->data, y->type, head + block->first, a, block->count);
        firn_narrow(y->data, y->type, head + pairs_of(call) + block->first, b, block->count);
        return;
    }
    float both[2 * PAIRS];
    for (size_t i = 0; i < block->count; i++) {
        both[2 * i] = a[i];
        both[2 * i + 1] = b[i];
    }
    firn_narrow(y->data, y->type, head + 2 * block->first, both, 2 * block->count);
}

/* y_a = a cos - b sin, y_b = b cos + a sin: each product and each sum rounds to the type of the rotation. */
static void turn_pairs(const firn_kernel_call *call, size_t head, const pair_block *block) {
    const uint8_t type = (uint8_t)call->integers[FIRN_ROTARY_EMBEDDING_ROTATION];
    const size_t count = block->count;
    float a[PAIRS], b[PAIRS], a_sine[PAIRS], b_sine[PAIRS];
    widen_pairs(a, b, call, head, block);
    firn_block_round(type, a, count);
    firn_block_round(type, b, count);
    for (size_t i = 0; i < count; i++) {
        a_sine[i] = a[i] * block->sines[i];
        b_sine[i] = b[i] * block->sines[i];
        a[i] = a[i] * block->cosines[i];
        b[i] = b[i] * block->cosines[i];
    }
    firn_block_round(type, a_sine, count);
    firn_block_round(type, b_sine, count);
    firn_block_round(type, a, count);
    firn_block_round(type, b, count);
    for (size_t i = 0; i < count; i++) {
        a[i] = a[i] - b_sine[i];
        b[i] = b[i] + a_sine[i];
    }
    firn_block_round(type, a, count);
    firn_block_round(type, b, count);
    narrow_pairs(a, b, call, head, block);
}

/* --- positions ---------------------------------------------------------------------------------------------------- */

/* Copies elements that are not rotated. */
static void pass(const firn_kernel_call *call, size_t from, size_t count) {
    const firn_tensor *x = &call->inputs[FIRN_ROTARY_EMBEDDING_IN_X], *y = &call->outputs[FIRN_ROTARY_EMBEDDING_OUT_Y];
    float values[FIRN_BLOCK];
    for (size_t at = 0; at < count; at += FIRN_BLOCK) {
        const size_t some = firn_smaller(FIRN_BLOCK, count - at);
        firn_widen(values, x->data, x->type, from + at, some);
        firn_narrow(y->data, y->type, from + at, values, some);
    }
}

/* Copies the elements of a row that are not rotated; `row` is the row's first element. */
static void pass_rest(const firn_kernel_call *call, size_t row) {
    const size_t size = head_size(call), turned = 2 * pairs_of(call);
    const size_t rotated = (size_t)call->integers[FIRN_ROTARY_EMBEDDING_ROTATED] * size;
    for (size_t head = 0; head < rotated; head += size)
        pass(call, row + head + turned, size - turned);
    pass(call, row + rotated, firn_last_extent(&call->inputs[FIRN_ROTARY_EMBEDDING_IN_X]) - rotated);
}

/* Tasks are positions, of which number 0 is position `first`; the angles of a position are used for every row and
 * head. */
static void turn_positions(const firn_kernel_call *call, size_t first, size_t begin, size_t end, float direction) {
    const firn_tensor *x = &call->inputs[FIRN_ROTARY_EMBEDDING_IN_X];
    const size_t width = firn_last_extent(x), step = x->dims[x->rank - 2] * width, size = head_size(call);
    const size_t rotated = (size_t)call->integers[FIRN_ROTARY_EMBEDDING_ROTATED] * size;
    pair_block block;
    for (block.first = 0; block.first < pairs_of(call); block.first += PAIRS) {
        block.count = firn_smaller(PAIRS, pairs_of(call) - block.first);
        find_frequencies(&block, call);
        for (size_t position = begin; position < end; position++) {
            find_angles(&block, call, first + position, direction);
            for (size_t row = position * width; row < x->elements; row += step)
                for (size_t head = 0; head < rotated; head += size)
                    turn_pairs(call, row + head, &block);
        }
    }
    for (size_t position = begin; position < end; position++)
        for (size_t row = position * width; row < x->elements; row += step)
            pass_rest(call, row);
}

static void turn_forward(void *argument, size_t begin, size_t end) {
    const firn_tensor *length = firn_call_input(argument, FIRN_ROTARY_EMBEDDING_IN_LENGTH);
    turn_positions(argument, firn_position(length), begin, end, 1.0f);
}

static void turn_back(void *argument, size_t begin, size_t end) {
    turn_positions(argument, 0, begin, end, -1.0f);
}

static void split_positions(const firn_kernel_call *call, firn_task_body body) {
    const firn_tensor *x = &call->inputs[FIRN_ROTARY_EMBEDDING_IN_X];
    const size_t positions = x->dims[x->rank - 2];
    firn_split(call, positions, 4 * x->elements / positions + 64 * pairs_of(call), body);
}

void firn_kernel_rotary_embedding(const firn_kernel_call *call) {
    split_positions(call, turn_forward);
}

void firn_kernel_rotary_embedding_backward(const firn_kernel_call *call) {
    split_positions(call, turn_back);
}
