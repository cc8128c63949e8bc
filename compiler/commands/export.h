/* firnc export: the files that firmware is built and flashed with. Each function reads its input, checks it, and writes
 * one file, to `output` or, if that is NULL, to stdout. It returns the exit code: 0; or after one line on stderr 1 if a
 * file cannot be read or written, 3 if a plan is refused. The signature of a plan is not checked, for want of a key. */
#ifndef FIRNC_EXPORT_H
#define FIRNC_EXPORT_H

#include "compiler/base/files.h"
#include "compiler/base/text.h"
#include "compiler/commands/options.h"
#include "plan/signature.h"

/* What a firmware needs beside the parts of its plans. */
typedef struct firnc_export_wishes {
    bool copy_plan; /* the part that copies a plan */
    bool threads;   /* those of a port */
} firnc_export_wishes;

/* export.c: the tables of the parts that these plans need together (runtime/parts.h), as C; in memory, and as a file.
 */
int firnc_export_parts_text(const char *const *plans, uint32_t count, firnc_export_wishes wishes, firnc_bytes *c);
int firnc_export_parts(const char *const *plans, uint32_t count, firnc_export_wishes wishes, const char *output);

/* export_key.c: whether the file begins like a key in PEM; and public keys as a C array, one behind the other. More
 * keys than a firmware can have, or one that is there twice, are refused. The text alone refuses nothing. */
firnc_bytes firnc_export_keys_text(const uint8_t keys[][FIRN_PUBLIC_KEY_BYTES], uint32_t count);
bool firnc_export_is_key(const char *name);
int firnc_export_keys(const char *const *names, uint32_t count, const char *output);

/* export_image.c: a plan as a C array; as Intel HEX; and as an ELF file with a section .firn_plan and the symbols
 * firn_plan_region and firn_plan_region_end: an object to link, or at an address, which is not NULL then, a program to
 * flash. Addresses are multiples of 64. */
int firnc_export_array(const char *plan, const char *output);
int firnc_export_hex(const char *plan, uint32_t address, const char *output);
int firnc_export_elf(const char *plan, bool is_arm, const uint32_t *address, const char *output);

/* export_output.c: adds bytes as the lines of an initialiser in C; writes the file. */
void firnc_export_add_bytes(firnc_growing_text *to, const uint8_t *bytes, uint64_t count);
int firnc_export_write(const char *output, const void *bytes, uint64_t count);

#endif
