/* Converts numbers to text with integer arithmetic, exactly and without printf or doubles. No output may be done
 * here. */
#include "runtime/targets/emulated/text.h"

#include <stdbool.h>
#include <string.h>

void firn_text_add(firn_text *line, const char *words) {
    while (*words != '\0' && line->used < sizeof line->bytes - 1)
        line->bytes[line->used++] = *words++;
    line->bytes[line->used] = '\0';
}

static void add_character(firn_text *line, char character) {
    const char words[2] = {character, '\0'};
    firn_text_add(line, words);
}

void firn_text_add_unsigned(firn_text *line, uint64_t value) {
    char digits[21];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    firn_text_add(line, digits + at);
}

void firn_text_add_hex(firn_text *line, uint64_t value, unsigned digits) {
    while (digits-- != 0)
        add_character(line, "0123456789abcdef"[value >> (4 * digits) & 15]);
}

void firn_text_add_hash(firn_text *line, const uint8_t hash[32]) {
    for (size_t i = 0; i < 32; i++)
        firn_text_add_hex(line, hash[i], 2);
}

/* --- float to decimal: the value is an integer of at most 13 limbs times a power of ten --- */

#define LIMBS     14
#define LIMB_BASE 1000000000u
#define DIGITS    9 /* significant digits */

typedef struct decimal {
    uint32_t limbs[LIMBS]; /* base 10^9, least significant first */
    int32_t exponent;      /* of the factor 10^exponent */
} decimal;

static void multiply(decimal *number, uint32_t factor) {
    uint64_t carry = 0;
    for (size_t i = 0; i < LIMBS; i++) {
        carry += (uint64_t)number->limbs[i] * factor;
        number->limbs[i] = (uint32_t)(carry % LIMB_BASE);
        carry /= LIMB_BASE;
    }
}

/* Returns mantissa * 2^exponent, exactly: a negative power of two is a power of five divided by a power of ten. */
static decimal decimal_of(uint32_t mantissa, int32_t exponent) {
    decimal number = {{mantissa}, exponent < 0 ? exponent : 0};
    for (int32_t i = 0; i < exponent; i++)
        multiply(&number, 2);
    for (int32_t i = exponent; i < 0; i++)
        multiply(&number, 5);
    return number;
}

static uint32_t digit_at(const decimal *number, size_t place) {
    uint32_t limb = number->limbs[place / 9];
    for (size_t i = place % 9; i != 0; i--)
        limb /= 10;
    return limb % 10;
}

static bool digit_below(const decimal *number, size_t place) {
    for (size_t i = 0; i < place; i++)
        if (digit_at(number, i) != 0)
            return true;
    return false;
}

/* Returns the first DIGITS digits of a number that is not zero, rounded half to even, as an integer of exactly that
 * many digits. *power becomes the power of ten of the first digit. */
static uint32_t leading_digits(const decimal *number, int32_t *power) {
    size_t count = (size_t)LIMBS * 9;
    while (digit_at(number, count - 1) == 0)
        count--;
    *power = (int32_t)count - 1 + number->exponent;
    uint32_t digits = 0;
    for (size_t i = 1; i <= DIGITS; i++)
        digits = digits * 10 + (i <= count ? digit_at(number, count - i) : 0);
    if (count > DIGITS) {
        size_t next = count - DIGITS - 1;
        uint32_t digit = digit_at(number, next);
        bool half_or_more = digit > 5 || (digit == 5 && (digit_below(number, next) || digits % 2 != 0));
        digits += half_or_more;
    }
    if (digits == LIMB_BASE) {
        digits /= 10;
        *power += 1;
    }
    return digits;
}

/* Adds nine digits with a decimal point after the first `whole` (1 to 9) of them. Trailing zeros of the fraction are
 * removed, and the point if no fraction remains. */
static void add_digits(firn_text *line, uint32_t digits, int32_t whole) {
    char characters[DIGITS];
    for (size_t i = DIGITS; i != 0; i--) {
        characters[i - 1] = (char)('0' + digits % 10);
        digits /= 10;
    }
    int32_t used = DIGITS;
    while (used > whole && characters[used - 1] == '0')
        used--;
    for (int32_t i = 0; i < used; i++) {
        if (i == whole)
            add_character(line, '.');
        add_character(line, characters[i]);
    }
}

static void add_finite(firn_text *line, uint32_t mantissa, int32_t exponent) {
    if (mantissa == 0) {
        firn_text_add(line, "0");
        return;
    }
    decimal number = decimal_of(mantissa, exponent);
    int32_t power;
    uint32_t digits = leading_digits(&number, &power);
    if (power < -4 || power >= DIGITS) {
        add_digits(line, digits, 1);
        firn_text_add(line, power < 0 ? "e-" : "e+");
        uint32_t size = (uint32_t)(power < 0 ? -power : power);
        if (size < 10)
            firn_text_add(line, "0");
        firn_text_add_unsigned(line, size);
    } else if (power < 0) {
        firn_text_add(line, "0.");
        for (int32_t i = power; i < -1; i++)
            firn_text_add(line, "0");
        while (digits % 10 == 0)
            digits /= 10;
        firn_text_add_unsigned(line, digits);
    } else {
        add_digits(line, digits, power + 1);
    }
}

void firn_text_add_float(firn_text *line, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t biased = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
    if (biased == 0xff && fraction != 0) {
        firn_text_add(line, "nan");
        return;
    }
    if (bits >> 31 != 0)
        firn_text_add(line, "-");
    if (biased == 0xff)
        firn_text_add(line, "inf");
    else if (biased == 0)
        add_finite(line, fraction, -149);
    else
        add_finite(line, fraction | 0x800000, (int32_t)biased - 150);
}
