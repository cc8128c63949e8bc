/* See support_cases.h. */
#include "tests/unit/support_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support_test.h"

enum { FILE_MOST = 1 << 17 }; /* bytes of a file */

void support_cases_read(const char *name, void (*run)(char *line, void *context), void *context) {
    FILE *file = fopen(name, "r");
    if (file == NULL)
        fail_msg("cannot read %s", name);
    char *text = calloc(1, FILE_MOST); /* never freed: tests keep lines */
    assert_non_null(text);
    assert_true(fread(text, 1, FILE_MOST, file) < FILE_MOST);
    fclose(file);
    for (char *at = text, *end; *at != '\0'; at = end) {
        for (end = at + strcspn(at, "\n"); *end == '\n' && (end[1] == ' ' || end[1] == '\t');)
            end += 1 + strcspn(end + 1, "\n");
        if (*end == '\n')
            *end++ = '\0';
        if (*at != '\0' && *at != '#')
            run(at, context);
    }
}
