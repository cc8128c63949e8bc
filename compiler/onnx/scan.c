/* Walks the wire format of a model before protobuf-c unpacks it, and refuses what would cost far more memory than the
 * file has bytes: too many fields, too many nodes, too deep nesting, and lengths that are not in the file. Nothing is
 * stored here. */
#include "compiler/onnx/import.h"

#define FIELDS_MAX 8000000u /* of all messages; each takes up to about 100 bytes when it is unpacked */
#define DEPTH_MAX  40       /* messages within messages: each If within an If adds a graph, a node and an attribute */

/* A plan holds 65,536 ops. In the files of exporters up to some three in four nodes are constants or compute extents,
 * and become no op. */
#define NODES_MAX (4u * 65536u)

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

/* The bytes of a message that are left, and what the message is. */
typedef struct level {
    const ProtobufCMessageDescriptor *type;
    const uint8_t *at, *end;
} level;

static bool varint(level *in, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 70 && in->at < in->end; shift += 7) {
        const uint8_t byte = *in->at++;
        *value |= shift < 64 ? (uint64_t)(byte & 127) << shift : 0;
        if (byte < 128)
            return true;
    }
    return false;
}

/* Skips the value of a field; sets the bytes of one with a length. */
static bool skip(level *in, uint64_t tag, const uint8_t **content, uint64_t *bytes) {
    const uint64_t left = (uint64_t)(in->end - in->at);
    uint64_t length = 0;
    switch (tag & 7) {
    case VARINT:
        return varint(in, &length);
    case FIXED64:
        length = 8;
        break;
    case FIXED32:
        length = 4;
        break;
    case LENGTH:
        if (!varint(in, &length) || length > (uint64_t)(in->end - in->at))
            return false;
        *content = in->at;
        *bytes = length;
        in->at += length;
        return true;
    default:
        return false;
    }
    if (length > left)
        return false;
    in->at += length;
    return true;
}

/* The message that a field is; NULL if it is none. */
static const ProtobufCMessageDescriptor *message_of(const ProtobufCMessageDescriptor *type, uint64_t tag) {
    const uint64_t number = tag >> 3;
    if ((tag & 7) != LENGTH || number > UINT32_MAX)
        return NULL;
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(type, (unsigned)number);
    return field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE ? field->descriptor : NULL;
}

const char *firnc_onnx_scan(const uint8_t *bytes, uint64_t count) {
    level levels[DEPTH_MAX] = {{&firnc_onnx__model__descriptor, bytes, bytes + count}};
    uint32_t depth = 1, fields = 0, nodes = 0;
    while (depth > 0) {
        level *in = &levels[depth - 1];
        if (in->at == in->end) {
            depth--;
            continue;
        }
        const uint8_t *content = NULL;
        uint64_t tag, length = 0;
        if (!varint(in, &tag) || tag >> 3 == 0 || !skip(in, tag, &content, &length))
            return "is cut off or is no ONNX model; export it again";
        if (++fields > FIELDS_MAX)
            return firnc_format("has more than %u fields; Firn reads models of fewer", FIELDS_MAX);
        const ProtobufCMessageDescriptor *type = message_of(in->type, tag);
        if (type == NULL)
            continue;
        nodes += type == &firnc_onnx__node__descriptor;
        if (nodes > NODES_MAX)
            return firnc_format("has more than %u nodes; Firn reads models of fewer", NODES_MAX);
        if (depth == DEPTH_MAX)
            return "is nested too deeply; Firn reads 10 levels of If";
        levels[depth++] = (level){type, content, content + length};
    }
    return NULL;
}
