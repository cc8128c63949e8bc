/* firnc check (compiler/commands/check.h): the screen of firnc inspect about each plan that would be made, and what
 * only the compiler or a person before the run asks: the names of what is decayed, where the schedules end, which
 * boards have the memory, how many warnings there were. */
#include "compiler/commands/check.h"

#include <stdio.h>
#include <string.h>

#include "compiler/base/words.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/inspect/report.h"
#include "compiler/emit/plan_file.h"
#include "compiler/firmware/board.h"
#include "plan/bytes.h"
#include "runtime/firn.h"

/* A plan that would be made. */
typedef struct checked_plan {
    const char *form;
    const firnc_job *job;
    firnc_report report;
} checked_plan;

struct firnc_check {
    const char *recipe;
    const char **messages;
    checked_plan *plans;
    uint32_t message_count, message_capacity, plan_count, plan_capacity;
};

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* The line with the name of this command, if it begins with that of the command whose options these are. */
static const char *renamed(const char *line) {
    static const char other[] = "firnc compile: ";
    const size_t length = sizeof other - 1;
    return firnc_format("%s%s", strncmp(line, other, length) == 0 ? "firnc check: " : "",
                        strncmp(line, other, length) == 0 ? line + length : line);
}

static void take_message(void *context, const char *line) {
    firnc_check *check = context;
    const char *message = renamed(line);
    for (uint32_t i = 0; i < check->message_count; i++)
        if (strcmp(check->messages[i], message) == 0)
            return;
    check->messages =
        firnc_grown(check->messages, check->message_count, &check->message_capacity, sizeof *check->messages);
    check->messages[check->message_count++] = message;
    fprintf(stderr, "%s\n", message);
}

firnc_check *firnc_check_begin(const char *recipe) {
    firnc_check *check = firnc_allocate(sizeof *check);
    check->recipe = recipe;
    firnc_messages_to(take_message, check);
    return check;
}

bool firnc_check_add(firnc_check *check, const char *form, const firnc_job *job, const firnc_bytes *file) {
    check->plans = firnc_grown(check->plans, check->plan_count, &check->plan_capacity, sizeof *check->plans);
    checked_plan *plan = &check->plans[check->plan_count];
    *plan = (checked_plan){.form = form, .job = job};
    const int error = firnc_report_make(&plan->report, check->recipe, file);
    if (error != FIRN_OK) {
        firnc_plan_refuse(check->recipe, file, error);
        return false;
    }
    check->plan_count++;
    return true;
}

/* --- boards ------------------------------------------------------------------------------------------------------- */

/* Bytes that a plan takes of a board: of RAM its blocks, of flash the plan without its report and a micro-batch of
 * data.
 */
typedef struct demand {
    uint64_t ram, flash;
} demand;

static demand demand_of(const firnc_report *report) {
    const firn_header *header = &report->header;
    const uint64_t arena = report->arena_block_bytes - report->arena_bytes; /* that the check needs beyond the plan */
    demand needs = {.ram = arena, .flash = header->total_bytes - header->report_bytes + report->summary.least_bytes};
    for (uint32_t i = 0; i < header->region_count; i++)
        if (!firn_region_is_constant(header->region_kinds[i]))
            needs.ram += firn_round_up(header->region_bytes[i], FIRN_BLOCK_ALIGNMENT);
    return needs;
}

/* Calls `use` for each board of firnc export --firmware. False after one message. */
static bool for_each_board(const firnc_report *report,
                           void (*use)(void *context, const firnc_board *board, demand needs), void *context) {
    firnc_archive archive;
    firnc_board board;
    if (!firnc_archive_open(&archive))
        return false;
    for (const char *words = firnc_board_targets(&archive), *name; *(name = firnc_next_word(&words)) != '\0';)
        if (firnc_board_find(&archive, name, &board))
            use(context, &board, demand_of(report));
    return true;
}

static bool fits(const firnc_board *board, demand needs) {
    return needs.ram <= board->blocks.bytes && needs.flash <= board->plan.bytes;
}

static void print_board(void *context, const firnc_board *board, demand needs) {
    (void)context;
    const char *why = "fits";
    if (needs.ram > board->blocks.bytes)
        why = firnc_format("does not fit: %s bytes of RAM, and it has %s", firnc_grouped(needs.ram),
                           firnc_grouped(board->blocks.bytes));
    else if (needs.flash > board->plan.bytes)
        why = firnc_format("does not fit: %s bytes of flash with one micro-batch of data, and it has %s",
                           firnc_grouped(needs.flash), firnc_grouped(board->plan.bytes));
    printf("%-12s%-12s %s\n", "", board->target, why);
}

static void add_board(void *context, const firnc_board *board, demand needs) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(context, object);
    cJSON_AddStringToObject(object, "target", board->target);
    cJSON_AddNumberToObject(object, "ram_bytes", (double)needs.ram);
    cJSON_AddNumberToObject(object, "ram_there", (double)board->blocks.bytes);
    cJSON_AddNumberToObject(object, "flash_bytes", (double)needs.flash);
    cJSON_AddNumberToObject(object, "flash_there", (double)board->plan.bytes);
    cJSON_AddBoolToObject(object, "fits", fits(board, needs));
}

/* --- text --------------------------------------------------------------------------------------------------------- */

