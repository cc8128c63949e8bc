/* Tests how firnc reports disk errors when it writes its files; fsync is replaced by a function of this test. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/files.h"
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

static const char *inside(const char *name) {
    return firnc_format("%s/%s", folder, name);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state) {
    (void)state;
    (void)unlink(inside("written"));
    return rmdir(folder); /* rmdir fails if any other file was left in the folder */
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

int main(void) {
    return support_test_run(&(support_fixture){.before_all = make_folder, .after_all = remove_folder});
}
