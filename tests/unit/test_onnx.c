/* Tests the importer of ONNX models (compiler/onnx): what a small model becomes, what the exporters' patterns become,
 * and that a file that is wrong is refused with one line, however it is wrong. Models are written here field by field;
 * tests/end_to_end has those that PyTorch exports. */
#define _XOPEN_SOURCE 700

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/graph/ir.h"
#include "compiler/onnx/onnx.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_onnx.h"
#include "tests/unit/support_test.h"

static char message[4096], folder[64], path[128];
static int messages;

static void keep_message(void *context, const char *line) {
    (void)context;
    messages++;
    snprintf(message, sizeof message, "%s", line);
}

BEFORE_ALL {
    snprintf(folder, sizeof folder, P_tmpdir "/firn-onnx-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model.onnx", folder);
}

AFTER_ALL {
    remove(path);
    rmdir(folder);
}

BEFORE_EACH {
    firnc_messages_to(keep_message, NULL);
}

/* --- reading them ------------------------------------------------------------------------------------------------- */

static firnc_onnx_model model_read;

/* Imports the file; NULL after exactly one message. */
static firnc_graph *import_file(bool bare) {
    const firnc_onnx_options options = {.samples = bare ? 0 : 3, .bare = bare, .features = {.element = FIRN_FLOAT32}};
    firnc_graph *graph = firnc_graph_create("test");
    messages = 0;
    const bool good = firnc_onnx_import(graph, path, &options, &model_read);
    assert_int_equal(messages, good ? 0 : 1);
    return good ? graph : NULL;
}

static void write_model(const message_bytes *graph, int64_t opset) {
    const message_bytes model = model_of(graph, opset);
    write_file(path, model.bytes, model.count);
}

static firnc_graph *import(const message_bytes *graph) {
    write_model(graph, 20);
    return import_file(false);
}

static const firnc_graph *imported(const message_bytes *graph) {
    const firnc_graph *made = import(graph);
    if (made == NULL)
        fail_msg("refused: %s", message);
    return made;
}

/* Asserts that a graph is refused with a message that has these words. */
static void refused(const message_bytes *graph, const char *words) {
    assert_null(import(graph));
    if (strncmp(message, "firnc: ", 7) != 0 || strstr(message, words) == NULL)
        fail_msg("\"%s\" is not in: %s", words, message);
}

/* x[batch,4], and what the model gives. */
static message_bytes with_input(const char *output) {
    message_bytes graph = {.count = 0};
    put_graph(&graph, "in x [batch 4]");
    put_value(&graph, OUTPUT, output, 1, 0, NULL);
    return graph;
}

/* The same with what a text says (put_graph). */
static message_bytes graph_of(const char *output, const char *text) {
    message_bytes graph = with_input(output);
    put_graph(&graph, text);
    return graph;
}

static const firnc_graph *imported_text(const char *text) {
    const message_bytes graph = graph_of("y", text);
    return imported(&graph);
}

static void refused_text(const char *text, const char *words) {
    const message_bytes graph = graph_of("y", text);
    refused(&graph, words);
}

static uint32_t count_ops(const firnc_graph *graph, uint16_t code) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++)
        count += graph->nodes[i].code == code;
    return count;
}

static const firnc_value_info *parameter_of(const firnc_graph *graph, const char *name) {
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (graph->values[i].role == FIRNC_ROLE_PARAMETER && strcmp(graph->values[i].name, name) == 0)
            return &graph->values[i];
    fail_msg("there is no parameter %s", name);
    return NULL;
}

static message_bytes perceptron(void) {
    message_bytes graph =
        graph_of("y", "tensor a.weight [5 4]; tensor a.bias [5]; tensor onnx::MatMul_9 [5 3]; tensor b.bias [3]; "
                      "/a/Gemm: h = Gemm(x a.weight a.bias) transB=1; /Relu: r = Relu(h); "
                      "/net/b/MatMul: m = MatMul(r onnx::MatMul_9); /net/b/Add: y = Add(b.bias m)");
    return graph;
}

TEST(layers_and_parameters_have_pytorchs_names) {
    const message_bytes graph = perceptron();
    const firnc_graph *made = imported(&graph);
    assert_int_equal(model_read.outputs[0].rank, 2);
    assert_int_equal(model_read.outputs[0].dims[0], 3);
    assert_int_equal(model_read.outputs[0].dims[1], 3);
    const firnc_value_info *weight = parameter_of(made, "net.b.weight");
    assert_true(weight->decay && weight->initial != NULL && weight->initial[1] == 0.5F);
    assert_false(parameter_of(made, "b.bias")->decay);
    /* the exporter has transposed this one */
    assert_int_equal(model_read.names.count, 1);
    assert_string_equal(model_read.names.rules[0].parameter, "net.b.weight");
    assert_true(model_read.names.rules[0].transpose);
    /* the bias is part of the last layer */
    const firnc_node *last = &made->nodes[made->values[model_read.outputs[0].value].producer];
    assert_int_equal(last->code, FIRN_OP_linear);
    assert_int_equal(last->input_count, 3);
    assert_int_equal(last->integers[FIRN_LINEAR_LAYOUT], FIRNC_IN_OUT);
    assert_string_equal(last->name, "net.b");
}

TEST(images_are_channels_last) {
    message_bytes graph = {.count = 0};
    put_graph(&graph, "in x [batch 2 6 6]; out y; tensor c.weight [3 2 2 2]; tensor d.weight [2 3 1 1]; "
                      "/c/Conv: c = Conv(x c.weight); /Relu: r = Relu(c); /d/Conv: d = Conv(r d.weight); "
                      "/Pool: p = GlobalAveragePool(d); /Flatten: y = Flatten(p)");
    const firnc_graph *made = imported(&graph);
    /* of the input only; the weights are laid out anew when they are read */
    assert_int_equal(count_ops(made, FIRN_OP_transpose), 1);
    const firnc_value_info *weight = parameter_of(made, "c.weight");
    assert_int_equal(weight->shape.dims[3], 2);
    assert_true(weight->initial[0] == 0.25F && weight->initial[1] == 1.25F); /* the first elements of both channels */
    assert_int_equal(model_read.names.count, 2);
    assert_int_equal(model_read.names.rules[0].order[3], 1);
}

TEST(patterns_become_one_op) {
    const firnc_graph *made =
        imported_text("number root 1.41421356; number one 1; number half 0.5; d = Div(x root); e = Erf(d); "
                      "a = Add(e one); m = Mul(x a); g = Mul(m half); s = Sigmoid(g); y = Mul(s g)");
    const firnc_node *silu = &made->nodes[made->values[model_read.outputs[0].value].producer];
    assert_int_equal(silu->code, FIRN_OP_silu);
    assert_int_equal(made->nodes[made->values[silu->inputs[0]].producer].code, FIRN_OP_gelu);
}

/* x times the sigmoid of x is silu, and x times its transpose is not. */
TEST(a_transpose_ends_a_pattern) {
    message_bytes graph = {.count = 0};
    put_graph(&graph, "in x [batch 4 4]; out y; s = Sigmoid(x); t = Transpose(s) perm=[0 2 1]; y = Mul(x t)");
    const firnc_graph *made = imported(&graph);
    assert_int_equal(count_ops(made, FIRN_OP_silu), 0);
    assert_int_equal(count_ops(made, FIRN_OP_multiply), 1);
}

/* 1.4142 is not the root of 2. */
TEST(a_rough_number_ends_a_pattern) {
    for (int rough = 0; rough < 2; rough++) {
        const firnc_graph *made = imported_text(
            firnc_format("number root %s; number one 1; number half 0.5; d = Div(x root); e = Erf(d); a = Add(e one); "
                         "m = Mul(x a); y = Mul(m half)",
                         rough ? "1.4142" : "1.41421356"));
        assert_int_equal(count_ops(made, FIRN_OP_gelu), !rough);
    }
}

/* One module multiplies by two weights, of which the exporter has stored transposes under numbers. */
TEST(a_second_weight_keeps_its_number) {
    const firnc_graph *made = imported_text("tensor onnx::MatMul_7 [4 3]; tensor onnx::MatMul_8 [3 2]; "
                                            "/h/MatMul: m = MatMul(x onnx::MatMul_7); /h/Relu: r = Relu(m); "
                                            "/h/MatMul_1: y = MatMul(r onnx::MatMul_8)");
    assert_int_equal(parameter_of(made, "h.weight")->shape.dims[0], 4);
    assert_int_equal(parameter_of(made, "onnx::MatMul_8")->shape.dims[0], 3);
    assert_int_equal(model_read.names.count, 2);
    assert_true(model_read.names.rules[1].transpose);
}

/* TorchScript calls a module that is run again "a_1": what it reads are the parameters of the module, not copies. */
TEST(a_module_that_runs_again_has_no_copies) {
    static const struct {
        const char *layer;
        bool again; /* else another module, which shares the weight */
    } rows[] = {{"a_1/b", true}, {"a/b_1", true},  {"a_12/b_3", true}, {"c/b", false},
                {"a_/b", false}, {"a_1/c", false}, {"a/b_c", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const message_bytes graph =
            graph_of("y", firnc_format("tensor a.b.weight [4 4]; /a/b/Gemm: g = Gemm(x a.b.weight); "
                                       "/a/Relu: h = Relu(g); /%s/Gemm: y = Gemm(h a.b.weight)",
                                       rows[i].layer));
        message_bytes model = model_of(&graph, 20);
        put_text(&model, 2, "pytorch");
        write_file(path, model.bytes, model.count);
        assert_non_null(import_file(false));
        assert_int_equal(model_read.parameter_count, 1);
        if (model_read.names.count != (rows[i].again ? 1 : 2))
            fail_msg("layer %s: the weight has %u names", rows[i].layer, (unsigned)model_read.names.count);
    }
}

static void put_note(message_bytes *to, uint32_t field, const char *key, const char *value) {
    message_bytes entry = {.count = 0};
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(to, field, &entry);
}

/* Notes what the exporter's optimizer has computed a tensor from. */
static void put_folded(message_bytes *graph, const char *name, const char *from) {
    message_bytes info = {.count = 0};
    put_text(&info, 1, name);
    put_note(&info, 4, "pkg.onnxscript.optimizer.folded_from", from);
    put_message(graph, 13, &info);
}

/* The signature of a file says which tensors are parameters, in the words of both releases of the exporter. */
TEST(the_signature_says_what_is_trained) {
    static const char *const signatures[] = {
        "\n# inputs\np_w: PARAMETER target='a.weight'\np_b: PARAMETER target='b'\nb_m: BUFFER target='m' "
        "persistent=False\nx: USER_INPUT\n\n# outputs\nadd: USER_OUTPUT\nm: BUFFER_MUTATION target='c'\n",
        "ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.PARAMETER: 2>, arg=TensorArgument(name='p_w'), "
        "target='a.weight', persistent=None), InputSpec(kind=<InputKind.PARAMETER: 2>, target='b', persistent=None), "
        "InputSpec(kind=<InputKind.BUFFER: 3>, target='m', persistent=False)], output_specs=[OutputSpec(target='c')])"};
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++) {
        message_bytes graph =
            graph_of("y", "tensor val_0 [4 3]; tensor where [1 3]; tensor m [1 3]; tensor b [1]; tensor mul [3]");
        put_folded(&graph, "val_0", "['a.weight']");
        put_folded(&graph, "where", "['ones', 'tril', 'val_2']");
        put_folded(&graph, "mul", "['a.weight', 'm']");
        put_note(&graph, 16, "pkg.torch.export.ExportedProgram.graph_signature", signatures[i]);
        put_graph(&graph, "1: p = MatMul(x val_0); 2: q = Add(p where); 3: r = Add(q m); 4: s = Mul(r mul); "
                          "5: y = Add(s b)");
        const firnc_graph *made = imported(&graph);
        assert_int_equal(model_read.parameter_count, 3);
        assert_int_equal(parameter_of(made, "a.weight")->shape.dims[0], 4);
        (void)parameter_of(made, "b");
        (void)parameter_of(made, "mul");
        assert_int_equal(model_read.note_count, 1);
        assert_non_null(strstr(model_read.notes[0], "tensor mul is trained in the place of a.weight"));
    }
}

/* A copy of equal elements is a parameter of its own, because the exporter writes equal tensors as one; a copy of
 * others is the same parameter. */
TEST(copies_of_equal_elements_are_parameters) {
    static const float tensors[][4] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 0, 0, 1}};
    for (size_t i = 0; i < 3; i++) {
        message_bytes graph = with_input("y"), bias = {.count = 0};
        put_integer(&bias, 1, 4);
        put_integer(&bias, 2, 1);
        put_text(&bias, 8, "a.bias");
        put_bytes(&bias, 9, tensors[i], sizeof tensors[i]);
        put_message(&graph, INITIALIZER, &bias);
        put_graph(&graph, "b.bias = Identity(a.bias); /a/Add: h = Add(x a.bias); /b/Add: y = Add(h b.bias)");
        const firnc_graph *made = imported(&graph);
        assert_int_equal(model_read.parameter_count, i < 2 ? 2 : 1);
        (void)parameter_of(made, i < 2 ? "b.bias" : "a.bias");
    }
}

