/* Recurrent ops by the matrix engine of the set, only for the reduction that its instruction computes. Everything but
 * the products is that of runtime/kernels/recurrent, and the gradient of the weight is that of linear layers. x86
 * only. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_RECURRENT_H
#define FIRN_KERNELS_VECTOR_ENGINE_RECURRENT_H

#include "runtime/kernels/kernels.h"

/* The scratch of a thread: the packed weight, and a tile. */
uint64_t firn_engine_recurrent_scratch(uint16_t op, const firn_kernel_call *call);
void firn_engine_lstm(const firn_kernel_call *call);
void firn_engine_lstm_backward(const firn_kernel_call *call);
void firn_engine_gru(const firn_kernel_call *call);
void firn_engine_gru_backward(const firn_kernel_call *call);
void firn_engine_rnn(const firn_kernel_call *call);
void firn_engine_rnn_backward(const firn_kernel_call *call);

uint64_t firn_engine_recurrent_weight_scratch(uint16_t op, const firn_kernel_call *call);
void firn_engine_recurrent_backward_weight(const firn_kernel_call *call);

#endif
