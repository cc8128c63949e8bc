/* firn checkpoint: says what a checkpoint holds: how far the run is, whose it is, what is in it and what is beside it.
 * The file is read and checked, without its plan. Nothing is written. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plan/bytes.h"
#include "runtime/cli/cli.h"

static void line(const char *name, const char *text) {
    printf("%-20s ", name);
    firn_host_print(stdout, text);
    putchar('\n');
}

/* Prints a hash; one of zeros is not known. absent: what is said then */
static void line_of_hash(const char *name, const uint8_t hash[FIRN_HASH_BYTES], const char *absent) {
    char text[65];
    cli_hex(text, hash);
    line(name, firn_is_zero(hash, 0, FIRN_HASH_BYTES) ? absent : text);
}

/* Prints a counter of the state, if it is there. */
static void line_of_counter(const cli_record *record, const char *name, const char *counter) {
    char text[32];
    for (uint32_t i = 0; i < record->count; i++) {
        const cli_record_entry *entry = &record->entries[i];
        if (strcmp(entry->name, counter) != 0 || entry->entry.type != FIRN_INT64 || entry->bytes != sizeof(uint64_t))
            continue;
        snprintf(text, sizeof text, "%llu", (unsigned long long)firn_load64(record->state + entry->entry.offset));
        line(name, text);
    }
}

/* Prints how many tensors have a role, and their numbers and bytes; nothing if there is none. */
static void line_of_role(const cli_record *record, const char *name, uint8_t role) {
    uint64_t tensors = 0, numbers = 0, bytes = 0;
    char text[120];
    for (uint32_t i = 0; i < record->count; i++) {
        const cli_record_entry *entry = &record->entries[i];
        if (entry->entry.role != role)
            continue;
        tensors++;
        bytes += entry->bytes;
        numbers += entry->bytes / firn_type_bytes(entry->entry.type);
    }
    snprintf(text, sizeof text, "%llu number%s in %llu tensor%s, %llu bytes", (unsigned long long)numbers,
             cli_s(numbers), (unsigned long long)tensors, cli_s(tensors), (unsigned long long)bytes);
    if (tensors != 0)
        line(name, text);
}

static const char *key_of(const cli_options *options, const cli_record *record) {
    if (options->device_key != NULL)
        return "authenticated by --device-key";
    return firn_is_zero(record->header.code, 0, FIRN_HASH_BYTES) ? "none"
                                                                 : "written with one; --device-key FILE checks it";
}

/* Says which files that belong to a checkpoint are there. */
static void print_beside(const char *path, const firn_record *header) {
    static const struct {
        const char *ending, *text;
    } others[] = {{".tmp", "a save that goes on, or that was ended: the next run removes it"},
                  {".lock", "a run saves there, or did"}};
    char text[300];
    struct stat status;
    cli_columns_describe(path, header, text, sizeof text);
    line("columns file", text);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char *name = firn_host_path(path, others[i].ending);
        if (lstat(name, &status) == 0) {
            printf("%-20s ", "beside it");
            firn_host_print(stdout, name);
            printf(": %s\n", others[i].text);
        }
        free(name);
    }
}

static int print_record(const cli_options *options, const cli_record *record) {
    const firn_record *header = &record->header;
    uint8_t digest[FIRN_HASH_BYTES];
    char text[64];
    const int error = cli_record_digest(record, digest);
    if (error != FIRN_OK) {
        firn_host_fail(options->file, "%s", firn_error_text(error));
        return cli_exit_code(error);
    }
    line("checkpoint", options->file);
    snprintf(text, sizeof text, "%llu", (unsigned long long)header->global_step);
    line("step", text);
    line_of_counter(record, "optimizer steps", "counters.optimizer_step");
    line_of_counter(record, "samples read", "counters.cursor");
    line_of_role(record, "parameters", FIRN_FB_ROLE_PARAMETER);
    line_of_role(record, "buffers", FIRN_FB_ROLE_BUFFER);
    line_of_role(record, "optimizer state", FIRN_FB_ROLE_OPTIMIZER_STATE);
    line_of_hash("digest", digest, "");
    line_of_hash("run hash", header->run_hash, "not known");
    line_of_hash("continues run", header->origin_hash, "none");
    line_of_hash("model hash", header->model_hash, "not known");
    line_of_hash("preprocessing hash", header->preprocessing_hash, "not known");
    line_of_hash("split hash", header->split_hash, "not known");
    line_of_hash("data hash", header->data_hash, "not known: it is not compared with the data of a later run");
    line("device key", key_of(options, record));
    print_beside(options->file, header);
    return cli_flush();
}

int cli_checkpoint(const cli_options *options) {
    cli_record record;
    int status = cli_record_load(&record, options);
    if (status == CLI_OK)
        status = print_record(options, &record);
    cli_record_unload(&record);
    return status;
}
