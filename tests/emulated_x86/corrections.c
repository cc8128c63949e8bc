/* What the emulator of run.py needs corrected: it is loaded before bochscpu-python 0.4.0, whose calls of these
 * functions come here. Nothing of Firn may be imitated here.
 *
 * - Names of libc 2.38, for an older libc.
 * - Where subnormal results are flushed, Bochs's addition also flushes a sum between 2^-126 and 2^-125 to which two
 *   larger numbers cancel. Every CPU returns it, and it is exact.
 */
#define _GNU_SOURCE /* dlsym */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned long long firn_strtoull(const char *text, char **end, int base) __asm__("__isoc23_strtoull");
int firn_sscanf(const char *text, const char *format, ...) __asm__("__isoc23_sscanf");
uint32_t firn_add(uint32_t a, uint32_t b, void *status) __asm__("_Z7f32_addjjP18softfloat_status_t");
uint32_t firn_subtract(uint32_t a, uint32_t b, void *status) __asm__("_Z7f32_subjjP18softfloat_status_t");
void firn_correct(const char *emulator);

unsigned long long firn_strtoull(const char *text, char **end, int base) {
    return strtoull(text, end, base);
}

int firn_sscanf(const char *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int result = vsscanf(text, format, arguments);
    va_end(arguments);
    return result;
}

typedef uint32_t (*operation)(uint32_t a, uint32_t b, void *status);

static operation add, subtract;

/* Finds Bochs's own functions. */
void firn_correct(const char *emulator) {
    void *const library = dlopen(emulator, RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) {
        *(void **)&add = dlsym(library, "_Z7f32_addjjP18softfloat_status_t");
        *(void **)&subtract = dlsym(library, "_Z7f32_subjjP18softfloat_status_t");
    }
    if (add == NULL || subtract == NULL || add == firn_add || subtract == firn_subtract) {
        fprintf(stderr, "emulated x86: %s has not the functions to correct\n", emulator);
        abort();
    }
}

static float from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t corrected(uint32_t result, float sum) {
    if ((result & 0x7fffffffu) == 0 && fabsf(sum) >= 0x1p-126f)
        memcpy(&result, &sum, sizeof result);
    return result;
}

uint32_t firn_add(uint32_t a, uint32_t b, void *status) {
    return corrected(add(a, b, status), from_bits(a) + from_bits(b));
}

uint32_t firn_subtract(uint32_t a, uint32_t b, void *status) {
    return corrected(subtract(a, b, status), from_bits(a) - from_bits(b));
}
