/* The convolution in vectors, and the gradient of its input; see conv.h. Both gather: an element of the output is the
 * sum over rows r and columns s of the window, and over the channels of a group, of an element of another image and one
 * of the weight. The elements of a window that have a term are `first`, first + step and so on, and they lie equally
 * far apart in the other image. The rows of a tile are columns of the output whose windows have the same elements, or,
 * where fewer than samples have them, as at the border, the same column of several samples. For flushed sums the terms
 * of these rows are gathered, one tile at a time, with the zeros of those outside the image: blocks of terms do not end
 * where lines of a window do. With one channel in each group they are read in place, and zeros elsewhere. */
#include "runtime/kernels/vector/images/conv.h"

#include <string.h>

#include "runtime/kernels/images/images.h"
#include "runtime/kernels/vector/engine/flush.h"
#include "runtime/kernels/vector/engine/tile.h"
#include "runtime/kernels/vector/images/channels.h"
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
    LINE = 64 / sizeof(float),
    GAP = 16 /* floats between gathered rows, so that they do not share cache lines */
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
    bool gathered;               /* the terms of a tile are */
    size_t groups, terms, lanes; /* channels of a group of `from`, and of the output */
    bool by_channel;             /* one of each: the lanes of a tile are groups */
    size_t panels;               /* of the lanes of a group; of all channels if by_channel */
    size_t apart, advance;       /* see columns */
    size_t samples, per_block;   /* samples of a block */
    size_t units;                /* of a piece; a unit is a line of a block of samples */
    struct {
        size_t weight, bias, columns, from, runs, copies, left, end; /* in floats */
    } at;
} gather;

typedef struct piece {
    const gather *g;
    float *slot;
    columns *columns;
    size_t column_groups;
    size_t block;         /* whose samples are in the slot, if they are widened; SIZE_MAX: none */
    const float *samples; /* of the current block */
} piece;

/* --- which elements of windows have a term -------------------------------------------------------------------------
 */

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

/* Finds columns that are computed together, and returns the number of such groups. */
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
            const size_t height = firn_ceiling(run, firn_ceiling(run, HEIGHT));
            for (size_t at = 0; at < run; at += height) {
                columns *own = &found[count++];
                *own = (columns){column + at * g->apart, firn_smaller(height, run - at), first};
                own->window.at += at * g->advance;
            }
        }
    return count;
}

/* --- the slot ------------------------------------------------------------------------------------------------------
 */

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

static size_t panel_floats(const gather *g) {
    return kernel_of(g) * panel_terms(g) * WIDTH;
}

static size_t all_panels(const gather *g) {
    return g->panels * (g->by_channel ? 1 : g->groups);
}

static size_t sample_elements(const firn_tensor *image) {
    return firn_image_height(image) * firn_image_width(image) * firn_image_channels(image);
}

static size_t round_up(size_t floats) {
    return (floats + LINE - 1) / LINE * LINE;
}

/* From a gathered row to the next. */
static size_t left_step(const gather *g) {
    return round_up(kernel_of(g) * g->terms) + GAP;
}

static void lay_out(gather *g) {
    const size_t out_channels = firn_image_channels(g->out);
    const bool widens = g->from->type != FIRN_FLOAT32 && !g->gathered, is_flushed = g->kind != FIRN_REDUCTION_F32;
    g->at.weight = 0;
    g->at.bias = round_up(all_panels(g) * panel_floats(g));
    g->at.columns = g->at.bias + round_up(g->bias != NULL ? out_channels : 0);
    g->at.from = g->at.columns + round_up(firn_image_width(g->out) * sizeof(columns) / sizeof(float));
    g->at.runs = g->at.from + round_up(widens ? g->per_block * sample_elements(g->from) + WIDTH : 0);
    g->at.copies = g->at.runs + round_up(is_flushed ? kernel_of(g) * sizeof(firn_term_run) / sizeof(float) : 0);
    g->at.left = g->at.copies;
    g->at.end = g->at.copies;
    if (is_flushed && g->gathered) {
        g->at.left += round_up(kernel_of(g) * sizeof(firn_term_copy) / sizeof(float));
        g->at.end = g->at.left + HEIGHT * left_step(g);
    } else if (is_flushed) {
        g->at.end += round_up(kernel_of(g) * sizeof(firn_channel_term) / sizeof(float));
    }
}

