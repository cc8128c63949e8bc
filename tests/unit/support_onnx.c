/* See support_onnx.h. */
#include "tests/unit/support_onnx.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support_test.h"

/* Fields of messages, as onnx.proto numbers them; those of a graph are in the header. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    OPSET_VERSION = 2,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_FLOAT = 2,
    ATTRIBUTE_INTEGER = 3,
    ATTRIBUTE_TEXT = 4,
    ATTRIBUTE_GRAPH = 6,
    ATTRIBUTE_INTEGERS = 8,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_DATA = 9,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TENSOR_TYPE_ELEMENT = 1,
    TENSOR_TYPE_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_SIZE = 1,
    DIM_NAME = 2
};

/* Values of an attribute's type, and of a tensor's. */
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_STRING = 3, TYPE_GRAPH = 5, TYPE_INTS = 7 };
enum { ELEMENT_FLOAT = 1, ELEMENT_INT64 = 7, ELEMENT_BOOL = 9 };

/* What the low bits of a field's tag say of its value. */
enum { WIRE_BYTES = 2, WIRE_32_BITS = 5 };

static void append_bytes(message_bytes *to, const void *bytes, size_t count) {
    assert_true(count <= sizeof to->bytes - to->count);
    memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
}

static void put_varint(message_bytes *to, uint64_t value) {
    uint8_t bytes[10];
    size_t count = 0;
    for (; value >= 128; value >>= 7)
        bytes[count++] = (uint8_t)(value | 128);
    bytes[count++] = (uint8_t)value;
    append_bytes(to, bytes, count);
}

void put_integer(message_bytes *to, uint32_t field, int64_t value) {
    put_varint(to, (uint64_t)field << 3);
    put_varint(to, (uint64_t)value);
}

void put_bytes(message_bytes *to, uint32_t field, const void *bytes, size_t count) {
    put_varint(to, (uint64_t)field << 3 | WIRE_BYTES);
    put_varint(to, count);
    append_bytes(to, bytes, count);
}

void put_text(message_bytes *to, uint32_t field, const char *text) {
    put_bytes(to, field, text, strlen(text));
}

void put_message(message_bytes *to, uint32_t field, const message_bytes *from) {
    put_bytes(to, field, from->bytes, from->count);
}

static void put_words(message_bytes *to, uint32_t field, const char *words) {
    while (*words != '\0') {
        const size_t length = strcspn(words, " ");
        put_bytes(to, field, words, *words == '-' ? 0 : length);
        words += length + (words[length] == ' ');
    }
}

void put_node(message_bytes *graph, const char *name, const char *op, const char *inputs, const char *outputs,
              const message_bytes *attributes) {
    message_bytes node = {.count = 0};
    put_words(&node, NODE_INPUT, inputs);
    put_words(&node, NODE_OUTPUT, outputs);
    put_text(&node, NODE_NAME, name);
    put_text(&node, NODE_OP, op);
    if (attributes != NULL)
        append_bytes(&node, attributes->bytes, attributes->count);
    put_message(graph, NODE, &node);
}

void put_attribute(message_bytes *node, const char *name, int64_t value) {
    message_bytes attribute = {.count = 0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_integer(&attribute, ATTRIBUTE_INTEGER, value);
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_INT);
    put_message(node, NODE_ATTRIBUTE, &attribute);
}

void put_real_attribute(message_bytes *node, const char *name, float value) {
    message_bytes attribute = {.count = 0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_varint(&attribute, ATTRIBUTE_FLOAT << 3 | WIRE_32_BITS);
    append_bytes(&attribute, &value, sizeof value);
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_FLOAT);
    put_message(node, NODE_ATTRIBUTE, &attribute);
}

static void put_text_attribute(message_bytes *node, const char *name, const char *text, size_t count) {
    message_bytes attribute = {.count = 0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_bytes(&attribute, ATTRIBUTE_TEXT, text, count);
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_STRING);
    put_message(node, NODE_ATTRIBUTE, &attribute);
}

static void put_list_attribute(message_bytes *node, const char *name, size_t count, const int64_t *values) {
    message_bytes attribute = {.count = 0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    for (size_t i = 0; i < count; i++)
        put_integer(&attribute, ATTRIBUTE_INTEGERS, values[i]);
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_INTS);
    put_message(node, NODE_ATTRIBUTE, &attribute);
}

void put_branch(message_bytes *node, const char *name, const message_bytes *graph) {
    message_bytes attribute = {.count = 0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_message(&attribute, ATTRIBUTE_GRAPH, graph);
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_GRAPH);
    put_message(node, NODE_ATTRIBUTE, &attribute);
}

