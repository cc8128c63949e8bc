/* Reads the cells of a table (cells.h) one after the other. */
#define _GNU_SOURCE
#include "runtime/targets/host/cells.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/targets/host/host.h"

#define DIGITS_FULL UINT64_C(100000000000000000) /* an integer of as many digits as are kept */

/* --- cells -------------------------------------------------------------------------------------------------------- */

void firn_host_cells_restart(firn_host_cells *cells, const uint8_t *bytes, uint64_t count) {
    static const char mark[] = "\xef\xbb\xbf";
    const bool marked = count >= 3 && memcmp(bytes, mark, 3) == 0;
    cells->at = (const char *)bytes + (marked ? 3 : 0);
    cells->end = (const char *)bytes + count;
    cells->row = cells->line = 1;
}

void firn_host_cells_begin(firn_host_cells *cells, const uint8_t *bytes, uint64_t count) {
    *cells = (firn_host_cells){0};
    firn_host_cells_restart(cells, bytes, count);
}

void firn_host_cells_free(firn_host_cells *cells) {
    free(cells->text);
    cells->text = NULL;
}

bool firn_host_cells_over(const firn_host_cells *cells) {
    const char *at = cells->at;
    while (at < cells->end && (*at == '\n' || *at == '\r'))
        at++;
    return at == cells->end;
}

static void append(firn_host_cells *cells, char character) {
    if (cells->length + 1 >= cells->space) {
        cells->space = 2 * cells->space + 64;
        cells->text = firn_host_grow(cells->text, cells->space);
    }
    cells->text[cells->length++] = character;
    cells->text[cells->length] = 0;
}

static const char rewrite[] = "write it again as comma-separated values";

static bool fail(firn_host_cells *cells, const char *fault, const char *mend) {
    cells->fault = fault;
    cells->mend = mend;
    return false;
}

static bool is_space(char character) {
    return character == ' ' || character == '\t';
}

static void skip_spaces(firn_host_cells *cells) {
    while (cells->at < cells->end && is_space(*cells->at))
        cells->at++;
}

/* Reads what stands between quotes; a quote in it is written twice. A quote that is not closed is a fault of the line
 * on which it stands. */
static bool read_quoted(firn_host_cells *cells) {
    const uint64_t line = cells->line;
    for (cells->at++; cells->at < cells->end; cells->at++) {
        if (*cells->at == '"' && (cells->at + 1 == cells->end || cells->at[1] != '"')) {
            cells->at++;
            skip_spaces(cells);
            return true;
        }
        if (*cells->at == 0)
            return fail(cells, "has a byte of 0, and so is no text", rewrite);
        cells->at += *cells->at == '"';
        cells->line += *cells->at == '\n';
        append(cells, *cells->at);
    }
    cells->line = line;
    return fail(cells, "has a quote that is not closed", rewrite);
}

/* Reads up to a comma or the end of the line. */
static bool read_plain(firn_host_cells *cells) {
    for (; cells->at < cells->end && *cells->at != ',' && *cells->at != '\n' && *cells->at != '\r'; cells->at++) {
        if (*cells->at == '"')
            return fail(cells, "has a quote inside a cell that does not begin with one", rewrite);
        if (*cells->at == 0)
            return fail(cells, "has a byte of 0, and so is no text", rewrite);
        append(cells, *cells->at);
    }
    while (cells->length > 0 && is_space(cells->text[cells->length - 1]))
        cells->text[--cells->length] = 0;
    return true;
}

/* Steps over what ends a cell. */
static bool end_cell(firn_host_cells *cells, bool *last) {
    *last = cells->at == cells->end || *cells->at != ',';
    if (cells->at < cells->end && *cells->at == '\r') {
        cells->at++;
        if (cells->at == cells->end || *cells->at != '\n')
            return fail(cells, "has a line that ends in CR alone", "write it with LF or CR LF");
    } else if (cells->at < cells->end && *cells->at != ',' && *cells->at != '\n') {
        return fail(cells, "has text behind the quote that ends a cell", rewrite);
    }
    cells->at += cells->at < cells->end;
    cells->row += *last;
    cells->line += *last;
    return true;
}

