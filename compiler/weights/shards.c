/* Reads a weights file that is several: an index in JSON, model.safetensors.index.json, says in which file beside it
 * each tensor is, as Hugging Face writes large models. Index and files are untrusted: they must agree about every
 * tensor, and a file is named without a folder. Links are followed, because Hugging Face's cache consists of them. */
#include "compiler/weights/shards.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/json.h"
#include "compiler/base/text.h"

#define INDEX_BYTES_MAX ((uint64_t)16 << 20)
#define FILE_BYTES_MAX  ((uint64_t)1 << 40)
#define SHARDS_MAX      4096u

/* Where the index says that a tensor is. */
typedef struct entry {
    const char *tensor, *shard;
} entry;

typedef struct shard_index {
    const char *file;
    entry *entries; /* sorted by tensor */
    uint32_t count;
} shard_index;

/* --- the index ---------------------------------------------------------------------------------------------------- */

static int by_tensor(const void *a, const void *b) {
    return strcmp(((const entry *)a)->tensor, ((const entry *)b)->tensor);
}

static int by_shard(const void *a, const void *b) {
    return strcmp(((const entry *)a)->shard, ((const entry *)b)->shard);
}

/* The name of a file in the folder of the index. */
static bool is_file_name(const char *name) {
    return firnc_is_name(name) && strpbrk(name, "/\\") == NULL && name[0] != '.';
}

static bool read_entries(shard_index *index, const cJSON *map) {
    index->entries = firnc_allocate(((uint64_t)cJSON_GetArraySize(map) + 1) * sizeof *index->entries);
    for (const cJSON *item = map->child; item != NULL; item = item->next) {
        if (!cJSON_IsString(item) || !is_file_name(item->valuestring))
            return firnc_weights_refuse(
                index->file, "tensor %s: its file is not named by a name without a folder; fetch the index again",
                item->string);
        index->entries[index->count++] =
            (entry){firnc_format("%s", item->string), firnc_format("%s", item->valuestring)};
    }
    qsort(index->entries, index->count, sizeof *index->entries, by_tensor);
    for (uint32_t i = 1; i < index->count; i++)
        if (by_tensor(&index->entries[i - 1], &index->entries[i]) == 0)
            return firnc_weights_refuse(index->file, "tensor %s is there twice; fetch the index again",
                                        index->entries[i].tensor);
    return index->count > 0 || firnc_weights_refuse(index->file, "its weight_map is empty; fetch the index again");
}

static bool read_index(shard_index *index, const firnc_bytes *bytes) {
    cJSON *json = firnc_json_parse((const char *)bytes->data, bytes->count, " \t\r\n");
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(json, "weight_map");
    const cJSON *notes = cJSON_GetObjectItemCaseSensitive(json, "metadata");
    bool good = cJSON_IsObject(map) && cJSON_GetArraySize(json) == 1 + (notes != NULL);
    if (!good)
        firnc_weights_refuse(index->file,
                             "is no index of safetensors files, a JSON object with weight_map and metadata; give the "
                             "index or one file");
    good = good && read_entries(index, map);
    firnc_json_delete(json);
    return good;
}

/* --- the files ---------------------------------------------------------------------------------------------------- */

/* Adds the tensors of a file, which the index must have there. */
static bool add_tensors(const shard_index *index, const char *shard, const firnc_safetensors *part,
                        firnc_safetensor *tensors, uint32_t *count) {
    for (uint32_t i = 0; i < part->count; i++) {
        const entry wanted = {part->tensors[i].name, shard};
        const entry *found = bsearch(&wanted, index->entries, index->count, sizeof wanted, by_tensor);
        if (found == NULL || strcmp(found->shard, shard) != 0)
            return firnc_weights_refuse(index->file,
                                        "tensor %s is in %s, where the index does not have it; fetch all files again",
                                        wanted.tensor, shard);
        tensors[(*count)++] = part->tensors[i];
    }
    return true;
}

/* The file that the index names, beside it. */
static const char *path_of(const char *index, const char *shard) {
    const char *slash = strrchr(index, '/');
    return slash == NULL ? shard : firnc_format("%.*s%s", (int)(slash + 1 - index), index, shard);
}

static bool read_shards(const shard_index *index, firnc_safetensors *parsed) {
    firnc_safetensor *tensors = firnc_allocate(index->count * sizeof *tensors);
    entry *order = firnc_allocate(index->count * sizeof *order);
    uint64_t room = FILE_BYTES_MAX;
    uint32_t shards = 0;
    memcpy(order, index->entries, index->count * sizeof *order);
    qsort(order, index->count, sizeof *order, by_shard);
    for (uint32_t i = 0; i < index->count; i++) {
        firnc_safetensors part;
        firnc_bytes bytes;
        if (i > 0 && by_shard(&order[i - 1], &order[i]) == 0)
            continue;
        if (++shards > SHARDS_MAX)
            return firnc_weights_refuse(index->file, "names more than %u files; join some of them", SHARDS_MAX);
        const char *path = path_of(index->file, order[i].shard);
        if (!firnc_file_read_part(path, room, firnc_safetensors_extent, &bytes) ||
            !firnc_safetensors_parse(&part, path, &bytes) ||
            !add_tensors(index, order[i].shard, &part, tensors, &parsed->count))
            return false;
        room -= bytes.count;
    }
    parsed->tensors = tensors;
    firnc_safetensors_sort(tensors, parsed->count);
    for (uint32_t i = 0; i < index->count && parsed->count < index->count; i++)
        if (firnc_safetensors_find(parsed, index->entries[i].tensor) == NULL)
            return firnc_weights_refuse(index->file, "tensor %s is not in %s; fetch all files again",
                                        index->entries[i].tensor, index->entries[i].shard);
    return true;
}

/* --- one or several ----------------------------------------------------------------------------------------------- */

static bool is_index(const char *file) {
    static const char ending[] = ".index.json";
    const size_t length = strlen(file), tail = sizeof ending - 1;
    return length > tail && strcmp(file + length - tail, ending) == 0;
}

bool firnc_safetensors_read(firnc_safetensors *parsed, const char *file) {
    firnc_bytes bytes;
    shard_index index = {.file = file};
    *parsed = (firnc_safetensors){.file = file};
    if (!is_index(file))
        return firnc_file_read_part(file, FILE_BYTES_MAX, firnc_safetensors_extent, &bytes) &&
               firnc_safetensors_parse(parsed, file, &bytes);
    return firnc_file_read(file, INDEX_BYTES_MAX, &bytes) && read_index(&index, &bytes) && read_shards(&index, parsed);
}
