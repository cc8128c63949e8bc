/* Tests the memory pass: buffers with overlapping lifetimes never share bytes, in random problems, tight problems and
 * compiled graphs. Graphs must compute the same bits in the planned arena as with a separate block for each value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/placement.h"
#include "tests/unit/support_interpreter.h"
#include "tests/unit/support_recipes.h"
#include "tests/unit/support_test.h"

/* --- placement ---------------------------------------------------------------------------------------------------- */

static bool overlap(const firnc_block *a, const firnc_block *b) {
    return a->first <= b->last && b->first <= a->last && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

static void check_placement(const firnc_block *buffers, uint32_t count, uint64_t top) {
    for (uint32_t i = 0; i < count; i++) {
        assert_true(buffers[i].offset + buffers[i].bytes <= top);
        for (uint32_t j = 0; j < i; j++)
            if (overlap(&buffers[i], &buffers[j]))
                fail_msg("buffers %u and %u overlap", (unsigned)j, (unsigned)i);
    }
}

TEST(test_bound) {
    const firnc_block buffers[] = {{.bytes = 32, .first = 0, .last = 2},
                                   {.bytes = 16, .first = 2, .last = 3},
                                   {.bytes = 64, .first = 3, .last = 3},
                                   {.bytes = 8, .first = 0, .last = UINT32_MAX}};
    assert_int_equal(firnc_lower_bound(buffers, 4), 16 + 64 + 8);
    assert_int_equal(firnc_lower_bound(buffers, 1), 32);
    assert_int_equal(firnc_lower_bound(buffers, 0), 0);
}

TEST(test_checker_can_fail) {
    firnc_block a = {.bytes = 16, .first = 0, .last = 4, .offset = 0};
    firnc_block b = {.bytes = 16, .first = 4, .last = 5, .offset = 8};
    assert_true(overlap(&a, &b));
    b.first = 5;
    assert_false(overlap(&a, &b));
    b.first = 4;
    b.offset = 16;
    assert_false(overlap(&a, &b));
}

TEST(test_random_problems) {
    uint32_t random = 12345;
    for (uint32_t round = 0; round < 60; round++) {
        uint32_t count = 1 + round;
        firnc_block *buffers = firnc_allocate(count * sizeof *buffers);
        for (uint32_t i = 0; i < count; i++) {
            random = random * 1664525u + 1013904223u;
            uint32_t first = (random >> 8) % 40, length = (random >> 16) % 12;
            buffers[i] = (firnc_block){.bytes = 16 * (1 + (random >> 24) % 20), .first = first, .last = first + length};
        }
        if (round % 5 == 0)
            buffers[0] = (firnc_block){.bytes = 48, .first = 0, .last = UINT32_MAX};
        uint64_t top = firnc_place_buffers(buffers, count);
        check_placement(buffers, count, top);
        assert_true(top >= firnc_lower_bound(buffers, count));
        uint64_t *offsets = firnc_allocate(count * sizeof *offsets);
        for (uint32_t i = 0; i < count; i++)
            offsets[i] = buffers[i].offset;
        assert_int_equal(firnc_place_buffers(buffers, count), top);
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(buffers[i].offset, offsets[i]);
    }
}

/* --- problems with a known answer --- */

#define TIGHT_MOST 1000

/* A rectangle of times and offsets, to be cut into buffers. */
typedef struct piece {
    uint32_t first, last;
    uint64_t from, to;
} piece;

typedef struct tight_problem {
    firnc_block buffers[TIGHT_MOST];
    uint32_t count, random;
} tight_problem;

static uint32_t draw(tight_problem *p, uint32_t below) {
    p->random = p->random * 1664525u + 1013904223u;
    return (p->random >> 8) % below;
}

/* Cuts a block that is in use at every moment into pieces, none longer or larger than requested. The block is an
 * optimal solution of the resulting problem. */
static void cut_block(tight_problem *p, piece whole, uint32_t longest, uint64_t largest) {
    piece open[TIGHT_MOST];
    uint32_t count = 0;
    open[count++] = whole;
    while (count > 0) {
        piece at = open[--count];
        uint32_t length = at.last - at.first + 1, units = (uint32_t)((at.to - at.from) / 16);
        bool too_long = length > longest, too_large = units > largest / 16;
        if (!too_long && !too_large) {
            assert_true(p->count < TIGHT_MOST);
            p->buffers[p->count++] = (firnc_block){.bytes = at.to - at.from, .first = at.first, .last = at.last};
            continue;
        }
        piece other = at;
        if (too_long && (!too_large || draw(p, 2) == 0)) {
            other.first = at.first + 1 + draw(p, length - 1);
            at.last = other.first - 1;
        } else {
            other.from = at.from + 16 * (1 + (uint64_t)draw(p, units - 1));
            at.to = other.from;
        }
        assert_true(count + 2 <= TIGHT_MOST);
        open[count++] = at;
        open[count++] = other;
    }
}

/* Plain first fit, largest buffer first: the baseline that the search must beat. */
static uint64_t first_fit(const firnc_block *buffers, uint32_t count) {
    firnc_block *placed = firnc_allocate(count * sizeof *placed);
    bool *done = firnc_allocate(count * sizeof *done);
    uint64_t top = 0;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t next = count;
        for (uint32_t i = 0; i < count; i++)
            if (!done[i] && (next == count || buffers[i].bytes > buffers[next].bytes))
                next = i;
        done[next] = true;
        placed[n] = buffers[next];
        placed[n].offset = 0;
        for (uint32_t i = 0; i < n; i++)
            if (overlap(&placed[i], &placed[n])) {
                placed[n].offset = placed[i].offset + placed[i].bytes;
                i = UINT32_MAX; /* start again with the first buffer */
            }
        top = placed[n].offset + placed[n].bytes > top ? placed[n].offset + placed[n].bytes : top;
    }
    return top;
}

