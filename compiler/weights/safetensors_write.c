/* Writes the format safetensors (compiler/weights/safetensors.h): tensors of float32 or int64, one behind the other in
 * the order in which they are given. */
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/weights/safetensors.h"

#define LENGTH_BYTES     8u
#define HEADER_ALIGNMENT 8u

static void add(firnc_growing_text *to, const char *text) {
    firnc_text_add(to, text, strlen(text));
}

/* A JSON string. Bytes above ASCII are UTF-8 in the file, as the caller has them. */
static void add_name(firnc_growing_text *to, const char *name) {
    add(to, "\"");
    for (; *name != '\0'; name++)
        if (*name == '"' || *name == '\\')
            add(to, firnc_format("\\%c", *name));
        else if ((unsigned char)*name < ' ')
            add(to, firnc_format("\\u%04x", (unsigned)(unsigned char)*name));
        else
            firnc_text_add(to, name, 1);
    add(to, "\"");
}

static uint64_t bytes_of(const firnc_safetensors_entry *entry) {
    uint64_t bytes = entry->wholes != NULL ? sizeof *entry->wholes : sizeof *entry->values;
    for (uint8_t i = 0; i < entry->rank; i++)
        bytes *= entry->dims[i];
    return bytes;
}

/* The header, with spaces behind it, so that the data begins at a multiple of 8. "pt" says to Python's loaders that
 * the tensors are PyTorch's. */
static firnc_growing_text make_header(const firnc_safetensors_entry *entries, uint32_t count, uint64_t *data_bytes) {
    firnc_growing_text header = {0};
    add(&header, "{\"__metadata__\":{\"format\":\"pt\"}");
    *data_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t begin = *data_bytes;
        *data_bytes += bytes_of(&entries[i]);
        add(&header, ",");
        add_name(&header, entries[i].name);
        add(&header, firnc_format(":{\"dtype\":\"%s\",\"shape\":", entries[i].wholes != NULL ? "I64" : "F32"));
        add(&header, firnc_safetensors_shape(entries[i].dims, entries[i].rank));
        add(&header,
            firnc_format(",\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin, (unsigned long long)*data_bytes));
    }
    add(&header, "}");
    while (header.length % HEADER_ALIGNMENT != 0)
        add(&header, " ");
    return header;
}

firnc_bytes firnc_safetensors_make(const firnc_safetensors_entry *entries, uint32_t count) {
    uint64_t data_bytes;
    const firnc_growing_text header = make_header(entries, count, &data_bytes);
    firnc_bytes file = {.count = LENGTH_BYTES + header.length + data_bytes};
    file.data = firnc_allocate_aligned(file.count + 1);
    for (uint32_t i = 0; i < LENGTH_BYTES; i++)
        file.data[i] = (uint8_t)(header.length >> (8 * i));
    uint8_t *at = file.data + LENGTH_BYTES;
    memcpy(at, header.text, (size_t)header.length);
    at += header.length;
    for (uint32_t i = 0; i < count; i++) {
        const void *elements = entries[i].wholes != NULL ? (const void *)entries[i].wholes : entries[i].values;
        memcpy(at, elements, (size_t)bytes_of(&entries[i]));
        at += bytes_of(&entries[i]);
    }
    return file;
}
