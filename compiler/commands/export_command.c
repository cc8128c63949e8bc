/* firnc export: the command line; what is written is made in export.c, export_key.c and export_image.c, and the project
 * of
 * --firmware in compiler/firmware. */
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/export.h"
#include "compiler/commands/options.h"
#include "compiler/firmware/project.h"

typedef struct request {
    const char *name, *output, *machine, *address_text;
    const char *folder, *target, *key, *data, *labels, *weights;
    uint64_t records; /* 0: all */
    firnc_texts others;
    bool c, array, hex, elf;
    firnc_export_wishes wishes;
    uint32_t address;
} request;

static const firn_option options[] = {
    {.name = "--c",
     .text = "of a plan the parts of libfirn that it needs, as C, to link in front of libfirn.a; of a key an array",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, c)},
    {.name = "--array",
     .text = "the plan without its report as a C array, firn_plan_region, and its length, firn_plan_bytes",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, array)},
    {.name = "--hex",
     .text = "the plan without its report as Intel HEX, to flash",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, hex)},
    {.name = "--elf",
     .text = "the same as section .firn_plan of an ELF file of 32 bits, to link or, with --address, to flash",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, elf)},
    {.name = "--firmware",
     .value = "DIR",
     .text = "a new folder with a project that trains by the plan on an emulated board: make -C DIR run",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FOLDER,
     .place = offsetof(request, folder)},
    {.name = "--target",
     .value = "CORE",
     .text = "with --firmware: the core, such as cortex-m4f or rv32; another name lists them",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(request, target)},
    {.name = "--pub",
     .value = "PUB",
     .text = "with --firmware: the public key (PEM) that the plan was signed with",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, key)},
    {.name = "--data",
     .value = "FILE",
     .text = "with --firmware: the records that go into flash, .npy, IDX or bytes; firn data --convert makes such "
             "files. Default: zeros",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, data)},
    {.name = "--labels",
     .value = "FILE",
     .text = "labels or targets of the records",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, labels)},
    {.name = "--sample-weights",
     .old = "--weights",
     .value = "FILE",
     .text = "weights of the records, for a model with sample_weights; needs --labels",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, weights)},
    {.name = "--records",
     .value = "N",
     .text = "only the first N records; of text, its elements. Default: all",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(request, records),
     .least = 1,
     .most = UINT32_MAX,
     .what = "a number of records"},
    {.name = "--with",
     .value = "FILE",
     .text = "with --c: another plan or key of the same firmware, such as a plan for evaluation; may be repeated. With "
             "--firmware: the plan that evaluates when the training has ended",
     .kind = FIRN_OPTION_LIST,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, others.text),
     .count = offsetof(request, others.count),
     .most = FIRNC_TEXTS_MAX,
     .mend = "leave some out"},
    {.name = "--copy-plan",
     .text = "with --c: the firmware copies its plans into RAM before it checks them (firn_config.copy_plan)",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, wishes.copy_plan)},
    {.name = "--parallel",
     .old = "--threads",
     .text = "with --c: the port of the firmware has more threads than one (firn_port.parallel_for)",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, wishes.threads)},
    {.name = "--address",
     .value = "N",
     .text = "where the plan begins, a multiple of 64, such as 0x08040000",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(request, address_text)},
    {.name = "--machine",
     .value = "arm|riscv",
     .text = "the processor of the ELF file",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(request, machine)},
    {.name = "--output",
     .brief = "-o",
     .value = "FILE",
     .text = "write there instead of to standard output, which - is, too; --elf needs it",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_STREAM,
     .place = offsetof(request, output)},
};

static bool read_address(const char *text, uint32_t *address) {
    uint64_t value;
    if (!firn_number_read(text, UINT32_MAX, &value))
        return false;
    *address = (uint32_t)value;
    return value % FIRNC_ALIGNMENT == 0;
}

/* Returns an option that adds to the parts of plans, or NULL. */
static const char *asked(const request *r) {
    if (r->wishes.copy_plan)
        return "--copy-plan";
    return r->wishes.threads ? "--parallel" : NULL;
}

/* Returns an option of --firmware alone, or NULL. */
static const char *asked_of_firmware(const request *r) {
    const struct {
        const char *name, *value;
    } options_of_firmware[] = {{"--target", r->target},
                               {"--pub", r->key},
                               {"--data", r->data},
                               {"--labels", r->labels},
                               {"--sample-weights", r->weights}};
    for (size_t i = 0; i < sizeof options_of_firmware / sizeof options_of_firmware[0]; i++)
        if (options_of_firmware[i].value != NULL)
            return options_of_firmware[i].name;
    return r->records != 0 ? "--records" : NULL;
}

static int check_firmware(const request *r) {
    if (r->target == NULL)
        return firnc_usage("export", "--firmware: the core is missing; add --target, such as --target cortex-m4f");
    if (r->key == NULL)
        return firnc_usage("export", "--firmware: the key is missing; add --pub PUB");
    if (r->others.count > 1)
        return firnc_usage("export", "--with: a firmware has one plan that evaluates; leave the others out");
    if (r->output != NULL)
        return firnc_usage("export", "-o: --firmware names the folder; leave it out");
    if (r->data == NULL && r->labels != NULL)
        return firnc_usage("export", "--labels: there is no --data; add it");
    if (r->labels == NULL && r->weights != NULL)
        return firnc_usage("export", "--sample-weights: there are no --labels; add them");
    if (r->data == NULL && r->records != 0)
        return firnc_usage("export", "--records: there is no --data; add it");
    return FIRNC_EXIT_OK;
}

