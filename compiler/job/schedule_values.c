/* Checks of the schedules of a job against the length of its run: values that are no rate, schedules that go on behind
 * their end, and parts that the run never reaches (firnc_job_schedule_values in compiler/job/job.h). */
#include "compiler/job/job.h"

#define SAMPLED_MAX   (UINT64_C(1) << 20)
#define FARTHEST_STEP (UINT64_C(1) << 62) /* no counter of a plan begins further on */
#define ZEROS_MAX     1                   /* steps with a rate of 0 at the end of a run that nobody is told of */

firn_schedule_list firnc_job_schedules(const firnc_job *job) {
    return (firn_schedule_list){.nodes = job->schedule.nodes,
                                .numbers = job->schedule.numbers,
                                .instructions = job->schedule.instructions,
                                .node_count = job->schedule.count,
                                .number_count = job->schedule.number_count,
                                .instruction_count = job->schedule.instruction_count};
}

typedef struct work {
    const firnc_job *job;
    const firnc_place *place; /* of messages about schedules without a source */
    firnc_schedule_note note;
    void *context;
    uint64_t steps;   /* of the run; UINT64_MAX: without an end */
    const char *twin; /* the end of the names of classes: "LR" or "WD" */
} work;

/* The source of a node; NULL if no recipe is there or the node was added below one that has a source. */
static const firnc_schedule_source *source_of(const firnc_job *job, uint32_t node) {
    const firnc_schedule_source *sources = job->schedule.sources;
    return sources != NULL && sources[node].class_name != NULL ? &sources[node] : NULL;
}

/* "OneCycleLR" of a recipe; of a program, the kind of the node. */
static const char *class_of(const work *w, uint32_t node) {
    const firnc_schedule_source *source = source_of(w->job, node);
    return source != NULL ? source->class_name : firn_schedule_name(w->job->schedule.nodes[node].kind);
}

static void tell(const work *w, const firnc_schedule_source *source, const char *what, const char *reason) {
    if (w->note != NULL)
        w->note(w->context, source, what, reason);
    else if (w->job->schedule.sources == NULL) /* a recipe's reader has told it */
        firnc_job_warn(w->job, NULL, "%s: %s", what, reason);
}

/* "the run has num_steps 40" */
static const char *run_text(const work *w) {
    return w->job->endless ? "the run has no end"
                           : firnc_format("the run has num_steps %llu", (unsigned long long)w->steps);
}

/* --- ends --------------------------------------------------------------------------------------------------------- */

/* A OneCycleLR is made for a run of its own length: behind its end the formula goes on without a meaning. */
static bool check_one_cycle(const work *w, uint32_t node, uint64_t begin, uint64_t steps) {
    const uint64_t total = w->job->schedule.nodes[node].total;
    const firnc_schedule_source *source = source_of(w->job, node);
    const char *class_name = class_of(w, node);
    if (steps < total)
        tell(w, source, firnc_format("%s is cut off", class_name),
             firnc_format("it has total_steps %llu, and %s%s; write total_steps: %llu, or make the run longer",
                          (unsigned long long)total, run_text(w),
                          begin > 0 ? firnc_format(", of which %llu are left to it", (unsigned long long)steps) : "",
                          (unsigned long long)steps));
    if (steps <= total)
        return true;
    const char *mend =
        w->job->endless ? "give the run an end" : firnc_format("write total_steps: %llu", (unsigned long long)steps);
    return firnc_job_fail(w->job, source != NULL ? &source->place : w->place,
                          "%s has an end, total_steps %llu%s, and %s; behind its end the formula goes on without a "
                          "meaning: %s, or put another schedule behind it by Sequential%s",
                          class_name, (unsigned long long)total,
                          begin > 0 ? firnc_format(" from step %llu on", (unsigned long long)begin) : "", run_text(w),
                          mend, w->twin);
}

static void tell_turn(const work *w, uint32_t node, uint64_t steps) {
    const uint64_t half = w->job->schedule.nodes[node].total;
    if (steps - 1 > half)
        tell(w, source_of(w->job, node), firnc_format("%s rises again", class_of(w, node)),
             firnc_format("from its minimum at T_max %llu on it goes back to where it began, and %s; write a larger "
                          "T_max, or CosineDecay%s, which stays at its end",
                          (unsigned long long)half, run_text(w), w->twin));
}

/* The last milestone of a node; 0 if it has none. */
static uint64_t last_milestone(const firnc_schedules *s, const firn_schedule_node *n) {
    const bool has_milestones = n->kind == FIRN_SCHEDULE_MULTI_STEP || n->kind == FIRN_SCHEDULE_PIECEWISE;
    return n->total == 0 || !has_milestones ? 0 : (uint64_t)s->numbers[n->auxiliary + n->total - 1];
}

