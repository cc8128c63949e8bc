/* trainer.fit.train_dataloader and trainer.validate.val_dataloader: batches, the order of the data, and what is held
 * out. A key that val_dataloader omits has the value of train_dataloader, except for the order: evaluation reads the
 * data once, in sequence and without overlap. The location of the data is given when the plan is run. */
#include <string.h>

#include "compiler/keys/tree_edit.h"
#include "compiler/recipe/recipe_parts.h"

static const firnc_choice feature_types[] = {
    {"uint8", FIRN_UINT8}, {"float32", FIRN_FLOAT32}, {"int32", FIRN_INT32}, {NULL, 0}};
static const firnc_choice token_types[] = {{"uint8", FIRN_UINT8}, {"int32", FIRN_INT32}, {NULL, 0}};
static const firnc_choice weight_types[] = {{"uint8", FIRN_UINT8}, {"float32", FIRN_FLOAT32}, {NULL, 0}};
static const firnc_choice label_types[] = {
    {"uint8", FIRN_UINT8}, {"int32", FIRN_INT32}, {"float32", FIRN_FLOAT32}, {NULL, 0}};

typedef struct settings {
    firnc_data data;
    firnc_elements elements;
    uint32_t max_sequence_length; /* 0: the model's maximum */
    int push;                     /* 1: the application pushes the samples */
    uint32_t trained_share;       /* held_out_per_mille of the training; of the training's own loader 0 */
} settings;

static const firnc_choice sources[] = {{"files", 0}, {"push", 1}, {NULL, 0}};

#define AT(member)      offsetof(settings, data.member)
#define ELEMENT(member) offsetof(settings, elements.member)

