/* A plan in the forms that compilers, flash tools and linkers take: a C array, Intel HEX, and an ELF file whose one
 * section is the plan. All hold the bytes that a device reads: the plan without its report. */
#include <stdio.h>
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/export.h"
#include "compiler/emit/plan_file.h"
#include "plan/bytes.h"
#include "plan/errors.h"

/* Reads a plan that a device would take, its signature apart, for which the key would be needed. It has `room` bytes
 * from the address on. */
static int read_image(const char *name, uint32_t address, uint64_t room, firnc_bytes *image) {
    firnc_plan_file checked;
    if (!firnc_plan_read(name, image))
        return FIRNC_EXIT_WRONG;
    int error = firnc_plan_check(image, NULL, 0, &checked);
    if (error == FIRN_OK && checked.header.algorithm == FIRN_ALGORITHM_NONE)
        error = FIRN_ERROR_UNSIGNED;
    if (error != FIRN_OK) {
        firnc_plan_refuse(name, image, error);
        return FIRNC_EXIT_REFUSED;
    }
    image->count = checked.header.constants_offset + checked.header.constants_bytes;
    if (image->count > room) {
        firnc_say("firnc: %s: %llu bytes at 0x%llx do not fit into 32 bits of address; give a lower --address, or make "
                  "the plan smaller",
                  name, (unsigned long long)image->count, (unsigned long long)address);
        return FIRNC_EXIT_WRONG;
    }
    return FIRNC_EXIT_OK;
}

/* --- C ------------------------------------------------------------------------------------------------------------ */

int firnc_export_array(const char *plan, const char *output) {
    firnc_bytes image;
    const int status = read_image(plan, 0, UINT32_MAX, &image);
    if (status != FIRNC_EXIT_OK)
        return status;
    firnc_growing_text text = {0};
    const unsigned long long bytes = image.count;
    const char *begin = firnc_format("/* A plan, without its report. Written by firnc export; do not change. */\n"
                                     "#include <stdint.h>\n\n"
                                     "extern const uint8_t firn_plan_region[%llu];\n"
                                     "extern const uint32_t firn_plan_bytes;\n"
                                     "const uint32_t firn_plan_bytes = %llu;\n"
                                     "_Alignas(%u) const uint8_t firn_plan_region[%llu] = {\n",
                                     bytes, bytes, (unsigned)FIRNC_ALIGNMENT, bytes);
    firnc_text_add(&text, begin, strlen(begin));
    firnc_export_add_bytes(&text, image.data, image.count);
    firnc_text_add(&text, "};\n", 3);
    return firnc_export_write(output, text.text, text.length);
}

/* --- Intel HEX ---------------------------------------------------------------------------------------------------- */

enum { HEX_DATA = 0, HEX_END = 1, HEX_UPPER_ADDRESS = 4, HEX_LINE_BYTES = 16 };

/* ":", count, address, type, bytes, and the byte that makes the sum of all 0. */
static void add_record(firnc_growing_text *to, uint8_t type, uint32_t address, const uint8_t *bytes, uint32_t count) {
    uint8_t record[4 + HEX_LINE_BYTES + 1] = {(uint8_t)count, (uint8_t)(address >> 8), (uint8_t)address, type};
    uint8_t sum = 0;
    if (count > 0)
        memcpy(record + 4, bytes, count);
    for (uint32_t i = 0; i < 4 + count; i++)
        sum = (uint8_t)(sum + record[i]);
    record[4 + count] = (uint8_t)-sum;
    char line[2 * sizeof record + 3] = ":";
    for (size_t i = 0; i < 5 + count; i++)
        snprintf(line + 1 + 2 * i, 3, "%02X", (unsigned)record[i]);
    firnc_text_add(to, line, 1 + 2 * (5 + count));
    firnc_text_add(to, "\n", 1);
}

