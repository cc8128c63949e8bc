/* The schedules of a verified plan, in place, in the form that schedules/ evaluates. Nothing is copied or checked. */
#ifndef FIRN_PLAN_SCHEDULE_LIST_H
#define FIRN_PLAN_SCHEDULE_LIST_H

#include "plan/generated/reader.h"
#include "schedules/schedule.h"

/* The lists without their lengths, which only a check reads. */
static inline firn_schedule_list firn_plan_checked_schedules(firn_fb_plan plan) {
    return (firn_schedule_list){
        .nodes = (const firn_schedule_node *)(const void *)firn_fb_plan_schedule_nodes_data(plan),
        .numbers = (const double *)(const void *)firn_fb_plan_schedule_numbers_data(plan),
        .instructions = (const firn_schedule_instruction *)(const void *)firn_fb_plan_schedule_instructions_data(plan)};
}

static inline firn_schedule_list firn_plan_schedule_list(firn_fb_plan plan) {
    firn_schedule_list list = firn_plan_checked_schedules(plan);
    list.node_count = firn_fb_plan_schedule_nodes_count(plan);
    list.number_count = firn_fb_plan_schedule_numbers_count(plan);
    list.instruction_count = firn_fb_plan_schedule_instructions_count(plan);
    return list;
}

#endif
