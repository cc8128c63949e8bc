/* Tensors whose elements are known: those of the file and those that are computed from them. Every
 * size of the file is checked here before anything is allocated for it. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"
#include "runtime/numerics/numerics.h"

/* --- types -------------------------------------------------------------------------------------------------------- */

/* The types that Firn reads, and the bytes of an element. */
static const struct {
    const char *word;
    uint8_t bytes;
} types[] = {
    [FIRNC_ONNX_FLOAT] = {"float", 4},      [FIRNC_ONNX_UINT8] = {"uint8", 1},   [FIRNC_ONNX_INT8] = {"int8", 1},
    [FIRNC_ONNX_UINT16] = {"uint16", 2},    [FIRNC_ONNX_INT16] = {"int16", 2},   [FIRNC_ONNX_INT32] = {"int32", 4},
    [FIRNC_ONNX_INT64] = {"int64", 8},      [FIRNC_ONNX_BOOL] = {"bool", 1},     [FIRNC_ONNX_FLOAT16] = {"float16", 2},
    [FIRNC_ONNX_DOUBLE] = {"double", 8},    [FIRNC_ONNX_UINT32] = {"uint32", 4}, [FIRNC_ONNX_UINT64] = {"uint64", 8},
    [FIRNC_ONNX_BFLOAT16] = {"bfloat16", 2}};

enum { TYPES = sizeof types / sizeof types[0] };

bool firnc_onnx_is_type(int64_t type) {
    return type >= 0 && type < TYPES && types[type].bytes != 0;
}

uint8_t firnc_onnx_type_bytes(int64_t type) {
    return firnc_onnx_is_type(type) ? types[type].bytes : 0;
}

const char *firnc_onnx_type_word(int64_t type) {
    return firnc_onnx_is_type(type) ? types[type].word : firnc_format("number %lld", (long long)type);
}

bool firnc_onnx_is_real(uint8_t type) {
    return type == FIRNC_ONNX_FLOAT || type == FIRNC_ONNX_FLOAT16 || type == FIRNC_ONNX_DOUBLE ||
           type == FIRNC_ONNX_BFLOAT16;
}

/* The largest extent, also of tensors without elements: a sum of two cannot overflow. */
#define EXTENT_MAX ((int64_t)1 << 40)

/* Elements of a tensor of the file, which has bytes for each of them. */
#define FILE_ELEMENTS_MAX ((uint64_t)1 << 34)

/* --- tensors ------------------------------------------------------------------------------------------------------ */

/* The number of elements; false if there are too many, be it that no extent were 0: products of some of the extents
 * are within the limit, too. */
static bool count_elements(uint8_t rank, const int64_t *dims, uint64_t limit, uint64_t *count) {
    bool empty = false;
    *count = 1;
    for (uint8_t i = 0; i < rank; i++) {
        if (dims[i] < 0 || dims[i] > EXTENT_MAX || (uint64_t)dims[i] > limit / *count)
            return false;
        empty = empty || dims[i] == 0;
        *count *= dims[i] == 0 ? 1 : (uint64_t)dims[i];
    }
    *count = empty ? 0 : *count;
    return true;
}

bool firnc_onnx_join_extents(uint8_t *rank, int64_t *dims, uint8_t other_rank, const int64_t *other) {
    const uint8_t joint = *rank > other_rank ? *rank : other_rank;
    for (uint8_t i = joint; i-- > 0;) {
        const int64_t own = i < joint - *rank ? 1 : dims[i - (joint - *rank)];
        const int64_t extent = i < joint - other_rank ? 1 : other[i - (joint - other_rank)];
        if (own != extent && own != 1 && extent != 1)
            return false;
        dims[i] = own == 1 ? extent : own;
    }
    *rank = joint;
    return true;
}

static firnc_onnx_tensor *make(uint8_t type, uint8_t rank, const int64_t *dims, uint64_t count) {
    firnc_onnx_tensor *tensor = firnc_allocate(sizeof *tensor);
    *tensor = (firnc_onnx_tensor){.type = type, .rank = rank, .count = count};
    if (rank > 0)
        memcpy(tensor->dims, dims, rank * sizeof *dims);
    if (firnc_onnx_is_real(type))
        tensor->reals = firnc_allocate(count * sizeof *tensor->reals + 1);
    else
        tensor->wholes = firnc_allocate(count * sizeof *tensor->wholes + 1);
    return tensor;
}

