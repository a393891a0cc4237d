/* What kind of numbers times are, in the words that every text and file of gpush uses: "measured",
 * "modelled H200, host as measured" (computed from a card's figures), "CPU-backed, not a GPU's"
 * (sim without a card: the processor did the work) or "predicted by a replay, not measured (...)".
 */
#ifndef GP_KIND_H
#define GP_KIND_H

#include <stdbool.h>
#include <stddef.h>

struct gp_prof;

/* Bytes that hold every kind of times taken now, and of a profile's: longer ones are cut. */
enum { GP_KIND_TEXT = 96, GP_PROF_KIND_TEXT = 1400 };

/* Of times taken now; sim: its devices took part in them. Writes to buf and returns it. */
char *gp_kind_now(bool sim, char buf[GP_KIND_TEXT]);
/* The same for a device by its name, as "sim:0"; NULL: the host alone. */
char *gp_kind_of_device(const char *name, char buf[GP_KIND_TEXT]);
/* Whether numbers of these kinds may be compared, and so a verdict be drawn from both: they are the
 * machine's own, or of one model and one prediction. NULL: the machine's own. */
bool gp_kinds_compare(const char *a, const char *b);
/* Of p's times. Reads the record up to the first work of sim; waits for nothing. */
char *gp_prof_kind(const struct gp_prof *p, char buf[GP_PROF_KIND_TEXT]);

/* Whether work of the simulated device is on the record. */
bool gp_prof_has_sim(const struct gp_prof *p);

#endif
