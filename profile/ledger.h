/* The ledger of waits: per source line, and the last ones one by one. Any thread may write and
 * read. */
#ifndef GP_LEDGER_H
#define GP_LEDGER_H

#include "profile/sync.h"

/* Books a wait (or a refusal) and gives the state of its line in *line unless NULL. False: no
 * memory for a new line. */
bool gp_ledger_add(const gp_sync_event *e, bool warned, gp_sync_line *line);
/* After wait e stream s has nothing to do. */
void gp_ledger_idle(gp_stream *s, const gp_sync_event *e);
/* Stream s is given something to do at time ns: the idle time is charged to the line that waited,
   at most its wait: without it the host would have been that much earlier. */
void gp_ledger_busy(gp_stream *s, uint64_t ns);
/* Takes the books away and opens empty ones, or (by not NULL) throws the present ones away and
   opens `by` again, which it frees. Returns what it took away, or NULL: no memory, nothing
 * changed. */
typedef struct gp_ledger gp_ledger;
gp_ledger *gp_ledger_exchange(gp_ledger *by);

#endif
