/* Tests the reader of weights files (compiler/weights): which files the format refuses, each with one line that names
 * the file and the tensor; that no cut and no changed bit of a file does harm; and where the elements of tensors go
 * that are transposed, joined and interleaved. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/weights/shards.h"
#include "compiler/weights/weights.h"
#include "tests/unit/support_test.h"

#define NAME "w.safetensors"

static char message[4096], path[64];
static int messages;

static void keep_message(void *context, const char *line) {
    (void)context;
    messages++;
    snprintf(message, sizeof message, "%s", line);
}

BEFORE_ALL {
    snprintf(path, sizeof path, P_tmpdir "/firn-test-weights-%ld", (long)getpid());
}

AFTER_ALL {
    remove(path);
}

BEFORE_EACH {
    firnc_messages_to(keep_message, NULL);
    messages = 0;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* A file of exactly its size, so that the sanitizers see an access one byte beyond it; as firnc_file_read leaves it but
 * for the zero byte at its end. */
static firnc_bytes make_file(const char *header, uint64_t header_bytes, uint64_t data_bytes) {
    const size_t written = strlen(header);
    firnc_bytes file = {.count = 8 + written + data_bytes};
    file.data = malloc((size_t)file.count);
    assert_non_null(file.data);
    for (int i = 0; i < 8; i++)
        file.data[i] = (uint8_t)(header_bytes >> (8 * i));
    memcpy(file.data + 8, header, written);
    memset(file.data + 8 + written, 0, (size_t)data_bytes);
    return file;
}

/* Parses a file and frees it; asserts that there was a message if and only if it was refused. */
static bool parse(firnc_bytes file) {
    firnc_safetensors parsed;
    messages = 0;
    const bool good = firnc_safetensors_parse(&parsed, NAME, &file);
    assert_int_equal(messages, good ? 0 : 1);
    assert_true(good || strncmp(message, "firnc: " NAME ": ", strlen("firnc: " NAME ": ")) == 0);
    free(file.data);
    return good;
}

#define F32(shape, begin, end) "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

TEST(good_files_are_read) {
    static const struct {
        const char *header;
        uint64_t data;
    } files[] = {
        {"{}", 0},
        {"{}      ", 0},
        {"{\"__metadata__\":{\"format\":\"pt\",\"x\":\"\"}}", 0},
        {"{\"a\":" F32("[2,3]", 0, 24) "}", 24},
        {"{\"a\":" F32("[]", 0, 4) "}", 4},
        {"{\"b\":" F32("[1]", 4, 8) ",\"a\":" F32("[1]", 0, 4) "}   ", 8},
        /* without elements, in front, between and behind */
        {"{\"a\":" F32("[0,7]", 0, 0) ",\"b\":" F32("[1]", 0, 4) ",\"c\":" F32("[0]", 4, 4) "}", 4},
        {"{\"\\u00e4\\\"\\\\\":" F32("[1]", 0, 4) "}", 4},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,2],\"dtype\":\"BOOL\"}}", 2},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3,2],\"data_offsets\":[0,3]}}", 3},
        {"{\"a\":{\"dtype\":\"I64\",\"shape\":[1,1,1,1,1,1,1,2],\"data_offsets\":[0,16]}}", 16},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (!parse(make_file(files[i].header, strlen(files[i].header), files[i].data)))
            fail_msg("refused: %s: %s", files[i].header, message);
}

