/* firn digest: prints the SHA-256 of the state in a checkpoint, the same value that `firn train` prints at its end;
 * with an option also one per tensor, to find where two runs diverge. */

#include "plan/identity.h"
#include "runtime/cli/cli.h"

/* Hashes the descriptor of a tensor, then its bytes. */
static int add_tensor(firn_sha256 *hash, const cli_record *record, const cli_record_entry *tensor) {
    const firn_record_entry *entry = &tensor->entry;
    int error = firn_descriptor_hash(hash, tensor->name, entry->name_length, entry->type, entry->rank, entry->dims);
    if (error == FIRN_OK)
        error = firn_sha256_update(hash, record->state + entry->offset, (size_t)tensor->bytes);
    return error;
}

/* Computes the digest of tensors [first, last). */
static int digest_of(const cli_record *record, uint32_t first, uint32_t last, uint8_t digest[32]) {
    firn_sha256 hash;
    int error = firn_sha256_begin(&hash);
    for (uint32_t i = first; error == FIRN_OK && i < last; i++)
        error = add_tensor(&hash, record, &record->entries[i]);
    return error == FIRN_OK ? firn_sha256_end(&hash, digest) : error;
}

int cli_record_digest(const cli_record *record, uint8_t digest[32]) {
    return digest_of(record, 0, record->count, digest);
}

static int print_digests(const cli_options *options, const cli_record *record) {
    uint8_t digest[32];
    int error = FIRN_OK;
    for (uint32_t i = 0; options->per_tensor && error == FIRN_OK && i < record->count; i++) {
        char text[65];
        error = digest_of(record, i, i + 1, digest);
        cli_hex(text, digest);
        printf("%s ", text);
        firn_host_print(stdout, record->entries[i].name);
        putchar('\n');
    }
    if (error == FIRN_OK)
        error = cli_record_digest(record, digest);
    if (error != FIRN_OK) {
        firn_host_fail(options->file, "%s", firn_error_text(error));
        return cli_exit_code(error);
    }
    return cli_print_digest(digest);
}

int cli_digest(const cli_options *options) {
    cli_record record;
    int status = cli_record_load(&record, options);
    if (status == CLI_OK)
        status = print_digests(options, &record);
    cli_record_unload(&record);
    return status;
}