static const firnc_field fields[] = {
    {"batch_size", .kind = FIRNC_FIELD_WHOLE, AT(batch_size), 1, FIRNC_SAMPLES_MAX},
    {"micro_batch_size", .kind = FIRNC_FIELD_OTHER},
    {"shuffle", .kind = FIRNC_FIELD_FLAG, AT(shuffle)},
    {"shuffle_seed", .kind = FIRNC_FIELD_LONG, AT(shuffle_seed), 0, 0},
    {"held_out_per_mille", .kind = FIRNC_FIELD_WHOLE, AT(held_out_per_mille), 0, 999},
    {"held_out", .kind = FIRNC_FIELD_FLAG, AT(held_out)},
    {"wrap", .kind = FIRNC_FIELD_FLAG, AT(wrap)},
    {"source", .kind = FIRNC_FIELD_CHOICE, offsetof(settings, push), .choices = sources},
    {"ring", .kind = FIRNC_FIELD_WHOLE, AT(ring), 1, FIRNC_SAMPLES_MAX},
    /* keys of language models */
    {"max_sequence_length", .kind = FIRNC_FIELD_WHOLE, offsetof(settings, max_sequence_length), 1, FIRNC_SAMPLES_MAX},
    {"stride", .kind = FIRNC_FIELD_WHOLE, AT(stride), 1, 0},
    {"token_type", .kind = FIRNC_FIELD_CHOICE, ELEMENT(feature), .choices = token_types},
    /* keys of models that read records */
    {"feature_type", .kind = FIRNC_FIELD_CHOICE, ELEMENT(feature), .choices = feature_types},
    {"label_type", .kind = FIRNC_FIELD_CHOICE, ELEMENT(label), .choices = label_types},
    {"weight_type", .kind = FIRNC_FIELD_CHOICE, ELEMENT(weight), .choices = weight_types},
    {"feature_scale", .kind = FIRNC_FIELD_SINGLE, ELEMENT(feature_scale), -1e30, 1e30},
    {"feature_shift", .kind = FIRNC_FIELD_SINGLE, ELEMENT(feature_shift), -1e30, 1e30},
    {"normalise", .kind = FIRNC_FIELD_OTHER},
    {"normalise_targets", .kind = FIRNC_FIELD_OTHER},
    {"statistics", .kind = FIRNC_FIELD_OTHER},
    /* They say where and how the model zoo reads its data, which is not part of a plan. */
    {"data_processor", .kind = FIRNC_FIELD_IGNORED,
     .only = "the model says how data is read; firn train and firn eval take bytes, .npy or IDX files with --data"},
    {"data_dir", .kind = FIRNC_FIELD_IGNORED,
     .only = "a plan names no files; give them to firn train and firn eval with --data"},
    {"mixture", .kind = FIRNC_FIELD_IGNORED,
     .only = "a plan names no files; give them to firn train and firn eval with --data"},
    {"num_samples", .kind = FIRNC_FIELD_IGNORED,
     .only = "an epoch reads all of --data; give less of it, and the number to firnc compile --samples for num_epochs"},
    {"vocab_file", .kind = FIRNC_FIELD_IGNORED, .only = "firn reads tokens as they are; give it tokens"},
    {"do_lower", .kind = FIRNC_FIELD_IGNORED, .usual = "false",
     .only = "firn reads tokens as they are; give it tokens"},
    {"masked_lm_prob", .kind = FIRNC_FIELD_IGNORED, .only = "firn masks no tokens; give it data that is masked"},
    {"max_predictions_per_seq", .kind = FIRNC_FIELD_IGNORED,
     .only = "firn masks no tokens; give it data that is masked"},
    {"whole_word_masking", .kind = FIRNC_FIELD_IGNORED, .usual = "false",
     .only = "firn masks no tokens; give it data that is masked"},
    {"drop_last", .kind = FIRNC_FIELD_OTHER},
    {"drop_last_batch", .kind = FIRNC_FIELD_OTHER},
    {"repeat", .kind = FIRNC_FIELD_IGNORED,
     .only = "training begins again at the end of the data, and evaluation does not; use wrap"},
    {"sort_files", .kind = FIRNC_FIELD_IGNORED,
     .only = "firn reads files in the order of --data, those of a folder by name; remove it"},
    {"use_worker_cache", .kind = FIRNC_FIELD_IGNORED, .usual = "false",
     .only = "firn reads the data without workers; remove it"},
    {"shuffle_buffer", .kind = FIRNC_FIELD_IGNORED, .only = "firn shuffles all of the data at once; remove it"},
    {"use_vsl", .kind = FIRNC_FIELD_FIXED, .only = "false"},
    {"num_workers", .kind = FIRNC_FIELD_IGNORED, .usual = "0",
     .only = "firn reads the data without workers; remove it"},
    {"prefetch_factor", .kind = FIRNC_FIELD_IGNORED, .only = "firn reads the data without workers; remove it"},
    {"persistent_workers", .kind = FIRNC_FIELD_IGNORED, .usual = "false",
     .only = "firn reads the data without workers; remove it"},
    FIRNC_OPTIMIZER_KEYS_BELOW,
    FIRNC_PRECISION_KEYS_BELOW,
    FIRNC_LOOP_KEYS_BELOW,
    FIRNC_INIT_KEYS_BELOW,
};

#undef AT
#undef ELEMENT

static const char *const window_keys[] = {"max_sequence_length", "stride", "token_type", NULL};
static const char *const record_keys[] = {"feature_type",      "label_type",    "weight_type",
                                          "feature_scale",     "feature_shift", "normalise",
                                          "normalise_targets", "statistics",    NULL};

/* Refuses keys that only apply to the other kind of data. */
static bool check_kind(const firnc_recipe *recipe, const firnc_tree *loader) {
    const bool window = recipe->facts.longest_sequence != 0;
    for (const char *const *key = window ? record_keys : window_keys; *key != NULL; key++) {
        const firnc_tree *child = firnc_tree_child(loader, *key);
        if (child != NULL)
            return firnc_tree_fail(child,
                                   window ? "is for records, and %s reads windows of text; remove it"
                                          : "is for text, and %s reads records; remove it",
                                   recipe->model->name);
    }
    return true;
}

