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

/* The next text in quotes at or behind *at, which moves behind it; NULL if there is none. */
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
    *target = (firnc_onnx_target){.name = name, .kind = kind};
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
        const char *not_kept = strstr(at, "persistent=False");
        add_target(im, name, kind_of(kind, not_kept == NULL || (next != NULL && not_kept > next)));
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
    im->listed = signature != NULL;
    im->torchscript = !noted && strcmp(firnc_onnx_or_empty(im->model->producer_name), "pytorch") == 0;
}

/* --- what a tensor was computed from ------------------------------------------------------------------------------ */

/* A name without the number that tells it from others of the same op: "transpose" of "transpose_1". */
static const char *op_of(const char *name) {
    size_t length = strlen(name);
    while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
        length--;
    return length > 1 && length < strlen(name) && name[length - 1] == '_'
               ? firnc_format("%.*s", (int)(length - 1), name)
               : name;
}

/* The ops through which a tensor came from a parameter, by the names of their results. */
typedef struct steps {
    uint32_t turns, reshapes, unnamed, others;
} steps;

static void count_step(steps *to, const char *name) {
    const char *op = op_of(name);
    if (firnc_onnx_is_listed("t transpose permute numpy_t mT", op))
        to->turns++;
    else if (firnc_onnx_is_listed("view reshape unsqueeze squeeze flatten", op))
        to->reshapes++;
    else if (strcmp(op, "val") == 0)
        to->unnamed++;
    else if (!firnc_onnx_is_listed("clone contiguous detach alias to", op))
        to->others++;
}

/* Names that begin with "val" are results of ops that the exporter adds to PyTorch's, and their constant operands. A
 * matrix whose only op is of that kind is the transposed weight of a linear layer; with constant operands the op gives
 * a vector extents of 1, as for PReLU or GroupNorm. */
static uint8_t form_of(const steps *s, const steps *last, const firnc_onnx_tensor *tensor) {
    const uint32_t turns = s->turns + last->turns + last->unnamed;
    if (s->others + last->others == 0 && s->reshapes + last->reshapes + s->unnamed == 0 && tensor->rank == 2)
        return turns % 2 == 1 ? FIRNC_ONNX_TRANSPOSED : FIRNC_ONNX_AS_IS;
    if (s->others + last->others + s->turns + last->turns == 0 && firnc_onnx_is_vector(tensor))
        return FIRNC_ONNX_FLAT;
    return FIRNC_ONNX_COMPUTED;
}

/* Whether a name that a tensor was computed from is a parameter or, *kept, another tensor of the module. Without a list
 * of these the dot tells, which names of modules have. */
static bool is_parameter_name(const firnc_onnx_importer *im, const char *name, bool *kept) {
    const firnc_onnx_target *target = firnc_onnx_target_find(im, name);
    *kept = target != NULL && target->kind != FIRNC_ONNX_PARAMETER;
    return target != NULL ? !*kept : !im->listed && strchr(name, '.') != NULL;
}

static void trace(const firnc_onnx_importer *im, const char *list, const firnc_onnx_tensor *tensor, const char *name,
                  firnc_onnx_origin *origin) {
    steps between = {0}, last = {0};
    uint32_t parameters = 0, others = 0;
    const char *from, *only = NULL;
    while ((from = next_quoted(&list)) != NULL) {
        bool kept;
        if (is_parameter_name(im, from, &kept))
            origin->from = parameters++ == 0 ? from : firnc_format("%s, %s", origin->from, from);
        else if (kept)
            others++;
        else
            count_step(&between, from);
        only = parameters + others == 1 && only == NULL ? from : only;
    }
    count_step(&last, name);
    origin->kind = parameters > 0 ? FIRNC_ONNX_PARAMETER : im->listed ? FIRNC_ONNX_HIDDEN : FIRNC_ONNX_UNKNOWN;
    origin->form = parameters + others == 1 ? form_of(&between, &last, tensor) : FIRNC_ONNX_COMPUTED;
    origin->name = parameters + others == 1 ? only : NULL;
}

/* Whether TorchScript's exporter has taken a name from the module: it calls what it folds "onnx::MatMul_9", or by a
 * number. */
static bool is_of_module(const char *name) {
    return name[0] != '/' && strstr(name, "::") == NULL && strspn(name, "0123456789") < strlen(name);
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
        trace(im, list, tensor, name, &origin);
    } else if (im->torchscript ? !is_of_module(name) : im->listed) {
        origin.folded = true;
        origin.name = NULL;
    }
    return origin;
}
