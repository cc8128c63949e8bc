/* Tests which minor version a buffer needs: of a schema with a field of every kind, whose marks change from test to
 * test, and of whole plans. */
#include <stdlib.h>
#include <string.h>

#include "plan/container.h"
#include "plan/generated/since.h"
#include "plan/generated/tables.h"
#include "plan/generated/version.h"
#include "plan/needs.h"
#include "plan/ops.h"
#include "tests/unit/sample_plan.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

/* table Part { kind:Kind; pair:Pair; }   table Whole { kind:Kind; name:string; kinds:[Kind]; pairs:[Pair];
 * parts:[Part]; part:Part; count:uint; last:uint; }    struct Pair { low:ushort; wide:Wide; }   enum Wide : ushort */
enum { PART_KIND, PART_PAIR, WHOLE_KIND, NAME, KINDS, PAIRS, PARTS, PART, COUNT, LAST, ROWS };
enum { PART_TABLE, WHOLE_TABLE };
enum { BYTE_ROW, PAIR_ROW, UINT_ROW };

static const firn_fb_table_rule tables[] = {{PART_KIND, 2}, {WHOLE_KIND, 8}};
static const firn_fb_inline_rule inlines[] = {{1, 1, 0, 0}, {4, 2, 0, 0}, {4, 4, 0, 0}};
static const firn_fb_field_rule fields[ROWS] = {
    [PART_KIND] = {FIRN_FB_KIND_INLINE, 0, BYTE_ROW, 0},     [PART_PAIR] = {FIRN_FB_KIND_INLINE, 0, PAIR_ROW, 0},
    [WHOLE_KIND] = {FIRN_FB_KIND_INLINE, 0, BYTE_ROW, 0},    [NAME] = {FIRN_FB_KIND_STRING, 0, 0, 9},
    [KINDS] = {FIRN_FB_KIND_INLINE_VECTOR, 0, BYTE_ROW, 9},  [PAIRS] = {FIRN_FB_KIND_INLINE_VECTOR, 0, PAIR_ROW, 9},
    [PARTS] = {FIRN_FB_KIND_TABLE_VECTOR, 0, PART_TABLE, 9}, [PART] = {FIRN_FB_KIND_TABLE, 0, PART_TABLE, 0},
    [COUNT] = {FIRN_FB_KIND_INLINE, 0, UINT_ROW, 0},         [LAST] = {FIRN_FB_KIND_INLINE, 0, UINT_ROW, 0},
};

typedef struct pair {
    uint16_t low, wide;
} pair;

typedef struct part {
    int32_t vtable;
    pair pair;
    uint8_t kind, padding[3];
} part;

/* A buffer with every field but the last two. The vtable of Whole has room for `count`, and none for `last`. */
typedef struct whole {
    uint32_t root, identifier;
    uint16_t part_vtable[4], vtable[10];
    struct {
        int32_t vtable;
        uint32_t name, kinds, pairs, parts, part;
        uint8_t kind, padding[3];
    } table;
    struct {
        uint32_t count;
        char text[8];
    } name;
    struct {
        uint32_t count;
        uint8_t values[4];
    } kinds;
    struct {
        uint32_t count;
        pair values[2];
    } pairs;
    struct {
        uint32_t count, offsets[2];
    } parts;
    part elements[2], part;
} whole;

#define AT(member)       ((uint32_t)offsetof(whole, member))
#define IN_TABLE(member) ((uint16_t)(offsetof(whole, table.member) - offsetof(whole, table)))
#define OFFSET(from, to) (AT(to) - AT(from))

static const part one_part = {.pair = {.low = 7, .wide = 3}, .kind = 2};
static whole buffer;

