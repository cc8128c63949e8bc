/* Fuzzes recipes: arbitrary bytes as a YAML file. A recipe is refused with exactly one message, or gives a graph. What
 * would take long, a large model, is not built. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/firnc.h"
#include "compiler/recipe/recipe.h"
#include "tests/fuzz/fuzz.h"

static uint32_t faults;

static void count_message(void *context, const char *line) {
    (void)context;
    FUZZ_HOLDS(strncmp(line, "firnc: ", 7) == 0 && strchr(line, '\n') == NULL);
    faults += strstr(line, ": warning: ") == NULL;
}

static void write_recipe(const char *name, const uint8_t *data, size_t size) {
    FILE *file = fopen(name, "wb");
    FUZZ_HOLDS(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

/* A recipe with this word could make a fault look like a warning, because messages quote it. */
static bool has_warning(const uint8_t *data, size_t size) {
    static const char word[] = "warning";
    for (size_t i = 0; i + sizeof word - 1 <= size; i++)
        if (memcmp(data + i, word, sizeof word - 1) == 0)
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (has_warning(data, size))
        return 0;
    static char name[64];
    if (name[0] == '\0')
        snprintf(name, sizeof name, "/dev/shm/firn-fuzz-%ld.yaml", (long)getpid());
    write_recipe(name, data, size);
    firnc_messages_to(count_message, NULL);
    const firnc_mark mark = firnc_memory_mark();
    for (firnc_mode mode = FIRNC_TRAIN; mode <= FIRNC_EVAL; mode++) {
        static firnc_recipe recipe;
        memset(&recipe, 0, sizeof recipe);
        faults = 0;
        const bool read = firnc_recipe_read(&recipe, name, mode, NULL, 0);
        FUZZ_HOLDS(faults == (read ? 0u : 1u));
    }
    firnc_memory_release(mark);
    remove(name);
    return 0;
}
