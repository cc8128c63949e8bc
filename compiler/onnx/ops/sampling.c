/* GridSample: elements of an image or a volume at places that the data gives. The places of each element and their
 * shares are computed by ops of the graph, so that both operands have gradients: of the rounding that finds a place
 * there is none, as in PyTorch. Images are taken channels last, and the places are one index over all images. */
#include <string.h>

#include "compiler/onnx/import.h"

enum { SIDES_MAX = 3, TAPS_MAX = 4 };

typedef enum padding { ZEROS, BORDER, REFLECTION } padding;

/* The neighbours along one side: of each the index, limited to the image, and its share. */
typedef struct side {
    int64_t extent;
    firnc_value index[TAPS_MAX], share[TAPS_MAX];
} side;

typedef struct sampler {
    uint8_t sides, taps;
    padding padding;
    bool aligned;
    side side[SIDES_MAX]; /* in the order of the image: depth, rows, columns */
} sampler;

static firnc_value floor_of(firnc_onnx_importer *im, firnc_value x) {
    return firnc_onnx_unary(im, FIRN_OP_floor, x);
}

/* Reflects x at low and high as often as it takes: with d = |x - low| it is low + d mod s, or high - d mod s where the
 * number of whole s = high - low in d is odd. */
static firnc_value reflected(firnc_onnx_importer *im, firnc_value x, float low, float high) {
    const float span = high - low;
    if (span == 0)
        return firnc_onnx_affine(im, x, 0, low);
    const firnc_value d = firnc_onnx_unary(im, FIRN_OP_abs, firnc_onnx_affine(im, x, 1, -low));
    const firnc_value turns = floor_of(im, firnc_onnx_affine(im, d, 1 / span, 0));
    const firnc_value rest = firnc_onnx_binary(im, FIRN_OP_subtract, d, firnc_onnx_affine(im, turns, span, 0));
    const firnc_value halves = floor_of(im, firnc_onnx_affine(im, turns, 0.5F, 0));
    const firnc_value odd = firnc_onnx_binary(im, FIRN_OP_subtract, turns, firnc_onnx_affine(im, halves, 2, 0));
    const firnc_value onward = firnc_onnx_affine(im, rest, 1, low);
    return firnc_onnx_select(im, odd, firnc_onnx_affine(im, rest, -1, high), onward);
}

/* What the padding makes of a place along a side. */
static firnc_value padded(firnc_onnx_importer *im, const sampler *s, firnc_value x, int64_t extent) {
    const float last = (float)(extent - 1);
    if (s->padding == ZEROS)
        return x;
    if (s->padding == REFLECTION)
        x = s->aligned ? reflected(im, x, 0, last) : reflected(im, x, -0.5F, last + 0.5F);
    return firnc_onnx_clip(im, x, 0, last);
}

/* Sets the index of a neighbour that is a whole number, and its share; beyond the image it counts nothing. */
static void set_neighbour(firnc_onnx_importer *im, const sampler *s, side *to, uint8_t tap, firnc_value at,
                          firnc_value share) {
    const float last = (float)(to->extent - 1);
    if (s->padding == ZEROS) {
        const firnc_value before_end = firnc_onnx_binary(im, FIRN_OP_less_or_equal, at, firnc_onnx_scalar(im, last));
        const firnc_value inside =
            firnc_onnx_binary(im, FIRN_OP_multiply,
                              firnc_onnx_binary(im, FIRN_OP_less_or_equal, firnc_onnx_scalar(im, 0), at), before_end);
        share = share == FIRNC_NONE ? inside : firnc_onnx_binary(im, FIRN_OP_multiply, share, inside);
    } else if (s->taps == 4) {
        at = padded(im, s, at, to->extent);
    }
    to->index[tap] = firnc_onnx_clip(im, at, 0, last);
    to->share[tap] = share;
}

/* a x^3 - 5 a x^2 + 8 a x - 4 a for an outer neighbour at the distance x, and (a + 2) x^3 - (a + 3) x^2 + 1 for an
 * inner one; a is -0.75, as in PyTorch. */
