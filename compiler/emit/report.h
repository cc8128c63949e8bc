/* Writes the report of a plan: what is only for people. */
#ifndef FIRNC_REPORT_H
#define FIRNC_REPORT_H

#include "compiler/base/files.h"
#include "compiler/emit/write.h"

/* Writes the report as JSON text of one line for each list (plan/FORMAT.md, "The report"). The same graph and job give
 * the same text. The compiler's memory owns the bytes. */
firnc_bytes firnc_write_report(const firnc_compilation *compilation, const firnc_payload *payload);

#endif
