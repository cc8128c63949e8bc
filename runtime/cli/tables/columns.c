/* Which columns of a table a model reads, and what its classes are, by name. A plan that was made with statistics has
 * the names of columns in its report; of any other, they are those of the table that is trained with. Classes have
 * names where the data that are trained with have class folders, or texts as labels. firn train writes all these names
 * into a file beside the checkpoint, CHECKPOINT.columns: JSON with the run and the data that they are of, and a hash of
 * these members. So a table whose columns stand in another order is read as the training's was, and a plan of other
 * columns, or data of other classes, are refused. */
#define _XOPEN_SOURCE 700
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/signature.h"
#include "runtime/cli/cli.h"
#include "runtime/text/utf8.h"

#define LATER_DATA    "later_data"    /* member: what is said of other data with which the run went on */
#define FEWER_STREAMS "fewer_streams" /* member: the hashes of the data by their first stream, first two, and so on */

enum { FILE_BYTES_MOST = 1 << 26 };

/* --- names as JSON ------------------------------------------------------------------------------------------------ */

/* JSON is UTF-8. A name that is not is an object whose text has a character for each byte. */
#define NAME_OF_BYTES "latin1"

/* Returns the bytes of such an object as an allocated name; NULL: it is none. */
static char *parse_bytes(const cJSON *entry) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, NAME_OF_BYTES));
    if (text == NULL)
        return NULL;
    char *name = firn_host_path(text, ""), *to = name;
    uint32_t code = 0;
    for (size_t bytes; (bytes = firn_utf8_decode(text, &code)) != 0 && code <= 0xff; text += bytes)
        *to++ = (char)code;
    *to = 0;
    if (*text == 0)
        return name;
    free(name);
    return NULL;
}

static cJSON *make_name(const char *name) {
    if (firn_utf8_is(name))
        return cJSON_CreateString(name);
    cJSON *entry = cJSON_CreateObject();
    char *text = firn_host_allocate(2 * strlen(name) + 1), *to = text;
    for (; *name != 0; name++)
        to += firn_utf8_encode(to, (unsigned char)*name);
    *to = 0;
    cJSON_AddStringToObject(entry, NAME_OF_BYTES, text);
    free(text);
    return entry;
}

bool cli_columns_parse(firn_host_names *names, const cJSON *list) {
    const cJSON *entry;
    const int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    *names = (firn_host_names){0};
    if (count == 0)
        return list == NULL;
    names->list = firn_host_allocate((size_t)count * sizeof *names->list);
    cJSON_ArrayForEach(entry, list) {
        char *name = cJSON_IsString(entry) ? firn_host_path(cJSON_GetStringValue(entry), "") : parse_bytes(entry);
        if (name == NULL) {
            firn_host_names_free(names);
            return false;
        }
        names->list[names->count++] = name;
    }
    return true;
}

static void add_names(cJSON *to, const char *list, const firn_host_names *names) {
    cJSON *array = names->count != 0 ? cJSON_AddArrayToObject(to, list) : NULL;
    for (uint32_t i = 0; i < names->count; i++)
        cJSON_AddItemToArray(array, make_name(names->list[i]));
}

/* --- the file beside a checkpoint --------------------------------------------------------------------------------- */

static bool is_there(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0;
}

/* Writes the SHA-256 of the members of an object, as JSON without spaces, in hexadecimal. False if there is none. */
static bool hash_members(const cJSON *root, char text[65]) {
    uint8_t digest[FIRN_HASH_BYTES];
    char *members = cJSON_PrintUnformatted(root);
    const bool hashed = members != NULL && firn_sha256_of(members, strlen(members), digest) == FIRN_OK;
    if (hashed)
        cli_hex(text, digest);
    cJSON_free(members);
    return hashed;
}

/* Returns true if the members are those that were written. A file of an older firn has no hash, and is taken. */
static bool is_as_written(cJSON *root) {
    char wanted[65];
    cJSON *hash = cJSON_DetachItemFromObjectCaseSensitive(root, "sha256");
    const char *said = cJSON_GetStringValue(hash);
    const bool same = hash == NULL || (said != NULL && hash_members(root, wanted) && strcmp(said, wanted) == 0);
    cJSON_Delete(hash);
    return same;
}

