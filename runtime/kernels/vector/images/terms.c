/* The terms of windows for flushed sums; see terms.h. */
#include "runtime/kernels/vector/images/terms.h"

#include <stdbool.h>

#include "runtime/kernels/blocks.h"

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
