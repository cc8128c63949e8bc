/* An example of libfirn on a workstation: runs a plan of a language model on text in memory to the end of the run and
 * saves the state. Usage: train PLAN PUBLIC-KEY CHECKPOINT */
#include <stdio.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/firn.h"
#include "runtime/targets/host/host.h"

static char text[65536];

static int read_text(void *context, uint32_t stream, uint64_t first, uint32_t count, void *bytes) {
    (void)context;
    (void)stream; /* a language model has one stream of bytes */
    memcpy(bytes, text + first, count);
    return FIRN_OK;
}

static const firn_segment segment = {sizeof text};
static const firn_stream stream = {FIRN_UINT8, 1, &segment, 1};
static const firn_source source = {NULL, &stream, 1, read_text};

/* Allocates the memory of an instance; the plan gives the sizes. firn_open refuses blocks that are missing. */
static int provide(firn_config *config) {
    static firn_host_blocks blocks;
    firn_sizes sizes;
    int error = firn_plan_sizes(config->plan, config->plan_bytes, &sizes);
    if (error == FIRN_OK && firn_host_blocks_begin(&blocks, &sizes)) {
        config->blocks = blocks.list;
        config->block_count = blocks.count;
    }
    if (error == FIRN_OK)
        error = firn_workspace_bytes(config, &config->workspace_bytes);
    config->workspace = firn_host_block(config->workspace_bytes);
    return error;
}

static int train(const firn_config *config) {
    static firn instance;
    firn_step_report report;
    int error = firn_open(&instance, config);
    if (error == FIRN_OK)
        error = firn_initialise(&instance);
    while (error == FIRN_OK && (error = firn_train_step(&instance, &source, &report)) == FIRN_OK) {
        printf("step %llu: loss %.4f\n", (unsigned long long)report.global_step, (double)report.loss);
        error = firn_confirm(&instance); /* this plan works here: older ones are refused from now on */
    }
    return error == FIRN_ERROR_RUN_COMPLETE ? firn_save(&instance) : error;
}

int main(int count, char **words) {
    static firn_host_port port;
    firn_host_plan plan;
    uint8_t key[64];
    if (count != 4) {
        fprintf(stderr, "usage: train PLAN PUBLIC-KEY CHECKPOINT\n");
        return 2;
    }
    firn_host_messages_to(firn_host_print_message, NULL);
    if (!firn_host_plan_load(&plan, words[1]) || !firn_host_key_load(key, words[2]))
        return 1;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "Snow that has been pressed until it no longer moves. "[i % 53];
    firn_host_port_begin(&port, words[3], NULL, firn_host_cpus());
    firn_config config = {.plan = plan.bytes, .plan_bytes = plan.count, .public_key = key, .port = &port.port};
    int error = provide(&config);
    if (error == FIRN_OK)
        error = train(&config);
    if (error != FIRN_OK)
        fprintf(stderr, "train: %s\n", firn_error_text(error));
    firn_host_port_end(&port);
    return error != FIRN_OK;
}
