/* firnc inspect: the command line of the report that inspect.c makes. */
#include "compiler/commands/commands.h"
#include "compiler/commands/inspect/inspect.h"
#include "compiler/commands/options.h"

typedef struct request {
    const char *name;
    bool json, all, unfolded, schedule, memory, tensors, ops;
} request;

static const firn_option options[] = {
    {.name = "--schedule",
     .text = "steps, optimizer and schedules",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, schedule)},
    {.name = "--memory",
     .text = "the regions, what is live at the peak, and totals",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, memory)},
    {.name = "--tensors",
     .text = "the tensors, those of equal layers folded into one line",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, tensors)},
    {.name = "--ops",
     .text = "the ops with POL and reductions, those of equal layers folded",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, ops)},
    {.name = "--unfolded",
     .text = "with --tensors or --ops: each one, in order, with its place",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, unfolded)},
    {.name = "--all",
     .text = "everything as one text, unfolded",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, all)},
    {.name = "--json", .text = "everything as JSON", .kind = FIRN_OPTION_FLAG, .place = offsetof(request, json)},
};

/* The parts that are asked for; the screen without any. */
static uint32_t parts_of(const request *r) {
    const uint32_t parts =
        (r->schedule ? (uint32_t)FIRNC_INSPECT_SCHEDULE : 0) | (r->memory ? (uint32_t)FIRNC_INSPECT_MEMORY : 0) |
        (r->tensors ? (uint32_t)FIRNC_INSPECT_TENSORS : 0) | (r->ops ? (uint32_t)FIRNC_INSPECT_OPS : 0);
    if (r->json)
        return FIRNC_INSPECT_JSON;
    if (r->all)
        return FIRNC_INSPECT_TABLE;
    return parts == 0 ? (uint32_t)FIRNC_INSPECT_SCREEN : parts | (r->unfolded ? (uint32_t)FIRNC_INSPECT_UNFOLDED : 0);
}

/* Refuses options of which one has no effect. Returns the exit code. */
static int check_request(const request *r) {
    const bool parts = r->schedule || r->memory || r->tensors || r->ops;
    if (r->json && (parts || r->all || r->unfolded))
        return firnc_usage("inspect", "--json: has everything; leave out the other options");
    if (r->all && (parts || r->unfolded))
        return firnc_usage("inspect", "--all: is everything, unfolded; leave out the other options, or --all");
    if (r->unfolded && !r->tensors && !r->ops)
        return firnc_usage("inspect", "--unfolded: is for --tensors and --ops; add one of them, or leave it out");
    return FIRNC_EXIT_OK;
}

static int inspect_command(int argc, char **argv) {
    if (!firnc_has_output())
        return FIRNC_EXIT_WRONG;
    request r = {0};
    if (!firnc_options_read(argc, argv, &firnc_command_inspect, &r))
        return FIRNC_EXIT_USAGE;
    const int status = check_request(&r);
    return status != FIRNC_EXIT_OK ? status : firnc_inspect(r.name, parts_of(&r));
}

const firnc_command firnc_command_inspect = {
    .words = {.name = "inspect",
              .group = "Plans",
              .summary = "say what is in a plan",
              .forms = {"PLAN [--schedule] [--memory] [--tensors] [--ops] [--unfolded]", "PLAN --all", "PLAN --json"},
              .text = "report what is in a plan: one screen to decide by, or the parts that are named",
              .examples = {{"firnc inspect plans/train.plan", "say what a plan does and needs, on one screen"},
                           {"firnc inspect plans/train.plan --memory --ops", "say more of two parts"},
                           {"firnc inspect plans/train.plan --json", "everything, for programs"}},
              .operand = {.value = "PLAN",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(request, name),
                          .least = 1},
              .tables = {{options, sizeof options / sizeof options[0]}}},
    .run = inspect_command,
};
