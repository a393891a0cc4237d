// A stand-in for cuFFT: plain sums in long double, in stream order. Like the real one, it
// overwrites the input of complex to real transforms, does not scale, and works in memory that it
// was given.
#include "cufft.h"

#include <cmath>
#include <complex>
#include <vector>

#include "fake_cuda.h"

typedef std::complex<long double> number;

struct fake_plan {
    cudaStream_t stream = nullptr;
    long long n = 0, batch = 0;
    cufftType type = CUFFT_C2C;
    bool own = true, room = false, live = true;
};
static std::vector<fake_plan> plans;

static number root(long long k, long long n, int way) {
    long double angle = 2 * acosl(-1) * (long double)(k % n) / (long double)n;
    return {cosl(angle), way * sinl(angle)};
}

// sum over j of x_j exp(way 2 pi i j k / n)
static std::vector<number> sums(const std::vector<number> &x, int way) {
    long long n = (long long)x.size();
    std::vector<number> roots((size_t)n), y((size_t)n);
    for (long long k = 0; k < n; k++) roots[(size_t)k] = root(k, n, way);
    for (long long k = 0; k < n; k++) {
        number sum = 0;
        for (long long j = 0; j < n; j++) sum += x[(size_t)j] * roots[(size_t)(j * k % n)];
        y[(size_t)k] = sum;
    }
    return y;
}

template <class T> static void complex_lines(const fake_plan &p, const T *in, T *out, int way) {
    for (long long b = 0; b < p.batch; b++) {
        std::vector<number> x((size_t)p.n);
        for (long long j = 0; j < p.n; j++)
            x[(size_t)j] = {in[2 * (b * p.n + j)], in[2 * (b * p.n + j) + 1]};
        x = sums(x, way);
        for (long long j = 0; j < p.n; j++) {
            out[2 * (b * p.n + j)] = (T)x[(size_t)j].real();
            out[2 * (b * p.n + j) + 1] = (T)x[(size_t)j].imag();
        }
    }
}
template <class T> static void real_lines(const fake_plan &p, const T *in, T *out) {
    long long half = p.n / 2 + 1;
    for (long long b = 0; b < p.batch; b++) {
        std::vector<number> x(in + b * p.n, in + (b + 1) * p.n);
        x = sums(x, -1);
        for (long long j = 0; j < half; j++) {
            out[2 * (b * half + j)] = (T)x[(size_t)j].real();
            out[2 * (b * half + j) + 1] = (T)x[(size_t)j].imag();
        }
    }
}
template <class T> static void lines_to_real(const fake_plan &p, T *in, T *out) {
    long long half = p.n / 2 + 1;
    for (long long b = 0; b < p.batch; b++) {
        std::vector<number> x((size_t)p.n);
        for (long long j = 0; j < half; j++) {
            number v = {in[2 * (b * half + j)], in[2 * (b * half + j) + 1]};
            x[(size_t)j] = v;
            if (j) x[(size_t)(p.n - j)] = std::conj(v);
        }
        x = sums(x, 1);
        for (long long j = 0; j < p.n; j++) out[b * p.n + j] = (T)x[(size_t)j].real();
        for (long long j = 0; j < 2 * half; j++) in[2 * b * half + j] = (T)NAN;
    }
}

template <class F> static cufftResult run(cufftHandle plan, cufftType type, F work) {
    const fake_plan &p = plans[(size_t)plan];
    if (!p.live || p.type != type || (!p.own && !p.room)) return CUFFT_INVALID_PLAN;
    return fake::enqueue(p.stream, "fake_fft", [p, work] { work(p); }) == cudaSuccess
               ? CUFFT_SUCCESS
               : CUFFT_INVALID_VALUE;
}

extern "C" {
cufftResult cufftGetVersion(int *version) {
    *version = 12000;
    return CUFFT_SUCCESS;
}
cufftResult cufftCreate(cufftHandle *plan) {
    *plan = (int)plans.size();
    plans.emplace_back();
    return CUFFT_SUCCESS;
}
cufftResult cufftDestroy(cufftHandle plan) {
    fakeWaits("cufftDestroy", plans[(size_t)plan].stream);
    plans[(size_t)plan].live = false;
    return CUFFT_SUCCESS;
}
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t s) {
    plans[(size_t)plan].stream = s;
    return CUFFT_SUCCESS;
}
cufftResult cufftSetAutoAllocation(cufftHandle plan, int on) {
    plans[(size_t)plan].own = on;
    return CUFFT_SUCCESS;
}
cufftResult cufftSetWorkArea(cufftHandle plan, void *area) {
    plans[(size_t)plan].room = area != nullptr;
    return CUFFT_SUCCESS;
}
cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long *n, long long *,
                                long long istride, long long, long long *, long long ostride,
                                long long, cufftType type, long long batch, size_t *work) {
    fake_plan &p = plans[(size_t)plan];
    fakeWaits("cufftMakePlanMany64", p.stream);
    if (rank != 1 || n[0] < 1 || batch < 1 || istride != 1 || ostride != 1)
        return CUFFT_INVALID_SIZE;
    if (!fakeLibraryMemory(1 << 20, false)) return CUFFT_ALLOC_FAILED;
    p.n = n[0], p.batch = batch, p.type = type;
    *work = 64;
    return CUFFT_SUCCESS;
}
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out, int way) {
    return run(plan, CUFFT_C2C,
               [=](const fake_plan &p) { complex_lines(p, (float *)in, (float *)out, way); });
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out) {
    return run(plan, CUFFT_R2C, [=](const fake_plan &p) { real_lines(p, in, (float *)out); });
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex *in, cufftReal *out) {
    return run(plan, CUFFT_C2R, [=](const fake_plan &p) { lines_to_real(p, (float *)in, out); });
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleComplex *out,
                         int way) {
    return run(plan, CUFFT_Z2Z,
               [=](const fake_plan &p) { complex_lines(p, (double *)in, (double *)out, way); });
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal *in, cufftDoubleComplex *out) {
    return run(plan, CUFFT_D2Z, [=](const fake_plan &p) { real_lines(p, in, (double *)out); });
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleReal *out) {
    return run(plan, CUFFT_Z2D, [=](const fake_plan &p) { lines_to_real(p, (double *)in, out); });
}
}
