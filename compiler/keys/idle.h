/* Keys of a recipe that have no effect. Readers note them, each with the reason and what to do instead; when the whole
 * recipe has been accepted, each is warned of in a line of its own, in the order of the file. A recipe that is refused
 * thus gets one line only. */
#ifndef FIRNC_IDLE_H
#define FIRNC_IDLE_H

#include <stddef.h>

#include "compiler/keys/tree.h"

/* A key that another key of the recipe can leave without effect. */
typedef struct firnc_idle_key {
    const char *key;
    const char *usual; /* the value that loses nothing by that, such as the default; NULL: none */
} firnc_idle_key;

/* Compares two words, ignoring case. */
bool firnc_same_word(const char *a, const char *b);

/* True if nothing is lost when a key has no effect: its value is null, empty or the usual one. */
bool firnc_idle_loses_nothing(const firnc_tree *node, const char *usual);

/* Notes a key. A second reason for it is not kept. The reason must last until firnc_idle_tell. */
void firnc_idle_note(const firnc_tree *node, const char *reason);

/* Notes something else that the author should know of a key, in the same form: "warning: WHAT: REASON". */
void firnc_idle_say(const firnc_tree *node, const char *what, const char *reason);

/* Notes those of the keys that a mapping has, except for values that lose nothing. `cause` is the key that leaves them
 * without effect, or NULL. If --set gave the cause, keys of the file are meant to rest and are not noted. */
void firnc_idle_note_keys(const firnc_tree *mapping, const firnc_idle_key *keys, size_t count, const firnc_tree *cause,
                          const char *reason);

/* Forgets what was noted; for the beginning of a recipe. */
void firnc_idle_forget(void);

/* Warns of what was noted, and forgets it. */
void firnc_idle_tell(void);

/* From now on nothing is warned of; for programs that read one recipe many times. */
void firnc_idle_mute(void);

#endif
