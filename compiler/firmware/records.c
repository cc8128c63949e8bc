/* Reads the records of a firmware (records.h) by the reader of data files that devices have, so that only files are
 * taken that a device could read. Other files are for `firn data --convert`. */
#define _POSIX_C_SOURCE 200809L /* pread */

#include "compiler/firmware/records.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/text.h"
#include "compiler/commands/commands.h"
#include "plan/bytes.h"
#include "plan/ops.h"
#include "runtime/targets/dataset.h"

/* A data file that was opened. */
typedef struct file {
    const char *name;
    int descriptor;
    firn_data_file access;
    firn_data_layout layout;
    uint64_t records;
    const firnc_records_wanted *wanted; /* what it was given with */
} file;

static const char *const names[FIRNC_DEVICE_STREAMS] = {"data", "labels", "weights"};

/* The options of firnc export, and of firn, that name their files. */
static const char *const options[FIRNC_DEVICE_STREAMS] = {"--data", "--labels", "--sample-weights"};

const char *firnc_records_option(uint32_t stream) {
    return options[stream];
}

const char *firnc_records_name(uint32_t stream) {
    return names[stream];
}

/* --- the form of a file ------------------------------------------------------------------------------------------- */

static int read_file(void *context, uint64_t offset, void *bytes, uint32_t count) {
    const int *descriptor = context;
    uint8_t *to = bytes;
    while (count != 0) {
        const ssize_t got = pread(*descriptor, to, count, (off_t)offset);
        if (got <= 0)
            return FIRN_ERROR_SOURCE;
        to += got;
        offset += (uint64_t)got;
        count -= (uint32_t)got;
    }
    return FIRN_OK;
}

/* "64 uint8 of each record", or "uint8" with windows. */
static const char *form_text(bool windows, uint64_t elements, uint8_t type) {
    return windows ? firnc_format("%s", firn_type_name(type))
                   : firnc_format("%llu %s of each record", (unsigned long long)elements, firn_type_name(type));
}

/* An option and the name of a file, or nothing. */
static const char *option_text(const char *option, const char *name) {
    return name != NULL ? firnc_format(" %s %s", option, name) : "";
}

static bool is_table(const char *name) {
    const size_t length = strlen(name);
    return (length > 4 && strcmp(name + length - 4, ".csv") == 0) ||
           (length > 7 && strcmp(name + length - 7, ".csv.gz") == 0);
}

/* The command that makes what a device reads of the files that were given, and the options that then give it. Labels
 * without a file are a column of the table, or class folders. */
static const char *convert_text(const firnc_device *device, const firnc_records_wanted *wanted) {
    const char *const *files = wanted->files;
    const bool labelled = device->streams > 1, column = labelled && files[1] == NULL && is_table(files[0]);
    return firnc_format("`firn data %s%s%s%s --plan %s --pub %s --convert device.npy%s`, then --data device.npy%s%s",
                        files[0], option_text("--labels", files[1]), column ? " --target-column COLUMN" : "",
                        option_text("--sample-weights", files[2]), device->train.name, wanted->key,
                        labelled ? " --convert-labels device-labels.npy" : "",
                        labelled ? " --labels device-labels.npy" : "",
                        device->streams > 2 ? ", and of weights `firn data WEIGHTS --convert device-weights.npy`" : "");
}

static int refuse_form(const file *f, const firnc_device *device, uint32_t stream, const char *found) {
    const bool windows = device->train.info.window != 0;
    const firn_stream_info *info = &device->stream[stream];
    firnc_say("firnc: %s: holds %s, and %s reads %s; convert it by firn data --convert%s: %s", f->name, found,
              device->train.name, form_text(windows, info->record_elements, info->element),
              stream == 1 ? "-labels" : "", convert_text(device, f->wanted));
    return FIRNC_EXIT_WRONG;
}

/* Refuses a folder, as of images, of which firn makes one file. */
static int refuse_folder(const file *f, const firnc_device *device) {
    firnc_say("firnc: %s: is a folder, and flash has one file of records; make it by %s", f->name,
              convert_text(device, f->wanted));
    return FIRNC_EXIT_WRONG;
}

