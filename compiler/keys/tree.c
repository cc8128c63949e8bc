/* Parses YAML into a tree with libyaml (compiler/keys/tree.h). This file must not depend on the meaning of a key. */
#include "compiler/keys/tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "compiler/base/files.h"
#include "compiler/base/landing.h"
#include "compiler/base/text.h"
#include "compiler/keys/anchors.h"
#include "compiler/keys/spelling.h"
#include "plan/keys/file_kind.h"

#define FILE_BYTES_MAX (1u << 20)
#define DEPTH_MAX      32
#define ENTRIES_MAX    4096
#define VALUES_MAX     (1u << 17) /* in a file, with each copy that an alias or a merge makes */
#define PATH_MAX_BYTES 1000
#define ANCHORS_MAX    1024

/* --- messages -------------------------------------------------------------------------------------------------- */

firnc_place firnc_tree_place(const firnc_tree *at) {
    return at != NULL ? (firnc_place){.file = at->file, .line = at->line, .path = at->path} : (firnc_place){0};
}

bool firnc_tree_fail(const firnc_tree *at, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const firnc_place place = firnc_tree_place(at);
    firnc_say_at(&place, firnc_format_list(format, arguments));
    va_end(arguments);
    return false;
}

void firnc_tree_warn(const firnc_tree *at, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const firnc_place place = firnc_tree_place(at);
    firnc_say_at(&place, firnc_format("warning: %s", firnc_format_list(format, arguments)));
    va_end(arguments);
}

/* --- looking --------------------------------------------------------------------------------------------------- */

bool firnc_tree_is_null(const firnc_tree *node) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    if (node->kind != FIRNC_SCALAR || !node->plain)
        return false;
    for (size_t i = 0; i < sizeof nulls / sizeof nulls[0]; i++)
        if (strcmp(node->text, nulls[i]) == 0)
            return true;
    return false;
}

static firnc_tree *find(const firnc_tree *mapping, const char *key, size_t length) {
    for (firnc_tree *child = mapping->first; child != NULL; child = child->next)
        if (child->key != NULL && strlen(child->key) == length && memcmp(child->key, key, length) == 0)
            return child;
    return NULL;
}

const firnc_tree *firnc_tree_child(const firnc_tree *mapping, const char *key) {
    if (mapping == NULL)
        return NULL;
    const firnc_tree *child = find(mapping, key, strlen(key));
    return child == NULL || firnc_tree_is_null(child) ? NULL : child;
}

uint32_t firnc_tree_count(const firnc_tree *node) {
    uint32_t count = 0;
    for (const firnc_tree *child = node->first; child != NULL; child = child->next)
        count++;
    return count;
}

/* --- building -------------------------------------------------------------------------------------------------- */

/* State of the parse: the open lists and mappings. */
typedef struct builder {
    const char *file;
    const char *setting;          /* the path of --set, whose messages name no line; NULL for a file */
    firnc_tree *open[DEPTH_MAX];  /* lists and mappings, outermost first */
    firnc_tree *last[DEPTH_MAX];  /* the last child of each */
    uint32_t count[DEPTH_MAX];    /* the number of its children */
    firnc_tree *merge[DEPTH_MAX]; /* of a mapping: the value of its merge key, or NULL */
    uint32_t depth;
    const char *key; /* the key whose value comes next; NULL: none */
    uint32_t key_line;
    bool key_merges; /* the key is a merge key */
    firnc_anchors anchors;
    uint32_t values; /* nodes so far */
    firnc_tree *root;
} builder;

static bool fail_at(const builder *b, uint32_t line, const char *what) {
    bool setting = b->setting != NULL;
    firnc_tree place = {.file = b->file, .line = setting ? 0 : line, .path = setting ? b->setting : ""};
    firnc_tree_fail(&place, "%s", what);
    return false;
}

static const char *child_path(const firnc_tree *parent, const char *key, uint32_t position) {
    const char *dot = parent->path[0] == '\0' ? "" : ".";
    if (key != NULL)
        return firnc_format("%s%s%s", parent->path, dot, key);
    return firnc_format("%s%s%u", parent->path, dot, (unsigned)position);
}

