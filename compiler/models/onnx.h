/* The model onnx: its settings, and its row for the table of models. */
#ifndef FIRNC_MODEL_ONNX_H
#define FIRNC_MODEL_ONNX_H

#include "compiler/models/losses.h"
#include "compiler/onnx/onnx.h"

/* trainer.init.model with onnx: FILE */
typedef struct firnc_onnx_settings {
    firnc_model_settings common;
    const char *path;
    firnc_onnx_options options;    /* but for what the data says */
    const firnc_onnx_model *model; /* as it was read to check it */
    uint32_t output;               /* the one that is judged: its position */
    bool classes_first;            /* scores are [samples,classes,...], as those of images are in PyTorch */
    bool next_token;               /* the data is text, and labels are its next tokens */
    firnc_losses losses;
} firnc_onnx_settings;

extern const firnc_model firnc_model_onnx;

#endif
