/* The convolution in vectors, and the gradient of its input; see conv.h. Both gather: an element of the output is the
 * sum over rows r and columns s of the window, and over the channels of a group, of an element of another image and one
 * of the weight. The elements of a window that have a term are `first`, first + step and so on, and they lie equally
 * far apart in the other image. The rows of a tile are columns of the output whose windows have the same elements, or,
 * where fewer than samples have them, as at the border, the same column of several samples. Flushed sums have terms
 * outside the image, too, and blocks of terms do not end where lines of a window do: for these the lines under a window
 * are copied between zeros, and the terms of a tile have places in the copies. The rows of a tile are then columns
 * whose windows have terms of the same blocks.
 */
#include "runtime/kernels/vector/images/conv.h"

#include <string.h>

#include "runtime/kernels/images/images.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/engine/flush.h"
#include "runtime/kernels/vector/images/padded.h"
#include "runtime/kernels/vector/images/placed.h"
#include "runtime/kernels/vector/images/pointwise.h"
#include "runtime/kernels/vector/images/terms.h"
#include "runtime/kernels/vector/pack.h"
#include "runtime/kernels/vector/pieces.h"
#include "runtime/kernels/vector/product.h"
#include "runtime/kernels/vector/tile.h"

enum {
    HEIGHT = FIRN_REGISTER_ROWS,
    WIDTH = FIRN_REGISTER_COLUMNS,
    PIECES = 4, /* for each thread, so that none waits long for the last one */
    LINE = 64 / sizeof(float)
};

/* Columns of the output that are `apart` columns apart and have the same elements; each lies `advance` columns of the
 * other image behind the one before. */
typedef struct columns {
    size_t first, count;
    firn_steps window;
} columns;

typedef struct gather {
    const firn_tensor *from, *weight, *bias, *out; /* bias: NULL, or one value for each channel of the output */
    firn_window window[FIRN_AXES];
    bool forward;
    uint8_t kind;                /* of the reduction */
    size_t block;                /* terms of one, of flushed sums */
    firn_padded padded;          /* the lines of `from`, of flushed sums */
    size_t groups, terms, lanes; /* channels of a group of `from`, and of the output */
    bool by_channel;             /* one of each: the lanes of a tile are groups */
    size_t panels;               /* of the lanes of a group; of all channels if by_channel */
    size_t apart, advance;       /* see columns */
    size_t samples, per_block;   /* samples of a block */
    size_t units;                /* of a piece; a unit is a line of a block of samples */
    struct {
        uint64_t weight, bias, columns, from, runs, places, held, lines, end; /* in floats */
    } at;
} gather;

typedef struct piece {
    const gather *g;
    float *slot;
    columns *columns;
    size_t column_groups;
    size_t block;         /* whose samples, or some lines of them, are in the slot; SIZE_MAX: none */
    const float *samples; /* of the current block */
} piece;

/* --- which elements of windows have a term ------------------------------------------------------------------------ */

static firn_steps steps_of_window(const firn_window *window, size_t position, size_t extent) {
    const firn_span span = firn_window_elements(window, position, extent);
    if (span.begin >= span.end)
        return (firn_steps){0};
    return (firn_steps){span.begin, 1, span.end - span.begin, firn_window_at(window, position, span.begin),
                        (ptrdiff_t)window->dilation};
}

static firn_steps steps_over_place(const firn_window *window, size_t place, size_t positions) {
    firn_steps found = {0};
    for (size_t element = 0; element < window->elements; element++) {
        size_t position;
        if (!firn_window_over(window, place, element, positions, &position))
            continue;
        if (found.count == 0) {
            found.first = element;
            found.at = position;
        } else if (found.count == 1) {
            found.step = element - found.first;
            found.at_step = (ptrdiff_t)position - (ptrdiff_t)found.at;
        }
        found.count++;
    }
    return found;
}