/* nn.MultiheadAttention reads the parameters of a module within it, and has a weight with a name of its own. */
TEST(names_within_a_module_stay) {
    message_bytes graph = with_input("y");
    const float zeros[12] = {0};
    message_bytes bias = {.count = 0}, inner = {.count = 0};
    put_graph(&graph, "tensor onnx::MatMul_7 [4 3]");
    put_integer(&inner, 1, 3);
    put_integer(&inner, 2, 1);
    put_text(&inner, 8, "h.attn.in_proj_bias");
    put_bytes(&inner, 9, zeros, 3 * sizeof *zeros);
    put_message(&graph, INITIALIZER, &inner);
    put_graph(&graph, "tensor h.attn.out_proj.weight [3 2]");
    put_integer(&bias, 1, 2);
    put_integer(&bias, 2, 1);
    put_text(&bias, 8, "h.attn.out_proj.bias");
    put_bytes(&bias, 9, zeros, 2 * sizeof *zeros);
    put_message(&graph, INITIALIZER, &bias);
    put_graph(&graph, "/h/attn/MatMul: m = MatMul(x onnx::MatMul_7); /h/attn/Add: a = Add(h.attn.in_proj_bias m); "
                      "/h/attn/Gemm: y = Gemm(a h.attn.out_proj.weight h.attn.out_proj.bias)");
    const firnc_graph *made = imported(&graph);
    assert_non_null(parameter_of(made, "h.attn.in_proj_weight"));
    assert_non_null(parameter_of(made, "h.attn.out_proj.bias"));
}

/* Softmax and norms of one row without an extent in front, such as the shares of a weighted mean of layers. */
TEST(a_vector_is_one_row) {
    static const char *const nodes[] = {"Softmax(shares.w)", "LogSoftmax(shares.w)",
                                        "LayerNormalization(shares.w gain.w)"};
    static const uint16_t codes[] = {FIRN_OP_softmax, FIRN_OP_log_softmax, FIRN_OP_layer_norm};
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        const firnc_graph *made =
            imported_text(firnc_format("tensor shares.w [4]; tensor gain.w [4]; n: s = %s; m: y = Mul(x s)", nodes[i]));
        assert_int_equal(count_ops(made, codes[i]), 1);
        assert_int_equal(model_read.outputs[0].rank, 2);
    }
}

/* Nodes on which no output depends, of which one reads what another makes. */
TEST(what_nothing_reads_is_left_out) {
    const firnc_graph *made = imported_text("a = Relu(x); b = Tanh(a); c = NoSuchOp(b); y = Sigmoid(x)");
    assert_int_equal(made->node_count, 1);
}

/* Statistics of the file, which a training changes only if it is told so. */
TEST(batch_norms_of_an_evaluation_are_counted) {
    const message_bytes graph =
        graph_of("y", "tensor n.weight [4]; tensor n.bias [4]; tensor n.mean [4]; tensor n.var [4]; "
                      "/n/BatchNormalization: y = BatchNormalization(x n.weight n.bias n.mean n.var)");
    write_model(&graph, 20);
    for (int trained = 0; trained < 2; trained++) {
        const firnc_onnx_options options = {
            .samples = 3, .batch_statistics = trained, .features = {.element = FIRN_FLOAT32}};
        firnc_graph *made = firnc_graph_create("test");
        assert_true(firnc_onnx_import(made, path, &options, &model_read));
        assert_int_equal(model_read.fixed_norms, !trained);
        assert_int_equal(count_ops(made, FIRN_OP_batch_norm), trained);
    }
}

/* A batch norm of a weight, as weight standardisation has it, and one whose statistics are computed from its operand:
 * neither has running statistics, whatever the recipe says of others. */
TEST(batch_norms_of_weights_have_no_statistics) {
    for (int computed = 0; computed < 2; computed++) {
        const message_bytes graph = graph_of(
            "y",
            firnc_format("tensor /one [4]; tensor /zero [4]; tensor /mean [4]; tensor /var [4]; tensor s.weight [3 4]; "
                         "wholes axis [0]; m: mean = ReduceMean(s.weight axis) keepdims=0; "
                         "v: var = ReduceSumSquare(s.weight axis) keepdims=0; "
                         "n: w = BatchNormalization(s.weight /one /zero %s; o: y = Mul(x w)",
                         computed ? "mean var)" : "/mean /var) training_mode=1"));
        write_model(&graph, 20);
        const firnc_onnx_options options = {
            .samples = 3, .batch_statistics = true, .features = {.element = FIRN_FLOAT32}};
        firnc_graph *made = firnc_graph_create("test");
        assert_true(firnc_onnx_import(made, path, &options, &model_read));
        assert_int_equal(model_read.parameter_count, 1);
        assert_int_equal(model_read.fixed_norms, 0);
        assert_int_equal(count_ops(made, FIRN_OP_batch_norm), 0);
        for (firnc_value i = 0; i < made->value_count; i++)
            assert_int_not_equal(made->values[i].role, FIRNC_ROLE_BUFFER);
    }
}

TEST(what_is_known_is_computed) {
    message_bytes graph = graph_of("y", "s = Shape(x); y = Add(s s)");
    assert_non_null(import(&graph));
    assert_int_equal(model_read.outputs[0].value, FIRNC_NONE);
    assert_true(model_read.outputs[0].known[0] == 6 && model_read.outputs[0].known[1] == 8);
}

/* Ops that the graph does not have, of constants: /c has 0.25, 0.5 ... 1.5, a name that no parameter has; i has 1, 0.
 */
TEST(what_only_constants_have_is_computed) {
    static const struct {
        const char *node;
        double first, last, weighted; /* weighted: the sum of the elements, each times its number from 1 */
    } rows[] = {{"Cos(/c)", 0.968912422, 0.0707372017, 9.0813884},
                {"Sin(/c)", 0.247403959, 0.997494987, 17.3469483},
                {"Tan(/c)", 0.255341921, 14.1014199, 110.028735},
                {"Asinh(/c)", 0.247466462, 1.19476322, 19.2213704},
                {"Round(/c)", 0, 2, 24},
                {"GatherND(/c rows)", 1, 1.5, 8},
                {"GatherElements(/c elements)", 1, 1.5, 8},
                {"ScatterND(/c rows /d)", 0.25, 0.75, 11.5},
                {"ScatterElements(/f one /e)", 0.25, 0.75, 3},
                {"NonZero(i)", 0, 0, 0},
                {"TopK(/c two)", 0.75, 1.25, 11.25},
                {"MatMul(/c /f)", 0.875, 2, 4.875},
                {"MatMul(/g /h)", 0.875, 2, 4.875},
                {"MatMul(/p /q)", 1.375, 9.625, 208.875},
                {"Tile(/c twice)", 0.25, 1.5, 83.75},
                {"Compress(/c i)", 0.25, 0.25, 0.25},
                {"BitwiseXor(i one)", 0, 1, 2},
                {"DequantizeLinear(i /s)", 0.25, 0, 0.25},
                {"Abs(k)", 0, 0, 10},
                {"Acos(k)", 1.57079633, 1.57079633, 73.7909508},
                {"Acosh(e)", 0.736904608, 2.18046136, 36.3754384},
                {"Asin(k)", 0, 0, -3.10511612},
                {"Atan(k)", 0, 0, -2.83450509},
                {"Atanh(k)", 0, 0, -3.21887582},
                {"Ceil(k)", 0, 0, 11},
                {"Cosh(k)", 1, 1, 46.9045216},
                {"Erf(k)", 0, 0, -3.18730507},
                {"Exp(k)", 1, 1, 43.8096912},
                {"Floor(k)", 0, 0, -19},
                {"Log(/c)", -1.38629436, 0.405465108, -0.0871265344},
                {"Neg(k)", 0, 0, 3},
                {"Reciprocal(/c)", 4, 0.666666667, 24},
                {"Relu(k)", 0, 0, 3.5},
                {"Sigmoid(k)", 0.5, 0.5, 21.7614567},
                {"Sign(k)", 0, 0, -8},
                {"Sinh(k)", 0, 0, -3.09483049},
                {"Sqrt(/c)", 0.5, 1.22474487, 21.4509289},
                {"Tanh(k)", 0, 0, -2.82814328},
                {"Abs(w)", 7, 7, 39},
                {"Neg(w)", 7, -7, -17},
                {"BitwiseNot(w)", 6, -8, -27},
                {"Not(b)", 1, 0, 6},
                {"Equal(w v)", 0, 0, 2},
                {"Less(w v)", 1, 0, 4},
                {"LessOrEqual(w v)", 1, 0, 6},
                {"Greater(w v)", 0, 1, 4},
                {"GreaterOrEqual(w v)", 0, 1, 6},
                {"And(b d)", 0, 0, 0},
                {"Or(b d)", 1, 1, 10},
                {"Xor(b d)", 1, 1, 10},
                {"And(b b)", 0, 1, 4},
                {"Or(b b)", 0, 1, 4},
                {"Xor(b b)", 0, 0, 0},
                {"BitwiseAnd(w v)", 1, 5, 17},
                {"BitwiseOr(w v)", -5, -1, 2},
                {"BitwiseXor(w v)", -6, -6, -15},
                {"Add(w v)", -4, 4, 19},
                {"Sub(w v)", -10, 10, 15},
                {"Mul(w v)", -21, -21, -97},
                {"Div(w v)", -2, -2, -8},
                {"Mod(w v)", 2, -2, -6},
                {"Mod(w v) fmod=1", -1, 1, 3},
                {"Max(w v)", 3, 7, 42},
                {"Min(w v)", -7, -3, -23},
                {"Add(/f /h)", 0.5, 1.5, 51},
                {"Sub(/f /h)", 0, 0, -3},
                {"Mul(/f /h)", 0.0625, 0.5625, 14.25},
                {"Div(/f /h)", 1, 1, 46.6666667},
                {"Mod(k /f) fmod=1", 0, 0, 1.5},
                {"Max(/f /h)", 0.25, 0.75, 30.5},
                {"Min(/f /h)", 0.25, 0.75, 20.5},
                {"Pow(/f /h)", 0.707106781, 0.805927449, 30.3974498}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const firnc_graph *made = imported_text(
            firnc_format("tensor /c [2 3]; tensor /d [1 3]; tensor /e [1]; tensor /f [3]; tensor /s [1]; "
                         "tensor /g [2 1 3]; tensor /h [3 1]; tensor /p [2 1 1 3]; tensor /q [2 3 2]; "
                         "wholes i [1 0]; wholes one [1]; wholes twice [1 2]; wholes w [-7 -2 0 7]; "
                         "wholes v [3 -2 5 -3]; k = Sub(/f /h); e = Exp(/c); b = Greater(w v); d = LessOrEqual(w v); "
                         "wholes two [2]; wholes rows [1 1] [-1]; wholes elements [1 3] [1 1 -1]; n: y = %s",
                         rows[i].node));
        const firnc_onnx_port *y = &model_read.outputs[0];
        if (y->known == NULL)
            fail_msg("%s is not known", rows[i].node);
        uint32_t count = 1;
        double weighted = 0;
        for (uint8_t axis = 0; axis < y->rank; axis++)
            count *= y->dims[axis];
        for (uint32_t j = 0; j < count; j++)
            weighted += (j + 1) * y->known[j];
        if (fabs(y->known[0] - rows[i].first) > 1e-6 || fabs(y->known[count - 1] - rows[i].last) > 1e-6 ||
            fabs(weighted - rows[i].weighted) > 1e-4)
            fail_msg("%s gives %g to %g, weighted %g", rows[i].node, y->known[0], y->known[count - 1], weighted);
        assert_int_equal(made->node_count, 0);
    }
    refused_text("n: y = NonZero(x)", "node n (NonZero): depends on the data");
}

/* Constants that are cast to int64 lose their fraction and are limited; NaN becomes 0. */
TEST(numbers_become_whole_within_their_range) {
    static const struct {
        const char *number;
        double whole;
    } rows[] = {{"2.75", 2},          {"-2.75", -2},   {"-0.5", 0},       {"9.0e18", 9.0e18F}, {"1.0e19", 0x1p63},
                {"-1.0e19", -0x1p63}, {"inf", 0x1p63}, {"-inf", -0x1p63}, {"nan", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)imported_text(firnc_format("number s %s; n: y = Cast(s) to=7", rows[i].number));
        const firnc_onnx_port *y = &model_read.outputs[0];
        if (y->known == NULL || y->known[0] != rows[i].whole)
            fail_msg("%s becomes %g", rows[i].number, y->known == NULL ? (double)NAN : y->known[0]);
    }
}

