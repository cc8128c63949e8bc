/* Resize, DepthToSpace and SpaceToDepth. Resize makes one axis after the other. A new element is an old one (nearest)
 * or the sum of the old ones near it, each times its share (linear, cubic). Which elements these are does not depend on
 * the data: each op on an axis picks elements by a constant list of indices. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* --- Resize: which old elements make a new one -------------------------------------------------------------------- */

/* How Resize makes one axis. */
typedef struct scaling {
    const char *transformation; /* coordinate_transformation_mode: how source_of maps a new element to the old ones */
    const char *nearest;        /* nearest_mode: how nearest_of rounds */
    double scale;               /* new elements for an old one */
    int64_t from, to;           /* old and new number of elements */
} scaling;

/* The position of new element `at` among the old ones, of which element i is at i. It may be outside of them. For
 * align_corners ONNX takes the exact new extent, scale * from, of which `to` is the whole part. */
static double source_of(const scaling *s, int64_t at) {
    const double x = (double)at, from = (double)s->from, to = (double)s->to;
    const double exact = fabs(s->scale * from - to) < 1e-6 * to ? to : s->scale * from;
    if (strcmp(s->transformation, "align_corners") == 0)
        return exact == 1 ? 0 : x * (from - 1) / (exact - 1);
    if (strcmp(s->transformation, "asymmetric") == 0)
        return x / s->scale;
    if (strcmp(s->transformation, "pytorch_half_pixel") == 0)
        return s->to == 1 ? 0 : (x + 0.5) / s->scale - 0.5;
    if (strcmp(s->transformation, "half_pixel_symmetric") == 0) {
        const double adjustment = to / (s->scale * from), centre = from / 2;
        return centre * (1 - adjustment) + (x + 0.5) / s->scale - 0.5;
    }
    return (x + 0.5) / s->scale - 0.5;
}

/* The whole part of x as an index; the first or last element for x outside of the axis. */
static int64_t within(double x, int64_t extent) {
    return x < 0 ? 0 : x > (double)(extent - 1) ? extent - 1 : (int64_t)x;
}

static int64_t nearest_of(const scaling *s, double x) {
    if (strcmp(s->nearest, "floor") == 0)
        x = floor(x);
    else if (strcmp(s->nearest, "ceil") == 0)
        x = ceil(x);
    else if (strcmp(s->nearest, "round_prefer_ceil") == 0)
        x = floor(x + 0.5);
    else
        x = ceil(x - 0.5);
    return within(x, s->from);
}

enum { TAPS_MAX = 64 };

/* The filter of a resized axis: the share of an old element by its distance from the position of the new one. */
typedef struct filter {
    bool cubic;
    bool exclude;    /* exclude_outside: elements outside of the axis have no share; else the one at the edge has it */
    double cubic_a;  /* cubic_coeff_a */
    double narrowed; /* factor of the distances; below 1 (antialias) the filter reaches over more elements */
} filter;

static double share_of(const filter *f, double distance) {
    const double a = f->cubic_a, x = fabs(distance * f->narrowed);
    if (!f->cubic)
        return x < 1 ? 1 - x : 0;
    return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* --- Resize: an axis ---------------------------------------------------------------------------------------------- */

static firnc_value nearest_axis(firnc_onnx_importer *im, firnc_value y, uint8_t axis, const scaling *s) {
    int64_t *list = firnc_allocate((uint64_t)s->to * sizeof *list);
    for (int64_t i = 0; i < s->to; i++)
        list[i] = nearest_of(s, source_of(s, i));
    return firnc_onnx_pick(im, y, axis, list, s->to);
}

/* One term of the sum that makes each new element: list[i] is the old element, shares->reals[i] its share. */
typedef struct term {
    int64_t *list;
    firnc_onnx_tensor *shares; /* has extents of 1 behind the axis; NULL after one message */
} term;

static term new_term(firnc_onnx_importer *im, firnc_value y, uint8_t axis, const scaling *s) {
    const uint8_t rank = im->failed ? 1 : (uint8_t)(firnc_onnx_shape(im, y)->rank - axis);
    int64_t dims[FIRN_RANK_MAX] = {s->to};
    for (uint8_t i = 1; i < rank; i++)
        dims[i] = 1;
    return (term){firnc_allocate((uint64_t)s->to * sizeof(int64_t)),
                  firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, rank, dims)};
}

