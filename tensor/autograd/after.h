/* The two ends of a backward walk, for gp_backward_after (grad.h). */
#ifndef GP_AFTER_H
#define GP_AFTER_H

#include <stdbool.h>

/* Before a walk of this thread, which may be within another one's hook. */
void gp_walk_begin(void);
/* Calls what was asked for, where the outermost walk of the thread ends; ok: whether it succeeded.
 * False where it has not, or what was called has not. */
bool gp_walk_end(bool ok);

#endif
