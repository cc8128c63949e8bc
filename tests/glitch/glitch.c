/* Skips instructions of a firmware in an emulator, one in each run, and looks for a plan that runs although it must be
 * refused:
 *
 *     glitch FIRMWARE.elf GOOD.plan [SAMPLES SEED]
 *
 * FIRMWARE.elf is tests/glitch/target.c. The good plan must run. Then four plans are made from it that must be refused,
 * and every instruction that the firmware executes from firn_glitch_begin to firn_glitch_end with such a plan is
 * skipped at its first, its middle and its last execution; or SAMPLES of these faults, drawn by SEED. A plan runs when
 * firn_execute_phase is entered. Exit status 0: no refused plan ran; 1: one did; 6: the test itself does not work.
 *
 * The emulator is Unicorn, which can stop at an instruction and continue. The process that counts executions reaches
 * each fault in turn and forks, so a run costs only what follows its fault. An instruction is skipped by one without
 * effect, of the same length, which is put in its place for one execution: this is right inside an IT block, too. */
#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <unicorn/unicorn.h>

/* The memory of the board, as in the linker script, as far as it is used. Code and plan cannot be written, as on the
 * board. */
enum { CODE_BYTES = 1 << 19, DATA = 0x20000000, DATA_BYTES = 1 << 18 };
enum { PLAN = 0x60000000, PLAN_BYTES = 4 << 20, BLOCKS = 0x60400000, BLOCKS_BYTES = 1 << 20 };
static const uint32_t private_peripherals = 0xe0000000, private_peripherals_bytes = 1 << 20;
enum { PLACES = CODE_BYTES / 2 }; /* an instruction is at an even address */
enum { PROCESSES_MAX = 8 };
enum { SECONDS_MAX = 10 }; /* of processor time; a run takes less than one */

/* The plan that is given, and what is changed to make one that must be refused. */
typedef enum kind { GOOD, OTHER_SIGNATURE, OTHER_HEADER, OTHER_PAYLOAD, ROLLED_BACK, KINDS } kind;
static const char *const kind_names[KINDS] = {"good plan", "other signature", "other header", "other payload",
                                              "rolled back"};

typedef struct file {
    uint8_t *bytes;
    size_t length;
} file;

/* Addresses of symbols of the firmware. */
typedef struct addresses {
    uint32_t start, begin, end, execute, counter, stack, check;
} addresses;

/* What happened to a run. */
typedef enum outcome { REFUSED, RAN, FAULTED, HUNG, OUTCOMES } outcome;

/* A process that makes a fault. */
typedef struct process {
    pid_t id; /* 0: none */
    uint32_t address, execution;
} process;

/* A run: its emulator, and what the hooks share. */
typedef struct run {
    uc_engine *uc;
    uc_hook counting;
    const addresses *at;
    uint32_t *executions;  /* of each place, so far */
    const uint8_t *wanted; /* for each place: the faults to make, bit 0 the first execution, 1 the middle, 2 the last */
    const uint32_t *totals; /* executions of each place in a run without a fault; NULL while they are counted */
    bool booting;           /* up to firn_glitch_begin: nothing is counted */
    bool waiting;           /* until the signature check has returned: nothing is counted */
    uint32_t behind_check;  /* where it returns to; 0: it was not called yet */
    process processes[PROCESSES_MAX];
    long process_count;
    uint64_t outcomes[OUTCOMES];
    /* In a forked process: the instruction to skip, where the emulator stops before it, and the instructions from there
     * to where it can stop again. */
    uint32_t fault_address, fault_bytes, stop_address, steps;
    uint8_t *code;     /* a copy of the firmware's instructions */
    uint8_t *in_block; /* for each place: an IT instruction makes it conditional */
    bool entered;      /* firn_execute_phase */
} run;

enum { BROKEN = 2 + OUTCOMES }; /* exit status: the test itself does not work */

static void stop(const char *what, const char *why) {
    fprintf(stderr, "glitch: %s: %s\n", what, why);
    exit(BROKEN);
}