int firnc_export_hex(const char *plan, uint32_t address, const char *output) {
    firnc_bytes image;
    const int status = read_image(plan, address, (UINT64_C(1) << 32) - address, &image);
    if (status != FIRNC_EXIT_OK)
        return status;
    firnc_growing_text text = {0};
    /* The address is a multiple of 64, so no line crosses 64 KiB. */
    for (uint64_t at = 0; at < image.count; at += HEX_LINE_BYTES) {
        const uint32_t place = address + (uint32_t)at;
        const uint64_t left = image.count - at;
        if (at == 0 || (place & 0xffff) == 0) {
            const uint8_t upper[2] = {(uint8_t)(place >> 24), (uint8_t)(place >> 16)};
            add_record(&text, HEX_UPPER_ADDRESS, 0, upper, sizeof upper);
        }
        add_record(&text, HEX_DATA, place & 0xffff, image.data + at,
                   left < HEX_LINE_BYTES ? (uint32_t)left : HEX_LINE_BYTES);
    }
    add_record(&text, HEX_END, 0, NULL, 0);
    return firnc_export_write(output, text.text, text.length);
}

/* --- ELF ---------------------------------------------------------------------------------------------------------- */

/* Of the ELF specification, and of its supplements for Arm and RISC-V. */
enum {
    ELF_HEADER = 52,
    ELF_SEGMENT = 32,
    ELF_SECTION = 40,
    ELF_SYMBOL = 16,
    ELF_RELOCATABLE = 1,
    ELF_EXECUTABLE = 2,
    ELF_LOAD = 1,
    ELF_READ = 4,
    ELF_PROGRAM_BITS = 1,
    ELF_SYMBOLS = 2,
    ELF_STRINGS = 3,
    ELF_ALLOCATED = 2,
    ELF_GLOBAL_OBJECT = 0x11,
    ELF_GLOBAL = 0x10,
    ELF_ARM = 40,
    ELF_RISCV = 243,
    ELF_ARM_EABI5 = 0x05000000,
    PLAN_AT = 128, /* in the file: behind both headers, aligned as the plan */
    PLAN_SECTION = 1,
    SYMBOLS_SECTION = 2,
    STRINGS_SECTION = 3,
    SECTIONS = 4,
    SYMBOLS = 3,       /* the first is the null symbol */
    BESIDE_PLAN = 4096 /* bytes of the file that are not the plan, at most */
};

/* Names of sections and symbols, in one table. */
static const char names[] = "\0.firn_plan\0.symtab\0.strtab\0firn_plan_region\0firn_plan_region_end";
enum { NAME_PLAN = 1, NAME_SYMBOLS = 12, NAME_STRINGS = 20, NAME_BEGIN = 28, NAME_END = 45 };

typedef struct elf {
    uint8_t *bytes;
    bool is_arm, is_placed;
    uint32_t address;
    uint64_t plan_bytes, symbols_at, names_at, sections_at, total;
} elf;

