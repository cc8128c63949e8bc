/* Opens a plan with its key, blocks, port and data, and turns the library's errors into messages for the command
 * line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/decode/decode.h"
#include "runtime/targets/host/images/images.h"

/* --- errors --- */

/* The file that an error concerns. */
typedef enum subject { PLAN, DATA, CHECKPOINT, COUNTER, KERNELS } subject;

/* How to mend an error whose own text does not say so. */
static const struct {
    int error;
    const char *mend;
} mends[] = {
    {FIRN_ERROR_WRONG_MODE, "train runs plans compiled with --mode train; eval, predict, generate and train --eval run "
                            "those compiled with --mode eval"},
    {FIRN_ERROR_NO_METRIC, "compile it with a metric, or write its outputs by firn predict"},
    {FIRN_ERROR_WRONG_KEY, "give the public key of the signer by --pub"},
    {FIRN_ERROR_OTHER_DEVICE, "give the plan for this --vendor and --class"},
    {FIRN_ERROR_OTHER_IMAGE, "give the plan with this --image-id"},
    {FIRN_ERROR_SIGNATURE, "compile it again, or get it again from where it came"},
    {FIRN_ERROR_UNSIGNED, "sign it by `firnc sign` and `firnc attach`"},
    {FIRN_ERROR_NUMERICS_VERSION, "compile it again with the firnc of this version"},
    {FIRN_ERROR_SECURITY_COUNTER, "compile it with a --security-counter that is not below the stored one"},
    {FIRN_ERROR_CHECKPOINT_DAMAGED, "use another copy; a damaged one is never read in part"},
    {FIRN_ERROR_CHECKPOINT_OTHER_RUN, "resume with the plan that wrote it; for another plan, as one that is longer, "
                                      "firnc compile --continue takes parameters and the optimizer's state from this "
                                      "checkpoint"},
    {FIRN_ERROR_CHECKPOINT_VERSION, "use the firn that wrote it"},
    {FIRN_ERROR_CHECKPOINT_OTHER_PREPROCESSING,
     "evaluate with a plan of the same recipe, or give --allow-other-preprocessing"},
    {FIRN_ERROR_CHECKPOINT_OTHER_SPLIT,
     "evaluate with the held_out_per_mille of its training, or give --allow-other-split: then samples that it was "
     "trained with may be evaluated"},
    {FIRN_ERROR_CHECKPOINT_AUTHENTICATION,
     "give the key of the device that wrote it by --device-key, and none if it was written without one"},
    {FIRN_ERROR_STORAGE, "look at the folder's permissions and the disk; only a regular file is replaced"},
    {FIRN_ERROR_COUNTER, "the file must hold one decimal number and its folder be writable"},
    {FIRN_ERROR_DATA_TOO_SHORT, "give more of it, or compile with a smaller batch"},
    {FIRN_ERROR_NOT_ENOUGH_PUSHED, "give more of it, or compile with a smaller batch"},
    {FIRN_ERROR_DATA_RANGE, "the recipe's vocab_size or number of classes must cover every value"},
    {FIRN_ERROR_NO_ROWS, "give records of which some count"},
    {FIRN_ERROR_ARITHMETIC, "run it on another machine; an emulator may round or flush subnormals in its own way"},
};

static const char *mend_of(int error) {
    for (size_t i = 0; i < sizeof mends / sizeof *mends; i++)
        if (mends[i].error == error)
            return mends[i].mend;
    bool damaged = error <= FIRN_ERROR_TRUNCATED && error > FIRN_ERROR_CHECKPOINT_MISSING;
    return damaged ? "get the plan again from where it came" : NULL;
}

static subject subject_of(int error) {
    if (error <= FIRN_ERROR_CHECKPOINT_MISSING && error > FIRN_ERROR_STORAGE)
        return CHECKPOINT;
    if (error == FIRN_ERROR_STORAGE || error == FIRN_ERROR_STORAGE_FULL || error == FIRN_ERROR_NO_STORAGE)
        return CHECKPOINT;
    if (error == FIRN_ERROR_COUNTER)
        return COUNTER;
    if (error == FIRN_ERROR_KERNELS_UNKNOWN)
        return KERNELS;
    if (error == FIRN_ERROR_NO_ROWS)
        return DATA;
    if (error <= FIRN_ERROR_SOURCE && error >= FIRN_ERROR_NOT_ENOUGH_PUSHED)
        return DATA;
    return PLAN;
}

