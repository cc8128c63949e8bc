/* The classes of schedules that do not combine others: their settings under the reference's names, and the node that
 * each class becomes. Every class has a twin for the weight decay, which has other names for some settings.
 * schedules/SCHEDULES.md documents the classes for users. */
#include <string.h>

#include "compiler/recipe/recipe_schedule_parts.h"
#include "schedules/schedule_elementary.h"

/* --- settings ----------------------------------------------------------------------------------------------------- */

typedef struct settings {
    double initial, final, power, rate, scale, t_mult, eta_min, gamma, pct_start, final_div_factor;
    uint64_t total, warmup_steps, half_period, step_size, step_size_up, step_size_down, total_steps;
    int mode, scale_mode, anneal_strategy;
    bool staircase, three_phase;
} settings;

static const settings defaults = {.initial = 1,
                                  .power = 1,
                                  .scale = 1,
                                  .gamma = 1,
                                  .pct_start = 0.3,
                                  .final_div_factor = 1e4,
                                  .warmup_steps = 1,
                                  .t_mult = 1,
                                  .step_size_up = 2000,
                                  .total_steps = 1000};

static const firnc_choice cyclic_modes[] = {
    {"triangular", 0}, {"triangular2", FIRN_SCHEDULE_HALVING}, {"exp_range", FIRN_SCHEDULE_DECAYING}, {NULL, 0}};
static const firnc_choice scale_modes[] = {{"cycle", 0}, {"iterations", 1}, {NULL, 0}};
static const firnc_choice strategies[] = {{"cos", 0}, {"linear", FIRN_SCHEDULE_STRAIGHT}, {NULL, 0}};

#define AT(member) offsetof(settings, member)

/* A field that is a value of the schedule, and one that is a number of steps. */
#define VALUE(member)  .kind = FIRNC_FIELD_DOUBLE, AT(member), 0, 1e30
#define LENGTH(member) .kind = FIRNC_FIELD_LONG, AT(member), 1, FIRNC_STEPS_MAX

enum {
    INITIAL,
    END,
    BASE,
    MAX,
    VALUES,
    LAMBDA,
    CONSTANT_VALUE,
    TOTAL_ITERS,
    POWER,
    CYCLE,
    DECAY_RATE,
    STAIRCASE,
    STEP_EXPONENT,
    SCALE,
    WARMUP_STEPS,
    T_MAX,
    T_0,
    T_MULT,
    ETA_MIN,
    GAMMA,
    MILESTONES,
    STEP_SIZE,
    COEFFICIENT,
    STEP_SIZE_UP,
    STEP_SIZE_DOWN,
    MODE,
    SCALE_MODE,
    TOTAL_STEPS,
    PCT_START,
    FINAL_DIV_FACTOR,
    THREE_PHASE,
    ANNEAL_STRATEGY,
    SETTINGS
};

