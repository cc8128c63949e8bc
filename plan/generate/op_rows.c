/* Parses plan/ops.def, whose first comment defines the grammar. Stops the program at anything outside the grammar. */
#include "plan/generate/op_rows.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/generate/program.h"

static const struct op_source sources[] = {
#define FIRN_OP(name, code, rule, gradient, cost, documentation, ...)                                                  \
    {#name, #rule, #gradient, #cost, documentation, code, {__VA_ARGS__}},
#include "plan/ops.def"
#undef FIRN_OP
};

enum { OPS = sizeof sources / sizeof sources[0] };

static struct op_row rows[OPS];

/* --- words -------------------------------------------------------------------------------------------------------- */

/* word: the operand, the attribute or the text at fault; NULL if the fault is the row's as a whole. */
static _Noreturn void refuse_row(const struct op_row *row, const char *word, const char *what) {
    char place[2 * OP_TEXT_BYTES];
    snprintf(place, sizeof place, "%s%s%.*s", row->source->name, word == NULL ? "" : ": ", OP_TEXT_BYTES,
             word == NULL ? "" : word);
    refuse(place, what);
}

/* Whether a word occurs in a list of words separated by spaces. */
static bool is_one_of(const char *word, const char *list) {
    const size_t length = strlen(word);
    for (const char *at = list; length > 0 && (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* Copies the text before the first character of `end` into `word`, and returns the rest, starting with that
 * character. */
static const char *take(const struct op_row *row, const char *text, const char *end, char *word, size_t room) {
    size_t length = strcspn(text, end);
    if (length >= room)
        refuse_row(row, text, "a word is too long; shorten it");
    memcpy(word, text, length);
    word[length] = '\0';
    return text + length;
}

static unsigned find_operand(const struct op_operand *operands, unsigned count, const char *name) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(operands[i].name, name) == 0)
            return i;
    return OP_NONE;
}

static unsigned find_attribute(const struct op_attribute *attributes, unsigned count, const char *name) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(attributes[i].name, name) == 0)
            return i;
    return OP_NONE;
}

/* --- versions: "^N" ----------------------------------------------------------------------------------------------- */

/* Parses a version behind "^", and stops behind it. */
static const char *read_version(const struct op_row *row, const char *name, const char *text, unsigned *since) {
    char *behind;
    const unsigned long version = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &behind, 10) : 0;
    if (version == 0 || version > UINT16_MAX)
        refuse_row(row, name, "behind ^ stands a minor version from 1 to 65535");
    *since = (unsigned)version;
    return behind;
}

/* Checks an entry of a list of operands or attributes: what came later stands behind what was there before. *newest:
 * the version of the entry before. */
static void check_version(const struct op_row *row, const char *name, unsigned since, unsigned *newest) {
    if (since < *newest || (since > 0 && since <= row->source->columns.since))
        refuse_row(row, name, "what came later stands behind what came before, and is newer than the row");
    *newest = since;
}

/* --- attributes and reductions: "name:range name:range" ----------------------------------------------------------- */

static const struct {
    const char *name;
    long long least, most;
} integer_ranges[] = {
    {"flag", 0, 1},
    {"type", 0, 3},
    {"extent", 1, UINT32_MAX},
    {"count", 1, INT64_MAX},
    {"int31", 1, INT32_MAX},
    {"label", -1, INT32_MAX},
    {"rng_id", 0, 0xfffffeff},
    {"pair", 0, UINT32_MAX},
    {"own", INT64_MIN, INT64_MAX},
};

static const struct {
    const char *name;
    float least, below; /* the least value, and the least that is too large */
} real_ranges[] = {
    {"rate", 0, 1},
    {"positive", FLT_TRUE_MIN, INFINITY},
    {"not_negative", 0, INFINITY},
    {"finite", -FLT_MAX, INFINITY},
    {"own", -FLT_MAX, INFINITY},
    {"decay", 0, INFINITY},
};

