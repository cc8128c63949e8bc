/* Notes classes that the part of the data that is trained on, or the part that is held out, lacks. The last records are
 * held out, so records that are sorted by class give an evaluation that judges few classes. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

enum { LABELS = 1, PIECE = 4096, ELEMENT_BYTES = 4, CLASSES_MOST = 65536, SURELY = 10, NAMED = 4 };

/* How often each class stands in the two parts of the data. */
typedef struct split {
    uint32_t classes;
    uint64_t *trained, *held; /* records of each class */
    uint64_t border, all;     /* the first record that is held out; all records */
    int64_t ignored;          /* the label that is no class; -1: none */
} split;

/* How many classes have records in a part, and records in that part and in all. */
typedef struct tally {
    uint32_t classes;
    uint64_t records;
} tally;

/* Returns whether the labels of a plan are classes of records of which a part is held out, and how they are cut. */
static bool find_parts(const cli_session *session, split *parts) {
    firn_stream_info info;
    firn_sample_counts counts;
    uint32_t ignored;
    bool unclassed;
    if (session->info.window != 0 || session->info.ring != 0 || session->info.all_data ||
        session->data.source.stream_count <= LABELS || firn_stream_at(&session->firn, LABELS, &info) != FIRN_OK ||
        info.record_elements != 1 || info.limit == 0 || info.limit > CLASSES_MOST ||
        firn_count_samples(&session->firn, &session->data.source, &counts) != FIRN_OK || counts.held_out == 0)
        return false;
    *parts = (split){.classes = info.limit, .border = counts.all - counts.held_out, .all = counts.all, .ignored = -1};
    if (cli_ignored_label(session, &ignored, &unclassed))
        parts->ignored = ignored;
    return true;
}

/* Counts the labels. Returns false if they cannot be read, which the first step says. */
static bool count(const cli_session *session, split *parts) {
    static uint8_t labels[PIECE * ELEMENT_BYTES];
    const firn_source *source = &session->data.source;
    const uint8_t type = source->streams[LABELS].element;
    const uint32_t width = firn_type_bytes(type);
    for (uint64_t at = 0; at < parts->all;) {
        const uint32_t piece = parts->all - at < PIECE ? (uint32_t)(parts->all - at) : PIECE;
        if (source->read(source->context, LABELS, at, piece, labels) != FIRN_OK)
            return false;
        for (uint32_t i = 0; i < piece; i++) {
            const double label = cli_integer_at(type, labels + (size_t)i * width);
            if (label >= 0 && label < parts->classes && (int64_t)label != parts->ignored)
                (at + i < parts->border ? parts->trained : parts->held)[(size_t)label]++;
        }
        at += piece;
    }
    return true;
}

static tally sum(const uint64_t *a, const uint64_t *b, uint32_t classes) {
    tally of = {0};
    for (uint32_t i = 0; i < classes; i++) {
        const uint64_t records = a[i] + (b != NULL ? b[i] : 0);
        of.classes += records != 0;
        of.records += records;
    }
    return of;
}

/* Writes the first classes that one part has and the other lacks, by their numbers and, where they have them, names. */
static void name_absent(const cli_session *session, const split *parts, const uint64_t *in, const uint64_t *from,
                        char *text, size_t size) {
    const firn_host_names *names = &session->data.classes;
    uint32_t absent = 0;
    size_t at = 0;
    for (uint32_t i = 0; i < parts->classes; i++) {
        if (from[i] == 0 || in[i] != 0 || absent++ >= NAMED)
            continue;
        at += (size_t)snprintf(text + at, size - at, "%s%lu%s%.40s", absent == 1 ? "" : ", ", (unsigned long)i,
                               i < names->count ? " " : "", i < names->count ? names->list[i] : "");
    }
    if (absent > NAMED)
        snprintf(text + at, size - at, ", ...");
}

/* Whether shuffled records would hardly give a held-out part without the classes that it lacks: it has one class or
 * less than half of them, or one is absent of which `SURELY` records were to be expected. */
static bool is_odd(const split *parts, tally all, tally held) {
    if (held.classes == all.classes || held.records < 2)
        return false;
    if (held.classes <= 1 || (held.records >= all.classes && held.classes <= all.classes / 2))
        return true;
    for (uint32_t i = 0; i < parts->classes; i++)
        if (parts->held[i] == 0 && (double)parts->trained[i] * (double)held.records >= SURELY * (double)all.records)
            return true;
    return false;
}

static void note(const cli_session *session, const split *parts) {
    static const char mend[] =
        "shuffle the records, with their labels, once before the training, because the last ones "
        "are held out (runtime/TABLES.md)";
    const tally all = sum(parts->trained, parts->held, parts->classes), held = sum(parts->held, NULL, parts->classes),
                trained = sum(parts->trained, NULL, parts->classes);
    const char *name = firn_host_file_name(session->data.files[LABELS].files[0]);
    const unsigned long long last = parts->all - parts->border;
    char absent[NAMED * 56 + 8];
    if (is_odd(parts, all, held)) {
        name_absent(session, parts, parts->held, parts->trained, absent, sizeof absent);
        firn_host_note("%s: the held-out part, the last %llu of %llu records, has %lu of the %lu classes, without %s: "
                       "an evaluation of it says little; %s",
                       name, last, (unsigned long long)parts->all, (unsigned long)held.classes,
                       (unsigned long)all.classes, absent, mend);
    }
    if (!session->info.eval && trained.classes < all.classes) {
        name_absent(session, parts, parts->trained, parts->held, absent, sizeof absent);
        firn_host_note("%s: the part that is trained on has %lu of the %lu classes, without %s, of which all records "
                       "are held out; %s",
                       name, (unsigned long)trained.classes, (unsigned long)all.classes, absent, mend);
    }
}

void cli_note_split(const cli_session *session) {
    split parts;
    const bool noted = session->config.owner != NULL && session->options->eval_data_count == 0; /* by the training */
    if (noted || !find_parts(session, &parts))
        return;
    const size_t bytes = sizeof *parts.trained * 2 * parts.classes;
    parts.trained = firn_host_allocate(bytes);
    parts.held = parts.trained + parts.classes;
    memset(parts.trained, 0, bytes);
    if (count(session, &parts))
        note(session, &parts);
    free(parts.trained);
}