static firn_steps steps_along(const gather *g, int axis, size_t place) {
    const size_t extent = g->from->dims[FIRN_IMAGE_HEIGHT + axis];
    return g->forward ? steps_of_window(&g->window[axis], place, extent)
                      : steps_over_place(&g->window[axis], place, extent);
}

/* Whether a window has the elements of another one, a number of columns of the other image behind. */
static bool continues(const firn_steps *window, const firn_steps *before, size_t advance) {
    return window->first == before->first && window->step == before->step && window->count == before->count &&
           window->at == before->at + advance && window->at_step == before->at_step;
}

static size_t height_of_tiles(size_t rows) {
    return firn_ceiling(rows, firn_ceiling(rows, HEIGHT));
}

/* Finds columns that have the same elements, those of a tile or of flushed sums all, and returns the number of such
 * groups. */
static size_t find_columns(const gather *g, columns *found) {
    const size_t width = firn_image_width(g->out);
    size_t count = 0;
    for (size_t residue = 0; residue < g->apart; residue++)
        for (size_t column = residue, run; column < width; column += run * g->apart) {
            firn_steps first = steps_along(g, FIRN_COLUMNS, column), last = first;
            for (run = 1; column + run * g->apart < width; run++) {
                const firn_steps next = steps_along(g, FIRN_COLUMNS, column + run * g->apart);
                if (!continues(&next, &last, g->advance))
                    break;
                last = next;
            }
            const size_t height = g->kind != FIRN_REDUCTION_F32 ? run : height_of_tiles(run);
            for (size_t at = 0; at < run; at += height) {
                columns *own = &found[count++];
                *own = (columns){column + at * g->apart, firn_smaller(height, run - at), first};
                own->window.at += at * g->advance;
            }
        }
    return count;
}

/* --- the slot ----------------------------------------------------------------------------------------------------- */

static size_t kernel_of(const gather *g) {
    return (size_t)g->window[FIRN_ROWS].elements * g->window[FIRN_COLUMNS].elements;
}

/* Terms of a panel for each element of the window. */
static size_t panel_terms(const gather *g) {
    return g->by_channel ? 1 : g->terms;
}

static size_t lanes_of_panel(const gather *g, size_t panel) {
    return firn_smaller(WIDTH, (g->by_channel ? g->groups : g->lanes) - panel * WIDTH);
}

/* Packs a panel as [r][s][term][WIDTH]. The weight is [O,rows,columns,C/groups]. */
static void pack_panel(const gather *g, size_t group, size_t panel, float *out) {
    const size_t kernel = kernel_of(g), inputs = g->weight->dims[FIRN_WEIGHT_INPUTS], lane = panel * WIDTH;
    firn_matrix from = {
        .data = g->weight->data, .type = g->weight->type, .row_step = 1, .column_step = kernel * inputs};
    if (g->forward || g->by_channel) {
        from.first = group * g->lanes * kernel * inputs;
        firn_vector_pack(out, 2, &from, 0, kernel * panel_terms(g), lane, lanes_of_panel(g, panel));
        return;
    }
    from.row_step = kernel * inputs;
    from.column_step = 1;
    for (size_t element = 0; element < kernel; element++, out += g->terms * WIDTH) {
        from.first = (group * g->terms * kernel + element) * inputs;
        firn_vector_pack(out, 2, &from, 0, g->terms, lane, lanes_of_panel(g, panel));
    }
}

static uint64_t panel_floats(const gather *g) {
    return (uint64_t)kernel_of(g) * panel_terms(g) * WIDTH;
}

static size_t all_panels(const gather *g) {
    return g->panels * (g->by_channel ? 1 : g->groups);
}

static size_t sample_elements(const firn_tensor *image) {
    return firn_image_height(image) * firn_image_width(image) * firn_image_channels(image);
}

static uint64_t round_up(uint64_t floats) {
    return (floats + LINE - 1) / LINE * LINE;
}

/* Floats of the copied lines of a sample: as many as a window has, and one of zeros. */
static uint64_t lines_step(const gather *g) {
    return (g->window[FIRN_ROWS].elements + UINT64_C(1)) * g->padded.width * g->padded.row;
}

