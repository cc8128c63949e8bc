/* The part of the Python package firn that is in C: calls of libfirnc and libfirn, and memory. What a user meets, its
 * names, checks and messages, is in firn/__init__.py; nothing here is public. Uses the stable ABI of Python 3.11. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/bindings/compile.h"
#include "plan/container.h"
#include "plan/keys/ignored_label.h"
#include "runtime/decode/decode.h"
#include "runtime/decode/sampling.h"
#include "runtime/firn.h"
#include "runtime/targets/host/host.h"

enum { STREAMS_MAX = 3 };

/* Raised with (code, name, text) of a firn_error. */
static PyObject *status_error;

static PyObject *raise_status(int status) {
    PyObject *arguments = Py_BuildValue("(iss)", status, firn_error_name(status), firn_error_text(status));
    if (arguments != NULL)
        PyErr_SetObject(status_error, arguments);
    Py_XDECREF(arguments);
    return NULL;
}

/* --- compiling ---------------------------------------------------------------------------------------------------- */

/* Lines that arrive while the interpreter is not held. */
typedef struct lines {
    char *text; /* joined by newlines; NULL: none */
    size_t length;
} lines;

static void add_line(void *context, const char *line) {
    lines *l = context;
    const size_t bytes = strlen(line);
    char *longer = realloc(l->text, l->length + bytes + 2);
    if (longer == NULL)
        return;
    l->text = longer;
    memcpy(longer + l->length, line, bytes);
    l->length += bytes;
    longer[l->length++] = '\n';
    longer[l->length] = '\0';
}

