/* Tests what instances have in common and what an application reads: parameters that an eval plan takes from a train
 * plan in place, values that are derived from parameters once, outputs, and evaluations without labels. */
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

enum { V = BIGRAM_VOCABULARY, TABLE_BYTES = V * V * sizeof(float) };

static const uint8_t text[] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 4, 6,
                               0, 2, 4, 6, 1, 3, 5, 7, 1, 3, 5, 7, 7, 6, 5, 4, 3, 2, 1, 0};
static const uint64_t whole[] = {sizeof text, 0};

static signed_plan train_plan, eval_plan, other_plan;
static opened owner, sharer, apart;
static bytes_source source;

/* --- storage of one record --- */

static uint8_t stored[4096];
static uint64_t stored_bytes;

static int store_read(void *context, uint64_t offset, void *bytes, uint32_t count) {
    (void)context;
    assert_true(offset <= stored_bytes && count <= stored_bytes - offset);
    memcpy(bytes, stored + offset, count);
    return 0;
}

static int store_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    (void)context;
    assert_true(offset <= sizeof stored && count <= sizeof stored - offset);
    memcpy(stored + offset, bytes, count);
    stored_bytes = offset + count;
    return 0;
}

static int store_erase(void *context, uint64_t offset, uint64_t count) {
    (void)context, (void)offset, (void)count;
    stored_bytes = 0;
    return 0;
}

static int store_sync(void *context) {
    (void)context;
    return 0;
}

static uint64_t store_bytes(void *context) {
    (void)context;
    return stored_bytes;
}

static jmp_buf escape;
static int calls_left;

/* Does not return when the calls are used up, like a reset by a watchdog. */
static void leave(void *context) {
    (void)context;
    if (calls_left > 0 && --calls_left == 0)
        longjmp(escape, 1);
}

static const firn_storage storage = {.program_unit = 16,
                                     .erase_unit = 16,
                                     .read = store_read,
                                     .program = store_program,
                                     .erase = store_erase,
                                     .sync = store_sync,
                                     .stored = store_bytes};
static const firn_port port = {.struct_size = sizeof(firn_port), .storage = &storage, .alive = leave};

/* --- opening --- */

/* The config of a plan that takes its parameters from an owner, with the blocks that it needs then. */
static firn_config shared_config(opened *opened, const signed_plan *plan, const firn *of) {
    firn_config config = support_config(opened, plan);
    config.port = &port;
    config.owner = of;
    opened->blocks[0] = (firn_block){0}; /* the parameters come first */
    memset(&opened->firn, 0, sizeof opened->firn);
    return config;
}

static int share(opened *opened, const signed_plan *plan, const firn *of) {
    const firn_config config = shared_config(opened, plan, of);
    return firn_open(&opened->firn, &config);
}

static void train(int steps) {
    firn_step_report report;
    for (int i = 0; i < steps; i++)
        assert_int_equal(firn_train_step(&owner.firn, &source.source, &report), FIRN_OK);
}

/* Evaluates a few steps and returns the metric; the digest is that of the state afterwards. */
static float evaluate(opened *opened, uint8_t digest[32]) {
    float value;
    for (int i = 0; i < 3; i++)
        assert_int_equal(firn_eval_step(&opened->firn, &source.source), FIRN_OK);
    assert_int_equal(firn_eval_result(&opened->firn, &value), FIRN_OK);
    assert_int_equal(firn_digest(&opened->firn, digest), FIRN_OK);
    return value;
}

/* A train plan that has taken 5 steps, and an eval plan of the same model. */
static void open_both(void) {
    support_text(&source, text, whole);
    support_bigram(&train_plan, &support_settings);
    support_bigram_eval(&eval_plan, &support_settings);
    assert_int_equal(support_open(&owner, &train_plan, &port), FIRN_OK);
    assert_int_equal(firn_initialise(&owner.firn), FIRN_OK);
    train(5);
    assert_int_equal(share(&sharer, &eval_plan, &owner.firn), FIRN_OK);
    assert_int_equal(firn_initialise(&sharer.firn), FIRN_OK);
}

