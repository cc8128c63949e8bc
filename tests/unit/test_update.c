/* Tests the update protocol: damaged, repeated, reordered and hostile frames, transfers that break off, and what must
 * never be written. `test_update serve ...` is a device behind a pseudo terminal for tests/end_to_end/flash.sh. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "plan/bytes.h"
#include "runtime/targets/host/host.h"
#include "tests/unit/support_slots.h"
#include "tests/unit/support_test.h"

static signed_plan old, new, other;
static slots_device device;

static void begin_device(void) {
    slots_plan_make(&old, 1, 1);
    slots_plan_make(&new, 2, 1);
    slots_device_make(&device, 8192, 16, 1024, 0xff, old.key);
    slots_device_put(&device, 0, &old);
    device.counter = 1;
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    slots_device_listen(&device);
}

static void end_device(void) {
    slots_device_free(&device);
}

/* Changes the header of the new plan as `other`, and signs it. */
static firn_header header_of_other(void) {
    firn_header header;
    memcpy(&other, &new, sizeof other);
    assert_int_equal(firn_header_decode(&header, other.file, other.bytes), FIRN_OK);
    return header;
}

static void sign_other(const firn_header *header) {
    firn_header_encode(header, other.file);
    support_sign_bytes(&other);
}

/* --- what is refused before anything is written --- */

static void refused(int expected) {
    const uint64_t before = device.flash.operations;
    assert_int_equal(slots_device_offer(&device, &other), expected);
    assert_int_equal(device.flash.operations, before);
    assert_int_equal(device.answer.offset, 0);
    /* and there is nothing to go on with */
    const uint8_t data[16] = {0};
    assert_true(slots_device_ask(&device, FIRN_FRAME_DATA, data, sizeof data));
    assert_int_equal(device.answer.status, FIRN_ERROR_NO_UPDATE);
    assert_true(slots_device_ask(&device, FIRN_FRAME_COMMIT, NULL, 0));
    assert_int_equal(device.answer.status, FIRN_ERROR_NO_UPDATE);
    assert_int_equal(device.flash.operations, before);
}

TEST(an_offer_is_verified_before_anything_is_erased) {
    static const firn_identity here = {.vendor = "acme", .image_id = 7};
    begin_device();
    firn_header header = header_of_other();
    other.file[FIRN_HEADER_BYTES + 3] ^= 1;
    refused(FIRN_ERROR_SIGNATURE);
    header_of_other();
    other.file[36] ^= 4; /* the plan version */
    refused(FIRN_ERROR_SIGNATURE);
    header_of_other();
    support_sign(&other, true);
    refused(FIRN_ERROR_WRONG_KEY);
    header = header_of_other();
    header.plan_version = 1;
    sign_other(&header);
    refused(FIRN_ERROR_OLDER_PLAN);
    header = header_of_other();
    header.security_counter = 0;
    sign_other(&header);
    refused(FIRN_ERROR_SECURITY_COUNTER);
    header_of_other();
    device.config.revoked_keys = 1;
    refused(FIRN_ERROR_KEY_REVOKED);
    device.config.revoked_keys = 0;
    device.config.identity = &here;
    refused(FIRN_ERROR_OTHER_DEVICE);
    header = header_of_other();
    memcpy(header.vendor, here.vendor, sizeof header.vendor);
    sign_other(&header);
    refused(FIRN_ERROR_OTHER_IMAGE);
    header.image_id = 7;
    sign_other(&header);
    device.slots.trials = 0;
    assert_int_equal(slots_device_offer(&device, &other), FIRN_OK);
    end_device();
}

TEST(a_plan_larger_than_the_slot_is_refused) {
    slots_plan_make(&old, 1, 1);
    slots_plan_make(&new, 2, 1);
    slots_device_make(&device, 4096, 16, 1024, 0xff, old.key);
    slots_device_listen(&device);
    assert_int_equal(slots_device_offer(&device, &new), FIRN_ERROR_STORAGE_FULL);
    assert_int_equal(device.flash.operations, 0);
    assert_int_equal(device.answer.capacity, 3072);
    end_device();
}

/* --- transfers --- */

