/* Reader of golden files; see golden.h. This is test code: it may use the heap and stdio. */
#define _POSIX_C_SOURCE 200809L /* getline, strtok_r */

#include "tests/unit/golden.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/generated/words.h"
#include "plan/op_words.h"
#include "plan/shapes/infer.h"
#include "runtime/kernels/kernels.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_workspace.h"

typedef struct golden_case {
    char name[128], op[64];
    double tolerance;
    test_call call;
    firn_moment moment;
    uint8_t integer_count, real_count, reduction_count;
    void *expected[FIRN_OUTPUTS_MAX]; /* NULL if the value is not compared */
} golden_case;

static uint8_t type_by_name(const char *name) {
    for (uint8_t type = 0; type <= FIRN_BOOL; type++) {
        if (strcmp(firn_type_name(type), name) == 0) {
            return type;
        }
    }
    fprintf(stderr, "golden: unknown type %s\n", name);
    abort();
}

static uint8_t reduction_by_name(const char *name) {
    uint8_t kind = 0;
    while (strcmp(name, firn_fb_reduction_kind_word(kind)) != 0)
        kind++;
    return kind;
}

static const firn_op_info *op_by_name(const char *name) {
    for (uint32_t i = 0; i < FIRN_OPS; i++) {
        if (strcmp(firn_op_name(firn_op_at(i)), name) == 0) {
            return firn_op_at(i);
        }
    }
    fprintf(stderr, "golden: unknown op %s\n", name);
    abort();
}

static void *allocate(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) {
        abort();
    }
    memset(memory, 0xa5, bytes);
    return memory;
}

/* Parses "TYPE DIMS : HEX ..." or "TYPE DIMS ?". */
static void *parse_tensor(char *text, firn_tensor *tensor) {
    char *save = NULL;
    tensor->type = type_by_name(strtok_r(text, " ", &save));
    char *dims = strtok_r(NULL, " ", &save);
    tensor->rank = 0;
    tensor->elements = 1;
    uint32_t *extents = allocate(FIRN_RANK_MAX * sizeof *extents);
    for (char *at = dims; *at != '\0';) {
        uint32_t extent = (uint32_t)strtoul(at, &at, 10);
        extents[tensor->rank++] = extent;
        tensor->elements *= extent;
        at += *at == 'x';
    }
    tensor->dims = extents;
    uint32_t width = firn_type_bytes(tensor->type);
    tensor->data = allocate(tensor->elements * width);
    if (strcmp(strtok_r(NULL, " \n", &save), "?") == 0) {
        return NULL;
    }
    uint8_t *values = allocate(tensor->elements * width);
    for (size_t i = 0; i < tensor->elements; i++) {
        uint64_t bits = strtoull(strtok_r(NULL, " \n", &save), NULL, 16);
        memcpy(values + i * width, &bits, width);
    }
    return values;
}

static double number_at(const void *data, uint8_t type, size_t i) {
    switch (type) {
    case FIRN_INT32: {
        int32_t value;
        memcpy(&value, (const uint8_t *)data + i * sizeof value, sizeof value);
        return value;
    }
    case FIRN_INT64: {
        int64_t value;
        memcpy(&value, (const uint8_t *)data + i * sizeof value, sizeof value);
        return (double)value;
    }
    default:
        return (double)firn_load(data, type, i);
    }
}

/* Returns the index of the first element that is neither bitwise equal nor within the tolerance; the number of elements
 * if there is none. */
static size_t first_difference(const golden_case *golden, unsigned o, double tolerance) {
    const firn_tensor *output = &golden->call.outputs[o];
    const uint8_t *expected = golden->expected[o];
    uint32_t width = firn_type_bytes(output->type);
    double largest = 0;
    for (size_t i = 0; i < output->elements; i++) {
        largest = fmax(largest, fabs(number_at(expected, output->type, i)));
    }
    for (size_t i = 0; i < output->elements; i++) {
        double want = number_at(expected, output->type, i), have = number_at(output->data, output->type, i);
        bool same = memcmp((const uint8_t *)output->data + i * width, expected + i * width, width) == 0;
        if (!same && !(tolerance > 0 && fabs(want - have) <= tolerance * largest)) {
            return i;
        }
    }
    return output->elements;
}

