/* Gates and states of LSTM, GRU and plain recurrent cells, forward and backward, one thread per
 * unit; formulas as on the CPU. Limit: the gates' bytes at the second-level cache's speed. */
#define GP_RNG_FN __device__ static inline
#include "kernels/common/cell_rules.h"
#include "kernels/cuda/runtime/loop.cuh"
#include "kernels/cuda/rnn/rnn.h"
#include "tensor/rng.h"

/* A thread's row and unit, and pointers to that unit's gates. */
template <class T> struct unit {
    const T *x, *h, *bias, *prev, *cprev;
    T *out, *c, *kept;
    int64_t step; /* between gates */
    __device__ T sum(int gate) const { return x[gate * step] + (bias ? bias[gate * step] : (T)0); }
};

/* c' = f c + i g, h' = o tanh(c'); gates i f g o. */
template <class T> __device__ static void lstm(const unit<T> &u) {
    T i = GP_SIGMOID(u.sum(0)), f = GP_SIGMOID(u.sum(1)), g = tanh(u.sum(2)),
      o = GP_SIGMOID(u.sum(3));
    T c = GP_LSTM_C(i, f, g, *u.cprev);
    *u.c = c;
    *u.out = GP_LSTM_H(o, c);
    if (!u.kept) return;
    u.kept[0] = i, u.kept[u.step] = f, u.kept[2 * u.step] = g, u.kept[3 * u.step] = o;
}

/* n = tanh(x_n + r (w_hn h + b_hn)), h' = n + z (h - n); gates r z n. */
template <class T> __device__ static void gru(const unit<T> &u) {
    T r = GP_SIGMOID(u.sum(0) + u.h[0]), z = GP_SIGMOID(u.sum(1) + u.h[u.step]);
    T hn = u.h[2 * u.step] + (u.bias ? u.bias[2 * u.step] : (T)0),
      n = GP_GRU_N(u.x[2 * u.step], r, hn);
    *u.out = GP_GRU_H(n, z, *u.prev);
    if (!u.kept) return;
    u.kept[0] = r, u.kept[u.step] = z, u.kept[2 * u.step] = n, u.kept[3 * u.step] = hn;
}

template <class T> __device__ static void step(const gp_cell_step &s, const unit<T> &u) {
    if (s.cell == GP_CELL_LSTM) {
        lstm(u);
    } else if (s.cell == GP_CELL_GRU) {
        gru(u);
    } else {
        T v = u.sum(0);
        *u.out = s.cell == GP_CELL_TANH ? tanh(v) : v < 0 ? (T)0 : v;
    }
}

template <class T> __global__ static void cells(gp_cell_step s) {
    int64_t at = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x, n = s.units, row = at / n,
            j = at % n;
    if (row >= s.rows) return;
    int gates = s.cell == GP_CELL_LSTM ? 4 : s.cell == GP_CELL_GRU ? 3 : 1;
    unit<T> u;
    u.step = n;
    u.x = (const T *)s.x + row * gates * n + j;
    u.h = s.h ? (const T *)s.h + row * gates * n + j : NULL;
    u.bias = s.bias ? (const T *)s.bias + j : NULL;
    u.prev = (const T *)s.prev + row * s.prev_row + j;
    u.cprev = s.cprev ? (const T *)s.cprev + at : NULL;
    u.out = (T *)s.out + row * s.out_row + j;
    u.c = s.c ? (T *)s.c + at : NULL;
    u.kept = s.kept ? (T *)s.kept + row * 4 * n + j : NULL;
    step(s, u);
    if (s.operand)
        gp_store_as<T>(s.operand + at * gp_bytes_of(s.operand_dtype), s.operand_dtype, *u.out);
}
GP_C bool gp_cuda_cell(const gp_call *c, bool wide, const gp_cell_step *s) {
    unsigned blocks = gp_blocks(s->rows * s->units);
    return wide ? GP_LAUNCH(c, cells<double>, blocks, GP_THREADS, 0, *s)
                : GP_LAUNCH(c, cells<float>, blocks, GP_THREADS, 0, *s);
}

