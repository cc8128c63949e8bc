/* See support_sets.h. */
#include "tests/unit/support_sets.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support_test.h"
#include "tests/unit/support_workspace.h"

typedef firn_kernel_choice find(uint16_t op, const firn_reduction *reduction);
__attribute__((weak)) find firn_kernel_find_amx_model, firn_kernel_find_avx512bf16_model,
    firn_kernel_find_avx512fp16_model;

const firn_kernel_set support_models[SUPPORT_MODELS] = {
    [SUPPORT_MODEL_AMX] = {.name = "model of amx", .find = firn_kernel_find_amx_model, .has_scratch = true},
    [SUPPORT_MODEL_AVX512BF16] = {.name = "model of avx512bf16",
                                  .find = firn_kernel_find_avx512bf16_model,
                                  .has_scratch = true},
    [SUPPORT_MODEL_AVX512FP16] = {
        .name = "model of avx512fp16", .find = firn_kernel_find_avx512fp16_model, .has_scratch = true}};

support_sets support_compared;

static void add(const char *name, const firn_kernel_set *set) {
    assert_in_range(support_compared.count, 0, SUPPORT_SETS_MAX - 1);
    support_compared.found[support_compared.count].name = name;
    support_compared.found[support_compared.count++].set = set;
}

void support_find_sets(const char *names) {
    static char words[128]; /* the names, each with a byte of 0 behind it */
    assert_true(strlen(names) < sizeof words);
    strcpy(words, names);
    support_compared = (support_sets){0};
    for (char *name = strtok(words, " "); name != NULL; name = strtok(NULL, " ")) {
        const firn_kernel_set *set = support_set(name);
        if (set != NULL)
            add(name, set);
    }
    support_compared.named = support_compared.count;
}

void support_add_models(int count) {
    if (firn_kernel_set_choose("avx2") == NULL)
        return;
    for (int i = 0; i < count; i++) {
        if (support_models[i].find == NULL)
            fail_msg("the test is not linked with the %s", support_models[i].name);
        add(support_models[i].name, &support_models[i]);
    }
}

void support_remove_models(void) {
    support_compared.count = support_compared.named;
}

void support_skip_without_sets(void) {
    if (support_compared.count == 0)
        skip();
}

/* --- comparison --------------------------------------------------------------------------------------------------- */

static bool takes_part(int i, uint16_t code, const test_call *call, const support_comparison *how) {
    const firn_kernel_set *set = support_compared.found[i].set;
    if (how->takes_part != NULL)
        return how->takes_part(i, code, call);
    if (set->find(code, call->reductions).run != NULL)
        return true;
    if (i < support_compared.named && firn_op_find(code) != NULL)
        fail_msg("%s has no kernel for op %u", set->name, code);
    return false;
}

static void copy_outputs(const test_call *call, firn_tensor *outputs) {
    for (uint8_t o = 0; o < call->output_count; o++)
        outputs[o] = tensor_copy(&call->outputs[o]);
}

void support_free_outputs(const test_call *call, firn_tensor *outputs) {
    for (uint8_t o = 0; o < call->output_count; o++)
        tensor_free(&outputs[o]);
}

static void compare_one(const firn_kernel_set *set, uint16_t code, test_call call, const firn_tensor *expected,
                        const support_comparison *how) {
    char place[256];
    copy_outputs(&call, call.outputs);
    if (how->in_place) {
        const firn_tensor *input = &call.inputs[how->input];
        memcpy(call.outputs[0].data, input->data, input->elements * firn_type_bytes(input->type));
        call.inputs[how->input].data = call.outputs[0].data;
    }
    test_call_run(support_kernel(set, code, &call), &call);
    support_check_workspace();
    for (uint8_t o = 0; o < how->outputs; o++) {
        snprintf(place, sizeof place, "%s, op %u, output %u, %s, %u threads", how->what, code, o, set->name,
                 (unsigned)call.parallel.threads);
        if (how->clean != NULL)
            how->clean(code, o, &call.outputs[o]);
        assert_same(&expected[o], &call.outputs[o], place);
    }
    support_free_outputs(&call, call.outputs);
}

void support_compare(uint16_t code, const test_call *call, const firn_tensor *expected, const support_comparison *how) {
    assert_true(how->outputs > 0 && how->way_count > 0);
    for (int i = 0; i < support_compared.count; i++) {
        const int step = how->models_in_every_second && i >= support_compared.named ? 2 : 1;
        for (int way = 0; takes_part(i, code, call, how) && way < how->way_count; way += step) {
            test_call other = *call;
            other.parallel = how->ways[way];
            compare_one(support_compared.found[i].set, code, other, expected, how);
        }
    }
}

void support_run_plain(uint16_t code, const test_call *call, firn_tensor *expected) {
    test_call plain = *call;
    plain.parallel = (firn_parallel){0};
    copy_outputs(call, expected);
    memcpy(plain.outputs, expected, call->output_count * sizeof expected[0]);
    test_call_run(support_kernel(firn_kernel_set_choose("plain"), code, &plain), &plain);
}

/* --- ways to run tasks -------------------------------------------------------------------------------------------- */

void support_run_backwards(void *context, size_t tasks, firn_task_body body, void *argument) {
    (void)context;
    for (size_t task = tasks; task > 0; task--)
        body(argument, task - 1, task);
}

typedef struct range {
    firn_task_body body;
    void *argument;
    size_t begin, end;
} range;

static void *run_range(void *context) {
    const range *it = context;
    it->body(it->argument, it->begin, it->end);
    return NULL;
}

void support_run_in_threads(size_t threads, size_t tasks, firn_task_body body, void *argument) {
    enum { MOST = 8 };
    pthread_t each[MOST];
    range ranges[MOST];
    assert_in_range(threads, 1, MOST);
    for (size_t i = 0; i < threads; i++) {
        ranges[i] = (range){body, argument, i * tasks / threads, (i + 1) * tasks / threads};
        assert_int_equal(pthread_create(&each[i], NULL, run_range, &ranges[i]), 0);
    }
    for (size_t i = 0; i < threads; i++)
        assert_int_equal(pthread_join(each[i], NULL), 0);
}
