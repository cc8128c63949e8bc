/* A call of the compiler (compiler/base/perform.h) never ends the process and leaves nothing behind: no memory, no open
 * file, no temporary file. Here each allocation of a compilation fails in turn, those of the C library's users libyaml,
 * cJSON and mbedTLS included, and recipes are refused at each of their lines. */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/base/perform.h"
#include "compiler/firnc.h"
#include "compiler/recipe/recipe.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_test.h"

/* --- the memory of this program ----------------------------------------------------------------------------------- */

static atomic_long live, made; /* blocks that are allocated, and allocations so far */
static long fails_at = -1;     /* the allocation that fails, counted as `made` is; -1: none */
static bool fails_on;          /* all behind it fail, too */

#if defined(__SANITIZE_ADDRESS__)
/* The sanitizer has its own functions here, and looks for leaks itself. */
static const bool is_counted = false;
#else
static const bool is_counted = true;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

static bool fails(void) {
    const long number = made++;
    if (fails_at < 0 || number < fails_at || (!fails_on && number > fails_at))
        return false;
    errno = ENOMEM;
    return true;
}

static void *counted(void *memory) {
    live += memory != NULL;
    return memory;
}

void *malloc(size_t bytes) {
    return fails() ? NULL : counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes) {
    return fails() ? NULL : counted(__libc_calloc(count, bytes));
}

void *realloc(void *memory, size_t bytes) {
    if (fails())
        return NULL;
    void *larger = __libc_realloc(memory, bytes);
    live += memory == NULL && larger != NULL;
    return larger;
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return fails() ? NULL : counted(__libc_memalign(alignment, bytes));
}

void free(void *memory) {
    live -= memory != NULL;
    __libc_free(memory);
}
#endif

/* --- a compilation ------------------------------------------------------------------------------------------------ */

static char folder[] = "/tmp/firn-perform-XXXXXX";
static char recipe_name[64], key_name[64], plan_names[2][64];

static const char recipe_text[] = "trainer:\n"
                                  "  init:\n"
                                  "    seed: 5\n"
                                  "    model:\n"
                                  "      name: mlp\n"
                                  "      input_size: 6\n"
                                  "      hidden_sizes: [5]\n"
                                  "      output_size: 3\n"
                                  "    optimizer:\n"
                                  "      SGD:\n"
                                  "        momentum: 0.9\n"
                                  "    schedulers:\n"
                                  "      - ConstantLR:\n"
                                  "          learning_rate: 0.05\n"
                                  "    loop:\n"
                                  "      num_steps: 40\n"
                                  "  fit:\n"
                                  "    train_dataloader:\n"
                                  "      batch_size: 8\n";

static bool make_key(void *argument) {
    (void)argument;
    firnc_key key;
    firnc_bytes private_pem, public_pem;
    return firnc_key_generate(&key) && firnc_key_encode(&key, &private_pem, &public_pem) &&
           firnc_file_write(key_name, private_pem.data, private_pem.count);
}

static void write_text(const char *name, const char *text, size_t count) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fwrite(text, 1, count, file) == count && fclose(file) == 0);
}

static char said[4096];
static unsigned messages;

static void keep(void *context, const char *line) {
    (void)context;
    snprintf(said, sizeof said, "%s", line);
    messages++;
}

static char told[4096]; /* to the default */

static void keep_by_default(void *context, const char *line) {
    assert_null(context);
    snprintf(told, sizeof told, "%s", line);
}

BEFORE_ALL {
    firnc_messages_by_default(keep_by_default);
    assert_non_null(mkdtemp(folder));
    snprintf(recipe_name, sizeof recipe_name, "%s/recipe.yaml", folder);
    snprintf(key_name, sizeof key_name, "%s/key.pem", folder);
    for (int i = 0; i < 2; i++)
        snprintf(plan_names[i], sizeof plan_names[i], "%s/%d.plan", folder, i);
    write_text(recipe_name, recipe_text, sizeof recipe_text - 1);
    assert_int_equal(firnc_perform(make_key, NULL, keep, NULL), FIRNC_DONE);
}

AFTER_ALL {
    unlink(recipe_name);
    unlink(key_name);
    unlink(plan_names[0]);
    unlink(plan_names[1]);
    assert_int_equal(rmdir(folder), 0);
}

