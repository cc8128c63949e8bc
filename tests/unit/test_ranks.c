/* Tests runtime/ranks over threads in place of MPI: the nodes that ranks add up make the tree of NUMERICS.md for every
 * number of ranks, and a run that is shared has the state, the losses and the metric of one process. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/firnc.h"
#include "runtime/ranks/ranks.h"
#include "runtime/ranks/segments.h"
#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_test.h"

enum { MOST = 33, RANKS = 7, TEXT = 400 };

/* --- the tree ----------------------------------------------------------------------------------------------------- */

static void join(char *text, const char *left, const char *right) {
    char sum[2 * TEXT + 3];
    snprintf(sum, sizeof sum, "(%s%s)", left, right);
    assert_true(strlen(sum) < TEXT);
    memcpy(text, sum, strlen(sum) + 1);
}

/* Node (level, index) of the tree over leaves 1, 2, ... as a text of sums; "" beyond the last leaf. */
static void write_node(uint32_t level, uint32_t index, uint32_t leaves, char *text) {
    char left[TEXT], right[TEXT];
    text[0] = 0;
    if ((uint64_t)index << level >= leaves)
        return;
    if (level == 0) {
        snprintf(text, TEXT, "%u", index + 1);
        return;
    }
    write_node(level - 1, 2 * index, leaves, left);
    write_node(level - 1, 2 * index + 1, leaves, right);
    if (right[0] == 0)
        memcpy(text, left, strlen(left) + 1);
    else
        join(text, left, right);
}

static char nodes[MOST][TEXT];

static void add_texts(void *argument, uint32_t left, uint32_t right) {
    (void)argument;
    join(nodes[left], nodes[left], nodes[right]);
}

TEST(segments_make_the_tree) {
    char wanted[TEXT];
    for (uint32_t leaves = 1; leaves <= MOST; leaves++)
        for (uint32_t ranks = 1; ranks <= leaves; ranks++) {
            firn_ranks_segment segments[MOST];
            uint32_t count = 0;
            uint64_t at = 0;
            for (uint32_t rank = 0; rank < ranks; rank++) {
                const firn_ranks_share share = firn_ranks_share_of(rank, ranks, leaves);
                const uint32_t before = count;
                assert_true(share.first == at && share.end > at && share.end - at <= leaves / ranks + 1);
                for (; at < share.end; at += UINT64_C(1) << segments[count++].level) {
                    segments[count] = firn_ranks_segment_at((uint32_t)at, (uint32_t)share.end);
                    write_node(segments[count].level, (uint32_t)at >> segments[count].level, leaves, nodes[count]);
                }
                assert_true(at == share.end && count - before == firn_ranks_count_segments(share));
            }
            assert_true(at == leaves);
            firn_ranks_add_tree(segments, count, add_texts, NULL);
            write_node(6, 0, leaves, wanted);
            assert_string_equal(nodes[0], wanted);
        }
}

/* --- messages between threads ------------------------------------------------------------------------------------- */

typedef struct letter {
    struct letter *next;
    uint64_t count;
    uint8_t bytes[];
} letter;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t came;
    letter *boxes[RANKS][RANKS]; /* [from][to], the oldest first */
} post = {.lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};

static void put(uint32_t from, const firn_ranks_message *message) {
    letter *sent = malloc(sizeof *sent + message->count), **end = &post.boxes[from][message->peer];
    sent->next = NULL;
    sent->count = message->count;
    memcpy(sent->bytes, message->bytes, message->count);
    while (*end != NULL)
        end = &(*end)->next;
    *end = sent;
}

static void take(uint32_t to, const firn_ranks_message *message) {
    letter **box = &post.boxes[message->peer][to];
    while (*box == NULL)
        pthread_cond_wait(&post.came, &post.lock);
    letter *got = *box;
    *box = got->next;
    assert_true(got->count == message->count);
    memcpy(message->bytes, got->bytes, got->count);
    free(got);
}

