/* The module of each node. torch.export's exporter notes it. TorchScript's names a node after the modules that run
 * around it, which is not always the module's path in the state_dict:
 *     a container that is not run itself is left out       /a/MatMul reads heads.a.weight
 *     a module within a second Sequential has its first name    /b/a.0/MatMul runs where b.1 would */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* --- what a node says of itself ----------------------------------------------------------------------------------- */

/* The last but one of a list "['', 'h.0', 'h.0.ln1', 'layer_norm']", in which the torch.export exporter notes the
 * modules around an op and the op itself; NULL if the list has one entry. */
static const char *module_of_scopes(const char *list) {
    const char *last = NULL, *before = NULL;
    size_t last_length = 0, before_length = 0;
    while ((list = strchr(list, '\'')) != NULL) {
        const char *end = strchr(list + 1, '\'');
        if (end == NULL)
            break;
        before = last;
        before_length = last_length;
        last = list + 1;
        last_length = (size_t)(end - list) - 1;
        list = end + 1;
    }
    return before == NULL ? NULL : firnc_format("%.*s", (int)before_length, before);
}

/* The length of a part of a path without the number that TorchScript gives a module that is run again: 1 of "a_1". */
static size_t without_run(const char *part, size_t length) {
    size_t end = length;
    while (end > 0 && part[end - 1] >= '0' && part[end - 1] <= '9')
        end--;
    return end > 1 && end < length && part[end - 1] == '_' ? end - 1 : length;
}

/* A part of a node's name that names a module by another container than the one around it: "a.0" of "/b/a.0/MatMul",
 * whose path is "b.a.0". */
typedef struct foreign {
    size_t around, end; /* characters of the path: 1 of "b", and 5 of "b.a.0"; end 0: there is no such part */
} foreign;

/* "h.0.ln1" of "/h.0/ln1/LayerNormalization", as the TorchScript exporter names nodes; NULL of other names. A module in
 * a Sequential has the name of that in its own: "/net/net.1/Gemm" is of "net.1". */
static const char *module_of_name(const char *name, foreign *other) {
    *other = (foreign){0};
    if (name[0] != '/')
        return NULL;
    const char *module = "", *part = name + 1, *end;
    size_t around = 0; /* where the part before begins */
    for (; (end = strchr(part, '/')) != NULL; part = end + 1) {
        const size_t length = without_run(module + around, strlen(module + around));
        const bool inside = length > 0 && strncmp(part, module + around, length) == 0 && part[length] == '.';
        if (!inside)
            around = module[0] == '\0' ? 0 : strlen(module) + 1;
        module = firnc_format("%.*s%.*s", (int)around, firnc_format("%s.", module), (int)(end - part), part);
        if (!inside && around > 0 && memchr(part, '.', (size_t)(end - part)) != NULL)
            *other = (foreign){around - 1, strlen(module)};
    }
    return module;
}

static const char *path_of(const FirncOnnx__Node *node, const char *before, foreign *other) {
    const char *scopes =
        firnc_onnx_property(node->metadata_props, node->n_metadata_props, "pkg.torch.onnx.name_scopes");
    const char *named = module_of_name(firnc_onnx_or_empty(node->name), other);
    const char *path = scopes != NULL ? module_of_scopes(scopes) : named;
    return path == NULL ? before : path;
}

const char *firnc_onnx_path_of(const FirncOnnx__Node *node, const char *before) {
    foreign other;
    return path_of(node, before, &other);
}

/* --- what the tensors that it reads say --------------------------------------------------------------------------- */

static void add_layer(firnc_onnx_importer *im, const char *path, const char *module, bool guessed) {
    im->layers = firnc_grown(im->layers, im->layer_count, &im->layer_capacity, sizeof *im->layers);
    im->layers[im->layer_count++] = (firnc_onnx_layer){path, module, guessed, false};
}

/* The length of the part of a path that ends at `end`, and where it begins. */
static size_t last_part(const char *path, size_t end, size_t *begin) {
    *begin = end;
    while (*begin > 0 && path[*begin - 1] != '.')
        --*begin;
    return end - *begin;
}

/* Adds what a path says where it is a module's without some containers, and the same of the modules around:
 *     h.0.c_fc    transformer.h.0.mlp.c_fc
 *     h.0         transformer.h.0
 *     h           transformer.h
 * Each part of the path must be one of the module's, in the same order, and the last one the last. */
static void add_if_part(firnc_onnx_importer *im, const char *path, const char *module) {
    size_t ends[2][FIRNC_NAME_MAX], count = 0, end = strlen(path), of_module = strlen(module), begin, module_begin;
    while (end > 0 && count < FIRNC_NAME_MAX) {
        const size_t length = last_part(path, end, &begin);
        size_t other = last_part(module, of_module, &module_begin);
        for (;; other = last_part(module, of_module, &module_begin)) {
            const bool same = other == length || other == without_run(path + begin, length);
            if (same && strncmp(path + begin, module + module_begin, other) == 0)
                break;
            if (count == 0 || module_begin == 0)
                return;
            of_module = module_begin - 1;
        }
        ends[0][count] = end;
        ends[1][count++] = of_module;
        end = begin > 0 ? begin - 1 : 0;
        if (end > 0 && module_begin == 0)
            return;
        of_module = module_begin > 0 ? module_begin - 1 : 0;
    }
    for (size_t i = 0; i < count; i++)
        add_layer(im, firnc_format("%.*s", (int)ends[0][i], path), firnc_format("%.*s", (int)ends[1][i], module),
                  false);
}

