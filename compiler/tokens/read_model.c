/* Reads vocabularies and merges (compiler/tokens/read.h), of a tokenizer.json and of vocab.json with merges.txt. */
#include <string.h>

#include "compiler/base/files.h"
#include "compiler/base/json.h"
#include "compiler/tokens/document.h"
#include "compiler/tokens/read.h"

#define FILE_BYTES_MAX ((uint64_t)256 << 20)
#define ID_MAX         INT32_MAX
#define END_OF_TEXT    "<|endoftext|>"

static bool is_utf8(const uint8_t *text, uint64_t count) {
    uint32_t size;
    for (uint64_t at = 0; at < count; at += size)
        if (firnc_utf8_read(text + at, (size_t)(count - at), &size) >= FIRNC_UNICODE_COUNT)
            return false;
    return true;
}

cJSON *firnc_tokens_json(const char *name) {
    firnc_bytes bytes;
    if (!firnc_file_read(name, FILE_BYTES_MAX, &bytes))
        return NULL;
    cJSON *json =
        is_utf8(bytes.data, bytes.count) ? firnc_json_parse((const char *)bytes.data, bytes.count, " \t\r\n") : NULL;
    if (json == NULL)
        firnc_say(
            "firnc: %s: is not one object of JSON in UTF-8 without U+0000; give a tokenizer.json with --tokenizer, "
            "or a vocab.json with --vocabulary",
            name);
    return json;
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

static bool add_token(firnc_tokenizer *tokenizer, const firnc_document *document, const cJSON *item) {
    firnc_vocabulary *vocabulary = &tokenizer->bpe.vocabulary;
    const size_t length = strlen(item->string);
    uint32_t id;
    if (length > FIRNC_TOKEN_BYTES_MAX)
        return firnc_document_refuse(document, "", NULL, "a token is longer than 4096 bytes; remove it");
    if (!firnc_document_number(item, ID_MAX, &id))
        return firnc_document_refuse(
            document, item->string, item,
            "is no id, which is a whole number below 2^31; give the file that the tokenizers package saved");
    if (id >= vocabulary->count)
        return firnc_document_refuse(
            document, item->string, item,
            firnc_format("is an id beyond the %u tokens of the file: ids must be 0, 1, 2 and so on without a hole",
                         (unsigned)vocabulary->count));
    if (vocabulary->tokens[id].text != NULL)
        return firnc_document_refuse(document, item->string, item,
                                     firnc_format("is also the id of %s; give each token an id of its own",
                                                  (const char *)vocabulary->tokens[id].text));
    const uint8_t *text = (const uint8_t *)firnc_format("%s", item->string);
    if (firnc_vocabulary_find(vocabulary, text, length) != FIRNC_NO_TOKEN)
        return firnc_document_refuse(document, item->string, item, "is there twice; remove one");
    firnc_vocabulary_add(vocabulary, id, &(firnc_token){.text = text, .length = (uint32_t)length});
    return true;
}

bool firnc_tokens_read_vocabulary(firnc_tokenizer *tokenizer, const char *path, const cJSON *vocabulary,
                                  uint32_t more) {
    const firnc_document document = {tokenizer->name, path, vocabulary};
    if (!cJSON_IsObject(vocabulary) || vocabulary->child == NULL)
        return firnc_document_refuse(&document, "", NULL, "must be a mapping of tokens to ids; give the whole file");
    firnc_vocabulary_begin(&tokenizer->bpe.vocabulary, (uint32_t)cJSON_GetArraySize(vocabulary) + more);
    for (const cJSON *item = vocabulary->child; item != NULL; item = item->next)
        if (!add_token(tokenizer, &document, item))
            return false;
    return true;
}

bool firnc_tokens_check_ids(firnc_tokenizer *tokenizer) {
    firnc_vocabulary *vocabulary = &tokenizer->bpe.vocabulary;
    uint32_t last = vocabulary->count - 1, hole = 0;
    while (last > 0 && vocabulary->tokens[last].text == NULL)
        last--;
    while (hole <= last && vocabulary->tokens[hole].text != NULL)
        hole++;
    vocabulary->count = last + 1;
    if (hole > last)
        return true;
    firnc_say("firnc: %s: no token has the id %u, though ids go to %u; add the token, as to added_tokens",
              tokenizer->name, (unsigned)hole, (unsigned)last);
    return false;
}

/* --- merges ------------------------------------------------------------------------------------------------------- */

bool firnc_tokens_begin_merges(firnc_tokenizer *tokenizer, uint32_t count) {
    const uint32_t missing = firnc_bpe_begin(&tokenizer->bpe, count);
    if (missing == 256 || !tokenizer->bpe.byte_fallback)
        return true;
    firnc_say(
        "firnc: %s: model.byte_fallback: true needs a token for each byte, and there is none for 0x%02X; set it to "
        "false, or take the whole vocabulary",
        tokenizer->name, (unsigned)missing);
    return false;
}

/* Whether words get the token without merges, so that merges of it would join across gaps. */
static bool is_fallback(const firnc_bpe *bpe, uint32_t id) {
    for (uint32_t byte = 0; bpe->byte_fallback && !bpe->byte_level && byte < 256; byte++)
        if (bpe->byte_ids[byte] == id)
            return true;
    return id == bpe->unknown;
}

/* Finds a part of a merge. */
static bool find_part(const firnc_bpe *bpe, const char *place, const char *part, size_t length, uint32_t *id) {
    *id = firnc_vocabulary_find(&bpe->vocabulary, (const uint8_t *)part, length);
    const bool absent = *id == FIRNC_NO_TOKEN || bpe->vocabulary.tokens[*id].hidden;
    if (length > 0 && !absent && !is_fallback(bpe, *id))
        return true;
    firnc_say("firnc: %s: merges '%.*s', %s; take merges and vocabulary of one tokenizer", place, (int)length, part,
              absent || length == 0 ? "which the vocabulary lacks"
                                    : "which stands for what has no token, and is not merged");
    return false;
}

bool firnc_tokens_add_merge(firnc_tokenizer *tokenizer, const char *place, const char *left, size_t left_length,
                            const char *right, size_t right_length, uint32_t rank) {
    firnc_bpe *bpe = &tokenizer->bpe;
    uint32_t first, second;
    if (!find_part(bpe, place, left, left_length, &first) || !find_part(bpe, place, right, right_length, &second))
        return false;
    if (firnc_bpe_add_merge(bpe, first, second, rank))
        return true;
    firnc_say(
        "firnc: %s: merges '%.*s' and '%.*s' to a token that the vocabulary lacks; take merges and vocabulary of one "
        "tokenizer",
        place, (int)left_length, left, (int)right_length, right);
    return false;
}

/* Adds the merge of a line without its end; lines of #version and empty ones are passed over. */
static bool read_line(firnc_tokenizer *tokenizer, const char *name, uint32_t number, const char *line, size_t length,
                      uint32_t *rank) {
    static const char version[] = "#version";
    if (length > 0 && line[length - 1] == '\r')
        length--;
    if (length == 0 || (length >= sizeof version - 1 && memcmp(line, version, sizeof version - 1) == 0))
        return true;
    const char *space = memchr(line, ' ', length);
    const size_t left = space != NULL ? (size_t)(space - line) : length;
    const char *place = firnc_format("%s:%u", name, (unsigned)number);
    if (space == NULL || memchr(space + 1, ' ', length - left - 1) != NULL) {
        firnc_say("firnc: %s: is not two tokens with one space between them; give a merges.txt", place);
        return false;
    }
    return firnc_tokens_add_merge(tokenizer, place, line, left, space + 1, length - left - 1, (*rank)++);
}

static bool read_merges(firnc_tokenizer *tokenizer, const char *name) {
    firnc_bytes bytes;
    if (!firnc_file_read(name, FILE_BYTES_MAX, &bytes))
        return false;
    const char *text = (const char *)bytes.data, *end = text + bytes.count;
    uint32_t lines = 1, number = 1, rank = 0;
    for (const char *c = text; c < end; c++)
        lines += *c == '\n';
    if (!firnc_tokens_begin_merges(tokenizer, lines))
        return false;
    for (; text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const size_t length = (size_t)((stop != NULL ? stop : end) - text);
        const firnc_mark mark = firnc_memory_mark();
        if (!read_line(tokenizer, name, number, text, length, &rank))
            return false;
        firnc_memory_release(mark);
        text += length + 1;
    }
    return true;
}

/* --- vocab.json and merges.txt ------------------------------------------------------------------------------------ */

static void add_end_of_text(firnc_tokenizer *tokenizer) {
    static const uint8_t text[] = END_OF_TEXT;
    firnc_added_list *list = &tokenizer->added;
    const uint32_t length = sizeof text - 1, id = firnc_vocabulary_find(&tokenizer->bpe.vocabulary, text, length);
    if (id != FIRNC_NO_TOKEN) {
        tokenizer->bpe.vocabulary.tokens[id].added = true;
        list->tokens = firnc_allocate(sizeof *list->tokens);
        list->tokens[list->count++] = (firnc_added){.text = text, .length = length, .id = id, .special = true};
    }
    firnc_added_sort(list);
}

bool firnc_tokenizer_read_pair(firnc_tokenizer *tokenizer, const char *vocabulary, const char *merges) {
    *tokenizer = (firnc_tokenizer){.name = vocabulary,
                                   .bpe = {.byte_level = true, .unknown = FIRNC_NO_TOKEN},
                                   .cuts = {{.kind = FIRNC_CUT_BYTES, .pattern = FIRNC_PATTERN_GPT2}},
                                   .cut_count = 1};
    cJSON *json = firnc_tokens_json(vocabulary);
    const bool other = cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(json, "model"));
    if (other)
        firnc_say("firnc: %s: is a tokenizer.json; give it by --tokenizer, without --merges", vocabulary);
    const bool good = json != NULL && !other && firnc_tokens_read_vocabulary(tokenizer, "", json, 0);
    firnc_json_delete(json);
    if (!good || !firnc_tokens_check_ids(tokenizer) || !read_merges(tokenizer, merges))
        return false;
    add_end_of_text(tokenizer);
    return true;
}
