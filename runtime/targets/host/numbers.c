/* The element types of data files and their conversion (numbers.h). Nothing is read from a file here. */
#include "runtime/targets/host/numbers.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"

static const firn_host_number_row rows[FIRN_HOST_NUMBERS + 1] = {
    [FIRN_HOST_BOOL] = {"b1", 0, "bool", 1, false, FIRN_BOOL},
    [FIRN_HOST_UINT8] = {"u1", 0x08, "uint8", 1, false, FIRN_UINT8},
    [FIRN_HOST_INT8] = {"i1", 0x09, "int8", 1, false, FIRN_INT8},
    [FIRN_HOST_UINT16] = {"u2", 0, "uint16", 2, false, FIRN_UINT16},
    [FIRN_HOST_INT16] = {"i2", 0x0b, "int16", 2, false, FIRN_INT16},
    [FIRN_HOST_UINT32] = {"u4", 0, "uint32", 4, false, FIRN_INT32},
    [FIRN_HOST_INT32] = {"i4", 0x0c, "int32", 4, false, FIRN_INT32},
    [FIRN_HOST_UINT64] = {"u8", 0, "uint64", 8, false, FIRN_INT32},
    [FIRN_HOST_INT64] = {"i8", 0, "int64", 8, false, FIRN_INT32},
    [FIRN_HOST_FLOAT16] = {"f2", 0, "float16", 2, true, FIRN_FLOAT32},
    [FIRN_HOST_FLOAT32] = {"f4", 0x0d, "float32", 4, true, FIRN_FLOAT32},
    [FIRN_HOST_FLOAT64] = {"f8", 0x0e, "float64", 8, true, FIRN_FLOAT32},
    [FIRN_HOST_NUMBERS] = {"", 0, "an unknown type", 1, false, FIRN_UINT8},
};

enum { PYTORCH_IGNORED = -100 };

const firn_host_number_row *firn_host_number_row_of(firn_host_number number) {
    return &rows[number];
}

bool firn_host_number_is_reversed(const firn_data_layout *layout) {
    return layout->format == FIRN_DATA_NPY ? layout->type[0] == '>' : layout->big_endian;
}

/* Returns the code of IDX that a header wrote as 0x and two digits. */
static uint8_t idx_code(const char *type) {
    static const char digits[] = "0123456789abcdef";
    const char *low = type[0] == '0' && type[2] == '0' && type[3] != 0 ? strchr(digits, type[3]) : NULL;
    return low != NULL ? (uint8_t)(low - digits) : 0;
}

firn_host_number firn_host_number_of(const firn_data_layout *layout) {
    const char *type = layout->type;
    if (layout->format == FIRN_DATA_RAW)
        return FIRN_HOST_UINT8;
    for (uint32_t i = 0; i < FIRN_HOST_NUMBERS; i++) {
        if (layout->format == FIRN_DATA_IDX
                ? rows[i].idx != 0 && rows[i].idx == idx_code(type)
                : (type[0] == '<' || type[0] == '>' || (type[0] == '|' && rows[i].width == 1)) &&
                      strcmp(type + 1, rows[i].code) == 0)
            return (firn_host_number)i;
    }
    return FIRN_HOST_NUMBERS;
}

bool firn_host_number_is(firn_host_number number, uint8_t element) {
    return rows[number].element == element && firn_type_bytes(element) == rows[number].width &&
           strcmp(firn_type_name(element), rows[number].name) == 0;
}

/* --- numbers as they are in a file --- */

/* One number: `real`, or the integer with the sign and magnitude. */
typedef struct value {
    double real;
    uint64_t magnitude;
    bool is_real, negative;
} value;

static double real_of_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == 31)
        return mantissa != 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent == 0 ? ldexp(mantissa, -24) : ldexp(mantissa + 1024, exponent - 25));
}

/* Returns the bytes of a number as one word. */
static uint64_t word_of(const uint8_t *from, uint32_t width, bool reversed) {
    uint64_t word = 0;
    for (uint32_t i = 0; i < width; i++)
        word |= (uint64_t)from[reversed ? width - 1 - i : i] << (8 * i);
    return word;
}

static double real_of(firn_host_number number, uint64_t word) {
    const uint32_t low = (uint32_t)word;
    float single;
    double real;
    if (number == FIRN_HOST_FLOAT16)
        return real_of_half((uint16_t)word);
    if (number == FIRN_HOST_FLOAT32) {
        memcpy(&single, &low, sizeof single);
        return (double)single;
    }
    memcpy(&real, &word, sizeof real);
    return real;
}

/* The bit that makes an integer of so many bytes negative. */
static const uint64_t signs[] = {
    [1] = 0x80, [2] = 0x8000, [4] = UINT64_C(0x80000000), [8] = UINT64_C(0x8000000000000000)};

static value value_of(const firn_host_conversion *how, const uint8_t *from) {
    const firn_host_number_row *row = &rows[how->from];
    const uint64_t word = word_of(from, row->width, how->reversed);
    if (row->real)
        return (value){.is_real = true, .real = real_of(how->from, word)};
    const bool is_signed = row->code[0] == 'i';
    const uint64_t sign = signs[row->width];
    if (!is_signed || (word & sign) == 0)
        return (value){.magnitude = word};
    return (value){.magnitude = sign - (word & (sign - 1)), .negative = true};
}

