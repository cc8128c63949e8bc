/* The patterns by hand (compiler/tokens/split.h). Each function takes the alternatives in the order of its expression.
 */
#include "compiler/tokens/split.h"

#include <stdbool.h>
#include <string.h>

#include "compiler/tokens/unicode.h"

#define LONG_S 0x17Fu /* equals s where case does not count */

static const struct {
    const char *expression;
    firnc_pattern pattern;
} expressions[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", FIRNC_PATTERN_GPT2},
    {"'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", FIRNC_PATTERN_GPT2},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
     "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     FIRNC_PATTERN_LLAMA3},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
     "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     FIRNC_PATTERN_QWEN2},
};

firnc_pattern firnc_pattern_find(const char *expression) {
    for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++)
        if (strcmp(expression, expressions[i].expression) == 0)
            return expressions[i].pattern;
    return FIRNC_PATTERN_NONE;
}

/* --- characters --------------------------------------------------------------------------------------------------- */

/* Where a pattern looks: the character at `at`, its class and its end. */
typedef struct cursor {
    const uint8_t *text;
    size_t length, at, end;
    uint32_t code;
    uint8_t kind; /* FIRNC_LETTER, FIRNC_NUMBER or FIRNC_SPACE; 0 for any other character and behind the end */
} cursor;

enum { KINDS = FIRNC_LETTER | FIRNC_NUMBER | FIRNC_SPACE };

static void look(cursor *c, size_t at) {
    uint32_t size = 0;
    c->at = at;
    c->code = at < c->length ? firnc_utf8_read(c->text + at, c->length - at, &size) : 0;
    c->kind = at < c->length ? firnc_unicode_table()[c->code] & KINDS : 0;
    c->end = at + size;
}

static bool at_end(const cursor *c) {
    return c->at == c->length;
}

static bool is_line_end(const cursor *c) {
    return !at_end(c) && (c->code == '\r' || c->code == '\n');
}

/* Moves behind at most `most` characters of a kind, and returns whether there was one. */
static bool skip(cursor *c, uint8_t kind, size_t most) {
    const size_t from = c->at;
    for (size_t i = 0; i < most && !at_end(c) && c->kind == kind; i++)
        look(c, c->end);
    return c->at > from;
}

/* --- alternatives: each returns the end of the word, or 0 where it does not match at the beginning ---------------- */

static uint8_t small(uint32_t code) {
    return (uint8_t)(code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code == LONG_S ? 's' : code < 0x80 ? code : 0);
}

/* 's 't 're 've 'm 'll 'd, and their capitals if asked for */
static size_t contraction(const cursor *start, bool any_case) {
    if (start->code != '\'')
        return 0;
    cursor c = *start;
    look(&c, c.end);
    const uint8_t first = any_case ? small(c.code) : (uint8_t)(c.code < 0x80 ? c.code : 0);
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return c.end;
    look(&c, c.end);
    const uint8_t second = any_case ? small(c.code) : (uint8_t)(c.code < 0x80 ? c.code : 0);
    const bool found = ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
    return found && !at_end(&c) ? c.end : 0;
}

/* A run of a kind, with a space before it. */
static size_t spaced(const cursor *start, uint8_t kind, bool with_line_ends) {
    cursor c = *start;
    if (c.code == ' ')
        look(&c, c.end);
    if (!skip(&c, kind, SIZE_MAX))
        return 0;
    while (with_line_ends && is_line_end(&c))
        look(&c, c.end);
    return c.at;
}

/* [^\r\n\p{L}\p{N}]?\p{L}+ */
static size_t led_letters(const cursor *start) {
    cursor c = *start;
    if ((c.kind & (FIRNC_LETTER | FIRNC_NUMBER)) == 0 && !is_line_end(&c))
        look(&c, c.end);
    return skip(&c, FIRNC_LETTER, SIZE_MAX) ? c.at : 0;
}

/* \s+(?!\S)|\s+: the last space of a run is left to the word behind the run. */
static size_t spaces(const cursor *start) {
    cursor c = *start;
    size_t last = c.at;
    while (!at_end(&c) && c.kind == FIRNC_SPACE) {
        last = c.at;
        look(&c, c.end);
    }
    return at_end(&c) || last == start->at ? c.at : last;
}

/* \s*[\r\n]+: a run of spaces up to its last line end */
static size_t spaces_to_line_end(const cursor *start) {
    size_t end = 0;
    for (cursor c = *start; !at_end(&c) && c.kind == FIRNC_SPACE; look(&c, c.end))
        if (is_line_end(&c))
            end = c.end;
    return end;
}

static size_t word_gpt2(const cursor *start) {
    size_t end = contraction(start, false);
    if (end == 0)
        end = spaced(start, FIRNC_LETTER, false);
    if (end == 0)
        end = spaced(start, FIRNC_NUMBER, false);
    if (end == 0)
        end = spaced(start, 0, false);
    return end != 0 ? end : spaces(start);
}

/* Llama 3 and Qwen 2 differ in how many digits are a word. */
static size_t word_newer(const cursor *start, size_t digits) {
    size_t end = contraction(start, true);
    if (end == 0)
        end = led_letters(start);
    cursor c = *start;
    if (end == 0 && skip(&c, FIRNC_NUMBER, digits))
        end = c.at;
    if (end == 0)
        end = spaced(start, 0, true);
    if (end == 0)
        end = spaces_to_line_end(start);
    return end != 0 ? end : spaces(start);
}

size_t firnc_pattern_word(firnc_pattern pattern, const uint8_t *text, size_t length) {
    cursor start = {.text = text, .length = length};
    look(&start, 0);
    return pattern == FIRNC_PATTERN_GPT2 ? word_gpt2(&start)
                                         : word_newer(&start, pattern == FIRNC_PATTERN_QWEN2 ? 1 : 3);
}

size_t firnc_pattern_gap(const uint8_t *text, size_t length) {
    const uint8_t *table = firnc_unicode_table();
    uint8_t after = 0;
    uint32_t size;
    size_t at = length;
    for (bool first = true; at > 0; first = false) {
        const uint8_t before = table[firnc_utf8_read_back(text, at, &size)] & KINDS;
        if (!first && before != after && (before == FIRNC_LETTER || before == FIRNC_NUMBER))
            return at;
        after = before;
        at -= size;
    }
    return 0;
}