BEFORE_EACH {
    buffer = (whole){
        .root = AT(table),
        .part_vtable = {8, 9, offsetof(part, kind), offsetof(part, pair)},
        .vtable = {18, sizeof buffer.table, IN_TABLE(kind), IN_TABLE(name), IN_TABLE(kinds), IN_TABLE(pairs),
                   IN_TABLE(parts), IN_TABLE(part), 0},
        .table = {.vtable = (int32_t)OFFSET(vtable, table),
                  .name = OFFSET(table.name, name),
                  .kinds = OFFSET(table.kinds, kinds),
                  .pairs = OFFSET(table.pairs, pairs),
                  .parts = OFFSET(table.parts, parts),
                  .part = OFFSET(table.part, part),
                  .kind = 1},
        .name = {5, "whole"},
        .kinds = {3, {0, 4, 1}},
        .pairs = {2, {{9, 1}, {9, 300}}},
        .parts = {2, {OFFSET(parts.offsets[0], elements[0]), OFFSET(parts.offsets[1], elements[1])}},
        .elements = {one_part, one_part},
        .part = one_part,
    };
    buffer.elements[0].vtable = (int32_t)OFFSET(part_vtable, elements[0]);
    buffer.elements[1].vtable = (int32_t)OFFSET(part_vtable, elements[1]);
    buffer.part.vtable = (int32_t)OFFSET(part_vtable, part);
}

/* Compares what the buffer needs when the schema has this mark, and version 5 otherwise. */
static void expect(uint32_t needs, firn_since_mark mark) {
    const firn_since_mark marks[] = {mark, {.since = 0}};
    const firn_marked_schema schema = {
        .tables = tables, .fields = fields, .inlines = inlines, .marks = marks, .root = WHOLE_TABLE};
    assert_int_equal(firn_schema_needs((const uint8_t *)&buffer, &schema), needs);
}

static void expect_field(uint32_t needs, uint16_t row) {
    expect(needs, (firn_since_mark){.kind = FIRN_SINCE_FIELD, .field = row, .since = 5});
}

/* Expects that a limit of `length` suffices and one less does not. */
static void length_is(uint16_t row, uint32_t length) {
    expect(0, (firn_since_mark){.kind = FIRN_SINCE_LIMIT, .field = row, .since = 5, .above = length});
    expect(5, (firn_since_mark){.kind = FIRN_SINCE_LIMIT, .field = row, .since = 5, .above = length - 1});
}

/* Expects that this is the highest value of the field. */
static void highest_value_is(uint16_t row, uint8_t offset, uint8_t bytes, uint32_t value) {
    firn_since_mark mark = {
        .kind = FIRN_SINCE_VALUE, .field = row, .since = 5, .offset = offset, .bytes = bytes, .above = value};
    expect(0, mark);
    mark.above = value - 1;
    expect(5, mark);
}

TEST(nothing_new_needs_version_0) {
    expect(0, (firn_since_mark){.since = 0});
}

TEST(a_field_is_used_when_the_table_has_room_for_it) {
    for (uint16_t row = 0; row < COUNT; row++)
        expect_field(5, row);
    expect_field(5, COUNT);
    expect_field(0, LAST);
    buffer.vtable[0] = 16; /* without the room, as our writer leaves it */
    expect_field(0, COUNT);
    expect_field(5, PART);
    buffer.part_vtable[0] = 6;
    expect_field(0, PART_PAIR);
    expect_field(5, PART_KIND);
}

TEST(lengths_are_compared_with_limits) {
    length_is(NAME, 5);
    length_is(KINDS, 3);
    length_is(PAIRS, 2);
    length_is(PARTS, 2);
}

TEST(values_are_compared_wherever_they_lie) {
    highest_value_is(WHOLE_KIND, 0, 1, 1);
    highest_value_is(KINDS, 0, 1, 4);
    highest_value_is(PAIRS, 2, 2, 300);
}

TEST(every_table_is_visited) {
    part *const all[] = {&buffer.elements[0], &buffer.elements[1], &buffer.part};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        highest_value_is(PART_KIND, 0, 1, 2);
        highest_value_is(PART_PAIR, 2, 2, 3);
        all[i]->kind = 6;
        all[i]->pair.wide = 700;
        highest_value_is(PART_KIND, 0, 1, 6);
        highest_value_is(PART_PAIR, 2, 2, 700);
        *all[i] = (part){.vtable = all[i]->vtable, .pair = one_part.pair, .kind = one_part.kind};
    }
}

