/* Known cards, and times by their figures. */
#include "tensor/device/card/card.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tensor/device/card/clock.h"

const char *const gp_figure_names[GP_FIGURES] = {
#define FIGURE(name, help) #name,
#include "tensor/device/card/cards.def"
};

const char *const gp_family_names[GP_FAMILIES] = {
    "none",
#define FAMILY(name, help) #name,
#include "tensor/device/card/cards.def"
};

enum {
#define CARD(k, ...) CARD_##k,
#include "tensor/device/card/cards.def"
    CARDS
};

static const gp_card cards[CARDS] = {
#define CARD(k, n, ...) {.key = #k, .name = n, .known = 1 + CARD_##k, .figure = {__VA_ARGS__}},
#include "tensor/device/card/cards.def"
};

const double gp_host_figure[GP_HOST_FIGURES] = {
#define HOST(name, value, help) value,
#include "tensor/device/card/cards.def"
};

/* What kernels of a family compute in. */
typedef enum type { TYPE_any, TYPE_f32, TYPE_half, TYPE_whole, TYPES } type;

/* The shares of the bandwidth and of the operations' rate that kernels reach, both 0: nobody
 * measured that, one: it is not what limits them; and seconds of a pass. */
typedef struct reached {
    double bytes, ops, pass;
} reached;

static const reached measured[CARDS][GP_FAMILIES][TYPES] = {
#define MEASURED(card, family, type, bytes, ops, pass)                                             \
    [CARD_##card][GP_FAMILY_##family][TYPE_##type] = {bytes, ops, pass},
#include "tensor/device/card/cards.def"
};

/* In ops, 0: one. */
static const double queued[GP_FAMILIES][TYPES] = {
#define QUEUED(family, type, ops) [GP_FAMILY_##family][TYPE_##type] = ops,
#include "tensor/device/card/cards.def"
};

bool gp_card_allows(gp_figure figure, double v) {
    return figure >= GP_FIGURE_launch ? v >= 0 && v <= 1 : v > 0 && v <= 1e30;
}

const gp_card *gp_card_at(int i) { return i >= 0 && i < CARDS ? &cards[i] : NULL; }

const gp_card *gp_card_find(const char *key) {
    char known[80] = "";
    for (int i = 0; i < CARDS; i++) {
        size_t at = strlen(known);
        if (!strcasecmp(cards[i].key, key)) return &cards[i];
        snprintf(known + at, sizeof known - at, "%s\"%.15s\"", i ? ", " : "", cards[i].key);
    }
    return gp_fail_null("no card '%.40s' is known (expected %s, or a table of figures)", key,
                        known);
}

bool gp_card_of_device(const char *name, gp_card *card) {
    static const struct {
        const char *name;
        int card;
        double memory, bandwidth;
    } devices[] = {
#define DEVICE(name, card, memory, bandwidth) {name, CARD_##card, memory, bandwidth},
#include "tensor/device/card/cards.def"
    };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        if (strcmp(devices[i].name, name) != 0) continue;
        *card = cards[devices[i].card];
        if (!devices[i].memory) return true;
        snprintf(card->name, sizeof card->name, "%s of %.0f GB", cards[devices[i].card].name,
                 devices[i].memory * 1e-9);
        card->figure[GP_FIGURE_memory] = devices[i].memory;
        card->figure[GP_FIGURE_bandwidth] = devices[i].bandwidth;
        return true;
    }
    return false;
}

/* Operations a second. 16-bit floats are computed in f32 but for products. */
static double rate(const gp_card *card, const gp_cost *cost) {
    bool matrix = cost->unit == GP_UNIT_MATRIX;
    switch ((gp_dtype)cost->dtype) {
    case GP_f64: return card->figure[matrix ? GP_FIGURE_f64_matrix : GP_FIGURE_f64];
    case GP_f16: return card->figure[matrix ? GP_FIGURE_f16 : GP_FIGURE_f32];
    case GP_bf16: return card->figure[matrix ? GP_FIGURE_bf16 : GP_FIGURE_f32];
    case GP_f32:
        return card->figure[!matrix      ? GP_FIGURE_f32
                            : card->tf32 ? GP_FIGURE_tf32
                                         : GP_FIGURE_f32_matrix];
    default: return card->figure[GP_FIGURE_f32];
    }
}

/* The longer of the bytes' and the operations' time, in ns, at those shares of the card's rates. */
static double longer(const gp_card *card, const gp_cost *cost, double bytes, double ops) {
    return 1e9 * fmax(cost->bytes / (card->figure[GP_FIGURE_bandwidth] * bytes),
                      cost->ops / (rate(card, cost) * ops));
}

double gp_card_bound(const gp_card *card, const gp_cost *cost) { return longer(card, cost, 1, 1); }

bool gp_card_same(const gp_card *a, const gp_card *b) {
    for (int i = 0; i < GP_FIGURES; i++)
        if (a->figure[i] != b->figure[i]) return false;
    return true;
}