/* Tells of a schedule whose peak, step or milestone lies behind the steps that it is used for. */
static void tell_unreached(const work *w, uint32_t node, uint64_t steps) {
    const firn_schedule_node *n = &w->job->schedule.nodes[node];
    const bool rises = n->final > n->initial, stairs = n->mode == FIRN_SCHEDULE_STAIRCASE;
    const uint64_t end = n->total, milestone = last_milestone(&w->job->schedule, n);
    const struct {
        bool is_unreached;
        const char *what;
        uint64_t step;
    } cases[FIRN_SCHEDULE_KINDS] = {
        [FIRN_SCHEDULE_LINEAR] = {rises && end > steps, "end, total_iters", end},
        [FIRN_SCHEDULE_CYCLIC] = {rises && end > steps, "peak, step_size_up", end},
        [FIRN_SCHEDULE_EXPONENTIAL] = {stairs && end >= steps, "first fall, step_size or total_iters", end},
        [FIRN_SCHEDULE_INVERSE_SQUARE_ROOT] = {end >= steps, "fall, warmup_steps", end},
        [FIRN_SCHEDULE_MULTI_STEP] = {milestone >= steps, "milestone", milestone},
        [FIRN_SCHEDULE_PIECEWISE] = {milestone >= steps, "milestone", milestone},
    };
    if (cases[n->kind].is_unreached)
        tell(w, source_of(w->job, node),
             firnc_format("%s never reaches its %s %llu", class_of(w, node), cases[n->kind].what,
                          (unsigned long long)cases[n->kind].step),
             firnc_format("%s; change one of the two", run_text(w)));
}

/* Tells of a schedule that falls to an end which the run does not reach, because a run that was shortened ends with a
 * rate that its author has not meant. A schedule behind it may cut it off on purpose. */
static void tell_cut(const work *w, uint32_t node, uint64_t begin, uint64_t end) {
    const firn_schedule_node *n = &w->job->schedule.nodes[node];
    const bool falls = n->final < n->initial && (n->kind == FIRN_SCHEDULE_LINEAR || n->kind == FIRN_SCHEDULE_COSINE ||
                                                 n->kind == FIRN_SCHEDULE_POLYNOMIAL);
    if (!falls || w->job->endless || end != w->steps || n->total <= end - begin)
        return;
    tell(w, source_of(w->job, node), firnc_format("%s is cut off", class_of(w, node)),
         firnc_format("it ends at step %llu, and %s; if it is to end with the run, write total_iters: %llu",
                      (unsigned long long)begin + n->total, run_text(w), (unsigned long long)end - begin));
}

/* Checks a node that is used from `begin` on, for the steps to `end`. */
static bool check_end(const work *w, uint32_t node, uint64_t begin, uint64_t end) {
    const firnc_schedules *s = &w->job->schedule;
    const firn_schedule_node *n = &s->nodes[node];
    if (begin >= end) {
        tell(w, source_of(w->job, node), firnc_format("%s is never reached", class_of(w, node)),
             firnc_format("it begins at step %llu, and %s; make the run longer, or the schedules before it shorter",
                          (unsigned long long)begin, run_text(w)));
        return true;
    }
    if (n->kind == FIRN_SCHEDULE_ONE_CYCLE)
        return check_one_cycle(w, node, begin, end - begin);
    if (n->kind == FIRN_SCHEDULE_COSINE_PERIODIC && n->mode != FIRN_SCHEDULE_RESTART)
        tell_turn(w, node, end - begin);
    tell_unreached(w, node, end - begin);
    tell_cut(w, node, begin, end);
    for (uint32_t i = 0; i < n->child_count; i++) {
        const uint32_t child = n->first_child + i;
        uint64_t last = end;
        if (n->kind == FIRN_SCHEDULE_SEQUENTIAL && i + 1 < n->child_count && begin + s->nodes[child + 1].start < end)
            last = begin + s->nodes[child + 1].start;
        if (!check_end(w, child, begin + s->nodes[child].start, last))
            return false;
    }
    return true;
}

/* Returns the step at which a node that begins at `begin` reaches its end; 0: it has none. Recursive, as trees are at
 * most FIRN_SCHEDULE_DEPTH deep. */
static uint64_t end_of(const firnc_schedules *s, uint32_t node, uint64_t begin) {
    const firn_schedule_node *n = &s->nodes[node];
    const bool ends = n->kind == FIRN_SCHEDULE_LINEAR || n->kind == FIRN_SCHEDULE_COSINE ||
                      n->kind == FIRN_SCHEDULE_POLYNOMIAL || n->kind == FIRN_SCHEDULE_ONE_CYCLE;
    uint64_t end = begin; /* a schedule of a list is meant to begin */
    if (ends && n->initial != n->final)
        end = begin + n->total;
    else if (last_milestone(s, n) != 0)
        end = begin + last_milestone(s, n) + 1;
    for (uint32_t i = 0; i < n->child_count; i++) {
        const uint32_t child = n->first_child + i;
        const uint64_t last = end_of(s, child, begin + s->nodes[child].start);
        const bool cut = n->kind == FIRN_SCHEDULE_SEQUENTIAL && i + 1 < n->child_count; /* by the next of the list */
        end = !cut && last > end ? last : end;
    }
    return end;
}

