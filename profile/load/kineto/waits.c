/* Why the host waited, in torch.profiler's traces: which calls of devices' runtimes wait, and what
 * torch.def says of the op, the copy or the call that did. A row's text is the op or the call, or
 * that and what it copied: "aten::to: HtoD pinned", before "aten::to: HtoD" and "aten::to". */
#include <stdio.h>
#include <string.h>

#include "profile/load/kineto/kineto.h"

static const struct reason {
    const char *what;
    gp_why why;
    const char *advice;
} reasons[] = {
#define TORCH(what, why, advice) {what, GP_WHY_##why, advice},
#include "profile/load/torch.def"
};
enum { REASONS = sizeof reasons / sizeof *reasons };

/* NULL: there is none. */
static const struct reason *find(const char *what) {
    for (int i = 0; i < REASONS; i++)
        if (!strcmp(reasons[i].what, what)) return &reasons[i];
    return NULL;
}

/* The row of what, and of the copy of that name; NULL: there is none. */
static const struct reason *reason_of(const char *what, const char *copy) {
    gp_copy_kind kind = copy ? gp_copy_direction(copy) : GP_COPY_D2D;
    const char *direction = kind == GP_COPY_D2D ? NULL : kind == GP_COPY_H2D ? "HtoD" : "DtoH";
    const char *memory = "";
    const struct reason *row = NULL;
    char text[200];
    if (copy && strstr(copy, "Pageable")) memory = " pageable";
    if (copy && strstr(copy, "Pinned")) memory = " pinned";
    snprintf(text, sizeof text, "%s: %s%s", what, direction ? direction : "", memory);
    if (direction && (row = find(text))) return row;
    snprintf(text, sizeof text, "%s: %s", what, direction ? direction : "");
    return direction && (row = find(text)) ? row : find(what);
}

bool gp_kineto_reason(const char *what, const char *copy, gp_rec *r) {
    const struct reason *row = reason_of(what, copy);
    if (!row) return false;
    r->why = (uint8_t)row->why;
    r->name = row->what;
    return true;
}

const char *gp_load_advice(const char *what) {
    const struct reason *row = find(what);
    for (int i = 0; !row && i < REASONS; i++) { /* "profiler: cudaDeviceSynchronize", "gloo:send" */
        size_t n = strlen(reasons[i].what);
        bool open = n && strchr(" :", reasons[i].what[n - 1]);
        bool begins = open && !strncmp(reasons[i].what, what, n);
        if (begins) row = &reasons[i];
    }
    return (row ? row : find(""))->advice;
}

const char *gp_load_reads(const char *op) {
    const struct reason *row = find(op);
    bool reads = row && (row->why == GP_WHY_item || row->why == GP_WHY_branch ||
                         row->why == GP_WHY_shape || row->why == GP_WHY_print);
    return reads ? row->advice : NULL;
}

/* Of other makers' runtimes, by what their names say: aclrtSynchronizeStream,
 * musaDeviceSynchronize, zeEventHostSynchronize, urQueueFinish. */
static kineto_awaits awaited_by_words(const char *call) {
    static const char *const streams[] = {"QueueFinish", "EventsWait", "EventWait"};
    if (strcasestr(call, "synchronize"))
        return strcasestr(call, "device") || strcasestr(call, "context") ? KINETO_DEVICE
                                                                         : KINETO_STREAM;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        size_t n = strlen(call), m = strlen(streams[i]);
        if (n >= m && !strcmp(call + n - m, streams[i])) return KINETO_STREAM;
    }
    return KINETO_NOTHING;
}

kineto_awaits gp_kineto_awaited(const char *call) {
    static const struct {
        const char *name;
        kineto_awaits what;
    } calls[] = {{"StreamSynchronize", KINETO_STREAM},  {"DeviceSynchronize", KINETO_DEVICE},
                 {"EventSynchronize", KINETO_STREAM},   {"CtxSynchronize", KINETO_DEVICE},
                 {"EventQuery, polled", KINETO_STREAM}, {"StreamQuery, polled", KINETO_STREAM},
                 {"ThreadSynchronize", KINETO_DEVICE},  {"Free", KINETO_FREE},
                 {"Memcpy", KINETO_COPY_END},           {"MemcpyWithStream", KINETO_COPY_END}};
    static const char *const prefixes[] = {"cuda", "hip", "cu"};
    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++) {
        size_t n = strlen(prefixes[p]);
        if (strncmp(call, prefixes[p], n) != 0) continue;
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            size_t len = strlen(calls[i].name);
            const char *rest = call + n + len;
            if (strncmp(call + n, calls[i].name, len) == 0 && (!*rest || *rest == '_'))
                return calls[i].what;
        }
    }
    return awaited_by_words(call);
}

/* From pageable memory CUDA itself stages more than AT_ONCE bytes, once the stream has come to the
 * copy: the call returns when the last part is staged, after the copy's begin and shortly before
 * its end (CUDA's runtime API, "API synchronization behavior"). Other copies have ended by then;
 * for those of pinned memory or within a device no call waits, however slow it is. */
bool gp_kineto_waits_for_copy(const kineto_event *call, const kineto_event *work) {
    enum { AT_ONCE = 64 << 10 };
    gp_copy_kind kind = gp_copy_direction(work->name);
    bool copies = work->kind == KINETO_COPY && strstr(call->name, "emcpy");
    if (!copies || kind == GP_COPY_D2D || strstr(work->name, "Pinned")) return false;
    int64_t returned = call->t0 + call->dur;
    if (kind != GP_COPY_H2D || !strstr(work->name, "Pageable"))
        return returned >= work->t0 + work->dur;
    bool staged = !work->bytes || work->bytes > AT_ONCE;
    return staged && returned > work->t0;
}

