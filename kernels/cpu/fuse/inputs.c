/* The inputs of a program, a block at a time: read where they are, or copied to a thread's memory.
 */
#include <string.h>

#include "kernels/cpu/fuse/fuse.h"
#include "kernels/cpu/runtime/scratch.h"

enum { SPARE = GP_MAX_IN + 2 };

/* ---- set-up ---- */

static _Bool joinable(const fuse_job *j, int outer, int inner) {
    for (int k = 0; k < j->p->ninputs; k++)
        if (j->how[k] == GP_FUSE_STRIDED &&
            j->stride[k][outer] != j->stride[k][inner] * j->dim[inner])
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

/* Elements of a block: what the steps read and write of them fits into the first-level cache,
 * with the next block of inputs that are read in place. */
static int64_t block_of(const fuse_job *j) {
    enum { BYTES = 16384, STEP = 128, LEAST = 256 };
    int64_t each = 0;
    for (int k = 0; k < j->p->ninputs; k++) each += (1 + (j->how[k] == GP_FUSE_FLAT)) * j->size[k];
    each += j->plan->nslots * j->size[0];
    int64_t n = BYTES / (each ? each : 1) / STEP * STEP;
    return n > GP_BLOCK ? GP_BLOCK : n < LEAST ? LEAST : n;
}

void gp_fuse_set_up(fuse_job *j, const gp_call *c, const gp_shape *s) {
    const gp_array *const *in = c->arg[1].arrays;
    j->numel = numel_of(s);
    j->plan = gp_fuse_best_plan(j->p, j->plan, j->numel);
    j->width = 0;
    for (int k = 0; k < j->p->ninputs; k++) {
        j->size[k] = gp_dtype_sizes[in[k]->dtype];
        j->data[k] = in[k]->data;
        j->how[k] = in[k]->numel == 1                          ? GP_FUSE_CONSTANT
                    : in[k]->contiguous && has_shape(in[k], s) ? GP_FUSE_FLAT
                                                               : GP_FUSE_STRIDED;
        j->strided |= j->how[k] == GP_FUSE_STRIDED;
    }
    j->block = block_of(j);
    if (j->strided && j->numel) set_strides(j, in, s);
}

/* ---- blocks ---- */

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
static const char *read_strided(const fuse_job *j, fuse_buffers *r, int k, int64_t first,
                                int64_t n) {
    char *slot = r->input + k * GP_FUSE_SLOT;
    int64_t step = j->stride[k][j->ndim - 1], width = j->dim[j->ndim - 1], at = first % width;
    _Bool known = j->repeats[k];
    if (j->width && step == j->size[k]) return element(j, k, first);
    if (j->width && !step) at = first / width, known = 1;
    if (known && r->at[k] == at && r->made[k] >= n) return slot;
    gather(j, k, first, n, slot);
    r->at[k] = at, r->made[k] = n;
    return slot;
}

void gp_fuse_read(const fuse_job *j, fuse_buffers *r, int64_t first, int64_t n, const char **at) {
    for (int k = 0; k < j->p->ninputs; k++) {
        if (j->how[k] == GP_FUSE_FLAT) at[k] = j->data[k] + first * j->size[k];
        else if (j->how[k] == GP_FUSE_STRIDED) at[k] = read_strided(j, r, k, first, n);
        else at[k] = r->input + k * GP_FUSE_SLOT;
    }
}

int64_t gp_fuse_block(const fuse_job *j, int64_t first, int64_t end) {
    int64_t col = j->width ? first % j->width : first, n = j->block - col % j->block;
    if (j->width && n > j->width - col) n = j->width - col;
    return n < end - first ? n : end - first;
}

void *gp_fuse_begin(void *ctx) {
    enum { HEAD = (sizeof(fuse_buffers) + 63) / 64 * 64 };
    fuse_job *j = ctx;
    int inputs = j->p->ninputs, slots = inputs + j->plan->nslots + SPARE;
    fuse_buffers *r = gp_scratch(GP_SCRATCH_PART, HEAD + (size_t)slots * GP_FUSE_SLOT);
    if (!r) j->memory = 1;
    if (!r) return NULL;
    r->input = (char *)r + HEAD;
    r->slot = r->input + inputs * GP_FUSE_SLOT, r->spare = r->slot + j->plan->nslots * GP_FUSE_SLOT;
    int64_t n = j->numel < GP_BLOCK ? j->numel : GP_BLOCK;
    for (int k = 0; k < inputs; k++) {
        r->made[k] = 0;
        if (j->how[k] == GP_FUSE_CONSTANT)
            fill(r->input + k * GP_FUSE_SLOT, j->data[k], j->size[k], n);
    }
    return r;
}
