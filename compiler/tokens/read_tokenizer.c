/* Reads a tokenizer.json (compiler/tokens/read.h): the file as a whole, its model, added tokens and post_processor.
 * Every key is known or refused by name. */
#include <string.h>

#include "compiler/base/json.h"
#include "compiler/tokens/document.h"
#include "compiler/tokens/read.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define READ         FIRNC_KEY_READ
#define IDLE         FIRNC_KEY_IDLE
#define EMPTY        FIRNC_KEY_EMPTY

enum { TEMPLATE_PARTS_MAX = 64 };

static const firnc_key file_keys[] = {
    {"version", IDLE, NULL},
    {"truncation", EMPTY, "would cut the text; set it to null"},
    {"padding", EMPTY, "would add tokens; set it to null"},
    {"added_tokens", READ, NULL},
    {"normalizer", READ, NULL},
    {"pre_tokenizer", READ, NULL},
    {"post_processor", READ, NULL},
    {"decoder", IDLE, NULL},
    {"model", READ, NULL},
};
static const firnc_key model_keys[] = {
    {"type", READ, NULL},
    {"dropout", EMPTY, "would make the ids depend on chance; set it to null"},
    {"unk_token", READ, NULL},
    {"continuing_subword_prefix", EMPTY, "is not read; firnc reads a BPE without it"},
    {"end_of_word_suffix", EMPTY, "is not read; firnc reads a BPE without it"},
    {"fuse_unk", READ, NULL},
    {"byte_fallback", READ, NULL},
    {"ignore_merges", READ, NULL},
    {"vocab", READ, NULL},
    {"merges", READ, NULL},
};
static const firnc_key added_keys[] = {
    {"id", READ, NULL},     {"content", READ, NULL}, {"single_word", READ, NULL}, {"lstrip", READ, NULL},
    {"rstrip", READ, NULL}, {"special", READ, NULL}, {"normalized", READ, NULL},
};
static const firnc_key template_keys[] = {
    {"type", READ, NULL}, {"single", READ, NULL}, {"pair", IDLE, NULL}, {"special_tokens", READ, NULL}};
static const firnc_key processors_keys[] = {{"type", READ, NULL}, {"processors", READ, NULL}};

/* --- the model ---------------------------------------------------------------------------------------------------- */

static bool read_unknown(firnc_tokenizer *tokenizer, const firnc_document *model) {
    firnc_bpe *bpe = &tokenizer->bpe;
    const char *text;
    bpe->unknown = FIRNC_NO_TOKEN;
    if (firnc_document_get(model, "unk_token") == NULL)
        return true;
    if (!firnc_document_text(model, "unk_token", &text))
        return false;
    if (*text == '\0') /* as null */
        return true;
    bpe->unknown = firnc_vocabulary_find(&bpe->vocabulary, (const uint8_t *)text, strlen(text));
    return bpe->unknown != FIRNC_NO_TOKEN ||
           firnc_document_refuse(model, "unk_token", firnc_document_get(model, "unk_token"),
                                 "is no token of the vocabulary; add it, or set unk_token to null");
}

/* Reads what the model says beside its tokens. */
static bool read_model(firnc_tokenizer *tokenizer, firnc_document *model, const cJSON *object) {
    firnc_bpe *bpe = &tokenizer->bpe;
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(object, "type"); /* older files, as GPT-2's, have none */
    *model = (firnc_document){tokenizer->name, "model", object};
    if (!cJSON_IsObject(object))
        return firnc_document_refuse(
            model, "", object, "must be there and an object; give a tokenizer.json, or vocab.json by --vocabulary");
    if (type != NULL && strcmp(firnc_document_type(object), "BPE") != 0)
        return firnc_document_refuse(model, "type", type, "is not read; firnc reads the model BPE");
    return firnc_document_open(model, tokenizer->name, "model", object, model_keys, COUNT(model_keys)) &&
           firnc_document_flag(model, "fuse_unk", &bpe->fuse_unknown) &&
           firnc_document_flag(model, "byte_fallback", &bpe->byte_fallback) &&
           firnc_document_flag(model, "ignore_merges", &bpe->ignore_merges);
}

