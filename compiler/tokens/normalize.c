/* The normalizer's steps, one after another (compiler/tokens/tokenizer.h). Each step keeps what later bytes could
 * change: a beginning of its pattern, or the last character that a mark could join. */
#include <string.h>

#include "compiler/tokens/tokenizer.h"

/* Appends a text in which each `pattern`, found from the left, is replaced. Returns the bytes of the text that are
 * decided: all of them if the text ends here, else those before a beginning of the pattern at its end. */
static size_t replace(const char *pattern, const char *content, const uint8_t *text, size_t count, bool last,
                      firnc_growing_text *to) {
    const size_t length = strlen(pattern);
    size_t copied = 0, at = 0;
    while (at < count) {
        const uint8_t *found = memchr(text + at, pattern[0], count - at);
        at = found == NULL ? count : (size_t)(found - text);
        const size_t left = count - at;
        if (left < length) {
            if (!last && left > 0 && memcmp(found, pattern, left) == 0)
                break;
            at += left > 0;
            continue;
        }
        if (memcmp(found, pattern, length) != 0) {
            at++;
            continue;
        }
        firnc_text_add(to, text + copied, at - copied);
        firnc_text_add(to, content, strlen(content));
        at += length;
        copied = at;
    }
    firnc_text_add(to, text + copied, at - copied);
    return at;
}

/* Appends the NFC of a text, up to the last character that joins none before it unless the text ends here. Returns its
 * bytes. */
static size_t compose(const uint8_t *text, size_t count, bool last, firnc_nfc *nfc, firnc_growing_text *to) {
    uint32_t size = 0;
    bool joins = !last;
    size_t at = count;
    while (joins && at > 0) {
        joins = (firnc_unicode_table()[firnc_utf8_read_back(text, at, &size)] & FIRNC_JOINS) != 0;
        at -= size;
    }
    firnc_nfc_add(to, text, at, nfc);
    return at;
}

/* Runs a step over what it holds, and keeps what is not decided. */
static void run_step(const firnc_normal_step *step, firnc_normal_state *state, bool last, firnc_nfc *nfc,
                     firnc_growing_text *to) {
    const uint8_t *text = (const uint8_t *)state->held.text;
    const size_t count = state->held.length;
    size_t decided = count;
    switch (step->kind) {
    case FIRNC_NORMAL_NFC:
        decided = compose(text, count, last, nfc, to);
        break;
    case FIRNC_NORMAL_PREPEND:
        if (!state->begun && count > 0)
            firnc_text_add(to, step->content, strlen(step->content));
        firnc_text_add(to, text, count);
        break;
    case FIRNC_NORMAL_REPLACE:
        decided = replace(step->pattern, step->content, text, count, last, to);
        break;
    }
    state->begun = !last && (state->begun || count > 0);
    memmove(state->held.text, text + decided, count - decided);
    state->held.length = count - decided;
}

void firnc_normalize(const firnc_tokenizer *tokenizer, const uint8_t *text, size_t count, bool last,
                     firnc_normal_state *states, firnc_nfc *nfc, firnc_growing_text *to) {
    firnc_text_add(tokenizer->normal_count > 0 ? &states[0].held : to, text, count);
    for (uint32_t i = 0; i < tokenizer->normal_count; i++)
        run_step(&tokenizer->normal[i], &states[i], last, nfc,
                 i + 1 < tokenizer->normal_count ? &states[i + 1].held : to);
}
