/* How weights files name the parameters of gpt2. The model has the names and layouts of Hugging Face's GPT2LMHeadModel;
 * files of its GPT2Model, such as those that were published with the paper, have them without "transformer.". */
#include "compiler/models/gpt2.h"
#include "compiler/models/transformer.h"

static const firnc_weight_rule rules[] = {
    {.parameter = "*", .tensors = {"*"}},
    {.parameter = "transformer.*", .tensors = {"*"}},
    /* the causal mask, which older releases stored */
    {.kind = FIRNC_WEIGHT_IGNORED, .tensors = {"*h.*.attn.bias"}},
    {.kind = FIRNC_WEIGHT_IGNORED, .tensors = {"*h.*.attn.masked_bias"}},
    /* the tied output layer; the last rule, because a model of its own output layer does not have it */
    {.kind = FIRNC_WEIGHT_COPY, .parameter = "transformer.wte.weight", .tensors = {"lm_head.weight"}},
};

firnc_weight_map firnc_gpt2_weight_map(const void *model_settings) {
    const firnc_transformer *settings = model_settings;
    const uint32_t count = sizeof rules / sizeof rules[0];
    return (firnc_weight_map){.rules = rules, .count = settings->share_embedding_weights ? count : count - 1};
}