/* Whether a loader of an evaluation has a value from the training's loader, by an alias or a merge. */
static bool is_copied(const firnc_tree *value, const firnc_tree *train, const char *key) {
    const firnc_tree *source = firnc_tree_child(train, key);
    return value != NULL && source != NULL && value->line != 0 && value->line == source->line;
}

/* The model zoo may choose the size itself, which it writes as a word or as a mapping of limits. `train` is the loader
 * from which a loader of an evaluation may have the key by an alias or a merge. */
static bool read_micro_batch(const firnc_tree *loader, const firnc_tree *train, firnc_data *data) {
    static const firnc_field samples = {.kind = FIRNC_FIELD_WHOLE, .low = 1, .high = FIRNC_SAMPLES_MAX};
    static const char *const words[] = {"auto", "explore", "disable"};
    const firnc_tree *size = firnc_tree_child(loader, "micro_batch_size");
    uint64_t value;
    bool chosen = size != NULL && size->kind == FIRNC_MAPPING;
    for (size_t i = 0; size != NULL && i < sizeof words / sizeof words[0]; i++)
        chosen = chosen || (size->kind == FIRNC_SCALAR && firnc_same_word(size->text, words[i]));
    if (chosen)
        firnc_idle_note(size, "a micro-batch is a whole batch if no number says otherwise; write one, or remove it");
    const bool copied = is_copied(size, train, "micro_batch_size");
    if (copied && !chosen)
        firnc_idle_note(size, "an eval plan has no micro-batches; batch_size says how many samples it takes at a time");
    if (size == NULL || chosen || copied)
        return true;
    if (!firnc_field_whole(size, &samples, &value))
        return false;
    data->micro_batch_size = (uint32_t)value;
    return true;
}

static const char *const drop_keys[] = {"drop_last", "drop_last_batch", NULL};

/* Reads whether an evaluation leaves out the samples at the end that are fewer than a batch. What its loader only has
 * from the training's, `train`, says nothing about it. */
static bool read_drop_last(const firnc_tree *loader, const firnc_tree *train, firnc_data *data) {
    for (const char *const *key = drop_keys; *key != NULL; key++) {
        const firnc_tree *drop = firnc_tree_child(loader, *key);
        bool left_out;
        if (drop == NULL)
            continue;
        if (!firnc_field_flag(drop, &left_out))
            return false;
        if (train != NULL && !is_copied(drop, train, *key))
            data->short_batch = left_out ? FIRNC_SHORT_NEVER : FIRNC_SHORT_ALWAYS;
        else if (train == NULL && !left_out)
            firnc_idle_note(drop, "a step of training always has a whole batch, with samples of the next epoch; "
                                  "remove it");
    }
    return true;
}

static bool check_batches(const firnc_tree *loader, firnc_data *data, firnc_mode mode) {
    const firnc_tree *place = firnc_tree_child(loader, "micro_batch_size");
    if (data->batch_size == 0)
        return firnc_tree_fail(loader, "batch_size is missing; add it");
    if (data->micro_batch_size == 0)
        data->micro_batch_size = data->batch_size;
    if (data->batch_size % data->micro_batch_size != 0)
        return firnc_tree_fail(place, "batch_size %u is not divisible by %u; choose a size that divides it",
                               (unsigned)data->batch_size, (unsigned)data->micro_batch_size);
    if (mode == FIRNC_EVAL && data->batch_size != data->micro_batch_size)
        return firnc_tree_fail(place, "an eval plan has no micro-batches; remove it and make batch_size smaller");
    return true;
}

