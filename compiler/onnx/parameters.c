/* Which tensors of a file become parameters, under which names of the module's state_dict, and how `firnc weights`
 * turns these parameters back into that state_dict. The order is that of an import: tensors of the file, then names
 * that only the nodes that read the tensors tell, then the map of weights, then warnings. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"
#include "runtime/numerics/numerics.h"

/* --- tensors of the file ------------------------------------------------------------------------------------------ */

bool firnc_onnx_is_never_trained(firnc_onnx_importer *im, const char *name) {
    bool any = false;
    for (uint32_t i = 0; i < im->options->constant_count; i++)
        if (firnc_name_matches(im->options->constants[i], name))
            any = im->matched[i] = true;
    return any;
}

#define TENSORS_MAX 20000 /* what is done for each takes time by their number */

/* A tensor of the file, and what it is to the module. */
typedef struct candidate {
    const char *name;
    const firnc_onnx_tensor *tensor;
    firnc_onnx_origin origin;
} candidate;

/* A tensor of the module that the plan does not train. */
struct firnc_onnx_kept {
    const char *name;
    const firnc_onnx_tensor *tensor;
    bool read; /* a node reads the tensor */
};

/* Whether a tensor may be a parameter: it is of reals, and the exporter does not say otherwise. Where it says
 * nothing, one number is taken for a number in a formula, unless it has a name of a module. */
static bool may_be_parameter(const firnc_onnx_importer *im, const candidate *c) {
    const firnc_onnx_tensor *tensor = c->tensor;
    if (tensor->reals == NULL || tensor->count == 0 || c->name[0] == '/' || c->origin.kind == FIRNC_ONNX_BUFFER ||
        c->origin.kind == FIRNC_ONNX_HIDDEN)
        return false;
    if (c->origin.kind == FIRNC_ONNX_UNKNOWN && tensor->count == 1 && strchr(c->name, '.') == NULL &&
        (!im->torchscript || (c->origin.folded && strncmp(c->name, "onnx::PRelu", 11) != 0)))
        return false;
    return true;
}

/* Whether a tensor that may be a parameter can be trained: training needs finite numbers. A tensor that has others and
 * of which the file does not say what it is, is taken for a constant mask, with a warning. False with im->failed after
 * one message. */
static bool can_be_trained(firnc_onnx_importer *im, const candidate *c) {
    uint64_t odd = 0;
    while (odd < c->tensor->count && isfinite(c->tensor->reals[odd]))
        odd++;
    if (odd == c->tensor->count)
        return true;
    const float number = c->tensor->reals[odd];
    const char *word = isnan(number) ? "NaN" : number < 0 ? "-inf" : "inf";
    if (c->origin.kind == FIRNC_ONNX_PARAMETER)
        return firnc_onnx_fail(im,
                               "parameter %s has %s as element %llu, and training needs finite numbers; start from one "
                               "such as -1e9, or write %s in constants",
                               c->name, word, (unsigned long long)odd, c->name);
    im->warnings = firnc_grown(im->warnings, im->warning_count, &im->warning_capacity, sizeof *im->warnings);
    im->warnings[im->warning_count++] =
        firnc_format("%s has %s as element %llu and is not trained; write it in constants if it is no parameter, or "
                     "start from a finite number such as -1e9",
                     c->name, word, (unsigned long long)odd);
    return false;
}

firnc_onnx_parameter *firnc_onnx_parameter_find(const firnc_onnx_importer *im, const char *name) {
    for (uint32_t i = 0; i < im->parameter_count; i++)
        if (strcmp(im->parameters[i]->name, name) == 0)
            return im->parameters[i];
    return NULL;
}

/* The scope around all branches: tensors have different names, wherever they are. */
static firnc_onnx_scope *outermost(firnc_onnx_scope *scope) {
    while (scope->outer != NULL)
        scope = scope->outer;
    return scope;
}

/* Whether a matrix of these columns has the elements of another one with rows and columns exchanged; one column:
 * whether both have the same elements in the same order. */