void put_value(message_bytes *graph, uint32_t field, const char *name, int64_t type, uint8_t rank,
               const int64_t *dims) {
    message_bytes shape = {.count = 0}, tensor = {.count = 0}, kind = {.count = 0}, value = {.count = 0};
    for (uint8_t i = 0; i < rank; i++) {
        message_bytes extent = {.count = 0};
        if (dims[i] == -1)
            put_text(&extent, DIM_NAME, "batch");
        else if (dims[i] == QUESTIONED)
            put_text(&extent, DIM_NAME, "?");
        else if (dims[i] == WRITTEN_OPEN)
            put_integer(&extent, DIM_SIZE, -1);
        else if (dims[i] != NAMELESS)
            put_integer(&extent, DIM_SIZE, dims[i]);
        put_message(&shape, SHAPE_DIM, &extent);
    }
    put_integer(&tensor, TENSOR_TYPE_ELEMENT, type);
    put_message(&tensor, TENSOR_TYPE_SHAPE, &shape);
    put_message(&kind, TYPE_TENSOR, &tensor);
    put_text(&value, VALUE_NAME, name);
    put_message(&value, VALUE_TYPE, &kind);
    put_message(graph, field, &value);
}

/* Floats that count from 1, each a quarter. */
static void put_tensor(message_bytes *graph, const char *name, uint8_t rank, const int64_t *dims) {
    message_bytes tensor = {.count = 0};
    float values[128];
    size_t count = 1;
    for (uint8_t i = 0; i < rank; i++) {
        put_integer(&tensor, TENSOR_DIMS, dims[i]);
        count *= (size_t)dims[i];
    }
    assert_true(count <= sizeof values / sizeof values[0]);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(i + 1) / 4;
    put_integer(&tensor, TENSOR_TYPE, ELEMENT_FLOAT);
    put_text(&tensor, TENSOR_NAME, name);
    put_bytes(&tensor, TENSOR_DATA, values, count * sizeof *values);
    put_message(graph, INITIALIZER, &tensor);
}

static void put_shaped_wholes(message_bytes *graph, const char *name, uint8_t rank, const int64_t *dims, size_t count,
                              const int64_t *values) {
    message_bytes tensor = {.count = 0};
    for (uint8_t i = 0; i < rank; i++)
        put_integer(&tensor, TENSOR_DIMS, dims[i]);
    put_integer(&tensor, TENSOR_TYPE, ELEMENT_INT64);
    put_text(&tensor, TENSOR_NAME, name);
    put_bytes(&tensor, TENSOR_DATA, values, count * sizeof *values);
    put_message(graph, INITIALIZER, &tensor);
}

void put_wholes(message_bytes *graph, const char *name, size_t count, const int64_t *values) {
    put_shaped_wholes(graph, name, 1, &(int64_t){(int64_t)count}, count, values);
}

void put_number(message_bytes *graph, const char *name, float number) {
    message_bytes tensor = {.count = 0};
    put_integer(&tensor, TENSOR_TYPE, ELEMENT_FLOAT);
    put_text(&tensor, TENSOR_NAME, name);
    put_bytes(&tensor, TENSOR_DATA, &number, sizeof number);
    put_message(graph, INITIALIZER, &tensor);
}

/* --- graphs as text ----------------------------------------------------------------------------------------------- */

enum { STATEMENT_BYTES = 2048, NUMBERS_MOST = 16 };

/* Ends a text at a mark and returns what stands behind the mark; NULL if the text does not have it. */
static char *cut_at(char *text, const char *mark) {
    char *at = strstr(text, mark);
    if (at == NULL)
        return NULL;
    *at = '\0';
    return at + strlen(mark);
}

/* Reads "[1 2*3]", which is 1, 2, 2 and 2, and returns how many numbers it has; "batch" is -1. */
static uint8_t read_list(const char *text, int64_t *numbers) {
    uint8_t count = 0;
    assert_true(*text == '[');
    for (text++; *text != ']'; text += strspn(text, " ")) {
        const bool is_batch = strncmp(text, "batch", 5) == 0;
        char *end = (char *)text + 5;
        const int64_t number = is_batch ? -1 : strtoll(text, &end, 10);
        assert_true(end != text);
        for (long copies = *end == '*' ? strtol(end + 1, &end, 10) : 1; copies > 0; copies--) {
            numbers[count] = number;
            assert_true(++count < NUMBERS_MOST);
        }
        text = end;
    }
    return count;
}

/* Returns where the graph in braces ends at which a text begins. */
static char *end_of_graph(char *text) {
    for (int depth = 0;; text++) {
        assert_true(*text != '\0');
        depth += (*text == '{') - (*text == '}');
        if (depth == 0)
            return text;
    }
}

/* Reads " a=1 b=1.5 c=[1 2] d={y = Relu(x)}". */
static void put_attributes(message_bytes *node, char *text) {
    while ((text = strchr(text, ' ')) != NULL) {
        char *name = text + 1, *value = cut_at(name, "=");
        assert_non_null(value);
        int64_t numbers[NUMBERS_MOST];
        text = *value == '{' ? end_of_graph(value) : value + strcspn(value, *value == '[' ? "]" : " ");
        if (*value == '{') {
            message_bytes graph = {.count = 0};
            *text++ = '\0';
            put_graph(&graph, value + 1);
            put_branch(node, name, &graph);
        } else if (*value == '[') {
            put_list_attribute(node, name, read_list(value, numbers), numbers);
        } else if (isalpha((unsigned char)*value)) {
            put_text_attribute(node, name, value, (size_t)(text - value));
        } else if (memchr(value, '.', (size_t)(text - value)) != NULL) {
            put_real_attribute(node, name, strtof(value, NULL));
        } else {
            put_attribute(node, name, strtoll(value, NULL, 10));
        }
    }
}

