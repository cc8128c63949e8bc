/* Messages about arrays that cannot be read, or that are not what a plan reads. Each says what was found, what is
 * wanted, and how to convert the array. */
#include <string.h>

#include "plan/ops.h"
#include "runtime/targets/host/host.h"
#include "runtime/targets/host/numbers.h"

#define READABLE "bool, integers of 8 to 64 bits, float16, float32 and float64"

/* Element types of NumPy that firn does not read, by the code that a header has behind the byte order. */
static const struct {
    const char *code, *name, *advice; /* advice NULL: astype */
} types[] = {
    {"f16", "long double", NULL},
    {"c8", "complex64", "save x.real, or x.real and x.imag as two columns, as"},
    {"c16", "complex128", "save x.real, or x.real and x.imag as two columns, as"},
    {"O", "objects of Python, such as rows of different lengths",
     "make one array of them, as by numpy.stack, and save it as"},
    {"U", "text", "save numbers, as classes in place of their names, as"},
    {"S", "text", "save numbers, as classes in place of their names, as"},
    {"M8", "dates", "save numbers, such as days since a day, as"},
    {"m8", "times", "save numbers, such as seconds, as"},
    {"V", "bytes without a type", "save numbers as"},
    {"", "structured records",
     "save one array of numbers, as numpy.lib.recfunctions.structured_to_unstructured makes, as"},
};

/* Whether a type of a header has the code of entry i. Codes without a number are followed by one. */
static bool has_code(size_t i, const char *type) {
    const size_t length = strlen(types[i].code);
    if (type[0] == '[' || length == 0)
        return type[0] == '[' && length == 0;
    const char *behind = type + (type[0] == 0 ? 0 : 1);
    const char last = types[i].code[length - 1];
    if (strncmp(behind, types[i].code, length) != 0)
        return false;
    return last < '0' || last > '9' || behind[length] < '0' || behind[length] > '9';
}

/* Writes the shape of an array as Python does. */
static const char *shape_text(const firn_data_layout *layout, char *text, size_t size) {
    return firn_host_dims_text(layout->dims, layout->rank, "()", text, size);
}

/* Whether there is no plan, or it reads nothing from this stream. */
static bool is_unplanned(const firn_host_wanted *wanted, uint32_t stream) {
    return wanted->streams[stream].record_elements == 0;
}

/* Writes what the plan reads, behind ", and "; nothing if that is not known. */
static const char *wanted_text(const firn_host_wanted *wanted, uint32_t stream, char *text, size_t size) {
    const firn_stream_info *info = &wanted->streams[stream];
    if (is_unplanned(wanted, stream))
        *text = 0;
    else if (wanted->records)
        snprintf(text, size, ", and the plan reads %lu %s of each record", (unsigned long)info->record_elements,
                 firn_type_name(info->element));
    else
        snprintf(text, size, ", and the plan reads %s", firn_type_name(info->element));
    return text;
}

/* Writes the element type of a header, and returns what to save in its place. */
static const char *describe_type(const char *type, char *text, size_t size) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!has_code(i, type))
            continue;
        if (type[0] == '[')
            snprintf(text, size, "%s", types[i].name);
        else
            snprintf(text, size, "%s%s ('%s')", type[0] == '>' ? "big-endian " : "", types[i].name, type);
        return types[i].advice;
    }
    snprintf(text, size, "the type '%s'", type);
    return NULL;
}

static bool refuse_type(const char *name, const firn_data_layout *layout, const firn_host_wanted *wanted,
                        uint32_t stream) {
    char want[100], shape[200], found[100], mend[200];
    const char *type = is_unplanned(wanted, stream) ? "float32" : firn_type_name(wanted->streams[stream].element);
    const char *advice = describe_type(layout->type, found, sizeof found);
    if (advice == NULL)
        snprintf(mend, sizeof mend, "save x.astype('%s')", type);
    else
        snprintf(mend, sizeof mend, "%s %s", advice, type);
    return firn_host_fail(name, "is an array of %s%s%s; firn reads " READABLE "%s: %s", found,
                          layout->rank != 0 ? ", of shape " : "",
                          layout->rank != 0 ? shape_text(layout, shape, sizeof shape) : "",
                          wanted_text(wanted, stream, want, sizeof want), mend);
}

