/* Convolutions of bf16 with few channels by AMX: the taps of all channels are gathered into tiles
 * for 32 outputs at a time, and sums are rounded from the cache. */
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "kernels/cpu/conv/amx_block.h"
#include "kernels/cpu/runtime/widen.h"

/* Taps that are gathered at most; bytes of sums that are stored at a time; outputs of a strip, and
 * tiles of filters that its sums are computed for. */
enum { MOST_TAPS = 384, SUM_BYTES = 32 << 10, STRIP = 2 * GP_AMX_ROWS, TILES = 4 };
enum { ROOM = MOST_TAPS / 2 + MOST_TAPS / 2 / GP_AMX_ROWS }; /* rows of gathered pairs */

void gp_conv_gather_init(gp_conv_gather *g, const int64_t *offset, int64_t taps, int64_t filters) {
    int64_t pairs = gp_max(gp_ceil_div(taps, 2), 1);
    *g = (gp_conv_gather){.offset = offset, .taps = taps, .filters = filters};
    g->blocks = gp_band_tiles(pairs);
    g->pairs = gp_ceil_div(pairs, g->blocks);
    g->tiles = gp_ceil_div(filters, GP_AMX_ROWS);
    g->each = gp_ceil_div(filters, g->tiles);
}

int64_t gp_conv_gather_bytes(int64_t taps, int64_t filters) {
    int64_t pairs = taps / 2 + 1;
    return (filters + GP_AMX_ROWS) * (pairs + pairs / GP_AMX_ROWS + 1) * 4;
}

/* Counted in cycles for 32 outputs: a product of tiles takes 16 of them, sums' loads and stores 48
 * of two tiles, gathering a tap or packing a channel 2, rounding a filter's sums 3, 6 or 7; in f32
 * two vectors are multiplied in one. What else tiles take, about 150, was measured. */
gp_conv_way gp_conv_amx_way(int64_t channels, int64_t taps, int64_t filters) {
    int64_t all = channels * taps, tiles = gp_ceil_div(filters, GP_AMX_ROWS), product = 2 * 16,
            rest = 150, in_f32 = filters * (all + 7) + 2 * channels,
            gathers = rest + tiles * (product * gp_ceil_div(all, GP_AMX_DEPTH) + 48) + 2 * all +
                      3 * filters,
            by_channel = rest +
                         tiles * (product * taps * gp_ceil_div(channels, GP_AMX_DEPTH) + 48) +
                         2 * channels + 6 * filters;
    if (gathers < gp_min(by_channel, in_f32) && all <= MOST_TAPS) return GP_CONV_GATHERS;
    return by_channel < in_f32 && channels > 1 ? GP_CONV_CHANNELS : GP_CONV_IN_F32;
}

#if GP_AMX
typedef char gathered[ROOM][STRIP * 4];

/* The tiles of a strip's outputs: pairs of taps, whose outputs are adjacent. */
static void gather(const gp_conv_gather *g, const char *x, bool across, gathered to) {
    int64_t n = across ? STRIP : STRIP / 2;
    for (int64_t t = 0; t < g->taps; t += 2) {
        const char *a = x + g->offset[t] * 2;
        bool last = t + 1 == g->taps;
        const char *b = x + g->offset[last ? t : t + 1] * 2;
        for (int64_t i = 0; i < n; i += GP_WIDE)
            *(gp_wide *)(to[t / 2] + 4 * i) =
                last ? gp_widen(a + 2 * i) : gp_widen_pair(a + 2 * i, b + 2 * i);
    }
}

/* n adjacent sums of each filter, `pitch` elements apart, as bf16. */
#if !GP_PAIRS
static void store(const gp_conv_rows *r, int64_t filters, const float *sum, int64_t pitch,
                  int64_t n, char *to) {
    gp_store fn = gp_pairs_store_fn(true, GP_bf16);
    for (int64_t f = 0; f < filters; f++) fn(to + f * r->plane, r->step, sum + f * pitch, n);
}
#else
static __attribute__((target("avx512bf16"))) void store(const gp_conv_rows *r, int64_t filters,
                                                        const float *sum, int64_t pitch, int64_t n,
                                                        char *to) {
    if (r->step != 2) {
        gp_store fn = gp_pairs_store_fn(true, GP_bf16);
        for (int64_t f = 0; f < filters; f++) fn(to + f * r->plane, r->step, sum + f * pitch, n);
        return;
    }
    for (int64_t f = 0; f < filters; f++, sum += pitch, to += r->plane)
        for (int64_t i = 0; i < n; i += 32) {
            __m512bh v =
                _mm512_cvtne2ps_pbh(_mm512_loadu_ps(sum + i + 16), _mm512_loadu_ps(sum + i));
            __mmask32 some = n - i < 32 ? (1u << (n - i)) - 1 : ~0u;
            _mm512_mask_storeu_epi16(to + 2 * i, some, (__m512i)v);
        }
}
#endif

/* A band as one long line of outputs, of which the first `columns` of each `wide` are stored: rows
 * of whole strips, or as they lie in x where that makes fewer. */