static bool has_elements(const firnc_onnx_tensor *a, const firnc_onnx_tensor *b, uint64_t columns) {
    const uint64_t rows = a->count / columns;
    for (uint64_t i = 0; i < a->count; i++)
        if (firn_bits(a->reals[i]) != firn_bits(b->reals[i % columns * rows + i / columns]))
            return false;
    return true;
}

/* Whether a tensor has the elements of another one: as it is or, *turned, with rows and columns exchanged. */
static bool is_same(const firnc_onnx_tensor *a, const firnc_onnx_tensor *b, bool *turned) {
    *turned = false;
    if (a->rank != b->rank || a->count != b->count)
        return false;
    if (memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0 && has_elements(a, b, 1))
        return true;
    *turned = a->rank == 2 && a->dims[0] == b->dims[1] && a->dims[1] == b->dims[0] &&
              has_elements(a, b, (uint64_t)a->dims[1]);
    return *turned;
}

/* The parameter that a tensor holds once more: the one that it was computed from; in a file of TorchScript, which does
 * not say that, one with the same elements. Two folded tensors that are equal as they lie were two parameters, because
 * the exporter folds one parameter into one tensor. Uniform tensors may be equal by chance. NULL if there is none. */
static firnc_onnx_parameter *twin_of(const firnc_onnx_importer *im, const candidate *c, bool *turned) {
    if (c->origin.name != NULL) {
        firnc_onnx_parameter *p = firnc_onnx_parameter_find(im, c->origin.name);
        return p != NULL && is_same(c->tensor, p->tensor, turned) ? p : NULL;
    }
    if (!im->torchscript || firnc_onnx_is_uniform(c->tensor))
        return NULL;
    const uint64_t sum = firnc_onnx_sum_of(c->tensor);
    for (uint32_t i = 0; i < im->parameter_count; i++)
        if (im->parameters[i]->sum == sum && is_same(c->tensor, im->parameters[i]->tensor, turned) &&
            (*turned || !im->parameters[i]->unnamed))
            return im->parameters[i];
    return NULL;
}

static void make_parameter(firnc_onnx_importer *im, const candidate *c, firnc_onnx_value *value) {
    const firnc_onnx_origin *origin = &c->origin;
    const char *name = origin->form == FIRNC_ONNX_COMPUTED ? NULL : origin->name;
    bool turned = false;
    firnc_onnx_parameter *twin = origin->folded ? twin_of(im, c, &turned) : NULL;
    if (twin != NULL) {
        value->parameter = twin;
        value->order[0] = turned ? 1 : 0;
        value->order[1] = turned ? 0 : 1;
        return;
    }
    if (origin->folded && name != NULL && firnc_onnx_parameter_find(im, name) != NULL)
        name = NULL; /* another part of the same parameter */
    firnc_onnx_parameter_new(im, value, name != NULL ? name : c->name);
    value->parameter->unnamed = name == NULL;
    value->parameter->form = name == NULL ? FIRNC_ONNX_AS_IS : origin->form;
    value->parameter->from = origin->from;
}

/* Whether a tensor that is not trained has the name of one of the module's state_dict. */
static bool is_kept(const firnc_onnx_importer *im, const candidate *c) {
    return !c->origin.folded && (c->origin.kind == FIRNC_ONNX_BUFFER || c->origin.kind == FIRNC_ONNX_PARAMETER ||
                                 (c->origin.kind == FIRNC_ONNX_UNKNOWN && im->torchscript));
}

static void keep(firnc_onnx_importer *im, const char *name, const firnc_onnx_tensor *tensor, bool read) {
    im->kept = firnc_grown(im->kept, im->kept_count, &im->kept_capacity, sizeof *im->kept);
    im->kept[im->kept_count++] = (struct firnc_onnx_kept){name, tensor, read};
}

/* Keeps a parameter that is not trained, which the exporter has laid out anew. */
static void keep_folded(firnc_onnx_importer *im, const candidate *c) {
    const firnc_onnx_tensor *tensor = c->tensor;
    if (c->origin.form == FIRNC_ONNX_TRANSPOSED)
        tensor = firnc_onnx_tensor_ordered(tensor, (const uint8_t[]){1, 0});
    else if (c->origin.form == FIRNC_ONNX_FLAT)
        tensor = firnc_onnx_tensor_shaped(tensor, 1, (int64_t[]){(int64_t)tensor->count});
    keep(im, c->origin.name, tensor, true);
}

