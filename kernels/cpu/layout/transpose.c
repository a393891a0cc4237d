/* Transposed copies: squares in registers, tiles of squares in the first-level cache, stores of
 * whole lines. Bandwidth is the limit: each byte is read once and written once. */
#include "kernels/cpu/layout/transpose.h"

#include "kernels/cpu/runtime/nontemporal.h"

enum { TILE = GP_TRANSPOSE_TILE };

#define EACH4(F) F(0), F(1), F(2), F(3)
#define EACH8(F) EACH4(F), F(4), F(5), F(6), F(7)
#define EACH16(F) EACH8(F), F(8), F(9), F(10), F(11), F(12), F(13), F(14), F(15)

/* Swaps the off-diagonal d x d blocks of every 2d x 2d block of N x N: for d = N/2 … 2, 1 this
 * transposes. */
#define SWAP(N, d, low, high)                                                                      \
    _Pragma("GCC unroll 16") for (int i = 0; i < N; i++) if (!(i & d)) {                           \
        vec a = v[i], b = v[i + d];                                                                \
        v[i] = __builtin_shufflevector(a, b, low);                                                 \
        v[i + d] = __builtin_shufflevector(a, b, high);                                            \
    }
#define LOW(N, d, j) ((j) & (d) ? (N) + (j) - (d) : (j))
#define HIGH(N, d, j) ((j) & (d) ? (N) + (j) : (j) + (d))

#define LOAD(N)                                                                                    \
    vec v[N];                                                                                      \
    _Pragma("GCC unroll 16") for (int i = 0; i < N; i++) memcpy(&v[i], s + i * sp, sizeof(vec))
#define STORE(N)                                                                                   \
    _Pragma("GCC unroll 16") for (int i = 0; i < N; i++) memcpy(d + i * dp, &v[i], sizeof(vec))

/* One square: N lines of s, a pitch of sp bytes apart, become N lines of d. */
#define SQUARE(name) static inline void name(char *d, int64_t dp, const char *s, int64_t sp)

#define L1(j) LOW(4, 1, j)
#define H1(j) HIGH(4, 1, j)
#define L2(j) LOW(4, 2, j)
#define H2(j) HIGH(4, 2, j)
SQUARE(square8) {
    typedef uint64_t vec __attribute__((vector_size(32)));
    LOAD(4);
    SWAP(4, 2, EACH4(L2), EACH4(H2))
    SWAP(4, 1, EACH4(L1), EACH4(H1))
    STORE(4);
}
#undef L1
#undef H1
#undef L2
#undef H2

#define L1(j) LOW(8, 1, j)
#define H1(j) HIGH(8, 1, j)
#define L2(j) LOW(8, 2, j)
#define H2(j) HIGH(8, 2, j)
#define L4(j) LOW(8, 4, j)
#define H4(j) HIGH(8, 4, j)
SQUARE(square4) {
    typedef uint32_t vec __attribute__((vector_size(32)));
    LOAD(8);
    SWAP(8, 4, EACH8(L4), EACH8(H4))
    SWAP(8, 2, EACH8(L2), EACH8(H2))
    SWAP(8, 1, EACH8(L1), EACH8(H1))
    STORE(8);
}
SQUARE(square2) {
    typedef uint16_t vec __attribute__((vector_size(16)));
    LOAD(8);
    SWAP(8, 4, EACH8(L4), EACH8(H4))
    SWAP(8, 2, EACH8(L2), EACH8(H2))
    SWAP(8, 1, EACH8(L1), EACH8(H1))
    STORE(8);
}
#undef L1
#undef H1
#undef L2
#undef H2
#undef L4
#undef H4

#define L1(j) LOW(16, 1, j)
#define H1(j) HIGH(16, 1, j)
#define L2(j) LOW(16, 2, j)
#define H2(j) HIGH(16, 2, j)
#define L4(j) LOW(16, 4, j)
#define H4(j) HIGH(16, 4, j)
#define L8(j) LOW(16, 8, j)
#define H8(j) HIGH(16, 8, j)
SQUARE(square1) {
    typedef uint8_t vec __attribute__((vector_size(16)));
    LOAD(16);
    SWAP(16, 8, EACH16(L8), EACH16(H8))
    SWAP(16, 4, EACH16(L4), EACH16(H4))
    SWAP(16, 2, EACH16(L2), EACH16(H2))
    SWAP(16, 1, EACH16(L1), EACH16(H1))
    STORE(16);
}

#define T uint8_t
#define N 16
#define SWAP_SQUARE square1
#include "kernels/cpu/layout/transpose.inc"
#define T uint16_t
#define N 8
#define SWAP_SQUARE square2
#include "kernels/cpu/layout/transpose.inc"
#define T uint32_t
#define N 8
#define SWAP_SQUARE square4
#include "kernels/cpu/layout/transpose.inc"
#define T uint64_t
#define N 4
#define SWAP_SQUARE square8
#include "kernels/cpu/layout/transpose.inc"

static void transpose_tile(char *d, int64_t dp, const char *s, int64_t sp, int64_t rows,
                           int64_t cols, size_t size) {
    if (size == 1) tile_uint8_t(d, dp, s, sp, rows, cols);
    else if (size == 2) tile_uint16_t(d, dp, s, sp, rows, cols);
    else if (size == 4) tile_uint32_t(d, dp, s, sp, rows, cols);
    else tile_uint64_t(d, dp, s, sp, rows, cols);
}

/* Fetches `bytes` of each of the lines first … end - 1. */
static void fetch_lines(const char *from, int64_t sp, int64_t first, int64_t end, int64_t bytes) {
    for (int64_t k = first; k < end; k++)
        for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(from + k * sp + at);
}

/* Lines that far apart, or a multiple of it, share a few sets of the first-level cache: each is
 * finished before the next. */
enum { CROWDED = 1024 };

/* A tile is half as large as the first-level cache: the source's lines pass through it, too. */
void gp_transpose(char *d, int64_t dp, const char *s, int64_t sp, int64_t rows, int64_t cols,
                  size_t size, bool stream) {
    enum { PITCH = 256 };
    _Alignas(64) char tile[TILE * PITCH];
    int64_t bytes = (int64_t)size, width = PITCH / bytes;
    bool straight = !stream && (dp % CROWDED || rows < 16);
    for (int64_t r = 0; r < rows; r += TILE)
        for (int64_t c = 0; c < cols; c += width) {
            int64_t h = rows - r < TILE ? rows - r : TILE, w = cols - c < width ? cols - c : width;
            char *to = d + r * dp + c * bytes;
            const char *from = s + r * bytes + c * sp;
            if (straight) {
                transpose_tile(to, dp, from, sp, h, w, size);
                continue;
            }
            transpose_tile(tile, PITCH, from, sp, h, w, size);
            int64_t left = cols - c - w, next = left < width ? left : width,
                    each = (next + h - 1) / h;
            for (int64_t i = 0; i < h; i++) {
                if (!stream) {
                    memcpy(to + i * dp, tile + i * PITCH, (size_t)(w * bytes));
                    continue;
                }
                /* Prefetches the next tile's lines while this one's are stored. */
                int64_t first = i * each, end = first + each < next ? first + each : next;
                fetch_lines(from + w * sp, sp, first, end, h * bytes);
                stream_out(to + i * dp, tile + i * PITCH, (size_t)(w * bytes), NULL, 0);
            }
        }
    if (stream) stream_end();
}
