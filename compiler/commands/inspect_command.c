/* firnc inspect: the command line of the report that inspect.c makes. */
#include "compiler/commands/commands.h"
#include "compiler/commands/inspect.h"
#include "compiler/commands/options.h"

int firnc_inspect_command(int argc, char **argv) {
    const char *name;
    bool json = false, kernels = false;
    const firnc_option options[] = {{.name = "--json", .flag = &json}, {.name = "--kernels", .flag = &kernels}};
    if (!firnc_options_read(argc, argv, options, sizeof options / sizeof options[0], &name, 1))
        return FIRNC_EXIT_USAGE;
    if (json && kernels)
        return firnc_usage("inspect", "--json and --kernels exclude each other; leave one out");
    return firnc_inspect(name, json ? FIRNC_INSPECT_JSON : kernels ? FIRNC_INSPECT_KERNELS : FIRNC_INSPECT_TABLE);
}
