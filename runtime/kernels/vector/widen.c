/* firn_widen and firn_narrow of runtime/numerics/numerics.h in vector registers. In the sets of this folder they are
 * what runtime/numerics/widen.c is elsewhere, and give its bits. A loop is compiled for each type. */
#include "runtime/kernels/vector/convert.h"

static inline __attribute__((always_inline)) void widen_lanes(float *out, const void *data, uint8_t type, size_t from,
                                                              firn_lanes lanes) {
    firn_vector_store_some(out, lanes, firn_vector_canonical(firn_vector_widen(data, type, from, lanes)));
}

static inline __attribute__((always_inline)) void widen(float *out, const void *data, uint8_t type, size_t from,
                                                        size_t count) {
    size_t i = 0;
    for (; i + FIRN_VECTOR <= count; i += FIRN_VECTOR)
        widen_lanes(out + i, data, type, from + i, firn_first_lanes(FIRN_VECTOR));
    if (i < count)
        widen_lanes(out + i, data, type, from + i, firn_first_lanes(count - i));
}

void firn_widen(float *out, const void *data, uint8_t type, size_t from, size_t count) {
    switch (type) {
    case FIRN_FLOAT16:
        widen(out, data, FIRN_FLOAT16, from, count);
        break;
    case FIRN_BFLOAT16:
        widen(out, data, FIRN_BFLOAT16, from, count);
        break;
    case FIRN_CBFLOAT16:
        widen(out, data, FIRN_CBFLOAT16, from, count);
        break;
    default:
        widen(out, data, FIRN_FLOAT32, from, count);
        break;
    }
}

static inline __attribute__((always_inline)) void narrow_lanes(void *data, uint8_t type, size_t from, const float *in,
                                                               firn_lanes lanes) {
    firn_vector_narrow(data, type, from, lanes, firn_vector_canonical(firn_vector_load_some(lanes, in)));
}

static inline __attribute__((always_inline)) void narrow(void *data, uint8_t type, size_t from, const float *in,
                                                         size_t count) {
    size_t i = 0;
    for (; i + FIRN_VECTOR <= count; i += FIRN_VECTOR)
        narrow_lanes(data, type, from + i, in + i, firn_first_lanes(FIRN_VECTOR));
    if (i < count)
        narrow_lanes(data, type, from + i, in + i, firn_first_lanes(count - i));
}

void firn_narrow(void *data, uint8_t type, size_t from, const float *in, size_t count) {
    switch (type) {
    case FIRN_FLOAT16:
        narrow(data, FIRN_FLOAT16, from, in, count);
        break;
    case FIRN_BFLOAT16:
        narrow(data, FIRN_BFLOAT16, from, in, count);
        break;
    case FIRN_CBFLOAT16:
        narrow(data, FIRN_CBFLOAT16, from, in, count);
        break;
    default:
        narrow(data, FIRN_FLOAT32, from, in, count);
        break;
    }
}