/* The innermost open list or mapping, or NULL. */
static firnc_tree *innermost(const builder *b) {
    return b->depth == 0 ? NULL : b->open[b->depth - 1];
}

/* Sets the path of a node that has its key, and the paths below it. */
static bool set_paths(const builder *b, const firnc_tree *parent, firnc_tree *node, uint32_t position) {
    node->path = child_path(parent, node->key, position);
    if (strlen(node->path) > PATH_MAX_BYTES)
        return fail_at(b, node->line, "the keys around it have more than 1000 characters; shorten them");
    position = 0;
    for (firnc_tree *child = node->first; child != NULL; child = child->next)
        if (!set_paths(b, node, child, position++))
            return false;
    return true;
}

/* Appends a node with its key to an open list or mapping. */
static bool append(builder *b, uint32_t level, firnc_tree *node) {
    if (b->count[level] == ENTRIES_MAX)
        return fail_at(b, node->line, "a list or mapping has more than 4096 entries; make it shorter");
    if (!set_paths(b, b->open[level], node, b->count[level]))
        return false;
    if (b->last[level] == NULL)
        b->open[level]->first = node;
    else
        b->last[level]->next = node;
    b->last[level] = node;
    b->count[level]++;
    return true;
}

/* Makes a node the next child of the innermost open list or mapping, the value of its merge key, or the root. */
static bool attach(builder *b, firnc_tree *node) {
    firnc_tree *parent = innermost(b);
    if (parent == NULL) {
        b->root = node;
        return true;
    }
    const bool merges = b->key != NULL && b->key_merges;
    node->key = b->key;
    if (b->key != NULL && b->setting == NULL)
        node->line = b->key_line;
    b->key = NULL;
    if (!merges)
        return append(b, b->depth - 1, node);
    b->merge[b->depth - 1] = node;
    return set_paths(b, parent, node, 0);
}

/* Counts nodes that are about to be made. */
static bool count_values(builder *b, uint32_t line, uint32_t more) {
    if (more > VALUES_MAX - b->values)
        return fail_at(b, line, "the file stands for more than 131072 values, with those of its aliases; use fewer");
    b->values += more;
    return true;
}

static firnc_tree *make(const builder *b, firnc_tree_kind kind, uint32_t line) {
    firnc_tree *node = firnc_allocate(sizeof *node);
    *node = (firnc_tree){.kind = kind, .file = b->file, .line = b->setting != NULL ? 0 : line, .path = "", .text = ""};
    return node;
}

static bool open_node(builder *b, firnc_tree_kind kind, uint32_t line) {
    if (b->depth == DEPTH_MAX)
        return fail_at(b, line, "lists and mappings are nested deeper than 32; make the file flatter");
    firnc_tree *node = make(b, kind, line);
    if (!count_values(b, line, 1) || !attach(b, node))
        return false;
    b->open[b->depth] = node;
    b->last[b->depth] = b->merge[b->depth] = NULL;
    b->count[b->depth] = 0;
    b->depth++;
    return true;
}

/* Takes a scalar as the next key of the innermost mapping. Only an unquoted << merges. */
static bool take_key(builder *b, const char *text, bool plain, uint32_t line) {
    const firnc_tree *mapping = innermost(b);
    b->key_merges = plain && strcmp(text, "<<") == 0;
    const firnc_tree *earlier = b->key_merges ? b->merge[b->depth - 1] : find(mapping, text, strlen(text));
    firnc_tree place = {.file = b->file, .line = line, .path = child_path(mapping, text, 0)};
    if (earlier != NULL && b->setting == NULL)
        return firnc_tree_fail(&place, "the key is there already, in line %u; remove one of the two",
                               (unsigned)earlier->line);
    if (earlier != NULL) {
        place.line = 0;
        place.path = firnc_format("%s.%s", b->setting, place.path);
        return firnc_tree_fail(&place, "the value has the key twice; remove one of the two");
    }
    b->key = text;
    b->key_line = line;
    return true;
}

