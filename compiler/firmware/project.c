/* Gathers and writes a firmware project (project.h): the texts of main.c and the Makefile that follow from plans,
 * records and board, and the files of the archive that they need. What the files say otherwise stands in
 * runtime/package/firmware. */
#include "compiler/firmware/project.h"

#include <stdio.h>
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/export.h"
#include "compiler/emit/sign.h"
#include "compiler/firmware/template.h"
#include "plan/bytes.h"
#include "plan/generated/words.h"
#include "plan/ops.h"

#define TEMPLATES "runtime/package/firmware/"
#define EMULATED  "runtime/targets/emulated/"
#define MEMORY    "runtime/targets/memory/memory.c"

enum { FILES_OF_PROJECT = 16, STEPS_MOST = 20 };

typedef struct project {
    const firnc_project_wanted *wanted;
    firnc_archive archive;
    firnc_board board;
    uint8_t key[FIRN_PUBLIC_KEY_BYTES];
    firnc_device device;
    firnc_records records;
    firnc_bytes parts;
    firnc_file *files;
    uint32_t count;
} project;

static void add(firnc_growing_text *to, const char *text) {
    firnc_text_add(to, text, strlen(text));
}

static bool evaluates(const project *p) {
    return p->device.eval.name != NULL;
}

/* --- main.c ------------------------------------------------------------------------------------------------------- */

/* The name of the array of a block: its kind, with a number where several blocks have that kind. */
static const char *block_name(const firnc_device_plan *plan, uint32_t block, const char *prefix) {
    const uint8_t kind = plan->sizes.blocks[block].kind;
    uint32_t same = 0, before = 0;
    for (uint32_t i = 0; i < plan->sizes.block_count; i++) {
        same += plan->sizes.blocks[i].kind == kind;
        before += i < block && plan->sizes.blocks[i].kind == kind;
    }
    const char *name = firnc_format("%s_%s", prefix, firn_fb_region_kind_word(kind));
    return same > 1 ? firnc_format("%s_%u", name, (unsigned)before) : name;
}

/* An array for each block of a plan, and their list. */
static const char *blocks_text(const firnc_device_plan *plan, const char *prefix) {
    firnc_growing_text text = {0};
    firnc_growing_text list = {0};
    for (uint32_t i = 0; i < plan->sizes.block_count; i++) {
        const uint64_t bytes = firnc_device_block_bytes(plan, i);
        const char *name = block_name(plan, i, prefix);
        if (bytes != 0)
            add(&text, firnc_format("IN_BLOCKS static _Alignas(FIRN_BLOCK_ALIGNMENT) uint8_t %s[%llu];\n", name,
                                    (unsigned long long)bytes));
        add(&list, bytes != 0 ? firnc_format("    {%s, sizeof %s},\n", name, name)
                              : firnc_format("    {NULL, 0}, /* %s lies elsewhere */\n", name));
    }
    add(&text, firnc_format("static const firn_block %s_blocks[] = {\n%s};", prefix, list.text));
    return text.text;
}