/* Columns that lie only in the padding are copied, too, and a place of a term has 32 bits. Where these are too few, the
 * portable kernel takes the op. The slot is measured in 64 bits also where a size has 32. */
static bool fits(const gather *g) {
    return g->kind == FIRN_REDUCTION_F32 || g->at.end <= UINT32_MAX;
}

static void lay_out(gather *g) {
    const size_t out_channels = firn_image_channels(g->out), kernel = kernel_of(g);
    const bool is_flushed = g->kind != FIRN_REDUCTION_F32, widens = g->from->type != FIRN_FLOAT32 && !is_flushed;
    g->at.weight = 0;
    g->at.bias = round_up(all_panels(g) * panel_floats(g));
    g->at.columns = g->at.bias + round_up(g->bias != NULL ? out_channels : 0);
    g->at.from = g->at.columns + round_up((uint64_t)firn_image_width(g->out) * sizeof(columns) / sizeof(float));
    g->at.end = g->at.from + round_up(widens ? (uint64_t)g->per_block * sample_elements(g->from) + WIDTH : 0);
    if (!is_flushed)
        return;
    g->at.runs = g->at.end;
    g->at.places = g->at.runs + round_up(2 * (uint64_t)kernel * sizeof(firn_term_run) / sizeof(float));
    g->at.held = g->at.places + round_up((uint64_t)kernel * panel_terms(g) * sizeof(firn_term_place) / sizeof(float));
    g->at.lines = g->at.held + round_up(g->window[FIRN_ROWS].elements * sizeof(size_t) / sizeof(float));
    g->at.end = g->at.lines + round_up(g->per_block * lines_step(g) + WIDTH);
}

_Static_assert(sizeof(columns) % sizeof(float) == 0 && sizeof(firn_term_run) % sizeof(float) == 0 &&
                   sizeof(firn_term_place) % sizeof(float) == 0 && sizeof(size_t) % sizeof(float) == 0,
               "these lie in an array of floats");

/* The lines of `from` as far as windows reach. */
static firn_padded lines_of(const gather *g) {
    const firn_window *window = &g->window[FIRN_COLUMNS];
    const size_t reach = (size_t)(window->elements - 1) * window->dilation, last = firn_image_width(g->out) - 1;
    firn_padded lines = {g->from, last * window->stride + reach + 1, window->before, firn_image_channels(g->from)};
    if (!g->forward) {
        lines.before = reach > window->before ? firn_ceiling(reach - window->before, window->stride) : 0;
        lines.width = lines.before + (last + window->before) / window->stride + 1;
    }
    return lines;
}

static void describe(gather *g, uint16_t op, const firn_kernel_call *call) {
    *g = (gather){.out = &call->outputs[0], .forward = op == FIRN_OP_conv};
    g->from = &call->inputs[g->forward ? (size_t)FIRN_CONV_IN_X : (size_t)FIRN_CONV_BACKWARD_INPUT_IN_DY];
    g->weight = &call->inputs[g->forward ? (size_t)FIRN_CONV_IN_WEIGHT : (size_t)FIRN_CONV_BACKWARD_INPUT_IN_WEIGHT];
    g->bias = g->forward ? firn_call_input(call, FIRN_CONV_IN_BIAS) : NULL;
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++)
        g->window[axis] =
            firn_window_along(&call->integers[FIRN_CONV_STRIDE], axis, g->weight->dims[(int)FIRN_WEIGHT_ROWS + axis]);
    g->groups = (size_t)call->integers[FIRN_CONV_GROUPS];
    g->terms = firn_image_channels(g->from) / g->groups;
    g->lanes = firn_image_channels(g->out) / g->groups;
    g->by_channel = g->terms == 1 && g->lanes == 1;
    g->kind = call->reductions[FIRN_CONV_REDUCTION_PRODUCTS].kind;
    g->block = call->reductions[FIRN_CONV_REDUCTION_PRODUCTS].chunk;
    g->padded = lines_of(g);
    g->panels = firn_ceiling(g->by_channel ? g->groups : g->lanes, WIDTH);
    g->apart = g->forward ? 1 : g->window[FIRN_COLUMNS].stride;
    g->advance = g->forward ? g->window[FIRN_COLUMNS].stride : 1;
    g->samples = g->out->dims[0];
    g->per_block = firn_ceiling(g->samples, firn_ceiling(g->samples, HEIGHT));
    lay_out(g);
}