static bool expects_key(const builder *b) {
    const firnc_tree *parent = innermost(b);
    return parent != NULL && parent->kind == FIRNC_MAPPING && b->key == NULL;
}

/* --- anchors, aliases and merges ------------------------------------------------------------------------------- */

static const char *text_of(const yaml_char_t *word) {
    return firnc_format("%s", (const char *)word);
}

/* Gives a node its name, if it has one. A list or mapping has it before its end, so that an alias inside is found. */
static bool name_node(builder *b, const yaml_char_t *anchor, const firnc_tree *node, uint32_t line) {
    if (anchor == NULL)
        return true;
    if (b->anchors.count == ANCHORS_MAX)
        return fail_at(b, line, "a recipe has more than 1024 anchors (&); write some values out");
    firnc_anchors_add(&b->anchors, text_of(anchor), node);
    return true;
}

static bool is_open(const builder *b, const firnc_tree *node) {
    for (uint32_t i = 0; i < b->depth; i++)
        if (b->open[i] == node)
            return true;
    return false;
}

/* A copy of what an alias means. NULL after one message. */
static firnc_tree *copy_alias(builder *b, const char *name, uint32_t line) {
    const firnc_tree *node = firnc_anchors_find(&b->anchors, name);
    if (node == NULL) {
        fail_at(b, line, firnc_format("no anchor &%.60s is above the alias *%.60s; write the value out", name, name));
        return NULL;
    }
    if (is_open(b, node)) {
        fail_at(b, line, firnc_format("the alias *%.60s is inside what it stands for; write the value out", name));
        return NULL;
    }
    if (!count_values(b, line, firnc_tree_nodes(node, VALUES_MAX)))
        return NULL;
    if (firnc_tree_levels(node) + b->depth > DEPTH_MAX) {
        fail_at(b, line, "lists and mappings are nested deeper than 32; make the file flatter");
        return NULL;
    }
    return firnc_tree_copy(node);
}

static bool take_alias(builder *b, const yaml_event_t *event, uint32_t line) {
    firnc_tree *copy = copy_alias(b, text_of(event->data.alias.anchor), line);
    if (copy != NULL && b->setting == NULL && b->key == NULL)
        copy->line = line;
    return copy != NULL && attach(b, copy);
}

/* Adds the keys of a mapping that the innermost mapping does not have. */
static bool merge_mapping(builder *b, const firnc_tree *from) {
    if (from->kind != FIRNC_MAPPING)
        return firnc_tree_fail(from, "<< takes the keys of a mapping, or of a list of mappings; write *name");
    for (const firnc_tree *child = from->first; child != NULL; child = child->next) {
        if (find(innermost(b), child->key, strlen(child->key)) != NULL)
            continue;
        if (!count_values(b, from->line, firnc_tree_nodes(child, VALUES_MAX)))
            return false;
        firnc_tree *copy = firnc_tree_copy(child);
        copy->key = child->key;
        if (!append(b, b->depth - 1, copy))
            return false;
    }
    return true;
}

/* Closes the innermost list or mapping. Keys that are written out go before those of <<, and of several mappings the
 * first goes before the others. */
static bool close_node(builder *b) {
    const firnc_tree *merge = b->merge[b->depth - 1];
    const bool list = merge != NULL && merge->kind == FIRNC_LIST;
    for (const firnc_tree *from = list ? merge->first : merge; from != NULL; from = list ? from->next : NULL)
        if (!merge_mapping(b, from))
            return false;
    b->depth--;
    return true;
}

/* --- events ---------------------------------------------------------------------------------------------------- */

static bool take_scalar(builder *b, const yaml_event_t *event, uint32_t line) {
    const char *bytes = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (memchr(bytes, 0, length) != NULL)
        return fail_at(b, line, "a text has a zero byte in it; remove it");
    const char *text = firnc_format("%.*s", (int)length, bytes);
    firnc_tree *node = make(b, FIRNC_SCALAR, line);
    node->text = text;
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (!name_node(b, event->data.scalar.anchor, node, line))
        return false;
    if (expects_key(b))
        return take_key(b, text, node->plain, line);
    return count_values(b, line, 1) && attach(b, node);
}

