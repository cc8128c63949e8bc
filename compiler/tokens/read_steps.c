/* Reads the steps of a tokenizer.json's normalizer and pre_tokenizer (compiler/tokens/read.h). A Sequence is its steps.
 */
#include <string.h>

#include "compiler/tokens/document.h"
#include "compiler/tokens/read.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define READ         FIRNC_KEY_READ
#define IDLE         FIRNC_KEY_IDLE

static const firnc_key normal_sequence_keys[] = {{"type", READ, NULL}, {"normalizers", READ, NULL}};
static const firnc_key nfc_keys[] = {{"type", READ, NULL}};
static const firnc_key prepend_keys[] = {{"type", READ, NULL}, {"prepend", READ, NULL}};
static const firnc_key replace_keys[] = {{"type", READ, NULL}, {"pattern", READ, NULL}, {"content", READ, NULL}};
static const firnc_key string_keys[] = {{"String", READ, NULL}};
static const firnc_key regex_keys[] = {{"Regex", READ, NULL}};
static const firnc_key cut_sequence_keys[] = {{"type", READ, NULL}, {"pretokenizers", READ, NULL}};
static const firnc_key bytes_keys[] = {
    {"type", READ, NULL}, {"add_prefix_space", READ, NULL}, {"use_regex", READ, NULL}, {"trim_offsets", IDLE, NULL}};
static const firnc_key split_keys[] = {{"type", READ, NULL},
                                       {"pattern", READ, NULL},
                                       {"behavior", READ, NULL},
                                       {"invert", FIRNC_KEY_EMPTY, "is not read; firnc reads a Split of false"}};
static const firnc_key metaspace_keys[] = {{"type", READ, NULL},           {"replacement", READ, NULL},
                                           {"prepend_scheme", READ, NULL}, {"add_prefix_space", READ, NULL},
                                           {"split", READ, NULL},          {"str_rep", IDLE, NULL}};

/* Calls `read` for each value of the list that `key` names. */
static bool read_list(firnc_tokenizer *tokenizer, const firnc_document *document, const char *key,
                      bool (*read)(firnc_tokenizer *tokenizer, const char *path, const cJSON *step)) {
    const cJSON *list = firnc_document_get(document, key);
    uint32_t number = 0;
    if (!cJSON_IsArray(list))
        return firnc_document_refuse(document, key, list, "must be a list; write the file again");
    for (const cJSON *step = list->child; step != NULL; step = step->next) {
        const char *path = firnc_format("%s.%s[%u]", document->path, key, (unsigned)number++);
        if (!read(tokenizer, path, step))
            return false;
    }
    return true;
}

static bool has_room(const firnc_document *document, uint32_t count) {
    return count < FIRNC_TOKENIZER_STEPS_MAX ||
           firnc_document_refuse(document, "", NULL, "is one step too many; firnc reads at most 8");
}

/* --- the normalizer ----------------------------------------------------------------------------------------------- */

static bool read_prepend(const char *file, const char *path, const cJSON *step, firnc_normal_step *to) {
    firnc_document document;
    to->kind = FIRNC_NORMAL_PREPEND;
    return firnc_document_open(&document, file, path, step, prepend_keys, COUNT(prepend_keys)) &&
           firnc_document_text(&document, "prepend", &to->content);
}

static bool read_replace(const char *file, const char *path, const cJSON *step, firnc_normal_step *to) {
    firnc_document document, pattern;
    to->kind = FIRNC_NORMAL_REPLACE;
    if (!firnc_document_open(&document, file, path, step, replace_keys, COUNT(replace_keys)))
        return false;
    const cJSON *item = firnc_document_get(&document, "pattern");
    if (cJSON_GetObjectItemCaseSensitive(item, "String") == NULL)
        return firnc_document_refuse(&document, "pattern", item,
                                     "is not read: firnc replaces texts, {\"String\": ...}, and no expressions");
    if (!firnc_document_open(&pattern, file, firnc_format("%s.pattern", path), item, string_keys, COUNT(string_keys)) ||
        !firnc_document_text(&pattern, "String", &to->pattern) ||
        !firnc_document_text(&document, "content", &to->content))
        return false;
    return to->pattern[0] != '\0' || firnc_document_refuse(&document, "pattern", item, "is empty; remove the step");
}

