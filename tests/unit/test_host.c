/* Tests the workstation's port: plans in read-only memory, keys, the counter file, checkpoints on a full disk, threads,
 * and data from files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <mbedtls/sha256.h>

#include "plan/keys/key_text.h"
#include "plan/ops.h"
#include "runtime/targets/host/host.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

static char folder[64];
static signed_plan plan;
static opened one, two;

/* Returns a path in the test's folder; it stays valid for the next three calls. */
static const char *at(const char *name) {
    static char paths[4][128];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t count) {
    FILE *file = fopen(at(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static size_t read_file(const char *name, void *bytes, size_t most) {
    FILE *file = fopen(at(name), "rb");
    if (file == NULL)
        return 0;
    size_t count = fread(bytes, 1, most, file);
    fclose(file);
    return count;
}

static bool exists(const char *name) {
    return access(at(name), F_OK) == 0;
}

BEFORE_ALL {
    strcpy(folder, P_tmpdir "/firn-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

AFTER_ALL {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

/* --- plan --- */

/* Returns true if a child process that writes to the memory is killed by a fault. */
static bool a_write_faults(const void *memory) {
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        *(volatile uint8_t *)(uintptr_t)memory = 0;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
}

TEST(a_loaded_plan_cannot_be_written) {
    support_bigram(&plan, &support_settings);
    write_file("plan", plan.file, (size_t)plan.bytes);
    firn_host_plan loaded;
    assert_true(firn_host_plan_load(&loaded, at("plan")));
    assert_int_equal(loaded.count, plan.bytes);
    assert_memory_equal(loaded.bytes, plan.file, (size_t)plan.bytes);
    assert_true(a_write_faults(loaded.bytes));
    if (loaded.lost == NULL)
        assert_int_equal(mprotect((void *)(uintptr_t)loaded.bytes, (size_t)loaded.count, PROT_READ | PROT_WRITE), -1);
    /* Changing the file must not change the loaded plan. */
    write_file("plan", "other", 5);
    assert_memory_equal(loaded.bytes, plan.file, (size_t)plan.bytes);
    firn_host_plan_unload(&loaded);
    assert_false(firn_host_plan_load(&loaded, at("none")));
    assert_false(firn_host_plan_load(&loaded, folder));
    write_file("empty", "", 0);
    assert_false(firn_host_plan_load(&loaded, at("empty")));
}

/* --- keys --- */

static const char pem[] = "-----BEGIN PUBLIC KEY-----\n"
                          "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt\n"
                          "6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==\n"
                          "-----END PUBLIC KEY-----\n"; /* the generator point of the curve */

TEST(reads_keys) {
    static const uint8_t x[4] = {0x6b, 0x17, 0xd1, 0xf2}, y[4] = {0x37, 0xbf, 0x51, 0xf5};
    uint8_t key[64];
    assert_true(firn_key_text_parse(key, pem, sizeof pem - 1));
    assert_memory_equal(key, x, 4);
    assert_memory_equal(key + 60, y, 4);
    assert_true(firn_key_text_parse(key, pem, sizeof pem - 2)); /* without the final line end */
    for (size_t length = 0; length < sizeof pem - 2; length++)
        assert_false(firn_key_text_parse(key, pem, length));
    /* Every byte is significant except those of the point itself. */
    char changed[sizeof pem];
    for (size_t i = 0; i < 27 + 36; i++) {
        memcpy(changed, pem, sizeof pem);
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        assert_false(firn_key_text_parse(key, changed, sizeof pem - 1));
    }
    for (size_t i = sizeof pem - 1 - 28; i < sizeof pem - 2; i++) {
        memcpy(changed, pem, sizeof pem);
        changed[i] = 'A';
        assert_false(firn_key_text_parse(key, changed, sizeof pem - 1));
    }
    write_file("key", pem, sizeof pem - 1);
    assert_true(firn_host_key_load(key, at("key")));
    static char long_file[20000];
    memset(long_file, '\n', sizeof long_file);
    memcpy(long_file, pem, sizeof pem - 1);
    write_file("long", long_file, sizeof long_file);
    assert_false(firn_host_key_load(key, at("long")));
    assert_false(firn_host_key_load(key, at("none")));
}

/* --- counter --- */

/* What keys of other kinds are called: in DER a key begins with its identifier. */
TEST(other_kinds_of_keys_have_names) {
    static const struct {
        uint8_t count, identifier[12];
        const char *of;
    } kinds[] = {
        {10, {0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7}, " of the curve P-256"},
        {7, {0x06, 5, 0x2b, 0x81, 4, 0, 0x22}, " of the curve P-384"},
        {7, {0x06, 5, 0x2b, 0x81, 4, 0, 0x23}, " of the curve P-521"},
        {7, {0x06, 5, 0x2b, 0x81, 4, 0, 0x21}, " of the curve P-224"},
        {7, {0x06, 5, 0x2b, 0x81, 4, 0, 0x0a}, " of the curve secp256k1"},
        {10, {0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 1}, " of the curve P-192 or another early one"},
        {11, {0x06, 9, 0x2b, 0x24, 3, 3, 2, 8, 1, 1, 7}, " of a Brainpool curve"},
        {10, {0x06, 8, 0x2a, 0x81, 0x1c, 0xcf, 0x55, 1, 0x82, 0x2d}, " of the curve SM2"},
        {5, {0x06, 3, 0x2b, 0x65, 0x70}, " of Ed25519"},
        {5, {0x06, 3, 0x2b, 0x65, 0x71}, " of Ed448"},
        {5, {0x06, 3, 0x2b, 0x65, 0x6e}, " of X25519, which cannot sign"},
        {5, {0x06, 3, 0x2b, 0x65, 0x6f}, " of X448, which cannot sign"},
        {9, {0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 1, 1}, " of a curve that is given by its numbers and not by name"},
        {11, {0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1}, " of RSA"},
        {9, {0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x38, 4, 1}, " of DSA"},
        {11, {0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 3, 1}, " of Diffie-Hellman, which cannot sign"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int is_private = 0; is_private < 2; is_private++) {
            uint8_t key[64] = {0x30, sizeof key - 2, 0x30, kinds[i].count};
            const uint8_t version[] = {0x30, sizeof key - 2, 0x02, 1, 0, 0x30, kinds[i].count};
            if (is_private)
                memcpy(key, version, sizeof version);
            memcpy(&key[is_private ? sizeof version : 4], kinds[i].identifier, kinds[i].count);
            const firn_key_text text = firn_key_text_of(key, sizeof key, false);
            assert_string_equal(text.form, is_private ? "a private key in DER" : "a public key in DER");
            assert_string_equal(text.of, kinds[i].of);
        }
}

static int counter_value(firn_host_port *port, uint32_t *value) {
    return port->counter.read(port->port.context, value);
}

TEST(keeps_a_counter) {
    char path[128];
    snprintf(path, sizeof path, "%s", at("counter"));
    firn_host_port port;
    firn_host_port_begin(&port, NULL, path, 1);
    uint32_t value = 9;
    assert_int_equal(counter_value(&port, &value), FIRN_OK);
    assert_int_equal(value, 0); /* the file does not exist yet */
    assert_int_equal(port.counter.advance(port.port.context, 4294967295u), FIRN_OK);
    assert_int_equal(counter_value(&port, &value), FIRN_OK);
    assert_int_equal(value, 4294967295u);
    assert_false(exists("counter.tmp"));
    static const char *const bad[] = {"", "x\n", "-1\n", "4294967296\n", "12", "1 2\n", "99999999999999999999\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file("counter", bad[i], strlen(bad[i]));
        assert_int_equal(counter_value(&port, &value), FIRN_ERROR_COUNTER);
    }
    support_bigram(&plan, &support_settings);
    write_file("counter", "3\n", 2);
    assert_int_equal(support_open(&one, &plan, &port.port), FIRN_OK);
    write_file("counter", "4\n", 2);
    assert_int_equal(support_open(&one, &plan, &port.port), FIRN_ERROR_SECURITY_COUNTER);
    firn_host_port_end(&port);
}

/* --- checkpoints --- */

static void digest_of(const opened *opened, uint8_t digest[32]) {
    assert_int_equal(firn_digest(&opened->firn, digest), FIRN_OK);
}

static const uint8_t text[40] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
static const uint64_t whole[] = {sizeof text, 0};

static void train(opened *opened) {
    bytes_source source;
    firn_step_report report;
    support_text(&source, text, whole);
    assert_int_equal(firn_train_step(&opened->firn, &source.source, &report), FIRN_OK);
}

TEST(saves_into_a_file) {
    char path[128];
    snprintf(path, sizeof path, "%s", at("checkpoint"));
    firn_host_port port;
    firn_host_port_begin(&port, path, NULL, 2);
    support_bigram(&plan, &support_settings);
    assert_int_equal(support_open(&one, &plan, &port.port), FIRN_OK);
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_ERROR_CHECKPOINT_MISSING);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    train(&one);
    assert_int_equal(firn_save(&one.firn), FIRN_OK);
    assert_false(exists("checkpoint.tmp"));
    uint8_t saved[32], restored[32];
    digest_of(&one, saved);
    assert_int_equal(support_open(&two, &plan, &port.port), FIRN_OK);
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_OK);
    digest_of(&two, restored);
    assert_memory_equal(saved, restored, 32);

    /* Full storage gives a separate error, the port says that it was the limit of file sizes, the previous file stays
     * intact, and no temporary file remains. */
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 700;
    signal(SIGXFSZ, SIG_IGN);
    train(&one);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int status = firn_save(&one.firn);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, FIRN_ERROR_STORAGE_FULL);
    assert_int_equal(port.cause, EFBIG);
    assert_false(exists("checkpoint.tmp"));
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_OK);
    digest_of(&two, restored);
    assert_memory_equal(saved, restored, 32);

    assert_int_equal(firn_save(&one.firn), FIRN_OK);
    firn_host_port_end(&port);
    firn_host_port_begin(&port, at("no-such-folder/checkpoint"), NULL, 1);
    assert_int_equal(support_open(&one, &plan, &port.port), FIRN_OK);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_STORAGE);
    firn_host_port_end(&port);
}

/* One instance saves to two files in turn, each with room that was reserved for it; a port without a file has none. */
TEST(saves_into_the_file_of_another_port) {
    char paths[2][128];
    uint8_t digests[2][32], restored[32];
    firn_host_port ports[2], none;
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s", at(i == 0 ? "last" : "best"));
        firn_host_port_begin(&ports[i], paths[i], NULL, 1);
        assert_int_equal(firn_host_port_reserve(&ports[i], 4096), FIRN_OK);
    }
    firn_host_port_begin(&none, NULL, NULL, 1);
    support_bigram(&plan, &support_settings);
    assert_int_equal(support_open(&one, &plan, &ports[0].port), FIRN_OK);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    for (int i = 1; i >= 0; i--) {
        train(&one);
        firn_host_port_exchange(&ports[0], &ports[i]);
        assert_true(exists(i == 0 ? "last.tmp" : "best.tmp"));
        assert_int_equal(firn_save(&one.firn), FIRN_OK);
        firn_host_port_exchange(&ports[0], &ports[i]);
        assert_false(exists(i == 0 ? "last.tmp" : "best.tmp"));
        digest_of(&one, digests[i]);
    }
    for (int i = 0; i < 2; i++) {
        assert_string_equal(ports[i].checkpoint, paths[i]);
        assert_int_equal(support_open(&two, &plan, &ports[i].port), FIRN_OK);
        assert_int_equal(firn_restore(&two.firn, NULL), FIRN_OK);
        digest_of(&two, restored);
        assert_memory_equal(digests[i], restored, 32);
    }
    firn_host_port_exchange(&ports[0], &none);
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_NO_STORAGE);
    firn_host_port_exchange(&ports[0], &none);
    assert_int_equal(firn_save(&one.firn), FIRN_OK);
    for (int i = 0; i < 2; i++)
        firn_host_port_end(&ports[i]);
    firn_host_port_end(&none);
}

