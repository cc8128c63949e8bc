/* Fuzzes statistics of training data: arbitrary bytes as the file of --statistics. It is refused with exactly one
 * message, or the recipe that reads it gives a graph. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/recipe/recipe.h"
#include "tests/fuzz/fuzz.h"

static const char recipe_text[] = "trainer:\n"
                                  "  init:\n"
                                  "    model: {name: mlp, hidden_sizes: [2], loss: l1}\n"
                                  "    optimizer: {SGD: {lr: 0.1}}\n"
                                  "    precision: {enabled: false}\n"
                                  "    loop: {num_steps: 1}\n"
                                  "  fit:\n"
                                  "    train_dataloader: {batch_size: 2, feature_type: float32, normalise: fit, "
                                  "normalise_targets: fit, label_type: float32}\n";

static uint32_t faults;

static void count_message(void *context, const char *line) {
    (void)context;
    FUZZ_HOLDS(strncmp(line, "firnc: ", 7) == 0 && strchr(line, '\n') == NULL);
    faults += strstr(line, ": warning: column ") == NULL;
}

static void write_file(const char *name, const void *bytes, size_t count) {
    FILE *file = fopen(name, "wb");
    FUZZ_HOLDS(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char file[64], recipe_file[64];
    static firnc_recipe recipe;
    snprintf(file, sizeof file, "/dev/shm/firn-fuzz-%ld.json", (long)getpid());
    snprintf(recipe_file, sizeof recipe_file, "/dev/shm/firn-fuzz-%ld.yaml", (long)getpid());
    write_file(file, data, size);
    write_file(recipe_file, recipe_text, sizeof recipe_text - 1);
    firnc_messages_to(count_message, NULL);
    const firnc_mark mark = firnc_memory_mark();
    memset(&recipe, 0, sizeof recipe);
    recipe.statistics = file;
    faults = 0;
    const bool read = firnc_recipe_read(&recipe, recipe_file, FIRNC_TRAIN, NULL, 0);
    FUZZ_HOLDS(faults == (read ? 0u : 1u));
    if (read)
        (void)firnc_recipe_build(&recipe); /* a graph that does not fit is refused with one message */
    FUZZ_HOLDS(faults <= 1);
    firnc_memory_release(mark);
    remove(file);
    remove(recipe_file);
    return 0;
}