static bool add_initializer(firnc_onnx_importer *im, firnc_onnx_scope *scope, const candidate *c) {
    firnc_onnx_value *value = firnc_onnx_value_new(c->name);
    firnc_onnx_set_known(value, c->tensor);
    const uint8_t how = firnc_onnx_how_read(scope->reads, c->name);
    bool trained = !firnc_onnx_is_never_trained(im, c->name);
    if (c->origin.name != NULL && c->origin.name != c->name && firnc_onnx_is_never_trained(im, c->origin.name))
        trained = false;
    if (trained && how == FIRNC_ONNX_DIFFERENTIATED && may_be_parameter(im, c) && can_be_trained(im, c))
        make_parameter(im, c, value);
    else if (im->failed)
        return false;
    else if (is_kept(im, c))
        keep(im, c->name, c->tensor, how != FIRNC_ONNX_UNREAD);
    else if (!trained && c->origin.kind == FIRNC_ONNX_PARAMETER && c->origin.name != NULL &&
             c->origin.form != FIRNC_ONNX_COMPUTED && firnc_onnx_find(scope, c->origin.name) == NULL)
        keep_folded(im, c);
    return firnc_onnx_define(im, outermost(scope), c->name, value);
}

/* Tensors that the exporter has computed come last: the module's own names go to those that have them. */
bool firnc_onnx_add_initializers(firnc_onnx_importer *im, firnc_onnx_scope *scope, const FirncOnnx__Graph *graph) {
    if (graph->n_sparse_initializer > 0)
        return firnc_onnx_fail(im, "has sparse tensors; store them as dense ones");
    candidate *candidates = firnc_allocate((graph->n_initializer + UINT64_C(1)) * sizeof *candidates);
    for (size_t i = 0; i < graph->n_initializer; i++) {
        candidate *c = &candidates[i];
        c->name = firnc_onnx_or_empty(graph->initializer[i]->name);
        c->tensor = firnc_onnx_tensor_read(im, graph->initializer[i], c->name);
        if (c->tensor == NULL)
            return false;
        if (i == TENSORS_MAX || im->target_count > TENSORS_MAX)
            return firnc_onnx_fail(im, "has more than %d tensors; export fewer layers", TENSORS_MAX);
        c->origin = firnc_onnx_origin_of(im, c->tensor, c->name);
    }
    for (int folded = 0; folded < 2; folded++)
        for (size_t i = 0; i < graph->n_initializer; i++)
            if (candidates[i].origin.folded == folded && !add_initializer(im, scope, &candidates[i]))
                return false;
    return true;
}

void firnc_onnx_add_constant(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_onnx_value *value) {
    if (value == NULL || value->known == NULL)
        return;
    const candidate c = {value->name, value->known, firnc_onnx_origin_of(im, value->known, value->name)};
    const bool trained = !firnc_onnx_is_never_trained(im, value->name);
    const bool pytorch = strcmp(firnc_onnx_or_empty(im->model->producer_name), "pytorch") == 0;
    if (trained && !pytorch && !im->options->bare && node->scope->depth == 0 && value->known->count > 1 &&
        firnc_onnx_how_read(node->scope->reads, value->name) == FIRNC_ONNX_DIFFERENTIATED && may_be_parameter(im, &c) &&
        can_be_trained(im, &c))
        firnc_onnx_parameter_new(im, value, value->name);
}

/* --- names that the nodes tell ------------------------------------------------------------------------------------ */

/* An exporter may write one tensor for several parameters, drop a parameter's name, or drop the parameter:
 * - equal parameters, merged into one tensor: each gets a parameter of its own (firnc_onnx_own_parameter);
 * - a tied parameter: its other names are copies (firnc_onnx_note_copy, guess_copies);
 * - a folded parameter: the op that reads it gives it its name (firnc_onnx_name_by_use);
 * - a bias of zeros (firnc_onnx_left_out_bias). */

