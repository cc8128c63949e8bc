/* The patterns of Split and ByteLevel, each a function: regular expressions are not interpreted. A text is cut into
 * words from its beginning; every character is in one word. */
#ifndef FIRNC_TOKENS_SPLIT_H
#define FIRNC_TOKENS_SPLIT_H

#include <stddef.h>
#include <stdint.h>

typedef enum firnc_pattern {
    FIRNC_PATTERN_GPT2,
    FIRNC_PATTERN_LLAMA3,
    FIRNC_PATTERN_QWEN2,
    FIRNC_PATTERN_NONE
} firnc_pattern;

/* The pattern that a regular expression of a tokenizer.json is, by its exact text; FIRNC_PATTERN_NONE for others. */
firnc_pattern firnc_pattern_find(const char *expression);

/* The length of the first word of a text of at least one byte. */
size_t firnc_pattern_word(firnc_pattern pattern, const uint8_t *text, size_t length);

/* The last place in a text that is between two words whatever follows the text; 0 if there is none. It holds for every
 * pattern: letters and numbers end a word where another class begins. */
size_t firnc_pattern_gap(const uint8_t *text, size_t length);

#endif