/* Reads the header of a checkpoint. Returns false, without a message, if there is none: a restore says why. */
static bool read_header(firn_record *header, const char *checkpoint) {
    uint8_t bytes[FIRN_RECORD_HEADER_BYTES];
    struct stat status;
    uint64_t count;
    if (stat(checkpoint, &status) != 0 || !S_ISREG(status.st_mode) || access(checkpoint, R_OK) != 0)
        return false;
    const int file = firn_host_open(checkpoint, true, &count);
    const bool whole = file >= 0 && firn_host_read(file, bytes, sizeof bytes) == (int64_t)sizeof bytes;
    if (file >= 0)
        close(file);
    return whole && firn_record_decode(header, bytes) == FIRN_OK;
}

/* Reads the text of a file that is there. NULL after a message. */
static char *read_text(const char *path, uint64_t *count) {
    const int file = firn_host_open(path, true, count);
    if (file < 0)
        return NULL;
    char *text = *count <= FILE_BYTES_MOST ? firn_host_allocate((size_t)*count + 1) : NULL;
    const bool whole = text != NULL && firn_host_read(file, text, (size_t)*count) == (int64_t)*count;
    close(file);
    if (whole)
        return text;
    free(text);
    firn_host_fail(path,
                   "cannot be read to its end, or has more than %d bytes; get it again from beside the checkpoint",
                   FILE_BYTES_MOST);
    return NULL;
}

static bool has_hash(const cJSON *root, const char *name, const uint8_t hash[FIRN_HASH_BYTES]) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, name));
    char wanted[65];
    cli_hex(wanted, hash);
    return text != NULL && strcmp(text, wanted) == 0;
}

/* Returns the object that tells of data of this hash: that of the first data, which is the whole document, or that of
 * data with which the run went on. NULL: there is none. */
static const cJSON *find_data(const cJSON *root, const uint8_t hash[FIRN_HASH_BYTES]) {
    const cJSON *entry;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(root, LATER_DATA)) {
        if (has_hash(entry, "data", hash))
            return entry;
    }
    return has_hash(root, "data", hash) ? root : NULL;
}

/* Keeps the hash of the training's data by the streams that the plan reads. */
static void take_data(cli_session *session, const cJSON *root, const firn_record *header) {
    const cJSON *hashes = cJSON_GetObjectItemCaseSensitive(find_data(root, header->data_hash), FEWER_STREAMS);
    const char *hash = cJSON_GetStringValue(cJSON_GetArrayItem(hashes, (int)session->info.streams - 1));
    if (hash == NULL || strlen(hash) != sizeof session->fewer_streams - 1)
        return;
    memcpy(session->fewer_streams, hash, sizeof session->fewer_streams);
    memcpy(session->trained_data, header->data_hash, FIRN_HASH_BYTES);
}

int cli_columns_fit_hash(cli_session *session) {
    char here[65];
    cli_hex(here, session->data.sha256);
    return session->info.eval && strcmp(here, session->fewer_streams) == 0
               ? firn_set_data_hash(&session->firn, session->trained_data)
               : FIRN_OK;
}

static int refuse(const char *path, const char *what) {
    firn_host_fail(path,
                   "%s; give the file that was written with the checkpoint, or remove it: then columns and classes "
                   "are read in their order",
                   what);
    return CLI_FILE;
}

/* Returns the index of the first name in which two lists differ, or the number of names where they are equal. */
static uint32_t first_difference(const firn_host_names *one, const firn_host_names *other) {
    uint32_t i = 0;
    while (i < one->count && i < other->count && strcmp(one->list[i], other->list[i]) == 0)
        i++;
    return i;
}

/* Refuses a plan that reads other columns than those of the checkpoint. Where one of them has no names, none differ. */
static int compare(const cli_session *session, const char *path, const firn_host_names *trained,
                   const firn_host_names *read, const char *what) {
    if (trained->count == 0 || read->count == 0)
        return CLI_OK;
    const uint32_t i = first_difference(trained, read);
    if (i == trained->count && i == read->count)
        return CLI_OK;
    firn_host_fail(session->options->file,
                   "its %s %lu is %.60s, and that of the checkpoint is %.60s (%.300s); use the plan that was made with "
                   "the statistics of the training",
                   what, (unsigned long)i + 1, i < read->count ? read->list[i] : "not there",
                   i < trained->count ? trained->list[i] : "not there", path);
    return CLI_REFUSED;
}

