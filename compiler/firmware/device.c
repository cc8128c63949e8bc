/* Opens the plans of a firmware (device.h). Which board it is for, other than its memory, may not be known here. */
#include "compiler/firmware/device.h"

#include "compiler/base/text.h"
#include "compiler/commands/commands.h"
#include "compiler/emit/plan_file.h"
#include "plan/bytes.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int refuse(const firnc_device_plan *plan, const char *text) {
    firnc_say("firnc: %s: refused: %s", plan->name, text);
    return FIRNC_EXIT_REFUSED;
}

static int read_plan(firnc_device_plan *plan, const uint8_t *public_key, uint8_t mode) {
    firnc_plan_file checked;
    if (!firnc_plan_read(plan->name, &plan->image))
        return FIRNC_EXIT_WRONG;
    int error = firnc_plan_check(&plan->image, public_key, 0, &checked);
    if (error == FIRN_OK)
        error = firn_plan_sizes(plan->image.data, plan->image.count, &plan->sizes);
    if (error != FIRN_OK) {
        firnc_plan_refuse(plan->name, &plan->image, error);
        return FIRNC_EXIT_REFUSED;
    }
    plan->image.count = firn_header_payload_end(&checked.header);
    plan->metrics = firn_fb_plan_metrics_count(checked.plan);
    if (checked.header.mode == mode)
        return FIRNC_EXIT_OK;
    return refuse(plan,
                  mode == FIRN_MODE_TRAIN
                      ? "it evaluates, and a firmware trains; give the plan that trains, and this one by --with"
                      : "it trains, and the firmware has its plan that trains; give by --with one that evaluates");
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

uint64_t firnc_device_block_bytes(const firnc_device_plan *plan, uint32_t block) {
    const firn_block_size *size = &plan->sizes.blocks[block];
    return plan->shares && size->kind % FIRN_REGION_SLOW == FIRN_REGION_PARAMETERS ? 0 : size->bytes;
}

static uint64_t all_bytes(const firnc_device_plan *plan) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->sizes.block_count; i++)
        bytes += firn_round_up(firnc_device_block_bytes(plan, i), FIRN_BLOCK_ALIGNMENT);
    return bytes;
}

static int check_memory(const firnc_device *device, const firnc_board *board) {
    const uint64_t train = all_bytes(&device->train), eval = all_bytes(&device->eval);
    if (train <= board->blocks.bytes && eval <= board->blocks.bytes - train)
        return FIRNC_EXIT_OK;
    const uint64_t both = train + eval;
    return refuse(&device->train,
                  firnc_format("the board of %s has %llu bytes in its region %s, and the blocks of %s take %llu; make "
                               "the model or its batch smaller, or give another --target",
                               board->target, (unsigned long long)board->blocks.bytes, board->blocks.name,
                               device->eval.name != NULL ? "both plans" : "the plan", (unsigned long long)both));
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static int open_plan(firnc_device_plan *plan, const uint8_t *public_key, const firn *owner) {
    firn_block blocks[FIRN_BLOCKS_MAX] = {{0}};
    for (uint32_t i = 0; i < plan->sizes.block_count; i++) {
        const uint64_t bytes = firnc_device_block_bytes(plan, i);
        if (bytes != 0)
            blocks[i] = (firn_block){firnc_allocate_aligned(bytes), bytes};
    }
    const firn_config config = {.plan = plan->image.data,
                                .plan_bytes = plan->image.count,
                                .public_key = public_key,
                                .blocks = blocks,
                                .block_count = plan->sizes.block_count,
                                .owner = owner,
                                .kernels = "plain"};
    plan->instance = firnc_allocate(sizeof *plan->instance);
    const int error = firn_open(plan->instance, &config);
    return error != FIRN_OK ? error : firn_describe(plan->instance, &plan->info);
}

static int refuse_open(const firnc_device *device, const firnc_device_plan *plan, int error) {
    if (error == FIRN_ERROR_OTHER_OWNER)
        return refuse(plan,
                      firnc_format("it is of another model than %s; compile both from one recipe", device->train.name));
    if (error == FIRN_ERROR_PREPARED_TOO_SMALL)
        return refuse(plan, "it has an op of more than 16 operands, which a firmware decodes in memory of its own; "
                            "write a main of your own (runtime/targets/firmware_main.c) with firn_config.prepared");
    firnc_plan_refuse(plan->name, &plan->image, error);
    return FIRNC_EXIT_REFUSED;
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

/* The eval plan reads the same records as the train plan, or the first streams of them. */
static int check_streams(const firnc_device *device) {
    const firnc_device_plan *eval = &device->eval;
    if (eval->info.ring != 0)
        return refuse(eval, "its samples are pushed, and a firmware evaluates what is in flash; compile it with "
                            "val_dataloader.source: files");
    for (uint32_t i = 0; i < eval->info.streams; i++) {
        firn_stream_info stream = {0};
        const bool found = i < device->streams && firn_stream_at(eval->instance, i, &stream) == FIRN_OK;
        if (!found || stream.element != device->stream[i].element ||
            stream.record_elements != device->stream[i].record_elements)
            return refuse(eval,
                          firnc_format("it reads other records than %s in stream %u; compile both from one recipe",
                                       device->train.name, (unsigned)i));
    }
    return FIRNC_EXIT_OK;
}

static int find_streams(firnc_device *device) {
    device->streams = device->train.info.streams;
    if (device->streams == 0)
        return refuse(&device->train, "it reads no data, and a firmware is for records; compile a recipe with inputs");
    if (device->streams > FIRNC_DEVICE_STREAMS)
        return refuse(&device->train, "it reads more streams than a firmware has files for: data, labels and weights");
    for (uint32_t i = 0; i < device->streams; i++)
        if (firn_stream_at(device->train.instance, i, &device->stream[i]) != FIRN_OK)
            return refuse(&device->train, firnc_format("it reads nothing from stream %u", (unsigned)i));
    return device->eval.name != NULL ? check_streams(device) : FIRNC_EXIT_OK;
}

int firnc_device_open(firnc_device *device, const char *train, const char *eval, const uint8_t *public_key,
                      const firnc_board *board) {
    *device = (firnc_device){.train = {.name = train}, .eval = {.name = eval, .shares = true}};
    int status = read_plan(&device->train, public_key, FIRN_MODE_TRAIN);
    if (status == FIRNC_EXIT_OK && eval != NULL)
        status = read_plan(&device->eval, public_key, FIRN_MODE_EVAL);
    if (status == FIRNC_EXIT_OK)
        status = check_memory(device, board);
    if (status != FIRNC_EXIT_OK)
        return status;
    int error = open_plan(&device->train, public_key, NULL);
    if (error != FIRN_OK)
        return refuse_open(device, &device->train, error);
    error = eval != NULL ? open_plan(&device->eval, public_key, device->train.instance) : FIRN_OK;
    return error != FIRN_OK ? refuse_open(device, &device->eval, error) : find_streams(device);
}
