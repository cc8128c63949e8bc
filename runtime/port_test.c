/* Tests a port by what the library calls. Patterns come from the offset alone, so that nothing has to be remembered.
 * Nothing here may depend on a kind of storage, or call a function of a port in a way that the library never does. */
#include "runtime/port_test.h"

#include <string.h>

#include "plan/ops.h"
#include "runtime/float_environment.h"
#include "runtime/self_test.h"

enum {
    UNIT_MOST = 256, /* the largest program unit */
    GUARD = 0xa5     /* in bytes of the scratch that no call may write */
};

typedef struct trial {
    const firn_storage *storage;
    void *context;
    void (*alive)(void *context);
    uint8_t *scratch;
    uint32_t bytes; /* of the scratch */
    firn_port_finding *finding;
} trial;

/* Notes what was found. Returns false. */
static bool broken(const trial *t, const char *function, const char *rule, uint64_t at, int error) {
    *t->finding = (firn_port_finding){.function = function, .rule = rule, .at = at, .error = error};
    return false;
}

static bool returned(const trial *t, const char *function, uint64_t at, int error) {
    return error == FIRN_OK || broken(t, function, "returns 0 unless it has failed", at, error);
}

static bool begin(trial *t, void *scratch, uint32_t scratch_bytes, firn_port_finding *finding) {
    *finding = (firn_port_finding){.function = "", .rule = ""};
    t->scratch = scratch;
    t->bytes = scratch_bytes;
    t->finding = finding;
    return (scratch != NULL && scratch_bytes >= FIRN_PORT_TEST_SCRATCH) ||
           broken(t, "scratch", "has FIRN_PORT_TEST_SCRATCH bytes or more", scratch_bytes, FIRN_ERROR_ARGUMENT);
}

static void stay_alive(const trial *t) {
    if (t->alive != NULL)
        t->alive(t->context);
}

static uint32_t least(uint64_t one, uint64_t other) {
    return (uint32_t)(one < other ? one : other);
}

/* --- storage ------------------------------------------------------------------------------------------------------ */

/* What a byte of the storage holds: a pattern by its number, from 1, or the erased value. All bits of the offset count,
 * so that two places that are one by mistake differ. */
enum { ERASED = 0 };

static uint8_t expected(const trial *t, uint64_t offset, uint32_t pattern) {
    if (pattern == ERASED)
        return t->storage->erased_value;
    uint32_t mixed = ((uint32_t)offset ^ (uint32_t)(offset >> 32) * 40503u ^ pattern << 28) * 2654435769u;
    return (uint8_t)((mixed ^ mixed >> 16) >> 8);
}

/* The size of the next piece: small, odd and as large as the scratch allows, in turn. */
static uint32_t piece_of(uint32_t turn, uint32_t most) {
    static const uint32_t sizes[] = {1, 3, 64, 255};
    return turn % 5 < 4 ? sizes[turn % 5] : most;
}

/* Reads into memory that is not aligned. */
static bool read_piece(const trial *t, uint64_t offset, uint32_t count) {
    memset(t->scratch, GUARD, t->bytes);
    const int error = t->storage->read(t->context, offset, t->scratch + 1, count);
    if (!returned(t, "storage.read", offset, error))
        return false;
    return (t->scratch[0] == GUARD && t->scratch[count + 1] == GUARD) ||
           broken(t, "storage.read", "writes only the bytes that it was asked for", offset, 0);
}

/* Reads [first, end) in pieces. `function` and `rule` are what is broken if a byte is not that of the pattern. */
static bool holds(const trial *t, uint64_t first, uint64_t end, uint32_t pattern, const char *function,
                  const char *rule) {
    uint32_t turn = 0;
    for (uint64_t offset = first; offset < end;) {
        const uint32_t count = least(end - offset, piece_of(turn++, t->bytes - 2));
        if (!read_piece(t, offset, count))
            return false;
        for (uint32_t i = 0; i < count; i++)
            if (t->scratch[1 + i] != expected(t, offset + i, pattern))
                return broken(t, function, rule, offset + i, 0);
        offset += count;
        stay_alive(t);
    }
    return true;
}

