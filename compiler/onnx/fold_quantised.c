/* Computes QuantizeLinear and DequantizeLinear of elements which are all known: one scale and zero point for all
 * elements, for each place along an axis, or for each block of places (compiler/onnx/fold.h). */
#include <math.h>
#include <string.h>

#include "compiler/onnx/fold.h"

/* Which element of the scales belongs to each element: walks over x. */
typedef struct scales {
    const firnc_onnx_tensor *scale, *zero; /* zero: NULL, or with the extents of scale */
    uint64_t extent, inner, block;         /* of the axis, behind it, and its places for a scale */
    bool single;
} scales;

static bool find_scales(firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_tensor *const *in,
                        scales *to) {
    const firnc_onnx_tensor *x = in[0], *scale = in[1], *zero = in[2];
    const int64_t block = firnc_onnx_integer(node, "block_size", 0);
    *to = (scales){.scale = scale, .zero = zero, .extent = 1, .inner = 1, .block = 1, .single = scale->count == 1};
    if (scale->reals == NULL || (zero != NULL && zero->count != scale->count))
        return firnc_onnx_fail(im, "has a scale that is no real number, or a zero point of other extents");
    if (to->single)
        return true;
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 1), x->rank);
    if (im->failed)
        return false;
    to->extent = (uint64_t)x->dims[axis];
    for (uint8_t i = (uint8_t)(axis + 1); i < x->rank; i++)
        to->inner *= (uint64_t)x->dims[i];
    if (block == 0)
        return (scale->rank == 1 && scale->dims[0] == x->dims[axis]) ||
               firnc_onnx_fail(im, "has %llu scales for an axis of %lld elements", (unsigned long long)scale->count,
                               (long long)x->dims[axis]);
    bool fits = block > 0 && scale->rank == x->rank;
    for (uint8_t i = 0; fits && i < x->rank; i++)
        fits = scale->dims[i] == (i == axis ? (x->dims[i] + block - 1) / block : x->dims[i]);
    to->block = (uint64_t)block;
    return fits || firnc_onnx_fail(im, "has scales that are not one for each block of %lld elements", (long long)block);
}

static uint64_t scale_of(const scales *s, uint64_t element) {
    if (s->single)
        return 0;
    const uint64_t place = element / s->inner % s->extent;
    if (s->scale->rank == 1)
        return place;
    const uint64_t blocks = (s->extent + s->block - 1) / s->block;
    return (element / s->inner / s->extent * blocks + place / s->block) * s->inner + element % s->inner;
}

const firnc_onnx_tensor *firnc_onnx_fold_dequantize(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                    const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    const int64_t named = firnc_onnx_integer(node, "output_dtype", 0), type = named != 0 ? named : in[1]->type;
    scales s;
    if (!find_scales(im, node, in, &s) || !firnc_onnx_check_cast(im, type))
        return NULL;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, (uint8_t)type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        const uint64_t at = scale_of(&s, i);
        const double zero = s.zero == NULL ? 0 : firnc_onnx_number(s.zero, at);
        firnc_onnx_put(made, i, (firnc_onnx_number(x, i) - zero) * firnc_onnx_number(s.scale, at));
    }
    return made;
}

/* The least and the largest number of a type that QuantizeLinear makes. */
static bool range_of(firnc_onnx_importer *im, int64_t type, double *low, double *high) {
    const double bits = type == FIRNC_ONNX_UINT8 || type == FIRNC_ONNX_INT8 ? 256 : 65536;
    const bool sign = type == FIRNC_ONNX_INT8 || type == FIRNC_ONNX_INT16;
    *low = sign ? -bits / 2 : 0;
    *high = *low + bits - 1;
    return sign || type == FIRNC_ONNX_UINT8 || type == FIRNC_ONNX_UINT16 ||
           firnc_onnx_fail(im, "makes the type %s; uint8, int8, uint16 and int16 are known",
                           firnc_onnx_type_word(type));
}

const firnc_onnx_tensor *firnc_onnx_fold_quantize(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                  const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    const int64_t named = firnc_onnx_integer(node, "output_dtype", 0);
    const int64_t type = in[2] != NULL ? in[2]->type : named != 0 ? named : FIRNC_ONNX_UINT8;
    double low, high;
    scales s;
    if (!find_scales(im, node, in, &s) || !range_of(im, type, &low, &high))
        return NULL;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, (uint8_t)type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        const uint64_t at = scale_of(&s, i);
        const float quotient = (float)firnc_onnx_number(x, i) / s.scale->reals[at];
        double number =
            firnc_onnx_nearest_even((double)quotient) + (s.zero == NULL ? 0 : firnc_onnx_number(s.zero, at));
        number = number < low ? low : number > high ? high : number;
        firnc_onnx_put(made, i, number);
    }
    return made;
}
