/* Copies the terms of windows; see windows.h. */
#include "runtime/kernels/vector/engine/windows.h"

#include <string.h>

#include "runtime/kernels/vector/engine/engine.h"
#include "runtime/kernels/vector/vector.h"

typedef firn_engine_window_kind kind;

/* Finds where the element of a window lies in the other image; false if it does not. Forward, what lies before the
 * image wraps around to a number larger than any extent. */
static bool find_element(const firn_engine_windows *w, int axis, size_t position, size_t element, size_t *at) {
    const size_t extent = w->from->dims[FIRN_IMAGE_HEIGHT + axis];
    if (!w->forward)
        return firn_window_over(&w->window[axis], position, element, extent, at);
    *at = firn_window_at(&w->window[axis], position, element);
    return *at < extent;
}

static bool are_alike(const firn_engine_windows *w, int axis, size_t position, size_t other) {
    size_t at;
    for (size_t element = 0; element < w->window[axis].elements; element++)
        if (find_element(w, axis, position, element, &at) != find_element(w, axis, other, element, &at))
            return false;
    return true;
}

size_t firn_engine_windows_find(const firn_engine_windows *w, int axis, firn_engine_alike *found) {
    const size_t positions = w->out->dims[FIRN_IMAGE_HEIGHT + axis], apart = firn_engine_windows_apart(w, axis);
    size_t count = 0;
    for (size_t residue = 0; residue < apart; residue++)
        for (size_t first = residue, next; first < positions; first = next) {
            for (next = first + apart; next < positions && are_alike(w, axis, first, next);)
                next += apart;
            found[count++] = (firn_engine_alike){first, (next - first) / apart};
        }
    return count;
}

/* --- the layout of a kind ----------------------------------------------------------------------------------------- */

/* Adds an element of the window, of which only the terms of the kind are copied. */
static void add_element(kind *k, size_t first, size_t from) {
    const size_t end = first + k->windows->terms, behind = k->first + k->count;
    const size_t begin = first > k->first ? first : k->first;
    if (begin >= firn_smaller(end, behind))
        return;
    const firn_engine_window_copy copy = {begin - k->first, firn_smaller(end, behind) - begin, from + begin - first};
    firn_engine_window_copy *last = k->copies + (k->copy_count == 0 ? 0 : k->copy_count - 1);
    if (k->copy_count != 0 && last->to + last->count == copy.to && last->from + last->count == copy.from)
        last->count += copy.count;
    else
        k->copies[k->copy_count++] = copy;
}

static void find_copies(kind *k) {
    const firn_engine_windows *w = k->windows;
    const size_t width = firn_image_width(w->from), channels = firn_image_channels(w->from);
    k->copy_count = 0;
    for (size_t r = 0, line, column; r < w->window[FIRN_ROWS].elements; r++) {
        if (!find_element(w, FIRN_ROWS, k->lines.first, r, &line))
            continue;
        for (size_t s = 0; s < w->window[FIRN_COLUMNS].elements; s++)
            if (find_element(w, FIRN_COLUMNS, k->columns.first, s, &column))
                add_element(k, (r * w->window[FIRN_COLUMNS].elements + s) * w->terms,
                            (line * width + column) * channels);
    }
}

void firn_engine_window_kind_set(kind *k, size_t block) {
    find_copies(k);
    k->run_count = 0;
    for (size_t i = 0; i < k->copy_count; i++) {
        const size_t begin = k->copies[i].to / block * block;
        const size_t end = firn_ceiling(k->copies[i].to + k->copies[i].count, block) * block;
        firn_engine_window_run *last = k->runs + (k->run_count == 0 ? 0 : k->run_count - 1);
        if (k->run_count != 0 && begin <= last->first + last->count)
            last->count = end - last->first;
        else
            k->runs[k->run_count++] = (firn_engine_window_run){begin, end - begin};
    }
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

void firn_engine_window_zeros(const kind *k, size_t block, uint16_t *out, size_t step, size_t rows) {
    const size_t all = firn_ceiling(k->count, block) * block;
    for (size_t row = 0; row < rows; row++, out += step)
        for (size_t i = 0, done = 0; i <= k->copy_count; i++) {
            const size_t next = i < k->copy_count ? k->copies[i].to : all;
            memset(out + done, 0, (next - done) * sizeof *out);
            done = i < k->copy_count ? next + k->copies[i].count : all;
        }
}

/* A window's terms begin there in memory. */
typedef const uint16_t *window_rows[FIRN_ENGINE_ROWS_MAX];

static inline void copy_register(uint16_t *to, const uint16_t *from) {
    firn_vector words;
    memcpy(&words, from, sizeof words);
    memcpy(to, &words, sizeof words);
}

static inline void copy_half(uint16_t *to, const uint16_t *from) {
    firn_vector_halves words;
    memcpy(&words, from, sizeof words);
    memcpy(to, &words, sizeof words);
}

/* Each loop copies a register of every row, or less: the number of a row's terms is known before it, and the first rows
 * have left the store buffer when a tile reads them. The last register of a row may repeat terms. */
static void copy_rows(uint16_t *out, size_t step, const window_rows from, const firn_engine_window_copy *copy,
                      size_t rows) {
    enum { HALF = FIRN_VECTOR, WHOLE = 2 * FIRN_VECTOR };
    const size_t count = copy->count, at = copy->from;
    uint16_t *to = out + copy->to;
    if (count < HALF) {
        const firn_lanes some = firn_first_lanes(count);
        for (size_t row = 0; row < rows; row++)
            firn_halves_store_some(to + row * step, some, firn_halves_load_some(some, from[row] + at));
    } else if (count < WHOLE) {
        for (size_t row = 0; row < rows; row++)
            copy_half(to + row * step, from[row] + at);
        for (size_t row = 0; count > HALF && row < rows; row++)
            copy_half(to + row * step + count - HALF, from[row] + at + count - HALF);
    } else {
        for (size_t i = 0, next; i < count; i = next) {
            next = i + WHOLE;
            const size_t term = firn_smaller(i, count - WHOLE);
            for (size_t row = 0; row < rows; row++)
                copy_register(to + row * step + term, from[row] + at + term);
        }
    }
}

void firn_engine_window_gather(const kind *k, firn_engine_window_place *place, size_t group, uint16_t *out, size_t step,
                               size_t rows) {
    const firn_engine_windows *w = k->windows;
    const size_t channels = firn_image_channels(w->from), width = firn_image_width(w->from);
    const size_t below = (w->forward ? w->window[FIRN_ROWS].stride : 1) * width * channels;
    const size_t beside = (w->forward ? w->window[FIRN_COLUMNS].stride : 1) * channels;
    const size_t sample = firn_image_height(w->from) * width * channels;
    const uint16_t *image = (const uint16_t *)w->from->data + group * w->terms;
    window_rows from;
    for (size_t row = 0, count; row < rows; row += count) {
        const uint16_t *first = image + place->sample * sample + place->line * below + place->column * beside;
        count = firn_engine_window_line(k, place, rows - row);
        for (size_t i = 0; i < count; i++)
            from[row + i] = first + i * beside;
    }
    for (size_t i = 0; i < k->copy_count; i++)
        copy_rows(out, step, from, &k->copies[i], rows);
}
