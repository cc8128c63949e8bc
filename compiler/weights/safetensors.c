/* Reads the format safetensors (compiler/weights/safetensors.h). Every length and offset is compared by subtraction
 * from what is there, because sums of untrusted numbers overflow. This file must not depend on a model or a plan. */
#include "compiler/weights/safetensors.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/json.h"
#include "compiler/base/text.h"
#include "plan/bytes.h"
#include "plan/keys/file_kind.h"
#include "runtime/numerics/numerics.h"

#define LENGTH_BYTES 8u
/* As long as a header with the tensors of the largest plan and 256 bytes for each. */
#define HEADER_BYTES_MAX ((uint64_t)16 << 20)
#define NAME_BYTES_MAX   1024u
/* Elements of a tensor: exact as a JSON number, and eight bytes for each do not overflow. */
#define ELEMENTS_MAX ((uint64_t)1 << 53)
#define METADATA     "__metadata__"

typedef struct dtype {
    const char *name;
    uint8_t bits; /* of an element */
    bool real;
    uint8_t type; /* firn_type of a real one */
} dtype;

static const dtype dtypes[] = {
    {"F32", 32, true, FIRN_FLOAT32},
    {"F16", 16, true, FIRN_FLOAT16},
    {"BF16", 16, true, FIRN_BFLOAT16},
    {"F64", 64, false, 0},
    {"BOOL", 8, false, 0},
    {"U8", 8, false, 0},
    {"I8", 8, false, 0},
    {"U16", 16, false, 0},
    {"I16", 16, false, 0},
    {"U32", 32, false, 0},
    {"I32", 32, false, 0},
    {"U64", 64, false, 0},
    {"I64", 64, false, 0},
    {"C64", 64, false, 0},
    {"F8_E5M2", 8, false, 0},
    {"F8_E4M3", 8, false, 0},
    {"F8_E8M0", 8, false, 0},
    {"F6_E2M3", 6, false, 0},
    {"F6_E3M2", 6, false, 0},
    {"F4", 4, false, 0},
};

bool firnc_weights_refuse(const char *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    firnc_say("firnc: %s: %s", file, firnc_format_list(format, arguments));
    va_end(arguments);
    return false;
}

const char *firnc_safetensors_shape(const uint64_t *dims, uint8_t rank) {
    const char *text = "[";
    for (uint8_t i = 0; i < rank; i++)
        text = firnc_format("%s%s%llu", text, i == 0 ? "" : ", ", (unsigned long long)dims[i]);
    return firnc_format("%s]", text);
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* Accepts a JSON number that is an integer from 0 to 2^53. */
static bool whole_number(const cJSON *item, uint64_t *value) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= (double)ELEMENTS_MAX))
        return false;
    *value = (uint64_t)item->valuedouble;
    return (double)*value == item->valuedouble;
}

/* --- one tensor --------------------------------------------------------------------------------------------------- */

static const dtype *find_dtype(const cJSON *entry) {
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "dtype"));
    for (size_t i = 0; name != NULL && i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    return NULL;
}

/* Reads the extents and counts the elements. */
static bool read_shape(const cJSON *dims, firnc_safetensor *tensor) {
    const cJSON *item = cJSON_IsArray(dims) ? dims->child : NULL;
    if (!cJSON_IsArray(dims))
        return false;
    for (; item != NULL; item = item->next) {
        if (tensor->rank == FIRN_RANK_MAX || !whole_number(item, &tensor->dims[tensor->rank]))
            return false;
        tensor->rank++;
    }
    tensor->elements = 1;
    for (uint8_t i = 0; i < tensor->rank; i++)
        if (tensor->dims[i] == 0)
            tensor->elements = 0;
    for (uint8_t i = 0; i < tensor->rank && tensor->elements > 0; i++) {
        if (tensor->dims[i] > ELEMENTS_MAX / tensor->elements)
            return false;
        tensor->elements *= tensor->dims[i];
    }
    return true;
}

