/* firn_widen and firn_narrow of runtime/numerics/numerics.h in vector registers. In the sets of this folder this file
 * replaces runtime/numerics/widen.c; it gives the same bits. A loop is compiled for each type. */
#include "runtime/kernels/vector/convert.h"

static inline __attribute__((always_inline)) void widen_lanes(float *out, const void *data, uint8_t type, size_t from,
                                                              firn_lanes lanes) {
    firn_vector_store_some(out, lanes, firn_vector_canonical(firn_vector_widen(data, type, from, lanes)));
}

typedef struct widening {
    float *out;
    const void *data;
    size_t from, count;
} widening;

static inline __attribute__((always_inline)) void widen(uint8_t type, const void *arguments) {
    const widening w = *(const widening *)arguments; /* a copy, because the stores could change *arguments */
    size_t i = 0;
    for (; i + FIRN_VECTOR <= w.count; i += FIRN_VECTOR)
        widen_lanes(w.out + i, w.data, type, w.from + i, firn_first_lanes(FIRN_VECTOR));
    if (i < w.count)
        widen_lanes(w.out + i, w.data, type, w.from + i, firn_first_lanes(w.count - i));
}

void firn_widen(float *out, const void *data, uint8_t type, size_t from, size_t count) {
    widening w = {.data = data, .from = from, .count = count};
    w.out = out; /* assigned here because clang-tidy would ask for const in an initialiser */
    firn_for_type(type, widen, &w);
}

static inline __attribute__((always_inline)) void narrow_lanes(void *data, uint8_t type, size_t from, const float *in,
                                                               firn_lanes lanes) {
    firn_vector_narrow(data, type, from, lanes, firn_vector_canonical(firn_vector_load_some(lanes, in)));
}

typedef struct narrowing {
    void *data;
    size_t from;
    const float *in;
    size_t count;
} narrowing;

static inline __attribute__((always_inline)) void narrow(uint8_t type, const void *arguments) {
    const narrowing n = *(const narrowing *)arguments; /* a copy, because the stores could change *arguments */
    size_t i = 0;
    for (; i + FIRN_VECTOR <= n.count; i += FIRN_VECTOR)
        narrow_lanes(n.data, type, n.from + i, n.in + i, firn_first_lanes(FIRN_VECTOR));
    if (i < n.count)
        narrow_lanes(n.data, type, n.from + i, n.in + i, firn_first_lanes(n.count - i));
}

void firn_narrow(void *data, uint8_t type, size_t from, const float *in, size_t count) {
    const narrowing n = {data, from, in, count};
    firn_for_type(type, narrow, &n);
}
