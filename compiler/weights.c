/* Reading parameters from a safetensors file (compiler/weights.h): eight bytes that give the length of a JSON header,
 * the header (name -> dtype, shape, data_offsets), the data. The file is foreign: every length and offset is checked
 * before it is used. Nothing here knows what a plan is. */
#include "compiler/weights.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "compiler/files.h"
#include "runtime/numerics/numerics.h"

#define FILE_LIMIT   ((uint64_t)1 << 40)
#define LENGTH_BYTES 8u

struct firnc_weights {
    const cJSON *header;
    const uint8_t *data;
    uint64_t data_bytes;
};

/* One line that names the weights file, not the recipe. */
static bool refuse(const firnc_compilation *compilation, const char *what) {
    firnc_say("firnc: %s: %s", compilation->weights, what);
    return false;
}

firnc_weights *firnc_weights_open(const firnc_compilation *compilation) {
    firnc_bytes file;
    if (!firnc_file_read(compilation->weights, FILE_LIMIT, &file))
        return NULL;
    uint64_t header_bytes = 0;
    if (file.count >= LENGTH_BYTES)
        memcpy(&header_bytes, file.data, LENGTH_BYTES);
    if (file.count < LENGTH_BYTES || header_bytes > file.count - LENGTH_BYTES) {
        refuse(compilation, "not a safetensors file: it is shorter than its header says");
        return NULL;
    }
    firnc_weights *weights = firnc_allocate(sizeof *weights);
    weights->header = cJSON_ParseWithLength((const char *)file.data + LENGTH_BYTES, (size_t)header_bytes);
    weights->data = file.data + LENGTH_BYTES + header_bytes;
    weights->data_bytes = file.count - LENGTH_BYTES - header_bytes;
    if (!cJSON_IsObject(weights->header)) {
        refuse(compilation, "not a safetensors file: its header is not JSON");
        return NULL;
    }
    return weights;
}

/* A JSON number that is a whole number of at most 2^53. */
static bool whole_number(const cJSON *item, uint64_t *value) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= 9007199254740992.0))
        return false;
    *value = (uint64_t)item->valuedouble;
    return (double)*value == item->valuedouble;
}

static bool shape_matches(const cJSON *dims, const firn_shape *shape) {
    if (!cJSON_IsArray(dims) || cJSON_GetArraySize(dims) != shape->rank)
        return false;
    for (uint8_t i = 0; i < shape->rank; i++) {
        uint64_t extent;
        if (!whole_number(cJSON_GetArrayItem(dims, i), &extent) || extent != shape->dims[i])
            return false;
    }
    return true;
}

static bool find_data(const firnc_weights *weights, const cJSON *entry, uint64_t bytes, const uint8_t **data) {
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
    uint64_t begin, end;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !whole_number(cJSON_GetArrayItem(offsets, 0), &begin) || !whole_number(cJSON_GetArrayItem(offsets, 1), &end) ||
        begin > end || end > weights->data_bytes || end - begin != bytes)
        return false;
    *data = weights->data + begin;
    return true;
}

static bool find_type(const cJSON *entry, uint8_t *type) {
    static const struct {
        const char *name;
        uint8_t type;
    } types[] = {{"F32", FIRN_FLOAT32}, {"F16", FIRN_FLOAT16}, {"BF16", FIRN_BFLOAT16}};
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "dtype"));
    for (size_t i = 0; name != NULL && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0) {
            *type = types[i].type;
            return true;
        }
    return false;
}

bool firnc_weights_read(const firnc_compilation *compilation, const firnc_weights *weights, const char *name,
                        const firn_shape *shape, uint8_t *bytes) {
    const cJSON *entry = cJSON_GetObjectItemCaseSensitive(weights->header, name);
    uint8_t type;
    const uint8_t *data;
    uint64_t elements;
    if (entry == NULL)
        return refuse(compilation, firnc_format("no tensor is called %s, a parameter of the model", name));
    if (!find_type(entry, &type))
        return refuse(compilation, firnc_format("tensor %s: its dtype is not F32, F16 or BF16", name));
    if (!firn_shape_elements(shape, &elements) ||
        !shape_matches(cJSON_GetObjectItemCaseSensitive(entry, "shape"), shape))
        return refuse(compilation, firnc_format("tensor %s: its shape is not the model's", name));
    if (!find_data(weights, entry, elements * firn_type_bytes(type), &data))
        return refuse(compilation,
                      firnc_format("tensor %s: its data_offsets leave the file or do not fit its shape", name));
    uint32_t size = firn_type_bytes(type);
    for (uint64_t i = 0; i < elements; i++) {
        uint32_t element; /* the file aligns nothing */
        memcpy(&element, data + i * size, size);
        float value = firn_load(&element, type, 0);
        if (value - value != 0)
            return refuse(compilation, firnc_format("tensor %s holds NaN or infinity", name));
        memcpy(bytes + i * sizeof value, &value, sizeof value);
    }
    return true;
}
