/* Collectives that other threads of the host run, as gloo's do: a trace has each as a region of the
 * thread that ran it, and nothing of who queued it and who waited for it. They become work of the
 * host's streams, queued by the ops "c10d::…" in their order; and a thread waited for one where
 * nothing happened on it until that had ended. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "profile/load/kineto/kineto.h"

/* A wait ends at most LATE ns after its collective, or 1/TAIL of the time that it waited: a thread
 * that does something else meanwhile rarely ends just then. */
enum { LATE = 200000, TAIL = 20, STREAMS = 1024 };

/* Something begins or ends on a thread. */
typedef struct moment {
    int64_t t;
    int op, collective; /* by how much it changes the numbers of ops that are open, but for those
                           that queue collectives; and of those */
    bool views;         /* an op begins that makes a view of a tensor's memory */
} moment;

typedef struct finder {
    kineto *k;
    int *order, *thread; /* as gp_kineto_sort sets them */
    int *run, *begun;    /* collectives, by their ends and by their starts */
    int nrun, nover;     /* nover: how many of begun were over by then on this thread */
    bool *runs;          /* by thread: it runs collectives, and waits for the next one */
    bool has_ops; /* the thread has any: one without waits for something else, as a timer does */
    bool reduces; /* a DistributedDataParallel runs on the thread */
    moment *moment;
    kineto_event *wait;
    int nmoments, nwaits;
} finder;

static const char *const runners[] = {"gloo:", "mpi:", "ucc:"};

bool gp_kineto_is_collective(const char *name) {
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++)
        if (!strncmp(name, runners[i], strlen(runners[i]))) return true;
    return false;
}

/* Of a kernel's name, in small letters without underscores: what libraries beside NCCL call theirs
 * (vLLM's, SGLang's and TensorRT-LLM's own, symmetric memory's), but for reductions of a warp's or
 * a block's threads. */
bool gp_kineto_exchanges(const char *name) {
    static const char *const words[] = {"allreduce",     "crossdevicereduce", "multimem",
                                        "reducescatter", "allgather",         "alltoall"};
    char text[1024];
    size_t n = 0;
    for (; *name && n + 1 < sizeof text; name++)
        if (*name != '_') text[n++] = (char)tolower((unsigned char)*name);
    text[n] = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(text, words[i]);
        bool threads = at && ((at - text >= 4 && !strncmp(at - 4, "warp", 4)) ||
                              (at - text >= 5 && !strncmp(at - 5, "block", 5)));
        if (at && !threads) return true;
    }
    return false;
}

static int64_t end_of(const kineto_event *e) { return e->t0 + e->dur; }

static bool queues(const kineto_event *e) {
    return e->kind == KINETO_OP && !strncmp(e->name, "c10d::", 6);
}

static int compare_starts(const void *a, const void *b, void *k) {
    int i = *(const int *)a, j = *(const int *)b;
    const kineto_event *x = &((const kineto *)k)->event[i], *y = &((const kineto *)k)->event[j];
    if (x->t0 != y->t0) return x->t0 < y->t0 ? -1 : 1;
    return i - j;
}

static int compare_ends(const void *a, const void *b, void *k) {
    int i = *(const int *)a, j = *(const int *)b;
    int64_t x = end_of(&((const kineto *)k)->event[i]), y = end_of(&((const kineto *)k)->event[j]);
    return x != y ? (x < y ? -1 : 1) : i - j;
}

/* ---- who queued what ---- */

static char next_letter(const char **p) {
    while (**p && !isalpha((unsigned char)**p)) (*p)++;
    return **p ? (char)tolower((unsigned char)*(*p)++) : 0;
}

/* Whether "c10d::allreduce_" queues "gloo:all_reduce": either's letters begin with the other's. */
static bool is_queued_by(const char *collective, const char *op) {
    const char *x = strchr(collective, ':') + 1, *y = op + 6;
    for (;;) {
        char a = next_letter(&x), b = next_letter(&y);
        if (!a || !b) return true;
        if (a != b) return false;
    }
}

/* Gives each collective the external id of its op, and a stream that is free when it begins. op:
 * those that queue, by their starts. */
static void link_all(kineto *k, const int *run, int nrun, int *op, int nop) {
    int64_t busy[STREAMS] = {0};
    for (int i = 0; i < nrun; i++) {
        kineto_event *c = &k->event[run[i]];
        int s = 0, from = 0;
        while (s < STREAMS - 1 && busy[s] > c->t0) s++;
        busy[s] = end_of(c), c->stream = s + 1;
        c->correlation = c->external = -1;
        while (from < nop && op[from] < 0) from++;
        for (int m = from; m < nop && (op[m] < 0 || k->event[op[m]].t0 <= c->t0); m++) {
            if (op[m] < 0 || !is_queued_by(c->name, k->event[op[m]].name)) continue;
            c->external = k->event[op[m]].external;
            op[m] = -1;
            break;
        }
    }
}

/* ---- who waited ---- */

static int by_time(const void *a, const void *b) {
    const moment *x = a, *y = b;
    return (x->t > y->t) - (x->t < y->t);
}

/* The moments of the thread of order[i]; *i becomes the next thread's first. */
static void gather(finder *f, int *i) {
    const kineto *k = f->k;
    int thread = k->event[f->order[*i]].thread;
    f->nmoments = 0, f->nover = 0, f->has_ops = f->reduces = false;
    for (; *i < k->n; (*i)++) {
        const kineto_event *e = &k->event[f->order[*i]];
        if (!gp_kineto_on_host(e) || e->thread != thread) break;
        f->has_ops |= e->kind == KINETO_OP;
        int collective = queues(e), op = e->kind == KINETO_OP && !collective;
        if (!strncmp(e->name, "autograd::", 10))
            op = 0; /* they call what the script has hooked in */
        f->reduces |= !strcmp(e->name, "DistributedDataParallel.forward");
        bool views = op && !strcmp(e->name, "aten::as_strided");
        f->moment[f->nmoments++] = (moment){e->t0, op, collective, views};
        f->moment[f->nmoments++] = (moment){end_of(e), -op, -collective, false};
    }
    qsort(f->moment, (size_t)f->nmoments, sizeof *f->moment, by_time);
}