/* Every setting of every class. decay_key: its name in the weight decay twins; NULL if it is the same. */
static const struct {
    const char *decay_key;
    firnc_field field;
} fields[SETTINGS] = {
    [INITIAL] = {"initial_val", {"initial_learning_rate", VALUE(initial)}},
    [END] = {"end_val", {"end_learning_rate", VALUE(final)}},
    [BASE] = {"base_val", {"base_lr", VALUE(initial)}},
    [MAX] = {"max_val", {"max_lr", VALUE(final)}},
    [VALUES] = {"vals", {"learning_rates", .kind = FIRNC_FIELD_ENTRIES}},
    [LAMBDA] = {"val_lambda", {"lr_lambda", .kind = FIRNC_FIELD_OTHER}},
    [CONSTANT_VALUE] = {"val", {"learning_rate", VALUE(initial)}},
    [TOTAL_ITERS] = {NULL, {"total_iters", LENGTH(total)}},
    [POWER] = {NULL, {"power", VALUE(power)}},
    [CYCLE] = {NULL,
               {"cycle", .kind = FIRNC_FIELD_IGNORED, .usual = "false",
                .only = "the last value holds from total_iters on, as in the reference; use CyclicLR"}},
    [DECAY_RATE] = {NULL, {"decay_rate", VALUE(rate)}},
    [STAIRCASE] = {NULL, {"staircase", .kind = FIRNC_FIELD_FLAG, AT(staircase)}},
    [STEP_EXPONENT] = {NULL, {"step_exponent", VALUE(power)}},
    [SCALE] = {NULL, {"scale", VALUE(scale)}},
    [WARMUP_STEPS] = {NULL, {"warmup_steps", LENGTH(warmup_steps)}},
    [T_MAX] = {NULL, {"T_max", LENGTH(half_period)}},
    [T_0] = {NULL, {"T_0", LENGTH(half_period)}},
    [T_MULT] = {NULL, {"T_mult", .kind = FIRNC_FIELD_DOUBLE, AT(t_mult), 1, FIRNC_STEPS_MAX}},
    [ETA_MIN] = {NULL, {"eta_min", VALUE(eta_min)}},
    [GAMMA] = {NULL, {"gamma", VALUE(gamma)}},
    [MILESTONES] = {NULL, {"milestones", .kind = FIRNC_FIELD_ENTRIES}},
    [STEP_SIZE] = {NULL, {"step_size", LENGTH(step_size)}},
    [COEFFICIENT] = {NULL, {"coefficient", VALUE(rate)}},
    [STEP_SIZE_UP] = {NULL, {"step_size_up", LENGTH(step_size_up)}},
    [STEP_SIZE_DOWN] = {NULL, {"step_size_down", LENGTH(step_size_down)}},
    [MODE] = {NULL, {"mode", .kind = FIRNC_FIELD_CHOICE, AT(mode), .choices = cyclic_modes}},
    [SCALE_MODE] = {NULL, {"scale_mode", .kind = FIRNC_FIELD_CHOICE, AT(scale_mode), .choices = scale_modes}},
    [TOTAL_STEPS] = {NULL, {"total_steps", LENGTH(total_steps)}},
    [PCT_START] = {NULL,
                   {"pct_start", .kind = FIRNC_FIELD_DOUBLE, AT(pct_start), 0, 1, .above_low = true,
                    .below_high = true}},
    [FINAL_DIV_FACTOR] = {NULL,
                          {"final_div_factor", .kind = FIRNC_FIELD_DOUBLE, AT(final_div_factor), 0, 1e30,
                           .above_low = true}},
    [THREE_PHASE] = {NULL, {"three_phase", .kind = FIRNC_FIELD_FLAG, AT(three_phase)}},
    [ANNEAL_STRATEGY] = {NULL,
                         {"anneal_strategy", .kind = FIRNC_FIELD_CHOICE, AT(anneal_strategy), .choices = strategies}},
};

#undef AT
#undef VALUE
#undef LENGTH

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Reads a list of steps, each greater than the one before. */
static bool add_milestones(const firnc_schedule_reader *r, const firnc_tree *list) {
    uint64_t last = 0;
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next) {
        uint64_t step;
        if (!firnc_schedule_steps(entry, 0, &step))
            return false;
        if (entry != list->first && step <= last)
            return firnc_tree_fail(entry, "is not after the milestone before it; put them in ascending order");
        if (!firnc_schedule_add_number(r, entry, (double)step))
            return false;
        last = step;
    }
    return list->first != NULL || firnc_tree_fail(list, "is empty; add a step");
}

static bool add_values(const firnc_schedule_reader *r, const firnc_tree *list) {
    static const firnc_field value = {.kind = FIRNC_FIELD_DOUBLE, .low = 0, .high = 1e30};
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next) {
        double number;
        if (!firnc_field_number(entry, &value, &number) || !firnc_schedule_add_number(r, entry, number + 0.0))
            return false;
    }
    return list->first != NULL || firnc_tree_fail(list, "is empty; add a value");
}

/* --- the nodes ---------------------------------------------------------------------------------------------------- */

/* A leaf being read. When a class's function is called, its node has its kind, mode 0 and no other value. */
typedef struct leaf {
    const firnc_schedule_reader *reader;
    const firnc_tree *mapping;
    settings settings;
    firn_schedule_node *node;
    firnc_schedule_traits *traits;
} leaf;

static bool make_constant(leaf *l) {
    l->node->initial = l->settings.initial;
    l->node->total = l->settings.total;
    return true;
}

static bool make_decay(leaf *l) {
    l->node->initial = l->settings.initial;
    l->node->final = l->settings.final;
    l->node->total = l->settings.total;
    return true;
}

