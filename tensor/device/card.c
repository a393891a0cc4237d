/* Known cards, and times by their figures. */
#include "tensor/device/card.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *const gp_figure_names[GP_FIGURES] = {
#define FIGURE(name, help) #name,
#include "tensor/device/cards.def"
};

const char *const gp_figure_help[GP_FIGURES] = {
#define FIGURE(name, help) help,
#include "tensor/device/cards.def"
};

static const gp_card cards[] = {
#define CARD(k, n, ...) {.key = #k, .name = n, .figure = {__VA_ARGS__}},
#include "tensor/device/cards.def"
};
enum { CARDS = sizeof cards / sizeof *cards };

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

double gp_card_bound(const gp_card *card, const gp_cost *cost) {
    return 1e9 *
           fmax(cost->bytes / card->figure[GP_FIGURE_bandwidth], cost->ops / rate(card, cost));
}

static uint64_t whole(double ns) { return (uint64_t)llround(fmin(ns, 9e18)); }

gp_card_time gp_card_kernel(const gp_card *card, const gp_cost *cost) {
    return (gp_card_time){.fixed = whole(1e9 * card->figure[GP_FIGURE_kernel] * cost->passes),
                          .work = whole(gp_card_bound(card, cost))};
}

uint64_t gp_card_copy(const gp_card *card, double bytes, bool pinned) {
    return whole(1e9 * bytes / card->figure[pinned ? GP_FIGURE_pinned : GP_FIGURE_pageable]);
}