static firnc_value cubic_share(firnc_onnx_importer *im, firnc_value x, bool outer) {
    const float a = -0.75F;
    const firnc_value one = outer ? firnc_onnx_affine(im, x, a, -5 * a) : firnc_onnx_affine(im, x, a + 2, -(a + 3));
    const firnc_value two = firnc_onnx_binary(im, FIRN_OP_multiply, one, x);
    const firnc_value three =
        firnc_onnx_binary(im, FIRN_OP_multiply, outer ? firnc_onnx_affine(im, two, 1, 8 * a) : two, x);
    return firnc_onnx_affine(im, three, 1, outer ? -4 * a : 1);
}

/* The neighbours of a place along a side; x is from -1 to 1 over the image. */
static void find_neighbours(firnc_onnx_importer *im, const sampler *s, side *to, firnc_value x) {
    const float extent = (float)to->extent;
    /* the constant makes it float32, as a half type does not have every index */
    const firnc_value factor = firnc_onnx_scalar(im, s->aligned ? (extent - 1) / 2 : extent / 2);
    x = firnc_onnx_affine(im, firnc_onnx_binary(im, FIRN_OP_multiply, x, factor), 1, (extent - 1) / 2);
    if (s->taps != 4)
        x = padded(im, s, x, to->extent);
    if (s->taps == 1) {
        set_neighbour(im, s, to, 0, firnc_onnx_unary(im, FIRN_OP_round, x), FIRNC_NONE);
        return;
    }
    const firnc_value low = floor_of(im, x), after = firnc_onnx_binary(im, FIRN_OP_subtract, x, low);
    const firnc_value before = firnc_onnx_affine(im, after, -1, 1);
    if (s->taps == 2) {
        set_neighbour(im, s, to, 0, low, before);
        set_neighbour(im, s, to, 1, firnc_onnx_affine(im, low, 1, 1), after);
        return;
    }
    for (uint8_t tap = 0; tap < 4; tap++) {
        const firnc_value distance = tap == 0   ? firnc_onnx_affine(im, after, 1, 1)
                                     : tap == 1 ? after
                                     : tap == 2 ? before
                                                : firnc_onnx_affine(im, before, 1, 1);
        const firnc_value share = cubic_share(im, distance, tap == 0 || tap == 3);
        set_neighbour(im, s, to, tap, firnc_onnx_affine(im, low, 1, (float)tap - 1), share);
    }
}

/* The elements of the neighbour whose taps along the sides are the digits of `number`, times its share; [places,C].
 * first: of each place the index of its image's first element. */
static firnc_value neighbour(firnc_onnx_importer *im, const sampler *s, firnc_value rows, firnc_value first,
                             uint32_t number) {
    firnc_value index = FIRNC_NONE, share = FIRNC_NONE;
    for (uint8_t i = 0; i < s->sides; i++, number /= s->taps) {
        const uint8_t tap = (uint8_t)(number % s->taps);
        const side *from = &s->side[i];
        if (i > 0)
            index = firnc_onnx_affine(im, index, (float)from->extent, 0);
        index = i == 0 ? from->index[tap] : firnc_onnx_binary(im, FIRN_OP_add, index, from->index[tap]);
        if (from->share[tap] != FIRNC_NONE)
            share = share == FIRNC_NONE ? from->share[tap]
                                        : firnc_onnx_binary(im, FIRN_OP_multiply, share, from->share[tap]);
    }
    index = firnc_onnx_binary(im, FIRN_OP_add, index, first);
    if (im->failed)
        return FIRNC_NONE;
    const int64_t places = firnc_onnx_shape(im, index)->dims[0];
    index = firnc_onnx_whole(im, firnc_onnx_reshape(im, index, 1, &places));
    const firnc_value picked = firnc_onnx_gather(im, rows, index, 0);
    return share == FIRNC_NONE ? picked : firnc_onnx_binary(im, FIRN_OP_multiply, picked, share);
}

