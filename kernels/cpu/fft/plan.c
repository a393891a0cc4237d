/* Plans of Fourier transforms: factors, tables of roots of unity, Bluestein's convolution, and a
 * cache of plans. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/fft/fft.h"
#include "kernels/cpu/elementwise/math.h"
#include "tensor/device/stream/thread.h"

enum {
    CACHED = 24,
    CACHED_BYTES = 128 << 20,
    LOOK = 1 << 14 /* roots between checks of gp_stopped(): about a millisecond */
};

/* ---- tables ---- */

/* exp(-2 pi i j / n), each part to about half an ulp of double: integer arithmetic reduces the
 * angle to the first eighth of the circle. */
static void root(int64_t j, int64_t n, double *re, double *im) {
    j %= n;
    int64_t eighth = 8 * j / n; /* n is far below 2^60 */
    int64_t quarter = (eighth + 1) / 2,
            rest = 4 * j - quarter * n; /* of a quarter turn / n, within +-1/2 */
    double a = (double)rest / (double)n * 1.57079632679489661923132169163975144;
    double c = cos(a), s = sin(a);
    switch (quarter & 3) {
    case 0: *re = c, *im = -s; break;
    case 1: *re = -s, *im = -c; break;
    case 2: *re = -c, *im = s; break;
    default: *re = s, *im = c; break;
    }
}

static void store_number(gp_ctype ct, char *p, int64_t i, double v) {
    if (ct == GP_CT_f32) ((float *)p)[i] = (float)v;
    else ((double *)p)[i] = v;
}

static int64_t table_bytes(const gp_fft_plan *p, int64_t count) {
    return (2 * count * gp_ctype_size[p->ct] + 63) / 64 * 64;
}

/* ---- factors ---- */

/* Radices whose product is n, large ones first; 0 if n has another prime factor. */
static int factor(int64_t n, int *radix) {
    int count = 0, k = 0;
    while (n % 2 == 0) n /= 2, k++;
    while (n % 5 == 0) n /= 5, radix[count++] = 5;
    while (n % 3 == 0) n /= 3, radix[count++] = 3;
    if (n != 1) return 0;
    /* k twos: eights, and finally one 4, two 4s or one 2 */
    int small = k % 3 == 1 && k > 1 ? 2 : k % 3 == 2;
    int eights = (k - 2 * small) / 3, twos = k - 2 * small - 3 * eights,
        all = eights + small + twos;
    memmove(radix + all, radix, (size_t)count * sizeof *radix);
    for (int i = 0; i < all; i++) radix[i] = i < eights ? 8 : i < eights + small ? 4 : 2;
    return count + all;
}

/* About what the passes of n elements take, in hundredths of a nanosecond; measured on Zen 3. A
 * first pass of another radix than 8 has to interleave what it writes. */
static double cost(int64_t n) {
    static const int each[] = {[2] = 20, [3] = 24, [4] = 25, [5] = 40, [8] = 42};
    int radix[GP_FFT_STAGES], count = factor(n, radix), sum = radix[0] == 8 ? 0 : 35;
    for (int i = 0; i < count; i++) sum += each[radix[i]];
    return (double)n * sum;
}

/* The 2^a 3^b 5^c >= n > 1 that costs least. */
static int64_t convolution_length(int64_t n) {
    int64_t best = 0;
    for (int64_t fives = 1; fives < 2 * n; fives *= 5)
        for (int64_t odd = fives; odd < 2 * n; odd *= 3) {
            int64_t m = odd;
            while (m < n) m *= 2;
            if (!best || cost(m) < cost(best)) best = m;
        }
    return best;
}

/* ---- plans ---- */

/* This and the next: false if stopped or out of memory. */
static bool stage_tables(gp_fft_plan *p, char *at) {
    int64_t n = p->n;
    for (int i = 0; i < p->stages; i++) {
        int64_t m = n / p->radix[i], r = p->radix[i] - 1;
        p->twiddle[i] = at;
        for (int64_t k = 0; k < r; k++)
            for (int64_t j = 0; j < m; j++) {
                double re, im;
                if (j % LOOK == 0 && gp_stopped()) return false;
                root((k + 1) * j, n, &re, &im);
                store_number(p->ct, at, k * m + j, re);
                store_number(p->ct, at, (r + k) * m + j, im);
            }
        at += table_bytes(p, r * m);
        n = m;
    }
    return true;
}

