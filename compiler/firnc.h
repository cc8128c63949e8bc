/* The compiler as a library: compiles a graph and a job to a signed plan in memory. `firnc compile` and the studies
 * call the same function. Link with libfirnc, libfirn, and the libraries that both need.
 *
 *     static firnc_job job; // 80 KB
 *     firnc_job_defaults(&job, FIRNC_TRAIN);
 *     job.steps = 1000;
 *     job.data.batch_size = job.data.micro_batch_size = 32;
 *     firnc_job_learning_rate(&job, 0.1);
 *     firnc_graph *graph = firnc_graph_create("one_layer");
 *     firnc_value x = firnc_input(graph, "features", FIRN_FLOAT32, 2, (uint32_t[]){32, 784},
 *                                 (firnc_input_options){.element = FIRN_UINT8, .scaled = true, .scale = 1.0f / 255});
 *     firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, (uint32_t[]){32},
 *                                      (firnc_input_options){.stream = 1, .element = FIRN_UINT8, .limit = 10});
 *     firnc_init init = {.rule = FIRNC_INIT_UNIFORM, .a = -0.04f, .b = 0.04f};
 *     firnc_value weight = firnc_parameter(graph, "weight", 2, (uint32_t[]){10, 784}, init, true);
 *     firnc_layer_begin(graph, "output");
 *     firnc_value logits = firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_OUT_IN);
 *     firnc_layer_end(graph);
 *     firnc_loss(graph, firnc_cross_entropy(graph, logits, labels));
 *     firnc_key key;
 *     firnc_frozen plan;
 *     bool good = firnc_key_read("device.key.pem", &key) && firnc_freeze_plan(graph, &job, &key, NULL, &plan);
 *     if (good)
 *         fwrite(plan.file.data, 1, (size_t)plan.file.count, file);
 *     firnc_wipe(&key, sizeof key);
 *     return good;
 *
 * All of this is the body of a function that firnc_perform (compiler/base/perform.h) calls; compiler/examples/network.c
 * is a whole program.
 *
 * Headers. compiler/graph/graph.h builds graphs; compiler/job/job.h describes the rest of a run (precision in
 * precision.h, optimizer in optimizer.h); compiler/emit/sign.h creates and reads keys. This header includes them all.
 *
 * Threads. The compiler keeps its state in global variables. firnc_perform holds a lock, so any thread may call it at
 * any time, and one is served at a time. All other functions are called from within its work.
 *
 * Memory. The compiler owns the memory of graphs, plans and texts and never frees single blocks. firnc_perform frees
 * everything that its work allocated; the work copies the bytes of the plan before it returns. Work that repeats much
 * may free what was allocated since a mark (compiler/base/text.h):
 *
 *     firnc_mark mark = firnc_memory_mark();
 *     ... build, freeze, use the plan or copy its bytes ...
 *     firnc_memory_release(mark); // graph and plan are gone
 *
 * Errors. A function that can fail returns false after exactly one message, a line that begins with "firnc: ", unless
 * its header says otherwise. firnc_perform passes messages to the caller's function, and so are warnings, which are not
 * failures. A call of the graph builder that is wrong for any job (a scope closed twice, a value that the graph does
 * not have) is a bug of the calling program: after one message, firnc_perform returns FIRNC_MISUSE. If memory is
 * exhausted, it returns FIRNC_MEMORY, also after one message. Nothing ends the process or prints, with two exceptions:
 * firnc_freeze_options.dump_after prints to stdout as it is asked to, and a function that is called outside of
 * firnc_perform has nowhere to return to after a misuse or without memory, and calls abort().
 *
 * Determinism. The same graph, job, weights and key give the same bytes. */
#ifndef FIRNC_FIRNC_H
#define FIRNC_FIRNC_H

#include "compiler/base/perform.h"
#include "compiler/base/text.h"
#include "compiler/emit/sign.h"
#include "compiler/graph/graph.h"
#include "compiler/job/job.h"
#include "plan/container.h"
#include "plan/release.h"

#define FIRNC_VERSION FIRN_VERSION

typedef struct firnc_freeze_options {
    bool without_signature; /* the plan is signed elsewhere; only the public half of the key is used */
    const char *dump_after; /* name of the pass after which the graph is printed to stdout; NULL: none */
} firnc_freeze_options;

/* A plan in memory. */
typedef struct firnc_frozen {
    firnc_bytes file;                   /* the contents of a plan file; aligned to 64 bytes */
    uint8_t plan_hash[FIRN_HASH_BYTES]; /* SHA-256 of the signed range; zero without a signature */
    uint8_t run_hash[FIRN_HASH_BYTES];  /* SHA-256 of the payload: a checkpoint resumes only with an equal one */
} firnc_frozen;

/* Freezes a run.
 *
 *   graph    built with compiler/graph/graph.h and complete: every layer and annotation closed, one loss, for training
 *            or evaluation as the job is. It is used up: the passes write into it, and it cannot be frozen again.
 *   job      is checked (firnc_job_check) and read, never kept. Its weights file and the
 *            checkpoint that it continues are read here.
 *   key      the device's, not NULL. Read only; wiping it is the caller's.
 *   options  NULL: a signed plan, and nothing printed.
 *   plan     filled in on success only. The bytes belong to the compiler's memory.
 *
 * Returns true if the plan has passed every check that a device makes, including its signature; false after one message
 * if the job, the graph or the weights are wrong. Time and memory grow with the number of ops, at most about a
 * millisecond and 20 KB each; weights add twice their size. */
bool firnc_freeze_plan(firnc_graph *graph, const firnc_job *job, const firnc_key *key,
                       const firnc_freeze_options *options, firnc_frozen *plan);

#endif