/* Of no elements: numbers, and truth values. */
TEST(reductions_of_nothing_have_a_value) {
    static const struct {
        const char *op;
        double number, truth;
    } rows[] = {{"ReduceSum", 0, -1},
                {"ReduceProd", 1, -1},
                {"ReduceMax", (double)-INFINITY, 0},
                {"ReduceMin", (double)INFINITY, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int truths = 0; truths < 2 && (truths == 0 || rows[i].truth >= 0); truths++) {
            const char *of = truths == 0 ? "/e" : "t";
            (void)imported_text(
                firnc_format("tensor /e [2 0]; t = Greater(/e /e); n: y = %s(%s) keepdims=0", rows[i].op, of));
            const firnc_onnx_port *y = &model_read.outputs[0];
            const double wanted = truths == 0 ? rows[i].number : rows[i].truth;
            if (y->known == NULL || y->rank != 0 || y->known[0] != wanted)
                fail_msg("%s of no %s is %g", rows[i].op, truths == 0 ? "numbers" : "truths",
                         y->known == NULL ? (double)NAN : y->known[0]);
        }
}

/* If, with the branch that a known condition chooses: a tensor of its own, names around it, and an If within it. What
 * only the other branch reads is left out. */
TEST(the_chosen_branch_is_read) {
    for (int first = 0; first < 2; first++) {
        static const char inner[] = "{out i; tensor inner.weight [4 4]; i = MatMul(a inner.weight)}";
        const firnc_graph *made = imported_text(firnc_format(
            "tensor a.weight [4 4]; tensor dead.weight [4 4]; wholes n [%d]; wholes four [4]; h = MatMul(x a.weight); "
            "dead = MatMul(h dead.weight); c = Equal(n four); "
            "o: y = If(c) then_branch={out t; a = Relu(h); t = If(c) then_branch=%s else_branch=%s} "
            "else_branch={out e; e = Identity(dead)}",
            first ? 4 : 3, inner, inner));
        assert_int_equal(count_ops(made, FIRN_OP_linear), 2);
        assert_int_equal(count_ops(made, FIRN_OP_relu), first);
        assert_non_null(parameter_of(made, first ? "inner.weight" : "dead.weight"));
        assert_int_equal(model_read.parameter_count, 2);
    }
    refused_text("c = IsNaN(x); n: y = If(c) then_branch={out t; t = Relu(x)} else_branch={out t; t = Relu(x)}",
                 "node n (If): its condition depends on the data");
    const char *deeper = "out t; t = Relu(x)"; /* than any model */
    for (int i = 0; i < 19; i++)
        deeper = firnc_format("out t; t = If(x) then_branch={%s}", deeper);
    refused_text(firnc_format("n: y = If(x) then_branch={%s}", deeper), "is nested too deeply");
}

/* A list that each step of a loop makes longer, as nn.EmbeddingBag's. */
static message_bytes growing_list(void) {
    return graph_of("y", "wholes two [2]; none = SequenceEmpty(); "
                         "n: list = Loop(- - none) body={in step; in go; in list_in; out go_on; out list_out; "
                         "go_on = Less(step two); "
                         "part = If(go_on) then_branch={out b; b = Identity(x)} else_branch={out b; b = Identity(x)}; "
                         "list_out = SequenceInsert(list_in part)}; y = ConcatFromSequence(list)");
}

/* Loop with a known number of steps: its body is read once for each, with a sum that each step gives the next one and a
 * tensor that each step gives to all; steps differ in what they compare and slice. */
TEST(loops_are_written_out) {
    for (int i = 0; i < 3; i++) {
        /* The loop has neither a number of steps nor a condition. */
        const message_bytes graph = graph_of(
            i == 1 ? "all" : "sum",
            firnc_format("wholes zero [0]; wholes two [2]; n: sum all = Loop(- - x) body={in step; out go_on; in go; "
                         "out sum_out; in sum_in; out part; tensor inner.weight [4 4]; is_first = Equal(step zero); "
                         "part = If(is_first) then_branch={out f; f = Identity(x)} "
                         "else_branch={out o; o = MatMul(x inner.weight)}; sum_out = Add(sum_in part); "
                         "later = Where(go step two); go_on = Less(%s)}", /* Where: the step is int64, and go is true */
                         i == 2 ? "sum_out sum_in" : "later two"));
        if (i == 2) {
            refused(&graph, "node n (Loop): its condition depends on the data");
            continue;
        }
        const firnc_graph *made = imported(&graph);
        assert_int_equal(count_ops(made, FIRN_OP_linear), 2); /* of three steps */
        assert_int_equal(model_read.parameter_count, 1);
        assert_int_equal(count_ops(made, FIRN_OP_concat), i);
        assert_int_equal(model_read.outputs[0].dims[0], 3);
        assert_int_equal(model_read.outputs[0].rank, i == 0 ? 2 : 3);
    }
    const message_bytes graph = growing_list();
    assert_non_null(import(&graph));
    assert_int_equal(model_read.outputs[0].dims[0], 9);
    refused_text(
        "n: y = Loop(- - x) body={in int64 step; in bool go; in sum_in; out bool go; out sum; sum = Add(sum_in x)}",
        "node n (Loop): takes more than 4096 steps"); /* it does not end */
}

/* Rows of indices become numbers of slices: constants by the importer, others by the plan. */
TEST(gather_nd_is_a_gather) {
    for (int given = 0; given < 2; given++) {
        message_bytes graph = {.count = 0};
        put_graph(&graph, firnc_format("in %sx [batch 4]; out y; tensor t.weight [2 2 2 2]; wholes rows [1 2] [-1 2]; "
                                       "n: y = GatherND(%s)",
                                       given ? "int64 " : "", given ? "t.weight x" : "x rows"));
        const firnc_graph *made = imported(&graph);
        assert_int_equal(count_ops(made, FIRN_OP_gather), 1);
        assert_int_equal(model_read.outputs[0].rank, 1);
        assert_int_equal(model_read.outputs[0].dims[0], given ? 3 : 1);
        const firnc_node *last = &made->nodes[made->values[model_read.outputs[0].value].producer];
        if (!given) /* of [3,4]: element 2 of row 2 */
            assert_int_equal(((const int32_t *)made->values[last->inputs[1]].elements)[0], 10);
    }
    refused_text("n: y = GatherND(x x)", "node n (GatherND): its indices are of the type float; cast them to int64");
}

/* Slices of no elements, as exporters write them for what a model drops: computed with, joined and so dropped. */
TEST(parts_without_elements_are_joined) {
    static const char *const nodes[] = {"Relu(e)", "Softmax(e)", "Transpose(e) perm=[0 1]", "Mul(w.weight e)",
                                        "Pad(e none)"};
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        const firnc_graph *made =
            imported_text(firnc_format("wholes four [4]; wholes one [1]; wholes none [0 0 0 0]; tensor w.weight [3 1]; "
                                       "s: e = Slice(x four four one); a: f = %s; c: y = Concat(f x) axis=1",
                                       nodes[i]));
        assert_int_equal(made->node_count, 0);
        assert_int_equal(model_read.outputs[0].dims[1], 4);
    }
    refused_text("wholes four [4]; wholes one [1]; s: e = Slice(x four four one); n: y = ReduceL2(e one)",
                 "node n (ReduceL2): reads a tensor without elements");
}

TEST(parts_of_sequences_are_slices) {
    /* The minimum of the extents is more than there are parts. */
    refused_text("s = SplitToSequence(x); shape = Shape(x); at = ReduceMin(shape); n: y = SequenceAt(s at)",
                 "node n (SequenceAt): takes the part 3 of 3");
    refused_text("n: y = SequenceAt(x x)",
                 "node n (SequenceAt): reads a sequence that SplitToSequence or SequenceConstruct has not made");
    const message_bytes graph = graph_of("y", "s = SplitToSequence(x); n: y = Relu(s)");
    assert_true(import(&graph) == NULL || model_read.outputs[0].value == FIRNC_NONE);
}

/* Lists of tensors: stacked, read by number, counted; parts of constants stay known. */
TEST(sequences_are_their_parts) {
    const firnc_graph *made =
        imported_text("a = Relu(x); s = SequenceConstruct(x a x); y = ConcatFromSequence(s) axis=1 new_axis=1");
    assert_int_equal(count_ops(made, FIRN_OP_concat), 1);
    assert_int_equal(model_read.outputs[0].rank, 3);
    assert_int_equal(model_read.outputs[0].dims[1], 3);
    /* 4 columns, of which the last is -1 */
    (void)imported_text("wholes list [5 6 7]; s = SplitToSequence(x) axis=1 keepdims=0; n = SequenceLength(s); "
                        "t = SplitToSequence(list); m = SequenceLength(t); last = Sub(m n); y = SequenceAt(t last)");
    assert_true(model_read.outputs[0].known != NULL && model_read.outputs[0].known[0] == 7);
    (void)imported_text("wholes list [5 6 7]; s = SplitToSequence(x) axis=1 keepdims=0; t = SplitToSequence(list); "
                        "m = SequenceLength(t); y = SequenceAt(s m)");
    assert_int_equal(model_read.outputs[0].rank, 1);
    assert_int_equal(model_read.outputs[0].dims[0], 3);
    /* changed: x; then a in front, and x away */
    made = imported_text(
        "wholes zero [0]; a = Relu(x); s = SequenceEmpty(); t = SequenceInsert(s x); "
        "u = SequenceInsert(t a zero); v = SequenceErase(u); y = ConcatFromSequence(v) axis=1 new_axis=1");
    assert_int_equal(model_read.outputs[0].dims[1], 1);
    assert_int_equal(made->nodes[made->values[model_read.outputs[0].value].producer].code, FIRN_OP_reshape);
    assert_int_equal(count_ops(made, FIRN_OP_relu), 1);
}

TEST(operands_are_repeated_by_the_op_itself) {
    const firnc_graph *made =
        imported_text("tensor a.row [1 4]; tensor a.column [3 1]; s = Add(a.row x); y = Mul(a.column s)");
    assert_int_equal(count_ops(made, FIRN_OP_expand), 0);
    assert_int_equal(count_ops(made, FIRN_OP_add), 1);
    assert_int_equal(count_ops(made, FIRN_OP_broadcast_multiply), 1);
}

/* Queries, keys and values that are parts of one tensor, but in other rows than its own: [3,2,12] cut and then read as
 * [2,3,4] each. */
TEST(attention_takes_parts_in_their_rows_only) {
    for (int turned = 0; turned < 2; turned++) {
        message_bytes graph = {.count = 0};
        put_graph(&graph, firnc_format("in x [batch 2 12]; out y; wholes rows [%s]; a b c = Split(x) axis=2; "
                                       "q = Reshape(a rows); k = Reshape(b rows); v = Reshape(c rows); "
                                       "y = Attention(q k v) q_num_heads=2 kv_num_heads=2",
                                       turned ? "2 3 4" : "3 2 4"));
        write_model(&graph, 23);
        const firnc_graph *made = import_file(false);
        assert_non_null(made);
        assert_int_equal(count_ops(made, FIRN_OP_attention), 1);
        assert_int_equal(count_ops(made, FIRN_OP_concat), turned);
    }
}

/* Softmax of q k^T, a dropout of the probabilities, and the product with v. */
static message_bytes dropped_attention(void) {
    message_bytes graph = {.count = 0};
    put_graph(&graph, "in x [batch 2 3 12]; out y; q k v = Split(x) axis=3; t = Transpose(k) perm=[0 1 3 2]; "
                      "s = MatMul(q t); p = Softmax(s); n: d = Dropout(p ratio train); y = MatMul(d v)");
    return graph;
}

/* The ratio is a tensor of the file or the value of a node, and 0.5 if there is none. */
TEST(dropouts_have_their_ratio) {
    static const float ratios[] = {0.1F, 0.25F, 0.5F, 0.9F};
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++)
        for (int form = 0; form < 3; form++) {
            message_bytes graph = form == 2 ? dropped_attention() : with_input("y"), value = {.count = 0};
            put_real_attribute(&value, "value_float", ratios[i]);
            put_graph(&graph, "wholes train [1]");
            if (form == 1)
                put_node(&graph, "", "Constant", "", "ratio", &value);
            else
                put_number(&graph, "ratio", ratios[i]);
            if (form < 2)
                put_node(&graph, "n", "Dropout", "x ratio train", "y", NULL);
            const firnc_graph *made = imported(&graph);
            const firnc_node *node = &made->nodes[made->values[model_read.outputs[0].value].producer];
            const uint16_t code = form == 2 ? FIRN_OP_attention : FIRN_OP_dropout;
            for (uint32_t n = 0; n < made->node_count; n++)
                node = made->nodes[n].code == code ? &made->nodes[n] : node;
            assert_int_equal(node->code, code);
            assert_int_equal(firn_bits(node->reals[form == 2 ? FIRN_ATTENTION_DROPOUT_RATE : FIRN_DROPOUT_RATE]),
                             firn_bits(ratios[i]));
        }
    const firnc_graph *made = imported_text("wholes train [1]; n: y = Dropout(x - train)");
    assert_true(made->nodes[made->node_count - 1].reals[FIRN_DROPOUT_RATE] == 0.5F);
}