/* The constant comes first in the graph, and then what is picked: their order is in the bytes of a plan. */
static firnc_value term_value(firnc_onnx_importer *im, firnc_value y, uint8_t axis, const term *t, int64_t count) {
    const firnc_value shares = firnc_onnx_constant(im, t->shares, FIRN_FLOAT32);
    return firnc_onnx_binary(im, FIRN_OP_multiply, firnc_onnx_pick(im, y, axis, t->list, count), shares);
}

/* Makes each new element of the two old ones beside its position, by their distances from it. */
static firnc_value linear_axis(firnc_onnx_importer *im, firnc_value y, uint8_t axis, const scaling *s) {
    const term low = new_term(im, y, axis, s), high = new_term(im, y, axis, s);
    if (low.shares == NULL || high.shares == NULL)
        return FIRNC_NONE;
    for (int64_t i = 0; i < s->to; i++) {
        double x = source_of(s, i);
        x = x < 0 ? 0 : x > (double)(s->from - 1) ? (double)(s->from - 1) : x;
        low.list[i] = within(floor(x), s->from);
        high.list[i] = within(floor(x) + 1, s->from);
        low.shares->reals[i] = (float)(1 - (x - floor(x)));
        high.shares->reals[i] = (float)(x - floor(x));
    }
    const firnc_value below = term_value(im, y, axis, &low, s->to), above = term_value(im, y, axis, &high, s->to);
    return firnc_onnx_binary(im, FIRN_OP_add, below, above);
}

/* Makes each new element of the `taps` old ones that the filter reaches: base + first, base + first + 1, ... where base
 * is the last old element that is strictly left of the new one's position. */
static firnc_value filtered_axis(firnc_onnx_importer *im, firnc_value y, uint8_t axis, const scaling *s,
                                 const filter *f) {
    const int64_t first = (int64_t)floor(-(f->cubic ? 2 : 1) / f->narrowed) + 1, taps = 2 - 2 * first;
    term terms[TAPS_MAX];
    if (taps > TAPS_MAX) {
        firnc_onnx_fail(im, "makes each element of more than %d others; shrink in several steps", TAPS_MAX);
        return FIRNC_NONE;
    }
    for (int64_t t = 0; t < taps; t++) {
        terms[t] = new_term(im, y, axis, s);
        if (terms[t].shares == NULL)
            return FIRNC_NONE;
    }
    for (int64_t i = 0; i < s->to; i++) {
        const double x = source_of(s, i), base = ceil(x) - 1;
        double share[TAPS_MAX], sum = 0;
        for (int64_t t = 0; t < taps; t++) {
            const double at = base + (double)(first + t);
            const bool outside = at < 0 || at > (double)(s->from - 1);
            share[t] = f->exclude && outside ? 0 : share_of(f, at - x);
            sum += share[t];
            terms[t].list[i] = within(at, s->from);
        }
        for (int64_t t = 0; t < taps; t++)
            terms[t].shares->reals[i] = (float)(share[t] / sum);
    }
    firnc_value total = FIRNC_NONE;
    for (int64_t t = 0; t < taps && !im->failed; t++) {
        const firnc_value value = term_value(im, y, axis, &terms[t], s->to);
        total = t == 0 ? value : firnc_onnx_binary(im, FIRN_OP_add, total, value);
    }
    return total;
}

/* --- Resize: the node --------------------------------------------------------------------------------------------- */

/* The axes that a node resizes. list: their numbers in the node's attribute; NULL: all axes in order. */
typedef struct resized_axes {
    const int64_t *list;
    uint32_t count;
} resized_axes;

static uint8_t axis_at(firnc_onnx_importer *im, const firnc_onnx_node *node, const resized_axes *axes, uint32_t i) {
    return firnc_onnx_axis(im, axes->list != NULL ? axes->list[i] : i, node->inputs[0]->rank);
}