/* --- shared parameters --- */

/* The evaluation is the one of a checkpoint that was saved and restored, after every few steps of the owner, and
 * changes nothing of the owner. */
TEST(evaluates_as_after_a_checkpoint) {
    float values[3];
    open_both();
    assert_int_equal(support_open(&apart, &eval_plan, &port), FIRN_OK);
    for (int round = 0; round < 3; round++) {
        uint8_t before[32], after[32], here[32], there[32];
        assert_int_equal(firn_digest(&owner.firn, before), FIRN_OK);
        assert_int_equal(firn_save(&owner.firn), FIRN_OK);
        assert_int_equal(firn_restore(&apart.firn, NULL), FIRN_OK);
        assert_int_equal(firn_initialise(&sharer.firn), FIRN_OK); /* a new evaluation */
        const float value = evaluate(&sharer, here), restored = evaluate(&apart, there);
        assert_int_equal(firn_bits(value), firn_bits(restored));
        assert_memory_equal(here, there, 32);
        assert_int_equal(firn_digest(&owner.firn, after), FIRN_OK);
        assert_memory_equal(before, after, 32);
        values[round] = value;
        train(5);
    }
    assert_true(values[0] != values[1] && values[1] != values[2]); /* training shows in it */
}

TEST(reads_the_same_memory) {
    open_both();
    assert_ptr_equal(support_tensor(&owner.firn, "table").data, support_tensor(&sharer.firn, "table").data);
    assert_ptr_not_equal(support_tensor(&owner.firn, "counters.cursor").data,
                         support_tensor(&sharer.firn, "counters.cursor").data);
}

TEST(runs_only_while_the_owner_is_ready) {
    uint8_t digest[32];
    uint64_t number;
    float value;
    firn_step_report report;
    support_text(&source, text, whole);
    support_bigram(&train_plan, &support_settings);
    support_bigram_eval(&eval_plan, &support_settings);
    assert_int_equal(support_open(&owner, &train_plan, &port), FIRN_OK);
    assert_int_equal(share(&sharer, &eval_plan, &owner.firn), FIRN_OK);
    assert_int_equal(firn_initialise(&sharer.firn), FIRN_OK);
    assert_int_equal(firn_eval_step(&sharer.firn, &source.source), FIRN_ERROR_NO_STATE);
    assert_int_equal(firn_eval_left(&sharer.firn, &source.source, &number), FIRN_ERROR_NO_STATE);
    assert_int_equal(firn_eval_result(&sharer.firn, &value), FIRN_ERROR_NO_STATE);
    assert_int_equal(firn_progress(&sharer.firn, &number), FIRN_ERROR_NO_STATE);
    assert_int_equal(firn_digest(&sharer.firn, digest), FIRN_ERROR_NO_STATE);
    assert_int_equal(firn_save(&sharer.firn), FIRN_ERROR_NO_STATE);
    assert_int_equal(firn_initialise(&owner.firn), FIRN_OK);
    assert_int_equal(firn_eval_step(&sharer.firn, &source.source), FIRN_OK);
    /* The step of the owner ends half-way at one of its calls of `alive`. */
    bool poisoned = false;
    for (int at = 1; at <= 20 && !poisoned; at++) {
        calls_left = at;
        if (setjmp(escape) == 0)
            assert_int_equal(firn_train_step(&owner.firn, &source.source, &report), FIRN_OK);
        calls_left = 0;
        poisoned = firn_eval_step(&sharer.firn, &source.source) == FIRN_ERROR_POISONED;
    }
    assert_true(poisoned);
    assert_int_equal(firn_initialise(&sharer.firn), FIRN_OK); /* does not help: it is the owner's */
    assert_int_equal(firn_eval_step(&sharer.firn, &source.source), FIRN_ERROR_POISONED);
    assert_int_equal(firn_initialise(&owner.firn), FIRN_OK);
    assert_int_equal(firn_eval_step(&sharer.firn, &source.source), FIRN_OK);
}

