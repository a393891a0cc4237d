/* Runs a program in blocks: each step by the loop that its op alone has, on results that stay in
 * the first-level cache; a reduction takes the blocks as it would take a tensor's elements. */
#include "kernels/cpu/fuse/fuse.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/elementwise/math.h"
#include "kernels/cpu/random/philox.h"
#include "kernels/cpu/reduce/reduce.h"
#include "kernels/cpu/runtime/nontemporal.h"

#undef bool

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
    char *buffer = s->drop_store ? spare : to;
    int64_t skip = first & 3, counters = (n + skip + 3) / 4;
    philox_block(j->call->seed, j->call->counter + s->random, (uint64_t)(first / 4),
                 (counters + 63) / 64 * 64, w);
    if (s->drop_load) s->drop_load(spare, x, s->size, n), x = spare;
    if (s->ct == GP_CT_f32)
        drop_float((float *)(void *)buffer, (const void *)x, w + skip, s->p, (float)s->scale, n);
    else drop_double((double *)(void *)buffer, (const void *)x, w + skip, s->p, s->scale, n);
    if (s->drop_store) s->drop_store(to, s->size, buffer, n);
}

static int64_t size_of(const fuse_job *j, int v) {
    return v < j->p->ninputs ? j->size[v] : j->plan->step[v - j->p->ninputs].size;
}

static void run_form(const fuse_job *j, const fuse_step *s, const fuse_buffers *r, int64_t first,
                     int64_t n, const char *const *at, char *to) {
    const char *in[3];
    int i = 0;
    if (s->form == GP_FUSE_DROP) {
        drop(j, s, first, n, at[s->in[0].value], to, r->spare);
        return;
    }
    do {
        int64_t from = s->in[i].number ? 0 : size_of(j, s->in[i].value);
        in[i] = cast(&s->in[i], at, from, s->size, n,
                     s->form == GP_FUSE_CONVERT ? to : r->spare + i * GP_FUSE_SLOT);
    } while (++i < s->nin);
    if (s->form == GP_FUSE_WHERE) choose(to, s->size, in, n);
    else if (in[0] != to) memcpy(to, in[0], (size_t)(n * s->size));
}

static void run_step(const fuse_job *j, const fuse_step *s, const fuse_buffers *r, int64_t first,
                     int64_t n, const char *const *at, char *to) {
    const void *in[GP_MAX_IN];
    if (!s->fn) {
        run_form(j, s, r, first, n, at, to);
        return;
    }
    for (int i = 0; i < s->nin; i++) {
        const fuse_operand *o = &s->in[i];
        in[i] = operand(o, at, o->load ? size_of(j, o->value) : 0, n, r->spare + i * GP_FUSE_SLOT);
    }
    if (!s->store) {
        s->fn(n, to, in, s->par);
        return;
    }
    char *full = r->spare + GP_MAX_IN * GP_FUSE_SLOT;
    s->fn(n, full, in, s->par);
    s->store(to, s->size, full, n);
}

/* Prefetches the next block's elements [from, to), of which `first` is the first. Always inlined,
 * as GCC drops calls of a function that only prefetches. */
static inline __attribute__((always_inline)) void fetch(const fuse_job *j, int64_t first,
                                                        int64_t from, int64_t to) {
    for (int i = 0; i < j->p->ninputs; i++)
        if (j->how[i] == GP_FUSE_FLAT)
            fetch_block(j->data[i] + (first + from) * j->size[i], (to - from) * j->size[i]);
}

/* Runs steps [k, end), a loop or a single one, on n elements from `first` on. Where the next block
 * is prefetched, each step takes its share: all at once would hold up the loads of the steps. */