static int64_t stage_bytes(const gp_fft_plan *p) {
    int64_t n = p->n, bytes = 0;
    for (int i = 0; i < p->stages; i++) {
        bytes += table_bytes(p, n / p->radix[i] * (p->radix[i] - 1));
        n /= p->radix[i];
    }
    return bytes;
}

/* The chirp and the transform of its conjugate, wrapped around the ends of the convolution. Source:
 * Bluestein, "A linear filtering approach to the computation of discrete Fourier transform",
 * 1970. */
static bool chirp_tables(gp_fft_plan *p, char *at) {
    int64_t n = p->n, m = p->long_n, size = gp_ctype_size[p->ct];
    p->chirp = at;
    p->response = at + table_bytes(p, n);
    char *work = calloc(4, (size_t)(m * size));
    if (!work) return false;
    gp_fft_buffers b = {work, work + m * size, work + 2 * m * size, work + 3 * m * size};
    bool ok = true;
    for (int64_t j = 0; j < n && ok; j++) {
        double re, im;
        ok = j % LOOK || !gp_stopped();
        root((int64_t)((unsigned __int128)j * (uint64_t)j % (uint64_t)(2 * n)), 2 * n, &re, &im);
        store_number(p->ct, p->chirp, j, re), store_number(p->ct, p->chirp, n + j, im);
        for (int end = 0; end < 2; end++) {
            int64_t slot = end ? (m - j) % m : j;
            store_number(p->ct, b.re, slot, re / (double)m),
                store_number(p->ct, b.im, slot, -im / (double)m);
        }
    }
    ok = ok && gp_fft_run(p->inner, 1, &b, (gp_fft_pairs){0});
    memcpy(p->response, b.re, (size_t)(m * size));
    memcpy(p->response + m * size, b.im, (size_t)(m * size));
    free(work);
    return ok;
}

static void drop(gp_fft_plan *p) {
    if (!p) return;
    drop(p->inner);
    free(p->memory);
    free(p);
}

static gp_fft_plan *make(int64_t n, gp_ctype ct, bool real) {
    gp_fft_plan *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->n = n, p->ct = ct, p->real = real;
    p->stages = n > 1 ? factor(n, p->radix) : 0;
    bool bluestein = n > 1 && !p->stages;
    if (bluestein) {
        p->long_n = convolution_length(2 * n - 1);
        p->inner = make(p->long_n, ct, false);
        if (!p->inner) return drop(p), NULL;
    }
    int64_t turn = real ? table_bytes(p, n + 1) : 0,
            rest = bluestein ? table_bytes(p, n) + table_bytes(p, p->long_n) : stage_bytes(p);
    p->bytes = (size_t)(turn + rest + 64) + (p->inner ? p->inner->bytes : 0);
    p->memory = aligned_alloc(64, (size_t)(turn + rest + 64) / 64 * 64);
    if (!p->memory) return drop(p), NULL;
    p->turn = real ? p->memory : NULL;
    for (int64_t k = 0; real && k <= n; k++) {
        double re, im;
        if (k % LOOK == 0 && gp_stopped()) return drop(p), NULL;
        root(k, 2 * n, &re, &im);
        store_number(ct, p->turn, k, re), store_number(ct, p->turn, n + 1 + k, im);
    }
    if ((bluestein ? chirp_tables : stage_tables)(p, (char *)p->memory + turn)) return p;
    return drop(p), NULL;
}

/* ---- the cache ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gp_fft_plan *cache[CACHED];
static uint64_t clock_now;

static gp_fft_plan *find(int64_t n, gp_ctype ct, bool real) {
    for (int i = 0; i < CACHED; i++) {
        gp_fft_plan *p = cache[i];
        if (p && p->n == n && p->ct == ct && p->real == real) return p;
    }
    return NULL;
}

/* The slot whose unused plan was used longest ago; an empty slot first. -1: none. */
static int oldest(void) {
    int best = -1;
    for (int i = 0; i < CACHED; i++) {
        if (!cache[i]) return i;
        if (!cache[i]->users && (best < 0 || cache[i]->used < cache[best]->used)) best = i;
    }
    return best;
}

