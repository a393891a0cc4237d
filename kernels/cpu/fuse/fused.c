/* Runs a program in blocks: each step by the loop that its op alone has, on results that stay in
 * the first-level cache; a reduction takes the blocks as it would take a tensor's elements. */
#include "kernels/cpu/fuse/fuse.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/elementwise/math.h"
#include "kernels/cpu/random/philox.h"
#include "kernels/cpu/reduce/reduce.h"
#include "kernels/cpu/runtime/nontemporal.h"
#include "kernels/cpu/runtime/scratch.h"

#undef bool

/* SLOT: bytes of a block, and some more, so that blocks do not all begin in the same cache set. */
enum { GRAIN = 32768, SLOT = GP_BLOCK * 8 + 320, SPARE = GP_MAX_IN + 2 };

/* How a block of an input is had. */
typedef enum layout { FLAT, CONSTANT, STRIDED } layout;

typedef struct fuse_job {
    const gp_call *call;
    const gp_program *p;
    const fuse_plan *plan;
    int64_t numel, block;
    int64_t width; /* of rows that are longer than a block: no block goes on to the next; or 0 */
    _Bool strided, stream, ahead;
    layout how[GP_PROGRAM_INPUTS];
    const char *data[GP_PROGRAM_INPUTS];
    int64_t size[GP_PROGRAM_INPUTS];
    char *out[GP_MAX_OUT];
    int ndim; /* of what follows: only if some input is strided */
    int64_t dim[GP_MAX_DIM], stride[GP_PROGRAM_INPUTS][GP_MAX_DIM]; /* bytes */
    _Bool repeats[GP_PROGRAM_INPUTS]; /* depends on the last dim only */
    _Atomic int fault, step;          /* FAULT_… and the step that noted it */
    _Atomic _Bool memory;             /* there was none */
} fuse_job;

/* A thread's own memory: a slot for each input and each result, and spare ones, all after it. */
typedef struct room {
    char *input, *slot, *spare;
    /* Of inputs that repeat where the block began, its length; of one number a row the row. */
    int64_t at[GP_PROGRAM_INPUTS], made[GP_PROGRAM_INPUTS];
} room;

/* ---- inputs ---- */

#define FILL(T)                                                                                    \
    static void fill_##T(char *to, const char *from, int64_t n) {                                  \
        T v;                                                                                       \
        memcpy(&v, from, sizeof v);                                                                \
        for (int64_t i = 0; i < n; i++) ((T *)(void *)to)[i] = v;                                  \
    }
FILL(uint8_t)
FILL(uint16_t)
FILL(uint32_t)
FILL(uint64_t)

static void fill(char *to, const char *from, int64_t size, int64_t n) {
    if (size == 4) fill_uint32_t(to, from, n);
    else if (size == 8) fill_uint64_t(to, from, n);
    else if (size == 2) fill_uint16_t(to, from, n);
    else fill_uint8_t(to, from, n);
}

static void gather_row(char *to, int64_t size, const char *from, int64_t step, int64_t n) {
    if (step == size) memcpy(to, from, (size_t)(n * size));
    else if (step == 0) fill(to, from, size, n);
    else gp_move_row(to, size, from, step, n, (size_t)size);
}

/* Elements [first, first + n) of strided input k. */
static void gather(const fuse_job *j, int k, int64_t first, int64_t n, char *to) {
    const int last = j->ndim - 1;
    int64_t at[GP_MAX_DIM], width = j->dim[last], size = j->size[k];
    const char *p = j->data[k];
    int64_t col = first % width;
    first /= width;
    for (int d = last - 1; d >= 0; d--) {
        at[d] = first % j->dim[d];
        first /= j->dim[d];
        p += at[d] * j->stride[k][d];
    }
    for (int64_t m; n; n -= m, to += m * size, col = 0) {
        m = width - col < n ? width - col : n;
        gather_row(to, size, p + col * j->stride[k][last], j->stride[k][last], m);
        for (int d = last - 1; d >= 0; d--) {
            p += j->stride[k][d];
            if (++at[d] < j->dim[d]) break;
            p -= j->dim[d] * j->stride[k][d];
            at[d] = 0;
        }
    }
}

/* Where element `first` of strided input k is. */
static const char *element(const fuse_job *j, int k, int64_t first) {
    const char *p = j->data[k];
    for (int d = j->ndim - 1; d >= 0; d--)
        p += first % j->dim[d] * j->stride[k][d], first /= j->dim[d];
    return p;
}

