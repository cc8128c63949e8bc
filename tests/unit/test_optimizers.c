/* Tests every optimizer for 50 steps: the kernels against the same formulas in float64 (tests/golden/optimizers.py,
 * which also describes the format of its file), and every kernel set, with and without threads, bit by bit against the
 * plain one. */
#define _POSIX_C_SOURCE 200809L /* getline, strtok_r */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/op_words.h"
#include "plan/shapes/infer.h"
#include "tests/unit/support_kernels.h"
#include "tests/unit/support_test.h"
#include "tests/unit/support_workspace.h"

enum { STEPS = 50, STATES_MAX = 4, TENSORS_MAX = 1 + STATES_MAX };

typedef struct optimizer_case {
    char name[64], op[32], inputs[32];
    double tolerance;
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
    uint8_t integer_count, real_count, state_count, final_count;
    firn_shape shape, states[STATES_MAX];
    float initial[STATES_MAX], rate;
    uint32_t seed;
    float *final[TENSORS_MAX];
} optimizer_case;

/* The result of a run: the parameter, then the states in order. */
typedef struct outcome {
    firn_tensor tensors[TENSORS_MAX];
} outcome;

/* --- reading ------------------------------------------------------------------------------------------------------ */

static firn_shape read_shape(const char *text) {
    firn_shape shape = {.type = FIRN_FLOAT32};
    for (char *at = (char *)(uintptr_t)text; *at >= '0' && *at <= '9'; at += *at == 'x')
        shape.dims[shape.rank++] = (uint32_t)strtoul(at, &at, 10);
    return shape;
}

static size_t elements_of(const firn_shape *shape) {
    uint64_t elements;
    assert_true(firn_shape_elements(shape, &elements));
    return (size_t)elements;
}

static void read_final(optimizer_case *c, char *text) {
    const firn_shape *shape = c->final_count == 0 ? &c->shape : &c->states[c->final_count - 1];
    const size_t count = elements_of(shape);
    float *values = malloc(count * sizeof *values);
    char *save = NULL, *word = strtok_r(text, " :\n", &save);
    for (size_t i = 0; i < count; i++, word = strtok_r(NULL, " :\n", &save))
        values[i] = firn_from_bits((uint32_t)strtoul(word, NULL, 16));
    assert_null(word);
    c->final[c->final_count++] = values;
}

