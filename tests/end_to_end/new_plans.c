/* Writes the plans that tests/end_to_end/versions.sh runs: one that uses nothing new, and one for each thing that the
 * script adds to a copy of the format. Compiled in that copy, because only the copy has these things. Then it runs
 * plans with and without memory for decoded ops: an attribute that a plan leaves out has its default either way.
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

/* --- one new thing each ------------------------------------------------------------------------------------------- */

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
    plan->micro_batch_order = FIRN_FB_MICRO_BATCH_ORDER_ANY;
}

static void use_op(firn_native_plan *plan) {
    first_op(plan)->code = FIRN_OP_lookup;
}

/* Neither the default nor 0, which memory that nobody filled in might hold. */
static void use_attribute(firn_native_plan *plan) {
    static const int64_t eight = 8;
    firn_native_op *op = first_op(plan);
    op->integers = &eight;
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
    static firn_native_input inputs[4];
    static char name[202];
    assert_true(plan->inputs_count <= 4);
    memcpy(inputs, plan->inputs, plan->inputs_count * sizeof *inputs);
    memset(name, 'i', sizeof name - 1);
    inputs[0].name = name;
    plan->inputs = inputs;
}

static void use_member(firn_native_plan *plan) {
    static firn_fb_schedule_node nodes[4];
    assert_true(plan->schedule_nodes_count > 1 && plan->schedule_nodes_count <= 4);
    memcpy(nodes, plan->schedule_nodes, plan->schedule_nodes_count * sizeof *nodes);
    nodes[1].patience = 3;
    plan->schedule_nodes = nodes;
}

static void use_rule(firn_native_plan *plan) {
    static firn_native_initialiser initialisers[16];
    assert_true(plan->initialisers_count <= 16);
    memcpy(initialisers, plan->initialisers, plan->initialisers_count * sizeof *initialisers);
    assert_int_equal(initialisers[0].rule, FIRN_FB_INITIALISER_RULE_CONSTANT);
    initialisers[0].rng_id = 1;
    plan->initialisers = initialisers;
}

static const struct {
    const char *name;
    void (*change)(firn_native_plan *plan);
} plans[] = {{"nothing", NULL},    {"field", use_field},         {"value", use_value},
             {"op", use_op},       {"attribute", use_attribute}, {"operand", use_operand},
             {"limit", use_limit}, {"member", use_member},       {"rule", use_rule}};

static void build(signed_plan *plan, void (*change)(firn_native_plan *plan)) {
    signed_plan_settings settings = support_settings;
    settings.change = change;
    support_bigram(plan, &settings);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const void *bytes, size_t count) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void write_plans(const char *folder) {
    static signed_plan plan;
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        char name[64];
        build(&plan, plans[i].change);
        snprintf(name, sizeof name, "%s.plan", plans[i].name);
        write_file(folder, name, plan.file, (size_t)plan.bytes);
    }
    firnc_key key = {{1}, {0}}; /* only the public half is used */
    firnc_bytes private_pem, public_pem;
    memcpy(key.public_key, plan.key, sizeof key.public_key);
    assert_true(firnc_key_encode(&key, &private_pem, &public_pem));
    write_file(folder, "new.pub.pem", public_pem.data, (size_t)public_pem.count);
}

/* --- decoded ops -------------------------------------------------------------------------------------------------- */

/* Trains for a few steps, with exactly the memory for decoded ops that the runtime asks for, or with none. */
static void train(const signed_plan *plan, bool prepared, uint8_t digest[32]) {
    static const uint8_t text[] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 4, 6, 1, 3, 5, 7, 7, 5, 3, 1, 6, 4, 2, 0};
    static const uint64_t whole[] = {sizeof text, 0};
    static opened run;
    bytes_source source;
    firn_sizes sizes;
    firn_step_report report;
    memset(&run, 0x5a, sizeof run);
    memset(&run.firn, 0, sizeof run.firn);
    firn_config config = support_config(&run, plan);
    assert_int_equal(firn_plan_sizes(plan->file, plan->bytes, &sizes), FIRN_OK);
    assert_true(sizes.prepared_bytes < sizeof run.prepared);
    config.prepared = prepared ? run.prepared : NULL;
    config.prepared_bytes = prepared ? sizes.prepared_bytes : 0;
    assert_int_equal(firn_open(&run.firn, &config), FIRN_OK);
    for (size_t i = prepared ? (size_t)sizes.prepared_bytes : 0; i < sizeof run.prepared; i++)
        assert_int_equal(run.prepared[i], 0x5a);
    assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
    support_text(&source, text, whole);
    for (int i = 0; i < 6; i++)
        assert_int_equal(firn_train_step(&run.firn, &source.source, &report), FIRN_OK);
    assert_int_equal(firn_digest(&run.firn, digest), FIRN_OK);
}

static void run_both_ways(void) {
    static signed_plan plan;
    uint8_t digests[2][2][32];
    for (int given = 0; given < 2; given++) {
        build(&plan, given ? use_attribute : NULL);
        for (int prepared = 0; prepared < 2; prepared++)
            train(&plan, prepared == 1, digests[given][prepared]);
        assert_memory_equal(digests[given][0], digests[given][1], 32);
    }
    assert_memory_not_equal(digests[0][0], digests[1][0], 32);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    write_plans(argv[1]);
    run_both_ways();
    return 0;
}
