/* Tests that our FlatBuffers code agrees with flatc: flatc prints every field of what we write as we read it, we read
 * every field of what flatc writes, and plan/generated matches the schema. Runs from the root of the repository.
 *
 * Needs: oracle */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

#include "plan/checks/verifier.h"
#include "plan/errors.h"
#include "plan/generated/words.h"
#include "plan/ops.h"
#include "plan/signature.h"
#include "tests/unit/plan_walk.h"
#include "tests/unit/sample_plan.h"

/* The generator, linked as a function so that it runs under the sanitizers. */
int generate_main(int argument_count, char **arguments);
#define main generate_main
#include "plan/generate/binary.c"
#include "plan/generate/listing.c"
#include "plan/generate/main.c"
#include "plan/generate/marks.c"
#include "plan/generate/op_output.c"
#include "plan/generate/op_rows.c"
#include "plan/generate/output.c"
#include "plan/generate/program.c"
#include "plan/generate/reader.c"
#include "plan/generate/schema.c"
#include "plan/generate/since.c"
#include "plan/generate/tables.c"
#include "plan/generate/words.c"
#include "plan/generate/writer.c"
#include "tests/unit/support_share.h"
#include "tests/unit/support_test.h"
#undef main

/* The generator has limits of its own, because plan/ops.h includes generated code. */
_Static_assert((int)OP_OPERANDS_MAX == FIRN_INPUTS_MAX && (int)OP_OPERANDS_MAX == FIRN_OUTPUTS_MAX, "as in plan/ops.h");
_Static_assert((int)OP_ATTRIBUTES_MAX == FIRN_ATTRIBUTES_MAX, "as in plan/ops.h");
_Static_assert((int)OP_REDUCTIONS_MAX == FIRN_REDUCTIONS_MAX, "as in plan/ops.h");
_Static_assert((int)OP_LETTERS_MAX == (int)FIRN_LETTERS, "as in plan/ops.h");
_Static_assert((int)OP_EXTENT_MAX + 1 == (int)FIRN_EXTENT_LETTER, "as in plan/ops.h");
_Static_assert((int)OP_NONE == FIRN_NONE_OF_THEM && (int)OP_NONE == FIRN_FRESH, "as in plan/ops.h");

static char folder[64];

BEFORE_ALL {
    strcpy(folder, P_tmpdir "/firn-flatc-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

/* Runs a command; every %s is replaced by the folder. */
static void run(const char *format) {
    char command[512];
    snprintf(command, sizeof command, format, folder, folder, folder, folder);
    int status = system(command);
    if (status != 0)
        fail_msg("exit status %d from: %s", status, command);
}

AFTER_ALL {
    run("rm -r %s");
}

/* Returns a file followed by a zero byte, in memory aligned to 64. */
static uint8_t *read_file(const char *name, size_t *count) {
    FILE *file = fopen(name, "rb");
    if (file == NULL)
        fail_msg("cannot read %s", name);
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 64, 1 << 20), 0);
    *count = fread(memory, 1, (1 << 20) - 1, file);
    fclose(file);
    ((uint8_t *)memory)[*count] = 0;
    return memory;
}

static uint8_t *read_from_folder(const char *name, size_t *count) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return read_file(path, count);
}

/* --- our reading, as JSON without white space --------------------------------------------------------------------- */

static char json[1 << 16];
static size_t json_bytes;

static void print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(json + json_bytes, sizeof json - json_bytes, format, arguments);
    va_end(arguments);
    assert_in_range(count, 0, sizeof json - json_bytes - 1);
    json_bytes += (size_t)count;
}

static void print_name(const char *name) {
    if (json_bytes != 0 && json[json_bytes - 1] != '{' && json[json_bytes - 1] != '[')
        print(",");
    if (name != NULL)
        print("\"%s\":", name);
}

static void print_open(void *context, const char *name, char bracket) {
    (void)context;
    print_name(name);
    print("%c", bracket);
}

