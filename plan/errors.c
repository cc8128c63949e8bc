/* Error texts and names, in tables made from errors.def. Nothing else belongs here. */
#include "plan/errors.h"

const char *firn_error_text(int error) {
    switch (error) {
    case FIRN_OK:
        return "no error";
#define FIRN_ERROR(name, value, text)                                                                                  \
    case value:                                                                                                        \
        return text;
#include "plan/errors.def"
#undef FIRN_ERROR
    default:
        return "an unknown error";
    }
}

const char *firn_error_name(int error) {
    switch (error) {
    case FIRN_OK:
        return "OK";
#define FIRN_ERROR(name, value, text)                                                                                  \
    case value:                                                                                                        \
        return #name;
#include "plan/errors.def"
#undef FIRN_ERROR
    default:
        return "UNKNOWN";
    }
}