/* Refuses tags, and keys that are not scalars. */
static bool plain_event(const builder *b, const yaml_event_t *event, uint32_t line) {
    const yaml_char_t *tag = NULL;
    if (event->type == YAML_SCALAR_EVENT)
        tag = event->data.scalar.tag;
    else if (event->type == YAML_SEQUENCE_START_EVENT)
        tag = event->data.sequence_start.tag;
    else if (event->type == YAML_MAPPING_START_EVENT)
        tag = event->data.mapping_start.tag;
    if (tag != NULL)
        return fail_at(b, line, "a recipe has no tags (!); remove the tag");
    if (expects_key(b) && event->type != YAML_SCALAR_EVENT && event->type != YAML_MAPPING_END_EVENT)
        return fail_at(b, line, "a key is an alias, a list or a mapping; keys are words");
    return true;
}

static bool take_event(builder *b, const yaml_event_t *event) {
    uint32_t line = (uint32_t)event->start_mark.line + 1;
    if (!plain_event(b, event, line))
        return false;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->root != NULL)
            return fail_at(b, line, "a second document begins; a recipe is one document");
        return true;
    case YAML_SCALAR_EVENT:
        return take_scalar(b, event, line);
    case YAML_SEQUENCE_START_EVENT:
        return open_node(b, FIRNC_LIST, line) && name_node(b, event->data.sequence_start.anchor, innermost(b), line);
    case YAML_MAPPING_START_EVENT:
        return open_node(b, FIRNC_MAPPING, line) && name_node(b, event->data.mapping_start.anchor, innermost(b), line);
    case YAML_ALIAS_EVENT:
        return take_alias(b, event, line);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_node(b);
    default:
        return true;
    }
}

static void delete_parser(void *parser) {
    yaml_parser_delete(parser);
}

static void delete_event(void *event) {
    yaml_event_delete(event);
}

static bool build(builder *b, const uint8_t *bytes, uint64_t count) {
    uint32_t faulty;
    const char *fault = firnc_spelling_fault(bytes, count, &faulty);
    if (fault != NULL)
        return fail_at(b, faulty, fault);
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0)
        firnc_out_of_memory(sizeof parser);
    firnc_hold(delete_parser, &parser);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, bytes, count);
    bool good = true, end = false;
    while (good && !end) {
        yaml_event_t event;
        if (yaml_parser_parse(&parser, &event) == 0) {
            const uint32_t began = (uint32_t)parser.context_mark.line + 1;
            const uint32_t line = parser.problem_mark.line > 0 ? (uint32_t)parser.problem_mark.line + 1 : began;
            if (parser.error == YAML_MEMORY_ERROR)
                firnc_out_of_memory(count);
            good = fail_at(b, line, firnc_yaml_fault(parser.problem, bytes, count, line, began));
            break;
        }
        firnc_hold(delete_event, &event);
        good = take_event(b, &event);
        end = event.type == YAML_STREAM_END_EVENT;
        firnc_let_go(delete_event, &event);
        yaml_event_delete(&event);
    }
    firnc_let_go(delete_parser, &parser);
    yaml_parser_delete(&parser);
    return good;
}

/* Says which kind of file was given instead. Text in wide characters has a message of its own, with the mend. */
static bool is_other_kind(const char *file, const char *what, const firnc_bytes *bytes) {
    const firn_file_kind *kind = firn_file_kind_of(bytes->data, bytes->count);
    if (kind == NULL || kind->use == FIRN_FILE_WIDE_TEXT)
        return false;
    firnc_say("firnc: %s: begins like %s, and not like %s; give %s", file, kind->name, what, what);
    return true;
}

firnc_tree *firnc_tree_read(const char *file, const char *what, const char *form) {
    firnc_bytes bytes;
    if (!firnc_file_read(file, FILE_BYTES_MAX, &bytes))
        return NULL;
    builder b = {.file = file};
    if (is_other_kind(file, what, &bytes) || !build(&b, bytes.data, bytes.count))
        return NULL;
    if (b.root == NULL) {
        fail_at(&b, 1, firnc_format("has no key, and so is not %s; %s", what, form));
        return NULL;
    }
    if (b.root->kind != FIRNC_MAPPING) {
        fail_at(&b, 1, firnc_format("is not %s; %s", what, form));
        return NULL;
    }
    return b.root;
}

