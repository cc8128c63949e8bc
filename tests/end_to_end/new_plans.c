/* Writes the plans that tests/end_to_end/versions.sh runs: one that uses nothing new, and one for each thing that the
 * script adds to a copy of the format. Compiled in that copy, because only the copy has these things.
 *
 *     new_plans FOLDER */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/emit/sign.h"
#include "plan/ops.h"
#include "tests/unit/support_signed_plans.h"

/* The first op of the plan, which looks up rows of the table, in memory that can be changed. */
static firn_native_op *first_op(firn_native_plan *plan) {
    static firn_native_phase phases[8];
    static firn_native_op ops[64];
    assert_true(plan->phases_count <= 8 && plan->phases[0].ops_count <= 64);
    memcpy(phases, plan->phases, plan->phases_count * sizeof *phases);
    memcpy(ops, phases[0].ops, phases[0].ops_count * sizeof *ops);
    phases[0].ops = ops;
    plan->phases = phases;
    assert_int_equal(ops[0].code, FIRN_OP_embedding);
    return ops;
}

static void use_field(firn_native_plan *plan) {
    plan->remark = 7;
}

static void use_value(firn_native_plan *plan) {
    firn_native_op *op = first_op(plan);
    op->pol_present = true;
    op->pol.origin = FIRN_FB_POL_ORIGIN_GUESS;
}

static void use_op(firn_native_plan *plan) {
    first_op(plan)->code = FIRN_OP_lookup;
}

static void use_attribute(firn_native_plan *plan) {
    static const int64_t one = 1;
    firn_native_op *op = first_op(plan);
    op->integers = &one;
    op->integers_count = 1;
}

static void use_operand(firn_native_plan *plan) {
    static uint32_t inputs[3];
    firn_native_op *op = first_op(plan);
    inputs[FIRN_EMBEDDING_IN_IDS] = op->inputs[FIRN_EMBEDDING_IN_IDS];
    inputs[FIRN_EMBEDDING_IN_TABLE] = op->inputs[FIRN_EMBEDDING_IN_TABLE];
    inputs[FIRN_EMBEDDING_IN_SPARE] = op->inputs[FIRN_EMBEDDING_IN_TABLE];
    op->inputs = inputs;
    op->inputs_count = 3;
}

static void use_limit(firn_native_plan *plan) {
    static char name[202];
    memset(name, 'c', sizeof name - 1);
    plan->compiler = name;
}

static void write_file(const char *folder, const char *name, const void *bytes, size_t count) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*change)(firn_native_plan *plan);
    } plans[] = {{"nothing", NULL},   {"field", use_field},         {"value", use_value},
                 {"op", use_op},      {"attribute", use_attribute}, {"operand", use_operand},
                 {"limit", use_limit}};
    static signed_plan plan;
    if (argc != 2)
        return 2;
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        char name[64];
        signed_plan_settings settings = support_settings;
        settings.change = plans[i].change;
        support_bigram(&plan, &settings);
        snprintf(name, sizeof name, "%s.plan", plans[i].name);
        write_file(argv[1], name, plan.file, (size_t)plan.bytes);
    }
    firnc_key key = {{1}, {0}}; /* only the public half is used */
    firnc_bytes private_pem, public_pem;
    memcpy(key.public_key, plan.key, sizeof key.public_key);
    assert_true(firnc_key_encode(&key, &private_pem, &public_pem));
    write_file(argv[1], "new.pub.pem", public_pem.data, (size_t)public_pem.count);
    return 0;
}
