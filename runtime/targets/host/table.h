/* Tables of comma-separated values as records: which columns are features and which are targets, and their numbers. */
#ifndef FIRN_HOST_TABLE_H
#define FIRN_HOST_TABLE_H

#include "runtime/targets/host/data_file.h"

/* The numbers of some columns, row by row, as the plan reads them. */
typedef struct firn_host_matrix {
    firn_host_conversion how; /* from int64, for integer types */
    uint32_t columns;
    uint64_t rows;
    uint8_t *elements; /* allocated */
    uint64_t bytes, space;
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

#endif
