/* What the files of the importer share: the values of a model while it is read, and the steps from the file to them.
 * Only compiler/onnx includes this header. */
#ifndef FIRNC_ONNX_IMPORT_H
#define FIRNC_ONNX_IMPORT_H

#include "compiler/base/files.h"
#include "compiler/graph/ir.h"
#include "compiler/onnx/onnx.h"
#include "onnx/onnx.pb-c.h"

/* Element types, by their numbers in the file. */
enum {
    OX_FLOAT = 1,
    OX_UINT8 = 2,
    OX_INT8 = 3,
    OX_UINT16 = 4,
    OX_INT16 = 5,
    OX_INT32 = 6,
    OX_INT64 = 7,
    OX_BOOL = 9,
    OX_FLOAT16 = 10,
    OX_DOUBLE = 11,
    OX_UINT32 = 12,
    OX_UINT64 = 13,
    OX_BFLOAT16 = 16
};

#define OX_ELEMENTS_MAX ((uint64_t)1 << 26) /* of all tensors that are computed here, and of all constants */
#define OX_LIST_MAX     ((int64_t)1 << 24)  /* indices of a Pad or Resize */
#define OX_OPERANDS_MAX 64
#define OX_DEPTH_MAX    16 /* functions that call functions */

/* A tensor whose elements are known: reals or wholes, by its type; bool is 0 or 1. */
typedef struct ox_tensor {
    uint8_t type, rank;
    int64_t dims[FIRN_RANK_MAX];
    uint64_t count;
    float *reals;
    int64_t *wholes;
} ox_tensor;

/* A tensor of the file that may become a parameter. */
typedef struct ox_parameter {
    const char *name;
    const char *outside; /* its name in PyTorch's files, where the exporter has transposed it; else NULL */
    const ox_tensor *tensor;
    firnc_value value;            /* FIRNC_NONE until a layer reads it */
    uint8_t order[FIRN_RANK_MAX]; /* axis i of the value is axis order[i] of the tensor */
} ox_parameter;

struct ox_node;

/* A value of the model. Its extents are those of the file's order of axes; in the graph the axes may stand in another
 * order, and a transpose is made only where an op needs the file's. */
typedef struct ox_value {
    const char *name;
    uint8_t type, rank;
    int64_t dims[FIRN_RANK_MAX];
    const ox_tensor *known;       /* the elements, if they are known without data; else NULL */
    ox_parameter *parameter;      /* known, and a parameter where it is read as a weight; else NULL */
    firnc_value value;            /* in the graph; FIRNC_NONE: not there yet */
    uint8_t order[FIRN_RANK_MAX]; /* axis i of `value` is axis order[i] of this one */
    firnc_value plain;            /* the same in this order, once it was made; else FIRNC_NONE */
    firnc_value input;            /* a data input of whole numbers; else FIRNC_NONE */
    const struct ox_node *producer;
} ox_value;

/* A node while it is read. Inputs that are left out are NULL; so are outputs that nobody names. */
typedef struct ox_node {
    const FirncOnnx__Node *proto;
    const char *op, *layer;
    const struct ox_scope *scope;
    ox_value *inputs[OX_OPERANDS_MAX], *outputs[OX_OPERANDS_MAX];
    uint32_t input_count, output_count;
} ox_node;

/* The names of a graph or of the body of a function. */
typedef struct ox_scope {
    struct ox_entry *entries;
    uint32_t count, capacity;
    const struct ox_scope *reads; /* how each name is read */
    const FirncOnnx__Function *function; /* NULL: the graph */
    const ox_node *caller;
    uint32_t depth;
} ox_scope;

typedef struct ox_importer {
    const char *file;
    firnc_graph *graph;
    const firnc_onnx_options *options;
    FirncOnnx__Model *model;
    int64_t opset;
    const ox_node *node; /* the one that is being read; NULL: none */
    bool failed;         /* a message has been printed */
    ox_parameter **parameters;
    uint32_t parameter_count, parameter_capacity;
    uint64_t elements;  /* that got room (ox_take_room) */
    uint32_t constants; /* number of the next constant, for its name */
} ox_importer;

/* --- messages (import.c) ------------------------------------------------------------------------------------------ */

