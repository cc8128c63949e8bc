/* An example of a firmware that trains, to be copied. It uses static blocks, and only memcpy of the C library. A
 * product adds its data in read_samples, a checkpoint slot in the port, and its handling of errors. */
#include <string.h>

#include "plan/ops.h"
#include "runtime/firn.h"
#include "runtime/targets/board.h"
#include "runtime/targets/plan_file.h"

#define SAMPLE_BYTES 65536

/* X and Y of the public key that verifies plans, from `firnc keygen`. These zeros refuse every plan. */
static const uint8_t public_key[64] = {0};

/* One block for each region of the plan, in the order that `firnc inspect` prints and at least of that size; firn_open
 * refuses others. Each may lie in a memory of its own. */
static _Alignas(FIRN_BLOCK_ALIGNMENT) uint8_t parameters[128 * 1024], optimizer[256 * 1024], session[64],
    arena[1024 * 1024];
static const firn_block blocks[] = {
    {parameters, sizeof parameters}, {optimizer, sizeof optimizer}, {session, sizeof session}, {arena, sizeof arena}};
static uint8_t samples[SAMPLE_BYTES]; /* data recorded by the device */
static firn instance;

static int read_samples(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    (void)context;
    (void)stream; /* a window plan has one stream of bytes */
    memcpy(elements, samples + first, count);
    return 0;
}

static const firn_segment segment = {SAMPLE_BYTES};
static const firn_stream stream = {FIRN_UINT8, 1, &segment, 1};
static const firn_source source = {NULL, &stream, 1, read_samples};
static const firn_port port = {.struct_size = sizeof port};

/* Opens the plan and trains. After firn_open only this plan can run. A completed run ends with
 * FIRN_ERROR_RUN_COMPLETE. */
static int learn(void) {
    const size_t region = (size_t)(firn_plan_region_end - firn_plan_region);
    const firn_config config = {.plan = firn_plan_region,
                                .plan_bytes = firn_plan_file_bytes(firn_plan_region, region),
                                .public_key = public_key,
                                .blocks = blocks,
                                .block_count = sizeof blocks / sizeof *blocks,
                                .port = &port};
    firn_step_report report;
    int error = firn_open(&instance, &config);
    if (error == FIRN_OK)
        error = firn_initialise(&instance);
    while (error == FIRN_OK) {
        error = firn_train_step(&instance, &source, &report);
        if (error == FIRN_OK)
            error = firn_confirm(&instance);
    }
    return error;
}

int main(void) {
    return learn();
}
