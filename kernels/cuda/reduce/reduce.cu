/* Plans a reduction on the device: rows or columns, vectors, parts. */
#include "kernels/cuda/reduce/reduce.cuh"

/* PARTS: the most parts that one output's elements are divided into, whatever the device, so that
 * results do not depend on it; BLOCKS: the number of blocks that is enough; AHEAD: pieces that a
 * thread should have. */
enum { PARTS = 1024, BLOCKS = 1024, AHEAD = 4, SHARED_FEW = 32 };

static void add_dim(gp_places *s, int64_t dim, int64_t stride) {
    if (dim == 1) return;
    int n = s->ndim;
    if (n && stride == s->stride[n - 1] * s->dim[n - 1]) {
        s->dim[n - 1] *= dim;
        return;
    }
    s->dim[n] = dim, s->stride[n] = stride;
    s->ndim++;
}

static void sort_by_memory(gp_places *s) {
    gp_places from = *s;
    for (int i = 1; i < s->ndim; i++)
        for (int j = i; j > 0 && from.stride[j - 1] > from.stride[j]; j--) {
            int64_t dim = from.dim[j], stride = from.stride[j];
            from.dim[j] = from.dim[j - 1], from.stride[j] = from.stride[j - 1];
            from.dim[j - 1] = dim, from.stride[j - 1] = stride;
        }
    s->ndim = 0;
    for (int i = 0; i < from.ndim; i++) add_dim(s, from.dim[i], from.stride[i]);
}

void gp_reduce_split(const gp_array *x, uint64_t mask, gp_reduction *a) {
    int64_t size = gp_dtype_sizes[x->dtype];
    a->x = x->data, a->dtype = x->dtype;
    a->count = a->outputs = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
        bool red = mask >> d & 1;
        add_dim(red ? &a->red : &a->kept, x->dim[d], x->stride[d] * size);
        if (red) a->count *= x->dim[d];
        else a->outputs *= x->dim[d];
    }
    sort_by_memory(&a->red);
    if (a->count == 0) a->red.ndim = 0;
}

static void close_places(gp_places *s, int64_t numel) {
    s->wide = numel >= (int64_t)1 << 31;
    for (int d = 0; d < s->ndim && !s->wide; d++) s->by[d] = gp_divide_by((uint32_t)s->dim[d]);
}

/* Whether all positions of s, in dims from `first` on, are multiples of a vector apart. */
static bool in_vectors(const gp_places *s, int first) {
    for (int d = first; d < s->ndim; d++)
        if (s->stride[d] % 16) return false;
    return true;
}

/* Makes the innermost dim of s run by vectors of `many` elements of `size` bytes. */
static bool by_vectors(gp_places *s, int many, int64_t size) {
    if (!s->ndim || s->stride[0] != size || s->dim[0] % many || !in_vectors(s, 1)) return false;
    s->dim[0] /= many, s->stride[0] *= many;
    return true;
}

static int power_of_two(int64_t n, int most) {
    int p = 1;
    while (p < n && p < most) p *= 2;
    return p;
}

/* Launches one of k's kernels, all of which take `a`; parts: what gp_reduce_parts joins, or 0. */
static bool launch(const gp_call *c, const gp_reducer_kernels *k, gp_reducer_kernels::kernel kernel,
                   uint32_t blocks, const gp_reduction &a, int parts) {
    size_t shared = (size_t)k->acc * GP_THREADS;
    if (k->launch) return k->launch(c, k, (const void *)kernel, blocks, &a, parts);
    if (parts) return GP_LAUNCH(c, k->parts, blocks, GP_THREADS, shared, a, parts);
    return GP_LAUNCH(c, kernel, blocks, GP_THREADS, shared, a);
}

static bool run_parts(const gp_call *c, const gp_reducer_kernels *k, gp_reduction a) {
    int parts = a.parts;
    a.parts = 1;
    a.group = power_of_two((parts + AHEAD - 1) / AHEAD, GP_THREADS);
    return launch(c, k, nullptr, gp_blocks(a.outputs, GP_THREADS / a.group), a, parts);
}