/* Compiles the recipe, and writes the plan twice, as the files of a set. */
static bool compile(void *argument) {
    (void)argument;
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    firnc_key key;
    firnc_frozen plan;
    if (!firnc_recipe_read(recipe, recipe_name, FIRNC_TRAIN, NULL, 0) || !firnc_key_read(key_name, &key) ||
        !firnc_freeze_plan(firnc_recipe_build(recipe), &recipe->job, &key, NULL, &plan))
        return false;
    const firnc_file files[2] = {{plan_names[0], plan.file}, {plan_names[1], plan.file}};
    return firnc_files_write(files, 2);
}

/* The lowest descriptor that is free. */
static int next_descriptor(void) {
    const int file = dup(0);
    close(file);
    return file;
}

static unsigned files_in_folder(void) {
    DIR *open = opendir(folder);
    unsigned count = 0;
    assert_non_null(open);
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open))
        count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

/* Returns how many allocations it made. */
static long perform(firnc_outcome *outcome) {
    const long before = made;
    messages = 0;
    *outcome = firnc_perform(compile, NULL, keep, NULL);
    return made - before;
}

/* The recipe with one of two seeds, which are plans of other bytes. */
static void write_recipe(bool other) {
    char text[sizeof recipe_text];
    memcpy(text, recipe_text, sizeof text);
    strstr(text, "seed: ")[strlen("seed: ")] = other ? '6' : '5';
    write_text(recipe_name, text, sizeof text - 1);
}

static char *read_plan(int number, size_t *count) {
    static char bytes[2][1 << 16];
    FILE *file = fopen(plan_names[number], "r");
    *count = file != NULL ? fread(bytes[number], 1, sizeof bytes[number], file) : 0;
    if (file != NULL)
        fclose(file);
    return bytes[number];
}

typedef struct plan_bytes {
    char bytes[1 << 16];
    size_t count;
} plan_bytes;

/* Both plans are there, and each has these bytes. */
static void check_plans(const plan_bytes *wanted) {
    for (int i = 0; i < 2; i++) {
        size_t has;
        const char *bytes = read_plan(i, &has);
        assert_int_equal(has, wanted->count);
        assert_memory_equal(bytes, wanted->bytes, has);
    }
}

/* Each compilation is of the seed that the plans that are there have not: both are replaced, or both stay. */
static void fail_each(bool on) {
    static plan_bytes wanted[2]; /* by seed */
    bool there = true;           /* the seed of the plans */
    long allocations = 0;
    firnc_outcome outcome;
    perform(&outcome); /* what the C library keeps for ever is made now */
    for (int seed = 0; seed < 2; seed++) {
        write_recipe(seed == 1);
        allocations = perform(&outcome);
        assert_int_equal(outcome, FIRNC_DONE);
        memcpy(wanted[seed].bytes, read_plan(0, &wanted[seed].count), sizeof wanted[seed].bytes);
    }
    assert_true(memcmp(wanted[0].bytes, wanted[1].bytes, sizeof wanted[0].bytes) != 0);
    for (long i = 0; i < allocations; i++) {
        if (!support_takes_next())
            continue;
        write_recipe(!there);
        const int descriptor = next_descriptor();
        const unsigned files = files_in_folder();
        const long blocks = live;
        fails_on = on;
        fails_at = made + i;
        perform(&outcome);
        fails_at = -1;
        if (live != blocks || next_descriptor() != descriptor || files_in_folder() != files)
            fail_msg("allocation %ld fails: %ld blocks are left, the next file is %d and was %d, %u files were %u", i,
                     live - blocks, next_descriptor(), descriptor, files_in_folder(), files);
        if (outcome != FIRNC_DONE && (messages == 0 || strncmp(said, "firnc: ", 7) != 0))
            fail_msg("allocation %ld fails without a message", i);
        if (outcome == FIRNC_DONE)
            assert_int_equal(messages, 0);
        there = outcome == FIRNC_DONE ? !there : there;
        check_plans(&wanted[there]);
    }
    write_recipe(false);
}

TEST(one_allocation_fails) {
    if (is_counted)
        fail_each(false);
}

TEST(all_allocations_from_one_on_fail) {
    if (is_counted)
        fail_each(true);
}

