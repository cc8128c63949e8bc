/* Decodes ids to the text of their tokens (compiler/tokens/tokenizer.h): bytes of byte-level tokens, and otherwise
 * characters, in which the sign of a space becomes a space again. Added tokens are written as they are. */
#include <string.h>

#include "compiler/tokens/tokenizer.h"

/* The character that encoding writes for a space; NULL if a space stays one. */
static const char *space_sign(const firnc_tokenizer *tokenizer) {
    for (uint32_t i = 0; i < tokenizer->cut_count; i++)
        if (tokenizer->cuts[i].kind == FIRNC_CUT_METASPACE)
            return tokenizer->cuts[i].replacement;
    for (uint32_t i = 0; i < tokenizer->normal_count; i++) {
        const firnc_normal_step *step = &tokenizer->normal[i];
        if (step->kind == FIRNC_NORMAL_REPLACE && strcmp(step->pattern, " ") == 0 && step->content[0] != '\0')
            return step->content;
    }
    return NULL;
}

/* Whether encoding adds the sign of a space before a text. */
static bool prepends(const firnc_tokenizer *tokenizer, const char *sign) {
    for (uint32_t i = 0; i < tokenizer->cut_count; i++)
        if (tokenizer->cuts[i].kind == FIRNC_CUT_METASPACE)
            return tokenizer->cuts[i].prepend != FIRNC_PREPEND_NEVER;
    for (uint32_t i = 0; i < tokenizer->normal_count; i++)
        if (tokenizer->normal[i].kind == FIRNC_NORMAL_PREPEND && strcmp(tokenizer->normal[i].content, sign) == 0)
            return true;
    return false;
}

void firnc_decoder_begin(firnc_decoder *decoder, const firnc_tokenizer *tokenizer) {
    *decoder = (firnc_decoder){.tokenizer = tokenizer, .space = space_sign(tokenizer)};
    decoder->begins = decoder->space != NULL && prepends(tokenizer, decoder->space);
    firnc_bytes_of_characters(decoder->bytes);
}

/* A token with a character that stands for no byte is written as it is. */
static void add_bytes(firnc_decoder *decoder, const firnc_token *token) {
    firnc_growing_text *to = &decoder->text;
    const uint64_t before = to->length;
    uint32_t size;
    for (uint32_t at = 0; at < token->length; at += size) {
        const uint32_t code = firnc_utf8_read(token->text + at, token->length - at, &size);
        const uint16_t byte = code < FIRNC_BYTE_CHARACTERS ? decoder->bytes[code] : UINT16_MAX;
        if (byte == UINT16_MAX) {
            to->length = before;
            firnc_text_add(to, token->text, token->length);
            return;
        }
        firnc_text_add(to, &(uint8_t){(uint8_t)byte}, 1);
    }
}

/* Whether a token stands for a byte, <0x00> to <0xFF>. */
static bool is_byte(const firnc_bpe *bpe, uint32_t id, uint8_t *byte) {
    for (uint32_t i = 0; bpe->byte_fallback && i < 256; i++)
        if (bpe->byte_ids[i] == id) {
            *byte = (uint8_t)i;
            return true;
        }
    return false;
}

static void add_characters(firnc_decoder *decoder, const firnc_token *token) {
    const size_t size = decoder->space != NULL ? strlen(decoder->space) : 0;
    for (uint32_t at = 0; at < token->length;) {
        const bool space =
            size > 0 && token->length - at >= size && memcmp(token->text + at, decoder->space, size) == 0;
        if (!space)
            firnc_text_add(&decoder->text, token->text + at, 1);
        else if (at > 0 || !decoder->begins)
            firnc_text_add(&decoder->text, " ", 1);
        at += space ? (uint32_t)size : 1;
    }
}

void firnc_decoder_add(firnc_decoder *decoder, uint32_t id) {
    const firnc_bpe *bpe = &decoder->tokenizer->bpe;
    const firnc_token *token = &bpe->vocabulary.tokens[id];
    uint8_t byte;
    if (!bpe->byte_level && is_byte(bpe, id, &byte))
        firnc_text_add(&decoder->text, &byte, 1);
    else if (token->added)
        firnc_text_add(&decoder->text, token->text, token->length);
    else if (bpe->byte_level)
        add_bytes(decoder, token);
    else
        add_characters(decoder, token);
    decoder->begins = false;
}
