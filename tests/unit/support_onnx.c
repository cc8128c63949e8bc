/* See support_onnx.h. */
#include "tests/unit/support_onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void put_varint(message_bytes *to, uint64_t value) {
    assert_true(to->count + 10 <= sizeof to->bytes);
    for (; value >= 128; value >>= 7)
        to->bytes[to->count++] = (uint8_t)(value | 128);
    to->bytes[to->count++] = (uint8_t)value;
}

void put_integer(message_bytes *to, uint32_t field, int64_t value) {
    put_varint(to, (uint64_t)field << 3);
    put_varint(to, (uint64_t)value);
}

void put_bytes(message_bytes *to, uint32_t field, const void *bytes, size_t count) {
    put_varint(to, (uint64_t)field << 3 | 2);
    put_varint(to, count);
    assert_true(to->count + count <= sizeof to->bytes);
    memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
}

void put_text(message_bytes *to, uint32_t field, const char *text) {
    put_bytes(to, field, text, strlen(text));
}

void put_message(message_bytes *to, uint32_t field, const message_bytes *from) {
    put_bytes(to, field, from->bytes, from->count);
}

void put_node(message_bytes *graph, const char *name, const char *op, const char *inputs, const char *outputs,
              const message_bytes *attributes) {
    message_bytes node = {.count = 0};
    const char *const lists[] = {inputs, outputs};
    for (uint32_t i = 0; i < 2; i++)
        for (const char *at = lists[i]; *at != '\0';) {
            const size_t length = strcspn(at, " ");
            put_bytes(&node, i + 1, at, *at == '-' ? 0 : length);
            at += length + (at[length] == ' ');
        }
    put_text(&node, 3, name);
    put_text(&node, 4, op);
    if (attributes != NULL) {
        memcpy(node.bytes + node.count, attributes->bytes, attributes->count);
        node.count += attributes->count;
    }
    put_message(graph, NODE, &node);
}

void put_attribute(message_bytes *node, const char *name, int64_t value) {
    message_bytes attribute = {.count = 0};
    put_text(&attribute, 1, name);
    put_integer(&attribute, 3, value);
    put_integer(&attribute, 20, 2);
    put_message(node, 5, &attribute);
}

void put_real_attribute(message_bytes *node, const char *name, float value) {
    message_bytes attribute = {.count = 0};
    put_text(&attribute, 1, name);
    put_varint(&attribute, 2 << 3 | 5);
    memcpy(attribute.bytes + attribute.count, &value, sizeof value);
    attribute.count += sizeof value;
    put_integer(&attribute, 20, 1);
    put_message(node, 5, &attribute);
}

void put_list_attribute(message_bytes *node, const char *name, size_t count, const int64_t *values) {
    message_bytes attribute = {.count = 0};
    put_text(&attribute, 1, name);
    for (size_t i = 0; i < count; i++)
        put_integer(&attribute, 8, values[i]);
    put_integer(&attribute, 20, 7);
    put_message(node, 5, &attribute);
}

void put_branch(message_bytes *node, const char *name, const message_bytes *graph) {
    message_bytes attribute = {.count = 0};
    put_text(&attribute, 1, name);
    put_message(&attribute, 6, graph);
    put_integer(&attribute, 20, 5);
    put_message(node, 5, &attribute);
}

void put_value(message_bytes *graph, uint32_t field, const char *name, int64_t type, uint8_t rank,
               const int64_t *dims) {
    message_bytes shape = {.count = 0}, tensor = {.count = 0}, kind = {.count = 0}, value = {.count = 0};
    for (uint8_t i = 0; i < rank; i++) {
        message_bytes extent = {.count = 0};
        if (dims[i] == -1)
            put_text(&extent, 2, "batch");
        else if (dims[i] == QUESTIONED)
            put_text(&extent, 2, "?");
        else if (dims[i] == WRITTEN_OPEN)
            put_integer(&extent, 1, -1);
        else if (dims[i] != NAMELESS)
            put_integer(&extent, 1, dims[i]);
        put_message(&shape, 1, &extent);
    }
    put_integer(&tensor, 1, type);
    put_message(&tensor, 2, &shape);
    put_message(&kind, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &kind);
    put_message(graph, field, &value);
}

void put_tensor(message_bytes *graph, const char *name, uint8_t rank, const int64_t *dims) {
    message_bytes tensor = {.count = 0};
    float values[64];
    size_t count = 1;
    for (uint8_t i = 0; i < rank; i++) {
        put_integer(&tensor, 1, dims[i]);
        count *= (size_t)dims[i];
    }
    assert_true(count <= sizeof values / sizeof values[0]);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(i + 1) / 4;
    put_integer(&tensor, 2, 1);
    put_text(&tensor, 8, name);
    put_bytes(&tensor, 9, values, count * sizeof *values);
    put_message(graph, INITIALIZER, &tensor);
}

void put_wholes(message_bytes *graph, const char *name, size_t count, const int64_t *values) {
    message_bytes tensor = {.count = 0};
    put_integer(&tensor, 1, (int64_t)count);
    put_integer(&tensor, 2, 7);
    put_text(&tensor, 8, name);
    put_bytes(&tensor, 9, values, count * sizeof *values);
    put_message(graph, INITIALIZER, &tensor);
}

void put_number(message_bytes *graph, const char *name, float number) {
    message_bytes tensor = {.count = 0};
    put_integer(&tensor, 2, 1);
    put_text(&tensor, 8, name);
    put_bytes(&tensor, 9, &number, sizeof number);
    put_message(graph, INITIALIZER, &tensor);
}

void write_file(const char *name, const uint8_t *bytes, size_t count) {
    FILE *file = fopen(name, "wb");
    assert_true(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

message_bytes model_of(const message_bytes *graph, int64_t opset) {
    message_bytes model = {.count = 0}, version = {.count = 0};
    put_integer(&model, 1, 8);
    put_integer(&version, 2, opset);
    put_message(&model, 8, &version);
    put_message(&model, 7, graph);
    return model;
}

/* Appends bytes to memory on the heap. */
static void append(uint8_t **to, size_t *count, size_t *capacity, const message_bytes *from) {
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
    append(&bytes, &graph_bytes, &capacity, graph);
    for (size_t i = 0; i < count; i++) {
        message_bytes more = {.count = 0};
        put(&more, i);
        append(&bytes, &graph_bytes, &capacity, &more);
    }
    const message_bytes none = {.count = 0};
    message_bytes model = model_of(&none, opset);
    model.count -= 2; /* tag and length of the empty graph */
    put_varint(&model, 7 << 3 | 2);
    put_varint(&model, graph_bytes);
    FILE *file = fopen(name, "wb");
    assert_true(file != NULL && fwrite(model.bytes, 1, model.count, file) == model.count &&
                fwrite(bytes, 1, graph_bytes, file) == graph_bytes && fclose(file) == 0);
    free(bytes);
}