static void need(uc_err error, const char *what) {
    if (error != UC_ERR_OK)
        stop(what, uc_strerror(error));
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (memory == NULL)
        stop("memory", "there is not enough");
    return memory;
}

static file read_file(const char *path) {
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        stop(path, "cannot be read");
    file read = {.bytes = allocate(PLAN_BYTES, 1)};
    read.length = fread(read.bytes, 1, PLAN_BYTES, stream);
    fclose(stream);
    return read;
}

/* --- the firmware --- */

static uint32_t symbol(const file *firmware, const char *name) {
    const Elf32_Ehdr *header = (const void *)firmware->bytes;
    const Elf32_Shdr *sections = (const void *)(firmware->bytes + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf32_Sym *symbols = (const void *)(firmware->bytes + sections[i].sh_offset);
        const char *names = (const char *)firmware->bytes + sections[sections[i].sh_link].sh_offset;
        for (size_t s = 0; s < sections[i].sh_size / sizeof *symbols; s++)
            if (strcmp(names + symbols[s].st_name, name) == 0)
                return symbols[s].st_value & ~1u; /* bit 0 marks Thumb code */
    }
    stop(name, "is not a symbol of the firmware");
    return 0;
}

static addresses find_symbols(const file *firmware) {
    return (addresses){.start = symbol(firmware, "firn_start"),
                       .begin = symbol(firmware, "firn_glitch_begin"),
                       .end = symbol(firmware, "firn_glitch_end"),
                       .execute = symbol(firmware, "firn_execute_phase"),
                       .counter = symbol(firmware, "firn_glitch_counter"),
                       .stack = symbol(firmware, "firn_stack_top"),
                       .check = symbol(firmware, "firn_signature_check")};
}

static void load(uc_engine *uc, const file *firmware) {
    const Elf32_Ehdr *header = (const void *)firmware->bytes;
    const Elf32_Phdr *parts = (const void *)(firmware->bytes + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++)
        if (parts[i].p_type == PT_LOAD && parts[i].p_filesz > 0)
            need(uc_mem_write(uc, parts[i].p_paddr, firmware->bytes + parts[i].p_offset, parts[i].p_filesz),
                 "loading the firmware");
}

static void load_plan(uc_engine *uc, const file *plan, kind made, const addresses *at) {
    static const size_t changed[KINDS] = {[OTHER_SIGNATURE] = 520, [OTHER_HEADER] = 36, [OTHER_PAYLOAD] = 700};
    uint8_t *bytes = allocate(plan->length, 1);
    memcpy(bytes, plan->bytes, plan->length);
    if (changed[made] != 0)
        bytes[changed[made]] ^= 1;
    need(uc_mem_write(uc, PLAN, bytes, plan->length), "loading the plan");
    free(bytes);
    const uint32_t value = made == ROLLED_BACK ? UINT32_MAX : 0, counter[] = {value, ~value};
    need(uc_mem_write(uc, at->counter, counter, sizeof counter), "the device's counter");
}

/* --- one fault --- */

static uint32_t program_counter(uc_engine *uc) {
    uint32_t address;
    need(uc_reg_read(uc, UC_ARM_REG_PC, &address), "program counter");
    return address & ~1u;
}

static void replace(uc_engine *uc, uint32_t address, const void *instruction, uint32_t bytes) {
    need(uc_mem_write(uc, address, instruction, bytes), "skipping an instruction");
    need(uc_ctl_remove_cache(uc, address, address + bytes), "skipping an instruction");
}

static uint16_t halfword(const run *here, uint32_t address) {
    return (uint16_t)(here->code[address] | here->code[address + 1] << 8);
}

static uint32_t thumb_bytes(uint16_t instruction) {
    return instruction >= 0xe800 ? 4 : 2;
}

/* Ends the counting, which slows the emulator down. What was executed often is translated again, because a translation
 * keeps the hooks of its time. Dropping a translation costs the emulator much, so what was executed seldom keeps them.
 */