static void exchange(void *context, const firn_ranks_messages *sends, const firn_ranks_messages *receives) {
    const uint32_t rank = *(const uint32_t *)context;
    pthread_mutex_lock(&post.lock);
    for (uint32_t i = 0; i < sends->count; i++)
        put(rank, &sends->list[i]);
    pthread_cond_broadcast(&post.came);
    for (uint32_t i = 0; i < receives->count; i++)
        take(rank, &receives->list[i]);
    pthread_mutex_unlock(&post.lock);
}

/* --- data ----------------------------------------------------------------------------------------------------------
 */

enum { RECORDS = 70, STREAMS = 3 };

/* Data as a plan reads them. */
typedef struct made_data {
    firn_source source;
    firn_stream streams[STREAMS];
    firn_segment segments[STREAMS];
    firn_stream_info infos[STREAMS];
} made_data;

static int read_made(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const firn_stream_info *info = &((const made_data *)context)->infos[stream];
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t noise = (uint32_t)((first + i + 1) * 2654435761u) >> 16;
        const int32_t integer = (int32_t)(noise % (info->limit != 0 ? info->limit : 200));
        const float real = (float)integer / 100 - 1;
        if (info->element == FIRN_FLOAT32)
            memcpy((uint8_t *)elements + i * sizeof real, &real, sizeof real);
        else if (info->element == FIRN_INT32)
            memcpy((uint8_t *)elements + i * sizeof integer, &integer, sizeof integer);
        else
            ((uint8_t *)elements)[i] = (uint8_t)integer;
    }
    return 0;
}

/* A window of text takes as many elements as a record of an image, or fewer. */
static const firn_source *make_data(made_data *data, const firn *instance) {
    firn_info info;
    if (firn_describe(instance, &info) != FIRN_OK)
        return NULL;
    data->source = (firn_source){data, data->streams, info.streams, read_made};
    for (uint32_t i = 0; i < info.streams && i < STREAMS; i++) {
        if (firn_stream_at(instance, i, &data->infos[i]) != FIRN_OK)
            return NULL;
        const uint32_t elements = data->infos[i].record_elements;
        data->segments[i].elements = (uint64_t)RECORDS * (info.window != 0 ? info.window : elements);
        data->streams[i] = (firn_stream){data->infos[i].element, elements, &data->segments[i], 1};
    }
    return &data->source;
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

typedef struct outcome {
    uint64_t optimizer, touched; /* bytes of the optimizer's state: all of them, and those that were ever written */
    uint64_t resident;           /* bytes of its pages that have memory at the end */
    uint8_t digest[32], saved[32], restored[32];
    firn_step_report report;
    float metric;
    int error;
} outcome;

typedef struct thread {
    const compiled_plan *plan;
    uint32_t rank, size, steps;
    bool eval, by_pages; /* by_pages: pages are counted in place of bytes, which looks at no byte */
    outcome outcome;
    firn_ranks_volume volume;
} thread;

static void count_touched(const compiled_run *opened, const compiled_plan *plan, outcome *found) {
    const firn_header header = compiled_plan_header(plan);
    uint64_t touched = 0;
    found->optimizer = 0;
    for (uint32_t i = 0; i < header.region_count; i++) {
        const uint8_t *bytes = opened->blocks[i].memory;
        if (firn_region_fast_kind(header.region_kinds[i]) != FIRN_REGION_OPTIMIZER)
            continue;
        found->optimizer += header.region_bytes[i];
        for (uint64_t at = 0; at < header.region_bytes[i]; at += sizeof(float))
            touched += memcmp(bytes + at, "\0\0\0", sizeof(float)) != 0 ? sizeof(float) : 0;
    }
    found->touched = touched > found->touched ? touched : found->touched;
}

/* The pages that lie in a block as a whole. */
static uint8_t *pages_of(const firn_block *block, uint64_t *bytes) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)block->memory;
    const uintptr_t first = (at + page - 1) / page * page, end = (at + (uintptr_t)block->bytes) / page * page;
    *bytes = end > first ? end - first : 0;
    return (uint8_t *)block->memory + (first - at);
}