/* A merge is "a b", or ["a", "b"]. */
static bool read_merge(firnc_tokenizer *tokenizer, const char *place, const cJSON *item, uint32_t rank) {
    const cJSON *first = cJSON_IsArray(item) ? item->child : NULL, *second = first != NULL ? first->next : NULL;
    if (second != NULL && second->next == NULL && cJSON_IsString(first) && cJSON_IsString(second))
        return firnc_tokens_add_merge(tokenizer, place, first->valuestring, strlen(first->valuestring),
                                      second->valuestring, strlen(second->valuestring), rank);
    const char *text = cJSON_IsString(item) ? item->valuestring : "", *space = strchr(text, ' ');
    if (space != NULL && strchr(space + 1, ' ') == NULL)
        return firnc_tokens_add_merge(tokenizer, place, text, (size_t)(space - text), space + 1, strlen(space + 1),
                                      rank);
    firnc_say("firnc: %s: is no merge, which is \"a b\" or [\"a\", \"b\"]; write the file again", place);
    return false;
}

static bool read_merges(firnc_tokenizer *tokenizer, const firnc_document *model) {
    const cJSON *merges = firnc_document_get(model, "merges");
    uint32_t rank = 0;
    if (!cJSON_IsArray(merges))
        return firnc_document_refuse(model, "merges", NULL, "must be a list; give the whole file");
    if (!firnc_tokens_begin_merges(tokenizer, (uint32_t)cJSON_GetArraySize(merges)))
        return false;
    for (const cJSON *item = merges->child; item != NULL; item = item->next, rank++) {
        const firnc_mark mark = firnc_memory_mark();
        if (!read_merge(tokenizer, firnc_format("%s: model.merges[%u]", model->file, (unsigned)rank), item, rank))
            return false;
        firnc_memory_release(mark);
    }
    return true;
}

/* --- added tokens ------------------------------------------------------------------------------------------------- */

/* The id of the token, which the vocabulary gets if it lacks it. */
static bool add_to_vocabulary(firnc_tokenizer *tokenizer, const firnc_document *document, const firnc_added *token) {
    firnc_vocabulary *vocabulary = &tokenizer->bpe.vocabulary;
    const uint32_t known = firnc_vocabulary_find(vocabulary, token->text, token->length);
    const cJSON *content = firnc_document_get(document, "content"), *id = firnc_document_get(document, "id");
    if (known != FIRNC_NO_TOKEN && vocabulary->tokens[known].added)
        return firnc_document_refuse(document, "content", content, "is an added token twice; remove one");
    if (known != FIRNC_NO_TOKEN && known != token->id)
        return firnc_document_refuse(
            document, "id", id,
            firnc_format("is not the id of the token in model.vocab, which is %u; make them equal", (unsigned)known));
    if (known == FIRNC_NO_TOKEN && token->id >= vocabulary->count)
        return firnc_document_refuse(
            document, "id", id,
            firnc_format("is beyond the %u tokens of the file: ids must be 0, 1, 2 and so on without a hole",
                         (unsigned)vocabulary->count));
    if (known == FIRNC_NO_TOKEN && vocabulary->tokens[token->id].text != NULL)
        return firnc_document_refuse(document, "id", id,
                                     firnc_format("is also the id of %s; give each token an id of its own",
                                                  (const char *)vocabulary->tokens[token->id].text));
    if (known == FIRNC_NO_TOKEN)
        firnc_vocabulary_add(vocabulary, token->id,
                             &(firnc_token){.text = token->text, .length = token->length, .hidden = true});
    vocabulary->tokens[token->id].added = true;
    return true;
}

static bool read_added(firnc_tokenizer *tokenizer, const char *path, const cJSON *item) {
    firnc_document document;
    firnc_added token = {0};
    const char *text;
    bool normalized = true;
    if (!firnc_document_open(&document, tokenizer->name, path, item, added_keys, COUNT(added_keys)) ||
        !firnc_document_text(&document, "content", &text) ||
        !firnc_document_flag(&document, "single_word", &token.single_word) ||
        !firnc_document_flag(&document, "lstrip", &token.left) ||
        !firnc_document_flag(&document, "rstrip", &token.right) ||
        !firnc_document_flag(&document, "special", &token.special))
        return false;
    normalized = !token.special;
    if (!firnc_document_flag(&document, "normalized", &normalized))
        return false;
    if (!firnc_document_number(firnc_document_get(&document, "id"), INT32_MAX, &token.id))
        return firnc_document_refuse(
            &document, "id", firnc_document_get(&document, "id"),
            "is no id, which is a whole number below 2^31; give the file that the tokenizers package saved");
    token.text = (const uint8_t *)text;
    token.length = (uint32_t)strlen(text);
    if (token.length == 0 || token.length > FIRNC_TOKEN_BYTES_MAX)
        return firnc_document_refuse(&document, "content", NULL, "must have 1 to 4096 bytes; remove the token");
    if (!add_to_vocabulary(tokenizer, &document, &token))
        return false;
    firnc_added_list *list = normalized ? &tokenizer->added_normalized : &tokenizer->added;
    list->tokens[list->count++] = token;
    return true;
}