static void stop_counting(run *here) {
    enum { OFTEN = 1000 };
    need(uc_hook_del(here->uc, here->counting), "hook");
    for (uint32_t place = 0; place < PLACES; place++)
        if (here->totals[place] >= OFTEN)
            need(uc_ctl_remove_cache(here->uc, 2 * place, 2 * place + 1), "hook");
}

/* Goes on at the fault, and tells how the run ended. A run that hangs is ended by the timer. */
static outcome finish(run *here) {
    static const uint8_t nop[] = {0x00, 0xbf}, wide_nop[] = {0xaf, 0xf3, 0x00, 0x80};
    uint8_t kept[sizeof wide_nop];
    uc_engine *uc = here->uc;
    need(uc_mem_read(uc, here->fault_address, kept, here->fault_bytes), "skipping an instruction");
    replace(uc, here->fault_address, here->fault_bytes == sizeof nop ? nop : wide_nop, here->fault_bytes);
    if (program_counter(uc) != here->stop_address)
        stop("emulator", "it did not stop at the fault");
    need(uc_emu_start(uc, here->stop_address | 1, here->at->end, 0, 0), "skipping an instruction");
    replace(uc, here->fault_address, kept, here->fault_bytes);
    stop_counting(here);
    const struct itimerval limit = {.it_value = {.tv_sec = SECONDS_MAX}};
    setitimer(ITIMER_PROF, &limit, NULL);
    const uc_err error = uc_emu_start(uc, program_counter(uc) | 1, here->at->end, 0, 0);
    if (here->entered)
        return RAN;
    return error == UC_ERR_OK ? REFUSED : FAULTED;
}

/* --- counting and forking --- */

static bool is_due(const run *here, uint32_t place) {
    if (here->totals == NULL)
        return false;
    const uint32_t total = here->totals[place], now = here->executions[place], wanted = here->wanted[place];
    return ((wanted & 1) != 0 && now == 1) || ((wanted & 2) != 0 && now == (total + 1) / 2) ||
           ((wanted & 4) != 0 && now == total);
}

static outcome outcome_of(int status) {
    if (WIFSIGNALED(status))
        return HUNG;
    if (WEXITSTATUS(status) >= OUTCOMES)
        exit(BROKEN);
    return (outcome)WEXITSTATUS(status);
}

/* Waits for a process, and counts how its run ended. */
static void collect(run *here) {
    int status;
    const pid_t id = wait(&status);
    process *ended = here->processes;
    while (ended->id != id)
        ended++;
    const outcome outcome = outcome_of(status);
    here->outcomes[outcome]++;
    if (outcome == RAN)
        printf("\n    RUNS if the instruction at 0x%" PRIx32 " is skipped at execution %" PRIu32 " of %" PRIu32 "\n",
               ended->address, ended->execution, here->totals[ended->address / 2]);
    ended->id = 0;
}

/* Returns room for another process, after waiting for one to end if there are too many. */
static process *room(run *here) {
    for (;;) {
        for (long i = 0; i < here->process_count; i++)
            if (here->processes[i].id == 0)
                return &here->processes[i];
        collect(here);
    }
}

static void collect_all(run *here) {
    for (long i = 0; i < here->process_count; i++)
        while (here->processes[i].id != 0)
            collect(here);
}

/* Ends the waiting where the signature check returns to. */
static void wait_for_check(run *here, uint32_t address) {
    if (address == here->at->check) {
        need(uc_reg_read(here->uc, UC_ARM_REG_LR, &here->behind_check), "link register");
        here->behind_check &= ~1u;
    }
    here->waiting = here->behind_check == 0 || address != here->behind_check;
}

/* Returns how many instructions an instruction makes conditional: 0 if it is no IT (1011 1111 condition mask, where the
 * lowest bit that is set ends the mask). */
static uint32_t conditional_after(uint16_t instruction) {
    uint32_t count = 4;
    if ((instruction & 0xff00) != 0xbf00 || (instruction & 0xf) == 0)
        return 0;
    for (uint32_t mask = instruction & 0xf; (mask & 1) == 0; mask >>= 1)
        count--;
    return count;
}

/* Counts an execution of an instruction. In the forked process that skips it, returns true, and the emulator stops at
 * `stop_address`, `steps` instructions before one where it can stop again. */
