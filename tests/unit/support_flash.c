/* Simulated NOR flash. A broken rule of flash fails the test at once: a unit that is not aligned, a byte programmed
 * twice between two erases, an access outside the part. */
#include "tests/unit/support_flash.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/support_test.h"

void support_flash_make(support_flash *flash, uint64_t capacity, uint32_t program_unit, uint32_t erase_unit,
                        uint8_t erased_value) {
    assert_true(program_unit != 0 && erase_unit % program_unit == 0 && capacity % erase_unit == 0);
    *flash = (support_flash){.capacity = capacity,
                             .program_unit = program_unit,
                             .erase_unit = erase_unit,
                             .erased_value = erased_value,
                             .garbage = 1};
    flash->bytes = aligned_alloc(FIRN_BLOCK_ALIGNMENT,
                                 (capacity + FIRN_BLOCK_ALIGNMENT - 1) / FIRN_BLOCK_ALIGNMENT * FIRN_BLOCK_ALIGNMENT);
    flash->programmed = calloc(capacity, sizeof *flash->programmed);
    flash->unreadable = calloc(capacity, sizeof *flash->unreadable);
    flash->erases = calloc(capacity / erase_unit, sizeof *flash->erases);
    assert_true(flash->bytes != NULL && flash->programmed != NULL && flash->unreadable != NULL &&
                flash->erases != NULL);
    memset(flash->bytes, erased_value, capacity);
}

void support_flash_free(support_flash *flash) {
    free(flash->bytes);
    free(flash->programmed);
    free(flash->unreadable);
    free(flash->erases);
    *flash = (support_flash){0};
}

void support_flash_copy(support_flash *copy, const support_flash *flash) {
    assert_true(copy->capacity == flash->capacity && copy->program_unit == flash->program_unit &&
                copy->erase_unit == flash->erase_unit && copy->erased_value == flash->erased_value);
    memcpy(copy->bytes, flash->bytes, flash->capacity);
    memcpy(copy->programmed, flash->programmed, flash->capacity * sizeof *flash->programmed);
    memcpy(copy->unreadable, flash->unreadable, flash->capacity * sizeof *flash->unreadable);
    memcpy(copy->erases, flash->erases, flash->capacity / flash->erase_unit * sizeof *flash->erases);
    copy->operations = 0;
    copy->syncs = 0;
    support_flash_power_on(copy);
}

void support_flash_fail(support_flash *flash, uint64_t at, support_flash_fault fault) {
    flash->fault_at = flash->operations + at;
    flash->fault = fault;
}

void support_flash_power_on(support_flash *flash) {
    flash->off = false;
    flash->fault_at = 0;
}

bool support_flash_operation(support_flash *flash, bool *half) {
    *half = false;
    if (flash->off)
        return false;
    if (++flash->operations != flash->fault_at)
        return true;
    flash->off = flash->fault != SUPPORT_FLASH_REFUSED;
    *half = flash->fault != SUPPORT_FLASH_REFUSED && flash->fault != SUPPORT_FLASH_CUT;
    return false;
}

static uint32_t next_garbage(support_flash *flash) {
    flash->garbage = flash->garbage * 1664525u + 1013904223u;
    return flash->garbage >> 8;
}

/* Leaves a unit as a power cut in the middle does. `after` is what it would have become. Bytes that read as erased
 * afterwards may be programmed, others not before the next erase. */
static void tear(support_flash *flash, uint64_t first, uint32_t count, const uint8_t *after) {
    uint8_t *bytes = flash->bytes + first;
    if (flash->fault == SUPPORT_FLASH_PREFIX)
        memcpy(bytes, after, 1 + next_garbage(flash) % count);
    else
        for (uint32_t i = 0; i < count; i++)
            bytes[i] = (uint8_t)next_garbage(flash);
    for (uint32_t i = 0; i < count; i++)
        flash->programmed[first + i] = bytes[i] != flash->erased_value;
    if (flash->fault == SUPPORT_FLASH_UNREADABLE) {
        memset(flash->programmed + first, true, count);
        memset(flash->unreadable + first, true, count);
    }
}

static bool inside(const support_flash_part *part, uint64_t offset, uint64_t count) {
    return offset <= part->storage.capacity && count <= part->storage.capacity - offset;
}

