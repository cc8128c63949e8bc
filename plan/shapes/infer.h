/* The one door to the shape rules. The compiler infers the outputs of an op with it; the loader infers them again and
 * compares, which is the only place where operands are checked: kernels run blind. Freestanding. */
#ifndef FIRN_PLAN_SHAPES_INFER_H
#define FIRN_PLAN_SHAPES_INFER_H

#include "plan/ops.h"

/* Checks counts, attributes, input shapes and types, and fills rank and dims of every output.
 * In: code, counts, inputs, integers, reals, and outputs[i].type = the type that the caller wants for each output (the
 * rule refuses a type it cannot give).
 * Returns FIRN_OK or FIRN_ERROR_OP_UNKNOWN, _OP_OPERANDS, _OP_ATTRIBUTE or _OP_SHAPE. */
int firn_op_infer(firn_op_signature *signature) __attribute__((warn_unused_result));

#endif
