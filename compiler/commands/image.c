/* firnc image: makes the contents of a device's two slots, as a factory programs them: one plan or two, complete and
 * confirmed. The layout of a slot stands in plan/slots, where the device has it from too. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/emit/plan_file.h"
#include "compiler/emit/sign.h"
#include "plan/errors.h"
#include "plan/slots/layout.h"

#define SLOTS          2u
#define SLOT_BYTES_MAX (UINT64_C(1) << 31)

typedef struct request {
    const char *plan, *second, *pub, *output;
    uint64_t slot_bytes;
    uint32_t program_unit, erase_unit, erased_value;
    bool without_report;
} request;

static const firn_option options[] = {
    {.name = "--second",
     .value = "PLAN",
     .text = "the plan of slot 1, with another plan version; default: slot 1 is erased",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, second)},
    {.name = "--pub",
     .value = "PUB",
     .text = "the public key that the device has; plans of another are refused",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .needed = FIRN_EVERY_COMMAND,
     .what = "the public key",
     .place = offsetof(request, pub)},
    {.name = "--output",
     .brief = "-o",
     .value = "FILE",
     .text = "the image to write: slot 0, then slot 1",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .needed = FIRN_EVERY_COMMAND,
     .what = "the file to write",
     .place = offsetof(request, output)},
    {.name = "--slot-bytes",
     .value = "N",
     .text = "bytes of each slot, a multiple of the erase unit",
     .kind = FIRN_OPTION_NUMBER,
     .needed = FIRN_EVERY_COMMAND,
     .place = offsetof(request, slot_bytes),
     .least = 1,
     .most = SLOT_BYTES_MAX,
     .what = "a number of bytes"},
    {.name = "--program-unit",
     .value = "N",
     .text = "bytes that the flash programs at once: a power of two up to 256; default: 8",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(request, program_unit),
     .least = 1,
     .most = FIRN_SLOT_UNIT_MAX,
     .what = "a number of bytes"},
    {.name = "--erase-unit",
     .value = "N",
     .text = "bytes that the flash erases at once; default: 4096",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(request, erase_unit),
     .least = 1,
     .most = UINT32_MAX,
     .what = "a number of bytes"},
    {.name = "--erased-value",
     .value = "N",
     .text = "an erased byte, from 0 to 255; default: 255",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(request, erased_value),
     .most = 255,
     .what = "a byte"},
    {.name = "--without-report",
     .text = "leave out the reports, which no device reads",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, without_report)},
};

static int lay_out(const request *r, firn_slot_layout *layout) {
    if (firn_slot_lay_out(r->slot_bytes, r->program_unit, r->erase_unit, layout))
        return FIRNC_EXIT_OK;
    return firnc_usage("image",
                       "--slot-bytes: %" PRIu64 " bytes with a program unit of %" PRIu32 " and an erase unit of "
                       "%" PRIu32 " make no slot; the program unit is a power of two, the erase unit a multiple of "
                       "it, and the slot a multiple of the erase unit and larger than its trailer",
                       r->slot_bytes, r->program_unit, r->erase_unit);
}

static bool output_is_free(const request *r) {
    const char *const inputs[] = {r->plan, r->second, r->pub};
    return firnc_output_is_free("image", r->output, inputs, sizeof inputs / sizeof inputs[0]);
}

static void put_record(const firn_slot_layout *layout, firn_slot_record_kind kind, const firn_slot_record *record,
                       uint8_t *slot) {
    firn_slot_record_encode(kind, record, slot + (kind == FIRN_SLOT_RECEIPT ? layout->receipt : layout->commit));
}

/* Checks a plan as a device does and writes it into a slot, confirmed. */
static int fill_slot(const request *r, const firn_slot_layout *layout, const char *name, const uint8_t *public_key,
                     uint8_t *slot, firn_header *header) {
    firnc_bytes file;
    if (!firnc_plan_read(name, &file))
        return FIRNC_EXIT_WRONG;
    firnc_plan_file checked;
    const int error = firnc_plan_check(&file, public_key, 0, &checked);
    if (error != FIRN_OK) {
        firnc_plan_refuse(name, &file, error);
        return FIRNC_EXIT_REFUSED;
    }
    *header = checked.header;
    firn_slot_record record = {.plan_bytes = r->without_report ? firn_header_payload_end(header) : file.count};
    memcpy(record.plan_hash, checked.plan_hash, sizeof record.plan_hash);
    if (record.plan_bytes > layout->trailer) {
        firnc_say("firnc: %s: %" PRIu64 " bytes, and a slot of %" PRIu64 " bytes has room for %" PRIu64
                  "; write a larger --slot-bytes%s",
                  name, record.plan_bytes, r->slot_bytes, layout->trailer,
                  r->without_report ? "" : ", or --without-report");
        return FIRNC_EXIT_WRONG;
    }
    memcpy(slot, file.data, record.plan_bytes);
    put_record(layout, FIRN_SLOT_RECEIPT, &record, slot);
    put_record(layout, FIRN_SLOT_COMMIT, &record, slot);
    memset(slot + layout->confirmed, (uint8_t)~r->erased_value, layout->unit);
    return FIRNC_EXIT_OK;
}