/* Uses what the launch of `blocks` blocks leaves idle for parts of at least `least` pieces. */
static bool take_parts(const gp_call *c, const gp_reducer_kernels *k, gp_reduction *a,
                       int64_t blocks, int64_t least) {
    int64_t parts = blocks ? BLOCKS / blocks : 1;
    if (parts > a->pieces / least) parts = a->pieces / least;
    if (parts > PARTS) parts = PARTS;
    a->parts = parts < 2 ? 1 : (int)parts;
    if (a->parts == 1) return true;
    a->partial = (char *)gp_cuda_scratch(c, (size_t)(a->parts * a->outputs) * (size_t)k->acc);
    return a->partial != NULL;
}

static bool along_rows(const gp_call *c, const gp_reducer_kernels *k, gp_reduction a) {
    int64_t size = gp_dtype_sizes[a.dtype];
    bool native = a.dtype == k->dtype, half = a.dtype == GP_f16 || a.dtype == GP_bf16;
    int many = (native && k->whole[0]) || (half && k->halves[0]) ? (int)(16 / size) : 1;
    gp_places red = a.red;
    if (many > 1 &&
        !(gp_aligned(a.x, 16) && in_vectors(&a.kept, 0) && by_vectors(&red, many, size)))
        many = 1;
    auto kernel = many == 1 ? k->single[0] : native ? k->whole[0] : k->halves[0];
    if (many > 1) a.red = red;
    a.pieces = a.count / many;
    a.group = power_of_two((a.pieces + AHEAD - 1) / AHEAD, GP_THREADS);
    int64_t blocks = (a.outputs + GP_THREADS / a.group - 1) / (GP_THREADS / a.group);
    if (!take_parts(c, k, &a, blocks, (int64_t)AHEAD * a.group)) return false;
    close_places(&a.red, a.pieces), close_places(&a.kept, a.outputs);
    int64_t units = a.outputs * a.parts;
    if (!launch(c, k, kernel, gp_blocks(units, GP_THREADS / a.group), a, 0)) return false;
    return a.parts == 1 || run_parts(c, k, a);
}

static bool down_columns(const gp_call *c, const gp_reducer_kernels *k, gp_reduction a) {
    int64_t size = gp_dtype_sizes[a.dtype];
    bool native = a.dtype == k->dtype, half = a.dtype == GP_f16 || a.dtype == GP_bf16;
    int many = (native && k->whole[1]) || (half && k->halves[1]) ? (int)(16 / size) : 1;
    a.width = a.kept.dim[0], a.step = a.kept.stride[0];
    if (many > 1 && !(gp_aligned(a.x, 16) && a.step == size && a.width % many == 0 &&
                      in_vectors(&a.kept, 1) && in_vectors(&a.red, 0)))
        many = 1;
    auto kernel = many == 1 ? k->single[1] : native ? k->whole[1] : k->halves[1];
    for (int d = 1; d < a.kept.ndim; d++)
        a.kept.dim[d - 1] = a.kept.dim[d], a.kept.stride[d - 1] = a.kept.stride[d];
    a.kept.ndim--;
    a.pieces = a.count;
    a.group = power_of_two((a.width + many - 1) / many, SHARED_FEW);
    int64_t across = (int64_t)a.group * many, rows = GP_THREADS / a.group;
    int64_t blocks = a.outputs / a.width * ((a.width + across - 1) / across);
    if (!take_parts(c, k, &a, blocks, AHEAD * rows)) return false;
    close_places(&a.red, a.pieces), close_places(&a.kept, a.outputs / a.width);
    if (!launch(c, k, kernel, (uint32_t)(blocks * a.parts), a, 0)) return false;
    return a.parts == 1 || run_parts(c, k, a);
}

bool gp_reduce_run(const gp_call *c, const gp_reducer_kernels *k, gp_reduction a) {
    if (a.outputs == 0) return true;
    a.nout = c->nout;
    for (int i = 0; i < a.nout && i < 2; i++) {
        a.out[i] = gp_out(c, i)->data;
        a.to[i] = gp_out(c, i)->dtype;
    }
    int64_t along = a.red.ndim ? a.red.stride[0] : INT64_MAX;
    bool columns = a.count > 1 && a.kept.ndim && a.kept.dim[0] >= 8 && a.kept.stride[0] &&
                   a.kept.stride[0] < along;
    return columns ? down_columns(c, k, a) : along_rows(c, k, a);
}
