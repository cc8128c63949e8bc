/* Expressions of the step: short lists of instructions for a stack of numbers, as a recipe's lambda is frozen into.
 * Every list is a straight line: no jumps, so its length bounds its time. Freestanding. */
#ifndef FIRN_SCHEDULE_EXPRESSION_H
#define FIRN_SCHEDULE_EXPRESSION_H

#include "schedules/schedule.h"

/* Whether the operations are known, never lack an operand, never need more than FIRN_SCHEDULE_STACK numbers and leave
 * exactly one. Numbers are checked by the caller's rules for numbers. */
bool firn_schedule_expression_check(const firn_schedule_instruction *list, uint64_t count);

/* The value of a checked expression. */
double firn_schedule_expression(const firn_schedule_instruction *list, uint64_t count, uint64_t step);

/* Operands that an operation takes. */
uint32_t firn_schedule_operands(uint16_t operation);

#endif
