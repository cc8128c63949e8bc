/* firnc inspect: the command line of the report that inspect.c makes. */
#include "compiler/commands/commands.h"
#include "compiler/commands/inspect.h"
#include "compiler/commands/options.h"

typedef struct request {
    const char *name;
    bool json, kernels;
} request;

static const firnc_option options[] = {
    {{"--json", NULL, NULL, "the report as JSON"}, FIRNC_OPTION_FLAG, offsetof(request, json)},
    {{"--kernels", NULL, NULL, "only the kernels that the plan needs, for a firmware link"},
     FIRNC_OPTION_FLAG,
     offsetof(request, kernels)},
};

static int inspect_command(int argc, char **argv) {
    request r = {0};
    if (!firnc_options_read(argc, argv, &firnc_command_inspect, &r, &r.name))
        return FIRNC_EXIT_USAGE;
    if (r.json && r.kernels)
        return firnc_usage("inspect", "--json and --kernels exclude each other; leave one out");
    return firnc_inspect(r.name, r.json ? FIRNC_INSPECT_JSON : r.kernels ? FIRNC_INSPECT_KERNELS : FIRNC_INSPECT_TABLE);
}

const firnc_command firnc_command_inspect = {
    .words = {.name = "inspect",
              .forms = {"PLAN [--json | --kernels]"},
              .text = "report what is in a plan: memory, ops with POL and reductions, schedule, sizes, totals"},
    .run = inspect_command,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
};
