/* Cards that sim can stand in for: their figures, and the time that an op or a copy takes by them.
 * What is computed so is labelled as modelled. It is the bound of a data sheet, over the share of
 * it that the op's family was measured to reach on that card. Where nobody measured that, the bound
 * itself stands, the least that the card can take: at_least says so, and nothing is concluded. */
#ifndef GP_CARD_H
#define GP_CARD_H

#include "tensor/cost.h"
#include "tensor/device/device.h"

/* Figures of a card, in bytes, operations and seconds. */
typedef enum gp_figure {
#define FIGURE(name, help) GP_FIGURE_##name,
#include "tensor/device/card/cards.def"
    GP_FIGURES
} gp_figure;

typedef struct gp_card {
    char key[16];  /* "h200"; of a card of one's own: "own" */
    char name[32]; /* "H200" */
    bool tf32;     /* products of f32 may round their operands to tf32 */
    uint8_t known; /* whose families' shares it reaches: 1 more than a known card's number; 0:
                      nobody measured it */
    double figure[GP_FIGURES];
} gp_card;

/* The figures' names; static. */
extern const char *const gp_figure_names[GP_FIGURES];

/* Whether a figure may be v: above 0, or seconds from 0 to 1. */
bool gp_card_allows(gp_figure figure, double v);

/* The known card number i, from 0; NULL past the last. */
const gp_card *gp_card_at(int i);
/* The card called key, in any case of its letters; NULL with a message that lists them. */
const gp_card *gp_card_find(const char *key);
/* Sets *card to that which drivers call `name`; false: it is not known. */
bool gp_card_of_device(const char *name, gp_card *card);
/* Whether both have the same figures. */
bool gp_card_same(const gp_card *a, const gp_card *b);

/* The time of a kernel, in ns: what its passes take at least, which overlap with those of other
 * streams; and the work, for which streams share the card. */
typedef struct gp_card_time {
    uint64_t fixed, work;
    bool at_least; /* of a family that nobody measured on that card: the card takes longer */
} gp_card_time;
/* That of one kernel with that cost. */
gp_card_time gp_card_kernel(const gp_card *card, const gp_cost *cost);
/* The bound without passes: the longer of the bytes' and the operations' time, in ns. */
double gp_card_bound(const gp_card *card, const gp_cost *cost);
/* How many times as long work takes on `to` as on `from`: a kernel, by the shares of their bounds
 * that were measured on both, else where it reaches the same one, and a copy over the bus. */
double gp_card_scale(const gp_card *from, const gp_card *to, const gp_cost *cost);
double gp_card_copy_scale(const gp_card *from, const gp_card *to, double bytes, bool pinned);
/* The least that it can be of a kernel, whatever limits that on `from`; of the same card 1. */
double gp_card_least_scale(const gp_card *from, const gp_card *to);
/* A copy over the bus, from or to pinned memory or other. */
gp_card_time gp_card_copy(const gp_card *card, double bytes, bool pinned, gp_copy_kind kind);

/* The host's rates, of cards.def. */
enum gp_host_figure {
#define HOST(name, value, help) GP_HOST_##name,
#include "tensor/device/card/cards.def"
    GP_HOST_FIGURES
};
extern const double gp_host_figure[GP_HOST_FIGURES];
/* Those of them that are seconds, n times, and those that are rates, of n, in ns. */
uint64_t gp_host_times(enum gp_host_figure seconds, double n);
uint64_t gp_host_rate(enum gp_host_figure rate, double n);
/* What the host itself takes for work of that cost, by its rates, in ns. */
uint64_t gp_host_work(double bytes, double ops);
/* Counts the opening and reading of a file of that size, where the host's time is counted. */
void gp_host_count_file(double bytes);
/* Counts the host's time for c, whose stream and outputs are set, where that is counted (clock.h):
 * to queue it, or on the host's own device to run it. */
void gp_host_count(const gp_call *c);

/* The families' names; static. */
extern const char *const gp_family_names[GP_FAMILIES];
/* Whether ops of that family which compute in dt were measured on the card. */
bool gp_card_measured(const gp_card *card, gp_family family, gp_dtype dt);
/* Adds `name` to a list of names in text, with commas between, unless it has it; "…" where the n
 * bytes of text are full. */
void gp_card_list(char *text, size_t n, const char *name);

#endif
