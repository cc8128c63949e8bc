/* Search for the word that was meant (compiler/base/nearest.h), and the table of names from other libraries. */
#include "compiler/base/nearest.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "compiler/base/text.h"
#include "runtime/manual/nearest.h"

#define WORD_MAX   FIRN_WORD_MAX
#define WORDS_TOLD 16

/* --- names from other libraries ----------------------------------------------------------------------------------- */

/* Names of PyTorch, transformers, Lightning, Keras, TensorFlow, ONNX Runtime and DeepSpeed, in the form that normalise
 * gives, and Firn's names for the same. A word may have several rows: the first row counts whose meaning is in the list
 * that is searched. */
static const struct {
    const char *word, *meaning;
} synonyms[] = {
    /* optimizers and their settings */
    {"lr", "learning_rate"},
    {"lr", "initial_learning_rate"},
    {"learningrate", "lr"},
    {"learningrate", "initial_learning_rate"},
    {"stepsize", "learning_rate"},
    {"baselr", "initial_learning_rate"},
    {"baselr", "learning_rate"},
    {"initlr", "initial_learning_rate"},
    {"initiallr", "initial_learning_rate"},
    {"startlr", "initial_learning_rate"},
    {"peaklr", "max_lr"},
    {"maxlearningrate", "max_lr"},
    {"peaklearningrate", "max_lr"},
    {"maxlr", "initial_learning_rate"},
    {"minlr", "eta_min"},
    {"minlr", "end_learning_rate"},
    {"endlr", "end_learning_rate"},
    {"finallr", "end_learning_rate"},
    {"lrend", "end_learning_rate"},
    {"minlearningrate", "end_learning_rate"},
    {"finallearningrate", "end_learning_rate"},
    {"etamin", "end_learning_rate"},
    {"beta1", "betas"},
    {"beta2", "betas"},
    {"b1", "betas"},
    {"b2", "betas"},
    {"adambeta1", "betas"},
    {"adambeta2", "betas"},
    {"adamepsilon", "eps"},
    {"epsilon", "eps"},
    {"wd", "weight_decay"},
    {"l2", "weight_decay"},
    {"l2regularization", "weight_decay"},
    {"decay", "weight_decay"},
    {"paramgroups", "params"},
    {"parameters", "params"},
    {"fusedadam", "Adam"},
    {"adamwtorchfused", "AdamW"},
    {"adamwhf", "AdamW"},
    {"pagedadamw", "AdamW"},
    {"adamw8bit", "AdamW"},
    {"adamwdecay", "AdamW"},
    {"fusedlamb", "Lamb"},
    {"nesterovadam", "NAdam"},
    {"momentum", "SGD"},
    {"sgdm", "SGD"},
    {"gradientdescent", "SGD"},
    {"averagedsgd", "ASGD"},
    /* the length of a run and its batches */
    {"steps", "num_steps"},
    {"maxiters", "num_steps"},
    {"iterations", "num_steps"},
    {"maxiterations", "num_steps"},
    {"trainsteps", "num_steps"},
    {"numtrainingsteps", "num_steps"},
    {"totalsteps", "num_steps"},
    {"epochs", "num_epochs"},
    {"maxepochs", "num_epochs"},
    {"numtrainepochs", "num_epochs"},
    {"accumulategradbatches", "grad_accum_steps"},
    {"gradientaccumulationsteps", "grad_accum_steps"},
    {"gradientaccumulation", "grad_accum_steps"},
    {"accumulationsteps", "grad_accum_steps"},
    {"limitvalbatches", "eval_steps"},
    {"validationsteps", "eval_steps"},
    {"perdevicetrainbatchsize", "batch_size"},
    {"perdeviceevalbatchsize", "batch_size"},
    {"trainbatchsize", "batch_size"},
    {"bs", "batch_size"},
    {"minibatchsize", "batch_size"},
    {"microbatch", "micro_batch_size"},
    {"blocksize", "max_sequence_length"},
    {"seqlen", "max_sequence_length"},
    {"sequencelength", "max_sequence_length"},
    {"maxseqlen", "max_sequence_length"},
    {"maxlength", "max_sequence_length"},
    {"contextlength", "max_position_embeddings"},
    {"savesteps", "checkpoint"},
    {"savefreq", "checkpoint"},
    {"saveeveryn", "checkpoint"},
    {"saveinterval", "checkpoint"},
    {"everyntrainsteps", "checkpoint"},
    {"checkpointinterval", "checkpoint"},
    {"checkpointfrequency", "checkpoint"},
    {"randomseed", "seed"},
    {"manualseed", "seed"},
    {"dtype", "feature_type"},
    {"dtype", "fp16_type"},
    {"torchdtype", "fp16_type"},
    /* precision */
    {"amp", "enabled"},
    {"fp16", "fp16_type"},
    {"bf16", "fp16_type"},
    {"half", "float16"},
    {"fp16", "float16"},
    {"f16", "float16"},
    {"bf16", "bfloat16"},
    {"fp32", "float32"},
    {"float", "float32"},
    {"f32", "float32"},
    {"clipgradnorm", "max_gradient_norm"},
    {"maxgradnorm", "max_gradient_norm"},
    {"gradientclipval", "max_gradient_norm"},
    {"gradclip", "max_gradient_norm"},
    {"clipnorm", "max_gradient_norm"},
    {"globalclipnorm", "max_gradient_norm"},
    {"gradientclipping", "max_gradient_norm"},
    {"clipvalue", "max_gradient_value"},
    {"clipgradvalue", "max_gradient_value"},
    {"lossscale", "loss_scaling_factor"},
    {"initscale", "initial_loss_scale"},
    {"initialscalepower", "initial_loss_scale"},
    {"growthinterval", "steps_per_increase"},
    {"lossscalewindow", "steps_per_increase"},
    /* schedules */
    {"lineardecay", "LinearLR"},
    {"lineardecaylr", "LinearLR"},
    {"linearwarmup", "LinearLR"},
    {"warmup", "LinearLR"},
    {"warmuplr", "LinearLR"},
    {"warmupcosine", "SequentialLR"},
    {"cosinewithwarmup", "SequentialLR"},
    {"cosine", "CosineDecayLR"},
    {"cosinelr", "CosineDecayLR"},
    {"cosinedecayrestarts", "CosineAnnealingWarmRestarts"},
    {"cosinewithrestarts", "CosineAnnealingWarmRestarts"},
    {"sgdr", "CosineAnnealingWarmRestarts"},
    {"cosineannealingrestarts", "CosineAnnealingWarmRestarts"},
    {"noam", "InverseSquareRootDecayLR"},
    {"noamlr", "InverseSquareRootDecayLR"},
    {"inversesqrt", "InverseSquareRootDecayLR"},
    {"inversesqrtlr", "InverseSquareRootDecayLR"},
    {"inversesquareroot", "InverseSquareRootDecayLR"},
    {"inversetimedecay", "InverseExponentialTimeDecayLR"},
    {"exponentialdecay", "ExponentialLR"},
    {"polynomialdecay", "PolynomialLR"},
    {"polylr", "PolynomialLR"},
    {"stepdecay", "StepLR"},
    {"piecewiseconstantdecay", "PiecewiseConstantLR"},
    {"triangular", "CyclicLR"},
    {"tmax", "total_iters"},
    {"totalsteps", "total_iters"},
    {"decaysteps", "total_iters"},
    {"numwarmupsteps", "warmup_steps"},
    {"numwarmupsteps", "total_iters"},
    {"warmupsteps", "total_iters"},
    {"warmupiters", "total_iters"},
    {"gamma", "decay_rate"},
    {"decayrate", "gamma"},
    {"boundaries", "milestones"},
    {"divfactor", "initial_learning_rate"},
    {"startfactor", "initial_learning_rate"},
    {"endfactor", "end_learning_rate"},
    {"factor", "learning_rate"},
    /* models */
    {"nembd", "hidden_size"},
    {"dmodel", "hidden_size"},
    {"dim", "hidden_size"},
    {"embeddim", "hidden_size"},
    {"nlayer", "num_hidden_layers"},
    {"nlayers", "num_hidden_layers"},
    {"numlayers", "num_hidden_layers"},
    {"nhead", "num_heads"},
    {"nheads", "num_heads"},
    {"numattentionheads", "num_heads"},
    {"numkeyvalueheads", "num_kv_groups"},
    {"nkvheads", "num_kv_groups"},
    {"intermediatesize", "filter_size"},
    {"ninner", "filter_size"},
    {"dimfeedforward", "filter_size"},
    {"ffndim", "filter_size"},
    {"npositions", "max_position_embeddings"},
    {"nctx", "max_position_embeddings"},
    {"maxpositions", "max_position_embeddings"},
    {"layernormeps", "layer_norm_epsilon"},
    {"rmsnormeps", "layer_norm_epsilon"},
    {"normeps", "layer_norm_epsilon"},
    {"hiddenact", "nonlinearity"},
    {"activationfunction", "nonlinearity"},
    {"activation", "nonlinearity"},
    {"hiddendropoutprob", "dropout_rate"},
    {"dropout", "dropout_rate"},
    {"dropoutprob", "dropout_rate"},
    {"attentionprobsdropoutprob", "attention_dropout_rate"},
    {"attentiondropout", "attention_dropout_rate"},
    {"attnpdrop", "attention_dropout_rate"},
    {"embdpdrop", "embedding_dropout_rate"},
    {"residpdrop", "residual_dropout_rate"},
    {"tiewordembeddings", "share_embedding_weights"},
    {"ropebase", "rope_theta"},
    {"rotarypct", "rotary_dim"},
    {"partialrotaryfactor", "rotary_pct"},
    {"infeatures", "input_size"},
    {"inputdim", "input_size"},
    {"outfeatures", "output_size"},
    {"outputdim", "output_size"},
    {"numlabels", "num_classes"},
    {"numclasses", "output_size"},
    {"hiddenlayers", "hidden_sizes"},
    {"hiddendims", "hidden_sizes"},
    {"hiddenlayersizes", "hidden_sizes"},
    {"inchannels", "image_channels"},
    /* activations, losses and metrics */
    {"swish", "silu"},
    {"gelutanh", "gelu_new"},
    {"gelupytorchtanh", "gelu_new"},
    {"gelufast", "gelu_new"},
    {"gelupython", "gelu"},
    {"crossentropyloss", "cross_entropy"},
    {"ce", "cross_entropy"},
    {"categoricalcrossentropy", "cross_entropy"},
    {"sparsecategoricalcrossentropy", "cross_entropy"},
    {"mse", "mean_squared_error"},
    {"mseloss", "mean_squared_error"},
    {"l2loss", "mean_squared_error"},
    {"l1loss", "l1"},
    {"mae", "l1"},
    {"meanabsoluteerror", "l1"},
    {"huberloss", "huber"},
    {"smoothl1loss", "smooth_l1"},
    {"bce", "binary_cross_entropy_with_logits"},
    {"bcewithlogits", "binary_cross_entropy_with_logits"},
    {"bcewithlogitsloss", "binary_cross_entropy_with_logits"},
    {"binarycrossentropy", "binary_cross_entropy_with_logits"},
    {"nllloss", "nll"},
    {"kl", "kl_divergence"},
    {"kldiv", "kl_divergence"},
    {"kldivloss", "kl_divergence"},
    {"acc", "accuracy"},
    {"top1", "accuracy"},
    {"ppl", "perplexity"},
    {"f1", "fbeta"},
    {"f1score", "fbeta"},
    {"rocauc", "auc"},
    {"auroc", "auc"},
    {"miou", "mean_iou"},
    {"rmse", "mean_squared_error"},
    {"balancedaccuracy", "mean_per_class_accuracy"},
    /* parts of a recipe */
    {"optim", "optimizer"},
    {"scheduler", "schedulers"},
    {"lrscheduler", "schedulers"},
    {"lrschedule", "schedulers"},
    {"traindata", "train_dataloader"},
    {"traindataset", "train_dataloader"},
    {"dataloader", "train_dataloader"},
    {"valdata", "val_dataloader"},
    {"evaldata", "val_dataloader"},
    {"val", "validate"},
    {"eval", "validate"},
    {"train", "fit"},
    {"metrics", "metric"},
    {"targetmodules", "layers"},
    {"loraalpha", "alpha"},
    {"lorar", "rank"},
    {"r", "rank"},
    {"lorarank", "rank"},
    {"loradropout", "dropout"},
};

