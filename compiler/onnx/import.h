/* What the files of the importer share: the values of a model while it is read, and the steps from the file to them.
 * Only compiler/onnx and its ops include this header. */
#ifndef FIRNC_ONNX_IMPORT_H
#define FIRNC_ONNX_IMPORT_H

#include "compiler/base/files.h"
#include "compiler/graph/ir.h"
#include "compiler/onnx/onnx.h"
#include "onnx/onnx.pb-c.h"

/* Element types, by their numbers in the file. */
enum {
    FIRNC_ONNX_FLOAT = 1,
    FIRNC_ONNX_UINT8 = 2,
    FIRNC_ONNX_INT8 = 3,
    FIRNC_ONNX_UINT16 = 4,
    FIRNC_ONNX_INT16 = 5,
    FIRNC_ONNX_INT32 = 6,
    FIRNC_ONNX_INT64 = 7,
    FIRNC_ONNX_BOOL = 9,
    FIRNC_ONNX_FLOAT16 = 10,
    FIRNC_ONNX_DOUBLE = 11,
    FIRNC_ONNX_UINT32 = 12,
    FIRNC_ONNX_UINT64 = 13,
    FIRNC_ONNX_BFLOAT16 = 16
};

#define FIRNC_ONNX_ELEMENTS_MAX ((uint64_t)1 << 26) /* of all tensors that are computed here, and of all constants */
#define FIRNC_ONNX_LIST_MAX     ((int64_t)1 << 24)  /* indices of a Pad or Resize */
#define FIRNC_ONNX_EXACT_MAX    (1 << 24)           /* float32 has every whole number up to this one */
#define FIRNC_ONNX_OPERANDS_MAX 64
#define FIRNC_ONNX_DEPTH_MAX    16 /* functions that call functions */

/* A tensor whose elements are known: reals or wholes, by its type; bool is 0 or 1. */
typedef struct firnc_onnx_tensor {
    uint8_t type, rank;
    int64_t dims[FIRN_RANK_MAX];
    uint64_t count;
    float *reals;
    int64_t *wholes;
} firnc_onnx_tensor;

/* What a tensor is to the PyTorch module. */
enum {
    FIRNC_ONNX_UNKNOWN,   /* the file does not say */
    FIRNC_ONNX_PARAMETER, /* or computed from parameters */
    FIRNC_ONNX_BUFFER,    /* no parameter, but in the module's state_dict */
    FIRNC_ONNX_HIDDEN     /* neither: a constant */
};

/* How a tensor of the file relates to the module's tensor. */
enum {
    FIRNC_ONNX_AS_IS,
    FIRNC_ONNX_TRANSPOSED, /* a matrix; the module's has its rows as columns */
    FIRNC_ONNX_FLAT,       /* the module's has the same elements in one dimension */
    FIRNC_ONNX_COMPUTED    /* the module's has other elements */
};

/* A tensor of the module, as the exporter lists it. */
typedef struct firnc_onnx_target {
    const char *name;
    uint8_t kind;
    uint32_t place; /* in the list */
    bool written;   /* by firnc weights; known after the import (firnc_onnx_map_weights) */
} firnc_onnx_target;

/* What is known of where a tensor of the file comes from. */
typedef struct firnc_onnx_origin {
    uint8_t kind, form;
    bool folded;      /* the exporter has computed the tensor, or its name is not one of the module's */
    const char *name; /* of the module's tensor; NULL: unknown, or it was computed from several */
    const char *from; /* of computed tensors: the parameters that it was computed from; NULL: unknown */
} firnc_onnx_origin;

/* A tensor of the file that may become a parameter. */
typedef struct firnc_onnx_parameter {
    const char *name;
    uint8_t form;  /* how the tensor of the file relates to the module's tensor of this name: FIRNC_ONNX_AS_IS, ... */
    bool unnamed;  /* PyTorch has written the file, and the name is not one of the module's state_dict */
    bool of_layer; /* named after the layer alone that multiplies by it (name_weight) */
    const char *from; /* as in firnc_onnx_origin */
    const firnc_onnx_tensor *tensor;
    uint64_t sum;                 /* firnc_onnx_sum_of the tensor */
    firnc_value value;            /* FIRNC_NONE until a layer reads it */
    uint8_t order[FIRN_RANK_MAX]; /* axis i of the value is axis order[i] of the tensor */
} firnc_onnx_parameter;

/* A second name that the module has for a parameter, as of a tied output layer. */
typedef struct firnc_onnx_copy {
    const firnc_onnx_parameter *parameter;
    const char *name;
    bool guessed; /* by the place of a node */
    bool merged;  /* perhaps: the two may be no more than equal at the start (is_merged) */
} firnc_onnx_copy;