static bool make_polynomial(leaf *l) {
    l->node->kind = l->settings.power == 1 ? FIRN_SCHEDULE_LINEAR : FIRN_SCHEDULE_POLYNOMIAL;
    l->node->power = l->settings.power == 1 ? 0 : l->settings.power;
    return make_decay(l);
}

static bool make_exponential(leaf *l) {
    l->node->mode = l->settings.staircase ? FIRN_SCHEDULE_STAIRCASE : 0;
    l->node->initial = l->settings.initial;
    l->node->rate = l->settings.rate;
    l->node->total = l->settings.total;
    return true;
}

static bool make_inverse_time(leaf *l) {
    l->node->power = l->settings.power;
    return make_exponential(l);
}

static bool make_inverse_square_root(leaf *l) {
    l->node->initial = l->settings.initial;
    l->node->rate = l->settings.scale;
    l->node->total = l->settings.warmup_steps;
    return true;
}

static bool make_cosine_annealing(leaf *l) {
    l->node->initial = l->settings.initial;
    l->node->final = l->settings.eta_min;
    l->node->total = l->settings.half_period;
    return true;
}

/* The reference allows a T_mult of 1 only, too. */
static bool make_warm_restarts(leaf *l) {
    const settings *s = &l->settings;
    const char *twin = l->reader->weight_decay ? "WD" : "LR";
    const double first = (double)s->half_period, second = first * s->t_mult, third = second * s->t_mult;
    if (s->t_mult != 1)
        return firnc_tree_fail(
            firnc_tree_child(l->mapping, "T_mult"),
            "%s makes each period longer than the one before, and here all are of T_0 steps; write "
            "a Sequential%s with a CosineDecay%s for each period, of total_iters %.15g, %.15g, %.15g "
            "and so on, or T_mult: 1",
            firnc_number_text(s->t_mult), twin, twin, first, second, third);
    l->node->mode = FIRN_SCHEDULE_RESTART;
    return make_cosine_annealing(l);
}

static bool make_multi_step(leaf *l) {
    const firnc_tree *milestones = firnc_tree_child(l->mapping, "milestones");
    l->node->initial = l->settings.initial;
    l->node->rate = l->settings.gamma;
    l->node->auxiliary = l->reader->job->schedule.number_count;
    l->node->total = firnc_tree_count(milestones);
    return add_milestones(l->reader, milestones);
}

static bool make_step(leaf *l) {
    l->node->mode = FIRN_SCHEDULE_STAIRCASE;
    l->node->initial = l->settings.initial;
    l->node->rate = l->settings.gamma;
    l->node->total = l->settings.step_size;
    return true;
}

static bool make_multiplicative(leaf *l) {
    l->node->initial = l->settings.initial;
    l->node->rate = l->settings.rate;
    l->node->total = 1;
    return true;
}

static bool make_piecewise(leaf *l) {
    const firnc_tree *milestones = firnc_tree_child(l->mapping, "milestones");
    const firnc_tree *values = firnc_tree_child(l->mapping, l->reader->weight_decay ? "vals" : "learning_rates");
    uint32_t count = firnc_tree_count(milestones);
    if (firnc_tree_count(values) != count + 1)
        return firnc_tree_fail(values, "%u values for %u milestones; write one before each and one after the last",
                               (unsigned)firnc_tree_count(values), (unsigned)count);
    l->node->auxiliary = l->reader->job->schedule.number_count;
    l->node->total = count;
    if (!add_milestones(l->reader, milestones) || !add_values(l->reader, values))
        return false;
    l->traits->initial = l->reader->job->schedule.numbers[l->node->auxiliary + count];
    return true;
}

/* The mode decides whether the factor of a cycle goes by cycles or by steps, and only one mode has a gamma. */
static void note_idle_cyclic_keys(const leaf *l) {
    const bool by_steps = l->settings.mode == FIRN_SCHEDULE_DECAYING;
    const firnc_idle_key scale_mode = {"scale_mode", by_steps ? "iterations" : "cycle"}, gamma = {"gamma", "1"};
    const firnc_tree *mode = firnc_tree_child(l->mapping, "mode");
    if (l->reader->job->mode != FIRNC_TRAIN)
        return;
    firnc_idle_note_keys(l->mapping, &scale_mode, 1, mode, "mode decides it, as in the reference; remove this key");
    firnc_idle_note_keys(l->mapping, &gamma, by_steps ? 0 : 1, mode,
                         "it is for mode: exp_range; write that, or remove this key");
}