static void print_close(void *context, char bracket) {
    (void)context;
    print("%c", bracket);
}

static void print_integer(void *context, const char *name, int64_t value) {
    (void)context;
    print_name(name);
    print("%lld", (long long)value);
}

static void print_natural(void *context, const char *name, uint64_t value) {
    (void)context;
    print_name(name);
    print("%llu", (unsigned long long)value);
}

static void print_choice(void *context, const char *name, const char *word, uint64_t value) {
    (void)context, (void)value;
    print_name(name);
    print("\"%s\"", word);
}

static void print_truth(void *context, const char *name, bool value) {
    (void)context;
    print_name(name);
    print("%s", value ? "true" : "false");
}

/* Prints decimals as flatc does: without trailing zeros, but with at least one digit. The sample contains no value that
 * this would round. */
static void print_decimals(double value) {
    print("%.6f", value);
    while (json[json_bytes - 1] == '0' && json[json_bytes - 2] != '.')
        json_bytes--;
}

static void print_single(void *context, const char *name, float value) {
    (void)context;
    print_name(name);
    print_decimals((double)value);
}

static void print_real(void *context, const char *name, double value) {
    (void)context;
    print_name(name);
    print_decimals(value);
}

static void print_text(void *context, const char *name, const char *value, uint32_t length) {
    (void)context;
    print_name(name);
    print("\"");
    for (uint32_t i = 0; i < length; i++)
        print(value[i] == '"' || value[i] == '\\' ? "\\%c" : "%c", value[i]);
    print("\"");
    assert_int_equal(value[length], 0);
}

static const walk_sink printer = {NULL,         print_open,  print_close,  print_integer, print_natural,
                                  print_choice, print_truth, print_single, print_real,    print_text};

static const char *json_of(const uint8_t *buffer) {
    json_bytes = 0;
    plan_walk(firn_fb_plan_root(buffer), &printer);
    json[json_bytes] = 0;
    return json;
}

static void remove_white_space(char *text) {
    bool quoted = false, escaped = false;
    char *to = text;
    for (const char *from = text; *from != 0; from++) {
        if (*from == '"' && !escaped)
            quoted = !quoted;
        escaped = *from == '\\' && !escaped;
        if (quoted || strchr(" \t\r\n", *from) == NULL)
            *to++ = *from;
    }
    *to = 0;
}

/* --- the tests ---------------------------------------------------------------------------------------------------- */

static void write_to_folder(const char *name, const uint8_t *data, size_t count) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* Converts a plan of ours to JSON and back with flatc; all three texts must be equal. */
static void expect_agreement(const firn_native_plan *native) {
    size_t count = 0, json_count = 0, theirs_count = 0;
    uint8_t *ours = firn_native_write(native, &count);
    assert_non_null(ours);
    assert_int_equal(firn_fb_verify(ours, count), FIRN_OK);
    write_to_folder("ours.plan", ours, count);
    run("flatc -t --json --strict-json --raw-binary --defaults-json -o %s plan/plan.fbs -- %s/ours.plan");
    run("mkdir -p %s/theirs && flatc -b -o %s/theirs plan/plan.fbs %s/ours.json");

    char *printed = (char *)read_from_folder("ours.json", &json_count);
    remove_white_space(printed);
    assert_string_equal(json_of(ours), printed);

    uint8_t *theirs = read_from_folder("theirs/ours.plan", &theirs_count);
    assert_int_equal(firn_fb_verify(theirs, theirs_count), FIRN_OK);
    assert_string_equal(json_of(theirs), printed);
    free(ours);
    free(printed);
    free(theirs);
}

TEST(flatc_reads_what_we_write_and_we_read_what_it_writes) {
    expect_agreement(&sample_plan);
}