static int flash_read(void *context, uint64_t offset, void *bytes, uint32_t count) {
    const support_flash_part *part = context;
    assert_true(inside(part, offset, count));
    if (part->flash->off)
        return FIRN_ERROR_STORAGE;
    for (uint32_t i = 0; i < count; i++)
        if (part->flash->unreadable[part->first + offset + i])
            return FIRN_ERROR_STORAGE;
    memcpy(bytes, part->flash->bytes + part->first + offset, count);
    return 0;
}

/* Programs one unit. Returns false if it was not, or not completely. */
static bool program_unit(support_flash *flash, uint64_t first, const uint8_t *bytes) {
    bool half;
    const bool whole = support_flash_operation(flash, &half);
    if (!whole && !half)
        return false;
    for (uint32_t i = 0; i < flash->program_unit; i++)
        assert_false(flash->programmed[first + i]);
    if (half) {
        tear(flash, first, flash->program_unit, bytes);
        return false;
    }
    memcpy(flash->bytes + first, bytes, flash->program_unit);
    memset(flash->programmed + first, true, flash->program_unit);
    return true;
}

static int flash_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    const support_flash_part *part = context;
    support_flash *flash = part->flash;
    assert_true(inside(part, offset, count) && count != 0);
    assert_true(offset % flash->program_unit == 0 && count % flash->program_unit == 0);
    for (uint32_t i = 0; i < count; i += flash->program_unit)
        if (!program_unit(flash, part->first + offset + i, (const uint8_t *)bytes + i))
            return FIRN_ERROR_STORAGE;
    return 0;
}

/* Erases one unit. Returns false if it was not, or not completely. */
static bool erase_unit(support_flash *flash, uint64_t first) {
    bool half;
    const bool whole = support_flash_operation(flash, &half);
    if (!whole && !half)
        return false;
    flash->erases[first / flash->erase_unit]++;
    if (whole) {
        memset(flash->bytes + first, flash->erased_value, flash->erase_unit);
        memset(flash->programmed + first, false, flash->erase_unit);
        memset(flash->unreadable + first, false, flash->erase_unit);
        return true;
    }
    uint8_t *erased = malloc(flash->erase_unit);
    assert_non_null(erased);
    memset(erased, flash->erased_value, flash->erase_unit);
    tear(flash, first, flash->erase_unit, erased);
    free(erased);
    return false;
}

static int flash_erase(void *context, uint64_t offset, uint64_t count) {
    const support_flash_part *part = context;
    support_flash *flash = part->flash;
    assert_true(inside(part, offset, count) && count != 0);
    assert_true(offset % flash->erase_unit == 0 && count % flash->erase_unit == 0);
    for (uint64_t i = 0; i < count; i += flash->erase_unit)
        if (!erase_unit(flash, part->first + offset + i))
            return FIRN_ERROR_STORAGE;
    return 0;
}

static int flash_sync(void *context) {
    support_flash *flash = ((const support_flash_part *)context)->flash;
    flash->syncs++;
    return flash->off ? FIRN_ERROR_STORAGE : 0;
}

void support_flash_part_make(support_flash_part *part, support_flash *flash, uint64_t first, uint64_t bytes) {
    assert_true(first % flash->erase_unit == 0 && bytes % flash->erase_unit == 0);
    assert_true(first <= flash->capacity && bytes <= flash->capacity - first);
    *part = (support_flash_part){.flash = flash,
                                 .first = first,
                                 .storage = {.program_unit = flash->program_unit,
                                             .erase_unit = flash->erase_unit,
                                             .capacity = bytes,
                                             .erased_value = flash->erased_value,
                                             .read = flash_read,
                                             .program = flash_program,
                                             .erase = flash_erase,
                                             .sync = flash_sync}};
}

const uint8_t *support_flash_mapped(const support_flash_part *part) {
    return part->flash->bytes + part->first;
}

uint32_t support_flash_most_erases(const support_flash *flash) {
    uint32_t most = 0;
    for (uint64_t i = 0; i < flash->capacity / flash->erase_unit; i++)
        most = flash->erases[i] > most ? flash->erases[i] : most;
    return most;
}
