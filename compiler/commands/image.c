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
    const char *slot_bytes, *program_unit, *erase_unit, *erased_value;
    bool without_report;
} request;

static const firnc_option options[] = {
    {{"--second", NULL, "PLAN", "the plan of slot 1, with another plan version; default: slot 1 is erased"},
     FIRNC_OPTION_TEXT,
     offsetof(request, second)},
    {{"--pub", NULL, "PUB", "the public key that the device has; plans of another are refused"},
     FIRNC_OPTION_TEXT,
     offsetof(request, pub)},
    {{"--output", "-o", "FILE", "the image to write: slot 0, then slot 1"},
     FIRNC_OPTION_TEXT,
     offsetof(request, output)},
    {{"--slot-bytes", NULL, "N", "bytes of each slot, a multiple of the erase unit"},
     FIRNC_OPTION_TEXT,
     offsetof(request, slot_bytes)},
    {{"--program-unit", NULL, "N", "bytes that the flash programs at once: a power of two up to 256; default: 8"},
     FIRNC_OPTION_TEXT,
     offsetof(request, program_unit)},
    {{"--erase-unit", NULL, "N", "bytes that the flash erases at once; default: 4096"},
     FIRNC_OPTION_TEXT,
     offsetof(request, erase_unit)},
    {{"--erased-value", NULL, "N", "an erased byte, from 0 to 255; default: 255"},
     FIRNC_OPTION_TEXT,
     offsetof(request, erased_value)},
    {{"--without-report", NULL, NULL, "leave out the reports, which no device reads"},
     FIRNC_OPTION_FLAG,
     offsetof(request, without_report)},
};

/* What the flash is like. */
typedef struct flash {
    uint64_t slot_bytes, program_unit, erase_unit, erased_value;
    firn_slot_layout layout;
} flash;

static bool read_number(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *value) {
    if (text == NULL || (firnc_number_read(text, most, value) && *value >= least))
        return true;
    firnc_usage("image", "%s: %s is no such number; write one from %" PRIu64 " to %" PRIu64, option, text, least, most);
    return false;
}

static int read_flash(const request *r, flash *f) {
    *f = (flash){.program_unit = 8, .erase_unit = 4096, .erased_value = 0xff};
    if (r->slot_bytes == NULL)
        return firnc_usage("image", "--slot-bytes: the size of a slot is missing; write --slot-bytes and a number");
    if (!read_number("--slot-bytes", r->slot_bytes, 1, SLOT_BYTES_MAX, &f->slot_bytes) ||
        !read_number("--program-unit", r->program_unit, 1, FIRN_SLOT_UNIT_MAX, &f->program_unit) ||
        !read_number("--erase-unit", r->erase_unit, 1, UINT32_MAX, &f->erase_unit) ||
        !read_number("--erased-value", r->erased_value, 0, 255, &f->erased_value))
        return FIRNC_EXIT_USAGE;
    if (!firn_slot_lay_out(f->slot_bytes, (uint32_t)f->program_unit, (uint32_t)f->erase_unit, &f->layout))
        return firnc_usage("image",
                           "--slot-bytes: %" PRIu64 " bytes with a program unit of %" PRIu64 " and an erase unit of "
                           "%" PRIu64 " make no slot; the program unit is a power of two, the erase unit a multiple of "
                           "it, and the slot a multiple of the erase unit and larger than its trailer",
                           f->slot_bytes, f->program_unit, f->erase_unit);
    return FIRNC_EXIT_OK;
}

static int check_request(const request *r) {
    if (r->plan == NULL)
        return firnc_usage("image", "the plan is missing; write the name of a signed plan");
    if (r->pub == NULL)
        return firnc_usage("image", "--pub: the public key is missing; write --pub and its file name");
    if (r->output == NULL)
        return firnc_usage("image", "--output: the image is missing; write -o and its file name");
    const char *const inputs[] = {r->plan, r->second, r->pub};
    return firnc_output_is_free("image", r->output, inputs, 3) ? FIRNC_EXIT_OK : FIRNC_EXIT_USAGE;
}

static void put_record(const flash *f, firn_slot_record_kind kind, const firn_slot_record *record, uint8_t *slot) {
    firn_slot_record_encode(kind, record, slot + (kind == FIRN_SLOT_RECEIPT ? f->layout.receipt : f->layout.commit));
}

/* Checks a plan as a device does and writes it into a slot, confirmed. */
static int fill_slot(const request *r, const flash *f, const char *name, const uint8_t *public_key, uint8_t *slot,
                     firn_header *header) {
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
    if (record.plan_bytes > f->layout.trailer) {
        firnc_say("firnc: %s: %" PRIu64 " bytes, and a slot of %" PRIu64 " bytes has room for %" PRIu64
                  "; write a larger --slot-bytes%s",
                  name, record.plan_bytes, f->slot_bytes, f->layout.trailer,
                  r->without_report ? "" : ", or --without-report");
        return FIRNC_EXIT_WRONG;
    }
    memcpy(slot, file.data, record.plan_bytes);
    put_record(f, FIRN_SLOT_RECEIPT, &record, slot);
    put_record(f, FIRN_SLOT_COMMIT, &record, slot);
    memset(slot + f->layout.confirmed, (uint8_t)~f->erased_value, f->layout.unit);
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
    request r = {0};
    flash f;
    if (!firnc_options_read(argc, argv, &firnc_command_image, &r, &r.plan))
        return FIRNC_EXIT_USAGE;
    int status = check_request(&r);
    if (status == FIRNC_EXIT_OK)
        status = read_flash(&r, &f);
    uint8_t public_key[FIRN_PUBLIC_KEY_BYTES];
    if (status == FIRNC_EXIT_OK && !firnc_public_key_read(r.pub, public_key))
        status = FIRNC_EXIT_WRONG;
    if (status != FIRNC_EXIT_OK)
        return status;
    uint8_t *image = firnc_allocate(SLOTS * f.slot_bytes);
    memset(image, (int)f.erased_value, SLOTS * f.slot_bytes);
    firn_header first, second;
    status = fill_slot(&r, &f, r.plan, public_key, image, &first);
    if (status == FIRNC_EXIT_OK && r.second != NULL)
        status = fill_slot(&r, &f, r.second, public_key, image + f.slot_bytes, &second);
    if (status == FIRNC_EXIT_OK && r.second != NULL)
        status = compare(&r, &first, &second);
    if (status != FIRNC_EXIT_OK)
        return status;
    if (!firnc_file_write(r.output, image, SLOTS * f.slot_bytes))
        return FIRNC_EXIT_WRONG;
    printf("%s: %" PRIu64 " bytes: %u slots of %" PRIu64 " bytes, each with room for a plan of %" PRIu64 "\n",
           firnc_printable(r.output), SLOTS * f.slot_bytes, (unsigned)SLOTS, f.slot_bytes, f.layout.trailer);
    return FIRNC_EXIT_OK;
}

const firnc_command firnc_command_image = {
    .words = {.name = "image",
              .forms = {"PLAN --pub PUB --slot-bytes N -o FILE [options]"},
              .text = "make the flash image of a device's two slots for plans"},
    .run = image_command,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
};