/* Removes about one buffer in eight, so that the others no longer fill the block exactly. */
static void make_holes(tight_problem *p) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (draw(p, 8) != 0)
            p->buffers[kept++] = p->buffers[i];
    p->count = kept;
}

/* Problems like those of MiniMalloc: the result must be at most 1.12 times the lower bound; first fit needs far more.
 */
TEST(test_tight_problems) {
    static const struct {
        uint32_t seed, times, longest;
        uint64_t bytes, largest;
        bool holes;
    } problems[] = {{1, 400, 50, 1 << 20, 1 << 18, false}, {3, 100, 20, 1 << 18, 1 << 15, true}};
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        tight_problem *p = firnc_allocate(sizeof *p);
        p->random = problems[i].seed;
        cut_block(p, (piece){.last = problems[i].times - 1, .to = problems[i].bytes}, problems[i].longest,
                  problems[i].largest);
        uint64_t bound = firnc_lower_bound(p->buffers, p->count);
        assert_int_equal(bound, problems[i].bytes);
        if (problems[i].holes) {
            make_holes(p);
            bound = firnc_lower_bound(p->buffers, p->count);
        }
        uint64_t top = firnc_place_buffers(p->buffers, p->count);
        check_placement(p->buffers, p->count, top);
        double plain = (double)first_fit(p->buffers, p->count) / (double)bound;
        print_message("%u buffers, %.3f of the lower bound; first fit takes %.3f\n", (unsigned)p->count,
                      (double)top / (double)bound, plain);
        assert_true((double)top <= 1.12 * (double)bound);
        assert_true(plain > 1.2);
    }
}

/* --- public problems --- */

/* Reads lines of id,lower,upper,size; upper is exclusive. Returns the number of buffers, 0 if the file does not exist.
 */
static uint32_t read_problem(const char *path, firnc_block *buffers, uint32_t most) {
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    char text[256];
    uint32_t count = 0;
    assert_non_null(fgets(text, sizeof text, file));
    while (count < most && fgets(text, sizeof text, file) != NULL) {
        unsigned long id, lower, upper, size;
        assert_int_equal(sscanf(text, "%lu,%lu,%lu,%lu", &id, &lower, &upper, &size), 4);
        buffers[count++] = (firnc_block){.bytes = size, .first = (uint32_t)lower, .last = (uint32_t)upper - 1};
    }
    fclose(file);
    return count;
}

/* Optional: if FIRN_DATA=F is set, runs the challenging problems of MiniMalloc in F/minimalloc (A.1048576.csv and so
 * on), also limited to 1.12 times the lower bound. Plain heuristics need 1.30 times on average. */
TEST(test_public_problems) {
    const char *folder = getenv("FIRN_DATA");
    if (folder == NULL)
        skip();
    static const char *const names[] = {"A", "C", "E", "G", "I"};
    firnc_block *buffers = firnc_allocate(1000 * sizeof *buffers);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint32_t count = read_problem(firnc_format("%s/minimalloc/%s.1048576.csv", folder, names[i]), buffers, 1000);
        if (count == 0)
            fail_msg("%s/minimalloc has no problem %s", folder, names[i]);
        uint64_t top = firnc_place_buffers(buffers, count), bound = firnc_lower_bound(buffers, count);
        check_placement(buffers, count, top);
        print_message("%s: %u buffers, %.3f of the lower bound\n", names[i], (unsigned)count,
                      (double)top / (double)bound);
        assert_true((double)top <= 1.12 * (double)bound);
    }
}

