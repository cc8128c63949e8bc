/* The version of Firn, and the only place that states it: programs, manual pages, packages and libraries take it from
 * here. */
#ifndef FIRN_RELEASE_H
#define FIRN_RELEASE_H

#define FIRN_VERSION_MAJOR 0
#define FIRN_VERSION_MINOR 1
#define FIRN_VERSION_PATCH 0

/* "0.1.0". Two macros, because # takes the name of an argument and not its value. */
#define FIRN_VERSION                             FIRN_VERSION_OF(FIRN_VERSION_MAJOR, FIRN_VERSION_MINOR, FIRN_VERSION_PATCH)
#define FIRN_VERSION_OF(major, minor, patch)     FIRN_VERSION_JOINED(major, minor, patch)
#define FIRN_VERSION_JOINED(major, minor, patch) #major "." #minor "." #patch

#endif
