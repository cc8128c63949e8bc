/* The program of the emulated targets: runs some steps of a plan and prints one line for each, then the digest of the
 * state. It is not an example of a firmware (see runtime/targets/firmware_main.c): its data, its log and its checkpoint
 * are files of the emulator's host. Words of the command line:
 *
 *     steps=N           run N steps
 *     resume            begin with the file `checkpoint`; an eval plan always reads its parameters from this file
 *     predict           predict by the eval plan in the file `predict.plan` before each step of a train plan
 *     generate=N        say N tokens of a decode plan behind the text in the file `data`
 *     prepared          decode the ops when the plan is opened, not each time they run
 *     save              write the file `checkpoint` after the last step of a train plan
 *     slots             instead of this file use the slots `slot.0` and `slot.1`
 *     stack             print the deepest stack of firn_open and of the steps, in bytes
 *     try=write-plan    write into the loaded plan, which must fault
 *     try=second-open   open a plan in the instance that already holds one, which must be refused
 *     try=arithmetic    only print checksums of the processor's arithmetic
 *     try=self-test     only run firn_self_test
 *     device ...        be a device with two slots instead (device.c)
 */
#include <string.h>

#include "runtime/firn.h"
#include "runtime/targets/emulated/arithmetic.h"
#include "runtime/targets/emulated/checkpoint.h"
#include "runtime/targets/emulated/data.h"
#include "runtime/targets/emulated/device.h"
#include "runtime/targets/emulated/generate.h"
#include "runtime/targets/emulated/pool.h"
#include "runtime/targets/emulated/predict.h"
#include "runtime/targets/emulated/push.h"
#include "runtime/targets/emulated/system.h"
#include "runtime/targets/emulated/text.h"
#include "runtime/targets/plan_file.h"

enum { EXIT_WRONG = 1, EXIT_COMMAND_LINE = 2, EXIT_REFUSED = 3, EXIT_NUMBERS = 4 };

typedef struct options {
    uint64_t steps, generate;
    bool resume, prepared, save, slots, stack, predict, write_plan, second_open, arithmetic, self_test;
} options;

/* The deepest stack so far, of opening the plan and of one step, where it is asked for. */
typedef struct stacks {
    bool measured;
    uint32_t open, step;
} stacks;

static firn instance;
static volatile bool trying_to_write; /* the next access is the write to the plan */
static stacks deepest;

/* --- lines and exits --- */

static void print_line(firn_text *line) {
    firn_text_add(line, "\n");
    firn_system_print(line->bytes);
}

static int report_fault(const char *what, const char *fault, int status) {
    firn_text line = {0};
    firn_text_add(&line, what);
    firn_text_add(&line, ": ");
    firn_text_add(&line, fault);
    firn_text_add(&line, "\n");
    firn_system_print_error(line.bytes);
    return status;
}

static int exit_status(int error) {
    if (error <= FIRN_ERROR_LOSS_NOT_FINITE)
        return EXIT_NUMBERS;
    if (error <= FIRN_ERROR_STORAGE)
        return EXIT_WRONG;
    return EXIT_REFUSED;
}

static int report_error(int error) {
    return report_fault(firn_error_name(error), firn_error_text(error), exit_status(error));
}

/* A processor without a register for the address reports 0. */
static bool is_refused_write(uintptr_t address) {
    uint64_t bytes = 0;
    uintptr_t plan = (uintptr_t)firn_system_plan(&bytes);
    return address == 0 ? trying_to_write : plan != 0 && address >= plan && address - plan < bytes;
}

void firn_runner_fault(uintptr_t address) {
    if (is_refused_write(address)) {
        firn_system_print("fault: write to the plan refused\n");
        firn_system_exit(0);
    }
    firn_text where = {0};
    firn_text_add(&where, "at address 0x");
    firn_text_add_hex(&where, address, 8);
    firn_system_exit(report_fault("fault", where.bytes, EXIT_WRONG));
}

/* --- the command line --- */

/* Returns the text after the prefix `name` of a word, or NULL if the word does not begin with it. */
static const char *after(const char *word, const char *name) {
    size_t length = strlen(name);
    return strncmp(word, name, length) == 0 ? word + length : NULL;
}

static bool word_is(const char *word, const char *name) {
    const char *rest = after(word, name);
    return rest != NULL && (*rest == '\0' || *rest == ' ');
}

static bool read_number(const char *number, uint64_t *value) {
    for (; *number >= '0' && *number <= '9'; number++)
        *value = *value * 10 + (uint64_t)(*number - '0');
    return *number == '\0' || *number == ' ';
}

