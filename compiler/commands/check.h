/* firnc check: what firnc compile would make of a recipe. compile.c does the work with the options of firnc compile,
 * and gives the plans to the functions here, which print what is in them. Nothing is written. */
#ifndef FIRNC_CHECK_H
#define FIRNC_CHECK_H

#include <stdbool.h>

#include "compiler/base/files.h"
#include "compiler/job/job.h"

typedef struct firnc_check firnc_check;

/* Begins a check. Messages are collected from now on, and printed to stderr, each once; those about the command line
 * name this command. */
firnc_check *firnc_check_begin(const char *recipe);

/* Takes a plan, without a signature, that was made for a job. form: what it is for, in a word. Returns false after one
 * message. */
bool firnc_check_add(firnc_check *check, const char *form, const firnc_job *job, const firnc_bytes *file);

/* Prints what the plans are, if `status` is 0, as text or as JSON. Returns the exit code, which is `status`. */
int firnc_check_end(firnc_check *check, int status, bool json);

#endif
