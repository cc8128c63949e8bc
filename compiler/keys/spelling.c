/* Faults of a recipe's text (compiler/keys/spelling.h). */
#include "compiler/keys/spelling.h"

#include <stdbool.h>
#include <string.h>

#include "compiler/base/text.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- characters --------------------------------------------------------------------------------------------------- */

/* Characters that editors and web pages put in place of ASCII ones. */
static const struct {
    uint32_t first, last;
    const char *name, *mend;
} lookalikes[] = {
    {0x80, 0x9f, "a control character", "remove it"},
    {0xa0, 0xa0, "a no-break space", "write a blank instead"},
    {0xad, 0xad, "a soft hyphen, which cannot be seen", "remove it"},
    {0x1680, 0x1680, "a blank that is not ASCII", "write a blank instead"},
    {0x2000, 0x200a, "a blank that is not ASCII", "write a blank instead"},
    {0x200b, 0x200f, "a character of no width, which cannot be seen", "remove it"},
    {0x2010, 0x2015, "a dash that is not ASCII", "write - instead"},
    {0x2018, 0x201b, "a quote that is not ASCII", "write ' instead, or nothing"},
    {0x201c, 0x201f, "a quote that is not ASCII", "write \" instead, or nothing"},
    {0x2028, 0x2029, "a line separator that is not ASCII", "begin a line instead"},
    {0x202a, 0x202e, "a mark of the direction of writing, which cannot be seen", "remove it"},
    {0x202f, 0x202f, "a no-break space", "write a blank instead"},
    {0x205f, 0x205f, "a blank that is not ASCII", "write a blank instead"},
    {0x2060, 0x2064, "a character of no width, which cannot be seen", "remove it"},
    {0x2212, 0x2212, "a minus sign that is not ASCII", "write - instead"},
    {0x3000, 0x3000, "a blank that is not ASCII", "write a blank instead"},
    {0xfeff, 0xfeff, "a byte order mark, which cannot be seen", "remove it"},
    {0xff0c, 0xff0c, "a comma that is not ASCII", "write , instead"},
    {0xff1a, 0xff1a, "a colon that is not ASCII", "write : instead"},
};

/* Reads the character at `bytes`. Returns its number of bytes; 0 if they are no UTF-8. */
static uint32_t read_character(const uint8_t *bytes, uint64_t count, uint32_t *character) {
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t first = bytes[0];
    const uint32_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (length == 1) {
        *character = first;
        return 1;
    }
    if (first < 0xc2 || first > 0xf4 || length > count)
        return 0;
    *character = first & (0x7fU >> length);
    for (uint32_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        *character = *character << 6 | (bytes[i] & 0x3fU);
    }
    const bool surrogate = *character >= 0xd800 && *character <= 0xdfff;
    return *character < least[length] || *character > 0x10ffff || surrogate ? 0 : length;
}

/* Where in a line the reader is. */
typedef struct position {
    uint32_t line;
    char quote;          /* the quote that is open, or 0 */
    bool comment, blank; /* in a comment; behind a blank or at the beginning of the line */
    bool carriage;       /* behind a carriage return, which ends a line with or without a line feed */
} position;

