/* What tells tokenizers apart (compiler/job/tokenizer.h). */
#include "compiler/job/tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "compiler/base/files.h"
#include "compiler/base/text.h"
#include "compiler/base/words.h"
#include "plan/errors.h"
#include "plan/signature.h"

#define TOKENIZER_BYTES_MAX ((uint64_t)256 << 20)

enum { NOTE_BYTES = 2 * FIRNC_IDENTITY_BYTES + 1 };

static bool hash_file(const char *name, uint8_t digest[FIRNC_IDENTITY_BYTES]) {
    firnc_bytes bytes;
    return firnc_file_read(name, TOKENIZER_BYTES_MAX, &bytes) &&
           firn_sha256_of(bytes.data, (size_t)bytes.count, digest) == FIRN_OK;
}

bool firnc_tokenizer_identity(const char *tokenizer, const char *merges, uint8_t identity[FIRNC_IDENTITY_BYTES]) {
    uint8_t both[2 * FIRNC_IDENTITY_BYTES];
    if (merges == NULL)
        return hash_file(tokenizer, identity);
    return hash_file(tokenizer, both) && hash_file(merges, both + FIRNC_IDENTITY_BYTES) &&
           firn_sha256_of(both, sizeof both, identity) == FIRN_OK;
}

/* --- notes -------------------------------------------------------------------------------------------------------- */

const char *firnc_tokenizer_note_name(const char *ids) {
    return firnc_format("%s" FIRNC_TOKENIZER_NOTE, ids);
}

firnc_file firnc_tokenizer_note(const char *ids, const uint8_t identity[FIRNC_IDENTITY_BYTES]) {
    uint8_t *text = firnc_allocate_aligned(NOTE_BYTES + 1);
    memcpy(text, firnc_format("%s\n", firnc_hex(identity, FIRNC_IDENTITY_BYTES)), NOTE_BYTES + 1);
    return (firnc_file){firnc_tokenizer_note_name(ids), {.data = text, .count = NOTE_BYTES}};
}

bool firnc_tokenizer_is_note(const char *name) {
    const size_t length = strlen(name), end = strlen(FIRNC_TOKENIZER_NOTE);
    return length > end && strcmp(name + length - end, FIRNC_TOKENIZER_NOTE) == 0;
}

/* The value of a digit as firnc_hex writes it, or 16. */
static uint32_t digit_of(char digit) {
    static const char digits[] = "0123456789abcdef";
    const char *found = digit != '\0' ? strchr(digits, digit) : NULL;
    return found != NULL ? (uint32_t)(found - digits) : 16;
}

/* A note is read with one byte to spare, so that a longer file is seen to be none. */
static uint64_t note_extent(const uint8_t *bytes, uint64_t count) {
    (void)bytes;
    (void)count;
    return NOTE_BYTES + 1;
}

bool firnc_tokenizer_note_read(const char *name, uint8_t identity[FIRNC_IDENTITY_BYTES]) {
    firnc_bytes bytes;
    if (!firnc_file_read_part(name, TOKENIZER_BYTES_MAX, note_extent, &bytes))
        return false;
    bool good = bytes.count == NOTE_BYTES && bytes.data[NOTE_BYTES - 1] == '\n';
    for (uint32_t i = 0; good && i < FIRNC_IDENTITY_BYTES; i++) {
        const uint32_t high = digit_of((char)bytes.data[(size_t)2 * i]),
                       low = digit_of((char)bytes.data[(size_t)2 * i + 1]);
        good = high < 16 && low < 16;
        identity[i] = (uint8_t)(high << 4 | low);
    }
    if (!good)
        firnc_say("firnc: %s: is no note of firnc tokens, which is 64 hexadecimal digits and the end of a line; encode "
                  "the text again, or give the tokenizer.json",
                  name);
    return good;
}