int cli_exit_code(int error) {
    if (error == FIRN_OK)
        return CLI_OK;
    if (error == FIRN_ERROR_KERNELS_UNKNOWN)
        return CLI_USAGE;
    if (error <= FIRN_ERROR_LOSS_NOT_FINITE && error != FIRN_ERROR_NO_ROWS)
        return CLI_NUMBERS;
    return error <= FIRN_ERROR_STORAGE ? CLI_FILE : CLI_REFUSED;
}

/* One hash identifies the files of all streams, so it does not say which of them differ. A plan that reads all of its
 * data, and not one part, may be given other data. */
static const char *mend_of_data(const cli_session *session, char *text, size_t size) {
    static const char *const options[] = {"--data", "--data and --labels", "--data, --labels and --sample-weights"};
    const uint32_t last = session->data.source.stream_count - 1;
    snprintf(text, size, "%sgive the same files by %s, in the same order, %s--allow-other-data",
             last == 0   ? ""
             : last == 1 ? "data or labels differ: "
                         : "data, labels or weights differ: ",
             options[last],
             session->info.eval
                 ? "evaluate other files by a plan that reads all of them (held_out_per_mille: 0, no held_out), or "
                   "give "
                 : "or ");
    return text;
}

static const char *mend_of_model(const cli_session *session) {
    if (cli_has_statistics(session))
        return "evaluate with a plan of the same architecture that standardises by the same numbers: compile it with "
               "the statistics, or the scale and shift, of the training";
    return cli_has_frozen(session)
               ? "evaluate with a plan of the same architecture and the same frozen weights: compile "
                 "it with the --weights, seed and frozen parameters of the training"
               : "evaluate with a plan of the same architecture";
}

/* An evaluation never begins a run. */
static const char *mend_of_missing(const cli_session *session) {
    return session->info.eval ? "name the file that firn train --checkpoint wrote"
                              : "leave out --resume to begin a run, or name the file that has it";
}

/* A plan that firnc compile --continue made has the state of the older run: who gives --resume with that run's
 * checkpoint wants what the plan does by itself. */
static const char *mend_of_run(const cli_session *session) {
    return firn_fb_plan_origin_count(cli_plan(session)) != 0
               ? "this plan of firnc compile --continue has the state of the older run in it: leave out --resume, and "
                 "give --checkpoint, and --log, a new name"
               : mend_of(FIRN_ERROR_CHECKPOINT_OTHER_RUN);
}

/* Returns true if the session is that of an eval plan with data of its own, which --eval-data gives. */
static bool reads_eval_data(const cli_session *session) {
    return session->config.owner != NULL && session->options->eval_data_count != 0;
}

static const char *mend_of_type(const cli_session *session, char *text, size_t size) {
    const char *eval = reads_eval_data(session) ? "eval-" : "";
    snprintf(text, size,
             "records need --%sdata and --%slabels, and --%sweights where the model takes them, with the shapes and "
             "element types of the recipe; text whose token_type is int32 is an .npy array or a .bin file of tokens",
             eval, eval, eval);
    return text;
}

/* What the system says of a counter that could not be advanced; a counter that cannot be read has no such error. */
static const char *mend_of_counter(const cli_session *session, char *text, size_t size) {
    const int cause = session->port.counter_cause;
    if (cause == 0)
        return mend_of(FIRN_ERROR_COUNTER);
    errno = cause;
    if (session->port.counter_placed)
        snprintf(text, size, "the new number is in its place, but the disk has not confirmed that: %s",
                 strerror(cause));
    else
        snprintf(text, size, "the new number cannot be written: %s; %s", strerror(cause), firn_host_room());
    return text;
}