uint64_t firnc_job_schedule_end(const firnc_job *job) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < job->schedule.root_count; i++) {
        const uint64_t last = end_of(&job->schedule, job->schedule.roots[i].node, 0);
        end = last > end ? last : end;
    }
    return end;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* The place of the schedule that gives the value of a root at a step. */
static const firnc_place *place_at(const work *w, uint32_t node, uint64_t step) {
    const firnc_schedules *s = &w->job->schedule;
    while (s->nodes[node].kind == FIRN_SCHEDULE_SEQUENTIAL) {
        const firn_schedule_node *n = &s->nodes[node];
        uint32_t child = n->first_child;
        while (child + 1u < (uint32_t)n->first_child + n->child_count && s->nodes[child + 1].start <= step)
            child++;
        step -= s->nodes[child].start;
        node = child;
    }
    const firnc_schedule_source *source = source_of(w->job, node);
    return source != NULL ? &source->place : w->place;
}

typedef struct tail {
    uint64_t first_zero, zeros; /* the first step of those at the end whose value is 0; how many were sampled */
    bool any;                   /* a value is not 0 */
    bool lost;                  /* a value is 0 in float32 only */
} tail;

static bool check_value(const work *w, const firnc_schedule_root *root, uint64_t step, tail *seen) {
    const firn_schedule_list list = firnc_job_schedules(w->job);
    const float value = firn_schedule_value(&list, root->node, step);
    if (!(value >= 0 && value - value == 0))
        return firnc_job_fail(
            w->job, place_at(w, root->node, step), "%s is %.9g at step %llu; mend its schedule, or %s", root->name,
            (double)value, (unsigned long long)step, w->job->endless ? "give the run an end" : "make the run shorter");
    if (value == 0) {
        seen->first_zero = seen->zeros == 0 ? step : seen->first_zero;
        seen->zeros++;
        seen->lost = seen->lost || firn_schedule_exact(&list, root->node, step) != 0;
    } else {
        seen->zeros = 0;
        seen->any = true;
    }
    return true;
}

/* Returns whether a root is the run's only learning rate. A rate of 0 beside others freezes its group on purpose. */
static bool is_only_rate(const work *w, const firnc_schedule_root *root) {
    uint32_t rates = 0;
    for (uint32_t i = 0; i < w->job->schedule.root_count; i++)
        rates += w->job->schedule.roots[i].weight_decay ? 0 : 1;
    return !root->weight_decay && rates == 1;
}

/* A rate that float32 makes 0 throughout is refused. One that is 0 from a step on, or the only one and 0 throughout, is
 * told. */
static bool check_zeros(const work *w, const firnc_schedule_root *root, const tail *seen) {
    const firn_schedule_list list = firnc_job_schedules(w->job);
    if (!seen->any && seen->lost)
        return firnc_job_fail(w->job, place_at(w, root->node, 0),
                              "%s is %s at step 0, which float32 makes 0, as at every other step; write larger numbers",
                              root->name, firnc_format("%.3g", firn_schedule_exact(&list, root->node, 0)));
    if (!seen->any && seen->zeros > 0 && is_only_rate(w, root) && w->job->optimizer.kind != FIRNC_RPROP)
        tell(w, source_of(w->job, root->node), firnc_format("%s is 0 at every step", root->name),
             "nothing is trained; write a rate above 0");
    if (seen->any && seen->zeros > ZEROS_MAX && !root->weight_decay && w->job->optimizer.kind != FIRNC_RPROP)
        tell(w, source_of(w->job, root->node),
             firnc_format("%s is 0 from step %llu on", root->name, (unsigned long long)seen->first_zero),
             firnc_format("%s, and those steps train nothing; make the schedule longer, or the run shorter",
                          run_text(w)));
    return true;
}

bool firnc_job_schedule_values(const firnc_job *job, const firnc_place *place, firnc_schedule_note note,
                               void *context) {
    if (job->mode != FIRNC_TRAIN)
        return true;
    work w = {job, place, note, context, job->endless ? UINT64_MAX : job->steps, "LR"};
    const uint64_t last = job->endless ? SAMPLED_MAX : job->steps;
    const uint64_t stride = job->endless ? 1 : job->steps / SAMPLED_MAX + 1;
    for (uint32_t i = 0; i < job->schedule.root_count; i++) {
        const firnc_schedule_root *root = &job->schedule.roots[i];
        tail seen = {0};
        w.twin = root->weight_decay ? "WD" : "LR";
        if (!check_end(&w, root->node, 0, w.steps))
            return false;
        for (uint64_t step = 0; step < last; step += stride)
            if (!check_value(&w, root, step, &seen))
                return false;
        for (uint64_t step = SAMPLED_MAX; job->endless && step <= FARTHEST_STEP; step *= 2)
            if (!check_value(&w, root, step, &seen))
                return false;
        if (!check_zeros(&w, root, &seen))
            return false;
    }
    return true;
}