/* The collective that ended last by t; NULL: none. */
static const kineto_event *ended_by(const finder *f, int64_t t) {
    int lo = 0, hi = f->nrun;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (end_of(&f->k->event[f->run[mid]]) <= t) lo = mid + 1;
        else hi = mid;
    }
    return lo ? &f->k->event[f->run[lo - 1]] : NULL;
}

static void note_wait(finder *f, int thread, const kineto_event *c, int64_t from, int64_t b) {
    f->wait[f->nwaits++] = (kineto_event){.t0 = from,
                                          .dur = b - from,
                                          .name = c->name,
                                          .correlation = -1,
                                          .external = -1,
                                          .thread = thread,
                                          .device = c->device,
                                          .stream = c->stream,
                                          .kind = KINETO_JOIN};
}

/* From a to b nothing happened on the thread. */
static void add_wait(finder *f, int thread, int64_t a, int64_t b, bool in_op) {
    const kineto_event *c = ended_by(f, b);
    if (!c || end_of(c) <= a) return;
    int64_t from = c->t0 > a ? c->t0 : a, waited = end_of(c) - from, late = b - end_of(c);
    if (!in_op && late > LATE && late > waited / TAIL) return;
    note_wait(f, thread, c, from, b);
}

/* The same where views of a bucket follow: within backward, DistributedDataParallel waits for its
 * buckets one after another, and makes those of each (torch/csrc/distributed/c10d/reducer.cpp). So
 * the collective was over at b, however late the thread that ran it came to say so. */
static bool add_reducers(finder *f, int thread, int64_t a, int64_t b) {
    kineto_event *event = f->k->event;
    while (f->nover < f->nrun && end_of(&event[f->begun[f->nover]]) <= a) f->nover++;
    kineto_event *c = f->nover < f->nrun ? &event[f->begun[f->nover]] : NULL;
    if (!c || c->t0 >= b) return false;
    if (end_of(c) > b) c->dur = b - c->t0;
    f->nover++;
    note_wait(f, thread, c, a, b);
    return true;
}

static void find_waits(finder *f) {
    const kineto *k = f->k;
    for (int i = 0; i < k->n && gp_kineto_on_host(&k->event[f->order[i]]);) {
        int thread = k->event[f->order[i]].thread, op = 0, collective = 0;
        gather(f, &i);
        for (int m = 0; m + 1 < f->nmoments; m++) {
            int64_t a = f->moment[m].t, b = f->moment[m + 1].t;
            op += f->moment[m].op, collective += f->moment[m].collective;
            if (b <= a || op || !f->has_ops || f->runs[thread]) continue;
            bool reducers = f->reduces && f->moment[m + 1].views && !collective;
            if (!reducers || !add_reducers(f, thread, a, b))
                add_wait(f, thread, a, b, collective > 0);
        }
    }
}

/* ---- the trace ---- */

static bool append_waits(finder *f) {
    kineto *k = f->k;
    size_t n = (size_t)k->n + (size_t)f->nwaits;
    kineto_event *more = f->nwaits ? realloc(k->event, n * sizeof *more) : k->event;
    if (!more) return false;
    k->event = more, k->capacity = (int)n;
    for (int i = 0; i < f->nwaits; i++) k->event[k->n++] = f->wait[i];
    return true;
}

static bool find(finder *f, int *op) {
    kineto *k = f->k;
    int nop = 0;
    for (int i = 0; i < k->n; i++) {
        if (k->event[i].kind == KINETO_COLLECTIVE)
            f->run[f->nrun++] = i, f->runs[k->event[i].thread] = true;
        if (queues(&k->event[i])) op[nop++] = i;
    }
    qsort_r(f->run, (size_t)f->nrun, sizeof *f->run, compare_starts, k);
    qsort_r(op, (size_t)nop, sizeof *op, compare_starts, k);
    link_all(k, f->run, f->nrun, op, nop);
    memcpy(f->begun, f->run, (size_t)f->nrun * sizeof *f->run);
    qsort_r(f->run, (size_t)f->nrun, sizeof *f->run, compare_ends, k);
    if (!gp_kineto_sort(k, &f->order, &f->thread)) return false;
    find_waits(f);
    return append_waits(f);
}

bool gp_kineto_collectives(kineto *k) {
    finder f = {.k = k};
    size_t n = (size_t)k->n + 1;
    bool any = false;
    for (int i = 0; i < k->n; i++) any |= k->event[i].kind == KINETO_COLLECTIVE;
    if (!any) return true;
    int *op = malloc(n * sizeof *op);
    f.run = malloc(n * sizeof *f.run);
    f.begun = malloc(n * sizeof *f.begun);
    f.moment = malloc(2 * n * sizeof *f.moment);
    f.wait = malloc(2 * n * sizeof *f.wait);
    f.runs = calloc((size_t)k->nthreads + 1, sizeof *f.runs);
    bool ok = op && f.runs && f.run && f.begun && f.moment && f.wait && find(&f, op);
    free(op);
    free(f.run);
    free(f.begun);
    free(f.moment);
    free(f.wait);
    free(f.runs);
    free(f.order);
    free(f.thread);
    return ok || gp_json_fail(k->j, "out of memory");
}