/* The module of the nodes of a path, which their names list (layers.c). */
typedef struct firnc_onnx_layer {
    const char *path, *module;
    bool guessed; /* by its place in a Sequential */
    bool unsure;  /* no name says in which containers it is, and other nodes of the file do leave out containers */
} firnc_onnx_layer;

struct firnc_onnx_node;

/* A value of the model. Its extents are those of the file's order of axes; in the graph the axes may stand in another
 * order, and a transpose is made only where an op needs the file's. */
typedef struct firnc_onnx_value {
    const char *name;
    uint8_t type, rank;
    int64_t dims[FIRN_RANK_MAX];
    const firnc_onnx_tensor *known;  /* the elements, if they are known without data; else NULL */
    firnc_onnx_parameter *parameter; /* known, and a parameter where it is read as a weight; else NULL */
    firnc_value value;               /* in the graph; FIRNC_NONE: not there yet */
    uint8_t order[FIRN_RANK_MAX];    /* axis i of `value` is axis order[i] of this one */
    firnc_value plain;               /* the same in this order, once it was made; else FIRNC_NONE */
    firnc_value input;               /* a data input of whole numbers; else FIRNC_NONE */
    const struct firnc_onnx_node *producer;
} firnc_onnx_value;

/* A node while it is read. Inputs that are left out are NULL; so are outputs that nobody names. */
typedef struct firnc_onnx_node {
    const FirncOnnx__Node *proto, *next; /* and the one behind it in the file, or NULL */
    const char *op, *path, *layer;       /* `path` is in the node's name; `layer` is the module */
    bool guessed;                        /* the layer, by its place in a Sequential */
    bool unsure; /* `layer` may leave out containers of the module, as names of other nodes do */
    struct firnc_onnx_scope *scope;
    firnc_onnx_value *inputs[FIRNC_ONNX_OPERANDS_MAX], *outputs[FIRNC_ONNX_OPERANDS_MAX];
    uint32_t input_count, output_count;
} firnc_onnx_node;

/* The names of a graph, of a branch of If, of one step of Loop, or of the body of a function. */
typedef struct firnc_onnx_scope {
    struct firnc_onnx_scope *outer;   /* of a branch: where its If is; the branch reads its names, too */
    struct firnc_onnx_entry *entries; /* a hash table (names.c) */
    uint32_t capacity;
    const struct firnc_onnx_scope *reads; /* how each name is read */
    const FirncOnnx__Function *function;  /* NULL: the graph */
    const firnc_onnx_node *caller;
    uint32_t depth;
    bool repeats; /* within a loop */
} firnc_onnx_scope;

typedef struct firnc_onnx_importer {
    const char *file;
    firnc_graph *graph;
    const firnc_onnx_options *options;
    FirncOnnx__Model *model;
    int64_t opset;
    const firnc_onnx_node *node; /* the one that is being read; NULL: none */
    bool failed;                 /* a message has been printed */
    uint32_t nodes_read;
    bool chooses; /* put the chosen branch of each If outside of functions and loops in the place of both branches */
    firnc_onnx_parameter **parameters;
    uint32_t parameter_count, parameter_capacity;
    uint32_t fixed_norms;  /* batch norms whose statistics no training changes */
    uint64_t elements;     /* that got room (firnc_onnx_take_room) */
    uint32_t constants;    /* number of the next constant, for its name */
    uint32_t ops, counted; /* ops: how many of the first `counted` nodes of the graph stay in any plan */
    bool *matched;         /* for each pattern of options->constants: it matches a tensor */
    bool *padded;          /* for each row of options->padding: a node looks it up */
    /* what PyTorch's exporters say (origin.c): the module's tensors and the values of the graph, both sorted by name */
    firnc_onnx_target **targets;
    uint32_t target_count, target_capacity;
    FirncOnnx__ValueInfo **infos;
    size_t info_count;
    const char **indexed; /* the tensors that an index reads as they are, sorted by name */
    uint32_t indexed_count;
    bool listed, torchscript;     /* `targets` has every tensor of the module; TorchScript has written the file */
    const char *group_norm;       /* the layer of the last InstanceNormalization; NULL: none (firnc_onnx_name_by_use) */
    struct firnc_onnx_kept *kept; /* tensors of the module that the plan does not train (parameters.c) */
    uint32_t kept_count, kept_capacity;
    firnc_onnx_copy *copies; /* names of the module that a parameter has beside its own */
    uint32_t copy_count, copy_capacity;
    const char **warnings; /* of tensors that are not trained */
    uint32_t warning_count, warning_capacity;
    firnc_onnx_layer *layers; /* of paths that are not the module's, sorted; every other path is the module's */
    uint32_t layer_count, layer_capacity;
    bool lacks_containers; /* one of the layers has another path than its module */
} firnc_onnx_importer;