/* --- tiles -------------------------------------------------------------------------------------------------------- */

/* The samples of a block as floats: where they lie, or widened into the slot. */
static const float *samples_of(piece *p, size_t block) {
    const gather *g = p->g;
    const size_t elements = sample_elements(g->from), first = block * g->per_block * elements;
    float *widened = p->slot + g->at.from;
    if (g->from->type == FIRN_FLOAT32)
        return (const float *)g->from->data + first;
    if (p->block != block)
        firn_widen(widened, g->from->data, g->from->type, first,
                   firn_smaller(g->per_block, g->samples - block * g->per_block) * elements);
    p->block = block;
    return widened;
}

/* A tile of the output: `rows` rows whose places and whose windows are each equally far apart. */
typedef struct target {
    size_t from;              /* the first element of the sample of row 0, in the block */
    size_t group, panel;      /* by_channel: group is 0 */
    firn_steps rows, columns; /* of the window of row 0 */
    size_t index, index_step; /* in the output, at channel 0 */
} target;

/* The first channel of the output that the tile has. */
static size_t first_lane(const gather *g, const target *t) {
    return t->group * g->lanes + t->panel * WIDTH;
}

static void multiply(const gather *g, firn_register_tile *tile) {
    if (g->by_channel)
        firn_register_tile_multiply_columns(tile);
    else
        firn_register_tile_multiply(tile);
    tile->begins = false;
}

/* Adds the terms of all elements of the windows. If those of a line of the window are one run, the lines are the runs;
 * otherwise the elements of a line are. */
static void add_terms(const gather *g, const target *t, firn_register_tile *tile, const float *bias) {
    const size_t terms = panel_terms(g), channels = firn_image_channels(g->from), width = firn_image_width(g->from);
    const size_t line = (size_t)g->window[FIRN_COLUMNS].elements * terms * WIDTH;
    const ptrdiff_t element_step = t->columns.at_step * (ptrdiff_t)channels;
    const ptrdiff_t line_step = t->rows.at_step * (ptrdiff_t)(width * channels);
    const bool adjoin = t->columns.count == 1 || (element_step == (ptrdiff_t)terms && t->columns.step == 1);
    tile->left_term_step = 1;
    tile->right_step = WIDTH;
    if (adjoin || terms == 1) {
        tile->runs = t->rows.count;
        tile->left_run_step = line_step;
        tile->right_run_step = t->rows.step * line;
        tile->terms = t->columns.count * terms;
        if (!adjoin) {
            tile->left_term_step = element_step;
            tile->right_step = t->columns.step * WIDTH;
        }
        tile->bias = bias;
        multiply(g, tile);
        return;
    }
    tile->runs = t->columns.count;
    tile->left_run_step = element_step;
    tile->right_run_step = t->columns.step * terms * WIDTH;
    tile->terms = terms;
    for (size_t r = 0; r < t->rows.count; r++) {
        tile->bias = r + 1 == t->rows.count ? bias : NULL;
        multiply(g, tile);
        tile->left += line_step;
        tile->right += t->rows.step * line;
    }
}

static const float *bias_of(const piece *p, const target *t) {
    const gather *g = p->g;
    return g->bias != NULL ? p->slot + g->at.bias + first_lane(g, t) : NULL;
}

static const float *panel_of(const piece *p, const target *t) {
    const gather *g = p->g;
    return p->slot + g->at.weight + (t->group * g->panels + t->panel) * panel_floats(g);
}