bool gp_kineto_reads(const char *op) {
    static const char *const ops[] = {
        "aten::_local_scalar_dense", "aten::nonzero",   "aten::equal",
        "aten::masked_select",       "aten::bincount",  "aten::_unique2",
        "aten::unique_consecutive",  "aten::unique_dim"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(op, ops[i])) return true;
    return false;
}

/* What reads on the CPU only, by PyTorch's sources (ATen/native: ReduceOps.cpp, Sorting.cpp,
 * TensorCompare.cpp, Embedding.cpp, quantized/cpu; linalg's are BatchLinearAlgebra.cpp's). */
bool gp_kineto_reads_within(const char *op) {
    static const char step[] = "Optimizer.step#";
    static const char *const counters[] = {"Adam", "NAdam",   "RAdam",    "SparseAdam", "Adagrad",
                                           "ASGD", "RMSprop", "Adadelta", "Rprop"};
    bool steps = !strncmp(op, step, sizeof step - 1);
    for (size_t i = 0; steps && i < sizeof counters / sizeof *counters; i++)
        if (!strncmp(op + sizeof step - 1, counters[i], strlen(counters[i]))) return true;
    static const char *const ops[] = {
        "aten::std",
        "aten::var",
        "aten::quantile",
        "aten::nanquantile",
        "aten::_assert_async",
        "aten::linalg_lu_solve",
        "aten::embedding_renorm_",
        "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(op, ops[i])) return true;
    return gp_kineto_reads(op);
}

/* ---- what is no wait of the script's ---- */

static bool contains_any(const char *text, const char *const *word) {
    for (; *word; word++)
        if (strstr(text, *word)) return true;
    return false;
}

bool gp_kineto_is_profiler(const char *frame) {
    static const char *const files[] = {"torch/profiler/profiler.py(",
                                        "torch/autograd/profiler.py(", NULL};
    return contains_any(frame, files);
}

bool gp_kineto_is_profiling(const char *frame) {
    return strstr(frame, "torch/profiler/profiler.py(") || strstr(frame, "/gpush_record/");
}

bool gp_kineto_is_data(const char *frame) { return strstr(frame, "torch/utils/data/") != NULL; }

bool gp_kineto_is_print(const char *frame) { return strstr(frame, "torch/_tensor_str.py("); }

bool gp_kineto_is_scaler(const char *frame) { return strstr(frame, "torch/amp/grad_scaler.py("); }

bool gp_kineto_is_scheduler(const char *frame) {
    return strstr(frame, "torch/optim/lr_scheduler.py(");
}

bool gp_kineto_is_synchronize(const char *frame) {
    bool of_device =
        strstr(frame, "torch/cuda/__init__.py(") || strstr(frame, "torch/xpu/__init__.py(");
    return of_device && strstr(frame, "): synchronize");
}

/* Of torch/_tensor_str.py: the finite numbers that are not 0 are counted first. A number that is
 * read after the last condition is the script's. */
int gp_kineto_printing(int so_far, const char *op) {
    static const char *const first[KINETO_PRINTS] = {"isfinite", "ne", "__and__", "masked_select"};
    static const char *const then[] = {
        "abs", "to", "min",  "max",    "unbind", "ceil",         "ne",          "div",
        "gt",  "lt", "item", "detach", "slice",  "resolve_conj", "resolve_neg", "select"};
    enum { TESTED = KINETO_PRINTS + 1 };
    const char *name = strncmp(op, "aten::", 6) ? "" : op + 6;
    if (so_far >= KINETO_PRINTS) {
        if (!strcmp(name, "is_nonzero")) return TESTED;
        for (size_t i = 0; i < sizeof then / sizeof *then; i++)
            if (!strcmp(name, then[i]) && (so_far != TESTED || strcmp(name, "item") != 0))
                return KINETO_PRINTS;
        so_far = 0;
    }
    return !strcmp(name, first[so_far]) ? so_far + 1 : !strcmp(name, first[0]);
}

const char *gp_kineto_first_use(const char *frame) {
    static const char *const tuning[] = {"triton/testing.py(", "triton/runtime/autotuner.py(",
                                         "torch/_inductor/runtime/triton_heuristics.py(",
                                         "torch/_inductor/select_algorithm.py(", NULL};
    static const char *const compiler[] = {"torch/_dynamo/convert_frame.py(",
                                           "torch/_inductor/async_compile.py(", NULL};
    static const char *const code[] = {"triton/compiler/compiler.py(",
                                       "torch/utils/cpp_extension.py(", NULL};
    if (contains_any(frame, tuning)) return "first use: kernels are tried";
    if (contains_any(frame, compiler)) return "first use: torch.compile";
    return contains_any(frame, code) ? "first use: a kernel is compiled" : NULL;
}

bool gp_kineto_is_step(const char *name) { return !strncmp(name, "ProfilerStep#", 13); }

bool gp_kineto_is_aten(const char *op) { return !strncmp(op, "aten::", 6); }

bool gp_kineto_is_region(const char *op) {
    static const char *const begin[] = {"Optimizer.", "DistributedDataParallel.",
                                        "FullyShardedDataParallel."};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (!strncmp(op, begin[i], strlen(begin[i]))) return true;
    return gp_kineto_is_step(op) || gp_kineto_is_loader(op);
}

bool gp_kineto_is_loader(const char *name) {
    static const char begin[] = "enumerate(DataLoader)#";
    return !strncmp(name, begin, sizeof begin - 1);
}

bool gp_kineto_makes_memory(const char *op) {
    return !strncmp(op, "aten::empty", 11) || !strncmp(op, "aten::resize", 12);
}