static void check_integer(const struct op_row *row, const struct op_attribute *attribute) {
    size_t i = 0;
    while (i < sizeof integer_ranges / sizeof *integer_ranges && strcmp(attribute->range, integer_ranges[i].name) != 0)
        i++;
    if (i == sizeof integer_ranges / sizeof *integer_ranges)
        refuse_row(row, attribute->name, "an integer has no range of plan/ops.def");
    char *end;
    const long long value = strtoll(attribute->initial, &end, 10);
    if (attribute->initial[0] != '\0' &&
        (*end != '\0' || value < integer_ranges[i].least || value > integer_ranges[i].most))
        refuse_row(row, attribute->name, "a default is not in the range of its attribute");
}

static void check_real(const struct op_row *row, const struct op_attribute *attribute) {
    size_t i = 0;
    while (i < sizeof real_ranges / sizeof *real_ranges && strcmp(attribute->range, real_ranges[i].name) != 0)
        i++;
    if (i == sizeof real_ranges / sizeof *real_ranges)
        refuse_row(row, attribute->name, "a real has no range of plan/ops.def");
    char *end;
    const float value = strtof(attribute->initial, &end);
    if (attribute->initial[0] != '\0' &&
        (*end != '\0' || !(value >= real_ranges[i].least && value < real_ranges[i].below)))
        refuse_row(row, attribute->name, "a default is not in the range of its attribute");
}

/* Checks the versions and defaults of a list of attributes. Returns the number of those that came with the row. */
static unsigned check_later(const struct op_row *row, const struct op_attribute *list, unsigned count) {
    unsigned first = 0, newest = 0;
    for (unsigned i = 0; i < count; i++) {
        check_version(row, list[i].name, list[i].since, &newest);
        if ((list[i].since > 0) != (list[i].initial[0] != '\0'))
            refuse_row(row, list[i].name,
                       "an attribute that came later has a default, and no other: name:range=default^N");
        first += list[i].since == 0;
    }
    return first;
}

static unsigned read_list(const struct op_row *row, const char *text, struct op_attribute *list, unsigned room) {
    unsigned count = 0;
    while (text != NULL && *text != '\0') {
        if (count == room)
            refuse_row(row, text, "too many attributes or reductions");
        struct op_attribute *entry = &list[count++];
        text = take(row, text, ":=^ ", entry->name, sizeof entry->name);
        if (*text == ':')
            text = take(row, text + 1, "=^ ", entry->range, sizeof entry->range);
        if (*text == '=')
            text = take(row, text + 1, "^ ", entry->initial, sizeof entry->initial);
        if (*text == '^')
            text = read_version(row, entry->name, text + 1, &entry->since);
        if (*text != ' ' && *text != '\0')
            refuse_row(row, entry->name, "behind the range stand only =default^N");
        text += *text == ' ';
    }
    return count;
}

static void read_attributes(struct op_row *row) {
    const struct op_columns *columns = &row->source->columns;
    row->integer_count = read_list(row, columns->integers, row->integers, OP_ATTRIBUTES_MAX);
    row->real_count = read_list(row, columns->reals, row->reals, OP_ATTRIBUTES_MAX);
    row->typed = OP_NONE;
    for (unsigned i = 0; i < row->integer_count; i++) {
        check_integer(row, &row->integers[i]);
        if (strcmp(row->integers[i].range, "type") != 0)
            continue;
        if (row->typed != OP_NONE)
            refuse_row(row, row->integers[i].name, "a second integer of range type; an op works in one type");
        row->typed = i;
    }
    for (unsigned i = 0; i < row->real_count; i++)
        check_real(row, &row->reals[i]);
    row->integers_min = check_later(row, row->integers, row->integer_count);
    row->reals_min = check_later(row, row->reals, row->real_count);
}

static void read_reductions(struct op_row *row) {
    const struct op_columns *columns = &row->source->columns;
    row->reduction_count = read_list(row, columns->reductions, row->reductions, OP_REDUCTIONS_MAX);
    row->reduced = columns->reduced == NULL ? OP_NONE : find_operand(row->inputs, row->input_count, columns->reduced);
    row->inner_flag = OP_NONE;
    if (row->reduced != OP_NONE && row->inputs[row->reduced].optional)
        refuse_row(row, columns->reduced, ".reduced names an input that is always there");
    if ((row->reduction_count > 0) != (row->reduced != OP_NONE))
        refuse_row(row, columns->reduced, ".reductions and .reduced go together, and the latter names an input");
    for (unsigned i = 0; i < row->reduction_count; i++) {
        const struct op_attribute *reduction = &row->reductions[i];
        if (reduction->initial[0] != '\0' || reduction->since != 0)
            refuse_row(row, reduction->name, "a reduction has neither a default nor a version");
        if (reduction->range[0] == '\0')
            continue;
        if (i != row->inner++)
            refuse_row(row, reduction->name, "reductions that are no tensor stand first");
        const unsigned flag = find_attribute(row->integers, row->integer_count, reduction->range);
        if (flag == OP_NONE || strcmp(row->integers[flag].range, "flag") != 0)
            refuse_row(row, reduction->name, "a reduction that is no tensor names an integer of range flag");
        if (row->inner_flag != OP_NONE && row->inner_flag != flag)
            refuse_row(row, reduction->name, "two reductions name different integers");
        row->inner_flag = flag;
    }
}

