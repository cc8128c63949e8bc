/* The checks of builds with CHECK=1. Unlike the core it may allocate memory, print and read the environment. */
#include "runtime/check/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/op_words.h"

/* Of the ops of a step, the portable kernel runs for one of so many. In 31 consecutive steps each op is compared in
 * one. */
enum { SAMPLED = 31 };

static size_t bytes_of(const firn_tensor *tensor) {
    return tensor->data == NULL ? 0 : tensor->elements * firn_type_bytes(tensor->type);
}

static __attribute__((noreturn, format(printf, 3, 4))) void
stop(const firn_checked_op *op, const firn_kernel_call *call, const char *format, ...) {
    va_list more;
    va_start(more, format);
    fprintf(stderr, "check: step %" PRIu64 " op %" PRIu32 " %s: ", call->moment->global_step, op->number,
            firn_op_name(firn_op_find(op->code)));
    vfprintf(stderr, format, more);
    fputc('\n', stderr);
    va_end(more);
    abort();
}

/* Whether word `position` of a list of operand names is this one. The last word stands for all that follow. */
static bool is_named(const char *words, uint32_t position, const char *name) {
    const char *next;
    for (; position > 0 && (next = strchr(words, ' ')) != NULL; position--)
        words = next + 1;
    return strncmp(words, name, strlen(name)) == 0 && (words[strlen(name)] == ' ' || words[strlen(name)] == '\0');
}

/* --- elements ----------------------------------------------------------------------------------------------------- */

/* The exponent bits of a floating-point type; 0: a type of integers. */
static uint32_t exponent_of(uint8_t type) {
    switch (type) {
    case FIRN_FLOAT32:
        return 0x7f800000;
    case FIRN_FLOAT16:
        return 0x7c00;
    case FIRN_BFLOAT16:
        return 0x7f80;
    case FIRN_CBFLOAT16:
        return 0x7e00;
    default:
        return 0;
    }
}

static uint32_t element_bits(const void *data, uint8_t type, size_t i) {
    uint32_t single;
    uint16_t half;
    if (type == FIRN_FLOAT32) {
        memcpy(&single, (const uint8_t *)data + i * sizeof single, sizeof single);
        return single;
    }
    memcpy(&half, (const uint8_t *)data + i * sizeof half, sizeof half);
    return half;
}

/* FNV-1a of the elements at `data`, each NaN as all ones. */
static uint64_t hash(const firn_tensor *tensor, const void *data) {
    const uint32_t exponent = exponent_of(tensor->type);
    const size_t width = firn_type_bytes(tensor->type);
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < tensor->elements; i++) {
        uint8_t element[8];
        memcpy(element, (const uint8_t *)data + i * width, width);
        if (exponent != 0) {
            const uint32_t magnitude =
                element_bits(data, tensor->type, i) & (exponent == 0x7f800000 ? 0x7fffffff : 0x7fff);
            if (magnitude > exponent)
                memset(element, 0xff, width);
        }
        for (size_t b = 0; b < width; b++)
            sum = (sum ^ element[b]) * UINT64_C(0x100000001b3);
    }
    return sum;
}

/* --- operands ----------------------------------------------------------------------------------------------------- */

static void check_place(const firn_checked_op *op, const firn_kernel_call *call, const firn_tensor *tensor,
                        const char *kind, uint32_t position) {
    const uintptr_t begin = (uintptr_t)tensor->data, end = begin + bytes_of(tensor);
    for (uint32_t r = 0; r < op->regions; r++)
        if (op->blocks[r] != NULL && begin >= (uintptr_t)op->blocks[r] &&
            end <= (uintptr_t)op->blocks[r] + op->bytes[r])
            return;
    stop(op, call, "%s %" PRIu32 " lies in no region", kind, position);
}

static bool overlap(const firn_tensor *a, const firn_tensor *b) {
    const uintptr_t first = (uintptr_t)a->data, second = (uintptr_t)b->data;
    return first < second + bytes_of(b) && second < first + bytes_of(a);
}