TEST(so_also_where_much_is_left_out) {
    firn_native_plan small = sample_plan;
    small.schedule_nodes = NULL;
    small.schedule_nodes_count = small.schedules_count = small.outputs_count = small.origin_count = 0;
    small.metrics_count = 0;
    small.check_loss = true;
    small.micro_batches = 1;
    small.seed = small.steps = small.finite = 0;
    small.loss = small.learning_rate = small.loss_scale = small.gradient_norm = UINT32_MAX;
    expect_agreement(&small);
}

/* The sample must set every field of every table and struct, so that the comparison above covers all of them. */
TEST(the_sample_gives_every_field) {
    size_t listing_count = 0, count = 0;
    char *text = (char *)read_file("plan/generated/schema.txt", &listing_count), key[64], rest[8];
    uint8_t *ours = firn_native_write(&sample_plan, &count);
    bool in_record = false;
    unsigned fields = 0;
    json_of(ours);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (line[0] != ' ')
            in_record = strncmp(line, "table ", 6) == 0 || strncmp(line, "struct ", 7) == 0;
        if (line[0] != ' ' || !in_record)
            continue;
        key[0] = '"';
        assert_int_equal(sscanf(line, "%*u %61s %7s", key + 1, rest), 2);
        strcat(key, "\":");
        if (strstr(json, key) == NULL)
            fail_msg("the sample has no field %s", key);
        fields++;
    }
    assert_true(fields > 100);
    free(text);
    free(ours);
}

TEST(the_same_values_give_the_same_bytes) {
    size_t first_count = 0, second_count = 0;
    uint8_t *first = firn_native_write(&sample_plan, &first_count);
    void *disturbance = malloc(12345);
    uint8_t *second = firn_native_write(&sample_plan, &second_count);
    assert_int_equal(first_count, second_count);
    assert_memory_equal(first, second, first_count);
    free(first);
    free(disturbance);
    free(second);
}

TEST(the_writer_refuses_what_the_schema_forbids) {
    size_t count = 0;
    char name[202];
    firn_native_plan bad = sample_plan;
    bad.sampler = NULL;
    assert_null(firn_native_write(&bad, &count));
    bad = sample_plan;
    firn_native_input input = sample_plan.inputs[0];
    bad.inputs = &input;
    bad.inputs_count = 1;
    input.name = "";
    assert_null(firn_native_write(&bad, &count));
    input.name = NULL;
    assert_null(firn_native_write(&bad, &count));
    memset(name, 'n', sizeof name);
    name[201] = 0;
    input.name = name;
    assert_null(firn_native_write(&bad, &count));
    name[200] = 0;
    uint8_t *longest = firn_native_write(&bad, &count);
    assert_non_null(longest);
    assert_int_equal(firn_fb_verify(longest, count), FIRN_OK);
    free(longest);
    bad = sample_plan;
    bad.phases_count = 8; /* one more than plan.fbs allows */
    assert_null(firn_native_write(&bad, &count));
}

/* What is not state has no name; an empty one is left out, too. */
TEST(a_name_may_be_left_out) {
    size_t count = 0, empty_count = 0;
    firn_native_tensor tensor = sample_plan.tensors[0];
    firn_native_plan nameless = sample_plan;
    nameless.tensors = &tensor;
    nameless.tensors_count = 1;
    tensor.name = NULL;
    uint8_t *ours = firn_native_write(&nameless, &count);
    assert_non_null(ours);
    assert_int_equal(firn_fb_verify(ours, count), FIRN_OK);
    const firn_fb_tensor read = firn_fb_plan_tensors_at(firn_fb_plan_root(ours), 0);
    assert_int_equal(firn_fb_tensor_name_length(read), 0);
    assert_string_equal(firn_fb_tensor_name(read), "");
    tensor.name = "";
    uint8_t *empty = firn_native_write(&nameless, &empty_count);
    assert_non_null(empty);
    assert_int_equal(empty_count, count);
    assert_memory_equal(empty, ours, count);
    free(empty);
    free(ours);
}