/* A token that is sought in normalized text is itself normalized first, as the reference does. */
static bool normalize_added(firnc_tokenizer *tokenizer) {
    firnc_added_list *list = &tokenizer->added_normalized;
    firnc_normal_state states[FIRNC_TOKENIZER_STEPS_MAX] = {{{0}, false}};
    firnc_nfc nfc = {0};
    for (uint32_t i = 0; i < list->count; i++) {
        firnc_growing_text text = {0};
        firnc_normalize(tokenizer, list->tokens[i].text, list->tokens[i].length, true, states, &nfc, &text);
        if (text.length == 0) {
            firnc_say("firnc: %s: added_tokens: the normalizer leaves nothing of '%s'; set normalized to false",
                      tokenizer->name, (const char *)list->tokens[i].text);
            return false;
        }
        list->tokens[i].text = (const uint8_t *)text.text;
        list->tokens[i].length = (uint32_t)text.length;
    }
    return true;
}

/* Refuses sorted tokens of which two are the same in normalized text: which of them is meant depends on the order in
 * which the reference keeps them. */
static bool check_added(const firnc_tokenizer *tokenizer) {
    const firnc_added_list *list = &tokenizer->added_normalized;
    for (uint32_t i = 1; i < list->count; i++) {
        const firnc_added *one = &list->tokens[i - 1], *other = &list->tokens[i];
        if (one->length != other->length || memcmp(one->text, other->text, one->length) != 0)
            continue;
        firnc_say(
            "firnc: %s: added_tokens: the normalizer makes the tokens %u and %u the same, '%s'; set normalized to "
            "false for one, or remove it",
            tokenizer->name, (unsigned)(one->id < other->id ? one->id : other->id),
            (unsigned)(one->id < other->id ? other->id : one->id), (const char *)one->text);
        return false;
    }
    return true;
}

static bool read_all_added(firnc_tokenizer *tokenizer, const firnc_document *file) {
    const cJSON *added = firnc_document_get(file, "added_tokens");
    const uint64_t count = (uint64_t)cJSON_GetArraySize(added);
    uint32_t number = 0;
    tokenizer->added.tokens = firnc_allocate((count + 1) * sizeof *tokenizer->added.tokens);
    tokenizer->added_normalized.tokens = firnc_allocate((count + 1) * sizeof *tokenizer->added_normalized.tokens);
    for (const cJSON *item = added != NULL ? added->child : NULL; item != NULL; item = item->next)
        if (!read_added(tokenizer, firnc_format("added_tokens[%u]", (unsigned)number++), item))
            return false;
    return true;
}

/* --- the post-processor ------------------------------------------------------------------------------------------- */

/* Appends the ids of the special token that a part of the template names. */
static bool add_special(const firnc_document *document, const firnc_vocabulary *vocabulary, const cJSON *part,
                        firnc_ids *to) {
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(part, "id"));
    const cJSON *tokens = firnc_document_get(document, "special_tokens"), *ids;
    ids = cJSON_GetObjectItemCaseSensitive(name != NULL ? cJSON_GetObjectItemCaseSensitive(tokens, name) : NULL, "ids");
    if (!cJSON_IsArray(ids))
        return firnc_document_refuse(document, "single", part, "is no token of special_tokens; write the file again");
    for (const cJSON *item = ids->child; item != NULL; item = item->next) {
        uint32_t id;
        if (!firnc_document_number(item, vocabulary->count - 1, &id))
            return firnc_document_refuse(document, "special_tokens", item,
                                         "is no id of the vocabulary; give the file that the tokenizers package saved");
        firnc_ids_add(to, id);
    }
    return true;
}

