/* Predicts between training steps (predict.h). */
#include "runtime/targets/emulated/predict.h"

#include <string.h>

#include "plan/signature.h"
#include "runtime/targets/emulated/system.h"
#include "runtime/targets/emulated/text.h"

static firn predictor;

/* Reads the plan into memory. */
static int load(firn_pool *left, firn_config *config) {
    const int file = firn_system_open("predict.plan", false);
    const int64_t length = file < 0 ? -1 : firn_system_length(file);
    void *plan = length > 0 && length <= INT32_MAX ? firn_pool_take(left, (uint64_t)length) : NULL;
    if (plan == NULL || !firn_system_read(file, 0, plan, (uint32_t)length))
        return FIRN_ERROR_TRUNCATED;
    config->plan = plan;
    config->plan_bytes = (uint64_t)length;
    return firn_system_close(file) ? FIRN_OK : FIRN_ERROR_TRUNCATED;
}

int firn_emulated_predict_open(firn_pool *left, const firn *owner, const firn_port *port) {
    firn_block blocks[FIRN_BLOCKS_MAX];
    firn_config config = {.owner = owner, .port = port, .public_key = firn_system_public_key()};
    int error = load(left, &config);
    if (error == FIRN_OK)
        error = firn_pool_blocks(left, &config, blocks);
    if (error == FIRN_OK)
        error = firn_pool_workspace(left, &config);
    return error == FIRN_OK ? firn_open(&predictor, &config) : error;
}

int firn_emulated_predict(const firn_source *source) {
    firn_tensor_info output;
    int error = firn_initialise(&predictor); /* the first batch again; the parameters stay */
    if (error == FIRN_OK)
        error = firn_eval_step(&predictor, source);
    if (error == FIRN_OK)
        error = firn_output_at(&predictor, 0, &output);
    if (error != FIRN_OK)
        return error;
    uint32_t bits;
    memcpy(&bits, output.data, sizeof bits);
    firn_text line = {0};
    firn_text_add(&line, "predicted ");
    firn_text_add(&line, output.name);
    firn_text_add(&line, " 0x");
    firn_text_add_hex(&line, bits, 8);
    firn_text_add(&line, "\n");
    firn_system_print(line.bytes);
    return FIRN_OK;
}

/* Adds the first output of the next batch to the hash. */
static int predict_batch(const firn_source *source, firn_sha256 *hash, uint64_t *samples) {
    firn_tensor_info output;
    int error = firn_eval_step(&predictor, source);
    if (error == FIRN_OK)
        error = firn_output_at(&predictor, 0, &output);
    if (error == FIRN_OK)
        error = firn_sha256_update(hash, output.data, (size_t)output.bytes);
    if (error == FIRN_OK)
        *samples += output.dims[0];
    return error;
}

int firn_emulated_predict_samples(const firn_source *source, uint64_t samples) {
    firn_sha256 hash;
    uint8_t digest[32];
    uint64_t done = 0;
    int error = firn_initialise(&predictor);
    if (error == FIRN_OK)
        error = firn_sha256_begin(&hash);
    while (error == FIRN_OK && done < samples)
        error = predict_batch(source, &hash, &done);
    if (error == FIRN_OK)
        error = firn_sha256_end(&hash, digest);
    if (error != FIRN_OK)
        return error;
    firn_text line = {0};
    firn_text_add(&line, "predicted ");
    firn_text_add_unsigned(&line, done);
    firn_text_add(&line, " samples, digest ");
    firn_text_add_hash(&line, digest);
    firn_text_add(&line, "\n");
    firn_system_print(line.bytes);
    return FIRN_OK;
}
