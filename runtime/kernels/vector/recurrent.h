/* Recurrent ops in vectors, for all kinds of sums. Everything but the products is that of
 * runtime/kernels/recurrent; a sum is one lane, which sees its terms in ascending order, so the bits are the same. */
#ifndef FIRN_KERNELS_VECTOR_RECURRENT_H
#define FIRN_KERNELS_VECTOR_RECURRENT_H

#include "runtime/kernels/kernels.h"

/* The scratch of a thread: the packed weight, and rows of a half type that are widened. */
uint64_t firn_vector_recurrent_scratch(uint16_t op, const firn_kernel_call *call);
void firn_vector_lstm(const firn_kernel_call *call);
void firn_vector_lstm_backward(const firn_kernel_call *call);
void firn_vector_gru(const firn_kernel_call *call);
void firn_vector_gru_backward(const firn_kernel_call *call);
void firn_vector_rnn(const firn_kernel_call *call);
void firn_vector_rnn_backward(const firn_kernel_call *call);

/* The gradient of the weight, by that of a linear layer over the steps but the first. */
uint64_t firn_vector_recurrent_weight_scratch(uint16_t op, const firn_kernel_call *call);
void firn_vector_recurrent_backward_weight(const firn_kernel_call *call);

#endif