static bool read_template(firnc_tokenizer *tokenizer, const char *path, const cJSON *object) {
    firnc_document document;
    bool seen = false;
    if (!firnc_document_open(&document, tokenizer->name, path, object, template_keys, COUNT(template_keys)))
        return false;
    const cJSON *single = firnc_document_get(&document, "single");
    if (cJSON_GetArraySize(single) > TEMPLATE_PARTS_MAX)
        return firnc_document_refuse(&document, "single", NULL, "has more than 64 parts; firnc reads at most 64");
    for (const cJSON *part = cJSON_IsArray(single) ? single->child : NULL; part != NULL; part = part->next) {
        const cJSON *token = cJSON_GetObjectItemCaseSensitive(part, "SpecialToken");
        const cJSON *text = cJSON_GetObjectItemCaseSensitive(part, "Sequence");
        if (token == NULL && (text == NULL || seen))
            return firnc_document_refuse(&document, "single", part, "is not read; firnc reads tokens around one text");
        seen = seen || token == NULL;
        if (token != NULL &&
            !add_special(&document, &tokenizer->bpe.vocabulary, token, seen ? &tokenizer->after : &tokenizer->before))
            return false;
    }
    return seen || firnc_document_refuse(&document, "single", single, "has no text; write the file again");
}

/* Without --special no id depends on the post-processor, so that only its type is noted where firnc does not read it.
 */
static bool read_processor(firnc_tokenizer *tokenizer, const char *path, const cJSON *object) {
    const char *type = firnc_document_type(object);
    firnc_document document;
    if (strcmp(type, "ByteLevel") == 0)
        return true;
    if (strcmp(type, "TemplateProcessing") == 0 && tokenizer->before.count + tokenizer->after.count == 0)
        return read_template(tokenizer, path, object);
    if (strcmp(type, "Sequence") != 0) {
        const bool second = strcmp(type, "TemplateProcessing") == 0;
        tokenizer->unread_processor = firnc_format("%s%s", second ? "a second " : "", type);
        return true;
    }
    if (!firnc_document_open(&document, tokenizer->name, path, object, processors_keys, COUNT(processors_keys)))
        return false;
    const cJSON *list = firnc_document_get(&document, "processors");
    if (!cJSON_IsArray(list))
        return firnc_document_refuse(&document, "processors", list, "must be a list; write the file again");
    for (const cJSON *item = list->child; item != NULL; item = item->next)
        if (!read_processor(tokenizer, firnc_format("%s.processors", path), item))
            return false;
    return true;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static bool read_document(firnc_tokenizer *tokenizer, const cJSON *json) {
    firnc_document file, model;
    if (!read_model(tokenizer, &model, cJSON_GetObjectItemCaseSensitive(json, "model")) ||
        !firnc_document_open(&file, tokenizer->name, "", json, file_keys, COUNT(file_keys)))
        return false;
    const cJSON *added = firnc_document_get(&file, "added_tokens"),
                *after = firnc_document_get(&file, "post_processor");
    if (added != NULL && !cJSON_IsArray(added))
        return firnc_document_refuse(&file, "added_tokens", NULL, "must be a list; write the file again");
    if (!firnc_tokens_read_normalizer(tokenizer, firnc_document_get(&file, "normalizer")) ||
        !firnc_tokens_read_cuts(tokenizer, firnc_document_get(&file, "pre_tokenizer")) ||
        !firnc_tokens_read_vocabulary(tokenizer, "model.vocab", firnc_document_get(&model, "vocab"),
                                      (uint32_t)cJSON_GetArraySize(added)) ||
        !read_unknown(tokenizer, &model) || !read_all_added(tokenizer, &file) || !firnc_tokens_check_ids(tokenizer) ||
        !read_merges(tokenizer, &model) || (after != NULL && !read_processor(tokenizer, "post_processor", after)) ||
        !normalize_added(tokenizer))
        return false;
    firnc_added_sort(&tokenizer->added);
    firnc_added_sort(&tokenizer->added_normalized);
    return check_added(tokenizer);
}

bool firnc_tokenizer_read(firnc_tokenizer *tokenizer, const char *name) {
    *tokenizer = (firnc_tokenizer){.name = name};
    cJSON *json = firnc_tokens_json(name);
    const bool good = json != NULL && read_document(tokenizer, json);
    firnc_json_delete(json);
    return good;
}
