/* The one list of errors, shared by plan, runtime and compiler. The values never change; texts may be reworded. */
#ifndef FIRN_PLAN_ERRORS_H
#define FIRN_PLAN_ERRORS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_error {
    FIRN_OK = 0,
#define FIRN_ERROR(name, value, text) FIRN_ERROR_##name = (value),
#include "plan/errors.def"
#undef FIRN_ERROR
} firn_error;

/* One line of English for an error, without a full stop. Never NULL, even for a value that is not an error. The string
 * is static. */
const char *firn_error_text(int error);

/* The name of the enumerator without its prefix, such as "SIGNATURE". Never NULL. The string is static. */
const char *firn_error_name(int error);

#ifdef __cplusplus
}
#endif
#endif
