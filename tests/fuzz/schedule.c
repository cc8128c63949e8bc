/* Fuzzes schedules: arbitrary bytes as nodes, numbers and instructions. A list that is accepted has a value at every
 * step and the same one when it is evaluated again. */
#include <stdlib.h>
#include <string.h>

#include "schedules/schedule.h"
#include "tests/fuzz/fuzz.h"

enum { NODES = 64, NUMBERS = 64, INSTRUCTIONS = 64 };

/* Takes up to `most` elements of `bytes` bytes each from the front of the input; the first byte is their number. */
static uint32_t take(const uint8_t **data, size_t *size, void *elements, uint32_t most, size_t bytes) {
    if (*size == 0)
        return 0;
    uint32_t count = **data % (most + 1);
    (*data)++;
    (*size)--;
    if (count > *size / bytes)
        count = (uint32_t)(*size / bytes);
    memcpy(elements, *data, count * bytes);
    *data += count * bytes;
    *size -= count * bytes;
    return count;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void evaluate(const firn_schedule_list *list, uint64_t step) {
    for (uint32_t root = 0; root < list->node_count; root++)
        FUZZ_HOLDS(bits_of(firn_schedule_value(list, root, step)) == bits_of(firn_schedule_value(list, root, step)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static firn_schedule_node nodes[NODES];
    static double numbers[NUMBERS];
    static firn_schedule_instruction instructions[INSTRUCTIONS];
    const firn_schedule_list list = {.nodes = nodes,
                                     .numbers = numbers,
                                     .instructions = instructions,
                                     .number_count = take(&data, &size, numbers, NUMBERS, sizeof *numbers),
                                     .instruction_count =
                                         take(&data, &size, instructions, INSTRUCTIONS, sizeof *instructions),
                                     .node_count = take(&data, &size, nodes, NODES, sizeof *nodes)};
    if (list.node_count == 0 || firn_schedule_check(&list) != 0)
        return 0;
    for (uint64_t step = 0; step < 4; step++)
        evaluate(&list, step);
    for (uint32_t power = 3; power < 63; power += 4)
        evaluate(&list, (UINT64_C(1) << power) - 1);
    return 0;
}