static bool check_extent(firnc_onnx_importer *im, const scaling *s) {
    return (s->to >= 1 && s->to <= FIRNC_ONNX_LIST_MAX) ||
           firnc_onnx_fail(im, "makes an axis of %lld elements; write a scale or a size that gives 1 to %d",
                           (long long)s->to, (int)FIRNC_ONNX_LIST_MAX);
}

/* Gives all resized axes the smallest or the largest of their scales, if keep_aspect_ratio_policy asks for it. */
static bool keep_ratio(firnc_onnx_importer *im, const firnc_onnx_node *node, const resized_axes *axes,
                       scaling *scalings) {
    const char *policy = firnc_onnx_text(node, "keep_aspect_ratio_policy", "stretch");
    const bool smaller = strcmp(policy, "not_larger") == 0;
    double scale = 0;
    if (strcmp(policy, "stretch") == 0)
        return true;
    for (uint32_t i = 0; i < axes->count; i++) {
        const double own = scalings[axis_at(im, node, axes, i)].scale;
        scale = i == 0 || (smaller ? own < scale : own > scale) ? own : scale;
    }
    for (uint32_t i = 0; i < axes->count; i++) {
        scaling *s = &scalings[axis_at(im, node, axes, i)];
        s->scale = scale;
        s->to = (int64_t)floor(scale * (double)s->from + 0.5);
        if (!check_extent(im, s))
            return false;
    }
    return true;
}

/* Finds the scaling of each axis of input 0, from the scales (input 2) or the sizes (input 3). */
static bool read_scalings(firnc_onnx_importer *im, const firnc_onnx_node *node, scaling *scalings) {
    const firnc_onnx_value *x = node->inputs[0], *sizes = node->inputs[3];
    const firnc_onnx_value *given = sizes != NULL ? sizes : node->inputs[2];
    resized_axes axes = {.list = NULL};
    axes.count = firnc_onnx_integers(node, "axes", &axes.list);
    if (axes.count == 0)
        axes = (resized_axes){NULL, x->rank};
    if (given == NULL || given->known == NULL || given->known->count != axes.count)
        return firnc_onnx_fail(im, "its scales or sizes are no constants, one for each axis; make them such");
    for (uint8_t i = 0; i < x->rank; i++)
        scalings[i] = (scaling){.transformation = firnc_onnx_text(node, "coordinate_transformation_mode", "half_pixel"),
                                .nearest = firnc_onnx_text(node, "nearest_mode", "round_prefer_floor"),
                                .scale = 1,
                                .from = x->dims[i],
                                .to = x->dims[i]};
    for (uint32_t i = 0; i < axes.count; i++) {
        scaling *s = &scalings[axis_at(im, node, &axes, i)];
        const double number = firnc_onnx_number(given->known, i);
        if (!(number > 0 && number < 1e6))
            return firnc_onnx_fail(im, "has a scale or size of %g; write one above 0 and below 1e6", number);
        s->scale = sizes != NULL ? number / (double)s->from : number;
        s->to = sizes != NULL ? firnc_onnx_truncated(number) : (int64_t)floor(number * (double)s->from);
        if (!check_extent(im, s))
            return false;
    }
    return !im->failed && (sizes == NULL || keep_ratio(im, node, &axes, scalings));
}

/* Whether Firn knows the words of a Resize node. */
static bool check_words(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const char *mode = firnc_onnx_text(node, "mode", "nearest");
    const char *policy = firnc_onnx_text(node, "keep_aspect_ratio_policy", "stretch");
    const char *transformation = firnc_onnx_text(node, "coordinate_transformation_mode", "half_pixel");
    const char *nearest = firnc_onnx_text(node, "nearest_mode", "round_prefer_floor");
    if (!firnc_onnx_is_listed("nearest linear cubic", mode))
        return firnc_onnx_fail(im, "has mode %s; nearest, linear and cubic are known", mode);
    if (!firnc_onnx_is_listed("stretch not_larger not_smaller", policy))
        return firnc_onnx_fail(im, "has keep_aspect_ratio_policy %s; stretch, not_larger and not_smaller are known",
                               policy);
    if (!firnc_onnx_is_listed("half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric",
                              transformation))
        return firnc_onnx_fail(im, "has coordinate_transformation_mode %s; the nearest known one is half_pixel",
                               transformation);
    if (!firnc_onnx_is_listed("round_prefer_floor round_prefer_ceil floor ceil", nearest))
        return firnc_onnx_fail(
            im, "has nearest_mode %s; round_prefer_floor, round_prefer_ceil, floor and ceil are known", nearest);
    return true;
}

