/* See support_cases.h. */
#include "tests/unit/support_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support_test.h"

enum { FILE_MOST = 1 << 17 }; /* bytes of a file */

/* The files that were read. Tests keep lines of them. */
typedef struct cases {
    struct cases *before;
    char text[FILE_MOST];
} cases;

static cases *last;

void support_cases_read(const char *name, void (*run)(char *line, void *context), void *context) {
    FILE *file = fopen(name, "r");
    if (file == NULL)
        fail_msg("cannot read %s", name);
    cases *read = calloc(1, sizeof *read);
    assert_non_null(read);
    assert_true(fread(read->text, 1, FILE_MOST, file) < FILE_MOST);
    fclose(file);
    read->before = last;
    last = read;
    for (char *at = read->text, *end; *at != '\0'; at = end) {
        for (end = at + strcspn(at, "\n"); *end == '\n' && (end[1] == ' ' || end[1] == '\t');)
            end += 1 + strcspn(end + 1, "\n");
        if (*end == '\n')
            *end++ = '\0';
        if (*at != '\0' && *at != '#')
            run(at, context);
    }
}