TEST(the_parameters_are_the_owners) {
    uint8_t before[32], after[32];
    open_both();
    assert_int_equal(firn_save(&owner.firn), FIRN_OK);
    train(1);
    assert_int_equal(firn_digest(&owner.firn, before), FIRN_OK);
    assert_int_equal(firn_restore(&sharer.firn, NULL), FIRN_ERROR_SHARED);
    assert_int_equal(firn_parameters_changed(&sharer.firn), FIRN_ERROR_SHARED);
    assert_int_equal(firn_initialise(&sharer.firn), FIRN_OK);
    assert_int_equal(firn_digest(&owner.firn, after), FIRN_OK);
    assert_memory_equal(before, after, 32);
}

/* Changes the size of a region and signs again. */
static void resize(signed_plan *plan, uint32_t region, int64_t more) {
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan->file, plan->bytes), FIRN_OK);
    header.region_bytes[region] += (uint64_t)more;
    firn_header_encode(&header, plan->file);
    support_sign(plan, false);
}

/* Numbers the regions of an eval plan as if its parameters, which are the first, were the last. */
static void renumber(firn_native_plan *native) {
    static firn_native_tensor tensors[32];
    memcpy(tensors, native->tensors, native->tensors_count * sizeof tensors[0]);
    for (uint32_t i = 0; i < native->tensors_count; i++)
        tensors[i].region = tensors[i].region == 0 ? 2 : (uint8_t)(tensors[i].region - 1);
    native->tensors = tensors;
}

/* Makes an eval plan whose parameters are in slow memory. The kinds of regions ascend, so they come last. */
static void make_slow_plan(signed_plan *plan) {
    signed_plan_settings settings = support_settings;
    settings.change = renumber;
    support_bigram_eval(plan, &settings);
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan->file, plan->bytes), FIRN_OK);
    assert_int_equal(header.region_count, 3);
    const uint64_t parameters = header.region_bytes[0];
    for (uint32_t i = 0; i < 2; i++) {
        header.region_kinds[i] = header.region_kinds[i + 1];
        header.region_bytes[i] = header.region_bytes[i + 1];
    }
    header.region_kinds[2] = FIRN_FB_REGION_KIND_SLOW_PARAMETERS;
    header.region_bytes[2] = parameters;
    firn_header_encode(&header, plan->file);
    support_sign(plan, false);
}

TEST(models_must_be_and_lie_alike) {
    open_both();
    /* another model */
    support_classifier(&other_plan, &support_settings);
    assert_int_equal(share(&apart, &other_plan, &owner.firn), FIRN_ERROR_OTHER_OWNER);
    /* the same in a region of another size, up to the alignment of a tensor */
    support_bigram_eval(&other_plan, &support_settings);
    resize(&other_plan, 0, 8);
    assert_int_equal(share(&apart, &other_plan, &owner.firn), FIRN_ERROR_OTHER_OWNER);
    assert_int_equal(support_open(&apart, &other_plan, NULL), FIRN_OK);
    /* the same in a region of another kind */
    make_slow_plan(&other_plan);
    firn_config config = support_config(&apart, &other_plan);
    config.owner = &owner.firn;
    memset(&apart.firn, 0, sizeof apart.firn);
    assert_int_equal(firn_open(&apart.firn, &config), FIRN_ERROR_OTHER_OWNER);
    /* where it may have a block of its own, as slow memory does not matter to the result */
    config.owner = NULL;
    apart.blocks[2] = (firn_block){apart.parameters, sizeof apart.parameters};
    assert_int_equal(firn_open(&apart.firn, &config), FIRN_OK);
    assert_int_equal(firn_initialise(&apart.firn), FIRN_OK);
    assert_int_equal(firn_initialise(&owner.firn), FIRN_OK);
    uint8_t here[32], there[32];
    const float value = evaluate(&apart, here), shared = evaluate(&sharer, there);
    assert_int_equal(firn_bits(value), firn_bits(shared));
    assert_memory_equal(here, there, 32);
}

