/* Search for the word that was meant (compiler/base/nearest.h), and the table of names from other libraries. */
#include "compiler/base/nearest.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "compiler/base/text.h"

#define WORD_MAX   64 /* characters that are compared */
#define PARTS_MAX  16
#define WORDS_TOLD 16
#define WORDS_MAX  8192 /* words of a list that are compared; a model may have more names */

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
    /* commands and options */
    {"build", "compile"},
    {"freeze", "compile"},
    {"info", "inspect"},
    {"show", "inspect"},
    {"dump", "inspect"},
    {"check", "verify"},
    {"genkey", "keygen"},
    {"keys", "keygen"},
    {"out", "--output"},
    {"override", "--set"},
    {"param", "--set"},
    {"publickey", "--pub"},
    {"pubkey", "--pub"},
    {"privatekey", "--key"},
    {"secretkey", "--key"},
    {"input", "--data"},
    {"train", "--data"},
    {"targets", "--labels"},
    {"ckpt", "--checkpoint"},
    {"save", "--checkpoint"},
    {"jobs", "--threads"},
    {"numthreads", "--threads"},
    {"loadweights", "--weights"},
    {"pretrained", "--weights"},
    {"initfrom", "--weights"},
    {"arch", "--target"},
    {"march", "--target"},
};

/* --- words -------------------------------------------------------------------------------------------------------- */

char firnc_small_letter(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_capital(char c) {
    return c >= 'A' && c <= 'Z';
}

static bool separates(char c) {
    return c == '_' || c == '-' || c == '.' || c == ' ';
}

/* Writes a word in small letters and without separators. */
static void normalise(const char *word, char into[WORD_MAX + 1]) {
    size_t length = 0;
    for (; *word != '\0' && length < WORD_MAX; word++)
        if (!separates(*word))
            into[length++] = firnc_small_letter(*word);
    into[length] = '\0';
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t most(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Number of edits that turn one word into the other. An edit inserts, removes or replaces one character, or swaps two
 * neighbours. */
static size_t distance(const char *a, const char *b) {
    size_t length_a = strlen(a), length_b = strlen(b);
    size_t rows[3][WORD_MAX + 1]; /* of the table over the prefixes of a and b; row i is in rows[i % 3] */
    for (size_t i = 0; i <= length_a; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before_above = rows[(i + 1) % 3];
        for (size_t j = 0; j <= length_b; j++) {
            if (i == 0 || j == 0) {
                row[j] = i + j;
                continue;
            }
            row[j] = least(above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before_above[j - 2] + 1);
        }
    }
    return rows[length_a % 3][length_b];
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

typedef struct parts {
    char text[PARTS_MAX][WORD_MAX + 1]; /* in small letters */
    uint32_t count;
} parts;

/* Splits a word at separators, and before a capital letter that does not follow a capital letter: "MaxPoolLR" is max,
 * pool, lr. */
static void split(const char *word, parts *p) {
    size_t length = 0;
    p->count = 0;
    for (const char *c = word; *c != '\0' && p->count < PARTS_MAX; c++) {
        const bool begins = separates(*c) || (is_capital(*c) && c > word && !is_capital(c[-1]));
        if (begins && length > 0) {
            p->text[p->count++][length] = '\0';
            length = 0;
        }
        if (!separates(*c) && length < WORD_MAX && p->count < PARTS_MAX)
            p->text[p->count][length++] = firnc_small_letter(*c);
    }
    if (length > 0 && p->count < PARTS_MAX)
        p->text[p->count++][length] = '\0';
}

/* Whether each part of `few` is a part of `many`, or is at least three letters long and begins one. */
static bool has_parts(const parts *many, const parts *few) {
    for (uint32_t i = 0; i < few->count; i++) {
        const size_t length = strlen(few->text[i]);
        bool found = false;
        for (uint32_t j = 0; j < many->count; j++)
            found = found || strcmp(many->text[j], few->text[i]) == 0 ||
                    (length >= 3 && strncmp(many->text[j], few->text[i], length) == 0);
        if (!found)
            return false;
    }
    return few->count > 0;
}

/* --- the search --------------------------------------------------------------------------------------------------- */

/* Where the ranges of ranks begin, nearest first; FAR: the candidate is not near. */
enum { TYPING = 0, OF_PARTS = 100, OF_LETTERS = 1000, FAR = 10000 };

/* How far a word is from a candidate of the list (nearest.h); smaller is nearer. */
static size_t rank_of(const char *word, const parts *word_parts, const char *candidate) {
    char a[WORD_MAX + 1], b[WORD_MAX + 1];
    parts candidate_parts;
    normalise(word, a);
    normalise(candidate, b);
    split(candidate, &candidate_parts);
    const size_t edits = distance(a, b), length_a = strlen(a), length_b = strlen(b), longer = most(length_a, length_b);
    if (edits <= longer / 4)
        return TYPING + edits;
    if (length_a >= 3 && (has_parts(&candidate_parts, word_parts) || strncmp(b, a, length_a) == 0))
        return OF_PARTS + length_b;
    if (length_b >= 3 && candidate_parts.count > 1 && has_parts(word_parts, &candidate_parts))
        return OF_PARTS + WORD_MAX + length_a - least(length_a, length_b);
    if (longer >= 3 && a[0] == b[0] && 2 * edits < longer)
        return OF_LETTERS + edits;
    return FAR;
}

/* The word of a list that is equal but for case and separators; NULL if there is none. */
static const char *equal_in(const char *word, const char *const *words) {
    char a[WORD_MAX + 1], b[WORD_MAX + 1];
    normalise(word, a);
    for (; *words != NULL; words++) {
        normalise(*words, b);
        if (a[0] != '\0' && strcmp(a, b) == 0)
            return *words;
    }
    return NULL;
}

/* The word of a list that the table of synonyms has for a word; NULL if there is none. */
static const char *synonym_in(const char *word, const char *const *words) {
    char normal[WORD_MAX + 1];
    const char *found = NULL;
    normalise(word, normal);
    for (size_t i = 0; found == NULL && i < sizeof synonyms / sizeof synonyms[0]; i++)
        if (strcmp(synonyms[i].word, normal) == 0)
            found = equal_in(synonyms[i].meaning, words);
    return found;
}

bool firnc_is_misspelt(const char *word, const char *meant) {
    char a[WORD_MAX + 1], b[WORD_MAX + 1];
    normalise(word, a);
    normalise(meant, b);
    const size_t shorter = least(strlen(a), strlen(b));
    return shorter >= 4 && a[0] == b[0] && distance(a, b) <= (shorter >= 7 ? 2U : 1U);
}

const char *firnc_nearest(const char *word, const char *const *words) {
    const char *best = NULL, *synonym = synonym_in(word, words);
    size_t best_rank = FAR;
    parts word_parts;
    split(word, &word_parts);
    for (uint32_t i = 0; i < WORDS_MAX && words[i] != NULL; i++) {
        const size_t rank = rank_of(word, &word_parts, words[i]);
        if (rank < best_rank) {
            best_rank = rank;
            best = words[i];
        }
    }
    return synonym != NULL && best_rank > TYPING + 1 ? synonym : best;
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
