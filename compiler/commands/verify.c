/* firnc verify: makes every check that a device makes before it runs a plan, without running the plan. */
#include <stdio.h>
#include <string.h>

#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/commands/report_read.h"
#include "compiler/emit/plan_file.h"
#include "compiler/emit/sign.h"
#include "plan/errors.h"

#define COUNTER_FILE_MAX 15

/* A counter file holds decimal digits and a newline, as the host runner writes it. A missing file is an error, though
 * to firn it is a device that has seen no plan yet: nothing is written here, and a mistyped name would be a counter of
 * 0, which refuses nothing. */
static bool read_counter(const char *name, uint32_t *counter) {
    firnc_bytes bytes;
    uint64_t number = 0;
    if (!firnc_file_read(name, COUNTER_FILE_MAX, &bytes))
        return false;
    char *text = (char *)bytes.data;
    bool line = bytes.count > 0 && strcspn(text, "\n") == bytes.count - 1 && text[bytes.count - 1] == '\n';
    if (line)
        text[bytes.count - 1] = '\0';
    if (!line || strspn(text, "0123456789") != strlen(text) || !firn_number_read(text, UINT32_MAX, &number)) {
        firnc_say("firnc: %s: not a counter; give the file that firn --counter keeps", name);
        return false;
    }
    *counter = (uint32_t)number;
    return true;
}

typedef struct request {
    const char *name, *pub, *counter;
} request;

static const firn_option options[] = {
    {.name = "--pub",
     .value = "PUB",
     .text = "the public key whose plans are good",
     .needed = FIRN_EVERY_COMMAND,
     .what = "the public key",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, pub)},
    {.name = "--counter",
     .value = "FILE",
     .text = "the security counter of the device, as firn --counter keeps it; it must be there",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, counter)},
};

static int verify_command(int argc, char **argv) {
    request r = {0};
    if (!firnc_options_read(argc, argv, &firnc_command_verify, &r))
        return FIRNC_EXIT_USAGE;
    uint8_t public_key[FIRN_PUBLIC_KEY_BYTES];
    uint32_t counter = 0;
    firnc_bytes file;
    if (!firnc_public_key_read(r.pub, public_key) || (r.counter != NULL && !read_counter(r.counter, &counter)) ||
        !firnc_plan_read(r.name, &file))
        return FIRNC_EXIT_WRONG;
    firnc_plan_file checked;
    int error = firnc_plan_check(&file, public_key, counter, &checked);
    if (error != FIRN_OK) {
        firnc_plan_refuse(r.name, &file, error);
        return FIRNC_EXIT_REFUSED;
    }
    cJSON *report = firnc_report_of(&file, &checked.header);
    const char *model = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(report, "model"));
    printf("%s: good: a plan to %s %s, security counter %u\n", firnc_printable(r.name),
           checked.header.mode == FIRN_MODE_TRAIN ? "train" : "evaluate",
           model != NULL ? firnc_printable(model) : "a model that is not said",
           (unsigned)checked.header.security_counter);
    cJSON_Delete(report);
    firnc_print_hash("plan hash", checked.plan_hash);
    firnc_print_hash("run hash ", checked.header.run_hash);
    return FIRNC_EXIT_OK;
}

const firnc_command firnc_command_verify = {
    .words = {.name = "verify",
              .group = "Plans",
              .summary = "make every check that a device makes",
              .forms = {"PLAN --pub PUB [--counter FILE]"},
              .text = "make every check that a device makes before it runs a plan",
              .examples = {{"firnc verify plans/train.plan --pub me.pub.pem",
                            "say whether a device with this key would run the plan"}},
              .operand = {.value = "PLAN",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(request, name),
                          .least = 1},
              .tables = {{options, sizeof options / sizeof options[0]}}},
    .run = verify_command,
};