static int compare_with_plan(const cli_session *session, const char *path) {
    const int status = compare(session, path, &session->columns, &session->report.columns, "column");
    return status == CLI_OK ? compare(session, path, &session->targets, &session->report.targets, "target") : status;
}

static int parse(cli_session *session, const char *path, const char *text, uint64_t count, const firn_record *header) {
    cJSON *root = cJSON_ParseWithLength(text, (size_t)count);
    /* The names of a plan are those of its run, also where this goes on with other data. */
    const bool planned = session->report.columns.count != 0;
    int status = CLI_OK;
    if (!cJSON_IsObject(root) ||
        !cli_columns_parse(&session->columns, cJSON_GetObjectItemCaseSensitive(root, "columns")) ||
        !cli_columns_parse(&session->targets, cJSON_GetObjectItemCaseSensitive(root, "targets")) ||
        !cli_columns_parse(&session->classes, cJSON_GetObjectItemCaseSensitive(root, "classes")) ||
        (session->columns.count + session->classes.count == 0 &&
         !cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(root, FEWER_STREAMS))))
        status = refuse(path, "is no list of the columns of a table");
    else if (!has_hash(root, "run", header->run_hash) || (!planned && find_data(root, header->data_hash) == NULL))
        status = refuse(path, "has the columns of another checkpoint");
    else if (!is_as_written(root))
        status = refuse(path, "was changed after firn had written it");
    else
        status = compare_with_plan(session, path);
    if (status == CLI_OK)
        take_data(session, root, header);
    cJSON_Delete(root);
    return status;
}

/* Reads the names beside a checkpoint, if both are there, and compares them with those of the plan. */
static int read_beside(cli_session *session, const char *checkpoint) {
    char *path = firn_host_path(checkpoint, CLI_COLUMNS_ENDING);
    firn_record header;
    int status = CLI_OK;
    if (is_there(path) && read_header(&header, checkpoint)) {
        uint64_t count;
        char *text = read_text(path, &count);
        status = text != NULL ? parse(session, path, text, count, &header) : CLI_FILE;
        free(text);
    }
    free(path);
    return status;
}

/* Writes what a list that was read says. */
static void describe(cJSON *root, const firn_record *header, char *text, size_t size) {
    const int columns = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "columns")),
              targets = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "targets")),
              classes = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "classes"));
    if (!cJSON_IsObject(root))
        snprintf(text, size, "is no list of the columns of a table, and is refused");
    else if (!has_hash(root, "run", header->run_hash))
        snprintf(text, size, "is of another run, and is refused");
    else if (!is_as_written(root))
        snprintf(text, size, "was changed after firn had written it, and is refused");
    else
        snprintf(text, size, "%d column%s, %d target%s, %d class%s", columns, cli_s((uint64_t)columns), targets,
                 cli_s((uint64_t)targets), classes, classes == 1 ? "" : "es");
}

void cli_columns_describe(const char *checkpoint, const firn_record *header, char *text, size_t size) {
    char *path = firn_host_path(checkpoint, CLI_COLUMNS_ENDING);
    uint64_t count;
    char *contents = is_there(path) ? read_text(path, &count) : NULL;
    if (contents != NULL) {
        cJSON *root = cJSON_ParseWithLength(contents, (size_t)count);
        const int length = snprintf(text, size, "%.150s: ", path);
        describe(root, header, text + length, size - (size_t)length);
        cJSON_Delete(root);
    } else {
        snprintf(text, size, "%s", is_there(path) ? "cannot be read" : "none");
    }
    free(contents);
    free(path);
}

int cli_columns_find(cli_session *session, const cli_session *owner) {
    const cli_options *options = session->options;
    const bool begins = !session->info.eval && !options->resume;
    if (owner != NULL || begins || options->checkpoint == NULL)
        return CLI_OK;
    return read_beside(session, options->checkpoint);
}

/* Whether the labels that are read are indices of names in the data. */
static bool reads_classes(const cli_session *session) {
    return session->data.source.stream_count > 1 && session->data.classes.count != 0;
}

