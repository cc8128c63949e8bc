/* A folder of weights as transformers' save_pretrained writes it, for firnc weights. */
#ifndef FIRNC_WEIGHTS_FOLDER_H
#define FIRNC_WEIGHTS_FOLDER_H

#include "compiler/base/files.h"

/* Whether -o names a folder: one that is there, or a name that ends in a slash. */
bool firnc_weights_is_folder(const char *output);

/* Writes the weights as model.safetensors into the folder `output`, which is made if it is not there, and beside them
 * what the folder `from`, with which the training began, has of the configuration and the tokenizer. Where config.json
 * says the type of the weights, it says float32. All files are written or none. False after one message. */
bool firnc_weights_folder_write(const char *output, const char *from, const firnc_bytes *weights);

#endif