/* The mask of a dropout is known where nothing is dropped. Of others nobody may read it. */
TEST(masks_of_dropouts_are_known_or_not_read) {
    static const char *const texts[] = {"n: h y = Dropout(x)",
                                        "wholes train [1]; number ratio 0; n: h y = Dropout(x ratio train)"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const firnc_graph *made = imported_text(texts[i]);
        const firnc_onnx_port *y = &model_read.outputs[0];
        assert_true(made != NULL && y->known != NULL && y->rank == 2 && y->dims[0] == 3 && y->dims[1] == 4);
        for (size_t j = 0; j < 12; j++)
            assert_true(y->known[j] == 1);
    }
    refused_text("wholes train [1]; n: h m = Dropout(x - train); o: y = Cast(m) to=1",
                 "node n (Dropout): gives its mask, which Firn does not have; leave it out");
    (void)imported_text("wholes train [1]; n: y m = Dropout(x - train)");
}

/* A ratio of 0 and a dropout that does not train drop nothing. */
TEST(ratios_without_effect_and_wrong_ones) {
    static const struct {
        const char *ratio;
        int trains;
        bool good;
    } cases[] = {{"0", 1, true},  {"0.9", 0, true},   {"2", 0, true},
                 {"1", 1, false}, {"-0.1", 1, false}, {"nan", 1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text =
            firnc_format("wholes train [%d]; number ratio %s; n: h = Dropout(x ratio train); o: y = Relu(h)",
                         cases[i].trains, cases[i].ratio);
        if (cases[i].good)
            assert_int_equal(count_ops(imported_text(text), FIRN_OP_dropout), 0);
        else
            refused_text(text, "node n (Dropout): its ratio is no number from 0 to below 1");
    }
}

TEST(an_output_may_be_an_input) {
    message_bytes graph = {.count = 0};
    put_graph(&graph, "in x [1 4]; out y; y = Identity(x)");
    write_model(&graph, 20);
    const firnc_graph *made = import_file(true);
    assert_non_null(made);
    assert_int_equal(made->named_count, 1);
    assert_string_equal(made->named[0].name, "y");
    assert_int_equal(made->nodes[made->values[made->named[0].value].producer].code, FIRN_OP_affine);
}

TEST(what_is_never_trained_is_known) {
    static const char *const patterns[] = {"*.bias", "none.*"};
    const message_bytes graph = perceptron(), model = model_of(&graph, 20);
    firnc_onnx_options options = {.samples = 3, .features = {.element = FIRN_FLOAT32}, .constants = patterns};
    write_file(path, model.bytes, model.count);
    options.constant_count = 1;
    firnc_graph *made = firnc_graph_create("test");
    assert_true(firnc_onnx_import(made, path, &options, &model_read));
    for (firnc_value i = 0; i < made->value_count; i++)
        assert_false(made->values[i].role == FIRNC_ROLE_PARAMETER && strstr(made->values[i].name, "bias") != NULL);
    options.constant_count = 2;
    assert_true(firnc_onnx_import(firnc_graph_create("test"), path, &options, &model_read));
    assert_true(model_read.matched[0] && !model_read.matched[1]);
}

/* --- wrong files -------------------------------------------------------------------------------------------------- */

/* Cuts a model everywhere, and changes each bit of it. */
static void survive_changes_of(const message_bytes *graph) {
    message_bytes model = model_of(graph, 20);
    for (size_t i = 0; i < model.count; i++) {
        const firnc_mark mark = firnc_memory_mark();
        write_file(path, model.bytes, i);
        (void)import_file(i % 2 == 0);
        for (uint32_t bit = 0; bit < 8; bit++) {
            model.bytes[i] ^= (uint8_t)(1u << bit);
            write_file(path, model.bytes, model.count);
            (void)import_file(bit % 2 == 0);
            model.bytes[i] ^= (uint8_t)(1u << bit);
        }
        firnc_memory_release(mark);
    }
}

TEST(every_cut_and_every_bit_is_survived) {
    message_bytes graph = perceptron();
    survive_changes_of(&graph);
    graph = growing_list();
    survive_changes_of(&graph);
}

TEST(wrong_graphs_are_refused) {
    refused_text("n: y = Relu(z); o: z = Relu(y)", "node n (Relu): reads z, which no node before it makes");
    refused_text("n: y = Relu(x); o: y = Relu(x)", "two values have the name y");
    static const char *const misspelt[][2] = {{"Relux", "Relu"}, {"Sigmod", "Sigmoid"}, {"Flattn", "Flatten"}};
    for (size_t i = 0; i < sizeof misspelt / sizeof misspelt[0]; i++)
        refused_text(firnc_format("n: y = %s(x)", misspelt[i][0]),
                     firnc_format("node n (%s): is no op that Firn reads; the nearest one is %s", misspelt[i][0],
                                  misspelt[i][1]));
    refused_text("n: y = Scan(x)",
                 "node n (Scan): is no op that Firn reads; a plan has no loops; export the model with a "
                 "fixed number");
    /* not Floor */
    refused_text("n: y = Fold(x)", "node n (Fold): is no op that Firn reads; write the module with ops that it reads");
    refused_text("n: y = Relu(x) alpha=1", "has the attribute alpha");
    refused_text("", "no node makes the output y");
    message_bytes graph = graph_of("y", "n: y = Relu(x)");
    put_bytes(&graph, SPARSE, "", 0);
    refused(&graph, "sparse");
    refused_text("n: y = Reshape(x x)", "depend on the data");
}

/* What each op says of operands and attributes that it cannot have. x is [batch,4] where a row has no input of its own;
 * "image" stands for [batch,4,5,6] in its place, "signal" for [batch,5,4]. */
TEST(operands_that_do_not_fit_are_refused) {
    static const struct {
        const char *text, *words;
    } rows[] = {
        /* axes and extents */
        {"n: y = Softmax(x) axis=2", "has the axis 2, and its operand has 2"},
        {"n: y = Softmax(x) axis=-3", "has the axis -3, and its operand has 2"},
        {"wholes s [5 -1]; n: y = Reshape(x s)", "cannot give 12 elements the extent"},
        {"wholes s [3 5]; n: y = Reshape(x s)", "cannot give 12 elements the extent 5"},
        {"wholes a [1]; n: y = Squeeze(x a)", "drops an axis of 4 elements"},
        {"wholes a [0 0]; n: y = Unsqueeze(x a)", "names an axis twice"},
        {"n: y = Transpose(x) perm=[1 0 2]", "orders 3 axes, and its operand has 2"},
        {"wholes a [0]; wholes b [2]; wholes s [0]; n: y = Slice(x a b a s)", "has a step of 0"},
        {"wholes a [0 0 0]; wholes b [1 1 1]; n: y = Slice(x a b)", "has lists of different lengths, or for more axes"},
        {"wholes e [2 3]; n: y = Expand(x e)", "cannot repeat its operand to these extents"},
        {"wholes e [1 1 1 1 1 1 1 3 4]; n: y = Expand(x e)", "makes more than 8 dimensions"},
        {"wholes r [1 1 1]; n: y = Tile(x r)", "has 3 repeats for 2 axes"},
        {"wholes r [1 -1]; n: y = Tile(x r)", "repeats an axis -1 times"},
        {"wholes p [0 1 0]; n: y = Pad(x p)", "has 3 pads for 2 axes"},
        {"wholes p [0 1 0 0]; n: y = Pad(x p) mode=mirror",
         "has mode mirror; constant, edge, reflect and wrap are known"},
        {"wholes p [0 1 0 0]; r: v = ReduceSum(x) keepdims=0; n: y = Pad(x p v)", "its value depends on the data"},
        {"wholes s [1 1]; n: y z = Split(x s) axis=1", "has sizes that are not one for each output"},
        {"tensor c [3 3]; n: y = Concat(x c) axis=0", "do"},
        {"tensor c [3]; n: y = Concat(x c) axis=0", "joins operands of 2 and 1 dimensions"},
        {"wholes i [9]; n: y = Gather(x i) axis=1", "takes element 9 of 4"},
        {"r: i = ReduceSum(x); n: y = Tile(x i)", "depend"},
        /* products */
        {"tensor w [5 2]; n: y = MatMul(x w)", "multiplies rows of 4 elements with columns of 5"},
        {"tensor w [2 4 2]; tensor v [3 4 4]; m: h = MatMul(v w); n: y = Add(x h)", "do"},
        {"tensor w [5 2]; n: y = Gemm(x w)", "multiplies rows of 4 elements with columns of 5"},
        {"tensor w [4]; n: y = Gemm(x w)", "takes matrices"},
        {"tensor w [4 1]; tensor c [3 2]; n: y = Gemm(x w c)",
         "adds an operand that is larger than the product of 3 rows of 1"},
        {"tensor w [5 2]; n: y = Einsum(x w) equation=ij,jk->ik", "has operands of 4 and 5 elements for one label"},
        {"n: y = Einsum(x) equation=ij->k", "has a label in its output that no operand has"},
        {"n: y = Einsum(x) equation=ii->i", "takes a diagonal of 3 by 4 elements"},
        {"n: y = Einsum(x) equation=ijk->i", "its equation ijk->i does not fit its operands"},
        /* elements */
        {"n: y = Gelu(x) approximate=erf", "has approximate erf; none and tanh are known"},
        {"n: y = Celu(x) alpha=0.0", "has alpha 0, by which it divides"},
        {"tensor d [4]; n: y = Mod(x d)", "divides real numbers without fmod"},
        {"n: y = Cast(x) to=8", "to "},
        {"n: y = Sum()", "has 0 inputs, and takes"},
        {"n: y = Relu(x x)", "has 2 inputs, and takes 1 to 1"},
        {"n: y = Add(- x)", "lacks its input 0"},
        {"r: t = ReduceSum(x) keepdims=0; n: y z = Dropout(x - t)", "depends on the data"},
        {"wholes i [1 2]; n: y = BitShift(i i) direction=UP", "has the direction UP; LEFT and RIGHT are known"},
        /* sums */
        {"r: k = ReduceSum(x) keepdims=0; n: y = CumSum(x k)", "its axis depends on the data"},
        {"wholes k [5]; n: y z = TopK(x k)", "takes 5 of 4 elements"},
        {"r: k = ReduceSum(x) keepdims=0; n: y z = TopK(x k)", "its k depends on the data"},
        /* normalisation */
        {"tensor s [4]; r: q = ReduceSum(x) keepdims=0; n: y = BatchNormalization(q s s s s)",
         "takes channels, and its operand has 0 dimensions"},
        {"tensor s [3]; n: y = BatchNormalization(x s s s s)", "takes 4 numbers for its channels"},
        {"tensor s [4]; tensor m [4]; tensor v [4]; n: y = BatchNormalization(x s s m v) momentum=1.5 training_mode=1",
         "has momentum 1.5; write one from 0 to 1"},
        {"image; tensor g [2]; tensor b [2]; n: y = GroupNormalization(x g b) num_groups=3",
         "has 3 groups for 4 channels"},
        {"n: y = LRN(x) size=0", "takes images of 3 dimensions or more, and a size from 1 to 65535; write those"},
        {"tensor g [1]; n: y = InstanceNormalization(g g g)", "takes images, and its operand has 1 dimensions"},
        /* images */
        {"image; tensor w [2 4 2 2]; n: y = Conv(x w) strides=[1 1 1]", "its strides has 3 numbers for 2 dimensions"},
        {"image; tensor w [2 4 2 2]; n: y = Conv(x w) strides=[1 -1]",
         "its strides has -1, and 0 to 65535 are possible; write one of them"},
        {"image; tensor w [2 4 2 2]; n: y = Conv(x w) strides=[1 65536]",
         "its strides has 65536, and 0 to 65535 are possible; write one of them"},
        {"image; tensor w [2 4 2 2]; n: y = Conv(x w) strides=[1 0]", "has a kernel, stride or dilation of 0"},
        {"image; tensor w [2 4 2 2]; n: y = Conv(x w) auto_pad=SAME",
         "has auto_pad SAME; NOTSET, VALID, SAME_UPPER and"},
        {"image; tensor w [2 4 2 2]; n: y = Conv(x w) pads=[0 0 0]", "has 3 pads for 2 dimensions"},
        {"image; tensor w [2 4 6 2]; n: y = Conv(x w)",
         "has a window of 6 elements for an image of 5 with its padding"},
        {"image; tensor w [2 4 2]; n: y = Conv(x w)", "has a weight of 3 dimensions for an image of 4"},
        {"image; tensor w [2 4 2 2]; n: y = Conv(x w) kernel_shape=[2 3]", "has another kernel_shape than its weight"},
        {"image; tensor w [2 2 2 2]; n: y = Conv(x w) group=0", "has 0 groups"},
        {"n: y = Conv(x x)", "takes images of one to three dimensions behind samples and channels, and its operand has "
                             "2 dimensions in all; reshape it"},
        {"image; n: y = MaxPool(x)", "has no kernel_shape"},
        {"n: y = GlobalAveragePool(x)", "takes images, and its operand has 2 dimensions"},
        {"image; tensor w [4 2 2 2]; n: y = ConvTranspose(x w) group=3", "has 3 groups for 4 channels"},
        {"image; tensor w [4 2 2 2]; n: y = ConvTranspose(x w) strides=[0 1]", "has a stride or dilation of 0"},
        {"image; tensor w [4 2 2 2]; n: y = ConvTranspose(x w) output_shape=[0 9]",
         "has an output_shape or an image that gives 0 elements; write a larger one, of at most stride times the "
         "image"},
        {"image; tensor w [4 2 2 2]; n: y = ConvTranspose(x w) output_shape=[6 7 8]",
         "has an output_shape or pads for another number of dimensions"},
        {"image; tensor w [4 2 2 2]; n: y = ConvTranspose(x w) auto_pad=SAME", "has auto_pad SAME; NOTSET, VALID"},
        {"image; tensor w [4 2 1 1]; n: y = ConvTranspose(x w) pads=[3 0 2 0]", "has pads that leave nothing"},
        {"image; n: y = DepthToSpace(x) blocksize=2 mode=RCD", "has mode RCD; DCR and CRD are known"},
        {"image; n: y = SpaceToDepth(x) blocksize=2", "a multiple of its blocksize"},
        /* resizing */
        {"image; number s 1.0; n: y = Resize(x - s)", "its scales or sizes are no constants, one for each axis"},
        {"image; wholes s [3 4 5 0]; n: y = Resize(x - - s)", "has a scale or size of 0"},
        {"image; wholes s [3 4 5 6]; n: y = Resize(x - - s) mode=area",
         "has mode area; nearest, linear and cubic are known"},
        {"image; wholes s [3 4 5 6]; n: y = Resize(x - - s) keep_aspect_ratio_policy=keep",
         "has keep_aspect_ratio_policy keep; stretch, not_larger and not_smaller are known"},
        {"image; wholes s [3 4 5 6]; n: y = Resize(x - - s) coordinate_transformation_mode=half",
         "has coordinate_transformation_mode half; the nearest known one is half_pixel"},
        /* recurrent layers */
        {"n: y = LSTM(x x x) hidden_size=2", "takes operands of 3 dimensions"},
        {"signal; tensor w [1 8 4]; tensor r [1 8 2]; n: y = LSTM(x w r) hidden_size=2 direction=back",
         "has the direction back; forward, reverse and bidirectional are known"},
        {"signal; tensor w [1 8 3]; tensor r [1 8 2]; n: y = LSTM(x w r) hidden_size=2",
         "has weights of other sizes than its operand and hidden_size"},
        {"signal; tensor w [1 8 4]; tensor r [1 8 2]; n: y = LSTM(x w r) hidden_size=2 input_forget=1",
         "has input_forget, which Firn does not have; leave it out"},
        {"signal; tensor w [1 8 4]; tensor r [1 8 2]; wholes l [5 4 3 2 1]; n: y = LSTM(x w r - l) hidden_size=2",
         "has sequences of different lengths"},
        {"signal; tensor w [1 8 4]; tensor r [1 8 2]; tensor h [1 5 3]; n: y = LSTM(x w r - - h) hidden_size=2",
         "has first states of other sizes than its operand and weights"},
        /* quantised tensors */
        {"number s 0.0; n: y = DequantizeLinear(x s)", "has a scale of 0, which is above 0 and finite"},
        {"r: s = ReduceSum(x) keepdims=0; n: y = QuantizeLinear(x s)", "its scale or zero point depends on the data"},
        {"tensor s [3]; n: y = QuantizeLinear(x s) axis=1", "has 3 scales for an axis of 4 elements"},
        /* indices */
        {"wholes i [1 2]; wholes a [1]; n: y = ScatterElements(x i x) axis=1",
         "takes indices and updates of as many dimensions"},
        {"wholes i [1 9]; tensor u [1 4]; n: y = ScatterND(x i u) reduction=min",
         "has reduction min; none and add are known"},
        {"n: y = Trilu(x x)", "its diagonal depends on the data"},
        {"r: q = ReduceSum(x) keepdims=0; n: y = Trilu(q)", "takes matrices"},
        {"wholes i [1 2]; r: d = ReduceSum(x) keepdims=0; n: y = OneHot(i d d)",
         "its depth and its two values depend on the data; make them constants"},
        {"wholes i [1 2 3]; n: y = GatherND(x i) batch_dims=1", "has "},
        {"wholes s [2]; n: f = ConstantOfShape(s); wholes i [0 1]; n: y = ScatterElements(f i f) reduction=most",
         "has reduction most; none, add, mul, min and max are known"},
        {"wholes a [1]; wholes b [2]; wholes c [0]; n: y = Range(a b c)",
         "takes three numbers, the last of which is not 0"},
        {"wholes a [1 2]; wholes b [1 2 3]; n: y = Add(a b)", "has operands whose extents do not fit together"},
        {"wholes a [1 2]; wholes i [2]; n: y = Gather(a i)", "takes element 2 of 2"},
        {"wholes a [1 2]; wholes i [-3]; n: y = Gather(a i)", "takes element -3 of 2"},
        {"wholes a [1 2]; wholes k [3]; n: y z = TopK(a k)", "takes 3 of 2 elements"},
        {"wholes a [1 2]; wholes r [1 2]; n: y = Tile(a r)", "has repeats that are not one for each axis"},
        {"wholes a [1 2]; wholes b [1 2] [0 1]; n: y = Concat(a b) axis=0", "of different"},
        {"wholes a [1 2]; n: y = Cast(a) to=8", "which Firn does not have; cast to float or int64"},
        {"wholes a [1 2] [0 1]; wholes l [3]; n: y = ReverseSequence(a l) time_axis=0 batch_axis=1",
         "a length for each sequence"},
        {"wholes a [1 2] [0 1]; wholes l [2 3]; n: y = ReverseSequence(a l) time_axis=0 batch_axis=1",
         "has a sequence of 2 of 1 elements"},
        {"wholes a [1 2] [0 1]; n: y = Unique(a) axis=0", "compares slices of an axis"},
        {"number s 0.0; n: y = HannWindow(s)", "makes a window of 0 elements; write a size of at least 1"},
        {"tensor a [2]; tensor s [3]; n: y = QuantizeLinear(a s) axis=0", "has 3 scales for an axis of 2 elements"},
        /* signals */
        {"n: y = STFT(x x x)", "takes signals whose last axis has the real part"},
        {"signal; wholes f [2]; n: y = STFT(x f)", "takes signals whose last axis has the real part"},
        {"n: y = DFT(x)", "takes signals whose last axis has the real part"},
        {"signal; n: y = Col2Im(x x x)", "its image_shape depend on the data; Firn freezes every shape"},
        {"image; n: y = GridSample(x x)", "takes images [N,C,...] and places of as many numbers for each image"},
        {"signal; wholes i [2 2]; wholes b [2 2 2]; n: y = Col2Im(x i b)",
         "takes [N,C,L], and as many extents of an image as of a block"},
        {"signal; wholes i [2 2]; wholes b [2 3]; n: y = Col2Im(x i b)", "has blocks beyond its image"},
        {"signal; wholes i [3 3]; wholes b [1 5]; n: y = Col2Im(x i b)", "block"},
        {"n: y = RandomUniformLike(x) dtype=7", "makes the type int64; use float"},
        /* sequences */
        {"s = SplitToSequence(x); wholes a [7]; n: y = SequenceAt(s a)", "takes the part 7 of 3"},
        {"n: y = SequenceAt(x x)", "reads a sequence that SplitToSequence or SequenceConstruct has not made"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        message_bytes graph = {.count = 0};
        const char *text = rows[i].text;
        const bool image = strncmp(text, "image; ", 7) == 0, signal = strncmp(text, "signal; ", 8) == 0;
        put_graph(&graph, image    ? "in x [batch 4 5 6]; out y"
                          : signal ? "in x [batch 5 4]; out y"
                                   : "in x [batch 4]; out y");
        put_graph(&graph, text + (image ? 7 : signal ? 8 : 0));
        const firnc_graph *made = import(&graph);
        if (made != NULL || strncmp(message, "firnc: ", 7) != 0 || strstr(message, rows[i].words) == NULL)
            fail_msg("%s: \"%s\", not \"%s\"", text, made != NULL ? "" : message, rows[i].words);
    }
}

/* An attribute of another kind would be read as its usual value. */
TEST(attributes_of_other_kinds_are_refused) {
    refused_text("n: y = Softmax(x) axis=1.5", "its attribute axis is no whole number");
    refused_text("n: y = LeakyRelu(x) alpha=2", "its attribute alpha is no real number");
    refused_text("n: y = Softmax(x) axis=1 axis=0", "has the attribute axis twice");
    message_bytes graph = with_input("y"), attributes = {.count = 0}, reference = {.count = 0};
    put_text(&reference, 1, "axis");
    put_integer(&reference, 20, 2);
    put_text(&reference, 21, "outer");
    put_message(&attributes, 5, &reference);
    put_node(&graph, "n", "Softmax", "x", "y", &attributes);
    refused(&graph, "its attribute axis stands for one of a function");
}

TEST(known_indices_are_within_their_axis) {
    (void)imported_text("wholes i [3 -4]; n: y = Gather(x i) axis=1");
    refused_text("wholes i [0 4]; n: y = Gather(x i) axis=1", "takes element 4 of 4");
    refused_text("wholes i [-5 0]; n: y = Gather(x i) axis=1", "takes element -5 of 4");
    refused_text("n: y = Gather(x x) axis=1", "its indices are of the type float");
}

TEST(sizes_of_a_split_are_those_of_its_axis) {
    refused_text("wholes s [2 1]; n: y z = Split(x s) axis=1",
                 "has sizes that are not one for each output, or not 4 elements together");
}

/* A node of LSTM with 4 inputs and 2 hidden numbers, and biases of these extents. */
static message_bytes recurrent(const char *biases, int hidden) {
    message_bytes graph = {.count = 0};
    put_graph(&graph, firnc_format("in x [batch 5 4]; out y; tensor w [1 8 4]; tensor r [1 8 2]; tensor b %s; "
                                   "n: y = LSTM(x w r b) hidden_size=%d",
                                   biases, hidden));
    return graph;
}

TEST(recurrent_weights_fit_each_other) {
    static const struct {
        const char *biases;
        int hidden;
        const char *words;
    } wrong[] = {{"[1 16 1*6]", 2, "has biases of other sizes than its weights"},
                 {"[1 24]", 2, "has biases of other sizes than its weights"},
                 {"[1 16]", 3, "has a hidden_size of 3, and weights for 2"}};
    const message_bytes good = recurrent("[1 16]", 2);
    assert_non_null(import(&good));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const message_bytes graph = recurrent(wrong[i].biases, wrong[i].hidden);
        refused(&graph, wrong[i].words);
    }
}

/* A module that is called twice: the exporter folds its parameters into tensors for each call, and the graph has each
 * of PyTorch's parameters once. */
TEST(a_recurrent_module_may_be_called_twice) {
    message_bytes graph = with_input("y");
    static const char parameters[] = "tensor w%d [1 8 4]; tensor r%d [1 8 2]; tensor b%d [1 16]";
    static const struct {
        const char *name, *from;
    } folded[] = {{"w%d", "['lstm.weight_ih_l0']"},
                  {"r%d", "['lstm.weight_hh_l0']"},
                  {"b%d", "['lstm.bias_ih_l0', 'lstm.bias_hh_l0']"}};
    put_graph(&graph, "wholes extents [-1 1 4]; wholes one [1]; s: steps = Reshape(x extents)");
    for (int call = 1; call <= 2; call++) {
        put_graph(&graph, firnc_format(parameters, call, call, call));
        for (size_t i = 0; i < sizeof folded / sizeof folded[0]; i++)
            put_folded(&graph, firnc_format(folded[i].name, call), folded[i].from);
        put_graph(&graph,
                  firnc_format("l%d: y%d = LSTM(steps w%d r%d b%d) hidden_size=2", call, call, call, call, call));
    }
    put_graph(&graph, "a: z = Add(y1 y2); q: p = Squeeze(z one); o: y = Squeeze(p one)");
    const firnc_graph *made = imported(&graph);
    uint32_t weights = 0;
    for (firnc_value i = 0; i < made->value_count; i++)
        weights +=
            made->values[i].role == FIRNC_ROLE_PARAMETER && strcmp(made->values[i].name, "lstm.weight_ih_l0") == 0;
    assert_int_equal(weights, 1);
    assert_int_equal(count_ops(made, FIRN_OP_lstm), 2);
}

/* Extents whose product does not fit into 64 bits, of a tensor without elements. */
TEST(wide_tensors_without_elements_are_refused) {
    message_bytes graph = with_input("y"), tensor = {.count = 0};
    put_integer(&tensor, 1, 0);
    put_integer(&tensor, 1, INT64_C(1) << 40);
    put_integer(&tensor, 1, INT64_C(1) << 40);
    put_integer(&tensor, 2, 1);
    put_text(&tensor, 8, "w");
    put_bytes(&tensor, 9, "", 0);
    put_message(&graph, INITIALIZER, &tensor);
    put_graph(&graph, "n: f = Flatten(w); o: y = Add(x f)");
    refused(&graph, "tensor w has more than 8 dimensions, a negative extent or too many elements");
}

TEST(odd_attributes_are_refused) {
    refused_text(firnc_format("wholes p [%" PRId64 " 0 %" PRId64 " 0]; n: y = Pad(x p)", INT64_MIN, INT64_MAX),
                 "pads 3 elements by ");
    message_bytes graph = {.count = 0};
    put_graph(&graph, firnc_format("in x [batch 1 2 2]; out y; tensor w [1 1 2 2]; "
                                   "n: y = ConvTranspose(x w) pads=[%" PRId64 " 0 %" PRId64 " 0]",
                                   INT64_MAX, INT64_MAX));
    refused(&graph, "has a pad of 9223372036854775807");
    refused_text("n: a = ArgMax(x); m: y = Cast(a) to=3", "node m (Cast): drops the high bits of whole numbers");
    refused_text("n: a = ArgMax(x); m: y = ReduceMean(a)", "node m (ReduceMean): rounds whole numbers");
}

TEST(inputs_have_names_of_their_own) {
    refused_text("in x [batch 4]; n: y = Relu(x)", "has two inputs with the name x");
}

/* A matrix that is no parameter, with its axes exchanged by Gemm. */
TEST(constant_matrices_are_exchanged_once) {
    message_bytes graph = with_input("y");
    const char *const constants[] = {"w"};
    const firnc_onnx_options options = {
        .samples = 3, .constants = constants, .constant_count = 1, .features = {.element = FIRN_FLOAT32}};
    put_graph(&graph, "tensor w [4 4]; n: y = Gemm(x w) transB=1");
    write_model(&graph, 20);
    firnc_graph *made = firnc_graph_create("test");
    assert_true(firnc_onnx_import(made, path, &options, &model_read));
    const firnc_node *product = &made->nodes[made->values[model_read.outputs[0].value].producer];
    assert_int_equal(product->code, FIRN_OP_linear);
    const float *elements = made->values[product->inputs[FIRN_LINEAR_IN_WEIGHT]].elements;
    /* w of the file has 0.25 and 0.5 in its first row */
    const size_t second = product->integers[FIRN_LINEAR_LAYOUT] == FIRNC_OUT_IN ? 1 : 4;
    assert_true(elements[0] == 0.25F && elements[second] == 0.5F);
}

/* An input that is no data, as a whole number that it cannot have. */
TEST(filled_inputs_have_their_value) {
    message_bytes graph = graph_of("y", "in int64 m [batch 4]; c: f = Relu(m); n: y = Add(x f)");
    write_model(&graph, 20);
    for (int i = 0; i < 2; i++) {
        const firnc_onnx_filled filled = {"m", i == 0 ? 0.5 : 2};
        const firnc_onnx_options options = {
            .samples = 3, .filled = &filled, .filled_count = 1, .features = {.element = FIRN_FLOAT32}};
        messages = 0;
        assert_int_equal(firnc_onnx_import(firnc_graph_create("test"), path, &options, &model_read), i == 1);
        assert_int_equal(messages, i == 0);
    }
    assert_non_null(strstr(message, "input m is of the type int64, which does not have 0.5"));
}

/* A tensor that a Constant node holds is like one of the file, but in files of PyTorch, whose weights are tensors. */
TEST(constant_nodes_may_be_weights) {
    static const char *const producers[] = {"tf2onnx", "pytorch"};
    static const float weights[] = {1, 2, 3, 4};
    for (int i = 0; i < 2; i++) {
        message_bytes graph = with_input("y"), tensor = {.count = 0}, value = {.count = 0}, node = {.count = 0};
        put_integer(&tensor, 1, 4);
        put_integer(&tensor, 1, 1);
        put_integer(&tensor, 2, 1);
        put_bytes(&tensor, 9, weights, sizeof weights);
        put_text(&value, 1, "value");
        put_message(&value, 5, &tensor);
        put_integer(&value, 20, 4);
        put_message(&node, 5, &value);
        put_node(&graph, "", "Constant", "", "dense_kernel", &node);
        node.count = 0;
        put_real_attribute(&node, "value_float", 2);
        put_node(&graph, "", "Constant", "", "layer.scale", &node); /* one number is one of a formula */
        put_graph(&graph, "n: h = MatMul(x dense_kernel); m: y = Mul(h layer.scale)");
        message_bytes model = model_of(&graph, 20);
        put_text(&model, 2, producers[i]);
        write_file(path, model.bytes, model.count);
        const firnc_graph *made = import_file(false);
        assert_non_null(made);
        assert_int_equal(model_read.parameter_count, i == 0);
        if (i == 0)
            assert_true(parameter_of(made, "dense_kernel")->initial[3] == 4);
    }
    /* of [2,3] the elements 1 and 5 */
    message_bytes graph = with_input("y"), sparse = {.count = 0}, tensor = {.count = 0}, value = {.count = 0};
    message_bytes node = {.count = 0};
    put_integer(&tensor, 1, 2);
    put_integer(&tensor, 2, 1);
    put_bytes(&tensor, 9, weights, 8);
    put_message(&sparse, 1, &tensor);
    for (int i = 0; i < 3; i++) {
        message_bytes indices = {.count = 0}, whole = sparse;
        const int64_t flat[] = {1, i == 2 ? 6 : 5}, pairs[] = {0, 1, 1, 2};
        put_integer(&indices, 1, 2);
        if (i == 1)
            put_integer(&indices, 1, 2);
        put_integer(&indices, 2, 7);
        put_bytes(&indices, 9, i == 1 ? pairs : flat, i == 1 ? sizeof pairs : sizeof flat);
        put_message(&whole, 2, &indices);
        put_integer(&whole, 3, 2);
        put_integer(&whole, 3, 3);
        value.count = node.count = 0;
        put_text(&value, 1, "sparse_value");
        put_message(&value, 22, &whole);
        put_integer(&value, 20, 11);
        put_message(&node, 5, &value);
        graph = with_input("y");
        put_node(&graph, "n", "Constant", "", "y", &node);
        if (i == 2) {
            refused(&graph, "has the index 6 of 6");
            continue;
        }
        assert_non_null(import(&graph));
        for (int j = 0; j < 6; j++)
            assert_true(model_read.outputs[0].known[j] == (j == 1 ? 1 : j == 5 ? 2 : 0));
    }
}

/* The model of this graph with inputs.s = 0. */
static bool import_with(const message_bytes *graph, const firnc_onnx_dimension *dimensions, uint32_t count) {
    static const firnc_onnx_filled filled = {"s", 0};
    const message_bytes model = model_of(graph, 20);
    const firnc_onnx_options options = {.samples = 3,
                                        .dimensions = dimensions,
                                        .dimension_count = count,
                                        .filled = &filled,
                                        .filled_count = 1,
                                        .features = {.element = FIRN_FLOAT32}};
    write_file(path, model.bytes, model.count);
    messages = 0;
    const bool good = firnc_onnx_import(firnc_graph_create("test"), path, &options, &model_read);
    assert_int_equal(messages, !good);
    return good;
}

/* An extent of the data's first name is that of the micro-batch, wherever it stands; every other one that is open has a
 * name that the recipe can use, even if the file has none. */
TEST(open_extents_have_sizes) {
    static const int64_t nameless[] = {-1, NAMELESS, 4}, open[] = {NAMELESS, WRITTEN_OPEN, 4},
                         questioned[] = {QUESTIONED, QUESTIONED, 4};
    static const int64_t *const shapes[] = {nameless, open, questioned};
    const firnc_onnx_dimension two = {"x.1", 2}, other = {"x.2", 2}, none = {"s.1", 0};
    for (int i = 0; i < 3; i++) {
        message_bytes graph = {.count = 0};
        put_value(&graph, INPUT, "x", 1, 3, shapes[i]);
        put_graph(&graph, "out y; n: y = Relu(x)");
        refused(&graph, "input x: the size of its extent 1 (without a name) is open; write it into model.dimensions, "
                        "as {\"x.1\": 64}");
        assert_true(import_with(&graph, &two, 1));
        assert_int_equal(model_read.inputs[0].dims[0], 3);
        assert_int_equal(model_read.inputs[0].dims[1], 2);
        assert_int_equal(model_read.unused_dimension, FIRNC_NONE);
        assert_true(import_with(&graph, (const firnc_onnx_dimension[]){two, other}, 2)); /* which the file has */
        assert_int_equal(model_read.unused_dimension, 1);
    }
    message_bytes graph = graph_of("y", "in s [2 batch]; n: m = ReduceMax(s); o: y = Add(x m)");
    assert_true(import_with(&graph, NULL, 0));
    assert_int_equal(model_read.inputs[1].dims[1], 3);
    /* what is no data may have no elements */
    graph = with_input("y");
    put_value(&graph, INPUT, "s", 1, 2, (const int64_t[]){-1, NAMELESS});
    put_graph(&graph, "n: y = Concat(s x) axis=1");
    assert_true(import_with(&graph, &none, 1));
    assert_int_equal(model_read.outputs[0].dims[1], 4);
}

/* What the file does not have is reported to the recipe, whose message has the place. */
TEST(what_has_no_effect_is_found) {
    const message_bytes graph = perceptron(), model = model_of(&graph, 20);
    const firnc_onnx_dimension dimensions[] = {{"batch", 3}, {"length", 2}};
    const char *const constants[] = {"a.*", "z.*"};
    const firnc_onnx_options options = {.samples = 3,
                                        .dimensions = dimensions,
                                        .dimension_count = 2,
                                        .constants = constants,
                                        .constant_count = 2,
                                        .features = {.element = FIRN_FLOAT32}};
    write_file(path, model.bytes, model.count);
    assert_true(firnc_onnx_import(firnc_graph_create("test"), path, &options, &model_read));
    assert_int_equal(model_read.unused_dimension, 1);
    assert_true(model_read.matched[0]);
    assert_false(model_read.matched[1]);
    assert_int_equal(model_read.data, 0);
    assert_int_equal(model_read.parameter_count, 2);
}

TEST(wrong_shapes_are_refused) {
    static const int64_t negative[] = {-1, -7}, huge[] = {-1, INT64_C(1) << 40}, none[] = {-1, 0};
    const int64_t *const shapes[] = {negative, huge, none};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        message_bytes graph = {.count = 0};
        put_value(&graph, INPUT, "x", 1, 2, shapes[i]);
        put_graph(&graph, "out y; n: y = Relu(x)");
        refused(&graph, "input x has an extent of ");
    }
    message_bytes graph = with_input("y"), tensor = {.count = 0};
    put_integer(&tensor, 1, INT64_C(1) << 33);
    put_integer(&tensor, 2, 1);
    put_text(&tensor, 8, "w");
    put_bytes(&tensor, 9, "1234", 4);
    put_message(&graph, INITIALIZER, &tensor);
    put_graph(&graph, "n: y = Add(x w)");
    refused(&graph, "tensor w has 4 bytes");
}

