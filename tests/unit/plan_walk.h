/* Visits every field of a verified plan through every accessor of plan/generated/reader.h. For tests of the format. */
#ifndef FIRN_TESTS_PLAN_WALK_H
#define FIRN_TESTS_PLAN_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/generated/reader.h"

/* Callbacks for each value. name is NULL for an element of a vector. */
typedef struct walk_sink {
    void *context;
    void (*open)(void *context, const char *name, char bracket);      /* '{' or '[' */
    void (*close)(void *context, char bracket);                       /* '}' or ']' */
    void (*integer)(void *context, const char *name, int64_t value);  /* signed fields */
    void (*natural)(void *context, const char *name, uint64_t value); /* unsigned fields */
    void (*choice)(void *context, const char *name, const char *word, uint64_t value);
    void (*truth)(void *context, const char *name, bool value);
    void (*single)(void *context, const char *name, float value);
    void (*real)(void *context, const char *name, double value);
    void (*text)(void *context, const char *name, const char *value, uint32_t length);
} walk_sink;

void plan_walk(firn_fb_plan plan, const walk_sink *sink);

#endif
