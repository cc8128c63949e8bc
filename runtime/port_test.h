/* A test of a port, to be run on the device, before anything is built on it: it makes the calls that the library makes,
 * and finds the first that does not do what firn.h and PORTING.md say. It is destructive: everything in the storage is
 * lost, and each erase unit is erased up to four times. Nothing of the library calls it, so it takes no flash in a
 * product.
 *
 * What a test cannot find here: a trap that returns, a counter that a reset sets back, and what a power cut leaves. */
#ifndef FIRN_PORT_TEST_H
#define FIRN_PORT_TEST_H

#include "runtime/firn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The least memory that a test works with. More makes its longest calls longer; the library makes calls of at most
 * 65,536 bytes. */
#define FIRN_PORT_TEST_SCRATCH 1024u

/* What was found. */
typedef struct firn_port_finding {
    const char *function; /* of the port, such as "storage.program"; "" if nothing was found */
    const char *rule;     /* what it must do and does not */
    uint64_t at;          /* offset in the storage, element of a stream, task, or value of a counter */
    int error;            /* what it returned, where that is the finding; else 0 */
} firn_port_finding;

/* `port`, `storage`, `source` and `finding` may not be NULL. What is NULL inside of them and may not be is found.
 *
 * Tests everything that the port has but trap. It takes a part of a counter's life that nothing brings back, one
 * advance of checkpoint_counter and two of counter, which add three to its value: plans with a lower security counter
 * are then refused for ever. So advance_counters must be asked for; else counters are only read.
 *
 * After a test of a port with two slots both are erased; with one slot it holds no record. Returns true if nothing was
 * found. */
bool firn_port_test(const firn_port *port, bool advance_counters, void *scratch, uint32_t scratch_bytes,
                    firn_port_finding *finding) FIRN_CHECK_RESULT;

/* Tests storage alone, in the same way. */
bool firn_storage_test(const firn_storage *storage, void *context, void *scratch, uint32_t scratch_bytes,
                       firn_port_finding *finding) FIRN_CHECK_RESULT;

/* Tests a data source: that an element has the same bytes however it is read, alone or with others, at the beginning
 * and at the end of every stream and of every segment. Reads only. */
bool firn_source_test(const firn_source *source, void *scratch, uint32_t scratch_bytes,
                      firn_port_finding *finding) FIRN_CHECK_RESULT;

#ifdef __cplusplus
}
#endif
#endif