/* --- graphs ------------------------------------------------------------------------------------------------------- */

/* The region that a value belongs to. */
static uint8_t region_of(const firnc_graph *graph, firnc_value value) {
    if (firnc_is_constant(graph->values[value].role))
        return FIRNC_IN_CONSTANT;
    if (!firnc_is_state(graph->values[value].role))
        return FIRNC_IN_ARENA;
    if (graph->values[value].role == FIRNC_ROLE_PARAMETER)
        return FIRNC_IN_PARAMETERS;
    const bool of_session = value == graph->cursor || value == graph->metric_sum || value == graph->metric_count;
    return of_session ? FIRNC_IN_SESSION : FIRNC_IN_OPTIMIZER;
}

/* Values that live at the same time may share bytes only if one is output 0 of an op and the other an input whose last
 * use is that op, or if they are constants with the same bytes. */
static void check_graph(const firnc_graph *graph) {
    for (firnc_value i = 0; i < graph->value_count; i++) {
        const firnc_value_info *a = &graph->values[i];
        if (a->first == FIRNC_NONE)
            continue;
        assert_int_equal(a->offset % 16, 0);
        assert_int_equal(a->region, region_of(graph, i));
        for (firnc_value j = 0; j < i; j++) {
            const firnc_value_info *b = &graph->values[j];
            if (b->first == FIRNC_NONE || b->region != a->region)
                continue;
            uint64_t a_bytes, b_bytes;
            assert_true(firn_shape_bytes(&a->shape, &a_bytes));
            assert_true(firn_shape_bytes(&b->shape, &b_bytes));
            firnc_block x = {.bytes = a_bytes, .first = a->first, .last = a->last, .offset = a->offset};
            firnc_block y = {.bytes = b_bytes, .first = b->first, .last = b->last, .offset = b->offset};
            if (!overlap(&x, &y))
                continue;
            if (a->elements != NULL && b->elements != NULL) {
                assert_true(a->offset == b->offset && a_bytes == b_bytes);
                assert_memory_equal(a->elements, b->elements, (size_t)a_bytes);
                continue;
            }
            const firnc_value_info *early = a->last == b->first ? a : b, *late = early == a ? b : a;
            assert_int_equal(early->last, late->first);
            assert_int_equal(late->producer, early->last);
            assert_int_equal(graph->nodes[late->producer].outputs[0], late == a ? i : j);
            assert_int_equal(a->offset, b->offset);
            assert_int_equal(a_bytes, b_bytes);
        }
    }
}

/* Runs two whole steps in the arena and with separate blocks; the state must be the same bit by bit. */
static void compare_machines(const test_recipe *recipe, const firnc_graph *graph) {
    test_machine machines[] = {test_machine_planned(graph, 3), test_machine_apart(graph, 3)};
    uint32_t micro_batches = recipe->job.data.batch_size / recipe->job.data.micro_batch_size;
    uint32_t limit = test_classes(recipe);
    for (size_t m = 0; m < 2; m++)
        for (uint32_t step = 0; step < 2; step++) {
            for (uint32_t micro = 0; micro < micro_batches; micro++) {
                test_fill_inputs(&machines[m], limit, step * micro_batches + micro);
                test_machine_run(&machines[m], FIRNC_PHASE_MICRO_BATCH, step, micro);
            }
            test_machine_run(&machines[m], FIRNC_PHASE_FINALISE, step, 0);
            test_machine_run(&machines[m], FIRNC_PHASE_UPDATE, step, 0);
            test_machine_run(&machines[m], FIRNC_PHASE_BOOKKEEP, step, 0);
            test_machine_run(&machines[m], FIRNC_PHASE_EVALUATE, step, 0);
        }
    for (firnc_value i = 0; i < graph->value_count; i++) {
        uint64_t bytes;
        assert_true(firn_shape_bytes(&graph->values[i].shape, &bytes));
        if (firnc_is_state(graph->values[i].role))
            assert_memory_equal(machines[0].data[i], machines[1].data[i], (size_t)bytes);
    }
    assert_true(test_element(&machines[0], graph->loss, 0) > 0);
    assert_true(test_element(&machines[0], graph->loss, 0) == test_element(&machines[1], graph->loss, 0));
}

static void check_recipe(const test_recipe *recipe) {
    firnc_compilation compilation = test_compilation_through(recipe, firnc_lower);
    const firnc_graph *graph = compilation.graph;
    assert_true(graph->region_bytes[FIRNC_IN_ARENA] >= graph->live_bytes);
    check_graph(graph);
    compare_machines(recipe, graph);
    /* the search finds an optimal placement for every plan of this size */
    assert_int_equal(graph->region_bytes[FIRNC_IN_ARENA], graph->live_bytes);
}

