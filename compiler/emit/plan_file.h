/* A plan as a file: assembles header, payload and signature, and runs all checks on a plan that was read. */
#ifndef FIRNC_PLAN_FILE_H
#define FIRNC_PLAN_FILE_H

#include "compiler/base/files.h"
#include "compiler/emit/write.h"
#include "plan/checks/check.h"

#define FIRNC_PLAN_BYTES_MAX (UINT64_C(1) << 40)

/* Assembles header, payload and report of an unsigned plan for a public key. False after one message. */
bool firnc_plan_seal(const firnc_compilation *compilation, const firnc_payload *payload, const firnc_bytes *report,
                     const uint8_t *public_key, firnc_bytes *file);

/* Reads a plan. Of a file that does not begin like a plan only the head is read, which firnc_plan_check refuses. False
 * after one message. */
bool firnc_plan_read(const char *name, firnc_bytes *file);

/* Makes an unsigned plan ready for signing: adapts the header, and computes the digest to sign, the SHA-256 of the
 * header. *file is set to a new buffer; the old one stays
 * unchanged. False after one message. */
bool firnc_plan_prepare(const char *name, firnc_bytes *file, uint8_t digest[32]);

/* Writes the signature into its place. */
void firnc_plan_attach(firnc_bytes *file, const uint8_t signature[64]);

/* The result of firnc_plan_check. */
typedef firn_checked firnc_plan_file;

/* Makes the checks of plan/FORMAT.md in order, up to the first that fails; last that of the report, if there is one.
 * Returns FIRN_OK or its error. If public_key
 * is NULL, signature and security counter are not checked: for reading plans, signed or not, that are not trusted. */
int firnc_plan_check(const firnc_bytes *file, const uint8_t *public_key, uint32_t counter, firnc_plan_file *checked);

/* Prints the message "firnc: NAME: refused: text (name of the error); remedy". */
void firnc_plan_refuse(const char *name, const firnc_bytes *file, int error);

/* Prints "LABEL HASH" to stdout, the hash as 64 hexadecimal digits. */
void firnc_print_hash(const char *label, const uint8_t hash[FIRN_HASH_BYTES]);

#endif
