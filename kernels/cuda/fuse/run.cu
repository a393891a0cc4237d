/* Launches programs: over any layout of the inputs, by vectors where all allow it; or as what a
 * reduction reads, in the order of the reductions of single ops. */
#include "kernels/cuda/fuse/fuse.h"
#include "kernels/cuda/fuse/program.cuh"
#include "kernels/cuda/reduce/reduce.cuh"

typedef gp_nest<1 + GP_FUSED_INPUTS> nest;
static_assert((int)GP_FUSED_INPUTS == (int)GP_FUSED_MAX_INPUTS &&
                  (int)GP_FUSED_OUTPUTS == (int)GP_FUSED_MAX_OUTPUTS &&
                  (int)GP_FUSED_NUMBERS == (int)GP_FUSED_MAX_NUMBERS,
              "what the host checks is what the device has room for");
static_assert(sizeof(gp_fused) + sizeof(gp_reduction) <= 4096, "what a kernel may be given");

/* The loop over `whole`, which is contiguous, and the inputs. */
static nest nest_of(const gp_call *c, const gp_fused_job *j, const gp_array *whole) {
    static const gp_array unused = {NULL, 1, GP_u8, 0, true, {}, {}};
    const gp_array *arrays[1 + GP_FUSED_INPUTS] = {whole};
    for (int i = 0; i < GP_FUSED_INPUTS; i++)
        arrays[1 + i] = i < j->ninputs ? c->arg[1].arrays[i] : &unused;
    return gp_nest_of<1 + GP_FUSED_INPUTS>(arrays);
}

static gp_fused arguments(const gp_call *c, const gp_fused_job *j) {
    gp_fused a = {};
    a.seed = c->seed, a.counter = c->counter;
    memcpy(a.number, j->number, (size_t)j->nnumbers * sizeof *a.number);
    return a;
}

/* Whether n can run by vectors of `many` elements, rows of which a single one may end anywhere if
 * `rest`; sets a->one. */
static bool by_vectors(const gp_call *c, const gp_fused_job *j, const nest &n, int many, bool rest,
                       gp_fused *a) {
    if (n.dim[0] < many || (n.dim[0] % many && !(rest && n.ndim == 1))) return false;
    for (int k = 0; k < j->ninputs; k++) {
        int64_t size = gp_dtype_sizes[c->arg[1].arrays[k]->dtype], bytes = size * many;
        a->one[k] = n.stride[0][1 + k] == 0;
        if (a->one[k]) continue;
        if (n.stride[0][1 + k] != size || !gp_aligned(n.data[1 + k], (size_t)bytes)) return false;
        for (int d = 1; d < n.ndim; d++)
            if (n.stride[d][1 + k] % bytes) return false;
    }
    return true;
}

/* n's elements become vectors. */
static void join(nest *n, int many) {
    n->numel /= many, n->dim[0] /= many;
    for (int k = 0; k <= GP_FUSED_INPUTS; k++) n->stride[0][k] *= many;
}

static bool launch_program(const gp_call *c, void *kernel, const nest &n, gp_fused a, int many,
                           int64_t before) {
    return gp_nest_run(n, [&](const gp_loop<1 + GP_FUSED_INPUTS> &l, int64_t first) {
        a.l = l, a.first = before + first * many;
        void *args[] = {&a};
        return gp_module_launch(c, kernel, gp_blocks(l.numel), 0, args);
    });
}