static bool read_word(const char *word, options *asked) {
    if (after(word, "steps=") != NULL)
        return read_number(after(word, "steps="), &asked->steps);
    if (after(word, "generate=") != NULL)
        return read_number(after(word, "generate="), &asked->generate);
    const struct {
        const char *name;
        bool *asked;
    } words[] = {{"resume", &asked->resume},
                 {"prepared", &asked->prepared},
                 {"save", &asked->save},
                 {"slots", &asked->slots},
                 {"stack", &asked->stack},
                 {"predict", &asked->predict},
                 {"try=write-plan", &asked->write_plan},
                 {"try=second-open", &asked->second_open},
                 {"try=arithmetic", &asked->arithmetic},
                 {"try=self-test", &asked->self_test}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (word_is(word, words[i].name)) {
            *words[i].asked = true;
            return true;
        }
    }
    return false;
}

static bool read_options(const char *line, options *asked) {
    while (*line != '\0') {
        if (*line != ' ' && !read_word(line, asked))
            return false;
        while (*line != ' ' && *line != '\0')
            line++;
        while (*line == ' ')
            line++;
    }
    return true;
}

/* --- the stack --- */

/* Overwrites the free stack, where it is asked for, so that what is called next leaves its mark. */
static void begin_stack(uintptr_t top) {
    if (deepest.measured)
        firn_system_paint_stack(top);
}

static void end_stack(uintptr_t top, uint32_t *most) {
    const uint32_t used = deepest.measured ? firn_system_painted_stack_used(top) : 0;
    if (used > *most)
        *most = used;
}

static void print_stack(const char *function, uint32_t bytes) {
    firn_text line = {0};
    firn_text_add(&line, "stack ");
    firn_text_add(&line, function);
    firn_text_add(&line, " ");
    firn_text_add_unsigned(&line, bytes);
    print_line(&line);
}

/* --- opening --- */

/* The memory that is left when the plan has its own. */
static firn_pool left;

static int open_plan(const firn_port *port, const options *asked) {
    uint64_t available = 0;
    const uint8_t *plan = firn_system_plan(&available);
    firn_block blocks[FIRN_BLOCKS_MAX];
    left.memory = firn_system_blocks(&left.bytes);
    if (plan == NULL)
        return FIRN_ERROR_TRUNCATED;
    firn_config config = {.plan = plan,
                          .plan_bytes = firn_plan_file_bytes(plan, available),
                          .public_key = firn_system_public_key(),
                          .port = port,
                          .allow_other_preprocessing = asked->generate != 0}; /* tokens come one by one */
    int error = firn_pool_blocks(&left, &config, blocks);
    if (error == FIRN_OK && asked->prepared)
        error = firn_pool_prepared(&left, &config);
    if (error == FIRN_OK)
        error = firn_pool_workspace(&left, &config);
    if (error != FIRN_OK)
        return error;
    const uintptr_t top = firn_system_stack_pointer();
    begin_stack(top);
    error = firn_open(&instance, &config);
    end_stack(top, &deepest.open);
    return error;
}

/* An eval plan has no parameters of its own, so it always restores them. */
static int fill_state(const options *asked, bool eval) {
    return asked->resume || eval ? firn_restore(&instance, NULL) : firn_initialise(&instance);
}

/* --- running --- */

static void add_float_and_bits(firn_text *line, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    firn_text_add_float(line, value);
    firn_text_add(line, " 0x");
    firn_text_add_hex(line, bits, 8);
}

static int train_step(const firn_source *source) {
    firn_step_report report;
    const uintptr_t top = firn_system_stack_pointer();
    begin_stack(top);
    int error = firn_train_step(&instance, source, &report);
    end_stack(top, &deepest.step);
    if (error != FIRN_OK && error > FIRN_ERROR_LOSS_NOT_FINITE)
        return error; /* no step was run */
    firn_text line = {0};
    firn_text_add(&line, "step ");
    firn_text_add_unsigned(&line, report.global_step);
    firn_text_add(&line, " loss ");
    add_float_and_bits(&line, report.loss);
    if (report.skipped)
        firn_text_add(&line, " skipped");
    print_line(&line);
    return error;
}

/* Each step is preceded by what a device does between two: it takes new samples, and predicts. */
static int train(const options *asked, const firn_info *info, const firn_source *source) {
    uint64_t done;
    int error = firn_progress(&instance, &done);
    if (error == FIRN_OK)
        error = firn_emulated_push_begin(&left, &instance, source, done);
    for (uint64_t i = 0; error == FIRN_OK && i < asked->steps; i++) {
        error = firn_emulated_push_batch(&instance, source, done + i);
        if (error == FIRN_OK && asked->predict)
            error = firn_emulated_predict(source);
        if (error == FIRN_OK)
            error = train_step(info->ring == 0 ? source : NULL);
    }
    return error == FIRN_ERROR_RUN_COMPLETE ? FIRN_OK : error;
}