_Static_assert(sizeof(columns) % sizeof(float) == 0 && sizeof(firn_term_run) % sizeof(float) == 0 &&
                   sizeof(firn_channel_term) % sizeof(float) == 0 && sizeof(firn_term_copy) % sizeof(float) == 0,
               "these lie in an array of floats");

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
    g->gathered = g->kind != FIRN_REDUCTION_F32 && !g->by_channel;
    g->panels = firn_ceiling(g->by_channel ? g->groups : g->lanes, WIDTH);
    g->apart = g->forward ? 1 : g->window[FIRN_COLUMNS].stride;
    g->advance = g->forward ? g->window[FIRN_COLUMNS].stride : 1;
    g->samples = g->out->dims[0];
    g->per_block = firn_ceiling(g->samples, firn_ceiling(g->samples, HEIGHT));
    lay_out(g);
}

/* --- tiles ---------------------------------------------------------------------------------------------------------
 */

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
    size_t from;              /* the first element of the sample of row 0: in the block, or in the image if gathered */
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

/* --- tiles of flushed sums -----------------------------------------------------------------------------------------
 */

static firn_window_terms window_of(const gather *g, const target *t) {
    return (firn_window_terms){t->rows, t->columns, g->window[FIRN_ROWS].elements, g->window[FIRN_COLUMNS].elements,
                               panel_terms(g)};
}

/* The terms of the windows of some tiles, and what is the same in all of these. */
typedef struct gathering {
    const firn_term_run *runs;
    size_t run_count;
    const firn_term_copy *copies;
    size_t copy_count;
    firn_register_tile tile;
    _Alignas(64) float sums[HEIGHT * WIDTH];
} gathering;

static void begin_gathering(gathering *it, const piece *p, const target *t, size_t rows) {
    const gather *g = p->g;
    const firn_window_terms window = window_of(g, t);
    const ptrdiff_t channels = (ptrdiff_t)firn_image_channels(g->from);
    const ptrdiff_t line_step = t->rows.at_step * (ptrdiff_t)firn_image_width(g->from) * channels;
    firn_term_run *runs = (firn_term_run *)(void *)(p->slot + g->at.runs);
    firn_term_copy *copies = (firn_term_copy *)(void *)(p->slot + g->at.copies);
    it->runs = runs;
    it->run_count = firn_window_runs(&window, g->block, runs);
    it->copies = copies;
    it->copy_count = firn_window_copies(&window, line_step, t->columns.at_step * channels, copies);
    it->tile = (firn_register_tile){.left_row_step = left_step(g),
                                    .left_term_step = 1,
                                    .right_step = WIDTH,
                                    .rows = rows,
                                    .runs = 1,
                                    .sums_step = WIDTH};
    for (size_t row = 0; row < rows && it->run_count != 0; row++)
        firn_window_zeros(p->slot + g->at.left + row * left_step(g), &window, g->block, copies, it->copy_count);
}

/* Adds the bias and stores the sums. */
static __attribute__((noinline)) void store_sums(const piece *p, const target *t, size_t rows, float *sums) {
    const gather *g = p->g;
    const size_t columns = lanes_of_panel(g, t->panel);
    firn_channels_end(&(firn_channels_tile){.rows = rows, .columns = columns, .sums = sums}, bias_of(p, t));
    firn_vector_narrow_rows(g->out->data, g->out->type, t->index + first_lane(g, t), t->index_step, sums, WIDTH, rows,
                            columns);
}

