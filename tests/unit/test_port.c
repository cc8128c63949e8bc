/* Tests the test of a port (runtime/port_test.h): it accepts simulated flash and the port of a workstation, makes no
 * call that the rules of flash forbid, and finds each of a list of mistakes that ports make. */
#define _GNU_SOURCE
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/ops.h"
#include "runtime/port_test.h"
#include "runtime/targets/host/host.h"
#include "tests/unit/support_flash.h"
#include "tests/unit/support_test.h"

enum { UNIT = 16, ERASE = 512, SLOT = 2048, SCRATCH = 4096 };

/* --- a port with one mistake -------------------------------------------------------------------------------------- */

typedef enum mistake {
    NONE,
    READ_FAILS,
    READ_TOO_MUCH,
    READ_OTHER_ERROR,
    PROGRAM_LOSES_END,  /* the last unit of a long call */
    PROGRAM_NOT_FIRST,  /* the first unit of what was erased, in a call of its own */
    PROGRAM_NOT_LAST,   /* the last one */
    PROGRAM_AFTER,      /* a call of one unit changes the unit after it as well */
    PROGRAM_BEFORE,     /* the unit before it */
    PROGRAM_WRAPS,      /* at the end of a page of 256 bytes, as serial flash does */
    PROGRAM_CHANGES_IT, /* the caller's bytes */
    PROGRAM_ALIGNED,    /* only from memory that is aligned */
    PROGRAM_FAILS,
    SLOTS_ARE_ONE,    /* the second slot is at the place of the first */
    ERASE_TOO_MUCH,   /* the unit behind as well */
    ERASE_BEFORE,     /* the unit in front as well */
    ERASE_TOO_LITTLE, /* only the first unit of several */
    ERASED_OTHERWISE, /* erased_value is not what the flash has */
    ERASE_FAILS,
    SYNC_FAILS,
    COUNTER_READ_FAILS,
    COUNTER_STAYS,
    COUNTER_ONLY_ONE, /* advances by one, wherever to */
    COUNTER_CREEPS,   /* with every read */
    COUNTERS_ARE_ONE,
    KEYS_FAIL,
    KEYS_PARTLY, /* only sets bits of what the caller has there */
    TASK_TWICE,
    TASK_LEFT,
    TASKS_BEYOND,
    THREAD_ROUNDS_UP,
    SOURCE_FAILS,
    SOURCE_SEGMENT, /* ends at the end of a segment */
    SOURCE_TOO_MUCH,
} mistake;

static support_flash flash;
static support_flash_part part;
static firn_storage storage;
static firn_port port;
static mistake made;
static uint32_t counters[2], alive_calls;
static uint8_t scratch[SCRATCH + 1];
static firn_port_finding finding;

static int read_with(void *context, uint64_t offset, void *bytes, uint32_t count) {
    (void)context;
    if (made == READ_FAILS && offset >= SLOT)
        return FIRN_ERROR_STORAGE;
    if (made == SLOTS_ARE_ONE)
        offset %= SLOT;
    if (made == READ_TOO_MUCH)
        count = (count + 3) / 4 * 4;
    if (offset + count > 2 * SLOT)
        count = (uint32_t)(2 * SLOT - offset);
    const int error = part.storage.read(&part, offset, bytes, count);
    return made == READ_OTHER_ERROR ? 1 : error;
}

/* What a page of 256 bytes holds after a program that wraps around at its end. */
static int program_wrapped(uint64_t offset, const uint8_t *bytes, uint32_t count) {
    const uint64_t page = offset / 256 * 256;
    const uint32_t before = (uint32_t)(page + 256 - offset);
    if (count <= before)
        return part.storage.program(&part, offset, bytes, count);
    const int error = part.storage.program(&part, offset, bytes, before);
    memcpy(flash.bytes + page, bytes + before, count - before < 256 ? count - before : 256);
    return error;
}

static int program_with(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    (void)context;
    if (made == PROGRAM_FAILS)
        return FIRN_ERROR_STORAGE_FULL;
    if (made == PROGRAM_ALIGNED)
        bytes = (const void *)((uintptr_t)bytes / 4 * 4);
    if (made == PROGRAM_LOSES_END && count > 256)
        count -= UNIT;
    if (made == PROGRAM_WRAPS)
        return program_wrapped(offset, bytes, count);
    if (made == SLOTS_ARE_ONE && offset >= SLOT)
        memset(flash.programmed + offset % SLOT, 0, count);
    if (made == SLOTS_ARE_ONE)
        offset %= SLOT;
    if (count == UNIT && ((made == PROGRAM_NOT_FIRST && offset % ERASE == 0) ||
                          (made == PROGRAM_NOT_LAST && offset % ERASE == ERASE - UNIT)))
        return 0;
    const int error = part.storage.program(&part, offset, bytes, count);
    if (made == PROGRAM_AFTER && count == UNIT && offset + 2 * UNIT <= 2 * SLOT)
        flash.bytes[offset + UNIT] ^= 1;
    if (made == PROGRAM_BEFORE && count == UNIT && offset > 0)
        flash.bytes[offset - 1] ^= 1;
    if (made == PROGRAM_CHANGES_IT)
        memset((void *)(uintptr_t)bytes, 0, count);
    return error;
}