/* Reads a list of str. Returns a list that the caller frees by PyMem_Free; the texts are those of the list. */
static const char **read_texts(PyObject *list, uint32_t *count) {
    const Py_ssize_t size = PyList_Size(list);
    const char **texts = size < 0 ? NULL : PyMem_Malloc(((size_t)size + 1) * sizeof *texts);
    if (size >= 0 && texts == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; texts != NULL && i < size; i++) {
        texts[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
        if (texts[i] == NULL) {
            PyMem_Free(texts);
            return NULL;
        }
    }
    *count = (uint32_t)size;
    return texts;
}

/* compile(recipe, mode, settings, push, weights, hugging_face, statistics, target, samples, allow_unmatched, key):
 * returns (outcome, messages, plan or None, public key or None). */
static PyObject *compile(PyObject *module, PyObject *arguments) {
    (void)module;
    firnc_request r = {0};
    firnc_compiled compiled;
    lines said = {0};
    PyObject *settings;
    unsigned long long samples;
    int push, allow;
    if (!PyArg_ParseTuple(arguments, "ssO!pzzzzKpz", &r.recipe, &r.mode, &PyList_Type, &settings, &push, &r.weights,
                          &r.hugging_face, &r.statistics, &r.target, &samples, &allow, &r.key))
        return NULL;
    const char **texts = read_texts(settings, &r.setting_count);
    if (texts == NULL)
        return NULL;
    r.settings = texts;
    r.samples = samples;
    r.push = push != 0;
    r.allow_unmatched = allow != 0;
    firnc_outcome outcome;
    Py_BEGIN_ALLOW_THREADS;
    outcome = firnc_compile(&r, &compiled, add_line, &said);
    Py_END_ALLOW_THREADS;
    PyMem_Free(texts);
    PyObject *result = Py_BuildValue("(isy#y#)", (int)outcome, said.text != NULL ? said.text : "", compiled.plan,
                                     (Py_ssize_t)compiled.bytes, compiled.plan != NULL ? compiled.public_key : NULL,
                                     (Py_ssize_t)sizeof compiled.public_key);
    free(said.text);
    firnc_compiled_free(&compiled);
    return result;
}

static void keep_message(void *context, const char *where, const char *text) {
    PyObject **kept = context;
    Py_XDECREF(*kept);
    *kept = PyUnicode_FromFormat("firn: %s: %s", where != NULL ? where : "", text);
}

/* read_key(path): the 64 bytes of a public key in PEM; raises OSError with the message. */
static PyObject *read_key(PyObject *module, PyObject *path) {
    (void)module;
    uint8_t key[FIRN_PUBLIC_KEY_BYTES];
    PyObject *kept = NULL;
    const char *name = PyUnicode_AsUTF8AndSize(path, NULL);
    if (name == NULL)
        return NULL;
    firn_host_messages_to(keep_message, &kept);
    const bool good = firn_host_key_load(key, name);
    firn_host_messages_to(NULL, NULL);
    if (!good && kept != NULL)
        PyErr_SetObject(PyExc_OSError, kept);
    else if (!good && !PyErr_Occurred())
        PyErr_NoMemory();
    Py_XDECREF(kept);
    return good ? PyBytes_FromStringAndSize((const char *)key, sizeof key) : NULL;
}

/* --- an instance -------------------------------------------------------------------------------------------------- */

typedef struct instance {
    PyObject_HEAD firn firn;
    firn_config config;
    firn_info info;
    firn_host_port port; /* unused where `owner` is set, whose port serves both */
    firn_host_blocks blocks;
    void *plan;
    uint8_t key[FIRN_PUBLIC_KEY_BYTES];
    firn_source source;
    firn_stream streams[STREAMS_MAX];
    firn_segment segments[STREAMS_MAX];
    Py_buffer views[STREAMS_MAX]; /* of the arrays that the source reads in place */
    uint32_t bound;
    firn_decoder decoder;
    const float *logits; /* of the last token that was decoded; NULL: none */
    uint32_t *room;      /* of firn_sample */
    struct instance *owner;
    bool begun, is_open, busy; /* busy: a thread is in it, or in one that shares its parameters */
} instance;

static const uint8_t element_bytes[] = {4, 2, 2, 4, 4, 8, 1, 2, 2, 1, 1};

/* Takes an instance for a call during which the interpreter is given up. */
static bool enter(instance *self) {
    if (!self->is_open) {
        raise_status(FIRN_ERROR_NOT_OPEN);
        return false;
    }
    for (const instance *i = self; i != NULL; i = i->owner)
        if (i->busy) {
            PyErr_SetString(PyExc_RuntimeError,
                            "another thread is in this run; let one thread use it, or make a run for each");
            return false;
        }
    for (instance *i = self; i != NULL; i = i->owner)
        i->busy = true;
    return true;
}

static void leave(instance *self) {
    for (instance *i = self; i != NULL; i = i->owner)
        i->busy = false;
}

static const firn_source *source_of(const instance *self) {
    return self->info.ring == 0 ? &self->source : NULL;
}

static int read_source(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const instance *self = context;
    const size_t width = element_bytes[self->streams[stream].element];
    memcpy(elements, (const uint8_t *)self->views[stream].buf + first * width, (size_t)count * width);
    return 0;
}

static void unbind(instance *self) {
    for (uint32_t i = 0; i < self->bound; i++)
        PyBuffer_Release(&self->views[i]);
    self->bound = 0;
    self->source.stream_count = 0;
}

static void deallocate(PyObject *object) {
    instance *self = (instance *)object;
    PyTypeObject *type = Py_TYPE(object);
    unbind(self);
    firn_host_blocks_end(&self->blocks);
    firn_host_block_free(self->config.prepared, self->config.prepared_bytes);
    firn_host_block_free(self->config.workspace, self->config.workspace_bytes);
    firn_host_block_free(self->plan, self->config.plan_bytes);
    if (self->begun)
        firn_host_port_end(&self->port);
    PyMem_Free(self->room);
    Py_XDECREF((PyObject *)self->owner);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* Copies the plan to memory that is write-protected, and allocates the blocks. Returns an error of firn, or 1 if there
 * is not enough memory. */
static int provide(instance *self, const void *plan, uint64_t bytes) {
    firn_sizes sizes;
    firn_config *config = &self->config;
    self->plan = firn_host_block(bytes);
    if (self->plan == NULL)
        return bytes == 0 ? FIRN_ERROR_TRUNCATED : 1;
    memcpy(self->plan, plan, (size_t)bytes);
    (void)firn_host_block_seal(self->plan, bytes);
    config->plan = self->plan;
    config->plan_bytes = bytes;
    int status = firn_plan_sizes(self->plan, bytes, &sizes);
    if (status != FIRN_OK)
        return status;
    for (uint32_t i = 0; self->owner != NULL && i < sizes.block_count; i++)
        if (sizes.blocks[i].kind % FIRN_REGION_SLOW == FIRN_REGION_PARAMETERS)
            sizes.blocks[i].bytes = 0; /* the owner has them */
    if (!firn_host_blocks_begin(&self->blocks, &sizes))
        return 1;
    config->blocks = self->blocks.list;
    config->block_count = self->blocks.count;
    config->prepared = firn_host_block(sizes.prepared_bytes);
    config->prepared_bytes = sizes.prepared_bytes;
    uint64_t workspace = 0;
    if (config->prepared == NULL)
        return 1;
    status = firn_workspace_bytes(config, &workspace);
    if (status != FIRN_OK)
        return status;
    config->workspace = firn_host_block(workspace);
    config->workspace_bytes = workspace;
    return workspace != 0 && config->workspace == NULL ? 1 : FIRN_OK;
}

/* Of a decode plan, whose tokens come in chunks of another length than those of any training, the plan is opened once
 * more so that it takes the checkpoint of its training, as firn generate does. */
static int open_plan(instance *self, const void *plan, uint64_t bytes) {
    firn_decoder decoder;
    int status = provide(self, plan, bytes);
    if (status == FIRN_OK)
        status = firn_open(&self->firn, &self->config);
    if (status == FIRN_OK && firn_decoder_begin(&decoder, &self->firn) == FIRN_OK) {
        self->firn = (firn){0};
        self->config.allow_other_preprocessing = true;
        status = firn_open(&self->firn, &self->config);
    }
    if (status == FIRN_OK)
        status = firn_describe(&self->firn, &self->info);
    return status;
}

/* Instance(plan, public_key, threads, kernels, owner) */
static int initialise_object(PyObject *object, PyObject *arguments, PyObject *names) {
    instance *self = (instance *)object;
    const char *plan, *key, *kernels;
    Py_ssize_t plan_bytes, key_bytes;
    unsigned threads;
    PyObject *owner;
    if (self->begun || self->owner != NULL || self->plan != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "this run has its plan already; make another");
        return -1;
    }
    if (names != NULL && PyDict_Size(names) > 0) {
        PyErr_SetString(PyExc_TypeError, "no argument has a name here");
        return -1;
    }
    if (!PyArg_ParseTuple(arguments, "y#y#IzO", &plan, &plan_bytes, &key, &key_bytes, &threads, &kernels, &owner))
        return -1;
    if (key_bytes != sizeof self->key) {
        PyErr_SetString(PyExc_ValueError, "a public key has 64 bytes; give that of the plan");
        return -1;
    }
    if (owner != Py_None) {
        if (Py_TYPE(owner) != Py_TYPE(object)) {
            PyErr_SetString(PyExc_TypeError, "the owner is no run; give the run whose parameters are used");
            return -1;
        }
        Py_INCREF(owner);
        self->owner = (instance *)owner;
        if (!enter(self->owner))
            return -1;
    }
    memcpy(self->key, key, sizeof self->key);
    self->config.public_key = self->key;
    self->config.kernels = kernels;
    self->config.owner = self->owner != NULL ? &self->owner->firn : NULL;
    self->config.allow_other_data = true; /* arrays may come from anywhere; firn compares what save() has written */
    int status;
    Py_BEGIN_ALLOW_THREADS;
    if (self->owner == NULL) {
        firn_host_port_begin(&self->port, "", NULL, threads);
        self->begun = true;
    }
    self->config.port = self->owner != NULL ? self->owner->config.port : &self->port.port;
    status = open_plan(self, plan, (uint64_t)plan_bytes);
    Py_END_ALLOW_THREADS;
    if (self->owner != NULL)
        leave(self->owner);
    self->config.kernels = NULL;
    self->is_open = status == FIRN_OK;
    self->source = (firn_source){.context = self, .streams = self->streams, .read = read_source};
    if (status == 1)
        PyErr_NoMemory();
    else if (status != FIRN_OK)
        raise_status(status);
    return status == FIRN_OK ? 0 : -1;
}

/* Returns None, or raises the error. */
static PyObject *none_or(int status) {
    return status != FIRN_OK ? raise_status(status) : Py_NewRef(Py_None);
}

static PyObject *truth(bool value) {
    return value ? Py_True : Py_False;
}

static PyObject *describe(PyObject *object, PyObject *unused) {
    (void)unused;
    instance *self = (instance *)object;
    const firn_info *i = &self->info;
    if (!self->is_open)
        return raise_status(FIRN_ERROR_NOT_OPEN);
    return Py_BuildValue("{s:s,s:y#,s:y#,s:y#,s:O,s:O,s:K,s:I,s:I,s:I,s:I,s:I,s:K,s:I,s:I,s:O}", "kernels", i->kernels,
                         "plan_hash", i->plan_hash, (Py_ssize_t)32, "run_hash", i->run_hash, (Py_ssize_t)32,
                         "model_hash", i->model_hash, (Py_ssize_t)32, "eval", truth(i->eval), "metric",
                         truth(i->metric), "steps", (unsigned long long)i->steps, "micro_batches", i->micro_batches,
                         "samples", i->samples, "window", i->window, "stride", i->stride, "streams", i->streams,
                         "parameters", (unsigned long long)i->parameters, "outputs", i->outputs, "ring", i->ring,
                         "short_batch", truth(i->short_batch));
}

/* stream(position): (element, elements of a record, limit) */
static PyObject *describe_stream(PyObject *object, PyObject *arguments) {
    instance *self = (instance *)object;
    firn_stream_info info;
    unsigned position;
    if (!PyArg_ParseTuple(arguments, "I", &position))
        return NULL;
    const int status = firn_stream_at(&self->firn, position, &info);
    return status != FIRN_OK ? raise_status(status)
                             : Py_BuildValue("(III)", (unsigned)info.element, info.record_elements, info.limit);
}

/* ignored(): (label, whether it is no class) that the loss ignores, as which -100 is read; None: there is none */
static PyObject *ignored(PyObject *object, PyObject *unused) {
    (void)unused;
    instance *self = (instance *)object;
    uint32_t label;
    bool unclassed;
    if (!self->is_open)
        return raise_status(FIRN_ERROR_NOT_OPEN);
    const firn_fb_plan plan = firn_fb_plan_root((const uint8_t *)self->plan + FIRN_PAYLOAD_OFFSET);
    return firn_ignored_label(plan, &label, &unclassed) ? Py_BuildValue("(IO)", label, truth(unclassed))
                                                        : Py_NewRef(Py_None);
}

/* set_data_hash(32 bytes): of the data, for the checkpoints that are saved from here on */
static PyObject *set_data_hash(PyObject *object, PyObject *bytes) {
    instance *self = (instance *)object;
    char *hash;
    Py_ssize_t count;
    if (PyBytes_AsStringAndSize(bytes, &hash, &count) != 0 || !enter(self))
        return NULL;
    const int status =
        count == FIRN_HASH_BYTES ? firn_set_data_hash(&self->firn, (const uint8_t *)hash) : FIRN_ERROR_ARGUMENT;
    leave(self);
    return none_or(status);
}

/* bind([(array, element, elements of a record), ...]): the arrays are read in place, and kept. */
static PyObject *bind(PyObject *object, PyObject *list) {
    instance *self = (instance *)object;
    const Py_ssize_t count = PyList_Size(list);
    if (count < 0)
        return NULL;
    if (count > STREAMS_MAX)
        return raise_status(FIRN_ERROR_ARGUMENT);
    if (!enter(self))
        return NULL;
    unbind(self);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *array;
        unsigned element, record;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "OII", &array, &element, &record) ||
            PyObject_GetBuffer(array, &self->views[i], PyBUF_SIMPLE) != 0)
            break;
        self->bound++;
        if (element >= sizeof element_bytes || record == 0) {
            raise_status(FIRN_ERROR_ARGUMENT);
            break;
        }
        self->segments[i].elements = (uint64_t)self->views[i].len / element_bytes[element];
        self->streams[i] = (firn_stream){(uint8_t)element, record, &self->segments[i], 1};
    }
    self->source.stream_count = self->bound;
    leave(self);
    if (PyErr_Occurred()) {
        unbind(self);
        return NULL;
    }
    return Py_NewRef(Py_None);
}

