/* A device as plan_slots.h and update.h tell a firmware to be one, on an emulated board. It boots the plan that its
 * slots choose, goes on with the run of its checkpoint, predicts, saves, and receives updates until the power is cut.
 * What outlives the power is in flash.h. Words of the command line:
 *
 *     device            boot, make one step, print what runs, and receive updates
 *     confirm           confirm the plan after the first step
 *     until=N           train until the run has made N steps instead of one
 *     save=N            keep checkpoints: save after every N steps of the run and after the last
 *     predict=N         after the last step predict N samples by the eval plan in the file `predict.plan`
 *     fail-save=N       let the power fail in the Nth operation of flash and counter while saving
 *     fail-transfer=N   likewise while an update is received
 *
 * What a new plan takes over: a plan with the run hash of the one before (another version, the same payload) goes on
 * with its checkpoint; every other plan begins a run of its own. A plan on trial does not save before it is confirmed,
 * because its second save would erase the record of the run before: so the plan that it falls back to still finds its
 * own run. */
#include "runtime/targets/emulated/device.h"

#include <string.h>

#include "runtime/targets/emulated/data.h"
#include "runtime/targets/emulated/flash.h"
#include "runtime/targets/emulated/predict.h"
#include "runtime/targets/emulated/serial.h"
#include "runtime/targets/emulated/system.h"
#include "runtime/targets/emulated/text.h"
#include "runtime/update.h"

typedef struct options {
    bool confirm;
    uint64_t until, save, predict, fail_save, fail_transfer;
} options;

static firn instance;
static firn_pool left;
static firn_slots slots;

/* What this device is. The eval plan that may lie beside has another image id, and is not compared. */
static const firn_identity identity = {.vendor = "firn-test", .class_id = "emulated", .image_id = 3};

/* --- lines --- */

static void print_line(firn_text *line) {
    firn_text_add(line, "\n");
    firn_system_print(line->bytes);
}

static void say(const char *words, uint64_t number, const char *more) {
    firn_text line = {0};
    firn_text_add(&line, words);
    firn_text_add_unsigned(&line, number);
    firn_text_add(&line, more);
    print_line(&line);
}

static int fail(int error) {
    firn_text line = {0};
    firn_text_add(&line, "device: ");
    firn_text_add(&line, firn_error_name(error));
    firn_text_add(&line, "\n");
    firn_system_print_error(line.bytes);
    return 1;
}

static int say_digest(uint64_t step) {
    uint8_t digest[32];
    const int status = firn_digest(&instance, digest);
    if (status != FIRN_OK)
        return status;
    firn_text line = {0};
    firn_text_add(&line, "step ");
    firn_text_add_unsigned(&line, step);
    firn_text_add(&line, " digest ");
    firn_text_add_hash(&line, digest);
    print_line(&line);
    return FIRN_OK;
}

/* --- the command line --- */

static bool read_word(const char *word, size_t length, options *asked) {
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"until=", &asked->until},
                   {"save=", &asked->save},
                   {"predict=", &asked->predict},
                   {"fail-save=", &asked->fail_save},
                   {"fail-transfer=", &asked->fail_transfer}};
    if (length == strlen("confirm") && memcmp(word, "confirm", length) == 0) {
        asked->confirm = true;
        return true;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        size_t at = strlen(numbers[i].name);
        if (length <= at || memcmp(word, numbers[i].name, at) != 0)
            continue;
        for (; at < length && word[at] >= '0' && word[at] <= '9'; at++)
            *numbers[i].number = *numbers[i].number * 10 + (uint64_t)(word[at] - '0');
        return at == length;
    }
    return false;
}

static bool read_options(const char *words, options *asked) {
    while (*words != '\0') {
        const size_t length = strcspn(words, " ");
        if (length != 0 && !read_word(words, length, asked))
            return false;
        words += length;
        words += strspn(words, " ");
    }
    return true;
}

/* --- booting --- */

/* Opens a plan with blocks from the pool, which is as before if the plan is refused. */
static int open_plan(const firn_choice *choice, firn_config config) {
    firn_pool pool = left;
    firn_block blocks[FIRN_BLOCKS_MAX];
    config.plan = choice->plan;
    config.plan_bytes = choice->plan_bytes;
    int status = firn_pool_blocks(&pool, &config, blocks);
    if (status == FIRN_OK)
        status = firn_open(&instance, &config);
    if (status == FIRN_OK)
        left = pool;
    return status;
}

static void say_refused(uint32_t slot, int error) {
    firn_text line = {0};
    firn_text_add(&line, "refused slot ");
    firn_text_add_unsigned(&line, slot);
    firn_text_add(&line, ": ");
    firn_text_add(&line, firn_error_name(error));
    print_line(&line);
}

static int boot(const firn_config *config, firn_choice *choice) {
    uint32_t refused = 0;
    int status = firn_slots_choose(&slots, refused, choice);
    while (status == FIRN_OK) {
        const int opened = open_plan(choice, *config);
        if (opened == FIRN_OK)
            return FIRN_OK;
        say_refused(choice->slot, opened);
        refused |= 1u << choice->slot;
        status = firn_slots_choose(&slots, refused, choice);
    }
    return status;
}

