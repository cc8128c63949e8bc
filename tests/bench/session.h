/* Plans for benchmarks, and an open one: firnc makes a plan from a recipe, and a session has its blocks, its port and
 * its instance. Nothing is measured here. */
#ifndef FIRN_TESTS_BENCH_SESSION_H
#define FIRN_TESTS_BENCH_SESSION_H

#include "runtime/targets/host/host.h"
#include "tests/bench/bench.h"

/* Writes the path of a file in the output folder. */
void session_path(char *path, size_t size, const char *name);
/* Returns the path of the public key that session_compile signs for. */
const char *session_key(void);
/* Freezes a recipe into a plan. options: of firnc, the mode among them. Reports a failure and returns false. */
bool session_compile(const char *plan, const char *recipe, const char *options);

/* Samples without end: bytes for text and features, and classes or targets for labels. */
typedef struct session_data {
    uint8_t *bytes, *classes;
    float *targets;
    firn_segment segments[2];
    firn_stream streams[2];
    firn_source source;
} session_data;

typedef struct session {
    firn_host_plan plan;
    firn_host_port port;
    uint8_t key[FIRN_PUBLIC_KEY_BYTES];
    firn_sizes sizes;
    firn_host_blocks blocks;
    firn_config config;
    firn firn;
    firn_info info;
    session_data data;
    int error; /* the last status that was not FIRN_OK */
} session;

/* Prepares everything except firn_open. The memory blocks are not touched, except the part of the arena that the plan
 * checks use, so that peak memory is that of an ordinary program. threads: 0 for those of the options. kernels: NULL
 * for this machine's set. On failure reports it, releases everything and returns false, as the next two functions do.
 */
bool session_load(session *it, const char *plan, unsigned threads, const char *kernels, const char *key);
/* The same, then opens the plan and initialises the state. */
bool session_start(session *it, const char *plan, unsigned threads, const char *kernels, const char *key);
/* The same, and prepares data that fits. */
bool session_begin(session *it, const char *plan, unsigned threads, const char *kernels, const char *key);
void session_end(session *it);

/* Opens the plan of a loaded session; context: the session. */
void session_open(void *context);
/* Returns the bytes of the plan and of all blocks. */
uint64_t session_bytes(const session *it);
/* Returns the bytes that session_begin allocates for data. */
uint64_t session_data_bytes(const session *it);

#endif
