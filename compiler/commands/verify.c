/* firnc verify: every check that a device makes before it runs a plan, without running it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/emit/plan_file.h"
#include "compiler/emit/sign.h"
#include "plan/errors.h"

#define COUNTER_FILE_MAX 15

/* A counter is digits and the end of their line, as the host runner keeps it. Only where there is no such file has the
 * device seen no plan: one that cannot be read may hold any number. */
static bool read_counter(const char *name, uint32_t *counter) {
    firnc_bytes bytes;
    uint64_t number = 0;
    FILE *file = fopen(name, "rb");
    *counter = 0;
    if (file == NULL && errno == ENOENT)
        return true;
    if (file != NULL)
        fclose(file);
    if (!firnc_file_read(name, COUNTER_FILE_MAX, &bytes))
        return false;
    char *text = (char *)bytes.data;
    bool line = bytes.count > 0 && strcspn(text, "\n") == bytes.count - 1 && text[bytes.count - 1] == '\n';
    if (line)
        text[bytes.count - 1] = '\0';
    if (!line || !firnc_number_read(text, UINT32_MAX, &number)) {
        firnc_say("firnc: %s: not a counter; give the file that firn --counter keeps", name);
        return false;
    }
    *counter = (uint32_t)number;
    return true;
}

int firnc_verify_command(int argc, char **argv) {
    const char *name, *pub = NULL, *counter_name = NULL;
    const firnc_option options[] = {{.name = "--pub", .text = &pub}, {.name = "--counter", .text = &counter_name}};
    if (!firnc_options_read(argc, argv, options, sizeof options / sizeof options[0], &name, 1))
        return FIRNC_EXIT_USAGE;
    if (pub == NULL)
        return firnc_usage("verify", "--pub: the public key is missing; write --pub and its file name");
    uint8_t public_key[FIRN_PUBLIC_KEY_BYTES];
    uint32_t counter = 0;
    firnc_bytes file;
    if (!firnc_public_key_read(pub, public_key) || (counter_name != NULL && !read_counter(counter_name, &counter)) ||
        !firnc_file_read(name, FIRNC_PLAN_BYTES_MAX, &file))
        return FIRNC_EXIT_WRONG;
    firnc_plan_file checked;
    int error = firnc_plan_check(&file, public_key, counter, &checked);
    if (error != FIRN_OK) {
        firnc_plan_refuse(name, error);
        return FIRNC_EXIT_REFUSED;
    }
    printf("%s: good: a plan to %s %s, security counter %u\n", firnc_printable(name),
           checked.header.mode == FIRN_MODE_TRAIN ? "train" : "evaluate", firn_fb_plan_model(checked.plan),
           (unsigned)checked.header.security_counter);
    firnc_print_hash("plan hash", checked.plan_hash);
    firnc_print_hash("run hash ", checked.header.run_hash);
    return FIRNC_EXIT_OK;
}