/* The rest of a parameter's name inside a layer, from the dot on: ".0.weight" of "net.0.weight" in "net". NULL if the
 * parameter is not of this layer. TorchScript calls a module that is run again "a_1". */
static const char *rest_in_layer(const firnc_onnx_importer *im, const char *layer, const char *name) {
    while (*layer != '\0') {
        const size_t digits = layer[0] == '_' ? strspn(layer + 1, "0123456789") : 0;
        if (*layer == *name) {
            layer++;
            name++;
        } else if (im->torchscript && digits > 0 && (layer[1 + digits] == '.' || layer[1 + digits] == '\0')) {
            layer += 1 + digits;
        } else {
            return NULL;
        }
    }
    return *name == '.' ? name : NULL;
}

firnc_onnx_value *firnc_onnx_own_parameter(firnc_onnx_importer *im, firnc_onnx_scope *scope, firnc_onnx_value *value,
                                           const char *layer) {
    const firnc_onnx_parameter *merged = value->parameter;
    const char *dot = strrchr(merged->name, '.');
    if (dot == NULL || im->options->bare || layer[0] == '\0' || !firnc_onnx_is_uniform(merged->tensor) ||
        (merged->tensor->rank != 1 && merged->form != FIRNC_ONNX_FLAT) ||
        rest_in_layer(im, layer, merged->name) != NULL)
        return value;
    const char *name = firnc_format("%s%s", layer, dot);
    firnc_onnx_value *own = firnc_onnx_find(scope, name);
    if (own != NULL)
        return own;
    own = firnc_onnx_value_new(name);
    firnc_onnx_set_known(own, merged->tensor);
    if (!firnc_onnx_is_never_trained(im, name)) {
        firnc_onnx_parameter_new(im, own, name);
        own->parameter->form = merged->form;
    }
    return firnc_onnx_define(im, outermost(scope), name, own) ? own : value;
}

/* Which parameter of its layer a node reads, "weight" or "bias", if the op alone tells; else NULL. A GroupNorm is these
 * nodes, of which the first reads no parameter:
 *     /norm/InstanceNormalization(x, ones, zeros), /norm/Mul(y, onnx::Mul_50), /norm/Add(z, onnx::Add_51) */
static const char *parameter_of_op(const firnc_onnx_importer *im, const firnc_onnx_node *node) {
    if (strcmp(node->op, "PRelu") == 0)
        return "weight";
    if (im->group_norm == NULL || strcmp(im->group_norm, node->layer) != 0)
        return NULL;
    return strcmp(node->op, "Mul") == 0 ? "weight" : strcmp(node->op, "Add") == 0 ? "bias" : NULL;
}

/* TorchScript's exporter does not keep the names of the parameters that it folds: "onnx::Mul_50" for "norm.weight". */
void firnc_onnx_name_by_use(firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_value *value) {
    firnc_onnx_parameter *p = value->parameter;
    if (strcmp(node->op, "InstanceNormalization") == 0)
        im->group_norm = node->layer;
    if (!im->torchscript || p == NULL || !p->unnamed || node->layer[0] == '\0' || !firnc_onnx_is_vector(p->tensor))
        return;
    const char *last = parameter_of_op(im, node);
    const char *name = last == NULL ? NULL : firnc_format("%s.%s", node->layer, last);
    if (name == NULL || firnc_onnx_parameter_find(im, name) != NULL)
        return;
    p->name = name;
    p->form = FIRNC_ONNX_FLAT;
    p->unnamed = false;
}

/* The rule by which the exporter's optimizer has rewritten a node; "": none. */
static const char *rewriter_rule(const firnc_onnx_node *node) {
    return firnc_onnx_or_empty(firnc_onnx_property(node->proto->metadata_props, node->proto->n_metadata_props,
                                                   "pkg.onnxscript.rewriter.rule_name"));
}

/* Whether the file lists a parameter of the module under this name. */
static bool is_listed_parameter(const firnc_onnx_importer *im, const char *name) {
    const firnc_onnx_target *target = firnc_onnx_target_find(im, name);
    return target != NULL && target->kind == FIRNC_ONNX_PARAMETER;
}