static bool outputs_agree(const golden_case *golden, double tolerance, bool print) {
    bool agree = true;
    for (unsigned o = 0; o < golden->call.output_count; o++) {
        const firn_tensor *output = &golden->call.outputs[o];
        size_t i = golden->expected[o] == NULL ? output->elements : first_difference(golden, o, tolerance);
        if (i < output->elements) {
            agree = false;
            if (print) {
                printf("%s: output %u, element %zu: expected %.9g, got %.9g\n", golden->name, o, i,
                       number_at(golden->expected[o], output->type, i), number_at(output->data, output->type, i));
            }
        }
    }
    return agree;
}

/* If an op updates an input in place, its output is the same tensor as that input. In addition, output 0 may share the
 * bytes of one input. */
static void share_input(test_call *call, const firn_op_info *info, unsigned o) {
    firn_tensor *output = &call->outputs[o];
    const uint8_t changed = firn_op_changed(info, o);
    for (unsigned i = 0; i < call->input_count; i++) {
        firn_tensor *input = &call->inputs[i];
        const bool may = changed == FIRN_FRESH && o == 0 && firn_op_reuses(info, i) &&
                         input->elements == output->elements && input->type == output->type;
        if (i == changed || may) {
            memcpy(output->data, input->data, input->elements * firn_type_bytes(input->type));
            free(input->data);
            input->data = output->data;
            return;
        }
    }
}

/* Checks the case with the shape rule of its op, then runs the kernel. */
static bool execute(golden_case *golden) {
    const firn_op_info *info = op_by_name(golden->op);
    firn_shape inputs[FIRN_INPUTS_MAX], outputs[FIRN_OUTPUTS_MAX];
    firn_op_signature signature = {.code = info->code,
                                   .input_count = golden->call.input_count,
                                   .output_count = golden->call.output_count,
                                   .integer_count = golden->integer_count,
                                   .real_count = golden->real_count,
                                   .inputs = inputs,
                                   .outputs = outputs};
    memcpy(signature.integers, golden->call.integers, sizeof signature.integers);
    memcpy(signature.reals, golden->call.reals, sizeof signature.reals);
    for (unsigned i = 0; i < golden->call.input_count; i++) {
        const firn_tensor *input = &golden->call.inputs[i];
        inputs[i] = (firn_shape){.type = input->type, .rank = input->rank};
        if (input->rank > 0)
            memcpy(inputs[i].dims, input->dims, input->rank * sizeof(uint32_t));
    }
    for (unsigned o = 0; o < golden->call.output_count; o++) {
        outputs[o] = (firn_shape){.type = golden->call.outputs[o].type};
    }
    int error = firn_op_infer(&signature);
    if (error != FIRN_OK) {
        printf("%s: the shape rule refuses it: %s\n", golden->name, firn_error_text(error));
        return false;
    }
    for (unsigned o = 0; o < golden->call.output_count; o++) {
        const firn_tensor *output = &golden->call.outputs[o];
        if (outputs[o].rank != output->rank ||
            memcmp(outputs[o].dims, output->dims, output->rank * sizeof(uint32_t)) != 0) {
            printf("%s: the shape rule gives output %u another shape\n", golden->name, o);
            return false;
        }
        if (golden->call.reductions[0].output == 0) {
            golden->call.reductions[0].output = output->type;
        }
    }
    for (unsigned o = 0; o < golden->call.output_count; o++) {
        share_input(&golden->call, info, o);
    }
    golden->call.moment = &golden->moment;
    firn_kernel kernel = support_kernel(firn_kernel_set_choose(NULL), info->code, &golden->call);
    if (kernel == NULL) {
        printf("%s: no kernel\n", golden->name);
        return false;
    }
    test_call_run(kernel, &golden->call);
    return true;
}

static bool run_case(golden_case *golden) {
    return execute(golden) && outputs_agree(golden, golden->tolerance, true);
}

/* Returns the same values converted to float32. */
static void *widened(void *values, uint8_t type, size_t elements) {
    float *wide = allocate(elements * sizeof *wide);
    for (size_t i = 0; i < elements; i++) {
        wide[i] = firn_load(values, type, i);
    }
    free(values);
    return wide;
}

/* Runs the case with float32 in place of every half type. Returns true if the result differs by no more than the
 * rounding of a half type explains. */
static bool run_in_float32(golden_case *golden) {
    const double rounding = 1.0 / 16;
    test_call *call = &golden->call;
    for (unsigned i = 0; i < call->input_count; i++) {
        if (firn_type_is_half(call->inputs[i].type)) {
            call->inputs[i].data = widened(call->inputs[i].data, call->inputs[i].type, call->inputs[i].elements);
            call->inputs[i].type = FIRN_FLOAT32;
        }
    }
    for (unsigned o = 0; o < call->output_count; o++) {
        firn_tensor *output = &call->outputs[o];
        if (firn_type_is_half(output->type)) {
            free(output->data);
            output->data = allocate(output->elements * sizeof(float));
            golden->expected[o] = widened(golden->expected[o], output->type, output->elements);
            output->type = FIRN_FLOAT32;
        }
    }
    memset(call->reductions, 0, sizeof call->reductions);
    return execute(golden) && !outputs_agree(golden, 0, false) && outputs_agree(golden, rounding, true);
}

