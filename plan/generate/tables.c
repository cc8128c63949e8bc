/* Writes tables.h and tables.c: the schema as data for firn_fb_verify. */
#include <string.h>

#include "plan/generate/output.h"
#include "plan/generate/program.h"

/* A row of firn_fb_inlines. Types with the same rules share a row. */
struct inline_row {
    const struct object *object;
    const struct enumeration *enumeration;
    enum base_type base;
    bool finite;
    unsigned first_check, check_count;
};

struct check_row {
    unsigned offset;
    const char *kind;
    size_t most;
};

static struct inline_row inline_rows[FIELDS_MAX];
static struct check_row check_rows[FIELDS_MAX];
static unsigned inline_row_count, check_row_count;

/* What a row of firn_fb_fields has bits for (plan/checks/verifier.h). */
enum { TYPES_MAX = 32, VALUES_MAX = 64 };

/* The limits of vectors and strings, less 1. */
static unsigned long limit_rows[VALUES_MAX];
static unsigned limit_row_count;

/* The defaults of scalars, as bits. */
static uint64_t absent_rows[VALUES_MAX];
static unsigned absent_row_count;

static void add_check(struct inline_row *row, unsigned offset, const char *kind, size_t most) {
    if (check_row_count == UINT8_MAX)
        refuse("checks", "the schema has too many");
    check_rows[check_row_count++] = (struct check_row){offset, kind, most};
    row->check_count++;
}

static void add_scalar_check(struct inline_row *row, const struct field *field, unsigned offset) {
    enum base_type base = innermost(field);
    if (field->enumeration != NULL)
        add_check(row, offset, field->enumeration->base == BASE_UINT8 ? "FIRN_FB_CHECK_BYTE" : "FIRN_FB_CHECK_SHORT",
                  field->enumeration->value_count - 1);
    else if (base == BASE_BOOL)
        add_check(row, offset, "FIRN_FB_CHECK_BYTE", 1);
    else if (field->finite)
        add_check(row, offset, base == BASE_FLOAT ? "FIRN_FB_CHECK_FLOAT" : "FIRN_FB_CHECK_DOUBLE", 0);
}

static unsigned inline_row_of(const struct field *field) {
    for (unsigned i = 0; i < inline_row_count; i++)
        if (inline_rows[i].object == field->object && inline_rows[i].enumeration == field->enumeration &&
            inline_rows[i].base == innermost(field) && inline_rows[i].finite == field->finite)
            return i;
    struct inline_row *row = &inline_rows[inline_row_count];
    *row = (struct inline_row){field->object, field->enumeration, innermost(field), field->finite, check_row_count, 0};
    if (field->object == NULL)
        add_scalar_check(row, field, 0);
    else
        for (size_t i = 0; i < field->object->field_count; i++)
            add_scalar_check(row, &field->object->fields[i], field->object->fields[i].offset);
    return inline_row_count++;
}

/* The row of firn_fb_limits for the limit of a vector or string. */
static unsigned limit_row_of(const struct field *field) {
    if (field->max > 65536)
        refuse("plan/plan.fbs", "give every vector a limit of at most 65536");
    const unsigned long most = field->max - 1;
    unsigned i = 0;
    while (i < limit_row_count && limit_rows[i] != most)
        i++;
    if (i == VALUES_MAX)
        refuse("limits", "the schema has more than a row of firn_fb_fields can name");
    if (i == limit_row_count)
        limit_rows[limit_row_count++] = most;
    return i;
}

/* The row of firn_fb_absents for the default of a scalar. */
static unsigned absent_row_of(const struct field *field) {
    const uint64_t bits = default_bits(field);
    unsigned i = 0;
    while (i < absent_row_count && absent_rows[i] != bits)
        i++;
    if (i == VALUES_MAX)
        refuse("defaults", "the schema has more than a row of firn_fb_fields can name");
    if (i == absent_row_count)
        absent_rows[absent_row_count++] = bits;
    return i;
}

static void put_field_row(const struct field *field) {
    const char *kind = "INLINE";
    unsigned type = 0;
    if (field->base == BASE_STRING) {
        kind = "STRING";
    } else if (field->object != NULL && !field->object->is_struct) {
        kind = field->base == BASE_VECTOR ? "TABLE_VECTOR" : "TABLE";
        type = field->object->number;
    } else {
        kind = field->base == BASE_VECTOR ? "INLINE_VECTOR" : "INLINE";
        type = inline_row_of(field);
    }
    if (type >= TYPES_MAX)
        refuse("types", "the schema has more than a row of firn_fb_fields can name");
    const char *flags = field->required && field->ascii ? "FIRN_FB_FLAG_REQUIRED | FIRN_FB_FLAG_ASCII"
                        : field->required               ? "FIRN_FB_FLAG_REQUIRED"
                        : field->ascii                  ? "FIRN_FB_FLAG_ASCII"
                                                        : "0";
    put("    /* %s */ {FIRN_FB_KIND_%s, %s, %u, %u},\n", field->name, kind, flags, type,
        field->max == 0 ? absent_row_of(field) : limit_row_of(field));
}