/* ---- backward ---- */

template <class T> struct unit_back {
    const T *kept;
    T dy, y, prev, c, cprev, *dh, *dc, *dx, *dhh;
    int64_t step;
};

template <class T> __device__ static void lstm_back(const unit_back<T> &b) {
    int64_t n = b.step;
    T i = b.kept[0], f = b.kept[n], u = b.kept[2 * n], o = b.kept[3 * n];
    T tc = tanh(b.c), d = *b.dh + b.dy, e = GP_LSTM_E(*b.dc, d, o, tc);
    b.dx[0] = GP_LSTM_DI(e, u, i);
    b.dx[n] = GP_LSTM_DF(e, b.cprev, f);
    b.dx[2 * n] = GP_LSTM_DG(e, i, u);
    b.dx[3 * n] = GP_LSTM_DO(d, tc, o);
    *b.dc = e * f;
    *b.dh = 0;
}

template <class T> __device__ static void gru_back(const unit_back<T> &b) {
    int64_t n = b.step;
    T r = b.kept[0], z = b.kept[n], u = b.kept[2 * n], hn = b.kept[3 * n];
    T d = *b.dh + b.dy, du = GP_GRU_DN(d, z, u);
    T dr = GP_GRU_DR(du, hn, r), dz = GP_GRU_DZ(d, b.prev, u, z);
    b.dx[0] = b.dhh[0] = dr;
    b.dx[n] = b.dhh[n] = dz;
    b.dx[2 * n] = du;
    b.dhh[2 * n] = du * r;
    *b.dh = d * z;
}

template <class T> __global__ static void cells_back(gp_cell_back s) {
    int64_t at = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x, n = s.units, row = at / n,
            j = at % n;
    if (row >= s.rows) return;
    int gates = s.cell == GP_CELL_LSTM ? 4 : s.cell == GP_CELL_GRU ? 3 : 1;
    unit_back<T> b;
    b.step = n;
    b.dy = ((const T *)s.dy)[row * s.y_row + j];
    b.y = ((const T *)s.out)[row * s.y_row + j];
    b.prev = ((const T *)s.prev)[row * s.prev_row + j];
    b.dh = (T *)s.dh + at;
    b.dx = (T *)s.dx + row * gates * n + j, b.dhh = (T *)s.dhh + row * gates * n + j;
    b.kept = s.kept ? (const T *)s.kept + row * 4 * n + j : NULL;
    if (s.cell == GP_CELL_LSTM) {
        b.dc = (T *)s.dc + at;
        b.c = ((const T *)s.c)[at], b.cprev = ((const T *)s.cprev)[at];
        lstm_back(b);
    } else if (s.cell == GP_CELL_GRU) {
        gru_back(b);
    } else {
        T d = *b.dh + b.dy;
        *b.dx = s.cell == GP_CELL_TANH ? d * (1 - b.y * b.y) : b.y > 0 ? d : (T)0;
        *b.dh = 0;
    }
    if (!s.dx_operand) return;
    int64_t first = row * gates * n + j, size = gp_bytes_of(s.operand_dtype);
    for (int g = 0; g < gates; g++) {
        gp_store_as<T>(s.dx_operand + (first + g * n) * size, s.operand_dtype, b.dx[g * n]);
        if (s.dhh_operand != s.dx_operand)
            gp_store_as<T>(s.dhh_operand + (first + g * n) * size, s.operand_dtype, b.dhh[g * n]);
    }
}
GP_C bool gp_cuda_cell_back(const gp_call *c, bool wide, const gp_cell_back *s) {
    unsigned blocks = gp_blocks(s->rows * s->units);
    return wide ? GP_LAUNCH(c, cells_back<double>, blocks, GP_THREADS, 0, *s)
                : GP_LAUNCH(c, cells_back<float>, blocks, GP_THREADS, 0, *s);
}

/* ---- between layers, and biases ---- */

