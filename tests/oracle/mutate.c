/* mutate COUNT SEED...: changes valid buffers at random, COUNT times, and checks for each that every buffer
 * firn_fb_verify accepts is also accepted by the oracle, and that each of its fields can be read. Built with the
 * sanitizers, for 64 and 32 bits, by tests/unit/test_verifier.c. Prints one line that is the same on every machine.
 * mutate -1 N SEED... replays mutation N. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/checks/verifier.h"
#include "plan/container.h"
#include "plan/errors.h"
#include "tests/oracle/oracle.h"
#include "tests/unit/plan_walk.h"

#define SEED_BYTES_MAX 65536
#define SEEDS_MAX      8

struct seed {
    size_t bytes;
    uint8_t data[SEED_BYTES_MAX];
};

static struct seed seeds[SEEDS_MAX];
static unsigned seed_count;
static uint64_t random_state;
static uint64_t checksum; /* Prevents the compiler from removing the reads of a walk. */

/* splitmix64 */
static uint32_t draw(uint32_t below) {
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random_state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ z >> 31) >> 16) % below;
}

static void add(uint64_t value) {
    checksum = (checksum ^ value) * UINT64_C(0x100000001b3);
}

static void walk_bracket(void *context, const char *name, char bracket) {
    (void)context, (void)name;
    add((uint64_t)bracket);
}

static void walk_close(void *context, char bracket) {
    (void)context;
    add((uint64_t)bracket);
}

static void walk_integer(void *context, const char *name, int64_t value) {
    (void)context, (void)name;
    add((uint64_t)value);
}

static void walk_natural(void *context, const char *name, uint64_t value) {
    (void)context, (void)name;
    add(value);
}

static void walk_choice(void *context, const char *name, const char *word, uint64_t value) {
    (void)context, (void)name, (void)word;
    add(value);
}

static void walk_truth(void *context, const char *name, bool value) {
    (void)context, (void)name;
    add(value ? 1 : 0);
}

static void walk_single(void *context, const char *name, float value) {
    uint32_t bits;
    (void)context, (void)name;
    memcpy(&bits, &value, sizeof bits);
    add(bits);
}

static void walk_real(void *context, const char *name, double value) {
    uint64_t bits;
    (void)context, (void)name;
    memcpy(&bits, &value, sizeof bits);
    add(bits);
}

static void walk_text(void *context, const char *name, const char *value, uint32_t length) {
    (void)context, (void)name;
    if (strlen(value) != length) {
        fprintf(stderr, "a string of an accepted buffer has another length than it says\n");
        exit(1);
    }
    for (uint32_t i = 0; i < length; i++)
        add((uint8_t)value[i]);
}

static const walk_sink sink = {NULL,        walk_bracket, walk_close,  walk_integer, walk_natural,
                               walk_choice, walk_truth,   walk_single, walk_real,    walk_text};

static void change(uint8_t *data, size_t bytes) {
    static const uint32_t words[] = {0,          1,          2,          3,          4,          5,         8,
                                     0x7f800000, 0x7ffffffc, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff};
    size_t at = draw((uint32_t)bytes), word = at & ~(size_t)3;
    uint32_t value = 0;
    switch (draw(6)) {
    case 0:
        data[at] = (uint8_t)(data[at] ^ 1u << draw(8));
        break;
    case 1:
        data[at] = (uint8_t)draw(256);
        break;
    case 2:
        data[at] = (uint8_t)draw(10);
        break;
    case 3:
        if (bytes - word < 4)
            break;
        value = words[draw(sizeof words / sizeof words[0])];
        memcpy(data + word, &value, 4);
        break;
    case 4: /* shifts an offset, a length or a place */
        if (bytes - word < 4)
            break;
        memcpy(&value, data + word, 4);
        value += draw(17) - 8;
        memcpy(data + word, &value, 4);
        break;
    default: { /* copies one word over another */
        size_t from = draw((uint32_t)bytes) & ~(size_t)3;
        if (bytes - word < 4 || bytes - from < 4)
            break;
        memmove(data + word, data + from, 4);
    }
    }
}

/* Makes mutation number `number` in a heap block of exactly its size, so that the sanitizers detect a read past the
 * end. */
static uint8_t *make_mutant(uint32_t number, size_t *bytes) {
    void *memory = NULL;
    random_state = (uint64_t)number << 20;
    const struct seed *seed = &seeds[draw(seed_count)];
    *bytes = draw(16) == 0 ? 8 + draw((uint32_t)seed->bytes - 8) : seed->bytes;
    if (posix_memalign(&memory, FIRN_PAYLOAD_ALIGNMENT, *bytes) != 0)
        exit(2);
    memcpy(memory, seed->data, *bytes);
    for (uint32_t changes = 1 + draw(4); changes != 0; changes--)
        change(memory, *bytes);
    return memory;
}

static int run_one(uint32_t number, bool *stricter) {
    size_t bytes = 0;
    uint8_t *mutant = make_mutant(number, &bytes);
    int status = firn_fb_verify(mutant, bytes), theirs = oracle_accepts(mutant, bytes);
    if (status == FIRN_OK) {
        plan_walk(firn_fb_plan_root(mutant), &sink);
        if (theirs == 0) {
            fprintf(stderr, "mutation %lu is accepted by us and refused by the oracle\n", (unsigned long)number);
            exit(1);
        }
    }
    *stricter = status != FIRN_OK && theirs != 0;
    free(mutant);
    return status;
}

static void read_seed(const char *name) {
    FILE *file = seed_count < SEEDS_MAX ? fopen(name, "rb") : NULL;
    if (file == NULL) {
        fprintf(stderr, "%s: cannot read it\n", name);
        exit(2);
    }
    seeds[seed_count].bytes = fread(seeds[seed_count].data, 1, SEED_BYTES_MAX, file);
    fclose(file);
    seed_count++;
}

int main(int argument_count, char **arguments) {
    bool replay = argument_count > 3 && strcmp(arguments[1], "-1") == 0, stricter = false;
    uint32_t accepted = 0, refused = 0, only_theirs = 0;
    if (argument_count < 3)
        return 2;
    for (int i = replay ? 3 : 2; i < argument_count; i++)
        read_seed(arguments[i]);
    uint32_t first = replay ? (uint32_t)strtoul(arguments[2], NULL, 10) : 0;
    uint32_t count = replay ? 1 : (uint32_t)strtoul(arguments[1], NULL, 10);
    for (uint32_t i = 0; i < count; i++) {
        int status = run_one(first + i, &stricter);
        add((uint64_t)(int64_t)status);
        accepted += status == FIRN_OK ? 1 : 0;
        refused += status == FIRN_OK ? 0 : 1;
        only_theirs += stricter ? 1 : 0;
    }
    fprintf(stderr, "%lu accepted by the oracle and refused by us\n", (unsigned long)only_theirs);
    printf("accepted %lu refused %lu checksum %016llx\n", (unsigned long)accepted, (unsigned long)refused,
           (unsigned long long)checksum);
    return 0;
}