TEST(the_highest_version_counts) {
    const firn_since_mark marks[] = {
        {.kind = FIRN_SINCE_FIELD, .field = PART, .since = 3},
        {.kind = FIRN_SINCE_VALUE, .field = PART_KIND, .since = 8, .bytes = 1, .above = 1},
        {.kind = FIRN_SINCE_VALUE, .field = PART_KIND, .since = 9, .bytes = 1, .above = 2},
        {.kind = FIRN_SINCE_LIMIT, .field = KINDS, .since = 4, .above = 2},
        {.since = 0},
        {.kind = FIRN_SINCE_FIELD, .field = NAME, .since = 10}, /* behind the end */
    };
    const firn_marked_schema schema = {
        .tables = tables, .fields = fields, .inlines = inlines, .marks = marks, .root = WHOLE_TABLE};
    assert_int_equal(firn_schema_needs((const uint8_t *)&buffer, &schema), 8);
}

/* The sample has every field of the schema, the small plan has what version 0 has. */
TEST(plans_need_no_more_than_there_is) {
    static signed_plan small;
    size_t bytes = 0;
    uint8_t *sample = firn_native_write(&sample_plan, &bytes);
    assert_non_null(sample);
    assert_true(firn_needs_minor(sample) <= FIRN_FORMAT_MINOR);
    free(sample);
    support_bigram(&small, &support_settings);
    assert_int_equal(firn_needs_minor(small.file + FIRN_PAYLOAD_OFFSET), 0);
}

/* What a plan of one op needs, whose tensors are float32 and have these extents. */
static uint32_t needs_of_op(const firn_native_op *op, const uint32_t *dims, uint32_t rank) {
    const firn_native_tensor tensor = {
        .type = FIRN_FLOAT32, .role = FIRN_FB_ROLE_ACTIVATION, .dims = dims, .dims_count = rank, .base = FIRN_ABSENT};
    const firn_native_tensor tensors[] = {tensor, tensor, tensor};
    const firn_native_phase phase = {.ops = op, .ops_count = 1};
    const firn_native_input input = {.name = "x", .scale = 1, .ring = FIRN_ABSENT};
    const firn_native_sampler sampler = {.pushed = FIRN_ABSENT, .counted = FIRN_ABSENT};
    const firn_native_initialiser initialiser = {0};
    const firn_native_plan plan = {.tensors = tensors,
                                   .tensors_count = 3,
                                   .phases = &phase,
                                   .phases_count = 1,
                                   .inputs = &input,
                                   .inputs_count = 1,
                                   .sampler = &sampler,
                                   .initialisers = &initialiser,
                                   .initialisers_count = 1,
                                   .loss = FIRN_ABSENT,
                                   .learning_rate = FIRN_ABSENT,
                                   .loss_scale = FIRN_ABSENT,
                                   .optimizer_step = FIRN_ABSENT,
                                   .finite = FIRN_ABSENT,
                                   .at_floor = FIRN_ABSENT,
                                   .gradient_norm = FIRN_ABSENT};
    size_t bytes = 0;
    uint8_t *payload = firn_native_write(&plan, &bytes);
    assert_non_null(payload);
    const uint32_t needs = firn_needs_minor(payload);
    free(payload);
    return needs;
}

/* A label that is ignored and no class needs version 3. Of a plan whose meaning has not been checked the classes may be
 * unknown; then only a label that no int32 is counts as none of them. */