static size_t cached_bytes(void) {
    size_t sum = 0;
    for (int i = 0; i < CACHED; i++) sum += cache[i] ? cache[i]->bytes : 0;
    return sum;
}

static bool cached(const gp_fft_plan *p) {
    for (int i = 0; i < CACHED; i++)
        if (cache[i] == p) return true;
    return false;
}

static void store(gp_fft_plan *p) {
    int slot = oldest();
    if (slot < 0) return; /* all in use: gp_fft_done frees it */
    drop(cache[slot]);
    cache[slot] = p;
    for (int i = 0; i < CACHED && cached_bytes() > CACHED_BYTES; i++)
        if (cache[i] && cache[i] != p && !cache[i]->users) drop(cache[i]), cache[i] = NULL;
}

gp_fft_plan *gp_fft_plan_get(int64_t n, gp_ctype ct, bool real) {
    gp_lock(&lock);
    gp_fft_plan *p = find(n, ct, real), *made = NULL;
    if (!p) { /* a large one takes a second; meanwhile other threads use the cache */
        gp_unlock(&lock);
        made = make(n, ct, real);
        gp_lock(&lock);
        p = find(n, ct, real);
    }
    if (p) drop(made); /* another thread was faster */
    else if ((p = made)) store(p);
    if (p) p->users++, p->used = ++clock_now;
    gp_unlock(&lock);
    return p;
}

void gp_fft_done(gp_fft_plan *p) {
    gp_lock(&lock);
    if (--p->users == 0 && !cached(p)) drop(p);
    gp_unlock(&lock);
}

/* ---- running ---- */

static bool stages(const gp_fft_plan *p, int64_t lanes, gp_fft_buffers *b, gp_fft_pairs pairs) {
    int64_t n = p->n, s = lanes;
    for (int i = 0; i < p->stages; i++) {
        int64_t m = n / p->radix[i];
        const char *twiddle = p->twiddle[i];
        if (n * s >= LOOK && gp_stopped()) return false;
        if (i == 0 && pairs.from)
            gp_fft_first_of(p->ct, p->radix[i])(m, pairs.from, pairs.exchanged, b->re2, b->im2,
                                                twiddle);
        else if (i == p->stages - 1 && pairs.to)
            gp_fft_last_of(p->ct, p->radix[i])(s, b->re, b->im, pairs.to, pairs.scale,
                                               pairs.exchanged);
        else gp_fft_pass_of(p->ct, p->radix[i])(m, s, b->re, b->im, b->re2, b->im2, twiddle);
        *b = (gp_fft_buffers){b->re2, b->im2, b->re, b->im};
        n = m;
        s *= p->radix[i];
    }
    return true;
}

#define TEMPLATE "kernels/cpu/fft/times.inc"
#include "kernels/common/floats.inc"

static void times(const gp_fft_plan *p, gp_fft_buffers *b, const char *table, int64_t length,
                  int64_t lanes) {
    (p->ct == GP_CT_f32 ? times_f32 : times_f64)(b->re, b->im, table, length, length, lanes);
}

static bool bluestein(const gp_fft_plan *p, int64_t lanes, gp_fft_buffers *b) {
    int64_t size = gp_ctype_size[p->ct], used = p->n * lanes * size, all = p->long_n * lanes * size;
    times(p, b, p->chirp, p->n, lanes);
    memset(b->re + used, 0, (size_t)(all - used));
    memset(b->im + used, 0, (size_t)(all - used));
    if (!gp_fft_run(p->inner, lanes, b, (gp_fft_pairs){0})) return false;
    times(p, b, p->response, p->long_n, lanes);
    gp_fft_buffers back = {b->im, b->re, b->im2, b->re2};
    if (!gp_fft_run(p->inner, lanes, &back, (gp_fft_pairs){0})) return false;
    *b = (gp_fft_buffers){back.im, back.re, back.im2, back.re2};
    times(p, b, p->chirp, p->n, lanes);
    return true;
}

bool gp_fft_run(const gp_fft_plan *p, int64_t lanes, gp_fft_buffers *b, gp_fft_pairs pairs) {
    return p->inner ? bluestein(p, lanes, b) : stages(p, lanes, b, pairs);
}