/* A plan that judges nothing reads no labels, and so no element behind the last one of a sequence. */
static bool check_window(const firnc_tree *loader, settings *s, const firnc_model_facts *model, bool judges) {
    const firnc_tree *place = firnc_tree_child(loader, "max_sequence_length");
    if (s->max_sequence_length == 0)
        s->max_sequence_length = model->longest_sequence;
    if (s->max_sequence_length > model->longest_sequence)
        return firnc_tree_fail(place != NULL ? place : loader,
                               "max_sequence_length %u is above the model's max_position_embeddings %u; lower it",
                               (unsigned)s->max_sequence_length, (unsigned)model->longest_sequence);
    if (s->data.stride == 0)
        s->data.stride = s->max_sequence_length;
    s->data.window = s->max_sequence_length + (judges ? model->label_shift : 0);
    return true;
}

/* Features are tokens, or numbers that may be scaled. */
static bool check_features(const firnc_tree *loader, const settings *s, const firnc_model_facts *model) {
    const firnc_tree *type = firnc_tree_child(loader, "feature_type");
    const firnc_tree *scale = firnc_tree_child(loader, "feature_scale");
    const firnc_tree *shift = firnc_tree_child(loader, "feature_shift");
    if (type != NULL && model->tokens && s->elements.feature == FIRN_FLOAT32)
        return firnc_tree_fail(type, "the features are tokens; write uint8 or int32");
    if (type != NULL && !model->tokens && s->elements.feature == FIRN_INT32)
        return firnc_tree_fail(type, "int32 is for tokens; write uint8 or float32");
    if (model->tokens && (scale != NULL || shift != NULL))
        return firnc_tree_fail(scale != NULL ? scale : shift, "the features are tokens, which nothing scales; remove "
                                                              "it");
    return true;
}

static bool check_records(const firnc_recipe *recipe, const firnc_tree *loader, settings *s) {
    const firnc_model_facts *model = &recipe->facts;
    const firnc_tree *label = firnc_tree_child(loader, "label_type");
    const firnc_tree *scale = firnc_tree_child(loader, "feature_scale");
    const firnc_tree *shift = firnc_tree_child(loader, "feature_shift");
    const firnc_tree *weight = firnc_tree_child(loader, "weight_type");
    if (!check_features(loader, s, model) || !firnc_recipe_normalise(recipe, loader, &s->elements))
        return false;
    if (label != NULL && model->own_targets)
        return firnc_tree_fail(label, "the model is compared with its own input and reads no labels; remove it");
    const bool classes = model->targets == FIRNC_TARGETS_CLASSES, of_bytes = model->targets == FIRNC_TARGETS_SHARES;
    if (label != NULL && classes && s->elements.label == FIRN_FLOAT32)
        return firnc_tree_fail(label, "the loss is of classes; write uint8 or int32");
    if (label != NULL && !classes && s->elements.label != FIRN_FLOAT32 &&
        !(of_bytes && s->elements.label == FIRN_UINT8))
        return firnc_tree_fail(label, of_bytes ? "the loss has targets from 0 to 1; write uint8 or float32"
                                               : "the loss has float32 targets; write float32");
    if (model->unclassed && s->elements.label == FIRN_UINT8 && model->outputs > UINT8_MAX)
        return firnc_tree_fail(label != NULL ? label : loader,
                               "ignore_index: -100 needs a number above those of the %u classes, and uint8 has none; "
                               "write label_type: int32",
                               (unsigned)model->outputs);
    if (weight != NULL && !model->sample_weights)
        return firnc_tree_fail(weight, "the model takes no weights; set sample_weights in it, or remove this key");
    if (s->elements.feature != FIRN_FLOAT32)
        return true;
    if (scale != NULL || shift != NULL)
        return firnc_tree_fail(scale != NULL ? scale : shift, "float32 features are taken as they are; remove it");
    s->elements.feature_scale = 1; /* the inherited scale is meant for bytes */
    s->elements.feature_shift = 0;
    return true;
}

/* Checks the keys of samples that are pushed. What else they need is checked with the whole job (job.c). */
static bool check_push(const firnc_tree *loader, const settings *s) {
    const firnc_tree *ring = firnc_tree_child(loader, "ring");
    if (s->push == 0)
        return s->data.ring == 0 ||
               firnc_tree_fail(ring, "belongs to source: push, samples that the application pushes; write that too");
    return s->data.ring != 0 ||
           firnc_tree_fail(firnc_tree_child(loader, "source"),
                           "needs ring, the number of samples, or of bytes of text, that the device keeps; add it");
}

