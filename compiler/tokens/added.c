/* The search for added tokens (compiler/tokens/added.h). The tokens are sorted, so that those which begin with the same
 * bytes are neighbours, and each further byte narrows a range of them. */
#include "compiler/tokens/added.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/tokens/unicode.h"

static int by_text(const void *a, const void *b) {
    const firnc_added *one = a, *other = b;
    const uint32_t shorter = one->length < other->length ? one->length : other->length;
    const int order = memcmp(one->text, other->text, shorter);
    return order != 0 ? order : one->length < other->length ? -1 : one->length > other->length;
}

void firnc_added_sort(firnc_added_list *list) {
    if (list->count > 1)
        qsort(list->tokens, list->count, sizeof *list->tokens, by_text);
    for (uint32_t i = 0; i < list->count; i++) {
        const firnc_added *token = &list->tokens[i];
        list->begins[token->text[0]] = true;
        list->left = list->left || token->left;
        list->longest = token->length > list->longest ? token->length : list->longest;
    }
}

/* The first token from `low` to `high` whose byte at `place` is at least `byte`. */
static uint32_t lower_bound(const firnc_added_list *list, uint32_t low, uint32_t high, size_t place, uint32_t byte) {
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        const firnc_added *token = &list->tokens[middle];
        if (token->length <= place || token->text[place] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The longest token with which a text begins; NULL if there is none. */
static const firnc_added *longest(const firnc_added_list *list, const uint8_t *text, size_t length) {
    const firnc_added *found = NULL;
    uint32_t low = 0, high = list->count;
    for (size_t place = 0; place < length; place++) {
        low = lower_bound(list, low, high, place, text[place]);
        high = lower_bound(list, low, high, place, text[place] + 1u);
        if (low == high)
            break;
        if (list->tokens[low].length == place + 1)
            found = &list->tokens[low];
    }
    return found;
}

/* --- white space and words around a token ------------------------------------------------------------------------- */

static uint8_t class_before(const uint8_t *text, size_t place, uint32_t *size) {
    return firnc_unicode_table()[firnc_utf8_read_back(text, place, size)];
}

bool firnc_added_word_before(const firnc_added_search *search, size_t place) {
    uint32_t size;
    return place == 0 ? search->word_before : (class_before(search->text, place, &size) & FIRNC_WORD) != 0;
}

static bool word_behind(const firnc_added_search *search, size_t place) {
    uint32_t size;
    return place < search->length &&
           (firnc_unicode_table()[firnc_utf8_read(search->text + place, search->length - place, &size)] & FIRNC_WORD) !=
               0;
}

static size_t without_spaces_before(const firnc_added_search *search, size_t place) {
    uint32_t size;
    while (place > search->taken && (class_before(search->text, place, &size) & FIRNC_SPACE) != 0)
        place -= size;
    return place;
}

static size_t behind_spaces(const firnc_added_search *search, size_t place) {
    uint32_t size;
    while (place < search->length &&
           (firnc_unicode_table()[firnc_utf8_read(search->text + place, search->length - place, &size)] &
            FIRNC_SPACE) != 0)
        place += size;
    return place;
}

/* --- the search --------------------------------------------------------------------------------------------------- */

bool firnc_added_find(const firnc_added_list *list, firnc_added_search *search, firnc_added_match *match) {
    /* Before the text ends, a token needs the bytes behind it in sight: those of the longest one, and one character. */
    const size_t ahead = search->last || list->count == 0 ? 0 : list->longest + FIRNC_UTF8_MAX;
    size_t at = search->from;
    for (; at < search->length; at++) {
        if (!list->begins[search->text[at]])
            continue;
        if (search->length - at < ahead)
            break;
        const firnc_added *token = longest(list, search->text + at, search->length - at);
        if (token == NULL)
            continue;
        size_t end = at + token->length;
        const bool touched = token->single_word && (firnc_added_word_before(search, at) || word_behind(search, end));
        if ((search->plain && token->special) || touched) {
            at = end - 1;
            continue;
        }
        if (token->right)
            end = behind_spaces(search, end);
        if (token->right && end == search->length && !search->last)
            break;
        *match = (firnc_added_match){token->id, token->left ? without_spaces_before(search, at) : at, end};
        search->taken = search->from = end;
        return true;
    }
    match->begin = search->from = at;
    return false;
}
