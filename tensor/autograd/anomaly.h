/* detect_anomaly: finds the op that made a NaN. */
#ifndef GP_ANOMALY_H
#define GP_ANOMALY_H

#include "tensor/autograd/tape.h"

extern bool gp_anomaly;

/* Whether t holds a NaN; waits. False with a message where the wait was refused. NULL and tensors
 * of other dtypes than floats hold none. */
bool gp_has_nan(gp_tensor *t, bool *found);
/* Sets n->nan if one of the nout results contains a NaN: waits for them. False with a message. */
bool gp_note_nan(gp_node *n, gp_tensor *const *out, int nout);
/* False, naming the op that made it, if root, where backward is to start, is NaN. */
bool gp_check_root(gp_tensor *root);

#endif
