/* Files of other programs, which are not read: what they are, by their first bytes, their names or
 * their keys, and how to get a file that is read. */
#include <ctype.h>
#include <string.h>

#include "profile/load/reader.h"
#include "tensor/base/error.h"
#include "tensor/base/safe_text.h"

#define TORCH_WRITES "torch.profiler's export_chrome_trace writes a file that is read"

#define PROTOBUF                                                                                   \
    "a protocol buffer, as the profilers of JAX and TensorFlow write: their trace.json.gz beside " \
    "it is read"

#define NSYS_REPORT                                                                                \
    "a report of Nsight Systems: nsys export --type sqlite makes a database of it, which is read"

/* A file that begins with n bytes at that place. */
static const struct magic {
    size_t at, n;
    const char *bytes, *is;
} magics[] = {
    {0, 15, "SQLite format 3",
     "a database of SQLite: name the file, which is read if nsys export made it"},
    {0, 4, "NVR\0", "a report of Nsight Compute, of kernels alone: " TORCH_WRITES},
    {0, 4, "PK\3\4", "a zip archive, as torch.save writes: unpack it, or name the trace in it"},
    {257, 5, "ustar", "a tar archive: unpack it, and name the traces in it, one for each rank"},
    {0, 2, "\x1f\x8b", "packed by gzip twice: gzip -dc FILE | gpush analyze -"},
    {0, 4, "\x28\xb5\x2f\xfd", "packed by zstd: zstd -dc FILE | gpush analyze -"},
    {0, 6,
     "\xfd"
     "7zXZ\0",
     "packed by xz: xz -dc FILE | gpush analyze -"},
    {0, 3, "BZh", "packed by bzip2: bzip2 -dc FILE | gpush analyze -"},
    {0, 4,
     "\x7f"
     "ELF",
     "a program: gpush analyze reads what a profiler of it wrote"},
    {0, 8, "PERFILE2", "a record of Linux's perf, which knows no device: " TORCH_WRITES},
    {0, 2, "\x80\4",
     "a pickle of Python, as torch.cuda.memory._dump_snapshot writes: "
     "pytorch.org/memory_viz shows it; " TORCH_WRITES},
    {0, 2, "\x80\5", "a pickle of Python: " TORCH_WRITES},
    {0, 2, "\xff\xfe",
     "text of 16 bits a character, as a shell of Windows writes: save it as "
     "UTF-8"},
    {0, 14, "<!DOCTYPE html", "a page for a browser: name the trace or profile it was made of"},
    {0, 5, "<html", "a page for a browser: name the trace or profile it was made of"},
};

static const struct {
    const char *ending, *is;
} endings[] = {
    {".nsys-rep", NSYS_REPORT},
    {".qdrep", NSYS_REPORT},
    {".ncu-rep", "a report of Nsight Compute, of kernels alone: " TORCH_WRITES},
    {".pb", PROTOBUF},
    {".pftrace", "a trace of Perfetto's own format: " TORCH_WRITES},
};

/* JSON with both of these, within its first bytes. */
static const struct {
    const char *key, *other;
    bool events; /* it has traceEvents, of which none was read */
    const char *is;
} kinds[] = {
    {"speedscope.app/file-format", "", false,
     "a file for speedscope.app, which lacks what waited: "
     "name the trace it was made of"},
    {"\"nodes\"", "\"schema\"", false,
     "an execution trace (ExecutionTraceObserver), which has ops "
     "and no times: " TORCH_WRITES},
    {"\"samples\"", "\"timeDeltas\"", false, "a profile of a JavaScript program"},
    {"\"segments\"", "\"device_traces\"", false,
     "a snapshot of PyTorch's memory: "
     "pytorch.org/memory_viz shows it"},
    {"viztracer_metadata", "", true, "a trace of VizTracer, of Python alone: " TORCH_WRITES},
    {"\"devtools.timeline", "", true, "a trace of a browser: " TORCH_WRITES},
};

enum { LOOK = 1 << 16 }; /* bytes in which keys are looked for */

static bool contains(const gp_json *j, const char *text) {
    size_t n = (size_t)(j->end - j->start);
    return memmem(j->start, n < LOOK ? n : LOOK, text, strlen(text)) != NULL;
}

static bool ends_with(const char *text, const char *ending) {
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && !strcmp(text + n - m, ending);
}

/* Of a list of lists, as torch.profiler's export_memory_timeline writes. */
static bool is_timeline(const char *p) {
    if (*p++ != '[') return false;
    while (isspace((unsigned char)*p)) p++;
    return *p == '[';
}

/* What the file is; NULL: not known, or one that may be read. unread: it was, without any event. */
static const char *kind_of(const gp_json *j, bool unread) {
    size_t n = (size_t)(j->end - j->start);
    const char *p = j->start;
    while (isspace((unsigned char)*p)) p++;
    if (p == j->end) return "empty";
    bool json = *p == '{' || *p == '[';
    for (size_t i = 0; !json && i < sizeof magics / sizeof *magics; i++) {
        const struct magic *m = &magics[i];
        if (n >= m->at + m->n && !memcmp(j->start + m->at, m->bytes, m->n)) return m->is;
    }
    for (size_t i = 0; !json && i < sizeof endings / sizeof *endings; i++)
        if (ends_with(j->file, endings[i].ending)) return endings[i].is;
    if (!json) return contains(j, "/host:CPU") ? PROTOBUF : NULL;
    if (is_timeline(p)) return "a memory timeline (export_memory_timeline): " TORCH_WRITES;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].events ? !unread : contains(j, "\"traceEvents\"")) continue;
        if (contains(j, kinds[i].key) && contains(j, kinds[i].other)) return kinds[i].is;
    }
    return NULL;
}

bool gp_load_refuse(gp_json *j, bool unread) {
    const char *is = kind_of(j, unread);
    char file[300];
    if (!is || j->failed) return false;
    j->failed = true;
    gp_fail("profile.load: %s is %s", gp_safe_text(j->file, file, sizeof file), is);
    return true;
}
