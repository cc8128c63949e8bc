/* See support_edits.h. */
#include "tests/unit/support_edits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/generated/words.h"
#include "plan/op_words.h"
#include "tests/unit/support_cases.h"
#include "tests/unit/support_test.h"

/* Edits that are being read. */
typedef struct editor {
    support_plan *plan;
    const char *text, *at;              /* all of it, and the next */
    uint32_t alternative, alternatives; /* the chosen one; how many there are, at least 1 */
} editor;

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* What a field holds, which says what the words in its value mean. */
typedef enum kind {
    NUMBER,
    REAL, /* float or double, by its size */
    TEXT,
    FIRST_OP, /* a pointer to an op of the list of all ops */
    TENSOR,
    OP,
    REGION,
    PHASE, /* the number of a phase, as an index; its word is its kind */
    OP_CODE,
    ELEMENT_TYPE,
    ROLE,
    RULE,
    REDUCTION_KIND,
    PHASE_KIND,
    METRIC_KIND,
    SAMPLER_KIND,
    SAMPLE_UNIT,
    DATA_PART,
    EPOCH_END,
    MICRO_BATCH_ORDER,
    REGION_KIND,
    MODE
} kind;

typedef const char *word_of(uint8_t value);

/* The words of the kinds that are enumerations of the schema. */
static word_of *const words[] = {[ELEMENT_TYPE] = firn_fb_element_type_word,
                                 [ROLE] = firn_fb_role_word,
                                 [RULE] = firn_fb_initialiser_rule_word,
                                 [REDUCTION_KIND] = firn_fb_reduction_kind_word,
                                 [PHASE_KIND] = firn_fb_phase_kind_word,
                                 [METRIC_KIND] = firn_fb_metric_kind_word,
                                 [SAMPLER_KIND] = firn_fb_sampler_kind_word,
                                 [SAMPLE_UNIT] = firn_fb_sample_unit_word,
                                 [DATA_PART] = firn_fb_data_part_word,
                                 [EPOCH_END] = firn_fb_epoch_end_word,
                                 [MICRO_BATCH_ORDER] = firn_fb_micro_batch_order_word,
                                 [REGION_KIND] = firn_fb_region_kind_word,
                                 [MODE] = firn_fb_mode_word};

typedef support_plan plan;
typedef firn_native_tensor tensor;
typedef firn_native_op op;
typedef firn_native_phase phase;
typedef firn_native_input input;
typedef firn_native_output output;
typedef firn_native_schedule schedule;
typedef firn_fb_schedule_node node;
typedef firn_native_initialiser initialiser;
typedef firn_native_metric metric;
typedef firn_fb_reduction reduction;

/* A record is the plan or an entry of one of its lists. */
typedef enum record {
    NO_RECORD,
    IN_plan,
    IN_tensor,
    IN_op,
    IN_phase,
    IN_input,
    IN_output,
    IN_schedule,
    IN_node,
    IN_initialiser,
    IN_metric,
    IN_region, /* entry i of the two lists in the header */
    IN_reduction
} record;

typedef struct field {
    record in;
    const char *name;
    size_t at, bytes; /* of a scalar; or of the pointer to a list, and of one of its elements */
    kind kind;        /* of a list of entries: of its index */
    size_t count_at;  /* of a list: of its length; 0: no list */
    record of;        /* of a list of entries: what they are */
    uint32_t room;    /* of a list of entries */
} field;

