/* Stands in for the table of what came with which minor version: every op has always been there. Host only. */
#include "plan/needs.h"

uint32_t firn_op_since(const firn_op_info *info, uint32_t inputs, uint32_t outputs, uint32_t integers, uint32_t reals) {
    (void)info;
    (void)inputs;
    (void)outputs;
    (void)integers;
    (void)reals;
    return 0;
}