/* Finds the records of an opened file, and compares them with what the plan reads. */
static int look(file *f, const firnc_device *device, uint32_t stream) {
    const bool windows = device->train.info.window != 0;
    const firn_stream_info *info = &device->stream[stream];
    const int error = firn_data_look(&f->access, &f->layout);
    if (error == FIRN_ERROR_SOURCE) {
        firnc_say("firnc: %s: cannot be read; check the disk and its connection", f->name);
        return FIRNC_EXIT_WRONG;
    }
    if (error != FIRN_OK)
        return refuse_form(f, device, stream, "an array of a form that devices do not read");
    if (f->layout.elements == 0)
        return refuse_form(f, device, stream, "nothing");
    const bool raw = f->layout.format == FIRN_DATA_RAW;
    if (raw && info->record_elements != 1)
        return refuse_form(f, device, stream, "bytes, and no array of the formats .npy and IDX");
    const uint64_t elements = windows ? 1 : firn_data_record_elements(&f->layout);
    if (f->layout.element != info->element || elements != info->record_elements)
        return refuse_form(f, device, stream, form_text(windows, elements, f->layout.element));
    f->records = windows ? f->layout.elements : f->layout.dims[0];
    return FIRNC_EXIT_OK;
}

static int open_file(file *f, const firnc_records_wanted *wanted, const firnc_device *device, uint32_t stream) {
    struct stat status;
    uint64_t bytes;
    *f = (file){.name = wanted->files[stream], .descriptor = -1, .wanted = wanted};
    if (stat(f->name, &status) == 0 && S_ISDIR(status.st_mode))
        return refuse_folder(f, device);
    f->descriptor = firnc_input_open(f->name, &bytes);
    if (f->descriptor < 0)
        return FIRNC_EXIT_WRONG;
    firnc_file_remember(f->descriptor);
    f->access = (firn_data_file){&f->descriptor, bytes, read_file};
    return look(f, device, stream);
}

/* --- how many ----------------------------------------------------------------------------------------------------- */

static uint64_t record_bytes(const firnc_device *device, uint32_t stream) {
    return (uint64_t)device->stream[stream].record_elements * firn_type_bytes(device->stream[stream].element);
}

/* The flash that is left for records. The plans' bytes are less than 2^40, so the sums do not overflow. */
static uint64_t room_for_records(const firnc_device *device, const firnc_board *board) {
    const uint64_t plans = firn_round_up(device->train.image.count, FIRNC_ALIGNMENT) +
                           firn_round_up(device->eval.image.count, FIRNC_ALIGNMENT) +
                           (uint64_t)device->streams * FIRNC_ALIGNMENT;
    return plans < board->plan.bytes ? board->plan.bytes - plans : 0;
}

static uint64_t bytes_of_all(const firnc_device *device) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < device->streams; i++)
        bytes += record_bytes(device, i);
    return bytes;
}

/* Checks that so many records fit into flash. name: that of the data file; NULL: they are zeros, as many as the plan
 * needs. */
static int check_room(const firnc_device *device, const firnc_board *board, const char *name, uint64_t count) {
    const uint64_t room = room_for_records(device, board), each = bytes_of_all(device);
    const uint64_t most = each != 0 ? room / each : 0;
    if (count <= most)
        return FIRNC_EXIT_OK;
    const char *mend = "make the batch smaller, or give another --target";
    if (name != NULL && most != 0)
        mend = firnc_format("give --records %llu or fewer", (unsigned long long)most);
    firnc_say(
        "firnc: %s: %llu records of %llu bytes do not fit: the region %s of the board of %s has %llu bytes, of which "
        "%llu are left beside the plans; %s",
        name != NULL ? name : device->train.name, (unsigned long long)count, (unsigned long long)each, board->plan.name,
        board->target, (unsigned long long)board->plan.bytes, (unsigned long long)room, mend);
    return FIRNC_EXIT_WRONG;
}