static bool read_offsets(const cJSON *offsets, uint64_t data_bytes, firnc_safetensor *tensor) {
    return cJSON_IsArray(offsets) && cJSON_GetArraySize(offsets) == 2 && whole_number(offsets->child, &tensor->begin) &&
           whole_number(offsets->child->next, &tensor->end) && tensor->begin <= tensor->end &&
           tensor->end <= data_bytes;
}

static bool read_tensor(const char *file, const cJSON *entry, uint64_t data_bytes, firnc_safetensor *tensor) {
    const size_t name_bytes = strlen(entry->string);
    if (name_bytes == 0 || name_bytes > NAME_BYTES_MAX)
        return firnc_weights_refuse(file, "a tensor's name has %llu bytes; give it from 1 to %u",
                                    (unsigned long long)name_bytes, NAME_BYTES_MAX);
    const char *name = firnc_format("%s", entry->string);
    const dtype *type = find_dtype(entry);
    *tensor = (firnc_safetensor){.name = name};
    if (!cJSON_IsObject(entry) || cJSON_GetArraySize(entry) != 3)
        return firnc_weights_refuse(
            file,
            "tensor %s: the header must have its dtype, shape and data_offsets, and no more; write the "
            "file again",
            name);
    if (type == NULL)
        return firnc_weights_refuse(
            file, "tensor %s: its dtype is missing or not known; convert it to F32, F16 or BF16", name);
    tensor->dtype = type->name;
    tensor->type = type->type;
    tensor->real = type->real;
    if (!read_shape(cJSON_GetObjectItemCaseSensitive(entry, "shape"), tensor))
        return firnc_weights_refuse(
            file,
            "tensor %s: its shape is no list of at most %d extents of at most 2^53 elements; write the "
            "file again",
            name, FIRN_RANK_MAX);
    if (!read_offsets(cJSON_GetObjectItemCaseSensitive(entry, "data_offsets"), data_bytes, tensor))
        return firnc_weights_refuse(
            file,
            "tensor %s: its data_offsets are not two numbers, in order, within the %llu bytes of data; "
            "the file may be cut: fetch or write it again",
            name, (unsigned long long)data_bytes);
    const uint64_t bits = tensor->elements * type->bits;
    if (bits % 8 != 0 || tensor->end - tensor->begin != bits / 8)
        return firnc_weights_refuse(
            file,
            "tensor %s: its shape %s of %s does not fit the %llu bytes of its data_offsets; write the "
            "file again",
            name, firnc_safetensors_shape(tensor->dims, tensor->rank), type->name,
            (unsigned long long)(tensor->end - tensor->begin));
    return true;
}

/* Texts by name: what other programs noted. */
static bool check_metadata(const char *file, const cJSON *metadata) {
    bool good = cJSON_IsObject(metadata);
    for (const cJSON *item = good ? metadata->child : NULL; item != NULL; item = item->next)
        good = good && cJSON_IsString(item);
    return good || firnc_weights_refuse(file, "%s is no mapping of texts; write the file again", METADATA);
}

/* --- all tensors -------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const firnc_safetensor *)a)->name, ((const firnc_safetensor *)b)->name);
}

/* A tensor without elements comes before the one that begins where it does. */
static int by_place(const void *a, const void *b) {
    const firnc_safetensor *one = *(const firnc_safetensor *const *)a, *other = *(const firnc_safetensor *const *)b;
    if (one->begin != other->begin)
        return one->begin < other->begin ? -1 : 1;
    return one->end < other->end ? -1 : one->end > other->end;
}

static bool check_names(const firnc_safetensors *parsed) {
    for (uint32_t i = 1; i < parsed->count; i++)
        if (strcmp(parsed->tensors[i - 1].name, parsed->tensors[i].name) == 0)
            return firnc_weights_refuse(parsed->file,
                                        "tensor %s is there twice; write the file again with names of their own",
                                        parsed->tensors[i].name);
    return true;
}