/* Generates from a copy with another name and path, neither of which may appear in the result. */
TEST(generated_code_is_what_the_schema_gives) {
    static const char *const names[] = {"schema.txt", "reader.h", "tables.c", "tables.h",   "words.c",    "words.h",
                                        "writer.c",   "writer.h", "OPS.md",   "operands.h", "op_table.c", "op_words.c",
                                        "op_since.c", "since.c",  "since.h",  "version.h"};
    char schema[96], generated_name[128], checked_in_name[64];
    uint8_t hash[32];
    run("mkdir %s/generated && cp plan/plan.fbs %s/other.fbs && flatc -b --schema --bfbs-builtins --bfbs-comments "
        "-o %s %s/other.fbs");
    snprintf(schema, sizeof schema, "%s/other.bfbs", folder);
    snprintf(generated_name, sizeof generated_name, "%s/generated", folder);
    char *arguments[] = {(char[]){"generate"}, schema, generated_name, NULL};
    assert_int_equal(generate_main(3, arguments), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t fresh_count = 0, count = 0;
        snprintf(generated_name, sizeof generated_name, "%s/generated/%s", folder, names[i]);
        snprintf(checked_in_name, sizeof checked_in_name, "plan/generated/%s", names[i]);
        char *fresh = (char *)read_file(generated_name, &fresh_count);
        char *checked_in = (char *)read_file(checked_in_name, &count);
        if (strcmp(fresh, checked_in) != 0)
            fail_msg("%s is not what plan/plan.fbs and plan/ops.def give; run make generate", checked_in_name);
        if (i == 0) {
            assert_int_equal(firn_sha256_of(fresh, fresh_count, hash), FIRN_OK);
            assert_memory_equal(hash, firn_schema_hash, sizeof hash);
        }
        free(fresh);
        free(checked_in);
    }
}

/* A value outside its enumeration must not be used as an index into the words. */
TEST(enumerators_have_words) {
    assert_string_equal(firn_fb_phase_kind_word(FIRN_FB_PHASE_KIND_MICRO_BATCH), "micro_batch");
    assert_string_equal(firn_fb_phase_kind_word(FIRN_FB_PHASE_KIND_EVALUATE), "evaluate");
    assert_string_equal(firn_fb_phase_kind_word(FIRN_FB_PHASE_KIND_COUNT), "count");
    assert_string_equal(firn_fb_phase_kind_word(FIRN_FB_PHASE_KIND_COUNT + 1), "?");
    assert_string_equal(firn_fb_schedule_kind_word(FIRN_FB_SCHEDULE_KIND_PRODUCT), "product");
    assert_string_equal(firn_fb_schedule_kind_word(UINT16_MAX), "?");
}