/* Fills a block with zeros, in pages that nothing has touched. */
static void forget(const firn_block *block) {
    uint64_t bytes;
    uint8_t *pages = pages_of(block, &bytes);
    memset(block->memory, 0, (size_t)block->bytes);
    if (bytes != 0)
        (void)madvise(pages, (size_t)bytes, MADV_DONTNEED);
}

static void count_pages(const compiled_run *opened, const compiled_plan *plan, outcome *found) {
    enum { PAGES = 4096 };
    static _Thread_local unsigned char there[PAGES];
    const firn_header header = compiled_plan_header(plan);
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t resident = 0, bytes;
    found->optimizer = 0;
    for (uint32_t i = 0; i < header.region_count; i++) {
        if (firn_region_fast_kind(header.region_kinds[i]) != FIRN_REGION_OPTIMIZER)
            continue;
        uint8_t *pages = pages_of(&opened->blocks[i], &bytes);
        found->optimizer += header.region_bytes[i];
        if (bytes / page > PAGES || mincore(pages, (size_t)bytes, there) != 0)
            resident = UINT64_MAX / 2;
        for (uint64_t k = 0; k < bytes / page && k < PAGES; k++)
            resident += (there[k] & 1) * page;
    }
    found->resident = resident > found->resident ? resident : found->resident;
}

static void count(const compiled_run *opened, thread *t) {
    if (t->by_pages)
        count_pages(opened, t->plan, &t->outcome);
    else
        count_touched(opened, t->plan, &t->outcome);
}

static pthread_mutex_t one_opens = PTHREAD_MUTEX_INITIALIZER;

/* Restores a record in one process. Returns an error, or FIRN_OK and the digest. */
static int digest_of_record(const compiled_plan *plan, const compiled_port *port, uint8_t digest[32]) {
    compiled_run alone;
    pthread_mutex_lock(&one_opens);
    int error = compiled_run_open(&alone, plan, 0);
    pthread_mutex_unlock(&one_opens);
    free(alone.port.record);
    alone.port.record = malloc(port->stored);
    alone.port.stored = alone.port.capacity = port->stored;
    memcpy(alone.port.record, port->record, port->stored);
    if (error == FIRN_OK)
        error = firn_restore(&alone.firn, NULL);
    if (error == FIRN_OK)
        error = firn_digest(&alone.firn, digest);
    compiled_run_close(&alone);
    return error;
}

static void forget_all(const compiled_run *opened) {
    for (uint32_t i = 0; i < FIRN_BLOCKS_MAX; i++)
        if (opened->blocks[i].memory != NULL)
            forget(&opened->blocks[i]);
}

static int refuse_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    (void)context, (void)bytes;
    return offset + count > 1024 ? FIRN_ERROR_STORAGE : FIRN_OK;
}

/* Lets a save fail in the middle, after which all ranks go on. */
static int fail_to_save(firn_ranks *ranks, compiled_run *opened, uint32_t rank) {
    const firn_storage *good = opened->port.port.storage;
    firn_storage full = *good;
    full.program = refuse_program;
    opened->port.port.storage = &full;
    const int status = firn_ranks_save(ranks);
    opened->port.port.storage = good;
    return status == (rank == 0 ? FIRN_ERROR_STORAGE : FIRN_OK) ? FIRN_OK : FIRN_ERROR_ARGUMENT;
}

/* Lets a record with another last byte of its state be refused, after which all ranks go on. */
static int fail_to_restore(firn_ranks *ranks, compiled_run *opened, uint32_t rank) {
    enum { COMMIT = 40 }; /* more than what is behind the state */
    uint8_t *byte = rank == 0 ? opened->port.record + opened->port.stored - COMMIT : (uint8_t[1]){0};
    *byte ^= 1;
    const int status = firn_ranks_restore(ranks, NULL);
    *byte ^= 1;
    return status == (rank == 0 ? FIRN_ERROR_CHECKPOINT_DAMAGED : FIRN_OK) ? FIRN_OK : FIRN_ERROR_ARGUMENT;
}

/* Saves the state, and restores it with other pages. Makes its digest before and behind that, and that of what one
 * process restores. */
