/* Resize, and blocks of an image as channels. Each axis of Resize is taken by itself: elements by a list of indices,
 * and for linear and cubic the sum of several such lists by their shares. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* --- Resize ------------------------------------------------------------------------------------------------------- */

/* How Resize places the elements of one axis. */
typedef struct scaling {
    const char *transformation, *nearest;
    double scale; /* new elements for an old one */
    int64_t from, to;
} scaling;

/* The place of a new element among the old ones. ONNX takes the extent before it is rounded down for align_corners. */
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

static firnc_value nearest_axis(firnc_onnx_importer *im, firnc_value y, uint8_t axis, const scaling *s) {
    int64_t *list = firnc_allocate((uint64_t)s->to * sizeof *list);
    for (int64_t i = 0; i < s->to; i++)
        list[i] = nearest_of(s, source_of(s, i));
    return firnc_onnx_pick(im, y, axis, list, s->to);
}

/* Between two neighbours by their distances. */
static firnc_value linear_axis(firnc_onnx_importer *im, firnc_value y, uint8_t axis, const scaling *s) {
    int64_t *low = firnc_allocate((uint64_t)s->to * sizeof *low),
            *high = firnc_allocate((uint64_t)s->to * sizeof *high);
    int64_t dims[FIRN_RANK_MAX];
    const uint8_t behind = im->failed ? 1 : (uint8_t)(firnc_onnx_shape(im, y)->rank - axis);
    for (uint8_t i = 0; i < behind; i++)
        dims[i] = i == 0 ? s->to : 1;
    firnc_onnx_tensor *share = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, behind, dims),
                      *rest = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, behind, dims);
    if (share == NULL || rest == NULL)
        return FIRNC_NONE;
    for (int64_t i = 0; i < s->to; i++) {
        double x = source_of(s, i);
        x = x < 0 ? 0 : x > (double)(s->from - 1) ? (double)(s->from - 1) : x;
        low[i] = within(floor(x), s->from);
        high[i] = within(floor(x) + 1, s->from);
        share->reals[i] = (float)(x - floor(x));
        rest->reals[i] = (float)(1 - (x - floor(x)));
    }
    const firnc_value a = firnc_onnx_binary(im, FIRN_OP_multiply, firnc_onnx_pick(im, y, axis, low, s->to),
                                            firnc_onnx_constant(im, rest, FIRN_FLOAT32));
    const firnc_value b = firnc_onnx_binary(im, FIRN_OP_multiply, firnc_onnx_pick(im, y, axis, high, s->to),
                                            firnc_onnx_constant(im, share, FIRN_FLOAT32));
    return firnc_onnx_binary(im, FIRN_OP_add, a, b);
}

enum { TAPS_MAX = 64 };

/* The filter of a resized axis: the share of an old element at a distance from the place of a new one. */
typedef struct filter {
    bool cubic, exclude;   /* exclude: places outside have the share 0, and not the element at the edge */
    double cubic_a, scale; /* scale: of distances; below 1 (antialias) the filter reaches over more elements */
} filter;

static double share_of(const filter *f, double distance) {
    const double a = f->cubic_a, x = fabs(distance * f->scale);
    if (!f->cubic)
        return x < 1 ? 1 - x : 0;
    return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Makes each new element the sum of the `taps` old elements that the filter reaches, from base + first on, times their
 * shares. base is the last old element that is strictly left of the new one's place. */
static firnc_value filtered_axis(firnc_onnx_importer *im, firnc_value y, uint8_t axis, const scaling *s,
                                 const filter *f) {
    const int64_t first = (int64_t)floor(-(f->cubic ? 2 : 1) / f->scale) + 1, taps = 2 - 2 * first;
    const uint8_t behind = im->failed ? 1 : (uint8_t)(firnc_onnx_shape(im, y)->rank - axis);
    int64_t dims[FIRN_RANK_MAX], *places[TAPS_MAX];
    firnc_onnx_tensor *shares[TAPS_MAX];
    if (taps > TAPS_MAX) {
        firnc_onnx_fail(im, "makes each element of more than %d", TAPS_MAX);
        return FIRNC_NONE;
    }
    for (uint8_t i = 0; i < behind; i++)
        dims[i] = i == 0 ? s->to : 1;
    for (int64_t t = 0; t < taps; t++) {
        places[t] = firnc_allocate((uint64_t)s->to * sizeof *places[t]);
        shares[t] = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, behind, dims);
        if (shares[t] == NULL)
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
            places[t][i] = within(at, s->from);
        }
        for (int64_t t = 0; t < taps; t++)
            shares[t]->reals[i] = (float)(share[t] / sum);
    }
    firnc_value total = FIRNC_NONE;
    for (int64_t t = 0; t < taps && !im->failed; t++) {
        const firnc_value term = firnc_onnx_binary(im, FIRN_OP_multiply, firnc_onnx_pick(im, y, axis, places[t], s->to),
                                                   firnc_onnx_constant(im, shares[t], FIRN_FLOAT32));
        total = t == 0 ? term : firnc_onnx_binary(im, FIRN_OP_add, total, term);
    }
    return total;
}

