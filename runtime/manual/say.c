/* Messages about command lines, and the search for the word that was meant. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/manual/nearest.h"
#include "runtime/manual/parts.h"

enum { LINE_BYTES = 2000 }; /* of a message that is not shortened */

/* Words of other programs for our commands and options, as firn_word_normalise gives them. A word may have several
 * rows: the first one counts whose meaning is in the list that is searched. */
static const struct {
    const char *word, *meaning;
} synonyms[] = {
    {"build", "compile"},
    {"freeze", "compile"},
    {"info", "inspect"},
    {"show", "inspect"},
    {"dump", "inspect"},
    {"genkey", "keygen"},
    {"keys", "keygen"},
    {"fit", "train"},
    {"run", "train"},
    {"evaluate", "eval"},
    {"test", "eval"},
    {"validate", "eval"},
    {"infer", "predict"},
    {"sample", "generate"},
    {"out", "--output"},
    {"override", "--set"},
    {"param", "--set"},
    {"publickey", "--pub"},
    {"pubkey", "--pub"},
    {"privatekey", "--key"},
    {"secretkey", "--key"},
    {"input", "--data"},
    {"train", "--data"},
    {"targets", "--labels"},
    {"ckpt", "--checkpoint"},
    {"save", "--checkpoint"},
    {"jobs", "--threads"},
    {"numthreads", "--threads"},
    {"loadweights", "--weights"},
    {"pretrained", "--weights"},
    {"initfrom", "--weights"},
    {"arch", "--target"},
    {"march", "--target"},
};

/* Leaves out the middle of a line that a very long word has made too long, because what mends it stands at its end. */
static void shorten(char *line, size_t bytes) {
    memcpy(line + LINE_BYTES / 2, "...", 3);
    memmove(line + LINE_BYTES / 2 + 3, line + bytes - LINE_BYTES / 2, LINE_BYTES / 2 + 1);
}

bool firn_say(const firn_manual *manual, const char *command, const char *format, ...) {
    char *line = NULL;
    size_t bytes = 0;
    FILE *text = open_memstream(&line, &bytes);
    va_list arguments;
    va_start(arguments, format);
    if (text != NULL) {
        fprintf(text, "%s%s%s: ", manual->program, command != NULL ? " " : "", command != NULL ? command : "");
        vfprintf(text, format, arguments);
    }
    va_end(arguments);
    const bool whole = text != NULL && fclose(text) == 0;
    if (whole && bytes > LINE_BYTES)
        shorten(line, bytes);
    if (manual->say != NULL)
        manual->say(whole ? line : "memory is exhausted");
    free(line);
    return false;
}

void firn_options_refuse(const firn_manual *manual, const char *command, const char *text, const char *word) {
    firn_say(manual, command, "%s%s; `%s help %s` shows the command line", text, word, manual->program, command);
}

const char *firn_meant(const char *word, const char *const *words) {
    char normal[FIRN_WORD_MAX + 1];
    size_t rank;
    const char *nearest = firn_nearest(word, words, &rank);
    firn_word_normalise(word, normal);
    for (size_t i = 0; rank > FIRN_NEAR_TYPING + 1 && i < sizeof synonyms / sizeof synonyms[0]; i++)
        for (uint32_t j = 0; strcmp(synonyms[i].word, normal) == 0 && words[j] != NULL; j++)
            if (strcmp(synonyms[i].meaning, words[j]) == 0)
                return words[j];
    return nearest;
}
