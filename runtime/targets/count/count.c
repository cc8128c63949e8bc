/* A plugin of the QEMU emulators that counts the instructions of a firmware: those of firn_open and of firn_initialise,
 * and of a step the mean and the share of each function. The counts are exact and the same on every machine. It changes
 * nothing in the firmware: an interval begins where one of these functions is entered, and ends where it returns to.
 *
 * Debian ships no header for plugins, so the part of the interface that is used here is declared here, as QEMU's
 * documentation has it ("QEMU TCG Plugins", version 1 of the interface).
 *
 * Arguments: symbols=FILE, the output of `nm -n`; out=FILE, where the table is written. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the interface of QEMU ---------------------------------------------------------------------------------------- */

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;   /* a block of instructions that the emulator translated together */
struct qemu_plugin_insn; /* one of them */
enum { QEMU_PLUGIN_CB_NO_REGS = 0, QEMU_PLUGIN_INLINE_ADD_U64 = 0 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                                  void (*translated)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
                                                 void (*executed)(unsigned int cpu, void *argument), int registers,
                                                 void *argument);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int operation, void *counter,
                                                       uint64_t amount);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*ended)(qemu_plugin_id_t id, void *argument),
                                           void *argument);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

/* What QEMU looks up in a plugin. */
__attribute__((visibility("default"))) extern int qemu_plugin_version;
__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int count,
                                                               char **arguments);
int qemu_plugin_version = 1;

/* --- functions of the firmware ------------------------------------------------------------------------------------ */

enum { FUNCTIONS = 8192, NAME = 96, SETTLED = 3 /* the first step that counts for the mean */ };

typedef struct function {
    uint64_t address;
    char name[NAME];
    uint64_t executed; /* instructions, since the start; QEMU adds to it */
    uint64_t before;   /* the same when the interval began */
    uint64_t settled;  /* in the steps from SETTLED on */
} function;

/* In ascending order; instructions in front of the first are counted by `unknown`. */
static function functions[FUNCTIONS], unknown = {.name = "(unknown)"};
static size_t function_count;

