/* generate SCHEMA.bfbs DIRECTORY: reads flatc's binary schema and writes plan/generated: the tables of firn_fb_verify
 * (tables.c, tables.h), read access (reader.h), the names of enumerators (words.c, words.h), the native structs of the
 * writer (writer.c, writer.h), the canonical listing of the schema (schema.txt), whose SHA-256 is the schema hash, and,
 * from plan/ops.def, the table of ops (op_table.c), positions (operands.h), names (op_words.c), versions (op_since.c)
 * and a page (OPS.md); and from both, the minor version of the format (version.h) and what came with which (since.c,
 * since.h). This program runs on the build host and may allocate. It stops at the first thing that it does not support:
 * a schema feature that is not handled here is an error, never a guess. All input is read before the first file is
 * written.
 *
 * The binary schema is made with
 *     flatc --binary --schema --bfbs-builtins --bfbs-comments -o DIRECTORY plan.fbs */
#include <stdint.h>
#include <stdio.h>

#include "plan/errors.h"
#include "plan/generate/op_rows.h"
#include "plan/generate/output.h"
#include "plan/generate/program.h"
#include "plan/signature.h"

int main(int argument_count, char **arguments) {
    uint8_t hash[32];
    if (argument_count != 3) {
        fprintf(stderr, "generate: command line: generate SCHEMA.bfbs DIRECTORY\n");
        return 2;
    }
    size_t op_count;
    const struct op_row *ops = read_ops(&op_count);
    input_name = arguments[1];
    output_directory = arguments[2];
    read_input(arguments[1]);
    read_schema();
    make_listing();
    if (firn_sha256_of(listing, listing_bytes, hash) != FIRN_OK)
        refuse("listing", "SHA-256 failed");
    begin_file("schema.txt", NULL);
    put("%.*s", (int)listing_bytes, listing);
    end_file();
    write_reader();
    write_tables(hash);
    write_words();
    write_writer_header();
    write_writer();
    write_ops(ops, op_count);
    write_since();
    write_version(ops, op_count);
    return 0;
}