static void read_line(optimizer_case *c, char *line) {
    char *rest = strchr(line, ' '), *save = NULL, shape[32];
    *rest++ = '\0';
    if (strcmp(line, "integers") == 0) {
        for (char *word = strtok_r(rest, " \n", &save); word != NULL; word = strtok_r(NULL, " \n", &save))
            c->integers[c->integer_count++] = strtoll(word, NULL, 10);
    } else if (strcmp(line, "reals") == 0) {
        for (char *word = strtok_r(rest, " \n", &save); word != NULL; word = strtok_r(NULL, " \n", &save))
            c->reals[c->real_count++] = strtof(word, NULL);
    } else if (strcmp(line, "run") == 0) {
        assert_int_equal(sscanf(rest, "%31s %u %f", shape, &c->seed, &c->rate), 3);
        c->shape = read_shape(shape);
    } else if (strcmp(line, "inputs") == 0) {
        snprintf(c->inputs, sizeof c->inputs, "%s", strtok_r(rest, "\n", &save));
    } else if (strcmp(line, "state") == 0) {
        assert_int_equal(sscanf(rest, "%31s %f", shape, &c->initial[c->state_count]), 2);
        c->states[c->state_count++] = read_shape(shape);
    } else if (strcmp(line, "final") == 0) {
        read_final(c, rest);
    } else {
        fail_msg("unknown line: %s", line);
    }
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static float draw_number(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (float)((int32_t)(*seed >> 8) - (1 << 23)) * 0x1p-23f;
}

static firn_tensor tensor_of(const firn_shape *shape) {
    return tensor_new(shape->type, shape->dims[0], shape->dims[1], shape->dims[2], shape->dims[3]);
}

static firn_tensor filled_with(const firn_shape *shape, float x) {
    firn_tensor tensor = tensor_of(shape);
    for (size_t i = 0; i < tensor.elements; i++)
        set(&tensor, i, x);
    return tensor;
}

/* Runs tasks in three ranges, last range first. */
static void run_split(void *context, size_t tasks, firn_task_body body, void *argument) {
    (void)context;
    const size_t first = tasks / 3, second = tasks - tasks / 5;
    body(argument, second, tasks);
    body(argument, first, second);
    body(argument, 0, first);
}

typedef struct runner {
    const firn_kernel_set *set;
    bool split;
} runner;

/* Runs an op and allocates those of its outputs that are not inputs. If `fresh` is not NULL, it receives the first one,
 * which the caller then owns. */
static void run_op(runner r, uint16_t code, test_call *call, firn_tensor *fresh) {
    const firn_op_info *info = firn_op_find(code);
    firn_shape inputs[FIRN_INPUTS_MAX], outputs[FIRN_OUTPUTS_MAX];
    firn_op_signature s = {.code = code,
                           .input_count = call->input_count,
                           .output_count = info->outputs,
                           .integer_count = firn_op_given_integers(info, call->integers),
                           .real_count = info->reals,
                           .inputs = inputs,
                           .outputs = outputs};
    for (uint8_t i = 0; i < s.input_count; i++) {
        inputs[i] = (firn_shape){.type = call->inputs[i].type, .rank = call->inputs[i].rank};
        memcpy(inputs[i].dims, call->inputs[i].dims, call->inputs[i].rank * sizeof(uint32_t));
    }
    memcpy(s.integers, call->integers, sizeof s.integers);
    memcpy(s.reals, call->reals, sizeof s.reals);
    for (uint8_t j = 0; j < info->outputs; j++)
        outputs[j] = (firn_shape){.type = FIRN_FLOAT32};
    if (firn_op_infer(&s) != FIRN_OK)
        fail_msg("the shape rule of %s refuses", firn_op_name(info));
    call->output_count = info->outputs;
    for (uint8_t j = 0; j < info->outputs; j++) {
        uint8_t changed = firn_op_changed(info, j);
        call->outputs[j] = changed == FIRN_FRESH ? tensor_of(&outputs[j]) : call->inputs[changed];
    }
    call->parallel = (firn_parallel){.run = r.split ? run_split : NULL, .threads = 1};
    test_call_run(support_kernel(r.set, code, call), call);
    for (uint8_t j = 0; j < info->outputs; j++)
        if (firn_op_changed(info, j) == FIRN_FRESH) {
            if (fresh != NULL) {
                *fresh = call->outputs[j];
                fresh = NULL;
            } else {
                tensor_free(&call->outputs[j]);
            }
        }
}

/* --- muon: the ops that the compiler generates -------------------------------------------------------------------- */

static firn_tensor product(runner r, uint16_t code, const firn_tensor *a, const firn_tensor *b, int64_t layout) {
    firn_tensor result;
    test_call call = {.input_count = 2,
                      .inputs = {*a, *b},
                      .integers = {layout},
                      .reductions = {{FIRN_REDUCTION_F32, FIRN_FLOAT32, FIRN_FLOAT32, 0}}};
    run_op(r, code, &call, &result);
    return result;
}

/* Computes a x + b y in place of x and frees y. */
static void add_to(runner r, float a, firn_tensor *x, float b, firn_tensor *y) {
    firn_tensor result;
    test_call call = {.input_count = 2, .inputs = {*x, *y}, .reals = {a, b}};
    run_op(r, FIRN_OP_weighted_sum, &call, &result);
    tensor_free_each(x, y, (firn_tensor *)NULL);
    *x = result;
}

static void newton_schulz(runner r, firn_tensor *x, int64_t steps, float epsilon) {
    const bool wide = x->dims[0] <= x->dims[1];
    firn_tensor unit;
    test_call call = {.input_count = 1, .inputs = {*x}, .reals = {epsilon}};
    run_op(r, FIRN_OP_unit_norm, &call, &unit);
    tensor_free(x);
    *x = unit;
    for (int64_t i = 0; i < steps; i++) {
        firn_tensor gram =
            wide ? product(r, FIRN_OP_linear, x, x, 0) : product(r, FIRN_OP_linear_backward_weight, x, x, 0);
        firn_tensor square = product(r, FIRN_OP_linear, &gram, &gram, 0);
        add_to(r, -4.775f, &gram, 2.0315f, &square);
        firn_tensor turned = wide ? product(r, FIRN_OP_linear, &gram, x, 1) : product(r, FIRN_OP_linear, x, &gram, 0);
        tensor_free(&gram);
        add_to(r, 3.4445f, x, 1.0f, &turned);
    }
}

/* integers: nesterov, ns_steps; reals: momentum, epsilon, scale, weight_decay */
static void muon(runner r, const optimizer_case *c, const outcome *o, const firn_tensor *gradient,
                 const firn_tensor *rate) {
    firn_tensor x;
    test_call direction = {
        .input_count = 2, .inputs = {o->tensors[1], *gradient}, .integers = {c->integers[0]}, .reals = {c->reals[0]}};
    run_op(r, FIRN_OP_muon_direction, &direction, &x);
    if (c->integers[1] > 0)
        newton_schulz(r, &x, c->integers[1], c->reals[1]);
    test_call step = {.input_count = 3, .inputs = {o->tensors[0], x, *rate}, .reals = {c->reals[2], c->reals[3]}};
    run_op(r, FIRN_OP_muon_step, &step, NULL);
    tensor_free(&x);
}

/* --- the other optimizers, and the loop --------------------------------------------------------------------------- */

static uint16_t code_of(const char *name) {
    for (uint32_t i = 0; i < FIRN_OPS; i++)
        if (strcmp(firn_op_name(firn_op_at(i)), name) == 0)
            return firn_op_at(i)->code;
    fail_msg("no op is called %s", name);
    return 0;
}

static void one_op(runner r, const optimizer_case *c, const outcome *o, const firn_tensor *gradient,
                   const firn_tensor *rate, const firn_tensor *steps) {
    test_call call = {.input_count = 2, .inputs = {o->tensors[0], *gradient}};
    uint8_t state = 1;
    for (const char *at = c->inputs; *at != '\0'; at++)
        if (*at != ' ')
            call.inputs[call.input_count++] = *at == 's' ? o->tensors[state++] : *at == 'r' ? *rate : *steps;
    memcpy(call.integers, c->integers, sizeof call.integers);
    memcpy(call.reals, c->reals, sizeof call.reals);
    const firn_op_info *info = firn_op_find(code_of(c->op));
    assert_int_equal(c->integer_count, info->integers);
    assert_int_equal(c->real_count, info->reals);
    run_op(r, info->code, &call, NULL);
}

static outcome run_case(runner r, const optimizer_case *c) {
    outcome o = {.tensors = {tensor_of(&c->shape)}};
    for (uint8_t i = 0; i < c->state_count; i++)
        o.tensors[i + 1] = filled_with(&c->states[i], c->initial[i]);
    firn_tensor stays = tensor_of(&c->shape), gradient = tensor_of(&c->shape);
    firn_tensor rate = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0), steps = tensor_new(FIRN_INT64, 1, 0, 0, 0);
    uint32_t seed = c->seed;
    for (size_t i = 0; i < stays.elements; i++)
        set(&o.tensors[0], i, draw_number(&seed) * 0.5f);
    for (size_t i = 0; i < stays.elements; i++)
        set(&stays, i, draw_number(&seed));
    for (int64_t t = 0; t < STEPS; t++) {
        for (size_t i = 0; i < stays.elements; i++)
            set(&gradient, i, (get(&stays, i) + draw_number(&seed)) * 0.5f * ldexpf(1.0f, -(int)(i % 7)));
        set(&rate, 0, c->rate * (1.0f - (float)t / 128.0f));
        *(int64_t *)steps.data = t;
        if (strcmp(c->op, "muon") == 0)
            muon(r, c, &o, &gradient, &rate);
        else
            one_op(r, c, &o, &gradient, &rate, &steps);
    }
    tensor_free_each(&stays, &gradient, &rate, &steps, (firn_tensor *)NULL);
    return o;
}

