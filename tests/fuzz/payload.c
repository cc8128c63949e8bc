/* Fuzzes the FlatBuffers rules and the meaning of a plan: the bytes stand in the place of a plan, get a header that
 * fits, and need no signature. A payload that is accepted is read through every accessor, and the C++ verifier of
 * FlatBuffers must accept it, too (where the build has it). A plan that is accepted runs. */
#include <stdlib.h>
#include <string.h>

#include "plan/checks/verifier.h"
#include "plan/container.h"
#include "tests/fuzz/fuzz.h"
#include "tests/oracle/oracle.h"
#include "tests/unit/plan_walk.h"

/* Everything that was read, so that no read is left out. */
static uint64_t walked;

static void add(uint64_t value) {
    walked = (walked ^ value) * UINT64_C(0x100000001b3);
}

static void add_open(void *context, const char *name, char bracket) {
    (void)context, (void)name;
    add((uint64_t)bracket);
}

static void add_close(void *context, char bracket) {
    (void)context;
    add((uint64_t)bracket);
}

static void add_integer(void *context, const char *name, int64_t value) {
    (void)context, (void)name;
    add((uint64_t)value);
}

static void add_natural(void *context, const char *name, uint64_t value) {
    (void)context, (void)name;
    add(value);
}

static void add_choice(void *context, const char *name, const char *word, uint64_t value) {
    (void)context, (void)name;
    FUZZ_HOLDS(word[0] != '\0' && word[0] != '?');
    add(value);
}

static void add_truth(void *context, const char *name, bool value) {
    (void)context, (void)name;
    add(value);
}

static void add_single(void *context, const char *name, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    (void)context, (void)name;
    add(bits);
}

static void add_real(void *context, const char *name, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    (void)context, (void)name;
    add(bits);
}

static void add_text(void *context, const char *name, const char *value, uint32_t length) {
    (void)context, (void)name;
    FUZZ_HOLDS(strlen(value) == length);
    add(length);
}

static void walk(const uint8_t *payload) {
    const walk_sink sink = {NULL,       add_open,  add_close,  add_integer, add_natural,
                            add_choice, add_truth, add_single, add_real,    add_text};
    plan_walk(firn_fb_plan_root(payload), &sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t bytes;
    uint8_t *file = fuzz_seal(data, size, &bytes);
    if (file == NULL)
        return 0;
    firn_header header;
    walk(file + FIRN_PAYLOAD_OFFSET);
    fuzz_instance instance;
    if (firn_header_decode(&header, file, bytes) == FIRN_OK)
        FUZZ_HOLDS(oracle_accepts(file + FIRN_PAYLOAD_OFFSET, (size_t)header.flatbuffers_bytes) == 1);
    if (fuzz_open(&instance, file, bytes, NULL) == FIRN_OK)
        fuzz_run(&instance, file);
    fuzz_close(&instance);
    free(file);
    return 0;
}
