/* Tests how firnc reports disk errors when it writes its files; fsync and rename are replaced by functions of this
 * test.
 */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "compiler/base/files.h"
#include "compiler/base/json.h"
#include "compiler/graph/ir.h"
#include "tests/unit/support_test.h"

static char folder[] = P_tmpdir "/firn-files-XXXXXX";
static int file_error, folder_error; /* results of fsync for files and folders; 0: success */
static uint32_t folders_synced;

int fsync(int descriptor) {
    struct stat status;
    assert_int_equal(fstat(descriptor, &status), 0);
    if (S_ISDIR(status.st_mode))
        folders_synced++;
    errno = S_ISDIR(status.st_mode) ? folder_error : file_error;
    return errno == 0 ? 0 : -1;
}

static const char *unrenamed;          /* the last name of a path that rename refuses; NULL: none */
static uint32_t renames, renames_most; /* so many more renames succeed at most; 0: any number */

int rename(const char *old, const char *new) {
    const char *slash = strrchr(new, '/');
    errno = EIO;
    const bool refused = (unrenamed != NULL && strcmp(slash + 1, unrenamed) == 0 && strlen(old) > strlen(new)) ||
                         (renames_most != 0 && ++renames > renames_most);
    return refused ? -1 : renameat(AT_FDCWD, old, AT_FDCWD, new);
}

static const char *inside(const char *name) {
    return firnc_format("%s/%s", folder, name);
}

BEFORE_ALL {
    assert_non_null(mkdtemp(folder));
}

/* A file of an earlier test is gone, and a new one may have its number. */
BEFORE_EACH {
    firnc_files_forget();
}

AFTER_ALL {
    (void)unlink(inside("written"));
    assert_int_equal(rmdir(folder), 0); /* rmdir fails if any other file was left in the folder */
}

TEST(a_name_is_synced_with_its_folder) {
    folders_synced = 0;
    assert_true(firnc_file_write(inside("written"), "one", 3));
    assert_int_equal(folders_synced, 1);
    assert_true(firnc_file_create(inside("made"), "two", 3, 0600));
    assert_int_equal(folders_synced, 2);
    assert_int_equal(unlink(inside("made")), 0);
}

TEST(a_folder_that_cannot_be_synced_is_no_error) {
    static const int errors[] = {EINVAL, ENOTSUP};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        folder_error = errors[i];
        assert_true(firnc_file_write(inside("written"), "one", 3));
        assert_true(firnc_file_create(inside("made"), "two", 3, 0600));
        assert_int_equal(unlink(inside("made")), 0);
    }
    folder_error = 0;
}

TEST(a_disk_that_fails_is_told) {
    folder_error = EIO;
    assert_false(firnc_file_write(inside("written"), "one", 3));
    assert_false(firnc_file_create(inside("made"), "two", 3, 0600));
    assert_int_not_equal(access(inside("made"), F_OK), 0);
    folder_error = 0;
    file_error = EIO;
    assert_false(firnc_file_write(inside("written"), "other", 5));
    assert_false(firnc_file_create(inside("made"), "two", 3, 0600));
    assert_int_not_equal(access(inside("made"), F_OK), 0);
    file_error = 0;
    firnc_bytes bytes;
    assert_true(firnc_file_read(inside("written"), 100, &bytes));
    assert_int_equal(bytes.count, 3);
}

static bool holds(const char *name, const char *text) {
    firnc_bytes bytes;
    return firnc_file_read(inside(name), 100, &bytes) && bytes.count == strlen(text) &&
           memcmp(bytes.data, text, bytes.count) == 0;
}

static firnc_bytes bytes_of(const char *text) {
    firnc_bytes bytes = {.data = firnc_allocate_aligned(strlen(text) + 1), .count = strlen(text)};
    memcpy(bytes.data, text, strlen(text));
    return bytes;
}

/* The first file is there before, the second is not, and the third cannot have its name. remove_folder finds whatever
 * else is left. */
TEST(a_set_is_written_or_left_as_it_was) {
    assert_true(firnc_file_write(inside("first"), "one", 3));
    const firnc_file set[] = {
        {inside("first"), bytes_of("new one")}, {inside("second"), bytes_of("two")}, {inside("third"), bytes_of("3")}};
    unrenamed = "third";
    assert_false(firnc_files_write(set, 3));
    unrenamed = NULL;
    int kept = open(inside("first"), O_RDONLY);
    char text[8] = {0};
    assert_int_equal(read(kept, text, sizeof text), 3); /* firnc_file_read would make it an input */
    close(kept);
    assert_string_equal(text, "one");
    assert_int_not_equal(access(inside("second"), F_OK), 0);
    file_error = EIO;
    assert_false(firnc_files_write(set, 3));
    file_error = 0;
    assert_int_not_equal(access(inside("third"), F_OK), 0);
    assert_true(firnc_files_write(set, 3));
    assert_true(holds("first", "new one") && holds("second", "two") && holds("third", "3"));
    unlink(inside("first"));
    unlink(inside("second"));
    unlink(inside("third"));
}

/* Reads the only file in the folder whose name begins with `name` and a dot, and removes it. */
static void take_kept(const char *name, char text[8]) {
    DIR *opened = opendir(folder);
    uint32_t found = 0;
    memset(text, 0, 8);
    for (struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened)) {
        if (strncmp(entry->d_name, name, strlen(name)) != 0 || entry->d_name[strlen(name)] != '.')
            continue;
        const int kept = open(inside(entry->d_name), O_RDONLY);
        assert_true(read(kept, text, 7) >= 0);
        close(kept);
        assert_int_equal(unlink(inside(entry->d_name)), 0);
        found++;
    }
    closedir(opened);
    assert_int_equal(found, 1);
}

