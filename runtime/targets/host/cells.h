/* The cells of a table of comma-separated values (RFC 4180), and the numbers in them. Nothing here depends on the
 * locale. */
#ifndef FIRN_HOST_CELLS_H
#define FIRN_HOST_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place in a table, from 1. A cell in quotes may have several lines. */
typedef struct firn_host_cells {
    const char *at, *end;
    uint64_t row, line; /* of the next cell */
    char *text;         /* of the last cell without quotes and outer spaces, which a text in quotes keeps; terminated */
    size_t length, space;
    const char *fault; /* what is wrong with the table at this place; NULL: nothing */
    const char *mend;  /* and what to do about it */
} firn_host_cells;

/* Begins at the first cell; a byte order mark is skipped. The bytes are the caller's. */
void firn_host_cells_begin(firn_host_cells *cells, const uint8_t *bytes, uint64_t count);
/* Begins again at the first cell, and keeps the memory of the last one. */
void firn_host_cells_restart(firn_host_cells *cells, const uint8_t *bytes, uint64_t count);
void firn_host_cells_free(firn_host_cells *cells);
/* Returns true behind the last row. Empty lines at the end belong to none. */
bool firn_host_cells_over(const firn_host_cells *cells);
/* Reads the next cell and stores whether it is the last of its row. Returns false with the fault and its mend
 * if it is none. */
bool firn_host_cells_next(firn_host_cells *cells, bool *last);

/* What a cell is. */
typedef enum firn_host_cell {
    FIRN_HOST_CELL_NUMBER,   /* a decimal number */
    FIRN_HOST_CELL_MISSING,  /* empty, or NA, NaN, null and their like */
    FIRN_HOST_CELL_INFINITE, /* a word for infinity */
    FIRN_HOST_CELL_TEXT
} firn_host_cell;

firn_host_cell firn_host_cell_of(const char *text);
/* The nearest float32 of a number, even among equals; infinity if it is beyond. */
float firn_host_cell_float(const char *number);
/* The exact integer of a number. Returns false with *fraction if it is none, or is beyond 18 digits. */
bool firn_host_cell_integer(const char *number, int64_t *integer, bool *fraction);

#endif
