/* What PyTorch's exporters note about the tensors of a file: which are parameters or buffers of the module, and from
 * what the others were computed. torch.export's exporter lists the module's tensors in the model's properties (its
 * signature) and notes at each tensor what it is. TorchScript's notes nothing: its names alone tell. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import.h"

#define SIGNATURE   "pkg.torch.export.ExportedProgram.graph_signature"
#define KIND        "pkg.torch.export.graph_signature.InputSpec.kind"
#define PERSISTENT  "pkg.torch.export.graph_signature.InputSpec.persistent"
#define FOLDED_FROM "pkg.onnxscript.optimizer.folded_from"

/* --- the module's tensors ----------------------------------------------------------------------------------------- */

/* Returns the next text in quotes from *at on and moves *at behind it; NULL if there is none. */
static const char *next_quoted(const char **at) {
    const char *begin = strchr(*at, '\''), *end = begin == NULL ? NULL : strchr(begin + 1, '\'');
    if (end == NULL)
        return NULL;
    *at = end + 1;
    return firnc_format("%.*s", (int)(end - begin - 1), begin + 1);
}

static int by_name(const void *a, const void *b) {
    const firnc_onnx_target *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

firnc_onnx_target *firnc_onnx_target_find(const firnc_onnx_importer *im, const char *name) {
    const firnc_onnx_target wanted = {.name = name}, *key = &wanted;
    firnc_onnx_target **found =
        im->target_count == 0 ? NULL : bsearch(&key, im->targets, im->target_count, sizeof *im->targets, by_name);
    return found == NULL ? NULL : *found;
}

/* The kind in a text such as "PARAMETER" or "<InputKind.BUFFER: 3>". */
static uint8_t kind_of(const char *text, bool persistent) {
    if (strstr(text, "PARAMETER") != NULL)
        return FIRNC_ONNX_PARAMETER;
    return strstr(text, "BUFFER") != NULL && persistent ? FIRNC_ONNX_BUFFER : FIRNC_ONNX_HIDDEN;
}

static void add_target(firnc_onnx_importer *im, const char *name, uint8_t kind) {
    firnc_onnx_target *target = firnc_allocate(sizeof *target);
    *target = (firnc_onnx_target){.name = name, .kind = kind, .place = im->target_count};
    im->targets = firnc_grown(im->targets, im->target_count, &im->target_capacity, sizeof *im->targets);
    im->targets[im->target_count++] = target;
}

/* Reads "p_w: PARAMETER target='w'" and "b_m: BUFFER target='m' persistent=True", and what older releases write:
 * "InputSpec(kind=<InputKind.BUFFER: 3>, ..., target='m', persistent=True)". What comes behind the inputs is not read.
 */
static void read_signature(firnc_onnx_importer *im, const char *text) {
    const char *end = strstr(text, "# outputs");
    if (end == NULL)
        end = strstr(text, "output_specs");
    text = end == NULL ? text : firnc_format("%.*s", (int)(end - text), text);
    const char *at;
    while ((at = strstr(text, "target='")) != NULL) {
        const char *kind = firnc_format("%.*s", (int)(at - text), text), *name = next_quoted(&at);
        const char *next = name == NULL ? NULL : strstr(at, "target='");
        if (name == NULL)
            return;
        const char *not_persistent = strstr(at, "persistent=False"); /* perhaps of a later target */
        add_target(im, name, kind_of(kind, not_persistent == NULL || (next != NULL && not_persistent > next)));
        text = at;
    }
}

static int by_info_name(const void *a, const void *b) {
    const FirncOnnx__ValueInfo *const *x = a, *const *y = b;
    return strcmp(firnc_onnx_or_empty((*x)->name), firnc_onnx_or_empty((*y)->name));
}

static const char *info_property(const FirncOnnx__ValueInfo *info, const char *key) {
    return info == NULL ? NULL : firnc_onnx_property(info->metadata_props, info->n_metadata_props, key);
}

/* The text of a signature: a property of the model or of its graph. */
static const char *signature_of(const FirncOnnx__Model *model) {
    const char *text = firnc_onnx_property(model->metadata_props, model->n_metadata_props, SIGNATURE);
    return text != NULL ? text
                        : firnc_onnx_property(model->graph->metadata_props, model->graph->n_metadata_props, SIGNATURE);
}

/* A name without the number that tells it from others of the same op: "transpose" of "transpose_1". */
static const char *op_of(const char *name) {
    size_t length = strlen(name);
    while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
        length--;
    return length > 1 && length < strlen(name) && name[length - 1] == '_'
               ? firnc_format("%.*s", (int)(length - 1), name)
               : name;
}

/* --- tensors that an index reads ---------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* Whether a list of names in order has this one. */
static bool has_name(const char *const *names, uint32_t count, const char *name) {
    return count > 0 && bsearch(&name, names, count, sizeof *names, by_text) != NULL;
}

static bool is_op(const FirncOnnx__Node *node, const char *op) {
    return strcmp(firnc_onnx_or_empty(node->op_type), op) == 0 && node->n_input > 0 && node->n_output > 0;
}

/* Lists the tensors that PyTorch's indexing reads as they are. t[x] becomes a GatherND of t; for t[:, x], which indexes
 * columns, the exporter turns t first, and turns the result of GatherND back under the name "index". */
static void find_indexed(firnc_onnx_importer *im) {
    const FirncOnnx__Graph *graph = im->model->graph;
    const char **back = firnc_allocate((graph->n_node + UINT64_C(1)) * sizeof *back);
    uint32_t back_count = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        if (is_op(graph->node[i], "Transpose") && strcmp(op_of(graph->node[i]->output[0]), "index") == 0)
            back[back_count++] = graph->node[i]->input[0];
    qsort(back, back_count, sizeof *back, by_text);
    im->indexed = firnc_allocate((graph->n_node + UINT64_C(1)) * sizeof *im->indexed);
    for (size_t i = 0; i < graph->n_node; i++)
        if (is_op(graph->node[i], "GatherND") && !has_name(back, back_count, graph->node[i]->output[0]))
            im->indexed[im->indexed_count++] = graph->node[i]->input[0];
    qsort(im->indexed, im->indexed_count, sizeof *im->indexed, by_text);
}

void firnc_onnx_read_origins(firnc_onnx_importer *im) {
    const FirncOnnx__Graph *graph = im->model->graph;
    const char *signature = signature_of(im->model);
    im->info_count = graph->n_value_info;
    im->infos = firnc_allocate((im->info_count + 1) * sizeof *im->infos);
    if (im->info_count > 0)
        memcpy(im->infos, graph->value_info, im->info_count * sizeof *im->infos);
    qsort(im->infos, im->info_count, sizeof *im->infos, by_info_name);
    if (signature != NULL)
        read_signature(im, signature);
    bool noted = signature != NULL;
    for (size_t i = 0; i < im->info_count; i++) {
        const char *kind = info_property(im->infos[i], KIND), *persistent = info_property(im->infos[i], PERSISTENT);
        if (kind != NULL && signature == NULL)
            add_target(im, firnc_onnx_or_empty(im->infos[i]->name),
                       kind_of(kind, persistent == NULL || strcmp(persistent, "False") != 0));
        noted = noted || kind != NULL || info_property(im->infos[i], FOLDED_FROM) != NULL;
    }
    if (im->target_count > 0)
        qsort(im->targets, im->target_count, sizeof *im->targets, by_name);
    find_indexed(im);
    im->listed = signature != NULL;
    im->torchscript = !noted && strcmp(firnc_onnx_or_empty(im->model->producer_name), "pytorch") == 0;
}

/* --- what a tensor was computed from ------------------------------------------------------------------------------ */

/* The ops through which a tensor came from a parameter, by the names of their results, the tensor's own name being the
 * last. Names of "val" are given to what the exporter adds to PyTorch's ops: results and constant operands. */
typedef struct path {
    uint32_t turns, reshapes, others;
    uint32_t vals;    /* but for the last name */
    bool ends_in_val; /* the last name */
    bool indexed;     /* an index reads the tensor as it is */
} path;

static void add_to_path(path *to, const char *name) {
    const char *op = op_of(name);
    if (firnc_onnx_is_listed("t transpose permute numpy_t mT", op))
        to->turns++;
    else if (firnc_onnx_is_listed("view reshape unsqueeze squeeze flatten", op))
        to->reshapes++;
    else if (strcmp(op, "val") == 0)
        to->vals++;
    else if (!firnc_onnx_is_listed("clone contiguous detach alias to", op))
        to->others++;
}

static void end_path(path *to, const char *name) {
    to->ends_in_val = strcmp(op_of(name), "val") == 0;
    if (!to->ends_in_val)
        add_to_path(to, name);
}

/* The form of a tensor that was computed from one parameter. Examples, "tensor: what it was computed from":
 *     transpose_1: w                    a turned matrix
 *     val_2: a.weight                   the same: alone, "val" is the transpose that a linear layer's MatMul needs
 *     val_0: t                          t itself where an index reads it (find_indexed)
 *     view: g, val_1, val_2             a vector with extents of 1, and the operands of the reshape
 *     val_29: 3.weight, val_23, val_24  the same: with operands, "val" is the reshape that PReLU or GroupNorm needs */
static uint8_t form_of(const path *p, const firnc_onnx_tensor *tensor) {
    const bool only_turned = p->reshapes + p->others + p->vals == 0, only_reshaped = p->turns + p->others == 0;
    const uint32_t turns = p->turns + (p->ends_in_val && !p->indexed);
    if (only_turned && turns == 0)
        return FIRNC_ONNX_AS_IS;
    if (only_turned && tensor->rank == 2)
        return turns % 2 == 1 ? FIRNC_ONNX_TRANSPOSED : FIRNC_ONNX_AS_IS;
    return only_reshaped && firnc_onnx_is_vector(tensor) ? FIRNC_ONNX_FLAT : FIRNC_ONNX_COMPUTED;
}

/* What a name stands for in the list of what a tensor was computed from: the result of an op, a parameter, or another
 * tensor of the module. */
typedef enum source { OP_RESULT, PARAMETER, OTHER_TENSOR } source;

/* Names that the file does not list are names of results. If it has no list, names of modules are those with a dot. */
static source source_of(const firnc_onnx_importer *im, const char *name) {
    const firnc_onnx_target *target = firnc_onnx_target_find(im, name);
    if (target != NULL)
        return target->kind == FIRNC_ONNX_PARAMETER ? PARAMETER : OTHER_TENSOR;
    return !im->listed && strchr(name, '.') != NULL ? PARAMETER : OP_RESULT;
}

/* Sets the origin of the folded tensor `name` by the list of what it was computed from, such as
 * "['3.weight', 'val_23', 'val_24']". Only a tensor from a single one of the module has the name of that. */
static void read_folded_from(const firnc_onnx_importer *im, const char *list, const firnc_onnx_tensor *tensor,
                             const char *name, firnc_onnx_origin *origin) {
    path path = {0};
    uint32_t parameters = 0, other_tensors = 0;
    const char *from, *of_module = NULL;
    while ((from = next_quoted(&list)) != NULL) {
        const source source = source_of(im, from);
        if (source == OP_RESULT) {
            add_to_path(&path, from);
            continue;
        }
        of_module = from;
        if (source == PARAMETER)
            origin->from = parameters++ == 0 ? from : firnc_format("%s, %s", origin->from, from);
        else
            other_tensors++;
    }
    end_path(&path, name);
    path.indexed = has_name(im->indexed, im->indexed_count, name);
    const bool single = parameters + other_tensors == 1;
    origin->kind = parameters > 0 ? FIRNC_ONNX_PARAMETER : im->listed ? FIRNC_ONNX_HIDDEN : FIRNC_ONNX_UNKNOWN;
    origin->form = single ? form_of(&path, tensor) : FIRNC_ONNX_COMPUTED;
    origin->name = single ? of_module : NULL;
}

/* Whether TorchScript's exporter has taken a name from the module: it calls what it folds "onnx::MatMul_9", or by a
 * number. */
static bool is_of_module(const char *name) {
    return name[0] != '/' && strncmp(name, "onnx::", 6) != 0 && strspn(name, "0123456789") < strlen(name);
}

firnc_onnx_origin firnc_onnx_origin_of(const firnc_onnx_importer *im, const firnc_onnx_tensor *tensor,
                                       const char *name) {
    const FirncOnnx__ValueInfo wanted = {.name = (char *)(uintptr_t)name}, *key = &wanted;
    FirncOnnx__ValueInfo **info =
        im->info_count == 0 ? NULL : bsearch(&key, im->infos, im->info_count, sizeof *im->infos, by_info_name);
    const char *kind = info == NULL ? NULL : info_property(*info, KIND);
    const char *list = info == NULL ? NULL : info_property(*info, FOLDED_FROM);
    const firnc_onnx_target *target = firnc_onnx_target_find(im, name);
    firnc_onnx_origin origin = {.name = name};
    if (target != NULL || kind != NULL) {
        origin.kind = target != NULL ? target->kind : kind_of(kind, true);
    } else if (list != NULL) {
        origin.folded = true;
        read_folded_from(im, list, tensor, name, &origin);
    } else if (im->torchscript ? !is_of_module(name) : im->listed) { /* computed, and nothing says from what */
        origin.folded = true;
        origin.name = NULL;
    }
    return origin;
}