static bool make_cyclic(leaf *l) {
    const settings *s = &l->settings;
    note_idle_cyclic_keys(l);
    l->node->mode = (uint16_t)s->mode;
    l->node->initial = s->initial;
    l->node->final = s->final;
    l->node->total = s->step_size_up;
    l->node->auxiliary = s->step_size_down == 0 ? s->step_size_up : s->step_size_down;
    l->node->rate = s->mode == FIRN_SCHEDULE_DECAYING ? s->gamma : 0;
    return true;
}

/* The least divisor for which the quotient still fits a float32. */
static double least_divisor(double value) {
    double divisor = value / FIRNC_SINGLE_MAX;
    while (!(value / divisor <= FIRNC_SINGLE_MAX))
        divisor *= 1 + 0x1p-52;
    return divisor;
}

static bool make_one_cycle(leaf *l) {
    const settings *s = &l->settings;
    double peak = s->pct_start * (double)s->total_steps - 1, last = (double)(s->total_steps - 1);
    if (!(peak > 0))
        return firnc_tree_fail(l->mapping,
                               "the peak would lie at step pct_start * total_steps - 1, %.9g; write total_steps of at "
                               "least %.0f%s",
                               peak, firn_schedule_floor(1 / s->pct_start) + 1,
                               s->total_steps > 1 ? firnc_format(", or pct_start above %.6g", 1 / (last + 1)) : "");
    if (s->three_phase && !(2 * peak < last))
        return firnc_tree_fail(l->mapping,
                               "the second phase would end at step %.9g of %llu; write pct_start of at most 0.5",
                               2 * peak, (unsigned long long)s->total_steps);
    const firnc_tree *divisor = firnc_tree_child(l->mapping, "final_div_factor");
    double end = s->initial / s->final_div_factor;
    if (divisor != NULL && !(end <= FIRNC_SINGLE_MAX))
        return firnc_tree_fail(divisor, "%s divided by it is %.9g, more than a float32 holds; write at least %s",
                               l->reader->weight_decay ? "initial_val" : "initial_learning_rate", end,
                               firnc_number_text(least_divisor(s->initial)));
    l->node->mode = (uint16_t)((unsigned)s->anneal_strategy | (s->three_phase ? FIRN_SCHEDULE_THREE_PHASE : 0U));
    l->node->initial = s->initial;
    l->node->final = s->final;
    l->node->rate = end;
    l->node->total = s->total_steps;
    l->node->power = peak;
    if (l->traits->length == 0)
        l->traits->length = s->total_steps;
    return true;
}

/* --- LambdaLR ----------------------------------------------------------------------------------------------------- */

/* Reads one lambda: a text is an expression, a list is a table. */
static bool make_lambda(const firnc_schedule_reader *r, const firnc_tree *lambda, uint32_t index) {
    firn_schedule_node *node = &r->job->schedule.nodes[index];
    if (lambda->kind == FIRNC_LIST) {
        *node = (firn_schedule_node){
            .kind = FIRN_SCHEDULE_TABLE, .auxiliary = r->job->schedule.number_count, .total = firnc_tree_count(lambda)};
        return add_values(r, lambda);
    }
    if (lambda->kind != FIRNC_SCALAR)
        return firnc_tree_fail(lambda, "is a mapping; write an expression of t, or a list with a value for each step");
    uint32_t first = r->job->schedule.instruction_count;
    if (!firnc_expression_read(r, lambda))
        return false;
    *node = (firn_schedule_node){
        .kind = FIRN_SCHEDULE_EXPRESSION, .auxiliary = first, .total = r->job->schedule.instruction_count - first};
    return true;
}

/* Whether a list is a table, that is, whether all its entries are plain numbers. Otherwise it is a list of lambdas,
 * which may be numbers in quotes. If plain and quoted numbers are mixed, stores false in *good after one line on
 * stderr. */
static bool is_table(const firnc_tree *list, bool *good) {
    const firnc_tree *quoted = NULL;
    bool plain = false;
    *good = true;
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next) {
        if (entry->kind != FIRNC_SCALAR || strspn(entry->text, "0123456789.eE+-") != strlen(entry->text))
            return false;
        plain = plain || entry->plain;
        quoted = entry->plain ? quoted : entry;
    }
    if (quoted != NULL && plain)
        *good = firnc_tree_fail(quoted,
                                "\"%.60s\" is in quotes among numbers; take them off to make it a value of the table",
                                quoted->text);
    return quoted == NULL;
}

