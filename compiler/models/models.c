/* The table of models (compiler/models/models.h). */
#include "compiler/models/models.h"

#include "compiler/models/autoencoder.h"
#include "compiler/models/bert.h"
#include "compiler/models/gpt2.h"
#include "compiler/models/gpt_neox.h"
#include "compiler/models/gptj.h"
#include "compiler/models/images/images.h"
#include "compiler/models/lenet.h"
#include "compiler/models/llama.h"
#include "compiler/models/mlp.h"
#include "compiler/models/onnx.h"

const firnc_model *firnc_model_at(uint32_t position) {
    static const firnc_model *const models[] = {
        &firnc_model_gpt2,    &firnc_model_gpt3,      &firnc_model_gptj, &firnc_model_gpt_neox,    &firnc_model_llama,
        &firnc_model_bert,    &firnc_model_lenet,     &firnc_model_mlp,  &firnc_model_autoencoder, &firnc_model_ds_cnn,
        &firnc_model_resnet8, &firnc_model_mobilenet, &firnc_model_cct,  &firnc_model_onnx};
    return position < sizeof models / sizeof models[0] ? models[position] : NULL;
}
