/* Writes the contents of plan/ops.def as code and as a page: operands.h (names of positions), op_table.c (the columns),
 * op_words.c (the names, which only reports need), op_since.c (the versions, which only the compiler needs) and
 * OPS.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/generate/op_rows.h"
#include "plan/generate/output.h"
#include "plan/generate/program.h"

/* --- operands.h --------------------------------------------------------------------------------------------------- */

static void put_position(const struct op_row *row, const char *kind, const char *name, unsigned position) {
    put("    FIRN_");
    put_upper(row->source->name);
    put("_%s", kind);
    put_upper(name);
    put(" = %u,\n", position);
}

static unsigned larger(unsigned a, unsigned b) {
    return a > b ? a : b;
}

unsigned newest_of_ops(const struct op_row *rows, size_t count) {
    unsigned newest = 0;
    for (const struct op_row *row = rows; row < rows + count; row++) {
        newest = larger(newest, row->source->columns.since);
        for (unsigned i = 0; i < row->input_count; i++)
            newest = larger(newest, row->inputs[i].since);
        for (unsigned i = 0; i < row->output_count; i++)
            newest = larger(newest, row->outputs[i].since);
        for (unsigned i = 0; i < row->integer_count; i++)
            newest = larger(newest, row->integers[i].since);
        for (unsigned i = 0; i < row->real_count; i++)
            newest = larger(newest, row->reals[i].since);
    }
    return newest;
}

/* Returns the number of attributes that a plan may leave out. */
static unsigned defaults_of(const struct op_row *rows, size_t count) {
    unsigned defaults = 0;
    for (const struct op_row *row = rows; row < rows + count; row++)
        defaults += row->integer_count - row->integers_min + row->real_count - row->reals_min;
    return defaults;
}

static void write_positions(const struct op_row *rows, size_t count) {
    begin_file_from("operands.h", "Where each operand and attribute of an op stands, by its name.", "plan/ops.def");
    put("#ifndef FIRN_PLAN_GENERATED_OPERANDS_H\n#define FIRN_PLAN_GENERATED_OPERANDS_H\n\n");
    put("/* One enumeration, so that positions of several ops may be compared. */\nenum {\n    FIRN_OPS = %zu,\n"
        "    FIRN_OP_DEFAULTS = %u, /* attributes that a plan may leave out */\n",
        count, defaults_of(rows, count));
    for (const struct op_row *row = rows; row < rows + count; row++) {
        put("\n");
        for (unsigned i = 0; i < row->input_count; i++)
            put_position(row, "IN_", row->inputs[i].name, i);
        for (unsigned i = 0; i < row->output_count; i++)
            put_position(row, "OUT_", row->outputs[i].name, i);
        for (unsigned i = 0; i < row->integer_count; i++)
            put_position(row, "", row->integers[i].name, i);
        for (unsigned i = 0; i < row->real_count; i++)
            put_position(row, "", row->reals[i].name, i);
        for (unsigned i = 0; i < row->reduction_count; i++)
            put_position(row, "REDUCTION_", row->reductions[i].name, i);
    }
    put("};\n\n#endif\n");
    end_file();
}

/* --- op_table.c --------------------------------------------------------------------------------------------------- */

/* Equal sequences of operands or ranges are stored once, each in an array of its own, so that a firmware is linked with
 * only the sequences of its ops. */
enum { SEQUENCES_MAX = 512, ENTRY_BYTES = 256 };

struct sequences {
    const char *type, *name, *format;
    uint64_t hashes[SEQUENCES_MAX];
    unsigned count;
};

