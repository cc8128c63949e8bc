/* Fuzzes tokenizers and texts. The input is a tokenizer.json and a text, or a vocab.json, a merges.txt and a text, with
 * a zero byte between two of them. A tokenizer is refused with exactly one message, or encodes the text to ids of its
 * vocabulary, or refuses the text with one message. The ids do not depend on the size of the pieces in which the text
 * is encoded, and those of a byte-level tokenizer that changes nothing decode to the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/tokens/tokenizer.h"
#include "tests/fuzz/fuzz.h"

enum { PARTS = 3, SMALL_PIECE = 5 };

typedef struct part {
    const uint8_t *bytes;
    size_t count;
} part;

static uint32_t faults;

static void count_message(void *context, const char *line) {
    (void)context;
    FUZZ_HOLDS(strncmp(line, "firnc: ", 7) == 0 && strchr(line, '\n') == NULL);
    faults++;
}

static uint32_t split(const uint8_t *data, size_t size, part parts[PARTS]) {
    for (uint32_t count = 0;; count++) {
        const uint8_t *zero = count + 1 < PARTS && size > 0 ? memchr(data, 0, size) : NULL;
        parts[count] = (part){data, zero != NULL ? (size_t)(zero - data) : size};
        if (zero == NULL)
            return count + 1;
        size -= parts[count].count + 1;
        data = zero + 1;
    }
}

static void write_part(const char *name, const part *written) {
    FILE *file = fopen(name, "wb");
    FUZZ_HOLDS(file != NULL && fwrite(written->bytes, 1, written->count, file) == written->count && fclose(file) == 0);
}

static bool read_tokenizer(firnc_tokenizer *tokenizer, const part *parts, uint32_t count) {
    static char names[2][64];
    if (names[0][0] == '\0') {
        snprintf(names[0], sizeof names[0], "/dev/shm/firn-fuzz-%ld.json", (long)getpid());
        snprintf(names[1], sizeof names[1], "/dev/shm/firn-fuzz-%ld.merges", (long)getpid());
    }
    faults = 0;
    write_part(names[0], &parts[0]);
    if (count == PARTS)
        write_part(names[1], &parts[1]);
    const bool read = count == PARTS ? firnc_tokenizer_read_pair(tokenizer, names[0], names[1])
                                     : firnc_tokenizer_read(tokenizer, names[0]);
    remove(names[0]);
    remove(names[1]);
    FUZZ_HOLDS(faults == (read ? 0u : 1u));
    return read;
}

static bool encode(firnc_encoder *encoder, firnc_tokenizer *tokenizer, const part *text, size_t piece) {
    faults = 0;
    firnc_encoder_begin(encoder, tokenizer, "text", false);
    if (piece > 0)
        encoder->piece = piece;
    const bool encoded = firnc_encoder_add(encoder, text->bytes, text->count) && firnc_encoder_end(encoder);
    FUZZ_HOLDS(faults == (encoded ? 0u : 1u));
    return encoded;
}

static bool is_lossless(const firnc_tokenizer *tokenizer) {
    bool lossless = tokenizer->bpe.byte_level && tokenizer->normal_count == 0;
    for (uint32_t i = 0; i < tokenizer->cut_count; i++)
        lossless = lossless && !tokenizer->cuts[i].space;
    for (uint32_t i = 0; i < tokenizer->added.count + tokenizer->added_normalized.count; i++) {
        const firnc_added *token = i < tokenizer->added.count
                                       ? &tokenizer->added.tokens[i]
                                       : &tokenizer->added_normalized.tokens[i - tokenizer->added.count];
        lossless = lossless && !token->left && !token->right;
    }
    return lossless && tokenizer->bpe.unknown == FIRNC_NO_TOKEN;
}

static void check_text(firnc_tokenizer *tokenizer, const part *text) {
    firnc_encoder whole = {0}, small = {0};
    const bool encoded = encode(&whole, tokenizer, text, 0);
    FUZZ_HOLDS(encode(&small, tokenizer, text, SMALL_PIECE) == encoded);
    if (!encoded)
        return;
    FUZZ_HOLDS(whole.ids.count == small.ids.count);
    firnc_decoder decoder;
    firnc_decoder_begin(&decoder, tokenizer);
    for (uint32_t i = 0; i < whole.ids.count; i++) {
        FUZZ_HOLDS(whole.ids.ids[i] == small.ids.ids[i]);
        FUZZ_HOLDS(whole.ids.ids[i] < tokenizer->bpe.vocabulary.count);
        firnc_decoder_add(&decoder, whole.ids.ids[i]);
    }
    if (is_lossless(tokenizer) && text->count > 0)
        FUZZ_HOLDS(decoder.text.length == text->count && memcmp(decoder.text.text, text->bytes, text->count) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    part parts[PARTS];
    const uint32_t count = split(data, size, parts);
    static const part sample = {(const uint8_t *)"It's  1 text\n", 13};
    static firnc_tokenizer tokenizer;
    firnc_messages_to(count_message, NULL);
    const firnc_mark mark = firnc_memory_mark();
    if (read_tokenizer(&tokenizer, parts, count))
        check_text(&tokenizer, count > 1 ? &parts[count - 1] : &sample);
    firnc_memory_release(mark);
    return 0;
}
