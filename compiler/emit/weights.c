/* Reads parameters from a safetensors file (compiler/emit/weights.h). The format: eight bytes with the length of a JSON
 * header, the header (name -> dtype, shape, data_offsets), the data. The file is untrusted: every length and offset is
 * checked before use. This file must not depend on the plan's format. */
#include "compiler/emit/weights.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "compiler/base/files.h"
#include "runtime/numerics/numerics.h"

#define FILE_LIMIT   ((uint64_t)1 << 40)
#define LENGTH_BYTES 8u
#define RANK_SHOWN   8

struct firnc_weights {
    cJSON *header;
    const uint8_t *data;
    uint64_t data_bytes;
};

/* Prints a message that names the weights file instead of the job. Returns false. */
static bool refuse(const firnc_compilation *compilation, const char *what) {
    firnc_say("firnc: %s: %s", compilation->job->weights, what);
    return false;
}

firnc_weights *firnc_weights_open(const firnc_compilation *compilation) {
    firnc_bytes file;
    if (!firnc_file_read(compilation->job->weights, FILE_LIMIT, &file))
        return NULL;
    uint64_t header_bytes = 0;
    if (file.count >= LENGTH_BYTES)
        memcpy(&header_bytes, file.data, LENGTH_BYTES);
    if (file.count < LENGTH_BYTES || header_bytes > file.count - LENGTH_BYTES) {
        refuse(compilation, "not a safetensors file: it is shorter than its header says; write it again");
        return NULL;
    }
    firnc_weights *weights = firnc_allocate(sizeof *weights);
    weights->header = cJSON_ParseWithLength((const char *)file.data + LENGTH_BYTES, (size_t)header_bytes);
    weights->data = file.data + LENGTH_BYTES + header_bytes;
    weights->data_bytes = file.count - LENGTH_BYTES - header_bytes;
    if (!cJSON_IsObject(weights->header)) {
        refuse(compilation, "not a safetensors file: its header is not JSON; write it again");
        firnc_weights_close(weights);
        return NULL;
    }
    return weights;
}

void firnc_weights_close(firnc_weights *weights) {
    if (weights != NULL)
        cJSON_Delete(weights->header);
}

/* Accepts a JSON number that is an integer from 0 to 2^53. */
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

static const char *shape_text(const uint32_t *dims, uint8_t rank) {
    const char *text = "[";
    for (uint8_t i = 0; i < rank; i++)
        text = firnc_format("%s%s%u", text, i == 0 ? "" : ", ", (unsigned)dims[i]);
    return firnc_format("%s]", text);
}

/* The shape in the untrusted file, as text for a message; it may be any JSON value. */
static const char *found_shape(const cJSON *dims) {
    const char *text = "[";
    if (!cJSON_IsArray(dims) || cJSON_GetArraySize(dims) > RANK_SHOWN)
        return "(not a list of a few numbers)";
    for (const cJSON *item = dims->child; item != NULL; item = item->next) {
        if (!cJSON_IsNumber(item))
            return "(not a list of a few numbers)";
        text = firnc_format("%s%s%.17g", text, item == dims->child ? "" : ", ", item->valuedouble);
    }
    return firnc_format("%s]", text);
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
        return refuse(compilation,
                      firnc_format("no tensor is called %s, a parameter of the model of shape %s; add it, or change "
                                   "the model",
                                   name, shape_text(shape->dims, shape->rank)));
    if (!find_type(entry, &type))
        return refuse(compilation,
                      firnc_format("tensor %s: its dtype is not F32, F16 or BF16; convert it to one of them", name));
    if (!firn_shape_elements(shape, &elements) ||
        !shape_matches(cJSON_GetObjectItemCaseSensitive(entry, "shape"), shape))
        return refuse(compilation,
                      firnc_format("tensor %s has shape %s, and the model wants %s; give the file of this model, "
                                   "or change the model",
                                   name, found_shape(cJSON_GetObjectItemCaseSensitive(entry, "shape")),
                                   shape_text(shape->dims, shape->rank)));
    if (!find_data(weights, entry, elements * firn_type_bytes(type), &data))
        return refuse(compilation,
                      firnc_format("tensor %s: its data_offsets leave the file or do not fit its shape; write the "
                                   "file again",
                                   name));
    uint32_t size = firn_type_bytes(type);
    for (uint64_t i = 0; i < elements; i++) {
        uint32_t element; /* copied, because data in the file is not aligned */
        memcpy(&element, data + i * size, size);
        float value = firn_load(&element, type, 0);
        if (value - value != 0)
            return refuse(compilation,
                          firnc_format("tensor %s holds NaN or infinity; give a file with finite numbers", name));
        memcpy(bytes + i * sizeof value, &value, sizeof value);
    }
    return true;
}

void firnc_weights_warn_extra(const firnc_compilation *compilation, const firnc_weights *weights,
                              const char *const *names, uint32_t count) {
    const char *first = NULL;
    uint32_t extra = 0;
    for (const cJSON *entry = weights->header->child; entry != NULL; entry = entry->next) {
        bool known = strcmp(entry->string, "__metadata__") == 0;
        for (uint32_t i = 0; i < count && !known; i++)
            known = strcmp(entry->string, names[i]) == 0;
        if (known)
            continue;
        first = first == NULL ? entry->string : first;
        extra++;
    }
    if (extra > 0)
        firnc_say("firnc: %s: warning: tensor %s is no parameter of the model and is left out, the first of %u such; "
                  "check that it is the file of this model",
                  compilation->job->weights, first, (unsigned)extra);
}