/* The word of a list that is equal but for case and separators; NULL if there is none. */
static const char *equal_in(const char *word, const char *const *words) {
    char a[WORD_MAX + 1], b[WORD_MAX + 1];
    firn_word_normalise(word, a);
    for (; *words != NULL; words++) {
        firn_word_normalise(*words, b);
        if (a[0] != '\0' && strcmp(a, b) == 0)
            return *words;
    }
    return NULL;
}

/* The word of a list that the table of synonyms has for a word; NULL if there is none. */
static const char *synonym_in(const char *word, const char *const *words) {
    char normal[WORD_MAX + 1];
    const char *found = NULL;
    firn_word_normalise(word, normal);
    for (size_t i = 0; found == NULL && i < sizeof synonyms / sizeof synonyms[0]; i++)
        if (strcmp(synonyms[i].word, normal) == 0)
            found = equal_in(synonyms[i].meaning, words);
    return found;
}

char firnc_small_letter(char c) {
    return firn_small_letter(c);
}

bool firnc_is_misspelt(const char *word, const char *meant) {
    char a[WORD_MAX + 1], b[WORD_MAX + 1];
    firn_word_normalise(word, a);
    firn_word_normalise(meant, b);
    const size_t shorter = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    return shorter >= 4 && a[0] == b[0] && firn_word_distance(a, b) <= (shorter >= 7 ? 2U : 1U);
}

const char *firnc_nearest(const char *word, const char *const *words) {
    size_t rank;
    const char *nearest = firn_nearest(word, words, &rank), *synonym = synonym_in(word, words);
    return synonym != NULL && rank > FIRN_NEAR_TYPING + 1 ? synonym : nearest;
}

const char *firnc_nearest_text(const char *word, const char *const *words) {
    const char *nearest = firnc_nearest(word, words), *known = words[0];
    uint32_t count = 0;
    if (nearest != NULL)
        return firnc_format("the nearest known one is %s", nearest);
    if (known == NULL)
        return "remove it";
    for (count = 1; words[count] != NULL; count++)
        if (count < WORDS_TOLD)
            known = firnc_format("%s, %s", known, words[count]);
    if (count <= WORDS_TOLD)
        return firnc_format("known are %s", known);
    return firnc_format("known are %s and %u others", known, (unsigned)(count - WORDS_TOLD));
}
