/* firnc export --firmware: a folder with a project that trains on an emulated board, and builds with a cross compiler
 * alone. */
#ifndef FIRNC_PROJECT_H
#define FIRNC_PROJECT_H

#include "compiler/firmware/records.h"

typedef struct firnc_project_wanted {
    const char *plan, *eval; /* eval: NULL or the plan that evaluates beside it */
    const char *folder, *target, *key;
    firnc_records_wanted records;
} firnc_project_wanted;

/* Writes the folder, whole or not at all, and says what is in it. Returns the exit code, after one line on stderr if it
 * is not 0. */
int firnc_project_write(const firnc_project_wanted *wanted);

#endif