/* --- operands: "name:type[extents]flags" -------------------------------------------------------------------------- */

/* The index of a letter in the row's list of letters, to which it is added if necessary. N is not in the list, because
 * it stands for the leading dimensions. */
static unsigned letter_of(struct op_row *row, char letter) {
    const char *found = strchr(row->letters, letter);
    if (found != NULL)
        return (unsigned)(found - row->letters);
    const size_t count = strlen(row->letters);
    if (count == OP_LETTERS_MAX)
        refuse_row(row, (char[]){letter, '\0'}, "too many letters for extents");
    row->letters[count] = letter;
    return (unsigned)count;
}

/* Parses a number, and stops behind it. */
static unsigned read_number(const struct op_row *row, const char *word, const char **end) {
    char *behind;
    const unsigned long number = word[0] >= '0' && word[0] <= '9' ? strtoul(word, &behind, 10) : 0;
    if (number == 0 || number > OP_EXTENT_MAX)
        refuse_row(row, word, "an extent is neither a letter nor a number from 1 to 239");
    *end = behind;
    return (unsigned)number;
}

static void read_extent(struct op_row *row, struct op_operand *operand, const char *word) {
    if (operand->extent_count == 2)
        refuse_row(row, operand->name, "an operand has more than two extents; write [own]");
    struct op_extent *extent = &operand->extents[operand->extent_count++];
    if (word[0] == 'N')
        refuse_row(row, operand->name, "N stands first among the extents, or not at all");
    if (word[0] >= 'A' && word[0] <= 'Z' && word[1] == '\0') {
        *extent = (struct op_extent){true, letter_of(row, word[0]), 0};
        return;
    }
    const char *end;
    extent->value = extent->other = read_number(row, word, &end);
    if (*end == '|')
        extent->other = read_number(row, end + 1, &end);
    if (*end != '\0')
        refuse_row(row, word, "an extent is neither a letter nor one or two numbers");
}

/* Only FIRN_FORM_VECTOR can express two numbers, and as an output they would leave the extent open. */
static void check_alternatives(const struct op_row *row, const struct op_operand *operand, bool is_input) {
    for (unsigned e = 0; e < operand->extent_count; e++)
        if (operand->extents[e].value != operand->extents[e].other && !operand->extents[e].letter &&
            (!is_input || operand->form != FORM_EXTENTS || operand->extent_count != 1))
            refuse_row(row, operand->name, "two numbers are for an input of one dimension");
}

/* Parses extents such as "N,C", "N", "R,C" or "3|4". */
static void read_extents(struct op_row *row, struct op_operand *operand, const char *text) {
    const bool leading = text[0] == 'N' && (text[1] == ',' || text[1] == '\0');
    bool more = !leading || text[1] == ',';
    if (leading)
        text += more ? 2 : 1;
    while (more) {
        char word[OP_NAME_BYTES];
        text = take(row, text, ",", word, sizeof word);
        more = *text == ',';
        text += more;
        if (word[0] == '\0')
            refuse_row(row, operand->name, "an extent is missing");
        read_extent(row, operand, word);
    }
    operand->form = !leading ? FORM_EXTENTS : operand->extent_count > 0 ? FORM_ROWS : FORM_ROW_VALUES;
    if (leading && operand->extent_count > 1)
        refuse_row(row, operand->name, "behind N stands one extent; write [own]");
}