static int evaluate(uint64_t steps, const firn_source *source) {
    int error = FIRN_OK;
    for (uint64_t i = 0; error == FIRN_OK && i < steps; i++) {
        const uintptr_t top = firn_system_stack_pointer();
        begin_stack(top);
        error = firn_eval_step(&instance, source);
        end_stack(top, &deepest.step);
    }
    if (error != FIRN_OK && error != FIRN_ERROR_DATA_END)
        return error;
    float value;
    error = firn_eval_result(&instance, &value);
    if (error == FIRN_OK) {
        firn_text line = {0};
        firn_text_add(&line, "result ");
        add_float_and_bits(&line, value);
        print_line(&line);
    }
    return error;
}

static int print_digest(void) {
    uint8_t digest[32];
    int error = firn_digest(&instance, digest);
    if (error != FIRN_OK)
        return error;
    firn_text line = {0};
    firn_text_add(&line, "digest ");
    firn_text_add_hash(&line, digest);
    print_line(&line);
    return FIRN_OK;
}

static int run(const options *asked, const firn_info *info, const firn_port *port) {
    static firn_emulated_data opened;
    int error = firn_emulated_data_open(&opened, info->window == 0);
    if (error == FIRN_OK)
        error = fill_state(asked, info->eval);
    if (error == FIRN_OK && asked->predict && !info->eval)
        error = firn_emulated_predict_open(&left, &instance, port);
    if (error != FIRN_OK)
        return report_error(error);
    if (asked->generate != 0)
        error = firn_emulated_generate(&left, &instance, &opened.source, asked->generate);
    else
        error = info->eval ? evaluate(asked->steps, &opened.source) : train(asked, info, &opened.source);
    int saved = asked->save && !info->eval && error == FIRN_OK ? firn_save(&instance) : FIRN_OK;
    int digested = print_digest();
    if (asked->stack) {
        print_stack("firn_open", deepest.open);
        print_stack(info->eval ? "firn_eval_step" : "firn_train_step", deepest.step);
    }
    if (error == FIRN_OK)
        error = saved != FIRN_OK ? saved : digested;
    return error == FIRN_OK ? 0 : report_error(error);
}

/* --- trying what must be refused --- */

static int try_to_write(void) {
    uint64_t bytes;
    volatile uint8_t *plan = (volatile uint8_t *)(uintptr_t)firn_system_plan(&bytes);
    trying_to_write = true;
    plan[bytes - 1] = 1;
    trying_to_write = false;
    return report_fault("try", "the write to the plan went through", EXIT_WRONG);
}

static int try_to_open_again(const firn_port *port) {
    const options none = {0};
    int error = open_plan(port, &none);
    if (error == FIRN_OK)
        return report_fault("try", "a second plan was loaded", EXIT_WRONG);
    return report_error(error);
}

/* Needs no plan. */
static int try_arithmetic(const options *asked) {
    const int error = firn_self_test();
    if (error != FIRN_OK)
        return report_error(error);
    firn_system_print("self-test passed\n");
    if (asked->arithmetic)
        firn_emulated_arithmetic();
    return 0;
}

int firn_runner(void) {
    static firn_emulated_checkpoint slot = {.writing = -1};
    static firn_port port = {.struct_size = sizeof(firn_port), .storage = &firn_emulated_storage};
    port.context = &slot;
    options asked = {0};
    firn_info info;
    const char *as_device = after(firn_system_command_line(), "device");
    if (as_device != NULL)
        return firn_device(*as_device == ' ' ? as_device + 1 : as_device);
    if (!read_options(firn_system_command_line(), &asked))
        return report_fault("runner", "a word of the command line is not known", EXIT_COMMAND_LINE);
    if (asked.self_test || asked.arithmetic)
        return try_arithmetic(&asked);
    if (asked.slots)
        port.storage = &firn_emulated_slots;
    deepest.measured = asked.stack;
    int error = open_plan(&port, &asked);
    if (error == FIRN_OK)
        error = firn_describe(&instance, &info);
    if (error != FIRN_OK)
        return report_error(error);
    if (asked.write_plan)
        return try_to_write();
    return asked.second_open ? try_to_open_again(&port) : run(&asked, &info, &port);
}
