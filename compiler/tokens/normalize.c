/* The normalizer's steps, one after another (compiler/tokens/tokenizer.h). */
#include <string.h>

#include "compiler/tokens/tokenizer.h"

/* Appends a text in which each `pattern`, found from the left, is replaced. */
static void replace(const char *pattern, const char *content, const uint8_t *text, size_t count,
                    firnc_growing_text *to) {
    const size_t length = strlen(pattern);
    size_t copied = 0;
    for (size_t at = 0; at + length <= count;) {
        const uint8_t *found = memchr(text + at, pattern[0], count - length + 1 - at);
        if (found == NULL)
            break;
        at = (size_t)(found - text);
        if (memcmp(found, pattern, length) != 0) {
            at++;
            continue;
        }
        firnc_text_add(to, text + copied, at - copied);
        firnc_text_add(to, content, strlen(content));
        at += length;
        copied = at;
    }
    firnc_text_add(to, text + copied, count - copied);
}

static void apply(const firnc_normal_step *step, const uint8_t *text, size_t count, bool begins, firnc_nfc *nfc,
                  firnc_growing_text *to) {
    switch (step->kind) {
    case FIRNC_NORMAL_NFC:
        firnc_nfc_add(to, text, count, nfc);
        return;
    case FIRNC_NORMAL_PREPEND:
        if (begins && count > 0)
            firnc_text_add(to, step->content, strlen(step->content));
        firnc_text_add(to, text, count);
        return;
    case FIRNC_NORMAL_REPLACE:
        replace(step->pattern, step->content, text, count, to);
        return;
    }
}

void firnc_normalize(const firnc_tokenizer *tokenizer, const uint8_t *text, size_t count, bool begins,
                     firnc_growing_text scratch[2], firnc_nfc *nfc, firnc_growing_text *to) {
    for (uint32_t i = 0; i < tokenizer->normal_count; i++) {
        firnc_growing_text *result = i + 1 == tokenizer->normal_count ? to : &scratch[i % 2];
        if (result != to)
            result->length = 0;
        apply(&tokenizer->normal[i], text, count, begins, nfc, result);
        text = (const uint8_t *)result->text;
        count = result->length;
    }
    if (tokenizer->normal_count == 0)
        firnc_text_add(to, text, count);
}

/* --- where a text may be cut -------------------------------------------------------------------------------------- */

static bool is_one_character(const char *text) {
    uint32_t length;
    const size_t bytes = strlen(text);
    (void)firnc_utf8_read((const uint8_t *)text, bytes, &length);
    return length == bytes;
}

/* A pattern of several characters may lie across any cut, and NFC behind another step sees characters that the text
 * does not have. Such texts are normalized whole. */
static bool is_divisible(const firnc_tokenizer *tokenizer) {
    for (uint32_t i = 0; i < tokenizer->normal_count; i++) {
        const firnc_normal_step *step = &tokenizer->normal[i];
        if ((step->kind == FIRNC_NORMAL_NFC && i > 0) ||
            (step->kind == FIRNC_NORMAL_REPLACE && !is_one_character(step->pattern)))
            return false;
    }
    return true;
}

size_t firnc_normal_gap(const firnc_tokenizer *tokenizer, const uint8_t *text, size_t count) {
    const bool nfc = tokenizer->normal_count > 0 && tokenizer->normal[0].kind == FIRNC_NORMAL_NFC;
    if (!is_divisible(tokenizer))
        return 0;
    if (!nfc)
        return count;
    uint32_t size;
    for (size_t at = count; at > 0; at -= size) {
        const uint32_t code = firnc_utf8_read_back(text, at, &size);
        if ((firnc_unicode_table()[code] & FIRNC_JOINS) == 0)
            return at - size;
    }
    return 0;
}
