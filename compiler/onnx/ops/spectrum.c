/* DFT and STFT, as products with constant matrices of cosines and sines. The last axis of a signal has its real part,
 * or real and imaginary part. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* A transform of `terms` elements, cut or with zeros behind to `length` of them, into `made`. */
typedef struct transform {
    int64_t terms, length, made;
    bool complex_in, complex_out, inverse;
} transform;

/* The matrix [terms * parts, made * parts]. A signal that is real after the inverse has half of its spectrum given: the
 * other half is conjugate, so that terms which have a partner count twice. */
static const firnc_onnx_tensor *matrix_of(firnc_onnx_importer *im, const transform *t) {
    const int64_t in = t->complex_in ? 2 : 1, out = t->complex_out ? 2 : 1;
    const int64_t dims[] = {t->terms * in, t->made * out};
    const bool halved = t->inverse && !t->complex_out;
    firnc_onnx_tensor *matrix = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 2, dims);
    for (int64_t j = 0; matrix != NULL && j < t->terms; j++)
        for (int64_t k = 0; k < t->made; k++) {
            const bool absent = j >= (halved ? t->length / 2 + 1 : t->length);
            const double twice = halved && j != 0 && 2 * j != t->length ? 2 : 1;
            const double factor = absent ? 0 : t->inverse ? twice / (double)t->length : 1;
            const double turns = (double)(j % t->length * (k % t->length) % t->length) / (double)t->length;
            const double real = factor * cos(2 * acos(-1.0) * turns);
            const double imaginary = factor * (t->inverse ? 1 : -1) * sin(2 * acos(-1.0) * turns);
            float *at = matrix->reals + j * in * dims[1] + k * out;
            at[0] = (float)real;
            if (t->complex_out)
                at[1] = (float)imaginary;
            if (t->complex_in)
                at[dims[1]] = (float)-imaginary;
            if (t->complex_in && t->complex_out)
                at[dims[1] + 1] = (float)real;
        }
    return matrix;
}

/* Transforms the last but one axis of [...,terms,parts]. */
static firnc_value transformed(firnc_onnx_importer *im, firnc_value x, const transform *t) {
    const firnc_onnx_tensor *matrix = matrix_of(im, t);
    int64_t dims[FIRN_RANK_MAX], rows = 1;
    if (im->failed)
        return FIRNC_NONE;
    const firn_shape shape = *firnc_onnx_shape(im, x);
    for (uint8_t i = 0; i + 2 < shape.rank; i++) {
        dims[i] = shape.dims[i];
        rows *= dims[i];
    }
    dims[shape.rank - 2] = t->made;
    dims[shape.rank - 1] = t->complex_out ? 2 : 1;
    x = firnc_onnx_reshape(im, x, 2, (int64_t[]){rows, matrix->dims[0]});
    x = firnc_onnx_matmul(im, x, firnc_onnx_constant(im, matrix, FIRN_FLOAT32), false, false);
    return firnc_onnx_reshape(im, x, shape.rank, dims);
}

/* A whole number that an input gives, `otherwise` if it is left out. */
static bool read_whole(firnc_onnx_importer *im, const firnc_onnx_value *from, const char *what, int64_t otherwise,
                       int64_t *to) {
    double number = (double)otherwise;
    if (from != NULL && !firnc_onnx_single(from, &number))
        return firnc_onnx_fail(im, "its %s depends on the data; make it a constant", what);
    *to = firnc_onnx_truncated(number);
    return true;
}

static bool check_parts(firnc_onnx_importer *im, const firnc_onnx_value *x) {
    return (x->rank >= 3 && x->dims[x->rank - 1] <= 2) ||
           firnc_onnx_fail(im, "takes signals whose last axis has the real part, or the real and the imaginary part");
}

bool firnc_onnx_import_dft(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const bool one_sided = firnc_onnx_integer(node, "onesided", 0) != 0;
    transform t = {.inverse = firnc_onnx_integer(node, "inverse", 0) != 0};
    uint8_t order[FIRN_RANK_MAX], count = 0;
    int64_t axis = firnc_onnx_integer(node, "axis", 1);
    if (!check_parts(im, x) || (im->opset >= 20 && !read_whole(im, node->inputs[2], "axis", -2, &axis)))
        return false;
    const uint8_t last = (uint8_t)(x->rank - 1), along = firnc_onnx_axis(im, axis, x->rank);
    if (im->failed || along == last)
        return firnc_onnx_fail(im, "transforms the axis of real and imaginary parts");
    t.terms = x->dims[along];
    t.complex_in = x->dims[last] == 2;
    t.complex_out = !(one_sided && t.inverse);
    if (!read_whole(im, node->inputs[1], "dft_length", t.complex_out ? t.terms : 2 * (t.terms - 1), &t.length))
        return false;
    if (t.length < 1 || t.length > INT32_MAX)
        return firnc_onnx_fail(im, "has a length of %lld", (long long)t.length);
    t.made = one_sided && !t.inverse ? t.length / 2 + 1 : t.length;
    for (uint8_t i = 0; i < last; i++)
        if (i != along)
            order[count++] = i;
    order[count] = along;
    order[count + 1] = last;
    const firnc_value y = firnc_onnx_real(im, firnc_onnx_ordered(im, x, x->rank, order));
    firnc_onnx_set_ordered(im, node->outputs[0], transformed(im, y, &t), x->type, x->rank, order);
    return !im->failed;
}

/* The transforms of frames of a signal [N,L,parts], each frame multiplied by the window. */
bool firnc_onnx_import_stft(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *window = node->inputs[2];
    int64_t step = 0, length = 0;
    if (!check_parts(im, x) || !read_whole(im, node->inputs[1], "frame_step", 0, &step) ||
        !read_whole(im, node->inputs[3], "frame_length", window != NULL && window->rank == 1 ? window->dims[0] : 0,
                    &length))
        return false;
    if (x->rank != 3 || step < 1 || length < 1 || length > x->dims[1] ||
        (window != NULL && (window->rank != 1 || window->dims[0] != length)))
        return firnc_onnx_fail(im, "takes signals [N,L,parts], and a window of the length of its frames");
    const int64_t frames = (x->dims[1] - length) / step + 1, parts = x->dims[2];
    if (frames * length > FIRNC_ONNX_LIST_MAX)
        return firnc_onnx_fail(im, "has frames of more than %lld elements; use shorter ones",
                               (long long)FIRNC_ONNX_LIST_MAX);
    int64_t *list = firnc_allocate((uint64_t)(frames * length) * sizeof *list);
    for (int64_t i = 0; i < frames * length; i++)
        list[i] = i / length * step + i % length;
    firnc_value y = firnc_onnx_pick(im, firnc_onnx_plain_real(im, x), 1, list, frames * length);
    y = firnc_onnx_reshape(im, y, 4, (int64_t[]){x->dims[0], frames, length, parts});
    if (window != NULL)
        y = firnc_onnx_binary(im, FIRN_OP_multiply, y,
                              firnc_onnx_reshape(im, firnc_onnx_plain_real(im, window), 2, (int64_t[]){length, 1}));
    const bool one_sided = firnc_onnx_integer(node, "onesided", 1) != 0;
    const transform t = {.terms = length,
                         .length = length,
                         .made = one_sided ? length / 2 + 1 : length,
                         .complex_in = parts == 2,
                         .complex_out = true};
    firnc_onnx_set(im, node->outputs[0], transformed(im, y, &t), x->type, 4);
    return !im->failed;
}