static void store16(uint8_t *at, uint16_t value) {
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static void store_words(uint8_t *at, const uint32_t *words, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        firn_store32(at + 4 * (size_t)i, words[i]);
}

static void put_header(const elf *e) {
    static const uint8_t identity[] = {0x7f, 'E', 'L', 'F', 1, 1, 1}; /* 32 bits, little-endian, version 1 */
    uint8_t *at = e->bytes;
    memcpy(at, identity, sizeof identity);
    store16(at + 16, e->is_placed ? ELF_EXECUTABLE : ELF_RELOCATABLE);
    store16(at + 18, e->is_arm ? ELF_ARM : ELF_RISCV);
    firn_store32(at + 20, 1);
    firn_store32(at + 28, e->is_placed ? ELF_HEADER : 0);
    firn_store32(at + 32, (uint32_t)e->sections_at);
    firn_store32(at + 36, e->is_arm ? ELF_ARM_EABI5 : 0);
    store16(at + 40, ELF_HEADER);
    store16(at + 42, e->is_placed ? ELF_SEGMENT : 0);
    store16(at + 44, e->is_placed ? 1 : 0);
    store16(at + 46, ELF_SECTION);
    store16(at + 48, SECTIONS);
    store16(at + 50, STRINGS_SECTION);
}

static void put_segment(const elf *e) {
    const uint32_t count = (uint32_t)e->plan_bytes;
    const uint32_t words[] = {ELF_LOAD, PLAN_AT, e->address, e->address, count, count, ELF_READ, FIRNC_ALIGNMENT};
    store_words(e->bytes + ELF_HEADER, words, sizeof words / sizeof *words);
}

static void put_section(const elf *e, uint32_t number, const uint32_t words[10]) {
    store_words(e->bytes + e->sections_at + (uint64_t)number * ELF_SECTION, words, 10);
}

static void put_sections(const elf *e) {
    const uint32_t symbols = (uint32_t)e->symbols_at, strings = (uint32_t)e->names_at;
    put_section(e, PLAN_SECTION,
                (const uint32_t[]){NAME_PLAN, ELF_PROGRAM_BITS, ELF_ALLOCATED, e->address, PLAN_AT,
                                   (uint32_t)e->plan_bytes, 0, 0, FIRNC_ALIGNMENT, 0});
    put_section(e, SYMBOLS_SECTION, /* 1: the first symbol that is global */
                (const uint32_t[]){NAME_SYMBOLS, ELF_SYMBOLS, 0, 0, symbols, SYMBOLS * ELF_SYMBOL, STRINGS_SECTION, 1,
                                   4, ELF_SYMBOL});
    put_section(e, STRINGS_SECTION,
                (const uint32_t[]){NAME_STRINGS, ELF_STRINGS, 0, 0, strings, sizeof names, 0, 0, 1, 0});
}

static void put_symbol(const elf *e, uint32_t number, uint32_t name, uint32_t value, uint32_t count, uint8_t kind) {
    uint8_t *at = e->bytes + e->symbols_at + (uint64_t)number * ELF_SYMBOL;
    store_words(at, (const uint32_t[]){name, e->address + value, count}, 3);
    at[12] = kind;
    store16(at + 14, PLAN_SECTION);
}

int firnc_export_elf(const char *plan, bool is_arm, const uint32_t *address, const char *output) {
    elf e = {.is_arm = is_arm, .is_placed = address != NULL, .address = address != NULL ? *address : 0};
    firnc_bytes image;
    /* The symbol of the end and the offsets in the file have 32 bits, too. */
    const uint32_t room = UINT32_MAX - (e.address > BESIDE_PLAN ? e.address : BESIDE_PLAN);
    const int status = read_image(plan, e.address, room, &image);
    if (status != FIRNC_EXIT_OK)
        return status;
    e.plan_bytes = image.count;
    e.symbols_at = PLAN_AT + (image.count + 3) / 4 * 4;
    e.names_at = e.symbols_at + (uint64_t)SYMBOLS * ELF_SYMBOL;
    e.sections_at = e.names_at + (sizeof names + 3) / 4 * 4;
    e.total = e.sections_at + (uint64_t)SECTIONS * ELF_SECTION;
    e.bytes = firnc_allocate_aligned(e.total);
    memset(e.bytes, 0, e.total);
    put_header(&e);
    if (e.is_placed)
        put_segment(&e);
    memcpy(e.bytes + PLAN_AT, image.data, image.count);
    put_symbol(&e, 1, NAME_BEGIN, 0, (uint32_t)e.plan_bytes, ELF_GLOBAL_OBJECT);
    put_symbol(&e, 2, NAME_END, (uint32_t)e.plan_bytes, 0, ELF_GLOBAL);
    memcpy(e.bytes + e.names_at, names, sizeof names);
    put_sections(&e);
    return firnc_export_write(output, e.bytes, e.total);
}
