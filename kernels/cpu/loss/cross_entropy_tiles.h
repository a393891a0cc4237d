/* The arithmetic of cross_entropy on a tile of pixels, for one compute type: a template for
 * kernels/common/floats.inc. */

/* exp leaves the memory idle: meanwhile this prefetches w logits of the next tile, which usually
 * begins where this one ends. */
static inline void FN(fetch)(const T *x, int64_t w) {
    for (int64_t i = 0; i < w; i += 64 / (int64_t)sizeof *x) __builtin_prefetch(x + i);
}

/* A tile: w pixels, n classes; class c of pixel j is x[c * xs + j]. Per pixel: the highest logit m,
 * s = sum exp(x - m), p = x - m of the label (0-based; -1 matches none), q = sum weight * (x -
 * m). */
static void FN(stats)(const T *x, int64_t xs, int64_t n, int64_t w, const int32_t *label,
                      const T *weight, T *m, T *s, T *p, T *q, T *keep) {
    for (int64_t j = 0; j < w; j++) m[j] = -INFINITY, s[j] = p[j] = q[j] = 0;
    for (int64_t c = 0; c < n; c++)
        for (int64_t j = 0; j < w; j++) m[j] = x[c * xs + j] > m[j] ? x[c * xs + j] : m[j];
    for (int64_t c = 0; c < n; c++) {
        const T *r = x + c * xs;
        T *k = keep ? keep + c * w : s, wc = weight ? weight[c] : 0;
        FN(fetch)(r + w, w);
        if (keep) {
            _Pragma("omp simd") for (int64_t j = 0; j < w; j++) {
                T d = r[j] - m[j], e = exp(d);
                k[j] = e;
                s[j] += e;
                p[j] = label[j] == (int32_t)c ? d : p[j];
            }
        } else {
            _Pragma("omp simd") for (int64_t j = 0; j < w; j++) {
                T d = r[j] - m[j];
                s[j] += exp(d);
                p[j] = label[j] == (int32_t)c ? d : p[j];
            }
        }
        for (int64_t j = 0; weight && j < w; j++) q[j] += wc * (r[j] - m[j]);
    }
}

/* The same for one pixel whose n classes are contiguous. */
static void FN(row_stats)(const T *x, int64_t n, int32_t label, const T *weight, T *m, T *s, T *p,
                          T *q, T *keep) {
    T h = -INFINITY;
    double sum = 0, all = 0; /* per block, so that many classes lose no precision */
    _Pragma("omp simd reduction(max:h)") for (int64_t i = 0; i < n; i++) h = x[i] > h ? x[i] : h;
    for (int64_t at = 0; at < n; at += GP_BLOCK) {
        int64_t end = n - at < GP_BLOCK ? n : at + GP_BLOCK;
        T part = 0, mixed = 0;
        if (keep) {
            _Pragma("omp simd reduction(+:part)") for (int64_t i = at; i < end; i++) {
                T e = exp(x[i] - h);
                keep[i] = e;
                part += e;
            }
        } else {
            _Pragma("omp simd reduction(+:part)") for (int64_t i = at; i < end; i++) part +=
                exp(x[i] - h);
        }
        if (weight) {
            _Pragma("omp simd reduction(+:mixed)") for (int64_t i = at; i < end; i++) mixed +=
                weight[i] * (x[i] - h);
        }
        sum += (double)part, all += (double)mixed;
    }
    *m = h, *s = (T)sum, *q = (T)all, *p = label < 0 ? 0 : x[label] - h;
}

/* Class probabilities y[c * ys + j] instead of labels, each times keep_share plus spread: p = sum
 * weight * y * (x - m), q = sum weight * y. */
static void FN(soft_stats)(const T *x, int64_t xs, const T *y, int64_t ys, int64_t n, int64_t w,
                           const T *weight, T share, T spread, T *m, T *s, T *p, T *q, T *keep) {
    for (int64_t j = 0; j < w; j++) m[j] = -INFINITY, s[j] = p[j] = q[j] = 0;
    for (int64_t c = 0; c < n; c++)
        for (int64_t j = 0; j < w; j++) m[j] = x[c * xs + j] > m[j] ? x[c * xs + j] : m[j];
    for (int64_t c = 0; c < n; c++) {
        T wc = weight ? weight[c] : 1, *k = keep ? keep + c * w : NULL;
        _Pragma("omp simd") for (int64_t j = 0; j < w; j++) {
            T d = x[c * xs + j] - m[j], v = wc * (y[c * ys + j] * share + spread), e = exp(d);
            s[j] += e;
            p[j] += v * d;
            q[j] += v;
            if (k) k[j] = e;
        }
    }
}

/* Losses of a tile with labels, from the logarithms of s, into l; v gets each pixel's weight. */
static void FN(losses)(int64_t w, const int32_t *label, const T *weight, T weight_sum, T smooth,
                       int64_t n, const T *log_s, const T *p, const T *q, T *l, T *v) {
    T each = smooth / (T)n;
    for (int64_t j = 0; j < w; j++) v[j] = label[j] < 0 ? 0 : weight ? weight[label[j]] : 1;
    _Pragma("omp simd") for (int64_t j = 0; j < w; j++) {
        T a = v[j] * (1 - smooth) * (log_s[j] - p[j]);
        if (smooth != 0) a += each * (weight_sum * log_s[j] - q[j]);
        l[j] = label[j] < 0 ? 0 : a;
    }
}

static double FN(sum)(const T *x, int64_t n) {
    double s = 0;
    _Pragma("omp simd reduction(+:s)") for (int64_t i = 0; i < n; i++) s += (double)x[i];
    return s;
}

/* The gradient of a tile in place of e = exp(x - m): a * e - weight * k, minus b at the label. */
static void FN(gradient)(int64_t n, int64_t w, const int32_t *label, const T *weight, const T *a,
                         const T *b, const T *k, T *restrict e) {
    for (int64_t c = 0; c < n; c++) {
        T wc = weight ? weight[c] : 1;
        for (int64_t j = 0; j < w; j++) e[c * w + j] = a[j] * e[c * w + j] - k[j] * wc;
    }
    for (int64_t j = 0; j < w; j++)
        if (label[j] >= 0) e[label[j] * w + j] -= b[j];
}

/* The same for one pixel whose classes are contiguous. */
static void FN(row_gradient)(int64_t n, int32_t label, const T *weight, T a, T b, T k,
                             T *restrict e) {
    for (int64_t i = 0; i < n; i++) e[i] = a * e[i] - k * (weight ? weight[i] : 1);
    if (label >= 0) e[label] -= b;
}

/* With class probabilities y: a * e - b * weight * (y * share + spread). */
static void FN(soft_gradient)(int64_t n, int64_t w, const T *y, int64_t ys, const T *weight,
                              T share, T spread, const T *a, const T *b, T *restrict e) {
    for (int64_t c = 0; c < n; c++) {
        T wc = weight ? weight[c] : 1;
        for (int64_t j = 0; j < w; j++)
            e[c * w + j] = a[j] * e[c * w + j] - b[j] * wc * (y[c * ys + j] * share + spread);
    }
}