static void print_names(const checked_plan *plan, const char *label, bool decayed) {
    const firnc_folded *groups;
    const uint32_t count = firnc_summary_fold(&plan->report.summary, plan->report.plan, decayed, &groups);
    printf("%s\n", label);
    for (uint32_t i = 0; i < count; i++)
        printf("%-12s%s\n", "", firnc_printable(groups[i].name));
    if (count == 0)
        printf("%-12s%s\n", "", "none");
}

/* Where the schedules of a training reach their last values, compared with the end of the run. */
static const char *schedule_end(const firnc_job *job) {
    const uint64_t end = firnc_job_schedule_end(job);
    const char *at = firnc_format("reach their last value at step %s", firnc_grouped(end));
    if (end == 0)
        return "constant, or without an end";
    if (job->endless)
        return firnc_format("%s, and keep it, because the run has no end", at);
    if (end > job->steps)
        return firnc_format("%s, which the run does not reach: it ends after step %s", at, firnc_grouped(job->steps));
    return end == job->steps ? firnc_format("%s, with the run", at)
                             : firnc_format("%s, and keep it to the end, step %s", at, firnc_grouped(job->steps));
}

static bool print_plan(const firnc_check *check, const checked_plan *plan) {
    const firnc_report *report = &plan->report;
    cJSON *document = firnc_inspect_document(report);
    printf("%-12s%s: %s bytes; nothing was written\n", "plan", plan->form, firnc_grouped(report->header.total_bytes));
    firnc_inspect_print_screen(report, document, false);
    if (report->header.mode == FIRN_MODE_TRAIN) {
        print_names(plan, "decayed", true);
        print_names(plan, "not decayed", false);
        printf("%-12s%s\n", "schedules", schedule_end(plan->job));
    }
    printf("%s\n", "boards of firnc export --firmware, their RAM and flash (code comes on top)");
    if (!for_each_board(report, print_board, NULL))
        return false;
    printf("%-12s%s\n", "warnings",
           check->message_count == 0 ? "none" : firnc_format("%u, on stderr", (unsigned)check->message_count));
    return true;
}

static bool print_text(const firnc_check *check) {
    for (uint32_t i = 0; i < check->plan_count; i++) {
        if (i > 0)
            putchar('\n');
        if (!print_plan(check, &check->plans[i]))
            return false;
    }
    return true;
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static void add_names(cJSON *object, const char *name, const checked_plan *plan, bool decayed) {
    const firnc_summary *summary = &plan->report.summary;
    cJSON *names = cJSON_AddArrayToObject(object, name);
    for (uint32_t i = 0; i < summary->update_count; i++)
        if (firnc_summary_decays(&summary->updates[i]) == decayed)
            cJSON_AddItemToArray(names, cJSON_CreateString(firn_fb_tensor_name(
                                            firn_fb_plan_tensors_at(plan->report.plan, summary->updates[i].tensor))));
}

/* What the document of firnc inspect has of the plan as a whole: all but its tensors, ops and the hashes of a file. */
static bool add_plan(cJSON *plans, const checked_plan *plan) {
    static const char *const of_the_whole[] = {"format",     "image_id",       "plan_version",  "security_counter",
                                               "mode",       "steps",          "micro_batches", "micro_batch_order",
                                               "seed",       "loss_scaling",   "clipping",      "clip_threshold",
                                               "check_loss", "regions",        "sampler",       "inputs",
                                               "outputs",    "schedule_nodes", "totals",        "said",
                                               "summary"};
    cJSON *document = firnc_inspect_document(&plan->report), *object = cJSON_CreateObject();
    cJSON_AddItemToArray(plans, object);
    cJSON_AddStringToObject(object, "plan", plan->form);
    for (size_t i = 0; i < sizeof of_the_whole / sizeof of_the_whole[0]; i++) {
        cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(document, of_the_whole[i]);
        if (item != NULL)
            cJSON_AddItemToObject(object, of_the_whole[i], item);
    }
    if (plan->report.header.mode == FIRN_MODE_TRAIN) {
        cJSON_AddNumberToObject(object, "schedules_end", (double)firnc_job_schedule_end(plan->job));
        add_names(object, "decayed", plan, true);
        add_names(object, "not_decayed", plan, false);
    }
    return for_each_board(&plan->report, add_board, cJSON_AddArrayToObject(object, "boards"));
}

static bool print_json(const firnc_check *check) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "recipe", check->recipe);
    cJSON *plans = cJSON_AddArrayToObject(root, "plans"), *warnings = cJSON_AddArrayToObject(root, "warnings");
    for (uint32_t i = 0; i < check->plan_count; i++)
        if (!add_plan(plans, &check->plans[i]))
            return false;
    for (uint32_t i = 0; i < check->message_count; i++)
        cJSON_AddItemToArray(warnings, cJSON_CreateString(check->messages[i]));
    firnc_inspect_print_json(root);
    return true;
}

int firnc_check_end(firnc_check *check, int status, bool json) {
    if (status == FIRNC_EXIT_OK) {
        firnc_inspect_memory(true);
        status = (json ? print_json(check) : print_text(check)) ? FIRNC_EXIT_OK : FIRNC_EXIT_WRONG;
        firnc_inspect_memory(false);
    }
    for (uint32_t i = 0; i < check->plan_count; i++)
        cJSON_Delete(check->plans[i].report.said);
    firnc_messages_to(NULL, NULL);
    return status;
}