/* Returns how to mend an error, which may be written into `text`. */
static const char *mend_in(const cli_session *session, int error, char *text, size_t size) {
    switch (error) {
    case FIRN_ERROR_CHECKPOINT_MISSING:
        return mend_of_missing(session);
    case FIRN_ERROR_CHECKPOINT_OTHER_RUN:
        return mend_of_run(session);
    case FIRN_ERROR_CHECKPOINT_OTHER_DATA:
        return mend_of_data(session, text, size);
    case FIRN_ERROR_CHECKPOINT_OTHER_MODEL:
        return mend_of_model(session);
    case FIRN_ERROR_DATA_TYPE:
        return mend_of_type(session, text, size);
    case FIRN_ERROR_COUNTER:
        return mend_of_counter(session, text, size);
    default:
        return mend_of(error);
    }
}

/* Returns the one file that an error of the data concerns, and writes what was found in it into `text`. */
static const char *data_at_fault(const cli_session *session, int error, char *text, size_t size) {
    const cli_options *options = session->options;
    const char *file = NULL;
    if (error == FIRN_ERROR_DATA_RANGE)
        file = cli_say_out_of_range(session, text, size);
    if (error == FIRN_ERROR_DATA_TOO_SHORT || error == FIRN_ERROR_NOT_ENOUGH_PUSHED)
        cli_say_too_short(session, text, size);
    if (error == FIRN_ERROR_NO_ROWS && options->weights != NULL && cli_all_zero(session, 2))
        file = options->weights;
    else if (error == FIRN_ERROR_NO_ROWS && options->labels != NULL)
        file = options->labels;
    return file != NULL ? file : options->data[0];
}

/* Says which version of the format the plan needs, and which one this build has. Only plans of this major version have
 * their minor version where this build reads it. */
static int refuse_version(const cli_session *session) {
    const firn_version here = firn_format_version();
    firn_version needed;
    int error = firn_plan_needs(session->plan.bytes, session->plan.count, &needed);
    if (error != FIRN_OK)
        return cli_error(session, error);
    char minor[24] = "";
    if (needed.major == here.major)
        snprintf(minor, sizeof minor, ".%lu", (unsigned long)needed.minor);
    firn_host_fail(session->options->file, "needs format %lu%s, and this runtime has %lu.%lu (%s); %s",
                   (unsigned long)needed.major, minor, (unsigned long)here.major, (unsigned long)here.minor,
                   firn_error_name(FIRN_ERROR_FORMAT_VERSION),
                   needed.major < here.major ? "compile it again with the firnc of this version"
                                             : "use a newer firn, or compile it with the firnc of this version");
    return CLI_REFUSED;
}

/* Writes which kernel sets this build and this machine have. `text` holds all names. */
static const char *mend_of_kernels(const cli_session *session, char *text, size_t size) {
    static const char *const names[] = {"plain",  "neon",       "neonfp16",   "fma", "avx2",
                                        "avx512", "avx512fp16", "avx512bf16", "amx"};
    firn_config config = session->config;
    uint64_t bytes;
    size_t length = (size_t)snprintf(text, size, "write one that this machine can run: ");
    const char *before = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        config.kernels = names[i];
        if (firn_workspace_bytes(&config, &bytes) == FIRN_ERROR_KERNELS_UNKNOWN)
            continue;
        length += (size_t)snprintf(text + length, size - length, "%s%s", before, names[i]);
        before = ", ";
    }
    return text;
}

const char *cli_data_fault(const cli_session *session, char *text, size_t size) {
    const cli_ranks *ranks = session->options->ranks;
    const char *file = firn_host_data_fault(&session->data, text, size);
    return file == NULL && ranks != NULL ? ranks->fault(ranks->context, text, size) : file;
}

/* Names the data file that could not be read or was changed. */
static int refuse_source(const cli_session *session) {
    char fault[200] = "cannot be read to its end";
    const char *file = cli_data_fault(session, fault, sizeof fault);
    firn_host_fail(file != NULL ? file : session->options->data[0],
                   "%s (%s), so there is no result; run again where nobody changes it", fault,
                   firn_error_name(FIRN_ERROR_SOURCE));
    return CLI_FILE;
}

/* Refuses a plan that cannot use the parameters of the plan that is trained. */
static int refuse_model(const cli_session *session) {
    firn_host_fail(session->options->file, "has another model than the plan that is trained (%s); %s",
                   firn_error_name(FIRN_ERROR_OTHER_OWNER), mend_of_model(session));
    return CLI_REFUSED;
}

