/* Tests that the runtime never allocates: open, initialise, train, evaluate, save and restore run with an allocator
 * that aborts. This includes the signature check, whose library would normally allocate. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

static volatile int forbidden;

static void check(void) {
    if (forbidden)
        abort();
}

#if defined(__SANITIZE_ADDRESS__)

/* The address sanitizer replaces the allocator and calls these hooks. */
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
                                              void (*free_hook)(const volatile void *));

static void malloc_hook(const volatile void *memory, size_t bytes) {
    (void)memory;
    (void)bytes;
    check();
}

static void free_hook(const volatile void *memory) {
    (void)memory;
    check();
}

BEFORE_ALL {
    __sanitizer_install_malloc_and_free_hooks(malloc_hook, free_hook);
}

#else

/* Our functions replace those of the C library, which remain available under these names. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void __libc_free(void *memory);

void *malloc(size_t bytes) {
    check();
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    check();
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
    check();
    return __libc_realloc(memory, bytes);
}

void free(void *memory) {
    check();
    __libc_free(memory);
}

#endif

/* --- a checkpoint in memory --- */

static uint8_t stored[4096];

static int store_read(void *context, uint64_t offset, void *bytes, uint32_t count) {
    (void)context;
    memcpy(bytes, stored + offset, count);
    return 0;
}

static int store_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    (void)context;
    memcpy(stored + offset, bytes, count);
    return 0;
}

static int store_erase(void *context, uint64_t offset, uint64_t count) {
    (void)context;
    memset(stored + offset, 0xff, (size_t)count);
    return 0;
}

static int store_sync(void *context) {
    (void)context;
    return 0;
}

static const firn_storage storage = {.program_unit = 16,
                                     .erase_unit = 256,
                                     .capacity = sizeof stored,
                                     .erased_value = 0xff,
                                     .read = store_read,
                                     .program = store_program,
                                     .erase = store_erase,
                                     .sync = store_sync};
static const firn_port port = {.struct_size = sizeof(firn_port), .storage = &storage};

/* --- the run --- */

static signed_plan train_plan, eval_plan;
static opened one, two;
static bytes_source source;
static const uint8_t text[40] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};

static int train_and_save(void) {
    firn_step_report report;
    int status = support_open(&one, &train_plan, &port);
    if (status == FIRN_OK)
        status = firn_initialise(&one.firn);
    for (int i = 0; status == FIRN_OK && i < 5; i++)
        status = firn_train_step(&one.firn, &source.source, &report);
    return status == FIRN_OK ? firn_save(&one.firn) : status;
}

static int restore_and_evaluate(float *value) {
    int status = support_open(&two, &eval_plan, &port);
    if (status == FIRN_OK)
        status = firn_restore(&two.firn, NULL);
    for (int i = 0; status == FIRN_OK && i < 5; i++)
        status = firn_eval_step(&two.firn, &source.source);
    return status == FIRN_OK ? firn_eval_result(&two.firn, value) : status;
}

TEST(allocates_nothing) {
    const uint64_t lengths[] = {sizeof text, 0};
    support_bigram(&train_plan, &support_settings);
    support_bigram_eval(&eval_plan, &support_settings);
    support_text(&source, text, lengths);
    uint8_t digest[32];
    float value;
    forbidden = 1;
    int trained = train_and_save();
    int digested = firn_digest(&one.firn, digest);
    int evaluated = restore_and_evaluate(&value);
    eval_plan.file[FIRN_PAYLOAD_OFFSET - 1] ^= 1;
    int refused = support_open(&two, &eval_plan, &port);
    forbidden = 0;
    assert_int_equal(trained, FIRN_OK);
    assert_int_equal(digested, FIRN_OK);
    assert_int_equal(evaluated, FIRN_OK);
    assert_int_equal(refused, FIRN_ERROR_SIGNATURE);
}

/* The trap must work: an allocation while it is set ends the process. */
TEST(the_trap_works) {
    pid_t child = fork();
    if (child == 0) {
        forbidden = 1;
        void *volatile memory = malloc(16);
        _exit(memory == NULL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) > 1);
}