static void free_outcome(outcome *o) {
    for (size_t i = 0; i < TENSORS_MAX; i++)
        if (o->tensors[i].data != NULL)
            tensor_free(&o->tensors[i]);
}

/* The largest difference between a tensor and the expected values, relative to the largest expected magnitude. */
static double difference(const firn_tensor *tensor, const float *expected) {
    double largest = 0, worst = 0;
    for (size_t i = 0; i < tensor->elements; i++) {
        largest = fmax(largest, fabs((double)expected[i]));
        worst = fmax(worst, fabs((double)expected[i] - (double)get(tensor, i)));
    }
    return worst == 0 ? 0 : worst / largest;
}

static const firn_kernel_set *plain;
static double largest_difference;

static void check_case(const optimizer_case *c) {
    static const char *const sets[] = {"plain", "fma", "avx2", "avx512", "neon"};
    assert_int_equal(c->final_count, c->state_count + 1);
    outcome o = run_case((runner){plain, false}, c);
    for (uint8_t i = 0; i < c->final_count; i++) {
        double worst = difference(&o.tensors[i], c->final[i]);
        largest_difference = fmax(largest_difference, worst / c->tolerance);
        if (!(worst <= c->tolerance))
            fail_msg("%s: tensor %u is off by %g of its largest element", c->name, (unsigned)i, worst);
    }
    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++)
        for (int split = 0; split < 2; split++) {
            const firn_kernel_set *set = firn_kernel_set_choose(sets[s]);
            if (set == NULL)
                continue;
            outcome other = run_case((runner){set, split == 1}, c);
            for (uint8_t i = 0; i < c->final_count; i++)
                assert_same(&o.tensors[i], &other.tensors[i], c->name);
            free_outcome(&other);
        }
    free_outcome(&o);
}

TEST(fifty_steps) {
    FILE *file = fopen("tests/golden/optimizers.golden", "r");
    assert_non_null(file);
    plain = firn_kernel_set_choose("plain");
    assert_non_null(plain);
    char *line = NULL;
    size_t capacity = 0;
    int cases = 0;
    optimizer_case c = {0};
    bool more = true;
    while (more) {
        more = getline(&line, &capacity, file) > 0;
        if (more && strncmp(line, "case ", 5) != 0) {
            read_line(&c, line);
            continue;
        }
        if (c.name[0] != '\0') {
            check_case(&c);
            cases++;
            for (uint8_t i = 0; i < c.final_count; i++)
                free(c.final[i]);
        }
        c = (optimizer_case){0};
        if (more)
            assert_int_equal(sscanf(line, "case %63s %31s %lf", c.name, c.op, &c.tolerance), 3);
    }
    free(line);
    fclose(file);
    assert_int_equal(cases, 137);
    print_message("largest difference: %.2f of the tolerance\n", largest_difference);
}
