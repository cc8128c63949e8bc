/* firnc export --c: writes the tables of the parts that a firmware needs for some plans (runtime/parts.h), as a C file.
 */
#ifndef FIRNC_EXPORT_H
#define FIRNC_EXPORT_H

#include "compiler/commands/options.h"

/* Reads every plan, checks all of it but the signature, and writes one file with the parts that they need together, to
 * `output` or, if that is NULL, to stdout. Returns the exit code: 0; or after one line on stderr 1 if a file cannot be
 * read or written, 3 if a plan is refused. */
int firnc_export_parts(const char *const *plans, uint32_t count, const char *output);

#endif