/* Programs [first, end) from memory that is not aligned, with ascending offsets, in pieces of one unit, of several, and
 * of many. */
static bool program(const trial *t, uint64_t first, uint64_t end, uint32_t pattern) {
    const uint32_t unit = t->storage->program_unit, most = (t->bytes - 1) / UNIT_MOST * UNIT_MOST;
    const uint32_t sizes[] = {unit, 3 * unit < most ? 3 * unit : unit, UNIT_MOST, most};
    uint32_t turn = 0;
    for (uint64_t offset = first; offset < end;) {
        const uint32_t count = least(end - offset, sizes[turn++ % 4]);
        for (uint32_t i = 0; i < count; i++)
            t->scratch[1 + i] = expected(t, offset + i, pattern);
        if (!returned(t, "storage.program", offset, t->storage->program(t->context, offset, t->scratch + 1, count)))
            return false;
        for (uint32_t i = 0; i < count; i++)
            if (t->scratch[1 + i] != expected(t, offset + i, pattern))
                return broken(t, "storage.program", "does not change the bytes that it is given", offset, 0);
        offset += count;
        stay_alive(t);
    }
    return true;
}

static bool erase(const trial *t, uint64_t offset, uint64_t count) {
    const int error = t->storage->erase(t->context, offset, count);
    stay_alive(t);
    return returned(t, "storage.erase", offset, error);
}

static bool sync(const trial *t) {
    return returned(t, "storage.sync", 0, t->storage->sync(t->context));
}

static bool erase_slots(const trial *t) {
    const uint64_t slot = t->storage->capacity;
    return erase(t, 0, slot) && erase(t, slot, slot) && sync(t) &&
           holds(t, 0, 2 * slot, ERASED, "storage.erase", "leaves the erased value in every byte of its range");
}

static bool program_slots(const trial *t) {
    const uint64_t slot = t->storage->capacity;
    return program(t, 0, slot, 1) && program(t, slot, 2 * slot, 1) && sync(t) &&
           holds(t, 0, 2 * slot, 1, "storage.program", "stores every byte in its place and changes no other");
}

/* Erases one unit of a full slot, and then programs its first and last program unit. */
static bool test_units(const trial *t, uint64_t slot_first, uint64_t all) {
    const uint64_t unit = t->storage->program_unit, end = slot_first + t->storage->erase_unit;
    const char *const rule = "leaves every byte outside of its range as it was";
    if (!erase(t, slot_first, end - slot_first) || !sync(t) ||
        !holds(t, slot_first, end, ERASED, "storage.erase", "leaves the erased value in every byte of its range") ||
        !holds(t, 0, slot_first, 1, "storage.erase", rule) || !holds(t, end, all, 1, "storage.erase", rule))
        return false;
    if (!program(t, slot_first, slot_first + unit, 2) || (end - unit > slot_first && !program(t, end - unit, end, 2)) ||
        !sync(t))
        return false;
    const char *const stores = "stores every byte in its place and changes no other";
    return holds(t, slot_first, slot_first + unit, 2, "storage.program", stores) &&
           (end - unit == slot_first || (holds(t, slot_first + unit, end - unit, ERASED, "storage.program", stores) &&
                                         holds(t, end - unit, end, 2, "storage.program", stores))) &&
           holds(t, 0, slot_first, 1, "storage.program", stores) && holds(t, end, all, 1, "storage.program", stores);
}

static bool test_two_slots(const trial *t) {
    const uint64_t slot = t->storage->capacity;
    /* The second slot comes first: the first still holds nothing but the pattern then. */
    return erase_slots(t) && program_slots(t) && test_units(t, slot, 2 * slot) && erase(t, slot, slot) &&
           program(t, slot, 2 * slot, 1) && test_units(t, 0, 2 * slot) && erase_slots(t);
}

/* Replaces the contents of a single slot, and reads nothing before the sync, until which it may be the previous
 * contents. */