/* The name that plan/ops.h gives to an element type. */
static const char *type_text(uint8_t type) {
    char *name = (char *)(uintptr_t)firnc_format("FIRN_%s", firn_type_name(type));
    for (char *c = name; *c != '\0'; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    return name;
}

/* A list with one entry for each stream; `entry` is called with its number. */
static void add_list(firnc_growing_text *to, const project *p, const char *declaration,
                     const char *(*entry)(const project *p, uint32_t stream)) {
    add(to, firnc_format("%s = {", declaration));
    for (uint32_t i = 0; i < p->device.streams; i++)
        add(to, firnc_format("%s%s", i == 0 ? "" : ", ", entry(p, i)));
    add(to, "};\n");
}

static const char *name_entry(const project *p, uint32_t stream) {
    (void)p;
    return firnc_records_name(stream);
}

static const char *record_bytes_entry(const project *p, uint32_t stream) {
    const firn_stream_info *info = &p->device.stream[stream];
    return firnc_format("%llu", (unsigned long long)info->record_elements * firn_type_bytes(info->element));
}

static const char *element_bytes_entry(const project *p, uint32_t stream) {
    return firnc_format("%u", (unsigned)firn_type_bytes(p->device.stream[stream].element));
}

static const char *segment_entry(const project *p, uint32_t stream) {
    const unsigned elements = (unsigned)p->device.stream[stream].record_elements;
    return elements == 1 ? "{RECORDS}" : firnc_format("{RECORDS * UINT64_C(%u)}", elements);
}

static const char *stream_entry(const project *p, uint32_t stream) {
    const firn_stream_info *info = &p->device.stream[stream];
    return firnc_format("{%s, %u, &segments[%u], 1}", type_text(info->element), (unsigned)info->record_elements,
                        (unsigned)stream);
}

/* Whether main.c has a source, from which the library reads records; else they are pushed. */
static bool reads(const project *p) {
    return p->device.train.info.ring == 0 || evaluates(p);
}

static const char *streams_text(const project *p) {
    firnc_growing_text text = {0};
    add_list(&text, p, "static const uint8_t *const records[]", name_entry);
    if (p->device.train.info.ring != 0)
        add_list(&text, p, "static const uint32_t record_bytes[]", record_bytes_entry);
    if (reads(p)) {
        add_list(&text, p, "static const uint32_t element_bytes[]", element_bytes_entry);
        add_list(&text, p, "static const firn_segment segments[]", segment_entry);
        add_list(&text, p, "static const firn_stream streams[]", stream_entry);
    }
    return text.text;
}

/* What files.S defines beside the train plan. */
static const char *externs_text(const project *p) {
    firnc_growing_text text = {0};
    add(&text, evaluates(p) ? ", eval_plan[], eval_plan_end[]" : "");
    for (uint32_t i = 0; i < p->device.streams; i++)
        add(&text, firnc_format(", %s[]", firnc_records_name(i)));
    return text.text;
}

static const char *record_files_text(const project *p) {
    firnc_growing_text text = {0};
    for (uint32_t i = 0; i < p->device.streams; i++) {
        const char *name = firnc_records_name(i);
        add(&text, firnc_format("%s    .balign 64\n    .global %s\n%s:\n    .incbin \"%s.npy\", %d", i == 0 ? "" : "\n",
                                name, name, name, FIRNC_NPY_HEADER_BYTES));
    }
    return text.text;
}

/* --- the builds --------------------------------------------------------------------------------------------------- */

/* The text with `firn/`, or what else stands in front, before each path of the source tree, which begins a word. */
static const char *in_project(const char *text, const char *front) {
    firnc_growing_text moved = {0};
    for (const char *at = text; *at != '\0'; at++) {
        if ((at == text || at[-1] == ' ') && strncmp(at, "runtime/", 8) == 0)
            add(&moved, front);
        firnc_text_add(&moved, at, 1);
    }
    return moved.text != NULL ? moved.text : "";
}

static const char *libc_text(const project *p, const char *front) {
    return in_project(p->board.libc, front);
}

/* The sources of the library, a line each, with what ends each line but the last. */
static const char *sources_text(const project *p, const char *end) {
    const char *start = firnc_format("%s/start.c", p->board.start);
    firnc_growing_text text = {0};
    for (uint32_t i = 0; i < firnc_archive_file_count; i++) {
        const char *name = firnc_archive_files[i].name;
        if (p->archive.taken[i] && firnc_text_ends(name, ".c") && strcmp(name, start) != 0 &&
            !firnc_text_ends(name, "/p256-m.c")) /* signature.c includes it */
            add(&text, firnc_format("%s    firn/%s", text.length == 0 ? "" : end, name));
    }
    return text.text;
}

/* The sources of functions that the compiler must not replace by calls of themselves. */
static const char *of_libc_text(const project *p) {
    return in_project(firnc_format("%s %s", MEMORY, p->board.libc_source), "firn/");
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

static void add_file(project *p, const char *name, firnc_bytes bytes) {
    p->files[p->count++] = (firnc_file){name, bytes};
}

/* The options that say to firn train and firn eval which records they read. */
static const char *host_data_text(uint32_t streams) {
    firnc_growing_text text = {0};
    for (uint32_t i = 0; i < streams; i++)
        add(&text, firnc_format(" %s %s.npy", firnc_records_option(i), firnc_records_name(i)));
    return text.text;
}

static uint64_t steps_of(const project *p) {
    const uint64_t steps = p->device.train.info.steps;
    return steps != 0 && steps < STEPS_MOST ? steps : STEPS_MOST;
}

/* Fills in the template of a file, and adds the file. */
static const char *add_template(project *p, const char *name) {
    const bool pushes = p->device.train.info.ring != 0;
    const char *yes = "";
    const firnc_mark_text marks[] = {
        {"TARGET", p->board.target},
        {"CROSS", p->board.cross},
        {"MACHINE", p->board.machine},
        {"LIBC", libc_text(p, "firn/")},
        {"LIBC_OF_CMAKE", libc_text(p, "${CMAKE_CURRENT_SOURCE_DIR}/firn/")},
        {"START", firnc_format("firn/%s/start.c", p->board.start)},
        {"START_FLAGS", p->board.start_flags},
        {"SCRIPT", firnc_format("firn/%s", p->board.script)},
        {"EMULATOR", p->board.emulator},
        {"OF_LIBC", of_libc_text(p)},
        {"SOURCES", sources_text(p, " \\\n")},
        {"SOURCES_OF_CMAKE", sources_text(p, "\n")},
        {"STEPS", firnc_format("%llu", (unsigned long long)steps_of(p))},
        {"RECORDS", firnc_format("UINT64_C(%llu)", (unsigned long long)p->records.count)},
        {"BLOCKS", blocks_text(&p->device.train, "trainer")},
        {"STREAMS", streams_text(p)},
        {"EXTERNS", externs_text(p)},
        {"RECORD_FILES", record_files_text(p)},
        {"READS", reads(p) ? yes : NULL},
        {"SOURCE", pushes ? NULL : yes},
        {"PUSHED", pushes ? yes : NULL},
        {"EVALUATES", evaluates(p) ? yes : NULL},
        {"EVALUATOR_BLOCKS", evaluates(p) ? blocks_text(&p->device.eval, "evaluator") : NULL},
        {"METRICS", p->device.eval.metrics != 0 ? firnc_format("%u", (unsigned)p->device.eval.metrics) : NULL},
        {"ZEROS", p->wanted->records.files[0] == NULL ? yes : NULL},
        {"HOST_DATA", host_data_text(p->device.streams)},
        {"HOST_EVAL_DATA", evaluates(p) ? host_data_text(p->device.eval.info.streams) : NULL},
        {"CHECKPOINT", evaluates(p) ? " --checkpoint run.ckpt" : ""},
    };
    const char *text = firnc_archive_text(&p->archive, firnc_format("%s%s.in", TEMPLATES, name));
    const char *filled = firnc_template_fill(text, marks, sizeof marks / sizeof marks[0]);
    add_file(p, name, (firnc_bytes){(uint8_t *)(uintptr_t)filled, strlen(filled)});
    return filled;
}

/* Takes a linker script and the one that it includes. */
static void take_script(project *p) {
    const char *include = strstr(firnc_archive_text(&p->archive, p->board.script), "\nINCLUDE ");
    firnc_archive_take(&p->archive, p->board.script);
    if (include != NULL) {
        include += strlen("\nINCLUDE ");
        firnc_archive_take(&p->archive, firnc_format("%.*s", (int)strcspn(include, "\n"), include));
    }
}

/* Takes the files of the archive that the project needs: what main.c and parts.c name, and the board. */
static void take_files(project *p, const char *main_c) {
    firnc_archive *archive = &p->archive;
    const char *libc = strstr(p->board.libc, "-isystem ");
    static const char *const always[] = {MEMORY, EMULATED "semihosting.c", EMULATED "text.c"};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        firnc_archive_take(archive, always[i]);
    firnc_archive_take(archive, firnc_format("%s/start.c", p->board.start));
    if (p->board.libc_source[0] != '\0')
        firnc_archive_take(archive, p->board.libc_source);
    if (libc != NULL)
        firnc_archive_take_folder(archive, libc + strlen("-isystem "));
    take_script(p);
    firnc_archive_take(archive, TEMPLATES "main.c.in");
    firnc_archive_take_names(archive, main_c);
    firnc_archive_take_names(archive, (const char *)p->parts.data);
}

static void gather(project *p) {
    static const char *const others[] = {"files.S", "Makefile", "CMakeLists.txt", "README.md"};
    p->files = firnc_allocate((firnc_archive_file_count + UINT64_C(1) * FILES_OF_PROJECT) * sizeof *p->files);
    take_files(p, add_template(p, "main.c"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        (void)add_template(p, others[i]);
    add_file(p, "parts.c", p->parts);
    add_file(p, "key.c", firnc_export_keys_text((const uint8_t(*)[FIRN_PUBLIC_KEY_BYTES])p->key, 1));
    add_file(p, "train.plan", p->device.train.image);
    if (evaluates(p))
        add_file(p, "eval.plan", p->device.eval.image);
    for (uint32_t i = 0; i < p->device.streams; i++)
        add_file(p, firnc_format("%s.npy", firnc_records_name(i)), p->records.npy[i]);
    for (uint32_t i = 0; i < firnc_archive_file_count; i++) {
        const firnc_archive_file *file = &firnc_archive_files[i];
        if (p->archive.taken[i] && !firnc_text_ends(file->name, ".in"))
            add_file(p, firnc_format("firn/%s", file->name),
                     (firnc_bytes){p->archive.contents.data + file->offset, file->bytes});
    }
}

static int read_inputs(project *p) {
    const firnc_project_wanted *wanted = p->wanted;
    if (!firnc_archive_open(&p->archive))
        return FIRNC_EXIT_WRONG;
    if (!firnc_board_find(&p->archive, wanted->target, &p->board))
        return firnc_usage("export", "--target: %s is not known; give one of %s", wanted->target,
                           firnc_board_targets(&p->archive));
    if (!firnc_folder_is_free(wanted->folder) || !firnc_public_key_read(wanted->key, p->key))
        return FIRNC_EXIT_WRONG;
    int status = firnc_device_open(&p->device, wanted->plan, wanted->eval, p->key, &p->board);
    if (status == FIRNC_EXIT_OK)
        status = firnc_records_read(&p->records, &p->device, &wanted->records, &p->board);
    const char *const plans[] = {wanted->plan, wanted->eval};
    return status == FIRNC_EXIT_OK
               ? firnc_export_parts_text(plans, wanted->eval != NULL ? 2 : 1, (firnc_export_wishes){0}, &p->parts)
               : status;
}

int firnc_project_write(const firnc_project_wanted *wanted) {
    project p = {.wanted = wanted};
    const int status = read_inputs(&p);
    if (status != FIRNC_EXIT_OK)
        return status;
    gather(&p);
    if (!firnc_folder_write(wanted->folder, p.files, p.count))
        return FIRNC_EXIT_WRONG;
    const char *folder = firnc_printable(wanted->folder);
    printf("%s: %lu files for %s, with %llu records%s; next: make -C %s run\n", folder, (unsigned long)p.count,
           wanted->target, (unsigned long long)p.records.count,
           wanted->records.files[0] == NULL ? " of zeros (give --data)" : "", folder);
    return FIRNC_EXIT_OK;
}