/* Where the first term of row 0 lies in the sample. */
static size_t first_term(const gather *g, const target *t) {
    const size_t place = t->rows.at * firn_image_width(g->from) + t->columns.at;
    return place * firn_image_channels(g->from) + (g->by_channel ? first_lane(g, t) : t->group * g->terms);
}

static void compute_tile(const piece *p, const target *t, size_t rows, size_t left_row_step) {
    const gather *g = p->g;
    const size_t element = t->rows.first * g->window[FIRN_COLUMNS].elements + t->columns.first;
    const size_t index = t->index + first_lane(g, t);
    const bool in_place = g->out->type == FIRN_FLOAT32;
    float sums[HEIGHT * WIDTH];
    firn_register_tile tile = {.left_row_step = left_row_step,
                               .rows = rows,
                               .columns = lanes_of_panel(g, t->panel),
                               .begins = true,
                               .sums = in_place ? (float *)g->out->data + index : sums,
                               .sums_step = in_place ? t->index_step : (size_t)WIDTH};
    if (t->rows.count == 0 || t->columns.count == 0) {
        tile.bias = bias_of(p, t);
        multiply(g, &tile);
    } else {
        tile.left = p->samples + t->from + first_term(g, t);
        tile.right = panel_of(p, t) + element * panel_terms(g) * WIDTH;
        add_terms(g, t, &tile, bias_of(p, t));
    }
    if (!in_place)
        firn_vector_narrow_rows(g->out->data, g->out->type, index, t->index_step, sums, WIDTH, rows, tile.columns);
}

/* --- lines of the output ------------------------------------------------------------------------------------------ */

/* Computes a group of columns of a line, for all samples of a block. t is for its first column and sample. The rows of
 * a tile are columns or samples. */
static void compute_columns(const piece *p, target t, const columns *own, size_t samples) {
    const gather *g = p->g;
    const size_t channels = firn_image_channels(g->from), column = g->apart * firn_image_channels(g->out);
    const size_t from_sample = sample_elements(g->from), out_sample = sample_elements(g->out);
    const bool are_samples = own->count < samples; /* the rows */
    const size_t tiles = are_samples ? own->count : samples;
    t.index_step = are_samples ? out_sample : column;
    for (size_t tile = 0; tile < tiles; tile++) {
        compute_tile(p, &t, are_samples ? samples : own->count, are_samples ? from_sample : g->advance * channels);
        t.from += are_samples ? 0 : from_sample;
        t.columns.at += are_samples ? g->advance : 0;
        t.index += are_samples ? column : out_sample;
    }
}

static void compute_line(piece *p, size_t block, size_t line) {
    const gather *g = p->g;
    const size_t first = block * g->per_block, samples = firn_smaller(g->per_block, g->samples - first);
    target t = {.rows = steps_along(g, FIRN_ROWS, line)};
    p->samples = samples_of(p, block);
    for (t.group = 0; t.group < (g->by_channel ? 1 : g->groups); t.group++)
        for (t.panel = 0; t.panel < g->panels; t.panel++)
            for (size_t i = 0; i < p->column_groups; i++) {
                const columns *own = &p->columns[i];
                t.columns = own->window;
                t.index = firn_image_number(g->out, first, line, own->first) * firn_image_channels(g->out);
                compute_columns(p, t, own, samples);
            }
}

/* --- lines of flushed sums ---------------------------------------------------------------------------------------- */

/* Some columns of a line of the output whose windows have terms of the same blocks. */
typedef struct stretch {
    size_t line, first, count; /* columns, g->apart columns apart */
    size_t sample, samples;
    size_t terms; /* of the blocks; their places are in the slot */
} stretch;

/* Where the line of `from` under line r of the window is copied: lines under adjacent lines of the output have
 * different places if windows have adjacent lines. */
static size_t copy_of(const gather *g, size_t r, size_t line) {
    return g->window[FIRN_ROWS].dilation == 1 ? line % g->window[FIRN_ROWS].elements : r;
}