/* Elements of 2^62 bytes that nobody has sent. */
TEST(a_small_file_cannot_ask_for_much) {
    message_bytes graph = with_input("y"), tensor = {.count = 0};
    const int64_t extents[] = {1 << 15, 1 << 15, 1 << 15};
    put_integer(&tensor, 1, 3);
    put_integer(&tensor, 2, 7);
    put_text(&tensor, 8, "s");
    put_bytes(&tensor, 9, extents, sizeof extents);
    put_message(&graph, INITIALIZER, &tensor);
    put_graph(&graph, "n: c = ConstantOfShape(s); o: y = Add(x c)");
    refused(&graph, "elements");
}

/* When the room for elements is used up, even one number more is refused. */
TEST(the_last_number_has_no_room) {
    const firnc_mark mark = firnc_memory_mark();
    message_bytes graph = with_input("y"), tensor = {.count = 0}, number = {.count = 0};
    const int64_t extent = (1 << 26) - 1; /* and the 0 that fills it */
    put_integer(&tensor, 1, 1);
    put_integer(&tensor, 2, 7);
    put_text(&tensor, 8, "s");
    put_bytes(&tensor, 9, &extent, sizeof extent);
    put_message(&graph, INITIALIZER, &tensor);
    put_attribute(&number, "value_int", 1);
    put_graph(&graph, "n: c = ConstantOfShape(s)");
    put_node(&graph, "o", "Constant", "", "k", &number);
    put_graph(&graph, "p: y = Sum(x c k)");
    refused(&graph, "node o (Constant): makes constants of more than");
    firnc_memory_release(mark);
}

