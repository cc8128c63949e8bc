/* firn export: writes the parameters and buffers of a checkpoint, which belong to the model, as a safetensors file (a
 * length, a JSON header, the tensors). The file is written under a temporary name and renamed when it is complete. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/program/descriptors.h"

static bool is_of_model(const cli_record_entry *entry) {
    return entry->entry.role == FIRN_FB_ROLE_PARAMETER || entry->entry.role == FIRN_FB_ROLE_BUFFER;
}

/* Returns the name that safetensors has for a type of the state, or NULL if the state of no plan has such a tensor. */
static const char *type_name(uint8_t type) {
    return type == FIRN_FLOAT32 ? "F32" : type == FIRN_INT64 ? "I64" : NULL;
}

/* Prints the header, padded with spaces so that the tensors begin at a multiple of 8. */
static void print_header(FILE *to, const cli_record *record) {
    char hash[65];
    cli_hex(hash, record->header.model_hash);
    fprintf(to, "{\"__metadata__\":{\"format\":\"pt\",\"global_step\":\"%llu\",\"model_hash\":\"%s\"}",
            (unsigned long long)record->header.global_step, hash);
    uint64_t offset = 0;
    for (uint32_t i = 0; i < record->count; i++) {
        const cli_record_entry *entry = &record->entries[i];
        if (!is_of_model(entry))
            continue;
        fputc(',', to);
        cli_print_json(to, entry->name);
        fprintf(to, ":{\"dtype\":\"%s\",\"shape\":[", type_name(entry->entry.type));
        for (uint32_t d = 0; d < entry->entry.rank; d++)
            fprintf(to, "%s%lu", d == 0 ? "" : ",", (unsigned long)entry->entry.dims[d]);
        uint64_t end = offset + entry->bytes;
        fprintf(to, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)offset, (unsigned long long)end);
        offset = end;
    }
    fputc('}', to);
    fflush(to);
    for (long at = ftell(to); at % 8 != 0; at++)
        fputc(' ', to);
}

/* Writes bytes at *at and advances *at past them. */
static bool put(const firn_host_replacement *to, uint64_t *at, const void *bytes, uint64_t count) {
    bool written = firn_host_replace_write(to, *at, bytes, (size_t)count);
    *at += count;
    return written;
}

static bool write_tensors(const firn_host_replacement *to, const cli_record *record, const char *header,
                          size_t header_bytes) {
    uint8_t length[8];
    for (uint32_t i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)header_bytes >> (8 * i));
    uint64_t at = 0;
    bool written = put(to, &at, length, sizeof length) && put(to, &at, header, header_bytes);
    for (uint32_t i = 0; written && i < record->count; i++) {
        const cli_record_entry *entry = &record->entries[i];
        if (is_of_model(entry))
            written = put(to, &at, record->state + entry->entry.offset, entry->bytes);
    }
    return written;
}

/* Prints what was written, where somebody can read it. */
static int say_written(const char *path, const cli_record *record, size_t header_bytes) {
    uint64_t bytes = sizeof(uint64_t) + header_bytes;
    uint32_t tensors = 0;
    if (!firn_program_has_output())
        return CLI_OK;
    for (uint32_t i = 0; i < record->count; i++)
        if (is_of_model(&record->entries[i])) {
            tensors++;
            bytes += record->entries[i].bytes;
        }
    firn_host_print(stdout, path);
    printf(": %lu tensor%s, %llu bytes\n", (unsigned long)tensors, cli_s(tensors), (unsigned long long)bytes);
    return cli_flush();
}

static int write_file(const char *path, const cli_record *record, const char *header, size_t header_bytes) {
    firn_host_replacement file;
    if (firn_host_replace_begin(&file, path) && write_tensors(&file, record, header, header_bytes) &&
        firn_host_replace_end(&file))
        return CLI_OK;
    firn_host_replace_fail(&file, path);
    return CLI_FILE;
}

static int export_record(const cli_options *options, const cli_record *record) {
    for (uint32_t i = 0; i < record->count; i++)
        if (is_of_model(&record->entries[i]) && type_name(record->entries[i].entry.type) == NULL) {
            firn_host_fail(options->file,
                           "the parameter %s is neither float32 nor int64; use the firn of the version that wrote it",
                           record->entries[i].name);
            return CLI_REFUSED;
        }
    char *header = NULL;
    size_t header_bytes = 0;
    FILE *text = open_memstream(&header, &header_bytes);
    if (text != NULL)
        print_header(text, record);
    if (text == NULL || fclose(text) != 0) {
        firn_host_fail("memory", "%s", strerror(errno));
        free(header);
        return CLI_FILE;
    }
    int status = write_file(options->output, record, header, header_bytes);
    if (status == CLI_OK && !options->quiet)
        status = say_written(options->output, record, header_bytes);
    free(header);
    return status;
}

int cli_export(const cli_options *options) {
    if (!firn_host_replaceable(options->output))
        return CLI_FILE;
    cli_record record;
    int status = cli_record_load(&record, options);
    if (status == CLI_OK)
        status = export_record(options, &record);
    cli_record_unload(&record);
    return status;
}