/* Reads the product of initial * lambda(t) over all lambdas: this node has one product node below it for each. */
static bool make_lambdas(leaf *l) {
    const firnc_tree *lambdas = firnc_tree_child(l->mapping, l->reader->weight_decay ? "val_lambda" : "lr_lambda");
    bool good = true, several = lambdas->kind == FIRNC_LIST && !is_table(lambdas, &good);
    uint32_t count = several ? firnc_tree_count(lambdas) : 1, first, child;
    firn_schedule_node *nodes = l->reader->job->schedule.nodes;
    if (!good || !firnc_schedule_add_nodes(l->reader, lambdas, count, &first))
        return false;
    *l->node = (firn_schedule_node){.kind = FIRN_SCHEDULE_PRODUCT,
                                    .first_child = (uint16_t)first,
                                    .child_count = (uint16_t)count,
                                    .initial = 1,
                                    .final = 1};
    if (!several) {
        l->node->initial = l->settings.initial;
        return make_lambda(l->reader, lambdas, first);
    }
    for (const firnc_tree *entry = lambdas->first; entry != NULL; entry = entry->next, first++) {
        if (!firnc_schedule_add_nodes(l->reader, entry, 1, &child))
            return false;
        nodes[first] = (firn_schedule_node){.kind = FIRN_SCHEDULE_PRODUCT,
                                            .first_child = (uint16_t)child,
                                            .child_count = 1,
                                            .initial = l->settings.initial,
                                            .final = 1};
        if (!make_lambda(l->reader, entry, child))
            return false;
    }
    return true;
}

/* --- the classes -------------------------------------------------------------------------------------------------- */

#define TAKES(setting) (UINT64_C(1) << (setting))

/* Every class accepts total_iters: if the reference has no such setting, it is the length within a sequence. */
static const struct {
    const char *rate_name, *decay_name;
    firn_schedule_kind kind;
    bool (*make)(leaf *l);
    uint64_t required, optional;
} leaves[FIRNC_SCHEDULE_LEAVES] = {
    {"ConstantLR", "ConstantWD", FIRN_SCHEDULE_CONSTANT, make_constant, TAKES(CONSTANT_VALUE), 0},
    {"LinearLR", "LinearWD", FIRN_SCHEDULE_LINEAR, make_decay, TAKES(INITIAL) | TAKES(END) | TAKES(TOTAL_ITERS),
     TAKES(CYCLE)},
    {"PolynomialLR", "PolynomialWD", FIRN_SCHEDULE_POLYNOMIAL, make_polynomial,
     TAKES(INITIAL) | TAKES(END) | TAKES(TOTAL_ITERS), TAKES(POWER) | TAKES(CYCLE)},
    {"CosineDecayLR", "CosineDecayWD", FIRN_SCHEDULE_COSINE, make_decay,
     TAKES(INITIAL) | TAKES(END) | TAKES(TOTAL_ITERS), 0},
    {"ExponentialLR", "ExponentialWD", FIRN_SCHEDULE_EXPONENTIAL, make_exponential,
     TAKES(INITIAL) | TAKES(TOTAL_ITERS) | TAKES(DECAY_RATE), TAKES(STAIRCASE)},
    {"InverseExponentialTimeDecayLR", "InverseExponentialTimeDecayWD", FIRN_SCHEDULE_INVERSE_TIME, make_inverse_time,
     TAKES(INITIAL) | TAKES(STEP_EXPONENT) | TAKES(TOTAL_ITERS) | TAKES(DECAY_RATE), TAKES(STAIRCASE)},
    {"InverseSquareRootDecayLR", "InverseSquareRootDecayWD", FIRN_SCHEDULE_INVERSE_SQUARE_ROOT,
     make_inverse_square_root, 0, TAKES(INITIAL) | TAKES(SCALE) | TAKES(WARMUP_STEPS)},
    {"CosineAnnealingLR", "CosineAnnealingWD", FIRN_SCHEDULE_COSINE_PERIODIC, make_cosine_annealing,
     TAKES(INITIAL) | TAKES(T_MAX), TAKES(ETA_MIN)},
    {"CosineAnnealingWarmRestarts", "CosineAnnealingWarmRestartsWD", FIRN_SCHEDULE_COSINE_PERIODIC, make_warm_restarts,
     TAKES(INITIAL) | TAKES(T_0), TAKES(T_MULT) | TAKES(ETA_MIN)},
    {"MultiStepLR", "MultiStepWD", FIRN_SCHEDULE_MULTI_STEP, make_multi_step,
     TAKES(INITIAL) | TAKES(GAMMA) | TAKES(MILESTONES), 0},
    {"StepLR", "StepWD", FIRN_SCHEDULE_EXPONENTIAL, make_step, TAKES(INITIAL) | TAKES(STEP_SIZE) | TAKES(GAMMA), 0},
    {"PiecewiseConstantLR", "PiecewiseConstantWD", FIRN_SCHEDULE_PIECEWISE, make_piecewise,
     TAKES(VALUES) | TAKES(MILESTONES), 0},
    {"MultiplicativeLR", "MultiplicativeWD", FIRN_SCHEDULE_EXPONENTIAL, make_multiplicative,
     TAKES(INITIAL) | TAKES(COEFFICIENT), 0},
    {"LambdaLR", "LambdaWD", FIRN_SCHEDULE_PRODUCT, make_lambdas, TAKES(INITIAL) | TAKES(LAMBDA), 0},
    {"CyclicLR", "CyclicWD", FIRN_SCHEDULE_CYCLIC, make_cyclic, TAKES(BASE) | TAKES(MAX),
     TAKES(STEP_SIZE_UP) | TAKES(STEP_SIZE_DOWN) | TAKES(MODE) | TAKES(GAMMA) | TAKES(SCALE_MODE)},
    {"OneCycleLR", "OneCycleWD", FIRN_SCHEDULE_ONE_CYCLE, make_one_cycle, TAKES(INITIAL) | TAKES(MAX),
     TAKES(TOTAL_STEPS) | TAKES(PCT_START) | TAKES(FINAL_DIV_FACTOR) | TAKES(THREE_PHASE) | TAKES(ANNEAL_STRATEGY)},
};

