/* A plan as a file: header, payload, signature put together, and the whole chain of checks on one that was read. */
#ifndef FIRNC_PLAN_FILE_H
#define FIRNC_PLAN_FILE_H

#include "compiler/base/files.h"
#include "compiler/emit/write.h"
#include "plan/checks/check.h"

#define FIRNC_PLAN_BYTES_MAX (UINT64_C(1) << 40)

/* Header and payload of an unsigned plan for a key. False after one line on stderr. */
bool firnc_plan_seal(const firnc_compilation *compilation, const firnc_payload *payload, const uint8_t *public_key,
                     firnc_bytes *file);

/* Turns an unsigned plan into the one that is signed, with room for the signature at its end, and gives the digest to
 * sign: SHA-256 of every byte before it. *file is replaced, the old bytes stay. */
bool firnc_plan_prepare(const char *name, firnc_bytes *file, uint8_t digest[32]);

/* Puts the signature in its place. */
void firnc_plan_attach(firnc_bytes *file, const uint8_t signature[64]);

/* What firnc_plan_check found. */
typedef firn_checked firnc_plan_file;

/* The checks of plan/FORMAT.md in their order, ending with the first that fails. public_key NULL: the plan is read
 * without trusting it, signed or not, and signature and counter are left out. Returns FIRN_OK or the error. */
int firnc_plan_check(const firnc_bytes *file, const uint8_t *public_key, uint32_t counter, firnc_plan_file *checked);

/* "firnc: NAME: refused: text (NAME of the error); mend" to stderr. */
void firnc_plan_refuse(const char *name, int error);

/* "LABEL 64 hexadecimal digits" to stdout. */
void firnc_print_hash(const char *label, const uint8_t hash[FIRN_HASH_BYTES]);

#endif
