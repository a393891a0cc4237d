/* The devices of a replay on a card: the engine of modelled cards (tensor/device/card/schedule.h)
 * runs what a record queued, so that streams which overlap share the card's work. */
#ifndef GP_REPLAY_ON_CARD_H
#define GP_REPLAY_ON_CARD_H

#include "profile/replay/replay.h"
#include "profile/replay/torch_cost.h"

typedef struct gp_on_card gp_on_card;

/* Whether p has costs for a card's times: *share of its kernels' time; of a loaded trace that of
 * ops whose shapes tell, else, or where its own card is that one, 1. False with a message that
 * begins with what. */
bool gp_on_card_knows(const gp_prof *p, const gp_card *card, const char *what, double *share);
/* Whether p's times were measured on a known card, from which those of others are scaled, by the
 * share of its bound that each kernel reached there: no engine is needed. */
bool gp_on_card_scales(const gp_prof *p);
/* How many times as long command c of p takes on the card `to`; of what has no known cost at least.
 * costs: of another program's trace; else NULL. */
double gp_on_card_scale(const gp_prof *p, const gp_torch_costs *costs, const gp_command *c,
                        const gp_card *to);

/* Whether t's commands ran on a modelled card, of which streams shared the work, so that a replay
 * that leaves out anything needs the engine, too: on one stream their times are what they were, and
 * where ranks meet the others' are not known here. */
bool gp_on_card_ran(const gp_timeline *t);
/* Its commands' start and end become those of r. NULL when out of memory. t, w and r must outlive
 * it; w->card is the card, or without one the record's own. */
gp_on_card *gp_on_card_new(const gp_timeline *t, const gp_whatif *w, gp_replay_timings *r);
void gp_on_card_free(gp_on_card *c); /* NULL is fine */

/* The host queues command i at `now`, which takes `by` times as long as on the card. Returns the
 * host's time afterwards: later where the stream was full, as a card's queue is. */
uint64_t gp_on_card_launch(gp_on_card *c, int i, uint64_t now, double by);
/* The host waits from `now` on until command i is done; returns when it goes on. */
uint64_t gp_on_card_wait(gp_on_card *c, int i, uint64_t now);
/* Runs all that is queued; returns when the last command has ended, 0: there was none. */
uint64_t gp_on_card_finish(gp_on_card *c);
/* From the end of all work to that of a wait for it, in ns. */
uint64_t gp_on_card_latency(const gp_on_card *c);

#endif