static int save_and_restore(firn_ranks *ranks, compiled_run *opened, thread *t) {
    outcome *found = &t->outcome;
    int error = firn_ranks_digest(ranks, found->digest);
    error |= fail_to_save(ranks, opened, t->rank);
    error |= firn_ranks_save(ranks);
    count(opened, t);
    if (t->rank == 0 && error == FIRN_OK)
        error |= digest_of_record(t->plan, &opened->port, found->saved);
    forget_all(opened);
    error |= fail_to_restore(ranks, opened, t->rank);
    error |= firn_ranks_restore(ranks, NULL);
    firn_ranks_share_state(ranks);
    error |= firn_ranks_digest(ranks, found->restored);
    count(opened, t);
    return error;
}

/* Asserts only outside of threads: what goes wrong is in the outcome. */
static void *run(void *argument) {
    thread *t = argument;
    compiled_run opened;
    made_data data;
    char fault[300];
    uint32_t from, other;
    const firn_ranks_transport transport = {&t->rank, t->rank, t->size, exchange};
    pthread_mutex_lock(&one_opens);
    t->outcome.error = compiled_run_open(&opened, t->plan, 0);
    pthread_mutex_unlock(&one_opens);
    const firn_source *source = make_data(&data, &opened.firn);
    firn_ranks *ranks = firn_ranks_begin(&opened.firn, &transport, fault, sizeof fault);
    forget_all(&opened);
    if (ranks != NULL)
        t->outcome.error |= firn_ranks_initialise(ranks);
    for (uint32_t i = 0; i < t->steps && ranks != NULL && t->outcome.error == FIRN_OK; i++)
        if (t->eval)
            t->outcome.error = firn_ranks_eval_step(ranks, source, &from);
        else
            t->outcome.error = firn_ranks_train_step(ranks, source, &t->outcome.report, &from);
    if (ranks == NULL ||
        (!t->eval && t->size > 1 && firn_ranks_verify(ranks, &other) == FIRN_OK && other != UINT32_MAX))
        t->outcome.error = FIRN_ERROR_ARGUMENT;
    count(&opened, t);
    if (t->eval)
        t->outcome.error |= firn_digest(&opened.firn, t->outcome.digest);
    else if (ranks != NULL)
        t->outcome.error |= save_and_restore(ranks, &opened, t);
    if (ranks != NULL)
        t->volume = firn_ranks_sent(ranks);
    if (t->eval && t->rank == 0)
        t->outcome.error |= firn_eval_result(&opened.firn, &t->outcome.metric);
    firn_ranks_end(ranks);
    compiled_run_close(&opened);
    return NULL;
}

/* Runs a plan in so many ranks; threads has their outcomes. */
static void share_as(const thread *like, uint32_t size, thread *threads) {
    pthread_t handles[RANKS];
    for (uint32_t i = 0; i < size; i++) {
        threads[i] = *like;
        threads[i].rank = i;
        threads[i].size = size;
    }
    for (uint32_t i = 0; i < size; i++)
        assert_int_equal(pthread_create(&handles[i], NULL, run, &threads[i]), 0);
    for (uint32_t i = 0; i < size; i++)
        pthread_join(handles[i], NULL);
}

static void share(const compiled_plan *plan, uint32_t size, uint32_t steps, bool eval, thread *threads) {
    share_as(&(thread){.plan = plan, .steps = steps, .eval = eval}, size, threads);
}