/* Reads the attributes. */
static bool read_sampler(firnc_onnx_importer *im, const firnc_onnx_node *node, sampler *s) {
    const firnc_onnx_value *x = node->inputs[0], *grid = node->inputs[1];
    const char *mode = firnc_onnx_text(node, "mode", "linear"),
               *padding = firnc_onnx_text(node, "padding_mode", "zeros");
    const bool cubic = firnc_onnx_is_listed("cubic bicubic", mode);
    *s = (sampler){.sides = (uint8_t)(x->rank - 2), .aligned = firnc_onnx_integer(node, "align_corners", 0) != 0};
    s->taps = cubic ? 4 : strcmp(mode, "nearest") == 0 ? 1 : 2;
    s->padding = padding[0] == 'z' ? ZEROS : padding[0] == 'b' ? BORDER : REFLECTION;
    if (!firnc_onnx_is_listed("linear bilinear nearest cubic bicubic", mode) ||
        !firnc_onnx_is_listed("zeros border reflection", padding))
        return firnc_onnx_fail(im,
                               "has mode %s and padding_mode %s; linear, nearest and cubic, and zeros, border and "
                               "reflection are known",
                               mode, padding);
    if (x->rank < 3 || s->sides > SIDES_MAX || grid->rank != x->rank || grid->dims[0] != x->dims[0] ||
        grid->dims[grid->rank - 1] != s->sides)
        return firnc_onnx_fail(im, "takes images [N,C,...] and places of as many numbers for each image");
    if (firnc_onnx_count(x) / (uint64_t)x->dims[1] > FIRNC_ONNX_EXACT_MAX)
        return firnc_onnx_fail(im,
                               "takes images of %llu elements in all, and at most %d are possible; use smaller ones",
                               (unsigned long long)(firnc_onnx_count(x) / (uint64_t)x->dims[1]), FIRNC_ONNX_EXACT_MAX);
    return true;
}

bool firnc_onnx_import_grid_sample(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *grid = node->inputs[1];
    uint8_t order[FIRN_RANK_MAX];
    int64_t dims[FIRN_RANK_MAX], elements = 1, places = 1;
    sampler s;
    if (!read_sampler(im, node, &s))
        return false;
    firnc_onnx_channels_last(x->rank, order);
    for (uint8_t i = 0; i < s.sides; i++) {
        s.side[i].extent = x->dims[2 + i];
        elements *= x->dims[2 + i];
        places *= grid->dims[1 + i];
    }
    const int64_t all = places * x->dims[0];
    firnc_value rows = firnc_onnx_real(im, firnc_onnx_ordered(im, x, x->rank, order));
    rows = firnc_onnx_reshape(im, rows, 2, (int64_t[]){x->dims[0] * elements, x->dims[1]});
    /* places that are known and get no gradient are no weights */
    firnc_value wanted = s.taps == 1 && grid->known != NULL ? firnc_onnx_constant(im, grid->known, FIRN_FLOAT32)
                                                            : firnc_onnx_plain_real(im, grid);
    wanted = firnc_onnx_reshape(im, wanted, 2, (int64_t[]){all, s.sides});
    for (uint8_t i = 0; i < s.sides; i++) /* the grid has the last side first */
        find_neighbours(im, &s, &s.side[i], firnc_onnx_slice(im, wanted, 1, s.sides - 1 - i, 1, 1));
    firnc_onnx_tensor *first = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 2, (int64_t[]){all, 1});
    for (int64_t i = 0; first != NULL && i < all; i++) {
        const int64_t image = i / places;
        first->reals[i] = (float)(image * elements);
    }
    const firnc_value begins = firnc_onnx_constant(im, first, FIRN_FLOAT32);
    uint32_t neighbours = 1;
    for (uint8_t i = 0; i < s.sides; i++)
        neighbours *= s.taps;
    firnc_value sum = FIRNC_NONE;
    for (uint32_t n = 0; n < neighbours && !im->failed; n++) {
        const firnc_value term = neighbour(im, &s, rows, begins, n);
        sum = n == 0 ? term : firnc_onnx_binary(im, FIRN_OP_add, sum, term);
    }
    for (uint8_t i = 0; i < x->rank; i++)
        dims[i] = i == 0 ? x->dims[0] : i + 1 == x->rank ? x->dims[1] : grid->dims[i];
    firnc_onnx_set_ordered(im, node->outputs[0], firnc_onnx_reshape(im, sum, x->rank, dims), x->type, x->rank, order);
    return !im->failed;
}
