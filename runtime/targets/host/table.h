/* Tables of comma-separated values as records: which columns are features and which are targets, and their numbers. */
#ifndef FIRN_HOST_TABLE_H
#define FIRN_HOST_TABLE_H

#include "runtime/targets/host/data_file.h"

enum { FIRN_HOST_CLASSES_MOST = 4096 }; /* names of classes, as a file of them may have */

#define FIRN_HOST_NO_CLASS UINT32_MAX

/* Texts that name classes. */
typedef struct firn_host_classes {
    firn_host_names names; /* in the order in which they were met */
    uint32_t *sorted;      /* their indices, by the bytes of the names; allocated */
} firn_host_classes;

/* What the cells of a column of labels are. The first record decides. */
typedef enum firn_host_labels {
    FIRN_HOST_LABELS_OPEN,
    FIRN_HOST_LABELS_NUMBERS,
    FIRN_HOST_LABELS_NAMES
} firn_host_labels;

/* The numbers of some columns, row by row, as the plan reads them. */
typedef struct firn_host_matrix {
    firn_host_conversion how; /* from int64, for integer types */
    uint32_t columns;
    uint64_t rows;
    uint8_t *elements; /* allocated */
    uint64_t bytes, space;
    firn_host_rounded rounded; /* integers that float32 rounds */
    firn_host_labels labels;   /* of a column that may name classes */
    firn_host_classes classes; /* whose indices the elements are, if the labels are names */
} firn_host_matrix;

typedef struct firn_host_table {
    firn_host_matrix features, targets; /* no columns of targets: none were asked for */
    char *names;                        /* of all columns, in one text; allocated */
    firn_host_names read, named;        /* of the columns in `features` and in `targets`; none without a header */
    bool header;                        /* the first row has names */
} firn_host_table;

/* Returns true if a file that is no array is a table: by its name, or because columns were asked for. */
bool firn_host_table_is(const firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream);
/* Reads the contents of a file that is unpacked, as `wanted` says. Returns false after a message. Free the table
 * whatever is returned. */
bool firn_host_table_read(firn_host_table *table, const firn_host_file *file, const firn_host_wanted *wanted,
                          uint32_t stream);
void firn_host_table_free(firn_host_table *table);
/* Gives a file the numbers of a matrix as its contents, as if they were an array. The matrix loses them. */
void firn_host_table_give(firn_host_file *file, firn_host_matrix *matrix);

/* --- classes (tables/classes.c) ----------------------------------------------------------------------------------- */

/* Returns the index of a name, which is added if it is new, or FIRN_HOST_NO_CLASS if there are `most` others. */
uint32_t firn_host_classes_index(firn_host_classes *classes, const char *name, uint32_t most);
void firn_host_classes_free(firn_host_classes *classes);
/* Returns true if the classes of the labels are those of a training. */
bool firn_host_classes_known(const firn_host_wanted *wanted);
/* Numbers the classes of all tables of labels in natural order, and keeps their names. Returns false after a message.
 */
bool firn_host_classes_join(firn_host_data *data, const firn_host_wanted *wanted);

#endif
