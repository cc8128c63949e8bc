/* The statistics of the training data: reads the file that firn data-statistics wrote, which a recipe names by
 * `statistics` in its data loader, or a command line by --statistics, and gives the model the sizes that it leaves out.
 * How the numbers are used is said by recipe_data.c. */
#include <cjson/cJSON.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "compiler/base/files.h"
#include "compiler/base/json.h"
#include "compiler/keys/tree_edit.h"
#include "compiler/recipe/recipe_parts.h"

enum { FILE_BYTES_MOST = 1 << 28, COLUMNS_MOST = 1 << 22, HASH_DIGITS = 64 };

/* --- the file ----------------------------------------------------------------------------------------------------- */

static bool refuse(const char *file, const char *what) {
    firnc_say("firnc: %s: %s; make it again by firn data-statistics", file, what);
    return false;
}

/* A whole number from `least` to `most` under a name. */
static bool read_whole(const cJSON *from, const char *name, double least, double most, double *value) {
    *value = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(from, name)); /* NaN if it is no number */
    return *value >= least && *value <= most && *value == floor(*value);
}

/* A number of float32 under a name. */
static bool read_single(const cJSON *from, const char *name, float *value) {
    const double number = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(from, name));
    const bool good = fabs(number) <= (double)FLT_MAX; /* false for NaN */
    *value = good ? (float)number : 0;
    return good;
}

/* Returns true if the deviation is a number that float32 rounds to 0, which firn writes as 0. */
static bool is_rounded_away(const cJSON *from) {
    const double deviation = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(from, "deviation"));
    return deviation != 0 && (float)deviation == 0;
}

static double number_of(const cJSON *from, const char *name) {
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(from, name));
}

static bool read_column(const char *file, const cJSON *from, const char *list, uint32_t number, firnc_column *column) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(from, "name");
    if (!read_single(from, "mean", &column->mean) || !read_single(from, "deviation", &column->deviation) ||
        column->deviation < 0 || is_rounded_away(from))
        return refuse(file, firnc_format("entry %u of %s has no mean and deviation that are numbers of float32",
                                         (unsigned)number, list));
    if (name != NULL && !cJSON_IsString(name))
        return refuse(file, firnc_format("entry %u of %s has a name that is no text", (unsigned)number, list));
    column->varies = number_of(from, "least") < number_of(from, "most"); /* false if they are not there */
    column->name = name != NULL ? firnc_format("%s", cJSON_GetStringValue(name)) : NULL;
    return true;
}

/* A list of columns. All of them have names, or none has. */
static bool read_columns(const char *file, const cJSON *root, const char *list, uint32_t least,
                         const firnc_column **columns, uint32_t *count) {
    const cJSON *entries = cJSON_GetObjectItemCaseSensitive(root, list), *entry;
    const int size = cJSON_IsArray(entries) ? cJSON_GetArraySize(entries) : 0;
    if ((entries != NULL && !cJSON_IsArray(entries)) || size < (int)least || size > COLUMNS_MOST)
        return refuse(file, firnc_format("it has no list %s of 1 to %d entries", list, (int)COLUMNS_MOST));
    firnc_column *read = firnc_allocate((UINT64_C(1) + (uint64_t)size) * sizeof *read);
    *count = 0;
    cJSON_ArrayForEach(entry, entries) {
        if (!read_column(file, entry, list, *count + 1, &read[*count]))
            return false;
        if ((read[*count].name == NULL) != (read[0].name == NULL))
            return refuse(file, firnc_format("some entries of %s have names and some have none", list));
        ++*count;
    }
    *columns = read;
    return true;
}

static bool read_axis(const cJSON *root, firnc_standard_axis *axis) {
    static const struct {
        const char *word;
        firnc_standard_axis axis;
    } words[] = {{"each", FIRNC_STANDARD_EACH},
                 {"last", FIRNC_STANDARD_LAST},
                 {"first", FIRNC_STANDARD_FIRST},
                 {"all", FIRNC_STANDARD_LAST}}; /* one number fits every record */
    const char *word = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "axis"));
    for (uint32_t i = 0; word != NULL && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i].word) == 0) {
            *axis = words[i].axis;
            return true;
        }
    return false;
}

static bool is_hash(const char *text) {
    return text != NULL && strlen(text) == HASH_DIGITS && strspn(text, "0123456789abcdef") == HASH_DIGITS;
}

static bool read_root(const char *file, const cJSON *root, firnc_data_statistics *statistics) {
    const char *data = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "data"));
    double version, records, held_out;
    if (!read_whole(root, "statistics", 1, 1e9, &version))
        return refuse(file, "is not a file of statistics: it has no number `statistics`");
    if (version != 1)
        return refuse(file, firnc_format("is of version %.0f, and this firnc reads version 1", version));
    if (!read_whole(root, "records", 2, 0x1p53, &records) ||
        !read_whole(root, "held_out_per_mille", 0, 999, &held_out) || !read_axis(root, &statistics->axis))
        return refuse(file, "its records, held_out_per_mille or axis is not there or is wrong");
    if (!is_hash(data))
        return refuse(file, "its data is not the hash of 64 hexadecimal digits");
    const cJSON *targets = cJSON_GetObjectItemCaseSensitive(root, "targets_data"); /* an older file has none */
    if (targets != NULL && !is_hash(cJSON_GetStringValue(targets)))
        return refuse(file, "its targets_data is not the hash of 64 hexadecimal digits");
    statistics->targets_data = targets != NULL ? firnc_format("%s", cJSON_GetStringValue(targets)) : NULL;
    statistics->data = firnc_format("%s", data);
    statistics->records = (uint64_t)records;
    statistics->held_out_per_mille = (uint32_t)held_out;
    return read_columns(file, root, "columns", 1, &statistics->columns, &statistics->column_count) &&
           read_columns(file, root, "targets", 0, &statistics->targets, &statistics->target_count);
}

