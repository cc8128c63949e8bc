/* Templates of the files of a project: text with marks in it. */
#ifndef FIRNC_TEMPLATE_H
#define FIRNC_TEMPLATE_H

#include <stdint.h>

/* A mark @NAME@ becomes its text. A line that is only `@if NAME` begins lines that end with `@end`; they are left out
 * if the text of NAME is NULL. Such lines do not nest. */
typedef struct firnc_mark_text {
    const char *name, *text;
} firnc_mark_text;

/* Fills in a template. Every mark in it must be one of `marks`. */
const char *firnc_template_fill(const char *text, const firnc_mark_text *marks, uint32_t count);

#endif
