/* The program of the emulated targets: runs some steps of a plan and prints one line for each, then the digest of the
 * state. It is not an example of a firmware (see runtime/targets/firmware_main.c): its data, its log and its checkpoint
 * are files of the emulator's host. Words of the command line:
 *
 *     steps=N           run N steps
 *     resume            begin with the file `checkpoint`; an eval plan always reads its parameters from this file
 *     save              write the file `checkpoint` after the last step of a train plan
 *     try=write-plan    write into the loaded plan, which must fault
 *     try=second-open   open a plan in the instance that already holds one, which must be refused
 *     device ...        be a device with two slots instead (device.c)
 */
#include <string.h>

#include "runtime/firn.h"
#include "runtime/targets/emulated/checkpoint.h"
#include "runtime/targets/emulated/data.h"
#include "runtime/targets/emulated/device.h"
#include "runtime/targets/emulated/system.h"
#include "runtime/targets/emulated/text.h"
#include "runtime/targets/plan_file.h"

enum { EXIT_WRONG = 1, EXIT_COMMAND_LINE = 2, EXIT_REFUSED = 3, EXIT_NUMBERS = 4 };

typedef struct options {
    uint64_t steps;
    bool resume, save, write_plan, second_open;
} options;

static firn instance;

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

void firn_runner_fault(uintptr_t address) {
    uint64_t bytes = 0;
    uintptr_t plan = (uintptr_t)firn_system_plan(&bytes);
    if (plan != 0 && address >= plan && address - plan < bytes) {
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

static bool read_word(const char *word, options *asked) {
    const char *number = after(word, "steps=");
    if (number != NULL) {
        for (; *number >= '0' && *number <= '9'; number++)
            asked->steps = asked->steps * 10 + (uint64_t)(*number - '0');
        return *number == '\0' || *number == ' ';
    }
    asked->resume |= word_is(word, "resume");
    asked->save |= word_is(word, "save");
    asked->write_plan |= word_is(word, "try=write-plan");
    asked->second_open |= word_is(word, "try=second-open");
    return word_is(word, "resume") || word_is(word, "save") || word_is(word, "try=write-plan") ||
           word_is(word, "try=second-open");
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

/* --- opening --- */

static uint64_t rounded(uint64_t bytes) {
    return (bytes + FIRN_BLOCK_ALIGNMENT - 1) / FIRN_BLOCK_ALIGNMENT * FIRN_BLOCK_ALIGNMENT;
}

/* The memory that is left; it begins at a multiple of the alignment. */
typedef struct pool {
    uint8_t *memory;
    uint64_t bytes;
} pool;

/* Takes a block from the pool. Returns NULL for 0 bytes, or if the pool has fewer. */
static void *take(pool *left, uint64_t bytes) {
    if (bytes == 0 || bytes > left->bytes || rounded(bytes) > left->bytes)
        return NULL;
    void *block = left->memory;
    left->memory += rounded(bytes);
    left->bytes -= rounded(bytes);
    return block;
}

/* Takes a block for each region of the plan. */
static int take_blocks(pool *left, const firn_config *config, firn_block blocks[FIRN_BLOCKS_MAX], uint32_t *count) {
    firn_sizes sizes;
    int error = firn_plan_sizes(config->plan, config->plan_bytes, &sizes);
    *count = sizes.block_count;
    for (uint32_t i = 0; error == FIRN_OK && i < sizes.block_count; i++) {
        blocks[i] = (firn_block){.memory = take(left, sizes.blocks[i].bytes), .bytes = sizes.blocks[i].bytes};
        if (blocks[i].memory == NULL && blocks[i].bytes != 0)
            error = FIRN_ERROR_BLOCK_TOO_SMALL;
    }
    return error;
}

/* Divides the available memory: the regions of the plan, then the kernels' workspace (none on a microcontroller). */
static int open_plan(const firn_port *port) {
    uint64_t available = 0;
    const uint8_t *plan = firn_system_plan(&available);
    firn_block blocks[FIRN_BLOCKS_MAX];
    pool left;
    left.memory = firn_system_blocks(&left.bytes);
    if (plan == NULL)
        return FIRN_ERROR_TRUNCATED;
    firn_config config = {
        .plan = plan, .plan_bytes = firn_plan_file_bytes(plan, available), .blocks = blocks, .port = port};
    int error = take_blocks(&left, &config, blocks, &config.block_count);
    if (error != FIRN_OK)
        return error;
    config.public_key = firn_system_public_key();
    error = firn_workspace_bytes(&config, &config.workspace_bytes);
    if (error != FIRN_OK)
        return error;
    config.workspace = take(&left, config.workspace_bytes);
    if (config.workspace == NULL && config.workspace_bytes != 0)
        return FIRN_ERROR_WORKSPACE_TOO_SMALL;
    return firn_open(&instance, &config);
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
    int error = firn_train_step(&instance, source, &report);
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

static int train(uint64_t steps, const firn_source *source) {
    int error = FIRN_OK;
    for (uint64_t i = 0; error == FIRN_OK && i < steps; i++)
        error = train_step(source);
    return error == FIRN_ERROR_RUN_COMPLETE ? FIRN_OK : error;
}

static int evaluate(uint64_t steps, const firn_source *source) {
    int error = FIRN_OK;
    for (uint64_t i = 0; error == FIRN_OK && i < steps; i++)
        error = firn_eval_step(&instance, source);
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
    for (size_t i = 0; i < sizeof digest; i++)
        firn_text_add_hex(&line, digest[i], 2);
    print_line(&line);
    return FIRN_OK;
}

static int run(const options *asked, const firn_info *info) {
    static firn_emulated_data opened;
    int error = firn_emulated_data_open(&opened, info->window == 0);
    if (error == FIRN_OK)
        error = fill_state(asked, info->eval);
    if (error != FIRN_OK)
        return report_error(error);
    error = info->eval ? evaluate(asked->steps, &opened.source) : train(asked->steps, &opened.source);
    int saved = asked->save && !info->eval && error == FIRN_OK ? firn_save(&instance) : FIRN_OK;
    int digested = print_digest();
    if (error == FIRN_OK)
        error = saved != FIRN_OK ? saved : digested;
    return error == FIRN_OK ? 0 : report_error(error);
}

/* --- trying what must be refused --- */

static int try_to_write(void) {
    uint64_t bytes;
    volatile uint8_t *plan = (volatile uint8_t *)(uintptr_t)firn_system_plan(&bytes);
    plan[bytes - 1] = 1;
    return report_fault("try", "the write to the plan went through", EXIT_WRONG);
}

static int try_to_open_again(const firn_port *port) {
    int error = open_plan(port);
    if (error == FIRN_OK)
        return report_fault("try", "a second plan was loaded", EXIT_WRONG);
    return report_error(error);
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
    int error = open_plan(&port);
    if (error == FIRN_OK)
        error = firn_describe(&instance, &info);
    if (error != FIRN_OK)
        return report_error(error);
    if (asked.write_plan)
        return try_to_write();
    return asked.second_open ? try_to_open_again(&port) : run(&asked, &info);
}