static void check_operands(const firn_checked_op *op, const firn_kernel_call *call) {
    const firn_op_words *words = firn_op_words_of(firn_op_find(op->code));
    for (uint8_t i = 0; i < call->input_count; i++) {
        const firn_tensor *input = &call->inputs[i];
        if (input->data == NULL)
            continue;
        check_place(op, call, input, "input", i);
        const uint32_t exponent = exponent_of(input->type);
        if (!op->gradients_are_finite || exponent == 0 || !is_named(words->inputs, i, "gradient"))
            continue;
        for (size_t e = 0; e < input->elements; e++)
            if ((element_bits(input->data, input->type, e) & exponent) == exponent)
                stop(op, call, "element %zu of the gradient is not finite, and the step was not skipped", e);
    }
    for (uint8_t j = 0; j < call->output_count; j++) {
        const firn_tensor *output = &call->outputs[j];
        check_place(op, call, output, "output", j);
        for (uint8_t i = 0; i < call->input_count; i++)
            if (call->inputs[i].data != NULL && call->inputs[i].data != output->data &&
                overlap(&call->inputs[i], output))
                stop(op, call, "output %d overlaps a part of input %d", j, i);
        for (uint8_t k = 0; k < j; k++)
            if (overlap(&call->outputs[k], output))
                stop(op, call, "output %d overlaps output %d", j, k);
    }
}

/* --- two kernels -------------------------------------------------------------------------------------------------- */

/* Copies the outputs one behind the other. */
static void *kept(const firn_kernel_call *call, size_t bytes) {
    uint8_t *copy = malloc(bytes), *to = copy;
    if (copy == NULL)
        abort();
    for (uint8_t j = 0; j < call->output_count; to += bytes_of(&call->outputs[j++]))
        memcpy(to, call->outputs[j].data, bytes_of(&call->outputs[j]));
    return copy;
}

/* Runs the portable kernel on what the outputs held before, then the kernel, and compares what they wrote. */
static void run_both(const firn_checked_op *op, firn_kernel kernel, const firn_kernel_call *call) {
    size_t bytes = 1;
    for (uint8_t j = 0; j < call->output_count; j++)
        bytes += bytes_of(&call->outputs[j]);
    uint8_t *before = kept(call, bytes);
    firn_kernel_call portable = *call;
    portable.kernels = firn_kernel_set_choose("plain");
    const firn_kernel_choice choice = portable.kernels->find(op->code, call->reductions);
    choice.run(&portable);
    uint8_t *expected = kept(call, bytes);
    const uint8_t *from = before, *wanted = expected;
    for (uint8_t j = 0; j < call->output_count; from += bytes_of(&call->outputs[j++]))
        memcpy(call->outputs[j].data, from, bytes_of(&call->outputs[j]));
    kernel(call);
    const char *names = firn_op_words_of(firn_op_find(op->code))->outputs;
    for (uint8_t j = 0; j < call->output_count; wanted += bytes_of(&call->outputs[j++]))
        if (!is_named(names, j, "scratch") &&
            hash(&call->outputs[j], wanted) != hash(&call->outputs[j], call->outputs[j].data))
            stop(op, call, "output %d is not what the portable kernel computes", j);
    free(before);
    free(expected);
}

/* --- the trace ---------------------------------------------------------------------------------------------------- */

static void trace(const firn_checked_op *op, const firn_kernel_call *call) {
    static FILE *to;
    const char *name = getenv("FIRN_TRACE");
    if (name == NULL)
        return;
    if (to == NULL && (to = fopen(name, "w")) == NULL) {
        perror(name);
        exit(1);
    }
    const firn_op_words *words = firn_op_words_of(firn_op_find(op->code));
    fprintf(to, "step %" PRIu64 ".%" PRIu32 " op %" PRIu32 " %s", call->moment->global_step, call->moment->micro_step,
            op->number, words->name);
    for (uint8_t j = 0; j < call->output_count; j++)
        if (!is_named(words->outputs, j, "scratch"))
            fprintf(to, " %d:%016" PRIx64, j, hash(&call->outputs[j], call->outputs[j].data));
    fputc('\n', to);
    fflush(to);
}

void firn_check_run(const firn_checked_op *op, firn_kernel kernel, const firn_kernel_call *call) {
    check_operands(op, call);
    if ((op->number + call->moment->global_step) % SAMPLED == 0)
        run_both(op, kernel, call);
    else
        kernel(call);
    trace(op, call);
}
