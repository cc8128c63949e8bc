/* Refuses data whose tokens were made by another tokenizer than the plan is for, and notes a checkpoint of such data.
 * firnc tokens notes beside each file that it writes by which tokenizer it was made; of other files that is not known.
 */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/keys/text_origin.h"
#include "runtime/cli/cli.h"

#define PACKED ".gz"

enum { DIGITS = 64, SHOWN = 8 };

/* Whether these are the digits of a note, as firnc tokens writes them: what one program takes, the other takes. */
static bool are_digits(const char *text) {
    return strspn(text, "0123456789abcdef") == DIGITS;
}

/* Reads a note. Returns 1 if there is one, 0 if not, and -1 after a message. A link to nothing is one that was lost. */
static int read_note(const char *path, char digits[DIGITS + 1]) {
    char text[DIGITS + 2] = {0};
    struct stat status;
    uint64_t bytes;
    if (lstat(path, &status) != 0)
        return 0;
    const int file = firn_host_open(path, true, &bytes);
    if (file < 0)
        return -1;
    const int64_t count = firn_host_read(file, text, sizeof text);
    close(file);
    if (count != DIGITS + 1 || bytes != DIGITS + 1 || text[DIGITS] != '\n' || !are_digits(text)) {
        firn_host_fail(path,
                       "is no note of firnc tokens, which is 64 hexadecimal digits and the end of a line; encode the "
                       "text again, or remove the note");
        return -1;
    }
    memcpy(digits, text, DIGITS);
    digits[DIGITS] = 0;
    return 1;
}

/* Reads the note of a file of this name; of a packed one it may be that of the file that was packed. *note becomes the
 * name of the note, which the caller frees. */
static int read_note_beside(const char *name, char digits[DIGITS + 1], char **note) {
    const size_t length = strlen(name), size = length + sizeof FIRN_HOST_TOKENIZER_NOTE;
    *note = firn_host_allocate(size);
    snprintf(*note, size, "%s" FIRN_HOST_TOKENIZER_NOTE, name);
    const int known = read_note(*note, digits);
    if (known != 0 || length <= sizeof PACKED - 1 || strcmp(name + length - (sizeof PACKED - 1), PACKED) != 0)
        return known;
    snprintf(*note, size, "%.*s" FIRN_HOST_TOKENIZER_NOTE, (int)(length - (sizeof PACKED - 1)), name);
    return read_note(*note, digits);
}

/* Reads the note of a file of data: beside the file itself, where firnc tokens writes it, or else beside the link by
 * which it is named. */
static int find_note(const char *name, char digits[DIGITS + 1], char **note) {
    char *real = realpath(name, NULL);
    int known = 0;
    *note = NULL;
    if (real != NULL)
        known = read_note_beside(real, digits, note);
    free(real);
    if (known != 0)
        return known;
    free(*note);
    return read_note_beside(name, digits, note);
}

/* Writes the digits of the tokenizer that a plan names. */
static void write_digits(firn_fb_plan plan, char digits[DIGITS + 1]) {
    for (uint32_t i = 0; i < FIRN_HASH_BYTES; i++)
        snprintf(digits + (size_t)2 * i, 3, "%02x", (unsigned)firn_fb_plan_tokenizer_at(plan, i));
}

bool cli_tokenizer_fits(const cli_session *session) {
    const firn_fb_plan plan = cli_plan(session);
    const firn_host_stream *stream = &session->data.files[0];
    char wanted[DIGITS + 1], found[DIGITS + 1];
    uint32_t unknown = 0, first = 0;
    if (firn_fb_plan_tokenizer_count(plan) != FIRN_HASH_BYTES)
        return true;
    write_digits(plan, wanted);
    for (uint32_t i = 0; i < stream->count; i++) {
        const char *name = firn_host_file_name(stream->files[i]);
        char *note;
        const int known = find_note(name, found, &note);
        const bool good = known >= 0 && (known == 0 || strcmp(found, wanted) == 0);
        if (known == 1 && !good)
            firn_host_fail(
                name,
                "its tokens are those of the tokenizer %.*s..., and the plan is for %.*s...: encode the text by "
                "the tokenizer of the plan, or compile with --tokenizer %s",
                SHOWN, found, SHOWN, wanted, note);
        free(note);
        if (!good)
            return false;
        if (known == 0 && unknown++ == 0)
            first = i;
    }
    if (unknown != 0)
        firn_host_note("%s: nothing beside %s says by which tokenizer; the plan is for %.*s...",
                       firn_host_file_name(stream->files[first]), unknown == 1 ? "it" : "this and other files", SHOWN,
                       wanted);
    return true;
}

/* Reads the header of the checkpoint, which has been restored. */
static bool read_record(const char *path, firn_record *record) {
    uint8_t header[FIRN_RECORD_HEADER_BYTES];
    uint64_t bytes;
    const int file = path != NULL ? firn_host_open(path, true, &bytes) : -1;
    if (file < 0)
        return false;
    const int64_t count = firn_host_read(file, header, sizeof header);
    close(file);
    return count == (int64_t)sizeof header && firn_record_decode(record, header) == FIRN_OK;
}

void cli_tokenizer_note_training(const cli_session *session) {
    const firn_fb_plan plan = cli_plan(session);
    const char *path = session->options->checkpoint;
    char digits[DIGITS + 1];
    firn_record record;
    if (session->options->quiet || firn_fb_plan_tokenizer_count(plan) != FIRN_HASH_BYTES || !read_record(path, &record))
        return;
    const firn_text_origin origin = firn_text_origin_of(plan, record.preprocessing_hash);
    write_digits(plan, digits);
    if (origin == FIRN_TEXT_UNNAMED)
        firn_host_note("%s: its training names no tokenizer; the plan is for %.*s...", path, SHOWN, digits);
    else if (origin == FIRN_TEXT_OTHER)
        firn_host_note("%s: was not trained with tokens of the tokenizer %.*s..., which the plan is for, or they had "
                       "another type: the tokens that follow may mean nothing; give the plan of its tokenizer",
                       path, SHOWN, digits);
}