static void check_training(const char *recipe, const char *const *settings, uint32_t count) {
    enum { STEPS = 3 };
    compiled_plan plan;
    thread one[RANKS], some[RANKS];
    compiled_plan_make(&plan, recipe, FIRNC_TRAIN, settings, count);
    share(&plan, 1, STEPS, false, one);
    assert_int_equal(one[0].outcome.error, FIRN_OK);
    for (uint32_t size = 2; size <= RANKS; size++) {
        share(&plan, size, STEPS, false, some);
        for (uint32_t i = 0; i < size; i++) {
            assert_int_equal(some[i].outcome.error, FIRN_OK);
            assert_memory_equal(&some[i].outcome.report, &one[0].outcome.report, sizeof one[0].outcome.report);
        }
        assert_memory_equal(some[0].outcome.digest, one[0].outcome.digest, sizeof one[0].outcome.digest);
        assert_memory_equal(some[0].outcome.saved, one[0].outcome.digest, sizeof one[0].outcome.digest);
        assert_memory_equal(some[0].outcome.restored, one[0].outcome.digest, sizeof one[0].outcome.digest);
    }
    compiled_plan_free(&plan);
}

TEST(a_training_has_the_bits_of_one_process) {
    static const char *const settings[] = {"trainer.init.loop.micro_batch_order=tree",
                                           "trainer.fit.train_dataloader={batch_size: 9, micro_batch_size: 1}"};
    check_training("compiler/recipes/small_gpt2.yaml", settings, 2);
}

/* The largest tensor of the plan is the table of tokens, 256 x 32, of which an optimizer has at most two. Adagrad's
 * state does not begin with zeros, and Lamb's tensors have one owner each. */
TEST(a_rank_touches_its_share_of_the_optimizer) {
    enum { LARGEST = 2 * 256 * 32 * 4, COUNTERS = 64 };
    static const char *const optimizers[] = {"trainer.init.optimizer={AdamW: {}}",
                                             "trainer.init.optimizer={Adagrad: {initial_accumulator_value: 0.5}}",
                                             "trainer.init.optimizer={Lamb: {}}"};
    for (size_t o = 0; o < sizeof optimizers / sizeof *optimizers; o++) {
        const char *const settings[] = {"trainer.init.loop.micro_batch_order=tree", "trainer.init.model.hidden_size=32",
                                        "trainer.fit.train_dataloader={batch_size: 8, micro_batch_size: 1}",
                                        optimizers[o]};
        compiled_plan plan;
        thread one[RANKS], some[RANKS];
        compiled_plan_make(&plan, "compiler/recipes/small_gpt2.yaml", FIRNC_TRAIN, settings, 4);
        share(&plan, 1, 2, false, one);
        for (uint32_t size = 2; size <= 4; size++) {
            share(&plan, size, 2, false, some);
            assert_memory_equal(some[0].outcome.digest, one[0].outcome.digest, sizeof one[0].outcome.digest);
            for (uint32_t i = 0; i < size; i++) {
                const outcome *of = &some[i].outcome;
                assert_int_equal(of->error, FIRN_OK);
                assert_true(some[i].volume.updates_share);
                assert_true(of->touched > 0 && of->touched <= of->optimizer / size + LARGEST + COUNTERS);
            }
        }
        compiled_plan_free(&plan);
    }
}

/* Of pages, too, while a checkpoint is written and read: a tensor has 1 MiB at most, of which an optimizer has two, and
 * each part of one begins and ends in a page of its own. */
TEST(a_rank_touches_few_pages) {
    enum { LARGEST = 2 * 256 * 1024 * 4, BORDERS = 80 * 4096 };
    static const char *const settings[] = {"trainer.init.loop.micro_batch_order=tree",
                                           "trainer.init.model.hidden_size=256", "trainer.init.model.filter_size=1024",
                                           "trainer.fit.train_dataloader={batch_size: 4, micro_batch_size: 1}",
                                           "trainer.init.optimizer={AdamW: {}}"};
    compiled_plan plan;
    thread some[RANKS];
    compiled_plan_make(&plan, "compiler/recipes/small_gpt2.yaml", FIRNC_TRAIN, settings, 5);
    share_as(&(thread){.plan = &plan, .steps = 1, .by_pages = true}, 4, some);
    for (uint32_t i = 0; i < 4; i++) {
        const outcome *of = &some[i].outcome;
        assert_int_equal(of->error, FIRN_OK);
        assert_true(of->optimizer / 4 + LARGEST + BORDERS < of->optimizer);
        assert_true(of->resident > 0 && of->resident <= of->optimizer / 4 + LARGEST + BORDERS);
    }
    assert_memory_equal(some[0].outcome.saved, some[0].outcome.digest, sizeof some[0].outcome.digest);
    assert_memory_equal(some[0].outcome.restored, some[0].outcome.digest, sizeof some[0].outcome.digest);
    compiled_plan_free(&plan);
}

