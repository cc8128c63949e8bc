/* Writes report.json, from which tests/bench/tables.py prints the tables of runtime/SPEED.md.
 *
 *     schema         2
 *     date           beginning of the run, UTC
 *     commit         of git, followed by "changed" if the files differ from it
 *     command        the words of the command line
 *     seconds        of the whole run
 *     turns, turns_left_out   what is measured together counts as a turn; those left out had no time left
 *     machine        name, features (of the CPU, as Linux spells them), cpus, siblings (hardware threads of the first
 *                    core), caches, memory (bytes), load (of the minute before the run; -1: unknown), kernels (the
 * set), threads, peak (its instruction), and medians over the run: peak_one_thread, peak_all_threads, triad_one_thread,
 * triad_all_threads (operations and bytes per second) torch          what pytorch.py says: version, capability, mkldnn,
 * mkl, threads, compiler; null: there is none rows           each with what, shape, storage   the name of the row
 *       contest        rows of one contest were measured in the same rounds; 0: the row was measured alone
 *       reference      peak, streams, triad, reads or none
 *       rounds         0: left out, and the note says why
 *       work           operations or bytes of one call
 *       seconds        of one call: a spread
 *       of_one_thread, of_all_threads   share of the reference of the same round: spreads
 *       by_first       time divided by that of the first row of the contest in the same round: a spread
 *       peak_instructions       vector instructions of the peak loop in the same time; 0: not asked
 *       torch          by way: seconds and by_ours (PyTorch's time divided by ours of the same round), both spreads, or
 *                      why, if PyTorch was asked and has no time
 *       op, calls, share_of_step   if the row is a part of a step
 *       note
 *
 * A spread has median, quartiles, and rounds: the value of each round, 0 where there is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tests/bench/bench.h"

#define SCHEMA 2

static const char *const reference_names[] = {"peak", "streams", "triad", "reads", "none"};

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void add_spread(cJSON *item, const char *name, const double *values, unsigned rounds) {
    const bench_spread spread = bench_spread_of(values, rounds);
    if (spread.median <= 0.0)
        return;
    cJSON *list = cJSON_AddObjectToObject(item, name);
    cJSON_AddNumberToObject(list, "median", spread.median);
    cJSON_AddItemToObject(list, "quartiles", cJSON_CreateDoubleArray((const double[]){spread.low, spread.high}, 2));
    cJSON_AddItemToObject(list, "rounds", cJSON_CreateDoubleArray(values, (int)rounds));
}

static void add_torch(cJSON *item, const bench_row *row) {
    cJSON *torch = cJSON_AddObjectToObject(item, "torch");
    for (unsigned way = 0; way < BENCH_TORCHES; way++) {
        const bool timed = bench_spread_of(row->torch_by_ours[way], row->rounds).median > 0.0;
        if (!timed && row->torch_why[way][0] == 0)
            continue;
        cJSON *answer = cJSON_AddObjectToObject(torch, bench_torch_name(way));
        add_spread(answer, "seconds", row->torch_times[way], row->rounds);
        add_spread(answer, "by_ours", row->torch_by_ours[way], row->rounds);
        if (row->torch_why[way][0] != 0)
            cJSON_AddStringToObject(answer, "why", row->torch_why[way]);
    }
}

static void add_row(cJSON *list, const bench_row *row) {
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(list, item);
    cJSON_AddStringToObject(item, "what", row->group);
    cJSON_AddStringToObject(item, "shape", row->shape);
    cJSON_AddStringToObject(item, "storage", row->storage);
    cJSON_AddNumberToObject(item, "contest", row->contest);
    cJSON_AddStringToObject(item, "reference", reference_names[row->reference]);
    cJSON_AddNumberToObject(item, "rounds", row->rounds);
    cJSON_AddNumberToObject(item, "work", row->work);
    add_spread(item, "seconds", row->times, row->rounds);
    add_spread(item, "of_one_thread", row->of_one, row->rounds);
    add_spread(item, "of_all_threads", row->of_all, row->rounds);
    add_spread(item, "by_first", row->by_first, row->rounds);
    cJSON_AddNumberToObject(item, "peak_instructions", row->instructions);
    add_torch(item, row);
    if (row->op[0] != 0) {
        cJSON_AddStringToObject(item, "op", row->op);
        cJSON_AddNumberToObject(item, "calls", row->calls);
        cJSON_AddNumberToObject(item, "share_of_step", row->share);
    }
    cJSON_AddStringToObject(item, "note", row->note);
}

static void add_machine(cJSON *report, const bench_rates *rates) {
    const bench_machine *machine = bench_machine_of();
    cJSON *item = cJSON_AddObjectToObject(report, "machine");
    cJSON_AddStringToObject(item, "name", machine->name);
    cJSON_AddStringToObject(item, "features", machine->features);
    cJSON_AddNumberToObject(item, "cpus", machine->cpus);
    cJSON_AddStringToObject(item, "siblings", machine->siblings);
    cJSON_AddStringToObject(item, "caches", machine->caches);
    cJSON_AddNumberToObject(item, "memory", machine->memory);
    cJSON_AddNumberToObject(item, "load", machine->load);
    cJSON_AddStringToObject(item, "kernels", firn_kernel_set_choose(NULL)->name);
    cJSON_AddNumberToObject(item, "threads", bench_settings.threads);
    cJSON_AddStringToObject(item, "peak", bench_peak_name());
    cJSON_AddNumberToObject(item, "peak_one_thread", rates->peak_one);
    cJSON_AddNumberToObject(item, "peak_all_threads", rates->peak_all);
    cJSON_AddNumberToObject(item, "triad_one_thread", rates->triad_one);
    cJSON_AddNumberToObject(item, "triad_all_threads", rates->triad_all);
    cJSON *engines = cJSON_AddArrayToObject(item, "engines");
    for (unsigned i = 0; i < rates->engine_count; i++) {
        cJSON *engine = cJSON_CreateObject();
        cJSON_AddItemToArray(engines, engine);
        cJSON_AddStringToObject(engine, "instruction", rates->engines[i].name);
        cJSON_AddNumberToObject(engine, "peak_one_thread", rates->engines[i].one);
        cJSON_AddNumberToObject(engine, "peak_all_threads", rates->engines[i].all);
    }
}

static cJSON *make_report(const bench_rates *rates) {
    const bench_turns turns = bench_count_turns();
    size_t count;
    const bench_row *rows = bench_report_rows(&count);
    cJSON *report = cJSON_CreateObject();
    cJSON_AddNumberToObject(report, "schema", SCHEMA);
    cJSON_AddStringToObject(report, "date", bench_machine_of()->date);
    cJSON_AddStringToObject(report, "commit", bench_machine_of()->commit);
    cJSON *command = cJSON_AddArrayToObject(report, "command");
    for (int i = 0; i < bench_settings.word_count; i++)
        cJSON_AddItemToArray(command, cJSON_CreateString(bench_settings.words[i]));
    cJSON_AddNumberToObject(report, "seconds", bench_seconds() - rates->begin);
    cJSON_AddNumberToObject(report, "turns", turns.all);
    cJSON_AddNumberToObject(report, "turns_left_out", turns.left_out);
    add_machine(report, rates);
    cJSON *torch = bench_torch_about() != NULL ? cJSON_Parse(bench_torch_about()) : NULL;
    cJSON_AddItemToObject(report, "torch", torch != NULL ? torch : cJSON_CreateNull());
    cJSON *list = cJSON_AddArrayToObject(report, "rows");
    for (size_t i = 0; i < count; i++)
        add_row(list, &rows[i]);
    return report;
}

static bool write_file(const char *path, const bench_rates *rates) {
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "bench: %s: cannot be opened\n", path);
        return false;
    }
    cJSON *report = make_report(rates);
    char *text = cJSON_Print(report);
    const bool good = text != NULL && fprintf(file, "%s\n", text) > 0;
    cJSON_free(text);
    cJSON_Delete(report);
    return fclose(file) == 0 && good;
}

/* --- checking what was written --------------------------------------------------------------------------------- */