static bool has_copy(const firnc_onnx_importer *im, const char *name) {
    for (uint32_t i = 0; i < im->copy_count; i++)
        if (strcmp(im->copies[i].name, name) == 0)
            return true;
    return false;
}

/* Whether the op of a node is one with which its layer reads a weight of its own (`last` is ".weight"), or a bias
 * (".bias") if the layer has a weight, too. */
static bool may_read_own(const firnc_onnx_importer *im, const firnc_onnx_scope *scope, const firnc_onnx_node *node,
                         const char *last) {
    const char *weight = firnc_format("%s.weight", node->layer);
    if (strcmp(last, ".weight") == 0)
        return firnc_onnx_is_listed("Conv ConvTranspose Gather Gemm MatMul Transpose", node->op);
    return strcmp(last, ".bias") == 0 && firnc_onnx_is_listed("Add Conv ConvTranspose Gemm", node->op) &&
           (firnc_onnx_find(scope, weight) != NULL || firnc_onnx_parameter_find(im, weight) != NULL ||
            has_copy(im, weight));
}

static void add_copy(firnc_onnx_importer *im, const firnc_onnx_parameter *parameter, const char *name, bool guessed,
                     bool merged) {
    im->copies = firnc_grown(im->copies, im->copy_count, &im->copy_capacity, sizeof *im->copies);
    im->copies[im->copy_count++] = (firnc_onnx_copy){parameter, name, guessed, merged};
}

/* Whether a value of the file may stand for two parameters only because they are equal at the start. In a file of
 * TorchScript, two tensors that are equal may be one parameter. torch.export's exporter keeps of a tied parameter's
 * names the last of its list, and its optimizer keeps of equal tensors the one that is read first. */
static bool is_merged(const firnc_onnx_importer *im, const firnc_onnx_value *value, const char *name) {
    const firnc_onnx_parameter *p = value->parameter;
    const firnc_onnx_target *kept = firnc_onnx_target_find(im, p->name), *other = firnc_onnx_target_find(im, name);
    return im->torchscript ? value->known != p->tensor : kept != NULL && other != NULL && kept->place < other->place;
}

/* A parameter that two layers share is in the file under one name, which shows in the node of the other layer:
 *     Gather of layer "emb" reads emb.weight       nothing to note
 *     Transpose of layer "out" reads emb.weight    out.weight is a copy
 * The copy's name must be one of the file's list of the module's parameters. Without a list the name is a guess. */
void firnc_onnx_note_copy(firnc_onnx_importer *im, const firnc_onnx_scope *scope, const firnc_onnx_node *node,
                          const firnc_onnx_value *value) {
    const firnc_onnx_parameter *p = value->parameter;
    const char *last = strrchr(p->name, '.');
    const bool spans_layers = strncmp(rewriter_rule(node), "Fuse", 4) == 0;
    if (last == NULL || node->layer[0] == '\0' || p->unnamed || spans_layers)
        return;
    const char *name = firnc_format("%s%s", node->layer, last), *rest = rest_in_layer(im, node->layer, p->name);
    if (rest == last) /* the node is of the layer that the parameter is named after */
        return;
    const bool guessed = im->torchscript && rest == NULL && may_read_own(im, scope, node, last);
    if (im->listed ? !is_listed_parameter(im, name) : !guessed)
        return;
    if (firnc_onnx_find(scope, name) == NULL && firnc_onnx_parameter_find(im, name) == NULL && !has_copy(im, name))
        add_copy(im, p, name, node->guessed, is_merged(im, value, name));
}