/* Elements [first, first + n) of strided input k: where they are, or copied to its slot. */
static const char *read_strided(const fuse_job *j, room *r, int k, int64_t first, int64_t n) {
    char *slot = r->input + k * SLOT;
    int64_t step = j->stride[k][j->ndim - 1], width = j->dim[j->ndim - 1], at = first % width;
    _Bool known = j->repeats[k];
    if (j->width && step == j->size[k]) return element(j, k, first);
    if (j->width && !step) at = first / width, known = 1;
    if (known && r->at[k] == at && r->made[k] >= n) return slot;
    gather(j, k, first, n, slot);
    r->at[k] = at, r->made[k] = n;
    return slot;
}

/* Sets at[k] to elements [first, first + n) of each input. */
static void read_inputs(const fuse_job *j, room *r, int64_t first, int64_t n, const char **at) {
    for (int k = 0; k < j->p->ninputs; k++) {
        if (j->how[k] == FLAT) at[k] = j->data[k] + first * j->size[k];
        else if (j->how[k] == STRIDED) at[k] = read_strided(j, r, k, first, n);
        else at[k] = r->input + k * SLOT;
    }
}

/* Elements of the block that begins at element `first` and ends before `end`. */
static int64_t block_at(const fuse_job *j, int64_t first, int64_t end) {
    int64_t col = j->width ? first % j->width : first, n = j->block - col % j->block;
    if (j->width && n > j->width - col) n = j->width - col;
    return n < end - first ? n : end - first;
}

/* The thread's room, with the inputs of one element filled in; NULL when out of memory. */
static void *begin(void *ctx) {
    enum { HEAD = (sizeof(room) + 63) / 64 * 64 };
    fuse_job *j = ctx;
    int inputs = j->p->ninputs, slots = inputs + j->plan->nslots + SPARE;
    room *r = gp_scratch(GP_SCRATCH_PART, HEAD + (size_t)slots * SLOT);
    if (!r) j->memory = 1;
    if (!r) return NULL;
    r->input = (char *)r + HEAD;
    r->slot = r->input + inputs * SLOT, r->spare = r->slot + j->plan->nslots * SLOT;
    int64_t n = j->numel < GP_BLOCK ? j->numel : GP_BLOCK;
    for (int k = 0; k < inputs; k++) {
        r->made[k] = 0;
        if (j->how[k] == CONSTANT) fill(r->input + k * SLOT, j->data[k], j->size[k], n);
    }
    return r;
}

/* ---- steps ---- */

/* Operand o of n elements in the type that the step's loop takes; `spare` takes a conversion. */
static const char *operand(const fuse_operand *o, const char *const *at, int64_t size, int64_t n,
                           char *spare) {
    if (o->number) return o->number;
    const char *p = at[o->value];
    if (!o->load) return p;
    o->load(spare, p, size, n);
    return spare;
}

/* The same in memory's dtype, converted through the type that loses nothing. */
static const char *cast(const fuse_operand *o, const char *const *at, int64_t from, int64_t to,
                        int64_t n, char *spare) {
    char tmp[GP_BLOCK * 8];
    if (o->number || !o->load) return o->number ? o->number : at[o->value];
    o->load(tmp, at[o->value], from, n);
    o->store(spare, to, tmp, n);
    return spare;
}

#define CHOOSE(T)                                                                                  \
    static void choose_##T(void *to, const char *m, const char *a, const char *b, int64_t n) {     \
        T *restrict o = to;                                                                        \
        const T *u = (const void *)a, *v = (const void *)b;                                        \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) o[i] = m[i] ? u[i] : v[i];             \
    }
CHOOSE(uint8_t)
CHOOSE(uint16_t)
CHOOSE(uint32_t)
CHOOSE(uint64_t)

static void choose(char *to, int64_t size, const char *const *in, int64_t n) {
    if (size == 4) choose_uint32_t(to, in[0], in[1], in[2], n);
    else if (size == 8) choose_uint64_t(to, in[0], in[1], in[2], n);
    else if (size == 2) choose_uint16_t(to, in[0], in[1], in[2], n);
    else choose_uint8_t(to, in[0], in[1], in[2], n);
}

#define DROP(T)                                                                                    \
    static void drop_##T(T *restrict o, const T *x, const uint32_t *w, float p, T s, int64_t n) {  \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) o[i] =                                 \
            gp_uniform_f32(w[i], 24) < p ? 0 : x[i] * s;                                           \
    }
DROP(float)
DROP(double)

