/* Writes a tree as YAML with libyaml, the inverse of tree.c. A tree holds no comments, so those of the original file
 * are lost; the caller's head is written instead. */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "compiler/base/files.h"
#include "compiler/base/landing.h"
#include "compiler/base/text.h"
#include "compiler/keys/tree.h"

static int take(void *context, unsigned char *bytes, size_t count) {
    firnc_text_add(context, bytes, count);
    return 1;
}

static bool emit_scalar(yaml_emitter_t *emitter, const char *text, bool plain) {
    yaml_event_t event;
    const yaml_scalar_style_t style = plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)strlen(text), plain, !plain,
                                        style) != 0 &&
           yaml_emitter_emit(emitter, &event) != 0;
}

static bool emit(yaml_emitter_t *emitter, const firnc_tree *node) {
    yaml_event_t begin, end;
    int made;
    if (node->kind == FIRNC_SCALAR)
        return emit_scalar(emitter, node->plain && node->text[0] == '\0' ? "null" : node->text, node->plain);
    if (node->kind == FIRNC_MAPPING) {
        made = yaml_mapping_start_event_initialize(&begin, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE) &
               yaml_mapping_end_event_initialize(&end);
    } else {
        made = yaml_sequence_start_event_initialize(&begin, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE) &
               yaml_sequence_end_event_initialize(&end);
    }
    if (made == 0 || yaml_emitter_emit(emitter, &begin) == 0)
        return false;
    for (const firnc_tree *child = node->first; child != NULL; child = child->next)
        if ((child->key != NULL && !emit_scalar(emitter, child->key, true)) || !emit(emitter, child))
            return false;
    return yaml_emitter_emit(emitter, &end) != 0;
}

static bool emit_document(yaml_emitter_t *emitter, const firnc_tree *root) {
    yaml_event_t event;
    return yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) != 0 &&
           yaml_emitter_emit(emitter, &event) != 0 &&
           yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) != 0 &&
           yaml_emitter_emit(emitter, &event) != 0 && emit(emitter, root) &&
           yaml_document_end_event_initialize(&event, 1) != 0 && yaml_emitter_emit(emitter, &event) != 0 &&
           yaml_stream_end_event_initialize(&event) != 0 && yaml_emitter_emit(emitter, &event) != 0;
}

static void delete_emitter(void *emitter) {
    yaml_emitter_delete(emitter);
}

bool firnc_tree_write(const firnc_tree *root, const char *head, const char *file) {
    firnc_growing_text out = {0};
    yaml_emitter_t emitter;
    if (yaml_emitter_initialize(&emitter) == 0)
        firnc_out_of_memory(sizeof emitter);
    firnc_hold(delete_emitter, &emitter);
    yaml_emitter_set_output(&emitter, take, &out);
    firnc_text_add(&out, head, strlen(head));
    bool good = emit_document(&emitter, root);
    if (emitter.error == YAML_MEMORY_ERROR)
        firnc_out_of_memory(out.length);
    firnc_let_go(delete_emitter, &emitter);
    yaml_emitter_delete(&emitter);
    if (!good)
        return firnc_tree_fail(root, "cannot be written as YAML; give a recipe in plain text");
    return firnc_file_write(file, out.text, out.length);
}
