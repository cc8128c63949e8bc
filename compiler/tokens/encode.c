/* Encodes texts (compiler/tokens/tokenizer.h). A text goes through two stages: in the first added tokens are found in
 * it as it is, in the second in the normalized text between them; what is left is cut into words for the BPE. Each
 * stage holds what later bytes could change, and no stage looks at a text as a whole. */
#include <string.h>

#include "compiler/tokens/tokenizer.h"

enum { PIECE_BYTES = 1 << 16 };

/* --- words -------------------------------------------------------------------------------------------------------- */

static bool encode_word(firnc_encoder *encoder, const uint8_t *word, size_t length, bool whole) {
    firnc_bpe *bpe = &encoder->tokenizer->bpe;
    if (length == 0 || firnc_bpe_encode(bpe, word, length, whole, &encoder->ids))
        return true;
    firnc_say(
        "firnc: %s: has the character U+%04X, for which %s has no token and no unk_token; remove it from the text, "
        "or take a tokenizer that has it",
        encoder->name, (unsigned)bpe->lost, encoder->tokenizer->name);
    return false;
}

/* A text that is to be cut, or a part of one. */
typedef struct portion {
    const uint8_t *text;
    size_t length;
    bool begins; /* it is the beginning of the text that its step cuts */
    bool whole;  /* it is that text, and no part of it */
    bool first;  /* nothing of the document lies before it */
} portion;

static bool cut_from(firnc_encoder *encoder, uint32_t step, const portion *part);

/* Gives each word of a pattern to the next step. */
static bool cut_by_pattern(firnc_encoder *encoder, uint32_t step, firnc_pattern pattern, const portion *part) {
    for (size_t at = 0, length; at < part->length; at += length) {
        length = firnc_pattern_word(pattern, part->text + at, part->length - at);
        const portion word = {part->text + at, length, true, true, part->first && at == 0};
        if (!cut_from(encoder, step + 1, &word))
            return false;
    }
    return true;
}

static bool cut_bytes(firnc_encoder *encoder, uint32_t step, const portion *part) {
    const firnc_cut_step *how = &encoder->tokenizer->cuts[step];
    firnc_growing_text *scratch = &encoder->cut_scratch[step];
    portion spaced = *part;
    if (how->space && part->begins && part->text[0] != ' ') {
        scratch->length = 0;
        firnc_text_add(scratch, " ", 1);
        firnc_text_add(scratch, part->text, part->length);
        spaced.text = (const uint8_t *)scratch->text;
        spaced.length = scratch->length;
    }
    return how->pattern == FIRNC_PATTERN_NONE ? cut_from(encoder, step + 1, &spaced)
                                              : cut_by_pattern(encoder, step, how->pattern, &spaced);
}

/* The length of a word that ends before the next replacement. */
static size_t metaspace_word(const char *replacement, const uint8_t *text, size_t length) {
    const size_t size = strlen(replacement);
    for (size_t at = 1; at + size <= length; at++)
        if (memcmp(text + at, replacement, size) == 0)
            return at;
    return length;
}

static bool cut_metaspace(firnc_encoder *encoder, uint32_t step, const portion *part) {
    const firnc_cut_step *how = &encoder->tokenizer->cuts[step];
    firnc_growing_text *scratch = &encoder->cut_scratch[step];
    const size_t size = strlen(how->replacement);
    const bool has = part->text[0] == ' ' || (part->length >= size && memcmp(part->text, how->replacement, size) == 0);
    const bool prepends = how->prepend == FIRNC_PREPEND_ALWAYS || (how->prepend == FIRNC_PREPEND_FIRST && part->first);
    scratch->length = 0;
    if (part->begins && prepends && !has)
        firnc_text_add(scratch, how->replacement, size);
    for (size_t i = 0; i < part->length; i++)
        if (part->text[i] == ' ')
            firnc_text_add(scratch, how->replacement, size);
        else
            firnc_text_add(scratch, part->text + i, 1);
    portion word = {(const uint8_t *)scratch->text, scratch->length, true, part->whole, part->first};
    if (!how->split)
        return cut_from(encoder, step + 1, &word);
    word.whole = true;
    for (size_t at = 0; at < scratch->length; at += word.length) {
        word.text = (const uint8_t *)scratch->text + at;
        word.length = metaspace_word(how->replacement, word.text, scratch->length - at);
        if (!cut_from(encoder, step + 1, &word))
            return false;
    }
    return true;
}

