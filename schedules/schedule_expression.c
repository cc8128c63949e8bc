/* Checks and evaluates expressions (schedule_expression.h). NUMERICS.md, "Schedules", defines each operation. */
#include "schedules/schedule_expression.h"

#include "schedules/schedule_elementary.h"

uint32_t firn_schedule_operands(uint16_t operation) {
    static const uint8_t operands[FIRN_SCHEDULE_OPERATIONS] = {
        [FIRN_SCHEDULE_NUMBER] = 0,   [FIRN_SCHEDULE_STEP] = 0,
        [FIRN_SCHEDULE_ADD] = 2,      [FIRN_SCHEDULE_SUBTRACT] = 2,
        [FIRN_SCHEDULE_MULTIPLY] = 2, [FIRN_SCHEDULE_DIVIDE] = 2,
        [FIRN_SCHEDULE_NEGATE] = 1,   [FIRN_SCHEDULE_POWER] = 2,
        [FIRN_SCHEDULE_MINIMUM] = 2,  [FIRN_SCHEDULE_MAXIMUM] = 2,
        [FIRN_SCHEDULE_LESS] = 2,     [FIRN_SCHEDULE_LESS_OR_EQUAL] = 2,
        [FIRN_SCHEDULE_GREATER] = 2,  [FIRN_SCHEDULE_GREATER_OR_EQUAL] = 2,
        [FIRN_SCHEDULE_WHERE] = 3,    [FIRN_SCHEDULE_EXP] = 1,
        [FIRN_SCHEDULE_LOG] = 1,      [FIRN_SCHEDULE_SQUARE_ROOT] = 1,
        [FIRN_SCHEDULE_SINE] = 1,     [FIRN_SCHEDULE_COSINE_OF] = 1,
        [FIRN_SCHEDULE_FLOOR] = 1,
    };
    return operands[operation];
}

bool firn_schedule_expression_check(const firn_schedule_instruction *list, uint64_t count) {
    uint32_t held = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (list[i].operation >= FIRN_SCHEDULE_OPERATIONS || list[i].reserved_low != 0 || list[i].reserved_high != 0)
            return false;
        uint32_t operands = firn_schedule_operands(list[i].operation);
        if (held < operands || held - operands == FIRN_SCHEDULE_STACK)
            return false;
        held += 1 - operands;
    }
    return held == 1;
}

/* Computes one operation; a, b and c are its first, second and third operand, as far as it has them. */
static double apply(const firn_schedule_instruction *instruction, double t, double a, double b, double c) {
    switch (instruction->operation) {
    case FIRN_SCHEDULE_NUMBER:
        return instruction->value;
    case FIRN_SCHEDULE_STEP:
        return t;
    case FIRN_SCHEDULE_ADD:
        return a + b;
    case FIRN_SCHEDULE_SUBTRACT:
        return a - b;
    case FIRN_SCHEDULE_MULTIPLY:
        return a * b;
    case FIRN_SCHEDULE_DIVIDE:
        return a / b;
    case FIRN_SCHEDULE_NEGATE:
        return -a;
    case FIRN_SCHEDULE_POWER:
        return firn_schedule_power(a, b);
    case FIRN_SCHEDULE_MINIMUM:
        return a < b ? a : b;
    case FIRN_SCHEDULE_MAXIMUM:
        return a > b ? a : b;
    case FIRN_SCHEDULE_LESS:
        return a < b ? 1.0 : 0.0;
    case FIRN_SCHEDULE_LESS_OR_EQUAL:
        return a <= b ? 1.0 : 0.0;
    case FIRN_SCHEDULE_GREATER:
        return a > b ? 1.0 : 0.0;
    case FIRN_SCHEDULE_GREATER_OR_EQUAL:
        return a >= b ? 1.0 : 0.0;
    case FIRN_SCHEDULE_WHERE:
        return a != 0.0 ? b : c;
    case FIRN_SCHEDULE_EXP:
        return firn_schedule_exp(a);
    case FIRN_SCHEDULE_LOG:
        return firn_schedule_log(a);
    case FIRN_SCHEDULE_SQUARE_ROOT:
        return firn_schedule_square_root(a);
    case FIRN_SCHEDULE_SINE:
        return firn_schedule_sine(a);
    case FIRN_SCHEDULE_COSINE_OF:
        return firn_schedule_cosine(a);
    default:
        return firn_schedule_floor(a);
    }
}

double firn_schedule_expression(const firn_schedule_instruction *list, uint64_t count, uint64_t step) {
    double stack[FIRN_SCHEDULE_STACK + 3] = {0}; /* 3 more, because apply is always passed three operands */
    uint32_t held = 0;
    for (uint64_t i = 0; i < count; i++) {
        held -= firn_schedule_operands(list[i].operation);
        double *operands = &stack[held++];
        operands[0] = apply(&list[i], (double)step, operands[0], operands[1], operands[2]);
    }
    return stack[0];
}