/* Gathers the rows of a tile, and multiplies them by the panels of the group. In the mode of engine/flush.h, which
 * changes no factor and no sum that is stored as it is. */
static void compute_gathered(const piece *p, gathering *it, target *t, size_t left_row_step, unsigned mode) {
    const gather *g = p->g;
    const size_t rows = it->tile.rows, step = it->tile.left_row_step;
    const uint16_t *from = (const uint16_t *)g->from->data + t->from + first_term(g, t);
    float *left = p->slot + g->at.left;
    for (size_t row = 0; row < rows && it->run_count != 0; row++)
        firn_window_gather(left + row * step, it->copies, it->copy_count, from + row * left_row_step);
    it->tile.sums = it->sums;
    for (t->panel = 0; t->panel < g->panels; t->panel++) {
        const float *panel = panel_of(p, t);
        it->tile.columns = lanes_of_panel(g, t->panel);
        it->tile.begins = true;
        if (it->run_count == 0)
            memset(it->sums, 0, sizeof it->sums);
        for (size_t run = 0; run < it->run_count; run++, it->tile.begins = false) {
            it->tile.left = left + it->runs[run].first;
            it->tile.right = panel + it->runs[run].first * WIDTH;
            it->tile.terms = it->runs[run].count;
            firn_engine_tile_add(g->kind, &it->tile);
        }
        if (g->bias == NULL && (g->out->type == FIRN_BFLOAT16 || g->out->type == FIRN_FLOAT32)) {
            store_sums(p, t, rows, it->sums);
            continue;
        }
        firn_flush_end(mode);
        store_sums(p, t, rows, it->sums);
        (void)firn_flush_begin();
    }
}

/* Where the left factors of each element of the window lie: in the image, or zeros. */
static void place_terms(const piece *p, const target *t, size_t left_row_step, firn_channel_term *terms) {
    static const float zeros[WIDTH];
    const gather *g = p->g;
    const size_t columns = g->window[FIRN_COLUMNS].elements, channels = firn_image_channels(g->from);
    const ptrdiff_t line_step = t->rows.at_step * (ptrdiff_t)(firn_image_width(g->from) * channels);
    const float *line = p->samples + t->from + first_term(g, t);
    for (size_t i = 0; i < kernel_of(g); i++)
        terms[i] = (firn_channel_term){zeros, 0};
    for (size_t r = 0; r < t->rows.count; r++, line += line_step) {
        firn_channel_term *own = terms + (t->rows.first + r * t->rows.step) * columns + t->columns.first;
        const float *at = line;
        for (size_t s = 0; s < t->columns.count;
             s++, own += t->columns.step, at += t->columns.at_step * (ptrdiff_t)channels)
            *own = (firn_channel_term){at, left_row_step};
    }
}

/* Not inlined, as compute_all_gathered: its variables would take registers from the loop over float32 tiles. */
static __attribute__((noinline)) void compute_channels(const piece *p, const target *t, size_t rows,
                                                       size_t left_row_step) {
    const gather *g = p->g;
    const firn_window_terms window = window_of(g, t);
    firn_term_run *runs = (firn_term_run *)(void *)(p->slot + g->at.runs);
    firn_channel_term *terms = (firn_channel_term *)(void *)(p->slot + g->at.left);
    const size_t count = firn_window_runs(&window, g->block, runs);
    _Alignas(64) float sums[HEIGHT * WIDTH];
    firn_channels_tile tile = {.rows = rows, .columns = lanes_of_panel(g, t->panel), .begins = true, .sums = sums};
    if (count == 0)
        memset(sums, 0, sizeof sums);
    else
        place_terms(p, t, left_row_step, terms);
    for (size_t run = 0; run < count; run++) {
        tile.left = terms + runs[run].first;
        tile.right = panel_of(p, t) + runs[run].first * WIDTH;
        tile.count = runs[run].count;
        firn_channels_add(g->kind, &tile);
        tile.begins = false;
    }
    store_sums(p, t, rows, sums);
}

