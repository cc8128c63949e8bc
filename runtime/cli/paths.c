/* Resolves paths, so that no command overwrites a file that it reads, writes two outputs to the same file, or takes a
 * mistyped name for a counter that has not begun. No file is opened here, but for the first bytes of images. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cli/cli.h"

/* How a path is written. */
typedef enum writing {
    IN_PLACE, /* or not at all */
    REPLACED, /* as path.tmp first, locked as path.lock */
    LISTED    /* as REPLACED; it is a checkpoint, whose columns are listed in path.columns */
} writing;

/* A path and the option or operand that named it. */
typedef struct place {
    const char *role, *path; /* path NULL: not given */
    writing how;
} place;

/* Returns the folder of a path with symbolic links resolved, or NULL if it does not exist. The caller frees it. */
static char *folder_of(const char *path) {
    char *copy = firn_host_path(path, "");
    char *folder = realpath(dirname(copy), NULL);
    free(copy);
    return folder;
}

/* Returns the path with symbolic links resolved; if the file does not exist yet, those of its folder. NULL if the
 * folder does not exist. The caller frees it. */
static char *resolve(const char *path) {
    char *whole = realpath(path, NULL);
    char *folder = whole == NULL ? folder_of(path) : NULL;
    if (folder == NULL)
        return whole;
    char *copy = firn_host_path(path, ""), *begin = firn_host_path(folder, "/");
    whole = firn_host_path(begin, basename(copy));
    free(copy);
    free(begin);
    free(folder);
    return whole;
}

static bool same_text(char *a, char *b) {
    bool same = a != NULL && b != NULL && strcmp(a, b) == 0;
    free(a);
    free(b);
    return same;
}

static bool same_file(const char *a, const char *b) {
    struct stat first, second;
    if (stat(a, &first) == 0 && stat(b, &second) == 0)
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
    return same_text(resolve(a), resolve(b));
}

/* Returns true if a file begins like a PNG or a JPEG image. Nothing but a regular file is opened. */
static bool is_image(const char *path) {
    static const uint8_t png[] = {0x89, 'P', 'N', 'G'}, jpeg[] = {0xff, 0xd8, 0xff};
    uint8_t head[sizeof png] = {0};
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool whole = file >= 0 && read(file, head, sizeof head) == (ssize_t)sizeof head;
    if (file >= 0)
        close(file);
    return whole && (memcmp(head, png, sizeof png) == 0 || memcmp(head, jpeg, sizeof jpeg) == 0);
}

static bool has_image(const char *folder) {
    bool found = false;
    DIR *list = opendir(folder);
    char *begin = firn_host_path(folder, "/");
    for (struct dirent *entry; list != NULL && !found && (entry = readdir(list)) != NULL;) {
        char *path = firn_host_path(begin, entry->d_name);
        found = is_image(path);
        free(path);
    }
    if (list != NULL)
        closedir(list);
    free(begin);
    return found;
}

/* Returns true if `place` is a folder of data, or one of its class folders, which holds images; other folders in it are
 * no data. Both paths have no symbolic links. */
static bool is_of_data(const char *folder, const char *place) {
    const size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    if (strcmp(folder, place) == 0)
        return true;
    return strncmp(folder, place, length) == 0 && place[length] == '/' && strchr(place + length + 1, '/') == NULL &&
           has_image(place);
}

/* Returns true if `folder` is a folder of data, and the file, or what a link of its name leads to, lies in it. */
static bool is_inside(const char *folder, const char *path) {
    struct stat status;
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))
        return false;
    char *whole = realpath(folder, NULL), *target = resolve(path);
    char *places[] = {folder_of(path), target != NULL ? folder_of(target) : NULL};
    bool inside = false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        inside = inside || (whole != NULL && places[i] != NULL && is_of_data(whole, places[i]));
        free(places[i]);
    }
    free(whole);
    free(target);
    return inside;
}

static int refuse(place output, place other, const char *how) {
    firn_host_fail(output.path, "%s would be written %s %s; give another name", output.role, how, other.role);
    return CLI_USAGE;
}

/* Returns true if `other` is the file `path` + `ending`, symbolic links resolved. */
static bool is_beside(const char *path, const char *ending, const char *other) {
    char *target = resolve(path);
    char *beside = target != NULL ? firn_host_path(target, ending) : NULL;
    bool same = beside != NULL && same_file(beside, other);
    free(beside);
    free(target);
    return same;
}

/* Refuses an output whose writing takes another name that is `other`. */
static int compare_beside(place output, place other) {
    if (output.path == NULL || output.how == IN_PLACE)
        return CLI_OK;
    static const char *const beside[][2] = {{".tmp", "by way of .tmp over"}, {".lock", "by way of .lock over"}};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (is_beside(output.path, beside[i][0], other.path))
            return refuse(output, other, beside[i][1]);
    if (output.how == LISTED && is_beside(output.path, CLI_COLUMNS_ENDING, other.path))
        return refuse(output, other, "with its columns over");
    return CLI_OK;
}