/* Copies the lines under a line of the output, unless they are there. */
static void copy_lines(piece *p, const firn_steps *rows, size_t block, size_t sample, size_t samples) {
    const gather *g = p->g;
    const size_t line_floats = g->padded.width * g->padded.row, elements = g->window[FIRN_ROWS].elements;
    size_t *held = (size_t *)(void *)(p->slot + g->at.held);
    float *lines = p->slot + g->at.lines;
    if (p->block != block) {
        memset(held, 0xff, elements * sizeof *held); /* SIZE_MAX: none */
        for (size_t i = 0; i < samples; i++)
            firn_padded_zeros(&g->padded, lines + i * lines_step(g) + elements * line_floats);
    }
    p->block = block;
    for (size_t i = 0; i < rows->count; i++) {
        const size_t line = rows->at + i * (size_t)rows->at_step;
        const size_t copy = copy_of(g, rows->first + i * rows->step, line);
        for (size_t j = 0; j < samples && held[copy] != line; j++)
            firn_padded_line(&g->padded, lines + j * lines_step(g) + copy * line_floats,
                             (sample + j) * firn_image_height(g->from) + line, 0, g->padded.row);
        held[copy] = line;
    }
}

/* Finds the blocks of which the windows of these columns have a term, and returns the number of runs of them. */
static size_t find_runs(const gather *g, const firn_steps *rows, const columns *own, firn_term_run *runs) {
    const firn_window_terms window = {*rows, own->window, g->window[FIRN_ROWS].elements,
                                      g->window[FIRN_COLUMNS].elements, panel_terms(g)};
    return firn_window_runs(&window, g->block, runs);
}

/* Where element s of the window of a column lies in a copied line; SIZE_MAX if none lies under it. */
static size_t place_in_line(const gather *g, size_t column, size_t s) {
    const firn_window *window = &g->window[FIRN_COLUMNS];
    if (g->forward)
        return column * window->stride + s * window->dilation;
    const size_t at = column + window->before + g->padded.before * window->stride - s * window->dilation;
    return at % window->stride == 0 ? at / window->stride : SIZE_MAX;
}

/* Places the terms of some runs, and returns their number. The left ones lie behind the first copied line, for the
 * first of the columns. */
static size_t place_terms(const piece *p, const firn_steps *rows, size_t column, const firn_term_run *runs,
                          size_t count) {
    const gather *g = p->g;
    const size_t terms = panel_terms(g), across = g->window[FIRN_COLUMNS].elements, floats = g->padded.row;
    const size_t zeros = g->window[FIRN_ROWS].elements * g->padded.width * floats;
    firn_term_place *place = (firn_term_place *)(void *)(p->slot + g->at.places);
    for (const firn_term_run *run = runs; run < runs + count; run++)
        for (size_t term = run->first, next; term < run->first + run->count; term = next) {
            const size_t element = term / terms, r = element / across, from = r - rows->first;
            const size_t step = rows->count > 1 ? rows->step : 1, at = place_in_line(g, column, element % across);
            size_t left = zeros;
            if (r >= rows->first && from % step == 0 && from / step < rows->count && at != SIZE_MAX) {
                const size_t line = rows->at + from / step * (size_t)rows->at_step;
                left = (copy_of(g, r, line) * g->padded.width + at) * floats;
            }
            next = firn_smaller((element + 1) * terms, run->first + run->count);
            left += term - element * terms;
            for (size_t i = term; i < next; i++, left++)
                *place++ = (firn_term_place){(uint32_t)left, (uint32_t)(i * WIDTH)};
        }
    return (size_t)(place - (const firn_term_place *)(const void *)(p->slot + g->at.places));
}

/* Sums that are stored. */
typedef struct storing {
    const firn_register_tile *tile;
    const float *bias; /* or NULL */
    void *data;
    size_t index, step; /* of row 0, and from row to row */
} storing;