/* The input that a type or extents refer to: always present, and not the operand itself. */
static unsigned find_reference(const struct op_row *row, const struct op_operand *operand, const char *name) {
    const unsigned input = find_operand(row->inputs, row->input_count, name);
    if (input == OP_NONE)
        refuse_row(row, operand->name, "its type or extents are those of an operand that is no input");
    if (row->inputs[input].optional || &row->inputs[input] == operand)
        refuse_row(row, operand->name, "its type or extents are those of an optional input or its own");
    return input;
}

static void read_form(struct op_row *row, struct op_operand *operand, const char *text, bool is_input) {
    if (strcmp(text, "...") == 0)
        operand->form = FORM_ANY;
    else if (strcmp(text, "own") == 0 || strncmp(text, "own: ", 5) == 0)
        operand->form = FORM_OWN;
    else if (text[0] == '=') {
        operand->form = FORM_LIKE;
        operand->like = find_reference(row, operand, text + 1);
    } else if (strncmp(text, "sums ", 5) == 0) {
        if (is_input)
            refuse_row(row, operand->name, "[sums x] is for outputs");
        operand->form = FORM_SUMS;
        operand->like = find_reference(row, operand, text + 5);
    } else {
        read_extents(row, operand, text);
        check_alternatives(row, operand, is_input);
    }
}

/* Parses a type: "int32(V)" gives the type "int32" and the range "V"; "@x" is the type of operand x, and behind it "|"
 * and "float32^1" may stand, for float32 since minor version 1. */
static void read_type(const struct op_row *row, struct op_operand *operand, const char *text, bool is_input) {
    const char *rest = take(row, text, "(|", operand->type, sizeof operand->type);
    operand->rounded = *rest == '|';
    if (operand->rounded && (strcmp(rest, "|float32^1") != 0 || text[0] != '@' || !is_input))
        refuse_row(row, operand->name, "only an input of type @x is of another type, too: @x|float32^1");
    if (*rest == '(') {
        rest = take(row, rest + 1, ")", operand->range, sizeof operand->range);
        if (strcmp(rest, ")") != 0 || operand->range[0] == '\0' || strcmp(operand->type, "int32") != 0 || !is_input)
            refuse_row(row, operand->name, "indices are an input of type int32(V) or int32(attribute)");
    }
    operand->type_of = OP_NONE;
    if (text[0] == '@')
        operand->type_of = find_reference(row, operand, operand->type + 1);
    else if (!is_one_of(operand->type, "real float32 int32 int64 own"))
        refuse_row(row, operand->name, "an operand has no type of plan/ops.def");
}

static const char *read_flags(const struct op_row *row, struct op_operand *operand, const char *text) {
    for (; *text != ' ' && *text != '\0'; text++)
        switch (*text) {
        case '?':
            operand->optional = true;
            break;
        case '~':
            operand->reusable = true;
            break;
        case '+':
            operand->repeats = true;
            break;
        case '!':
            operand->scratch = true;
            break;
        case '^':
            text = read_version(row, operand->name, text + 1, &operand->since) - 1;
            break;
        default:
            refuse_row(row, operand->name, "an operand has a flag that is none of ? ~ + ! ^N");
        }
    return text;
}

/* Reads the names of all operands first, because types and extents may refer to later operands. */
static unsigned read_names(const struct op_row *row, const char *text, struct op_operand *operands) {
    unsigned count = 0;
    while (text != NULL && *text != '\0') {
        if (count == OP_OPERANDS_MAX)
            refuse_row(row, text, "too many operands");
        struct op_operand *operand = &operands[count++];
        text = take(row, text, ": ", operand->name, sizeof operand->name);
        if (*text == ':') {
            const char *end = strchr(text, ']');
            if (end == NULL)
                refuse_row(row, operand->name, "an operand has no extents");
            text = take(row, text + 1, "]", operand->text, sizeof operand->text - 1) + 1; /* read_operand adds "]" */
        }
        text = read_flags(row, operand, text);
        text += *text == ' ';
    }
    return count;
}

static void read_operand(struct op_row *row, struct op_operand *operand, bool is_input) {
    char type[OP_NAME_BYTES];
    const char *extents = take(row, operand->text, "[", type, sizeof type);
    if (*extents != '[')
        refuse_row(row, operand->name, "an operand has no extents");
    read_type(row, operand, type, is_input);
    read_form(row, operand, extents + 1, is_input);
    memcpy(operand->text + strlen(operand->text), "]", 2);
}

