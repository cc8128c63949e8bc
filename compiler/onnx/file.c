/* Reads a model's file whole, and checks what concerns all of it: the versions, and parts that Firn does not have. */
#include <string.h>

#include "compiler/onnx/import.h"
#include "plan/keys/file_kind.h"

#define FILE_LIMIT ((uint64_t)1 << 31) /* a message of protobuf has at most so many bytes */

enum { OPSET_MIN = 13, OPSET_MAX = 23 };

/* What protobuf-c allocates belongs to the compiler's memory. */
static void *allocate(void *context, size_t bytes) {
    (void)context;
    return firnc_allocate(bytes);
}

static void release(void *context, void *memory) {
    (void)context;
    (void)memory;
}

static bool is_default_domain(const char *domain) {
    return domain == NULL || domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0;
}

static bool check_versions(firnc_onnx_importer *im) {
    const FirncOnnx__Model *model = im->model;
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const FirncOnnx__Opset *opset = model->opset_import[i];
        if (!is_default_domain(opset->domain))
            continue;
        if (im->opset != 0 && im->opset != opset->version)
            return firnc_onnx_fail(im, "is of opset %lld and of opset %lld; export it again", (long long)im->opset,
                                   (long long)opset->version);
        im->opset = opset->version;
    }
    if (!im->options->any_opset && (im->opset < OPSET_MIN || im->opset > OPSET_MAX))
        return firnc_onnx_fail(im, "is of opset %lld, and Firn reads %d to %d; export it with opset_version=20",
                               (long long)im->opset, OPSET_MIN, OPSET_MAX);
    return true;
}

bool firnc_onnx_read(firnc_onnx_importer *im) {
    ProtobufCAllocator allocator = {.alloc = allocate, .free = release};
    firnc_bytes bytes;
    if (!firnc_file_read(im->file, FILE_LIMIT, &bytes)) {
        im->failed = true;
        return false;
    }
    const firn_file_kind *kind = firn_file_kind_of(bytes.data, bytes.count);
    if (kind != NULL)
        return firnc_onnx_fail(im, "begins like %s, and not like an ONNX model; export the model by torch.onnx.export",
                               kind->name);
    const char *wrong = firnc_onnx_scan(bytes.data, bytes.count);
    if (wrong != NULL)
        return firnc_onnx_fail(im, "%s", wrong);
    im->model = firnc_onnx__model__unpack(&allocator, (size_t)bytes.count, bytes.data);
    if (im->model == NULL || im->model->graph == NULL)
        return firnc_onnx_fail(im, "is no ONNX model; export it again");
    return check_versions(im);
}