/* Checks that the plans themselves fit. */
static int check_plans(const firnc_device *device, const firnc_board *board) {
    if (room_for_records(device, board) != 0)
        return FIRNC_EXIT_OK;
    const uint64_t bytes = device->train.image.count + device->eval.image.count;
    firnc_say(
        "firnc: %s: refused: the board of %s has %llu bytes in its region %s, and %s %llu; make the model smaller, or "
        "give another --target",
        device->train.name, board->target, (unsigned long long)board->plan.bytes, board->plan.name,
        device->eval.name != NULL ? "both plans take" : "the plan takes", (unsigned long long)bytes);
    return FIRNC_EXIT_REFUSED;
}

/* --- the records -------------------------------------------------------------------------------------------------- */

static uint8_t *elements_of(const firnc_records *records, uint32_t stream) {
    return records->npy[stream].data + FIRNC_NPY_HEADER_BYTES;
}

/* Makes a .npy file of zeros, as NumPy writes it: version 1.0, and a header that spaces fill up to 128 bytes. */
static void make_npy(firnc_records *records, const firnc_device *device, uint32_t stream) {
    static const struct {
        uint8_t type;
        const char *word;
    } types[] = {{FIRN_FLOAT32, "<f4"}, {FIRN_INT32, "<i4"}, {FIRN_UINT8, "|u1"}, {FIRN_UINT16, "<u2"},
                 {FIRN_INT16, "<i2"},   {FIRN_INT8, "|i1"},  {FIRN_BOOL, "|b1"}};
    static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, FIRNC_NPY_HEADER_BYTES - 10, 0};
    const firn_stream_info *info = &device->stream[stream];
    const char *type = "";
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        type = types[i].type == info->element ? types[i].word : type;
    const uint64_t bytes = FIRNC_NPY_HEADER_BYTES + records->count * record_bytes(device, stream);
    uint8_t *data = firnc_allocate_aligned(bytes);
    const char *shape = info->record_elements == 1 ? firnc_format("(%llu,)", (unsigned long long)records->count)
                                                   : firnc_format("(%llu, %lu)", (unsigned long long)records->count,
                                                                  (unsigned long)info->record_elements);
    const char *header = firnc_format("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    memcpy(data, magic, sizeof magic);
    memset(data + sizeof magic, ' ', FIRNC_NPY_HEADER_BYTES - sizeof magic);
    for (size_t i = 0; header[i] != '\0'; i++)
        data[sizeof magic + i] = (uint8_t)header[i];
    data[FIRNC_NPY_HEADER_BYTES - 1] = '\n';
    records->npy[stream] = (firnc_bytes){data, bytes};
}

static int64_t integer_at(uint8_t type, const uint8_t *at) {
    switch (type) {
    case FIRN_INT32:
        return (int32_t)firn_load32(at);
    case FIRN_INT16:
        return (int16_t)firn_load16(at);
    case FIRN_UINT16:
        return (int64_t)firn_load16(at);
    case FIRN_INT8:
        return (int8_t)*at;
    default:
        return *at;
    }
}

/* Checks that every integer is below the plan's limit, as each step does. */
static int check_range(const firnc_records *records, const firnc_device *device, uint32_t stream, const char *name) {
    const firn_stream_info *info = &device->stream[stream];
    const uint8_t *at = elements_of(records, stream);
    for (uint64_t i = 0; info->limit != 0 && i < records->count * info->record_elements; i++) {
        const int64_t value = integer_at(info->element, at + i * firn_type_bytes(info->element));
        if (value >= 0 && value < info->limit)
            continue;
        firnc_say("firnc: %s: record %llu has %lld, and %s takes values from 0 to %lu; correct it, or give fewer "
                  "--records",
                  name, (unsigned long long)(i / info->record_elements), (long long)value, device->train.name,
                  (unsigned long)info->limit - 1);
        return FIRNC_EXIT_WRONG;
    }
    return FIRNC_EXIT_OK;
}

static int read_elements(firnc_records *records, const firnc_device *device, uint32_t stream, file *f) {
    const uint32_t elements = (uint32_t)(records->count * device->stream[stream].record_elements);
    make_npy(records, device, stream);
    if (firn_data_read(&f->access, &f->layout, 0, elements, elements_of(records, stream)) == FIRN_OK)
        return check_range(records, device, stream, f->name);
    firnc_say("firnc: %s: cannot be read, or was changed meanwhile; run again where nobody changes it", f->name);
    return FIRNC_EXIT_WRONG;
}