TEST(statistics_of_batch_norms_are_folded_in_order) {
    static const char *const settings[] = {"trainer.init.loop.micro_batch_order=tree",
                                           "trainer.fit.train_dataloader={batch_size: 16, micro_batch_size: 2}"};
    check_training("compiler/recipes/small_resnet8.yaml", settings, 2);
}

TEST(the_divisor_of_a_batch_is_found_together) {
    static const char *const settings[] = {
        "trainer.init.loop.micro_batch_order=tree",
        "trainer.init.model={name: mlp, input_size: 4, hidden_sizes: [3], output_size: 5, ignore_index: 1}",
        "trainer.init.precision={enabled: false}",
        "trainer.fit.train_dataloader={batch_size: 14, micro_batch_size: 2, shuffle: true}"};
    check_training("compiler/recipes/small_mlp.yaml", settings, 4);
}

TEST(an_evaluation_has_the_bits_of_one_process) {
    static const char *const settings[] = {"trainer.validate.metric=loss",
                                           "trainer.validate.val_dataloader={batch_size: 2, held_out: false}"};
    compiled_plan plan;
    thread one[RANKS], some[RANKS];
    compiled_plan_make(&plan, "compiler/recipes/small_mlp.yaml", FIRNC_EVAL, settings, 2);
    for (uint32_t size = 2; size <= 4; size++) {
        share(&plan, 1, 2 * size, true, one);
        share(&plan, size, 2, true, some);
        assert_int_equal(one[0].outcome.error, FIRN_OK);
        assert_int_equal(some[0].outcome.error, FIRN_OK);
        assert_memory_equal(&some[0].outcome.metric, &one[0].outcome.metric, sizeof one[0].outcome.metric);
        assert_memory_equal(some[0].outcome.digest, one[0].outcome.digest, sizeof one[0].outcome.digest);
    }
    compiled_plan_free(&plan);
}

/* Writes why a plan cannot be shared by so many ranks. */
static void refuse(const char *recipe, const char *const *settings, uint32_t count, uint32_t size, char fault[300]) {
    compiled_plan plan;
    compiled_run opened;
    const firn_ranks_transport transport = {NULL, 0, size, exchange};
    compiled_plan_make(&plan, recipe, FIRNC_TRAIN, settings, count);
    assert_int_equal(compiled_run_open(&opened, &plan, 0), FIRN_OK);
    assert_null(firn_ranks_begin(&opened.firn, &transport, fault, 300));
    compiled_run_close(&opened);
    compiled_plan_free(&plan);
}

/* firn_push is linked, as in firn-mpi: a program that never calls it opens no plan with a ring. */
TEST(what_cannot_be_shared_is_refused) {
    firn closed = {0};
    assert_int_equal(firn_push(&closed, NULL, 0, 0), FIRN_ERROR_NOT_OPEN);
    static const char *const sequential = "trainer.fit.train_dataloader={batch_size: 4, micro_batch_size: 2}";
    static const char *const ring[] = {"trainer.init.loop.micro_batch_order=tree",
                                       "trainer.fit.train_dataloader={batch_size: 4, micro_batch_size: 2, "
                                       "held_out_per_mille: 0, source: push, ring: 8}"};
    char fault[300];
    refuse("compiler/recipes/small_mlp.yaml", &sequential, 1, 2, fault);
    assert_non_null(strstr(fault, "micro_batch_order: tree"));
    refuse("compiler/recipes/small_mlp.yaml", &sequential, 1, 3, fault);
    assert_non_null(strstr(fault, "2 micro-batches in a step, and there are 3"));
    refuse("compiler/recipes/small_mlp.yaml", ring, 2, 2, fault);
    assert_non_null(strstr(fault, "pushed into a ring"));
}