/* Adds what the parameters that a node reads say of its path. */
static void add_by_parameters(firnc_onnx_importer *im, const firnc_onnx_scope *scope, const FirncOnnx__Node *node,
                              const char *path) {
    for (size_t i = 0; node->name != NULL && node->name[0] == '/' && i < node->n_input; i++) {
        const char *name = firnc_onnx_or_empty(node->input[i]), *dot = strrchr(name, '.');
        if (dot == NULL || name[0] == '/')
            continue;
        const firnc_onnx_value *value = firnc_onnx_find(scope, name);
        if (value != NULL && value->known != NULL)
            add_if_part(im, path, firnc_format("%.*s", (int)(dot - name), name));
    }
}

/* --- modules of two Sequentials ----------------------------------------------------------------------------------- */

static bool is_inside(const char *path, const char *around, size_t length) {
    return path != NULL && strncmp(path, around, length) == 0 && (path[length] == '.' || path[length] == '\0');
}

/* The number of a path that is a module's of a Sequential or within it: 1 of "b.1" or "b.1.x" in "b". -1 of others. */
static long place_in(const char *path, const char *around, size_t length) {
    if (!is_inside(path, around, length) || path[length] == '\0')
        return -1;
    const size_t digits = strspn(path + length + 1, "0123456789");
    const char behind = path[length + 1 + digits];
    return digits > 0 && digits < 7 && (behind == '.' || behind == '\0') ? strtol(path + length + 1, NULL, 10) : -1;
}

/* The module that runs between two paths, one of which is of the Sequential around it; NULL: neither is. */
static const char *by_place(const char *path, const foreign *other, const char *before, const char *after) {
    const long left = place_in(before, path, other->around), right = place_in(after, path, other->around);
    if (left < 0 && right < 1)
        return NULL;
    return firnc_format("%.*s.%ld", (int)other->around, path, left >= 0 ? left + 1 : right - 1);
}

/* --- all layers --------------------------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b) {
    const firnc_onnx_layer *x = a, *y = b;
    const int order = strcmp(x->path, y->path);
    return order != 0 ? order : strcmp(x->module, y->module);
}

static int by_text(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* Keeps one layer for each path, if all that was found says the same. A module whose own path is there is that of
 * others: what reads its parameters elsewhere is tied to it. */
static void settle(firnc_onnx_importer *im, const char **paths, size_t count) {
    uint32_t kept = 0;
    qsort(paths, count, sizeof *paths, by_text);
    if (im->layer_count > 0)
        qsort(im->layers, im->layer_count, sizeof *im->layers, by_path);
    for (uint32_t i = 0, end; i < im->layer_count; i = end) {
        const firnc_onnx_layer first = im->layers[i];
        bool agreed = true;
        for (end = i + 1; end < im->layer_count && strcmp(im->layers[end].path, first.path) == 0; end++)
            agreed = agreed && strcmp(im->layers[end].module, first.module) == 0;
        const bool own = strcmp(first.path, first.module) == 0;
        const bool taken = !own && bsearch(&first.module, paths, count, sizeof *paths, by_text) != NULL;
        im->lacks_containers = im->lacks_containers || (agreed && !taken && !own && !first.guessed);
        if (agreed && !taken)
            im->layers[kept++] = first;
    }
    im->layer_count = kept;
}

void firnc_onnx_find_layers(firnc_onnx_importer *im, const firnc_onnx_scope *scope, const FirncOnnx__Graph *graph) {
    const size_t count = graph->n_node;
    const char **paths = firnc_allocate((count + UINT64_C(1)) * sizeof *paths);
    foreign *others = firnc_allocate((count + UINT64_C(1)) * sizeof *others);
    im->layer_count = 0;
    im->lacks_containers = false;
    for (size_t i = 0; im->torchscript && i < count; i++) {
        paths[i] = path_of(graph->node[i], i == 0 ? "" : paths[i - 1], &others[i]);
        add_by_parameters(im, scope, graph->node[i], paths[i]);
    }
    const char *place = NULL; /* of the module in which the nodes are, if it has one */
    for (size_t i = 0, end = 0; im->torchscript && i < count; i++) {
        const foreign *other = &others[i];
        if (other->end == 0 || (i > 0 && strcmp(paths[i], paths[i - 1]) == 0))
            continue;
        if (i >= end || !is_inside(paths[i], paths[end - 1], other->end)) {
            for (end = i + 1; end < count && is_inside(paths[end], paths[i], other->end);)
                end++;
            place = by_place(paths[i], other, i == 0 ? NULL : paths[i - 1], end == count ? NULL : paths[end]);
        }
        if (place != NULL)
            add_layer(im, paths[i], firnc_format("%s%s", place, paths[i] + other->end), true);
    }
    settle(im, paths, im->torchscript ? count : 0);
}

static const firnc_onnx_layer *layer_find(const firnc_onnx_importer *im, const char *path) {
    uint32_t low = 0, high = im->layer_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = strcmp(im->layers[middle].path, path);
        if (order == 0)
            return &im->layers[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

firnc_onnx_layer firnc_onnx_layer_of(const firnc_onnx_importer *im, const char *path) {
    for (size_t end = im->layer_count == 0 ? 0 : strlen(path), begin; end > 0; end = begin > 0 ? begin - 1 : 0) {
        const firnc_onnx_layer *found = layer_find(im, firnc_format("%.*s", (int)end, path));
        if (found != NULL)
            return (firnc_onnx_layer){path, firnc_format("%s%s", found->module, path + end), found->guessed,
                                      im->lacks_containers && path[end] != '\0'};
        (void)last_part(path, end, &begin);
    }
    return (firnc_onnx_layer){path, path, false, im->lacks_containers};
}