/* Elements [first, first + n): whether one is kept depends on its index. */
static void drop(const fuse_job *j, const fuse_step *s, int64_t first, int64_t n, const char *x,
                 char *to, char *spare) {
    uint32_t w[GP_BLOCK + 256];
    char *room = s->drop_store ? spare : to;
    int64_t skip = first & 3, counters = (n + skip + 3) / 4;
    philox_block(j->call->seed, j->call->counter + s->random, (uint64_t)(first / 4),
                 (counters + 63) / 64 * 64, w);
    if (s->drop_load) s->drop_load(spare, x, s->size, n), x = spare;
    if (s->ct == GP_CT_f32)
        drop_float((float *)(void *)room, (const void *)x, w + skip, s->p, (float)s->scale, n);
    else drop_double((double *)(void *)room, (const void *)x, w + skip, s->p, s->scale, n);
    if (s->drop_store) s->drop_store(to, s->size, room, n);
}

static int64_t size_of(const fuse_job *j, int v) {
    return v < j->p->ninputs ? j->size[v] : j->plan->step[v - j->p->ninputs].size;
}

static void run_form(const fuse_job *j, const fuse_step *s, const room *r, int64_t first, int64_t n,
                     const char *const *at, char *to) {
    const char *in[3];
    int i = 0;
    if (s->form == GP_FUSE_DROP) {
        drop(j, s, first, n, at[s->in[0].value], to, r->spare);
        return;
    }
    do {
        int64_t from = s->in[i].number ? 0 : size_of(j, s->in[i].value);
        in[i] = cast(&s->in[i], at, from, s->size, n,
                     s->form == GP_FUSE_CONVERT ? to : r->spare + i * SLOT);
    } while (++i < s->nin);
    if (s->form == GP_FUSE_WHERE) choose(to, s->size, in, n);
    else if (in[0] != to) memcpy(to, in[0], (size_t)(n * s->size));
}

static void run_step(const fuse_job *j, const fuse_step *s, const room *r, int64_t first, int64_t n,
                     const char *const *at, char *to) {
    const void *in[GP_MAX_IN];
    if (!s->fn) {
        run_form(j, s, r, first, n, at, to);
        return;
    }
    for (int i = 0; i < s->nin; i++) {
        const fuse_operand *o = &s->in[i];
        in[i] = operand(o, at, o->load ? size_of(j, o->value) : 0, n, r->spare + i * SLOT);
    }
    if (!s->store) {
        s->fn(n, to, in, s->par);
        return;
    }
    char *full = r->spare + GP_MAX_IN * SLOT;
    s->fn(n, full, in, s->par);
    s->store(to, s->size, full, n);
}

/* Prefetches part k of as many as there are steps of the block that begins at element `first`: all
 * of it at once would hold up the loads of the steps. Always inlined, as GCC drops calls of a
 * function that only prefetches. */
static inline __attribute__((always_inline)) void fetch_part(const fuse_job *j, int64_t first,
                                                             int64_t n, int k) {
    int64_t from = n * k / j->plan->nsteps, to = n * (k + 1) / j->plan->nsteps;
    for (int i = 0; i < j->p->ninputs; i++)
        if (j->how[i] == FLAT)
            fetch_block(j->data[i] + (first + from) * j->size[i], (to - from) * j->size[i]);
}

/* Computes elements [first, first + n), at most a block; output i goes to out[i], where given. */
static void run_block(fuse_job *j, room *r, int64_t first, int64_t n, char *const *out) {
    const fuse_plan *plan = j->plan;
    const gp_program *p = j->p;
    const char *at[GP_PROGRAM_INPUTS + GP_PROGRAM_STEPS];
    read_inputs(j, r, first, n, at);
    for (int k = 0; k < plan->nsteps; k++) {
        const fuse_step *s = &plan->step[k];
        char *to = r->slot + s->slot * SLOT;
        for (int i = 0; i < p->nout; i++)
            if (p->out[i] == p->ninputs + k && out[i]) to = out[i];
        if (j->ahead) fetch_part(j, first + n, n, k);
        run_step(j, s, r, first, n, at, to);
        at[p->ninputs + k] = to;
        if (s->fault && cpu_fault) {
            j->step = k;
            j->fault |= cpu_fault;
            cpu_fault = 0;
        }
    }
}

/* ---- whole results ---- */

/* Where inputs that are read in place go on after element `first`; how many there are. */
static int in_place(const fuse_job *j, int64_t first, const char **at, int64_t *size) {
    int n = 0;
    for (int k = 0; k < j->p->ninputs; k++)
        if (j->how[k] == FLAT) size[n] = j->size[k], at[n++] = j->data[k] + first * j->size[k];
    return n;
}

