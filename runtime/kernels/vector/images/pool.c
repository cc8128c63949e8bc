/* The gradient of max pool; see pool.h. The portable kernel asks for each element of the image which windows it wins;
 * here each window is read once to find its winner, and again to add to it. The windows of a sample are processed in
 * their order, which is the order in which an element's gradients are added. A piece is a sample. Sums of float32 wait
 * in the output; others in the slot, which has as many lines as a window spans: a line is rounded to the output when no
 * window touches it any more.
 */
#include "runtime/kernels/vector/images/pool.h"

#include <string.h>

#include "runtime/kernels/images/images.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/pieces.h"

typedef struct pool {
    const firn_tensor *dy, *x, *dx;
    firn_window window[FIRN_AXES];
    bool in_place;            /* sums wait in the output */
    size_t lines, line, wide; /* that wait; floats of a line, and of a place */
} pool;

typedef struct piece {
    const pool *p;
    size_t sample;
    float *sums; /* of line h of the image at line h % lines */
} piece;

/* The elements of a window that lie in the image: places of the sample. */
typedef struct elements {
    size_t rows, columns;
    size_t row, column;           /* of the first one */
    size_t row_step, column_step; /* between them */
    size_t line;                  /* of the sums that wait: of the first row */
} elements;

/* Where the channels of a place lie. */
static inline size_t index_of(const firn_tensor *image, size_t sample, size_t row, size_t column) {
    return firn_image_number(image, sample, row, column) * firn_image_channels(image);
}

static elements elements_of(const pool *p, size_t i, firn_span rows, size_t j) {
    const firn_window *by_row = &p->window[FIRN_ROWS], *by_column = &p->window[FIRN_COLUMNS];
    const firn_span columns = firn_window_elements(by_column, j, firn_image_width(p->x));
    elements e = {.row_step = by_row->dilation, .column_step = by_column->dilation};
    if (rows.end <= rows.begin || columns.end <= columns.begin)
        return e;
    e.rows = rows.end - rows.begin;
    e.columns = columns.end - columns.begin;
    e.row = firn_window_at(by_row, i, rows.begin);
    e.line = e.row % p->lines;
    e.column = firn_window_at(by_column, j, columns.begin);
    return e;
}

/* Returns for each lane the number of the window's first largest element, by plan/NUMERICS.md: a NaN is larger than all
 * numbers. */
static inline __attribute__((always_inline)) firn_vector winners(uint8_t type, const piece *own, const elements *e,
                                                                 size_t channel, firn_lanes lanes) {
    const firn_tensor *x = own->p->x;
    const size_t first = index_of(x, own->sample, e->row, e->column) + channel;
    const size_t below = e->row_step * firn_image_width(x) * firn_image_channels(x);
    const size_t beside = e->column_step * firn_image_channels(x);
    firn_vector largest = firn_vector_widen(x->data, type, first, lanes), winner = firn_vector_zero();
    float number = 0.0f;
    for (size_t row = 0; row < e->rows; row++)
        for (size_t column = 0; column < e->columns; column++) {
            const firn_vector next = firn_vector_widen(x->data, type, first + row * below + column * beside, lanes);
            const firn_mask decided = firn_vector_is_nan(largest);
            const firn_mask wins = firn_mask_or(firn_vector_is_less(largest, next), firn_vector_is_nan(next));
            winner = firn_vector_select(decided, winner, firn_vector_select(wins, firn_vector_fill(number), winner));
            largest = firn_vector_select(decided, largest, firn_vector_select(wins, next, largest));
            number += 1.0f;
        }
    return winner;
}

/* The rows of a window lie fewer than `lines` apart, so each step passes the last line that waits at most once. */
static inline void add_to_winners(const piece *own, const elements *e, size_t channel, firn_lanes lanes,
                                  firn_vector winner, firn_vector dy) {
    const size_t wide = own->p->wide, lines = own->p->lines;
    float number = 0.0f;
    for (size_t row = 0, line = e->line; row < e->rows; row++, line += e->row_step) {
        line -= line < lines ? 0 : lines;
        float *at = own->sums + line * own->p->line + e->column * wide + channel;
        for (size_t column = 0; column < e->columns; column++, number += 1.0f, at += e->column_step * wide) {
            const firn_vector before = firn_vector_load_some(lanes, at);
            const firn_vector after = firn_vector_canonical(firn_vector_add(before, dy));
            const firn_words result =
                firn_words_if_equal(firn_vector_bits(winner), firn_vector_bits(firn_vector_fill(number)),
                                    firn_vector_bits(after), firn_vector_bits(before));
            firn_vector_store_some(at, lanes, firn_vector_from_bits(result));
        }
    }
}

