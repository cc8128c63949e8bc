/* firnc schedule: prints or draws learning rates and weight decays as the runtime will use them, from a recipe or a
 * plan. They
 * are functions of the optimizer step. A global step whose gradient is not finite is not an optimizer step, so the next
 * global step uses the same rate. Nine digits distinguish every float32 from its neighbours. */
#include <stdio.h>
#include <string.h>

#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/commands/report_read.h"
#include "compiler/emit/plan_file.h"
#include "compiler/recipe/recipe.h"
#include "compiler/studies/chart.h"
#include "plan/errors.h"
#include "plan/schedule_list.h"

/* Checked schedules; each becomes one column of the CSV. */
typedef struct schedules {
    firn_schedule_list list;
    firnc_schedule_root roots[FIRNC_SCHEDULES_MAX];
    uint32_t count;
    uint64_t steps; /* optimizer steps of the run */
} schedules;

/* Reads "A:B", the steps from A up to but not including B. Either may be left out and then keeps its value. */
static bool read_steps(const char *text, uint64_t *from, uint64_t *to) {
    const uint64_t most = (uint64_t)FIRNC_STEPS_MAX;
    const char *colon = strchr(text, ':');
    if (colon == NULL)
        return false;
    const char *first = firnc_format("%.*s", (int)(colon - text), text);
    return (first[0] == '\0' || firn_number_read(first, most, from)) &&
           (colon[1] == '\0' || firn_number_read(colon + 1, most, to));
}

static bool from_recipe(const char *name, const char *statistics, const firnc_texts *settings, schedules *s) {
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    recipe->statistics = statistics;
    if (!firnc_recipe_read(recipe, name, FIRNC_TRAIN, settings->text, settings->count))
        return false;
    firnc_recipe_warn_of_statistics(recipe, name);
    s->list = firnc_job_schedules(&recipe->job);
    memcpy(s->roots, recipe->job.schedule.roots, sizeof s->roots);
    s->count = recipe->job.schedule.root_count;
    s->steps = recipe->job.steps;
    return true;
}

/* Reads the schedules of a plan that passes all checks except the signature, which is not needed because nothing is
 * run. Returns the exit code. */
static int from_plan(const char *name, const firnc_bytes *file, schedules *s) {
    firnc_plan_file checked;
    int error = firnc_plan_check(file, NULL, 0, &checked);
    if (error != FIRN_OK) {
        firnc_plan_refuse(name, file, error);
        return FIRNC_EXIT_REFUSED;
    }
    if (firn_fb_plan_schedules_count(checked.plan) == 0) {
        firnc_say("firnc: %s: has no schedule, as it is for %s; give a plan to train", name,
                  checked.header.mode == FIRN_MODE_EVAL ? "evaluation" : "training");
        return FIRNC_EXIT_WRONG;
    }
    s->list = firn_plan_schedule_list(checked.plan);
    s->count = firn_fb_plan_schedules_count(checked.plan);
    cJSON *report = firnc_report_of(file, &checked.header);
    for (uint32_t i = 0; i < s->count; i++) {
        const char *name_said = firnc_report_name(report, "schedules", i);
        s->roots[i] = (firnc_schedule_root){.name = name_said != NULL ? firnc_printable(name_said)
                                                                      : firnc_format("schedule_%u", i),
                                            .node = firn_fb_schedule_root(firn_fb_plan_schedules_at(checked.plan, i))};
    }
    cJSON_Delete(report);
    s->steps = firn_fb_plan_steps(checked.plan);
    return FIRNC_EXIT_OK;
}

static void print_values(const schedules *s, uint64_t from, uint64_t to) {
    printf("optimizer_step");
    for (uint32_t i = 0; i < s->count; i++)
        printf(",%s", s->roots[i].name);
    printf("\n");
    for (uint64_t step = from; step < to; step++) {
        printf("%llu", (unsigned long long)step);
        for (uint32_t i = 0; i < s->count; i++)
            printf(",%.9g", (double)firn_schedule_value(&s->list, s->roots[i].node, step));
        printf("\n");
    }
}

/* --- the drawing -------------------------------------------------------------------------------------------------- */

enum { DRAWN_STEPS = 4096 }; /* of more steps this many are drawn, evenly spaced, with the first and the last */

/* Step number `i` of `count` that are drawn of the steps from `from` to `to` - 1. */
static uint64_t drawn_step(uint64_t from, uint64_t to, uint64_t i, uint64_t count) {
    const uint64_t most = count - 1, span = to - from - 1;
    return most == 0 ? from : from + span / most * i + span % most * i / most;
}

static firn_chart_curve curve_of(const schedules *s, uint32_t root, uint64_t from, uint64_t to) {
    const uint64_t count = to - from < DRAWN_STEPS ? to - from : DRAWN_STEPS;
    double *steps = firnc_allocate(count * sizeof *steps), *values = firnc_allocate(count * sizeof *values);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t step = drawn_step(from, to, i, count);
        steps[i] = (double)step;
        values[i] = (double)firn_schedule_value(&s->list, s->roots[root].node, step);
    }
    return (firn_chart_curve){.name = s->roots[root].name, .x = steps, .y = values, .count = count, .style = root};
}

