/* Computes QuantizeLinear and DequantizeLinear of elements which are all known: one scale and zero point for all
 * elements, for each place along an axis, or for each block of places (compiler/onnx/fold.h). */
#include <math.h>
#include <string.h>

#include "compiler/onnx/fold.h"

/* Which scale belongs to each element of x. */
typedef struct scales {
    const firnc_onnx_tensor *scale, *zero; /* zero: NULL, or with the extents of scale */
    uint64_t extent, inner, block; /* elements of the axis; of the axes behind it; of the axis that share a scale */
    bool single;                   /* one scale for all elements */
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
    to->inner = firnc_onnx_elements_from(x, axis + 1u);
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

bool firnc_onnx_quantised_range(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *type, float *low,
                                float *high) {
    const int64_t named = firnc_onnx_integer(node, "output_dtype", 0);
    const int64_t made = node->inputs[2] != NULL ? node->inputs[2]->type : named != 0 ? named : FIRNC_ONNX_UINT8;
    const float numbers = made == FIRNC_ONNX_UINT8 || made == FIRNC_ONNX_INT8 ? 256 : 65536;
    const bool sign = made == FIRNC_ONNX_INT8 || made == FIRNC_ONNX_INT16;
    *low = sign ? -numbers / 2 : 0;
    *high = *low + numbers - 1;
    *type = (uint8_t)made;
    return sign || made == FIRNC_ONNX_UINT8 || made == FIRNC_ONNX_UINT16 ||
           firnc_onnx_fail(im, "makes the type %s; uint8, int8, uint16 and int16 are known",
                           firnc_onnx_type_word(made));
}

const firnc_onnx_tensor *firnc_onnx_fold_quantize(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                  const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    uint8_t type;
    float low, high;
    scales s;
    if (!find_scales(im, node, in, &s) || !firnc_onnx_quantised_range(im, node, &type, &low, &high))
        return NULL;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        const uint64_t at = scale_of(&s, i);
        const float quotient = (float)firnc_onnx_number(x, i) / s.scale->reals[at];
        double number =
            firnc_onnx_nearest_even((double)quotient) + (s.zero == NULL ? 0 : firnc_onnx_number(s.zero, at));
        number = number < (double)low ? (double)low : number > (double)high ? (double)high : number;
        firnc_onnx_put(made, i, number);
    }
    return made;
}