static inline __attribute__((always_inline)) void add_windows(uint8_t type, const piece *own, size_t i) {
    const pool *p = own->p;
    const size_t channels = firn_image_channels(p->x);
    const firn_span rows = firn_window_elements(&p->window[FIRN_ROWS], i, firn_image_height(p->x));
    for (size_t j = 0; j < firn_image_width(p->dy); j++) {
        const elements e = elements_of(p, i, rows, j);
        const size_t from = index_of(p->dy, own->sample, i, j);
        for (size_t channel = 0; channel < channels && e.rows > 0; channel += FIRN_VECTOR) {
            const firn_lanes lanes = firn_first_lanes(channels - channel);
            add_to_winners(own, &e, channel, lanes, winners(type, own, &e, channel, lanes),
                           firn_vector_widen(p->dy->data, type, from + channel, lanes));
        }
    }
}

/* Rounds the sums of a line to the output, and clears them for the line that takes their place. */
static inline __attribute__((always_inline)) void finish_line(uint8_t type, const piece *own, size_t line) {
    const firn_tensor *dx = own->p->dx;
    const size_t channels = firn_image_channels(dx);
    float *sums = own->sums + line % own->p->lines * own->p->line;
    for (size_t column = 0; column < firn_image_width(dx); column++, sums += own->p->wide) {
        const size_t to = index_of(dx, own->sample, line, column);
        for (size_t channel = 0; channel < channels; channel += FIRN_VECTOR) {
            const firn_vector sum = firn_vector_load(sums + channel);
            firn_vector_narrow(dx->data, type, to + channel, firn_first_lanes(channels - channel), sum);
            firn_vector_store(sums + channel, firn_vector_zero());
        }
    }
}

static inline __attribute__((always_inline)) void add_sample(uint8_t type, const void *arguments) {
    const piece own = *(const piece *)arguments;
    const firn_window *by_row = &own.p->window[FIRN_ROWS];
    const size_t height = firn_image_height(own.p->dx);
    size_t line = own.p->in_place ? height : 0;
    for (size_t i = 0; i < firn_image_height(own.p->dy); i++) {
        for (; line < height && line + by_row->before < i * by_row->stride; line++)
            finish_line(type, &own, line);
        add_windows(type, &own, i);
    }
    for (; line < height; line++)
        finish_line(type, &own, line);
}

static size_t sums_bytes(const pool *p) {
    return p->lines * p->line * sizeof(float);
}

static size_t slot_bytes(const pool *p) {
    return p->in_place ? 0 : sums_bytes(p);
}

static void compute_piece(void *argument, size_t number, void *slot) {
    const pool *p = argument;
    const piece own = {
        .p = p,
        .sample = number,
        .sums = p->in_place ? (float *)p->dx->data + index_of(p->dx, number, 0, 0) : (float *)slot,
    };
    memset(own.sums, 0, sums_bytes(p));
    firn_for_type(p->x->type, add_sample, &own);
}

static pool pool_of(const firn_kernel_call *call) {
    pool p = {.dy = &call->inputs[FIRN_MAX_POOL_BACKWARD_IN_DY],
              .x = &call->inputs[FIRN_MAX_POOL_BACKWARD_IN_X],
              .dx = &call->outputs[FIRN_MAX_POOL_BACKWARD_OUT_DX]};
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++)
        p.window[axis] = firn_window_along(&call->integers[FIRN_MAX_POOL_BACKWARD_STRIDE], axis,
                                           firn_pair_part(call->integers[FIRN_MAX_POOL_BACKWARD_KERNEL], axis));
    const firn_window *by_row = &p.window[FIRN_ROWS];
    const size_t height = firn_image_height(p.dx), span = (size_t)(by_row->elements - 1) * by_row->dilation + 1;
    p.in_place = p.dx->type == FIRN_FLOAT32;
    p.lines = p.in_place ? height : firn_smaller(height, span);
    p.wide = p.in_place ? firn_image_channels(p.dx) : firn_round_up(firn_image_channels(p.dx), FIRN_VECTOR);
    p.line = firn_image_width(p.dx) * p.wide;
    return p;
}

uint64_t firn_vector_max_pool_backward_scratch(uint16_t op, const firn_kernel_call *call) {
    (void)op;
    const pool p = pool_of(call);
    return slot_bytes(&p);
}

void firn_vector_max_pool_backward(const firn_kernel_call *call) {
    pool p = pool_of(call);
    const uint64_t window = (uint64_t)p.window[FIRN_ROWS].elements * p.window[FIRN_COLUMNS].elements;
    /* Numbers of elements must be exact as floats. */
    if (p.dy->type != p.x->type || p.dx->type != p.x->type || window > 1u << 24) {
        firn_kernel_max_pool_backward(call);
        return;
    }
    firn_pieces_run(call, slot_bytes(&p), p.x->dims[0], p.dy->elements * window + p.x->elements, compute_piece, &p);
}