bool firnc_onnx_take_room(firnc_onnx_importer *im, uint64_t elements) {
    if (elements > FIRNC_ONNX_ELEMENTS_MAX || im->elements > FIRNC_ONNX_ELEMENTS_MAX - elements)
        return firnc_onnx_fail(im, "makes constants of more than %llu elements in all; use smaller ones",
                               (unsigned long long)FIRNC_ONNX_ELEMENTS_MAX);
    im->elements += elements;
    return true;
}

firnc_onnx_tensor *firnc_onnx_tensor_new(firnc_onnx_importer *im, uint8_t type, uint8_t rank, const int64_t *dims) {
    uint64_t count;
    if (!count_elements(rank, dims, FIRNC_ONNX_ELEMENTS_MAX, &count)) {
        firnc_onnx_fail(im, "makes a tensor of a negative extent or of more than %llu elements; use a smaller one",
                        (unsigned long long)FIRNC_ONNX_ELEMENTS_MAX);
        return NULL;
    }
    return firnc_onnx_take_room(im, count) ? make(type, rank, dims, count) : NULL;
}

firnc_onnx_tensor *firnc_onnx_tensor_scalar(firnc_onnx_importer *im, uint8_t type, double value) {
    firnc_onnx_tensor *tensor = firnc_onnx_tensor_new(im, type, 0, (int64_t[]){0});
    if (tensor != NULL)
        firnc_onnx_put(tensor, 0, value);
    return tensor;
}

double firnc_onnx_number(const firnc_onnx_tensor *tensor, uint64_t element) {
    return firnc_onnx_is_real(tensor->type) ? (double)tensor->reals[element] : (double)tensor->wholes[element];
}

/* A real number as a whole one, towards zero; what no whole number is becomes the nearest one, and NaN 0. */
int64_t firnc_onnx_truncated(double number) {
    if (!(number > -9.2e18))
        return isnan(number) ? 0 : INT64_MIN;
    return number < 9.2e18 ? (int64_t)number : INT64_MAX;
}

void firnc_onnx_put(firnc_onnx_tensor *tensor, uint64_t element, double number) {
    if (firnc_onnx_is_real(tensor->type))
        tensor->reals[element] = (float)number;
    else
        tensor->wholes[element] = firnc_onnx_truncated(number);
}

/* --- walks -------------------------------------------------------------------------------------------------------- */

void firnc_onnx_walk_begin(firnc_onnx_walk *w, const firnc_onnx_tensor *from, const firnc_onnx_tensor *to) {
    int64_t step = 1;
    memset(w, 0, sizeof *w);
    for (uint8_t i = 0; i < from->rank; i++) {
        const uint8_t axis = (uint8_t)(from->rank - 1 - i);
        w->steps[to->rank - 1 - i] = from->dims[axis] == 1 ? 0 : step;
        step *= from->dims[axis];
    }
}

void firnc_onnx_walk_on(firnc_onnx_walk *w, const firnc_onnx_tensor *to) {
    for (uint8_t axis = to->rank; axis-- > 0;) {
        w->position = (uint64_t)((int64_t)w->position + w->steps[axis]);
        if (++w->at[axis] < to->dims[axis])
            return;
        w->position = (uint64_t)((int64_t)w->position - w->steps[axis] * to->dims[axis]);
        w->at[axis] = 0;
    }
}

firnc_onnx_tensor *firnc_onnx_broadcast(firnc_onnx_importer *im, uint8_t type, const firnc_onnx_tensor *const *from,
                                        uint32_t count) {
    int64_t dims[FIRN_RANK_MAX] = {0};
    uint8_t rank = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!firnc_onnx_join_extents(&rank, dims, from[i]->rank, from[i]->dims)) {
            firnc_onnx_fail(im, "has operands whose extents do not fit together");
            return NULL;
        }
    return firnc_onnx_tensor_new(im, type, rank, dims);
}

