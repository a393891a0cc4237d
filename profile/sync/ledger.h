/* The ledger of waits: per source line, and the last ones individually. Any thread may write and
 * read. */
#ifndef GP_LEDGER_H
#define GP_LEDGER_H

#include "profile/sync/sync.h"

/* Records a wait (or a refusal) and stores the state of its line in *line unless NULL. False: no
 * memory for a new line. */
bool gp_ledger_add(const gp_sync_event *e, bool warned, gp_sync_line *line);
/* Records which loop repeats e's line. */
void gp_ledger_loop(const gp_sync_event *e, gp_srcloc loop);
/* Records whether stream s is idle after wait e, or has work left. */
void gp_ledger_after(gp_stream *s, const gp_sync_event *e, bool is_idle);
/* Records that stream s gets work at time ns: the idle time is charged to the line that waited, up
 * to the length of its wait, by which the host would have been earlier. Since when a stream that
 * had work left is idle by now, is not known. */
void gp_ledger_busy(gp_stream *s, uint64_t ns);
/* Replaces the ledger by an empty one and returns the old one, or NULL: no memory, nothing changed.
 * With `by`, discards the present ledger and restores `by`, which it frees. */
typedef struct gp_ledger gp_ledger;
gp_ledger *gp_ledger_exchange(gp_ledger *by);

#endif