/* --- the run --- */

/* Goes on with the run of this plan if there is a checkpoint of it. A first save that was cut leaves a damaged slot and
 * no record. */
static int begin_run(void) {
    firn_restore_report report;
    const int status = firn_restore(&instance, &report);
    if (status == FIRN_OK) {
        say("resumes at step ", report.global_step, "");
        return FIRN_OK;
    }
    if (status != FIRN_ERROR_NO_STORAGE && status != FIRN_ERROR_CHECKPOINT_MISSING &&
        status != FIRN_ERROR_CHECKPOINT_DAMAGED && status != FIRN_ERROR_CHECKPOINT_OTHER_RUN &&
        status != FIRN_ERROR_CHECKPOINT_OTHER_MODEL)
        return status;
    firn_text line = {0};
    firn_text_add(&line, "begins a run: ");
    firn_text_add(&line, firn_error_name(status));
    print_line(&line);
    return firn_initialise(&instance);
}

/* Confirms the plan after its first step. */
static int train(const options *asked, const firn_source *source, const firn_choice *choice) {
    bool confirmed = choice->trial == 0 && !choice->spent, confirming = asked->confirm;
    firn_step_report report;
    uint64_t done = 0;
    int status = firn_progress(&instance, &done);
    const uint64_t until = asked->until != 0 ? asked->until : done + 1;
    while (status == FIRN_OK && done < until) {
        status = firn_train_step(&instance, source, &report);
        done++;
        if (status == FIRN_OK && confirming) {
            status = firn_slots_confirm(&slots, choice->slot, &instance);
            confirmed = true;
            confirming = false;
        }
        if (status == FIRN_OK && confirmed && asked->save != 0 && (done % asked->save == 0 || done == until))
            status = firn_save(&instance);
    }
    return status == FIRN_OK ? say_digest(done) : status;
}

static int work(const options *asked, const firn_choice *choice) {
    static firn_emulated_data opened;
    firn_info info;
    int status = firn_describe(&instance, &info);
    if (status == FIRN_OK)
        status = firn_emulated_data_open(&opened, info.window == 0);
    if (status == FIRN_OK && asked->predict != 0)
        status = firn_emulated_predict_open(&left, &instance, NULL);
    if (status == FIRN_OK)
        status = begin_run();
    if (status == FIRN_OK)
        status = train(asked, &opened.source, choice);
    if (status == FIRN_OK && asked->predict != 0)
        status = firn_emulated_predict_samples(&opened.source, asked->predict);
    return status;
}

/* --- updates --- */

static void send(void *context, const uint8_t *bytes, uint32_t count) {
    (void)context;
    firn_serial_send(bytes, count);
}

/* Receives until the power is cut. Returns only on an error. */
static int receive(const firn_config *config, const firn_choice *choice) {
    static uint8_t buffer[2048];
    static firn_update update;
    uint32_t counter;
    const firn_update_settings settings = {.slots = &slots,
                                           .running = choice->slot,
                                           .config = config,
                                           .buffer = buffer,
                                           .buffer_bytes = sizeof buffer,
                                           .send = send};
    int status = firn_update_begin(&update, &settings);
    if (status == FIRN_OK)
        status = firn_emulated_plan_counter.read(NULL, &counter);
    if (status != FIRN_OK || !firn_serial_begin())
        return status != FIRN_OK ? status : FIRN_ERROR_ARGUMENT;
    say("runs version ", choice->plan_version, choice->trial != 0 ? " on trial" : "");
    say("counter ", counter, "");
    for (;;) {
        uint8_t byte;
        if (firn_serial_take(&byte))
            firn_update_receive(&update, &byte, 1);
    }
}

int firn_device(const char *words) {
    static const uint8_t device_key[32] = "the secret of this one device";
    static firn_port port = {.struct_size = sizeof port, .counter = &firn_emulated_plan_counter};
    options asked = {0};
    firn_choice choice;
    if (!read_options(words, &asked))
        return fail(FIRN_ERROR_ARGUMENT);
    if (asked.save != 0) {
        port.storage = &firn_emulated_checkpoints;
        port.checkpoint_counter = &firn_emulated_save_counter;
    }
    left.memory = firn_system_blocks(&left.bytes);
    const firn_config config = {
        .public_key = firn_system_public_key(), .identity = &identity, .port = &port, .device_key = device_key};
    int status = firn_emulated_flash_begin(&left, &slots);
    if (status == FIRN_OK)
        status = boot(&config, &choice);
    firn_emulated_flash_fail(FIRN_EMULATED_SAVING, asked.fail_save);
    if (status == FIRN_OK)
        status = work(&asked, &choice);
    firn_emulated_flash_fail(FIRN_EMULATED_RECEIVING, asked.fail_transfer);
    return fail(status == FIRN_OK ? receive(&config, &choice) : status);
}
