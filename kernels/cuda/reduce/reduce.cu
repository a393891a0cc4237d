/* Plans a reduction on the device: rows or columns, vectors, parts. */
#include "kernels/cuda/reduce/reduce.cuh"

/* PARTS: the most parts that one output's elements are divided into, whatever the device, so that
 * results do not depend on it; BLOCKS: the number of blocks that is enough; AHEAD: pieces that a
 * thread should have. */
enum { PARTS = 1024, BLOCKS = 1024, AHEAD = 4, SHARED_FEW = 32 };

static void add_dim(gp_strided_offsets *s, int64_t dim, int64_t stride) {
    if (dim == 1) return;
    int n = s->ndim;
    if (n && stride == s->stride[n - 1] * s->dim[n - 1]) {
        s->dim[n - 1] *= dim;
        return;
    }
    s->dim[n] = dim, s->stride[n] = stride;
    s->ndim++;
}

static void sort_by_memory(gp_strided_offsets *s) {
    gp_strided_offsets from = *s;
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

static void close_offsets(gp_strided_offsets *s, int64_t numel) {
    s->wide = numel >= (int64_t)1 << 31;
    for (int d = 0; d < s->ndim && !s->wide; d++) s->by[d] = gp_divide_by((uint32_t)s->dim[d]);
}

/* Whether all positions of s, in dims from `first` on, are multiples of a vector apart. */
static bool in_vectors(const gp_strided_offsets *s, int first) {
    for (int d = first; d < s->ndim; d++)
        if (s->stride[d] % 16) return false;
    return true;
}

/* Makes the innermost dim of s run by vectors of `many` elements of `size` bytes. */
static bool by_vectors(gp_strided_offsets *s, int many, int64_t size) {
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
static bool split_parts(const gp_call *c, const gp_reducer_kernels *k, gp_reduction *a,
                        int64_t blocks, int64_t least) {
    int64_t parts = blocks ? BLOCKS / blocks : 1;
    if (parts > a->pieces / least) parts = a->pieces / least;
    if (parts > PARTS) parts = PARTS;
    a->parts = parts < 2 ? 1 : (int)parts;
    if (a->parts == 1) return true;
    a->partial = (char *)gp_cuda_scratch(c, (size_t)(a->parts * a->outputs) * (size_t)k->acc);
    return a->partial != NULL;
}

/* One of k's kernels of dense memory for elements of a's dtype, or nullptr. */
static gp_reducer_kernels::kernel dense_kernel(const gp_reducer_kernels *k, const gp_reduction &a,
                                               int which) {
    bool half = a.dtype == GP_f16 || a.dtype == GP_bf16;
    return a.dtype == k->dtype ? k->whole[which] : half ? k->halves[which] : nullptr;
}

/* Whether x is rows of a.count elements, adjacent and aligned, that short.cuh copies. */
static bool short_rows(const gp_reducer_kernels *k, const gp_reduction &a) {
    int64_t size = gp_dtype_sizes[a.dtype];
    return dense_kernel(k, a, GP_REDUCE_SHORT_ROWS) && gp_aligned(a.x, 16) && a.count > 1 &&
           a.count <= GP_REDUCE_SHORT && a.red.ndim == 1 && a.red.stride[0] == size &&
           a.kept.ndim == 1 && a.kept.stride[0] == a.count * size;
}

/* A block has as many rows as are enough, from 16 bytes on, and whole rounds of its threads. */
static bool run_short_rows(const gp_call *c, const gp_reducer_kernels *k, gp_reduction a) {
    int64_t size = gp_dtype_sizes[a.dtype], least = 16 / size, round;
    a.group = power_of_two((a.count + AHEAD - 1) / AHEAD, GP_THREADS), round = GP_THREADS / a.group;
    a.parts = 1, a.width = GP_REDUCE_STAGE / (a.count * size);
    if (a.width > a.outputs / BLOCKS) a.width = a.outputs / BLOCKS;
    if (a.width >= round) a.width -= a.width % round;
    a.width = (a.width + least - 1) / least * least;
    if (a.width == 0) a.width = least;
    size_t shared = (size_t)(a.width * a.count * size / 16 + 1) * 16 +
                    (a.group > 32 ? (size_t)k->acc * GP_THREADS : 0);
    auto kernel = dense_kernel(k, a, GP_REDUCE_SHORT_ROWS);
    return GP_LAUNCH(c, kernel, gp_blocks(a.outputs, (int)a.width), GP_THREADS, shared, a);
}

static bool along_rows(const gp_call *c, const gp_reducer_kernels *k, gp_reduction a) {
    int64_t size = gp_dtype_sizes[a.dtype];
    bool native = a.dtype == k->dtype, half = a.dtype == GP_f16 || a.dtype == GP_bf16;
    int many = (native && k->whole[0]) || (half && k->halves[0]) ? (int)(16 / size) : 1;
    gp_strided_offsets red = a.red;
    if (many > 1 &&
        !(gp_aligned(a.x, 16) && in_vectors(&a.kept, 0) && by_vectors(&red, many, size)))
        many = 1;
    if (many == 1 && short_rows(k, a)) return run_short_rows(c, k, a);
    auto kernel = many == 1 ? k->single[0] : native ? k->whole[0] : k->halves[0];
    if (many > 1) a.red = red;
    a.pieces = a.count / many;
    a.group = power_of_two((a.pieces + AHEAD - 1) / AHEAD, GP_THREADS);
    int64_t blocks = (a.outputs + GP_THREADS / a.group - 1) / (GP_THREADS / a.group);
    if (!split_parts(c, k, &a, blocks, (int64_t)AHEAD * a.group)) return false;
    close_offsets(&a.red, a.pieces), close_offsets(&a.kept, a.outputs);
    int64_t units = a.outputs * a.parts;
    if (!launch(c, k, kernel, gp_blocks(units, GP_THREADS / a.group), a, 0)) return false;
    return a.parts == 1 || run_parts(c, k, a);
}

static void drop_first(gp_strided_offsets *s) {
    for (int d = 1; d < s->ndim; d++) s->dim[d - 1] = s->dim[d], s->stride[d - 1] = s->stride[d];
    s->ndim--;
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
    drop_first(&a.kept);
    a.pieces = a.count;
    a.group = power_of_two((a.width + many - 1) / many, SHARED_FEW);
    int64_t across = (int64_t)a.group * many, rows = GP_THREADS / a.group;
    int64_t blocks = a.outputs / a.width * ((a.width + across - 1) / across);
    if (!split_parts(c, k, &a, blocks, AHEAD * rows)) return false;
    close_offsets(&a.red, a.pieces), close_offsets(&a.kept, a.outputs / a.width);
    if (!launch(c, k, kernel, (uint32_t)(blocks * a.parts), a, 0)) return false;
    return a.parts == 1 || run_parts(c, k, a);
}

/* Sets a's fold and group where x has few columns, no whole vectors of them or less than a block
 * of columns is worth, in rows that are adjacent. */
static bool fold_columns(const gp_reducer_kernels *k, gp_reduction *a) {
    int64_t size = gp_dtype_sizes[a->dtype], width = a->kept.ndim ? a->kept.dim[0] : 0;
    int many = (int)(16 / size), fold = 1, best = 0;
    if (!dense_kernel(k, *a, GP_REDUCE_NARROW_COLUMNS) || width < 2 || width > GP_REDUCE_NARROW ||
        (width >= 8 && width % many == 0) || a->kept.stride[0] != size || a->red.ndim != 1 ||
        a->red.stride[0] != width * size || !gp_aligned(a->x, 16) || !in_vectors(&a->kept, 1))
        return false;
    while (fold * width % many) fold *= 2;
    int vectors = (int)(fold * width) / many;
    for (int group = 4; group <= SHARED_FEW; group *= 2) {
        int used = group / vectors * vectors * SHARED_FEW / group; /* of 32 threads */
        if (used <= best) continue;
        best = used, a->group = group, a->fold = group / vectors * fold;
    }
    return a->count / a->fold >= AHEAD * GP_THREADS / a->group;
}

static bool down_narrow(const gp_call *c, const gp_reducer_kernels *k, gp_reduction a) {
    int64_t blocks;
    a.width = a.kept.dim[0], blocks = a.outputs / a.width;
    a.pieces = a.count / a.fold;
    drop_first(&a.kept);
    if (!split_parts(c, k, &a, blocks, AHEAD * GP_THREADS / a.group)) return false;
    close_offsets(&a.kept, blocks);
    auto kernel = dense_kernel(k, a, GP_REDUCE_NARROW_COLUMNS);
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
    if (fold_columns(k, &a)) return down_narrow(c, k, a);
    return columns ? down_columns(c, k, a) : along_rows(c, k, a);
}