static bool replace(const trial *t, uint64_t bytes, uint32_t pattern) {
    if (!erase(t, 0, bytes) || !program(t, 0, bytes, pattern) || !sync(t))
        return false;
    if (t->storage->stored != NULL) {
        const uint64_t stored = t->storage->stored(t->context);
        if (stored < bytes || (t->storage->capacity == 0 && stored != bytes))
            return broken(t, "storage.stored", "returns the bytes that the last save has programmed", stored, 0);
    }
    return holds(t, 0, bytes, pattern, "storage.program", "stores every byte in its place and changes no other");
}

static bool test_one_slot(const trial *t) {
    const uint64_t unit = t->storage->erase_unit;
    const uint64_t bytes = t->storage->capacity != 0 ? t->storage->capacity : (65536 / unit + 2) * unit;
    return replace(t, bytes, 1) && replace(t, bytes, 2) && replace(t, unit, 3);
}

/* The name of a function that a storage must have and has not; NULL if it has them all. */
static const char *missing_function(const firn_storage *storage) {
    if (storage->read == NULL)
        return "storage.read";
    if (storage->program == NULL)
        return "storage.program";
    if (storage->erase == NULL)
        return "storage.erase";
    return storage->sync == NULL ? "storage.sync" : NULL;
}

static bool test_fields(const trial *t) {
    const firn_storage *s = t->storage;
    const uint32_t unit = s->program_unit;
    const char *missing = missing_function(s);
    if (missing != NULL)
        return broken(t, missing, "is there, and not NULL", 0, 0);
    if (unit == 0 || unit > UNIT_MOST || (unit & (unit - 1)) != 0)
        return broken(t, "storage.program_unit", "is a power of two from 1 to 256", unit, 0);
    if (s->erase_unit == 0 || s->erase_unit % unit != 0)
        return broken(t, "storage.erase_unit", "is a multiple of program_unit", s->erase_unit, 0);
    if (s->slots > 2)
        return broken(t, "storage.slots", "is 1 or 2, or 0 for 1", s->slots, 0);
    if (s->slots == 2 && s->stored != NULL)
        return broken(t, "storage.stored", "is NULL with two slots", 0, 0);
    if (s->capacity == 0 && s->stored == NULL)
        return broken(t, "storage.capacity", "is that of one slot, or stored says how much there is", 0, 0);
    if (s->capacity % s->erase_unit != 0)
        return broken(t, "storage.capacity", "is a multiple of erase_unit", s->capacity, 0);
    return s->capacity <= UINT64_MAX / 2 || broken(t, "storage.capacity", "can be had twice", s->capacity, 0);
}

static bool test_storage(const trial *t) {
    return test_fields(t) && (t->storage->slots == 2 ? test_two_slots(t) : test_one_slot(t));
}

