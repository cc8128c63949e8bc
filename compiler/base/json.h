/* JSON of untrusted files, parsed by cJSON. */
#ifndef FIRNC_JSON_H
#define FIRNC_JSON_H

#include <stdint.h>

struct cJSON;

/* The JSON object that a text begins with, behind which only characters of `padding` may stand; the caller deletes it.
 * NULL if the text is anything else, or has the character U+0000, behind which cJSON would not see a difference between
 * two names. */
struct cJSON *firnc_json_parse(const char *text, uint64_t bytes, const char *padding);

/* Deletes an object that firnc_json_parse returned; NULL is allowed. If the call of the compiler ends early, the object
 * is deleted then. */
void firnc_json_delete(struct cJSON *json);

#endif
