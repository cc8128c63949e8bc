/* The kernels of a matrix engine, for the tables of both sets. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_ENGINE_ROWS_H
#define FIRN_KERNELS_VECTOR_ENGINE_ENGINE_ROWS_H

#include "runtime/kernels/vector/attention/attention.h"
#include "runtime/kernels/vector/engine/conv.h"
#include "runtime/kernels/vector/engine/product.h"
#include "runtime/kernels/vector/engine/recurrent.h"

/* Returns the kernel of an op all of whose reductions are of that kind; empty if there is none. */
static inline firn_kernel_choice firn_engine_find(uint8_t kind, uint16_t op, const firn_reduction *reductions) {
    const firn_kernel_choice none = {.run = NULL};
    const uint16_t code = op == FIRN_KERNEL_ADD_WEIGHT ? FIRN_OP_linear_backward_weight : op;
    const firn_op_info *info = reductions != NULL ? firn_op_find(code) : NULL;
    if (info == NULL)
        return none;
    for (uint8_t i = 0; i < info->reductions; i++)
        if (reductions[i].kind != kind)
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
    case FIRN_OP_conv:
        return (firn_kernel_choice){firn_engine_conv, firn_engine_conv_scratch};
    case FIRN_OP_conv_backward_input:
        return (firn_kernel_choice){firn_engine_conv_backward_input, firn_engine_conv_scratch};
    case FIRN_OP_conv_backward_weight:
        return (firn_kernel_choice){firn_engine_conv_backward_weight, firn_engine_conv_backward_weight_scratch};
    case FIRN_OP_attention:
        return (firn_kernel_choice){firn_vector_attention, firn_vector_attention_scratch};
    case FIRN_OP_attention_backward:
        return (firn_kernel_choice){firn_vector_attention_backward, firn_vector_attention_backward_scratch};
    case FIRN_OP_cross_attention:
        return (firn_kernel_choice){firn_vector_cross_attention, firn_vector_cross_attention_scratch};
    case FIRN_OP_cross_attention_backward:
        return (firn_kernel_choice){firn_vector_cross_attention_backward, firn_vector_cross_attention_backward_scratch};
    case FIRN_OP_lstm:
        return (firn_kernel_choice){firn_engine_lstm, firn_engine_recurrent_scratch};
    case FIRN_OP_lstm_backward:
        return (firn_kernel_choice){firn_engine_lstm_backward, firn_engine_recurrent_scratch};
    case FIRN_OP_gru:
        return (firn_kernel_choice){firn_engine_gru, firn_engine_recurrent_scratch};
    case FIRN_OP_gru_backward:
        return (firn_kernel_choice){firn_engine_gru_backward, firn_engine_recurrent_scratch};
    case FIRN_OP_rnn:
        return (firn_kernel_choice){firn_engine_rnn, firn_engine_recurrent_scratch};
    case FIRN_OP_rnn_backward:
        return (firn_kernel_choice){firn_engine_rnn_backward, firn_engine_recurrent_scratch};
    case FIRN_OP_recurrent_backward_weight:
        return (firn_kernel_choice){firn_engine_recurrent_backward_weight, firn_engine_recurrent_weight_scratch};
    default:
        return none;
    }
}

#endif