/* push([array, ...], count) */
static PyObject *push(PyObject *object, PyObject *arguments) {
    instance *self = (instance *)object;
    PyObject *list;
    unsigned count;
    if (!PyArg_ParseTuple(arguments, "O!I", &PyList_Type, &list, &count) || !enter(self))
        return NULL;
    const Py_ssize_t streams = PyList_Size(list);
    Py_buffer views[STREAMS_MAX];
    const void *records[STREAMS_MAX] = {NULL};
    Py_ssize_t taken = 0;
    int status = streams > STREAMS_MAX || (uint32_t)streams != self->info.streams ? FIRN_ERROR_ARGUMENT : FIRN_OK;
    while (status == FIRN_OK && taken < streams) {
        firn_stream_info info;
        status = firn_stream_at(&self->firn, (uint32_t)taken, &info);
        if (status != FIRN_OK || PyObject_GetBuffer(PyList_GetItem(list, taken), &views[taken], PyBUF_SIMPLE) != 0)
            break;
        records[taken] = views[taken].buf;
        if ((uint64_t)views[taken].len != (uint64_t)count * info.record_elements * element_bytes[info.element])
            status = FIRN_ERROR_ARGUMENT;
        taken++;
    }
    if (status == FIRN_OK && !PyErr_Occurred())
        status = firn_push(&self->firn, records, (uint32_t)streams, count);
    while (taken > 0)
        PyBuffer_Release(&views[--taken]);
    leave(self);
    return PyErr_Occurred() ? NULL : none_or(status);
}