static void put_node_text(message_bytes *graph, char *text) {
    message_bytes attributes = {.count = 0};
    char *op = cut_at(text, " = ");
    assert_non_null(op);
    char *outputs = cut_at(text, ": "), *inputs = cut_at(op, "("), *rest = cut_at(inputs, ")");
    put_attributes(&attributes, rest);
    put_node(graph, outputs != NULL ? text : "", op, inputs, outputs != NULL ? outputs : text, &attributes);
}

static void put_value_text(message_bytes *graph, uint32_t field, char *text) {
    int64_t dims[NUMBERS_MOST], type = ELEMENT_FLOAT;
    if (strncmp(text, "int64 ", 6) == 0 || strncmp(text, "bool ", 5) == 0) {
        type = *text == 'i' ? ELEMENT_INT64 : ELEMENT_BOOL;
        text = strchr(text, ' ') + 1;
    }
    const char *list = cut_at(text, " ");
    put_value(graph, field, text, type, list == NULL ? 0 : read_list(list, dims), dims);
}

/* Reads "[2 3]", the elements, or "[1 2] [2 3]", extents and elements. */
static void put_wholes_text(message_bytes *graph, const char *name, const char *text) {
    int64_t dims[NUMBERS_MOST], elements[NUMBERS_MOST];
    const char *second = strchr(text + 1, '[');
    const uint8_t count = read_list(second != NULL ? second : text, elements);
    dims[0] = count;
    put_shaped_wholes(graph, name, second != NULL ? read_list(text, dims) : 1, dims, count, elements);
}

static void put_statement(message_bytes *graph, char *text) {
    char kind[8] = "", name[64];
    int end = 0;
    int64_t numbers[NUMBERS_MOST];
    (void)sscanf(text, "%7s %63s %n", kind, name, &end);
    if (strcmp(kind, "in") == 0)
        put_value_text(graph, INPUT, text + 3);
    else if (strcmp(kind, "out") == 0)
        put_value_text(graph, OUTPUT, text + 4);
    else if (strcmp(kind, "tensor") == 0)
        put_tensor(graph, name, read_list(text + end, numbers), numbers);
    else if (strcmp(kind, "wholes") == 0)
        put_wholes_text(graph, name, text + end);
    else if (strcmp(kind, "number") == 0)
        put_number(graph, name, strtof(text + end, NULL));
    else
        put_node_text(graph, text);
}

void put_graph(message_bytes *graph, const char *text) {
    while (*text != '\0') {
        char statement[STATEMENT_BYTES];
        size_t length = 0;
        for (int depth = 0; text[length] != '\0' && (depth > 0 || text[length] != ';'); length++)
            depth += (text[length] == '{') - (text[length] == '}');
        assert_true(length < sizeof statement);
        memcpy(statement, text, length);
        statement[length] = '\0';
        put_statement(graph, statement);
        text += length + strspn(text + length, "; ");
    }
}

/* --- files -------------------------------------------------------------------------------------------------------- */

void write_file(const char *name, const uint8_t *bytes, size_t count) {
    FILE *file = fopen(name, "wb");
    assert_true(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

message_bytes model_of(const message_bytes *graph, int64_t opset) {
    message_bytes model = {.count = 0}, version = {.count = 0};
    put_integer(&model, MODEL_IR_VERSION, 8);
    put_integer(&version, OPSET_VERSION, opset);
    put_message(&model, MODEL_OPSET, &version);
    put_message(&model, MODEL_GRAPH, graph);
    return model;
}

/* Appends bytes to memory on the heap. */
static void append_to_heap(uint8_t **to, size_t *count, size_t *capacity, const message_bytes *from) {
    if (*capacity - *count < from->count) {
        *capacity = 2 * *capacity + sizeof from->bytes;
        *to = realloc(*to, *capacity);
        assert_non_null(*to);
    }
    memcpy(*to + *count, from->bytes, from->count);
    *count += from->count;
}

void write_large_model(const char *name, const message_bytes *graph, size_t count,
                       void (*put)(message_bytes *graph, size_t i), int64_t opset) {
    uint8_t *bytes = NULL;
    size_t graph_bytes = 0, capacity = 0;
    append_to_heap(&bytes, &graph_bytes, &capacity, graph);
    for (size_t i = 0; i < count; i++) {
        message_bytes more = {.count = 0};
        put(&more, i);
        append_to_heap(&bytes, &graph_bytes, &capacity, &more);
    }
    const message_bytes none = {.count = 0};
    message_bytes model = model_of(&none, opset);
    model.count -= 2; /* tag and length of the empty graph */
    put_varint(&model, MODEL_GRAPH << 3 | WIRE_BYTES);
    put_varint(&model, graph_bytes);
    FILE *file = fopen(name, "wb");
    assert_true(file != NULL && fwrite(model.bytes, 1, model.count, file) == model.count &&
                fwrite(bytes, 1, graph_bytes, file) == graph_bytes && fclose(file) == 0);
    free(bytes);
}