bool gp_fused_elementwise(const gp_call *c, const gp_fused_job *j) {
    const gp_array *out = gp_out(c, 0);
    const int many = GP_FUSED_VECTOR;
    if (out->numel == 0) return true;
    gp_fused a = arguments(c, j);
    nest n = nest_of(c, j, out);
    bool aligned = true;
    for (int i = 0; i < j->nouts; i++) {
        a.out[i] = gp_out(c, i)->data;
        aligned = aligned && gp_aligned(a.out[i], many * gp_dtype_sizes[gp_out(c, i)->dtype]);
    }
    if (!aligned || !by_vectors(c, j, n, many, true, &a)) {
        return launch_program(c, j->kernel[GP_FUSED_ELEMENTS], n, a, 1, 0);
    }
    nest rest = n;
    rest.numel = rest.dim[0] = n.dim[0] % many;
    join(&n, many);
    for (int k = 0; k <= GP_FUSED_INPUTS; k++) rest.data[k] += n.dim[0] * n.stride[0][k];
    return launch_program(c, j->kernel[GP_FUSED_VECTORS], n, a, many, 0) &&
           launch_program(c, j->kernel[GP_FUSED_ELEMENTS], rest, a, 1, n.dim[0] * many);
}

/* ---- reductions ---- */

typedef struct reduced {
    const gp_fused_job *job;
    gp_fused vectors, singles;
} reduced;

static bool launch(const gp_call *c, const gp_reducer_kernels *k, const void *number,
                   uint32_t blocks, const gp_reduction *from, int parts) {
    const reduced *r = (const reduced *)k->program;
    gp_reduction a = *from;
    size_t shared = (size_t)k->acc * GP_THREADS;
    uintptr_t which = number ? (uintptr_t)number : (uintptr_t)GP_FUSED_PARTS;
    bool vectors = which == GP_FUSED_ROWS || which == GP_FUSED_COLUMNS;
    gp_fused f = vectors ? r->vectors : r->singles;
    void *args[] = {&a, number ? (void *)&f : (void *)&parts};
    return gp_module_launch(c, r->job->kernel[which], blocks, shared, args);
}

static gp_reducer_kernels::kernel numbered(const gp_fused_job *j, gp_fused_kernel k) {
    return j->kernel[k] ? (gp_reducer_kernels::kernel)(uintptr_t)k : nullptr;
}

/* The shape of all inputs together, as an array from address 0 on. */
static gp_array whole_of(const gp_call *c, const gp_fused_job *j) {
    gp_array x = {};
    x.dtype = (uint8_t)j->value, x.contiguous = true, x.numel = 1;
    for (int k = 0; k < j->ninputs; k++)
        if (c->arg[1].arrays[k]->ndim > x.ndim) x.ndim = c->arg[1].arrays[k]->ndim;
    for (int d = x.ndim - 1; d >= 0; d--) {
        x.dim[d] = 1, x.stride[d] = x.numel;
        for (int k = 0; k < j->ninputs; k++) {
            const gp_array *in = c->arg[1].arrays[k];
            int i = d - (x.ndim - in->ndim);
            if (i >= 0 && in->dim[i] != 1) x.dim[d] = in->dim[i];
        }
        x.numel *= x.dim[d];
    }
    return x;
}

bool gp_fused_reduction(const gp_call *c, const gp_fused_job *j) {
    gp_array x = whole_of(c, j);
    int many = 16 / gp_dtype_sizes[x.dtype];
    reduced r = {j, arguments(c, j), {}};
    nest n = nest_of(c, j, &x);
    r.singles = r.vectors;
    r.singles.l = r.vectors.l = gp_loop_of(n);
    if (x.numel && by_vectors(c, j, n, many, false, &r.vectors)) {
        join(&n, many);
        r.vectors.l = gp_loop_of(n);
        r.vectors.vectors = true;
    } else r.vectors = r.singles;
    gp_reducer_kernels k = {};
    k.whole[0] = k.halves[0] = numbered(j, GP_FUSED_ROWS);
    k.whole[1] = k.halves[1] = numbered(j, GP_FUSED_COLUMNS);
    k.single[0] = numbered(j, GP_FUSED_ROWS_SINGLE);
    k.single[1] = numbered(j, GP_FUSED_COLUMNS_SINGLE);
    k.dtype = j->compute;
    k.acc = gp_dtype_sizes[j->compute];
    k.launch = launch, k.program = &r;
    gp_reduction a = {};
    gp_reduce_split(&x, j->mask, &a);
    return gp_reduce_run(c, &k, a);
}
