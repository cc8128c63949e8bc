/* LSTM, GRU and RNN. What the input gives to the gates is one linear layer over all steps; the recurrence is one op.
 * ONNX has its gates in another order than PyTorch, whose order Firn has: they are put in it by parts of the weights.
 */
#include <string.h>

#include "compiler/onnx/import.h"

/* What a node says about all its directions. */
typedef struct recurrence {
    char kind; /* L, G or R */
    uint8_t gates;
    bool relu, reset_after, batch_first;
    uint32_t directions;
    int64_t steps, batch, inputs, hidden;
} recurrence;

/* Where the gates of PyTorch are among those of ONNX: i o f c and z r h. */
static const uint8_t lstm_gates[] = {0, 2, 3, 1}, gru_gates[] = {1, 0, 2}, rnn_gates[] = {0};

static const uint8_t *gate_order(const recurrence *r) {
    return r->kind == 'L' ? lstm_gates : r->kind == 'G' ? gru_gates : rnn_gates;
}

static bool is_word(const ProtobufCBinaryData *text, const char *word) {
    return text->len == strlen(word) && memcmp(text->data, word, text->len) == 0;
}

/* Only the usual activations, for each direction. */
static bool read_activations(firnc_onnx_importer *im, const firnc_onnx_node *node, recurrence *r) {
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    const FirncOnnx__Attribute *a = firnc_onnx_attribute(node, "activations");
    const uint32_t each = r->kind == 'L' ? 3 : r->kind == 'G' ? 2 : 1;
    if (a == NULL || a->n_strings == 0)
        return true;
    if (a->n_strings != (size_t)each * r->directions)
        return firnc_onnx_fail(im, "has %u activations for %u directions", (unsigned)a->n_strings,
                               (unsigned)r->directions);
    r->relu = r->kind == 'R' && is_word(&a->strings[0], "Relu");
    for (size_t i = 0; i < a->n_strings; i++) {
        const char *wanted = r->kind != 'R' ? usual[i % each] : r->relu ? "Relu" : "Tanh";
        if (!is_word(&a->strings[i], wanted))
            return firnc_onnx_fail(im, "has activations other than %s; export it with those",
                                   r->kind == 'R' ? "Tanh, or Relu, in all directions" : "Sigmoid and Tanh");
    }
    return true;
}

static bool read_recurrence(firnc_onnx_importer *im, const firnc_onnx_node *node, recurrence *r) {
    const firnc_onnx_value *x = node->inputs[0], *weight = node->inputs[1], *state = node->inputs[2];
    *r = (recurrence){.kind = node->op[0]};
    r->gates = r->kind == 'L' ? 4 : r->kind == 'G' ? 3 : 1;
    r->batch_first = firnc_onnx_integer(node, "layout", 0) != 0;
    r->reset_after = firnc_onnx_integer(node, "linear_before_reset", 0) != 0;
    if (x->rank != 3 || weight->rank != 3 || state->rank != 3)
        return firnc_onnx_fail(im, "takes operands of 3 dimensions; reshape them to [steps, samples, features]");
    r->steps = x->dims[r->batch_first ? 1 : 0];
    r->batch = x->dims[r->batch_first ? 0 : 1];
    r->inputs = x->dims[2];
    r->hidden = state->dims[2];
    r->directions = (uint32_t)weight->dims[0];
    const char *direction = firnc_onnx_text(node, "direction", "forward");
    const bool both = strcmp(direction, "bidirectional") == 0;
    if (!both && strcmp(direction, "forward") != 0 && strcmp(direction, "reverse") != 0)
        return firnc_onnx_fail(im, "has the direction %s; forward, reverse and bidirectional are known", direction);
    if (weight->dims[0] != 1 + both || state->dims[0] != 1 + both || weight->dims[1] != r->gates * r->hidden ||
        state->dims[1] != r->gates * r->hidden || weight->dims[2] != r->inputs)
        return firnc_onnx_fail(im, "has weights of other sizes than its operand and hidden_size");
    if (firnc_onnx_integer(node, "hidden_size", r->hidden) != r->hidden)
        return firnc_onnx_fail(im, "has a hidden_size of %lld, and weights for %lld",
                               (long long)firnc_onnx_integer(node, "hidden_size", r->hidden), (long long)r->hidden);
    const firnc_onnx_value *bias = node->input_count > 3 ? node->inputs[3] : NULL;
    if (bias != NULL &&
        (bias->rank != 2 || bias->dims[0] != r->directions || bias->dims[1] != r->hidden * r->gates * 2))
        return firnc_onnx_fail(im, "has biases of other sizes than its weights");
    if (firnc_onnx_integer(node, "input_forget", 0) != 0)
        return firnc_onnx_fail(im, "has input_forget, which Firn does not have; leave it out");
    const firnc_onnx_value *lengths = node->inputs[4];
    for (uint64_t i = 0; lengths != NULL && i < firnc_onnx_count(lengths); i++)
        if (lengths->known == NULL || lengths->known->wholes == NULL || lengths->known->wholes[i] != r->steps)
            return firnc_onnx_fail(
                im, "has sequences of different lengths, which Firn does not have; leave sequence_lens out");
    return read_activations(im, node, r);
}

