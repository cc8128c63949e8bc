/* Built and run by op_rows.sh with a table that has one row more, which grew in later versions of the format: what a
 * plan may leave out, what is then filled in, and which version a plan needs. */
#include <stdio.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/generated/version.h"
#include "plan/needs.h"
#include "plan/shapes/infer.h"

typedef struct later_case {
    const char *name;
    uint8_t inputs, outputs, integer_count, real_count;
    int64_t integers[3];
    float reals[2];
    int error;
    uint32_t since;
} later_case;

static const later_case cases[] = {
    {"as it came", 1, 1, 1, 1, {1}, {2}, FIRN_OK, 1},
    {"an input that came with the row", 2, 1, 1, 1, {1}, {2}, FIRN_OK, 1},
    {"an input that came later", 3, 1, 1, 1, {1}, {2}, FIRN_OK, 3},
    {"an output that came later", 1, 2, 1, 1, {1}, {2}, FIRN_OK, 4},
    {"an integer that came later", 1, 1, 2, 1, {1, 8}, {2}, FIRN_OK, 2},
    {"two integers, the first with its default", 1, 1, 3, 1, {1, 7, 1}, {2}, FIRN_OK, 5},
    {"a real that came later", 1, 1, 1, 2, {1}, {2, 0.25f}, FIRN_OK, 6},
    {"everything", 3, 2, 3, 2, {1, 8, 1}, {2, 0.25f}, FIRN_OK, 6},
    {"an integer with its default", 1, 1, 2, 1, {1, 7}, {2}, FIRN_ERROR_OP_ATTRIBUTE, 0},
    {"a last integer with its default", 1, 1, 3, 1, {1, 8, 0}, {2}, FIRN_ERROR_OP_ATTRIBUTE, 0},
    {"a real with its default", 1, 1, 1, 2, {1}, {2, 0.5f}, FIRN_ERROR_OP_ATTRIBUTE, 0},
    {"an integer out of its range", 1, 1, 2, 1, {1, 0}, {2}, FIRN_ERROR_OP_ATTRIBUTE, 0},
    {"an integer too few", 1, 1, 0, 1, {0}, {2}, FIRN_ERROR_OP_ATTRIBUTE, 0},
    {"an integer too many", 1, 1, 4, 1, {1, 8, 1}, {2}, FIRN_ERROR_OP_ATTRIBUTE, 0},
    {"a real too few", 1, 1, 1, 0, {1}, {0}, FIRN_ERROR_OP_ATTRIBUTE, 0},
    {"a real too many", 1, 1, 1, 3, {1}, {2, 0.25f}, FIRN_ERROR_OP_ATTRIBUTE, 0},
    {"an output too few", 1, 0, 1, 1, {1}, {2}, FIRN_ERROR_OP_OPERANDS, 0},
    {"an output too many", 1, 3, 1, 1, {1}, {2}, FIRN_ERROR_OP_OPERANDS, 0},
    {"an input too many", 4, 1, 1, 1, {1}, {2}, FIRN_ERROR_OP_OPERANDS, 0},
};

/* The values that the op works with: given, or the default. */
static bool values_are_right(const later_case *c, const firn_op_signature *s) {
    return s->integers[0] == c->integers[0] && s->integers[1] == (c->integer_count > 1 ? c->integers[1] : 7) &&
           s->integers[2] == (c->integer_count > 2 ? c->integers[2] : 0) && s->reals[0] == c->reals[0] &&
           s->reals[1] == (c->real_count > 1 ? c->reals[1] : 0.5f);
}

static bool holds(const firn_op_info *info, const later_case *c) {
    firn_shape inputs[4], outputs[3];
    for (int i = 0; i < 4; i++)
        inputs[i] = (firn_shape){.type = FIRN_FLOAT32, .rank = 1, .dims = {1}};
    for (int i = 0; i < 3; i++)
        outputs[i] = (firn_shape){.type = FIRN_FLOAT32};
    firn_op_signature s = {.code = info->code,
                           .input_count = c->inputs,
                           .output_count = c->outputs,
                           .integer_count = c->integer_count,
                           .real_count = c->real_count,
                           .inputs = inputs,
                           .outputs = outputs};
    memset(s.integers, 0x55, sizeof s.integers);
    memset(s.reals, 0x55, sizeof s.reals);
    memcpy(s.integers, c->integers, c->integer_count <= 3 ? c->integer_count * sizeof s.integers[0] : 0);
    memcpy(s.reals, c->reals, c->real_count <= 2 ? c->real_count * sizeof s.reals[0] : 0);
    const int error = firn_op_infer(&s);
    if (error != c->error)
        return false;
    return error != FIRN_OK ||
           (values_are_right(c, &s) && firn_op_given_integers(info, s.integers) == c->integer_count &&
            firn_op_given_reals(info, s.reals) == c->real_count &&
            firn_op_since(info, c->inputs, c->outputs, c->integer_count, c->real_count) == c->since);
}

int main(void) {
    int failures = 0;
    const firn_op_info *info = firn_op_find(FIRN_OP_later);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (!holds(info, &cases[i])) {
            printf("%s\n", cases[i].name);
            failures++;
        }
    if (FIRN_FORMAT_MINOR != 6 || firn_op_since(firn_op_find(FIRN_OP_relu), 64, 64, 8, 8) != 0) {
        printf("versions of the table, or of an op that did not grow\n");
        failures++;
    }
    return failures != 0;
}
