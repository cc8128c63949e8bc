/* Predicting between the steps of a training, on an emulated board: the eval plan in the file `predict.plan` over the
 * parameters of an open train plan. */
#ifndef FIRN_EMULATED_PREDICT_H
#define FIRN_EMULATED_PREDICT_H

#include "runtime/targets/emulated/pool.h"

/* Opens the plan beside the owner, of whose parameters no copy is made. */
int firn_emulated_predict_open(firn_pool *left, const firn *owner, const firn_port *port) FIRN_CHECK_RESULT;

/* Predicts from the first batch of the data, and prints the first number of the first output. */
int firn_emulated_predict(const firn_source *source) FIRN_CHECK_RESULT;

/* Predicts so many samples from the beginning of the data, rounded up to whole batches, and prints the SHA-256 of the
 * first output's bytes. */
int firn_emulated_predict_samples(const firn_source *source, uint64_t samples) FIRN_CHECK_RESULT;

#endif
