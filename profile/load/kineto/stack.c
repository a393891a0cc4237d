/* Python's frames in torch.profiler's traces: "train.py(12): step". */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "profile/load/kineto/kineto.h"

static bool contains(const char *p, size_t n, const char *word) {
    return memmem(p, n, word, strlen(word)) != NULL;
}
static bool begins(const char *p, size_t n, const char *word) {
    return n >= strlen(word) && !memcmp(p, word, strlen(word));
}

/* Whether a file is of Python's own library, without the folder that PyTorch leaves out: the
 * modules that its frames commonly pass through. */
static bool is_standard(const char *file, size_t n) {
    static const char *const modules[] = {
        "_weakrefset.py", "abc.py",     "argparse.py",  "ast.py",       "asyncio/",
        "bdb.py",         "codecs.py",  "collections/", "concurrent/",  "contextlib.py",
        "copy.py",        "copyreg.py", "csv.py",       "ctypes/",      "dataclasses.py",
        "encodings/",     "enum.py",    "fnmatch.py",   "functools.py", "genericpath.py",
        "glob.py",        "gzip.py",    "hashlib.py",   "http/",        "importlib/",
        "inspect.py",     "json/",      "linecache.py", "logging/",     "multiprocessing/",
        "os.py",          "pathlib.py", "pickle.py",    "pkgutil.py",   "posixpath.py",
        "queue.py",       "random.py",  "re.py",        "re/",          "runpy.py",
        "selectors.py",   "shutil.py",  "signal.py",    "socket.py",    "ssl.py",
        "subprocess.py",  "tarfile.py", "tempfile.py",  "threading.py", "tokenize.py",
        "traceback.py",   "typing.py",  "urllib/",      "uuid.py",      "warnings.py",
        "weakref.py",     "zipfile.py"};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        size_t m = strlen(modules[i]);
        bool folder = modules[i][m - 1] == '/';
        if (begins(file, n, modules[i]) && (folder || n == m)) return true;
    }
    return false;
}

/* Whether a file is of a package that computes, reads, draws or logs for a line of the user's,
 * without the folder that PyTorch leaves out: it names a user's own packages no differently. */
static bool is_installed(const char *file, size_t n) {
    static const char *const packages[] = {
        "PIL/",      "cv2/",         "dateutil/",    "einops/",      "fsspec/",       "h5py/",
        "imageio/",  "joblib/",      "librosa/",     "loguru/",      "matplotlib/",   "mlflow/",
        "numba/",    "numpy/",       "opt_einsum/",  "pandas/",      "psutil/",       "pyarrow/",
        "requests/", "rich/",        "safetensors/", "scipy/",       "seaborn/",      "skimage/",
        "sklearn/",  "soundfile.py", "sympy/",       "tensorboard/", "tensorboardX/", "tqdm/",
        "urllib3/",  "wandb/",       "yaml/",        "zarr/"};
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        if (begins(file, n, packages[i])) return true;
    return false;
}

/* Whether code in that file is a library's: PyTorch's own or what it wrote, Python's, or an
 * installed one. */
static bool is_library(const char *file, size_t n) {
    return is_standard(file, n) || is_installed(file, n) || contains(file, n, "torchinductor_") ||
           begins(file, n, "<") || begins(file, n, "torch/") || contains(file, n, "/torch/") ||
           begins(file, n, "triton/runtime/") || begins(file, n, "triton/compiler/") ||
           begins(file, n, "triton/testing.py") || contains(file, n, "/gpush_record/") ||
           contains(file, n, "site-packages") || contains(file, n, "dist-packages") ||
           contains(file, n, "/lib/python3") || !contains(file, n, ".py");
}

/* A file's n bytes and the digits of a line; false where they are none, or of a library, and
 * without memory, where k has failed. */
static bool set_line(kineto *k, const char *file, size_t n, gp_json_text digits, gp_frame *to) {
    int64_t line = 0;
    if (!gp_json_text_int(&digits, &line) || line < 0 || line > INT_MAX) return false;
    if (is_library(file, n)) return false;
    to->file = gp_intern_add(k->names, file, n);
    to->line = (int)line;
    return to->file || gp_json_fail(k->j, "out of memory");
}

/* The function's name where it is a word, and not "<module>" or "<lambda>"; NULL: none, or without
 * memory, where k has failed. */
static const char *function_of(kineto *k, const char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)p[i]) && p[i] != '_') return NULL;
    const char *name = n ? gp_intern_add(k->names, p, n) : NULL;
    if (n && !name) gp_json_fail(k->j, "out of memory");
    return name;
}

