/* The table of the ops of ONNX that Firn reads, against the definitions of ONNX (tests/golden/onnx_ops.py). */
#include "tests/unit/support_test.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import.h"

enum { MANY = FIRNC_ONNX_OPERANDS_MAX };

typedef struct expected {
    const char *name;
    int inputs_min, inputs_max, outputs_max, since;
    const char *attributes; /* in the order of the alphabet; NULL: Firn does not read the op */
} expected;

#define ONNX_OP(...)        {__VA_ARGS__},
#define ONNX_NOT_READ(name) {name, 0, 0, 0, 0, NULL},

static const expected ops[] = {
#include "tests/golden/onnx_ops.def"
};

#undef ONNX_OP
#undef ONNX_NOT_READ

enum { OPS = sizeof ops / sizeof ops[0], ATTRIBUTES_MAX = 16 };

static int compare_words(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Writes the words of a text in the order of the alphabet, with a blank between them. */
static void sort_words(const char *text, char *sorted, size_t room) {
    char copy[512], *words[ATTRIBUTES_MAX];
    size_t count = 0;
    assert_true(strlen(text) < sizeof copy && strlen(text) < room);
    strcpy(copy, text);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(count < ATTRIBUTES_MAX);
        words[count++] = word;
    }
    qsort(words, count, sizeof *words, compare_words);
    sorted[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        strcat(sorted, i == 0 ? "" : " ");
        strcat(sorted, words[i]);
    }
}

TEST(each_op_has_the_operands_and_attributes_of_onnx) {
    for (size_t i = 0; i < OPS; i++) {
        const firnc_onnx_op *op = firnc_onnx_op_find(ops[i].name);
        char attributes[512];
        if (ops[i].attributes == NULL)
            continue;
        if (op == NULL)
            fail_msg("%s is not in the table", ops[i].name);
        sort_words(op->attributes, attributes, sizeof attributes);
        if (op->inputs_min != ops[i].inputs_min || op->inputs_max != ops[i].inputs_max ||
            op->outputs_max != ops[i].outputs_max || op->since != ops[i].since ||
            strcmp(attributes, ops[i].attributes) != 0)
            fail_msg("%s: %d to %d inputs, %d outputs, opset %d, attributes \"%s\"; ONNX has %d to %d, %d, %d, \"%s\"",
                     ops[i].name, op->inputs_min, op->inputs_max, op->outputs_max, op->since, attributes,
                     ops[i].inputs_min, ops[i].inputs_max, ops[i].outputs_max, ops[i].since, ops[i].attributes);
    }
}

TEST(an_op_that_is_read_has_its_definition_here) {
    for (size_t i = 0; i < OPS; i++)
        if (ops[i].attributes == NULL && firnc_onnx_op_find(ops[i].name) != NULL)
            fail_msg("%s is read; run tests/golden/onnx_ops.py", ops[i].name);
}
