/* Kernel calls for benchmarks; see job.h. */
#include "tests/bench/job.h"

#include <stdlib.h>

#include "runtime/numerics/numerics.h"
#include "tests/bench/bench.h"

void run_job(void *context) {
    const job *it = context;
    test_call_run(it->kernel, &it->call);
}

firn_tensor tensor(uint8_t type, uint8_t rank, const uint32_t dims[]) {
    firn_tensor it = {.type = type, .rank = rank, .elements = 1};
    uint32_t *extents = bench_allocate(rank * sizeof *extents);
    for (uint8_t i = 0; i < rank; i++) {
        extents[i] = dims[i];
        it.elements *= dims[i];
    }
    it.dims = extents;
    it.data = bench_allocate(it.elements * firn_type_bytes(type));
    return it;
}

firn_tensor filled(uint8_t type, uint8_t rank, const uint32_t dims[], float spread) {
    firn_tensor it = tensor(type, rank, dims);
    uint32_t state = 88172645u;
    for (size_t i = 0; i < it.elements; i++) {
        state = state * 1664525u + 1013904223u;
        firn_store(it.data, type, i, spread * ((float)(state >> 8) * 0x1p-23f - 1.0f));
    }
    return it;
}

static void free_tensor(const firn_tensor *it) {
    free(it->data);
    free((void *)(uintptr_t)it->dims);
}

void free_job(job *it) {
    for (unsigned i = 0; i < it->call.input_count; i++)
        free_tensor(&it->call.inputs[i]);
    for (unsigned i = 0; i < it->call.output_count; i++) {
        bool shared = false;
        for (unsigned j = 0; j < it->call.input_count; j++)
            shared = shared || it->call.inputs[j].data == it->call.outputs[i].data;
        if (!shared)
            free_tensor(&it->call.outputs[i]);
    }
    free(it->call.workspace);
}

void find_kernel(job *it, uint16_t op) {
    const firn_kernel_choice choice = firn_kernel_set_choose(NULL)->find(op, it->call.reductions);
    it->kernel = choice.run;
    it->call.parallel = bench_parallel();
    const firn_kernel_call view = test_call_view(&it->call);
    const uint64_t bytes = choice.scratch != NULL ? choice.scratch(op, &view) : 0;
    it->call.slot_bytes = (size_t)(bytes + 63) / 64 * 64;
    it->call.workspace = bytes != 0 ? bench_allocate(it->call.slot_bytes * it->call.parallel.threads) : NULL;
}
