/* Runs a fuzz target without libFuzzer: on every file that is named, and on COUNT changes of each, drawn from the
 * file's bytes. For `make test`, and for compilers without libFuzzer.
 *
 *     TARGET COUNT FILE... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

enum { SIZE_MAX_OF_INPUT = 1 << 16 };

/* splitmix64 */
static uint64_t draw(uint64_t *state) {
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Sets up to four places to values that are often interesting, and cuts one input in eight. */
static size_t change(uint8_t *bytes, size_t size, uint64_t *state) {
    static const uint8_t values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    const uint64_t places = 1 + draw(state) % 4;
    for (uint64_t i = 0; i < places && size > 0; i++) {
        const uint64_t random = draw(state);
        const size_t place = (size_t)(random >> 8) % size;
        bytes[place] =
            random % 2 == 0 ? values[(random >> 1) % sizeof values] : (uint8_t)(bytes[place] ^ (random >> 1));
    }
    return draw(state) % 8 == 0 ? (size_t)draw(state) % (size + 1) : size;
}

int main(int argc, char **argv) {
    static uint8_t bytes[SIZE_MAX_OF_INPUT], changed[SIZE_MAX_OF_INPUT];
    if (argc < 3) {
        fprintf(stderr, "usage: %s COUNT FILE...\n", argv[0]);
        return 2;
    }
    const unsigned long count = strtoul(argv[1], NULL, 10);
    unsigned long inputs = 0;
    for (int i = 2; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (file == NULL) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 2;
        }
        const size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        (void)LLVMFuzzerTestOneInput(bytes, size);
        uint64_t state = (uint64_t)i;
        for (unsigned long n = 0; n < count; n++) {
            memcpy(changed, bytes, size);
            (void)LLVMFuzzerTestOneInput(changed, change(changed, size, &state));
        }
        inputs += 1 + count;
    }
    printf("%lu inputs\n", inputs);
    return 0;
}