TEST(owners_are_open_and_own) {
    open_both();
    static firn nothing;
    assert_int_equal(share(&apart, &eval_plan, &nothing), FIRN_ERROR_ARGUMENT);
    assert_int_equal(share(&apart, &eval_plan, &sharer.firn), FIRN_ERROR_ARGUMENT);
    /* a block for what the owner has */
    firn_config config = shared_config(&apart, &eval_plan, &owner.firn);
    apart.blocks[0] = (firn_block){apart.parameters, sizeof apart.parameters};
    assert_int_equal(firn_open(&apart.firn, &config), FIRN_ERROR_ARGUMENT);
    /* no block, although there is no owner */
    config = shared_config(&apart, &eval_plan, NULL);
    assert_int_equal(firn_open(&apart.firn, &config), FIRN_ERROR_ARGUMENT);
    assert_int_equal(share(&apart, &eval_plan, &owner.firn), FIRN_OK); /* a second sharer */
}

/* A block in one of the owner's would be used as scratch while the plan is verified: its state would be lost, or what
 * it has derived, which lies in its arena. */
TEST(blocks_lie_apart_from_the_owners) {
    uint8_t before[32], after[32];
    open_both();
    assert_int_equal(firn_digest(&owner.firn, before), FIRN_OK);
    const firn_block of_owner[] = {{owner.parameters, sizeof owner.parameters},
                                   {owner.optimizer, sizeof owner.optimizer},
                                   {owner.session, sizeof owner.session},
                                   {owner.arena, sizeof owner.arena}};
    for (size_t i = 0; i < sizeof of_owner / sizeof of_owner[0]; i++) {
        firn_config config = shared_config(&apart, &eval_plan, &owner.firn);
        apart.blocks[1] = of_owner[i]; /* for the session */
        assert_int_equal(firn_open(&apart.firn, &config), FIRN_ERROR_ARGUMENT);
        config = shared_config(&apart, &eval_plan, &owner.firn);
        config.workspace = of_owner[i].memory;
        config.workspace_bytes = of_owner[i].bytes;
        assert_int_equal(firn_open(&apart.firn, &config), FIRN_ERROR_ARGUMENT);
    }
    assert_int_equal(firn_digest(&owner.firn, after), FIRN_OK);
    assert_memory_equal(before, after, 32);
}

/* Nor may it lie in what the owner's steps are read from: the copy of its plan, its decoded ops, its workspace. */
TEST(blocks_lie_apart_from_what_the_owner_runs_from) {
    static _Alignas(64) uint8_t copy[sizeof train_plan.file], workspace[256], prepared[sizeof owner.prepared];
    open_both();
    firn_config config = support_config(&owner, &train_plan);
    config.copy_plan = copy;
    config.copy_plan_bytes = sizeof copy;
    config.prepared = prepared;
    config.prepared_bytes = sizeof prepared;
    memset(&owner.firn, 0, sizeof owner.firn);
    assert_int_equal(firn_open(&owner.firn, &config), FIRN_OK);
    /* The portable kernels need none. */
    firn_instance *with_workspace = (firn_instance *)(void *)&owner.firn;
    with_workspace->workspace = workspace;
    with_workspace->slot_bytes = 128;
    firn_sizes sizes;
    assert_int_equal(firn_plan_sizes(train_plan.file, train_plan.bytes, &sizes), FIRN_OK);
    const firn_block of_owner[] = {{copy, sizes.copy_plan_bytes}, {prepared, sizes.prepared_bytes}, {workspace, 128}};
    for (size_t i = 0; i < sizeof of_owner / sizeof of_owner[0]; i++) {
        /* the first and the last 64 bytes that the owner uses */
        uint8_t *begin = of_owner[i].memory;
        uint8_t *const at[] = {begin, begin + (of_owner[i].bytes - 1) / 64 * 64};
        for (size_t j = 0; j < 2; j++) {
            config = shared_config(&apart, &eval_plan, &owner.firn);
            config.workspace = at[j];
            config.workspace_bytes = 64;
            assert_int_equal(firn_open(&apart.firn, &config), FIRN_ERROR_ARGUMENT);
        }
        config = shared_config(&apart, &eval_plan, &owner.firn);
        config.prepared = begin;
        config.prepared_bytes = 64;
        assert_int_equal(firn_open(&apart.firn, &config), FIRN_ERROR_ARGUMENT);
        config = shared_config(&apart, &eval_plan, &owner.firn);
        config.copy_plan = begin;
        config.copy_plan_bytes = 64;
        assert_int_equal(firn_open(&apart.firn, &config), FIRN_ERROR_ARGUMENT);
    }
    /* behind the workspace of the owner */
    config = shared_config(&apart, &eval_plan, &owner.firn);
    config.workspace = workspace + 128;
    config.workspace_bytes = 128;
    assert_int_equal(firn_open(&apart.firn, &config), FIRN_OK);
}