/* --- whether they are enough -------------------------------------------------------------------------------------- */

static int read_nothing(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    (void)context, (void)stream, (void)first, (void)count, (void)elements;
    return FIRN_ERROR_SOURCE;
}

/* Asks the library how many samples of `count` records the part has that the plan reads. */
static uint64_t samples_in(const firnc_device *device, const firnc_device_plan *plan, uint64_t count) {
    firn_segment segments[FIRNC_DEVICE_STREAMS];
    firn_stream streams[FIRNC_DEVICE_STREAMS];
    for (uint32_t i = 0; i < device->streams; i++) {
        segments[i].elements = count * device->stream[i].record_elements;
        streams[i] = (firn_stream){device->stream[i].element, device->stream[i].record_elements, &segments[i], 1};
    }
    const firn_source source = {NULL, streams, plan->info.streams, read_nothing};
    firn_sample_counts counts = {0};
    return firn_count_samples(plan->instance, &source, &counts) == FIRN_OK ? counts.part : 0;
}

/* The samples that a plan needs at least. */
static uint64_t least(const firnc_device_plan *plan) {
    return plan->info.short_batch ? 1 : plan->info.samples;
}

static int check_samples(const firnc_device *device, const firnc_device_plan *plan, uint64_t count, const char *name) {
    const uint64_t samples = plan->info.ring != 0 ? least(plan) : samples_in(device, plan, count);
    if (samples >= least(plan))
        return FIRNC_EXIT_OK;
    firnc_say("firnc: %s: %llu records leave %llu samples in the part that %s reads, and a batch has %lu; give more "
              "--records",
              name, (unsigned long long)count, (unsigned long long)samples, plan->name, (unsigned long)least(plan));
    return FIRNC_EXIT_WRONG;
}

static int check_enough(const firnc_device *device, uint64_t count, const char *name) {
    const int status = check_samples(device, &device->train, count, name);
    return status != FIRNC_EXIT_OK || device->eval.name == NULL ? status
                                                                : check_samples(device, &device->eval, count, name);
}

