/* Expressions of the step, into which lambdas of a recipe are frozen: short lists of instructions for a stack machine.
 * There are no jumps, so the length of a list bounds its time. Freestanding. */
#ifndef FIRN_SCHEDULE_EXPRESSION_H
#define FIRN_SCHEDULE_EXPRESSION_H

#include "schedules/schedule.h"

/* Whether all operations are known, no operation lacks an operand, the stack never exceeds FIRN_SCHEDULE_STACK values,
 * and exactly one value is left. The caller checks the values of the instructions. */
bool firn_schedule_expression_check(const firn_schedule_instruction *list, uint64_t count);

/* The value of a checked expression at a step. */
double firn_schedule_expression(const firn_schedule_instruction *list, uint64_t count, uint64_t step);

/* The number of operands that an operation takes. */
uint32_t firn_schedule_operands(uint16_t operation);

#endif