/* Rates and decays have panels of their own, because their scales have nothing to do with each other. */
static bool draw_values(const schedules *s, const char *file, uint64_t from, uint64_t to) {
    static const char *const titles[] = {"learning rate", "weight decay"};
    static const char *const axes[] = {"learning rate, of one update", "weight decay, of one update"};
    firn_chart_curve curves[2][FIRNC_SCHEDULES_MAX];
    firn_chart_panel panels[2];
    uint32_t counts[2] = {0}, made = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const bool decays = strncmp(s->roots[i].name, "weight_decay", strlen("weight_decay")) == 0;
        curves[decays][counts[decays]++] = curve_of(s, i, from, to);
    }
    for (uint32_t kind = 0; kind < 2; kind++)
        if (counts[kind] > 0)
            panels[made++] = (firn_chart_panel){
                .title = titles[kind], .axis = axes[kind], .curves = curves[kind], .count = counts[kind]};
    return firnc_chart_write(file, "schedules of the run, as the plan computes them", "optimizer step", panels, made);
}

typedef struct request {
    const char *name, *steps, *statistics, *plot;
    firnc_texts settings;
} request;

static const firn_option options[] = {
    {.name = "--range",
     .old = "--steps",
     .value = "A:B",
     .text = "the optimizer steps A to B - 1; default: all of the run",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(request, steps)},
    {.name = "--set",
     .value = "a.b=VALUE",
     .text = "change a key of the recipe; may be given again",
     .kind = FIRN_OPTION_LIST,
     .place = offsetof(request, settings.text),
     .count = offsetof(request, settings.count),
     .most = FIRNC_TEXTS_MAX,
     .mend = "put the values into the recipe"},
    {.name = "--statistics",
     .value = "FILE",
     .text = FIRNC_STATISTICS_TEXT,
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, statistics)},
    {.name = "--plot",
     .value = "FILE",
     .text = "draw the values as SVG into FILE, and print none; - is standard output",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_STREAM,
     .place = offsetof(request, plot)},
};

static int schedule_command(int argc, char **argv) {
    request r = {0};
    if (!firnc_options_read(argc, argv, &firnc_command_schedule, &r))
        return FIRNC_EXIT_USAGE;
    if ((r.plot == NULL || strcmp(r.plot, "-") == 0) && !firnc_has_output())
        return FIRNC_EXIT_WRONG;
    uint64_t from = 0, to = 0;
    if (r.steps != NULL && !read_steps(r.steps, &from, &to))
        return firnc_usage("schedule",
                           "--range: %s is not a range of steps up to %.0f; write 0:100 for the first hundred", r.steps,
                           FIRNC_STEPS_MAX);
    if (r.plot != NULL && firn_chart_is_misnamed(r.plot))
        return firnc_usage("schedule", "--plot: %s is no name of SVG, which is drawn; end it in .svg", r.plot);
    firnc_bytes file;
    schedules *s = firnc_allocate(sizeof *s);
    if (!firnc_plan_read(r.name, &file))
        return FIRNC_EXIT_WRONG;
    if (firn_is_plan(file.data, file.count) && r.settings.count > 0)
        return firnc_usage("schedule", "--set: a plan is frozen; give its recipe");
    if (firn_is_plan(file.data, file.count) && r.statistics != NULL)
        return firnc_usage("schedule", "--statistics: a plan is frozen and has its own; leave it out");
    int status = firn_is_plan(file.data, file.count)                 ? from_plan(r.name, &file, s)
                 : from_recipe(r.name, r.statistics, &r.settings, s) ? FIRNC_EXIT_OK
                                                                     : FIRNC_EXIT_WRONG;
    if (status != FIRNC_EXIT_OK)
        return status;
    const bool to_the_end = r.steps == NULL || strchr(r.steps, ':')[1] == '\0';
    if (to_the_end && s->steps == 0)
        return firnc_usage("schedule", "--range: the run has no end; write 0:100 for the first hundred steps");
    if (to_the_end)
        to = s->steps;
    if (from > to)
        return firnc_usage("schedule", "--range: step %llu comes after the end, %llu; write a smaller first number",
                           (unsigned long long)from, (unsigned long long)to);
    if (s->steps != 0 && to > s->steps)
        firnc_say("firnc: %s: warning: --range: the run has %llu steps; the values of later ones are never used",
                  r.name, (unsigned long long)s->steps);
    if (r.plot != NULL && from == to)
        return firnc_usage("schedule", "--plot: there is no step to draw; give --range a larger second number");
    if (r.plot != NULL)
        return draw_values(s, r.plot, from, to) ? FIRNC_EXIT_OK : FIRNC_EXIT_WRONG;
    print_values(s, from, to);
    return FIRNC_EXIT_OK;
}

const firnc_command firnc_command_schedule = {
    .words = {.name = "schedule",
              .group = "Plans",
              .summary = "print or draw learning rates and weight decays",
              .forms = {"RECIPE|PLAN [options]"},
              .text = "print the learning rate and weight decay of each optimizer step as CSV, or draw them",
              .examples = {{"firnc schedule recipe.yaml --range 0:10",
                            "print the learning rates of the first ten steps"},
                           {"firnc schedule plans/train.plan --plot rates.svg", "draw those of the whole run"}},
              .operand = {.value = "RECIPE|PLAN",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(request, name),
                          .least = 1},
              .tables = {{options, sizeof options / sizeof options[0]}}},
    .run = schedule_command,
};
