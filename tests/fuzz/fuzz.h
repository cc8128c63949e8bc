/* What the fuzz targets share. A target is a file that defines LLVMFuzzerTestOneInput, the function that libFuzzer
 * calls for each input; standalone.c calls it without libFuzzer. */
#ifndef FIRN_TESTS_FUZZ_H
#define FIRN_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/firn.h"

/* Always returns 0. Aborts if the input shows a fault. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts with a line that names the place, unless `holds`. */
#define FUZZ_HOLDS(holds) fuzz_holds((holds), #holds, __FILE__, __LINE__)
void fuzz_holds(bool holds, const char *what, const char *file, int line);

/* A copy at a multiple of 64, of exactly this size, so that the sanitizers see an access one byte beyond it. Free it
 * with free. */
uint8_t *fuzz_copy(const uint8_t *data, size_t size);

/* --- plans (plans.c) ---------------------------------------------------------------------------------------------- */

/* Makes a file whose header fits its payload from arbitrary bytes in the place of a plan, without a signature. Returns
 * NULL if the FlatBuffers rules refuse the payload; free the file otherwise. */
uint8_t *fuzz_seal(const uint8_t *data, size_t size, uint64_t *bytes);

/* An instance with its blocks, each a heap block of its size. */
typedef struct fuzz_instance {
    firn firn;
    firn_block blocks[FIRN_BLOCKS_MAX];
    uint32_t block_count;
} fuzz_instance;

/* Opens a plan. Its signature is not checked (ld --wrap). Refuses blocks that are too large to run thousands of plans a
 * second. Close it whatever is returned. */
int fuzz_open(fuzz_instance *instance, const uint8_t *file, uint64_t bytes, const firn_port *port);
void fuzz_close(fuzz_instance *instance);

/* Takes two steps with made-up data, up to the first error. The plan is that of fuzz_open. fuzz_run initialises first.
 */
void fuzz_step(fuzz_instance *instance, const uint8_t *file);
void fuzz_run(fuzz_instance *instance, const uint8_t *file);

#endif