const firnc_onnx_tensor *firnc_onnx_tensor_ordered(const firnc_onnx_tensor *tensor, const uint8_t *order) {
    firnc_onnx_walk straight, from = {{0}, {0}, 0};
    int64_t dims[FIRN_RANK_MAX];
    firnc_onnx_walk_begin(&straight, tensor, tensor);
    for (uint8_t i = 0; i < tensor->rank; i++) {
        dims[i] = tensor->dims[order[i]];
        from.steps[i] = straight.steps[order[i]];
    }
    /* no more than the file has, or was made before */
    firnc_onnx_tensor *made = make(tensor->type, tensor->rank, dims, tensor->count);
    for (uint64_t i = 0; i < made->count; i++) {
        firnc_onnx_copy_element(made, i, tensor, from.position);
        firnc_onnx_walk_on(&from, made);
    }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_tensor_shaped(const firnc_onnx_tensor *x, uint8_t rank, const int64_t *dims) {
    firnc_onnx_tensor *made = firnc_allocate(sizeof *made);
    *made = *x;
    made->rank = rank;
    memcpy(made->dims, dims, rank * sizeof *dims);
    return made;
}

uint64_t firnc_onnx_elements_from(const firnc_onnx_tensor *tensor, uint32_t axis) {
    uint64_t elements = 1;
    for (uint32_t i = axis; i < tensor->rank; i++)
        elements *= (uint64_t)tensor->dims[i];
    return elements;
}

bool firnc_onnx_is_vector(const firnc_onnx_tensor *tensor) {
    uint32_t wide = 0;
    for (uint8_t i = 0; i < tensor->rank; i++)
        wide += tensor->dims[i] != 1;
    return wide < 2;
}

/* --- tensors of the file ------------------------------------------------------------------------------------------ */

/* An element that is stored as bytes in little-endian order. */
static void put_bytes(firnc_onnx_tensor *to, uint64_t element, const uint8_t *bytes, uint8_t count) {
    uint64_t bits = 0;
    for (uint8_t i = 0; i < count; i++)
        bits |= (uint64_t)bytes[i] << (8 * i);
    const uint32_t low = (uint32_t)bits;
    float single;
    double number;
    switch (to->type) {
    case FIRNC_ONNX_FLOAT:
        memcpy(&single, &low, sizeof single);
        to->reals[element] = single;
        return;
    case FIRNC_ONNX_DOUBLE:
        memcpy(&number, &bits, sizeof number);
        to->reals[element] = (float)number;
        return;
    case FIRNC_ONNX_FLOAT16:
        to->reals[element] = firn_float16_to_float((uint16_t)low);
        return;
    case FIRNC_ONNX_BFLOAT16:
        to->reals[element] = firn_bfloat16_to_float((uint16_t)low);
        return;
    case FIRNC_ONNX_INT8:
        to->wholes[element] = (int64_t)(low & 127) - (int64_t)(low & 128);
        return;
    case FIRNC_ONNX_INT16:
        to->wholes[element] = (int64_t)(low & 32767) - (int64_t)(low & 32768);
        return;
    case FIRNC_ONNX_INT32:
        to->wholes[element] = (int64_t)low - ((low >> 31) != 0 ? INT64_C(4294967296) : 0);
        return;
    case FIRNC_ONNX_BOOL:
        to->wholes[element] = low != 0;
        return;
    default:
        to->wholes[element] = bits > INT64_MAX ? -(int64_t)(~bits) - 1 : (int64_t)bits;
        return;
    }
}

/* The elements that are stored in a field of their own, each a number. False if there are too few. */
static bool put_fields(firnc_onnx_tensor *to, const FirncOnnx__Tensor *from) {
    const bool bits = to->type == FIRNC_ONNX_FLOAT16 || to->type == FIRNC_ONNX_BFLOAT16;
    uint64_t count = to->type == FIRNC_ONNX_FLOAT                                     ? from->n_float_data
                     : to->type == FIRNC_ONNX_DOUBLE                                  ? from->n_double_data
                     : to->type == FIRNC_ONNX_INT64                                   ? from->n_int64_data
                     : to->type == FIRNC_ONNX_UINT32 || to->type == FIRNC_ONNX_UINT64 ? from->n_uint64_data
                                                                                      : from->n_int32_data;
    if (count != to->count)
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (to->type == FIRNC_ONNX_FLOAT) {
            to->reals[i] = from->float_data[i];
        } else if (to->type == FIRNC_ONNX_DOUBLE) {
            to->reals[i] = (float)from->double_data[i];
        } else if (to->type == FIRNC_ONNX_INT64) {
            to->wholes[i] = from->int64_data[i];
        } else if (to->type == FIRNC_ONNX_UINT32 || to->type == FIRNC_ONNX_UINT64) {
            to->wholes[i] = (int64_t)(from->uint64_data[i] & INT64_MAX);
        } else if (bits) {
            const uint16_t half = (uint16_t)((uint32_t)from->int32_data[i] & 0xFFFF);
            to->reals[i] = to->type == FIRNC_ONNX_FLOAT16 ? firn_float16_to_float(half) : firn_bfloat16_to_float(half);
        } else {
            to->wholes[i] = to->type == FIRNC_ONNX_BOOL ? from->int32_data[i] != 0 : from->int32_data[i];
        }
    return true;
}

const firnc_onnx_tensor *firnc_onnx_tensor_read_sparse(firnc_onnx_importer *im, const FirncOnnx__SparseTensor *from,
                                                       const char *name) {
    if (from->values == NULL || from->indices == NULL || from->n_dims > FIRN_RANK_MAX) {
        firnc_onnx_fail(im, "sparse tensor %s lacks its values or its indices", name);
        return NULL;
    }
    const firnc_onnx_tensor *values = firnc_onnx_tensor_read(im, from->values, name);
    const firnc_onnx_tensor *indices = values == NULL ? NULL : firnc_onnx_tensor_read(im, from->indices, name);
    const uint8_t rank = (uint8_t)from->n_dims;
    firnc_onnx_tensor *made = indices == NULL ? NULL : firnc_onnx_tensor_new(im, values->type, rank, from->dims);
    if (made == NULL)
        return NULL;
    const uint64_t each = indices->rank == 2 ? rank : 1; /* one number counts all elements */
    if (indices->wholes == NULL || indices->count != values->count * each) {
        firnc_onnx_fail(im, "sparse tensor %s has other indices than it has values", name);
        return NULL;
    }
    for (uint64_t i = 0; i < values->count; i++) {
        uint64_t at = 0;
        for (uint64_t j = 0; j < each; j++) {
            const uint64_t extent = each == 1 && rank != 1 ? made->count : (uint64_t)made->dims[j];
            const uint64_t index = (uint64_t)indices->wholes[i * each + j];
            if (index >= extent) {
                firnc_onnx_fail(im, "sparse tensor %s has the index %lld of %llu", name,
                                (long long)indices->wholes[i * each + j], (unsigned long long)extent);
                return NULL;
            }
            at = at * extent + index;
        }
        firnc_onnx_copy_element(made, at, values, i);
    }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_tensor_read(firnc_onnx_importer *im, const FirncOnnx__Tensor *from,
                                                const char *name) {
    if (!firnc_onnx_is_type(from->data_type)) {
        firnc_onnx_fail(im, "tensor %s is of the type %s, which Firn does not have; convert it to float or int64", name,
                        firnc_onnx_type_word(from->data_type));
        return NULL;
    }
    const uint8_t width = types[from->data_type].bytes;
    uint64_t count;
    if (from->n_dims > FIRN_RANK_MAX || !count_elements((uint8_t)from->n_dims, from->dims, FILE_ELEMENTS_MAX, &count)) {
        firnc_onnx_fail(im,
                        "tensor %s has more than %d dimensions, a negative extent or too many elements; store it by "
                        "smaller tensors",
                        name, FIRN_RANK_MAX);
        return NULL;
    }
    const bool external = from->has_data_location && from->data_location == 1;
    firnc_onnx_bytes bytes = {from->raw_data.data, from->raw_data.len};
    if (external && !firnc_onnx_read_external(im, from, name, count * width, &bytes))
        return NULL;
    const bool raw = external || from->has_raw_data;
    /* checked before the elements get room */
    const unsigned long long wanted = count * width;
    if (raw && bytes.count != wanted) {
        firnc_onnx_fail(im, "tensor %s has %llu bytes, and its elements take %llu", name,
                        (unsigned long long)bytes.count, wanted);
        return NULL;
    }
    if (!raw && count > from->n_float_data + from->n_double_data + from->n_int32_data + from->n_int64_data +
                            from->n_uint64_data) {
        firnc_onnx_fail(im, "tensor %s has fewer elements than its shape says", name);
        return NULL;
    }
    firnc_onnx_tensor *tensor = make((uint8_t)from->data_type, (uint8_t)from->n_dims, from->dims, count);
    for (uint64_t i = 0; raw && i < count; i++)
        put_bytes(tensor, i, bytes.bytes + i * width, width);
    if (!raw && !put_fields(tensor, from)) {
        firnc_onnx_fail(im, "tensor %s has other elements than its shape says", name);
        return NULL;
    }
    return tensor;
}