int cli_error(const cli_session *session, int error) {
    if (error == FIRN_ERROR_FORMAT_VERSION)
        return refuse_version(session);
    if (error == FIRN_ERROR_SOURCE)
        return refuse_source(session);
    if (error == FIRN_ERROR_OTHER_OWNER)
        return refuse_model(session);
    const cli_options *options = session->options;
    char text[800] = "", known[300], *asked = NULL;
    const char *where = options->file, *mend = mend_in(session, error, known, sizeof known);
    switch (subject_of(error)) {
    case CHECKPOINT:
        where = options->checkpoint;
        break;
    case COUNTER:
        where = options->counter;
        break;
    case DATA:
        where = data_at_fault(session, error, text, sizeof text);
        break;
    case KERNELS:
        asked = getenv("FIRN_KERNELS") != NULL ? firn_host_path("FIRN_KERNELS=", getenv("FIRN_KERNELS")) : NULL;
        where = asked != NULL ? asked : "FIRN_KERNELS";
        mend = mend_of_kernels(session, text, sizeof text);
        break;
    case PLAN:
        if (error == FIRN_ERROR_LOSS_NOT_FINITE)
            where = cli_say_not_finite(session, session->info.eval ? "" : ", and the state is that before it", text,
                                       sizeof text);
        if (error == FIRN_ERROR_LOSS_SCALE_FLOOR)
            where = cli_say_floor(session, text, sizeof text);
        break;
    }
    mend = text[0] != 0 ? text : mend;
    firn_host_fail(where, "%s (%s)%s%s", firn_error_text(error), firn_error_name(error), mend != NULL ? "; " : "",
                   mend != NULL ? mend : "");
    free(asked);
    return cli_exit_code(error);
}

/* --- opening --- */

/* Takes the pages of all blocks, so that a shortage of memory shows now and not in the first evaluation. */
static bool populate(const cli_session *session) {
    bool there = firn_host_block_populate(session->config.prepared, session->config.prepared_bytes);
    for (uint32_t i = 0; there && i < session->blocks.count; i++)
        there = firn_host_block_populate(session->blocks.list[i].memory, session->blocks.list[i].bytes);
    return there;
}

/* Allocates blocks of the sizes that the plan needs. Returns false after a message if there is not enough memory. */
static bool allocate_blocks(cli_session *session, const firn_sizes *sizes) {
    firn_config *config = &session->config;
    uint64_t arena = 0, others = 0;
    for (uint32_t i = 0; i < sizes->block_count; i++)
        if (firn_region_is_arena(sizes->blocks[i].kind))
            arena += sizes->blocks[i].bytes;
        else
            others += sizes->blocks[i].bytes;
    bool allocated = firn_host_blocks_begin(&session->blocks, sizes);
    config->blocks = session->blocks.list;
    config->block_count = session->blocks.count;
    config->prepared_bytes = sizes->prepared_bytes;
    config->prepared = firn_host_block(config->prepared_bytes);
    if (allocated && config->prepared != NULL && (config->owner == NULL || populate(session)))
        return true;
    return firn_host_fail(session->options->file,
                          "needs %llu bytes of state, %llu of arena and %llu more, and there are not as many; compile "
                          "it with a smaller batch, or raise the limit of memory (ulimit -v)",
                          (unsigned long long)others, (unsigned long long)arena,
                          (unsigned long long)sizes->prepared_bytes);
}

/* Allocates the workspace that the plan's kernels need. */
static int allocate_workspace(cli_session *session) {
    firn_config *config = &session->config;
    uint64_t bytes;
    const int error = firn_workspace_bytes(config, &bytes);
    if (error != FIRN_OK)
        return cli_error(session, error);
    config->workspace = firn_host_block(bytes);
    const bool there = bytes == 0 || config->workspace != NULL;
    if (!there || (config->owner != NULL && !firn_host_block_populate(config->workspace, bytes))) {
        firn_host_fail(session->options->file,
                       "needs %llu bytes of workspace, and there are not as many; use fewer --threads, or raise the "
                       "limit of memory (ulimit -v)",
                       (unsigned long long)bytes);
        return CLI_FILE;
    }
    config->workspace_bytes = bytes;
    return CLI_OK;
}