firnc_onnx_value *firnc_onnx_left_out_bias(firnc_onnx_importer *im, firnc_onnx_scope *scope,
                                           const firnc_onnx_node *node) {
    const firnc_onnx_value *weight = node->inputs[1];
    if (strncmp(rewriter_rule(node), "RemoveOptionalBias", 18) != 0 || weight == NULL || weight->parameter == NULL ||
        weight->rank < 2 || !firnc_onnx_is_listed("Conv Gemm", node->op))
        return NULL;
    const char *weight_name = weight->parameter->name;
    const size_t length = strlen(weight_name), word = strlen("weight");
    if (length < word || strcmp(weight_name + length - word, "weight") != 0)
        return NULL;
    const char *name = firnc_format("%.*sbias", (int)(length - word), weight_name);
    firnc_onnx_value *bias = firnc_onnx_find(scope, name);
    if (bias != NULL || !is_listed_parameter(im, name))
        return bias;
    const bool turned = strcmp(node->op, "Gemm") == 0 && firnc_onnx_integer(node, "transB", 0) == 0;
    firnc_onnx_tensor *zeros =
        firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 1, (int64_t[]){weight->dims[turned ? 1 : 0]});
    if (zeros == NULL)
        return NULL;
    bias = firnc_onnx_value_new(name);
    firnc_onnx_set_known(bias, zeros);
    if (!firnc_onnx_is_never_trained(im, name))
        firnc_onnx_parameter_new(im, bias, name);
    return firnc_onnx_define(im, scope, name, bias) ? bias : NULL;
}

/* A warning for people. */
static void note(firnc_onnx_model *model, const char *text) {
    model->notes = firnc_grown(model->notes, model->note_count, &model->note_capacity, sizeof *model->notes);
    model->notes[model->note_count++] = text;
}

/* --- the map of weights ------------------------------------------------------------------------------------------- */

/* Notes that firnc weights writes the module's tensor of this name. */
static void mark_written(const firnc_onnx_importer *im, const char *name) {
    firnc_onnx_target *target = firnc_onnx_target_find(im, name);
    if (target != NULL)
        target->written = true;
}

static void add_rule(firnc_weight_rule *rules, uint32_t *count, const firnc_onnx_parameter *parameter) {
    const firnc_onnx_tensor *tensor = parameter->tensor;
    const bool laid = !firnc_onnx_is_identity(parameter->order, tensor->rank) && parameter->form != FIRNC_ONNX_FLAT;
    firnc_weight_rule rule = {.parameter = parameter->name, .tensors = {parameter->name}};
    if (tensor->rank == 0)
        rule.extents = FIRNC_WEIGHT_NUMBER;
    else if (parameter->form == FIRNC_ONNX_FLAT)
        rule.extents = FIRNC_WEIGHT_VECTOR;
    rule.transpose = parameter->form == FIRNC_ONNX_TRANSPOSED;
    if (laid) {
        rule.order_count = tensor->rank;
        memcpy(rule.order, parameter->order, tensor->rank);
    }
    if (laid || rule.transpose || rule.extents != FIRNC_WEIGHT_LIKE_PARAMETER)
        rules[(*count)++] = rule;
}

/* Whether a tensor has become state of the graph, such as a running statistic, which training changes. */
static bool is_state(const firnc_onnx_importer *im, const char *name) {
    for (firnc_value i = 0; i < im->graph->value_count; i++)
        if (im->graph->values[i].name != NULL && firnc_is_weight(im->graph->values[i].role) &&
            strcmp(im->graph->values[i].name, name) == 0)
            return true;
    return false;
}

/* Whether a buffer counts the steps of a batch norm. PyTorch loads a state_dict without these counters. */
static bool is_counter(const char *name) {
    return firnc_name_matches("*num_batches_tracked", name);
}

static firnc_weight_rule constant_rule(const char *name, const firnc_onnx_tensor *tensor, bool read) {
    firnc_weight_constant *constant = firnc_allocate(sizeof *constant);
    *constant = (firnc_weight_constant){
        .reals = tensor->reals, .wholes = tensor->wholes, .count = tensor->count, .rank = tensor->rank, .read = read};
    for (uint8_t i = 0; i < tensor->rank; i++)
        constant->dims[i] = (uint64_t)tensor->dims[i];
    return (firnc_weight_rule){.kind = FIRNC_WEIGHT_CONSTANT, .tensors = {name}, .constant = constant};
}

/* Whether names are those of a state_dict. */
static bool is_of_pytorch(const firnc_onnx_importer *im) {
    return im->torchscript || im->target_count > 0;
}

/* Guesses the parameter of which `name` is a copy, by its place: "predictions.decoder.bias" for "predictions.bias". The
 * parameter is one of a direct child of the layer and has the same last name. NULL if no child or more than one child
 * has such a parameter. */
