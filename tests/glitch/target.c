/* The program in which tests/glitch/glitch.c skips instructions: a firmware that opens the plan in its plan region and
 * makes one train step. What it does after a refusal is what a product must never rely on: it goes on, so that only the
 * library stands between a refused plan and a step. */
#include <string.h>

#include "plan/ops.h"
#include "runtime/firn.h"
#include "runtime/targets/board.h"
#include "runtime/targets/plan_file.h"

extern const uint8_t firn_public_key[64];
extern uint8_t firn_blocks[], firn_blocks_end[]; /* of the linker script */

/* Read and set by glitch.c. */
int firn_glitch_opened, firn_glitch_stepped;
uint32_t firn_glitch_counter[2]; /* the value and its complement: a device's counter is not erased with its memory */
void firn_glitch_begin(void);
void firn_glitch_end(void);

__attribute__((noinline)) void firn_glitch_begin(void) {
    __asm__ volatile("");
}

__attribute__((noinline)) void firn_glitch_end(void) {
    for (;;)
        __asm__ volatile("");
}

static int read_samples(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    (void)context;
    (void)first;
    (void)stream;
    memset(elements, 0, count);
    return 0;
}

static int read_counter(void *context, uint32_t *value) {
    (void)context;
    *value = firn_glitch_counter[0];
    return firn_glitch_counter[1] == ~*value ? FIRN_OK : FIRN_ERROR_COUNTER;
}

static int advance_counter(void *context, uint32_t value) {
    (void)context;
    firn_glitch_counter[0] = value;
    firn_glitch_counter[1] = ~value;
    return FIRN_OK;
}

static const firn_counter counter = {read_counter, advance_counter};
static const firn_port port = {.struct_size = sizeof port, .counter = &counter};
static firn instance;

int main(void) {
    static const firn_segment segments[] = {{784 * 1024}, {1024}};
    static const firn_stream streams[] = {{FIRN_UINT8, 784, &segments[0], 1}, {FIRN_UINT8, 1, &segments[1], 1}};
    static const firn_source source = {NULL, streams, 2, read_samples};
    firn_block blocks[FIRN_BLOCKS_MAX];
    firn_sizes sizes;
    uint8_t *free_memory = firn_blocks;
    const size_t region = (size_t)(firn_plan_region_end - firn_plan_region);
    firn_config config = {.plan = firn_plan_region,
                          .plan_bytes = firn_plan_file_bytes(firn_plan_region, region),
                          .public_key = firn_public_key,
                          .blocks = blocks,
                          .port = &port};
    firn_glitch_opened = firn_plan_sizes(config.plan, config.plan_bytes, &sizes);
    config.block_count = sizes.block_count;
    for (uint32_t i = 0; i < sizes.block_count; i++) {
        blocks[i] = (firn_block){free_memory, sizes.blocks[i].bytes};
        free_memory += (size_t)(sizes.blocks[i].bytes + 63) / 64 * 64;
    }
    firn_glitch_begin();
    firn_glitch_opened = firn_open(&instance, &config);
    firn_step_report report;
    int error = firn_initialise(&instance);
    firn_glitch_stepped = firn_train_step(&instance, &source, &report);
    (void)error;
    firn_glitch_end();
    return 0;
}