/* Refuses a file of another length than its header says. */
static bool refuse_length(const char *name, const firn_data_layout *layout, uint64_t bytes) {
    char shape[200];
    const firn_host_number_row *row = firn_host_number_row_of(firn_host_number_of(layout));
    if (layout->rank == 0 && layout->fault == FIRN_DATA_CUT)
        return firn_host_fail(name,
                              "is an array that was cut: its header says more than the file has, as its elements "
                              "would begin at byte %llu, and there are %llu; save or copy it again",
                              (unsigned long long)layout->offset, (unsigned long long)bytes);
    if (layout->elements > (UINT64_MAX - layout->offset) / row->width)
        return firn_host_fail(name,
                              "is an array that was cut: its header says more than any file has, the shape %s; save or "
                              "copy it again",
                              shape_text(layout, shape, sizeof shape));
    const unsigned long long wanted = layout->offset + layout->elements * row->width;
    if (layout->fault == FIRN_DATA_LONGER)
        return firn_host_fail(name,
                              "has bytes behind the array that its header describes: shape %s of %s ends at byte %llu; "
                              "save it again",
                              shape_text(layout, shape, sizeof shape), row->name, wanted);
    return firn_host_fail(name,
                          "is an array that was cut: its header says more than the file has, shape %s of %s, which is "
                          "%llu bytes, and there are %llu; save or copy it again",
                          shape_text(layout, shape, sizeof shape), row->name, wanted, (unsigned long long)bytes);
}

bool firn_host_refuse_array(const char *name, const firn_data_layout *layout, uint64_t bytes,
                            const firn_host_wanted *wanted, uint32_t stream) {
    char shape[200], want[100];
    switch (layout->fault) {
    case FIRN_DATA_VERSION:
        return firn_host_fail(name,
                              "is an array in version %s of .npy, and firn reads versions 1 to 3: save it again by "
                              "numpy.save",
                              layout->type);
    case FIRN_DATA_TYPE:
        return refuse_type(name, layout, wanted, stream);
    case FIRN_DATA_RANK:
        if (layout->rank == 0)
            return firn_host_fail(name,
                                  "is an array without a dimension, one number of shape ()%s: save an array "
                                  "with at least one dimension, such as x.reshape(1)",
                                  wanted_text(wanted, stream, want, sizeof want));
        return firn_host_fail(name, "is an array with %u dimensions, and firn reads 1 to 8: save x.reshape(len(x), -1)",
                              (unsigned)layout->rank);
    case FIRN_DATA_EMPTY:
        return firn_host_fail(name, "is an array without elements, of shape %s; give one with a record or more",
                              shape_text(layout, shape, sizeof shape));
    case FIRN_DATA_CUT:
    case FIRN_DATA_LONGER:
        return refuse_length(name, layout, bytes);
    default:
        return firn_host_fail(name, "is an array whose header cannot be understood: it is no dictionary of descr, "
                                    "fortran_order and shape; save it again by numpy.save");
    }
}

/* --- arrays that are read, and are not what the plan wants --- */

/* Returns the option that gives the files of a stream. */
static const char *option_of(const firn_host_wanted *wanted, uint32_t stream) {
    static const char *const options[][FIRN_HOST_STREAMS] = {{"--data", "--labels", "--sample-weights"},
                                                             {"--eval-data", "--eval-labels", "--eval-sample-weights"}};
    return options[wanted->evaluated ? 1 : 0][stream];
}

/* Returns the option of another stream whose records are like those of the file, or NULL. */
static const char *option_for(const firn_data_layout *layout, const firn_host_wanted *wanted) {
    for (uint32_t i = 0; i < FIRN_HOST_STREAMS; i++)
        if (i < wanted->stream_count && wanted->streams[i].record_elements == firn_data_record_elements(layout) &&
            wanted->streams[i].element == layout->element)
            return option_of(wanted, i);
    return NULL;
}

/* How to make records of the right length. */
static const char *mend_of_length(const firn_data_layout *layout, const firn_host_wanted *wanted, uint32_t stream,
                                  char *text, size_t size) {
    const firn_stream_info *info = &wanted->streams[stream];
    const char *option = option_for(layout, wanted);
    if (stream == 1 && info->record_elements == 1 && firn_data_record_elements(layout) > 1 && option == NULL)
        snprintf(text, size, "if they are one-hot, save x.argmax(axis=1).astype('%s'); else change the recipe",
                 firn_type_name(info->element));
    else if (layout->elements != UINT64_MAX && layout->elements % info->record_elements == 0 && layout->rank == 1 &&
             info->record_elements > 1)
        snprintf(text, size, "save x.reshape(-1, %lu) if these are its records; else convert it, or change the recipe",
                 (unsigned long)info->record_elements);
    else if (layout->rank == 2 && layout->dims[0] == info->record_elements && info->record_elements > 1)
        snprintf(text, size, "if its columns are the records, save numpy.ascontiguousarray(x.T); else convert it");
    else if (option != NULL)
        snprintf(text, size, "if the files are swapped, give this one by %s; else convert it, or change the recipe",
                 option);
    else
        snprintf(text, size, "give such records, or change the recipe to their size and %s",
                 stream == 0   ? "feature_type"
                 : stream == 1 ? "label_type"
                               : "weight_type");
    return text;
}