static void free_memory(cli_session *session) {
    const firn_config *config = &session->config;
    firn_host_blocks_end(&session->blocks);
    firn_host_block_free(config->prepared, config->prepared_bytes);
    firn_host_block_free(config->workspace, config->workspace_bytes);
}

/* Takes what the command line does not say of the device from the plan, whose header is not verified yet: what is equal
 * to itself is not compared. */
static int take_identity(cli_session *session) {
    const cli_options *options = session->options;
    firn_header header;
    int error = firn_header_decode(&header, session->plan.bytes, session->plan.count);
    if (error != FIRN_OK)
        return cli_error(session, error);
    session->identity = options->identity;
    if (!options->vendor_given)
        memcpy(session->identity.vendor, header.vendor, sizeof header.vendor);
    if (!options->class_given)
        memcpy(session->identity.class_id, header.class_id, sizeof header.class_id);
    if (!options->image_given)
        session->identity.image_id = header.image_id;
    return CLI_OK;
}

static bool load_keys(cli_session *session) {
    const cli_options *options = session->options;
    for (uint32_t i = 0; i < options->key_count; i++)
        if (!firn_host_key_load(session->keys[i], options->keys[i]))
            return false;
    return true;
}

int cli_refuse_no_plan(const char *path, const firn_host_plan *plan) {
    const firn_file_kind *kind = firn_file_kind_of(plan->bytes, plan->count);
    firn_host_fail(path, "begins like %s%s (%s); give the plan that firnc compile wrote",
                   kind != NULL ? kind->name : "no plan", kind != NULL ? ", and not like a plan" : "",
                   firn_error_name(FIRN_ERROR_MAGIC));
    return CLI_REFUSED;
}

/* Leaves out the blocks of parameters, which the owner has. */
static void leave_out_parameters(firn_sizes *sizes) {
    for (uint32_t i = 0; i < sizes->block_count; i++)
        if (firn_region_fast_kind(sizes->blocks[i].kind) == FIRN_REGION_PARAMETERS)
            sizes->blocks[i].bytes = 0;
}

/* Loads the plan and provides its memory. Only kernel sets that need a workspace verify the plan here already. The port
 * of an owner serves both, so that they share its threads. */
static int load_plan(cli_session *session, const cli_session *owner) {
    const cli_options *options = session->options;
    firn_sizes sizes;
    if (!load_keys(session) || !firn_host_plan_load(&session->plan, options->file))
        return CLI_FILE;
    if (options->verbose && session->plan.lost != NULL)
        firn_host_fail(options->file, "%s", session->plan.lost);
    if (!firn_is_plan(session->plan.bytes, session->plan.count))
        return cli_refuse_no_plan(options->file, &session->plan);
    int error = firn_plan_sizes(session->plan.bytes, session->plan.count, &sizes);
    if (error != FIRN_OK)
        return cli_error(session, error);
    const bool generates = options->prompt != NULL; /* its tokens come in chunks of another length than in training */
    session->config = (firn_config){.plan = session->plan.bytes,
                                    .plan_bytes = session->plan.count,
                                    .public_key = session->keys[0],
                                    .more_keys = options->key_count - 1,
                                    .identity = &session->identity,
                                    .owner = owner != NULL ? &owner->firn : NULL,
                                    .port = owner != NULL ? &owner->port.port : &session->port.port,
                                    .allow_other_preprocessing = generates || options->allow_other_preprocessing,
                                    .allow_other_split = options->allow_other_split,
                                    .allow_other_data = options->allow_other_data};
    int status = take_identity(session);
    if (status != CLI_OK)
        return status;
    if (options->device_key != NULL) {
        if (cli_device_key_read(session->device_key, options->device_key) != CLI_OK)
            return CLI_FILE;
        session->config.device_key = session->device_key;
    }
    if (owner != NULL)
        leave_out_parameters(&sizes);
    return allocate_blocks(session, &sizes) ? allocate_workspace(session) : CLI_FILE;
}

void cli_want_parts(firn_host_wanted *wanted, const cli_options *options) {
    wanted->columns = options->columns;
    wanted->target = options->target;
    wanted->header = options->header;
    wanted->read_images = firn_host_images_read;
    wanted->resize_width = options->resize_width;
    wanted->resize_height = options->resize_height;
    memcpy(wanted->members, options->members, sizeof wanted->members);
}