static bool count_and_fork(run *here, uint32_t address, uint32_t bytes, uint32_t stop_address, uint32_t steps) {
    const uint32_t place = address / 2;
    here->executions[place]++;
    if (!is_due(here, place))
        return false;
    process *made = room(here);
    fflush(stdout);
    *made = (process){fork(), address, here->executions[place]};
    if (made->id < 0)
        stop("fork", "no process can be made");
    if (made->id > 0)
        return false;
    here->fault_address = address;
    here->fault_bytes = bytes;
    here->stop_address = stop_address;
    here->steps = steps;
    uc_emu_stop(here->uc);
    return true;
}

/* The emulator cannot stop at an instruction that an IT made conditional. It stops at the IT, and all of the block is
 * executed with one instruction skipped. */
static void at_instruction(uc_engine *uc, uint64_t place_address, uint32_t bytes, void *context) {
    run *here = context;
    const uint32_t address = (uint32_t)place_address;
    if (here->booting)
        return;
    if (here->waiting)
        wait_for_check(here, address);
    if (here->fault_address != 0 && here->steps-- == 0)
        uc_emu_stop(uc);
    if (here->waiting || here->fault_address != 0 || here->in_block[address / 2])
        return;
    if (count_and_fork(here, address, bytes, address, 1))
        return;
    const uint32_t conditional = conditional_after(halfword(here, address));
    uint32_t next = address + 2;
    for (uint32_t i = 0; i < conditional; i++) {
        const uint32_t next_bytes = thumb_bytes(halfword(here, next));
        here->in_block[next / 2] = 1;
        if (count_and_fork(here, next, next_bytes, address, 1 + conditional))
            return;
        next += next_bytes;
    }
}

static void at_execute(uc_engine *uc, uint64_t address, uint32_t bytes, void *context) {
    (void)address;
    (void)bytes;
    ((run *)context)->entered = true;
    uc_emu_stop(uc);
}

/* Runs the firmware up to firn_glitch_begin, and then gives it a plan of some kind. The hooks are there from the start,
 * because what is executed before the beginning is not translated again. */
static void boot(run *here, const file *firmware, const file *plan, kind made) {
    uc_engine *uc;
    need(uc_open(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS, &uc), "emulator");
    here->uc = uc;
    need(uc_ctl_set_cpu_model(uc, UC_CPU_ARM_CORTEX_M7), "emulator");
    need(uc_mem_map(uc, 0, CODE_BYTES, UC_PROT_READ | UC_PROT_EXEC), "memory");
    need(uc_mem_map(uc, DATA, DATA_BYTES, UC_PROT_READ | UC_PROT_WRITE), "memory");
    need(uc_mem_map(uc, PLAN, PLAN_BYTES, UC_PROT_READ), "memory");
    need(uc_mem_map(uc, BLOCKS, BLOCKS_BYTES, UC_PROT_READ | UC_PROT_WRITE), "memory");
    need(uc_mem_map(uc, private_peripherals, private_peripherals_bytes, UC_PROT_READ | UC_PROT_WRITE), "memory");
    load(uc, firmware);
    need(uc_mem_read(uc, 0, here->code, CODE_BYTES), "reading the instructions");
    need(uc_mem_write(uc, PLAN, plan->bytes, plan->length), "loading the plan");
    uc_hook executing;
    need(uc_hook_add(uc, &here->counting, UC_HOOK_CODE, (void *)(uintptr_t)at_instruction, here, 0, CODE_BYTES),
         "hook");
    need(uc_hook_add(uc, &executing, UC_HOOK_CODE, (void *)(uintptr_t)at_execute, here, here->at->execute,
                     here->at->execute),
         "hook");
    need(uc_reg_write(uc, UC_ARM_REG_SP, &here->at->stack), "stack");
    here->booting = true;
    need(uc_emu_start(uc, here->at->start | 1, here->at->begin, 0, 0), "start of the firmware");
    here->booting = false;
    load_plan(uc, plan, made, here->at);
}