bool firnc_onnx_import_resize(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    scaling scalings[FIRN_RANK_MAX] = {0};
    if (!check_words(im, node) || !read_scalings(im, node, scalings))
        return false;
    const char *mode = firnc_onnx_text(node, "mode", "nearest");
    const bool nearest = strcmp(mode, "nearest") == 0, antialias = firnc_onnx_integer(node, "antialias", 0) != 0;
    filter f = {.cubic = strcmp(mode, "cubic") == 0,
                .exclude = firnc_onnx_integer(node, "exclude_outside", 0) != 0,
                .cubic_a = (double)firnc_onnx_float(node, "cubic_coeff_a", -0.75F)};
    firnc_value y = firnc_onnx_raw(im, x);
    for (uint8_t i = 0; i < x->rank; i++) {
        const scaling *s = &scalings[i];
        const uint8_t axis = firnc_onnx_place(x->order, x->rank, i); /* in y */
        if (s->scale == 1 && s->to == s->from)
            continue;
        f.narrowed = antialias && s->scale < 1 ? s->scale : 1;
        if (nearest)
            y = nearest_axis(im, y, axis, s);
        else if (!f.cubic && f.narrowed == 1 && !f.exclude)
            y = linear_axis(im, y, axis, s);
        else
            y = filtered_axis(im, y, axis, s, &f);
    }
    return firnc_onnx_set_like(im, node->outputs[0], y, x);
}

/* --- DepthToSpace, SpaceToDepth ----------------------------------------------------------------------------------- */

/* The channels of an image [N,C,H,W] are split into blocks of b rows and b columns, or blocks become channels. In mode
 * DCR the channel is the last part of a channel's number, (row, column, channel); in mode CRD the first. */
bool firnc_onnx_import_depth(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const int64_t b = firnc_onnx_integer(node, "blocksize", 0);
    const bool to_space = strcmp(node->op, "DepthToSpace") == 0;
    const char *mode = firnc_onnx_text(node, "mode", "DCR");
    const bool channel_first = strcmp(mode, "CRD") == 0;
    if (!firnc_onnx_is_listed("DCR CRD", mode))
        return firnc_onnx_fail(im, "has mode %s; DCR and CRD are known", mode);
    if (x->rank != 4 || b < 1 || b > UINT16_MAX ||
        (to_space ? x->dims[1] % (b * b) != 0 : x->dims[2] % b != 0 || x->dims[3] % b != 0))
        return firnc_onnx_fail(im, "takes images whose channels, or rows and columns, are a multiple of its blocksize");
    const int64_t n = x->dims[0], c = x->dims[1], h = x->dims[2], w = x->dims[3];
    firnc_value y = firnc_onnx_plain(im, x);
    if (to_space) {
        const int64_t depth = c / (b * b);
        y = channel_first ? firnc_onnx_reshape(im, y, 6, (int64_t[]){n, depth, b, b, h, w})
                          : firnc_onnx_reshape(im, y, 6, (int64_t[]){n, b, b, depth, h, w});
        y = firnc_onnx_transpose(
            im, y, channel_first ? (const uint8_t[]){0, 1, 4, 2, 5, 3} : (const uint8_t[]){0, 3, 4, 1, 5, 2});
        y = firnc_onnx_reshape(im, y, 4, (int64_t[]){n, depth, h * b, w * b});
    } else {
        y = firnc_onnx_reshape(im, y, 6, (int64_t[]){n, c, h / b, b, w / b, b});
        y = firnc_onnx_transpose(im, y, (const uint8_t[]){0, 3, 5, 1, 2, 4});
        y = firnc_onnx_reshape(im, y, 4, (int64_t[]){n, c * b * b, h / b, w / b});
    }
    firnc_onnx_set(im, node->outputs[0], y, x->type, 4);
    return !im->failed;
}
