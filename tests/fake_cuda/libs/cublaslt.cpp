// A stand-in for cuBLASLt: products by plain loops, in stream order. It refuses what the real one
// does: odd strides, addresses less aligned than declared when the algorithm was chosen, too small
// a workspace.
#include "cublasLt.h"

#include <cstring>

#include "fake_cuda.h"
#include "half.h"

struct fake_matmul {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    int32_t ta = 0, tb = 0, epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const void *bias = nullptr;
};
struct fake_layout {
    cudaDataType type;
    int64_t rows, cols, ld, step = 0;
    int32_t batch = 1;
};
struct fake_preference {
    uint64_t workspace = 0;
    uint32_t sums = 0, align[4] = {256, 256, 256, 256};
};

static const uint64_t WORKSPACE = 4096;

template <class T> static T value(const void *p, size_t size) {
    T v{};
    if (size == sizeof v) memcpy(&v, p, size);
    return v;
}

template <class T> static cublasStatus_t dispose(T *p) {
    delete p;
    return CUBLAS_STATUS_SUCCESS;
}

static double load(const void *p, int64_t i, cudaDataType t) {
    switch (t) {
    case CUDA_R_64F: return ((const double *)p)[i];
    case CUDA_R_32F: return ((const float *)p)[i];
    case CUDA_R_16F: return from_f16(((const uint16_t *)p)[i]);
    default: return from_bf16(((const uint16_t *)p)[i]);
    }
}
static void store(void *p, int64_t i, cudaDataType t, double v) {
    switch (t) {
    case CUDA_R_64F: ((double *)p)[i] = v; break;
    case CUDA_R_32F: ((float *)p)[i] = (float)v; break;
    case CUDA_R_16F: ((uint16_t *)p)[i] = to_f16((float)v); break;
    default: ((uint16_t *)p)[i] = to_bf16((float)v); break;
    }
}

// All in T, the compute type; 16-bit results are rounded once.
template <class T> struct work {
    fake_matmul d;
    fake_layout a, b, out;
    const char *pa, *pb, *pc;
    char *po;
    T alpha, beta;

    void element(int64_t at, int64_t i, int64_t j, int64_t k) const {
        T sum = 0;
        for (int64_t l = 0; l < k; l++) {
            int64_t ia = d.ta ? l + i * a.ld : i + l * a.ld,
                    ib = d.tb ? j + l * b.ld : l + j * b.ld;
            double x = load(pa, at * a.step + ia, a.type), y = load(pb, at * b.step + ib, b.type);
            if (d.compute == CUBLAS_COMPUTE_32F_FAST_TF32) x = to_tf32(x), y = to_tf32(y);
            sum += (T)x * (T)y;
        }
        int64_t o = at * out.step + i + j * out.ld;
        T v = alpha * sum;
        if (beta != 0) v += beta * (T)load(pc, o, out.type);
        if (d.epilogue == CUBLASLT_EPILOGUE_BIAS) v += (T)load(d.bias, i, out.type);
        store(po, o, out.type, v);
    }
    void operator()() const {
        int64_t k = d.ta ? a.rows : a.cols;
        for (int64_t at = 0; at < out.batch; at++)
            for (int64_t j = 0; j < out.cols; j++)
                for (int64_t i = 0; i < out.rows; i++) element(at, i, j, k);
    }
};

static bool fits(const fake_matmul *d, const fake_layout *a, const fake_layout *b,
                 const fake_layout *o) {
    int64_t m = d->ta ? a->cols : a->rows, k = d->ta ? a->rows : a->cols;
    return m == o->rows && k == (d->tb ? b->cols : b->rows) &&
           (d->tb ? b->rows : b->cols) == o->cols && k > 0 && a->ld >= a->rows &&
           b->ld >= b->rows && o->ld >= o->rows && a->batch == o->batch && b->batch == o->batch;
}

static bool aligned(const void *p, uint64_t bytes) { return (uintptr_t)p % bytes == 0; }

template <class T> static cublasStatus_t run(const work<T> &w, cudaStream_t s) {
    const char *name = sizeof(T) == 8            ? "fake_gemm_f64"
                       : w.a.type == CUDA_R_32F  ? "fake_gemm_f32"
                       : w.a.type == CUDA_R_16BF ? "fake_gemm_bf16"
                                                 : "fake_gemm_f16";
    return fake::enqueue(s, name, w) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                    : CUBLAS_STATUS_NOT_SUPPORTED;
}

extern "C" {
size_t cublasLtGetVersion(void) { return 130000; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t *h) {
    if (!fakeLibraryMemory(1 << 20, true)) return CUBLAS_STATUS_ALLOC_FAILED;
    *h = (cublasLtHandle_t) new int;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
    *d = new fake_matmul;
    (*d)->compute = compute, (*d)->scale = scale;
    bool wide = compute == CUBLAS_COMPUTE_64F;
    return wide == (scale == CUDA_R_64F) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { return dispose(d); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t what, const void *v,
                                              size_t size) {
    switch (what) {
    case CUBLASLT_MATMUL_DESC_TRANSA: d->ta = value<int32_t>(v, size); break;
    case CUBLASLT_MATMUL_DESC_TRANSB: d->tb = value<int32_t>(v, size); break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE: d->epilogue = value<int32_t>(v, size); break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: d->bias = value<const void *>(v, size); break;
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
    *l = new fake_layout{type, (int64_t)rows, (int64_t)cols, ld};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) { return dispose(l); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
                                                cublasLtMatrixLayoutAttribute_t what, const void *v,
                                                size_t size) {
    if (what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) l->batch = value<int32_t>(v, size);
    else l->step = value<int64_t>(v, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p) {
    *p = new fake_preference;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) { return dispose(p); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t what,
                                                    const void *v, size_t size) {
    if (what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) p->workspace = value<uint64_t>(v, size);
    else if (what == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) p->sums = value<uint32_t>(v, size);
    else p->align[what - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES] = value<uint32_t>(v, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t d,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t out,
                                              cublasLtMatmulPreference_t p, int most,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int *found) {
    *found = 0;
    if (a->type != b->type || (a->type != out->type && out->type != CUDA_R_32F) ||
        (a->type == CUDA_R_64F) != (out->type == CUDA_R_64F))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!fits(d, a, b, out) || most < 1) return CUBLAS_STATUS_INVALID_VALUE;
    results[0] = {};
    for (int i = 0; i < 4; i++) results[0].algo.data[i] = p->align[i];
    results[0].workspaceSize = p->workspace < WORKSPACE ? p->workspace : WORKSPACE;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t d, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t la, const void *b,
                              cublasLtMatrixLayout_t lb, const void *beta, const void *c,
                              cublasLtMatrixLayout_t, void *out, cublasLtMatrixLayout_t lo,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes,
                              cudaStream_t s) {
    const uint64_t *align = algo->data;
    if (!fits(d, la, lb, lo) || !aligned(a, align[0]) || !aligned(b, align[1]) ||
        !aligned(out, align[3]) || (bytes && !workspace) ||
        (d->epilogue == CUBLASLT_EPILOGUE_BIAS && !d->bias))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (d->compute == CUBLAS_COMPUTE_64F)
        return run(work<double>{*d, *la, *lb, *lo, (const char *)a, (const char *)b,
                                (const char *)c, (char *)out, *(const double *)alpha,
                                *(const double *)beta},
                   s);
    return run(work<float>{*d, *la, *lb, *lo, (const char *)a, (const char *)b, (const char *)c,
                           (char *)out, *(const float *)alpha, *(const float *)beta},
               s);
}
}