static inline __attribute__((always_inline)) void store(uint8_t type, const void *arguments) {
    const storing *it = arguments;
    for (size_t column = 0; column < it->tile->columns; column += FIRN_VECTOR) {
        const firn_lanes lanes = firn_first_lanes(it->tile->columns - column);
        const firn_vector bias =
            it->bias != NULL ? firn_vector_load_some(lanes, it->bias + column) : firn_vector_zero();
        for (size_t row = 0; row < it->tile->rows; row++) {
            const firn_vector sum = firn_vector_load(it->tile->sums + row * WIDTH + column);
            firn_vector_narrow(it->data, type, it->index + row * it->step + column, lanes,
                               firn_vector_canonical(it->bias != NULL ? firn_vector_add(sum, bias) : sum));
        }
    }
}

/* Adds the bias, makes NaNs canonical and stores the sums. */
static __attribute__((noinline)) void store_sums(const piece *p, const target *t, const firn_register_tile *tile) {
    const gather *g = p->g;
    const storing it = {tile, bias_of(p, t), g->out->data, t->index + first_lane(g, t), t->index_step};
    firn_for_type(g->out->type, store, &it);
}

/* Computes a tile. Within the mode of engine/flush.h, which changes no sum that is stored as it is. */
static void compute_placed(const piece *p, const target *t, firn_register_tile *tile, unsigned mode) {
    const gather *g = p->g;
    const firn_term_place *places = (const firn_term_place *)(const void *)(p->slot + g->at.places);
    if (tile->terms == 0)
        memset(tile->sums, 0, tile->rows * WIDTH * sizeof(float));
    else if (g->by_channel)
        firn_placed_add_columns(g->kind, tile, places);
    else
        firn_placed_add(g->kind, tile, places);
    const bool as_it_is = g->bias == NULL && (g->out->type == FIRN_BFLOAT16 || g->out->type == FIRN_FLOAT32);
    if (!as_it_is)
        firn_flush_end(mode);
    store_sums(p, t, tile);
    if (!as_it_is)
        (void)firn_flush_begin();
}

/* Computes the tiles of a panel of channels: their rows are columns of each sample, or samples. */
static void compute_panel(const piece *p, target *t, const stretch *own, unsigned mode) {
    const gather *g = p->g;
    const size_t channels = firn_image_channels(g->out), advance = g->advance * g->padded.row;
    const bool are_samples = own->count < own->samples; /* the rows */
    const size_t lines = are_samples ? own->count : own->samples, rows = are_samples ? own->samples : own->count;
    _Alignas(64) float sums[HEIGHT * WIDTH];
    firn_register_tile tile = {.left_row_step = are_samples ? (size_t)lines_step(g) : advance,
                               .right = panel_of(p, t),
                               .columns = lanes_of_panel(g, t->panel),
                               .terms = own->terms,
                               .begins = true,
                               .sums = sums,
                               .sums_step = WIDTH};
    t->index_step = are_samples ? sample_elements(g->out) : g->apart * channels;
    for (size_t line = 0; line < lines; line++)
        for (size_t row = 0; row < rows; row += tile.rows) {
            const size_t sample = are_samples ? row : line, column = are_samples ? line : row;
            tile.rows = height_of_tiles(rows - row);
            tile.left = p->slot + g->at.lines + sample * lines_step(g) + column * advance +
                        (g->by_channel ? first_lane(g, t) : t->group * g->terms);
            t->index =
                firn_image_number(g->out, own->sample + sample, own->line, own->first + column * g->apart) * channels;
            compute_placed(p, t, &tile, mode);
        }
}

static __attribute__((noinline)) void compute_stretch(const piece *p, const stretch *own) {
    const gather *g = p->g;
    const unsigned mode = firn_flush_begin();
    target t = {0};
    for (t.group = 0; t.group < (g->by_channel ? 1 : g->groups); t.group++)
        for (t.panel = 0; t.panel < g->panels; t.panel++)
            compute_panel(p, &t, own, mode);
    firn_flush_end(mode);
}