static int erase_with(void *context, uint64_t offset, uint64_t count) {
    (void)context;
    if (made == ERASE_FAILS)
        return FIRN_ERROR_STORAGE;
    if (made == SLOTS_ARE_ONE)
        offset %= SLOT;
    if (made == ERASE_TOO_MUCH && offset + count < 2 * SLOT)
        count += ERASE;
    if (made == ERASE_BEFORE && offset >= ERASE) {
        offset -= ERASE;
        count += ERASE;
    }
    return part.storage.erase(&part, offset, made == ERASE_TOO_LITTLE ? ERASE : count);
}

static int sync_with(void *context) {
    (void)context;
    return made == SYNC_FAILS ? FIRN_ERROR_STORAGE : part.storage.sync(&part);
}

static int read_counter(uint32_t which, uint32_t *value) {
    if (made == COUNTER_READ_FAILS)
        return FIRN_ERROR_COUNTER;
    counters[which] += made == COUNTER_CREEPS;
    *value = counters[made == COUNTERS_ARE_ONE ? 0 : which];
    return 0;
}

static int advance_counter(uint32_t which, uint32_t value) {
    uint32_t *counter = &counters[made == COUNTERS_ARE_ONE ? 0 : which];
    assert_true(value > *counter);
    if (made == COUNTER_ONLY_ONE)
        ++*counter;
    else if (made != COUNTER_STAYS)
        *counter = value;
    return 0;
}

static int read_security(void *context, uint32_t *value) {
    (void)context;
    return read_counter(0, value);
}

static int advance_security(void *context, uint32_t value) {
    (void)context;
    return advance_counter(0, value);
}

static int read_saves(void *context, uint32_t *value) {
    (void)context;
    return read_counter(1, value);
}

static int advance_saves(void *context, uint32_t value) {
    (void)context;
    return advance_counter(1, value);
}

static int read_revoked(void *context, uint32_t *mask) {
    (void)context;
    *mask = made == KEYS_PARTLY ? *mask | 4 : 4;
    return made == KEYS_FAIL ? FIRN_ERROR_COUNTER : 0;
}

static void alive(void *context) {
    (void)context;
    alive_calls++;
}

static void parallel_for(void *context, size_t tasks, void (*body)(void *argument, size_t begin, size_t end),
                         void *argument) {
    (void)context;
    const size_t middle = tasks / 2;
    body(argument, 0, middle);
    if (made == TASK_TWICE && middle > 0)
        body(argument, middle - 1, middle);
    if (made == THREAD_ROUNDS_UP)
        fesetround(FE_UPWARD);
    body(argument, middle, made == TASKS_BEYOND ? tasks + 1 : made == TASK_LEFT ? tasks - 1 : tasks);
    fesetround(FE_TONEAREST);
}

static const firn_counter security = {read_security, advance_security}, saves = {read_saves, advance_saves};

static void begin(void) {
    support_flash_make(&flash, 2 * SLOT, UNIT, ERASE, 0xff);
    support_flash_part_make(&part, &flash, 0, 2 * SLOT);
    storage = part.storage;
    storage.capacity = SLOT;
    storage.slots = 2;
    storage.read = read_with;
    storage.program = program_with;
    storage.erase = erase_with;
    storage.sync = sync_with;
    port = (firn_port){.struct_size = sizeof port,
                       .storage = &storage,
                       .counter = &security,
                       .checkpoint_counter = &saves,
                       .revoked_keys = read_revoked,
                       .alive = alive,
                       .parallel_for = parallel_for,
                       .threads = 2};
    made = NONE;
    counters[0] = counters[1] = 7;
    alive_calls = 0;
}

BEFORE_EACH {
    begin();
}

static void end(void) {
    support_flash_free(&flash);
}

AFTER_EACH {
    end();
}

static void assert_found(const char *function, const char *rule) {
    assert_string_equal(finding.function, function);
    if (strstr(finding.rule, rule) == NULL)
        fail_msg("mistake %d: the rule is '%s', not '%s'", (int)made, finding.rule, rule);
}

/* --- what is accepted --------------------------------------------------------------------------------------------- */

