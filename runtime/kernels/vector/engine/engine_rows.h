/* The kernels of a matrix engine, for the tables of both sets. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_ENGINE_ROWS_H
#define FIRN_KERNELS_VECTOR_ENGINE_ENGINE_ROWS_H

#include "runtime/kernels/vector/engine/product.h"

/* Returns the kernel of an op whose first reduction is of that kind; empty if there is none. */
static inline firn_kernel_choice firn_engine_find(uint8_t kind, uint16_t op, const firn_reduction *reduction) {
    const firn_kernel_choice none = {.run = NULL};
    if (reduction == NULL || reduction->kind != kind)
        return none;
    switch (op) {
    case FIRN_OP_linear:
        return (firn_kernel_choice){firn_engine_linear, firn_engine_linear_scratch};
    case FIRN_OP_linear_backward_input:
        return (firn_kernel_choice){firn_engine_linear_backward_input, firn_engine_linear_scratch};
    case FIRN_OP_linear_backward_weight:
        return (firn_kernel_choice){firn_engine_linear_backward_weight, firn_engine_linear_scratch};
    case FIRN_OP_linear_backward_weight_rows:
        return (firn_kernel_choice){firn_engine_linear_backward_weight_rows, firn_engine_linear_scratch};
    case FIRN_KERNEL_ADD_WEIGHT:
        return (firn_kernel_choice){firn_engine_add_weight, firn_engine_linear_scratch};
    case FIRN_OP_matmul:
        return (firn_kernel_choice){firn_engine_matmul, firn_engine_matmul_scratch};
    default:
        return none;
    }
}

#endif