double gp_card_scale(const gp_card *from, const gp_card *to, const gp_cost *cost) {
    gp_card_time was = gp_card_kernel(from, cost), is = gp_card_kernel(to, cost);
    if (!was.at_least && !is.at_least && was.fixed + was.work)
        return (double)(is.fixed + is.work) / (double)(was.fixed + was.work);
    double pass = 1e9 * cost->passes;
    double before = pass * from->figure[GP_FIGURE_kernel] + gp_card_bound(from, cost);
    double after = pass * to->figure[GP_FIGURE_kernel] + gp_card_bound(to, cost);
    return before > 0 ? after / before : 1;
}

double gp_card_copy_scale(const gp_card *from, const gp_card *to, double bytes, bool pinned) {
    gp_figure rate = pinned ? GP_FIGURE_pinned : GP_FIGURE_pageable;
    double before = from->figure[GP_FIGURE_kernel] + bytes / from->figure[rate];
    double after = to->figure[GP_FIGURE_kernel] + bytes / to->figure[rate];
    return before > 0 ? after / before : 1;
}

double gp_card_least_scale(const gp_card *from, const gp_card *to) {
    double least = 1;
    for (int i = GP_FIGURE_bandwidth; i <= GP_FIGURE_bf16; i++)
        least = fmin(least, from->figure[i] / to->figure[i]);
    return least;
}

static bool known(reached r) { return r.bytes > 0 || r.ops > 0; }

static type type_of(gp_dtype dt) {
    return dt == GP_f32                    ? TYPE_f32
           : dt == GP_f16 || dt == GP_bf16 ? TYPE_half
           : gp_is_float(dt)               ? TYPE_any
                                           : TYPE_whole;
}

/* What the card reaches. tf32 was not measured. */
static reached reached_by(const gp_card *card, gp_family family, gp_dtype dt) {
    reached none = {0};
    if (!card->known) return none;
    const reached *of = measured[card->known - 1][family];
    type own = type_of(dt);
    if (own == TYPE_f32 && card->tf32 && family == GP_FAMILY_product) return none;
    return known(of[own]) ? of[own] : of[TYPE_any];
}

bool gp_card_measured(const gp_card *card, gp_family family, gp_dtype dt) {
    return known(reached_by(card, family, dt));
}

static uint64_t whole(double ns) { return (uint64_t)llround(fmin(ns, 9e18)); }

static double share(double of) { return of > 0 ? of : 1; }

static gp_card_time time_of(const gp_card *card, double work, uint32_t passes, reached r) {
    double pass = known(r) ? r.pass : card->figure[GP_FIGURE_kernel];
    return (gp_card_time){
        .fixed = whole(1e9 * pass * passes), .work = whole(work), .at_least = passes && !known(r)};
}

gp_card_time gp_card_kernel(const gp_card *card, const gp_cost *cost) {
    reached r = reached_by(card, (gp_family)cost->family, (gp_dtype)cost->dtype);
    return time_of(card, longer(card, cost, share(r.bytes), share(r.ops)), cost->passes, r);
}

gp_card_time gp_card_copy(const gp_card *card, double bytes, bool pinned, gp_copy_kind kind) {
    double rate = card->figure[pinned ? GP_FIGURE_pinned : GP_FIGURE_pageable];
    reached r = reached_by(card, pinned ? GP_FAMILY_pinned : GP_FAMILY_pageable, GP_u8);
    gp_card_time t = time_of(card, 1e9 * bytes / (rate * share(r.bytes)), 1, r);
    uint64_t least = kind == GP_COPY_D2H ? whole(1e9 * card->figure[GP_FIGURE_down]) : 0;
    if (t.fixed < least) t.fixed = least;
    return t;
}

uint64_t gp_host_times(enum gp_host_figure seconds, double n) {
    return whole(1e9 * n * gp_host_figure[seconds]);
}

uint64_t gp_host_rate(enum gp_host_figure rate, double n) {
    return whole(1e9 * n / gp_host_figure[rate]);
}

uint64_t gp_host_work(double bytes, double ops) {
    uint64_t moved = gp_host_rate(GP_HOST_bytes, bytes), done = gp_host_rate(GP_HOST_ops, ops);
    return moved > done ? moved : done;
}

void gp_host_count_file(double bytes) {
    gp_clock_work(gp_host_times(GP_HOST_file, 1) + gp_host_rate(GP_HOST_cached, bytes));
}

void gp_host_count(const gp_call *c) {
    uint64_t op = gp_clock_op_ns();
    if (!op) return;
    gp_cost cost = gp_call_cost(c);
    const double *as = queued[cost.family];
    double ops = as[type_of((gp_dtype)cost.dtype)];
    if (c->stream->dev->vt->on_host) gp_clock_work(op + gp_host_work(cost.bytes, cost.ops));
    else gp_clock_work(whole((double)op * share(ops > 0 ? ops : as[TYPE_any])));
}

void gp_card_list(char *text, size_t n, const char *name) {
    size_t at = strlen(text), size = strlen(name);
    for (const char *p = text; (p = strstr(p, name)); p += size)
        if ((p == text || p[-1] == ' ') && (!p[size] || p[size] == ',')) return;
    if (at + size + sizeof ", , …" <= n) snprintf(text + at, n - at, "%s%s", at ? ", " : "", name);
    else if (at < n - 1 && strcmp(text + at - strlen("…"), "…") != 0)
        snprintf(text + at, n - at, ", …");
}