/* The library takes records that are pushed as it will on the device. */
static int check_pushed(const firnc_records *records, const firnc_device *device) {
    const void *streams[FIRNC_DEVICE_STREAMS] = {NULL};
    for (uint32_t i = 0; i < device->streams; i++)
        streams[i] = elements_of(records, i);
    const int error = firn_push(device->train.instance, streams, device->streams, (uint32_t)records->count);
    if (error == FIRN_OK)
        return FIRNC_EXIT_OK;
    firnc_say("firnc: %s: refused: its records cannot be pushed: %s (%s); give others by --data", device->train.name,
              firn_error_text(error), firn_error_name(error));
    return FIRNC_EXIT_REFUSED;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static bool is_enough(const firnc_device *device, uint64_t count) {
    const firnc_device_plan *train = &device->train, *eval = &device->eval;
    return (train->info.ring != 0 || samples_in(device, train, count) >= least(train)) &&
           (eval->name == NULL || samples_in(device, eval, count) >= least(eval));
}

/* Zeros for four batches, or for as many more as the plans need. */
static int make_zeros(firnc_records *records, const firnc_device *device, const firnc_board *board) {
    const firn_info *info = &device->train.info;
    const uint64_t batch = info->window == 0 ? (uint64_t)info->micro_batches * info->samples : info->window;
    records->count = batch < UINT32_MAX ? 4 * batch : batch;
    int status = check_room(device, board, NULL, records->count);
    while (status == FIRNC_EXIT_OK && !is_enough(device, records->count)) {
        records->count *= 2;
        status = check_room(device, board, NULL, records->count);
    }
    for (uint32_t i = 0; i < device->streams && status == FIRNC_EXIT_OK; i++)
        make_npy(records, device, i);
    return status;
}

/* Finds how many records there are, the same number in each file. */
static int count_records(const file *files, uint32_t streams, uint64_t wanted, uint64_t *count) {
    for (uint32_t i = 0; i < streams; i++) {
        if (wanted != 0 && files[i].records < wanted) {
            firnc_say("firnc: %s: has %llu records, and --records asks for %llu; give a number up to that",
                      files[i].name, (unsigned long long)files[i].records, (unsigned long long)wanted);
            return FIRNC_EXIT_WRONG;
        }
        if (wanted == 0 && files[i].records != files[0].records) {
            firnc_say("firnc: %s: has %llu records, and %s has %llu; give files of the same records, or --records",
                      files[i].name, (unsigned long long)files[i].records, files[0].name,
                      (unsigned long long)files[0].records);
            return FIRNC_EXIT_WRONG;
        }
    }
    *count = wanted != 0 ? wanted : files[0].records;
    return FIRNC_EXIT_OK;
}

static int read_files(firnc_records *records, const firnc_device *device, const firnc_records_wanted *wanted,
                      const firnc_board *board, file *files) {
    int status = FIRNC_EXIT_OK;
    for (uint32_t i = 0; i < device->streams && status == FIRNC_EXIT_OK; i++)
        status = open_file(&files[i], wanted, device, i);
    if (status == FIRNC_EXIT_OK)
        status = count_records(files, device->streams, wanted->records, &records->count);
    if (status == FIRNC_EXIT_OK)
        status = check_room(device, board, files[0].name, records->count);
    for (uint32_t i = 0; i < device->streams && status == FIRNC_EXIT_OK; i++)
        status = read_elements(records, device, i, &files[i]);
    return status == FIRNC_EXIT_OK ? check_enough(device, records->count, files[0].name) : status;
}

/* Refuses data without labels or weights. Labels may be a column of the table that was given, or the names of folders
 * in a folder. */
static int refuse_absent(const firnc_device *device, const firnc_records_wanted *wanted, uint32_t stream) {
    struct stat status;
    const char *data = wanted->files[0];
    const bool inside = stream == 1 && (is_table(data) || (stat(data, &status) == 0 && S_ISDIR(status.st_mode)));
    return firnc_usage("export", "%s: missing, and %s reads %s; add %s FILE%s%s", options[stream], device->train.name,
                       names[stream], options[stream],
                       inside ? "; of a table or of class folders make data and labels by " : "",
                       inside ? convert_text(device, wanted) : "");
}

/* Each stream of the plan has a file, and no other stream. */
static int check_files(const firnc_device *device, const firnc_records_wanted *wanted) {
    for (uint32_t i = 0; i < FIRNC_DEVICE_STREAMS; i++) {
        if (wanted->files[i] != NULL && i >= device->streams)
            return firnc_usage("export", "%s: %s reads none; leave it out", options[i], device->train.name);
        if (wanted->files[i] == NULL && i < device->streams)
            return refuse_absent(device, wanted, i);
    }
    return FIRNC_EXIT_OK;
}

static int read_given(firnc_records *records, const firnc_device *device, const firnc_records_wanted *wanted,
                      const firnc_board *board) {
    file files[FIRNC_DEVICE_STREAMS] = {{0}};
    int status = check_files(device, wanted);
    if (status != FIRNC_EXIT_OK)
        return status;
    for (uint32_t i = 0; i < FIRNC_DEVICE_STREAMS; i++)
        files[i].descriptor = -1;
    status = read_files(records, device, wanted, board, files);
    for (uint32_t i = 0; i < FIRNC_DEVICE_STREAMS; i++)
        if (files[i].descriptor >= 0)
            close(files[i].descriptor);
    return status;
}

int firnc_records_read(firnc_records *records, const firnc_device *device, const firnc_records_wanted *wanted,
                       const firnc_board *board) {
    *records = (firnc_records){0};
    int status = check_plans(device, board);
    if (status == FIRNC_EXIT_OK)
        status =
            wanted->files[0] == NULL ? make_zeros(records, device, board) : read_given(records, device, wanted, board);
    return status == FIRNC_EXIT_OK && device->train.info.ring != 0 ? check_pushed(records, device) : status;
}