static const firnc_onnx_parameter *parameter_of_child(const firnc_onnx_importer *im, const char *name) {
    const char *last = strrchr(name, '.');
    const size_t layer = last == NULL ? 0 : (size_t)(last - name) + 1; /* characters of "predictions." */
    const firnc_onnx_parameter *found = NULL;
    for (uint32_t i = 0; layer > 0 && i < im->parameter_count; i++) {
        const firnc_onnx_parameter *p = im->parameters[i];
        if (p->unnamed || p->value == FIRNC_NONE || strncmp(p->name, name, layer) != 0)
            continue;
        const char *behind_child = strchr(p->name + layer, '.');
        if (behind_child == NULL || strcmp(behind_child, last) != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = p;
    }
    return found;
}

/* Guesses the parameter of which "shared.weight" of Transformers' models is a copy: the only parameter that has copies.
 * NULL for other names, and if none or more than one parameter has copies. */
static const firnc_onnx_parameter *shared_by_all(const firnc_onnx_importer *im, const char *name) {
    const firnc_onnx_parameter *found = im->copy_count == 0 ? NULL : im->copies[0].parameter;
    for (uint32_t i = 1; i < im->copy_count; i++)
        if (im->copies[i].parameter != found)
            return NULL;
    return firnc_name_matches("*.shared.weight", name) || strcmp(name, "shared.weight") == 0 ? found : NULL;
}

/* Whether a tensor of the file goes by this name, or is known to be a copy of one that does. */
static bool has_tensor(const firnc_onnx_importer *im, const char *name) {
    for (uint32_t i = 0; i < im->kept_count; i++)
        if (strcmp(im->kept[i].name, name) == 0)
            return true;
    return firnc_onnx_parameter_find(im, name) != NULL || has_copy(im, name);
}

/* Guesses the copies of which no node has told (firnc_onnx_note_copy): listed parameters without a tensor. */
static void guess_copies(firnc_onnx_importer *im) {
    for (uint32_t i = 0; im->listed && i < im->target_count; i++) {
        const char *name = im->targets[i]->name;
        if (im->targets[i]->kind != FIRNC_ONNX_PARAMETER || has_tensor(im, name))
            continue;
        const firnc_onnx_parameter *p = parameter_of_child(im, name);
        if (p == NULL)
            p = shared_by_all(im, name);
        if (p == NULL)
            continue;
        add_copy(im, p, name, true, false);
    }
}

static void note_guesses(const firnc_onnx_importer *im, firnc_onnx_model *model) {
    for (uint32_t i = 0; i < im->copy_count; i++)
        if (im->copies[i].guessed)
            note(model, firnc_format("the file has no tensor for %s of the module; it is taken for another name of %s",
                                     im->copies[i].name, im->copies[i].parameter->name));
}

/* Lists how the parameters lie in the module's state_dict, and what else that has. */
static void map_tensors(firnc_onnx_importer *im, firnc_onnx_model *model) {
    const uint64_t room = im->parameter_count + im->copy_count + im->kept_count + im->target_count + UINT64_C(2);
    firnc_weight_rule *rules = firnc_allocate(room * sizeof *rules);
    uint32_t *count = &model->names.count;
    model->names.rules = rules;
    if (is_of_pytorch(im))
        rules[(*count)++] = (firnc_weight_rule){.kind = FIRNC_WEIGHT_IGNORED, .tensors = {"*num_batches_tracked"}};
    for (uint32_t i = 0; i < im->parameter_count; i++) {
        const firnc_onnx_parameter *p = im->parameters[i];
        if (p->value != FIRNC_NONE) {
            model->parameter_count++;
            add_rule(rules, count, p);
        } else if (!p->unnamed && p->form == FIRNC_ONNX_AS_IS && is_of_pytorch(im) && !is_state(im, p->name)) {
            rules[(*count)++] = constant_rule(p->name, p->tensor, false);
        }
        mark_written(im, p->name);
    }
    for (uint32_t i = 0; i < im->copy_count; i++)
        if (im->copies[i].parameter->value != FIRNC_NONE) {
            rules[(*count)++] = (firnc_weight_rule){.kind = FIRNC_WEIGHT_COPY,
                                                    .parameter = im->copies[i].parameter->name,
                                                    .tensors = {im->copies[i].name},
                                                    .written = true};
            mark_written(im, im->copies[i].name);
        }
    for (uint32_t i = 0; i < im->kept_count; i++) {
        if (!is_state(im, im->kept[i].name) && !is_counter(im->kept[i].name))
            rules[(*count)++] = constant_rule(im->kept[i].name, im->kept[i].tensor, im->kept[i].read);
        mark_written(im, im->kept[i].name);
    }
    for (uint32_t i = 0; i < im->target_count; i++) {
        firnc_onnx_target *target = im->targets[i];
        target->written = target->written || is_state(im, target->name) || is_counter(target->name);
        if (target->kind == FIRNC_ONNX_BUFFER && !target->written)
            rules[(*count)++] = (firnc_weight_rule){.kind = FIRNC_WEIGHT_IGNORED, .tensors = {target->name}};
    }
}

/* --- what is doubtful --------------------------------------------------------------------------------------------- */

#define NAMES_SHOWN 6u

/* A list of names, of which the first ones are shown. */
static const char *listed(const char *list, uint32_t count, const char *name) {
    return count > NAMES_SHOWN ? list : firnc_format("%s%s%s", list, count == 1 ? "" : ", ", name);
}

static const char *with_others(const char *list, uint32_t count) {
    return count > NAMES_SHOWN ? firnc_format("%s and %u more", list, (unsigned)(count - NAMES_SHOWN)) : list;
}

/* What helps if the exporter has folded too much. */
static const char *export_again(const firnc_onnx_importer *im) {
    return im->torchscript ? "export with do_constant_folding=False" : "export with optimize=False";
}

static void note_merged(const firnc_onnx_importer *im, firnc_onnx_model *model) {
    const char *list = "";
    uint32_t count = 0;
    for (uint32_t i = 0; i < im->copy_count; i++) {
        const firnc_onnx_copy *copy = &im->copies[i];
        if (copy->merged && copy->parameter->value != FIRNC_NONE)
            list = listed(list, ++count, firnc_format("%s and %s", copy->parameter->name, copy->name));
    }
    if (count > 0)
        note(model, firnc_format("the file has equal tensors for %s: each pair is trained as one parameter; if the "
                                 "module does not tie them, %s",
                                 with_others(list, count), export_again(im)));
}

static void note_tensors(const firnc_onnx_importer *im, firnc_onnx_model *model) {
    const char *again = export_again(im);
    const char *unknown = "", *missing = "";
    uint32_t unknowns = 0, gone = 0;
    for (uint32_t i = 0; i < im->parameter_count; i++) {
        const firnc_onnx_parameter *p = im->parameters[i];
        if (!p->unnamed || p->value == FIRNC_NONE)
            continue;
        if (p->from != NULL)
            note(model,
                 firnc_format("tensor %s is trained in the place of %s, from which the exporter has computed it; "
                              "%s to train as PyTorch does",
                              p->name, p->from, again));
        else
            unknown = listed(unknown, ++unknowns, p->name);
    }
    if (unknowns > 0)
        note(model, firnc_format("%s %s trained, and the file does not say of what parameter of the module; write in "
                                 "constants what is none, or %s",
                                 with_others(unknown, unknowns), unknowns == 1 ? "is" : "are", again));
    for (uint32_t i = 0; i < im->target_count; i++)
        if (!im->targets[i]->written && im->targets[i]->kind != FIRNC_ONNX_HIDDEN)
            missing = listed(missing, ++gone, im->targets[i]->name);
    if (gone > 0)
        note(model, firnc_format("the file has no tensor for %s of the module; %s, or firnc weights can't write %s",
                                 with_others(missing, gone), again, gone == 1 ? "it" : "them"));
}

void firnc_onnx_map_weights(firnc_onnx_importer *im, firnc_onnx_model *model) {
    for (uint32_t i = 0; i < im->warning_count; i++)
        note(model, im->warnings[i]);
    guess_copies(im);
    note_guesses(im, model);
    note_merged(im, model);
    map_tensors(im, model);
    note_tensors(im, model);
}