/* A rename would replace whatever exists at the path, such as a pipe, a device or a link, so these are refused. */
TEST(replaces_only_files) {
    firn_host_port port;
    uint32_t value;
    struct stat status;
    support_bigram(&plan, &support_settings);
    assert_int_equal(mkfifo(at("pipe"), 0666), 0);
    assert_int_equal(symlink("nothing", at("to-nothing")), 0);
    static const char *const refused[] = {"pipe", "to-nothing", "."};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_false(firn_host_replaceable(at(refused[i])));
        firn_host_port_begin(&port, at(refused[i]), at(refused[i]), 1);
        assert_int_equal(port.counter.advance(port.port.context, 1), FIRN_ERROR_COUNTER);
        port.port.counter = NULL;
        assert_int_equal(support_open(&one, &plan, &port.port), FIRN_OK);
        assert_int_equal(firn_restore(&one.firn, NULL), FIRN_ERROR_CHECKPOINT_MISSING);
        assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
        assert_int_equal(firn_save(&one.firn), FIRN_ERROR_STORAGE);
        firn_host_port_end(&port);
    }
    assert_int_equal(stat(at("pipe"), &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    assert_int_equal(lstat(at("to-nothing"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));

    assert_false(firn_host_replaceable(at("no-folder/file")));

    /* If the path is a link, the file that it refers to is replaced and the link stays. */
    assert_int_equal(mkdir(at("behind"), 0777), 0);
    write_file("behind/counter", "3\n", 2);
    assert_int_equal(symlink("behind/counter", at("link")), 0);
    assert_true(firn_host_replaceable(at("link")) && firn_host_replaceable(at("none")));
    firn_host_port_begin(&port, NULL, at("link"), 1);
    assert_int_equal(port.counter.advance(port.port.context, 8), FIRN_OK);
    assert_int_equal(counter_value(&port, &value), FIRN_OK);
    assert_int_equal(value, 8);
    assert_int_equal(lstat(at("link"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    char stored[8] = {0};
    assert_int_equal(read_file("behind/counter", stored, sizeof stored), 2);
    assert_string_equal(stored, "8\n");
    assert_false(exists("behind/counter.tmp"));
    firn_host_port_end(&port);
}

/* --- blocks --- */

TEST(a_sealed_block_cannot_be_written) {
    uint8_t *block = firn_host_block(100000);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % 4096, 0);
    assert_false(a_write_faults(block));
    block[99999] = 7;
    assert_true(firn_host_block_seal(block, 100000));
    assert_true(a_write_faults(block));
    assert_true(a_write_faults(block + 99999));
    assert_int_equal(block[99999], 7);
    firn_host_block_free(block, 100000);
    assert_null(firn_host_block(0));
    assert_null(firn_host_block(UINT64_MAX));
    firn_host_block_free(NULL, 0);
}

TEST(a_populated_block_has_its_pages) {
    enum { PAGES = 64, PAGE = 4096 };
    unsigned char there[PAGES];
    uint8_t *block = firn_host_block(PAGES * PAGE - 1);
    assert_non_null(block);
    assert_true(firn_host_block_populate(block, PAGES * PAGE - 1));
    assert_int_equal(mincore(block, PAGES * PAGE, there), 0);
    for (int i = 0; i < PAGES; i++) {
        assert_int_equal(there[i] & 1, 1);
        assert_int_equal(block[i * PAGE], 0);
    }
    assert_true(firn_host_block_populate(NULL, 0));
    firn_host_block_free(block, PAGES * PAGE - 1);
}

TEST(a_plan_gets_a_block_for_each_region) {
    firn_sizes sizes = {.block_count = 3, .blocks = {{.bytes = 100}, {.bytes = 0}, {.bytes = 5000}}};
    firn_host_blocks blocks;
    assert_true(firn_host_blocks_begin(&blocks, &sizes));
    assert_int_equal(blocks.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(blocks.list[i].bytes, sizes.blocks[i].bytes);
        assert_int_equal((uintptr_t)blocks.list[i].memory % FIRN_BLOCK_ALIGNMENT, 0);
        if (blocks.list[i].bytes != 0)
            memset(blocks.list[i].memory, 0xa5, (size_t)blocks.list[i].bytes);
    }
    assert_null(blocks.list[1].memory); /* a region in the plan */
    firn_host_blocks_end(&blocks);
    firn_host_blocks_end(&blocks);
    sizes.blocks[2].bytes = UINT64_C(1) << 62;
    assert_false(firn_host_blocks_begin(&blocks, &sizes));
    assert_int_equal(blocks.count, 0);
    assert_null(blocks.list[0].memory);
}

/* --- threads --- */

typedef struct marks {
    uint8_t seen[1000];
} marks;

static void mark(void *argument, size_t first, size_t last) {
    marks *self = argument;
    for (size_t i = first; i < last; i++)
        self->seen[i]++;
}

TEST(threads_cover_every_task_once) {
    assert_true(firn_host_cpus() >= 1);
    assert_null(firn_host_threads_start(1));
    for (unsigned threads = 2; threads < 9; threads += 3) {
        firn_host_threads *pool = firn_host_threads_start(threads);
        assert_non_null(pool);
        for (size_t tasks = 0; tasks < 1000; tasks += 1 + tasks / 3) {
            static marks seen;
            memset(&seen, 0, sizeof seen);
            firn_host_threads_run(pool, tasks, mark, &seen);
            for (size_t i = 0; i < sizeof seen.seen; i++)
                assert_int_equal(seen.seen[i], i < tasks);
        }
        firn_host_threads_stop(pool);
    }
}

/* --- data --- */

static void expect_bytes(const firn_source *source, uint32_t stream, uint64_t first, const char *expected) {
    char found[64] = {0};
    assert_int_equal(source->read(source->context, stream, first, (uint32_t)strlen(expected), found), 0);
    assert_string_equal(found, expected);
}

typedef struct part {
    const char *option;
    const void *contents;
    size_t bytes;
} part;

static void expect_hash(const firn_host_data *data, const part *parts, size_t count) {
    char list[1000];
    size_t length = 0;
    uint8_t hash[32];
    for (size_t i = 0; i < count; i++) {
        mbedtls_sha256(parts[i].contents, parts[i].bytes, hash, 0);
        length += (size_t)sprintf(list + length, "%s ", parts[i].option);
        for (size_t b = 0; b < sizeof hash; b++)
            length += (size_t)sprintf(list + length, "%02x", hash[b]);
        list[length++] = '\n';
    }
    mbedtls_sha256((const uint8_t *)list, length, hash, 0);
    assert_memory_equal(data->sha256, hash, 32);
}

/* Opens text, or records of two bytes with labels. */
static bool open_data(firn_host_data *data, const char *const *paths, uint32_t count, const char *labels,
                      bool records) {
    const firn_host_wanted wanted = {
        .records = records,
        .stream_count = records ? 2 : 1,
        .streams = {{.element = FIRN_UINT8, .record_elements = records ? 2 : 1}, {FIRN_UINT8, 1, 0}}};
    return firn_host_data_open(data, &wanted, paths, count, labels, NULL);
}

/* An array of float32 whose records have this shape, and the shape that a plan reads. */
typedef struct axes_case {
    uint8_t rank, wanted_rank;
    uint64_t dims[8], wanted[8];
    const char *mend; /* NULL: it fits */
} axes_case;

TEST(compares_the_axes_of_records) {
    static const axes_case cases[] = {
        {4, 3, {9, 3, 8, 8}, {3, 8, 8}, NULL},
        {4, 3, {9, 8, 8, 3}, {3, 8, 8}, "numpy.ascontiguousarray(x.transpose(0, 3, 1, 2))"},
        {4, 3, {9, 3, 8, 8}, {8, 8, 3}, "numpy.ascontiguousarray(x.transpose(0, 2, 3, 1))"},
        {3, 2, {9, 40, 101}, {101, 40}, "numpy.ascontiguousarray(x.transpose(0, 2, 1))"},
        {2, 3, {9, 192}, {3, 8, 8}, NULL},         /* flat */
        {4, 1, {9, 8, 8, 3}, {192}, NULL},         /* the plan is */
        {4, 3, {9, 192, 1, 1}, {3, 8, 8}, NULL},   /* flat, with axes of 1 */
        {3, 3, {9, 3, 64}, {3, 8, 8}, NULL},       /* fewer axes */
        {3, 3, {9, 28, 28}, {28, 28, 1}, NULL},    /* a channel that is left out */
        {4, 2, {9, 1, 28, 28}, {28, 28}, NULL},    /* and one too many */
        {4, 3, {9, 1, 28, 14}, {28, 14, 1}, NULL}, /* and one elsewhere */
        {3, 3, {9, 10, 49}, {49, 10, 1}, "numpy.ascontiguousarray(x.transpose(0, 2, 1))"},
        {4, 3, {9, 1, 10, 49}, {49, 10, 1}, "numpy.ascontiguousarray(x.transpose(0, 3, 2, 1))"},
        {5, 2, {9, 1, 10, 1, 49}, {49, 10}, "numpy.ascontiguousarray(x.transpose(0, 4, 2, 1, 3))"},
        {3, 2, {9, 6, 32}, {3, 64}, "x.reshape(-1, 3, 64) if the elements of a record follow each other in that order"},
        {4,
         3,
         {9, 7, 7, 10},
         {49, 10, 1},
         "x.reshape(-1, 49, 10, 1) if the elements of a record follow each other in that order"},
        {1, 0, {9}, {0}, NULL},
        {3, 0, {9, 1, 1}, {0}, NULL},
        {8,
         7,
         {9, 2, 1, 2, 1, 2, 1, 3},
         {3, 1, 2, 1, 2, 1, 2},
         "numpy.ascontiguousarray(x.transpose(0, 7, 2, 1, 4, 3, 6, 5))"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        firn_data_layout layout = {.rank = cases[i].rank};
        firn_host_shape wanted = {.rank = cases[i].wanted_rank};
        char mend[300];
        memcpy(layout.dims, cases[i].dims, sizeof layout.dims);
        memcpy(wanted.dims, cases[i].wanted, sizeof wanted.dims);
        assert_int_equal(firn_host_axes_fit(&layout, &wanted), cases[i].mend == NULL);
        if (cases[i].mend == NULL)
            continue;
        firn_host_axes_mend(&layout, &wanted, mend, sizeof mend);
        assert_string_equal(mend, cases[i].mend);
    }
}

TEST(reads_files_and_folders) {
    assert_int_equal(mkdir(at("texts"), 0777), 0);
    assert_int_equal(mkdir(at("texts/inner"), 0777), 0);
    write_file("texts/b", "second", 6);
    write_file("texts/a", "first ", 6);
    write_file("texts/B", "before both ", 12);
    write_file("texts/empty", "", 0);
    write_file("texts/inner/c", "never", 5);
    write_file("texts/.hidden", "never", 5);
    assert_int_equal(symlink("a", at("texts/link")), 0);
    write_file("last", "!", 1);
    const char *paths[] = {at("texts"), at("last")};
    firn_host_data data;
    assert_true(open_data(&data, paths, 2, NULL, false));
    assert_int_equal(data.source.stream_count, 1);
    assert_int_equal(data.streams[0].segment_count, 5);
    assert_true(data.files[0].folder);
    assert_int_equal(data.files[0].left_count, 3);
    assert_non_null(strstr(data.files[0].left[0], "texts/.hidden (hidden)"));
    assert_non_null(strstr(data.files[0].left[1], "texts/inner (a folder)"));
    assert_non_null(strstr(data.files[0].left[2], "texts/link (a symbolic link)"));
    assert_int_equal(data.streams[0].segments[0].elements, 12);
    assert_int_equal(data.streams[0].segments[3].elements, 0);
    expect_bytes(&data.source, 0, 12, "first ");
    expect_bytes(&data.source, 0, 9, "th first sec");
    expect_bytes(&data.source, 0, 24, "!");
    char byte[2];
    assert_int_equal(data.source.read(data.source.context, 0, 24, 2, byte), FIRN_ERROR_SOURCE);
    static const part parts[] = {
        {"data", "before both ", 12}, {"data", "first ", 6}, {"data", "second", 6}, {"data", "", 0}, {"data", "!", 1}};
    expect_hash(&data, parts, sizeof parts / sizeof parts[0]);
    firn_host_data_close(&data);
    const char *none[] = {at("nothing")};
    assert_false(open_data(&data, none, 1, NULL, false));
    firn_host_data_close(&data);
}

TEST(unpacks_gzip) {
    gzFile packed = gzopen(at("packed.gz"), "wb");
    assert_non_null(packed);
    static char lines[20000 * 11 + 1];
    for (int i = 0; i < 20000; i++)
        sprintf(lines + (size_t)i * 11, "line %05d\n", i);
    gzwrite(packed, lines, sizeof lines - 1);
    gzclose(packed);
    const char *paths[] = {at("packed.gz")};
    firn_host_data data;
    assert_true(open_data(&data, paths, 1, NULL, false));
    assert_int_equal(data.streams[0].segments[0].elements, 20000 * 11);
    expect_bytes(&data.source, 0, 11 * 12345, "line 12345\n");
    expect_hash(&data, &(part){"data", lines, sizeof lines - 1}, 1);
    firn_host_data_close(&data);
    static uint8_t bytes[100000];
    size_t count = read_file("packed.gz", bytes, sizeof bytes);
    write_file("packed.gz", bytes, count / 2);
    const char *cut[] = {at("packed.gz")};
    assert_false(open_data(&data, cut, 1, NULL, false));
    firn_host_data_close(&data);
}

TEST(reads_records) {
    static const char images[] = "\0\0\10\3\0\0\0\2\0\0\0\2\0\0\0\1abcd", labels[] = "\0\0\10\1\0\0\0\2\1\2";
    write_file("images", images, sizeof images - 1);
    write_file("labels", labels, sizeof labels - 1);
    write_file("raw", "abcd", 4);
    const char *paths[] = {at("images")};
    char labels_path[128];
    snprintf(labels_path, sizeof labels_path, "%s", at("labels"));
    firn_host_data data;
    assert_true(open_data(&data, paths, 1, labels_path, true));
    assert_int_equal(data.source.stream_count, 2);
    assert_int_equal(data.streams[0].record_elements, 2);
    assert_int_equal(data.streams[0].segments[0].elements, 4);
    assert_int_equal(data.streams[1].record_elements, 1);
    expect_bytes(&data.source, 0, 2, "cd");
    expect_bytes(&data.source, 1, 0, "\1\2");
    static const part parts[] = {{"data", images, sizeof images - 1}, {"labels", labels, sizeof labels - 1}};
    expect_hash(&data, parts, sizeof parts / sizeof parts[0]);
    firn_host_data_close(&data);
    static const char more_labels[] = "\0\0\10\1\0\0\0\3\1\2\3";
    write_file("more-labels", more_labels, sizeof more_labels - 1);
    char more_path[128];
    snprintf(more_path, sizeof more_path, "%s", at("more-labels"));
    assert_false(open_data(&data, paths, 1, more_path, true)); /* one label too many */
    firn_host_data_close(&data);
    const char *raw[] = {at("raw")};
    assert_false(open_data(&data, raw, 1, labels_path, true)); /* raw bytes are not divided into records
                                                                */
    firn_host_data_close(&data);
}

/* A small file is read from memory, so a change is noticed and does not matter to what is read. */
TEST(a_small_file_that_changes_is_noticed) {
    write_file("small", "0123456789", 10);
    char path[128];
    const char *paths[] = {path};
    snprintf(path, sizeof path, "%s", at("small"));
    firn_host_data data;
    char fault[200];
    assert_true(open_data(&data, paths, 1, NULL, false));
    assert_true(firn_host_data_unchanged(&data));
    assert_null(firn_host_data_fault(&data, fault, sizeof fault));
    assert_int_equal(chmod(at("small"), 0640), 0); /* changes no contents */
    assert_true(firn_host_data_unchanged(&data));
    write_file("small", "01", 2);
    expect_bytes(&data.source, 0, 5, "5678");
    assert_false(firn_host_data_look(&data, 7));
    assert_false(firn_host_data_unchanged(&data));
    assert_string_equal(firn_host_data_fault(&data, fault, sizeof fault), path);
    assert_non_null(strstr(fault, "it has 2 bytes and had 10 at the start, so it is shorter"));
    firn_host_data_close(&data);
}

/* If a file that is not in memory changes, a read is an error and not a fault, even if the new contents are as long. */
TEST(a_large_file_that_changes_is_an_error) {
    char path[128];
    const char *paths[] = {path};
    snprintf(path, sizeof path, "%s", at("large"));
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    for (int way = 0; way < 3; way++) {
        firn_host_data data;
        char bytes[4], fault[200];
        write_file("large", "", 0);
        assert_int_equal(truncate(at("large"), (33 << 20) + 1), 0);
        assert_int_equal(utimensat(AT_FDCWD, at("large"), old, 0), 0);
        assert_true(open_data(&data, paths, 1, NULL, false));
        assert_int_equal(data.source.read(data.source.context, 0, 5, 4, bytes), FIRN_OK);
        assert_int_equal(rename(at("large"), at("moved")), 0); /* changes no contents */
        assert_int_equal(data.source.read(data.source.context, 0, 5, 4, bytes), FIRN_OK);
        assert_null(firn_host_data_touched(&data, 0));
        assert_int_equal(utimensat(AT_FDCWD, at("moved"), NULL, 0), 0); /* nor does a new time */
        assert_int_equal(data.source.read(data.source.context, 0, 5, 4, bytes), FIRN_OK);
        assert_string_equal(firn_host_data_touched(&data, 0), path);
        assert_null(firn_host_data_touched(&data, 0));
        int file = open(at("moved"), O_WRONLY);
        if (way == 0)
            assert_int_equal(ftruncate(file, 2), 0);
        else
            assert_int_equal(pwrite(file, "x", 1, 1 << 20), 1);
        if (way == 2) /* the time of modification is set back */
            assert_int_equal(futimens(file, old), 0);
        close(file);
        assert_int_equal(data.source.read(data.source.context, 0, 5, 4, bytes), FIRN_ERROR_SOURCE);
        assert_non_null(firn_host_data_fault(&data, fault, sizeof fault));
        assert_non_null(strstr(fault, way == 0 ? "so it is shorter" : "was changed while it was in use"));
        firn_host_data_close(&data);
        assert_int_equal(unlink(at("moved")), 0);
    }
}

/* --- files that change while they are read ------------------------------------------------------------------------ */

enum { CHANGED_BYTES = 1 << 16, ROUNDS = 10 };
static char first_bytes[CHANGED_BYTES], later_bytes[CHANGED_BYTES];

static void *overwrite(void *argument) {
    const int file = *(const int *)argument;
    return pwrite(file, later_bytes, CHANGED_BYTES, 0) == CHANGED_BYTES ? argument : NULL;
}

/* The system changes the time of a file before its bytes, so that who looks between the two sees a new time and the old
 * bytes. */
TEST(a_change_is_noticed_whenever_it_is_looked_at) {
    uint8_t hash[32];
    memset(later_bytes, 1, sizeof later_bytes);
    assert_int_equal(firn_sha256_of(first_bytes, sizeof first_bytes, hash), FIRN_OK);
    for (int round = 0; round < ROUNDS; round++) {
        firn_host_watch watch;
        pthread_t writer;
        void *wrote = NULL;
        write_file("changing", first_bytes, sizeof first_bytes);
        int file = open(at("changing"), O_RDWR);
        assert_true(file >= 0);
        firn_host_watch_begin(&watch, file);
        firn_host_watch_hashed(&watch, hash);
        assert_int_equal(pthread_create(&writer, NULL, overwrite, &file), 0);
        while (firn_host_watch_look(&watch) && watch.renewals == 0)
            ;
        assert_int_equal(pthread_join(writer, &wrote), 0);
        assert_non_null(wrote);
        assert_false(firn_host_watch_look(&watch));
        assert_int_equal(close(file), 0);
    }
}
