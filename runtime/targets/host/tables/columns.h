/* What the columns of a table of comma-separated values hold, for people: also of a table that no plan would read. */
#ifndef FIRN_HOST_TABLE_COLUMNS_H
#define FIRN_HOST_TABLE_COLUMNS_H

#include "runtime/targets/host/host.h"

enum { FIRN_HOST_DISTINCT_MOST = 1000 }; /* different values of a column that are counted */

/* One column. Each cell of it is one of the first four. */
typedef struct firn_host_column {
    char *name; /* NULL: the table has no names; allocated */
    uint64_t numbers, missing, infinities, texts;
    bool whole;              /* all numbers are */
    double least, most, sum; /* of the numbers */
    uint32_t distinct;       /* different cells that are not missing */
    bool more;               /* there are more than FIRN_HOST_DISTINCT_MOST */
    uint64_t *seen;          /* hashes of them, while they are counted; allocated */
} firn_host_column;

typedef struct firn_host_columns {
    firn_host_column *list; /* allocated */
    uint32_t count;
    uint64_t rows;
    bool cut; /* the table is damaged behind these rows, or has rows of other lengths */
} firn_host_columns;

/* Reads a file if it is a table. Returns false, with nothing to free, if it is none, or has too many columns to be
 * looked at one by one, or cannot be read; prints nothing in these cases but the last. */
bool firn_host_columns_read(firn_host_columns *columns, const char *path, const firn_host_wanted *wanted);
void firn_host_columns_free(firn_host_columns *columns);

#endif
