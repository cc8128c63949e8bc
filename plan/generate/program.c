/* How the generator stops, and how it allocates memory. */
#include "plan/generate/program.h"

#include <stdio.h>
#include <stdlib.h>

const char *input_name = "generate";

void refuse(const char *place, const char *mend) {
    fprintf(stderr, "%s: %s: %s\n", input_name, place, mend);
    exit(1);
}

void *allocate(size_t count, size_t size) {
    void *memory = calloc(count == 0 ? 1 : count, size);
    if (memory == NULL)
        refuse("memory", "there is not enough");
    return memory;
}
