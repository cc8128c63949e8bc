/* Writes models of ONNX field by field, in the wire format of protobuf. Test code. */
#ifndef FIRN_TESTS_SUPPORT_ONNX_H
#define FIRN_TESTS_SUPPORT_ONNX_H

#include <stddef.h>
#include <stdint.h>

/* The fields of a message. */
typedef struct message_bytes {
    uint8_t bytes[4096];
    size_t count;
} message_bytes;

/* Fields of a graph. */
enum { NODE = 1, INITIALIZER = 5, INPUT = 11, OUTPUT = 12, SPARSE = 15 };

/* Extents without a name or a size, of the size -1, and with the name "?", which tells nothing. */
enum { NAMELESS = -2, WRITTEN_OPEN = -3, QUESTIONED = -4 };

void put_integer(message_bytes *to, uint32_t field, int64_t value);
void put_bytes(message_bytes *to, uint32_t field, const void *bytes, size_t count);
void put_text(message_bytes *to, uint32_t field, const char *text);
void put_message(message_bytes *to, uint32_t field, const message_bytes *from);

/* A node of a graph: its inputs and outputs are words separated by spaces; "-" is an input that is left out. */
void put_node(message_bytes *graph, const char *name, const char *op, const char *inputs, const char *outputs,
              const message_bytes *attributes);

/* Attributes of a node. */
void put_attribute(message_bytes *node, const char *name, int64_t value);
void put_real_attribute(message_bytes *node, const char *name, float value);
void put_branch(message_bytes *node, const char *name, const message_bytes *graph);

/* An input or output of a graph; an extent of -1 here has the name "batch". */
void put_value(message_bytes *graph, uint32_t field, const char *name, int64_t type, uint8_t rank, const int64_t *dims);

/* Tensors of a graph: a list of int64; one float. */
void put_wholes(message_bytes *graph, const char *name, size_t count, const int64_t *values);
void put_number(message_bytes *graph, const char *name, float number);

/* Adds what a text says, statements that are separated by "; ":
 *
 *     in x [batch 4]; in int64 i [3]; out y      inputs and outputs; float, int64 or bool
 *     tensor a.weight [5 4]                      its extents; the floats count from 1, each a quarter
 *     wholes axes [0 1]; number half 0.5         put_wholes and put_number; wholes i [1 2] [0 1] has extents, too
 *     /a/Gemm: h = Gemm(x a.weight) transB=1     a node with its name, or without; a b = Op(c d) has several outputs;
 *                                                attributes are whole numbers, reals with a point, words,
 *                                                lists in [] or graphs in {}; 1*3 in a list is 1 1 1 */
void put_graph(message_bytes *graph, const char *text);

message_bytes model_of(const message_bytes *graph, int64_t opset);

void write_file(const char *name, const uint8_t *bytes, size_t count);

/* Writes a model whose graph has the fields of `graph`, and behind them those that `put` makes for 0 to count - 1:
 * together more than a message_bytes holds. */
void write_large_model(const char *name, const message_bytes *graph, size_t count,
                       void (*put)(message_bytes *graph, size_t i), int64_t opset);

#endif