/* Runs the generator in a separate process, because it never frees its input and exits when it refuses a schema. */
static int generate_apart(const char *schema, const char *directory) {
    fflush(NULL);
    pid_t process = fork();
    if (process == 0) {
        char name[] = "generate", schema_name[128], directory_name[128];
        snprintf(schema_name, sizeof schema_name, "%s", schema);
        snprintf(directory_name, sizeof directory_name, "%s", directory);
        char *arguments[] = {name, schema_name, directory_name, NULL};
        _exit(freopen("/dev/null", "w", stderr) == NULL ? 99 : generate_main(3, arguments));
    }
    int status = 0;
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A binary schema with one very large number may be accepted or refused, but the generator must not read beyond the
 * file. */
TEST(the_generator_survives_damage) {
    static const char text[] =
        "namespace firn; attribute \"max\"; file_identifier \"FIRN\";\n"
        "enum Kind : ubyte { one, two } struct Pair { a:uint; b:uint; } table Part { a:Kind; p:Pair; }\n"
        "table Plan { a:uint; b:[Part] (max: 3); c:Part; d:[Pair] (max: 2); }\nroot_type Plan;\n";
    char schema[128], directory[128];
    snprintf(schema, sizeof schema, "%s/damaged.bfbs", folder);
    snprintf(directory, sizeof directory, "%s/damaged", folder);
    run("mkdir %s/damaged");
    write_to_folder("damaged.fbs", (const uint8_t *)text, sizeof text - 1);
    run("flatc -b --schema --bfbs-builtins --bfbs-comments -o %s %s/damaged.fbs");
    size_t count = 0, refused = 0;
    uint8_t *bytes = read_file(schema, &count);
    assert_int_equal(generate_apart(schema, directory), 0);
    for (size_t at = 3; at < count; at += 4) {
        if (!support_takes_next())
            continue;
        uint8_t before = bytes[at];
        bytes[at] = 0x7f;
        write_to_folder("damaged.bfbs", bytes, count);
        int status = generate_apart(schema, directory);
        assert_true(status == 0 || status == 1);
        refused += status == 1;
        bytes[at] = before;
    }
    assert_true(refused > 20 / support_every());
    free(bytes);
}

/* A schema that the verifier's tables cannot express must be refused. */
TEST(the_generator_refuses_what_it_does_not_know) {
    static const char head[] = "namespace firn; attribute \"max\"; attribute \"finite\"; attribute \"ascii\"; "
                               "attribute \"odd\"; file_identifier \"FIRN\";\n";
    static const struct {
        const char *text;
        int status;
    } schemas[] = {
        {"table Plan { a:uint; b:string (max: 3, ascii); c:[float] (max: 2, finite); }", 0},
        {"table Plan { a:string; }", 1},
        {"table Plan { a:[uint]; }", 1},
        {"table Plan { a:[uint] (max: 0); }", 1},
        {"table Plan { a:[uint] (max: 65537); }", 1},
        {"table Plan { a:uint (max: 3); }", 1},
        {"table Plan { a:uint (finite); }", 1},
        {"table Plan { a:[uint] (max: 3, ascii); }", 1},
        {"table Plan { a:uint (odd); }", 1},
        {"table Plan { a:uint (deprecated); }", 1},
        {"table Plan { a:uint = null; }", 1},
        {"table Plan { a:[string] (max: 3); }", 1},
        {"table Plan { a:[ubyte] (max: 8, nested_flatbuffer: \"Plan\"); }", 1},
        {"table Plan { a:string (key, max: 3); }", 1},
        {"table Plan { a:Plan; }", 1},
        {"table Other { a:uint; } union Any { Other } table Plan { a:Any; }", 1},
        {"enum Kind : ubyte { one = 1, two } table Plan { a:Kind = one; }", 1},
        {"enum Kind : ubyte (bit_flags) { one, two } table Plan { a:Kind; }", 1},
        {"enum Kind : int { one, two } table Plan { a:Kind; }", 1},
        {"struct Pair { a:ubyte; b:uint; } table Plan { a:Pair; }", 1},
        {"struct Pair (force_align: 16) { a:ulong; b:ulong; } table Plan { a:Pair; }", 1},
        {"struct Pair { a:[ubyte:4]; } table Plan { a:Pair; }", 1},
        {"struct In { a:uint; } struct Pair { a:In; } table Plan { a:Pair; }", 1},
        {"namespace other; table Far { a:uint; } namespace firn; table Plan { a:other.Far; }", 1},
    };
    char schema[128], directory[128], text[1024];
    snprintf(schema, sizeof schema, "%s/bad.bfbs", folder);
    snprintf(directory, sizeof directory, "%s/refused", folder);
    run("mkdir %s/refused");
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
        int count = snprintf(text, sizeof text, "%s%s\nroot_type Plan;\n", head, schemas[i].text);
        write_to_folder("bad.fbs", (const uint8_t *)text, (size_t)count);
        run("flatc -b --schema --bfbs-builtins -o %s %s/bad.fbs");
        if (generate_apart(schema, directory) != schemas[i].status)
            fail_msg("not expected of: %s", schemas[i].text);
    }
}
