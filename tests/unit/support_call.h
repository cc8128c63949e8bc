/* A kernel call that holds its operands and attributes itself, so that a test can fill in, copy and change it. */
#ifndef FIRN_TESTS_SUPPORT_CALL_H
#define FIRN_TESTS_SUPPORT_CALL_H

#include "runtime/kernels/kernels.h"

typedef struct test_call {
    uint8_t input_count, output_count;
    firn_tensor inputs[FIRN_INPUTS_MAX]; /* an input without data is one that the op does not have */
    firn_tensor outputs[FIRN_OUTPUTS_MAX];
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
    firn_reduction reductions[FIRN_REDUCTIONS_MAX];
    uint64_t seed;
    const firn_moment *moment;
    const firn_kernel_set *kernels; /* the set that the kernel is of */
    firn_parallel parallel;
    void *workspace;
    size_t slot_bytes;
} test_call;

/* Returns the call as a kernel takes it. It points into *call. */
static inline firn_kernel_call test_call_view(const test_call *call) {
    return (firn_kernel_call){.inputs = call->inputs,
                              .outputs = call->outputs,
                              .integers = call->integers,
                              .reals = call->reals,
                              .reductions = call->reductions,
                              .input_count = call->input_count,
                              .output_count = call->output_count,
                              .seed = call->seed,
                              .moment = call->moment,
                              .kernels = call->kernels,
                              .parallel = call->parallel,
                              .workspace = call->workspace,
                              .slot_bytes = call->slot_bytes};
}

static inline void test_call_run(firn_kernel kernel, const test_call *call) {
    const firn_kernel_call view = test_call_view(call);
    kernel(&view);
}

#endif
