/* Products by AMX with tiles that C computes, on every processor: panels, convolutions and their
 * weight gradients of odd sizes against sums in f64, and the order of a product's own sums. */
#define GP_SOFT_AMX 1
#define GP_ISA soft
#define gp_transpose_soft gp_transpose_base /* the only ones of other files */
#define gp_pairs_store_fn_soft gp_pairs_store_fn_base
// NOLINTBEGIN(bugprone-suspicious-include): compiled again, with tiles in C
#include "kernels/cpu/conv/amx.c"
#include "kernels/cpu/conv/amx_gather.c"
#define block grad_block
#define sums grad_sums
#define run_block grad_run_block
#include "kernels/cpu/conv/amx_grad.c"
#undef block
#undef sums
#undef run_block
#define block panel_block
#define sums panel_sums
#define multiply panel_multiply
#define run_block panel_run_block
#define copy_rest panel_copy_rest
#include "kernels/cpu/matmul/amx.c"
// NOLINTEND(bugprone-suspicious-include)

#include <stdlib.h>

#include "tap.h"

static uint32_t seed = 1;
static uint16_t half(void) { /* of either sign, from 1/4 to 4, and zeros */
    seed = seed * 1664525 + 1013904223;
    return seed >> 28 ? (uint16_t)((seed >> 16 & 0x8000) | (0x3e80 + (seed >> 8) % 0x200)) : 0;
}
static double value(uint16_t h) { return (double)gp_amx_half((const char *)&h); }

static void *room(int64_t bytes) {
    void *p = aligned_alloc(64, (size_t)(bytes + 127) / 64 * 64);
    if (!p) abort();
    memset(p, 0xff, (size_t)bytes); /* NaN */
    return p;
}
static uint16_t *halves(int64_t n) {
    uint16_t *p = room(n * 2);
    for (int64_t i = 0; i < n; i++) p[i] = half();
    return p;
}
static bool near(double got, double want, double size) { /* false for NaN, too */
    return fabs(got - want) <= 1e-6 * size;
}

/* ---- panels ---- */

/* Whether rows of a (with one element between them) times a panel of k x width are right. */
static bool panel(int64_t rows, int vectors, int64_t k) {
    gp_panels p = {.pairs = true, .amx = true, .vectors = vectors, .lanes = GP_VB / 4, .k = k};
    int64_t lda = k + 1, width = vectors * p.lanes;
    p.width = p.each = p.units = width, p.depth = gp_panels_depth(true, k);
    uint16_t *a = halves((rows + GP_AMX_ROWS) * lda), *w = halves(p.depth * width * 2);
    float *start = room(width * 4), *out = room((rows + GP_AMX_ROWS) * width * 4);
    bool ok = true;
    for (int64_t i = k; i < p.depth * 2; i++)
        for (int64_t j = 0; j < width; j++) w[(i / 2 * width + j) * 2 + i % 2] = 0;
    for (int64_t j = 0; j < width; j++) start[j] = (float)j;
    for (int64_t r = 0; r < rows; r++) a[r * lda + k] = 0x7fc0; /* NaN */
    p.data = (char *)w, p.start = (char *)start;
    gp_amx_panel(&p, 0, rows, (const char *)a, lda, (char *)out);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < width; j++) {
            double want = (double)start[j], size = want;
            for (int64_t i = 0; i < k; i++) {
                double t = value(a[r * lda + i]) * value(w[(i / 2 * width + j) * 2 + i % 2]);
                want += t, size += fabs(t);
            }
            ok = ok && near((double)out[r * width + j], want, size);
        }
    for (int64_t i = rows * width; i < (rows + GP_AMX_ROWS) * width; i++) ok = ok && isnan(out[i]);
    free(a), free(w), free(start), free(out);
    return ok;
}

static void test_panels(void) {
    static const int64_t sizes[][3] = {{1, 1, 1},   {1, 4, 32}, {15, 2, 31}, {16, 3, 33},
                                       {17, 4, 64}, {33, 1, 2}, {50, 3, 7},  {96, 4, 100},
                                       {49, 4, 0},  {31, 3, 65}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *s = sizes[i];
        tap_ok(panel(s[0], (int)s[1], s[2]), "%d rows by %d vectors, inner dim %d", (int)s[0],
               (int)s[1], (int)s[2]);
    }
}

/* ---- lines in place ---- */

