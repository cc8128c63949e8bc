/* Reads tables of comma-separated values (table.h). A table that could be meant in two ways is refused: nothing is
 * guessed that a reader of the file would not see. */
#include "runtime/targets/host/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/targets/host/cells.h"

#define NO_COLUMN UINT32_MAX

enum { COLUMNS_MOST = 1 << 20, NAMES_SHOWN = 8, NUMBERS_BYTES = 12 * (NAMES_SHOWN + 2) };

#define PIECE_BYTES 1048576u
#define WHOLE_MOST  0x1p24f /* float32 holds every integer up to it */

/* A table while it is read. */
typedef struct reading {
    const firn_host_file *file;
    const firn_host_wanted *wanted;
    uint32_t stream;
    uint8_t *owned; /* the contents, unless they are the file's memory; allocated */
    const uint8_t *bytes;
    firn_host_cells cells;
    char **names;    /* the cells of the first row */
    uint32_t count;  /* of columns */
    uint32_t *place; /* of each column in its matrix, or NO_COLUMN */
    bool *target;    /* the column is a target */
    bool *numbered;  /* the column was chosen by its number */
    firn_host_table *table;
} reading;

bool firn_host_table_is(const firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream) {
    const bool named = firn_host_file_has_ending(file, ".csv") || firn_host_file_has_ending(file, ".csv.gz");
    const bool asked = stream == 0 && (wanted->columns != NULL || wanted->target != NULL);
    uint8_t head[256];
    const uint32_t count = file->file.bytes < sizeof head ? (uint32_t)file->file.bytes : (uint32_t)sizeof head;
    return (named || asked) && wanted->records && count != 0 && firn_host_file_kind(file) == NULL &&
           file->file.read(file->file.context, 0, head, count) == FIRN_OK && memchr(head, 0, count) == NULL;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* Writes a column by its number and, if it has one, its name. */
static const char *column_text(const reading *r, uint32_t column, char *text, size_t size) {
    if (r->table->header)
        snprintf(text, size, "column %lu (%.60s)", (unsigned long)column + 1, r->names[column]);
    else
        snprintf(text, size, "column %lu", (unsigned long)column + 1);
    return text;
}

/* Refuses a cell. row, line: where it begins. */
static bool refuse_cell(const reading *r, uint64_t row, uint64_t line, uint32_t column, const char *what,
                        const char *mend) {
    char name[100];
    return firn_host_fail(r->file->name, "row %llu (line %llu), %s: %s (%s); %s", (unsigned long long)row,
                          (unsigned long long)line, column_text(r, column, name, sizeof name), what,
                          firn_error_name(FIRN_ERROR_DATA_TYPE), mend);
}

static bool refuse_structure(const reading *r) {
    return firn_host_fail(r->file->name, "row %llu (line %llu) %s; %s", (unsigned long long)r->cells.row,
                          (unsigned long long)r->cells.line, r->cells.fault, r->cells.mend);
}

/* Whether a text has only what numbers are written with, as one with a decimal comma. */
static bool is_like_number(const char *text) {
    return strspn(text, "0123456789,.-+ ") == strlen(text);
}

/* Refuses a cell that is no number. */
static bool refuse_text(const reading *r, uint64_t row, uint64_t line, uint32_t column) {
    const char *text = r->cells.text;
    char what[200];
    const firn_host_cell cell = firn_host_cell_of(text);
    if (cell == FIRN_HOST_CELL_MISSING)
        return refuse_cell(r, row, line, column, "the value is missing",
                           "fill it in, leave the row out, or choose other columns by --columns");
    if (cell == FIRN_HOST_CELL_INFINITE)
        return refuse_cell(r, row, line, column, "the value is infinite", "mend it, or leave the row out");
    snprintf(what, sizeof what, "'%.60s' is no number", text);
    if (is_like_number(text) && strchr(text, ',') != NULL)
        return refuse_cell(r, row, line, column, what,
                           "write a point for the decimal comma, and nothing between thousands");
    return refuse_cell(r, row, line, column, what,
                       "write numbers, choose other columns by --columns, or, if it names a class, name its column by "
                       "--target-column for a plan with label_type: int32");
}

/* --- the first row ------------------------------------------------------------------------------------------------ */

static bool add_name(reading *r) {
    if (r->count == COLUMNS_MOST)
        return firn_host_fail(r->file->name, "has more than %d columns, and firn reads as many; save it as .npy",
                              COLUMNS_MOST);
    r->names = firn_host_grow(r->names, (r->count + 1) * sizeof *r->names);
    r->names[r->count++] = firn_host_path(r->cells.text, "");
    return true;
}

static bool read_first_row(reading *r) {
    for (bool last = false; !last;) {
        if (!firn_host_cells_next(&r->cells, &last))
            return refuse_structure(r);
        if (!add_name(r))
            return false;
    }
    return true;
}

/* Whether the first row is 0, 1, 2 and so on, which is how pandas writes the names of columns that have none. */
static bool counts_up(const reading *r) {
    char number[16];
    for (uint32_t i = 0; i < r->count; i++) {
        snprintf(number, sizeof number, "%lu", (unsigned long)i);
        if (strcmp(r->names[i], number) != 0)
            return false;
    }
    return r->count > 1;
}

/* What to know of --header, for the end of a message. */
static const char *both_tables(const reading *r) {
    return r->wanted->shared ? ", which holds for --data and --eval-data" : "";
}

/* Finds out whether the first row has names. */
static bool find_header(reading *r) {
    uint32_t numbers = 0, texts = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const firn_host_cell cell = firn_host_cell_of(r->names[i]);
        numbers += cell == FIRN_HOST_CELL_NUMBER;
        texts += cell == FIRN_HOST_CELL_TEXT;
        if (cell == FIRN_HOST_CELL_TEXT && strpbrk(r->names[i], ";\t") != NULL)
            return firn_host_fail(
                r->file->name,
                "separates its cells by %s, and firn reads commas: write it again with commas between "
                "cells and points in numbers",
                strchr(r->names[i], ';') != NULL ? "semicolons" : "tabs");
    }
    r->table->header =
        r->wanted->header == FIRN_HOST_HEADER_YES || (r->wanted->header == FIRN_HOST_HEADER_UNKNOWN && texts != 0);
    if (r->wanted->header != FIRN_HOST_HEADER_UNKNOWN)
        return true;
    if (numbers != 0 && texts != 0)
        return firn_host_fail(r->file->name,
                              "row 1 has numbers and texts, and so may be names of columns or a record; give "
                              "--header yes or --header no%s",
                              both_tables(r));
    if (counts_up(r))
        return firn_host_fail(r->file->name,
                              "row 1 counts from 0, and so may be names of columns or a record; give "
                              "--header yes or --header no%s",
                              both_tables(r));
    return true;
}