static bool cut_from(firnc_encoder *encoder, uint32_t step, const portion *part) {
    if (step == encoder->tokenizer->cut_count)
        return encode_word(encoder, part->text, part->length, part->whole);
    switch (encoder->tokenizer->cuts[step].kind) {
    case FIRNC_CUT_SPLIT:
        return cut_by_pattern(encoder, step, encoder->tokenizer->cuts[step].pattern, part);
    case FIRNC_CUT_BYTES:
        return cut_bytes(encoder, step, part);
    case FIRNC_CUT_METASPACE:
        return cut_metaspace(encoder, step, part);
    }
    return false;
}

/* The last place before a character that begins a word of Metaspace. */
static size_t metaspace_gap(const char *replacement, const uint8_t *text, size_t length) {
    const size_t size = strlen(replacement);
    for (size_t at = length; at-- > 1;)
        if (text[at] == ' ' || (at + size <= length && memcmp(text + at, replacement, size) == 0))
            return at;
    return 0;
}

/* The last place in a text that lies between words whatever follows; 0 if there is none. */
static size_t word_gap(const firnc_tokenizer *tokenizer, const uint8_t *text, size_t length) {
    const firnc_cut_step *first = tokenizer->cut_count > 0 ? &tokenizer->cuts[0] : NULL;
    if (first != NULL && first->kind == FIRNC_CUT_METASPACE && first->split)
        return metaspace_gap(first->replacement, text, length);
    if (first != NULL && first->kind != FIRNC_CUT_METASPACE && first->pattern != FIRNC_PATTERN_NONE)
        return firnc_pattern_gap(text, length);
    uint32_t size, space = ' ';
    if (first != NULL && first->kind == FIRNC_CUT_METASPACE)
        space = firnc_utf8_read((const uint8_t *)first->replacement, strlen(first->replacement), &size);
    return firnc_bpe_last_gap(&tokenizer->bpe, text, length, space);
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

/* Takes text up to a place that it chooses, all of it if `last`, and sets *taken. */
typedef bool (*consumer)(firnc_encoder *encoder, const uint8_t *text, size_t count, bool last, size_t *taken);

static bool cut_words(firnc_encoder *encoder, const uint8_t *text, size_t count, bool last, size_t *taken) {
    *taken = last ? count : word_gap(encoder->tokenizer, text, count);
    if (*taken > 0) {
        const portion part = {text, *taken, encoder->words_begin, encoder->words_begin && last, encoder->text_begins};
        if (!cut_from(encoder, 0, &part))
            return false;
        encoder->words_begin = encoder->text_begins = false;
    }
    if (last)
        encoder->words_begin = true;
    return true;
}

/* Without the white space at the end, which a token behind it may take. */
static size_t before_spaces(const uint8_t *text, size_t count) {
    uint32_t size;
    while (count > 0 && (firnc_unicode_table()[firnc_utf8_read_back(text, count, &size)] & FIRNC_SPACE) != 0)
        count -= size;
    return count;
}

/* Finds the added tokens in what a stage holds, gives the texts between them to the consumer, and keeps the rest. */
static bool run_stage(firnc_encoder *encoder, struct firnc_stage *stage, const firnc_added_list *list, bool last,
                      consumer consume) {
    uint8_t *text = (uint8_t *)stage->held.text;
    firnc_added_search search = {.text = text,
                                 .length = stage->held.length,
                                 .from = stage->decided,
                                 .word_before = stage->word_before,
                                 .last = last,
                                 .plain = encoder->plain};
    firnc_added_match match;
    size_t at = 0, taken;
    while (firnc_added_find(list, &search, &match)) {
        if (!consume(encoder, text + at, match.begin - at, true, &taken))
            return false;
        firnc_ids_add(&encoder->ids, match.id);
        encoder->text_begins = false;
        at = match.end;
    }
    size_t end = match.begin;
    if (!last && end > at && list->left)
        end = at + before_spaces(text + at, end - at);
    if (!consume(encoder, text + at, end - at, last, &taken))
        return false;
    at += taken;
    stage->word_before = last ? false : firnc_added_word_before(&search, at);
    memmove(text, text + at, stage->held.length - at);
    stage->held.length -= at;
    stage->decided = search.from - at;
    return true;
}

static bool normalize_and_cut(firnc_encoder *encoder, const uint8_t *text, size_t count, bool last, size_t *taken) {
    struct firnc_stage *stage = &encoder->normalized;
    *taken = count;
    firnc_normalize(encoder->tokenizer, text, count, last, encoder->normal, &encoder->nfc, &stage->held);
    return run_stage(encoder, stage, &encoder->tokenizer->added_normalized, last, cut_words);
}

/* --- the text ----------------------------------------------------------------------------------------------------- */

void firnc_encoder_begin(firnc_encoder *encoder, firnc_tokenizer *tokenizer, const char *name, bool plain) {
    encoder->tokenizer = tokenizer;
    encoder->name = name;
    encoder->plain = plain;
    encoder->piece = PIECE_BYTES;
    encoder->invalid = encoder->invalid_at = encoder->offset = encoder->checked = 0;
    encoder->raw.held.length = encoder->normalized.held.length = 0;
    encoder->raw.word_before = encoder->normalized.word_before = false;
    encoder->raw.decided = encoder->normalized.decided = 0;
    encoder->words_begin = encoder->text_begins = true;
    for (uint32_t i = 0; i < FIRNC_TOKENIZER_STEPS_MAX; i++) {
        encoder->normal[i].held.length = 0;
        encoder->normal[i].begun = false;
    }
}

/* Counts the bytes that are no UTF-8 in what was added since the last look. They are refused unless the tokenizer is
 * byte-level. `count`: the bytes that the first stage holds. */
static bool check_utf8(firnc_encoder *encoder, size_t count) {
    const uint8_t *text = (const uint8_t *)encoder->raw.held.text;
    uint32_t size;
    for (size_t at = (size_t)(encoder->checked - encoder->offset); at < count; at += size) {
        if (firnc_utf8_read(text + at, count - at, &size) < FIRNC_UNICODE_COUNT)
            continue;
        if (encoder->invalid++ == 0)
            encoder->invalid_at = encoder->offset + at;
        if (encoder->tokenizer->bpe.byte_level)
            continue;
        firnc_say("firnc: %s: is no UTF-8 at byte %llu, which is 0x%02x; convert it, as by iconv -f LATIN1 -t UTF-8",
                  encoder->name, (unsigned long long)encoder->invalid_at, (unsigned)text[at]);
        return false;
    }
    encoder->checked = encoder->offset + count;
    return true;
}

/* Runs the stages over what is held. */
static bool run(firnc_encoder *encoder, bool last) {
    struct firnc_stage *stage = &encoder->raw;
    const size_t held = stage->held.length;
    const size_t unfinished = last ? 0 : firnc_utf8_unfinished((const uint8_t *)stage->held.text, held);
    uint8_t tail[FIRNC_UTF8_MAX];
    if (held > 0)
        memcpy(tail, stage->held.text + held - unfinished, unfinished);
    stage->held.length -= unfinished;
    if (!check_utf8(encoder, stage->held.length) ||
        !run_stage(encoder, stage, &encoder->tokenizer->added, last, normalize_and_cut))
        return false;
    firnc_text_add(&stage->held, tail, unfinished);
    encoder->offset += held - stage->held.length;
    uint64_t most = stage->held.length;
    most = encoder->normalized.held.length > most ? encoder->normalized.held.length : most;
    for (uint32_t i = 0; i < FIRNC_TOKENIZER_STEPS_MAX; i++)
        most = encoder->normal[i].held.length > most ? encoder->normal[i].held.length : most;
    if (most <= FIRNC_TOKENS_WINDOW_MAX)
        return true;
    const unsigned long long end = encoder->offset + stage->held.length;
    firnc_say(
        "firnc: %s: has no end of a word in %u bytes up to byte %llu; break its lines, or check that it is a text",
        encoder->name, (unsigned)FIRNC_TOKENS_WINDOW_MAX, end);
    return false;
}

bool firnc_encoder_add(firnc_encoder *encoder, const uint8_t *bytes, size_t count) {
    while (count > 0) {
        const size_t part = count < encoder->piece ? count : encoder->piece;
        firnc_text_add(&encoder->raw.held, bytes, part);
        bytes += part;
        count -= part;
        if (encoder->raw.held.length >= encoder->piece && !run(encoder, false))
            return false;
    }
    return true;
}

bool firnc_encoder_end(firnc_encoder *encoder) {
    firnc_text_add(&encoder->raw.held, "", 0);
    return run(encoder, true);
}