TEST(other_opsets_are_refused) {
    const message_bytes graph = perceptron();
    static const int64_t opsets[] = {12, 24, -1};
    for (size_t i = 0; i < sizeof opsets / sizeof opsets[0]; i++) {
        write_model(&graph, opsets[i]);
        assert_null(import_file(false));
        assert_non_null(strstr(message, "and Firn reads 13 to 23"));
    }
    message_bytes model = model_of(&graph, 20), version = {.count = 0};
    put_integer(&version, 2, 13);
    put_message(&model, 8, &version);
    write_file(path, model.bytes, model.count);
    assert_null(import_file(false));
    assert_non_null(strstr(message, "is of opset 20 and of opset 13"));
}

static void put_entry(message_bytes *tensor, const char *key, const char *value) {
    message_bytes entry = {.count = 0};
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(tensor, 13, &entry);
}

/* A model whose tensor w, float[4], is in another file. `entries` are the names and values of what is said of it. */
static message_bytes with_external(const char *const entries[], size_t count) {
    message_bytes graph = with_input("y"), tensor = {.count = 0};
    put_integer(&tensor, 1, 4);
    put_integer(&tensor, 2, 1);
    put_text(&tensor, 8, "w.weight");
    put_integer(&tensor, 14, 1);
    for (size_t i = 0; i < count && entries[i] != NULL; i += 2)
        put_entry(&tensor, entries[i], entries[i + 1]);
    put_message(&graph, INITIALIZER, &tensor);
    put_graph(&graph, "n: y = Add(x w.weight)");
    return graph;
}