/* The disk fails from the second rename on, so that the first file cannot be put back: what it held is not lost. */
TEST(what_cannot_be_put_back_is_kept_beside) {
    char text[8];
    assert_true(firnc_file_write(inside("fourth"), "old", 3));
    const firnc_file set[] = {{inside("fourth"), bytes_of("new")}, {inside("fifth"), bytes_of("two")}};
    renames = 0;
    renames_most = 1;
    assert_false(firnc_files_write(set, 2));
    renames_most = 0;
    take_kept("fourth", text);
    assert_string_equal(text, "old");
    assert_int_equal(unlink(inside("fourth")), 0);
    assert_int_not_equal(access(inside("fifth"), F_OK), 0);
}

/* A power cut behind the failure must not bring back the new file, so the folder is synced. */
TEST(what_is_put_back_is_synced) {
    assert_true(firnc_file_write(inside("sixth"), "old", 3));
    const firnc_file set[] = {{inside("sixth"), bytes_of("new")}, {inside("seventh"), bytes_of("two")}};
    unrenamed = "seventh";
    folders_synced = 0;
    assert_false(firnc_files_write(set, 2));
    unrenamed = NULL;
    assert_int_equal(folders_synced, 1);
    assert_int_equal(unlink(inside("sixth")), 0);
}

/* Removes what a_folder_is_written_whole wrote. */
static void remove_new_folder(void) {
    assert_int_equal(unlink(inside("new/one")), 0);
    assert_int_equal(unlink(inside("new/b/c/two")), 0);
    assert_int_equal(rmdir(inside("new/b/c")), 0);
    assert_int_equal(rmdir(inside("new/b")), 0);
    assert_int_equal(rmdir(inside("new")), 0); /* it has nothing else */
}

TEST(a_folder_is_written_whole) {
    const firnc_file files[] = {{"one", bytes_of("1")}, {"b/c/two", bytes_of("2")}};
    folders_synced = 0;
    assert_true(firnc_folder_is_free(inside("new")));
    assert_true(firnc_folder_write(inside("new//"), files, 2));
    assert_int_equal(folders_synced, 5); /* of one, b, c and two, and that of the folder itself */
    assert_false(firnc_folder_is_free(inside("new")));
    assert_false(firnc_folder_write(inside("new"), files, 2));
    remove_new_folder();
    assert_int_equal(mkdir(inside("new"), 0700), 0);
    assert_true(firnc_folder_write(inside("new"), files, 2));
    remove_new_folder();
}

/* AFTER_ALL finds what would be left. */
TEST(a_folder_that_fails_leaves_nothing) {
    const firnc_file files[] = {{"b/c/two", bytes_of("2")}, {"b/c/three", bytes_of("3")}};
    const firnc_file twice[] = {{"b/c/two", bytes_of("2")}, {"b/c/two", bytes_of("2")}};
    unrenamed = "new";
    assert_false(firnc_folder_write(inside("new"), files, 2));
    unrenamed = NULL;
    file_error = ENOSPC;
    assert_false(firnc_folder_write(inside("new"), files, 2));
    file_error = 0;
    assert_false(firnc_folder_write(inside("new"), twice, 2));
    assert_false(firnc_folder_write(inside("none/new"), files, 2));
    assert_int_not_equal(access(inside("new"), F_OK), 0);
    assert_true(firnc_file_write(inside("file"), "one", 3));
    assert_false(firnc_folder_write(inside("file"), files, 2));
    assert_int_equal(unlink(inside("file")), 0);
}

TEST(memory_is_released_to_a_mark) {
    const char *kept = firnc_format("%d", 7);
    firnc_mark mark = firnc_memory_mark();
    for (int i = 0; i < 3; i++)
        firnc_allocate(UINT64_C(1) << 20);
    assert_ptr_not_equal(firnc_memory_mark().last, mark.last);
    firnc_memory_release(mark);
    assert_ptr_equal(firnc_memory_mark().last, mark.last);
    assert_string_equal(kept, "7");
}

TEST(a_text_grows) {
    firnc_growing_text text = {0};
    for (int i = 0; i < 1000; i++)
        firnc_text_add(&text, "abc", 3);
    assert_int_equal(text.length, 3000);
    assert_int_equal(strlen(text.text), 3000);
    assert_memory_equal(text.text + 2997, "abc", 4);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static long blocks; /* that cJSON has and has not released */

static void *count_allocation(size_t bytes) {
    blocks++;
    return malloc(bytes);
}

static void count_release(void *block) {
    blocks -= block != NULL;
    free(block);
}

/* Behind an object there may be padding alone, and what is refused is released. */
TEST(json_is_one_object) {
    static const struct {
        const char *text;
        size_t bytes;
        bool good;
    } rows[] = {
        {"{}", 2, true},
        {"{\"a\": [1, {}]} \n ", 17, true},
        {"{\"a\\\\u0000\": 1}", 15, true},
        {"{\"a\\u0000\": 1}", 14, false},
        {"{\"a\": [1, {}]} x", 16, false},
        {"{\"a\": 1}}", 9, false},
        {"{\"a\": 1} \0", 10, false},
        {"{\"a\": 1", 7, false},
        {"[1]", 3, false},
        {" {}", 3, false},
        {"", 0, false},
    };
    cJSON_Hooks counting = {count_allocation, count_release};
    cJSON_InitHooks(&counting);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cJSON *made = firnc_json_parse(rows[i].text, rows[i].bytes, " \n");
        if ((made != NULL) != rows[i].good)
            fail_msg("row %u", (unsigned)i);
        firnc_json_delete(made);
        assert_int_equal(blocks, 0);
    }
    cJSON_InitHooks(NULL);
}
