/* The element types of data files, as one table, and how a number of one becomes an element of a plan. A number becomes
 * exactly the same number or is refused; only float64 is rounded, once, to float32. */
#ifndef FIRN_HOST_NUMBERS_H
#define FIRN_HOST_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/targets/dataset.h"

typedef enum firn_host_number {
    FIRN_HOST_BOOL,
    FIRN_HOST_UINT8,
    FIRN_HOST_INT8,
    FIRN_HOST_UINT16,
    FIRN_HOST_INT16,
    FIRN_HOST_UINT32,
    FIRN_HOST_INT32,
    FIRN_HOST_UINT64,
    FIRN_HOST_INT64,
    FIRN_HOST_FLOAT16,
    FIRN_HOST_FLOAT32,
    FIRN_HOST_FLOAT64,
    FIRN_HOST_NUMBERS /* none of these */
} firn_host_number;

typedef struct firn_host_number_row {
    const char *code; /* of NumPy, behind the byte order */
    uint8_t idx;      /* code of IDX; 0: IDX has no such type */
    const char *name;
    uint8_t width;   /* bytes */
    bool real;       /* false: an integer */
    uint8_t element; /* firn_type: the same type, or the one it becomes where no plan says another */
} firn_host_number_row;

/* FIRN_HOST_NUMBERS has a row for messages. */
const firn_host_number_row *firn_host_number_row_of(firn_host_number number);
/* Returns the type of the elements of a file, by the type in its header. */
firn_host_number firn_host_number_of(const firn_data_layout *layout);
/* Returns true if the header names a type of the table in big-endian order. */
bool firn_host_number_is_reversed(const firn_data_layout *layout);
/* Returns true if a plan's elements of this type have the same bytes as the numbers of a file, apart from their
 * order. */
bool firn_host_number_is(firn_host_number number, uint8_t element);

/* How the numbers of a file become elements. */
typedef struct firn_host_conversion {
    firn_host_number from;
    bool reversed;    /* the file is big-endian */
    uint8_t to;       /* firn_type: float32, int32 or a narrower integer */
    bool ignores;     /* -100 becomes `ignored` */
    bool unclassed;   /* `ignored` is the number of classes, and all other numbers must be below it */
    uint32_t ignored; /* a label */
} firn_host_conversion;

/* Why a number is no element of a plan. */
typedef enum firn_host_misfit {
    FIRN_HOST_FITS,
    FIRN_HOST_FRACTION, /* it is no whole number */
    FIRN_HOST_RANGE,    /* it is beyond the integers of the type */
    FIRN_HOST_CLASS,    /* it is neither a class nor -100 */
    FIRN_HOST_NAN,      /* NaN or infinity as an integer */
    FIRN_HOST_OVERFLOW, /* it is finite, and would be infinity in float32 */
    FIRN_HOST_INEXACT   /* an integer that float32 does not hold */
} firn_host_misfit;

typedef struct firn_host_converted {
    uint32_t count;          /* of numbers before the first that does not fit */
    firn_host_misfit misfit; /* of that number */
    uint32_t rounded;        /* of numbers that are others as float32 */
} firn_host_converted;

/* Converts `count` numbers, until one does not fit. */
firn_host_converted firn_host_convert(const firn_host_conversion *how, const uint8_t *from, uint32_t count, void *to);
/* Returns a number of a file, rounded if it is an integer beyond 2^53. */
double firn_host_number_value(const firn_host_conversion *how, const uint8_t *from);
/* Writes what to do about a number that is neither a class nor -100 (FIRN_HOST_CLASS). */
void firn_host_mend_class(const firn_host_conversion *how, char *text, size_t size);
/* Writes a number of a file for a message. */
void firn_host_number_text(const firn_host_conversion *how, const uint8_t *from, char *text, size_t size);

#endif