/* Prints "firnc: FILE: node NAME (OP): message" once; later ones are dropped. Always returns false. */
bool ox_fail(ox_importer *im, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- names (import.c) --------------------------------------------------------------------------------------------- */

/* Whether a node of the file or one of its outputs reads the value that this node makes; in a function: perhaps. */
bool ox_is_read(const ox_importer *im, const ox_node *node, const char *name);

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* Whether bytes are a model within the limits: nested as onnx.proto says, and not of too many parts (scan.c). Returns
 * NULL, or what is wrong. */
const char *ox_scan(const uint8_t *bytes, uint64_t count);

/* Reads the file and checks what concerns it as a whole (file.c). */
bool ox_read(ox_importer *im);

/* Bytes of the file, or of one beside it. */
typedef struct ox_bytes {
    const uint8_t *bytes;
    uint64_t count;
} ox_bytes;

/* The bytes of a tensor that are in a file in the model's folder (external.c). False after one message. */
bool ox_read_external(ox_importer *im, const FirncOnnx__Tensor *from, const char *name, uint64_t bytes, ox_bytes *to);

/* The elements of a tensor of the file (tensor.c). NULL after one message. */
const ox_tensor *ox_tensor_read(ox_importer *im, const FirncOnnx__Tensor *from, const char *name);

/* --- known tensors (tensor.c) ------------------------------------------------------------------------------------- */

bool ox_is_real(uint8_t type);
const char *ox_type_word(int32_t type);
/* A tensor with elements that are zero. NULL after one message if it would be too large. */
ox_tensor *ox_tensor_new(ox_importer *im, uint8_t type, uint8_t rank, const int64_t *dims);
/* Counts elements that get room, so that a small file cannot ask for much. False after one message. */
bool ox_take_room(ox_importer *im, uint64_t elements);
ox_tensor *ox_tensor_scalar(ox_importer *im, uint8_t type, double value);
double ox_number(const ox_tensor *tensor, uint64_t element);
/* A real number as a whole one, whatever it is. */
int64_t ox_truncated(double number);
void ox_put(ox_tensor *tensor, uint64_t element, double number);
/* The tensor with its axes in another order: axis i is axis order[i] of what it was. */
const ox_tensor *ox_tensor_ordered(const ox_tensor *tensor, const uint8_t *order);

/* The elements in another type (fold.c). NULL after one message. */
const ox_tensor *ox_tensor_cast(ox_importer *im, const ox_tensor *x, int64_t type);

/* Computes a node whose inputs are all known (fold.c). Returns false if it does not know the op; *done says whether it
 * has set the outputs. */
bool ox_fold(ox_importer *im, const ox_node *node, bool *done);

/* --- attributes (attributes.c) ------------------------------------------------------------------------------------ */

const FirncOnnx__Attribute *ox_attribute(const ox_node *node, const char *name);
bool ox_has(const ox_node *node, const char *name);
int64_t ox_integer(const ox_node *node, const char *name, int64_t usual);
float ox_float(const ox_node *node, const char *name, float usual);
const char *ox_text(const ox_node *node, const char *name, const char *usual);
/* The number of integers of a list; 0 if it is not there. */
uint32_t ox_integers(const ox_node *node, const char *name, const int64_t **list);
/* An axis from -rank to rank - 1; 0 after one message. */
uint8_t ox_axis(ox_importer *im, int64_t axis, uint8_t rank);
/* The elements of an input that must be known, as a list of integers. False after one message; an input that is left
 * out gives a count of FIRNC_NONE. */
bool ox_list(ox_importer *im, const ox_node *node, uint32_t input, const char *what, const int64_t **list,
             uint32_t *count);

/* --- values (values.c) -------------------------------------------------------------------------------------------- */

ox_value *ox_value_new(const char *name);
void ox_identity(uint8_t *order);
uint64_t ox_count(const ox_value *value);
/* Gives an output its elements. */
void ox_set_known(ox_value *to, const ox_tensor *tensor);
/* Gives an output a value of the graph, whose axes stand in the order of the file. Its rank may be 0: then the value has
 * one element. */
void ox_set(ox_importer *im, ox_value *to, firnc_value value, uint8_t type, uint8_t rank);
/* The same for a value with its axes in another order; NULL: the order of the file. */
void ox_set_ordered(ox_importer *im, ox_value *to, firnc_value value, uint8_t type, uint8_t rank, const uint8_t *order);
/* Makes an output another name of a value. */
void ox_alias(ox_value *to, const ox_value *from);
/* Whether the elements are known and are no weights. */
bool ox_is_constant(const ox_value *value);
/* The only element of a known value of one element; false if it is not one. */
bool ox_single(const ox_value *value, double *number);
/* The value in the graph in whatever order it has there. */
firnc_value ox_raw(ox_importer *im, ox_value *value);
/* With its axes in the order of the file, or in any order; `rank` may be larger than its own: then it has extents of 1
 * in front. */
firnc_value ox_plain(ox_importer *im, ox_value *value);
firnc_value ox_ordered(ox_importer *im, ox_value *value, uint8_t rank, const uint8_t *order);
/* The same as int32, for indices. */
firnc_value ox_indices(ox_importer *im, ox_value *value);
/* A known tensor as a constant of the graph, float32 or int32. */
firnc_value ox_constant(ox_importer *im, const ox_tensor *tensor, firn_type type);
firnc_value ox_scalar(ox_importer *im, float number);
/* Makes a known value one that may become the parameter of this name (import.c). */
void ox_parameter_new(ox_importer *im, ox_value *value, const char *name);
/* Whether all elements are equal (import.c). */
bool ox_is_uniform(const ox_tensor *tensor);
/* The parameter in the graph; if it is not there yet, with its axes in this order. */
firnc_value ox_parameter_value(ox_importer *im, ox_parameter *parameter, const uint8_t *order);
/* The order with the axis `first` behind the first one last, and the others as they are: channels last. */
void ox_channels_last(uint8_t rank, uint8_t *order);
/* The order with one axis last. */
void ox_axis_last(uint8_t rank, uint8_t axis, uint8_t *order);
/* Where the axis stands. */
uint8_t ox_place(const uint8_t *order, uint8_t rank, uint8_t axis);

/* --- ops of the graph (build.c): every one infers its result's extents at once; FIRNC_NONE after a message --------- */

const firn_shape *ox_shape(const ox_importer *im, firnc_value value);
/* Infers the results of the op that made this value. */
firnc_value ox_made(ox_importer *im, firnc_value value);
firnc_value ox_reshape(ox_importer *im, firnc_value x, uint8_t rank, const int64_t *dims);
firnc_value ox_transpose(ox_importer *im, firnc_value x, const uint8_t *order);
firnc_value ox_slice(ox_importer *im, firnc_value x, uint8_t axis, int64_t first, int64_t step, int64_t count);
firnc_value ox_expand(ox_importer *im, firnc_value x, uint8_t rank, const int64_t *dims);
firnc_value ox_pad(ox_importer *im, firnc_value x, uint8_t axis, int64_t before, int64_t after, float value);
firnc_value ox_concat(ox_importer *im, const firnc_value *xs, uint32_t count, uint8_t axis);
firnc_value ox_affine(ox_importer *im, firnc_value x, float scale, float shift);
/* An op of one or two operands, such as FIRN_OP_relu or FIRN_OP_subtract; operands may be broadcast. */
firnc_value ox_unary(ox_importer *im, firn_op_code code, firnc_value x);
firnc_value ox_binary(ox_importer *im, firn_op_code code, firnc_value a, firnc_value b);
firnc_value ox_select(ox_importer *im, firnc_value condition, firnc_value a, firnc_value b);
firnc_value ox_sum(ox_importer *im, firnc_value x, uint32_t axes, bool keep);
firnc_value ox_mean(ox_importer *im, firnc_value x, uint32_t axes, bool keep);
firnc_value ox_maximum(ox_importer *im, firnc_value x, uint32_t axes, bool keep);
firnc_value ox_gather(ox_importer *im, firnc_value x, firnc_value ids, uint8_t axis);
/* a [..., M, K] b [..., K, N] with equal leading extents. */
firnc_value ox_matmul(ox_importer *im, firnc_value a, firnc_value b, bool transpose_a, bool transpose_b);
/* As float32 where it is int32, and the other way round. */
firnc_value ox_real(ox_importer *im, firnc_value x);
firnc_value ox_whole(ox_importer *im, firnc_value x);

/* --- the ops of ONNX ---------------------------------------------------------------------------------------------- */

typedef bool (*ox_function)(ox_importer *im, const ox_node *node);

/* A row of the table of ops (ops.c). */
typedef struct ox_op {
    const char *name;
    ox_function import;
    const char *attributes; /* that it reads, separated by spaces */
    uint8_t inputs_min, inputs_max, outputs_max;
    uint8_t since; /* the opset that brought it; 0: before 13 */
} ox_op;

const ox_op *ox_op_find(const char *name);
/* The op of the table whose name is nearest to one that is not there. */
const char *ox_op_nearest(const char *name);

bool ox_import_unary(ox_importer *im, const ox_node *node);
bool ox_import_binary(ox_importer *im, const ox_node *node);
bool ox_import_clip(ox_importer *im, const ox_node *node);
bool ox_import_where(ox_importer *im, const ox_node *node);
bool ox_import_cast(ox_importer *im, const ox_node *node);
bool ox_import_dropout(ox_importer *im, const ox_node *node);
bool ox_import_prelu(ox_importer *im, const ox_node *node);
bool ox_import_softmax(ox_importer *im, const ox_node *node);
bool ox_import_reduce(ox_importer *im, const ox_node *node);
bool ox_import_arg(ox_importer *im, const ox_node *node);
bool ox_import_cumsum(ox_importer *im, const ox_node *node);
bool ox_import_identity(ox_importer *im, const ox_node *node);
bool ox_import_constant(ox_importer *im, const ox_node *node);
bool ox_import_shape(ox_importer *im, const ox_node *node);
bool ox_import_reshape(ox_importer *im, const ox_node *node);
bool ox_import_transpose(ox_importer *im, const ox_node *node);
bool ox_import_concat(ox_importer *im, const ox_node *node);
bool ox_import_split(ox_importer *im, const ox_node *node);
bool ox_import_split_to_sequence(ox_importer *im, const ox_node *node);
bool ox_import_sequence_at(ox_importer *im, const ox_node *node);
bool ox_import_slice(ox_importer *im, const ox_node *node);
bool ox_import_pad(ox_importer *im, const ox_node *node);
bool ox_import_expand(ox_importer *im, const ox_node *node);
bool ox_import_tile(ox_importer *im, const ox_node *node);
bool ox_import_gather(ox_importer *im, const ox_node *node);
bool ox_import_gather_elements(ox_importer *im, const ox_node *node);
bool ox_import_scatter_nd(ox_importer *im, const ox_node *node);
bool ox_import_trilu(ox_importer *im, const ox_node *node);
bool ox_import_one_hot(ox_importer *im, const ox_node *node);
bool ox_import_resize(ox_importer *im, const ox_node *node);
bool ox_import_depth(ox_importer *im, const ox_node *node);
bool ox_import_only_known(ox_importer *im, const ox_node *node);
bool ox_import_matmul(ox_importer *im, const ox_node *node);
bool ox_import_gemm(ox_importer *im, const ox_node *node);
bool ox_import_einsum(ox_importer *im, const ox_node *node);
bool ox_import_conv(ox_importer *im, const ox_node *node);
bool ox_import_conv_transpose(ox_importer *im, const ox_node *node);
bool ox_import_pool(ox_importer *im, const ox_node *node);
bool ox_import_global_pool(ox_importer *im, const ox_node *node);
bool ox_import_batch_norm(ox_importer *im, const ox_node *node);
bool ox_import_layer_norm(ox_importer *im, const ox_node *node);
bool ox_import_rms_norm(ox_importer *im, const ox_node *node);
bool ox_import_group_norm(ox_importer *im, const ox_node *node);
bool ox_import_recurrent(ox_importer *im, const ox_node *node);
bool ox_import_attention(ox_importer *im, const ox_node *node);

/* Softmax of the products of queries and keys [B,heads,T,D], times the values, as one op; the heads of keys and values
 * may be fewer (ops_attention.c). */
typedef struct ox_attention {
    bool causal;
    float scale, dropout_rate;
} ox_attention;
bool ox_attend(ox_importer *im, ox_value *q, ox_value *k, ox_value *v, const ox_attention *attention, ox_value *to);

/* The first element, step and number of elements of each axis of Slice (ops_layout.c). */
bool ox_slice_bounds(ox_importer *im, const ox_node *node, int64_t *first, int64_t *step, int64_t *counts);

/* Patterns of several nodes that are one op here (patterns.c). Each looks back from the node that ends the pattern and
 * sets its output; *found says whether it did. What they replace is read by nobody and left out of the plan. */
bool ox_match_product(ox_importer *im, const ox_node *node, bool *found);
bool ox_match_sum(ox_importer *im, const ox_node *node, bool *found);
bool ox_match_attention(ox_importer *im, const ox_node *node, bool *found);

#endif
