/* The ops of fold_layout.c, for the table in fold.c. Only these two include this header. */
#ifndef FIRNC_ONNX_FOLD_H
#define FIRNC_ONNX_FOLD_H

#include "compiler/onnx/import.h"

/* Computes the only output of a node from its inputs, which are all known; those that are left out are NULL. NULL after
 * one message, or if the graph has to compute it. */
typedef const firnc_onnx_tensor *(*firnc_onnx_folding)(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                       const firnc_onnx_tensor *const *in);

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
const firnc_onnx_tensor *firnc_onnx_fold_reduce(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in);
const firnc_onnx_tensor *firnc_onnx_fold_cumsum(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in);
/* Split has several outputs, and sets them itself. False after one message. */
bool firnc_onnx_fold_split(firnc_onnx_importer *im, const firnc_onnx_node *node);

#endif