/* Returns FIRNC_EXIT_OK if the options fit each other. */
static int check(request *r) {
    if (r->c + r->array + r->hex + r->elf + (r->folder != NULL) != 1)
        return firnc_usage(
            "export", "--c, --array, --hex, --elf, --firmware: the form is missing or not one; add one of the five");
    if (r->folder == NULL && asked_of_firmware(r) != NULL)
        return firnc_usage("export", "%s: only with --firmware; leave it out", asked_of_firmware(r));
    if (r->folder != NULL && check_firmware(r) != FIRNC_EXIT_OK)
        return FIRNC_EXIT_USAGE;
    if (!r->c && r->folder == NULL && r->others.count != 0)
        return firnc_usage("export", "--with: only with --c and --firmware; leave it out");
    if (!r->c && asked(r) != NULL)
        return firnc_usage("export", "%s: only with --c; leave it out", asked(r));
    if ((r->c || r->array || r->folder != NULL) && r->address_text != NULL)
        return firnc_usage("export", "--address: only with --hex and --elf; leave it out");
    if (r->hex && r->address_text == NULL)
        return firnc_usage("export", "--hex: the address is missing; add --address N");
    if (!r->elf && r->machine != NULL)
        return firnc_usage("export", "--machine: only with --elf; leave it out");
    if (r->elf && (r->machine == NULL || (strcmp(r->machine, "arm") != 0 && strcmp(r->machine, "riscv") != 0)))
        return firnc_usage("export",
                           "--elf: the processor is missing or not known; add --machine arm or --machine riscv");
    if (r->elf && r->output == NULL)
        return firnc_usage("export", "--elf: the file to write is missing; add -o FILE");
    if (r->address_text != NULL && !read_address(r->address_text, &r->address))
        return firnc_usage("export", "--address: %s is not a multiple of 64 below 2^32, such as 0x08040000",
                           r->address_text);
    return FIRNC_EXIT_OK;
}

static int export_c(const request *r, const char *const *files, uint32_t count) {
    const bool keys = firnc_export_is_key(files[0]);
    if (keys && asked(r) != NULL)
        return firnc_usage("export", "%s: only with the parts of plans; leave it out", asked(r));
    for (uint32_t i = 1; i < count; i++)
        if (firnc_export_is_key(files[i]) != keys)
            return firnc_usage("export", "--with: %s is %s key, and %s is %s; give files of one kind", files[i],
                               keys ? "not a" : "a", files[0], keys ? "one" : "not");
    return keys ? firnc_export_keys(files, count, r->output) : firnc_export_parts(files, count, r->wishes, r->output);
}

static int export_firmware(const request *r) {
    firnc_project_wanted wanted = {
        .plan = r->name,
        .eval = r->others.count != 0 ? r->others.text[0] : NULL,
        .folder = r->folder,
        .target = r->target,
        .key = r->key,
        .records = {.files = {r->data, r->labels, r->weights}, .records = r->records, .key = r->key}};
    return firnc_project_write(&wanted);
}

static int export_command(int argc, char **argv) {
    request r = {0};
    const char *files[FIRNC_TEXTS_MAX + 1];
    uint32_t count = 0;
    if (!firnc_options_read(argc, argv, &firnc_command_export, &r))
        return FIRNC_EXIT_USAGE;
    const int status = check(&r);
    if (status != FIRNC_EXIT_OK)
        return status;
    if (r.folder != NULL)
        return export_firmware(&r);
    files[count++] = r.name;
    for (uint32_t i = 0; i < r.others.count; i++)
        files[count++] = r.others.text[i];
    const bool is_stream = r.output != NULL && strcmp(r.output, "-") == 0;
    if (r.output != NULL && !is_stream && !firnc_output_is_free("export", r.output, files, count))
        return FIRNC_EXIT_USAGE;
    if (is_stream)
        r.output = NULL;
    if (r.c)
        return export_c(&r, files, count);
    if (r.array)
        return firnc_export_array(r.name, r.output);
    if (r.hex)
        return firnc_export_hex(r.name, r.address, r.output);
    return firnc_export_elf(r.name, strcmp(r.machine, "arm") == 0, r.address_text != NULL ? &r.address : NULL,
                            r.output);
}

const firnc_command firnc_command_export = {
    .words = {.name = "export",
              .group = "Devices",
              .summary = "write what a firmware is built and flashed with",
              .forms = {"PLAN|KEY --c [--with FILE]... [--copy-plan] [--parallel] [-o FILE]", "PLAN --array [-o FILE]",
                        "PLAN --hex --address N [-o FILE]", "PLAN --elf --machine arm|riscv [--address N] -o FILE",
                        "PLAN --firmware DIR --target CORE --pub PUB [--with PLAN] [--data FILE]"},
              .text = "write what a firmware is built and flashed with: the parts that a plan needs, the plan, the key",
              .examples = {{"firnc export flowers/train.plan --firmware board --target cortex-m4f --pub me.pub.pem "
                            "--data flowers.npy --labels species.npy",
                            "write a project that builds and runs on an emulated board: make -C board run"},
                           {"firnc export flowers/train.plan --with flowers/eval.plan --c -o parts.c",
                            "write the parts of libfirn that two plans need together"},
                           {"firnc export me.pub.pem --c -o key.c", "write a key as a C array"},
                           {"firnc export flowers/train.plan --hex --address 0x08040000 -o plan.hex",
                            "write a plan as Intel HEX, to flash"}},
              .operand = {.value = "PLAN|KEY",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(request, name),
                          .least = 1},
              .tables = {{options, sizeof options / sizeof options[0]}}},
    .run = export_command,
};