/* Writes the block of output i that lies in its slot past the caches. */
static void stream_block(const fuse_job *j, const room *r, int i, int64_t first, int64_t n) {
    const fuse_step *s = &j->plan->step[j->p->out[i] - j->p->ninputs];
    const char *next[GP_PROGRAM_INPUTS];
    int64_t size[GP_PROGRAM_INPUTS];
    int found = i ? 0 : in_place(j, first + n, next, size);
    stream_out(j->out[i] + first * s->size, r->slot + s->slot * SLOT, (size_t)(n * s->size), next,
               found);
}

static void run_range(void *ctx, int64_t from, int64_t to) {
    fuse_job *j = ctx;
    room *r = begin(j);
    if (!r) return;
    cpu_fault = 0;
    for (int64_t at = from, n; at < to; at += n) {
        char *out[GP_MAX_OUT];
        n = block_at(j, at, to);
        for (int i = 0; i < j->p->nout; i++) {
            int64_t size = j->plan->step[j->p->out[i] - j->p->ninputs].size;
            out[i] = j->stream ? NULL : j->out[i] + at * size;
        }
        run_block(j, r, at, n, out);
        for (int i = 0; j->stream && i < j->p->nout; i++) stream_block(j, r, i, at, n);
    }
    if (j->stream) stream_end();
}

/* ---- set-up ---- */

static _Bool joinable(const fuse_job *j, int outer, int inner) {
    for (int k = 0; k < j->p->ninputs; k++)
        if (j->how[k] == STRIDED && j->stride[k][outer] != j->stride[k][inner] * j->dim[inner])
            return 0;
    return 1;
}

static void join_dims(fuse_job *j) {
    int n = 0;
    for (int d = 0; d < j->ndim; d++) {
        if (j->dim[d] == 1) continue;
        _Bool join = n && joinable(j, n - 1, d);
        if (!join) n++;
        j->dim[n - 1] = join ? j->dim[n - 1] * j->dim[d] : j->dim[d];
        for (int k = 0; k < j->p->ninputs; k++) j->stride[k][n - 1] = j->stride[k][d];
    }
    j->ndim = n;
}

/* Strides of the inputs over shape s. */
static void set_strides(fuse_job *j, const gp_array *const *in, const gp_shape *s) {
    j->ndim = s->ndim;
    memcpy(j->dim, s->dim, (size_t)s->ndim * sizeof *s->dim);
    for (int k = 0; k < j->p->ninputs; k++) {
        const gp_array *a = in[k];
        for (int d = 0; d < s->ndim; d++) {
            int i = d - (s->ndim - a->ndim);
            j->stride[k][d] = i < 0 || a->dim[i] == 1 ? 0 : a->stride[i] * j->size[k];
        }
    }
    join_dims(j);
    for (int k = 0; k < j->p->ninputs; k++) {
        j->repeats[k] = 1;
        for (int d = 0; d < j->ndim - 1; d++) j->repeats[k] &= j->stride[k][d] == 0;
    }
    int64_t width = j->dim[j->ndim - 1];
    if (width <= j->block) j->block = j->block / width * width;
    else j->width = width;
}

/* The shape of all inputs together, which broadcast. */
static gp_shape whole_shape(const gp_array *const *in, int n) {
    gp_shape s = {.ndim = 0};
    for (int k = 0; k < n; k++)
        if (in[k]->ndim > s.ndim) s.ndim = in[k]->ndim;
    for (int d = 0; d < s.ndim; d++) {
        s.dim[d] = 1;
        for (int k = 0; k < n; k++) {
            int i = d - (s.ndim - in[k]->ndim);
            if (i >= 0 && in[k]->dim[i] != 1) s.dim[d] = in[k]->dim[i];
        }
    }
    return s;
}

static int64_t numel_of(const gp_shape *s) {
    int64_t n = 1;
    for (int d = 0; d < s->ndim; d++) n *= s->dim[d];
    return n;
}

static _Bool has_shape(const gp_array *a, const gp_shape *s) {
    if (a->ndim != s->ndim) return 0;
    for (int d = 0; d < s->ndim; d++)
        if (a->dim[d] != s->dim[d]) return 0;
    return 1;
}

/* Elements of a block: as many as the first-level cache holds of what the steps read and write,
 * with the next block of inputs that are read in place. */
static int64_t block_of(const fuse_job *j) {
    enum { BYTES = 16384, STEP = 128, LEAST = 256 };
    int64_t each = 0;
    for (int k = 0; k < j->p->ninputs; k++) each += (1 + (j->how[k] == FLAT)) * j->size[k];
    each += j->plan->nslots * j->size[0];
    int64_t n = BYTES / (each ? each : 1) / STEP * STEP;
    return n > GP_BLOCK ? GP_BLOCK : n < LEAST ? LEAST : n;
}

