/* Reads a model in the ONNX format and builds it as a graph: the only interface of compiler/onnx to the rest of the
 * compiler. Opsets 13 to 23, as PyTorch's exporters write them.
 *
 * Every value gets its extents while it is read: sizes that the file leaves open come from the options, and what is
 * computed from sizes and constants is computed here. Float tensors of the file become parameters with the file's
 * values where a layer reads them as weights, else constants. A file that is wrong or has something that Firn does not
 * is refused with one message, which names the file, the node, its op and the attribute. */
#ifndef FIRNC_ONNX_H
#define FIRNC_ONNX_H

#include "compiler/base/files.h"
#include "compiler/firnc.h"

#define FIRNC_ONNX_IO_MAX 32 /* inputs, and outputs, of a model */

/* The size of an extent that the file leaves open: under the name that the file has for it, or as "INPUT.AXIS". */
typedef struct firnc_onnx_dimension {
    const char *name;
    uint32_t size;
} firnc_onnx_dimension;

/* An input of the model that is no data: every element has this value. */
typedef struct firnc_onnx_filled {
    const char *name;
    double value;
} firnc_onnx_filled;

/* A row of a table that gets no gradient where it is looked up, as that of padding_idx of PyTorch's embeddings. */
typedef struct firnc_onnx_row {
    const char *table; /* the parameter's name */
    uint32_t row;
} firnc_onnx_row;

typedef struct firnc_onnx_options {
    /* The samples of a micro-batch: the first extent of each input that is data, and others of the same name. 0: as
     * many as the file says, or any number, to look at the model only. */
    uint32_t samples;
    const firnc_onnx_dimension *dimensions;
    uint32_t dimension_count;
    const firnc_onnx_filled *filled;
    uint32_t filled_count;
    const char *const *constants; /* patterns of names of tensors that are never parameters */
    uint32_t constant_count;
    const firnc_onnx_row *padding; /* beside those that the file notes */
    uint32_t padding_count;
    bool batch_statistics; /* batch norms train with the statistics of the micro-batch, whatever the file says */
    /* For tests and tools: each input is a stream of its own whose one sample holds all its elements, as float32; each
     * output is a row with all its elements. So a model with any shapes runs as a plan with one sample. */
    bool bare;
    bool any_opset;               /* bare: opsets before 13 and behind 23 are read by the rules of those between */
    firnc_input_options features; /* not bare: of the data input; the limit of tokens follows from their tables */
} firnc_onnx_options;

/* An input or output of the model. */
typedef struct firnc_onnx_port {
    const char *name;
    uint8_t type; /* in the file: TensorProto.DataType of ONNX */
    bool real;    /* of an output: of such a type */
    uint8_t rank; /* 0: a number */
    uint32_t dims[FIRN_RANK_MAX];
    /* FIRNC_NONE: an input that is not read, or an output that no op makes from the data; not bare: also one that is an
     * input or a parameter as it stands. */
    firnc_value value;
    /* Outputs that are known without data: their elements, in order; otherwise NULL. */
    const double *known;
} firnc_onnx_port;

/* Where the file has a parameter or a running statistic of the graph. */
typedef struct firnc_onnx_stored {
    const char *tensor;                 /* an initializer, or the output of a node Constant */
    const char *parameter;              /* in the graph */
    uint8_t order[FIRN_RANK_MAX], rank; /* axis i of the parameter is axis order[i] of the tensor */
} firnc_onnx_stored;

/* What was read. */
typedef struct firnc_onnx_model {
    firnc_onnx_port inputs[FIRNC_ONNX_IO_MAX], outputs[FIRNC_ONNX_IO_MAX];
    uint32_t input_count, output_count;
    uint32_t data; /* not bare: the number of the data input; FIRNC_NONE: there is none */
    uint32_t parameter_count;
    uint32_t fixed_norms;      /* batch norms with the statistics of the file, which no training changes */
    uint32_t unused_dimension; /* the first one of the options that no extent is named after; FIRNC_NONE: none */
    bool tokens;               /* not bare: the data input is of whole numbers */
    uint32_t token_limit;      /* of tokens: they are below it */
    firnc_weight_map names;    /* how the parameters lie in the files of PyTorch */
    const bool *matched;       /* for each pattern of the option constants: it matches a tensor */
    const bool *padded;        /* for each row of the option padding: it is looked up */
    firnc_onnx_stored *stored; /* parameters that the file has as they are; one may be there more than once */
    uint32_t stored_count, stored_capacity;
    const char **notes; /* warnings about tensors, of which the file does not say enough */
    uint32_t note_count, note_capacity;
} firnc_onnx_model;

/* Adds the model to a graph without layers. The graph gets neither a loss nor names for its outputs; in a bare import
 * they are named as in the file. False after one message. */
bool firnc_onnx_import(firnc_graph *graph, const char *path, const firnc_onnx_options *options,
                       firnc_onnx_model *model);

/* The values of a parameter, as the graph has them. NULL: they stay as they are. */
typedef const float *(*firnc_onnx_values)(void *context, const char *parameter);

/* Makes the file `path`, from which the model was read, with the values of its parameters (write_back.c). False after
 * one message. */
bool firnc_onnx_write_back(const char *path, const firnc_onnx_model *model, firnc_onnx_values values, void *context,
                           firnc_bytes *file);

/* Imports a model as `bare` and freezes it as an evaluation without a metric (bare.c): its inputs and outputs are those
 * of the model, its outputs under their names. If every output is known without data, there is nothing to run: then the
 * plan is empty, and model->outputs has the elements. False after one message. */
bool firnc_onnx_freeze(const char *path, const firnc_onnx_options *options, const firnc_key *key,
                       firnc_onnx_model *model, firnc_frozen *plan);

#endif