/* Calls a function of an instance without the interpreter. */
static PyObject *call(PyObject *object, int (*function)(firn *instance)) {
    instance *self = (instance *)object;
    int status;
    if (!enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = function(&self->firn);
    Py_END_ALLOW_THREADS;
    leave(self);
    return none_or(status);
}

static PyObject *initialise(PyObject *object, PyObject *unused) {
    (void)unused;
    return call(object, firn_initialise);
}

static PyObject *restart(PyObject *object, PyObject *unused) {
    (void)unused;
    return call(object, firn_eval_restart);
}

/* step(): the row of the log. */
static PyObject *step(PyObject *object, PyObject *unused) {
    (void)unused;
    instance *self = (instance *)object;
    firn_step_report r;
    int status;
    if (!enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = firn_train_step(&self->firn, source_of(self), &r);
    Py_END_ALLOW_THREADS;
    leave(self);
    if (status != FIRN_OK)
        return raise_status(status);
    return Py_BuildValue("{s:K,s:f,s:f,s:f,s:f,s:O}", "step", (unsigned long long)r.global_step, "loss", (double)r.loss,
                         "learning_rate", (double)r.learning_rate, "loss_scale", (double)r.loss_scale, "gradient_norm",
                         (double)r.gradient_norm, "skipped", truth(r.skipped));
}

/* eval_step(): the samples of the batch that count, or None at the end of the data. */
static PyObject *eval_step(PyObject *object, PyObject *unused) {
    (void)unused;
    instance *self = (instance *)object;
    uint32_t rows = 0;
    int status;
    if (!enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = firn_eval_step(&self->firn, source_of(self));
    Py_END_ALLOW_THREADS;
    const int counted = status == FIRN_OK ? firn_eval_rows(&self->firn, &rows) : FIRN_OK;
    leave(self);
    if (status == FIRN_ERROR_DATA_END)
        return Py_NewRef(Py_None);
    return status != FIRN_OK || counted != FIRN_OK ? raise_status(status != FIRN_OK ? status : counted)
                                                   : PyLong_FromUnsignedLong(rows);
}

/* metric(position) */
static PyObject *metric(PyObject *object, PyObject *arguments) {
    instance *self = (instance *)object;
    unsigned position;
    float value;
    if (!PyArg_ParseTuple(arguments, "I", &position) || !enter(self))
        return NULL;
    const int status = firn_eval_metric(&self->firn, position, &value);
    leave(self);
    return status != FIRN_OK ? raise_status(status) : PyFloat_FromDouble((double)value);
}

static PyObject *describe_tensor(const firn_tensor_info *t, bool with_bytes) {
    PyObject *extents = PyTuple_New(t->rank);
    for (uint8_t i = 0; extents != NULL && i < t->rank; i++)
        PyTuple_SetItem(extents, i, PyLong_FromUnsignedLong(t->dims[i]));
    return extents == NULL ? NULL
                           : Py_BuildValue("(sIINy#)", t->name, (unsigned)t->type, (unsigned)t->role, extents,
                                           with_bytes ? t->data : NULL, (Py_ssize_t)t->bytes);
}

/* tensor(position): (name, type, role, extents, a copy of its bytes, or None where it is no state), or None behind the
 * last one */
static PyObject *tensor(PyObject *object, PyObject *arguments) {
    instance *self = (instance *)object;
    firn_tensor_info t;
    unsigned position;
    if (!PyArg_ParseTuple(arguments, "I", &position) || !enter(self))
        return NULL;
    const int status = firn_tensor_at(&self->firn, position, &t);
    PyObject *result = status == FIRN_ERROR_ARGUMENT ? Py_NewRef(Py_None)
                       : status != FIRN_OK           ? raise_status(status)
                                                     : describe_tensor(&t, t.name[0] != '\0' && t.data != NULL);
    leave(self);
    return result;
}

/* output(position): likewise */
static PyObject *output(PyObject *object, PyObject *arguments) {
    instance *self = (instance *)object;
    firn_tensor_info t;
    unsigned position;
    if (!PyArg_ParseTuple(arguments, "I", &position) || !enter(self))
        return NULL;
    const int status = firn_output_at(&self->firn, position, &t);
    PyObject *result = status != FIRN_OK ? raise_status(status) : describe_tensor(&t, true);
    leave(self);
    return result;
}

static PyObject *digest(PyObject *object, PyObject *unused) {
    (void)unused;
    instance *self = (instance *)object;
    uint8_t bytes[32];
    if (!enter(self))
        return NULL;
    const int status = firn_digest(&self->firn, bytes);
    leave(self);
    return status != FIRN_OK ? raise_status(status) : PyBytes_FromStringAndSize((const char *)bytes, sizeof bytes);
}

/* Saves or restores a checkpoint at a path. */
static PyObject *at_path(PyObject *object, PyObject *path, bool saves) {
    instance *self = (instance *)object;
    firn_restore_report report;
    const char *name = PyUnicode_AsUTF8AndSize(path, NULL);
    int status;
    if (name == NULL || !enter(self))
        return NULL;
    if (self->owner != NULL) {
        leave(self);
        return raise_status(FIRN_ERROR_SHARED);
    }
    self->port.checkpoint = name;
    self->port.cause = 0;
    Py_BEGIN_ALLOW_THREADS;
    status = saves ? firn_save(&self->firn) : firn_restore(&self->firn, &report);
    Py_END_ALLOW_THREADS;
    self->port.checkpoint = "";
    const int cause = self->port.cause;
    leave(self);
    if (status != FIRN_OK && cause != 0) {
        errno = cause;
        return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    }
    return none_or(status);
}

static PyObject *save(PyObject *object, PyObject *path) {
    return at_path(object, path, true);
}

static PyObject *restore(PyObject *object, PyObject *path) {
    return at_path(object, path, false);
}

/* --- text --------------------------------------------------------------------------------------------------------- */

/* begin_text(): forgets earlier tokens; returns (context, classes, element) */
static PyObject *begin_text(PyObject *object, PyObject *unused) {
    (void)unused;
    instance *self = (instance *)object;
    if (!enter(self))
        return NULL;
    self->logits = NULL;
    int status = firn_decoder_begin(&self->decoder, &self->firn);
    if (status == FIRN_OK)
        status = firn_eval_restart(&self->firn);
    if (status == FIRN_OK && self->room == NULL)
        self->room = PyMem_Malloc(2 * (size_t)self->decoder.classes * sizeof *self->room); /* as firn_sample wants */
    leave(self);
    if (status == FIRN_OK && self->room == NULL)
        return PyErr_NoMemory();
    return status != FIRN_OK
               ? raise_status(status)
               : Py_BuildValue("(III)", self->decoder.context, self->decoder.classes, (unsigned)self->decoder.element);
}

/* decode(id): takes one token */
static PyObject *decode(PyObject *object, PyObject *arguments) {
    instance *self = (instance *)object;
    int32_t id;
    int status = FIRN_ERROR_NOT_OPEN;
    unsigned value;
    if (!PyArg_ParseTuple(arguments, "I", &value) || !enter(self))
        return NULL;
    id = (int32_t)value;
    const uint8_t byte = (uint8_t)value;
    Py_BEGIN_ALLOW_THREADS;
    if (self->room != NULL)
        status = element_bytes[self->decoder.element] == 1 ? firn_decode(&self->decoder, &byte, 1, &self->logits)
                                                           : firn_decode(&self->decoder, &id, 1, &self->logits);
    Py_END_ALLOW_THREADS;
    if (status != FIRN_OK)
        self->logits = NULL;
    leave(self);
    return none_or(status);
}

/* sample(temperature, top_k, top_p, seed): the id of the next token */
static PyObject *sample(PyObject *object, PyObject *arguments) {
    instance *self = (instance *)object;
    firn_sampling how;
    unsigned long long seed;
    unsigned top_k;
    uint32_t id;
    if (!PyArg_ParseTuple(arguments, "fIfK", &how.temperature, &top_k, &how.top_p, &seed) || !enter(self))
        return NULL;
    how.top_k = top_k;
    how.seed = seed;
    const int status = self->logits == NULL ? FIRN_ERROR_NO_STATE
                                            : firn_sample(self->logits, self->decoder.classes, &how,
                                                          firn_decoder_length(&self->decoder), self->room, &id);
    leave(self);
    return status != FIRN_OK ? raise_status(status) : PyLong_FromUnsignedLong(id);
}

/* --- the module --------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"describe", describe, METH_NOARGS, NULL},
                                {"stream", describe_stream, METH_VARARGS, NULL},
                                {"ignored", ignored, METH_NOARGS, NULL},
                                {"set_data_hash", set_data_hash, METH_O, NULL},
                                {"bind", bind, METH_O, NULL},
                                {"push", push, METH_VARARGS, NULL},
                                {"initialise", initialise, METH_NOARGS, NULL},
                                {"step", step, METH_NOARGS, NULL},
                                {"eval_step", eval_step, METH_NOARGS, NULL},
                                {"restart", restart, METH_NOARGS, NULL},
                                {"metric", metric, METH_VARARGS, NULL},
                                {"tensor", tensor, METH_VARARGS, NULL},
                                {"output", output, METH_VARARGS, NULL},
                                {"digest", digest, METH_NOARGS, NULL},
                                {"save", save, METH_O, NULL},
                                {"restore", restore, METH_O, NULL},
                                {"begin_text", begin_text, METH_NOARGS, NULL},
                                {"decode", decode, METH_VARARGS, NULL},
                                {"sample", sample, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_init, (void *)initialise_object},
                              {Py_tp_dealloc, (void *)deallocate},
                              {Py_tp_methods, methods},
                              {Py_tp_new, (void *)PyType_GenericNew},
                              {0, NULL}};

static PyType_Spec specification = {
    .name = "firn._firn.Instance", .basicsize = sizeof(instance), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

static PyMethodDef functions[] = {
    {"compile", compile, METH_VARARGS, NULL}, {"read_key", read_key, METH_O, NULL}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "_firn", .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit__firn(void);
PyMODINIT_FUNC PyInit__firn(void) {
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = module != NULL ? PyType_FromSpec(&specification) : NULL;
    status_error = type != NULL ? PyErr_NewException("firn._firn.StatusError", NULL, NULL) : NULL;
    if (status_error == NULL || PyModule_AddObjectRef(module, "Instance", type) != 0 ||
        PyModule_AddObjectRef(module, "StatusError", status_error) != 0 ||
        PyModule_AddIntConstant(module, "cpus", (long)firn_host_cpus()) != 0) {
        Py_XDECREF(module);
        module = NULL;
    }
    Py_XDECREF(type);
    return module;
}