bool firn_storage_test(const firn_storage *storage, void *context, void *scratch, uint32_t scratch_bytes,
                       firn_port_finding *finding) {
    trial t = {.storage = storage, .context = context};
    return begin(&t, scratch, scratch_bytes, finding) && test_storage(&t);
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

static bool read_counter(const trial *t, const firn_counter *counter, const char *name, uint32_t *value) {
    *value = 0;
    return returned(t, name, 0, counter->read(t->context, value));
}

static bool advance_by(const trial *t, const firn_counter *counter, const char *name, uint32_t more) {
    uint32_t before, after;
    if (!read_counter(t, counter, name, &before))
        return false;
    if (before > UINT32_MAX - more)
        return broken(t, name, "can still be advanced", before, 0);
    if (!returned(t, name, before, counter->advance(t->context, before + more)) ||
        !read_counter(t, counter, name, &after))
        return false;
    return after == before + more || broken(t, name, "has the value that it was advanced to", after, 0);
}

/* steps: how far to advance, ended by 0; NULL: only read. */
static bool test_counter(const trial *t, const firn_counter *counter, const char *name, const uint32_t *steps) {
    uint32_t first, second;
    if (counter == NULL)
        return true;
    if (counter->read == NULL || counter->advance == NULL)
        return broken(t, name, "has read and advance", 0, 0);
    if (!read_counter(t, counter, name, &first) || !read_counter(t, counter, name, &second))
        return false;
    if (first != second)
        return broken(t, name, "has the same value until it is advanced", second, 0);
    for (; steps != NULL && *steps != 0; steps++)
        if (!advance_by(t, counter, name, *steps))
            return false;
    return true;
}

static bool test_counters(const trial *t, const firn_port *port, bool advance) {
    /* The security counter jumps to that of a plan; the other one advances by one. */
    static const uint32_t jumps[] = {1, 2, 0}, single[] = {1, 0};
    uint32_t before = 0, after = 0;
    if (!test_counter(t, port->counter, "counter", advance ? jumps : NULL))
        return false;
    if (port->counter != NULL && !read_counter(t, port->counter, "counter", &before))
        return false;
    if (!test_counter(t, port->checkpoint_counter, "checkpoint_counter", advance ? single : NULL))
        return false;
    if (port->counter != NULL && !read_counter(t, port->counter, "counter", &after))
        return false;
    return before == after || broken(t, "checkpoint_counter", "is another counter than counter", after, 0);
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static bool test_revoked_keys(const trial *t, const firn_port *port) {
    uint32_t first = 0, second = UINT32_MAX;
    if (port->revoked_keys == NULL)
        return true;
    if (!returned(t, "revoked_keys", 0, port->revoked_keys(t->context, &first)) ||
        !returned(t, "revoked_keys", 0, port->revoked_keys(t->context, &second)))
        return false;
    return first == second ||
           broken(t, "revoked_keys", "sets the whole mask, the same until a key is revoked", second, 0);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

enum { TASK_WRONG_ARITHMETIC = 0x80 };

typedef struct tasks {
    uint8_t *done; /* of each task: how often it ran, and TASK_WRONG_ARITHMETIC */
    size_t count;
    volatile bool outside;
} tasks;

static void note_tasks(void *argument, size_t first, size_t end) {
    tasks *all = argument;
    if (first > end || end > all->count) {
        all->outside = true;
        return;
    }
    const bool good = firn_arithmetic_holds(); /* as the thread is */
    for (size_t i = first; i < end; i++)
        all->done[i] = (uint8_t)((all->done[i] + 1) | (good ? 0 : TASK_WRONG_ARITHMETIC));
}

static bool test_tasks(const trial *t, const firn_port *port, uint32_t count) {
    tasks all = {.done = t->scratch, .count = count};
    memset(t->scratch, 0, t->bytes);
    const uint32_t before = firn_float_begin(); /* as the library does in its caller's thread */
    port->parallel_for(t->context, count, note_tasks, &all);
    firn_float_end(before);
    if (all.outside)
        return broken(t, "parallel_for", "runs only ranges inside of the tasks", count, 0);
    for (uint32_t i = 0; i < count; i++) {
        if ((all.done[i] & TASK_WRONG_ARITHMETIC) != 0)
            return broken(t, "parallel_for", "has threads that round to nearest and keep subnormals", i, 0);
        if (all.done[i] != 1)
            return broken(t, "parallel_for", "has run every task once when it returns", i, 0);
    }
    return true;
}

static bool test_threads(const trial *t, const firn_port *port) {
    if (port->threads < 2)
        return true;
    if (port->parallel_for == NULL)
        return broken(t, "parallel_for", "is there if threads is above 1", port->threads, 0);
    const uint32_t counts[] = {1, 2, 3, port->threads, port->threads + 1, 1000};
    for (uint32_t repeat = 0; repeat < 16; repeat++)
        for (uint32_t i = 0; i < sizeof counts / sizeof *counts; i++)
            if (!test_tasks(t, port, least(counts[i], t->bytes)))
                return false;
    return true;
}

/* --- the port ----------------------------------------------------------------------------------------------------- */

bool firn_port_test(const firn_port *port, bool advance_counters, void *scratch, uint32_t scratch_bytes,
                    firn_port_finding *finding) {
    trial t = {.storage = port->storage, .context = port->context, .alive = port->alive};
    if (!begin(&t, scratch, scratch_bytes, finding))
        return false;
    if (port->struct_size < sizeof *port)
        return broken(&t, "struct_size", "is sizeof(firn_port)", port->struct_size, 0);
    if (firn_self_test() != FIRN_OK)
        return broken(&t, "processor", "computes the bits of NUMERICS.md", 0, FIRN_ERROR_ARITHMETIC);
    stay_alive(&t);
    return (t.storage == NULL || test_storage(&t)) && test_counters(&t, port, advance_counters) &&
           test_revoked_keys(&t, port) && test_threads(&t, port);
}

/* --- the data source ---------------------------------------------------------------------------------------------- */

typedef struct reading {
    const trial *trial;
    const firn_source *source;
    uint32_t stream, element_bytes;
    uint64_t elements;
} reading;

static bool read_elements(const reading *r, uint64_t first, uint32_t count, uint8_t *to, uint32_t space) {
    memset(to, GUARD, space);
    const int error = r->source->read(r->source->context, r->stream, first, count, to + 1);
    if (!returned(r->trial, "source.read", first, error))
        return false;
    return (to[0] == GUARD && to[1 + count * r->element_bytes] == GUARD) ||
           broken(r->trial, "source.read", "writes only the elements that it was asked for", first, 0);
}

/* Compares a range that is read at once with its elements, read one by one. */
static bool test_range(const reading *r, uint64_t first, uint64_t end) {
    const trial *t = r->trial;
    const uint32_t half = t->bytes / 2, bytes = r->element_bytes;
    const uint32_t count = least(end - first, (half - 2) / bytes);
    if (!read_elements(r, first, count, t->scratch, half))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!read_elements(r, first + i, 1, t->scratch + half, t->bytes - half))
            return false;
        if (memcmp(t->scratch + 1 + (size_t)i * bytes, t->scratch + half + 1, bytes) != 0)
            return broken(t, "source.read", "gives an element the same bytes alone and with others", first + i, 0);
    }
    return true;
}

/* Around a boundary between two segments, or at an end of the stream. */
static bool test_place(const reading *r, uint64_t place) {
    const uint64_t around = 40, first = place < around ? 0 : place - around;
    return test_range(r, first, r->elements - first < 2 * around ? r->elements : first + 2 * around);
}

static bool test_stream(const trial *t, const firn_source *source, uint32_t number) {
    const firn_stream *stream = &source->streams[number];
    reading r = {.trial = t, .source = source, .stream = number, .element_bytes = firn_type_bytes(stream->element)};
    if (r.element_bytes == 0)
        return broken(t, "source.streams", "has a known element type", stream->element, 0);
    if (stream->record_elements == 0 || stream->segment_count == 0 || stream->segments == NULL)
        return broken(t, "source.streams", "has records of one element or more, and one segment or more", number, 0);
    for (uint32_t i = 0; i < stream->segment_count; i++) {
        if (stream->segments[i].elements > UINT64_MAX - r.elements)
            return broken(t, "source.streams", "has a number of elements that can be counted", i, 0);
        r.elements += stream->segments[i].elements;
    }
    uint64_t place = 0;
    bool good = test_place(&r, 0);
    for (uint32_t i = 0; good && i < stream->segment_count; i++) {
        place += stream->segments[i].elements;
        good = test_place(&r, place);
    }
    return good;
}

bool firn_source_test(const firn_source *source, void *scratch, uint32_t scratch_bytes, firn_port_finding *finding) {
    trial t = {0};
    if (!begin(&t, scratch, scratch_bytes, finding))
        return false;
    if (source->read == NULL || source->streams == NULL || source->stream_count == 0)
        return broken(&t, "source", "has read, and one stream or more", 0, 0);
    for (uint32_t i = 0; i < source->stream_count; i++)
        if (!test_stream(&t, source, i))
            return false;
    return true;
}