/* Returns the whole file, terminated by a 0 byte, or NULL if it cannot be read. */
static char *read_file(const char *path) {
    char *text = NULL;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        rewind(file);
        text = size > 0 ? calloc(1, (size_t)size + 1) : NULL;
        if (text != NULL && fread(text, 1, (size_t)size, file) != (size_t)size)
            text[0] = 0;
    }
    fclose(file);
    return text;
}

static bool has_spread(const cJSON *row, const char *name) {
    const cJSON *median = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(row, name), "median");
    return cJSON_IsNumber(median) && median->valuedouble > 0.0;
}

static bool is_good_row(const cJSON *row) {
    static const char *const texts[] = {"what", "shape", "storage", "reference", "note"};
    const cJSON *rounds = cJSON_GetObjectItemCaseSensitive(row, "rounds");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!cJSON_IsString(cJSON_GetObjectItemCaseSensitive(row, texts[i])))
            return false;
    if (!cJSON_IsNumber(rounds))
        return false;
    const char *what = cJSON_GetObjectItemCaseSensitive(row, "what")->valuestring;
    const char *reference = cJSON_GetObjectItemCaseSensitive(row, "reference")->valuestring;
    const bool timed = strcmp(what, "memory") != 0 && rounds->valuedouble > 0.0;
    const bool shared = timed && strcmp(reference, reference_names[BENCH_NOTHING]) != 0;
    const bool is_of_one = strcmp(reference, reference_names[BENCH_READS]) == 0;
    return (!timed || has_spread(row, "seconds") || cJSON_HasObjectItem(row, "op")) &&
           (!shared || has_spread(row, is_of_one ? "of_one_thread" : "of_all_threads"));
}

static bool is_good(const char *text) {
    size_t count;
    cJSON *report = cJSON_Parse(text);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(report, "rows"), *row;
    const cJSON *machine = cJSON_GetObjectItemCaseSensitive(report, "machine");
    const cJSON *peak = cJSON_GetObjectItemCaseSensitive(machine, "peak_all_threads");
    (void)bench_report_rows(&count);
    bool good = cJSON_IsNumber(peak) && peak->valuedouble > 0.0 && cJSON_GetArraySize(list) == (int)count && count > 0;
    cJSON_ArrayForEach(row, list) good = good && is_good_row(row);
    cJSON_Delete(report);
    return good;
}

bool bench_json_write(const bench_rates *rates) {
    char path[512];
    bench_format(path, sizeof path, "%s/report.json", bench_settings.out);
    if (!write_file(path, rates))
        return false;
    char *text = read_file(path);
    const bool good = text != NULL && is_good(text);
    free(text);
    if (!good)
        fprintf(stderr, "bench: %s: is not what it should be\n", path);
    return good;
}