TEST(the_same_plan_is_not_sent_twice) {
    begin_device();
    assert_int_equal(slots_device_offer(&device, &old), FIRN_OK); /* it runs */
    assert_int_equal(device.answer.committed, 1);
    assert_false(firn_update_is_complete(&device.update));
    assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
    const uint64_t sent = device.sent, operations = device.flash.operations;
    assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
    assert_int_equal(device.sent, sent);
    assert_int_equal(device.flash.operations, operations);
    end_device();
}

static bool send_part(uint64_t offset, uint32_t count) {
    uint8_t payload[1024];
    firn_store64(payload, offset);
    memcpy(payload + FIRN_FRAME_DATA_HEADER, new.file + offset, count);
    return slots_device_ask(&device, FIRN_FRAME_DATA, payload, FIRN_FRAME_DATA_HEADER + count);
}

TEST(parts_are_taken_in_order_and_once) {
    begin_device();
    assert_int_equal(slots_device_offer(&device, &new), FIRN_OK);
    assert_int_equal(device.answer.offset, 0);
    assert_true(send_part(32, 32)); /* too early */
    assert_int_equal(device.answer.offset, 0);
    assert_true(send_part(0, 32));
    assert_int_equal(device.answer.offset, 32);
    const uint64_t operations = device.flash.operations;
    assert_true(send_part(0, 32)); /* again, because the answer was lost */
    assert_int_equal(device.answer.status, FIRN_OK);
    assert_int_equal(device.answer.offset, 32);
    assert_int_equal(device.flash.operations, operations);
    assert_true(send_part(32, 24)); /* no multiple of the unit, and not the end */
    assert_int_equal(device.answer.status, FIRN_ERROR_ARGUMENT);
    assert_true(slots_device_ask(&device, FIRN_FRAME_COMMIT, NULL, 0));
    assert_int_equal(device.answer.status, FIRN_ERROR_TRUNCATED);
    assert_true(slots_device_ask(&device, FIRN_FRAME_DATA, new.file, 3));
    assert_int_equal(device.answer.status, FIRN_ERROR_ARGUMENT);
    assert_int_equal(device.answer.offset, 32);
    end_device();
}

/* Other bytes than those that were signed are written, found out, and thrown away. */
TEST(other_bytes_are_not_committed) {
    begin_device();
    memcpy(&other, &new, sizeof other);
    static const uint32_t at[] = {0, 50, FIRN_HEADER_BYTES + 5, FIRN_PAYLOAD_OFFSET, FIRN_PAYLOAD_OFFSET + 1000};
    static const int found[] = {FIRN_ERROR_SIGNATURE, FIRN_ERROR_SIGNATURE, FIRN_ERROR_SIGNATURE, FIRN_ERROR_RUN_HASH,
                                FIRN_ERROR_RUN_HASH};
    for (uint32_t i = 0; i < 5; i++) {
        slots_device_listen(&device);
        assert_int_equal(slots_device_offer(&device, &new), FIRN_OK);
        assert_int_equal(device.answer.offset, 0);
        new.file[at[i]] ^= 1;
        while (device.answer.offset < new.bytes) {
            const uint64_t left = new.bytes - device.answer.offset;
            assert_true(send_part(device.answer.offset, left < 512 ? (uint32_t)left : 512));
            assert_int_equal(device.answer.status, FIRN_OK);
        }
        assert_true(slots_device_ask(&device, FIRN_FRAME_COMMIT, NULL, 0));
        assert_int_equal(device.answer.status, found[i]);
        assert_int_equal(device.answer.committed, 0);
        memcpy(&new, &other, sizeof new);
        assert_int_equal(slots_device_boot(&device), FIRN_OK);
        assert_int_equal(device.running, 0);
    }
    assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
    end_device();
}

/* Makes the new plan one of this version with a report, so that its end is no whole unit. */
static firn_header give_a_report(uint32_t version) {
    signed_plan_settings settings = support_settings;
    settings.report = "{\"a\":1}";
    settings.security_counter = 1;
    support_bigram(&new, &settings);
    firn_header header;
    assert_int_equal(firn_header_decode(&header, new.file, new.bytes), FIRN_OK);
    header.plan_version = version;
    firn_header_encode(&header, new.file);
    support_sign(&new, false);
    return header;
}