static void compute_flushed_line(piece *p, size_t block, size_t line) {
    const gather *g = p->g;
    const firn_steps rows = steps_along(g, FIRN_ROWS, line);
    firn_term_run *runs = (firn_term_run *)(void *)(p->slot + g->at.runs), *others = runs + kernel_of(g);
    stretch own = {.line = line, .sample = block * g->per_block};
    own.samples = firn_smaller(g->per_block, g->samples - own.sample);
    copy_lines(p, &rows, block, own.sample, own.samples);
    for (size_t i = 0, next; i < p->column_groups; i = next) {
        const size_t count = find_runs(g, &rows, &p->columns[i], runs);
        own.first = p->columns[i].first;
        own.count = p->columns[i].count;
        for (next = i + 1; next < p->column_groups; next++) {
            const columns *other = &p->columns[next];
            if (other->first != own.first + own.count * g->apart || find_runs(g, &rows, other, others) != count ||
                memcmp(runs, others, count * sizeof *runs) != 0)
                break;
            own.count += other->count;
        }
        own.terms = place_terms(p, &rows, own.first, runs, count);
        compute_stretch(p, &own);
    }
}

static void compute_piece(void *argument, size_t number, void *slot) {
    const gather *g = argument;
    const size_t lines = firn_image_height(g->out), units = firn_ceiling(g->samples, g->per_block) * lines;
    piece p = {.g = g, .slot = slot, .block = SIZE_MAX};
    p.columns = (columns *)(void *)(p.slot + g->at.columns);
    p.column_groups = find_columns(g, p.columns);
    for (size_t panel = 0; panel < all_panels(g); panel++)
        pack_panel(g, panel / g->panels, panel % g->panels, p.slot + g->at.weight + panel * panel_floats(g));
    if (g->bias != NULL)
        firn_widen(p.slot + g->at.bias, g->bias->data, g->bias->type, 0, g->bias->elements);
    for (size_t unit = number * g->units; unit < units && unit < (number + 1) * g->units; unit++)
        (g->kind == FIRN_REDUCTION_F32 ? compute_line : compute_flushed_line)(&p, unit / lines, unit % lines);
}

/* --- the ops ------------------------------------------------------------------------------------------------------ */

static uint64_t cost_of(const gather *g) {
    return (uint64_t)g->out->elements * kernel_of(g) * g->terms / FIRN_MULTIPLICATIONS;
}

static void run(uint16_t op, const firn_kernel_call *call) {
    firn_pointwise layer;
    if (firn_pointwise_of(&layer, op, call)) {
        if (op == FIRN_OP_conv)
            firn_vector_linear(&layer.call);
        else
            firn_vector_linear_backward_input(&layer.call);
        return;
    }
    gather g;
    describe(&g, op, call);
    if (!fits(&g)) {
        (op == FIRN_OP_conv ? firn_kernel_conv : firn_kernel_conv_backward_input)(call);
        return;
    }
    const size_t threads = firn_parallel_threads(&call->parallel, cost_of(&g));
    const size_t units = firn_ceiling(g.samples, g.per_block) * firn_image_height(g.out);
    g.units = firn_ceiling(units, threads == 1 ? 1 : threads * PIECES);
    firn_pieces_run(call, (size_t)g.at.end * sizeof(float), firn_ceiling(units, g.units), cost_of(&g), compute_piece,
                    &g);
}

uint64_t firn_vector_conv_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_pointwise layer;
    gather g;
    if (firn_pointwise_of(&layer, op, call))
        return firn_vector_linear_scratch(layer.op, &layer.call);
    describe(&g, op, call);
    return fits(&g) ? g.at.end * sizeof(float) : 0;
}

void firn_vector_conv(const firn_kernel_call *call) {
    run(FIRN_OP_conv, call);
}

void firn_vector_conv_backward_input(const firn_kernel_call *call) {
    run(FIRN_OP_conv_backward_input, call);
}
