/* The output file that is open, and the parts that every generated file has. */
#include "plan/generate/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/generate/program.h"

static FILE *output;
const char *output_directory;

void begin_file_from(const char *name, const char *purpose, const char *source) {
    size_t bytes = strlen(output_directory) + strlen(name) + 2;
    char *path = allocate(bytes, 1);
    snprintf(path, bytes, "%s/%s", output_directory, name);
    output = fopen(path, "w");
    if (output == NULL)
        refuse(path, "cannot write it");
    free(path);
    if (purpose != NULL)
        fprintf(output,
                "/* %s\n * Written by plan/generate from %s; change that file instead. */\n/* clang-format "
                "off */\n",
                purpose, source);
}

void begin_file(const char *name, const char *purpose) {
    begin_file_from(name, purpose, "plan/plan.fbs");
}

void end_file(void) {
    if (ferror(output) != 0 || fclose(output) != 0)
        refuse(output_directory, "writing failed; is the disk full?");
}

void put(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(output, format, arguments);
    va_end(arguments);
}

void put_upper(const char *name) {
    for (size_t i = 0; name[i] != 0; i++)
        fputc(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i], output);
}

const char *c_type_of(const struct field *field) {
    if (field->enumeration != NULL)
        return scalar_of(field->enumeration->base)->c_type;
    return scalar_of(innermost(field))->c_type;
}

uint64_t default_bits(const struct field *field) {
    if (field->base == BASE_FLOAT) {
        const float single = (float)field->default_real;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        return bits;
    }
    uint64_t bits = 0;
    if (field->base == BASE_DOUBLE)
        memcpy(&bits, &field->default_real, sizeof bits);
    else if (scalar_of(field->base) != NULL)
        bits = (uint64_t)field->default_integer;
    return bits;
}