/* Makes one scale of those of all axes, the smallest or the largest, where the node asks for it. */
static bool keep_ratio(firnc_onnx_importer *im, const firnc_onnx_node *node, scaling *axes, const int64_t *list,
                       uint32_t count) {
    const char *policy = firnc_onnx_text(node, "keep_aspect_ratio_policy", "stretch");
    const bool smaller = strcmp(policy, "not_larger") == 0;
    const uint8_t rank = node->inputs[0]->rank;
    double scale = 0;
    if (strcmp(policy, "stretch") == 0)
        return true;
    for (uint32_t i = 0; i < count; i++) {
        const double own = axes[firnc_onnx_axis(im, list != NULL ? list[i] : i, rank)].scale;
        scale = i == 0 || (smaller ? own < scale : own > scale) ? own : scale;
    }
    for (uint32_t i = 0; i < count; i++) {
        scaling *s = &axes[firnc_onnx_axis(im, list != NULL ? list[i] : i, rank)];
        s->scale = scale;
        s->to = (int64_t)floor(scale * (double)s->from + 0.5);
        if (s->to < 1 || s->to > FIRNC_ONNX_LIST_MAX)
            return firnc_onnx_fail(im, "makes an axis of %lld elements", (long long)s->to);
    }
    return true;
}

/* The new extents and the scales of all axes. */
static bool resized(firnc_onnx_importer *im, const firnc_onnx_node *node, scaling *axes) {
    const firnc_onnx_value *x = node->inputs[0];
    const firnc_onnx_value *scales = node->inputs[2];
    const firnc_onnx_value *sizes = node->inputs[3];
    const int64_t *list;
    const uint32_t named = firnc_onnx_integers(node, "axes", &list), count = named > 0 ? named : x->rank;
    const firnc_onnx_value *from = sizes != NULL ? sizes : scales;
    if (from == NULL || from->known == NULL || from->known->count != count)
        return firnc_onnx_fail(im, "its scales or sizes are no constants, one for each axis");
    for (uint8_t i = 0; i < x->rank; i++)
        axes[i] = (scaling){firnc_onnx_text(node, "coordinate_transformation_mode", "half_pixel"),
                            firnc_onnx_text(node, "nearest_mode", "round_prefer_floor"), 1, x->dims[i], x->dims[i]};
    for (uint32_t i = 0; i < count; i++) {
        scaling *s = &axes[firnc_onnx_axis(im, named > 0 ? list[i] : i, x->rank)];
        const double number = firnc_onnx_number(from->known, i);
        if (!(number > 0 && number < 1e6))
            return firnc_onnx_fail(im, "has a scale or size of %g", number);
        s->scale = sizes != NULL ? number / (double)s->from : number;
        s->to = sizes != NULL ? firnc_onnx_truncated(number) : (int64_t)floor(number * (double)s->from);
        if (s->to < 1 || s->to > FIRNC_ONNX_LIST_MAX)
            return firnc_onnx_fail(im, "makes an axis of %lld elements", (long long)s->to);
    }
    return !im->failed && (sizes == NULL || keep_ratio(im, node, axes, named > 0 ? list : NULL, count));
}