/* The file w has five floats, 1 to 5; the first of four that are read is `first`, or `refusal` is said. */
static const struct {
    const char *entries[6];
    const char *refusal;
    float first;
} external_cases[] = {
    {{"location", "w"}, NULL, 1},
    {{"location", "w", "offset", "0", "length", "16"}, NULL, 1},
    {{"location", "w", "offset", "4"}, NULL, 2},
    {{"location", "w", "offset", "004", "checksum", "?"}, NULL, 2},
    {{"location", "w", "offset", "5"}, "its data is not in \"w\", which is too short or cannot be read", 0},
    {{"location", "w", "offset", "18446744073709551615"}, "the offset of its data is no number", 0},
    {{"location", "w", "offset", "18446744073709551610"}, "the offset of its data is no number", 0},
    {{"location", "w", "offset", "18446744073709551609"}, "which is too short or cannot be read", 0},
    {{"location", "w", "offset", ""}, "the offset of its data is no number", 0},
    {{"location", "w", "offset", "-4"}, "the offset of its data is no number", 0},
    {{"location", "w", "length", "1:"}, "the length of its data is no number", 0},
    {{"location", "w", "length", "1/"}, "the length of its data is no number", 0},
    {{"location", "w", "length", "20"}, "its data has 20 bytes, and its elements take 16", 0},
    {{"location", "w", "length", "12"}, "its data has 12 bytes, and its elements take 16", 0},
    {{"offset", "0"}, "its data is in \"\", and only files in the model's folder are read", 0},
    {{"location", ""}, "its data is in \"\", and only files in the model's folder are read", 0},
    {{"location", "/etc/passwd"}, "its data is in \"/etc/passwd\", and only files in the model's folder are read", 0},
    {{"location", "../w"}, "its data is in \"../w\", and only files", 0},
    {{"location", "a/../../w"}, "its data is in \"a/../../w\", and only files", 0},
    {{"location", "a\\w"}, "its data is in \"a\\w\", and only files", 0},
    {{"location", "."}, "its data is in \".\", and only files", 0},
    {{"location", "a//b"}, "its data is in \"a//b\", and only files", 0},
    {{"location", "link"}, "its data is in \"link\", which is no file in the model's folder", 0},
    {{"location", "none"}, "its data is in \"none\", which is no file in the model's folder", 0},
    {{"location", "inner"}, "its data is in \"inner\", which is no file in the model's folder", 0},
    {{"location", "inner/w"}, NULL, 1},
};

