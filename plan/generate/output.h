/* Writes generated files, one at a time. */
#ifndef FIRN_GENERATE_OUTPUT_H
#define FIRN_GENERATE_OUTPUT_H

#include "plan/generate/schema.h"

struct op_row; /* plan/generate/op_rows.h */

extern const char *output_directory;

/* Opens a file in the output directory. If purpose is not NULL, the file begins with a comment that gives the purpose
 * and the source. */
void begin_file(const char *name, const char *purpose);
void begin_file_from(const char *name, const char *purpose, const char *source);
void end_file(void);

void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
void put_upper(const char *name);

/* The C type of a scalar field, or of a vector field's elements. */
const char *c_type_of(const struct field *field);

/* The bits of a scalar's default; 0 for what is no scalar. */
uint64_t default_bits(const struct field *field);

/* The highest minor version that a mark in the table of ops names. */
unsigned newest_of_ops(const struct op_row *rows, size_t count);

/* Write the generated files (reader.c, tables.c, words.c, writer.c, op_output.c, since.c). */
void write_reader(void);
void write_tables(const uint8_t hash[32]);
void write_words(void);
void write_writer_header(void);
void write_writer(void);
void write_ops(const struct op_row *rows, size_t count);
void write_since(void);
void write_version(const struct op_row *rows, size_t count);

#endif