static bool read_normal(firnc_tokenizer *tokenizer, const char *path, const cJSON *step) {
    const char *type = firnc_document_type(step), *file = tokenizer->name;
    firnc_document document = {file, path, step};
    if (strcmp(type, "Sequence") == 0)
        return firnc_document_open(&document, file, path, step, normal_sequence_keys, COUNT(normal_sequence_keys)) &&
               read_list(tokenizer, &document, "normalizers", read_normal);
    if (!has_room(&document, tokenizer->normal_count))
        return false;
    firnc_normal_step *to = &tokenizer->normal[tokenizer->normal_count++];
    if (strcmp(type, "Prepend") == 0)
        return read_prepend(file, path, step, to);
    if (strcmp(type, "Replace") == 0)
        return read_replace(file, path, step, to);
    to->kind = FIRNC_NORMAL_NFC;
    return strcmp(type, "NFC") == 0
               ? firnc_document_open(&document, file, path, step, nfc_keys, COUNT(nfc_keys))
               : firnc_document_refuse(&document, "", step, "is not read; firnc reads NFC, Prepend, Replace, Sequence");
}

bool firnc_tokens_read_normalizer(firnc_tokenizer *tokenizer, const cJSON *normalizer) {
    return normalizer == NULL || read_normal(tokenizer, "normalizer", normalizer);
}

/* --- the pre-tokenizer -------------------------------------------------------------------------------------------- */

static bool read_bytes(const char *file, const char *path, const cJSON *step, firnc_cut_step *to) {
    firnc_document document;
    bool regex = true;
    *to = (firnc_cut_step){.kind = FIRNC_CUT_BYTES, .space = true};
    if (!firnc_document_open(&document, file, path, step, bytes_keys, COUNT(bytes_keys)) ||
        !firnc_document_flag(&document, "add_prefix_space", &to->space) ||
        !firnc_document_flag(&document, "use_regex", &regex))
        return false;
    to->pattern = regex ? FIRNC_PATTERN_GPT2 : FIRNC_PATTERN_NONE;
    return true;
}

static bool read_split(const char *file, const char *path, const cJSON *step, firnc_cut_step *to) {
    firnc_document document, pattern;
    const char *expression = "", *behavior;
    *to = (firnc_cut_step){.kind = FIRNC_CUT_SPLIT};
    if (!firnc_document_open(&document, file, path, step, split_keys, COUNT(split_keys)) ||
        !firnc_document_text(&document, "behavior", &behavior))
        return false;
    const cJSON *item = firnc_document_get(&document, "pattern");
    if (strcmp(behavior, "Isolated") != 0)
        return firnc_document_refuse(&document, "behavior", firnc_document_get(&document, "behavior"),
                                     "is not read; firnc reads \"Isolated\"");
    if (cJSON_GetObjectItemCaseSensitive(item, "Regex") != NULL &&
        (!firnc_document_open(&pattern, file, firnc_format("%s.pattern", path), item, regex_keys, COUNT(regex_keys)) ||
         !firnc_document_text(&pattern, "Regex", &expression)))
        return false;
    to->pattern = firnc_pattern_find(expression);
    return to->pattern != FIRNC_PATTERN_NONE ||
           firnc_document_refuse(&document, "pattern", item,
                                 "is not read; firnc reads the patterns of GPT-2, Llama 3 and Qwen 2");
}