TEST(test_graphs) {
    for (uint32_t variant = 0; variant < 48; variant++) {
        test_recipe recipe = (variant & 1) != 0 ? test_mlp_recipe() : test_gpt2_recipe();
        if ((variant & 2) != 0)
            test_make_mixed(&recipe, FIRN_BFLOAT16, 1);
        if ((variant & 4) != 0)
            recipe.job.data.micro_batch_size /= 2;
        if ((variant & 8) != 0) {
            recipe.job.precision.scaling = FIRNC_SCALING_DYNAMIC;
            recipe.job.precision.initial_loss_scale = 1024;
            recipe.job.precision.clipping = FIRN_FB_CLIPPING_NORM;
            recipe.job.precision.clip_threshold = 0.5f;
        }
        static const firnc_job_pattern every = {.pattern = "*.c_*"};
        if (variant >= 32) { /* frozen weights in the half type, and LoRA */
            recipe.job.fine_tuning.last_layers = 1;
            recipe.job.fine_tuning.frozen_type = FIRN_BFLOAT16;
            recipe.job.fine_tuning.rank = 2;
            recipe.job.fine_tuning.alpha = 3;
            recipe.job.fine_tuning.layers = &every;
            recipe.job.fine_tuning.layer_count = (variant & 1) == 0;
        }
        if ((variant & 16) != 0) {
            recipe.job.mode = FIRNC_EVAL;
            recipe.job.data.batch_size = recipe.job.data.micro_batch_size;
        }
        check_recipe(&recipe);
    }
}

/* Returns how many tensors of the arena, views aside, do not begin at a cache line of 64 bytes. */
static uint32_t count_across_lines(const firnc_graph *graph) {
    uint32_t count = 0;
    for (firnc_value i = 0; i < graph->value_count; i++) {
        const firnc_value_info *value = &graph->values[i];
        count += value->first != FIRNC_NONE && value->region == FIRNC_IN_ARENA && value->base == FIRNC_NONE &&
                 value->offset % 64 != 0;
    }
    return count;
}

/* In an arena of 1 MiB tensors begin at lines; in a smaller one that would waste bytes. */
TEST(test_lines_of_a_large_arena) {
    for (int large = 0; large < 2; large++) {
        test_recipe recipe = test_mlp_recipe();
        recipe.job.data.batch_size = recipe.job.data.micro_batch_size = large != 0 ? 1u << 16 : 4;
        firnc_compilation compilation = test_compilation_through(&recipe, firnc_lower);
        const firnc_graph *graph = compilation.graph;
        assert_int_equal(graph->live_bytes >= 1 << 20, large);
        assert_int_equal(count_across_lines(graph) == 0, large);
    }
}

/* In a train and an eval plan of one model, the parameters must have the same places, and nothing else is in their
 * region. */
TEST(test_regions_of_a_model) {
    test_recipe train = test_gpt2_recipe(), eval = test_gpt2_recipe();
    eval.job.mode = FIRNC_EVAL;
    firnc_compilation a = test_compilation_through(&train, firnc_lower);
    firnc_compilation b = test_compilation_through(&eval, firnc_lower);
    firnc_value *x, *y;
    uint32_t count = firnc_sorted_values(a.graph, firnc_is_parameter, &x);
    assert_int_equal(count, firnc_sorted_values(b.graph, firnc_is_parameter, &y));
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(a.graph->values[x[i]].name, b.graph->values[y[i]].name);
        assert_int_equal(a.graph->values[x[i]].offset, b.graph->values[y[i]].offset);
        uint64_t bytes;
        assert_true(firn_shape_bytes(&a.graph->values[x[i]].shape, &bytes));
        assert_int_equal(a.graph->values[x[i]].offset, (end + 15) / 16 * 16);
        end = a.graph->values[x[i]].offset + bytes;
    }
    for (uint8_t i = 0; i < 2; i++)
        assert_int_equal((i == 0 ? a : b).graph->region_bytes[FIRNC_IN_PARAMETERS], (end + 15) / 16 * 16);
    assert_int_equal(b.graph->region_bytes[FIRNC_IN_OPTIMIZER], 0);
    for (uint8_t kind = FIRNC_IN_OPTIMIZER; kind < FIRNC_REGIONS; kind++)
        assert_true(a.graph->region_bytes[kind] > 0 ||
                    (kind != FIRNC_IN_OPTIMIZER && kind != FIRNC_IN_SESSION && kind != FIRNC_IN_ARENA));
}
