/* The document of a plan as JSON (compiler/commands/inspect/report.h): numbers that are exact, and texts that are
 * UTF-8. What the document says is decided in document.c. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/commands/inspect/report.h"
#include "runtime/text/utf8.h"

static void *allocate(size_t bytes) {
    return firnc_allocate(bytes);
}

static void keep(void *memory) {
    (void)memory; /* memory from firnc_allocate is not freed one by one */
}

#define CJSON_DIGITS 1e15 /* cJSON prints whole numbers below this exactly */
#define NUMBER_BYTES 32u  /* of the text of a number */

static bool prints_exactly(double value) {
    return value == floor(value) && fabs(value) < CJSON_DIGITS && !(value == 0 && signbit(value));
}

/* cJSON prints other numbers with 15 digits if that is nearly the number, and -0 without its sign. They are replaced by
 * texts with enough digits to tell them from every other number. */
static void make_number_exact(cJSON *item) {
    const double value = item->valuedouble;
    if (!cJSON_IsNumber(item) || prints_exactly(value))
        return;
    char *text = firnc_allocate(NUMBER_BYTES);
    snprintf(text, NUMBER_BYTES, "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, NUMBER_BYTES, "%.17g", value);
    item->type = cJSON_Raw;
    item->valuestring = text;
}

/* JSON is UTF-8. Of a text that is not, as the name of a file may be, each byte becomes the character with its number,
 * as in the logs of firn. */
static char *as_utf8(char *text) {
    if (text == NULL || firn_utf8_is(text))
        return text;
    char *made = firnc_allocate(2 * strlen(text) + 1), *to = made;
    for (; *text != '\0'; text++)
        to += firn_utf8_encode(to, (unsigned char)*text);
    return made;
}

static void make_valid(cJSON *parent) {
    for (cJSON *item = parent->child; item != NULL; item = item->next) {
        item->string = as_utf8(item->string);
        item->valuestring = as_utf8(item->valuestring);
        make_number_exact(item);
        make_valid(item);
    }
}

void firnc_inspect_memory(bool compilers) {
    cJSON_InitHooks(compilers ? &(cJSON_Hooks){.malloc_fn = allocate, .free_fn = keep} : NULL);
}

void firnc_inspect_print_json(cJSON *document) {
    make_valid(document);
    puts(cJSON_Print(document));
}
