/* How a call of the compiler that cannot go on ends early, without ending the process: it jumps to where
 * firnc_perform (compiler/base/perform.h) began. This file knows no resource of its own. */
#ifndef FIRNC_LANDING_H
#define FIRNC_LANDING_H

#include <setjmp.h>
#include <stdint.h>

/* How a call of the compiler ended. */
typedef enum firnc_outcome {
    FIRNC_DONE,   /* the work returned true */
    FIRNC_WRONG,  /* the work returned false: a recipe, another file or a job is wrong, after one message */
    FIRNC_MEMORY, /* memory was exhausted, after one message */
    FIRNC_MISUSE, /* the graph builder was called in a way that is wrong for any job, after one message */
    FIRNC_BUSY    /* firnc_perform was called from within itself, after one message; nothing was done */
} firnc_outcome;

/* Registers a resource that is not the compiler's memory, such as an open file. If the call ends early,
 * release(resource) is called, in the reverse order of registration. If the registration itself finds no memory, the
 * resource is released and the call ends with FIRNC_MEMORY. */
void firnc_hold(void (*release)(void *resource), void *resource);

/* Removes the newest registration of these two values, without releasing the resource. */
void firnc_let_go(void (*release)(void *resource), const void *resource);

/* Releases everything that is registered. */
void firnc_release_held(void);

/* The same for a file descriptor, which is closed. */
void firnc_hold_file(int file);
void firnc_let_go_file(int file);

/* Sets where firnc_end jumps to; NULL: nowhere. Returns what was set before. */
jmp_buf *firnc_landing_to(jmp_buf *place);

/* Ends the call early. Outside of firnc_perform there is nowhere to return to, and the process is aborted: every
 * function that allocates is called from within firnc_perform. */
void firnc_end(firnc_outcome outcome) __attribute__((noreturn));

/* Ends the call with FIRNC_MEMORY; firnc_perform prints the message. bytes: how many more were needed; 0:
 * that is not known, as where a library has allocated. */
void firnc_out_of_memory(uint64_t bytes) __attribute__((noreturn));
/* Returns the bytes of the last firnc_out_of_memory. */
uint64_t firnc_bytes_needed(void);

#endif