/* Element e is kept with probability 1 - p by word e % 4 of the counter e / 4. */
template <class T>
__global__ static void drop(const T *y, T *to, T *mask, int64_t n, int64_t offset, uint64_t seed,
                            uint64_t counter, double p) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x, e = offset + i;
    if (i >= n) return;
    uint32_t words[4];
    gp_philox(seed, counter, (uint64_t)e / 4, words);
    T keep = (T)(p < 1 ? 1 / (1 - p) : 0), m = gp_uniform_f32(words[e % 4], 24) >= p ? keep : (T)0;
    to[i] = y[i] * m;
    if (mask) mask[i] = m;
}
template <class T>
static bool run_drop(const gp_call *c, const char *y, char *to, char *mask, int64_t n,
                     int64_t offset, double p) {
    return GP_LAUNCH(c, drop<T>, gp_blocks(n), GP_THREADS, 0, (const T *)y, (T *)to, (T *)mask, n,
                     offset, c->seed, c->counter, p);
}
GP_C bool gp_cuda_rnn_drop(const gp_call *c, bool wide, const char *y, char *to, char *mask,
                           int64_t n, int64_t offset, double p) {
    return wide ? run_drop<double>(c, y, to, mask, n, offset, p)
                : run_drop<float>(c, y, to, mask, n, offset, p);
}

template <class T> __global__ static void times(T *to, const T *a, const T *b, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i < n) to[i] = a[i] * b[i];
}
GP_C bool gp_cuda_rnn_times(const gp_call *c, bool wide, char *to, const char *a, const char *b,
                            int64_t n) {
    return wide ? GP_LAUNCH(c, times<double>, gp_blocks(n), GP_THREADS, 0, (double *)to,
                            (const double *)a, (const double *)b, n)
                : GP_LAUNCH(c, times<float>, gp_blocks(n), GP_THREADS, 0, (float *)to,
                            (const float *)a, (const float *)b, n);
}

/* Sums of columns. A block adds a chunk of the rows of COLUMNS adjacent columns, ROWS at the same
 * time, and a second launch the chunks. */
enum { COLUMNS = 32, ROWS = GP_THREADS / COLUMNS, AHEAD = 4, CHUNK = 128, CHUNKS = 64 };
template <class T> __global__ static void sums(const T *from, int64_t rows, int64_t cols, T *to) {
    __shared__ T shared[ROWS][COLUMNS];
    int64_t j = (int64_t)blockIdx.x * COLUMNS + threadIdx.x, i = rows * blockIdx.y / gridDim.y,
            end = j < cols ? rows * (blockIdx.y + 1) / gridDim.y : 0;
    T sum = 0;
    for (i += threadIdx.y; i < end; i += AHEAD * ROWS) {
        T v[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            v[k] = i + k * ROWS < end ? from[(i + k * ROWS) * cols + j] : 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) sum += v[k];
    }
    shared[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y || j >= cols) return;
    for (int k = 1; k < ROWS; k++) sum += shared[k][threadIdx.x];
    to[blockIdx.y * cols + j] = sum;
}
template <class T>
static bool run_sums(const gp_call *c, const T *from, int64_t rows, int64_t cols, T *to) {
    int64_t chunks = rows / CHUNK < CHUNKS ? rows / CHUNK : (int64_t)CHUNKS;
    unsigned blocks = gp_blocks(cols, COLUMNS);
    dim3 block(COLUMNS, ROWS);
    if (chunks < 2) return GP_LAUNCH(c, sums<T>, blocks, block, 0, from, rows, cols, to);
    T *some = (T *)gp_cuda_scratch(c, (size_t)(chunks * cols) * sizeof(T));
    return some &&
           GP_LAUNCH(c, sums<T>, dim3(blocks, (unsigned)chunks), block, 0, from, rows, cols,
                     some) &&
           GP_LAUNCH(c, sums<T>, blocks, block, 0, (const T *)some, chunks, cols, to);
}
GP_C bool gp_cuda_rnn_sums(const gp_call *c, bool wide, const char *from, int64_t rows,
                           int64_t cols, char *to) {
    return wide ? run_sums<double>(c, (const double *)from, rows, cols, (double *)to)
                : run_sums<float>(c, (const float *)from, rows, cols, (float *)to);
}