int cli_columns_compare_classes(const cli_session *session) {
    const firn_host_names *trained = &session->classes, *here = &session->data.classes;
    if (!reads_classes(session) || trained->count == 0)
        return CLI_OK;
    const uint32_t i = first_difference(trained, here);
    if (i == trained->count && i == here->count)
        return CLI_OK;
    firn_host_fail(firn_host_file_name(session->data.files[0].files[0]),
                   "its class %lu is %.60s, and that of the checkpoint is %.60s (%.300s" CLI_COLUMNS_ENDING
                   "), so that labels would mean other classes; give data with the %lu classes of the training, by the "
                   "same names",
                   (unsigned long)i, i < here->count ? here->list[i] : "not there",
                   i < trained->count ? trained->list[i] : "not there", session->options->checkpoint,
                   (unsigned long)trained->count);
    return CLI_FILE;
}

/* Notes that the classes of an evaluation, or of a run that goes on, are numbered by its own data. */
static void note_classes(const cli_session *session) {
    const cli_options *options = session->options;
    char list[300];
    const bool begins = !session->info.eval && !options->resume;
    if (!reads_classes(session) || begins || session->config.owner != NULL || options->checkpoint == NULL ||
        session->classes.count != 0)
        return;
    firn_host_names_say(&session->data.classes, list, sizeof list);
    firn_host_note("%s has no names of classes beside it (" CLI_COLUMNS_ENDING
                   "), so the classes are numbered in their order here: %s",
                   options->checkpoint, list);
}

void cli_columns_note(const cli_session *session) {
    const cli_options *options = session->options;
    note_classes(session);
    const bool named = session->report.columns.count != 0 || session->columns.count != 0;
    if (named || !session->info.eval || session->config.owner != NULL || options->checkpoint == NULL ||
        options->columns != NULL || session->data.features.count == 0)
        return;
    firn_host_note("%s has no names of columns beside it (" CLI_COLUMNS_ENDING
                   "), so the columns of the table are read in their order",
                   options->checkpoint);
}

void cli_columns_want(firn_host_wanted *wanted, const cli_session *session, const cli_session *owner) {
    const bool labelled = session->options->labels == NULL && wanted->stream_count > 1;
    const firn_host_names *columns = &session->columns, *targets = &session->targets;
    if (session->report.columns.count != 0) {
        columns = &session->report.columns;
        targets = &session->report.targets;
    } else if (owner != NULL) {
        columns = &owner->data.features;
        targets = &owner->data.targets;
    }
    /* Options may choose other names where these are no limit: of the table of --eval-data, for which the same options
     * hold, and of a run that goes on, which compares the data themselves. */
    const cli_options *options = session->options;
    const bool chosen = (owner != NULL && columns == &owner->data.features) ||
                        (options->resume && !options->allow_other_data && columns == &session->columns);
    wanted->features = chosen && options->columns != NULL ? NULL : columns;
    wanted->classes = owner != NULL ? &owner->data.classes : &session->classes;
    wanted->targets = !labelled || (chosen && options->target != NULL) ? NULL : targets;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Adds the hash of the data, and those that they have by fewer streams. */
static void add_data(cJSON *to, const cli_session *session) {
    const uint32_t streams = session->data.source.stream_count;
    uint8_t hash[FIRN_HASH_BYTES];
    char text[65];
    cli_hex(text, session->data.sha256);
    cJSON_AddStringToObject(to, "data", text);
    cJSON *hashes = streams > 1 ? cJSON_AddArrayToObject(to, FEWER_STREAMS) : NULL;
    for (uint32_t i = 1; i < streams && firn_host_data_hash_first(&session->data, i, hash); i++) {
        cli_hex(text, hash);
        cJSON_AddItemToArray(hashes, cJSON_CreateString(text));
    }
}

/* Adds the hash of the members that are there. False after a message. */
static bool seal(cJSON *root) {
    char hash[65];
    if (hash_members(root, hash) && cJSON_AddStringToObject(root, "sha256", hash) != NULL)
        return true;
    firn_host_fail("memory", "%s", strerror(ENOMEM));
    return false;
}

/* Returns the names and what they belong to, or NULL after a message. */
static cJSON *make(const cli_session *session) {
    char run[65];
    cli_hex(run, session->info.run_hash);
    const bool planned = session->report.columns.count != 0;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "run", run);
    add_data(root, session);
    add_names(root, "columns", planned ? &session->report.columns : &session->data.features);
    add_names(root, "targets", planned ? &session->report.targets : &session->data.targets);
    add_names(root, "classes", &session->data.classes);
    if (seal(root))
        return root;
    cJSON_Delete(root);
    return NULL;
}