static void read_inputs(struct op_row *row) {
    unsigned newest = 0;
    row->input_count = read_names(row, row->source->columns.inputs, row->inputs);
    for (unsigned i = 0; i < row->input_count; i++) {
        row->inputs[i].changed = OP_NONE;
        if (row->inputs[i].scratch)
            refuse_row(row, row->inputs[i].name, "the flag ! is for fresh outputs");
        read_operand(row, &row->inputs[i], true);
        check_version(row, row->inputs[i].name, row->inputs[i].since, &newest);
        if (row->inputs[i].since > 0 && !row->inputs[i].optional)
            refuse_row(row, row->inputs[i].name, "an input that came later is optional");
        if (!row->inputs[i].optional)
            row->inputs_min = i + 1;
        if (row->inputs[i].repeats && (row->inputs[i].optional || row->inputs[i].reusable || i + 1 < row->input_count))
            refuse_row(row, row->inputs[i].name,
                       "only the last input repeats, and it is neither optional nor reusable");
    }
    const bool repeats = row->input_count > 0 && row->inputs[row->input_count - 1].repeats;
    row->inputs_max = repeats ? OP_OPERANDS_MAX : row->input_count;
    row->factors = find_operand(row->inputs, row->input_count, "factors");
}

/* The leading dimensions of an output are those of an input [N,C], which must always be there. */
static void check_leading(const struct op_row *row, const struct op_operand *output) {
    if (output->form != FORM_ROWS && output->form != FORM_ROW_VALUES)
        return;
    for (unsigned i = 0; i < row->input_count; i++)
        if (row->inputs[i].form == FORM_ROWS && !row->inputs[i].optional)
            return;
    refuse_row(row, output->name, "an output has leading dimensions, and no input [N,C] gives them; write [own]");
}

/* Whether an input that is always there has an extent with this letter. */
static bool gives_letter(const struct op_row *row, unsigned letter) {
    for (unsigned i = 0; i < row->input_count; i++)
        for (unsigned e = 0; e < row->inputs[i].extent_count && !row->inputs[i].optional; e++)
            if (row->inputs[i].extents[e].letter && row->inputs[i].extents[e].value == letter)
                return true;
    return false;
}

static void check_letters(const struct op_row *row, const struct op_operand *output) {
    for (unsigned e = 0; e < output->extent_count; e++)
        if (output->extents[e].letter && !gives_letter(row, output->extents[e].value))
            refuse_row(row, output->name, "an output has a letter that no input has that is always there; write [own]");
}

static void read_output(struct op_row *row, struct op_operand *output) {
    const bool changes = output->text[0] == '\0';
    if (output->optional || output->reusable || output->repeats)
        refuse_row(row, output->name, "the flags ? ~ and + are for inputs");
    output->changed = changes ? find_operand(row->inputs, row->input_count, output->name) : OP_NONE;
    if (changes && (output->changed == OP_NONE || row->inputs[output->changed].repeats))
        refuse_row(row, output->name, "an output without a type is no input, or one that repeats");
    if (changes && row->inputs[output->changed].optional &&
        (output == row->outputs || output->changed + 1 < row->input_count ||
         output + 1 < row->outputs + row->output_count))
        refuse_row(
            row, output->name,
            "an output without a type is an optional input, and one of the two is not the last, or it is output 0");
    if (changes)
        return;
    if (find_operand(row->inputs, row->input_count, output->name) != OP_NONE)
        refuse_row(row, output->name, "a fresh output has the name of an input; a changed one has no type");
    read_operand(row, output, false);
    check_letters(row, output);
    check_leading(row, output);
    if (output->form == FORM_SUMS && !output->scratch)
        refuse_row(row, output->name, "[sums x] is scratch; write ! behind it");
}

/* Whether an output changes an input that a plan may leave out. */
static bool may_be_absent(const struct op_row *row, const struct op_operand *output) {
    return output->changed != OP_NONE && row->inputs[output->changed].optional;
}