/* The part of a tensor that belongs to a direction, with its gates in PyTorch's order: axis 0 is of the directions,
 * axis 1 of the gates, from `first` on. */
static firnc_value gates_of(firnc_onnx_importer *im, const recurrence *r, firnc_onnx_value *value, uint32_t direction,
                            int64_t first) {
    firnc_value parts[4];
    const uint8_t rank = value->rank;
    firnc_value x = firnc_onnx_slice(im, firnc_onnx_plain_real(im, value), 0, direction, 1, 1);
    int64_t dims[2] = {value->dims[1], rank == 3 ? value->dims[2] : 0};
    x = firnc_onnx_reshape(im, x, (uint8_t)(rank - 1), dims);
    for (uint8_t i = 0; i < r->gates; i++)
        parts[i] = firnc_onnx_slice(im, x, 0, first + gate_order(r)[i] * r->hidden, 1, r->hidden);
    return firnc_onnx_concat(im, parts, r->gates, 0);
}

/* The name of PyTorch's tensor of a direction, such as "lstm.weight_ih_l0_reverse", if the exporter has computed one
 * tensor from those of all directions. The name follows from the names that the exporter notes, or in TorchScript's
 * files from the name of the node: "/lstm/LSTM_1" is of layer 1. NULL: unknown. */
static const char *own_name(const firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_value *value,
                            const char *what, uint32_t direction) {
    const firnc_onnx_parameter *packed = value->parameter;
    const char *suffix =
        direction == 1 || strcmp(firnc_onnx_text(node, "direction", "forward"), "reverse") == 0 ? "_reverse" : "";
    if (packed->from != NULL) {
        const char *first = firnc_format("%.*s", (int)strcspn(packed->from, ","), packed->from);
        const char *dot = strrchr(first, '.'), *own = dot == NULL ? first : dot + 1, *layer = strstr(own, "_l");
        if (layer == NULL || strspn(layer + 2, "0123456789") == 0)
            return NULL;
        return firnc_format("%.*s%s_l%.*s%s", (int)(own - first), first, what, (int)strspn(layer + 2, "0123456789"),
                            layer + 2, suffix);
    }
    const char *last = strrchr(firnc_onnx_or_empty(node->proto->name), '/'),
               *number = last == NULL ? NULL : strchr(last, '_');
    if (!im->torchscript || last == NULL)
        return NULL;
    return firnc_format("%s%s%s_l%s%s", node->layer, node->layer[0] == '\0' ? "" : ".", what,
                        number == NULL ? "0" : number + 1, suffix);
}

/* PyTorch's tensor `what` of a direction, with its gates in PyTorch's order. */
static firnc_value own_gates(firnc_onnx_importer *im, const firnc_onnx_node *node, const recurrence *r,
                             firnc_onnx_value *value, uint32_t direction, int64_t first, const char *what) {
    const firnc_onnx_parameter *packed = value->parameter;
    const char *name = packed == NULL || !packed->unnamed ? NULL : own_name(im, node, value, what, direction);
    if (name == NULL || value->known != packed->tensor)
        return gates_of(im, r, value, direction, first);
    firnc_onnx_parameter *own = firnc_onnx_parameter_find(im, name);
    if (own != NULL)
        return firnc_onnx_parameter_value(im, own, NULL);
    const firnc_onnx_tensor *from = packed->tensor;
    const int64_t rows = r->gates * r->hidden, columns = from->rank == 3 ? from->dims[2] : 1;
    firnc_onnx_tensor *part =
        firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, (uint8_t)(from->rank - 1), (int64_t[]){rows, columns});
    if (part == NULL)
        return FIRNC_NONE;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t row =
            direction * from->dims[1] + first + gate_order(r)[i / r->hidden] * r->hidden + i % r->hidden;
        memcpy(part->reals + i * columns, from->reals + row * columns, (size_t)columns * sizeof *part->reals);
    }
    firnc_onnx_value *made = firnc_onnx_value_new(name);
    firnc_onnx_set_known(made, part);
    if (!firnc_onnx_is_never_trained(im, name))
        firnc_onnx_parameter_new(im, made, name);
    return firnc_onnx_plain_real(im, made);
}

/* The state of a direction before the first step, [B,H]; FIRNC_NONE: zeros. */
static firnc_value first_state(firnc_onnx_importer *im, const firnc_onnx_node *node, const recurrence *r,
                               uint32_t input, uint32_t direction) {
    if (node->inputs[input] == NULL)
        return FIRNC_NONE;
    firnc_onnx_value *value = node->inputs[input];
    if (value->rank != 3 || value->dims[r->batch_first ? 1 : 0] != r->directions ||
        value->dims[r->batch_first ? 0 : 1] != r->batch || value->dims[2] != r->hidden) {
        if (r->kind == 'L' && input == 6 && node->inputs[5] != NULL && value->rank == 3 && value->dims[2] != r->hidden)
            firnc_onnx_fail(im,
                            "has cells of %lld units and weights for %lld: PyTorch exports an LSTM with proj_size so, "
                            "without its projection; write it as an LSTM and a Linear for each step",
                            (long long)value->dims[2], (long long)r->hidden);
        else
            firnc_onnx_fail(im, "has first states of other sizes than its operand and weights");
        return FIRNC_NONE;
    }
    bool zeros = firnc_onnx_is_constant(value);
    for (uint64_t i = 0; zeros && i < value->known->count; i++)
        zeros = firnc_onnx_number(value->known, i) == 0;
    if (zeros)
        return FIRNC_NONE;
    const uint8_t axis = r->batch_first ? 1 : 0;
    firnc_value x = firnc_onnx_slice(im, firnc_onnx_plain_real(im, value), axis, direction, 1, 1);
    return firnc_onnx_reshape(im, x, 2, (int64_t[]){r->batch, r->hidden});
}