/* Lines of w with one element between them, x by columns. */
static bool lines_in_place(int64_t rows, int64_t lines, int64_t k) {
    uint16_t *w = halves(lines * (k + 1)), *x = halves(rows * k);
    float out[GP_AMX_ROWS * GP_AMX_LINES];
    char *columns = room(gp_amx_columns_bytes(rows, k));
    bool ok = true;
    memset(out, 0xff, sizeof out);
    for (int64_t l = 0; l < lines; l++) w[l * (k + 1) + k] = 0x7fc0; /* NaN */
    gp_amx_columns(x, 1, rows, rows, k, columns);
    gp_amx_lines(w, k + 1, lines, k, columns, rows, out);
    for (int64_t r = 0; r < GP_AMX_ROWS; r++)
        for (int64_t l = 0; l < GP_AMX_LINES; l++) {
            double want = 0, size = 0, got = (double)out[r * GP_AMX_LINES + l];
            bool inside = r < rows && l < lines;
            for (int64_t i = 0; inside && i < k; i++) {
                double v = value(w[l * (k + 1) + i]) * value(x[i * rows + r]);
                want += v, size += fabs(v);
            }
            ok = ok && (inside ? near(got, want, size) : isnan(got));
        }
    free(w), free(x), free(columns);
    return ok;
}

static void test_lines(void) {
    static const int64_t sizes[][3] = {{1, 1, 1},   {1, 64, 32},  {16, 16, 33},
                                       {3, 17, 64}, {8, 31, 31},  {5, 33, 100},
                                       {2, 49, 2},  {16, 63, 65}, {7, 10, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *s = sizes[i];
        tap_ok(lines_in_place(s[0], s[1], s[2]), "%d rows, %d lines, inner dim %d", (int)s[0],
               (int)s[1], (int)s[2]);
    }
}

/* Rows of w with one element between them, and one column before those that are multiplied. */
static bool columns_in_place(int64_t rows, int64_t k) {
    enum { STEP = GP_AMX_LINES + 2 };
    int64_t pitch = (k + 31) / 32 * 32 + 32;
    uint16_t *w = halves(k * STEP + 1), *x = halves(rows * pitch);
    float *out = room((rows * GP_AMX_LINES + 16) * 4);
    bool ok = true;
    for (int64_t i = 0; i < k; i++) w[i * STEP] = w[i * STEP + STEP - 1] = 0x7fc0; /* NaN */
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = k; i < pitch; i++) x[r * pitch + i] = i < pitch - 32 ? 0 : 0x7fc0;
    gp_amx_across(w + 1, STEP, k, x, pitch, rows, out);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < GP_AMX_LINES; j++) {
            double want = 0, size = 0;
            for (int64_t i = 0; i < k; i++) {
                double v = value(w[i * STEP + 1 + j]) * value(x[r * pitch + i]);
                want += v, size += fabs(v);
            }
            ok = ok && near((double)out[r * GP_AMX_LINES + j], want, size);
        }
    for (int64_t i = 0; i < 16; i++) ok = ok && isnan(out[rows * GP_AMX_LINES + i]);
    free(w), free(x), free(out);
    return ok;
}