/* A recipe without one of its lines, and with each line broken. */
TEST(refused_recipes_leave_nothing) {
    static const char *const broken[] = {"", "  wrong: [1, 2\n", "\twrong\n", "    init: {name: &a x, seed: *b}\n"};
    firnc_outcome outcome;
    perform(&outcome);
    const long blocks = live;
    const int descriptor = next_descriptor();
    unsigned refused = 0;
    for (const char *line = recipe_text; *line != '\0'; line = strchr(line, '\n') + 1)
        for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
            char text[1024];
            const char *rest = strchr(line, '\n') + 1;
            const int length =
                snprintf(text, sizeof text, "%.*s%s%s", (int)(line - recipe_text), recipe_text, broken[i], rest);
            write_text(recipe_name, text, (size_t)length);
            perform(&outcome);
            assert_true(outcome == FIRNC_DONE || outcome == FIRNC_WRONG);
            refused += outcome == FIRNC_WRONG;
            assert_true(outcome == FIRNC_DONE || messages > 0);
            if (is_counted)
                assert_int_equal(live, blocks);
            assert_int_equal(next_descriptor(), descriptor);
        }
    assert_true(refused >= 24);
    write_text(recipe_name, recipe_text, sizeof recipe_text - 1);
}

static bool misuse(void *argument) {
    (void)argument;
    firnc_graph_create("");
    return true;
}

TEST(misuse_comes_back) {
    messages = 0;
    assert_int_equal(firnc_perform(misuse, NULL, keep, NULL), FIRNC_MISUSE);
    assert_int_equal(messages, 1);
    assert_non_null(strstr(said, "is a bug of the program"));
}

/* Memory of which a library does not say how much it needed. */
static bool exhaust(void *bytes) {
    firnc_out_of_memory(*(const uint64_t *)bytes);
}

TEST(memory_is_told_as_far_as_it_is_known) {
    messages = 0;
    assert_int_equal(firnc_perform(exhaust, &(uint64_t){7}, keep, NULL), FIRNC_MEMORY);
    assert_string_equal(said, "firnc: out of memory: 7 bytes more are needed; use a smaller model or a larger machine");
    assert_int_equal(firnc_perform(exhaust, &(uint64_t){0}, keep, NULL), FIRNC_MEMORY);
    assert_string_equal(said, "firnc: out of memory; use a smaller model or a larger machine");
    assert_int_equal(messages, 2);
}

static bool perform_again(void *outcome) {
    *(firnc_outcome *)outcome = firnc_perform(misuse, NULL, keep, NULL);
    return true;
}

static bool perform_again_by_default(void *outcome) {
    *(firnc_outcome *)outcome = firnc_perform(misuse, NULL, NULL, NULL);
    firnc_say("firnc: the receiver of the outer call stays");
    return true;
}

TEST(a_call_within_a_call_is_refused) {
    firnc_outcome inner;
    messages = 0;
    assert_int_equal(firnc_perform(perform_again, &inner, keep, NULL), FIRNC_DONE);
    assert_int_equal(inner, FIRNC_BUSY);
    assert_int_equal(messages, 1);
    assert_non_null(strstr(said, "from within its own work"));
}

TEST(a_call_within_a_call_is_told_by_default) {
    firnc_outcome inner;
    messages = 0;
    assert_int_equal(firnc_perform(perform_again_by_default, &inner, keep, NULL), FIRNC_DONE);
    assert_int_equal(inner, FIRNC_BUSY);
    assert_non_null(strstr(told, "from within its own work"));
    assert_int_equal(messages, 1);
    assert_string_equal(said, "firnc: the receiver of the outer call stays");
}

/* A recipe that was read in one call may be replaced in the next. */
static bool read_recipe(void *argument) {
    (void)argument;
    firnc_bytes bytes;
    return firnc_file_read(recipe_name, 1 << 16, &bytes);
}

static bool replace_recipe(void *argument) {
    (void)argument;
    return firnc_file_write(recipe_name, recipe_text, sizeof recipe_text - 1);
}

TEST(a_call_forgets_what_was_read) {
    assert_int_equal(firnc_perform(read_recipe, NULL, keep, NULL), FIRNC_DONE);
    assert_int_equal(firnc_perform(replace_recipe, NULL, keep, NULL), FIRNC_DONE);
}

static bool say_much(void *argument) {
    char long_text[3000];
    (void)argument;
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    long_text[1] = '\n';
    firnc_say("firnc: %s", long_text);
    return false;
}

TEST(a_long_message_is_whole) {
    assert_int_equal(firnc_perform(say_much, NULL, keep, NULL), FIRNC_WRONG);
    assert_int_equal(strlen(said), strlen("firnc: ") + 2999 + strlen("\\x0a") - 1);
    assert_non_null(strstr(said, "firnc: x\\x0ax"));
}