typedef struct line {
    const gp_conv_gather *g;
    const gp_conv_rows *r;
    int64_t wide, all;
    bool flat;
    int64_t first, filters, tiles; /* filters that are computed */
    int64_t pitch;                 /* elements from filter to filter of the sums */
    float (*start)[GP_AMX_ROWS];
    float *sum;
} line;

/* Outputs of the row from `at` on. */
static int64_t left(const line *l, int64_t at) {
    return l->flat ? l->all - at : l->r->columns - at % l->wide;
}

static void gather_strip(const line *l, int64_t at, gathered to) {
    int64_t x = l->flat ? at : at / l->wide * l->r->line + at % l->wide;
    gather(l->g, l->r->x + x * 2, left(l, at) > STRIP / 2, to);
}

/* The sums of a strip whose taps are in x, from an element of the buffer on. */
static void sums_of(const line *l, gathered x, bool across, int64_t at) {
    static const int64_t none;
    const gp_conv_gather *g = l->g;
    gp_conv_amx c = {&none, 1, STRIP, g->blocks, g->pairs};
    int64_t tile = g->each * g->blocks * g->pairs * 4;
    for (int64_t t = 0; t < l->tiles; t += 2) {
        gp_conv_block b = {.c = &c,
                           .x = x[0],
                           .w = l->r->w + (l->first / g->each + t) * tile,
                           .start = {l->start[t * g->each], l->start[(t + 1) * g->each]},
                           .y = (char *)(l->sum + t * g->each * l->pitch + at),
                           .down = g->each * l->pitch * 4,
                           .next = tile,
                           .weights = g->each * g->pairs * 4,
                           .across = GP_AMX_ROWS * 4,
                           .step = l->pitch * 4};
        gp_conv_amx_block(&b, t + 1 < l->tiles, across);
    }
}

/* Stores the outputs [from, to) of the line. */
static void store_outputs(const line *l, int64_t from, int64_t to) {
    const gp_conv_rows *r = l->r;
    char *out = r->out + l->first * r->plane;
    if (l->wide == r->columns && r->down == r->columns * r->step) {
        store(r, l->filters, l->sum, l->pitch, to - from, out + from * r->step);
        return;
    }
    for (int64_t y = from / l->wide; y * l->wide < to; y++) {
        int64_t first = gp_max(from - y * l->wide, 0), end = gp_min(to - y * l->wide, r->columns);
        if (first < end)
            store(r, l->filters, l->sum + y * l->wide + first - from, l->pitch, end - first,
                  out + y * r->down + first * r->step);
    }
}

/* Taps are gathered a strip ahead: tiles are not read from stores that are under way. */
static void run_line(const line *l) {
    _Alignas(64) gathered x[2];
    int64_t pairs = gp_ceil_div(l->g->taps, 2), zeros = l->g->blocks * l->g->pairs - pairs;
    for (int i = 0; i < 2; i++) memset(x[i][pairs], 0, (size_t)zeros * sizeof x[i][0]);
    gather_strip(l, 0, x[0]);
    for (int64_t at = 0, i = 0; at < l->all; at += l->pitch) {
        int64_t end = gp_min(at + l->pitch, l->all);
        for (int64_t s = at; s < end; s += STRIP, i ^= 1) {
            if (s + STRIP < l->all) gather_strip(l, s + STRIP, x[i ^ 1]);
            sums_of(l, x[i], left(l, s) > STRIP / 2, s - at);
        }
        store_outputs(l, at, end);
    }
}

void gp_conv_amx_gather(const gp_conv_gather *g, const gp_conv_rows *r) {
    _Alignas(64) float sum[SUM_BYTES / 4], start[TILES * GP_AMX_ROWS][GP_AMX_ROWS];
    gp_amx_config size = {0};
    int64_t whole = gp_ceil_div(r->columns, STRIP) * STRIP;
    line l = {.g = g, .r = r, .sum = sum, .start = start};
    l.flat = r->line * 21 < gp_ceil_div(r->columns, GP_AMX_ROWS) * GP_AMX_ROWS * 20;
    l.wide = l.flat ? r->line : whole;
    l.all = l.flat ? (r->rows - 1) * r->line + r->columns : r->rows * whole;
    for (int t = 0; t < 6; t++) gp_amx_size(&size, t, g->each, t < 4 ? 64 : g->pairs * 4);
    for (int t = 6; t < 8; t++) gp_amx_size(&size, t, g->pairs, 64);
    gp_amx_configure(&size);
    for (int64_t t = 0; t < g->tiles; t += TILES) {
        l.tiles = gp_min(g->tiles - t, TILES);
        l.first = t * g->each;
        l.filters = gp_min(g->filters - l.first, TILES * g->each);
        l.pitch = gp_min(SUM_BYTES / 4 / (l.tiles * g->each) / STRIP, 8) * STRIP;
        for (int64_t f = 0; f < l.tiles * g->each; f++)
            for (int i = 0; i < GP_AMX_ROWS; i++)
                start[f][i] = f < l.filters ? r->start[l.first + f] : 0;
        run_line(&l);
    }
    gp_amx_release();
}

#else
void gp_conv_amx_gather(const gp_conv_gather *g, const gp_conv_rows *r) {}
#endif