static void parse_line(golden_case *golden, char *line) {
    char *rest = strchr(line, ' ');
    *rest++ = '\0';
    char *save = NULL;
    if (strcmp(line, "integers") == 0) {
        for (char *word = strtok_r(rest, " \n", &save); word != NULL; word = strtok_r(NULL, " \n", &save)) {
            golden->call.integers[golden->integer_count++] = strtoll(word, NULL, 10);
        }
    } else if (strcmp(line, "reals") == 0) {
        for (char *word = strtok_r(rest, " \n", &save); word != NULL; word = strtok_r(NULL, " \n", &save)) {
            golden->call.reals[golden->real_count++] = strtof(word, NULL);
        }
    } else if (strcmp(line, "random") == 0) {
        char *at = rest;
        golden->call.seed = strtoull(at, &at, 10);
        golden->moment.global_step = strtoull(at, &at, 10);
        golden->moment.micro_step = (uint32_t)strtoul(at, &at, 10);
    } else if (strcmp(line, "reduction") == 0) {
        firn_reduction *reduction = &golden->call.reductions[golden->reduction_count++];
        reduction->kind = reduction_by_name(strtok_r(rest, " \n", &save));
        reduction->accumulator = type_by_name(strtok_r(NULL, " \n", &save));
        reduction->chunk = (uint32_t)strtoul(strtok_r(NULL, " \n", &save), NULL, 10);
    } else if (strcmp(line, "input") == 0 && strncmp(rest, "absent", 6) == 0) {
        golden->call.input_count++;
    } else if (strcmp(line, "input") == 0) {
        firn_tensor *input = &golden->call.inputs[golden->call.input_count++];
        void *values = parse_tensor(rest, input);
        memcpy(input->data, values, input->elements * firn_type_bytes(input->type));
        free(values);
    } else if (strcmp(line, "output") == 0) {
        unsigned o = golden->call.output_count++;
        golden->expected[o] = parse_tensor(rest, &golden->call.outputs[o]);
    }
}

static void release_tensor(const firn_tensor *tensor) {
    free(tensor->data);
    free((void *)(uintptr_t)tensor->dims);
}

static void release(golden_case *golden) {
    for (unsigned o = 0; o < golden->call.output_count; o++) {
        for (unsigned i = 0; i < golden->call.input_count; i++) {
            if (golden->call.inputs[i].data == golden->call.outputs[o].data) {
                golden->call.inputs[i].data = NULL;
            }
        }
        release_tensor(&golden->call.outputs[o]);
        free(golden->expected[o]);
    }
    for (unsigned i = 0; i < golden->call.input_count; i++) {
        release_tensor(&golden->call.inputs[i]);
    }
}

/* Calls judge for each case, or only for the case of the given name if name is not NULL. Returns the number of cases
 * that it rejects. */
static int run_file(const char *file, const char *name, bool (*judge)(golden_case *golden), int *cases) {
    FILE *stream = fopen(file, "r");
    if (stream == NULL) {
        return -1;
    }
    char *line = NULL;
    size_t capacity = 0;
    int wrong = 0;
    golden_case golden = {0};
    bool more = true;
    while (more) {
        more = getline(&line, &capacity, stream) > 0;
        if (!more || strncmp(line, "case ", 5) == 0) {
            if (golden.name[0] != '\0') {
                if (name == NULL || strcmp(golden.name, name) == 0) {
                    wrong += !judge(&golden);
                    ++*cases;
                }
                release(&golden);
            }
            memset(&golden, 0, sizeof golden);
            if (more && sscanf(line, "case %127s %63s %lf", golden.name, golden.op, &golden.tolerance) != 3) {
                wrong = -1;
                break;
            }
        } else {
            parse_line(&golden, line);
        }
    }
    free(line);
    fclose(stream);
    return wrong;
}

int golden_run(const char *file, int *cases) {
    return run_file(file, NULL, run_case, cases);
}

bool golden_differs_in_float32(const char *file, const char *name) {
    int cases = 0;
    return run_file(file, name, run_in_float32, &cases) == 0 && cases == 1;
}
