/* The layout of a slot and its records. When a record or a mark is written, and what follows from it, is not decided
 * here. */
#include "plan/slots/layout.h"

#include <string.h>

#include "plan/bytes.h"

enum { RECORD_VERSION = 1 };
enum { AT_VERSION = 8, AT_PLAN_BYTES = 16, AT_PLAN_HASH = 24, AT_CRC = 60 };

static const char *const magics[] = {[FIRN_SLOT_RECEIPT] = "FIRNRECV", [FIRN_SLOT_COMMIT] = "FIRNSLOT"};

bool firn_slot_lay_out(uint64_t capacity, uint32_t program_unit, uint32_t erase_unit, firn_slot_layout *layout) {
    *layout = (firn_slot_layout){0};
    if (program_unit == 0 || program_unit > FIRN_SLOT_UNIT_MAX || (program_unit & (program_unit - 1)) != 0 ||
        erase_unit == 0 || erase_unit % program_unit != 0 || capacity % erase_unit != 0)
        return false;
    const uint32_t record = (uint32_t)firn_round_up(FIRN_SLOT_RECORD_BYTES, program_unit);
    const uint64_t trailer = firn_round_up(2 * record + (FIRN_SLOT_TRIALS + 1) * program_unit, erase_unit);
    if (capacity <= trailer)
        return false;
    layout->trailer = layout->receipt = capacity - trailer;
    layout->commit = layout->receipt + record;
    layout->trials = layout->commit + record;
    layout->confirmed = layout->trials + (uint64_t)FIRN_SLOT_TRIALS * program_unit;
    layout->unit = program_unit;
    layout->record_bytes = record;
    return true;
}

uint32_t firn_crc32(uint32_t before, const uint8_t *bytes, size_t count) {
    static const uint32_t of_nibble[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
                                           0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                           0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
    uint32_t crc = ~before;
    for (size_t i = 0; i < count; i++) {
        crc = crc >> 4 ^ of_nibble[(crc ^ bytes[i]) & 15];
        crc = crc >> 4 ^ of_nibble[(crc ^ bytes[i] >> 4) & 15];
    }
    return ~crc;
}

void firn_slot_record_encode(firn_slot_record_kind kind, const firn_slot_record *record,
                             uint8_t bytes[FIRN_SLOT_RECORD_BYTES]) {
    memset(bytes, 0, FIRN_SLOT_RECORD_BYTES);
    memcpy(bytes, magics[kind], 8);
    firn_store32(bytes + AT_VERSION, RECORD_VERSION);
    firn_store64(bytes + AT_PLAN_BYTES, record->plan_bytes);
    memcpy(bytes + AT_PLAN_HASH, record->plan_hash, sizeof record->plan_hash);
    firn_store32(bytes + AT_CRC, firn_crc32(0, bytes, AT_CRC));
}

bool firn_slot_record_decode(firn_slot_record_kind kind, const uint8_t bytes[FIRN_SLOT_RECORD_BYTES],
                             firn_slot_record *record) {
    *record = (firn_slot_record){0};
    if (memcmp(bytes, magics[kind], 8) != 0 || firn_load32(bytes + AT_VERSION) != RECORD_VERSION ||
        firn_load32(bytes + AT_CRC) != firn_crc32(0, bytes, AT_CRC))
        return false;
    record->plan_bytes = firn_load64(bytes + AT_PLAN_BYTES);
    memcpy(record->plan_hash, bytes + AT_PLAN_HASH, sizeof record->plan_hash);
    return true;
}
