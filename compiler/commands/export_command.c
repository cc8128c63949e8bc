/* firnc export: the command line of the file that export.c writes. */
#include "compiler/commands/commands.h"
#include "compiler/commands/export.h"
#include "compiler/commands/options.h"

typedef struct request {
    const char *name, *output;
    firnc_texts others;
    bool c;
} request;

static const firnc_option options[] = {
    {{"--c", NULL, NULL, "the parts of libfirn that the plans need, as C, to link in front of libfirn.a"},
     FIRNC_OPTION_FLAG,
     offsetof(request, c)},
    {{"--with", NULL, "PLAN", "another plan that the same firmware runs, such as one for evaluation; may be repeated"},
     FIRNC_OPTION_LIST,
     offsetof(request, others)},
    {{"--output", "-o", "FILE", "write there instead of to standard output"},
     FIRNC_OPTION_TEXT,
     offsetof(request, output)},
};

static int export_command(int argc, char **argv) {
    request r = {0};
    const char *plans[FIRNC_TEXTS_MAX + 1];
    uint32_t count = 0;
    if (!firnc_options_read(argc, argv, &firnc_command_export, &r, &r.name))
        return FIRNC_EXIT_USAGE;
    if (!r.c)
        return firnc_usage("export", "--c: the form is missing; add --c");
    plans[count++] = r.name;
    for (uint32_t i = 0; i < r.others.count; i++)
        plans[count++] = r.others.text[i];
    if (r.output != NULL && !firnc_output_is_free("export", r.output, plans, count))
        return FIRNC_EXIT_USAGE;
    return firnc_export_parts(plans, count, r.output);
}

const firnc_command firnc_command_export = {
    .words = {.name = "export",
              .forms = {"PLAN --c [--with PLAN]... [-o FILE]"},
              .text = "write what a firmware needs of the library to run a plan"},
    .run = export_command,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
};
