/* Words of notes that depend on a number. */
#include "runtime/cli/cli.h"

const char *cli_s(uint64_t count) {
    return count == 1 ? "" : "s";
}