/* --- lines of the output -------------------------------------------------------------------------------------------
 */

/* Tiles that follow each other: steps from one to the next. */
typedef struct tiles {
    size_t count, rows, left_row_step;
    size_t from, at, index; /* in the other image, of the window's place there, in the output */
} tiles;

static inline void step_to_next(target *t, const tiles *all) {
    t->from += all->from;
    t->columns.at += all->at;
    t->index += all->index;
}

static __attribute__((noinline)) void compute_all_gathered(const piece *p, target t, const tiles *all) {
    gathering it;
    begin_gathering(&it, p, &t, all->rows);
    const unsigned mode = firn_flush_begin();
    for (size_t tile = 0; tile < all->count; tile++, step_to_next(&t, all))
        compute_gathered(p, &it, &t, all->left_row_step, mode);
    firn_flush_end(mode);
}

/* Computes a group of columns of a line, for all samples of a block. t is for its first column and sample. The rows of
 * a tile are columns or samples. */
static void compute_columns(const piece *p, target t, const columns *own, size_t samples) {
    const gather *g = p->g;
    const size_t channels = firn_image_channels(g->from), column = g->apart * firn_image_channels(g->out);
    const size_t from_sample = sample_elements(g->from), out_sample = sample_elements(g->out);
    tiles all = {samples, own->count, g->advance * channels, from_sample, 0, out_sample};
    t.index_step = column;
    if (own->count < samples) {
        all = (tiles){own->count, samples, from_sample, 0, g->advance, column};
        t.index_step = out_sample;
    }
    if (g->gathered) {
        compute_all_gathered(p, t, &all);
        return;
    }
    for (size_t tile = 0; tile < all.count; tile++, step_to_next(&t, &all)) {
        if (g->kind == FIRN_REDUCTION_F32)
            compute_tile(p, &t, all.rows, all.left_row_step);
        else
            compute_channels(p, &t, all.rows, all.left_row_step);
    }
}

static void compute_line(piece *p, size_t block, size_t line) {
    const gather *g = p->g;
    const size_t first = block * g->per_block, samples = firn_smaller(g->per_block, g->samples - first);
    target t = {.from = g->gathered ? first * sample_elements(g->from) : 0, .rows = steps_along(g, FIRN_ROWS, line)};
    if (!g->gathered)
        p->samples = samples_of(p, block);
    for (t.group = 0; t.group < (g->by_channel ? 1 : g->groups); t.group++)
        for (size_t panel = 0; panel < (g->gathered ? 1 : g->panels); panel++)
            for (size_t i = 0; i < p->column_groups; i++) {
                const columns *own = &p->columns[i];
                t.panel = panel;
                t.columns = own->window;
                t.index = firn_image_number(g->out, first, line, own->first) * firn_image_channels(g->out);
                compute_columns(p, t, own, samples);
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
        compute_line(&p, unit / lines, unit % lines);
}

/* --- the ops -------------------------------------------------------------------------------------------------------
 */

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
    const size_t threads = firn_parallel_threads(&call->parallel, cost_of(&g));
    const size_t units = firn_ceiling(g.samples, g.per_block) * firn_image_height(g.out);
    g.units = firn_ceiling(units, threads == 1 ? 1 : threads * PIECES);
    firn_pieces_run(call, g.at.end * sizeof(float), firn_ceiling(units, g.units), cost_of(&g), compute_piece, &g);
}

uint64_t firn_vector_conv_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_pointwise layer;
    gather g;
    if (firn_pointwise_of(&layer, op, call))
        return firn_vector_linear_scratch(layer.op, &layer.call);
    describe(&g, op, call);
    return g.at.end * sizeof(float);
}

void firn_vector_conv(const firn_kernel_call *call) {
    run(FIRN_OP_conv, call);
}

void firn_vector_conv_backward_input(const firn_kernel_call *call) {
    run(FIRN_OP_conv_backward_input, call);
}
