/* See support_share.h. */
#include "tests/unit/support_share.h"

#include <stdlib.h>
#include <string.h>

/* Returns the number in an environment variable; 0 if there is none. */
static unsigned long number_of(const char *variable) {
    const char *text = getenv(variable);
    return text != NULL ? strtoul(text, NULL, 10) : 0;
}

unsigned support_every(void) {
    const unsigned long every = number_of("FIRN_TEST_EVERY");
    return every > 1 ? (unsigned)every : 1;
}

unsigned support_from(void) {
    return (unsigned)number_of("FIRN_TEST_FROM") % support_every();
}

bool support_takes_all(void) {
    return support_every() == 1;
}

bool support_takes_next(void) {
    static unsigned cases;
    return cases++ % support_every() == support_from();
}

bool support_is_exhaustive(void) {
    const char *text = getenv("FIRN_TEST_EXHAUSTIVE");
    return text != NULL && strcmp(text, "1") == 0;
}