/* --- what is derived from the parameters --- */

/* Derives tanh of the table, and looks up tokens in that; "derived" is an output. */
static void derive_table(firn_native_plan *native) {
    static firn_native_tensor tensors[32];
    static const uint32_t dims[] = {V, V};
    static firn_native_phase phases[2];
    static firn_native_op ops[8], derive;
    static uint32_t table, derived, lookup[2];
    static firn_native_output outputs[4];
    uint64_t end = 0;
    const uint32_t count = native->tensors_count;
    memcpy(tensors, native->tensors, count * sizeof tensors[0]);
    for (uint32_t i = 0; i < count; i++) {
        if (tensors[i].role == FIRN_FB_ROLE_PARAMETER)
            table = i;
        if (tensors[i].region == tensors[count - 1].region && tensors[i].offset >= end)
            end = tensors[i].offset + 16 * 16; /* larger than any of them */
    }
    derived = count;
    tensors[derived] = (firn_native_tensor){.type = FIRN_FLOAT32,
                                            .role = FIRN_FB_ROLE_ACTIVATION,
                                            .region = tensors[count - 1].region,
                                            .offset = end,
                                            .dims = dims,
                                            .dims_count = 2,
                                            .last = UINT32_MAX,
                                            .base = FIRN_ABSENT};
    derive = (firn_native_op){
        .code = FIRN_OP_tanh, .inputs = &table, .inputs_count = 1, .outputs = &derived, .outputs_count = 1};
    memcpy(ops, native->phases[0].ops, native->phases[0].ops_count * sizeof ops[0]);
    assert_int_equal(ops[0].code, FIRN_OP_embedding);
    lookup[0] = ops[0].inputs[0];
    lookup[1] = derived;
    ops[0].inputs = lookup;
    phases[0] = (firn_native_phase){.kind = FIRN_FB_PHASE_KIND_DERIVE, .ops = &derive, .ops_count = 1};
    phases[1] = native->phases[0];
    phases[1].ops = ops;
    memcpy(outputs, native->outputs, native->outputs_count * sizeof outputs[0]);
    outputs[native->outputs_count++] = (firn_native_output){.name = "derived", .tensor = derived};
    native->outputs = outputs;
    native->tensors = tensors;
    native->tensors_count = count + 1;
    native->phases = phases;
    native->phases_count = 2;
}

static void make_deriving_plan(void) {
    signed_plan_settings settings = support_settings;
    settings.change = derive_table;
    support_text(&source, text, whole);
    support_bigram_eval(&eval_plan, &settings);
    resize(&eval_plan, 2, 4096);
}