/* Opens the data files, compares them with what the plan reads, and gives the plan their hash. */
static int open_data(cli_session *session, const cli_session *owner) {
    const cli_options *options = session->options;
    firn_host_wanted wanted = {.records = session->info.window == 0, .stream_count = session->info.streams};
    if (wanted.stream_count > FIRN_HOST_STREAMS) {
        firn_host_fail(options->file,
                       "reads %lu streams of data, and firn has %d: --data, --labels and --sample-weights",
                       (unsigned long)wanted.stream_count, FIRN_HOST_STREAMS);
        return CLI_REFUSED;
    }
    for (uint32_t i = 0; i < wanted.stream_count; i++) {
        if (firn_stream_at(&session->firn, i, &wanted.streams[i]) != FIRN_OK)
            wanted.streams[i] = (firn_stream_info){0}; /* nothing is read from it */
        wanted.shapes[i] = cli_shape(session, i);
    }
    cli_want_parts(&wanted, options);
    const int status = cli_columns_find(session, owner);
    if (status != CLI_OK)
        return status;
    cli_columns_want(&wanted, session, owner);
    wanted.evaluated = reads_eval_data(session);
    wanted.shared = options->eval_data_count != 0;
    wanted.ignores = wanted.records && cli_ignored_label(session, &wanted.ignored, &wanted.unclassed);
    if (!firn_host_data_open(&session->data, &wanted, options->data, options->data_count, options->labels,
                             options->weights))
        return CLI_FILE;
    if (owner != NULL && !firn_host_data_same_classes(&session->data, &owner->data))
        return CLI_FILE;
    if (!cli_tokenizer_fits(session))
        return CLI_FILE;
    cli_numbers_watch(session);
    int error = firn_set_data_hash(&session->firn, session->data.sha256);
    return error == FIRN_OK ? CLI_OK : cli_error(session, error);
}

static int open_plan(cli_session *session) {
    firn_config *config = &session->config;
    int error = firn_open(&session->firn, config);
    if (error == FIRN_OK)
        error = firn_describe(&session->firn, &session->info);
    if (error == FIRN_OK)
        error = cli_report_read(&session->report, &session->plan);
    if (error != FIRN_OK)
        return cli_error(session, error);
    if (!firn_host_block_seal(config->prepared, config->prepared_bytes) && session->options->verbose)
        firn_host_fail(session->options->file, "this kernel does not make the decoded plan read-only");
    return CLI_OK;
}

/* Refuses files for streams that the plan does not read. */
static int check_streams(const cli_session *session) {
    const cli_options *options = session->options;
    const bool weights = options->weights != NULL && session->info.streams < 3;
    const bool labels = options->labels != NULL && session->info.streams < 2;
    if (!weights && !labels)
        return CLI_OK;
    firn_host_fail(options->file, "the plan reads no %s; leave out --%s%s", weights ? "weights" : "labels",
                   reads_eval_data(session) ? "eval-" : "", weights ? "sample-weights" : "labels");
    return CLI_USAGE;
}

/* Notes what runs. */
static void note_plan(const cli_session *session) {
    const firn_info *info = &session->info;
    const char *model = session->report.model, *target = session->report.target;
    char steps[32];
    if (info->steps == 0)
        snprintf(steps, sizeof steps, "%s", info->eval ? "all data" : "no end");
    else
        snprintf(steps, sizeof steps, "%llu step%s", (unsigned long long)info->steps, cli_s(info->steps));
    firn_host_note("%s%s%s%llu parameter%s, %s%s%s, kernels: %s", model != NULL ? "model " : "",
                   model != NULL ? model : "", model != NULL ? ", " : "", (unsigned long long)info->parameters,
                   cli_s(info->parameters), steps, target != NULL ? ", target " : "", target != NULL ? target : "",
                   info->kernels);
}

/* Loads and opens the plan. */
static int begin_plan(cli_session *session, const cli_options *options) {
    *session = (cli_session){.options = options};
    unsigned threads = options->threads != 0 ? options->threads : firn_host_cpus();
    firn_host_port_begin(&session->port, options->checkpoint, options->counter, threads);
    int status = load_plan(session, NULL);
    return status == CLI_OK ? open_plan(session) : status;
}

