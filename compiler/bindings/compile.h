/* Compiling a recipe by one call, for bindings in other languages: what `firnc compile` does, without files of plans.
 */
#ifndef FIRNC_BINDINGS_COMPILE_H
#define FIRNC_BINDINGS_COMPILE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/perform.h"
#include "plan/signature.h"

/* What is to be compiled. NULL and 0 stand for options that are not given; their meaning is that of `firnc compile`. */
typedef struct firnc_request {
    const char *recipe;          /* name of a YAML file */
    const char *mode;            /* "train", "eval", "predict" or "decode", as the plans of --all */
    const char *const *settings; /* --set, "a.b=VALUE" each */
    uint32_t setting_count;      /* at most FIRNC_SETTINGS_MAX */
    bool push;                   /* samples are pushed into a ring of one batch, as `source: push` with `ring` says */
    const char *weights, *hugging_face, *statistics, *target;
    uint64_t samples; /* of an epoch */
    bool allow_unmatched;
    const char *key; /* file of the secret key; NULL: a key is made for this plan alone, and forgotten */
} firnc_request;

enum { FIRNC_SETTINGS_MAX = 64 };

/* A plan and the public key that verifies it. */
typedef struct firnc_compiled {
    uint8_t *plan; /* to be freed by firnc_compiled_free; NULL: there is none */
    uint64_t bytes;
    uint8_t public_key[FIRN_PUBLIC_KEY_BYTES];
} firnc_compiled;

/* Compiles a recipe. Never ends the process, prints nothing, and may be called from any thread. Messages, also
 * warnings, go to `message` (compiler/base/perform.h). *compiled has a plan only if FIRNC_DONE is returned. */
firnc_outcome firnc_compile(const firnc_request *request, firnc_compiled *compiled, firnc_message message,
                            void *context);

void firnc_compiled_free(firnc_compiled *compiled);

#endif
