/* The remedy in messages about an op that Firn does not read: another op or form of the model with the same purpose, or
 * an op whose name is a longer or shorter form of the unknown name. */
#include <string.h>

#include "compiler/base/nearest.h"
#include "compiler/onnx/import.h"

static const struct {
    const char *ops, *instead;
} rows[] = {
    {"Scan", "a plan has no loops; export the model with a fixed number of steps, each written out"},
    {"SequenceMap Optional OptionalGetElement OptionalHasElement",
     "a plan has no lists of tensors; use tensors, with Concat, Split and Gather"},
    {"MelWeightMatrix", "compute the spectrum before the training, as part of the data"},
    {"ConvInteger DynamicQuantizeLinear MatMulInteger QLinearConv QLinearMatMul",
     "it is of a model that was quantised for inference; export the model of floats"},
    {"MaxRoiPool NonMaxSuppression RoiAlign", "boxes are no part of a plan; export the layers before them"},
    {"ImageDecoder RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer",
     "a plan has no strings or files; prepare the data before the training"},
    {"Multinomial",
     "a plan draws uniform and normal numbers only; compare those with cumulative sums of probabilities"},
    {"NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
     "export the model without its loss, and write that into model.loss"},
    {"Adagrad Adam Gradient Momentum", "export the model alone; its training is what the recipe says"},
    {"Hardmax", "write OneHot of ArgMax"},
    {"LpNormalization", "write Div by ReduceL1 or ReduceL2"},
    {"LpPool", "write Pow, AveragePool and Pow"},
    {"MeanVarianceNormalization", "write it as ReduceMean, Sub, Mul and Sqrt"},
    {"Scatter", "write ScatterElements"},
    {"Upsample", "write Resize"},
    {"Det", "write it as products and sums"},
};

/* The same for whole domains of ops. */
static const struct {
    const char *domain, *instead;
} domains[] = {
    {"com.microsoft", "ONNX Runtime's optimisation wrote it for inference; export the model without that"},
    {"ai.onnx.ml", "trees, tables and the like have no gradient; export a network"},
    {"ai.onnx.preview.training", "export the model alone; its training is what the recipe says"},
    {"org.pytorch.aten",
     "the exporter has no ONNX for it; export with dynamo=True, or write the module with other ops"},
};

/* Whether one word is the other with more letters behind it, be they small or not. */
static bool is_longer_form(const char *a, const char *b) {
    size_t same = 0;
    while (a[same] != '\0' && firnc_small_letter(a[same]) == firnc_small_letter(b[same]))
        same++;
    return same >= 3 && (a[same] == '\0' || b[same] == '\0');
}

const char *firnc_onnx_instead(const char *op, const char *domain) {
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++)
        if (strcmp(domains[i].domain, domain) == 0)
            return domains[i].instead;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (firnc_onnx_is_listed(rows[i].ops, op))
            return rows[i].instead;
    const char *nearest = firnc_onnx_op_nearest(op);
    return nearest != NULL && (is_longer_form(op, nearest) || firnc_is_misspelt(op, nearest))
               ? firnc_format("the nearest one is %s", nearest)
               : "write the module with ops that it reads, which compiler/onnx/ops/ops.c of its sources lists";
}