/* Takes the spaces between quotes away from a number and the like; a text keeps them. */
static void strip_value(firn_host_cells *cells) {
    char *end = cells->text + cells->length, *first = cells->text;
    while (is_space(*first))
        first++;
    while (end > first && is_space(end[-1]))
        end--;
    const char last = *end;
    *end = 0;
    if (firn_host_cell_of(first) == FIRN_HOST_CELL_TEXT) {
        *end = last;
        return;
    }
    cells->length = (size_t)(end - first);
    memmove(cells->text, first, cells->length + 1);
}

bool firn_host_cells_next(firn_host_cells *cells, bool *last) {
    cells->length = 0;
    append(cells, 0);
    cells->length = 0;
    skip_spaces(cells);
    const bool quoted = cells->at < cells->end && *cells->at == '"';
    if (!(quoted ? read_quoted(cells) : read_plain(cells)))
        return false;
    if (quoted)
        strip_value(cells);
    return end_cell(cells, last);
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static const char *skip_digits(const char *text) {
    while (*text >= '0' && *text <= '9')
        text++;
    return text;
}

/* Whether a text is a decimal number such as -1, .5 or 1.5e-3. */
static bool is_number(const char *text) {
    text += *text == '-' || *text == '+';
    const char *whole = skip_digits(text), *fraction = *whole == '.' ? skip_digits(whole + 1) : whole;
    if (fraction - text - (*whole == '.') == 0)
        return false;
    if (*fraction == 'e' || *fraction == 'E') {
        const char *exponent = fraction + 1 + (fraction[1] == '-' || fraction[1] == '+');
        fraction = skip_digits(exponent);
        if (fraction == exponent)
            return false;
    }
    return *fraction == 0;
}

firn_host_cell firn_host_cell_of(const char *text) {
    static const char *const missing[] = {"",     "na", "n/a", "#n/a", "<na>", "nan", "-nan",  "null",
                                          "none", "?",  "-",   "--",   ".",    "nil", "#null!"};
    static const char *const infinite[] = {"inf", "-inf", "+inf", "infinity", "-infinity", "+infinity"};
    if (is_number(text))
        return FIRN_HOST_CELL_NUMBER;
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        if (strcasecmp(text, missing[i]) == 0)
            return FIRN_HOST_CELL_MISSING;
    for (size_t i = 0; i < sizeof infinite / sizeof infinite[0]; i++)
        if (strcasecmp(text, infinite[i]) == 0)
            return FIRN_HOST_CELL_INFINITE;
    return FIRN_HOST_CELL_TEXT;
}

float firn_host_cell_float(const char *number) {
    static locale_t plain;
    if (plain == (locale_t)0)
        plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return strtof_l(number, NULL, plain);
}

/* The digits of a number as an integer, times a power of ten. */
typedef struct decimal {
    uint64_t digits;
    int64_t exponent;
    bool beyond; /* more digits than are kept, of which one is not 0 */
} decimal;

static void add_digit(decimal *number, char digit) {
    if (number->digits >= DIGITS_FULL) {
        number->beyond = number->beyond || digit != '0';
        number->exponent++;
        return;
    }
    number->digits = 10 * number->digits + (uint64_t)(digit - '0');
}

static int64_t exponent_of(const char *text) {
    int64_t exponent = 0;
    const bool negative = *text == '-';
    for (text += *text == '-' || *text == '+'; *text != 0; text++)
        exponent = exponent < 100000 ? 10 * exponent + (*text - '0') : exponent;
    return negative ? -exponent : exponent;
}

bool firn_host_cell_integer(const char *number, int64_t *integer, bool *fraction) {
    decimal value = {0};
    const bool negative = *number == '-';
    bool behind = false;
    for (number += *number == '-' || *number == '+'; *number != 0 && *number != 'e' && *number != 'E'; number++) {
        if (*number == '.') {
            behind = true;
            continue;
        }
        add_digit(&value, *number);
        value.exponent -= behind;
    }
    value.exponent += *number != 0 ? exponent_of(number + 1) : 0;
    while (value.digits != 0 && !value.beyond && value.exponent < 0 && value.digits % 10 == 0) {
        value.digits /= 10;
        value.exponent++;
    }
    *fraction = value.digits != 0 && value.exponent < 0;
    if (value.digits == 0 && !value.beyond)
        value.exponent = 0;
    for (; !*fraction && value.exponent > 0 && value.digits < DIGITS_FULL; value.exponent--)
        value.digits *= 10;
    if (*fraction || value.beyond || value.exponent != 0)
        return false;
    *integer = negative ? -(int64_t)value.digits : (int64_t)value.digits;
    return true;
}