TEST(data_stays_in_the_folder) {
    const char *file = firnc_format("%s/w", folder), *link = firnc_format("%s/link", folder);
    const char *inner = firnc_format("%s/inner", folder), *below = firnc_format("%s/w", inner);
    const float values[] = {1, 2, 3, 4, 5};
    write_file(file, (const uint8_t *)values, sizeof values);
    assert_int_equal(mkdir(inner, 0777), 0);
    write_file(below, (const uint8_t *)values, sizeof values);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    for (size_t i = 0; i < sizeof external_cases / sizeof external_cases[0]; i++) {
        const message_bytes graph = with_external(external_cases[i].entries, 6);
        if (external_cases[i].refusal != NULL) {
            refused(&graph, "tensor w.weight: ");
            refused(&graph, external_cases[i].refusal);
        } else {
            const float *read = parameter_of(imported(&graph), "w.weight")->initial;
            assert_true(read[0] == external_cases[i].first && read[3] == read[0] + 3);
        }
    }
    assert_int_equal(unlink(below), 0);
    assert_int_equal(rmdir(inner), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(unlink(link), 0);
}

TEST(a_model_alone_becomes_a_plan) {
    const message_bytes graph = perceptron(), model = model_of(&graph, 20);
    const firnc_onnx_dimension batch = {"batch", 3};
    const firnc_onnx_options options = {.dimensions = &batch, .dimension_count = 1};
    firnc_frozen plan;
    firnc_key key;
    write_file(path, model.bytes, model.count);
    messages = 0;
    assert_true(firnc_key_generate(&key));
    assert_true(firnc_onnx_freeze(path, &options, &key, &model_read, &plan));
    assert_true(plan.file.count > 0 && messages == 0);
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

/* A list such as "x0 x1 x2", with a letter for x. */
static const char *numbered(char letter, size_t count) {
    const char *list = firnc_format("%c0", letter);
    for (size_t i = 1; i < count; i++)
        list = firnc_format("%s %c%zu", list, letter, i);
    return list;
}

/* A word, so many times. */
static const char *repeated(const char *word, size_t count) {
    const char *list = word;
    for (size_t i = 1; i < count; i++)
        list = firnc_format("%s %s", list, word);
    return list;
}

/* Extents of 1, of which the first is given. */
static void put_extents(message_bytes *graph, const char *name, int64_t first, size_t count) {
    int64_t extents[80] = {first};
    for (size_t i = 1; i < count; i++)
        extents[i] = 1;
    put_wholes(graph, name, count, extents);
}

/* x, and x with so many dimensions as u. */
static message_bytes with_rank(size_t rank) {
    message_bytes graph = with_input("y");
    put_extents(&graph, "extents", -1, rank);
    put_graph(&graph, "u = Reshape(x extents)");
    return graph;
}

/* A name of so many letters. */
static const char *name_of(size_t length) {
    char *name = firnc_allocate(length + 1);
    memset(name, 'a', length);
    name[length] = '\0';
    return name;
}

static message_bytes inputs(size_t count) {
    message_bytes graph = {.count = 0};
    for (size_t i = 0; i < count; i++)
        put_value(&graph, INPUT, firnc_format("x%zu", i), 1, 2, (const int64_t[]){1, 4});
    put_graph(&graph, "out y");
    put_node(&graph, "n", "Sum", numbered('x', count), "y", NULL);
    return graph;
}

static message_bytes outputs(size_t count) {
    message_bytes graph = {.count = 0};
    put_graph(&graph, "in x [batch 4]");
    for (size_t i = 0; i < count; i++) {
        put_value(&graph, OUTPUT, firnc_format("y%zu", i), 1, 0, NULL);
        put_node(&graph, "n", "Relu", "x", firnc_format("y%zu", i), NULL);
    }
    return graph;
}

static message_bytes inputs_of_a_node(size_t count) {
    message_bytes graph = with_input("y");
    put_node(&graph, "n", "Sum", repeated("x", count), "y", NULL);
    return graph;
}

/* Cuts the rows of x into parts, and joins as many as a node can read. */
static message_bytes joined_parts(size_t extent, size_t cuts, const char *cut, const message_bytes *attributes) {
    message_bytes graph = {.count = 0}, axis = {.count = 0};
    put_attribute(&axis, "axis", 1);
    put_value(&graph, INPUT, "x", 1, 2, (const int64_t[]){-1, (int64_t)extent});
    put_graph(&graph, "out y");
    put_extents(&graph, "sizes", 1, extent);
    put_node(&graph, "n", "Split", cut, numbered('p', cuts), attributes);
    put_node(&graph, "o", "Concat", numbered('p', cuts < 64 ? cuts : 64), "y", &axis);
    return graph;
}

static message_bytes outputs_of_a_node(size_t count) {
    message_bytes attributes = {.count = 0};
    put_attribute(&attributes, "axis", 1);
    put_attribute(&attributes, "num_outputs", (int64_t)count);
    return joined_parts(count, count, "x", &attributes);
}

static message_bytes parts_by_sizes(size_t count) {
    message_bytes attributes = {.count = 0};
    put_attribute(&attributes, "axis", 1);
    return joined_parts(count, 64, "x sizes", &attributes);
}

/* A loop whose steps hand on `carried` as it is, and give it as so many more outputs of the body. A node on which
 * nothing depends has so many names of inputs. */
static void put_loop(message_bytes *graph, size_t steps, const char *carried, size_t body_outputs,
                     const char *node_outputs, size_t names) {
    message_bytes body = {.count = 0}, attribute = {.count = 0};
    put_graph(&body, "in int64 step; in bool go; in s; out bool go");
    for (size_t i = 1; i < body_outputs; i++)
        put_value(&body, OUTPUT, "s", 1, 0, NULL);
    put_node(&body, "", "", names > 0 ? repeated("-", names) : "", "", NULL);
    put_branch(&attribute, "body", &body);
    put_wholes(graph, "steps", 1, (const int64_t[]){(int64_t)steps});
    put_node(graph, "n", "Loop", firnc_format("steps - %s", carried), node_outputs, &attribute);
}

static message_bytes outputs_of_a_body(size_t count) {
    message_bytes graph = with_input("y");
    put_loop(&graph, 2, "x", count, numbered('p', count - 1), 0);
    put_node(&graph, "o", "Sum", numbered('p', 1), "h", NULL);
    put_node(&graph, "p", "Concat", firnc_format("p1 p%zu", count - 2), "y", (&(message_bytes){.count = 0}));
    return graph;
}

/* 813 steps read 492 names each; with four nodes outside the loop these are 400,000. */
static message_bytes nodes_of_all_steps(size_t outside) {
    message_bytes graph = with_input("y");
    put_loop(&graph, 813, "x", 2, "h0", 492);
    for (size_t i = 0; i < outside - 2; i++)
        put_node(&graph, "", "Tanh", firnc_format("h%zu", i), firnc_format("h%zu", i + 1), NULL);
    put_node(&graph, "o", "Relu", firnc_format("h%zu", outside - 2), "y", NULL);
    return graph;
}

/* A Constant within twelve Ifs, which are 38 levels of messages. The node is one more, its attribute is one more, and a
 * tensor in that one more. */
static message_bytes levels_of_messages(size_t count) {
    message_bytes graph = with_input("y"), inner = {.count = 0}, attributes = {.count = 0}, output = {.count = 0};
    if (count == 40) {
        put_attribute(&attributes, "value_int", 1);
    } else {
        message_bytes attribute = {.count = 0}, tensor = {.count = 0};
        put_integer(&tensor, 2, 1);
        put_bytes(&tensor, 9, (const float[]){1}, sizeof(float));
        put_text(&attribute, 1, "value");
        put_message(&attribute, 5, &tensor);
        put_integer(&attribute, 20, 4);
        put_message(&attributes, 5, &attribute);
    }
    put_text(&output, 1, "i");
    put_message(&inner, OUTPUT, &output);
    put_node(&inner, "", "Constant", "", "i", &attributes);
    for (int i = 0; i < 12; i++) {
        message_bytes branch = {.count = 0}, outer = {.count = 0};
        put_branch(&branch, "then_branch", &inner);
        if (i < 11)
            put_message(&outer, OUTPUT, &output);
        put_node(&outer, "", "If", "yes", "i", &branch);
        inner = outer;
    }
    memcpy(graph.bytes + graph.count, inner.bytes, inner.count);
    graph.count += inner.count;
    put_graph(&graph, "wholes yes [1]; n: y = Add(x i)");
    return graph;
}

static message_bytes steps_of_a_loop(size_t count) {
    message_bytes graph = with_input("y");
    put_loop(&graph, count, "x", 2, "p", 0);
    put_graph(&graph, "o: y = Relu(p)");
    return graph;
}

static message_bytes rank_of_stacked_steps(size_t count) {
    message_bytes graph = with_rank(count - 1);
    put_loop(&graph, 2, "u", 3, "p q", 0);
    put_graph(&graph, "o: y = Relu(q)");
    return graph;
}

static message_bytes rank_of_an_input(size_t count) {
    message_bytes graph = {.count = 0};
    put_graph(&graph, firnc_format("in x [batch 1*%zu]; out y; n: y = Relu(x)", count - 1));
    return graph;
}

static message_bytes rank_of_unsqueeze(size_t count) {
    message_bytes graph = with_input("y");
    static const int64_t axes[] = {0, 1, 2, 3, 4, 5, 6};
    put_wholes(&graph, "axes", count - 2, axes);
    put_graph(&graph, "n: y = Unsqueeze(x axes)");
    return graph;
}

static message_bytes rank_of_einsum(size_t count) {
    message_bytes graph = with_rank(4), attributes = {.count = 0}, equation = {.count = 0};
    const char *labels = "abcdefghi";
    put_extents(&graph, "others", -1, count - 4);
    put_graph(&graph, "tensor w [2]; v = Reshape(w others)");
    put_text(&equation, 1, "equation");
    put_text(&equation, 4, firnc_format("abcd,%.*s->%.*s", (int)count - 4, labels + 4, (int)count, labels));
    put_integer(&equation, 20, 3);
    put_message(&attributes, 5, &equation);
    put_node(&graph, "n", "Einsum", "u v", "y", &attributes);
    return graph;
}

/* Returns a model of an Einsum whose equation has these bytes. */
static message_bytes einsum_of(const void *bytes, size_t count) {
    message_bytes graph = with_rank(2), attributes = {.count = 0}, equation = {.count = 0};
    put_text(&equation, 1, "equation");
    put_bytes(&equation, 4, bytes, count);
    put_integer(&equation, 20, 3);
    put_message(&attributes, 5, &equation);
    put_node(&graph, "n", "Einsum", "u", "y", &attributes);
    return graph;
}

static message_bytes bytes_of_a_text(size_t count) {
    return einsum_of(firnc_format("ab%*s->ba", (int)count - 6, ""), count);
}

/* Extents that another node makes: more than a file of this size could hold. */
static message_bytes list_of_numbers(size_t count) {
    message_bytes graph = with_input("y"), attributes = {.count = 0}, value = {.count = 0}, tensor = {.count = 0};
    put_integer(&tensor, 1, 1);
    put_integer(&tensor, 2, 7);
    put_bytes(&tensor, 9, (const int64_t[]){1}, sizeof(int64_t));
    put_text(&value, 1, "value");
    put_message(&value, 5, &tensor);
    put_integer(&value, 20, 4);
    put_message(&attributes, 5, &value);
    put_wholes(&graph, "count", 1, (const int64_t[]){(int64_t)count});
    put_node(&graph, "", "ConstantOfShape", "count", "list", &attributes);
    put_graph(&graph, "n: y = Reshape(x list)");
    return graph;
}

static message_bytes name_of_an_input(size_t length) {
    message_bytes graph = {.count = 0};
    put_value(&graph, INPUT, name_of(length), 1, 2, (const int64_t[]){1, 4});
    put_graph(&graph, "out y");
    put_node(&graph, "n", "Relu", name_of(length), "y", NULL);
    return graph;
}

static message_bytes name_of_an_output(size_t length) {
    message_bytes graph = {.count = 0};
    put_graph(&graph, "in x [1 4]");
    put_value(&graph, OUTPUT, name_of(length), 1, 0, NULL);
    put_node(&graph, "n", "Relu", "x", name_of(length), NULL);
    return graph;
}

static message_bytes name_of_a_module(size_t length) {
    message_bytes graph = with_input("y");
    put_node(&graph, firnc_format("/%s/Relu", name_of(length)), "Relu", "x", "y", NULL);
    return graph;
}

/* A graph whose text has a number for its %zu. */
static message_bytes graph_with(const char *text, size_t number) {
    const size_t before = (size_t)(strstr(text, "%zu") - text);
    return graph_of("y", firnc_format("%.*s%zu%s", (int)before, text, number, text + before + 3));
}

/* Exactly as many as the limit are read, and one more is refused. */
TEST(one_more_than_a_limit_is_refused) {
    static const struct {
        size_t most;
        message_bytes (*graph)(size_t count); /* NULL: x and y and what the text says, with the count less `less` */
        size_t less;
        const char *text;
        bool bare;
        const char *beyond, *at; /* words of the refusals; at: NULL where a model at the limit is read */
    } limits[] = {
        {32, inputs, 0, NULL, true, "has more than 32 inputs", NULL},
        {32, outputs, 0, NULL, false, "has 33 outputs; 1 to 32 are read", NULL},
        {64, inputs_of_a_node, 0, NULL, false, "node n (Sum): has more than 64 inputs or outputs", NULL},
        {64, outputs_of_a_node, 0, NULL, false, "node n (Split): has more than 64 inputs or outputs", NULL},
        {64, parts_by_sizes, 0, NULL, false, "node n (Split): makes 65 parts", NULL},
        {64, NULL, 0, "n: y = Split(x) num_outputs=%zu", false, "node n (Split): makes 65 parts", NULL},
        {64, outputs_of_a_body, 0, NULL, false, "node n (Loop): has another number of inputs or outputs than its body",
         NULL},
        {4096, steps_of_a_loop, 0, NULL, false, "node n (Loop): takes more than 4096 steps", NULL},
        {4, nodes_of_all_steps, 0, NULL, false, "is more than the 400000 nodes that Firn reads", NULL},
        {40, levels_of_messages, 0, NULL, false, "is nested too deeply", NULL},
        {8, rank_of_stacked_steps, 0, NULL, false, "node n (Loop): makes more than 8 dimensions", NULL},
        {8, rank_of_an_input, 0, NULL, false, "input x has more than 8 dimensions", NULL},
        {8, NULL, 1, "tensor w [4 1*%zu]; v = Reshape(w minus); wholes minus [-1]; n: y = Add(x v)", false,
         "tensor w has more than 8 dimensions", NULL},
        {8, NULL, 1, "wholes extents [-1 1*%zu]; u = Reshape(x extents); n: y = Relu(u)", false,
         "(Reshape): makes more than 8 dimensions", NULL},
        {8, NULL, 1, "number one 1; wholes wide [1 1*%zu]; n: y = Reshape(one wide)", false,
         "node n (Reshape): makes more than 8 dimensions", NULL},
        {8, NULL, 1, "wholes extents [-1]; u = Reshape(x extents); wholes wide [2 1*%zu]; n: y = Expand(u wide)", false,
         "node n (Expand): makes more than 8 dimensions", NULL},
        {8, NULL, 1, "number one 1; wholes wide [2 1*%zu]; n: y = Expand(one wide)", false,
         "node n (Expand): makes more than 8 dimensions", NULL},
        {8, NULL, 1, "number one 1; wholes wide [2 1*%zu]; n: y = ConstantOfShape(wide)", false,
         "node n (ConstantOfShape): makes more than 8 dimensions", NULL},
        {8, rank_of_unsqueeze, 0, NULL, false, "node n (Unsqueeze): makes more than 8 dimensions", NULL},
        {8, NULL, 1, "n: y = RandomUniform() shape=[2 1*%zu]", false,
         "node n (RandomUniform): makes more than 8 dimensions", NULL},
        {8, NULL, 2, "wholes extents [1 1*%zu]; wholes zero [0]; ids = Reshape(zero extents); n: y = Gather(x ids)",
         false, "node n (Gather): makes more than 8 dimensions", NULL},
        {8, NULL, 2,
         "wholes extents [-1 1*%zu]; u = Reshape(x extents); wholes depth [3]; tensor /values [2]; n: y = OneHot(u "
         "depth /values)",
         false, "node n (OneHot): makes more than 8 dimensions", NULL},
        {8, NULL, 2,
         "wholes extents [1 1*%zu]; wholes zero [0]; wholes depth [3]; tensor /values [2]; ids = Reshape(zero "
         "extents); n: y = OneHot(ids depth /values)",
         false, "node n (OneHot): takes a depth and two values", NULL},
        {8, rank_of_einsum, 0, NULL, false, "node n (Einsum): makes more than 8 dimensions", NULL},
        {1024, bytes_of_a_text, 0, NULL, false, "node n (Einsum): its equation ab ", NULL},
        {65535, list_of_numbers, 0, NULL, false, "node n (Reshape): its extents are no list of whole numbers",
         "node n (Reshape): makes more than 8 dimensions"},
        {160, name_of_an_input, 0, NULL, true, "an input has a name that is not of 1 to 160", NULL},
        {160, name_of_an_output, 0, NULL, true, "an output has a name that is not of 1 to 160", NULL},
        {160, name_of_a_module, 0, NULL, false, "is in a module whose path is not of 1 to 160", NULL},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        for (size_t count = limits[i].most; count <= limits[i].most + 1; count++) {
            const char *words = count > limits[i].most ? limits[i].beyond : limits[i].at;
            const firnc_mark mark = firnc_memory_mark();
            const message_bytes graph =
                limits[i].graph != NULL ? limits[i].graph(count) : graph_with(limits[i].text, count - limits[i].less);
            const message_bytes model = model_of(&graph, 20);
            write_file(path, model.bytes, model.count);
            const bool is_read = import_file(limits[i].bare) != NULL;
            if (is_read != (words == NULL) || (words != NULL && strstr(message, words) == NULL))
                fail_msg("row %zu, %zu: %s, not: %s", i, count, is_read ? "is read" : message,
                         words == NULL ? "is read" : words);
            firnc_memory_release(mark);
        }
    const message_bytes none = outputs(0);
    refused(&none, "has 0 outputs; 1 to 32 are read");
    const message_bytes zero = einsum_of("ab->ba\0, and more", 17);
    refused(&zero, "node n (Einsum): its equation ab->ba?, and more");
}

/* A model of functions that call each other. */
static message_bytes model_of_functions(size_t depth) {
    message_bytes graph = with_input("y"), model;
    put_graph(&graph, "n: y = f1(x)");
    model = model_of(&graph, 20);
    for (size_t i = 1; i <= depth; i++) {
        message_bytes function = {.count = 0}, node = {.count = 0};
        put_text(&node, 1, "a");
        put_text(&node, 2, "b");
        put_text(&node, 4, i < depth ? firnc_format("f%zu", i + 1) : "Relu");
        put_text(&function, 1, firnc_format("f%zu", i));
        put_text(&function, 4, "a");
        put_text(&function, 5, "b");
        put_message(&function, 7, &node);
        put_message(&model, 25, &function);
    }
    return model;
}

TEST(functions_call_others_to_a_depth) {
    enum { DEPTH = 16 };
    for (size_t depth = DEPTH; depth <= DEPTH + 1; depth++) {
        const message_bytes model = model_of_functions(depth);
        write_file(path, model.bytes, model.count);
        assert_int_equal(import_file(false) != NULL, depth == DEPTH);
    }
    assert_non_null(strstr(message, "calls functions 16 deep or itself"));
}

/* --- limits of large files ---------------------------------------------------------------------------------------- */

static void put_one_tensor(message_bytes *graph, size_t i) {
    put_number(graph, firnc_format("t%zu", i), 1);
}

/* Each Sum of 64 operands becomes 63 ops. */
static void put_sum(message_bytes *graph, size_t i) {
    put_node(graph, "n", "Sum", firnc_format("h%zu %s", i, repeated("x", 63)), firnc_format("h%zu", i + 1), NULL);
}

/* Nothing reads it. */
static void put_unread_node(message_bytes *graph, size_t i) {
    (void)i;
    put_node(graph, "", "", "", "", NULL);
}

static bool reads_large(const message_bytes *graph, size_t count, void (*put)(message_bytes *graph, size_t i)) {
    const firnc_mark mark = firnc_memory_mark();
    write_large_model(path, graph, count, put, 20);
    const bool is_read = import_file(false) != NULL;
    firnc_memory_release(mark);
    return is_read;
}

TEST(one_more_than_a_large_limit_is_refused) {
    enum { TENSORS = 20000, OPS = 65536, SUM = 63, NODES = 4 * 65536 };
    message_bytes graph = graph_of("y", "o: y = Relu(x)");
    assert_true(reads_large(&graph, TENSORS, put_one_tensor));
    assert_false(reads_large(&graph, TENSORS + 1, put_one_tensor));
    assert_non_null(strstr(message, "has more than 20000 tensors"));
    assert_true(reads_large(&graph, NODES - 1, put_unread_node));
    assert_false(reads_large(&graph, NODES, put_unread_node));
    assert_non_null(strstr(message, "has more than 262144 nodes"));
    for (size_t more = 0; more < 2; more++) {
        graph = with_input(firnc_format("h%d", OPS / SUM));
        put_node(&graph, "o", "Sum", repeated("x", OPS % SUM + 1 + more), "h0", NULL);
        assert_int_equal(reads_large(&graph, OPS / SUM, put_sum), more == 0);
    }
    assert_non_null(strstr(message, "is op number 65537 of the model, and a plan holds at most 65536"));
}
