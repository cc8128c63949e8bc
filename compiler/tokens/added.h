/* Finds added tokens, such as <|endoftext|>, in a text: from left to right the longest one. */
#ifndef FIRNC_TOKENS_ADDED_H
#define FIRNC_TOKENS_ADDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct firnc_added {
    const uint8_t *text; /* at least one byte */
    uint32_t length, id;
    bool single_word; /* only where no character of a word touches it */
    bool left, right; /* with the white space before, behind it */
    bool special;
} firnc_added;

typedef struct firnc_added_list {
    firnc_added *tokens; /* in the order of their bytes, after firnc_added_sort */
    uint32_t count;
    uint32_t longest; /* bytes */
    bool left;        /* a token takes the white space before it */
    bool begins[256]; /* a token begins with the byte */
} firnc_added_list;

/* Makes the list ready once its tokens are there, if any. Their texts differ. */
void firnc_added_sort(firnc_added_list *list);

/* A text in which tokens are sought, and how far the search is. */
typedef struct firnc_added_search {
    const uint8_t *text;
    size_t length;
    size_t taken;     /* what lies before belongs to no further token */
    size_t from;      /* no further token begins before */
    bool word_before; /* the character before the text is one of a word */
    bool last;        /* the text ends here; else what follows it is not known */
    bool plain;       /* special tokens are text */
} firnc_added_search;

typedef struct firnc_added_match {
    uint32_t id;
    size_t begin, end; /* with white space that it takes */
} firnc_added_match;

/* Finds the next token and moves the search behind it. False: no token begins before match->begin. What lies from there
 * on needs more text, unless match->begin is the end of the text. */
bool firnc_added_find(const firnc_added_list *list, firnc_added_search *search, firnc_added_match *match);

/* Whether the character before a place is one of a word. */
bool firnc_added_word_before(const firnc_added_search *search, size_t place);

#endif