/* Returns true if a column is read because of its name, or because all columns are. */
static bool is_by_name(const reading *r, char *const *name) {
    const size_t column = (size_t)(name - r->names);
    return r->place[column] != NO_COLUMN && !r->numbered[column];
}

/* Orders cells of the first row by their texts. */
static int by_cell(const void *a, const void *b) {
    return strcmp(**(char **const *)a, **(char **const *)b);
}

/* Writes `count` column numbers from `first` on, as an example of a list; 0 stands for two. */
static const char *numbers_text(uint32_t first, uint32_t count, char *text, size_t size) {
    const uint32_t shown = count == 0 ? 2 : count;
    size_t at = 0;
    for (uint32_t i = 0; i < shown && i < NAMES_SHOWN; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%lu", i == 0 ? "" : ",", (unsigned long)first + i);
    if (shown > NAMES_SHOWN)
        snprintf(text + at, size - at, ",...,%lu", (unsigned long)first + shown - 1);
    return text;
}

/* Refuses two columns of one name by which one is read: which of them is meant is not known. */
static bool refuse_twins(const reading *r) {
    char ***sorted = firn_host_allocate(r->count * sizeof *sorted);
    const uint32_t features = r->wanted->streams[0].record_elements;
    char numbers[NUMBERS_BYTES];
    bool twins = false;
    for (uint32_t i = 0; i < r->count; i++)
        sorted[i] = &r->names[i];
    qsort(sorted, r->count, sizeof *sorted, by_cell);
    for (uint32_t i = 1; r->table->header && !twins && i < r->count; i++) {
        twins = **sorted[i] != 0 && strcmp(*sorted[i - 1], *sorted[i]) == 0 &&
                (is_by_name(r, sorted[i - 1]) || is_by_name(r, sorted[i]));
        if (twins)
            firn_host_fail(r->file->name,
                           "has two columns of the name %.60s; choose columns by their numbers, as in --columns %s "
                           "--target-column %lu",
                           *sorted[i], numbers_text(1, features, numbers, sizeof numbers),
                           (unsigned long)(features == 0 ? 2 : features) + 1);
    }
    free(sorted);
    return twins;
}

/* --- which columns are read --------------------------------------------------------------------------------------- */

static bool has_names(const firn_host_names *names) {
    return names != NULL && names->count != 0;
}

static bool has_length(const char *text, const char *word, size_t length) {
    return strlen(text) == length && memcmp(text, word, length) == 0;
}

/* Finds a column by its name, or by its number from 1. */
static uint32_t find_column(const reading *r, const char *word, size_t length, bool *numbered) {
    uint64_t number = 0;
    *numbered = false;
    for (uint32_t i = 0; r->table->header && i < r->count; i++)
        if (has_length(r->names[i], word, length))
            return i;
    for (size_t i = 0; i < length; i++) {
        if (word[i] < '0' || word[i] > '9' || number > COLUMNS_MOST)
            return NO_COLUMN;
        number = 10 * number + (uint64_t)(word[i] - '0');
    }
    *numbered = true;
    return number >= 1 && number <= r->count ? (uint32_t)number - 1 : NO_COLUMN;
}

static bool refuse_column(const reading *r, const char *option, const char *word, size_t length) {
    char list[NAMES_SHOWN * 64] = "";
    size_t at = 0;
    for (uint32_t i = 0; r->table->header && i < r->count && i < NAMES_SHOWN; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%.40s", i == 0 ? ": " : ", ", r->names[i]);
    return firn_host_fail(r->file->name, "has no column %.*s, which %s names; it has %lu column%s%s%s%s%s%s%s",
                          (int)(length < 60 ? length : 60), word, option, (unsigned long)r->count,
                          r->count == 1 ? "" : "s", list, r->count > NAMES_SHOWN && r->table->header ? ", ..." : "",
                          r->table->header ? "" : " and no names", r->wanted->shared ? "; " : "",
                          r->wanted->shared ? option : "",
                          r->wanted->shared ? " holds for --data and --eval-data: both need this column" : "");
}

/* Gives the columns of a list places in a matrix. */
static bool choose_columns(reading *r, const char *list, const char *option, bool target, bool *by_name) {
    firn_host_matrix *matrix = target ? &r->table->targets : &r->table->features;
    for (const char *word = list; word != NULL;) {
        const char *comma = strchr(word, ',');
        const size_t length = comma != NULL ? (size_t)(comma - word) : strlen(word);
        bool numbered;
        const uint32_t column = find_column(r, word, length, &numbered);
        if (column == NO_COLUMN)
            return refuse_column(r, option, word, length);
        if (r->place[column] != NO_COLUMN)
            return firn_host_fail(r->file->name,
                                  "column %.*s is named twice by --columns and --target-column; leave one out",
                                  (int)(length < 60 ? length : 60), word);
        *by_name = *by_name || !numbered;
        r->place[column] = matrix->columns++;
        r->target[column] = target;
        r->numbered[column] = numbered;
        word = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

/* Refuses a table without names, whose columns only numbers can choose. */
static bool refuse_no_names(const reading *r, const char *name) {
    const firn_host_names *features = r->wanted->features, *targets = r->wanted->targets;
    const bool columns = r->wanted->columns == NULL && has_names(features);
    const bool target = r->wanted->target == NULL && has_names(targets);
    char first[NUMBERS_BYTES] = "", second[NUMBERS_BYTES] = "";
    if (columns)
        numbers_text(1, features->count, first, sizeof first);
    if (target)
        numbers_text(has_names(features) ? features->count + 1 : r->count, targets->count, second, sizeof second);
    return firn_host_fail(r->file->name,
                          "has no names of columns, and the model was trained with columns of names, such as %.60s; "
                          "give a table with a header, or the columns in that order by their numbers: %s%s%s%s%s",
                          name, columns ? "--columns " : "", first, columns && target ? " " : "",
                          target ? "--target-column " : "", second);
}

/* Refuses a table in which a column that is read cannot be found by its name. */
static bool refuse_name(const reading *r, const char *name, bool target) {
    char list[NAMES_SHOWN * 64] = "";
    size_t at = 0;
    if (!r->table->header)
        return refuse_no_names(r, name);
    for (uint32_t i = 0; i < r->count && i < NAMES_SHOWN; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%.40s", i == 0 ? "" : ", ", r->names[i]);
    return firn_host_fail(r->file->name,
                          "has no column %.60s, which the model %s; it has %lu column%s: %s%s; add it, or give "
                          "that name to what stands in its place",
                          name, target ? "was trained to predict" : "was trained with", (unsigned long)r->count,
                          r->count == 1 ? "" : "s", list, r->count > NAMES_SHOWN ? ", ..." : "");
}

/* Gives the columns of these names places in a matrix, whatever their order in the file. */
static bool choose_names(reading *r, const firn_host_names *names, bool target) {
    firn_host_matrix *matrix = target ? &r->table->targets : &r->table->features;
    for (uint32_t i = 0; i < names->count; i++) {
        uint32_t column = 0;
        while (r->table->header && column < r->count && strcmp(r->names[column], names->list[i]) != 0)
            column++;
        if (!r->table->header || column == r->count)
            return refuse_name(r, names->list[i], target);
        if (r->place[column] != NO_COLUMN)
            return firn_host_fail(r->file->name,
                                  "column %.60s is a feature of the model, and would be read twice; choose others by "
                                  "--columns and --target-column",
                                  names->list[i]);
        r->place[column] = matrix->columns++;
        r->target[column] = target;
    }
    return true;
}

/* Refuses columns that an option chose of a table with a header, unless they have these names in this order. */
static bool check_names(const reading *r, const firn_host_names *names, bool target) {
    const firn_host_matrix *matrix = target ? &r->table->targets : &r->table->features;
    const char *option = target ? "--target-column" : "--columns";
    const char *trained = target ? "was trained to predict" : "was trained with";
    if (!r->table->header || !has_names(names))
        return true;
    if (matrix->columns != names->count)
        return firn_host_fail(r->file->name,
                              "%s chooses %lu column%s, and the model %s %lu; leave it out, or choose the same columns",
                              option, (unsigned long)matrix->columns, matrix->columns == 1 ? "" : "s", trained,
                              (unsigned long)names->count);
    uint32_t other = NO_COLUMN; /* the first of the chosen columns that has another name */
    for (uint32_t i = 0; i < r->count; i++)
        if (r->place[i] != NO_COLUMN && r->target[i] == target && strcmp(r->names[i], names->list[r->place[i]]) != 0 &&
            (other == NO_COLUMN || r->place[i] < r->place[other]))
            other = i;
    return other == NO_COLUMN ||
           firn_host_fail(r->file->name,
                          "%s reads column %.60s where the model %s %.60s; leave it out, or choose the same columns in "
                          "the same order",
                          option, r->names[other], trained, names->list[r->place[other]]);
}

/* Without a list all columns but the targets are features. */
static void choose_the_others(reading *r) {
    for (uint32_t i = 0; i < r->count; i++)
        if (r->place[i] == NO_COLUMN)
            r->place[i] = r->table->features.columns++;
}

static bool choose(reading *r) {
    const bool first = r->stream == 0;
    const char *columns = first ? r->wanted->columns : NULL, *target = first ? r->wanted->target : NULL;
    const firn_host_names *features = first && columns == NULL ? r->wanted->features : NULL;
    const firn_host_names *targets = first && target == NULL ? r->wanted->targets : NULL;
    bool by_name = columns == NULL;
    r->place = firn_host_allocate(r->count * sizeof *r->place);
    r->target = firn_host_allocate(r->count * sizeof *r->target);
    r->numbered = firn_host_allocate(r->count * sizeof *r->numbered);
    for (uint32_t i = 0; i < r->count; i++)
        r->place[i] = NO_COLUMN;
    if (target != NULL && !choose_columns(r, target, "--target-column", true, &by_name))
        return false;
    if (columns != NULL && !choose_columns(r, columns, "--columns", false, &by_name))
        return false;
    if ((has_names(targets) && !choose_names(r, targets, true)) ||
        (has_names(features) && !choose_names(r, features, false)))
        return false;
    if (first && ((target != NULL && !check_names(r, r->wanted->targets, true)) ||
                  (columns != NULL && !check_names(r, r->wanted->features, false))))
        return false;
    if (columns == NULL && !has_names(features))
        choose_the_others(r);
    if (r->table->features.columns == 0)
        return firn_host_fail(r->file->name, "has no column for features beside the target; give a table with one more "
                                             "column, or name another by --columns");
    return !(by_name && refuse_twins(r));
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* Makes room for one more row. */
static void add_row(firn_host_matrix *matrix) {
    const uint64_t bytes = (uint64_t)matrix->columns * firn_type_bytes(matrix->how.to);
    if (matrix->space - matrix->bytes < bytes) {
        matrix->space = 2 * matrix->space + bytes + 4096;
        matrix->elements = firn_host_grow(matrix->elements, (size_t)matrix->space);
    }
    matrix->bytes += bytes;
    matrix->rows++;
}

/* What a cell becomes an element of. */
typedef struct cell {
    uint64_t row, line;
    uint32_t column;
    firn_host_matrix *matrix;
    uint8_t *element;
} cell;

/* Returns true if a cell says another integer than a float32 is. A number with a fraction, or with an exponent, is
 * meant to be rounded. */
static bool is_other_integer(const char *text, float value) {
    char exact[64]; /* float32 has at most 39 digits before the point */
    text += *text == '-' || *text == '+';
    text += strspn(text, "0");
    const size_t digits = strspn(text, "0123456789");
    const char *behind = text + digits + (text[digits] == '.');
    if (behind[strspn(behind, "0")] != 0)
        return false;
    snprintf(exact, sizeof exact, "%.0f", (double)fabsf(value));
    return strlen(exact) != digits || memcmp(exact, text, digits) != 0;
}

/* Counts an integer that float32 rounds, as an identifier or a number of seconds may be. */
static void count_rounded(const reading *r, const cell *cell, float value) {
    firn_host_rounded *rounded = &cell->matrix->rounded;
    char column[100];
    if (!is_other_integer(r->cells.text, value) || rounded->count++ != 0)
        return;
    snprintf(rounded->first, sizeof rounded->first, "row %llu (line %llu), %s: %.40s becomes %.0f",
             (unsigned long long)cell->row, (unsigned long long)cell->line,
             column_text(r, cell->column, column, sizeof column), r->cells.text, (double)value);
}

static bool put_float(const reading *r, const cell *cell) {
    const float value = firn_host_cell_float(r->cells.text);
    const bool planned = r->wanted->streams[r->target[cell->column] ? 1 : r->stream].record_elements != 0;
    if (isinf(value))
        return refuse_cell(r, cell->row, cell->line, cell->column,
                           planned ? "the number is beyond float32"
                                   : "the number is beyond float32, in which tables are looked at",
                           "divide the column, or mend the value");
    memcpy(cell->element, &value, sizeof value);
    if (fabsf(value) >= WHOLE_MOST)
        count_rounded(r, cell, value);
    return true;
}

static bool put_integer(const reading *r, const cell *cell) {
    int64_t integer;
    bool fraction;
    uint8_t bytes[8];
    char what[200], mend[200] = "mend the value, or change the type in the recipe";
    firn_host_converted done = {0};
    const bool whole = firn_host_cell_integer(r->cells.text, &integer, &fraction);
    if (whole) {
        memcpy(bytes, &integer, sizeof bytes);
        done = firn_host_convert(&cell->matrix->how, bytes, 1, cell->element);
    }
    if (done.count == 1)
        return true;
    const bool no_class = done.misfit == FIRN_HOST_CLASS;
    if (no_class)
        firn_host_mend_class(&cell->matrix->how, mend, sizeof mend);
    snprintf(what, sizeof what, "the plan reads %s, and %.60s is %s", firn_type_name(cell->matrix->how.to),
             r->cells.text,
             !whole && fraction ? "no whole number"
             : no_class         ? "no class"
                                : "beyond it");
    return refuse_cell(r, cell->row, cell->line, cell->column, what, mend);
}

/* --- labels that are names ---------------------------------------------------------------------------------------- */

/* Whether the cells of a matrix may name classes: it is the one column of labels, and no plan reads real numbers of it.
 */
static bool may_name(const reading *r, const firn_host_matrix *matrix) {
    const bool labels = matrix == &r->table->targets || r->stream == 1;
    const bool planned = r->wanted->streams[1].record_elements != 0;
    return labels && matrix->columns == 1 && (!planned || matrix->how.to != FIRN_FLOAT32);
}

/* Refuses a cell because the labels of the first record are of the other kind. */
static bool refuse_mixture(const reading *r, const cell *cell, bool number) {
    char what[250];
    snprintf(what, sizeof what,
             number ? "'%.60s' is a number, and the label of the first record is a name"
                    : "'%.60s' is a name, and the label of the first record is a number",
             r->cells.text);
    return refuse_cell(r, cell->row, cell->line, cell->column, what,
                       "write all classes as numbers from 0, or all as names");
}

/* Refuses a name that is none of those of the training, or is one more than there may be. */
static bool refuse_name_of_class(const reading *r, const cell *cell, uint32_t most) {
    const bool known = firn_host_classes_known(r->wanted);
    const firn_host_names *names = known ? r->wanted->classes : &cell->matrix->classes.names;
    char list[300], what[500];
    firn_host_names_say(names, list, sizeof list);
    if (known)
        snprintf(what, sizeof what, "'%.60s' is none of the %lu classes that the model was trained with: %s",
                 r->cells.text, (unsigned long)names->count, list);
    else
        snprintf(what, sizeof what, "'%.60s' is one more than the %lu classes that %s: %s", r->cells.text,
                 (unsigned long)most, r->wanted->streams[1].limit != 0 ? "the plan has" : "may have names", list);
    return refuse_cell(r, cell->row, cell->line, cell->column, what,
                       known ? "mend the value, or leave the row out" : "mend the value, or change the recipe");
}

/* Puts the index of a class. Classes of a training have their indices there, others those at which they were met. */
static bool put_name(const reading *r, const cell *cell) {
    const firn_host_wanted *wanted = r->wanted;
    const bool known = firn_host_classes_known(wanted);
    const uint32_t limit = wanted->streams[1].limit - (wanted->streams[1].limit != 0 && wanted->unclassed);
    const uint32_t most = limit != 0 && limit < FIRN_HOST_CLASSES_MOST ? limit : FIRN_HOST_CLASSES_MOST;
    firn_host_classes *classes = &cell->matrix->classes;
    const bool empty = classes->names.count == 0;
    for (uint32_t i = 0; known && empty && i < wanted->classes->count; i++)
        (void)firn_host_classes_index(classes, wanted->classes->list[i], UINT32_MAX);
    const uint32_t index = firn_host_classes_index(classes, r->cells.text, known ? 0 : most);
    if (index == FIRN_HOST_NO_CLASS)
        return refuse_name_of_class(r, cell, most);
    memcpy(cell->element, &index, firn_type_bytes(cell->matrix->how.to)); /* a host of firn is little-endian */
    return true;
}

/* Finds out whether the labels are names or numbers. Without a plan names become int32, as labels of a plan are. */
static void find_labels(const reading *r, firn_host_matrix *matrix) {
    const bool named = firn_host_cell_of(r->cells.text) == FIRN_HOST_CELL_TEXT || firn_host_classes_known(r->wanted);
    matrix->labels = named ? FIRN_HOST_LABELS_NAMES : FIRN_HOST_LABELS_NUMBERS;
    if (named && r->wanted->streams[1].record_elements == 0)
        matrix->how.to = FIRN_INT32;
}

/* Puts the cell that was read last into its matrix. row, line: where it began. */
static bool put_cell(const reading *r, uint32_t column, uint64_t row, uint64_t line) {
    if (r->place[column] == NO_COLUMN)
        return true;
    firn_host_matrix *matrix = r->target[column] ? &r->table->targets : &r->table->features;
    const firn_host_cell kind = firn_host_cell_of(r->cells.text);
    const bool known = firn_host_classes_known(r->wanted);
    const bool value = kind == FIRN_HOST_CELL_TEXT || kind == FIRN_HOST_CELL_NUMBER || known;
    if (value && matrix->labels == FIRN_HOST_LABELS_OPEN && may_name(r, matrix))
        find_labels(r, matrix);
    const uint64_t index = (matrix->rows - 1) * matrix->columns + r->place[column];
    const cell cell = {row, line, column, matrix, matrix->elements + index * firn_type_bytes(matrix->how.to)};
    if (matrix->labels == FIRN_HOST_LABELS_NAMES && value) {
        if (kind == FIRN_HOST_CELL_NUMBER && !known)
            return refuse_mixture(r, &cell, true);
        return put_name(r, &cell);
    }
    if (matrix->labels == FIRN_HOST_LABELS_NUMBERS && kind == FIRN_HOST_CELL_TEXT && !is_like_number(r->cells.text))
        return refuse_mixture(r, &cell, false);
    if (kind != FIRN_HOST_CELL_NUMBER)
        return refuse_text(r, row, line, column);
    return matrix->how.to == FIRN_FLOAT32 ? put_float(r, &cell) : put_integer(r, &cell);
}

static bool refuse_length(const reading *r, uint64_t row, uint64_t line, uint32_t cells, const char *more) {
    return firn_host_fail(r->file->name, "row %llu (line %llu) has %lu%s cell%s, and row 1 has %lu; mend the row",
                          (unsigned long long)row, (unsigned long long)line, (unsigned long)cells, more,
                          cells == 1 && more[0] == 0 ? "" : "s", (unsigned long)r->count);
}

static bool read_row(reading *r) {
    const uint64_t row = r->cells.row, first_line = r->cells.line;
    uint32_t column = 0;
    add_row(&r->table->features);
    add_row(&r->table->targets);
    for (bool last = false; !last; column++) {
        const uint64_t line = r->cells.line;
        if (!firn_host_cells_next(&r->cells, &last))
            return refuse_structure(r);
        if (column == r->count)
            return refuse_length(r, row, first_line, column, " and more");
        if (last && column + 1 != r->count)
            return refuse_length(r, row, first_line, column + 1, "");
        if (!put_cell(r, column, row, line))
            return false;
    }
    return true;
}

/* --- the whole table ---------------------------------------------------------------------------------------------- */

/* Joins the names of all columns, to compare two files. */
static char *join_names(const reading *r) {
    char *text = firn_host_allocate(1);
    size_t length = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const char *name = r->table->header ? r->names[i] : "";
        const size_t bytes = strlen(name);
        text = firn_host_grow(text, length + bytes + 2);
        memcpy(text + length, name, bytes);
        length += bytes;
        text[length++] = '\n';
        text[length] = 0;
    }
    return text;
}

/* The names of the columns of a matrix, in its order. */
static firn_host_names names_of(const reading *r, const firn_host_matrix *matrix, bool target) {
    firn_host_names names = {0};
    if (!r->table->header || matrix->columns == 0)
        return names;
    names.count = matrix->columns;
    names.list = firn_host_allocate(names.count * sizeof *names.list);
    for (uint32_t i = 0; i < r->count; i++)
        if (r->place[i] != NO_COLUMN && r->target[i] == target)
            names.list[r->place[i]] = firn_host_path(r->names[i], "");
    return names;
}

/* Reads all of the file into memory, unless it is there. */
static bool load(reading *r) {
    const firn_host_file *file = r->file;
    const uint64_t count = file->file.bytes;
    if (file->descriptor < 0) {
        r->bytes = file->memory;
        return true;
    }
    if (!firn_host_file_fits(file, count, "is a table of more than", "save it as .npy, which is not read into memory"))
        return false;
    r->bytes = r->owned = firn_host_allocate((size_t)count);
    for (uint64_t at = 0; at < count;) {
        const uint32_t piece = count - at < PIECE_BYTES ? (uint32_t)(count - at) : PIECE_BYTES;
        if (file->file.read(file->file.context, at, r->owned + at, piece) != FIRN_OK)
            return firn_host_file_refuse_read(file);
        at += piece;
    }
    return true;
}

/* Says how the numbers of a matrix become what the plan reads from a stream; without a plan, float32. */
static firn_host_conversion conversion_of(const firn_host_wanted *wanted, uint32_t stream) {
    const firn_stream_info *info = &wanted->streams[stream];
    return (firn_host_conversion){.from = FIRN_HOST_INT64,
                                  .to = info->record_elements != 0 ? info->element : (uint8_t)FIRN_FLOAT32,
                                  .ignores = stream == 1 && wanted->ignores,
                                  .unclassed = stream == 1 && wanted->unclassed,
                                  .ignored = wanted->ignored};
}

/* Refuses a table of labels that are names if its first row, which is taken for the name of the column, is one of them:
 * then the table hardly has a header, and its first label would be lost. */
static bool check_first_label(const reading *r) {
    const firn_host_matrix *labels = &r->table->features;
    const firn_host_names *names = &labels->classes.names;
    const bool guessed = r->stream == 1 && r->table->header && r->wanted->header == FIRN_HOST_HEADER_UNKNOWN;
    for (uint32_t i = 0; guessed && labels->labels == FIRN_HOST_LABELS_NAMES && i < names->count; i++)
        if (strcmp(names->list[i], r->names[0]) == 0)
            return firn_host_fail(r->file->name,
                                  "row 1 is %.60s, which is a class, too, and so may be the name of the column or a "
                                  "record; write a name of the column above it, or give --header yes or --header no%s",
                                  r->names[0], both_tables(r));
    return true;
}

static bool read_rows(reading *r) {
    if (!read_first_row(r) || !find_header(r) || !choose(r))
        return false;
    if (!r->table->header)
        firn_host_cells_restart(&r->cells, r->bytes, r->file->file.bytes);
    if (firn_host_cells_over(&r->cells))
        return firn_host_fail(r->file->name, "has a header and no records; give one with a record or more");
    while (!firn_host_cells_over(&r->cells))
        if (!read_row(r))
            return false;
    if (!check_first_label(r))
        return false;
    r->table->names = join_names(r);
    r->table->read = names_of(r, &r->table->features, false);
    r->table->named = names_of(r, &r->table->targets, true);
    return true;
}

bool firn_host_table_read(firn_host_table *table, const firn_host_file *file, const firn_host_wanted *wanted,
                          uint32_t stream) {
    reading r = {.file = file, .wanted = wanted, .stream = stream, .table = table};
    *table = (firn_host_table){.features = {.how = conversion_of(wanted, stream)},
                               .targets = {.how = conversion_of(wanted, 1)}};
    bool good = load(&r);
    if (good) {
        firn_host_cells_begin(&r.cells, r.bytes, file->file.bytes);
        good = read_rows(&r);
    }
    firn_host_cells_free(&r.cells);
    for (uint32_t i = 0; i < r.count; i++)
        free(r.names[i]);
    free(r.names);
    free(r.place);
    free(r.target);
    free(r.numbered);
    free(r.owned);
    return good;
}

void firn_host_table_free(firn_host_table *table) {
    free(table->features.elements);
    free(table->targets.elements);
    firn_host_classes_free(&table->features.classes);
    firn_host_classes_free(&table->targets.classes);
    free(table->names);
    firn_host_names_free(&table->read);
    firn_host_names_free(&table->named);
    *table = (firn_host_table){0};
}

void firn_host_table_give(firn_host_file *file, firn_host_matrix *matrix) {
    firn_data_layout *layout = &file->layout;
    *layout = (firn_data_layout){.format = FIRN_DATA_NPY,
                                 .element = matrix->how.to,
                                 .rank = matrix->columns == 1 ? 1 : 2,
                                 .dims = {matrix->rows, matrix->columns},
                                 .elements = matrix->rows * matrix->columns};
    if (matrix->columns == 1)
        layout->dims[1] = 0;
    for (uint32_t i = 0; i < FIRN_HOST_NUMBERS; i++)
        if (firn_host_number_is((firn_host_number)i, matrix->how.to))
            snprintf(layout->type, sizeof layout->type, "<%s", firn_host_number_row_of((firn_host_number)i)->code);
    file->form = FIRN_HOST_FORM_TABLE;
    firn_host_file_replace(file, matrix->elements, matrix->bytes);
    matrix->elements = NULL;
    file->integers = matrix->rounded;
    file->classes = matrix->classes.names;
    matrix->classes.names = (firn_host_names){0};
}