TEST(a_plan_without_its_report_is_taken) {
    begin_device();
    firn_header header = give_a_report(5);
    new.file[new.bytes - 1] ^= 1;
    assert_int_equal(slots_device_flash(&device, &new), FIRN_ERROR_REPORT);
    new.file[new.bytes - 1] ^= 1;
    assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_int_equal(device.running, 1);
    assert_int_equal(firn_slots_confirm(&device.slots, 1, &device.opened.firn), FIRN_OK);
    header.plan_version = 6;
    firn_header_encode(&header, new.file);
    support_sign(&new, false);
    new.bytes = firn_header_payload_end(&header);
    assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_int_equal(device.choice.plan_version, 6);
    end_device();
}

/* --- the stream --- */

static uint32_t make_frame(uint8_t bytes[64], uint8_t kind, uint32_t length) {
    const firn_frame frame = {.kind = kind, .sequence = ++device.sequence, .length = (uint16_t)length};
    memset(bytes, 0xf1, 64);
    firn_frame_close(bytes, &frame);
    return firn_frame_bytes(&frame);
}

TEST(damaged_frames_are_dropped) {
    begin_device();
    uint8_t bytes[64];
    const uint32_t count = make_frame(bytes, FIRN_FRAME_HELLO, 5);
    /* In every bit: no answer, and the frame behind it is understood once enough bytes have come. */
    for (uint32_t bit = 0; bit < 8 * count; bit++) {
        const uint32_t before = device.answers;
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        firn_update_receive(&device.update, bytes, count);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(device.answers, before);
        firn_update_receive(&device.update, bytes, count);
        assert_int_equal(device.answers, before + 1);
    }
    end_device();
}

TEST(frames_are_found_in_noise) {
    begin_device();
    uint8_t bytes[64], noise[257];
    uint32_t seed = 1;
    for (uint32_t round = 0; round < 2000; round++) {
        for (uint32_t i = 0; i < sizeof noise; i++) {
            seed = seed * 1664525u + 1013904223u;
            noise[i] = (uint8_t)(seed >> 24 & (round % 2 == 0 ? 0xff : 0x01)) | (round % 3 == 0 ? 0xf0 : 0);
        }
        firn_update_receive(&device.update, noise, round % sizeof noise);
        /* Noise may be the beginning of a frame, which ends in the next ones. */
        const uint32_t before = device.answers, count = make_frame(bytes, FIRN_FRAME_HELLO, 0);
        for (uint32_t i = 0; i < 80 && device.answers == before; i++)
            for (uint32_t j = 0; j < count; j++)
                firn_update_receive(&device.update, bytes + j, 1);
        assert_int_not_equal(device.answers, before);
    }
    end_device();
}

TEST(unknown_kinds_are_not_answered) {
    begin_device();
    for (uint32_t kind = 0; kind < 256; kind++)
        if (kind < FIRN_FRAME_HELLO || kind > FIRN_FRAME_COMMIT)
            assert_false(slots_device_ask(&device, (uint8_t)kind, "x", 1));
    assert_true(slots_device_ask(&device, FIRN_FRAME_HELLO, NULL, 0));
    assert_int_equal(device.answer.part % 16, 0);
    assert_true(device.answer.part > 512);
    end_device();
}

/* The end of a plan, which is no whole unit, and the frame behind it arrive at once: neither changes the other. */
TEST(frames_behind_the_end_of_a_plan_are_kept) {
    begin_device();
    (void)give_a_report(2);
    assert_int_equal(slots_device_offer(&device, &new), FIRN_OK);
    const uint32_t part = 512;
    while (new.bytes - device.answer.offset > part)
        assert_true(send_part(device.answer.offset, part));
    const uint32_t left = (uint32_t)(new.bytes - device.answer.offset);
    assert_true(left % 16 != 0);
    uint8_t bytes[1024];
    const firn_frame data = {
        .kind = FIRN_FRAME_DATA, .sequence = device.sequence + 1, .length = (uint16_t)(FIRN_FRAME_DATA_HEADER + left)};
    firn_store64(bytes + FIRN_FRAME_HEADER_BYTES, device.answer.offset);
    memcpy(bytes + FIRN_FRAME_HEADER_BYTES + FIRN_FRAME_DATA_HEADER, new.file + device.answer.offset, left);
    firn_frame_close(bytes, &data);
    uint32_t count = firn_frame_bytes(&data);
    count += make_frame(bytes + count, FIRN_FRAME_COMMIT, 0); /* of the same number: support_slots.c looks at one */
    const uint32_t before = device.answers;
    firn_update_receive(&device.update, bytes, count);
    assert_int_equal(device.answers, before + 2);
    assert_int_equal(device.answer.status, FIRN_OK);
    assert_int_equal(device.answer.committed, 1);
    end_device();
}