/* Reads "FILE(LINE): NAME". */
static bool read_frame(kineto *k, const char *p, size_t n, gp_frame *to) {
    const char *end = memmem(p, n, "): ", 3), *open = end;
    while (open && open > p && *open != '(') open--;
    if (!end || *open != '(') return false;
    gp_json_text digits = {.p = open + 1, .n = (size_t)(end - open - 1)};
    if (!set_line(k, p, (size_t)(open - p), digits, to)) return false;
    to->function = function_of(k, end + 3, (size_t)(p + n - end - 3));
    return true;
}

/* The same where the line is the function's first: which of its lines runs is not known. A module's
 * first says nothing. */
static bool read_function(kineto *k, const char *p, size_t n, gp_frame *to) {
    static const char module[] = ": <module>";
    size_t m = sizeof module - 1;
    if (!read_frame(k, p, n, to)) return false;
    to->line = n >= m && !memcmp(p + n - m, module, m) ? 0 : -to->line;
    return true;
}

/* Reads "FILE:LINE". */
static bool read_line(kineto *k, const char *p, size_t n, gp_frame *to) {
    const char *colon = memrchr(p, ':', n);
    if (!colon) return false;
    gp_json_text digits = {.p = colon + 1, .n = (size_t)(p + n - colon - 1)};
    return set_line(k, p, (size_t)(colon - p), digits, to);
}

static const gp_stack *intern(kineto *k, const gp_load_stack *s) {
    const gp_stack *kept = gp_load_intern_stack(k->names, s);
    if (!kept) gp_json_fail(k->j, "out of memory");
    return kept;
}

static const gp_stack *one(kineto *k, const char *text, size_t n,
                           bool (*read)(kineto *, const char *, size_t, gp_frame *)) {
    gp_load_stack s;
    memset(&s, 0, sizeof s); /* padding is interned with the rest */
    if (!read(k, text, n, &s.frame[0])) return NULL;
    s.n = 1;
    return intern(k, &s);
}

const gp_stack *gp_kineto_without_line(kineto *k, const gp_stack *s) {
    gp_load_stack one = {.n = 1, .module = s->module};
    one.frame[0] = s->frame[0];
    one.frame[0].line = 0;
    const gp_stack *kept = gp_load_intern_stack(k->names, &one);
    if (!kept) gp_json_fail(k->j, "out of memory");
    return kept;
}

const gp_stack *gp_kineto_frame(kineto *k, const char *text, size_t n) {
    return one(k, text, n, read_function);
}

const gp_stack *gp_kineto_line(kineto *k, const char *text, size_t n) {
    return one(k, text, n, read_line);
}

const gp_stack *gp_kineto_stack(kineto *k, const char *text, size_t n) {
    gp_load_stack s;
    const char *end = text + n;
    memset(&s, 0, sizeof s);
    while (text < end && s.n < GP_STACK_DEPTH) {
        const char *stop = memchr(text, ';', (size_t)(end - text));
        if (!stop) stop = end;
        s.n += read_frame(k, text, (size_t)(stop - text), &s.frame[s.n]);
        text = stop + 1;
    }
    return s.n ? intern(k, &s) : NULL;
}

/* Copies the fields only: padding, which is interned with them, stays 0. */
static void set_frame(gp_frame *to, const gp_frame *from) {
    to->file = from->file, to->function = from->function, to->line = from->line;
}

const gp_stack *gp_kineto_join(gp_intern *names, const gp_stack *add, const char *function,
                               const char *module, const gp_stack *under) {
    gp_load_stack s;
    memset(&s, 0, sizeof s);
    s.module = module;
    if (add) {
        set_frame(&s.frame[0], &add->frame[0]);
        s.frame[s.n++].function = function;
    }
    for (int i = 0; under && i < under->n && s.n < GP_STACK_DEPTH; i++)
        set_frame(&s.frame[s.n++], &under->frame[i]);
    return gp_load_intern_stack(names, &s);
}

const char *gp_kineto_module(kineto *k, const char *in, const char *name) {
    static const char begin[] = "nn.Module: ";
    char path[300];
    if (strncmp(name, begin, sizeof begin - 1) != 0) return in;
    int n =
        snprintf(path, sizeof path, "%s%s%s", in ? in : "", in ? "." : "", name + sizeof begin - 1);
    if (n < 0 || n >= (int)sizeof path) return in; /* cut within it: its callers' is true, too */
    const char *kept = gp_intern_add(k->names, path, (size_t)n);
    if (!kept) gp_json_fail(k->j, "out of memory");
    return kept ? kept : in;
}
