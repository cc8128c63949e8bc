/* Keys of a recipe that have no effect (compiler/keys/idle.h). This file must not depend on the meaning of a key. */
#include "compiler/keys/idle.h"

#include <stdlib.h>

#include "compiler/base/nearest.h"
#include "compiler/base/text.h"

typedef struct note {
    const firnc_tree *node;
    const char *what, *reason;
    struct note *next;
} note;

static note *notes; /* in the order of the file; those of --set are last */
static bool muted;

static bool is_below(const firnc_tree *a, const firnc_tree *b) {
    return b->line != 0 && (a->line == 0 || a->line > b->line);
}

void firnc_idle_say(const firnc_tree *node, const char *what, const char *reason) {
    for (const note *other = notes; other != NULL; other = other->next)
        if (other->node == node)
            return;
    note **at = &notes;
    while (*at != NULL && !is_below((*at)->node, node))
        at = &(*at)->next;
    note *fresh = firnc_allocate(sizeof *fresh);
    *fresh = (note){.node = node, .what = what, .reason = reason, .next = *at};
    *at = fresh;
}

void firnc_idle_note(const firnc_tree *node, const char *reason) {
    firnc_idle_say(node, "has no effect", reason);
}

static bool same_number(const char *a, const char *b) {
    char *end_a, *end_b;
    const double x = strtod(a, &end_a), y = strtod(b, &end_b);
    return end_a != a && *end_a == '\0' && end_b != b && *end_b == '\0' && x == y;
}

bool firnc_same_word(const char *a, const char *b) {
    while (*a != '\0' && firnc_small_letter(*a) == firnc_small_letter(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

bool firnc_idle_loses_nothing(const firnc_tree *node, const char *usual) {
    if (node->kind != FIRNC_SCALAR)
        return node->first == NULL;
    return firnc_tree_is_null(node) ||
           (usual != NULL && (same_number(node->text, usual) || firnc_same_word(node->text, usual)));
}

void firnc_idle_note_keys(const firnc_tree *mapping, const firnc_idle_key *keys, size_t count, const firnc_tree *cause,
                          const char *reason) {
    for (size_t i = 0; i < count; i++) {
        const firnc_tree *child = firnc_tree_child(mapping, keys[i].key);
        const bool meant = child != NULL && cause != NULL && cause->line == 0 && child->line != 0;
        if (child != NULL && !meant && !firnc_idle_loses_nothing(child, keys[i].usual))
            firnc_idle_note(child, reason);
    }
}

void firnc_idle_forget(void) {
    notes = NULL;
}

void firnc_idle_tell(void) {
    for (const note *n = notes; n != NULL && !muted; n = n->next)
        firnc_tree_warn(n->node, "%s: %s", n->what, n->reason);
    firnc_idle_forget();
}

void firnc_idle_mute(void) {
    muted = true;
}