static void set_up(fuse_job *j, const gp_call *c, const gp_shape *s) {
    const gp_array *const *in = c->arg[1].arrays;
    j->numel = numel_of(s);
    j->width = 0;
    for (int k = 0; k < j->p->ninputs; k++) {
        j->size[k] = gp_dtype_sizes[in[k]->dtype];
        j->data[k] = in[k]->data;
        j->how[k] = in[k]->numel == 1                          ? CONSTANT
                    : in[k]->contiguous && has_shape(in[k], s) ? FLAT
                                                               : STRIDED;
        j->strided |= j->how[k] == STRIDED;
    }
    j->block = block_of(j);
    if (j->strided && j->numel) set_strides(j, in, s);
}

static _Bool settled(const fuse_job *j) {
    if (j->memory) return gp_fail("%s: out of memory", j->p->name);
    if (!j->fault) return 1;
    gp_call c = {.op = j->plan->step[j->step].op};
    return gp_check_faults(&c, j->fault);
}

/* Computes all outputs into j->out. */
static _Bool run_all(fuse_job *j, _Bool stream) {
    int64_t size = 0;
    for (int i = 0; i < j->p->nout; i++) {
        int64_t one = j->plan->step[j->p->out[i] - j->p->ninputs].size;
        size = one > size ? one : size;
    }
    j->stream = stream && j->numel * size >= STREAM_BYTES;
    j->ahead = !j->stream && j->numel * size >= STREAM_BYTES;
    return gp_parallel_op(j->call, j->numel, GRAIN, run_range, j) && settled(j);
}

/* ---- reductions ---- */

/* Elements [first, first + n) of the output, in `to`. */
static const char *make(void *ctx, void *memory, int64_t first, int64_t n, char *to) {
    fuse_job *j = ctx;
    int64_t size = j->plan->step[j->p->out[0] - j->p->ninputs].size;
    cpu_fault = 0;
    for (int64_t i = 0, m; i < n; i += m) {
        int64_t at = first + i;
        char *out = to + i * size;
        m = block_at(j, at, first + n);
        run_block(j, memory, at, m, &out);
    }
    return to;
}

/* Into a tensor of its own: for layouts in which no run of elements is reduced or kept. */
static _Bool fold_stored(fuse_job *j, const gp_reducer *red, gp_array *x) {
    const gp_fold *f = &j->p->fold;
    x->data = malloc((size_t)(j->numel * (int64_t)gp_dtype_sizes[x->dtype]));
    if (!x->data) return gp_fail("%s: out of memory", j->p->name);
    j->out[0] = x->data;
    _Bool ok = run_all(j, 0) && gp_reduce_array(j->call, f->op, red, x, f->mask, NULL);
    free(x->data);
    return ok;
}

static _Bool fold(fuse_job *j, const gp_shape *s) {
    const gp_fold *f = &j->p->fold;
    const gp_reducer *red = gp_reducer_of(f->op, gp_compute_type((gp_dtype)f->compute));
    gp_array x = {.numel = j->numel, .ndim = (uint8_t)s->ndim, .contiguous = 1};
    x.dtype = j->p->step[j->p->out[0] - j->p->ninputs].dtype;
    int64_t step = 1;
    for (int d = s->ndim - 1; d >= 0; d--)
        x.dim[d] = s->dim[d], x.stride[d] = step, step *= s->dim[d];
    gp_source source = {begin, make, j};
    if (!gp_reduce_takes(&x, f->op, red, f->mask, j->call)) return fold_stored(j, red, &x);
    j->ahead = j->numel * gp_dtype_sizes[x.dtype] >= STREAM_BYTES;
    return gp_reduce_array(j->call, f->op, red, &x, f->mask, &source) && settled(j);
}

_Bool CPU(fused)(const gp_call *c);
_Bool CPU(fused)(const gp_call *c) {
    fuse_job j;
    j.call = c, j.p = c->arg[0].program;
    j.strided = 0;
    j.fault = 0;
    j.memory = 0;
    if (!(j.plan = gp_fuse_plan(c->arg[0].program))) return 0;
    gp_shape s = j.p->fold.op ? whole_shape(c->arg[1].arrays, j.p->ninputs)
                              : (gp_shape){.ndim = gp_out(c, 0)->ndim};
    if (!j.p->fold.op) memcpy(s.dim, gp_out(c, 0)->dim, (size_t)s.ndim * sizeof *s.dim);
    set_up(&j, c, &s);
    if (j.p->fold.op) return fold(&j, &s);
    for (int i = 0; i < j.p->nout; i++) j.out[i] = gp_out(c, i)->data;
    return j.numel == 0 || run_all(&j, 1);
}