static void put_field_rows(void) {
    put("\nconst firn_fb_field_rule firn_fb_fields[] = {\n");
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i].is_struct)
            continue;
        put("    /* --- %s */\n", objects[i].name);
        for (size_t j = 0; j < objects[i].field_count; j++)
            put_field_row(&objects[i].fields[j]);
    }
    put("};\n");
}

/* Begins the defaults with zeros for the largest struct that a table holds, or for a scalar. */
static void begin_absents(void) {
    size_t bytes = sizeof absent_rows[0];
    for (size_t i = 0; i < object_count; i++)
        for (size_t j = 0; j < objects[i].field_count && !objects[i].is_struct; j++) {
            const struct field *field = &objects[i].fields[j];
            if (field->base == BASE_OBJECT && field->object->is_struct && field->object->bytes > bytes)
                bytes = field->object->bytes;
        }
    absent_row_count = (unsigned)((bytes - 1) / sizeof absent_rows[0] + 1);
    if (absent_row_count >= VALUES_MAX)
        refuse("structs", "a table holds one that is too large for firn_fb_absents");
}

static void put_values(void) {
    put("\nconst uint16_t firn_fb_limits[] = {");
    for (unsigned i = 0; i < limit_row_count; i++)
        put("%s%lu", i > 0 ? ", " : "", limit_rows[i]);
    put("};\n\nconst uint64_t firn_fb_absents[] = {");
    for (unsigned i = 0; i < absent_row_count; i++)
        put("%sUINT64_C(0x%llx)", i > 0 ? ", " : "", (unsigned long long)absent_rows[i]);
    put("};\n");
}

static void put_table_rows(void) {
    size_t first = 0;
    put("\nconst firn_fb_table_rule firn_fb_tables[] = {\n");
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i].is_struct)
            continue;
        put("    /* %s */ {%zu, %zu},\n", objects[i].name, first, objects[i].field_count);
        first += objects[i].field_count;
    }
    put("};\n");
}

static void put_inline_rows(void) {
    put("\nconst firn_fb_inline_rule firn_fb_inlines[] = {\n");
    for (unsigned i = 0; i < inline_row_count; i++) {
        const struct inline_row *row = &inline_rows[i];
        const char *name = row->object != NULL        ? row->object->name
                           : row->enumeration != NULL ? row->enumeration->name
                                                      : scalar_of(row->base)->name;
        unsigned bytes = row->object != NULL ? row->object->bytes : scalar_of(row->base)->bytes;
        put("    /* %s%s */ {%u, %u, %u, %u},\n", name, row->finite ? ", finite" : "", bytes,
            row->object != NULL ? row->object->alignment : bytes, row->first_check, row->check_count);
    }
    put("};\n\nconst firn_fb_check firn_fb_checks[] = {\n");
    for (unsigned i = 0; i < check_row_count; i++)
        put("    {%u, %s, %zu},\n", check_rows[i].offset, check_rows[i].kind, check_rows[i].most);
    put("};\n");
}

void write_tables(const uint8_t hash[32]) {
    begin_file("tables.c", "What the schema says, as data for plan/checks/verifier.c. Freestanding.");
    put("#include \"plan/generated/tables.h\"\n\n#include \"plan/generated/reader.h\"\n");
    put("\nconst uint8_t firn_schema_hash[32] = {");
    for (size_t i = 0; i < 32; i++)
        put("%s0x%02x,", i % 16 == 0 ? "\n    " : " ", hash[i]);
    put("\n};\n");
    begin_absents();
    put_field_rows();
    put_values();
    put_table_rows();
    put_inline_rows();
    end_file();

    begin_file("tables.h", "What the schema says, as data for plan/checks/verifier.c. Freestanding.");
    put("#ifndef FIRN_PLAN_GENERATED_TABLES_H\n#define FIRN_PLAN_GENERATED_TABLES_H\n\n");
    put("#include \"plan/checks/verifier.h\"\n\n");
    put("enum { FIRN_FB_ROOT = %u, FIRN_FB_DEPTH = %u, FIRN_FB_IDENTIFIER = 0x%02x%02x%02x%02x };\n\n", root->number,
        depth_of(root, 0), identifier[3], identifier[2], identifier[1], identifier[0]);
    put("extern const firn_fb_field_rule firn_fb_fields[];\nextern const firn_fb_table_rule firn_fb_tables[];\n");
    put("extern const uint16_t firn_fb_limits[];\nextern const uint64_t firn_fb_absents[];\n");
    put("extern const firn_fb_inline_rule firn_fb_inlines[];\nextern const firn_fb_check "
        "firn_fb_checks[];\n\n#endif\n");
    end_file();
}