/* Bits of a sequence of entries (FNV-1a). */
static uint64_t hash_of(char (*sequence)[ENTRY_BYTES], unsigned count) {
    const unsigned char *bytes = (const unsigned char *)sequence;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ count;
    for (size_t i = 0; i < count * sizeof *sequence; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* The number of a sequence. Writes its array if it has not been written. */
static unsigned put_sequence(struct sequences *list, char (*sequence)[ENTRY_BYTES], unsigned count) {
    const uint64_t hash = hash_of(sequence, count);
    for (unsigned i = 0; i < list->count; i++)
        if (list->hashes[i] == hash)
            return i;
    if (list->count == SEQUENCES_MAX)
        refuse("plan/ops.def", "too many sequences of operands");
    put("static const %s %s_%u[] = {\n", list->type, list->name, list->count);
    for (unsigned i = 0; i < count; i++)
        put(list->format, sequence[i]);
    put("};\n");
    list->hashes[list->count] = hash;
    return list->count++;
}

static void upper(const char *from, char *to) {
    for (; *from != '\0'; from++)
        *to++ = (char)(*from >= 'a' && *from <= 'z' ? *from - 'a' + 'A' : *from);
    *to = '\0';
}

static void describe_extent(const struct op_extent *extent, char *text, size_t room) {
    if (extent->letter)
        snprintf(text, room, "FIRN_EXTENT_LETTER + %u", extent->value);
    else
        snprintf(text, room, "%u", extent->value);
}

static void describe_form(const struct op_operand *operand, char *text, size_t room) {
    char first[32] = "0", second[32] = "0";
    if (operand->extent_count > 0)
        describe_extent(&operand->extents[0], first, sizeof first);
    if (operand->extent_count > 1)
        describe_extent(&operand->extents[1], second, sizeof second);
    else if (operand->extent_count == 1 && !operand->extents[0].letter)
        snprintf(second, sizeof second, "%u", operand->extents[0].other);
    switch (operand->form) {
    case FORM_OWN:
        snprintf(text, room, ".form = FIRN_FORM_OWN");
        break;
    case FORM_ANY:
        snprintf(text, room, ".form = FIRN_FORM_ANY");
        break;
    case FORM_LIKE:
        snprintf(text, room, ".form = FIRN_FORM_LIKE, .a = %u", operand->like);
        break;
    case FORM_SUMS:
        snprintf(text, room, ".form = FIRN_FORM_SUMS, .a = %u", operand->like);
        break;
    case FORM_ROW_VALUES:
        snprintf(text, room, ".form = FIRN_FORM_ROW_VALUES");
        break;
    case FORM_ROWS:
        snprintf(text, room, ".form = FIRN_FORM_ROWS, .a = %s", first);
        break;
    case FORM_EXTENTS:
        snprintf(text, room, ".form = FIRN_FORM_%s, .a = %s, .b = %s", operand->extent_count == 1 ? "VECTOR" : "MATRIX",
                 first, second);
        break;
    }
}

/* float32, int32 and int64 are element types of the plan; "real" and "own" are rules of the table. */
static bool is_element_type(const char *type) {
    return strcmp(type, "real") != 0 && strcmp(type, "own") != 0;
}

static void describe_operand(const struct op_operand *operand, char entry[ENTRY_BYTES]) {
    char type[OP_NAME_BYTES], form[112];
    if (operand->changed != OP_NONE) {
        snprintf(entry, ENTRY_BYTES, ".type = FIRN_TYPE_OF_INPUT + %u, .form = FIRN_FORM_LIKE, .a = %u, .changed = %u",
                 operand->changed, operand->changed, operand->changed);
        return;
    }
    upper(operand->type, type);
    describe_form(operand, form, sizeof form);
    if (operand->type_of != OP_NONE)
        snprintf(type, sizeof type, "TYPE_OF_INPUT + %u", operand->type_of);
    snprintf(entry, ENTRY_BYTES, ".type = FIRN_%s%s, %s, .changed = FIRN_FRESH%s%s%s",
             operand->type_of == OP_NONE && !is_element_type(operand->type) ? "TYPE_" : "", type, form,
             operand->optional ? ", .optional = true" : "", operand->scratch ? ", .scratch = true" : "",
             operand->rounded ? ", .rounded = true" : "");
}

static unsigned put_operand_sequence(struct sequences *list, const struct op_row *row) {
    char sequence[2 * OP_OPERANDS_MAX][ENTRY_BYTES];
    memset(sequence, 0, sizeof sequence);
    for (unsigned i = 0; i < row->input_count; i++)
        describe_operand(&row->inputs[i], sequence[i]);
    for (unsigned i = 0; i < row->output_count; i++)
        describe_operand(&row->outputs[i], sequence[row->input_count + i]);
    return put_sequence(list, sequence, row->input_count + row->output_count);
}

static unsigned put_range_sequence(struct sequences *list, const struct op_row *row) {
    char sequence[2 * OP_ATTRIBUTES_MAX][ENTRY_BYTES], word[OP_NAME_BYTES];
    memset(sequence, 0, sizeof sequence);
    for (unsigned i = 0; i < row->integer_count + row->real_count; i++) {
        const bool real = i >= row->integer_count;
        upper((real ? &row->reals[i - row->integer_count] : &row->integers[i])->range, word);
        snprintf(sequence[i], ENTRY_BYTES, "FIRN_RANGE_%s", word);
    }
    return put_sequence(list, sequence, row->integer_count + row->real_count);
}

static unsigned in_place_of(const struct op_row *row) {
    unsigned bits = 0;
    for (unsigned i = 0; i < row->input_count; i++)
        bits |= (unsigned)row->inputs[i].reusable << i;
    return bits;
}

static const char *or_word(const char *word, const char *otherwise) {
    return word == NULL ? otherwise : word;
}

static void put_row(const struct op_row *row, unsigned operands, unsigned ranges) {
    const struct op_columns *columns = &row->source->columns;
    put("const firn_op_info firn_op_row_%s = {\n", row->source->name);
    put("    .code = %u, .operands = operands_%u,", row->source->code, operands);
    if (row->integer_count + row->real_count > 0)
        put(" .ranges = ranges_%u,", ranges);
    put(" .inputs = %u, .inputs_min = %u, .inputs_max = %u,\n", row->input_count, row->inputs_min, row->inputs_max);
    put("    .outputs = %u, .integers = %u, .reals = %u, .reductions = %u, .in_place = %u, .autocast = "
        "FIRN_AUTOCAST_%s,\n",
        row->output_count, row->integer_count, row->real_count, row->reduction_count, in_place_of(row),
        or_word(columns->autocast, "fixed"));
    put("    .outputs_min = %u, .integers_min = %u, .reals_min = %u,\n", row->outputs_min, row->integers_min,
        row->reals_min);
    put("    .pol = FIRN_POL_%s, .cost = FIRN_COST_%s, .begins = FIRN_BEGINS_%s, .gathers = %u, .metric = %u, "
        ".buffers = %u,\n",
        or_word(columns->pol, "none"), row->source->cost, or_word(columns->begins, "nothing"), columns->gathers,
        columns->metric, columns->buffers);
    put("    .reduced = %u, .inner = %u, .inner_flag = %u, .typed = %u, .factors = %u,\n", row->reduced, row->inner,
        row->inner_flag, row->typed, row->factors);
    put("    .index_operand = %u, .index_table = %u, .index_from_end = %u, .index_attribute = %u};\n",
        row->index_operand, row->index_table, row->index_from_end, row->index_attribute);
}

/* Defaults by ascending position, so that the attributes behind any number of given ones are filled in in one pass. */
static void put_defaults(const struct op_row *rows, size_t count) {
    put("\nconst firn_op_default firn_op_defaults[] = {\n");
    for (const struct op_row *row = rows; row < rows + count; row++) {
        for (unsigned i = row->integers_min; i < row->integer_count; i++)
            put("    {.code = %u, .position = %u, .integer = INT64_C(%s)},\n", row->source->code, i,
                row->integers[i].initial);
        for (unsigned i = row->reals_min; i < row->real_count; i++)
            put("    {.code = %u, .position = %u, .is_real = true, .real = %af},\n", row->source->code, i,
                (double)strtof(row->reals[i].initial, NULL));
    }
    put("    {.code = 0}, /* the end */\n};\n");
}

static void write_table(const struct op_row *rows, size_t count) {
    struct sequences operands = {.type = "firn_operand", .name = "operands", .format = "    {%s},\n"};
    struct sequences ranges = {.type = "uint8_t", .name = "ranges", .format = "    %s,\n"};
    begin_file_from("op_table.c", "The columns of the table of ops. Freestanding.", "plan/ops.def");
    put("#include \"plan/parts.h\"\n");
    for (size_t i = 0; i < count; i++) {
        put("\n");
        const unsigned operand_list = put_operand_sequence(&operands, &rows[i]);
        const bool attributes = rows[i].integer_count + rows[i].real_count > 0;
        const unsigned range_list = attributes ? put_range_sequence(&ranges, &rows[i]) : 0;
        put_row(&rows[i], operand_list, range_list);
    }
    put_defaults(rows, count);
    end_file();
}

/* --- op_words.c --------------------------------------------------------------------------------------------------- */

static void put_names(const struct op_attribute *list, unsigned count) {
    put(", \"");
    for (unsigned i = 0; i < count; i++)
        put("%s%s", i == 0 ? "" : " ", list[i].name);
    put("\"");
}

static void put_operand_names(const struct op_operand *list, unsigned count) {
    put(", \"");
    for (unsigned i = 0; i < count; i++)
        put("%s%s", i == 0 ? "" : " ", list[i].name);
    put("\"");
}

static void write_op_words(const struct op_row *rows, size_t count) {
    begin_file_from("op_words.c", "The names of ops, operands and attributes, for reports.", "plan/ops.def");
    put("#include \"plan/op_words.h\"\n\nconst firn_op_words firn_op_words_table[FIRN_OPS] = {\n");
    for (const struct op_row *row = rows; row < rows + count; row++) {
        put("    {\"%s\"", row->source->name);
        put_operand_names(row->inputs, row->input_count);
        put_operand_names(row->outputs, row->output_count);
        put_names(row->integers, row->integer_count);
        put_names(row->reals, row->real_count);
        put_names(row->reductions, row->reduction_count);
        put("},\n");
    }
    put("};\n");
    end_file();
}

/* --- op_since.c --------------------------------------------------------------------------------------------------- */

static void put_version(const struct op_row *row, const char *kind, const char *name, unsigned position,
                        unsigned since) {
    if (since > 0)
        put("    {.code = %u, .kind = %s, .position = %u, .since = %u}, /* %s %s */\n", row->source->code, kind,
            position, since, row->source->name, name);
}

static void put_versions(const struct op_row *row) {
    put_version(row, "ROW", "", 0, row->source->columns.since);
    for (unsigned i = 0; i < row->input_count; i++)
        put_version(row, "INPUT", row->inputs[i].name, i, row->inputs[i].since);
    for (unsigned i = 0; i < row->output_count; i++)
        put_version(row, "OUTPUT", row->outputs[i].name, i, row->outputs[i].since);
    for (unsigned i = 0; i < row->integer_count; i++)
        put_version(row, "INTEGER", row->integers[i].name, i, row->integers[i].since);
    for (unsigned i = 0; i < row->real_count; i++)
        put_version(row, "REAL", row->reals[i].name, i, row->reals[i].since);
}

static void write_op_since(const struct op_row *rows, size_t count) {
    begin_file_from("op_since.c", "The versions in which ops, operands and attributes came, for the compiler.",
                    "plan/ops.def");
    put("#include \"plan/needs.h\"\n\n"
        "enum { ROW, INPUT, OUTPUT, INTEGER, REAL };\n\n"
        "static const struct {\n    uint16_t code; /* 0: the end of the list */\n    uint8_t kind, position;\n"
        "    uint32_t since;\n} versions[] = {\n");
    for (const struct op_row *row = rows; row < rows + count; row++)
        put_versions(row);
    put("    {.code = 0}, /* the end */\n};\n\n"
        "uint32_t firn_op_since(const firn_op_info *info, uint32_t inputs, uint32_t outputs, uint32_t integers,\n"
        "                       uint32_t reals) {\n"
        "    const uint32_t counts[] = {\n"
        "        [ROW] = 1, [INPUT] = inputs, [OUTPUT] = outputs, [INTEGER] = integers, [REAL] = reals};\n"
        "    uint32_t newest = 0;\n"
        "    for (uint32_t i = 0; versions[i].code != 0; i++) {\n"
        "        if (versions[i].code == info->code && versions[i].position < counts[versions[i].kind] &&\n"
        "            versions[i].since > newest)\n"
        "            newest = versions[i].since;\n"
        "    }\n"
        "    return newest;\n"
        "}\n");
    end_file();
}

/* --- OPS.md ------------------------------------------------------------------------------------------------------- */

/* Writes a table cell, which may not contain a bar. Extents that the op's rule checks are shown as the row describes
 * them. */
static void put_cell(const char *text) {
    const char *own = strstr(text, "own: ");
    for (; *text != '\0'; text++) {
        if (text == own)
            text += strlen("own: ");
        put(*text == '|' ? "\\%c" : "%c", *text);
    }
}

static void put_since(unsigned since) {
    if (since > 0)
        put(", since %u", since);
}

static void put_operands(const struct op_operand *list, unsigned count) {
    put(" | ");
    for (unsigned i = 0; i < count; i++) {
        put("%s%s", i == 0 ? "" : "<br>", list[i].name);
        if (list[i].changed != OP_NONE)
            put(" (changed in place)");
        else {
            put(": ");
            put_cell(list[i].text);
            put("%s%s%s%s", list[i].optional ? ", optional" : "", list[i].repeats ? ", one or more" : "",
                list[i].reusable ? ", reusable" : "", list[i].scratch ? ", scratch" : "");
            put_since(list[i].since);
        }
    }
}

static void put_attributes(const struct op_row *row) {
    put(" | ");
    for (unsigned i = 0; i < row->integer_count + row->real_count; i++) {
        const struct op_attribute *attribute =
            i < row->integer_count ? &row->integers[i] : &row->reals[i - row->integer_count];
        put("%s%s: %s%s%s", i == 0 ? "" : "<br>", attribute->name, attribute->range,
            attribute->since > 0 ? ", default " : "", attribute->initial);
        put_since(attribute->since);
    }
}

static void write_page(const struct op_row *rows, size_t count) {
    begin_file("OPS.md", NULL);
    put("# Ops\n\nWritten by plan/generate from [ops.def](../ops.def), which explains types, extents and ranges. What "
        "each op\n"
        "computes, bit by bit, is in [NUMERICS.md](../NUMERICS.md). An input that is *reusable* may give its bytes to "
        "output 0.\n"
        "What an op leaves in *scratch* is unspecified, and nothing may read it. *since* N: it came with minor version "
        "N of "
        "the format.\n\n"
        "| code | op | what it computes | inputs | outputs | attributes | gradient | autocast | POL |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (const struct op_row *row = rows; row < rows + count; row++) {
        const struct op_source *source = row->source;
        put("| %u | %s", source->code, source->name);
        put_since(source->columns.since);
        put(" | ");
        put_cell(source->documentation);
        put_operands(row->inputs, row->input_count);
        put_operands(row->outputs, row->output_count);
        put_attributes(row);
        put(" | %s | %s | %s |\n", strcmp(source->gradient, "none") == 0 ? "" : "yes",
            or_word(source->columns.autocast, ""), or_word(source->columns.pol, ""));
    }
    end_file();
}

void write_ops(const struct op_row *rows, size_t count) {
    write_positions(rows, count);
    write_table(rows, count);
    write_op_words(rows, count);
    write_op_since(rows, count);
    write_page(rows, count);
}