/* Every byte of the data belongs to exactly one tensor. */
static bool check_places(const firnc_safetensors *parsed, uint64_t data_bytes) {
    const firnc_safetensor **order = firnc_allocate((parsed->count + UINT64_C(1)) * sizeof *order);
    for (uint32_t i = 0; i < parsed->count; i++)
        order[i] = &parsed->tensors[i];
    qsort(order, parsed->count, sizeof *order, by_place);
    uint64_t end = 0;
    for (uint32_t i = 0; i < parsed->count; end = order[i++]->end)
        if (order[i]->begin < end)
            return firnc_weights_refuse(parsed->file, "tensor %s overlaps tensor %s; write the file again",
                                        order[i]->name, order[i - 1]->name);
        else if (order[i]->begin > end)
            return firnc_weights_refuse(parsed->file,
                                        "%llu bytes before tensor %s belong to no tensor; write the file again",
                                        (unsigned long long)(order[i]->begin - end), order[i]->name);
    return end == data_bytes ||
           firnc_weights_refuse(parsed->file, "%llu bytes at the end belong to no tensor; write the file again",
                                (unsigned long long)(data_bytes - end));
}

void firnc_safetensors_sort(firnc_safetensor *tensors, uint32_t count) {
    qsort(tensors, count, sizeof *tensors, by_name);
}

static bool read_tensors(firnc_safetensors *parsed, const cJSON *header, const firnc_bytes *data) {
    firnc_safetensor *tensors = firnc_allocate(((uint64_t)cJSON_GetArraySize(header) + UINT64_C(1)) * sizeof *tensors);
    uint32_t metadata = 0;
    for (const cJSON *entry = header->child; entry != NULL; entry = entry->next) {
        if (strcmp(entry->string, METADATA) == 0) {
            if (metadata++ > 0)
                return firnc_weights_refuse(parsed->file, "%s is there twice; write the file again", METADATA);
            if (!check_metadata(parsed->file, entry))
                return false;
            const char *hash = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "model_hash"));
            parsed->model_hash = hash != NULL ? firnc_format("%s", hash) : NULL;
        } else {
            firnc_safetensor *tensor = &tensors[parsed->count++];
            if (!read_tensor(parsed->file, entry, data->count, tensor))
                return false;
            tensor->bytes = data->data + tensor->begin;
        }
    }
    firnc_safetensors_sort(tensors, parsed->count);
    parsed->tensors = tensors;
    return check_names(parsed) && check_places(parsed, data->count);
}

/* How to make a safetensors file of a file of another kind. */
static const char *mend_of(firn_file_use use) {
    switch (use) {
    case FIRN_FILE_CHECKPOINT:
        return "firn export FILE -o NAME.safetensors writes one of it";
    case FIRN_FILE_PLAN:
        return "give the weights, or what firn export wrote from the checkpoint of a run";
    case FIRN_FILE_QUANTIZED:
        return "give the model's weights as they were before they were quantized";
    case FIRN_FILE_ARRAYS:
    case FIRN_FILE_NPY:
    case FIRN_FILE_ZIP:
        return "load it in Python, and write the tensors by safetensors.torch.save_file or safetensors.numpy.save_file";
    case FIRN_FILE_PACKED:
        return "unpack it first";
    default:
        return "give a safetensors file";
    }
}

/* Refuses a file that begins like one of another kind. Returns true if it does not. */
static bool is_no_other(const char *file, const firnc_bytes *bytes) {
    const firn_file_kind *kind = firn_file_kind_of(bytes->data, bytes->count);
    return kind == NULL ||
           firnc_weights_refuse(file, "not a safetensors file, but %s; %s", kind->name, mend_of(kind->use));
}

uint64_t firnc_safetensors_extent(const uint8_t *head, uint64_t count) {
    if (count <= LENGTH_BYTES)
        return count;
    const uint64_t header_bytes = firn_load64(head);
    if (header_bytes > HEADER_BYTES_MAX)
        return LENGTH_BYTES;
    return strchr("{ \t\r\n", head[LENGTH_BYTES]) != NULL && head[LENGTH_BYTES] != 0 ? UINT64_MAX
                                                                                     : LENGTH_BYTES + header_bytes;
}