static void run_steps(const fuse_job *j, const fuse_buffers *r, int k, int64_t first, int64_t n,
                      char *const *at) {
    enum { PART = 256 };
    const fuse_step *s = &j->plan->step[k];
    int64_t from = n * k / j->plan->nsteps, share = n * s->next / j->plan->nsteps - from;
    if (!s->loop) {
        if (j->ahead) fetch(j, first + n, from, from + share);
        run_step(j, s, r, first, n, (const char *const *)at, at[j->p->ninputs + k]);
    } else if (!j->ahead) s->loop(0, n, at, j->plan->numbers);
    else {
        for (int64_t i = 0, end; i < n; i = end) {
            end = i + PART < n ? i + PART : n;
            fetch(j, first + n, from + share * i / n, from + share * end / n);
            s->loop(i, end, at, j->plan->numbers);
        }
    }
}

/* Where result k goes: its slot, unless it is an output that has a place of its own. */
static char *address_of(const fuse_job *j, const fuse_buffers *r, int k, char *const *out) {
    for (int i = 0; i < j->p->nout; i++)
        if (j->p->out[i] == j->p->ninputs + k && out[i]) return out[i];
    int slot = j->plan->step[k].slot;
    return slot < 0 ? NULL : r->slot + slot * GP_FUSE_SLOT;
}

/* Computes elements [first, first + n), at most a block; output i goes to out[i], where given. */
static void run_block(fuse_job *j, fuse_buffers *r, int64_t first, int64_t n, char *const *out) {
    const fuse_plan *plan = j->plan;
    const gp_program *p = j->p;
    char *at[GP_PROGRAM_INPUTS + GP_PROGRAM_STEPS];
    gp_fuse_read(j, r, first, n, (const char **)at);
    for (int k = 0, end; k < plan->nsteps; k = end) {
        const fuse_step *s = &plan->step[k];
        end = s->next;
        for (int i = k; i < end; i++) at[p->ninputs + i] = address_of(j, r, i, out);
        run_steps(j, r, k, first, n, at);
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
        if (j->how[k] == GP_FUSE_FLAT)
            size[n] = j->size[k], at[n++] = j->data[k] + first * j->size[k];
    return n;
}

/* Writes the block of output i that lies in its slot past the caches. */
static void stream_block(const fuse_job *j, const fuse_buffers *r, int i, int64_t first,
                         int64_t n) {
    const fuse_step *s = &j->plan->step[j->p->out[i] - j->p->ninputs];
    const char *next[GP_PROGRAM_INPUTS];
    int64_t size[GP_PROGRAM_INPUTS];
    int found = i ? 0 : in_place(j, first + n, next, size);
    stream_out(j->out[i] + first * s->size, r->slot + s->slot * GP_FUSE_SLOT, (size_t)(n * s->size),
               next, found);
}

static void run_range(void *ctx, int64_t from, int64_t to) {
    fuse_job *j = ctx;
    fuse_buffers *r = gp_fuse_begin(j);
    if (!r) return;
    cpu_fault = 0;
    for (int64_t at = from, n; at < to; at += n) {
        char *out[GP_MAX_OUT];
        n = gp_fuse_block(j, at, to);
        for (int i = 0; i < j->p->nout; i++) {
            int64_t size = j->plan->step[j->p->out[i] - j->p->ninputs].size;
            out[i] = j->stream ? NULL : j->out[i] + at * size;
        }
        run_block(j, r, at, n, out);
        for (int i = 0; j->stream && i < j->p->nout; i++) stream_block(j, r, i, at, n);
    }
    if (j->stream) stream_end();
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
    return gp_parallel_op(j->call, j->numel, GP_GRAIN, run_range, j) && settled(j);
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
        m = gp_fuse_block(j, at, first + n);
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
    gp_element_source source = {gp_fuse_begin, make, j};
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
    gp_fuse_set_up(&j, c, &s);
    if (j.p->fold.op) return fold(&j, &s);
    for (int i = 0; i < j.p->nout; i++) j.out[i] = gp_out(c, i)->data;
    return j.numel == 0 || run_all(&j, 1);
}