static void pass(position *at, uint32_t character) {
    if (character == '\n' || character == '\r') {
        at->line += !(character == '\n' && at->carriage);
        at->comment = false;
        at->quote = 0; /* a quoted text of several lines is rare, and a quote in a word is not */
    } else if (at->quote != 0) {
        at->quote = character == (uint32_t)at->quote ? 0 : at->quote;
    } else if (character == '#' && at->blank) {
        at->comment = true;
    } else if (!at->comment && (character == '"' || character == '\'')) {
        at->quote = (char)character;
    }
    at->carriage = character == '\r';
    at->blank = character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

/* What is wrong with a character, or NULL. */
static const char *character_fault(const position *at, uint32_t character) {
    if (character == 0)
        return "there is a zero byte, so this is no text; give text, saved as UTF-8";
    if ((character < ' ' && character != '\t' && character != '\n' && character != '\r') || character == 0x7f)
        return firnc_format("there is a control character (byte %02x); remove it", (unsigned)character);
    for (size_t i = 0; !at->comment && at->quote == 0 && i < COUNT(lookalikes); i++)
        if (character >= lookalikes[i].first && character <= lookalikes[i].last)
            return firnc_format("there is %s (U+%04X); %s", lookalikes[i].name, (unsigned)character,
                                lookalikes[i].mend);
    return NULL;
}

static bool begins(const uint8_t *bytes, uint64_t count, const char *with, uint64_t length) {
    return count >= length && memcmp(bytes, with, length) == 0;
}

const char *firnc_spelling_fault(const uint8_t *bytes, uint64_t count, uint32_t *line) {
    position at = {.line = 1, .blank = true};
    *line = 1;
    if (begins(bytes, count, "\xff\xfe", 2) || begins(bytes, count, "\xfe\xff", 2))
        return "the text is UTF-16 or UTF-32; save it as UTF-8";
    if (count >= 4 && ((bytes[0] == 0) != (bytes[1] == 0)) && ((bytes[2] == 0) != (bytes[3] == 0)))
        return "the text is UTF-16 or UTF-32; save it as UTF-8";
    for (uint64_t i = begins(bytes, count, "\xef\xbb\xbf", 3) ? 3 : 0; i < count;) {
        uint32_t character;
        const uint32_t length = read_character(bytes + i, count - i, &character);
        *line = at.line;
        if (length == 0)
            return firnc_format("the byte %02x is no UTF-8, but perhaps Latin-1; save the file as UTF-8",
                                (unsigned)bytes[i]);
        const char *fault = character_fault(&at, character);
        if (fault != NULL)
            return fault;
        pass(&at, character);
        i += length;
    }
    return NULL;
}

/* --- what the library finds --------------------------------------------------------------------------------------- */

/* The library's words, and those for users. */
static const struct {
    const char *problem, *fault;
    bool began; /* the line where the value began is told, too */
} problems[] = {
    {"mapping values are not allowed",
     "a colon stands where none can; write key: value in this line and in the one before, with a blank behind the "
     "colon, and put a value that has a colon into quotes",
     false},
    {"could not find expected ':'", "a key has no colon behind it; write key: value", false},
    {"did not find expected key",
     "a line has other blanks before it than its neighbours, or the value before it goes on; align it with them",
     false},
    {"did not find expected '-' indicator",
     "a line of a list begins without a dash; align it with the entries, or with the keys of one", false},
    {"did not find expected ',' or ']'", "a list in brackets has no comma or no end; add , or ]", true},
    {"did not find expected ',' or '}'", "a mapping in braces has no comma or no end; add , or }", true},
    {"did not find expected node content", "a value is missing; write one, or take the bracket or comma away", false},
    {"did not find expected <document start>", "a word stands behind the recipe's end; remove it", false},
    {"did not find expected alphabetic", "an & or * has no name behind it; put a text that begins so into quotes",
     false},
    {"unexpected end of stream", "a text in quotes has no end; add the quote", true},
    {"unexpected document indicator", "a text in quotes has no end; add the quote", true},
    {"cannot start any token", "a text begins with a character that YAML reserves; put the text into quotes", false},
    {"block sequence entries are not allowed", "a list begins behind a key; begin it in a line of its own", false},
    {"block mapping", "a mapping begins behind a key; begin it in a line of its own", false},
    {"escape character", "a backslash between double quotes begins no escape; use single quotes", false},
};

/* Whether a tab is among the blanks at the beginning of a line. */
static bool begins_with_tab(const uint8_t *bytes, uint64_t count, uint32_t line) {
    const uint8_t *at = bytes, *end = bytes + count;
    for (uint32_t i = 1; i < line && at < end; at++)
        i += *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] != '\n'));
    while (at < end && *at == ' ')
        at++;
    return at < end && *at == '\t';
}

const char *firnc_yaml_fault(const char *problem, const uint8_t *bytes, uint64_t count, uint32_t line, uint32_t began) {
    if (begins_with_tab(bytes, count, line))
        return "not YAML: the line begins with a tab; YAML is indented by blanks, so write those";
    for (size_t i = 0; problem != NULL && i < COUNT(problems); i++)
        if (strstr(problem, problems[i].problem) != NULL)
            return firnc_format("not YAML: %s%s", problems[i].fault,
                                problems[i].began && began > 0 && began != line
                                    ? firnc_format(" (it begins in line %u)", (unsigned)began)
                                    : "");
    return "not YAML; mend the spelling or the blanks before the line";
}
