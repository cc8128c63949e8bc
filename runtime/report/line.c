/* Reads one line of a log: an object of JSON whose members are numbers, strings, true, false and null. It is read
 * strictly and without allocating, because logs have millions of lines and may be damaged. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/report/report.h"
#include "runtime/text/utf8.h"

enum { NUMBER_BYTES = 64 };

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_blanks(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r' || *c->at == '\n'))
        c->at++;
}

/* Skips blanks, and then the character if it is next. */
static bool take(cursor *c, char wanted) {
    skip_blanks(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Skips what is behind a backslash. */
static bool take_escape(cursor *c) {
    if (c->at == c->end)
        return false;
    const char kind = *c->at++;
    if (kind != 'u')
        return kind != 0 && strchr("\"\\/bfnrt", kind) != NULL;
    for (int i = 0; i < 4; i++)
        if (c->at == c->end || !is_hex(*c->at++))
            return false;
    return true;
}

/* Reads a string. *text is its inside. */
static bool take_string(cursor *c, const char **text, size_t *length) {
    if (!take(c, '"'))
        return false;
    *text = c->at;
    while (c->at < c->end && *c->at != '"') {
        const unsigned char next = (unsigned char)*c->at++;
        if (next < 0x20 || (next == '\\' && !take_escape(c)))
            return false;
    }
    *length = (size_t)(c->at - *text);
    return take(c, '"');
}

static size_t take_digits(cursor *c) {
    const char *begin = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
        c->at++;
    return (size_t)(c->at - begin);
}

/* Skips a number of JSON. */
static bool skip_number(cursor *c) {
    if (c->at < c->end && *c->at == '-')
        c->at++;
    const char *first = c->at;
    const size_t digits = take_digits(c);
    if (digits == 0 || (digits > 1 && *first == '0'))
        return false;
    if (c->at < c->end && *c->at == '.') {
        c->at++;
        if (take_digits(c) == 0)
            return false;
    }
    if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
        c->at++;
        if (c->at < c->end && (*c->at == '-' || *c->at == '+'))
            c->at++;
        return take_digits(c) != 0;
    }
    return true;
}

static bool take_number(cursor *c, report_field *field) {
    char text[NUMBER_BYTES];
    skip_blanks(c);
    field->text = c->at;
    if (!skip_number(c) || (field->text_length = (size_t)(c->at - field->text)) >= sizeof text)
        return false;
    memcpy(text, field->text, field->text_length); /* strtod needs an end */
    text[field->text_length] = 0;
    field->kind = REPORT_NUMBER;
    field->number = strtod(text, NULL);
    return true;
}

static bool take_word(cursor *c, const char *word) {
    const size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

static bool take_value(cursor *c, report_field *field) {
    static const struct {
        const char *word;
        report_kind kind;
    } words[] = {{"true", REPORT_TRUE}, {"false", REPORT_FALSE}, {"null", REPORT_NULL}};
    field->number = (double)NAN;
    skip_blanks(c);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (take_word(c, words[i].word)) {
            field->kind = words[i].kind;
            return true;
        }
    if (c->at < c->end && *c->at == '"') {
        field->kind = REPORT_TEXT;
        return take_string(c, &field->text, &field->text_length);
    }
    return take_number(c, field);
}

bool report_line_read(report_line *line, const char *bytes, size_t count) {
    cursor c = {bytes, bytes + count};
    line->count = 0;
    if (!take(&c, '{'))
        return false;
    do {
        if (line->count == REPORT_FIELDS_MAX)
            return false;
        report_field *field = &line->fields[line->count];
        *field = (report_field){0};
        if (!take_string(&c, &field->name, &field->name_length) || !take(&c, ':') || !take_value(&c, field))
            return false;
        line->count++;
    } while (take(&c, ','));
    if (!take(&c, '}'))
        return false;
    skip_blanks(&c);
    return c.at == c.end;
}

const report_field *report_line_find(const report_line *line, const char *name) {
    const size_t length = strlen(name);
    for (uint32_t i = 0; i < line->count; i++)
        if (line->fields[i].name_length == length && memcmp(line->fields[i].name, name, length) == 0)
            return &line->fields[i];
    return NULL;
}

double report_line_number(const report_line *line, const char *name) {
    const report_field *field = report_line_find(line, name);
    return field != NULL && field->kind == REPORT_NUMBER ? field->number : (double)NAN;
}

/* --- the text of a string --- */

/* Reads the four digits of an escape. */
static uint32_t unit_of(const char *digits) {
    char text[5] = {0};
    memcpy(text, digits, 4);
    return (uint32_t)strtoul(text, NULL, 16);
}

/* Reads what is behind `\u`, and the second half of a surrogate pair with it. *at is behind it then. */
static uint32_t take_code(const char **at, const char *end) {
    const uint32_t high = unit_of(*at);
    *at += 4;
    if (high < 0xd800 || high > 0xdfff)
        return high != 0 ? high : 0xfffd;
    if (high > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
        return 0xfffd;
    const uint32_t low = unit_of(*at + 2);
    if (low < 0xdc00 || low > 0xdfff)
        return 0xfffd;
    *at += 6;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

void report_line_text(char *to, const report_field *field) {
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    for (const char *at = field->text, *end = at + field->text_length; at < end;) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        const char kind = at[1];
        const char *letter = strchr(letters, kind);
        at += 2;
        if (kind == 'u')
            to += firn_utf8_encode(to, take_code(&at, end));
        else
            *to++ = letter != NULL ? meant[letter - letters] : kind;
    }
    *to = 0;
}
