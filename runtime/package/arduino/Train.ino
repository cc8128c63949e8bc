// Trains from a signed plan, and prints the loss of every step. Beside this file the sketch needs three more:
//     firnc export PLAN --c -o parts.c              the parts of the library that the plan needs
//     firnc export KEY.pub.pem --c -o key.c         the public key
//     firnc export PLAN --array -o plan.c           the plan
// The blocks are for a small plan: `firnc inspect PLAN` prints what yours needs.
#include <Firn.h>
#include <string.h>

extern "C" {
extern const uint8_t firn_public_key[64];
extern const uint8_t firn_plan_region[];
extern const uint32_t firn_plan_bytes;
}

alignas(FIRN_BLOCK_ALIGNMENT) static uint8_t parameters[12 * 1024], session[64], arena[16 * 1024];
static firn_block blocks[] = {{parameters, sizeof parameters}, {session, sizeof session}, {arena, sizeof arena}};
static firn instance;
static int status;

// Samples of 64 bytes, and the class of each: what your sensor has recorded.
static uint8_t samples[64 * 64], classes[64];

static int read_samples(void *, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    memcpy(elements, (stream == 0 ? samples : classes) + first, count);
    return 0;
}

static const firn_segment sample_segment = {sizeof samples}, class_segment = {sizeof classes};
static const firn_stream streams[] = {{6, 64, &sample_segment, 1}, {6, 1, &class_segment, 1}}; // 6: uint8
static const firn_source source = {nullptr, streams, 2, read_samples};

void setup() {
    Serial.begin(115200);
    firn_config config = {};
    config.plan = firn_plan_region;
    config.plan_bytes = firn_plan_bytes;
    config.public_key = firn_public_key;
    config.blocks = blocks;
    config.block_count = sizeof blocks / sizeof *blocks;
    status = firn_open(&instance, &config);
    if (status == FIRN_OK)
        status = firn_initialise(&instance);
}

void loop() {
    firn_step_report report;
    if (status == FIRN_OK)
        status = firn_train_step(&instance, &source, &report);
    if (status != FIRN_OK) {
        Serial.println(status); // plan/errors.def says what it means
        delay(1000);
        return;
    }
    Serial.println(report.loss, 6);
}