/* Reads a file of statistics. NULL after one message. */
static const firnc_data_statistics *read_file(const char *file) {
    firnc_bytes bytes;
    if (!firnc_file_read(file, FILE_BYTES_MOST, &bytes))
        return NULL;
    cJSON *root = firnc_json_parse((const char *)bytes.data, bytes.count, " \t\r\n");
    firnc_data_statistics *statistics = firnc_allocate(sizeof *statistics);
    const bool good = root != NULL ? read_root(file, root, statistics)
                                   : refuse(file, "is not a file of statistics: it is no JSON object");
    firnc_json_delete(root);
    return good ? statistics : NULL;
}

/* --- which file --------------------------------------------------------------------------------------------------- */

/* The key of a data loader that names the file: that of the training before that of an evaluation. */
static const firnc_tree *file_key(const firnc_tree *trainer) {
    const firnc_tree *train = firnc_tree_child(firnc_tree_child(trainer, "fit"), "train_dataloader");
    const firnc_tree *eval = firnc_tree_child(firnc_tree_child(trainer, "validate"), "val_dataloader");
    const firnc_tree *key = firnc_tree_child(train, "statistics");
    return key != NULL || eval == NULL || eval->kind != FIRNC_MAPPING ? key : firnc_tree_child(eval, "statistics");
}

/* A file beside the recipe, unless its name is absolute. */
static bool read_path(const firnc_tree *key, const char **path) {
    if (key->kind != FIRNC_SCALAR || key->text[0] == '\0')
        return firnc_tree_fail(key, "is not the name of a file; write the name of a file of firn data-statistics");
    const char *slash = strrchr(key->file, '/');
    *path = key->text[0] == '/' || slash == NULL
                ? key->text
                : firnc_format("%.*s/%s", (int)(slash - key->file), key->file, key->text);
    return true;
}

/* --- the sizes of a model ----------------------------------------------------------------------------------------- */

static bool has_key(const firnc_model *model, const char *key) {
    for (uint32_t i = 0; i < model->field_count; i++)
        if (strcmp(model->fields[i].key, key) == 0)
            return true;
    return false;
}

/* The model that the recipe names; NULL: it names none of the table. */
static const firnc_model *named_model(const firnc_tree *keys) {
    const firnc_tree *name = firnc_tree_child(keys, "name");
    uint32_t i = 0;
    if (name == NULL || name->kind != FIRNC_SCALAR)
        return NULL;
    while (firnc_model_at(i) != NULL && strcmp(firnc_model_at(i)->name, name->text) != 0)
        i++;
    return firnc_model_at(i);
}

/* Writes a size that the recipe's model leaves out. */
static void put_size(firnc_tree *root, const firnc_tree *keys, const char *key, uint32_t size) {
    const firnc_model *model = named_model(keys);
    if (size == 0 || model == NULL || !has_key(model, key) || firnc_tree_child(keys, key) != NULL)
        return;
    firnc_tree *node = firnc_tree_make(FIRNC_SCALAR, keys);
    node->text = firnc_format("%u", (unsigned)size);
    node->plain = true;
    firnc_tree *there = firnc_tree_put(root, firnc_format("trainer.init.model.%s", key), node);
    if (there != node && firnc_tree_is_null(there)) {
        there->text = node->text;
        there->plain = true;
    }
}

/* Whether the loss of the model compares numbers, one for each target. */
static bool compares_numbers(const firnc_tree *keys) {
    const firnc_tree *loss = firnc_tree_child(keys, "loss");
    return loss != NULL && loss->kind == FIRNC_SCALAR && strcmp(loss->text, "cross_entropy") != 0 &&
           strcmp(loss->text, "nll") != 0;
}

/* Refuses a training that wants statistics, before the model misses the sizes that they give. */
static bool check_none(const firnc_tree *trainer) {
    static const char *const keys[] = {"normalise", "normalise_targets"};
    const firnc_tree *train = firnc_tree_child(firnc_tree_child(trainer, "fit"), "train_dataloader");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const firnc_tree *node =
            train != NULL && train->kind == FIRNC_MAPPING ? firnc_tree_child(train, keys[i]) : NULL;
        if (node != NULL && node->kind == FIRNC_SCALAR && strcmp(node->text, "fit") == 0)
            return firnc_tree_fail(node,
                                   "fit needs the statistics of the training data; " FIRNC_RECIPE_MAKE_STATISTICS);
    }
    return true;
}

bool firnc_recipe_statistics(firnc_recipe *recipe, firnc_tree *root) {
    const firnc_tree *trainer = firnc_tree_child(root, "trainer");
    const firnc_tree *key = file_key(trainer), *model = firnc_tree_child(firnc_tree_child(trainer, "init"), "model");
    const char *path = recipe->statistics;
    if (path == NULL && key == NULL)
        return check_none(trainer);
    if (path == NULL && !read_path(key, &path))
        return false;
    const firnc_data_statistics *statistics = read_file(path);
    if (statistics == NULL)
        return false;
    recipe->job.statistics = statistics;
    if (model == NULL || model->kind != FIRNC_MAPPING)
        return true;
    if (statistics->axis == FIRNC_STANDARD_EACH)
        put_size(root, model, "input_size", statistics->column_count);
    if (compares_numbers(model))
        put_size(root, model, "output_size", statistics->target_count);
    return true;
}

void firnc_recipe_warn_of_statistics(const firnc_recipe *recipe, const char *file) {
    if (recipe->statistics != NULL && recipe->facts.longest_sequence != 0)
        firnc_say("firnc: %s: warning: --statistics changes nothing: the model reads windows of text; leave it out",
                  file);
}
