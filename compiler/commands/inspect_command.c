/* firnc inspect: the command line of the report that inspect.c makes. */
#include "compiler/commands/commands.h"
#include "compiler/commands/inspect.h"
#include "compiler/commands/options.h"

typedef struct request {
    const char *name;
    bool json;
} request;

static const firn_option options[] = {
    {.name = "--json", .text = "the report as JSON", .kind = FIRN_OPTION_FLAG, .place = offsetof(request, json)},
};

static int inspect_command(int argc, char **argv) {
    if (!firnc_has_output())
        return FIRNC_EXIT_WRONG;
    request r = {0};
    if (!firnc_options_read(argc, argv, &firnc_command_inspect, &r))
        return FIRNC_EXIT_USAGE;
    return firnc_inspect(r.name, r.json ? FIRNC_INSPECT_JSON : FIRNC_INSPECT_TABLE);
}

const firnc_command firnc_command_inspect = {
    .words = {.name = "inspect",
              .group = "Plans",
              .summary = "say what is in a plan",
              .forms = {"PLAN [--json]"},
              .text = "report what is in a plan: memory, ops with POL and reductions, schedule, sizes, totals",
              .operand = {.value = "PLAN",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(request, name),
                          .least = 1},
              .tables = {{options, sizeof options / sizeof options[0]}}},
    .run = inspect_command,
};
