/* firnc inspect: the command line of the report that inspect.c makes. */
#include "compiler/commands/commands.h"
#include "compiler/commands/inspect.h"
#include "compiler/commands/options.h"

typedef struct request {
    const char *name;
    bool json;
} request;

static const firnc_option options[] = {
    {{"--json", NULL, NULL, "the report as JSON"}, FIRNC_OPTION_FLAG, offsetof(request, json)},
};

static int inspect_command(int argc, char **argv) {
    if (!firnc_has_output())
        return FIRNC_EXIT_WRONG;
    request r = {0};
    if (!firnc_options_read(argc, argv, &firnc_command_inspect, &r, &r.name))
        return FIRNC_EXIT_USAGE;
    return firnc_inspect(r.name, r.json ? FIRNC_INSPECT_JSON : FIRNC_INSPECT_TABLE);
}

const firnc_command firnc_command_inspect = {
    .words = {.name = "inspect",
              .forms = {"PLAN [--json]"},
              .text = "report what is in a plan: memory, ops with POL and reductions, schedule, sizes, totals"},
    .run = inspect_command,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
};