bool firn_host_refuse_stream(const char *name, const firn_data_layout *layout, const firn_host_wanted *wanted,
                             uint32_t stream) {
    char mend[200], shape[200];
    const firn_stream_info *info = &wanted->streams[stream];
    const char *code = firn_error_name(FIRN_ERROR_DATA_TYPE);
    const char *found = firn_host_number_row_of(firn_host_number_of(layout))->name;
    if (!wanted->records)
        return firn_host_fail(name,
                              "it has %s, and the plan reads %s (%s); give %s, or compile with another token_type",
                              found, firn_type_name(info->element), code,
                              info->element == FIRN_UINT8
                                  ? "bytes"
                                  : "an .npy array or a .bin file of such tokens, as firnc tokens makes of a text");
    const uint32_t length = firn_data_record_elements(layout);
    mend_of_length(layout, wanted, stream, mend, sizeof mend);
    return firn_host_fail(name, "%s has %lu %s in each record, and the plan reads %lu %s (%s); its shape is %s: %s",
                          option_of(wanted, stream), (unsigned long)length, found, (unsigned long)info->record_elements,
                          firn_type_name(info->element), code, shape_text(layout, shape, sizeof shape), mend);
}

bool firn_host_refuse_axes(const char *name, const firn_data_layout *layout, const firn_host_wanted *wanted,
                           uint32_t stream) {
    char shape[200], want[200], mend[300];
    const firn_host_shape *record = &wanted->shapes[stream];
    firn_host_axes_mend(layout, record, mend, sizeof mend);
    return firn_host_fail(name, "its shape is %s, and the plan reads records of %s (%s); save %s",
                          shape_text(layout, shape, sizeof shape),
                          firn_host_dims_text(record->dims, record->rank, "[]", want, sizeof want),
                          firn_error_name(FIRN_ERROR_DATA_TYPE), mend);
}

const char *firn_host_file_mend(const firn_file_kind *kind) {
    switch (kind->use) {
    case FIRN_FILE_PACKED:
    case FIRN_FILE_ZIP:
        return "unpack it first";
    case FIRN_FILE_DOCUMENT:
        return "extract its text first";
    case FIRN_FILE_ARRAYS:
    case FIRN_FILE_QUANTIZED:
        return "save its arrays by numpy.save";
    case FIRN_FILE_NPY: /* a good one is read as an array */
        return "get it again, because it is damaged";
    case FIRN_FILE_TOKENS:
        return "give it to a plan with token_type: int32";
    case FIRN_FILE_WIDE_TEXT:
        return "write it as UTF-8, as iconv -t UTF-8 does";
    default:
        return "give the data";
    }
}

bool firn_host_refuse_raw(const char *name, const firn_data_layout *layout, const firn_file_kind *kind) {
    static const char wanted[] = "records are read from .npy, .npz, IDX and .csv files";
    if (layout->elements == 0)
        return firn_host_fail(name, "is empty, and so not an array; %s", wanted);
    if (kind != NULL)
        return firn_host_fail(name, "is not an array, but %s; %s: %s", kind->name, wanted, firn_host_file_mend(kind));
    if (layout->fault == FIRN_DATA_TYPE)
        return firn_host_fail(name,
                              "is not an array that firn reads: it begins like IDX of type %s, and types 0x08, 0x09 "
                              "and 0x0b to 0x0e are read; %s: save it by numpy.save as float32",
                              layout->type, wanted);
    if (layout->fault != FIRN_DATA_GOOD)
        return firn_host_fail(name,
                              "is not an array: it begins like IDX, but has %s bytes than its header says; %s: get "
                              "it again",
                              layout->fault == FIRN_DATA_LONGER ? "more" : "fewer", wanted);
    return firn_host_fail(name,
                          "is not an array: its first bytes are no header of .npy or IDX, and it is not named .csv; "
                          "%s: save one by numpy.save",
                          wanted);
}

bool firn_host_refuse_absent(const char *name, const firn_host_wanted *wanted, uint32_t stream) {
    return firn_host_fail(name, "the plan also reads %lu %s of each record (%s); give them by %s",
                          (unsigned long)wanted->streams[stream].record_elements,
                          firn_type_name(wanted->streams[stream].element), firn_error_name(FIRN_ERROR_DATA_TYPE),
                          option_of(wanted, stream));
}

bool firn_host_refuse_no_target(const char *name, const firn_host_wanted *wanted) {
    return firn_host_fail(name,
                          "the plan also reads %lu %s of each record (%s); name their column by --target-column%s, or "
                          "give them by %s",
                          (unsigned long)wanted->streams[1].record_elements, firn_type_name(wanted->streams[1].element),
                          firn_error_name(FIRN_ERROR_DATA_TYPE),
                          wanted->shared ? ", which holds for --data and --eval-data: give both as tables" : "",
                          option_of(wanted, 1));
}