/* Whether the derived table is that of the parameters as they are now, after a step. */
static bool is_fresh(opened *opened) {
    const float *table = support_tensor(&opened->firn, "table").data;
    if (firn_eval_step(&opened->firn, &source.source) == FIRN_ERROR_DATA_END) {
        assert_int_equal(firn_initialise(&opened->firn), FIRN_OK);
        assert_int_equal(firn_eval_step(&opened->firn, &source.source), FIRN_OK);
    }
    const float *derived = support_tensor(&opened->firn, "derived").data;
    for (uint32_t i = 0; i < V * V; i++)
        if (firn_bits(derived[i]) != firn_bits(firn_tanh(table[i])))
            return false;
    return true;
}

TEST(parameters_that_were_changed_are_derived_from_again) {
    make_deriving_plan();
    assert_int_equal(support_open(&apart, &eval_plan, &port), FIRN_OK);
    assert_int_equal(firn_initialise(&apart.firn), FIRN_OK);
    assert_true(is_fresh(&apart));
    float *table = (float *)(void *)apart.parameters;
    table[3] = 0.75f;
    assert_false(is_fresh(&apart)); /* it is derived once, and nobody has said that it must be again */
    assert_int_equal(firn_parameters_changed(&apart.firn), FIRN_OK);
    assert_true(is_fresh(&apart));
    assert_int_equal(firn_save(&apart.firn), FIRN_OK);
    assert_int_equal(firn_initialise(&apart.firn), FIRN_OK);
    assert_true(is_fresh(&apart));
    assert_int_equal(firn_restore(&apart.firn, NULL), FIRN_OK);
    assert_float_equal(table[3], 0.75f, 0);
    assert_true(is_fresh(&apart));
}

/* A step of the owner changes the parameters, and so does every other way to fill them. */
TEST(a_sharer_derives_after_each_change_of_the_owner) {
    make_deriving_plan();
    support_bigram(&train_plan, &support_settings);
    assert_int_equal(support_open(&owner, &train_plan, &port), FIRN_OK);
    assert_int_equal(share(&sharer, &eval_plan, &owner.firn), FIRN_OK);
    assert_int_equal(firn_initialise(&owner.firn), FIRN_OK);
    assert_int_equal(firn_initialise(&sharer.firn), FIRN_OK);
    assert_true(is_fresh(&sharer));
    for (int i = 0; i < 3; i++) {
        train(1);
        assert_true(is_fresh(&sharer));
    }
    assert_int_equal(firn_save(&owner.firn), FIRN_OK);
    train(2);
    assert_int_equal(firn_restore(&owner.firn, NULL), FIRN_OK);
    assert_true(is_fresh(&sharer));
    assert_int_equal(firn_initialise(&owner.firn), FIRN_OK);
    assert_true(is_fresh(&sharer));
    ((float *)(void *)owner.parameters)[5] = -0.5f;
    assert_false(is_fresh(&sharer));
    assert_int_equal(firn_parameters_changed(&owner.firn), FIRN_OK);
    assert_true(is_fresh(&sharer));
}

/* --- outputs --- */