TEST(wrong_files_are_refused) {
    static const struct {
        const char *header;
        uint64_t data;
        const char *says;
    } files[] = {
        {"", 0, "header is not JSON; fetch"},
        {" {}", 0, "header is not JSON"},
        {"{}\n", 0, "header is not JSON"},
        {"{} {}", 0, "header is not JSON"},
        {"[]", 0, "header is not JSON"},
        {"{\"a\":", 0, "header is not JSON"},
        {"{\"a\\u0000b\":" F32("[1]", 0, 4) "}", 4, "header is not JSON"},
        {"{\"__metadata__\":[]}", 0, "__metadata__ is no mapping of texts; "},
        {"{\"__metadata__\":{\"x\":1}}", 0, "__metadata__ is no mapping of texts; "},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ is there twice; "},
        {"{\"a\":1}", 0, "tensor a: the header must have its dtype, shape and data_offsets, and no more; "},
        {"{\"a\":{}}", 0, "tensor a: the header must have"},
        {"{\"\":" F32("[1]", 0, 4) "}", 4, "a tensor's name has 0 bytes; "},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"shape\":[1]}}", 4, "tensor a: its data_offsets"},
        {"{\"a\":{\"dtype\":\"F33\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
         "tensor a: its dtype is missing or not "},
        {"{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "tensor a: its dtype"},
        {"{\"a\":" F32("1", 0, 4) "}", 4, "tensor a: its shape is no list"},
        {"{\"a\":" F32("[\"1\"]", 0, 4) "}", 4, "tensor a: its shape"},
        {"{\"a\":" F32("[-1]", 0, 4) "}", 4, "tensor a: its shape"},
        {"{\"a\":" F32("[1.5]", 0, 6) "}", 6, "tensor a: its shape"},
        {"{\"a\":" F32("[1e400]", 0, 4) "}", 4, "tensor a: its shape"},
        {"{\"a\":" F32("[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, "tensor a: its shape"},
        {"{\"a\":" F32("[4294967296,4294967296]", 0, 0) "}", 0, "tensor a: its shape"},
        {"{\"a\":" F32("[9007199254740992,2048]", 0, 0) "}", 0, "tensor a: its shape"},
        {"{\"a\":" F32("[4611686018427387905]", 0, 4) "}", 4, "tensor a: its shape"},
        {"{\"a\":" F32("[9007199254740992]", 0, 0) "}", 0,
         "tensor a: its shape [9007199254740992] of F32 does not fit"},
        {"{\"a\":" F32("[1]", 4, 0) "}", 4, "tensor a: its data_offsets are not two numbers, in order, within the 4"},
        {"{\"a\":" F32("[1]", 4, 8) "}", 4, "tensor a: its data_offsets"},
        {"{\"a\":" F32("[1]", -4, 0) "}", 4, "tensor a: its data_offsets"},
        {"{\"a\":" F32("[1]", 0, 18446744073709551620) "}", 4, "tensor a: its data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 8, "tensor a: its data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":null}}", 4, "tensor a: its data_offsets"},
        {"{\"a\":" F32("[2]", 0, 4) "}", 4, "tensor a: its shape [2] of F32 does not fit the 4 bytes"},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1,
         "tensor a: its shape [3] of F4 does not fit"},
        {"{\"a\":" F32("[1]", 0, 4) ",\"a\":" F32("[1]", 4, 8) "}", 8, "tensor a is there twice; "},
        {"{\"a\":" F32("[2]", 0, 8) ",\"b\":" F32("[1]", 4, 8) "}", 8, "tensor b overlaps tensor a; "},
        {"{\"a\":" F32("[1]", 0, 4) ",\"b\":" F32("[1]", 0, 4) "}", 4, " overlaps tensor "},
        {"{\"a\":" F32("[1]", 0, 4) ",\"b\":" F32("[1]", 8, 12) "}", 12,
         "4 bytes before tensor b belong to no tensor; "},
        {"{\"a\":" F32("[1]", 4, 8) "}", 8, "4 bytes before tensor a"},
        {"{\"a\":" F32("[1]", 0, 4) "}", 5, "1 bytes at the end belong to no tensor; "},
        {"{}", 1, "1 bytes at the end"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (parse(make_file(files[i].header, strlen(files[i].header), files[i].data)))
            fail_msg("accepted: %s", files[i].header);
        if (strstr(message, files[i].says) == NULL || strstr(message, "; ") == NULL)
            fail_msg("%s: '%s' is not in: %s", files[i].header, files[i].says, message);
    }
}

TEST(wrong_lengths_are_refused) {
    static const uint64_t lengths[] = {3, 4, 1000, 16 << 20, (16 << 20) + 1, INT64_MAX, UINT64_MAX - 7, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        assert_false(parse(make_file("{}", lengths[i], 0)));
    for (uint64_t bytes = 0; bytes < 8; bytes++) {
        firnc_bytes file = make_file("", 0, 0);
        file.count = bytes;
        assert_false(parse(file));
        assert_non_null(strstr(message, "less than 8 bytes; "));
    }
}

/* Deep, long and many: what a parser may choke on. */
TEST(large_headers_are_harmless) {
    const size_t bytes = 4 << 20;
    char *header = malloc(bytes + 1);
    assert_non_null(header);
    header[bytes] = '\0';
    memset(header, '[', bytes);
    memcpy(header, "{\"a\":", 5);
    assert_false(parse(make_file(header, bytes, 0)));
    memset(header, 'x', bytes);
    memcpy(header, "{\"", 2);
    memcpy(header + bytes - 5, "\":{}}", 5);
    assert_false(parse(make_file(header, bytes, 0)));
    assert_non_null(strstr(message, "a tensor's name has 4194297 bytes; "));
    const char *entry = "\"a\":" F32("[0]", 0, 0) ",";
    size_t at = 1;
    for (; at + strlen(entry) < bytes; at += strlen(entry))
        memcpy(header + at, entry, strlen(entry));
    header[at - 1] = '}';
    header[at] = '\0';
    assert_false(parse(make_file(header, at, 0)));
    assert_non_null(strstr(message, "tensor a is there twice; "));
    free(header);
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

static const char damaged[] = "{\"__metadata__\":{\"format\":\"pt\"},\"a.weight\":" F32(
    "[2,3]", 0, 24) ",\"a.bias\":"
                    "{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[24,28]}}";

TEST(every_cut_is_refused) {
    firnc_bytes whole = make_file(damaged, strlen(damaged), 28);
    for (uint64_t count = 0; count < whole.count; count++) {
        firnc_bytes cut = {.data = malloc(count == 0 ? 1 : (size_t)count), .count = count};
        assert_non_null(cut.data);
        memcpy(cut.data, whole.data, (size_t)count);
        assert_false(parse(cut));
    }
    assert_true(parse(whole));
}

/* A bit of the header that changes is refused, or changes a name, a number or a dtype into another that fits. */
TEST(every_changed_bit_is_harmless) {
    const firnc_mark mark = firnc_memory_mark();
    for (uint64_t bit = 0; bit < 8 * (8 + strlen(damaged)); bit++) {
        firnc_bytes file = make_file(damaged, strlen(damaged), 28);
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        (void)parse(file);
        firnc_memory_release(mark);
    }
}

/* --- a model ------------------------------------------------------------------------------------------------------ */

static firnc_weight_parameter parameters[] = {
    {"a.bias", {.type = FIRN_FLOAT32, .rank = 1, .dims = {2}}, false},
    {"a.weight", {.type = FIRN_FLOAT32, .rank = 2, .dims = {2, 3}}, false},
};

/* Writes a file with this header and these values, and opens it for the parameters above. */
static bool open_file(firnc_weights *weights, firnc_job *job, const char *header, const void *values, size_t bytes) {
    firnc_bytes file = make_file(header, strlen(header), bytes);
    memcpy(file.data + file.count - bytes, values, bytes);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(file.data, 1, (size_t)file.count, out), file.count);
    assert_int_equal(fclose(out), 0);
    free(file.data);
    job->weights = path;
    messages = 0;
    return firnc_weights_open(weights, job, parameters, 2);
}

static firnc_job *make_job(void) {
    firnc_job *job = firnc_allocate(sizeof *job);
    firnc_job_defaults(job, FIRNC_TRAIN);
    return job;
}

static void expect_values(const firnc_weights *weights, uint32_t parameter, const float *wanted, uint32_t count) {
    float values[16] = {0};
    if (!firnc_weights_read(weights, parameter, values))
        fail_msg("%s", message);
    for (uint32_t i = 0; i < count; i++)
        if (values[i] != wanted[i])
            fail_msg("element %u of parameter %u is %g, not %g", (unsigned)i, (unsigned)parameter, (double)values[i],
                     (double)wanted[i]);
}

TEST(elements_find_their_places) {
    static const float values[] = {0, 1, 2, 3, 4, 5, 10, 20};
    static const firnc_weight_rule rules[] = {
        {.parameter = "*.weight", .tensors = {"x.*.one", "x.*.two"}, .sizes = {1, 2}, .transpose = true},
    };
    firnc_weights weights;
    firnc_job *job = make_job();
    assert_true(open_file(&weights, job, "{\"a.weight\":" F32("[2,3]", 0, 24) ",\"a.bias\":" F32("[2]", 24, 32) "}",
                          values, 32));
    expect_values(&weights, 0, (const float[]){10, 20}, 2);
    expect_values(&weights, 1, values, 6);
    job->weight_map = (firnc_weight_map){rules, 1};
    assert_true(open_file(
        &weights, job,
        "{\"x.a.one\":" F32("[1,2]", 0, 8) ",\"x.a.two\":" F32("[2,2]", 8, 24) ",\"a.bias\":" F32("[2]", 24, 32) "}",
        values, 32));
    expect_values(&weights, 1, (const float[]){0, 2, 4, 1, 3, 5}, 6);
}

/* Asserts where the elements of a single tensor are that has the values 0, 1, 2 and so on, and that they find their way
 * back. */
static void expect_order(const firnc_weight_rule *rule, firn_shape shape, const uint64_t *tensor_dims,
                         const float *wanted) {
    const firnc_weight_parameter parameter = {"p", shape, false};
    const uint64_t elements = firnc_weight_elements(&parameter);
    firnc_weight_layout layout;
    float file[64], values[64], back[64];
    for (uint64_t i = 0; i < elements; i++)
        file[i] = (float)i;
    if (!firnc_weight_layout_make(&layout, make_job(), rule, &parameter))
        fail_msg("%s", message);
    assert_int_equal(layout.rank, shape.rank);
    assert_memory_equal(layout.dims[0], tensor_dims, shape.rank * sizeof *tensor_dims);
    firnc_weight_put(&layout, 0, file, values);
    assert_memory_equal(values, wanted, (size_t)elements * sizeof *values);
    firnc_weight_take(&layout, 0, back, values);
    assert_memory_equal(back, file, (size_t)elements * sizeof *back);
}

TEST(axes_change_their_order) {
    /* query, key and value of two heads of two elements, head by head, as the rows of a matrix of one column */
    const firnc_weight_rule heads = {.parameter = "*",
                                     .tensors = {"*"},
                                     .order = {1, 0, 2, 3},
                                     .order_count = 4,
                                     .shape = {2, 3, 2, FIRNC_WEIGHT_REST},
                                     .shape_count = 4};
    expect_order(&heads, (firn_shape){.type = FIRN_FLOAT32, .rank = 2, .dims = {12, 1}}, (const uint64_t[]){12, 1},
                 (const float[]){0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11});
    /* a convolution [O,C,rows,columns] for channels last */
    const firnc_weight_rule channels = {.parameter = "*", .tensors = {"*"}, .order = {0, 2, 3, 1}, .order_count = 4};
    expect_order(&channels, (firn_shape){.type = FIRN_FLOAT32, .rank = 4, .dims = {2, 1, 2, 3}},
                 (const uint64_t[]){2, 3, 1, 2}, (const float[]){0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11});
    /* the same heads, transposed: [12, 2] there, [2, 12] here */
    const firnc_weight_rule both = {.parameter = "*",
                                    .tensors = {"*"},
                                    .transpose = true,
                                    .order = {0, 2, 1, 3},
                                    .order_count = 4,
                                    .shape = {2, 2, 3, FIRNC_WEIGHT_REST},
                                    .shape_count = 4};
    expect_order(&both, (firn_shape){.type = FIRN_FLOAT32, .rank = 2, .dims = {2, 12}}, (const uint64_t[]){12, 2},
                 (const float[]){0, 2, 12, 14, 4, 6, 16, 18, 8, 10, 20, 22, 1, 3, 13, 15, 5, 7, 17, 19, 9, 11, 21, 23});
    /* a vector stays as it is */
    const firnc_weight_rule matrix = {.parameter = "*", .tensors = {"*"}, .transpose = true};
    expect_order(&matrix, (firn_shape){.type = FIRN_FLOAT32, .rank = 1, .dims = {3}}, (const uint64_t[]){3},
                 (const float[]){0, 1, 2});
    expect_order(&matrix, (firn_shape){.type = FIRN_FLOAT32, .rank = 2, .dims = {3, 2}}, (const uint64_t[]){2, 3},
                 (const float[]){0, 3, 1, 4, 2, 5});
}

/* Rules that a C program may give. */
TEST(rules_that_do_not_fit_are_refused) {
    static const firnc_weight_parameter cube = {"p", {.type = FIRN_FLOAT32, .rank = 3, .dims = {2, 3, 4}}, false};
    static const struct {
        firnc_weight_rule rule;
        const char *says;
    } cases[] = {
        {{.parameter = "*", .tensors = {"*"}, .transpose = true}, "transpose is for matrices; "},
        {{.parameter = "*", .tensors = {"*"}, .order = {0, 2, 2}, .order_count = 3}, "each axis once; "},
        {{.parameter = "*", .tensors = {"*"}, .order = {0, 1, 3}, .order_count = 3}, "each axis once; "},
        {{.parameter = "*", .tensors = {"*"}, .order = {1, 0}, .order_count = 2}, "another number of axes; "},
        {{.parameter = "*",
          .tensors = {"*"},
          .order = {1, 0},
          .order_count = 2,
          .shape = {5, FIRNC_WEIGHT_REST},
          .shape_count = 2},
         "has other elements"},
        {{.parameter = "*", .tensors = {"*"}, .order = {1, 0}, .order_count = 2, .shape = {6, 2}, .shape_count = 2},
         "has other elements"},
        {{.parameter = "*", .tensors = {"*"}, .shape = {24}, .shape_count = 1}, "not as many extents"},
        {{.parameter = "*", .tensors = {"*"}, .axis = 3}, "an axis below"},
        {{.parameter = "*", .tensors = {"*", "b*"}, .axis = 1}, "sizes whose sum is 3"},
        {{.parameter = "*", .tensors = {"*"}, .sizes = {1}}, "sizes whose sum is 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        firnc_weight_layout layout;
        messages = 0;
        assert_false(firnc_weight_layout_make(&layout, make_job(), &cases[i].rule, &cube));
        assert_int_equal(messages, 1);
        if (strstr(message, cases[i].says) == NULL)
            fail_msg("'%s' is not in: %s", cases[i].says, message);
    }
}

TEST(stars_stand_for_parts) {
    static const struct {
        const char *pattern, *tensor, *name, *wanted; /* wanted NULL: no match */
    } cases[] = {
        {"*", "*", "a.b", "a.b"},
        {"h.*.x", "m.*", "h.12.x", "m.12"},
        {"h.*.x", "m.*", "h.12.xy", NULL},
        {"h.*.x", "m.*", "h..x", "m."},
        {"*.x.*", "*/*", "a.x.x.b", "a/x.b"},
        {"*x", "*", "axbx", "axb"},
        {"a*", "*", "", NULL},
        {"a", "b", "a", "b"},
        {"a", "b", "ab", NULL},
        {"*.a.*.b", "*-*", "1.a.2.b.a.3.b", "1-2.b.a.3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const firnc_weight_rule rule = {.parameter = cases[i].pattern, .tensors = {cases[i].tensor}};
        const char *names[FIRNC_WEIGHT_TENSORS_MAX];
        assert_int_equal(firnc_weight_names(&rule, cases[i].name, names), cases[i].wanted != NULL);
        if (cases[i].wanted != NULL)
            assert_string_equal(names[0], cases[i].wanted);
    }
}

TEST(a_file_must_fit_the_model) {
    static const float values[] = {0, 1, 2, 3, 4, 5, 10, 20};
    static const uint32_t infinity[] = {0, 0x7f800000};
    static const struct {
        const char *header, *says;
        size_t bytes;
    } files[] = {
        {"{\"a.weight\":" F32("[3,2]", 0, 24) ",\"a.bias\":" F32("[2]", 24, 32) "}",
         "tensor a.weight has shape [3, 2], and the model wants [2, 3] for its parameter a.weight; ", 32},
        {"{\"a.weight\":{\"dtype\":\"I32\",\"shape\":[2,3],\"data_offsets\":[0,24]},\"a.bias\":" F32("[2]", 24, 32) "}",
         "tensor a.weight: its dtype is I32, and not F32, F16 or BF16; ", 32},
        {"{\"a.weight\":" F32("[2,3]", 0, 24) "}", "1 of the parameters has no tensor: a.bias; ", 24},
        {"{\"a.weight\":" F32("[2,3]", 0, 24) ",\"a.bias\":" F32("[2]", 24, 32) ",\"\\u001b[1m\":" F32("[0]", 0, 0) "}",
         "1 of the tensors is no parameter: \\x1b[1m; ", 32},
    };
    firnc_weights weights;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        assert_false(open_file(&weights, make_job(), files[i].header, values, files[i].bytes));
        assert_int_equal(messages, 1);
        if (strstr(message, files[i].says) == NULL)
            fail_msg("'%s' is not in: %s", files[i].says, message);
    }
    firnc_job *job = make_job();
    job->allow_unmatched = true;
    assert_true(open_file(&weights, job, "{\"a.bias\":" F32("[2]", 0, 8) "}", infinity, sizeof infinity));
    assert_non_null(strstr(message, ": warning: 1 of the parameters has no tensor: a.weight; "));
    assert_true(firnc_weights_has(&weights, 0) && !firnc_weights_has(&weights, 1));
    float bias[2];
    messages = 0;
    assert_false(firnc_weights_read(&weights, 0, bias));
    assert_int_equal(messages, 1);
    assert_non_null(strstr(message, "tensor a.bias holds NaN or infinity; "));
}

/* The first of the rows that a file has apart is added to each row. */
TEST(rows_are_added) {
    static const float values[] = {0, 1, 2, 3, 4, 5, 10, 20, 100, 200, 300, 400, 500, 600};
    static const firnc_weight_rule rules[] = {
        {.kind = FIRNC_WEIGHT_ADDED, .parameter = "a.weight", .tensors = {"rows"}, .sizes = {2}}};
    firnc_weights weights;
    firnc_job *job = make_job();
    float read[6];
    job->model_weight_map = (firnc_weight_map){rules, 1};
    assert_true(open_file(
        &weights, job,
        "{\"a.weight\":" F32("[2,3]", 0, 24) ",\"a.bias\":" F32("[2]", 24, 32) ",\"rows\":" F32("[2,3]", 32, 56) "}",
        values, sizeof values));
    expect_values(&weights, 1, (const float[]){100, 201, 302, 103, 204, 305}, 6);
    assert_true(open_file(
        &weights, job,
        "{\"a.weight\":" F32("[2,3]", 0, 24) ",\"a.bias\":" F32("[2]", 24, 32) ",\"rows\":" F32("[3,2]", 32, 56) "}",
        values, sizeof values));
    assert_false(firnc_weights_read(&weights, 1, read));
    assert_int_equal(messages, 1);
    assert_non_null(strstr(message, "tensor rows is F32[3, 2], and the rows of parameter a.weight, "));
}

/* What is written is read again, with names that JSON must escape. */
TEST(written_files_are_read) {
    static const float values[] = {1, 2, 3, 4, 5, 6, -0.0F};
    const firnc_safetensors_entry entries[] = {
        {.name = "b\"\\", .rank = 2, .dims = {2, 3}, .values = values},
        {.name = "a", .rank = 1, .dims = {1}, .values = values + 6},
    };
    const firnc_bytes file = firnc_safetensors_make(entries, 2);
    firnc_safetensors parsed;
    float read[6];
    assert_true(firnc_safetensors_parse(&parsed, NAME, &file));
    assert_int_equal(parsed.count, 2);
    assert_int_equal((uintptr_t)(firnc_safetensors_find(&parsed, "b\"\\")->bytes - file.data) % 8, 0);
    assert_true(firnc_safetensors_values(&parsed, firnc_safetensors_find(&parsed, "b\"\\"), read));
    assert_memory_equal(read, values, sizeof read);
    assert_true(firnc_safetensors_values(&parsed, firnc_safetensors_find(&parsed, "a"), read));
    assert_memory_equal(read, values + 6, sizeof *read);
    assert_null(firnc_safetensors_find(&parsed, "c"));
}

/* --- several files ------------------------------------------------------------------------------------------------ */

static void write_beside(const char *ending, const void *bytes, size_t count) {
    FILE *file = fopen(firnc_format("%s%s", path, ending), "wb");
    assert_true(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

static void write_index(const char *text) {
    write_beside(".index.json", text, strlen(text));
}

static bool read_index(firnc_safetensors *parsed) {
    messages = 0;
    const bool good = firnc_safetensors_read(parsed, firnc_format("%s.index.json", path));
    assert_int_equal(messages, good ? 0 : 1);
    return good;
}

/* Two files, of tensors b and of a and c, and the indexes that do and do not fit them; 1 and 2 stand for their names.
 */
TEST(several_files_are_read_as_one) {
    static const float values[] = {1, 2, 3};
    static const char ends[][3] = {".1", ".2"};
    static const firnc_safetensors_entry one[] = {{.name = "b", .rank = 1, .dims = {1}, .values = values}};
    static const firnc_safetensors_entry other[] = {{.name = "a", .rank = 1, .dims = {1}, .values = values + 1},
                                                    {.name = "c", .rank = 1, .dims = {1}, .values = values + 2}};
    const firnc_bytes files[] = {firnc_safetensors_make(one, 1), firnc_safetensors_make(other, 2)};
    const char *base = strrchr(path, '/') + 1;
    for (int i = 0; i < 2; i++)
        write_beside(ends[i], files[i].data, (size_t)files[i].count);
    static const struct {
        const char *index, *says; /* NULL: it is read */
    } cases[] = {
        {"{\"metadata\":{\"total_size\":12},\n  \"weight_map\":{\"a\":\"2\",\"b\":\"1\",\"c\":\"2\"}}\n", NULL},
        {"{\"weight_map\":{\"a\":\"2\",\"c\":\"2\"}}", NULL},
        {"{\"weight_map\":{\"a\":\"2\",\"b\":\"1\"}}", "tensor c is in "},
        {"{\"weight_map\":{\"a\":\"2\",\"b\":\"2\",\"c\":\"2\"}}", "tensor b is not in "},
        {"{\"weight_map\":{\"a\":\"2\",\"b\":\"1\",\"c\":\"1\"}}", "where the index does not have it"},
        {"{\"weight_map\":{\"a\":\"2\",\"a\":\"2\",\"c\":\"2\"}}", "tensor a is there twice"},
        {"{\"weight_map\":{\"a\":\"2\",\"b\":\"1\",\"c\":\"2\",\"d\":\"2\"}}", "tensor d is not in "},
        {"{\"weight_map\":{\"a\":\"../2\"}}", "a name without a folder"},
        {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "a name without a folder"},
        {"{\"weight_map\":{\"a\":\"..\"}}", "a name without a folder"},
        {"{\"weight_map\":{\"a\":2}}", "a name without a folder"},
        {"{\"weight_map\":{\"a\":\"absent.safetensors\"}}", "absent.safetensors"},
        {"{\"weight_map\":{}}", "its weight_map is empty"},
        {"{\"weight_map\":[]}", "is no index"},
        {"{\"metadata\":{}}", "is no index"},
        {"{\"weight_map\":{\"a\":\"2\"},\"x\":1}", "is no index"},
        {"{\"weight_map\":{\"a\":\"2\"}} x", "is no index"},
        {"[]", "is no index"},
        {"", "is no index"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        firnc_safetensors parsed;
        firnc_growing_text text = {0};
        firnc_text_add(&text, "", 0);
        for (const char *c = cases[i].index; *c != '\0'; c++) { /* a file's name is "1" or "2" in quotes */
            const bool names = (*c == '1' || *c == '2') && c[1] == '"' && (c[-1] == '"' || c[-1] == '/');
            const char *name = firnc_format("%s%s", base, ends[*c == '2']);
            firnc_text_add(&text, names ? name : c, names ? strlen(name) : 1);
        }
        write_index(text.text);
        if (read_index(&parsed) != (cases[i].says == NULL))
            fail_msg("case %zu: %s", i, message);
        if (cases[i].says != NULL && strstr(message, cases[i].says) == NULL)
            fail_msg("'%s' is not in: %s", cases[i].says, message);
        float value = 0;
        if (cases[i].says == NULL) {
            assert_true(firnc_safetensors_values(&parsed, firnc_safetensors_find(&parsed, "c"), &value));
            assert_true(value == 3);
        }
    }
    remove(firnc_format("%s.1", path));
    remove(firnc_format("%s.2", path));
    remove(firnc_format("%s.index.json", path));
}

/* A rule that comes too late changes nothing, and that is said once. */
TEST(a_rule_that_comes_too_late_is_warned_of) {
    static const float values[8];
    static const firnc_weight_rule rules[] = {{.parameter = "a.*", .tensors = {"x.*"}},
                                              {.parameter = "a.bias", .tensors = {"y"}}};
    firnc_job *job = make_job();
    firnc_weights weights;
    job->weight_map = (firnc_weight_map){rules, 2};
    assert_true(open_file(&weights, job, "{\"x.weight\":" F32("[2,3]", 0, 24) ",\"x.bias\":" F32("[2]", 24, 32) "}",
                          values, sizeof values));
    assert_int_equal(messages, 1);
    assert_non_null(strstr(message, "warning: every parameter that matches \"a.bias\" has a rule before this one"));
}
