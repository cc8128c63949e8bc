/* Evaluates trees of schedules with an explicit stack; the values of nodes are in schedule_kinds.c. A value depends
 * only on the list and the step. Freestanding: binary64 with * and /. */
#include "schedules/parts.h"

/* A product on the stack: the range of its children that remain, and the step at which they are evaluated. */
typedef struct frame {
    uint32_t next, end;
    uint64_t t;
} frame;

/* The last child that has started. */
static uint32_t child_at(const firn_schedule_list *list, const firn_schedule_node *parent, uint64_t t) {
    uint32_t child = parent->first_child;
    for (uint32_t i = 1; i < parent->child_count && list->nodes[child + 1].start <= t; i++)
        child++;
    return child;
}

double firn_schedule_exact(const firn_schedule_list *list, uint32_t root, uint64_t step) {
    frame stack[FIRN_SCHEDULE_DEPTH];
    double value = 1.0;
    uint32_t depth = 1;
    stack[0] = (frame){root, root + 1, step};
    while (depth > 0) {
        frame *top = &stack[depth - 1];
        if (top->next == top->end) {
            depth--;
            continue;
        }
        const firn_schedule_node *node = &list->nodes[top->next++];
        uint64_t t = top->t;
        while (node->kind == FIRN_SCHEDULE_SEQUENTIAL) {
            node = &list->nodes[child_at(list, node, t)];
            t -= node->start;
        }
        if (node->kind == FIRN_SCHEDULE_PRODUCT) {
            value = value * node->initial / node->final;
            stack[depth++] = (frame){node->first_child, (uint32_t)node->first_child + node->child_count, t};
        } else {
            value =
                value * (node->kind == FIRN_SCHEDULE_CONSTANT ? node->initial
                                                              : firn_schedule_parts[node->kind]->value(list, node, t));
        }
    }
    return value;
}

float firn_schedule_rounded(const firn_schedule_list *list, uint32_t root, uint64_t step) {
    float value = (float)firn_schedule_exact(list, root, step);
    return value == value ? value : __builtin_nanf("");
}