static int compare(place output, place other) {
    if (output.path == NULL || other.path == NULL || cli_is_stream(output.path) || cli_is_stream(other.path))
        return CLI_OK;
    if (same_file(output.path, other.path))
        return refuse(output, other, "over");
    if (is_inside(other.path, output.path))
        return refuse(output, other, "into the folder of");
    if (other.how == LISTED && is_beside(other.path, CLI_COLUMNS_ENDING, output.path))
        return refuse(output, other, "over the names of columns beside");
    return compare_beside(output, other);
}

/* Refuses an output that is the file behind a standard descriptor, such as /dev/stdout: printed text would land in the
 * middle of the output, or be lost with the file that the output replaces. Two descriptors that append do not overwrite
 * each other, so a log may share a file with a descriptor that appends. */
static int check_streams(place output) {
    static const char *const names[] = {"standard input", "standard output", "standard error"};
    struct stat file, stream;
    if (output.path == NULL || cli_is_stream(output.path) || stat(output.path, &file) != 0 || !S_ISREG(file.st_mode))
        return CLI_OK;
    for (int i = 0; i < 3; i++) {
        const int flags = fcntl(i, F_GETFL);
        const bool same =
            flags >= 0 && fstat(i, &stream) == 0 && file.st_dev == stream.st_dev && file.st_ino == stream.st_ino;
        if (!same || (output.how == IN_PLACE && (flags & O_APPEND) != 0))
            continue;
        firn_host_fail(output.path, "%s would be written to the file of %s; give another name", output.role, names[i]);
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* A counter that is missing is 0, as of a new device, and is made after the first step. Where not even its folder is
 * there, the name is wrong, and 0 would let every older plan pass. */
static int check_counter(const char *path) {
    char *place = path != NULL ? resolve(path) : NULL;
    const bool found = path == NULL || place != NULL;
    free(place);
    if (found)
        return CLI_OK;
    firn_host_fail(path, "the folder of the counter does not exist; look at the name, or make the folder first");
    return CLI_FILE;
}

int cli_paths_check(const cli_options *options) {
    bool train = strcmp(options->command, "train") == 0, plan = options->key_count != 0;
    bool logs = strcmp(options->command, "report") == 0 || strcmp(options->command, "plot") == 0;
    const place outputs[] = {
        {"the checkpoint", train ? options->checkpoint : NULL, LISTED},
        {"the best checkpoint", options->keep_best, LISTED},
        {"the log", options->log, IN_PLACE},
        {"the table", options->csv, IN_PLACE},
        {"the counter", options->counter, REPLACED},
        {"the output", options->output, REPLACED},
        {"the output of the labels", options->labels_output, REPLACED},
        {"the confusion matrix", options->confusion, REPLACED},
        {"the output of the classes", options->classes_output, REPLACED},
        {"the profile", train ? options->profile : NULL, REPLACED},
        {"the event files", options->tensorboard, IN_PLACE}, /* of a folder, in which other outputs may be */
    };
    const place others[] = {
        {plan ? "the plan" : "the checkpoint", options->file, plan ? IN_PLACE : LISTED},
        {"the device key", options->device_key, IN_PLACE},
        {"the output of the labels", options->labels_output, REPLACED},
        {"the output of the classes", options->classes_output, REPLACED},
        {"the labels", options->labels, IN_PLACE},
        {"the weights", options->weights, IN_PLACE},
        {"the names of classes", options->classes, IN_PLACE},
        {"the eval plan", options->eval, IN_PLACE},
        {"the labels of the evaluation", options->eval_labels, IN_PLACE},
        {"the weights of the evaluation", options->eval_weights, IN_PLACE},
        {"the checkpoint", options->checkpoint, LISTED},
        {"the best checkpoint", options->keep_best, LISTED},
        {"the log", options->log, IN_PLACE},
        {"the table", options->csv, IN_PLACE},
        {"the counter", options->counter, REPLACED},
        {"the profile", options->profile, train ? REPLACED : IN_PLACE},
        {"the confusion matrix", options->matrix, IN_PLACE},
    };
    int status = CLI_OK;
    for (size_t i = 0; status == CLI_OK && i < sizeof outputs / sizeof *outputs; i++) {
        status = check_streams(outputs[i]);
        for (size_t j = 0; status == CLI_OK && j < sizeof others / sizeof *others; j++)
            if (outputs[i].path != others[j].path || strcmp(outputs[i].role, others[j].role) != 0)
                status = compare(outputs[i], others[j]);
        for (uint32_t j = 0; status == CLI_OK && j < options->data_count; j++)
            status = compare(outputs[i], (place){logs ? "the log" : "the data", options->data[j], IN_PLACE});
        for (uint32_t j = 0; status == CLI_OK && j < options->eval_data_count; j++)
            status = compare(outputs[i], (place){"the data of the evaluation", options->eval_data[j], IN_PLACE});
        for (uint32_t j = 0; status == CLI_OK && j < options->key_count; j++)
            status = compare(outputs[i], (place){"the key", options->keys[j], IN_PLACE});
        if (status == CLI_OK && options->tensorboard != NULL) /* other outputs may be in this folder */
            status = compare_beside(outputs[i], (place){"the event files", options->tensorboard, IN_PLACE});
    }
    return status == CLI_OK ? check_counter(options->counter) : status;
}