static function *function_at(uint64_t address) {
    size_t low = 0, high = function_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (functions[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? &unknown : &functions[low - 1];
}

/* Reads lines ADDRESS TYPE NAME. Bit 0 of an address in Thumb code is not a part of it. */
static bool read_symbols(const char *path) {
    FILE *file = fopen(path, "r");
    char line[512], *end, type;
    if (file == NULL)
        return false;
    while (function_count < FUNCTIONS && fgets(line, sizeof line, file) != NULL) {
        function *next = &functions[function_count];
        next->address = strtoull(line, &end, 16) & ~UINT64_C(1);
        if (end == line || sscanf(end, " %c %95s", &type, next->name) != 2 || strchr("tTwW", type) == NULL)
            continue;
        if (next->name[0] != '$')
            function_count++;
    }
    (void)fclose(file);
    return function_count > 0 && function_count < FUNCTIONS;
}

/* --- intervals ---------------------------------------------------------------------------------------------------- */

typedef struct interval {
    const char *name;
    uint64_t runs, total, settled; /* settled: in the runs from SETTLED on */
} interval;

static interval intervals[] = {
    {.name = "firn_open"}, {.name = "firn_initialise"}, {.name = "firn_train_step"}, {.name = "firn_eval_step"}};
enum { INTERVALS = sizeof intervals / sizeof *intervals };

typedef struct block {
    uint64_t begin, end; /* addresses; end: behind the last instruction */
    interval *entered;   /* NULL: no interval begins here */
} block;

static const block *last; /* that ran */
static interval *current;
static uint64_t return_address;
static const char *out_path;

static uint64_t executed_in(const function *f) {
    return f->executed - f->before;
}

static void begin_interval(interval *entered) {
    current = entered;
    return_address = last->end; /* the last instruction of that block is the call */
    for (size_t i = 0; i < function_count; i++)
        functions[i].before = functions[i].executed;
    unknown.before = unknown.executed;
}

static void end_interval(void) {
    const bool settled = ++current->runs >= SETTLED;
    uint64_t sum = executed_in(&unknown);
    for (size_t i = 0; i < function_count; i++) {
        const uint64_t here = executed_in(&functions[i]);
        sum += here;
        if (settled)
            functions[i].settled += here;
    }
    current->total += sum;
    current->settled += settled ? sum : 0;
    current = NULL;
}

/* Runs before the instructions of a block. Calls and returns end a block, so entries and return addresses begin one. */
static void block_runs(unsigned int cpu, void *argument) {
    const block *now = argument;
    (void)cpu;
    if (current != NULL && now->begin == return_address)
        end_interval();
    if (current == NULL && now->entered != NULL && last != NULL)
        begin_interval(now->entered);
    last = now;
}

static void block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    const size_t count = qemu_plugin_tb_n_insns(tb);
    block *translated = calloc(1, sizeof *translated); /* lives as long as the emulator */
    if (translated == NULL || count == 0)
        abort();
    translated->begin = qemu_plugin_tb_vaddr(tb);
    const function *entered = function_at(translated->begin);
    for (size_t i = 0; i < INTERVALS; i++)
        if (entered->address == translated->begin && strcmp(entered->name, intervals[i].name) == 0)
            translated->entered = &intervals[i];
    qemu_plugin_register_vcpu_tb_exec_cb(tb, block_runs, QEMU_PLUGIN_CB_NO_REGS, translated);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const uint64_t address = qemu_plugin_insn_vaddr(insn);
        translated->end = address + qemu_plugin_insn_size(insn);
        qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &function_at(address)->executed,
                                                   1);
    }
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static int by_settled(const void *a, const void *b) {
    const function *x = a, *y = b;
    return x->settled < y->settled ? 1 : x->settled > y->settled ? -1 : 0;
}

static void print_table(qemu_plugin_id_t id, void *argument) {
    (void)id;
    (void)argument;
    FILE *out = fopen(out_path, "w");
    uint64_t steps = 0;
    if (out == NULL)
        return;
    for (size_t i = 0; i < INTERVALS; i++) {
        const interval *at = &intervals[i];
        const bool step = strstr(at->name, "_step") != NULL;
        if (!step && at->runs > 0)
            (void)fprintf(out, "%-32s %12" PRIu64 "\n", at->name, at->total / at->runs);
        if (!step || at->runs < SETTLED)
            continue;
        steps = at->runs - SETTLED + 1;
        (void)fprintf(out, "%-32s %12" PRIu64 "  mean of steps %d to %" PRIu64 ", by function:\n", at->name,
                      at->settled / steps, SETTLED, at->runs);
    }
    qsort(functions, function_count, sizeof *functions, by_settled);
    for (size_t i = 0; steps > 0 && i < function_count && functions[i].settled >= steps; i++)
        (void)fprintf(out, "    %-28s %12" PRIu64 "\n", functions[i].name, functions[i].settled / steps);
    if (fclose(out) != 0)
        perror(out_path);
}

static const char *after(const char *argument, const char *name) {
    const size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 ? argument + length : NULL;
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int count, char **arguments) {
    (void)info;
    const char *symbols = NULL;
    for (int i = 0; i < count; i++) {
        symbols = after(arguments[i], "symbols=") != NULL ? after(arguments[i], "symbols=") : symbols;
        out_path = after(arguments[i], "out=") != NULL ? after(arguments[i], "out=") : out_path;
    }
    if (symbols == NULL || out_path == NULL || !read_symbols(symbols)) {
        (void)fprintf(stderr, "count: give symbols=FILE, a list of at most %d functions, and out=FILE\n",
                      FUNCTIONS - 1);
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
    qemu_plugin_register_atexit_cb(id, print_table, NULL);
    return 0;
}