TEST(settings_are_checked) {
    begin_device();
    firn_update_settings settings = device.update.settings;
    firn_update update;
    assert_int_equal(firn_update_begin(&update, &settings), FIRN_OK);
    settings.buffer_bytes = FIRN_UPDATE_BUFFER_MIN - 1;
    assert_int_equal(firn_update_begin(&update, &settings), FIRN_ERROR_ARGUMENT);
    settings = device.update.settings;
    settings.running = 3;
    assert_int_equal(firn_update_begin(&update, &settings), FIRN_ERROR_ARGUMENT);
    settings = device.update.settings;
    settings.send = NULL;
    assert_int_equal(firn_update_begin(&update, &settings), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_update_begin(&update, NULL), FIRN_ERROR_ARGUMENT);
    end_device();
}

/* --- a device behind a pseudo terminal --- */

enum { SERVED_UNIT = 8, SERVED_ERASE = 4096 };

/* Flash in a file, which outlives the process: killing it is a power cut. */
static struct {
    uint8_t *bytes;
    uint64_t slot_bytes;
    uint32_t left; /* units that may be programmed before the power is cut; UINT32_MAX: never */
    int line;
} served;

static uint8_t *served_at(const void *context, uint64_t offset) {
    return served.bytes + *(const uint32_t *)context * served.slot_bytes + offset;
}

static int served_read(void *context, uint64_t offset, void *bytes, uint32_t count) {
    memcpy(bytes, served_at(context, offset), count);
    return 0;
}

static int served_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; i += SERVED_UNIT) {
        if (served.left != UINT32_MAX && served.left-- == 0)
            _exit(9);
        memcpy(served_at(context, offset + i), (const uint8_t *)bytes + i, SERVED_UNIT);
    }
    return 0;
}

static int served_erase(void *context, uint64_t offset, uint64_t count) {
    memset(served_at(context, offset), 0xff, count);
    return 0;
}

static int served_sync(void *context) {
    (void)context;
    return 0;
}

static void served_send(void *context, const uint8_t *bytes, uint32_t count) {
    (void)context;
    while (count != 0) {
        const ssize_t sent = write(served.line, bytes, count);
        if (sent <= 0)
            exit(1);
        bytes += sent;
        count -= (uint32_t)sent;
    }
}

/* The counter lies behind the slots. */
static int served_counter(void *context, uint32_t *value) {
    (void)context;
    memcpy(value, served.bytes + FIRN_SLOTS * served.slot_bytes, sizeof *value);
    return 0;
}

static int served_advance(void *context, uint32_t value) {
    (void)context;
    memcpy(served.bytes + FIRN_SLOTS * served.slot_bytes, &value, sizeof value);
    return 0;
}

/* Opens the plan that was chosen, with blocks from the heap. */
static int served_open(firn *instance, const firn_choice *choice, firn_config config) {
    firn_sizes sizes;
    config.plan = choice->plan;
    config.plan_bytes = choice->plan_bytes;
    int status = firn_plan_sizes(config.plan, config.plan_bytes, &sizes);
    firn_host_blocks blocks;
    if (status == FIRN_OK && !firn_host_blocks_begin(&blocks, &sizes))
        status = FIRN_ERROR_BLOCK_TOO_SMALL;
    if (status != FIRN_OK)
        return status;
    config.blocks = blocks.list;
    config.block_count = blocks.count;
    memset(instance, 0, sizeof *instance);
    return firn_open(instance, &config);
}

