/* What a data file holds, for people: its form, and a summary of its numbers as they are in the file, before any of
 * them is converted. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/targets/host/data_file.h"

enum { CLASSES_MOST = 65536 };

void firn_host_file_describe(const firn_host_file *file, char *text, size_t size) {
    static const char *const forms[] = {
        [FIRN_HOST_FORM_BYTES] = "bytes",
        [FIRN_HOST_FORM_NPY] = ".npy",
        [FIRN_HOST_FORM_NPZ] = "an array of .npz",
        [FIRN_HOST_FORM_IDX] = "IDX",
        [FIRN_HOST_FORM_TABLE] = "a table of comma-separated values",
        [FIRN_HOST_FORM_TOKENS] = "raw tokens",
        [FIRN_HOST_FORM_IMAGES] = "images",
    };
    const firn_file_kind *kind = file->form == FIRN_HOST_FORM_BYTES ? firn_host_file_kind(file) : NULL;
    const bool named = file->form == FIRN_HOST_FORM_BYTES && kind == NULL && firn_host_file_is_named_bin(file);
    if (file->form == FIRN_HOST_FORM_IMAGES) {
        snprintf(text, size, "%s", file->images.count != 0 ? "images, decoded to bytes" : "indices of class folders");
        return;
    }
    snprintf(text, size, "%s%s%s%s%s%s%s%s", forms[file->form], kind != NULL ? " that begin like " : "",
             kind != NULL ? kind->name : "", named ? ", tokens of 2 or 4 bytes to a plan that reads such" : "",
             file->form == FIRN_HOST_FORM_BYTES || file->form == FIRN_HOST_FORM_TABLE ? "" : " of ",
             file->form == FIRN_HOST_FORM_BYTES || file->form == FIRN_HOST_FORM_TABLE
                 ? ""
                 : firn_host_number_row_of(file->how.from)->name,
             file->how.reversed && file->form != FIRN_HOST_FORM_IDX ? ", big-endian" : "",
             file->reordered ? ", in Fortran order" : "");
    const size_t length = strlen(text);
    if (file->gzip && length < size)
        snprintf(text + length, size - length, ", packed with gzip");
}

const uint8_t *firn_host_file_sha256(const firn_host_file *file) {
    return file->sha256;
}

/* A walk through all numbers of a file. */
typedef struct walk {
    firn_host_summary *summary;
    double least, most; /* of the finite numbers */
    bool whole;         /* all of them */
    double before;      /* the number before this one */
} walk;

static void add_number(walk *walk, const firn_host_file *file, const uint8_t *number) {
    firn_host_summary *summary = walk->summary;
    const double value = firn_host_number_value(&file->how, number);
    if (!isfinite(value)) {
        summary->nans += isnan(value) ? 1 : 0;
        summary->infinities += isnan(value) ? 0 : 1;
        return;
    }
    walk->whole = walk->whole && value == floor(value);
    if (value < walk->least)
        firn_host_number_text(&file->how, number, summary->least, sizeof summary->least);
    if (value > walk->most)
        firn_host_number_text(&file->how, number, summary->most, sizeof summary->most);
    walk->least = value < walk->least ? value : walk->least;
    walk->most = value > walk->most ? value : walk->most;
}

static void count_number(walk *walk, const firn_host_file *file, const uint8_t *number) {
    const double value = firn_host_number_value(&file->how, number);
    walk->summary->changes += value != walk->before && isfinite(walk->before);
    walk->before = value;
    const double index = value - walk->least; /* outside, or NaN, if the file changed since its range was found */
    if (index >= 0 && index < (double)walk->summary->span)
        walk->summary->counts[(size_t)index]++;
}

/* Gives each number of a file to `add`. */
static bool each_number(const firn_host_file *file, walk *walk,
                        void (*add)(struct walk *walk, const firn_host_file *file, const uint8_t *number)) {
    firn_host_piece piece = {0};
    const uint32_t width = firn_host_number_row_of(file->how.from)->width;
    while (firn_host_file_next_piece(file, &piece))
        for (uint32_t i = 0; i < piece.count; i++)
            add(walk, file, piece.numbers + (size_t)i * width);
    return piece.first == file->layout.elements;
}

bool firn_host_file_summarise(const firn_host_file *file, firn_host_summary *summary) {
    walk walk = {.summary = summary, .least = HUGE_VAL, .most = -HUGE_VAL, .whole = true, .before = HUGE_VAL};
    *summary =
        (firn_host_summary){.real = firn_host_number_row_of(file->how.from)->real, .numbers = file->layout.elements};
    if (!each_number(file, &walk, add_number))
        return false;
    const bool classes = walk.whole && summary->nans == 0 && summary->infinities == 0 && summary->numbers != 0 &&
                         walk.most - walk.least < CLASSES_MOST && fabs(walk.least) < 0x1p53;
    if (!classes)
        return true;
    summary->first = (int64_t)walk.least;
    summary->span = (uint32_t)(walk.most - walk.least) + 1;
    summary->counts = firn_host_allocate(summary->span * sizeof *summary->counts);
    if (!each_number(file, &walk, count_number))
        return false;
    for (uint32_t i = 0; i < summary->span; i++)
        summary->classes += summary->counts[i] != 0;
    return true;
}

void firn_host_summary_free(firn_host_summary *summary) {
    free(summary->counts);
    summary->counts = NULL;
}
