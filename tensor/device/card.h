/* Cards that sim can stand in for: their figures, and the time that an op or a copy takes by them.
 * What is computed so is a bound from data sheets, not a measurement, and labelled as modelled. */
#ifndef GP_CARD_H
#define GP_CARD_H

#include "tensor/cost.h"

/* Figures of a card, in bytes, operations and seconds. */
typedef enum gp_figure {
#define FIGURE(name, help) GP_FIGURE_##name,
#include "tensor/device/cards.def"
    GP_FIGURES
} gp_figure;

typedef struct gp_card {
    char key[16];  /* "h200"; of a card of one's own: "own" */
    char name[32]; /* "H200" */
    bool tf32;     /* products of f32 may round their operands to tf32 */
    double figure[GP_FIGURES];
} gp_card;

/* The figure's name, and what it is; static. */
extern const char *const gp_figure_names[GP_FIGURES], *const gp_figure_help[GP_FIGURES];

/* Whether a figure may be v: above 0, or seconds from 0 to 1. */
bool gp_card_allows(gp_figure figure, double v);

/* The known card number i, from 0; NULL past the last. */
const gp_card *gp_card_at(int i);
/* The card called key, in any case of its letters; NULL with a message that lists them. */
const gp_card *gp_card_find(const char *key);

/* The time of a kernel, in ns: what its passes take at least, which overlap with those of other
 * streams; and the work, for which streams share the card. */
typedef struct gp_card_time {
    uint64_t fixed, work;
} gp_card_time;
/* That of one kernel with that cost. */
gp_card_time gp_card_kernel(const gp_card *card, const gp_cost *cost);
/* The bound without passes: the longer of the bytes' and the operations' time, in ns. */
double gp_card_bound(const gp_card *card, const gp_cost *cost);
/* A copy over the bus, in ns. */
uint64_t gp_card_copy(const gp_card *card, double bytes, bool pinned);

#endif