static int served_boot(const firn_slots *slots, const firn_config *config, bool confirm, uint32_t *running) {
    static firn instance;
    static uint8_t text[4096];
    firn_choice choice;
    uint32_t refused_slots = 0;
    int status = firn_slots_choose(slots, 0, &choice);
    while (status == FIRN_OK) {
        const int opened = served_open(&instance, &choice, *config);
        if (opened == FIRN_OK)
            break;
        printf("refused slot %u: %s\n", (unsigned)choice.slot, firn_error_name(opened));
        refused_slots |= 1u << choice.slot;
        status = firn_slots_choose(slots, refused_slots, &choice);
    }
    if (status != FIRN_OK)
        return status;
    *running = choice.slot;
    printf("runs slot %u version %u trial %u\n", (unsigned)choice.slot, (unsigned)choice.plan_version,
           (unsigned)choice.trial);
    bytes_source source;
    firn_step_report report;
    support_text(&source, text, (const uint64_t[]){sizeof text, 0});
    status = firn_initialise(&instance);
    if (status == FIRN_OK)
        status = firn_train_step(&instance, &source.source, &report);
    if (status == FIRN_OK && confirm) {
        status = firn_slots_confirm(slots, choice.slot, &instance);
        printf("confirmed: %s\n", firn_error_name(status));
    }
    return status;
}

/* Opens a pseudo terminal and prints the name of its other end, which stays open here, so that the line outlives those
 * who use it. */
static bool served_line(void) {
    served.line = posix_openpt(O_RDWR | O_NOCTTY);
    if (served.line < 0 || grantpt(served.line) != 0 || unlockpt(served.line) != 0)
        return false;
    const char *name = ptsname(served.line);
    const int other_end = name != NULL ? open(name, O_RDWR | O_NOCTTY) : -1;
    struct termios settings;
    if (other_end < 0 || tcgetattr(other_end, &settings) != 0)
        return false;
    cfmakeraw(&settings);
    if (tcsetattr(other_end, TCSANOW, &settings) != 0)
        return false;
    printf("port %s\n", name);
    return true;
}

/* serve FLASH SLOT-BYTES PUB UNITS confirm|try: FLASH is an image of two slots and a counter, UNITS how many units can
 * be programmed before the power is cut, or "all". */
static int serve(char **words) {
    static const firn_storage storage = {.program_unit = SERVED_UNIT,
                                         .erase_unit = SERVED_ERASE,
                                         .erased_value = 0xff,
                                         .read = served_read,
                                         .program = served_program,
                                         .erase = served_erase,
                                         .sync = served_sync};
    static const firn_counter counter = {served_counter, served_advance};
    static const firn_port port = {.struct_size = sizeof port, .counter = &counter};
    static uint32_t numbers[FIRN_SLOTS] = {0, 1};
    static uint8_t buffer[2048];
    static uint8_t key[64];
    setvbuf(stdout, NULL, _IOLBF, 0);
    served.slot_bytes = strtoull(words[1], NULL, 10);
    served.left = strcmp(words[3], "all") == 0 ? UINT32_MAX : (uint32_t)strtoul(words[3], NULL, 10);
    const int file = open(words[0], O_RDWR);
    const size_t bytes = FIRN_SLOTS * (size_t)served.slot_bytes + sizeof(uint32_t);
    if (file < 0 || !firn_host_key_load(key, words[2]))
        return 1;
    served.bytes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (served.bytes == MAP_FAILED)
        return 1;
    firn_storage of_slot = storage;
    of_slot.capacity = served.slot_bytes;
    firn_slots slots = {.trials = 2};
    for (uint32_t i = 0; i < FIRN_SLOTS; i++)
        slots.slot[i] = (firn_slot){
            .storage = &of_slot, .context = &numbers[i], .mapped = served.bytes + (size_t)i * served.slot_bytes};
    const firn_config config = {.public_key = key, .port = &port, .kernels = "plain"};
    uint32_t running = FIRN_SLOT_NONE;
    const int booted = served_boot(&slots, &config, strcmp(words[4], "confirm") == 0, &running);
    if (booted != FIRN_OK)
        printf("runs nothing: %s\n", firn_error_name(booted));
    const firn_update_settings settings = {.slots = &slots,
                                           .running = running,
                                           .config = &config,
                                           .buffer = buffer,
                                           .buffer_bytes = sizeof buffer,
                                           .send = served_send};
    firn_update update;
    if (firn_update_begin(&update, &settings) != FIRN_OK || !served_line())
        return 1;
    for (;;) {
        uint8_t received[512];
        const ssize_t count = read(served.line, received, sizeof received);
        if (count <= 0)
            return 1;
        firn_update_receive(&update, received, (uint32_t)count);
    }
}

int main(int argc, char **argv) {
    if (argc == 7 && strcmp(argv[1], "serve") == 0)
        return serve(argv + 2);
    return support_test_run();
}