static void test_columns(void) {
    static const int64_t sizes[][2] = {{1, 1}, {16, 32}, {3, 33}, {8, 31}, {5, 96}, {2, 65}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        tap_ok(columns_in_place(sizes[i][0], sizes[i][1]), "%d rows across, inner dim %d",
               (int)sizes[i][0], (int)sizes[i][1]);
}

/* ---- convolutions ---- */

/* One row of outputs. */
static bool convolution(int64_t channels, int64_t filters, int64_t taps, int64_t columns) {
    gp_band band = {.pairs = true, .amx = true};
    int64_t depth = gp_band_depth(&band, channels), line = columns + 2 * taps, ystep = columns + 3;
    gp_conv_amx c = {.taps = taps, .channel_step = line};
    gp_conv_amx_blocks(&c, depth);
    int64_t offset[25];
    for (int64_t t = 0; t < taps; t++) offset[t] = t == 2 ? 1 : 2 * t;
    c.offset = offset;
    uint16_t *x = halves(depth * line * 2), *w = halves((taps * depth + 16) * filters * 2);
    float *y = room(filters * ystep * 4), start[GP_CONV_AMX_FILTERS] = {0};
    bool ok = true;
    for (int64_t f = 0; f < filters; f++) start[f] = (float)f - 7;
    gp_conv_amx_tile(&c, filters, (const char *)x, (const char *)w, start, (char *)y, ystep,
                     columns);
    for (int64_t f = 0; f < filters; f++)
        for (int64_t j = 0; j < ystep; j++) {
            double want = (double)start[f], size = fabs(want);
            for (int64_t i = 0; i < taps * depth * 2 && j < columns; i++) {
                int64_t pair = i / 2, t = pair / depth, p = pair % depth;
                int64_t at = (pair / c.pairs * filters + f) * c.pairs + pair % c.pairs;
                double v =
                    value(w[at * 2 + i % 2]) * value(x[(p * line + offset[t] + j) * 2 + i % 2]);
                want += v, size += fabs(v);
            }
            double got = (double)y[f * ystep + j];
            ok = ok && (j < columns ? near(got, want, size) : isnan(got));
        }
    free(x), free(w), free(y);
    return ok;
}

static void test_convolutions(void) {
    static const int64_t sizes[][4] = {
        {2, 1, 1, 1},    {3, 5, 9, 7},   {10, 10, 9, 40}, {33, 17, 4, 31}, {64, 32, 3, 33},
        {70, 31, 2, 16}, {2, 16, 1, 65}, {5, 3, 0, 20},   {3, 32, 9, 70},  {8, 17, 25, 31}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *s = sizes[i];
        tap_ok(convolution(s[0], s[1], s[2], s[3]), "%d channels, %d filters, %d taps, %d outputs",
               (int)s[0], (int)s[1], (int)s[2], (int)s[3]);
    }
}

/* ---- few channels ---- */

static float of_half(uint16_t h) { return gp_amx_half((const char *)&h); }

/* Rows of x a reach longer than those of outputs, which are `step` elements apart. */
static bool few_channels(int64_t taps, int64_t filters, int64_t rows, int64_t columns,
                         int64_t reach, int64_t step) {
    int64_t offset[49] = {0}, line = columns + reach, row = columns * step + 1, plane = rows * row;
    for (int64_t t = 0; t < taps; t++) offset[t] = t % 3 * line + t % 5;
    gp_conv_gather g;
    gp_conv_gather_init(&g, offset, taps, filters);
    uint16_t *x = halves((rows + 3) * line + 64), *y = halves(filters * plane);
    uint16_t *w = halves(gp_conv_gather_bytes(taps, filters) / 2);
    float *start = room(filters * 4);
    bool ok = g.tiles * g.each * g.blocks * g.pairs * 4 <= gp_conv_gather_bytes(taps, filters);
    for (int64_t f = 0; f < filters; f++) start[f] = (float)f - 7;
    for (int64_t i = 0; i < filters * plane; i++) y[i] = 0x7fc0;
    gp_conv_rows r = {.x = (char *)x, .w = (char *)w, .start = start, .out = (char *)y};
    r.rows = rows, r.columns = columns, r.line = line;
    r.plane = plane * 2, r.down = row * 2, r.step = step * 2;
    gp_conv_amx_gather(&g, &r);
    for (int64_t i = 0; i < filters * plane; i++) {
        int64_t f = i / plane, at = i % plane / row * line + i % row / step;
        double want = (double)start[f], size = fabs(want), got = (double)of_half(y[i]);
        bool inside = i % row % step == 0 && i % row / step < columns;
        for (int64_t t = 0; t < taps && inside; t++) {
            int64_t p = t / 2, tile = f / g.each * g.blocks + p / g.pairs,
                    place = (tile * g.each + f % g.each) * g.pairs + p % g.pairs;
            double v = value(w[place * 2 + t % 2]) * value(x[at + offset[t]]);
            want += v, size += fabs(v);
        }
        ok = ok && (inside ? fabs(got - want) <= fabs(want) / 256 + 1e-6 * size : isnan(got));
    }
    free(x), free(y), free(w), free(start);
    return ok;
}

static void test_few_channels(void) {
    static const int64_t sizes[][6] = {
        {0, 3, 2, 5, 4, 1},    {1, 1, 1, 1, 4, 1},   {9, 10, 3, 64, 4, 1},
        {27, 64, 2, 70, 6, 1}, {27, 70, 5, 7, 4, 1}, {18, 17, 40, 17, 4, 1},
        {32, 33, 9, 20, 5, 2}, {49, 5, 2, 33, 4, 3}, {8, 130, 1, 300, 9, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *s = sizes[i];
        tap_ok(few_channels(s[0], s[1], s[2], s[3], s[4], s[5]),
               "%d gathered taps, %d filters, %d rows of %d outputs, each %d", (int)s[0], (int)s[1],
               (int)s[2], (int)s[3], (int)s[5]);
    }
}

/* ---- weight gradients ---- */

/* Two images, whose rows end with an infinity that no tap reaches. */
static bool weight_gradient(int64_t channels, int64_t filters, int64_t rows, int64_t width) {
    enum { IMAGES = 2, TAPS = 3, REACH = 5 };
    static const int64_t offset[TAPS] = {0, 3, REACH};
    int64_t line = width + REACH + 1, n = rows * line, pitch = width + width % 2 + 2,
            plane = IMAGES * rows * pitch, step = channels * TAPS + 1;
    uint16_t *x = halves(IMAGES * channels * n), *g = halves(filters * plane);
    char *pairs = room(gp_conv_amx_bytes(filters, IMAGES * rows, width));
    double *sum = room(filters * step * 8);
    bool ok = true;
    for (int64_t i = 0; i < filters * step; i++) sum[i] = 1;
    for (int64_t i = 1; i <= IMAGES * channels * rows; i++) x[i * line - 1] = 0x7f80;
    for (int64_t i = 0; i < filters * plane; i++)
        if (i % pitch >= width) g[i] = i % pitch == width ? 0 : 0x7f80;
    gp_conv_amx_dot d = {.x = x, .g = pairs, .offset = offset, .channels = channels, .taps = TAPS};
    d.positions = n, d.filters = filters, d.line = line, d.image = channels * n, d.pitch = pitch;
    d.images = IMAGES, d.rows = rows, d.width = width;
    gp_conv_amx_pairs(&d, g, plane, pairs);
    gp_conv_amx_dots(&d, sum, step);
    for (int64_t i = 0; i < filters * channels * TAPS; i++) {
        int64_t f = i / TAPS / channels, c = i / TAPS % channels, t = i % TAPS;
        double want = 1, size = 1;
        for (int64_t j = 0; j < IMAGES * rows * width; j++) {
            int64_t row = j / width, image = row / rows, at = j % width;
            double v = value(g[f * plane + row * pitch + at]) *
                       value(x[(image * channels + c) * n + row % rows * line + offset[t] + at]);
            want += v, size += fabs(v);
        }
        ok = ok && near(sum[f * step + c * TAPS + t], want, size);
    }
    for (int64_t f = 0; f < filters; f++) ok = ok && sum[f * step + step - 1] == 1;
    free(x), free(g), free(pairs), free(sum);
    return ok;
}

static void test_weight_gradients(void) {
    static const int64_t sizes[][4] = {{1, 1, 1, 1},    {4, 5, 3, 31},   {16, 16, 2, 32},
                                       {17, 17, 3, 33}, {35, 32, 2, 70}, {10, 20, 4, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *s = sizes[i];
        tap_ok(weight_gradient(s[0], s[1], s[2], s[3]), "%d channels, %d filters, %d rows of %d",
               (int)s[0], (int)s[1], (int)s[2], (int)s[3]);
    }
}

/* ---- what the documents say of the sums ---- */

/* 1 x 1 x k, where a's elements meet ones. */
static float sum_of(const uint16_t *a, int64_t k, float start) {
    uint16_t w[64 * GP_VB / 2];
    float out[GP_VB / 4], starts[GP_VB / 4] = {start};
    for (size_t i = 0; i < sizeof w / 2; i++) w[i] = 0x3f80; /* 1 */
    gp_panels p = {.vectors = 1, .lanes = GP_VB / 4, .width = GP_VB / 4, .k = k};
    p.depth = gp_panels_depth(true, k), p.data = (char *)w, p.start = (char *)starts;
    gp_amx_panel(&p, 0, 1, (const char *)a, k, (char *)out);
    return out[0];
}

static void test_order(void) {
    uint16_t a[72] = {0};
    a[0] = 0x4c80, a[2] = 0x3f80, a[3] = 0x3f80; /* 2^26, 1, 1 */
    tap_ok(sum_of(a, 32, 0) == 0x1p26f, "ones of the even and the odd elements are added apart");
    a[0] = 0;
    tap_ok(sum_of(a, 32, 0x1p24f) == 0x1p24f + 2, "and their sum to what came before");
    a[2] = a[3] = 0, a[0] = 0x4c80, a[32] = 0xcc80, a[64] = 0x3f80;
    tap_ok(sum_of(a, 72, 0) == 1, "thirty-twos are added in their order");
    a[0] = 1, a[32] = a[64] = 0;
    tap_ok(sum_of(a, 72, 0) == 0, "subnormal numbers count as zeros");
}

int main(void) {
    unsetenv("GPUSH_ISA"); /* it limits the program's kernels, not these */
    test_panels();
    test_lines();
    test_columns();
    test_convolutions();
    test_few_channels();
    test_weight_gradients();
    test_order();
    tap_is_int(gp_soft_amx_faults, 0, "tiles fit each other");
    return tap_done();
}
