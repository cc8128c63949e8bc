/* What the files of folding share: the ops in its table, and walks over operands that are repeated. Only fold.c and
 * fold_layout.c include this header. */
#ifndef FIRNC_ONNX_FOLD_H
#define FIRNC_ONNX_FOLD_H

#include "compiler/onnx/import.h"

/* Computes the only output of a node from its inputs, which are all known; those that are left out are NULL. NULL after
 * one message, or if the graph has to compute it. */
typedef const firnc_onnx_tensor *(*firnc_onnx_folding)(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                       const firnc_onnx_tensor *const *in);

/* The position in an operand for each element of a result, by broadcasting. */
typedef struct firnc_onnx_walk {
    int64_t steps[FIRN_RANK_MAX], at[FIRN_RANK_MAX];
    uint64_t position;
} firnc_onnx_walk;

/* `to` has the extents to which `from` is repeated. */
void firnc_onnx_walk_begin(firnc_onnx_walk *w, const firnc_onnx_tensor *from, const firnc_onnx_tensor *to);
void firnc_onnx_walk_on(firnc_onnx_walk *w, const firnc_onnx_tensor *to);

/* A tensor with the extents that several have together by broadcasting. NULL after one message. */
firnc_onnx_tensor *firnc_onnx_broadcast(firnc_onnx_importer *im, uint8_t type, const firnc_onnx_tensor *const *from,
                                        uint32_t count);

/* Copies an element between tensors of one type. */
static inline void firnc_onnx_copy_element(firnc_onnx_tensor *to, uint64_t at, const firnc_onnx_tensor *from,
                                           uint64_t element) {
    if (to->reals != NULL)
        to->reals[at] = from->reals[element];
    else
        to->wholes[at] = from->wholes[element];
}

/* --- ops of fold_layout.c ----------------------------------------------------------------------------------------- */

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