static void read_outputs(struct op_row *row) {
    unsigned newest = 0;
    row->output_count = read_names(row, row->source->columns.outputs, row->outputs);
    for (unsigned i = 0; i < row->output_count; i++) {
        read_output(row, &row->outputs[i]);
        check_version(row, row->outputs[i].name, row->outputs[i].since, &newest);
        if (row->outputs[0].since > 0)
            refuse_row(row, row->outputs[0].name, "output 0 came with the row");
        row->outputs_min += row->outputs[i].since == 0 && !may_be_absent(row, &row->outputs[i]);
    }
    if (row->output_count > 0 && row->outputs[0].changed != OP_NONE)
        row->inputs[row->outputs[0].changed].reusable = true;
    for (unsigned i = OP_REUSABLE_MAX; i < row->input_count; i++)
        if (row->inputs[i].reusable)
            refuse_row(row, row->inputs[i].name, "only the first 8 inputs may give output 0 their bytes");
}

/* --- indices ------------------------------------------------------------------------------------------------------ */

/* Finds the input that has an extent with this letter, and the position of the extent, counted from the end. */
static void find_index_extent(struct op_row *row, unsigned letter) {
    for (unsigned i = 0; i < row->input_count; i++) {
        const struct op_operand *input = &row->inputs[i];
        for (unsigned e = 0; e < input->extent_count && !input->optional; e++)
            if (input->extents[e].letter && input->extents[e].value == letter) {
                row->index_table = i;
                row->index_from_end = input->extent_count - e;
                return;
            }
    }
    refuse_row(row, (char[]){row->letters[letter], '\0'},
               "indices are below a letter that no input has that is always there");
}