/* The device chooses by plan version among plans that are for it, of one image. */
static int compare(const request *r, const firn_header *first, const firn_header *second) {
    if (memcmp(first->vendor, second->vendor, sizeof first->vendor) != 0 ||
        memcmp(first->class_id, second->class_id, sizeof first->class_id) != 0)
        firnc_say(
            "firnc: %s: is for another vendor or class than %s, and one device has both slots; compile it with the "
            "same --vendor and --class",
            r->second, r->plan);
    else if (first->image_id != second->image_id)
        firnc_say("firnc: %s: image id %u, and %s has %u; the two slots are for plans of one image id", r->second,
                  (unsigned)second->image_id, r->plan, (unsigned)first->image_id);
    else if (first->plan_version == second->plan_version)
        firnc_say("firnc: %s: plan version %u, like %s; compile one of them with another --plan-version", r->second,
                  (unsigned)second->plan_version, r->plan);
    else
        return FIRNC_EXIT_OK;
    return FIRNC_EXIT_WRONG;
}

static int image_command(int argc, char **argv) {
    request r = {.program_unit = 8, .erase_unit = 4096, .erased_value = 0xff};
    firn_slot_layout layout;
    if (!firnc_options_read(argc, argv, &firnc_command_image, &r) || !output_is_free(&r))
        return FIRNC_EXIT_USAGE;
    int status = lay_out(&r, &layout);
    uint8_t public_key[FIRN_PUBLIC_KEY_BYTES];
    if (status == FIRNC_EXIT_OK && !firnc_public_key_read(r.pub, public_key))
        status = FIRNC_EXIT_WRONG;
    if (status != FIRNC_EXIT_OK)
        return status;
    uint8_t *image = firnc_allocate(SLOTS * r.slot_bytes);
    memset(image, (int)r.erased_value, SLOTS * r.slot_bytes);
    firn_header first, second;
    status = fill_slot(&r, &layout, r.plan, public_key, image, &first);
    if (status == FIRNC_EXIT_OK && r.second != NULL)
        status = fill_slot(&r, &layout, r.second, public_key, image + r.slot_bytes, &second);
    if (status == FIRNC_EXIT_OK && r.second != NULL)
        status = compare(&r, &first, &second);
    if (status != FIRNC_EXIT_OK)
        return status;
    if (!firnc_file_write(r.output, image, SLOTS * r.slot_bytes))
        return FIRNC_EXIT_WRONG;
    printf("%s: %" PRIu64 " bytes: %u slots of %" PRIu64 " bytes, each with room for a plan of %" PRIu64 "\n",
           firnc_printable(r.output), SLOTS * r.slot_bytes, (unsigned)SLOTS, r.slot_bytes, layout.trailer);
    return FIRNC_EXIT_OK;
}

const firnc_command firnc_command_image = {
    .words = {.name = "image",
              .group = "Devices",
              .summary = "make the flash image of the slots for plans",
              .forms = {"PLAN --pub PUB --slot-bytes N -o FILE [options]"},
              .text = "make the flash image of a device's two slots for plans",
              .examples = {{"firnc image plans/train.plan --pub me.pub.pem --slot-bytes 262144 -o slots.bin",
                            "make the flash image that a factory programs"}},
              .operand = {.value = "PLAN",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(request, plan),
                          .least = 1},
              .tables = {{options, sizeof options / sizeof options[0]}}},
    .run = image_command,
};