/* Refuses a decode plan, whose tokens are no data. */
static int check_reads_data(cli_session *session) {
    firn_decoder decoder;
    if (firn_decoder_begin(&decoder, &session->firn) != FIRN_OK)
        return CLI_OK;
    firn_host_fail(session->options->file,
                   "is a decode plan (%s); run it by firn generate, or compile one without --decode",
                   firn_error_name(FIRN_ERROR_WRONG_MODE));
    return CLI_REFUSED;
}

/* Opens the data of an open plan. owner: the training beside which it is opened, or NULL. */
static int begin_data(cli_session *session, const cli_session *owner) {
    int status = check_reads_data(session);
    if (status == CLI_OK)
        status = check_streams(session);
    if (status != CLI_OK)
        return status;
    if (session->options->verbose)
        note_plan(session);
    return open_data(session, owner);
}

/* Lets the session give the plan of an owner's data only the streams that it reads. */
static void leave_out_streams(cli_options *options, const firn_info *info) {
    options->labels = info->streams > 1 ? options->labels : NULL;
    options->weights = info->streams > 2 ? options->weights : NULL;
}

/* Reads folders in the order in which the owner reads them. A checkpoint of a version that read folders by the bytes of
 * their names has set that order. */
static int take_order(cli_session *session, const cli_session *owner) {
    if (!owner->data.by_bytes)
        return CLI_OK;
    (void)firn_host_data_sort(&session->data, false);
    const int error = firn_set_data_hash(&session->firn, session->data.sha256);
    return error == FIRN_OK ? CLI_OK : cli_error(session, error);
}

/* Says to firn-mpi that plan and data are open. Returns CLI_OK or, after a message, another exit code. */
static int say_opened(cli_session *session) {
    const cli_ranks *ranks = session->options->ranks;
    return ranks != NULL ? ranks->opened(ranks->context, session) : CLI_OK;
}

int cli_session_begin_beside(cli_session *session, cli_options *options, const cli_session *owner) {
    *session = (cli_session){.options = options};
    firn_host_port_begin(&session->port, NULL, NULL, 1); /* unused: that of the owner serves both */
    int status = load_plan(session, owner);
    if (status == CLI_OK)
        status = open_plan(session);
    if (status == CLI_OK && !session->info.eval)
        status = cli_error(session, FIRN_ERROR_WRONG_MODE);
    if (status != CLI_OK)
        return status;
    if (options->eval_data_count == 0)
        leave_out_streams(options, &session->info);
    status = begin_data(session, owner);
    if (status == CLI_OK)
        status = take_order(session, owner);
    return status == CLI_OK ? say_opened(session) : status;
}

int cli_session_begin(cli_session *session, const cli_options *options, bool eval) {
    int status = begin_plan(session, options);
    if (status != CLI_OK)
        return status;
    if (session->info.eval != eval)
        return cli_error(session, FIRN_ERROR_WRONG_MODE);
    status = begin_data(session, NULL);
    return status == CLI_OK ? say_opened(session) : status;
}

int cli_session_begin_alone(cli_session *session, const cli_options *options) {
    const int status = begin_plan(session, options);
    if (status != CLI_OK)
        return status;
    if (!session->info.eval)
        return cli_error(session, FIRN_ERROR_WRONG_MODE);
    if (options->verbose)
        note_plan(session);
    return CLI_OK;
}

int cli_session_open(cli_session *session, const cli_options *options) {
    const int status = begin_plan(session, options);
    return status == CLI_OK ? begin_data(session, NULL) : status;
}

int cli_session_confirm(cli_session *session) {
    int error = session->confirmed ? FIRN_OK : firn_confirm(&session->firn);
    session->confirmed = true;
    return error;
}

void cli_session_end(cli_session *session) {
    firn_host_data_close(&session->data);
    cli_numbers_free(&session->numbers);
    firn_host_names_free(&session->columns);
    firn_host_names_free(&session->targets);
    firn_host_names_free(&session->classes);
    firn_host_port_end(&session->port);
    firn_host_plan_unload(&session->plan);
    cli_report_free(&session->report);
    free_memory(session);
}