/* "add_prefix_space": false is what older files have for "prepend_scheme": "never". */
static bool read_prepend_scheme(const firnc_document *document, firnc_prepend *prepend) {
    static const char *const schemes[] = {"always", "first", "never"};
    const cJSON *item = firnc_document_get(document, "prepend_scheme");
    bool space = true;
    if (!firnc_document_flag(document, "add_prefix_space", &space))
        return false;
    *prepend = space ? FIRNC_PREPEND_ALWAYS : FIRNC_PREPEND_NEVER;
    if (item == NULL)
        return true;
    for (uint32_t i = 0; i < COUNT(schemes); i++)
        if (cJSON_IsString(item) && strcmp(item->valuestring, schemes[i]) == 0) {
            *prepend = (firnc_prepend)i;
            return space || *prepend == FIRNC_PREPEND_NEVER ||
                   firnc_document_refuse(document, "prepend_scheme", item,
                                         "contradicts add_prefix_space; remove one of them");
        }
    return firnc_document_refuse(document, "prepend_scheme", item, "is not read; firnc reads always, first, never");
}

static bool read_metaspace(const char *file, const char *path, const cJSON *step, firnc_cut_step *to) {
    firnc_document document;
    uint32_t length = 0;
    *to = (firnc_cut_step){.kind = FIRNC_CUT_METASPACE, .split = true, .pattern = FIRNC_PATTERN_NONE};
    if (!firnc_document_open(&document, file, path, step, metaspace_keys, COUNT(metaspace_keys)) ||
        !firnc_document_text(&document, "replacement", &to->replacement) ||
        !read_prepend_scheme(&document, &to->prepend) || !firnc_document_flag(&document, "split", &to->split))
        return false;
    const size_t bytes = strlen(to->replacement);
    if (bytes > 0)
        (void)firnc_utf8_read((const uint8_t *)to->replacement, bytes, &length);
    return (bytes > 0 && length == bytes) ||
           firnc_document_refuse(&document, "replacement", firnc_document_get(&document, "replacement"),
                                 "must be one character; write the file again");
}

static bool read_cut(firnc_tokenizer *tokenizer, const char *path, const cJSON *step) {
    const char *type = firnc_document_type(step), *file = tokenizer->name;
    firnc_document document = {file, path, step};
    if (strcmp(type, "Sequence") == 0)
        return firnc_document_open(&document, file, path, step, cut_sequence_keys, COUNT(cut_sequence_keys)) &&
               read_list(tokenizer, &document, "pretokenizers", read_cut);
    if (!has_room(&document, tokenizer->cut_count))
        return false;
    const firnc_cut_step *before = tokenizer->cut_count > 0 ? &tokenizer->cuts[tokenizer->cut_count - 1] : NULL;
    const bool metaspace = strcmp(type, "Metaspace") == 0;
    if (before != NULL && (before->kind != FIRNC_CUT_SPLIT || metaspace))
        return firnc_document_refuse(&document, "", step,
                                     "is not read behind another step: ByteLevel comes last, and Metaspace is alone");
    firnc_cut_step *to = &tokenizer->cuts[tokenizer->cut_count++];
    if (metaspace)
        return read_metaspace(file, path, step, to);
    if (strcmp(type, "Split") == 0)
        return read_split(file, path, step, to);
    if (strcmp(type, "ByteLevel") == 0)
        return read_bytes(file, path, step, to);
    return firnc_document_refuse(&document, "", step, "is not read; firnc reads ByteLevel, Split, Metaspace, Sequence");
}

bool firnc_tokens_read_cuts(firnc_tokenizer *tokenizer, const cJSON *pre_tokenizer) {
    if (pre_tokenizer != NULL && !read_cut(tokenizer, "pre_tokenizer", pre_tokenizer))
        return false;
    for (uint32_t i = 0; i < tokenizer->cut_count; i++)
        tokenizer->bpe.byte_level = tokenizer->bpe.byte_level || tokenizer->cuts[i].kind == FIRNC_CUT_BYTES;
    return true;
}