static void read_indices(struct op_row *row) {
    row->index_operand = row->index_table = row->index_attribute = OP_NONE;
    for (unsigned i = 0; i < row->input_count; i++) {
        const char *range = row->inputs[i].range;
        if (range[0] == '\0')
            continue;
        if (row->index_operand != OP_NONE)
            refuse_row(row, row->inputs[i].name, "two inputs are indices");
        if (row->inputs[i].optional || row->inputs[i].repeats)
            refuse_row(row, row->inputs[i].name, "indices are an input that is always there, once");
        row->index_operand = i;
        row->index_attribute = find_attribute(row->integers, row->integer_count, range);
        if (row->index_attribute != OP_NONE)
            continue;
        if (range[1] != '\0')
            refuse_row(row, range, "indices are below neither a letter nor an integer attribute");
        find_index_extent(row, letter_of(row, range[0]));
    }
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static void check_words(const struct op_row *row) {
    const struct op_columns *columns = &row->source->columns;
    if (columns->autocast != NULL && !is_one_of(columns->autocast, "half embedding norm single promote follow fixed"))
        refuse_row(row, columns->autocast, ".autocast is no word of plan/ops.def");
    if (columns->pol != NULL && !is_one_of(columns->pol, "product attention norm rotation"))
        refuse_row(row, columns->pol, ".pol is no word of plan/ops.def");
    if (columns->begins != NULL && !is_one_of(columns->begins, "partial first last"))
        refuse_row(row, columns->begins, ".begins is no word of plan/ops.def");
    if (row->source->documentation[0] == '\0')
        refuse_row(row, NULL, "there is no documentation");
}

static void refuse_own(const struct op_row *row, const char *name) {
    refuse_row(row, name, "`own` needs a rule; `declared` checks nothing");
}

/* A type, extents or a range `own` is the rule's to check, and the rule `declared` checks nothing. */
static void check_own(const struct op_row *row) {
    if (strcmp(row->source->rule, "declared") != 0)
        return;
    for (unsigned i = 0; i < row->input_count + row->output_count; i++) {
        const struct op_operand *operand = i < row->input_count ? &row->inputs[i] : &row->outputs[i - row->input_count];
        if (operand->changed == OP_NONE && (operand->form == FORM_OWN || strcmp(operand->type, "own") == 0))
            refuse_own(row, operand->name);
    }
    for (unsigned i = 0; i < row->integer_count; i++)
        if (strcmp(row->integers[i].range, "own") == 0)
            refuse_own(row, row->integers[i].name);
    for (unsigned i = 0; i < row->real_count; i++)
        if (strcmp(row->reals[i].range, "own") == 0)
            refuse_own(row, row->reals[i].name);
}

/* plan/checks/semantics_flow.c relies on this. */
static void check_begins(const struct op_row *row) {
    const char *begins = row->source->columns.begins;
    if (begins == NULL)
        return;
    if (row->output_count == 0 || row->outputs[0].changed == OP_NONE)
        refuse_row(row, begins, "an op with .begins changes an input as output 0");
    const struct op_operand *changed = &row->inputs[row->outputs[0].changed];
    if (strcmp(begins, "partial") == 0 &&
        (row->integer_count == 0 || changed->form != FORM_EXTENTS || changed->extent_count != 1))
        refuse_row(row, begins, "integer 0 is the index in output 0, which has one dimension");
}

/* Likewise. */
static void check_buffers(const struct op_row *row) {
    for (unsigned i = 0; row->source->columns.buffers && i < row->output_count; i++)
        if (row->outputs[i].changed == OP_NONE)
            refuse_row(row, row->outputs[i].name,
                       "an op with .buffers has no other outputs than those that it changes");
}

/* --- gradients by name -------------------------------------------------------------------------------------------- */

static const struct op_row *find_backward(const struct op_row *forward) {
    const size_t length = strlen(forward->source->name);
    for (size_t i = 0; i < OPS; i++)
        if (strncmp(rows[i].source->name, forward->source->name, length) == 0 &&
            strcmp(rows[i].source->name + length, "_backward") == 0)
            return &rows[i];
    refuse_row(forward, NULL, "the gradient is by_name, and there is no op <name>_backward");
}

/* Whether a forward op remembers a value of this name for its backward op: an operand that is no scratch. */
static bool remembers(const struct op_row *forward, const char *name) {
    const unsigned output = find_operand(forward->outputs, forward->output_count, name);
    return find_operand(forward->inputs, forward->input_count, name) != OP_NONE ||
           (output != OP_NONE && !forward->outputs[output].scratch);
}

/* The backward op reads dy or dloss and what the forward op reads or gives, gives d<input> or scratch, and has
 * attributes of the forward op only. */
static void check_gradient(const struct op_row *forward) {
    if (strcmp(forward->source->gradient, "by_name") != 0)
        return;
    const struct op_row *backward = find_backward(forward);
    if (forward->inputs_max > forward->input_count || backward->inputs_max > backward->input_count)
        refuse_row(forward, NULL, "an op whose last input repeats has no gradient by_name");
    for (unsigned i = 0; i < backward->input_count; i++) {
        const char *name = backward->inputs[i].name;
        if (!is_one_of(name, "dy dloss") && !remembers(forward, name))
            refuse_row(backward, name,
                       "an input is neither dy nor dloss nor an operand of the forward op, scratch aside");
    }
    for (unsigned i = 0; i < backward->output_count; i++) {
        const char *name = backward->outputs[i].name;
        if (!backward->outputs[i].scratch &&
            (name[0] != 'd' || find_operand(forward->inputs, forward->input_count, name + 1) == OP_NONE))
            refuse_row(backward, name, "an output is neither d<input> of the forward op nor scratch");
    }
    for (unsigned i = 0; i < backward->integer_count; i++)
        if (find_attribute(forward->integers, forward->integer_count, backward->integers[i].name) == OP_NONE)
            refuse_row(backward, backward->integers[i].name, "an integer is none of the forward op");
    for (unsigned i = 0; i < backward->real_count; i++)
        if (find_attribute(forward->reals, forward->real_count, backward->reals[i].name) == OP_NONE)
            refuse_row(backward, backward->reals[i].name, "a real is none of the forward op");
}

const struct op_row *read_ops(size_t *count) {
    input_name = "plan/ops.def";
    for (size_t i = 0; i < OPS; i++) {
        rows[i] = (struct op_row){.source = &sources[i]};
        check_words(&rows[i]);
        read_inputs(&rows[i]);
        read_outputs(&rows[i]);
        read_attributes(&rows[i]);
        read_indices(&rows[i]);
        read_reductions(&rows[i]);
        check_own(&rows[i]);
        check_begins(&rows[i]);
        check_buffers(&rows[i]);
        for (size_t j = 0; j < i; j++)
            if (sources[j].code == sources[i].code || strcmp(sources[j].name, sources[i].name) == 0)
                refuse_row(&rows[i], NULL, "the code or the name is another op's");
    }
    for (size_t i = 0; i < OPS; i++)
        check_gradient(&rows[i]);
    *count = OPS;
    return rows;
}
