/* The entry to the compiler: everything that allocates runs within firnc_perform. */
#ifndef FIRNC_PERFORM_H
#define FIRNC_PERFORM_H

#include <stdbool.h>

#include "compiler/base/landing.h"
#include "compiler/base/text.h"

/* Calls work(argument), and ends with all that the work has allocated or opened released, however it ends. The process
 * never ends, and nothing is printed.
 *
 *   work      builds graphs, reads recipes, freezes plans. It copies what is to be kept, such as a plan's bytes, to
 *             memory of its own: everything of the compiler is gone when firnc_perform returns. If the call ends early,
 *             firnc_perform leaves the work by longjmp: memory, files and locks that the work got elsewhere stay, and
 *             their release is the caller's.
 *   message   receives each message of the work, also warnings, as one line without a line end. It must not call the
 *             compiler. NULL: the default of firnc_messages_by_default.
 *
 * Returns how the work ended. The compiler keeps its state in global variables, so one thread is in it at a time:
 * other threads wait, and a call from within the work is FIRNC_BUSY. The signal mask of the thread is afterwards what
 * it was before; a temporary file of an unfinished output is removed. */
firnc_outcome firnc_perform(bool (*work)(void *argument), void *argument, firnc_message message, void *context);

#endif
