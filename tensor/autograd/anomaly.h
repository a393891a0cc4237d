/* detect_anomaly: which op made a NaN. */
#ifndef GP_ANOMALY_H
#define GP_ANOMALY_H

#include "tensor/autograd/tape.h"

extern bool gp_anomaly;

/* Whether t holds a NaN, a wait; false with a message where the wait was refused. NULL and what is
 * no float holds none. */
bool gp_has_nan(gp_tensor *t, bool *found);
/* Notes whether a result of n is NaN. */
bool gp_note_nan(gp_node *n, gp_tensor *const *out, int nout);
/* False, naming the op that made it, if root, from which backward is to start, is NaN. */
bool gp_check_root(gp_tensor *root);

#endif