/* Reads one data loader; `s` holds its defaults. `train` is NULL for the training's own, and for that of an evaluation
 * the training's, or an empty mapping. */
static bool read_loader(const firnc_recipe *recipe, const firnc_tree *loader, const firnc_tree *train, settings *s) {
    const firnc_mode mode = train == NULL ? FIRNC_TRAIN : FIRNC_EVAL;
    if (!firnc_fields_read(loader, fields, sizeof fields / sizeof fields[0], s) || !check_kind(recipe, loader) ||
        !read_micro_batch(loader, train, &s->data) || !read_drop_last(loader, train, &s->data) ||
        !check_batches(loader, &s->data, mode) || !check_push(loader, s))
        return false;
    const firnc_tree *held_out = firnc_tree_child(loader, "held_out");
    if (held_out != NULL && s->data.held_out && firnc_tree_child(loader, "held_out_per_mille") == NULL)
        s->data.held_out_per_mille = s->trained_share;
    if (held_out == NULL)
        s->data.held_out = mode == FIRNC_EVAL && s->data.held_out_per_mille > 0;
    else if (s->data.held_out && s->data.held_out_per_mille == 0)
        return firnc_tree_fail(held_out,
                               "nothing is held out; remove it to read all of the data, or set held_out_per_mille");
    return recipe->facts.longest_sequence != 0 ? check_window(loader, s, &recipe->facts, firnc_job_judges(&recipe->job))
                                               : check_records(recipe, loader, s);
}

/* Text is bytes if its vocabulary fits them, and else tokens. */
static bool has_tokens(const firnc_recipe *recipe) {
    return recipe->facts.longest_sequence != 0 && recipe->facts.outputs > 256;
}

static settings defaults(const firnc_recipe *recipe) {
    const bool numbers = recipe->facts.targets != FIRNC_TARGETS_CLASSES;
    const bool wide = recipe->facts.wide, tokens = has_tokens(recipe) || (wide && recipe->facts.tokens);
    const firn_type feature = wide && recipe->facts.longest_sequence == 0 ? FIRN_FLOAT32 : FIRN_UINT8;
    return (settings){.data = {.shuffle_seed = recipe->job.seed, .wrap = true},
                      .elements = {.feature = tokens ? FIRN_INT32 : feature,
                                   .label = numbers ? FIRN_FLOAT32
                                            : wide  ? FIRN_INT32
                                                    : FIRN_UINT8,
                                   .weight = FIRN_FLOAT32,
                                   .feature_scale = 1}};
}

/* Notes a seed whose loader does not shuffle. Evaluation may shuffle with the seed of the training data. */
static void note_idle_seed(firnc_mode mode, const firnc_tree *train, const firnc_tree *eval, const settings *s,
                           const settings *held) {
    static const firnc_idle_key seed = {"shuffle_seed", NULL};
    const bool inherited = held->data.shuffle && firnc_tree_child(eval, seed.key) == NULL;
    const firnc_tree *loader = mode == FIRNC_TRAIN ? train : eval;
    if (mode == FIRNC_TRAIN ? !s->data.shuffle && !inherited : !held->data.shuffle)
        firnc_idle_note_keys(loader, &seed, 1, firnc_tree_child(loader, "shuffle"),
                             "the data is read in order; write shuffle: true, or remove it");
}

/* Where the data loader of an evaluation may stand, the first before the others. Each may be a list. */
static const struct {
    const char *section, *key;
} eval_places[] = {{"validate", "val_dataloader"}, {"fit", "val_dataloader"}, {"validate_all", "val_dataloaders"}};

