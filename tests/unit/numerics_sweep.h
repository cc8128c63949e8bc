/* A checksum over all functions of runtime/numerics. Two builds or two machines with the same checksum compute the same
 * bits. */
#ifndef FIRN_TESTS_NUMERICS_SWEEP_H
#define FIRN_TESTS_NUMERICS_SWEEP_H

#include <stdint.h>

/* The expected checksums for a density of 1 and of FIRN_SWEEP_FULL. */
#define FIRN_SWEEP_FULL          64u
#define FIRN_SWEEP_CHECKSUM      0xabe67c0d839c32ecu
#define FIRN_SWEEP_FULL_CHECKSUM 0xaec39f5374c1d372u

/* Returns the FNV-1a hash of the results of every function, for arguments from its whole domain; makes about 30,000
 * times `density` calls. */
uint64_t firn_numerics_sweep(uint32_t density);

#endif
