/* The integer types are those of the compiler, whose own stdint.h includes that of the C library. */
#include <stdint-gcc.h>