/* --- elements of a plan --- */

/* The integers that a type holds. */
static void limits_of(uint8_t type, int64_t *least, int64_t *most) {
    const bool is_signed = type == FIRN_INT8 || type == FIRN_INT16 || type == FIRN_INT32;
    const uint32_t bits = 8 * firn_type_bytes(type) - (is_signed ? 1 : 0);
    *most = type == FIRN_BOOL ? 1 : (int64_t)((UINT64_C(1) << bits) - 1);
    *least = is_signed ? -*most - 1 : 0;
}

/* Makes a whole number of a value, if it is one of magnitude below 2^53 or an integer of any. */
static firn_host_misfit whole_of(value *number) {
    if (!number->is_real)
        return FIRN_HOST_FITS;
    if (!isfinite(number->real))
        return FIRN_HOST_NAN;
    if (number->real != floor(number->real))
        return FIRN_HOST_FRACTION;
    if (fabs(number->real) >= 0x1p53)
        return FIRN_HOST_RANGE;
    *number = (value){.magnitude = (uint64_t)fabs(number->real), .negative = number->real < 0};
    return FIRN_HOST_FITS;
}

static firn_host_misfit put_integer(const firn_host_conversion *how, value number, void *to) {
    int64_t least, most;
    const firn_host_misfit misfit = whole_of(&number);
    if (misfit != FIRN_HOST_FITS)
        return misfit;
    if (how->ignores && number.negative && number.magnitude == (uint64_t)-PYTORCH_IGNORED)
        number = (value){.magnitude = how->ignored};
    else if (how->unclassed && (number.negative || number.magnitude >= how->ignored))
        return FIRN_HOST_CLASS;
    limits_of(how->to, &least, &most);
    if (number.magnitude > (number.negative ? (uint64_t)-least : (uint64_t)most))
        return FIRN_HOST_RANGE;
    const uint64_t word = number.negative ? 0 - number.magnitude : number.magnitude;
    for (uint32_t i = 0; i < firn_type_bytes(how->to); i++)
        ((uint8_t *)to)[i] = (uint8_t)(word >> (8 * i));
    return FIRN_HOST_FITS;
}

/* Whether float32 has this integer: its bits from the first to the last that is 1 are at most 24. */
static bool is_exact(uint64_t magnitude) {
    while (magnitude != 0 && magnitude % 2 == 0)
        magnitude /= 2;
    return magnitude >> 24 == 0;
}

static firn_host_misfit put_float(value number, void *to, uint32_t *rounded) {
    float single;
    if (!number.is_real) {
        if (!is_exact(number.magnitude))
            return FIRN_HOST_INEXACT;
        single = number.negative ? -(float)number.magnitude : (float)number.magnitude;
    } else {
        single = (float)number.real;
        if (isinf(single) && isfinite(number.real))
            return FIRN_HOST_OVERFLOW;
        *rounded += (double)single != number.real && !isnan(number.real);
    }
    if (isnan(single))
        single = (float)NAN; /* one NaN for all, so that the hash of the data does not depend on the processor */
    memcpy(to, &single, sizeof single); /* hosts are little-endian */
    return FIRN_HOST_FITS;
}

firn_host_converted firn_host_convert(const firn_host_conversion *how, const uint8_t *from, uint32_t count, void *to) {
    const uint32_t width = rows[how->from].width, bytes = firn_type_bytes(how->to);
    firn_host_converted converted = {0};
    for (; converted.count < count; converted.count++) {
        const value number = value_of(how, from + (size_t)converted.count * width);
        uint8_t *at = (uint8_t *)to + (size_t)converted.count * bytes;
        converted.misfit =
            how->to == FIRN_FLOAT32 ? put_float(number, at, &converted.rounded) : put_integer(how, number, at);
        if (converted.misfit != FIRN_HOST_FITS)
            break;
    }
    return converted;
}

void firn_host_mend_class(const firn_host_conversion *how, char *text, size_t size) {
    snprintf(text, size, "number the classes from 0 to %lu, and give rows that are to be ignored the label %d",
             (unsigned long)how->ignored - 1, PYTORCH_IGNORED);
}

double firn_host_number_value(const firn_host_conversion *how, const uint8_t *from) {
    const value number = value_of(how, from);
    const double magnitude = (double)number.magnitude;
    return number.is_real ? number.real : number.negative ? -magnitude : magnitude;
}

/* Writes the shortest decimal number that is the same in the file's type. */
static void shortest(double real, firn_host_number type, char *text, size_t size) {
    const int most = type == FIRN_HOST_FLOAT64 ? 17 : 9;
    for (int digits = 6; digits <= most; digits++) {
        snprintf(text, size, "%.*g", digits, real);
        const double back = strtod(text, NULL);
        if (back == real || (type != FIRN_HOST_FLOAT64 && (double)(float)back == real))
            return;
    }
}

void firn_host_number_text(const firn_host_conversion *how, const uint8_t *from, char *text, size_t size) {
    const value number = value_of(how, from);
    if (!number.is_real)
        snprintf(text, size, "%s%llu", number.negative ? "-" : "", (unsigned long long)number.magnitude);
    else if (isfinite(number.real))
        shortest(number.real, how->from, text, size);
    else
        snprintf(text, size, "%s", isnan(number.real) ? "NaN" : number.real < 0 ? "-infinity" : "infinity");
}