/* The one that is taken. The others of a list, and the different ones of validate_all, are for plans of their own. */
static const firnc_tree *eval_loader(const firnc_tree *trainer) {
    static const char other[] = "an eval plan reads one data loader, and another is taken; compile a plan with --set "
                                "for each other data set";
    const firnc_tree *taken = NULL;
    for (size_t i = 0; i < sizeof eval_places / sizeof eval_places[0]; i++) {
        const firnc_tree *node =
            firnc_tree_child(firnc_tree_child(trainer, eval_places[i].section), eval_places[i].key);
        const bool list = node != NULL && node->kind == FIRNC_LIST, all = strcmp(eval_places[i].section, "fit") != 0;
        for (const firnc_tree *loader = list ? node->first : node; loader != NULL; loader = list ? loader->next : NULL)
            if (taken == NULL)
                taken = loader;
            else if ((list || all) && !firnc_tree_same(taken, loader))
                firnc_idle_note(loader, other);
    }
    return taken;
}

bool firnc_recipe_data(firnc_recipe *recipe, const firnc_tree *trainer) {
    const firnc_tree *fit = firnc_tree_child(trainer, "fit");
    const firnc_tree *train = firnc_tree_child(fit, "train_dataloader");
    const firnc_tree *eval = eval_loader(trainer);
    bool wanted = recipe->job.mode == FIRNC_TRAIN ? train != NULL : eval != NULL || train != NULL;
    if (!wanted)
        return firnc_tree_fail(trainer, recipe->job.mode == FIRNC_TRAIN
                                            ? "fit.train_dataloader is missing; add it, with batch_size"
                                            : "validate.val_dataloader is missing; add it, with batch_size");

    settings s = defaults(recipe);
    if (train != NULL && (!read_loader(recipe, train, NULL, &s) ||
                          !firnc_recipe_held_out(recipe, train, &s.elements, s.data.held_out_per_mille)))
        return false;
    settings held = s;
    held.data.shuffle = held.data.wrap = held.data.held_out = false;
    held.data.micro_batch_size = held.data.stride = held.data.ring = 0;
    held.push = 0;
    held.trained_share = s.data.held_out_per_mille;
    /* A plan that only predicts reads all of its data, unless held_out says otherwise. */
    if (!firnc_job_judges(&recipe->job))
        held.data.held_out_per_mille = 0;
    const firnc_tree nothing = {.kind = FIRNC_MAPPING, .file = trainer->file, .line = trainer->line, .path = "trainer"};
    if ((eval != NULL || train != NULL) &&
        !read_loader(recipe, eval != NULL ? eval : &nothing, train != NULL ? train : &nothing, &held))
        return false;
    const settings *chosen = recipe->job.mode == FIRNC_TRAIN ? &s : &held;
    const firnc_tree *loader = recipe->job.mode == FIRNC_EVAL && eval != NULL ? eval : train;
    const firnc_tree *samples = firnc_tree_child(loader, "micro_batch_size");
    if (samples == NULL)
        samples = firnc_tree_child(loader, "batch_size");
    note_idle_seed(recipe->job.mode, train, eval, &s, &held);
    if (has_tokens(recipe) && !recipe->has_tokenizer && firnc_tree_child(train, "token_type") == NULL &&
        firnc_tree_child(eval, "token_type") == NULL)
        firnc_idle_say(train != NULL ? train : eval, "token_type is taken as int32",
                       "more than 256 tokens are no bytes; write token_type: int32, or uint8 for bytes");
    recipe->job.data = chosen->data;
    recipe->elements = chosen->elements;
    if (samples != NULL)
        recipe->job.places.samples = firnc_tree_place(samples);
    for (const char *const *key = drop_keys; *key != NULL; key++)
        if (firnc_tree_child(loader, *key) != NULL)
            recipe->job.places.short_batch = firnc_tree_place(firnc_tree_child(loader, *key));
    if (chosen->data.ring != 0)
        recipe->job.places.ring = firnc_tree_place(firnc_tree_child(loader, "ring"));
    return true;
}
