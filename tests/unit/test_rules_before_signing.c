/* Tests that no command of firnc signs, attaches to, verifies or writes a plan that breaks a semantic rule: a device
 * with a sealed runtime relies on that (plan/THREAT_MODEL.md). The plan is well formed and its signature is good. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/commands/commands.h"
#include "compiler/emit/plan_file.h"
#include "compiler/emit/sign.h"
#include "plan/checks/check.h"
#include "plan/errors.h"
#include "tests/unit/support_recipes.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

static char folder[] = P_tmpdir "/firn-rules-XXXXXX";
static firnc_key key;

static char *inside(const char *name) {
    return (char *)(uintptr_t)firnc_format("%s/%s", folder, name);
}

BEFORE_ALL {
    firnc_bytes secret, public;
    assert_non_null(mkdtemp(folder));
    assert_true(firnc_key_generate(&key) && firnc_key_encode(&key, &secret, &public) &&
                firnc_file_write(inside("key"), secret.data, secret.count) &&
                firnc_file_write(inside("pub"), public.data, public.count));
}

AFTER_ALL {
    static const char *const names[] = {"key", "pub", "plan", "unsigned", "signature", "attached", "compiled"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlink(inside(names[i]));
    assert_int_equal(rmdir(folder), 0);
}

/* Every loss seed must be 1 / micro_batches, which the layout of the plan cannot say. */
static void break_a_rule(firn_native_plan *plan) {
    plan->micro_batches++;
}

/* Writes a file by itself: firnc does not replace what it has read in the same process. */
static void put(const char *name, const void *bytes, uint64_t count) {
    FILE *file = fopen(inside(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* Writes the same plan unsigned and signed, and the signature. */
static void write_plans(bool broken) {
    signed_plan_settings settings = support_settings;
    signed_plan plan;
    firn_header header;
    uint8_t digest[32], signature[64];
    settings.change = broken ? break_a_rule : NULL;
    support_bigram(&plan, &settings);
    assert_int_equal(firn_header_decode(&header, plan.file, plan.bytes), FIRN_OK);
    assert_int_equal(firn_key_hash(key.public_key, header.key_hash), FIRN_OK);
    firn_header_encode(&header, plan.file);
    assert_int_equal(firn_sha256_of(plan.file, FIRN_HEADER_BYTES, digest), FIRN_OK);
    assert_true(firnc_sign(&key, digest, signature));
    memcpy(plan.file + FIRN_HEADER_BYTES, signature, sizeof signature);
    put("plan", plan.file, plan.bytes);
    put("signature", signature, sizeof signature);
    header.algorithm = FIRN_ALGORITHM_NONE;
    firn_header_encode(&header, plan.file);
    memset(plan.file + FIRN_HEADER_BYTES, 0, FIRN_SIGNATURE_BYTES);
    put("unsigned", plan.file, plan.bytes);
}

/* Runs a command with at most seven words. */
static int run(const firnc_command *command, char *const words[]) {
    char *argv[9] = {(char *)(uintptr_t)command->words.name};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = words[argc - 1];
    return command->run(argc, argv);
}

static int verify(void) {
    return run(&firnc_command_verify, (char *[]){inside("plan"), "--pub", inside("pub"), NULL});
}

static int sign(void) {
    (void)unlink(inside("signature"));
    return run(&firnc_command_sign,
               (char *[]){inside("unsigned"), "--key", inside("key"), "-o", inside("signature"), NULL});
}

static int attach(void) {
    (void)unlink(inside("attached"));
    return run(&firnc_command_attach, (char *[]){inside("unsigned"), "--signature", inside("signature"), "--pub",
                                                 inside("pub"), "-o", inside("attached"), NULL});
}

TEST(a_plan_that_obeys_passes) {
    write_plans(false);
    assert_int_equal(verify(), FIRNC_EXIT_OK);
    assert_int_equal(attach(), FIRNC_EXIT_OK);
    assert_int_equal(sign(), FIRNC_EXIT_OK);
}

TEST(a_plan_that_breaks_a_rule_is_refused) {
    write_plans(true);
    assert_int_equal(verify(), FIRNC_EXIT_REFUSED);
    assert_int_equal(attach(), FIRNC_EXIT_REFUSED);
    assert_int_equal(access(inside("attached"), F_OK), -1);
    assert_int_equal(sign(), FIRNC_EXIT_REFUSED);
    assert_int_equal(access(inside("signature"), F_OK), -1);
}

/* --- compile, whose own plans break no rule: the checks report that one did --- */

static int reported; /* FIRN_OK: what the checks say */
static uint32_t checks;

int __real_firn_check(const firn_check_request *request, firn_checked *checked);
int __wrap_firn_check(const firn_check_request *request, firn_checked *checked);

int __wrap_firn_check(const firn_check_request *request, firn_checked *checked) {
    const int status = __real_firn_check(request, checked);
    checks++;
    return status == FIRN_OK ? reported : status;
}

static int compile(void) {
    return run(&firnc_command_compile, (char *[]){"runtime/targets/size.yaml", "--mode", "train", "--key",
                                                  inside("key"), "-o", inside("compiled"), NULL});
}

TEST(what_compile_made_is_checked) {
    reported = FIRN_ERROR_FIELD;
    checks = 0;
    assert_int_not_equal(compile(), FIRNC_EXIT_OK);
    assert_int_equal(checks, 1);
    assert_int_equal(access(inside("compiled"), F_OK), -1);
    reported = FIRN_OK;
    assert_int_equal(compile(), FIRNC_EXIT_OK);
    assert_int_equal(access(inside("compiled"), F_OK), 0);
}
