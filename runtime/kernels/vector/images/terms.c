/* The terms of windows for flushed sums; see terms.h. */
#include "runtime/kernels/vector/images/terms.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/convert.h"

/* The terms of a line of elements lie side by side in the window. */
static bool is_one_run(const firn_window_terms *window) {
    return window->columns.count == 1 || window->columns.step == 1;
}

static size_t element(const firn_window_terms *window, size_t row, size_t column) {
    const firn_steps *rows = &window->rows, *columns = &window->columns;
    return (rows->first + row * rows->step) * window->all_columns + columns->first + column * columns->step;
}

size_t firn_window_runs(const firn_window_terms *window, size_t block, firn_term_run *runs) {
    const size_t all = window->all_rows * window->all_columns * window->terms;
    const size_t together = is_one_run(window) ? window->columns.count : 1;
    size_t count = 0, end = 0;
    for (size_t row = 0; row < window->rows.count; row++)
        for (size_t column = 0; column < window->columns.count; column += together) {
            const size_t first = element(window, row, column) * window->terms, begin = first / block * block;
            const size_t behind = firn_ceiling(first + together * window->terms, block) * block;
            if (count == 0 || begin > end)
                runs[count++].first = begin;
            end = behind;
            runs[count - 1].count = firn_smaller(end, all) - runs[count - 1].first;
        }
    return count;
}

/* --- a row of factors --------------------------------------------------------------------------------------------- */

size_t firn_window_copies(const firn_window_terms *window, ptrdiff_t line_step, ptrdiff_t step,
                          firn_term_copy *copies) {
    const size_t terms = window->terms, columns = window->columns.count;
    const bool adjoin = columns == 1 || (window->columns.step == 1 && step == (ptrdiff_t)terms);
    const size_t together = adjoin ? columns : 1;
    size_t count = 0;
    for (size_t row = 0; row < window->rows.count; row++)
        for (size_t column = 0; column < columns; column += together)
            copies[count++] = (firn_term_copy){element(window, row, column) * terms, together * terms,
                                               (ptrdiff_t)row * line_step + (ptrdiff_t)column * step};
    return count;
}

void firn_window_zeros(float *out, const firn_window_terms *window, size_t block, const firn_term_copy *copies,
                       size_t count) {
    const size_t all = window->all_rows * window->all_columns * window->terms;
    size_t done = 0;
    for (size_t i = 0; i <= count; i++) {
        const size_t next = i < count ? copies[i].to : all;
        if (done < next) {
            const size_t end = firn_smaller(firn_ceiling(done, block) * block, next);
            size_t begin = i < count ? next / block * block : next;
            begin = begin > end ? begin : end;
            memset(out + done, 0, (end - done) * sizeof *out);
            memset(out + begin, 0, (next - begin) * sizeof *out);
        }
        done = i < count ? next + copies[i].count : next;
    }
}

/* The last register may repeat elements. */
static inline __attribute__((always_inline)) void widen(float *out, const uint16_t *from, size_t count) {
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    if (count < FIRN_VECTOR) {
        for (size_t i = 0; i < count; i++)
            out[i] = firn_from_bits((uint32_t)from[i] << 16);
        return;
    }
    for (size_t i = 0; i + FIRN_VECTOR < count; i += FIRN_VECTOR)
        firn_vector_store(out + i, firn_vector_widen(from, FIRN_BFLOAT16, i, all));
    const size_t last = count - FIRN_VECTOR;
    firn_vector_store(out + last, firn_vector_widen(from, FIRN_BFLOAT16, last, all));
}

void firn_window_gather(float *out, const firn_term_copy *copies, size_t count, const uint16_t *from) {
    for (size_t i = 0; i < count; i++)
        widen(out + copies[i].to, from + copies[i].from, copies[i].count);
}
