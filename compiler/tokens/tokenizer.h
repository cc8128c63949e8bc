/* A tokenizer: what its files say, and the encoding and decoding of texts with it. A function that fails returns false
 * after one message. Everything belongs to the compiler's memory. */
#ifndef FIRNC_TOKENS_TOKENIZER_H
#define FIRNC_TOKENS_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/base/text.h"
#include "compiler/tokens/added.h"
#include "compiler/tokens/bpe.h"
#include "compiler/tokens/bytes.h"
#include "compiler/tokens/split.h"
#include "compiler/tokens/unicode.h"

/* --- what the files say ------------------------------------------------------------------------------------------- */

typedef enum firnc_normal_kind { FIRNC_NORMAL_NFC, FIRNC_NORMAL_PREPEND, FIRNC_NORMAL_REPLACE } firnc_normal_kind;

/* A step of the normalizer. */
typedef struct firnc_normal_step {
    firnc_normal_kind kind;
    const char *pattern; /* REPLACE: what is replaced, at least one byte */
    const char *content; /* REPLACE, PREPEND */
} firnc_normal_step;

/* What a step of the normalizer knows of a piece of text. */
typedef struct firnc_normal_state {
    firnc_growing_text held; /* the input that is not yet decided */
    bool begun;              /* the step has had input */
} firnc_normal_state;

typedef enum firnc_cut_kind { FIRNC_CUT_SPLIT, FIRNC_CUT_BYTES, FIRNC_CUT_METASPACE } firnc_cut_kind;
typedef enum firnc_prepend { FIRNC_PREPEND_ALWAYS, FIRNC_PREPEND_FIRST, FIRNC_PREPEND_NEVER } firnc_prepend;

/* A step of the pre-tokenizer. */
typedef struct firnc_cut_step {
    firnc_cut_kind kind;
    firnc_pattern pattern;   /* SPLIT, BYTES; FIRNC_PATTERN_NONE: the text stays whole */
    bool space;              /* BYTES: a space is added before a text that has none */
    firnc_prepend prepend;   /* METASPACE: before which texts its character is added */
    const char *replacement; /* METASPACE: the character that stands for a space */
    bool split;              /* METASPACE: its character begins a word */
} firnc_cut_step;

enum { FIRNC_TOKENIZER_STEPS_MAX = 8 };

typedef struct firnc_tokenizer {
    const char *name; /* of the file, for messages */
    firnc_bpe bpe;    /* the vocabulary also has the tokens that are only added */
    firnc_normal_step normal[FIRNC_TOKENIZER_STEPS_MAX];
    uint32_t normal_count;
    firnc_cut_step cuts[FIRNC_TOKENIZER_STEPS_MAX];
    uint32_t cut_count;
    firnc_added_list added;            /* sought in the text as it is */
    firnc_added_list added_normalized; /* sought in normalized text */
    firnc_ids before, after;           /* what post_processor adds to a text */
    const char *unread_processor; /* what of post_processor is not read, so that --special is refused; NULL: nothing */
} firnc_tokenizer;

/* Reads a tokenizer.json. */
bool firnc_tokenizer_read(firnc_tokenizer *tokenizer, const char *name);

/* Reads a vocab.json and a merges.txt as GPT-2 has them: byte-level, with GPT-2's pattern. <|endoftext|> is a special
 * token if the vocabulary has it. */
bool firnc_tokenizer_read_pair(firnc_tokenizer *tokenizer, const char *vocabulary, const char *merges);

/* --- encoding ----------------------------------------------------------------------------------------------------- */

/* Bytes of a text that are held at most, because nothing says yet where a word in them ends. */
enum { FIRNC_TOKENS_WINDOW_MAX = 4 << 20 };

/* Encodes texts one after another, in pieces of any length. Initialise it by firnc_encoder_begin. */
typedef struct firnc_encoder {
    firnc_tokenizer *tokenizer;
    const char *name;    /* of the text, for messages */
    bool plain;          /* special tokens inside a text are text */
    size_t piece;        /* bytes of the text that are looked at together; tests take fewer. No id depends on it */
    firnc_ids ids;       /* what is encoded and not yet taken; the caller sets its count to 0 */
    uint64_t invalid;    /* bytes of the text that are no UTF-8, which byte-level tokenizers encode as they are */
    uint64_t invalid_at; /* the offset of the first one */

    struct firnc_stage {
        firnc_growing_text held; /* what is not yet decided */
        size_t decided;          /* no added token begins before this place in it */
        bool word_before;
    } raw, normalized;
    uint64_t offset;  /* of the first byte that is held, in the text */
    uint64_t checked; /* bytes of the text that were looked at for UTF-8 */
    bool words_begin; /* nothing of the normalized text between two added tokens was cut into words yet */
    bool text_begins; /* nothing of the text was cut into words yet */
    firnc_normal_state normal[FIRNC_TOKENIZER_STEPS_MAX];
    firnc_growing_text cut_scratch[FIRNC_TOKENIZER_STEPS_MAX];
    firnc_nfc nfc;
} firnc_encoder;

/* Begins a text. The memory of an encoder that has been used is used again, and its ids stay; the first time it is {0}.
 */
void firnc_encoder_begin(firnc_encoder *encoder, firnc_tokenizer *tokenizer, const char *name, bool plain);

/* Takes the next bytes of the text. */
bool firnc_encoder_add(firnc_encoder *encoder, const uint8_t *bytes, size_t count);

/* Ends the text: all its ids are then in encoder->ids. */
bool firnc_encoder_end(firnc_encoder *encoder);

/* --- decoding ----------------------------------------------------------------------------------------------------- */

typedef struct firnc_decoder {
    const firnc_tokenizer *tokenizer;
    firnc_growing_text text; /* what is decoded and not yet taken; the caller sets its length to 0 */
    uint16_t bytes[FIRNC_BYTE_CHARACTERS];
    const char *space; /* what tokens have for a space; NULL: a space */
    bool begins;       /* a space at the beginning was added by the encoder, and nothing was decoded yet */
} firnc_decoder;

void firnc_decoder_begin(firnc_decoder *decoder, const firnc_tokenizer *tokenizer);

/* Appends the text of an id below the count of the vocabulary. */
void firnc_decoder_add(firnc_decoder *decoder, uint32_t id);

/* --- shared by the files of this folder --------------------------------------------------------------------------- */

/* Takes the next bytes of a piece of text, which end with a whole character, and appends as much of its normalized form
 * as no later bytes can change. last: the piece ends here, so all of it is appended, and the states are ready for the
 * next piece. There is a state for each step; before the first piece all are {0}. */
void firnc_normalize(const firnc_tokenizer *tokenizer, const uint8_t *text, size_t count, bool last,
                     firnc_normal_state *states, firnc_nfc *nfc, firnc_growing_text *to);

#endif