TEST(accepts_flash) {
    static const uint32_t units[][3] = {{1, 1, 64}, {1, 512, 1024}, {8, 512, 2048}, {16, 4096, 8192}, {256, 256, 1024}};
    for (uint32_t i = 0; i < sizeof units / sizeof *units; i++)
        for (uint32_t erased = 0; erased < 2; erased++) {
            support_flash own;
            support_flash_part whole;
            const uint64_t slot = units[i][2];
            support_flash_make(&own, 2 * slot, units[i][0], units[i][1], erased != 0 ? 0xff : 0);
            support_flash_part_make(&whole, &own, 0, 2 * slot);
            firn_storage two = whole.storage;
            two.capacity = slot;
            two.slots = 2;
            if (!firn_storage_test(&two, &whole, scratch, FIRN_PORT_TEST_SCRATCH, &finding) ||
                !firn_storage_test(&two, &whole, scratch + 1, SCRATCH, &finding))
                fail_msg("%u: %s %s at %u", i, finding.function, finding.rule, (unsigned)finding.at);
            assert_string_equal(finding.function, "");
            assert_true(support_flash_most_erases(&own) <= 2 * 4); /* the header promises 4 for each */
            for (uint64_t at = 0; at < 2 * slot; at++)
                assert_int_equal(own.bytes[at], own.erased_value);
            firn_storage one = two;
            one.slots = 1;
            assert_true(firn_storage_test(&one, &whole, scratch, SCRATCH, &finding));
            support_flash_free(&own);
        }
}

TEST(accepts_a_whole_port) {
    assert_true(firn_port_test(&port, false, scratch, SCRATCH, &finding));
    assert_int_equal(counters[0], 7);
    assert_int_equal(counters[1], 7);
    assert_true(alive_calls > 0);
    assert_true(firn_port_test(&port, true, scratch, SCRATCH, &finding));
    assert_int_equal(counters[0], 10);
    assert_int_equal(counters[1], 8);
    const firn_port none = {.struct_size = sizeof none};
    assert_true(firn_port_test(&none, true, scratch, SCRATCH, &finding));
}

TEST(accepts_a_workstation) {
    char checkpoint[] = P_tmpdir "/firn-port-XXXXXX", counter[sizeof checkpoint + 8];
    const int file = mkstemp(checkpoint);
    assert_true(file >= 0);
    close(file);
    snprintf(counter, sizeof counter, "%s.counter", checkpoint);
    firn_host_port host;
    firn_host_port_begin(&host, checkpoint, counter, 3);
    if (!firn_port_test(&host.port, true, scratch, SCRATCH, &finding))
        fail_msg("%s %s at %u", finding.function, finding.rule, (unsigned)finding.at);
    firn_host_port_end(&host);
    unlink(checkpoint);
    unlink(counter);
}

/* --- what is found ------------------------------------------------------------------------------------------------ */