/* --- settings -------------------------------------------------------------------------------------------------- */

/* Gives a node a new value from --set. The node keeps its position among its siblings. */
static void become(firnc_tree *node, const firnc_tree *value) {
    node->kind = value->kind;
    node->line = 0;
    node->text = value->text;
    node->plain = value->plain;
    node->first = value->first;
}

static firnc_tree *append_child(firnc_tree *mapping, const char *key, const char *path) {
    firnc_tree *child = firnc_allocate(sizeof *child);
    *child = (firnc_tree){.kind = FIRNC_SCALAR, .file = mapping->file, .text = "", .plain = true};
    child->key = key;
    child->path = path;
    firnc_tree **end = &mapping->first;
    while (*end != NULL)
        end = &(*end)->next;
    *end = child;
    return child;
}

static firnc_tree *list_entry(const firnc_tree *list, const char *word) {
    char *end;
    errno = 0;
    unsigned long position = strtoul(word, &end, 10);
    bool digits = word[0] >= '0' && word[0] <= '9' && *end == '\0' && errno == 0;
    firnc_tree *entry = digits ? list->first : NULL;
    for (unsigned long i = 0; i < position && entry != NULL; i++)
        entry = entry->next;
    if (entry == NULL)
        firnc_tree_fail(list, "has no entry %s; it has %u, counted from 0", word, (unsigned)firnc_tree_count(list));
    return entry;
}

/* Follows one step of the path of a setting; `path` is the setting's, to the end of this word. */
static firnc_tree *descend(firnc_tree *node, const char *word, const char *path) {
    if (node->kind == FIRNC_LIST)
        return list_entry(node, word);
    if (firnc_tree_is_null(node))
        node->kind = FIRNC_MAPPING;
    if (node->kind != FIRNC_MAPPING) {
        firnc_tree_fail(node, "is a single value, so --set cannot go below it; set the value itself");
        return NULL;
    }
    firnc_tree *child = find(node, word, strlen(word));
    return child != NULL ? child : append_child(node, word, path);
}

/* Renews the paths below a node, which were made before the value became part of the tree. */
static void renew_paths(firnc_tree *node) {
    uint32_t position = 0;
    for (firnc_tree *child = node->first; child != NULL; child = child->next) {
        child->path = child_path(node, child->key, position++);
        renew_paths(child);
    }
}

bool firnc_tree_set(firnc_tree *root, const char *setting) {
    const char *equals = strchr(setting, '=');
    const char *path = equals == NULL ? setting : firnc_format("%.*s", (int)(equals - setting), setting);
    firnc_tree place = {.file = root->file, .path = equals == setting ? setting : path};
    if (equals == NULL)
        return firnc_tree_fail(&place, "has no value; write --set key=value");
    if (equals == setting)
        return firnc_tree_fail(&place, "has no key before its =; write --set key=value");
    builder b = {.file = root->file, .setting = path};
    if (!build(&b, (const uint8_t *)equals + 1, strlen(equals + 1)))
        return false;
    firnc_tree nothing = {.kind = FIRNC_SCALAR, .text = "", .plain = true};
    const firnc_tree *value = b.root != NULL ? b.root : &nothing;

    firnc_tree *node = root;
    const char *word = path;
    while (node != NULL && word != NULL) {
        const char *dot = strchr(word, '.');
        size_t length = dot == NULL ? strlen(word) : (size_t)(dot - word);
        if (length == 0)
            return firnc_tree_fail(&place, "has an empty word in its path; write it as trainer.init.seed");
        node = descend(node, firnc_format("%.*s", (int)length, word),
                       firnc_format("%.*s", (int)(word + length - path), path));
        word = dot == NULL ? NULL : dot + 1;
    }
    if (node == NULL)
        return false;
    become(node, value);
    node->path = path; /* in a recipe of another layout the file has another */
    renew_paths(node);
    return true;
}
