/* The early end of a call of the compiler (compiler/base/landing.h). */
#include "compiler/base/landing.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct held {
    void (*release)(void *resource);
    void *resource;
    struct held *before;
} held;

static held *newest;
static jmp_buf *landing;
static uint64_t needed;

void firnc_hold(void (*release)(void *resource), void *resource) {
    held *fresh = malloc(sizeof *fresh);
    if (fresh == NULL) {
        release(resource);
        firnc_out_of_memory(sizeof *fresh);
    }
    *fresh = (held){release, resource, newest};
    newest = fresh;
}

void firnc_let_go(void (*release)(void *resource), const void *resource) {
    for (held **at = &newest; *at != NULL; at = &(*at)->before)
        if ((*at)->release == release && (*at)->resource == resource) {
            held *found = *at;
            *at = found->before;
            free(found);
            return;
        }
}

void firnc_release_held(void) {
    while (newest != NULL) {
        held *last = newest;
        newest = last->before;
        last->release(last->resource);
        free(last);
    }
}

static void close_file(void *resource) {
    close((int)(intptr_t)resource);
}

void firnc_hold_file(int file) {
    firnc_hold(close_file, (void *)(intptr_t)file);
}

void firnc_let_go_file(int file) {
    firnc_let_go(close_file, (void *)(intptr_t)file);
}

jmp_buf *firnc_landing_to(jmp_buf *place) {
    jmp_buf *before = landing;
    landing = place;
    return before;
}

void firnc_end(firnc_outcome outcome) {
    if (landing == NULL)
        abort();
    longjmp(*landing, (int)outcome);
}

void firnc_out_of_memory(uint64_t bytes) {
    needed = bytes;
    firnc_end(FIRNC_MEMORY);
}

uint64_t firnc_bytes_needed(void) {
    return needed;
}