TEST(finds_mistakes) {
    static const struct {
        mistake made;
        const char *function, *rule;
    } cases[] = {
        {READ_FAILS, "storage.read", "returns 0"},
        {READ_TOO_MUCH, "storage.read", "only the bytes"},
        {READ_OTHER_ERROR, "storage.read", "returns 0"},
        {PROGRAM_LOSES_END, "storage.program", "every byte"},
        {PROGRAM_NOT_FIRST, "storage.program", "every byte"},
        {PROGRAM_NOT_LAST, "storage.program", "every byte"},
        {PROGRAM_AFTER, "storage.program", "every byte"},
        {PROGRAM_BEFORE, "storage.program", "every byte"},
        {PROGRAM_WRAPS, "storage.program", "every byte"},
        {PROGRAM_CHANGES_IT, "storage.program", "that it is given"},
        {PROGRAM_ALIGNED, "storage.program", "every byte"},
        {PROGRAM_FAILS, "storage.program", "returns 0"},
        {SLOTS_ARE_ONE, "storage.program", "every byte"},
        {ERASE_TOO_MUCH, "storage.erase", "outside"},
        {ERASE_BEFORE, "storage.erase", "outside"},
        {ERASE_TOO_LITTLE, "storage.erase", "erased value"},
        {ERASED_OTHERWISE, "storage.erase", "erased value"},
        {ERASE_FAILS, "storage.erase", "returns 0"},
        {SYNC_FAILS, "storage.sync", "returns 0"},
        {COUNTER_READ_FAILS, "counter", "returns 0"},
        {COUNTER_STAYS, "counter", "advanced to"},
        {COUNTER_ONLY_ONE, "counter", "advanced to"},
        {COUNTER_CREEPS, "counter", "until it is advanced"},
        {COUNTERS_ARE_ONE, "checkpoint_counter", "another counter"},
        {KEYS_FAIL, "revoked_keys", "returns 0"},
        {KEYS_PARTLY, "revoked_keys", "whole mask"},
        {TASK_TWICE, "parallel_for", "every task once"},
        {TASK_LEFT, "parallel_for", "every task once"},
        {TASKS_BEYOND, "parallel_for", "inside"},
        {THREAD_ROUNDS_UP, "parallel_for", "round to nearest"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        end();
        begin();
        made = cases[i].made;
        if (made == ERASED_OTHERWISE)
            storage.erased_value = 0;
        if (made == ERASE_TOO_LITTLE) /* of flash that has been used */
            memset(flash.bytes, 0, 2 * SLOT);
        if (firn_port_test(&port, true, scratch, SCRATCH, &finding))
            fail_msg("mistake %d is not found", (int)made);
        assert_found(cases[i].function, cases[i].rule);
    }
}

TEST(finds_fields) {
    const firn_storage good = storage;
    const struct {
        firn_storage storage;
        const char *function;
    } cases[] = {
        {{.program_unit = 24, .erase_unit = 480, .capacity = 960}, "storage.program_unit"},
        {{.program_unit = 512, .erase_unit = 512, .capacity = 1024}, "storage.program_unit"},
        {{.program_unit = 16, .erase_unit = 0, .capacity = 960}, "storage.erase_unit"},
        {{.program_unit = 16, .erase_unit = 24, .capacity = 960}, "storage.erase_unit"},
        {{.program_unit = 16, .erase_unit = 512, .capacity = 513}, "storage.capacity"},
        {{.program_unit = 16, .erase_unit = 512, .capacity = 0}, "storage.capacity"},
        {{.program_unit = 16, .erase_unit = 512, .capacity = 512, .slots = 3}, "storage.slots"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        storage = cases[i].storage;
        storage.read = good.read;
        storage.program = good.program;
        storage.erase = good.erase;
        storage.sync = good.sync;
        assert_false(firn_port_test(&port, true, scratch, SCRATCH, &finding));
        assert_string_equal(finding.function, cases[i].function);
    }
    static const char *const functions[] = {"storage.read", "storage.program", "storage.erase", "storage.sync"};
    for (uint32_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        storage = good;
        if (i == 0)
            storage.read = NULL;
        else if (i == 1)
            storage.program = NULL;
        else if (i == 2)
            storage.erase = NULL;
        else
            storage.sync = NULL;
        assert_false(firn_port_test(&port, true, scratch, SCRATCH, &finding));
        assert_found(functions[i], "is there");
    }
    storage = good;
    assert_false(firn_port_test(&port, true, scratch, FIRN_PORT_TEST_SCRATCH - 1, &finding));
    assert_string_equal(finding.function, "scratch");
    port.parallel_for = NULL;
    assert_false(firn_port_test(&port, true, scratch, SCRATCH, &finding));
    assert_string_equal(finding.function, "parallel_for");
    port.struct_size--;
    assert_false(firn_port_test(&port, true, scratch, SCRATCH, &finding));
    assert_string_equal(finding.function, "struct_size");
}

/* --- the data source ---------------------------------------------------------------------------------------------- */

enum { FIRST_SEGMENT = 100, ELEMENTS = 250 };

static int read_source(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    (void)context;
    const uint32_t bytes = stream == 0 ? 4 : 1;
    assert_true(first + count <= ELEMENTS);
    if (made == SOURCE_FAILS && stream == 1)
        return FIRN_ERROR_SOURCE;
    for (uint64_t i = 0; i < count * bytes + (made == SOURCE_TOO_MUCH); i++) {
        const bool lost = made == SOURCE_SEGMENT && first < FIRST_SEGMENT && first + i / bytes >= FIRST_SEGMENT;
        ((uint8_t *)elements)[i] = (uint8_t)(lost ? 0 : 1 + (first * bytes + i) % 250);
    }
    return 0;
}

TEST(tests_sources) {
    const firn_segment segments[] = {{FIRST_SEGMENT}, {ELEMENTS - FIRST_SEGMENT}};
    const firn_stream streams[] = {{FIRN_FLOAT32, 10, segments, 2}, {FIRN_UINT8, 1, segments, 2}};
    const firn_source source = {NULL, streams, 2, read_source};
    assert_true(firn_source_test(&source, scratch, SCRATCH, &finding));
    assert_true(firn_source_test(&source, scratch, FIRN_PORT_TEST_SCRATCH, &finding));
    static const struct {
        mistake made;
        const char *rule;
    } cases[] = {{SOURCE_FAILS, "returns 0"}, {SOURCE_SEGMENT, "same bytes"}, {SOURCE_TOO_MUCH, "only the elements"}};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made = cases[i].made;
        assert_false(firn_source_test(&source, scratch, SCRATCH, &finding));
        assert_found("source.read", cases[i].rule);
    }
    const firn_source none = {NULL, streams, 0, read_source};
    assert_false(firn_source_test(&none, scratch, SCRATCH, &finding));
}
