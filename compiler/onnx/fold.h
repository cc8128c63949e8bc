/* The functions that compute nodes whose inputs are all known: sizes, shapes, masks, tables of positions. The table of
 * ops (ops/ops.c) says which op has which; firnc_onnx_folding (import.h) is what each does. */
#ifndef FIRNC_ONNX_FOLD_H
#define FIRNC_ONNX_FOLD_H

#include "compiler/onnx/import.h"

/* Each element computed from the elements at the same place of the operands, and casts (fold.c). */
const firnc_onnx_tensor *firnc_onnx_fold_apply(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_join(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                              const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_where(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_clip(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                              const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_cast(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                              const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_same(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                              const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_is_inf(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in);

/* The nearest whole number, of two the even one. */
double firnc_onnx_nearest_even(double x);

/* Layout, and what is made from numbers (fold_layout.c). */
const firnc_onnx_tensor *firnc_onnx_fold_reshape(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                 const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_flatten(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                 const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_squeeze(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                 const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_transpose(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                   const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_concat(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_gather(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_slice(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_split(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_expand(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_tile(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                              const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_range(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_constant_of_shape(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                           const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_trilu(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_one_hot(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                 const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_window(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_pad(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                             const firnc_onnx_tensor *const *in);

/* Reductions, running sums and products of matrices (fold_sums.c). */
const firnc_onnx_tensor *firnc_onnx_fold_reduce(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_cumsum(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_arg(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                             const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_matmul(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in);

/* Nodes that take, place, choose or sort elements (fold_indices.c). */
const firnc_onnx_tensor *firnc_onnx_fold_gather_elements(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                         const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_gather_nd(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                   const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_scatter_elements(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                          const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_scatter_nd(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                    const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_top_k(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_non_zero(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                  const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_compress(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                  const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_unique(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_reverse_sequence(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                          const firnc_onnx_tensor *const *in);

/* Quantised numbers (fold_quantised.c). */
const firnc_onnx_tensor *firnc_onnx_fold_dequantize(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                    const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_quantize(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                  const firnc_onnx_tensor *const *in);
/* The type that a QuantizeLinear makes, and the least and the largest number of that type. False after one message. */
bool firnc_onnx_quantised_range(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *type, float *low,
                                float *high);

#endif