/* The results of a direction. */
typedef struct result {
    firnc_value y, last_h, last_c;
} result;

static result run_direction(firnc_onnx_importer *im, const firnc_onnx_node *node, const recurrence *r, firnc_value x,
                            uint32_t direction) {
    result made = {FIRNC_NONE, FIRNC_NONE, FIRNC_NONE};
    firnc_onnx_value *biases = node->inputs[3];
    firnc_value bias = FIRNC_NONE, inner = FIRNC_NONE;
    if (biases != NULL) {
        bias = own_gates(im, node, r, biases, direction, 0, "bias_ih");
        inner = own_gates(im, node, r, biases, direction, r->gates * r->hidden, "bias_hh");
        if (r->kind != 'G') { /* both are added to the same sums */
            bias = firnc_onnx_binary(im, FIRN_OP_add, bias, inner);
            inner = FIRNC_NONE;
        }
    }
    const firnc_value weight = own_gates(im, node, r, node->inputs[1], direction, 0, "weight_ih");
    const firnc_value state = own_gates(im, node, r, node->inputs[2], direction, 0, "weight_hh");
    const firnc_value h = first_state(im, node, r, 5, direction);
    const firnc_value c = r->kind == 'L' ? first_state(im, node, r, 6, direction) : FIRNC_NONE;
    if (im->failed)
        return made;
    const firnc_value gates = firnc_onnx_made(im, firnc_linear(im->graph, x, weight, bias, FIRNC_OUT_IN));
    const bool reverse = direction == 1 || strcmp(firnc_onnx_text(node, "direction", "forward"), "reverse") == 0;
    const firnc_recurrent_options options = {.reverse = reverse, .reset_after = r->reset_after, .relu = r->relu};
    if (im->failed)
        return made;
    if (r->kind == 'L')
        made.y = firnc_lstm(im->graph, gates, state, h, c, options, &made.last_h, &made.last_c);
    else if (r->kind == 'G')
        made.y = firnc_gru(im->graph, gates, state, inner, h, options, &made.last_h);
    else
        made.y = firnc_rnn(im->graph, gates, state, h, options, &made.last_h);
    made.y = firnc_onnx_made(im, made.y);
    return made;
}

/* The last states of all directions, [D,B,H], or [B,D,H]. */
static void set_last(firnc_onnx_importer *im, firnc_onnx_value *to, const firnc_onnx_node *node, const recurrence *r,
                     const firnc_value *states) {
    static const uint8_t batch_first[] = {1, 0, 2};
    firnc_value parts[2];
    for (uint32_t i = 0; i < r->directions; i++)
        parts[i] = firnc_onnx_reshape(im, states[i], 3, (int64_t[]){1, r->batch, r->hidden});
    firnc_onnx_set_ordered(im, to, firnc_onnx_concat(im, parts, r->directions, 0), node->inputs[0]->type, 3,
                           r->batch_first ? batch_first : NULL);
}

bool firnc_onnx_import_recurrent(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    static const uint8_t steps_first[] = {1, 0, 2}, batch_first[] = {1, 2, 0, 3};
    recurrence r;
    result made[2];
    firnc_value ys[2], hs[2], cs[2];
    if (!read_recurrence(im, node, &r))
        return false;
    const firnc_value x = firnc_onnx_real(im, r.batch_first ? firnc_onnx_ordered(im, node->inputs[0], 3, steps_first)
                                                            : firnc_onnx_plain(im, node->inputs[0]));
    for (uint32_t i = 0; i < r.directions && !im->failed; i++) {
        made[i] = run_direction(im, node, &r, x, i);
        ys[i] = firnc_onnx_reshape(im, made[i].y, 4, (int64_t[]){r.steps, 1, r.batch, r.hidden});
        hs[i] = made[i].last_h;
        cs[i] = made[i].last_c;
    }
    if (im->failed)
        return false;
    /* [T,D,B,H], or [B,T,D,H] */
    if (node->outputs[0] != NULL)
        firnc_onnx_set_ordered(im, node->outputs[0], firnc_onnx_concat(im, ys, r.directions, 1), node->inputs[0]->type,
                               4, r.batch_first ? batch_first : NULL);
    if (node->outputs[1] != NULL)
        set_last(im, node->outputs[1], node, &r, hs);
    if (node->outputs[2] != NULL)
        set_last(im, node->outputs[2], node, &r, cs);
    return !im->failed;
}
