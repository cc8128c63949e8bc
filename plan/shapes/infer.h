/* The only interface to the shape rules. The compiler infers the outputs of an op with it. The loader infers them again
 * and compares; this is the only place where operands are checked, so kernels need no checks. Freestanding. */
#ifndef FIRN_PLAN_SHAPES_INFER_H
#define FIRN_PLAN_SHAPES_INFER_H

#include "plan/ops.h"

/* Checks counts, attributes, input shapes and types, and fills in rank and dims of every output. An input of rank 0 is
 * absent; only optional inputs may be, and the last one given is present. Attributes that the caller leaves out, as a
 * plan does, are filled in with their defaults; the last one given may not have its default. The caller sets code,
 * counts, inputs, integers and reals, and in outputs[i].type the type that it wants for each output; the rule refuses a
 * type that the op cannot produce. Returns FIRN_OK or FIRN_ERROR_OP_UNKNOWN, _OP_OPERANDS, _OP_ATTRIBUTE or
 * _OP_SHAPE. */
int firn_op_infer(firn_op_signature *signature) __attribute__((warn_unused_result));

#endif