/* Says in the file of a run that goes on with other data that its names are also those of the latter: the next
 * checkpoint has their hash. The file was read before, and is as it was written. */
static int extend(const cli_session *session, const char *path) {
    uint64_t count;
    char *text = read_text(path, &count);
    cJSON *root = text != NULL ? cJSON_ParseWithLength(text, (size_t)count) : NULL;
    int status = text != NULL ? CLI_OK : CLI_FILE;
    if (root != NULL && find_data(root, session->data.sha256) == NULL) {
        cJSON *list = cJSON_GetObjectItemCaseSensitive(root, LATER_DATA), *entry = cJSON_CreateObject();
        cJSON_DeleteItemFromObjectCaseSensitive(root, "sha256");
        if (list == NULL)
            list = cJSON_AddArrayToObject(root, LATER_DATA);
        add_data(entry, session);
        cJSON_AddItemToArray(list, entry);
        status = seal(root) ? cli_json_write(path, root) : CLI_FILE;
    }
    cJSON_Delete(root);
    free(text);
    return status;
}

/* Refuses what has the name of a list of columns and is none that firn wrote, before it is replaced or removed. */
static int check_own(const char *path) {
    struct stat status;
    uint64_t count;
    if (lstat(path, &status) != 0)
        return CLI_OK;
    char *text = S_ISREG(status.st_mode) ? read_text(path, &count) : NULL;
    cJSON *root = text != NULL ? cJSON_ParseWithLength(text, (size_t)count) : NULL;
    const bool own = cJSON_IsString(cJSON_GetObjectItemCaseSensitive(root, "run")) &&
                     cJSON_IsString(cJSON_GetObjectItemCaseSensitive(root, "data")) &&
                     (cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(root, "columns")) ||
                      cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(root, "classes")) ||
                      cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(root, FEWER_STREAMS)));
    if (!own && (text != NULL || !S_ISREG(status.st_mode)))
        firn_host_fail(path, "is no list of columns that firn wrote, and has the name of the one beside the "
                             "checkpoint; move it away, or give the checkpoint another name");
    cJSON_Delete(root);
    free(text);
    return own ? CLI_OK : CLI_FILE;
}

static bool has_names(const cli_session *session) {
    return session->data.features.count != 0 || session->report.columns.count != 0 || session->data.classes.count != 0;
}

/* Whether a later plan may read the part of the data that is held out, without the labels that the training reads. */
static bool holds_labels_out(const cli_session *session) {
    return session->data.source.stream_count > 1 && !session->info.all_data;
}

int cli_columns_keep(const cli_session *session, const char *checkpoint) {
    if (checkpoint == NULL)
        return CLI_OK;
    char *path = firn_host_path(checkpoint, CLI_COLUMNS_ENDING);
    cJSON *root = NULL;
    const bool there = is_there(path);
    const bool kept = there && session->options->resume; /* it is that of the run, as it was found */
    if (!there && session->options->resume && session->options->allow_other_data) {
        free(path); /* the names of these data need not be those of the run */
        return CLI_OK;
    }
    if (kept && session->options->dry_run) {
        free(path);
        return CLI_OK;
    }
    int status = kept ? extend(session, path) : check_own(path);
    if (kept || status != CLI_OK || session->options->dry_run) {
        /* nothing is changed */
    } else if (has_names(session) || holds_labels_out(session)) {
        root = make(session);
        status = root != NULL ? cli_json_write(path, root) : CLI_FILE;
    } else if (there && !firn_host_remove(path)) { /* left by a checkpoint that is not there any more */
        firn_host_fail(path, "is of another checkpoint, and cannot be removed: %s", strerror(errno));
        status = CLI_FILE;
    }
    cJSON_Delete(root);
    free(path);
    return status;
}