bool firnc_onnx_import_resize(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    static const char *const transformations[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                                  "align_corners", "asymmetric"};
    firnc_onnx_value *x = node->inputs[0];
    scaling axes[FIRN_RANK_MAX];
    const char *mode = firnc_onnx_text(node, "mode", "nearest");
    const char *policy = firnc_onnx_text(node, "keep_aspect_ratio_policy", "stretch");
    const bool linear = strcmp(mode, "linear") == 0, smooth = firnc_onnx_integer(node, "antialias", 0) != 0;
    const filter shape = {.cubic = strcmp(mode, "cubic") == 0,
                          .exclude = firnc_onnx_integer(node, "exclude_outside", 0) != 0,
                          .cubic_a = (double)firnc_onnx_float(node, "cubic_coeff_a", -0.75F)};
    bool known = false;
    if (!firnc_onnx_is_listed("nearest linear cubic", mode))
        return firnc_onnx_fail(im, "has mode %s; nearest, linear and cubic are known", mode);
    if (!firnc_onnx_is_listed("stretch not_larger not_smaller", policy))
        return firnc_onnx_fail(im, "has keep_aspect_ratio_policy %s; stretch, not_larger and not_smaller are known",
                               policy);
    const char *transformation = firnc_onnx_text(node, "coordinate_transformation_mode", "half_pixel");
    for (size_t i = 0; i < sizeof transformations / sizeof transformations[0]; i++)
        known = known || strcmp(transformation, transformations[i]) == 0;
    if (!known)
        return firnc_onnx_fail(im, "has coordinate_transformation_mode %s; the nearest known one is half_pixel",
                               transformation);
    const char *nearest = firnc_onnx_text(node, "nearest_mode", "round_prefer_floor");
    if (!firnc_onnx_is_listed("round_prefer_floor round_prefer_ceil floor ceil", nearest))
        return firnc_onnx_fail(
            im, "has nearest_mode %s; round_prefer_floor, round_prefer_ceil, floor and ceil are known", nearest);
    if (!resized(im, node, axes))
        return false;
    firnc_value y = firnc_onnx_raw(im, x);
    for (uint8_t i = 0; i < x->rank; i++)
        if (axes[i].scale != 1 || axes[i].to != axes[i].from) {
            const uint8_t place = firnc_onnx_place(x->order, x->rank, i);
            filter own = shape;
            own.scale = smooth && axes[i].scale < 1 ? axes[i].scale : 1;
            y = linear && own.scale == 1 && !own.exclude ? linear_axis(im, y, place, &axes[i])
                : linear || own.cubic                    ? filtered_axis(im, y, place, &axes[i], &own)
                                                         : nearest_axis(im, y, place, &axes[i]);
        }
    return firnc_onnx_set_like(im, node->outputs[0], y, x);
}

/* --- DepthToSpace, SpaceToDepth ----------------------------------------------------------------------------------- */
bool firnc_onnx_import_depth(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const int64_t b = firnc_onnx_integer(node, "blocksize", 0);
    const bool to_space = node->op[0] == 'D';
    const char *mode = firnc_onnx_text(node, "mode", "DCR");
    const bool columns_first = strcmp(mode, "CRD") == 0;
    if (!firnc_onnx_is_listed("DCR CRD", mode))
        return firnc_onnx_fail(im, "has mode %s; DCR and CRD are known", mode);
    if (x->rank != 4 || b < 1 || b > UINT16_MAX ||
        (to_space ? x->dims[1] % (b * b) != 0 : x->dims[2] % b != 0 || x->dims[3] % b != 0))
        return firnc_onnx_fail(im, "takes images whose channels, or rows and columns, are a multiple of its blocksize");
    const int64_t n = x->dims[0], c = x->dims[1], h = x->dims[2], w = x->dims[3];
    firnc_value y = firnc_onnx_plain(im, x);
    if (to_space) {
        const int64_t depth = c / (b * b);
        y = columns_first ? firnc_onnx_reshape(im, y, 6, (int64_t[]){n, depth, b, b, h, w})
                          : firnc_onnx_reshape(im, y, 6, (int64_t[]){n, b, b, depth, h, w});
        y = firnc_onnx_transpose(
            im, y, columns_first ? (const uint8_t[]){0, 1, 4, 2, 5, 3} : (const uint8_t[]){0, 3, 4, 1, 5, 2});
        y = firnc_onnx_reshape(im, y, 4, (int64_t[]){n, depth, h * b, w * b});
    } else {
        y = firnc_onnx_reshape(im, y, 6, (int64_t[]){n, c, h / b, b, w / b, b});
        y = firnc_onnx_transpose(im, y, (const uint8_t[]){0, 3, 5, 1, 2, 4});
        y = firnc_onnx_reshape(im, y, 4, (int64_t[]){n, c * b * b, h / b, w / b});
    }
    firnc_onnx_set(im, node->outputs[0], y, x->type, 4);
    return !im->failed;
}