/* These must be macros, because offsetof is one. NAMED: a scalar whose name is not its member's. */
#define NAMED(in, name, member, kind)                                                                                  \
    { IN_##in, name, offsetof(in, member), sizeof(((in *)NULL)->member), kind, 0, NO_RECORD, 0 }
#define SCALAR(in, member, kind) NAMED(in, #member, member, kind)
#define LIST(in, member, kind)                                                                                         \
    { IN_##in, #member, offsetof(in, member), sizeof(*((in *)0)->member), kind, offsetof(in, member##_count), 0, 0 }
#define ENTRIES(in, member, of, kind, room)                                                                            \
    { IN_##in, #member, offsetof(in, member), sizeof(of), kind, offsetof(in, member##_count), IN_##of, room }

/* Of the members of a plan, `plan.` and `header.` are no part of the name. The counts in the header are differences to
 * what the plan has. */
static const field fields[] = {
    /* clang-format off */
    SCALAR(plan, plan.numerics_version, NUMBER), SCALAR(plan, plan.check_loss, NUMBER),
    SCALAR(plan, plan.micro_batches, NUMBER), SCALAR(plan, plan.micro_batch_order, MICRO_BATCH_ORDER), SCALAR(plan, plan.seed, NUMBER), SCALAR(plan, plan.steps, NUMBER),
    SCALAR(plan, plan.state_tensors, NUMBER), SCALAR(plan, plan.losses_added, NUMBER), SCALAR(plan, plan.loss, TENSOR),
    SCALAR(plan, plan.learning_rate, TENSOR), SCALAR(plan, plan.loss_scale, TENSOR),
    SCALAR(plan, plan.global_step, TENSOR), SCALAR(plan, plan.optimizer_step, TENSOR), SCALAR(plan, plan.finite, TENSOR),
    SCALAR(plan, plan.at_floor, TENSOR), SCALAR(plan, plan.gradient_norm, TENSOR),
    SCALAR(plan, sampler.kind, SAMPLER_KIND), SCALAR(plan, sampler.unit, SAMPLE_UNIT),
    SCALAR(plan, sampler.part, DATA_PART), SCALAR(plan, sampler.epoch_end, EPOCH_END),
    SCALAR(plan, sampler.window, NUMBER), SCALAR(plan, sampler.stride, NUMBER), SCALAR(plan, sampler.samples, NUMBER),
    SCALAR(plan, sampler.held_out_per_mille, NUMBER), SCALAR(plan, sampler.cursor, TENSOR),
    SCALAR(plan, sampler.pushed, TENSOR), SCALAR(plan, sampler.counted, TENSOR), LIST(plan, plan.origin, NUMBER),
    LIST(plan, plan.tokenizer, NUMBER),
    ENTRIES(plan, plan.tensors, tensor, TENSOR, SUPPORT_TENSORS),
    {IN_plan, "ops", offsetof(plan, ops), sizeof(op), OP, offsetof(plan, ops), IN_op, SUPPORT_OPS},
    ENTRIES(plan, plan.phases, phase, PHASE, 6), ENTRIES(plan, plan.inputs, input, NUMBER, 3),
    ENTRIES(plan, plan.outputs, output, NUMBER, 2), ENTRIES(plan, plan.schedule_nodes, node, NUMBER, 2),
    ENTRIES(plan, plan.schedules, schedule, NUMBER, 2),
    ENTRIES(plan, plan.initialisers, initialiser, TENSOR, SUPPORT_TENSORS),
    ENTRIES(plan, plan.metrics, metric, NUMBER, 2), SCALAR(plan, header.mode, MODE),
    SCALAR(plan, header.constants_bytes, NUMBER), SCALAR(plan, header.counts.tensors, NUMBER),
    SCALAR(plan, header.counts.state_tensors, NUMBER), SCALAR(plan, header.counts.ops, NUMBER),
    SCALAR(plan, header.counts.operands, NUMBER), SCALAR(plan, header.counts.integers, NUMBER),
    SCALAR(plan, header.counts.reals, NUMBER), SCALAR(plan, header.counts.reductions, NUMBER),
    SCALAR(plan, header.counts.widest, NUMBER),
    {IN_plan, "regions", 0, 0, REGION, offsetof(plan, header.region_count), IN_region, FIRN_REGIONS_MAX},
    {IN_region, "kind", offsetof(plan, header.region_kinds), 1, REGION_KIND, 0, NO_RECORD, 0},
    {IN_region, "bytes", offsetof(plan, header.region_bytes), 8, NUMBER, 0, NO_RECORD, 0},
    SCALAR(tensor, type, ELEMENT_TYPE), SCALAR(tensor, role, ROLE), SCALAR(tensor, region, REGION),
    SCALAR(tensor, offset, NUMBER), LIST(tensor, dims, NUMBER), SCALAR(tensor, first, OP), SCALAR(tensor, last, OP),
    SCALAR(tensor, name, TEXT), SCALAR(tensor, base, TENSOR),
    SCALAR(op, code, OP_CODE), LIST(op, inputs, TENSOR), LIST(op, outputs, TENSOR), LIST(op, integers, NUMBER),
    LIST(op, reals, REAL), ENTRIES(op, reductions, reduction, NUMBER, FIRN_REDUCTIONS_MAX),
    SCALAR(reduction, kind, REDUCTION_KIND), SCALAR(reduction, accumulator, ELEMENT_TYPE),
    SCALAR(reduction, output, ELEMENT_TYPE), SCALAR(reduction, reserved_byte, NUMBER), SCALAR(reduction, chunk, NUMBER),
    SCALAR(reduction, reserved_low, NUMBER), SCALAR(reduction, reserved_high, NUMBER),
    SCALAR(phase, kind, PHASE_KIND), NAMED(phase, "ops.count", ops_count, NUMBER), NAMED(phase, "ops", ops, FIRST_OP),
    SCALAR(input, name, TEXT), SCALAR(input, tensor, TENSOR), SCALAR(input, stream, NUMBER),
    SCALAR(input, element, ELEMENT_TYPE), SCALAR(input, advance, NUMBER), SCALAR(input, limit, NUMBER),
    SCALAR(input, scale, REAL), SCALAR(input, shift, REAL), SCALAR(input, label, NUMBER), SCALAR(input, ring, TENSOR),
    SCALAR(output, name, TEXT), SCALAR(output, tensor, TENSOR),
    SCALAR(schedule, root, NUMBER), SCALAR(schedule, tensor, TENSOR),
    SCALAR(node, kind, NUMBER), SCALAR(node, total, NUMBER), SCALAR(node, initial, REAL), SCALAR(node, reserved, NUMBER),
    SCALAR(initialiser, rule, RULE), SCALAR(initialiser, element, ELEMENT_TYPE), SCALAR(initialiser, rng_id, NUMBER),
    SCALAR(initialiser, a, REAL), SCALAR(initialiser, b, REAL), SCALAR(initialiser, integer, NUMBER),
    SCALAR(initialiser, weights, NUMBER), SCALAR(initialiser, low, REAL), SCALAR(initialiser, high, REAL),
    SCALAR(metric, kind, METRIC_KIND), SCALAR(metric, sum, TENSOR), SCALAR(metric, count, TENSOR),
    SCALAR(metric, beta, REAL), LIST(metric, ignore_classes, NUMBER),
    /* clang-format on */
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

/* What a path leads to: a scalar, a list, or an entry of a list. */
typedef struct place {
    uint8_t *at;        /* of the scalar, of the record that has the list, or of the entry */
    const field *field; /* the row of the scalar, of the list, or of the list that has the entry */
    record record;      /* of an entry; NO_RECORD: a scalar or a list */
    bool is_list;
    uint32_t index; /* of an entry */
    kind kind;      /* of a scalar */
    size_t bytes;
} place;

/* --- words and numbers -------------------------------------------------------------------------------------------- */

static _Noreturn void fail_at(const editor *e, const char *why) {
    fail_msg("%s at \"%.60s\" of the edits \"%s\"", why, e->at, e->text);
    abort(); /* fail_msg does not return */
}

static void skip_space(editor *e) {
    while (isspace((unsigned char)*e->at))
        e->at++;
}

static bool is_of_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Skips a sign or a word if it is the next one. */
static bool take(editor *e, const char *token) {
    skip_space(e);
    if (*e->at != *token) /* soon found, as most tokens are not the next one */
        return false;
    const size_t length = strlen(token);
    if (strncmp(e->at, token, length) != 0 || (is_of_word(token[length - 1]) && is_of_word(e->at[length])))
        return false;
    e->at += length;
    return true;
}

static void expect(editor *e, const char *token) {
    if (!take(e, token))
        fail_at(e, "a sign is missing or a word is unknown");
}

static const char *copy_text(editor *e, const char *from, size_t length) {
    return memcpy(support_plan_memory(e->plan, length + 1), from, length); /* which is zeroed */
}

static const char *take_word(editor *e) {
    size_t length = 0;
    skip_space(e);
    while (is_of_word(e->at[length]))
        length++;
    if (length == 0)
        fail_at(e, "a word is missing");
    const char *word = copy_text(e, e->at, length);
    e->at += length;
    return word;
}

static uint32_t find_name(const char *const *names, uint32_t count, const char *word) {
    uint32_t i = 0;
    while (i < count && (names[i] == NULL || strcmp(names[i], word) != 0))
        i++;
    return i;
}

/* Stores the number that a word stands for in a value of a kind. */
static bool find_word(const editor *e, kind kind, const char *word, uint64_t *value) {
    const support_plan *s = e->plan;
    uint32_t count = 0, i = 0;
    if (kind == TENSOR) {
        i = find_name(s->tensor_names, count = s->plan.tensors_count, word);
    } else if (kind == OP || kind == FIRST_OP) {
        i = find_name(s->op_names, count = SUPPORT_OPS, word);
    } else if (kind == REGION) {
        i = find_name(s->region_names, count = s->header.region_count, word);
    } else if (kind == PHASE) {
        for (count = s->plan.phases_count; i < count && strcmp(firn_fb_phase_kind_word(s->phases[i].kind), word) != 0;)
            i++;
    } else if (kind == OP_CODE) {
        for (count = FIRN_OPS; i < count && strcmp(firn_op_words_table[i].name, word) != 0;)
            i++;
        *value = i < count ? firn_op_at(i)->code : 0;
        return i < count;
    } else if (kind >= ELEMENT_TYPE) {
        for (count = 256; i < count && strcmp(words[kind]((uint8_t)i), word) != 0;)
            i++;
    }
    *value = i;
    return i < count;
}

/* A number as both, because a field of either kind may follow. */
typedef struct number {
    uint64_t natural; /* modulo 2^64; or a pointer to a text */
    double real;
    bool is_real; /* natural is not set */
} number;

static number natural_number(uint64_t natural) {
    return (number){.natural = natural, .real = (double)(int64_t)natural};
}

static number load(const editor *e, const place *place) {
    uint64_t bits = 0;
    float single;
    double real;
    if (place->is_list || place->record != NO_RECORD)
        fail_at(e, "no number");
    memcpy(&bits, place->at, place->bytes); /* the hosts of the tests are little-endian */
    if (place->kind == FIRST_OP)
        return natural_number((uint64_t)(*(const firn_native_op *const *)(const void *)place->at - e->plan->ops));
    if (place->kind != REAL)
        return natural_number(bits);
    memcpy(&single, place->at, sizeof single);
    memcpy(&real, place->at, place->bytes == sizeof real ? sizeof real : 0);
    return (number){.is_real = true, .real = place->bytes == sizeof real ? real : (double)single};
}

static void store(editor *e, const place *place, number value) {
    const float single = (float)value.real;
    const uint32_t unused_bits = 64 - 8 * (uint32_t)place->bytes;
    const firn_native_op *first = &e->plan->ops[value.natural % SUPPORT_OPS];
    if (place->is_list || place->record != NO_RECORD)
        fail_at(e, "no number can be set");
    if (place->kind == REAL && place->bytes == sizeof single) {
        memcpy(place->at, &single, sizeof single);
        return;
    }
    if (place->kind == REAL) {
        memcpy(place->at, &value.real, sizeof value.real);
        return;
    }
    const int64_t extended = (int64_t)(value.natural << unused_bits) >> unused_bits;
    if (value.is_real || (value.natural << unused_bits >> unused_bits != value.natural &&
                          (extended >= 0 || (uint64_t)extended != value.natural)))
        fail_at(e, "a number that the field cannot hold");
    memcpy(place->at, place->kind == FIRST_OP ? (const void *)&first : &value.natural, place->bytes);
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

static place find_path(editor *e, const place *scope);
static number take_value(editor *e, kind kind);

static place whole_plan(editor *e) {
    return (place){.at = (uint8_t *)e->plan, .record = IN_plan};
}

static uint8_t *elements_of(editor *e, const uint8_t *owner, const field *list) {
    uint8_t *elements;
    if (list->of == IN_op)
        return (uint8_t *)e->plan->ops;
    if (list->of == IN_region)
        return (uint8_t *)e->plan;
    memcpy(&elements, owner + list->at, sizeof elements);
    return elements;
}

static uint32_t count_of(const uint8_t *owner, const field *list) {
    uint32_t count;
    memcpy(&count, owner + list->count_at, sizeof count);
    return list->of == IN_op ? SUPPORT_OPS : count;
}

static place entry_at(editor *e, uint8_t *owner, const field *list, uint32_t index) {
    return (place){.at = elements_of(e, owner, list) + index * list->bytes,
                   .field = list,
                   .record = list->of,
                   .index = index,
                   .kind = list->kind,
                   .bytes = list->bytes};
}

static place scalar_at(const place *entry, const field *f) {
    return (place){.at = entry->at + f->at + (f->in == IN_region ? entry->index * f->bytes : 0),
                   .field = f,
                   .kind = f->kind,
                   .bytes = f->bytes};
}

/* Returns the number of an operand or an attribute that plan/ops.def gives this name; as a number, if it is one. */
static uint32_t take_operand(editor *e, const uint8_t *owner, const field *list) {
    skip_space(e);
    if (list->in != IN_op || list->of != NO_RECORD || isdigit((unsigned char)*e->at))
        return (uint32_t)take_value(e, list->of == NO_RECORD ? NUMBER : list->kind).natural;
    const firn_op_words *all = firn_op_words_of(firn_op_find(((const op *)(const void *)owner)->code));
    const char *const lists[] = {all->inputs, all->outputs, all->integers, all->reals}, *name = take_word(e), *at;
    uint32_t which = 0, index = 0;
    while (strcmp(list->name, (const char *const[]){"inputs", "outputs", "integers", "reals"}[which]) != 0)
        which++;
    for (at = lists[which]; strcspn(at, " ") != strlen(name) || strncmp(at, name, strlen(name)) != 0; index++) {
        at += strcspn(at, " ");
        if (*at++ == '\0')
            fail_at(e, "the op has no operand or attribute of this name");
    }
    return index;
}

/* Goes on behind the name of a list: to its length, to an element, to an entry, or to a field of an entry. */
static place find_in_list(editor *e, uint8_t *owner, const field *list) {
    if (take(e, ".count"))
        return (place){.at = owner + list->count_at,
                       .field = list,
                       .kind = list->of == NO_RECORD ? NUMBER : list->kind,
                       .bytes = sizeof(uint32_t)};
    if (!take(e, "["))
        return (place){.at = owner, .field = list, .is_list = true};
    const uint32_t index = take_operand(e, owner, list);
    if (index >= count_of(owner, list))
        fail_at(e, "the list is not so long");
    expect(e, "]");
    place entry = entry_at(e, owner, list, index);
    return entry.record != NO_RECORD && take(e, ".") ? find_path(e, &entry) : entry;
}

static const char *name_of(const field *f) {
    const size_t prefix = strncmp(f->name, "plan.", 5) == 0 ? 5 : strncmp(f->name, "header.", 7) == 0 ? 7 : 0;
    return f->name + prefix;
}

static place find_path(editor *e, const place *scope) {
    for (uint32_t i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        if (f->in == scope->record && take(e, name_of(f)))
            return f->count_at != 0 ? find_in_list(e, scope->at, f) : scalar_at(scope, f);
    }
    fail_at(e, "no such field or name");
}

static number take_number(editor *e) {
    char *end_of_natural, *end_of_real;
    number value = natural_number(strtoull(e->at, &end_of_natural, 0));
    const double real = strtod(e->at, &end_of_real);
    if (end_of_real > end_of_natural)
        value = (number){.real = real, .is_real = true};
    e->at = end_of_real > end_of_natural ? end_of_real : end_of_natural;
    if (!value.is_real && take(e, "^"))
        value = natural_number(UINT64_C(1) << strtoul(e->at, &end_of_natural, 10)), e->at = end_of_natural;
    return value;
}

static number take_term(editor *e, kind kind) {
    static const struct {
        const char *word;
        uint64_t value;
    } constants[] = {{"absent", FIRN_ABSENT}, {"ever", UINT32_MAX}, {"true", 1}, {"false", 0}, {"none", 0}};
    uint64_t value = 0;
    if (take(e, "-")) {
        const number positive = take_term(e, kind);
        return (number){.natural = 0 - positive.natural, .real = -positive.real, .is_real = positive.is_real};
    }
    if (take(e, "\"")) {
        const size_t length = strcspn(e->at, "\"");
        const char *text = copy_text(e, e->at, length);
        e->at += length + 1;
        return natural_number((uintptr_t)text);
    }
    if (isdigit((unsigned char)*e->at))
        return take_number(e);
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        if (take(e, constants[i].word))
            return natural_number(constants[i].value);
    const char *before = e->at;
    if (find_word(e, kind, take_word(e), &value))
        return natural_number(value);
    e->at = before;
    const place root = whole_plan(e), other = find_path(e, &root);
    return load(e, &other);
}

static number take_sum(editor *e, kind kind) {
    number sum = take_term(e, kind);
    for (;;) {
        const bool adds = take(e, "+");
        if (!adds && !take(e, "-"))
            return sum;
        const number term = take_term(e, kind);
        sum.natural += adds ? term.natural : 0 - term.natural;
        sum.real += adds ? term.real : -term.real;
        sum.is_real |= term.is_real;
    }
}

static number take_value(editor *e, kind kind) {
    number value = take_sum(e, kind);
    uint32_t count = 1;
    for (; take(e, "|"); count++) {
        const number next = take_sum(e, kind);
        value = count <= e->alternative ? next : value;
    }
    e->alternatives = count > e->alternatives ? count : e->alternatives;
    return value;
}

/* --- what edits do ------------------------------------------------------------------------------------------------ */

static void run_edits(editor *e, const place *scope);

/* Edits an entry, if a block follows. */
static void take_block(editor *e, const place *entry) {
    if (!take(e, "{"))
        return;
    run_edits(e, entry);
    expect(e, "}");
}

/* Room for a list, so that its length may be set to more than it has. */
enum { LIST_BYTES = FIRN_INPUTS_MAX * sizeof(uint32_t) };

static void *copy_list(editor *e, const void *from, size_t bytes) {
    void *list = support_plan_memory(e->plan, bytes > LIST_BYTES ? bytes : LIST_BYTES);
    return bytes == 0 ? list : memcpy(list, from, bytes);
}

static void set_list(editor *e, const place *list) {
    uint64_t elements[FIRN_INPUTS_MAX] = {0};
    place element = {.at = (uint8_t *)elements, .kind = list->field->kind, .bytes = list->field->bytes};
    uint32_t count = 0;
    do {
        assert_true(count < FIRN_INPUTS_MAX);
        store(e, &element, take_value(e, element.kind));
        element.at += element.bytes;
        count++;
    } while (take(e, ","));
    expect(e, "]");
    void *copy = copy_list(e, elements, count * element.bytes);
    memcpy(list->at + list->field->at, &copy, sizeof copy);
    memcpy(list->at + list->field->count_at, &count, sizeof count);
}

/* Makes all fields of an entry zero. Those of a region are not together, but in two lists of the header. */
static void clear(const place *entry) {
    memset(entry->at, 0, entry->bytes);
    for (uint32_t i = 0; entry->record == IN_region && i < FIELDS; i++)
        if (fields[i].in == IN_region) {
            const place part = scalar_at(entry, &fields[i]);
            memset(part.at, 0, part.bytes);
        }
}

static void expect_no_region(const editor *e, const place *entry) {
    if (entry->record == IN_region)
        fail_at(e, "a region cannot be copied or exchanged");
}

static void append(editor *e, const place *list) {
    const uint32_t index = count_of(list->at, list->field), count = index + 1;
    assert_true(index < list->field->room);
    memcpy(list->at + list->field->count_at, &count, sizeof count);
    const place entry = entry_at(e, list->at, list->field, index);
    clear(&entry);
    skip_space(e);
    if (entry.record == IN_region && *e->at != '{')
        e->plan->region_names[index] = take_word(e);
    take_block(e, &entry);
}

static void exchange(editor *e, const place *a, const place *b) {
    uint8_t bytes[256];
    expect_no_region(e, a);
    assert_true(a->record == b->record && a->bytes <= sizeof bytes);
    memcpy(bytes, a->at, a->bytes);
    memcpy(a->at, b->at, a->bytes);
    memcpy(b->at, bytes, a->bytes);
    const char **names = a->record == IN_op ? e->plan->op_names : a->record == IN_tensor ? e->plan->tensor_names : NULL;
    if (names != NULL) {
        const char *name = names[a->index];
        names[a->index] = names[b->index];
        names[b->index] = name;
    }
}

static void set_entry(editor *e, const place *entry) {
    skip_space(e);
    if (*e->at == '{') {
        clear(entry);
        take_block(e, entry);
        return;
    }
    expect_no_region(e, entry);
    const place root = whole_plan(e), from = find_path(e, &root);
    if (from.record != entry->record)
        fail_at(e, "an entry of another list");
    memcpy(entry->at, from.at, entry->bytes);
}

static void edit_path(editor *e, const place *scope) {
    const place to = find_path(e, scope);
    const bool is_entry = to.record != NO_RECORD, has_entries = to.is_list && to.field->of != NO_RECORD;
    skip_space(e);
    if (is_entry && *e->at == '{') {
        take_block(e, &to);
    } else if (is_entry && take(e, "<->")) {
        const place other = find_path(e, scope);
        exchange(e, &to, &other);
    } else if (has_entries && take(e, "+=")) {
        append(e, &to);
    } else if (to.kind != REAL && take(e, "+=")) {
        store(e, &to, natural_number(load(e, &to).natural + take_value(e, to.kind).natural));
    } else if (to.kind != REAL && take(e, "-=")) {
        store(e, &to, natural_number(load(e, &to).natural - take_value(e, to.kind).natural));
    } else {
        expect(e, "=");
        if (is_entry)
            set_entry(e, &to);
        else if (to.is_list && !has_entries && take(e, "["))
            set_list(e, &to);
        else
            store(e, &to, take_value(e, to.kind));
    }
}

/* --- verbs -------------------------------------------------------------------------------------------------------- */

static void shift(uint8_t *at, uint32_t from, uint32_t by) {
    uint32_t index;
    memcpy(&index, at, sizeof index);
    index += index >= from && index != FIRN_ABSENT ? by : 0;
    memcpy(at, &index, sizeof index);
}

/* Moves the references of a record to tensors at or behind `from`, in scalars and in lists of tensors. */
static void shift_in_record(editor *e, const place *entry, uint32_t from, uint32_t by) {
    for (uint32_t i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        if (f->in != entry->record || f->kind != TENSOR || f->of != NO_RECORD)
            continue;
        if (f->count_at == 0)
            shift(entry->at + f->at, from, by);
        for (uint32_t j = 0; f->count_at != 0 && j < count_of(entry->at, f); j++)
            shift(elements_of(e, entry->at, f) + j * f->bytes, from, by);
    }
}

static void shift_references(editor *e, uint32_t from, uint32_t by) {
    const place root = whole_plan(e);
    shift_in_record(e, &root, from, by);
    for (uint32_t i = 0; i < FIELDS; i++) {
        const field *list = &fields[i];
        if (list->in != IN_plan || list->of == NO_RECORD)
            continue;
        for (uint32_t j = 0; j < count_of(root.at, list); j++) {
            const place entry = entry_at(e, root.at, list, j);
            shift_in_record(e, &entry, from, by);
        }
    }
}

/* Returns what a verb names: a tensor, an op or a phase that there is; or a word of another kind. */
static uint32_t take_index(editor *e, kind kind) {
    const uint64_t index = take_value(e, kind).natural;
    if ((kind == TENSOR && index >= e->plan->plan.tensors_count) || (kind == OP && index >= SUPPORT_OPS) ||
        (kind == PHASE && index >= e->plan->plan.phases_count))
        fail_at(e, "there is none");
    return (uint32_t)index;
}

/* Makes room for a tensor, which the caller fills in. */
static place insert_tensor(editor *e, const char *name, uint32_t at) {
    const field *list = fields;
    support_plan *s = e->plan;
    const uint32_t behind = s->plan.tensors_count - at;
    assert_true(s->plan.tensors_count < SUPPORT_TENSORS);
    shift_references(e, at, 1);
    memmove(&s->tensors[at + 1], &s->tensors[at], behind * sizeof s->tensors[0]);
    memmove(&s->tensor_names[at + 1], &s->tensor_names[at], behind * sizeof s->tensor_names[0]);
    s->plan.tensors_count++;
    s->tensor_names[at] = name;
    while (list->of != IN_tensor)
        list++;
    return entry_at(e, (uint8_t *)s, list, at);
}

static uint32_t take_before(editor *e, uint32_t otherwise) {
    return take(e, "before") ? take_index(e, TENSOR) : otherwise;
}

/* Adds a tensor of this name before `at`, as a copy of a model or, if that is FIRN_ABSENT, as one that lasts. */
static firn_native_tensor *add_tensor_at(editor *e, const char *name, uint32_t at, uint32_t model, place *entry) {
    *entry = insert_tensor(e, name, at);
    firn_native_tensor *tensor = &e->plan->tensors[at];
    *tensor = (firn_native_tensor){.last = UINT32_MAX, .base = FIRN_ABSENT};
    if (model == FIRN_ABSENT)
        return tensor;
    *tensor = e->plan->tensors[model + (model >= at)];
    tensor->dims = copy_list(e, tensor->dims, tensor->dims_count * sizeof *tensor->dims);
    return tensor;
}

static void add_view(editor *e) {
    place entry;
    const char *name = take_word(e);
    expect(e, "of");
    const uint32_t base = take_index(e, TENSOR), at = take_before(e, e->plan->plan.tensors_count);
    firn_native_tensor *view = add_tensor_at(e, name, at, base, &entry);
    view->name = NULL;
    view->base = base + (base >= at);
    view->offset = 0;
    take_block(e, &entry);
}

static void add_tensor(editor *e) {
    place entry;
    const char *name = take_word(e);
    const uint32_t model = take(e, "like") ? take_index(e, TENSOR) : FIRN_ABSENT;
    firn_native_tensor *tensor = add_tensor_at(e, name, take_before(e, e->plan->plan.tensors_count), model, &entry);
    if (model != FIRN_ABSENT) {
        uint64_t *arena = &e->plan->header.region_bytes[find_name(e->plan->region_names, FIRN_REGIONS_MAX, "arena")];
        tensor->offset = *arena;
        *arena += 128;
    }
    take_block(e, &entry);
}

static void add_state(editor *e) {
    place entry;
    support_plan *s = e->plan;
    const char *name = take_word(e);
    const uint32_t at = take_before(e, s->plan.state_tensors);
    memmove(&s->initialisers[at + 1], &s->initialisers[at],
            (s->plan.initialisers_count++ - at) * sizeof s->initialisers[0]);
    s->initialisers[at] = (firn_native_initialiser){0};
    s->plan.state_tensors++;
    (void)add_tensor_at(e, name, at, FIRN_ABSENT, &entry);
    take_block(e, &entry);
}

static void remove_tensor(editor *e) {
    support_plan *s = e->plan;
    const uint32_t at = take_index(e, TENSOR), behind = --s->plan.tensors_count - at;
    shift_references(e, at + 1, UINT32_MAX);
    memmove(&s->tensors[at], &s->tensors[at + 1], behind * sizeof s->tensors[0]);
    memmove(&s->tensor_names[at], &s->tensor_names[at + 1], behind * sizeof s->tensor_names[0]);
}

/* Puts op n into a phase. Later ops, their phases, and the lifetimes of tensors move by one. */
static void insert_op(editor *e, uint32_t phase, uint32_t n, const char *name) {
    support_plan *s = e->plan;
    assert_true(support_plan_counts(s).ops < SUPPORT_OPS);
    memmove(&s->ops[n + 1], &s->ops[n], (SUPPORT_OPS - 1 - n) * sizeof s->ops[0]);
    memmove(&s->op_names[n + 1], &s->op_names[n], (SUPPORT_OPS - 1 - n) * sizeof s->op_names[0]);
    s->op_names[n] = name;
    s->phases[phase].ops_count++;
    for (uint32_t i = phase + 1; i < s->plan.phases_count; i++)
        s->phases[i].ops++;
    for (uint32_t i = s->plan.state_tensors; i < s->plan.tensors_count; i++) {
        firn_native_tensor *tensor = &s->tensors[i];
        if (tensor->last == UINT32_MAX)
            continue;
        tensor->first += tensor->first >= n && tensor->role != FIRN_FB_ROLE_INPUT; /* inputs live from op 0 */
        tensor->last += tensor->last >= n;
    }
}

static void add_op(editor *e) {
    support_plan *s = e->plan;
    const char *name = take_word(e);
    firn_native_op new = {0};
    if (take(e, "like"))
        new = s->ops[take_index(e, OP)];
    else
        new.code = (uint16_t)take_index(e, OP_CODE);
    uint32_t phase = 0, n = 0;
    if (take(e, "in")) {
        phase = take_index(e, PHASE);
        n = (uint32_t)(s->phases[phase].ops - s->ops) + s->phases[phase].ops_count;
    } else {
        expect(e, "before");
        n = take_index(e, OP);
        while (n >= (uint32_t)(s->phases[phase].ops - s->ops) + s->phases[phase].ops_count)
            phase++;
    }
    insert_op(e, phase, n, name);
    new.inputs = copy_list(e, new.inputs, new.inputs_count * sizeof *new.inputs);
    new.outputs = copy_list(e, new.outputs, new.outputs_count * sizeof *new.outputs);
    new.integers = copy_list(e, new.integers, new.integers_count * sizeof *new.integers);
    new.reals = copy_list(e, new.reals, new.reals_count * sizeof *new.reals);
    new.reductions = copy_list(e, new.reductions, new.reductions_count * sizeof *new.reductions);
    s->ops[n] = new;
    const place entry = {.at = (uint8_t *)&s->ops[n], .record = IN_op};
    take_block(e, &entry);
}

static void add_phase(editor *e) {
    support_plan *s = e->plan;
    memmove(&s->phases[1], &s->phases[0], s->plan.phases_count++ * sizeof s->phases[0]);
    s->phases[0] = (firn_native_phase){.kind = (uint8_t)take_index(e, PHASE_KIND), .ops = s->ops};
}

/* Whether an op has a tensor in one of its lists. */
static bool has_operand(const firn_native_op *op, uint32_t tensor) {
    for (uint32_t i = 0; i < op->inputs_count + op->outputs_count; i++)
        if ((i < op->inputs_count ? op->inputs[i] : op->outputs[i - op->inputs_count]) == tensor)
            return true;
    return false;
}

static void set_lifetimes(editor *e) {
    support_plan *s = e->plan;
    const firn_counts counts = support_plan_counts(s);
    for (uint32_t i = s->plan.state_tensors; i < s->plan.tensors_count; i++) {
        firn_native_tensor *tensor = &s->tensors[i];
        const bool is_input = i == s->inputs[0].tensor || i == s->inputs[1].tensor;
        if (!is_input && tensor->role != FIRN_FB_ROLE_ACTIVATION && tensor->role != FIRN_FB_ROLE_SCRATCH)
            continue;
        while (!is_input && !has_operand(&s->ops[tensor->first], i))
            tensor->first++;
        for (tensor->last = counts.ops - 1; !has_operand(&s->ops[tensor->last], i);)
            tensor->last--;
    }
}

/* --- named edits, and the whole ----------------------------------------------------------------------------------- */

static struct { const char *name, *edits; } definitions[80];
static uint32_t definition_count;

static void run_text(editor *e);

/* Returns the argument in parentheses, or of several the chosen one. */
static const char *take_argument(editor *e, size_t *length) {
    uint32_t count = 1;
    skip_space(e);
    const char *argument = e->at;
    *length = strcspn(e->at, "|)");
    for (e->at += *length; *e->at == '|'; count++) {
        e->at++;
        skip_space(e);
        const size_t next = strcspn(e->at, "|)");
        if (count <= e->alternative) {
            argument = e->at;
            *length = next;
        }
        e->at += next;
    }
    while (*length > 0 && isspace((unsigned char)argument[*length - 1]))
        --*length;
    e->alternatives = count > e->alternatives ? count : e->alternatives;
    expect(e, ")");
    return argument;
}

/* Returns a text with the argument of a named edit in place of each $. */
static const char *expand(editor *e, const char *edits, const char *argument, size_t argument_length) {
    size_t bytes = strlen(edits) + 1;
    for (const char *from = strchr(edits, '$'); from != NULL; from = strchr(from + 1, '$'))
        bytes += argument_length;
    char *expanded = support_plan_memory(e->plan, bytes), *to = expanded;
    for (; *edits != '\0'; edits++) {
        const bool is_argument = *edits == '$';
        memcpy(to, is_argument ? argument : edits, is_argument ? argument_length : 1);
        to += is_argument ? argument_length : 1;
    }
    return expanded;
}

static bool run_named(editor *e) {
    size_t length = 0;
    uint32_t i = 0;
    while (i < definition_count && !take(e, definitions[i].name))
        i++;
    if (i == definition_count)
        return false;
    const char *edits = definitions[i].edits, *argument = take(e, "(") ? take_argument(e, &length) : "";
    const char *at = e->at, *text = e->text;
    e->text = length != 0 ? expand(e, edits, argument, length) : edits;
    run_text(e);
    e->at = at;
    e->text = text;
    return true;
}

static bool run_verb(editor *e) {
    static const struct {
        const char *word;
        void (*run)(editor *e);
    } verbs[] = {{"view", add_view},   {"tensor", add_tensor},    {"state", add_state},        {"op", add_op},
                 {"phase", add_phase}, {"remove", remove_tensor}, {"lifetimes", set_lifetimes}};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (take(e, verbs[i].word)) {
            verbs[i].run(e);
            return true;
        }
    return false;
}

/* Runs edits of a record up to the end of the text or of the block. */
static void run_edits(editor *e, const place *scope) {
    do {
        skip_space(e);
        if (*e->at == '\0' || *e->at == '}')
            return;
        if (scope->record != IN_plan || (!run_verb(e) && !run_named(e)))
            edit_path(e, scope);
    } while (take(e, ";"));
}

static void run_text(editor *e) {
    const place root = whole_plan(e);
    e->at = e->text;
    run_edits(e, &root);
    if (*e->at != '\0')
        fail_at(e, "a semicolon is missing");
}

uint32_t support_edits_apply(support_plan *plan, const char *edits, uint32_t alternative) {
    editor e = {.plan = plan, .text = edits, .alternative = alternative, .alternatives = 1};
    run_text(&e);
    return e.alternatives;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void read_line(char *line, void *context) {
    void (*const *run)(const char *head, const char *edits) = context;
    char *edits = line + strcspn(line, ":");
    if (*edits == ':')
        *edits++ = '\0';
    if (strncmp(line, "let ", 4) != 0) {
        (*run)(line, edits);
        return;
    }
    assert_true(definition_count < sizeof definitions / sizeof definitions[0]);
    definitions[definition_count].name = line + 4;
    definitions[definition_count++].edits = edits;
}

void support_edits_read(const char *name, void (*run)(const char *head, const char *edits)) {
    support_cases_read(name, read_line, &run);
}

support_plan *support_edits_plan(bool train) {
    static bool is_read;
    if (!is_read)
        support_edits_read("tests/unit/support_plan.edits", NULL);
    is_read = true;
    support_plan *plan = support_plan_empty();
    (void)support_edits_apply(plan, train ? "train" : "eval", 0);
    return plan;
}