uint32_t firnc_schedule_leaf_choices(firnc_choice *choices, bool weight_decay) {
    for (int i = 0; i < FIRNC_SCHEDULE_LEAVES; i++)
        choices[i] = (firnc_choice){weight_decay ? leaves[i].decay_name : leaves[i].rate_name, i};
    return FIRNC_SCHEDULE_LEAVES;
}

/* Collects the fields of a class, under the names of the learning rate or the weight decay. */
static uint32_t collect_fields(firnc_field *into, uint32_t class, bool weight_decay) {
    uint64_t taken = leaves[class].required | leaves[class].optional | TAKES(TOTAL_ITERS);
    uint32_t count = 0;
    for (uint32_t i = 0; i < SETTINGS; i++) {
        if ((taken & TAKES(i)) == 0)
            continue;
        firnc_field *field = &into[count++];
        *field = fields[i].field;
        field->required = (leaves[class].required & TAKES(i)) != 0;
        if (weight_decay && fields[i].decay_key != NULL)
            field->key = fields[i].decay_key;
    }
    return count;
}

bool firnc_schedule_read_leaf(const firnc_schedule_reader *r, const firnc_tree *mapping, uint32_t class, uint32_t index,
                              firnc_schedule_traits *traits) {
    firnc_field taken[SETTINGS + FIRNC_SCHEDULE_COMMON];
    if (!r->weight_decay && !firnc_schedule_rename(mapping, &mapping))
        return false;
    leaf l = {.reader = r, .mapping = mapping, .settings = defaults, .traits = traits};
    uint32_t count = collect_fields(taken, class, r->weight_decay);
    count += firnc_schedule_common_fields(taken + count, r);
    if (!firnc_fields_read(mapping, taken, count, &l.settings))
        return false;
    l.settings.initial += 0.0; /* makes a negative zero positive, as nodes require */
    l.settings.final += 0.0;
    l.settings.eta_min += 0.0;
    traits->initial = l.settings.initial;
    traits->length = l.settings.total;
    l.node = &r->job->schedule.nodes[index];
    *l.node = (firn_schedule_node){.kind = (uint16_t)leaves[class].kind};
    return leaves[class].make(&l);
}