TEST(outputs_are_read_by_name) {
    firn_tensor_info info, table;
    open_both();
    for (uint32_t i = 0; firn_tensor_at(&owner.firn, i, &info) == FIRN_OK; i++)
        assert_true((info.name[0] != '\0') ==
                    (info.role == FIRN_FB_ROLE_PARAMETER || info.role == FIRN_FB_ROLE_COUNTER ||
                     info.role == FIRN_FB_ROLE_OPTIMIZER_STATE));
    assert_int_equal(firn_eval_step(&sharer.firn, &source.source), FIRN_OK);
    assert_int_equal(firn_output(&sharer.firn, "logits", &info), FIRN_OK);
    assert_int_equal(info.type, FIRN_FLOAT32);
    assert_int_equal(info.rank, 3);
    assert_int_equal(info.dims[0], BIGRAM_SAMPLES);
    assert_int_equal(info.dims[2], V);
    assert_int_equal(info.bytes, BIGRAM_SAMPLES * (BIGRAM_WINDOW - 1) * V * sizeof(float));
    table = support_tensor(&sharer.firn, "table");
    const int32_t *ids = support_tensor(&sharer.firn, "input_ids").data;
    assert_memory_equal(info.data, (const float *)table.data + V * ids[0], V * sizeof(float));
    /* a name, all of it, that is in the list of outputs */
    static const char *const wrong[] = {"", "logit", "logitsx", "Logits", "table", "input_ids"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(firn_output(&sharer.firn, wrong[i], &info), FIRN_ERROR_ARGUMENT);
    assert_null(info.data);
    assert_int_equal(firn_output(&sharer.firn, NULL, &info), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_output(&sharer.firn, "logits", NULL), FIRN_ERROR_ARGUMENT);
}

/* --- evaluation without labels --- */

enum { INFER_CURSOR, INFER_TABLE, INFER_IDS, INFER_LOGITS, INFER_TENSORS };

/* Leaves only the model: no labels, no loss, no metric. */
static void infer_only(firn_native_plan *native) {
    static firn_native_tensor tensors[INFER_TENSORS];
    static firn_native_initialiser initialisers[2];
    static firn_native_phase phase;
    static firn_native_op lookup;
    static firn_native_input ids;
    static firn_native_sampler sampler;
    static const uint32_t operands[] = {INFER_IDS, INFER_TABLE, INFER_LOGITS};
    static const firn_native_output logits = {.name = "logits", .tensor = INFER_LOGITS};
    lookup = native->phases[0].ops[0];
    ids = native->inputs[0];
    sampler = *native->sampler;
    const uint32_t kept[] = {sampler.cursor, lookup.inputs[1], ids.tensor, lookup.outputs[0]};
    for (uint32_t i = 0; i < INFER_TENSORS; i++)
        tensors[i] = native->tensors[kept[i]];
    for (uint32_t i = 0; i < 2; i++)
        initialisers[i] = native->initialisers[kept[i]];
    assert_int_equal(tensors[INFER_CURSOR].offset, 0);
    lookup.inputs = operands;
    lookup.outputs = &operands[2];
    ids.tensor = INFER_IDS;
    sampler.cursor = INFER_CURSOR;
    phase = (firn_native_phase){.kind = FIRN_FB_PHASE_KIND_EVALUATE, .ops = &lookup, .ops_count = 1};
    native->tensors = tensors;
    native->tensors_count = INFER_TENSORS;
    native->state_tensors = 2;
    native->initialisers = initialisers;
    native->initialisers_count = 2;
    native->phases = &phase;
    native->inputs = &ids;
    native->inputs_count = 1;
    native->outputs = &logits;
    native->outputs_count = 1;
    native->sampler = &sampler;
    native->metrics_count = 0;
    native->loss = FIRN_ABSENT;
    native->check_loss = false;
}

TEST(a_plan_may_only_infer) {
    signed_plan_settings settings = support_settings;
    firn_info info;
    firn_tensor_info logits;
    float value;
    open_both();
    settings.change = infer_only;
    support_bigram_eval(&other_plan, &settings);
    resize(&other_plan, 1, -32); /* of the session only the cursor is left */
    assert_int_equal(share(&apart, &other_plan, &owner.firn), FIRN_OK);
    assert_int_equal(firn_initialise(&apart.firn), FIRN_OK);
    assert_int_equal(firn_describe(&apart.firn, &info), FIRN_OK);
    assert_true(info.eval);
    assert_false(info.metric);
    assert_int_equal(firn_describe(&sharer.firn, &info), FIRN_OK);
    assert_true(info.metric);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(firn_eval_step(&apart.firn, &source.source), FIRN_OK);
        assert_int_equal(firn_eval_step(&sharer.firn, &source.source), FIRN_OK);
        assert_int_equal(firn_output(&apart.firn, "logits", &logits), FIRN_OK);
        assert_memory_equal(logits.data, support_tensor(&sharer.firn, "logits").data, (size_t)logits.bytes);
    }
    assert_int_equal(firn_eval_result(&apart.firn, &value), FIRN_ERROR_NO_METRIC);
    assert_int_equal(firn_eval_result(&sharer.firn, &value), FIRN_OK);
}