TEST(an_ignored_label_that_is_no_class_needs_version_3) {
    enum { CLASSES = 5, OLD = 0, NEW = 3 };
    static const uint32_t dims[] = {7, CLASSES};
    static const struct {
        uint16_t code;
        uint32_t inputs, rank, integers; /* how many there are */
        uint32_t table;                  /* number of the tensor in the place of the logits */
        int64_t ignored;
        uint32_t least;
    } rows[] = {
        {FIRN_OP_cross_entropy_weighted, 2, 2, 2, 1, CLASSES - 1, OLD},
        {FIRN_OP_cross_entropy_weighted, 2, 2, 2, 1, CLASSES, NEW},
        {FIRN_OP_cross_entropy_weighted, 2, 2, 2, 1, -1, OLD},
        {FIRN_OP_cross_entropy_weighted_backward, 3, 2, 2, 1, CLASSES - 1, OLD},
        {FIRN_OP_cross_entropy_weighted_backward, 3, 2, 2, 1, CLASSES, NEW},
        {FIRN_OP_metric_weighted_accuracy, 4, 2, 1, 1, CLASSES - 1, OLD},
        {FIRN_OP_metric_weighted_accuracy, 4, 2, 1, 1, CLASSES, NEW},
        {FIRN_OP_metric_confusion, 4, 2, 1, 1, CLASSES - 1, OLD},
        {FIRN_OP_metric_confusion, 4, 2, 1, 1, CLASSES, NEW},
        {FIRN_OP_linear_cross_entropy, 4, 2, 7, 1, CLASSES - 1, OLD},
        {FIRN_OP_linear_cross_entropy, 4, 2, 7, 1, CLASSES, NEW},
        /* no attribute, no logits, logits that do not exist */
        {FIRN_OP_cross_entropy_weighted, 2, 2, 0, 1, CLASSES, OLD},
        {FIRN_OP_cross_entropy_weighted, 0, 2, 2, 1, UINT32_MAX - 1, OLD},
        {FIRN_OP_cross_entropy_weighted, 0, 2, 2, 1, UINT32_MAX, NEW},
        {FIRN_OP_cross_entropy_weighted, 2, 2, 2, 3, UINT32_MAX - 1, OLD},
        {FIRN_OP_cross_entropy_weighted, 2, 2, 2, 3, UINT32_MAX, NEW},
        {FIRN_OP_cross_entropy_weighted, 2, 2, 2, FIRN_ABSENT, UINT32_MAX - 1, OLD},
        {FIRN_OP_linear_cross_entropy, 4, 2, 1, 1, CLASSES, OLD},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint32_t inputs[] = {rows[i].table, rows[i].table, rows[i].table, rows[i].table}, outputs[] = {0};
        int64_t integers[7] = {0};
        const uint8_t position = firn_op_ignore_index(rows[i].code);
        if (rows[i].code == FIRN_OP_linear_cross_entropy)
            integers[FIRN_LINEAR_CROSS_ENTROPY_CLASSES] = CLASSES;
        integers[position] = rows[i].ignored;
        const firn_native_op op = {.code = rows[i].code,
                                   .inputs = inputs,
                                   .inputs_count = rows[i].inputs,
                                   .outputs = outputs,
                                   .outputs_count = 1,
                                   .integers = integers,
                                   .integers_count = rows[i].integers};
        const uint32_t needs = needs_of_op(&op, dims, rows[i].rank);
        if (rows[i].least == NEW ? needs < NEW : needs >= NEW)
            fail_msg("row %zu needs version %u", i, needs);
    }
}

/* No field of the sample may escape the search. */
TEST(every_field_of_the_schema_is_found) {
    size_t bytes = 0;
    uint8_t *sample = firn_native_write(&sample_plan, &bytes);
    assert_non_null(sample);
    uint16_t rows = 0, most = FIRN_FB_ROOT; /* `most` is the last table: one that the ones before refer to */
    for (uint16_t type = 0; type <= most; type++) {
        rows = (uint16_t)(rows + firn_fb_tables[type].field_count);
        for (const firn_fb_field_rule *rule = &firn_fb_fields[firn_fb_tables[type].first_field];
             rule < &firn_fb_fields[rows]; rule++)
            if ((rule->kind == FIRN_FB_KIND_TABLE || rule->kind == FIRN_FB_KIND_TABLE_VECTOR) && rule->type > most)
                most = rule->type;
    }
    assert_true(rows > 70);
    for (uint16_t row = 0; row < rows; row++) {
        const firn_since_mark marks[] = {{.kind = FIRN_SINCE_FIELD, .field = row, .since = 5}, {.since = 0}};
        const firn_marked_schema schema = {.tables = firn_fb_tables,
                                           .fields = firn_fb_fields,
                                           .inlines = firn_fb_inlines,
                                           .marks = marks,
                                           .root = FIRN_FB_ROOT};
        assert_int_equal(firn_schema_needs(sample, &schema), 5);
    }
    free(sample);
}
