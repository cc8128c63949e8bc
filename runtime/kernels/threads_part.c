/* The threads of a port, which a firmware with one thread leaves out (runtime/kernels/parts.h); nothing else may be
 * defined here. Freestanding. */
#include "runtime/kernels/parts.h"

const bool firn_has_threads = true;