/* --- messages and words (message.c) ------------------------------------------------------------------------------- */

/* Prints "firnc: FILE: node NAME (OP): message" once; later ones are dropped. Always returns false. */
bool firnc_onnx_fail(firnc_onnx_importer *im, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether a word is one of a list separated by spaces. */
bool firnc_onnx_is_listed(const char *list, const char *word);

/* A text of the file; "" where the file has none. */
static inline const char *firnc_onnx_or_empty(const char *text) {
    return text == NULL ? "" : text;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* Whether bytes are a model within the limits: nested as onnx.proto says, and not of too many parts (scan.c). Returns
 * NULL, or what is wrong. */
const char *firnc_onnx_scan(const uint8_t *bytes, uint64_t count);

/* Reads the file and checks what concerns it as a whole (file.c). */
bool firnc_onnx_read(firnc_onnx_importer *im);

/* Bytes of the file, or of one beside it. */
typedef struct firnc_onnx_bytes {
    const uint8_t *bytes;
    uint64_t count;
} firnc_onnx_bytes;

/* The bytes of a tensor that are in a file in the model's folder (external.c). False after one message. */
bool firnc_onnx_read_external(firnc_onnx_importer *im, const FirncOnnx__Tensor *from, const char *name, uint64_t bytes,
                              firnc_onnx_bytes *to);

/* The elements of a tensor of the file (tensor.c). NULL after one message. */
const firnc_onnx_tensor *firnc_onnx_tensor_read(firnc_onnx_importer *im, const FirncOnnx__Tensor *from,
                                                const char *name);

/* The elements of a sparse tensor of the file, which lists only some; all others are 0. NULL after one message. */
const firnc_onnx_tensor *firnc_onnx_tensor_read_sparse(firnc_onnx_importer *im, const FirncOnnx__SparseTensor *from,
                                                       const char *name);

/* --- known tensors (tensor.c) ------------------------------------------------------------------------------------- */

/* Whether a number in the file is an element type that Firn reads. */
bool firnc_onnx_is_type(int64_t type);
bool firnc_onnx_is_real(uint8_t type);
/* Bytes of an element; 0 for a type that Firn does not read. */
uint8_t firnc_onnx_type_bytes(int64_t type);
const char *firnc_onnx_type_word(int64_t type);
/* A tensor with elements that are zero. NULL after one message if it would be too large. */
firnc_onnx_tensor *firnc_onnx_tensor_new(firnc_onnx_importer *im, uint8_t type, uint8_t rank, const int64_t *dims);
/* Makes extents those that they and others have together, by NumPy's rule of repetition. False if they do not fit. */
bool firnc_onnx_join_extents(uint8_t *rank, int64_t *dims, uint8_t other_rank, const int64_t *other);
/* Whether a value is known to have no element (empty.c). */
bool firnc_onnx_is_empty(const struct firnc_onnx_value *value);
/* Sets the output of a node with an empty operand, if it follows from the extents; *done says whether. False after one
 * message. */
bool firnc_onnx_import_empty(firnc_onnx_importer *im, const struct firnc_onnx_node *node, bool *done);
/* Lists where the file has each parameter (stored.c); after the nodes of the graph have been read. */
void firnc_onnx_list_stored(const firnc_onnx_importer *im, const firnc_onnx_scope *scope, firnc_onnx_model *model);
/* The elements of a tensor of the file, of these extents, from the values of its parameter. */
void firnc_onnx_lay_out(const firnc_onnx_stored *stored, const int64_t *dims, uint64_t count, const float *values,
                        float *to);
/* Counts elements that get room, so that a small file cannot ask for much. False after one message. */
bool firnc_onnx_take_room(firnc_onnx_importer *im, uint64_t elements);
firnc_onnx_tensor *firnc_onnx_tensor_scalar(firnc_onnx_importer *im, uint8_t type, double value);
double firnc_onnx_number(const firnc_onnx_tensor *tensor, uint64_t element);
/* A real number as a whole one, whatever it is. */
int64_t firnc_onnx_truncated(double number);
void firnc_onnx_put(firnc_onnx_tensor *tensor, uint64_t element, double number);
/* The tensor with its axes in another order: axis i is axis order[i] of what it was. */
const firnc_onnx_tensor *firnc_onnx_tensor_ordered(const firnc_onnx_tensor *tensor, const uint8_t *order);

/* The same elements with other extents, of as many elements. */
const firnc_onnx_tensor *firnc_onnx_tensor_shaped(const firnc_onnx_tensor *x, uint8_t rank, const int64_t *dims);

/* The number of elements of a slice of the tensor that has the axes from `axis` on; 1 behind the last axis. */
uint64_t firnc_onnx_elements_from(const firnc_onnx_tensor *tensor, uint32_t axis);
/* Whether at most one extent is not 1. */
bool firnc_onnx_is_vector(const firnc_onnx_tensor *tensor);

/* The position in a tensor for each element of another one, from the first to the last: steps[i] is what the position
 * moves by where axis i of the other one goes on. */
typedef struct firnc_onnx_walk {
    int64_t steps[FIRN_RANK_MAX], at[FIRN_RANK_MAX];
    uint64_t position;
} firnc_onnx_walk;

/* Begins a walk in `from`, which is repeated to the extents of `to`. */
void firnc_onnx_walk_begin(firnc_onnx_walk *w, const firnc_onnx_tensor *from, const firnc_onnx_tensor *to);
/* Goes on to the next element of `to`. */
void firnc_onnx_walk_on(firnc_onnx_walk *w, const firnc_onnx_tensor *to);

/* A tensor with the extents that several have together by broadcasting. NULL after one message. */
firnc_onnx_tensor *firnc_onnx_broadcast(firnc_onnx_importer *im, uint8_t type, const firnc_onnx_tensor *const *from,
                                        uint32_t count);

/* Copies an element between tensors of one type. */
static inline void firnc_onnx_copy_element(firnc_onnx_tensor *to, uint64_t at, const firnc_onnx_tensor *from,
                                           uint64_t element) {
    if (firnc_onnx_is_real(to->type))
        to->reals[at] = from->reals[element];
    else
        to->wholes[at] = from->wholes[element];
}

/* Whether Cast can give this type. False after one message. */
bool firnc_onnx_check_cast(firnc_onnx_importer *im, int64_t type);
/* The elements in another type (fold.c). NULL after one message, also if there is no such type. */
const firnc_onnx_tensor *firnc_onnx_tensor_cast(firnc_onnx_importer *im, const firnc_onnx_tensor *x, int64_t type);

/* A whole number in a type, which keeps the low bits that it has room for (fold.c). */
int64_t firnc_onnx_narrowed(int64_t x, uint8_t type);

/* --- names (names.c) ---------------------------------------------------------------------------------------------- */

/* How a value is read: not at all, only where a change of its elements has no gradient, or otherwise. */
enum { FIRNC_ONNX_UNREAD, FIRNC_ONNX_READ, FIRNC_ONNX_DIFFERENTIATED };

/* The names that nodes have, those of their branches, too. */
uint64_t firnc_onnx_count_names(FirncOnnx__Node *const *nodes, size_t count);
/* Makes room for so many names. */
void firnc_onnx_open_scope(firnc_onnx_scope *scope, uint64_t names);
/* The value of a name, here or in the scopes around a branch; NULL: there is none. */
firnc_onnx_value *firnc_onnx_find(const firnc_onnx_scope *scope, const char *name);
/* Adds a name. False after one message if it is there already. */
bool firnc_onnx_define(firnc_onnx_importer *im, firnc_onnx_scope *scope, const char *name, firnc_onnx_value *value);
/* Notes in `reads`, an empty scope, how each name of a list of nodes is read, from the last node to the first. */
void firnc_onnx_find_reads(firnc_onnx_scope *reads, FirncOnnx__Node *const *nodes, size_t count, char *const *outputs,
                           size_t output_count);
/* Notes how each name of a graph is read. */
void firnc_onnx_find_graph_reads(firnc_onnx_scope *reads, const FirncOnnx__Graph *graph);
uint8_t firnc_onnx_how_read(const firnc_onnx_scope *reads, const char *name);
/* What an exporter has noted under this key; NULL: nothing. */
const char *firnc_onnx_property(FirncOnnx__Entry *const *entries, size_t count, const char *key);

/* --- what the exporter says (origin.c) ---------------------------------------------------------------------------- */

/* Reads what the file says about the module's tensors. */
void firnc_onnx_read_origins(firnc_onnx_importer *im);
/* The module's tensor of this name, if the file lists it; else NULL. */
firnc_onnx_target *firnc_onnx_target_find(const firnc_onnx_importer *im, const char *name);
firnc_onnx_origin firnc_onnx_origin_of(const firnc_onnx_importer *im, const firnc_onnx_tensor *tensor,
                                       const char *name);

/* --- layers (layers.c) -------------------------------------------------------------------------------------------- */

/* The modules in a node's name or notes, joined by dots; `before` where it has none. */
const char *firnc_onnx_path_of(const FirncOnnx__Node *node, const char *before);
/* Finds the modules of paths that are not the modules' own, by the parameters that nodes read and by their order. */
void firnc_onnx_find_layers(firnc_onnx_importer *im, const firnc_onnx_scope *scope, const FirncOnnx__Graph *graph);
firnc_onnx_layer firnc_onnx_layer_of(const firnc_onnx_importer *im, const char *path);

/* --- parameters (parameters.c) ------------------------------------------------------------------------------------ */

/* Makes the tensor of a Constant node one that may become a parameter, if it is like one of the file: exporters of
 * other tools than PyTorch write weights so. */
void firnc_onnx_add_constant(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_onnx_value *value);
/* Defines the tensors of a graph of the file, which may become parameters. False after one message. */
bool firnc_onnx_add_initializers(firnc_onnx_importer *im, firnc_onnx_scope *scope, const FirncOnnx__Graph *graph);
/* Notes the second name of a parameter that a node of another layer reads, such as that of a tied output layer. */
void firnc_onnx_note_copy(firnc_onnx_importer *im, const firnc_onnx_scope *scope, const firnc_onnx_node *node,
                          const firnc_onnx_value *value);
/* Names an unnamed parameter after the layer of a node that reads it, if the op tells which of the layer's parameters
 * it is. Nodes come in the order of the file. */
void firnc_onnx_name_by_use(firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_value *value);
/* The bias of zeros that the exporter's optimizer has left out of a node; NULL if it has left out none. */
firnc_onnx_value *firnc_onnx_left_out_bias(firnc_onnx_importer *im, firnc_onnx_scope *scope,
                                           const firnc_onnx_node *node);
/* The sum of the bits of the reals: two tensors that hold the same reals in another order have the same sum. */
uint64_t firnc_onnx_sum_of(const firnc_onnx_tensor *tensor);
/* The parameter of this name, or NULL. */
firnc_onnx_parameter *firnc_onnx_parameter_find(const firnc_onnx_importer *im, const char *name);
/* The value that a node of this layer reads for one that may be a parameter. Exporters write parameters that are equal
 * at the start, such as the ones and zeros of new norms, as one tensor: a node outside of the module in its name gets a
 * parameter of its own. */
firnc_onnx_value *firnc_onnx_own_parameter(firnc_onnx_importer *im, firnc_onnx_scope *scope, firnc_onnx_value *value,
                                           const char *layer);
/* Whether the user says that a tensor is no parameter. */
bool firnc_onnx_is_never_trained(firnc_onnx_importer *im, const char *name);
/* Lists how the parameters lie in PyTorch's files. */
void firnc_onnx_map_weights(firnc_onnx_importer *im, firnc_onnx_model *model);

/* --- inputs and outputs (ports.c) --------------------------------------------------------------------------------- */

/* Whether the file does not say how large an extent is. */
bool firnc_onnx_is_open(const FirncOnnx__Extent *extent);
/* Whether an extent of an input that has a shape is open and has this name: its own, or "INPUT.AXIS". */
bool firnc_onnx_is_extent(const FirncOnnx__ValueInfo *input, uint32_t axis, const char *name);
bool firnc_onnx_add_inputs(firnc_onnx_importer *im, firnc_onnx_scope *scope, firnc_onnx_model *model);
bool firnc_onnx_add_outputs(firnc_onnx_importer *im, const firnc_onnx_scope *scope, firnc_onnx_model *model);

/* --- attributes (attributes.c) ------------------------------------------------------------------------------------ */

const FirncOnnx__Attribute *firnc_onnx_attribute(const firnc_onnx_node *node, const char *name);
/* The graph that is an attribute. */
const FirncOnnx__Graph *firnc_onnx_graph(const firnc_onnx_node *node, const char *name);
bool firnc_onnx_has(const firnc_onnx_node *node, const char *name);
int64_t firnc_onnx_integer(const firnc_onnx_node *node, const char *name, int64_t usual);
float firnc_onnx_float(const firnc_onnx_node *node, const char *name, float usual);
/* The text; a zero in it, and what is behind 1,024 bytes, is one "?". */
const char *firnc_onnx_text(const firnc_onnx_node *node, const char *name, const char *usual);
/* Whether the attribute of this number in the file's node is there once and of the kind that its name asks for. False
 * after one message. */
bool firnc_onnx_check_attribute(firnc_onnx_importer *im, const firnc_onnx_node *node, uint32_t number);
/* The number of integers of a list; 0 if it is not there. */
uint32_t firnc_onnx_integers(const firnc_onnx_node *node, const char *name, const int64_t **list);
/* An axis from -rank to rank - 1; 0 after one message. */
uint8_t firnc_onnx_axis(firnc_onnx_importer *im, int64_t axis, uint8_t rank);
/* The elements of an input that must be known, as a list of integers. False after one message; an input that is left
 * out gives a count of FIRNC_NONE. */
bool firnc_onnx_list(firnc_onnx_importer *im, const firnc_onnx_node *node, uint32_t input, const char *what,
                     const int64_t **list, uint32_t *count);

/* Whether a node or an output of the file reads the value of this name that the node makes; in a function or a branch:
 * perhaps. */
bool firnc_onnx_is_read(const firnc_onnx_importer *im, const firnc_onnx_node *node, const char *name);

/* --- axes and extents (shapes.c): false after one message --------------------------------------------------------- */

/* The extents that Reshape makes; the two that Flatten makes. */
bool firnc_onnx_reshaped(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *rank, int64_t *dims);
bool firnc_onnx_flattened(firnc_onnx_importer *im, const firnc_onnx_node *node, int64_t *dims);
/* The axes with one element that Squeeze drops or Unsqueeze adds, as a bit mask over those of the shape that has them,
 * which are `wide` axes. */
bool firnc_onnx_squeezed(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *wide, uint32_t *ones);
/* Which element stands at a place before or behind an axis, as Pad's modes edge, wrap and reflect have it. */
int64_t firnc_onnx_reflected(const char *mode, int64_t at, int64_t extent);
/* The mode of Pad, and the elements that it adds before and behind each axis; negative ones are cut off. */
bool firnc_onnx_padded(firnc_onnx_importer *im, const firnc_onnx_node *node, const char **mode, int64_t *before,
                       int64_t *after);
/* Which axis becomes each axis of what Transpose makes. */
bool firnc_onnx_transposed(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *order);
/* The first element, step and number of elements of each axis of Slice. */
bool firnc_onnx_sliced(firnc_onnx_importer *im, const firnc_onnx_node *node, int64_t *first, int64_t *step,
                       int64_t *counts);
/* The axis of Split, and the elements along it of each output; there may be none. */
bool firnc_onnx_parts(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *axis, int64_t *sizes);
/* The axis of Gather, and the extents that it makes. */
bool firnc_onnx_gathered(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *axis, uint8_t *rank,
                         int64_t *dims);
/* The leading axes that GatherND's indices share with its data, the axes that a row of indices names, and the extents
 * that the node makes. */
bool firnc_onnx_gathered_nd(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *shared, uint8_t *named,
                            uint8_t *rank, int64_t *dims);
/* The axes of a reduction as a bit mask; *none says that the node leaves its operand unreduced. */
bool firnc_onnx_reduced(firnc_onnx_importer *im, const firnc_onnx_node *node, uint32_t *axes, bool *none);

/* --- values (values.c) -------------------------------------------------------------------------------------------- */

firnc_onnx_value *firnc_onnx_value_new(const char *name);
void firnc_onnx_identity(uint8_t *order);
bool firnc_onnx_is_identity(const uint8_t *order, uint8_t rank);
uint64_t firnc_onnx_count(const firnc_onnx_value *value);
/* Gives an output its elements. */
void firnc_onnx_set_known(firnc_onnx_value *to, const firnc_onnx_tensor *tensor);
/* Gives an output a value of the graph, whose axes stand in the order of the file. Its rank may be 0: then the value
 * has one element. */
void firnc_onnx_set(firnc_onnx_importer *im, firnc_onnx_value *to, firnc_value value, uint8_t type, uint8_t rank);
/* The same for a value with its axes in another order; NULL: the order of the file. */
void firnc_onnx_set_ordered(firnc_onnx_importer *im, firnc_onnx_value *to, firnc_value value, uint8_t type,
                            uint8_t rank, const uint8_t *order);
/* The same for one with the type, rank and order of axes of another value. False after a message. */
bool firnc_onnx_set_like(firnc_onnx_importer *im, firnc_onnx_value *to, firnc_value value,
                         const firnc_onnx_value *like);
/* Makes an output another name of a value. */
void firnc_onnx_alias(firnc_onnx_value *to, const firnc_onnx_value *from);
/* Whether the elements are known and are no weights. */
bool firnc_onnx_is_constant(const firnc_onnx_value *value);
/* The only element of a known value of one element; false if it is not one. */
bool firnc_onnx_single(const firnc_onnx_value *value, double *number);
/* The value in the graph in whatever order it has there. */
firnc_value firnc_onnx_raw(firnc_onnx_importer *im, firnc_onnx_value *value);
/* With its axes in the order of the file, or in any order; `rank` may be larger than its own: then it has extents of 1
 * in front. */
firnc_value firnc_onnx_plain(firnc_onnx_importer *im, firnc_onnx_value *value);
firnc_value firnc_onnx_ordered(firnc_onnx_importer *im, firnc_onnx_value *value, uint8_t rank, const uint8_t *order);
/* The same as float32; FIRNC_NONE of an input that is left out. */
firnc_value firnc_onnx_raw_real(firnc_onnx_importer *im, firnc_onnx_value *value);
firnc_value firnc_onnx_plain_real(firnc_onnx_importer *im, firnc_onnx_value *value);
/* The same as int32, for indices. */
firnc_value firnc_onnx_indices(firnc_onnx_importer *im, firnc_onnx_value *value);
/* A known tensor as a constant of the graph, float32 or int32. */
firnc_value firnc_onnx_constant(firnc_onnx_importer *im, const firnc_onnx_tensor *tensor, firn_type type);
firnc_value firnc_onnx_scalar(firnc_onnx_importer *im, float number);
/* Makes a known value one that may become the parameter of this name. */
void firnc_onnx_parameter_new(firnc_onnx_importer *im, firnc_onnx_value *value, const char *name);
/* Whether all elements are equal. */
bool firnc_onnx_is_uniform(const firnc_onnx_tensor *tensor);
/* The parameter in the graph; if it is not there yet, with its axes in this order. */
firnc_value firnc_onnx_parameter_value(firnc_onnx_importer *im, firnc_onnx_parameter *parameter, const uint8_t *order);
/* The order with the axis `first` behind the first one last, and the others as they are: channels last. */
void firnc_onnx_channels_last(uint8_t rank, uint8_t *order);
/* The order with one axis last. */
void firnc_onnx_axis_last(uint8_t rank, uint8_t axis, uint8_t *order);
/* The axes of a value but for those of a bit mask, as they stand: their extents, and which axis each is among those
 * that are left. Returns their number. */
uint8_t firnc_onnx_axes_without(const firnc_onnx_value *value, uint32_t dropped, uint8_t *order, int64_t *dims);
/* Where the axis stands. */
uint8_t firnc_onnx_place(const uint8_t *order, uint8_t rank, uint8_t axis);

/* --- ops of the graph (build.c): each infers its result's extents at once; FIRNC_NONE after a message ------------- */

const firn_shape *firnc_onnx_shape(const firnc_onnx_importer *im, firnc_value value);
/* Infers the results of the op that made this value. */
firnc_value firnc_onnx_made(firnc_onnx_importer *im, firnc_value value);
firnc_value firnc_onnx_reshape(firnc_onnx_importer *im, firnc_value x, uint8_t rank, const int64_t *dims);
firnc_value firnc_onnx_transpose(firnc_onnx_importer *im, firnc_value x, const uint8_t *order);
firnc_value firnc_onnx_slice(firnc_onnx_importer *im, firnc_value x, uint8_t axis, int64_t first, int64_t step,
                             int64_t count);
firnc_value firnc_onnx_expand(firnc_onnx_importer *im, firnc_value x, uint8_t rank, const int64_t *dims);
firnc_value firnc_onnx_pad(firnc_onnx_importer *im, firnc_value x, uint8_t axis, int64_t before, int64_t after,
                           float value);
firnc_value firnc_onnx_concat(firnc_onnx_importer *im, const firnc_value *xs, uint32_t count, uint8_t axis);
firnc_value firnc_onnx_affine(firnc_onnx_importer *im, firnc_value x, float scale, float shift);
/* x limited to numbers from low to high. */
firnc_value firnc_onnx_clip(firnc_onnx_importer *im, firnc_value x, float low, float high);
/* x * scale, and -x; a zero keeps the sign that the product gives it. */
firnc_value firnc_onnx_scaled(firnc_onnx_importer *im, firnc_value x, float scale);
firnc_value firnc_onnx_negative(firnc_onnx_importer *im, firnc_value x);
/* An op of one or two operands, such as FIRN_OP_relu or FIRN_OP_subtract; operands may be broadcast. */
firnc_value firnc_onnx_unary(firnc_onnx_importer *im, firn_op_code code, firnc_value x);
firnc_value firnc_onnx_binary(firnc_onnx_importer *im, firn_op_code code, firnc_value a, firnc_value b);
firnc_value firnc_onnx_select(firnc_onnx_importer *im, firnc_value condition, firnc_value a, firnc_value b);
firnc_value firnc_onnx_sum(firnc_onnx_importer *im, firnc_value x, uint32_t axes, bool keep);
firnc_value firnc_onnx_mean(firnc_onnx_importer *im, firnc_value x, uint32_t axes, bool keep);
firnc_value firnc_onnx_maximum(firnc_onnx_importer *im, firnc_value x, uint32_t axes, bool keep);
firnc_value firnc_onnx_gather(firnc_onnx_importer *im, firnc_value x, firnc_value ids, uint8_t axis);
/* a [..., M, K] b [..., K, N] with equal leading extents. */
firnc_value firnc_onnx_matmul(firnc_onnx_importer *im, firnc_value a, firnc_value b, bool transpose_a,
                              bool transpose_b);
/* As float32 where it is int32, and the other way round. */
firnc_value firnc_onnx_real(firnc_onnx_importer *im, firnc_value x);
firnc_value firnc_onnx_whole(firnc_onnx_importer *im, firnc_value x);

/* --- the ops of ONNX ---------------------------------------------------------------------------------------------- */

typedef bool (*firnc_onnx_function)(firnc_onnx_importer *im, const firnc_onnx_node *node);

/* Computes a node from its inputs, which are all known; those that are left out are NULL. Returns the first output, and
 * sets the others itself. NULL after one message, or if the graph has to compute the node. */
typedef const firnc_onnx_tensor *(*firnc_onnx_folding)(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                       const firnc_onnx_tensor *const *in);

/* A row of the table of ops (ops/ops.c). */
typedef struct firnc_onnx_op {
    const char *name;
    firnc_onnx_function import; /* NULL: of If and Loop, whose graphs import.c reads */
    const char *attributes;     /* that it reads, separated by spaces */
    uint8_t inputs_min, inputs_max, outputs_max;
    uint8_t since;           /* the opset that brought it; 0: before 13 */
    firnc_onnx_folding fold; /* of nodes whose inputs are all known; NULL: the graph computes these, too */
} firnc_onnx_op;

const firnc_onnx_op *firnc_onnx_op_find(const char *name);
/* The op of the table whose name is nearest to one that is not there; NULL: none is near. */
const char *firnc_onnx_op_nearest(const char *name);
/* What to do instead of an op that is not there (ops/hints.c). */
const char *firnc_onnx_instead(const char *op, const char *domain);

bool firnc_onnx_import_unary(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_binary(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_clip(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_where(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_cast(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_dropout(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_mod(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_prelu(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_softmax(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_reduce(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_arg(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_cumsum(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_identity(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_constant(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_shape(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_squeeze(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_reshape(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_transpose(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_concat(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_split(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_sequence(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_sequence_length(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_concat_from_sequence(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_scatter_elements(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_sequence_at(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_slice(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_pad(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_expand(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_tile(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_gather(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_gather_elements(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_gather_nd(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_scatter_nd(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_trilu(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_one_hot(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_resize(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_depth(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_only_known(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_matmul(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_gemm(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_einsum(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_conv(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_conv_transpose(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_pool(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_global_pool(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_batch_norm(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_layer_norm(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_rms_norm(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_group_norm(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_local_response(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_quantize(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_dequantize(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_random(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_bernoulli(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_top_k(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_grid_sample(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_max_unpool(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_col2im(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_dft(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_stft(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_recurrent(firnc_onnx_importer *im, const firnc_onnx_node *node);
bool firnc_onnx_import_attention(firnc_onnx_importer *im, const firnc_onnx_node *node);

/* Joins tensors along an axis, or stacks them along one that they do not have (ops/sequences.c). */
bool firnc_onnx_join(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_onnx_value *const *parts,
                     int64_t count, int64_t axis, bool stacks, firnc_onnx_value *to);

/* Takes elements of an axis by a known list (ops/indices.c). */
firnc_value firnc_onnx_pick(firnc_onnx_importer *im, firnc_value x, uint8_t axis, const int64_t *list, int64_t count);

/* Softmax of the products of queries and keys [B,heads,T,D], times the values, as one op; the heads of keys and values
 * may be fewer (ops/attention.c). */
typedef struct firnc_onnx_attention {
    bool causal;
    float scale, dropout_rate;
} firnc_onnx_attention;
bool firnc_onnx_attend(firnc_onnx_importer *im, firnc_onnx_value *q, firnc_onnx_value *k, firnc_onnx_value *v,
                       const firnc_onnx_attention *attention, firnc_onnx_value *to);

/* Patterns of several nodes that are one op here (ops/patterns.c). Each looks back from the node that ends the pattern
 * and sets its output; *found says whether it did. What they replace is read by nobody and left out of the plan. */
bool firnc_onnx_match_product(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *found);
bool firnc_onnx_match_sum(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *found);
bool firnc_onnx_match_attention(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *found);

#endif
