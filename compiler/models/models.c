/* The table of models (compiler/models/models.h). */
#include "compiler/models/models.h"

#include "compiler/models/gpt2.h"
#include "compiler/models/lenet.h"
#include "compiler/models/mlp.h"

const firnc_model *firnc_model_at(uint32_t position) {
    static const firnc_model *const models[] = {&firnc_model_gpt2, &firnc_model_lenet, &firnc_model_mlp};
    return position < sizeof models / sizeof models[0] ? models[position] : NULL;
}