bool firnc_safetensors_parse(firnc_safetensors *parsed, const char *file, const firnc_bytes *bytes) {
    uint64_t header_bytes = 0;
    *parsed = (firnc_safetensors){.file = file};
    if (bytes->count < LENGTH_BYTES)
        return firnc_weights_refuse(
            file, "not a safetensors file: it has less than %u bytes; give another, or fetch it again", LENGTH_BYTES);
    for (uint32_t i = 0; i < LENGTH_BYTES; i++)
        header_bytes |= (uint64_t)bytes->data[i] << (8 * i);
    if ((bytes->count == LENGTH_BYTES || bytes->data[LENGTH_BYTES] != '{') && !is_no_other(file, bytes))
        return false;
    if (header_bytes > HEADER_BYTES_MAX)
        return firnc_weights_refuse(
            file,
            "not a safetensors file: its header would have %llu bytes, and at most %llu are read; "
            "check that it is in this format",
            (unsigned long long)header_bytes, (unsigned long long)HEADER_BYTES_MAX);
    if (header_bytes > bytes->count - LENGTH_BYTES)
        return firnc_weights_refuse(
            file, "not a safetensors file: it is shorter than its header says; fetch or write it again");
    cJSON *header = firnc_json_parse((const char *)bytes->data + LENGTH_BYTES, header_bytes, " ");
    if (header == NULL)
        return firnc_weights_refuse(file, "not a safetensors file: its header is not JSON; fetch or write it again");
    const firnc_bytes data = {bytes->data + LENGTH_BYTES + header_bytes, bytes->count - LENGTH_BYTES - header_bytes};
    const bool good = read_tensors(parsed, header, &data);
    firnc_json_delete(header);
    return good;
}

const firnc_safetensor *firnc_safetensors_find(const firnc_safetensors *parsed, const char *name) {
    const firnc_safetensor wanted = {.name = name};
    return bsearch(&wanted, parsed->tensors, parsed->count, sizeof wanted, by_name);
}

bool firnc_safetensors_values(const firnc_safetensors *parsed, const firnc_safetensor *tensor, float *values) {
    const uint32_t size = firn_type_bytes(tensor->type);
    for (uint64_t i = 0; i < tensor->elements; i++) {
        uint32_t element = 0; /* copied, because data in the file is not aligned */
        memcpy(&element, tensor->bytes + i * size, size);
        values[i] = firn_load(&element, tensor->type, 0);
        if (values[i] - values[i] != 0)
            return firnc_weights_refuse(
                parsed->file, "tensor %s holds NaN or infinity; give a file with finite numbers", tensor->name);
    }
    return true;
}

/* An element of a type of whole numbers, or a boolean, by the name of its type. */
static int64_t whole_at(const firnc_safetensor *tensor, uint64_t size, uint64_t element) {
    uint64_t bits = 0;
    for (uint64_t i = 0; i < size; i++)
        bits |= (uint64_t)tensor->bytes[element * size + i] << (8 * i);
    const bool negative = tensor->dtype[0] == 'I' && size > 0 && size < 8 && (bits >> (8 * size - 1)) != 0;
    return (int64_t)(negative ? bits - (UINT64_C(1) << (8 * size)) : bits);
}

bool firnc_safetensors_equals(const firnc_safetensor *tensor, const float *reals, const int64_t *wholes) {
    const uint64_t size = tensor->elements == 0 ? 0 : (tensor->end - tensor->begin) / tensor->elements;
    if (tensor->real != (wholes == NULL) || (!tensor->real && (size > 8 || strchr("IUB", tensor->dtype[0]) == NULL)))
        return false;
    for (uint64_t i = 0; i < tensor->elements; i++) {
        uint32_t element = 0;
        if (!tensor->real && whole_at(tensor, size, i) != wholes[i])
            return false;
        if (!tensor->real)
            continue;
        memcpy(&element, tensor->bytes + i * size, (size_t)size);
        if (firn_bits(firn_load(&element, tensor->type, 0)) != firn_bits(reals[i]))
            return false;
    }
    return true;
}
