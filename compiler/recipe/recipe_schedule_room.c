/* Appends nodes, numbers and instructions of schedules to the job's lists within their limits, and defines the keys
 * that every class of schedule accepts. recipe_schedule.c and recipe_schedule_leaves.c, which use this file, define
 * what a class means. */
#include "compiler/recipe/recipe_schedule_parts.h"

#define NUMBERS_MAX 65536

bool firnc_schedule_add_nodes(const firnc_schedule_reader *r, const firnc_tree *at, uint32_t count, uint32_t *first) {
    if (count > FIRNC_NODES_MAX - r->job->schedule.count)
        return firnc_tree_fail(at, "more than %d schedules; leave some out", FIRNC_NODES_MAX);
    *first = r->job->schedule.count;
    r->job->schedule.count += count;
    return true;
}

bool firnc_schedule_add_number(const firnc_schedule_reader *r, const firnc_tree *at, double value) {
    firnc_job *job = r->job;
    if (job->schedule.number_count == NUMBERS_MAX)
        return firnc_tree_fail(at, "the schedules hold more than %d numbers; make the lists shorter", NUMBERS_MAX);
    job->schedule.numbers = firnc_grown(job->schedule.numbers, job->schedule.number_count,
                                        &job->schedule.number_capacity, sizeof *job->schedule.numbers);
    job->schedule.numbers[job->schedule.number_count++] = value;
    return true;
}

bool firnc_schedule_add_instruction(const firnc_schedule_reader *r, const firnc_tree *at, uint16_t operation,
                                    double value) {
    firnc_job *job = r->job;
    if (job->schedule.instruction_count == NUMBERS_MAX)
        return firnc_tree_fail(at, "the schedules hold more than %d operations; write tables instead", NUMBERS_MAX);
    job->schedule.instructions = firnc_grown(job->schedule.instructions, job->schedule.instruction_count,
                                             &job->schedule.instruction_capacity, sizeof *job->schedule.instructions);
    job->schedule.instructions[job->schedule.instruction_count++] =
        (firn_schedule_instruction){.operation = operation, .value = value};
    return true;
}

uint32_t firnc_schedule_common_fields(firnc_field *fields, const firnc_schedule_reader *r) {
    uint32_t count = 0;
    fields[count++] = r->depth == 0 ? (firnc_field){"param_group_tags", .kind = FIRNC_FIELD_OTHER}
                                    : (firnc_field){"param_group_tags", .kind = FIRNC_FIELD_REFUSED,
                                                    .only = "put it into the outermost schedule"};
    if (r->named)
        fields[count++] = (firnc_field){"scheduler", .kind = FIRNC_FIELD_OTHER};
    if (r->named && r->older && r->depth <= 1) /* it applies to the list around the entry */
        fields[count++] = (firnc_field){"main_scheduler", .kind = FIRNC_FIELD_OTHER};
    return count;
}

bool firnc_schedule_steps(const firnc_tree *node, double low, uint64_t *value) {
    const firnc_field steps = {.kind = FIRNC_FIELD_LONG, .low = low, .high = FIRNC_STEPS_MAX};
    return firnc_field_whole(node, &steps, value);
}