/* Runs the firmware with a plan of some kind. In a forked process this makes the fault, and does not return. */
static void go(run *here, const file *firmware, const file *plan, kind made) {
    here->in_block = allocate(PLACES, 1);
    here->code = allocate(CODE_BYTES, 1);
    boot(here, firmware, plan, made);
    const uc_err error = uc_emu_start(here->uc, here->at->begin | 1, here->at->end, 0, 0);
    if (here->fault_address != 0)
        _exit((int)finish(here));
    need(error, "run without a fault");
    collect_all(here);
    uc_close(here->uc);
    free(here->code);
    free(here->in_block);
}

/* --- the plans --- */

/* Chooses the faults: all, or `samples` of them. Returns their number. */
static uint64_t choose(uint8_t *wanted, const uint32_t *totals, uint64_t samples, uint64_t *random) {
    uint64_t faults = 0, chosen = 0;
    for (uint32_t place = 0; place < PLACES; place++)
        faults += totals[place] < 3 ? totals[place] : 3;
    uint64_t left = faults;
    for (uint32_t place = 0; place < PLACES; place++) {
        const uint8_t bits[] = {0, 1, 5, 7};
        for (uint32_t bit = 1; bit < 8; bit <<= 1) {
            if ((bits[totals[place] < 3 ? totals[place] : 3] & bit) == 0)
                continue;
            *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            if (samples == 0 || (*random >> 33) % left < samples - chosen) {
                wanted[place] = (uint8_t)(wanted[place] | bit);
                chosen++;
            }
            left--;
        }
    }
    return chosen;
}

/* Tries one kind of plan with some faults. Returns the number of runs in which it ran. */
static uint64_t try_plan(const file *firmware, const file *plan, kind made, uint64_t samples, uint64_t *random) {
    const addresses at = find_symbols(firmware);
    const bool late = made == OTHER_PAYLOAD || made == ROLLED_BACK;
    uint32_t *totals = allocate(PLACES, sizeof *totals), *executions = allocate(PLACES, sizeof *executions);
    uint8_t *wanted = allocate(PLACES, 1);
    run here = {.at = &at, .executions = totals, .waiting = late};
    go(&here, firmware, plan, made);
    if (here.entered != (made == GOOD))
        stop(kind_names[made], here.entered ? "it runs without a fault" : "it does not run");
    uint64_t instructions = 0, places = 0;
    for (uint32_t place = 0; place < PLACES; place++) {
        instructions += totals[place];
        places += totals[place] != 0;
    }
    printf("%s: %" PRIu64 " instructions executed at %" PRIu64 " places", kind_names[made], instructions, places);
    here = (run){.at = &at, .executions = executions, .wanted = wanted, .totals = totals, .waiting = late};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    here.process_count = processors < 1 ? 1 : processors > PROCESSES_MAX ? PROCESSES_MAX : processors;
    if (made != GOOD) {
        const uint64_t faults = choose(wanted, totals, samples, random);
        printf(", %" PRIu64 " skipped", faults);
        fflush(stdout);
        go(&here, firmware, plan, made);
        printf(": %" PRIu64 " refused, %" PRIu64 " faulted, %" PRIu64 " hung, %" PRIu64 " ran", here.outcomes[REFUSED],
               here.outcomes[FAULTED], here.outcomes[HUNG], here.outcomes[RAN]);
    }
    printf("\n");
    fflush(stdout);
    free(wanted);
    free(executions);
    free(totals);
    return here.outcomes[RAN];
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 5)
        stop("usage", "glitch FIRMWARE.elf GOOD.plan [SAMPLES SEED]");
    const file firmware = read_file(argv[1]), plan = read_file(argv[2]);
    const uint64_t samples = argc == 5 ? strtoull(argv[3], NULL, 10) : 0;
    uint64_t random = argc == 5 ? strtoull(argv[4], NULL, 10) : 0, ran = 0;
    for (kind made = GOOD; made < KINDS; made++)
        ran += try_plan(&firmware, &plan, made, (samples + KINDS - 2) / (KINDS - 1), &random);
    return ran == 0 ? 0 : 1;
}
