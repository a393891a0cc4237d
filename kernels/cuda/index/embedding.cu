/* embedding: gathers rows of a table, and sums gradients into them. Limits: the bytes of the rows
 * that are read and written, at the speed of memory; backward those of scatter.cu. */
#include "kernels/cuda/index/scatter.cuh"

static const char *const texts_embedding[] = {
    "embedding: index %lld is out of range (expected 1 to %lld)"};
static const char *const texts_embedding_grad[] = {
    "embedding_grad: index %lld is out of range (expected 1 to %lld)"};

/* Rows of x at a contiguous index; c->tmp[i] is the index. */
static gp_indexed rows_of(const gp_call *c, const gp_array *index, const gp_array *x,
                          const char *const *texts) {
    gp_indexed p = {};
    p.l.ndim = 2;
    p.l.dim[0] = index->numel, p.l.dim[1] = x->dim[1];
    p.l.x[0] = 0, p.l.x[1] = x->stride[1];
    p.l.position[0] = 0, p.l.position[1] = -1;
    p.index = *index, p.ndim = 1;
    p.index.ndim = 1, p.index.dim[0] = index->numel, p.index.stride[0] = 1;
    p.over.dtype = (gp_dtype)index->dtype;
    p.over.counted = true, p.over.skipped = 0;
    p.over.dim = 1, p.over.size = x->dim[0];
    p.over.step = x->stride[0] * gp_dtype_sizes[x->dtype];
    p.over.fault = gp_cuda_fault(c, texts, 1);
    return p;
}

static gp_array matrix(const gp_array *a, int64_t rows, int64_t width) {
    gp_array m = *a;
    m.ndim = 2;
    m.dim[0] = rows, m.dim[1] = width;
    m.stride[0] = width, m.stride[1] = 1;
    return m;
}

/* Checks n contiguous indices. */
static __global__ void look_at(gp_dim_index k, const char *index, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x, at;
    if (i < n) gp_index_offset(k, index + i * gp_bytes_of(k.dtype), &at);
}

GP_C bool CUDA(embedding)(const gp_call *c) {
    const gp_array *index = c->tmpa[0], *table = c->tmpa[1];
    if (index->numel == 0) return true;
    gp_indexed p = rows_of(c, index, table, texts_embedding);
    if (table->dim[1] == 0) /* empty rows, which are numbered all the same */
        return GP_LAUNCH(c, look_at, gp_blocks(index->numel), GP_THREADS, 0, p.over, index->data,
                         index->numel);
    gp_array out = matrix(gp_out(c, 0), index->numel, table->dim[1]);
    return gp_cuda_gather(c, &p, table, &out);
}

/* Arguments: g, index, num_embeddings, padding_idx; contiguous copies of g and index in c->tmp. */
GP_C bool CUDA(embedding_grad)(const gp_call *c) {
    const gp_array *g = c->tmpa[0], *index = c->tmpa[1], *out = gp_out(c, 0);
    int64_t pad = gp_given(c, 3) ? c->arg[3].i : 0, count = c->arg[2].i;
    size_t bytes = (size_t)(out->numel * gp_dtype_sizes[out->dtype]);
    if (bytes && !gp_cuda_ok(c, cudaMemsetAsync(out->data, 0, bytes, gp_cuda_stream(c))))
        return false;
    if (index->numel == 0 || out->dim[1] == 0) return true;
    gp_indexed p = rows_of(c, index, out, texts_embedding_grad);
    p.over.skipped = pad < 0 ? pad + count + 1 : pad;
    gp_scatter_write w = {};
    w.how = GP_ADD, w.include_self = true;
    w.target = *out, w.values = matrix(g, index->numel, out->dim[1]);
    return gp_cuda_scatter(c, &p, &w);
}
