/* Reads the objects of a tokenizer.json by tables of keys: a key is read, or has no effect, or must be empty, or is
 * refused by name. A function that fails returns false after one message. */
#ifndef FIRNC_TOKENS_DOCUMENT_H
#define FIRNC_TOKENS_DOCUMENT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum firnc_key_kind {
    FIRNC_KEY_READ,  /* somebody reads it */
    FIRNC_KEY_IDLE,  /* no id depends on it */
    FIRNC_KEY_EMPTY, /* must be null, false, 0 or ""; `why` says why */
} firnc_key_kind;

typedef struct firnc_key {
    const char *name;
    firnc_key_kind kind;
    const char *why;
} firnc_key;

/* An object and how messages name it. */
typedef struct firnc_document {
    const char *file, *path; /* path: "model", "" for the whole file */
    const cJSON *object;
} firnc_document;

/* Prints "firnc: FILE: PATH.KEY: VALUE why". key: "" for the object itself; item may be NULL. Returns false. */
bool firnc_document_refuse(const firnc_document *document, const char *key, const cJSON *item, const char *why);

/* Checks that a value is an object whose keys are all in the table, each at most once. */
bool firnc_document_open(firnc_document *document, const char *file, const char *path, const cJSON *object,
                         const firnc_key *keys, uint32_t count);

/* The value of a key; NULL if there is none or it is null. */
const cJSON *firnc_document_get(const firnc_document *document, const char *key);

/* Reads a bool; leaves *value as it is if the key is missing or null. */
bool firnc_document_flag(const firnc_document *document, const char *key, bool *value);

/* Reads a text into the compiler's memory; it must be there. */
bool firnc_document_text(const firnc_document *document, const char *key, const char **value);

/* The text of the key "type", "" if there is none. */
const char *firnc_document_type(const cJSON *object);

/* Reads a whole number from 0 to `most`. */
bool firnc_document_number(const cJSON *item, uint32_t most, uint32_t *value);

#endif
